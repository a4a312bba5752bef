/* SPDX-License-Identifier: Apache-2.0 */
/* What happens on all ranks if something goes wrong on one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "dist.h"
#include "weft/trace.h"
#ifdef WEFT_EMU
#    include "emu_faults.h"
#endif

/* The rank that goes wrong. */
static int culprit(void) {
    return dist_ranks / 2;
}

/* Rank `failed` has got `own`, and the others WEFT_ECOMM with its number. */
static void expect_failure(weft_status status, weft_status own, int failed, const char *call) {
    char word[32];
    if (dist_rank == failed) {
        test_refused(dist_ctx, status, own, call, NULL);
        return;
    }
    snprintf(word, sizeof word, "%d", failed);
    test_refused(dist_ctx, status, WEFT_ECOMM, call, word);
}

void dist_test_agreement(void **state) {
    (void)state;
    const float x[3] = {1, 2, 3};
    float y[3] = {7, 7, 7};
    const bool wrong = dist_rank == culprit();
    expect_failure(
        weft_scan(dist_ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_F32, 3, wrong ? NULL : x, y, NULL),
        WEFT_EARG, culprit(), "weft_scan");
    expect_failure(weft_sort(dist_ctx, wrong ? (weft_order)9 : WEFT_ASCENDING, WEFT_F32, 3, x, y),
                   WEFT_EARG, culprit(), "weft_sort");
    expect_failure(weft_add(dist_ctx, wrong ? (weft_type)99 : WEFT_F32, 3, x, x, y), WEFT_EARG,
                   culprit(), "weft_add");
    for (int k = 0; k < 3; k++)
        assert_true(y[k] == 7); /* a refused call has done nothing */
    /* all of them wrong: each says so itself */
    test_refused(dist_ctx, weft_dot(dist_ctx, WEFT_F32, 3, NULL, x, y), WEFT_EARG, "weft_dot", "x");
    /* and the next call works */
    float sum = 0;
    dist_ok(dist_ctx, weft_sum(dist_ctx, 3, x, &sum));
    assert_true(sum == 6.0F * (float)dist_ranks);
}

/* A place that one rank cannot open. */
void dist_test_open(void **state) {
    (void)state;
    char word[32];
    weft_context *ctx = NULL;
    const bool wrong = dist_rank == culprit();
    const weft_status status = weft_open(&ctx, wrong ? "mpi:cpu:0" : "mpi:cpu:1");
    snprintf(word, sizeof word, "%d", culprit());
    test_refused(NULL, status, wrong ? WEFT_EARG : WEFT_ECOMM, "weft_open", wrong ? NULL : word);
    assert_null(ctx);
    assert_int_equal(weft_open(&ctx, "mpi:mpi"), WEFT_EARG);
    assert_int_equal(weft_open(&ctx, "mpi:"), WEFT_EARG);
    assert_int_equal(weft_open(&ctx, "mpi:nowhere"), WEFT_EARG);
    assert_non_null(strstr(weft_message(NULL), "place of one rank"));
}

/* A timeline that one rank cannot begin is begun on none, and no file is made. */
void dist_test_trace(void **state) {
    (void)state;
    char path[64];
    snprintf(path, sizeof path, "/tmp/weft_dist_trace_%d", (int)getpid());
    const weft_status status =
        weft_trace_begin(dist_ctx, dist_rank == culprit() ? "/nowhere/weft_dist_trace" : path);
    expect_failure(status, WEFT_EIO, culprit(), "weft_trace_begin");
    test_refused(dist_ctx, weft_trace_end(dist_ctx), WEFT_EARG, "weft_trace_end", "nothing");
    assert_int_not_equal(access(path, F_OK), 0);
}

/* What a rank may take: of host memory, or of its emulated GPU's. 0: as before. */
static void limit_memory(size_t bytes) {
#ifdef WEFT_EMU
    emu_set_memory(bytes);
#else
    static struct rlimit before;
    struct rlimit limit;
    uint64_t pages = 0;
    if (bytes == 0) {
        setrlimit(RLIMIT_AS, &before);
        return;
    }
    FILE *const f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%lu", &pages), 1);
    fclose(f);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    limit = before;
    limit.rlim_cur = (pages << 12) + bytes;
    setrlimit(RLIMIT_AS, &limit);
#endif
}

/* One rank has too little memory. AddressSanitizer would end it instead; and the memory of a real
 * GPU cannot be limited. */
void dist_test_memory(void **state) {
    (void)state;
    const size_t many = (size_t)1 << 25;
    const bool poor = dist_rank == culprit();
#if defined(__SANITIZE_ADDRESS__)
    skip();
#elif !defined(WEFT_EMU)
    if (dist_ctx->gpu)
        skip();
#endif
    uint64_t *const x = malloc(many * sizeof *x);
    assert_non_null(x);
    memset(x, 0, 64);
    if (poor)
        limit_memory((size_t)64 << 20);
    const weft_status status = weft_sort(dist_ctx, WEFT_ASCENDING, WEFT_U64, poor ? many : 4, x, x);
    if (poor)
        limit_memory(0);
    free(x);
    expect_failure(status, WEFT_ENOMEM, culprit(), "weft_sort");
}

void dist_test_unsupported(void **state) {
    (void)state;
    float a[1] = {1}, b[1];
    size_t bytes;
    test_refused(dist_ctx, weft_sort_bytes(dist_ctx, WEFT_ASCENDING, WEFT_F32, 1, a, a, &bytes),
                 WEFT_EUNSUPPORTED, "weft_sort_bytes", "ranks");
    uint64_t count;
    test_refused(dist_ctx,
                 weft_partition(dist_ctx, (weft_predicate){.test = WEFT_GT, .type = WEFT_F32}, 1, a,
                                b, NULL, &count),
                 WEFT_EUNSUPPORTED, "weft_partition", "z");
}

/* ---- ranks out of step: on contexts of their own, which are of no use afterwards ---- */

void dist_test_order(void **state) {
    (void)state;
    weft_context *ctx = NULL;
    const float x[2] = {1, 2};
    float y[2];
    if (dist_ranks == 1)
        return;
    dist_ok(NULL, weft_open(&ctx, "mpi:cpu:1"));
    const weft_status status =
        dist_rank == culprit() ? weft_sort(ctx, WEFT_ASCENDING, WEFT_F32, 2, x, y)
                               : weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_F32, 2, x, y, NULL);
    assert_int_equal(status, WEFT_ECOMM);
    assert_non_null(strstr(weft_message(ctx), "out of step"));
    assert_int_equal(weft_sort(ctx, WEFT_ASCENDING, WEFT_F32, 2, x, y), WEFT_ECOMM);
    weft_close(ctx);
    dist_ok(NULL, weft_open(&ctx, "mpi:cpu:1")); /* another type is another call */
    assert_int_equal(
        weft_sort(ctx, WEFT_ASCENDING, dist_rank == culprit() ? WEFT_U32 : WEFT_F32, 2, x, y),
        WEFT_ECOMM);
    weft_close(ctx);
}

void dist_test_leaving(void **state) {
    (void)state;
    weft_context *ctx = NULL;
    float x[2] = {2, 1};
    if (dist_ranks == 1)
        return;
    dist_ok(NULL, weft_open(&ctx, "mpi:cpu:1"));
    if (dist_rank != culprit()) {
        assert_int_equal(weft_sort(ctx, WEFT_ASCENDING, WEFT_F32, 2, x, x), WEFT_ECOMM);
        assert_non_null(strstr(weft_message(ctx), "weft_close"));
    }
    weft_close(ctx);
}
