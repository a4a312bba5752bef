/* SPDX-License-Identifier: Apache-2.0 */
/* The second kernel of the rung "ends" of reduction by key: the elements; group_ends.cu tells the
 * plan. */
#ifndef WI_GROUP_ENDS_CUH
#define WI_GROUP_ENDS_CUH

#include "cuda/ticket.cuh"
#include "group/group_ends_find.cuh"
#include "group/group_records.cuh"

/* The vector at x[i], as far as there are elements: x has n. */
template <class T, class Place>
__device__ inline wi_vector<T> wi_load_some(const T *x, Place i, Place n) {
    wi_vector<T> v = {};
#pragma unroll
    for (unsigned e = 0; e < wi_vector<T>::count; e++)
        if (i + e < n)
            v.at[e] = x[i + e];
    return v;
}

/* A warp's shared memory. */
template <class T, class State>
struct wi_end_stage : wi_part_shape<T> {
    using wi_part_shape<T>::part;
    alignas(16) T element[part];
    State slot[part]; /* states of runs, in their order */
};

/* A warp at work on its stretch: `bits` tell where runs end, the results of those go to `y`. */
template <class Reducer, class T>
struct wi_end_walk : wi_part_walk<Reducer, T> {
    using Base = wi_part_walk<Reducer, T>;
    using State = typename Reducer::State;
    using Vector = wi_vector<T>;
    using Stage = wi_end_stage<T, State>;
    using Base::ahead;
    using Base::begin;
    using Base::each;
    using Base::length;
    using Base::part;
    using Base::reducer;
    using Base::wide;
    const T *x;
    typename Reducer::Result *y;
    const uint32_t *bits;
    Stage &stage;
    wi_path_record<State> *record;
    unsigned at = 0; /* runs whose results are written */
    uint32_t ahead_bits = 0;

    __device__ wi_end_walk(const Reducer &r, const wi_end_cuts &cuts, uint64_t first, uint64_t end,
                           const T *all, typename Reducer::Result *results, Stage &own,
                           wi_path_record<State> *own_record)
        : Base(r, own.element), x(all + first), y(results), bits(cuts.bits + first / 32),
          stage(own), record(own_record) {
        Base::base = first;
        length = (unsigned)(end - first);
    }

    /* Loads the part at a place. */
    __device__ void load_ahead(unsigned place) {
        const unsigned lane = (unsigned)wi_lane(), from = place + lane * wide;
        if (lane < part / 32 && place + lane * 32 < length)
            ahead_bits = bits[place / 32 + lane];
        if (length - place >= part) {
#pragma unroll
            for (unsigned k = 0; k < Base::vectors; k++)
                ahead[k] = *(const Vector *)(x + from + k * 32 * wide);
        } else {
#pragma unroll
            for (unsigned k = 0; k < Base::vectors; k++)
                ahead[k] = wi_load_some(x, from + k * 32 * wide, length);
        }
    }

    /* The lane's bits of those that have been loaded, word w by lane w. */
    __device__ uint32_t take_bits() const {
        const unsigned place = (unsigned)wi_lane() * each, word = place / 32;
        const uint32_t low = wi_shuffle(ahead_bits, (int)word),
                       high = wi_shuffle(ahead_bits, (int)(word + 1) % 32);
        return __funnelshift_r(low, high, place % 32) & (uint32_t)(((uint64_t)1 << each) - 1);
    }

    /* Writes so many results; the first of all goes to the record. */
    __device__ void write(unsigned many) const {
#pragma unroll 4
        for (unsigned r = (unsigned)wi_lane(); r < many; r += 32)
            if (at + r > 0)
                y[at + r] = reducer.finish(stage.slot[r]);
            else
                record->head = stage.slot[0];
    }

    __device__ void take(const T (&own)[each], uint32_t marks) {
        const bool whole = length - begin >= part;
        const uint32_t mine = whole ? 0 : Base::there(begin, length);
        if (!__any_sync(wi_all_lanes, marks != 0)) {
            if (whole)
                Base::template keep<true>(own, 0);
            else
                Base::template keep<false>(own, mine);
            return;
        }
        const uint32_t ended = (uint32_t)__popc(marks), up_to = wi_warp_sum_scan(ended);
        State *const slot = &stage.slot[up_to - ended], *next = slot;
        const auto put = [&](unsigned, State s) { *next++ = s; };
        const State open = whole ? Base::template go<true>(own, marks, 0, put)
                                 : Base::template go<false>(own, marks, mine, put);
        Base::join(open, marks, slot);
        __syncwarp();
        const unsigned many = wi_shuffle(up_to, 31);
        write(many);
        at += many;
    }

