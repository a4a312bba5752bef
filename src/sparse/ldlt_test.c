/* SPDX-License-Identifier: Apache-2.0 */
/* L D Lt of small matrices against its definition: entry by entry, the inertia against an
 * elimination with complete pivoting in long double, solutions, and what is refused. */
#include <stddef.h>

#include "ldlt.h"
#include "systems.h"
#include "testing.h"

enum {
    SYSTEMS = 3000, /* of test `shapes`; with the usual budget a quarter */
    LARGEST = 40,
    SIDES = 19
};

/* How many of `all` systems a place gets. Fewer on a cpu with several threads, which mostly wait
 * for each other in systems so small; fewer still on a GPU, where every system uses many threads.
 */
static int systems_for(const weft_context *ctx, size_t all) {
    return (int)test_times(ctx->kind != WI_CPU ? all / 6 : ctx->threads > 1 ? all / 3 : all);
}

/* ---- the oracle ---- */

/* How many eigenvalues are above and below 0; and the smallest pivot relative to the largest entry:
 * if it is tiny, the two counts are not reliable. */
typedef struct inertia {
    size_t positive, negative;
    long double clear;
} inertia;

static void exchange(int64_t n, test_dense a, int64_t p, int64_t q) {
    for (int64_t i = 0; i < n; i++) {
        const long double kept = a[i][p];
        a[i][p] = a[i][q];
        a[i][q] = kept;
    }
    for (int64_t j = 0; j < n; j++) {
        const long double kept = a[p][j];
        a[p][j] = a[q][j];
        a[q][j] = kept;
    }
}

/* The largest entry on the diagonal, and off it, from row k on. */
static void find_largest(int64_t n, const test_dense a, int64_t k, int64_t *on, int64_t off[2]) {
    *on = off[0] = off[1] = k;
    for (int64_t i = k; i < n; i++) {
        *on = fabsl(a[i][i]) > fabsl(a[*on][*on]) ? i : *on;
        for (int64_t j = k; j < i; j++) {
            if (off[0] == off[1] || fabsl(a[i][j]) > fabsl(a[off[0]][off[1]])) {
                off[0] = i;
                off[1] = j;
            }
        }
    }
}

/* Bunch and Parlett's elimination; a is destroyed. */
static inertia inertia_of(int64_t n, test_dense a) {
    inertia result = {.clear = INFINITY};
    long double largest = 0;
    int64_t on, off[2];
    for (int64_t k = 0; k < n;) {
        find_largest(n, a, k, &on, off);
        const long double d = fabsl(a[on][on]), e = off[0] > off[1] ? fabsl(a[off[0]][off[1]]) : 0;
        largest = k == 0 ? fmaxl(d, e) : largest;
        result.clear = fminl(result.clear, largest > 0 ? fmaxl(d, e) / largest : 0);
        if (fmaxl(d, e) == 0)
            return result;
        if (d >= 0.64L * e) {
            exchange(n, a, k, on);
            result.positive += a[k][k] > 0;
            result.negative += a[k][k] < 0;
            for (int64_t i = k + 1; i < n; i++)
                for (int64_t j = k + 1; j < n; j++)
                    a[i][j] -= a[i][k] * a[k][j] / a[k][k];
            k++;
            continue;
        }
        exchange(n, a, k, off[1]);
        exchange(n, a, k + 1, off[0]);
        const long double det = a[k][k] * a[k + 1][k + 1] - a[k + 1][k] * a[k + 1][k];
        result.positive++;
        result.negative++;
        for (int64_t i = k + 2; i < n; i++) {
            const long double x = (a[k + 1][k + 1] * a[i][k] - a[k + 1][k] * a[i][k + 1]) / det;
            const long double y = (a[k][k] * a[i][k + 1] - a[k + 1][k] * a[i][k]) / det;
            for (int64_t j = k + 2; j < n; j++)
                a[i][j] -= x * a[k][j] + y * a[k + 1][j];
        }
        k += 2;
    }
    return result;
}

