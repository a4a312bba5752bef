/* SPDX-License-Identifier: Apache-2.0 */
/* histogram: how many elements fall into each bin. */
#ifndef WEFT_HISTOGRAM_H
#define WEFT_HISTOGRAM_H

#include "weft/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most bins a call takes, and the most channels. */
#define WEFT_MOST_BINS ((size_t)1 << 29)
#define WEFT_MOST_CHANNELS 4

/* Bin k holds the elements x with edge[k] <= x < edge[k + 1]. They are compared exactly, as real
 * numbers: integers beyond 2^53 and 16-bit floats are not rounded first, and -0.0 equals 0. An
 * element equal to an edge belongs to the bin that begins there; hi itself is above all bins.
 *
 * Even bins: edge[k] = min(hi, lo + k (hi - lo) / count), where k (hi - lo), the quotient and the
 * sum are each rounded to f64, and edge[count] = hi. So if bins are a whole number wide, their
 * edges are whole numbers, and edge 3 of 10 bins over [0, 1) is 0.3. */
typedef struct weft_bins {
    size_t count;        /* how many: 1 to WEFT_MOST_BINS */
    double lo, hi;       /* even bins cover [lo, hi): finite, lo < hi, count (hi - lo) finite */
    const double *edges; /* count + 1 ascending edges, infinities allowed; lo and hi are then
                            ignored. Two equal edges make an empty bin. NULL: even bins */
} weft_bins;

typedef enum weft_counting {
    WEFT_OVERWRITE = 0, /* counts = what is in x */
    WEFT_ACCUMULATE     /* counts += what is in x, modulo 2^32 or 2^64 */
} weft_counting;

/* Counts n pixels of `channels` (1 to 4) interleaved elements each: x[i * channels + c] is channel
 * c of pixel i, and counts[c * bins->count + k] how many of that channel fall into bin k.
 *
 * bins = NULL makes one bin for each value of an integer type of 8 or 16 bits, 256 or 65,536 bins:
 * value v falls into bin v, or v + 128 or v + 32768 for signed types. Other types are then
 * WEFT_EUNSUPPORTED.
 *
 * count_type, the type of counts and outside, is WEFT_I32, WEFT_U32, WEFT_I64 or WEFT_U64. With
 * WEFT_I32 n must be below 2^31, with WEFT_U32 below 2^32 (WEFT_EARG), so that no count can
 * overflow.
 *
 * outside may be NULL; otherwise outside[3 c], [3 c + 1] and [3 c + 2] count the elements of
 * channel c that are below all bins, at or above their end, and NaN.
 *
 * x, counts and outside may be host or device memory, mixed freely, with no alignment beyond that
 * of C's own types; they must not overlap. When all are device memory the call is queued on the
 * context's stream; otherwise it returns when the answer is there. Edges may be host or device
 * memory and must not overlap counts or outside. They are read and checked before the call returns;
 * on a GPU it waits for the stream to do so. A call with edges cannot be captured into a graph; one
 * with even bins can. WEFT_ACCUMULATE reads counts and outside, WEFT_OVERWRITE does not. The counts
 * are exact: the same at every place.
 *
 * Over ranks (place mpi) every rank passes its part of x, and all get the counts of the whole,
 * which count_type must hold. Bins, channels and counting are the same on all. */
WEFT_API weft_status weft_histogram(weft_context *ctx, weft_type type, size_t n, unsigned channels,
                                    const void *x, const weft_bins *bins, weft_counting counting,
                                    weft_type count_type, void *counts, void *outside);

#ifdef __cplusplus
}
#else

/* Typed call: counts how often each value occurs, for integers of 8 or 16 bits. counts is an array
 * of uint32_t or uint64_t.
 *     uint64_t counts[256]; weft_count_values(ctx, n, bytes, counts); */
#    define weft_count_values(ctx, n, x, counts)                                                   \
        weft_histogram((ctx), weft_type_of(x), (n), 1, (x), NULL, WEFT_OVERWRITE,                  \
                       weft_type_of(counts), (counts), NULL)

#endif
#endif
