/* SPDX-License-Identifier: Apache-2.0 */
/* Values in device memory, and what calls do in a graph, where the host cannot look: a kernel
 * decides about corrections, and facts are kept until weft_chol_check asks. */
#include "sparse/chol_sides.cuh"

constexpr int value_threads = wi_side_threads;

/* What columns tell of their values: bits of numbers that are not negative. */
struct wi_value_facts {
    unsigned long long most, diagonal_most, diagonal_least, column_least;
};
__device__ static wi_value_facts join(wi_value_facts x, wi_value_facts y) {
    x.most = y.most > x.most ? y.most : x.most;
    x.diagonal_most = y.diagonal_most > x.diagonal_most ? y.diagonal_most : x.diagonal_most;
    x.diagonal_least = y.diagonal_least < x.diagonal_least ? y.diagonal_least : x.diagonal_least;
    x.column_least = y.column_least < x.column_least ? y.column_least : x.column_least;
    return x;
}
__device__ static unsigned long long size_bits(double x) {
    return (unsigned long long)__double_as_longlong(x) & ~(1ull << 63);
}

/* Facts of the values: a thread for each column, whose upper half is looked at only if `whole`.
 * Changes of one word wait for each other, so there is one for each block. */
__global__ void __launch_bounds__(value_threads)
    wi_size_up_values(wi_device_matrix a, const double *value, int n, bool whole,
                      unsigned long long *fact) {
    WEFT_SHARED(wi_value_facts, of_warp, [value_threads / 32]);
    const int j = wi_row_of_thread();
    const int64_t first = j < n ? a.start[j] : 0, end = j < n ? a.start[j + 1] : 0;
    const double d = first < end && a.row[first] == j ? value[first] : 0;
    wi_value_facts own = {0, d > 0 ? size_bits(d) : 0, d > 0 ? size_bits(d) : ~0ull, ~0ull};
    for (int64_t k = first; k < end; k++)
        own.most = size_bits(value[k]) > own.most ? size_bits(value[k]) : own.most;
    for (int64_t k = whole && j < n ? a.row_start[j] : 0; whole && j < n && k < a.row_start[j + 1];
         k++) {
        const unsigned long long size = size_bits(value[a.at[k]]);
        own.most = size > own.most ? size : own.most;
    }
    if (whole && own.most > 0)
        own.column_least = own.most;
    own = wi_warp_reduce(own, join);
    if (wi_lane() == 0)
        of_warp[threadIdx.x / 32] = own;
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    for (int w = 1; w < value_threads / 32; w++)
        own = join(own, of_warp[w]);
    atomicMax(fact + WI_VALUE_MOST, own.most);
    atomicMax(fact + WI_VALUE_DIAGONAL_MOST, own.diagonal_most);
    atomicMin(fact + WI_VALUE_DIAGONAL_LEAST, own.diagonal_least);
    if (whole)
        atomicMin(fact + WI_VALUE_COLUMN_LEAST, own.column_least);
}

__global__ void wi_count_factored(wi_chol_told *told) {
    told->factored++;
}

static weft_status size_up(weft_context *ctx, const weft_chol *plan, const double *value,
                           unsigned long long *fact) {
    const size_t n = plan->report.n;
    return WEFT_LAUNCH(wi_size_up_values, ctx, (unsigned)((n - 1) / value_threads + 1),
                       value_threads, 0, wi_chol_device_matrix(plan), value, (int)n,
                       wi_chol_has_d(plan), fact);
}

/* Words from `p` on to the value of all their bytes. */
static weft_status fill(weft_context *ctx, unsigned long long *p, int value, size_t words) {
    return wi_cuda(ctx, cudaMemsetAsync(p, value, words * sizeof *p, ctx->gpu->stream),
                   "clearing facts");
}