static inertia inertia_of_system(const test_system *s) {
    static test_dense a;
    memcpy(a, s->a, sizeof a);
    return inertia_of(s->graph.n, a);
}

/* ---- what the factor is ---- */

/* order[k] is the caller's column at place k, and place[k] where column k of the analysis went. */
static void find_order(const weft_chol *plan, int64_t *order, int64_t *place) {
    const wi_symbolic *const symbolic = &plan->symbolic;
    for (int64_t s = 0; s < symbolic->supernodes; s++) {
        const int64_t first = symbolic->first[s], columns = wi_super_columns(symbolic, s);
        int64_t there[TEST_MOST_VERTICES];
        for (int64_t k = 0; k < columns; k++)
            there[k] = k;
        for (int64_t k = 0; k < columns && plan->kind == WEFT_CHOL_INDEFINITE; k++) {
            if (plan->on_device) {
                there[k] = plan->numbers.pivots.swap[first + k] - first;
                assert_true(there[k] >= 0 && there[k] < columns);
                continue;
            }
            const int64_t other = plan->numbers.pivots.swap[first + k], kept = there[k];
            assert_true(other >= k && other < columns);
            there[k] = there[other];
            there[other] = kept;
        }
        for (int64_t k = 0; k < columns; k++) {
            order[first + k] = symbolic->perm[first + there[k]];
            place[first + there[k]] = first + k;
        }
    }
}

static void fetch_l(weft_context *ctx, const weft_chol *plan, const int64_t *place, test_dense l) {
    const wi_symbolic *const symbolic = &plan->symbolic;
    size_t count, next = 0;
    double *const numbers = test_ldlt_fetch(ctx, plan, &count);
    memset(l, 0, sizeof(test_dense));
    for (int64_t s = 0; s < symbolic->supernodes; s++) {
        const int64_t first = symbolic->first[s], columns = wi_super_columns(symbolic, s);
        for (int64_t j = 0; j < columns; j++) {
            for (int64_t i = j; i < wi_super_height(symbolic, s); i++)
                l[i < columns ? first + i : place[symbolic->rows[symbolic->rows_at[s] + i]]]
                 [first + j] = numbers[next++];
        }
    }
    free(numbers);
}

/* |P T A T Pt - L D Lt| <= c n 2^-53 |L| |D| |Lt|, where T scales by powers of two. Where pivots
 * were replaced the difference may be larger by as much as they were changed, at most 2^-25 of the
 * largest entry each. */
static void check_factor(weft_context *ctx, const weft_chol *plan, const test_system *s,
                         const char *what) {
    static test_dense l;
    const wi_pivots *const pivots = &plan->numbers.pivots;
    const int64_t n = s->graph.n;
    int64_t order[TEST_MOST_VERTICES], place[TEST_MOST_VERTICES];
    find_order(plan, order, place);
    fetch_l(ctx, plan, place, l);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j <= i; j++) {
            long double sum = 0, size = 0;
            for (int64_t k = 0; k < n; k++) {
                const long double own = l[i][k] * pivots->d[k];
                const long double other =
                    pivots->mark[k] == WI_PIVOT_FIRST    ? l[i][k + 1] * pivots->e[k]
                    : pivots->mark[k] == WI_PIVOT_SECOND ? l[i][k - 1] * pivots->e[k - 1]
                                                         : 0;
                sum += (own + other) * l[j][k];
                size += (fabsl(own) + fabsl(other)) * fabsl(l[j][k]);
            }
            const int power = wi_chol_power(plan, order[i]) + wi_chol_power(plan, order[j]);
            const long double a = ldexpl(s->a[order[i]][order[j]], power);
            const long double allowed = ldexpl((long double)n + 8, -50) * (size + fabsl(a)) +
                                        (i == j && pivots->mark[i] == WI_PIVOT_CHANGED
                                             ? 2 * (long double)pivots->tiny + fabsl(a)
                                             : 0);
            if (!(fabsl(sum - a) <= allowed))
                fail_msg("%s: n = %lld, row %lld, column %lld: %Lg, not %Lg, of %Lg", what,
                         (long long)n, (long long)i, (long long)j, sum, a, size);
        }
    }
}

