/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "paths": reductions of segments of any lengths, with the same work for every block.
 *
 * Lay all elements and all ends of segments in one line, each end behind the last element of its
 * segment: the path. It has n + segments steps, and is cut into tiles of equal length, so neither a
 * long segment nor a million empty ones hold a block up. End s is step end(s) + s, so a search
 * finds how many ends come before a tile; all else before it is elements.
 *
 * In a tile, every thread walks a few steps. An element is added to the state, an end gives a
 * result away. What a thread, a tile, and a group of tiles leave open is carried on in the order of
 * the path: among the threads by a scan; among tiles by the block that ends last in a group; among
 * groups by the one that ends last of all. So the same input gives the same bits.
 *
 * Every result is written once: the first end of a tile belongs to a segment that may have begun
 * before, and is written when that is known. */
#include "cuda/limit.cuh"
#include "group/group_cuda.cuh"

constexpr int threads = 256;
constexpr int warps = threads / 32;

/* Tiles of a group, at most one for each thread of a block; tests set it lower. */
WI_LIMIT(unsigned, wi_path_group, threads)

/* Steps of the path that a thread walks: so many that elements and results of a tile fit 48 KiB. */
template <class Reducer, class T>
static constexpr int steps_of = sizeof(typename Reducer::Result) == 8 && sizeof(T) > 1 ? 8 : 16;

/* Threads that walk side by side read elements that are one thread's steps apart. So many words lie
 * between these in shared memory that they are in different banks. */
template <int steps, class E>
static __device__ inline unsigned padded(unsigned i) {
    return i + i / steps * (sizeof(E) < 4 ? 4 / sizeof(E) : 1);
}
template <int steps, class E>
static constexpr size_t padded_tile = (size_t)threads *(steps +
                                                        (sizeof(E) < 4 ? 4 / sizeof(E) : 1));

/* What a tile, or a group of them, hands on: the state up to its first end, of a segment that began
 * before; what it leaves open; and whether there is an end. */
template <class State>
struct wi_path_record {
    State head;
    wi_open_segment<State> open;
    uint64_t segment; /* of a group: the one that ends first */
};

template <class State>
struct wi_path_scratch {
    unsigned *tickets;             /* one for each group, and one for all groups */
    uint64_t *ends;                /* how many come before each tile; the last is all of them */
    wi_path_record<State> *tiles;  /* one for each tile */
    wi_path_record<State> *groups; /* one for each group */
};

static __device__ inline uint64_t tiles_of(const wi_group_starts &s, unsigned tile) {
    return (s.n + s.count() + tile - 1) / tile;
}

/* ends[k] = how many ends are among the first k tiles. */
__global__ void __launch_bounds__(threads)
    find_ends(wi_group_starts starts, unsigned tile, uint64_t *ends) {
    const uint64_t count = starts.count(), tiles = tiles_of(starts, tile);
    const uint64_t stride = (uint64_t)gridDim.x * threads;
    for (uint64_t k = (uint64_t)blockIdx.x * threads + threadIdx.x; k <= tiles; k += stride) {
        const uint64_t step = k * tile;
        uint64_t low = 0, high = step < count ? step : count;
        while (low < high) {
            const uint64_t s = low + (high - low) / 2;
            if (starts.of(s + 1, count) + s < step)
                low = s + 1;
            else
                high = s;
        }
        ends[k] = k == tiles ? count : low;
    }
}

/* True in every thread of the block that takes the last of `most` tickets. All its threads then see
 * what the blocks before it have written. */
static __device__ inline bool takes_last(unsigned *ticket, uint64_t most) {
    WEFT_SHARED(bool, last, );
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicInc(ticket, (unsigned)(most - 1)) == (unsigned)(most - 1);
        __threadfence();
    }
    __syncthreads();
    return last;
}

/* Bit k: is step k of this thread an end? Clears the marks for the next tile. */
template <int steps>
static __device__ inline unsigned take_marks(uint8_t *marks) {
    constexpr int words = steps / 4;
    struct alignas(4 * words) mark_words {
        uint32_t at[words];
    };
    mark_words *const mine = (mark_words *)marks + threadIdx.x;
    const mark_words w = *mine;
    unsigned bits = 0;
#pragma unroll
    for (int k = 0; k < words; k++)
        bits |= (w.at[k] * 0x01020408u >> 24) << (4 * k);
    *mine = mark_words{};
    return bits;
}

