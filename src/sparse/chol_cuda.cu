/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of "sparse" on a GPU that users get: the levels of the tree, the deepest first. */
#include "sparse/chol_panels.cuh"

constexpr int threads = 256;

/* Numbers first ... first + count - 1 of L, which are at l. */
template <class real>
struct wi_part_of_l {
    real *l;
    int64_t first, count;
};

/* L = the entries of A in their places, in a part of it. */
template <class real>
__global__ void __launch_bounds__(threads)
    wi_scatter_entries(const double *value, const int64_t *place, size_t entries,
                       wi_part_of_l<real> part) {
    const size_t k = (size_t)blockIdx.x * threads + threadIdx.x;
    const int64_t at = k < entries ? place[k] - part.first : -1;
    if (at >= 0 && at < part.count)
        part.l[at] = (real)value[k];
}

/* The diagonal of L, a front for each block. */
template <class real>
__global__ void __launch_bounds__(threads)
    wi_gather_diagonal(wi_device_chol d, int first, double *diagonal) {
    const wi_front_record r = d.front[first + (int)blockIdx.x];
    for (int j = (int)threadIdx.x; j < r.columns; j += threads)
        diagonal[r.first + j] = wi_front_panel<real>(d, r)[(int64_t)j * (r.ld + 1)];
}

static weft_status gather(weft_context *ctx, const weft_chol *plan, int first, int64_t fronts,
                          double *diagonal) {
    return fronts == 0
               ? WEFT_OK
               : WEFT_LAUNCH(plan->narrow ? wi_gather_diagonal<float> : wi_gather_diagonal<double>,
                             ctx, (unsigned)fronts, threads, 0, wi_chol_device_view(plan), first,
                             diagonal);
}

weft_status wi_chol_device_gather(weft_context *ctx, const weft_chol *plan) {
    return gather(ctx, plan, 0, plan->device->schedule.fronts, (double *)plan->device->work);
}

/* What the host does not know in a graph: the values, and the largest of them. */
struct wi_unseen_values {
    wi_device_matrix a;
    const unsigned long long *facts; /* NULL: it does */
    bool has_signs;                  /* the diagonal has those of pivots */
};

__device__ static int8_t sign_of_diagonal(const wi_device_matrix &a, int k) {
    const int j = a.perm[k];
    const int64_t first = a.start[j];
    return first < a.start[j + 1] && a.row[first] == j && a.value[first] > 0 ? 1 : -1;
}

/* No pivot yet, and every column in its place. A pivot is tiny below `share` of the largest value.
 */
