/* SPDX-License-Identifier: Apache-2.0 */
/* A call, dimension by dimension: transforms along the last one take x to y, those along the others
 * follow in place. Real lines of even length are transformed as complex ones of half that length.
 */
#include <string.h>

#include "core/gpu.h"
#include "fft/fft.h"
#include "fft/fft_tables.h"

/* ---- loops ---- */

void wi_fft_loop_add(wi_fft_loops *loops, size_t count, size_t in, size_t out) {
    if (count == 1)
        return;
    loops->count[loops->used] = count;
    loops->in[loops->used] = in;
    loops->out[loops->used++] = out;
}

size_t wi_fft_loops_lines(const wi_fft_loops *loops) {
    size_t lines = 1;
    for (int k = 0; k < loops->used; k++)
        lines *= loops->count[k];
    return lines;
}

void wi_fft_loops_at(const wi_fft_loops *loops, size_t line, size_t *in, size_t *out) {
    *in = *out = 0;
    for (int k = 0; k < loops->used; k++) {
        const size_t turn = line % loops->count[k];
        line /= loops->count[k];
        *in += turn * loops->in[k];
        *out += turn * loops->out[k];
    }
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t shortest(const wi_fft_loops *loops, int k) {
    return least(loops->in[k], loops->out[k]);
}

static void swap_sizes(size_t *a, size_t *b) {
    const size_t kept = *a;
    *a = *b;
    *b = kept;
}

static void swap_with_next(wi_fft_loops *loops, int k, int *turning) {
    swap_sizes(&loops->count[k], &loops->count[k + 1]);
    swap_sizes(&loops->in[k], &loops->in[k + 1]);
    swap_sizes(&loops->out[k], &loops->out[k + 1]);
    if (*turning == k || *turning == k + 1)
        *turning = 2 * k + 1 - *turning;
}

/* Loop k + 1 goes on where loop k ends: they become one. */
static void join_with_next(wi_fft_loops *loops, int k, int *turning) {
    loops->count[k] *= loops->count[k + 1];
    loops->used--;
    for (int i = k + 1; i < loops->used; i++) {
        loops->count[i] = loops->count[i + 1];
        loops->in[i] = loops->in[i + 1];
        loops->out[i] = loops->out[i + 1];
    }
    if (*turning > k)
        --*turning;
}

void wi_fft_loops_sort(wi_fft_loops *loops, int *turning) {
    for (int end = loops->used; end > 1; end--)
        for (int k = 0; k + 1 < end; k++)
            if (shortest(loops, k) > shortest(loops, k + 1))
                swap_with_next(loops, k, turning);
    for (int k = 0; k + 1 < loops->used;)
        if (k != *turning && k + 1 != *turning &&
            loops->in[k + 1] == loops->count[k] * loops->in[k] &&
            loops->out[k + 1] == loops->count[k] * loops->out[k])
            join_with_next(loops, k, turning);
        else
            k++;
}

/* ---- scratch memory and works ---- */

static size_t rounded(size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

void *wi_fft_take(wi_fft_job *job, size_t bytes) {
    void *const p = job->scratch ? job->scratch + job->taken : NULL;
    job->taken += rounded(bytes);
    job->most = job->taken > job->most ? job->taken : job->most;
    return p;
}

void wi_fft_give(wi_fft_job *job, size_t bytes) {
    job->taken -= rounded(bytes);
}

weft_status wi_fft_do_move(wi_fft_job *job, const wi_fft_move *m) {
    int none = -1;
    wi_fft_move sorted = *m;
    wi_fft_loops_sort(&sorted.loops, &none);
    return job->is_rehearsal ? WEFT_OK : job->engine->move(job->ctx, &sorted);
}

weft_status wi_fft_do_fold(wi_fft_job *job, const wi_fft_fold *f) {
    int none = -1;
    wi_fft_fold sorted = *f;
    wi_fft_loops_sort(&sorted.loops, &none);
    return job->is_rehearsal ? WEFT_OK : job->engine->fold(job->ctx, &sorted);
}

/* ---- dimensions ---- */

/* Loops over all dimensions but one, and the batch; `counts` are in complex numbers. */
static wi_fft_loops loops_of(const wi_fft_args *a, const size_t *counts, unsigned without,
                             const size_t *in, size_t apart_in, const size_t *out,
                             size_t apart_out) {
    wi_fft_loops loops = {.used = 0};
    for (unsigned k = a->d.rank; k > 0; k--)
        if (k - 1 != without)
            wi_fft_loop_add(&loops, counts[k - 1], in[k - 1], out[k - 1]);
    wi_fft_loop_add(&loops, a->d.batch, apart_in, apart_out);
    return loops;
}

/* Lengths of the complex side. */
static void counts_of(const weft_fft_description *d, size_t counts[WEFT_FFT_DIMENSIONS]) {
    for (unsigned k = 0; k < d->rank; k++)
        counts[k] = d->n[k];
    if (d->kind != WEFT_FFT_COMPLEX)
        counts[d->rank - 1] = d->n[d->rank - 1] / 2 + 1;
}

/* Transforms along dimension k, from x to y. */
static weft_status along(wi_fft_job *job, unsigned k, const void *x, const size_t *in,
                         size_t apart_in, void *y, const size_t *out, size_t apart_out,
                         bool is_inverse, double scale) {
    const weft_fft_description *const d = &job->args->d;
    size_t counts[WEFT_FFT_DIMENSIONS];
    counts_of(d, counts);
    const wi_fft_lines l = {.type = d->type,
                            .n = d->n[k],
                            .x = x,
                            .y = y,
                            .stride_in = in[k],
                            .stride_out = out[k],
                            .loops = loops_of(job->args, counts, k, in, apart_in, out, apart_out),
                            .swaps_in = is_inverse,
                            .swaps_out = is_inverse,
                            .scale = scale,
                            .turning = -1};
    return wi_fft_transform(job, &l);
}

/* All dimensions but the last `less`, in place in y. Those of length 1 change nothing. */
static weft_status along_others(wi_fft_job *job, unsigned less, void *y, const size_t *strides,
                                size_t apart, bool is_inverse) {
    weft_status status = WEFT_OK;
    for (unsigned k = job->args->d.rank - less; k > 0 && status == WEFT_OK; k--)
        if (job->args->d.n[k - 1] > 1)
            status = along(job, k - 1, y, strides, apart, y, strides, apart, is_inverse, 1);
    return status;
}

static weft_status drive_complex(wi_fft_job *job) {
    const wi_fft_args *const a = job->args;
    const weft_fft_description *const d = &a->d;
    const bool is_inverse = d->direction == WEFT_FFT_INVERSE;
    const weft_status status = along(job, d->rank - 1, a->x, d->stride_x, d->apart_x, a->y,
                                     d->stride_y, d->apart_y, is_inverse, d->scale);
    if (status != WEFT_OK)
        return status;
    return along_others(job, 1, a->y, d->stride_y, d->apart_y, is_inverse);
}

/* ---- real lines ---- */

/* The rows of a call with real numbers: lines along the last dimension. */
typedef struct row_set {
    const void *x;
    void *y;
    size_t n; /* real numbers of a row */
    size_t stride_in, stride_out;
    wi_fft_loops loops;
} row_set;

/* May rows of real numbers be taken as rows of half as many complex ones? */
static bool is_paired(weft_type type, const row_set *r, bool real_in) {
    const void *const real = real_in ? r->x : r->y;
    bool is_even = r->n % 2 == 0 && (real_in ? r->stride_in : r->stride_out) == 1;
    for (int k = 0; k < r->loops.used; k++)
        is_even = is_even && (real_in ? r->loops.in : r->loops.out)[k] % 2 == 0;
    return is_even && (uintptr_t)real % wi_fft_number_bytes(type) == 0;
}

/* Steps of a side that is a dense array of rows of n numbers. */
static void pack(const wi_fft_loops *loops, size_t n, size_t steps[WI_FFT_LOOPS]) {
    for (int k = 0; k < loops->used; k++) {
        steps[k] = n;
        n *= loops->count[k];
    }
}

static void halve(const wi_fft_loops *loops, size_t steps[WI_FFT_LOOPS]) {
    for (int k = 0; k < loops->used; k++)
        steps[k] /= 2;
}

static weft_status roots_of(wi_fft_job *job, size_t n, const void **roots) {
    const wi_fft_table_key key = {.kind = WI_FFT_ROOTS, .type = job->args->d.type, .n = n};
    return job->args->asks_bytes ? WEFT_OK : wi_fft_table(job->ctx, &key, roots);
}

/* Rows of n / 2 complex numbers: from x to y, and in y a fold. */
static weft_status forward_paired(wi_fft_job *job, const row_set *r) {
    const weft_fft_description *const d = &job->args->d;
    wi_fft_lines l = {.type = d->type,
                      .n = r->n / 2,
                      .x = r->x,
                      .y = r->y,
                      .stride_in = 1,
                      .stride_out = r->stride_out,
                      .loops = r->loops,
                      .scale = d->scale,
                      .turning = -1};
    wi_fft_fold f = {.type = d->type,
                     .n = r->n,
                     .x = r->y,
                     .y = r->y,
                     .stride_in = r->stride_out,
                     .stride_out = r->stride_out,
                     .loops = r->loops};
    halve(&l.loops, l.loops.in);
    memcpy(f.loops.in, f.loops.out, sizeof f.loops.in);
    weft_status status = roots_of(job, r->n, &f.roots);
    if (status == WEFT_OK)
        status = wi_fft_transform(job, &l);
    return status == WEFT_OK ? wi_fft_do_fold(job, &f) : status;
}

static weft_status inverse_paired(wi_fft_job *job, const row_set *r) {
    const weft_fft_description *const d = &job->args->d;
    wi_fft_fold f = {.type = d->type,
                     .is_inverse = true,
                     .n = r->n,
                     .x = r->x,
                     .y = r->y,
                     .stride_in = r->stride_in,
                     .stride_out = 1,
                     .loops = r->loops};
    halve(&f.loops, f.loops.out);
    wi_fft_lines l = {.type = d->type,
                      .n = r->n / 2,
                      .x = r->y,
                      .y = r->y,
                      .stride_in = 1,
                      .stride_out = 1,
                      .loops = f.loops,
                      .swaps_in = true,
                      .swaps_out = true,
                      .scale = d->scale,
                      .turning = -1};
    memcpy(l.loops.in, l.loops.out, sizeof l.loops.in);
    weft_status status = roots_of(job, r->n, &f.roots);
    if (status == WEFT_OK)
        status = wi_fft_do_fold(job, &f);
    return status == WEFT_OK ? wi_fft_transform(job, &l) : status;
}

/* By complex rows of full length in scratch memory. */
static weft_status widened(wi_fft_job *job, const row_set *r, bool is_inverse) {
    const weft_fft_description *const d = &job->args->d;
    const size_t n = r->n, half = n / 2 + 1, lines = wi_fft_loops_lines(&r->loops);
    const size_t bytes = lines * n * wi_fft_number_bytes(d->type);
    void *const wide = wi_fft_take(job, bytes);
    wi_fft_move first = {.type = d->type,
                         .x = r->x,
                         .y = wide,
                         .n_in = is_inverse ? half : n,
                         .n_out = n,
                         .real_in = !is_inverse,
                         .mirrors = is_inverse,
                         .scale = d->scale,
                         .stride_in = r->stride_in,
                         .stride_out = 1,
                         .loops = r->loops};
    wi_fft_move last = {.type = d->type,
                        .x = wide,
                        .y = r->y,
                        .n_in = is_inverse ? n : half,
                        .n_out = is_inverse ? n : half,
                        .real_out = is_inverse,
                        .scale = 1,
                        .stride_in = 1,
                        .stride_out = r->stride_out,
                        .loops = r->loops};
    wi_fft_lines l = {.type = d->type,
                      .n = n,
                      .x = wide,
                      .y = wide,
                      .stride_in = 1,
                      .stride_out = 1,
                      .swaps_in = is_inverse,
                      .swaps_out = is_inverse,
                      .scale = 1,
                      .turning = -1};
    pack(&r->loops, n, first.loops.out);
    pack(&r->loops, n, last.loops.in);
    wi_fft_loop_add(&l.loops, lines, n, n);
    weft_status status = wi_fft_do_move(job, &first);
    if (status == WEFT_OK)
        status = wi_fft_transform(job, &l);
    if (status == WEFT_OK)
        status = wi_fft_do_move(job, &last);
    wi_fft_give(job, bytes);
    return status;
}

static row_set rows_of(const wi_fft_args *a, const void *x, const size_t *in, size_t apart_in) {
    const weft_fft_description *const d = &a->d;
    const unsigned last = d->rank - 1;
    return (row_set){.x = x,
                     .y = a->y,
                     .n = d->n[last],
                     .stride_in = in[last],
                     .stride_out = d->stride_y[last],
                     .loops = loops_of(a, d->n, last, in, apart_in, d->stride_y, d->apart_y)};
}

static weft_status drive_forward(wi_fft_job *job) {
    const wi_fft_args *const a = job->args;
    const weft_fft_description *const d = &a->d;
    const row_set r = rows_of(a, a->x, d->stride_x, d->apart_x);
    const weft_status status =
        is_paired(d->type, &r, true) ? forward_paired(job, &r) : widened(job, &r, false);
    return status == WEFT_OK ? along_others(job, 1, a->y, d->stride_y, d->apart_y, false) : status;
}

static weft_status rows_back(wi_fft_job *job, const void *x, const size_t *in, size_t apart_in) {
    const row_set r = rows_of(job->args, x, in, apart_in);
    return is_paired(job->args->d.type, &r, false) ? inverse_paired(job, &r)
                                                   : widened(job, &r, true);
}

/* Along the other dimensions first: in x if the call works in place, else in scratch memory. */
static weft_status drive_inverse(wi_fft_job *job) {
    const wi_fft_args *const a = job->args;
    const weft_fft_description *const d = &a->d;
    size_t counts[WEFT_FFT_DIMENSIONS], dense[WEFT_FFT_DIMENSIONS], size = 1;
    counts_of(d, counts);
    if (d->rank == 1)
        return rows_back(job, a->x, d->stride_x, d->apart_x);
    if (a->x == a->y) {
        const weft_status status = along_others(job, 1, a->y, d->stride_x, d->apart_x, true);
        return status == WEFT_OK ? rows_back(job, a->x, d->stride_x, d->apart_x) : status;
    }
    for (unsigned k = d->rank; k > 0; k--) {
        dense[k - 1] = size;
        size *= counts[k - 1];
    }
    const size_t bytes = size * d->batch * wi_fft_number_bytes(d->type);
    void *const copy = wi_fft_take(job, bytes);
    weft_status status =
        along(job, d->rank - 2, a->x, d->stride_x, d->apart_x, copy, dense, size, true, 1);
    if (status == WEFT_OK)
        status = along_others(job, 2, copy, dense, size, true);
    if (status == WEFT_OK)
        status = rows_back(job, copy, dense, size);
    wi_fft_give(job, bytes);
    return status;
}

static weft_status drive(wi_fft_job *job) {
    switch (job->args->d.kind) {
    case WEFT_FFT_COMPLEX:
        return drive_complex(job);
    case WEFT_FFT_REAL_TO_COMPLEX:
        return drive_forward(job);
    default:
        return drive_inverse(job);
    }
}

static weft_status take_scratch(weft_context *ctx, size_t bytes, char **scratch) {
    void *p = NULL;
    weft_status status = WEFT_OK;
    if (bytes > 0 && ctx->kind != WI_CPU)
        status = wi_gpu_alloc(ctx, &p, bytes);
    else if (bytes > 0 && !(p = wi_host_alloc(bytes)))
        status = wi_fail(ctx, WEFT_ENOMEM,
                         "weft_fft: no memory for %zu bytes of intermediate results", bytes);
    *scratch = p;
    return status;
}

weft_status wi_fft_drive(weft_context *ctx, const wi_fft_engine *engine, const wi_fft_args *args) {
    wi_fft_job job = {.ctx = ctx, .engine = engine, .args = args, .is_rehearsal = true};
    weft_status status = drive(&job);
    const size_t bytes = job.most + job.room;
    if (args->asks_bytes)
        *args->asks_bytes = bytes;
    if (status != WEFT_OK || args->prepares || args->asks_bytes)
        return status;
    status = take_scratch(ctx, bytes, &job.scratch);
    if (status != WEFT_OK)
        return status;
    job.is_rehearsal = false;
    status = drive(&job);
    if (ctx->kind == WI_CPU)
        wi_host_free(job.scratch);
    else if (job.scratch) {
        const weft_status freed = wi_gpu_free(ctx, job.scratch);
        status = status == WEFT_OK ? freed : status;
    }
    return status;
}
