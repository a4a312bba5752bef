/* SPDX-License-Identifier: Apache-2.0 */
/* What fft_any.cu does for lines of a length: stages, and how many lines and threads a block has.
 */
#ifndef WI_FFT_ANY_PLAN_CUH
#define WI_FFT_ANY_PLAN_CUH

#include "fft/fft_block.cuh"
#include "fft/fft_cuda.h"

/* Kernels: of radices up to 16; of primes up to 31, too, for which a thread takes more registers;
 * and of f32 lines that are dense, those that are composite, too, with more registers again, and
 * larger primes by sums. */
enum {
    ANY_SHORT,
    ANY_PRIMES,
    ANY_DENSE
};
/* Numbers of a block, about, and of a thread. */
template <class T>
constexpr unsigned any_points = 16384 / sizeof(T);
constexpr unsigned any_each = 16;
/* The largest blocks; so many have registers on a multiprocessor at a time. */
template <class T, int kind>
constexpr unsigned any_threads = kind == ANY_DENSE ? 320 : any_points<T> / any_each;
template <class T, int kind>
constexpr unsigned any_blocks = kind == ANY_DENSE ? 2
                                : sizeof(T) == 4  ? (kind == ANY_SHORT ? 4 : 3)
                                                  : (kind == ANY_SHORT ? 3 : 2);
/* Without sums dense lines have smaller ones. */
constexpr unsigned any_dense_threads = 192;
/* Below so many numbers next to each other a stage leaves global memory to a copy. */
constexpr unsigned any_run = 4, any_dense_run = 2;

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
/* A stage of a prime by sums: its pairs of a line, sets of all lines, `groups` of `each` results,
 * which a thread sums up with their mirror images, and a table of WI_FFT_SUMS. */
struct any_sums {
    wi_fft_divisor pairs, sets;
    unsigned each, groups;
    const void *roots;
};
struct any_stages {
    unsigned n, count, lines, line_bits, threads;
    unsigned pitch;      /* numbers from a line to the next */
    unsigned other, end; /* where the other array begins, and what follows both */
    wi_fft_divisor line; /* n */
    bool copies_in, copies_out;
    any_stage at[WI_FFT_MOST_STAGES];
    any_sums sums[2]; /* of the first stage and the last one, if `groups` is not 0 */
};

/* ---- radices ---- */

/* About how many instructions a number of a stage takes, by its radix: 22, as many for its size as
 * its butterfly has, and a share of 55 for each set. */
static const unsigned any_costs[] = {0,  0,  52, 44, 41, 39, 38, 37, 36, 36, 36,
                                     38, 36, 39, 35, 35, 35, 42, 36, 44, 36, 38,
                                     39, 47, 35, 37, 40, 38, 38, 53, 37, 55, 37};
static inline unsigned any_cost(int kind, unsigned radix) {
    const unsigned most_short = 16;
    const bool is_prime = radix == 17 || radix == 19 || radix == 23 || radix == 29 || radix == 31;
    if (radix <= most_short || kind == ANY_DENSE || (kind == ANY_PRIMES && is_prime))
        return any_costs[radix];
    return 0;
}

struct any_radices {
    int kind;
    unsigned count, cost, radix[WI_FFT_MOST_STAGES];
};

/* The radices with the least cost, if it is below `limit`, falling, none above `last`; or none. */
static inline any_radices choose_radices(int kind, unsigned n, unsigned last, unsigned limit) {
    const unsigned most = sizeof any_costs / sizeof *any_costs - 1;
    any_radices best = {};
    for (unsigned r = last < most ? last : most; r > 1; r--) {
        const unsigned own = any_cost(kind, r);
        any_radices rest = {};
        if (own == 0 || n % r != 0 || own >= limit)
            continue;
        if (n != r)
            rest = choose_radices(kind, n / r, r, limit - own);
        if (n != r && rest.count == 0)
            continue;
        best = {kind, rest.count + 1, own + rest.cost, {r}};
        limit = best.cost;
        for (unsigned k = 0; k < rest.count; k++)
            best.radix[k + 1] = rest.radix[k];
    }
    return best;
}

/* Radices up to 32. Dense lines have their own kernel, where the largest radix is first, but for
 * two small ones or one. In others the largest of three is between the others, so that the first
 * stage and the last one have longer runs. */
