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

/* Filters of `side` x `side` over images of In with `channels` in a pixel, all with one filter. A
 * lane has `groups` of neighbouring elements, a warp's width of them apart, so that neighbouring
 * lanes access neighbouring addresses; `ahead` rows are on their way. */
template <class In_, int side_, int channels_, bool is_fused_, int groups_ = 1, int ahead_ = 8>
struct wi_strip_shape {
    using In = In_;
    static constexpr int side = side_, channels = channels_;
    static constexpr bool is_fused = is_fused_;
    static constexpr int groups = groups_, ahead = ahead_;
    static constexpr int across = sizeof(In) == 1 ? 8 : 4; /* elements of a group */
    static constexpr int group_width = wi_strip_lanes * across;
    static constexpr int reach = side / 2 * channels; /* elements on either side of one */
    static constexpr int chunk = wi_strip_chunk / (int)sizeof(In);
    static constexpr int margin = wi_strip_round_up(reach, chunk); /* of a row in the ring */
    static constexpr int width = group_width * groups;
    static constexpr int length = width + 2 * margin;
    static constexpr int beside = wi_strip_round_up(reach, across); /* read by a lane */
    static constexpr int weights = is_fused ? 2 * side : side * side;
    static constexpr int threads = wi_strip_lanes * wi_strip_warps;
    /* Registers of a lane, about, and how many blocks of a multiprocessor that leaves room for. */
    static constexpr int registers = ((side - 1) * across + across + 2 * reach) * groups + 36;
    static constexpr int blocks = registers <= 64    ? 8
                                  : registers <= 80  ? 6
                                  : registers <= 128 ? 4
                                  : registers <= 168 ? 3
                                                     : 2;
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

/* How a warp brings rows of its strip to its ring. Inside the image a row is whole chunks. Where a
 * strip reaches beyond the image, each lane has one of the elements that no whole chunk brings, if
 * there are no more than lanes: it finds out once what stands for it, so that such strips are as
 * fast as others. Rows that are not aligned come element by element. */
template <class Shape>
struct wi_strip_loader {
    using In = typename Shape::In;
    const wi_strip_params<Shape> &p;
    const In *x;     /* the image */
    int first;       /* element of a row where the strip begins */
    bool is_inside;  /* all chunks of the strip are */
    bool is_general; /* element by element */
    int from, to;    /* of this lane's element, in x and in the ring; `to` < 0: it has none */
    In late;         /* an element on its way that no asynchronous copy brings */
    In *late_to;

    __device__ wi_strip_loader(const wi_strip_params<Shape> &params, const In *image, int begin)
        : p(params), x(image), first(begin), from(-1), to(-1), late(0), late_to(nullptr) {
        is_inside = p.aligned_x && first >= Shape::margin &&
                    first + Shape::width + Shape::margin <= p.elements;
        is_general = !p.aligned_x;
        if (!is_inside && !is_general)
            find_element();
    }

    /* The element of x that stands for element e; -1: it is 0. */
    __device__ int stands_for(int e) const {
        const int pixel = (e + Shape::margin * Shape::channels) / Shape::channels -
                          Shape::margin; /* rounded down also where it is negative */
        const int there = wi_convolve_pixel(p.m.border, pixel, p.m.width);
        return there < 0 ? -1 : there * Shape::channels + (e - pixel * Shape::channels);
    }

    /* All lanes go the same way: warps stay together. */
    __device__ void find_element() {
        const int lane = (int)threadIdx.x % wi_strip_lanes;
        const int before = first == 0 ? Shape::reach : 0;
        const int begin = p.elements / Shape::chunk * Shape::chunk;
        const int strip_end = first + Shape::width + Shape::margin;
        const int end =
            p.elements + Shape::reach < strip_end ? p.elements + Shape::reach : strip_end;
        const int count = before + (end > begin ? end - begin : 0);
        const int e = lane < before ? lane - before : begin + lane - before;
        is_general = count > wi_strip_lanes;
        from = stands_for(e);
        to = lane < count ? e - first + Shape::margin : -1;
    }

    /* Nothing is left to chance in what lies beyond the image. */
    __device__ void clear(In *ring) const {
        if (!is_inside && !is_general)
            for (int k = (int)threadIdx.x % wi_strip_lanes; k < Shape::ahead * Shape::length;
                 k += wi_strip_lanes)
                ring[k] = 0;
        __syncwarp();
    }

    /* An element that was loaded a row ago goes to the ring; nobody waits for it. */
    __device__ void flush() {
        if (sizeof(In) < 4 && late_to) {
            *late_to = late;
            late_to = nullptr;
        }
    }

