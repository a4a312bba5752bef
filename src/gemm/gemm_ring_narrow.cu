/* SPDX-License-Identifier: Apache-2.0 */
/* How thin products of f32 on tensor cores are launched: gemm_narrow_f32.cuh. */
#include "core/smaller.h"
#include "cuda/ahead.cuh"
#include "cuda/limit.cuh"
#include "gemm/gemm_launch.cuh"
#include "gemm/gemm_narrow_f32.cuh"
#include "gemm/gemm_narrow_slices.h"

/* Pieces of k that a slice has at least. */
WI_LIMIT(size_t, wi_gemm_narrow_least_f32_pieces, WI_NARROW_F32_LEAST_PIECES)

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

template <bool along_k>
static weft_status by_size(weft_context *ctx, const wi_gemm_args *g) {
    using least = wi_narrow_f32_shape<along_k, 128, 16, 2>;
    using tall = wi_narrow_f32_shape<along_k, 128, 64, 2>;
    using low = wi_narrow_f32_shape<along_k, 64, 64, 3>;
    if (g->m <= low::rows)
        return launch<low>(ctx, g);
    return g->n <= least::columns ? launch<least>(ctx, g) : launch<tall>(ctx, g);
}

/* If C has few rows, the factors change places. */
weft_status wi_gemm_narrow_f32(weft_context *ctx, const wi_gemm_args *g) {
    const wi_gemm_args tall = g->m < g->n ? wi_gemm_turned(g) : *g;
    if (tall.k == 0)
        return wi_gemm_pipeline(ctx, &tall);
    return tall.transposed_a ? by_size<true>(ctx, &tall) : by_size<false>(ctx, &tall);
}
