/* SPDX-License-Identifier: Apache-2.0 */
/* Dense systems: weft_lu_factor and _solve, weft_cholesky_factor and _solve. Factors are multiplied
 * again, solutions compared with the whole numbers that the right-hand sides were made of. */
#include "calls/matrices.h"

#include <math.h>
#include <string.h>

enum {
    CPU_ORDER = 90,
    GPU_ORDER = 30,
    MOST_SIDES = 9
};

static size_t order(fuzz *f) {
    return fuzz_extent(f, f->gpu ? GPU_ORDER : CPU_ORDER);
}

static long double roundoff(weft_type type) {
    return type == WEFT_F32 ? 0x1p-24L : 0x1p-53L;
}

/* ---- elimination ---- */

/* A square matrix whose rows, in a drawn order, have large diagonal elements; others are whole
 * numbers as they come, and singular some of the time. */
static fuzz_matrix take_general(fuzz *f, weft_type type, size_t m, size_t n, fuzz_layout layout) {
    test_random *const r = fuzz_random(f);
    long double *const v = fuzz_take(f, m * n * sizeof *v);
    const size_t turn = m ? test_below(r, m) : 0;
    const bool steep = m == n;
    for (size_t k = 0; k < m * n; k++) {
        v[k] = (long double)test_below(r, 7) - 3;
        if (steep && (k / n + turn) % m == k % n) {
            v[k] = 4 * (long double)n + 1;
        }
    }
    return fuzz_matrix_of(f, "a", type, m, n, layout, v);
}

/* P A, P being the exchanges of rows that the call names. */
static long double *exchanged(fuzz *f, const fuzz_matrix *a, const int64_t *pivot) {
    const size_t m = a->rows, n = a->cols, r = m < n ? m : n;
    long double *const v = fuzz_take(f, m * n * sizeof *v);
    for (size_t k = 0; k < m * n; k++) {
        v[k] = fuzz_matrix_at(a, k / n, k % n);
    }
    for (size_t k = 0; k < r; k++) {
        if (pivot[k] < (int64_t)k || pivot[k] >= (int64_t)m) {
            fail_msg("pivot[%zu] of %zu x %zu is %lld", k, m, n, (long long)pivot[k]);
        }
        for (size_t j = 0; j < n && (size_t)pivot[k] != k; j++) {
            const long double kept = v[k * n + j];
            v[k * n + j] = v[(size_t)pivot[k] * n + j];
            v[(size_t)pivot[k] * n + j] = kept;
        }
    }
    return v;
}

/* |P A - L U| <= r u |L| |U|, element by element. */
static void check_factors(fuzz *f, const fuzz_matrix *a, const int64_t *pivot) {
    const size_t m = a->rows, n = a->cols, r = m < n ? m : n;
    const long double *const want = exchanged(f, a, pivot);
    for (size_t k = 0; k < m * n; k++) {
        const size_t i = k / n, j = k % n;
        long double sum = 0, sizes = 0;
        for (size_t l = 0; l < r && l <= i && l <= j; l++) {
            const long double u = fuzz_matrix_after(f, a, l, j);
            const long double term = l == i ? u : fuzz_matrix_after(f, a, i, l) * u;
            sum += term;
            sizes += fabsl(term);
        }
        if (!(fabsl(sum - want[k]) <= (long double)(r + 2) * roundoff(a->type) * sizes)) {
            fail_msg("L U(%zu, %zu) is %.17Lg, P A %.17Lg; %s", i, j, sum, want[k], fuzz_said());
        }
    }
}

/* B of op(A) X = B for whole numbers X, which are what is wanted of it. */
static fuzz_matrix take_sides(fuzz *f, const fuzz_matrix *a, bool turned, size_t sides,
                              fuzz_layout layout) {
    const size_t n = a->rows;
    const fuzz_matrix x = fuzz_matrix_take(f, "", a->type, n, sides, layout, false);
    long double *const v = fuzz_take(f, n * sides * sizeof *v);
    for (size_t k = 0; k < n * sides; k++) {
        const size_t i = k / sides, j = k % sides;
        for (size_t l = 0; l < n; l++) {
            v[k] += (turned ? fuzz_matrix_at(a, l, i) : fuzz_matrix_at(a, i, l)) *
                    fuzz_matrix_at(&x, l, j);
        }
    }
    fuzz_matrix b = fuzz_matrix_of(f, "b", a->type, n, sides, layout, v);
    fuzz_matrix_output(f, &b);
    for (size_t k = 0; k < n * sides; k++) { /* conditions are small: diagonals are */
        b.want[k] = fuzz_matrix_at(&x, k / sides, k % sides);
        b.bound[k] = 64 * (long double)(n + 8) * roundoff(a->type) * 3;
    }
    return b;
}

static void solve_factored(fuzz *f, fuzz_matrix *a, fuzz_array *pivot, fuzz_layout layout) {
    const bool turned = fuzz_one_in(f, 2);
    const size_t n = a->rows, sides = fuzz_below(f, MOST_SIDES);
    fuzz_matrix b = take_sides(f, a, turned, sides, layout);
    const unsigned how = (layout.by_rows ? WEFT_ROW_MAJOR : 0u) | (turned ? WEFT_TRANSPOSE_A : 0u);
    fuzz_say(f, "weft_lu_solve(how %u, %s, %zu, %zu sides)", how, weft_type_name(a->type), n,
             sides);
    if (weft_lu_solve(f->ctx, how, a->type, n, sides, a->array->p, a->ld, pivot->p, b.array->p,
                      b.ld) != WEFT_OK) {
        fail_msg("weft_lu_solve: %s; %s", weft_message(f->ctx), fuzz_said());
    }
    fuzz_matrix_check(f, &b, "weft_lu_solve");
}

