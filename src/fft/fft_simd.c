/* SPDX-License-Identifier: Apache-2.0 */
/* The work of a thread of fft, for one instruction set. */
#include "fft/fft_simd.h"

#include <string.h>

#include "cpu/half_simd.h"
#include "cpu/lanes.h"

#define SHUFFLE __builtin_shufflevector
#define LOW_2(a, b) SHUFFLE(a, b, 0, 2)
#define HIGH_2(a, b) SHUFFLE(a, b, 1, 3)
#define LOW_4(a, b) SHUFFLE(a, b, 0, 4, 1, 5)
#define HIGH_4(a, b) SHUFFLE(a, b, 2, 6, 3, 7)
#define EVEN_4(a, b) SHUFFLE(a, b, 0, 2, 4, 6)
#define ODD_4(a, b) SHUFFLE(a, b, 1, 3, 5, 7)
#define LOW_8(a, b) SHUFFLE(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH_8(a, b) SHUFFLE(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define EVEN_8(a, b) SHUFFLE(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define ODD_8(a, b) SHUFFLE(a, b, 1, 3, 5, 7, 9, 11, 13, 15)
#define LOW_16(a, b) SHUFFLE(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH_16(a, b) SHUFFLE(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define EVEN_16(a, b) SHUFFLE(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define ODD_16(a, b) SHUFFLE(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)

#if WI_VECTOR_BYTES == 64
#    define F32(what) what##_16
#    define F64(what) what##_8
#elif WI_VECTOR_BYTES == 32
#    define F32(what) what##_8
#    define F64(what) what##_4
#else
#    define F32(what) what##_4
#    define F64(what) what##_2
#    define EVEN_2 LOW_2
#    define ODD_2 HIGH_2
#endif

/* Transposes W rows of W numbers by log2 W perfect shuffles. */
#define SHUFFLED(V, W, LOW, HIGH, v)                                                               \
    for (int step = 1; step < (W); step *= 2) {                                                    \
        V t[W];                                                                                    \
        for (int i = 0; i < (W) / 2; i++) {                                                        \
            t[2 * i] = LOW(v[i], v[i + (W) / 2]);                                                  \
            t[2 * i + 1] = HIGH(v[i], v[i + (W) / 2]);                                             \
        }                                                                                          \
        memcpy(v, t, sizeof t);                                                                    \
    }

