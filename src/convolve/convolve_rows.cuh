/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of rows and fused. A warp has a strip of the image, a few neighbouring pixels a
 * lane, and goes down it. Rows of x, a little wider than the strip, come to a ring in shared memory
 * of the warp's own, several rows ahead; no warp waits for another. A lane takes its pixels of a
 * row, and those beside them, into registers once, and adds their products to all the output rows
 * that they belong to: there are as many as the filter is high, and their sums move on by one place
 * with each row, which costs nothing where loops are unrolled. Weights are parameters of the
 * kernel: a multiply-add takes them from constant memory, without a load or a register.
 *
 * The sum of a pixel takes in whole rows from the top, each from the left: the order that all rungs
 * have. In fused, a row is filtered first, and its result is then the only product of a row. */
#ifndef WI_CONVOLVE_ROWS_CUH
#define WI_CONVOLVE_ROWS_CUH

#include "convolve/convolve_cuda.cuh"
#include "cuda/async.cuh"

constexpr int wi_strip_lanes = 32, wi_strip_warps = 4, wi_strip_chunk = 16; /* bytes of a copy */

__host__ __device__ constexpr int wi_strip_round_up(int n, int to) {
    return (n + to - 1) / to * to;
}

/* Filters of `side` x `side` over images of In with `channels` in a pixel, all with one filter. */
template <class In_, int side_, int channels_, bool is_fused_>
struct wi_strip_shape {
    using In = In_;
    static constexpr int side = side_, channels = channels_;
    static constexpr bool is_fused = is_fused_;
    static constexpr int across = sizeof(In) == 1 ? 8 : 4; /* elements of a lane */
    static constexpr int reach = side / 2 * channels;      /* elements on either side of one */
    static constexpr int chunk = wi_strip_chunk / (int)sizeof(In);
    static constexpr int margin = wi_strip_round_up(reach, chunk); /* of a row in the ring */
    static constexpr int width = wi_strip_lanes * across;
    static constexpr int length = width + 2 * margin;
    static constexpr int ahead = 8;                                 /* rows of the ring */
    static constexpr int beside = wi_strip_round_up(reach, across); /* read by a lane */
    static constexpr int weights = is_fused ? 2 * side : side * side;
    static constexpr int threads = wi_strip_lanes * wi_strip_warps;
};

template <class Shape>
struct wi_strip_params {
    wi_convolve_images m;
    size_t strips, bands;       /* groups of strips across, bands down */
    int band;                   /* rows of a band */
    int elements, out_elements; /* of a row of x and of y */
    int shift;                  /* columns and rows of pixels that y lacks on the left and above */
    bool aligned_x, aligned_y;
    float weight[Shape::weights]; /* fused: of the row, then of the column */
};

/* A lane's share of a row where it lies beyond the border in part, or is not aligned. */
template <class Shape>
__device__ inline void wi_strip_copy_edge(const wi_strip_params<Shape> &p,
                                          const typename Shape::In *line, bool is_there, int first,
                                          typename Shape::In *to) {
    using In = typename Shape::In;
#pragma unroll 1
    for (int at = (int)threadIdx.x % wi_strip_lanes; at < Shape::length; at += wi_strip_lanes) {
        const int e = first - Shape::margin + at;
        const int pixel = (e + Shape::margin * Shape::channels) / Shape::channels -
                          Shape::margin; /* rounded down also where it is negative */
        const int there = is_there ? wi_convolve_pixel(p.m.border, pixel, p.m.width) : -1;
        const int source = there * Shape::channels + (e - pixel * Shape::channels);
        if constexpr (sizeof(In) == 4)
            wi_async_copy<4>(to + at, there < 0 ? line : line + source, there < 0 ? 0 : 4);
        else
            to[at] = there < 0 ? (In)0 : line[source];
    }
}

/* A row of a warp's strip, on its way to the ring. */
template <class Shape>
__device__ inline void wi_strip_copy(const wi_strip_params<Shape> &p, const typename Shape::In *x,
                                     int first, bool is_inside, int row, typename Shape::In *to) {
    constexpr int copies = Shape::length / Shape::chunk;
    const int lane = (int)threadIdx.x % wi_strip_lanes;
    const int from = wi_convolve_pixel(p.m.border, row, p.m.height);
    const typename Shape::In *const line = x + (size_t)(from < 0 ? 0 : from) * p.m.ldx;
    if (!is_inside || from < 0) {
        wi_strip_copy_edge(p, line, from >= 0, first, to);
        return;
    }
#pragma unroll
    for (int k = 0; k < copies; k += wi_strip_lanes)
        if (k + wi_strip_lanes <= copies || lane < copies - k)
            wi_async_copy<wi_strip_chunk>(to + (k + lane) * Shape::chunk,
                                          line + first - Shape::margin + (k + lane) * Shape::chunk,
                                          wi_strip_chunk);
}

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

