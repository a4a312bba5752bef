/* SPDX-License-Identifier: Apache-2.0 */
/* Long segments, in one kernel for all passes: chunks are sorted in a first round, and merged two
 * by two in each that follows. Nobody on the host knows how many rounds there will be, and a launch
 * for each that there may be took longer than all of the work if there is nothing long.
 *
 * Blocks take tickets, which count the groups of chunks of the first round, then those of the
 * second, and so on. A block waits until all groups of earlier rounds are done; their tickets are
 * smaller, so running blocks hold them, and each does its tickets in order: the block with the
 * smallest ticket waits for none. */
#ifndef WI_SORT_SEGMENTS_LONG_CUH
#define WI_SORT_SEGMENTS_LONG_CUH

#include "cuda/memory.cuh"
#include "cuda/ticket.cuh"
#include "cuda/warp.cuh"
#include "sort/sort_segments.cuh"

namespace {

/* A chunk of a long segment: elements [first, first + n) of the array. */
struct chunk {
    size_t segment_first, segment_n;
    size_t first, n;
    int passes; /* that the segment needs; the last one writes `out` */
};

/* Chunk c of all: even numbers are chunks of segments that began before the window, odd numbers are
 * the first chunks of segments. False if there is none. */
template <class U, class V>
__device__ bool find_chunk(const segments<U, V> &g, size_t c, chunk *out) {
    constexpr size_t wide = window<U, V>, size = chunk_size<U, V>;
    const size_t w = c / 2, begin = w * wide;
    const uint64_t s = g.starts[w + c % 2]; /* the one after the segment */
    if (s == (c % 2 ? g.starts[w] : 0))
        return false;
    chunk found;
    found.segment_first = g.offsets[s - 1];
    found.segment_n = g.firsts[w + c % 2] - found.segment_first;
    if (found.segment_n <= wide)
        return false;
    size_t before = 0;
    if (c % 2 == 0)
        before = (begin - found.segment_first + size - 1) / size * size;
    found.first = found.segment_first + before;
    if (before >= found.segment_n || found.first >= begin + wide)
        return false;
    const size_t left = found.segment_n - before;
    found.n = left < size ? left : size;
    found.passes = wi_merge_passes(found.segment_n, size);
    *out = found;
    return true;
}

/* The two runs that a pass merges for a chunk, and where the chunk is in the result. */
struct merging {
    size_t start, na, nb, before;
};

template <class U, class V>
__device__ merging find_merging(const chunk &c, int pass) {
    const size_t run = chunk_size<U, V> << pass, place = c.first - c.segment_first;
    merging m;
    const size_t pair = place / (2 * run) * (2 * run), left = c.segment_n - pair;
    m.start = c.segment_first + pair;
    m.na = left < run ? left : run;
    m.nb = left - m.na < run ? left - m.na : run;
    m.before = place - pair;
    return m;
}

/* What a block needs for chunks. */
template <class U, class V>
struct chunk_block {
    using block = wi_merge_block<wi_plain_order<U>, V, wi_merge_threads, wi_merge_items<U, V>>;

    const segments<U, V> &g;
    typename block::memory &memory;
    size_t *ends; /* of a chunk, on the merge path */

    __device__ block with(bool maps_in, bool maps_out) const {
        return {{g.map, maps_in, maps_out, 0, (U) ~(U)0}, memory};
    }

    __device__ void sort(const chunk &c) const {
        const wi_sort_out<U, V> to = g.home(c.passes & 1);
        with(true, c.passes == 0)
            .sort_tile(g.x.from(c.first), (int)c.n, to.keys_at(c.first), to.values_at(c.first));
    }

