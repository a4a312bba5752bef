/* SPDX-License-Identifier: Apache-2.0 */
/* The rung transforms, for all places: what tiles there are, and the steps of a call. */
#include "convolve/convolve_tiles.h"

#include <math.h>

#include "core/gpu.h"
#include "fft/fft.h"

enum {
    LEAST_SIDE = 16,
    LONG_SIDE = 1024, /* transforms of more numbers take two passes */
    CHUNK_BYTES_CPU = 1 << 25,
    CHUNK_BYTES_GPU = 1 << 28
};

/* ---- tiles ---- */

/* The side of tiles for `out` outputs and a filter of `filter`: the cheapest power of 2. */
static size_t side_of(size_t out, size_t filter, double level) {
    size_t best = 0;
    double least = INFINITY;
    for (size_t side = 1;; side *= 2) {
        if (side < filter || (side < LEAST_SIDE && side < out + filter - 1))
            continue;
        const double tiles = ceil((double)out / (double)(side - filter + 1));
        const double passes = side > LONG_SIDE ? 1.3 : 1;
        const double cost = tiles * (double)side * (passes + level * log2((double)side));
        if (cost < least) {
            least = cost;
            best = side;
        }
        if (side >= out + filter - 1)
            return best;
    }
}

wi_convolve_tiles wi_convolve_cut(const wi_convolve_args *args, double level) {
    wi_convolve_tiles t = {.args = args,
                           .width = side_of(args->out_width, args->filter_width, level),
                           .height = side_of(args->out_height, args->filter_height, level)};
    t.out_width = t.width - args->filter_width + 1;
    t.out_height = t.height - args->filter_height + 1;
    t.across = (args->out_width + t.out_width - 1) / t.out_width;
    t.down = (args->out_height + t.out_height - 1) / t.out_height;
    t.pairs = (t.across * t.down + 1) / 2;
    return t;
}

/* ---- transforms ---- */

static wi_fft_args transforms_of(const wi_convolve_tiles *t, void *numbers, size_t batch,
                                 bool is_inverse) {
    wi_fft_args a = {.d = {.type = t->args->doubles ? WEFT_F64 : WEFT_F32,
                           .kind = WEFT_FFT_COMPLEX,
                           .direction = is_inverse ? WEFT_FFT_INVERSE : WEFT_FFT_FORWARD,
                           .rank = 2,
                           .n = {t->height, t->width},
                           .batch = batch,
                           .stride_x = {t->width, 1},
                           .stride_y = {t->width, 1},
                           .apart_x = t->width * t->height,
                           .apart_y = t->width * t->height,
                           .scale = is_inverse ? 1 / ((double)t->width * (double)t->height) : 1},
                     .x = numbers,
                     .y = numbers};
    return a;
}

static weft_status run_fft(weft_context *ctx, const wi_fft_args *a) {
    return wi_pick(ctx, &wi_fft_ladder, a->d.type, a)->run(ctx, a);
}

/* Its scratch memory; makes its tables. */
static weft_status ask_fft(weft_context *ctx, const wi_convolve_tiles *t, size_t batch,
                           size_t *most) {
    size_t bytes = 0;
    wi_fft_args a = transforms_of(t, NULL, batch, false);
    a.asks_bytes = &bytes;
    const weft_status status = run_fft(ctx, &a);
    *most = bytes > *most ? bytes : *most;
    return status;
}

static weft_status step(weft_context *ctx, const wi_convolve_tiles *t, wi_convolve_step what) {
#ifdef WEFT_CUDA
    if (ctx->kind != WI_CPU)
        return wi_convolve_step_cuda(ctx, t, what);
#endif
    return wi_convolve_step_cpu(ctx, t, what);
}

static weft_status transform_filters(weft_context *ctx, const wi_convolve_tiles *t) {
    const wi_fft_args forward = transforms_of(t, t->spectra, t->args->filters, false);
    const weft_status status = step(ctx, t, WI_CONVOLVE_SPREAD);
    return status == WEFT_OK ? run_fft(ctx, &forward) : status;
}

