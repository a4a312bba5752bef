/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of "sparse" on a GPU that users get: the levels of the tree, the deepest first. */
#include "sparse/chol_cuda.cuh"

constexpr int threads = 256;

/* L = the entries of A in their places. */
template <class real>
__global__ void __launch_bounds__(threads)
    wi_scatter_entries(const double *value, const int64_t *place, size_t count, real *l) {
    const size_t k = (size_t)blockIdx.x * threads + threadIdx.x;
    if (k < count)
        l[place[k]] = (real)value[k];
}

/* The diagonal of L, a front for each block. */
template <class real>
__global__ void __launch_bounds__(threads) wi_gather_diagonal(wi_device_chol d, double *diagonal) {
    const wi_front_record r = d.front[blockIdx.x];
    for (int j = (int)threadIdx.x; j < r.columns; j += threads)
        diagonal[r.first + j] = wi_front_panel<real>(d, r)[(int64_t)j * (r.ld + 1)];
}

weft_status wi_chol_device_gather(weft_context *ctx, const weft_chol *plan) {
    const wi_chol_device *const own = plan->device;
    return own->schedule.fronts == 0
               ? WEFT_OK
               : WEFT_LAUNCH(plan->narrow ? wi_gather_diagonal<float> : wi_gather_diagonal<double>,
                             ctx, (unsigned)own->schedule.fronts, threads, 0,
                             wi_chol_device_view(plan), (double *)own->work);
}

/* No pivot yet, and every column in its place. */
__global__ void __launch_bounds__(threads) wi_begin_pivots(wi_device_pivots p, int n) {
    const int k = (int)(blockIdx.x * threads + threadIdx.x);
    if (k >= n)
        return;
    p.d[k] = p.e[k] = 0;
    p.mark[k] = WI_PIVOT_ONE;
    if (p.order)
        p.order[k] = k;
}

__global__ void __launch_bounds__(threads)
    wi_settle_pivots(wi_device_pivots p, int32_t *perm, int n) {
    const int k = (int)(blockIdx.x * threads + threadIdx.x);
    if (k >= n)
        return;
    p.place[p.order[k]] = k;
    perm[k] = p.perm[p.order[k]];
}

static weft_status begin_pivots(weft_context *ctx, const weft_chol *plan) {
    const wi_device_pivots p = wi_chol_device_view(plan).pivots;
    const size_t n = plan->report.n;
    weft_status status = WEFT_OK;
    if (n == 0 || !wi_chol_has_d(plan))
        return WEFT_OK;
    if (p.signs)
        status = wi_gpu_copy(ctx, (int8_t *)p.signs, plan->numbers.pivots.signs, n);
    return status == WEFT_OK ? WEFT_LAUNCH(wi_begin_pivots, ctx, (unsigned)((n - 1) / threads + 1),
                                           threads, 0, p, (int)n)
                             : status;
}

static weft_status settle_pivots(weft_context *ctx, const weft_chol *plan) {
    const wi_device_pivots p = wi_chol_device_view(plan).pivots;
    const size_t n = plan->report.n;
    return n == 0 || !p.place
               ? WEFT_OK
               : WEFT_LAUNCH(wi_settle_pivots, ctx, (unsigned)((n - 1) / threads + 1), threads, 0,
                             p, wi_chol_device_matrix(plan).perm, (int)n);
}

/* L = the entries of A, of which there is one. */
template <class real>
static weft_status scatter(weft_context *ctx, const weft_chol *plan) {
    const size_t entries = plan->report.nnz_a;
    return WEFT_LAUNCH(wi_scatter_entries<real>, ctx, (unsigned)((entries - 1) / threads + 1),
                       threads, 0, (const double *)wi_chol_device_matrix(plan).value,
                       wi_chol_device_places(plan), entries, (real *)plan->device->l);
}

