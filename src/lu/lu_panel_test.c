/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks in a cluster, of every shape: so many rows that each is used, with all its rows and with
 * some, and so many columns that a panel or a group has others beside it. Each holds against the
 * plain loop. */
#include "core/gpu.h"
#include "lu/lu_rig.h"

enum {
    MOST_COLUMNS = 70
};

/* The largest difference of two factors. */
static double difference(const weft_type type, size_t count, const void *x, const void *y) {
    double most = 0;
    for (size_t e = 0; e < count; e++) {
        const double a = wi_element_value(type, (const char *)x + e * weft_type_size(type));
        const double b = wi_element_value(type, (const char *)y + e * weft_type_size(type));
        most = fabs(a - b) <= most ? most : fabs(a - b);
    }
    return most;
}

static void compare_panel(weft_context *ctx, weft_context *cpu, weft_type type, size_t m,
                          size_t n) {
    const size_t bytes = m * n * weft_type_size(type);
    test_random random = test_random_at(m);
    int64_t expected[MOST_COLUMNS], pivot[MOST_COLUMNS];
    void *const a = malloc(bytes), *const b = malloc(bytes);
    assert_non_null(a);
    assert_non_null(b);
    for (size_t e = 0; e < m * n; e++) {
        const double x = test_unit(&random);
        if (type == WEFT_F64)
            ((double *)a)[e] = ((double *)b)[e] = x;
        else
            ((float *)a)[e] = ((float *)b)[e] = (float)x;
    }
    assert_int_equal(weft_lu_factor(cpu, 0, type, m, n, a, m, expected), WEFT_OK);
    if (weft_lu_factor(ctx, 0, type, m, n, b, m, pivot) != WEFT_OK)
        fail_msg("%zu x %zu: %s", m, n, weft_message(ctx));
    assert_memory_equal(pivot, expected, n * sizeof *pivot);
    const double off = difference(type, m * n, a, b);
    if (!(off <= 64 * test_roundoff(type)))
        fail_msg("%zu x %zu of %s: factors differ by %g", m, n, test_type_name(type), off);
    free(a);
    free(b);
}

static void panels_of_a_cluster(weft_context *ctx) {
    static const size_t shapes[][2] = {
        {1023, 3},  {1025, MOST_COLUMNS}, {4096, 2},  {4097, 33},  {8193, 20},
        {12289, 3}, {16385, 10},          {24577, 3}, {33000, 10}, {49153, 2}};
    double one = 1;
    int64_t pivot;
    if (ctx->kind != WI_CUDA)
        return;
    weft_context *const cpu = test_open("cpu:1");
    test_use(ctx, "lu", test_row_named(&wi_lu_ladder, "cluster"));
    test_use(cpu, "lu", test_row_named(&wi_lu_ladder, "serial"));
    const weft_status status = weft_lu_factor(ctx, 0, WEFT_F64, 1, 1, &one, 1, &pivot);
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes && status != WEFT_EUNSUPPORTED; k++) {
        compare_panel(ctx, cpu, WEFT_F64, shapes[k][0], shapes[k][1]);
        compare_panel(ctx, cpu, WEFT_F32, shapes[k][0], shapes[k][1]);
    }
    weft_close(cpu);
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST_ON_EACH_PLACE(panels_of_a_cluster)};
    return cmocka_run_group_tests_name("lu_panel", tests, NULL, NULL);
}
