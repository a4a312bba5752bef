/* SPDX-License-Identifier: Apache-2.0 */
/* group: reduce and scan each of many segments, or each run of equal keys, in one call.
 *
 * Every array may be host or device memory, mixed freely. Arrays that have a type need no alignment
 * beyond that of C's own types, keys none. Counts run from 0 past 2^32. When all of a call's arrays
 * are device memory, the call is queued on the context's stream; otherwise it returns when the
 * answer is there.
 *
 * Segments. offsets has segments + 1 elements of `offset_type`: WEFT_I32 (if n is less than 2^31),
 * WEFT_U32 (if n is less than 2^32), WEFT_I64 or WEFT_U64. Segment s is x[offsets[s] ... offsets[s
 * + 1] - 1]; it may be empty. The first offset is 0, none is less than the one before, the last is
 * n. Other offsets are WEFT_EARG if they are in host memory; if in device memory nothing is
 * promised about the outputs, and nothing beyond them is written.
 *
 * Keys have `width` bytes: elements of any type, or records. Neighbours whose bytes are the same
 * belong to one run: -0.0 differs from +0.0, and a NaN equals a NaN of the same bits. Equal keys
 * that are not neighbours form several runs; sort by key first to have one.
 *
 * The time depends on the number of elements and of segments, not on how long each segment is.
 *
 * Numbers. Types of results, overflow, NaN and -0.0 are those of weft_reduce and weft_scan. Sums
 * and products of floats are formed in f64 and rounded once. The same input gives the same bits on
 * every run at one place. On the cpu the bits depend on the elements of the segment only, whatever
 * the number of threads and the instruction set: pieces of 2^14 elements, counted from the start of
 * the segment, are combined one after another; in a piece, element i goes to lane i mod 16, lane k
 * is combined with lane k + 8, then k + 4, 2 and 1, and the last elements, fewer than 16, follow
 * one by one. On a GPU elements are combined in groups that depend on n and all offsets.
 *
 * Over ranks (place mpi) the whole of each array is the parts in the order of the ranks.
 *
 * Segments: every rank passes its part of x, and any number of segments; which elements and which
 * segments it passes need not fit together. Offsets are positions in the whole x. The first offset
 * of a rank is the last of the ranks before it, or 0 if none before it has segments; the last of
 * all is the number of elements of all ranks. A rank without segments passes no offsets. A
 * reduction gives each rank the results of the segments it passed; a scan gives it those of its
 * elements. Segments whose elements lie on the rank that passes them cost least: of others an
 * offset and a result are sent.
 *
 * Keys: every rank passes its part of keys and of every x. A run that crosses ranks is one run of
 * the rank where it begins. *count is the number of runs on all ranks, and weft_own_count
 * (weft/mpi.h) tells that of this one. Positions (ARGMIN, ARGMAX) are those in the whole x.
 *
 * Integers, minima, maxima and positions have the bits of one place. Where a segment or run crosses
 * ranks, sums and products of floats are those of its parts, in f64, combined in the order of the
 * ranks and rounded once; a scan goes on from the f64 that the ranks before it have.
 * So the bits are the same in every run with the same parts. */
#ifndef WEFT_GROUP_H
#define WEFT_GROUP_H

#include "weft/core.h"
#include "weft/op.h"
#include "weft/scan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* y[s] = segment s of x reduced with `op`, s = 0 ... segments - 1. The operations, the type of y
 * and the result of an empty segment are those of weft_reduce. ARGMIN and ARGMAX give positions in
 * x. */
WEFT_API weft_status weft_reduce_segments(weft_context *ctx, weft_op op, weft_type type, size_t n,
                                          const void *x, size_t segments, weft_type offset_type,
                                          const void *offsets, void *y);

/* What to do with one column of a table. */
typedef struct weft_column {
    weft_op op;
    weft_type type; /* of x */
    const void *x;  /* n elements */
    void *y; /* an element for each run or segment, of the type that weft_reduce_type gives */
} weft_column;

#define WEFT_COLUMNS 8 /* the most of one call */

/* weft_reduce_segments for several columns, each of n elements and with a result for each segment:
 * column[c].y[s] = segment s of column[c].x, reduced. The offsets are checked and fetched once. The
 * bits are those of a call for each column. With 0 columns only the offsets are checked. */
WEFT_API weft_status weft_reduce_segments_columns(weft_context *ctx, size_t n, size_t segments,
                                                  weft_type offset_type, const void *offsets,
                                                  size_t columns, const weft_column *column);

/* For each run k of equal keys, k = 0 ... *count - 1: keys_out[k] = its key, and for each of the
 * columns y[k] = the elements of x that belong to the run, reduced. keys_out may be NULL, or keys
 * itself; keys_out and every y have room for n elements, and what the call does not write keeps its
 * values. With 0 columns the call finds the runs alone. `count` takes one
 * uint64_t, in host or device memory. */
WEFT_API weft_status weft_reduce_by_key(weft_context *ctx, size_t n, size_t width, const void *keys,
                                        void *keys_out, size_t columns, const weft_column *column,
                                        uint64_t *count);

/* Scans each segment of x by itself into y, which may be x. The operations and kinds are those of
 * weft_scan; every segment begins with the identity of the operation. Floats are combined in f64 in
 * blocks of a fixed size, and each output is then rounded to its type (on a GPU f16 and bf16
 * through f32). */
WEFT_API weft_status weft_scan_segments(weft_context *ctx, weft_scan_kind kind, weft_op op,
                                        weft_type type, size_t n, const void *x, void *y,
                                        size_t segments, weft_type offset_type,
                                        const void *offsets);

/* The same for each run of equal keys. */
WEFT_API weft_status weft_scan_by_key(weft_context *ctx, weft_scan_kind kind, weft_op op,
                                      weft_type type, size_t n, size_t width, const void *keys,
                                      const void *x, void *y);

#ifdef __cplusplus
}
#endif
#endif