/* How many ends the threads before this one have. */
static __device__ inline unsigned ends_before(unsigned mine) {
    WEFT_SHARED(unsigned, of_warp, [warps]);
    const unsigned up_to = wi_warp_sum_scan(mine);
    if (wi_lane() == 31)
        of_warp[threadIdx.x / 32] = up_to;
    __syncthreads();
    unsigned before = up_to - mine;
#pragma unroll
    for (unsigned w = 0; w < warps; w++)
        before += w < threadIdx.x / 32 ? of_warp[w] : 0;
    return before;
}

/* A tile of the path: its first element and its first end, and how many it has of each. */
struct wi_path_tile {
    uint64_t element, end;
    unsigned elements, ends;
};

/* If offsets fall, which nobody has checked, a tile still has no more than its steps. */
static __device__ inline wi_path_tile tile_at(const wi_group_starts &starts, const uint64_t *ends,
                                              uint64_t k, unsigned tile, uint64_t count) {
    const uint64_t all = starts.n + count, first = k * tile;
    const uint64_t last = first + tile < all ? first + tile : all;
    wi_path_tile t;
    t.end = ends[k];
    const uint64_t next_end = ends[k + 1] < t.end ? t.end : ends[k + 1];
    t.ends = (unsigned)(next_end - t.end < last - first ? next_end - t.end : last - first);
    t.element = first - t.end < starts.n ? first - t.end : starts.n;
    const uint64_t left = starts.n - t.element, wanted = last - first - t.ends;
    t.elements = (unsigned)(wanted < left ? wanted : left);
    return t;
}

/* This thread's steps of a tile. Results other than the thread's first are staged; *first is the
 * state up to that. */
template <int steps, class Reducer, class T>
static __device__ inline wi_open_segment<typename Reducer::State>
walk(const Reducer &reducer, const wi_path_tile &t, unsigned bits, unsigned end, const T *elements,
     typename Reducer::Result *staged, typename Reducer::State *first) {
    wi_open_segment<typename Reducer::State> open = {reducer.identity(), 0};
    unsigned e = threadIdx.x * steps - end;
#pragma unroll
    for (int k = 0; k < steps; k++) {
        if (bits >> k & 1) {
            if (open.ended)
                staged[padded<steps, typename Reducer::Result>(end)] = reducer.finish(open.state);
            else
                *first = open.state;
            open = {reducer.identity(), 1};
            end++;
        } else if (e < t.elements) {
            const T x = elements[padded<steps, T>(e)];
            open.state = reducer.take(open.state, x, x, t.element + e);
            e++;
        }
    }
    return open;
}

/* The shared memory of a block. */
template <class Reducer, class T>
struct wi_path_shared {
    static constexpr int steps = steps_of<Reducer, T>;
    typename Reducer::Result staged[padded_tile<steps, typename Reducer::Result>];
    T elements[padded_tile<steps, T>];
    alignas(16) uint8_t marks[threads * steps];
    wi_open_segment<typename Reducer::State> of_warp[warps];
};

/* Loads a tile that has ends, and walks it. Its record gets the head. */
template <class Reducer, class T>
static __device__ inline wi_open_segment<typename Reducer::State>
walk_tile(const Reducer &reducer, const wi_group_params<Reducer, T> &p, const wi_path_tile &t,
          uint64_t count, const T (&x)[steps_of<Reducer, T>], wi_path_shared<Reducer, T> &shared,
          typename Reducer::State *head) {
    using Open = wi_open_segment<typename Reducer::State>;
    using Result = typename Reducer::Result;
    constexpr int steps = steps_of<Reducer, T>;
    for (unsigned i = threadIdx.x; i < t.ends; i += threads) {
        const uint64_t step = p.starts.of(t.end + i + 1, count) - t.element + i;
        if (step < threads * steps)
            shared.marks[step] = 1;
    }
#pragma unroll
    for (int k = 0; k < steps; k++)
        if (threadIdx.x + (unsigned)k * threads < t.elements)
            shared.elements[padded<steps, T>(threadIdx.x + (unsigned)k * threads)] = x[k];
    __syncthreads();
    const unsigned bits = take_marks<steps>(shared.marks);
    const unsigned end = ends_before((unsigned)__popc(bits));
    typename Reducer::State first = reducer.identity();
    const Open mine = walk<steps>(reducer, t, bits, end, shared.elements, shared.staged, &first);
    Open all;
    const Open before = wi_scan_open<warps>(reducer, mine, shared.of_warp, &all);
    if (mine.ended) {
        const typename Reducer::State whole = reducer.combine(before.state, first);
        if (before.ended)
            shared.staged[padded<steps, Result>(end)] = reducer.finish(whole);
        else
            *head = whole;
    }
    __syncthreads();
    for (unsigned i = threadIdx.x + 1; i < t.ends; i += threads)
        p.y[t.end + i] = shared.staged[padded<steps, Result>(i)];
    __syncthreads(); /* the next tile may be staged */
    return all;
}

