/* SPDX-License-Identifier: Apache-2.0 */
/* sort: puts elements in order; and what builds on the order: merging, searching, the first k.
 *
 * The order is total, for every type, and the same everywhere in this header. WEFT_ASCENDING is
 *     integers   by value
 *     floats     -infinity ... -0.0, +0.0 ... +infinity, then every NaN
 * NaN whose sign bit is 0 come first, by ascending payload, then those whose sign bit is 1, by
 * descending payload. WEFT_DESCENDING is the exact opposite, so NaN come first there. -0.0 is less
 * than +0.0, and two elements are equal only if their bits are. Every element keeps its bits, NaN
 * payloads included.
 *
 * In formulas: the *ordered bits* of an element of b bits are an unsigned number K, modulo 2^b, and
 * ascending order is the order of K. With u the element's bits,
 *     unsigned   K = u
 *     signed     K = u xor 2^(b-1)
 *     floats     K = (u with its top bit set, or all of u turned if it was set) - (2^m - 1),
 *                m being 10 for f16, 7 for bf16, 23 for f32, 52 for f64
 *
 * Every sort is stable, descending ones too: equal keys keep their order. So the result has the
 * same bits at every place, with any number of threads, on every run.
 *
 * All arrays may be host or device memory, mixed freely, with no alignment beyond that of C's own
 * types. When every array is device memory the call is queued on the context's stream; otherwise it
 * returns when the answer is there. Where an output may be an input, it must be exactly that array:
 * any other overlap is WEFT_EARG. Counts run from 0 past 2^32.
 *
 * Temporary memory is taken from the place for the length of the call. A call whose name ends in
 * _bytes takes the arguments of the call it is named after, runs nothing, and sets *bytes to the
 * temporary memory which that call would take: host memory on a cpu; on a GPU device memory,
 * including the device's copies of arrays in host memory. This does not count memory that a context
 * takes once and keeps until it is closed: on a GPU, scratch memory and, from the first large host
 * array on, the buffers that host arrays pass through, 64 MiB of pinned memory and as much device
 * memory. These calls use the addresses of the arrays, not their contents; but offsets in host
 * memory and fields are checked as in the call itself. If refused they do not change *bytes.
 *
 * Over ranks (place mpi) every rank passes its part of each array. After a sort each has as many
 * elements as it brought, in the order of the whole, and after a merge as many as it brought of
 * both; positions are those in the whole. It is exact whatever the keys are, stable, and has the
 * bits of one place. weft_search takes each rank's own wanted elements; weft_is_sorted and
 * weft_top_k, whose k is the same on all, give all ranks the result. Merging arrays that are not in
 * order may be WEFT_EARG. Records are sorted like keys, whatever their fields. Segments are passed
 * as weft/group.h says: a rank passes any number of them, whose offsets are positions in the whole.
 * The calls that end in _bytes are not offered yet.
 */
#ifndef WEFT_SORT_H
#define WEFT_SORT_H

#include "weft/core.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum weft_order {
    WEFT_ASCENDING = 0,
    WEFT_DESCENDING
} weft_order;

/* y = the elements of x[0 .. n) in order. y may be x. */
WEFT_API weft_status weft_sort(weft_context *ctx, weft_order order, weft_type type, size_t n,
                               const void *x, void *y);
WEFT_API weft_status weft_sort_bytes(weft_context *ctx, weft_order order, weft_type type, size_t n,
                                     const void *x, void *y, size_t *bytes);

/* Sorts n keys, and moves with each key its value: value_bytes >= 1 bytes, with any contents.
 * keys_out may be keys, and values_out may be values. */
WEFT_API weft_status weft_sort_pairs(weft_context *ctx, weft_order order, weft_type type, size_t n,
                                     const void *keys, void *keys_out, size_t value_bytes,
                                     const void *values, void *values_out);
WEFT_API weft_status weft_sort_pairs_bytes(weft_context *ctx, weft_order order, weft_type type,
                                           size_t n, const void *keys, void *keys_out,
                                           size_t value_bytes, const void *values, void *values_out,
                                           size_t *bytes);

/* indices = the permutation that sorts: x[indices[0]], x[indices[1]], ... are in order. x is not
 * changed. index_type is WEFT_I32 (for n <= 2^31), WEFT_U32 (for n <= 2^32), WEFT_I64 or WEFT_U64.
 */
WEFT_API weft_status weft_sort_indices(weft_context *ctx, weft_order order, weft_type type,
                                       size_t n, const void *x, weft_type index_type,
                                       void *indices);
WEFT_API weft_status weft_sort_indices_bytes(weft_context *ctx, weft_order order, weft_type type,
                                             size_t n, const void *x, weft_type index_type,
                                             void *indices, size_t *bytes);

/* As weft_sort_pairs, but compares only bits first_bit ... end_bit - 1 of the ordered bits, bit 0
 * being the lowest: 0 <= first_bit <= end_bit <= the bits of the type. value_bytes = 0 sorts keys
 * alone; values and values_out are then ignored. */
WEFT_API weft_status weft_sort_bits(weft_context *ctx, weft_order order, weft_type type,
                                    unsigned first_bit, unsigned end_bit, size_t n,
                                    const void *keys, void *keys_out, size_t value_bytes,
                                    const void *values, void *values_out);
WEFT_API weft_status weft_sort_bits_bytes(weft_context *ctx, weft_order order, weft_type type,
                                          unsigned first_bit, unsigned end_bit, size_t n,
                                          const void *keys, void *keys_out, size_t value_bytes,
                                          const void *values, void *values_out, size_t *bytes);

