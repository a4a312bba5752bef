/* SPDX-License-Identifier: Apache-2.0 */
/* How thin products of f32 on tensor cores are launched: gemm_narrow_f32.cuh, and
 * gemm_narrow_boxed.cuh for a long factor, gemm_narrow_deep.cuh for a long k. */
#include "core/smaller.h"
#include "cuda/ahead.cuh"
#include "cuda/boxes.cuh"
#include "cuda/limit.cuh"
#include "gemm/gemm_launch.cuh"
#include "gemm/gemm_narrow_boxed.cuh"
#include "gemm/gemm_narrow_deep.cuh"
#include "gemm/gemm_narrow_f32.cuh"
#include "gemm/gemm_narrow_slices.h"

/* Pieces of k that a slice has at least. */
WI_LIMIT(size_t, wi_gemm_narrow_least_f32_pieces, WI_NARROW_F32_LEAST_PIECES)
/* The same of the longer pieces of boxes; rows that a long factor has at least, and how many for
 * each of the short one. */
WI_LIMIT(size_t, wi_gemm_narrow_least_boxed_pieces, WI_NARROW_BOXED_LEAST_PIECES)
WI_LIMIT(size_t, wi_gemm_narrow_least_long, WI_NARROW_LEAST_LONG)
WI_LIMIT(size_t, wi_gemm_narrow_long_times, WI_NARROW_LONG_TIMES)
WI_LIMIT(size_t, wi_gemm_narrow_least_deep, WI_NARROW_LEAST_DEEP) /* k that is long */

static bool is_wide(const void *p, size_t ld) {
    return wi_is_aligned(p) && ld % 4 == 0;
}

template <class S>
static weft_status launch(weft_context *ctx, const wi_gemm_args *args) {
    const wi_gemm_params<float, float, float> g = wi_gemm_typed<float, float, float>(args);
    const size_t tiles = wi_gemm_pieces(g.m, S::rows) * wi_gemm_pieces(g.n, S::columns);
    const size_t pieces = wi_gemm_pieces(g.k, wi_cut_depth);
    const size_t possible = pieces / wi_gemm_narrow_least_f32_pieces;
    size_t room;
    weft_status status =
        wi_resident_blocks(ctx, wi_gemm_narrow_f32<S>, S::threads, S::shared_bytes, &room);
    if (status != WEFT_OK)
        return status;
    const size_t most = wi_smaller(possible, WI_NARROW_F32_MOST_ROUNDS * room / tiles);
    const size_t wanted = wi_narrow_slices(tiles, pieces, room, WI_NARROW_F32_BEGIN_AND_END, most);
    wi_gemm_slices<float> slices = {NULL, wi_gemm_pieces(pieces, wanted) * wi_cut_depth,
                                    args->when};
    const size_t count = wi_gemm_pieces(g.k, slices.depth);
    status = wi_gemm_borrow_slices(ctx, g, count, &slices);
    if (status != WEFT_OK)
        return status;
    const wi_narrow_f32_layout lies = {!args->transposed_b, is_wide(g.a, g.lda),
                                       is_wide(g.b, g.ldb)};
    status = WEFT_LAUNCH_AHEAD((wi_gemm_narrow_f32<S>), ctx, (unsigned)(tiles * count), S::threads,
                               S::shared_bytes, g, slices, lies);
    return wi_gemm_end_slices(ctx, g, slices, count, status);
}

/* The key under which memory for the cut factor is borrowed. */
static const char cut_key = 0;

/* As many slices of pieces of k as keep the device busy. */
static size_t boxed_slices(const weft_context *ctx, size_t tiles, size_t pieces) {
    double length;
    return wi_narrow_boxed_slices(tiles, pieces, (size_t)ctx->gpu->multiprocessors,
                                  wi_gemm_narrow_least_boxed_pieces, &length);
}

/* The boxes of a factor of which so many rows, or columns, lie along k or across. */
static weft_status describe(weft_context *ctx, const float *x, size_t ld, size_t rows, size_t k,
                            bool along_k, int box_lines, wi_boxes *boxes) {
    const size_t pitch = ld * sizeof *x, lines = along_k ? rows : k;
    const wi_box_source from = {WEFT_F32, x, along_k ? k : rows, lines,
                                pitch,    1, lines * pitch,      true};
    return wi_gpu_describe_boxes(ctx, &from, (unsigned)box_lines, boxes);
}

template <class S>
static weft_status launch_cut(weft_context *ctx, const wi_gemm_args *args, const wi_boxes &boxes,
                              size_t slices, const wi_narrow_cut_pieces &cut) {
    const wi_gemm_params<float, float, float> g = wi_gemm_typed<float, float, float>(args);
    const size_t tiles_n = wi_gemm_pieces(g.n, S::columns);
    const size_t tiles = wi_gemm_pieces(g.m, S::rows) * tiles_n;
    const size_t pieces = wi_gemm_pieces(g.k, S::depth);
    wi_gemm_slices<float> of_k = {NULL, wi_gemm_pieces(pieces, slices) * S::depth, args->when};
    const size_t count = wi_gemm_pieces(g.k, of_k.depth);
    weft_status status = wi_gemm_borrow_slices(ctx, g, count, &of_k);
    if (status != WEFT_OK)
        return status;
    const bool b_along_k = !args->transposed_b;
    const wi_narrow_boxed_factor b = {g.b, g.ldb, g.n, b_along_k};
    status = WEFT_LAUNCH_AHEAD(wi_gemm_narrow_cut_short, ctx, (unsigned)(pieces * tiles_n),
                               4 * S::columns, 0, b, g.k, cut, args->when);
    if (status == WEFT_OK)
        status = WEFT_LAUNCH_AHEAD((wi_gemm_narrow_boxed<S>), ctx, (unsigned)(tiles * count),
                                   S::threads, S::shared_bytes, boxes, cut, g, of_k, b_along_k);
    return wi_gemm_end_slices(ctx, g, of_k, count, status);
}

