/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over a block of elements, compiled once for each instruction set. */
#ifndef WI_SELECT_SIMD_H
#define WI_SELECT_SIMD_H

#include "cpu/isa.h"
#include "select/select.h"

enum {
    WI_SELECT_WIDTHS = 4, /* 1, 2, 4 and 8 bytes */
    WI_SELECT_SLACK_BYTES = 64
};

/* Elements that are tested and packed at once. Meanwhile lines are written to memory and others
 * prefetched, spread evenly: memory is not faster when many requests come at once. */
typedef struct wi_select_tile {
    const void *x;
    size_t n; /* a multiple of 64 */
    void *to; /* room as for pack */
    /* To prefetch: a quarter of a tile from here, and from three more places, `quarter` bytes
     * apart. */
    const char *next;
    size_t quarter;
    /* To copy with streaming stores; `line_to` is aligned to a cache line. */
    const char *lines;
    char *line_to;
    size_t line_count;
} wi_select_tile;

typedef struct wi_select_simd {
    /* Bit k % 64 of marks[k / 64] = is x[k] in range? For k < n; later bits are 0. Returns how many
     * are. One function for each width, indexed by the log2 of its bytes. */
    size_t (*mark_range[WI_SELECT_WIDTHS])(const void *x, size_t n, const wi_select_range *range,
                                           uint64_t *marks);
    /* The same for: does x[k] differ from x[k - 1]? x[-1] must exist. */
    size_t (*mark_changes[WI_SELECT_WIDTHS])(const void *x, size_t n, uint64_t *marks);
    /* Packs the elements marked (flip = 0) or not marked (flip = all ones) among x[0 .. n) into
     * `to`, which has room for WI_SELECT_SLACK_BYTES more. */
    void (*pack[WI_SELECT_WIDTHS])(const void *x, size_t n, const uint64_t *marks, uint64_t flip,
                                   void *to);
    /* mark_range and pack in one; returns how many are in range. */
    size_t (*keep[WI_SELECT_WIDTHS])(const wi_select_tile *tile, const wi_select_range *range);
    /* Copies with streaming stores; call wi_stream_done before others read. */
    void (*stream)(void *to, const void *from, size_t bytes);
} wi_select_simd;

WI_DECLARE_ISAS(wi_select_simd, wi_select_simd);

/* Which bits of word w belong to elements below n. */
static inline uint64_t wi_select_valid(size_t n, size_t w) {
    const size_t left = n - 64 * w;
    return left >= 64 ? UINT64_MAX : ((uint64_t)1 << left) - 1;
}

#endif
