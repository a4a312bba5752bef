/* SPDX-License-Identifier: Apache-2.0 */
/* A call, dimension by dimension: transforms along the last one take x to y, those along the others
 * follow in place. If y is f16 they work on an f32 array in scratch memory, and the last of them
 * writes y, so that each result is rounded to f16 once. */
#include <string.h>

#include "core/gpu.h"
#include "fft/fft.h"

enum {
    MOST_KEPT_BYTES = 256 << 20 /* of scratch memory, from one call to the next */
};

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

wi_fft_loops wi_fft_loops_of(const weft_fft_description *d, const size_t *counts, unsigned without,
                             const wi_fft_side *from, const wi_fft_side *to) {
    wi_fft_loops loops = {.used = 0};
    for (unsigned k = d->rank; k > 0; k--)
        if (k - 1 != without)
            wi_fft_loop_add(&loops, counts[k - 1], from->strides[k - 1], to->strides[k - 1]);
    wi_fft_loop_add(&loops, d->batch, from->apart, to->apart);
    return loops;
}

/* Lengths of the complex side. */
static void counts_of(const weft_fft_description *d, size_t counts[WEFT_FFT_DIMENSIONS]) {
    for (unsigned k = 0; k < d->rank; k++)
        counts[k] = d->n[k];
    if (d->kind != WEFT_FFT_COMPLEX)
        counts[d->rank - 1] = d->n[d->rank - 1] / 2 + 1;
}

static bool is_wanted(const wi_fft_args *a, unsigned k) {
    return a->dimensions == 0 || (a->dimensions >> k & 1);
}

/* The next dimension below k that is transformed, or -1. Those of length 1 change nothing. */
static int next_below(const wi_fft_args *a, int k) {
    do
        k--;
    while (k >= 0 && (a->d.n[k] == 1 || !is_wanted(a, (unsigned)k)));
    return k;
}

size_t wi_fft_whole_of(const wi_fft_args *a, const wi_fft_loops *loops) {
    return a->whole ? wi_fft_loops_lines(loops) / a->part * a->whole : 0;
}

/* The lines along dimension k. */
static wi_fft_lines lines_of(const wi_fft_job *job, unsigned k, const wi_fft_side *from,
                             const wi_fft_side *to, bool is_inverse, double scale) {
    const weft_fft_description *const d = &job->args->d;
    size_t counts[WEFT_FFT_DIMENSIONS];
    counts_of(d, counts);
    wi_fft_lines l = {.type = d->type,
                      .n = d->n[k],
                      .x = from->p,
                      .y = (void *)(uintptr_t)to->p,
                      .stride_in = from->strides[k],
                      .stride_out = to->strides[k],
                      .loops = wi_fft_loops_of(d, counts, k, from, to),
                      .swaps_in = is_inverse,
                      .swaps_out = is_inverse,
                      .half_in = from->half,
                      .half_out = to->half,
                      .scale = scale,
                      .turning = -1};
    l.whole = wi_fft_whole_of(job->args, &l.loops);
    return l;
}

/* Transforms along dimension k and then those below it: the first takes `from` to `between`, those
 * that follow work there, and the last one goes to `to`. */
static weft_status along_all(wi_fft_job *job, int k, const wi_fft_side *from,
                             const wi_fft_side *between, const wi_fft_side *to, bool is_inverse,
                             double scale) {
    const wi_fft_engine *const engine = job->engine;
    weft_status status = WEFT_OK;
    while (k >= 0 && status == WEFT_OK) {
        const int next = next_below(job->args, k),
                  after = next < 0 ? -1 : next_below(job->args, next);
        const wi_fft_lines l =
            lines_of(job, (unsigned)k, from, next < 0 ? to : between, is_inverse, scale);
        const wi_fft_lines columns = next < 0 ? l
                                              : lines_of(job, (unsigned)next, between,
                                                         after < 0 ? to : between, is_inverse, 1);
        const bool is_plane = next >= 0 && engine->planes && engine->planes(&l, &columns);
        status = is_plane ? engine->in_planes(job->ctx, &l, &columns, !job->is_rehearsal)
                          : wi_fft_transform(job, &l);
        if (is_plane && job->args->prepares) { /* a call in place does without */
            status = status == WEFT_OK ? wi_fft_transform(job, &l) : status;
            status = status == WEFT_OK ? wi_fft_transform(job, &columns) : status;
        }
        from = between;
        scale = 1;
        k = is_plane ? after : next;
    }
    return status;
}

/* An array of complex numbers without gaps, in scratch memory. */
typedef struct dense {
    size_t strides[WEFT_FFT_DIMENSIONS], bytes;
    wi_fft_side side;
} dense;

static void take_dense(wi_fft_job *job, dense *x) {
    const weft_fft_description *const d = &job->args->d;
    size_t counts[WEFT_FFT_DIMENSIONS], size = 1;
    counts_of(d, counts);
    for (unsigned k = d->rank; k > 0; k--) {
        x->strides[k - 1] = size;
        size *= counts[k - 1];
    }
    x->bytes = size * d->batch * wi_fft_number_bytes(d->type);
    x->side = (wi_fft_side){wi_fft_take(job, x->bytes), x->strides, size, false};
}

/* ---- calls ---- */

