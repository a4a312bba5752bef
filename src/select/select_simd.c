/* SPDX-License-Identifier: Apache-2.0 */
/* Marking and packing with vectors; compiled once for each instruction set. */
#include "select/select_simd.h"

#include <string.h>

#include "cpu/stream.h"
#if defined(__AVX2__) && !defined(__AVX512F__)
#    include "cpu/to_front.h"
#endif

/* Any vector, as LANES takes it. */
typedef uint8_t any_vector __attribute__((vector_size(WI_VECTOR_BYTES)));

/* ---- comparisons of vectors as bits, one for each lane ---- */

#if defined(__AVX512F__)
#    define AT_MOST(bits, a, b) _mm512_cmple_epu##bits##_mask((__m512i)(a), (__m512i)(b))
#    define DIFFER(bits, a, b) _mm512_cmpneq_epu##bits##_mask((__m512i)(a), (__m512i)(b))
#else
/* From lanes of 0 and -1 to bits. */
#    if defined(__AVX2__)
WI_INLINE uint64_t lanes_8(any_vector v) {
    return (uint32_t)_mm256_movemask_epi8((__m256i)v);
}
WI_INLINE uint64_t lanes_16(any_vector v) {
    const __m256i bytes = _mm256_packs_epi16((__m256i)v, _mm256_setzero_si256());
    return (uint32_t)_mm256_movemask_epi8(_mm256_permute4x64_epi64(bytes, 0xd8)) & 0xffff;
}
WI_INLINE uint64_t lanes_32(any_vector v) {
    return (uint32_t)_mm256_movemask_ps((__m256)v);
}
WI_INLINE uint64_t lanes_64(any_vector v) {
    return (uint32_t)_mm256_movemask_pd((__m256d)v);
}
#    elif defined(__SSE2__)
WI_INLINE uint64_t lanes_8(any_vector v) {
    return (uint32_t)_mm_movemask_epi8((__m128i)v);
}
WI_INLINE uint64_t lanes_16(any_vector v) {
    return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16((__m128i)v, _mm_setzero_si128()));
}
WI_INLINE uint64_t lanes_32(any_vector v) {
    return (uint32_t)_mm_movemask_ps((__m128)v);
}
WI_INLINE uint64_t lanes_64(any_vector v) {
    return (uint32_t)_mm_movemask_pd((__m128d)v);
}
#    else
WI_INLINE uint64_t lanes_of(any_vector v, size_t bytes) {
    uint64_t bits = 0;
    for (size_t k = 0; k < WI_VECTOR_BYTES / bytes; k++)
        bits |= (uint64_t)(v[k * bytes] & 1) << k;
    return bits;
}
WI_INLINE uint64_t lanes_8(any_vector v) {
    return lanes_of(v, 1);
}
WI_INLINE uint64_t lanes_16(any_vector v) {
    return lanes_of(v, 2);
}
WI_INLINE uint64_t lanes_32(any_vector v) {
    return lanes_of(v, 4);
}
WI_INLINE uint64_t lanes_64(any_vector v) {
    return lanes_of(v, 8);
}
#    endif
#    define AT_MOST(bits, a, b) lanes_##bits((any_vector)((a) <= (b)))
#    define DIFFER(bits, a, b) lanes_##bits((any_vector)((a) != (b)))
#endif
#define COMPARE(how, bits, a, b) how(bits, a, b)

/* ---- packing ---- */

/* Packs those of 64 elements whose bits are set, and returns where the next goes; may write up to
 * one vector beyond them. */
typedef char *(*word_function)(const char *x, uint64_t word, char *out);

/* One by one. */
WI_INLINE char *pack_bits(const char *x, uint64_t word, char *out, size_t size) {
    for (; word; word &= word - 1, out += size)
        memcpy(out, x + (size_t)__builtin_ctzll(word) * size, size);
    return out;
}

WI_INLINE void pack_words(const void *elements, size_t n, const uint64_t *marks, uint64_t flip,
                          void *to, size_t size, word_function pack_word) {
    const char *const x = elements;
    char *out = to;
    size_t w = 0;
    for (; 64 * w + 64 <= n; w++)
        out = pack_word(x + 64 * w * size, marks[w] ^ flip, out);
    if (64 * w < n)
        pack_bits(x + 64 * w * size, (marks[w] ^ flip) & wi_select_valid(n, w), out, size);
}

#if defined(__AVX512F__) || defined(__AVX2__)
/* The same with step(x, bits, out), which packs `step_elements` elements. */
typedef void (*step_function)(const void *x, uint64_t bits, void *out);

