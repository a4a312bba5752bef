/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling on a GPU with windows of 2 x 2 or 3 x 3 pixels, two apart. A thread walks down a column
 * of windows; in a gradient it makes squares of 2 x 2 pixels of dx, each of which gathers from the
 * two windows, at most, that it lies in in each direction. */
#include "nn/layers_walk.cuh"

#define WI_PIXELS_INLINE static __host__ __device__ inline
#include "nn/layers_pixels.h"

constexpr int stride = 2;
constexpr int rows = 4; /* of windows, or of squares, that a thread walks down */

/* Rows that are read before one is written. */
template <class Pack>
constexpr int together_of = sizeof(Pack) == sizeof(float) ? rows : rows / 2;

namespace {

struct pooling {
    wi_sampling z;
    wi_layer_walk walk;
    bool pairs; /* two neighbouring pixels of dx may be written at once */
};

} // namespace

/* Does v take the place of the best so far? The first of equal ones stays, and the first NaN. */
template <class T>
static __device__ bool is_better(T v, T best) {
    return v > best || (v != v && best == best);
}

static __device__ bool is_whole(const wi_window_at &at, int kernel) {
    return at.row_end - at.row == kernel && at.column_end - at.column == kernel;
}

template <class T, int V>
static __device__ wi_wide_pack<T, V> pixel_of(const T *x, size_t line, unsigned channels, int row,
                                              int column) {
    return wi_pack_load<T, V>(x + (size_t)row * line + (unsigned)column * channels);
}

/* Windows that lie apart have no padding here. */
template <int K>
static __device__ bool is_inside(const wi_window_at &at) {
    return K == stride || is_whole(at, K);
}

/* Calls f(pixel, place, is_first) for each pixel of a window that lies in x, in the order of rows.
 * The window's first row and column, which may lie outside, are row and column of x. All pixels are
 * read before f is called, at an edge too. */
template <class T, int V, int K, class F>
static __device__ void each_pixel(const T *x, size_t line, unsigned channels, int row, int column,
                                  const wi_window_at &at, F f) {
    x += (ptrdiff_t)row * (ptrdiff_t)line + (ptrdiff_t)column * (ptrdiff_t)channels;
    if (is_inside<K>(at)) {
#pragma unroll
        for (int k = 0; k < K * K; k++)
            f(pixel_of<T, V>(x, line, channels, k / K, k % K), k, k == 0);
        return;
    }
    const int up = at.row - row, left = at.column - column;
    const int down = at.row_end - row, right = at.column_end - column;
    wi_pack<T, V> pixel[K * K];
#pragma unroll
    for (int k = 0; k < K * K; k++)
        if (k / K >= up && k / K < down && k % K >= left && k % K < right)
            pixel[k] =
                *(const wi_pack<T, V> *)(x + (size_t)(k / K) * line + (unsigned)(k % K) * channels);
#pragma unroll
    for (int k = 0; k < K * K; k++)
        if (k / K >= up && k / K < down && k % K >= left && k % K < right)
            f(wi_pack_load<T, V>(pixel[k].at), k, k == up * K + left);
}

/* ---- forward ---- */

template <class T, int V, int K, bool Max>
static __device__ wi_wide_pack<T, V> pool_window(const wi_sampling &z, const T *x, size_t line,
                                                 unsigned channels, int row, int column,
                                                 const wi_window_at &at) {
    wi_wide_pack<T, V> made = {};
    each_pixel<T, V, K>(x, line, channels, row, column, at,
                        [&](const wi_wide_pack<T, V> &pixel, int, bool is_first) {
#pragma unroll
                            for (int v = 0; v < V; v++)
                                if constexpr (!Max)
                                    made.at[v] += pixel.at[v];
                                else if (is_first || is_better(pixel.at[v], made.at[v]))
                                    made.at[v] = pixel.at[v];
                        });
    if constexpr (!Max) {
        using C = wi_compute<T>;
        const C count = is_inside<K>(at) ? (C)(K * K) : (C)divisor_of(&z, &at);
#pragma unroll
        for (int v = 0; v < V; v++)
            made.at[v] = made.at[v] / count;
    }
    return made;
}

/* The windows of `count` rows from p on; all of them are read before one is written. */
template <class T, int V, int K, bool Max, int Count>
static __device__ void pool_rows(const wi_sampling &z, const T *x, T *y, size_t line_x,
                                 size_t line_y, unsigned channels, int p, int q) {
    const int row = p * stride - z.pad_h, column = q * stride - z.pad_w;
    const T *const first =
        x + (ptrdiff_t)row * (ptrdiff_t)line_x + (ptrdiff_t)column * (ptrdiff_t)channels;
    wi_wide_pack<T, V> made[Count];
#pragma unroll
    for (int k = 0; k < Count; k++) {
        const wi_window_at at = {k * stride, k * stride + K, 0, K};
        made[k] = pool_window<T, V, K, Max>(z, first, line_x, channels, k * stride, 0, at);
    }
#pragma unroll
    for (int k = 0; k < Count; k++)
        wi_pack_store<T, V>(y + (size_t)(p + k) * line_y, made[k]);
}

