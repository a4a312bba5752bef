/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of the rung "one_pass" of reduction by key; group_runs_cuda.cu tells its plan. */
#ifndef WI_GROUP_RUNS_CUH
#define WI_GROUP_RUNS_CUH

#include "group/group_runs_guide.cuh"

/* A warp's part of a tile in dynamic shared memory: elements, whose place results take; positions;
 * and keys, with the one before them, of two tiles. */
template <class Reducer, class T, bool wide_keys>
struct wi_run_layout {
    using Result = typename Reducer::Result;
    static constexpr unsigned wide = sizeof(T) > sizeof(Result) ? sizeof(T) : sizeof(Result);
    /* Neighbours of a lane: odd, so that lanes that walk side by side are in different banks; and
     * so many that three blocks fit a multiprocessor, with keys of 4 or, if wide, 8 bytes. */
    static constexpr unsigned each = wide > 4 ? (wide_keys ? 9 : 15) : (wide_keys ? 11 : 19);
    static constexpr unsigned part = 32 * each, tile = warps * part;
    static constexpr unsigned positions_at = (part + 4) * wide;
    static constexpr unsigned keys_at = positions_at + part * (unsigned)sizeof(uint16_t);
    static_assert(keys_at % 16 == 0, "copies need it");
    __host__ __device__ static constexpr unsigned keys_bytes(unsigned width) {
        return part * width + 48;
    }
    __host__ __device__ static constexpr unsigned bytes(unsigned width) {
        return keys_at + 2 * keys_bytes(width);
    }
};

/* Which of a lane's keys begin a run, a bit for each, and how many do up to its last. */
struct wi_run_marks {
    uint32_t begins, up_to;
};

/* A warp at work on its part of a tile. */
template <class Reducer, class T, bool wide_keys>
struct wi_run_part {
    using State = typename Reducer::State;
    using Result = typename Reducer::Result;
    using Open = wi_open_segment<State>;
    using Shape = wi_run_layout<Reducer, T, wide_keys>;
    using Round = wi_run_round<State>;
    static constexpr unsigned each = Shape::each;
    const Reducer &reducer;
    const wi_run_params<Reducer, T> &p;
    unsigned char *memory;
    unsigned slot; /* of its keys */
    uint64_t first;
    unsigned many; /* elements */

    template <class F>
    __device__ void with_key(F f) const {
        if constexpr (wide_keys)
            f(wi_tag<uint64_t>{});
        else
            wi_with_narrow_key(p.width, f);
    }
    __device__ Result *results() const {
        return (Result *)memory;
    }
    __device__ uint16_t *positions() const {
        return (uint16_t *)(memory + Shape::positions_at);
    }
    __device__ T *elements() const {
        return (T *)(memory + (uintptr_t)(p.x + first) % 16);
    }
    /* Is there a key before the part? It comes by itself where a part begins at a line. */
    __device__ unsigned lead() const {
        return first > 0;
    }
    __device__ unsigned char *keys_memory() const {
        return memory + Shape::keys_at + slot * Shape::keys_bytes(p.width);
    }
    template <class Key>
    __device__ Key *keys() const {
        return (Key *)(keys_memory() + 16 + (uintptr_t)((const Key *)p.keys + first) % 16);
    }

    /* Starts to bring the keys, or the elements. Behind the array's end lanes find zeros. */
    __device__ void bring_keys() const {
        with_key([&](auto tag) {
            using Key = typename decltype(tag)::type;
            const Key *const from = (const Key *)p.keys;
            if (many > 0)
                wi_bring<false, 5>(keys_memory() + 16, from, p.n, first, many);
            const bool is_apart = (uintptr_t)(from + first) % 16 == 0; /* from the key before */
            if (many > 0 && lead() && is_apart && wi_lane() == 0) {
                if constexpr (sizeof(Key) >= 4)
                    wi_async_copy<sizeof(Key)>(keys<Key>() - 1, from + first - 1);
                else
                    keys<Key>()[-1] = from[first - 1];
            }
            for (unsigned i = many + (unsigned)wi_lane(); i < Shape::part; i += 32)
                keys<Key>()[i] = 0;
        });
    }
    __device__ void bring_elements() const {
        wi_bring<false, 5>(memory, p.x, p.n, first, many);
        for (unsigned i = many + (unsigned)wi_lane(); i < Shape::part; i += 32)
            elements()[i] = T{};
    }

