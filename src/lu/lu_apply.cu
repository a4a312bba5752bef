/* SPDX-License-Identifier: Apache-2.0 */
/* What a panel does to the columns beside it, in a kernel of its own. */
#include "lu/lu_apply.cuh"

#include "lu/lu_cuda.cuh"

constexpr int warps = 8;
constexpr int columns_each = 2; /* of a warp, at least: the triangle is read once for all */

template <class T>
__global__ void __launch_bounds__(32 * warps) apply(wi_lu_apply_params<T> p, const int64_t *pivot) {
    using Applier = wi_lu_applier<T, warps>;
    WEFT_SHARED(typename Applier::memory, memory, );
    const size_t warp = (size_t)blockIdx.x * warps + threadIdx.x / 32;
    const int lane = wi_lane();
    const int partner = lane < p.width ? (int)(pivot[lane] - (int64_t)p.first) : lane;
    Applier{p, memory, (int)threadIdx.x}.run(warp, (size_t)gridDim.x * warps, partner);
}

template <class T>
static weft_status launch(weft_context *ctx, const wi_lu_panel *panel, wi_lu_columns whole) {
    const wi_lu_args *const args = panel->args;
    const size_t right = panel->first + panel->width;
    const size_t count = panel->first - whole.first + whole.end - right;
    const size_t wanted = (count + warps * columns_each - 1) / (warps * columns_each);
    const size_t most = 8 * (size_t)ctx->gpu->multiprocessors;
    const wi_lu_apply_params<T> p = {(T *)wi_lu_at(args, panel->first, 0),
                                     args->lda,
                                     (int)panel->width,
                                     panel->first,
                                     whole.first,
                                     right,
                                     count};
    if (count == 0)
        return WEFT_OK;
    return WEFT_LAUNCH(apply<T>, ctx, (unsigned)(wanted < most ? wanted : most), 32 * warps, 0, p,
                       args->pivot + panel->first);
}

weft_status wi_lu_apply(weft_context *ctx, const wi_lu_panel *panel, wi_lu_columns whole) {
    return panel->args->type == WEFT_F64 ? launch<double>(ctx, panel, whole)
                                         : launch<float>(ctx, panel, whole);
}
