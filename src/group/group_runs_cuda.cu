/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "one_pass" of reduction by key: keys and elements are read once, together.
 *
 * A block takes a tile of both. Every thread compares keys with those before them; ballots make one
 * bit of each that begins a run, and what comes before a bit says which run of the tile it is.
 * Look-back over the tiles' counts says which of all. Then a thread reduces a short run by itself,
 * and a warp a long one, and results and keys are written side by side.
 *
 * A run that goes on in the next tile is left open. What each tile leaves open, and what it has
 * before its first run, are kept; small kernels carry the former on from tile to tile, and write
 * the result of the run that ends at each tile's first. So no tile waits for more than counts, and
 * the same input gives the same bits. */
#include "cuda/lookback.cuh"
#include "group/group_tile.cuh"
#include "select/select_cuda.cuh"

constexpr int threads = wi_group_block;
constexpr int warps = threads / 32;
constexpr unsigned most_elements = wi_group_tile_bytes / 4;
constexpr uint64_t has_runs = (uint64_t)1 << 63; /* beside the number of runs before a tile */

/* The elements of a tile: the wider of keys and elements fill its bytes. */
template <class T>
__host__ __device__ constexpr unsigned run_elements(size_t width) {
    const size_t wide = sizeof(T) > width ? sizeof(T) : width;
    return wide > 4 ? wi_group_tile_bytes / 8 : most_elements;
}

template <class Reducer, class T>
struct wi_run_params {
    const T *x;
    typename Reducer::Result *y;
    const void *keys;
    void *keys_out; /* or NULL */
    uint64_t n, *count;
    unsigned width, tile;
};

/* What tiles leave to the kernels behind: one of each for every tile, and one for the end. */
template <class State>
struct wi_run_scratch {
    wi_open_segment<State> *opens, *groups;
    State *heads;    /* what is before the first run of a tile */
    uint64_t *bases; /* the runs that begin before a tile; with has_runs if any begins in it */
};

template <class Reducer, class T>
struct wi_run_shared {
    using State = typename Reducer::State;
    alignas(16) unsigned char elements[wi_spread(wi_group_tile_bytes + 32)];
    alignas(16) unsigned char keys[wi_group_tile_bytes + 32];
    wi_open_segment<State> of_warp[warps];
    uint64_t epoch, tile, base;
    uint32_t word[most_elements / 32], before[most_elements / 32]; /* bits, and those before */
    uint16_t positions[most_elements];                             /* where runs begin */
    unsigned runs, long_ones;
    wi_group_part of_long[wi_group_most_long];
};

/* A block at work on a tile. */
template <class Reducer, class T>
struct wi_run_tile {
    using State = typename Reducer::State;
    using Shared = wi_run_shared<Reducer, T>;
    const Reducer &reducer;
    const wi_run_params<Reducer, T> &p;
    const wi_run_scratch<State> &scratch;
    Shared &shared;
    uint64_t tile, first;
    unsigned many; /* elements */

    template <class Key>
    __device__ const Key *keys() const {
        return (const Key *)(shared.keys + (uintptr_t)((const Key *)p.keys + first) % 16);
    }

    __device__ void bring() const {
        wi_with_key(p.width, [&](auto tag) {
            using Key = typename decltype(tag)::type;
            wi_bring<false>(shared.keys, (const Key *)p.keys, p.n, first, many);
        });
        wi_async_commit();
        wi_bring<true>(shared.elements, p.x, p.n, first, many);
        wi_async_commit();
    }

    /* Bits of the keys that differ from the one before. */
    template <class Key>
    __device__ void mark() const {
        const Key *const key = keys<Key>();
        const bool begins =
            threadIdx.x == 0 && (first == 0 || ((const Key *)p.keys)[first - 1] != key[0]);
        for (unsigned i = threadIdx.x; i < p.tile; i += threads) {
            const bool head = i < many && (i > 0 ? key[i] != key[i - 1] : begins);
            const unsigned bits = __ballot_sync(wi_all_lanes, head);
            if (wi_lane() == 0)
                shared.word[i / 32] = bits;
        }
    }

