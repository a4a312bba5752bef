/* SPDX-License-Identifier: Apache-2.0 */
/* fused for tall filters over large images of f32 that begin at multiples of 16 bytes, have rows of
 * whole chunks of 16 pixels, and a border of zeros. A lane of the strips' kernel needs a register
 * for each row of the filter, so that few warps find room. Here a block goes down a strip of the
 * image, 16 rows at a time, which the copy engine brings: they are filtered where they lie, a
 * thread having 16 pixels of a row and those beside them in registers, and then a thread adds up 16
 * rows of its columns from filtered rows of this step and those before. So a load from shared
 * memory feeds up to 33 multiply-adds, and a thread has few sums. The order of additions is that of
 * fused. */
#include "convolve/convolve_cuda.cuh"
#include "convolve/convolve_tall.h"
#include "cuda/boxes.cuh"
#include "cuda/bulk.cuh"

constexpr int chunk = 16;                /* pixels of a line of a box */
constexpr int high = 16;                 /* rows of a step */
constexpr int width = 256;               /* columns of a strip */
constexpr int row_lanes = width / chunk; /* threads that filter a row */
constexpr int chunks = row_lanes + 2;    /* of a row, with those on either side */
constexpr int row_bytes = chunks * wi_narrow_box_line;
constexpr int slot_bytes = high * row_bytes;
constexpr int columns = 2; /* of a thread */
constexpr int threads = width / columns;
constexpr int quad = 4;

namespace {

template <int side_>
struct shape {
    static constexpr int side = side_, reach = side / 2;
    static_assert(reach <= chunk, "a pixel's neighbours are in its chunk and those beside it");
    static constexpr int history = (side - 1 + high - 1) / high; /* steps whose rows are needed */
    static constexpr int slots = history + 2; /* for those, for this one's and for the next's */
    static constexpr size_t bytes = slots * (slot_bytes + sizeof(wi_barrier));
    static constexpr int blocks = slots > 3 ? 3 : 4; /* on a multiprocessor */
};

template <class Shape>
struct params {
    float *y;
    size_t ldy;
    int width, height;
    int band; /* rows of a block, whole steps */
    unsigned strips;
    float weight[2 * Shape::side]; /* of the row, then of the column */
};

struct alignas(16) four {
    float at[quad];
};
struct alignas(sizeof(float) * columns) few {
    float at[columns];
};

/* A thread's pixels of a row and those beside them, from a slot to registers, filtered, and back to
 * where the pixels were. Threads of a row are of one warp. */
template <class Shape>
__device__ inline void filter_row(const params<Shape> &p, unsigned char *slot, int row) {
    constexpr int quads = chunk / quad;
    const int lane = (int)threadIdx.x % row_lanes;
    float x[3 * chunk], sum[chunk] = {};
    uint32_t own = 0;
#pragma unroll
    for (int c = 0; c < 3; c++) {
        const uint32_t place =
            wi_narrow_box_place((uint32_t)(row * row_bytes + (lane + c) * wi_narrow_box_line));
        own = c == 1 ? place : own;
#pragma unroll
        for (int q = 0; q < quads; q++) {
            const int first = c * chunk + q * quad;
            if (first + quad <= chunk - Shape::reach || first >= 2 * chunk + Shape::reach)
                continue;
            const four some = *(const four *)(slot + (place ^ (uint32_t)q << 4));
#pragma unroll
            for (int v = 0; v < quad; v++)
                x[first + v] = some.at[v];
        }
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < Shape::side; i++)
#pragma unroll
        for (int v = 0; v < chunk; v++)
            sum[v] = wi_fma(p.weight[i], x[chunk - Shape::reach + i + v], sum[v]);
#pragma unroll
    for (int q = 0; q < quads; q++)
        *(four *)(slot + (own ^ (uint32_t)q << 4)) = {sum[q * quad], sum[q * quad + 1],
                                                      sum[q * quad + 2], sum[q * quad + 3]};
}

/* Adds filtered rows, from slot `slot` on, to a thread's columns of 16 outputs, of which y has
 * `left`. */
template <class Shape>
__device__ inline void add_columns(const params<Shape> &p, const unsigned char *slots, int slot,
                                   float *to, int left) {
    constexpr int side = Shape::side, pattern = 4; /* after so many rows chunks lie alike */
    uint32_t lane_at[pattern], base = (uint32_t)slot * slot_bytes;
    float sum[high][columns] = {};
#pragma unroll
    for (int m = 0; m < pattern; m++) {
        const uint32_t line = (uint32_t)m * row_bytes;
        lane_at[m] =
            wi_narrow_box_place(line + wi_narrow_box_line + threadIdx.x * sizeof(few)) - line;
    }
#pragma unroll
    for (int t = 0; t < high + side - 1; t++) {
        if (t > 0 && t % high == 0)
            base = base == (Shape::slots - 1) * slot_bytes ? 0 : base + slot_bytes;
        const few row = *(const few *)(slots + base + lane_at[t % pattern] + t % high * row_bytes);
#pragma unroll
        for (int r = 0; r < high; r++)
            if (t - r >= 0 && t - r < side)
#pragma unroll
                for (int c = 0; c < columns; c++)
                    sum[r][c] = wi_fma(p.weight[side + t - r], row.at[c], sum[r][c]);
        if (t < side - 1)
            continue;
        const int done = t - (side - 1) < 0 ? 0 : t - (side - 1);
        if (done < left)
            *(few *)to = {sum[done][0], sum[done][1]};
        to += p.ldy;
    }
}

} // namespace

