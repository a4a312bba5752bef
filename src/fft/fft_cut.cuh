/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels share whose lines are cut in two and exchanged within a cluster. */
#ifndef WI_FFT_CUT_CUH
#define WI_FFT_CUT_CUH

#include "cuda/bulk.cuh"
#include "cuda/cluster.cuh"
#include "cuda/message.cuh"
#include "fft/fft_block.cuh"

/* Radices of one of the two factors. */
template <int... radices>
struct wi_fft_cut {
    static constexpr unsigned n = (1 * ... * radices), stages = sizeof...(radices);
    static constexpr unsigned radix[] = {radices...};
    static constexpr unsigned last = radix[stages - 1];
    static constexpr unsigned count_twiddles() {
        unsigned before = 1, count = 0;
        for (const unsigned r : radix) {
            count += before > 1 ? (r - 1) * before : 0;
            before *= r;
        }
        return count;
    }
};

/* Makes a barrier that ends when so many numbers have been sent here. */
template <class T>
__device__ __forceinline__ void wi_fft_expect(wi_barrier *b, unsigned numbers) {
    if (threadIdx.x != 0)
        return;
    wi_barrier_init(b, 1);
    wi_barrier_publish();
    wi_barrier_arrive_expect(b, numbers * (uint32_t)sizeof(wi_fft_number<T>));
}

/* Number v to that place of block `rank`, and counted by its barrier. */
__device__ __forceinline__ void wi_fft_send(wi_fft_number<float> *to, wi_fft_number<float> v,
                                            wi_barrier *b, unsigned rank) {
    wi_send_late((wi_short_message *)to, wi_bit_cast<wi_short_message>(v), b, rank);
}
__device__ __forceinline__ void wi_fft_send(wi_fft_number<double> *to, wi_fft_number<double> v,
                                            wi_barrier *b, unsigned rank) {
    wi_send_late((wi_message *)to, wi_bit_cast<wi_message>(v), b, rank);
}

#endif
