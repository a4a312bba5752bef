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

/* Elements that a thread walks at most: so many that a tile fits 48 KiB. */
template <class Reducer, class T>
static constexpr int steps_of = sizeof(typename Reducer::Result) == 8 && sizeof(T) > 1 ? 8 : 16;

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

/* Bit k: is element k of this thread the last of its segment? Clears the marks for the next tile.
 */
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

/* The shared memory of a block. An element of the tile lies in a slot of its own, where the result
 * of the segment that it ends replaces it. Between the slots of two threads there is a gap, so that
 * threads that walk side by side are in different banks. */
template <class Reducer, class T>
struct wi_path_shared {
    using Result = typename Reducer::Result;
    static constexpr int steps = steps_of<Reducer, T>;
    static constexpr size_t slot = sizeof(T) > sizeof(Result) ? sizeof(T) : sizeof(Result);
    static constexpr size_t stride = steps * slot + (slot < 4 ? 4 : slot);
    alignas(16) unsigned char slots[threads * stride];
    alignas(16) uint8_t marks[threads * steps];
    uint16_t positions[threads * steps]; /* where the tile's segments end: elements before it */
    wi_open_segment<typename Reducer::State> of_warp[warps];

    __device__ void *at(unsigned i) {
        return slots + i / steps * stride + i % steps * slot;
    }
};

/* Walks this thread's elements, of which `left` exist; `whole`: all of them do. Bit k of `bits`
 * says that element k is the last of its segment. *first is the state up to the first such element.
 */
template <bool whole, class Reducer, class T>
static __device__ inline wi_open_segment<typename Reducer::State>
walk(const Reducer &reducer, uint64_t index, unsigned left, unsigned bits, unsigned char *own,
     typename Reducer::State *first) {
    using Shared = wi_path_shared<Reducer, T>;
    const unsigned lowest = bits & (0u - bits);
    typename Reducer::State state = reducer.identity();
#pragma unroll
    for (unsigned k = 0; k < Shared::steps; k++) {
        if (!whole && k >= left)
            break;
        const T x = *(const T *)(own + k * Shared::slot);
        state = reducer.take(state, x, x, index + k);
        if (lowest >> k & 1)
            *first = state;
        if (bits >> k & 1) {
            *(typename Reducer::Result *)(own + k * Shared::slot) = reducer.finish(state);
            state = reducer.identity();
        }
    }
    return {state, bits != 0};
}

/* Puts a tile with ends into shared memory. */
template <class Reducer, class T>
static __device__ inline void
stage_tile(const wi_group_params<Reducer, T> &p, const wi_path_tile &t, uint64_t count,
           const T (&x)[steps_of<Reducer, T>], wi_path_shared<Reducer, T> &shared) {
    using Shared = wi_path_shared<Reducer, T>;
    unsigned char *const mine = (unsigned char *)shared.at(threadIdx.x);
#pragma unroll
    for (unsigned k = 0; k < Shared::steps; k++)
        if (threadIdx.x + k * threads < t.elements)
            *(T *)(mine + k * (threads / Shared::steps) * Shared::stride) = x[k];
    for (unsigned i = threadIdx.x; i < t.ends; i += threads) {
        const uint64_t at = p.starts.of(t.end + i + 1, count) - t.element;
        shared.positions[i] = at <= t.elements ? (uint16_t)at : 0;
        const bool empty = i > 0 && p.starts.of(t.end + i, count) - t.element == at;
        if (!empty && at - 1 < t.elements)
            shared.marks[at - 1] = 1;
    }
    __syncthreads();
}

/* Does a tile that has ends. Its record gets the head: that of a segment without elements in the
 * tile is the identity. */
template <class Reducer, class T>
static __device__ inline wi_open_segment<typename Reducer::State>
walk_tile(const Reducer &reducer, const wi_path_tile &t, wi_path_shared<Reducer, T> &shared,
          typename Reducer::State *head) {
    using Open = wi_open_segment<typename Reducer::State>;
    using Result = typename Reducer::Result;
    constexpr unsigned steps = steps_of<Reducer, T>;
    const unsigned bits = take_marks<steps>(shared.marks), e = threadIdx.x * steps;
    const unsigned left = t.elements > e ? t.elements - e : 0;
    unsigned char *const own = (unsigned char *)shared.at(e);
    const bool begins = shared.positions[0] == 0;
    typename Reducer::State first = reducer.identity();
    const Open mine =
        left >= steps ? walk<true, Reducer, T>(reducer, t.element + e, left, bits, own, &first)
                      : walk<false, Reducer, T>(reducer, t.element + e, left, bits, own, &first);
    Open all;
    const Open before = wi_scan_open<warps>(reducer, mine, shared.of_warp, &all);
    if (begins && threadIdx.x == 0)
        *head = reducer.identity();
    if (mine.ended) {
        const typename Reducer::State whole = reducer.combine(before.state, first);
        if (before.ended || begins)
            *(Result *)shared.at(e + (unsigned)__ffs((int)bits) - 1) = reducer.finish(whole);
        else
            *head = whole;
    }
    all.ended = 1;
    return all;
}

/* Writes all results of a tile but the first, side by side. */
template <class Reducer, class T>
static __device__ inline void
write_results(const Reducer &reducer, const wi_group_params<Reducer, T> &p, const wi_path_tile &t,
              wi_path_shared<Reducer, T> &shared) {
    using Result = typename Reducer::Result;
    const Result none = reducer.finish(reducer.identity());
    __syncthreads();
    for (unsigned i = threadIdx.x + 1; i < t.ends; i += threads) {
        const unsigned at = shared.positions[i];
        p.y[t.end + i] = at > shared.positions[i - 1] ? *(const Result *)shared.at(at - 1) : none;
    }
    __syncthreads(); /* the next tile may be staged */
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
        stage_tile(p, t, count, x, shared);
        all = walk_tile(reducer, t, shared, &record->head);
        write_results(reducer, p, t, shared);
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