/* ---- systems ---- */

/* Symmetric systems of several kinds: any values; with a zero diagonal; [H Bt; B -C]; the same
 * with C = 0; rows and columns that differ by powers of two. */
typedef enum shape {
    ANY,
    HOLLOW,
    QUASI,
    SADDLE,
    UNEVEN,
    SHAPES
} shape;

/* Rows from this on are the conditions of QUASI and SADDLE. */
static int64_t first_condition(int64_t n) {
    return n - n / 3;
}

static void draw(test_random *r, shape kind, test_system *s) {
    test_graph_random(r, LARGEST, &s->graph);
    const int64_t n = s->graph.n, border = first_condition(n);
    test_system_fill(r, false, s);
    for (int64_t i = 0; i < n; i++) {
        if (kind == HOLLOW && test_below(r, 2))
            s->a[i][i] = 0;
        if (kind != QUASI && kind != SADDLE)
            continue;
        for (int64_t j = 0; j < i; j++) {
            if (j >= border && kind == SADDLE)
                s->a[i][j] = s->a[j][i] = 0;
            else if ((i < border) == (j < border)) /* H and C are diagonally dominant */
                s->a[i][j] = s->a[j][i] = s->a[i][j] / 64;
        }
        s->a[i][i] = i < border ? 2 + fabsl(s->a[i][i]) : kind == QUASI ? -2 - test_unit(r) : 0;
    }
    if (kind != UNEVEN)
        return;
    for (int64_t i = 0; i < n; i++) {
        const int power = (int)test_below(r, 400) - 200;
        for (int64_t j = 0; j < n; j++) {
            s->a[i][j] = ldexpl(s->a[i][j], power);
            s->a[j][i] = ldexpl(s->a[j][i], power);
        }
    }
}

/* The largest |b - A x| / (|A| |x| + |b|) over all rows and right-hand sides, summed in long
 * double. */
static long double error_of(const test_system *s, size_t sides, const double *x, const double *b) {
    const size_t n = (size_t)s->graph.n;
    long double most = 0;
    for (size_t r = 0; r < sides; r++) {
        for (size_t i = 0; i < n; i++) {
            long double left = b[i + r * n], size = fabsl(left);
            for (size_t j = 0; j < n; j++) {
                left -= s->a[i][j] * x[j + r * n];
                size += fabsl(s->a[i][j] * x[j + r * n]);
            }
            const long double error = left == 0 ? 0 : fabsl(left) / size;
            most = !(error <= most) ? error : most;
        }
    }
    return most;
}

/* Right-hand sides of the size of the rows, so that none is lost in rounding. */
static void check_solve(weft_context *ctx, weft_chol *plan, const weft_sparse *matrix,
                        test_random *r, const test_system *s, const char *what) {
    static double b[TEST_MOST_VERTICES * SIDES], x[TEST_MOST_VERTICES * SIDES];
    const size_t n = (size_t)s->graph.n, sides = 1 + test_below(r, SIDES);
    for (size_t k = 0; k < n * sides; k++) {
        long double size = 0;
        for (size_t j = 0; j < n; j++)
            size = fmaxl(size, fabsl(s->a[k % n][j]));
        b[k] = (double)size * (1.5 + test_unit(r));
        x[k] = NAN;
    }
    if (weft_chol_solve(ctx, plan, matrix, NULL, sides, b, n, x, n) != WEFT_OK)
        fail_msg("%s: %s", what, weft_message(ctx));
    const long double error = error_of(s, sides, x, b);
    const weft_chol_report report = test_report_of(ctx, plan);
    if (!(error <= 1e-13L))
        fail_msg("%s: n = %zu: backward error %Lg, reported as %g; %zu of %zu stalled, %zu pivots "
                 "replaced",
                 what, n, error, report.backward_error, report.stalled, sides, report.perturbed);
    assert_int_equal(report.stalled, 0);
}

