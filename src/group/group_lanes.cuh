/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of the rung "lanes": segments of an element or two, on average.
 *
 * A block has a stretch of the path, of which its warps take 128 segments at a time, whoever comes
 * to the next. So they read side by side, and come to the end together. A lane has four segments
 * that follow one another: it reads their offsets as one vector, their elements from where they
 * lie, and writes their results as one vector. What is longer than a lane should take goes to a
 * list, of which groups of eight lanes take one each, or the whole warp. So a stretch takes about
 * the same time whatever lengths are in it. What stretches leave open is carried on as in "marks".
 */
#ifndef WI_GROUP_LANES_CUH
#define WI_GROUP_LANES_CUH

#include "cuda/memory.cuh"
#include "cuda/ticket.cuh"
#include "group/group_marks_cut.cuh"
#include "group/group_records.cuh"

constexpr int threads = 512;
constexpr int warps = threads / 32;
/* How many elements an end counts in the path: an offset that is read and a result. */
constexpr unsigned end_steps = 2;
constexpr unsigned items = 4;            /* segments of a lane */
constexpr unsigned at_once = 32 * items; /* of a warp */
constexpr unsigned short_most = 16;      /* elements that a lane takes of a segment, at most */
constexpr unsigned group_most = 256;     /* that eight lanes take */
/* Into how many parts a stretch is cut: a segment that is longer than one is the whole block's. */
constexpr unsigned stretch_parts = 64;

/* A segment that several lanes reduce: where it begins, its length, and its place among the
 * stretch's. */
struct wi_long_segment {
    uint32_t begin, length, place;
};

/* What the warps of a block share. */
template <class State>
struct wi_lane_shared {
    wi_mark_cut cut[2]; /* where the stretch begins and ends */
    wi_path_record<State> record;
    uint32_t next;      /* the first group that nobody has */
    uint32_t very_long; /* segments that are the whole block's */
    wi_long_segment list[stretch_parts];
    State of_warp[warps];
};

/* A warp at work on its block's stretch. Segments are counted from `base`, a multiple of `items`,
 * elements from the stretch's first. */
template <class Reducer, class T>
struct wi_lane_walk {
    using State = typename Reducer::State;
    using Result = typename Reducer::Result;
    using Results = wi_vector<Result>;
    const Reducer &reducer;
    const wi_group_params<Reducer, T> &p;
    wi_long_segment *list;
    wi_lane_shared<State> &shared;
    uint64_t count, base;
    uint64_t element;     /* the first */
    const T *x;           /* from that on */
    uint32_t first, last; /* the segments in which the stretch begins and ends */
    uint32_t length;

    __device__ wi_lane_walk(const Reducer &r, const wi_group_params<Reducer, T> &params,
                            uint64_t segments, const wi_mark_cut &from, const wi_mark_cut &to,
                            wi_long_segment *own_list, wi_lane_shared<State> &of_block)
        : reducer(r), p(params), list(own_list), shared(of_block), count(segments),
          base(from.end / items * items), element(from.element), x(params.x + from.element),
          first((uint32_t)(from.end - base)),
          last(first + (to.end > from.end ? (uint32_t)(to.end - from.end) : 0)),
          length(to.element > element ? (uint32_t)(to.element - element) : 0) {}

    /* Where the lane's segments begin, and the one behind them. */
    struct begins {
        uint32_t of[items + 1];
    };

    template <class Offset>
    __device__ begins load_whole(uint64_t s) const {
        using Vector = wi_vector<Offset>;
        const Offset *const from = (const Offset *)p.starts.at + s;
        begins b;
#pragma unroll
        for (unsigned v = 0; v < items; v += Vector::count) {
            const Vector some = *(const Vector *)(from + v);
#pragma unroll
            for (unsigned k = 0; k < Vector::count; k++)
                b.of[v + k] = (uint32_t)some.at[k];
        }
        b.of[items] = 0;
        if (wi_lane() == 31)
            b.of[items] = (uint32_t)from[items];
        return b;
    }

