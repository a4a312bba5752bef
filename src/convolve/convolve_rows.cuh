/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of rows, fused and low_rank_fused. A warp has a strip of the image, a few neighbouring
 * pixels a lane, and goes down it. Rows of x, a little wider than the strip, come to a ring in
 * shared memory of the warp's own, several rows ahead; no warp waits for another. A lane takes its
 * pixels of a row, and those beside them, into registers once, and adds their products to all the
 * output rows that they belong to: there are as many as the filter is high, and their sums move on
 * by one place with each row, which costs nothing where loops are unrolled. Weights are parameters
 * of the kernel: a multiply-add takes them from constant memory, without a load or a register.
 *
 * The sum of a pixel takes in whole rows from the top, each from the left: the order that all rungs
 * have. In fused, a row is filtered first, and its result is then the only product of a row. In
 * low_rank_fused that is so for each term, whose products are added one term after the other. */
#ifndef WI_CONVOLVE_ROWS_CUH
#define WI_CONVOLVE_ROWS_CUH

#include <limits.h>

#include "convolve/convolve_sizes.h"
#include "convolve/convolve_strip_out.cuh"

/* Adds the products of one more term to the sums, which have moved on. */
template <class Shape>
__device__ inline void wi_strip_add_term(const float *weight, const wi_strip_window<Shape> &x,
                                         wi_strip_sums<Shape> (&sum)[Shape::side],
                                         wi_strip_sums<Shape> &done) {
    constexpr int side = Shape::side;
    wi_strip_sums<Shape> filtered = {};
#pragma unroll
    for (int i = 0; i < side; i++)
        filtered.add(weight[i], x, i * Shape::channels);
#pragma unroll
    for (int j = side - 1; j >= 0; j--)
        (j == side - 1 ? done : sum[j]).add(weight[side + j], filtered);
}

/* A row, filtered by the first term's row. */
template <class Shape>
__device__ inline wi_strip_sums<Shape> wi_strip_filtered(const wi_strip_params<Shape> &p,
                                                         const wi_strip_window<Shape> &x) {
    wi_strip_sums<Shape> filtered = {};
#pragma unroll
    for (int i = 0; i < Shape::side; i++)
        filtered.add(p.weight[i], x, i * Shape::channels);
    return filtered;
}

/* Adds a row's products to the sums of all rows that it belongs to; those of the first are complete
 * and go to `put`, before the registers of those of the last are needed. What is added is, for each
 * of these, `add(moved, j)`. */
template <class Shape, class Add, class Put>
__device__ inline void wi_strip_move(wi_strip_sums<Shape> (&sum)[Shape::side], Add add, Put put) {
    constexpr int side = Shape::side;
#pragma unroll
    for (int j = side - 1; j >= 0; j--) {
        wi_strip_sums<Shape> moved = {};
        if (j > 0)
            moved = sum[j - 1 < 0 ? 0 : j - 1];
        add(moved, j);
        if (j == side - 1)
            put(moved);
        else
            sum[j] = moved;
    }
}

template <class Shape, class Put>
__device__ inline void wi_strip_add(const wi_strip_params<Shape> &p,
                                    const wi_strip_window<Shape> &x,
                                    wi_strip_sums<Shape> (&sum)[Shape::side], Put put) {
    const auto add = [&](wi_strip_sums<Shape> &to, int j) {
#pragma unroll
        for (int i = 0; i < Shape::side; i++)
            to.add(p.weight[j * Shape::side + i], x, i * Shape::channels);
    };
    wi_strip_move<Shape>(sum, add, put);
}

/* The same of a filtered row. */
template <class Shape, class Put>
__device__ inline void wi_strip_add(const wi_strip_params<Shape> &p,
                                    const wi_strip_sums<Shape> &filtered,
                                    wi_strip_sums<Shape> (&sum)[Shape::side], Put put) {
    wi_strip_move<Shape>(
        sum, [&](wi_strip_sums<Shape> &to, int j) { to.add(p.weight[Shape::side + j], filtered); },
        put);
}

