/* SPDX-License-Identifier: Apache-2.0 */
/* What races against cuSOLVER share: its factorizations by the 64-bit interface. */
#ifndef CUSOLVER_CUH
#define CUSOLVER_CUH

#include <cusolverDn.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>

#include "cublas.cuh"

inline void check_solver(cusolverStatus_t status, const char *doing) {
    if (status == CUSOLVER_STATUS_SUCCESS)
        return;
    fprintf(stderr, "peer: %s: cuSOLVER status %d\n", doing, (int)status);
    exit(1);
}
#define SOLVER(call) check_solver(call, #call)

/* Factors matrices of one order in place, with memory that it took before. */
template <class T>
struct cusolver {
    static constexpr cudaDataType type = sizeof(T) == 8 ? CUDA_R_64F : CUDA_R_32F;
    static constexpr cublasFillMode_t lower = CUBLAS_FILL_MODE_LOWER;
    cusolverDnHandle_t handle = nullptr;
    cusolverDnParams_t parameters = nullptr;
    int64_t n, *pivots = nullptr;
    size_t device_bytes = 0, host_bytes = 0;
    void *device = nullptr, *host = nullptr;
    int *info = nullptr;

    cusolver(const race &r, size_t n_, T *a) : n((int64_t)n_) {
        size_t device_more = 0, host_more = 0;
        SOLVER(cusolverDnCreate(&handle));
        SOLVER(cusolverDnSetStream(handle, r.stream));
        SOLVER(cusolverDnCreateParams(&parameters));
        SOLVER(cusolverDnXgetrf_bufferSize(handle, parameters, n, n, type, a, n, type,
                                           &device_bytes, &host_bytes));
        SOLVER(cusolverDnXpotrf_bufferSize(handle, parameters, lower, n, type, a, n, type,
                                           &device_more, &host_more));
        device_bytes = std::max(device_bytes, device_more);
        host_bytes = std::max(host_bytes, host_more);
        CUDA(cudaMalloc(&device, device_bytes + 1));
        CUDA(cudaMalloc((void **)&pivots, n_ * sizeof *pivots));
        CUDA(cudaMalloc((void **)&info, sizeof *info));
        host = malloc(host_bytes + 1);
    }
    ~cusolver() {
        cudaFree(device);
        cudaFree(pivots);
        cudaFree(info);
        free(host);
        cusolverDnDestroyParams(parameters);
        cusolverDnDestroy(handle);
    }
    cusolver(const cusolver &) = delete;
    cusolver &operator=(const cusolver &) = delete;

    void lu(T *a) {
        SOLVER(cusolverDnXgetrf(handle, parameters, n, n, type, a, n, pivots, type, device,
                                device_bytes, host, host_bytes, info));
    }
    void cholesky(T *a) {
        SOLVER(cusolverDnXpotrf(handle, parameters, lower, n, type, a, n, type, device,
                                device_bytes, host, host_bytes, info));
    }
    /* b = A \ b, by the factors that lu left in a. */
    void substitute(const T *a, T *b, size_t rhs) {
        SOLVER(cusolverDnXgetrs(handle, parameters, CUBLAS_OP_N, n, (int64_t)rhs, type, a, n,
                                pivots, type, b, n, info));
    }
};

inline double now() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

#endif
