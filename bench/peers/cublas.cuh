/* SPDX-License-Identifier: Apache-2.0 */
/* What the races against cuBLAS share. */
#ifndef WEFT_PEER_CUBLAS_CUH
#define WEFT_PEER_CUBLAS_CUH

#include <cublas_v2.h>

#include "peer.cuh"

inline void check_blas(cublasStatus_t status, const char *doing) {
    if (status == CUBLAS_STATUS_SUCCESS)
        return;
    fprintf(stderr, "peer: %s: cuBLAS status %d\n", doing, (int)status);
    exit(1);
}
#define BLAS(call) check_blas(call, #call)

/* Both libraries on the same stream. Where no GPU works the program ends with status 77. */
struct race {
    weft_context *ctx = nullptr;
    cudaStream_t stream = nullptr;
    cublasHandle_t blas = nullptr;

    race() {
        if (weft_open(&ctx, "gpu") != WEFT_OK) {
            fprintf(stderr, "peer: %s\n", weft_message(NULL));
            exit(77);
        }
        CUDA(cudaStreamCreate(&stream));
        check_weft(ctx, weft_set_stream(ctx, stream));
        BLAS(cublasCreate(&blas));
        BLAS(cublasSetStream(blas, stream));
    }
    ~race() {
        cublasDestroy(blas);
        weft_close(ctx);
    }
    race(const race &) = delete;
    race &operator=(const race &) = delete;
};

#endif
