/* SPDX-License-Identifier: Apache-2.0 */
/* sort inside the library: one checked call as its rungs get it, and the rungs. */
#ifndef WI_SORT_H
#define WI_SORT_H

#include "core/rows.h"
#include "weft/sort.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One checked call on memory that the place can access directly, n > 0. Temporary memory comes from
 * wi_host_alloc on the cpu and wi_gpu_alloc on a GPU. */
typedef struct wi_sort_args {
    const char *call; /* the public name, for messages */
    bool plain;       /* messages call its arrays x and y, not keys and keys_out */
    weft_type type;
    bool descending;
    unsigned first_bit, end_bit; /* of the ordered bits; 0 and 8 * size for all; first < end */
    size_t n;
    const void *x;
    void *y;            /* the keys' output, may be x; NULL: not wanted, and x must not change */
    size_t value_bytes; /* 0 (keys alone), 4 or 8 */
    const void *values; /* NULL: the values are the positions 0 ... n - 1 */
    void *values_out;   /* may be values */
    bool spends;        /* x and values, which are not outputs, may be overwritten; and outputs are
                           far away, so that they are best written once */
    size_t *bytes; /* not NULL: only add the bytes of temporary memory to it, and run nothing */
} wi_sort_args;

extern const wi_ladder wi_sort_ladder;

/* How the bits of an element become ordered bits K, and then the key, K xor flip, whose ascending
 * order is the order asked for. All are numbers modulo 2^b:
 *     t = bits xor (sign | (bits < 0 as a signed number ? floats : 0))
 *     key = (t - lowest) xor flip */
typedef struct wi_sort_key {
    uint64_t sign;   /* 2^(b-1) for signed integers and floats, 0 for unsigned types */
    uint64_t floats; /* 2^b - 1 for floats, else 0 */
    uint64_t lowest; /* floats: t of -infinity; NaN with the sign bit set are below it. Else 0 */
    uint64_t flip;   /* 2^b - 1 if descending, else 0 */
} wi_sort_key;

wi_sort_key wi_sort_key_of(weft_type type, bool descending);

/* Are all bits of the key compared? Then equal keys have the same bits. */
static inline bool wi_sort_whole(const wi_sort_args *args) {
    return args->first_bit == 0 && args->end_bit == 8 * weft_type_size(args->type);
}

/* The rungs. */
weft_status wi_sort_serial_quick(weft_context *ctx, const void *args);
weft_status wi_sort_serial_radix(weft_context *ctx, const void *args);
weft_status wi_sort_buckets(weft_context *ctx, const void *args);
weft_status wi_sort_quick_naive(weft_context *ctx, const void *args);
weft_status wi_sort_quick(weft_context *ctx, const void *args);
bool wi_sort_nests(void); /* has this build code for the device of kernels that launch kernels? */
weft_status wi_sort_merge(weft_context *ctx, const void *args);
weft_status wi_sort_ballot32(weft_context *ctx, const void *args);
weft_status wi_sort_split_bits(weft_context *ctx, const void *args);
weft_status wi_sort_digits4(weft_context *ctx, const void *args);
weft_status wi_sort_onesweep(weft_context *ctx, const void *args);

/* Over ranks; all get wi_dist_args. */
weft_status wi_sort_ranks(weft_context *ctx, const void *args);
weft_status wi_merge_ranks(weft_context *ctx, const void *args);
weft_status wi_is_sorted_ranks(weft_context *ctx, const void *args);
weft_status wi_search_ranks(weft_context *ctx, const void *args);
weft_status wi_top_k_ranks(weft_context *ctx, const void *args);

/* The arguments of the other calls: checked, on memory that the place can access directly. Each
 * call has a ladder. */
typedef struct wi_segments_args {
    wi_sort_args sort; /* sort.n > 0 elements in all; first_bit ... end_bit are all bits */
    size_t segments;   /* > 0 */
    const uint64_t *offsets;
    bool checked; /* offsets are known to be valid; always so on a cpu */
} wi_segments_args;

