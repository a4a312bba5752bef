/* SPDX-License-Identifier: Apache-2.0 */
/* Scans of one block, for one instruction set. */
#include "scan/scan_simd.h"

#include <math.h>
#include <string.h>

#include "cpu/half_simd.h"
#include "cpu/shift.h"
#include "cpu/stream.h"

enum {
    GROUP_BYTES = 64,
    GROUP_VECTORS = GROUP_BYTES / WI_VECTOR_BYTES,
    /* Short, so that streaming stores and reads alternate. */
    SCAN_TILE_BYTES = 512,
    /* Partial products computed side by side, in f64: enough to fill the pipelines of the widest
     * instruction set. */
    LANES = 32,
    LANE_VECTORS = LANES / WI_WIDE
};

/* If a partial product is in [2^-511, 2^513), the bit FAR_LANE of its exponent minus LEAST_LANE's
 * is 0. */
#define LEAST_LANE UINT64_C(0x2000000000000000)
#define FAR_LANE UINT64_C(0x4000000000000000)

/* Where in the next block to prefetch while the tile that begins at element i is scanned. */
WI_INLINE size_t spread(size_t i, size_t tile_n) {
    return wi_fetch_order(i / tile_n, WI_SCAN_BLOCK / tile_n) * tile_n;
}

#define NAME(f) f##_u8
#define T uint8_t
#define SIGNED int8_t
#include "scan/scan_simd_int.inc"

#define NAME(f) f##_u16
#define T uint16_t
#define SIGNED int16_t
#include "scan/scan_simd_int.inc"

#define NAME(f) f##_u32
#define T uint32_t
#define SIGNED int32_t
#include "scan/scan_simd_int.inc"

#define NAME(f) f##_u64
#define T uint64_t
#define SIGNED int64_t
#include "scan/scan_simd_int.inc"

#define NAME(f) f##_f32
#define T float
#define BITS uint32_t
#define LEAST 0x3d800000u     /* 2^-4 */
#define BEYOND 0x7c000000u    /* to 2^4 */
#define TOO_LARGE 0xfa000000u /* 2^123: a group has 16 */
#include "scan/scan_simd_float.inc"

#define NAME(f) f##_f64
#define T double
#define BITS uint64_t
#define LEAST 0x3bf0000000000000u     /* 2^-64 */
#define BEYOND 0x7800000000000000u    /* to 2^64 */
#define TOO_LARGE 0xff00000000000000u /* 2^1017: a group has 8 */
#include "scan/scan_simd_float.inc"

#define NAME(f) f##_f16
#define BITS int16_t
#define KEY uint16_t
#define TOP INT16_MAX
#define INFINITE 0x7c00
#include "scan/scan_simd_key.inc"

#define NAME(f) f##_bf16
#define BITS int16_t
#define KEY uint16_t
#define TOP INT16_MAX
#define INFINITE 0x7f80
#include "scan/scan_simd_key.inc"

#define NAME(f) f##_f32
#define BITS int32_t
#define KEY uint32_t
#define TOP INT32_MAX
#define INFINITE 0x7f800000
#include "scan/scan_simd_key.inc"

#define NAME(f) f##_f64
#define BITS int64_t
#define KEY uint64_t
#define TOP INT64_MAX
#define INFINITE 0x7ff0000000000000
#include "scan/scan_simd_key.inc"

static const float *load_f16(size_t n, const uint16_t *from, float *to, uint64_t flip) {
    (void)flip;
    wi_f16_widen_run(n, from, to);
    return to;
}

static const uint16_t *store_f16(size_t n, const float *from, uint16_t *to, uint64_t flip) {
    (void)flip;
    wi_f16_narrow_run(n, from, to);
    return to;
}

static const float *load_bf16(size_t n, const uint16_t *from, float *to, uint64_t flip) {
    (void)flip;
    wi_bf16_widen_run(n, from, to);
    return to;
}

static const uint16_t *store_bf16(size_t n, const float *from, uint16_t *to, uint64_t flip) {
    (void)flip;
    wi_bf16_narrow_run(n, from, to);
    return to;
}

#define NAME(f) f##_u8
#define T uint8_t
#define S uint8_t
#define LOAD turn_u8
#define STORE turn_u8
#define STRAIGHT(flip) ((uint8_t)(flip) == 0)
#define GROUPS groups_u8
#define IDENTITY identity_u8
#include "scan/scan_simd_block.inc"

#define NAME(f) f##_u16
#define T uint16_t
#define S uint16_t
#define LOAD turn_u16
#define STORE turn_u16
#define STRAIGHT(flip) ((uint16_t)(flip) == 0)
#define GROUPS groups_u16
#define IDENTITY identity_u16
#include "scan/scan_simd_block.inc"

#define NAME(f) f##_u32
#define T uint32_t
#define S uint32_t
#define LOAD turn_u32
#define STORE turn_u32
#define STRAIGHT(flip) ((uint32_t)(flip) == 0)
#define GROUPS groups_u32
#define IDENTITY identity_u32
#include "scan/scan_simd_block.inc"

