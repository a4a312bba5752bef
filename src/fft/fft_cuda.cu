/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs registers and cached: lines in blocks, by kernels made for a length; for other lengths
 * see fft_any.cu, and for long ones fft_whole.cu. */
#include "cuda/ahead.cuh"
#include "cuda/prefetch.cuh"
#include "fft/fft_ahead.cuh"
#include "fft/fft_cuda.h"
#include "fft/fft_shape.cuh"

/* ---- kernels for one length ---- */

/* Which kernels look ahead: those that win by it, 2 to 7 % (an H200, 2026-11-28). Of their lines a
 * multiprocessor has two blocks or more at a time. Where one line fills it (2^13 of f64) it costs
 * 3 % or more, likely as what comes pushes out what is being read, or twiddles. */
template <class Shape>
constexpr bool looks_ahead = sizeof(typename Shape::Type) == 4
                                 ? Shape::n == 512 || Shape::n == 1000 || Shape::n == 8192
                                 : Shape::n == 4096;
/* Those with many twiddles do so only when their own loads are on their way: 4 % less time. */
template <class Shape>
constexpr bool looks_late = (Shape::is_crowded && looks_ahead<Shape>);

/* An early look is that of a thread of the last warp, whose own loads would wait for those of the
 * others. */
template <class Shape>
static __global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    one_length(const __grid_constant__ wi_fft_pass<typename Shape::Type> p) {
    WEFT_DYNAMIC_SHARED(shared);
    wi_wait_for_earlier();
    if constexpr (looks_ahead<Shape> && !looks_late<Shape>)
        if (threadIdx.x == Shape::threads - 1)
            wi_fft_look_ahead(p, Shape::n);
    const wi_fft_place at = wi_fft_place_of(p.grid, blockIdx.x, p.turning);
    Shape::template run_all<false, false>(p, at, (wi_fft_number<typename Shape::Type> *)shared,
                                          p.twiddles, [&] {
                                              if constexpr (looks_late<Shape>)
                                                  if (threadIdx.x == 0)
                                                      wi_fft_look_ahead(p, Shape::n);
                                          });
}

/* ---- launches ---- */

/* `queues`: else only tables are made. */
template <class Shape>
static weft_status run_shape(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    wi_fft_pass<typename Shape::Type> p;
    unsigned blocks = 0;
    const weft_status status = wi_fft_pass_of(ctx, l, Shape::radix, Shape::stages, Shape::lines, &p,
                                              queues ? &blocks : NULL);
    if (status != WEFT_OK || !queues)
        return status;
    p.ahead = looks_ahead<Shape> ? wi_fft_ahead_of(ctx, l, Shape::lines) : 0;
    return WEFT_LAUNCH_AHEAD(one_length<Shape>, ctx, blocks, Shape::threads, Shape::bytes, p);
}

#define SHAPE(...)                                                                                 \
    case wi_fft_shape<__VA_ARGS__>::n:                                                             \
        return run_shape<wi_fft_shape<__VA_ARGS__>>(ctx, l, queues)

static weft_status run_f32(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    weft_status status = WEFT_OK;
    if (wi_fft_known_line(ctx, l, queues, &status))
        return status;
    switch (l->n) {
        SHAPE(float, 4096, 256, 16, 8);
        SHAPE(float, 4096, 256, 16, 16);
    case 512: /* of columns pieces of 128 bytes */
        if (l->loops.used > 0 && (l->loops.in[0] < l->stride_in || l->loops.out[0] < l->stride_out))
            return run_shape<wi_fft_shape<float, 8192, 256, 32, 16>>(ctx, l, queues);
        return run_shape<wi_fft_shape<float, 4096, 128, 32, 16>>(ctx, l, queues);
        SHAPE(float, 2000, 200, 10, 10, 10);
        SHAPE(float, 8192, 256, 32, 32);
        SHAPE(float, 4096, 256, 16, 16, 8);
        SHAPE(float, 4096, 256, 16, 16, 16);
        SHAPE(float, 8192, 256, 32, 16, 16);
    case 16384:
    case 16807:
    case 19683:
        return wi_fft_filling_line(ctx, l, queues);
    default:
        if (l->n > WI_FFT_SHORT_LINE)
            return wi_fft_whole_line(ctx, l, queues);
        return wi_fft_any_line(ctx, l, queues);
    }
}