/* A lane's pixels and those beside them. */
template <class Shape>
__device__ inline void wi_strip_take(const typename Shape::In *row,
                                     float (&window)[Shape::across + 2 * Shape::reach]) {
    using Pack = wi_strip_pack<Shape>;
    constexpr int packs = 1 + 2 * Shape::beside / Shape::across;
    constexpr int skipped = Shape::beside - Shape::reach;
    const Pack *const from =
        (const Pack *)(row + Shape::margin - Shape::beside) + threadIdx.x % wi_strip_lanes;
#pragma unroll
    for (int k = 0; k < packs; k++) {
        const Pack pack = from[k];
#pragma unroll
        for (int v = 0; v < Shape::across; v++) {
            const int at = k * Shape::across + v - skipped;
            if (at >= 0 && at < Shape::across + 2 * Shape::reach)
                window[at] = wi_strip_number(pack.at[v]);
        }
    }
}

/* Adds a row's products to the sums of all rows that it belongs to; those of the first are complete
 * and go to `done`. */
template <class Shape>
__device__ inline void wi_strip_add(const wi_strip_params<Shape> &p,
                                    const float (&window)[Shape::across + 2 * Shape::reach],
                                    float (&sum)[Shape::side][Shape::across],
                                    float (&done)[Shape::across]) {
    constexpr int side = Shape::side, across = Shape::across;
    float filtered[across] = {};
    if constexpr (Shape::is_fused)
#pragma unroll
        for (int i = 0; i < side; i++)
#pragma unroll
            for (int v = 0; v < across; v++)
                filtered[v] = fmaf(p.weight[i], window[v + i * Shape::channels], filtered[v]);
#pragma unroll
    for (int j = side - 1; j >= 0; j--) {
        float moved[across];
#pragma unroll
        for (int v = 0; v < across; v++)
            moved[v] = j > 0 ? sum[j - 1 < 0 ? 0 : j - 1][v] : 0;
        if constexpr (Shape::is_fused) {
#pragma unroll
            for (int v = 0; v < across; v++)
                moved[v] = fmaf(p.weight[side + j], filtered[v], moved[v]);
        } else {
#pragma unroll
            for (int i = 0; i < side; i++)
#pragma unroll
                for (int v = 0; v < across; v++)
                    moved[v] =
                        fmaf(p.weight[j * side + i], window[v + i * Shape::channels], moved[v]);
        }
#pragma unroll
        for (int v = 0; v < across; v++)
            (j == side - 1 ? done[v] : sum[j][v]) = moved[v];
    }
}

/* Elements that a lane writes at once. */
template <class T, int count>
struct alignas(sizeof(T) * count < 16 ? sizeof(T) * count : 16) wi_strip_out {
    T at[count];
};

template <int count>
__device__ inline void wi_strip_write(const wi_convolve_images &m, float *to,
                                      const float (&v)[count]) {
    (void)m;
    wi_strip_out<float, count> out;
#pragma unroll
    for (int k = 0; k < count; k++)
        out.at[k] = v[k];
    *(wi_strip_out<float, count> *)to = out;
}
template <int count>
__device__ inline void wi_strip_write(const wi_convolve_images &m, uint8_t *to,
                                      const float (&v)[count]) {
    wi_strip_out<uint8_t, count> out;
#pragma unroll
    for (int k = 0; k < count; k++)
        out.at[k] = (uint8_t)wi_convolve_whole(v[k], 255, m.truncates);
    *(wi_strip_out<uint8_t, count> *)to = out;
}

/* A lane's pixels of an output row. */
template <class Shape>
__device__ inline void wi_strip_put(const wi_strip_params<Shape> &p, size_t image, int first,
                                    int row, const float (&v)[Shape::across]) {
    using In = typename Shape::In;
    const int e =
        first + (int)threadIdx.x % wi_strip_lanes * Shape::across - p.shift * Shape::channels;
    const size_t at = image + (size_t)row * p.m.ldy;
    if (p.aligned_y && e >= 0 && e + Shape::across <= p.out_elements) {
        if (p.m.out == WEFT_F32)
            wi_strip_write(p.m, (float *)p.m.y + at + e, v);
        else if constexpr (sizeof(In) == 1)
            wi_strip_write(p.m, (uint8_t *)p.m.y + at + e, v);
        return;
    }
#pragma unroll
    for (int k = 0; k < Shape::across; k++) {
        if (e + k < 0 || e + k >= p.out_elements)
            continue;
        if (p.m.out == WEFT_F32)
            ((float *)p.m.y)[at + e + k] = v[k];
        else if constexpr (sizeof(In) == 1)
            ((uint8_t *)p.m.y)[at + e + k] = (uint8_t)wi_convolve_whole(v[k], 255, p.m.truncates);
    }
}

