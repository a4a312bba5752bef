/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of the rung "paths".
 *
 * Lay all elements and all ends of segments in one line, each end behind the last element of its
 * segment: the path. It has n + segments steps, and is cut into tiles of equal length, so neither a
 * long segment nor a million empty ones hold a block up. End s is step end(s) + s, so a search
 * finds how many ends come before a tile; all else before it is elements.
 *
 * A block takes consecutive tiles. Asynchronous copies bring a tile's elements and the offsets of
 * its ends to shared memory while the tile before it is reduced. There a thread reduces a short
 * segment by itself, and a warp a long one. A tile without ends has no segments to find: each
 * thread adds its elements to a state that it keeps from tile to tile. One with a single end is two
 * such stretches.
 *
 * The first segment of a tile may have begun in tiles before, and what is behind the last end is
 * carried on to those that follow. The block that ends last carries on from block to block, and
 * writes the result of the segment that ends first in each. So the same input gives the same bits,
 * and every result is written once. */
#ifndef WI_GROUP_PATHS_CUH
#define WI_GROUP_PATHS_CUH

#include "cuda/ticket.cuh"
#include "group/group_records.cuh"
#include "group/group_tile.cuh"

constexpr int threads = wi_group_block;
constexpr int warps = threads / 32;

template <class State>
struct wi_path_scratch {
    unsigned *ticket;              /* counts the blocks that have ended; 0 between launches */
    uint64_t *ends;                /* how many come before each tile; the last is all of them */
    wi_path_record<State> *blocks; /* one for each block */
};

static __device__ inline uint64_t tiles_of(const wi_group_starts &s, unsigned tile) {
    return (s.n + s.count() + tile - 1) / tile;
}

/* Does end s come before a step? */
static __device__ inline bool is_before(const wi_group_starts &starts, uint64_t s, uint64_t count,
                                        uint64_t step) {
    return starts.of(s + 1, count) + s < step;
}

/* ends[k] = how many ends are among the first k tiles, of all at last. The search begins
 * where the end would be if all segments had one length, and doubles its stride until it has passed
 * it: of even lengths it reads little memory that its neighbours do not read. */
__global__ void __launch_bounds__(threads)
    find_ends(wi_group_starts starts, unsigned tile, uint64_t *ends) {
    const uint64_t count = starts.count(), tiles = tiles_of(starts, tile);
    const double ends_a_step = (double)count / (double)(starts.n + count);
    const uint64_t stride = (uint64_t)gridDim.x * threads;
    for (uint64_t k = (uint64_t)blockIdx.x * threads + threadIdx.x; k <= tiles; k += stride) {
        const uint64_t step = k * tile, guess = (uint64_t)((double)step * ends_a_step);
        uint64_t low = 0, high = step < count ? step : count, far = 2;
        uint64_t s = guess < high ? guess : high;
        if (s < high && is_before(starts, s, count, step)) {
            for (low = s + 1; high - low > far && is_before(starts, low + far, count, step);
                 far *= 2)
                low += far + 1;
            high = high - low > far ? low + far : high;
        } else {
            for (high = s; high - low > far && !is_before(starts, high - far, count, step);
                 far *= 2)
                high -= far;
            low = high - low > far ? high - far : low;
        }
        while (low < high) {
            s = low + (high - low) / 2;
            if (is_before(starts, s, count, step))
                low = s + 1;
            else
                high = s;
        }
        ends[k] = low;
    }
}

/* A tile of the path: its first element and its first end, and how many it has of each. */
struct wi_path_tile {
    uint64_t element, end;
    unsigned elements, ends;
};

/* The tile from step `first` on. If offsets fall, which nobody has checked, it still has no more
 * than its steps. */