    __device__ void copy_elements(const In *line, bool is_there, In *ring) const {
#pragma unroll 1
        for (int at = (int)threadIdx.x % wi_strip_lanes; at < Shape::length; at += wi_strip_lanes) {
            const int source = is_there ? stands_for(first - Shape::margin + at) : -1;
            if constexpr (sizeof(In) == 4)
                wi_async_copy<4>(ring + at, source < 0 ? line : line + source, source >= 0);
            else
                ring[at] = source < 0 ? (In)0 : line[source];
        }
    }

    __device__ void copy_beyond(const In *line, In *ring) {
        if constexpr (sizeof(In) == 4) {
            if (to >= 0)
                wi_async_copy<4>(ring + to, from < 0 ? line : line + from, from >= 0);
        } else if (to >= 0) {
            late = from < 0 ? (In)0 : line[from];
            late_to = ring + to;
        }
    }

    /* The whole chunks of a row, of which a strip beyond the border lacks some. */
    template <bool is_whole>
    __device__ void copy_chunks(const In *line, bool there, In *ring) const {
        constexpr int copies = Shape::length / Shape::chunk;
        const int lane = (int)threadIdx.x % wi_strip_lanes;
#pragma unroll
        for (int k = 0; k < copies; k += wi_strip_lanes) {
            const int at = (k + lane) * Shape::chunk, e = first - Shape::margin + at;
            if ((k + wi_strip_lanes <= copies || lane < copies - k) &&
                (is_whole || !there || (e >= 0 && e + Shape::chunk <= p.elements)))
                wi_async_copy<wi_strip_chunk>(ring + at, there ? line + e : x, there);
        }
    }

    __device__ void copy_edge(int row, In *ring) {
        const int there = wi_convolve_pixel(p.m.border, row, p.m.height);
        const In *const line = x + (size_t)(there < 0 ? 0 : there) * p.m.ldx;
        flush();
        if (is_general) {
            copy_elements(line, there >= 0, ring);
            return;
        }
        copy_chunks<false>(line, there >= 0, ring);
        if (!is_inside && there >= 0)
            copy_beyond(line, ring);
    }

    /* A row of the strip, on its way to the ring. */
    __device__ void copy(int row, In *ring) {
        if (is_inside && row >= 0 && row < p.m.height)
            copy_chunks<true>(x + (size_t)row * p.m.ldx, true, ring);
        else
            copy_edge(row, ring);
    }
};

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
    return done;
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

/* A group of a lane's pixels, where they begin at element e of the output row `to`. */
template <class Shape, class Out>
__device__ inline void wi_strip_put_group(const wi_strip_params<Shape> &p, Out *to, int e,
                                          const float (&v)[Shape::across]) {
    if (p.aligned_y && e >= 0 && e + Shape::across <= p.out_elements) {
        wi_strip_write(p.m, to + e, v);
        return;
    }
#pragma unroll
    for (int k = 0; k < Shape::across; k++)
        if (e + k >= 0 && e + k < p.out_elements) {
            if constexpr (sizeof(Out) == 1)
                to[e + k] = (uint8_t)wi_convolve_whole(v[k], 255, p.m.truncates);
            else
                to[e + k] = v[k];
        }
}

/* A lane's pixels of the output row that begins at element `at`. */
template <class Shape>
__device__ inline void wi_strip_put(const wi_strip_params<Shape> &p, size_t at, int first,
                                    const wi_strip_sums<Shape> &sums) {
    const int e =
        first + (int)threadIdx.x % wi_strip_lanes * Shape::across - p.shift * Shape::channels;
#pragma unroll
    for (int g = 0; g < Shape::groups; g++) {
        if (sizeof(typename Shape::In) == 4 || p.m.out == WEFT_F32)
            wi_strip_put_group(p, (float *)p.m.y + at, e + g * Shape::group_width, sums.at[g]);
        else
            wi_strip_put_group(p, (uint8_t *)p.m.y + at, e + g * Shape::group_width, sums.at[g]);
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
    const int top = (int)at.down * p.band + p.shift; /* the row of x of the first output row */
    const int left = p.m.out_height - (int)at.down * p.band;
    const int steps = (left < p.band ? left : p.band) + side - 1;
    const In *const x = (const In *)p.m.x + at.plane * p.m.apart_x;
    size_t to = at.plane * p.m.apart_y + (size_t)(top - p.shift) * p.m.ldy;
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

/* By the kernel of the filter's side, which is one of these. */
template <class In, int channels, bool is_fused, int... sides>
weft_status wi_strip_choose(weft_context *ctx, const wi_convolve_args *args) {
    weft_status status = WEFT_EUNSUPPORTED;
    ((status = args->filter_width == (size_t)sides
                   ? wi_strip_run<wi_strip_shape<In, sides, channels, is_fused>>(ctx, args)
                   : status),
     ...);
    return status;
}

#endif
