/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "paths": reductions of segments of any lengths, with the same work for every block.
 *
 * Lay all elements and all ends of segments in one line, each end behind the last element of its
 * segment: the path. It has n + segments steps, and is cut into tiles of equal length, so neither a
 * long segment nor a million empty ones hold a block up. End s is step end(s) + s, so a search
 * finds how many ends come before a tile; all else before it is elements.
 *
 * In a tile, every thread walks a few elements, each of which may be the last of its segment: then
 * the state is the segment's result, and takes the element's place in shared memory. Thus a step
 * has no branch, and no address but the element's own. Empty segments are seen when results are
 * written: their end is where the one before them is.
 *
 * What a thread leaves open is carried on to those behind it by a scan over the block. A block
 * takes consecutive tiles, and carries on from one to the next what is open; the next tile's
 * elements are on their way while it walks. The block that ends last carries on from block to
 * block, and writes the result of the segment that ends first in each: it may have begun in a block
 * before. So the same input gives the same bits, and every result is written once. */
#include "cuda/limit.cuh"
#include "cuda/ticket.cuh"
#include "group/group_cuda.cuh"

constexpr int threads = 256;
constexpr int warps = threads / 32;

/* Blocks of a launch, at most; tests set it lower. */
WI_LIMIT(size_t, wi_path_blocks, SIZE_MAX)

/* Elements that a thread walks at most: so many that a tile fits 48 KiB. */
template <class Reducer, class T>
static constexpr int steps_of = sizeof(typename Reducer::Result) == 8 && sizeof(T) > 1 ? 8 : 16;

/* What a block hands on: the state up to its first end, of a segment that may have begun before,
 * and which segment that is; and what it leaves open. */
template <class State>
struct wi_path_record {
    State head;
    wi_open_segment<State> open;
    uint64_t segment;
};

template <class State>
struct wi_path_scratch {
    unsigned *ticket;              /* counts the blocks that have ended; 0 between launches */
    uint64_t *ends;                /* how many come before each tile; the last is all of them */
    wi_path_record<State> *blocks; /* one for each block */
};

static __device__ inline uint64_t tiles_of(const wi_group_starts &s, unsigned tile) {
    return (s.n + s.count() + tile - 1) / tile;
}