static __device__ inline wi_path_tile tile_at(const wi_group_starts &starts, uint64_t first,
                                              unsigned tile, uint64_t count, uint64_t end,
                                              uint64_t next_end) {
    const uint64_t all = starts.n + count;
    const uint64_t steps = first + tile < all ? tile : all - first;
    const uint64_t ends = next_end < end ? 0 : next_end - end;
    wi_path_tile t;
    t.end = end;
    t.ends = (unsigned)(ends < steps ? ends : steps);
    t.element = first - end < starts.n ? first - end : starts.n;
    const uint64_t left = starts.n - t.element, wanted = steps - t.ends;
    t.elements = (unsigned)(wanted < left ? wanted : left);
    return t;
}

/* The ends of a tile in shared memory: offsets from that of its first end on. */
template <class Offset>
struct wi_path_ends {
    const Offset *at;
    unsigned known; /* so many offsets; behind them is the end of the array */
    Offset element;
    unsigned elements;

    /* How many of the tile's elements are before its end s. */
    __device__ unsigned of(unsigned s) const {
        if (s >= known)
            return elements;
        const Offset before = at[s] - element;
        return before < elements ? (unsigned)before : elements;
    }
};

/* The shared memory of a block. */
template <class Reducer, class T>
struct wi_path_shared {
    using State = typename Reducer::State;
    using Open = wi_open_segment<State>;
    static constexpr unsigned window = wi_spread(wi_path_tile_bytes + 64);
    alignas(16) unsigned char tile[2][window];
    Open of_warp[warps];
    Open carry[2]; /* what is open before a tile that has ends; of that and of the next one */
    unsigned long_ones[2];
    wi_path_tile next[2];
    wi_group_part of_long[wi_group_most_long];
};

/* A block's stretch of tiles. */
template <class Reducer, class T>
struct wi_path_walk {
    using State = typename Reducer::State;
    using Result = typename Reducer::Result;
    using Shared = wi_path_shared<Reducer, T>;
    const Reducer &reducer;
    const wi_group_params<Reducer, T> &p;
    Shared &shared;
    wi_path_record<State> *record;
    unsigned tile; /* steps */
    uint64_t count;
    unsigned now;  /* which half of `carry` and `long_ones` the tile uses */
    bool has_kept; /* threads keep states of tiles without ends */
    State kept;

    /* Where offsets begin in a tile's window. */
    __device__ static unsigned behind_elements(const wi_path_tile &t) {
        return wi_spread((t.elements * (unsigned)sizeof(T) + 31) / 16 * 16);
    }

    __device__ unsigned known_ends(const wi_path_tile &t) const {
        const uint64_t left = count - t.end;
        return left > t.ends ? t.ends : left > 0 ? (unsigned)left - 1 : 0;
    }

    __device__ void bring_tile(const wi_path_tile &t, unsigned half) const {
        unsigned char *const to = shared.tile[half], *const behind = to + behind_elements(t);
        wi_bring<true>(to, p.x, p.starts.n, t.element, t.elements);
        if (p.starts.bytes == 4)
            wi_bring<false>(behind, (const uint32_t *)p.starts.at, count, t.end + 1, known_ends(t));
        else
            wi_bring<false>(behind, (const uint64_t *)p.starts.at, count, t.end + 1, known_ends(t));
        wi_async_commit();
    }

    __device__ wi_group_members<T> elements_of(const wi_path_tile &t, unsigned half) const {
        return {shared.tile[half], (unsigned)((uintptr_t)(p.x + t.element) % 16), t.element};
    }

    template <class Offset>
    __device__ wi_path_ends<Offset> ends_of(const wi_path_tile &t, unsigned half) const {
        const Offset *const first = (const Offset *)p.starts.at + t.end + 1;
        const unsigned char *const at = shared.tile[half] + behind_elements(t);
        return {(const Offset *)(at + (uintptr_t)first % 16), known_ends(t), (Offset)t.element,
                t.elements};
    }

    /* Puts what threads keep, combined for each warp, into shared memory. */
    __device__ void put_kept() {
        const State all =
            wi_warp_reduce(kept, [&](State a, State b) { return reducer.combine(a, b); });
        if (wi_lane() == 0)
            shared.of_warp[threadIdx.x / 32] = {all, 0};
        kept = reducer.identity();
    }

