/* SPDX-License-Identifier: Apache-2.0 */
/* A batch of products as kernels take it. */
#ifndef WI_GEMM_BATCH_CUDA_CUH
#define WI_GEMM_BATCH_CUDA_CUH

#include "gemm/gemm_batch.h"
#include "gemm/gemm_cuda.cuh"

/* Where the matrices of an operand are. */
struct wi_gemm_batch_place {
    const char *first;
    size_t stride_bytes;
    const char *const *each; /* the addresses; or NULL */

    __device__ const char *at(size_t i) const {
        return each ? each[i] : first + i * stride_bytes;
    }
};

template <class T, class Out, class Sum>
struct wi_gemm_batch_params {
    wi_gemm_params<T, Out, Sum> one; /* without the matrices */
    size_t count;
    bool transposed_a, transposed_b;
    bool c_is_f32; /* though A and B are 16-bit floats */
    wi_gemm_batch_place a, b, c;
    size_t k_of_all;  /* not 0: products are slices of one, whose last may have less than k */
    bool c_by_rows;   /* C is stored as its transpose */
    bool c_is_padded; /* there is room for whole tiles of C */

    /* How many products of elements product i adds up. */
    __device__ size_t depth(size_t i) const {
        const size_t left = k_of_all - i * one.k;
        return k_of_all > 0 && left < one.k ? left : one.k;
    }

    /* Product i. */
    __device__ wi_gemm_params<T, Out, Sum> at(size_t i) const {
        wi_gemm_params<T, Out, Sum> g = one;
        char *const to = (char *)c.at(i);
        g.a = (const T *)a.at(i);
        g.b = (const T *)b.at(i);
        g.c = c_is_f32 ? NULL : (Out *)to;
        g.c_f32 = c_is_f32 ? (float *)to : NULL;
        return g;
    }
};

inline wi_gemm_batch_place wi_gemm_batch_place_of(const wi_gemm_matrices &m, weft_type type) {
    return {(const char *)m.first, m.stride * weft_type_size(type), (const char *const *)m.each};
}

/* Without products to add up, alpha does not count. */
template <class T, class Out, class Sum>
wi_gemm_batch_params<T, Out, Sum> wi_gemm_batch_typed(const wi_gemm_batch_args *g) {
    wi_gemm_params<T, Out, Sum> one = wi_gemm_typed<T, Out, Sum>(&g->one);
    if (one.k == 0)
        one.alpha = 0;
    return {one,
            g->count,
            g->one.transposed_a,
            g->one.transposed_b,
            g->one.out == WEFT_F32 && g->one.type != WEFT_F32,
            wi_gemm_batch_place_of(g->a, g->one.type),
            wi_gemm_batch_place_of(g->b, g->one.type),
            wi_gemm_batch_place_of(g->c, g->one.out),
            0,
            false,
            false};
}

/* The types' own, each compiled apart. */
weft_status wi_gemm_batch_tiles_f32(weft_context *ctx, const wi_gemm_batch_args *g);
weft_status wi_gemm_batch_tiles_f64(weft_context *ctx, const wi_gemm_batch_args *g);

#endif
