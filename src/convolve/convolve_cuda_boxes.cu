/* SPDX-License-Identifier: Apache-2.0 */
/* rows and fused for small filters over large images of f32 that begin at multiples of 16 bytes and
 * have a border of zeros. There memory is the limit, and what all multiprocessors read and write at
 * a time should lie close together: so a block that stays takes one tile of the image after the
 * other, all blocks in the order in which tiles lie in memory, and has few on their way. The copy
 * engine brings a tile with the pixels around it as one box, and the border's zeros with it; a
 * thread has a few rows of four neighbouring pixels. The order of additions is that of rows and
 * fused. */
#include "convolve/convolve_boxes.h"
#include "convolve/convolve_cuda.cuh"
#include "cuda/boxes.cuh"
#include "cuda/bulk.cuh"
#include "cuda/memory.cuh"

constexpr int quad = 4;                   /* pixels of a thread in a row */
constexpr int width = 256, margin = quad; /* of a tile; columns on either side of it */
constexpr int pitch = width + 2 * margin; /* of a box */
constexpr int lanes = width / quad;

namespace {

/* How high tiles are, how many boxes a block has room for, its threads, and whether what it writes
 * leaves the cache first: as was measured, with one block on a multiprocessor. */
template <int side_, bool is_fused_>
struct shape {
    static constexpr int side = side_;
    static constexpr bool is_fused = is_fused_, streams = side > 3 || is_fused;
    static constexpr int high = side > 5 ? 32 : 16, slots = side > 5 ? 2 : 3;
    static constexpr int threads = side > 5 ? 256 : streams ? 128 : 512;
    static constexpr int rows = high * lanes / threads; /* of a thread */
    static_assert(rows * threads == high * lanes, "every pixel of a tile has its thread");
    static constexpr int lines = high + side - 1, box = lines * pitch;
    static constexpr int weights = is_fused ? 2 * side : side * side;
    static constexpr uint32_t box_bytes = box * sizeof(float);
    static constexpr size_t room = (box_bytes + wi_box_align - 1) / wi_box_align * wi_box_align;
    static constexpr size_t bytes = slots * (room + sizeof(wi_barrier));
};

template <class Shape>
struct params {
    float *y;
    size_t ldy, apart_y;
    int out_width, out_height;
    unsigned strips, bands, tiles; /* across, down, in all images */
    float weight[Shape::weights];
};

struct alignas(16) four {
    float at[quad];
};

/* What a thread reads of a row: its pixels and those of its neighbours. */
struct window {
    float at[3 * quad];

    __device__ explicit window(const float *row) {
#pragma unroll
        for (int q = 0; q < 3; q++) {
            const four some = *(const four *)(row + q * quad);
#pragma unroll
            for (int v = 0; v < quad; v++)
                at[q * quad + v] = some.at[v];
        }
    }
};

/* Adds the products of `weight` with a row's pixels. */
template <int side>
__device__ inline void add_row(const float *weight, const window &x, four &sum) {
#pragma unroll
    for (int i = 0; i < side; i++)
#pragma unroll
        for (int v = 0; v < quad; v++)
            sum.at[v] = wi_fma(weight[i], x.at[margin - side / 2 + i + v], sum.at[v]);
}

/* Adds row t of those that a thread reads to all of its outputs that it belongs to. */
template <class Shape>
__device__ inline void add_to_all(const params<Shape> &p, const window &x, int t,
                                  four (&sum)[Shape::rows]) {
    constexpr int side = Shape::side;
    four filtered = {};
    if constexpr (Shape::is_fused)
        add_row<side>(p.weight, x, filtered);
#pragma unroll
    for (int j = 0; j < side; j++) {
        const int r = t - j;
        if (r < 0 || r >= Shape::rows)
            continue;
        if constexpr (Shape::is_fused)
#pragma unroll
            for (int v = 0; v < quad; v++)
                sum[r].at[v] = wi_fma(p.weight[side + j], filtered.at[v], sum[r].at[v]);
        else
            add_row<side>(p.weight + j * side, x, sum[r]);
    }
}

template <bool streams>
__device__ inline void put(const four &sum, float *to) {
    const float4 out = {sum.at[0], sum.at[1], sum.at[2], sum.at[3]};
    if constexpr (streams)
        wi_store_once((float4 *)to, out);
    else
        *(float4 *)to = out;
}

/* A thread's rows of a tile, from a box to y. */
template <class Shape>
__device__ inline void do_rows(const params<Shape> &p, const float *box,
                               const wi_convolve_tile_at &at) {
    constexpr int side = Shape::side;
    const int column = (int)threadIdx.x % lanes * quad,
              top = (int)threadIdx.x / lanes * Shape::rows;
    const float *const from = box + top * pitch + column;
    const int first = (int)at.down * Shape::high + top, e = (int)at.across * width + column;
    const int left = e < p.out_width ? p.out_height - first : 0; /* rows that y has here */
    float *to = p.y + at.plane * p.apart_y + (size_t)first * p.ldy + e;
    four sum[Shape::rows] = {};
#pragma unroll
    for (int t = 0; t < Shape::rows + side - 1; t++) {
        add_to_all(p, window(from + t * pitch), t, sum);
        if (t < side - 1)
            continue;
        if (t - (side - 1) < left)
            put<Shape::streams>(sum[t - (side - 1) < 0 ? 0 : t - (side - 1)], to);
        to += p.ldy;
    }
}

} // namespace

