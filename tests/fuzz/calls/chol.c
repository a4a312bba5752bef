/* SPDX-License-Identifier: Apache-2.0 */
/* Analysis, factorization and solution of small symmetric matrices with every ordering, against a
 * dense factorization in long double. */
#include "calls/chol.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MOST_UNKNOWNS = 60
};

/* ---- a matrix ---- */

static void set(fuzz_dense *a, size_t i, size_t j, double v) {
    a->value[fuzz_at(a, i, j)] = a->value[fuzz_at(a, j, i)] = v;
    a->there[fuzz_at(a, i, j)] = a->there[fuzz_at(a, j, i)] = true;
}

/* Off the diagonal at random, in a band, or an arrow; the diagonal makes it definite, or not. */
static void draw_matrix(fuzz_chol_case *c) {
    fuzz *const f = c->f;
    const size_t n = c->n, kind = fuzz_below(f, 3), count = n ? fuzz_below(f, 4 * n) : 0;
    const double scale = ldexp(1, fuzz_one_in(f, 6) ? (int)fuzz_below(f, 600) - 300 : 0);
    test_random *const r = fuzz_random(f);
    c->a = fuzz_dense_take(f, n, n);
    for (size_t k = 0; k < count; k++) {
        const size_t j = test_below(r, n);
        const size_t i = kind == 0   ? test_below(r, n)
                         : kind == 1 ? (j + test_below(r, 4)) % n
                                     : n - 1 - test_below(r, 2 < n ? 2 : n);
        if (i != j) {
            set(&c->a, i, j, test_below(r, 8) ? scale * test_unit(r) : 0);
        }
    }
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t j = 0; j < n; j++) {
            sum += j == i ? 0 : fabs(c->a.value[fuzz_at(&c->a, i, j)]);
        }
        set(&c->a, i, i, sum + scale * (0.5 + test_below(r, 3)));
    }
    if (n > 0 && fuzz_one_in(f, 4)) {
        const size_t i = fuzz_below(f, n);
        set(&c->a, i, i, -c->a.value[fuzz_at(&c->a, i, i)] * (double)fuzz_below(f, 2));
    }
}

/* ---- the oracle ---- */

static long double entry(const fuzz_chol_case *c, size_t i, size_t j) {
    return c->a.value[fuzz_at(&c->a, (size_t)c->perm[i], (size_t)c->perm[j])];
}

static void factor_densely(fuzz_chol_case *c) {
    const size_t n = c->n;
    c->l = fuzz_take(c->f, n * n * sizeof *c->l);
    c->outcome = DEFINITE;
    for (size_t j = 0; j < n; j++) {
        long double pivot = entry(c, j, j), scale = fabsl(pivot);
        for (size_t k = 0; k < j; k++) {
            pivot -= c->l[j * n + k] * c->l[j * n + k];
        }
        if (fabsl(pivot) <= 1e-9L * scale || !(scale > 0)) {
            c->outcome = UNCLEAR;
            return;
        }
        if (pivot < 0) {
            c->outcome = INDEFINITE;
            c->failed = j;
            return;
        }
        const long double d = c->l[j * n + j] = sqrtl(pivot);
        for (size_t i = j + 1; i < n; i++) {
            long double v = entry(c, i, j);
            for (size_t k = 0; k < j; k++) {
                v -= c->l[i * n + k] * c->l[j * n + k];
            }
            c->l[i * n + j] = v / d;
        }
    }
}

/* Fill, flops and the height of the elimination tree, by eliminating columns of a square. */
static void check_analysis(fuzz_chol_case *c) {
    const size_t n = c->n;
    bool *const there = fuzz_take(c->f, n * n * sizeof *there);
    size_t *const depth = fuzz_take(c->f, n * sizeof *depth), nnz_a = 0, nnz_l = 0, height = 0;
    double flops = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            there[i * n + j] = c->a.there[fuzz_at(&c->a, (size_t)c->perm[i], (size_t)c->perm[j])];
            nnz_a += there[i * n + j];
        }
    }
    for (size_t j = 0; j < n; j++) {
        size_t parent = n, count = 1;
        for (size_t i = j + 1; i < n; i++) {
            if (there[i * n + j]) {
                parent = parent == n ? i : parent;
                count++;
                there[i * n + parent] = true;
            }
        }
        depth[j]++;
        height = depth[j] > height ? depth[j] : height;
        if (parent < n && depth[parent] < depth[j]) {
            depth[parent] = depth[j];
        }
        nnz_l += count;
        flops += (double)count * (double)count;
    }
    weft_chol_report report = {.size = sizeof report};
    if (weft_chol_get_report(c->f->ctx, c->plan, &report) != WEFT_OK || report.n != n ||
        report.nnz_a != nnz_a || report.nnz_l != nnz_l || report.flops != flops ||
        report.tree_height != height || report.nnz_l_stored < nnz_l) {
        fail_msg("the report says n %zu, nnz_a %zu, nnz_l %zu, flops %g, height %zu, not %zu, %zu, "
                 "%zu, %g, %zu",
                 report.n, report.nnz_a, report.nnz_l, report.flops, report.tree_height, n, nnz_a,
                 nnz_l, flops, height);
    }
}

