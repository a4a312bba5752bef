/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of the rung "marks": a warp walks a stretch of the path by itself, its lanes side by
 * side.
 *
 * A warp takes its stretch in parts, of which each lane has neighbours in registers. It knows the
 * next ends of segments, and puts down a mark for each end that comes in the part. A lane reads its
 * marks, goes through its elements, and leaves a state where a mark is; what a segment has before
 * the lane's first mark, a scan over the lanes finds. Then each end takes its state, so results are
 * written side by side. Of a part without ends lanes only add up what they have.
 *
 * The next part is loaded meanwhile, in whole lines of memory, and goes through shared memory from
 * the lanes that load to those that add; offsets come by asynchronous copies. What stretches leave
 * open is carried on as in "stretches". */
#ifndef WI_GROUP_MARKS_CUH
#define WI_GROUP_MARKS_CUH

#include "cuda/async.cuh"
#include "cuda/bytes.cuh"
#include "cuda/memory.cuh"
#include "cuda/ticket.cuh"
#include "group/group_marks_cut.cuh"
#include "group/group_parts.cuh"
#include "group/group_records.cuh"

constexpr int threads = 256;
constexpr int warps = threads / 32;

/* How many elements an end counts in the path: about what it costs, beside elements of long
 * segments. */
template <class T>
constexpr unsigned end_steps = 32 / sizeof(T);
constexpr unsigned ring_ends = 512;      /* ends that a warp knows, or has asked for */
constexpr unsigned asked_at_once = 128;  /* of them */
constexpr unsigned rows = 3;             /* of ends that stay in registers until they are written */
constexpr unsigned line_bytes = 128;     /* of memory */
constexpr uint32_t nowhere = UINT32_MAX; /* the place of an end that there is not */

/* A warp's shared memory. A lane's part of it is an odd number of words or of slots, so that lanes
 * side by side are in different banks. */
template <class T, class State>
struct wi_mark_stage : wi_part_shape<T> {
    using wi_part_shape<T>::each;
    using wi_part_shape<T>::part;
    static constexpr unsigned words = (each + 3) / 4 | 1, slots = each + 1;
    alignas(16) T element[part];
    State slot[32 * slots];
    uint32_t mark[32 * words];    /* a byte for each element */
    uint32_t ring[ring_ends + 1]; /* offsets; the first is a copy of the last */
};

/* A warp at work on its stretch. Places in it are counted from `base`, the start of the line that
 * its first element is in. */
template <class Reducer, class T>
struct wi_mark_walk : wi_part_walk<Reducer, T> {
    using Base = wi_part_walk<Reducer, T>;
    using State = typename Reducer::State;
    using Vector = wi_vector<T>;
    using Stage = wi_mark_stage<T, State>;
    using Base::ahead;
    using Base::base;
    using Base::begin;
    using Base::each;
    using Base::length;
    using Base::part;
    using Base::reducer;
    using Base::wide;
    const wi_group_params<Reducer, T> &p;
    Stage &stage;
    uint64_t first;         /* end of the stretch */
    unsigned ends;          /* of the stretch */
    unsigned told;          /* of its ends, those that an offset tells: not the last of all */
    unsigned at = 0;        /* ends whose results are written */
    unsigned asked = 0;     /* ends that have been asked for */
    unsigned known = 0;     /* those that have come */
    const uint32_t *source; /* the offset that this lane asks for next */
    wi_path_record<State> *record;

    __device__ wi_mark_walk(const Reducer &r, const wi_group_params<Reducer, T> &params,
                            uint64_t segments, const wi_mark_cut &from, const wi_mark_cut &to,
                            Stage &own, wi_path_record<State> *own_record)
        : Base(r, own.element), p(params), stage(own), first(from.end),
          ends(to.end > first ? (unsigned)(to.end - first) : 0), record(own_record) {
        constexpr uint64_t line = line_bytes / sizeof(T);
        const uint64_t past = (uintptr_t)p.x % line_bytes / sizeof(T);
        base = (from.element + past) / line * line - past;
        length = to.element > from.element ? (unsigned)(to.element - base)
                                           : (unsigned)(from.element - base);
        told = first + ends < segments || ends == 0 ? ends : ends - 1;
        source = (const uint32_t *)p.starts.at + (first + 1 + (unsigned)wi_lane()) * words_apart();
    }

    __device__ unsigned words_apart() const {
        return (unsigned)p.starts.bytes / 4;
    }

    /* Where the ring has the lower half of an end's offset. */
    __device__ uint32_t *place_of(unsigned end) const {
        return &stage.ring[end % ring_ends + 1];
    }

