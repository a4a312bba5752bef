/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of any length beyond 4096 numbers (f64: 2048 to 2^13) in one block, transformed in place in
 * shared memory. With radices R1, R2, ... and the products m1, m2, ... of those that follow each,
 * stage t does
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
#include "cuda/beyond.cuh"
#include "cuda/bulk.cuh"
#include "fft/fft_ahead.cuh"
#include "fft/fft_any_plan.cuh"
#include "fft/fft_cuda.h"
#include "fft/fft_few.cuh"

constexpr unsigned whole_threads = 512; /* of a multiprocessor, in one block or several */

namespace {

/* In shared memory one place stays empty after each m1 numbers if m1 is even: so far apart do
 * threads of the last stage read that are next to each other. */
struct whole_stage {
    wi_fft_divisor radix, m;
    unsigned step;     /* m, in shared memory */
    unsigned twiddles; /* where its table begins */
};
struct whole_stages {
    unsigned n, count, gaps; /* 0 or 1 */
    whole_stage at[WI_FFT_MOST_STAGES];
};

/* The place of the last stage's set whose first result is number i. */
__device__ __forceinline__ unsigned place_of(const whole_stages &stages, unsigned i) {
    unsigned place = 0;
#pragma unroll 1
    for (unsigned k = 0; k + 1 < stages.count; k++) {
        const whole_stage &s = stages.at[k];
        const unsigned rest = s.radix.of(i);
        place += (i - rest * s.radix.by) * s.step;
        i = rest;
    }
    return place;
}

/* Set number b of a stage. */
template <class T>
struct whole_line_of {
    static constexpr bool is_narrow = sizeof(T) == 4; /* arrays may be f16 */
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
    __device__ __forceinline__ void fetch(wi_fft_number<T> *first, unsigned step, T *re,
                                          T *im) const {
#pragma unroll
        for (int k = 0; k < R; k++) {
            const wi_fft_number<T> v = *wi_shared_beyond(first, k, (int)(step * sizeof v));
            re[k] = v.re;
            im[k] = v.im;
        }
    }
    template <int R>
    __device__ __forceinline__ void keep(wi_fft_number<T> *first, unsigned step,
                                         const wi_fft_few<R, T> &w, const T *re,
                                         const T *im) const {
#pragma unroll
        for (int k = 0; k < R; k++) {
            wi_fft_number<T> v = {re[k], im[k]};
            if (k > 0)
                v = wi_fft_product(v, w.at(k));
            *wi_shared_beyond(first, k, (int)(step * sizeof v)) = v;
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
            const unsigned i = b + block * m * (R - 1), gaps = stages.at[0].m.of(i) * stages.gaps;
            wi_fft_number<T> *const first = numbers + (is_last ? place_of(stages, b) : i + gaps);
            T re[R], im[R];
            wi_fft_few<R, T> w;
            w.load(p.twiddles + (s.twiddles + j), m); /* not used in the last stage */
            if (is_first)
                load<R>(b, m, re, im);
            else
                fetch<R>(first, wi_anew(s.step), re, im);
            wi_fft_butterfly<R>(re, im);
            if (is_last)
                store<R>(b, re, im);
            else
                keep<R>(first, wi_anew(s.step), w, re, im);
        }
    }
};

} // namespace

#define STAGE(R)                                                                                   \
    case R:                                                                                        \
        line.template run<R>(s, k == 0, k + 1 == stages.count);                                    \
        break;
#define NARROW_STAGE(R)                                                                            \
    case R:                                                                                        \
        if constexpr (sizeof(T) == 4)                                                              \
            line.template run<R>(s, k == 0, k + 1 == stages.count);                                \
        break;