    __device__ begins load(uint32_t group) const {
        const uint64_t s = base + group + (unsigned)wi_lane() * items;
        if (wi_is_aligned(p.starts.at) && base + group + at_once < count)
            return p.starts.bytes == 4 ? load_whole<uint32_t>(s) : load_whole<uint64_t>(s);
        begins b;
#pragma unroll
        for (unsigned k = 0; k <= items; k++)
            b.of[k] = (uint32_t)p.starts.of(s + k, count);
        return b;
    }

    /* Are all segments of a group whole ones of the stretch? */
    __device__ bool is_inside(uint32_t group) const {
        return group > first && group + at_once <= last;
    }

    /* Where they begin among the stretch's elements. Those that are not in it are empty. */
    __device__ void place(uint32_t group, begins &b) const {
        const uint32_t own = group + (unsigned)wi_lane() * items,
                       next = __shfl_down_sync(wi_all_lanes, b.of[0], 1);
        if (wi_lane() < 31)
            b.of[items] = next;
#pragma unroll
        for (unsigned k = 0; k <= items; k++) {
            const uint32_t at = b.of[k] - (uint32_t)element;
            b.of[k] = at < length ? at : length;
        }
        if (is_inside(group))
            return;
#pragma unroll
        for (unsigned k = 0; k <= items; k++)
            b.of[k] = own + k <= first ? 0 : own + k > last ? length : b.of[k];
    }

    /* Hands on the state of a segment; of those where the stretch begins and ends it is a part. */
    __device__ void put(uint32_t segment, State state) const {
        if (segment < first || segment > last)
            return;
        if (segment == last)
            shared.record.open.state = state;
        else if (segment == first)
            shared.record.head = state;
        else
            p.y[base + segment] = reducer.finish(state);
    }

    /* Takes a group: first what is short, two elements of each segment at a time, then what is
     * long. */
    __device__ void take(uint32_t group, const begins &b) const {
        const uint32_t own = group + (unsigned)wi_lane() * items;
        uint32_t many[items], longest = 0;
#pragma unroll
        for (unsigned k = 0; k < items; k++) {
            many[k] = b.of[k] < b.of[k + 1] ? b.of[k + 1] - b.of[k] : 0;
            longest = longest > many[k] ? longest : many[k];
        }
        longest = wi_warp_max(longest);
        const unsigned in_list = longest > short_most ? list_long(own, b, many) : 0;
        longest = longest < short_most ? longest : short_most;
        State state[items];
#pragma unroll
        for (unsigned k = 0; k < items; k++)
            state[k] = reducer.identity();
        if (longest == 1)
            take_some<1>(b, many, 0, state);
        else
#pragma unroll 1
            for (uint32_t i = 0; i < longest; i += 2)
                take_some<2>(b, many, i, state);
        write(group, own, b, many, state);
        if (in_list > 0)
            take_long(in_list);
    }

    /* Takes so many elements of each of a lane's segments, from the i-th on. */
    template <unsigned each>
    __device__ void take_some(const begins &b, const uint32_t (&many)[items], uint32_t i,
                              State (&state)[items]) const {
        T own[items][each];
#pragma unroll
        for (unsigned k = 0; k < items; k++)
#pragma unroll
            for (unsigned e = 0; e < each; e++)
                own[k][e] = i + e < many[k] ? x[b.of[k] + i + e] : T{};
#pragma unroll
        for (unsigned k = 0; k < items; k++)
#pragma unroll
            for (unsigned e = 0; e < each; e++)
                if (i + e < many[k])
                    state[k] =
                        reducer.take(state[k], own[k][e], own[k][e], element + b.of[k] + i + e);
    }

