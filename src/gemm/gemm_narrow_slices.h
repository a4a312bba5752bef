/* SPDX-License-Identifier: Apache-2.0 */
/* How many slices of k blocks with the same rows of a thin C have. */
#ifndef WI_GEMM_NARROW_SLICES_H
#define WI_GEMM_NARROW_SLICES_H

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
/* The same where the short factor is cut beforehand: the long one has so many rows at least, and so
 * many times those of the short one. */
enum {
    WI_NARROW_BOXED_DEPTH = 64,
    WI_NARROW_BOXED_BEGIN_AND_END = 4,
    WI_NARROW_BOXED_LEAST_PIECES = 4,
    WI_NARROW_LEAST_LONG = 768,
    WI_NARROW_LONG_TIMES = 12
};
/* And where both are short, and k is long. */
enum {
    WI_NARROW_DEEP_MOST = 256,
    WI_NARROW_LEAST_DEEP = 16384
};

#endif
