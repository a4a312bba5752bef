/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of quantile: check arguments, turn fractions into ranks, then run the ladder on
 * memory that the place can access. */
#include "quantile/quantile.h"

#include "core/call.h"

enum {
    X,
    WANTED, /* ranks or q, in host memory; not passed on */
    RESULTS,
    ARRAYS
};

/* A public call. */
typedef struct request {
    const char *call, *wanted_name, *results_name;
    weft_type type, wanted_type, result_type;
    size_t n, m;
    const void *x, *wanted;
    void *results;
} request;

static weft_status run_part(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_quantile_args args = *(const wi_quantile_args *)user;
    args.x = part->p[X];
    args.out = part->p[RESULTS];
    return wi_run(ctx, &wi_quantile_ladder, call->name, args.type, &args);
}

static weft_status describe(weft_context *ctx, const request *r, wi_call *call) {
    const weft_status status = wi_check_type(ctx, r->call, r->type);
    if (status != WEFT_OK)
        return status;
    *call = (wi_call){.name = r->call,
                      .array = {[X] = wi_elements("x", r->x, r->n, r->type, WI_IN | WI_STRIDED),
                                [WANTED] = wi_elements(r->wanted_name, r->wanted, r->m,
                                                       r->wanted_type, WI_IN | WI_HOST),
                                [RESULTS] = wi_elements(r->results_name, r->results, r->m,
                                                        r->result_type, WI_OUT)},
                      .count = ARRAYS};
    return wi_call_check(ctx, call);
}

/* Runs the call for jobs that are checked. */
static weft_status run(weft_context *ctx, const request *r, wi_call *call,
                       const wi_quantile_job *jobs) {
    wi_quantile_args args = {.call = r->call,
                             .type = r->type,
                             .n = r->n,
                             .count = r->m,
                             .jobs = jobs,
                             .elements = r->result_type == r->type && r->wanted_type == WEFT_U64};
    call->array[WANTED] = wi_elements(r->wanted_name, NULL, 0, r->wanted_type, WI_IN | WI_OPTIONAL);
    return wi_call_run(ctx, call, run_part, &args);
}

static weft_status take_jobs(weft_context *ctx, const request *r, wi_quantile_job **jobs) {
    *jobs = r->m <= SIZE_MAX / sizeof **jobs ? wi_host_alloc(r->m * sizeof **jobs) : NULL;
    return *jobs ? WEFT_OK
                 : wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for %zu ranks", r->call, r->m);
}

weft_status weft_nth(weft_context *ctx, weft_type type, size_t n, const void *x, size_t m,
                     const uint64_t *ranks, void *values) {
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    const request r = {.call = "weft_nth",
                       .wanted_name = "ranks",
                       .results_name = "values",
                       .type = type,
                       .wanted_type = WEFT_U64,
                       .result_type = type,
                       .n = n,
                       .m = m,
                       .x = x,
                       .wanted = ranks,
                       .results = values};
    wi_call call;
    wi_quantile_job *jobs = NULL;
    weft_status status = describe(ctx, &r, &call);
    for (size_t j = 0; j < m && status == WEFT_OK; j++)
        if (ranks[j] >= n)
            status = wi_fail(ctx, WEFT_EARG,
                             "%s: ranks[%zu] is %llu, and there are %zu elements; pass ranks "
                             "below n",
                             r.call, j, (unsigned long long)ranks[j], n);
    if (status != WEFT_OK || m == 0)
        return status;
    status = take_jobs(ctx, &r, &jobs);
    for (size_t j = 0; j < m && status == WEFT_OK; j++)
        jobs[j] = (wi_quantile_job){.rank = ranks[j]};
    if (status == WEFT_OK)
        status = run(ctx, &r, &call, jobs);
    wi_host_free(jobs);
    return status;
}

/* The rank, and how far beyond it, of quantile q of n > 0 elements. */
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

static weft_status check_quantiles(weft_context *ctx, const request *r, weft_quantile_rule rule) {
    const double *const q = r->wanted;
    if ((unsigned)rule > WEFT_MIDPOINT)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: rule %d is not a weft_quantile_rule; pass WEFT_LINEAR ... "
                       "WEFT_MIDPOINT",
                       r->call, (int)rule);
    for (size_t j = 0; j < r->m; j++)
        if (!(q[j] >= 0 && q[j] <= 1))
            return wi_fail(ctx, WEFT_EARG, "%s: q[%zu] is %g; pass numbers from 0 to 1", r->call, j,
                           q[j]);
    return WEFT_OK;
}

/* The quantiles of no elements. */
static weft_status put_nan(weft_context *ctx, const request *r) {
    const double nan = NAN;
    weft_status status = WEFT_OK;
    for (size_t j = 0; j < r->m && status == WEFT_OK; j++)
        status = weft_copy(ctx, (double *)r->results + j, &nan, sizeof nan);
    return status;
}

static weft_status run_quantiles(weft_context *ctx, weft_quantile_rule rule, const request *r) {
    wi_call call;
    wi_quantile_job *jobs = NULL;
    weft_status status = describe(ctx, r, &call);
    if (status == WEFT_OK)
        status = check_quantiles(ctx, r, rule);
    if (status != WEFT_OK || r->m == 0)
        return status;
    if (r->n == 0)
        return put_nan(ctx, r);
    status = take_jobs(ctx, r, &jobs);
    for (size_t j = 0; j < r->m && status == WEFT_OK; j++)
        jobs[j] = job_of(rule, ((const double *)r->wanted)[j], r->n);
    if (status == WEFT_OK)
        status = run(ctx, r, &call, jobs);
    wi_host_free(jobs);
    return status;
}

weft_status weft_quantiles(weft_context *ctx, weft_quantile_rule rule, weft_type type, size_t n,
                           const void *x, size_t m, const double *q, double *quantiles) {
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    return run_quantiles(ctx, rule,
                         &(request){.call = "weft_quantiles",
                                    .wanted_name = "q",
                                    .results_name = "quantiles",
                                    .type = type,
                                    .wanted_type = WEFT_F64,
                                    .result_type = WEFT_F64,
                                    .n = n,
                                    .m = m,
                                    .x = x,
                                    .wanted = q,
                                    .results = quantiles});
}

weft_status weft_median(weft_context *ctx, weft_type type, size_t n, const void *x,
                        double *median) {
    static const double half = 0.5;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    return run_quantiles(ctx, WEFT_LINEAR,
                         &(request){.call = "weft_median",
                                    .wanted_name = "q",
                                    .results_name = "median",
                                    .type = type,
                                    .wanted_type = WEFT_F64,
                                    .result_type = WEFT_F64,
                                    .n = n,
                                    .m = 1,
                                    .x = x,
                                    .wanted = &half,
                                    .results = median});
}
