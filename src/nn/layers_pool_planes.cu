/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling of planes on a GPU by windows of 2 x 2, or of 3 x 3 with a padding of one pixel, two
 * apart, of which a row has half as many as pixels. A thread has 16 bytes of a row of x, or dx,
 * which belong to 8 bytes of y, and walks down some rows. Bits are those of layers_windows.cu. */
#include "nn/layers_walk.cuh"

constexpr int rows = 4;     /* of windows that a thread walks down */
constexpr int together = 2; /* of them, for which memory is read before one is made */

namespace {

struct plane_pooling {
    wi_layer_walk walk;
    int height, width, out_height, out_width;
    int edge; /* 1: windows at the edge are divided by the pixels that they have, else 0 */
};

/* Windows that a thread has side by side. */
template <class T>
constexpr int own = 8 / (int)sizeof(T);

/* Two rows of pixels for each window, and the pixels to their left; of those that are missing, what
 * does not count. */
template <class T>
struct pixel_row {
    wi_compute<T> left;
    wi_wide_pack<T, 2 * own<T>> pixel;
};

/* The same as they come from memory. */
template <class T>
struct stored_row {
    wi_pack<T, 2 * own<T>> pixel;
    T left;
};

/* Where a thread begins. */
template <class T>
struct plane_place {
    bool works, is_first, is_last; /* is it at the left edge, or at the right one? */
    int from, end;                 /* rows of windows */
    size_t x, y;                   /* elements to row 0 of its columns */

    __device__ plane_place(const plane_pooling &m, int lines) {
        const unsigned i = blockIdx.x * (unsigned)wi_layer_threads + threadIdx.x;
        works = i < m.walk.threads;
        const wi_layer_walk::place at = m.walk.of(works ? i : 0);
        const int q = at.column * own<T>; /* the first of its windows in a row */
        is_first = q == 0;
        is_last = 2 * (q + own<T>) >= m.width;
        from = at.group * rows;
        end = from + rows < lines ? from + rows : lines;
        x = at.image * m.walk.of_x + 2 * (unsigned)q;
        y = at.image * m.walk.of_y + (unsigned)q;
    }
};

} // namespace

/* 1 / n, of the numbers of pixels that a window has. */
static __device__ float inverse_of(int n) {
    const float few = n == 4 ? 1.0f / 4 : n == 3 ? 1.0f / 3 : 1.0f / 2;
    return n == 9 ? 1.0f / 9 : n == 6 ? 1.0f / 6 : few;
}

/* Is v / n what `quotient` makes of it? A zero's sign may be lost. */
static __device__ bool is_usual(float v) {
    const float size = fabsf(v);
    return v == 0 || (size >= 0x1p-100f && size < INFINITY);
}

/* v / n, rounded once: the product may be one off in its last bit, and what it leaves says so. */
static __device__ float quotient(float v, float n, float inverse) {
    const float about = v * inverse;
    return fmaf(fmaf(-about, n, v), inverse, about);
}

/* Divides neighbouring windows of row p, the first of which may be the first of the row, by the
 * pixels that they have. A division as it stands takes a long way around for zeros, which are what
 * most warps have at an edge, and what ReLU leaves. */
template <int K, int N, class C>
static __device__ void divide(const plane_pooling &m, int p, bool is_first, C (&v)[N]) {
    const int down = 3 - (p == 0 ? m.edge : 0) - (2 * p + 1 >= m.height ? m.edge : 0);
    const int of_others = K == 2 ? 4 : 3 * down;
    const int of_first = K == 2 ? 4 : is_first ? (3 - m.edge) * down : of_others;
    bool usual = K == 3 && sizeof(C) == sizeof(float);
    if constexpr (K == 3 && sizeof(C) == sizeof(float)) {
#pragma unroll
        for (int w = 0; w < N; w++)
            usual = usual && is_usual(v[w]);
        const float by_first = inverse_of(of_first), by_others = inverse_of(of_others);
#pragma unroll
        for (int w = 0; usual && w < N; w++)
            v[w] =
                quotient(v[w], (C)(w == 0 ? of_first : of_others), w == 0 ? by_first : by_others);
    }
#pragma unroll
    for (int w = 0; !usual && w < N; w++)
        v[w] = v[w] / (C)(w == 0 ? of_first : of_others);
}

