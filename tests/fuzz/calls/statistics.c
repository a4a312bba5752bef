/* SPDX-License-Identifier: Apache-2.0 */
/* Elements by rank, quantiles, and summaries. The oracle sorts, and adds in long double. */
#include "calls/calls.h"

#include <math.h>
#include <string.h>

enum {
    MOST_RANKS = 20
};

/* The positions of x's elements in ascending order. */
static size_t *sorted_positions(fuzz *f, const void *x) {
    uint64_t *const ranks = fuzz_take(f, f->n * sizeof *ranks);
    size_t *const positions = fuzz_take(f, f->n * sizeof *positions);
    for (size_t i = 0; i < f->n; i++)
        ranks[i] = fuzz_rank(f->type, x, i);
    fuzz_order(ranks, f->n, positions);
    return positions;
}

void fuzz_nth(fuzz *f) {
    fuzz_begin(f, "quantile");
    const size_t size = test_size_of(f->type), m = f->n ? fuzz_below(f, MOST_RANKS) : 0;
    fuzz_array *const x = fuzz_elements(f, "x", f->n);
    const size_t *const positions = sorted_positions(f, x->before);
    uint64_t *const ranks = fuzz_take(f, (m + 1) * sizeof *ranks);
    for (size_t j = 0; j < m; j++)
        ranks[j] = fuzz_below(f, f->n);
    fuzz_array *const list = fuzz_host_input(f, "ranks", m * sizeof *ranks, sizeof *ranks, ranks);
    fuzz_array *const values = fuzz_output(f, "values", m * size, size);
    values->type = f->type;
    values->compare = FUZZ_SAME;
    for (size_t j = 0; j < m; j++)
        test_store(f->type, values->want, j, test_load(f->type, x->before, positions[ranks[j]]));
    fuzz_spoil(f);
    if (m > 0 && fuzz_spoil_own(f, "ranks")) {
        ranks[0] = f->n + fuzz_below(f, 5);
        memcpy(list->p, ranks, sizeof *ranks);
        memcpy(list->before, ranks, sizeof *ranks);
    }
    fuzz_say(f, "weft_nth(%s, %zu, m %zu)", weft_type_name(f->type), f->n, m);
    fuzz_end(f, "weft_nth", weft_nth(f->ctx, f->type, f->n, x->p, m, list->p, values->p));
}

static double as_double(weft_type type, const void *x, size_t i) {
    const test_value v = test_load(type, x, i);
    return test_is_float(type) ? v.f : test_is_signed(type) ? (double)v.i : (double)v.u;
}

/* The quantile by weft/quantile.h's formulas; of what rounds twice there, within *bound. */
static long double quantile(weft_quantile_rule rule, double a, double b, double g, uint64_t rank,
                            long double *bound) {
    *bound = 0;
    if (g == 0 || a == b)
        return a;
    switch (rule) {
    case WEFT_LOWER_VALUE:
        return a;
    case WEFT_HIGHER_VALUE:
        return b;
    case WEFT_NEAREST_VALUE:
        return g < 0.5 || (g == 0.5 && rank % 2 == 0) ? a : b;
    default:
        break;
    }
    const long double share = rule == WEFT_MIDPOINT ? 0.5L : g;
    const long double value = a + share * ((long double)b - a);
    if (isfinite(value))
        *bound = (fabsl(a) + fabsl(b)) * 0x1p-51L + 0x1p-1074L;
    return isinf(b - a) && !isfinite(value) ? share * b + (1 - share) * a : value;
}

static void expect_quantiles(fuzz *f, weft_quantile_rule rule, const void *x, size_t m,
                             const double *q, fuzz_array *out) {
    const size_t *const positions = sorted_positions(f, x);
    out->type = WEFT_F64;
    out->compare = FUZZ_BOUNDED;
    out->value = fuzz_take(f, (m + 1) * sizeof *out->value);
    out->bound = fuzz_take(f, (m + 1) * sizeof *out->bound);
    for (size_t j = 0; j < m; j++) {
        out->value[j] = NAN;
        if (f->n == 0)
            continue;
        const double h = q[j] * (double)(f->n - 1);
        const size_t i = (size_t)h, next = i + 1 < f->n ? i + 1 : i;
        out->value[j] =
            quantile(rule, as_double(f->type, x, positions[i]),
                     as_double(f->type, x, positions[next]), h - floor(h), i, &out->bound[j]);
    }
}

