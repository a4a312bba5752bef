/* SPDX-License-Identifier: Apache-2.0 */
/* The rung clusters: a line of 2^15 to 2^17 numbers (f64: 2^13 to 2^16), or of 7^5 or 3^9, in the
 * shared memory of a cluster's blocks, read and written once. n = n1 n2; each of C blocks
 * transforms n2 / C of the lines of n1 numbers, hands the results to the blocks that want them, and
 * transforms n1 / C of the lines of n2 numbers. */
#include "cuda/bulk.cuh"
#include "cuda/cluster.cuh"
#include "fft/fft_columns.h"
#include "fft/fft_crossed.h"
#include "fft/fft_cuda.h"
#include "fft/fft_cut.cuh"
#include "fft/fft_shape.cuh"
#include "fft/fft_tall.h"

constexpr unsigned parts_of(unsigned count, unsigned parts) {
    return (count + parts - 1) / parts;
}

/* A cluster of `blocks` blocks of `threads` threads, of which a multiprocessor shall have
 * `resident` at a time, 0: as many as its registers let. The last block may have fewer lines
 * than the others. */
template <class T, unsigned blocks_, unsigned threads_, unsigned resident_, class First,
          class Second>
struct team {
    using Type = T;
    using Cut1 = First;
    using Cut2 = Second;
    static constexpr unsigned blocks = blocks_, threads = threads_, resident = resident_;
    static constexpr unsigned n1 = First::n, n2 = Second::n, n = n1 * n2;
    static constexpr unsigned lines1 = parts_of(n2, blocks), lines2 = parts_of(n1, blocks);
    /* Strides of odd lengths meet all banks without gaps. */
    static constexpr unsigned gap = n % 2 ? 0 : wi_fft_gap<T>;
    static constexpr unsigned pitch1 = wi_fft_spread<gap>(n1) | 1,
                              pitch2 = wi_fft_spread<gap>(n2) | 1;
    static constexpr unsigned room =
        lines1 * pitch1 > lines2 *pitch2 ? lines1 *pitch1 : lines2 *pitch2;
    static constexpr size_t bytes = (room + lines1 * First::last) * sizeof(wi_fft_number<T>);
    /* Of sending; where few clusters are on a multiprocessor, several pay. */
    static constexpr unsigned orders = threads == 256 ? 4 : 1;

    /* The first factor reads what may be f16, and the second one writes it. */
    template <unsigned lines, bool reads, bool writes>
    using Block = wi_fft_block<T, wi_fft_fixed<(int)lines>, gap, false, false,
                               reads && sizeof(T) == 4, writes && sizeof(T) == 4>;
    using Block1 = Block<lines1, true, false>;
    using Block2 = Block<lines2, false, true>;

    /* How many of `count` lines a block has, each but the last `most`. */
    static __device__ __forceinline__ unsigned share_of(unsigned count, unsigned most,
                                                        unsigned rank) {
        return count - rank * most < most ? count - rank * most : most;
    }
};

/* Line k1 of the second factor, k1 = j + k before: the block that has it, and its number there.
 * Where it can be, the block or what is added to j is known to the compiler. */
template <class Team, int before>
static __device__ __forceinline__ void find_line(unsigned j, int k, unsigned *rank,
                                                 unsigned *line) {
    constexpr int lines = (int)Team::lines2;
    if constexpr (lines % before == 0) {
        *rank = (unsigned)(k / (lines / before));
        *line = j + (unsigned)(k % (lines / before) * before);
    } else if constexpr (before % lines == 0) {
        *rank = (unsigned)(k * (before / lines)) + j / (unsigned)lines;
        *line = j % (unsigned)lines;
    } else {
        *rank = (j + (unsigned)(k * before)) / (unsigned)lines;
        *line = (j + (unsigned)(k * before)) % (unsigned)lines;
    }
}

/* Sends the results of a set: k1 = j + k before of line j2 becomes number j2 of line k1. Blocks and
 * warps begin with different ones, so that not all send to one block at a time. */
