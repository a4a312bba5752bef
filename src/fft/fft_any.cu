/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel for lines of up to 4096 numbers (f64: 2048) of any length without large prime factors,
 * which is told its radices. A stage goes from one shared array to the other, so that a thread
 * holds one set of numbers at a time and a stage ends with one barrier. Short lines that lie one
 * after the other are copied to and from shared memory as one piece: their first and last stages
 * would read and write pieces of a few numbers. */
#include "cuda/anew.cuh"
#include "cuda/bulk.cuh"
#include "fft/fft_ahead.cuh"
#include "fft/fft_cuda.h"

/* Numbers of a block, about, and of a thread. */
template <class T>
constexpr unsigned any_points = 16384 / sizeof(T);
constexpr unsigned any_each = 16;
template <class T>
constexpr unsigned any_threads = any_points<T> / any_each;
/* Below so many numbers next to each other a stage leaves global memory to a copy. */
constexpr unsigned any_run = 4;
/* So many of the largest blocks have registers on a multiprocessor at a time. */
template <class T, bool primes>
constexpr unsigned any_blocks = sizeof(T) == 4 ? (primes ? 3 : 4) : (primes ? 2 : 3);

namespace {

/* What a stage does besides: its numbers come from global memory or go there, and threads next to
 * each other have lines next to each other. */
enum {
    FROM_GLOBAL = 1,
    TO_GLOBAL = 2,
    BY_LINES = 4
};
/* In shared memory a number is left out after each R1, the first radix, if that is even: threads
 * next to each other write so far apart. As R1 divides all distances of later stages, number
 * i + k d is at the place of i and k times that of d. Set j = q `before` + rest reads at q turn_in
 * + rest + gap_in.of(rest) and step_in further on; `_out` is for its results. What is copied as one
 * piece has no gaps. */
struct any_stage {
    unsigned radix, how;
    wi_fft_divisor before, m, gap_in, gap_out;
    unsigned turn_in, step_in, turn_out, step_out;
    unsigned twiddles; /* where its table begins */
};
struct any_stages {
    unsigned n, count, lines, line_bits, threads;
    unsigned pitch, room; /* numbers from a line to the next; of an array */
    wi_fft_divisor line;  /* n */
    bool copies_in, copies_out;
    any_stage at[WI_FFT_MOST_STAGES];
};

template <class T, bool halves>
using any_block = wi_fft_block<T, wi_fft_some_lines, wi_fft_gap<T>, false, false, halves, halves>;

/* A set between stages. */
template <int R, class T>
__device__ __forceinline__ void fetch_set(const wi_fft_number<T> *from, unsigned step,
                                          const wi_fft_number<T> *twiddles, unsigned before, T *re,
                                          T *im) {
#pragma unroll
    for (int k = 0; k < R; k++) {
        wi_fft_number<T> v = from[(unsigned)k * step];
        if (k > 0 && before > 1)
            v = wi_fft_product(v, twiddles[(unsigned)(k - 1) * before]);
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
        const unsigned turn = s.before.of(j), rest = j - turn * before;
        if (how & FROM_GLOBAL) {
            block.template load<R>(line, j, m, re, im);
            block.template transform<R>(re, im, true);
        } else {
            const unsigned first = line * stages.pitch + turn * s.turn_in + s.gap_in.of(rest);
            fetch_set<R>(block.numbers + (first + rest), wi_anew(s.step_in),
                         block.p.twiddles + (s.twiddles + rest), before, re, im);
            wi_fft_butterfly<R>(re, im);
        }
        if (how & TO_GLOBAL) {
            block.template store<R>(line, j, before, re, im);
        } else {
            const unsigned first = line * stages.pitch + turn * s.turn_out + s.gap_out.of(rest);
            keep_set<R>(to + (first + rest), wi_anew(s.step_out), re, im);
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

#define STAGE(R)                                                                                   \
    case R:                                                                                        \
        run_sets<R>(block, to, stages, s);                                                         \
        break;
#define PRIME_STAGE(R)                                                                             \
    case R:                                                                                        \
        if constexpr (primes)                                                                      \
            run_sets<R>(block, to, stages, s);                                                     \
        break;

/* With `primes` radices may be primes up to 31, for which a thread takes more registers; then what
 * a block after this one will read is brought to L2, 4 to 15 % less time: of others none. */
template <class T, bool halves, bool primes>
static __global__ void __launch_bounds__(any_threads<T>, any_blocks<T, primes>)
    any_length(const __grid_constant__ wi_fft_pass<T> p,
               const __grid_constant__ any_stages stages) {
    WEFT_DYNAMIC_SHARED(shared);
    if (primes && threadIdx.x == blockDim.x - 1)
        wi_fft_look_ahead(p, stages.n);
    const wi_fft_place at = wi_fft_place_of(p.grid, blockIdx.x, p.turning);
    wi_fft_number<T> *const numbers = (wi_fft_number<T> *)shared, *to = numbers + stages.room;
    any_block<T, halves> block = {p,        at, numbers,    numbers + 2 * stages.room,
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
        }
        __syncthreads();
        wi_fft_number<T> *const swap = block.numbers;
        block.numbers = to;
        to = swap;
    }
    if (stages.copies_out)
        copy_out(block, stages, at.lines * stages.n);
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

/* What a number costs if a block has so many lines and threads: the time that its sets wait for
 * each other, longer the fewer blocks a multiprocessor has at a time and the more warps meet at a
 * barrier, and the instructions, which a warp executes for all its threads if one has a set. */
template <class T>
static double cost_of(const any_stages *s, unsigned lines, unsigned threads, unsigned at_a_time) {
    const double shared = 227 << 10, reserved = 1024, per_warp = 0.03, most_blocks = 32;
    const double bytes = 2.0 * lines * s->pitch * sizeof(wi_fft_number<T>) + reserved;
    double turns = 0, issued = 0, blocks = floor((double)at_a_time / threads);
    for (unsigned k = 0; k < s->count; k++) {
        const unsigned sets = s->at[k].m.by * lines;
        turns += (sets + threads - 1) / threads * (double)s->at[k].radix;
        issued += (sets + 31) / 32 * 32 * (double)s->at[k].radix;
    }
    blocks = blocks < most_blocks ? blocks : most_blocks;
    blocks = blocks < floor(shared / bytes) ? blocks : floor(shared / bytes);
    const double waited = (1 + per_warp * threads / 32) * turns * at_a_time / blocks;
    return (waited + issued) / (s->n * lines);
}

/* Lines and threads of a block. Where threads next to each other have lines next to each other, a
 * power of 2 of lines, else as they cost least. */
template <class T>
static void share_lines(const wi_fft_lines *l, bool by_lines, unsigned at_a_time, any_stages *s) {
    const size_t lines = l->loops.used > 0 ? l->loops.count[0] : 1;
    const unsigned most = any_points<T> / s->n, limit = most < lines ? most : (unsigned)lines;
    double least = 0;
    if (by_lines) {
        while (s->line_bits < 7 && 2u << s->line_bits <= most && (size_t)1 << s->line_bits < lines)
            s->line_bits++;
        s->lines = 1u << s->line_bits;
        s->threads = (s->n * s->lines + 32 * any_each - 1) / (32 * any_each) * 32;
        return;
    }
    for (unsigned threads = 32; threads <= any_threads<T>; threads += 32)
        for (unsigned choice = 0; choice < 4; choice++) {
            const unsigned each = choice == 3 ? 2 * any_each : any_each; /* about */
            const unsigned fit = threads * each / s->n, wanted = fit < limit ? fit : limit;
            const unsigned count = wanted > choice % 3 ? wanted - choice % 3 : 1;
            const double cost = cost_of<T>(s, count, threads, at_a_time);
            if (least > 0 && cost >= least)
                continue;
            least = cost;
            s->lines = count;
            s->threads = threads;
        }
}

/* Numbers of shared memory that i numbers take, with one left out after each `gap`; and what of()
 * gives then is how many are left out. */
static unsigned spread(unsigned i, unsigned gap) {
    return gap > 0 ? i + i / gap : i;
}
static wi_fft_divisor gap_of(unsigned gap) {
    return gap > 0 ? wi_fft_divisor_of(gap) : wi_fft_divisor{2, 0};
}

template <class T>
static any_stages tell_stages(const wi_fft_lines *l, unsigned at_a_time, unsigned *radix) {
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
    const unsigned gap = radix[0] % 2 == 0 ? radix[0] : 0;
    for (unsigned k = 0; k < s.count; k++) {
        const bool is_first = k == 0, is_last = k + 1 == s.count;
        const bool by_lines = (is_first && lines_in) || (is_last && !is_first && lines_out);
        const unsigned how = (is_first && !s.copies_in ? FROM_GLOBAL : 0) |
                             (is_last && !s.copies_out ? TO_GLOBAL : 0) | (by_lines ? BY_LINES : 0);
        any_stage *const t = &s.at[k];
        t->radix = radix[k];
        t->how = how;
        t->before = wi_fft_divisor_of(before);
        t->m = wi_fft_divisor_of(s.n / radix[k]);
        t->gap_in = gap_of(is_first ? 0 : gap);
        t->gap_out = gap_of(is_last ? 0 : gap);
        t->turn_in = spread(before, is_first ? 0 : gap);
        t->step_in = spread(s.n / radix[k], is_first ? 0 : gap);
        t->turn_out = spread(before * radix[k], is_last ? 0 : gap);
        t->step_out = spread(before, is_last ? 0 : gap);
        t->twiddles = twiddles;
        twiddles += before > 1 ? (radix[k] - 1) * before : 0;
        before *= radix[k];
    }
    s.pitch = spread(s.n, gap) | 1;
    s.line = wi_fft_divisor_of(s.n);
    share_lines<T>(l, lines_in || lines_out || turns, at_a_time, &s);
    return s;
}

template <class T, bool halves, bool primes>
static weft_status run_any(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    unsigned radix[WI_FFT_MOST_STAGES], blocks = 0;
    wi_fft_pass<T> p;
    any_stages s = tell_stages<T>(l, any_threads<T> * any_blocks<T, primes>, radix);
    const unsigned turns = l->period ? s.lines * radix[s.count - 1] : 0;
    const weft_status status =
        wi_fft_pass_of(ctx, l, radix, s.count, s.lines, &p, queues ? &blocks : NULL);
    if (status != WEFT_OK || !queues)
        return status;
    s.room = s.lines * s.pitch;
    if (primes && ctx->gpu->capability >= 90 && l->stride_in == 1 &&
        (s.lines == 1 || l->loops.in[0] == l->n))
        p.ahead = (unsigned)ctx->gpu->multiprocessors;
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