    /* Asks for the offsets of as many more ends as there is room for: that before the next end
     * stays. */
    __device__ void ask() {
#pragma unroll 1
        while (asked < ends && asked + asked_at_once < at + ring_ends) {
            uint32_t *const to = place_of(asked) + wi_lane();
            if (asked + asked_at_once > told)
                ask_last(to);
            else if (p.starts.bytes == 4)
                ask_all<1>(to);
            else
                ask_all<2>(to);
            asked += asked_at_once, source += asked_at_once * words_apart();
        }
    }
    template <unsigned apart>
    __device__ void ask_all(uint32_t *to) const {
#pragma unroll
        for (unsigned k = 0; k < asked_at_once; k += 32)
            wi_async_copy<4>(to + k, source + k * apart);
    }
    __device__ void ask_last(uint32_t *to) const {
#pragma unroll 1
        for (unsigned k = 0; k < asked_at_once; k += 32) {
            const unsigned own = asked + k + (unsigned)wi_lane();
            if (own < told)
                wi_async_copy<4>(to + k, source + k * words_apart());
            else
                to[k] = (uint32_t)base + (own < ends ? length : nowhere);
        }
    }

    /* All that has been asked for has come. */
    __device__ void learn() {
        known = asked;
        if (wi_lane() == 0)
            stage.ring[0] = stage.ring[ring_ends];
        __syncwarp();
    }

    /* Loads the part at a place. The first may begin before the array. */
    __device__ void load_ahead(unsigned place) {
        const uint64_t from = base + place + (unsigned)wi_lane() * wide;
        if (length - place >= part && place > 0) {
#pragma unroll
            for (unsigned k = 0; k < Base::vectors; k++)
                ahead[k] = *(const Vector *)(p.x + from + k * 32 * wide);
        } else {
#pragma unroll
            for (unsigned k = 0; k < Base::vectors; k++)
                ahead[k] = load_some(from + k * 32 * wide);
        }
    }
    __device__ Vector load_some(uint64_t i) const {
        if (i < p.starts.n && p.starts.n - i >= wide)
            return *(const Vector *)(p.x + i);
        Vector v = {};
#pragma unroll
        for (unsigned e = 0; e < wide; e++)
            if (i + e < p.starts.n)
                v.at[e] = p.x[i + e];
        return v;
    }

    /* Puts down marks for the segments of a row of ends that end behind `from` and up to `to`, and
     * returns how many ends of the row come up to there. *offset is this lane's. */
    __device__ unsigned mark(unsigned row, unsigned from, unsigned to, uint32_t *offset) const {
        const unsigned end = at + row + (unsigned)wi_lane();
        const uint32_t *const own = place_of(end);
        uint32_t before = 0;
        *offset = (uint32_t)base + nowhere;
        if (end < known)
            *offset = own[0], before = own[-1];
        const unsigned place = *offset - ((uint32_t)base + from + 1);
        if (place < to - from && *offset != before) {
            const unsigned i = place + from - begin;
            ((unsigned char *)stage.mark)[i + i / each * (4 * Stage::words - each)] = 1;
        }
        return (unsigned)__popc(__ballot_sync(wi_all_lanes, *offset - (uint32_t)base <= to));
    }

    /* The same of all rows. What is known may end before `to`; then *to becomes its last end. */
    __device__ unsigned mark_all(unsigned from, unsigned *to, uint32_t (&offset)[rows]) const {
        unsigned many = 0;
#pragma unroll
        for (unsigned k = 0; k < rows; k++)
            if (many == 32 * k)
                many += mark(32 * k, from, *to, &offset[k]);
        uint32_t other;
        if (many == 32 * rows)
#pragma unroll 1
            for (unsigned row = many; many == row; row += 32)
                many += mark(row, from, *to, &other);
        if (at + many == known && known < ends) {
            const unsigned last = *place_of(known - 1) - (uint32_t)base;
            *to = last > from && last <= *to ? last : from;
        }
        return many;
    }

    /* Reads this lane's marks, a bit for each element, and clears them. */
    __device__ uint32_t take_marks() const {
        uint32_t *const own = &stage.mark[(unsigned)wi_lane() * Stage::words];
        uint32_t word[Stage::words + 1], marks = 0;
#pragma unroll
        for (unsigned k = 0; k < Stage::words; k++)
            word[k] = own[k], own[k] = 0;
        word[Stage::words] = 0;
#pragma unroll
        for (unsigned k = 0; k < Stage::words; k += 2) {
            uint32_t eight = wi_add_products(word[k], 0x08040201u, 0);
            eight = wi_add_products(word[k + 1], 0x80402010u, eight);
            marks |= eight << 4 * k;
        }
        return marks;
    }

    /* The state of the segment that ends at an offset; `plain`: it is not empty. */
    template <bool plain>
    __device__ State state_at(unsigned end, uint32_t offset, unsigned from) const {
        const unsigned i = offset - (uint32_t)base - begin - 1;
        State s = reducer.identity();
        if (i < part && (plain || (i + begin >= from && offset != *(place_of(end) - 1))))
            s = stage.slot[i + i / each];
        return s;
    }

