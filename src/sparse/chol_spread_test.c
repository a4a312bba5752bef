/* SPDX-License-Identifier: Apache-2.0 */
/* Factors that several GPUs share, on emu (WEFT_EMU_DEVICES): the bits of one GPU in solutions,
 * directions and reports, however subtrees are dealt. And the deal itself, on any place. */
#include "gpu_name.h"
#include "limits.h"
#include "sparse/chol_pair.h"

enum {
    SYSTEMS = 24,
    LARGEST = 40,
    MOST_RHS = 17
};

/* ---- who has what ---- */

/* Does a supernode of the top have a child that is not of the first GPU? */
static bool is_above_others(const wi_symbolic *symbolic, const wi_spread *spread, int64_t top) {
    bool found = false;
    for (int64_t c = wi_last_child(symbolic, top); c >= 0; c = wi_child_before(symbolic, top, c))
        found = found || spread->owner[c] != 0;
    return found;
}

/* Every subtree is of one GPU, the first GPU's top is above those of several, and runs are what
 * owners say. */
static void check_spread(const wi_symbolic *symbolic, const wi_spread *spread) {
    int64_t column = 0, s = 0;
    for (int64_t k = 0; k < symbolic->supernodes; k++) {
        const int64_t up = symbolic->super_parent[k];
        assert_true(spread->owner[k] >= WI_TOGETHER && spread->owner[k] < spread->gpus);
        if (up >= 0 && spread->owner[up] >= 0)
            assert_int_equal(spread->owner[k], spread->owner[up]);
        if (spread->owner[k] == WI_TOP)
            assert_true(is_above_others(symbolic, spread, k));
    }
    for (int64_t k = 0; k < spread->runs; k++) {
        assert_int_equal(spread->run[k].begin, column);
        column = spread->run[k].end;
        for (; s < symbolic->supernodes && symbolic->first[s] < column; s++)
            assert_int_equal(spread->owner[s] < 0 ? WI_TOP : spread->owner[s], spread->run[k].gpu);
    }
    assert_int_equal(column, symbolic->n);
}

static void shares(weft_context *ctx) {
    static const struct {
        const char *generator;
        size_t n;
        int gpus;
        double most;
    } cases[] = {{"laplace2d", 60, 2, 0.7},  {"laplace2d", 60, 4, 0.5}, {"laplace3d", 16, 2, 0.85},
                 {"laplace3d", 16, 8, 0.75}, {"random", 300, 3, 1},     {"laplace2d", 2, 2, 1}};
    if (ctx->kind != WI_CPU)
        return;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        weft_sparse *const matrix = test_generated(ctx, cases[k].generator, cases[k].n);
        weft_chol *const plan = test_plan(ctx, matrix, "amd", NULL);
        wi_spread spread;
        test_ok(ctx,
                wi_spread_make(ctx, "test", &plan->symbolic, cases[k].gpus, false, 0, &spread));
        if (!(spread.share <= cases[k].most))
            fail_msg("%s %zu on %d GPUs: %g of the time", cases[k].generator, cases[k].n,
                     cases[k].gpus, spread.share);
        assert_true(cases[k].most == 1 || (spread.gpus > 1 && spread.gpus <= cases[k].gpus));
        const double alone = spread.share;
        if (spread.gpus > 1)
            check_spread(&plan->symbolic, &spread);
        wi_spread_free(&spread);
        test_ok(ctx, wi_spread_make(ctx, "test", &plan->symbolic, cases[k].gpus, true, 0, &spread));
        assert_true(spread.share <= alone);
        if (spread.gpus > 1)
            check_spread(&plan->symbolic, &spread);
        wi_spread_free(&spread);
        test_ok(ctx,
                wi_spread_make(ctx, "test", &plan->symbolic, cases[k].gpus, true, 1e30, &spread));
        assert_int_equal(spread.gpus, 1);
        weft_chol_destroy(plan);
        weft_sparse_destroy(matrix);
    }
}

#ifdef WEFT_EMU

/* The plans of a pair: for one GPU, and for all. */
enum {
    ALONE,
    SHARED
};

/* Every part for the same right-hand sides. */
static void compare_solutions(const chol_pair *p, size_t rhs, test_random *r) {
    const weft_chol *const plan = p->plan[SHARED];
    const bool is_plain = !plan->narrow && plan->kind == WEFT_CHOL_DEFINITE;
    for (int part = WEFT_CHOL_A; part <= (is_plain ? WEFT_CHOL_LT : WEFT_CHOL_A); part++) {
        const weft_chol_solve_options options = {.size = sizeof options,
                                                 .part = (weft_chol_part)part,
                                                 .refine = part == WEFT_CHOL_A ? 2 : 0};
        chol_pair_solve(p, rhs, &options, r);
    }
}

