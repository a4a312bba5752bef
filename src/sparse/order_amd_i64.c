/* SPDX-License-Identifier: Apache-2.0 */
/* Approximate minimum degree with 64-bit indices: the functions of quotient.inc and order_amd.inc
 * (among them amd), compiled for int64_t. */
#include <math.h>

#include "sparse/order.h"

#define INDEX int64_t
#define LARGEST INT64_MAX
#include "sparse/quotient.inc"

#include "sparse/low_degree.inc"

#include "sparse/order_amd.inc"

weft_status wi_order_amd_i64(weft_context *ctx, const wi_order_args *args) {
    return amd(ctx, args);
}
