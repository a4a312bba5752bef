/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of the analysis: order, analyze, report. */
#include <math.h>
#include <string.h>

#include "sparse/chol_device.h"
#include "sparse/order.h"
#include "sparse/pages.h"
#include "sparse/pairs.h"
#include "sparse/ranks.h"

static const char name[] = "weft_chol_analyze";

/* The longest that `best` may spend on a second ordering, unless the options say otherwise. */
static const double default_seconds = 60;

weft_status wi_chol_create(weft_context *ctx, const char *call, weft_chol **plan) {
    *plan = wi_host_alloc(sizeof **plan);
    if (!*plan)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for a plan; free some", call);
    memset(*plan, 0, sizeof **plan);
    (*plan)->small = WI_FRONT_SMALL;
    (*plan)->least_work = 1e8; /* flops: starting a thread can take the system milliseconds */
    return WEFT_OK;
}

void weft_chol_destroy(weft_chol *plan) {
    if (!plan)
        return;
    wi_numbers_free(&plan->numbers);
    wi_chol_device_free(plan);
    wi_symbolic_free(&plan->symbolic);
    wi_host_free(plan->negative);
    wi_host_free(plan);
}

void wi_chol_describe(weft_chol *plan) {
    const wi_symbolic *const symbolic = &plan->symbolic;
    weft_chol_report *const report = &plan->report;
    const size_t n = (size_t)symbolic->n, supernodes = (size_t)symbolic->supernodes;
    report->n = n;
    report->nnz_l = (size_t)symbolic->nnz_l;
    report->nnz_l_stored = (size_t)symbolic->nnz_l_stored;
    report->flops = symbolic->flops;
    report->supernodes = supernodes;
    report->tree_height = (size_t)symbolic->tree_height;
    report->largest_front = (size_t)symbolic->largest_front;
    report->factor_bytes = symbolic->factor_bytes;
    report->work_bytes = symbolic->work_bytes;
    report->analysis_bytes =
        sizeof *plan + (plan->negative ? (size_t)wi_sign_words(symbolic->n) : 0) * sizeof(int64_t) +
        (4 * n + 6 * supernodes + 2 + (size_t)symbolic->rows_at[supernodes]) * sizeof(int64_t);
}

static weft_status check(weft_context *ctx, const weft_sparse *matrix,
                         const weft_chol_options *options) {
    if (!matrix)
        return wi_fail(ctx, WEFT_EARG, "%s: matrix is NULL; create one first", name);
    /* The options struct of any version ends at the end of a member. */
    if (options && (options->size == 0 || options->size > sizeof *options ||
                    options->size % sizeof options->size != 0))
        return wi_fail(ctx, WEFT_EARG,
                       "%s: options.size is %zu; set it to sizeof(weft_chol_options), %zu", name,
                       options->size, sizeof *options);
    if (!matrix->symmetric)
        return wi_fail(
            ctx, WEFT_EARG,
            "%s: matrix was not given as symmetric; create it with WEFT_SYMMETRIC_LOWER, "
            "WEFT_SYMMETRIC_UPPER or WEFT_SYMMETRIC_FULL",
            name);
    return WEFT_OK;
}

/* The entry for this ladder's forced rung in the context. */
static const wi_row **forced_row(weft_context *ctx) {
    size_t op = 0;
    while (wi_ops[op] != &wi_sparse_order_ladder)
        op++;
    return &ctx->forced[op];
}

static weft_status find_ordering(weft_context *ctx, const char *ordering, const wi_row **row) {
    const wi_ladder *const ladder = &wi_sparse_order_ladder;
    char known[WI_MESSAGE_BYTES] = "";
    for (size_t k = 0; k < ladder->count; k++) {
        wi_append(known, sizeof known, ", ", ladder->rows[k].name);
        if (strcmp(ladder->rows[k].name, ordering) == 0) {
            *row = &ladder->rows[k];
            return WEFT_OK;
        }
    }
    return wi_fail(ctx, WEFT_EARG, "%s: this build has no ordering \"%s\"; it has: %s", name,
                   ordering, known);
}

/* Runs the ordering that the options name, or else the context's choice. *flops is set to an upper
 * bound on the flops of L, or INFINITY. */
