/* SPDX-License-Identifier: Apache-2.0 */
/* The rung implicit for one type: what is packed first, the launches of a pass, and the sums of
 * slices. */
#ifndef WI_CONV_IMPLICIT_LAUNCH_CUH
#define WI_CONV_IMPLICIT_LAUNCH_CUH

#include "nn/conv_implicit.cuh"

constexpr int wi_conv_packing_side = 32, wi_conv_packing_lines = 8;
constexpr int wi_conv_finish_threads = 256;

/* The taps of a launch, and the weights that are multiplied by them. */
struct wi_conv_packing {
    int channels, rows, columns; /* taps: one for each channel, row and column of a window */
    bool planes;                 /* the column changes fastest; else the channel */
    int unit_h, unit_w;          /* pixels from a row or column of taps to the next */
    wi_image_steps image;        /* c, h and w of what is gathered */
    size_t first, group;         /* weights: of the first tap and row; from group to group */
    wi_image_steps weight;       /* n from row to row, c, h and w from tap to tap */
    int count;                   /* rows; 0: taps alone */
    int pitch, groups;
    bool along_taps; /* weights of one row lie side by side */
};

struct wi_conv_tap_at {
    int channel, row, column;
};

__device__ inline wi_conv_tap_at wi_conv_tap_of(const wi_conv_packing &p, int index) {
    if (p.planes) {
        const int window = p.rows * p.columns, rest = index % window;
        return {index / window, rest / p.columns, rest % p.columns};
    }
    const int pixel = index / p.channels;
    return {index % p.channels, pixel / p.columns, pixel % p.columns};
}

/* Turns tiles of weights, so that those of one tap lie side by side; the first blocks write taps.
 */
template <class T>
static __global__ void wi_conv_pack(const __grid_constant__ wi_conv_packing p, const T *f,
                                    T *packed, wi_conv_tap *taps) {
    constexpr int side = wi_conv_packing_side;
    WEFT_SHARED(T, tile, [wi_conv_packing_side][wi_conv_packing_side + 1]);
    const int all = p.channels * p.rows * p.columns;
    const int down = (all + side - 1) / side, across = (p.pitch + side - 1) / side;
    const int first_tap = (int)(blockIdx.x % (unsigned)down) * side;
    const int first_row = (int)(blockIdx.x / (unsigned)down % (unsigned)(across + !across)) * side;
    const size_t group = blockIdx.x / (unsigned)down / (unsigned)(across + !across);
    const int x = (int)threadIdx.x;
    for (int y = (int)threadIdx.y; y < side; y += wi_conv_packing_lines) {
        const int tap = first_tap + (p.along_taps ? x : y),
                  row = first_row + (p.along_taps ? y : x);
        T weight = 0;
        const wi_conv_tap_at at = wi_conv_tap_of(p, tap < all ? tap : 0);
        if (tap < all && row < p.count)
            weight = f[p.first + group * p.group + (size_t)row * p.weight.n +
                       (size_t)at.channel * p.weight.c + (size_t)at.row * p.weight.h +
                       (size_t)at.column * p.weight.w];
        tile[row - first_row][tap - first_tap] = weight;
    }
    __syncthreads();
    for (int y = (int)threadIdx.y; y < side; y += wi_conv_packing_lines)
        if (first_tap + y < all && first_row + x < p.pitch)
            packed[(group * (size_t)all + (size_t)(first_tap + y)) * (size_t)p.pitch +
                   (size_t)(first_row + x)] = tile[x][y];
    const int padded = (all + wi_conv_depth - 1) / wi_conv_depth * wi_conv_depth;
    if (group == 0 && first_row == 0 && threadIdx.y == 0 && first_tap + x < padded) {
        const wi_conv_tap_at at = wi_conv_tap_of(p, first_tap + x < all ? first_tap + x : 0);
        const int rows = at.row * p.unit_h, columns = at.column * p.unit_w;
        taps[first_tap + x] = {(int)((long long)at.channel * (long long)p.image.c +
                                     rows * (long long)p.image.h + columns * (long long)p.image.w),
                               (int)((unsigned)rows << 16 | (unsigned short)columns)};
    }
}

/* The sums of all slices, in their order. */
template <class T>
static __global__ void wi_conv_add_slices(const __grid_constant__ wi_conv_product_of<T> p,
                                          bool rows_first) {
    const size_t one = (size_t)p.rows * (size_t)p.columns, all = one * (size_t)p.groups;
    const size_t i = (size_t)blockIdx.x * wi_conv_finish_threads + threadIdx.x;
    if (i >= all)
        return;
    T sum = 0;
    for (int slice = 0; slice < p.slices; slice++)
        sum += p.partial[(size_t)slice * all + i];
    const size_t group = i / one;
    const unsigned rest = (unsigned)(i - group * one);
    const unsigned side = (unsigned)(rows_first ? p.rows : p.columns);
    const unsigned row = rows_first ? rest % side : rest / side;
    const unsigned column = rows_first ? rest / side : rest % side;
    p.to[group * p.to_group + row * p.to_steps.c + wi_conv_place(p, (int)column)] = sum;
}

