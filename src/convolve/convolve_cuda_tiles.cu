/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of the rung transforms on a GPU, beside the transforms themselves: a block has a row of
 * a tile, or more of them. */
#include "convolve/convolve_cuda.cuh"
#include "convolve/convolve_tiles.h"

constexpr unsigned tile_threads = 256;

namespace {

template <class T>
struct alignas(2 * sizeof(T)) tile_number {
    T re, im;
};

struct tile_params {
    wi_convolve_images m;
    wi_convolve_tiles t; /* `args` is not read */
    const void *filters;
    size_t filter_count;
    int filter_width, filter_height, left, above;
};

/* Where a tile's outputs begin. */
struct tile_place {
    bool is_there;
    size_t image, channel;
    int top, left;
};

} // namespace

static __device__ tile_place locate(const tile_params &p, size_t pair, unsigned part) {
    const wi_convolve_tiles &t = p.t;
    const size_t at = t.first + pair, plane = at / t.pairs, tile = at % t.pairs * 2 + part;
    return {tile < t.across * t.down, plane / (size_t)p.m.channels, plane % (size_t)p.m.channels,
            (int)(tile / t.across * t.out_height), (int)(tile % t.across * t.out_width)};
}

template <class T>
static __global__ void spread_filters(const __grid_constant__ tile_params p) {
    const size_t k = blockIdx.x, f = k / p.t.height;
    const int j = (int)(k % p.t.height);
    const T *const from =
        (const T *)p.filters + (f * (size_t)p.filter_height + (size_t)j) * (size_t)p.filter_width;
    tile_number<T> *const to = (tile_number<T> *)p.t.spectra + k * p.t.width;
    for (unsigned i = threadIdx.x; i < p.t.width; i += tile_threads)
        to[i] = {j < p.filter_height && (int)i < p.filter_width ? from[i] : (T)0, (T)0};
}

/* Where a row of a tile begins in x, at its channel; rows that are not there count as 0. */
struct tile_row {
    bool is_there;
    size_t first;
    int left;
};

static __device__ tile_row row_of(const tile_params &p, size_t pair, unsigned part, int r) {
    const tile_place at = locate(p, pair, part);
    const int row =
        at.is_there ? wi_convolve_pixel(p.m.border, at.top + r - p.above, p.m.height) : -1;
    return {row >= 0, at.image * p.m.apart_x + (size_t)(row < 0 ? 0 : row) * p.m.ldx + at.channel,
            at.left - p.left};
}

template <class T>
static __device__ T pixel_of(const tile_params &p, const tile_row &row, int c) {
    const int at = row.is_there ? wi_convolve_pixel(p.m.border, row.left + c, p.m.width) : -1;
    return at < 0 ? (T)0
                  : wi_convolve_load<T>(p.m.type, p.m.x,
                                        row.first + (size_t)at * (size_t)p.m.channels);
}

template <class T>
static __global__ void gather_tiles(const __grid_constant__ tile_params p) {
    const size_t k = blockIdx.x, pair = k / p.t.height;
    const int r = (int)(k % p.t.height);
    const tile_row one = row_of(p, pair, 0, r), two = row_of(p, pair, 1, r);
    tile_number<T> *const to = (tile_number<T> *)p.t.numbers + k * p.t.width;
    for (unsigned c = threadIdx.x; c < p.t.width; c += tile_threads)
        to[c] = {pixel_of<T>(p, one, (int)c), pixel_of<T>(p, two, (int)c)};
}

template <class T>
static __global__ void turn_tiles(const __grid_constant__ tile_params p) {
    const size_t k = blockIdx.x, plane = (p.t.first + k / p.t.height) / p.t.pairs;
    const size_t row = plane % p.filter_count * p.t.height + k % p.t.height;
    const tile_number<T> *const by = (const tile_number<T> *)p.t.spectra + row * p.t.width;
    tile_number<T> *const numbers = (tile_number<T> *)p.t.numbers + k * p.t.width;
    for (unsigned i = threadIdx.x; i < p.t.width; i += tile_threads) {
        const tile_number<T> v = numbers[i], w = by[i];
        numbers[i] = {v.re * w.re + v.im * w.im, v.im * w.re - v.re * w.im};
    }
}

template <class T>
static __global__ void scatter_tiles(const __grid_constant__ tile_params p) {
    const size_t pair = blockIdx.x / p.t.out_height, r = blockIdx.x % p.t.out_height;
    const tile_number<T> *const from =
        (const tile_number<T> *)p.t.numbers + (pair * p.t.height + r) * p.t.width;
    const tile_place one = locate(p, pair, 0), two = locate(p, pair, 1);
    const size_t row_one = (size_t)one.top + r, row_two = (size_t)two.top + r;
    const size_t first = one.image * p.m.apart_y + one.channel;
    const bool has_one = row_one < (size_t)p.m.out_height;
    const bool has_two = two.is_there && row_two < (size_t)p.m.out_height;
    for (unsigned c = threadIdx.x; c < p.t.out_width; c += tile_threads) {
        const tile_number<T> v = from[c];
        const size_t column_one = (size_t)one.left + c, column_two = (size_t)two.left + c;
        if (has_one && column_one < (size_t)p.m.out_width)
            wi_convolve_store(p.m, first + row_one * p.m.ldy + column_one * (size_t)p.m.channels,
                              v.re);
        if (has_two && column_two < (size_t)p.m.out_width)
            wi_convolve_store(p.m, first + row_two * p.m.ldy + column_two * (size_t)p.m.channels,
                              v.im);
    }
}

template <class T>
static weft_status launch(weft_context *ctx, const tile_params &p, wi_convolve_step step,
                          unsigned rows) {
    switch (step) {
    case WI_CONVOLVE_SPREAD:
        return WEFT_LAUNCH(spread_filters<T>, ctx, rows, tile_threads, 0, p);
    case WI_CONVOLVE_GATHER:
        return WEFT_LAUNCH(gather_tiles<T>, ctx, rows, tile_threads, 0, p);
    case WI_CONVOLVE_TURN:
        return WEFT_LAUNCH(turn_tiles<T>, ctx, rows, tile_threads, 0, p);
    default:
        return WEFT_LAUNCH(scatter_tiles<T>, ctx, rows, tile_threads, 0, p);
    }
}

weft_status wi_convolve_step_cuda(weft_context *ctx, const wi_convolve_tiles *t,
                                  wi_convolve_step step) {
    const wi_convolve_args *const args = t->args;
    const size_t rows = wi_convolve_tiles_rows(t, step);
    tile_params p = {};
    void *filters = NULL;
    weft_status status = wi_convolve_check_grid(ctx, rows);
    if (status == WEFT_OK && step == WI_CONVOLVE_SPREAD)
        status = wi_convolve_put_filters(ctx, args, &filters);
    if (status != WEFT_OK)
        return status;
    p.m = wi_convolve_images_of(args);
    p.t = *t;
    p.filters = filters;
    p.filter_count = args->filters;
    p.filter_width = (int)args->filter_width;
    p.filter_height = (int)args->filter_height;
    p.left = (int)args->left;
    p.above = (int)args->above;
    return args->doubles ? launch<double>(ctx, p, step, (unsigned)rows)
                         : launch<float>(ctx, p, step, (unsigned)rows);
}
