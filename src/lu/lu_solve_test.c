/* SPDX-License-Identifier: Apache-2.0 */
/* What is solved with the factors of lu, on every place: systems of both kinds and inverses, by
 * LAPACK's ratios; and what else is read or written. */
#include "lu/lu_rig.h"

enum {
    LU,
    PIVOT,
    B,
    ARRAYS,
    CAPACITY = 1 << 18,
    ALL_ON_DEVICE = 7,
    MOST_COLUMNS = 70
};

static const size_t sizes[] = {0, 1, 2, 3, 7, 8, 9, 16, 31, 33, 63, 64, 65, 97, 128, 130};
static const size_t columns[] = {0, 1, 2, 3, 8, 9, 33, MOST_COLUMNS};
static const kind usual[] = {DIAGONAL,          RANDOM,          UPPER,          LOWER,
                             BADLY_CONDITIONED, NEARLY_SINGULAR, NEAR_UNDERFLOW, NEAR_OVERFLOW};

enum {
    USUAL = sizeof usual / sizeof *usual,
#ifdef WEFT_EMU
    MUST = 4
#else
    MUST = 7
#endif
};

typedef struct problem {
    matrix a, b;
    bool transposed;
    unsigned device; /* bit k: array k is device memory, if the place has any */
    char what[256];
} problem;

static unsigned how_of(const problem *p) {
    return (p->a.by_rows ? WEFT_ROW_MAJOR : 0) | (p->transposed ? WEFT_TRANSPOSE_A : 0);
}

/* Factors what LU's source holds, in LU's buffer. */
static void factor(rig *r, const problem *p) {
    const size_t n = p->a.rows, width = test_size_of(p->a.type);
    test_buffer *const a = rig_buffer(r, p->device, LU), *const b = rig_buffer(r, p->device, PIVOT);
    test_buffer_load(a, r->source[LU], bytes_of(&p->a), p->a.offset * width);
    test_buffer_poison(b, n * sizeof(int64_t), p->a.offset * sizeof(int64_t));
    const weft_status status = weft_lu_factor(r->ctx, p->a.by_rows ? WEFT_ROW_MAJOR : 0, p->a.type,
                                              n, n, a->p, p->a.ld, (int64_t *)(void *)b->p);
    if (status != WEFT_OK)
        fail_msg("%s: %s", p->what, weft_message(r->ctx));
}

static long double op_at(const problem *p, const long double *a, size_t i, size_t k) {
    return p->transposed ? a[k * p->a.rows + i] : a[i * p->a.rows + k];
}

static problem draw(rig *r, weft_type type, size_t n, size_t nrhs, bool by_rows) {
    problem p = {.a = {.type = type, .by_rows = by_rows, .rows = n, .columns = n},
                 .b = {.type = type, .by_rows = by_rows, .rows = n, .columns = nrhs},
                 .device = ALL_ON_DEVICE};
    choose_layout(&r->random, &p.a);
    choose_layout(&r->random, &p.b);
    if (test_below(&r->random, 4) == 0)
        p.device = (unsigned)test_below(&r->random, ALL_ON_DEVICE);
    return p;
}

static void fill(rig *r, const problem *p, kind k, unsigned char *bytes) {
    long double *const a = table_of(p->a.rows, p->a.rows);
    fill_kind(&r->random, k, p->a.type, p->a.rows, p->a.rows, a);
    for (size_t i = 0; i < p->a.rows && (k == DIAGONAL || k == UPPER || k == LOWER); i++)
        a[i * p->a.rows + i] += a[i * p->a.rows + i] < 0 ? -1 : 1;
    stored(&p->a, a, bytes);
    free(a);
}

/* ---- systems ---- */

/* B = op(A) X for a random X, as B's source. */
static void make_b(rig *r, const problem *p, const long double *a) {
    const size_t n = p->a.rows, nrhs = p->b.columns;
    long double *const x = table_of(n, nrhs), *const b = table_of(n, nrhs);
    for (size_t e = 0; e < n * nrhs; e++)
        x[e] = test_unit(&r->random);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < nrhs; j++)
                b[i * nrhs + j] += op_at(p, a, i, k) * x[k * nrhs + j];
    stored(&p->b, b, r->source[B]);
    free(x);
    free(b);
}

