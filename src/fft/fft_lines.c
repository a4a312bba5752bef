/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of any length. Those that an engine does not take in one go are cut: with n = n1 n2,
 *
 *     X(k1 + n1 k2) = sum over j2 of w(n)^(j2 k1) [sum over j1 of x(n2 j1 + j2) w(n1)^(j1 k1)]
 * w(n2)^(j2 k2),
 *
 * so n2 lines of n1 numbers, whose results are turned by w(n)^(j2 k1), are followed by n1 lines of
 * n2 numbers. What comes between lies in scratch memory; if an engine wants it in a cache, so many
 * lines are done together as fit. A length with a large prime factor is a convolution with a chirp:
 *
 *     X(k) = c(k) sum over j of (x(j) c(j)) conj(c(k - j)),  c(k) = exp(-pi i k^2 / n). */
#include <string.h>

#include "fft/fft.h"
#include "fft/fft_tables.h"

bool wi_fft_is_smooth(size_t n) {
    for (size_t p = 2; p <= WI_FFT_MOST_PRIME; p++)
        while (n % p == 0)
            n /= p;
    return n == 1;
}

enum {
    MOST_RADICES = 16 /* of a product of up to 2^14 */
};

static size_t radices_below(size_t n, unsigned most, unsigned last, unsigned *radix) {
    static const unsigned all[] = {16, 13, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2};
    unsigned rest[MOST_RADICES];
    size_t best = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const unsigned r = all[i];
        if (r > last || n % r != 0 || (r > most && r != 11 && r != 13))
            continue;
        const size_t others = n == r ? 0 : radices_below(n / r, most, r, rest);
        if ((n != r && others == 0) || (best && others + 1 >= best))
            continue;
        best = others + 1;
        radix[0] = r;
        memcpy(radix + 1, rest, others * sizeof *rest);
    }
    return best;
}

size_t wi_fft_radices(size_t n, unsigned most, unsigned *radix) {
    return n == 1 ? 0 : radices_below(n, most, 16, radix);
}

/* An array of numbers, so many further on. */
static const void *numbers_at(const wi_fft_lines *l, const void *p, size_t numbers) {
    return p ? (const char *)p + numbers * wi_fft_number_bytes(l->type) : NULL;
}

/* ---- cutting a line ---- */

/* Can n be a product of at most `parts` lengths that an engine cuts lines into? */
static bool can_cut(const wi_fft_lines *l, const wi_fft_engine *engine, size_t n, int parts) {
    if (n <= WI_FFT_MOST_CUT && engine->cuts(l->type, n))
        return true;
    for (size_t d = parts > 1 ? WI_FFT_MOST_CUT : 1; d > 1; d--)
        if (n % d == 0 && engine->cuts(l->type, d) && can_cut(l, engine, n / d, parts - 1))
            return true;
    return false;
}

/* The first factor of a line: of as few as there can be, all about equal. */
static size_t cut_of(const wi_fft_lines *l, const wi_fft_engine *engine) {
    int parts = 2;
    while (!can_cut(l, engine, l->n, parts))
        parts++;
    for (size_t d = 2;; d++) {
        double power = 1;
        for (int k = 0; k < parts; k++)
            power *= (double)d;
        if (l->n % d == 0 && power >= (double)l->n && engine->cuts(l->type, d) &&
            can_cut(l, engine, l->n / d, parts - 1))
            return d;
    }
}

static weft_status run_lines(wi_fft_job *job, const wi_fft_lines *l) {
    wi_fft_lines sorted = *l;
    size_t room = 0;
    wi_fft_loops_sort(&sorted.loops, &sorted.turning);
    if (!job->is_rehearsal)
        return job->engine->lines(job->ctx, &sorted, job->room ? job->scratch + job->most : NULL);
    const weft_status status = job->engine->prepare(job->ctx, &sorted, &room);
    job->room = room > job->room ? room : job->room;
    return status;
}

/* Are lines next to each other closer than the numbers of one? */
static bool is_across(const wi_fft_lines *l) {
    return l->loops.used > 0 && l->loops.in[0] < l->stride_in;
}

/* Steps of loops from `k` on over a dense array whose elements have n numbers. */
static void pack(const wi_fft_loops *loops, int k, size_t n, size_t steps[WI_FFT_LOOPS]) {
    for (; k < loops->used; k++) {
        steps[k] = n;
        n *= loops->count[k];
    }
}

/* n2 lines of n1, then n1 lines of n2. Where the lines next to each other are closer than the
 * numbers of one, `wide` of them stay next to each other in between. */
static weft_status two_steps(wi_fft_job *job, const wi_fft_lines *l) {
    const size_t n1 = cut_of(l, job->engine), n2 = l->n / n1;
    const size_t wide = is_across(l) ? l->loops.count[0] : 1;
    const size_t bytes = wi_fft_loops_lines(&l->loops) * l->n * wi_fft_number_bytes(l->type);
    void *const between = wi_fft_take(job, bytes);
    wi_fft_lines first = *l, second = *l;
    first.n = n1;
    first.y = between;
    first.stride_in = n2 * l->stride_in;
    first.stride_out = n2 * wide;
    first.swaps_out = false;
    first.scale = 1;
    first.period = l->n;
    second.n = n2;
    second.x = between;
    second.stride_in = wide;
    second.stride_out = n1 * l->stride_out;
    second.swaps_in = false;
    if (is_across(l))
        first.loops.out[0] = 1;
    pack(&l->loops, is_across(l), l->n * wide, first.loops.out);
    memcpy(second.loops.in, first.loops.out, sizeof first.loops.out);
    first.turning = first.loops.used;
    wi_fft_loop_add(&first.loops, n2, l->stride_in, wide);
    wi_fft_loop_add(&second.loops, n1, n2 * wide, l->stride_out);
    weft_status status = run_lines(job, &first);
    if (status == WEFT_OK)
        status = wi_fft_transform(job, &second);
    wi_fft_give(job, bytes);
    return status;
}

