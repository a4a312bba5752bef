/* SPDX-License-Identifier: Apache-2.0 */
/* Segments of a window sorted in registers, eight elements of each thread, by teams of 1 to 32
 * lanes or by the whole block: each thread sorts its own by a network, and then bitonic networks
 * merge those of two, four, ... threads. A network's steps are the same for all lengths, so teams
 * of a warp are in step. */
#ifndef WI_SORT_SEGMENTS_TEAMS_CUH
#define WI_SORT_SEGMENTS_TEAMS_CUH

#include "cuda/warp.cuh"
#include "sort/sort_segments.cuh"

namespace {

/* What is sorted: keys alone, in registers of four bytes at least; or keys with their places in the
 * window below them, so that equal keys keep their order and values are found at the end. */
template <class U, class V>
struct tiny_word {
    using type = placed<U>;
};
template <class U>
struct tiny_word<U, wi_no_value> {
    using type = U;
};

template <class T>
__device__ void put_in_order(T &a, T &b) {
    const T least = b < a ? b : a;
    b = b < a ? a : b;
    a = least;
}

/* Batcher's merging network of odd and even places, for any number of them (Knuth, The Art of
 * Computer Programming, 5.3.4), from these runs and this step on. Steps are template parameters so
 * that x stays in registers. */
template <int run, int step, int count, class T>
__device__ void merge_registers(T (&x)[count]) {
#pragma unroll
    for (int i = step % run; i + step < count; i++)
        if ((i - step % run) % (2 * step) < step && i / (2 * run) == (i + step) / (2 * run))
            put_in_order(x[i], x[i + step]);
    if constexpr (step > 1)
        merge_registers<run, step / 2>(x);
    else if constexpr (2 * run < count)
        merge_registers<2 * run, 2 * run>(x);
}

/* A segment of a window: where it begins in the window, and its length. */
struct segment_part {
    unsigned begin, n;
};

constexpr int team_own = 8; /* elements of a thread */
constexpr unsigned team_warps = wi_merge_threads / 32, team_warp = 32 * team_own;

/* Where elements of threads lie side by side in shared memory: eight threads on, banks differ. */
constexpr int team_row = team_own + 1;
__device__ inline unsigned team_at(unsigned i) {
    return i + i / team_own;
}

/* The network of a team, or of a block; elements are those of thread 0, then those of thread 1,
 * and so on. Called by whole warps. */
template <class R>
struct team_network {
    using Own = R[team_own];

    /* The lesser or the greater of the two. */
    __device__ static void keep(R &own, R other, bool lesser) {
        own = (other < own) == lesser ? other : own;
    }

    /* Makes elements that ascend and then descend ascend. */
    __device__ static void straighten_own(Own &x) {
#pragma unroll
        for (int step = team_own / 2; step > 0; step /= 2)
#pragma unroll
            for (int k = 0; k < team_own; k++)
                if ((k & step) == 0)
                    put_in_order(x[k], x[k + step]);
    }
    /* The same for so many lanes' elements. */
    __device__ static void straighten(Own &x, unsigned lanes) {
#pragma unroll 1
        for (unsigned step = lanes / 2; step > 0; step /= 2) {
            const bool lesser = (threadIdx.x & step) == 0;
#pragma unroll
            for (int k = 0; k < team_own; k++)
                keep(x[k], wi_shuffle_xor(x[k], (int)step), lesser);
        }
        straighten_own(x);
    }

    /* Sorts the elements of each of so many neighbours. */
    __device__ static void sort(Own &x, unsigned lanes) {
        merge_registers<1, 1>(x);
#pragma unroll 1
        for (unsigned run = 2; run <= lanes; run *= 2) {
            const bool lesser = (threadIdx.x & (run / 2)) == 0;
#pragma unroll
            for (int k = 0; k < team_own / 2; k++) {
                const R other = wi_shuffle_xor(x[team_own - 1 - k], (int)run - 1),
                        mirrored = wi_shuffle_xor(x[k], (int)run - 1);
                keep(x[k], other, lesser);
                keep(x[team_own - 1 - k], mirrored, lesser);
            }
            straighten(x, run / 2);
        }
    }

    /* One step between warps, by way of `slots`. */
    template <bool mirrored>
    __device__ static void step_across(Own &x, R *slots, unsigned mask, bool lesser) {
#pragma unroll
        for (int k = 0; k < team_own; k++)
            slots[threadIdx.x * team_row + k] = x[k];
        __syncthreads();
        const R *const other = slots + (threadIdx.x ^ mask) * team_row;
#pragma unroll
        for (int k = 0; k < team_own; k++)
            keep(x[k], other[mirrored ? team_own - 1 - k : k], lesser);
        __syncthreads();
    }

    /* Sorts n elements of the block. Warps that have none only take part in steps between warps. */
    __device__ static void sort_in_block(Own &x, R *slots, unsigned n) {
        const bool is_in = threadIdx.x / 32 * team_warp < n;
        if (is_in)
            sort(x, 32);
#pragma unroll 1
        for (unsigned run = 64; run / 2 * team_own < n; run *= 2) {
            step_across<true>(x, slots, run - 1, (threadIdx.x & (run / 2)) == 0);
#pragma unroll 1
            for (unsigned step = run / 4; step >= 32; step /= 2)
                step_across<false>(x, slots, step, (threadIdx.x & step) == 0);
            if (is_in)
                straighten(x, 32);
        }
    }
};

template <class U, class V>
struct segment_teams {
    using W = typename tiny_word<U, V>::type;
    using R = typename wi_choose<(sizeof(W) < 4), uint32_t, W>::type;
    using network = team_network<R>;
    using Own = typename network::Own;
    static constexpr int place_bits = wi_merge_has_values<V> ? 4 * sizeof(W) : 0;
    static constexpr unsigned most_large = window<U, V> / (team_warp + 1) + 1;
    static_assert(window<U, V> <= wi_merge_threads * team_own, "a block has the longest");

