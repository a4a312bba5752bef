/* SPDX-License-Identifier: Apache-2.0 */
/* What only a GPU place has: scratch, streams, capture into graphs, and errors that show up later.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture.h"
#include "core/gpu.h"
#include "gpu_name.h"
#include "testing.h"

#ifdef WEFT_CUDA

enum {
    N = 100003
};

static void ok(weft_context *ctx, weft_status status) {
    if (status != WEFT_OK)
        fail_msg("%s: %s", weft_status_name(status), weft_message(ctx));
}

/* Is the device memory all zeros? It is then filled with ones. */
static bool was_zero(weft_context *ctx, void *p, size_t bytes) {
    unsigned char *const host = malloc(bytes);
    ok(ctx, weft_copy(ctx, host, p, bytes));
    bool zero = true;
    for (size_t k = 0; k < bytes; k++)
        zero = zero && host[k] == 0;
    memset(host, 1, bytes);
    ok(ctx, weft_copy(ctx, p, host, bytes));
    free(host);
    return zero;
}

static void test_scratch(weft_context *ctx) {
    if (!ctx->gpu)
        return;
    static const char one, two; /* keys */
    void *first, *same, *grown, *other;
    ok(ctx, wi_gpu_scratch(ctx, &one, 100, &first));
    assert_true(was_zero(ctx, first, 100));
    ok(ctx, wi_gpu_scratch(ctx, &one, WI_SCRATCH_LEAST_BYTES, &same));
    assert_ptr_equal(first, same);
    ok(ctx, wi_gpu_scratch(ctx, &one, WI_SCRATCH_LEAST_BYTES + 1, &grown));
    assert_ptr_not_equal(first, grown);
    assert_true(was_zero(ctx, grown, (size_t)2 * WI_SCRATCH_LEAST_BYTES));
    assert_false(was_zero(ctx, first, 100)); /* replaced by a larger one, but still there */
    ok(ctx, wi_gpu_scratch(ctx, &two, 100, &other));
    assert_true(was_zero(ctx, other, 100));
}

/* What is borrowed is scratch memory if it is little and nothing is reserved. */
static void test_borrowing(weft_context *ctx) {
    if (!ctx->gpu)
        return;
    static const char key;
    void *first, *again, *reserved, *much;
    ok(ctx, wi_gpu_borrow(ctx, &key, 100, &first));
    ok(ctx, wi_gpu_hand_back(ctx, first));
    ok(ctx, wi_gpu_borrow(ctx, &key, 200, &again));
    assert_ptr_equal(again, first);
    ok(ctx, wi_gpu_hand_back(ctx, again));
    ok(ctx, wi_gpu_reserve(ctx, 4096));
    ok(ctx, wi_gpu_borrow(ctx, &key, 100, &reserved));
    assert_ptr_equal(reserved, ctx->gpu->reserve[0].p);
    ok(ctx, wi_gpu_hand_back(ctx, reserved));
    ok(ctx, wi_gpu_release(ctx));
    ok(ctx, wi_gpu_borrow(ctx, &key, WI_BORROWED_SCRATCH + 1, &much));
    assert_ptr_not_equal(much, first);
    ok(ctx, wi_gpu_hand_back(ctx, much));
}

/* Memory comes from the reserve while it has room, and all of it is there again when nothing is
 * taken; else, and afterwards, from the pool. */
static void test_reserve(weft_context *ctx) {
    if (!ctx->gpu)
        return;
    void *first, *second, *other, *again;
    ok(ctx, wi_gpu_reserve(ctx, 4096));
    const char *const begin = ctx->gpu->reserve[0].p, *const end = begin + 4096;
    ok(ctx, wi_gpu_alloc(ctx, &first, 1000));
    ok(ctx, wi_gpu_alloc(ctx, &second, 3072));
    ok(ctx, wi_gpu_alloc(ctx, &other, 1));
    assert_ptr_equal(first, begin);
    assert_ptr_equal(second, begin + 1024);
    assert_true((char *)other < begin || (char *)other >= end);
    ok(ctx, wi_gpu_free(ctx, first));
    ok(ctx, wi_gpu_free(ctx, other));
    ok(ctx, wi_gpu_free(ctx, second));
    ok(ctx, wi_gpu_alloc(ctx, &again, 4096));
    assert_ptr_equal(again, begin);
    ok(ctx, wi_gpu_free(ctx, again));
    ok(ctx, wi_gpu_release(ctx));
    ok(ctx, wi_gpu_alloc(ctx, &again, 100));
    assert_null(ctx->gpu->reserve[0].p);
    ok(ctx, wi_gpu_free(ctx, again));
}

