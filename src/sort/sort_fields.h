/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing records by their fields; the same code on a cpu and in kernels. */
#ifndef WI_SORT_FIELDS_H
#define WI_SORT_FIELDS_H

#include "sort/sort.h"
#include "weft/records.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __CUDACC__
#    define WI_FIELDS_CODE __host__ __device__ static inline
#else
#    define WI_FIELDS_CODE static inline
#endif

/* A field of a record, and how its bits become a key. */
typedef struct wi_field {
    size_t offset, size;
    wi_sort_key key;
} wi_field;

/* The fields of a call; small enough to be an argument of a kernel. */
typedef struct wi_fields {
    size_t record_bytes, count;
    wi_field field[WEFT_MOST_FIELDS];
} wi_fields;

/* The key of a field of the record: wi_sort_key's formula, modulo 2^b of a field of b bits. */
WI_FIELDS_CODE uint64_t wi_field_key(const wi_field *f, const unsigned char *record) {
    uint64_t bits = 0;
    for (size_t b = 0; b < f->size; b++) /* unaligned, little endian */
        bits |= (uint64_t)record[f->offset + b] << (8 * b);
    const unsigned unused = 64 - 8 * (unsigned)f->size; /* bits, at the top of 64 */
    const uint64_t negative = 0 - (bits >> (63 - unused));
    const uint64_t t = bits ^ (f->key.sign | (negative & f->key.floats));
    return ((t - f->key.lowest) << unused >> unused) ^ f->key.flip;
}

/* < 0: a comes before b; 0: they are equal; > 0: a comes after b. */
WI_FIELDS_CODE int wi_fields_compare(const wi_fields *fields, const unsigned char *a,
                                     const unsigned char *b) {
    for (size_t k = 0; k < fields->count; k++) {
        const uint64_t of_a = wi_field_key(&fields->field[k], a);
        const uint64_t of_b = wi_field_key(&fields->field[k], b);
        if (of_a != of_b)
            return of_a < of_b ? -1 : 1;
    }
    return 0;
}

/* How many of n sorted records come before the wanted one; with `upper`, how many come before it or
 * equal it. */
WI_FIELDS_CODE uint64_t wi_fields_bound(const wi_fields *fields, const unsigned char *records,
                                        size_t n, const unsigned char *wanted, bool upper) {
    size_t first = 0;
    while (n > 0) {
        const size_t half = n / 2;
        const int sign =
            wi_fields_compare(fields, records + (first + half) * fields->record_bytes, wanted);
        const bool before = upper ? sign <= 0 : sign < 0;
        first = before ? first + half + 1 : first;
        n = before ? n - half - 1 : half;
    }
    return first;
}

/* Checked calls, on memory that the place can access directly. */
typedef struct wi_search_records_args {
    wi_fields fields;
    bool upper;
    bool merges; /* add to each position the number of the wanted record: its place in a merge */
    size_t n, m; /* n records, m wanted ones; m > 0 */
    const unsigned char *records, *wanted;
    uint64_t *positions;
} wi_search_records_args;

typedef struct wi_record_runs_args {
    const char *call;
    wi_fields fields;
    size_t n; /* > 0 */
    const unsigned char *records;
    unsigned char *out;
    size_t length_bytes; /* 4 or 8; 0: lengths are not wanted */
    void *lengths;
    uint64_t *count;
} wi_record_runs_args;

extern const wi_ladder wi_search_records_ladder, wi_record_runs_ladder;

/* Public calls as the user made them, for the rungs over ranks: `fields` are the user's.
 * args.fields are filled in, too. */
typedef struct wi_search_records_request {
    wi_search_records_args args;
    const weft_field *fields;
} wi_search_records_request;

typedef struct wi_record_runs_request {
    wi_record_runs_args args;
    const weft_field *fields;
    weft_type length_type; /* if lengths are wanted */
} wi_record_runs_request;

/* A hash of the fields, which must be equal on all ranks. */
uint64_t wi_fields_alike(const wi_fields *fields);

weft_status wi_search_records_ranks(weft_context *ctx, const void *request);
weft_status wi_record_runs_ranks(weft_context *ctx, const void *request);
weft_status wi_search_records_threads(weft_context *ctx, const void *args);
weft_status wi_search_records_bisect(weft_context *ctx, const void *args);
weft_status wi_record_runs_threads(weft_context *ctx, const void *args);
weft_status wi_record_runs_marked(weft_context *ctx, const void *args);

/* Checks the arguments that all these calls have, and prepares the fields. */
weft_status wi_fields_check(weft_context *ctx, const char *call, size_t record_bytes,
                            const weft_field *fields, size_t n_fields, wi_fields *checked);

#ifdef __cplusplus
}
#endif
#endif
