/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of the rung "ends" of reduction by key; group_ends.cu tells their plan. */
#ifndef WI_GROUP_ENDS_CUH
#define WI_GROUP_ENDS_CUH

#include "cuda/memory.cuh"
#include "cuda/ticket.cuh"
#include "group/group_parts.cuh"
#include "group/group_records.cuh"

constexpr int threads = 256;
constexpr int warps = threads / 32;
constexpr int resident = 3; /* blocks on a multiprocessor, at least */

/* What both kernels know: n elements, cut into stretches, of which each is so many parts. */
struct wi_end_cuts {
    uint64_t n;
    unsigned part, stretches;
    uint32_t *bits;   /* one for each element: set if a run ends with it */
    uint32_t *counts; /* runs that end in each stretch */
    uint32_t *few;    /* set if there are so few that the kernels below do the work */

    __device__ uint64_t first(unsigned stretch) const {
        const uint64_t parts = (n + part - 1) / part, each = parts / stretches,
                       rest = parts % stretches;
        const uint64_t at = (stretch * each + (stretch < rest ? stretch : rest)) * part;
        return at < n ? at : n;
    }
};

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

/* ---- where runs end ---- */

/* A warp at work on a stretch's keys, a chunk of some rows at a time, with two more on their way. A
 * lane has a vector of each row, and a bit for each of its keys. */
template <class Key>
struct wi_end_finder {
    using Vector = wi_vector<Key>;
    static constexpr unsigned wide = Vector::count, rows = 4, row = 32 * wide, chunk = rows * row;
    static_assert(wide == 2 || wide == 4, "bits and counts of a lane fit a word");
    const Key *keys;
    Key *found; /* room for the stretch's keys, each once */
    Key *stage; /* room for a chunk's */
    uint32_t *bits;
    uint64_t n, begin, end;
    uint32_t many = 0; /* runs that have ended */

    /* Loads the chunk at a place, whole or what there is of it. */
    template <bool whole>
    __device__ void load(uint64_t at, Vector (&v)[rows]) const {
        const uint64_t from = at + (unsigned)wi_lane() * wide;
#pragma unroll
        for (unsigned k = 0; k < rows; k++)
            if (whole)
                v[k] = *(const Vector *)(keys + from + k * row);
            else if (at + k * row <= end) /* the key behind the last is looked at, too */
                v[k] = wi_load_some(keys, from + k * row, n);
    }

    /* A lane's bits of a chunk, those of row r from bit r * wide on; `behind` is the key behind. */
    __device__ uint32_t mark(const Vector (&v)[rows], Key behind) const {
        const unsigned lane = (unsigned)wi_lane();
        uint32_t marks = 0;
#pragma unroll
        for (unsigned k = 0; k < rows; k++) {
            const Key after = k + 1 < rows ? v[k + 1].at[0] : behind,
                      next = wi_shuffle(lane == 0 ? after : v[k].at[0], (int)(lane + 1) % 32);
#pragma unroll
            for (unsigned e = 0; e < wide; e++)
                if (v[k].at[e] != (e + 1 < wide ? v[k].at[e + 1] : next))
                    marks |= 1u << (k * wide + e);
        }
        return marks;
    }

    /* The marks of a chunk that is cut off by the stretch's end. The array's last key ends a run.
     */
    __device__ uint32_t cut(uint64_t at, uint32_t marks) const {
#pragma unroll
        for (unsigned b = 0; b < rows * wide; b++) {
            const uint64_t i = at + b / wide * row + (unsigned)wi_lane() * wide + b % wide;
            if (i >= end)
                marks &= ~(1u << b);
            else if (i + 1 == n)
                marks |= 1u << b;
        }
        return marks;
    }

    /* Writes the bits of a chunk in their order. Lanes exchange halves of what they have until each
     * has what several neighbours have of one row. */
    __device__ void write_bits(uint64_t at, uint32_t marks) const {
        constexpr uint32_t own = (1u << wide) - 1;
        const unsigned lane = (unsigned)wi_lane();
        const auto join = [&](unsigned step, uint32_t kept, uint32_t given, auto spread) {
            const uint32_t other = __shfl_xor_sync(wi_all_lanes, given, step);
            const bool high = lane & step;
            return spread(high ? other : kept) | spread(high ? kept : other) << step * wide;
        };
        /* two rows each, of two lanes */
        const uint32_t low = marks & ((1u << 2 * wide) - 1), top = marks >> 2 * wide;
        uint32_t mine = join(1, lane & 1 ? top : low, lane & 1 ? low : top, [](uint32_t two) {
            return (two & own) | (two & own << wide) << wide;
        });
        constexpr uint32_t pair = (1u << 2 * wide) - 1;
        const auto as_is = [](uint32_t bits_of_row) { return bits_of_row; };
        mine = join(2, lane & 2 ? mine >> 2 * wide : mine & pair,
                    lane & 2 ? mine & pair : mine >> 2 * wide, as_is);
#pragma unroll
        for (unsigned step = 4; step * wide < 32; step *= 2)
            mine = join(step, mine, mine, as_is);
        constexpr unsigned lanes = 32 / wide; /* that have the same word */
        const unsigned of_row = (lane & 1) * 2 + (lane >> 1 & 1);
        const uint64_t word = at / 32 + of_row * wide + lane / lanes;
        if (lane % lanes < 4 && word * 32 < end)
            bits[word] = mine;
    }

