/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of short segments, one in each lane: element j of 16 segments is gathered and added at once.
 * Elements of a segment are added in their order, as the loops of group_simd.c add fewer than 16,
 * so the bits are the same. For AVX-512. */
#include "group/group_simd.h"

#include "cpu/vector.h"

#if defined(__AVX512F__)

enum {
    MOST_LEAP = 256 /* segments that are not looked at behind long ones */
};

_Static_assert(WI_GROUP_LANES == 16, "a mask has a bit for each segment");

/* 16 segments: where they begin, counted from the first of them, and how long they are. */
typedef struct sixteen {
    size_t base;
    __m512i from, length;
    __mmask16 longer; /* those of 16 elements or more */
} sixteen;

WI_INLINE __m512i offsets_from(const uint64_t *starts, size_t base) {
    const __m512i first = _mm512_set1_epi64((int64_t)base);
    const __m256i low =
        _mm512_cvtusepi64_epi32(_mm512_sub_epi64(_mm512_loadu_si512(starts), first));
    const __m256i high =
        _mm512_cvtusepi64_epi32(_mm512_sub_epi64(_mm512_loadu_si512(starts + 8), first));
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

WI_INLINE sixteen sixteen_at(const wi_group_args *a, size_t s) {
    sixteen of = {.base = wi_group_start(a, s)};
    const size_t all = wi_group_start(a, s + WI_GROUP_LANES) - of.base;
    __m512i end;
    if (a->start_bytes == 4) {
        const uint32_t *const starts = (const uint32_t *)a->starts + s;
        const __m512i base = _mm512_set1_epi32((int)of.base);
        of.from = _mm512_sub_epi32(_mm512_loadu_si512(starts), base);
        end = _mm512_sub_epi32(_mm512_loadu_si512(starts + 1), base);
    } else {
        const uint64_t *const starts = (const uint64_t *)a->starts + s;
        of.from = offsets_from(starts, of.base);
        end = offsets_from(starts + 1, of.base);
    }
    of.length = _mm512_sub_epi32(end, of.from);
    of.longer = all > INT32_MAX
                    ? 0xffff
                    : _mm512_cmpge_epu32_mask(of.length, _mm512_set1_epi32(WI_GROUP_LANES));
    return of;
}

WI_INLINE __m256i low_half(__m512i v) {
    return _mm512_castsi512_si256(v);
}

WI_INLINE __m256i high_half(__m512i v) {
    return _mm512_extracti64x4_epi64(v, 1);
}

/* ---- elements x[at], those whose bit of `live` is set, as 8 + 8 wide ones ---- */

typedef struct pair {
    __m512i low, high;
} pair;

WI_INLINE __m512i gathered_32(const void *x, __m512i at, __mmask16 live) {
    return _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), live, at, x, 4);
}

WI_INLINE pair gathered_64(const void *x, __m512i at, __mmask16 live) {
    const __m512i none = _mm512_setzero_si512();
    return (pair){_mm512_mask_i32gather_epi64(none, (__mmask8)live, low_half(at), x, 8),
                  _mm512_mask_i32gather_epi64(none, (__mmask8)(live >> 8), high_half(at), x, 8)};
}

WI_INLINE pair wide_i32(__m512i v) {
    return (pair){_mm512_cvtepi32_epi64(low_half(v)), _mm512_cvtepi32_epi64(high_half(v))};
}

WI_INLINE pair wide_u32(__m512i v) {
    return (pair){_mm512_cvtepu32_epi64(low_half(v)), _mm512_cvtepu32_epi64(high_half(v))};
}

WI_INLINE pair wide_f32(__m512i v) {
    return (pair){(__m512i)_mm512_cvtps_pd((__m256)low_half(v)),
                  (__m512i)_mm512_cvtps_pd((__m256)high_half(v))};
}

/* ---- sums, and results in y ---- */

WI_INLINE __m512i added_floats(__m512i sum, __mmask8 live, __m512i v) {
    return (__m512i)_mm512_mask_add_pd((__m512d)sum, live, (__m512d)sum, (__m512d)v);
}

WI_INLINE __m512i added_integers(__m512i sum, __mmask8 live, __m512i v) {
    return _mm512_mask_add_epi64(sum, live, sum, v);
}

WI_INLINE void put_wide(void *y, size_t s, pair sum) {
    _mm512_storeu_si512((uint64_t *)y + s, sum.low);
    _mm512_storeu_si512((uint64_t *)y + s + 8, sum.high);
}

WI_INLINE void put_f32(void *y, size_t s, pair sum) {
    _mm256_storeu_ps((float *)y + s, _mm512_cvtpd_ps((__m512d)sum.low));
    _mm256_storeu_ps((float *)y + s + 8, _mm512_cvtpd_ps((__m512d)sum.high));
}

/* How a type is added up; `load` takes the 16 elements from x on. */
typedef struct adding {
    size_t size;
    pair (*load)(const void *x);
    pair (*gather)(const void *x, __m512i at, __mmask16 live);
    __m512i (*add)(__m512i sum, __mmask8 live, __m512i v);
    void (*put)(void *y, size_t s, pair sum);
} adding;

