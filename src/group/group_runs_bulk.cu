/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "bulk" of reduction by key: one pass by persistent blocks (group_ring.cuh).
 *
 * An element that begins a run ends the one before it. So a finisher, a warp for a part of a tile,
 * goes over its elements, a stretch of neighbours in every lane, and at each such element hands on
 * the state that it closes; what came before the lane's stretch is found by a scan over the lanes.
 * Results are first put side by side in the slot, where the elements were, and then written with
 * the keys in whole rows. What the last tile leaves open is the last result. */
#include "cuda/ring.cuh"
#include "group/group_ring.cuh"

namespace {

/* Less is written than by a scan, so tiles come faster than one looker finds their carries. */
struct reduce_runs_shape : wi_run_shape {
    static constexpr int totallers = 2, lookers = 2;
};

template <class Reducer, class T>
struct reduce_runs_params {
    const T *x;
    typename Reducer::Result *y;
    void *keys_out; /* or NULL */
    uint64_t n, *count;
    wi_run_heads keys;
};

/* Where the runs of a part begin, for each finisher. */
template <class T>
using run_positions =
    uint16_t[wi_run_shape::finishers * wi_run_shape::finisher_warps][wi_run_slot<T>::part];

template <class Reducer, class T>
struct reduce_runs_block {
    using State = typename Reducer::State;
    using Result = typename Reducer::Result;
    using Ring = wi_run_ring<reduce_runs_shape, Reducer, State, T>;
    using Slot = typename Ring::Slot;
    using Carry = typename Ring::Carry;
    using Vector = wi_vector<T>;
    static constexpr unsigned own = Slot::part / 32, vectors = own / Slot::count;
    static_assert(vectors == 4, "the lanes' rotation");

    /* Do results take the place of elements? */
    __device__ static constexpr bool fits_slot() {
        return sizeof(Result) == sizeof(T);
    }

    const Ring &r;
    const Reducer &reducer;
    const reduce_runs_params<Reducer, T> &p;
    run_positions<T> &positions;

    /* This lane's stretch of a part. Neighbours begin at different vectors, so that eight of them
     * read from all banks; then the vectors change places, in two steps. */
    __device__ void take_own(int k, int part, Vector own_x[vectors]) const {
        const unsigned lane = (unsigned)wi_lane(), turn = lane / 2;
        const Vector *const from =
            (const Vector *)(r.elements_of(k) + (unsigned)part * Slot::part + lane * own);
        Vector seen[vectors], half[vectors];
#pragma unroll
        for (unsigned j = 0; j < vectors; j++)
            seen[j] = from[(j + turn) % vectors];
#pragma unroll
        for (unsigned j = 0; j < vectors; j++)
            half[j] = turn & 1 ? seen[(j + vectors - 1) % vectors] : seen[j];
#pragma unroll
        for (unsigned j = 0; j < vectors; j++)
            own_x[j] = turn & 2 ? half[(j + 2) % vectors] : half[j];
    }

    __device__ unsigned own_bits(int k, int part) const {
        const unsigned place = (unsigned)part * Slot::part + (unsigned)wi_lane() * own;
        return r.bits_of(k)[place / 32] >> place % 32 & ((1u << own) - 1);
    }

    /* Where the results go that a part's runs close, each that of the run before it: side by side
     * in the slot, or at once to the array. */
    __device__ Result *results_of(int k, int part, uint64_t runs) const {
        if constexpr (fits_slot())
            return (Result *)(r.elements_of(k) + (unsigned)part * Slot::part);
        else
            return p.y + runs - 1;
    }
    /* The first run of all closes none. */
    __device__ void put(Result *to, State state) const {
        if (fits_slot() || to >= p.y)
            *to = reducer.finish(state);
    }

    /* Goes over the elements of a part in which runs begin; returns how many. A lane's first state
     * is put a second time, when what was before the lane is known. */
    __device__ unsigned close_runs(int k, uint64_t tile, int part, const Carry &carry,
                                   uint16_t *position) const {
        const unsigned lane = (unsigned)wi_lane(), bits = own_bits(k, part);
        const unsigned in_lane = (unsigned)__popc(bits), up_to = wi_warp_sum_scan(in_lane);
        const unsigned rank = up_to - in_lane, place = lane * own, first_bit = bits & (0 - bits);
        const uint64_t first = Ring::first_of(tile) + (unsigned)part * Slot::part + place;
        Vector x[vectors];
        take_own(k, part, x);
        __syncwarp(); /* all have theirs: results may take the place of elements */
        State running = reducer.identity(), before_first = running;
        Result *const first_to = results_of(k, part, carry.runs) + rank, *to = first_to;
        uint16_t *where = position + rank;
#pragma unroll
        for (unsigned e = 0; e < own; e++) {
            const T value = x[e / Slot::count].at[e % Slot::count];
            if (bits >> e & 1) {
                if (first_bit >> e & 1)
                    before_first = running;
                put(to++, running);
                *where++ = (uint16_t)(place + e);
                running = reducer.identity();
            }
            running = reducer.take(running, value, value, first + e);
        }
        const unsigned begun = __ballot_sync(wi_all_lanes, bits != 0);
        State open = carry.state;
        const State before = wi_open_before(reducer, running, begun, &open);
        if (bits)
            put(first_to, reducer.combine(before, before_first));
        return wi_shuffle(up_to, 31);
    }