template <class Team, int R, int before, unsigned order = 0>
static __device__ __forceinline__ void
send(unsigned mine, const typename Team::Block1 &block, unsigned line, unsigned j,
     wi_fft_number<typename Team::Type> start, const typename Team::Type (&re)[R],
     const typename Team::Type (&im)[R], wi_barrier *arrived) {
    if constexpr (order + 1 < Team::orders)
        if (mine != order) {
            send<Team, R, before, order + 1>(mine, block, line, j, start, re, im, arrived);
            return;
        }
    const unsigned number = (unsigned)block.turn_of(line);
#pragma unroll
    for (int q = 0; q < R; q++) {
        const int k = (q + (int)order * R / (int)Team::orders) % R;
        unsigned rank, to;
        find_line<Team, before>(j, k, &rank, &to);
        wi_fft_send(block.numbers + to * Team::pitch2 + wi_fft_spread<Team::gap>(number),
                    block.template turned<R>({re[k], im[k]}, start, line, k), arrived, rank);
    }
}

/* The last stage of the first factor. */
template <class Team, int R, int before>
static __device__ __forceinline__ void hand_over(const typename Team::Block1 &block,
                                                 const wi_fft_number<typename Team::Type> *twiddles,
                                                 wi_barrier *arrived) {
    using T = typename Team::Type;
    constexpr int sets = (int)Team::lines1 * before, threads = (int)Team::threads;
    constexpr int most = (sets + threads - 1) / threads;
    constexpr bool is_even = sets == most * threads;
    T re[most][R], im[most][R];
    wi_fft_number<T> start[most]; /* computed while no numbers wait in registers */
#pragma unroll
    for (int i = 0; i < most; i++) {
        const unsigned b = threadIdx.x + (unsigned)i * Team::threads;
        const size_t number = block.turn_of(b % Team::lines1);
        start[i] = block.p.circle.template at<T>(number * (b / Team::lines1));
    }
#pragma unroll
    for (int i = 0; i < most; i++) {
        const unsigned b = threadIdx.x + (unsigned)i * Team::threads;
        const unsigned line = b % Team::lines1, j = b / Team::lines1;
        if (!is_even && b >= (unsigned)sets)
            break;
        block.template fetch<R>(line, j, wi_fft_fixed<before>(), wi_fft_fixed<before>(), twiddles,
                                re[i], im[i]);
    }
    wi_cluster_arrive_read();
#pragma unroll
    for (int i = 0; i < most; i++)
        wi_fft_butterfly<R>(re[i], im[i]);
    const unsigned order =
        (wi_cluster_rank() * Team::orders / Team::blocks + threadIdx.x / 32) % Team::orders;
    wi_cluster_wait();
#pragma unroll
    for (int i = 0; i < most; i++) {
        const unsigned b = threadIdx.x + (unsigned)i * Team::threads;
        const unsigned line = b % Team::lines1, j = b / Team::lines1;
        if (!is_even && (b >= (unsigned)sets || line >= block.at.lines))
            break;
        send<Team, R, before>(order, block, line, j, start[i], re[i], im[i], arrived);
    }
}

template <class Team, int before, int R, int... rest, class Work>
static __device__ __forceinline__ void
run_first(const typename Team::Block1 &block, const wi_fft_number<typename Team::Type> *twiddles,
          wi_fft_cut<R, rest...>, wi_barrier *arrived, const Work &meanwhile) {
    constexpr int m = (int)Team::n1 / R, sets = (int)Team::lines1 * m;
    constexpr int threads = (int)Team::threads, most = (sets + threads - 1) / threads;
    if constexpr (sizeof...(rest) == 0) {
        hand_over<Team, R, before>(block, twiddles, arrived);
    } else {
        block.template stage<R, most, sets == most * threads>(
            wi_fft_fixed<before>(), wi_fft_fixed<m>(), before == 1, false, twiddles, meanwhile);
        run_first<Team, before * R>(block, twiddles + (before > 1 ? (R - 1) * before : 0),
                                    wi_fft_cut<rest...>(), arrived, meanwhile);
    }
}

