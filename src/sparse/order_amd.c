/* SPDX-License-Identifier: Apache-2.0 */
/* `amd`: approximate minimum degree, with 32-bit indices if the graph allows: memory bandwidth
 * limits it, and they are half as long as 64-bit ones. */
#include "sparse/order.h"

bool wi_order_fits_i32(const wi_pattern *graph) {
    const int64_t entries = graph->start[graph->n];
    return entries + graph->n < INT32_MAX / 4;
}

weft_status wi_order_amd(weft_context *ctx, const void *args) {
    const wi_order_args *const order = args;
    return wi_order_fits_i32(order->graph) ? wi_order_amd_i32(ctx, order)
                                           : wi_order_amd_i64(ctx, order);
}
