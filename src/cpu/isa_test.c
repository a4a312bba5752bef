/* SPDX-License-Identifier: Apache-2.0 */
/* The instruction sets give the same bits: every type and operation of the fast CPU rungs, by each
 * set that this processor has, against the plainest. This file's wi_cpu_isa takes the place of the
 * library's, so that the test says which set is used. */
#include "cpu/isa.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"

enum {
    LONGEST = 70001,
    REDUCTIONS = 9,
    MAPS = 3
};

static wi_isa chosen = WI_ISA_BASE;

wi_isa wi_cpu_isa(void) {
    return chosen;
}

static bool has(wi_isa isa) {
#ifdef __x86_64__
    if (isa == WI_ISA_AVX512) {
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    }
    if (isa == WI_ISA_AVX2) {
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    }
#endif
    return isa == WI_ISA_BASE;
}

/* Inputs of one type, and where an output goes. */
typedef struct rig {
    weft_context *ctx;
    weft_type type;
    size_t n;
    unsigned char *x, *y, *near_one, *out;
} rig;

/* Runs the job numbered `job` into r->out; false when there are no more. */
static bool run_job(rig *r, int job, char *what, size_t bytes) {
    static const weft_op reductions[REDUCTIONS] = {WEFT_SUM,    WEFT_MIN,    WEFT_MAX,
                                                   WEFT_ARGMIN, WEFT_ARGMAX, WEFT_NRM1,
                                                   WEFT_NRM2,   WEFT_NRMINF, WEFT_PRODUCT};
    int ops = test_is_float(r->type) ? WEFT_MAX + 1 : WEFT_XOR + 1;
    weft_status status = WEFT_OK;
    memset(r->out, 0, r->n * 8 + 8);
    if (job < REDUCTIONS) {
        weft_op op = reductions[job];
        snprintf(what, bytes, "reduce %s", test_op_name(op));
        const void *data = op == WEFT_PRODUCT ? r->near_one : r->x;
        status = weft_reduce(r->ctx, op, r->type, r->n, data, r->out);
    } else if (job == REDUCTIONS) {
        snprintf(what, bytes, "dot");
        status = weft_dot(r->ctx, r->type, r->n, r->x, r->y, r->out);
    } else if (job <= REDUCTIONS + MAPS) {
        int map = job - REDUCTIONS - 1;
        snprintf(what, bytes, "map number %d", map);
        status = map == 0   ? weft_add(r->ctx, r->type, r->n, r->x, r->y, r->out)
                 : map == 1 ? weft_axpy(r->ctx, r->type, r->n, r->y, r->x, r->out)
                            : weft_iota(r->ctx, r->type, r->n, r->x, r->y, r->out);
    } else if (job <= REDUCTIONS + MAPS + 2 * ops) {
        int scan = job - REDUCTIONS - MAPS - 1;
        weft_op op = (weft_op)(scan / 2);
        weft_scan_kind kind = scan % 2 ? WEFT_EXCLUSIVE : WEFT_INCLUSIVE;
        const void *data = op == WEFT_PRODUCT ? r->near_one : r->x;
        snprintf(what, bytes, "scan %s, kind %d", test_op_name(op), kind);
        status = weft_scan(r->ctx, kind, op, r->type, r->n, data, r->out, NULL);
    } else {
        return false;
    }
    if (status != WEFT_OK) {
        fail_msg("%s of %s: %s", what, test_type_name(r->type), weft_message(r->ctx));
    }
    return true;
}

/* Every job by the plainest set, then by each of the others. */
static void compare_sets(rig *r) {
    char what[64];
    unsigned char *plain = malloc(r->n * 8 + 8);
    assert_non_null(plain);
    chosen = WI_ISA_BASE;
    for (int job = 0; run_job(r, job, what, sizeof what); job++) {
        memcpy(plain, r->out, r->n * 8 + 8);
        for (int isa = WI_ISA_AVX2; isa <= WI_ISA_AVX512; isa++) {
            if (!has((wi_isa)isa)) {
                continue;
            }
            chosen = (wi_isa)isa;
            run_job(r, job, what, sizeof what);
            if (memcmp(plain, r->out, r->n * 8 + 8) != 0) {
                fail_msg("%s of %zu %s: instruction set %d gives other bits than the plainest",
                         what, r->n, test_type_name(r->type), isa);
            }
        }
        chosen = WI_ISA_BASE;
    }
    free(plain);
}

static void run_type(weft_context *ctx, weft_type type, test_pattern pattern, size_t n) {
    test_random random = test_random_at(7);
    rig r = {.ctx = ctx, .type = type, .n = n};
    unsigned char **const arrays[] = {&r.x, &r.y, &r.near_one, &r.out};
    for (int k = 0; k < 4; k++) {
        *arrays[k] = malloc(n * 8 + 8);
        assert_non_null(*arrays[k]);
    }
    test_fill(&random, pattern, type, n, r.x);
    test_fill(&random, pattern, type, n, r.y);
    test_fill(&random, TEST_NEAR_ONE, type, n, r.near_one);
    compare_sets(&r);
    for (int k = 0; k < 4; k++) {
        free(*arrays[k]);
    }
}

static void test_same_bits(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 31, 1000, 4099, LONGEST};
    static const char *const fast[][2] = {
        {"map", "threads"}, {"reduce", "threads"}, {"scan", "blocked"}};
    weft_context *ctx = test_open("cpu:2");
    for (int op = 0; op < 3; op++) {
        assert_int_equal(weft_use(ctx, fast[op][0], fast[op][1]), WEFT_OK);
    }
    for (int type = 0; type < WEFT_TYPE_COUNT; type++) {
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            run_type(ctx, (weft_type)type, TEST_ANY, sizes[s]);
            run_type(ctx, (weft_type)type, TEST_TIES, sizes[s]);
        }
    }
    weft_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits),
    };
    return cmocka_run_group_tests_name("instruction sets", tests, NULL, NULL);
}
