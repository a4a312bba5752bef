/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU rung of scan above the serial one. It borrows the serial loop until its own is in place. */
#include "scan/scan.h"

weft_status wi_scan_blocked(weft_context *ctx, const void *args) {
    return wi_scan_serial(ctx, args);
}
