/* SPDX-License-Identifier: Apache-2.0 */
/* Exact residuals: each element against an oracle that shares nothing with the library; and
 * solutions, which must be those of arithmetic in 113 bits, rounded. */
#include "exact/exact_cascade.h"
#include "exact/exact_oracle.h"
#include "solve/solve_rig.h"
#include "solve/system.h"

enum {
    FAINT = -507, /* exponent of numbers whose products lose bits below all numbers */
    MOST_ROWS = 150,
    MOST_COLUMNS = 5,
#ifdef WEFT_EMU
    ORDER = 12
#else
    ORDER = 70
#endif
};

/* ---- residuals ---- */

/* A product on the host, and where its numbers are on the place. */
typedef struct residual_rig {
    weft_context *ctx;
    test_random random;
    wi_product p;
    double a[MOST_ROWS * MOST_ROWS]; /* as stored: i * down + j * across */
    double x[MOST_ROWS * MOST_COLUMNS], low[MOST_ROWS * MOST_COLUMNS];
    double c[MOST_ROWS * MOST_COLUMNS], r[MOST_ROWS * MOST_COLUMNS];
    float narrow[MOST_ROWS * MOST_ROWS];
} residual_rig;

static double entry(const residual_rig *rig, size_t i, size_t j) {
    const wi_grid *const g = &rig->p.g;
    const bool there = j >= wi_half_begin(g->half, i) && j < wi_half_end(g->half, i, g->columns);
    const bool mirrored = rig->p.symmetric && !there;
    return rig->a[mirrored ? j * g->down + i * g->across : i * g->down + j * g->across];
}

/* A number of any of 2^(2 spread) sizes; or near 2^FAINT. */
static double any_number(test_random *r, int spread) {
    if (spread == FAINT)
        return ldexp(test_unit(r), FAINT - (int)test_below(r, 4));
    return ldexp(test_unit(r), (int)test_below(r, (uint64_t)(2 * spread + 1)) - spread);
}

/* c = A x, rounded, so that all but rounding cancels. */
static void draw_right_hand_sides(residual_rig *rig) {
    const size_t n = rig->p.g.rows;
    for (size_t e = 0; e < n * rig->p.count; e++) {
        oracle o;
        oracle_clear(&o);
        for (size_t k = 0; k < n; k++)
            oracle_add_product(&o, entry(rig, e % n, k), rig->x[k + e / n * n]);
        rig->c[e] = oracle_round(&o, WEFT_F64);
    }
}

static void draw_product(residual_rig *rig, int spread) {
    test_random *const random = &rig->random;
    const wi_product *const p = &rig->p;
    const size_t n = p->g.rows;
    for (size_t k = 0; k < n * n; k++) {
        rig->a[k] = any_number(random, spread);
        rig->narrow[k] = (float)rig->a[k];
        rig->a[k] = p->g.type == WEFT_F32 ? (double)rig->narrow[k] : rig->a[k];
    }
    for (size_t k = 0; k < n * p->count; k++) {
        rig->x[k] = any_number(random, spread);
        rig->low[k] = rig->x[k] * ldexp(test_unit(random), -54);
    }
    draw_right_hand_sides(rig);
}

static void *on_place(weft_context *ctx, const void *from, size_t bytes) {
    void *p = NULL;
    assert_int_equal(weft_alloc(ctx, &p, bytes > 0 ? bytes : 1), WEFT_OK);
    assert_int_equal(weft_copy(ctx, p, from, bytes), WEFT_OK);
    return p;
}

static const wi_system_place *numbers_of(const weft_context *ctx) {
#ifdef WEFT_CUDA
    if (ctx->kind == WI_CUDA)
        return &wi_system_on_cuda;
#endif
    (void)ctx;
    return &wi_system_on_cpu;
}

/* Computes rig->r on the place. */
static void run_product(residual_rig *rig) {
    weft_context *const ctx = rig->ctx;
    wi_product p = rig->p;
    const size_t n = p.g.rows, block = n * p.count * sizeof(double);
    const bool is_f64 = p.g.type == WEFT_F64;
    const wi_system_place *const place = numbers_of(ctx);
    void *const a =
        on_place(ctx, is_f64 ? (const void *)rig->a : rig->narrow, n * n * test_size_of(p.g.type));
    double *const x = on_place(ctx, rig->x, block), *const low = on_place(ctx, rig->low, block);
    double *const c = on_place(ctx, rig->c, block), *const r = on_place(ctx, rig->c, block);
    double *const size = on_place(ctx, rig->c, block);
    p.g.p = a;
    p.x = x;
    p.low = p.low ? low : NULL;
    p.c = c;
    p.r = r;
    p.size = size;
    p.exact = true;
    assert_int_equal(weft_alloc(ctx, &p.room, place->room_bytes(&p) + 1), WEFT_OK);
    assert_int_equal(place->multiply(ctx, &p), WEFT_OK);
    assert_int_equal(weft_copy(ctx, rig->r, r, block), WEFT_OK);
    weft_free(ctx, a), weft_free(ctx, x), weft_free(ctx, low), weft_free(ctx, c);
    weft_free(ctx, r), weft_free(ctx, size), weft_free(ctx, p.room);
}

