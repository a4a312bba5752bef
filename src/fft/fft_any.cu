/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel for lines of up to 4096 numbers (f64: 2048) of any length without large prime factors,
 * which is told its radices. A stage goes from one shared array to the other, so that a thread
 * holds one set of numbers at a time and a stage ends with one barrier. Short lines that lie one
 * after the other are copied to and from shared memory as one piece: their first and last stages
 * would read and write pieces of a few numbers. */
#include "cuda/anew.cuh"
#include "fft/fft_block.cuh"
#include "fft/fft_cuda.h"

/* Numbers of a block, about, and of a thread. */
template <class T>
constexpr unsigned any_points = 16384 / sizeof(T);
constexpr unsigned any_each = 16;
template <class T>
constexpr unsigned any_threads = any_points<T> / any_each;
/* Below so many numbers next to each other a stage leaves global memory to a copy. */
constexpr unsigned any_run = 16;

namespace {

/* What a stage does besides: its numbers come from global memory or go there, and threads next to
 * each other have lines next to each other. */
enum {
    FROM_GLOBAL = 1,
    TO_GLOBAL = 2,
    BY_LINES = 4
};
struct any_stage {
    unsigned radix, how;
    wi_fft_divisor before, m;
    unsigned twiddles; /* where its table begins */
};
/* Number i of a line is at line * apart, and behind that at wi_fft_spread(line * along + i): one of
 * the two is 0. Lines that are copied as one piece lie along it. */
struct any_stages {
    unsigned n, count, lines, line_bits, threads;
    unsigned apart, along, room;
    bool copies_in, copies_out;
    any_stage at[WI_FFT_MOST_STAGES];
};

template <class T, bool halves>
using any_block = wi_fft_block<T, wi_fft_some_lines, wi_fft_gap<T>, false, false, halves, halves>;

template <class T>
__device__ __forceinline__ unsigned any_spread(unsigned i) {
    return wi_fft_spread<wi_fft_gap<T>>(i);
}

/* Set j of a line, between stages; `first` is its first number in the tile. */
template <int R, class T>
__device__ __forceinline__ void fetch_set(const wi_fft_number<T> *from, unsigned first, unsigned m,
                                          const wi_fft_number<T> *twiddles, unsigned before, T *re,
                                          T *im) {
#pragma unroll
    for (int k = 0; k < R; k++) {
        wi_fft_number<T> v = from[any_spread<T>(first + (unsigned)k * m)];
        if (k > 0 && before > 1)
            v = wi_fft_product(v, twiddles[(unsigned)(k - 1) * before]);
        re[k] = v.re;
        im[k] = v.im;
    }
}
template <int R, class T>
__device__ __forceinline__ void keep_set(wi_fft_number<T> *to, unsigned first, unsigned before,
                                         const T *re, const T *im) {
#pragma unroll
    for (int k = 0; k < R; k++)
        to[any_spread<T>(first + (unsigned)k * before)] = {re[k], im[k]};
}

} // namespace

template <int R, class T, bool halves>
static __device__ __forceinline__ void run_sets(const any_block<T, halves> &block,
                                                wi_fft_number<T> *to, const any_stages &stages,
                                                const any_stage &s) {
    const unsigned sets = s.m.by * stages.lines;
#pragma unroll 1
    for (unsigned b = threadIdx.x; b < sets; b += block.threads) {
        unsigned line, j;
        T re[R], im[R];
        const unsigned m = wi_anew(s.m.by), before = wi_anew(s.before.by), how = wi_anew(s.how);
        block.find(b, how & BY_LINES, s.m, line, j);
        if (line >= block.at.lines)
            continue;
        const unsigned rest = j - s.before.of(j) * before, start = line * stages.along;
        if (how & FROM_GLOBAL) {
            block.template load<R>(line, j, m, re, im);
            block.template transform<R>(re, im, true);
        } else {
            fetch_set<R>(block.numbers + line * stages.apart, start + j, m,
                         block.p.twiddles + (s.twiddles + rest), before, re, im);
            wi_fft_butterfly<R>(re, im);
        }
        if (how & TO_GLOBAL)
            block.template store<R>(line, j, before, re, im);
        else
            keep_set<R>(to + line * stages.apart, start + (j - rest) * R + rest, before, re, im);
    }
}