typedef struct wi_records_args {
    const char *call;
    size_t n, record_bytes; /* n > 0 */
    const void *records;
    void *out;                /* may be records; NULL: positions are wanted */
    const weft_field *fields; /* host memory */
    size_t n_fields;
    size_t index_bytes; /* 4 or 8: `indices` gets the positions; 0: `out` gets the records */
    void *indices;
    size_t *bytes; /* as in wi_sort_args */
} wi_records_args;

/* Sort or merge of records as the user called it, for the rung over ranks. */
typedef struct wi_sort_records_request {
    wi_records_args args;
    weft_type index_type; /* if positions are wanted */
    bool merges;          /* args has the first array, in order, and `out` */
    size_t nb;
    const void *b;
} wi_sort_records_request;

/* What all ranks must pass alike. */
uint64_t wi_records_alike(const wi_records_args *a);

weft_status wi_sort_records_ranks(weft_context *ctx, const void *request);

typedef struct wi_merge_args {
    const char *call;
    weft_type type;
    bool descending;
    size_t na, nb; /* na + nb > 0 */
    const void *a, *b;
    void *out;
    size_t value_bytes; /* any; 0: keys alone */
    const void *a_values, *b_values;
    void *values_out;
    size_t *bytes; /* as in wi_sort_args */
} wi_merge_args;

typedef struct wi_sorted_args {
    const char *call;
    weft_type type;
    bool descending;
    size_t n; /* may be 0 */
    const void *x;
    uint64_t *position;
} wi_sorted_args;

typedef struct wi_search_args {
    const char *call;
    weft_type type;
    bool descending, upper;
    size_t n; /* may be 0 */
    const void *x;
    size_t m; /* > 0 */
    const void *wanted;
    uint64_t *positions;
} wi_search_args;

typedef struct wi_top_k_args {
    const char *call;
    weft_type type;
    bool descending;
    size_t n, k; /* 0 < k <= n */
    const void *x;
    void *values;        /* NULL: not wanted; values and positions are not both NULL */
    uint64_t *positions; /* NULL: not wanted */
    size_t *bytes;       /* as in wi_sort_args */
} wi_top_k_args;

extern const wi_ladder wi_sort_segments_ladder, wi_sort_records_ladder, wi_merge_ladder,
    wi_is_sorted_ladder, wi_search_ladder, wi_top_k_ladder, wi_sort_gather_ladder;

weft_status wi_sort_segments_threads(weft_context *ctx, const void *args);
weft_status wi_sort_segments_ranks(weft_context *ctx, const void *args); /* as the user called it */
weft_status wi_sort_records_threads(weft_context *ctx, const void *args);
weft_status wi_merge_pieces(weft_context *ctx, const void *args);
weft_status wi_is_sorted_threads(weft_context *ctx, const void *args);
weft_status wi_search_threads(weft_context *ctx, const void *args);
weft_status wi_top_k_counted(weft_context *ctx, const void *args);
weft_status wi_sort_segments_by_length(weft_context *ctx, const void *args);
weft_status wi_sort_records_by_fields(weft_context *ctx, const void *args);
weft_status wi_merge_paths(weft_context *ctx, const void *args);
weft_status wi_is_sorted_neighbours(weft_context *ctx, const void *args);
weft_status wi_search_bisect(weft_context *ctx, const void *args);
weft_status wi_search_index(weft_context *ctx, const void *args);
weft_status wi_top_k_digits(weft_context *ctx, const void *args);

/* values_out[i] = values[indices[i]]; values have value_bytes bytes and any alignment, indices are
 * u32 or u64; arrays do not overlap. */
typedef struct wi_sort_gather_args {
    size_t n, value_bytes, index_bytes;
    const void *values, *indices;
    void *values_out;
} wi_sort_gather_args;

weft_status wi_sort_gather_threads(weft_context *ctx, const void *args);
weft_status wi_sort_gather_each(weft_context *ctx, const void *args);

#ifdef __cplusplus
}
#endif
#endif