static weft_status order(weft_context *ctx, const weft_chol_options *options,
                         const wi_pattern *graph, int64_t *perm, wi_spare *spare, double *flops,
                         const char **chosen) {
    const wi_row **const forced = forced_row(ctx);
    const wi_row *const before = *forced;
    weft_status status = WEFT_OK;
    const double seconds = options->ordering_seconds;
    *flops = INFINITY;
    *chosen = NULL;
    const wi_order_args args = {.call = name,
                                .graph = graph,
                                .perm = perm,
                                .given = options->permutation,
                                .seconds_budget = seconds > 0 ? seconds : default_seconds,
                                .factorizations = options->factorizations,
                                .flops = flops,
                                .chosen = chosen,
                                .spare = spare};
    if (options->ordering)
        status = find_ordering(ctx, options->ordering, forced);
    if (status == WEFT_OK)
        status = wi_run(ctx, &wi_sparse_order_ladder, name, WI_NO_TYPE, &args);
    *forced = before;
    if (status == WEFT_OK && !*chosen)
        *chosen = weft_used(ctx, wi_sparse_order_ladder.op);
    return status;
}

/* Is the order of the columns the caller's? Then it stays as it is. */
static bool is_callers(weft_context *ctx, const weft_chol_options *options) {
    const wi_row *const forced = *forced_row(ctx);
    const char *const asked = options->ordering ? options->ordering : forced ? forced->name : "";
    return strcmp(asked, "natural") == 0 || strcmp(asked, "given") == 0;
}

/* Orders the columns of an indefinite matrix, pairs as one vertex each; the graph becomes the one
 * in which both columns of a pair have the same neighbours. */
static weft_status order_pairs(weft_context *ctx, const weft_sparse *matrix,
                               const weft_chol_options *options, wi_pattern *graph, int64_t *perm,
                               wi_spare *spare, double *flops, const char **chosen) {
    int64_t *partner = NULL, *vertex = NULL;
    wi_pattern joined = {0, NULL, NULL};
    weft_status status = WEFT_OK;
    if (!is_callers(ctx, options))
        status = wi_pairs_find(ctx, name, matrix, &partner);
    if (status != WEFT_OK)
        return status;
    if (!partner)
        return order(ctx, options, graph, perm, spare, flops, chosen);
    vertex = wi_host_alloc((size_t)graph->n * sizeof *vertex);
    status =
        vertex ? wi_pairs_join(ctx, name, graph, partner, vertex, &joined)
               : wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for the graph of pairs; free some", name);
    if (status == WEFT_OK)
        status = order(ctx, options, &joined, perm, spare, flops, chosen);
    if (status == WEFT_OK)
        status = wi_pairs_part(ctx, name, &joined, partner, vertex, perm, graph);
    *flops = INFINITY;
    wi_pattern_free(&joined);
    wi_host_free(vertex);
    wi_host_free(partner);
    return status;
}

static weft_status analyze(weft_context *ctx, const weft_sparse *matrix,
                           const weft_chol_options *options, weft_chol *plan) {
    const double begin = wi_now();
    const size_t bytes = matrix->cols * sizeof(int64_t);
    wi_spare spare = {NULL, 0, 0};
    wi_pattern graph;
    weft_status status = wi_pattern_build(ctx, name, matrix, &graph);
    if (status != WEFT_OK)
        return status;
    int64_t *const perm = wi_host_alloc(bytes);
    if (!perm) {
        status = wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for %zu bytes, the ordering; free some",
                         name, bytes);
        goto done;
    }
    const double order_begin = wi_now();
    double flops;
    status = options->kind == WEFT_CHOL_INDEFINITE
                 ? order_pairs(ctx, matrix, options, &graph, perm, &spare, &flops,
                               &plan->report.ordering)
                 : order(ctx, options, &graph, perm, &spare, &flops, &plan->report.ordering);
    const double order_end = wi_now();
    if (status == WEFT_OK)
        status = wi_symbolic_build(ctx, name, &graph, perm, flops, &wi_relax_default, &spare,
                                   &plan->symbolic);
    if (status != WEFT_OK)
        goto done;
    plan->fingerprint = matrix->fingerprint;
    plan->report.nnz_a = (size_t)matrix->start[matrix->cols];
    plan->report.order_seconds = order_end - order_begin;
    wi_chol_describe(plan);
    plan->report.analyze_seconds = wi_now() - begin;
done:
    wi_spare_free(ctx, ctx->threads, &spare);
    wi_host_free(perm);
    wi_pattern_free(&graph);
    return status;
}

static weft_status check_kind(weft_context *ctx, const weft_sparse *matrix,
                              const weft_chol_options *options) {
    if ((unsigned)options->kind > WEFT_CHOL_INDEFINITE)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: options.kind is %d; it is WEFT_CHOL_DEFINITE, WEFT_CHOL_QUASIDEFINITE "
                       "or WEFT_CHOL_INDEFINITE",
                       name, (int)options->kind);
    if ((unsigned)options->precision > WEFT_PRECISION_MIXED)
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: options.precision is %d; sparse matrices are factored in "
                       "WEFT_PRECISION_FULL or WEFT_PRECISION_MIXED",
                       name, (int)options->precision);
    if (!(options->perturbation < 1))
        return wi_fail(ctx, WEFT_EARG,
                       "%s: options.perturbation is %g; give the share of the largest entry below "
                       "which a pivot is replaced, as 1e-8, or 0 for the default",
                       name, options->perturbation);
    for (size_t j = 0;
         options->kind == WEFT_CHOL_QUASIDEFINITE && options->signs && j < matrix->cols; j++) {
        if (options->signs[j] == 0)
            return wi_fail(ctx, WEFT_EARG,
                           "%s: options.signs[%zu] is 0; give 1 or -1, or NULL for the signs of "
                           "the diagonal",
                           name, j);
    }
    return WEFT_OK;
}

