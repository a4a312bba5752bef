/* SPDX-License-Identifier: Apache-2.0 */
/* How fft_any.cu transforms lines of a length: in which stages, and with how many lines and threads
 * a block has. */
#ifndef WI_FFT_ANY_PLAN_CUH
#define WI_FFT_ANY_PLAN_CUH

#include "fft/fft_block.cuh"
#include "fft/fft_cuda.h"

/* Kernels, by the radices that they have. */
enum {
    ANY_SHORT,  /* up to 16 */
    ANY_PRIMES, /* these and primes up to 31, for which a thread takes more registers */
    ANY_DENSE,  /* for dense f32 lines: all up to 35, with still more registers; primes by sums */
    ANY_LARGE,  /* for dense f32 lines: up to 12, and primes from 37 to 61 */
    ANY_WHOLE   /* fft_whole.cu, of f32 */
};
/* About how many numbers a block has, and a thread. */
template <class T>
constexpr unsigned any_points = 16384 / sizeof(T);
constexpr unsigned any_each = 16;
/* The threads of the largest blocks; and how many such blocks a multiprocessor has registers for.
 */
template <class T, int kind>
constexpr unsigned any_threads = kind == ANY_LARGE   ? 256
                                 : kind == ANY_DENSE ? 320
                                                     : any_points<T> / any_each;
template <class T, int kind>
constexpr unsigned any_blocks = kind == ANY_LARGE   ? 3
                                : kind == ANY_DENSE ? 2
                                : sizeof(T) == 4    ? (kind == ANY_SHORT ? 4 : 3)
                                                    : (kind == ANY_SHORT ? 3 : 2);
/* The same for dense lines without sums. */
constexpr unsigned any_dense_threads = 192;
/* If fewer numbers than this would be next to each other in global memory, a stage leaves global
 * memory to a copy. */
constexpr unsigned any_run = 4, any_dense_run = 2;

/* What a stage does besides: its numbers come from global memory or go there, and threads next to
 * each other have lines next to each other. */
enum {
    FROM_GLOBAL = 1,
    TO_GLOBAL = 2,
    BY_LINES = 4
};
/* Division by a number that is only known when a kernel runs; 0 if that number is 0. Exact below
 * 2^16. */
struct any_divisor {
    static constexpr unsigned fixed = 0;
    unsigned by, magic;
    __device__ __forceinline__ unsigned of(unsigned x) const {
        return (unsigned)((uint64_t)(x + 1) * magic >> 32);
    }
};
static inline any_divisor any_divisor_of(unsigned by) {
    return {by, by > 0 ? ~0u / by : 0};
}

/* In shared memory one place stays empty after each R1 numbers, where R1 is the first radix, if
 * that is even: so far apart do threads next to each other write. As R1 divides all distances of
 * later stages, number i + k d is at the place of i plus k times that of d. Set j reads at j +
 * gap.of(j) and step_in further on; the place of its results is `turn` further for each j /
 * `before`. What is copied as one piece has no gaps. */
struct any_stage {
    unsigned radix, how;
    any_divisor before, m, gap;
    unsigned step_in, turn, step_out;
    unsigned gaps_out; /* 0 or 1 */
    unsigned twiddles; /* where its table begins */
};
/* A stage of a prime by sums: its pairs of a line, sets of all lines, `groups` of `each` results,
 * which a thread sums up with their mirror images, and a table of WI_FFT_SUMS. */
struct any_sums {
    any_divisor pairs, sets;
    unsigned each, groups;
    const void *roots;
};
struct any_stages {
    unsigned n, count, lines, line_bits, threads;
    unsigned pitch;      /* numbers from a line to the next */
    unsigned other, end; /* where the other array begins, and what follows both */
    any_divisor line;    /* n */
    bool copies_in, copies_out;
    any_stage at[WI_FFT_MOST_STAGES];
    any_sums sums[2]; /* of the first stage and the last one, if `groups` is not 0 */
};

/* ---- radices ---- */

static inline bool any_is_prime(unsigned n) {
    for (unsigned d = 2; d * d <= n; d++)
        if (n % d == 0)
            return false;
    return true;
}

/* About how many instructions a number of a stage takes, by its radix: 22, as many for its size as
 * its butterfly has, and a share of 36 for each set. */
