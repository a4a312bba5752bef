/* SPDX-License-Identifier: Apache-2.0 */
/* map, the teaching rungs: one element for each thread, in one and in two dimensions, and a fixed
 * grid. */
#include "cuda/launch.cuh"
#include "map/map_cuda.cuh"

constexpr unsigned threads = 256;
constexpr unsigned tile_x = 32, tile_y = 8;
constexpr size_t blocks_per_multiprocessor = 8;

template <wi_map_op op, class T>
__global__ void one_each(wi_map_params<T> p) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < p.cols)
        wi_map_at<op>(p, 0, i);
}

/* Blocks tile the matrix. The height of a grid is limited, so each block moves down by whole grids.
 */
template <wi_map_op op, class T>
__global__ void blocks_2d(wi_map_params<T> p) {
    const size_t col = (size_t)blockIdx.x * tile_x + threadIdx.x;
    if (col >= p.cols)
        return;
    const size_t stride = (size_t)gridDim.y * tile_y;
    for (size_t row = (size_t)blockIdx.y * tile_y + threadIdx.y; row < p.rows; row += stride)
        wi_map_at<op>(p, row, col);
}

template <wi_map_op op, class T>
__global__ void grid_stride(wi_map_params<T> p) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < p.cols; i += stride)
        wi_map_at<op>(p, 0, i);
}

static size_t divide_up(size_t a, size_t b) {
    return (a + b - 1) / b;
}

/* A matrix without gaps is a vector. */
template <class T>
static wi_map_params<T> as_vector(const wi_map_args *args) {
    wi_map_params<T> p = wi_map_typed<T>(args);
    p.cols *= p.rows;
    p.rows = 1;
    return p;
}

weft_status wi_map_one_each(weft_context *ctx, const void *arguments) {
    const wi_map_args *args = (const wi_map_args *)arguments;
    return wi_with_step_bits(args->type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        const wi_map_params<T> p = as_vector<T>(args);
        return wi_with_map_op(args->op, [=](auto o) {
            constexpr wi_map_op op = decltype(o)::op;
            return WEFT_LAUNCH((one_each<op, T>), ctx, (unsigned)divide_up(p.cols, threads),
                               threads, 0, p);
        });
    });
}

weft_status wi_map_blocks_2d(weft_context *ctx, const void *arguments) {
    const wi_map_args *args = (const wi_map_args *)arguments;
    int highest = 0;
    const weft_status status =
        wi_cuda(ctx, cudaDeviceGetAttribute(&highest, cudaDevAttrMaxGridDimY, ctx->device),
                "asking how high a grid may be");
    if (status != WEFT_OK)
        return status;
    return wi_with_step_bits(args->type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        const wi_map_params<T> p = wi_map_typed<T>(args);
        const size_t high = divide_up(p.rows, tile_y);
        const dim3 blocks((unsigned)divide_up(p.cols, tile_x),
                          (unsigned)(high < (size_t)highest ? high : (size_t)highest));
        return wi_with_map_op(args->op, [=](auto o) {
            constexpr wi_map_op op = decltype(o)::op;
            return WEFT_LAUNCH((blocks_2d<op, T>), ctx, blocks, dim3(tile_x, tile_y), 0, p);
        });
    });
}

weft_status wi_map_grid_stride(weft_context *ctx, const void *arguments) {
    const wi_map_args *args = (const wi_map_args *)arguments;
    return wi_with_step_bits(args->type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        const wi_map_params<T> p = as_vector<T>(args);
        const size_t fill = (size_t)ctx->gpu->multiprocessors * blocks_per_multiprocessor;
        const size_t needed = divide_up(p.cols, threads);
        return wi_with_map_op(args->op, [=](auto o) {
            constexpr wi_map_op op = decltype(o)::op;
            return WEFT_LAUNCH((grid_stride<op, T>), ctx, (unsigned)(needed < fill ? needed : fill),
                               threads, 0, p);
        });
    });
}