static weft_status run_chunk(weft_context *ctx, const wi_convolve_tiles *t) {
    const wi_fft_args forward = transforms_of(t, t->numbers, t->count, false);
    const wi_fft_args inverse = transforms_of(t, t->numbers, t->count, true);
    weft_status status = step(ctx, t, WI_CONVOLVE_GATHER);
    if (status == WEFT_OK)
        status = run_fft(ctx, &forward);
    if (status == WEFT_OK)
        status = step(ctx, t, WI_CONVOLVE_TURN);
    if (status == WEFT_OK)
        status = run_fft(ctx, &inverse);
    return status == WEFT_OK ? step(ctx, t, WI_CONVOLVE_SCATTER) : status;
}

/* ---- memory ---- */

static weft_status take(weft_context *ctx, size_t bytes, void **p) {
    if (ctx->kind != WI_CPU)
        return wi_gpu_alloc(ctx, p, bytes);
    *p = wi_host_alloc(bytes);
    return *p ? WEFT_OK
              : wi_fail(ctx, WEFT_ENOMEM, "weft_convolve: no memory for tiles of %zu bytes", bytes);
}

static weft_status give(weft_context *ctx, void *p) {
    if (ctx->kind != WI_CPU)
        return p ? wi_gpu_free(ctx, p) : WEFT_OK;
    wi_host_free(p);
    return WEFT_OK;
}

/* On a GPU all that the steps take is taken before the first. */
static weft_status reserve(weft_context *ctx, size_t bytes) {
#ifdef WEFT_CUDA
    if (ctx->kind != WI_CPU)
        return wi_gpu_reserve(ctx, bytes);
#endif
    (void)ctx;
    (void)bytes;
    return WEFT_OK;
}

static weft_status release(weft_context *ctx) {
#ifdef WEFT_CUDA
    if (ctx->kind != WI_CPU)
        return wi_gpu_release(ctx);
#endif
    (void)ctx;
    return WEFT_OK;
}

static weft_status run_all(weft_context *ctx, wi_convolve_tiles *t, size_t all, size_t chunk) {
    weft_status status = transform_filters(ctx, t);
    for (t->first = 0; t->first < all && status == WEFT_OK; t->first += chunk) {
        t->count = all - t->first < chunk ? all - t->first : chunk;
        status = run_chunk(ctx, t);
    }
    return status;
}

weft_status wi_convolve_transforms(weft_context *ctx, const void *arguments) {
    const wi_convolve_args *const args = arguments;
    const bool is_cpu = ctx->kind == WI_CPU;
    wi_convolve_tiles t = wi_convolve_cut(args, wi_convolve_level(is_cpu));
    const size_t tile = t.width * t.height * wi_convolve_tiles_number(args);
    const size_t all = t.pairs * args->images * args->channels;
    const size_t fit = (is_cpu ? CHUNK_BYTES_CPU : CHUNK_BYTES_GPU) / tile;
    const size_t chunk = fit < 1 ? 1 : fit < all ? fit : all;
    size_t room = 0;
    weft_status status = ask_fft(ctx, &t, chunk, &room);
    if (status == WEFT_OK)
        status = ask_fft(ctx, &t, args->filters, &room);
    if (status == WEFT_OK)
        status = reserve(ctx, (chunk + args->filters) * tile + room);
    if (status != WEFT_OK)
        return status;
    status = take(ctx, args->filters * tile, &t.spectra);
    if (status == WEFT_OK)
        status = take(ctx, chunk * tile, &t.numbers);
    if (status == WEFT_OK)
        status = run_all(ctx, &t, all, chunk);
    const weft_status freed = give(ctx, t.numbers), also = give(ctx, t.spectra);
    const weft_status released = release(ctx);
    status = status == WEFT_OK ? freed : status;
    status = status == WEFT_OK ? also : status;
    return status == WEFT_OK ? released : status;
}
