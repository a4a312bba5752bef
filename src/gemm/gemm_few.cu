/* SPDX-License-Identifier: Apache-2.0 */
/* How products of f32 with at most 8 columns are launched: gemm_few.cuh. */
#include "core/smaller.h"
#include "cuda/ahead.cuh"
#include "cuda/limit.cuh"
#include "gemm/gemm_few.cuh"
#include "gemm/gemm_launch.cuh"
#include "gemm/gemm_narrow_slices.h"

/* Steps of k that a slice has at least. */
WI_LIMIT(size_t, wi_gemm_few_least_steps, 8)

weft_status wi_gemm_few_f32(weft_context *ctx, const wi_gemm_args *args) {
    const wi_gemm_args tall = args->m > args->n ? *args : wi_gemm_turned(args);
    const wi_gemm_params<float, float, float> g = wi_gemm_typed<float, float, float>(&tall);
    const size_t groups = wi_gemm_pieces(g.m, wi_few_rows);
    const size_t steps = wi_gemm_pieces(g.k, wi_few_step);
    constexpr double begin_and_end = 8;
    constexpr size_t most_slices = 64;
    size_t room;
    weft_status status = wi_resident_blocks(ctx, wi_gemm_few, wi_few_threads, 0, &room);
    if (status != WEFT_OK)
        return status;
    const size_t wanted =
        wi_narrow_slices(groups, steps, room, begin_and_end,
                         wi_smaller(steps / wi_gemm_few_least_steps, most_slices));
    wi_gemm_slices<float> slices = {NULL, wi_gemm_pieces(steps, wanted) * wi_few_step, tall.when};
    const size_t count = wi_gemm_pieces(g.k, slices.depth);
    status = wi_gemm_borrow_slices(ctx, g, count, &slices);
    if (status != WEFT_OK)
        return status;
    status = WEFT_LAUNCH_AHEAD(wi_gemm_few, ctx, (unsigned)(groups * count), wi_few_threads, 0, g,
                               slices, !tall.transposed_b);
    return wi_gemm_end_slices(ctx, g, slices, count, status);
}
