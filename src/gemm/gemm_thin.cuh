/* SPDX-License-Identifier: Apache-2.0 */
/* Products with a thin C, of at most 64 rows or columns: the long factor is read once. So that
 * there are blocks for the whole device k is cut into slices, which gemm_batch_tile.cuh multiplies
 * as a batch; a second kernel adds up their products (split-k). In shared memory A lies by columns
 * and B along k, so the long factor becomes B if it lies along k in memory, and else A; if that
 * exchanges the two, C is computed as its transpose. */
#ifndef WI_GEMM_THIN_CUH
#define WI_GEMM_THIN_CUH

#include "cuda/limit.cuh"
#include "gemm/gemm_batch_tile.cuh"

WI_LIMIT(size_t, wi_gemm_thin_least_steps, 8)  /* of a slice */
WI_LIMIT(size_t, wi_gemm_thin_many_slices, 64) /* from here on threads share an element */

/* The products of all slices, one matrix after the other, each padded to whole tiles. */
template <class T>
struct wi_gemm_thin_partial {
    T *p;
    size_t ld, elements, slices; /* elements: of one slice's matrix */
};

/* C from the products of all slices. `groups` threads share an element of C: each adds up
 * consecutive slices in order, then the first adds up the threads' sums in order. */
template <class T, int threads, int groups>
__global__ void __launch_bounds__(threads)
    wi_gemm_thin_combine(wi_gemm_batch_params<T, T, T> x, wi_gemm_thin_partial<T> partial) {
    constexpr int across = threads / groups;
    WEFT_SHARED(T, sums, [groups][across]);
    const size_t elements = x.one.m * x.one.n;
    const int lane = (int)threadIdx.x % across, group = (int)threadIdx.x / across;
    const size_t each = wi_gemm_pieces(partial.slices, groups), first = each * (size_t)group;
    const size_t end = first + each < partial.slices ? first + each : partial.slices;
    for (size_t e = (size_t)blockIdx.x * across; e < elements; e += (size_t)gridDim.x * across) {
        const size_t mine = e + (size_t)lane;
        const size_t row = mine % x.one.m, column = mine / x.one.m;
        const T *const from = partial.p + row + column * partial.ld;
        T sum = 0;
        if (mine < elements)
#pragma unroll 8
            for (size_t s = first; s < end; s++)
                sum = wi_plus(sum, from[s * partial.elements]);
        sums[group][lane] = sum;
        __syncthreads();
        if (group == 0 && mine < elements) {
            for (int g = 1; g < groups; g++)
                sum = wi_plus(sum, sums[g][lane]);
            const size_t at = x.c_by_rows ? row * x.one.ldc + column : row + column * x.one.ldc;
            wi_gemm_update((T *)(uintptr_t)x.c.first + at, x.one.alpha, sum, x.one.beta);
        }
        __syncthreads();
    }
}

template <class T>
weft_status wi_gemm_thin_add(weft_context *ctx, const wi_gemm_batch_params<T, T, T> &x,
                             const wi_gemm_thin_partial<T> &partial) {
    constexpr int few_threads = 256, many_threads = 1024, many_groups = 32;
    const size_t elements = x.one.m * x.one.n, most = (size_t)ctx->gpu->multiprocessors * 32;
    const bool many = partial.slices >= wi_gemm_thin_many_slices;
    const size_t blocks = wi_gemm_pieces(elements, many ? many_threads / many_groups : few_threads);
    const unsigned grid = (unsigned)(blocks < most ? blocks : most);
    if (many)
        return WEFT_LAUNCH((wi_gemm_thin_combine<T, many_threads, many_groups>), ctx, grid,
                           many_threads, 0, x, partial);
    return WEFT_LAUNCH((wi_gemm_thin_combine<T, few_threads, 1>), ctx, grid, few_threads, 0, x,
                       partial);
}

/* wi_gemm_thin_add, compiled once for each type. */
weft_status wi_gemm_thin_add_slices(weft_context *ctx,
                                    const wi_gemm_batch_params<float, float, float> &x,
                                    const wi_gemm_thin_partial<float> &partial);
weft_status wi_gemm_thin_add_slices(weft_context *ctx,
                                    const wi_gemm_batch_params<double, double, double> &x,
                                    const wi_gemm_thin_partial<double> &partial);

