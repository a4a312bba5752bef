/* SPDX-License-Identifier: Apache-2.0 */
/* exact by digits, to be read and measured: every element is added to a wide integer of its block,
 * by three atomic additions to shared memory. */
#include "exact/exact_cuda.cuh"

constexpr int digit_threads = 256;
constexpr size_t digit_blocks = 1024;

/* Adds x y to the block's digits. */
__device__ static void add_digits(unsigned long long *digits, double x, double y) {
    int64_t value[5] = {};
    uint64_t m, n;
    const int exponent =
        wi_exact_split(wi_exact_bits(x), &m) + wi_exact_split(wi_exact_bits(y), &n);
    const bool negative = (wi_exact_bits(x) ^ wi_exact_bits(y)) >> 63;
    const wi_exact_u128 whole = (wi_exact_u128)m * n;
    const int first = (exponent - WI_EXACT_UNIT) / 32;
    wi_exact_add_integer(value, negative, (uint64_t)whole, exponent - 32 * first);
    wi_exact_add_integer(value + 2, negative, (uint64_t)(whole >> 64), exponent - 32 * first);
    for (int k = 0; k < 5; k++) {
        if (value[k] != 0)
            atomicAdd(&digits[first + k], (unsigned long long)value[k]);
    }
}

template <class T>
__global__ void __launch_bounds__(digit_threads)
    exact_digits(wi_exact_params p, bool magnitudes, bool products) {
    WEFT_SHARED(unsigned long long, digits, [WI_EXACT_DIGITS]);
    const T *const x = (const T *)p.x, *const y = (const T *)p.y;
    const size_t stride = (size_t)gridDim.x * digit_threads;
    for (int k = (int)threadIdx.x; k < WI_EXACT_DIGITS; k += digit_threads)
        digits[k] = 0;
    __syncthreads();
    bool other = false;
    for (size_t i = (size_t)blockIdx.x * digit_threads + threadIdx.x; i < p.n; i += stride) {
        const double a = magnitudes ? fabs((double)x[i]) : (double)x[i];
        const double b = products ? (double)y[i] : 1;
        const double product = a * b;
        other |= wi_exact_bits(product) != (uint64_t)1 << 63;
        if (product - product == 0)
            add_digits(digits, a, b);
        else
            wi_exact_to_sum(p.sum, a, b);
    }
    if (other)
        wi_exact_note_other(p.sum);
    __syncthreads();
    for (int k = (int)threadIdx.x; k < WI_EXACT_DIGITS; k += digit_threads)
        wi_exact_to_word(p.sum, k, (int64_t)digits[k]);
    wi_exact_end(p);
}

weft_status wi_exact_digits(weft_context *ctx, const void *arguments) {
    const wi_exact_args *const args = (const wi_exact_args *)arguments;
    const size_t useful = (args->n + digit_threads - 1) / digit_threads;
    const size_t blocks = useful < digit_blocks ? useful ? useful : 1 : digit_blocks;
    const bool magnitudes = args->terms == WI_EXACT_NRM1;
    const bool products = args->terms == WI_EXACT_SQUARES || args->terms == WI_EXACT_DOT;
    void *scratch;
    const weft_status status =
        wi_gpu_scratch(ctx, &wi_exact_ladder, sizeof(wi_exact_shared_sum), &scratch);
    if (status != WEFT_OK)
        return status;
    const wi_exact_params p = wi_exact_params_of(args, scratch);
    if (args->type == WEFT_F64)
        return WEFT_LAUNCH(exact_digits<double>, ctx, (unsigned)blocks, digit_threads, 0, p,
                           magnitudes, products);
    return WEFT_LAUNCH(exact_digits<float>, ctx, (unsigned)blocks, digit_threads, 0, p, magnitudes,
                       products);
}
