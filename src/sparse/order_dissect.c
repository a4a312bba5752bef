/* SPDX-License-Identifier: Apache-2.0 */
/* `dissect`: nested dissection by our own separators, whose sides any number of threads may part at
 * once. */
#include "sparse/dissection.h"

weft_status wi_order_dissect(weft_context *ctx, const void *args) {
    return wi_dissect(ctx, args, "dissect", wi_separate, ctx->threads);
}