static bool is_refused(const weft_context *ctx, weft_status status) {
    return status == WEFT_EDEVICE && strstr(weft_message(ctx), "forked");
}

/* Runs in a child process: returns 0, or the number of the first check that failed. */
static int look_in_child(weft_context *ctx) {
    float x[3] = {1, 2, 3}, sum = -1;
    void *p = NULL;
    weft_context *other = NULL;
    if (!is_refused(ctx, weft_sum(ctx, 3, x, &sum)) || sum != -1)
        return 1;
    if (!is_refused(ctx, weft_alloc(ctx, &p, 100)) || !is_refused(ctx, weft_sync(ctx)))
        return 2;
    if (!is_refused(NULL, weft_open(&other, TEST_GPU)))
        return 3;
    weft_close(ctx);
    if (weft_open(&other, "cpu:2") != WEFT_OK || weft_sum(other, 3, x, &sum) != WEFT_OK || sum != 6)
        return 4;
    weft_close(other);
    return 0;
}

/* A child of a process that has used CUDA gets an error for any GPU context, and may use the cpu.
 */
static void test_fork(weft_context *ctx) {
    if (!ctx->gpu)
        return;
    float x[3] = {1, 2, 3}, sum = 0;
    int how = 0;
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        _exit(look_in_child(ctx));
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
    ok(ctx, weft_sum(ctx, 3, x, &sum));
    assert_true(sum == 6);
}

/* Device arrays x = 1, 2, 3, ... and y = 0. */
static void make_arrays(weft_context *ctx, float **x, float **y) {
    const float zero = 0, one = 1;
    ok(ctx, weft_alloc(ctx, (void **)x, N * sizeof(float)));
    ok(ctx, weft_alloc(ctx, (void **)y, N * sizeof(float)));
    ok(ctx, weft_iota(ctx, WEFT_F32, N, &one, &one, *x));
    ok(ctx, weft_fill(ctx, WEFT_F32, N, &zero, *y));
}

static void expect_multiple(weft_context *ctx, const float *y, float factor) {
    float *const host = malloc(N * sizeof(float));
    ok(ctx, weft_copy(ctx, host, y, N * sizeof(float)));
    for (size_t k = 0; k < N; k++)
        if (!(host[k] == factor * (float)(k + 1)))
            fail_msg("element %zu is %g, not %g", k, host[k], factor * (float)(k + 1));
    free(host);
}

/* Work stays in order while the context changes streams. */
static void test_streams(weft_context *ctx) {
    if (!ctx->gpu)
        return;
    cudaStream_t streams[3];
    float *x, *y;
    make_arrays(ctx, &x, &y);
    test_cuda_ok(cudaSetDevice(ctx->device));
    for (int k = 0; k < 3; k++)
        test_cuda_ok(cudaStreamCreateWithFlags(&streams[k], cudaStreamNonBlocking));
    for (int k = 0; k < 30; k++) {
        ok(ctx, weft_set_stream(ctx, k % 4 == 3 ? NULL : streams[k % 4]));
        ok(ctx, weft_add(ctx, WEFT_F32, N, x, y, y));
    }
    expect_multiple(ctx, y, 30);
    ok(ctx, weft_set_stream(ctx, streams[0]));
    ok(ctx, weft_set_stream(ctx, streams[0]));
    ok(ctx, weft_free(ctx, x));
    ok(ctx, weft_free(ctx, y));
    ok(ctx, weft_sync(ctx));
    ok(ctx, weft_set_stream(ctx, NULL));
    for (int k = 0; k < 3; k++)
        test_cuda_ok(cudaStreamDestroy(streams[k]));
}

/* What the caller queues on the legacy default stream, as cudaMemcpy and frameworks do, and what
 * the context queues keep the order in which they were queued, for arrays in device memory, in
 * pinned memory, and in both at once. */