weft_status wi_chol_take_signs(weft_context *ctx, const char *call, weft_chol *plan, int64_t n) {
    const size_t bytes = (size_t)wi_sign_words(n) * sizeof *plan->negative;
    plan->negative = wi_host_alloc(bytes);
    if (!plan->negative)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for %zu bytes, the signs; free some", call,
                       bytes);
    memset(plan->negative, 0, bytes);
    return WEFT_OK;
}

/* What the options say about pivots. */
static weft_status keep_kind(weft_context *ctx, const weft_sparse *matrix,
                             const weft_chol_options *options, weft_chol *plan) {
    const int64_t n = (int64_t)matrix->cols;
    weft_status status = WEFT_OK;
    plan->kind = options->kind;
    plan->perturbation = options->perturbation;
    plan->precision = options->precision;
    plan->narrow = options->precision == WEFT_PRECISION_MIXED;
    if (options->kind != WEFT_CHOL_QUASIDEFINITE || !options->signs || n == 0)
        return WEFT_OK;
    status = wi_chol_take_signs(ctx, name, plan, n);
    for (int64_t j = 0; j < n && status == WEFT_OK; j++)
        plan->negative[j / 64] |= (uint64_t)(options->signs[j] < 0) << j % 64;
    return status;
}

/* The analysis on this rank, or all of it. */
static weft_status analyze_here(weft_context *ctx, const weft_sparse *matrix,
                                const weft_chol_options *options, weft_chol **plan) {
    if (!plan)
        return wi_fail(ctx, WEFT_EARG, "%s: plan is NULL; pass where the plan goes", name);
    *plan = NULL;
    weft_status status = check(ctx, matrix, options);
    if (status != WEFT_OK)
        return status;
    weft_chol_options whole = {.size = sizeof whole};
    if (options)
        memcpy(&whole, options, options->size);
    if (!(whole.ordering_seconds >= 0))
        return wi_fail(ctx, WEFT_EARG,
                       "%s: options.ordering_seconds is %g; give seconds, or 0 for the default",
                       name, whole.ordering_seconds);
    if (!(whole.factorizations >= 0))
        return wi_fail(
            ctx, WEFT_EARG,
            "%s: options.factorizations is %g; give how many there will be, or 0 for one", name,
            whole.factorizations);
    weft_chol *made;
    status = check_kind(ctx, matrix, &whole);
    if (status == WEFT_OK)
        status = wi_chol_create(ctx, name, &made);
    if (status != WEFT_OK)
        return status;
    status = keep_kind(ctx, matrix, &whole, made);
    if (status == WEFT_OK)
        status = analyze(ctx, matrix, &whole, made);
    if (status == WEFT_OK)
        *plan = made;
    else
        weft_chol_destroy(made);
    return status;
}

/* What has to be the same on all ranks. */
static uint64_t alike(const weft_chol *plan) {
    const wi_symbolic *const symbolic = &plan->symbolic;
    const uint64_t kind = wi_alike(wi_alike(plan->fingerprint, plan->kind), plan->precision);
    return wi_alike_bytes(wi_alike(kind, (uint64_t)symbolic->supernodes), symbolic->perm,
                          (size_t)symbolic->n * sizeof *symbolic->perm);
}

/* Over ranks each analyzes the whole, and all come to the same plan. */
weft_status weft_chol_analyze(weft_context *ctx, const weft_sparse *matrix,
                              const weft_chol_options *options, weft_chol **plan) {
    weft_context *own;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    if (plan)
        *plan = NULL;
    weft_status status = wi_over_enter(ctx, name, &own);
    if (status == WEFT_OK)
        status = analyze_here(own, matrix, options, plan);
    if (!ctx->comm)
        return status;
    const bool made = status == WEFT_OK;
    status = wi_over_agree(ctx, own, made ? alike(*plan) : 0, status);
    if (made && status != WEFT_OK) {
        weft_chol_destroy(*plan);
        *plan = NULL;
    }
    return wi_over_leave(ctx, own, status);
}

const int64_t *weft_chol_permutation(const weft_chol *plan) {
    return plan ? plan->symbolic.perm : NULL;
}
