/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of one block, for one instruction set. */
#include "reduce/reduce_simd.h"

#include <math.h>
#include <string.h>

#include "cpu/half_simd.h"
#include "cpu/stream.h"

enum {
    VECTORS = WI_REDUCE_LANES / WI_WIDE, /* vectors of lanes */
    HALF_TILE = 16 * WI_REDUCE_LANES     /* 16-bit floats converted at a time */
};

/* Prefetches the part of the next block that corresponds to elements [i, i + n) of this one. */
WI_INLINE void fetch_ahead(wi_reduction op, const void *x, const void *y, size_t size, size_t i,
                           size_t n) {
    const size_t part = wi_fetch_order(i / n, WI_REDUCE_BLOCK / n) * n;
    const size_t at = (WI_REDUCE_BLOCK + part) * size;
    wi_fetch((const char *)x + at, n * size);
    if (op == WI_RED_DOT)
        wi_fetch((const char *)y + at, n * size);
}

WI_INLINE wi_doubles magnitudes(wi_doubles v) {
    return (wi_doubles)((wi_longs)v & INT64_MAX);
}

WI_INLINE wi_doubles take(wi_reduction op, wi_doubles lane, wi_doubles x, wi_doubles y) {
    switch (op) {
    case WI_RED_PRODUCT:
        return lane * x;
    case WI_RED_NRM1:
        return lane + magnitudes(x);
    case WI_RED_NRM2:
        return lane + x * x;
    case WI_RED_DOT:
        return lane + x * y;
    default:
        return lane + x;
    }
}

/* All lanes combined, by halves: lane k with lane k + 16, then with k + 8, and so on. */
static double total(wi_reduction op, const wi_doubles vectors[VECTORS]) {
    double lanes[WI_REDUCE_LANES];
    memcpy(lanes, vectors, sizeof lanes);
    for (int half = WI_REDUCE_LANES / 2; half > 0; half /= 2) {
        for (int k = 0; k < half; k++)
            lanes[k] =
                op == WI_RED_PRODUCT ? lanes[k] * lanes[k + half] : lanes[k] + lanes[k + half];
    }
    return lanes[0];
}

#define MAGNITUDE(v) ((UNSIGNED)((v) < 0 ? 0 - (UNSIGNED)(v) : (UNSIGNED)(v)))

#define NAME(op) op##_i8
#define T int8_t
#define SIGNED int8_t
#define UNSIGNED uint8_t
#define SUM int32_t
#define PRODUCT int32_t
#define DOT int32_t
#include "reduce/reduce_simd_int.inc"

#define NAME(op) op##_i16
#define T int16_t
#define SIGNED int16_t
#define UNSIGNED uint16_t
#define SUM int32_t
#define PRODUCT int32_t
#define DOT int64_t
#include "reduce/reduce_simd_int.inc"

#define NAME(op) op##_i32
#define T int32_t
#define SIGNED int32_t
#define UNSIGNED uint32_t
#define SUM int64_t
#define PRODUCT int64_t
#define DOT uint64_t
#include "reduce/reduce_simd_int.inc"

#define NAME(op) op##_i64
#define T int64_t
#define SIGNED int64_t
#define UNSIGNED uint64_t
#define SUM uint64_t
#define PRODUCT uint64_t
#define DOT uint64_t
#include "reduce/reduce_simd_int.inc"

#undef MAGNITUDE
#define MAGNITUDE(v) (v)

#define NAME(op) op##_u8
#define T uint8_t
#define SIGNED int8_t
#define UNSIGNED uint8_t
#define SUM uint32_t
#define PRODUCT uint32_t
#define DOT uint32_t
#include "reduce/reduce_simd_int.inc"

#define NAME(op) op##_u16
#define T uint16_t
#define SIGNED int16_t
#define UNSIGNED uint16_t
#define SUM uint32_t
#define PRODUCT uint32_t
#define DOT uint64_t
#include "reduce/reduce_simd_int.inc"

#define NAME(op) op##_u32
#define T uint32_t
#define SIGNED int32_t
#define UNSIGNED uint32_t
#define SUM uint64_t
#define PRODUCT uint64_t
#define DOT uint64_t
#include "reduce/reduce_simd_int.inc"

#define NAME(op) op##_u64
#define T uint64_t
#define SIGNED int64_t
#define UNSIGNED uint64_t
#define SUM uint64_t
#define PRODUCT uint64_t
#define DOT uint64_t
#include "reduce/reduce_simd_int.inc"

