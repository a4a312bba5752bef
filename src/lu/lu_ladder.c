/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of lu: which calls each can do, and what it costs. */
#include <math.h>

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

/* Panels of `wide` columns are eliminated one by one, on one thread at a fifth of its peak; the
 * rest is products, by all threads; and each column has `column_s` of calls. Seen on a Zen 3:
 * README.md.
 */
static double seconds_of(const weft_context *ctx, const wi_lu_args *g, double wide,
                         double column_s) {
    const wi_machine *const machine = wi_machine_of(ctx);
    const double peak = g->type == WEFT_F64 ? machine->f64_flops : machine->f32_flops;
    const double m = (double)g->m, n = (double)g->n, r = fmin(m, n);
    const double flops = 2 * (m * n * r - (m + n) * r * r / 2 + r * r * r / 3);
    const double panels = fmin(flops, m * r * wide);
    return panels / (0.2 * peak / machine->units) + (flops - panels) / (0.7 * peak) + r * column_s;
}

static double blocked_seconds(const weft_context *ctx, const void *args) {
    return seconds_of(ctx, args, 64, 6e-8);
}

static double recursive_seconds(const weft_context *ctx, const void *args) {
    return seconds_of(ctx, args, 8, 1.5e-7);
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
     .seconds = blocked_seconds,
     .run = wi_lu_blocked},
    {.name = "recursive",
     .what = "half of the columns, a product, the other half; down to 8 columns in registers",
     .kinds = WI_ON_CPU,
     .types = LU_TYPES,
     .seconds = recursive_seconds,
     .run = wi_lu_recursive},
};

const wi_ladder wi_lu_ladder = {"lu", rows, sizeof rows / sizeof rows[0]};
