/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of segments, for one instruction set. */
#include "group/group_simd.h"

#include <math.h>

#include "cpu/half.h"
#include "cpu/stream.h"
#include "cpu/vector.h"

enum {
    LANE_VECTORS = WI_GROUP_LANES / WI_WIDE,
    FETCH_AHEAD_BYTES = 4096 /* the hardware's own prefetching stops at page ends */
};

/* ---- lanes ---- */

WI_INLINE wi_doubles taken_lanes(wi_reduction op, wi_doubles lane, wi_doubles v) {
    switch (op) {
    case WI_RED_PRODUCT:
        return lane * v;
    case WI_RED_NRM1:
        return lane + (wi_doubles)((wi_longs)v & INT64_MAX);
    case WI_RED_NRM2:
        return lane + v * v;
    default:
        return lane + v;
    }
}

/* The lanes of a vector moved down by so many places; those that fall out come in again. */
#define AT(k) ((k) % (2 * WI_VECTOR_BYTES / 8))
#if WI_VECTOR_BYTES == 64
#    define TURNED(v, by)                                                                          \
        __builtin_shufflevector(v, v, AT(by), AT(by + 1), AT(by + 2), AT(by + 3), AT(by + 4),      \
                                AT(by + 5), AT(by + 6), AT(by + 7))
#elif WI_VECTOR_BYTES == 32
#    define TURNED(v, by) __builtin_shufflevector(v, v, AT(by), AT(by + 1), AT(by + 2), AT(by + 3))
#else
#    define TURNED(v, by) __builtin_shufflevector(v, v, AT(by), AT(by + 1))
#endif

WI_INLINE wi_doubles merged_lanes(wi_reduction op, wi_doubles a, wi_doubles b) {
    return op == WI_RED_PRODUCT ? a * b : a + b;
}

/* Lane k and lane k + 8, then k + 4, 2 and 1. */
WI_INLINE double folded(wi_reduction op, wi_doubles lane[LANE_VECTORS]) {
    for (int half = LANE_VECTORS / 2; half > 0; half /= 2)
        for (int k = 0; k < half; k++)
            lane[k] = merged_lanes(op, lane[k], lane[k + half]);
    wi_doubles v = lane[0];
    if (WI_WIDE > 4)
        v = merged_lanes(op, v, TURNED(v, 4));
    if (WI_WIDE > 2)
        v = merged_lanes(op, v, TURNED(v, 2));
    return merged_lanes(op, v, TURNED(v, 1))[0];
}

WI_INLINE wi_doubles doubles_of_i8(const int8_t *p) {
    wi_doubles v;
    for (int k = 0; k < WI_WIDE; k++)
        v[k] = p[k];
    return v;
}

WI_INLINE wi_doubles doubles_of_i16(const int16_t *p) {
    wi_doubles v;
    for (int k = 0; k < WI_WIDE; k++)
        v[k] = p[k];
    return v;
}

WI_INLINE wi_doubles doubles_of_u8(const uint8_t *p) {
    wi_doubles v;
    for (int k = 0; k < WI_WIDE; k++)
        v[k] = p[k];
    return v;
}

WI_INLINE wi_doubles doubles_of_u16(const uint16_t *p) {
    wi_doubles v;
    for (int k = 0; k < WI_WIDE; k++)
        v[k] = p[k];
    return v;
}

WI_INLINE wi_doubles doubles_of_f16(const uint16_t *p) {
    wi_doubles v;
    for (int k = 0; k < WI_WIDE; k++)
        v[k] = wi_f16_widen(p[k]);
    return v;
}

WI_INLINE wi_doubles doubles_of_bf16(const uint16_t *p) {
    wi_doubles v;
    for (int k = 0; k < WI_WIDE; k++)
        v[k] = wi_bf16_widen(p[k]);
    return v;
}

/* ---- integers ---- */

