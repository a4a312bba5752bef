/* SPDX-License-Identifier: Apache-2.0 */
/* Up-sampling on a GPU. A thread walks down a column of what it makes, and reads each row that it
 * needs once. */
#include "nn/layers_walk.cuh"

#define WI_PIXELS_INLINE static __host__ __device__ inline
#include "nn/layers_pixels.h"

constexpr int rows = 8;      /* that a thread walks down */
constexpr int batch = 4;     /* of them, for which x is read before one is written */
constexpr int most_taps = 4; /* columns of dy that a column of dx is made of */

namespace {

/* One direction of the images. */
struct direction {
    int extent, out;
    wi_nn_divisor twice_out, twice_extent;
    double inverse; /* 1 / (2 out) */
};

struct resampling {
    direction down, across;
    wi_layer_walk walk;
    bool batches; /* `batch` rows of y lie between at most so many rows of x */
};

} // namespace

/* As sample_at of layers_pixels.inc. */
template <class T, bool Bilinear>
static __device__ sample sample_of(const direction &d, int p, T *part) {
    const unsigned centre = (2 * (unsigned)p + 1) * (unsigned)d.extent, out = (unsigned)d.out;
    const unsigned at = !Bilinear ? centre : centre > out ? centre - out : 0;
    sample s;
    s.first = (int)d.twice_out.of(at);
    s.second = s.first;
    *part = 0;
    if (Bilinear && s.first + 1 < d.extent) {
        s.second = s.first + 1;
        *part = (T)(at - (unsigned)s.first * (2 * out)) * (T)d.inverse;
    }
    return s;
}

/* ceil(a / by), and no less than 0. */
static __device__ int ceiling_of(const wi_nn_divisor &by, int a) {
    return a > 0 ? (int)by.of((unsigned)a + by.by - 1) : 0;
}

/* The rows of y that take of this row of x. */
template <bool Bilinear>
static __device__ span takers_of(const direction &d, int row) {
    const int low = Bilinear ? 2 * row - 1 : 2 * row, high = Bilinear ? 2 * row + 3 : 2 * row + 2;
    span s;
    s.first = ceiling_of(d.twice_extent, d.out * low - d.extent);
    s.end = ceiling_of(d.twice_extent, d.out * high - d.extent);
    s.end = s.end < d.out ? s.end : d.out;
    return s;
}

/* How much of a sample is of this row. */
template <class T>
static __device__ T share_of(const sample &s, int row, T part) {
    return s.first == row ? 1 - part : s.second == row ? part : 0;
}

/* ---- forward ---- */

/* A row of x, between the two columns of a sample. */
template <bool Bilinear, class T, int V>
static __device__ wi_wide_pack<T, V> across_row(const T *row, unsigned left, unsigned right,
                                                wi_compute<T> part) {
    wi_wide_pack<T, V> a = wi_pack_load<T, V>(row + left);
    if constexpr (Bilinear) {
        const wi_wide_pack<T, V> b = wi_pack_load<T, V>(row + right);
#pragma unroll
        for (int v = 0; v < V; v++)
            a.at[v] = a.at[v] + part * (b.at[v] - a.at[v]);
    }
    return a;
}

/* Rows p to p + batch of y. */
template <class T, int V, bool Bilinear>
static __device__ void make_batch(const direction &d, int p, const T *x, size_t line_x,
                                  unsigned left, unsigned right, wi_compute<T> u, T *y,
                                  size_t line_y) {
    using C = wi_compute<T>;
    C part[batch];
    sample down[batch];
    wi_wide_pack<T, V> row[batch];
#pragma unroll
    for (int k = 0; k < batch; k++)
        down[k] = sample_of<C, Bilinear>(d, p + k, &part[k]);
#pragma unroll
    for (int k = 0; k < batch; k++) {
        const int next = down[0].first + k < d.extent ? down[0].first + k : d.extent - 1;
        row[k] = across_row<Bilinear, T, V>(x + (size_t)(Bilinear ? next : down[k].first) * line_x,
                                            left, right, u);
    }
#pragma unroll
    for (int k = 0; k < batch; k++) {
        wi_wide_pack<T, V> made = row[k];
        const int above = down[k].first - down[0].first, below = down[k].second - down[0].first;
#pragma unroll
        for (int v = 0; Bilinear && v < V; v++) {
            C a = row[0].at[v], b = a;
#pragma unroll
            for (int i = 1; i < batch; i++) {
                a = above == i ? row[i].at[v] : a;
                b = below == i ? row[i].at[v] : b;
            }
            made.at[v] = a + part[k] * (b - a);
        }
        wi_pack_store<T, V>(y + (size_t)k * line_y, made);
    }
}

