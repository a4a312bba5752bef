/* SPDX-License-Identifier: Apache-2.0 */
/* How large tiles are, for each type: figures measured on an H200, in the README. */
#ifndef WI_GEMM_SHAPES_CUH
#define WI_GEMM_SHAPES_CUH

#include <type_traits>

#include "gemm/gemm_tile.cuh"
#include "gemm/gemm_warp.cuh"

template <int m, int n, int k, int warps_m_, int warps_n_, int stages_, int blocks_,
          bool by_elements_ = false, int warps_k_ = 1>
struct wi_gemm_extents {
    static constexpr bool by_elements = by_elements_;
    static constexpr int tile_m = m, tile_n = n, tile_k = k;
    static constexpr int warps_m = warps_m_, warps_n = warps_n_, warps_k = warps_k_;
    static constexpr int stages = stages_, blocks = blocks_;
};

/* By fused multiply-adds. */
template <class Element, class Extents>
struct wi_gemm_fma_shape : Extents {
    using T = Element;
    using Out = Element;
    using Sum = Element;
    template <class A, class B>
    using Sums = wi_gemm_fma<wi_gemm_fma_shape, A, B>;
    static constexpr bool may_lie_along_k = false;
    static constexpr int pad_by_k = 0, pad_across = 16 / sizeof(T);
};

template <class Extents>
struct wi_gemm_tf32_shape : Extents {
    using T = float;
    using Out = float;
    using Sum = float;
    using Register = uint32_t;
    static constexpr int depth = 8;
    template <class A, class B>
    using Sums = wi_gemm_tensor_wide<wi_gemm_tf32_shape, A, B>;
    static constexpr bool may_lie_along_k = true;
    static constexpr int pad_by_k = 8, pad_across = 4;
    __device__ static void multiply(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
        wi_multiply_tf32(d, a, b);
    }
};

template <class Element, class Extents>
struct wi_gemm_half_shape : Extents {
    using T = Element;
    using Out = Element;
    using Sum = float;
    template <class A, class B>
    using Sums = wi_gemm_tensor_half<wi_gemm_half_shape, A, B>;
    static constexpr bool may_lie_along_k = true;
    static constexpr int pad_by_k = 8, pad_across = 8;
    __device__ static void multiply(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
        wi_multiply_half<T>(d, a, b);
    }
};

template <class Extents>
struct wi_gemm_bytes_shape : Extents {
    using T = int8_t;
    using Out = int32_t;
    using Sum = int32_t;
    template <class A, class B>
    using Sums = wi_gemm_tensor_bytes<wi_gemm_bytes_shape, A, B>;
    static constexpr bool may_lie_along_k = true;
    static constexpr int pad_by_k = 16, pad_across = 16;
    __device__ static void multiply(int32_t (&d)[4], const uint32_t (&a)[4],
                                    const uint32_t (&b)[2]) {
        wi_multiply_int8(d, a, b);
    }
};

#endif
