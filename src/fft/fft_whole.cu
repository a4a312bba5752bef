/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of any length from 4096 to 2^14 numbers (f64: 2048 to 2^13) in one block, transformed in
 * place in shared memory. With radices R1, R2, ... and the products m1, m2, ... of those that
 * follow each, stage t does
 *
 *     x(i + j + k mt) = w(Rt mt)^(j k) sum over q < Rt of x(i + j + q mt) w(Rt)^(q k)
 *
 * for j < mt, k < Rt and i a multiple of Rt mt, which leaves X(k1 + R1 k2 + R1 R2 k3 + ...) at
 * place k1 m1 + k2 m2 + k3 m3 + ... The first stage reads global memory. A set of the last one,
 * with R numbers next to each other, has results n / R apart, so that threads next to each other,
 * given sets whose first results are, write what is next to each other. A thread needs registers
 * for one set, and the code of a radix is that of one set: in Stockham's order, which kernels of
 * shorter lines have, a thread must hold all of its sets at a time. */
#include "cuda/anew.cuh"
#include "fft/fft_block.cuh"
#include "fft/fft_cuda.h"

constexpr unsigned whole_threads = 512;
template <class T>
constexpr unsigned whole_blocks = sizeof(T) == 4 ? 2 : 1; /* of a multiprocessor */

namespace {

struct whole_stage {
    wi_fft_divisor radix, m;
    unsigned twiddles; /* where its table begins */
};
struct whole_stages {
    unsigned n, count;
    whole_stage at[WI_FFT_MOST_STAGES];
};

/* Where the last stage's set is whose first result is number i. */
__device__ __forceinline__ unsigned place_of(const whole_stages &stages, unsigned i) {
    unsigned place = 0;
#pragma unroll 1
    for (unsigned k = 0; k + 1 < stages.count; k++) {
        const whole_stage &s = stages.at[k];
        const unsigned rest = s.radix.of(i);
        place += (i - rest * s.radix.by) * s.m.by;
        i = rest;
    }
    return place;
}

/* Set number b of a stage. */
template <class T>
struct whole_line_of {
    static constexpr bool is_narrow = sizeof(T) == 4; /* arrays may be f16 */
    static constexpr unsigned gap = wi_fft_gap<T>;
    const wi_fft_pass<T> &p;
    const wi_fft_place &at;
    const whole_stages &stages;
    wi_fft_number<T> *numbers;

    template <int R>
    __device__ __forceinline__ void load(unsigned b, unsigned m, T *re, T *im) const {
        wi_fft_number<T> v[R];
#pragma unroll
        for (int k = 0; k < R; k++)
            v[k] = wi_fft_number_at<T>(p.x, is_narrow && p.half_in,
                                       at.in + (b + (unsigned)k * m) * p.stride_in);
#pragma unroll
        for (int k = 0; k < R; k++) {
            re[k] = v[k].re;
            im[k] = v[k].im * p.sign_in;
        }
    }
    template <int R>
    __device__ __forceinline__ void fetch(unsigned first, unsigned m, T *re, T *im) const {
#pragma unroll
        for (int k = 0; k < R; k++) {
            const wi_fft_number<T> v = numbers[wi_fft_spread<gap>(first + (unsigned)k * m)];
            re[k] = v.re;
            im[k] = v.im;
        }
    }
    template <int R>
    __device__ __forceinline__ void keep(unsigned first, unsigned j, unsigned m,
                                         const wi_fft_number<T> *twiddles, const T *re,
                                         const T *im) const {
#pragma unroll
        for (int k = 0; k < R; k++) {
            wi_fft_number<T> v = {re[k], im[k]};
            if (k > 0)
                v = wi_fft_product(v, twiddles[(unsigned)(k - 1) * m + j]);
            numbers[wi_fft_spread<gap>(first + (unsigned)k * m)] = v;
        }
    }
    template <int R>
    __device__ __forceinline__ void store(unsigned b, const T *re, const T *im) const {
        const unsigned apart = stages.n / R;
#pragma unroll
        for (int k = 0; k < R; k++)
            wi_fft_set_number<T>(p.y, is_narrow && p.half_out,
                                 at.out + (b + (unsigned)k * apart) * p.stride_out,
                                 {re[k] * p.scale_re, im[k] * p.scale_im});
    }

    template <int R>
    __device__ __forceinline__ void run(const whole_stage &s, bool is_first, bool is_last) const {
#pragma unroll 1
        for (unsigned b = threadIdx.x; b < stages.n / R; b += blockDim.x) {
            const unsigned m = wi_anew(s.m.by), block = s.m.of(b), j = b - block * m;
            const unsigned first = is_last ? place_of(stages, b) : b + block * m * (R - 1);
            T re[R], im[R];
            if (is_first)
                load<R>(b, m, re, im);
            else
                fetch<R>(first, m, re, im);
            wi_fft_butterfly<R>(re, im);
            if (is_last)
                store<R>(b, re, im);
            else
                keep<R>(first, j, m, p.twiddles + s.twiddles, re, im);
        }
    }
};

} // namespace

#define STAGE(R)                                                                                   \
    case R:                                                                                        \
        line.template run<R>(s, k == 0, k + 1 == stages.count);                                    \
        break;

template <class T>
static __global__ void __launch_bounds__(whole_threads, whole_blocks<T>)
    whole_line(const __grid_constant__ wi_fft_pass<T> p,
               const __grid_constant__ whole_stages stages) {
    WEFT_DYNAMIC_SHARED(shared);
    const wi_fft_place at = wi_fft_place_of(p.grid, blockIdx.x, -1);
    const whole_line_of<T> line = {p, at, stages, (wi_fft_number<T> *)shared};
#pragma unroll 1
    for (unsigned k = 0; k < stages.count; k++) {
        const whole_stage &s = stages.at[k];
        if (k > 0)
            __syncthreads();
        switch (s.radix.by) { WI_FFT_EACH_RADIX(STAGE) }
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

/* About 16 numbers for a thread at a time, and sets of 16 in as few turns as can be. */
static unsigned threads_for(size_t n) {
    const size_t sets = n / 16, turns = (sets + whole_threads - 1) / whole_threads;
    return (unsigned)((sets + 32 * turns - 1) / (32 * turns) * 32);
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