/* So many lines together that what is in between stays in the cache. */
static weft_status by_groups(wi_fft_job *job, const wi_fft_lines *l) {
    const size_t kept = job->engine->kept_bytes, lines = wi_fft_loops_lines(&l->loops);
    const size_t bytes = lines * l->n * wi_fft_number_bytes(l->type);
    int k = l->loops.used - 1;
    weft_status status = WEFT_OK;
    while (k > 0 && l->loops.count[k] == 1)
        k--;
    if (kept == 0 || k < 0 || l->loops.count[k] == 1 || bytes <= kept)
        return two_steps(job, l);
    const bool is_close = k == 0 && (is_across(l) || l->loops.out[0] < l->stride_out);
    const size_t least = is_close ? job->engine->together : 1;
    const size_t fit = kept / (bytes / l->loops.count[k]), together = fit < least ? least : fit;
    for (size_t at = 0; at < l->loops.count[k] && status == WEFT_OK; at += together) {
        wi_fft_lines part = *l;
        const size_t left = l->loops.count[k] - at;
        part.loops.count[k] = left < together ? left : together;
        part.x = numbers_at(l, l->x, at * l->loops.in[k]);
        part.y = (void *)(uintptr_t)numbers_at(l, l->y, at * l->loops.out[k]);
        status = k == 0 || fit > 0 ? two_steps(job, &part) : by_groups(job, &part);
    }
    return status;
}

/* ---- a chirp ---- */

static weft_status chirp_tables(wi_fft_job *job, const wi_fft_lines *l, size_t m,
                                const void **chirp, const void **spectrum) {
    const wi_fft_table_key own = {.kind = WI_FFT_CHIRP, .type = l->type, .n = l->n};
    const wi_fft_table_key whole = {.kind = WI_FFT_SPECTRUM, .type = l->type, .n = l->n, .part = m};
    if (job->args->asks_bytes)
        return WEFT_OK;
    const weft_status status = wi_fft_table(job->ctx, &own, chirp);
    return status == WEFT_OK ? wi_fft_table(job->ctx, &whole, spectrum) : status;
}

/* Lines of m, a power of 2 of at least 2 n - 1, in scratch memory. */
static weft_status by_chirp(wi_fft_job *job, const wi_fft_lines *l) {
    size_t m = 1;
    const void *chirp = NULL, *spectrum = NULL;
    while (m < 2 * l->n - 1)
        m *= 2;
    const size_t lines = wi_fft_loops_lines(&l->loops);
    const size_t bytes = lines * m * wi_fft_number_bytes(l->type);
    weft_status status = chirp_tables(job, l, m, &chirp, &spectrum);
    void *const room = wi_fft_take(job, bytes);
    wi_fft_lines inner = {.type = l->type,
                          .n = m,
                          .x = room,
                          .y = room,
                          .stride_in = 1,
                          .stride_out = 1,
                          .scale = 1,
                          .turning = -1};
    wi_fft_loop_add(&inner.loops, lines, m, m);
    wi_fft_move in = {.type = l->type,
                      .x = l->x,
                      .y = room,
                      .n_in = l->n,
                      .n_out = m,
                      .swaps_in = l->swaps_in,
                      .table = chirp,
                      .scale = 1,
                      .stride_in = l->stride_in,
                      .stride_out = 1,
                      .loops = l->loops};
    wi_fft_move with = {.type = l->type,
                        .x = room,
                        .y = room,
                        .n_in = m,
                        .n_out = m,
                        .table = spectrum,
                        .scale = 1,
                        .stride_in = 1,
                        .stride_out = 1,
                        .loops = inner.loops};
    wi_fft_move out = {.type = l->type,
                       .x = room,
                       .y = l->y,
                       .n_in = l->n,
                       .n_out = l->n,
                       .swaps_out = l->swaps_out,
                       .table = chirp,
                       .scale = l->scale,
                       .stride_in = 1,
                       .stride_out = l->stride_out,
                       .loops = l->loops};
    pack(&l->loops, 0, m, in.loops.out);
    pack(&l->loops, 0, m, out.loops.in);
    if (status == WEFT_OK)
        status = wi_fft_do_move(job, &in);
    if (status == WEFT_OK)
        status = wi_fft_transform(job, &inner);
    if (status == WEFT_OK)
        status = wi_fft_do_move(job, &with);
    inner.swaps_in = inner.swaps_out = true;
    if (status == WEFT_OK)
        status = wi_fft_transform(job, &inner);
    if (status == WEFT_OK)
        status = wi_fft_do_move(job, &out);
    wi_fft_give(job, bytes);
    return status;
}

/* A line of one number is its own transform. */
static weft_status copy(wi_fft_job *job, const wi_fft_lines *l) {
    const wi_fft_move move = {.type = l->type,
                              .x = l->x,
                              .y = l->y,
                              .n_in = 1,
                              .n_out = 1,
                              .scale = l->scale,
                              .stride_in = 1,
                              .stride_out = 1,
                              .loops = l->loops};
    return wi_fft_do_move(job, &move);
}

weft_status wi_fft_transform(wi_fft_job *job, const wi_fft_lines *l) {
    wi_fft_lines sorted = *l;
    if (l->n == 1)
        return copy(job, l);
    wi_fft_loops_sort(&sorted.loops, &sorted.turning);
    if (!job->engine->any_length && !wi_fft_is_smooth(sorted.n))
        return by_chirp(job, &sorted);
    if (job->engine->takes(job->ctx, &sorted))
        return run_lines(job, &sorted);
    return by_groups(job, &sorted);
}
