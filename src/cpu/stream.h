/* SPDX-License-Identifier: Apache-2.0 */
/* Stores that bypass the cache, for outputs too large to be found there later: a plain store first
 * reads the line it writes. For *_simd.c files. */
#ifndef WI_CPU_STREAM_H
#define WI_CPU_STREAM_H

#include <stddef.h>
#include <string.h>

#include "cpu/vector.h"

#ifdef __x86_64__
#    include <immintrin.h>
#endif

enum {
    WI_LINE_BYTES = 64,
    /* What is computed at a time into a buffer and streamed from there: small, so that the buffer
     * and the inputs prefetched for the next tiles share the first-level cache. */
    WI_STREAM_TILE_BYTES = 512,
    WI_STREAM_PAGE_TILES = 4096 / WI_STREAM_TILE_BYTES,
    WI_STREAM_PAGES = 4,
    WI_STREAM_GROUP_TILES = WI_STREAM_PAGES * WI_STREAM_PAGE_TILES,
    WI_STREAM_AHEAD = WI_STREAM_PAGES /* tiles from the one computed to the one prefetched */
};

/* The position of the k-th tile to do. Four pages are walked through in turns: memory answers
 * faster when requests go to several pages. */
static inline size_t wi_stream_order(size_t k) {
    size_t in_group = k % WI_STREAM_GROUP_TILES;
    return k - in_group + in_group % WI_STREAM_PAGES * WI_STREAM_PAGE_TILES +
           in_group / WI_STREAM_PAGES;
}

/* Copies whole lines; `to` is aligned to a line. */
static inline void wi_stream_lines(void *to, const void *from, size_t bytes) {
#if defined(__AVX512F__)
    for (size_t at = 0; at < bytes; at += 64)
        _mm512_stream_si512((void *)((char *)to + at),
                            _mm512_loadu_si512((const void *)((const char *)from + at)));
#elif defined(__AVX__)
    for (size_t at = 0; at < bytes; at += 32)
        _mm256_stream_si256((__m256i *)((char *)to + at),
                            _mm256_loadu_si256((const __m256i *)((const char *)from + at)));
#elif defined(__SSE2__)
    for (size_t at = 0; at < bytes; at += 16)
        _mm_stream_si128((__m128i *)((char *)to + at),
                         _mm_loadu_si128((const __m128i *)((const char *)from + at)));
#else
    memcpy(to, from, bytes);
#endif
}

/* Copies any bytes to anywhere: the whole lines among them past the cache. */
static inline void wi_stream(void *to, const void *from, size_t bytes) {
    size_t head = -(uintptr_t)to % WI_LINE_BYTES;
    head = head < bytes ? head : bytes;
    size_t lines = (bytes - head) / WI_LINE_BYTES * WI_LINE_BYTES;
    memcpy(to, from, head);
    wi_stream_lines((char *)to + head, (const char *)from + head, lines);
    memcpy((char *)to + head + lines, (const char *)from + head + lines, bytes - head - lines);
}

/* Makes streamed stores visible to other threads; call before they may look. */
static inline void wi_stream_done(void) {
#ifdef __SSE2__
    _mm_sfence();
#endif
}

/* Asks for bytes that will be read soon. The hardware's own prefetching stops at page ends. Inlined
 * always: GCC takes a function that only prefetches for one without effect, and drops its calls. */
WI_INLINE void wi_prefetch(const void *p, size_t bytes) {
    for (size_t at = 0; at < bytes; at += WI_LINE_BYTES)
        __builtin_prefetch((const char *)p + at);
}

enum {
    WI_FETCHES = 4
};

/* Which of the `count` pieces of the next block to fetch while the k-th of this one is worked on:
 * those at WI_FETCHES places in turns. Memory answers faster when requests go to several pages;
 * with four, a sum or a scan of f32 takes a fifth less time than with one. */
static inline size_t wi_fetch_order(size_t k, size_t count) {
    return k % WI_FETCHES * (count / WI_FETCHES) + k / WI_FETCHES;
}

/* Brings what will be read within the next block or so into the second-level cache. */
WI_INLINE void wi_fetch(const void *p, size_t bytes) {
    for (size_t at = 0; at < bytes; at += WI_LINE_BYTES)
        __builtin_prefetch((const char *)p + at, 0, 2);
}

#endif