    /* What is open, with what threads have kept. */
    __device__ wi_open_segment<State> take_open() const {
        wi_open_segment<State> open = shared.carry[now];
        for (int w = 0; w < warps && has_kept; w++)
            open.state = reducer.combine(open.state, shared.of_warp[w].state);
        return open;
    }

    /* Hands on the state of a segment of a tile, but the first: what is behind the last end stays
     * open. Called by one thread, as is the next. */
    __device__ void put(const wi_path_tile &t, unsigned s, State state) {
        if (s < t.ends)
            p.y[t.end + s] = reducer.finish(state);
        else
            shared.carry[now ^ 1] = {state, 1};
    }

    /* The same of the first segment, which may have begun before the tile. */
    __device__ void put_first(const wi_path_tile &t, State state) {
        const wi_open_segment<State> open = take_open();
        const State whole = reducer.combine(open.state, state);
        if (open.ended) {
            p.y[t.end] = reducer.finish(whole);
        } else {
            record->head = whole;
            record->segment = t.end;
        }
    }

    /* Segments that are short, a thread for each; the others, and the first, go to the list. */
    template <class Offset>
    __device__ void take_short(const wi_path_tile &t, const wi_group_members<T> &elements,
                               const wi_path_ends<Offset> &ends) {
        if (threadIdx.x == 0)
            shared.of_long[0] = {0, (uint16_t)ends.of(0), 0};
        for (unsigned s = threadIdx.x + 1; s <= t.ends; s += threads) {
            const unsigned from = ends.of(s - 1), to = s < t.ends ? ends.of(s) : t.elements;
            unsigned place = wi_group_most_long;
            if (to > from + wi_group_serial_most)
                place = atomicAdd(&shared.long_ones[now], 1u);
            if (place < wi_group_most_long) /* else it is short, or offsets fall */
                shared.of_long[place] = {(uint16_t)from, (uint16_t)to, (uint16_t)s};
            else
                put(t, s, elements.template reduce<1>(reducer, from, to));
        }
    }

    __device__ void take_long(const wi_path_tile &t, const wi_group_members<T> &elements) {
        const unsigned many = shared.long_ones[now];
        wi_reduce_parts(reducer, elements, shared.of_long,
                        many < wi_group_most_long ? many : wi_group_most_long,
                        [&](unsigned k, State state) {
                            if (k == 0)
                                put_first(t, state);
                            else
                                put(t, shared.of_long[k].segment, state);
                        });
    }

    /* A tile with one end at most: all threads reduce what is before it, then what is behind it. */
    __device__ void take_whole(const wi_path_tile &t, const wi_group_members<T> &elements,
                               unsigned end) {
        unsigned from = 0, to = end;
#pragma unroll 1
        for (bool last = t.ends == 0;; last = true) {
            kept = reducer.combine(
                kept, elements.template reduce<threads>(reducer, from + threadIdx.x, to));
            has_kept = true;
            if (last)
                return;
            put_kept();
            __syncthreads();
            if (threadIdx.x == 0) {
                put_first(t, reducer.identity());
                shared.carry[now ^ 1] = {reducer.identity(), 1};
            }
            from = end, to = t.elements;
        }
    }

    __device__ void take_segments(const wi_path_tile &t, const wi_group_members<T> &elements,
                                  unsigned half) {
        if (has_kept)
            put_kept();
        if (p.starts.bytes == 4)
            take_short(t, elements, ends_of<uint32_t>(t, half));
        else
            take_short(t, elements, ends_of<uint64_t>(t, half));
        __syncthreads();
        take_long(t, elements);
        has_kept = false;
    }

    /* Where a tile's first end is; behind its elements, if it has none. */
    __device__ unsigned first_end(const wi_path_tile &t, unsigned half) const {
        if (t.ends == 0)
            return t.elements;
        return p.starts.bytes == 4 ? ends_of<uint32_t>(t, half).of(0)
                                   : ends_of<uint64_t>(t, half).of(0);
    }