template <class T>
static __global__ void __launch_bounds__(whole_threads, 1)
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
        if (k == 1 && threadIdx.x == 0)
            wi_fft_look_ahead(p, stages.n);
        switch (s.radix.by) {
            WI_FFT_EACH_RADIX(STAGE)
            NARROW_STAGE(12)
            NARROW_STAGE(14)
            NARROW_STAGE(15)
            NARROW_STAGE(18)
            NARROW_STAGE(20)
            NARROW_STAGE(21)
            NARROW_STAGE(24)
            NARROW_STAGE(25)
            NARROW_STAGE(27)
            NARROW_STAGE(28)
            NARROW_STAGE(30)
            NARROW_STAGE(32)
        }
    }
}
#undef STAGE
#undef NARROW_STAGE

/* The radices: the largest one last, the next largest first. */
template <class T>
static any_radices radices_of(size_t n) {
    any_radices r = {};
    if (sizeof(T) == 8)
        r.count = (unsigned)wi_fft_radices(n, 16, r.radix);
    else
        r = choose_radices(ANY_WHOLE, (unsigned)n, 32, ~0u);
    const unsigned largest = r.radix[0];
    for (unsigned k = 0; k + 1 < r.count; k++)
        r.radix[k] = r.radix[k + 1];
    r.radix[r.count - 1] = largest;
    return r;
}

/* The stages, and the same radices backwards: for these there are tables of w(R m)^(j k). */
static whole_stages tell_stages(size_t n, const any_radices &r,
                                unsigned backwards[WI_FFT_MOST_STAGES]) {
    unsigned m = 1, twiddles = 0;
    whole_stages s = {};
    s.n = (unsigned)n;
    s.count = r.count;
    s.gaps = n / r.radix[0] % 2 == 0;
    for (unsigned k = s.count; k > 0; k--) {
        const unsigned R = r.radix[k - 1];
        backwards[s.count - k] = R;
        s.at[k - 1] = {wi_fft_divisor_of(R), wi_fft_divisor_of(m), m + (k == 1 ? s.gaps : 0),
                       twiddles};
        twiddles += m > 1 ? (R - 1) * m : 0;
        m *= R;
    }
    return s;
}

/* The number of threads of a block with which the blocks that a multiprocessor has at a time take
 * the fewest turns. */
static unsigned threads_for(const weft_context *ctx, const whole_stages &s, size_t bytes) {
    const unsigned reserved = 1024, fit = (unsigned)(ctx->gpu->shared_optin / (bytes + reserved));
    unsigned best = whole_threads;
    double least = 0;
    for (unsigned threads = 96; threads <= whole_threads; threads += 32) {
        const unsigned most = whole_threads / threads, blocks = fit < 1      ? 1
                                                                : fit < most ? fit
                                                                             : most;
        double turns = 0;
        for (unsigned k = 0; k < s.count; k++) {
            const unsigned R = s.at[k].radix.by;
            turns += (s.n / R + threads - 1) / threads * R;
        }
        if (least > 0 && turns / blocks >= least)
            continue;
        least = turns / blocks;
        best = threads;
    }
    return best;
}

template <class T>
static weft_status run_whole(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    unsigned backwards[WI_FFT_MOST_STAGES], blocks = 0;
    wi_fft_pass<T> p;
    const whole_stages s = tell_stages(l->n, radices_of<T>(l->n), backwards);
    const size_t bytes = (s.n + s.at[0].radix.by * s.gaps) * sizeof(wi_fft_number<T>);
    const weft_status status =
        wi_fft_pass_of(ctx, l, backwards, s.count, 1, &p, queues ? &blocks : NULL);
    if (status != WEFT_OK || !queues)
        return status;
    p.ahead = wi_fft_ahead_of(ctx, l, 1);
    return WEFT_LAUNCH(whole_line<T>, ctx, blocks, threads_for(ctx, s, bytes), bytes, p, s);
}

weft_status wi_fft_whole_line(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    return l->type == WEFT_F64 ? run_whole<double>(ctx, l, queues)
                               : run_whole<float>(ctx, l, queues);
}