weft_status wi_chol_device_load(weft_context *ctx, const wi_chol_args *args) {
    wi_chol_device *const own = args->plan->device;
    const size_t entries = args->plan->report.nnz_a;
    own->has_diagonal = false;
    own->captured = wi_gpu_capturing(ctx);
    weft_status status = own->captured ? WEFT_OK : wi_chol_device_forget(ctx, args->plan);
    if (status == WEFT_OK)
        status =
            wi_cuda(ctx,
                    cudaMemsetAsync(own->l, 0, (size_t)own->schedule.l * wi_chol_number(args->plan),
                                    ctx->gpu->stream),
                    "clearing L");
    if (status == WEFT_OK)
        status = begin_pivots(ctx, args->plan);
    if (entries == 0 || status != WEFT_OK)
        return status;
    status = wi_chol_device_values(ctx, args->plan, args->matrix);
    if (status == WEFT_OK && !args->plan->numbers.balance.scaled)
        own->version = args->matrix->version;
    if (status != WEFT_OK)
        return status;
    return args->plan->narrow ? scatter<float>(ctx, args->plan) : scatter<double>(ctx, args->plan);
}

weft_status wi_chol_device_finish(weft_context *ctx, const wi_chol_args *args) {
    const wi_device_chol d = wi_chol_device_view(args->plan);
    unsigned long long failed = 0;
    if (args->plan->device->captured)
        return args->plan->report.n > 0
                   ? wi_chol_device_tell_factored(ctx, args->plan, args->matrix->there)
                   : WEFT_OK;
    weft_status status = settle_pivots(ctx, args->plan);
    if (status == WEFT_OK)
        status = wi_gpu_copy(ctx, &failed, d.failed, sizeof failed);
    if (status == WEFT_OK && wi_chol_has_d(args->plan))
        status = wi_chol_device_pivots(ctx, args->plan);
    if (status != WEFT_OK || failed == ~0ull)
        return status;
    status = wi_chol_device_diagonal(ctx, args->plan);
    return status == WEFT_OK ? wi_chol_fail(ctx, args->call, args->plan, (int64_t)failed) : status;
}

static weft_status run(weft_context *ctx, const void *args,
                       weft_status (*level)(weft_context *ctx, const weft_chol *plan,
                                            const wi_chol_level *level)) {
    const wi_chol_args *const a = (const wi_chol_args *)args;
    const wi_schedule *const schedule = &a->plan->device->schedule;
    int before;
    weft_status status = wi_gpu_enter(ctx, &before);
    if (status != WEFT_OK)
        return status;
    status = wi_chol_device_load(ctx, a);
    for (int64_t k = 0; k < schedule->levels && status == WEFT_OK; k++) {
        status = level(ctx, a->plan, &schedule->level[k]);
        if (status == WEFT_OK && !wi_chol_tell(a->plan, (double)(k + 1) / (double)schedule->levels))
            status = wi_chol_cancel(ctx, a->call);
    }
    if (status == WEFT_OK)
        status = wi_chol_device_finish(ctx, a);
    wi_gpu_leave(ctx, before);
    return status;
}

static weft_status one_after_the_other(weft_context *ctx, const weft_chol *plan,
                                       const wi_chol_level *level) {
    const weft_status status = wi_chol_small_fronts(ctx, plan, level);
    return status == WEFT_OK ? wi_chol_large_fronts(ctx, plan, level) : status;
}

/* Small fronts on the side lane, if there are large ones, too. A graph has one lane. */
static weft_status side_by_side(weft_context *ctx, const weft_chol *plan,
                                const wi_chol_level *level) {
    if (level->large == 0 || level->small[0] + level->small[1] == 0 || plan->device->captured)
        return one_after_the_other(ctx, plan, level);
    weft_status status = wi_gpu_fork(ctx);
    if (status != WEFT_OK)
        return status;
    wi_gpu_take_side(ctx, true);
    status = wi_chol_small_fronts(ctx, plan, level);
    wi_gpu_take_side(ctx, false);
    if (status == WEFT_OK)
        status = wi_chol_large_fronts(ctx, plan, level);
    const weft_status joined = wi_gpu_join(ctx);
    return status == WEFT_OK ? joined : status;
}

#if WEFT_LADDER
weft_status wi_chol_levels(weft_context *ctx, const void *args) {
    return run(ctx, args, wi_chol_alone_fronts);
}
#endif
weft_status wi_chol_batched(weft_context *ctx, const void *args) {
    return run(ctx, args, one_after_the_other);
}
weft_status wi_chol_overlapped(weft_context *ctx, const void *args) {
    return run(ctx, args, side_by_side);
}
