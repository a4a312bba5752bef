/* SPDX-License-Identifier: Apache-2.0 */
/* gather: move elements to where an array of indices says.
 *
 * Elements have `width` bytes, any number: structs are fine. Widths of 1, 2, 4, 8 and 16 bytes at
 * addresses that are a multiple of the width are the fastest. Every array may be host or device
 * memory, mixed freely; outputs overlap no other array. Counts run from 0 past 2^32. Elements are
 * copied bit for bit.
 *
 * Indices have the type WEFT_I32, WEFT_U32, WEFT_I64 or WEFT_U64 and run from 0 to m - 1. All of
 * them are checked. `bad` says what becomes of others:
 *   - NULL: the call waits until all indices are checked. If one is out of range the call returns
 *     WEFT_EARG, the message names the first of them and its value, and nothing has been written.
 *   - else *bad, in host or device memory, gets the position in `index` of the first index out of
 *     range, or WEFT_NOWHERE if there is none. Elements whose index is out of range are not moved;
 *     all others are. If all arrays and *bad are device memory, the call is queued on the context's
 *     stream and does not wait.
 *
 * Over ranks (place mpi) every rank passes its part of each array: n indices, with the n elements
 * that belong to them, and m elements of the other array. Indices are positions in the whole, which
 * is the parts in the order of the ranks, so they run to the sum of all m less 1, and may name
 * elements of any rank. The result is that of one place, WEFT_REPEATS_LAST included. *bad is a
 * position in the whole `index`, on all ranks; without it the message counts in the rank's own
 * part. Records and columns are each rank's own. */
#ifndef WEFT_GATHER_H
#define WEFT_GATHER_H

#include "weft/core.h"
#include "weft/reduce.h" /* WEFT_NOWHERE */

#ifdef __cplusplus
extern "C" {
#endif

/* y[i] = x[index[i]] for i = 0 ... n - 1. x has m elements. */
WEFT_API weft_status weft_gather(weft_context *ctx, size_t n, size_t width, weft_type index_type,
                                 const void *index, size_t m, const void *x, void *y,
                                 uint64_t *bad);

/* One array of several that move together. */
typedef struct weft_gathered {
    size_t width;
    const void *x;
    void *y;
} weft_gathered;

#define WEFT_GATHERED_MOST 8 /* the most of one call */

/* The same for several arrays, x of m elements each and y of n: one permutation for all columns of
 * a table. The indices are checked once. */
WEFT_API weft_status weft_gather_arrays(weft_context *ctx, size_t n, weft_type index_type,
                                        const void *index, size_t m, size_t arrays,
                                        const weft_gathered *array, uint64_t *bad);

/* What y gets where several indices are the same. */
typedef enum weft_repeats {
    WEFT_REPEATS_ANY = 0, /* one of the elements; which one may differ from run to run. Elements of
                             widths that move in pieces may be made of pieces of several */
    WEFT_REPEATS_LAST     /* the one with the highest position, as in a loop: takes longer, and
                             memory of 4 or 8 bytes for each element of y on a GPU */
} weft_repeats;

/* y[index[i]] = x[i] for i = 0 ... n - 1. y has m elements; those that no index names keep their
 * values. */
WEFT_API weft_status weft_scatter(weft_context *ctx, size_t n, size_t width, const void *x,
                                  weft_type index_type, const void *index, weft_repeats repeats,
                                  size_t m, void *y, uint64_t *bad);

/* ---- columns of a table ---- */

/* Most calls of this library take arrays whose elements are neighbours. A table of records holds a
 * column in pieces: take it out first, and put a result back; all columns of one call are taken in
 * one pass over the records. Many calls also take one out by themselves: see weft_strided. */

/* The `width` bytes of each record from byte `offset` on; column k of record i is `width` bytes at
 * array + i width. No alignment is needed. */
typedef struct weft_table_column {
    size_t offset, width;
    void *array; /* weft_put_columns only reads it */
} weft_table_column;

#define WEFT_TABLE_COLUMNS 8 /* the most of one call */

/* array[i] = the column of record i, for each of the columns and i = 0 ... n - 1. Records have
 * record_bytes bytes. */
WEFT_API weft_status weft_take_columns(weft_context *ctx, size_t n, size_t record_bytes,
                                       const void *records, size_t columns,
                                       const weft_table_column *column);

/* The reverse: the column of record i = array[i]; other bytes of the records stay. Of columns that
 * share bytes of the record, any may remain there. */
WEFT_API weft_status weft_put_columns(weft_context *ctx, size_t n, size_t record_bytes,
                                      void *records, size_t columns,
                                      const weft_table_column *column);

/* Stands for an array whose elements are stride_bytes apart, as a column of a table is; the first
 * one is at `first`. Pass what this returns in place of an input:
 *
 *     const void *prices = weft_strided(ctx, &rows[0].price, sizeof *rows);
 *     weft_reduce(ctx, WEFT_SUM, WEFT_F32, n, prices, &sum);
 *
 * It may be an input of: weft_add, weft_axpy and all calls of expr.h; weft_reduce, weft_dot_fast,
 * weft_summary; weft_scan, weft_scan_wide; all calls of select.h; weft_histogram; weft_sort,
 * weft_sort_pairs, weft_sort_bits, weft_sort_indices and weft_sort_segments (keys and values),
 * weft_top_k, weft_is_sorted, weft_search; weft_nth, weft_quantiles, weft_median. Other calls
 * refuse it, as does a place with several GPUs or ranks: there take the column out by
 * weft_take_columns.
 *
 * The elements may be in host or device memory, at any address. stride_bytes is at least the size
 * of an element. The call takes the column out into temporary memory of its own, n elements, and
 * then works as on any array: the bits of the result are the same. No output may overlap the memory
 * from the first element to the last, gaps included.
 *
 * What is returned is no address of elements: do not read through it, or add to it. It is valid in
 * calls with the same context, of which the latest WEFT_STRIDED_MOST are kept; nothing is to be
 * freed. NULL if ctx or first is NULL. */
WEFT_API const void *weft_strided(weft_context *ctx, const void *first, size_t stride_bytes);

#define WEFT_STRIDED_MOST 64 /* that many of a context are valid at a time */

#ifdef __cplusplus
}
#endif
#endif