template <class T, int V, bool Bilinear>
static __global__ void __launch_bounds__(wi_layer_threads)
    resample(const __grid_constant__ resampling r, const T *x, T *y) {
    const unsigned i = blockIdx.x * (unsigned)wi_layer_threads + threadIdx.x;
    if (i >= r.walk.threads)
        return;
    const wi_layer_walk::place at = r.walk.of(i);
    const unsigned channels = r.walk.channels;
    const size_t line_x = (size_t)r.across.extent * channels;
    const size_t line_y = (size_t)r.across.out * channels;
    using C = wi_compute<T>;
    C u;
    const sample across = sample_of<C, Bilinear>(r.across, at.column, &u);
    const unsigned left = (unsigned)across.first * channels;
    const unsigned right = (unsigned)across.second * channels;
    const int from = at.group * rows, end = from + rows < r.down.out ? from + rows : r.down.out;
    x += at.image * r.walk.of_x + at.channel * V;
    y += at.image * r.walk.of_y + (size_t)from * line_y + (unsigned)at.column * channels +
         at.channel * V;
    int p = from, held_first = -1, held_second = -1;
    if (r.batches)
        for (; p + batch <= end; p += batch, y += batch * line_y)
            make_batch<T, V, Bilinear>(r.down, p, x, line_x, left, right, u, y, line_y);
    wi_wide_pack<T, V> above = {}, below = {};
    for (; p < end; p++, y += line_y) {
        C v;
        const sample down = sample_of<C, Bilinear>(r.down, p, &v);
        if (down.first != held_first) {
            above =
                Bilinear && down.first == held_second
                    ? below
                    : across_row<Bilinear, T, V>(x + (size_t)down.first * line_x, left, right, u);
            held_first = down.first;
        }
        wi_wide_pack<T, V> made = above;
        if constexpr (Bilinear) {
            if (down.second != held_second) {
                below =
                    across_row<Bilinear, T, V>(x + (size_t)down.second * line_x, left, right, u);
                held_second = down.second;
            }
#pragma unroll
            for (int k = 0; k < V; k++)
                made.at[k] = above.at[k] + v * (below.at[k] - above.at[k]);
        }
        wi_pack_store<T, V>(y, made);
    }
}

/* ---- gradient ---- */

namespace {

/* The columns of dy that a column of dx is made of, and its share of each. */
template <class T>
struct taps {
    int count;
    T share[most_taps];
};

/* Rows of dx that are being summed: what has come for `row`, and for the one below. */
template <class T, int V>
struct row_sums {
    int row;
    wi_wide_pack<T, V> current, next;
};

} // namespace

template <class T, bool Bilinear>
static __device__ taps<T> taps_of(const direction &d, int column, int first, int end) {
    taps<T> t;
    t.count = end - first;
#pragma unroll
    for (int k = 0; k < most_taps; k++) {
        T part;
        const sample s = sample_of<T, Bilinear>(d, first + k < d.out ? first + k : 0, &part);
        t.share[k] = share_of(s, column, part);
    }
    return t;
}

template <class T, int V>
static __device__ wi_wide_pack<T, V> sum_across(const T *dy, unsigned channels,
                                                const taps<wi_compute<T>> &t) {
    wi_wide_pack<T, V> sum = {};
#pragma unroll
    for (int k = 0; k < most_taps; k++)
        if (k < t.count) {
            const wi_wide_pack<T, V> given = wi_pack_load<T, V>(dy + (unsigned)k * channels);
#pragma unroll
            for (int v = 0; v < V; v++)
                sum.at[v] += t.share[k] * given.at[v];
        }
    return sum;
}

/* Writes the rows before `row`, which nothing more comes for. */
template <class T, int V>
static __device__ void finish_before(row_sums<T, V> *s, int row, size_t line, T **dx) {
    for (; s->row < row; s->row++, *dx += line) {
        wi_pack_store<T, V>(*dx, s->current);
        s->current = s->next;
        s->next = {};
    }
}

template <class T, int V>
static __device__ void add_row(row_sums<T, V> *s, const sample &down, wi_compute<T> part,
                               const wi_wide_pack<T, V> &row) {
    const wi_compute<T> share = share_of(down, s->row, part);
    const bool of_next = down.second > s->row;
#pragma unroll
    for (int v = 0; v < V; v++) {
        s->current.at[v] += share * row.at[v];
        if (of_next)
            s->next.at[v] += part * row.at[v];
    }
}