/* |B - op(A) X| / (|A| |X| eps), column by column. */
static void check_solution(const problem *p, const long double *a, const long double *b,
                           const long double *x) {
    const size_t n = p->a.rows, nrhs = p->b.columns;
    long double *const op = table_of(n, n);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            op[i * n + k] = op_at(p, a, i, k);
    const long double norm = norm_of(n, n, op), eps = 2 * test_roundoff(p->a.type);
    for (size_t j = 0; j < nrhs; j++) {
        long double rest = 0, size = 0;
        for (size_t i = 0; i < n; i++) {
            long double sum = b[i * nrhs + j];
            for (size_t k = 0; k < n; k++)
                sum -= op[i * n + k] * x[k * nrhs + j];
            rest += fabsl(sum);
            size += fabsl(x[i * nrhs + j]);
        }
        if (!(rest <= RATIO * norm * size * eps))
            fail_msg("%s: the ratio of column %zu is %Lg", p->what, j, rest / (norm * size * eps));
    }
    free(op);
}

static void run_system(rig *r, problem *p, kind k) {
    const size_t n = p->a.rows, nrhs = p->b.columns, width = test_size_of(p->a.type);
    test_buffer *const b = rig_buffer(r, p->device, B);
    snprintf(p->what, sizeof p->what,
             "weft_lu_solve of %s on %s, how %#x, n %zu, nrhs %zu, ld %zu %zu, kind %d, device %#x",
             test_type_name(p->a.type), weft_place(r->ctx), how_of(p), n, nrhs, p->a.ld, p->b.ld, k,
             p->device);
    fill(r, p, k, r->source[LU]);
    long double *const a = widened(&p->a, r->source[LU]);
    make_b(r, p, a);
    factor(r, p);
    test_buffer_load(b, r->source[B], bytes_of(&p->b), p->b.offset * width);
    if (weft_lu_solve(r->ctx, how_of(p), p->a.type, n, nrhs, rig_buffer(r, p->device, LU)->p,
                      p->a.ld, (const int64_t *)(const void *)rig_buffer(r, p->device, PIVOT)->p,
                      b->p, p->b.ld) != WEFT_OK)
        fail_msg("%s: %s", p->what, weft_message(r->ctx));
    const unsigned char *const after = test_buffer_read(b, p->what);
    check_gaps(&p->b, after, p->what);
    long double *const before = widened(&p->b, r->source[B]), *const x = widened(&p->b, after);
    check_solution(p, a, before, x);
    free(a);
    free(before);
    free(x);
}

/* Axes: the type; the flags; the kind. */
static bool run_drawn(void *user, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = user;
    (void)row;
    const size_t nrhs = columns[test_below(&r->random, sizeof columns / sizeof *columns)];
    problem p = draw(r, at[0] ? WEFT_F32 : WEFT_F64, n, nrhs, at[1] & 1);
    p.transposed = at[1] & 2;
    run_system(r, &p, usual[at[2]]);
    return true;
}

static void systems(weft_context *ctx) {
    rig r = rig_open(ctx, ARRAYS, CAPACITY);
    const test_sweep all = {.sizes = sizes,
                            .size_count = sizeof sizes / sizeof *sizes,
                            .extent = {2, 4, USUAL},
                            .must = MUST,
                            .one_in = 4,
                            .share = 40,
                            .run = run_drawn};
    test_sweep_run(ctx, &r.random, &all, &r);
    rig_close(&r);
}

/* ---- inverses ---- */

/* |I - A A^-1| / (|A| |A^-1| n eps). */
static void check_inverse(const problem *p, const long double *a, const long double *x) {
    const size_t n = p->a.rows;
    const long double eps = 2 * test_roundoff(p->a.type);
    const long double allowed = RATIO * norm_of(n, n, a) * norm_of(n, n, x) * (long double)n * eps;
    long double *const rest = table_of(n, n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            rest[i * n + j] = i == j;
            for (size_t k = 0; k < n; k++)
                rest[i * n + j] -= a[i * n + k] * x[k * n + j];
        }
    if (!(norm_of(n, n, rest) <= allowed))
        fail_msg("%s: the ratio is %Lg", p->what, RATIO * norm_of(n, n, rest) / allowed);
    free(rest);
}