static void test_default_stream(weft_context *ctx) {
    if (!ctx->gpu)
        return;
    const size_t bytes = N * sizeof(float);
    const cudaStream_t legacy = NULL;
    float *x, *y, *sent, *back;
    test_cuda_ok(cudaSetDevice(ctx->device));
    test_cuda_ok(cudaMallocHost((void **)&sent, bytes));
    test_cuda_ok(cudaMallocHost((void **)&back, bytes));
    make_arrays(ctx, &x, &y);
    ok(ctx, weft_sync(ctx));
    for (int k = 0; k < N; k++)
        sent[k] = 2 * (float)(k + 1);
    for (int round = 1; round <= 2; round++) {
        test_cuda_ok(cudaMemcpyAsync(x, sent, bytes, cudaMemcpyHostToDevice, legacy));
        ok(ctx, weft_add(ctx, WEFT_F32, N, x, y, y));
        test_cuda_ok(cudaMemcpyAsync(back, y, bytes, cudaMemcpyDeviceToHost, legacy));
        test_cuda_ok(cudaMemsetAsync(y, 0, bytes, legacy));
        ok(ctx, weft_add(ctx, WEFT_F32, N, back, x, x)); /* x = 2 + 2 times 1, 2, 3, ... */
        test_cuda_ok(cudaMemcpyAsync(sent, x, bytes, cudaMemcpyDeviceToHost, legacy));
        ok(ctx, weft_copy(ctx, back, sent, bytes)); /* by this thread: no device memory */
        for (int k = 0; k < N; k++)
            if (!(back[k] == 4 * (float)round * (float)(k + 1)))
                fail_msg("round %d: element %d is %g, not %g", round, k, back[k],
                         4 * (float)round * (float)(k + 1));
        ok(ctx, weft_add(ctx, WEFT_F32, N, y, y, y)); /* 0, whatever the next round does to x */
    }
    ok(ctx, weft_free(ctx, x));
    ok(ctx, weft_free(ctx, y));
    ok(ctx, weft_sync(ctx));
    test_cuda_ok(cudaFreeHost(sent));
    test_cuda_ok(cudaFreeHost(back));
}

/* The calls of the graph, the first of their shape, so that scratch grows during the capture. What
 * cannot be captured is refused, and does not break the capture. */
static void queue_captured(weft_context *ctx, float *x, float *y, float *sum) {
    float host = 0;
    ok(ctx, weft_add(ctx, WEFT_F32, N, x, y, y));
    test_refused(ctx, weft_copy(ctx, &host, y, sizeof host), WEFT_EUNSUPPORTED, "weft_copy",
                 "capture");
    test_refused(ctx, weft_add(ctx, WEFT_F32, 1, &host, y, y), WEFT_EUNSUPPORTED, "weft_add",
                 "capture");
    test_refused(ctx, weft_sync(ctx), WEFT_EUNSUPPORTED, "weft_sync", "capture");
    test_refused(ctx, weft_reduce(ctx, WEFT_SUM, WEFT_F32, N, y, &host), WEFT_EUNSUPPORTED,
                 "weft_reduce", "capture");
    ok(ctx, weft_reduce(ctx, WEFT_SUM, WEFT_F32, N, y, sum));
    ok(ctx, weft_scan(ctx, WEFT_INCLUSIVE, WEFT_MAX, WEFT_F32, N, y, y, NULL));
}

static void test_graph(weft_context *ctx) {
    if (!ctx->gpu)
        return;
    float *x, *y, *sum, got = 0;
    make_arrays(ctx, &x, &y);
    ok(ctx, weft_alloc(ctx, (void **)&sum, sizeof *sum));
    test_capture c = test_capture_begin(ctx);
    queue_captured(ctx, x, y, sum);
    test_capture_end(ctx, &c);
    expect_multiple(ctx, y, 0); /* nothing has run yet */
    for (int k = 1; k <= 3; k++) {
        test_capture_run(&c);
        expect_multiple(ctx, y, (float)k); /* rising, so that the running maximum changes nothing */
        ok(ctx, weft_copy(ctx, &got, sum, sizeof got));
        assert_true(got == (float)(k * ((double)N * (N + 1) / 2)));
    }
    test_capture_drop(&c);
    ok(ctx, weft_free(ctx, x));
    ok(ctx, weft_free(ctx, y));
    ok(ctx, weft_free(ctx, sum));
}

/* ---- calls that take temporary memory, captured ---- */

enum {
    KEYS = 5003,
    BINS = 7,
    FIRST = 5
};

/* What the graph writes, in device memory. */
typedef struct results {
    float sorted[KEYS], merged[KEYS], first[FIRST];
    uint32_t order[KEYS], counts[BINS], values[256];
    unsigned char moved[3 * KEYS];
} results;