/* What a lane does with one row after the other. With one term, a row is filtered when it is taken
 * in, and added with the next: so a lane has products to add while that one comes from shared
 * memory. */
template <class Shape>
struct wi_strip_lane {
    static constexpr int late = Shape::most_terms == 1 ? 1 : 0; /* rows that are not yet added */
    const wi_strip_params<Shape> &p;
    wi_strip_sums<Shape> sum[Shape::side], filtered;

    __device__ explicit wi_strip_lane(const wi_strip_params<Shape> &params)
        : p(params), sum{}, filtered{} {}

    /* Adds the row that is next. The sums that are complete with it go to `put`. */
    template <class Put>
    __device__ void add(const wi_strip_window<Shape> &x, Put put) {
        if constexpr (late) {
            wi_strip_add(p, filtered, sum, put);
        } else if constexpr (!Shape::is_fused) {
            wi_strip_add(p, x, sum, put);
        } else {
            wi_strip_sums<Shape> done;
            wi_strip_add(p, wi_strip_filtered(p, x), sum,
                         [&](const wi_strip_sums<Shape> &first) { done = first; });
#pragma unroll 1
            for (int t = 1; t < p.terms; t++)
                wi_strip_add_term(p.weight + t * 2 * Shape::side, x, sum, done);
            put(done);
        }
    }

    __device__ void keep(const wi_strip_window<Shape> &x) {
        if constexpr (late)
            filtered = wi_strip_filtered(p, x);
    }
};

/* A band of a strip of one image for each warp. */
template <class Shape>
static __global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    wi_strips(const __grid_constant__ wi_strip_params<Shape> p) {
    using In = typename Shape::In;
    WEFT_DYNAMIC_SHARED(rings);
    constexpr int side = Shape::side, ahead = Shape::ahead;
    const wi_convolve_tile_at at = wi_convolve_tile_of(blockIdx.x, p.strips, p.bands);
    const int warp = (int)threadIdx.x / wi_strip_lanes;
    const int first = ((int)at.across * p.warps + warp) * Shape::width;
    const int top = (int)at.down * p.band + p.down; /* the row of x of the first output row */
    const int left = p.m.out_height - (int)at.down * p.band;
    const int steps = (left < p.band ? left : p.band) + side - 1;
    const In *const x = (const In *)p.m.x + at.plane * p.m.apart_x;
    In *const ring = (In *)rings + warp * Shape::ring;
    if (first >= p.elements)
        return;
    wi_strip_loader<Shape> loader(p, x, first, top - side / 2, steps);
    wi_strip_writer<Shape> writer(p, at.plane * p.m.apart_y + (size_t)(top - p.down) * p.m.ldy,
                                  first);
    loader.clear(ring);
    for (int t = 0; t < ahead; t++) {
        loader.copy_next(ring, t * Shape::length);
        wi_async_commit();
    }
    using Lane = wi_strip_lane<Shape>;
    Lane lane(p);
    int slot = 0; /* of the ring: where the next row is */
    for (int t = 0; t < steps + Lane::late; t++) {
        const bool is_there = !Lane::late || t < steps; /* a row, not only one that is late */
        wi_strip_window<Shape> window;
        if (is_there) {
            wi_async_wait<ahead - 1>();
            loader.flush(ring);
            __syncwarp();
            window.take(ring + slot);
            __syncwarp();
            loader.copy_next(ring, slot);
            wi_async_commit();
            slot = slot == (ahead - 1) * Shape::length ? 0 : slot + Shape::length;
        }
        lane.add(window, [&](const wi_strip_sums<Shape> &done) {
            if (t >= side - 1 + Lane::late)
                writer.put(done);
        });
        if (is_there)
            lane.keep(window);
    }
}

