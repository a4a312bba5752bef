/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of the rung "one_pass" of reduction by key; group_runs_cuda.cu tells its plan. */
#ifndef WI_GROUP_RUNS_CUH
#define WI_GROUP_RUNS_CUH

#include "cuda/lookback.cuh"
#include "group/group_tile.cuh"
#include "select/select_cuda.cuh"

/* A block's warps: the first have elements; the last brings tiles and looks back. */
constexpr int threads = wi_group_block; /* that have elements */
constexpr int warps = threads / 32;
constexpr int block = threads + 32;
constexpr uint64_t has_runs = (uint64_t)1 << 63; /* beside the number of runs before a tile */

template <class Reducer, class T>
struct wi_run_params {
    const T *x;
    typename Reducer::Result *y;
    const void *keys;
    void *keys_out; /* or NULL */
    uint64_t n, *count;
    uint64_t ahead; /* tiles by which counting is ahead of reducing */
    unsigned width;
};

/* What tiles leave to the kernels behind: one of each for every tile, and one for the end. */
template <class State>
struct wi_run_scratch {
    wi_open_segment<State> *opens, *groups;
    State *heads;    /* what is before the first run of a tile */
    uint64_t *bases; /* the runs that begin before a tile; with has_runs if any begins in it */
};

/* A tile in dynamic shared memory: elements, whose place results take; positions; and keys, with
 * the one before them. */
template <class Reducer, class T>
struct wi_run_layout {
    using Result = typename Reducer::Result;
    static constexpr unsigned wide = sizeof(T) > sizeof(Result) ? sizeof(T) : sizeof(Result);
    /* Neighbours of a thread: odd, so that lanes that walk side by side are in different banks. */
    static constexpr unsigned each = wide > 4 ? 9 : 15;
    static constexpr unsigned tile = threads * each;
    static constexpr unsigned positions_at = (tile + 4) * wide;
    static constexpr unsigned keys_at = positions_at + tile * (unsigned)sizeof(uint16_t);
    static_assert(tile <= 0x8000 && keys_at % 16 == 0, "positions and copies need it");
    static size_t bytes(size_t width) {
        return keys_at + tile * width + 48;
    }
};

/* Beside a position: of the first run that begins in a thread's elements. The run that ends there
 * is finished by `close`. */
constexpr unsigned is_first = 0x8000;

template <class State>
struct wi_run_shared {
    wi_open_segment<State> of_warp[warps]; /* what each leaves open */
    uint64_t epoch, ticket, base;
    uint32_t runs[warps];  /* that begin in a warp's elements */
    uint32_t ahead[warps]; /* the same of the tile that is counted */
};

/* A block at work on a tile. */
template <class Reducer, class T>
struct wi_run_tile {
    using State = typename Reducer::State;
    using Result = typename Reducer::Result;
    using Open = wi_open_segment<State>;
    using Shape = wi_run_layout<Reducer, T>;
    using Shared = wi_run_shared<State>;
    static constexpr unsigned each = Shape::each;
    const Reducer &reducer;
    const wi_run_params<Reducer, T> &p;
    const wi_run_scratch<State> &scratch;
    Shared &shared;
    unsigned char *memory;
    uint64_t tile, first;
    unsigned many; /* elements */

    __device__ Result *results() const {
        return (Result *)memory;
    }
    __device__ uint16_t *positions() const {
        return (uint16_t *)(memory + Shape::positions_at);
    }
    __device__ T *elements() const {
        return (T *)(memory + (uintptr_t)(p.x + first) % 16);
    }
    /* Is there a key before the tile? It comes with the tile's. */
    __device__ unsigned lead() const {
        return first > 0;
    }
    template <class Key>
    __device__ Key *keys() const {
        const Key *const from = (const Key *)p.keys + (first - lead());
        return (Key *)(memory + Shape::keys_at + (uintptr_t)from % 16) + lead();
    }

    /* ---- the last warp ---- */

    /* Behind the array's end threads find zeros. */
    template <class Key>
    __device__ void fill() const {
        for (unsigned i = many + (unsigned)wi_lane(); i < Shape::tile; i += 32) {
            keys<Key>()[i] = 0;
            elements()[i] = T{};
        }
    }

    __device__ void bring() const {
        wi_with_key(p.width, [&](auto tag) {
            using Key = typename decltype(tag)::type;
            wi_bring<false>(memory + Shape::keys_at, (const Key *)p.keys, p.n, first - lead(),
                            many + lead());
            if (many < Shape::tile)
                fill<Key>();
        });
        wi_bring<false>(memory, p.x, p.n, first, many);
        wi_async_commit();
        wi_async_wait<0>();
    }

    /* Publishes how many runs begin in the tile, as its warps have counted. */
    __device__ void publish(const wi_lookback &l) const {
        uint32_t runs = 0;
#pragma unroll
        for (unsigned w = 0; w < warps; w++)
            runs += shared.ahead[w];
        if (wi_lane() == 0)
            wi_publish_total(l, shared.epoch, tile, (uint64_t)runs);
        if (wi_ends_group(tile))
            wi_publish_group<wi_add_counts, uint64_t>(l, shared.epoch, tile);
    }

