/* SPDX-License-Identifier: Apache-2.0 */
/* Lines in blocks of a GPU, for the rungs that use them. */
#ifndef WI_FFT_CUDA_H
#define WI_FFT_CUDA_H

#include "fft/fft.h"

/* The engine of lines in blocks, one launch for each pass; it keeps `kept_bytes` between passes. */
wi_fft_engine wi_fft_block_engine(size_t kept_bytes);

/* May a longer line be cut into lines of n numbers? */
bool wi_fft_block_cuts(weft_type type, size_t n);
/* Do the lines fit blocks as they are? */
bool wi_fft_block_takes(const weft_context *ctx, const wi_fft_lines *l);
weft_status wi_fft_queue_lines(weft_context *ctx, const wi_fft_lines *l, void *room);
weft_status wi_fft_prepare_lines(weft_context *ctx, const wi_fft_lines *l,
                                 size_t *room_bytes); /* tables only */

/* Lengths without a kernel of their own: lines of up to so many numbers of f32, or half as many of
 * f64, go from one shared array to another (fft_any.cu); a longer one is transformed in place in
 * shared memory (fft_whole.cu). */
enum {
    WI_FFT_SHORT_LINE = 4096,
    WI_FFT_MOST_PRIME = 31,  /* the largest prime of a short line that is a radix in registers */
    WI_FFT_MOST_RADIX = 35,  /* the largest radix of one thread; primes up to 61 take two threads */
    WI_FFT_MOST_BESIDE = 12, /* and the other radices beside these are at most this */
    WI_FFT_MOST_SUMS = 127,  /* the largest prime by sums; larger ones need Bluestein's algorithm */
    WI_FFT_MOST_WHOLE_PRIME = 13 /* the largest prime of a longer line that is not cut */
};
weft_status wi_fft_any_line(weft_context *ctx, const wi_fft_lines *l, bool queues);
/* Lines in one piece, of f32 and no part of longer ones. */
static inline bool wi_fft_is_dense(const wi_fft_lines *l) {
    return l->type == WEFT_F32 && !l->half_in && !l->half_out && l->stride_in == 1 &&
           l->stride_out == 1 && l->period == 0;
}
/* If such lines have a kernel of their own (fft_known.cu), queues it. */
bool wi_fft_known_line(weft_context *ctx, const wi_fft_lines *l, bool queues, weft_status *status);
/* About how many microseconds 2^24 numbers of f32 take, as such lines, by sums of large primes (an
 * H200, 2026-11-29); 0 if they cannot be done so. */
double wi_fft_sums_cost(const wi_fft_lines *l);
/* Lines of f32 that fill a multiprocessor, one after the other (fft_filling.cu). */
weft_status wi_fft_filling_line(weft_context *ctx, const wi_fft_lines *l, bool queues);
weft_status wi_fft_whole_line(weft_context *ctx, const wi_fft_lines *l, bool queues);

/* Lets an engine do both passes of cut lines in one kernel (fft_fused.cu). */
void wi_fft_add_pairs(wi_fft_engine *engine);

/* Lines with large prime factors, by Bluestein's algorithm in one kernel: the length of the
 * transforms inside; 0 if it does not take lines of n numbers. */
size_t wi_fft_chirps(const weft_context *ctx, weft_type type, size_t n);
weft_status wi_fft_chirp(weft_context *ctx, const wi_fft_lines *l, bool queues);
/* Prime lengths for which a kernel transforms n - 1 numbers inside, and no more (fft_cyclic.cu). */
bool wi_fft_is_cyclic(const wi_fft_lines *l);
weft_status wi_fft_cyclic_line(weft_context *ctx, const wi_fft_lines *l, bool queues);
/* As wi_fft_chirps and wi_fft_chirp, for longer lines, in three kernels. */
size_t wi_fft_long_chirps(weft_type type, size_t n);
weft_status wi_fft_long_chirp(weft_context *ctx, const wi_fft_lines *l, void *room, bool queues);

#endif