static void check_product(const residual_rig *rig, const char *what) {
    const wi_product *const p = &rig->p;
    const size_t n = p->g.rows;
    for (size_t e = 0; e < n * p->count; e++) {
        const size_t i = e % n, j = e / n;
        oracle o;
        oracle_clear(&o);
        oracle_add(&o, rig->c[e]);
        for (size_t k = 0; k < n; k++) {
            oracle_add_product(&o, -entry(rig, i, k), rig->x[k + j * n]);
            if (p->low)
                oracle_add_product(&o, -entry(rig, i, k), rig->low[k + j * n]);
        }
        const double right = oracle_round(&o, WEFT_F64);
        if (!(rig->r[e] == right))
            fail_msg("%s: element %zu of column %zu is %a, should be %a", what, i, j, rig->r[e],
                     right);
    }
}

static void residuals(weft_context *ctx) {
    static const size_t orders[] = {1, 2, 63, 64, 65, 130};
    static const wi_half halves[] = {WI_HALF_ALL, WI_HALF_LOWER, WI_HALF_UPPER};
    static const int spreads[] = {0, 30, 200, 500, FAINT};
    residual_rig *const rig = malloc(sizeof *rig);
    assert_non_null(rig);
    rig->ctx = ctx;
    rig->random = test_random_at(61);
    const size_t cases = ctx->kind == WI_CUDA ? 24 : 72;
    for (size_t k = 0; k < cases; k++) {
        const size_t n = orders[k % (ctx->kind == WI_CUDA ? 3 : 6)];
        const bool by_rows = k / 2 % 2;
        char what[80];
        rig->p = (wi_product){.g = {.type = k % 4 == 3 ? WEFT_F32 : WEFT_F64,
                                    .half = halves[k % 3],
                                    .rows = n,
                                    .columns = n,
                                    .down = by_rows ? n : 1,
                                    .across = by_rows ? 1 : n},
                              .symmetric = k % 3 != 0,
                              .count = 1 + k % MOST_COLUMNS,
                              .low = k % 5 < 3 ? rig->low : NULL};
        const int spread = spreads[test_below(&rig->random, 5)];
        const bool too_wide = k % 4 == 3 && (spread > 60 || spread == FAINT);
        draw_product(rig, too_wide ? 60 : spread);
        run_product(rig);
        snprintf(what, sizeof what, "case %zu, order %zu, spread %d", k, n, spread);
        check_product(rig, what);
    }
    free(rig);
}

/* ---- of parts of a matrix ---- */

/* Some columns of rig->p, for one right-hand side: what they add to the cascades of c, and to the
 * words of all elements. */
static void add_part(residual_rig *rig, size_t first, size_t columns, wi_deep_cascade *sums,
                     int64_t *words) {
    weft_context *const ctx = rig->ctx;
    const wi_system_place *const place = numbers_of(ctx);
    const size_t n = rig->p.g.rows, all = n * WI_EXACT_WORDS;
    wi_deep_cascade *const part = calloc(n, sizeof *part);
    uint64_t *const each = calloc(n, sizeof *each);
    int64_t *const more = calloc(all, sizeof *more);
    assert_true(part && each && more);
    for (size_t i = 0; i < n; i++)
        each[i] = i;
    wi_product p = rig->p;
    p.g.columns = columns;
    double *const a = on_place(ctx, rig->a, n * n * sizeof(double));
    double *const x = on_place(ctx, rig->x + first, columns * sizeof(double));
    double *const low = on_place(ctx, rig->low + first, columns * sizeof(double));
    double *const r = on_place(ctx, rig->r, n * sizeof(double));
    double *const size = on_place(ctx, rig->r, n * sizeof(double));
    p.g.p = a + first * p.g.across;
    p.x = x, p.low = low, p.r = r, p.size = size;
    p.exact = true;
    p.sums = on_place(ctx, part, n * sizeof *part);
    assert_int_equal(weft_alloc(ctx, &p.room, place->room_bytes(&p) + 1), WEFT_OK);
    const wi_wide_args wide = {&p, n, on_place(ctx, each, n * sizeof *each),
                               on_place(ctx, more, all * sizeof *more)};
    assert_int_equal(place->multiply(ctx, &p), WEFT_OK);
    assert_int_equal(place->wide(ctx, &wide), WEFT_OK);
    assert_int_equal(weft_copy(ctx, part, p.sums, n * sizeof *part), WEFT_OK);
    assert_int_equal(weft_copy(ctx, more, wide.words, all * sizeof *more), WEFT_OK);
    for (size_t i = 0; i < n; i++)
        wi_deep_merge(&sums[i], &part[i]);
    for (size_t w = 0; w < all; w++)
        words[w] += more[w];
    void *const taken[] = {
        a, x, low, r, size, p.sums, p.room, (void *)(uintptr_t)wide.which, wide.words};
    for (size_t k = 0; k < sizeof taken / sizeof *taken; k++)
        weft_free(ctx, taken[k]);
    free(part), free(each), free(more);
}

