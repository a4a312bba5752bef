/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of any length. Those that an engine does not take in one go are cut: with n = n1 n2,
 *
 *     Y(j2, k1) = w(n)^(j2 k1) sum over j1 of x(n2 j1 + j2) w(n1)^(j1 k1)
 *     X(k1 + n1 k2) = sum over j2 of Y(j2, k1) w(n2)^(j2 k2),
 *
 * so n2 lines of n1 numbers, whose results are multiplied by twiddle factors w(n)^(j2 k1), are
 * followed by n1 lines of n2 numbers. Y lies in scratch memory; if an engine wants it in a cache,
 * as many lines are done together as fit. A length with a large prime factor is a convolution with
 * a chirp (Bluestein):
 *
 *     X(k) = c(k) sum over j of (x(j) c(j)) conj(c(k - j)),  c(k) = exp(-pi i k^2 / n). */
#include <string.h>

#include "fft/fft.h"
#include "fft/fft_tables.h"

/* An array of numbers, so many further on. */
static const void *numbers_at(const void *p, size_t numbers, size_t number_bytes) {
    return p ? (const char *)p + numbers * number_bytes : NULL;
}

/* ---- cutting a line ---- */

/* What may divide n, from d down or up: of a power of 2 only powers of 2 do, and a call of a few
 * microseconds has no time for a thousand divisions. */
static bool is_power(size_t n) {
    return (n & (n - 1)) == 0;
}
static size_t next_below(size_t n, size_t d) {
    return is_power(n) ? d / 2 : d - 1;
}
static size_t next_above(size_t n, size_t d) {
    return is_power(n) ? 2 * d : d + 1;
}

/* Can n be a product of at most `parts` lengths that an engine cuts lines into? */
static bool can_cut(const wi_fft_lines *l, const wi_fft_engine *engine, size_t n, int parts) {
    if (n <= WI_FFT_MOST_CUT && engine->cuts(l->type, n))
        return true;
    for (size_t d = parts > 1 ? WI_FFT_MOST_CUT : 1; d > 1; d = next_below(n, d))
        if (n % d == 0 && engine->cuts(l->type, d) && can_cut(l, engine, n / d, parts - 1))
            return true;
    return false;
}

/* Is this a line, or part of one, whose passes all go through memory? */
static bool is_plain(const wi_fft_job *job) {
    const size_t from = job->engine->plain_from;
    return from > 0 && job->args->d.n[job->args->d.rank - 1] >= from;
}

/* The first factor of a line: of as few as there can be, all about equal. Before two passes
 * together it is larger: then more lines of the rest fit a cache next to each other. */
