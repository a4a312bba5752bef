/* SPDX-License-Identifier: Apache-2.0 */
/* What the races of triangles share: cuBLAS's trsm by type, matrices near the identity, and a
 * comparison. */
#ifndef WEFT_PEER_TRIANGLE_RACE_CUH
#define WEFT_PEER_TRIANGLE_RACE_CUH

#include "cublas.cuh"

inline cublasStatus_t blas_trsm(cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t uplo,
                                cublasOperation_t op, int m, int n, const double *a, int lda,
                                double *b) {
    const double one = 1;
    return cublasDtrsm(h, side, uplo, op, CUBLAS_DIAG_NON_UNIT, m, n, &one, a, lda, b, m);
}
inline cublasStatus_t blas_trsm(cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t uplo,
                                cublasOperation_t op, int m, int n, const float *a, int lda,
                                float *b) {
    const float one = 1;
    return cublasStrsm(h, side, uplo, op, CUBLAS_DIAG_NON_UNIT, m, n, &one, a, lda, b, m);
}
/* Both triangles; sums beside the diagonal are a fraction of it. */
template <class T>
__global__ void draw_triangle(T *a, size_t order, uint64_t seed) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t e = (size_t)blockIdx.x * blockDim.x + threadIdx.x; e < order * order; e += stride)
        a[e] = e % order == e / order ? (T)1 : (T)draw(seed, e) / (T)(16 * order);
}

template <class T>
__global__ void count_off(const T *a, const T *b, size_t n, T tolerance,
                          unsigned long long *count) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        const T off = a[i] < b[i] ? b[i] - a[i] : a[i] - b[i], size = b[i] < 0 ? -b[i] : b[i];
        if (!(off <= tolerance * (size + 1)))
            atomicAdd(count, 1ull);
    }
}

template <class T>
bool is_near(const T *a, const T *b, size_t n) {
    device_array<unsigned long long> count(1);
    CUDA(cudaMemset(count.p, 0, sizeof(unsigned long long)));
    CUDA(cudaDeviceSynchronize());
    count_off<<<filling_blocks, filling_threads>>>(a, b, n, (T)(sizeof(T) == 8 ? 1e-12 : 1e-4),
                                                   count.p);
    unsigned long long off = 1;
    CUDA(cudaMemcpy(&off, count.p, sizeof off, cudaMemcpyDefault));
    return off == 0;
}

struct variant {
    bool right, upper, transposed;
};

inline unsigned flags_of(const variant &v) {
    return (v.right ? WEFT_RIGHT : 0) | (v.upper ? WEFT_UPPER_TRIANGLE : 0) |
           (v.transposed ? WEFT_TRANSPOSE_A : 0);
}

#endif