template <class S>
static weft_status launch_boxed(weft_context *ctx, const wi_gemm_args *g) {
    const size_t tiles_n = wi_gemm_pieces(g->n, S::columns);
    const size_t pieces = wi_gemm_pieces(g->k, S::depth);
    const size_t slices = boxed_slices(ctx, wi_gemm_pieces(g->m, S::rows) * tiles_n, pieces);
    wi_boxes boxes;
    wi_narrow_cut_pieces cut = {NULL, S::columns, !S::along_k};
    weft_status status =
        describe(ctx, (const float *)g->a, g->lda, g->m, g->k, S::along_k, S::box_lines, &boxes);
    if (status == WEFT_OK)
        status = wi_gpu_borrow(ctx, &cut_key, tiles_n * pieces * (size_t)cut.stride(),
                               (void **)&cut.first);
    if (status != WEFT_OK)
        return status;
    status = launch_cut<S>(ctx, g, boxes, slices, cut);
    const weft_status freed = wi_gpu_hand_back(ctx, cut.first);
    return status == WEFT_OK ? freed : status;
}

/* Is A so long that cutting B beforehand costs little? */
static bool is_long(const wi_gemm_args *g) {
    return g->m >= wi_gemm_narrow_least_long && g->m >= wi_gemm_narrow_long_times * g->n &&
           is_wide(g->a, g->lda);
}
template <bool along_k>
static weft_status boxed_by_size(weft_context *ctx, const wi_gemm_args *g) {
    using few = wi_narrow_boxed_shape<along_k, 16>;
    using some = wi_narrow_boxed_shape<along_k, 40>;
    using many = wi_narrow_boxed_shape<along_k, 64>;
    const size_t units = (size_t)ctx->gpu->multiprocessors;
    switch (wi_narrow_boxed_columns(g->m, g->n, g->k, units)) {
    case few::columns:
        return launch_boxed<few>(ctx, g);
    case some::columns:
        return launch_boxed<some>(ctx, g);
    default:
        return launch_boxed<many>(ctx, g);
    }
}

template <class S>
static weft_status launch_deep(weft_context *ctx, const wi_gemm_args *args) {
    const wi_gemm_params<float, float, float> g = wi_gemm_typed<float, float, float>(args);
    const size_t tiles = wi_gemm_pieces(g.m, S::rows) * wi_gemm_pieces(g.n, S::columns);
    const size_t pieces = wi_gemm_pieces(g.k, S::depth);
    const size_t wanted = boxed_slices(ctx, tiles, pieces);
    wi_gemm_slices<float> slices = {NULL, wi_gemm_pieces(pieces, wanted) * S::depth, args->when};
    const size_t count = wi_gemm_pieces(g.k, slices.depth);
    wi_boxes a, b;
    weft_status status = describe(ctx, g.a, g.lda, g.m, g.k, S::a_along, S::side, &a);
    if (status == WEFT_OK)
        status = describe(ctx, g.b, g.ldb, g.n, g.k, S::b_along, S::side, &b);
    if (status == WEFT_OK)
        status = wi_gemm_borrow_slices(ctx, g, count, &slices);
    if (status != WEFT_OK)
        return status;
    status = WEFT_LAUNCH_AHEAD((wi_gemm_narrow_deep<S>), ctx, (unsigned)(tiles * count), S::threads,
                               S::shared_bytes, a, b, g, slices);
    return wi_gemm_end_slices(ctx, g, slices, count, status);
}

/* Is k so long that boxes are worth their beginning? */
static bool is_deep(const wi_gemm_args *g) {
    return g->m <= WI_NARROW_DEEP_MOST && g->n <= WI_NARROW_DEEP_MOST &&
           g->k >= wi_gemm_narrow_least_deep && is_wide(g->a, g->lda) && is_wide(g->b, g->ldb);
}
template <bool a_along>
static weft_status deep_by_layout(weft_context *ctx, const wi_gemm_args *g) {
    return g->transposed_b ? launch_deep<wi_narrow_deep_shape<a_along, false>>(ctx, g)
                           : launch_deep<wi_narrow_deep_shape<a_along, true>>(ctx, g);
}

template <bool along_k>
static weft_status by_size(weft_context *ctx, const wi_gemm_args *g) {
    using tall = wi_narrow_f32_shape<along_k, 128, 64, 2>;
    using low = wi_narrow_f32_shape<along_k, 64, 64, 3>;
    if (is_long(g))
        return boxed_by_size<along_k>(ctx, g);
    if (is_deep(g))
        return deep_by_layout<along_k>(ctx, g);
    if (g->m <= low::rows)
        return launch<low>(ctx, g);
    return launch<tall>(ctx, g);
}

/* If C has few rows, the factors change places. */
weft_status wi_gemm_narrow_f32(weft_context *ctx, const wi_gemm_args *g) {
    const wi_gemm_args tall = g->m < g->n ? wi_gemm_turned(g) : *g;
    if (tall.k == 0)
        return wi_gemm_pipeline(ctx, &tall);
    return tall.transposed_a ? by_size<true>(ctx, &tall) : by_size<false>(ctx, &tall);
}
