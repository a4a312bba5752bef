/* SPDX-License-Identifier: Apache-2.0 */
/* Streaming stores, which bypass the cache: for outputs too large to stay in it. An ordinary store
 * first reads the cache line that it writes. For *_simd.c files. */
#ifndef WI_CPU_STREAM_H
#define WI_CPU_STREAM_H

#include <stddef.h>
#include <string.h>

#include "cpu/vector.h"

enum {
    WI_LINE_BYTES = 64,
    /* A tile is computed into a buffer and streamed from there. It is small, so that the buffer and
     * the prefetched inputs of the next tiles fit the first-level cache. */
    WI_STREAM_TILE_BYTES = 512,
    WI_STREAM_PAGE_TILES = 4096 / WI_STREAM_TILE_BYTES,
    WI_STREAM_PAGES = 4,
    WI_STREAM_GROUP_TILES = WI_STREAM_PAGES * WI_STREAM_PAGE_TILES,
    WI_STREAM_AHEAD = WI_STREAM_PAGES /* prefetch this many tiles ahead */
};

/* The position of the k-th tile to compute. Tiles of four pages alternate: memory is faster when
 * requests go to several pages. */
static inline size_t wi_stream_order(size_t k) {
    size_t in_group = k % WI_STREAM_GROUP_TILES;
    return k - in_group + in_group % WI_STREAM_PAGES * WI_STREAM_PAGE_TILES +
           in_group / WI_STREAM_PAGES;
}

/* Copies whole cache lines with streaming stores; `to` is aligned to a line. */
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

/* Copies bytes at any address; whole cache lines with streaming stores. */
static inline void wi_stream(void *to, const void *from, size_t bytes) {
    size_t head = -(uintptr_t)to % WI_LINE_BYTES;
    head = head < bytes ? head : bytes;
    size_t lines = (bytes - head) / WI_LINE_BYTES * WI_LINE_BYTES;
    memcpy(to, from, head);
    wi_stream_lines((char *)to + head, (const char *)from + head, lines);
    memcpy((char *)to + head + lines, (const char *)from + head + lines, bytes - head - lines);
}

/* Makes streamed stores visible to other threads; call it before they read. */
static inline void wi_stream_done(void) {
#ifdef __SSE2__
    _mm_sfence();
#endif
}

/* Prefetches bytes that will be read soon; the hardware's own prefetching stops at page ends.
 * Always inlined, because GCC takes a function that only prefetches for one without effect and
 * removes the call. */
WI_INLINE void wi_prefetch(const void *p, size_t bytes) {
    for (size_t at = 0; at < bytes; at += WI_LINE_BYTES)
        __builtin_prefetch((const char *)p + at);
}

enum {
    WI_FETCHES = 4
};

/* Which of the `count` pieces of the next block to prefetch while piece k of this block is
 * processed: pieces at WI_FETCHES places alternate. Memory is faster when requests go to several
 * pages; with four places a sum or a scan of f32 takes a fifth less time than with one. */
static inline size_t wi_fetch_order(size_t k, size_t count) {
    return k % WI_FETCHES * (count / WI_FETCHES) + k / WI_FETCHES;
}

/* Prefetches into the second-level cache what the next block or so will read. */
WI_INLINE void wi_fetch(const void *p, size_t bytes) {
    for (size_t at = 0; at < bytes; at += WI_LINE_BYTES)
        __builtin_prefetch((const char *)p + at, 0, 2);
}

#endif
