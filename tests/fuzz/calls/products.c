/* SPDX-License-Identifier: Apache-2.0 */
/* weft_gemm, weft_gemv, weft_ger, weft_syrk, weft_trmm, weft_trsm and weft_transpose on whole
 * numbers, of which every sum is exact, so that each element is known. */
#include "calls/matrices.h"

#include <math.h>
#include <string.h>

enum {
    CPU_EXTENT = 150,
    GPU_EXTENT = 40
};

static size_t most(const fuzz *f) {
    return f->gpu ? GPU_EXTENT : CPU_EXTENT;
}

static weft_type real_type(fuzz *f) {
    return fuzz_one_in(f, 2) ? WEFT_F64 : WEFT_F32;
}

/* The type of a product's operands, and that of its result. */
static weft_type operand_type(fuzz *f, weft_type *out, bool integers) {
    static const weft_type types[] = {WEFT_F64, WEFT_F32, WEFT_F16, WEFT_BF16, WEFT_I8};
    const weft_type type = types[fuzz_below(f, integers ? 5 : 4)];
    const bool wider = (type == WEFT_F16 || type == WEFT_BF16) && fuzz_one_in(f, 2);
    *out = type == WEFT_I8 ? WEFT_I32 : wider ? WEFT_F32 : type;
    return type;
}

/* `v` as an element of the type holds it. */
static long double rounded(weft_type type, long double v) {
    return test_is_float(type) && !isnan(v) && !isinf(v) ? test_round(type, v) : v;
}

/* Element (i, j) of op(A). */
static long double of_op(const fuzz_matrix *a, bool transposed, size_t i, size_t j) {
    return transposed ? fuzz_matrix_at(a, j, i) : fuzz_matrix_at(a, i, j);
}

/* alpha product + beta c, neither read if its factor is 0. */
static void mix(fuzz_matrix *c, size_t i, size_t j, double alpha, long double product,
                double beta) {
    const long double old = beta == 0 ? 0 : beta * fuzz_matrix_at(c, i, j);
    const long double sum = (alpha == 0 ? 0 : alpha * product) + old;
    c->want[i * c->cols + j] = rounded(c->type, sum);
}

/* ---- gemm ---- */

typedef struct product {
    weft_type type, out;
    size_t m, n, k;
    unsigned how;
    bool ta, tb;
    double alpha, beta;
} product;

static product draw_product(fuzz *f) {
    product p = {.type = operand_type(f, &p.out, true)};
    p.m = fuzz_extent(f, most(f));
    p.n = fuzz_extent(f, most(f));
    p.k = fuzz_extent(f, most(f));
    p.ta = fuzz_one_in(f, 2);
    p.tb = fuzz_one_in(f, 2);
    p.how = (p.ta ? WEFT_TRANSPOSE_A : 0u) | (p.tb ? WEFT_TRANSPOSE_B : 0u);
    if (p.type == WEFT_F32 && fuzz_one_in(f, 2)) {
        p.how |= fuzz_one_in(f, 2) ? (unsigned)WEFT_F32_STRICT : (unsigned)WEFT_TF32;
    }
    p.alpha = fuzz_factor(f);
    p.beta = fuzz_factor(f);
    if (p.type == WEFT_I8) {
        p.alpha = trunc(p.alpha);
        p.beta = trunc(p.beta);
    }
    return p;
}

static void foretell_product(const product *p, const fuzz_matrix *a, const fuzz_matrix *b,
                             fuzz_matrix *c) {
    for (size_t i = 0; i < p->m; i++) {
        for (size_t j = 0; j < p->n; j++) {
            long double sum = 0;
            for (size_t l = 0; l < p->k && p->alpha != 0; l++) {
                sum += of_op(a, p->ta, i, l) * of_op(b, p->tb, l, j);
            }
            mix(c, i, j, p->k ? p->alpha : 0, sum, p->beta);
        }
    }
}