/* Does v take the place of the best so far? The first of equal ones stays, and the first NaN. */
template <class T>
static __device__ bool is_better(T v, T best) {
    return v > best || (v != v && best == best);
}

/* ---- forward ---- */

/* Pixels that are missing are left out of a maximum as if they were the least number. */
template <class T, bool Max>
static __device__ T missing() {
    return (T)(Max ? (wi_compute<T>)-INFINITY : (wi_compute<T>)0);
}

/* Row `row` of x. */
template <class T, int K, bool Max>
static __device__ stored_row<T> read_row(const plane_pooling &m, const T *x, int row,
                                         bool is_first) {
    stored_row<T> s;
    s.left = missing<T, Max>();
#pragma unroll
    for (int v = 0; v < 2 * own<T>; v++)
        s.pixel.at[v] = missing<T, Max>();
    if (row >= 0 && row < m.height) {
        x += (size_t)row * (unsigned)m.width;
        s.pixel = *(const wi_pack<T, 2 * own<T>> *)x;
        if (K == 3 && !is_first)
            s.left = x[-1];
    }
    return s;
}

/* Adds what a row has of a window to it; `made` is new at its first row. */
template <class T, int K, bool Max>
static __device__ void add_row(const stored_row<T> &s, bool is_new, wi_wide_pack<T, own<T>> *made) {
#pragma unroll
    for (int w = 0; w < own<T>; w++)
#pragma unroll
        for (int c = 0; c < K; c++) {
            const int at = 2 * w + c - (K == 3 ? 1 : 0);
            const wi_compute<T> v = wi_load(at < 0 ? s.left : s.pixel.at[at < 0 ? 0 : at]);
            if constexpr (!Max)
                made->at[w] += v;
            else if ((is_new && c == 0) || is_better(v, made->at[w]))
                made->at[w] = v;
        }
}

template <class T, int K, bool Max>
static __global__ void __launch_bounds__(wi_layer_threads, 3)
    pool_planes(const __grid_constant__ plane_pooling m, const T *x, T *y) {
    const plane_place<T> at(m, m.out_height);
    if (!at.works)
        return;
    x += at.x;
    y += at.y + (size_t)at.from * (unsigned)m.out_width;
    stored_row<T> above = {};
    if constexpr (K == 3)
        above = read_row<T, K, Max>(m, x, 2 * at.from - 1, at.is_first);
    for (int p = at.from; p < at.end; p += together) {
        stored_row<T> row[2 * together];
#pragma unroll
        for (int k = 0; k < 2 * together; k++)
            row[k] = read_row<T, K, Max>(m, x, 2 * p + k, at.is_first);
#pragma unroll
        for (int k = 0; k < together; k++, y += m.out_width) {
            if (p + k >= at.end)
                break;
            wi_wide_pack<T, own<T>> made = {};
            if constexpr (K == 3)
                add_row<T, K, Max>(above, true, &made);
            add_row<T, K, Max>(row[2 * k], K == 2, &made);
            add_row<T, K, Max>(row[2 * k + 1], false, &made);
            above = row[2 * k + 1];
            if constexpr (!Max)
                divide<K>(m, p + k, at.is_first, made.at);
            wi_pack_store<T, own<T>>(y, made);
        }
    }
}

/* ---- gradients ---- */

namespace {

/* What a row of windows gives: those of a thread, and the one to their right. */
template <class T>
struct given_row {
    wi_compute<T> at[own<T> + 1];
};

} // namespace

/* What row p of the windows of a mean gives to each of its pixels. */
template <class T, int K>
static __device__ given_row<T> given_by(const plane_pooling &m, const plane_place<T> &at, int p,
                                        const wi_pack<T, own<T>> &dy, T right) {
    given_row<T> g;
#pragma unroll
    for (int w = 0; w <= own<T>; w++)
        g.at[w] = wi_load(w < own<T> ? dy.at[w < own<T> ? w : 0] : right);
    divide<K>(m, p, at.is_first, g.at);
    return g;
}