#if WI_VECTOR_BYTES == 32
/* AVX2 has instructions for shuffles within each half, and for exchanges of halves. */
WI_INLINE void transpose_f32(wi_floats *v) {
    wi_floats t[8], u[8];
#    pragma GCC unroll 4
    for (int i = 0; i < 8; i += 2) {
        t[i] = SHUFFLE(v[i], v[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        t[i + 1] = SHUFFLE(v[i], v[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
#    pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4) {
        u[i] = SHUFFLE(t[i], t[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        u[i + 1] = SHUFFLE(t[i], t[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        u[i + 2] = SHUFFLE(t[i + 1], t[i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
        u[i + 3] = SHUFFLE(t[i + 1], t[i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
    }
#    pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        v[i] = SHUFFLE(u[i], u[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        v[i + 4] = SHUFFLE(u[i], u[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

WI_INLINE void transpose_f64(wi_doubles *v) {
    const wi_doubles a = SHUFFLE(v[0], v[1], 0, 4, 2, 6), b = SHUFFLE(v[0], v[1], 1, 5, 3, 7);
    const wi_doubles c = SHUFFLE(v[2], v[3], 0, 4, 2, 6), d = SHUFFLE(v[2], v[3], 1, 5, 3, 7);
    v[0] = SHUFFLE(a, c, 0, 1, 4, 5);
    v[1] = SHUFFLE(b, d, 0, 1, 4, 5);
    v[2] = SHUFFLE(a, c, 2, 3, 6, 7);
    v[3] = SHUFFLE(b, d, 2, 3, 6, 7);
}
#else
WI_INLINE void transpose_f32(wi_floats *v){
    SHUFFLED(wi_floats, WI_VECTOR_BYTES / 4, F32(LOW), F32(HIGH), v)}

WI_INLINE void transpose_f64(wi_doubles *v) {
    SHUFFLED(wi_doubles, WI_VECTOR_BYTES / 8, F64(LOW), F64(HIGH), v)
}
#endif

#define INLINE WI_INLINE
#include "fft/fft_roots.h"
#define V wi_floats
#define NAME(f) f##_f32
#define UNROLL _Pragma("GCC unroll 16")
#define SPLAT(x) wi_splat_f32((float)(x))
#define PLUS_PRODUCT wi_plus_product_f32
#include "fft/fft_butterflies.inc"
#define INLINE WI_INLINE
#define V wi_doubles
#define NAME(f) f##_f64
#define UNROLL _Pragma("GCC unroll 16")
#define SPLAT(x) wi_splat(x)
#define PLUS_PRODUCT wi_plus_product
#include "fft/fft_butterflies.inc"

#define T float
#define V wi_floats
#define NAME(f) f##_f32
#define LOW F32(LOW)
#define HIGH F32(HIGH)
#define EVEN F32(EVEN)
#define TRANSPOSE transpose_f32
#define ODD F32(ODD)
#define BROADCAST wi_splat_f32
#define PRODUCT_SUM wi_plus_product_f32
#include "fft/fft_simd_lines.inc"

/* ---- f16 arrays: the numbers of a group are widened into a free room before they are loaded, and
 * narrowed from one after they are stored ---- */

/* Where the numbers of a group are in that buffer: those of a line one after the other or, if lines
 * are next to each other in memory, all first numbers, then all second ones and so on. */
static wi_fft_lines spare_of(const wi_fft_lines *l, bool adjacent, group_f32 *g) {
    wi_fft_lines spare = *l;
    spare.stride_in = spare.stride_out = adjacent ? WIDE_f32 : 1;
    for (size_t lane = 0; lane < WIDE_f32; lane++)
        g->in[lane] = g->out[lane] = adjacent ? lane : lane * l->n;
    return spare;
}

static void load_half(const wi_fft_lines *l, const group_f32 *g, wi_floats *to, float *room) {
    const uint16_t *const x = l->x;
    const bool adjacent = are_adjacent_f32(g->in, g->count);
    group_f32 there = *g;
    wi_fft_lines spare = spare_of(l, adjacent, &there);
    spare.x = room;
    for (size_t k = 0; adjacent && k < l->n; k++)
        wi_f16_widen_run(2 * g->count, x + 2 * (g->in[0] + k * l->stride_in),
                         room + 2 * WIDE_f32 * k);
    for (size_t lane = 0; !adjacent && lane < WIDE_f32; lane++) {
        float *const line = room + 2 * lane * l->n;
        if (l->stride_in == 1)
            wi_f16_widen_run(2 * l->n, x + 2 * g->in[lane], line);
        for (size_t k = 0; l->stride_in != 1 && k < 2 * l->n; k++)
            line[k] = wi_f16_widen(x[2 * (g->in[lane] + k / 2 * l->stride_in) + k % 2]);
    }
    load_f32(&spare, &there, to);
}

static void store_half(const wi_fft_lines *l, const group_f32 *g, const wi_floats *from,
                       float *room) {
    uint16_t *const y = l->y;
    const bool adjacent = are_adjacent_f32(g->out, g->count);
    group_f32 there = *g;
    wi_fft_lines spare = spare_of(l, adjacent, &there);
    spare.y = room;
    store_f32(&spare, &there, from);
    for (size_t k = 0; adjacent && k < l->n; k++)
        wi_f16_narrow_run(2 * g->count, room + 2 * WIDE_f32 * k,
                          y + 2 * (g->out[0] + k * l->stride_out));
    for (size_t lane = 0; !adjacent && lane < g->count; lane++) {
        const float *const line = room + 2 * lane * l->n;
        if (l->stride_out == 1)
            wi_f16_narrow_run(2 * l->n, line, y + 2 * g->out[lane]);
        for (size_t k = 0; l->stride_out != 1 && k < 2 * l->n; k++)
            y[2 * (g->out[lane] + k / 2 * l->stride_out) + k % 2] = wi_f16_narrow(line[k]);
    }
}

static void transform_lines_half(const wi_fft_work *work, size_t first, size_t count, void *room) {
    const wi_fft_lines *const l = work->lines;
    wi_floats *const x = room, *const y = x + 2 * l->n;
    group_f32 g;
    locate_f32(l, first, count, &g);
    if (l->half_in)
        load_half(l, &g, x, (float *)y);
    else
        load_f32(l, &g, x);
    wi_floats *const out = between_f32(work, g.turn, x, y);
    if (l->half_out)
        store_half(l, &g, out, (float *)(out == x ? y : x));
    else
        store_f32(l, &g, out);
}

#define T double
#define V wi_doubles
#define NAME(f) f##_f64
#define LOW F64(LOW)
#define HIGH F64(HIGH)
#define EVEN F64(EVEN)
#define TRANSPOSE transpose_f64
#define ODD F64(ODD)
#define BROADCAST wi_splat
#define PRODUCT_SUM wi_plus_product
#include "fft/fft_simd_lines.inc"

const wi_fft_simd WI_FOR_ISA(wi_fft_simd) = {.bytes = WI_VECTOR_BYTES,
                                             .f32 = transform_lines_f32,
                                             .half = transform_lines_half,
                                             .f64 = transform_lines_f64};
