/* SPDX-License-Identifier: Apache-2.0 */
/* Solving with right-hand sides on a GPU: what comes before and after the substitutions. Residuals
 * are computed by the same operations in the same order as on the cpu. */
#include "sparse/chol_sides.cuh"

constexpr int threads = wi_side_threads;

/* If numbers of b and x are between these, nothing overflows on the way: see solve_range.c. */
static const double least_b = 0x1p-300, most_b = 0x1p300, most_x = 0x1p600;

/* y = P b, of the caller's columns; and the largest |b|. x as well: Lt alone begins with it. */
__global__ void __launch_bounds__(threads) wi_load_sides(wi_group_view v) {
    const int k = wi_row_of_thread();
    const size_t from = k < v.n ? (size_t)(v.permuted ? v.a.perm[k] : k) : 0;
    for (int q = 0; q < v.s.rhs; q++) {
        const double b = k < v.n ? v.given[from + q * v.ldb] : 0;
        if (k < v.n)
            v.s.x[(size_t)k * v.s.rhs + q] = v.s.y[(size_t)k * v.s.rhs + q] = b;
        wi_raise(v.a.figures + WI_FIGURE_B + q, b);
    }
}

__global__ void __launch_bounds__(threads) wi_size_up_sides(wi_group_view v) {
    const int k = wi_row_of_thread();
    for (int q = 0; q < v.s.rhs; q++)
        wi_raise(v.a.figures + WI_FIGURE_B + q, k < v.n ? v.given[k + q * v.ldb] : 0);
}

/* solution = Pt x, and its largest element. */
__global__ void __launch_bounds__(threads) wi_unload_sides(wi_group_view v) {
    const int k = wi_row_of_thread();
    const size_t to = k < v.n ? (size_t)(v.permuted ? v.a.perm[k] : k) : 0;
    for (int q = 0; q < v.s.rhs; q++) {
        const double x = k < v.n ? v.s.x[(size_t)k * v.s.rhs + q] : 0;
        if (k < v.n)
            v.s.solution[to + (size_t)q * v.n] = x;
        wi_raise(v.a.figures + WI_FIGURE_X + q, x);
    }
}

/* The largest element of the correction in x. */
__global__ void __launch_bounds__(threads) wi_size_up_correction(wi_group_view v) {
    const int k = wi_row_of_thread();
    for (int q = 0; q < v.s.rhs; q++)
        wi_raise(v.a.figures + WI_FIGURE_X + q, k < v.n ? v.s.x[(size_t)k * v.s.rhs + q] : 0);
}

/* solution += Pt x, for the columns whose bit is set. */
__global__ void __launch_bounds__(threads) wi_correct_sides(wi_group_view v, unsigned taken) {
    const int k = wi_row_of_thread();
    const size_t to = k < v.n ? (size_t)v.a.perm[k] : 0;
    if (v.taken)
        taken = *v.taken;
    for (int q = 0; q < v.s.rhs; q++) {
        double *const x = v.s.solution + to + (size_t)q * v.n;
        if (k < v.n && taken >> q & 1)
            *x += v.s.x[(size_t)k * v.s.rhs + q];
        wi_raise(v.a.figures + WI_FIGURE_X + q, k < v.n ? *x : 0);
    }
}

__global__ void __launch_bounds__(threads) wi_hand_out_sides(wi_group_view v) {
    const int i = wi_row_of_thread();
    for (int q = 0; q < v.s.rhs && i < v.n; q++)
        v.out[i + q * v.ldx] = v.s.solution[i + (size_t)q * v.n];
}

/* The sums of a row, as residual_simd.c has them. */
struct wi_row_sums {
    double high, low, size, norm, most;