/* In every fourth row the first and the last column cancel, and are so large that three sums keep
 * nothing of the others. */
static void hide_rows(residual_rig *rig) {
    const wi_grid *const g = &rig->p.g;
    const size_t last = g->columns - 1;
    rig->x[last] = rig->x[0];
    rig->low[last] = rig->low[0];
    for (size_t i = 0; i < g->rows; i += 4) {
        rig->a[i * g->down] = 0x1p+700;
        rig->a[i * g->down + last * g->across] = -0x1p+700;
    }
    draw_right_hand_sides(rig);
}

/* Cascades of parts, joined, tell most elements, and words all of them; returns how many the
 * cascades do not tell. */
static size_t check_parts(residual_rig *rig, size_t parts, const char *what) {
    const size_t n = rig->p.g.rows;
    wi_deep_cascade sums[MOST_ROWS];
    int64_t *const words = calloc(n * WI_EXACT_WORDS, sizeof *words);
    double by_words[MOST_ROWS];
    size_t untold = 0;
    assert_non_null(words);
    for (size_t i = 0; i < n; i++)
        sums[i] = (wi_deep_cascade){{rig->c[i], 0, 0}, 0};
    for (size_t k = 0; k < parts; k++) {
        const size_t first = n * k / parts;
        add_part(rig, first, n * (k + 1) / parts - first, sums, words);
    }
    for (size_t i = 0; i < n; i++) {
        int64_t *const word = words + i * WI_EXACT_WORDS;
        wi_exact_add_f64(word, rig->c[i]);
        wi_exact_carry(word);
        const uint64_t whole = wi_exact_round(word, WEFT_F64, false);
        uint64_t bits;
        const bool told = wi_deep_round(&sums[i], WEFT_F64, &bits);
        memcpy(&by_words[i], &whole, sizeof whole);
        memcpy(&rig->r[i], told ? &bits : &whole, sizeof bits);
        untold += !told;
    }
    check_product(rig, what);
    memcpy(rig->r, by_words, n * sizeof *by_words);
    check_product(rig, "by words");
    free(words);
    return untold;
}

/* What ranks do with their columns. */
static void joined_parts(weft_context *ctx) {
    residual_rig *const rig = calloc(1, sizeof *rig);
    assert_non_null(rig);
    const size_t n = ctx->kind == WI_CUDA ? 21 : 90, cases = ctx->kind == WI_CUDA ? 6 : 24;
    size_t untold = 0;
    rig->ctx = ctx;
    rig->random = test_random_at(64);
    for (size_t k = 0; k < cases; k++) {
        const size_t parts = 1 + k % 4;
        char what[80];
        rig->p = (wi_product){
            .g = {WEFT_F64, WI_HALF_ALL, n, n, NULL, k % 2 ? n : 1, k % 2 ? 1 : n, NULL, NULL},
            .count = 1,
            .low = rig->low};
        draw_product(rig, 10 * (int)(k % 3));
        hide_rows(rig);
        snprintf(what, sizeof what, "case %zu, %zu parts", k, parts);
        untold += check_parts(rig, parts, what);
    }
    if (untold == 0 || untold > n * cases / 2)
        fail_msg("cascades do not tell %zu of %zu elements", untold, n * cases);
    free(rig);
}

/* ---- ties ---- */