void fuzz_gemm(fuzz *f) {
    fuzz_begin(f, "gemm");
    product p = draw_product(f);
    const fuzz_layout layout = fuzz_layout_draw(f);
    fuzz_matrix a =
        fuzz_matrix_take(f, "a", p.type, p.ta ? p.k : p.m, p.ta ? p.m : p.k, layout, true);
    fuzz_matrix b =
        fuzz_matrix_take(f, "b", p.type, p.tb ? p.n : p.k, p.tb ? p.k : p.n, layout, true);
    fuzz_matrix c = fuzz_matrix_take(f, "c", p.out, p.m, p.n, layout, true);
    fuzz_matrix_output(f, &c);
    foretell_product(&p, &a, &b, &c);
    if (p.alpha != 0 && p.m && p.n && p.k) {
        fuzz_spoil_any_array(f);
        fuzz_matrix_spoil(f, &a, "lda");
        fuzz_matrix_spoil(f, &b, "ldb");
        fuzz_matrix_spoil(f, &c, "ldc");
    }
    p.how |= layout.by_rows ? WEFT_ROW_MAJOR : 0u;
    fuzz_say(f, "weft_gemm(how %u, %s to %s, %zu x %zu x %zu, alpha %g, beta %g, ld %zu %zu %zu)",
             p.how, weft_type_name(p.type), weft_type_name(p.out), p.m, p.n, p.k, p.alpha, p.beta,
             a.ld, b.ld, c.ld);
    if (fuzz_end(f, "weft_gemm",
                 weft_gemm(f->ctx, p.how, p.type, p.out, p.m, p.n, p.k, p.alpha, a.array->p, a.ld,
                           b.array->p, b.ld, p.beta, c.array->p, c.ld))) {
        fuzz_matrix_check(f, &c, "weft_gemm");
    }
}

/* ---- vectors ---- */

/* A vector with a stride of either sign as a matrix by rows of one column; element i of the vector
 * is row i, or with a negative stride row rows - 1 - i. */
static fuzz_matrix take_vector(fuzz *f, const char *name, weft_type type, size_t n,
                               ptrdiff_t *inc) {
    const size_t stride = 1 + (fuzz_one_in(f, 2) ? 0 : fuzz_below(f, 4));
    fuzz_matrix v =
        fuzz_matrix_take(f, name, type, n, stride, (fuzz_layout){.by_rows = true}, true);
    *inc = fuzz_one_in(f, 3) ? -(ptrdiff_t)stride : (ptrdiff_t)stride;
    v.ld = stride;
    f->gaps |= stride > 1;
    return v;
}

static size_t row_of(const fuzz_matrix *v, ptrdiff_t inc, size_t i) {
    return inc < 0 ? v->rows - 1 - i : i;
}

void fuzz_gemv(fuzz *f) {
    fuzz_begin(f, "gemv");
    weft_type out;
    const weft_type type = operand_type(f, &out, false);
    const size_t m = fuzz_extent(f, 2 * most(f)), n = fuzz_extent(f, 2 * most(f));
    const bool turned = fuzz_one_in(f, 2);
    const fuzz_layout layout = fuzz_layout_draw(f);
    const double alpha = fuzz_factor(f), beta = fuzz_factor(f);
    ptrdiff_t incx, incy;
    fuzz_matrix a = fuzz_matrix_take(f, "a", type, turned ? n : m, turned ? m : n, layout, true);
    const fuzz_matrix x = take_vector(f, "x", type, n, &incx);
    fuzz_matrix y = take_vector(f, "y", out, m, &incy);
    fuzz_matrix_output(f, &y);
    for (size_t i = 0; i < m; i++) {
        long double sum = 0;
        for (size_t j = 0; j < n && alpha != 0; j++) {
            sum += of_op(&a, turned, i, j) * fuzz_matrix_at(&x, row_of(&x, incx, j), 0);
        }
        mix(&y, row_of(&y, incy, i), 0, n ? alpha : 0, sum, beta);
    }
    if (alpha != 0 && m && n) {
        fuzz_spoil_any_array(f);
        fuzz_matrix_spoil(f, &a, "lda");
    }
    const unsigned how = (layout.by_rows ? WEFT_ROW_MAJOR : 0u) | (turned ? WEFT_TRANSPOSE_A : 0u);
    fuzz_say(f, "weft_gemv(how %u, %s to %s, %zu x %zu, alpha %g, beta %g, lda %zu, inc %td %td)",
             how, weft_type_name(type), weft_type_name(out), m, n, alpha, beta, a.ld, incx, incy);
    if (fuzz_end(f, "weft_gemv",
                 weft_gemv(f->ctx, how, type, out, m, n, alpha, a.array->p, a.ld, x.array->p, incx,
                           beta, y.array->p, incy))) {
        fuzz_matrix_check(f, &y, "weft_gemv");
    }
}

