/* SPDX-License-Identifier: Apache-2.0 */
/* Grids of ranks without ranks: who has what, which rows change places, and what all of it should
 * cost. */
#include <math.h>
#include <stdlib.h>

#include "comm/dist.h"
#include "lu/grid_cost.h"
#include "lu/lu_grid.h"
#include "testing.h"

/* Every row has one place, and those before it are counted. */
static void test_holders(void **state) {
    (void)state;
    test_random r = test_random_at(1);
    for (int turn = 0; turn < 200; turn++) {
        const size_t block = 1 + test_below(&r, 9), places = 1 + test_below(&r, 6);
        size_t had[6] = {0};
        for (size_t row = 0; row < 100; row++) {
            for (size_t at = 0; at < places; at++)
                assert_int_equal(wi_rank_grid_below(block, row, at, places), had[at]);
            had[row / block % places]++;
        }
    }
}

enum {
    ROWS = 90,
    BLOCK = 12
};

/* The list says where each row goes, as exchanges one after the other do. */
static void moves_case(test_random *r) {
    size_t lists[6 * BLOCK], passed[8], at[ROWS], seen[2 * BLOCK] = {0}, all = 0;
    int64_t pivot[BLOCK];
    const size_t first = BLOCK * test_below(r, 4), pivots = 1 + test_below(r, BLOCK);
    wi_rank_grid g = {.p = 1 + test_below(r, 8)};
    wi_lu_moves m = {
        .to = lists, .from = lists + 2 * BLOCK, .slot = lists + 4 * BLOCK, .passed = passed};
    g.c.block = BLOCK;
    for (size_t k = 0; k < ROWS; k++)
        at[k] = k;
    for (size_t t = 0; t < pivots; t++) {
        const size_t with = first + t + test_below(r, ROWS - first - t), row = at[first + t];
        pivot[t] = (int64_t)with;
        at[first + t] = at[with];
        at[with] = row;
    }
    wi_lu_moves_plan(&m, &g, first, pivots, pivot);
    for (size_t k = 0; k < m.count; k++) {
        assert_int_equal(at[m.to[k]], m.from[k]);
        at[m.to[k]] = m.to[k];
        assert_true(k >= pivots || (m.to[k] == first + k && m.slot[k] < m.all));
        assert_true(m.slot[k] == SIZE_MAX ? m.to[k] == m.from[k] : seen[m.slot[k]]++ == 0);
    }
    for (size_t k = 0; k < ROWS; k++)
        assert_int_equal(at[k], k);
    for (size_t i = 0; i < g.p; i++)
        all += passed[i];
    assert_int_equal(all, m.all);
}

static void test_moves(void **state) {
    (void)state;
    test_random r = test_random_at(2);
    for (int turn = 0; turn < 1000; turn++)
        moves_case(&r);
}

/* What README.md says. */
static void test_costs(void **state) {
    (void)state;
    static const struct {
        int ranks;
        double n;
        bool spd, gpu;
        double columns, grid;
    } cases[] = {{8, 2e4, false, false, 2.78, 2.99},    {64, 2e4, false, false, 1.18, 0.886},
                 {1024, 1e5, false, false, 29.4, 6.63}, {1024, 4e5, false, false, 469, 184},
                 {64, 2e4, true, false, 0.495, 0.198},  {1024, 1e5, true, false, 12.3, 1.52},
                 {8, 1e5, false, true, 2.23, 47},       {1024, 4e5, false, true, 33, 68.1},
                 {64, 1e5, true, true, 2.24, 1.87},     {1024, 4e5, true, true, 33, 7.75}};
    const wi_comm_table below = {.name = "none"};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        wi_comm comm = {.size = cases[k].ranks, .below = cases[k].gpu ? &below : NULL};
        const weft_context ctx = {.comm = &comm};
        const wi_ranks_work w = {cases[k].n, cases[k].n, sizeof(double), cases[k].spd};
        const double columns = wi_ranks_columns_seconds(&ctx, &w);
        const double grid = wi_ranks_grid_seconds(&ctx, &w);
        if (!(fabs(columns / cases[k].columns - 1) < 0.01 && fabs(grid / cases[k].grid - 1) < 0.01))
            fail_msg("%d ranks, n %g: %.3g, %.3g", cases[k].ranks, cases[k].n, columns, grid);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_holders), cmocka_unit_test(test_moves),
                                       cmocka_unit_test(test_costs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