/* A product as a batch of slices of k, of `depth` each; the last may be shorter. */
template <class T>
wi_gemm_batch_params<T, T, T> wi_gemm_thin_slices(const wi_gemm_batch_params<T, T, T> &x,
                                                  size_t depth,
                                                  const wi_gemm_thin_partial<T> &partial) {
    wi_gemm_batch_params<T, T, T> y = x;
    y.count = partial.slices;
    y.k_of_all = x.one.k;
    y.one.k = depth;
    y.one.alpha = 1;
    y.one.beta = 0;
    y.one.ldc = partial.ld;
    y.a.stride_bytes = (x.transposed_a ? depth : depth * x.one.lda) * sizeof(T);
    y.b.stride_bytes = (x.transposed_b ? depth * x.one.ldb : depth) * sizeof(T);
    y.c = {(const char *)partial.p, partial.elements * sizeof(T), NULL};
    y.c_by_rows = false;
    y.c_is_padded = true;
    return y;
}

/* With as many slices as fill the device once, of at least wi_gemm_thin_least_steps each. */
template <class Shape>
weft_status wi_gemm_thin_launch(
    weft_context *ctx,
    const wi_gemm_batch_params<typename Shape::T, typename Shape::T, typename Shape::T> &x) {
    using T = typename Shape::T;
    const size_t down = wi_gemm_pieces(x.one.m, Shape::tile_m);
    const size_t tiles = down * wi_gemm_pieces(x.one.n, Shape::tile_n);
    const size_t steps = wi_gemm_pieces(x.one.k, Shape::depth);
    size_t slices = wi_gemm_batch_room<Shape>(ctx) * Shape::each / tiles;
    if (slices > steps / wi_gemm_thin_least_steps)
        slices = steps / wi_gemm_thin_least_steps;
    if (slices < 2)
        return wi_gemm_batch_launch<Shape>(ctx, x);
    const size_t depth = wi_gemm_pieces(steps, slices) * Shape::depth;
    wi_gemm_thin_partial<T> partial = {NULL, down * Shape::tile_m,
                                       tiles * Shape::tile_m * Shape::tile_n,
                                       wi_gemm_pieces(x.one.k, depth)};
    weft_status status =
        wi_gpu_alloc(ctx, (void **)&partial.p, partial.slices * partial.elements * sizeof(T));
    if (status != WEFT_OK)
        return status;
    status = wi_gemm_batch_launch<Shape>(ctx, wi_gemm_thin_slices(x, depth, partial));
    if (status == WEFT_OK)
        status = wi_gemm_thin_add_slices(ctx, x, partial);
    const weft_status freed = wi_gpu_free(ctx, partial.p);
    return status == WEFT_OK ? freed : status;
}

/* The transposed product: A and B change places. */
template <class T>
wi_gemm_batch_params<T, T, T> wi_gemm_thin_swapped(const wi_gemm_batch_params<T, T, T> &x) {
    wi_gemm_batch_params<T, T, T> y = x;
    y.one.m = x.one.n;
    y.one.n = x.one.m;
    y.one.lda = x.one.ldb;
    y.one.ldb = x.one.lda;
    y.a = x.b;
    y.b = x.a;
    y.transposed_a = !x.transposed_b;
    y.transposed_b = !x.transposed_a;
    y.c_by_rows = true;
    return y;
}

/* A product, whose factors may have been exchanged, and the sides of C. */
template <class T>
struct wi_gemm_thin_product {
    wi_gemm_batch_params<T, T, T> x;
    bool along_k;        /* the long factor lies along k and is in B's place; else it is in A's */
    size_t thin, length; /* the short side of C, and the long one */
};

template <class T>
wi_gemm_thin_product<T> wi_gemm_thin_of(const wi_gemm_args *g) {
    wi_gemm_batch_args batch = {};
    batch.one = *g;
    batch.count = 1;
    batch.a.first = g->a;
    batch.b.first = g->b;
    batch.c.first = g->c;
    const wi_gemm_batch_params<T, T, T> x = wi_gemm_batch_typed<T, T, T>(&batch);
    const bool long_a = g->m > g->n, along_k = long_a ? g->transposed_a : !g->transposed_b;
    return {long_a == along_k ? wi_gemm_thin_swapped(x) : x, along_k, long_a ? g->n : g->m,
            long_a ? g->m : g->n};
}

/* Both sides at most 32: by the tiles of batches of such products, and compiled with them. */
weft_status wi_gemm_thin_square_f32(weft_context *ctx,
                                    const wi_gemm_batch_params<float, float, float> &x);
weft_status wi_gemm_thin_square_f64(weft_context *ctx,
                                    const wi_gemm_batch_params<double, double, double> &x);

/* f32 where wi_gemm_is_few: gemm_few.cuh. */
weft_status wi_gemm_few_f32(weft_context *ctx, const wi_gemm_args *g);

weft_status wi_gemm_thin_f32(weft_context *ctx, const wi_gemm_args *g);
weft_status wi_gemm_thin_f64(weft_context *ctx, const wi_gemm_args *g);

#endif