    /* Puts down the keys that end a run, in their order, and writes them. A byte of a word for each
     * row counts them. */
    __device__ void keep(const Vector (&v)[rows], uint32_t marks) {
        uint32_t counts = 0;
#pragma unroll
        for (unsigned k = 0; k < rows; k++)
            counts |= (uint32_t)__popc(marks >> k * wide & ((1u << wide) - 1)) << 8 * k;
        const uint32_t up_to = wi_warp_sum_scan(counts), all = wi_shuffle(up_to, 31),
                       before = up_to - counts;
        unsigned now = 0;
#pragma unroll
        for (unsigned k = 0; k < rows; k++) {
            unsigned r = now + (before >> 8 * k & 0xff);
#pragma unroll
            for (unsigned e = 0; e < wide; e++)
                if (marks >> (k * wide + e) & 1)
                    stage[r++] = v[k].at[e];
            now += all >> 8 * k & 0xff;
        }
        __syncwarp();
        for (unsigned r = (unsigned)wi_lane(); r < now; r += 32)
            found[many + r] = stage[r];
        many += now;
        __syncwarp();
    }

    template <bool whole>
    __device__ void take(uint64_t at, const Vector (&v)[rows], Key behind) {
        uint32_t marks = mark(v, behind);
        if (!whole)
            marks = cut(at, marks);
        write_bits(at, marks);
        if (__any_sync(wi_all_lanes, marks != 0))
            keep(v, marks);
    }

    __device__ void work() {
        if (begin >= end)
            return;
        Vector now[rows], next[rows] = {}, last[rows] = {};
        load<false>(begin, now);
        load<false>(begin + chunk, next);
        uint64_t at = begin;
#pragma unroll 1
        for (; at + 3 * chunk <= end; at += chunk) {
            load<true>(at + 2 * chunk, last);
            take<true>(at, now, next[0].at[0]);
            move(now, next, last);
        }
#pragma unroll 1
        for (; at < end; at += chunk) {
            load<false>(at + 2 * chunk, last);
            take<false>(at, now, next[0].at[0]);
            move(now, next, last);
        }
    }
    __device__ static void move(Vector (&now)[rows], Vector (&next)[rows],
                                const Vector (&last)[rows]) {
#pragma unroll
        for (unsigned k = 0; k < rows; k++)
            now[k] = next[k], next[k] = last[k];
    }
};

constexpr unsigned samples = 1024, least_length = 6; /* of runs, on average */

/* Do few keys end a run, as far as samples tell? All blocks look at the same. */
template <class Key>
__device__ bool wi_few_end(const Key *keys, uint64_t n) {
    WEFT_SHARED(uint32_t, of_warp, [warps]);
    const uint64_t step = n / samples > 0 ? n / samples : 1;
    uint32_t ended = 0;
#pragma unroll
    for (unsigned k = threadIdx.x; k < samples; k += threads) {
        const uint64_t at = k * step + k * 2654435761u % step;
        ended += at + 1 < n && keys[at] != keys[at + 1];
    }
    ended = wi_warp_sum(ended);
    if (wi_lane() == 0)
        of_warp[threadIdx.x / 32] = ended;
    __syncthreads();
    ended = 0;
    for (int w = 0; w < warps; w++)
        ended += of_warp[w];
    return ended * least_length <= samples;
}

/* A stretch for each warp. `found` has room for n keys. */
template <class Key>
__global__ void __launch_bounds__(threads, resident)
    find_ends(wi_end_cuts cuts, const Key *keys, Key *found) {
    using Stage = Key[wi_end_finder<Key>::chunk];
    WEFT_SHARED(Stage, stage, [warps]);
    const unsigned warp = threadIdx.x / 32, k = blockIdx.x * warps + warp;
    const bool few = wi_few_end(keys, cuts.n);
    if (blockIdx.x == 0 && threadIdx.x == 0)
        *cuts.few = few;
    if (!few)
        return;
    const uint64_t begin = cuts.first(k), end = cuts.first(k + 1);
    wi_end_finder<Key> finder = {keys, found + begin, stage[warp], cuts.bits, cuts.n, begin, end};
    finder.work();
    if (wi_lane() == 0)
        cuts.counts[k] = finder.many;
}

/* ---- the elements ---- */

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
