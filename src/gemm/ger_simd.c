/* SPDX-License-Identifier: Apache-2.0 */
/* Columns plus multiples of a vector for one instruction set. */
#include "gemm/ger_simd.h"

#include "cpu/half_simd.h"
#include "cpu/lanes.h"
#include "gemm/vector_simd.h"

static void add_f64(size_t n, const void *from, double by, void *to) {
    const double *const x = from;
    double *const a = to;
    const wi_doubles factor = wi_splat(by);
    size_t i = 0;
    for (; i + WI_WIDE <= n; i += WI_WIDE)
        wi_store(a + i, wi_plus_product(wi_load(x + i), factor, wi_load(a + i)));
    for (; i < n; i++)
        a[i] = fma(x[i], by, a[i]);
}

static void add_f32(size_t n, const void *from, double by, void *to) {
    const float *const x = from, word = (float)by;
    float *const a = to;
    const wi_floats factor = wi_splat_f32(word);
    size_t i = 0;
    for (; i + WI_WIDE_F32 <= n; i += WI_WIDE_F32) {
        wi_floats_there *const at = (wi_floats_there *)(a + i);
        *at = wi_plus_product_f32(*(const wi_floats_there *)(x + i), factor, *at);
    }
    for (; i < n; i++)
        a[i] = fmaf(x[i], word, a[i]);
}

static void add_f16(size_t n, const void *x, double by, void *a) {
    float wide[WI_GER_STRIP];
    wi_f16_widen_run(n, a, wide);
    add_f32(n, x, by, wide);
    wi_f16_narrow_run(n, wide, a);
}

static void add_bf16(size_t n, const void *x, double by, void *a) {
    float wide[WI_GER_STRIP];
    wi_bf16_widen_run(n, a, wide);
    add_f32(n, x, by, wide);
    wi_bf16_narrow_run(n, wide, a);
}

const wi_ger_simd WI_FOR_ISA(wi_ger_simd) = {
    .kernel = {[WEFT_F64] = {add_f64, wi_take_f64},
               [WEFT_F32] = {add_f32, wi_take_f32},
               [WEFT_F16] = {add_f16, wi_take_f16},
               [WEFT_BF16] = {add_bf16, wi_take_bf16}},
};
