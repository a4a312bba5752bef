/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices that are hard to solve with: the report about each is true, and no wrong answer comes
 * without a report that says so. */
#include "solve/solve_kinds.h"

#ifdef WEFT_EMU
enum {
    LARGEST = 12,
    ONE_IN = 4
};
#else
enum {
    LARGEST = 150,
    ONE_IN = 1
};
#endif

typedef struct hard {
    const char *name;
    size_t n;
    void (*fill)(size_t n, double *a);
    bool spd;
} hard;

#define EACH(expression)                                                                           \
    for (size_t i = 0; i < n; i++)                                                                 \
        for (size_t j = 0; j < n; j++)                                                             \
            a[i * n + j] = (double)(expression);

/* No line of it is a sum of others, as it would be of a linear generator. */
static double noise(size_t i, size_t j) {
    test_random random = {i * 1000003 + j};
    return test_unit(&random);
}

static void hilbert(size_t n, double *a) {
    EACH(1 / (double)(i + j + 1))
}
static void lotkin(size_t n, double *a) {
    EACH(i == 0 ? 1 : 1 / (double)(i + j + 1))
}
static void vandermonde(size_t n, double *a) {
    EACH(pow((double)(i + 1) / (double)n, (double)j))
}
static void chebyshev(size_t n, double *a) {
    EACH(pow(cos(3.14159265358979323846 * ((double)i + 0.5) / (double)n), (double)j))
}
/* Elimination with row pivoting doubles the last column at each step. */
static void growth(size_t n, double *a) {
    EACH(j == n - 1 || i == j ? 1 : i > j ? -1 : 0)
}
static void wilkinson(size_t n, double *a) {
    EACH(i == j ? fabs((double)i - (double)(n / 2)) : i + 1 == j || j + 1 == i)
}
static void frank(size_t n, double *a) {
    EACH(j + 1 < i ? 0 : (double)n - (double)(i > j ? i : j))
}
static void kahan(size_t n, double *a) {
    EACH(pow(sin(1.2), (double)i) * (i == j ? 1 : j > i ? -cos(1.2) : 0))
}
static void graded(size_t n, double *a) {
    EACH(noise(i, j) * pow(10, -(double)(i + j) / 2))
}
static void graded_rows(size_t n, double *a) {
    EACH(noise(i, j) * pow(10, (double)i - 10))
}
static void near_singular(size_t n, double *a) {
    EACH(i + 1 < n ? noise(i, j) : noise(0, j) + 1e-10 * noise(i, j))
}
static void nearer_singular(size_t n, double *a) {
    EACH(i + 1 < n ? noise(i, j) : noise(0, j) + 1e-14 * noise(i, j))
}
static void nearest_singular(size_t n, double *a) {
    EACH(j + 1 < n ? noise(i, j) : (noise(i, 0) + noise(i, 1)) / 3)
}
static void scaled_rows(size_t n, double *a) {
    EACH(noise(i, j) * pow(10, i % 2 ? 200 : -200))
}
static void scaled_columns(size_t n, double *a) {
    EACH(noise(i, j) * pow(10, j % 3 ? 200 : -200))
}
static void scaled_both(size_t n, double *a) {
    EACH(noise(i, j) * pow(10, i % 2 ? 140 : -140) * pow(10, j % 3 ? 140 : -140))
}
static void huge(size_t n, double *a) {
    EACH(noise(i, j) * 1e300)
}
static void small(size_t n, double *a) {
    EACH(noise(i, j) * 1e-300)
}
static void pascal(size_t n, double *a) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            a[i * n + j] = i == 0 || j == 0 ? 1 : a[(i - 1) * n + j] + a[i * n + j - 1];
}
static void moler(size_t n, double *a) {
    EACH(i == j ? (double)i + 1 : (double)(i < j ? i : j) - 1)
}
static void lehmer(size_t n, double *a) {
    EACH(((double)(i < j ? i : j) + 1) / ((double)(i > j ? i : j) + 1))
}
static void smaller_index(size_t n, double *a) {
    EACH((i < j ? i : j) + 1)
}
static void cauchy(size_t n, double *a) {
    EACH(1 / ((double)i + 1 + (double)j * 0.999 + 0.3))
}
static void sines(size_t n, double *a) {
    EACH(sqrt(2 / ((double)n + 1)) *
         sin(3.14159265358979323846 * (double)((i + 1) * (j + 1)) / ((double)n + 1)))
}
static void staircase(size_t n, double *a) {
    EACH(i == j ? 1 : j > i ? -1 : 0)
}
static void grcar(size_t n, double *a) {
    EACH(i == j + 1 ? -1 : j >= i && j <= i + 3)
}
static void companion(size_t n, double *a) {
    EACH(i == 0 ? pow(-3, (double)j) + 1 : i == j + 1)
}
static void difference(size_t n, double *a) {
    EACH(i == j ? 2 : i + 1 == j || j + 1 == i ? -1 : 0)
}
static void correlation(size_t n, double *a) {
    EACH(pow(0.99, fabs((double)i - (double)j)))
}
static void forsythe(size_t n, double *a) {
    EACH(i + 1 == j ? 1 : i == n - 1 && j == 0 ? 0x1p-26 : 0)
}
static void redheffer(size_t n, double *a) {
    EACH(j == 0 || (j + 1) % (i + 1) == 0)
}
static void magic(size_t n, double *a) {
    static const double m[] = {16, 2, 3, 13, 5, 11, 10, 8, 9, 7, 6, 12, 4, 14, 15, 1};
    EACH(m[i * 4 + j])
}
static void identity(size_t n, double *a) {
    EACH(i == j)
}