/* x = 1, 2, 3, ... in device memory; so are the bounds of one segment. */
static void queue_sorts(weft_context *ctx, const float *x, const uint64_t *offsets, results *r) {
    static const double edge[BINS + 1] = {0, 1, 2, 3, 4, 5, 6, 7};
    const weft_bins even = {.count = BINS, .lo = 0, .hi = KEYS}, edges = {BINS, 0, 1, edge};
    float host[2] = {2, 1};
    uint32_t counted[256];
    test_refused(ctx, weft_sort(ctx, WEFT_ASCENDING, WEFT_F32, 2, host, host), WEFT_EUNSUPPORTED,
                 "weft_sort", "capture");
    test_refused(ctx,
                 weft_histogram(ctx, WEFT_F32, KEYS, 1, x, &edges, WEFT_OVERWRITE, WEFT_U32,
                                r->counts, NULL),
                 WEFT_EUNSUPPORTED, "weft_histogram", "capture");
    test_refused(
        ctx,
        weft_histogram(ctx, WEFT_U8, KEYS, 1, x, NULL, WEFT_OVERWRITE, WEFT_U32, counted, NULL),
        WEFT_EUNSUPPORTED, "weft_histogram", "capture");
    ok(ctx, weft_use(ctx, "sort", "merge"));
    ok(ctx, weft_sort(ctx, WEFT_DESCENDING, WEFT_F32, KEYS, x, r->merged));
    ok(ctx, weft_use(ctx, "sort", "onesweep"));
    ok(ctx, weft_sort(ctx, WEFT_DESCENDING, WEFT_F32, KEYS, x, r->sorted));
    ok(ctx, weft_sort_indices(ctx, WEFT_DESCENDING, WEFT_F32, KEYS, x, WEFT_U32, r->order));
    ok(ctx, weft_sort_pairs(ctx, WEFT_ASCENDING, WEFT_F32, KEYS, r->sorted, r->sorted, 3, r->moved,
                            r->moved));
    ok(ctx, weft_sort_segments(ctx, WEFT_DESCENDING, WEFT_F32, KEYS, r->sorted, r->sorted, 0, NULL,
                               NULL, 1, offsets));
    ok(ctx, weft_top_k(ctx, WEFT_DESCENDING, WEFT_F32, KEYS, x, FIRST, r->first, NULL));
    ok(ctx,
       weft_histogram(ctx, WEFT_F32, KEYS, 1, x, &even, WEFT_OVERWRITE, WEFT_U32, r->counts, NULL));
    ok(ctx, weft_histogram(ctx, WEFT_U8, 4 * KEYS, 1, x, NULL, WEFT_ACCUMULATE, WEFT_U32, r->values,
                           NULL));
}

/* `moved` began with the bytes of 0, 1, 2, ..., and each run of the graph reverses it. */
static void check_sorts(const results *r, const float *x, uint32_t runs) {
    uint32_t counts[BINS] = {0}, values[256] = {0};
    for (size_t k = 0; k < sizeof(float) * KEYS; k++)
        values[((const unsigned char *)x)[k]] += runs;
    for (size_t k = 0; k < KEYS; k++) {
        const uint32_t last = (uint32_t)(KEYS - 1 - k), at = runs % 2 ? last : (uint32_t)k;
        if (!(r->sorted[k] == x[last] && r->merged[k] == x[last]))
            fail_msg("element %zu is %g and %g, not %g", k, r->sorted[k], r->merged[k], x[last]);
        assert_int_equal(r->order[k], last);
        assert_memory_equal(r->moved + 3 * k, &at, 3);
        if (k < FIRST)
            assert_true(r->first[k] == x[last]);
        for (size_t b = BINS; b-- > 0;)
            if (x[k] < KEYS && x[k] >= (float)b * KEYS / BINS) {
                counts[b]++;
                break;
            }
    }
    assert_memory_equal(r->counts, counts, sizeof counts);
    assert_memory_equal(r->values, values, sizeof values);
}

