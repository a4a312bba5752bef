/* SPDX-License-Identifier: Apache-2.0 */
/* A stage of fft_any.cu whose radix is a prime R that is too large for registers. Numbers k and
 * R - k of a set are replaced by their sum and difference, as they have the same cosine and
 * opposite sines:
 *
 *     X(m), X(R - m) = x(0) + sum over k <= R / 2 of sum(k) cos -+ i less(k) sin,  2 pi m k / R.
 *
 * A thread has `each` of these m, 0 among them, and their mirror images. Threads of a warp have
 * the same m of other sets, mostly, so that cosines and sines are read once for all. */
#ifndef WI_FFT_ANY_SUMS_CUH
#define WI_FFT_ANY_SUMS_CUH

#include "fft/fft_any_plan.cuh"

/* Cosines and sines, read as one. */
template <class T>
struct alignas(16) any_roots {
    wi_fft_number<T> a, b;
};

/* Where a set of a stage begins in shared memory. */
__device__ __forceinline__ unsigned any_place(const any_stages &stages, const any_stage &s,
                                              unsigned line, unsigned j) {
    return line * stages.pitch + j + s.gap.of(j);
}

__device__ __forceinline__ unsigned any_place_out(const any_stages &stages, const any_stage &s,
                                                  unsigned line, unsigned j, unsigned turn) {
    return line * stages.pitch + j + s.gap.of(j) * s.gaps_out + turn * s.turn;
}

/* Pair k of set j. */
struct any_pair {
    unsigned line, j, k;
};
__device__ __forceinline__ any_pair any_pair_of(const any_stage &s, const any_sums &sums,
                                                unsigned i) {
    const unsigned line = sums.pairs.of(i), rest = i - line * sums.pairs.by, k = s.m.of(rest);
    return {line, rest - k * s.m.by, k};
}

template <class T>
__device__ __forceinline__ void any_put_pair(wi_fft_number<T> *first, const any_stage &s,
                                             unsigned k, wi_fft_number<T> a, wi_fft_number<T> b) {
    if (k > 0) {
        first[(s.radix - k) * s.step_in] = {a.re - b.re, a.im - b.im};
        a = {a.re + b.re, a.im + b.im};
    }
    first[k * s.step_in] = a;
}

/* Pairs of what is in shared memory, in place. */
template <class T, class Block>
static __device__ __forceinline__ void any_pairs_inside(const Block &block,
                                                        const any_stages &stages,
                                                        const any_stage &s, const any_sums &sums) {
    const unsigned before = s.before.by;
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < sums.pairs.by * block.at.lines; i += block.threads) {
        const any_pair at = any_pair_of(s, sums, i);
        const unsigned rest = at.j - s.before.of(at.j) * before, other = s.radix - at.k;
        wi_fft_number<T> *const first = block.numbers + any_place(stages, s, at.line, at.j);
        const wi_fft_number<T> *const twiddles = block.p.twiddles + (s.twiddles + rest);
        if (at.k == 0)
            continue;
        wi_fft_number<T> a = first[at.k * s.step_in], b = first[other * s.step_in];
        if (before > 1) {
            a = wi_fft_product(a, twiddles[(at.k - 1) * before]);
            b = wi_fft_product(b, twiddles[(other - 1) * before]);
        }
        any_put_pair(first, s, at.k, a, b);
    }
}

/* Pairs of what is in global memory: of several all is loaded before any of it is waited for. */
template <class T, class Block>
static __device__ __forceinline__ void any_pairs_from(const Block &block, const any_stages &stages,
                                                      const any_stage &s, const any_sums &sums) {
    constexpr unsigned each = 4;
    const unsigned count = sums.pairs.by * block.at.lines, m = s.m.by;
#pragma unroll 1
    for (unsigned first = threadIdx.x; first < count; first += each * block.threads) {
        wi_fft_number<T> a[each], b[each];
#pragma unroll
        for (unsigned q = 0; q < each; q++) {
            const unsigned i = first + q * block.threads;
            const any_pair at = any_pair_of(s, sums, i < count ? i : 0);
            const wi_fft_number<T> *const from =
                block.p.x + (block.at.in + at.line * block.p.near_in + at.j);
            a[q] = from[at.k * m];
            b[q] = from[(at.k > 0 ? s.radix - at.k : 0) * m];
        }
#pragma unroll
        for (unsigned q = 0; q < each; q++) {
            const unsigned i = first + q * block.threads;
            if (i >= count)
                break;
            const any_pair at = any_pair_of(s, sums, i);
            a[q].im *= block.p.sign_in;
            b[q].im *= block.p.sign_in;
            any_put_pair(block.numbers + any_place(stages, s, at.line, at.j), s, at.k, a[q], b[q]);
        }
    }
}