    __device__ void subtract(double a, double x) {
        const double product = a * x, size_a = a < 0 ? -a : a;
        const double product_error = wi_fma(-a, x, product);
        const double sum = high - product, part = sum - high;
        const double sum_error = (high - (sum - part)) + (-product - part);
        size += product < 0 ? -product : product;
        norm += size_a;
        most = size_a > most ? size_a : most;
        high = sum;
        low += sum_error + product_error;
    }
};

__device__ static wi_row_sums sum_row(const wi_group_view &v, int i, int q, double b) {
    wi_row_sums s = {b, 0, 0, 0, 0};
    const double *const x = v.s.solution + (size_t)q * v.n;
    for (int64_t k = v.a.row_start[i]; k < v.a.row_start[i + 1]; k++)
        s.subtract(v.a.value[v.a.at[k]], x[v.a.col[k]]);
    for (int64_t k = v.a.start[i]; k < v.a.start[i + 1]; k++)
        s.subtract(v.a.value[k], x[v.a.row[k]]);
    return s;
}

/* |r| / scale of a row, as wi_residual_args describes it. */
__device__ static double error_of(const wi_group_view &v, const wi_row_sums &s, double r, double b,
                                  double largest) {
    const double size_b = b < 0 ? -b : b, size_r = r < 0 ? -r : r;
    const double tiny = 1000 * (double)v.n * 0x1p-53, most = s.most * largest;
    const double usual = s.size + size_b;
    const double scale = usual <= tiny * (most + size_b) ? s.size + most : usual;
    const double replaced = size_r / scale, plain = size_r / usual;
    if (r == 0 && (usual == 0 || scale == 0))
        return 0;
    return replaced < plain ? replaced : plain;
}

/* r = b - A x for the rows of the lower half and their mirror images: a thread for each row. */
__global__ void __launch_bounds__(threads) wi_measure_rows(wi_group_view v) {
    const int k = wi_row_of_thread();
    const int i = k < v.n ? v.a.perm[k] : 0;
    for (int q = 0; q < v.s.rhs; q++) {
        double r = 0, error = 0, norm = 0;
        if (k < v.n) {
            const double b = v.given[i + q * v.ldb];
            const double largest = __longlong_as_double((long long)v.a.figures[WI_FIGURE_X + q]);
            const wi_row_sums s = sum_row(v, i, q, b);
            r = s.high + s.low;
            norm = s.norm;
            error = error_of(v, s, r, b, largest);
            if (v.keep)
                v.s.y[(size_t)k * v.s.rhs + q] = r;
        }
        wi_raise(v.a.figures + WI_FIGURE_R + q, r);
        wi_raise(v.a.figures + WI_FIGURE_ERROR + q, error);
        if (q == 0)
            wi_raise(v.a.figures + WI_FIGURE_NORM, norm);
    }
}

/* ---- the steps ---- */

wi_group_view wi_group_view_of(const wi_solve_group *g) {
    wi_group_view v = {};
    v.a = wi_chol_device_matrix(g->plan);
    if (g->given && g->given->there)
        v.a.value = (double *)(uintptr_t)g->given->there;
    v.s = wi_chol_device_sides_of(g->plan, (int64_t)g->rhs);
    const bool b_is_there = wi_is_device(g->ctx, g->b);
    const bool out_is_there = g->out && wi_is_device(g->ctx, g->out);
    v.given = b_is_there ? g->b : v.s.b;
    v.ldb = b_is_there ? g->ldb : g->n;
    v.out = out_is_there ? g->out : v.s.solution;
    v.ldx = out_is_there ? g->ldx : g->n;
    v.n = (int)g->n;
    v.permuted = g->part == WEFT_CHOL_A;
    return v;
}

/* Figures first ... are 0 again. */
static weft_status clear(const wi_solve_group *g, const wi_group_view &v, int first, int count) {
    return wi_cuda(g->ctx,
                   cudaMemsetAsync(v.a.figures + first, 0, (size_t)count * sizeof *v.a.figures,
                                   g->ctx->gpu->stream),
                   "clearing figures");
}