static void check_permutation(fuzz_chol_case *c) {
    bool *const seen = fuzz_take(c->f, c->n * sizeof *seen);
    c->perm = weft_chol_permutation(c->plan);
    for (size_t k = 0; k < c->n; k++) {
        if (c->perm[k] < 0 || (size_t)c->perm[k] >= c->n || seen[c->perm[k]]) {
            fail_msg("permutation[%zu] is %lld", k, (long long)c->perm[k]);
        }
        seen[c->perm[k]] = true;
    }
}

/* ---- solving ---- */

/* How far x is from solving A x = b. */
typedef struct misfit {
    long double residual, size;     /* the largest of b - A x, and of |A| |x| + |b| */
    long double backward, normwise; /* as the report defines them */
} misfit;

static misfit measure(const fuzz_chol_case *c, const double *x, const double *b) {
    misfit m = {0};
    long double norm = 0, largest_x = 0, largest_b = 0;
    for (size_t i = 0; i < c->n; i++) {
        largest_x = fmaxl(largest_x, fabs(x[i]));
        largest_b = fmaxl(largest_b, fabs(b[i]));
    }
    for (size_t i = 0; i < c->n; i++) {
        long double r = b[i], products = 0, sum = 0, a = 0;
        for (size_t j = 0; j < c->n; j++) {
            const long double v = c->a.value[fuzz_at(&c->a, i, j)], t = v * x[j];
            r -= t;
            products += fabsl(t);
            sum += fabsl(v);
            a = fmaxl(a, fabsl(v));
        }
        long double divisor = products + fabs(b[i]);
        m.size = fmaxl(m.size, divisor);
        const long double tiny = 1000 * (long double)c->n * 0x1p-53L;
        if (!(divisor > tiny * (a * largest_x + fabs(b[i])))) {
            divisor = products + a * largest_x;
        }
        norm = fmaxl(norm, sum);
        m.residual = fmaxl(m.residual, fabsl(r));
        m.backward = fmaxl(m.backward, r != 0 ? fabsl(r) / divisor : 0);
    }
    m.normwise = m.residual > 0 ? m.residual / (norm * largest_x + largest_b) : 0;
    return m;
}

static void check_solution(const fuzz_chol_case *c, const double *x, const double *b,
                           misfit *worst) {
    const misfit m = measure(c, x, b);
    const long double tolerance = 64 * (long double)(c->n + 1) * 0x1p-53L * m.size;
    if (!(m.residual <= tolerance)) {
        fail_msg("the residual is %Lg, more than %Lg", m.residual, tolerance);
    }
    worst->backward = fmaxl(worst->backward, m.backward);
    worst->normwise = fmaxl(worst->normwise, m.normwise);
}

/* Substitution with the dense factor, in the order of L. */
static void check_part(const fuzz_chol_case *c, weft_chol_part part, const double *x,
                       const double *b) {
    const size_t n = c->n;
    long double *const want = fuzz_take(c->f, n * sizeof *want), largest = 0;
    for (size_t step = 0; step < n; step++) {
        const size_t i = part == WEFT_CHOL_L ? step : n - 1 - step;
        long double v = b[i];
        for (size_t k = 0; k < n; k++) {
            if (part == WEFT_CHOL_L && k < i) {
                v -= c->l[i * n + k] * want[k];
            } else if (part == WEFT_CHOL_LT && k > i) {
                v -= c->l[k * n + i] * want[k];
            }
        }
        want[i] = v / c->l[i * n + i];
        largest = fmaxl(largest, fabsl(want[i]));
    }
    for (size_t i = 0; i < n; i++) {
        if (!(fabsl(x[i] - want[i]) <= 1e-8L * largest)) {
            fail_msg("part %d: x[%zu] is %g, not %Lg", (int)part, i, x[i], want[i]);
        }
    }
}

static bool is_near(double told, long double want) {
    return fabsl(told - want) <= 0.01L * want + 0x1p-52L;
}