    /* Finds how many runs begin before the tile. */
    __device__ void find_base(const wi_lookback &l, uint32_t runs) const {
        uint64_t after;
        const uint64_t base = wi_find_carry<wi_add_counts>(l, shared.epoch, tile, (uint64_t)0,
                                                           (uint64_t)runs, &after);
        if (wi_lane() > 0)
            return;
        shared.base = base;
        scratch.bases[tile] = base | (runs > 0 ? has_runs : 0);
        if (tile == l.tiles - 1) {
            *p.count = after;
            scratch.bases[l.tiles] = after | has_runs;
            scratch.heads[l.tiles] = reducer.identity();
            scratch.opens[l.tiles] = {reducer.identity(), 1};
        }
    }

    /* ---- the others ---- */

    /* Counts the runs that begin in a warp's part of the tile, of keys in global memory. */
    template <class Key>
    __device__ uint32_t count() const {
        const Key *const key = (const Key *)p.keys + first;
        const unsigned lane = (unsigned)wi_lane(), from = threadIdx.x / 32 * 32 * each;
        Key of[each], before = 0;
        uint32_t runs = 0;
#pragma unroll
        for (unsigned e = 0; e < each; e++)
            of[e] = from + e * 32 + lane < many ? key[from + e * 32 + lane] : 0;
        if (lane == 0 && first + from > 0 && from < many)
            before = key[(int64_t)from - 1];
#pragma unroll
        for (unsigned e = 0; e < each; e++) {
            const Key last = e > 0 ? of[e - 1] : 0;
            const Key other = wi_shuffle(lane == 31 ? last : of[e], (int)(lane + 31) % 32);
            const Key previous = e == 0 && lane == 0 ? before : other;
            const unsigned i = from + e * 32 + lane;
            runs += i < many && (of[e] != previous || first + i == 0);
        }
        return wi_warp_sum(runs);
    }

    /* The warp's part of the count, for `publish`. */
    __device__ void count_ahead() const {
        uint32_t runs = 0;
        wi_with_key(p.width, [&](auto tag) { runs = count<typename decltype(tag)::type>(); });
        if (wi_lane() == 0)
            shared.ahead[threadIdx.x / 32] = runs;
    }

    /* A bit for each of the thread's keys that differs from the one before. */
    template <class Key>
    __device__ uint32_t mark(unsigned from) const {
        const Key *const key = keys<Key>();
        const bool none = from == 0 && lead() == 0; /* is before the first */
        uint32_t begins = none;
        Key before = none ? 0 : key[(int)from - 1];
#pragma unroll
        for (unsigned e = 0; e < each; e++) {
            const Key now = key[from + e];
            if (now != before)
                begins |= 1u << e;
            before = now;
        }
        return begins;
    }

    /* The thread's elements, and which of them begin a run; of the last tile some are not there. */
    struct own {
        T x[each];
        unsigned from, there;
        uint32_t begins;
    };

    __device__ own load() const {
        own o;
        o.from = threadIdx.x * each;
        o.there = many > o.from ? many - o.from : 0;
        wi_with_key(p.width,
                    [&](auto tag) { o.begins = mark<typename decltype(tag)::type>(o.from); });
        if (o.there < each)
            o.begins &= (1u << o.there) - 1;
#pragma unroll
        for (unsigned e = 0; e < each; e++)
            o.x[e] = elements()[o.from + e];
        return o;
    }

    /* The runs that begin in the elements of warps before this one, and of all in *all. */
    __device__ uint32_t runs_before(uint32_t *all) const {
        uint32_t before = 0, sum = 0;
#pragma unroll
        for (unsigned w = 0; w < warps; w++) {
            before += w < threadIdx.x / 32 ? shared.runs[w] : 0;
            sum += shared.runs[w];
        }
        *all = sum;
        return before;
    }

    /* What a thread has after it went through its elements. */
    struct walked {
        Open in_warp; /* what the warp's threads before it leave open */
        State head;   /* what it has before its first run */
        unsigned r;   /* that run's number in the tile */
    };

    /* Goes through the thread's elements, of which the first run to begin is number r of the tile.
     * *head gets the state before it. */
    __device__ Open take(const own &o, unsigned r, State *head) const {
        State state = reducer.identity();
#pragma unroll
        for (unsigned e = 0; e < each; e++) {
            if (o.begins >> e & 1) {
                const bool starts = (o.begins & ((1u << e) - 1)) == 0;
                *head = starts ? state : *head;
                results()[r] = reducer.finish(state);
                positions()[r++] = (uint16_t)(o.from + e + (starts ? is_first : 0));
                state = reducer.identity();
            }
            if (e < o.there)
                state = reducer.take(state, o.x[e], o.x[e], first + o.from + e);
        }
        return {state, o.begins != 0};
    }