template <class T, int V, bool Bilinear>
static __global__ void __launch_bounds__(wi_layer_threads)
    resample_back(const __grid_constant__ resampling r, const T *dy, T *dx) {
    constexpr int together = 2; /* rows of dy that are read at a time */
    const unsigned i = blockIdx.x * (unsigned)wi_layer_threads + threadIdx.x;
    if (i >= r.walk.threads)
        return;
    const wi_layer_walk::place at = r.walk.of(i);
    const unsigned channels = r.walk.channels;
    const size_t line_x = (size_t)r.across.extent * channels;
    const size_t line_y = (size_t)r.across.out * channels;
    const span over = takers_of<Bilinear>(r.across, at.column);
    using C = wi_compute<T>;
    const taps<C> t = taps_of<C, Bilinear>(r.across, at.column, over.first, over.end);
    const int from = at.group * rows;
    const int end = from + rows < r.down.extent ? from + rows : r.down.extent;
    const int first = takers_of<Bilinear>(r.down, from).first;
    const int last = takers_of<Bilinear>(r.down, end - 1).end;
    dx += at.image * r.walk.of_x + (size_t)from * line_x + (unsigned)at.column * channels +
          at.channel * V;
    dy += at.image * r.walk.of_y + (size_t)first * line_y + (unsigned)over.first * channels +
          at.channel * V;
    row_sums<T, V> s = {from, {}, {}};
    for (int p = first; p < last; p += together, dy += together * line_y) {
        wi_wide_pack<T, V> row[together] = {};
#pragma unroll
        for (int k = 0; k < together; k++)
            if (p + k < last)
                row[k] = sum_across<T, V>(dy + (size_t)k * line_y, channels, t);
#pragma unroll
        for (int k = 0; k < together; k++)
            if (p + k < last) {
                C part;
                const sample down = sample_of<C, Bilinear>(r.down, p + k, &part);
                finish_before(&s, down.first, line_x, &dx);
                add_row(&s, down, part, row[k]);
            }
    }
    finish_before(&s, end, line_x, &dx);
}

/* ---- launches ---- */

/* Do all products of a direction fit an int? */
static bool fits(size_t extent, size_t out) {
    return (2 * extent + 3) * (out + 1) + 2 * extent <= INT32_MAX;
}

template <class T, int V, bool Bilinear>
static weft_status launch(weft_context *ctx, const wi_layer_args *a, const resampling &r) {
    const unsigned blocks = (unsigned)wi_layer_pieces(r.walk.threads, wi_layer_threads);
    const T *const from = (const T *)a->array[0];
    T *const to = (T *)a->array[1];
    return a->layer == WI_LAYER_UPSAMPLE ? WEFT_LAUNCH((resample<T, V, Bilinear>), ctx, blocks,
                                                       wi_layer_threads, 0, r, from, to)
                                         : WEFT_LAUNCH((resample_back<T, V, Bilinear>), ctx, blocks,
                                                       wi_layer_threads, 0, r, from, to);
}

template <class T, int V>
static weft_status launch_kind(weft_context *ctx, const wi_layer_args *a, const resampling &r) {
    return a->sampling.kind == WEFT_NEAREST ? launch<T, V, false>(ctx, a, r)
                                            : launch<T, V, true>(ctx, a, r);
}

bool wi_layers_resample(weft_context *ctx, const wi_layer_args *a, weft_status *status) {
    if (wi_layers_double(ctx, a, status))
        return true;
    const wi_sampling &z = a->sampling;
    const bool back = a->layer == WI_LAYER_UPSAMPLE_BACK;
    const unsigned width = wi_layer_pack_of(a);
    const int most_ratio = z.kind == WEFT_NEAREST ? most_taps : most_taps / 2;
    const size_t height = (size_t)(back ? z.height : z.out_height);
    if (!fits((size_t)z.height, (size_t)z.out_height) ||
        !fits((size_t)z.width, (size_t)z.out_width) ||
        (back && z.out_width > (long long)most_ratio * z.width))
        return false;
    resampling r = {};
    r.down = {z.height, z.out_height, wi_nn_divisor(2 * (unsigned)z.out_height),
              wi_nn_divisor(2 * (unsigned)z.height), z.part_h};
    r.across = {z.width, z.out_width, wi_nn_divisor(2 * (unsigned)z.out_width),
                wi_nn_divisor(2 * (unsigned)z.width), z.part_w};
    r.batches = z.kind == WEFT_NEAREST || z.out_height >= 2 * z.height;
    if (!wi_layer_walk_make(&r.walk, a, (size_t)(back ? z.width : z.out_width),
                            wi_layer_pieces(height, rows), width))
        return false;
    *status = wi_layer_with_packs(a->type, width > 1, [&](auto tag, auto pack) {
        return launch_kind<typename decltype(tag)::type, decltype(pack)::count>(ctx, a, r);
    });
    return true;
}
