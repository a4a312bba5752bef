/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms of 64 numbers in the registers of a thread, beside those of the other radices. */
#ifndef WI_FFT_BUTTERFLY_64_CUH
#define WI_FFT_BUTTERFLY_64_CUH

#include "fft/fft_block.cuh"
#include "fft/fft_few.cuh"

/* The cosine of 2 pi m / 64. */
__host__ __device__ constexpr double wi_fft_cosine_64(int m) {
    constexpr double c[] = {1,
                            0.99518472667219688624,
                            0.98078528040323044913,
                            0.95694033573220886494,
                            0.92387953251128675613,
                            0.88192126434835502971,
                            0.83146961230254523708,
                            0.77301045336273696081,
                            0.70710678118654752440,
                            0.63439328416364549822,
                            0.55557023301960222474,
                            0.47139673682599764856,
                            0.38268343236508977173,
                            0.29028467725446236764,
                            0.19509032201612826785,
                            0.098017140329560601994,
                            0};
    const int near = m % 64 > 32 ? 64 - m % 64 : m % 64;
    return near > 16 ? -c[32 - near] : c[near];
}

/* 64 = 8 x 8. */
static __device__ __forceinline__ void wi_fft_butterfly_64(float *re, float *im) {
    using number = wi_fft_number<float>;
    float r[8][8], i[8][8]; /* result c of transform a, then d of transform c */
#pragma unroll
    for (int a = 0; a < 8; a++) {
        float r8[8], i8[8];
#pragma unroll
        for (int b = 0; b < 8; b++) {
            r8[b] = re[a + 8 * b];
            i8[b] = im[a + 8 * b];
        }
        wi_fft_butterfly<8>(r8, i8);
#pragma unroll
        for (int c = 0; c < 8; c++) {
            const number w = {(float)wi_fft_cosine_64(a * c), (float)wi_fft_cosine_64(a * c + 16)};
            const number v =
                a * c == 0 ? number{r8[c], i8[c]} : wi_fft_product(number{r8[c], i8[c]}, w);
            r[c][a] = v.re;
            i[c][a] = v.im;
        }
    }
#pragma unroll
    for (int c = 0; c < 8; c++) {
        wi_fft_butterfly<8>(r[c], i[c]);
#pragma unroll
        for (int d = 0; d < 8; d++) {
            re[c + 8 * d] = r[c][d];
            im[c + 8 * d] = i[c][d];
        }
    }
}

template <int R>
__device__ __forceinline__ void wi_fft_butterfly_of(float *re, float *im) {
    if constexpr (R == 64)
        wi_fft_butterfly_64(re, im);
    else
        wi_fft_butterfly<R>(re, im);
}

#endif