static void check_report(const fuzz_chol_case *c, const misfit *worst) {
    weft_chol_report report = {.size = sizeof report};
    weft_chol_get_report(c->f->ctx, c->plan, &report);
    if (!is_near(report.backward_error, worst->backward) ||
        !is_near(report.normwise_error, worst->normwise)) {
        fail_msg("the report's errors are %g and %g, not %Lg and %Lg", report.backward_error,
                 report.normwise_error, worst->backward, worst->normwise);
    }
}

/* |A| |A^-1| in the 1-norm, by solving for every column of the inverse. */
static long double condition(const fuzz_chol_case *c) {
    const size_t n = c->n;
    long double *const x = fuzz_take(c->f, n * sizeof *x), norm = 0, inverse = 0;
    for (size_t j = 0; j < n; j++) {
        long double sum = 0, own = 0;
        for (size_t i = 0; i < n; i++) {
            long double v = i == j;
            for (size_t k = 0; k < i; k++) {
                v -= c->l[i * n + k] * x[k];
            }
            x[i] = v / c->l[i * n + i];
            own += fabsl(entry(c, i, j));
        }
        for (size_t i = n; i-- > 0;) {
            for (size_t k = i + 1; k < n; k++) {
                x[i] -= c->l[k * n + i] * x[k];
            }
            x[i] /= c->l[i * n + i];
            sum += fabsl(x[i]);
        }
        norm = fmaxl(norm, own);
        inverse = fmaxl(inverse, sum);
    }
    return norm * inverse;
}

/* From below, and not far off. */
static void check_condition(const fuzz_chol_case *c) {
    double estimate = -1;
    if (weft_chol_condition(c->f->ctx, c->plan, c->matrix, &estimate) != WEFT_OK) {
        fail_msg("weft_chol_condition: %s", weft_message(c->f->ctx));
    }
    const long double true_one = condition(c);
    if (c->n > 0 && !(estimate <= true_one * (1 + 1e-6L) && estimate >= true_one / 20)) {
        fail_msg("the condition is estimated as %g, and is %Lg", estimate, true_one);
    }
}

static void solve(fuzz_chol_case *c) {
    fuzz *const f = c->f;
    const size_t n = c->n, rhs = fuzz_one_in(f, 4) ? fuzz_below(f, 40) : 1 + fuzz_below(f, 3);
    const size_t ldb = n + fuzz_below(f, 4), ldx = n + fuzz_below(f, 4);
    weft_chol_solve_options options = {.size = sizeof options,
                                       .part = (weft_chol_part)fuzz_below(f, 3),
                                       .refine = (int)fuzz_below(f, 4)};
    const size_t bs = rhs && n ? (rhs - 1) * ldb + n : 0, xs = rhs && n ? (rhs - 1) * ldx + n : 0;
    double *const b = fuzz_take(f, bs * sizeof *b);
    test_random *const r = fuzz_random(f);
    for (size_t k = 0; k < bs; k++) {
        b[k] = test_unit(r);
    }
    const bool infinite = bs > 0 && fuzz_one_in(f, 20);
    if (infinite) {
        b[fuzz_below(f, n)] = INFINITY;
    }
    const bool in_place = ldb == ldx && fuzz_one_in(f, 2);
    fuzz_array *const given = fuzz_host_input(f, "b", bs * sizeof *b, sizeof *b, b);
    fuzz_array *const x = in_place ? given : fuzz_host_output(f, "x", xs * sizeof *b, sizeof *b);
    x->compare = FUZZ_ANY;
    x->shared = in_place;
    const weft_status status =
        weft_chol_solve(f->ctx, c->plan, c->matrix, fuzz_one_in(f, 4) ? NULL : &options, rhs,
                        given->p, ldb, x->p, ldx);
    if (infinite) {
        test_refused(f->ctx, status, WEFT_ENONFINITE, "weft_chol_solve", "b");
        return;
    }
    fuzz_end(f, "weft_chol_solve", status);
}

