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
 * and are returned. What is added is, for each of these, `add(moved, j)`. */
template <class Shape, class Add>
__device__ inline wi_strip_sums<Shape> wi_strip_move(wi_strip_sums<Shape> (&sum)[Shape::side],
                                                     Add add) {
    constexpr int side = Shape::side;
    wi_strip_sums<Shape> done = {};
#pragma unroll
    for (int j = side - 1; j >= 0; j--) {
        wi_strip_sums<Shape> moved = {};
        if (j > 0)
            moved = sum[j - 1 < 0 ? 0 : j - 1];
        add(moved, j);
        (j == side - 1 ? done : sum[j]) = moved;
    }
    return done;
}

template <class Shape>
__device__ inline wi_strip_sums<Shape> wi_strip_add(const wi_strip_params<Shape> &p,
                                                    const wi_strip_window<Shape> &x,
                                                    wi_strip_sums<Shape> (&sum)[Shape::side]) {
    return wi_strip_move<Shape>(sum, [&](wi_strip_sums<Shape> &to, int j) {
#pragma unroll
        for (int i = 0; i < Shape::side; i++)
            to.add(p.weight[j * Shape::side + i], x, i * Shape::channels);
    });
}

/* The same of a filtered row. */
template <class Shape>
__device__ inline wi_strip_sums<Shape> wi_strip_add(const wi_strip_params<Shape> &p,
                                                    const wi_strip_sums<Shape> &filtered,
                                                    wi_strip_sums<Shape> (&sum)[Shape::side]) {
    return wi_strip_move<Shape>(
        sum, [&](wi_strip_sums<Shape> &to, int j) { to.add(p.weight[Shape::side + j], filtered); });
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

    /* Adds the row that is next; the sums that are complete with it. */
    __device__ wi_strip_sums<Shape> add(const wi_strip_window<Shape> &x) {
        if constexpr (late)
            return wi_strip_add(p, filtered, sum);
        else if constexpr (!Shape::is_fused)
            return wi_strip_add(p, x, sum);
        wi_strip_sums<Shape> done = wi_strip_add(p, wi_strip_filtered(p, x), sum);
#pragma unroll 1
        for (int t = 1; t < p.terms; t++)
            wi_strip_add_term(p.weight + t * 2 * Shape::side, x, sum, done);
        return done;
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
    const int first = ((int)at.across * wi_strip_warps + warp) * Shape::width;
    const int top = (int)at.down * p.band + p.down; /* the row of x of the first output row */
    const int left = p.m.out_height - (int)at.down * p.band;
    const int steps = (left < p.band ? left : p.band) + side - 1;
    const In *const x = (const In *)p.m.x + at.plane * p.m.apart_x;
    In *const row = (In *)rings + warp * Shape::ring;
    if (first >= p.elements)
        return;
    wi_strip_loader<Shape> loader(p, x, first, top - side / 2, steps);
    wi_strip_writer<Shape> writer(p, at.plane * p.m.apart_y + (size_t)(top - p.down) * p.m.ldy,
                                  first);
    loader.clear(row);
    for (int t = 0; t < ahead; t++) {
        loader.copy_next(row + t * Shape::length);
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
            loader.flush();
            __syncwarp();
            window.take(row + slot);
            __syncwarp();
            loader.copy_next(row + slot);
            wi_async_commit();
            slot = slot == (ahead - 1) * Shape::length ? 0 : slot + Shape::length;
        }
        const wi_strip_sums<Shape> done = lane.add(window);
        if (t >= side - 1 + Lane::late)
            writer.put(done);
        if (is_there)
            lane.keep(window);
    }
}

/* How high bands are. Where memory is the limit, low ones: what all blocks read at a time lies
 * close together then. Where arithmetic is, as high as leave every multiprocessor the same number
 * of blocks, for the rows above a band are computed again. */
