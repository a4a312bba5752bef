/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of the rung "stretches": a warp walks a stretch of the path by itself, from registers.
 *
 * The path is that of "paths", but an end counts as many steps as elements that a warp adds
 * meanwhile. It is cut into a stretch for each warp. A warp loads a turn of vectors; if all of it
 * is of one segment, as it mostly is if segments are long, each lane only adds what it has. Else
 * the turn is taken row by row, a vector of each lane, and at every end the lanes' states are
 * combined. So nobody waits for another warp before its stretch ends. Results are kept until there
 * are as many as lanes, and written together.
 *
 * Then the block carries on from warp to warp, and the block that ends last from block to block. */
#ifndef WI_GROUP_STRETCHES_CUH
#define WI_GROUP_STRETCHES_CUH

#include "cuda/memory.cuh"
#include "cuda/ticket.cuh"
#include "group/group_records.cuh"
#include "group/group_tile.cuh"

constexpr int threads = 256;
constexpr int warps = threads / 32;

/* How many elements a warp takes with one vector of each lane, and how many an end counts. */
template <class T>
constexpr unsigned row = 32 * wi_vector<T>::count;
template <class T>
constexpr unsigned border = 256 / sizeof(T);

/* Elements of a segment that a few lanes take, at most. */
constexpr unsigned most_short = 128;

/* Where a stretch begins: its first element, and the first end that is not before it. */
struct wi_stretch_cut {
    uint64_t element, end;
};

/* Offset s. Its upper half is loaded apart, if there is one: then nothing else is compiled for
 * offsets of 4 and of 8 bytes. */
static __device__ inline uint64_t wi_stretch_offset(const wi_group_starts &starts, uint64_t s) {
    const uint32_t *const word = (const uint32_t *)starts.at + s * (starts.bytes / 4);
    const uint32_t upper = starts.bytes == 8 ? word[1] : 0;
    return (uint64_t)upper << 32 | word[0];
}

/* Where end s is. */
static __device__ inline uint64_t wi_stretch_end(const wi_group_starts &starts, uint64_t s,
                                                 uint64_t count) {
    return s + 1 < count ? wi_stretch_offset(starts, s + 1) : starts.n;
}

/* The cut at a step, found by a warp: each search asks for 32 ends at once. If offsets fall, which
 * nobody has checked, it is still one that there is. */
template <class T>
__device__ wi_stretch_cut wi_cut_stretch(const wi_group_starts &starts, uint64_t count,
                                         uint64_t step) {
    const unsigned lane = (unsigned)wi_lane();
    uint64_t low = 0, high = count;
    while (low < high) {
        const uint64_t apart = (high - low) / 32 + 1, s = low + lane * apart;
        const bool is_before = s < high && wi_stretch_end(starts, s, count) + s * border<T> < step;
        const unsigned many = (unsigned)__popc(__ballot_sync(wi_all_lanes, is_before));
        const uint64_t behind = low + many * apart;
        low = many > 0 ? behind - apart + 1 : low;
        high = many > 0 && behind > high ? high : many > 0 ? behind : low;
    }
    const uint64_t past = low * border<T>,
                   least = low > 0 ? wi_stretch_end(starts, low - 1, count) : 0;
    const uint64_t element = step < past + least ? least : step - past;
    return {element < starts.n ? element : starts.n, low};
}

/* A warp at work on its stretch. Places in it are counted from `base`, the start of the vector that
 * its first element is in. A lane takes so many vectors in one turn. */
template <unsigned vectors, class Reducer, class T>
struct wi_stretch_walk {
    using State = typename Reducer::State;
    using Vector = wi_vector<T>;
    static constexpr unsigned wide = Vector::count, turn = vectors * row<T>;
    const Reducer &reducer;
    const wi_group_params<Reducer, T> &p;
    uint64_t base, first;        /* where the stretch begins, and its first end */
    unsigned length, ends;       /* of the stretch */
    unsigned told;               /* of its ends, those that an offset tells: not the last of all */
    unsigned window = 0, at = 0; /* ends before the one that lane 0 knows; the one looked for */
    unsigned known;              /* the place of this lane's end */
    unsigned char *stage;        /* of this warp: a turn with ends waits there */
    State state, result;
    wi_path_record<State> *record;

    __device__ wi_stretch_walk(const Reducer &r, const wi_group_params<Reducer, T> &params,
                               uint64_t segments, const wi_stretch_cut &from,
                               const wi_stretch_cut &to, unsigned char *own_stage,
                               wi_path_record<State> *own_record)
        : reducer(r), p(params), base(from.element / wide * wide), first(from.end),
          length(to.element > base ? (unsigned)(to.element - base) : 0),
          ends(to.end > first ? (unsigned)(to.end - first) : 0), stage(own_stage),
          state(r.identity()), result(state), record(own_record) {
        told = first + ends < segments || ends == 0 ? ends : ends - 1;
        look();
    }