/* Axes: the type; how it is stored; the kind. */
static bool run_inverse(void *user, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = user;
    (void)row;
    const kind k = usual[at[2]];
    if (k == NEAR_UNDERFLOW || k == NEAR_OVERFLOW)
        return false; /* the inverse is on the other side of the range */
    problem p = draw(r, at[0] ? WEFT_F32 : WEFT_F64, n, 0, at[1]);
    test_buffer *const lu = rig_buffer(r, p.device, LU);
    snprintf(p.what, sizeof p.what, "weft_lu_inverse of %s on %s, how %#x, n %zu, ld %zu, kind %d",
             test_type_name(p.a.type), weft_place(r->ctx), how_of(&p), n, p.a.ld, k);
    fill(r, &p, k, r->source[LU]);
    factor(r, &p);
    if (weft_lu_inverse(r->ctx, how_of(&p), p.a.type, n, lu->p, p.a.ld,
                        (const int64_t *)(const void *)rig_buffer(r, p.device, PIVOT)->p) !=
        WEFT_OK)
        fail_msg("%s: %s", p.what, weft_message(r->ctx));
    const unsigned char *const after = test_buffer_read(lu, p.what);
    check_gaps(&p.a, after, p.what);
    long double *const a = widened(&p.a, r->source[LU]), *const x = widened(&p.a, after);
    check_inverse(&p, a, x);
    free(a);
    free(x);
    return true;
}

static void inverses(weft_context *ctx) {
    rig r = rig_open(ctx, ARRAYS, CAPACITY);
    const test_sweep all = {.sizes = sizes,
                            .size_count = sizeof sizes / sizeof *sizes,
                            .extent = {2, 2, USUAL},
                            .must = MUST,
                            .one_in = 4,
                            .share = 20,
                            .run = run_inverse};
    test_sweep_run(ctx, &r.random, &all, &r);
    rig_close(&r);
}

/* ---- what is refused ---- */

static void singular(weft_context *ctx) {
    static const int64_t pivot[3] = {0, 1, 2};
    const double before[9] = {2, 0, 0, 5, 0, 0, 5, 5, 3};
    double lu[9];
    for (unsigned how = 0; how <= WEFT_ROW_MAJOR; how++) {
        memcpy(lu, before, sizeof lu);
        const weft_status status = weft_lu_inverse(ctx, how, WEFT_F64, 3, lu, 3, pivot);
        test_refused(ctx, status, WEFT_ESINGULAR, "weft_lu_inverse", NULL);
        assert_non_null(strstr(weft_message(ctx), "column 1 ("));
        assert_memory_equal(lu, before, sizeof lu);
    }
}

static void bad_pivots(weft_context *ctx) {
    static const int64_t bad[][3] = {{-1, 1, 2}, {0, 0, 2}, {0, 3, 2}, {0, 1, INT64_MAX}};
    const double before[3] = {1, 2, 3};
    double lu[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, b[3];
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        memcpy(b, before, sizeof b);
        test_refused(ctx, weft_lu_solve(ctx, 0, WEFT_F64, 3, 1, lu, 3, bad[k], b, 3), WEFT_EARG,
                     "weft_lu_solve", "pivot");
        test_refused(ctx, weft_lu_inverse(ctx, 0, WEFT_F64, 3, lu, 3, bad[k]), WEFT_EARG,
                     "weft_lu_inverse", "pivot");
        assert_memory_equal(b, before, sizeof b);
    }
}

/* What weft_lu_factor has called singular gives infinity and NaN, and no error. */
static void division_by_zero(weft_context *ctx) {
    static const int64_t pivot[2] = {0, 1};
    double lu[4] = {1, 0, 0, 0}, b[2] = {1, 1};
    assert_int_equal(weft_lu_solve(ctx, 0, WEFT_F64, 2, 1, lu, 2, pivot, b, 2), WEFT_OK);
    assert_false(isfinite(b[1]));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(systems),          TEST_ON_EACH_PLACE(inverses),
        TEST_ON_EACH_PLACE(singular),         TEST_ON_EACH_PLACE(bad_pivots),
        TEST_ON_EACH_PLACE(division_by_zero),
    };
    return cmocka_run_group_tests_name("lu_solve", tests, NULL, NULL);
}