template <class Team, int before, int R, int... rest>
static __device__ __forceinline__ void
run_second(const typename Team::Block2 &block, const wi_fft_number<typename Team::Type> *twiddles,
           wi_fft_cut<R, rest...>) {
    constexpr int m = (int)Team::n2 / R, sets = (int)Team::lines2 * m;
    constexpr int threads = (int)Team::threads, most = (sets + threads - 1) / threads;
    block.template stage<R, most, sets == most * threads>(wi_fft_fixed<before>(), wi_fft_fixed<m>(),
                                                          false, sizeof...(rest) == 0, twiddles);
    if constexpr (sizeof...(rest) > 0)
        run_second<Team, before * R>(block, twiddles + (before > 1 ? (R - 1) * before : 0),
                                     wi_fft_cut<rest...>());
}

/* Pass `a` has the lines of n1 numbers, pass `b` those of n2. */
template <class Team>
static __global__ void __launch_bounds__(Team::threads, Team::resident)
    in_cluster(const __grid_constant__ wi_fft_pass<typename Team::Type> a,
               const __grid_constant__ wi_fft_pass<typename Team::Type> b) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    using T = typename Team::Type;
    WEFT_DYNAMIC_SHARED(shared);
    WEFT_SHARED(wi_barrier, arrived, );
    wi_fft_number<T> *const numbers = (wi_fft_number<T> *)shared;
    wi_fft_number<T> *const turns = numbers + Team::room;
    const unsigned line = blockIdx.x / Team::blocks, rank = wi_cluster_rank();
    wi_fft_place at = wi_fft_place_of(a.grid, line, -1);
    const wi_fft_place first = {at.in + rank * Team::lines1 * a.near_in, at.out,
                                rank * Team::lines1, Team::share_of(Team::n2, Team::lines1, rank),
                                0};
    at.out += rank * Team::lines2 * b.near_out;
    at.lines = Team::share_of(Team::n1, Team::lines2, rank);
    const typename Team::Block1 one = {a,        first,        numbers,       turns,
                                       Team::n1, Team::pitch1, Team::threads, {}};
    const typename Team::Block2 two = {b,        at,           numbers,       turns,
                                       Team::n2, Team::pitch2, Team::threads, {}};
    wi_fft_expect<T>(&arrived, at.lines * Team::n2);
    if (sizeof(T) == 8) /* a call, for which all registers would be saved */
        one.fill_turns(Team::Cut1::last);
    run_first<Team, 1>(one, a.twiddles, typename Team::Cut1(), &arrived, [&] {
        if (sizeof(T) == 4)
            one.fill_turns(Team::Cut1::last);
    });
    wi_receive(&arrived, 0);
    run_second<Team, 1>(two, b.twiddles, typename Team::Cut2());
#endif
}

/* ---- launches ---- */

/* The two factors of a line as passes of their own; their grids are those of whole lines. */
template <class Team>
static weft_status run_team(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    using T = typename Team::Type;
    wi_fft_lines first = *l, second = *l;
    wi_fft_pass<T> a, b;
    unsigned lines = 0, *const counted = queues ? &lines : NULL;
    first.n = Team::n1;
    first.stride_in = Team::n2 * l->stride_in;
    first.swaps_out = false;
    first.period = Team::n;
    first.turning = 0;
    second.n = Team::n2;
    second.stride_out = Team::n1 * l->stride_out;
    second.swaps_in = false;
    weft_status status =
        wi_fft_pass_of(ctx, &first, Team::Cut1::radix, Team::Cut1::stages, 1, &a, counted);
    if (status == WEFT_OK)
        status =
            wi_fft_pass_of(ctx, &second, Team::Cut2::radix, Team::Cut2::stages, 1, &b, counted);
    if (status != WEFT_OK || !queues)
        return status;
    a.near_in = l->stride_in;
    b.near_out = l->stride_out;
    a.lines_in = b.lines_out = true;
    return WEFT_LAUNCH_CLUSTER(in_cluster<Team>, ctx, lines * Team::blocks, Team::threads,
                               Team::blocks, Team::bytes, a, b);
}

