/* SPDX-License-Identifier: Apache-2.0 */
/* Products of few terms: their sums' way to C is nearly all there is to do. A block brings its rows
 * of A and columns of B to shared memory at once, however they lie; a thread has 16 bytes of rows
 * and eight columns. A C that is only written, and larger than the second-level cache, does not
 * stay there. */
#include "cuda/ahead.cuh"
#include "cuda/memory.cuh"
#include "cuda/types.cuh"
#include "gemm/gemm_cuda.cuh"

constexpr int threads = 256, high = 64,
              columns = 8; /* a block's threads down, a thread's columns */
constexpr int wide = threads / high * columns;

template <class T>
struct outer_params {
    wi_gemm_params<T, T, wi_compute<T>> g;
    bool transposed_a, transposed_b, streams;
    wi_gemm_condition when;
};

/* Terms of rows (or columns) from `first` on: the one of row i and term p goes to to[p][i]. */
template <class T, class Sum, int extent>
__device__ static void bring(Sum (*to)[extent], const T *from, size_t ld, bool by_k, size_t first,
                             size_t end, int terms) {
    for (int e = (int)threadIdx.x; e < extent * terms; e += threads) {
        const int i = by_k ? e / terms : e % extent, p = by_k ? e % terms : e / extent;
        const size_t at = first + (size_t)i;
        const size_t place = by_k ? at * ld + (size_t)p : at + (size_t)p * ld;
        to[p][i] = at < end ? (Sum)wi_load(from[place]) : (Sum)0;
    }
}

template <class Sum, int rows>
struct outer_sums {
    wi_gemm_run<Sum, rows> column[columns];

    template <int down, int across>
    __device__ void add_up(const Sum (*a)[down], const Sum (*b)[across], int row, int first,
                           int terms) {
#pragma unroll
        for (int u = 0; u < columns; u++)
            column[u] = {};
#pragma unroll 4
        for (int p = 0; p < terms; p++) {
            const auto x = *(const wi_gemm_run<Sum, rows> *)&a[p][row];
            const auto y = *(const wi_gemm_run<Sum, columns> *)&b[p][first];
#pragma unroll
            for (int u = 0; u < columns; u++)
#pragma unroll
                for (int r = 0; r < rows; r++)
                    column[u].at[r] = wi_fma(x.at[r], y.at[u], column[u].at[r]);
        }
    }

    /* Stores those of `left` rows and `wide_left` columns, C's element (0, 0) being at c. */
    template <bool streams, class Out>
    __device__ void store(Out *c, size_t ldc, size_t left, size_t wide_left, Sum alpha,
                          Sum beta) const {
        using run = wi_gemm_run<Out, rows>;
        using bits = std::conditional_t<sizeof(run) == 16, uint4, uint64_t>;
        const bool aligned = (uintptr_t)c % sizeof(run) == 0 && ldc % rows == 0;
        const int there = left < (size_t)rows ? (int)left : rows;
#pragma unroll
        for (int u = 0; u < columns; u++) {
            if ((size_t)u >= wide_left)
                return;
            Out *const to = c + (size_t)u * ldc;
            if (streams && aligned && there == rows)
                wi_store_once((bits *)to,
                              wi_bit_cast<bits>(wi_gemm_updated(run{}, alpha, column[u], (Sum)0)));
            else if (aligned && there == rows)
                wi_gemm_update_run((run *)to, alpha, column[u], beta);
            else
#pragma unroll
                for (int r = 0; r < rows; r++)
                    if (r < there)
                        wi_gemm_update(to + r, alpha, column[u].at[r], beta);
        }
    }
};

template <class T>
__global__ void __launch_bounds__(threads) multiply_outer(outer_params<T> x) {
    using Sum = wi_compute<T>;
    constexpr int rows = 16 / (int)sizeof(Sum), down = high * rows;
    WEFT_SHARED(Sum, a, [WI_GEMM_OUTER_TERMS][down]);
    WEFT_SHARED(Sum, b, [WI_GEMM_OUTER_TERMS][wide]);
    const auto &g = x.g;
    wi_wait_for_earlier();
    if (!wi_gemm_holds(x.when))
        return;
    const size_t tiles_m = wi_gemm_pieces(g.m, down);
    const size_t row = blockIdx.x % tiles_m * down, column = blockIdx.x / tiles_m * wide;
    const int terms = (int)g.k;
    bring<T, Sum, down>(a, g.a, g.lda, x.transposed_a, row, g.m, terms);
    bring<T, Sum, wide>(b, g.b, g.ldb, !x.transposed_b, column, g.n, terms);
    __syncthreads();
    const int my_row = (int)threadIdx.x % high * rows, first = (int)threadIdx.x / high * columns;
    const size_t i = row + (size_t)my_row, j = column + (size_t)first;
    if (i >= g.m || j >= g.n)
        return;
    outer_sums<Sum, rows> sums;
    sums.add_up(a, b, my_row, first, terms);
    const size_t at = i + j * g.ldc;
    if constexpr (sizeof(T) == 2)
        if (g.c_f32) {
            sums.template store<false>(g.c_f32 + at, g.ldc, g.m - i, g.n - j, g.alpha, g.beta);
            return;
        }
    if (x.streams)
        sums.template store<true>(g.c + at, g.ldc, g.m - i, g.n - j, g.alpha, g.beta);
    else
        sums.template store<false>(g.c + at, g.ldc, g.m - i, g.n - j, g.alpha, g.beta);
}

template <class T>
static weft_status launch(weft_context *ctx, const wi_gemm_args *g) {
    constexpr size_t down = high * 16 / sizeof(wi_compute<T>);
    const bool streams =
        g->beta == 0 && (double)(g->m * g->n * sizeof(T)) > (double)wi_machine_of(ctx)->cache_bytes;
    const outer_params<T> x = {wi_gemm_typed<T, T, wi_compute<T>>(g), g->transposed_a,
                               g->transposed_b, streams, g->when};
    const size_t tiles = wi_gemm_pieces(g->m, down) * wi_gemm_pieces(g->n, wide);
    return WEFT_LAUNCH_AHEAD((multiply_outer<T>), ctx, (unsigned)tiles, threads, 0, x);
}

weft_status wi_gemm_outer(weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = (const wi_gemm_args *)args;
    switch (g->type) {
    case WEFT_F64:
        return launch<double>(ctx, g);
    case WEFT_F32:
        return launch<float>(ctx, g);
    case WEFT_F16:
        return launch<__half>(ctx, g);
    default:
        return launch<__nv_bfloat16>(ctx, g);
    }
}
