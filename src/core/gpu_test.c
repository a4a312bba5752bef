/* SPDX-License-Identifier: Apache-2.0 */
/* What only a GPU place has: scratch, streams, capture into graphs, and errors that come later. */
#include <stdlib.h>
#include <string.h>

#include "core/gpu.h"
#include "testing.h"

#ifdef WEFT_CUDA

enum {
    N = 100003
};

static void ok(weft_context *ctx, weft_status status) {
    if (status != WEFT_OK)
        fail_msg("%s: %s", weft_status_name(status), weft_message(ctx));
}

static void cuda_ok(cudaError_t error) {
    if (error != cudaSuccess)
        fail_msg("%s", cudaGetErrorString(error));
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
    void *first, *same, *grown, *other;
    ok(ctx, wi_gpu_scratch(ctx, WI_SCRATCH_REDUCE, 100, &first));
    assert_true(was_zero(ctx, first, 100));
    ok(ctx, wi_gpu_scratch(ctx, WI_SCRATCH_REDUCE, WI_SCRATCH_LEAST_BYTES, &same));
    assert_ptr_equal(first, same);
    ok(ctx, wi_gpu_scratch(ctx, WI_SCRATCH_REDUCE, WI_SCRATCH_LEAST_BYTES + 1, &grown));
    assert_ptr_not_equal(first, grown);
    assert_true(was_zero(ctx, grown, (size_t)2 * WI_SCRATCH_LEAST_BYTES));
    assert_false(was_zero(ctx, first, 100)); /* outgrown, and still there */
    ok(ctx, wi_gpu_scratch(ctx, WI_SCRATCH_SCAN, 100, &other));
    assert_true(was_zero(ctx, other, 100));
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

/* Work goes on in order while it moves from stream to stream. */
static void test_streams(weft_context *ctx) {
    if (!ctx->gpu)
        return;
    cudaStream_t streams[3];
    float *x, *y;
    make_arrays(ctx, &x, &y);
    cuda_ok(cudaSetDevice(ctx->gpu->device));
    for (int k = 0; k < 3; k++)
        cuda_ok(cudaStreamCreateWithFlags(&streams[k], cudaStreamNonBlocking));
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
        cuda_ok(cudaStreamDestroy(streams[k]));
}

/* The calls of the graph, the first of their shape, so that scratch grows during the capture. What
 * cannot be captured is refused, and does the capture no harm. */
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

static void test_capture(weft_context *ctx) {
    if (!ctx->gpu)
        return;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    float *x, *y, *sum, got = 0;
    make_arrays(ctx, &x, &y);
    ok(ctx, weft_alloc(ctx, (void **)&sum, sizeof *sum));
    cuda_ok(cudaSetDevice(ctx->gpu->device));
    cuda_ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    ok(ctx, weft_sync(ctx));
    cuda_ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    ok(ctx, weft_set_stream(ctx, stream)); /* into the midst of a capture */
    queue_captured(ctx, x, y, sum);
    ok(ctx, weft_set_stream(ctx, NULL));
    cuda_ok(cudaStreamEndCapture(stream, &graph));
    expect_multiple(ctx, y, 0); /* nothing has run yet */
    cuda_ok(cudaGraphInstantiate(&ready, graph, 0));
    for (int k = 1; k <= 3; k++) {
        cuda_ok(cudaGraphLaunch(ready, stream));
        cuda_ok(cudaStreamSynchronize(stream));
        expect_multiple(ctx, y, (float)k); /* rising, so that the running maximum changes nothing */
        ok(ctx, weft_copy(ctx, &got, sum, sizeof got));
        assert_true(got == (float)(k * ((double)N * (N + 1) / 2)));
    }
    cuda_ok(cudaGraphExecDestroy(ready));
    cuda_ok(cudaGraphDestroy(graph));
    cuda_ok(cudaStreamDestroy(stream));
    ok(ctx, weft_free(ctx, x));
    ok(ctx, weft_free(ctx, y));
    ok(ctx, weft_free(ctx, sum));
}

/* A failed call leaves nothing behind for the next one to be blamed for. */
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
    const int other = (ctx->gpu->device + 1) % count;
    int now = -1;
    float *x, *y;
    cuda_ok(cudaSetDevice(other));
    cuda_ok(cudaFree(NULL)); /* brings it into use */
    make_arrays(ctx, &x, &y);
    ok(ctx, weft_add(ctx, WEFT_F32, N, x, y, y));
    ok(ctx, weft_sync(ctx));
    cuda_ok(cudaGetDevice(&now));
    assert_int_equal(now, other);
    expect_multiple(ctx, y, 1);
    ok(ctx, weft_free(ctx, x));
    ok(ctx, weft_free(ctx, y));
    cuda_ok(cudaSetDevice(ctx->gpu->device));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(test_scratch),      TEST_ON_EACH_PLACE(test_streams),
        TEST_ON_EACH_PLACE(test_capture),      TEST_ON_EACH_PLACE(test_errors),
        TEST_ON_EACH_PLACE(test_two_contexts), TEST_ON_EACH_PLACE(test_current_device),
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
    assert_int_equal(wi_gpu_open(ctx, 0), WEFT_EUNSUPPORTED);
    assert_string_equal(weft_message(ctx), why);
    weft_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_cuda)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
