/* SPDX-License-Identifier: Apache-2.0 */
/* The rung clusters: a line of 2^15 to 2^18 numbers in the shared memory of a cluster's blocks,
 * read and written once. n = n1 n2; each of C blocks transforms n2 / C of the lines of n1 numbers,
 * hands the results to the blocks that want them, and transforms n1 / C of the lines of n2 numbers.
 */
#include "cuda/cluster.cuh"
#include "fft/fft_cuda.h"
#include "fft/fft_shape.cuh"

/* Radices of one of the two factors. */
template <int... radices>
struct cut {
    static constexpr unsigned n = (1 * ... * radices), stages = sizeof...(radices);
    static constexpr unsigned radix[] = {radices...};
    static constexpr unsigned last = radix[stages - 1];
};

/* A cluster of `blocks` blocks of `threads` threads. */
template <class T, unsigned blocks_, unsigned threads_, class First, class Second>
struct team {
    using Type = T;
    using Cut1 = First;
    using Cut2 = Second;
    static constexpr unsigned blocks = blocks_, threads = threads_;
    static constexpr unsigned n1 = First::n, n2 = Second::n, n = n1 * n2;
    static constexpr unsigned lines1 = n2 / blocks, lines2 = n1 / blocks;
    static constexpr unsigned pitch1 = wi_fft_pitch<T>(n1), pitch2 = wi_fft_pitch<T>(n2);
    static constexpr unsigned line_bits1 = wi_fft_bits_of(lines1),
                              line_bits2 = wi_fft_bits_of(lines2);
    static constexpr unsigned room =
        lines1 * pitch1 > lines2 *pitch2 ? lines1 *pitch1 : lines2 *pitch2;
    static constexpr size_t bytes = (room + lines1 * First::last) * sizeof(wi_fft_number<T>);
};

/* The last stage of the first factor: result k1 of line j2 becomes number j2 of line k1, which is
 * line k1 mod lines2 of block k1 / lines2. */
template <class Team, int R, int before>
static __device__ __forceinline__ void
hand_over(const wi_fft_block<typename Team::Type> &block,
          const wi_fft_number<typename Team::Type> *twiddles) {
    using T = typename Team::Type;
    constexpr int most = (int)(Team::lines1 * before / Team::threads);
    T re[most][R], im[most][R];
#pragma unroll
    for (int i = 0; i < most; i++) {
        const unsigned b = threadIdx.x + (unsigned)i * Team::threads;
        const unsigned line = b % Team::lines1, j = b / Team::lines1;
        block.template fetch<R>(line, j, wi_fft_fixed<before>(), wi_fft_fixed<before>(), twiddles,
                                re[i], im[i]);
        wi_fft_butterfly<R>(re[i], im[i]);
    }
    wi_cluster_sync();
#pragma unroll
    for (int i = 0; i < most; i++) {
        const unsigned b = threadIdx.x + (unsigned)i * Team::threads;
        const unsigned line = b % Team::lines1, j = b / Team::lines1;
        const unsigned number = (unsigned)block.turn_of(line);
        const wi_fft_number<T> start = block.p.circle.template at<T>((size_t)number * j);
#pragma unroll
        for (int k = 0; k < R; k++) {
            const unsigned k1 = j + (unsigned)(k * before);
            wi_fft_number<T> *const to = block.numbers + k1 % Team::lines2 * Team::pitch2 +
                                         wi_fft_spread<wi_fft_gap<T>>(number);
            *wi_cluster_map(to, k1 / Team::lines2) =
                block.template turned<R>({re[i][k], im[i][k]}, start, line, k);
        }
    }
    wi_cluster_sync();
}

template <class Team, int before, int R, int... rest>
static __device__ __forceinline__ void run_first(const wi_fft_block<typename Team::Type> &block,
                                                 const wi_fft_number<typename Team::Type> *twiddles,
                                                 cut<R, rest...>) {
    constexpr int m = (int)Team::n1 / R;
    if constexpr (sizeof...(rest) == 0) {
        hand_over<Team, R, before>(block, twiddles);
    } else {
        block.template stage<R, (int)(Team::lines1 * m / Team::threads), true>(
            wi_fft_fixed<before>(), wi_fft_fixed<m>(), before == 1, false, twiddles);
        run_first<Team, before * R>(block, twiddles + (before > 1 ? (R - 1) * before : 0),
                                    cut<rest...>());
    }
}

