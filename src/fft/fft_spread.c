/* SPDX-License-Identifier: Apache-2.0 */
/* Calls over ranks and GPUs: which rank has which part of the arrays. */
#include <string.h>

#include "comm/gpus.h"
#include "core/gpu.h"
#include "fft/fft_dist.h"

size_t wi_fft_even_begin(size_t n, size_t rank, size_t ranks) {
    return n / ranks * rank + n % ranks * rank / ranks;
}

/* ---- ranks ---- */

/* What all ranks must pass alike. */
static uint64_t alike_of(const weft_fft_description *d) {
    const bool is_own = d->layout & WEFT_FFT_OWN;
    uint64_t h = wi_alike(wi_alike(wi_alike(0, d->kind), d->direction), d->layout);
    h = wi_alike(wi_alike_bytes(h, &d->scale, sizeof d->scale), d->rank);
    for (unsigned k = 0; k < d->rank && k < WEFT_FFT_DIMENSIONS && !is_own; k++)
        h = wi_alike(h, d->n[k]);
    return is_own ? h : wi_alike(h, d->batch);
}

/* begin = where the part of each rank begins. parts[2 r + at] is the length of rank r's part; if
 * all are 0, parts are as equal as can be. */
static weft_status begins_of(weft_context *ctx, const char *call, const char *what,
                             const uint64_t *parts, int at, size_t n, size_t *begin) {
    const size_t ranks = (size_t)ctx->comm->size;
    size_t all = 0;
    begin[0] = 0;
    for (size_t r = 0; r < ranks; r++) {
        if (parts[2 * r + (size_t)at] > n - all)
            return wi_fail(ctx, WEFT_EARG,
                           "%s: %s of all ranks add up to more than the %zu indices that there "
                           "are; pass what each rank has, or 0 on all for equal parts",
                           call, what, n);
        begin[r + 1] = all += parts[2 * r + (size_t)at];
    }
    for (size_t r = 0; r <= ranks && all == 0; r++)
        begin[r] = wi_fft_even_begin(n, r, ranks);
    if (all > 0 && all < n)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: %s of all ranks add up to %zu, and there are %zu indices; pass what "
                       "each rank has, or 0 on all for equal parts",
                       call, what, all, n);
    return WEFT_OK;
}

/* All ranks learn what each has; d gets this rank's own parts. */
static weft_status join(weft_context *ctx, const char *call, weft_fft_description *d,
                        size_t *begins) {
    const int own = ctx->comm->rank;
    size_t *const x = begins, *const y = begins + ctx->comm->size + 1;
    const uint64_t parts[2] = {d->part_x, d->part_y}, *all = NULL;
    weft_status status = wi_all_words(ctx, parts, 2, &all);
    if (status == WEFT_OK)
        status = begins_of(ctx, call, "part_x", all, 0, wi_fft_divided(d, 0), x);
    if (status == WEFT_OK)
        status = begins_of(ctx, call, "part_y", all, 1, wi_fft_divided(d, 1), y);
    if (status != WEFT_OK)
        return status;
    d->part_x = x[own + 1] - x[own];
    d->part_y = y[own + 1] - y[own];
    d->layout |= WI_FFT_DIVIDED;
    return WEFT_OK;
}

/* Fills in what ranks must know of each other, and this rank's strides. */
static weft_status join_and_describe(weft_context *ctx, wi_fft_args *args, wi_call *call,
                                     size_t *begins) {
    const weft_status status =
        args->d.layout & WEFT_FFT_OWN ? WEFT_OK : join(ctx, call->name, &args->d, begins);
    return status == WEFT_OK ? wi_fft_describe(ctx, args, args->x == args->y && args->x, call)
                             : status;
}

weft_status wi_fft_over_ranks(weft_context *ctx, const char *call_name,
                              const weft_fft_description *given, wi_fft_args *args) {
    wi_call call;
    void *begins = NULL;
    const size_t ranks = (size_t)ctx->comm->size;
    wi_fft_tally tally = {0};
    wi_call_begin(&call, call_name, 0, 0);
    call.distributed = true;
    ctx->comm->call = call_name;
    weft_status status = wi_fft_check(ctx, call_name, given, &args->d);
    if (status == WEFT_OK)
        status = wi_dist_take(ctx, 2 * (ranks + 1), sizeof(size_t), &begins);
    const uint64_t alike = status == WEFT_OK ? alike_of(&args->d) : 0;
    status = wi_agree(ctx, wi_alike_bytes(alike, call_name, strlen(call_name)), status);
    if (status != WEFT_OK)
        goto done;
    status = join_and_describe(ctx, args, &call, begins);
    wi_fft_narrow(args);
    const weft_type type = args->half_x ? WEFT_F16 : args->d.type;
    const wi_fft_spread spread = {.ctx = ctx,
                                  .a = args,
                                  .x_begin = begins,
                                  .y_begin = (size_t *)begins + ranks + 1,
                                  .tally = wi_fft_only_asks(args) ? &tally : NULL};
    status = wi_dist_run(ctx, &wi_fft_ladder, call_name, type, alike, status, &spread);
    if (args->asks_bytes)
        *args->asks_bytes = tally.most;
done:
    wi_host_free(begins);
    return status;
}