static weft_status fetch(const wi_solve_group *g, const wi_group_view &v, int first, int count,
                         double *to) {
    return wi_gpu_copy(g->ctx, to, v.a.figures + first, (size_t)count * sizeof *to);
}

/* b on the device, if it is on the host. */
static weft_status send_b(const wi_solve_group *g, const wi_group_view &v) {
    weft_status status = WEFT_OK;
    for (size_t q = 0; q < g->rhs && v.given == v.s.b && status == WEFT_OK; q++)
        status = wi_gpu_copy(g->ctx, v.s.b + q * g->n, g->b + q * g->ldb, g->n * sizeof(double));
    return status;
}

static weft_status substitute_side(const wi_solve_group *g, const wi_group_view &v) {
    const wi_subtree all = {0, INT32_MAX, 0};
    weft_status status = WEFT_OK;
    if (g->part != WEFT_CHOL_LT)
        status = wi_chol_go_up(g->ctx, g->plan, v.s);
    if (status == WEFT_OK && g->part != WEFT_CHOL_L)
        status = wi_chol_go_down(g->ctx, g->plan, v.s, all);
    return status;
}

static bool is_plain(const wi_solve_group *g) {
    bool plain = true;
    for (size_t q = 0; q < g->rhs; q++)
        plain = plain && g->largest[q] <= most_x &&
                (g->right[q] == 0 || (g->right[q] >= least_b && g->right[q] <= most_b));
    return plain;
}

weft_status wi_queue_solution(const wi_solve_group *g, const wi_group_view &v) {
    weft_status status = clear(g, v, 0, WI_SOLVE_FIGURES);
    if (status == WEFT_OK)
        status = wi_launch_rows(g, wi_load_sides, v);
    if (status == WEFT_OK)
        status = substitute_side(g, v);
    return status == WEFT_OK ? wi_launch_rows(g, wi_unload_sides, v) : status;
}

weft_status wi_queue_misfit(const wi_solve_group *g, const wi_group_view &v) {
    const weft_status status = clear(g, v, WI_FIGURE_R, WI_SOLVE_FIGURES - WI_FIGURE_R);
    return status == WEFT_OK ? wi_launch_rows(g, wi_measure_rows, v) : status;
}

weft_status wi_queue_correction(const wi_solve_group *g, const wi_group_view &v) {
    weft_status status = substitute_side(g, v);
    if (status == WEFT_OK)
        status = clear(g, v, WI_FIGURE_X, WI_CHOL_RHS);
    return status == WEFT_OK ? wi_launch_rows(g, wi_size_up_correction, v) : status;
}

weft_status wi_queue_sum(const wi_solve_group *g, const wi_group_view &v, unsigned taken) {
    const weft_status status = clear(g, v, WI_FIGURE_X, WI_CHOL_RHS);
    return status == WEFT_OK ? wi_launch_rows(g, wi_correct_sides, v, taken) : status;
}

weft_status wi_queue_out(const wi_solve_group *g, const wi_group_view &v) {
    return wi_launch_rows(g, wi_hand_out_sides, v);
}

/* Whether b was plain is asked when x is there: that waits once. */
static weft_status solve(wi_solve_group *g, bool *plain) {
    const wi_group_view v = wi_group_view_of(g);
    double figures[2 * WI_CHOL_RHS];
    *plain = false;
    if (g->plan->numbers.balance.scaled)
        return WEFT_OK;
    weft_status status = send_b(g, v);
    if (status == WEFT_OK)
        status = wi_queue_solution(g, v);
    if (status == WEFT_OK)
        status = fetch(g, v, 0, 2 * WI_CHOL_RHS, figures);
    for (size_t q = 0; q < g->rhs && status == WEFT_OK; q++) {
        g->right[q] = figures[WI_FIGURE_B + q];
        g->largest[q] = figures[WI_FIGURE_X + q];
    }
    *plain = status == WEFT_OK && is_plain(g);
    return status;
}