/* ---- plans ---- */

/* One launch, with what is packed for it. */
template <class T>
struct wi_conv_launch {
    wi_conv_product_of<T> product;
    wi_conv_packing packing;
    bool high; /* tiles of twice the rows */
    bool of_weights, planes;
    size_t taps() const {
        return (size_t)packing.channels * (size_t)packing.rows * (size_t)packing.columns;
    }
    size_t packed_bytes() const {
        return wi_conv_pieces(taps() * (size_t)packing.pitch * (size_t)packing.groups * sizeof(T),
                              256) *
               256;
    }
    size_t tap_bytes() const {
        return wi_conv_pieces((taps() + wi_conv_depth) * sizeof(wi_conv_tap), 256) * 256;
    }
    size_t partial_bytes() const {
        return product.slices == 1 ? 0
                                   : (size_t)product.slices * (size_t)product.groups *
                                         (size_t)product.rows * (size_t)product.columns * sizeof(T);
    }
    size_t bytes() const {
        return packed_bytes() + tap_bytes() + partial_bytes();
    }
};

/* f32: 128 or 64 x 128 sums a block, 8 x 16 a thread; f64: 64 x 64, and 4 x 4. */
template <class T, bool High, bool Rows_first>
struct wi_conv_tile_choice {
    using type =
        wi_conv_tile<T, High ? 128 : 64, 128, Rows_first ? 4 : 2, Rows_first ? 2 : 4, Rows_first>;
};
template <bool High, bool Rows_first>
struct wi_conv_tile_choice<double, High, Rows_first> {
    using type = wi_conv_tile<double, 64, 64, 1, 1, Rows_first>;
};
template <class T, bool High, bool Rows_first>
using wi_conv_tile_for = typename wi_conv_tile_choice<T, High, Rows_first>::type;

/* Cuts the sums so that blocks fill the device: of the numbers of slices, the one whose last round
 * of blocks wastes least. A slice has at least 64 terms, and costs what 24 terms do. */
inline int wi_conv_slices(size_t blocks, size_t resident, int terms) {
    constexpr int least_terms = 64, a_slice = 24;
    const size_t most_by_blocks = 4 * resident / blocks + 1;
    const int most_by_terms = terms / least_terms;
    const int most = most_by_terms < (int)most_by_blocks ? most_by_terms : (int)most_by_blocks;
    int best = 1;
    double least = 0;
    for (int slices = 1; slices <= most; slices++) {
        const double rounds = (double)wi_conv_pieces(blocks * (size_t)slices, resident);
        const double time = rounds * (terms / (double)slices + (slices > 1 ? a_slice : 0));
        if (slices == 1 || time < 0.97 * least) {
            least = time;
            best = slices;
        }
    }
    return best;
}

template <class T>
inline void wi_conv_cut(const weft_context *ctx, wi_conv_launch<T> *l) {
    wi_conv_product_of<T> &p = l->product;
    l->high = sizeof(T) == 4 && p.rows % 128 != 0 && p.rows % 128 <= 64 ? false : sizeof(T) == 4;
    const int high = l->high ? 128 : 64, wide = sizeof(T) == 4 ? 128 : 64;
    p.row_tiles = (p.rows + high - 1) / high;
    p.column_tiles = (p.columns + wide - 1) / wide;
    const size_t blocks = (size_t)p.row_tiles * (size_t)p.column_tiles * (size_t)p.groups;
    const size_t on_each = sizeof(T) == 4 && !l->high ? 4 : 2;
    p.slices = wi_conv_slices(blocks, on_each * (size_t)ctx->gpu->multiprocessors, p.terms);
    const int each = (p.terms + p.slices - 1) / p.slices;
    p.slice_terms = (each + wi_conv_depth - 1) / wi_conv_depth * wi_conv_depth;
}

/* What all passes have alike. */
template <class T>
inline wi_conv_launch<T> wi_conv_begin(const wi_conv_args *a) {
    wi_conv_launch<T> l = {};
    l.planes = a->in.layout == WEFT_NCHW;
    l.packing.planes = l.planes;
    l.packing.groups = l.product.groups = (int)a->groups;
    return l;
}

