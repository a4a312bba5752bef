/* SPDX-License-Identifier: Apache-2.0 */
/* How products with a C of at most 16 columns or rows are launched: gemm_narrow.cuh. */
#include "core/smaller.h"
#include "cuda/ahead.cuh"
#include "cuda/limit.cuh"
#include "gemm/gemm_launch.cuh"
#include "gemm/gemm_narrow.cuh"
#include "gemm/gemm_narrow_slices.h"

/* Pieces of k that each warp of a slice takes at least, and from which on blocks have many warps.
 */
WI_LIMIT(size_t, wi_gemm_narrow_least_pieces, 4)

static const char ended_key = 0;

template <class T, class Lies, int warps>
static weft_status launch_with(weft_context *ctx, const wi_gemm_args *g) {
    const size_t groups = wi_gemm_pieces(g->m, wi_narrow_rows);
    const size_t pieces = wi_gemm_pieces(g->k, wi_narrow_depth);
    constexpr size_t bytes = wi_narrow_shared_bytes(warps);
    size_t room;
    wi_narrow_deal deal = {};
    weft_status status =
        wi_resident_blocks(ctx, wi_gemm_narrow<T, Lies, warps>, 32 * warps, bytes, &room);
    if (status != WEFT_OK)
        return status;
    constexpr double begin_and_end = 2.0 * warps;
    constexpr size_t most_slices = 64;
    const size_t possible = pieces / ((size_t)warps * wi_gemm_narrow_least_pieces);
    deal.slices =
        wi_narrow_slices(groups, pieces, room, begin_and_end, wi_smaller(possible, most_slices));
    deal.pieces = wi_gemm_pieces(pieces, deal.slices);
    if (deal.slices > 1) {
        status = wi_gpu_scratch(ctx, &ended_key, groups * sizeof *deal.ended, (void **)&deal.ended);
        if (status == WEFT_OK)
            status = wi_gpu_alloc(ctx, (void **)&deal.partial,
                                  groups * deal.slices * wi_narrow_elements * sizeof *deal.partial);
        if (status != WEFT_OK)
            return status;
    }
    const bool b_aligned = wi_is_aligned(g->b) && g->ldb * sizeof(T) % 16 == 0;
    status = WEFT_LAUNCH_AHEAD((wi_gemm_narrow<T, Lies, warps>), ctx,
                               (unsigned)(groups * deal.slices), 32 * warps, bytes,
                               wi_gemm_typed<T, T, float>(g), deal, !g->transposed_b, b_aligned);
    const weft_status freed = deal.partial ? wi_gpu_free(ctx, deal.partial) : WEFT_OK;
    return status == WEFT_OK ? freed : status;
}

/* With many warps that share rows, k need not be cut further; with a short k they would have
 * nothing to do, and more blocks on a multiprocessor end one by one. */
template <class T, class Lies>
static weft_status launch(weft_context *ctx, const wi_gemm_args *g) {
    constexpr int few = 4, many = wi_narrow_most_warps;
    const size_t pieces = wi_gemm_pieces(g->k, wi_narrow_depth);
    return pieces >= many * wi_gemm_narrow_least_pieces ? launch_with<T, Lies, many>(ctx, g)
                                                        : launch_with<T, Lies, few>(ctx, g);
}

template <class T, bool along_k>
static weft_status launch_as_it_lies(weft_context *ctx, const wi_gemm_args *g) {
    const bool aligned = wi_is_aligned(g->a) && g->lda * sizeof(T) % 16 == 0;
    return aligned || g->k == 0 ? launch<T, wi_narrow_lies<along_k, true>>(ctx, g)
                                : launch<T, wi_narrow_lies<along_k, false>>(ctx, g);
}

/* If C has few rows, the factors change places. The only column of a short one lies along k too if
 * it is stored without gaps. */
template <class T>
static weft_status run(weft_context *ctx, const wi_gemm_args *g) {
    wi_gemm_args tall = g->m < g->n ? wi_gemm_turned(g) : *g;
    if (tall.n == 1 && tall.transposed_b && tall.ldb == 1)
        tall.transposed_b = false;
    return tall.transposed_a ? launch_as_it_lies<T, true>(ctx, &tall)
                             : launch_as_it_lies<T, false>(ctx, &tall);
}

weft_status wi_gemm_narrow(weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = (const wi_gemm_args *)args;
#ifdef WEFT_RING
    if (g->type == WEFT_F32)
        return wi_gemm_narrow_f32(ctx, g);
#endif
    return g->type == WEFT_F16 ? run<__half>(ctx, g) : run<__nv_bfloat16>(ctx, g);
}