/* The same once more with the options known, column by column against the oracle. */
static void solve_checked(fuzz_chol_case *c) {
    fuzz *const f = c->f;
    const size_t n = c->n, rhs = 1 + fuzz_below(f, 20);
    const weft_chol_part part = (weft_chol_part)fuzz_below(f, 3);
    const weft_chol_solve_options options = {.size = sizeof options,
                                             .part = part,
                                             .refine =
                                                 part == WEFT_CHOL_A ? (int)fuzz_below(f, 3) : 0};
    double *const b = fuzz_take(f, n * rhs * sizeof *b);
    double *const x = fuzz_take(f, n * rhs * sizeof *x);
    misfit worst = {0};
    test_random *const r = fuzz_random(f);
    for (size_t k = 0; k < n * rhs; k++) {
        b[k] = 1.5 + test_unit(r);
    }
    if (weft_chol_solve(f->ctx, c->plan, part == WEFT_CHOL_A ? c->matrix : NULL, &options, rhs, b,
                        n, x, n) != WEFT_OK) {
        fail_msg("weft_chol_solve: %s", weft_message(f->ctx));
    }
    for (size_t k = 0; k < rhs; k++) {
        if (part == WEFT_CHOL_A) {
            check_solution(c, x + k * n, b + k * n, &worst);
        } else {
            check_part(c, part, x + k * n, b + k * n);
        }
    }
    if (part == WEFT_CHOL_A && n > 0) {
        check_report(c, &worst);
    }
}

static void check_logdet(const fuzz_chol_case *c) {
    long double logdet = 0, size = 0;
    for (size_t k = 0; k < c->n; k++) {
        const long double v = 2 * logl(c->l[k * c->n + k]);
        logdet += v;
        size += fabsl(v) + 1;
    }
    weft_chol_report report = {.size = sizeof report};
    weft_chol_get_report(c->f->ctx, c->plan, &report);
    if (!(fabsl(report.logdet - logdet) <= 1e-9L * size)) {
        fail_msg("logdet is %g, not %Lg", report.logdet, logdet);
    }
}

/* dt A d is not positive, and A d nothing where A is said to be singular; d is 1 in a column. */
static void check_direction(const fuzz_chol_case *c, bool singular) {
    const size_t n = c->n;
    double *const d = fuzz_take(c->f, n * sizeof *d);
    long double product = 0, size = 0, largest = 0;
    bool one = false;
    if (weft_chol_direction(c->f->ctx, c->plan, d) != WEFT_OK) {
        fail_msg("weft_chol_direction: %s", weft_message(c->f->ctx));
    }
    for (size_t i = 0; i < n; i++) {
        long double sum = 0;
        for (size_t j = 0; j < n; j++) {
            const long double t = (long double)c->a.value[fuzz_at(&c->a, i, j)] * d[j];
            sum += t;
            size = fmaxl(size, fabsl(t));
            product += t * d[i];
        }
        largest = fmaxl(largest, fabsl(sum));
        one = one || d[i] == 1;
    }
    if (!one || (singular ? !(largest <= 1e-8L * size) : !(product <= 1e-10L * size))) {
        fail_msg("dt A d is %Lg and A d %Lg, where A is of the size of %Lg", product, largest,
                 size);
    }
    if (c->outcome == INDEFINITE && d[c->perm[c->failed]] != 1) {
        fail_msg("d is %g in column %lld", d[c->perm[c->failed]], (long long)c->perm[c->failed]);
    }
}

/* ---- factoring ---- */

static int progress(void *user, double done) {
    fuzz_chol_case *const c = user;
    if (!(done >= 0 && done <= 1)) {
        fail_msg("progress is %g", done);
    }
    return c->left-- == 0;
}

static void check_factor(fuzz_chol_case *c, const char *call, weft_status status) {
    char word[32];
    if (status == WEFT_ECANCELLED && c->left < 0) {
        return;
    }
    if (c->outcome == UNCLEAR) {
        if (status != WEFT_OK) {
            test_refused(c->f->ctx, status,
                         status == WEFT_ESINGULAR ? WEFT_ESINGULAR : WEFT_ENOTSPD, call, NULL);
            check_direction(c, status == WEFT_ESINGULAR);
        }
    } else if (c->outcome == INDEFINITE) {
        snprintf(word, sizeof word, "%lld", (long long)c->perm[c->failed]);
        test_refused(c->f->ctx, status, WEFT_ENOTSPD, call, word);
        check_direction(c, false);
    } else if (status != WEFT_OK) {
        fail_msg("%s: %s", call, weft_message(c->f->ctx));
    } else {
        check_logdet(c);
        solve_checked(c);
        if (fuzz_one_in(c->f, 4)) {
            check_condition(c);
        }
        if (fuzz_one_in(c->f, 3)) {
            solve(c);
        }
    }
}

/* The values of the matrix once more, in any memory. */
static weft_status factor_values(fuzz_chol_case *c) {
    fuzz *const f = c->f;
    const size_t bytes = weft_sparse_entries(c->matrix) * sizeof(double);
    const fuzz_array *const value =
        fuzz_input(f, "value", bytes, sizeof(double), weft_sparse_values(c->matrix));
    return weft_chol_factor_values(f->ctx, c->plan, c->matrix, value->p);
}