    /* Writes the results of a lane's segments, but of those that are in the list: their length is
     * 0 by now, though they are not empty. */
    __device__ void write(uint32_t group, uint32_t own, const begins &b,
                          const uint32_t (&many)[items], const State (&state)[items]) const {
        if (is_inside(group) && wi_is_aligned(p.y)) {
#pragma unroll
            for (unsigned v = 0; v < items; v += Results::count) {
                Results some;
#pragma unroll
                for (unsigned k = 0; k < Results::count; k++)
                    some.at[k] = reducer.finish(state[v + k]);
                *(Results *)(p.y + base + own + v) = some;
            }
        } else {
#pragma unroll
            for (unsigned k = 0; k < items; k++)
                if (many[k] > 0 || b.of[k] >= b.of[k + 1])
                    put(own + k, state[k]);
        }
    }

    /* Puts the lanes' long segments into the list, and makes them empty; returns how many. */
    __device__ unsigned list_long(uint32_t own, const begins &b, uint32_t (&many)[items]) const {
        const uint32_t before = (1u << wi_lane()) - 1;
        unsigned in_list = 0;
#pragma unroll
        for (unsigned k = 0; k < items; k++) {
            const bool is_long = many[k] > short_most;
            const uint32_t those = __ballot_sync(wi_all_lanes, is_long);
            if (is_long) {
                list[in_list + (unsigned)__popc(those & before)] = {b.of[k], many[k], own + k};
                many[k] = 0;
            }
            in_list += (unsigned)__popc(those);
        }
        __syncwarp();
        return in_list;
    }

    /* The state of a segment that so many lanes side by side reduce, in each of them. */
    template <unsigned lanes>
    __device__ State reduce(uint32_t begin, uint32_t many) const {
        constexpr unsigned sides = 4, loads = lanes == 32 ? 8 : 4;
        State side[sides];
#pragma unroll
        for (unsigned k = 0; k < sides; k++)
            side[k] = reducer.identity();
#pragma unroll 1
        for (uint32_t i = (unsigned)wi_lane() % lanes; i < many; i += loads * lanes) {
            T own[loads];
#pragma unroll
            for (unsigned k = 0; k < loads; k++)
                own[k] = i + k * lanes < many ? x[begin + i + k * lanes] : T{};
#pragma unroll
            for (unsigned k = 0; k < loads; k++)
                if (i + k * lanes < many)
                    side[k % sides] = reducer.take(side[k % sides], own[k], own[k],
                                                   element + begin + i + k * lanes);
        }
        State all =
            reducer.combine(reducer.combine(side[0], side[1]), reducer.combine(side[2], side[3]));
#pragma unroll
        for (unsigned step = 1; step < lanes; step *= 2)
            all = reducer.combine(all, wi_shuffle_xor(all, (int)step));
        return all;
    }

    /* Takes what is in the list, which may have overwritten results of empty ones. */
    __device__ void take_long(unsigned many) const {
        __syncwarp();
        const unsigned lane = (unsigned)wi_lane();
#pragma unroll 1
        for (unsigned from = 0; from < many; from += 4) {
            const unsigned k = from + lane / 8;
            const wi_long_segment own = k < many ? list[k] : wi_long_segment{0, 0, 0};
            const bool is_longer = own.length > group_most;
            const State state = reduce<8>(own.begin, is_longer ? 0 : own.length);
            if (lane % 8 == 0 && k < many && !is_longer)
                put(own.place, state);
            uint32_t longer = __ballot_sync(wi_all_lanes, is_longer && lane % 8 == 0);
            for (; longer != 0; longer &= longer - 1) {
                const wi_long_segment one = list[from + (unsigned)(__ffs((int)longer) - 1) / 8];
                if (one.length > length / stretch_parts) {
                    if (lane == 0)
                        shared.list[atomicAdd(&shared.very_long, 1u)] = one;
                    continue;
                }
                const State whole = reduce<32>(one.begin, one.length);
                if (lane == 0)
                    put(one.place, whole);
            }
        }
        __syncwarp(); /* the list may be used again */
    }

