/* SPDX-License-Identifier: Apache-2.0 */
/* Every rung of trsm's ladder, on every place: the residual of each element. */
#include "gemm/triangle_rig.h"
#include "gemm/trsm.h"

/* Is element (i, j) found before element (s, j) of its column, or (i, s) of its row on the right?
 */
static bool is_before(const triangle *p, size_t own, size_t s) {
    const bool a_is_upper = has(p, WEFT_UPPER_TRIANGLE) != has(p, WEFT_TRANSPOSE_A);
    return a_is_upper != has(p, WEFT_RIGHT) ? own > s : own < s;
}

/* The first unknown, in the order in which they are found, that cannot be a number; else none. */
static size_t first_spoiled(const triangle *p, const long double *a, const long double *b,
                            size_t line) {
    const size_t order = order_of(p);
    const bool right = has(p, WEFT_RIGHT);
    size_t first = SIZE_MAX;
    for (size_t s = 0; s < order; s++) {
        bool spoiled =
            !isfinite(right ? b[line * p->n + s] : b[s * p->n + line]) || a[s * order + s] == 0;
        for (size_t k = 0; k < order; k++)
            spoiled = spoiled || isnan(right ? a[k * order + s] : a[s * order + k]);
        if (spoiled && (first == SIZE_MAX || is_before(p, s, first)))
            first = s;
    }
    return first;
}

/* Inverses of blocks on the diagonal cost a few times as much, but for those that are corrected. */
static double slack_of(const triangle *p) {
    const bool inverts =
        !p->row || strcmp(p->row->name, "halves") == 0 || strcmp(p->row->name, "chain") == 0;
    return inverts && !p->bad ? 8 : 2;
}

/* |op(A) X - alpha B| is small where the unknowns are numbers; no other is one. */
static void compare_solution(const triangle *p, const long double *a, const long double *b,
                             const long double *x, const char *what) {
    const bool right = has(p, WEFT_RIGHT);
    const long double alpha = test_round(p->type, p->alpha);
    for (size_t line = 0; line < (right ? p->m : p->n); line++) {
        const size_t spoiled = first_spoiled(p, a, b, line);
        for (size_t own = 0; own < order_of(p); own++) {
            const size_t i = right ? line : own, j = right ? own : line, at = i * p->n + j;
            if (spoiled != SIZE_MAX && !is_before(p, own, spoiled)) {
                if (isfinite(x[at]))
                    fail_msg("%s: element (%zu, %zu) is %Lg, and should be no number", what, i, j,
                             x[at]);
                continue;
            }
            const product found = product_at(p, a, x, i, j);
            const long double wanted = alpha * b[at], off = fabsl(found.sum - wanted);
            if (!(off <= allowed(p, found.size + fabsl(wanted), slack_of(p))))
                fail_msg("%s: element (%zu, %zu) of op(A) X is off by %Lg, of %Lg", what, i, j, off,
                         found.size);
        }
    }
}

static const subject trsm = {"trsm", "weft_trsm", &wi_trsm_ladder, weft_trsm, compare_solution};

static void all_rungs(weft_context *ctx) {
    sweep(ctx, &trsm);
}

#ifdef WEFT_EMU
enum {
    SINGULAR_STEP = 5,
    BAD_STEP = 5,
    LONG_STEP = 13
};
#else
enum {
    SINGULAR_STEP = 1,
    BAD_STEP = 1,
    LONG_STEP = 1
};
#endif

enum {
    LONG = 390,
    BAD = 150
};

/* A zero on the diagonal is no error: what is found before it is right. */
static void singular(weft_context *ctx) {
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_trsm_ladder, rows);
    rig r = rig_open(ctx, ARRAYS, CAPACITY);
    r.subject = &trsm;
    for (size_t k = 0; k < count; k++)
        for (size_t stored = 0; stored < STORED; stored += SINGULAR_STEP) {
            triangle p = {.row = rows[k],
                          .type = (stored + k) % 2 ? WEFT_F32 : WEFT_F64,
                          .how = flags_of(stored) & ~(unsigned)WEFT_UNIT_DIAGONAL,
                          .m = flags_of(stored) & WEFT_RIGHT ? 3 : 70,
                          .n = flags_of(stored) & WEFT_RIGHT ? 70 : 3,
                          .ld = {71, 72},
                          .alpha = 1,
                          .device = ALL_ON_DEVICE};
            if (is_openblas(rows[k]) || (flags_of(stored) & WEFT_UNIT_DIAGONAL))
                continue;
            fill_a(&r.random, &p, r.source[A]);
            fill_b(&r.random, &p, r.source[B]);
            const size_t zero = test_below(&r.random, 70);
            test_store(p.type, r.source[A], place_of(&p, A, zero, zero), (test_value){.f = 0});
            run_filled(&r, &p);
        }
    rig_close(&r);
}

/* B = op(A) X for a random X, of a triangle that is filled. */
static void fill_product(rig *r, const triangle *p) {
    fill_b(&r->random, p, r->source[B]);
    long double *const a = widened_a(p, r->source[A]), *const x = widened_b(p, r->source[B]);
    for (size_t e = 0; e < p->m * p->n; e++)
        x[e] = test_unit(&r->random);
    for (size_t i = 0; i < p->m; i++)
        for (size_t j = 0; j < p->n; j++)
            test_store(p->type, r->source[B], place_of(p, B, i, j),
                       (test_value){.f = (double)product_at(p, a, x, i, j).sum});
    free(a);
    free(x);
}

