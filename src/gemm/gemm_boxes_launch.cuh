/* SPDX-License-Identifier: Apache-2.0 */
/* How a product by boxes is launched: the matrices are described to the copy engine, and tiles of C
 * are dealt out to as many blocks as there are multiprocessors for them. All lines of A and B begin
 * at multiples of 16 bytes, k > 0, and sizes are at most 2^30. */
#ifndef WI_GEMM_BOXES_LAUNCH_CUH
#define WI_GEMM_BOXES_LAUNCH_CUH

#include <type_traits>

#include "gemm/gemm_boxes.cuh"
#include "gemm/gemm_join.cuh"

/* The boxes of an operand with `extent` rows (or columns), in `parts` matrices without gaps.
 * Memory brings 256 bytes, for a box and the one that follows along the lines, only if that is read
 * next, as it is along k, and if lines begin at multiples of 256 bytes. */
inline weft_status wi_gemm_describe_boxes(weft_context *ctx, weft_type type, const void *p,
                                          size_t ld, size_t extent, size_t k, size_t parts,
                                          bool by_k, int box_lines, wi_boxes *boxes) {
    const size_t length = by_k ? k : extent, lines = by_k ? extent : k;
    const size_t pitch = ld * weft_type_size(type);
    const bool alone = !by_k || pitch % (2 * wi_box_line) != 0;
    const wi_box_source from = {type, p, length, lines, pitch, parts, lines * pitch, alone};
    return wi_gpu_describe_boxes(ctx, &from, (unsigned)box_lines, boxes);
}

/* The boxes of C: one has all columns of a tile. */
template <class Shape>
weft_status wi_gemm_describe_c(weft_context *ctx, const wi_gemm_args *g, wi_boxes *boxes) {
    const size_t pitch = g->ldc * weft_type_size(g->out);
    const wi_box_source to = {g->out, g->c, g->m, g->n, pitch, 1, g->n * pitch, true};
    return wi_gpu_describe_boxes(ctx, &to, Shape::tile_n, boxes);
}

/* Of the scratch memory where warps count slices: 0 before a product, and after it. */
inline const char wi_gemm_ended_key = 0;

/* Should the copier have what C was brought to the second-level cache when it begins with a tile?
 * It is as many tiles ahead as the ring has slots for; what all blocks bring must stay until it is
 * read. Where C goes through shared memory it is read in long lines, and that only takes longer. */
template <class Shape>
bool wi_gemm_fetches(const weft_context *ctx, const wi_gemm_args *g, size_t steps) {
    if constexpr (Shape::is_staged)
        return false;
    constexpr double stays = 0.7; /* of that cache */
    const size_t ahead = wi_gemm_pieces(Shape::slots, steps * Shape::parts);
    const size_t bytes = Shape::tile_m * Shape::tile_n * weft_type_size(g->out);
    return g->beta != 0 && (double)((1 + ahead) * bytes * wi_gemm_units(ctx, g)) <=
                               stays * (double)wi_machine_of(ctx)->cache_bytes;
}

/* A kernel of a shape, and what of it differs by how operands lie. */
template <class Shape>
struct wi_gemm_boxed_kernel {
    using Params = wi_gemm_params<typename Shape::T, typename Shape::Out, typename Shape::Sum>;
    using Deal = wi_gemm_deal<typename Shape::Sum>;
    using run = void (*)(wi_boxes, wi_boxes, Params, Deal);
    using run_and_send = void (*)(wi_boxes, wi_boxes, wi_boxes, Params, Deal);
    std::conditional_t<Shape::sends_c, run_and_send, run> boxed;
    bool a_by_k, b_by_k;
    int a_lines, b_lines; /* of a box */
    size_t shared_bytes;
};
template <class Shape, bool a_by_k, bool b_by_k>
inline auto wi_gemm_kernel_of() {
    if constexpr (Shape::sends_c)
        return wi_gemm_boxed_and_sent<Shape, a_by_k, b_by_k>;
    else if constexpr (Shape::is_pair)
        return wi_gemm_boxed_pair<Shape, a_by_k, b_by_k>;
    else
        return wi_gemm_boxed<Shape, a_by_k, b_by_k>;
}