static weft_status run_f64(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    switch (l->n) {
        SHAPE(double, 2048, 128, 16, 8);
        SHAPE(double, 2048, 128, 16, 16);
        SHAPE(double, 4096, 256, 8, 8, 8);
        SHAPE(double, 2000, 224, 10, 10, 10);
        SHAPE(double, 4096, 256, 16, 8, 8);
        SHAPE(double, 4096, 256, 16, 16, 8);
        SHAPE(double, 4096, 256, 16, 16, 16);
        SHAPE(double, 8192, 512, 16, 8, 8, 8);
    default:
        return l->n > WI_FFT_SHORT_LINE / 2 ? wi_fft_whole_line(ctx, l, queues)
                                            : wi_fft_any_line(ctx, l, queues);
    }
}

static weft_status run_lines(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    return l->type == WEFT_F64 ? run_f64(ctx, l, queues) : run_f32(ctx, l, queues);
}

weft_status wi_fft_queue_lines(weft_context *ctx, const wi_fft_lines *l, void *room) {
    (void)room;
    return run_lines(ctx, l, true);
}

weft_status wi_fft_prepare_lines(weft_context *ctx, const wi_fft_lines *l, size_t *room_bytes) {
    *room_bytes = 0;
    return run_lines(ctx, l, false);
}

/* Lines next to each other should be read in pieces of 64 bytes or more. */
bool wi_fft_block_cuts(weft_type type, size_t n) {
    (void)type; /* four lines of f64 are as many bytes as eight of f32 */
    return n <= (size_t)((n & (n - 1)) == 0 ? 1024 : 512);
}

/* Has a block shared memory for a line? With gaps after 16 numbers of f32, or 8 of f64, or none. */
static bool has_room(const weft_context *ctx, const wi_fft_lines *l, bool has_gaps) {
    const size_t gap = l->type == WEFT_F64 ? wi_fft_gap<double> : wi_fft_gap<float>;
    const size_t spare = 64; /* numbers: factors of the last stage */
    const size_t numbers = l->n + (has_gaps ? l->n / gap : 0) + spare;
    return numbers * wi_fft_number_bytes(l->type) <= ctx->gpu->shared_optin;
}

bool wi_fft_block_takes(const weft_context *ctx, const wi_fft_lines *l) {
    const bool is_wide = l->type == WEFT_F64;
    const size_t short_line = (size_t)WI_FFT_SHORT_LINE >> is_wide;
    const bool is_strided =
        l->loops.used > 0 && (l->loops.in[0] < l->stride_in || l->loops.out[0] < l->stride_out);
    if (is_strided)
        return wi_fft_block_cuts(l->type, l->n);
    if (!is_wide && wi_fft_is_odd_power(l->n))
        return has_room(ctx, l, false);
    if (l->n > short_line && !wi_fft_is_smooth(l->n, WI_FFT_MOST_WHOLE_PRIME))
        return false;
    return (!is_wide || l->n <= 8192) && has_room(ctx, l, true);
}

/* ---- the rungs ---- */

wi_fft_engine wi_fft_block_engine(size_t kept_bytes) {
    wi_fft_engine engine = {};
    engine.halves = true;
    engine.most_prime = WI_FFT_MOST_PRIME;
    engine.takes = wi_fft_block_takes;
    engine.cuts = wi_fft_block_cuts;
    engine.kept_bytes = engine.group_bytes = kept_bytes;
    engine.together = WI_FFT_TOGETHER;
    engine.prepare = wi_fft_prepare_lines;
    engine.lines = wi_fft_queue_lines;
    engine.move = wi_fft_move_cuda;
    engine.fold = wi_fft_fold_cuda;
    engine.chirps = wi_fft_chirps;
    engine.chirp = wi_fft_chirp;
    engine.long_chirps = wi_fft_long_chirps;
    engine.long_chirp = wi_fft_long_chirp;
    engine.sums = wi_fft_sums_cost;
    return engine;
}

weft_status wi_fft_registers(weft_context *ctx, const void *args) {
    const wi_fft_engine engine = wi_fft_block_engine(0);
    return wi_fft_drive(ctx, &engine, (const wi_fft_args *)args);
}

weft_status wi_fft_cached(weft_context *ctx, const void *args) {
    const wi_fft_engine engine = wi_fft_block_engine(wi_fft_kept_bytes);
    return wi_fft_drive(ctx, &engine, (const wi_fft_args *)args);
}