WI_INLINE void add(adding by, pair *sum, __mmask16 live, pair v) {
    sum->low = by.add(sum->low, (__mmask8)live, v.low);
    sum->high = by.add(sum->high, (__mmask8)(live >> 8), v.high);
}

/* Many long ones leave too few lanes to the others. */
WI_INLINE bool are_long(__mmask16 longer) {
    return __builtin_popcount(longer) > WI_GROUP_LANES / 2;
}

WI_INLINE pair summed(adding by, const void *x, sixteen of) {
    const __m512i one = _mm512_set1_epi32(1);
    pair sum = {_mm512_setzero_si512(), _mm512_setzero_si512()};
    __mmask16 live = _mm512_test_epi32_mask(of.length, of.length) & (__mmask16)~of.longer;
    if (_mm512_cmpeq_epi32_mask(of.length, one) == 0xffff) {
        add(by, &sum, live, by.load(x));
        return sum;
    }
    of.length = _mm512_maskz_mov_epi32(live, of.length);
    while (live) {
        add(by, &sum, live, by.gather(x, of.from, live));
        of.from = _mm512_add_epi32(of.from, one);
        of.length = _mm512_mask_sub_epi32(of.length, live, of.length, one);
        live = _mm512_test_epi32_mask(of.length, of.length);
    }
    return sum;
}

WI_INLINE void sums(const wi_group_run *run, size_t s, size_t end, wi_group_whole whole,
                    adding by) {
    const wi_group_args *const a = run->args;
    size_t leap = WI_GROUP_LANES; /* as many segments go to `whole` at once */
    while (s + WI_GROUP_LANES < end) {
        const sixteen of = sixteen_at(a, s);
        if (are_long(of.longer)) {
            const size_t next = leap < end - s ? s + leap : end;
            whole(run, s, next);
            s = next;
            leap = leap < MOST_LEAP ? 2 * leap : leap;
            continue;
        }
        leap = WI_GROUP_LANES;
        by.put(a->y, s, summed(by, (const char *)a->x + of.base * by.size, of));
        for (unsigned longer = of.longer; longer; longer &= longer - 1) {
            const size_t at = s + (size_t)__builtin_ctz(longer);
            whole(run, at, at + 1);
        }
        s += WI_GROUP_LANES;
    }
    if (s < end)
        whole(run, s, end);
}

WI_INLINE __m512i loaded(const void *x) {
    return _mm512_loadu_si512(x);
}

WI_INLINE pair load_64(const void *x) {
    return (pair){loaded(x), loaded((const uint64_t *)x + 8)};
}

WI_INLINE pair load_i32(const void *x) {
    return wide_i32(loaded(x));
}

WI_INLINE pair gather_i32(const void *x, __m512i at, __mmask16 live) {
    return wide_i32(gathered_32(x, at, live));
}

WI_INLINE pair load_u32(const void *x) {
    return wide_u32(loaded(x));
}

WI_INLINE pair gather_u32(const void *x, __m512i at, __mmask16 live) {
    return wide_u32(gathered_32(x, at, live));
}

WI_INLINE pair load_f32(const void *x) {
    return wide_f32(loaded(x));
}

WI_INLINE pair gather_f32(const void *x, __m512i at, __mmask16 live) {
    return wide_f32(gathered_32(x, at, live));
}

static void sums_i32(const wi_group_run *run, size_t s, size_t end, wi_group_whole *whole) {
    sums(run, s, end, whole, (adding){4, load_i32, gather_i32, added_integers, put_wide});
}

static void sums_u32(const wi_group_run *run, size_t s, size_t end, wi_group_whole *whole) {
    sums(run, s, end, whole, (adding){4, load_u32, gather_u32, added_integers, put_wide});
}

static void sums_f32(const wi_group_run *run, size_t s, size_t end, wi_group_whole *whole) {
    sums(run, s, end, whole, (adding){4, load_f32, gather_f32, added_floats, put_f32});
}

static void sums_64(const wi_group_run *run, size_t s, size_t end, wi_group_whole *whole) {
    sums(run, s, end, whole, (adding){8, load_64, gathered_64, added_integers, put_wide});
}

static void sums_f64(const wi_group_run *run, size_t s, size_t end, wi_group_whole *whole) {
    sums(run, s, end, whole, (adding){8, load_64, gathered_64, added_floats, put_wide});
}

const wi_group_side_by_side WI_FOR_ISA(wi_group_side_by_side) = {.sums = {[WEFT_I32] = sums_i32,
                                                                          [WEFT_U32] = sums_u32,
                                                                          [WEFT_I64] = sums_64,
                                                                          [WEFT_U64] = sums_64,
                                                                          [WEFT_F32] = sums_f32,
                                                                          [WEFT_F64] = sums_f64}};

#else

const wi_group_side_by_side WI_FOR_ISA(wi_group_side_by_side) = {.sums = {NULL}};

#endif