template <class Shape>
weft_status wi_gemm_launch_kernel(weft_context *ctx, const wi_gemm_args *args,
                                  const wi_gemm_boxed_kernel<Shape> &kernel) {
    using Sum = typename Shape::Sum;
    constexpr int threads = 32 * Shape::warps;
    constexpr size_t of_unit = wi_gemm_blocks_of<Shape>;
    const size_t units = wi_gemm_units(ctx, args) / of_unit;
    const wi_gemm_plan<Sum> plan = wi_gemm_plan_for<Shape>(ctx, args);
    wi_gemm_deal<Sum> deal = plan.deal;
    deal.fetches = wi_gemm_fetches<Shape>(ctx, args, deal.steps);
    const size_t shares = deal.shares(), items = deal.whole + shares;
    wi_boxes a, b;
    weft_status status =
        wi_gemm_describe_boxes(ctx, args->type, args->a, args->lda, args->m, args->k, Shape::parts,
                               kernel.a_by_k, kernel.a_lines, &a);
    if (status == WEFT_OK)
        status = wi_gemm_describe_boxes(ctx, args->type, args->b, args->ldb, args->n, args->k,
                                        Shape::parts, kernel.b_by_k, kernel.b_lines, &b);
    if (status == WEFT_OK && deal.rest > 0 && !plan.joins_after)
        status = wi_gpu_scratch(ctx, &wi_gemm_ended_key,
                                deal.rest * of_unit * Shape::adders * sizeof *deal.ended,
                                (void **)&deal.ended);
    if (status == WEFT_OK && deal.rest > 0)
        status = wi_gpu_borrow(ctx, &wi_gemm_partial_key,
                               2 * shares * of_unit * Shape::tile_m * Shape::tile_n * sizeof(Sum),
                               (void **)&deal.partial);
    if (status != WEFT_OK)
        return status;
    const auto g = wi_gemm_typed<typename Shape::T, typename Shape::Out, Sum>(args);
    const unsigned blocks = (unsigned)((items < units ? items : units) * of_unit);
    const auto boxed = kernel.boxed;
    if constexpr (Shape::sends_c) {
        wi_boxes c;
        status = wi_gemm_describe_c<Shape>(ctx, args, &c);
        if (status == WEFT_OK)
            status = WEFT_LAUNCH_AHEAD(boxed, ctx, blocks, threads, kernel.shared_bytes, a, b, c, g,
                                       deal);
    } else if constexpr (Shape::is_pair) {
        status = WEFT_LAUNCH_FIXED_CLUSTER_AHEAD(boxed, ctx, blocks, threads, of_unit,
                                                 kernel.shared_bytes, a, b, g, deal);
    } else {
        status = WEFT_LAUNCH_AHEAD(boxed, ctx, blocks, threads, kernel.shared_bytes, a, b, g, deal);
    }
    if (status == WEFT_OK && plan.joins_after)
        status = wi_gemm_join_after<Shape>(ctx, g, units * of_unit, deal);
    const weft_status freed = deal.rest > 0 ? wi_gpu_hand_back(ctx, deal.partial) : WEFT_OK;
    return status == WEFT_OK ? freed : status;
}