    /* Writes what close_runs has put side by side, and the keys of the runs that begin. */
    __device__ void write(int k, int part, uint64_t runs, unsigned many,
                          const uint16_t *position) const {
        const unsigned first = (unsigned)part * Slot::part;
        if constexpr (fits_slot()) {
            const Result *const result = results_of(k, part, runs);
            for (unsigned j = (unsigned)wi_lane(); j < many; j += 32)
                if (runs + j > 0)
                    p.y[runs + j - 1] = result[j];
        }
        if (!p.keys_out)
            return;
        wi_with_key(p.keys.width, [&](auto tag) {
            using Key = typename decltype(tag)::type;
            const Key *const key = r.template keys_of<Key>(k) + first;
            for (unsigned j = (unsigned)wi_lane(); j < many; j += 32)
                ((Key *)p.keys_out)[runs + j] = key[position[j]];
        });
    }

    /* For a finisher. In most parts of long runs none begins. */
    __device__ void finish(int k, uint64_t tile, int part) const {
        const unsigned begun = __ballot_sync(wi_all_lanes, own_bits(k, part) != 0);
        if (!begun)
            r.ring.release(k);
        const Carry carry = r.ring.carries(k)[part];
        if (!begun)
            return;
        uint16_t *const position = positions[threadIdx.x / 32];
        const unsigned many = close_runs(k, tile, part, carry, position);
        __syncwarp();
        write(k, part, carry.runs, many, position);
        r.ring.release(k);
        __syncwarp(); /* all have done with the positions */
    }

    /* Once, by one thread. */
    __device__ void end(const Carry &all) const {
        p.y[all.runs - 1] = reducer.finish(all.state);
        *p.count = all.runs;
    }
};

template <class Reducer, class T>
__global__ void __launch_bounds__(reduce_runs_block<Reducer, T>::Ring::ring_block::threads, 1)
    reduce_runs_bulk(Reducer reducer, reduce_runs_params<Reducer, T> p, wi_lookback l) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    using B = reduce_runs_block<Reducer, T>;
    using State = typename B::State;
    using Ring = typename B::Ring;
    using Carry = typename Ring::Carry;
    using ring_memory = typename Ring::ring_memory;
    using opens_memory = wi_run_parts<State>;
    using positions_memory = run_positions<T>;
    WEFT_DYNAMIC_SHARED(memory);
    WEFT_SHARED(ring_memory, slots, );
    WEFT_SHARED(opens_memory, opens, );
    WEFT_SHARED(positions_memory, positions, );
    const typename Ring::ring_block ring = {l, slots, wi_lookback_epoch(l)};
    const Ring r = {ring, p.x, p.n, p.keys, opens, memory};
    const B b = {r, reducer, p, positions};
    ring.work(
        Ring::Follow::template identity<Carry>(),
        [&](int k, uint64_t tile, wi_barrier *loaded) { r.load(k, tile, loaded); },
        [&](int k, uint64_t tile, int part) {
            r.prepare(k, tile, part, reducer.identity(),
                      [&](State s, T x, uint64_t index) { return reducer.take(s, x, x, index); });
        },
        [&](int k, uint64_t) { return r.total(k); }, [&](const Carry &all) { b.end(all); },
        [&](int k, uint64_t tile, int part) { b.finish(k, tile, part); });
#endif
}

/* Others take more room than they are worth: `one_pass` does them. */
template <class Reducer>
constexpr bool is_compiled = false;
template <class T>
constexpr bool is_compiled<wi_sum_reducer<T>> = true;
template <class T>
constexpr bool is_compiled<wi_extreme_reducer<T>> = true;

} // namespace

static const char lookback_key = 0;

template <class Reducer, class T>
static weft_status launch_bulk(weft_context *ctx, const wi_group_keys_args *a,
                               const Reducer &reducer) {
    using Ring = typename reduce_runs_block<Reducer, T>::Ring;
    using Slot = typename Ring::Slot;
    constexpr int words = wi_carry_words<typename Ring::Carry>;
    const uint64_t tiles = wi_tiles_of(a->n, Slot::elements);
    void *scratch;
    const weft_status status =
        wi_gpu_scratch(ctx, &lookback_key, wi_lookback_bytes(tiles, words), &scratch);
    if (status != WEFT_OK)
        return status;
    const reduce_runs_params<Reducer, T> p = {(const T *)a->column[0].x,
                                              (typename Reducer::Result *)a->column[0].y,
                                              a->keys_out,
                                              a->n,
                                              a->count,
                                              {a->keys, (unsigned)a->width, false}};
    return WEFT_LAUNCH((reduce_runs_bulk<Reducer, T>), ctx, wi_run_blocks(ctx, tiles),
                       Ring::ring_block::threads, wi_run_shape::slots * Slot::bytes, reducer, p,
                       wi_lookback_in(scratch, tiles, words));
}

weft_status wi_group_keys_bulk(weft_context *ctx, const void *arguments) {
    const wi_group_keys_args *const a = (const wi_group_keys_args *)arguments;
    return wi_with_one_column(a, [=](auto tag, auto reducer) -> weft_status {
        using Reducer = decltype(reducer);
        if constexpr (is_compiled<Reducer>)
            return launch_bulk<Reducer, typename decltype(tag)::type>(ctx, a, reducer);
        else
            return WEFT_EUNSUPPORTED; /* the ladder lets none through */
    });
}
