/* SPDX-License-Identifier: Apache-2.0 */
/* Up-sampling of planes to twice their height and width, on a GPU. A thread has 8 bytes of a row of
 * x, which belong to 16 bytes of two rows of y, and walks down some rows. Bits are those of
 * layers_resample.cu. */
#include "nn/layers_walk.cuh"

constexpr int double_rows = 8; /* of x, or dx, that a thread walks down */

namespace {

struct doubling {
    wi_layer_walk walk;
    int height, width;     /* of x */
    double part_h, part_w; /* 1 / (2 out_height), 1 / (2 out_width) */
};

/* Neighbouring elements of a row of x that a thread has. */
template <class T>
constexpr int own_squares = 8 / (int)sizeof(T);

/* How far a row of y, of an even number or an odd one, is from the first row of x that it lies
 * between to the second, but for the first row and the last. */
template <class C>
struct parts_between {
    C even, odd;
    __device__ parts_between(int extent, double inverse)
        : even((C)(3 * (unsigned)extent) * (C)inverse), odd((C)(unsigned)extent * (C)inverse) {}
};

/* What rows 2 i - 1 to 2 i + 2 of y have of row i. Where one is missing it counts as 0. */
template <class C>
struct shares_of {
    C of[4];
    shares_of() = default;
    __device__ shares_of(const parts_between<C> &part, int i, int extent) {
        of[0] = part.odd;
        of[1] = i == 0 ? 1 : part.even;
        of[2] = i == extent - 1 ? 1 : 1 - part.odd;
        of[3] = 1 - part.even;
    }
    __device__ C sum(C a, C b, C c, C d) const {
        C sum = 0;
        sum += of[0] * a;
        sum += of[1] * b;
        sum += of[2] * c;
        sum += of[3] * d;
        return sum;
    }
};

/* Elements of a row, and their neighbours. */
template <class T, int N>
struct stretch {
    wi_pack<T, N> middle;
    T left, right;
};

} // namespace

/* from has N elements; beside them there are others, or else there are copies of the outermost. */
template <class T, int N>
static __device__ stretch<T, N> read_stretch(const T *from, bool is_first, bool is_last) {
    stretch<T, N> s;
    s.middle = *(const wi_pack<T, N> *)from;
    s.left = is_first ? s.middle.at[0] : from[-1];
    s.right = is_last ? s.middle.at[N - 1] : from[N];
    return s;
}

/* ---- forward ---- */

template <class C>
static __device__ C between(C a, C b, C part) {
    return a + part * (b - a);
}

/* A row of x, between its columns. */
template <class T>
static __device__ wi_wide_pack<T, 2 * own_squares<T>>
across_row(const stretch<T, own_squares<T>> &s, bool is_first,
           const parts_between<wi_compute<T>> &part) {
    using C = wi_compute<T>;
    constexpr int n = own_squares<T>;
    wi_wide_pack<T, 2 * n> made;
#pragma unroll
    for (int k = 0; k < n; k++) {
        const C before = wi_load(k == 0 ? s.left : s.middle.at[k > 0 ? k - 1 : 0]);
        const C here = wi_load(s.middle.at[k]);
        const C after = wi_load(k == n - 1 ? s.right : s.middle.at[k < n - 1 ? k + 1 : k]);
        const bool edge = k == 0 && is_first;
        made.at[2 * k] =
            between(edge ? here : before, edge ? after : here, edge ? (C)0 : part.even);
        made.at[2 * k + 1] = between(here, after, part.odd);
    }
    return made;
}

/* Row p of y, between rows a and b of x. */
template <class T>
static __device__ void write_between(T *to, const wi_wide_pack<T, 2 * own_squares<T>> &a,
                                     const wi_wide_pack<T, 2 * own_squares<T>> &b,
                                     wi_compute<T> part) {
    wi_wide_pack<T, 2 * own_squares<T>> made;
#pragma unroll
    for (int v = 0; v < 2 * own_squares<T>; v++)
        made.at[v] = between(a.at[v], b.at[v], part);
    wi_pack_store<T, 2 * own_squares<T>>(to, made);
}

