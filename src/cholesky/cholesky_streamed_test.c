/* SPDX-License-Identifier: Apache-2.0 */
/* Host matrices that do not fit a GPU's memory: on emu a limit is lowered, so that small ones come
 * in panels of 16 columns or somewhat more; elsewhere they are factored as they are. Factors,
 * pivots that are not above 0, and solutions are checked as those of other matrices. */
#include "cholesky/cholesky_rig.h"

/* Panels that are whole and cut, one alone, and several. */
static const size_t sizes[] = {1, 15, 16, 17, 32, 33, 47, 70, 97};

static void lower_memory(test_random *r, size_t n) {
#ifdef WEFT_EMU
    wi_lu_resident_bytes = test_below(r, 2) ? 1 : n * n * 2;
#else
    (void)r;
    (void)n;
#endif
}

static bool run_factor(void *user, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = user;
    lower_memory(&r->random, n);
    return run_drawn(user, n, row, at);
}

static bool run_fault(void *user, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = user;
    lower_memory(&r->random, n);
    return run_exact(user, n, row, at);
}

static void streamed(weft_context *ctx) {
    rig r = rig_open(ctx, ARRAYS, CAPACITY);
    const test_sweep sweeps[] = {{.sizes = sizes,
                                  .size_count = sizeof sizes / sizeof *sizes,
                                  .extent = {2, 4, SORTS},
                                  .must = 2,
                                  .share = 50,
                                  .run = run_factor},
                                 {.sizes = sizes,
                                  .size_count = sizeof sizes / sizeof *sizes,
                                  .extent = {2, 4, FAULTS},
                                  .must = 4,
                                  .share = 50,
                                  .run = run_fault}};
    for (int k = 0; k < 2; k++)
        test_sweep_run(ctx, &r.random, &sweeps[k], &r);
#ifdef WEFT_EMU
    wi_lu_resident_bytes = 0;
#endif
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST_ON_EACH_PLACE(streamed)};
    return cmocka_run_group_tests_name("cholesky_streamed", tests, NULL, NULL);
}