static const unsigned any_costs[] = {0,  0,  42, 38, 36, 35, 35, 34, 34, 34, 34, 36, 32, 38, 32, 32,
                                     34, 39, 33, 40, 34, 35, 36, 46, 32, 36, 37, 37, 35, 46, 34, 46,
                                     36, 38, 0,  36, 0,  59, 0,  0,  0,  65, 0,  66, 0,  0,  0,  75,
                                     0,  0,  0,  0,  0,  75, 0,  0,  0,  0,  0,  90, 0,  75};
static inline unsigned any_cost(int kind, unsigned radix) {
    const unsigned most_short = 16;
    const bool is_prime = radix == 17 || radix == 19 || radix == 23 || radix == 29 || radix == 31;
    const uint64_t whole = 0x15b35fffc; /* 2 to 16, 18, 20, 21, 24, 25, 27, 28, 30, 32 */
    const bool takes = kind == ANY_WHOLE   ? whole >> radix & 1
                       : kind == ANY_DENSE ? radix <= WI_FFT_MOST_RADIX
                       : kind == ANY_LARGE
                           ? radix <= WI_FFT_MOST_BESIDE || radix > WI_FFT_MOST_RADIX
                           : radix <= most_short || (kind == ANY_PRIMES && is_prime);
    return takes ? any_costs[radix] : 0;
}

struct any_radices {
    int kind;
    unsigned count, cost, radix[WI_FFT_MOST_STAGES];
};

/* The radices with the least cost, in falling order and none above `last`; none at all unless that
 * cost is below `limit`. */
