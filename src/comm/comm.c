/* SPDX-License-Identifier: Apache-2.0 */
/* What all backends share: communicators that are broken, and what can be reduced. */
#include "comm/comm.h"

#include <stdio.h>

static weft_status tell(weft_context *ctx) {
    const wi_comm *const comm = ctx->comm;
    return wi_fail(ctx, WEFT_ECOMM, "%s: %s", comm->call, comm->why);
}

weft_status wi_comm_break(weft_context *ctx, const char *why) {
    wi_comm *const comm = ctx->comm;
    if (!comm->broken)
        snprintf(comm->why, sizeof comm->why, "%s", why);
    comm->broken = true;
    return tell(ctx);
}

weft_status wi_comm_check(weft_context *ctx) {
    return ctx->comm->broken ? tell(ctx) : WEFT_OK;
}

bool wi_comm_reduces(weft_type type, weft_op op) {
    if (type == WEFT_F32 || type == WEFT_F64)
        return op == WEFT_SUM;
    return !wi_type_is_float(type) && op <= WEFT_XOR;
}

uint64_t wi_comm_combine(weft_op op, bool is_signed, uint64_t a, uint64_t b) {
    const bool less = is_signed ? (int64_t)b < (int64_t)a : b < a;
    switch (op) {
    case WEFT_SUM:
        return a + b;
    case WEFT_PRODUCT:
        return a * b;
    case WEFT_MIN:
        return less ? b : a;
    case WEFT_MAX:
        return less ? a : b;
    case WEFT_AND:
        return a & b;
    case WEFT_OR:
        return a | b;
    default:
        return a ^ b;
    }
}