static inline any_radices radices_below(unsigned n, bool is_dense) {
    any_radices r = choose_radices(ANY_SHORT, n, n, ~0u);
    if (r.count == 0)
        r = choose_radices(ANY_PRIMES, n, n, ~0u);
    if (is_dense) {
        const any_radices d = choose_radices(ANY_DENSE, n, n, ~0u);
        const bool is_prime = r.kind == ANY_PRIMES;
        if (is_prime || (d.count > 1 && (d.count < r.count || (d.count == r.count && r.count > 2))))
            return d;
    }
    if (r.count > 2) {
        const unsigned swap = r.radix[0];
        r.radix[0] = r.radix[1];
        r.radix[1] = swap;
    }
    return r;
}

/* ---- sums ---- */

/* About how many microseconds groups of `each` results of a prime take of 2^24 numbers (an H200,
 * 2026-11-29), for what a thread loads limits them. There are loops for 8 to 10 results. */
static inline double sums_cost(unsigned prime, unsigned each) {
    const unsigned loaded = 1 + (each + 1) / 2; /* pieces of 16 bytes for each pair */
    return 17 + 13.3 * (double)wi_fft_sums_groups(prime, each) * (prime / 2) * loaded / prime;
}
static inline unsigned each_of(unsigned prime) {
    unsigned best = 8;
    for (unsigned each = 9; each <= 10; each++)
        best = sums_cost(prime, each) < sums_cost(prime, best) ? each : best;
    return best;
}

static inline bool any_is_prime(unsigned n) {
    for (unsigned d = 2; d * d <= n; d++)
        if (n % d == 0)
            return false;
    return true;
}

/* With one or two large primes as the first radix and the last one; and what that costs. */
static inline any_radices radices_with_sums(unsigned n, double *cost) {
    const double all = 55, other = 22;
    unsigned large[2] = {0, 0}, found = 0, left = n;
    any_radices r = {ANY_DENSE, 0, 0, {}};
    for (unsigned p = WI_FFT_MOST_SUMS; p > WI_FFT_MOST_PRIME; p--)
        for (; found < 2 && left % p == 0 && any_is_prime(p); left /= p)
            large[found++] = p;
    const any_radices rest = choose_radices(ANY_DENSE, left, left, ~0u);
    if (found == 0 || (left > 1 && rest.count == 0))
        return r;
    r.radix[r.count++] = large[0];
    for (unsigned k = 0; k < rest.count; k++)
        r.radix[r.count++] = rest.radix[k];
    if (found == 2)
        r.radix[r.count++] = large[1];
    *cost = all + other * rest.count;
    for (unsigned k = 0; k < found; k++)
        *cost += sums_cost(large[k], each_of(large[k]));
    return r;
}

/* ---- lines and threads of a block ---- */

static inline const any_sums *sums_of(const any_stages *s, unsigned k) {
    const any_sums *const sums = &s->sums[k > 0];
    return (k == 0 || k + 1 == s->count) && sums->groups > 0 ? sums : NULL;
}

/* What a number costs if a block has so many lines and threads: the time that its sets wait for
 * each other, longer the fewer blocks a multiprocessor has at a time and the more warps meet at a
 * barrier, and the instructions, which a warp executes for all its threads if one has a set. */
template <class T>
static double cost_of(const any_stages *s, unsigned lines, unsigned threads, unsigned arrays,
                      unsigned at_a_time) {
    const double shared = 227 << 10, reserved = 1024, per_warp = 0.03, most_blocks = 32;
    const double bytes = (double)arrays * lines * s->pitch * sizeof(wi_fft_number<T>) + reserved;
    double turns = 0, issued = 0, blocks = floor((double)at_a_time / threads);
    for (unsigned k = 0; k < s->count; k++) {
        const any_sums *const sums = sums_of(s, k);
        const unsigned sets = s->at[k].m.by * lines * (sums ? sums->groups : 1);
        const double each = s->at[k].radix * (sums ? sums->each / 14.0 : 1);
        turns += (sets + threads - 1) / threads * each;
        issued += (sets + 31) / 32 * 32 * each;
    }
    blocks = blocks < most_blocks ? blocks : most_blocks;
    blocks = blocks < floor(shared / bytes) ? blocks : floor(shared / bytes);
    const double waited = (1 + per_warp * threads / 32) * turns * at_a_time / blocks;
    return (waited + issued) / (s->n * lines);
}

/* Lines and threads of a block. Where threads next to each other have lines next to each other, a
 * power of 2 of lines, else as they cost least. */