/* All lines of a block as one piece, from global memory and to it. A multiple of the gap is a
 * multiple of so much in shared memory. */
template <class T, bool halves>
static __device__ __forceinline__ void copy_in(const any_block<T, halves> &block, unsigned count) {
    const unsigned step = any_spread<T>(block.threads);
    wi_fft_number<T> *const to = block.numbers + any_spread<T>(threadIdx.x);
    wi_fft_number<T> v[any_each];
#pragma unroll
    for (unsigned q = 0; q < any_each; q++) {
        const unsigned i = threadIdx.x + q * block.threads;
        v[q] = wi_fft_number_at<T>(block.p.x, halves && block.p.half_in,
                                   block.at.in + (i < count ? i : 0));
    }
#pragma unroll
    for (unsigned q = 0; q < any_each; q++)
        to[q * step] = {v[q].re, v[q].im * block.p.sign_in};
}
template <class T, bool halves>
static __device__ __forceinline__ void copy_out(const any_block<T, halves> &block, unsigned count) {
    const unsigned step = any_spread<T>(block.threads);
    const wi_fft_number<T> *const from = block.numbers + any_spread<T>(threadIdx.x);
#pragma unroll
    for (unsigned q = 0; q < any_each; q++) {
        const unsigned i = threadIdx.x + q * block.threads;
        if (i >= count)
            return;
        const wi_fft_number<T> v = from[q * step];
        wi_fft_set_number<T>(block.p.y, halves && block.p.half_out, block.at.out + i,
                             {v.re * block.p.scale_re, v.im * block.p.scale_im});
    }
}

#define STAGE(R)                                                                                   \
    case R:                                                                                        \
        run_sets<R>(block, to, stages, s);                                                         \
        break;
#define PRIME_STAGE(R)                                                                             \
    case R:                                                                                        \
        if constexpr (primes)                                                                      \
            run_sets<R>(block, to, stages, s);                                                     \
        break;

/* With `primes` radices may be primes up to 31, for which a thread takes more registers. */
template <class T, bool halves, bool primes>
static __global__ void __launch_bounds__(any_threads<T>, primes ? 2 : 3)
    any_length(const __grid_constant__ wi_fft_pass<T> p,
               const __grid_constant__ any_stages stages) {
    WEFT_DYNAMIC_SHARED(shared);
    const wi_fft_place at = wi_fft_place_of(p.grid, blockIdx.x, p.turning);
    wi_fft_number<T> *const numbers = (wi_fft_number<T> *)shared, *to = numbers + stages.room;
    any_block<T, halves> block = {p,        at, numbers,    numbers + 2 * stages.room,
                                  stages.n, 0,  blockDim.x, {stages.lines, stages.line_bits}};
    block.fill_turns(stages.at[stages.count - 1].radix);
    if (stages.copies_in)
        copy_in(block, at.lines * stages.n);
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
        }
        __syncthreads();
        wi_fft_number<T> *const swap = block.numbers;
        block.numbers = to;
        to = swap;
    }
    if (stages.copies_out)
        copy_out(block, at.lines * stages.n);
}
#undef STAGE
#undef PRIME_STAGE

/* ---- launches ---- */

/* About how many instructions a number of a stage takes, by its radix: 22, as many for its size as
 * its butterfly has, and a share of 55 for each set. */
static const unsigned costs[] = {0,  0,  52, 44, 41, 39, 38, 37, 36, 36, 36, 38, 36, 39, 35, 35,
                                 35, 42, 0,  44, 0,  0,  0,  47, 0,  0,  0,  0,  0,  53, 0,  55};

/* The radices with the least cost, if it is below `limit`, falling; 0 if there are none. */
static unsigned choose_radices(unsigned n, unsigned last, unsigned limit, unsigned *radix,
                               unsigned *cost) {
    unsigned rest[WI_FFT_MOST_STAGES], best = 0;
    const unsigned most = sizeof costs / sizeof *costs - 1;
    for (unsigned r = last < most ? last : most; r > 1; r--) {
        unsigned others = 0;
        if (costs[r] == 0 || n % r != 0 || costs[r] >= limit)
            continue;
        const unsigned count =
            n == r ? 0 : choose_radices(n / r, r, limit - costs[r], rest, &others);
        if (n != r && count == 0)
            continue;
        best = count + 1;
        *cost = limit = costs[r] + others;
        radix[0] = r;
        for (unsigned k = 0; k < count; k++)
            radix[k + 1] = rest[k];
    }
    return best;
}