/* Row a of squares of 2 x 2 pixels, from the windows that lie there and those below. */
template <class T, int K>
static __device__ void write_squares(const given_row<T> &here, const given_row<T> &below, int a,
                                     T *dx) {
    wi_wide_pack<T, 2 * own<T>> made = {};
#pragma unroll
    for (int w = 0; w < own<T>; w++) {
        wi_compute<T> left = 0, right = 0;
        left += here.at[w];
        right += here.at[w];
        if constexpr (K == 3) {
            right += here.at[w + 1];
            if (a == 1) {
                left += below.at[w];
                right += below.at[w];
                right += below.at[w + 1];
            }
        }
        made.at[2 * w] = left;
        made.at[2 * w + 1] = right;
    }
    wi_pack_store<T, 2 * own<T>>(dx, made);
}

template <class T, int K>
static __global__ void __launch_bounds__(wi_layer_threads)
    mean_planes_back(const __grid_constant__ plane_pooling m, const T *dy, T *dx) {
    constexpr int before = K == 3 ? 1 : 0; /* windows below give to a row of squares, too */
    const plane_place<T> at(m, (m.height + 1) / 2);
    if (!at.works)
        return;
    const auto read = [&](int p, wi_pack<T, own<T>> *of, T *right) {
        *of = {};
        *right = (T)0;
        if (p >= m.out_height)
            return;
        const T *const first = dy + at.y + (size_t)p * (unsigned)m.out_width;
        *of = *(const wi_pack<T, own<T>> *)first;
        if (K == 3 && !at.is_last)
            *right = first[own<T>];
    };
    wi_pack<T, own<T>> of[rows + before];
    T right[rows + before];
#pragma unroll
    for (int k = 0; k < rows + before; k++)
        read(at.from + k, &of[k], &right[k]);
    given_row<T> below = given_by<T, K>(m, at, at.from, of[0], right[0]);
    dx += at.x + 2 * (size_t)at.from * (unsigned)m.width;
#pragma unroll
    for (int k = 0; k < rows; k++, dx += 2 * (size_t)m.width) {
        const int r = at.from + k;
        if (r >= at.end)
            return;
        const given_row<T> here = below;
        const int next = k + 1 < rows + before ? k + 1 : k;
        below = given_by<T, K>(m, at, r + 1, of[next], right[next]);
        write_squares<T, K>(here, below, 0, dx);
        if (2 * r + 1 < m.height)
            write_squares<T, K>(here, below, 1, dx + m.width);
    }
}

/* Of 2 x 2 pixels: the first largest gets what the window is given. */
template <class T>
static __device__ void give_largest(const stored_row<T> (&row)[2], const wi_pack<T, own<T>> &dy,
                                    wi_pack<T, 2 * own<T>> (&made)[2]) {
    using C = wi_compute<T>;
#pragma unroll
    for (int w = 0; w < own<T>; w++) {
        C best = wi_load(row[0].pixel.at[2 * w]);
        int place = 0;
#pragma unroll
        for (int k = 1; k < 4; k++) {
            const C v = wi_load(row[k / 2].pixel.at[2 * w + k % 2]);
            place = is_better(v, best) ? k : place;
            best = is_better(v, best) ? v : best;
        }
        const C given = wi_load(dy.at[w]);
#pragma unroll
        for (int k = 0; k < 4; k++)
            made[k / 2].at[2 * w + k % 2] = (T)((C)0 + (place == k ? given : (C)0));
    }
}