/* Forward, and the gradient for weights, gather x for the pixels of y. */
template <class T>
inline wi_conv_launch<T> wi_conv_over_x(const wi_conv_args *a) {
    wi_conv_launch<T> l = wi_conv_begin<T>(a);
    const wi_image_steps x = wi_image_steps_of(&a->in), y = wi_image_steps_of(&a->out);
    const wi_image_steps f = wi_conv_filter_steps(a);
    const size_t channels = wi_conv_channels(a), filters = wi_conv_filters(a);
    l.packing.channels = (int)channels;
    l.packing.rows = (int)a->kernel_h;
    l.packing.columns = (int)a->kernel_w;
    l.packing.unit_h = (int)a->dilation_h;
    l.packing.unit_w = (int)a->dilation_w;
    l.packing.image = x;
    l.packing.group = filters * f.n;
    l.packing.weight = f;
    l.packing.along_taps = true;
    wi_conv_product_of<T> &p = l.product;
    p.grid = {(int)a->out.h,
              (int)a->out.w,
              (int)a->stride_h,
              (int)a->stride_w,
              -(int)a->pad_h,
              -(int)a->pad_w,
              x,
              (int)a->in.h,
              (int)a->in.w};
    p.gathered = (const T *)a->x;
    p.gathered_group = channels * x.c;
    p.rows = (int)filters;
    const int pixels = (int)(a->out.n * a->out.h * a->out.w), taps = (int)l.taps();
    if (a->pass == WI_CONV_WEIGHTS) {
        l.of_weights = true;
        p.columns = taps;
        p.terms = pixels;
        p.factor = (const T *)a->y;
        p.factor_group = filters * y.c;
        p.factor_steps = y;
        if (pixels == 0)
            p.grid.height = p.grid.width = 1; /* kernels divide by them */
        p.to = (T *)a->f;
        p.to_group = filters * f.n;
        p.to_steps = {0, f.n, 0, 1};
    } else {
        l.packing.count = (int)filters;
        l.packing.pitch = (int)(wi_conv_pieces(filters, 4) * 4);
        p.columns = pixels;
        p.terms = taps;
        p.to = (T *)a->y;
        p.to_group = filters * y.c;
        p.to_steps = y;
    }
    return l;
}

/* The gradient for the pixels of x at (down, across) and a stride on, and so on. */
template <class T>
inline wi_conv_launch<T> wi_conv_over_y(const wi_conv_args *a, size_t down, size_t across) {
    wi_conv_launch<T> l = wi_conv_begin<T>(a);
    const wi_image_steps x = wi_image_steps_of(&a->in), y = wi_image_steps_of(&a->out);
    const wi_image_steps f = wi_conv_filter_steps(a);
    const size_t channels = wi_conv_channels(a), filters = wi_conv_filters(a);
    const wi_conv_class h =
        wi_conv_class_of(down, a->in.h, a->stride_h, a->dilation_h, a->kernel_h, a->pad_h);
    const wi_conv_class w =
        wi_conv_class_of(across, a->in.w, a->stride_w, a->dilation_w, a->kernel_w, a->pad_w);
    l.packing.channels = (int)filters;
    l.packing.rows = h.weights;
    l.packing.columns = w.weights;
    l.packing.unit_h = -h.unit;
    l.packing.unit_w = -w.unit;
    l.packing.image = y;
    l.packing.first = (size_t)h.first_weight * f.h + (size_t)w.first_weight * f.w;
    l.packing.group = filters * f.n;
    l.packing.weight = {f.c, f.n, (size_t)h.weight_step * f.h, (size_t)w.weight_step * f.w};
    l.packing.count = (int)channels;
    l.packing.pitch = (int)(wi_conv_pieces(channels, 4) * 4);
    wi_conv_product_of<T> &p = l.product;
    p.grid = {h.pixels, w.pixels, 1, 1, h.first, w.first, y, (int)a->out.h, (int)a->out.w};
    p.gathered = (const T *)a->y;
    p.gathered_group = filters * y.c;
    p.rows = (int)channels;
    p.columns = (int)a->in.n * h.pixels * w.pixels;
    p.terms = (int)l.taps();
    p.to = (T *)a->x + down * x.h + across * x.w;
    p.to_group = channels * x.c;
    p.to_steps = {x.n, x.c, a->stride_h * x.h, a->stride_w * x.w};
    return l;
}

/* ---- launches ---- */

template <class T, bool High, bool Planes>
weft_status wi_conv_launch_pixels(weft_context *ctx, const wi_conv_product_of<T> &p,
                                  unsigned blocks) {
    using tile = wi_conv_tile_for<T, High, !Planes>;
    return WEFT_LAUNCH((wi_conv_pixels<tile, T, Planes>), ctx, blocks, tile::threads,
                       wi_conv_shared_bytes<tile>(sizeof(T), sizeof(wi_conv_pixel)), p);
}