static weft_status forget_values(weft_context *ctx, unsigned long long *fact) {
    const weft_status status = fill(ctx, fact, 0, WI_VALUE_FIGURES);
    return status == WEFT_OK ? fill(ctx, fact + WI_VALUE_DIAGONAL_LEAST, 0xff,
                                    WI_VALUE_FIGURES - WI_VALUE_DIAGONAL_LEAST)
                             : status;
}

weft_status wi_chol_device_size_up(weft_context *ctx, const weft_chol *plan, const double *value,
                                   double facts[WI_VALUE_FIGURES]) {
    unsigned long long *const found = wi_chol_device_matrix(plan).all->value;
    int before;
    weft_status status = wi_gpu_enter(ctx, &before);
    if (status != WEFT_OK)
        return status;
    status = forget_values(ctx, found);
    if (status == WEFT_OK)
        status = size_up(ctx, plan, value, found);
    if (status == WEFT_OK)
        status = wi_gpu_copy(ctx, facts, found, WI_VALUE_FIGURES * sizeof *facts);
    wi_gpu_leave(ctx, before);
    return status;
}

weft_status wi_chol_device_find_facts(weft_context *ctx, const weft_chol *plan, const double *value,
                                      const unsigned long long **facts) {
    unsigned long long *const found = wi_chol_device_matrix(plan).all->value;
    const weft_status status = forget_values(ctx, found);
    *facts = found;
    return status == WEFT_OK ? size_up(ctx, plan, value, found) : status;
}

weft_status wi_chol_device_tell_factored(weft_context *ctx, const weft_chol *plan,
                                         const double *value) {
    wi_chol_told *const told = &wi_chol_device_matrix(plan).all->told;
    const weft_status status = size_up(ctx, plan, value, told->value);
    return status == WEFT_OK ? WEFT_LAUNCH(wi_count_factored, ctx, 1, 1, 0, told) : status;
}

weft_status wi_chol_device_forget(weft_context *ctx, const weft_chol *plan) {
    wi_chol_told *const told = &wi_chol_device_matrix(plan).all->told;
    weft_status status = fill(ctx, wi_chol_device_view(plan).failed, 0xff, 1);
    if (status == WEFT_OK)
        status = fill(ctx, (unsigned long long *)told, 0, sizeof *told / sizeof told->factored);
    if (status == WEFT_OK)
        status = forget_values(ctx, told->value);
    return status == WEFT_OK ? fill(ctx, &told->b_least, 0xff, 1) : status;
}

weft_status wi_chol_device_ask(weft_context *ctx, const weft_chol *plan, wi_chol_told *told,
                               int64_t *failed) {
    int before;
    weft_status status = wi_gpu_enter(ctx, &before);
    if (status != WEFT_OK)
        return status;
    status = wi_gpu_copy(ctx, told, &wi_chol_device_matrix(plan).all->told, sizeof *told);
    if (status == WEFT_OK)
        status = wi_gpu_copy(ctx, failed, wi_chol_device_view(plan).failed, sizeof *failed);
    if (status == WEFT_OK && told->factored + told->solved > 0)
        status = wi_chol_device_forget(ctx, plan);
    if (status == WEFT_OK && told->factored > 0 && wi_chol_has_d(plan))
        status = wi_chol_device_pivots(ctx, plan);
    if (status == WEFT_OK && told->factored > 0 && plan->kind == WEFT_CHOL_QUASIDEFINITE)
        status = wi_gpu_copy(ctx, plan->numbers.pivots.signs,
                             wi_chol_device_view(plan).pivots.signs, plan->report.n);
    wi_gpu_leave(ctx, before);
    return status;
}

/* ---- a solve in a graph ---- */

/* Before the first correction: of which columns one is wanted. */
__global__ void __launch_bounds__(WI_CHOL_RHS) wi_begin_judging(wi_group_view v) {
    const int q = (int)threadIdx.x;
    if (q < v.s.rhs)
        v.a.all->judged.column[q] = wi_progress_of(v.a.figures[WI_FIGURE_R + q] != 0);
    if (q == 0)
        v.a.all->judged.stuck = 0;
}

