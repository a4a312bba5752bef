/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of cholesky share: matrices, calls and checks in long double. What is not to be
 * read holds NaN. */
#ifndef WEFT_CHOLESKY_RIG_H
#define WEFT_CHOLESKY_RIG_H

#include "cholesky/cholesky.h"
#include "limits.h"
#include "lu/lu_rig.h"

enum {
    A,
    B,
    ARRAYS,
    CAPACITY = 1 << 20,
    ALL_ON_DEVICE = 3,
    MOST_COLUMNS = 33
};

#ifdef WEFT_EMU
enum {
    MOST_ORDER = 193 /* four tiles of 64: what a step leaves to the next is taken from others */
};
#else
enum {
    MOST_ORDER = 257
};
#endif

static const size_t columns[] = {0, 1, 2, 3, 8, 9, MOST_COLUMNS};

/* Of positive definite matrices. */
typedef enum sort {
    ONLY_DIAGONAL,
    WELL_CONDITIONED,
    ILL_CONDITIONED,
    ALMOST_SINGULAR,
    GRADED, /* rows and columns by powers of two */
    TINY,
    LARGE,
    SORTS
} sort;

typedef struct problem {
    const wi_row *row; /* NULL: the library chooses */
    matrix a, b;
    bool upper;
    unsigned device; /* bit k: array k is device memory, if the place has any */
    char what[256];
} problem;

static inline unsigned how_of(const problem *p) {
    return (p->a.by_rows ? WEFT_ROW_MAJOR : 0) | (p->upper ? WEFT_UPPER_TRIANGLE : 0);
}

static inline void describe(const weft_context *ctx, problem *p, int number) {
    snprintf(p->what, sizeof p->what,
             "weft_cholesky of %s on %s, variant %s, how %#x, n %zu, ld %zu, offset %zu, sort %d, "
             "nrhs %zu, device %#x",
             test_type_name(p->a.type), weft_place(ctx), p->row ? p->row->name : "auto", how_of(p),
             p->a.rows, p->a.ld, p->a.offset, number, p->b.columns, p->device);
}

/* ---- matrices ---- */

/* X' X, or its largest elements near 1. */
static inline void fill_sort(test_random *r, sort s, weft_type type, size_t n, long double *a) {
    const int reach = type == WEFT_F64 ? 1000 : 100;
    const long double u = test_roundoff(type);
    long double *const x = table_of(n, n);
    if (s == ILL_CONDITIONED || s == ALMOST_SINGULAR)
        fill_graded(r, n, n, s == ILL_CONDITIONED ? powl(u, 0.25L) : sqrtl(u * 64 * (n + 4)), x);
    else
        fill_graded(r, n, n, 0.1L, x);
    memset(a, 0, n * n * sizeof *a);
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j <= i; j++)
                a[i * n + j] += x[k * n + i] * x[k * n + j];
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            const int power = s == GRADED  ? -(int)(i * 13 % 11) - (int)(j * 13 % 11)
                              : s == TINY  ? -reach
                              : s == LARGE ? reach
                                           : 0;
            a[i * n + j] = a[j * n + i] = s == ONLY_DIAGONAL ? (i == j ? 1 + fabs(test_unit(r)) : 0)
                                                             : ldexpl(a[i * n + j], power);
        }
    free(x);
}

/* Element (i, j) of the triangle that is stored? */
static inline bool is_stored(const problem *p, size_t i, size_t j) {
    return p->upper ? i <= j : i >= j;
}

/* The triangle of A; all else NaN. */
static inline void store_triangle(const problem *p, const long double *a, unsigned char *bytes) {
    long double *const half = table_of(p->a.rows, p->a.rows);
    for (size_t i = 0; i < p->a.rows; i++)
        for (size_t j = 0; j < p->a.rows; j++)
            half[i * p->a.rows + j] = is_stored(p, i, j) ? a[i * p->a.rows + j] : NAN;
    stored(&p->a, half, bytes);
    free(half);
}