static inline any_radices choose_radices(int kind, unsigned n, unsigned last, unsigned limit) {
    const unsigned most = sizeof any_costs / sizeof *any_costs - 1, cheapest = 32;
    any_radices best = {};
    for (unsigned r = last < most ? last : most; r > 1; r--) {
        const unsigned own = n % r == 0 ? any_cost(kind, r) : 0;
        unsigned at_least = own;
        any_radices rest = {};
        for (unsigned left = n / r; left > 1; left = (left + r - 1) / r)
            at_least += cheapest;
        if (own == 0 || at_least >= limit)
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

static inline void swap_radices(any_radices *r, unsigned k) {
    const unsigned swap = r->radix[k];
    r->radix[k] = r->radix[k + 1];
    r->radix[k + 1] = swap;
}

/* Between two large primes a small radix takes up to 8 % less than after them. */
static inline any_radices with_small_between(any_radices r) {
    const unsigned small = 6;
    if (r.count == 3 && r.radix[2] <= small && any_is_prime(r.radix[1]) && r.radix[1] > 13)
        swap_radices(&r, 1);
    return r;
}

/* 33 and 35 are used only where they save a fourth stage: with them 1225, 700 and 840 would take 14
 * to 21 % longer. */
static inline any_radices dense_radices(unsigned n) {
    const unsigned most = 32, many = 3;
    const any_radices r = choose_radices(ANY_DENSE, n, most, ~0u);
    return r.count > many ? choose_radices(ANY_DENSE, n, n, ~0u) : r;
}

/* Radices up to 35. Dense lines have their own kernel, where the largest radix is first, but for
 * two small ones or one. In others the largest of three is between the others, so that the first
 * stage and the last one have longer runs. */
static inline any_radices radices_below(unsigned n, bool is_dense) {
    any_radices r = choose_radices(ANY_SHORT, n, n, ~0u);
    if (r.count == 0)
        r = choose_radices(ANY_PRIMES, n, n, ~0u);
    if (is_dense) {
        const any_radices d = dense_radices(n);
        const bool is_prime = r.kind == ANY_PRIMES;
        if (is_prime || (d.count > 1 && (d.count < r.count || (d.count == r.count && r.count > 2))))
            return with_small_between(d);
    }
    if (r.count > 2)
        swap_radices(&r, 0);
    return r;
}

/* ... and primes above 31 without sums. */
static inline any_radices radices_with_primes(unsigned n, bool is_dense) {
    const any_radices r = radices_below(n, is_dense);
    return r.count == 0 && is_dense ? choose_radices(ANY_LARGE, n, n, ~0u) : r;
}
/* About how many microseconds these take, 2^24 numbers in all (an H200, 2026-11-29). */
static inline double primes_cost(const any_radices *r) {
    double cost = r->count == 1 ? 55 : 40; /* copies */
    for (unsigned k = 0; k < r->count; k++)
        cost += r->radix[k] <= WI_FFT_MOST_RADIX ? 8 : any_costs[r->radix[k]] / (k > 0 ? 2.0 : 1);
    return cost;
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

/* The radices with one or two large primes, by sums, as the first and the last; and what that
 * costs. */
static inline any_radices radices_with_sums(unsigned n, double *cost) {
    const double all = 55, other = 22;
    unsigned large[2] = {0, 0}, found = 0, left = n;
    any_radices r = {ANY_DENSE, 0, 0, {}};
    for (unsigned p = WI_FFT_MOST_SUMS; p > WI_FFT_MOST_PRIME; p--)
        for (; found < 2 && left % p == 0 && any_is_prime(p); left /= p)
            large[found++] = p;
    const any_radices rest = dense_radices(left);
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
                      unsigned at_a_time, bool is_large) {
    const double shared = 227 << 10, reserved = 1024, most_blocks = 32;
    const double per_warp = is_large ? 0 : 0.03, fetched = is_large ? 32 : 0; /* code */
    const double bytes = (double)arrays * lines * s->pitch * sizeof(wi_fft_number<T>) + reserved;
    double turns = 0, issued = 0, blocks = floor((double)at_a_time / threads);
    for (unsigned k = 0; k < s->count; k++) {
        const any_sums *const sums = sums_of(s, k);
        const bool is_halved = is_large && s->at[k].radix > WI_FFT_MOST_RADIX;
        const unsigned sets = s->at[k].m.by * lines * (sums ? sums->groups : is_halved ? 2 : 1);
        const double each = s->at[k].radix * (sums ? sums->each / 14.0 : 1);
        turns += (sets + threads - 1) / threads * each;
        issued += (sets + 31) / 32 * 32 * each;
    }
    blocks = blocks < most_blocks ? blocks : most_blocks;
    blocks = blocks < floor(shared / bytes) ? blocks : floor(shared / bytes);
    const double waited = (1 + per_warp * threads / 32) * turns * at_a_time / blocks;
    return (waited + issued + fetched * turns) / (s->n * lines);
}

/* Chooses the lines and threads of a block; returns what a number costs. Where threads next to each
 * other have lines next to each other, the lines are a power of 2; otherwise as many as cost least.
 */
template <class T, int kind>
static double share_lines(const wi_fft_lines *l, bool by_lines, unsigned arrays, any_stages *s) {
    constexpr unsigned at_a_time = any_threads<T, kind> * any_blocks<T, kind>;
    const size_t lines = l->loops.used > 0 ? l->loops.count[0] : 1;
    const unsigned most = any_points<T> / s->n, limit = most < lines ? most : (unsigned)lines;
    double least = 0;
    if (by_lines) {
        while (s->line_bits < 7 && 2u << s->line_bits <= most && (size_t)1 << s->line_bits < lines)
            s->line_bits++;
        s->lines = 1u << s->line_bits;
        s->threads = (s->n * s->lines + 32 * any_each - 1) / (32 * any_each) * 32;
        return 0;
    }
    const unsigned most_threads =
        kind == ANY_DENSE && s->sums[0].groups == 0 ? any_dense_threads : any_threads<T, kind>;
    if (kind >= ANY_DENSE && s->count == 1 && s->sums[0].groups == 0) { /* a set for each thread */
        s->lines = limit < 64 ? limit : 64;
        s->threads = kind == ANY_LARGE ? 128 : 64;
        return 0;
    }
    for (unsigned threads = 32; threads <= most_threads; threads += 32)
        for (unsigned choice = 0; choice < 4; choice++) {
            const unsigned each = choice == 3 ? 2 * any_each : any_each; /* about */
            const unsigned fit = threads * each / s->n, wanted = fit < limit ? fit : limit;
            const unsigned count = wanted > choice % 3 ? wanted - choice % 3 : 1;
            const double cost = cost_of<T>(s, count, threads, arrays, at_a_time, kind == ANY_LARGE);
            if (least > 0 && cost >= least)
                continue;
            least = cost;
            s->lines = count;
            s->threads = threads;
        }
    return least;
}

/* The places in shared memory that i numbers take, with one place empty after each `gap`. */
static inline unsigned any_spread(unsigned i, unsigned gap) {
    return gap > 0 ? i + i / gap : i;
}
template <class T, int kind>
static any_stages tell_stages(const wi_fft_lines *l, const any_radices &r, double *cost) {
    const bool loops = l->loops.used > 0, turns = l->period > 0;
    const size_t in = loops ? l->loops.in[0] : l->n, out = loops ? l->loops.out[0] : l->n;
    const bool lines_in = in < l->stride_in, lines_out = out < l->stride_out;
    unsigned before = 1, twiddles = 0;
    any_stages s = {};
    s.n = (unsigned)l->n;
    s.count = r.count;
    const unsigned run = kind >= ANY_DENSE ? any_dense_run : any_run;
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
        t->before = any_divisor_of(before);
        t->m = any_divisor_of(s.n / R);
        t->gap = any_divisor_of(is_first ? 0 : gap);
        t->gaps_out = !is_first && !is_last;
        t->step_in = any_spread(s.n / R, is_first ? 0 : gap);
        t->turn = is_first ? any_spread(R, is_last ? 0 : gap) - 1
                           : any_spread(before * (R - 1), is_last ? 0 : gap);
        t->step_out = any_spread(before, is_last ? 0 : gap);
        t->twiddles = twiddles;
        if (kind != ANY_LARGE && R > WI_FFT_MOST_RADIX) {
            const unsigned each = each_of(R);
            s.sums[k > 0] = {any_divisor_of(s.n / R * (R / 2 + 1)),
                             {},
                             each,
                             (unsigned)wi_fft_sums_groups(R, each),
                             NULL};
        }
        twiddles += before > 1 ? (R - 1) * before : 0;
        before *= R;
    }
    s.pitch = any_spread(s.n, gap) | 1;
    s.line = any_divisor_of(s.n);
    /* Stages take the two arrays in turns. A dense line needs one if a single stage leaves anything
     * in shared memory, where pairs are made, too. */
    const unsigned kept = s.count - 1 + (s.copies_in || s.sums[0].groups > 0) + s.copies_out;
    const unsigned arrays = kind >= ANY_DENSE && kept < 2 ? 1 : 2;
    *cost = share_lines<T, kind>(l, lines_in || lines_out || turns, arrays, &s);
    s.other = (arrays - 1) * s.lines * s.pitch;
    s.end = arrays * s.lines * s.pitch;
    s.sums[0].sets = any_divisor_of(s.at[0].m.by * s.lines);
    s.sums[1].sets = any_divisor_of(s.at[s.count - 1].m.by * s.lines);
    return s;
}

/* ---- dense lines whose sets fill blocks badly ---- */

/* Other choices of radices for a length, as far as they take few more instructions. */
struct any_choices {
    unsigned count;
    any_radices of[12];
};
static inline void list_radices(unsigned n, unsigned last, unsigned limit, any_radices before,
                                any_choices *all) {
    for (unsigned r = last; r > 1; r--) {
        const unsigned own = any_cost(ANY_DENSE, r);
        any_radices next = before;
        if (own == 0 || n % r != 0 || own > limit || all->count == sizeof all->of / sizeof *all->of)
            continue;
        next.cost += own;
        next.radix[next.count++] = r;
        if (n == r)
            all->of[all->count++] = next;
        else if (next.count < WI_FFT_MOST_STAGES)
            list_radices(n / r, r, limit - own, next, all);
    }
}

/* The radices r, or others that fill blocks better. The number of lines does not count, so that
 * results do not depend on it. */
static inline any_radices balanced_radices(any_radices r, unsigned n) {
    const double well = 8.5, share = 4; /* of what share_lines() says, beside instructions */
    const unsigned more = 5, most = 32;
    double least = 0;
    any_choices all = {};
    wi_fft_lines l = {};
    l.n = n;
    l.stride_in = l.stride_out = 1;
    l.loops.used = 1;
    l.loops.count[0] = WI_FFT_SHORT_LINE;
    l.loops.in[0] = l.loops.out[0] = n;
    tell_stages<float, ANY_DENSE>(&l, r, &least);
    if (r.count != 3 || least < well)
        return r;
    least = share * least + r.cost;
    list_radices(n, r.radix[0] > most ? r.radix[0] : most, r.cost + more,
                 any_radices{ANY_DENSE, 0, 0, {}}, &all);
    for (unsigned k = 0; k < all.count; k++) {
        double cost = 0;
        const any_radices other = with_small_between(all.of[k]);
        tell_stages<float, ANY_DENSE>(&l, other, &cost);
        cost = share * cost + other.cost;
        if (other.count != 3 || cost >= least)
            continue;
        least = cost;
        r = other;
    }
    return r;
}

/* The kernel for dense lines with large primes (fft_any_large.cu). */
weft_status wi_fft_large_line(weft_context *ctx, const wi_fft_lines *l, const any_radices *r,
                              bool queues);

#endif
