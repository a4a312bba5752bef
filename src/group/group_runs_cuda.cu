/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "one_pass" of reduction by key: keys and elements are read once, together.
 *
 * A block takes a tile of both, and each thread of eight warps neighbours of it. A thread counts
 * the keys that differ from the one before, which tells which run of the tile each begins; a ninth
 * warp finds by look-back over the tiles' counts which of all. Meanwhile the threads walk through
 * their elements, and put down a result where the next run begins. A run that began before a
 * thread's elements is finished when the warps have left what they have open. Then results and keys
 * are written side by side.
 *
 * A run that goes on in the next tile is left open. What each tile leaves open, and what it has
 * before its first run, are kept; small kernels carry the former on from tile to tile, and write
 * the result of the run that ends at each tile's first. So no tile waits for more than counts, and
 * the same input gives the same bits. */
#include "cuda/lookback.cuh"
#include "group/group_tile.cuh"
#include "select/select_cuda.cuh"

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
    unsigned width;
};

/* What tiles leave to the kernels behind: one of each for every tile, and one for the end. */
template <class State>
struct wi_run_scratch {
    wi_open_segment<State> *opens, *groups;
    State *heads;    /* what is before the first run of a tile */
    uint64_t *bases; /* the runs that begin before a tile; with has_runs if any begins in it */
};

/* A tile in dynamic shared memory: elements, whose place results take; positions; and keys. */
template <class Reducer, class T>
struct wi_run_shape {
    using Result = typename Reducer::Result;
    static constexpr unsigned wide = sizeof(T) > sizeof(Result) ? sizeof(T) : sizeof(Result);
    /* Neighbours of a thread: odd, so that lanes that walk side by side are in different banks. */
    static constexpr unsigned each = wide > 4 ? 9 : 15;
    static constexpr unsigned tile = threads * each;
    static constexpr unsigned positions_at = (tile + 4) * wide;
    static constexpr unsigned keys_at = positions_at + tile * (unsigned)sizeof(uint16_t);
    static size_t bytes(size_t width) {
        return keys_at + tile * width + 32;
    }
};

/* The first of a thread's runs: its result is not among those put down. */
constexpr unsigned is_first = 0x8000;

template <class State>
struct wi_run_shared {
    wi_open_segment<State> of_warp[warps]; /* what each leaves open */
    uint64_t epoch, tile, base;
    uint32_t runs[warps]; /* that begin in a warp's elements */
};

/* A block at work on a tile. */
template <class Reducer, class T>
struct wi_run_tile {
    using State = typename Reducer::State;
    using Result = typename Reducer::Result;
    using Open = wi_open_segment<State>;
    using Shape = wi_run_shape<Reducer, T>;
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
    template <class Key>
    __device__ Key *keys() const {
        return (Key *)(memory + Shape::keys_at + (uintptr_t)((const Key *)p.keys + first) % 16);
    }

    /* Behind the array's end threads find zeros. */
    template <class Key>
    __device__ void fill() const {
        for (unsigned i = many + (unsigned)wi_lane(); i < Shape::tile; i += 32) {
            keys<Key>()[i] = 0;
            elements()[i] = T{};
        }
    }

    /* Called by one warp. */
    __device__ void bring() const {
        wi_with_key(p.width, [&](auto tag) {
            using Key = typename decltype(tag)::type;
            wi_bring<false>(memory + Shape::keys_at, (const Key *)p.keys, p.n, first, many);
            if (many < Shape::tile)
                fill<Key>();
        });
        wi_bring<false>(memory, p.x, p.n, first, many);
        wi_async_commit();
        wi_async_wait<0>();
    }

