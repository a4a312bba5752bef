/* SPDX-License-Identifier: Apache-2.0 */
/* The products of f64 on tensor cores that compute capability 9.0 has, at twice the rate of the
 * small one: A 16 x 16 and B 16 x 8, or A 16 x 8 and B 8 x 8. With g = lane / 4 and t = lane % 4, a
 * lane holds a[i] = A(g, t + 4 (i / 2)), 8 rows lower for odd i; b[i] = B(t + 4 i, g); and d as
 * tensor.cuh has it. */
#ifndef WI_TENSOR_F64_CUH
#define WI_TENSOR_F64_CUH

#include "cuda/tensor.cuh"

#ifdef WI_SHARED_PTX
#    error                                                                                         \
        "name cuda/tensor_f64.cuh in the .cu file too: the build then compiles it for 9.0 by itself"
#endif

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
__device__ inline void wi_multiply_f64(double (&d)[4], const double (&a)[8], const double (&b)[4]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
                 : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]),
                   "d"(a[7]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
}
__device__ inline void wi_multiply_f64(double (&d)[4], const double (&a)[4], const double (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
}
#elif !defined(WEFT_EMU)
template <int k4>
__device__ inline void wi_multiply_f64(double (&d)[4], const double (&a)[2 * k4],
                                       const double (&b)[k4]) {
    double upper[2] = {d[0], d[1]}, lower[2] = {d[2], d[3]};
    for (int q = 0; q < k4; q++) {
        wi_multiply_f64(upper, a[2 * q], b[q]);
        wi_multiply_f64(lower, a[2 * q + 1], b[q]);
    }
    d[0] = upper[0], d[1] = upper[1], d[2] = lower[0], d[3] = lower[1];
}
#endif

#endif
