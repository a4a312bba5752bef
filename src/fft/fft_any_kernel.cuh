/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for lines of up to 4096 numbers (f64: 2048) of any length without large prime factors,
 * which are told its radices. A stage goes from one shared array to the other, so that a thread
 * holds one set of numbers at a time and a stage ends with one barrier. Short lines that lie one
 * after the other are copied to and from shared memory as one piece: their first and last stages
 * would read and write pieces of a few numbers. */
#ifndef WI_FFT_ANY_KERNEL_CUH
#define WI_FFT_ANY_KERNEL_CUH

#include "cuda/anew.cuh"
#include "cuda/beyond.cuh"
#include "cuda/prefetch.cuh"
#include "fft/fft_ahead.cuh"
#include "fft/fft_any_primes.cuh"
#include "fft/fft_cuda.h"

namespace {

template <class T, bool halves>
using any_block = wi_fft_block<T, wi_fft_some_lines, wi_fft_gap<T>, false, false, halves, halves>;

/* A set between stages. */
template <int R, class T>
__device__ __forceinline__ void fetch_set(const wi_fft_number<T> *from, unsigned step,
                                          const wi_fft_number<T> *twiddles, unsigned before, T *re,
                                          T *im) {
#pragma unroll
    for (int k = 0; k < R; k++) {
        const wi_fft_number<T> v = from[(unsigned)k * step];
        re[k] = v.re;
        im[k] = v.im;
    }
    if (before == 1)
        return;
#pragma unroll
    for (int k = 1; k < R; k++) {
        const wi_fft_number<T> w = *wi_global_beyond(twiddles, k - 1, (int)(before * sizeof w));
        const wi_fft_number<T> v = wi_fft_product(wi_fft_number<T>{re[k], im[k]}, w);
        re[k] = v.re;
        im[k] = v.im;
    }
}
template <int R, class T>
__device__ __forceinline__ void keep_set(wi_fft_number<T> *to, unsigned step, const T *re,
                                         const T *im) {
#pragma unroll
    for (int k = 0; k < R; k++)
        to[(unsigned)k * step] = {re[k], im[k]};
}

} // namespace

/* A set of a line that lies in one piece, and has no part in a longer one. */
template <int R, class T, class Block>
static __device__ __forceinline__ void load_dense(const Block &block, unsigned line, unsigned j,
                                                  unsigned m, T *re, T *im) {
    const wi_fft_number<T> *const from = block.p.x + (block.at.in + line * block.p.near_in + j);
#pragma unroll
    for (int k = 0; k < R; k++) {
        const wi_fft_number<T> v = from[(unsigned)k * m];
        re[k] = v.re;
        im[k] = v.im;
    }
}
template <int R, class T, class Block>
static __device__ __forceinline__ void store_dense(const Block &block, unsigned line, unsigned j,
                                                   unsigned before, const T *re, const T *im) {
    wi_fft_number<T> *const to = block.p.y + (block.at.out + line * block.p.near_out + j);
    if (block.p.scale_re == 1 && block.p.scale_im == 1) {
#pragma unroll
        for (int k = 0; k < R; k++)
            to[(unsigned)k * before] = {re[k], im[k]};
        return;
    }
#pragma unroll
    for (int k = 0; k < R; k++)
        to[(unsigned)k * before] = {re[k] * block.p.scale_re, im[k] * block.p.scale_im};
}

template <int R, int kind, class T>
static __device__ __forceinline__ void any_butterfly(T *re, T *im) {
    if constexpr (kind == ANY_DENSE)
        any_split_butterfly<R>(re, im);
    else
        wi_fft_butterfly<R>(re, im);
}

