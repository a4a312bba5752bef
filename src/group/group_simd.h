/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of segments, compiled for each instruction set. Pieces, and lanes within them, are the
 * same for all sets, and so are the bits. */
#ifndef WI_GROUP_SIMD_H
#define WI_GROUP_SIMD_H

#include "cpu/isa.h"
#include "group/group.h"

enum {
    WI_GROUP_PIECE = 1 << 14, /* elements that are reduced at once */
    WI_GROUP_LANES = 16,      /* of floats that are added or multiplied side by side */
    WI_GROUP_ROW = 1 << 11    /* elements whose running sums are made at once */
};

/* What some elements of a segment are reduced to; the family determines which member is used. */
typedef union wi_group_state {
    uint64_t integer;
    double value;
    struct {
        int64_t key; /* the smaller one wins */
        uint64_t at; /* where it was found first; WEFT_NOWHERE: no element yet */
    } best;
    double squares[3]; /* of f64: of small, of middle and of large elements */
} wi_group_state;

/* One call, as the loops see it. */
typedef struct wi_group_run {
    const wi_group_args *args;
    size_t segments;
    int64_t flip; /* xor mask for keys, which turns a maximum into a minimum */
} wi_group_run;

/* The loops of a family of reductions. */
typedef struct wi_group_loops {
    /* Whole segments first ... end - 1. */
    void (*segments)(const wi_group_run *run, size_t first, size_t end);
    /* Elements [from, from + n) of a segment, at most a piece of them. */
    void (*piece)(const wi_group_run *run, size_t from, size_t n, wi_group_state *state);
    /* b follows a. */
    void (*merge)(const wi_group_run *run, wi_group_state *a, const wi_group_state *b);
    void (*finish)(const wi_group_run *run, size_t segment, const wi_group_state *state);
} wi_group_loops;

typedef struct wi_group_simd {
    wi_group_loops sums[WEFT_TYPE_COUNT];       /* SUM, PRODUCT, NRM1; of floats NRM2 */
    wi_group_loops squares[WEFT_TYPE_COUNT];    /* NRM2 */
    wi_group_loops keys[WEFT_TYPE_COUNT];       /* MIN, MAX, ARGMIN, ARGMAX */
    wi_group_loops magnitudes[WEFT_TYPE_COUNT]; /* NRMINF */
} wi_group_simd;

WI_DECLARE_ISAS(wi_group_simd, wi_group_simd);

/* The function of wi_group_loops that reduces whole segments. */
typedef void wi_group_whole(const wi_group_run *run, size_t first, size_t end);

/* Adds up segments first ... end - 1, as many at a time as there are lanes; leaves those that are
 * no shorter than that many elements to `whole`. */
typedef void wi_group_sums(const wi_group_run *run, size_t first, size_t end,
                           wi_group_whole *whole);

typedef struct wi_group_side_by_side {
    wi_group_sums *sums[WEFT_TYPE_COUNT]; /* NULL: there are no such loops */
} wi_group_side_by_side;

WI_DECLARE_ISAS(wi_group_side_by_side, wi_group_side_by_side);

/* y[i] = the sum of x[i] and of the elements before it that belong to its run, as results have it,
 * for i < WI_GROUP_ROW: where the run has fewer than WI_GROUP_LANES elements. Bit i % 64 of
 * marks[i / 64]: does a run begin at x[i]? goes_on: there are elements and a word of marks before
 * these, in which the first may belong to a run that has begun; else y has partial sums of it. A
 * row of elements from `next` on is prefetched. */
typedef void wi_group_running_sums(const void *x, const uint64_t *marks, bool goes_on,
                                   const void *next, void *y);

typedef struct wi_group_running {
    wi_group_running_sums *sums[WEFT_TYPE_COUNT]; /* NULL: there are no such loops */
} wi_group_running;

WI_DECLARE_ISAS(wi_group_running, wi_group_running);

/* The loops for a reduction, and the mask for its keys. */
const wi_group_loops *wi_group_loops_of(const wi_group_args *a);
int64_t wi_group_flip(const wi_group_args *a);

/* Reduces whole segments first ... end - 1, by the loops that suit their lengths. */
void wi_group_reduce_segments(const wi_group_loops *loops, const wi_group_run *run, size_t first,
                              size_t end);

#endif
