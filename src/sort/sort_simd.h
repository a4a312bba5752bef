/* SPDX-License-Identifier: Apache-2.0 */
/* What sorting on a cpu is made of, compiled for each instruction set. All of it works on keys: the
 * ordered bits of sort.h as unsigned integers of 1, 2, 4 or 8 bytes. Values are 0 (none), 4 or 8
 * bytes. */
#ifndef WI_SORT_SIMD_H
#define WI_SORT_SIMD_H

#include "cpu/isa.h"
#include "sort/sort.h"

enum {
    WI_SORT_BUCKETS = 256,
    /* Sent to a bucket at a time: with lines of 64, branches are mistaken more. */
    WI_SORT_PARCEL_BYTES = 128
};

/* Keys, with their values if value_bytes > 0, to be sorted where they are. The spare arrays are as
 * long, and are overwritten. */
typedef struct wi_sort_range {
    unsigned key_bytes, value_bytes;
    unsigned first_bit, end_bit; /* what is compared */
    size_t n;
    void *keys, *values, *spare_keys, *spare_values;
} wi_sort_range;

/* How keys are told into buckets. The bucket never falls as the bits compared rise: with
 *     cell = min((max(bits, low) - low) >> shift, last)
 * it is the cell itself or, if there is a table, what stands there for the cell. */
typedef struct wi_sort_split {
    unsigned first_bit, end_bit;
    uint64_t low;
    unsigned shift;
    unsigned last; /* at most 2^16 - 1; WI_SORT_BUCKETS - 1 if there is no table */
    const uint8_t *table;
} wi_sort_split;

/* One thread's share of telling elements into buckets. */
typedef struct wi_sort_deal {
    unsigned key_bytes, value_bytes;
    wi_sort_key key;
    wi_sort_split split;
    size_t n;
    size_t first;       /* the position of x[0] in the whole call */
    const void *x;      /* elements as the caller has them */
    const void *values; /* NULL: the values are positions */
    void *keys_out, *values_out;
    size_t *at; /* for each bucket: where in keys_out its next key goes */
    /* For dealing: a parcel of keys and one of values for each bucket, aligned to a line. */
    unsigned char (*parcels)[WI_SORT_PARCEL_BYTES], (*value_parcels)[WI_SORT_PARCEL_BYTES];
    bool stream; /* write past the cache */
} wi_sort_deal;

/* One thread's share of picking out what comes first: elements with keys below `low`, and of those
 * from there to `last` the first `quota`. */
typedef struct wi_sort_pick {
    unsigned key_bytes, value_bytes;
    wi_sort_key key;
    uint64_t low, last;
    size_t n;
    size_t first; /* the position of x[0] in the whole call */
    const void *x;
    size_t below, inside; /* how many there are: what `tally` finds */
    size_t quota;
    void *keys_out, *values_out; /* the values are positions */
} wi_sort_pick;

typedef struct wi_sort_simd {
    void (*to_keys)(const wi_sort_key *key, unsigned key_bytes, size_t n, const void *from,
                    void *to);
    void (*of_keys)(const wi_sort_key *key, unsigned key_bytes, size_t n, const void *from,
                    void *to);
    /* out = the least key of each `block` of the n elements; the last may be shorter. */
    void (*least)(const wi_sort_key *key, unsigned key_bytes, size_t block, size_t n, const void *x,
                  void *out);
    /* Adds to counts how many elements belong in each bucket. */
    void (*count)(const wi_sort_deal *deal, size_t *counts);
    /* Moves them there, in order. */
    void (*deal)(const wi_sort_deal *deal);
    void (*tally)(wi_sort_pick *pick);
    /* Puts them out, in the order they come. */
    void (*pick)(const wi_sort_pick *pick);
    /* The first position whose key is below the one in front of it, or n; 1 <= n. */
    size_t (*first_fall)(const wi_sort_range *range);
    void (*radix)(const wi_sort_range *range);
    void (*sort)(const wi_sort_range *range); /* the fastest way that fits in a cache */
} wi_sort_simd;

WI_DECLARE_ISAS(wi_sort_simd, wi_sort_simd);

#endif