void fuzz_quantiles(fuzz *f) {
    fuzz_begin(f, "quantile");
    const size_t m = fuzz_below(f, MOST_RANKS);
    weft_quantile_rule rule = (weft_quantile_rule)fuzz_below(f, WEFT_MIDPOINT + 1);
    fuzz_array *const x = fuzz_elements(f, "x", f->n);
    double *const q = fuzz_take(f, (m + 1) * sizeof *q);
    for (size_t j = 0; j < m; j++)
        q[j] = (double)fuzz_below(f, 65) / (fuzz_one_in(f, 2) ? 64 : 100);
    fuzz_array *const list = fuzz_host_input(f, "q", m * sizeof *q, sizeof *q, q);
    fuzz_array *const out = fuzz_output(f, "quantiles", m * sizeof *q, sizeof *q);
    expect_quantiles(f, rule, x->before, m, q, out);
    fuzz_spoil(f);
    if (fuzz_spoil_own(f, "rule"))
        rule = (weft_quantile_rule)(WEFT_MIDPOINT + 1 + fuzz_below(f, 9));
    if (m > 0 && fuzz_spoil_own(f, "q")) {
        q[0] = fuzz_one_in(f, 2) ? NAN : 1.5;
        memcpy(list->p, q, sizeof *q);
        memcpy(list->before, q, sizeof *q);
    }
    fuzz_say(f, "weft_quantiles(rule %d, %s, %zu, m %zu)", (int)rule, weft_type_name(f->type), f->n,
             m);
    fuzz_end(f, "weft_quantiles",
             weft_quantiles(f->ctx, rule, f->type, f->n, x->p, m, list->p, out->p));
}

/* ---- summary ---- */

typedef struct moments {
    weft_statistics exactly; /* but for the mean and the variance */
    long double mean, variance;
    bool infinite;       /* an element is */
    long double largest; /* magnitude of an element */
} moments;

static moments moments_of(const fuzz *f, const void *x) {
    moments m = {
        .exactly = {.min = NAN, .max = NAN, .min_at = WEFT_NOWHERE, .max_at = WEFT_NOWHERE}};
    weft_statistics *const s = &m.exactly;
    uint64_t least = 0, most = 0;
    long double sum = 0, squares = 0;
    for (size_t i = 0; i < f->n; i++) {
        const double v = as_double(f->type, x, i);
        if (isnan(v)) {
            s->nans++;
            continue;
        }
        const uint64_t rank = fuzz_rank(f->type, x, i);
        if (s->count == 0 || rank < least) {
            least = rank;
            s->min = v;
            s->min_at = i;
        }
        if (s->count == 0 || rank > most) {
            most = rank;
            s->max = v;
            s->max_at = i;
        }
        s->count++;
        sum += v;
        if (isinf(v))
            m.infinite = true;
        else
            m.largest = fmaxl(m.largest, fabsl(v));
    }
    m.mean = sum / (long double)s->count;
    for (size_t i = 0; i < f->n; i++) {
        const double v = as_double(f->type, x, i);
        if (!isnan(v))
            squares += (v - m.mean) * (v - m.mean);
    }
    m.variance = squares / (long double)s->count;
    return m;
}

static bool same_number(double a, double b) {
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

static bool near(double got, long double want, long double bound) {
    return isnan(want) ? isnan(got) : fabsl(got - want) <= bound;
}

/* The promises of weft/summary.h; long double itself rounds where elements are alike and far from
 * 0. */
static bool is_summary(const moments *m, const weft_statistics *got) {
    const weft_statistics *const want = &m->exactly;
    if (got->count != want->count || got->nans != want->nans || got->min_at != want->min_at ||
        got->max_at != want->max_at || !same_number(got->min, want->min) ||
        !same_number(got->max, want->max))
        return false;
    if (want->count == 0)
        return isnan(got->mean) && isnan(got->variance);
    if (m->largest > 0x1p500L)
        return true;
    if (m->infinite)
        return (isnan(m->mean) ? isnan(got->mean) : got->mean == (double)m->mean) &&
               isnan(got->variance);
    const long double deviation = sqrtl(m->variance), oracle = m->largest * 0x1p-50L;
    return near(got->mean, m->mean, deviation * 0x1p-30L + oracle + 0x1p-1074L) &&
           near(got->variance, m->variance,
                m->variance * 0x1p-30L + oracle * (oracle + deviation) + 0x1p-1022L);
}

void fuzz_summary(fuzz *f) {
    fuzz_begin(f, "summary");
    fuzz_array *const x = fuzz_elements(f, "x", f->n);
    fuzz_array *const result = fuzz_output(f, "result", sizeof(weft_statistics), sizeof(double));
    result->compare = FUZZ_ANY;
    if (!result->buffer.device)
        result->align = 1;
    const moments want = moments_of(f, x->before);
    fuzz_spoil(f);
    fuzz_say(f, "weft_summary(%s, %zu)", weft_type_name(f->type), f->n);
    if (!fuzz_end(f, "weft_summary", weft_summary(f->ctx, f->type, f->n, x->p, result->p)))
        return;
    weft_statistics got;
    memcpy(&got, fuzz_read(f, result), sizeof got);
    if (!is_summary(&want, &got))
        fail_msg("weft_summary: count %llu, nans %llu, min %g at %llu, max %g at %llu, mean %.17g, "
                 "variance %.17g, not %llu, %llu, %g at %llu, %g at %llu, %.17Lg, %.17Lg",
                 (unsigned long long)got.count, (unsigned long long)got.nans, got.min,
                 (unsigned long long)got.min_at, got.max, (unsigned long long)got.max_at, got.mean,
                 got.variance, (unsigned long long)want.exactly.count,
                 (unsigned long long)want.exactly.nans, want.exactly.min,
                 (unsigned long long)want.exactly.min_at, want.exactly.max,
                 (unsigned long long)want.exactly.max_at, want.mean, want.variance);
}
