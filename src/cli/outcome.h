/* SPDX-License-Identifier: Apache-2.0 */
/* What `weft reduce` and `weft map --reduce` print: one value. */
#ifndef WI_CLI_OUTCOME_H
#define WI_CLI_OUTCOME_H

#include "cli/text.h"
#include "io/npy.h"

typedef struct wi_outcome {
    weft_type type; /* of the value */
    unsigned char value[8];
    bool nowhere; /* a position, but there were no elements */
} wi_outcome;

/* A line with the value alone. */
void wi_outcome_print(const wi_outcome *o);
/* The last keys of an object: ranks, the count of elements of the whole array, and the result. */
void wi_outcome_json(wi_json *json, const weft_context *ctx, const wi_npy_layout *layout,
                     const wi_outcome *o);

#endif