/* Before each: how large x is. */
__global__ void __launch_bounds__(WI_CHOL_RHS) wi_keep_largest(wi_group_view v) {
    const int q = (int)threadIdx.x;
    if (q < v.s.rhs)
        v.a.all->judged.largest[q] = __longlong_as_double((long long)v.a.figures[WI_FIGURE_X + q]);
}

/* After it: is it added, and does another one follow? As judge_all of refine.c. */
__global__ void wi_judge_correction(wi_group_view v, bool narrow) {
    wi_judged *const judged = &v.a.all->judged;
    unsigned taken = 0;
    for (int q = 0; q < v.s.rhs; q++) {
        wi_refining *const p = &judged->column[q];
        const double size = __longlong_as_double((long long)v.a.figures[WI_FIGURE_X + q]);
        const bool asked = p->active;
        p->taken = false;
        if (asked)
            wi_judge(p, size / judged->largest[q], 0x1p-53, narrow);
        taken |= (unsigned)p->taken << q;
        judged->stuck |= (unsigned)(asked && !p->taken) << q;
    }
    judged->taken = taken;
}

__global__ void wi_tell_solved(wi_group_view v, bool refined) {
    wi_chol_told *const told = &v.a.all->told;
    const wi_judged *const judged = &v.a.all->judged;
    told->solved++;
    told->norm = v.a.figures[WI_FIGURE_NORM];
    for (int q = 0; q < v.s.rhs; q++) {
        told->stuck += refined && (judged->column[q].active || judged->stuck >> q & 1);
        const unsigned long long b = v.a.figures[WI_FIGURE_B + q];
        const unsigned long long x = v.a.figures[WI_FIGURE_X + q];
        const unsigned long long error = v.a.figures[WI_FIGURE_ERROR + q];
        told->b_least = b > 0 && b < told->b_least ? b : told->b_least;
        told->b_most = b > told->b_most ? b : told->b_most;
        told->x_most = x > told->x_most ? x : told->x_most;
        told->error = error > told->error ? error : told->error;
    }
}

/* One step of refinement, of the residual that was kept. */
static weft_status queue_step(const wi_solve_group *g, wi_group_view v, bool keep) {
    weft_status status = WEFT_LAUNCH(wi_keep_largest, g->ctx, 1, WI_CHOL_RHS, 0, v);
    if (status == WEFT_OK)
        status = wi_queue_correction(g, v);
    if (status == WEFT_OK)
        status = WEFT_LAUNCH(wi_judge_correction, g->ctx, 1, 1, 0, v, g->plan->narrow);
    v.taken = &v.a.all->judged.taken;
    if (status == WEFT_OK)
        status = wi_queue_sum(g, v, 0);
    v.keep = keep;
    return status == WEFT_OK ? wi_queue_misfit(g, v) : status;
}

static weft_status queue_all(const wi_solve_group *g, int refine) {
    wi_group_view v = wi_group_view_of(g);
    weft_status status = wi_queue_solution(g, v);
    v.keep = refine > 0;
    if (status == WEFT_OK && g->part == WEFT_CHOL_A)
        status = wi_queue_misfit(g, v);
    if (status == WEFT_OK && refine > 0)
        status = WEFT_LAUNCH(wi_begin_judging, g->ctx, 1, WI_CHOL_RHS, 0, v);
    for (int step = 0; step < refine && status == WEFT_OK; step++)
        status = queue_step(g, v, step + 1 < refine);
    if (status == WEFT_OK)
        status = wi_queue_out(g, v);
    return status == WEFT_OK ? WEFT_LAUNCH(wi_tell_solved, g->ctx, 1, 1, 0, v, refine > 0) : status;
}

weft_status wi_solve_captured(wi_solve_group *g, int refine) {
    int before;
    weft_status status = wi_gpu_enter(g->ctx, &before);
    if (status != WEFT_OK)
        return status;
    status = queue_all(g, g->part == WEFT_CHOL_A ? refine : 0);
    wi_gpu_leave(g->ctx, before);
    return status;
}