static void compare(const chol_pair *p, size_t rhs, test_random *r) {
    const weft_chol_report before = chol_pair_report(p, SHARED);
    chol_pair_factor(p);
    compare_solutions(p, rhs, r);
    const weft_chol_report one = chol_pair_report(p, ALONE), all = chol_pair_report(p, SHARED);
    assert_true(one.logdet == all.logdet && one.backward_error == all.backward_error);
    assert_true(one.negative == all.negative && one.pairs == all.pairs);
    assert_int_equal(one.perturbed, all.perturbed);
    if (rhs == 1)
        assert_int_equal(before.device_bytes_needed, all.device_bytes_needed);
    assert_true(all.bytes_peak >= all.bytes_needed);
}

/* Small systems of each kind and precision, and meshes, with all rungs. */
static void systems(weft_context *one, weft_context *all) {
    static const int smalls[] = {WI_FRONT_SMALL, WI_FRONT_TINY, 8, 0};
    const wi_row *rows[TEST_MAX_ROWS];
    test_random r = test_random_at(1);
    const size_t count = test_rows(all, &wi_sparse_ladder, rows), times = test_times(SYSTEMS);
    size_t shared = 0;
    unsigned kinds = 0; /* a bit for each that was shared */
    for (size_t k = 0; k < times; k++) {
        const weft_chol_options options = {.kind = (weft_chol_kind)(k % 3),
                                           .precision = k % 5 == 4 ? WEFT_PRECISION_MIXED
                                                                   : WEFT_PRECISION_AUTO};
        const bool plain = k % 3 == 0 && k % 5 != 4;
        const wi_row *const row = plain ? rows[k % count] : NULL;
        chol_pair p = chol_pair_open(one, all,
                                     k % 2 ? test_generated(all, "laplace2d", 5 + test_below(&r, 9))
                                           : test_system_draw(all, &r, LARGEST, true),
                                     options, smalls[test_below(&r, 4)]);
        test_use(one, "sparse", row);
        test_use(all, "sparse", row);
        compare(&p, 1, &r);
        compare(&p, 1 + test_below(&r, MOST_RHS), &r);
        shared += wi_chol_gpus(p.plan[SHARED]) > 1;
        kinds |= (unsigned)(wi_chol_gpus(p.plan[SHARED]) > 1) << options.kind;
        chol_pair_close(&p);
    }
    print_message("%zu of %zu by several GPUs\n", shared, times);
    assert_true(shared > 0 && (kinds == 7 || times < 12));
}

/* With L of each GPU in host memory. */
static void streamed(weft_context *one, weft_context *all) {
    test_random r = test_random_at(2);
    chol_pair p = chol_pair_open(one, all, test_generated(all, "laplace2d", 20),
                                 (weft_chol_options){.kind = 0}, 16);
    weft_status status = WEFT_ENOMEM;
    test_ok(one, weft_chol_reserve(one, p.plan[ALONE], 1));
    for (size_t k = 1; k < 32 && status == WEFT_ENOMEM; k++) { /* the least memory that will do */
        wi_chol_most_bytes = chol_pair_report(&p, ALONE).device_bytes_needed / 32 * k;
        status = weft_chol_reserve(all, p.plan[SHARED], 1);
    }
    wi_chol_most_bytes = 0;
    test_ok(all, status);
    assert_true(chol_pair_report(&p, SHARED).host_factor_bytes > 0);
    compare(&p, 2, &r);
    chol_pair_close(&p);
}

/* The same column fails, with the same proof. */
static void failures(weft_context *one, weft_context *all) {
    test_random r = test_random_at(3);
    const size_t times = test_times(SYSTEMS);
    for (size_t k = 0; k < times; k++) {
        const weft_chol_options options = {
            .kind = k % 3 ? WEFT_CHOL_DEFINITE : WEFT_CHOL_INDEFINITE, .perturbation = 0};
        chol_pair p =
            chol_pair_open(one, all, test_system_draw(all, &r, LARGEST, k % 3 == 0), options, 8);
        chol_pair_fail(&p);
        chol_pair_close(&p);
    }
}

/* ---- fronts that all GPUs factor ---- */

/* Dense parts, each connected to some rows of the part above it, which are `rows` from `at` on. */
enum {
    PARTS = 8
};
typedef struct dense_part {
    size_t first, columns, above, at, rows;
} dense_part;
typedef struct dense_tree {
    dense_part part[PARTS];
    size_t n, wrong; /* a column whose diagonal is negative, or n */
    bool signs;      /* every third is */
} dense_tree;

/* Two leaves below a large part, two below a small one, a leaf, and above all the largest part. */
static dense_tree draw_tree(test_random *r) {
    static const size_t above[PARTS] = {2, 2, 7, 5, 5, 7, 7, PARTS};
    dense_tree t = {.n = 0};
    for (size_t k = 0; k < PARTS; k++) {
        dense_part *const p = &t.part[k];
        *p = (dense_part){t.n, 2 + test_below(r, 9), above[k], test_below(r, 9), 3};
        if (k == 2 || k == 5)
            *p = (dense_part){t.n, k == 5 ? 40 : 200 + test_below(r, 200), 7, test_below(r, 60),
                              20 + test_below(r, 200)};
        if (k == 7)
            p->columns = 264 + test_below(r, 150);
        t.n += p->columns;
    }
    t.wrong = t.n;
    return t;
}

