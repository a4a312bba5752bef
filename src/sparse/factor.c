/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of the factorization: reserve and factor, and the analysis of a failure. */
#include <math.h>

#include "core/call.h"
#include "core/gpu.h"
#include "sparse/chol_device.h"

static const wi_row rows[] = {
#if WEFT_LADDER
    {.name = "up_looking",
     .what = "row by row of L, each a sparse triangular solve",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .misfit = wi_chol_fits_definite,
     .run = wi_chol_up_looking},
    {.name = "left_looking",
     .what = "dense supernodes that fetch from those before; OpenBLAS",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .misfit = wi_chol_fits_blas,
     .run = wi_chol_left_looking},
#endif
    {.name = "multifrontal",
     .what = "dense fronts; subtrees in parallel, then inside the fronts",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_chol_multifrontal},
#ifdef WEFT_CUDA
#    if WEFT_LADDER
    {.name = "levels",
     .what = "a level of the tree by one launch, a front by one block",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .misfit = wi_chol_fits_definite,
     .run = wi_chol_levels},
#    endif
    {.name = "batched",
     .what = "small fronts in shared memory; large ones of a level together, tile by tile",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_chol_batched},
    {.name = "overlapped",
     .what = "small fronts of a level beside the large ones",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .run = wi_chol_overlapped},
#endif
};

const char *wi_chol_fits_definite(const weft_context *ctx, const void *args) {
    const wi_chol_args *const call = args;
    (void)ctx;
    return wi_chol_has_d(call->plan) ? "computes L Lt of positive definite matrices only"
           : call->plan->narrow      ? "computes factors of f64 only"
                                     : NULL;
}

const wi_ladder wi_sparse_ladder = {"sparse", rows, sizeof rows / sizeof rows[0]};

weft_status wi_chol_check_plan(weft_context *ctx, const char *call, const weft_chol *plan) {
    if (!plan)
        return wi_fail(ctx, WEFT_EARG, "%s: plan is NULL; weft_chol_analyze makes one", call);
    if (ctx->comm && ctx->kind != WI_CPU)
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: place %s does not do it yet; weft_open a cpu or gpu place", call,
                       ctx->place);
    if (ctx->kind != WI_CPU && plan->device && plan->device->device != ctx->device)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: plan has memory on GPU %d, and the context is on %s; use one GPU, or "
                       "analyze once for each",
                       call, plan->device->device, ctx->place);
    if (ctx->kind != WI_CPU && !wi_chol_has_gpus(ctx, plan))
        return wi_fail(ctx, WEFT_EARG,
                       "%s: plan has memory on %d GPUs, and the context is on %s; use the place it "
                       "was factored on, or analyze once more",
                       call, wi_chol_gpus(plan), ctx->place);
    return WEFT_OK;
}

weft_status wi_chol_check_matrix(weft_context *ctx, const char *call, const weft_chol *plan,
                                 const weft_sparse *matrix) {
    if (!matrix)
        return wi_fail(ctx, WEFT_EARG, "%s: matrix is NULL; pass the one that was analyzed", call);
    if (!matrix->symmetric || matrix->cols != (size_t)plan->symbolic.n ||
        (size_t)matrix->start[matrix->cols] != plan->report.nnz_a ||
        matrix->fingerprint != plan->fingerprint)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: matrix has another pattern than the one analyzed; weft_chol_analyze it",
                       call);
    return WEFT_OK;
}

/* What the latest factorization left is used where it is. */
static weft_status check_side(weft_context *ctx, const char *call, const weft_chol *plan) {
    if (plan->on_device != (ctx->kind == WI_CUDA))
        return wi_fail(ctx, WEFT_EARG,
                       "%s: plan was factored on a %s, and the context is on %s; factor on this "
                       "place",
                       call, plan->on_device ? "GPU" : "cpu place", ctx->place);
    return WEFT_OK;
}

weft_status wi_chol_check_factor(weft_context *ctx, const char *call, const weft_chol *plan) {
    if (plan->state != WI_CHOL_FACTORED)
        return wi_fail(ctx, WEFT_EARG, "%s: plan has no factor; weft_chol_factor makes one", call);
    return check_side(ctx, call, plan);
}

