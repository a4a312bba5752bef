/* SPDX-License-Identifier: Apache-2.0 */
/* A stage of fft_any.cu whose radix is a prime P from 37 to 47: too large for the registers of a
 * thread, but not half of it. With sums and differences of numbers k and P - k,
 *
 *     X(m), X(P - m) = x(0) + sum over k <= P / 2 of sum(k) cos -+ i less(k) sin,  2 pi m k / P,
 *
 * a thread has all sums of a set in registers, puts what cosines make of them in their place in
 * shared memory, and then has all differences. */
#ifndef WI_FFT_ANY_PRIMES_CUH
#define WI_FFT_ANY_PRIMES_CUH

#include "fft/fft_any_sums.cuh"
#include "fft/fft_roots_prime.cuh"

template <int P, class T>
struct any_prime_set {
    using number = wi_fft_number<T>;
    static constexpr int half = P / 2;
    T re[half], im[half]; /* sums, and then differences, of numbers k + 1 */
    number *set;          /* number 0 in shared memory */
    unsigned step;

    __device__ __forceinline__ number &at(int k) const {
        return set[(unsigned)k * step];
    }

    /* Sums stay here, differences take the places of numbers above P / 2. */
    template <class Load>
    __device__ __forceinline__ void pair_up(const Load &load) {
#pragma unroll
        for (int k = 1; k <= half; k++) {
            const number a = load(k), b = load(P - k);
            re[k - 1] = a.re + b.re;
            im[k - 1] = a.im + b.im;
            at(P - k) = {a.re - b.re, a.im - b.im};
        }
    }
    /* X(0); and at(m) becomes the part of X(m) that cosines make. */
    __device__ __forceinline__ number make_even(number first) const {
        number all = first;
#pragma unroll
        for (int k = 0; k < half; k++)
            all = {all.re + re[k], all.im + im[k]};
#pragma unroll
        for (int m = 1; m <= half; m++) {
            number v = first;
#pragma unroll
            for (int k = 1; k <= half; k++) {
                const T c = (T)any_prime_roots<P>::cosine(m * k % P);
                v = {wi_fma(c, re[k - 1], v.re), wi_fma(c, im[k - 1], v.im)};
            }
            at(m) = v;
        }
        return all;
    }
    __device__ __forceinline__ void fetch_differences() {
#pragma unroll
        for (int k = 1; k <= half; k++) {
            const number v = at(P - k);
            re[k - 1] = v.re;
            im[k - 1] = v.im;
        }
    }
    template <class Put>
    __device__ __forceinline__ void make_odd(const Put &put) const {
#pragma unroll
        for (int m = 1; m <= half; m++) {
            const number even = at(m);
            number v = {0, 0};
#pragma unroll
            for (int k = 1; k <= half; k++) {
                const T s = (T)any_prime_roots<P>::sine(m * k % P);
                v = {wi_fma(s, re[k - 1], v.re), wi_fma(s, im[k - 1], v.im)};
            }
            put(m, number{even.re + v.im, even.im - v.re});
            put(P - m, number{even.re - v.im, even.im + v.re});
        }
    }
};

/* Where results of a set go: to shared or to global memory, with the same code. */
template <class T>
struct any_prime_target {
    wi_fft_number<T> *first;
    unsigned apart;
    T scale_re, scale_im;
    __device__ __forceinline__ void put(int k, wi_fft_number<T> v) const {
        first[(unsigned)k * apart] = {v.re * scale_re, v.im * scale_im};
    }
};
template <class T, class Block>
static __device__ __forceinline__ any_prime_target<T>
any_target_of(const Block &block, wi_fft_number<T> *to, const any_stages &stages,
              const any_stage &s, unsigned line, unsigned j) {
    const unsigned turn = s.before.of(j), rest = j - turn * s.before.by;
    if (s.how & TO_GLOBAL)
        return {block.p.y + (block.at.out + line * block.p.near_out + j), s.before.by,
                block.p.scale_re, block.p.scale_im};
    return {to + (line * stages.pitch + turn * s.turn_out + s.gap_out.of(rest) + rest), s.step_out,
            1, 1};
}

/* Of a first stage from global memory the other array is where sums and differences are; no other
 * thread's set is there. */
template <int P, class T, class Block>
static __device__ __forceinline__ void any_large_prime(const Block &block, wi_fft_number<T> *to,
                                                       const any_stages &stages,
                                                       const any_stage &s) {
    using number = wi_fft_number<T>;
#pragma unroll 1
    for (unsigned b = threadIdx.x; b < s.m.by * stages.lines; b += block.threads) {
        const unsigned line = s.m.of(b), j = b - line * s.m.by;
        if (line >= block.at.lines)
            continue;
        any_prime_set<P, T> set;
        number first;
        set.set = block.numbers + any_place(stages, s, line, j);
        set.step = wi_anew(s.step_in);
        if (s.how & FROM_GLOBAL) {
            const number *const from = block.p.x + (block.at.in + line * block.p.near_in + j);
            const unsigned m = wi_anew(s.m.by);
            const auto load = [&](int k) {
                const number v = from[(unsigned)k * m];
                return number{v.re, v.im * block.p.sign_in};
            };
            first = load(0);
            set.pair_up(load);
        } else {
            const unsigned before = wi_anew(s.before.by), turn = s.before.of(j);
            const number *const twiddles = block.p.twiddles + (s.twiddles + j - turn * before);
            first = set.at(0);
            set.pair_up([&](int k) {
                const number v = set.at(k);
                return before > 1 ? wi_fft_product(v, twiddles[(unsigned)(k - 1) * before]) : v;
            });
        }
        const number all = set.make_even(first);
        const any_prime_target<T> target = any_target_of<T>(block, to, stages, s, line, j);
        set.fetch_differences();
        set.make_odd([&](int k, number v) { target.put(k, v); });
        target.put(0, all);
    }
}

#endif