static const hard all[] = {
    {"hilbert", 6, hilbert, true},       {"hilbert", 10, hilbert, false},
    {"hilbert", 13, hilbert, false},     {"hilbert", 20, hilbert, false},
    {"lotkin", 10, lotkin, false},       {"vandermonde", 8, vandermonde, false},
    {"vandermonde", 14, vandermonde, 0}, {"chebyshev", 16, chebyshev, false},
    {"growth", 20, growth, false},       {"growth", 40, growth, false},
    {"growth", 70, growth, false},       {"wilkinson", 21, wilkinson, false},
    {"frank", 12, frank, false},         {"frank", 17, frank, false},
    {"kahan", 24, kahan, false},         {"graded", 20, graded, false},
    {"graded rows", 20, graded_rows, 0}, {"near singular", 24, near_singular, false},
    {"nearer", 24, nearer_singular, 0},  {"nearest", 24, nearest_singular, false},
    {"scaled rows", 24, scaled_rows, 0}, {"scaled columns", 24, scaled_columns, false},
    {"scaled both", 24, scaled_both, 0}, {"huge", 24, huge, false},
    {"small", 24, small, false},         {"pascal", 15, pascal, true},
    {"pascal", 12, pascal, false},       {"moler", 14, moler, true},
    {"lehmer", 24, lehmer, true},        {"smaller index", 24, smaller_index, true},
    {"cauchy", 9, cauchy, false},        {"sines", 24, sines, false},
    {"staircase", 30, staircase, false}, {"grcar", 24, grcar, false},
    {"companion", 16, companion, false}, {"difference", 40, difference, true},
    {"correlation", 24, correlation, 1}, {"forsythe", 12, forsythe, false},
    {"redheffer", 24, redheffer, false}, {"magic", 4, magic, false},
    {"identity", 24, identity, true},    {"near singular", 150, near_singular, false},
};

enum {
    HARD = sizeof all / sizeof *all
};

/* ---- the truth ---- */

/* Rows or columns times powers of two that bring their largest elements between 1 and 2. */
static void balance(linear_system *s, bool rows) {
    const size_t n = s->n, along = rows ? 1 : n, across = rows ? n : 1;
    for (size_t i = 0; i < n; i++) {
        double most = 0;
        for (size_t j = 0; j < n; j++)
            most = fmax(most, fabs(s->a[i * across + j * along]));
        for (size_t j = 0; j < n && most > 0; j++)
            s->a[i * across + j * along] = ldexp(s->a[i * across + j * along], -ilogb(most));
    }
}

/* Rows and columns times powers of two that bring the diagonal between 1 and 4. */
static void balance_both(linear_system *s) {
    int power[LARGEST];
    for (size_t i = 0; i < s->n; i++)
        power[i] = -(int)floor(ilogb(s->a[i * s->n + i]) / 2.0);
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = 0; j < s->n; j++)
            s->a[i * s->n + j] = ldexp(s->a[i * s->n + j], power[i] + power[j]);
}

/* The condition of H, the matrix as it was equilibrated. */
static double condition_of(const linear_system *s, const weft_report *report) {
    linear_system h = system_of(s->type, s->n, 0);
    memcpy(h.a, s->a, s->n * s->n * sizeof *h.a);
    if (s->spd && report->equilibrated)
        balance_both(&h);
    else if (report->row_power_least != 0 || report->row_power_most != 0)
        balance(&h, true);
    if (!s->spd && (report->column_power_least != 0 || report->column_power_most != 0))
        balance(&h, false);
    const double condition = true_condition(&h);
    free_system(&h);
    return condition;
}

