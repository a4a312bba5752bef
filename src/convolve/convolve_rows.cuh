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

#include "convolve/convolve_strip.cuh"

/* A few elements that a lane reads from shared memory at once. */
template <class Shape>
struct alignas(sizeof(typename Shape::In) * Shape::across) wi_strip_pack {
    typename Shape::In at[Shape::across];
};

/* The number of a pixel. Those of u8 without a conversion, of which few can be made at a time. */
template <class In>
__device__ inline float wi_strip_number(In v) {
    return (float)v;
}
__device__ inline float wi_strip_number(uint8_t v) {
    return wi_bit_cast<float>(0x4b000000u | v) - 0x1p23f;
}

/* The pixels that a lane computes with: those of a group and beside it. */
template <class Shape>
struct wi_strip_window {
    static constexpr int count = Shape::across + 2 * Shape::reach;
    float at[Shape::groups][count];

    __device__ void take(const typename Shape::In *row) {
        using Pack = wi_strip_pack<Shape>;
        constexpr int packs = 1 + 2 * Shape::beside / Shape::across;
        constexpr int skipped = Shape::beside - Shape::reach;
        const Pack *const from =
            (const Pack *)(row + Shape::margin - Shape::beside) + threadIdx.x % wi_strip_lanes;
#pragma unroll
        for (int g = 0; g < Shape::groups; g++)
#pragma unroll
            for (int k = 0; k < packs; k++) {
                const Pack pack = from[g * wi_strip_lanes + k];
#pragma unroll
                for (int v = 0; v < Shape::across; v++) {
                    const int i = k * Shape::across + v - skipped;
                    if (i >= 0 && i < count)
                        at[g][i] = wi_strip_number(pack.at[v]);
                }
            }
    }
};

/* Sums of a lane's elements. */
template <class Shape>
struct wi_strip_sums {
    float at[Shape::groups][Shape::across];

    /* Adds w times the pixels `by` elements further on. */
    __device__ void add(float w, const wi_strip_window<Shape> &x, int by) {
#pragma unroll
        for (int g = 0; g < Shape::groups; g++)
#pragma unroll
            for (int v = 0; v < Shape::across; v++)
                at[g][v] = fmaf(w, x.at[g][v + by], at[g][v]);
    }
    __device__ void add(float w, const wi_strip_sums &x) {
#pragma unroll
        for (int g = 0; g < Shape::groups; g++)
#pragma unroll
            for (int v = 0; v < Shape::across; v++)
                at[g][v] = fmaf(w, x.at[g][v], at[g][v]);
    }
};

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

/* Adds a row's products to the sums of all rows that it belongs to; those of the first are complete
 * and are returned. */
template <class Shape>
__device__ inline wi_strip_sums<Shape> wi_strip_add(const wi_strip_params<Shape> &p,
                                                    const wi_strip_window<Shape> &x,
                                                    wi_strip_sums<Shape> (&sum)[Shape::side]) {
    constexpr int side = Shape::side;
    wi_strip_sums<Shape> filtered = {}, done = {};
    if constexpr (Shape::is_fused)
#pragma unroll
        for (int i = 0; i < side; i++)
            filtered.add(p.weight[i], x, i * Shape::channels);
#pragma unroll
    for (int j = side - 1; j >= 0; j--) {
        wi_strip_sums<Shape> moved = {};
        if (j > 0)
            moved = sum[j - 1 < 0 ? 0 : j - 1];
        if constexpr (Shape::is_fused)
            moved.add(p.weight[side + j], filtered);
        else
#pragma unroll
            for (int i = 0; i < side; i++)
                moved.add(p.weight[j * side + i], x, i * Shape::channels);
        (j == side - 1 ? done : sum[j]) = moved;
    }
    if constexpr (Shape::most_terms > 1)
#pragma unroll 1
        for (int t = 1; t < p.terms; t++)
            wi_strip_add_term(p.weight + t * 2 * side, x, sum, done);
    return done;
}

/* Elements that a lane writes at once. */
template <class T, int count>
struct alignas(sizeof(T) * count < 16 ? sizeof(T) * count : 16) wi_strip_out {
    T at[count];
};

/* A group of a lane's numbers, where they begin at element e of the output row `to`. */
template <class Shape, class Out, class V>
__device__ inline void wi_strip_put_group(const wi_strip_params<Shape> &p, Out *to, int e,
                                          const V (&v)[Shape::across]) {
    if (p.aligned_y && e >= 0 && e + Shape::across <= p.out_elements) {
        wi_strip_out<Out, Shape::across> out;
#pragma unroll
        for (int k = 0; k < Shape::across; k++)
            out.at[k] = (Out)v[k];
        *(wi_strip_out<Out, Shape::across> *)(to + e) = out;
        return;
    }
#pragma unroll
    for (int k = 0; k < Shape::across; k++)
        if (e + k >= 0 && e + k < p.out_elements)
            to[e + k] = (Out)v[k];
}