template <int R, int kind, class T, bool halves>
static __device__ __forceinline__ void run_sets(const any_block<T, halves> &block,
                                                wi_fft_number<T> *to, const any_stages &stages,
                                                const any_stage &s) {
    constexpr bool is_dense = kind >= ANY_DENSE;
    const unsigned sets = s.m.by * (is_dense ? block.at.lines : stages.lines);
#pragma unroll 1
    for (unsigned b = threadIdx.x; b < sets; b += block.threads) {
        unsigned line, j;
        T re[R], im[R];
        const unsigned m = wi_anew(s.m.by), before = wi_anew(s.before.by), how = wi_anew(s.how);
        block.find(b, !is_dense && how & BY_LINES, s.m, line, j);
        if (!is_dense && line >= block.at.lines)
            continue;
        const unsigned turn = s.before.of(j), rest = j - turn * before;
        if (how & FROM_GLOBAL) {
            if constexpr (is_dense)
                load_dense<R>(block, line, j, m, re, im);
            else
                block.template load<R>(line, j, m, re, im);
            if (block.p.sign_in < 0) {
#pragma unroll
                for (int k = 0; k < R; k++)
                    im[k] *= block.p.sign_in;
            }
        } else {
            fetch_set<R>(block.numbers + any_place(stages, s, line, j), wi_anew(s.step_in),
                         block.p.twiddles + (s.twiddles + rest), before, re, im);
        }
        any_butterfly<R, kind>(re, im);
        if (!(how & TO_GLOBAL)) {
            keep_set<R>(to + any_place_out(stages, s, line, j, turn), wi_anew(s.step_out), re, im);
        } else if constexpr (is_dense) {
            store_dense<R>(block, line, j, before, re, im);
        } else {
            block.template store<R>(line, j, before, re, im);
        }
    }
}

/* All lines of a block as one piece, from global memory and to it. */
template <class T, bool halves>
static __device__ __forceinline__ void copy_in(const any_block<T, halves> &block,
                                               const any_stages &stages, unsigned count) {
    const unsigned more = stages.pitch - stages.n;
#pragma unroll 1
    for (unsigned first = threadIdx.x; first < count; first += any_each * block.threads) {
        wi_fft_number<T> v[any_each];
#pragma unroll
        for (unsigned q = 0; q < any_each; q++) {
            const unsigned i = first + q * block.threads;
            v[q] = wi_fft_number_at<T>(block.p.x, halves && block.p.half_in,
                                       block.at.in + (i < count ? i : 0));
        }
#pragma unroll
        for (unsigned q = 0; q < any_each; q++) {
            const unsigned i = first + q * block.threads;
            if (i < count)
                block.numbers[i + stages.line.of(i) * more] = {v[q].re, v[q].im * block.p.sign_in};
        }
    }
}
template <class T, bool halves>
static __device__ __forceinline__ void copy_out(const any_block<T, halves> &block,
                                                const any_stages &stages, unsigned count) {
    const unsigned more = stages.pitch - stages.n;
#pragma unroll 1
    for (unsigned first = threadIdx.x; first < count; first += any_each * block.threads) {
        wi_fft_number<T> v[any_each];
#pragma unroll
        for (unsigned q = 0; q < any_each; q++) {
            const unsigned i = first + q * block.threads, from = i < count ? i : 0;
            v[q] = block.numbers[from + stages.line.of(from) * more];
        }
#pragma unroll
        for (unsigned q = 0; q < any_each; q++) {
            const unsigned i = first + q * block.threads;
            if (i < count)
                wi_fft_set_number<T>(block.p.y, halves && block.p.half_out, block.at.out + i,
                                     {v[q].re * block.p.scale_re, v[q].im * block.p.scale_im});
        }
    }
}

#define STAGE_OF(R, kinds)                                                                         \
case R:                                                                                            \
    if constexpr (kinds)                                                                           \
        run_sets<R, kind>(block, to, stages, s);                                                   \
    break;
#define STAGE(R) STAGE_OF(R, kind != ANY_LARGE || R <= WI_FFT_MOST_BESIDE)
#define PRIME_STAGE(R) STAGE_OF(R, kind == ANY_PRIMES || kind == ANY_DENSE)
#define DENSE_STAGE(R) STAGE_OF(R, kind == ANY_DENSE)

/* Where sets take many registers, what a block after this one will read is brought to L2, 4 to 15 %
 * less time: of others none. */
