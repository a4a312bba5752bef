/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of trsm: which calls each can do, and what it costs. */
#include "gemm/trsm.h"

enum {
    TRSM_TYPES = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64)
};

static const wi_row rows[] = {
    {.name = "serial",
     .what = "substitution, a right-hand side after the other",
     .kinds = WI_ON_CPU,
     .types = TRSM_TYPES,
     .run = wi_trsm_serial},
    {.name = "openblas",
     .what = "the library that most programs use",
     .kinds = WI_ON_CPU,
     .types = TRSM_TYPES,
     .misfit = wi_triangle_fits_openblas,
     .run = wi_trsm_openblas},
    {.name = "packed",
     .what = "solve half, multiply, solve half; blocks of 64 in vector registers",
     .kinds = WI_ON_CPU,
     .types = TRSM_TYPES,
     .seconds = wi_no_rival,
     .run = wi_trsm_packed},
#ifdef WEFT_CUDA
#    if WEFT_LADDER
    {.name = "column",
     .what = "a block for each right-hand side, a barrier for each unknown",
     .kinds = WI_ON_CUDA,
     .types = TRSM_TYPES,
     .run = wi_trsm_column},
#    endif
    {.name = "halves",
     .what = "solve half, multiply, solve half; by inverses of diagonal blocks",
     .kinds = WI_ON_CUDA,
     .types = TRSM_TYPES,
     .seconds = wi_no_rival,
     .run = wi_trsm_halves},
#endif
};

const wi_ladder wi_trsm_ladder = {"trsm", rows, sizeof rows / sizeof rows[0]};
