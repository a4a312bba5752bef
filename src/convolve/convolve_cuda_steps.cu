/* SPDX-License-Identifier: Apache-2.0 */
/* convolve, the teaching rungs of f32 and u8: one thread for one element, its filter and pixels
 * from global memory; the filter as a parameter of the kernel, which is constant memory; pixels in
 * a tile in shared memory. */
#include "convolve/convolve_cuda.cuh"

constexpr int step_tile_width = 32, step_tile_height = 8;

namespace {

struct step_params {
    wi_convolve_images m;
    size_t across, down; /* tiles of a plane */
    int filter_width, filter_height, left, above;
};

/* Weights as a parameter. */
struct constant_filter {
    float at[WI_CONVOLVE_TAUGHT_WEIGHTS];
};

/* The output pixel of this thread. */
struct pixel {
    size_t image, channel;
    int row, column;
};

} // namespace

static __device__ pixel pixel_at(const step_params &p) {
    const wi_convolve_tile_at at = wi_convolve_tile_of(blockIdx.x, p.across, p.down);
    return {at.plane / p.m.channels, at.plane % p.m.channels,
            (int)at.down * step_tile_height + (int)threadIdx.y,
            (int)at.across * step_tile_width + (int)threadIdx.x};
}

static __device__ void put_pixel(const step_params &p, const pixel &at, float sum) {
    if (at.row < p.m.out_height && at.column < p.m.out_width)
        wi_convolve_store(p.m,
                          at.image * p.m.apart_y + (size_t)at.row * p.m.ldy +
                              (size_t)at.column * p.m.channels + at.channel,
                          sum);
}

/* Pixel (row, column) of x, or what stands for it. */
template <class T>
static __device__ float load(const step_params &p, const pixel &at, int row, int column) {
    const int r = wi_convolve_pixel(p.m.border, row, p.m.height);
    const int c = wi_convolve_pixel(p.m.border, column, p.m.width);
    if (r < 0 || c < 0)
        return 0;
    return (float)((const T *)p.m.x)[at.image * p.m.apart_x + (size_t)r * p.m.ldx +
                                     (size_t)c * p.m.channels + at.channel];
}

template <class T, class Filter>
static __device__ float sum_up(const step_params &p, const Filter &filter, const pixel &at) {
    float sum = 0;
    for (int j = 0; j < p.filter_height; j++)
        for (int i = 0; i < p.filter_width; i++)
            sum = fmaf(filter[j * p.filter_width + i],
                       load<T>(p, at, at.row - p.above + j, at.column - p.left + i), sum);
    return sum;
}

template <class T>
static __global__ void direct(step_params p, const float *filter) {
    const pixel at = pixel_at(p);
    if (at.row < p.m.out_height && at.column < p.m.out_width)
        put_pixel(p, at, sum_up<T>(p, filter, at));
}

template <class T>
static __global__ void constant(const __grid_constant__ step_params p,
                                const __grid_constant__ constant_filter filter) {
    const pixel at = pixel_at(p);
    if (at.row < p.m.out_height && at.column < p.m.out_width)
        put_pixel(p, at, sum_up<T>(p, filter.at, at));
}

/* A block brings the pixels of its tile, and those that its filter reaches around them. */
template <class T>
static __global__ void tile(const __grid_constant__ step_params p,
                            const __grid_constant__ constant_filter filter) {
    WEFT_DYNAMIC_SHARED(shared);
    float *const pixels = (float *)shared;
    const pixel at = pixel_at(p);
    const int width = step_tile_width + p.filter_width - 1,
              height = step_tile_height + p.filter_height - 1;
    const int row = at.row - (int)threadIdx.y, column = at.column - (int)threadIdx.x;
    for (int r = (int)threadIdx.y; r < height; r += step_tile_height)
        for (int c = (int)threadIdx.x; c < width; c += step_tile_width)
            pixels[r * width + c] = load<T>(p, at, row - p.above + r, column - p.left + c);
    __syncthreads();
    float sum = 0;
    for (int j = 0; j < p.filter_height; j++)
        for (int i = 0; i < p.filter_width; i++)
            sum = fmaf(filter.at[j * p.filter_width + i],
                       pixels[((int)threadIdx.y + j) * width + (int)threadIdx.x + i], sum);
    put_pixel(p, at, sum);
}

static step_params params_of(const wi_convolve_args *args) {
    return {wi_convolve_images_of(args),
            wi_convolve_pieces(args->out_width, step_tile_width),
            wi_convolve_pieces(args->out_height, step_tile_height),
            (int)args->filter_width,
            (int)args->filter_height,
            (int)args->left,
            (int)args->above};
}

static size_t blocks_of(const wi_convolve_args *args, const step_params &p) {
    return p.across * p.down * args->images * args->channels;
}

static constant_filter filter_of(const wi_convolve_args *args) {
    constant_filter filter = {};
    for (size_t k = 0; k < args->filter_width * args->filter_height; k++)
        filter.at[k] = (float)args->filter[k];
    return filter;
}

weft_status wi_convolve_direct(weft_context *ctx, const void *arguments) {
    const wi_convolve_args *const args = (const wi_convolve_args *)arguments;
    const step_params p = params_of(args);
    const size_t blocks = blocks_of(args, p);
    const dim3 threads(step_tile_width, step_tile_height);
    void *filter = NULL;
    weft_status status = wi_convolve_check_grid(ctx, blocks);
    if (status == WEFT_OK)
        status = wi_convolve_put_filters(ctx, args, &filter);
    if (status != WEFT_OK)
        return status;
    if (args->type == WEFT_U8)
        return WEFT_LAUNCH(direct<uint8_t>, ctx, (unsigned)blocks, threads, 0, p,
                           (const float *)filter);
    return WEFT_LAUNCH(direct<float>, ctx, (unsigned)blocks, threads, 0, p, (const float *)filter);
}

weft_status wi_convolve_constant(weft_context *ctx, const void *arguments) {
    const wi_convolve_args *const args = (const wi_convolve_args *)arguments;
    const step_params p = params_of(args);
    const size_t blocks = blocks_of(args, p);
    const dim3 threads(step_tile_width, step_tile_height);
    const weft_status status = wi_convolve_check_grid(ctx, blocks);
    if (status != WEFT_OK)
        return status;
    if (args->type == WEFT_U8)
        return WEFT_LAUNCH(constant<uint8_t>, ctx, (unsigned)blocks, threads, 0, p,
                           filter_of(args));
    return WEFT_LAUNCH(constant<float>, ctx, (unsigned)blocks, threads, 0, p, filter_of(args));
}

weft_status wi_convolve_tile(weft_context *ctx, const void *arguments) {
    const wi_convolve_args *const args = (const wi_convolve_args *)arguments;
    const step_params p = params_of(args);
    const size_t blocks = blocks_of(args, p);
    const dim3 threads(step_tile_width, step_tile_height);
    const size_t bytes = (step_tile_width + args->filter_width - 1) *
                         (step_tile_height + args->filter_height - 1) * sizeof(float);
    const weft_status status = wi_convolve_check_grid(ctx, blocks);
    if (status != WEFT_OK)
        return status;
    if (args->type == WEFT_U8)
        return WEFT_LAUNCH(tile<uint8_t>, ctx, (unsigned)blocks, threads, bytes, p,
                           filter_of(args));
    return WEFT_LAUNCH(tile<float>, ctx, (unsigned)blocks, threads, bytes, p, filter_of(args));
}
