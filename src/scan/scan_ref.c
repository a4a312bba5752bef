/* SPDX-License-Identifier: Apache-2.0 */
/* The serial rung of scan: one plain loop for each operation and type. */
#include <math.h>
#include <string.h>

#include "cpu/half.h"
#include "cpu/order.h"
#include "scan/scan.h"

#define NAME(f) f##_i8
#define T int8_t
#include "scan/scan_ref_int.inc"

#define NAME(f) f##_i16
#define T int16_t
#include "scan/scan_ref_int.inc"

#define NAME(f) f##_i32
#define T int32_t
#include "scan/scan_ref_int.inc"

#define NAME(f) f##_i64
#define T int64_t
#include "scan/scan_ref_int.inc"

#define NAME(f) f##_u8
#define T uint8_t
#include "scan/scan_ref_int.inc"

#define NAME(f) f##_u16
#define T uint16_t
#include "scan/scan_ref_int.inc"

#define NAME(f) f##_u32
#define T uint32_t
#include "scan/scan_ref_int.inc"

#define NAME(f) f##_u64
#define T uint64_t
#include "scan/scan_ref_int.inc"

#define NAME(f) f##_f16
#define T uint16_t
#define WORK float
#define WIDEN wi_f16_widen
#define NARROW wi_f16_narrow
#include "scan/scan_ref_float.inc"

#define NAME(f) f##_bf16
#define T uint16_t
#define WORK float
#define WIDEN wi_bf16_widen
#define NARROW wi_bf16_narrow
#include "scan/scan_ref_float.inc"

#define NAME(f) f##_f32
#define T float
#define WORK float
#define WIDEN (float)
#define NARROW (float)
#include "scan/scan_ref_float.inc"

#define NAME(f) f##_f64
#define T double
#define WORK double
#define WIDEN (double)
#define NARROW (double)
#include "scan/scan_ref_float.inc"

static void (*const loops[WEFT_TYPE_COUNT])(const wi_scan_args *) = {
    [WEFT_I8] = scan_i8,   [WEFT_I16] = scan_i16,   [WEFT_I32] = scan_i32, [WEFT_I64] = scan_i64,
    [WEFT_U8] = scan_u8,   [WEFT_U16] = scan_u16,   [WEFT_U32] = scan_u32, [WEFT_U64] = scan_u64,
    [WEFT_F16] = scan_f16, [WEFT_BF16] = scan_bf16, [WEFT_F32] = scan_f32, [WEFT_F64] = scan_f64,
};

weft_status wi_scan_serial(weft_context *ctx, const void *args) {
    wi_scan_args call = *(const wi_scan_args *)args;
    const size_t bytes = wi_scan_room(&call);
    void *const room = bytes > 0 ? wi_host_alloc(bytes) : NULL;
    if (bytes > 0 && !room)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no host memory for buffers of %zu bytes", call.call,
                       bytes);
    call.x = wi_scan_input(&call, 0, call.n, room);
    wi_host_free(room);
    loops[call.type](&call);
    return WEFT_OK;
}