/* Blocks on the diagonal are badly conditioned, and the unknowns are not large for all that. */
static void badly_conditioned(weft_context *ctx) {
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_trsm_ladder, rows);
    rig r = rig_open(ctx, ARRAYS, CAPACITY);
    r.subject = &trsm;
    for (size_t k = 0; k < count; k++)
        for (size_t stored = test_below(&r.random, BAD_STEP); stored < STORED; stored += BAD_STEP) {
            const bool right = flags_of(stored) & WEFT_RIGHT;
            const size_t nrhs = draw_count(&r.random, rows[k]);
            triangle p = {.row = rows[k],
                          .type = test_below(&r.random, 2) ? WEFT_F32 : WEFT_F64,
                          .how = flags_of(stored) & ~(unsigned)WEFT_UNIT_DIAGONAL,
                          .m = right ? nrhs : BAD,
                          .n = right ? BAD : nrhs,
                          .ld = {BAD, right ? (nrhs > BAD ? nrhs : BAD) : BAD},
                          .alpha = 1,
                          .bad = true,
                          .device = ALL_ON_DEVICE,
                          .one_unit = test_below(&r.random, 2),
                          .less_room = test_below(&r.random, 4) == 0};
            fill_a(&r.random, &p, r.source[A]);
            fill_product(&r, &p);
            run_filled(&r, &p);
        }
    rig_close(&r);
}

/* Solves [1; 1 d; 1 1 1] X = B for f64 X, and returns the largest part of B that is missing, in
 * roundings of the sum of magnitudes: the third unknown is the difference of what the second is
 * and its error, which is 1 / d times as large if both come from the inverse. */
static double small_residual(weft_context *ctx, test_random *random, double d) {
    enum {
        ORDER = 3,
        COUNT = 8
    };
    const double t[ORDER * ORDER] = {1, 1, 1, 0, d, 1, 0, 0, 1};
    double b[ORDER * COUNT], x[ORDER * COUNT], most = 0;
    for (size_t e = 0; e < ORDER * COUNT; e++)
        x[e] = b[e] = test_unit(random);
    assert_int_equal(weft_trsm(ctx, 0, WEFT_F64, ORDER, COUNT, 1, t, ORDER, x, ORDER), WEFT_OK);
    for (size_t e = 0; e < ORDER * COUNT; e++) {
        const size_t i = e % ORDER, column = e - i;
        long double sum = -(long double)b[e], size = fabs(b[e]);
        for (size_t k = 0; k < ORDER; k++) {
            sum += (long double)t[i + k * ORDER] * x[column + k];
            size += fabsl((long double)t[i + k * ORDER] * x[column + k]);
        }
        most = fmax(most, (double)(fabsl(sum) / size / test_roundoff(WEFT_F64)));
    }
    return most;
}

static void small_blocks(weft_context *ctx) {
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_trsm_ladder, rows);
    test_random random = test_random_at(3);
    for (size_t k = 0; k < count; k++)
        for (int t = 0; t < 20; t++) {
            const double d = ldexp(1 + test_unit(&random) / 2, -t / 2);
            test_use(ctx, "trsm", rows[k]);
            const double off = small_residual(ctx, &random, d);
            if (!(off <= 16))
                fail_msg("%s: d = %g: off by %g roundings", weft_used(ctx, "trsm"), d, off);
        }
    test_use(ctx, "trsm", NULL);
}

/* So many blocks of rows that the first wait for one another, and slots are filled again. */
static void long_chain(weft_context *ctx) {
    rig r = rig_open(ctx, ARRAYS, LONG * LONG * sizeof(double));
    r.subject = &trsm;
    for (size_t stored = 0; stored < STORED; stored += LONG_STEP) {
        const bool right = flags_of(stored) & WEFT_RIGHT;
        const size_t count = 1 + stored % 3;
        triangle p = {.type = stored / LONG_STEP % 2 ? WEFT_F64 : WEFT_F32,
                      .how = flags_of(stored),
                      .m = right ? count : LONG,
                      .n = right ? LONG : count,
                      .ld = {LONG, LONG},
                      .alpha = 0.5,
                      .device = ALL_ON_DEVICE};
        fill_a(&r.random, &p, r.source[A]);
        fill_b(&r.random, &p, r.source[B]);
        run_filled(&r, &p);
        if (ctx->kind == WI_CUDA)
            assert_string_equal(weft_used(ctx, "trsm"), "chain");
    }
    rig_close(&r);
}

static void test_threads(void **state) {
    (void)state;
    same_for_threads(&trsm);
}

static void arguments(weft_context *ctx) {
    refuse(ctx, &trsm);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(all_rungs),    TEST_ON_EACH_PLACE(singular),
        TEST_ON_EACH_PLACE(long_chain),   TEST_ON_EACH_PLACE(badly_conditioned),
        TEST_ON_EACH_PLACE(small_blocks), cmocka_unit_test(test_threads),
        TEST_ON_EACH_PLACE(arguments),
    };
    return cmocka_run_group_tests_name("trsm", tests, NULL, NULL);
}