template <class T, int kind>
static void share_lines(const wi_fft_lines *l, bool by_lines, unsigned arrays, any_stages *s) {
    constexpr unsigned at_a_time = any_threads<T, kind> * any_blocks<T, kind>;
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
    const unsigned most_threads =
        kind == ANY_DENSE && s->sums[0].groups == 0 ? any_dense_threads : any_threads<T, kind>;
    for (unsigned threads = 32; threads <= most_threads; threads += 32)
        for (unsigned choice = 0; choice < 4; choice++) {
            const unsigned each = choice == 3 ? 2 * any_each : any_each; /* about */
            const unsigned fit = threads * each / s->n, wanted = fit < limit ? fit : limit;
            const unsigned count = wanted > choice % 3 ? wanted - choice % 3 : 1;
            const double cost = cost_of<T>(s, count, threads, arrays, at_a_time);
            if (least > 0 && cost >= least)
                continue;
            least = cost;
            s->lines = count;
            s->threads = threads;
        }
}

/* Numbers of shared memory that i numbers take, with one left out after each `gap`; and what of()
 * gives then is how many are left out. */
static inline unsigned any_spread(unsigned i, unsigned gap) {
    return gap > 0 ? i + i / gap : i;
}
static inline wi_fft_divisor any_gap_of(unsigned gap) {
    return gap > 0 ? wi_fft_divisor_of(gap) : wi_fft_divisor{2, 0};
}

template <class T, int kind>
static any_stages tell_stages(const wi_fft_lines *l, const any_radices &r) {
    const bool loops = l->loops.used > 0, turns = l->period > 0;
    const size_t in = loops ? l->loops.in[0] : l->n, out = loops ? l->loops.out[0] : l->n;
    const bool lines_in = in < l->stride_in, lines_out = out < l->stride_out;
    unsigned before = 1, twiddles = 0;
    any_stages s = {};
    s.n = (unsigned)l->n;
    s.count = r.count;
    const unsigned run = kind == ANY_DENSE ? any_dense_run : any_run;
    s.copies_in = l->stride_in == 1 && in == l->n && s.n / r.radix[0] < run;
    s.copies_out = l->stride_out == 1 && out == l->n && s.n / r.radix[s.count - 1] < run && !turns;
    const unsigned gap = r.radix[0] % 2 == 0 ? r.radix[0] : 0;
    for (unsigned k = 0; k < s.count; k++) {
        const unsigned R = r.radix[k];
        const bool is_first = k == 0, is_last = k + 1 == s.count;
        const bool by_lines = (is_first && lines_in) || (is_last && !is_first && lines_out);
        const unsigned how = (is_first && !s.copies_in ? FROM_GLOBAL : 0) |
                             (is_last && !s.copies_out ? TO_GLOBAL : 0) | (by_lines ? BY_LINES : 0);
        any_stage *const t = &s.at[k];
        t->radix = R;
        t->how = how;
        t->before = wi_fft_divisor_of(before);
        t->m = wi_fft_divisor_of(s.n / R);
        t->gap_in = any_gap_of(is_first ? 0 : gap);
        t->gap_out = any_gap_of(is_last ? 0 : gap);
        t->turn_in = any_spread(before, is_first ? 0 : gap);
        t->step_in = any_spread(s.n / R, is_first ? 0 : gap);
        t->turn_out = any_spread(before * R, is_last ? 0 : gap);
        t->step_out = any_spread(before, is_last ? 0 : gap);
        t->twiddles = twiddles;
        if (R > WI_FFT_MOST_RADIX) {
            const unsigned each = each_of(R);
            s.sums[k > 0] = {wi_fft_divisor_of(s.n / R * (R / 2 + 1)),
                             {},
                             each,
                             (unsigned)wi_fft_sums_groups(R, each),
                             NULL};
        }
        twiddles += before > 1 ? (R - 1) * before : 0;
        before *= R;
    }
    s.pitch = any_spread(s.n, gap) | 1;
    s.line = wi_fft_divisor_of(s.n);
    /* Stages take the two arrays in turns. A dense line needs one if a single stage leaves anything
     * in shared memory, where pairs are made, too. */
    const unsigned kept = s.count - 1 + (s.copies_in || s.sums[0].groups > 0) + s.copies_out;
    const unsigned arrays = kind == ANY_DENSE && kept < 2 ? 1 : 2;
    share_lines<T, kind>(l, lines_in || lines_out || turns, arrays, &s);
    s.other = (arrays - 1) * s.lines * s.pitch;
    s.end = arrays * s.lines * s.pitch;
    s.sums[0].sets = wi_fft_divisor_of(s.at[0].m.by * s.lines);
    s.sums[1].sets = wi_fft_divisor_of(s.at[s.count - 1].m.by * s.lines);
    return s;
}

#endif