/* ends[k] = how many ends are among the first k tiles, up to two behind the last. */
__global__ void __launch_bounds__(threads)
    find_ends(wi_group_starts starts, unsigned tile, uint64_t *ends) {
    const uint64_t count = starts.count(), tiles = tiles_of(starts, tile);
    const uint64_t stride = (uint64_t)gridDim.x * threads;
    for (uint64_t k = (uint64_t)blockIdx.x * threads + threadIdx.x; k < tiles + 3; k += stride) {
        const uint64_t step = k * tile;
        uint64_t low = 0, high = step < count ? step : count;
        while (low < high) {
            const uint64_t s = low + (high - low) / 2;
            if (starts.of(s + 1, count) + s < step)
                low = s + 1;
            else
                high = s;
        }
        ends[k] = low;
    }
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
static __device__ inline wi_path_tile tile_at(const wi_group_starts &starts, uint64_t k,
                                              unsigned tile, uint64_t count, uint64_t end,
                                              uint64_t next_end) {
    const uint64_t all = starts.n + count, first = k * tile;
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

/* A block's stretch of tiles: what is open so far in it, and where its record is. */
template <class State>
struct wi_path_stretch {
    wi_open_segment<State> carry;
    wi_path_record<State> *record;
};

/* The state of the tile's first segment up to its end: the result, unless the segment may have
 * begun before this block. */
template <class Reducer, class T>
static __device__ inline void
put_head(const Reducer &reducer, const wi_group_params<Reducer, T> &p, uint64_t segment,
         const wi_path_stretch<typename Reducer::State> &s, typename Reducer::State in_tile) {
    const typename Reducer::State whole = reducer.combine(s.carry.state, in_tile);
    if (s.carry.ended) {
        p.y[segment] = reducer.finish(whole);
    } else {
        s.record->head = whole;
        s.record->segment = segment;
    }
}

/* Walks a tile that has ends, which is in shared memory. */
template <class Reducer, class T>
static __device__ inline void
walk_tile(const Reducer &reducer, const wi_group_params<Reducer, T> &p, const wi_path_tile &t,
          wi_path_shared<Reducer, T> &shared, wi_path_stretch<typename Reducer::State> &s) {
    using Open = wi_open_segment<typename Reducer::State>;
    using Result = typename Reducer::Result;
    constexpr unsigned steps = steps_of<Reducer, T>;
    const unsigned bits = take_marks<steps>(shared.marks), e = threadIdx.x * steps;
    const unsigned left = t.elements > e ? t.elements - e : 0;
    unsigned char *const own = (unsigned char *)shared.at(e);
    const bool begins = shared.positions[0] == 0; /* the first end has no element in the tile */
    typename Reducer::State first = reducer.identity();
    const Open mine =
        left >= steps ? walk<true, Reducer, T>(reducer, t.element + e, left, bits, own, &first)
                      : walk<false, Reducer, T>(reducer, t.element + e, left, bits, own, &first);
    Open all;
    const Open before = wi_scan_open<warps>(reducer, mine, shared.of_warp, &all);
    if (begins && threadIdx.x == 0)
        put_head(reducer, p, t.end, s, reducer.identity());
    if (mine.ended) {
        const typename Reducer::State whole = reducer.combine(before.state, first);
        if (before.ended || begins)
            *(Result *)shared.at(e + (unsigned)__ffs((int)bits) - 1) = reducer.finish(whole);
        else
            put_head(reducer, p, t.end, s, whole);
    }
    s.carry = {all.state, 1};
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

/* This thread's elements of a tile, a block's width apart. */
template <int steps, class T>
static __device__ inline void load_elements(const T *x, const wi_path_tile &t, T (&to)[steps]) {
#pragma unroll
    for (unsigned k = 0; k < steps; k++)
        if (threadIdx.x + k * threads < t.elements)
            to[k] = x[t.element + threadIdx.x + k * threads];
}

/* Those of a tile without ends, in one state. */
template <int steps, class Reducer, class T>
static __device__ inline wi_open_segment<typename Reducer::State>
take_elements(const Reducer &reducer, const wi_path_tile &t, const T (&x)[steps]) {
    typename Reducer::State state = reducer.identity();
#pragma unroll
    for (unsigned k = 0; k < steps; k++)
        if (threadIdx.x + k * threads < t.elements)
            state = reducer.take(state, x[k], x[k], t.element + threadIdx.x + k * threads);
    return {state, 0};
}

/* Tiles first ... last - 1. A tile's elements are loaded when those of the one before it have left
 * their registers, and the number of ends before a tile one tile earlier. */
template <class Reducer, class T>
static __device__ inline void
walk_stretch(const Reducer &reducer, const wi_group_params<Reducer, T> &p, const uint64_t *ends,
             uint64_t first, uint64_t last, uint64_t count, wi_path_shared<Reducer, T> &shared,
             wi_path_stretch<typename Reducer::State> &s) {
    using Open = wi_open_segment<typename Reducer::State>;
    constexpr int steps = steps_of<Reducer, T>;
    constexpr unsigned tile = threads * steps;
    T x[steps];
    wi_path_tile next = tile_at(p.starts, first, tile, count, ends[first], ends[first + 1]);
    uint64_t end_after = ends[first + 2]; /* ends before the tile behind the next */
    load_elements<steps>(p.x, next, x);
    for (uint64_t k = first; k < last; k++) {
        const wi_path_tile t = next;
        Open all, mine = {reducer.identity(), 0};
        if (t.ends > 0)
            stage_tile(p, t, count, x, shared);
        else
            mine = take_elements<steps>(reducer, t, x);
        if (k + 1 < last) {
            next = tile_at(p.starts, k + 1, tile, count, t.end + t.ends, end_after);
            end_after = ends[k + 3];
            load_elements<steps>(p.x, next, x);
        }
        if (t.ends > 0) {
            walk_tile(reducer, p, t, shared, s);
            write_results(reducer, p, t, shared);
        } else {
            wi_scan_open<warps>(reducer, mine, shared.of_warp, &all);
            s.carry = wi_follow(reducer, s.carry, all);
        }
    }
}

/* Carries on what blocks leave open, and writes the results of their first ends. */
template <class Reducer, class T>
static __device__ void close_blocks(const Reducer &reducer, const wi_group_params<Reducer, T> &p,
                                    const wi_path_record<typename Reducer::State> *records,
                                    wi_path_shared<Reducer, T> &shared) {
    using Open = wi_open_segment<typename Reducer::State>;
    Open carry = {reducer.identity(), 0};
    for (unsigned first = 0; first < gridDim.x; first += threads) {
        const unsigned b = first + threadIdx.x;
        Open mine = {reducer.identity(), 0}, all;
        if (b < gridDim.x)
            mine = records[b].open;
        const Open before = wi_scan_open<warps>(reducer, mine, shared.of_warp, &all);
        if (mine.ended) {
            const Open up_to = wi_follow(reducer, carry, before);
            p.y[records[b].segment] = reducer.finish(reducer.combine(up_to.state, records[b].head));
        }
        carry = wi_follow(reducer, carry, all);
    }
}

/* How many blocks on a multiprocessor the registers must allow. */
template <class Reducer, class T>
static constexpr int resident = sizeof(typename Reducer::State) > 8 ? 3
                                : sizeof(T) == 4                    ? 5
                                                                    : 4;

template <class Reducer, class T>
__global__ void __launch_bounds__(threads, (resident<Reducer, T>))
    walk_paths(Reducer reducer, wi_group_params<Reducer, T> p,
               wi_path_scratch<typename Reducer::State> scratch) {
    using Shared = wi_path_shared<Reducer, T>;
    WEFT_SHARED(Shared, shared, );
    const uint64_t count = p.starts.count();
    const uint64_t tiles = tiles_of(p.starts, threads * steps_of<Reducer, T>);
    const uint64_t each = tiles / gridDim.x, rest = tiles % gridDim.x, b = blockIdx.x;
    const uint64_t first = b * each + (b < rest ? b : rest), last = first + each + (b < rest);
    for (unsigned i = threadIdx.x; i < sizeof shared.marks / 4; i += threads)
        ((uint32_t *)shared.marks)[i] = 0;
    __syncthreads();
    wi_path_stretch<typename Reducer::State> s = {{reducer.identity(), 0}, &scratch.blocks[b]};
    if (first < last)
        walk_stretch(reducer, p, scratch.ends, first, last, count, shared, s);
    if (threadIdx.x == 0)
        s.record->open = s.carry;
    __syncthreads();
    if (wi_ends_last(scratch.ticket))
        close_blocks(reducer, p, scratch.blocks, shared);
}

static const char ticket_key = 0, records_key = 0;

/* Tiles of a call, at most. */
template <class Reducer, class T>
static uint64_t most_tiles(const wi_group_args *args) {
    constexpr unsigned tile = threads * steps_of<Reducer, T>;
    return (args->n + args->segments + tile - 1) / tile;
}

/* Blocks for a call, and scratch memory. Numbers of ends are read up to two tiles behind the last.
 */
template <class Reducer, class T>
static weft_status take_scratch(weft_context *ctx, uint64_t tiles, size_t *blocks,
                                wi_path_scratch<typename Reducer::State> *s) {
    const uint64_t ends = (tiles + 4) / 2 * 2; /* records lie at a multiple of 16 bytes */
    void *ticket, *records;
    weft_status status = wi_resident_blocks(ctx, walk_paths<Reducer, T>, threads, 0, blocks);
    if (status == WEFT_OK)
        status = wi_gpu_scratch(ctx, &ticket_key, sizeof *s->ticket, &ticket);
    if (status != WEFT_OK)
        return status;
    *blocks = *blocks < wi_path_blocks ? *blocks : wi_path_blocks;
    *blocks = *blocks < tiles ? *blocks : (size_t)tiles;
    status = wi_gpu_scratch(ctx, &records_key, ends * sizeof *s->ends + *blocks * sizeof *s->blocks,
                            &records);
    if (status != WEFT_OK)
        return status;
    s->ticket = (unsigned *)ticket;
    s->ends = (uint64_t *)records;
    s->blocks = (wi_path_record<typename Reducer::State> *)(s->ends + ends);
    return WEFT_OK;
}

template <class Reducer, class T>
static weft_status launch_paths(weft_context *ctx, const wi_group_args *args,
                                const Reducer &reducer) {
    constexpr unsigned tile = threads * steps_of<Reducer, T>;
    const uint64_t tiles = most_tiles<Reducer, T>(args);
    wi_path_scratch<typename Reducer::State> scratch;
    size_t blocks;
    weft_status status = take_scratch<Reducer, T>(ctx, tiles, &blocks, &scratch);
    if (status != WEFT_OK)
        return status;
    const uint64_t searches = tiles / threads + 1, most = (uint64_t)ctx->gpu->multiprocessors * 8;
    status = WEFT_LAUNCH(find_ends, ctx, (unsigned)(searches < most ? searches : most), threads, 0,
                         wi_group_starts_of(args), tile, scratch.ends);
    if (status != WEFT_OK)
        return status;
    return WEFT_LAUNCH((walk_paths<Reducer, T>), ctx, (unsigned)blocks, threads, 0, reducer,
                       (wi_group_typed<Reducer, T>(args)), scratch);
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
        size_t blocks;
        return take_scratch<Reducer, T>(ctx, most_tiles<Reducer, T>(args), &blocks, &scratch);
    });
}

weft_status wi_group_paths(weft_context *ctx, const void *arguments) {
    const wi_group_args *args = (const wi_group_args *)arguments;
    return with_call(args, [=](auto tag, auto reducer) {
        using T = typename decltype(tag)::type;
        return launch_paths<decltype(reducer), T>(ctx, args, reducer);
    });
}
