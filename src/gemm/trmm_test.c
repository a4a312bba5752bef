/* SPDX-License-Identifier: Apache-2.0 */
/* Every rung of trmm's ladder, on every place: each element. */
#include "gemm/triangle_rig.h"
#include "gemm/trmm.h"

static void compare_product(const triangle *p, const long double *a, const long double *b,
                            const long double *x, const char *what) {
    const long double alpha = test_round(p->type, p->alpha);
    for (size_t i = 0; i < p->m; i++)
        for (size_t j = 0; j < p->n; j++) {
            const product right = product_at(p, a, b, i, j);
            const long double wanted = alpha * right.sum, got = x[i * p->n + j];
            const bool same_kind = isnan(wanted) ? isnan(got) : got == wanted;
            if (isfinite(wanted)
                    ? !(fabsl(got - wanted) <= allowed(p, fabsl(alpha) * right.size, 2))
                    : !same_kind)
                fail_msg("%s: element (%zu, %zu) is %Lg, should be %Lg", what, i, j, got, wanted);
        }
}

static const subject trmm = {"trmm", "weft_trmm", &wi_trmm_ladder, weft_trmm, compare_product};

static void all_rungs(weft_context *ctx) {
    sweep(ctx, &trmm);
}

static void test_threads(void **state) {
    (void)state;
    same_for_threads(&trmm);
}

static void arguments(weft_context *ctx) {
    refuse(ctx, &trmm);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(all_rungs),
        cmocka_unit_test(test_threads),
        TEST_ON_EACH_PLACE(arguments),
    };
    return cmocka_run_group_tests_name("trmm", tests, NULL, NULL);
}
