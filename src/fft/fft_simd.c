/* SPDX-License-Identifier: Apache-2.0 */
/* The work of a thread of fft, for one instruction set. */
#include "fft/fft_simd.h"

#include "cpu/lanes.h"

#define SHUFFLE __builtin_shufflevector
#define LOW_2(a, b) SHUFFLE(a, b, 0, 2)
#define HIGH_2(a, b) SHUFFLE(a, b, 1, 3)
#define LOW_4(a, b) SHUFFLE(a, b, 0, 4, 1, 5)
#define HIGH_4(a, b) SHUFFLE(a, b, 2, 6, 3, 7)
#define EVEN_4(a, b) SHUFFLE(a, b, 0, 2, 4, 6)
#define ODD_4(a, b) SHUFFLE(a, b, 1, 3, 5, 7)
#define LOW_8(a, b) SHUFFLE(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH_8(a, b) SHUFFLE(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define EVEN_8(a, b) SHUFFLE(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define ODD_8(a, b) SHUFFLE(a, b, 1, 3, 5, 7, 9, 11, 13, 15)
#define LOW_16(a, b) SHUFFLE(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH_16(a, b) SHUFFLE(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define EVEN_16(a, b) SHUFFLE(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define ODD_16(a, b) SHUFFLE(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)

#if WI_VECTOR_BYTES == 64
#    define F32(what) what##_16
#    define F64(what) what##_8
#elif WI_VECTOR_BYTES == 32
#    define F32(what) what##_8
#    define F64(what) what##_4
#else
#    define F32(what) what##_4
#    define F64(what) what##_2
#    define EVEN_2 LOW_2
#    define ODD_2 HIGH_2
#endif

#define INLINE WI_INLINE
#include "fft/fft_roots.h"
#define V wi_floats
#define NAME(f) f##_f32
#define UNROLL _Pragma("GCC unroll 16")
#define SPLAT(x) wi_splat_f32((float)(x))
#define PLUS_PRODUCT wi_plus_product_f32
#include "fft/fft_butterflies.inc"
#define INLINE WI_INLINE
#define V wi_doubles
#define NAME(f) f##_f64
#define UNROLL _Pragma("GCC unroll 16")
#define SPLAT(x) wi_splat(x)
#define PLUS_PRODUCT wi_plus_product
#include "fft/fft_butterflies.inc"

#define T float
#define V wi_floats
#define NAME(f) f##_f32
#define LOW F32(LOW)
#define HIGH F32(HIGH)
#define EVEN F32(EVEN)
#define ODD F32(ODD)
#define BROADCAST wi_splat_f32
#define PRODUCT_SUM wi_plus_product_f32
#include "fft/fft_simd_lines.inc"

#define T double
#define V wi_doubles
#define NAME(f) f##_f64
#define LOW F64(LOW)
#define HIGH F64(HIGH)
#define EVEN F64(EVEN)
#define ODD F64(ODD)
#define BROADCAST wi_splat
#define PRODUCT_SUM wi_plus_product
#include "fft/fft_simd_lines.inc"

const wi_fft_simd WI_FOR_ISA(wi_fft_simd) = {
    .bytes = WI_VECTOR_BYTES, .f32 = transform_lines_f32, .f64 = transform_lines_f64};
