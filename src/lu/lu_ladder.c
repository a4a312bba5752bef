/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of lu: which calls each can do, and what it costs. */
#include "lu/lu.h"

enum {
    LU_TYPES = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64)
};

static const wi_row rows[] = {
    {.name = "serial",
     .what = "elimination as on paper, a column after the other",
     .kinds = WI_ON_CPU,
     .types = LU_TYPES,
     .seconds = wi_no_rival,
     .run = wi_lu_serial},
};

const wi_ladder wi_lu_ladder = {"lu", rows, sizeof rows / sizeof rows[0]};