    /* Takes groups, that of its number first; then whatever is next. */
    __device__ void walk() const {
        const auto ask = [&] { return wi_lane() == 0 ? atomicAdd(&shared.next, at_once) : 0; };
        uint32_t group = threadIdx.x / 32 * at_once, second = wi_shuffle(ask(), 0);
        if (group > last)
            return;
        begins now = load(group);
#pragma unroll 1
        while (group <= last) {
            const uint32_t third = ask();
            begins ahead = now;
            if (second <= last)
                ahead = load(second);
            place(group, now);
            take(group, now);
            now = ahead;
            group = second, second = wi_shuffle(third, 0);
        }
    }

    /* Takes the segments that are the whole block's, all of its warps a part of each. */
    __device__ void take_very_long() const {
        const unsigned lane = (unsigned)wi_lane(), warp = threadIdx.x / 32;
        __syncthreads();
        for (uint32_t k = 0; k < shared.very_long; k++) {
            const wi_long_segment one = shared.list[k];
            const uint32_t each = one.length / warps, from = warp * each;
            const State part =
                reduce<32>(one.begin + from, warp == warps - 1 ? one.length - from : each);
            if (lane == 0)
                shared.of_warp[warp] = part;
            __syncthreads();
            if (warp == 0) {
                const State all =
                    wi_warp_reduce(lane < warps ? shared.of_warp[lane] : reducer.identity(),
                                   [&](State a, State b) { return reducer.combine(a, b); });
                if (lane == 0)
                    put(one.place, all);
            }
            __syncthreads();
        }
    }
};

/* Finds where a block's stretch begins and ends, and puts down what all know at first. Called by a
 * warp. */
template <class Reducer, class T>
__device__ void wi_cut_block(const Reducer &reducer, const wi_group_params<Reducer, T> &p,
                             wi_lane_shared<typename Reducer::State> &shared) {
    const uint64_t count = p.starts.count(), steps = p.starts.n + count * end_steps;
    const uint64_t each = steps / gridDim.x, rest = steps % gridDim.x;
    const unsigned half = (unsigned)wi_lane() / 16, k = blockIdx.x + half;
    wi_mark_cut cut = wi_mark_find<end_steps>(p.starts, count, k * each + (k < rest ? k : rest));
    if (k == gridDim.x)
        cut = {p.starts.n, count};
    const wi_mark_cut from = wi_shuffle(cut, 0), to = wi_shuffle(cut, 16);
    if (wi_lane() > 0)
        return;
    shared.cut[0] = from, shared.cut[1] = to;
    shared.record = {reducer.identity(), {reducer.identity(), to.end > from.end}, from.end};
    shared.next = warps * at_once;
    shared.very_long = 0;
}

/* A stretch for each block. */
template <class Reducer, class T>
__global__ void __launch_bounds__(threads, 2)
    reduce_lanes(Reducer reducer, wi_group_params<Reducer, T> p, unsigned *ticket,
                 wi_path_record<typename Reducer::State> *records) {
    using State = typename Reducer::State;
    using Shared = wi_lane_shared<State>;
    using Open = wi_open_segment<State>;
    WEFT_SHARED(wi_long_segment, lists, [warps][at_once]);
    WEFT_SHARED(Shared, shared, );
    WEFT_SHARED(Open, of_warp, [warps]);
    const unsigned warp = threadIdx.x / 32;
    if (warp == 0)
        wi_cut_block(reducer, p, shared);
    __syncthreads();
    const wi_lane_walk<Reducer, T> walk(reducer, p, p.starts.count(), shared.cut[0], shared.cut[1],
                                        lists[warp], shared);
    walk.walk();
    walk.take_very_long();
    if (threadIdx.x == 0)
        records[blockIdx.x] = shared.record;
    if (wi_ends_last(ticket))
        wi_close_records<threads>(reducer, records, gridDim.x, p.y, of_warp);
}

#endif