    /* Pass number `pass` of a segment reads one of the two arrays and writes the other, the last
     * pass `out`. */
    __device__ void merge(const chunk &c, int pass) const {
        const merging m = find_merging<U, V>(c, pass);
        const int home = (c.passes - pass) & 1;
        const wi_sort_out<U, V> from = g.home(home), to = g.home(home ^ 1);
        const wi_stretch<U, V> runs = wi_stretch<U, V>{from.keys, from.values, 0}.from(m.start);
        const block b = with(false, pass + 1 == c.passes);
        const unsigned end = threadIdx.x / 32; /* of the chunk, that this warp finds */
        if (end < 2) {
            const size_t split = wi_split_by_warp(b.order, runs.keys, m.na, runs.keys + m.na, m.nb,
                                                  m.before + (end ? c.n : 0));
            if (wi_lane() == 0)
                ends[end] = split;
        }
        __syncthreads();
        const size_t a = ends[0];
        b.template merge_tile<true>(runs.from(a), (int)(ends[1] - a),
                                    runs.from(m.na + m.before - a), (int)c.n, to.keys_at(c.first),
                                    to.values_at(c.first));
    }

    /* All chunks of a group, or those that have this round. */
    __device__ void do_group(size_t group, unsigned round) const {
        constexpr unsigned many = chunks_of_group;
        const size_t begin = group * many, mine = begin + (unsigned)wi_lane() % many;
        chunk c;
        const bool is_there =
            mine < 2 * g.windows && find_chunk(g, mine, &c) && (unsigned)c.passes >= round;
        unsigned left = __ballot_sync(wi_all_lanes, is_there) & ((1u << many) - 1);
        for (; left; left &= left - 1) {
            find_chunk(g, begin + (unsigned)__ffs((int)left) - 1, &c);
            if (round == 0)
                sort(c);
            else
                merge(c, (int)round - 1);
            __syncthreads();
        }
    }
};

/* Takes the next ticket ahead of time, and waits until all tickets below `groups` times the round
 * of this one are done. Thread 0 alone. */
struct ticket_taker {
    const findings &f;
    uint64_t ahead, ready;

    __device__ uint64_t take(uint64_t groups, unsigned rounds) {
        const uint64_t ticket = ahead, needed = ticket / groups * groups;
        if (ticket >= groups * rounds)
            return ticket;
        ahead = wi_take_number(f.taken);
        if (needed > ready) {
            while (wi_glance(f.done) < needed)
                wi_spin();
            __threadfence();
            ready = needed;
        }
        return ticket;
    }
};

/* Takes part in all rounds. Called by a whole block; `taken` is for its tickets. */
template <class U, class V>
__device__ void take_rounds(const chunk_block<U, V> &chunks, const findings &f, unsigned rounds,
                            uint64_t *taken) {
    const uint64_t groups = (2 * chunks.g.windows + chunks_of_group - 1) / chunks_of_group;
    ticket_taker taker = {f, 0, 0};
    if (threadIdx.x == 0)
        taker.ahead = wi_take_number(f.taken);
    for (;;) {
        if (threadIdx.x == 0)
            *taken = taker.take(groups, rounds);
        __syncthreads();
        const uint64_t ticket = *taken;
        if (ticket >= groups * rounds)
            return;
        chunks.do_group(ticket % groups, (unsigned)(ticket / groups));
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicAdd(f.done, 1ull);
        }
    }
}

template <class U, class V>
__global__ void __launch_bounds__(wi_merge_threads) sort_long(segments<U, V> g, findings f) {
    using chunks = chunk_block<U, V>;
    WEFT_SHARED(typename chunks::block::memory, memory, );
    WEFT_SHARED(size_t, ends, [2]);
    WEFT_SHARED(uint64_t, taken, );
    const unsigned rounds = *f.wrong ? 0 : *f.rounds;
    if (rounds > 0)
        take_rounds(chunks{g, memory, ends}, f, rounds, &taken);
    __syncthreads(); /* all have read what is made 0 */
    if (wi_ends_last(f.left) && threadIdx.x == 0) {
        *f.wrong = *f.rounds = 0;
        *f.taken = *f.done = 0;
    }
}

} // namespace

#endif
