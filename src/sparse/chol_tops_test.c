/* SPDX-License-Identifier: Apache-2.0 */
/* The supernodes above the cut must wait for the tasks below it, even if one of them is so small
 * that one thread does it alone: nothing else would hold that thread back. What tasks leave for it
 * is spoilt until they have stored it. */
#include <math.h>
#include <stdatomic.h>
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
    const wi_made_columns columns = {.n = N, .most = BLOCK + 1, .column = column_of};
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

/* ---- solving ----
 *
 * The library's calls of wi_dense_forward come here first, so that the calling thread, which does
 * the last supernode, always reaches it while another thread is in the middle of a task. */

static _Thread_local bool calling;
static atomic_bool holding, held; /* the first task of another thread is to be held; it has begun */

static void wait_at_most(int milliseconds, const atomic_bool *until) {
    static const struct timespec nap = {0, 1000000};
    for (int k = 0; k < milliseconds && !(until && *until); k++)
        nanosleep(&nap, NULL);
}

void __real_wi_dense_forward(int64_t n, int64_t count, const double *l, int64_t ldl, double *x,
                             int64_t ldx);
void __wrap_wi_dense_forward(int64_t n, int64_t count, const double *l, int64_t ldl, double *x,
                             int64_t ldx);
void __wrap_wi_dense_forward(int64_t n, int64_t count, const double *l, int64_t ldl, double *x,
                             int64_t ldx) {
    if (holding && calling)
        wait_at_most(10000, &held);
    else if (holding && !atomic_exchange(&held, true))
        wait_at_most(25, NULL);
    __real_wi_dense_forward(n, count, l, ldl, x, ldx);
}

/* x = L \ 1 for each column. */
static void solve(weft_context *ctx, weft_chol *plan, double *x) {
    const weft_chol_solve_options forward = {.size = sizeof forward, .part = WEFT_CHOL_L};
    for (size_t i = 0; i < WI_CHOL_RHS * N; i++)
        x[i] = 1;
    if (weft_chol_solve(ctx, plan, NULL, &forward, WI_CHOL_RHS, x, N, x, N) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
}

/* What a task has not stored yet is a number here: NaN would make the call solve again, shifted,
 * and then it would find the right one. */
static void test_solving(void **state) {
    (void)state;
    weft_context *const ctx = test_open("cpu:4");
    weft_sparse *const matrix = make(ctx);
    weft_chol *const plan = make_plan(ctx, matrix);
    const wi_cut *const cut = &plan->numbers.cut;
    const size_t waiting = WI_CHOL_RHS * (size_t)wi_stack_entries(&cut->part, cut->threads);
    double *const expected = malloc(WI_CHOL_RHS * N * sizeof *expected);
    double *const x = malloc(WI_CHOL_RHS * N * sizeof *x);
    assert_true(expected && x);
    calling = true;
    assert_int_equal(weft_chol_factor(ctx, plan, matrix), WEFT_OK);
    for (int k = 0; k < 4; k++) {
        double *const stack = wi_solve_room_of(plan, WI_CHOL_RHS).stack;
        for (size_t i = 0; i < waiting; i++)
            stack[i] = k + 2;
        holding = k > 0;
        held = false;
        solve(ctx, plan, k == 0 ? expected : x);
        assert_true(held == holding);
        if (k > 0)
            assert_memory_equal(x, expected, WI_CHOL_RHS * N * sizeof *x);
    }
    free(x);
    free(expected);
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
