/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU rung of map above the serial one. It borrows the serial loop until its own is in place. */
#include "map/map.h"

weft_status wi_map_threads(weft_context *ctx, const void *args) {
    return wi_map_serial(ctx, args);
}