/* L from what a call left in place of A, and what else there is still NaN; the caller frees it. */
static inline long double *factor_of(const problem *p, const unsigned char *bytes) {
    const size_t n = p->a.rows;
    long double *const f = widened(&p->a, bytes), *const l = table_of(n, n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (is_stored(p, i, j))
                l[p->upper ? j * n + i : i * n + j] = f[i * n + j];
            else if (!isnan(f[i * n + j]))
                fail_msg("%s: element (%zu, %zu) of the other triangle was written", p->what, i, j);
    free(f);
    return l;
}

/* ---- the factor ---- */

/* L, which the caller frees; NULL: the rung does not fit. */
static inline long double *factor(rig *r, const problem *p, const long double *a,
                                  weft_status *status) {
    test_buffer *const b = rig_buffer(r, p->device, A);
    store_triangle(p, a, r->source[A]);
    test_buffer_load(b, r->source[A], bytes_of(&p->a), p->a.offset * test_size_of(p->a.type));
    test_use(r->ctx, "cholesky", p->row);
    *status = weft_cholesky_factor(r->ctx, how_of(p), p->a.type, p->a.rows, b->p, p->a.ld);
    if (*status == WEFT_EUNSUPPORTED && is_openblas(p->row))
        return NULL;
    const unsigned char *const after = test_buffer_read(b, p->what);
    check_gaps(&p->a, after, p->what);
    if (*status == WEFT_OK && p->a.rows > 0)
        test_used(r->ctx, "cholesky", p->row, p->what);
    return factor_of(p, after);
}

/* A = L L' within rounding. */
static inline void check_factor(const problem *p, const long double *a, const long double *l) {
    const size_t n = p->a.rows;
    const long double u = test_roundoff(p->a.type), tiny = test_half_tiny(p->a.type);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            long double sum = 0, size = 0;
            for (size_t k = 0; k <= j; k++) {
                sum += l[i * n + k] * l[j * n + k];
                size += fabsl(l[i * n + k] * l[j * n + k]);
            }
            const long double within = 2 * ((long double)j + 4) * (u * size + tiny);
            if (!(fabsl(sum - a[i * n + j]) <= within) || (i == j && !(l[i * n + i] > 0)))
                fail_msg("%s: element (%zu, %zu) of L L' is %Lg, not %Lg", p->what, i, j, sum,
                         a[i * n + j]);
        }
}

/* |B - A X| / (|A| |X| eps) for B = A X' of a random X'. */
static inline void check_solution(rig *r, const problem *p, const long double *a) {
    const size_t n = p->a.rows, nrhs = p->b.columns, width = test_size_of(p->a.type);
    const long double scale = 2 * test_roundoff(p->a.type) * norm_of(n, n, a) * RATIO;
    test_buffer *const b = rig_buffer(r, p->device, B);
    long double *const right = table_of(n, nrhs);
    for (size_t j = 0; j < nrhs; j++)
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < n; k++)
                right[i * nrhs + j] += a[i * n + k] * (1 + (long double)((k + j) % 5));
    stored(&p->b, right, r->source[B]);
    test_buffer_load(b, r->source[B], bytes_of(&p->b), p->b.offset * width);
    if (weft_cholesky_solve(r->ctx, how_of(p), p->a.type, n, nrhs, rig_buffer(r, p->device, A)->p,
                            p->a.ld, b->p, p->b.ld) != WEFT_OK)
        fail_msg("%s: %s", p->what, weft_message(r->ctx));
    const unsigned char *const after = test_buffer_read(b, p->what);
    check_gaps(&p->b, after, p->what);
    long double *const before = widened(&p->b, r->source[B]), *const x = widened(&p->b, after);
    for (size_t j = 0; j < nrhs; j++) {
        long double rest = 0, size = 0;
        for (size_t i = 0; i < n; i++) {
            long double sum = before[i * nrhs + j];
            for (size_t k = 0; k < n; k++)
                sum -= a[i * n + k] * x[k * nrhs + j];
            rest += fabsl(sum);
            size += fabsl(x[i * nrhs + j]);
        }
        if (!(rest <= scale * size))
            fail_msg("%s: the ratio of column %zu is %Lg", p->what, j,
                     RATIO * rest / (scale * size));
    }
    free(right);
    free(before);
    free(x);
}