    __device__ void walk() {
        load_ahead(0);
#pragma unroll 1
        for (;;) {
            T own[each];
            Base::put_ahead();
            __syncwarp();
            Base::take_part(own);
            const uint32_t marks = take_bits();
            if (length - begin > part)
                load_ahead(begin + part);
            take(own, marks);
            if (length - begin <= part)
                return;
            begin += part;
            __syncwarp();
        }
    }
};

/* The runs that end before a block's stretches, in every thread. */
__device__ inline uint64_t wi_ends_before(const wi_end_cuts &cuts, unsigned stretch) {
    WEFT_SHARED(uint64_t, of_warp, [warps]);
    uint64_t sum = 0;
    for (unsigned k = threadIdx.x; k < stretch; k += threads)
        sum += cuts.counts[k];
    sum = wi_warp_reduce(sum, [](uint64_t a, uint64_t b) { return a + b; });
    if (wi_lane() == 0)
        of_warp[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0;
    for (int w = 0; w < warps; w++)
        sum += of_warp[w];
    return sum;
}

/* Copies what a warp's stretch has found. */
template <class Key>
__device__ inline void wi_copy_keys(Key *to, const Key *from, uint32_t many) {
    constexpr unsigned at_once = 16;
    const unsigned lane = (unsigned)wi_lane();
    for (uint32_t first = 0; first < many; first += 32 * at_once) {
        Key key[at_once];
#pragma unroll
        for (unsigned k = 0; k < at_once; k++)
            if (first + k * 32 + lane < many)
                key[k] = from[first + k * 32 + lane];
#pragma unroll
        for (unsigned k = 0; k < at_once; k++)
            if (first + k * 32 + lane < many)
                to[first + k * 32 + lane] = key[k];
    }
}

template <class Reducer, class T>
struct wi_end_params {
    const T *x;
    typename Reducer::Result *y;
    const void *found;
    void *keys_out; /* or NULL */
    uint64_t *count;
    unsigned width;
};

/* A stretch for each warp of each block. */
template <class Reducer, class T>
__global__ void __launch_bounds__(threads, resident)
    walk_ends(Reducer reducer, wi_end_cuts cuts, wi_end_params<Reducer, T> p, unsigned *ticket,
              wi_path_record<typename Reducer::State> *records) {
    using State = typename Reducer::State;
    using Walk = wi_end_walk<Reducer, T>;
    using Record = wi_path_record<State>;
    using Open = wi_open_segment<State>;
    WEFT_DYNAMIC_SHARED(memory);
    WEFT_SHARED(Record, record, [warps]);
    WEFT_SHARED(Open, of_warp, [warps]);
    const unsigned warp = threadIdx.x / 32, k = blockIdx.x * warps + warp;
    if (!*cuts.few)
        return;
    uint64_t before = wi_ends_before(cuts, blockIdx.x * warps);
    for (unsigned w = blockIdx.x * warps; w < k; w++)
        before += cuts.counts[w];
    const uint64_t begin = cuts.first(k), end = cuts.first(k + 1);
    const uint32_t many = cuts.counts[k];
    Walk walk(reducer, cuts, begin, end, p.x, p.y + before, ((typename Walk::Stage *)memory)[warp],
              &record[warp]);
    if (begin < end)
        walk.walk();
    const State open = walk.open();
    if (wi_lane() == 0)
        record[warp].open = {open, many > 0}, record[warp].segment = before;
    if (p.keys_out)
        wi_with_key(p.width, [&](auto tag) {
            using Key = typename decltype(tag)::type;
            wi_copy_keys((Key *)p.keys_out + before, (const Key *)p.found + begin, many);
        });
    if (k == cuts.stretches - 1 && wi_lane() == 0)
        *p.count = before + many;
    __syncthreads();
    if (warp == 0)
        wi_join_records<warps>(reducer, record, p.y, &records[blockIdx.x]);
    if (wi_ends_last(ticket))
        wi_close_records<threads>(reducer, records, gridDim.x, p.y, of_warp);
}

#endif