void fuzz_ger(fuzz *f) {
    fuzz_begin(f, "ger");
    weft_type same;
    const weft_type type = operand_type(f, &same, false);
    const size_t m = fuzz_extent(f, 2 * most(f)), n = fuzz_extent(f, 2 * most(f));
    const fuzz_layout layout = fuzz_layout_draw(f);
    const double alpha = fuzz_factor(f);
    ptrdiff_t incx, incy;
    const fuzz_matrix x = take_vector(f, "x", type, m, &incx);
    const fuzz_matrix y = take_vector(f, "y", type, n, &incy);
    fuzz_matrix a = fuzz_matrix_take(f, "a", type, m, n, layout, true);
    fuzz_matrix_output(f, &a);
    for (size_t i = 0; i < m && alpha != 0; i++) {
        for (size_t j = 0; j < n; j++) {
            mix(&a, i, j, alpha,
                fuzz_matrix_at(&x, row_of(&x, incx, i), 0) *
                    fuzz_matrix_at(&y, row_of(&y, incy, j), 0),
                1);
        }
    }
    if (alpha != 0 && m && n) {
        fuzz_spoil_any_array(f);
        fuzz_matrix_spoil(f, &a, "lda");
    }
    fuzz_say(f, "weft_ger(%s, %s, %zu x %zu, alpha %g, lda %zu, inc %td %td)",
             layout.by_rows ? "rows" : "columns", weft_type_name(type), m, n, alpha, a.ld, incx,
             incy);
    if (fuzz_end(f, "weft_ger",
                 weft_ger(f->ctx, layout.by_rows ? WEFT_ROW_MAJOR : 0, type, m, n, alpha,
                          x.array->p, incx, y.array->p, incy, a.array->p, a.ld))) {
        fuzz_matrix_check(f, &a, "weft_ger");
    }
}

/* ---- triangles ---- */

static bool in_triangle(bool upper, size_t i, size_t j) {
    return upper ? i <= j : i >= j;
}

