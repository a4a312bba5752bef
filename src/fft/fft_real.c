/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of real numbers. Those of even length are transformed as complex ones of half that length;
 * others are widened. */
#include <string.h>

#include "fft/fft.h"
#include "fft/fft_tables.h"

/* The rows of a call with real numbers: lines along the last dimension. */
typedef struct row_set {
    const void *x;
    void *y;
    size_t n; /* real numbers of a row */
    bool half_in, half_out;
    size_t stride_in, stride_out;
    wi_fft_loops loops;
} row_set;

/* May rows of real numbers be taken as rows of half as many complex ones? */
static bool is_paired(weft_type type, const row_set *r, bool real_in) {
    const void *const real = real_in ? r->x : r->y;
    bool is_even = r->n % 2 == 0 && (real_in ? r->stride_in : r->stride_out) == 1;
    for (int k = 0; k < r->loops.used; k++)
        is_even = is_even && (real_in ? r->loops.in : r->loops.out)[k] % 2 == 0;
    const bool half = real_in ? r->half_in : r->half_out;
    return is_even && (uintptr_t)real % wi_fft_stored_bytes(type, half) == 0;
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

/* Bytes of rows of `n` complex numbers without gaps. */
static size_t bytes_of(const wi_fft_job *job, const row_set *r, size_t n) {
    return wi_fft_loops_lines(&r->loops) * n * wi_fft_number_bytes(job->args->d.type);
}

/* Rows of n / 2 complex numbers: from x to y, and in y a fold. If y is f16, in scratch memory. */
static weft_status forward_paired(wi_fft_job *job, const row_set *r) {
    const weft_fft_description *const d = &job->args->d;
    const size_t half = r->n / 2 + 1, bytes = r->half_out ? bytes_of(job, r, half) : 0;
    void *const between = r->half_out ? wi_fft_take(job, bytes) : r->y;
    wi_fft_lines l = {.type = d->type,
                      .n = r->n / 2,
                      .x = r->x,
                      .y = between,
                      .stride_in = 1,
                      .stride_out = r->half_out ? 1 : r->stride_out,
                      .loops = r->loops,
                      .half_in = r->half_in,
                      .scale = d->scale,
                      .turning = -1};
    wi_fft_fold f = {.type = d->type,
                     .n = r->n,
                     .x = between,
                     .y = r->y,
                     .half_out = r->half_out,
                     .stride_in = l.stride_out,
                     .stride_out = r->stride_out,
                     .loops = r->loops};
    l.whole = wi_fft_whole_of(job->args, &l.loops);
    halve(&l.loops, l.loops.in);
    if (r->half_out)
        pack(&r->loops, half, l.loops.out);
    memcpy(f.loops.in, l.loops.out, sizeof f.loops.in);
    weft_status status = roots_of(job, r->n, &f.roots);
    if (status == WEFT_OK)
        status = wi_fft_transform(job, &l);
    if (status == WEFT_OK)
        status = wi_fft_do_fold(job, &f);
    wi_fft_give(job, bytes);
    return status;
}

static weft_status inverse_paired(wi_fft_job *job, const row_set *r) {
    const weft_fft_description *const d = &job->args->d;
    const size_t half = r->n / 2, bytes = r->half_out ? bytes_of(job, r, half) : 0;
    void *const between = r->half_out ? wi_fft_take(job, bytes) : r->y;
    wi_fft_fold f = {.type = d->type,
                     .is_inverse = true,
                     .half_in = r->half_in,
                     .n = r->n,
                     .x = r->x,
                     .y = between,
                     .stride_in = r->stride_in,
                     .stride_out = 1,
                     .loops = r->loops};
    halve(&f.loops, f.loops.out);
    wi_fft_lines l = {.type = d->type,
                      .n = half,
                      .x = between,
                      .y = r->y,
                      .stride_in = 1,
                      .stride_out = 1,
                      .loops = f.loops,
                      .swaps_in = true,
                      .swaps_out = true,
                      .half_out = r->half_out,
                      .scale = d->scale,
                      .turning = -1};
    l.whole = wi_fft_whole_of(job->args, &l.loops);
    if (r->half_out)
        pack(&r->loops, half, f.loops.out);
    memcpy(l.loops.in, f.loops.out, sizeof l.loops.in);
    weft_status status = roots_of(job, r->n, &f.roots);
    if (status == WEFT_OK)
        status = wi_fft_do_fold(job, &f);
    if (status == WEFT_OK)
        status = wi_fft_transform(job, &l);
    wi_fft_give(job, bytes);
    return status;
}

/* By complex rows of full length in scratch memory. */
static weft_status widened(wi_fft_job *job, const row_set *r, bool is_inverse) {
    const weft_fft_description *const d = &job->args->d;
    const size_t n = r->n, half = n / 2 + 1, lines = wi_fft_loops_lines(&r->loops);
    const size_t bytes = bytes_of(job, r, n);
    void *const wide = wi_fft_take(job, bytes);
    wi_fft_move first = {.type = d->type,
                         .x = r->x,
                         .y = wide,
                         .n_in = is_inverse ? half : n,
                         .n_out = n,
                         .real_in = !is_inverse,
                         .half_in = r->half_in,
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
                        .half_out = r->half_out,
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
    l.whole = wi_fft_whole_of(job->args, &l.loops);
    weft_status status = wi_fft_do_move(job, &first);
    if (status == WEFT_OK)
        status = wi_fft_transform(job, &l);
    if (status == WEFT_OK)
        status = wi_fft_do_move(job, &last);
    wi_fft_give(job, bytes);
    return status;
}

static row_set rows_of(const weft_fft_description *d, const wi_fft_side *from,
                       const wi_fft_side *to) {
    const unsigned last = d->rank - 1;
    return (row_set){.x = from->p,
                     .y = (void *)(uintptr_t)to->p,
                     .n = d->n[last],
                     .half_in = from->half,
                     .half_out = to->half,
                     .stride_in = from->strides[last],
                     .stride_out = to->strides[last],
                     .loops = wi_fft_loops_of(d, d->n, last, from, to)};
}

weft_status wi_fft_rows_forward(wi_fft_job *job, const wi_fft_side *from, const wi_fft_side *to) {
    const row_set r = rows_of(&job->args->d, from, to);
    return is_paired(job->args->d.type, &r, true) ? forward_paired(job, &r)
                                                  : widened(job, &r, false);
}

weft_status wi_fft_rows_back(wi_fft_job *job, const wi_fft_side *from, const wi_fft_side *to) {
    const row_set r = rows_of(&job->args->d, from, to);
    return is_paired(job->args->d.type, &r, false) ? inverse_paired(job, &r)
                                                   : widened(job, &r, true);
}
