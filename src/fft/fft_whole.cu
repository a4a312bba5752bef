/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of any length from 4096 to 2^14 numbers (f64: 2048 to 2^13) in one block. A line is copied
 * to shared memory, transformed there in place, and copied back. With radices R1, R2, ... and the
 * products m1, m2, ... of those that follow each, stage t does
 *
 *     x(i + j + k mt) = w(Rt mt)^(j k) sum over q < Rt of x(i + j + q mt) w(Rt)^(q k)
 *
 * for j < mt, k < Rt and i a multiple of Rt mt, which leaves X(k1 + R1 k2 + R1 R2 k3 + ...) at
 * place k1 m1 + k2 m2 + k3 m3 + ...: numbers are put in order on their way out. A thread needs
 * registers for one set of Rt numbers, and the code of a radix is that of one set: in Stockham's
 * order, which kernels of shorter lines have, a thread must hold all of its sets at a time. */
#include "fft/fft_block.cuh"
#include "fft/fft_cuda.h"

constexpr unsigned whole_threads = 512;

namespace {

struct whole_stage {
    wi_fft_divisor radix, m;
    unsigned twiddles; /* where its table begins */
};
struct whole_stages {
    unsigned n, count;
    whole_stage at[WI_FFT_MOST_STAGES];
};

} // namespace

template <int R, class T>
static __device__ __forceinline__ void in_place(wi_fft_number<T> *numbers, unsigned n,
                                                const wi_fft_divisor &m,
                                                const wi_fft_number<T> *twiddles) {
    constexpr unsigned gap = wi_fft_gap<T>;
#pragma unroll 1
    for (unsigned b = threadIdx.x; b < n / R; b += blockDim.x) {
        const unsigned block = m.of(b), j = b - block * m.by, first = b + block * m.by * (R - 1);
        T re[R], im[R];
#pragma unroll
        for (int k = 0; k < R; k++) {
            const wi_fft_number<T> v = numbers[wi_fft_spread<gap>(first + (unsigned)k * m.by)];
            re[k] = v.re;
            im[k] = v.im;
        }
        wi_fft_butterfly<R>(re, im);
#pragma unroll
        for (int k = 0; k < R; k++) {
            wi_fft_number<T> v = {re[k], im[k]};
            if (k > 0 && m.by > 1)
                v = wi_fft_product(v, twiddles[(unsigned)(k - 1) * m.by + j]);
            numbers[wi_fft_spread<gap>(first + (unsigned)k * m.by)] = v;
        }
    }
}

/* Where result i is. */
static __device__ __forceinline__ unsigned place_of(const whole_stages &stages, unsigned i) {
    unsigned place = 0;
#pragma unroll 1
    for (unsigned k = 0; k < stages.count; k++) {
        const whole_stage &s = stages.at[k];
        const unsigned rest = s.radix.of(i);
        place += (i - rest * s.radix.by) * s.m.by;
        i = rest;
    }
    return place;
}

#define STAGE(R)                                                                                   \
    case R:                                                                                        \
        in_place<R>(numbers, stages.n, s.m, p.twiddles + s.twiddles);                              \
        break;

template <class T>
static __global__ void __launch_bounds__(whole_threads)
    whole_line(const __grid_constant__ wi_fft_pass<T> p,
               const __grid_constant__ whole_stages stages) {
    WEFT_DYNAMIC_SHARED(shared);
    constexpr bool is_narrow = sizeof(T) == 4; /* arrays may be f16 */
    constexpr unsigned gap = wi_fft_gap<T>;
    const wi_fft_place at = wi_fft_place_of(p.grid, blockIdx.x, -1);
    wi_fft_number<T> *const numbers = (wi_fft_number<T> *)shared;
    for (unsigned i = threadIdx.x; i < stages.n; i += blockDim.x) {
        wi_fft_number<T> v =
            wi_fft_number_at<T>(p.x, is_narrow && p.half_in, at.in + i * p.stride_in);
        v.im *= p.sign_in;
        numbers[wi_fft_spread<gap>(i)] = v;
    }
#pragma unroll 1
    for (unsigned k = 0; k < stages.count; k++) {
        const whole_stage &s = stages.at[k];
        __syncthreads();
        switch (s.radix.by) { WI_FFT_EACH_RADIX(STAGE) }
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < stages.n; i += blockDim.x) {
        const wi_fft_number<T> v = numbers[wi_fft_spread<gap>(place_of(stages, i))];
        wi_fft_set_number<T>(p.y, is_narrow && p.half_out, at.out + i * p.stride_out,
                             {v.re * p.scale_re, v.im * p.scale_im});
    }
}
#undef STAGE

/* The stages, and the same radices backwards: for these there are tables of w(R m)^(j k). */
static whole_stages tell_stages(size_t n, unsigned backwards[WI_FFT_MOST_STAGES]) {
    unsigned radix[WI_FFT_MOST_STAGES], m = 1, twiddles = 0;
    whole_stages s = {};
    s.n = (unsigned)n;
    s.count = (unsigned)wi_fft_radices(n, 16, radix);
    for (unsigned k = s.count; k > 0; k--) {
        const unsigned R = radix[k - 1];
        backwards[s.count - k] = R;
        s.at[k - 1] = {wi_fft_divisor_of(R), wi_fft_divisor_of(m), twiddles};
        twiddles += m > 1 ? (R - 1) * m : 0;
        m *= R;
    }
    return s;
}

/* About 16 numbers for a thread, so that several short lines share a multiprocessor. */
static unsigned threads_for(size_t n) {
    const size_t wanted = (n / 16 + 31) / 32 * 32;
    return wanted < whole_threads ? (unsigned)wanted : whole_threads;
}

template <class T>
static weft_status run_whole(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    unsigned backwards[WI_FFT_MOST_STAGES], blocks = 0;
    wi_fft_pass<T> p;
    const whole_stages s = tell_stages(l->n, backwards);
    const weft_status status =
        wi_fft_pass_of(ctx, l, backwards, s.count, 1, &p, queues ? &blocks : NULL);
    if (status != WEFT_OK || !queues)
        return status;
    return WEFT_LAUNCH(whole_line<T>, ctx, blocks, threads_for(l->n),
                       wi_fft_pitch<T>(s.n) * sizeof(wi_fft_number<T>), p, s);
}

weft_status wi_fft_whole_line(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    return l->type == WEFT_F64 ? run_whole<double>(ctx, l, queues)
                               : run_whole<float>(ctx, l, queues);
}