template <class T, bool halves, int kind>
static __global__ void __launch_bounds__(any_threads<T, kind>, any_blocks<T, kind>)
    any_length(const __grid_constant__ wi_fft_pass<T> p,
               const __grid_constant__ any_stages stages) {
    WEFT_DYNAMIC_SHARED(shared);
    if (kind != ANY_SHORT && threadIdx.x == blockDim.x - 1)
        wi_fft_look_ahead(p, stages.n);
    const wi_fft_place at = wi_fft_place_of(p.grid, blockIdx.x, p.turning);
    wi_fft_number<T> *const numbers = (wi_fft_number<T> *)shared, *to = numbers + stages.other;
    any_block<T, halves> block = {p,        at, numbers,    numbers + stages.end,
                                  stages.n, 0,  blockDim.x, {stages.lines, stages.line_bits}};
    block.fill_turns(stages.at[stages.count - 1].radix);
    if (stages.copies_in)
        copy_in(block, stages, at.lines * stages.n);
    if (stages.copies_in || (stages.count == 1 && p.turning >= 0))
        __syncthreads();
#pragma unroll 1
    for (unsigned k = 0; k < stages.count; k++) {
        const any_stage &s = stages.at[k];
        switch (s.radix) {
            WI_FFT_EACH_RADIX(STAGE)
            STAGE(12)
            STAGE(14)
            STAGE(15)
            PRIME_STAGE(17)
            PRIME_STAGE(19)
            PRIME_STAGE(23)
            PRIME_STAGE(29)
            PRIME_STAGE(31)
            DENSE_STAGE(18)
            DENSE_STAGE(20)
            DENSE_STAGE(21)
            DENSE_STAGE(22)
            DENSE_STAGE(24)
            DENSE_STAGE(25)
            DENSE_STAGE(26)
            DENSE_STAGE(27)
            DENSE_STAGE(28)
            DENSE_STAGE(30)
            DENSE_STAGE(32)
            DENSE_STAGE(33)
            DENSE_STAGE(35)
        default:
            if constexpr (kind == ANY_DENSE)
                any_prime<T>(block, to, stages, s, stages.sums[k > 0]);
            if constexpr (kind == ANY_LARGE)
                any_large<T>(block, to, stages, s);
        }
        __syncthreads();
        wi_fft_number<T> *const swap = block.numbers;
        block.numbers = to;
        to = swap;
    }
    if (stages.copies_out)
        copy_out(block, stages, at.lines * stages.n);
}
#undef STAGE_OF
#undef STAGE
#undef PRIME_STAGE
#undef DENSE_STAGE

/* The tables of sums. */
static weft_status tell_roots(weft_context *ctx, const any_radices &r, any_stages *s) {
    weft_status status = WEFT_OK;
    for (unsigned k = 0; k < 2 && status == WEFT_OK; k++) {
        wi_fft_table_key key = {};
        key.kind = WI_FFT_SUMS;
        key.type = WEFT_F32;
        key.n = r.radix[k > 0 ? s->count - 1 : 0];
        key.part = s->sums[k].each;
        key.rows = (key.part + 1) / 2 * 2;
        if (s->sums[k].groups > 0)
            status = wi_fft_table(ctx, &key, &s->sums[k].roots);
    }
    return status;
}

template <class T, bool halves, int kind>
static weft_status run_any(weft_context *ctx, const wi_fft_lines *l, const any_radices &r,
                           bool queues) {
    unsigned blocks = 0;
    double cost = 0;
    wi_fft_pass<T> p;
    any_stages s = tell_stages<T, kind>(l, r, &cost);
    const unsigned turns = l->period ? s.lines * r.radix[s.count - 1] : 0;
    weft_status status = tell_roots(ctx, r, &s);
    if (status == WEFT_OK)
        status = wi_fft_pass_of(ctx, l, r.radix, s.count, s.lines, &p, queues ? &blocks : NULL);
    if (status != WEFT_OK || !queues)
        return status;
    p.ahead = kind != ANY_SHORT ? wi_fft_ahead_of(ctx, l, s.lines) : 0;
    return WEFT_LAUNCH((any_length<T, halves, kind>), ctx, blocks, s.threads,
                       (s.end + turns) * sizeof(wi_fft_number<T>), p, s);
}

#endif
