/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU rung of reduce above the serial one. It borrows the serial loop until its own is in place. */
#include "reduce/reduce.h"

weft_status wi_reduce_threads(weft_context *ctx, const void *args) {
    return wi_reduce_serial(ctx, args);
}