/* How high bands are. Where memory is the limit, low ones: what all blocks read at a time lies
 * close together then. Where arithmetic is, as high as leave every multiprocessor the same number
 * of blocks, for the rows above a band are computed again. */
template <class Shape>
size_t wi_strip_band(size_t rows, size_t columns, size_t resident) {
    constexpr size_t low = Shape::is_fused ? 12 : 16;
    constexpr size_t most = Shape::side > 32 ? 16 * Shape::side : 512, least = 2 * Shape::side;
    constexpr int largest = sizeof(typename Shape::In) == 1 ? 3 /* a byte takes as many products */
                            : Shape::is_fused               ? 9
                                                            : 3;
    constexpr bool is_memory_bound = Shape::side <= largest && Shape::most_terms <= 1;
    const size_t turns = wi_convolve_pieces(rows * columns, most * resident);
    const size_t even = turns * resident / columns; /* bands: all blocks in so many turns */
    const size_t lowest = wi_convolve_pieces(rows, low);
    size_t bands = is_memory_bound && lowest > even ? lowest : even;
    bands = bands < 1 ? 1 : bands;
    const size_t band = wi_convolve_pieces(rows, bands);
    return band < least ? least : band;
}

/* Warps of a block: of u8, whose strips are as wide as many an image, no more than have one. */
template <class Shape>
int wi_strip_warps_of(size_t elements) {
    const size_t strips = wi_convolve_pieces(elements, (size_t)Shape::width);
    const size_t blocks = wi_convolve_pieces(strips, wi_strip_warps);
    return Shape::at_once > 0 ? wi_strip_warps : (int)wi_convolve_pieces(strips, blocks);
}

/* Shared memory of a block: its rings, or so much that a multiprocessor has no room for more than
 * Shape::at_once blocks. It has 1 KiB more than a block may have, and takes 1 KiB for each. */
template <class Shape>
size_t wi_strip_shared([[maybe_unused]] const weft_context *ctx, int warps) {
    size_t bytes = Shape::ring_bytes * (size_t)warps;
    if constexpr (Shape::at_once > 0) {
        const size_t each = ctx->gpu->shared_optin / (size_t)Shape::at_once - 1024;
        bytes = each > bytes ? each : bytes;
    }
    return bytes;
}

template <class Shape>
weft_status wi_strip_divide(weft_context *ctx, const wi_convolve_args *args, size_t shared,
                            wi_strip_params<Shape> *p) {
    size_t resident = 1;
    weft_status status = wi_grant_shared(ctx, "wi_strips<Shape>", wi_strips<Shape>, shared);
    if (status == WEFT_OK)
        status =
            wi_resident_blocks(ctx, wi_strips<Shape>, p->warps * wi_strip_lanes, shared, &resident);
    p->strips = wi_convolve_pieces((size_t)p->elements, (size_t)(Shape::width * p->warps));
    p->band = (int)wi_strip_band<Shape>(args->out_height, p->strips * args->images, resident);
    p->bands = wi_convolve_pieces(args->out_height, (size_t)p->band);
    return status;
}

inline bool wi_strip_is_aligned(const void *p, size_t ld, size_t apart, size_t width) {
    return ((uintptr_t)p | ld * width | apart * width) % 16 == 0;
}

/* Weights of pixels make up for the unit in which bytes come. */
template <class Shape>
void wi_strip_put_weights(const wi_convolve_args *args, wi_strip_params<Shape> *p) {
    constexpr int side = Shape::side;
    constexpr float scale = sizeof(typename Shape::In) == 1 ? 1 / wi_byte_unit : 1;
    const double *const rows = args->terms ? args->term_rows : args->row;
    const double *const columns = args->terms ? args->term_columns : args->column;
    p->terms = args->terms ? (int)args->terms : 1;
    for (int k = 0; k < Shape::weights; k++) {
        const int term = k / (2 * side), at = k % (2 * side);
        if (!Shape::is_fused)
            p->weight[k] = (float)args->filter[k] * scale;
        else if (term < p->terms)
            p->weight[k] = at < side ? (float)rows[term * side + at] * scale
                                     : (float)columns[term * side + at - side];
    }
}

