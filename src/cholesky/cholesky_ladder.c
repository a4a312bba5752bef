/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of cholesky: which calls each can do, and what it costs. */
#include "cholesky/cholesky.h"

enum {
    CHOLESKY_TYPES = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64)
};

static const wi_row rows[] = {
    {.name = "serial",
     .what = "the formula, a column after the other",
     .kinds = WI_ON_CPU,
     .types = CHOLESKY_TYPES,
     .seconds = wi_no_rival,
     .run = wi_cholesky_serial},
};

const wi_ladder wi_cholesky_ladder = {"cholesky", rows, sizeof rows / sizeof rows[0]};
