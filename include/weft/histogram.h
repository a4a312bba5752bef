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

/* Bin k holds the elements x with edge[k] <= x < edge[k + 1], compared exactly, as real numbers:
 * integers beyond 2^53 and 16-bit floats are not rounded for it, and -0.0 equals 0. An element at
 * an edge belongs to the bin that begins there, and hi itself lies above all bins.
 *
 * Even bins: edge[k] = min(hi, lo + k (hi - lo) / count), where k (hi - lo), the quotient and the
 * sum are each rounded to f64, and edge[count] = hi. So the edges of bins that are a whole number
 * wide are whole numbers, and edge 3 of 10 bins over [0, 1) is 0.3. */
typedef struct weft_bins {
    size_t count;        /* how many, from 1 to WEFT_MOST_BINS */
    double lo, hi;       /* even bins cover [lo, hi): finite, lo < hi, count (hi - lo) finite */
    const double *edges; /* count + 1 ascending edges, infinities allowed; then lo and hi are not
                            looked at. Equal neighbours make an empty bin. NULL: even bins */
} weft_bins;

typedef enum weft_counting {
    WEFT_OVERWRITE = 0, /* counts = what is in x */
    WEFT_ACCUMULATE     /* counts += what is in x, modulo 2^32 or 2^64 */
} weft_counting;

/* Counts n pixels of `channels` (1 to 4) interleaved elements each: x[i * channels + c] is channel
 * c of pixel i, and counts[c * bins->count + k] how many of that channel fall into bin k.
 *
 * bins NULL makes one bin for each value of an integer type of 8 or 16 bits, 256 or 65,536 of
 * them: that of value v is v, and v + 128 or v + 32768 for signed types. Others are
 * WEFT_EUNSUPPORTED.
 *
 * count_type is WEFT_I32, WEFT_U32, WEFT_I64 or WEFT_U64, of counts and outside. With WEFT_I32 n
 * must be below 2^31, with WEFT_U32 below 2^32 (WEFT_EARG), so that no count can overflow.
 *
 * outside may be NULL; otherwise outside[3 c], [3 c + 1] and [3 c + 2] count the elements of
 * channel c below all bins, above them (or at their end), and NaN.
 *
 * x, counts and outside may be host or device memory, mixed freely, with no alignment beyond that
 * of C's own types; they must not overlap. When all are device memory the call is queued on the
 * context's stream; otherwise it returns when the answer is there. Edges may be host or device
 * memory, apart from counts and outside; they are read and checked before the call returns, and on
 * a GPU it waits for the stream to do so. Edges cannot be part of a stream capture, even bins can.
 * WEFT_ACCUMULATE reads counts and outside, WEFT_OVERWRITE does not. The counts are exact: the same
 * at every place. */
WEFT_API weft_status weft_histogram(weft_context *ctx, weft_type type, size_t n, unsigned channels,
                                    const void *x, const weft_bins *bins, weft_counting counting,
                                    weft_type count_type, void *counts, void *outside);

#ifdef __cplusplus
}
#else

/* Typed call: counts of the values of 8- or 16-bit integers, uint32_t or uint64_t.
 *     uint64_t counts[256]; weft_count_values(ctx, n, bytes, counts); */
#    define weft_count_values(ctx, n, x, counts)                                                   \
        weft_histogram((ctx), weft_type_of(x), (n), 1, (x), NULL, WEFT_OVERWRITE,                  \
                       weft_type_of(counts), (counts), NULL)

#endif
#endif