/* Does one tile; what it leaves open goes to its record. */
template <class Reducer, class T>
static __device__ inline void do_tile(const Reducer &reducer, const wi_group_params<Reducer, T> &p,
                                      const wi_path_tile &t, uint64_t count,
                                      wi_path_shared<Reducer, T> &shared,
                                      wi_path_record<typename Reducer::State> *record) {
    using Open = wi_open_segment<typename Reducer::State>;
    constexpr int steps = steps_of<Reducer, T>;
    T x[steps];
#pragma unroll
    for (unsigned k = 0; k < steps; k++)
        if (threadIdx.x + k * threads < t.elements)
            x[k] = p.x[t.element + threadIdx.x + k * threads];
    Open all;
    if (t.ends == 0) {
        Open mine = {reducer.identity(), 0};
#pragma unroll
        for (unsigned k = 0; k < steps; k++)
            if (threadIdx.x + k * threads < t.elements)
                mine.state =
                    reducer.take(mine.state, x[k], x[k], t.element + threadIdx.x + k * threads);
        wi_scan_open<warps>(reducer, mine, shared.of_warp, &all);
    } else {
        all = walk_tile(reducer, p, t, count, x, shared, &record->head);
    }
    if (threadIdx.x == 0)
        record->open = all;
}

/* Carries on what the tiles of a group leave open, and writes the results of their first ends. That
 * of the group's first end waits for the groups before, but in the first group. */
template <class Reducer, class T>
static __device__ void close_group(const Reducer &reducer, const wi_group_params<Reducer, T> &p,
                                   const wi_path_scratch<typename Reducer::State> &scratch,
                                   uint64_t group, unsigned tiles,
                                   wi_path_shared<Reducer, T> &shared) {
    using State = typename Reducer::State;
    wi_open_segment<State> mine = {reducer.identity(), 0}, all;
    const uint64_t k = group * wi_path_group + threadIdx.x;
    if (threadIdx.x < tiles)
        mine = scratch.tiles[k].open;
    const wi_open_segment<State> before = wi_scan_open<warps>(reducer, mine, shared.of_warp, &all);
    wi_path_record<State> *const record = &scratch.groups[group];
    if (mine.ended) {
        const State whole = reducer.combine(before.state, scratch.tiles[k].head);
        if (before.ended || group == 0) {
            p.y[scratch.ends[k]] = reducer.finish(whole);
        } else {
            record->head = whole;
            record->segment = scratch.ends[k];
        }
    }
    if (threadIdx.x == 0)
        record->open = all;
}

/* The same for all groups. */
template <class Reducer, class T>
static __device__ void close_all(const Reducer &reducer, const wi_group_params<Reducer, T> &p,
                                 const wi_path_scratch<typename Reducer::State> &scratch,
                                 uint64_t groups, wi_path_shared<Reducer, T> &shared) {
    using Open = wi_open_segment<typename Reducer::State>;
    Open carry = {reducer.identity(), 0};
    for (uint64_t first = 0; first < groups; first += threads) {
        const uint64_t g = first + threadIdx.x;
        Open mine = {reducer.identity(), 0}, all;
        if (g < groups)
            mine = scratch.groups[g].open;
        const Open before = wi_scan_open<warps>(reducer, mine, shared.of_warp, &all);
        if (mine.ended && g > 0) {
            const Open up_to = wi_follow(reducer, carry, before);
            p.y[scratch.groups[g].segment] =
                reducer.finish(reducer.combine(up_to.state, scratch.groups[g].head));
        }
        carry = wi_follow(reducer, carry, all);
    }
}