/* Within 10 of the truth. Beyond 2^100, which pairs of doubles do not tell from singular, and the
 * truth itself hardly, it is enough to say so. */
static void check_condition(const linear_system *s, const weft_report *report, const char *what) {
    const double truth = condition_of(s, report), told = report->condition_estimate;
    const bool true_to_10 = told >= truth / 10 && told <= 1.1 * truth;
    const bool singular = truth > 0x1p100 && told > 0x1p90;
    if (!true_to_10 && !singular)
        fail_msg("%s: the condition is %.3g, and %.3g is reported", what, truth, told);
    if (truth > 0x1p51 && isfinite(report->forward_bound))
        fail_msg("%s: the condition is %.3g, and the bound %.3g", what, truth,
                 report->forward_bound);
}

/* The scaled solution is what the bound is about: where columns were scaled by other powers than
 * rows nothing is compared. */
static void check_forward(const linear_system *s, const weft_report *report, const char *what) {
    quad *const truth = malloc(s->n * s->rhs * sizeof *truth);
    assert_non_null(truth);
    const bool scaled = report->column_power_least != 0 || report->column_power_most != 0;
    if (!scaled && eliminate(s, NULL, truth)) {
        const double error = forward_error(s, truth);
        if (!(error <= report->forward_bound))
            fail_msg("%s: the error is %.3g, and the bound %.3g", what, error,
                     report->forward_bound);
        if (!(error <= 16 * report->forward_estimate) && report->stalled == 0 &&
            isfinite(report->forward_bound))
            fail_msg("%s: the error is %.3g, and is estimated as %.3g", what, error,
                     report->forward_estimate);
    }
    free(truth);
}

static void solve_hard(weft_context *ctx, const hard *h, weft_type type, weft_precision precision,
                       bool spd, const char *rung) {
    char what[160];
    linear_system s = system_of(type, h->n, 2);
    weft_report report = {.size = sizeof report};
    const weft_solve_options options = {.size = sizeof options, .precision = precision};
    snprintf(what, sizeof what, "%s %zu, %s%s%s, %s", h->name, h->n, weft_type_name(type),
             spd ? ", spd" : "", precision == WEFT_PRECISION_MIXED ? ", mixed" : "", rung);
    s.spd = spd;
    if (*rung && !use_rung(ctx, rung, &s)) {
        free_system(&s);
        return;
    }
    h->fill(h->n, s.a);
    for (size_t k = 0; k < 2 * h->n; k++)
        s.b[k] = k % 2 ? noise(k, 3) : 1;
    round_system(&s);
    const weft_status status = solve_system(ctx, &s, &options, &report);
    test_use(ctx, "solve", NULL);
    if (status != WEFT_OK) {
        const bool may = true_condition(&s) > (type == WEFT_F64 ? 0x1p46 : 0x1p18);
        if (!may || (status != WEFT_ESINGULAR && status != WEFT_ENOTSPD))
            fail_msg("%s: %s", what, weft_message(ctx));
    } else {
        check_backward_error(&s, &report, what);
        check_condition(&s, &report, what);
        check_forward(&s, &report, what);
    }
    free_system(&s);
}

static bool fits_f32(const hard *h) {
    double a[LARGEST * LARGEST];
    h->fill(h->n, a);
    for (size_t k = 0; k < h->n * h->n; k++)
        if (a[k] != 0 && !(fabs(a[k]) > 1e-30 && fabs(a[k]) < 1e30))
            return false;
    return true;
}

static void hard_set(weft_context *ctx) {
    test_random random = test_random_at(1);
    for (size_t k = 0; k < HARD; k++) {
        if (all[k].n > LARGEST || test_below(&random, ONE_IN))
            continue;
        for (int spd = 0; spd <= all[k].spd; spd++) {
            solve_hard(ctx, &all[k], WEFT_F64, WEFT_PRECISION_FULL, spd, "");
            solve_hard(ctx, &all[k], WEFT_F64, WEFT_PRECISION_MIXED, spd, "");
            solve_hard(ctx, &all[k], WEFT_F64, WEFT_PRECISION_AUTO, spd, "butterfly");
            if (fits_f32(&all[k]))
                solve_hard(ctx, &all[k], WEFT_F32, WEFT_PRECISION_FULL, spd, "");
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST_ON_EACH_PLACE(hard_set)};
    return cmocka_run_group_tests_name("solve_hard", tests, NULL, NULL);
}
