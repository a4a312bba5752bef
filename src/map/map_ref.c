/* SPDX-License-Identifier: Apache-2.0 */
/* The serial rung of map: one plain loop for each operation and type. */
#include <string.h>

#include "cpu/half.h"
#include "map/map_run.h"

#define LOOP
#include "map/map_types.inc"

#define NAME(op) op##_f16
#define T uint16_t
#define WORK float
#define INDEX double
#define WIDEN wi_f16_widen
#define NARROW wi_f16_narrow
#define FROM_INDEX wi_f16_narrow_double
#include "map/map_loops.inc"

#define NAME(op) op##_bf16
#define T uint16_t
#define WORK float
#define INDEX double
#define WIDEN wi_bf16_widen
#define NARROW wi_bf16_narrow
#define FROM_INDEX wi_bf16_narrow_double
#include "map/map_loops.inc"

static const wi_map_loop loops[WI_MAP_OPS][WEFT_TYPE_COUNT] = {
    [WI_MAP_ADD] = OF_EVERY_TYPE(add),
    [WI_MAP_AXPY] = OF_EVERY_TYPE(axpy),
    [WI_MAP_FILL] = OF_EVERY_TYPE(fill),
    [WI_MAP_IOTA] = OF_EVERY_TYPE(iota),
};

weft_status wi_map_serial(weft_context *ctx, const void *args) {
    (void)ctx;
    const wi_map_args *call = args;
    wi_map_loop loop = loops[call->op][call->type];
    for (size_t row = 0; row < call->rows; row++) {
        for (size_t col = 0; col < call->cols; col += WI_MAP_RUN_MAX) {
            size_t left = call->cols - col;
            wi_map_run run =
                wi_map_run_of(call, row, col, left < WI_MAP_RUN_MAX ? left : WI_MAP_RUN_MAX);
            loop(&run);
        }
    }
    return WEFT_OK;
}
