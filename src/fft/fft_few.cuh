/* SPDX-License-Identifier: Apache-2.0 */
/* Twiddles of a set, most of them products of two that are loaded: where lines are long, a table of
 * all has as many bytes as the line. */
#ifndef WI_FFT_FEW_CUH
#define WI_FFT_FEW_CUH

#include "fft/fft_cuda.cuh"

/* w^k for 0 < k < R as w^(a + q b). */
template <int R, class T>
struct wi_fft_few {
    static constexpr int q = R <= 5 ? R : R <= 10 ? 3 : R <= 16 ? 4 : R <= 27 ? 5 : R <= 32 ? 6 : 7;
    static constexpr int small = q - 1, large = (R - 1) / q;
    wi_fft_number<T> a[small], b[large > 0 ? large : 1];

    /* Of a table whose rows have so many numbers. */
    __device__ __forceinline__ void load(const wi_fft_number<T> *table, unsigned before) {
#pragma unroll
        for (int k = 0; k < small; k++)
            a[k] = table[(unsigned)k * before];
#pragma unroll
        for (int k = 0; k < large; k++)
            b[k] = table[(unsigned)(q * (k + 1) - 1) * before];
    }
    __device__ __forceinline__ wi_fft_number<T> at(int k) const {
        if (k < q)
            return a[k - 1];
        return k % q == 0 ? b[k / q - 1] : wi_fft_product(a[k % q - 1], b[k / q - 1]);
    }
};

#endif