    /* A bit for each of the thread's keys that differs from the one before. */
    template <class Key>
    __device__ uint32_t mark(unsigned from) const {
        const Key *const key = keys<Key>();
        uint32_t begins = 0;
        bool differs = first == 0 && from == 0;
        Key before = 0;
        if (from > 0)
            before = key[from - 1];
        else if (first > 0)
            before = ((const Key *)p.keys)[first - 1];
#pragma unroll
        for (unsigned e = 0; e < each; e++) {
            const Key now = key[from + e];
            if (differs || now != before)
                begins |= 1u << e;
            differs = false;
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

    /* What a thread has after it went through its elements. */
    struct walked {
        Open in_warp; /* what the warp's threads before it leave open */
        State head;   /* what it has before its first run */
        unsigned r;   /* that run's number in the tile */
    };

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

    /* Finds how many runs begin before the tile. Called by one warp. */
    __device__ void find_base(const wi_lookback &l, uint32_t runs) const {
        if (wi_lane() == 0)
            wi_publish_total(l, shared.epoch, tile, (uint64_t)runs);
        if (wi_ends_group(tile))
            wi_publish_group<wi_add_counts, uint64_t>(l, shared.epoch, tile);
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

    /* On a tile that has come. The last warp looks back, the others have elements. */
    __device__ void work(const wi_lookback &l) const {
        const bool looks = threadIdx.x >= threads;
        own o = {};
        walked w = {};
        uint32_t up_to = 0, runs;
        if (!looks) {
            o = load();
            up_to = wi_warp_sum_scan((uint32_t)__popc(o.begins));
            if (wi_lane() == 31)
                shared.runs[threadIdx.x / 32] = up_to;
        }
        __syncthreads();
        const uint32_t before = runs_before(&runs);
        if (looks)
            find_base(l, runs);
        else
            w = walk(o, before + up_to - (uint32_t)__popc(o.begins));
        __syncthreads();
        if (looks)
            return;
        close(o, w);
        write(runs);
    }
};

/* How many blocks on a multiprocessor the registers must allow. */
template <class Reducer>
constexpr int resident = sizeof(typename Reducer::State) > 8 ? 2 : 4;

template <class Reducer, class T>
__global__ void __launch_bounds__(block, resident<Reducer>)
    reduce_runs(Reducer reducer, wi_run_params<Reducer, T> p,
                wi_run_scratch<typename Reducer::State> scratch, wi_lookback l) {
    using Shared = wi_run_shared<typename Reducer::State>;
    constexpr unsigned whole = wi_run_shape<Reducer, T>::tile;
    WEFT_SHARED(Shared, shared, );
    WEFT_DYNAMIC_SHARED(memory);
    const auto of = [&](uint64_t tile) {
        const uint64_t first = tile * whole;
        const unsigned many = (unsigned)(p.n - first < whole ? p.n - first : whole);
        return wi_run_tile<Reducer, T>{reducer, p, scratch, shared, memory, tile, first, many};
    };
    if (threadIdx.x >= threads) {
        uint64_t tile = 0;
        if (wi_lane() == 0) {
            shared.epoch = wi_lookback_epoch(l);
            shared.tile = tile = wi_lookback_take_tile(l);
        }
        of(wi_shuffle(tile, 0)).bring();
    }
    __syncthreads();
    of(shared.tile).work(l);
    if (threadIdx.x == 0)
        wi_lookback_leave(l, gridDim.x);
}

/* Writes the result of the run that ends where the first of each tile begins; `tiles` counts the
 * end, too. */
template <class Reducer>
__global__ void __launch_bounds__(threads)
    close_runs(Reducer reducer, wi_run_scratch<typename Reducer::State> scratch, uint64_t tiles,
               typename Reducer::Result *y) {
    const uint64_t stride = (uint64_t)gridDim.x * threads;
    for (uint64_t k = (uint64_t)blockIdx.x * threads + threadIdx.x; k < tiles; k += stride) {
        const uint64_t base = scratch.bases[k];
        if (!(base & has_runs) || base == has_runs)
            continue;
        const auto before = wi_follow(reducer, scratch.groups[k / threads], scratch.opens[k]);
        y[base - has_runs - 1] = reducer.finish(reducer.combine(before.state, scratch.heads[k]));
    }
}

/* The reducer that combines and finishes states as another one does, the same for several: states
 * of integers do not tell their type. The kernels that see no elements are compiled for it. */
template <class T>
using like = typename wi_choose<wi_traits<T>::is_float, T, uint64_t>::type;

template <template <class> class Reducer, class T>
static Reducer<like<T>> closer_of(const Reducer<T> &) {
    return {};
}
template <class T>
static wi_sum_reducer<like<T>> closer_of(const wi_nrm1_reducer<T> &) {
    return {};
}
template <class T>
static wi_extreme_reducer<T> closer_of(const wi_extreme_reducer<T> &reducer) {
    return reducer;
}
template <class T>
static wi_position_reducer<wi_bits<T>> closer_of(const wi_position_reducer<T> &reducer) {
    return {{reducer.keys.flip}};
}

/* One that combines states alike: most sums of floats are of f64, whatever they are rounded to. */
template <class Reducer>
static Reducer carrier_of(const Reducer &closer) {
    return closer;
}
static wi_sum_reducer<double> carrier_of(const wi_sum_reducer<float> &) {
    return {};
}
static wi_sum_reducer<double> carrier_of(const wi_nrm2_reducer<float> &) {
    return {};
}
static wi_sum_reducer<double> carrier_of(const wi_nrm2_reducer<uint64_t> &) {
    return {};
}
static wi_product_reducer<double> carrier_of(const wi_product_reducer<float> &) {
    return {};
}

static const char lookback_key = 0, records_key = 0;

template <class Reducer, class T>
static weft_status launch_runs(weft_context *ctx, const wi_group_keys_args *a,
                               const Reducer &reducer) {
    using State = typename Reducer::State;
    using Open = wi_open_segment<State>;
    using Closer = decltype(closer_of(reducer));
    const Closer closer = closer_of(reducer);
    using Shape = wi_run_shape<Reducer, T>;
    const uint64_t tiles = wi_tiles_of(a->n, Shape::tile), all = tiles + 1;
    const uint64_t groups = wi_tiles_of(all, threads), even = all + all % 2;
    void *of_lookback, *records;
    weft_status status = wi_gpu_scratch(ctx, &lookback_key, wi_lookback_bytes(tiles), &of_lookback);
    if (status == WEFT_OK)
        status = wi_gpu_scratch(ctx, &records_key,
                                (all + groups) * sizeof(Open) + even * sizeof(uint64_t) +
                                    all * sizeof(State),
                                &records);
    if (status != WEFT_OK)
        return status;
    wi_run_scratch<State> s;
    s.opens = (Open *)records;
    s.groups = s.opens + all;
    s.bases = (uint64_t *)(s.groups + groups);
    s.heads = (State *)(s.bases + even);
    const wi_run_params<Reducer, T> p = {(const T *)a->column[0].x,
                                         (typename Reducer::Result *)a->column[0].y,
                                         a->keys,
                                         a->keys_out,
                                         a->n,
                                         a->count,
                                         (unsigned)a->width};
    status = WEFT_LAUNCH((reduce_runs<Reducer, T>), ctx, (unsigned)tiles, block,
                         Shape::bytes(a->width), reducer, p, s, wi_lookback_in(of_lookback, tiles));
    if (status == WEFT_OK)
        status = wi_carry_opens<threads>(ctx, carrier_of(closer), s.opens, all, threads, s.groups);
    if (status == WEFT_OK)
        status =
            WEFT_LAUNCH(close_runs<Closer>, ctx, (unsigned)groups, threads, 0, closer, s, all, p.y);
    return status;
}

weft_status wi_group_keys_one_pass(weft_context *ctx, const void *arguments) {
    const wi_group_keys_args *const a = (const wi_group_keys_args *)arguments;
    return wi_with_one_column(a, [=](auto tag, auto reducer) {
        return launch_runs<decltype(reducer), typename decltype(tag)::type>(ctx, a, reducer);
    });
}
