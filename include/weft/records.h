/* SPDX-License-Identifier: Apache-2.0 */
/* records: what weft_sort_records has put in order: runs of equal records, bounds, merging.
 *
 * Records have `record_bytes` bytes, any number: structs of any kind. Like weft_sort_records these
 * calls compare by fields[0]; where that is equal, by fields[1]; and so on, in the orders of
 * weft/sort.h: two numbers are equal only if their bits are. Bytes that are in no field are not
 * compared. `fields` has 1 to WEFT_MOST_FIELDS elements, in host memory; other numbers are
 * WEFT_EARG.
 *
 * Arrays may be host or device memory, mixed freely, and records need no alignment. Outputs overlap
 * no other array. Counts run from 0 past 2^32. When every array is device memory the call is queued
 * on the context's stream; otherwise it returns when the answer is there. The results are the same
 * at every place.
 *
 * weft_reduce_by_key (weft/group.h) adds up the columns of runs, and compares whole keys by their
 * bytes.
 *
 * Over ranks (place mpi) every rank passes its part of each array. A run that crosses ranks belongs
 * to the rank where it begins; *count is the number of runs on all ranks, and weft_own_count
 * (weft/mpi.h) tells that of this one. weft_search_records takes each rank's own wanted records and
 * gives positions in the whole. After a merge each rank has as many records as it brought of both;
 * arrays that are not in order may be WEFT_EARG. */
#ifndef WEFT_RECORDS_H
#define WEFT_RECORDS_H

#include "weft/sort.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_MOST_FIELDS 32

/* out[0 .. *count) = the records without those whose fields equal the fields of the record before:
 * of each run of equals the first. `out` has room for as many as there may be, n at most; what the
 * call does not write keeps its values. `count` takes one uint64_t, in host or device memory. */
WEFT_API weft_status weft_unique_records(weft_context *ctx, size_t n, size_t record_bytes,
                                         const void *records, void *out, const weft_field *fields,
                                         size_t n_fields, uint64_t *count);

/* The same; and lengths[k] = how many records run k has. `length_type` is WEFT_I32 (if n is less
 * than 2^31), WEFT_U32 (if n is less than 2^32), WEFT_I64 or WEFT_U64. */
WEFT_API weft_status weft_run_length_records(weft_context *ctx, size_t n, size_t record_bytes,
                                             const void *records, void *out,
                                             const weft_field *fields, size_t n_fields,
                                             weft_type length_type, void *lengths, uint64_t *count);

/* positions[j] = the bound of wanted[j] in the n records, for j = 0 ... m - 1: both are records of
 * the same fields, and the n are in order. If they are not, positions are numbers from 0 to n, not
 * specified further. */
WEFT_API weft_status weft_search_records(weft_context *ctx, weft_bound bound, size_t n,
                                         size_t record_bytes, const void *records, size_t m,
                                         const void *wanted, const weft_field *fields,
                                         size_t n_fields, uint64_t *positions);

/* out = the na + nb records of a and b, each already in order, in order; of equals those of a come
 * first. If a or b is not in order, the contents of `out` are not specified. Takes 8 bytes of
 * temporary memory for each record. */
WEFT_API weft_status weft_merge_records(weft_context *ctx, size_t record_bytes, size_t na,
                                        const void *a, size_t nb, const void *b, void *out,
                                        const weft_field *fields, size_t n_fields);

#ifdef __cplusplus
}
#endif
#endif