template <class T, int V, int K, bool Max>
static __global__ void __launch_bounds__(wi_layer_threads)
    pool_windows(const __grid_constant__ pooling m, const T *x, T *y) {
    constexpr int together = together_of<wi_wide_pack<T, V>>;
    const wi_sampling &z = m.z;
    const unsigned i = blockIdx.x * (unsigned)wi_layer_threads + threadIdx.x;
    if (i >= m.walk.threads)
        return;
    const wi_layer_walk::place at = m.walk.of(i);
    const unsigned channels = m.walk.channels;
    const size_t line_x = (size_t)z.width * channels, line_y = (size_t)z.out_width * channels;
    const int q = at.column, from = at.group * rows;
    const int end = from + rows < z.out_height ? from + rows : z.out_height;
    x += at.image * m.walk.of_x + at.channel * V;
    y += at.image * m.walk.of_y + (unsigned)q * channels + at.channel * V;
    const wi_window_at top = window_at(&z, from, q);
    const bool whole =
        is_whole(top, K) && end - from == rows && (end - 1) * stride - z.pad_h + K <= z.height;
    if (whole) {
#pragma unroll(1)
        for (int k = 0; k < rows; k += together)
            pool_rows<T, V, K, Max, together>(z, x, y, line_x, line_y, channels, from + k, q);
        return;
    }
    for (int p = from; p < end; p++) {
        const wi_wide_pack<T, V> made =
            pool_window<T, V, K, Max>(z, x, line_x, channels, p * stride - z.pad_h,
                                      q * stride - z.pad_w, window_at(&z, p, q));
        wi_pack_store<T, V>(y + (size_t)p * line_y, made);
    }
}

/* ---- gradient ---- */

namespace {

/* What a window gives: of a maximum to the pixel at `place` of it, else to all. */
template <class T, int V>
struct contribution {
    wi_wide_pack<T, V> given;
    int place[V];
};

/* The planes that a thread works on. */
template <class T>
struct planes {
    const T *x, *dy;
    T *dx;
    unsigned channels;
    size_t line_x, line_y;
};

} // namespace

template <class T, int V, int K, bool Max>
static __device__ contribution<T, V> contribution_of(const wi_sampling &z, const planes<T> &m,
                                                     int p, int q,
                                                     const wi_wide_pack<T, V> &given) {
    contribution<T, V> g = {};
    const wi_window_at at = window_at(&z, p, q);
    g.given = given;
    if constexpr (Max) {
        wi_wide_pack<T, V> best = {};
        each_pixel<T, V, K>(m.x, m.line_x, m.channels, p * stride - z.pad_h, q * stride - z.pad_w,
                            at, [&](const wi_wide_pack<T, V> &pixel, int place, bool is_first) {
#pragma unroll
                                for (int v = 0; v < V; v++)
                                    if (is_first || is_better(pixel.at[v], best.at[v])) {
                                        best.at[v] = pixel.at[v];
                                        g.place[v] = place;
                                    }
                            });
    } else {
        using C = wi_compute<T>;
        const C count = is_inside<K>(at) ? (C)(K * K) : (C)divisor_of(&z, &at);
#pragma unroll
        for (int v = 0; v < V; v++)
            g.given.at[v] = g.given.at[v] / count;
    }
    return g;
}

static __device__ bool is_window(const wi_sampling &z, int p, int q) {
    return p >= 0 && q >= 0 && p < z.out_height && q < z.out_width;
}

/* Windows (p, q - 1) and (p, q), as far as they exist: first dy, then what they give. */
template <class T, int V>
static __device__ void read_dy(const wi_sampling &z, const planes<T> &m, int p, int q,
                               wi_wide_pack<T, V> (&dy)[2]) {
#pragma unroll
    for (int l = 0; l < 2; l++) {
        dy[l] = {};
        if (is_window(z, p, q - 1 + l))
            dy[l] = pixel_of<T, V>(m.dy, m.line_y, m.channels, p, q - 1 + l);
    }
}
template <class T, int V, int K, bool Max>
static __device__ void find_gifts(const wi_sampling &z, const planes<T> &m, int p, int q,
                                  const wi_wide_pack<T, V> (&dy)[2],
                                  contribution<T, V> (&contributions)[2]) {
#pragma unroll
    for (int l = K == stride ? 1 : 0; l < 2; l++) {
        contributions[l] = {};
        if (is_window(z, p, q - 1 + l))
            contributions[l] = contribution_of<T, V, K, Max>(z, m, p, q - 1 + l, dy[l]);
    }
}