template <class Reducer, class T>
__global__ void __launch_bounds__(threads)
    walk_paths(Reducer reducer, wi_group_params<Reducer, T> p,
               wi_path_scratch<typename Reducer::State> scratch) {
    using Shared = wi_path_shared<Reducer, T>;
    constexpr unsigned tile = threads * steps_of<Reducer, T>;
    WEFT_SHARED(Shared, shared, );
    const uint64_t count = p.starts.count(), tiles = tiles_of(p.starts, tile);
    const uint64_t groups = (tiles + wi_path_group - 1) / wi_path_group;
    for (unsigned i = threadIdx.x; i < sizeof shared.marks / 4; i += threads)
        ((uint32_t *)shared.marks)[i] = 0;
    __syncthreads();
    for (uint64_t k = blockIdx.x; k < tiles; k += gridDim.x) {
        do_tile(reducer, p, tile_at(p.starts, scratch.ends, k, tile, count), count, shared,
                &scratch.tiles[k]);
        const uint64_t group = k / wi_path_group, left = tiles - group * wi_path_group;
        const unsigned members = left < wi_path_group ? (unsigned)left : wi_path_group;
        if (!takes_last(&scratch.tickets[group], members))
            continue;
        close_group(reducer, p, scratch, group, members, shared);
        if (groups > 1 && takes_last(&scratch.tickets[groups], groups))
            close_all(reducer, p, scratch, groups, shared);
    }
}

static const char tickets_key = 0, records_key = 0;

/* Scratch for so many tiles. Tickets are 0 before and after a call; the ticket of all groups lies
 * behind those that this call can have. */
template <class State>
static weft_status take_scratch(weft_context *ctx, uint64_t tiles, wi_path_scratch<State> *s) {
    const uint64_t groups = (tiles + wi_path_group - 1) / wi_path_group;
    void *tickets, *records;
    weft_status status =
        wi_gpu_scratch(ctx, &tickets_key, (groups + 1) * sizeof *s->tickets, &tickets);
    const uint64_t ends = (tiles + 2) / 2 * 2; /* records lie at a multiple of 16 bytes */
    if (status == WEFT_OK)
        status =
            wi_gpu_scratch(ctx, &records_key,
                           ends * sizeof *s->ends + (tiles + groups) * sizeof *s->tiles, &records);
    if (status != WEFT_OK)
        return status;
    s->tickets = (unsigned *)tickets;
    s->ends = (uint64_t *)records;
    s->tiles = (wi_path_record<State> *)(s->ends + ends);
    s->groups = s->tiles + tiles;
    return WEFT_OK;
}

/* Tiles of a call, at most. */
template <class Reducer, class T>
static uint64_t most_tiles(const wi_group_args *args) {
    constexpr unsigned tile = threads * steps_of<Reducer, T>;
    return (args->n + args->segments + tile - 1) / tile;
}

template <class Reducer, class T>
static weft_status launch_paths(weft_context *ctx, const wi_group_args *args,
                                const Reducer &reducer) {
    constexpr unsigned tile = threads * steps_of<Reducer, T>;
    const uint64_t tiles = most_tiles<Reducer, T>(args);
    wi_path_scratch<typename Reducer::State> scratch;
    size_t blocks;
    weft_status status = take_scratch(ctx, tiles, &scratch);
    if (status == WEFT_OK)
        status = wi_resident_blocks(ctx, walk_paths<Reducer, T>, threads, 0, &blocks);
    if (status != WEFT_OK)
        return status;
    const uint64_t searches = tiles / threads + 1;
    status = WEFT_LAUNCH(find_ends, ctx, (unsigned)(searches < blocks ? searches : blocks), threads,
                         0, wi_group_starts_of(args), tile, scratch.ends);
    if (status != WEFT_OK)
        return status;
    return WEFT_LAUNCH((walk_paths<Reducer, T>), ctx, (unsigned)(tiles < blocks ? tiles : blocks),
                       threads, 0, reducer, (wi_group_typed<Reducer, T>(args)), scratch);
}

/* Calls f(type tag, reducer) for a call. */
template <class F>
static weft_status with_call(const wi_group_args *args, F f) {
    return wi_with_type(args->type, [=](auto tag) {
        using Element = typename decltype(tag)::type;
        return wi_with_group_reducer<Element>(args->op, f);
    });
}

weft_status wi_group_paths_prepare(weft_context *ctx, const wi_group_args *args) {
    return with_call(args, [=](auto tag, auto reducer) {
        using T = typename decltype(tag)::type;
        using Reducer = decltype(reducer);
        wi_path_scratch<typename Reducer::State> scratch;
        return take_scratch(ctx, most_tiles<Reducer, T>(args), &scratch);
    });
}

weft_status wi_group_paths(weft_context *ctx, const void *arguments) {
    const wi_group_args *args = (const wi_group_args *)arguments;
    return with_call(args, [=](auto tag, auto reducer) {
        using T = typename decltype(tag)::type;
        return launch_paths<decltype(reducer), T>(ctx, args, reducer);
    });
}
