/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting over GPUs that reach each other's memory, by ranges of the order: samples tell where each
 * range begins, one pass partitions the elements by range, and each GPU fetches and sorts the
 * ranges that are its share. If the samples' first digits are spread evenly, each digit is a range,
 * which is sorted by the digits behind it. Otherwise ranges have bounds. Equal keys are told apart
 * by their position in the whole, so that even many equal keys do not make a range longer than
 * planned. Either way the sort is stable. */
#ifndef WI_SORT_RANGES_H
#define WI_SORT_RANGES_H

#include "core/gpu.h"
#include "sort/sort.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_SORT_MOST_DIGITS = 256,
    WI_SORT_MOST_RANGES = 32, /* with bounds */
    WI_SORT_MOST_GROUPS = 4,  /* of a rank */
    WI_SORT_MOST_SAMPLES = 1 << 16
};

/* The whole and its samples; the same on all ranks. Sample i is an element drawn from the i-th of
 * `samples` equal stretches of the whole. */
typedef struct wi_sort_ranges {
    int ranks, count; /* of ranges: a few for each rank, in order */
    uint64_t first[WI_MOST_GPUS +
                   1]; /* where each rank's part of the whole begins; last, the whole's length */
    uint64_t samples;  /* > 0 */
    uint64_t begin[WI_SORT_MOST_RANGES]; /* where each range begins among the sorted samples */
} wi_sort_ranges;

/* Where ranges begin: range k + 1 has the elements whose key is above key[k], or equal to it and at
 * position[k] or later. Also how many samples each range has of each rank. */
typedef struct wi_sort_bounds {
    uint64_t key[WI_SORT_MOST_RANGES], position[WI_SORT_MOST_RANGES];
    uint32_t samples[WI_MOST_GPUS][WI_SORT_MOST_RANGES];
} wi_sort_bounds;

/* How one rank partitions its elements: where those of each range go. */
typedef struct wi_sort_deal {
    const wi_sort_args *sort;
    uint64_t first; /* the position of its first element */
    int count;      /* of ranges */
    const wi_sort_bounds *bounds;
    void *keys[WI_SORT_MOST_RANGES], *values[WI_SORT_MOST_RANGES];
    uint64_t room[WI_SORT_MOST_RANGES]; /* elements that there is memory for */
    uint64_t *counts; /* device memory: how many elements each range has, maybe more than room */
} wi_sort_deal;

/* Are the keys and values of a kind for which this is done, and so many that it pays? */
bool wi_sort_ranges_pay(const wi_sort_args *args, uint64_t total, int ranks);

/* Room for the elements of which `samples` were drawn, one from each stretch of that length. */
uint64_t wi_sort_ranges_room(size_t key_bytes, uint32_t samples, double stretch);

/* The steps on one GPU; all are queued. `to` has for each rank an array for all samples' keys, of
 * which this rank writes those that are drawn from its part. */
weft_status wi_sort_ranges_sample(weft_context *ctx, const wi_sort_args *args,
                                  const wi_sort_ranges *ranges, int rank, void *const to[]);
/* From the sorted keys of the samples, and the number of the sample that each is. */
weft_status wi_sort_ranges_bound(weft_context *ctx, size_t key_bytes, const wi_sort_ranges *ranges,
                                 const void *sorted, const uint32_t *number,
                                 wi_sort_bounds *bounds);
weft_status wi_sort_ranges_deal(weft_context *ctx, const wi_sort_deal *deal);

/* The plan; all ranks make the same one. */
typedef struct wi_sort_plan_ranges {
    wi_sort_ranges ranges;
    bool by_digit;                     /* ranges are first digits, and have no bounds */
    int first_range[WI_MOST_GPUS + 1]; /* of each rank */
    /* for each rank and range: its samples, the room for its elements, and where that room begins
     * in the rank's memory */
    uint32_t drawn[WI_MOST_GPUS][WI_SORT_MOST_DIGITS];
    size_t room[WI_MOST_GPUS][WI_SORT_MOST_DIGITS], place[WI_MOST_GPUS][WI_SORT_MOST_DIGITS];
    size_t length[WI_MOST_GPUS]; /* of each rank's memory */
} wi_sort_plan_ranges;

/* Divides the whole into ranges. The first makes each first digit a range if by `drawn` they are
 * spread evenly, and otherwise returns false; the second divides the sorted samples. */
bool wi_sort_digits_divide(wi_sort_plan_ranges *plan);
void wi_sort_ranges_divide(wi_sort_plan_ranges *plan);
/* Plans memory, by how many samples each range has. */
void wi_sort_ranges_place(wi_sort_plan_ranges *plan, size_t key_bytes);
/* Divides a rank's ranges into groups, group g from range first[g] on; returns how many. */
int wi_sort_ranges_groups(const wi_sort_plan_ranges *plan, int rank, int *first);

/* How keys are divided by their first digit. */
typedef struct wi_sort_digit {
    unsigned bits;
    double most;   /* how many times its average share of the elements a digit may have */
    uint64_t from; /* elements of an average rank from which on this pays */
} wi_sort_digit;

wi_sort_digit wi_sort_first_digit(void);
/* How many samples of each rank have each first digit. `samples` has their keys, as drawn. */
weft_status wi_sort_digits_count(weft_context *ctx, size_t key_bytes, const wi_sort_ranges *ranges,
                                 const void *samples, uint32_t (*counts)[WI_SORT_MOST_DIGITS]);

/* The room for the elements of each first digit: elements [begin, end) of both arrays. */
typedef struct wi_sort_rooms {
    uint64_t begin[WI_SORT_MOST_DIGITS], end[WI_SORT_MOST_DIGITS];
    void *keys, *values;
} wi_sort_rooms;

/* Partitions a rank's elements, the first of which is at `position` in the whole. ends[d], in
 * device memory, is where those with digit d end, or would if there were room for them. */
weft_status wi_sort_digits_deal(weft_context *ctx, const wi_sort_args *args, uint64_t position,
                                const wi_sort_rooms *rooms, uint64_t *ends);

/* A part of the elements whose first digit is the same. */
typedef struct wi_sort_piece {
    uint64_t from, n; /* elements [from, from + n) of x and values */
    uint64_t to;      /* and of y and values_out */
} wi_sort_piece;

/* Sorts each piece by itself, and overwrites what x and values have of it. */
weft_status wi_sort_pieces(weft_context *ctx, const wi_sort_args *args, const wi_sort_piece *pieces,
                           int count);

/* Sorts over ranks in this way; `total` is how many elements all have together. *done is false if
 * the sort must be done in another way; then nothing has changed. */
weft_status wi_sort_by_ranges(weft_context *ctx, const wi_sort_args *args, uint64_t total,
                              bool *done);

#ifdef __cplusplus
}
#endif
#endif