    /* A bit for each of the lane's keys that differs from the one before. */
    template <class Key>
    __device__ uint32_t mark_keys(unsigned from) const {
        const Key *const key = keys<Key>();
        const bool none = from == 0 && (lead() == 0 || many == 0); /* is before the first */
        uint32_t begins = none;
        Key before = none ? 0 : key[(int)from - 1];
#pragma unroll
        for (unsigned e = 0; e < each; e++) {
            const Key now = key[from + e];
            if (now != before)
                begins |= 1u << e;
            before = now;
        }
        return begins;
    }

    /* How many elements the lane has: of the last part some are not there. */
    __device__ unsigned there() const {
        const unsigned from = (unsigned)wi_lane() * each;
        return many > from ? many - from : 0;
    }

    __device__ wi_run_marks mark() const {
        wi_run_marks m = {0, 0};
        with_key([&](auto tag) {
            m.begins = mark_keys<typename decltype(tag)::type>((unsigned)wi_lane() * each);
        });
        if (there() < each)
            m.begins &= (1u << there()) - 1;
        m.up_to = wi_warp_sum_scan((uint32_t)__popc(m.begins));
        return m;
    }

    /* Goes through the lane's elements, of which the first run to begin is number r of the part.
     * *head gets the state before it. */
    __device__ Open take(const T (&x)[each], uint32_t begins, unsigned r, State *head) const {
        const unsigned from = (unsigned)wi_lane() * each, behind = there();
        State state = reducer.identity();
#pragma unroll
        for (unsigned e = 0; e < each; e++) {
            if (begins >> e & 1) {
                const bool starts = (begins & ((1u << e) - 1)) == 0;
                *head = starts ? state : *head;
                results()[r] = reducer.finish(state);
                positions()[r++] = (uint16_t)(from + e);
                state = reducer.identity();
            }
            if (e < behind)
                state = reducer.take(state, x[e], x[e], first + from + e);
        }
        return {state, begins != 0};
    }

    /* Puts down a result for each run that begins in the part, that of the run before it, and what
     * the last warp needs: what is open, and what is before the first. */
    __device__ void walk(const wi_run_marks &m, Round &round) const {
        const unsigned warp = threadIdx.x / 32, r = m.up_to - (unsigned)__popc(m.begins);
        T x[each];
#pragma unroll
        for (unsigned e = 0; e < each; e++)
            x[e] = elements()[(unsigned)wi_lane() * each + e];
        State head = reducer.identity();
        __syncwarp(); /* all have theirs: results may take the place of elements */
        const Open up_to =
            wi_warp_scan(take(x, m.begins, r, &head),
                         [&](const Open &a, const Open &b) { return wi_follow(reducer, a, b); });
        Open before = wi_shuffle_up(up_to, 1);
        if (wi_lane() == 0)
            before.state = reducer.identity();
        if (wi_lane() == 31)
            round.open[warp] = up_to, round.runs[warp] = m.up_to;
        if (m.begins) {
            head = reducer.combine(before.state, head);
            results()[r] = reducer.finish(head);
            if (r == 0)
                round.head[warp] = head;
        }
        __syncwarp();
    }