/* A band of a strip of one image for each warp. */
template <class Shape>
static __global__ void __launch_bounds__(Shape::threads)
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
    const int top = (int)at.down * p.band + p.shift; /* the row of x of the first output row */
    const int left = p.m.out_height - (int)at.down * p.band;
    const int steps = (left < p.band ? left : p.band) + side - 1;
    const size_t out_image = at.plane * p.m.apart_y;
    const In *const x = (const In *)p.m.x + at.plane * p.m.apart_x;
    const bool is_inside =
        p.aligned_x && first >= Shape::margin && first + Shape::width + Shape::margin <= p.elements;
    In(*const row)[Shape::length] = rings[warp].row;
    if (first >= p.elements)
        return;
    for (int t = 0; t < ahead; t++) {
        if (t < steps)
            wi_strip_copy(p, x, first, is_inside, top - side / 2 + t, row[t]);
        wi_async_commit();
    }
    float sum[side][Shape::across] = {};
    for (int t = 0; t < steps; t++) {
        float window[Shape::across + 2 * Shape::reach], done[Shape::across];
        wi_async_wait<ahead - 1>();
        __syncwarp();
        wi_strip_take<Shape>(row[t % ahead], window);
        __syncwarp();
        if (t + ahead < steps)
            wi_strip_copy(p, x, first, is_inside, top - side / 2 + t + ahead, row[t % ahead]);
        wi_async_commit();
        wi_strip_add(p, window, sum, done);
        if (t >= side - 1)
            wi_strip_put(p, out_image, first, top - p.shift + t - (side - 1), done);
    }
}

/* Bands as high as leave every multiprocessor the same number of blocks, but not so low that the
 * rows above and below them, which are read again, count. */
template <class Shape>
weft_status wi_strip_divide(weft_context *ctx, const wi_convolve_args *args,
                            wi_strip_params<Shape> *p) {
    constexpr size_t most_rows = 384;
    size_t resident;
    const weft_status status =
        wi_resident_blocks(ctx, wi_strips<Shape>, Shape::threads, 0, &resident);
    p->strips = wi_convolve_pieces((size_t)p->elements, (size_t)Shape::width * wi_strip_warps);
    const size_t columns = p->strips * args->images;
    size_t bands = 1;
    for (size_t turns = 1; turns < 64; turns++) {
        bands = turns * resident / columns;
        bands = bands < 1 ? 1 : bands;
        if (bands * most_rows >= args->out_height)
            break;
    }
    const size_t least = 4 * (size_t)Shape::side;
    const size_t band = wi_convolve_pieces(args->out_height, bands);
    p->band = (int)(band < least ? least : band);
    p->bands = wi_convolve_pieces(args->out_height, (size_t)p->band);
    return status;
}

inline bool wi_strip_is_aligned(const void *p, size_t ld, size_t apart, size_t width) {
    return ((uintptr_t)p | ld * width | apart * width) % 16 == 0;
}

/* One filter for all. */
template <class Shape>
weft_status wi_strip_run(weft_context *ctx, const wi_convolve_args *args) {
    constexpr int side = Shape::side;
    wi_strip_params<Shape> p = {};
    p.m = wi_convolve_images_of(args);
    p.elements = (int)(args->width * args->channels);
    p.out_elements = (int)(args->out_width * args->channels);
    p.shift = args->border == WEFT_BORDER_VALID ? side / 2 : 0;
    p.aligned_x =
        wi_strip_is_aligned(args->x, args->ldx, args->apart_x, sizeof(typename Shape::In));
    p.aligned_y = p.shift == 0 &&
                  wi_strip_is_aligned(args->y, args->ldy, args->apart_y, weft_type_size(args->out));
    for (int k = 0; k < Shape::weights; k++)
        p.weight[k] = (float)(!Shape::is_fused ? args->filter[k]
                              : k < side       ? args->row[k]
                                               : args->column[k - side]);
    weft_status status = wi_strip_divide(ctx, args, &p);
    const size_t blocks = p.strips * p.bands * args->images;
    if (status == WEFT_OK)
        status = wi_convolve_check_grid(ctx, blocks);
    if (status != WEFT_OK)
        return status;
    return WEFT_LAUNCH(wi_strips<Shape>, ctx, (unsigned)blocks, Shape::threads, 0, p);
}

#endif
