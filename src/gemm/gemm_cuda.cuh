/* SPDX-License-Identifier: Apache-2.0 */
/* A product as kernels take it. */
#ifndef WI_GEMM_CUDA_CUH
#define WI_GEMM_CUDA_CUH

#include "cuda/launch.cuh"
#include "cuda/memory.cuh"
#include "cuda/types.cuh"
#include "gemm/gemm.h"

/* C = alpha op(A) op(B) + beta C: elements of A and B are T, those of C are Out, and sums are Sum.
 */
template <class T, class Out, class Sum>
struct wi_gemm_params {
    size_t m, n, k;
    Sum alpha, beta;
    const T *a, *b;
    size_t lda, ldb;
    Out *c;
    float *c_f32; /* of 16-bit floats: C if it is f32, else NULL */
    size_t ldc;
    bool c_by_rows;
};

template <class T, class Out, class Sum>
wi_gemm_params<T, Out, Sum> wi_gemm_typed(const wi_gemm_args *g) {
    const bool is_f32 = g->out == WEFT_F32 && sizeof(Out) == 2;
    return {g->m,
            g->n,
            g->k,
            (Sum)g->alpha,
            (Sum)g->beta,
            (const T *)g->a,
            (const T *)g->b,
            g->lda,
            g->ldb,
            is_f32 ? NULL : (Out *)g->c,
            is_f32 ? (float *)g->c : NULL,
            g->ldc,
            g->c_by_rows};
}

/* Multiprocessors that blocks which stay may have, one each: others may be at work beside them. */
inline size_t wi_gemm_units(const weft_context *ctx, const wi_gemm_args *g) {
    const size_t all = (size_t)ctx->gpu->multiprocessors;
    return g->blocks_most > 0 && g->blocks_most < all ? g->blocks_most : all;
}

__device__ inline bool wi_gemm_holds(const wi_gemm_condition &when) {
    return !when.word || *when.word == when.value;
}

/* Is x not the sum of two or three smaller floats? Other ones but 0 have parts that are too small,
 * or may round to infinity. */
__device__ inline bool wi_gemm_has_no_parts(float x) {
    constexpr float least = 0x1p-100f, end = 0x1p127f;
    return x != 0 && !(fabsf(x) >= least && fabsf(x) < end);
}

/* Sums of i8 wrap. */
__device__ inline float wi_gemm_scaled(float x, float y) {
    return x * y;
}
__device__ inline double wi_gemm_scaled(double x, double y) {
    return x * y;
}
__device__ inline int32_t wi_gemm_scaled(int32_t x, int32_t y) {
    return (int32_t)((uint32_t)x * (uint32_t)y);
}

/* *c = alpha sum + beta *c; with beta = 0, *c is not read. */
template <class Out, class Sum>
__device__ inline void wi_gemm_update(Out *c, Sum alpha, Sum sum, Sum beta) {
    Sum x = wi_gemm_scaled(alpha, sum);
    if (beta != (Sum)0)
        x = wi_plus(x, wi_gemm_scaled(beta, (Sum)wi_load(*c)));
    *c = (Out)x;
}

/* The same of elements of C that lie together and are aligned. */
template <class Out, int count>
struct alignas(count * sizeof(Out)) wi_gemm_run {
    Out at[count];
};
/* alpha sum + beta old; with beta = 0, `old` is not used. */
template <class Out, class Sum, int count>
__device__ inline wi_gemm_run<Out, count> wi_gemm_updated(wi_gemm_run<Out, count> old, Sum alpha,
                                                          const wi_gemm_run<Sum, count> &sum,
                                                          Sum beta) {
#pragma unroll
    for (int q = 0; q < count; q++)
        wi_gemm_update(&old.at[q], alpha, sum.at[q], beta);
    return old;
}
template <class Out, class Sum, int count>
__device__ inline void wi_gemm_update_run(wi_gemm_run<Out, count> *c, Sum alpha,
                                          const wi_gemm_run<Sum, count> &sum, Sum beta) {
    *c = wi_gemm_updated(beta != (Sum)0 ? *c : wi_gemm_run<Out, count>{}, alpha, sum, beta);
}

/* Which of a run are wanted, and are there. */
struct wi_gemm_range {
    int first, end;
};
/* Of a run, `there` rows are left of C, and `to_diagonal` to the diagonal. */
template <int count>
__device__ inline wi_gemm_range wi_gemm_range_of(int there, int to_diagonal,
                                                 wi_gemm_wanted wanted) {
    wi_gemm_range in = {0, there < count ? there : count};
    if (wanted == WI_LOWER && to_diagonal > 0)
        in.first = to_diagonal;
    if (wanted == WI_UPPER && to_diagonal < in.end)
        in.end = to_diagonal + 1;
    return in;
}

/* The same of some elements, `down` apart, by one access if these are all and aligned: seldom
 * called, and short in code. */
template <class Out, class Sum, int count>
__device__ __attribute__((noinline)) void
wi_gemm_update_edge(Out *c, size_t down, wi_gemm_range in, bool aligned, Sum alpha,
                    wi_gemm_run<Sum, count> sum, Sum beta) {
    if (aligned && in.first == 0 && in.end == count) {
        wi_gemm_update_run((wi_gemm_run<Out, count> *)c, alpha, sum, beta);
        return;
    }
#pragma unroll
    for (int q = 0; q < count; q++)
        if (q >= in.first && q < in.end)
            wi_gemm_update(c + (size_t)q * down, alpha, sum.at[q], beta);
}

