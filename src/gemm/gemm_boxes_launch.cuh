/* SPDX-License-Identifier: Apache-2.0 */
/* How a product by boxes is launched: the matrices are described to the copy engine, and tiles of C
 * are dealt out to as many blocks as there are multiprocessors. All lines of A and B begin at
 * multiples of 16 bytes, k > 0, and sizes are below 2^31. */
#ifndef WI_GEMM_BOXES_LAUNCH_CUH
#define WI_GEMM_BOXES_LAUNCH_CUH

#include "gemm/gemm_boxes.cuh"

/* Steps of a slice: fewer do not repay the sums' way through memory. */
constexpr size_t wi_gemm_least_slice = 4;

struct wi_gemm_counts {
    size_t tiles, rest;   /* of C; those that are cut */
    size_t slices, steps; /* of k in each of those, and steps of a slice */
    size_t items;
};

template <class Shape>
wi_gemm_counts wi_gemm_count(const weft_context *ctx, const wi_gemm_args *g) {
    const size_t units = (size_t)ctx->gpu->multiprocessors;
    const size_t line = wi_box_line / sizeof(typename Shape::T), steps = wi_gemm_pieces(g->k, line);
    const size_t tiles = wi_gemm_pieces(g->m, Shape::tile_m) * wi_gemm_pieces(g->n, Shape::tile_n);
    const size_t rest = tiles % units, most = steps / wi_gemm_least_slice;
    size_t slices = rest ? units / rest : 1;
    slices = slices < most ? slices : most;
    if (slices < 2)
        return {tiles, 0, 1, steps, tiles};
    const size_t each = wi_gemm_pieces(steps, slices);
    slices = wi_gemm_pieces(steps, each);
    return {tiles, rest, slices, each, tiles - rest + rest * slices};
}

/* How long a product takes beside others: tiles in turn, times their size. */
template <class Shape>
double wi_gemm_cost(const weft_context *ctx, const wi_gemm_args *g) {
    const wi_gemm_counts n = wi_gemm_count<Shape>(ctx, g);
    const size_t units = (size_t)ctx->gpu->multiprocessors;
    const double turns = n.rest ? (double)((n.tiles - n.rest) / units) + 1 / (double)n.slices
                                : (double)wi_gemm_pieces(n.tiles, units);
    return turns * Shape::tile_m * Shape::tile_n;
}

/* The boxes of an operand with `extent` rows (or columns), in `parts` matrices without gaps. */
template <class Panel>
weft_status wi_gemm_describe(weft_context *ctx, weft_type type, const void *p, size_t ld,
                             size_t extent, size_t k, size_t parts, wi_boxes *boxes) {
    const size_t length = Panel::by_k ? k : extent, lines = Panel::by_k ? extent : k;
    const size_t pitch = ld * weft_type_size(type);
    const wi_box_source from = {type, p, length, lines, pitch, parts, lines * pitch};
    return wi_gpu_describe_boxes(ctx, &from, Panel::box_lines, boxes);
}

template <class Shape, bool a_by_k, bool b_by_k>
weft_status wi_gemm_launch_boxed(weft_context *ctx, const wi_gemm_args *args) {
    using Ring = wi_gemm_boxed_block<Shape, a_by_k, b_by_k>;
    using Sum = typename Shape::Sum;
    static const char ended_key = 0;
    const wi_gemm_counts n = wi_gemm_count<Shape>(ctx, args);
    const size_t units = (size_t)ctx->gpu->multiprocessors;
    const size_t cut_warps = n.rest * Shape::adders;
    wi_gemm_deal<Sum> deal = {n.tiles - n.rest, n.slices, n.steps * Ring::depth, NULL, NULL,
                              args->when};
    wi_boxes a, b;
    weft_status status = wi_gemm_describe<typename Ring::A>(ctx, args->type, args->a, args->lda,
                                                            args->m, args->k, Shape::parts, &a);
    if (status == WEFT_OK)
        status = wi_gemm_describe<typename Ring::B>(ctx, args->type, args->b, args->ldb, args->n,
                                                    args->k, Shape::parts, &b);
    if (status == WEFT_OK && n.rest > 0)
        status =
            wi_gpu_scratch(ctx, &ended_key, cut_warps * sizeof *deal.ended, (void **)&deal.ended);
    if (status == WEFT_OK && n.rest > 0)
        status = wi_gpu_alloc(ctx, (void **)&deal.partial,
                              cut_warps * n.slices * Ring::Adder::count * 32 * sizeof(Sum));
    if (status != WEFT_OK)
        return status;
    const auto g = wi_gemm_typed<typename Shape::T, typename Shape::Out, Sum>(args);
    status = WEFT_LAUNCH((wi_gemm_boxed<Shape, a_by_k, b_by_k>), ctx,
                         (unsigned)(n.items < units ? n.items : units), Ring::threads,
                         Ring::shared_bytes, a, b, g, deal);
    const weft_status freed = n.rest > 0 ? wi_gpu_free(ctx, deal.partial) : WEFT_OK;
    return status == WEFT_OK ? freed : status;
}

/* By where elements lie together: along m or k in A, along k or n in B. */
template <class Shape>
weft_status wi_gemm_boxed_by_layout(weft_context *ctx, const wi_gemm_args *g) {
    if (g->transposed_a)
        return g->transposed_b ? wi_gemm_launch_boxed<Shape, true, false>(ctx, g)
                               : wi_gemm_launch_boxed<Shape, true, true>(ctx, g);
    return g->transposed_b ? wi_gemm_launch_boxed<Shape, false, false>(ctx, g)
                           : wi_gemm_launch_boxed<Shape, false, true>(ctx, g);
}

template <class Large, class Small>
bool wi_gemm_prefers_large(const weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_cost<Large>(ctx, g) <= wi_gemm_cost<Small>(ctx, g);
}

#endif