/* Tiles blockIdx.x, blockIdx.x + gridDim.x, ... */
template <class Shape>
static __global__ void __launch_bounds__(Shape::threads)
    boxes(const __grid_constant__ wi_boxes from, const __grid_constant__ params<Shape> p) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    WEFT_DYNAMIC_SHARED(shared);
    wi_barrier *const full = (wi_barrier *)(shared + Shape::slots * Shape::room);
    const auto load = [&](unsigned tile, int slot) {
        if (tile >= p.tiles)
            return;
        const wi_convolve_tile_at at = wi_convolve_tile_of(tile, p.strips, p.bands);
        wi_barrier_arrive_expect(full + slot, Shape::box_bytes);
        wi_box_load(shared + slot * Shape::room, &from, ((int)at.across * width - margin) / 2,
                    (int)at.down * Shape::high - Shape::side / 2, (int)at.plane, full + slot);
    };
    if (threadIdx.x == 0) {
        for (int k = 0; k < Shape::slots; k++)
            wi_barrier_init(full + k, 1);
        wi_barrier_publish();
        for (int k = 0; k < Shape::slots; k++)
            load(blockIdx.x + (unsigned)k * gridDim.x, k);
    }
    __syncthreads();
    wi_box_turn<Shape::slots> turn = {0, 0};
#    pragma unroll 1
    for (unsigned tile = blockIdx.x; tile < p.tiles; tile += gridDim.x, turn.next()) {
        wi_barrier_wait(full + turn.slot, turn.parity);
        do_rows(p, (const float *)(shared + turn.slot * Shape::room),
                wi_convolve_tile_of(tile, p.strips, p.bands));
        wi_bulk_fence();
        __syncthreads();
        if (threadIdx.x == 0)
            load(tile + Shape::slots * gridDim.x, turn.slot);
    }
#endif
}

/* As pairs of f32, for a box may have 256 elements of a line. */
template <class Shape>
static weft_status describe(weft_context *ctx, const wi_convolve_args *args, wi_boxes *from) {
    const wi_box_source source = {WEFT_F64,
                                  args->x,
                                  args->width / 2,
                                  args->height,
                                  args->ldx * sizeof(float),
                                  args->images,
                                  args->apart_x * sizeof(float),
                                  true};
    return wi_gpu_describe_plain_boxes(ctx, &source, pitch * sizeof(float), Shape::lines, from);
}

template <int side, bool is_fused>
static weft_status run(weft_context *ctx, const wi_convolve_args *args) {
    using Shape = shape<side, is_fused>;
    params<Shape> p = {};
    wi_boxes from;
    p.y = (float *)args->y;
    p.ldy = args->ldy;
    p.apart_y = args->apart_y;
    p.out_width = (int)args->out_width;
    p.out_height = (int)args->out_height;
    const size_t strips = wi_convolve_pieces(args->out_width, width);
    const size_t bands = wi_convolve_pieces(args->out_height, Shape::high);
    const size_t tiles = strips * bands * args->images;
    p.strips = (unsigned)strips;
    p.bands = (unsigned)bands;
    p.tiles = (unsigned)tiles;
    for (int k = 0; k < Shape::weights; k++)
        p.weight[k] = (float)(!is_fused  ? args->filter[k]
                              : k < side ? args->row[k]
                                         : args->column[k - side]);
    weft_status status = wi_convolve_check_grid(ctx, tiles);
    if (status == WEFT_OK)
        status = describe<Shape>(ctx, args, &from);
    if (status != WEFT_OK)
        return status;
    const size_t staying = (size_t)ctx->gpu->multiprocessors;
    return WEFT_LAUNCH(boxes<Shape>, ctx, (unsigned)(tiles < staying ? tiles : staying),
                       Shape::threads, Shape::bytes, from, p);
}

static bool begins_well(const void *p, size_t ld, size_t apart, size_t images) {
    return ((uintptr_t)p | ld * sizeof(float) | (images > 1 ? apart * sizeof(float) : 0)) % 16 == 0;
}

bool wi_convolve_suits_boxes(const weft_context *ctx, const wi_convolve_args *args) {
    const size_t side = args->filter_width;
    const size_t pixels = args->width * args->height * args->images;
    const bool has_kernel = side == 3 || side == 5 || (side == 7 && !args->column);
    return ctx->gpu->capability == 90 && has_kernel && args->channels == 1 &&
           args->type == WEFT_F32 && args->out == WEFT_F32 && args->border == WEFT_BORDER_ZERO &&
           args->left == side / 2 && args->above == side / 2 && args->width == args->out_width &&
           args->height == args->out_height && args->width % quad == 0 &&
           begins_well(args->x, args->ldx, args->apart_x, args->images) &&
           begins_well(args->y, args->ldy, args->apart_y, args->images) &&
           pixels >= (size_t)ctx->gpu->multiprocessors * WI_CONVOLVE_BOXES_PIXELS;
}

weft_status wi_convolve_boxes(weft_context *ctx, const wi_convolve_args *args) {
    if (args->column)
        return args->filter_width == 3 ? run<3, true>(ctx, args) : run<5, true>(ctx, args);
    if (args->filter_width == 7)
        return run<7, false>(ctx, args);
    return args->filter_width == 3 ? run<3, false>(ctx, args) : run<5, false>(ctx, args);
}