    /* How many bits are before each word, and publishes how many there are. Called by one warp. */
    __device__ void count_runs(const wi_lookback &l) const {
        constexpr unsigned each = most_elements / 32 / 32;
        const unsigned words = p.tile / 32, own = (unsigned)wi_lane() * each;
        uint32_t sum = 0, of[each];
#pragma unroll
        for (unsigned k = 0; k < each; k++) {
            of[k] = own + k < words ? (uint32_t)__popc(shared.word[own + k]) : 0;
            sum += of[k];
        }
        const uint32_t so_far = wi_warp_sum_scan(sum), all = wi_shuffle(so_far, 31);
        uint32_t before = so_far - sum;
#pragma unroll
        for (unsigned k = 0; k < each; k++) {
            shared.before[own + k] = before;
            before += of[k];
        }
        if (wi_lane() == 0) {
            shared.runs = all;
            wi_publish_total(l, shared.epoch, tile, (uint64_t)all);
        }
    }

    /* Finds how many runs begin before the tile. Called by one warp. */
    __device__ void find_base(const wi_lookback &l) const {
        uint64_t after;
        const uint64_t base = wi_find_carry<wi_add_counts>(l, shared.epoch, tile, (uint64_t)0,
                                                           (uint64_t)shared.runs, &after);
        if (wi_lane() > 0)
            return;
        shared.base = base;
        scratch.bases[tile] = base | (shared.runs > 0 ? has_runs : 0);
        if (tile == l.tiles - 1) {
            *p.count = after;
            scratch.bases[l.tiles] = after | has_runs;
            scratch.heads[l.tiles] = reducer.identity();
            scratch.opens[l.tiles] = {reducer.identity(), 1};
        }
    }

    /* Where each run of the tile begins. */
    __device__ void place_runs() const {
        for (unsigned i = threadIdx.x; i < p.tile; i += threads) {
            const uint32_t bits = shared.word[i / 32], lane = (uint32_t)wi_lane();
            if (bits >> lane & 1)
                shared.positions[shared.before[i / 32] + __popc(bits & ((1u << lane) - 1))] =
                    (uint16_t)i;
        }
    }

    __device__ wi_group_members<T> elements() const {
        return {shared.elements, (unsigned)((uintptr_t)(p.x + first) % 16), first};
    }

    /* Hands on the state of run r of the tile, of which the last stays open. */
    __device__ void put(unsigned r, State state) const {
        if (r + 1 < shared.runs)
            p.y[shared.base + r] = reducer.finish(state);
        else
            scratch.opens[tile] = {state, 1};
    }

    __device__ void write_keys() const {
        wi_with_key(p.width, [&](auto tag) {
            using Key = typename decltype(tag)::type;
            const Key *const key = keys<Key>();
            Key *const out = (Key *)p.keys_out + shared.base;
            for (unsigned r = threadIdx.x; r < shared.runs; r += threads)
                out[r] = key[shared.positions[r]];
        });
    }

    /* Short runs, a thread for each; the others, and what is before the first, go to the list. */
    __device__ void take_short() const {
        if (threadIdx.x == 0)
            shared.of_long[0] = {0, shared.positions[0], 0};
        for (unsigned r = threadIdx.x; r < shared.runs; r += threads) {
            const unsigned from = shared.positions[r];
            const unsigned to = r + 1 < shared.runs ? shared.positions[r + 1] : many;
            if (to > from + wi_group_serial_most)
                shared.of_long[atomicAdd(&shared.long_ones, 1u)] = {(uint16_t)from, (uint16_t)to,
                                                                    (uint16_t)r};
            else
                put(r, elements().template reduce<1>(reducer, from, to));
        }
    }

    __device__ void take_long() const {
        wi_reduce_parts(reducer, elements(), shared.of_long, shared.long_ones,
                        [&](unsigned k, State state) {
                            if (k == 0)
                                scratch.heads[tile] = state;
                            else
                                put(shared.of_long[k].segment, state);
                        });
    }

