/* SPDX-License-Identifier: Apache-2.0 */
/* f64 on tensor cores. */
#include "cuda/tensor_f64.cuh"
#include "gemm/gemm_launch.cuh"

template <class Extents>
struct tensor_shape : Extents {
    static constexpr int depth = 16;
    using T = double;
    using Out = double;
    using Sum = double;
    using Register = double;
    template <class A, class B>
    using Sums = wi_gemm_tensor_wide<tensor_shape, A, B>;
    static constexpr bool may_lie_along_k = true;
    static constexpr int pad_by_k = 8, pad_across = 2;
    __device__ static void multiply(double (&d)[4], const double (&a)[8], const double (&b)[4]) {
        wi_multiply_f64(d, a, b);
    }
};

using large = tensor_shape<wi_gemm_extents<64, 128, 32, 2, 4, 3, 1>>;
using small = tensor_shape<wi_gemm_extents<64, 64, 32, 2, 2, 3, 2>>;
/* For blocks with less shared memory. */
using least = tensor_shape<wi_gemm_extents<64, 64, 32, 2, 2, 2, 1>>;

weft_status wi_gemm_tensor_f64(weft_context *ctx, const wi_gemm_args *g) {
    if (!wi_gemm_has_room<small>(ctx))
        return wi_gemm_by_layout<least>(ctx, g);
    return wi_gemm_by_size<large, small>(ctx, g);
}