    struct memory {
        R slots[wi_merge_threads * team_row];
        segment_part listed[team_warps][32], large[most_large];
        unsigned larges;
    };

    const segments<U, V> &g;
    const W *word; /* of the window's elements */
    size_t first;  /* of these */
    memory &m;

    /* Thread t of so many takes elements of a segment, in any order. */
    __device__ void take(Own &x, const segment_part &p, unsigned t, unsigned threads) const {
#pragma unroll
        for (int k = 0; k < team_own; k++) {
            const unsigned i = (unsigned)k * threads + t;
            x[k] = ~(R)0;
            if (i < p.n)
                x[k] = word[p.begin + i];
        }
    }

    template <bool changes>
    __device__ void write_keys(const segment_part &p, const R *slots, unsigned t,
                               unsigned threads) const {
        U *to = g.out.keys + first + p.begin + t;
#pragma unroll
        for (int k = 0; k < team_own; k++, t += threads, to += threads) {
            if (t >= p.n)
                continue;
            const U key = (U)(slots[team_at(t)] >> place_bits);
            *to = changes ? g.map.bits(key) : key;
        }
    }

    /* The values may be sorted in place, so all are read before any is written. */
    template <class Wait>
    __device__ void write_values(const segment_part &p, const R *slots, unsigned t,
                                 unsigned threads, Wait wait) const {
        V value[team_own];
#pragma unroll
        for (int k = 0; k < team_own; k++) {
            const unsigned i = (unsigned)k * threads + t;
            if (i < p.n)
                value[k] =
                    g.x.from(first).value((int)(slots[team_at(i)] & (((R)1 << place_bits) - 1)));
        }
        wait();
#pragma unroll
        for (int k = 0; k < team_own; k++) {
            const unsigned i = (unsigned)k * threads + t;
            if (i < p.n)
                g.out.values[first + p.begin + i] = value[k];
        }
    }

    /* Writes sorted elements, by way of `slots`; wait() is a barrier of those who call it. */
    template <class Wait>
    __device__ void write(const Own &x, const segment_part &p, R *slots, unsigned t,
                          unsigned threads, Wait wait) const {
#pragma unroll
        for (int k = 0; k < team_own; k++)
            slots[t * team_row + (unsigned)k] = x[k];
        wait();
        if (wi_merge_has_values<V> || g.map.changes())
            write_keys<true>(p, slots, t, threads);
        else
            write_keys<false>(p, slots, t, threads);
        if constexpr (wi_merge_has_values<V>)
            write_values(p, slots, t, threads, wait);
        wait(); /* slots are used again */
    }

    /* The segments among the warp's that fill half of a team of so many lanes or more. */
    __device__ void sort_by_teams(const segment_part &own, unsigned lanes) const {
        const unsigned most = lanes * team_own, lane = (unsigned)wi_lane(), warp = threadIdx.x / 32;
        const bool is_mine = own.n <= most && own.n > (lanes > 1 ? most / 2 : 0);
        const unsigned those = __ballot_sync(wi_all_lanes, is_mine), many = (unsigned)__popc(those);
        if (is_mine)
            m.listed[warp][__popc(those & ((1u << lane) - 1))] = own;
        __syncwarp();
#pragma unroll 1
        for (unsigned k = lane / lanes; k - lane / lanes < many; k += 32 / lanes) {
            const segment_part p = k < many ? m.listed[warp][k] : segment_part{0, 0};
            Own x;
            take(x, p, lane % lanes, lanes);
            network::sort(x, lanes);
            write(x, p, m.slots + threadIdx.x / lanes * lanes * team_row, lane % lanes, lanes,
                  [] { __syncwarp(); });
        }
        __syncwarp();
    }

    /* All segments of the window; part(i) is the i-th of so many. A warp's lanes take every fourth,
     * so that all warps have some where there are few. */
    template <class Part>
    __device__ void sort_all(size_t count, Part part) const {
        if (threadIdx.x == 0)
            m.larges = 0;
        __syncthreads();
        const unsigned turn = (unsigned)wi_lane() * team_warps + threadIdx.x / 32;
#pragma unroll 1
        for (size_t i = turn; i - turn < count; i += wi_merge_threads) {
            const segment_part own = part(i);
            if (own.n > team_warp)
                m.large[atomicAdd(&m.larges, 1u)] = own;
#pragma unroll 1
            for (unsigned lanes = 1; lanes <= 32; lanes *= 2)
                sort_by_teams(own, lanes);
        }
        __syncthreads();
        const unsigned larges = m.larges;
#pragma unroll 1
        for (unsigned k = 0; k < larges; k++) {
            const segment_part p = m.large[k];
            Own x;
            const unsigned before = threadIdx.x / 32 * team_warp; /* what earlier warps take */
            const unsigned left = p.n > before ? p.n - before : 0;
            take(x, {p.begin + before, left < team_warp ? left : team_warp}, (unsigned)wi_lane(),
                 32);
            network::sort_in_block(x, m.slots, p.n);
            write(x, p, m.slots, threadIdx.x, wi_merge_threads, [] { __syncthreads(); });
        }
    }
};

} // namespace

#endif