/* Pixel (a, b) of a square, from the windows above and below, left and right, of which it may lie
 * in each. With Odd, an odd padding, the first window begins one pixel before the square, else two.
 */
template <class T, int V, int K, bool Odd, bool Max>
static __device__ wi_wide_pack<T, V> gather(const contribution<T, V> (&contributions)[2][2], int a,
                                            int b) {
    constexpr int before = Odd ? 1 : 2;
    wi_wide_pack<T, V> sum = {};
#pragma unroll
    for (int k = 0; k < 2; k++)
#pragma unroll
        for (int l = 0; l < 2; l++) {
            const int row = a + before - stride * k, column = b + before - stride * l;
            if (row < 0 || row >= K || column < 0 || column >= K)
                continue;
#pragma unroll
            for (int v = 0; v < V; v++) {
                const contribution<T, V> &g = contributions[k][l];
                sum.at[v] += !Max || g.place[v] == row * K + column ? g.given.at[v] : 0;
            }
        }
    return sum;
}

template <class T, int V, int K, bool Odd, bool Max>
static __device__ void write_square(const wi_sampling &z, const planes<T> &m, bool pairs,
                                    const contribution<T, V> (&contributions)[2][2], int row,
                                    int column) {
#pragma unroll
    for (int a = 0; a < 2; a++) {
        if (row + a >= z.height)
            break;
        const wi_wide_pack<T, V> left = gather<T, V, K, Odd, Max>(contributions, a, 0);
        const wi_wide_pack<T, V> right = gather<T, V, K, Odd, Max>(contributions, a, 1);
        T *const to = m.dx + (size_t)(row + a) * m.line_x + (unsigned)column * m.channels;
        if (V == 1 && pairs) {
            wi_pack_store<T, 2>(to, {{left.at[0], right.at[0]}});
            continue;
        }
        wi_pack_store<T, V>(to, left);
        if (column + 1 < z.width)
            wi_pack_store<T, V>(to + m.channels, right);
    }
}

/* `count` squares that are windows, whose neighbours give them nothing: all are read before one is
 * written. */
template <class T, int V, bool Max, int Count>
static __device__ void write_apart(const wi_sampling &z, const planes<T> &m, bool pairs, int p,
                                   int q) {
    contribution<T, V> contributions[Count][2][2] = {};
#pragma unroll
    for (int k = 0; k < Count; k++)
        contributions[k][1][1] = contribution_of<T, V, stride, Max>(
            z, m, p + k, q, pixel_of<T, V>(m.dy, m.line_y, m.channels, p + k, q));
#pragma unroll
    for (int k = 0; k < Count; k++)
        write_square<T, V, stride, false, Max>(z, m, pairs, contributions[k], 2 * (p + k), 2 * q);
}

/* Squares `from` to `end` of a column. */
template <class T, int V, int K, bool Odd, bool Max>
static __device__ void write_squares(const wi_sampling &z, const planes<T> &m, bool pairs, int from,
                                     int end, int column) {
    constexpr int ahead = Max ? 1 : V == 1 ? rows : 2; /* whose dy is read before one is written */
    const int p = z.pad_h / 2 + (Odd ? 1 : 0), q = column + z.pad_w / 2 + (Odd ? 1 : 0);
    wi_wide_pack<T, V> dy[ahead][2];
    contribution<T, V> contributions[2][2] = {};
    if constexpr (K > stride) {
        read_dy<T, V>(z, m, from + p - 1, q, dy[0]);
        find_gifts<T, V, K, Max>(z, m, from + p - 1, q, dy[0], contributions[1]);
    }
    for (int square = from; square < end; square += ahead) {
#pragma unroll
        for (int k = 0; k < ahead; k++)
            read_dy<T, V>(z, m, square + k + p, q, dy[k]);
#pragma unroll
        for (int k = 0; k < ahead; k++) {
            if (square + k >= end)
                break;
            contributions[0][0] = contributions[1][0];
            contributions[0][1] = contributions[1][1];
            find_gifts<T, V, K, Max>(z, m, square + k + p, q, dy[k], contributions[1]);
            write_square<T, V, K, Odd, Max>(z, m, pairs, contributions, 2 * (square + k),
                                            2 * column);
        }
    }
}