__global__ void __launch_bounds__(threads)
    wi_begin_pivots(wi_device_pivots p, int n, double tiny, double share, wi_unseen_values v) {
    const int k = (int)(blockIdx.x * threads + threadIdx.x);
    if (k >= n)
        return;
    if (k == 0) {
        const double most = v.facts ? __longlong_as_double((long long)v.facts[WI_VALUE_MOST]) : 0;
        *p.tiny = v.facts ? (most > 0 ? most : 1) * share : tiny;
    }
    if (v.facts && v.has_signs)
        p.signs[k] = sign_of_diagonal(v.a, k);
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
    const wi_pivots *const own = &plan->numbers.pivots;
    wi_chol_device *const d = plan->device;
    const size_t n = plan->report.n;
    wi_unseen_values unseen = {wi_chol_device_matrix(plan), NULL, p.signs && !plan->negative};
    weft_status status = WEFT_OK;
    if (n == 0 || !wi_chol_has_d(plan))
        return WEFT_OK;
    if (d->captured)
        status = wi_chol_device_find_facts(ctx, plan, unseen.a.value, &unseen.facts);
    else if (p.signs)
        status = wi_gpu_copy(ctx, p.signs, own->signs, n);
    if (!d->captured)
        d->has_signs = status == WEFT_OK;
    return status == WEFT_OK ? WEFT_LAUNCH(wi_begin_pivots, ctx, (unsigned)((n - 1) / threads + 1),
                                           threads, 0, p, (int)n, own->tiny, own->share, unseen)
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

template <class real>
static weft_status scatter(weft_context *ctx, const weft_chol *plan, wi_part_of_l<real> part) {
    const size_t entries = plan->report.nnz_a;
    const weft_status status = wi_cuda(
        ctx, cudaMemsetAsync(part.l, 0, (size_t)part.count * sizeof(real), ctx->gpu->stream),
        "clearing L");
    return entries == 0 || status != WEFT_OK
               ? status
               : WEFT_LAUNCH(wi_scatter_entries<real>, ctx, (unsigned)((entries - 1) / threads + 1),
                             threads, 0, (const double *)wi_chol_device_matrix(plan).value,
                             wi_chol_device_places(plan), entries, part);
}

/* Numbers first ... first + count - 1 of L = the entries of A in their places, and 0; they lie at
 * `at` of what the device has of L. */
static weft_status load_part(weft_context *ctx, const weft_chol *plan, int64_t at, int64_t first,
                             int64_t count) {
    void *const l = plan->device->l;
    return plan->narrow ? scatter<float>(ctx, plan, {(float *)l + at, first, count})
                        : scatter<double>(ctx, plan, {(double *)l + at, first, count});
}

weft_status wi_chol_device_load(weft_context *ctx, const wi_chol_args *args) {
    wi_chol_device *const own = args->plan->device;
    const size_t entries = args->plan->report.nnz_a;
    own->has_diagonal = false;
    own->captured = wi_gpu_capturing(ctx);
    weft_status status = own->captured ? WEFT_OK : wi_chol_device_forget(ctx, args->plan);
    if (status == WEFT_OK && entries > 0 && !own->sent)
        status = wi_chol_device_values(ctx, args->plan, args->matrix);
    if (status == WEFT_OK)
        status = begin_pivots(ctx, args->plan);
    own->sent = false;
    if (status == WEFT_OK && entries > 0 && !args->plan->numbers.balance.scaled)
        own->version = args->matrix->version;
    return status == WEFT_OK && !own->windows ? load_part(ctx, args->plan, 0, 0, own->schedule.l)
                                              : status;
}

/* Before level k: its window, if L lies in windows. */
static weft_status begin_level(weft_context *ctx, const weft_chol *plan, int64_t k) {
    const wi_schedule *const schedule = &plan->device->schedule;
    const wi_chol_level *const level = &schedule->level[k];
    if (!plan->device->windows)
        return WEFT_OK;
    const weft_status status = wi_chol_windows_clear(ctx, plan, k);
    return status == WEFT_OK
               ? load_part(ctx, plan, wi_schedule_level_at(schedule, k), level->l_at, level->l)
               : status;
}

/* After it: its panels go to the host, and their diagonal to where a solution will be. */
static weft_status end_level(weft_context *ctx, const weft_chol *plan, int64_t k) {
    const wi_chol_level *const level = &plan->device->schedule.level[k];
    if (!plan->device->windows)
        return WEFT_OK;
    const weft_status status =
        gather(ctx, plan, level->first, wi_small_fronts(level) + level->large,
               wi_chol_device_sides_of(plan, 1).solution);
    return status == WEFT_OK ? wi_chol_windows_keep(ctx, plan, k) : status;
}

/* The first column that failed on any GPU. */
static weft_status fetch_failed(weft_context *ctx, weft_chol *plan, void *user) {
    unsigned long long *const failed = (unsigned long long *)user, own;
    const weft_status status = wi_gpu_copy(ctx, &own, wi_chol_device_view(plan).failed, sizeof own);
    if (status == WEFT_OK && own < *failed)
        *failed = own;
    return status;
}

weft_status wi_chol_device_finish(weft_context *ctx, const wi_chol_args *args) {
    unsigned long long failed = ~0ull;
    weft_status status = settle_pivots(ctx, args->plan);
    if (status == WEFT_OK && args->plan->device->captured)
        return args->plan->report.n > 0
                   ? wi_chol_device_tell_factored(ctx, args->plan, args->matrix->there)
                   : WEFT_OK;
    if (status == WEFT_OK)
        status = wi_chol_share_places(ctx, args->plan);
    if (status == WEFT_OK)
        status = wi_chol_each_gpu(ctx, args->plan, fetch_failed, &failed);
    if (status == WEFT_OK && wi_chol_has_d(args->plan))
        status = wi_chol_device_pivots(ctx, args->plan);
    if (status == WEFT_OK && (args->plan->device->windows || wi_chol_gpus(args->plan) > 1))
        status = wi_chol_device_diagonal(ctx, args->plan);
    if (status != WEFT_OK || failed == ~0ull)
        return status;
    status = wi_chol_device_forget(ctx, args->plan); /* graphs say what happens to them */
    if (status == WEFT_OK)
        status = wi_chol_device_diagonal(ctx, args->plan);
    return status == WEFT_OK ? wi_chol_fail(ctx, args->call, args->plan, (int64_t)failed) : status;
}

/* What a rung does with a level; and with one whose front is factored by all GPUs together. */
typedef weft_status (*level_step)(weft_context *ctx, const weft_chol *plan,
                                  const wi_chol_level *level);
struct level_steps {
    level_step usual, together;
    bool rises; /* the first levels of L Lt are one kernel's */
};

/* The levels that one kernel does, if any; how many. */
static weft_status rise(weft_context *ctx, const wi_chol_args *a, bool rises, int64_t *levels) {
    const wi_schedule *const schedule = &a->plan->device->schedule;
    *levels = rises && !wi_chol_has_d(a->plan) ? schedule->rising : 0;
    if (*levels == 0)
        return WEFT_OK;
    const weft_status status = wi_chol_rise(ctx, a->plan);
    if (status == WEFT_OK &&
        !wi_chol_tell(a->plan, (double)schedule->rising / (double)schedule->levels))
        return wi_chol_cancel(ctx, a->call);
    return status;
}

/* All levels of one GPU. The first waits for the others before the top, which needs them. */
static weft_status run_levels(weft_context *ctx, const wi_chol_args *a, level_steps steps) {
    const weft_chol *const plan = a->plan;
    const wi_schedule *const schedule = &plan->device->schedule;
    weft_status status = wi_chol_windows_begin(ctx, plan);
    int64_t first = 0;
    if (status == WEFT_OK)
        status = rise(ctx, a, steps.rises, &first);
    for (int64_t k = first; k < schedule->levels && status == WEFT_OK; k++) {
        const wi_chol_level *const level = &schedule->level[k];
        if (k == schedule->waits)
            status = wi_chol_first_waits(ctx, plan);
        if (status == WEFT_OK)
            status = begin_level(ctx, plan, k);
        if (status == WEFT_OK)
            status = (level->together ? steps.together : steps.usual)(ctx, plan, level);
        if (status == WEFT_OK)
            status = end_level(ctx, plan, k);
        if (status == WEFT_OK)
            status = wi_chol_send_guests(ctx, plan, k, 0);
        if (status == WEFT_OK && !plan->device->first &&
            !wi_chol_tell(a->plan, (double)(k + 1) / (double)schedule->levels))
            status = wi_chol_cancel(ctx, a->call);
    }
    const weft_status ended = wi_chol_windows_end(ctx, plan);
    return status == WEFT_OK ? ended : status;
}

/* The levels of another GPU. */
static weft_status run_other(weft_context *ctx, const wi_chol_args *a, int gpu, level_steps steps) {
    weft_context *const own = wi_chol_gpu(ctx, gpu);
    weft_chol plan = wi_chol_of_gpu(a->plan, gpu);
    const wi_chol_args args = {a->call, &plan, a->matrix};
    int before;
    weft_status status = wi_gpu_enter(own, &before);
    if (status == WEFT_OK) {
        status = wi_chol_device_load(own, &args);
        if (status == WEFT_OK)
            status = run_levels(own, &args, steps);
        if (status == WEFT_OK)
            status = wi_chol_return_pivots(own, &plan);
        wi_gpu_leave(own, before);
    }
    return status == WEFT_OK ? WEFT_OK : wi_fail_as(ctx, status, own);
}

/* The others' work is queued before the first's. Whatever happens, the first then waits for them:
 * what the caller queues next may write what they read. */
static weft_status run_all(weft_context *ctx, const wi_chol_args *a, level_steps steps) {
    weft_status status = wi_chol_device_load(ctx, a);
    if (status == WEFT_OK)
        status =
            wi_chol_others_wait(ctx, a->plan); /* their D goes over the first's, which is new */
    for (int g = 1; g < wi_chol_gpus(a->plan) && status == WEFT_OK; g++)
        status = run_other(ctx, a, g, steps);
    if (status == WEFT_OK)
        status = run_levels(ctx, a, steps);
    const weft_status ended = wi_chol_first_waits(ctx, a->plan);
    return status == WEFT_OK ? ended : status;
}

static weft_status run(weft_context *ctx, const void *args, level_steps steps) {
    const wi_chol_args *const a = (const wi_chol_args *)args;
    int before;
    weft_status status = wi_gpu_enter(ctx, &before);
    if (status != WEFT_OK)
        return status;
    status = run_all(ctx, a, steps);
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

/* Some fronts of a level on the side lane, if there are others, too. A graph has one lane, and the
 * other moves L if it lies in host memory. */
static weft_status on_lanes(weft_context *ctx, const weft_chol *plan, const wi_chol_level *level,
                            level_step aside, level_step others, bool has_both) {
    const bool both = has_both && !plan->device->captured && !plan->device->windows;
    weft_status status = both ? wi_gpu_fork(ctx) : WEFT_OK;
    if (status != WEFT_OK)
        return status;
    wi_gpu_take_side(ctx, both);
    status = aside(ctx, plan, level);
    wi_gpu_take_side(ctx, false);
    if (status == WEFT_OK)
        status = others(ctx, plan, level);
    const weft_status joined = both ? wi_gpu_join(ctx) : WEFT_OK;
    return status == WEFT_OK ? joined : status;
}

static weft_status side_by_side(weft_context *ctx, const weft_chol *plan,
                                const wi_chol_level *level) {
    return on_lanes(ctx, plan, level, wi_chol_small_fronts, wi_chol_large_fronts,
                    level->large > 0 && wi_small_fronts(level) > 0);
}

#if WEFT_LADDER
static weft_status small_and_middle(weft_context *ctx, const weft_chol *plan,
                                    const wi_chol_level *level) {
    const weft_status status = wi_chol_middle_fronts(ctx, plan, level);
    return status == WEFT_OK ? wi_chol_small_fronts(ctx, plan, level) : status;
}

/* Middle fronts by clusters: beside larger ones, or small fronts beside them. */
static weft_status by_clusters(weft_context *ctx, const weft_chol *plan,
                               const wi_chol_level *level) {
    const int32_t middle = wi_middle_fronts(level), small = wi_small_fronts(level);
    wi_chol_level larger = *level;
    larger.large -= middle;
    return larger.large == 0 ? on_lanes(ctx, plan, level, wi_chol_small_fronts,
                                        wi_chol_middle_fronts, middle > 0 && small > 0)
                             : on_lanes(ctx, plan, &larger, small_and_middle, wi_chol_large_fronts,
                                        middle + small > 0);
}

weft_status wi_chol_levels(weft_context *ctx, const void *args) {
    return run(ctx, args, {wi_chol_alone_fronts, wi_chol_alone_fronts, false});
}
weft_status wi_chol_clusters(weft_context *ctx, const void *args) {
    return run(ctx, args, {by_clusters, wi_chol_together, false});
}
#endif
weft_status wi_chol_batched(weft_context *ctx, const void *args) {
    return run(ctx, args, {one_after_the_other, wi_chol_together, false});
}
weft_status wi_chol_overlapped(weft_context *ctx, const void *args) {
    return run(ctx, args, {side_by_side, wi_chol_together, false});
}
weft_status wi_chol_rising(weft_context *ctx, const void *args) {
    return run(ctx, args, {side_by_side, wi_chol_together, true});
}