    __device__ void look() {
        const unsigned own = window + (unsigned)wi_lane();
        known = length;
        if (own < told) {
            const uint64_t end = wi_stretch_offset(p.starts, first + own + 1);
            known = end < base ? 0 : end - base < length ? (unsigned)(end - base) : length;
        }
    }

    __device__ unsigned next_end() const {
        return wi_shuffle(known, (int)at);
    }

    __device__ State of_lanes() const {
        State s = state;
#pragma unroll
        for (int step = 1; step < 32; step *= 2)
            s = reducer.combine(s, wi_shuffle_xor(s, step));
        return s;
    }

    /* Writes the results that lanes have; the first of all goes to the record. */
    __device__ void write() {
        const unsigned own = window + (unsigned)wi_lane();
        if (own == 0)
            record->head = result;
        else if ((unsigned)wi_lane() < at)
            p.y[first + own] = reducer.finish(result);
    }

    /* The end that is looked for has come. */
    __device__ void close() {
        const State all = of_lanes();
        if ((unsigned)wi_lane() == at)
            result = all;
        state = reducer.identity();
    }

    /* So many ends have results. */
    __device__ void pass(unsigned many) {
        at += many;
        if (at < 32)
            return;
        write();
        window += 32, at = 0;
        look();
    }

    /* The vector at a place; what is not of the stretch may be anything. */
    __device__ Vector load(unsigned place) const {
        Vector v = {};
#pragma unroll
        for (unsigned e = 0; e < wide; e++)
            if (place + e < length)
                v.at[e] = p.x[base + place + e];
        return v;
    }

    /* The vector k of this lane in the staged turn, and one of its elements. */
    __device__ Vector *staged(unsigned k) const {
        return (Vector *)(stage + wi_spread((k * 32 + (unsigned)wi_lane()) * 16));
    }
    __device__ State take_one(State s, unsigned begin, unsigned i) const {
        const T x = *(const T *)(stage + wi_spread(i * (unsigned)sizeof(T)));
        return reducer.take(s, x, x, base + begin + i);
    }

    /* Of the vector at a place, what is from `from` on and before `to`. */
    __device__ void take(const Vector &v, unsigned place, unsigned from, unsigned to) {
#pragma unroll
        for (unsigned e = 0; e < wide; e++)
            if (place + e >= from && place + e < to)
                state = reducer.take(state, v.at[e], v.at[e], base + place + e);
    }
    __device__ void take(const Vector &v, unsigned place) {
#pragma unroll
        for (unsigned e = 0; e < wide; e++)
            state = reducer.take(state, v.at[e], v.at[e], base + place + e);
    }

    /* Of the staged turn from `begin` on, all lanes take what is from `from` on and before `to`. */
    __device__ void take_span(unsigned begin, unsigned from, unsigned to) {
        const unsigned at_least = from > begin ? (from - begin) / row<T> * row<T> : 0;
        unsigned own = begin + at_least;
        const unsigned behind = to < begin + turn ? to : begin + turn;
#pragma unroll 1
        for (unsigned k = at_least / row<T>; own < behind; k++, own += row<T>)
            take(*staged(k), own + (unsigned)wi_lane() * wide, from, to);
    }

    /* Segments from `from` on that end in the staged turn, are short and known to the lanes: how
     * many follow one another, or as many of them as there are groups of lanes if nearly half of
     * twice as many groups would have none. `start` is where the segment of this lane's end begins.
     */
    __device__ unsigned count_short(unsigned begin, unsigned from, unsigned *start) const {
        const unsigned lane = (unsigned)wi_lane(), before = wi_shuffle_up(known, 1);
        *start = lane > at ? before : from;
        const bool is_short = lane >= at && window + lane < ends && *start >= begin &&
                              known <= begin + turn && known - *start <= most_short;
        const unsigned others = ~(__ballot_sync(wi_all_lanes, is_short) >> at);
        const unsigned many = others ? (unsigned)__ffs((int)others) - 1 : 32;
        const unsigned groups = many > 0 ? 1u << (31 - __clz((int)many)) : 0;
        return 2 * many < 3 * groups ? groups : many;
    }

    /* So many short segments, all at once: lanes in equal groups, one for each. */
    __device__ void take_short(unsigned begin, unsigned start, unsigned many) {
        const unsigned lane = (unsigned)wi_lane(), shift = (unsigned)__clz((int)many - 1) - 27,
                       group = 1u << shift;
        const unsigned segment = lane >> shift, from_lane = at + segment < 32 ? at + segment : 31;
        const unsigned from = wi_shuffle(start, (int)from_lane) - begin,
                       end = wi_shuffle(known, (int)from_lane) - begin,
                       to = segment < many ? end : 0;
        State s = reducer.identity(), other = s;
        unsigned i = from + lane % group;
#pragma unroll 1
        for (; i + group < to; i += 2 * group) {
            s = take_one(s, begin, i);
            other = take_one(other, begin, i + group);
        }
        if (i < to)
            s = take_one(s, begin, i);
        s = reducer.combine(s, other);
#pragma unroll 1
        for (unsigned step = 1; step < group; step *= 2)
            s = reducer.combine(s, wi_shuffle_xor(s, (int)step));
        s = wi_shuffle(s, (int)((lane - at) << shift) & 31);
        if (lane >= at && lane < at + many)
            result = s;
    }

