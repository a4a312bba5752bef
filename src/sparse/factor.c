/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of the factorization: reserve and factor. */
#include "core/gpu.h"
#include "sparse/chol_device.h"
#include "sparse/ranks.h"

/* Each rank's own part is done by one rung. */
static const char *fits_ranks(const weft_context *ctx, const void *args) {
    const wi_row *const forced = wi_forced_row(ctx->child, &wi_sparse_ladder);
    (void)args;
    return forced && forced->run != wi_chol_multifrontal
               ? "runs multifrontal on each rank, and another variant was asked for"
               : NULL;
}

#if defined(WEFT_CUDA) && WEFT_LADDER
static const char *fits_clusters(const weft_context *ctx, const void *args) {
    if (ctx->gpu->capability < 90)
        return "needs clusters: compute capability 9.0";
    return ctx->gpu->shared_optin < WI_CLUSTER_SHARED ? "needs 225 KiB of shared memory for a block"
                                                      : wi_chol_fits_definite(ctx, args);
}
#endif

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
     .run = wi_chol_batched},
    {.name = "overlapped",
     .what = "small fronts of a level beside the large ones",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .run = wi_chol_overlapped},
#    if WEFT_LADDER
    {.name = "clusters",
     .what = "overlapped; a front of up to 512 rows in the shared memory of a cluster",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .misfit = fits_clusters,
     .run = wi_chol_clusters},
#    endif
    {.name = "rising",
     .what = "overlapped; the first levels by one kernel, fronts as their children finish",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_chol_rising},
#endif
    {.name = "ranks",
     .what = "subtrees and what is above them dealt out to ranks; each multifrontal",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_ALL_TYPES,
     .misfit = fits_ranks,
     .seconds = wi_no_rival,
     .run = wi_chol_ranks},
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
weft_status wi_chol_check_side(weft_context *ctx, const char *call, const weft_chol *plan) {
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
    return wi_chol_check_side(ctx, call, plan);
}

weft_status weft_chol_reserve(weft_context *ctx, weft_chol *plan, size_t n) {
    static const char call[] = "weft_chol_reserve";
    weft_context *own;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = wi_over_enter(ctx, call, &own);
    if (status == WEFT_OK)
        status = wi_over_check_plan(ctx, own, call, plan);
    if (status == WEFT_OK) {
        plan->over = ctx->comm ? ctx : NULL;
        status = wi_numbers_reserve(own, call, plan,
                                    n < 1             ? 1
                                    : n < WI_CHOL_RHS ? (int64_t)n
                                                      : WI_CHOL_RHS);
        plan->over = NULL;
    }
    return wi_over_leave(ctx, own, wi_over_agree(ctx, own, n, status));
}

weft_status weft_chol_on_progress(weft_context *ctx, weft_chol *plan, weft_chol_progress progress,
                                  void *user) {
    static const char call[] = "weft_chol_on_progress";
    weft_context *own;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = wi_over_enter(ctx, call, &own);
    if (status == WEFT_OK)
        status = wi_over_check_plan(ctx, own, call, plan);
    if (status != WEFT_OK)
        return wi_over_leave(ctx, own, status);
    plan->progress = progress;
    plan->progress_user = user;
    return WEFT_OK;
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

/* Does this status of a failed rung mean that it has written to L? */
static bool has_begun(const weft_chol *plan, weft_status status) {
    if (status == WEFT_ECOMM)
        return plan->over->comm->broken;
    return status == WEFT_ENOTSPD || status == WEFT_ESINGULAR || status == WEFT_ENONFINITE ||
           status == WEFT_ECANCELLED || status == WEFT_EDEVICE;
}

static weft_status run(weft_context *ctx, const char *call, weft_chol *plan,
                       const weft_sparse *matrix) {
    weft_sparse scaled;
    const weft_status status = wi_chol_agree(ctx, plan, wi_chol_balance(ctx, call, plan, matrix));
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
    return may_be_singular && !plan->narrow ? wi_chol_tell_singular(ctx, &args) : ran;
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
    status = wi_chol_agree(ctx, plan, status);
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
    status = wi_chol_agree(ctx, plan, status);
    if (status != WEFT_OK)
        return status;
    const wi_chol_state before = plan->state;
    const bool was_on_device = plan->on_device;
    const wi_balance balance = plan->numbers.balance;
    status = run(ctx, call, plan, matrix);
    if (plan->narrow && is_of_precision(status)) {
        status = wi_chol_fall_back(ctx, call, plan, matrix);
    } else if (status == WEFT_OK || has_begun(plan, status)) {
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

/* weft_chol_factor over ranks, after the checks. */
static weft_status factor_over_ranks(weft_context *ctx, weft_context *own, const char *call,
                                     weft_chol *plan, const weft_sparse *matrix,
                                     weft_status status) {
    const wi_chol_ranks_args args = {own, call, plan, matrix};
    const uint64_t alike = status == WEFT_OK ? wi_over_alike(matrix) : 0;
    if (status != WEFT_OK)
        wi_fail_as(ctx, status, own);
    return wi_dist_run(ctx, &wi_sparse_ladder, call, WI_NO_TYPE, alike, status, &args);
}

weft_status weft_chol_factor(weft_context *ctx, weft_chol *plan, const weft_sparse *matrix) {
    static const char call[] = "weft_chol_factor";
    weft_context *own;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = wi_over_enter(ctx, call, &own);
    if (status == WEFT_OK)
        status = wi_over_check_plan(ctx, own, call, plan);
    if (status == WEFT_OK)
        status = wi_chol_check_matrix(own, call, plan, matrix);
    if (ctx->comm)
        return factor_over_ranks(ctx, own, call, plan, matrix, status);
    if (status == WEFT_OK && ctx->kind == WI_CUDA && wi_gpu_capturing(ctx))
        status = wi_fail(ctx, WEFT_EUNSUPPORTED,
                         "%s: values in host memory cannot take part in a stream capture; call "
                         "weft_chol_factor_values with device memory, or factor before it",
                         call);
    return status == WEFT_OK ? wi_chol_factor(ctx, call, plan, matrix) : status;
}