    /* A tile in which no run begins. */
    __device__ void take_whole() const {
        const auto combine = [&](State a, State b) { return reducer.combine(a, b); };
        const State own = elements().template reduce<threads>(reducer, threadIdx.x, many);
        const State of_warp = wi_warp_reduce(own, combine);
        if (wi_lane() == 0)
            shared.of_warp[threadIdx.x / 32] = {of_warp, 0};
        __syncthreads();
        State all = reducer.identity();
        for (int w = 0; w < warps && threadIdx.x == 0; w++)
            all = reducer.combine(all, shared.of_warp[w].state);
        if (threadIdx.x == 0)
            scratch.opens[tile] = {all, 0};
    }

    __device__ void work(const wi_lookback &l) const {
        const unsigned warp = threadIdx.x / 32;
        bring();
        wi_async_wait<1>();
        __syncthreads();
        wi_with_key(p.width, [&](auto tag) { mark<typename decltype(tag)::type>(); });
        __syncthreads();
        if (warp == 0)
            count_runs(l);
        __syncthreads();
        if (warp == 0)
            find_base(l);
        else if (warp == 1 && wi_ends_group(tile))
            wi_publish_group<wi_add_counts, uint64_t>(l, shared.epoch, tile);
        place_runs();
        wi_async_wait<0>();
        __syncthreads();
        if (shared.runs == 0) {
            take_whole();
            return;
        }
        if (p.keys_out)
            write_keys();
        take_short();
        __syncthreads();
        take_long();
    }
};

/* How many blocks on a multiprocessor the registers must allow; shared memory allows five. */
template <class Reducer>
constexpr int resident = sizeof(typename Reducer::State) > 8 ? 3 : 5;

template <class Reducer, class T>
__global__ void __launch_bounds__(threads, resident<Reducer>)
    reduce_runs(Reducer reducer, wi_run_params<Reducer, T> p,
                wi_run_scratch<typename Reducer::State> scratch, wi_lookback l) {
    using Shared = wi_run_shared<Reducer, T>;
    WEFT_SHARED(Shared, shared, );
    if (threadIdx.x == 0) {
        shared.epoch = wi_lookback_epoch(l);
        shared.tile = wi_lookback_take_tile(l);
        shared.long_ones = 1;
    }
    __syncthreads();
    const uint64_t tile = shared.tile, first = tile * p.tile;
    const unsigned many = (unsigned)(p.n - first < p.tile ? p.n - first : p.tile);
    wi_run_tile<Reducer, T>{reducer, p, scratch, shared, tile, first, many}.work(l);
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
    const unsigned tile = run_elements<T>(a->width);
    const uint64_t tiles = wi_tiles_of(a->n, tile), all = tiles + 1;
    const uint64_t groups = wi_tiles_of(all, threads);
    void *of_lookback, *records;
    weft_status status = wi_gpu_scratch(ctx, &lookback_key, wi_lookback_bytes(tiles), &of_lookback);
    if (status == WEFT_OK)
        status = wi_gpu_scratch(
            ctx, &records_key,
            (all + groups) * sizeof(Open) + all * (sizeof(State) + sizeof(uint64_t)), &records);
    if (status != WEFT_OK)
        return status;
    wi_run_scratch<State> s;
    s.opens = (Open *)records;
    s.groups = s.opens + all;
    s.bases = (uint64_t *)(s.groups + groups);
    s.heads = (State *)(s.bases + all);
    const wi_run_params<Reducer, T> p = {(const T *)a->column[0].x,
                                         (typename Reducer::Result *)a->column[0].y,
                                         a->keys,
                                         a->keys_out,
                                         a->n,
                                         a->count,
                                         (unsigned)a->width,
                                         tile};
    status = WEFT_LAUNCH((reduce_runs<Reducer, T>), ctx, (unsigned)tiles, threads, 0, reducer, p, s,
                         wi_lookback_in(of_lookback, tiles));
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