static weft_status measure(wi_solve_group *g, bool keep) {
    wi_group_view v = wi_group_view_of(g);
    double figures[WI_SOLVE_FIGURES];
    weft_status status = WEFT_OK;
    v.keep = keep;
    if (!g->given->there &&
        (g->given->version == 0 || g->given->version != g->plan->device->version)) {
        status = wi_chol_device_values(g->ctx, g->plan, g->given);
        g->plan->device->version = status == WEFT_OK ? g->given->version : 0;
    }
    if (status == WEFT_OK)
        status = wi_queue_misfit(g, v);
    if (status == WEFT_OK)
        status = fetch(g, v, 0, WI_SOLVE_FIGURES, figures);
    for (size_t q = 0; q < g->rhs && status == WEFT_OK; q++) {
        g->largest[q] = figures[WI_FIGURE_X + q];
        g->misfit.most[q] = figures[WI_FIGURE_R + q];
        g->misfit.error[q] = figures[WI_FIGURE_ERROR + q];
    }
    g->misfit.norm = figures[WI_FIGURE_NORM];
    return status;
}

static weft_status find_correction(wi_solve_group *g, double *sizes) {
    const wi_group_view v = wi_group_view_of(g);
    const weft_status status = wi_queue_correction(g, v);
    return status == WEFT_OK ? fetch(g, v, WI_FIGURE_X, (int)g->rhs, sizes) : status;
}

static weft_status correct(wi_solve_group *g, const bool *taken) {
    const wi_group_view v = wi_group_view_of(g);
    unsigned bits = 0;
    for (size_t q = 0; q < g->rhs; q++)
        bits |= (unsigned)taken[q] << q;
    return wi_queue_sum(g, v, bits);
}

static weft_status hand_out(wi_solve_group *g) {
    const wi_group_view v = wi_group_view_of(g);
    weft_status status = WEFT_OK;
    if (v.out != v.s.solution)
        return wi_queue_out(g, v);
    for (size_t q = 0; q < g->rhs && status == WEFT_OK; q++)
        status = wi_gpu_copy(g->ctx, g->out + q * g->ldx, v.out + q * g->n, g->n * sizeof(double));
    return status;
}

static weft_status find_largest(wi_solve_group *g, double *right) {
    const wi_group_view v = wi_group_view_of(g);
    weft_status status = clear(g, v, WI_FIGURE_B, WI_CHOL_RHS);
    if (status == WEFT_OK)
        status = wi_launch_rows(g, wi_size_up_sides, v);
    return status == WEFT_OK ? fetch(g, v, WI_FIGURE_B, (int)g->rhs, right) : status;
}

/* Runs a step with the context's device current. */
template <class Step>
static weft_status entered(const wi_solve_group *g, Step step) {
    int before;
    weft_status status = wi_gpu_enter(g->ctx, &before);
    if (status != WEFT_OK)
        return status;
    status = step();
    wi_gpu_leave(g->ctx, before);
    return status;
}

weft_status wi_solve_device_plainly(wi_solve_group *g, bool *plain) {
    return entered(g, [&] { return solve(g, plain); });
}
weft_status wi_solve_device_measure(wi_solve_group *g, bool keep) {
    return entered(g, [&] { return measure(g, keep); });
}
weft_status wi_solve_device_correction(wi_solve_group *g, double *sizes) {
    return entered(g, [&] { return find_correction(g, sizes); });
}
weft_status wi_solve_device_correct(wi_solve_group *g, const bool *taken) {
    return entered(g, [&] { return correct(g, taken); });
}
weft_status wi_solve_device_hand_out(wi_solve_group *g) {
    return entered(g, [&] { return hand_out(g); });
}
weft_status wi_solve_device_largest(wi_solve_group *g, double *right) {
    return entered(g, [&] { return find_largest(g, right); });
}