#define TEAM(...)                                                                                  \
    case team<__VA_ARGS__>::n:                                                                     \
        return run_team<team<__VA_ARGS__>>(ctx, l, queues)
#define CUT(...) wi_fft_cut<__VA_ARGS__>

static weft_status run_block(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    size_t none = 0;
    return queues ? wi_fft_queue_lines(ctx, l, NULL) : wi_fft_prepare_lines(ctx, l, &none);
}

static weft_status run_f32(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    if (wi_fft_takes_crossed_line(l))
        return wi_fft_run_crossed_line(ctx, l, queues);
    switch (l->n) {
        TEAM(float, 8, 320, 4, CUT(9, 9), CUT(9, 9, 3));
        TEAM(float, 8, 352, 4, CUT(7, 7), CUT(7, 7, 7));
        TEAM(float, 8, 128, 5, CUT(16, 16), CUT(16, 8));
        TEAM(float, 16, 128, 5, CUT(16, 16), CUT(16, 16));
        TEAM(float, 16, 256, 3, CUT(32, 16), CUT(16, 16));
    default:
        return run_block(ctx, l, queues);
    }
}

static weft_status run_f64(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    switch (l->n) {
        TEAM(double, 8, 320, 3, CUT(9, 9), CUT(9, 9, 3));
        TEAM(double, 8, 352, 3, CUT(7, 7), CUT(7, 7, 7));
        TEAM(double, 4, 128, 4, CUT(16, 8), CUT(8, 8));
        TEAM(double, 8, 128, 4, CUT(16, 8), CUT(16, 8));
        TEAM(double, 16, 128, 4, CUT(16, 16), CUT(16, 8));
        TEAM(double, 16, 256, 0, CUT(16, 16), CUT(16, 16));
    default:
        return run_block(ctx, l, queues);
    }
}

static weft_status team_lines(weft_context *ctx, const wi_fft_lines *l, void *room) {
    (void)room;
    if (wi_fft_takes_columns(l))
        return wi_fft_run_columns(ctx, l, true);
    return l->type == WEFT_F64 ? run_f64(ctx, l, true) : run_f32(ctx, l, true);
}

static weft_status team_prepare(weft_context *ctx, const wi_fft_lines *l, size_t *room_bytes) {
    *room_bytes = 0;
    if (wi_fft_takes_columns(l))
        return wi_fft_run_columns(ctx, l, false);
    return l->type == WEFT_F64 ? run_f64(ctx, l, false) : run_f32(ctx, l, false);
}

/* Lines that lie apart: numbers next to each other are those of one line. */
static bool team_takes(const weft_context *ctx, const wi_fft_lines *l) {
    const bool is_wide = l->type == WEFT_F64, is_power = (l->n & (l->n - 1)) == 0;
    const bool is_near =
        l->loops.used > 0 && (l->loops.in[0] < l->stride_in || l->loops.out[0] < l->stride_out);
    const bool is_held = is_power && l->n >= (size_t)1 << (is_wide ? 13 : 15) &&
                         l->n <= (size_t)1 << (is_wide ? 16 : 17);
    if (wi_fft_block_takes(ctx, l) || wi_fft_takes_columns(l))
        return true;
    return (is_held || wi_fft_is_odd_power(l->n)) && !is_near && l->period == 0;
}

weft_status wi_fft_clusters(weft_context *ctx, const void *args) {
    wi_fft_engine engine = wi_fft_block_engine(wi_fft_kept_bytes);
    wi_fft_add_pairs(&engine);
    engine.takes = team_takes;
    engine.prepare = team_prepare;
    engine.lines = team_lines;
    engine.passes = wi_fft_takes_two_tall;
    engine.in_passes = wi_fft_run_two_tall;
    engine.planes = wi_fft_takes_planes;
    engine.in_planes = wi_fft_run_planes;
    return wi_fft_drive(ctx, &engine, (const wi_fft_args *)args);
}