    /* A tile that has come to shared memory. */
    __device__ void take(const wi_path_tile &t, unsigned half) {
        const wi_group_members<T> elements = elements_of(t, half);
        if (t.ends > 1)
            take_segments(t, elements, half);
        else
            take_whole(t, elements, first_end(t, half));
        if (t.ends == 0)
            return;
        if (threadIdx.x == 0)
            shared.long_ones[now ^ 1] = 1;
        now ^= 1;
    }

    /* Tells all threads where tile k is, and starts to bring it. Called by one warp. */
    __device__ void begin_tile(uint64_t k, unsigned half, uint64_t end, uint64_t next_end) const {
        const wi_path_tile t = tile_at(p.starts, k * tile, tile, count, end, next_end);
        if (wi_lane() == 0)
            shared.next[half] = t;
        bring_tile(t, half);
    }

    /* Tiles first ... last - 1. The warps in turn begin the next tile while all take one; when it
     * has begun one, a warp loads the numbers of ends of its next. */
    __device__ void walk(const uint64_t *ends, uint64_t first, uint64_t last) {
        const uint64_t warp = threadIdx.x / 32;
        uint64_t mine = first + warp;
        const auto load = [&](uint64_t k) { return ends[k < last ? k : last]; };
        uint64_t end = load(mine), next_end = load(mine + 1);
        if (warp == 0)
            begin_tile(first, 0, end, next_end);
        for (uint64_t k = first; k < last; k++) {
            const unsigned half = (unsigned)(k - first) & 1;
            if (mine == k) {
                mine += warps;
                end = load(mine), next_end = load(mine + 1);
            }
            wi_async_wait<0>();
            __syncthreads(); /* all have the tile, and have done with the one before it */
            const wi_path_tile t = shared.next[half];
            if (mine == k + 1 && mine < last)
                begin_tile(mine, half ^ 1, end, next_end);
            take(t, half);
        }
    }

    /* What the stretch leaves open; meets all threads. */
    __device__ void close() {
        __syncthreads();
        if (has_kept)
            put_kept();
        __syncthreads();
        if (threadIdx.x == 0)
            record->open = take_open();
    }
};

/* How many blocks on a multiprocessor the registers must allow; shared memory allows five. A root
 * and a state of several words need more registers. */
template <class Reducer, class T>
constexpr int resident = sizeof(typename Reducer::State) > 8 || sizeof(T) % 8 < 2 ? 4 : 5;
template <class T>
constexpr int resident<wi_nrm2_reducer<T>, T> = 3;

template <class Reducer, class T>
__global__ void __launch_bounds__(threads, (resident<Reducer, T>))
    walk_paths(Reducer reducer, wi_group_params<Reducer, T> p, unsigned tile,
               wi_path_scratch<typename Reducer::State> scratch) {
    using Shared = wi_path_shared<Reducer, T>;
    WEFT_SHARED(Shared, shared, );
    const uint64_t count = p.starts.count(), tiles = tiles_of(p.starts, tile);
    const uint64_t each = tiles / gridDim.x, rest = tiles % gridDim.x, b = blockIdx.x;
    const uint64_t first = b * each + (b < rest ? b : rest), last = first + each + (b < rest);
    if (threadIdx.x < 2) {
        shared.carry[threadIdx.x] = {reducer.identity(), 0};
        shared.long_ones[threadIdx.x] = 1;
    }
    wi_path_walk<Reducer, T> walk = {reducer, p, shared, &scratch.blocks[b], tile,
                                     count,   0, false,  reducer.identity()};
    if (first < last)
        walk.walk(scratch.ends, first, last);
    walk.close();
    __syncthreads();
    if (wi_ends_last(scratch.ticket))
        wi_close_records<threads>(reducer, scratch.blocks, gridDim.x, p.y, shared.of_warp);
}

#endif