static void check_inertia(const weft_chol_report *report, const inertia *want, const char *what) {
    if (report->positive != want->positive || report->negative != want->negative ||
        report->perturbed != 0)
        fail_msg("%s: %zu above 0, %zu below, %zu replaced; not %zu and %zu", what,
                 report->positive, report->negative, report->perturbed, want->positive,
                 want->negative);
}

static void check_logdet(const weft_chol_report *report, const test_system *s) {
    static test_dense a;
    long double want = 0;
    memcpy(a, s->a, sizeof a);
    for (int64_t k = 0; k < s->graph.n; k++) { /* by elimination with row pivoting */
        int64_t p = k;
        for (int64_t i = k; i < s->graph.n; i++)
            p = fabsl(a[i][k]) > fabsl(a[p][k]) ? i : p;
        for (int64_t j = 0; j < s->graph.n; j++) {
            const long double kept = a[k][j];
            a[k][j] = a[p][j];
            a[p][j] = kept;
        }
        want += logl(fabsl(a[k][k]));
        for (int64_t i = k + 1; i < s->graph.n; i++) {
            const long double factor = a[i][k] / a[k][k];
            for (int64_t j = k; j < s->graph.n; j++)
                a[i][j] -= factor * a[k][j];
        }
    }
    if (!(fabsl(report->logdet - want) <= 1e-7L * (fabsl(want) + 1)))
        fail_msg("log |det A| is %g, not %Lg", report->logdet, want);
}

static void shapes(weft_context *own) {
    static const char *const names[SHAPES] = {"any", "hollow", "quasi", "saddle", "uneven"};
    static const char *const orderings[] = {NULL, "amd", "natural", "rcm"};
    static test_system s;
    test_random r = test_random_at(1);
    size_t clear = 0, replaced = 0, seen = 0;
    weft_context *const many = own->kind == WI_CPU ? test_open("cpu:7") : NULL;
    const int systems = systems_for(own, SYSTEMS);
    for (int k = 0; k < systems; k++) {
        const shape kind = (shape)(k % SHAPES);
        if (!test_case_wanted(&r))
            continue;
        weft_context *const ctx = many && k >= systems * 15 / 16 ? many : own;
        draw(&r, kind, &s);
        const inertia want = inertia_of_system(&s);
        weft_sparse *const matrix = test_system_matrix(ctx, &s, true);
        const weft_chol_options options = {.size = sizeof options,
                                           .kind = WEFT_CHOL_INDEFINITE,
                                           .ordering = orderings[test_below(&r, 4)]};
        weft_chol *const plan = test_ldlt_plan_of(ctx, matrix, &options, &r);
        test_ldlt_factor(ctx, plan, matrix);
        const weft_chol_report report = test_report_of(ctx, plan);
        check_factor(ctx, plan, &s, names[kind]);
        assert_int_equal(report.positive + report.negative + report.perturbed, s.graph.n);
        seen++;
        replaced += report.perturbed > 0;
        if (want.clear > 1e-6L && report.perturbed == 0 && kind != UNEVEN) {
            check_inertia(&report, &want, names[kind]);
            check_logdet(&report, &s);
        }
        if (want.clear > 1e-6L && kind != UNEVEN) {
            check_solve(ctx, plan, matrix, &r, &s, names[kind]);
            clear++;
        }
        weft_chol_destroy(plan);
        weft_sparse_destroy(matrix);
    }
    if (many)
        weft_close(many);
    printf("%zu systems, %zu clearly regular, %zu with pivots replaced\n", seen, clear, replaced);
    assert_true(seen < 100 || clear > seen / 2);
}