template <class Shape, bool a_by_k, bool b_by_k>
weft_status wi_gemm_launch_boxed(weft_context *ctx, const wi_gemm_args *g) {
    using Ring = wi_gemm_boxed_block<Shape, a_by_k, b_by_k>;
    return wi_gemm_launch_kernel<Shape>(ctx, g,
                                        {wi_gemm_kernel_of<Shape, a_by_k, b_by_k>(), a_by_k, b_by_k,
                                         Ring::A::box_lines, Ring::B::box_lines,
                                         Ring::shared_bytes});
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

/* The shape that is best for a product, and its prediction. */
struct wi_gemm_choice {
    double seconds;
    wi_gemm_work *run;
    bool turns_c; /* computes C' = op(B)' op(A)' */
};

/* What share of memory's rate copies reach. For a thin C a slot has as much room for the thin
 * factor as the tile is wide, and what of it is empty keeps memory waiting. For a long k blocks
 * read pieces that are far apart. */
template <class Shape>
double wi_gemm_memory_share(const wi_gemm_args *g) {
    constexpr size_t thin = 64, m = Shape::tile_m, n = Shape::tile_n;
    constexpr double most = 0.97, of_empty = 0.15, of_used = 0.9, of_long = 0.75;
    if (g->m > thin && g->n > thin)
        return g->k / 8 >= g->m && g->k / 8 >= g->n ? of_long : 1;
    const size_t used = (g->m < m ? g->m : m) + (g->n < n ? g->n : n);
    const double share = of_empty + of_used * (double)used / (double)(m + n);
    return share < most ? share : most;
}

/* The blocks' own time, or the memory's for A and B if that is longer; then C's way to memory. That
 * of a tile that is staged is in its own time, as nothing hides it, and what is not hidden of one
 * that is sent as well; others, unless they are carried, store some of C while more is multiplied.
 */
template <class Shape>
double wi_gemm_boxed_seconds(const weft_context *ctx, const wi_gemm_args *g) {
    constexpr bool ends_tiles = Shape::is_staged || Shape::sends_c;
    constexpr double begin = ends_tiles ? 0.75 : 1, of_c = Shape::carries_c ? 1 : 0.8;
    const wi_machine *const m = wi_machine_of(ctx);
    const double factors =
        (double)weft_type_size(g->type) * ((double)g->m + (double)g->n) * (double)g->k;
    const double sums = (double)weft_type_size(g->out) * (double)g->m * (double)g->n;
    const double working = wi_gemm_plan_for<Shape>(ctx, g).seconds;
    const double moving = wi_seconds_moving(m, factors) / wi_gemm_memory_share<Shape>(g);
    const double storing = ends_tiles ? 0 : of_c * wi_seconds_moving(m, sums);
    return begin * m->launch_s + (working > moving ? working : moving) + storing;
}

/* On emu tests leave only one shape to be considered: by the elements of its tile, by whether it
 * sends them, and by whether its blocks work in pairs. */
WI_LIMIT(int, wi_gemm_only_tile_m, 0)
WI_LIMIT(int, wi_gemm_only_tile_n, 0)
WI_LIMIT(int, wi_gemm_only_sent, 0)
WI_LIMIT(int, wi_gemm_only_pair, 0)

/* Takes the shape, as it is or turned, if it is better than the best so far. */
template <class Shape>
void wi_gemm_consider(const weft_context *ctx, const wi_gemm_args *g, wi_gemm_work *run,
                      wi_gemm_choice *best) {
    if (wi_gemm_only_tile_m > 0 &&
        (Shape::tile_m != wi_gemm_only_tile_m || Shape::tile_n != wi_gemm_only_tile_n ||
         Shape::sends_c != (wi_gemm_only_sent > 0) || Shape::is_pair != (wi_gemm_only_pair > 0)))
        return;
    if ((Shape::sends_c && !wi_gemm_may_send(g)) || (Shape::is_lean && !wi_gemm_may_be_lean(g)))
        return;
    if (Shape::sends_c && wi_gemm_only_tile_m == 0 && wi_gemm_plan_for<Shape>(ctx, g).deal.rest > 0)
        return; /* slices are not sent, and have less room */
    const size_t tiles = wi_gemm_pieces(g->m, Shape::tile_m) * wi_gemm_pieces(g->n, Shape::tile_n);
    if (Shape::wants_many && wi_gemm_only_tile_m == 0 && tiles <= wi_gemm_units(ctx, g))
        return;
    const double seconds = wi_gemm_boxed_seconds<Shape>(ctx, g);
    if (!best->run || seconds < best->seconds)
        *best = {seconds, run, false};
    if (!Shape::may_turn_c || g->wanted != WI_ALL)
        return;
    const wi_gemm_args turned = wi_gemm_turned(g);
    const double of_turned = wi_gemm_boxed_seconds<Shape>(ctx, &turned);
    if (of_turned < best->seconds)
        *best = {of_turned, run, true};
}

/* The same of a pair's shape, where that may be better: for lines that are not those of memory, and
 * for a long k if it `is_deep`. */
template <class Shape>
void wi_gemm_consider_pair(const weft_context *ctx, const wi_gemm_args *g, bool is_deep,
                           wi_gemm_choice *best) {
    if (wi_gemm_only_pair > 0 || wi_gemm_is_unlined(g) ||
        (is_deep && wi_gemm_is_deep(wi_machine_of(ctx), g)))
        wi_gemm_consider<Shape>(ctx, g, wi_gemm_boxed_by_layout<Shape>, best);
}

inline weft_status wi_gemm_run_choice(weft_context *ctx, const wi_gemm_args *g,
                                      const wi_gemm_choice &choice) {
    const wi_gemm_args turned = wi_gemm_turned(g);
    return choice.run(ctx, choice.turns_c ? &turned : g);
}

#endif
