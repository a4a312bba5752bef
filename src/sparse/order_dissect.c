/* SPDX-License-Identifier: Apache-2.0 */
/* `dissect`: nested dissection with our own separators, on any number of threads. */
#include "sparse/dissection.h"

weft_status wi_order_dissect(weft_context *ctx, const void *args) {
    return wi_dissect(ctx, args, "dissect", wi_separate, ctx->threads, NULL);
}