void fuzz_syrk(fuzz *f) {
    fuzz_begin(f, "syrk");
    const weft_type type = real_type(f);
    const size_t n = fuzz_extent(f, most(f)), k = fuzz_extent(f, most(f));
    const bool turned = fuzz_one_in(f, 2), upper = fuzz_one_in(f, 2);
    const fuzz_layout layout = fuzz_layout_draw(f);
    const double alpha = fuzz_factor(f), beta = fuzz_factor(f);
    fuzz_matrix a = fuzz_matrix_take(f, "a", type, turned ? k : n, turned ? n : k, layout, true);
    fuzz_matrix c = fuzz_matrix_take(f, "c", type, n, n, layout, false);
    fuzz_matrix_output(f, &c);
    for (size_t at = 0; at < n * n; at++) {
        const size_t i = at / n, j = at % n;
        long double sum = 0;
        for (size_t l = 0; l < k && alpha != 0; l++) {
            sum += of_op(&a, turned, i, l) * of_op(&a, turned, j, l);
        }
        if (in_triangle(upper, i, j)) {
            mix(&c, i, j, k ? alpha : 0, sum, beta);
        }
    }
    if (alpha != 0 && n && k) {
        fuzz_spoil_any_array(f);
        fuzz_matrix_spoil(f, &a, "lda");
        fuzz_matrix_spoil(f, &c, "ldc");
    }
    const unsigned how = (layout.by_rows ? WEFT_ROW_MAJOR : 0u) | (turned ? WEFT_TRANSPOSE_A : 0u) |
                         (upper ? WEFT_UPPER_TRIANGLE : 0u);
    fuzz_say(f, "weft_syrk(how %u, %s, %zu x %zu, alpha %g, beta %g, ld %zu %zu)", how,
             weft_type_name(type), n, k, alpha, beta, a.ld, c.ld);
    if (fuzz_end(
            f, "weft_syrk",
            weft_syrk(f->ctx, how, type, n, k, alpha, a.array->p, a.ld, beta, c.array->p, c.ld))) {
        fuzz_matrix_check(f, &c, "weft_syrk");
    }
}

/* A triangle whose elements off the diagonal join odd indices to even ones only: then it and its
 * inverse hold whole numbers, and what it multiplies and solves is exact. */
static fuzz_matrix take_triangle(fuzz *f, weft_type type, size_t n, fuzz_layout layout,
                                 bool upper) {
    test_random *const r = fuzz_random(f);
    long double *const v = fuzz_take(f, n * n * sizeof *v);
    for (size_t at = 0; at < n * n; at++) {
        const size_t i = at / n, j = at % n;
        if (i == j) {
            v[at] = test_below(r, 2) ? 1 : -1;
        } else if (!in_triangle(upper, i, j)) {
            v[at] = NAN; /* not read */
        } else if (i % 2 != 0 && j % 2 == 0 && test_below(r, 4) == 0) {
            v[at] = (long double)test_below(r, 5) - 2;
        }
    }
    return fuzz_matrix_of(f, "a", type, n, n, layout, v);
}

typedef struct triangle {
    bool right, turned, upper, ones;
} triangle;

/* Element (i, j) of op(A). */
static long double element(const triangle *t, const fuzz_matrix *a, size_t i, size_t j) {
    const size_t row = t->turned ? j : i, col = t->turned ? i : j;
    if (row == col && t->ones) {
        return 1;
    }
    return in_triangle(t->upper, row, col) ? fuzz_matrix_at(a, row, col) : 0;
}

/* Element (i, j) of op(A) X or X op(A). */
static long double multiplied(const triangle *t, const fuzz_matrix *a, const fuzz_matrix *x,
                              size_t i, size_t j) {
    long double sum = 0;
    for (size_t l = 0; l < a->rows; l++) {
        sum += t->right ? fuzz_matrix_at(x, i, l) * element(t, a, l, j)
                        : element(t, a, i, l) * fuzz_matrix_at(x, l, j);
    }
    return sum;
}