/* y = x. */
static weft_status drive_copy(wi_fft_job *job, const wi_fft_side *x, const wi_fft_side *y) {
    const weft_fft_description *const d = &job->args->d;
    const unsigned last = d->rank - 1;
    const wi_fft_move move = {.type = d->type,
                              .x = x->p,
                              .y = (void *)(uintptr_t)y->p,
                              .n_in = d->n[last],
                              .n_out = d->n[last],
                              .half_in = x->half,
                              .half_out = y->half,
                              .scale = 1,
                              .stride_in = x->strides[last],
                              .stride_out = y->strides[last],
                              .loops = wi_fft_loops_of(d, d->n, last, x, y)};
    return wi_fft_do_move(job, &move);
}

static weft_status drive_complex(wi_fft_job *job, const wi_fft_side *x, const wi_fft_side *y) {
    const weft_fft_description *const d = &job->args->d;
    const bool is_inverse = d->direction == WEFT_FFT_INVERSE;
    int last = (int)d->rank - 1;
    dense between;
    if (job->args->dimensions & WI_FFT_NO_DIMENSION)
        return drive_copy(job, x, y);
    while (!is_wanted(job->args, (unsigned)last))
        last--;
    if (!y->half || next_below(job->args, last) < 0)
        return along_all(job, last, x, y, y, is_inverse, d->scale);
    take_dense(job, &between);
    const weft_status status = along_all(job, last, x, &between.side, y, is_inverse, d->scale);
    wi_fft_give(job, between.bytes);
    return status;
}

static weft_status drive_forward(wi_fft_job *job, const wi_fft_side *x, const wi_fft_side *y) {
    const int next = next_below(job->args, (int)job->args->d.rank - 1);
    dense between;
    if (!y->half || next < 0) {
        const weft_status status = wi_fft_rows_forward(job, x, y);
        return status == WEFT_OK ? along_all(job, next, y, y, y, false, 1) : status;
    }
    take_dense(job, &between);
    weft_status status = wi_fft_rows_forward(job, x, &between.side);
    if (status == WEFT_OK)
        status = along_all(job, next, &between.side, &between.side, y, false, 1);
    wi_fft_give(job, between.bytes);
    return status;
}

/* Along the other dimensions first: in x if the call works in place, else in scratch memory. */
static weft_status drive_inverse(wi_fft_job *job, const wi_fft_side *x, const wi_fft_side *y) {
    const int next = next_below(job->args, (int)job->args->d.rank - 1);
    dense between;
    weft_status status;
    if (next < 0)
        return wi_fft_rows_back(job, x, y);
    if (x->p == y->p && !x->half) {
        status = along_all(job, next, x, x, x, true, 1);
        return status == WEFT_OK ? wi_fft_rows_back(job, x, y) : status;
    }
    take_dense(job, &between);
    status = along_all(job, next, x, &between.side, &between.side, true, 1);
    if (status == WEFT_OK)
        status = wi_fft_rows_back(job, &between.side, y);
    wi_fft_give(job, between.bytes);
    return status;
}

static weft_status drive(wi_fft_job *job) {
    const wi_fft_args *const a = job->args;
    const wi_fft_side x = {a->x, a->d.stride_x, a->d.apart_x, a->half_x};
    const wi_fft_side y = {a->y, a->d.stride_y, a->d.apart_y, a->half_y};
    switch (a->d.kind) {
    case WEFT_FFT_COMPLEX:
        return drive_complex(job, &x, &y);
    case WEFT_FFT_REAL_TO_COMPLEX:
        return drive_forward(job, &x, &y);
    default:
        return drive_inverse(job, &x, &y);
    }
}

/* ---- scratch memory of a place ---- */

/* Of a cpu, kept in the context: fresh pages for each call would take as long as a pass through
 * them. */
typedef struct kept_scratch {
    wi_kept head;
    void *p;
    size_t bytes;
} kept_scratch;

static void drop_scratch(weft_context *ctx, wi_kept *kept) {
    (void)ctx;
    wi_host_free(((kept_scratch *)kept)->p);
    wi_host_free(kept);
}

static kept_scratch *find_scratch(weft_context *ctx) {
    for (wi_kept *k = ctx->kept; k; k = k->next)
        if (k->drop == drop_scratch)
            return (kept_scratch *)k;
    kept_scratch *const kept = wi_host_alloc(sizeof *kept);
    if (!kept)
        return NULL;
    *kept = (kept_scratch){.head = {ctx->kept, drop_scratch}};
    ctx->kept = &kept->head;
    return kept;
}

static void *take_host_scratch(weft_context *ctx, size_t bytes) {
    kept_scratch *const kept = find_scratch(ctx);
    if (!kept)
        return NULL;
    if (kept->bytes < bytes) {
        wi_host_free(kept->p);
        kept->p = wi_host_alloc(bytes);
        kept->bytes = kept->p ? bytes : 0;
    }
    return kept->p;
}

static void give_host_scratch(weft_context *ctx) {
    kept_scratch *const kept = find_scratch(ctx);
    if (!kept || kept->bytes <= MOST_KEPT_BYTES)
        return;
    wi_host_free(kept->p);
    kept->p = NULL;
    kept->bytes = 0;
}

static weft_status take_scratch(weft_context *ctx, size_t bytes, char **scratch) {
    void *p = NULL;
    weft_status status = WEFT_OK;
    if (bytes > 0 && ctx->kind != WI_CPU)
        status = wi_gpu_alloc(ctx, &p, bytes);
    else if (bytes > 0 && !(p = take_host_scratch(ctx, bytes)))
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
    if (ctx->kind == WI_CPU && job.scratch) {
        give_host_scratch(ctx);
    } else if (job.scratch) {
        const weft_status freed = wi_gpu_free(ctx, job.scratch);
        status = status == WEFT_OK ? freed : status;
    }
    return status;
}