/* These, with the largest between others: so the first stage and the last one have longer runs. */
static unsigned radices_of(unsigned n, unsigned *radix) {
    unsigned cost = 0;
    const unsigned count = choose_radices(n, n, ~0u, radix, &cost);
    if (count > 2) {
        const unsigned swap = radix[0];
        radix[0] = radix[1];
        radix[1] = swap;
    }
    return count;
}

/* Lines and threads of a block: about so many numbers. Where threads next to each other have lines
 * next to each other, a power of 2 of lines. */
template <class T>
static void share_lines(const wi_fft_lines *l, bool by_lines, any_stages *s) {
    const size_t lines = l->loops.used > 0 ? l->loops.count[0] : 1;
    const unsigned most = any_points<T> / s->n;
    while (s->line_bits < 7 && 2u << s->line_bits <= most && (size_t)1 << s->line_bits < lines)
        s->line_bits++;
    s->lines = by_lines ? 1u << s->line_bits : most < lines ? most : (unsigned)lines;
    s->threads = (s->n * s->lines + 32 * any_each - 1) / (32 * any_each) * 32;
}

template <class T>
static any_stages tell_stages(const wi_fft_lines *l, unsigned *radix) {
    const bool loops = l->loops.used > 0, turns = l->period > 0;
    const size_t in = loops ? l->loops.in[0] : l->n, out = loops ? l->loops.out[0] : l->n;
    const bool lines_in = in < l->stride_in, lines_out = out < l->stride_out;
    unsigned before = 1, twiddles = 0;
    any_stages s = {};
    s.n = (unsigned)l->n;
    s.count = radices_of(s.n, radix);
    s.copies_in = l->stride_in == 1 && in == l->n && s.n / radix[0] < any_run;
    s.copies_out =
        l->stride_out == 1 && out == l->n && s.n / radix[s.count - 1] < any_run && !turns;
    for (unsigned k = 0; k < s.count; k++) {
        const bool is_first = k == 0, is_last = k + 1 == s.count;
        const bool by_lines = (is_first && lines_in) || (is_last && !is_first && lines_out);
        const unsigned how = (is_first && !s.copies_in ? FROM_GLOBAL : 0) |
                             (is_last && !s.copies_out ? TO_GLOBAL : 0) | (by_lines ? BY_LINES : 0);
        s.at[k] = {radix[k], how, wi_fft_divisor_of(before), wi_fft_divisor_of(s.n / radix[k]),
                   twiddles};
        twiddles += before > 1 ? (radix[k] - 1) * before : 0;
        before *= radix[k];
    }
    share_lines<T>(l, lines_in || lines_out || turns, &s);
    if (s.copies_in || s.copies_out)
        s.along = s.n;
    else
        s.apart = wi_fft_pitch<T>(s.n);
    return s;
}

template <class T, bool halves, bool primes>
static weft_status run_any(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    unsigned radix[WI_FFT_MOST_STAGES], blocks = 0;
    wi_fft_pass<T> p;
    any_stages s = tell_stages<T>(l, radix);
    const unsigned turns = l->period ? s.lines * radix[s.count - 1] : 0;
    const weft_status status =
        wi_fft_pass_of(ctx, l, radix, s.count, s.lines, &p, queues ? &blocks : NULL);
    if (status != WEFT_OK || !queues)
        return status;
    s.room = s.along ? wi_fft_spread<wi_fft_gap<T>>(s.threads * any_each) : s.lines * s.apart;
    return WEFT_LAUNCH((any_length<T, halves, primes>), ctx, blocks, s.threads,
                       (2 * s.room + turns) * sizeof(wi_fft_number<T>), p, s);
}

weft_status wi_fft_any_line(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    const bool primes = !wi_fft_is_smooth(l->n, WI_FFT_MOST_WHOLE_PRIME);
    if (l->type == WEFT_F64)
        return primes ? run_any<double, false, true>(ctx, l, queues)
                      : run_any<double, false, false>(ctx, l, queues);
    if (primes)
        return run_any<float, true, true>(ctx, l, queues);
    return l->half_in || l->half_out ? run_any<float, true, false>(ctx, l, queues)
                                     : run_any<float, false, false>(ctx, l, queues);
}
