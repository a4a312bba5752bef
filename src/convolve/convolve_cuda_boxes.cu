/* SPDX-License-Identifier: Apache-2.0 */
/* rows and fused for small filters over large images of f32 that begin at multiples of 16 bytes and
 * have a border of zeros. There memory is the limit, and what all multiprocessors read and write at
 * a time should lie close together: so a block that stays takes one tile of the image after the
 * other, all blocks in the order in which tiles lie in memory, and has few on their way. The copy
 * engine brings a tile with the pixels around it as one box, and the border's zeros with it; a
 * thread has a few rows of four neighbouring pixels. Filters of three rows leave so many registers
 * that threads load their pixels themselves, and get those beside them from other lanes. The order
 * of additions is that of rows and fused. */
#include "convolve/convolve_boxes.h"
#include "convolve/convolve_cuda.cuh"
#include "convolve/convolve_tall.h"
#include "cuda/boxes.cuh"
#include "cuda/bulk.cuh"
#include "cuda/memory.cuh"
#include "cuda/warp.cuh"

constexpr int quad = 4;                   /* pixels of a thread in a row */
constexpr int width = 256, margin = quad; /* of a tile; columns on either side of it */
constexpr int pitch = width + 2 * margin; /* of a box */
constexpr int lanes = width / quad;

namespace {

/* How high tiles are, how many boxes a block has room for, and its threads: as was measured, with
 * one block on a multiprocessor. */
template <int side_, bool is_fused_>
struct shape {
    static constexpr int side = side_;
    static constexpr bool is_fused = is_fused_;
    static constexpr int high = side > 5 ? 32 : 16, slots = side > 5 ? 2 : 3;
    static constexpr int threads = side > 5 ? 256 : 128;
    static constexpr int rows = high * lanes / threads; /* of a thread */
    static_assert(rows * threads == high * lanes, "every pixel of a tile has its thread");
    static constexpr int lines = high + side - 1, box = lines * pitch;
    static constexpr int weights = is_fused ? 2 * side : side * side;
    static constexpr uint32_t box_bytes = box * sizeof(float);
    static constexpr size_t room = (box_bytes + wi_box_align - 1) / wi_box_align * wi_box_align;
    static constexpr size_t bytes = slots * (room + sizeof(wi_barrier));
};

/* Filters of 3 x 3, with pixels in registers. */
template <bool is_fused_>
struct near_shape {
    static constexpr int side = 3, threads = 256, rows = 4, lines = rows + side - 1;
    static constexpr bool is_fused = is_fused_;
    static constexpr int weights = is_fused ? 2 * side : side * side;
};

template <class Shape>
struct params {
    const float *x; /* of pixels in registers alone */
    float *y;
    size_t ldx, ldy, apart_x, apart_y;
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

    /* Those of a filter of three columns. */
    __device__ window(float before, const four &own, float behind) {
        at[margin - 1] = before;
#pragma unroll
        for (int v = 0; v < quad; v++)
            at[margin + v] = own.at[v];
        at[margin + quad] = behind;
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
            put<true>(sum[t - (side - 1) < 0 ? 0 : t - (side - 1)], to);
        to += p.ldy;
    }
}

/* What a thread has of each row: its pixels and, if its lane is a warp's first or last, the one
 * beside the warp's. All of it is loaded before any is used. */
template <class Shape>
struct lines_of {
    static constexpr int last = 31;
    four own[Shape::lines];
    float beside[Shape::lines];

    __device__ lines_of(const params<Shape> &p, const float *row, int first, int e) {
        const int lane = wi_lane(), other = lane == 0 ? e - 1 : e + quad;
        const bool has_other =
            (lane == 0 || lane == last) && (unsigned)other < (unsigned)p.out_width;
#pragma unroll
        for (int t = 0; t < Shape::lines; t++, row += p.ldx) {
            const bool is_there = (unsigned)(first + t) < (unsigned)p.out_height;
            own[t] = is_there && e < p.out_width ? *(const four *)(row + e) : four{};
            beside[t] = is_there && has_other ? row[other] : 0;
        }
    }

    /* All lanes of a warp. */
    __device__ window of(int t) const {
        const int lane = wi_lane();
        const float before = wi_shuffle_up(own[t].at[quad - 1], 1);
        const float behind = wi_shuffle(own[t].at[0], lane + 1);
        return {lane == 0 ? beside[t] : before, own[t], lane == last ? beside[t] : behind};
    }
};

} // namespace