/* Rows that are half way between two numbers, but for what three sums cannot hold. */
static void ties(weft_context *ctx) {
    residual_rig *const rig = calloc(1, sizeof *rig);
    assert_non_null(rig);
    rig->ctx = ctx;
    const size_t n = 5;
    rig->p = (wi_product){.g = {WEFT_F64, WI_HALF_ALL, n, n, NULL, n, 1, NULL, NULL}, .count = 1};
    for (size_t i = 0; i < n; i++) {
        const double last = i == 0 ? 0x1p-400 : i == 1 ? -0x1p-400 : 0;
        const double row[] = {i == 2 ? 1 + 0x1p-52 : 1, 0x1p-53, 0x1p-120, last, -0x1p-120};
        memcpy(rig->a + i * n, row, sizeof row);
        rig->x[i] = 1;
    }
    run_product(rig);
    check_product(rig, "ties");
    free(rig);
}

/* ---- solutions ---- */

/* A system whose solution has elements of sizes from 1 to 1 / ratio. */
static void fill(test_random *r, linear_system *s, double ratio) {
    const size_t n = s->n;
    (s->spd ? fill_spd : fill_general)(r, s);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < s->rhs; j++) {
            quad sum = 0;
            for (size_t k = 0; k < n; k++)
                sum += (quad)s->a[i * n + k] * pow(ratio, -(double)k / (double)n);
            s->b[i * s->rhs + j] = (double)sum;
        }
    round_system(s);
}

/* Is x nearest to `right`, but for a millionth of its last place? */
static bool is_rounded(weft_type type, quad right, double x) {
    const double place = ldexp(2 * unit_of(type), x != 0 ? ilogb(x) : -1000);
    return quad_size((quad)x - right) <= (0.5 + 0x1p-20) * place;
}

/* Compares with arithmetic in 113 bits; returns how many elements are wrong. */
static size_t count_wrong(const linear_system *s) {
    size_t wrong = 0;
    quad *const truth = malloc(s->n * s->rhs * sizeof *truth);
    assert_non_null(truth);
    assert_true(eliminate(s, NULL, truth));
    for (size_t k = 0; k < s->n * s->rhs; k++)
        wrong += !is_rounded(s->type, truth[k], s->x[k]);
    free(truth);
    return wrong;
}

static void solutions(weft_context *ctx) {
    static const double ratios[] = {1, 1e3, 1e6};
    test_random random = test_random_at(62);
    for (size_t k = 0; k < 12; k++) {
        const weft_precision precision = k % 4 == 1 ? WEFT_PRECISION_MIXED : WEFT_PRECISION_FULL;
        const weft_solve_options o = {.size = sizeof o, .precision = precision, .exact = 1};
        weft_report report = {.size = sizeof report};
        linear_system s = system_of(k % 4 == 3 ? WEFT_F32 : WEFT_F64, ORDER - k, 1 + k % 3);
        s.spd = k % 4 == 2;
        s.how = k % 3 == 1 ? WEFT_ROW_MAJOR : 0;
        s.device = k % 2;
        fill(&random, &s, ratios[k % 3]);
        const weft_status status = solve_system(ctx, &s, &o, &report);
        if (status != WEFT_OK)
            fail_msg("case %zu: %s", k, weft_message(ctx));
        const size_t wrong = count_wrong(&s);
        if (wrong > 0 || report.stalled > 0 || !report.exact)
            fail_msg("case %zu: %zu elements are not rounded, %zu stalled, exact %d", k, wrong,
                     report.stalled, report.exact);
        if (!(report.backward_error <= 2 * unit_of(s.type)) ||
            !(report.forward_estimate <= 2 * unit_of(s.type)))
            fail_msg("case %zu: backward error %g, forward %g", k, report.backward_error,
                     report.forward_estimate);
        free_system(&s);
    }
}

/* Without the option some elements are off by their last place: the test above would see it. */
static void without(weft_context *ctx) {
    test_random random = test_random_at(63);
    size_t wrong = 0;
    if (ctx->kind != WI_CPU) /* systems are too small there */
        return;
    for (int k = 0; k < 60 && wrong == 0; k++) {
        weft_report report = {.size = sizeof report};
        linear_system s = system_of(WEFT_F64, ORDER, 3);
        fill(&random, &s, 1e12);
        assert_int_equal(solve_system(ctx, &s, NULL, &report), WEFT_OK);
        assert_int_equal(report.exact, 0);
        wrong += count_wrong(&s);
        free_system(&s);
    }
    assert_true(wrong > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(residuals), TEST_ON_EACH_PLACE(joined_parts), TEST_ON_EACH_PLACE(ties),
        TEST_ON_EACH_PLACE(solutions), TEST_ON_EACH_PLACE(without),
    };
    return cmocka_run_group_tests_name("exact residuals", tests, NULL, NULL);
}
