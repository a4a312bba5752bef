/* SPDX-License-Identifier: Apache-2.0 */
/* How many slices of k blocks with the same rows of a thin C have. */
#ifndef WI_GEMM_NARROW_SLICES_H
#define WI_GEMM_NARROW_SLICES_H

#include <stdbool.h>
#include <stddef.h>

/* How often `each` has to be taken for all. */
static inline size_t wi_narrow_rounds(size_t all, size_t each) {
    return (all + each - 1) / each;
}

/* How long they take, in pieces of k: blocks come in rounds of as many as there is room for, and
 * each takes as long as so many pieces to begin and end. */
static inline double wi_narrow_length(size_t groups, size_t pieces, size_t room,
                                      double begin_and_end, size_t slices) {
    return (double)wi_narrow_rounds(groups * slices, room) *
           ((double)wi_narrow_rounds(pieces, slices) + begin_and_end);
}

/* As many slices as keep the device busy in the last round too. */
static inline size_t wi_narrow_slices(size_t groups, size_t pieces, size_t room,
                                      double begin_and_end, size_t most) {
    size_t best = 1;
    double least = wi_narrow_length(groups, pieces, room, begin_and_end, 1);
    for (size_t slices = 2; slices <= most; slices++) {
        const double length = wi_narrow_length(groups, pieces, room, begin_and_end, slices);
        if (length < least) {
            least = length;
            best = slices;
        }
    }
    return best;
}

/* Of f32: what a block's beginning and end take, in pieces; pieces of a slice at least, but for
 * tests on emu; and rounds at most, as each block's sums take memory. */
enum {
    WI_NARROW_F32_DEPTH = 32, /* of a piece */
    WI_NARROW_F32_BEGIN_AND_END = 4,
    WI_NARROW_F32_LEAST_PIECES = 4,
    WI_NARROW_F32_MOST_ROUNDS = 3
};
/* By boxes: blocks, one on a multiprocessor, of so many rows, and pieces of so much of k. Where the
 * short factor is cut beforehand the long one has so many rows at least, and so many times those of
 * the short one; where neither is, k is so long, and both are at most so many. */
enum {
    WI_NARROW_BOXED_DEPTH = 64,
    WI_NARROW_BOXED_ROWS = 192,
    WI_NARROW_BOXED_BEGIN_AND_END = 4,
    WI_NARROW_BOXED_LEAST_PIECES = 4,
    WI_NARROW_LEAST_LONG = 768,
    WI_NARROW_LONG_TIMES = 12,
    WI_NARROW_DEEP_MOST = 128,
    WI_NARROW_LEAST_DEEP = 16384
};

/* Is one side so much longer than the other? */
static inline bool wi_narrow_is_boxed(size_t most, size_t least) {
    return most >= WI_NARROW_LEAST_LONG && most >= WI_NARROW_LONG_TIMES * least;
}

/* Slices of k of as many tiles, which have `pieces` of it and at least so many in a slice; the
 * length of that is as above. */
static inline size_t wi_narrow_boxed_slices(size_t tiles, size_t pieces, size_t units,
                                            size_t least_pieces, double *length) {
    const size_t possible = pieces / least_pieces, room = WI_NARROW_F32_MOST_ROUNDS * units / tiles;
    const double ends = WI_NARROW_BOXED_BEGIN_AND_END;
    const size_t slices =
        wi_narrow_slices(tiles, pieces, units, ends, possible < room ? possible : room);
    *length = wi_narrow_length(tiles, pieces, units, ends, slices);
    return slices;
}

/* How long a product of m rows by n columns takes in blocks of so many columns, 16, 40 or 64, in
 * flops of one multiprocessor at the rate of multiply-adds. */
static inline double wi_narrow_boxed_work(size_t m, size_t n, size_t k, size_t columns,
                                          size_t units) {
    const double rate = columns == 16 ? 0.56 : columns == 40 ? 1.17 : 1.43;
    const size_t tiles = wi_narrow_rounds(m, WI_NARROW_BOXED_ROWS) * wi_narrow_rounds(n, columns);
    double length;
    wi_narrow_boxed_slices(tiles, wi_narrow_rounds(k, WI_NARROW_BOXED_DEPTH), units,
                           WI_NARROW_BOXED_LEAST_PIECES, &length);
    return length * 2 * WI_NARROW_BOXED_ROWS * (double)columns * WI_NARROW_BOXED_DEPTH / rate;
}
/* With how many it takes least. */
static inline size_t wi_narrow_boxed_columns(size_t m, size_t n, size_t k, size_t units) {
    static const size_t columns[] = {16, 40, 64};
    size_t best = 0;
    double least = 0;
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        const double work = wi_narrow_boxed_work(m, n, k, columns[c], units);
        if (best == 0 || work < least) {
            best = columns[c];
            least = work;
        }
    }
    return best;
}

#endif