template <class T>
static __global__ void __launch_bounds__(wi_layer_threads)
    double_bilinear(const __grid_constant__ doubling m, const T *x, T *y) {
    using C = wi_compute<T>;
    constexpr int n = own_squares<T>, together = 4;
    const unsigned i = blockIdx.x * (unsigned)wi_layer_threads + threadIdx.x;
    if (i >= m.walk.threads)
        return;
    const wi_layer_walk::place at = m.walk.of(i);
    const size_t line_x = (size_t)m.width, line_y = 2 * line_x;
    const int from = at.group * double_rows,
              end = from + double_rows < m.height ? from + double_rows : m.height;
    const bool is_first = at.column == 0, is_last = (at.column + 1) * n == m.width;
    const parts_between<C> down(m.height, m.part_h), across(m.width, m.part_w);
    x += at.image * m.walk.of_x + (unsigned)at.column * n;
    y += at.image * m.walk.of_y + (size_t)from * 2 * line_y + (unsigned)at.column * (2 * n);
    const auto read = [&](int row) {
        const int inside = row < 0 ? 0 : row < m.height ? row : m.height - 1;
        return read_stretch<T, n>(x + (size_t)inside * line_x, is_first, is_last);
    };
    wi_wide_pack<T, 2 *n> above = across_row<T>(read(from - 1), is_first, across);
    wi_wide_pack<T, 2 *n> here = across_row<T>(read(from), is_first, across);
    for (int r = from; r < end; r += together) {
        stretch<T, n> next[together];
#pragma unroll
        for (int k = 0; k < together; k++)
            next[k] = read(r + k + 1);
#pragma unroll
        for (int k = 0; k < together; k++, y += 2 * line_y) {
            if (r + k >= end)
                break;
            const wi_wide_pack<T, 2 *n> below = across_row<T>(next[k], is_first, across);
            const bool edge = r + k == 0;
            write_between<T>(y, edge ? here : above, edge ? below : here, edge ? (C)0 : down.even);
            write_between<T>(y + line_y, here, below, down.odd);
            above = here;
            here = below;
        }
    }
}

template <class T>
static __global__ void __launch_bounds__(wi_layer_threads)
    double_nearest(const __grid_constant__ doubling m, const T *x, T *y) {
    constexpr int n = own_squares<T>, together = 4;
    const unsigned i = blockIdx.x * (unsigned)wi_layer_threads + threadIdx.x;
    if (i >= m.walk.threads)
        return;
    const wi_layer_walk::place at = m.walk.of(i);
    const size_t line_x = (size_t)m.width, line_y = 2 * line_x;
    const int from = at.group * double_rows,
              end = from + double_rows < m.height ? from + double_rows : m.height;
    x += at.image * m.walk.of_x + (size_t)from * line_x + (unsigned)at.column * n;
    y += at.image * m.walk.of_y + (size_t)from * 2 * line_y + (unsigned)at.column * (2 * n);
    for (int r = from; r < end; r += together, x += together * line_x) {
        wi_pack<T, n> row[together] = {};
#pragma unroll
        for (int k = 0; k < together; k++)
            if (r + k < end)
                row[k] = *(const wi_pack<T, n> *)(x + (size_t)k * line_x);
#pragma unroll
        for (int k = 0; k < together; k++, y += 2 * line_y) {
            if (r + k >= end)
                break;
            wi_pack<T, 2 * n> made;
#pragma unroll
            for (int v = 0; v < 2 * n; v++)
                made.at[v] = row[k].at[v / 2];
            wi_pack_write<T, 2 * n>(y, made);
            wi_pack_write<T, 2 * n>(y + line_y, made);
        }
    }
}

/* ---- gradient ---- */

/* What a row of dy gives to the columns of a thread. */
template <class T, bool Bilinear>
static __device__ wi_wide_pack<T, own_squares<T>>
sum_across(const stretch<T, 2 * own_squares<T>> &s,
           const shares_of<wi_compute<T>> (&share)[own_squares<T>]) {
    using C = wi_compute<T>;
    constexpr int n = own_squares<T>;
    wi_wide_pack<T, n> sum;
#pragma unroll
    for (int k = 0; k < n; k++) {
        const C a = wi_load(s.middle.at[2 * k]), b = wi_load(s.middle.at[2 * k + 1]);
        if constexpr (Bilinear) {
            const C before = wi_load(k == 0 ? s.left : s.middle.at[k > 0 ? 2 * k - 1 : 0]);
            const C after =
                wi_load(k == n - 1 ? s.right : s.middle.at[k < n - 1 ? 2 * k + 2 : 2 * k]);
            sum.at[k] = share[k].sum(before, a, b, after);
        } else {
            sum.at[k] = (C)0 + a + b;
        }
    }
    return sum;
}