static void test_graph_sorts(weft_context *ctx) {
    if (!ctx->gpu)
        return;
    const uint64_t bounds[2] = {0, KEYS};
    float *const x = malloc(KEYS * sizeof *x);
    results *const got = calloc(1, sizeof *got);
    assert_true(x && got);
    float *there;
    uint64_t *offsets;
    results *out;
    for (uint32_t k = 0; k < KEYS; k++) {
        x[k] = (float)(k + 1);
        memcpy(got->moved + 3 * (size_t)k, &k, 3);
    }
    ok(ctx, weft_alloc(ctx, (void **)&there, KEYS * sizeof *x));
    ok(ctx, weft_alloc(ctx, (void **)&offsets, sizeof bounds));
    ok(ctx, weft_alloc(ctx, (void **)&out, sizeof *out));
    ok(ctx, weft_copy(ctx, there, x, KEYS * sizeof *x));
    ok(ctx, weft_copy(ctx, offsets, bounds, sizeof bounds));
    ok(ctx, weft_copy(ctx, out, got, sizeof *got));
    test_capture c = test_capture_begin(ctx);
    queue_sorts(ctx, there, offsets, out);
    test_capture_end(ctx, &c);
    for (uint32_t k = 1; k <= 2; k++) {
        test_capture_run(&c);
        ok(ctx, weft_copy(ctx, got, out, sizeof *got));
        check_sorts(got, x, k);
    }
    test_capture_drop(&c);
    ok(ctx, weft_free(ctx, there));
    ok(ctx, weft_free(ctx, offsets));
    ok(ctx, weft_free(ctx, out));
    free(x);
    free(got);
}

/* A failed call does not leave an error for the next one. */
static void test_errors(weft_context *ctx) {
    if (!ctx->gpu)
        return;
    int dummy;
    void *p;
    assert_int_equal(wi_cuda(ctx, cudaErrorLaunchOutOfResources, "a launch"), WEFT_EDEVICE);
    assert_non_null(strstr(weft_message(ctx), "cudaErrorLaunchOutOfResources"));
    assert_non_null(strstr(weft_message(ctx), "registers"));
    assert_int_equal(wi_cuda(ctx, cudaErrorMemoryAllocation, "an allocation"), WEFT_ENOMEM);
    assert_int_equal(weft_alloc(ctx, &p, (size_t)1 << 48), WEFT_ENOMEM);
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
    test_refused(ctx, weft_free(ctx, &dummy), WEFT_EARG, "weft_free", "memory");
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
    ok(ctx, weft_alloc(ctx, &p, 100));
    ok(ctx, weft_free(ctx, p));
    ok(ctx, weft_sync(ctx));
}

/* Memory outlives the context it came from, and any context of the place can free it. */
static void test_two_contexts(weft_context *ctx) {
    if (!ctx->gpu)
        return;
    weft_context *const other = test_open(weft_place(ctx));
    float *x, *y;
    make_arrays(other, &x, &y);
    ok(other, weft_add(other, WEFT_F32, N, x, y, y));
    ok(other, weft_sync(other));
    weft_close(other);
    expect_multiple(ctx, y, 1);
    ok(ctx, weft_free(ctx, x));
    ok(ctx, weft_free(ctx, y));
}

/* The caller's current device stays what it was. */
static void test_current_device(weft_context *ctx) {
    int count = 0;
    if (!ctx->gpu || cudaGetDeviceCount(&count) != cudaSuccess || count < 2)
        return;
    const int other = (ctx->device + 1) % count;
    int now = -1;
    float *x, *y;
    test_cuda_ok(cudaSetDevice(other));
    test_cuda_ok(cudaFree(NULL)); /* initialises it */
    make_arrays(ctx, &x, &y);
    ok(ctx, weft_add(ctx, WEFT_F32, N, x, y, y));
    ok(ctx, weft_sync(ctx));
    test_cuda_ok(cudaGetDevice(&now));
    assert_int_equal(now, other);
    expect_multiple(ctx, y, 1);
    ok(ctx, weft_free(ctx, x));
    ok(ctx, weft_free(ctx, y));
    test_cuda_ok(cudaSetDevice(ctx->device));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(test_scratch),        TEST_ON_EACH_PLACE(test_borrowing),
        TEST_ON_EACH_PLACE(test_reserve),        TEST_ON_EACH_PLACE(test_streams),
        TEST_ON_EACH_PLACE(test_default_stream), TEST_ON_EACH_PLACE(test_graph),
        TEST_ON_EACH_PLACE(test_graph_sorts),    TEST_ON_EACH_PLACE(test_errors),
        TEST_ON_EACH_PLACE(test_two_contexts),   TEST_ON_EACH_PLACE(test_current_device),
        TEST_ON_EACH_PLACE(test_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void test_no_cuda(void **state) {
    (void)state;
    weft_context *const ctx = test_open("cpu:1");
    char why[WI_MESSAGE_BYTES];
    assert_false(wi_gpu_present(why, sizeof why));
    assert_non_null(strstr(why, "CUDA"));
    test_refused(ctx, wi_gpu_open(ctx, 0), WEFT_EUNSUPPORTED, "weft_open", "configure");
    assert_non_null(strstr(weft_message(ctx), why));
    weft_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_cuda)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