WI_INLINE char *pack_steps(const char *x, uint64_t word, char *out, size_t size,
                           size_t step_elements, step_function step) {
    const uint64_t mask = ((uint64_t)1 << step_elements) - 1;
    for (size_t k = 0; k < 64; k += step_elements) {
        const uint64_t bits = word >> k & mask;
        step(x + k * size, bits, out);
        out += (size_t)__builtin_popcountll(bits) * size;
    }
    return out;
}
#endif

#if defined(__AVX512F__)
WI_INLINE void step_1(const void *x, uint64_t bits, void *out) {
    const __m512i wide = _mm512_cvtepu8_epi32(_mm_loadu_si128(x));
    const __m512i packed = _mm512_maskz_compress_epi32((__mmask16)bits, wide);
    _mm_storeu_si128(out, _mm512_cvtepi32_epi8(packed));
}
WI_INLINE void step_2(const void *x, uint64_t bits, void *out) {
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(x));
    const __m512i packed = _mm512_maskz_compress_epi32((__mmask16)bits, wide);
    _mm256_storeu_si256(out, _mm512_cvtepi32_epi16(packed));
}
WI_INLINE void step_4(const void *x, uint64_t bits, void *out) {
    const __m512i packed = _mm512_maskz_compress_epi32((__mmask16)bits, _mm512_loadu_si512(x));
    _mm512_storeu_si512(out, packed);
}
WI_INLINE void step_8(const void *x, uint64_t bits, void *out) {
    const __m512i packed = _mm512_maskz_compress_epi64((__mmask8)bits, _mm512_loadu_si512(x));
    _mm512_storeu_si512(out, packed);
}

#    define PACK_1(x, word, out) pack_steps(x, word, out, 1, 16, step_1)
#    define PACK_2(x, word, out) pack_steps(x, word, out, 2, 16, step_2)
#    define PACK_4(x, word, out) pack_steps(x, word, out, 4, 16, step_4)
#    define PACK_8(x, word, out) pack_steps(x, word, out, 8, 8, step_8)
#else
#    define PACK_1(x, word, out) pack_bits(x, word, out, 1)
#    define PACK_2(x, word, out) pack_bits(x, word, out, 2)
#    if defined(__AVX2__)
WI_INLINE void step_4(const void *x, uint64_t bits, void *out) {
    _mm256_storeu_si256(out, wi_bring_to_front_4(bits, _mm256_loadu_si256(x)));
}

WI_INLINE void step_8(const void *x, uint64_t bits, void *out) {
    _mm256_storeu_si256(out, wi_bring_to_front_8(bits, _mm256_loadu_si256(x)));
}

#        define PACK_4(x, word, out) pack_steps(x, word, out, 4, 8, step_4)
#        define PACK_8(x, word, out) pack_steps(x, word, out, 8, 4, step_8)
#    else
#        define PACK_4(x, word, out) pack_bits(x, word, out, 4)
#        define PACK_8(x, word, out) pack_bits(x, word, out, 8)
#    endif
#endif

/* Prefetches the share of word w of a tile of elements of `size` bytes. */
WI_INLINE void ask(const wi_select_tile *tile, size_t w, size_t size) {
    const size_t share = 64 * size / WI_FETCHES, first = w * share;
    if (first % WI_LINE_BYTES == 0)
        for (size_t at = first; at < first + share; at += WI_LINE_BYTES)
            for (size_t k = 0; k < WI_FETCHES; k++)
                __builtin_prefetch(tile->next + k * tile->quarter + at);
}

/* ---- marking, packing, and both ---- */

#define NAME(x) x##1
#define PACK PACK_1
#define ELEMENT uint8_t
#define SIGNED int8_t
#define BITS 8
#include "select/select_simd_mark.inc"

#define NAME(x) x##2
#define PACK PACK_2
#define ELEMENT uint16_t
#define SIGNED int16_t
#define BITS 16
#include "select/select_simd_mark.inc"

#define NAME(x) x##4
#define PACK PACK_4
#define ELEMENT uint32_t
#define SIGNED int32_t
#define BITS 32
#include "select/select_simd_mark.inc"

#define NAME(x) x##8
#define PACK PACK_8
#define ELEMENT uint64_t
#define SIGNED int64_t
#define BITS 64
#include "select/select_simd_mark.inc"

static void stream(void *to, const void *from, size_t bytes) {
    wi_stream(to, from, bytes);
}

const wi_select_simd WI_FOR_ISA(wi_select_simd) = {
    .mark_range = {mark_range_1, mark_range_2, mark_range_4, mark_range_8},
    .mark_changes = {mark_changes_1, mark_changes_2, mark_changes_4, mark_changes_8},
    .pack = {pack_1, pack_2, pack_4, pack_8},
    .keep = {keep_1, keep_2, keep_4, keep_8},
    .stream = stream,
};