#define NAME(f) f##_u64
#define T uint64_t
#define S uint64_t
#define LOAD turn_u64
#define STORE turn_u64
#define STRAIGHT(flip) ((uint64_t)(flip) == 0)
#define GROUPS groups_u64
#define IDENTITY identity_u64
#include "scan/scan_simd_block.inc"

#define NAME(f) f##_f32
#define T float
#define S float
#define LOAD as_is_f32
#define STORE as_is_f32
#define STRAIGHT(flip) false
#define GROUPS groups_f32
#define IDENTITY identity_f32
#include "scan/scan_simd_block.inc"

#define NAME(f) f##_f64
#define T double
#define S double
#define LOAD as_is_f64
#define STORE as_is_f64
#define STRAIGHT(flip) false
#define GROUPS groups_f64
#define IDENTITY identity_f64
#include "scan/scan_simd_block.inc"

#define NAME(f) f##_f16
#define T uint16_t
#define S float
#define LOAD load_f16
#define STORE store_f16
#define STRAIGHT(flip) false
#define GROUPS groups_f32
#define IDENTITY identity_f32
#include "scan/scan_simd_block.inc"

#define NAME(f) f##_bf16
#define T uint16_t
#define S float
#define LOAD load_bf16
#define STORE store_bf16
#define STRAIGHT(flip) false
#define GROUPS groups_f32
#define IDENTITY identity_f32
#include "scan/scan_simd_block.inc"

#define NAME(f) f##_key_f16
#define T uint16_t
#define S uint16_t
#define LOAD to_keys_f16
#define STORE of_keys_f16
#define STRAIGHT(flip) false
#define GROUPS groups_u16
#define IDENTITY identity_u16
#include "scan/scan_simd_block.inc"

#define NAME(f) f##_key_bf16
#define T uint16_t
#define S uint16_t
#define LOAD to_keys_bf16
#define STORE of_keys_bf16
#define STRAIGHT(flip) false
#define GROUPS groups_u16
#define IDENTITY identity_u16
#include "scan/scan_simd_block.inc"

#define NAME(f) f##_key_f32
#define T uint32_t
#define S uint32_t
#define LOAD to_keys_f32
#define STORE of_keys_f32
#define STRAIGHT(flip) false
#define GROUPS groups_u32
#define IDENTITY identity_u32
#include "scan/scan_simd_block.inc"

#define NAME(f) f##_key_f64
#define T uint64_t
#define S uint64_t
#define LOAD to_keys_f64
#define STORE of_keys_f64
#define STRAIGHT(flip) false
#define GROUPS groups_u64
#define IDENTITY identity_u64
#include "scan/scan_simd_block.inc"

/* Multiplies all lanes, by halves: lane k with lane k + 16, then with k + 8, and so on. */
static bool multiply_lanes(const wi_doubles vectors[LANE_VECTORS], bits_f64 note, double *product) {
    double lanes[LANES];
    uint64_t far = 0;
    memcpy(lanes, vectors, sizeof lanes);
    for (int k = 0; k < WI_WIDE; k++)
        far |= note[k];
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int k = 0; k < half; k++) {
            uint64_t bits;
            lanes[k] *= lanes[k + half];
            memcpy(&bits, &lanes[k], sizeof bits);
            far |= bits - LEAST_LANE;
        }
    }
    *product = lanes[0];
    return (far & FAR_LANE) == 0;
}

#define NAME(f) f##_f16
#define T uint16_t
#define S float
#define LOAD load_f16
#define WIDE wi_doubles_of_f32
#define ONE_BY_ONE one_by_one_f32
#include "scan/scan_simd_total.inc"

#define NAME(f) f##_bf16
#define T uint16_t
#define S float
#define LOAD load_bf16
#define WIDE wi_doubles_of_f32
#define ONE_BY_ONE one_by_one_f32
#include "scan/scan_simd_total.inc"

#define NAME(f) f##_f32
#define T float
#define S float
#define LOAD as_is_f32
#define WIDE wi_doubles_of_f32
#define ONE_BY_ONE one_by_one_f32
#include "scan/scan_simd_total.inc"

#define NAME(f) f##_f64
#define T double
#define S double
#define LOAD as_is_f64
#define WIDE wi_doubles_of_f64
#define ONE_BY_ONE one_by_one_f64
#include "scan/scan_simd_total.inc"

const wi_scan_simd WI_FOR_ISA(wi_scan_simd) = {
    .arithmetic = {block_u8, block_u16, block_u32, block_u64, block_u8, block_u16, block_u32,
                   block_u64, block_f16, block_bf16, block_f32, block_f64},
    .ordering = {block_u8, block_u16, block_u32, block_u64, block_u8, block_u16, block_u32,
                 block_u64, block_key_f16, block_key_bf16, block_key_f32, block_key_f64},
    .bitwise = {bitwise_u8, bitwise_u16, bitwise_u32, bitwise_u64, bitwise_u8, bitwise_u16,
                bitwise_u32, bitwise_u64},
    .product = {[WEFT_F16] = product_f16, product_bf16, product_f32, product_f64},
    .carry_over = {[WEFT_F16] = carry_over_f16, carry_over_bf16, carry_over_f32, carry_over_f64},
};