#define SIGNED_SIZE(v) ((v) < 0 ? 0 - (uint64_t)(v) : (uint64_t)(v))
#define UNSIGNED_SIZE(v) ((uint64_t)(v))

#define OF_TYPE(f) f##_i8
#define ELEMENT int8_t
#define SIGNED int8_t
#define MOST INT8_MAX
#define TURN 0
#define MAGNITUDE_OF SIGNED_SIZE
#define DOUBLES_OF doubles_of_i8
#include "group/group_simd_integer_type.inc"

#define OF_TYPE(f) f##_i16
#define ELEMENT int16_t
#define SIGNED int16_t
#define MOST INT16_MAX
#define TURN 0
#define MAGNITUDE_OF SIGNED_SIZE
#define DOUBLES_OF doubles_of_i16
#include "group/group_simd_integer_type.inc"

#define OF_TYPE(f) f##_i32
#define ELEMENT int32_t
#define SIGNED int32_t
#define MOST INT32_MAX
#define TURN 0
#define MAGNITUDE_OF SIGNED_SIZE
#define DOUBLES_OF wi_doubles_of_i32
#include "group/group_simd_integer_type.inc"

#define OF_TYPE(f) f##_i64
#define ELEMENT int64_t
#define SIGNED int64_t
#define MOST INT64_MAX
#define TURN 0
#define MAGNITUDE_OF SIGNED_SIZE
#define DOUBLES_OF wi_doubles_of_i64
#include "group/group_simd_integer_type.inc"

#define OF_TYPE(f) f##_u8
#define ELEMENT uint8_t
#define SIGNED int8_t
#define MOST INT8_MAX
#define TURN INT8_MIN
#define MAGNITUDE_OF UNSIGNED_SIZE
#define DOUBLES_OF doubles_of_u8
#include "group/group_simd_integer_type.inc"

#define OF_TYPE(f) f##_u16
#define ELEMENT uint16_t
#define SIGNED int16_t
#define MOST INT16_MAX
#define TURN INT16_MIN
#define MAGNITUDE_OF UNSIGNED_SIZE
#define DOUBLES_OF doubles_of_u16
#include "group/group_simd_integer_type.inc"

#define OF_TYPE(f) f##_u32
#define ELEMENT uint32_t
#define SIGNED int32_t
#define MOST INT32_MAX
#define TURN INT32_MIN
#define MAGNITUDE_OF UNSIGNED_SIZE
#define DOUBLES_OF wi_doubles_of_u32
#include "group/group_simd_integer_type.inc"

#define OF_TYPE(f) f##_u64
#define ELEMENT uint64_t
#define SIGNED int64_t
#define MOST INT64_MAX
#define TURN INT64_MIN
#define MAGNITUDE_OF UNSIGNED_SIZE
#define DOUBLES_OF wi_doubles_of_u64
#include "group/group_simd_integer_type.inc"

/* ---- floats ---- */

#define NAME(f) f##_f16
#define T uint16_t
#define WIDE double
#define MEMBER value
#define VALUE(v) (double)wi_f16_widen(v)
#define MAGNITUDE(v) fabs((double)wi_f16_widen(v))
#define RESULT float
#define ROOT sqrt
#define LOAD doubles_of_f16
#include "group/group_simd_floats.inc"

#include "group/group_simd_segments.inc"

#define NAME(f) f##_bf16
#define T uint16_t
#define WIDE double
#define MEMBER value
#define VALUE(v) (double)wi_bf16_widen(v)
#define MAGNITUDE(v) fabs((double)wi_bf16_widen(v))
#define RESULT float
#define ROOT sqrt
#define LOAD doubles_of_bf16
#include "group/group_simd_floats.inc"

#include "group/group_simd_segments.inc"

#define NAME(f) f##_f32
#define T float
#define WIDE double
#define MEMBER value
#define VALUE(v) ((double)(v))
#define MAGNITUDE(v) fabs(((double)(v)))
#define RESULT float
#define ROOT sqrt
#define LOAD wi_doubles_of_f32
#include "group/group_simd_floats.inc"