    /* Writes results and keys: run r - 1 of the part ends where run r begins. */
    __device__ void write(uint64_t base, uint32_t runs) const {
        const Result *const result = results();
        const unsigned lane = (unsigned)wi_lane();
        for (unsigned r = lane + 1; r < runs; r += 32)
            p.y[base + r - 1] = result[r];
        if (!p.keys_out)
            return;
        with_key([&](auto tag) {
            using Key = typename decltype(tag)::type;
            const Key *const key = keys<Key>();
            Key *const out = (Key *)p.keys_out + base;
            for (unsigned r = lane; r < runs; r += 32)
                out[r] = key[positions()[r]];
        });
    }
};

/* How many blocks on a multiprocessor the registers must allow. */
template <class Reducer>
constexpr int resident = sizeof(typename Reducer::State) > 8 ? 2 : 3;

/* Persistent blocks. With each ticket a block counts the runs of a tile, and reduces the tile of
 * the ticket before. Each of its warps has a part of either, and waits for nobody but the last
 * warp, which tells what ticket it is and where results go. */
template <class Reducer, class T, bool wide_keys>
__global__ void __launch_bounds__(block, resident<Reducer>)
    reduce_runs(Reducer reducer, wi_run_params<Reducer, T> p,
                wi_run_scratch<typename Reducer::State> scratch, wi_lookback l) {
    using Part = wi_run_part<Reducer, T, wide_keys>;
    using Shape = typename Part::Shape;
    using Round = typename Part::Round;
    WEFT_SHARED(Round, rounds, [rounds_apart]);
    WEFT_DYNAMIC_SHARED(memory);
    if (wi_is_skipped(p.skip))
        return;
    if (threadIdx.x < rounds_apart) {
        rounds[threadIdx.x].begun = rounds[threadIdx.x].found = 0;
        for (unsigned w = 0; w < warps; w++)
            rounds[threadIdx.x].walked[w] = rounds[threadIdx.x].counted[w] = 0;
    }
    __syncthreads();
    const unsigned warp = threadIdx.x / 32;
    if (warp == warps) {
        const wi_run_guide<Reducer, T> guide = {reducer, p,      scratch,
                                                l,       rounds, wi_lookback_epoch(l)};
        guide.work();
        if (wi_lane() == 0)
            wi_lookback_leave(l, gridDim.x);
        return;
    }
    const auto part_of = [&](uint64_t tile, unsigned slot) {
        const uint64_t first = tile * Shape::tile + warp * Shape::part,
                       left = first < p.n ? p.n - first : 0;
        const unsigned many = (unsigned)(left < Shape::part ? left : Shape::part);
        return Part{reducer, p, memory + warp * Shape::bytes(p.width), slot, first, many};
    };
    uint64_t last = l.tiles;
    wi_run_marks last_marks = {0, 0};
    for (uint32_t round = 0;; round++) {
        Round &now = rounds[round % rounds_apart];
        if (wi_lane() == 0)
            wi_await_round(&now.begun, round);
        __syncwarp();
        const uint64_t ticket = now.ticket;
        const bool counts = ticket < l.tiles, reduces = last < l.tiles;
        const Part next = part_of(ticket, round % 2), part = part_of(last, 1 - round % 2);
        if (counts)
            next.bring_keys();
        wi_async_commit();
        if (reduces)
            part.bring_elements();
        wi_async_commit();
        wi_async_wait<1>();
        __syncwarp();
        wi_run_marks marks = {0, 0};
        if (counts)
            marks = next.mark();
        if (wi_lane() == 31)
            wi_tell(&now.counted[warp], wi_round_word(round, marks.up_to));
        if (!counts && !reduces)
            return;
        wi_async_wait<0>();
        __syncwarp();
        if (reduces) {
            part.walk(last_marks, now);
            if (wi_lane() == 0)
                wi_tell(&now.walked[warp], wi_round_word(round));
            if (wi_lane() == 0)
                wi_await_round(&now.found, round);
            __syncwarp();
            part.write(now.base[warp], now.runs[warp]);
            __syncwarp(); /* all have done with the part */
        }
        last = ticket, last_marks = marks;
    }
}

#endif
