/* SPDX-License-Identifier: Apache-2.0 */
/* The serial rung of group: the serial loop of reduce, segment by segment. */
#include "group/group.h"

weft_status wi_group_serial(weft_context *ctx, const void *args) {
    const wi_group_args *const a = args;
    const size_t segments = a->found ? (size_t)*a->found : a->segments;
    const size_t size = weft_type_size(a->type);
    const size_t result_bytes = weft_type_size(wi_reduce_result_type(a->op, a->type));
    weft_status status = WEFT_OK;
    for (size_t s = 0; s < segments && status == WEFT_OK; s++) {
        const size_t first = wi_group_start(a, s);
        const wi_reduce_args one = {.op = a->op,
                                    .type = a->type,
                                    .n = wi_group_end(a, segments, s) - first,
                                    .first = first,
                                    .x = (const char *)a->x + first * size,
                                    .result = (char *)a->y + s * result_bytes};
        status = wi_reduce_serial(ctx, &one);
    }
    return status;
}
