/* SPDX-License-Identifier: Apache-2.0 */
/* Which steps between several GPUs go by NCCL, and what happens if it fails: of one process, or
 * with "mpi" as argument of those of all processes that mpirun starts. WEFT_NCCL names what stands
 * in for it on emulated GPUs; without, nothing is tested but that steps go without. On real GPUs
 * WEFT_NCCL=libnccl.so.2 tests with the real one, and without it nothing is tested. */
#include "comm/comm_nccl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "climb/collectives.h"
#include "comm/dist.h"
#include "comm/gpus.h"
#include "core/gpu.h"
#include "gpu_name.h"
#include "testing.h"

enum {
#ifdef WEFT_EMU
    LARGE = 1 << 16,
#else
    LARGE = 1 << 21,
#endif
    SMALL = 1 << 12
};

static bool over_mpi;

/* What carries the other steps: of device memory, and of host memory. */
static const char *other(bool device) {
    return !over_mpi ? "peer" : device ? "staged" : "mpi";
}

typedef struct wanted {
    bool by_nccl; /* large steps in device memory */
    wi_step_kind only;
} wanted;

static weft_status measure(weft_context *rank, wi_step_kind kind, size_t bytes, bool device,
                           const char *by) {
    const wi_step step = {.kind = kind, .bytes = bytes, .samples = 1, .device = {device, device}};
    wi_step_rate rate;
    const weft_status status = wi_step_measure(rank, &step, &rate);
    if (status != WEFT_OK || (rate.right && strcmp(rate.transport, by) == 0))
        return status;
    return wi_fail(rank, WEFT_EDEVICE, "%s of %zu bytes went by %s, not %s, and is %s",
                   wi_step_name(kind), bytes, rate.transport, by, rate.right ? "right" : "wrong");
}

static weft_status measure_all(weft_context *rank, void *user) {
    const wanted *const w = user;
    weft_status status = WEFT_OK;
    for (int k = w->only; k < WI_STEP_KINDS && status == WEFT_OK; k++) {
        const wi_step_kind kind = (wi_step_kind)k;
        status = measure(rank, kind, LARGE, true, w->by_nccl ? "nccl" : other(true));
        if (status == WEFT_OK)
            status = measure(rank, kind, SMALL, true, other(true));
        if (status == WEFT_OK)
            status = measure(rank, kind, LARGE, false, other(false));
    }
    return status;
}

static bool has_nccl(void) {
    const char *const file = getenv("WEFT_NCCL");
    return file && *file;
}

static weft_context *open_gpus(void) {
    weft_context *ctx;
#ifndef WEFT_EMU
    if (!has_nccl())
        return NULL;
#endif
    if (weft_open(&ctx, over_mpi ? "mpi:" TEST_GPU : TEST_GPU "s") != WEFT_OK)
        return NULL;
    if (over_mpi ? weft_ranks(ctx) > 1 : wi_gpus_count(ctx) > 1)
        return ctx;
    weft_close(ctx);
    return NULL;
}

/* What each rank does, in this process or on a GPU's thread of it. */
static weft_status run_ranks(weft_context *ctx, weft_status (*work)(weft_context *, void *),
                             void *user) {
    return over_mpi ? work(ctx, user) : wi_gpus_run(ctx, NULL, "test", work, user);
}

static const char *about(weft_context *ctx, int rank) {
    return wi_comm_nccl_about(over_mpi ? ctx : wi_gpus_rank(ctx, rank));
}