template <class Shape>
size_t wi_strip_band(size_t rows, size_t columns, size_t resident) {
    constexpr size_t low = Shape::is_fused ? 32 : 16;
    constexpr size_t most = Shape::side > 32 ? 16 * Shape::side : 512, least = 2 * Shape::side;
    constexpr int largest = sizeof(typename Shape::In) == 1 ? 3 /* a byte takes as many products */
                            : Shape::is_fused               ? 9
                                                            : 5;
    constexpr bool is_memory_bound = Shape::side <= largest && Shape::most_terms <= 1;
    const size_t turns = wi_convolve_pieces(rows * columns, most * resident);
    const size_t even = turns * resident / columns; /* bands: all blocks in so many turns */
    const size_t lowest = wi_convolve_pieces(rows, low);
    size_t bands = is_memory_bound && lowest > even ? lowest : even;
    bands = bands < 1 ? 1 : bands;
    const size_t band = wi_convolve_pieces(rows, bands);
    return band < least ? least : band;
}

/* Shared memory of a block: its rings, or so much that a multiprocessor has no room for more than
 * Shape::at_once blocks. It has 1 KiB more than a block may have, and takes 1 KiB for each. */
template <class Shape>
size_t wi_strip_shared([[maybe_unused]] const weft_context *ctx) {
    size_t bytes = Shape::rings_bytes;
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
        status = wi_resident_blocks(ctx, wi_strips<Shape>, Shape::threads, shared, &resident);
    p->strips = wi_convolve_pieces((size_t)p->elements, (size_t)Shape::width * wi_strip_warps);
    p->band = (int)wi_strip_band<Shape>(args->out_height, p->strips * args->images, resident);
    p->bands = wi_convolve_pieces(args->out_height, (size_t)p->band);
    return status;
}

inline bool wi_strip_is_aligned(const void *p, size_t ld, size_t apart, size_t width) {
    return ((uintptr_t)p | ld * width | apart * width) % 16 == 0;
}

template <class Shape>
void wi_strip_put_weights(const wi_convolve_args *args, wi_strip_params<Shape> *p) {
    constexpr int side = Shape::side;
    const double *const rows = args->terms ? args->term_rows : args->row;
    const double *const columns = args->terms ? args->term_columns : args->column;
    p->terms = args->terms ? (int)args->terms : 1;
    for (int k = 0; k < Shape::weights; k++) {
        const int term = k / (2 * side), at = k % (2 * side);
        if (!Shape::is_fused)
            p->weight[k] = (float)args->filter[k];
        else if (term < p->terms)
            p->weight[k] =
                (float)(at < side ? rows[term * side + at] : columns[term * side + at - side]);
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
    p.plain_y =
        p.aligned_y && args->out == args->type && (args->out == WEFT_F32 || !args->truncates);
    p.out_bytes = (int)weft_type_size(args->out);
    p.step_x = args->ldx * sizeof(typename Shape::In);
    p.step_y = args->ldy * weft_type_size(args->out);
    wi_strip_put_weights(args, &p);
    const size_t shared = wi_strip_shared<Shape>(ctx);
    weft_status status = wi_strip_divide(ctx, args, shared, &p);
    const size_t blocks = p.strips * p.bands * args->images;
    if (status == WEFT_OK)
        status = wi_convolve_check_grid(ctx, blocks);
    if (status != WEFT_OK)
        return status;
    return WEFT_LAUNCH(wi_strips<Shape>, ctx, (unsigned)blocks, Shape::threads, shared, p);
}

/* By the kernel of the filter's side, which is one of these. */
template <class In, int channels, int most_terms, int... sides>
weft_status wi_strip_choose(weft_context *ctx, const wi_convolve_args *args) {
    weft_status status = WEFT_EUNSUPPORTED;
    ((status = args->filter_width == (size_t)sides
                   ? wi_strip_run<wi_strip_shape<In, sides, channels, most_terms>>(ctx, args)
                   : status),
     ...);
    return status;
}

#endif