#define NAME(op) op##_f16
#define BITS int16_t
#define KEY uint16_t
#define TOP INT16_MAX
#define INFINITE 0x7c00
#include "reduce/reduce_simd_key.inc"

#define NAME(op) op##_bf16
#define BITS int16_t
#define KEY uint16_t
#define TOP INT16_MAX
#define INFINITE 0x7f80
#include "reduce/reduce_simd_key.inc"

#define NAME(op) op##_f32
#define BITS int32_t
#define KEY uint32_t
#define TOP INT32_MAX
#define INFINITE 0x7f800000
#include "reduce/reduce_simd_key.inc"

#define NAME(op) op##_f64
#define BITS int64_t
#define KEY uint64_t
#define TOP INT64_MAX
#define INFINITE 0x7ff0000000000000
#include "reduce/reduce_simd_key.inc"

#define NAME(f) f##_f32
#define T float
#define LOAD wi_doubles_of_f32
#include "reduce/reduce_simd_lanes.inc"

#define NAME(f) f##_f64
#define T double
#define LOAD wi_doubles_of_f64
#include "reduce/reduce_simd_lanes.inc"

#define NAME(f) f##_i32
#define T int32_t
#define LOAD wi_doubles_of_i32
#include "reduce/reduce_simd_lanes.inc"

#define NAME(f) f##_u32
#define T uint32_t
#define LOAD wi_doubles_of_u32
#include "reduce/reduce_simd_lanes.inc"

#define NAME(f) f##_i64
#define T int64_t
#define LOAD wi_doubles_of_i64
#include "reduce/reduce_simd_lanes.inc"

#define NAME(f) f##_u64
#define T uint64_t
#define LOAD wi_doubles_of_u64
#include "reduce/reduce_simd_lanes.inc"

/* The same for 16-bit floats, by way of f32. */
WI_INLINE void fold_half(wi_reduction op, void (*widen)(size_t, const uint16_t *, float *),
                         const wi_reduce_run *run, wi_doubles lanes[VECTORS]) {
    const uint16_t *x = run->x, *y = run->y;
    float wide_x[HALF_TILE], wide_y[HALF_TILE];
    for (size_t i = 0; i < run->n; i += HALF_TILE) {
        size_t n = run->n - i < HALF_TILE ? run->n - i : HALF_TILE;
        if (run->more)
            fetch_ahead(op, x, y, sizeof *x, i, HALF_TILE);
        widen(n, x + i, wide_x);
        if (op == WI_RED_DOT)
            widen(n, y + i, wide_y);
        fold_into_f32(op, n, wide_x, op == WI_RED_DOT ? wide_y : wide_x, false, lanes);
    }
}

#define FOLD_F16(op, run, lanes) fold_half(op, wi_f16_widen_run, run, lanes)
#define FOLD_BF16(op, run, lanes) fold_half(op, wi_bf16_widen_run, run, lanes)

#define NAME(op) op##_f16
#define FOLD FOLD_F16
#include "reduce/reduce_simd_sums.inc"

#define NAME(op) op##_bf16
#define FOLD FOLD_BF16
#include "reduce/reduce_simd_sums.inc"

#define NAME(op) op##_f32
#define FOLD fold_f32
#include "reduce/reduce_simd_sums.inc"

#define NAME(op) op##_f64
#define FOLD fold_f64
#include "reduce/reduce_simd_sums.inc"

#define NAME(op) op##_f16
#define FOLD FOLD_F16
#include "reduce/reduce_simd_norm.inc"

#define NAME(op) op##_bf16
#define FOLD FOLD_BF16
#include "reduce/reduce_simd_norm.inc"

#define NAME(op) op##_f32
#define FOLD fold_f32
#include "reduce/reduce_simd_norm.inc"

#define NAME(op) op##_i32
#define FOLD fold_i32
#include "reduce/reduce_simd_norm.inc"

#define NAME(op) op##_u32
#define FOLD fold_u32
#include "reduce/reduce_simd_norm.inc"

#define NAME(op) op##_i64
#define FOLD fold_i64
#include "reduce/reduce_simd_norm.inc"

#define NAME(op) op##_u64
#define FOLD fold_u64
#include "reduce/reduce_simd_norm.inc"

