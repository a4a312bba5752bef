/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of quantile: check arguments, turn fractions into ranks, then run the ladder on
 * memory that the place can access. */
#include "quantile/quantile.h"

#include <string.h>

#include "comm/gpus.h"

enum {
    X,
    WANTED, /* ranks or q, in host memory; not passed on */
    RESULTS,
    ARRAYS
};

static weft_status run_part(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_quantile_args args = *(const wi_quantile_args *)user;
    args.x = part->p[X];
    args.out = part->p[RESULTS];
    return wi_run(ctx, &wi_quantile_ladder, call->name, args.type, &args);
}

static weft_status check_quantiles(weft_context *ctx, const wi_quantile_request *r) {
    const double *const q = r->wanted;
    if ((unsigned)r->rule > WEFT_MIDPOINT)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: rule %d is not a weft_quantile_rule; pass WEFT_LINEAR ... "
                       "WEFT_MIDPOINT",
                       r->call, (int)r->rule);
    for (size_t j = 0; j < r->m; j++)
        if (!(q[j] >= 0 && q[j] <= 1))
            return wi_fail(ctx, WEFT_EARG, "%s: q[%zu] is %.17g; pass numbers from 0 to 1", r->call,
                           j, q[j]);
    return WEFT_OK;
}

bool wi_quantile_wants_elements(const wi_quantile_request *r) {
    return r->wanted_type == WEFT_U64;
}

static weft_status describe(weft_context *ctx, const wi_quantile_request *r, wi_call *call) {
    weft_status status = wi_check_type(ctx, r->call, r->type);
    if (status != WEFT_OK)
        return status;
    const unsigned silent = r->silent ? WI_OPTIONAL : 0;
    *call = (wi_call){.name = r->call,
                      .array = {[X] = wi_elements("x", r->x, r->n, r->type, WI_IN | WI_STRIDED),
                                [WANTED] = wi_elements(r->wanted_name, r->wanted, r->m,
                                                       r->wanted_type, WI_IN | WI_HOST),
                                [RESULTS] = wi_elements(r->results_name, r->results, r->m,
                                                        r->result_type, WI_OUT | silent)},
                      .count = ARRAYS,
                      .distributed = true};
    status = wi_call_check(ctx, call);
    return status == WEFT_OK && !wi_quantile_wants_elements(r) ? check_quantiles(ctx, r) : status;
}

/* Runs the call for jobs that are checked. */
static weft_status run(weft_context *ctx, const wi_quantile_request *r, wi_call *call,
                       const wi_quantile_job *jobs) {
    wi_quantile_args args = {.call = r->call,
                             .type = r->type,
                             .n = r->n,
                             .count = r->m,
                             .jobs = jobs,
                             .elements = wi_quantile_wants_elements(r)};
    call->array[WANTED] = wi_elements(r->wanted_name, NULL, 0, r->wanted_type, WI_IN | WI_OPTIONAL);
    return wi_call_run(ctx, call, run_part, &args);
}

/* ---- what is wanted ---- */

static weft_status check_ranks(weft_context *ctx, const wi_quantile_request *r, size_t n) {
    const uint64_t *const ranks = r->wanted;
    for (size_t j = 0; j < r->m; j++)
        if (ranks[j] >= n)
            return wi_fail(ctx, WEFT_EARG,
                           "%s: ranks[%zu] is %llu, and there are %zu elements; pass ranks "
                           "below n",
                           r->call, j, (unsigned long long)ranks[j], n);
    return WEFT_OK;
}

/* The rank of quantile q of n > 0 elements, and the fraction of the way to the next rank. */
static wi_quantile_job job_of(weft_quantile_rule rule, double q, size_t n) {
    const double last = (double)(n - 1), h = fmin(q * last, last), i = floor(h), g = h - i;
    const bool rounds_up = g > 0.5 || (g == 0.5 && fmod(i, 2) == 1);
    wi_quantile_job job = {.rank = (uint64_t)i};
    if (job.rank > n - 1)
        job.rank = n - 1;
    if (job.rank == n - 1)
        return job;
    if (rule == WEFT_LINEAR)
        job.fraction = g;
    else if (rule == WEFT_MIDPOINT)
        job.fraction = g > 0 ? 0.5 : 0;
    else if ((rule == WEFT_HIGHER_VALUE && g > 0) || (rule == WEFT_NEAREST_VALUE && rounds_up))
        job.rank++;
    return job;
}

