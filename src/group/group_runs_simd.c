/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of short runs, whose beginnings are marked: behind every element, the sum of its run so far.
 * Eight stretches of a row are walked side by side, one in each lane, so the work does not depend
 * on where runs begin. Elements of a run are added in their order, as the loops of group_simd.c add
 * fewer than 16, so the bits are the same. For AVX2. */
#include "group/group_simd.h"

#include "cpu/stream.h"
#include "cpu/vector.h"

#if defined(__AVX2__) && !defined(__AVX512F__)

enum {
    STRETCH = WI_GROUP_ROW / 8, /* elements of a lane */
    WORDS = STRETCH / 64,       /* of marks of a lane */
    STEP = 4,                   /* elements of each lane that are loaded at once */
    LONG = WI_GROUP_LANES       /* elements of a run that is not short */
};

/* Of eight stretches an element each: lanes 0 to 3, and 4 to 7. */
typedef struct eight {
    __m256d low, high;
} eight;

/* ---- STEP elements of each stretch, turned so that a vector has one of each ---- */

typedef struct four {
    __m256 v[4];
} four;

/* v[l] has elements k of lane l in its lower half and of lane l + 4 in its upper one: swaps l and
 * k. */
WI_INLINE four turned_32(four of) {
    const __m256d a = (__m256d)_mm256_unpacklo_ps(of.v[0], of.v[1]);
    const __m256d b = (__m256d)_mm256_unpackhi_ps(of.v[0], of.v[1]);
    const __m256d c = (__m256d)_mm256_unpacklo_ps(of.v[2], of.v[3]);
    const __m256d d = (__m256d)_mm256_unpackhi_ps(of.v[2], of.v[3]);
    return (four){{(__m256)_mm256_unpacklo_pd(a, c), (__m256)_mm256_unpackhi_pd(a, c),
                   (__m256)_mm256_unpacklo_pd(b, d), (__m256)_mm256_unpackhi_pd(b, d)}};
}

WI_INLINE four load_turned_32(const float *x) {
    four of;
    for (int l = 0; l < 4; l++)
        of.v[l] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(x + l * STRETCH)),
                                       _mm_loadu_ps(x + (l + 4) * STRETCH), 1);
    return turned_32(of);
}

/* v[l] has four elements of lane l. */
WI_INLINE void turn_64(__m256d v[4]) {
    const __m256d a = _mm256_unpacklo_pd(v[0], v[1]), b = _mm256_unpackhi_pd(v[0], v[1]);
    const __m256d c = _mm256_unpacklo_pd(v[2], v[3]), d = _mm256_unpackhi_pd(v[2], v[3]);
    v[0] = _mm256_permute2f128_pd(a, c, 0x20);
    v[1] = _mm256_permute2f128_pd(b, d, 0x20);
    v[2] = _mm256_permute2f128_pd(a, c, 0x31);
    v[3] = _mm256_permute2f128_pd(b, d, 0x31);
}

WI_INLINE void load_64(const void *x, eight of[STEP]) {
    const double *const from = x;
    __m256d low[4], high[4];
    for (int l = 0; l < 4; l++) {
        low[l] = _mm256_loadu_pd(from + l * STRETCH);
        high[l] = _mm256_loadu_pd(from + (l + 4) * STRETCH);
    }
    turn_64(low);
    turn_64(high);
    for (int k = 0; k < STEP; k++)
        of[k] = (eight){low[k], high[k]};
}

WI_INLINE void load_f32(const void *x, eight of[STEP]) {
    const four turned = load_turned_32(x);
    for (int k = 0; k < STEP; k++)
        of[k] = (eight){_mm256_cvtps_pd(_mm256_castps256_ps128(turned.v[k])),
                        _mm256_cvtps_pd(_mm256_extractf128_ps(turned.v[k], 1))};
}

WI_INLINE void load_i32(const void *x, eight of[STEP]) {
    const four turned = load_turned_32(x);
    for (int k = 0; k < STEP; k++)
        of[k] =
            (eight){(__m256d)_mm256_cvtepi32_epi64((__m128i)_mm256_castps256_ps128(turned.v[k])),
                    (__m256d)_mm256_cvtepi32_epi64((__m128i)_mm256_extractf128_ps(turned.v[k], 1))};
}

WI_INLINE void load_u32(const void *x, eight of[STEP]) {
    const four turned = load_turned_32(x);
    for (int k = 0; k < STEP; k++)
        of[k] =
            (eight){(__m256d)_mm256_cvtepu32_epi64((__m128i)_mm256_castps256_ps128(turned.v[k])),
                    (__m256d)_mm256_cvtepu32_epi64((__m128i)_mm256_extractf128_ps(turned.v[k], 1))};
}

WI_INLINE void store_64(void *y, const eight of[STEP]) {
    double *const to = y;
    __m256d low[4], high[4];
    for (int k = 0; k < STEP; k++) {
        low[k] = of[k].low;
        high[k] = of[k].high;
    }
    turn_64(low);
    turn_64(high);
    for (int l = 0; l < 4; l++) {
        _mm256_storeu_pd(to + l * STRETCH, low[l]);
        _mm256_storeu_pd(to + (l + 4) * STRETCH, high[l]);
    }
}

WI_INLINE void store_f32(void *y, const eight of[STEP]) {
    float *const to = y;
    four rounded;
    for (int k = 0; k < STEP; k++)
        rounded.v[k] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(of[k].low)),
                                            _mm256_cvtpd_ps(of[k].high), 1);
    rounded = turned_32(rounded);
    for (int l = 0; l < 4; l++) {
        _mm_storeu_ps(to + l * STRETCH, _mm256_castps256_ps128(rounded.v[l]));
        _mm_storeu_ps(to + (l + 4) * STRETCH, _mm256_extractf128_ps(rounded.v[l], 1));
    }
}