/* ---- quasi-definite ---- */

/* dt A d, and the largest |A d| relative to |A| |d|. */
static long double form_of(const test_system *s, const double *d, long double *left) {
    long double form = 0, most = 0, size = 0;
    for (int64_t i = 0; i < s->graph.n; i++) {
        long double sum = 0;
        for (int64_t j = 0; j < s->graph.n; j++) {
            sum += s->a[i][j] * d[j];
            size = fmaxl(size, fabsl(s->a[i][j] * d[j]));
        }
        form += sum * d[i];
        most = fmaxl(most, fabsl(sum));
    }
    *left = size > 0 ? most / size : 0;
    return form;
}

/* The column that the message names. */
static int64_t named(weft_context *ctx) {
    const char *const at = strstr(weft_message(ctx), "its column ");
    assert_non_null(at);
    return strtoll(at + strlen("its column "), NULL, 10);
}

/* One wrong sign is asked for: the call names its column, and the direction d has dt A d of the
 * sign that is not wanted. With a perturbation the factorization succeeds. */
static void check_wrong_sign(weft_context *ctx, const weft_sparse *matrix, const test_system *s,
                             int8_t *signs, int64_t wrong, test_random *r) {
    const size_t n = (size_t)s->graph.n;
    weft_chol_options options = {
        .size = sizeof options, .kind = WEFT_CHOL_QUASIDEFINITE, .signs = signs};
    double d[TEST_MOST_VERTICES];
    long double left;
    signs[wrong] = (int8_t)-signs[wrong];
    weft_chol *const told = test_ldlt_plan_of(ctx, matrix, &options, r);
    test_refused(ctx, weft_chol_factor(ctx, told, matrix), WEFT_ENOTSPD, "weft_chol_factor",
                 "sign");
    const int64_t column = named(ctx);
    assert_int_equal(column, wrong); /* any order has the same signs */
    assert_int_equal(weft_chol_direction(ctx, told, d), WEFT_OK);
    assert_true(d[column] == 1);
    if (!(form_of(s, d, &left) * signs[column] < 0))
        fail_msg("dt A d does not show the wrong sign");
    assert_int_equal(test_report_of(ctx, told).positive, 0);
    options.perturbation = 0.25; /* larger than usual, so that numbers grow less */
    weft_chol *const changed = test_ldlt_plan_of(ctx, matrix, &options, r);
    test_ldlt_factor(ctx, changed, matrix);
    const weft_chol_report report = test_report_of(ctx, changed);
    assert_true(report.perturbed >= 1);
    assert_int_equal(report.positive + report.negative + report.perturbed, n);
    weft_chol_destroy(changed);
    weft_chol_destroy(told);
    signs[wrong] = (int8_t)-signs[wrong];
}

static void quasidefinite(weft_context *ctx) {
    static const char *const orderings[] = {NULL, "amd", "natural", "rcm", "dissect"};
    static test_system s;
    test_random r = test_random_at(2);
    const int systems = systems_for(ctx, 1000);
    for (int k = 0; k < systems; k++) {
        int8_t signs[TEST_MOST_VERTICES];
        draw(&r, QUASI, &s);
        const int64_t n = s.graph.n;
        const size_t border = (size_t)first_condition(n);
        for (int64_t i = 0; i < n; i++)
            signs[i] = (size_t)i < border ? 3 : -1;
        weft_sparse *const matrix = test_system_matrix(ctx, &s, false);
        const weft_chol_options options = {.size = sizeof options,
                                           .kind = WEFT_CHOL_QUASIDEFINITE,
                                           .signs = k % 2 ? signs : NULL,
                                           .ordering = orderings[test_below(&r, 5)]};
        weft_chol *const plan = test_ldlt_plan_of(ctx, matrix, &options, &r);
        test_ldlt_factor(ctx, plan, matrix);
        check_factor(ctx, plan, &s, "quasi-definite");
        const weft_chol_report report = test_report_of(ctx, plan);
        check_inertia(&report, &(inertia){border, (size_t)n - border, 1}, "quasi-definite");
        assert_int_equal(report.pairs, 0);
        check_logdet(&report, &s);
        check_solve(ctx, plan, matrix, &r, &s, "quasi-definite");
        if (n > 0 && k % 4 == 0)
            check_wrong_sign(ctx, matrix, &s, signs, (int64_t)test_below(&r, (uint64_t)n), &r);
        weft_chol_destroy(plan);
        weft_sparse_destroy(matrix);
    }
}