weft_status wi_quantile_take_jobs(weft_context *ctx, const wi_quantile_request *r, size_t n,
                                  wi_quantile_job **jobs) {
    const bool elements = wi_quantile_wants_elements(r);
    const weft_status status = elements ? check_ranks(ctx, r, n) : WEFT_OK;
    if (status != WEFT_OK)
        return status;
    *jobs = r->m <= SIZE_MAX / sizeof **jobs ? wi_host_alloc(r->m * sizeof **jobs) : NULL;
    if (!*jobs)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for %zu ranks", r->call, r->m);
    memset(*jobs, 0, r->m * sizeof **jobs);
    for (size_t j = 0; j < r->m && n > 0; j++)
        (*jobs)[j] = elements ? (wi_quantile_job){.rank = ((const uint64_t *)r->wanted)[j]}
                              : job_of(r->rule, ((const double *)r->wanted)[j], n);
    return WEFT_OK;
}

/* ---- the calls ---- */

/* The quantiles of no elements. */
static weft_status put_nan(weft_context *ctx, const wi_quantile_request *r) {
    const double nan = NAN;
    weft_status status = WEFT_OK;
    for (size_t j = 0; j < r->m && status == WEFT_OK; j++)
        status = weft_copy(ctx, (double *)r->results + j, &nan, sizeof nan);
    return status;
}

static weft_status run_here(weft_context *ctx, const wi_quantile_request *r, wi_call *call) {
    wi_quantile_job *jobs = NULL;
    if (r->m == 0)
        return WEFT_OK;
    if (r->n == 0 && !wi_quantile_wants_elements(r))
        return put_nan(ctx, r);
    weft_status status = wi_quantile_take_jobs(ctx, r, r->n, &jobs);
    if (status == WEFT_OK)
        status = run(ctx, r, call, jobs);
    wi_host_free(jobs);
    return status;
}

/* What all ranks must pass alike. */
static uint64_t alike_of(const wi_quantile_request *r) {
    const uint64_t h = wi_alike(wi_alike(0, r->m), (uint64_t)r->rule);
    return wi_alike_bytes(h, r->wanted, r->m * weft_type_size(r->wanted_type));
}

static weft_status run_share(weft_context *rank, void *user);

static weft_status run_request(weft_context *ctx, const wi_quantile_request *r) {
    wi_call call;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    const weft_status status = describe(ctx, r, &call);
    if (status == WEFT_OK &&
        wi_gpus_wanted(ctx, &wi_quantile_ladder, r->x, r->n, weft_type_size(r->type)))
        return wi_gpus_run(ctx, &wi_quantile_ladder, r->call, run_share, (void *)(uintptr_t)r);
    if (wi_is_dist(ctx))
        return wi_dist_run(ctx, &wi_quantile_ladder, r->call, r->type,
                           status == WEFT_OK ? alike_of(r) : 0, status, r);
    return status == WEFT_OK ? run_here(ctx, r, &call) : status;
}

/* On a place of several GPUs: all ranks get the results, and the first gives them to the caller. */
static weft_status run_share(weft_context *rank, void *user) {
    wi_quantile_request r = *(const wi_quantile_request *)user;
    const size_t size = weft_type_size(r.type);
    const wi_share share = wi_gpus_share(rank, r.x, r.n, size);
    r.n = share.n;
    r.x = wi_share_of(r.x, share, size);
    r.silent = weft_rank(rank) > 0;
    r.results = r.silent ? NULL : r.results;
    return run_request(rank, &r);
}

weft_status weft_nth(weft_context *ctx, weft_type type, size_t n, const void *x, size_t m,
                     const uint64_t *ranks, void *values) {
    return run_request(ctx, &(wi_quantile_request){.call = "weft_nth",
                                                   .wanted_name = "ranks",
                                                   .results_name = "values",
                                                   .type = type,
                                                   .wanted_type = WEFT_U64,
                                                   .result_type = type,
                                                   .n = n,
                                                   .m = m,
                                                   .x = x,
                                                   .wanted = ranks,
                                                   .results = values});
}

weft_status weft_quantiles(weft_context *ctx, weft_quantile_rule rule, weft_type type, size_t n,
                           const void *x, size_t m, const double *q, double *quantiles) {
    return run_request(ctx, &(wi_quantile_request){.call = "weft_quantiles",
                                                   .wanted_name = "q",
                                                   .results_name = "quantiles",
                                                   .type = type,
                                                   .wanted_type = WEFT_F64,
                                                   .result_type = WEFT_F64,
                                                   .rule = rule,
                                                   .n = n,
                                                   .m = m,
                                                   .x = x,
                                                   .wanted = q,
                                                   .results = quantiles});
}

weft_status weft_median(weft_context *ctx, weft_type type, size_t n, const void *x,
                        double *median) {
    static const double half = 0.5;
    return run_request(ctx, &(wi_quantile_request){.call = "weft_median",
                                                   .wanted_name = "q",
                                                   .results_name = "median",
                                                   .type = type,
                                                   .wanted_type = WEFT_F64,
                                                   .result_type = WEFT_F64,
                                                   .rule = WEFT_LINEAR,
                                                   .n = n,
                                                   .m = 1,
                                                   .x = x,
                                                   .wanted = &half,
                                                   .results = median});
}
