/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of n1 n2 numbers as two passes of columns that fill a multiprocessor:
 *
 *     first:  columns of n1 numbers of x(n2 j1 + j2), turned by w(n)^(j2 k1)
 *     second: columns of n2 numbers, for each k1, to X(k1 + n1 k2).
 *
 * Between them, what the second pass reads as a tile is one piece, and what a warp of the first one
 * writes at once are whole lines of the cache (wi_fft_tall_side). */
#include "cuda/ahead.cuh"
#include "cuda/bulk.cuh"
#include "cuda/cluster.cuh"
#include "cuda/limit.cuh"
#include "fft/fft_tall.cuh"
#include "fft/fft_tall.h"

/* One line of f32 so long is faster through L2: blocks begin and end at the same time, and have few
 * tiles (one of 2^24: 0.216 ms, and 0.232 in two passes, an H200, 2026-11-30). */
static const size_t alone_below = (size_t)1 << 23;

/* On emu small columns may take the place of the others. */
WI_LIMIT(bool, wi_fft_tall_small, false)

#ifdef WEFT_EMU
template <class T, unsigned blocks, unsigned wide, int R1, int R2, int R3>
using small = wi_fft_tall_shape<T, blocks, 32, wide, R1, R2, R3, true, 8192>;

static weft_status run_small(weft_context *ctx, const wi_fft_lines *l, const wi_fft_tall_side &in,
                             const wi_fft_tall_side &out, bool queues) {
    if (l->type == WEFT_F64)
        return wi_fft_run_tall<small<double, 1, 4, 4, 4, 4>>(ctx, l, in, out, queues);
    if (l->n == 64)
        return wi_fft_run_tall<small<float, 1, 8, 4, 4, 4>>(ctx, l, in, out, queues);
    return wi_fft_run_tall<small<float, 2, 8, 8, 4, 4>>(ctx, l, in, out, queues);
}
#endif

/* Lines of a tile: 64 bytes of a row, or 128 of the shortest. */
static unsigned wide_of(weft_type type, size_t n) {
    const unsigned wide = n == 1024 ? 16 : 8;
    return type == WEFT_F64 ? wide / 2 : wide;
}

static weft_status run_f32(weft_context *ctx, const wi_fft_lines *l, const wi_fft_tall_side &in,
                           const wi_fft_tall_side &out, bool queues) {
    switch (l->n) {
    case 1024:
        return wi_fft_run_tall<wi_fft_tall_shape<float, 1, 512, 16, 16, 8, 8>>(ctx, l, in, out,
                                                                               queues);
    case 2048:
        return wi_fft_run_tall<wi_fft_tall_shape<float, 1, 512, 8, 16, 16, 8, true>>(ctx, l, in,
                                                                                     out, queues);
    default:
        return wi_fft_run_tall<wi_fft_tall_shape<float, 2, 512, 8, 16, 16, 16>>(ctx, l, in, out,
                                                                                queues);
    }
}

static weft_status run_f64(weft_context *ctx, const wi_fft_lines *l, const wi_fft_tall_side &in,
                           const wi_fft_tall_side &out, bool queues) {
    switch (l->n) {
    case 1024:
        return wi_fft_run_tall<wi_fft_tall_shape<double, 1, 512, 8, 16, 8, 8>>(ctx, l, in, out,
                                                                               queues);
    case 2048:
        return wi_fft_run_tall<wi_fft_tall_shape<double, 1, 512, 4, 16, 16, 8, true>>(ctx, l, in,
                                                                                      out, queues);
    default:
        return wi_fft_run_tall<wi_fft_tall_shape<double, 2, 512, 4, 16, 16, 16>>(ctx, l, in, out,
                                                                                 queues);
    }
}

static weft_status run(weft_context *ctx, const wi_fft_lines *l, const wi_fft_tall_side &in,
                       const wi_fft_tall_side &out, bool queues) {
#ifdef WEFT_EMU
    if (wi_fft_tall_small)
        return run_small(ctx, l, in, out, queues);
#endif
    return l->type == WEFT_F64 ? run_f64(ctx, l, in, out, queues)
                               : run_f32(ctx, l, in, out, queues);
}

static unsigned bits_of(unsigned power) {
    unsigned bits = 0;
    while (1u << bits < power)
        bits++;
    return bits;
}

/* The first factor, 0 if there is none. */
static size_t first_of(weft_type type, size_t n) {
    if (wi_fft_tall_small)
        return n == 64 * 64 ? 64 : type == WEFT_F32 && (n == 64 * 128 || n == 128 * 128) ? 128 : 0;
    return wi_fft_first_of_two(n);
}

bool wi_fft_takes_two_tall(const weft_context *ctx, const wi_fft_lines *l) {
    (void)ctx;
    const size_t lines = l->whole ? l->whole : wi_fft_loops_lines(&l->loops);
    if (l->type != WEFT_F64 && l->n >= alone_below && lines < 2)
        return false;
    return first_of(l->type, l->n) > 0 && !l->half_in && !l->half_out && !l->period &&
           l->stride_in == 1 && l->stride_out == 1 && l->loops.used < WI_FFT_LOOPS - 1;
}

weft_status wi_fft_run_two_tall(weft_context *ctx, const wi_fft_lines *l, void *room, bool queues) {
    const size_t n1 = first_of(l->type, l->n), n2 = l->n / n1;
    const unsigned wide1 = wide_of(l->type, n1), wide2 = wide_of(l->type, n2);
    const size_t tile = wide2 * n2;
    /* A thread has so many numbers of a row that a warp writes at once. */
    const unsigned each = l->type == WEFT_F64 ? 1 : 2, side = 32 * each / wide1;
    const wi_fft_tall_side between = {true,           bits_of(wide2),
                                      bits_of(wide1), bits_of(wide2 < side ? wide2 : side),
                                      bits_of(each),  tile};
    wi_fft_lines first = *l, second = *l;
    first.n = n1;
    first.y = room;
    first.stride_in = n2;
    first.swaps_out = false;
    first.scale = 1;
    first.period = l->n;
    first.turning = 0;
    first.whole = second.whole = 0;
    first.loops = second.loops = wi_fft_loops{};
    wi_fft_loop_add(&first.loops, n2, 1, wide2);
    second.n = n2;
    second.x = room;
    second.stride_in = wide2;
    second.stride_out = n1;
    second.swaps_in = false;
    wi_fft_loop_add(&second.loops, wide2, 1, 1);
    wi_fft_loop_add(&second.loops, n1 / wide2, tile, wide2);
    size_t packed = l->n;
    for (int k = 0; k < l->loops.used; k++) {
        wi_fft_loop_add(&first.loops, l->loops.count[k], l->loops.in[k], packed);
        wi_fft_loop_add(&second.loops, l->loops.count[k], packed, l->loops.out[k]);
        packed *= l->loops.count[k];
    }
    const weft_status status = run(ctx, &first, {}, between, queues);
    return status == WEFT_OK ? run(ctx, &second, between, {}, queues) : status;
}

weft_status wi_fft_run_tall_columns(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    return run(ctx, l, {}, {}, queues);
}
