/* SPDX-License-Identifier: Apache-2.0 */
/* A warp that walks a stretch of an array in parts, of which each lane has neighbours in registers,
 * with marks where segments or runs end: what the rungs "marks" and "ends" share. */
#ifndef WI_GROUP_PARTS_CUH
#define WI_GROUP_PARTS_CUH

#include "cuda/memory.cuh"
#include "group/group_cuda.cuh"

/* A part of so many elements. A lane has an odd number of vectors of it, so that lanes side by side
 * are in different banks. */
template <class T>
struct wi_part_shape {
    static constexpr unsigned vectors = 5, each = vectors * wi_vector<T>::count, part = 32 * each;
    static_assert(each <= 32 && part % 32 == 0, "a bit for each element");
};

/* Places are counted from element `base` of the array. `element` is the warp's shared memory, of a
 * part. */
template <class Reducer, class T>
struct wi_part_walk : wi_part_shape<T> {
    using Shape = wi_part_shape<T>;
    using State = typename Reducer::State;
    using Vector = wi_vector<T>;
    using Shape::each;
    using Shape::part;
    using Shape::vectors;
    static constexpr unsigned wide = Vector::count;
    const Reducer &reducer;
    T *element;
    uint64_t base = 0;
    unsigned length = 0; /* of the stretch */
    unsigned begin = 0;  /* where the part begins */
    State kept;          /* of the segment that is open */
    bool spread = false; /* lanes have states of it, not only the first */
    Vector ahead[vectors];

    __device__ wi_part_walk(const Reducer &r, T *memory)
        : reducer(r), element(memory), kept(r.identity()) {}

    __device__ void put_ahead() const {
#pragma unroll
        for (unsigned k = 0; k < vectors; k++)
            ((Vector *)element)[k * 32 + (unsigned)wi_lane()] = ahead[k];
    }
    __device__ void take_part(T (&x)[each]) const {
        const Vector *const own = (const Vector *)element + (unsigned)wi_lane() * vectors;
#pragma unroll
        for (unsigned k = 0; k < vectors; k++) {
            const Vector v = own[k];
#pragma unroll
            for (unsigned e = 0; e < wide; e++)
                x[k * wide + e] = v.at[e];
        }
    }

    __device__ unsigned own_place() const {
        return begin + (unsigned)wi_lane() * each;
    }

    /* A bit for each of the lane's elements from `from` on and before `to`. */
    __device__ uint32_t there(unsigned from, unsigned to) const {
        const auto before = [&](unsigned place) -> uint32_t {
            const unsigned many = place > own_place() ? place - own_place() : 0;
            return many < each ? (1u << many) - 1 : (uint32_t)(((uint64_t)1 << each) - 1);
        };
        return before(to) & ~before(from);
    }

    /* Adds the part's elements to what lanes have of the segment that is open. */
    template <bool whole>
    __device__ void keep(const T (&x)[each], uint32_t mine) {
        spread = true;
#pragma unroll
        for (unsigned e = 0; e < each; e++)
            if (whole || mine >> e & 1)
                kept = reducer.take(kept, x[e], x[e], base + own_place() + e);
    }

    /* Goes through the lane's elements, hands on the state at each mark, put(element, state), and
     * returns that behind the last. */
    template <bool whole, class Put>
    __device__ State go(const T (&x)[each], uint32_t marks, uint32_t mine, Put put) const {
        State s = reducer.identity();
#pragma unroll
        for (unsigned e = 0; e < each; e++) {
            if (whole || mine >> e & 1)
                s = reducer.take(s, x[e], x[e], base + own_place() + e);
            if (marks >> e & 1) {
                put(e, s);
                s = reducer.identity();
            }
        }
        return s;
    }

    /* What lanes leave open, each with what those before it do since the last mark. Of the first
     * lane that has `kept`, too, if it has no mark. */
    __device__ State scan(State open, uint32_t marks) const {
        const unsigned lane = (unsigned)wi_lane();
        const uint32_t marked = __ballot_sync(wi_all_lanes, marks != 0);
        if (marked == wi_all_lanes)
            return open;
        if (lane == 0 && !marks)
            open = reducer.combine(kept, open);
        const int latest = 31 - __clz((int)(marked & (wi_all_lanes >> (31 - lane)))),
                  back = (int)lane - (latest > 0 ? latest : 0);
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            if (!__any_sync(wi_all_lanes, back >= step))
                break;
            const State before = wi_shuffle_up(open, step);
            if (back >= step)
                open = reducer.combine(before, open);
        }
        return open;
    }

    /* Joins what is open to the state at each lane's first mark, which is in *slot. */
    __device__ void join(State open, uint32_t marks, State *slot) {
        const unsigned lane = (unsigned)wi_lane();
        if (spread)
            kept = this->open();
        open = scan(open, marks);
        State before = wi_shuffle_up(open, 1);
        if (lane == 0)
            before = kept;
        if (marks)
            *slot = reducer.combine(before, *slot);
        const State left = wi_shuffle(open, 31);
        kept = lane == 0 ? left : reducer.identity();
        spread = false;
    }

    /* What the stretch leaves open, in every lane. */
    __device__ State open() const {
        return wi_warp_reduce(kept, [&](State a, State b) { return reducer.combine(a, b); });
    }
};

#endif