/* The element of C at a place from the sum of its products. */
template <class T, class Out, class Sum>
__device__ inline void wi_gemm_store_at(const wi_gemm_params<T, Out, Sum> &g, size_t at, Sum sum) {
    if constexpr (sizeof(Out) == 2)
        if (g.c_f32) {
            wi_gemm_update(g.c_f32 + at, g.alpha, sum, g.beta);
            return;
        }
    wi_gemm_update(g.c + at, g.alpha, sum, g.beta);
}
/* Element (i, j), of C by columns. */
template <class T, class Out, class Sum>
__device__ inline void wi_gemm_store(const wi_gemm_params<T, Out, Sum> &g, size_t i, size_t j,
                                     Sum sum) {
    wi_gemm_store_at(g, i + j * g.ldc, sum);
}
/* The same of C as it is stored. */
template <class T, class Out, class Sum>
__device__ inline void wi_gemm_store_either(const wi_gemm_params<T, Out, Sum> &g, size_t i,
                                            size_t j, Sum sum) {
    wi_gemm_store_at(g, g.c_by_rows ? i * g.ldc + j : i + j * g.ldc, sum);
}

/* The product of the transposes in the other order: C is then stored by rows. */
inline wi_gemm_args wi_gemm_turned(const wi_gemm_args *g) {
    wi_gemm_args turned = *g;
    turned.m = g->n;
    turned.n = g->m;
    turned.a = g->b;
    turned.b = g->a;
    turned.lda = g->ldb;
    turned.ldb = g->lda;
    turned.transposed_a = !g->transposed_b;
    turned.transposed_b = !g->transposed_a;
    turned.c_by_rows = true;
    return turned;
}

/* May C be sent as boxes? */
inline bool wi_gemm_may_send(const wi_gemm_args *g) {
    return g->beta == 0 && g->out == g->type && !g->c_by_rows && g->wanted == WI_ALL &&
           wi_is_aligned(g->c) && g->ldc * weft_type_size(g->out) % 16 == 0;
}
/* And be written by whole runs alone? */
inline bool wi_gemm_may_be_lean(const wi_gemm_args *g) {
    return wi_gemm_may_send(g) && g->m * weft_type_size(g->out) % 16 == 0;
}

/* A thread's multiply-adds of one k: rows go up in even columns and down in odd ones, so that the
 * next one always has an operand of the one before. A multiprocessor's part reads its registers
 * from two banks, one word of each lane a clock, which is two of the three operands; the third has
 * to be one that was read for the last. */
__host__ __device__ constexpr int wi_gemm_there_and_back(int i, int count, int line) {
    return line % 2 == 0 ? i : count - 1 - i;
}

/* Pieces of `size` that cover n. */
__host__ __device__ constexpr size_t wi_gemm_pieces(size_t n, size_t size) {
    return (n + size - 1) / size;
}

/* Neighbouring blocks share columns of A's tiles and rows of B's in the second-level cache: they go
 * down in bands of `band` columns of tiles. */
struct wi_gemm_place {
    size_t row, column;
};
__device__ inline wi_gemm_place wi_gemm_place_in(size_t block, size_t tiles_m, size_t tiles_n,
                                                 size_t band) {
    const size_t before = block / (band * tiles_m) * band;
    const size_t width = tiles_n - before < band ? tiles_n - before : band;
    const size_t within = block - before * tiles_m;
    return {within / width, before + within % width};
}
template <int columns>
__device__ inline wi_gemm_place wi_gemm_place_of(size_t block, size_t tiles_m, size_t tiles_n) {
    return wi_gemm_place_in(block, tiles_m, tiles_n, columns);
}

typedef weft_status wi_gemm_work(weft_context *ctx, const wi_gemm_args *g);

/* By parts of f32; or by `instead`, which asks g->when, if elements have none. Also if there is no
 * memory for them, unless the user wants this rung. k > 0. */
weft_status wi_gemm_parts_or(weft_context *ctx, const wi_gemm_args *g, bool is_forced,
                             wi_gemm_work *instead);

/* Lines of an operand as it is stored. */
struct wi_gemm_lines {
    size_t count, length;
};

/* A copy of lines of elements of `width` bytes to aligned ones. Leading dimensions are in elements.
 */
struct wi_gemm_copy {
    wi_gemm_lines of;
    size_t width;
    void *to;
    size_t to_ld;
    const void *from;
    size_t from_ld;
};
/* Makes one such copy, or two. */
weft_status wi_gemm_copy_lines(weft_context *ctx, const wi_gemm_copy *copies, int count);

/* Gives *p and *ld of a copy whose lines begin at multiples of 16 bytes, unless they do so already;
 * *copy, of which it says nothing then, is to be freed. */
weft_status wi_gemm_align(weft_context *ctx, wi_gemm_lines of, size_t width, const void **p,
                          size_t *ld, void **copy);

#endif