/* The two share storage: one is read before the other is written. */
WI_INLINE void integer_to_value(wi_partial *p) {
    const uint64_t integer = p->integer;
    p->value = (double)integer;
}

/* Squares of short integers are summed exactly. */
static void nrm2_i8(const wi_reduce_run *run, wi_partial *p) {
    const wi_reduce_run squares = {.n = run->n, .x = run->x, .y = run->x};
    dot_i8(&squares, p);
    integer_to_value(p);
}

static void nrm2_i16(const wi_reduce_run *run, wi_partial *p) {
    const wi_reduce_run squares = {.n = run->n, .x = run->x, .y = run->x};
    dot_i16(&squares, p);
    integer_to_value(p);
}

static void nrm2_u8(const wi_reduce_run *run, wi_partial *p) {
    const wi_reduce_run squares = {.n = run->n, .x = run->x, .y = run->x};
    dot_u8(&squares, p);
    integer_to_value(p);
}

static void nrm2_u16(const wi_reduce_run *run, wi_partial *p) {
    const wi_reduce_run squares = {.n = run->n, .x = run->x, .y = run->x};
    dot_u16(&squares, p);
    integer_to_value(p);
}

/* The three sums of squares of f64, computed side by side. */
typedef struct squares {
    wi_doubles small[VECTORS], medium[VECTORS], large[VECTORS];
} squares;

WI_INLINE wi_doubles where(wi_longs condition, wi_doubles v) {
    return (wi_doubles)((wi_longs)v & condition);
}

/* Every element adds its square to one of the sums, and 0 to the others. A NaN is neither large nor
 * small, so it is in the medium sum; an infinity is in the large one. */
WI_INLINE void take_squares(const double *x, squares *s) {
#pragma GCC unroll 16
    for (int k = 0; k < VECTORS; k++) {
        wi_doubles v = magnitudes(wi_doubles_of_f64(x + k * WI_WIDE));
        wi_longs is_large = v > WI_LARGE, is_small = v < WI_SMALL;
        wi_doubles large = where(is_large, v) * WI_SHRINK;
        wi_doubles small = where(is_small, v) * WI_GROW;
        wi_doubles medium = where(~(is_large | is_small), v);
        s->large[k] += large * large;
        s->small[k] += small * small;
        s->medium[k] += medium * medium;
    }
}

static void nrm2_f64(const wi_reduce_run *run, wi_partial *p) {
    const size_t n = run->n;
    const double *x = run->x;
    squares s = {0};
    size_t i = 0;
    for (; i + WI_REDUCE_LANES <= n; i += WI_REDUCE_LANES) {
        if (run->more)
            fetch_ahead(WI_RED_NRM2, x, NULL, sizeof *x, i, WI_REDUCE_LANES);
        take_squares(x + i, &s);
    }
    if (i < n) {
        double pad[WI_REDUCE_LANES] = {0};
        memcpy(pad, x + i, (n - i) * sizeof *pad);
        take_squares(pad, &s);
    }
    p->squares.small = total(WI_RED_SUM, s.small);
    p->squares.medium = total(WI_RED_SUM, s.medium);
    p->squares.large = total(WI_RED_SUM, s.large);
}

#define OF_EVERY_TYPE(op)                                                                          \
    {                                                                                              \
        op##_i8, op##_i16, op##_i32, op##_i64, op##_u8, op##_u16, op##_u32, op##_u64, op##_f16,    \
            op##_bf16, op##_f32, op##_f64                                                          \
    }

const wi_reduce_simd WI_FOR_ISA(wi_reduce_simd) = {{
    [WI_RED_SUM] = OF_EVERY_TYPE(sum),
    [WI_RED_PRODUCT] = OF_EVERY_TYPE(product),
    [WI_RED_MIN] = OF_EVERY_TYPE(least),
    [WI_RED_MAX] = OF_EVERY_TYPE(least),
    [WI_RED_ARGMIN] = OF_EVERY_TYPE(least),
    [WI_RED_ARGMAX] = OF_EVERY_TYPE(least),
    [WI_RED_NRM1] = OF_EVERY_TYPE(nrm1),
    [WI_RED_NRM2] = OF_EVERY_TYPE(nrm2),
    [WI_RED_NRMINF] = OF_EVERY_TYPE(nrminf),
    [WI_RED_DOT] = OF_EVERY_TYPE(dot),
}};