/* The same as integers or f16, of 8 or 16 bits. */
template <class Shape>
__device__ inline void wi_strip_put_narrow(const wi_strip_params<Shape> &p, size_t at, int e,
                                           const float (&v)[Shape::across]) {
    unsigned bits[Shape::across];
#pragma unroll
    for (int k = 0; k < Shape::across; k++)
        bits[k] = p.m.out == WEFT_F16
                      ? wi_bit_cast<uint16_t>((__half)v[k])
                      : wi_convolve_whole(v[k], p.m.out == WEFT_U8 ? 255 : 65535, p.m.truncates);
    if (p.m.out == WEFT_U8)
        wi_strip_put_group(p, (uint8_t *)p.m.y + at, e, bits);
    else
        wi_strip_put_group(p, (uint16_t *)p.m.y + at, e, bits);
}

/* A lane's pixels of the output row that begins at element `at`. */
template <class Shape>
__device__ inline void wi_strip_put(const wi_strip_params<Shape> &p, size_t at, int first,
                                    const wi_strip_sums<Shape> &sums) {
    const int e =
        first + (int)threadIdx.x % wi_strip_lanes * Shape::across - p.shift * Shape::channels;
#pragma unroll
    for (int g = 0; g < Shape::groups; g++) {
        if (p.m.out == WEFT_F32)
            wi_strip_put_group(p, (float *)p.m.y + at, e + g * Shape::group_width, sums.at[g]);
        else if (p.m.out == WEFT_F64)
            wi_strip_put_group(p, (double *)p.m.y + at, e + g * Shape::group_width, sums.at[g]);
        else
            wi_strip_put_narrow(p, at, e + g * Shape::group_width, sums.at[g]);
    }
}

/* A band of a strip of one image for each warp. */
template <class Shape>
static __global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    wi_strips(const __grid_constant__ wi_strip_params<Shape> p) {
    using In = typename Shape::In;
    struct alignas(16) ring {
        In row[Shape::ahead][Shape::length];
    };
    WEFT_SHARED(ring, rings, [wi_strip_warps]);
    constexpr int side = Shape::side, ahead = Shape::ahead;
    const wi_convolve_tile_at at = wi_convolve_tile_of(blockIdx.x, p.strips, p.bands);
    const int warp = (int)threadIdx.x / wi_strip_lanes;
    const int first = ((int)at.across * wi_strip_warps + warp) * Shape::width;
    const int top = (int)at.down * p.band + p.down; /* the row of x of the first output row */
    const int left = p.m.out_height - (int)at.down * p.band;
    const int steps = (left < p.band ? left : p.band) + side - 1;
    const In *const x = (const In *)p.m.x + at.plane * p.m.apart_x;
    size_t to = at.plane * p.m.apart_y + (size_t)(top - p.down) * p.m.ldy;
    In(*const row)[Shape::length] = rings[warp].row;
    if (first >= p.elements)
        return;
    wi_strip_loader<Shape> loader(p, x, first);
    loader.clear(row[0]);
    for (int t = 0; t < ahead; t++) {
        if (t < steps)
            loader.copy(top - side / 2 + t, row[t]);
        wi_async_commit();
    }
    wi_strip_sums<Shape> sum[side] = {};
    for (int t = 0; t < steps; t++) {
        wi_strip_window<Shape> window;
        wi_async_wait<ahead - 1>();
        loader.flush();
        __syncwarp();
        window.take(row[t % ahead]);
        __syncwarp();
        if (t + ahead < steps)
            loader.copy(top - side / 2 + t + ahead, row[t % ahead]);
        wi_async_commit();
        const wi_strip_sums<Shape> done = wi_strip_add(p, window, sum);
        if (t >= side - 1) {
            wi_strip_put(p, to, first, done);
            to += p.m.ldy;
        }
    }
}

/* How high bands are. Where memory is the limit, low ones: many blocks, of which some always load
 * while others compute. Where arithmetic is, as high as leave every multiprocessor the same number
 * of blocks, for the rows above a band are computed again. */
template <class Shape>
size_t wi_strip_band(size_t rows, size_t columns, size_t resident) {
    constexpr size_t low = Shape::side <= 5 ? 32 : 64, most = 384, least = 2 * Shape::side;
    constexpr bool is_memory_bound = Shape::side <= (Shape::is_fused ? 17 : 7);
    const size_t turn = resident > columns ? resident / columns : 1; /* bands at a time */
    size_t bands = wi_convolve_pieces(rows, low);
    if (!is_memory_bound)
        bands = wi_convolve_pieces(rows, most * turn) * turn;
    bands = bands < turn ? turn : bands;
    const size_t band = wi_convolve_pieces(rows, bands);
    return band < least ? least : band;
}

template <class Shape>
weft_status wi_strip_divide(weft_context *ctx, const wi_convolve_args *args,
                            wi_strip_params<Shape> *p) {
    size_t resident;
    const weft_status status =
        wi_resident_blocks(ctx, wi_strips<Shape>, Shape::threads, 0, &resident);
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
    wi_strip_put_weights(args, &p);
    weft_status status = wi_strip_divide(ctx, args, &p);
    const size_t blocks = p.strips * p.bands * args->images;
    if (status == WEFT_OK)
        status = wi_convolve_check_grid(ctx, blocks);
    if (status != WEFT_OK)
        return status;
    return WEFT_LAUNCH(wi_strips<Shape>, ctx, (unsigned)blocks, Shape::threads, 0, p);
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