#include "group/group_simd_segments.inc"

#define NAME(f) f##_f64
#define T double
#define WIDE double
#define MEMBER value
#define VALUE(v) (v)
#define MAGNITUDE(v) fabs((v))
#define RESULT double
#define ROOT sqrt
#define LOAD wi_doubles_of_f64
#include "group/group_simd_floats.inc"

#include "group/group_simd_segments.inc"

/* ---- squares of f64, which overflow: large and small ones are scaled (Blue 1978) ---- */

#define LARGE 0x1p486
#define SMALL 0x1p-511
#define SHRINK 0x1p-538
#define GROW 0x1p537

static void scaled_piece(const wi_group_run *run, size_t from, size_t n, wi_group_state *state) {
    const double *const x = (const double *)run->args->x + from;
    double small = 0, middle = 0, large = 0;
    for (size_t i = 0; i < n; i++) {
        const double v = fabs(x[i]);
        if (v > LARGE)
            large += (v * SHRINK) * (v * SHRINK);
        else if (v < SMALL)
            small += (v * GROW) * (v * GROW);
        else
            middle += v * v;
    }
    state->squares[0] = small;
    state->squares[1] = middle;
    state->squares[2] = large;
}

static void scaled_merge(const wi_group_run *run, wi_group_state *a, const wi_group_state *b) {
    (void)run;
    for (int k = 0; k < 3; k++)
        a->squares[k] += b->squares[k];
}

/* Small squares do not matter beside a large one. */
static void scaled_finish(const wi_group_run *run, size_t segment, const wi_group_state *state) {
    const double small = state->squares[0], middle = state->squares[1], large = state->squares[2];
    double *const y = (double *)run->args->y + segment;
    if (large > 0) {
        *y = sqrt(large + (middle * SHRINK) * SHRINK) / SHRINK;
    } else if (!(small > 0)) {
        *y = sqrt(middle);
    } else {
        const double a = sqrt(small) / GROW, b = sqrt(middle);
        const double low = a <= b || isnan(b) ? a : b, high = a <= b || isnan(b) ? b : a;
        *y = high * sqrt(1 + (low / high) * (low / high));
    }
}

static void scaled_segments(const wi_group_run *run, size_t from, size_t end) {
    for (size_t s = from; s < end; s++) {
        const size_t at = wi_group_start(run->args, s);
        const size_t n = wi_group_end(run->args, run->segments, s) - at;
        wi_group_state total, next;
        scaled_piece(run, at, n < WI_GROUP_PIECE ? n : WI_GROUP_PIECE, &total);
        for (size_t i = WI_GROUP_PIECE; i < n; i += WI_GROUP_PIECE) {
            scaled_piece(run, at + i, n - i < WI_GROUP_PIECE ? n - i : WI_GROUP_PIECE, &next);
            scaled_merge(run, &total, &next);
        }
        scaled_finish(run, s, &total);
    }
}

/* ---- extremes of floats ---- */

/* The bits of floats have the order of signed integers when those of negative ones are flipped. NaN
 * has the smallest key, whatever the order. */
#define NAME(f) f##_f16
#define T int16_t
#define KEY int16_t
#define KEY_OF(v, flip)                                                                            \
    ((KEY)(((v)&INT16_MAX) > 0x7c00 ? INT16_MIN : ((v) < 0 ? (v) ^ INT16_MAX : (v)) ^ (flip)))
#define BITS_OF(key, flip)                                                                         \
    ((KEY)(((key) ^ (flip)) < 0 ? (key) ^ (flip) ^ INT16_MAX : (key) ^ (flip)))
#define LAST 0x7c00
#define SIZE uint16_t
#define SIZE_OF(v) ((SIZE)((v)&INT16_MAX))
#include "group/group_simd_keys.inc"