static size_t tree_column(const void *user, size_t j, int64_t *row, double *value) {
    const dense_tree *const t = user;
    size_t k = 0, count = 0;
    while (j >= t->part[k].first + t->part[k].columns)
        k++;
    const dense_part *const p = &t->part[k];
    for (size_t i = j; i < p->first + p->columns; i++)
        row[count++] = (int64_t)i;
    for (size_t i = 0; p->above < PARTS && i < p->rows; i++)
        row[count++] = (int64_t)(t->part[p->above].first + p->at + i);
    for (size_t e = 0; e < count; e++)
        value[e] = 1 / (double)(1 + (3 * (size_t)row[e] + j) % 11);
    value[0] = j == t->wrong || (t->signs && j % 3 == 0) ? -(double)t->n : (double)t->n;
    return count;
}

static chol_pair open_tree(weft_context *one, weft_context *all, const dense_tree *t,
                           weft_chol_options options) {
    const wi_made_columns columns = {t->n, t->n, tree_column, t};
    weft_sparse *matrix;
    options.ordering = "natural";
    test_ok(all, wi_generate_columns(all, "test", &columns, &matrix));
    return chol_pair_open(one, all, matrix, options, WI_FRONT_SMALL);
}

static size_t count_together(const weft_chol *plan) {
    const wi_schedule *const s = &plan->device->schedule;
    size_t count = 0;
    for (int64_t k = 0; k < s->levels; k++)
        count += s->level[k].together && s->front[s->level[k].first].height > 256;
    return count;
}

static void together(weft_context *one, weft_context *all) {
    test_random r = test_random_at(5);
    const size_t times = test_times(6);
    size_t count = 0;
    for (size_t k = 0; k < times; k++) {
        const weft_chol_options options = {
            .kind = k % 3 == 1 ? WEFT_CHOL_QUASIDEFINITE : WEFT_CHOL_DEFINITE,
            .precision = k % 3 == 2 ? WEFT_PRECISION_MIXED : WEFT_PRECISION_AUTO};
        dense_tree t = draw_tree(&r);
#    ifdef WEFT_EMU
        wi_chol_flow_least = 64 * (1 + (int)test_below(&r, 5));
#    endif
        t.signs = k % 3 == 1;
        if (k % 4 == 3)
            t.wrong = test_below(&r, t.n);
        chol_pair p = open_tree(one, all, &t, options);
        if (k % 4 == 3)
            chol_pair_fail(&p);
        else
            compare(&p, 1 + test_below(&r, 3), &r);
        count += count_together(p.plan[SHARED]);
        chol_pair_close(&p);
    }
    print_message("%zu fronts by all GPUs together\n", count);
}

/* A shared plan belongs to its place; values may be in memory of the first GPU. */
static void places(weft_context *one, weft_context *all) {
    test_random r = test_random_at(4);
    chol_pair p = chol_pair_open(one, all, test_generated(all, "laplace2d", 9),
                                 (weft_chol_options){.kind = 0}, 8);
    const size_t entries = weft_sparse_entries(p.matrix);
    void *value;
    double x[81] = {1};
    test_ok(all, weft_alloc(all, &value, entries * sizeof(double)));
    test_ok(all, weft_copy(all, value, weft_sparse_values(p.matrix), entries * sizeof(double)));
    test_ok(one, weft_chol_factor(one, p.plan[ALONE], p.matrix));
    test_ok(all, weft_chol_factor_values(all, p.plan[SHARED], p.matrix, value));
    assert_true(wi_chol_gpus(p.plan[SHARED]) > 1);
    compare_solutions(&p, 3, &r);
    test_refused(one, weft_chol_solve(one, p.plan[SHARED], p.matrix, NULL, 1, x, 81, x, 81),
                 WEFT_EARG, "weft_chol_solve", "GPUs");
    test_ok(all, weft_chol_solve(all, p.plan[ALONE], p.matrix, NULL, 1, x, 81, x, 81));
    test_ok(all, weft_free(all, value));
    chol_pair_close(&p);
}

static void on_gpus(weft_context *ctx) {
    static void (*const steps[])(weft_context * one, weft_context * all) = {
        systems, streamed, failures, places, together};
    const char *const devices = getenv("WEFT_EMU_DEVICES");
    weft_context *all;
    if (ctx->kind == WI_CPU || !devices || atoi(devices) < 2)
        return;
    test_ok(NULL, weft_open(&all, TEST_GPU "s"));
    const double before = wi_chol_share_from;
    wi_chol_share_from = 0;
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++)
        steps[k](ctx, all);
    wi_chol_share_from = before;
    weft_close(all);
}

#else

/* Only on emu are small systems shared. */
static void on_gpus(weft_context *ctx) {
    (void)ctx;
}

#endif

int main(void) {
    const struct CMUnitTest tests[] = {TEST_ON_EACH_PLACE(shares), TEST_ON_EACH_PLACE(on_gpus)};
    return cmocka_run_group_tests_name("chol_spread", tests, NULL, NULL);
}