template <class T, int V, int K, bool Odd, bool Max>
static __global__ void __launch_bounds__(wi_layer_threads)
    pool_windows_back(const __grid_constant__ pooling m, const T *x, const T *dy, T *dx) {
    constexpr int together = together_of<wi_wide_pack<T, V>>;
    const wi_sampling &z = m.z;
    const unsigned i = blockIdx.x * (unsigned)wi_layer_threads + threadIdx.x;
    if (i >= m.walk.threads)
        return;
    const wi_layer_walk::place at = m.walk.of(i);
    const unsigned channels = m.walk.channels;
    const size_t of_x = at.image * m.walk.of_x + at.channel * V;
    const planes<T> of = {Max ? x + of_x : nullptr,
                          dy + (at.image * m.walk.of_y + at.channel * V),
                          dx + of_x,
                          channels,
                          (size_t)z.width * channels,
                          (size_t)z.out_width * channels};
    const int from = at.group * rows, squares = (z.height + 1) / 2;
    const int end = from + rows < squares ? from + rows : squares;
    if (K == stride && from + rows <= z.out_height && at.column < z.out_width)
#pragma unroll
        for (int k = 0; k < rows; k += together)
            write_apart<T, V, Max, together>(z, of, m.pairs, from + k, at.column);
    else
        write_squares<T, V, K, Odd, Max>(z, of, m.pairs, from, end, at.column);
}

/* ---- launches ---- */

/* Channels of a thread that searches four windows for their largest, whose registers limit it. */
constexpr int most_searched = 4;
static constexpr bool is_search(int kernel, bool max) {
    return kernel > stride && max;
}

template <class T, int V, int K, bool Odd, bool Max>
static weft_status launch(weft_context *ctx, const wi_layer_args *a, const pooling &m) {
    const unsigned blocks = (unsigned)wi_layer_pieces(m.walk.threads, wi_layer_threads);
    const T *const first = (const T *)a->array[0];
    T *const second = (T *)a->array[1];
    constexpr int narrow = V > most_searched && is_search(K, Max) ? most_searched : V;
    if (a->layer == WI_LAYER_POOL_BACK)
        return WEFT_LAUNCH((pool_windows_back<T, narrow, K, Odd, Max>), ctx, blocks,
                           wi_layer_threads, 0, m, first, (const T *)second, (T *)a->array[2]);
    return WEFT_LAUNCH((pool_windows<T, V, K, Max>), ctx, blocks, wi_layer_threads, 0, m, first,
                       second);
}

template <class T, int V, int K, bool Odd>
static weft_status launch_kind(weft_context *ctx, const wi_layer_args *a, const pooling &m) {
    return m.z.kind == WEFT_POOL_MAX ? launch<T, V, K, Odd, true>(ctx, a, m)
                                     : launch<T, V, K, Odd, false>(ctx, a, m);
}

template <class T, int V>
static weft_status launch_windows(weft_context *ctx, const wi_layer_args *a, const pooling &m) {
    if (m.z.kernel_h == 2)
        return launch_kind<T, V, 2, false>(ctx, a, m);
    return m.z.pad_h % 2 ? launch_kind<T, V, 3, true>(ctx, a, m)
                         : launch_kind<T, V, 3, false>(ctx, a, m);
}

/* Are these windows ones that the kernels here know? */
static bool is_known(const wi_layer_args *a) {
    const wi_sampling &z = a->sampling;
    const int kernel = z.kernel_h;
    return (kernel == 2 || kernel == 3) && z.kernel_w == kernel && z.stride_h == stride &&
           z.stride_w == stride && (a->layer == WI_LAYER_POOL || z.pad_h % 2 == z.pad_w % 2) &&
           (kernel == 3 || (z.pad_h == 0 && z.pad_w == 0));
}

bool wi_layers_windows(weft_context *ctx, const wi_layer_args *a, weft_status *status) {
    if (wi_layers_pool_planes(ctx, a, status))
        return true;
    const wi_sampling &z = a->sampling;
    const bool back = a->layer == WI_LAYER_POOL_BACK;
    unsigned width = wi_layer_pack_of(a);
    if (back && width > most_searched && is_search(z.kernel_h, z.kind == WEFT_POOL_MAX))
        width = most_searched;
    const size_t columns = (size_t)(back ? (z.width + 1) / 2 : z.out_width);
    const size_t lines = (size_t)(back ? (z.height + 1) / 2 : z.out_height);
    pooling m = {};
    m.z = z;
    m.pairs = back && a->in.layout == WEFT_NCHW && z.width % 2 == 0 && wi_is_aligned(a->array[2]);
    if (!is_known(a) ||
        !wi_layer_walk_make(&m.walk, a, columns, wi_layer_pieces(lines, rows), width))
        return false;
    *status = wi_layer_with_packs(a->type, width > 1, [&](auto tag, auto pack) {
        return launch_windows<typename decltype(tag)::type, decltype(pack)::count>(ctx, a, m);
    });
    return true;
}
