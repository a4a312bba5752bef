/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of lu: which calls each can do, and what it costs. */
#include "cpu/blas.h"
#include "lu/lu.h"

enum {
    LU_TYPES = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64)
};

static const char *fits_openblas(const weft_context *ctx, const void *args) {
    const wi_lu_args *const g = args;
    (void)ctx;
    if (g->m > INT32_MAX || g->n > INT32_MAX || g->lda > INT32_MAX)
        return "counts with 32 bits: needs sizes below 2^31";
    return wi_blas_load() ? NULL : "needs libopenblas.so.0, which is not on this machine";
}

static const wi_row rows[] = {
    {.name = "serial",
     .what = "elimination as on paper, a column after the other",
     .kinds = WI_ON_CPU,
     .types = LU_TYPES,
     .run = wi_lu_serial},
    {.name = "openblas",
     .what = "the library that most programs use",
     .kinds = WI_ON_CPU,
     .types = LU_TYPES,
     .misfit = fits_openblas,
     .run = wi_lu_openblas},
    {.name = "blocked",
     .what = "64 columns at a time, what is right of them by gemm",
     .kinds = WI_ON_CPU,
     .types = LU_TYPES,
     .run = wi_lu_blocked},
    {.name = "recursive",
     .what = "half of the columns, a product, the other half; down to 8 columns in registers",
     .kinds = WI_ON_CPU,
     .types = LU_TYPES,
     .seconds = wi_no_rival,
     .run = wi_lu_recursive},
};

const wi_ladder wi_lu_ladder = {"lu", rows, sizeof rows / sizeof rows[0]};