static size_t cut_of(const wi_fft_job *job, const wi_fft_lines *l) {
    enum {
        SHORT_BYTES = 1 << 20
    };
    const wi_fft_engine *const engine = job->engine;
    const bool has_pairs = engine->pairs && !is_plain(job);
    const size_t short_enough = SHORT_BYTES / wi_fft_number_bytes(l->type);
    int parts = 2;
    while (!can_cut(l, engine, l->n, parts))
        parts++;
    for (size_t d = 2;; d = next_above(l->n, d)) {
        double power = 1;
        for (int k = 0; k < parts; k++)
            power *= (double)d;
        if (l->n % d != 0 || power < (double)l->n || !engine->cuts(l->type, d) ||
            !can_cut(l, engine, l->n / d, parts - 1))
            continue;
        while (has_pairs && parts == 3 && l->n / d > short_enough && l->n % (2 * d) == 0 &&
               2 * d <= WI_FFT_MOST_CUT && engine->cuts(l->type, 2 * d))
            d *= 2;
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

/* As n2 lines of n1, then n1 lines of n2. Where the lines next to each other are closer than the
 * numbers of one, `wide` of them stay next to each other in between. */
static void cut_line(const wi_fft_lines *l, size_t n1, void *between, wi_fft_lines *first,
                     wi_fft_lines *second) {
    const size_t n2 = l->n / n1;
    const size_t wide = is_across(l) ? l->loops.count[0] : 1;
    *first = *second = *l;
    first->n = n1;
    first->y = between;
    first->stride_in = n2 * l->stride_in;
    first->stride_out = n2 * wide;
    first->whole = second->whole = 0; /* of which there are many */
    first->swaps_out = first->half_out = false;
    first->scale = 1;
    first->period = l->n;
    second->n = n2;
    second->x = between;
    second->stride_in = wide;
    second->stride_out = n1 * l->stride_out;
    second->swaps_in = second->half_in = false;
    if (is_across(l))
        first->loops.out[0] = 1;
    wi_fft_loops_pack(&l->loops, is_across(l), l->n * wide, first->loops.out);
    memcpy(second->loops.in, first->loops.out, sizeof first->loops.out);
    first->turning = first->loops.used;
    wi_fft_loop_add(&first->loops, n2, l->stride_in, wide);
    wi_fft_loop_add(&second->loops, n1, n2 * wide, l->stride_out);
}

static size_t bytes_of(const wi_fft_lines *l) {
    return wi_fft_loops_lines(&l->loops) * l->n * wi_fft_number_bytes(l->type);
}

static bool is_rough(const wi_fft_job *job, size_t n) {
    return n > 1 && !job->engine->any_length && !wi_fft_is_smooth(n, job->engine->most_prime);
}

/* Lines with a large prime factor, by an engine that does all in one go. */
static weft_status run_chirp(wi_fft_job *job, const wi_fft_lines *l) {
    wi_fft_lines sorted = *l;
    wi_fft_loops_sort(&sorted.loops, &sorted.turning);
    return job->args->asks_bytes ? WEFT_OK
                                 : job->engine->chirp(job->ctx, &sorted, !job->is_rehearsal);
}

static weft_status two_steps(wi_fft_job *job, const wi_fft_lines *l, size_t n1) {
    const size_t bytes = bytes_of(l);
    void *const between = wi_fft_take(job, bytes);
    wi_fft_lines first, second;
    cut_line(l, n1, between, &first, &second);
    weft_status status = is_rough(job, n1) ? run_chirp(job, &first) : run_lines(job, &first);
    if (status == WEFT_OK)
        status = wi_fft_transform(job, &second);
    wi_fft_give(job, bytes);
    return status;
}

/* The outermost loop of more than one turn, or -1. */
static int outermost(const wi_fft_loops *loops) {
    int k = loops->used - 1;
    while (k >= 0 && loops->count[k] == 1)
        k--;
    return k;
}

/* `count` turns of loop k from turn `from` on. */
static wi_fft_lines part_of(const wi_fft_lines *l, int k, size_t from, size_t count) {
    wi_fft_lines part = *l;
    part.loops.count[k] = count;
    part.x = numbers_at(l->x, from * l->loops.in[k], wi_fft_stored_bytes(l->type, l->half_in));
    part.y = (void *)(uintptr_t)numbers_at(l->y, from * l->loops.out[k],
                                           wi_fft_stored_bytes(l->type, l->half_out));
    return part;
}

/* ---- both passes together ---- */

/* What is between them may take so much of the cache; other shares than an engine's are best for
 * parts of a longer line (an H200, 2026-11-29). */
static size_t kept_of(const wi_fft_job *job, const wi_fft_lines *l) {
    const size_t kept = job->engine->kept_bytes;
    if (l->n >= job->args->d.n[job->args->d.rank - 1])
        return kept;
    return l->type == WEFT_F64 ? kept / 4 * 3 : kept / 4 * 5;
}

/* `groups` of `together` turns of loop k, or of all lines if k is -1. */
static weft_status run_pair(wi_fft_job *job, const wi_fft_lines *l, size_t n1, int k,
                            size_t together, size_t groups) {
    enum {
        MOST_SLOTS = 16
    };
    const wi_fft_lines group = k >= 0 ? part_of(l, k, 0, together) : *l;
    const size_t bytes = bytes_of(&group), fit = kept_of(job, l) / bytes;
    wi_fft_pair pair = {.groups = groups,
                        .step_in = k >= 0 ? together * l->loops.in[k] : 0,
                        .step_out = k >= 0 ? together * l->loops.out[k] : 0,
                        .slot = bytes / wi_fft_number_bytes(l->type),
                        .slots = fit < 2            ? 2
                                 : fit > MOST_SLOTS ? MOST_SLOTS
                                                    : fit};
    pair.slots = pair.slots < groups ? pair.slots : groups;
    void *const between = wi_fft_take(job, pair.slots * bytes);
    cut_line(&group, n1, between, &pair.first, &pair.second);
    wi_fft_loops_sort(&pair.first.loops, &pair.first.turning);
    wi_fft_loops_sort(&pair.second.loops, &pair.second.turning);
    const weft_status status = job->engine->pair(job->ctx, &pair, !job->is_rehearsal);
    wi_fft_give(job, pair.slots * bytes);
    return status;
}

/* Lines of a group: about an eighth of the cache has, and a power of 2. */
static size_t group_of(const wi_fft_job *job, const wi_fft_lines *l, int k, const size_t lines[2]) {
    const size_t slice = bytes_of(l) / l->loops.count[k], eighth = kept_of(job, l) / 8;
    size_t together = 1;
    if (k == 0 && is_across(l))
        together = lines[0] > lines[1] ? lines[0] : lines[1];
    else if (k == 0 && l->loops.out[0] < l->stride_out)
        together = lines[1];
    while (2 * together * slice <= eighth)
        together *= 2;
    return together < l->loops.count[k] ? together : l->loops.count[k];
}

static weft_status by_pairs(wi_fft_job *job, const wi_fft_lines *l, size_t n1,
                            const size_t lines[2]) {
    const int k = outermost(&l->loops);
    weft_status status = WEFT_OK;
    if (k < 0)
        return run_pair(job, l, n1, k, 1, 1);
    const size_t count = l->loops.count[k];
    if (k > 0 && 2 * (bytes_of(l) / count) > kept_of(job, l)) {
        for (size_t at = 0; at < count && status == WEFT_OK; at++) {
            const wi_fft_lines part = part_of(l, k, at, 1);
            status = by_pairs(job, &part, n1, lines);
        }
        return status;
    }
    const size_t together = group_of(job, l, k, lines), rest = count % together;
    status = run_pair(job, l, n1, k, together, count / together);
    if (status != WEFT_OK || rest == 0)
        return status;
    const wi_fft_lines last = part_of(l, k, count - rest, rest);
    return run_pair(job, &last, n1, k, rest, 1);
}

/* ---- one pass after the other ---- */

/* Lines in passes of an engine's own. */
static bool has_passes(const wi_fft_job *job, const wi_fft_lines *l) {
    return job->engine->passes && job->engine->passes(job->ctx, l);
}

/* Numbers of scratch memory that a line takes: if it is cut by n1, or, with 0, in passes of an
 * engine's own, or as its own convolution in some passes. */
static size_t room_of(const wi_fft_job *job, const wi_fft_lines *l, size_t n1) {
    return n1 || has_passes(job, l) ? l->n : job->engine->long_chirps(l->type, l->n);
}

/* In passes of an engine's own. */
static weft_status run_passes(wi_fft_job *job, const wi_fft_lines *l) {
    const wi_fft_engine *const engine = job->engine;
    const size_t lines = wi_fft_loops_lines(&l->loops);
    const size_t bytes = lines * room_of(job, l, 0) * wi_fft_number_bytes(l->type);
    void *const room = wi_fft_take(job, bytes);
    weft_status status = WEFT_OK;
    if (!job->args->asks_bytes)
        status = (has_passes(job, l) ? engine->in_passes : engine->long_chirp)(job->ctx, l, room,
                                                                               !job->is_rehearsal);
    wi_fft_give(job, bytes);
    return status;
}

/* So many lines together that what is in between stays in the cache, or takes little memory. */
static weft_status by_groups(wi_fft_job *job, const wi_fft_lines *l, size_t n1) {
    const wi_fft_engine *const engine = job->engine;
    const size_t kept = has_passes(job, l) || is_plain(job) ? engine->passes_bytes
                                                            : (n1 ? 1 : 2) * engine->group_bytes;
    const size_t room = room_of(job, l, n1);
    const size_t bytes = wi_fft_loops_lines(&l->loops) * room * wi_fft_number_bytes(l->type);
    const int k = outermost(&l->loops);
    weft_status status = WEFT_OK;
    if (kept == 0 || k < 0 || bytes <= kept)
        return n1 ? two_steps(job, l, n1) : run_passes(job, l);
    const bool is_close = k == 0 && (is_across(l) || l->loops.out[0] < l->stride_out);
    const size_t least = is_close ? engine->together : 1;
    const size_t fit = kept / (bytes / l->loops.count[k]), together = fit < least ? least : fit;
    for (size_t at = 0; at < l->loops.count[k] && status == WEFT_OK; at += together) {
        const size_t left = l->loops.count[k] - at;
        const wi_fft_lines part = part_of(l, k, at, left < together ? left : together);
        if (k > 0 && fit == 0)
            status = by_groups(job, &part, n1);
        else
            status = n1 ? two_steps(job, &part, n1) : run_passes(job, &part);
    }
    return status;
}

/* Lines that an engine does not take in one go. */
static weft_status by_cutting(wi_fft_job *job, const wi_fft_lines *l) {
    size_t lines[2] = {1, 1};
    const bool has_pairs = job->engine->pairs && !is_plain(job);
    const size_t n1 = has_pairs ? job->engine->pairs(l->type, l->n, lines) : 0;
    return n1 ? by_pairs(job, l, n1, lines) : by_groups(job, l, cut_of(job, l));
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

/* About how many microseconds an engine's own convolution takes for lines of n numbers, 2^24 of f32
 * in all (an H200, 2026-11-29); 0 if it has none. */
static double chirp_cost(const wi_fft_job *job, weft_type type, size_t n) {
    const size_t m = job->engine->chirps(job->ctx, type, n);
    const double times = (double)m / (double)n;
    return m == 0 ? 0 : m <= 4096 ? 95 + 57 * times : 135 + 75 * times;
}

/* The first factor n1 of a line so that an engine has its own convolution for lines of n / n1, and
 * if need be for those of n1: that which costs least; 0 if there is none. */
static size_t chirp_cut_of(const wi_fft_job *job, const wi_fft_lines *l) {
    const wi_fft_engine *const engine = job->engine;
    const double smooth_cost = 100;
    size_t best = 0;
    double least = 0;
    for (size_t n1 = 2; engine->chirps && n1 <= WI_FFT_MOST_CUT; n1++) {
        if (l->n % n1 != 0 || !engine->cuts(l->type, n1) ||
            (is_rough(job, n1) && n1 > WI_FFT_MOST_TURNED) || !is_rough(job, l->n / n1))
            continue;
        const double first = is_rough(job, n1) ? chirp_cost(job, l->type, n1) : smooth_cost;
        const double second = chirp_cost(job, l->type, l->n / n1);
        if (first == 0 || second == 0 || (best && first + second >= least))
            continue;
        best = n1;
        least = first + second;
    }
    return best;
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
    inner.whole = l->whole;
    wi_fft_move in = {.type = l->type,
                      .x = l->x,
                      .y = room,
                      .n_in = l->n,
                      .n_out = m,
                      .half_in = l->half_in,
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
                       .half_out = l->half_out,
                       .swaps_out = l->swaps_out,
                       .table = chirp,
                       .scale = l->scale,
                       .stride_in = 1,
                       .stride_out = l->stride_out,
                       .loops = l->loops};
    wi_fft_loops_pack(&l->loops, 0, m, in.loops.out);
    wi_fft_loops_pack(&l->loops, 0, m, out.loops.in);
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

/* Are sums clearly faster than an engine's own convolution of m numbers? Of that these are times
 * of whole lines in one piece (an H200, 2026-11-29). */
static bool is_summed(const wi_fft_job *job, const wi_fft_lines *l) {
    const double cost = job->engine->sums ? job->engine->sums(l) : 0, clearly = 1.2;
    const size_t m = cost > 0 ? job->engine->chirps(job->ctx, l->type, l->n) : 0;
    const double times = (double)m / (double)l->n;
    return m > 0 && clearly * cost < (m <= 256    ? 40 + 45 * times
                                      : m <= 4096 ? 67 + 57 * times
                                                  : 45 + 95 * times);
}

weft_status wi_fft_transform(wi_fft_job *job, const wi_fft_lines *l) {
    const wi_fft_engine *const engine = job->engine;
    const bool is_half = l->half_in || l->half_out;
    const bool is_chirp = is_rough(job, l->n) && !is_summed(job, l);
    const size_t m = is_chirp && engine->chirps ? engine->chirps(job->ctx, l->type, l->n) : 0;
    wi_fft_lines sorted = *l;
    if (l->n == 1)
        return wi_fft_copy_line(job, l);
    if (is_half && !engine->halves && !is_chirp)
        return wi_fft_by_copies(job, l);
    wi_fft_loops_sort(&sorted.loops, &sorted.turning);
    if (m)
        return run_chirp(job, &sorted);
    if (is_chirp) {
        const size_t n1 = chirp_cut_of(job, &sorted);
        const bool is_long = engine->long_chirps && engine->long_chirps(l->type, l->n) > 0;
        return n1 || is_long ? by_groups(job, &sorted, n1) : by_chirp(job, &sorted);
    }
    if (has_passes(job, &sorted))
        return by_groups(job, &sorted, 0);
    return engine->takes(job->ctx, &sorted) ? run_lines(job, &sorted) : by_cutting(job, &sorted);
}