weft_status weft_chol_reserve(weft_context *ctx, weft_chol *plan, size_t n) {
    static const char call[] = "weft_chol_reserve";
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    const weft_status status = wi_chol_check_plan(ctx, call, plan);
    if (status != WEFT_OK)
        return status;
    return wi_numbers_reserve(ctx, call, plan,
                              n < 1             ? 1
                              : n < WI_CHOL_RHS ? (int64_t)n
                                                : WI_CHOL_RHS);
}

weft_status weft_chol_on_progress(weft_context *ctx, weft_chol *plan, weft_chol_progress progress,
                                  void *user) {
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    const weft_status status = wi_chol_check_plan(ctx, "weft_chol_on_progress", plan);
    if (status != WEFT_OK)
        return status;
    plan->progress = progress;
    plan->progress_user = user;
    return WEFT_OK;
}

/* The supernode of column k. */
static int64_t supernode_of(const wi_symbolic *symbolic, int64_t k) {
    int64_t low = 0, high = symbolic->supernodes;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (symbolic->first[middle] <= k)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The entry (k, k) of L, or of D, or the pivot if it failed there. */
static double diagonal(const weft_chol *plan, int64_t s, int64_t k) {
    if (wi_chol_has_d(plan))
        return plan->numbers.pivots.d[k];
    if (plan->on_device)
        return wi_chol_device_entry(plan, k);
    const int64_t j = k - plan->symbolic.first[s];
    return plan->narrow ? wi_chol_narrow_column(plan, s, j)[j] : wi_chol_column(plan, s, j)[j];
}

/* The pivot at which column k failed, in the matrix as factored (scaled or not). */
static double pivot_of(const weft_chol *plan, int64_t k) {
    return diagonal(plan, supernode_of(&plan->symbolic, k), k);
}

/* The caller's column that came to place k: pivots may have been chosen in another order. */
static int64_t column_at(const weft_chol *plan, int64_t k) {
    const wi_symbolic *const symbolic = &plan->symbolic;
    return symbolic->perm[wi_pivots_column(plan, supernode_of(symbolic, k), k)];
}

/* The same in the caller's matrix. */
static double unscaled(const weft_chol *plan, int64_t k, double pivot) {
    return ldexp(pivot, -2 * wi_chol_power(plan, column_at(plan, k)));
}

/* The same as wi_chol_fail for L D Lt. */
static weft_status fail_pivot(weft_context *ctx, const char *call, weft_chol *plan,
                              int64_t column) {
    const double pivot = pivot_of(plan, column), own = unscaled(plan, column, pivot);
    const long long j = (long long)column_at(plan, column);
    if (!isfinite(pivot))
        return wi_fail(ctx, WEFT_ENONFINITE,
                       "%s: numbers of L or D grow beyond what a double can hold at column %lld "
                       "(counted from 0) of the matrix; set options.perturbation",
                       call, j);
    plan->state = WI_CHOL_INDEFINITE;
    if (plan->kind == WEFT_CHOL_QUASIDEFINITE && pivot != 0)
        return wi_fail(ctx, WEFT_ENOTSPD,
                       "%s: matrix is not quasi-definite: the pivot of its column %lld (counted "
                       "from 0) is %g, and its sign was to be %c; correct options.signs, set "
                       "options.perturbation, or ask for WEFT_CHOL_INDEFINITE",
                       call, j, own, plan->numbers.pivots.signs[column] < 0 ? '-' : '+');
    return wi_fail(
        ctx, WEFT_ESINGULAR,
        "%s: matrix has no pivot for its column %lld (counted from 0): %g is left on the "
        "diagonal, and no more beside it that could be chosen; set "
        "options.perturbation",
        call, j, own);
}

weft_status wi_chol_fail(weft_context *ctx, const char *call, weft_chol *plan, int64_t column) {
    const double pivot = pivot_of(plan, column);
    const long long j = (long long)plan->symbolic.perm[column];
    plan->failed = column;
    if (wi_chol_has_d(plan))
        return fail_pivot(ctx, call, plan, column);
    if (!isfinite(pivot))
        return wi_fail(ctx, WEFT_ENONFINITE,
                       "%s: numbers of L grow beyond what a double can hold at column %lld "
                       "(counted from 0) of the matrix: its entries are too large for its "
                       "diagonal; it is not positive definite",
                       call, j);
    plan->state = WI_CHOL_INDEFINITE;
    return wi_fail(ctx, WEFT_ENOTSPD,
                   "%s: matrix is not positive definite: the pivot of its column %lld (counted "
                   "from 0) is %g; weft_chol_direction has the proof",
                   call, j, unscaled(plan, column, pivot));
}

/* The share of the work between two calls of the caller's progress function. */
static const double progress_share = 1e-3;

bool wi_chol_tell(weft_chol *plan, double done) {
    if (!plan->progress || done < plan->told + progress_share)
        return true;
    plan->told = done;
    return plan->progress(plan->progress_user, done < 1 ? done : 1) == 0;
}

weft_status wi_chol_cancel(weft_context *ctx, const char *call) {
    return wi_fail(ctx, WEFT_ECANCELLED, "%s: cancelled by the progress function; factor again",
                   call);
}

/* Is y = A d within rounding of 0: does a change of each a[i][j] by at most 2^-40 sqrt(a[i][i]
 * a[j][j]) make it 0? (The factorization of random low-rank matrices loses nearly that much, never
 * more.) */
static bool is_rounding(const weft_sparse *a, const double *d, const double *y) {
    static const double rounding = 0x1p-40;
    double size = 0;
    for (size_t j = 0; j < a->cols; j++)
        size += sqrt(fabs(wi_sparse_diagonal(a, (int64_t)j))) * fabs(d[j]);
    for (size_t i = 0; i < a->rows; i++) {
        if (!(fabs(y[i]) <= rounding * sqrt(fabs(wi_sparse_diagonal(a, (int64_t)i))) * size))
            return false;
    }
    return true;
}

/* The same for a matrix that may be indefinite, relative to its largest entry. */
static bool is_rounding_of(const weft_sparse *a, const double *d, const double *y) {
    static const double rounding = 0x1p-36;
    return wi_largest(a->rows, y) <=
           rounding * wi_largest((size_t)a->start[a->cols], a->value) * wi_largest(a->cols, d);
}

/* Does the direction of column k (see weft_chol_direction), computed from what the failed
 * factorization left, show that the matrix is singular? */
static bool is_null_direction(weft_context *ctx, const wi_chol_args *args, int64_t k) {
    const weft_chol *const plan = args->plan;
    const weft_sparse *const a = args->matrix;
    const wi_solve_room room = wi_solve_room_of(plan, 1);
    if (wi_chol_direction(ctx, plan, supernode_of(&plan->symbolic, k), k) != WEFT_OK)
        return false;
    for (size_t j = 0; j < a->cols; j++)
        room.x[plan->symbolic.perm[j]] = room.y[j];
    weft_sparse_multiply(ctx, a, 1, room.x, a->cols, room.y, a->rows);
    return wi_chol_has_d(plan) ? is_rounding_of(a, room.x, room.y) : is_rounding(a, room.x, room.y);
}

/* The first column in the subtree of the failed column whose pivot is so small relative to its
 * diagonal entry that it may be 0 plus a rounding error; the failed column itself if there is none
 * before. */
static int64_t first_tiny_pivot(const weft_chol *plan, const weft_sparse *a) {
    static const double tiny = 0x1p-40;
    const wi_symbolic *const symbolic = &plan->symbolic;
    const int64_t last = supernode_of(symbolic, plan->failed);
    for (int64_t s = last - symbolic->size[last] + 1; s <= last; s++) {
        for (int64_t k = symbolic->first[s]; k < symbolic->first[s + 1] && k < plan->failed; k++) {
            const double l = diagonal(plan, s, k);
            if (l * l <= tiny * wi_sparse_diagonal(a, symbolic->perm[k]))
                return k;
        }
    }
    return plan->failed;
}

/* A pivot that is not positive may be a 0 with a rounding error, or a consequence of an earlier
 * such pivot that was rounded up. In both cases the direction of the first such column is a null
 * vector, and the matrix is singular. */
static weft_status tell_singular(weft_context *ctx, const wi_chol_args *args) {
    weft_chol *const plan = args->plan;
    int64_t column = plan->failed;
    if (!is_null_direction(ctx, args, column)) {
        if (wi_chol_has_d(plan))
            return WEFT_ESINGULAR;
        column = first_tiny_pivot(plan, args->matrix);
        if (!is_null_direction(ctx, args, column))
            return WEFT_ENOTSPD;
    }
    plan->failed = column;
    return wi_fail(ctx, WEFT_ESINGULAR,
                   "%s: matrix is singular: its column %lld (counted from 0) is a combination of "
                   "others; weft_chol_direction has d with A d = 0 but for rounding",
                   args->call, (long long)column_at(plan, column));
}

/* The same of values that may be on a device only. */
static weft_status tell_singular_of(weft_context *ctx, const wi_chol_args *args) {
    weft_sparse own;
    wi_chol_args at_host = *args;
    weft_status status = wi_chol_fetch(ctx, args->call, args->matrix, &own);
    if (status != WEFT_OK)
        return status;
    at_host.matrix = &own;
    status = tell_singular(ctx, &at_host);
    wi_chol_give_back(args->matrix, &own);
    return status;
}

/* Does this status of a failed rung mean that it has written to L? */
static bool has_begun(weft_status status) {
    return status == WEFT_ENOTSPD || status == WEFT_ESINGULAR || status == WEFT_ENONFINITE ||
           status == WEFT_ECANCELLED || status == WEFT_EDEVICE;
}

int64_t wi_chol_failed(const weft_chol *plan, double *pivot) {
    *pivot = unscaled(plan, plan->failed, pivot_of(plan, plan->failed));
    return column_at(plan, plan->failed);
}

static weft_status run(weft_context *ctx, const char *call, weft_chol *plan,
                       const weft_sparse *matrix) {
    weft_sparse scaled;
    const weft_status status = wi_chol_balance(ctx, call, plan, matrix);
    if (status != WEFT_OK)
        return status;
    const wi_chol_args args = {
        .call = call, .plan = plan, .matrix = wi_chol_balanced(plan, matrix, &scaled)};
    plan->state = WI_CHOL_EMPTY;
    plan->on_device = ctx->kind == WI_CUDA;
    plan->told = 0;
    plan->condition = 0;
    wi_pivots_begin(plan, args.matrix);
    const weft_status ran = wi_run(ctx, &wi_sparse_ladder, call, WI_NO_TYPE, &args);
    const bool may_be_singular = ran == (wi_chol_has_d(plan) ? WEFT_ESINGULAR : WEFT_ENOTSPD);
    return may_be_singular && !plan->narrow ? tell_singular_of(ctx, &args) : ran;
}

/* After a factorization that has begun. */
static void settle(weft_chol *plan, weft_status status) {
    if (status == WEFT_OK) {
        plan->state = WI_CHOL_FACTORED;
        wi_pivots_count(plan);
        return;
    }
    plan->report.factor_seconds = 0;
    plan->report.positive = plan->report.negative = 0;
    plan->report.perturbed = plan->report.pairs = 0;
}

weft_status wi_chol_fall_back(weft_context *ctx, const char *call, weft_chol *plan,
                              const weft_sparse *matrix) {
    plan->report.fell_back = 1;
    plan->state = WI_CHOL_EMPTY;
    weft_status status = wi_numbers_widen(ctx, call, plan);
    if (status == WEFT_OK && ctx->kind == WI_CUDA)
        status = wi_chol_device_map(ctx, call, plan, matrix);
    if (status == WEFT_OK)
        status = run(ctx, call, plan, matrix);
    settle(plan, status);
    return status;
}

/* Is this what floats alone may have led to? */
static bool is_of_precision(weft_status status) {
    return status == WEFT_ENOTSPD || status == WEFT_ESINGULAR || status == WEFT_ENONFINITE;
}

weft_status wi_chol_factor(weft_context *ctx, const char *call, weft_chol *plan,
                           const weft_sparse *matrix) {
    const double begin = wi_now();
    weft_status status = wi_numbers_reserve(ctx, call, plan, 1);
    if (status == WEFT_OK)
        status = ctx->kind == WI_CPU ? wi_numbers_map(ctx, call, plan, matrix)
                                     : wi_chol_device_map(ctx, call, plan, matrix);
    if (status != WEFT_OK)
        return status;
    const wi_chol_state before = plan->state;
    const bool was_on_device = plan->on_device;
    const wi_balance balance = plan->numbers.balance;
    status = run(ctx, call, plan, matrix);
    if (plan->narrow && is_of_precision(status)) {
        status = wi_chol_fall_back(ctx, call, plan, matrix);
    } else if (status == WEFT_OK || has_begun(status)) {
        settle(plan, status);
    } else {
        plan->state = before;
        plan->on_device = was_on_device;
        plan->numbers.balance = balance;
    }
    if (status == WEFT_OK && !(plan->on_device && plan->device->captured))
        plan->report.factor_seconds = wi_now() - begin;
    return status;
}

weft_status weft_chol_factor(weft_context *ctx, weft_chol *plan, const weft_sparse *matrix) {
    static const char call[] = "weft_chol_factor";
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = wi_chol_check_plan(ctx, call, plan);
    if (status == WEFT_OK)
        status = wi_chol_check_matrix(ctx, call, plan, matrix);
    if (status == WEFT_OK && ctx->kind == WI_CUDA && wi_gpu_capturing(ctx))
        status = wi_fail(ctx, WEFT_EUNSUPPORTED,
                         "%s: values in host memory cannot take part in a stream capture; call "
                         "weft_chol_factor_values with device memory, or factor before it",
                         call);
    return status == WEFT_OK ? wi_chol_factor(ctx, call, plan, matrix) : status;
}

/* log |det D| for L D Lt, whose L has 1 on the diagonal. */
static double logdet_of_d(const weft_chol *plan) {
    const wi_pivots *const pivots = &plan->numbers.pivots;
    double sum = 0;
    for (int64_t k = 0; k < plan->symbolic.n; k++) {
        const double d = pivots->d[k], e = pivots->e[k];
        sum -= 2 * wi_chol_power(plan, plan->symbolic.perm[k]) * log(2);
        if (pivots->mark[k] == WI_PIVOT_FIRST)
            sum += 2 * log(fabs(e)) + log(fabs(d / e * (pivots->d[k + 1] / e) - 1));
        else if (pivots->mark[k] != WI_PIVOT_SECOND)
            sum += log(fabs(d));
    }
    return sum;
}

double wi_chol_logdet(const weft_chol *plan) {
    double sum = 0;
    if (wi_chol_has_d(plan))
        return logdet_of_d(plan);
    for (int64_t s = 0; s < plan->symbolic.supernodes; s++) {
        for (int64_t k = plan->symbolic.first[s]; k < plan->symbolic.first[s + 1]; k++)
            sum += log(diagonal(plan, s, k)) - wi_chol_power(plan, plan->symbolic.perm[k]) * log(2);
    }
    return 2 * sum;
}

weft_status weft_chol_direction(weft_context *ctx, weft_chol *plan, double *d) {
    static const char call[] = "weft_chol_direction";
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = wi_chol_check_plan(ctx, call, plan);
    if (status == WEFT_OK && plan->state != WI_CHOL_INDEFINITE)
        status = wi_fail(ctx, WEFT_EARG,
                         "%s: plan has met no matrix that is not positive definite in its latest "
                         "factorization; ask after WEFT_ENOTSPD or WEFT_ESINGULAR",
                         call);
    if (status == WEFT_OK)
        status = check_side(ctx, call, plan);
    if (status == WEFT_OK)
        status = wi_call_check_one(
            ctx, call, wi_elements("d", d, (size_t)plan->symbolic.n, WEFT_F64, WI_OUT | WI_HOST));
    if (status != WEFT_OK)
        return status;
    const wi_symbolic *const symbolic = &plan->symbolic;
    const double *const found = wi_solve_room_of(plan, 1).y;
    status = wi_chol_direction(ctx, plan, supernode_of(symbolic, plan->failed), plan->failed);
    if (status != WEFT_OK)
        return status;
    const int power = wi_chol_power(plan, column_at(plan, plan->failed));
    for (int64_t k = 0; k < symbolic->n; k++) {
        const int64_t i = symbolic->perm[k];
        d[i] = ldexp(found[k], wi_chol_power(plan, i) - power);
        if (!isfinite(d[i]))
            status = wi_fail(ctx, WEFT_ENONFINITE,
                             "%s: the number of row %lld is too large for a double; scale the "
                             "matrix",
                             call, (long long)i);
    }
    return status;
}