template <class T, bool Bilinear>
static __global__ void __launch_bounds__(wi_layer_threads)
    double_back(const __grid_constant__ doubling m, const T *dy, T *dx) {
    using C = wi_compute<T>;
    constexpr int n = own_squares<T>, together = 2; /* rows of dx */
    const unsigned i = blockIdx.x * (unsigned)wi_layer_threads + threadIdx.x;
    if (i >= m.walk.threads)
        return;
    const wi_layer_walk::place at = m.walk.of(i);
    const size_t line_x = (size_t)m.width, line_y = 2 * line_x;
    const int from = at.group * double_rows,
              end = from + double_rows < m.height ? from + double_rows : m.height;
    const int column = at.column * n;
    const bool is_first = column == 0, is_last = column + n == m.width;
    const parts_between<C> down(m.height, m.part_h), across(m.width, m.part_w);
    shares_of<C> share[n] = {};
#pragma unroll
    for (int k = 0; k < n; k++)
        share[k] = shares_of<C>(across, column + k, m.width);
    dx += at.image * m.walk.of_x + (size_t)from * line_x + (unsigned)column;
    dy += at.image * m.walk.of_y + (unsigned)column * 2;
    const auto read = [&](int row) {
        stretch<T, 2 *n> s = {};
        if (row < 0 || row >= 2 * m.height)
            return s;
        const T *const first = dy + (size_t)row * line_y;
        s.middle = *(const wi_pack<T, 2 * n> *)first;
        if (Bilinear && !is_first)
            s.left = first[-1];
        if (Bilinear && !is_last)
            s.right = first[2 * n];
        return s;
    };
    constexpr int before = Bilinear ? 1 : 0; /* rows of dy that come before the two of a row */
    wi_wide_pack<T, n> sum[4] = {};          /* of rows 2 r - 1 to 2 r + 2 */
    if constexpr (Bilinear) {
        sum[0] = sum_across<T, Bilinear>(read(2 * from - 1), share);
        sum[1] = sum_across<T, Bilinear>(read(2 * from), share);
    }
    for (int r = from; r < end; r += together) {
        stretch<T, 2 * n> given[2 * together];
#pragma unroll
        for (int k = 0; k < 2 * together; k++)
            given[k] = read(2 * r + k + before);
#pragma unroll
        for (int k = 0; k < together; k++, dx += line_x) {
            if (r + k >= end)
                break;
            sum[2] = sum_across<T, Bilinear>(given[2 * k], share);
            sum[3] = sum_across<T, Bilinear>(given[2 * k + 1], share);
            const shares_of<C> of_row(down, r + k, m.height);
            wi_wide_pack<T, n> made;
#pragma unroll
            for (int v = 0; v < n; v++)
                made.at[v] =
                    Bilinear ? of_row.sum(sum[0].at[v], sum[1].at[v], sum[2].at[v], sum[3].at[v])
                             : (C)0 + sum[2].at[v] + sum[3].at[v];
            wi_pack_store<T, n>(dx, made);
            sum[0] = sum[2];
            sum[1] = sum[3];
        }
    }
}

/* ---- launches ---- */

/* To the nearest, by 16 bytes a row, only of elements of two bytes: a walk element by element
 * writes those of f32 faster. */
static bool is_known_double(const wi_layer_args *a) {
    return a->in.layout == WEFT_NCHW &&
           (a->layer != WI_LAYER_UPSAMPLE || a->sampling.kind != WEFT_NEAREST ||
            weft_type_size(a->type) == 2);
}

template <class T>
static weft_status launch_forward(weft_context *ctx, const wi_layer_args *a, const doubling &m,
                                  unsigned blocks) {
    const T *const x = (const T *)a->array[0];
    T *const y = (T *)a->array[1];
    if constexpr (sizeof(T) == 2)
        if (a->sampling.kind == WEFT_NEAREST)
            return WEFT_LAUNCH(double_nearest<T>, ctx, blocks, wi_layer_threads, 0, m, x, y);
    return WEFT_LAUNCH(double_bilinear<T>, ctx, blocks, wi_layer_threads, 0, m, x, y);
}

template <class T>
static weft_status launch_double(weft_context *ctx, const wi_layer_args *a, const doubling &m) {
    const unsigned blocks = (unsigned)wi_layer_pieces(m.walk.threads, wi_layer_threads);
    if (a->layer == WI_LAYER_UPSAMPLE)
        return launch_forward<T>(ctx, a, m, blocks);
    const T *const dy = (const T *)a->array[0];
    T *const dx = (T *)a->array[1];
    return a->sampling.kind == WEFT_NEAREST
               ? WEFT_LAUNCH((double_back<T, false>), ctx, blocks, wi_layer_threads, 0, m, dy, dx)
               : WEFT_LAUNCH((double_back<T, true>), ctx, blocks, wi_layer_threads, 0, m, dy, dx);
}

bool wi_layers_double(weft_context *ctx, const wi_layer_args *a, weft_status *status) {
    const wi_sampling &z = a->sampling;
    if (!is_known_double(a) || z.out_height / 2 != z.height || z.out_height % 2 != 0 ||
        z.out_width / 2 != z.width || z.out_width % 2 != 0 || z.height < 2 || z.width < 2 ||
        z.width > INT32_MAX / 8 || z.height > INT32_MAX / 8 || !wi_is_aligned(a->array[0]) ||
        !wi_is_aligned(a->array[1]))
        return false;
    const size_t each = 8 / weft_type_size(a->type);
    doubling m = {{}, z.height, z.width, z.part_h, z.part_w};
    if ((size_t)z.width % each != 0 ||
        !wi_layer_walk_make(&m.walk, a, (size_t)z.width / each,
                            wi_layer_pieces((size_t)z.height, double_rows), 1))
        return false;
    *status = wi_with_float_type(
        a->type, [&](auto tag) { return launch_double<typename decltype(tag)::type>(ctx, a, m); });
    return true;
}
