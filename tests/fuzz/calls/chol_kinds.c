/* SPDX-License-Identifier: Apache-2.0 */
/* The same system as an indefinite and as a quasi-definite one. */
#include "calls/chol.h"

#include <math.h>
#include <string.h>

/* max |b - A x| over max (|A| |x| + |b|). */
static long double error_of(const fuzz_chol_case *c, const double *x, const double *b) {
    long double left = 0, size = 0;
    for (size_t i = 0; i < c->n; i++) {
        long double sum = b[i], sizes = fabs(b[i]);
        for (size_t j = 0; j < c->n; j++) {
            const long double product = (long double)c->a.value[fuzz_at(&c->a, i, j)] * x[j];
            sum -= product;
            sizes += fabsl(product);
        }
        left = fmaxl(left, fabsl(sum));
        size = fmaxl(size, sizes);
    }
    return left > 0 ? left / size : 0;
}

/* `may_fail`: L of f32 may not serve, and the matrix be refused in f64. */
static void check_solve(const fuzz_chol_case *c, weft_chol *plan, bool may_fail) {
    fuzz *const f = c->f;
    const size_t n = c->n, sides = 1 + fuzz_below(f, 18);
    double *const b = fuzz_take(f, n * sides * sizeof *b);
    double *const x = fuzz_take(f, n * sides * sizeof *x);
    weft_chol_report report = {.size = sizeof report};
    test_random *const r = fuzz_random(f);
    for (size_t k = 0; k < n * sides; k++) {
        b[k] = 1.5 + test_unit(r);
    }
    const weft_status status = weft_chol_solve(f->ctx, plan, c->matrix, NULL, sides, b, n, x, n);
    if (status == WEFT_ENONFINITE) {
        return; /* an x beyond the doubles, of a matrix that is all but singular */
    }
    if (may_fail && (status == WEFT_ENOTSPD || status == WEFT_ESINGULAR)) {
        return;
    }
    if (status != WEFT_OK || weft_chol_get_report(f->ctx, plan, &report) != WEFT_OK) {
        fail_msg("weft_chol_solve: %s", weft_message(f->ctx));
    }
    for (size_t k = 0; k < sides && report.stalled == 0; k++) {
        const long double error = error_of(c, x + k * n, b + k * n);
        if (!(error <= 1e-12L)) {
            fail_msg("column %zu has an error of %Lg, and the report says %g", k, error,
                     report.backward_error);
        }
    }
    if (report.stalled > 0 && c->outcome == DEFINITE) {
        fail_msg("%zu columns of a definite system stalled", report.stalled);
    }
}

/* What is known of the inertia: a definite matrix has no pivot below 0, an indefinite one has; as
 * far as f32 can tell. */
static void check_inertia(const fuzz_chol_case *c, const weft_chol *plan) {
    weft_chol_report report = {.size = sizeof report};
    weft_chol_get_report(c->f->ctx, plan, &report);
    const bool odd = c->outcome == DEFINITE ? report.negative > 0
                                            : c->outcome == INDEFINITE && report.negative == 0;
    if (report.positive + report.negative + report.perturbed != c->n ||
        (report.perturbed == 0 && odd && report.factor_type == WEFT_F64)) {
        fail_msg("%zu pivots above 0, %zu below, %zu replaced, of %zu", report.positive,
                 report.negative, report.perturbed, c->n);
    }
}

void fuzz_chol_kinds(fuzz_chol_case *c) {
    fuzz *const f = c->f;
    if (fuzz_one_in(f, 2)) {
        return;
    }
    static const char *const orderings[] = {NULL, "natural", "rcm", "amd", "dissect"};
    int8_t *const signs = fuzz_take(f, c->n * sizeof *signs);
    const bool known = fuzz_one_in(f, 3);
    const weft_chol_options options = {
        .size = sizeof options,
        .ordering = orderings[fuzz_below(f, 5)],
        .kind = known ? WEFT_CHOL_QUASIDEFINITE : WEFT_CHOL_INDEFINITE,
        .signs = known && fuzz_one_in(f, 2) ? signs : NULL,
        .perturbation = fuzz_one_in(f, 4) ? -1 : 0,
        .precision = fuzz_one_in(f, 3) ? WEFT_PRECISION_MIXED : WEFT_PRECISION_AUTO};
    weft_chol *plan = NULL;
    for (size_t i = 0; i < c->n; i++) {
        signs[i] = c->a.value[fuzz_at(&c->a, i, i)] > 0 ? 1 : -1;
    }
    fuzz_say(f, "weft_chol_analyze(%zu, kind %d, precision %d)", c->n, (int)options.kind,
             (int)options.precision);
    if (weft_chol_analyze(f->ctx, c->matrix, &options, &plan) != WEFT_OK) {
        fail_msg("weft_chol_analyze: %s", weft_message(f->ctx));
    }
    const weft_status status = weft_chol_factor(f->ctx, plan, c->matrix);
    const bool may_fail = (known || options.perturbation < 0) && c->outcome != DEFINITE;
    if (status == WEFT_EUNSUPPORTED && strstr(weft_message(f->ctx), "is forced")) {
        fuzz_say(f, "weft_chol_factor: the variant is for definite matrices");
    } else if (status == WEFT_OK) {
        check_inertia(c, plan);
        check_solve(c, plan, may_fail);
    } else if (!may_fail || (status != WEFT_ENOTSPD && status != WEFT_ESINGULAR)) {
        fail_msg("weft_chol_factor: %s", weft_message(f->ctx));
    }
    weft_chol_destroy(plan);
}