    /* The same, and what the warp's threads leave open. */
    __device__ walked walk(const own &o, unsigned r) const {
        walked w = {{reducer.identity(), 0}, reducer.identity(), r};
        const Open mine = take(o, r, &w.head);
        const Open up_to = wi_warp_scan(
            mine, [&](const Open &a, const Open &b) { return wi_follow(reducer, a, b); });
        const Open before = wi_shuffle_up(up_to, 1);
        if (wi_lane() > 0)
            w.in_warp = before;
        if (wi_lane() == 31)
            shared.of_warp[threadIdx.x / 32] = up_to;
        return w;
    }

    /* What the warps before this one leave open, and in *all what all do. */
    __device__ Open open_before(Open *all) const {
        Open so_far = {reducer.identity(), 0}, before = so_far;
#pragma unroll
        for (unsigned w = 0; w < warps; w++) {
            if (w == threadIdx.x / 32)
                before = so_far;
            so_far = wi_follow(reducer, so_far, shared.of_warp[w]);
        }
        *all = so_far;
        return before;
    }

    /* Finishes the run that ends where the first begins in the thread's elements. */
    __device__ void close(const own &o, const walked &w) const {
        Open all;
        const Open before = wi_follow(reducer, open_before(&all), w.in_warp);
        if (threadIdx.x == 0)
            scratch.opens[tile] = all;
        if (o.begins == 0)
            return;
        const State state = reducer.combine(before.state, w.head);
        if (w.r == 0)
            scratch.heads[tile] = state;
        else
            p.y[shared.base + w.r - 1] = reducer.finish(state);
    }

    /* Writes what is not open: run r - 1 of the tile ends where run r begins. */
    __device__ void write(uint32_t runs) const {
        const Result *const result = results();
        for (unsigned r = threadIdx.x; r < runs; r += threads)
            if (!(positions()[r] & is_first))
                p.y[shared.base + r - 1] = result[r];
        if (!p.keys_out)
            return;
        wi_with_key(p.width, [&](auto tag) {
            using Key = typename decltype(tag)::type;
            const Key *const key = keys<Key>();
            Key *const out = (Key *)p.keys_out + shared.base;
            for (unsigned r = threadIdx.x; r < runs; r += threads)
                out[r] = key[positions()[r] % is_first];
        });
    }
};

/* How many blocks on a multiprocessor the registers must allow. */
template <class Reducer>
constexpr int resident = sizeof(typename Reducer::State) > 8 ? 2 : 4;

/* Persistent blocks. With each ticket a block counts tile `ticket`, and reduces the tile that is
 * `ahead` places before it: first both come from memory; then the count is published, and the runs
 * of what is reduced are marked; then elements are walked through while the last warp looks back;
 * then results are written. */
template <class Reducer, class T>
__global__ void __launch_bounds__(block, resident<Reducer>)
    reduce_runs(Reducer reducer, wi_run_params<Reducer, T> p,
                wi_run_scratch<typename Reducer::State> scratch, wi_lookback l) {
    using Tile = wi_run_tile<Reducer, T>;
    using Shared = wi_run_shared<typename Reducer::State>;
    WEFT_SHARED(Shared, shared, );
    WEFT_DYNAMIC_SHARED(memory);
    const bool helps = threadIdx.x >= threads; /* the last warp */
    const auto tile_of = [&](uint64_t tile) {
        const uint64_t first = tile * Tile::Shape::tile, left = p.n - first;
        const unsigned many = (unsigned)(left < Tile::Shape::tile ? left : Tile::Shape::tile);
        return Tile{reducer, p, scratch, shared, memory, tile, first, many};
    };
    if (threadIdx.x == threads) {
        shared.epoch = wi_lookback_epoch(l);
        shared.ticket = wi_lookback_take_tile(l);
    }
    for (;;) {
        __syncthreads();
        const uint64_t ticket = shared.ticket;
        if (ticket >= l.tiles + p.ahead)
            break;
        const bool counts = ticket < l.tiles, reduces = ticket >= p.ahead;
        const Tile tile = tile_of(ticket - p.ahead);
        typename Tile::own own = {};
        typename Tile::walked walked = {};
        uint32_t runs = 0, up_to = 0, before = 0;
        if (helps && reduces)
            tile.bring();
        if (!helps && counts)
            tile_of(ticket).count_ahead();
        __syncthreads();
        if (helps && counts)
            tile_of(ticket).publish(l);
        if (!helps && reduces) {
            own = tile.load();
            up_to = wi_warp_sum_scan((uint32_t)__popc(own.begins));
            if (wi_lane() == 31)
                shared.runs[threadIdx.x / 32] = up_to;
        }
        __syncthreads();
        if (reduces)
            before = tile.runs_before(&runs);
        if (helps && reduces)
            tile.find_base(l, runs);
        if (!helps && reduces)
            walked = tile.walk(own, before + up_to - (uint32_t)__popc(own.begins));
        __syncthreads();
        if (!helps && reduces) {
            tile.close(own, walked);
            tile.write(runs);
        }
        if (threadIdx.x == threads)
            shared.ticket = wi_lookback_take_tile(l);
    }
    if (threadIdx.x == 0)
        wi_lookback_leave(l, gridDim.x);
}

#endif