/* ---- GPUs of one process ---- */

/* A call, and how it is divided. */
typedef struct spreading {
    const char *call;
    const wi_fft_args *args;
    bool by_rows, by_batch;
    size_t bytes[WI_MOST_GPUS]; /* of scratch memory, if it is asked for */
} spreading;

/* Elements from the first to the last of dimensions `from` on, of an array. */
static size_t reach_of(const wi_fft_args *a, int array, unsigned from) {
    const size_t *const strides = array ? a->d.stride_y : a->d.stride_x;
    size_t reach = 1;
    for (unsigned k = from; k < a->d.rank; k++)
        reach += (wi_fft_length(&a->d, array, k) - 1) * strides[k];
    return reach;
}

static size_t width_of(const wi_fft_args *a, int array) {
    const bool is_real = a->d.kind == (array ? WEFT_FFT_COMPLEX_TO_REAL : WEFT_FFT_REAL_TO_COMPLEX);
    return weft_type_size(a->d.type) * (is_real ? 1 : 2);
}

/* How a call is divided among `count` GPUs: by batch or by rows, if the parts do not lie within
 * each other. */
static spreading spread_of(const wi_fft_args *a, int count) {
    const weft_fft_description *const d = &a->d;
    return (spreading){.args = a,
                       .by_batch = d->batch >= (size_t)count && d->apart_x >= reach_of(a, 0, 0) &&
                                   d->apart_y >= reach_of(a, 1, 0),
                       .by_rows = d->rank > 1 && d->batch == 1 &&
                                  d->stride_x[0] >= reach_of(a, 0, 1) &&
                                  d->stride_y[0] >= reach_of(a, 1, 1)};
}

static weft_status run_share(weft_context *rank, void *user) {
    spreading *const s = user;
    const wi_fft_args *const a = s->args;
    const size_t wide[2] = {width_of(a, 0), width_of(a, 1)};
    weft_fft_description d = a->d;
    size_t step[2] = {d.apart_x * wide[0], d.apart_y * wide[1]};
    wi_share x = {0, rank->comm->rank == 0 ? d.batch : 0}, y = x;
    if (s->by_batch) {
        x = y = wi_gpus_share(rank, a->x, d.batch, step[0]);
    } else if (s->by_rows) {
        step[0] = d.stride_x[0] * wide[0];
        step[1] = d.stride_y[0] * wide[1];
        x = wi_gpus_share(rank, a->x, d.n[0], step[0]);
        y = wi_gpus_share(rank, a->y, d.n[0], step[1]);
    }
    d.layout = s->by_rows && !s->by_batch ? 0 : WEFT_FFT_OWN;
    d.part_x = d.layout ? 0 : x.n;
    d.part_y = d.layout ? 0 : y.n;
    d.batch = d.layout ? x.n : d.batch;
    wi_fft_args own = {.x = a->x, .y = a->y, .prepares = a->prepares};
    if (a->asks_bytes)
        own.asks_bytes = &s->bytes[rank->comm->rank];
    if (!wi_fft_only_asks(a)) {
        own.x = wi_share_of(a->x, x, step[0]);
        own.y = wi_share_of(a->y, y, step[1]);
    }
    return wi_fft_over_ranks(rank, s->call, &d, &own);
}

bool wi_fft_wants_gpus(weft_context *ctx, const wi_fft_args *args) {
    if (!wi_is_gpus(ctx) || args->d.batch == 0)
        return false;
    const spreading s = spread_of(args, wi_gpus_count(ctx));
    const size_t n = reach_of(args, 0, 0) + (args->d.batch - 1) * args->d.apart_x;
    return (s.by_batch || s.by_rows || wi_is_forced(ctx, &wi_fft_ladder)) &&
           wi_gpus_wanted(ctx, &wi_fft_ladder, args->x, n, width_of(args, 0));
}

weft_status wi_fft_over_gpus(weft_context *ctx, const char *call, const wi_fft_args *args) {
    spreading s = spread_of(args, wi_gpus_count(ctx));
    s.call = call;
    const weft_status status = wi_gpus_run(ctx, &wi_fft_ladder, call, run_share, &s);
    for (int k = 0; k < WI_MOST_GPUS && args->asks_bytes; k++)
        if (s.bytes[k] > *args->asks_bytes)
            *args->asks_bytes = s.bytes[k];
    return status;
}