static void triangular(fuzz *f, bool solve) {
    const char *const call = solve ? "weft_trsm" : "weft_trmm";
    fuzz_begin(f, solve ? "trsm" : "trmm");
    const weft_type type = real_type(f);
    const size_t m = fuzz_extent(f, most(f)), n = fuzz_extent(f, most(f));
    const triangle t = {fuzz_one_in(f, 2), fuzz_one_in(f, 2), fuzz_one_in(f, 2), fuzz_one_in(f, 2)};
    const fuzz_layout layout = fuzz_layout_draw(f);
    const double alpha = fuzz_one_in(f, 8) ? 0 : fuzz_one_in(f, 2) ? 1 : 2;
    fuzz_matrix a = take_triangle(f, type, t.right ? n : m, layout, t.upper);
    const fuzz_matrix x = fuzz_matrix_take(f, "", type, m, n, layout, false);
    long double *const v = fuzz_take(f, m * n * sizeof *v);
    for (size_t at = 0; at < m * n; at++) {
        const size_t i = at / n, j = at % n;
        v[at] = solve ? multiplied(&t, &a, &x, i, j) : fuzz_matrix_at(&x, i, j);
    }
    fuzz_matrix b = fuzz_matrix_of(f, "b", type, m, n, layout, v);
    fuzz_matrix_output(f, &b);
    for (size_t at = 0; at < m * n; at++) {
        const size_t i = at / n, j = at % n;
        b.want[at] = alpha == 0 ? 0
                     : solve    ? alpha * fuzz_matrix_at(&x, i, j)
                                : alpha * multiplied(&t, &a, &x, i, j);
    }
    if (alpha != 0 && m && n) {
        fuzz_matrix_spoil(f, &a, "lda");
        fuzz_matrix_spoil(f, &b, "ldb");
    }
    const unsigned how = (layout.by_rows ? WEFT_ROW_MAJOR : 0u) |
                         (t.turned ? WEFT_TRANSPOSE_A : 0u) | (t.upper ? WEFT_UPPER_TRIANGLE : 0u) |
                         (t.ones ? WEFT_UNIT_DIAGONAL : 0u) | (t.right ? WEFT_RIGHT : 0u);
    fuzz_say(f, "%s(how %u, %s, %zu x %zu, alpha %g, ld %zu %zu)", call, how, weft_type_name(type),
             m, n, alpha, a.ld, b.ld);
    if (fuzz_end(f, call,
                 (solve ? weft_trsm : weft_trmm)(f->ctx, how, type, m, n, alpha, a.array->p, a.ld,
                                                 b.array->p, b.ld))) {
        fuzz_matrix_check(f, &b, call);
    }
}

void fuzz_trsm(fuzz *f) {
    triangular(f, true);
}

void fuzz_trmm(fuzz *f) {
    triangular(f, false);
}

/* ---- transposes ---- */

void fuzz_transpose(fuzz *f) {
    fuzz_begin(f, "transpose");
    const size_t width = 1 + fuzz_below(f, 16), lda_gap = fuzz_below(f, 3),
                 ldb_gap = fuzz_below(f, 3);
    const size_t m = 1 + fuzz_extent(f, 2 * most(f)), n = 1 + fuzz_extent(f, 2 * most(f));
    const bool by_rows = fuzz_one_in(f, 2), in_place = fuzz_one_in(f, 3) && (!lda_gap || m == n);
    const size_t lines = by_rows ? m : n, length = by_rows ? n : m;
    const size_t lda = length + lda_gap,
                 ldb = (in_place ? (m == n ? lda_gap : 0) : ldb_gap) + lines;
    const size_t a_bytes = ((lines - 1) * lda + length) * width;
    unsigned char *const data = fuzz_take(f, a_bytes);
    for (size_t k = 0; k < a_bytes; k++) {
        data[k] = (unsigned char)test_bits(&f->random);
    }
    fuzz_array *const a = fuzz_input(f, "a", a_bytes, 1, data), *b = a;
    f->gaps = lda_gap || ldb_gap;
    if (in_place) {
        a->shared = a->output = true;
    } else {
        b = fuzz_output(f, "b", ((length - 1) * ldb + lines) * width, 1);
    }
    for (size_t line = 0; line < lines; line++) {
        for (size_t at = 0; at < length; at++) {
            memcpy(b->want + (at * ldb + line) * width, data + (line * lda + at) * width, width);
        }
    }
    fuzz_spoil_any_array(f);
    fuzz_say(f, "weft_transpose(%s, width %zu, %zu x %zu, ld %zu %zu)",
             by_rows ? "rows" : "columns", width, m, n, lda, ldb);
    fuzz_end(
        f, "weft_transpose",
        weft_transpose(f->ctx, by_rows ? WEFT_ROW_MAJOR : 0, width, m, n, a->p, lda, b->p, ldb));
}
