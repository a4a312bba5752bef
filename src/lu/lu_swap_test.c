/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges of rows, more of them than a GPU makes at once. */
#include "core/gpu.h"
#include "lu/lu.h"
#include "testing.h"

enum {
    N = 600, /* three pieces of exchanges, of which the last is not full */
    RHS = 6,
    GAP = 3
};

/* Row k with row pivot[k], one after the other, or the last first. */
static void exchange(double *x, const int64_t *pivot, bool forward) {
    for (size_t step = 0; step < N; step++) {
        const size_t k = forward ? step : N - 1 - step;
        for (size_t j = 0; j < RHS; j++) {
            double *const column = x + j * (N + GAP), kept = column[k];
            column[k] = column[pivot[k]];
            column[pivot[k]] = kept;
        }
    }
}

static void run(weft_context *ctx, test_buffer *x, const test_buffer *pivot, bool forward) {
    int before;
    assert_int_equal(wi_gpu_enter(ctx, &before), WEFT_OK);
    const weft_status status = wi_lu_swap_rows(ctx, WEFT_F64, RHS, x->p, N + GAP, N,
                                               (const int64_t *)(void *)pivot->p, forward);
    wi_gpu_leave(ctx, before);
    if (status != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
}

static void many_exchanges(weft_context *ctx) {
    const bool device = ctx->kind == WI_CUDA;
    test_random random = test_random_at(1);
    double x[RHS * (N + GAP)];
    int64_t pivot[N];
    test_buffer there = test_buffer_open(ctx, device, sizeof x),
                pivots = test_buffer_open(ctx, device, sizeof pivot);
    for (size_t k = 0; k < N; k++)
        pivot[k] = (int64_t)(k + test_below(&random, test_below(&random, 8) ? N - k : 1));
    test_buffer_load(&pivots, pivot, sizeof pivot, 0);
    for (int forward = 0; forward < 2; forward++) {
        for (size_t e = 0; e < RHS * (N + GAP); e++)
            x[e] = (double)e;
        test_buffer_load(&there, x, sizeof x, 0);
        run(ctx, &there, &pivots, forward);
        exchange(x, pivot, forward);
        assert_memory_equal(test_buffer_read(&there, "exchanged rows"), x, sizeof x);
    }
    test_buffer_close(&there);
    test_buffer_close(&pivots);
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST_ON_EACH_PLACE(many_exchanges)};
    return cmocka_run_group_tests_name("lu_swap", tests, NULL, NULL);
}
