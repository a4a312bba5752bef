/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of syrk that users get. */
#include "cuda/ahead.cuh"
#include "gemm/syrk.h"
#include "gemm/syrk_tile.cuh"

constexpr unsigned adder_threads = 256;

/* C of the triangle from the whole product, which lies without gaps. */
template <class T>
__global__ void __launch_bounds__(adder_threads)
    add_triangle(wi_gemm_params<T, T, T> g, const T *product, bool upper) {
    const size_t elements = g.n * g.n, stride = (size_t)gridDim.x * adder_threads;
    for (size_t e = (size_t)blockIdx.x * adder_threads + threadIdx.x; e < elements; e += stride) {
        const size_t i = e % g.n, j = e / g.n;
        if (upper ? i <= j : i >= j)
            wi_gemm_store(g, i, j, product[e]);
    }
}

template <class T>
static weft_status launch_adder(weft_context *ctx, const wi_gemm_args *g, const void *product,
                                bool upper) {
    const size_t blocks = wi_gemm_pieces(g->n * g->n, adder_threads);
    const size_t most = (size_t)ctx->gpu->multiprocessors * 8;
    return WEFT_LAUNCH(add_triangle<T>, ctx, (unsigned)(blocks < most ? blocks : most),
                       adder_threads, 0, (wi_gemm_typed<T, T, T>(g)), (const T *)product, upper);
}

/* All of C, of which one triangle counts. */
static wi_gemm_args whole(const wi_syrk_args *s) {
    wi_gemm_args g = wi_syrk_part(s, 0, s->n + s->below, 0, s->n);
    g.alpha = s->alpha;
    g.beta = s->beta;
    g.c = s->c;
    g.ldc = s->ldc;
    g.blocks_most = s->blocks_most;
    return g;
}

weft_status wi_syrk_product(weft_context *ctx, const void *args) {
    const wi_syrk_args *const s = (const wi_syrk_args *)args;
    const wi_gemm_args g = whole(s);
    wi_gemm_args both = g;
    void *product = NULL;
    weft_status status = wi_gpu_alloc(ctx, &product, s->n * s->n * weft_type_size(s->type));
    if (status != WEFT_OK)
        return status;
    both.alpha = 1;
    both.beta = 0;
    both.c = product;
    both.ldc = s->n;
    status = wi_pick(ctx, &wi_gemm_ladder, g.type, &both)->run(ctx, &both);
    if (status == WEFT_OK)
        status = g.type == WEFT_F64 ? launch_adder<double>(ctx, &g, product, s->upper)
                                    : launch_adder<float>(ctx, &g, product, s->upper);
    const weft_status freed = wi_gpu_free(ctx, product);
    return status == WEFT_OK ? freed : status;
}

static weft_status run_triangle(weft_context *ctx, const wi_gemm_args *g) {
    const bool is_upper = g->wanted == WI_UPPER;
    return g->type == WEFT_F64 ? wi_syrk_tiles_f64(ctx, g, is_upper)
                               : wi_syrk_tiles_f32(ctx, g, is_upper);
}

/* Runs the call with an A that is aligned. */
static weft_status run_aligned(weft_context *ctx, const wi_syrk_args *s, wi_gemm_work *run) {
    wi_gemm_args g = whole(s);
    const wi_gemm_lines lines =
        s->transposed ? wi_gemm_lines{s->n, s->k} : wi_gemm_lines{s->k, s->n + s->below};
    void *copy = NULL;
    weft_status status = WEFT_OK;
    g.wanted = s->upper ? WI_UPPER : WI_LOWER;
    if (s->k > 0)
        status = wi_gemm_align(ctx, lines, weft_type_size(s->type), &g.a, &g.lda, &copy);
    g.b = g.a;
    g.ldb = g.lda;
    if (status == WEFT_OK)
        status = run(ctx, &g);
    const weft_status freed = copy ? wi_gpu_free(ctx, copy) : WEFT_OK;
    return status == WEFT_OK ? freed : status;
}

weft_status wi_syrk_triangle(weft_context *ctx, const void *args) {
    return run_aligned(ctx, (const wi_syrk_args *)args, run_triangle);
}

#ifdef WEFT_RING
static weft_status run_ring(weft_context *ctx, const wi_gemm_args *g) {
    return g->k > 0 ? wi_gemm_ring(ctx, g) : run_triangle(ctx, g);
}

weft_status wi_syrk_ring(weft_context *ctx, const void *args) {
    return run_aligned(ctx, (const wi_syrk_args *)args, run_ring);
}

static weft_status run_parts(weft_context *ctx, const wi_gemm_args *g) {
    return g->k > 0 ? wi_gemm_parts_or(ctx, g, wi_is_forced(ctx, &wi_syrk_ladder), run_triangle)
                    : run_triangle(ctx, g);
}

weft_status wi_syrk_parts(weft_context *ctx, const void *args) {
    return run_aligned(ctx, (const wi_syrk_args *)args, run_parts);
}
#endif
