/* SPDX-License-Identifier: Apache-2.0 */
/* The supernodes above the cut must wait for the tasks below it, even if one of them is so small
 * that one thread does it alone: nothing else would hold that thread back. Data that tasks leave
 * for it is NaN until they have stored it. */
#include <math.h>
#include <time.h>

#include "sparse/generate.h"
#include "systems.h"
#include "testing.h"

enum {
    BLOCKS = 26, /* so that each is a separate task with four threads */
    BLOCK = 250,
    TOP = 8,
    N = BLOCKS * BLOCK + TOP,
    TRIALS = 15
};

/* Blocks of connected columns; each is connected to one of the last few rows, which are connected
 * too and take almost no work. */
static size_t column_of(const void *user, size_t j, int64_t *row, double *value) {
    (void)user;
    const size_t block = j / BLOCK, end = block < BLOCKS ? (block + 1) * BLOCK : N;
    size_t count = 0;
    for (size_t i = j; i < end; i++) {
        row[count] = (int64_t)i;
        value[count++] = i == j ? 2 * BLOCK : cos((double)(i * j % 1000));
    }
    if (block < BLOCKS) {
        row[count] = (int64_t)(BLOCKS * BLOCK + block % (TOP - 1));
        value[count++] = 1;
    }
    return count;
}

static weft_sparse *make(weft_context *ctx) {
    const wi_columns columns = {.n = N, .most = BLOCK + 1, .column = column_of};
    weft_sparse *matrix;
    if (wi_generate_columns(ctx, "test", &columns, &matrix) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    return matrix;
}

/* A plan for which a second thread pays, but not in the last supernode. */
static weft_chol *make_plan(weft_context *ctx, const weft_sparse *matrix) {
    weft_chol *const plan = test_plan(ctx, matrix, "natural", NULL);
    plan->least_work = 1e6;
    assert_int_equal(weft_chol_reserve(ctx, plan, WI_CHOL_RHS), WEFT_OK);
    assert_int_equal(plan->numbers.cut.tops, 1);
    assert_true(plan->numbers.cut.tasks >= BLOCKS / 2 && plan->numbers.cut.threads > 1);
    assert_true(wi_super_height(&plan->symbolic, plan->numbers.tops[0]) == TOP);
    return plan;
}

/* The calling thread, which would do the last supernode, gives the others time to wake up and
 * begin. */
static int let_others(void *user, double done) {
    static const struct timespec nap = {0, 300000};
    (void)done;
    if (*(int *)user == 0)
        nanosleep(&nap, NULL);
    ++*(int *)user;
    return 0;
}

static void test_factoring(void **state) {
    (void)state;
    weft_context *const ctx = test_open("cpu:4");
    weft_sparse *const matrix = make(ctx);
    weft_chol *const plan = make_plan(ctx, matrix);
    const wi_cut *const cut = &plan->numbers.cut;
    const size_t waiting = (size_t)wi_stack_entries(&cut->update, cut->threads);
    int told = 0;
    assert_int_equal(weft_chol_on_progress(ctx, plan, let_others, &told), WEFT_OK);
    for (int k = 0; k < TRIALS; k++) {
        told = 0;
        memset(plan->numbers.stack, 0xFF, waiting * sizeof(double));
        if (weft_chol_factor(ctx, plan, matrix) != WEFT_OK)
            fail_msg("%s", weft_message(ctx));
    }
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
    weft_close(ctx);
}

static void test_solving(void **state) {
    (void)state;
    weft_context *const ctx = test_open("cpu:4");
    weft_sparse *const matrix = make(ctx);
    weft_chol *const plan = make_plan(ctx, matrix);
    const wi_cut *const cut = &plan->numbers.cut;
    const size_t waiting = WI_CHOL_RHS * (size_t)wi_stack_entries(&cut->part, cut->threads);
    const weft_chol_solve_options forward = {.size = sizeof forward, .part = WEFT_CHOL_L};
    double *const x = malloc(WI_CHOL_RHS * N * sizeof *x);
    assert_int_equal(weft_chol_factor(ctx, plan, matrix), WEFT_OK);
    for (int k = 0; k < 10 * TRIALS; k++) {
        memset(wi_solve_room_of(plan, WI_CHOL_RHS).stack, 0xFF, waiting * sizeof(double));
        for (size_t i = 0; i < WI_CHOL_RHS * N; i++)
            x[i] = 1;
        if (weft_chol_solve(ctx, plan, NULL, &forward, WI_CHOL_RHS, x, N, x, N) != WEFT_OK)
            fail_msg("%s", weft_message(ctx));
        for (size_t i = 0; i < WI_CHOL_RHS * N; i++)
            assert_true(isfinite(x[i]));
    }
    free(x);
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
    weft_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_factoring),
        cmocka_unit_test(test_solving),
    };
    return cmocka_run_group_tests_name("chol_tops", tests, NULL, NULL);
}