/* A strip of a band for each block. */
template <class Shape>
static __global__ void __launch_bounds__(threads, Shape::blocks)
    tall(const __grid_constant__ wi_boxes from, const __grid_constant__ params<Shape> p) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    WEFT_DYNAMIC_SHARED(slots);
    constexpr int history = Shape::history;
    wi_barrier *const full = (wi_barrier *)(slots + Shape::slots * slot_bytes);
    const int strip = (int)(blockIdx.x % p.strips), top = (int)(blockIdx.x / p.strips) * p.band;
    const int rows = p.height - top < p.band ? p.height - top : p.band;
    const int steps = (rows + high - 1) / high + history;
    const auto load = [&](int step, int slot) {
        if (step >= steps)
            return;
        wi_barrier_arrive_expect(full + slot, slot_bytes);
        wi_box_load(slots + slot * slot_bytes, &from, 0, strip * row_lanes - 1,
                    top - Shape::reach + step * high, full + slot);
    };
    if (threadIdx.x == 0) {
        for (int k = 0; k < Shape::slots; k++)
            wi_barrier_init(full + k, 1);
        wi_barrier_publish();
        for (int k = 0; k < Shape::slots; k++)
            load(k, k);
    }
    __syncthreads();
    const int column = strip * width + (int)threadIdx.x * columns;
    float *to = p.y + (size_t)top * p.ldy + column;
    wi_box_turn<Shape::slots> turn = {0, 0};
#    pragma unroll 1
    for (int step = 0; step < steps; step++) {
        wi_barrier_wait(full + turn.slot, turn.parity);
#    pragma unroll 1
        for (int row = (int)threadIdx.x / row_lanes; row < high; row += threads / row_lanes)
            filter_row(p, slots + turn.slot * slot_bytes, row);
        wi_bulk_fence();
        __syncthreads();
        turn.next();
        /* All threads are done with the step before, and so with the rows of this slot. */
        if (threadIdx.x == 0 && step + 1 >= Shape::slots)
            load(step + 1, turn.slot);
        if (step < history)
            continue;
        const int first = turn.slot + 1 == Shape::slots ? 0 : turn.slot + 1;
        const int left = column < p.width ? rows - (step - history) * high : 0;
        add_columns(p, slots, first, to, left);
        to += high * p.ldy;
    }
#endif
}

/* An image as chunks of a row, one below the other, and rows. */
static weft_status describe(weft_context *ctx, const wi_convolve_args *args, const float *x,
                            wi_boxes *from) {
    const wi_box_source source = {WEFT_F32,
                                  x,
                                  chunk,
                                  args->width / chunk,
                                  wi_narrow_box_line,
                                  args->height,
                                  args->ldx * sizeof(float),
                                  false};
    return wi_gpu_describe_narrow_boxes(ctx, &source, chunks, high, from);
}

/* Bands as high as let all blocks of an image work at a time. */
template <class Shape>
static weft_status divide(weft_context *ctx, params<Shape> *p) {
    size_t resident = 1;
    weft_status status = wi_grant_shared(ctx, "tall<Shape>", tall<Shape>, Shape::bytes);
    if (status == WEFT_OK)
        status = wi_resident_blocks(ctx, tall<Shape>, threads, Shape::bytes, &resident);
    const size_t even = resident / p->strips, bands = even > 1 ? even : 1;
    const size_t steps = wi_convolve_pieces((size_t)p->height, bands * high);
    p->band = (int)steps * high;
    return status;
}

template <int side>
static weft_status run(weft_context *ctx, const wi_convolve_args *args) {
    using Shape = shape<side>;
    params<Shape> p = {};
    p.ldy = args->ldy;
    p.width = (int)args->out_width;
    p.height = (int)args->out_height;
    p.strips = (unsigned)wi_convolve_pieces(args->out_width, width);
    for (int k = 0; k < side; k++) {
        p.weight[k] = (float)args->row[k];
        p.weight[side + k] = (float)args->column[k];
    }
    weft_status status = divide(ctx, &p);
    const size_t bands =
        status == WEFT_OK ? wi_convolve_pieces(args->out_height, (size_t)p.band) : 0;
    for (size_t image = 0; image < args->images && status == WEFT_OK; image++) {
        wi_boxes from;
        p.y = (float *)args->y + image * args->apart_y;
        status = describe(ctx, args, (const float *)args->x + image * args->apart_x, &from);
        if (status == WEFT_OK)
            status = WEFT_LAUNCH(tall<Shape>, ctx, (unsigned)(p.strips * bands), threads,
                                 Shape::bytes, from, p);
    }
    return status;
}

bool wi_convolve_suits_tall(const weft_context *ctx, const wi_convolve_args *args) {
    const size_t side = args->filter_width;
    const bool has_kernel = side == 17 || side == 21 || side == 25 || side == 33;
    return args->column && has_kernel && wi_convolve_is_tidy(ctx, args) &&
           args->width % chunk == 0 &&
           args->width * args->height >=
               (size_t)ctx->gpu->multiprocessors * WI_CONVOLVE_TALL_PIXELS;
}

weft_status wi_convolve_tall(weft_context *ctx, const wi_convolve_args *args) {
    switch (args->filter_width) {
    case 17:
        return run<17>(ctx, args);
    case 21:
        return run<21>(ctx, args);
    case 25:
        return run<25>(ctx, args);
    default:
        return run<33>(ctx, args);
    }
}
