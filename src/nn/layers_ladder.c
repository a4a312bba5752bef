/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of the layers beside convolutions: one for each kind of place,
 * and one over ranks. */
#include "nn/layers.h"

static const wi_row rows[] = {
    {.name = "loops",
     .what = "loops over rows of pixels, which threads share",
     .kinds = WI_ON_CPU,
     .types = WI_FLOATS,
     .seconds = wi_no_rival,
     .run = wi_layers_loops},
#ifdef WEFT_CUDA
    {.name = "streams",
     .what = "one pass over memory, of sums two",
     .kinds = WI_ON_CUDA,
     .types = WI_FLOATS,
     .seconds = wi_no_rival,
     .run = wi_layers_streams},
#endif
    {.name = "ranks",
     .what = "every rank has images of its own; sums of all are added up in the order of the ranks",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_FLOATS,
     .seconds = wi_no_rival,
     .run = wi_layers_ranks},
};

const wi_ladder wi_layers_ladder = {"layers", rows, sizeof rows / sizeof rows[0]};
