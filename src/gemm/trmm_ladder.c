/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of trmm: which calls each can do, and what it costs. */
#include "gemm/trmm.h"

enum {
    TRMM_TYPES = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64)
};

static const wi_row rows[] = {
    {.name = "serial",
     .what = "a column of B after the other, from the last sum to the first",
     .kinds = WI_ON_CPU,
     .types = TRMM_TYPES,
     .run = wi_trmm_serial},
    {.name = "openblas",
     .what = "the library that most programs use",
     .kinds = WI_ON_CPU,
     .types = TRMM_TYPES,
     .misfit = wi_triangle_fits_openblas,
     .run = wi_trmm_openblas},
    {.name = "packed",
     .what = "half of A, the block beside it, the other half; blocks of 64 in vector registers",
     .kinds = WI_ON_CPU,
     .types = TRMM_TYPES,
     .seconds = wi_no_rival,
     .run = wi_trmm_packed},
#ifdef WEFT_CUDA
#    if WEFT_LADDER
    {.name = "column",
     .what = "a block for each column of B, a barrier for each of its elements",
     .kinds = WI_ON_CUDA,
     .types = TRMM_TYPES,
     .run = wi_trmm_column},
#    endif
    {.name = "halves",
     .what = "half of A, the block beside it, the other half; diagonal blocks in shared memory",
     .kinds = WI_ON_CUDA,
     .types = TRMM_TYPES,
     .seconds = wi_no_rival,
     .run = wi_trmm_halves},
#endif
    {.name = "ranks",
     .what = "columns of A are passed to all; every rank works on its own columns of B",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = TRMM_TYPES,
     .seconds = wi_no_rival,
     .run = wi_trmm_ranks},
};

const wi_ladder wi_trmm_ladder = {"trmm", rows, sizeof rows / sizeof rows[0]};