#define NAME(f) f##_bf16
#define T int16_t
#define KEY int16_t
#define KEY_OF(v, flip)                                                                            \
    ((KEY)(((v)&INT16_MAX) > 0x7f80 ? INT16_MIN : ((v) < 0 ? (v) ^ INT16_MAX : (v)) ^ (flip)))
#define BITS_OF(key, flip)                                                                         \
    ((KEY)(((key) ^ (flip)) < 0 ? (key) ^ (flip) ^ INT16_MAX : (key) ^ (flip)))
#define LAST 0x7f80
#define SIZE uint16_t
#define SIZE_OF(v) ((SIZE)((v)&INT16_MAX))
#include "group/group_simd_keys.inc"

#define NAME(f) f##_f32
#define T int32_t
#define KEY int32_t
#define KEY_OF(v, flip)                                                                            \
    ((KEY)(((v)&INT32_MAX) > 0x7f800000 ? INT32_MIN : ((v) < 0 ? (v) ^ INT32_MAX : (v)) ^ (flip)))
#define BITS_OF(key, flip)                                                                         \
    ((KEY)(((key) ^ (flip)) < 0 ? (key) ^ (flip) ^ INT32_MAX : (key) ^ (flip)))
#define LAST 0x7f800000
#define SIZE uint32_t
#define SIZE_OF(v) ((SIZE)((v)&INT32_MAX))
#include "group/group_simd_keys.inc"

#define NAME(f) f##_f64
#define T int64_t
#define KEY int64_t
#define KEY_OF(v, flip)                                                                            \
    ((KEY)(((v)&INT64_MAX) > 0x7ff0000000000000 ? INT64_MIN                                        \
                                                : ((v) < 0 ? (v) ^ INT64_MAX : (v)) ^ (flip)))
#define BITS_OF(key, flip)                                                                         \
    ((KEY)(((key) ^ (flip)) < 0 ? (key) ^ (flip) ^ INT64_MAX : (key) ^ (flip)))
#define LAST 0x7ff0000000000000
#define SIZE uint64_t
#define SIZE_OF(v) ((SIZE)((v)&INT64_MAX))
#include "group/group_simd_keys.inc"

/* ---- the table ---- */

#define SUMS(type)                                                                                 \
    { segments_##type, piece_##type, merge_##type, finish_##type }
#define SQUARES(type)                                                                              \
    { square_segments_##type, square_piece_##type, square_merge_##type, square_finish_##type }
#define SCALED                                                                                     \
    { scaled_segments, scaled_piece, scaled_merge, scaled_finish }
#define KEYS(type)                                                                                 \
    { key_segments_##type, key_piece_##type, key_merge_##type, key_finish_##type }
#define SIZES(type)                                                                                \
    { size_segments_##type, size_piece_##type, size_merge_##type, size_finish_##type }

const wi_group_simd WI_FOR_ISA(wi_group_simd) = {
    .sums = {SUMS(i8), SUMS(i16), SUMS(i32), SUMS(i64), SUMS(u8), SUMS(u16), SUMS(u32), SUMS(u64),
             SUMS(f16), SUMS(bf16), SUMS(f32), SUMS(f64)},
    .squares = {SQUARES(i8), SQUARES(i16), SQUARES(i32), SQUARES(i64), SQUARES(u8), SQUARES(u16),
                SQUARES(u32), SQUARES(u64), SUMS(f16), SUMS(bf16), SUMS(f32), SCALED},
    .keys = {KEYS(i8), KEYS(i16), KEYS(i32), KEYS(i64), KEYS(u8), KEYS(u16), KEYS(u32), KEYS(u64),
             KEYS(f16), KEYS(bf16), KEYS(f32), KEYS(f64)},
    .magnitudes = {SIZES(i8), SIZES(i16), SIZES(i32), SIZES(i64), SIZES(u8), SIZES(u16), SIZES(u32),
                   SIZES(u64), SIZES(f16), SIZES(bf16), SIZES(f32), SIZES(f64)},
};
