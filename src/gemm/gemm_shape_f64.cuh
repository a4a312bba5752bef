/* SPDX-License-Identifier: Apache-2.0 */
/* A block's tiles of f64 on tensor cores. Beside gemm_shapes.cuh, as a source that has it is
 * compiled for each architecture by itself. */
#ifndef WI_GEMM_SHAPE_F64_CUH
#define WI_GEMM_SHAPE_F64_CUH

#include "cuda/tensor_f64.cuh"
#include "gemm/gemm_shapes.cuh"

template <class Extents>
struct wi_gemm_f64_shape : Extents {
    static constexpr int depth = 16;
    using T = double;
    using Out = double;
    using Sum = double;
    using Register = double;
    template <class A, class B>
    using Sums = wi_gemm_tensor_wide<wi_gemm_f64_shape, A, B>;
    static constexpr bool may_lie_along_k = true;
    static constexpr int pad_by_k = 8, pad_across = 2;
    __device__ static void multiply(double (&d)[4], const double (&a)[8], const double (&b)[4]) {
        wi_multiply_f64(d, a, b);
    }
};

#endif
