/* SPDX-License-Identifier: Apache-2.0 */
/* What all backends share: communicators that are broken. */
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