    /* Writes the results of so many ends; the first of all goes to the record. */
    template <bool plain>
    __device__ void write(unsigned many, unsigned from, const uint32_t (&offset)[rows]) const {
        const unsigned lane = (unsigned)wi_lane();
        typename Reducer::Result *const y = p.y + first + at + lane;
#pragma unroll
        for (unsigned k = 0; k < rows; k++) {
            if (lane + 32 * k >= many)
                continue;
            const State state = state_at<plain>(at + 32 * k + lane, offset[k], from);
            if (k == 0 && at + lane == 0)
                record->head = state;
            else
                y[32 * k] = reducer.finish(state);
        }
#pragma unroll 1
        for (unsigned i = 32 * rows + lane; i < many; i += 32)
            y[i - lane] = reducer.finish(state_at<plain>(at + i, *place_of(at + i), from));
    }

    /* Takes the part's elements from `from` on and before `to`, and the ends that are known;
     * returns where it has come to. */
    __device__ unsigned take_span(const T (&x)[each], unsigned from, unsigned to) {
        uint32_t offset[rows];
        const unsigned many = mark_all(from, &to, offset);
        const bool whole = to - from == part;
        if (many == 0) {
            if (whole)
                Base::template keep<true>(x, 0);
            else if (to > from)
                Base::template keep<false>(x, Base::there(from, to));
            return to;
        }
        __syncwarp();
        const uint32_t marks = take_marks();
        const bool plain = wi_warp_sum((uint32_t)__popc(marks)) == many;
        State *const slot = &stage.slot[(unsigned)wi_lane() * Stage::slots];
        const auto put = [=](unsigned e, State s) { slot[e] = s; };
        const State open = whole ? Base::template go<true>(x, marks, 0, put)
                                 : Base::template go<false>(x, marks, Base::there(from, to), put);
        Base::join(open, marks, slot + __ffs((int)marks) - 1);
        __syncwarp();
        if (plain)
            write<true>(many, from, offset);
        else
            write<false>(many, from, offset);
        at += many;
        return to;
    }

    __device__ void walk(uint64_t first_element) {
        unsigned from = (unsigned)(first_element - base);
        if (wi_lane() == 0)
            stage.ring[ring_ends] = (uint32_t)base + nowhere;
#pragma unroll
        for (unsigned k = 0; k < Stage::words; k++)
            stage.mark[k * 32 + (unsigned)wi_lane()] = 0;
        __syncwarp();
        load_ahead(0);
        ask();
        wi_async_commit();
#pragma unroll 1
        for (;;) {
            T x[each];
            Base::put_ahead();
            wi_async_wait<0>();
            __syncwarp();
            Base::take_part(x);
            learn();
            ask();
            wi_async_commit();
            if (length - begin > part)
                load_ahead(begin + part);
            const unsigned behind = length - begin > part ? begin + part : length;
#pragma unroll 1
            for (;;) {
                from = take_span(x, from, behind);
                if (at != known || known >= ends)
                    break;
                __syncwarp(); /* more ends may come in the part */
                ask();
                wi_async_commit();
                wi_async_wait<0>();
                __syncwarp();
                learn();
            }
            if (behind == length)
                return;
            begin = behind;
        }
    }
};

/* A stretch for each warp of each block. */
template <class Reducer, class T>
__global__ void __launch_bounds__(threads, 2)
    walk_marks(Reducer reducer, wi_group_params<Reducer, T> p, unsigned *ticket,
               wi_path_record<typename Reducer::State> *records) {
    using State = typename Reducer::State;
    using Walk = wi_mark_walk<Reducer, T>;
    using Record = wi_path_record<State>;
    using Open = wi_open_segment<State>;
    WEFT_DYNAMIC_SHARED(memory);
    WEFT_SHARED(Record, record, [warps]);
    WEFT_SHARED(Open, of_warp, [warps]);
    const uint64_t count = p.starts.count(), steps = p.starts.n + count * end_steps<T>;
    const unsigned warp = threadIdx.x / 32, half = (unsigned)wi_lane() / 16;
    const uint64_t parts = (uint64_t)gridDim.x * warps, each = steps / parts, rest = steps % parts;
    const uint64_t k = (uint64_t)blockIdx.x * warps + warp + half;
    wi_mark_cut cut = wi_mark_find<end_steps<T>>(p.starts, count, k * each + (k < rest ? k : rest));
    if (k == parts)
        cut = {p.starts.n, count};
    const wi_mark_cut from = wi_shuffle(cut, 0), to = wi_shuffle(cut, 16);
    Walk walk(reducer, p, count, from, to, ((typename Walk::Stage *)memory)[warp], &record[warp]);
    walk.walk(from.element);
    const State open = walk.open();
    if (wi_lane() == 0)
        record[warp].open = {open, to.end > from.end}, record[warp].segment = from.end;
    __syncthreads();
    if (warp == 0)
        wi_join_records<warps>(reducer, record, p.y, &records[blockIdx.x]);
    if (wi_ends_last(ticket))
        wi_close_records<threads>(reducer, records, gridDim.x, p.y, of_warp);
}

#endif
