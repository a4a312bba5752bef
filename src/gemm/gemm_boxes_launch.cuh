/* SPDX-License-Identifier: Apache-2.0 */
/* How a product by boxes is launched: the matrices are described to the copy engine, and tiles of C
 * are dealt out to as many blocks as there are multiprocessors for them. All lines of A and B begin
 * at multiples of 16 bytes, k > 0, and sizes are at most 2^30. */
#ifndef WI_GEMM_BOXES_LAUNCH_CUH
#define WI_GEMM_BOXES_LAUNCH_CUH

#include "gemm/gemm_boxes.cuh"

/* Slices of a tile, at most: they are added up by one block. */
constexpr size_t wi_gemm_most_slices_of_tile = 64;

/* Who does what; `rest` is 0 where cutting tiles would not repay their sums' way through memory.
 * Shares are whole slices where blocks must meet in the second-level cache, side by side at the
 * same k, as memory would be too slow for each alone. */
template <class Shape>
wi_gemm_deal<typename Shape::Sum> wi_gemm_deal_out(const weft_context *ctx, const wi_gemm_args *g) {
    const size_t units = wi_gemm_units(ctx, g);
    const size_t line = wi_box_line / sizeof(typename Shape::T), steps = wi_gemm_pieces(g->k, line);
    const size_t tiles = g->wanted == WI_ALL ? wi_gemm_pieces(g->m, Shape::tile_m) *
                                                   wi_gemm_pieces(g->n, Shape::tile_n)
                                             : wi_gemm_triangle<Shape>(g->n, g->wanted).count();
    const size_t rest = tiles % units, room = rest ? units / rest : 1;
    const size_t slices = room < wi_gemm_most_slices_of_tile ? room : wi_gemm_most_slices_of_tile;
    const size_t least = wi_gemm_pieces(steps, wi_gemm_most_slices_of_tile);
    const size_t even = wi_gemm_pieces(rest * steps, units);
    size_t share = Shape::any_share ? even : wi_gemm_pieces(steps, slices);
    share = share > least ? share : least;
    if (rest == 0 || share + Shape::join_steps >= steps)
        return {tiles, 0, steps, steps, NULL, NULL, g->when, g->wanted};
    const size_t cut = Shape::any_share ? steps : wi_gemm_pieces(steps, share) * share;
    return {tiles - rest, rest, cut, share, NULL, NULL, g->when, g->wanted};
}

/* How long a product takes beside others: tiles in turn, times their size. */
template <class Shape>
double wi_gemm_cost(const weft_context *ctx, const wi_gemm_args *g) {
    const wi_gemm_deal<typename Shape::Sum> d = wi_gemm_deal_out<Shape>(ctx, g);
    const size_t units = wi_gemm_units(ctx, g);
    double turns = (double)wi_gemm_pieces(d.whole, units);
    if (d.rest > 0)
        turns += (double)(d.share + Shape::join_steps) / (double)d.steps;
    return turns * Shape::tile_m * Shape::tile_n;
}

/* The boxes of an operand with `extent` rows (or columns), in `parts` matrices without gaps. */
template <class Panel>
weft_status wi_gemm_describe_boxes(weft_context *ctx, weft_type type, const void *p, size_t ld,
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
    const size_t units = wi_gemm_units(ctx, args);
    wi_gemm_deal<Sum> deal = wi_gemm_deal_out<Shape>(ctx, args);
    const size_t shares = deal.shares(), items = deal.whole + shares;
    wi_boxes a, b;
    weft_status status = wi_gemm_describe_boxes<typename Ring::A>(
        ctx, args->type, args->a, args->lda, args->m, args->k, Shape::parts, &a);
    if (status == WEFT_OK)
        status = wi_gemm_describe_boxes<typename Ring::B>(ctx, args->type, args->b, args->ldb,
                                                          args->n, args->k, Shape::parts, &b);
    if (status == WEFT_OK && deal.rest > 0)
        status = wi_gpu_scratch(ctx, &ended_key, deal.rest * Shape::adders * sizeof *deal.ended,
                                (void **)&deal.ended);
    if (status == WEFT_OK && deal.rest > 0)
        status = wi_gpu_alloc(ctx, (void **)&deal.partial,
                              2 * shares * Shape::tile_m * Shape::tile_n * sizeof(Sum));
    if (status != WEFT_OK)
        return status;
    const auto g = wi_gemm_typed<typename Shape::T, typename Shape::Out, Sum>(args);
    status = WEFT_LAUNCH((wi_gemm_boxed<Shape, a_by_k, b_by_k>), ctx,
                         (unsigned)(items < units ? items : units), Ring::threads,
                         Ring::shared_bytes, a, b, g, deal);
    const weft_status freed = deal.rest > 0 ? wi_gpu_free(ctx, deal.partial) : WEFT_OK;
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

/* Small tiles bring more to shared memory for each product: they must be ahead by a tenth. */
template <class Large, class Small>
bool wi_gemm_prefers_large(const weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_cost<Large>(ctx, g) <= 1.1 * wi_gemm_cost<Small>(ctx, g);
}

#endif