template <class T>
static __global__ void __launch_bounds__(wi_layer_threads)
    max_planes_back(const __grid_constant__ plane_pooling m, const T *x, const T *dy, T *dx) {
    const plane_place<T> at(m, (m.height + 1) / 2);
    if (!at.works)
        return;
    x += at.x;
    dx += at.x;
    dy += at.y;
    for (int p = at.from; p < at.end; p += together) {
        stored_row<T> row[together][2];
        wi_pack<T, own<T>> given[together] = {};
#pragma unroll
        for (int k = 0; k < together; k++) {
#pragma unroll
            for (int a = 0; a < 2; a++)
                row[k][a] = read_row<T, 2, true>(m, x, 2 * (p + k) + a, at.is_first);
            if (p + k < m.out_height)
                given[k] =
                    *(const wi_pack<T, own<T>> *)(dy + (size_t)(p + k) * (unsigned)m.out_width);
        }
#pragma unroll
        for (int k = 0; k < together; k++) {
            wi_pack<T, 2 * own<T>> made[2];
            give_largest<T>(row[k], given[k], made);
#pragma unroll
            for (int a = 0; a < 2; a++)
                if (p + k < at.end && 2 * (p + k) + a < m.height)
                    wi_pack_write<T, 2 * own<T>>(dx + (size_t)(2 * (p + k) + a) * (unsigned)m.width,
                                                 made[a]);
        }
    }
}

/* ---- launches ---- */

template <class T, int K>
static weft_status launch(weft_context *ctx, const wi_layer_args *a, const plane_pooling &m) {
    const unsigned blocks = (unsigned)wi_layer_pieces(m.walk.threads, wi_layer_threads);
    const T *const x = (const T *)a->array[0];
    T *const second = (T *)a->array[1];
    const bool max = a->sampling.kind == WEFT_POOL_MAX;
    if (a->layer == WI_LAYER_POOL)
        return max ? WEFT_LAUNCH((pool_planes<T, K, true>), ctx, blocks, wi_layer_threads, 0, m, x,
                                 second)
                   : WEFT_LAUNCH((pool_planes<T, K, false>), ctx, blocks, wi_layer_threads, 0, m, x,
                                 second);
    return max ? WEFT_LAUNCH((max_planes_back<T>), ctx, blocks, wi_layer_threads, 0, m, x,
                             (const T *)second, (T *)a->array[2])
               : WEFT_LAUNCH((mean_planes_back<T, K>), ctx, blocks, wi_layer_threads, 0, m,
                             (const T *)second, (T *)a->array[2]);
}

/* Are these windows ones that the kernels here know? */
static bool is_known(const wi_layer_args *a) {
    const wi_sampling &z = a->sampling;
    const bool back = a->layer == WI_LAYER_POOL_BACK, max = z.kind == WEFT_POOL_MAX;
    const int kernel = z.kernel_h, pad = kernel == 3 ? 1 : 0;
    bool known = a->in.layout == WEFT_NCHW && (kernel == 2 || (kernel == 3 && !(back && max))) &&
                 z.kernel_w == kernel && z.stride_h == 2 && z.stride_w == 2 && z.pad_h == pad &&
                 z.pad_w == pad && z.width == 2 * (long long)z.out_width;
    for (int k = 0; k < (back ? 3 : 2); k++)
        known = known && (wi_is_aligned(a->array[k]) || (back && !max && k == 0));
    return known;
}

bool wi_layers_pool_planes(weft_context *ctx, const wi_layer_args *a, weft_status *status) {
    const wi_sampling &z = a->sampling;
    const int each = 8 / (int)weft_type_size(a->type);
    const int lines = a->layer == WI_LAYER_POOL ? z.out_height : z.height / 2 + z.height % 2;
    plane_pooling m = {{},           z.height,    z.width,
                       z.out_height, z.out_width, z.kind == WEFT_POOL_AVERAGE};
    if (!is_known(a) || z.out_width % each != 0 || z.height > INT32_MAX / 4 ||
        !wi_layer_walk_make(&m.walk, a, (size_t)(z.out_width / each),
                            wi_layer_pieces((size_t)lines, rows), 1))
        return false;
    *status = wi_with_float_type(a->type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        return z.kernel_h == 2 ? launch<T, 2>(ctx, a, m) : launch<T, 3>(ctx, a, m);
    });
    return true;
}
