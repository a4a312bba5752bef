/* SPDX-License-Identifier: Apache-2.0 */
/* The summary of one block, for one instruction set: its elements are keys for the extremes, and
 * f64 for the sums. */
#include "summary/summary_simd.h"

#include <string.h>

#include "cpu/half_simd.h"
#include "cpu/stream.h"
#include "sort/sort_simd.h"

enum {
    BLOCK = WI_SUMMARY_BLOCK,
    LANES = WI_SUMMARY_LANES
};

/* ---- extremes ---- */

/* Keys above `last` are NaN. */
typedef struct extremes {
    uint64_t least, most;
    size_t nans;
} extremes;

#define NAME(f) f##_8
#define T uint8_t
#include "summary/summary_simd_keys.inc"

#define NAME(f) f##_16
#define T uint16_t
#include "summary/summary_simd_keys.inc"

#define NAME(f) f##_32
#define T uint32_t
#include "summary/summary_simd_keys.inc"

#define NAME(f) f##_64
#define T uint64_t
#include "summary/summary_simd_keys.inc"

/* The key of +infinity, or of the largest integer. */
static uint64_t last_key(const wi_summary_run *run) {
    static const uint64_t infinity[WEFT_TYPE_COUNT] = {[WEFT_F16] = 0x7C00,
                                                       [WEFT_BF16] = 0x7F80,
                                                       [WEFT_F32] = 0x7F800000,
                                                       [WEFT_F64] = 0x7FF0000000000000};
    const uint64_t bits = infinity[run->type];
    return bits > 0 ? (bits ^ run->form.sign) - run->form.lowest : UINT64_MAX;
}

static extremes extremes_of(const wi_summary_run *run, void *keys) {
    const uint64_t last = last_key(run);
    const size_t size = weft_type_size(run->type);
    WI_FOR_ISA(wi_sort_simd).to_keys(&run->form, (unsigned)size, run->n, run->x, keys);
    switch (size) {
    case 1:
        return extremes_8(run->n, keys, (uint8_t)last);
    case 2:
        return extremes_16(run->n, keys, (uint16_t)last);
    case 4:
        return extremes_32(run->n, keys, (uint32_t)last);
    default:
        return extremes_64(run->n, keys, last);
    }
}

static size_t find(const wi_summary_run *run, uint64_t key) {
    uint64_t keys[BLOCK]; /* room for keys of any type */
    const size_t size = weft_type_size(run->type);
    size_t i = 0;
    WI_FOR_ISA(wi_sort_simd).to_keys(&run->form, (unsigned)size, run->n, run->x, keys);
    while (i < run->n && wi_element_bits(keys, size, i) != key)
        i++;
    return i;
}

/* ---- sums ---- */

#define WIDEN(T)                                                                                   \
    do {                                                                                           \
        const T *const from = x;                                                                   \
        _Pragma("omp simd") for (size_t i = 0; i < n; i++) to[i] = (double)from[i];                \
    } while (0)

static void widen(weft_type type, size_t n, const void *x, float *halves, double *to) {
    switch (type) {
    case WEFT_I8:
        WIDEN(int8_t);
        break;
    case WEFT_I16:
        WIDEN(int16_t);
        break;
    case WEFT_I32:
        WIDEN(int32_t);
        break;
    case WEFT_I64:
        WIDEN(int64_t);
        break;
    case WEFT_U8:
        WIDEN(uint8_t);
        break;
    case WEFT_U16:
        WIDEN(uint16_t);
        break;
    case WEFT_U32:
        WIDEN(uint32_t);
        break;
    case WEFT_U64:
        WIDEN(uint64_t);
        break;
    case WEFT_F16:
        wi_f16_widen_run(n, x, halves);
        x = halves;
        WIDEN(float);
        break;
    case WEFT_BF16:
        wi_bf16_widen_run(n, x, halves);
        x = halves;
        WIDEN(float);
        break;
    case WEFT_F32:
        WIDEN(float);
        break;
    case WEFT_F64:
        WIDEN(double);
    }
}

/* Moves the numbers before the NaN; returns how many they are. */
static size_t drop_nans(size_t n, double *v) {
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        v[kept] = v[i];
        kept += v[i] == v[i];
    }
    return kept;
}

/* All lanes added, by halves. */
WI_INLINE double total(const double *of) {
    double lane[LANES];
    memcpy(lane, of, sizeof lane);
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int k = 0; k < half; k++)
            lane[k] += lane[k + half];
    return lane[0];
}

/* The sum of v[i] - shift. */
static double sum_about(size_t n, const double *v, double shift) {
    double lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            lane[k] += v[i + (size_t)k] - shift;
    for (int k = 0; i < n; i++, k++)
        lane[k] += v[i] - shift;
    return total(lane);
}

/* The sums about a number near the mean. A first sum, about an element, tells where that is; equal
 * elements stay exact. */
static wi_summary_sums sums_of(size_t n, const double *v) {
    const double first = v[0] - v[0] == 0 ? v[0] : 0; /* it may be infinite */
    const double near = sum_about(n, v, first) / (double)n + first;
    const double shift = near - near == 0 ? near : first;
    double sum[LANES] = {0}, squares[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            const double d = v[i + (size_t)k] - shift;
            sum[k] += d;
            squares[k] += d * d;
        }
    }
    for (int k = 0; i < n; i++, k++) {
        const double d = v[i] - shift;
        sum[k] += d;
        squares[k] += d * d;
    }
    return wi_summary_close(n, shift, total(sum), total(squares));
}

static void block(const wi_summary_run *run, wi_summary_state *state) {
    double v[BLOCK];
    union {
        uint64_t keys[BLOCK]; /* room for keys of any type */
        float halves[BLOCK];
    } room;
    const extremes found = extremes_of(run, room.keys);
    size_t n = run->n;
    widen(run->type, n, run->x, room.halves, v);
    if (found.nans > 0)
        n = drop_nans(n, v);
    *state = (wi_summary_state){.nans = found.nans,
                                .least = found.least,
                                .most = found.most,
                                .least_at = run->at,
                                .most_at = run->at};
    if (n > 0)
        state->sums = sums_of(n, v);
}

const wi_summary_simd WI_FOR_ISA(wi_summary_simd) = {.block = block, .find = find};
