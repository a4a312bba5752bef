/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of gemv. On each kind of place there is one that users get, whatever the shape: another
 * would give other bits. */
#include "gemm/gemv.h"

enum {
    WIDE_FLOATS = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64)
};

static const wi_row rows[] = {
    {.name = "serial",
     .what = "the two loops you would write",
     .kinds = WI_ON_CPU,
     .types = WI_FLOATS,
     .run = wi_gemv_serial},
    {.name = "threads",
     .what = "four columns at a time in vector registers, all cores",
     .kinds = WI_ON_CPU,
     .types = WI_FLOATS,
     .seconds = wi_no_rival,
     .run = wi_gemv_threads},
#ifdef WEFT_CUDA
#    if WEFT_LADDER
    {.name = "naive",
     .what = "one thread for one sum",
     .kinds = WI_ON_CUDA,
     .types = WIDE_FLOATS,
     .run = wi_gemv_naive},
    {.name = "warps",
     .what = "one warp for one sum",
     .kinds = WI_ON_CUDA,
     .types = WIDE_FLOATS,
     .run = wi_gemv_warps},
#    endif
    {.name = "slices",
     .what = "16 bytes a load along columns, long sums cut into slices",
     .kinds = WI_ON_CUDA,
     .types = WI_FLOATS,
     .seconds = wi_no_rival,
     .run = wi_gemv_slices},
#endif
    {.name = "ranks",
     .what = "every rank multiplies its rows or columns; sums of columns go to who has y",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_FLOATS,
     .seconds = wi_no_rival,
     .run = wi_gemv_ranks},
};

const wi_ladder wi_gemv_ladder = {"gemv", rows, sizeof rows / sizeof rows[0]};