static void run_all(weft_context *ctx, bool by_nccl) {
    wanted w = {by_nccl, WI_STEP_ALL_REDUCE};
    if (run_ranks(ctx, measure_all, &w) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
}

static void test_steps(void **state) {
    (void)state;
    weft_context *const ctx = open_gpus();
    if (!ctx)
        skip();
    run_all(ctx, has_nccl());
    run_all(ctx, has_nccl());
    assert_non_null(strstr(about(ctx, 0), has_nccl() ? "by NCCL" : "not by NCCL: place emu"));
    weft_close(ctx);
}

/* Counts of ranks that differ, and are 0. */
static weft_status gather_uneven(weft_context *rank, void *user) {
    const size_t size = (size_t)rank->comm->size, own = (size_t)rank->comm->rank;
    size_t counts[WI_MOST_GPUS], all = 0, before = 0;
    void *from = NULL, *to = NULL;
    uint32_t *const host = malloc(size * LARGE);
    (void)user;
    for (size_t r = 0; r < size; r++) {
        counts[r] = r == 1 ? 0 : LARGE / 4 - r;
        before += r < own ? counts[r] : 0;
        all += counts[r];
    }
    for (size_t i = 0; i < all; i++)
        host[i] = (uint32_t)(before + i);
    weft_status status = wi_dist_take_near(rank, counts[own], 4, &from);
    if (status == WEFT_OK)
        status = wi_dist_take_near(rank, all, 4, &to);
    if (status == WEFT_OK && counts[own] > 0)
        status = weft_copy(rank->child, from, host, counts[own] * 4);
    status = wi_agree(rank, 0, status);
    if (status == WEFT_OK)
        status = rank->comm->calls->all_gather_v(rank, from, to, counts, WEFT_U32);
    if (status == WEFT_OK && has_nccl() && strcmp(rank->comm->carried, "nccl") != 0)
        status = wi_fail(rank, WEFT_EDEVICE, "it went by %s", rank->comm->carried);
    if (status == WEFT_OK)
        status = weft_copy(rank->child, host, to, all * 4);
    for (size_t i = 0; i < all && status == WEFT_OK; i++) {
        if (host[i] != i)
            status = wi_fail(rank, WEFT_EDEVICE, "element %zu is %u", i, host[i]);
    }
    wi_dist_give_near(rank, from);
    wi_dist_give_near(rank, to);
    free(host);
    return status;
}

static void test_uneven(void **state) {
    (void)state;
    weft_context *const ctx = open_gpus();
    if (!ctx)
        skip();
    if (run_ranks(ctx, gather_uneven, NULL) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    weft_close(ctx);
}

/* If one rank cannot open it, all steps go without. */
static void test_failing_open(void **state) {
    (void)state;
    if (!has_nccl())
        skip();
    setenv("FAKE_NCCL", "init", 1);
    weft_context *const ctx = open_gpus();
    if (!ctx)
        skip();
    run_all(ctx, false);
    const int ranks = over_mpi ? weft_ranks(ctx) : wi_gpus_count(ctx);
    const bool is_last = over_mpi && weft_rank(ctx) == ranks - 1;
    assert_non_null(strstr(about(ctx, 0), is_last ? "told to fail" : "another rank"));
    if (!over_mpi)
        assert_non_null(strstr(about(ctx, ranks - 1), "told to fail"));
    unsetenv("FAKE_NCCL");
    weft_close(ctx);
}

/* A step that fails is a failure of the call. Later calls go without; those over MPI fail, too. */
static void test_failing_step(void **state) {
    (void)state;
    if (!has_nccl())
        skip();
    setenv("FAKE_NCCL", "step", 1);
    weft_context *const ctx = open_gpus();
    if (!ctx)
        skip();
    wanted w = {true, WI_STEP_ALL_REDUCE};
    assert_int_equal(run_ranks(ctx, measure_all, &w), WEFT_OK);
    assert_int_equal(run_ranks(ctx, measure_all, &w), WEFT_ECOMM);
    assert_non_null(strstr(weft_message(ctx), "told to fail"));
    unsetenv("FAKE_NCCL");
    if (over_mpi)
        assert_int_equal(run_ranks(ctx, measure_all, &w), WEFT_ECOMM);
    else
        run_all(ctx, false);
    weft_close(ctx);
}

static void test_off(void **state) {
    char before[1024];
    (void)state;
    snprintf(before, sizeof before, "%s", getenv("WEFT_NCCL") ? getenv("WEFT_NCCL") : "");
    setenv("WEFT_NCCL", "off", 1);
    weft_context *const ctx = open_gpus();
    if (ctx) {
        run_all(ctx, false);
        assert_non_null(strstr(about(ctx, 0), "WEFT_NCCL is off"));
    }
    weft_close(ctx);
    setenv("WEFT_NCCL", before, 1);
}

int main(int argc, char **argv) {
    over_mpi = argc > 1 && strcmp(argv[1], "mpi") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),        cmocka_unit_test(test_uneven),
        cmocka_unit_test(test_failing_open), cmocka_unit_test(test_off),
        cmocka_unit_test(test_failing_step),
    };
    return cmocka_run_group_tests_name("nccl", tests, NULL, NULL);
}