/* ---- singular ---- */

/* Column `to` = column `from`, the same for rows: A keeps small integers, and has d with A d = 0.
 */
static void double_column(test_system *s, int64_t from, int64_t to) {
    for (int64_t i = 0; i < s->graph.n; i++) {
        if (i != to)
            s->a[i][to] = s->a[to][i] = s->a[i][from];
    }
    s->a[to][from] = s->a[from][to] = s->a[to][to] = s->a[from][from];
    for (int64_t i = 0; i < s->graph.n; i++)
        for (int64_t j = 0; j < s->graph.n; j++)
            s->graph.edge[i][j] = i != j && s->a[i][j] != 0;
}

static void singular(weft_context *ctx) {
    static test_system s;
    test_random r = test_random_at(3);
    const int systems = systems_for(ctx, 1000);
    size_t found = 0, seen = 0;
    for (int k = 0; k < systems; k++) {
        do
            test_graph_random(&r, LARGEST, &s.graph);
        while (s.graph.n < 2);
        for (int64_t i = 0; i < s.graph.n; i++)
            for (int64_t j = 0; j <= i; j++)
                s.a[i][j] = s.a[j][i] =
                    i == j || s.graph.edge[i][j] ? (double)test_below(&r, 9) - 4 : 0;
        double_column(&s, 0, s.graph.n - 1);
        weft_sparse *const matrix = test_system_matrix(ctx, &s, false);
        const weft_chol_options told = {
            .size = sizeof told, .kind = WEFT_CHOL_INDEFINITE, .perturbation = -1};
        const weft_chol_options changed = {.size = sizeof changed, .kind = WEFT_CHOL_INDEFINITE};
        weft_chol *const strict = test_ldlt_plan_of(ctx, matrix, &told, &r);
        weft_chol *const plan = test_ldlt_plan_of(ctx, matrix, &changed, &r);
        double d[TEST_MOST_VERTICES];
        long double left;
        test_ldlt_factor(ctx, plan, matrix);
        assert_true(test_report_of(ctx, plan).perturbed >= 1);
        check_factor(ctx, plan, &s, "singular");
        seen++;
        if (weft_chol_factor(ctx, strict, matrix) == WEFT_ESINGULAR) {
            const bool is_told = strstr(weft_message(ctx), "is singular") != NULL;
            found += is_told;
            const int64_t column = named(ctx);
            assert_int_equal(weft_chol_direction(ctx, strict, d), WEFT_OK);
            assert_true(d[column] == 1);
            const long double form = form_of(&s, d, &left);
            if (!(fabsl(form) <= 1e-9L) || (is_told && !(left <= 1e-9L)))
                fail_msg("A d is %Lg of |A| |d|, and dt A d %Lg: %s", left, form,
                         weft_message(ctx));
        }
        weft_chol_destroy(plan);
        weft_chol_destroy(strict);
        weft_sparse_destroy(matrix);
    }
    printf("%zu of %zu told to be singular\n", found, seen);
    assert_true(found >= seen * 9 / 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(shapes),
        TEST_ON_EACH_PLACE(quasidefinite),
        TEST_ON_EACH_PLACE(singular),
    };
    return cmocka_run_group_tests_name("ldlt", tests, NULL, NULL);
}
