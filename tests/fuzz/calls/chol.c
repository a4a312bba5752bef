/* SPDX-License-Identifier: Apache-2.0 */
/* Analysis, factorization and solution of small symmetric matrices with every ordering, against a
 * dense factorization in long double; plans through files, damaged ones too. */
#include "calls/dense.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_UNKNOWNS = 60
};

typedef enum outcome {
    DEFINITE,
    INDEFINITE, /* in a leading block that no rounding makes definite */
    UNCLEAR
} outcome;

typedef struct chol_case {
    fuzz *f;
    size_t n;
    fuzz_dense a; /* both halves */
    weft_sparse *matrix;
    weft_chol *plan;
    const int64_t *perm;
    long double *l; /* of P A Pt, row by row */
    outcome outcome;
    size_t failed; /* the first column of P A Pt where it is not definite */
    int left;      /* calls of the progress function before it cancels */
} chol_case;

/* ---- a matrix ---- */

static void set(fuzz_dense *a, size_t i, size_t j, double v) {
    a->value[fuzz_at(a, i, j)] = a->value[fuzz_at(a, j, i)] = v;
    a->there[fuzz_at(a, i, j)] = a->there[fuzz_at(a, j, i)] = true;
}

/* Off the diagonal at random, in a band, or an arrow; the diagonal makes it definite, or not. */
static void draw_matrix(chol_case *c) {
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

static long double entry(const chol_case *c, size_t i, size_t j) {
    return c->a.value[fuzz_at(&c->a, (size_t)c->perm[i], (size_t)c->perm[j])];
}

static void factor_densely(chol_case *c) {
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
static void check_analysis(chol_case *c) {
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

static void check_permutation(chol_case *c) {
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

/* |A| |x| + |b|, the most of any row; and the largest component of the residual. */
static void residual(const chol_case *c, const double *x, const double *b, long double *largest,
                     long double *size, long double *backward) {
    *largest = *size = *backward = 0;
    for (size_t i = 0; i < c->n; i++) {
        long double r = b[i], s = fabsl(r);
        for (size_t j = 0; j < c->n; j++) {
            const long double t = (long double)c->a.value[fuzz_at(&c->a, i, j)] * x[j];
            r -= t;
            s += fabsl(t);
        }
        *largest = fmaxl(*largest, fabsl(r));
        *size = fmaxl(*size, s);
        *backward = fmaxl(*backward, s > 0 ? fabsl(r) / s : 0);
    }
}

static void check_solution(const chol_case *c, const double *x, const double *b,
                           long double *worst) {
    long double largest, size, backward;
    residual(c, x, b, &largest, &size, &backward);
    const long double tolerance = 64 * (long double)(c->n + 1) * 0x1p-53L * size;
    if (!(largest <= tolerance)) {
        fail_msg("the residual is %Lg, more than %Lg", largest, tolerance);
    }
    *worst = fmaxl(*worst, backward);
}

/* Substitution with the dense factor, in the order of L. */
static void check_part(const chol_case *c, weft_chol_part part, const double *x, const double *b) {
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

static void check_report(const chol_case *c, long double backward) {
    weft_chol_report report = {.size = sizeof report};
    weft_chol_get_report(c->f->ctx, c->plan, &report);
    const long double slack = 0.01L * backward + 0x1p-52L;
    if (!(fabsl(report.backward_error - backward) <= slack)) {
        fail_msg("the report's backward error is %g, not %Lg", report.backward_error, backward);
    }
}

static void solve(chol_case *c) {
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
static void solve_checked(chol_case *c) {
    fuzz *const f = c->f;
    const size_t n = c->n, rhs = 1 + fuzz_below(f, 20);
    const weft_chol_part part = (weft_chol_part)fuzz_below(f, 3);
    const weft_chol_solve_options options = {.size = sizeof options,
                                             .part = part,
                                             .refine =
                                                 part == WEFT_CHOL_A ? (int)fuzz_below(f, 3) : 0};
    double *const b = fuzz_take(f, n * rhs * sizeof *b), *const x =
                                                             fuzz_take(f, n * rhs * sizeof *x);
    long double backward = 0;
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
            check_solution(c, x + k * n, b + k * n, &backward);
        } else {
            check_part(c, part, x + k * n, b + k * n);
        }
    }
    if (part == WEFT_CHOL_A && n > 0) {
        check_report(c, backward);
    }
}

static void check_logdet(const chol_case *c) {
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

/* dt A d is not positive, and d is 1 in the column that was named. */
static void check_direction(const chol_case *c) {
    const size_t n = c->n;
    double *const d = fuzz_take(c->f, n * sizeof *d);
    long double product = 0, size = 0;
    if (weft_chol_direction(c->f->ctx, c->plan, d) != WEFT_OK) {
        fail_msg("weft_chol_direction: %s", weft_message(c->f->ctx));
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            const long double t = (long double)c->a.value[fuzz_at(&c->a, i, j)] * d[i] * d[j];
            product += t;
            size += fabsl(t);
        }
    }
    if (!(product <= 1e-10L * size) || d[c->perm[c->failed]] != 1) {
        fail_msg("dt A d is %Lg of %Lg, and d is %g in column %lld", product, size,
                 d[c->perm[c->failed]], (long long)c->perm[c->failed]);
    }
}

/* ---- factoring ---- */

static int progress(void *user, double done) {
    chol_case *const c = user;
    if (!(done >= 0 && done <= 1)) {
        fail_msg("progress is %g", done);
    }
    return c->left-- == 0;
}

static void check_factor(chol_case *c, weft_status status) {
    char word[32];
    if (status == WEFT_ECANCELLED && c->left < 0) {
        return;
    }
    if (c->outcome == UNCLEAR) {
        if (status != WEFT_OK && status != WEFT_ENOTSPD) {
            fail_msg("weft_chol_factor: %s", weft_message(c->f->ctx));
        }
    } else if (c->outcome == INDEFINITE) {
        snprintf(word, sizeof word, "%lld", (long long)c->perm[c->failed]);
        test_refused(c->f->ctx, status, WEFT_ENOTSPD, "weft_chol_factor", word);
        check_direction(c);
    } else if (status != WEFT_OK) {
        fail_msg("weft_chol_factor: %s", weft_message(c->f->ctx));
    } else {
        check_logdet(c);
        solve_checked(c);
        if (fuzz_one_in(c->f, 3)) {
            solve(c);
        }
    }
}

static void factor(chol_case *c) {
    fuzz *const f = c->f;
    c->left = fuzz_one_in(f, 10) ? (int)fuzz_below(f, 5) : INT32_MAX;
    if (fuzz_one_in(f, 2)) {
        weft_chol_reserve(f->ctx, c->plan, fuzz_below(f, 20));
    }
    weft_chol_on_progress(f->ctx, c->plan, progress, c);
    check_factor(c, weft_chol_factor(f->ctx, c->plan, c->matrix));
}

/* ---- plans in files ---- */

static size_t read_file(const char *path, unsigned char **bytes) {
    FILE *const file = fopen(path, "rb");
    fseek(file, 0, SEEK_END);
    const size_t length = (size_t)ftell(file);
    *bytes = malloc(length + 64);
    rewind(file);
    const size_t got = fread(*bytes, 1, length, file);
    fclose(file);
    return got;
}

static void write_file(const char *path, const unsigned char *bytes, size_t length) {
    FILE *const file = fopen(path, "wb");
    fwrite(bytes, 1, length, file);
    fclose(file);
}

/* The checksum of a plan's arrays, which is byte 56 of the 80 of its header. */
static void mend(unsigned char *bytes, size_t length) {
    uint64_t sum = UINT64_C(0xCBF29CE484222325);
    enum {
        HEADER = 80,
        SUM_AT = 56
    };
    for (size_t at = HEADER; at + 8 <= length; at += 8) {
        sum = (sum ^ fuzz_bits(bytes + at, 8, 0)) * UINT64_C(0x100000001B3);
    }
    if (length >= HEADER) {
        fuzz_store_bits(bytes + SUM_AT, 8, 0, sum);
    }
}

/* Damaged in a few places, cut short or too long; the checksum right again, or not. */
static bool damage(fuzz *f, unsigned char *bytes, size_t *length) {
    const bool mended = fuzz_one_in(f, 2);
    for (size_t count = 1 + fuzz_below(f, 3); count > 0; count--) {
        const size_t at = fuzz_below(f, *length);
        switch (fuzz_below(f, 4)) {
        case 0:
            bytes[at] ^= (unsigned char)(1u << fuzz_below(f, 8));
            break;
        case 1:
            fuzz_store_bits(bytes + at / 8 * 8, 8, 0, fuzz_below(f, 70));
            break;
        case 2:
            if (at >= 88) { /* two numbers change places */
                const uint64_t word = fuzz_bits(bytes + at / 8 * 8, 8, 0);
                fuzz_store_bits(bytes + at / 8 * 8, 8, 0, fuzz_bits(bytes + at / 8 * 8 - 8, 8, 0));
                fuzz_store_bits(bytes + at / 8 * 8 - 8, 8, 0, word);
            }
            break;
        default:
            *length = fuzz_one_in(f, 4) ? at + 1 : *length;
        }
    }
    if (mended) {
        mend(bytes, *length);
    }
    return mended;
}

static void load_damaged(chol_case *c, const char *path) {
    fuzz *const f = c->f;
    unsigned char *bytes;
    size_t length = read_file(path, &bytes);
    weft_chol *plan = c->plan;
    damage(f, bytes, &length);
    write_file(path, bytes, length);
    free(bytes);
    const weft_status status = weft_chol_load(f->ctx, path, &plan);
    if (status != WEFT_OK) {
        test_refused(f->ctx, status, WEFT_EFORMAT, "weft_chol_load", NULL);
        assert_null(plan);
        return;
    }
    /* What was not noticed must be harmless. */
    double *const x = fuzz_take(f, c->n * sizeof *x);
    if (weft_chol_factor(f->ctx, plan, c->matrix) == WEFT_OK) {
        weft_chol_solve(f->ctx, plan, c->matrix, NULL, 1, x, c->n, x, c->n);
    }
    weft_chol_destroy(plan);
}

static void through_file(chol_case *c) {
    fuzz *const f = c->f;
    char path[FUZZ_PATH_BYTES];
    weft_chol *again = NULL;
    fuzz_path(path);
    if (weft_chol_save(f->ctx, c->plan, path) != WEFT_OK ||
        weft_chol_load(f->ctx, path, &again) != WEFT_OK) {
        fail_msg("a plan through a file: %s", weft_message(f->ctx));
    }
    const int64_t *const perm = weft_chol_permutation(again);
    if (c->n > 0 && memcmp(perm, c->perm, c->n * sizeof *perm) != 0) {
        fail_msg("a plan through a file has another permutation");
    }
    weft_chol_destroy(c->plan);
    c->plan = again;
    c->perm = perm;
    if (fuzz_one_in(f, 2)) {
        load_damaged(c, path);
    }
    remove(path);
}

/* ---- wrong arguments ---- */

static void refuse(chol_case *c) {
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

static void analyze(chol_case *c) {
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
    if (status == WEFT_EARG && options.ordering && strcmp(options.ordering, "nd") == 0 &&
        strstr(weft_message(f->ctx), "this build has no ordering")) {
        return; /* it is METIS's */
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
    chol_case *const c = fuzz_take(f, sizeof *c);
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
            through_file(c);
        }
        factor(c);
        if (fuzz_one_in(f, 3)) {
            factor(c); /* the plan can factor again, whatever happened */
        }
    }
    weft_chol_destroy(c->plan);
    weft_sparse_destroy(c->matrix);
}