void fuzz_lu(fuzz *f) {
    fuzz_begin(f, "lu");
    const weft_type type = fuzz_one_in(f, 2) ? WEFT_F64 : WEFT_F32;
    const size_t m = order(f), n = fuzz_one_in(f, 2) ? m : order(f), r = m < n ? m : n;
    const fuzz_layout layout = fuzz_layout_draw(f);
    fuzz_matrix a = take_general(f, type, m, n, layout);
    fuzz_matrix_output(f, &a);
    fuzz_array *const pivot = fuzz_output(f, "pivot", r * sizeof(int64_t), sizeof(int64_t));
    pivot->compare = FUZZ_ANY;
    if (r) {
        fuzz_spoil_any_array(f);
        fuzz_matrix_spoil(f, &a, "lda");
    }
    fuzz_say(f, "weft_lu_factor(%s, %s, %zu x %zu, lda %zu)", layout.by_rows ? "rows" : "columns",
             weft_type_name(type), m, n, a.ld);
    weft_status status = weft_lu_factor(f->ctx, layout.by_rows ? WEFT_ROW_MAJOR : 0, type, m, n,
                                        a.array->p, a.ld, pivot->p);
    const bool singular = status == WEFT_ESINGULAR && m != n && !f->wrong;
    if (!fuzz_end(f, "weft_lu_factor", singular ? WEFT_OK : status)) {
        return;
    }
    check_factors(f, &a, fuzz_read(f, pivot));
    if (m == n && n && !singular) {
        solve_factored(f, &a, pivot, layout);
    }
}

/* ---- symmetric positive definite ones ---- */

static fuzz_matrix take_definite(fuzz *f, weft_type type, size_t n, fuzz_layout layout) {
    test_random *const r = fuzz_random(f);
    long double *const v = fuzz_take(f, n * n * sizeof *v);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            v[i * n + j] = v[j * n + i] = (long double)test_below(r, 7) - 3;
        }
        v[i * n + i] = 4 * (long double)n + 1;
    }
    return fuzz_matrix_of(f, "a", type, n, n, layout, v);
}

/* |A - L L'| of the one triangle, and the other as it was. */
static void check_triangle(fuzz *f, const fuzz_matrix *a, bool upper) {
    const size_t n = a->rows;
    for (size_t k = 0; k < n * n; k++) {
        const size_t i = k / n, j = k % n;
        const long double want = fuzz_matrix_at(a, i, j);
        long double sum = 0, bound = 0;
        if (upper ? i > j : i < j) {
            sum = fuzz_matrix_after(f, a, i, j);
        } else {
            for (size_t l = 0; l <= (i < j ? i : j); l++) {
                sum += upper ? fuzz_matrix_after(f, a, l, i) * fuzz_matrix_after(f, a, l, j)
                             : fuzz_matrix_after(f, a, i, l) * fuzz_matrix_after(f, a, j, l);
            }
            bound = (long double)(n + 4) * roundoff(a->type) * (4 * (long double)n + 1);
        }
        if (!(fabsl(sum - want) <= bound)) {
            fail_msg("L L'(%zu, %zu) is %.17Lg, A %.17Lg; %s", i, j, sum, want, fuzz_said());
        }
    }
}

void fuzz_cholesky(fuzz *f) {
    fuzz_begin(f, "cholesky");
    const weft_type type = fuzz_one_in(f, 2) ? WEFT_F64 : WEFT_F32;
    const size_t n = order(f), sides = fuzz_below(f, MOST_SIDES);
    const bool upper = fuzz_one_in(f, 2);
    const fuzz_layout layout = fuzz_layout_draw(f);
    fuzz_matrix a = take_definite(f, type, n, layout);
    fuzz_matrix_output(f, &a);
    if (n) {
        fuzz_spoil_any_array(f);
        fuzz_matrix_spoil(f, &a, "lda");
    }
    const unsigned how =
        (layout.by_rows ? WEFT_ROW_MAJOR : 0u) | (upper ? WEFT_UPPER_TRIANGLE : 0u);
    fuzz_say(f, "weft_cholesky_factor(how %u, %s, %zu, lda %zu)", how, weft_type_name(type), n,
             a.ld);
    if (!fuzz_end(f, "weft_cholesky_factor",
                  weft_cholesky_factor(f->ctx, how, type, n, a.array->p, a.ld))) {
        return;
    }
    check_triangle(f, &a, upper);
    fuzz_matrix b = take_sides(f, &a, false, sides, layout);
    if (weft_cholesky_solve(f->ctx, how, type, n, sides, a.array->p, a.ld, b.array->p, b.ld) !=
        WEFT_OK) {
        fail_msg("weft_cholesky_solve: %s; %s", weft_message(f->ctx), fuzz_said());
    }
    fuzz_matrix_check(f, &b, "weft_cholesky_solve");
}
