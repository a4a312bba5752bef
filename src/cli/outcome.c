/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the one value that `weft reduce` or `weft map --reduce` has found. */
#include "cli/outcome.h"

#include <stdio.h>

#include "cli/ranks.h"

void wi_outcome_print(const wi_outcome *o) {
    char text[WI_FIELD_BYTES];
    puts(o->nowhere ? "none" : wi_format_element(o->type, o->value, text));
}

void wi_outcome_json(wi_json *json, const weft_context *ctx, const wi_npy_layout *layout,
                     const wi_outcome *o) {
    wi_json_ranks(json, ctx);
    wi_json_count(json, "n", wi_npy_whole(layout));
    wi_json_string(json, "result_type", weft_type_name(o->type));
    if (o->nowhere)
        wi_json_null(json, "result");
    else
        wi_json_element(json, "result", o->type, o->value);
}
