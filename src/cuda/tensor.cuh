/* SPDX-License-Identifier: Apache-2.0 */
/* Products of small matrices by a whole warp on tensor cores, D = A B + C, and loads that
 * distribute matrices from shared memory over the lanes. With g = lane / 4 and t = lane % 4, a lane
 * holds
 *
 *   16-bit floats, A 16 x 16, B 16 x 8: two elements a register, side by side along k:
 *          a[0..3] = A(g, 2t), A(g + 8, 2t), A(g, 2t + 8), A(g + 8, 2t + 8); b[0..1] = B(2t, g),
 *          B(2t + 8, g)
 *   tf32,  A 16 x 8, B 8 x 8: a[0..3] = A(g, t), A(g + 8, t), A(g, t + 4), A(g + 8, t + 4);
 *          b[0..1] = B(t, g), B(t + 4, g); floats' bits, of which the low 13 do not count
 *   both:  c[0..3] and d[0..3] = D(g, 2t), D(g, 2t + 1), D(g + 8, 2t), D(g + 8, 2t + 1), in f32
 *   int8,  A 16 x 32, B 32 x 8: four elements a register, side by side along k: a[0..3] =
 *          A(g, 4t), A(g + 8, 4t), A(g, 4t + 16), A(g + 8, 4t + 16); b[0..1] = B(4t, g),
 *          B(4t + 16, g); c and d as above, in int32, which wraps
 *   f64,   A 8 x 4, B 4 x 8: a = A(g, t), b = B(t, g), d[0..1] = D(g, 2t), D(g, 2t + 1)
 *
 * The hardware decides in which order the products of an element are added. */
#ifndef WI_TENSOR_CUH
#define WI_TENSOR_CUH

#include <stdint.h>

#include "cuda/types.cuh"
#include "cuda/warp.cuh"

#ifdef WEFT_EMU
#    include "cuda/tensor_emu.cuh"
#else
/* D += A B. The operands have 16 bits; sums and products are f32. */
__device__ inline void wi_multiply_f16(float (&d)[4], const uint32_t (&a)[4],
                                       const uint32_t (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ inline void wi_multiply_bf16(float (&d)[4], const uint32_t (&a)[4],
                                        const uint32_t (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ inline void wi_multiply_tf32(float (&d)[4], const uint32_t (&a)[4],
                                        const uint32_t (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ inline void wi_multiply_int8(int32_t (&d)[4], const uint32_t (&a)[4],
                                        const uint32_t (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
/* D = A B + C, with A of unsigned bytes. */
__device__ inline void wi_multiply_bytes(int32_t (&d)[4], const uint32_t (&a)[4],
                                         const uint32_t (&b)[2], const int32_t (&c)[4]) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]),
          "r"(c[2]), "r"(c[3]));
}
__device__ inline void wi_multiply_f64(double (&d)[2], double a, double b) {
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(d[0]), "+d"(d[1])
                 : "d"(a), "d"(b));
}

/* Loads four 8 x 8 matrices of 16-bit elements: lane 8 i + r gives the address of row r of matrix i
 * in shared memory, 16 bytes aligned. part[i] = elements 2t and 2t + 1 of row g of matrix i. */
__device__ inline void wi_load_matrices(uint32_t (&part)[4], const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(part[0]), "=r"(part[1]), "=r"(part[2]), "=r"(part[3])
                 : "r"((uint32_t)__cvta_generic_to_shared(row))
                 : "memory");
}
/* The same, transposed: part[i] = element g of rows 2t and 2t + 1. */
__device__ inline void wi_load_matrices_transposed(uint32_t (&part)[4], const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(part[0]), "=r"(part[1]), "=r"(part[2]), "=r"(part[3])
                 : "r"((uint32_t)__cvta_generic_to_shared(row))
                 : "memory");
}
/* The way back of wi_load_matrices; from compute capability 9.0 on. */
__device__ inline void wi_store_matrices(const uint32_t (&part)[4], void *row) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 :
                 : "r"((uint32_t)__cvta_generic_to_shared(row)), "r"(part[0]), "r"(part[1]),
                   "r"(part[2]), "r"(part[3])
                 : "memory");
}

/* Two f32, rounded to bf16, as a register has them: `low` in its low half. */
__device__ inline uint32_t wi_pack_bf16(float low, float high) {
    uint32_t both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}
#endif

/* The two bf16 of a register. */
__device__ inline float wi_low_bf16(uint32_t both) {
    return wi_bit_cast<float>(both << 16);
}
__device__ inline float wi_high_bf16(uint32_t both) {
    return wi_bit_cast<float>(both & 0xffff0000u);
}

/* The product of f16 or bf16, as T is. */
template <class T>
__device__ inline void wi_multiply_half(float (&d)[4], const uint32_t (&a)[4],
                                        const uint32_t (&b)[2]) {
    if constexpr (std::is_same_v<T, __half>)
        wi_multiply_f16(d, a, b);
    else
        wi_multiply_bf16(d, a, b);
}

#endif