template <class T, bool High>
weft_status wi_conv_launch_tile(weft_context *ctx, const wi_conv_launch<T> &l, unsigned blocks) {
    if (l.of_weights) {
        using tile = wi_conv_tile_for<T, High, false>;
        return WEFT_LAUNCH((wi_conv_taps<tile, T>), ctx, blocks, tile::threads,
                           wi_conv_shared_bytes<tile>(sizeof(T), sizeof(wi_conv_tap)), l.product);
    }
    return l.planes ? wi_conv_launch_pixels<T, High, true>(ctx, l.product, blocks)
                    : wi_conv_launch_pixels<T, High, false>(ctx, l.product, blocks);
}

template <class T>
weft_status wi_conv_launch_slices(weft_context *ctx, const wi_conv_launch<T> &l) {
    wi_conv_product_of<T> p = l.product;
    const size_t all = (size_t)p.groups * (size_t)p.rows * (size_t)p.columns;
    if (l.of_weights) {
        p.grid.height = 1;
        p.grid.width = p.columns;
    }
    return WEFT_LAUNCH(wi_conv_add_slices<T>, ctx,
                       (unsigned)wi_conv_pieces(all, wi_conv_finish_threads),
                       wi_conv_finish_threads, 0, p, !l.of_weights && !l.planes);
}

/* One product, in memory of l.bytes() bytes. */
template <class T>
weft_status wi_conv_launch_one(weft_context *ctx, const wi_conv_args *a, wi_conv_launch<T> l,
                               char *memory) {
    wi_conv_product_of<T> &p = l.product;
    T *const packed = (T *)memory;
    wi_conv_tap *const taps = (wi_conv_tap *)(memory + l.packed_bytes());
    p.partial = (T *)(memory + l.packed_bytes() + l.tap_bytes());
    p.taps = taps;
    if (!l.of_weights) {
        p.factor = packed;
        p.pitch = (size_t)l.packing.pitch;
        p.factor_group = l.taps() * p.pitch;
    }
    const size_t across = wi_conv_pieces((size_t)l.packing.pitch, wi_conv_packing_side);
    const size_t packs =
        wi_conv_pieces(l.taps(), wi_conv_packing_side) * (across ? across * a->groups : 1);
    const size_t blocks =
        (size_t)p.row_tiles * (size_t)p.column_tiles * (size_t)p.slices * (size_t)p.groups;
    weft_status status = wi_conv_check_grid(ctx, blocks > packs ? blocks : packs);
    if (status == WEFT_OK && packs)
        status = WEFT_LAUNCH(wi_conv_pack<T>, ctx, (unsigned)packs,
                             dim3(wi_conv_packing_side, wi_conv_packing_lines), 0, l.packing,
                             (const T *)a->f, packed, taps);
    if (status != WEFT_OK)
        return status;
    if constexpr (sizeof(T) == 4)
        status = l.high ? wi_conv_launch_tile<T, true>(ctx, l, (unsigned)blocks)
                        : wi_conv_launch_tile<T, false>(ctx, l, (unsigned)blocks);
    else
        status = wi_conv_launch_tile<T, false>(ctx, l, (unsigned)blocks);
    return status == WEFT_OK && p.slices > 1 ? wi_conv_launch_slices(ctx, l) : status;
}

/* Calls f(launch) for each launch of the pass, until one fails. */
template <class T, class F>
weft_status wi_conv_each_launch(const weft_context *ctx, const wi_conv_args *a, F f) {
    if (a->pass != WI_CONV_DATA) {
        wi_conv_launch<T> l = wi_conv_over_x<T>(a);
        wi_conv_cut(ctx, &l);
        return f(l);
    }
    weft_status status = WEFT_OK;
    for (size_t down = 0; down < a->stride_h && down < a->in.h; down++)
        for (size_t across = 0; across < a->stride_w && across < a->in.w; across++) {
            wi_conv_launch<T> l = wi_conv_over_y<T>(a, down, across);
            wi_conv_cut(ctx, &l);
            if (status == WEFT_OK)
                status = f(l);
        }
    return status;
}

template <class T>
weft_status wi_conv_run_implicit(weft_context *ctx, const wi_conv_args *a) {
    size_t bytes = 256;
    void *memory = NULL;
    weft_status status = wi_conv_each_launch<T>(ctx, a, [&](const wi_conv_launch<T> &l) {
        bytes = l.bytes() > bytes ? l.bytes() : bytes;
        return WEFT_OK;
    });
    if (status == WEFT_OK)
        status = wi_gpu_alloc(ctx, &memory, bytes);
    if (status != WEFT_OK)
        return status;
    status = wi_conv_each_launch<T>(ctx, a, [&](const wi_conv_launch<T> &l) {
        return wi_conv_launch_one(ctx, a, l, (char *)memory);
    });
    const weft_status freed = wi_gpu_free(ctx, memory);
    return status == WEFT_OK ? freed : status;
}

weft_status wi_conv_implicit_f32(weft_context *ctx, const wi_conv_args *args);
weft_status wi_conv_implicit_f64(weft_context *ctx, const wi_conv_args *args);

#endif