/* Sorts each segment offsets[s] ... offsets[s + 1] - 1 of the keys by itself, for s = 0 ...
 * segments - 1; values follow their keys as in weft_sort_pairs, and value_bytes = 0 means none.
 * offsets has segments + 1 elements: the first is 0, none is less than the one before, the last is
 * n. Other offsets are WEFT_EARG if they are in host memory; if in device memory, nothing is
 * sorted, and the outputs become copies of keys and values. */
WEFT_API weft_status weft_sort_segments(weft_context *ctx, weft_order order, weft_type type,
                                        size_t n, const void *keys, void *keys_out,
                                        size_t value_bytes, const void *values, void *values_out,
                                        size_t segments, const uint64_t *offsets);
WEFT_API weft_status weft_sort_segments_bytes(weft_context *ctx, weft_order order, weft_type type,
                                              size_t n, const void *keys, void *keys_out,
                                              size_t value_bytes, const void *values,
                                              void *values_out, size_t segments,
                                              const uint64_t *offsets, size_t *bytes);

/* A number inside a record, `offset` bytes from its start; no alignment is needed. */
typedef struct weft_field {
    size_t offset;
    weft_type type;
    weft_order order;
} weft_field;

/* out = the n records of record_bytes bytes each, ordered by fields[0]; where that is equal, by
 * fields[1]; and so on. `fields` has 1 or more elements, in host memory. out may be records. */
WEFT_API weft_status weft_sort_records(weft_context *ctx, size_t n, size_t record_bytes,
                                       const void *records, void *out, const weft_field *fields,
                                       size_t n_fields);
WEFT_API weft_status weft_sort_records_bytes(weft_context *ctx, size_t n, size_t record_bytes,
                                             const void *records, void *out,
                                             const weft_field *fields, size_t n_fields,
                                             size_t *bytes);

/* indices = the positions that order the records: record indices[0] comes first. index_type is as
 * in weft_sort_indices. */
WEFT_API weft_status weft_sort_records_indices(weft_context *ctx, size_t n, size_t record_bytes,
                                               const void *records, const weft_field *fields,
                                               size_t n_fields, weft_type index_type,
                                               void *indices);
WEFT_API weft_status weft_sort_records_indices_bytes(weft_context *ctx, size_t n,
                                                     size_t record_bytes, const void *records,
                                                     const weft_field *fields, size_t n_fields,
                                                     weft_type index_type, void *indices,
                                                     size_t *bytes);

/* Merges a[0 .. na) and b[0 .. nb), each already in order, into keys_out[0 .. na + nb); among equal
 * keys those of a come first. Values of value_bytes bytes follow their keys; value_bytes = 0 means
 * none. The outputs must not overlap the inputs. If a or b is not in order, the contents of the
 * outputs are not specified (they may not even be the same elements), but no other memory is
 * touched. It takes no temporary memory on a cpu. On a GPU it takes 8 bytes for every few thousand
 * elements, 8 for each value unless values have 4 or 8 bytes and are aligned to that, and the
 * copies of host arrays. */
WEFT_API weft_status weft_merge(weft_context *ctx, weft_order order, weft_type type, size_t na,
                                const void *a, size_t nb, const void *b, void *keys_out,
                                size_t value_bytes, const void *a_values, const void *b_values,
                                void *values_out);
WEFT_API weft_status weft_merge_bytes(weft_context *ctx, weft_order order, weft_type type,
                                      size_t na, const void *a, size_t nb, const void *b,
                                      void *keys_out, size_t value_bytes, const void *a_values,
                                      const void *b_values, void *values_out, size_t *bytes);

/* *position = the first i for which x[i] should come before x[i - 1], or WEFT_NOWHERE if x is in
 * order. position may be host or device memory. */
WEFT_API weft_status weft_is_sorted(weft_context *ctx, weft_order order, weft_type type, size_t n,
                                    const void *x, uint64_t *position);

typedef enum weft_bound {
    WEFT_LOWER = 0, /* the number of elements that come before the wanted one */
    WEFT_UPPER      /* the same, and those equal to it */
} weft_bound;

/* positions[j] = the bound of wanted[j] in x[0 .. n), for j = 0 ... m - 1. x must be in order; if
 * it is not, positions are numbers from 0 to n, not specified further. */
WEFT_API weft_status weft_search(weft_context *ctx, weft_bound bound, weft_order order,
                                 weft_type type, size_t n, const void *x, size_t m,
                                 const void *wanted, uint64_t *positions);

/* The first k <= n elements of x in order, as a sort would leave them, and their positions in x:
 * the k smallest with WEFT_ASCENDING, the k largest with WEFT_DESCENDING, where NaN is largest.
 * Among equal elements the first in x is taken first. values or positions may be NULL: not wanted.
 * For small k this takes about as long as reading x; on a cpu, whatever the order of x. */
WEFT_API weft_status weft_top_k(weft_context *ctx, weft_order order, weft_type type, size_t n,
                                const void *x, size_t k, void *values, uint64_t *positions);
WEFT_API weft_status weft_top_k_bytes(weft_context *ctx, weft_order order, weft_type type, size_t n,
                                      const void *x, size_t k, void *values, uint64_t *positions,
                                      size_t *bytes);

#ifdef __cplusplus
}
#else

/* Typed: the element type comes from x; y must point to the same type (or be void *).
 *     weft_sort_ascending(ctx, n, x, y); */
#    define weft_sort_ascending(ctx, n, x, y)                                                      \
        ((void)sizeof(1 ? (y) : (x)),                                                              \
         weft_sort((ctx), WEFT_ASCENDING, weft_type_of(x), (n), (x), (y)))
#    define weft_sort_descending(ctx, n, x, y)                                                     \
        ((void)sizeof(1 ? (y) : (x)),                                                              \
         weft_sort((ctx), WEFT_DESCENDING, weft_type_of(x), (n), (x), (y)))

#endif
#endif
