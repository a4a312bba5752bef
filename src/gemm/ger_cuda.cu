/* SPDX-License-Identifier: Apache-2.0 */
/* ger on a GPU: A is read and written once, which is all there is to be fast at. */
#include "cuda/memory.cuh"
#include "gemm/ger_cuda.cuh"

constexpr int threads = 256;
constexpr int in_flight = 8; /* columns of a thread */

namespace {

/* `width` elements that are loaded and stored together. */
template <class T, int width>
struct alignas(sizeof(T) * width) pack {
    T at[width];
};

} // namespace

/* The end of a column: fewer rows than a thread has. */
template <class T>
static __device__ void add_rest(const wi_ger_update<T> &g, size_t row, size_t j) {
    const wi_compute<T> by = g.factor(j);
    for (size_t i = row; i < g.rows; i++)
        g.a[i + j * g.lda] = (T)wi_fma(g.x_at(i), by, wi_load(g.a[i + j * g.lda]));
}

/* `high` threads of a block go along the rows, `width` rows each; the others take other columns. */
template <class T, int width, int high>
static __global__ void __launch_bounds__(threads) vector(wi_ger_update<T> g) {
    using Sum = wi_compute<T>;
    constexpr int groups = threads / high;
    const size_t tiles = wi_gemm_pieces(g.rows, high * width);
    const size_t row = (blockIdx.x % tiles * high + threadIdx.x % high) * width;
    const size_t first = blockIdx.x / tiles * groups * in_flight + threadIdx.x / high;
    if (row >= g.rows)
        return;
    if (row + width > g.rows) {
        for (int u = 0; u < in_flight && first + u * groups < g.columns; u++)
            add_rest(g, row, first + u * groups);
        return;
    }
    Sum x[width];
#pragma unroll
    for (int e = 0; e < width; e++)
        x[e] = g.x_at(row + e);
    pack<T, width> v[in_flight];
    T *const a = g.a + row + first * g.lda;
#pragma unroll
    for (int u = 0; u < in_flight; u++)
        if (first + u * groups < g.columns)
            v[u] = *(const pack<T, width> *)(a + (size_t)(u * groups) * g.lda);
#pragma unroll
    for (int u = 0; u < in_flight; u++)
        if (first + u * groups < g.columns) {
            const Sum by = g.factor(first + u * groups);
#pragma unroll
            for (int e = 0; e < width; e++)
                v[u].at[e] = (T)wi_fma(x[e], by, (Sum)wi_load(v[u].at[e]));
            *(pack<T, width> *)(a + (size_t)(u * groups) * g.lda) = v[u];
        }
}

template <class T, int width, int high>
static weft_status launch(weft_context *ctx, const wi_ger_update<T> &g) {
    const size_t across = wi_gemm_pieces(g.columns, threads / high * in_flight);
    return WEFT_LAUNCH((vector<T, width, high>), ctx,
                       (unsigned)(wi_gemm_pieces(g.rows, high * width) * across), threads, 0, g);
}

/* Few threads along short columns, many along long ones. */
template <class T, int width>
static weft_status launch_by_height(weft_context *ctx, const wi_ger_update<T> &g) {
    return g.rows <= 32 * width ? launch<T, width, 8>(ctx, g) : launch<T, width, 64>(ctx, g);
}

weft_status wi_ger_vector(weft_context *ctx, const void *args) {
    const wi_ger_args *const g = (const wi_ger_args *)args;
    const bool aligned = wi_is_aligned(g->a) && g->lda * weft_type_size(g->type) % 16 == 0;
    const auto of_type = [=](auto tag) {
        using T = typename decltype(tag)::type;
        const wi_ger_update<T> u = wi_ger_typed<T>(g);
        return aligned ? launch_by_height<T, 16 / sizeof(T)>(ctx, u)
                       : launch_by_height<T, 1>(ctx, u);
    };
    switch (g->type) {
    case WEFT_F64:
        return of_type(wi_tag<double>{});
    case WEFT_F32:
        return of_type(wi_tag<float>{});
    case WEFT_F16:
        return of_type(wi_tag<__half>{});
    default:
        return of_type(wi_tag<__nv_bfloat16>{});
    }
}