    /* A staged turn in which an end comes, or which is not whole: what is from `from` on. Returns
     * where the segment begins that it leaves open. */
    __device__ unsigned take_turn(unsigned begin, unsigned from) {
        unsigned many = 0; /* of the segment that is open, lanes have states */
#pragma unroll 1
        for (;;) {
            unsigned start = 0;
            if (many > 0)
                many = count_short(begin, from, &start);
            if (many > 1) {
                take_short(begin, start, many);
                from = wi_shuffle(known, (int)(at + many - 1));
            } else {
                const unsigned to = next_end();
                take_span(begin, from, to);
                if (to > begin + turn || window + at >= ends)
                    return from;
                close();
                from = to;
                many = 1;
            }
            pass(many);
        }
    }

    __device__ void walk(uint64_t first_element) {
        const bool is_aligned = wi_is_aligned(p.x);
        unsigned from = (unsigned)(first_element - base), begin = 0;
        const T *x = p.x + base + (unsigned)wi_lane() * wide;
#pragma unroll 1
        do {
            const bool is_whole = begin + turn <= length;
            const unsigned own = begin + (unsigned)wi_lane() * wide;
            Vector v[vectors];
            if (is_whole && is_aligned) {
#pragma unroll
                for (unsigned k = 0; k < vectors; k++)
                    v[k] = *(const Vector *)(x + k * row<T>);
            } else {
#pragma unroll
                for (unsigned k = 0; k < vectors; k++)
                    v[k] = load(own + k * row<T>);
            }
            if (is_whole && from <= begin && next_end() >= begin + turn) {
#pragma unroll
                for (unsigned k = 0; k < vectors; k++)
                    take(v[k], own + k * row<T>);
            } else {
#pragma unroll
                for (unsigned k = 0; k < vectors; k++)
                    *staged(k) = v[k];
                __syncwarp();
                from = take_turn(begin, from);
                __syncwarp();
            }
            begin += turn, x += turn;
        } while (begin < length || window + at < ends);
        write();
    }
};

/* The shared memory of a block. */
template <unsigned vectors, class State>
struct wi_stretch_shared {
    alignas(16) unsigned char stage[warps][wi_spread(vectors * 512)];
    wi_stretch_cut cut[warps + 1];
    wi_path_record<State> record[warps];
    wi_open_segment<State> of_warp[warps];
};

/* How many blocks on a multiprocessor the registers must allow: vectors of many elements are taken
 * apart in many. */
template <class T>
constexpr int resident = sizeof(T) == 1   ? 2
                         : sizeof(T) == 2 ? 3
                                          : 4;

/* Vectors of a turn for each lane. Eight let more of memory be on its way, and short segments share
 * a turn; other types than f32 would spill. */
template <class T>
constexpr unsigned vectors_of = sizeof(T) == 4 && wi_traits<T>::is_float ? 8 : 4;

/* A stretch for each warp of each block. */
template <class Reducer, class T>
__global__ void __launch_bounds__(threads, vectors_of<T> > 4 ? 3 : resident<T>)
    walk_stretches(Reducer reducer, wi_group_params<Reducer, T> p, unsigned *ticket,
                   wi_path_record<typename Reducer::State> *records) {
    constexpr unsigned vectors = vectors_of<T>;
    using Shared = wi_stretch_shared<vectors, typename Reducer::State>;
    WEFT_SHARED(Shared, shared, );
    const uint64_t count = p.starts.count(), steps = p.starts.n + count * border<T>;
    const unsigned warp = threadIdx.x / 32;
    const uint64_t parts = (uint64_t)gridDim.x * warps, each = steps / parts, rest = steps % parts;
    for (unsigned w = warp; w <= warps; w += warps) {
        const uint64_t k = (uint64_t)blockIdx.x * warps + w,
                       step = k * each + (k < rest ? k : rest);
        const wi_stretch_cut cut = wi_cut_stretch<T>(p.starts, count, step);
        if (wi_lane() == 0)
            shared.cut[w] = k < parts ? cut : wi_stretch_cut{p.starts.n, count};
    }
    __syncthreads();
    const wi_stretch_cut from = shared.cut[warp], to = shared.cut[warp + 1];
    wi_stretch_walk<vectors, Reducer, T> walk(reducer, p, count, from, to, shared.stage[warp],
                                              &shared.record[warp]);
    walk.walk(from.element);
    const auto open = walk.of_lanes();
    if (wi_lane() == 0)
        shared.record[warp].open = {open, to.end > from.end},
        shared.record[warp].segment = from.end;
    __syncthreads();
    if (warp == 0)
        wi_join_records<warps>(reducer, shared.record, p.y, &records[blockIdx.x]);
    if (wi_ends_last(ticket))
        wi_close_records<threads>(reducer, records, gridDim.x, p.y, shared.of_warp);
}

#endif
