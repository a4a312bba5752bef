/* SPDX-License-Identifier: Apache-2.0 */
/* A graph of the calls between test_capture_begin and test_capture_end, on a stream of its own. In
 * a build without CUDA no test comes to these. */
#ifndef WEFT_TEST_CAPTURE_H
#define WEFT_TEST_CAPTURE_H

#include "core/gpu.h"
#include "testing.h"

#ifdef WEFT_CUDA

typedef struct test_capture {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
} test_capture;

static inline void test_cuda_ok(cudaError_t error) {
    if (error != cudaSuccess)
        fail_msg("%s", cudaGetErrorString(error));
}

static inline test_capture test_capture_begin(weft_context *ctx) {
    test_capture c;
    test_cuda_ok(cudaSetDevice(ctx->device));
    test_cuda_ok(cudaStreamCreateWithFlags(&c.stream, cudaStreamNonBlocking));
    assert_int_equal(weft_sync(ctx), WEFT_OK);
    test_cuda_ok(cudaStreamBeginCapture(c.stream, cudaStreamCaptureModeGlobal));
    assert_int_equal(weft_set_stream(ctx, c.stream), WEFT_OK); /* in the middle of a capture */
    return c;
}

static inline void test_capture_end(weft_context *ctx, test_capture *c) {
    assert_int_equal(weft_set_stream(ctx, NULL), WEFT_OK);
    test_cuda_ok(cudaStreamEndCapture(c->stream, &c->graph));
    test_cuda_ok(cudaGraphInstantiate(&c->ready, c->graph, 0));
}

static inline void test_capture_run(const test_capture *c) {
    test_cuda_ok(cudaGraphLaunch(c->ready, c->stream));
    test_cuda_ok(cudaStreamSynchronize(c->stream));
}

static inline void test_capture_drop(const test_capture *c) {
    test_cuda_ok(cudaGraphExecDestroy(c->ready));
    test_cuda_ok(cudaGraphDestroy(c->graph));
    test_cuda_ok(cudaStreamDestroy(c->stream));
}

#else

typedef int test_capture;

static inline test_capture test_capture_begin(weft_context *ctx) {
    (void)ctx;
    return 0;
}
static inline void test_capture_end(weft_context *ctx, test_capture *c) {
    (void)ctx, (void)c;
}
static inline void test_capture_run(const test_capture *c) {
    (void)c;
}
static inline void test_capture_drop(const test_capture *c) {
    (void)c;
}

#endif

#endif
