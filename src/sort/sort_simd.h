/* SPDX-License-Identifier: Apache-2.0 */
/* The building blocks of sorting on a cpu, compiled for each instruction set. They work on keys:
 * the ordered bits of sort.h as unsigned integers of 1, 2, 4 or 8 bytes. Values have 0 (none), 4 or
 * 8 bytes. */
#ifndef WI_SORT_SIMD_H
#define WI_SORT_SIMD_H

#include "cpu/isa.h"
#include "sort/sort.h"

enum {
    WI_SORT_BUCKETS = 256,
    /* written to a bucket at a time; with fewer there are more branch mispredictions */
    WI_SORT_PARCEL_BYTES = 256,
    WI_SORT_PICKED = 256 /* elements that `pick` looks at together */
};

/* Keys, with values if value_bytes > 0, to be sorted in place. The spare arrays have the same
 * length and are overwritten. */
typedef struct wi_sort_range {
    unsigned key_bytes, value_bytes;
    unsigned first_bit, end_bit; /* what is compared */
    size_t n;
    void *keys, *values, *spare_keys, *spare_values;
    /* What is read after this: `sort` may bring it to a cache. */
    const void *next;
    size_t next_bytes;
} wi_sort_range;

/* How keys are distributed to buckets. A key with larger bits is never in an earlier bucket: with
 *     cell = min((max(bits, low) - low) >> shift, last)
 * the bucket is the cell itself or, if there is a table, the table's entry for the cell. Or, for
 * floats x of 4 and 8 bytes, by value:
 *     cell = min(max((x - origin) scale, 0), last), and NaN are in the last one
 * counted from the other end in descending order. */
typedef struct wi_sort_split {
    unsigned first_bit, end_bit;
    double origin, scale; /* scale 0: by bits */
    uint64_t low;
    unsigned shift;
    unsigned last; /* at most 2^16 - 1; WI_SORT_BUCKETS - 1 if there is no table */
    const uint8_t *table;
} wi_sort_split;

/* One thread's share of distributing elements to buckets. */
typedef struct wi_sort_deal {
    unsigned key_bytes, value_bytes;
    wi_sort_key key;
    wi_sort_split split;
    size_t n;
    size_t first;       /* the position of x[0] in the whole call */
    const void *x;      /* elements as the caller has them */
    const void *values; /* NULL: the values are positions */
    void *keys_out, *values_out;
    size_t *at; /* for each bucket: where in keys_out the next key goes */
    /* Only for `deal`: a parcel of keys and one of values for each bucket, aligned to a cache line.
     */
    unsigned char (*parcels)[WI_SORT_PARCEL_BYTES], (*value_parcels)[WI_SORT_PARCEL_BYTES];
    bool stream; /* write with streaming stores */
} wi_sort_deal;

/* One thread's share of selecting what comes first: all elements with keys below `low`, and of
 * those from there to `last` the first `quota`. */
typedef struct wi_sort_pick {
    unsigned key_bytes, value_bytes;
    wi_sort_key key;
    uint64_t low, last;
    size_t n;
    size_t first; /* the position of x[0] in the whole call */
    const void *x;
    size_t below, inside; /* how many there are; `tally` counts them, and `pick` what it stores */
    size_t quota;
    /* How many the outputs hold; 0: enough. `pick` ends early, and sets `full`, if WI_SORT_PICKED
     * more do not fit. */
    size_t room;
    bool full;
    void *keys_out, *values_out; /* the values are positions */
} wi_sort_pick;

typedef struct wi_sort_simd {
    void (*to_keys)(const wi_sort_key *key, unsigned key_bytes, size_t n, const void *from,
                    void *to);
    void (*of_keys)(const wi_sort_key *key, unsigned key_bytes, size_t n, const void *from,
                    void *to);
    /* out = the smallest key of each `block` of the n elements; the last block may be shorter. */
    void (*least)(const wi_sort_key *key, unsigned key_bytes, size_t block, size_t n, const void *x,
                  void *out);
    /* Adds to counts how many elements belong in each bucket. */
    void (*count)(const wi_sort_deal *deal, size_t *counts);
    /* Moves elements to their buckets, keeping their order. */
    void (*deal)(const wi_sort_deal *deal);
    void (*tally)(wi_sort_pick *pick);
    /* Stores the selected elements, keeping their order. */
    void (*pick)(wi_sort_pick *pick);
    /* The first position whose key is less than the one before it, or n; 1 <= n. */
    size_t (*first_fall)(const wi_sort_range *range);
    void (*radix)(const wi_sort_range *range);
    void (*sort)(const wi_sort_range *range); /* the fastest method for what fits a cache */
} wi_sort_simd;

WI_DECLARE_ISAS(wi_sort_simd, wi_sort_simd);

#endif