static void factor(fuzz_chol_case *c) {
    fuzz *const f = c->f;
    c->left = fuzz_one_in(f, 10) ? (int)fuzz_below(f, 5) : INT32_MAX;
    if (fuzz_one_in(f, 2)) {
        weft_chol_reserve(f->ctx, c->plan, fuzz_below(f, 20));
    }
    weft_chol_on_progress(f->ctx, c->plan, progress, c);
    if (fuzz_one_in(f, 3)) {
        check_factor(c, "weft_chol_factor_values", factor_values(c));
        assert_int_equal(weft_chol_check(f->ctx, c->plan), WEFT_OK);
    } else {
        check_factor(c, "weft_chol_factor", weft_chol_factor(f->ctx, c->plan, c->matrix));
    }
}

/* ---- wrong arguments ---- */

static void refuse(fuzz_chol_case *c) {
    fuzz *const f = c->f;
    weft_context *const ctx = f->ctx;
    const size_t n = c->n;
    double x[2] = {1, 1};
    weft_chol *none = c->plan;
    const weft_chol_options bad = {.size = sizeof bad, .ordering = "alphabetical"};
    test_refused(ctx, weft_chol_analyze(ctx, c->matrix, &bad, &none), WEFT_EARG,
                 "weft_chol_analyze", NULL);
    assert_null(none);
    test_refused(ctx, weft_chol_solve(ctx, NULL, c->matrix, NULL, 1, x, n, x, n), WEFT_EARG,
                 "weft_chol_solve", "plan");
    test_refused(ctx, weft_chol_factor(ctx, c->plan, NULL), WEFT_EARG, "weft_chol_factor",
                 "matrix");
    test_refused(ctx, weft_chol_direction(ctx, c->plan, x), WEFT_EARG, "weft_chol_direction",
                 "plan");
}

/* ---- a case ---- */

static void analyze(fuzz_chol_case *c) {
    fuzz *const f = c->f;
    static const char *const orderings[] = {NULL,  "natural", "given", "rcm",     "md",
                                            "mmd", "amd",     "nd",    "dissect", "best"};
    weft_chol_options options = {.size = sizeof options, .ordering = orderings[fuzz_below(f, 10)]};
    int64_t *const given = fuzz_take(f, c->n * sizeof *given);
    uint64_t *const ranks = fuzz_take(f, c->n * sizeof *ranks);
    size_t *const positions = fuzz_take(f, c->n * sizeof *positions);
    test_random *const r = fuzz_random(f);
    for (size_t k = 0; k < c->n; k++) {
        ranks[k] = test_bits(r);
    }
    fuzz_order(ranks, c->n, positions);
    for (size_t k = 0; k < c->n; k++) {
        given[k] = (int64_t)positions[k];
    }
    options.permutation = given;
    fuzz_say(f, "weft_chol_analyze(%zu, ordering %s)", c->n,
             options.ordering ? options.ordering : "NULL");
    const weft_status status = weft_chol_analyze(f->ctx, c->matrix, &options, &c->plan);
    if (status == WEFT_EUNSUPPORTED && options.ordering && strcmp(options.ordering, "nd") == 0 &&
        strstr(weft_message(f->ctx), "METIS")) {
        return; /* of a build without it */
    }
    if (status != WEFT_OK) {
        fail_msg("weft_chol_analyze: %s, %s", weft_status_name(status), weft_message(f->ctx));
    }
}

void fuzz_chol(fuzz *f) {
    fuzz_begin(f, "sparse");
    if (f->gpu) {
        return; /* not offered there; sparse_refusal_test has it */
    }
    fuzz_chol_case *const c = fuzz_take(f, sizeof *c);
    c->f = f;
    c->n = fuzz_one_in(f, 10) ? fuzz_below(f, 3) : 1 + fuzz_below(f, MOST_UNKNOWNS);
    draw_matrix(c);
    c->matrix = fuzz_make(f, &c->a, WEFT_SYMMETRIC_LOWER);
    analyze(c);
    if (c->plan) {
        check_permutation(c);
        check_analysis(c);
        factor_densely(c);
        if (fuzz_one_in(f, 8)) {
            refuse(c);
        }
        if (fuzz_one_in(f, 6)) {
            fuzz_plan_through_file(c);
        }
        factor(c);
        if (fuzz_one_in(f, 3)) {
            factor(c); /* the plan can factor again, whatever happened */
        }
        fuzz_chol_kinds(c);
    }
    weft_chol_destroy(c->plan);
    weft_sparse_destroy(c->matrix);
}