/* Result k of set j: to shared memory, or as the last stage to global memory. */
template <class T, class Block>
static __device__ __forceinline__ void any_put(const Block &block, const any_stage &s,
                                               wi_fft_number<T> *to, unsigned line, unsigned j,
                                               unsigned k, wi_fft_number<T> v) {
    const auto &p = block.p;
    if (s.how & TO_GLOBAL)
        p.y[block.at.out + line * p.near_out + (j + k * s.before.by)] = {v.re * p.scale_re,
                                                                         v.im * p.scale_im};
    else
        to[k * s.step_out] = v;
}

template <unsigned each, class T, class Block>
static __device__ __forceinline__ void any_sum_up(const Block &block, wi_fft_number<T> *to,
                                                  const any_stages &stages, const any_stage &s,
                                                  const any_sums &sums) {
    constexpr unsigned rows = (each + 1) / 2;
    const unsigned half = s.radix / 2;
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < sums.sets.by * sums.groups; i += block.threads) {
        T even_re[each], even_im[each], odd_re[each] = {}, odd_im[each] = {};
        const unsigned group = sums.sets.of(i), set = i - group * sums.sets.by;
        const unsigned line = s.m.of(set), j = set - line * s.m.by;
        if (line >= block.at.lines)
            continue;
        const unsigned place = any_place(stages, s, line, j), step = s.step_in;
        const wi_fft_number<T> *up = block.numbers + place, *down = up + s.radix * step;
        const any_roots<T> *roots = (const any_roots<T> *)sums.roots + group * half * rows;
        const wi_fft_number<T> first = *up;
#pragma unroll
        for (unsigned a = 0; a < each; a++) {
            even_re[a] = first.re;
            even_im[a] = first.im;
        }
#pragma unroll 1
        for (unsigned k = 0; k < half; k++) {
            up += step;
            down -= step;
            const wi_fft_number<T> sum = *up, less = *down;
#pragma unroll
            for (unsigned a = 0; a < each; a++) {
                const any_roots<T> w = roots[a / 2];
                const T c = a % 2 ? w.b.re : w.a.re, sine = a % 2 ? w.b.im : w.a.im;
                even_re[a] = wi_fma(c, sum.re, even_re[a]);
                even_im[a] = wi_fma(c, sum.im, even_im[a]);
                odd_re[a] = wi_fma(sine, less.re, odd_re[a]);
                odd_im[a] = wi_fma(sine, less.im, odd_im[a]);
            }
            roots += rows;
        }
        wi_fft_number<T> *const out = to + any_place_out(stages, s, line, j, s.before.of(j));
#pragma unroll
        for (unsigned a = 0; a < each; a++) {
            const unsigned m = group * each + a;
            if (m <= half)
                any_put<T>(block, s, out, line, j, m,
                           {even_re[a] + odd_im[a], even_im[a] - odd_re[a]});
            if (m > 0 && m <= half)
                any_put<T>(block, s, out, line, j, s.radix - m,
                           {even_re[a] - odd_im[a], even_im[a] + odd_re[a]});
        }
    }
}

/* Such a stage of dense lines. */
template <class T, class Block>
static __device__ __forceinline__ void any_prime(const Block &block, wi_fft_number<T> *to,
                                                 const any_stages &stages, const any_stage &s,
                                                 const any_sums &sums) {
    if (s.how & FROM_GLOBAL)
        any_pairs_from<T>(block, stages, s, sums);
    else
        any_pairs_inside<T>(block, stages, s, sums);
    __syncthreads();
    switch (sums.each) {
    case 8:
        any_sum_up<8, T>(block, to, stages, s, sums);
        break;
    case 9:
        any_sum_up<9, T>(block, to, stages, s, sums);
        break;
    default:
        any_sum_up<10, T>(block, to, stages, s, sums);
    }
}

#endif