/* Blocks of columns that small matrices have several of. */
static inline void lower_limit(test_random *r) {
#ifdef WEFT_EMU
    wi_cholesky_columns_at_once = test_below(r, 4) ? 64 : 256;
    wi_cholesky_boxed = test_below(r, 2) ? 1 : 3;
    wi_cholesky_slots = 4 - (unsigned)test_below(r, 2) * 2;
    wi_cholesky_apart = test_below(r, 2) ? 1 : 32;
    wi_cholesky_last = (unsigned)test_below(r, 2);
    wi_cholesky_chains = 1;
    wi_cholesky_width = test_below(r, 2) ? 64 : 128;
    wi_cholesky_tail = test_below(r, 2) ? 64 : test_below(r, 2) ? 20 : 3072;
#else
    (void)r;
#endif
}

static inline problem draw(rig *r, const wi_row *row, weft_type type, size_t n, unsigned how) {
    problem p = {.row = row,
                 .a = {.type = type, .by_rows = how & 1, .rows = n, .columns = n},
                 .b = {.type = type, .by_rows = how & 1, .rows = n},
                 .upper = how & 2,
                 .device = ALL_ON_DEVICE};
    lower_limit(&r->random);
    p.b.columns = columns[test_below(&r->random, sizeof columns / sizeof *columns)];
    choose_layout(&r->random, &p.a);
    choose_layout(&r->random, &p.b);
    if (test_below(&r->random, 4) == 0)
        p.device = (unsigned)test_below(&r->random, ALL_ON_DEVICE);
#ifdef WEFT_EMU
    if (wi_lu_resident_bytes > 0) /* only host matrices are streamed */
        p.device = p.device & 1u << B;
#endif
    return p;
}

/* The symmetric matrix as the type holds it. */
static inline long double *rounded_of(const problem *p, const unsigned char *bytes) {
    const size_t n = p->a.rows;
    long double *const a = widened(&p->a, bytes);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (!is_stored(p, i, j))
                a[i * n + j] = a[j * n + i];
    return a;
}

static inline void run_sort(rig *r, problem *p, sort s) {
    const size_t n = p->a.rows;
    long double *const a = table_of(n, n);
    weft_status status;
    describe(r->ctx, p, s);
    fill_sort(&r->random, s, p->a.type, n, a);
    long double *const l = factor(r, p, a, &status);
    if (l) {
        long double *const rounded = rounded_of(p, r->source[A]);
        if (status != WEFT_OK)
            fail_msg("%s: %s", p->what, weft_message(r->ctx));
        check_factor(p, rounded, l);
        check_solution(r, p, rounded);
        free(rounded);
    }
    free(l);
    free(a);
}

/* Axes: the type; the flags; the sort of matrix. */
static inline bool run_drawn(void *user, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = user;
    if (n > MOST_ORDER)
        return false;
    problem p = draw(r, row, at[0] ? WEFT_F32 : WEFT_F64, n, (unsigned)at[1]);
    run_sort(r, &p, (sort)at[2]);
    return true;
}

/* ---- exact factors, and what is wrong with a column ---- */

typedef enum fault {
    NONE,
    ZERO,
    NEGATIVE,
    IS_NAN,
    IS_INFINITE,
    FAULTS
} fault;

enum {
    ONE_BLOCK = 64
};

/* Rows of L from this one on are multiplied by 2^power. */
typedef struct scale {
    size_t from;
    int power;
} scale;

static inline int power_of(const scale *s, size_t i) {
    return i >= s->from ? s->power : 0;
}