template <class Team, int before, int R, int... rest>
static __device__ __forceinline__ void
run_second(const wi_fft_block<typename Team::Type> &block,
           const wi_fft_number<typename Team::Type> *twiddles, cut<R, rest...>) {
    constexpr int m = (int)Team::n2 / R;
    block.template stage<R, (int)(Team::lines2 * m / Team::threads), true>(
        wi_fft_fixed<before>(), wi_fft_fixed<m>(), false, sizeof...(rest) == 0, twiddles);
    if constexpr (sizeof...(rest) > 0)
        run_second<Team, before * R>(block, twiddles + (before > 1 ? (R - 1) * before : 0),
                                     cut<rest...>());
}

/* Pass `a` has the lines of n1 numbers, pass `b` those of n2. */
template <class Team>
static __global__ void __launch_bounds__(Team::threads)
    in_cluster(const __grid_constant__ wi_fft_pass<typename Team::Type> a,
               const __grid_constant__ wi_fft_pass<typename Team::Type> b) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    using T = typename Team::Type;
    WEFT_DYNAMIC_SHARED(shared);
    wi_fft_number<T> *const numbers = (wi_fft_number<T> *)shared;
    const unsigned line = blockIdx.x / Team::blocks, rank = wi_cluster_rank();
    wi_fft_place at = wi_fft_place_of(a.grid, line, -1);
    const wi_fft_place first = {at.in + rank * Team::lines1 * a.near_in, at.out,
                                rank * Team::lines1, Team::lines1, 0};
    at.out += rank * Team::lines2 * b.near_out;
    at.lines = Team::lines2;
    const wi_fft_block<T> one = {a,        first,        numbers,          numbers + Team::room,
                                 Team::n1, Team::pitch1, Team::line_bits1, Team::threads};
    const wi_fft_block<T> two = {b,        at,           numbers,          numbers + Team::room,
                                 Team::n2, Team::pitch2, Team::line_bits2, Team::threads};
    one.fill_turns(Team::Cut1::last);
    run_first<Team, 1>(one, a.twiddles, typename Team::Cut1());
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
#define CUT(...) cut<__VA_ARGS__>

static weft_status run_block(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    size_t none = 0;
    return queues ? wi_fft_queue_lines(ctx, l, NULL) : wi_fft_prepare_lines(ctx, l, &none);
}

static weft_status run_f32(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    switch (l->n) {
        TEAM(float, 4, 512, CUT(16, 16), CUT(16, 8));
        TEAM(float, 8, 512, CUT(16, 16), CUT(16, 16));
        TEAM(float, 16, 512, CUT(8, 8, 8), CUT(16, 16));
        TEAM(float, 16, 1024, CUT(8, 8, 8), CUT(8, 8, 8));
    default:
        return run_block(ctx, l, queues);
    }
}

static weft_status run_f64(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    switch (l->n) {
        TEAM(double, 4, 256, CUT(16, 8), CUT(16, 8));
        TEAM(double, 8, 256, CUT(16, 16), CUT(16, 8));
        TEAM(double, 16, 256, CUT(16, 16), CUT(16, 16));
        TEAM(double, 16, 512, CUT(8, 8, 8), CUT(16, 16));
    default:
        return run_block(ctx, l, queues);
    }
}

static weft_status team_lines(weft_context *ctx, const wi_fft_lines *l, void *room) {
    (void)room;
    return l->type == WEFT_F64 ? run_f64(ctx, l, true) : run_f32(ctx, l, true);
}

static weft_status team_prepare(weft_context *ctx, const wi_fft_lines *l, size_t *room_bytes) {
    *room_bytes = 0;
    return l->type == WEFT_F64 ? run_f64(ctx, l, false) : run_f32(ctx, l, false);
}

/* Lines that lie apart: numbers next to each other are those of one line. */
static bool team_takes(const weft_context *ctx, const wi_fft_lines *l) {
    const bool is_wide = l->type == WEFT_F64, is_power = (l->n & (l->n - 1)) == 0;
    const bool is_near =
        l->loops.used > 0 && (l->loops.in[0] < l->stride_in || l->loops.out[0] < l->stride_out);
    if (wi_fft_block_takes(ctx, l))
        return true;
    return is_power && !l->half_in && !l->half_out && l->n >= (size_t)1 << (is_wide ? 14 : 15) &&
           l->n <= (size_t)1 << (is_wide ? 17 : 18) && !is_near && l->period == 0;
}

weft_status wi_fft_clusters(weft_context *ctx, const void *args) {
    wi_fft_engine engine = wi_fft_block_engine(wi_fft_kept_bytes);
    wi_fft_add_pairs(&engine);
    engine.takes = team_takes;
    engine.prepare = team_prepare;
    engine.lines = team_lines;
    return wi_fft_drive(ctx, &engine, (const wi_fft_args *)args);
}
