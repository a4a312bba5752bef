/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of the layers beside convolutions: one for each kind of place. */
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
};

const wi_ladder wi_layers_ladder = {"layers", rows, sizeof rows / sizeof rows[0]};