/* A tile of a few rows for each block. */
template <class Shape>
static __global__ void __launch_bounds__(Shape::threads)
    near(const __grid_constant__ params<Shape> p) {
    constexpr int before = Shape::side - 1; /* rows that only complete sums */
    const wi_convolve_tile_at at = wi_convolve_tile_of(blockIdx.x, p.strips, p.bands);
    const int e = ((int)at.across * (int)blockDim.x + (int)threadIdx.x) * quad;
    const int top = (int)at.down * Shape::rows, first = top - Shape::side / 2;
    const lines_of<Shape> lines(p, p.x + at.plane * p.apart_x + (ptrdiff_t)first * (ptrdiff_t)p.ldx,
                                first, e);
    const int left = e < p.out_width ? p.out_height - top : 0;
    float *to = p.y + at.plane * p.apart_y + (size_t)top * p.ldy + e;
    four sum[Shape::rows] = {};
#pragma unroll
    for (int t = 0; t < Shape::lines; t++) {
        add_to_all(p, lines.of(t), t, sum);
        if (t < before)
            continue;
        if (t - before < left)
            put<false>(sum[t - before < 0 ? 0 : t - before], to);
        to += p.ldy;
    }
}

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

/* An image in tiles of `across` x `down` pixels. */
template <class Shape>
static weft_status divide(weft_context *ctx, const wi_convolve_args *args, size_t across,
                          size_t down, params<Shape> *p) {
    constexpr int side = Shape::side;
    const size_t strips = wi_convolve_pieces(args->out_width, across);
    const size_t bands = wi_convolve_pieces(args->out_height, down);
    const size_t tiles = strips * bands * args->images;
    p->x = (const float *)args->x;
    p->y = (float *)args->y;
    p->ldx = args->ldx;
    p->ldy = args->ldy;
    p->apart_x = args->apart_x;
    p->apart_y = args->apart_y;
    p->out_width = (int)args->out_width;
    p->out_height = (int)args->out_height;
    p->strips = (unsigned)strips;
    p->bands = (unsigned)bands;
    p->tiles = (unsigned)tiles;
    for (int k = 0; k < Shape::weights; k++)
        p->weight[k] = (float)(!Shape::is_fused ? args->filter[k]
                               : k < side       ? args->row[k]
                                                : args->column[k - side]);
    return wi_convolve_check_grid(ctx, tiles);
}

template <int side, bool is_fused>
static weft_status run(weft_context *ctx, const wi_convolve_args *args) {
    using Shape = shape<side, is_fused>;
    params<Shape> p = {};
    wi_boxes from;
    weft_status status = divide(ctx, args, width, Shape::high, &p);
    if (status == WEFT_OK)
        status = describe<Shape>(ctx, args, &from);
    if (status != WEFT_OK)
        return status;
    const unsigned staying = (unsigned)ctx->gpu->multiprocessors;
    return WEFT_LAUNCH(boxes<Shape>, ctx, p.tiles < staying ? p.tiles : staying, Shape::threads,
                       Shape::bytes, from, p);
}

/* Blocks are as wide as leave few threads without pixels. */
template <bool is_fused>
static weft_status run_near(weft_context *ctx, const wi_convolve_args *args) {
    using Shape = near_shape<is_fused>;
    params<Shape> p = {};
    const size_t quads = args->out_width / quad, warp = 32;
    const size_t strips = wi_convolve_pieces(quads, Shape::threads);
    const size_t threads = wi_convolve_pieces(quads, strips * warp) * warp;
    const weft_status status = divide(ctx, args, threads * quad, Shape::rows, &p);
    return status == WEFT_OK ? WEFT_LAUNCH(near<Shape>, ctx, p.tiles, (unsigned)threads, 0, p)
                             : status;
}

static bool begins_well(const void *p, size_t ld, size_t apart, size_t images) {
    return ((uintptr_t)p | ld * sizeof(float) | (images > 1 ? apart * sizeof(float) : 0)) % 16 == 0;
}

bool wi_convolve_is_tidy(const weft_context *ctx, const wi_convolve_args *args) {
    return ctx->gpu->capability == 90 && args->channels == 1 && args->type == WEFT_F32 &&
           args->out == WEFT_F32 && args->border == WEFT_BORDER_ZERO &&
           args->left == args->filter_width / 2 && args->above == args->filter_height / 2 &&
           args->width == args->out_width && args->height == args->out_height &&
           args->width % quad == 0 &&
           begins_well(args->x, args->ldx, args->apart_x, args->images) &&
           begins_well(args->y, args->ldy, args->apart_y, args->images);
}

bool wi_convolve_suits_boxes(const weft_context *ctx, const wi_convolve_args *args) {
    const size_t side = args->filter_width;
    const size_t pixels = args->width * args->height * args->images;
    const bool has_kernel = side == 3 || side == 5 || (side == 7 && !args->column);
    if (wi_convolve_suits_tall(ctx, args))
        return true;
    return has_kernel && wi_convolve_is_tidy(ctx, args) &&
           pixels >= (size_t)ctx->gpu->multiprocessors * WI_CONVOLVE_BOXES_PIXELS;
}

weft_status wi_convolve_boxes(weft_context *ctx, const wi_convolve_args *args) {
    if (wi_convolve_suits_tall(ctx, args))
        return wi_convolve_tall(ctx, args);
    if (args->filter_width == 3)
        return args->column ? run_near<true>(ctx, args) : run_near<false>(ctx, args);
    if (args->filter_width == 7)
        return run<7, false>(ctx, args);
    return args->column ? run<5, true>(ctx, args) : run<5, false>(ctx, args);
}