WI_INLINE __m256d added_floats(__m256d a, __m256d b) {
    return _mm256_add_pd(a, b);
}

WI_INLINE __m256d added_integers(__m256d a, __m256d b) {
    return (__m256d)_mm256_add_epi64((__m256i)a, (__m256i)b);
}

/* How a type is added up; add_one adds a single element to *sum. */
typedef struct adding {
    size_t size, result_size;
    void (*load)(const void *x, eight of[STEP]);
    __m256d (*add)(__m256d a, __m256d b);
    void (*add_one)(const void *x, double *sum);
    void (*store)(void *y, const eight of[STEP]);
} adding;

/* The sum so far, or nothing if bit k of the lane's marks says that a run begins. */
WI_INLINE __m256d kept(__m256d sum, __m256i marks, int k, __m256d none) {
    return _mm256_blendv_pd(sum, none, (__m256d)_mm256_slli_epi64(marks, 63 - k));
}

/* The sum of a run's elements before x, to which the marks `before` belong; 0 if it is a long
 * run. */
WI_INLINE double sum_before(adding by, const char *x, uint64_t before) {
    double sum = 0;
    for (int k = before ? __builtin_clzll(before) + 1 : LONG; k > 0 && k < LONG; k--)
        by.add_one(x - (size_t)k * by.size, &sum);
    return sum;
}

/* Of a constant, GCC would make a comparison and a mask in place of a blend. */
static const volatile double nothing = 0;

WI_INLINE void sums(const void *x, const uint64_t *marks, bool goes_on, const void *next, void *y,
                    adding by) {
    const char *from = x, *soon = next;
    char *to = y;
    double before[8] = {0};
    for (int l = !goes_on; l < 8; l++)
        before[l] = sum_before(by, from + (size_t)(l * STRETCH) * by.size, marks[l * WORDS - 1]);
    eight sum = {_mm256_loadu_pd(before), _mm256_loadu_pd(before + 4)};
    const __m256d none = _mm256_set1_pd(nothing);
    for (int w = 0; w < WORDS; w++) {
        const long long *const m = (const long long *)(const void *)(marks + w);
        __m256i low = _mm256_set_epi64x(m[3 * WORDS], m[2 * WORDS], m[WORDS], m[0]);
        __m256i high = _mm256_set_epi64x(m[7 * WORDS], m[6 * WORDS], m[5 * WORDS], m[4 * WORDS]);
        for (int i = 0; i < 64; i += STEP) {
            eight of[STEP];
            wi_fetch(soon, 8 * STEP * by.size);
            by.load(from, of);
            for (int k = 0; k < STEP; k++) {
                sum.low = of[k].low = by.add(kept(sum.low, low, k, none), of[k].low);
                sum.high = of[k].high = by.add(kept(sum.high, high, k, none), of[k].high);
            }
            by.store(to, of);
            low = _mm256_srli_epi64(low, STEP);
            high = _mm256_srli_epi64(high, STEP);
            soon += 8 * STEP * by.size;
            from += STEP * by.size;
            to += STEP * by.result_size;
        }
    }
}

WI_INLINE void one_f32(const void *x, double *sum) {
    *sum += (double)*(const float *)x;
}

WI_INLINE void one_f64(const void *x, double *sum) {
    *sum += *(const double *)x;
}

/* Adds to the bits of *sum. */
WI_INLINE void one_integer(uint64_t v, double *sum) {
    uint64_t bits;
    memcpy(&bits, sum, sizeof bits);
    bits += v;
    memcpy(sum, &bits, sizeof bits);
}

WI_INLINE void one_i32(const void *x, double *sum) {
    one_integer((uint64_t) * (const int32_t *)x, sum);
}

WI_INLINE void one_u32(const void *x, double *sum) {
    one_integer(*(const uint32_t *)x, sum);
}

WI_INLINE void one_64(const void *x, double *sum) {
    one_integer(*(const uint64_t *)x, sum);
}

static void sums_i32(const void *x, const uint64_t *marks, bool goes_on, const void *next,
                     void *y) {
    sums(x, marks, goes_on, next, y, (adding){4, 8, load_i32, added_integers, one_i32, store_64});
}

static void sums_u32(const void *x, const uint64_t *marks, bool goes_on, const void *next,
                     void *y) {
    sums(x, marks, goes_on, next, y, (adding){4, 8, load_u32, added_integers, one_u32, store_64});
}

static void sums_f32(const void *x, const uint64_t *marks, bool goes_on, const void *next,
                     void *y) {
    sums(x, marks, goes_on, next, y, (adding){4, 4, load_f32, added_floats, one_f32, store_f32});
}

static void sums_64(const void *x, const uint64_t *marks, bool goes_on, const void *next, void *y) {
    sums(x, marks, goes_on, next, y, (adding){8, 8, load_64, added_integers, one_64, store_64});
}

static void sums_f64(const void *x, const uint64_t *marks, bool goes_on, const void *next,
                     void *y) {
    sums(x, marks, goes_on, next, y, (adding){8, 8, load_64, added_floats, one_f64, store_64});
}

const wi_group_running WI_FOR_ISA(wi_group_running) = {.sums = {[WEFT_I32] = sums_i32,
                                                                [WEFT_U32] = sums_u32,
                                                                [WEFT_I64] = sums_64,
                                                                [WEFT_U64] = sums_64,
                                                                [WEFT_F32] = sums_f32,
                                                                [WEFT_F64] = sums_f64}};

#else

const wi_group_running WI_FOR_ISA(wi_group_running) = {.sums = {NULL}};

#endif