/* A = L L' for an L of a few halves, so that nothing is rounded; then the fault in this column. */
static inline void fill_exact(test_random *r, size_t n, fault f, size_t column, const scale *s,
                              long double *l, long double *a) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++)
            l[i * n + j] =
                ldexpl(i == j ? 2 : ((long double)test_below(r, 5) - 2) / 2, power_of(s, i));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            for (size_t k = 0; k <= i && k <= j; k++)
                a[i * n + j] += l[i * n + k] * l[j * n + k];
    const size_t before = n > 0 ? test_below(r, column + 1) : 0;
    if (f == ZERO || f == NEGATIVE)
        a[column * n + column] -= ldexpl(f == ZERO ? 4 : 7, 2 * power_of(s, column));
    if (f == IS_NAN)
        a[before * n + column] = a[column * n + before] = NAN;
    if (f == IS_INFINITE)
        a[column * n + column] = INFINITY;
}

static inline void check_message(weft_context *ctx, const problem *p, weft_status status, fault f,
                                 size_t column) {
    char word[48];
    const weft_status expected = f == NONE                    ? WEFT_OK
                                 : f == ZERO || f == NEGATIVE ? WEFT_ENOTSPD
                                                              : WEFT_ENONFINITE;
    if (status != expected)
        fail_msg("%s: %s: %s", p->what, weft_status_name(status), weft_message(ctx));
    if (f == NONE)
        return;
    test_refused(ctx, status, expected, "weft_cholesky_factor", NULL);
    snprintf(word, sizeof word, "column %zu (", column);
    if (!strstr(weft_message(ctx), word))
        fail_msg("%s: no \"%s\" in \"%s\"", p->what, word, weft_message(ctx));
}

/* Rows of L before this one, its own up to the diagonal, and the pivot there. */
static inline void check_exact(const problem *p, const long double *l, const long double *right,
                               fault f, size_t column, const scale *s) {
    const size_t n = p->a.rows, rows = f == NONE ? n : column + 1;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j <= i; j++) {
            const long double pivot = f == ZERO ? 0 : ldexpl(-3, 2 * power_of(s, column));
            if (j == column && f >= IS_NAN)
                continue;
            if (i == column && f == IS_NAN)
                continue;
            const long double expected =
                f != NONE && i == column && j == column ? pivot : right[i * n + j];
            if (l[i * n + j] != expected)
                fail_msg("%s: element (%zu, %zu) of L is %Lg, not %Lg", p->what, i, j, l[i * n + j],
                         expected);
        }
}

/* Pivots that are no normal numbers, from some row on; not in large matrices of f32, whose products
 * may split their factors. */
static inline scale draw_scale(test_random *r, weft_type type, size_t n) {
    const bool is_small = test_below(r, 2) && (type == WEFT_F64 || n <= ONE_BLOCK);
    return (scale){test_below(r, n + 1), is_small ? type == WEFT_F64 ? -535 : -73 : 0};
}

/* A column at an edge of what a GPU factors at a time, or any. */
static inline size_t draw_column(test_random *r, size_t n) {
    const size_t edge = 16 * test_below(r, n / 16 + 1) + 15 + test_below(r, 2);
    return n == 0 ? 0 : test_below(r, 2) && edge < n ? edge : test_below(r, n);
}

/* Axes: the type; the flags; the fault. */
static inline bool run_exact(void *user, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = user;
    const fault f = (fault)at[2];
    if (n > MOST_ORDER || (n == 0 && f != NONE) || (is_openblas(row) && f >= IS_NAN))
        return false;
    problem p = draw(r, row, at[0] ? WEFT_F32 : WEFT_F64, n, (unsigned)at[1]);
    const size_t column = draw_column(&r->random, n);
    const scale small = draw_scale(&r->random, p.a.type, n);
    long double *const right = table_of(n, n), *const a = table_of(n, n);
    weft_status status;
    describe(r->ctx, &p, -1 - (int)f);
    fill_exact(&r->random, n, f, column, &small, right, a);
    long double *const l = factor(r, &p, a, &status);
    if (l) {
        check_message(r->ctx, &p, status, f, column);
        check_exact(&p, l, right, f, column, &small);
    }
    free(l);
    free(right);
    free(a);
    return true;
}

#endif