/* One filter for all. */
template <class Shape>
weft_status wi_strip_run(weft_context *ctx, const wi_convolve_args *args) {
    constexpr int side = Shape::side;
    wi_strip_params<Shape> p = {};
    p.m = wi_convolve_images_of(args);
    p.elements = (int)(args->width * args->channels);
    p.out_elements = (int)(args->out_width * args->channels);
    p.shift = side / 2 - (int)args->left;
    p.down = side / 2 - (int)args->above;
    p.aligned_x =
        wi_strip_is_aligned(args->x, args->ldx, args->apart_x, sizeof(typename Shape::In));
    p.aligned_y = p.shift == 0 &&
                  wi_strip_is_aligned(args->y, args->ldy, args->apart_y, weft_type_size(args->out));
    p.last_plain =
        p.aligned_y && args->out == args->type && (args->out == WEFT_F32 || !args->truncates)
            ? p.out_elements - (Shape::groups - 1) * Shape::group_width - Shape::across
            : INT_MIN;
    p.out_bytes = (int)weft_type_size(args->out);
    p.step_x = args->ldx * sizeof(typename Shape::In);
    p.step_y = args->ldy * weft_type_size(args->out);
    wi_strip_put_weights(args, &p);
    p.warps = wi_strip_warps_of<Shape>((size_t)p.elements);
    const size_t shared = wi_strip_shared<Shape>(ctx, p.warps);
    weft_status status = wi_strip_divide(ctx, args, shared, &p);
    const size_t blocks = p.strips * p.bands * args->images;
    if (status == WEFT_OK)
        status = wi_convolve_check_grid(ctx, blocks);
    if (status != WEFT_OK)
        return status;
    return WEFT_LAUNCH(wi_strips<Shape>, ctx, (unsigned)blocks,
                       (unsigned)(p.warps * wi_strip_lanes), shared, p);
}

/* Whether a call goes to the wide kernel: a large image of bytes, whose outputs are bytes at even
 * addresses, rounded to nearest. */
template <class Shape>
bool wi_strip_suits(const weft_context *ctx, const wi_convolve_args *args) {
    const size_t strips = wi_convolve_pieces(args->width * args->channels, (size_t)Shape::width);
    const size_t warps = strips * args->images * args->out_height / (2 * (size_t)Shape::side);
    return args->out == WEFT_U8 && !args->truncates && args->left == (size_t)Shape::side / 2 &&
           wi_strip_is_aligned(args->y, args->ldy, args->apart_y, 1) &&
           warps >= (size_t)ctx->gpu->multiprocessors * WI_CONVOLVE_WIDE_WARPS;
}

template <class In, int side, int channels, int most_terms>
weft_status wi_strip_run_side(weft_context *ctx, const wi_convolve_args *args) {
    using Usual = wi_strip_shape<In, side, channels, most_terms, false>;
    using Wide = wi_strip_shape<In, side, channels, most_terms, true>;
    if constexpr (Wide::across > Usual::across)
        if (wi_strip_suits<Wide>(ctx, args))
            return wi_strip_run<Wide>(ctx, args);
    return wi_strip_run<Usual>(ctx, args);
}

/* By the kernel of the filter's side, which is one of these. */
template <class In, int channels, int most_terms, int... sides>
weft_status wi_strip_choose(weft_context *ctx, const wi_convolve_args *args) {
    weft_status status = WEFT_EUNSUPPORTED;
    ((status = args->filter_width == (size_t)sides
                   ? wi_strip_run_side<In, sides, channels, most_terms>(ctx, args)
                   : status),
     ...);
    return status;
}

#endif
