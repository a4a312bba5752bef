/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "bulk" of scan by segment and by key: one pass by persistent blocks (group_ring.cuh).
 * A finisher takes its part of a tile into registers, which frees the slot, and when it knows what
 * is open there scans it row by row. */
#include "cuda/ring.cuh"
#include "group/group_ring.cuh"
#include "group/group_scan_cuda.cuh"

namespace {

template <class Op, class T>
struct group_scan_block {
    using C = wi_scan_carry<T>;
    using Combiner = wi_group_combiner<Op, C>;
    using Ring = wi_run_ring<wi_run_shape, Combiner, C, T>;
    using Slot = typename Ring::Slot;
    using Vector = wi_vector<T>;

    const Ring &r;
    const wi_scan_params<T> &p;

    __device__ C take(C state, T x) const {
        return Combiner{}.combine(state, (C)wi_load(wi_flipped<Op>(p, x)));
    }

    /* The bits of this lane's vector of a row. */
    __device__ unsigned begins_of(int k, int part, unsigned row) const {
        const unsigned place = Ring::place_of(part, row);
        return r.bits_of(k)[place / 32] >> place % 32 & ((1u << Slot::count) - 1);
    }

    /* Scans one row; *carry goes from its start to its end. */
    __device__ Vector scan_row(const Vector &x, unsigned begins, C *carry) const {
        const Combiner combiner = {};
        C open = combiner.identity();
#pragma unroll
        for (unsigned e = 0; e < Slot::count; e++)
            open = take(begins >> e & 1 ? combiner.start() : open, x.at[e]);
        const unsigned begun = __ballot_sync(wi_all_lanes, begins != 0);
        C running = wi_open_before(combiner, open, begun, carry);
        Vector out;
#pragma unroll
        for (unsigned e = 0; e < Slot::count; e++) {
            if (begins >> e & 1)
                running = combiner.start();
            const C with = take(running, x.at[e]);
            out.at[e] = (T)(wi_compute<T>)(p.exclusive ? running : with);
            running = with;
        }
        return wi_flipped<Op>(p, out);
    }

    __device__ void finish(int k, uint64_t tile, int part) const {
        Vector x[Slot::rows];
        unsigned begins[Slot::rows];
#pragma unroll
        for (unsigned row = 0; row < Slot::rows; row++) {
            x[row] = *r.vector_of(k, part, row);
            begins[row] = begins_of(k, part, row);
        }
        r.ring.release(k);
        C carry = r.ring.carries(k)[part].state;
#pragma unroll
        for (unsigned row = 0; row < Slot::rows; row++)
            wi_write_vector(p.y, Ring::first_of(tile) + Ring::place_of(part, row), p.n, true,
                            scan_row(x[row], begins[row], &carry));
    }
};

template <class Op, class T>
__global__ void __launch_bounds__(group_scan_block<Op, T>::Ring::ring_block::threads, 1)
    scan_runs(wi_scan_params<T> p, wi_run_heads heads, wi_lookback l) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    using B = group_scan_block<Op, T>;
    using C = typename B::C;
    using Ring = typename B::Ring;
    using ring_memory = typename Ring::ring_memory;
    using opens_memory = wi_run_parts<C>;
    WEFT_DYNAMIC_SHARED(memory);
    WEFT_SHARED(ring_memory, slots, );
    WEFT_SHARED(opens_memory, opens, );
    const typename Ring::ring_block ring = {l, slots, wi_lookback_epoch(l)};
    const Ring r = {ring, p.x, p.n, heads, opens, memory};
    const B b = {r, p};
    using Carry = typename Ring::Carry;
    ring.work(
        Ring::Follow::template identity<Carry>(),
        [&](int k, uint64_t tile, wi_barrier *loaded) { r.load(k, tile, loaded); },
        [&](int k, uint64_t tile, int part) {
            r.prepare(k, tile, part, typename B::Combiner{}.start(),
                      [&](C state, T x, uint64_t) { return b.take(state, x); });
        },
        [&](int k, uint64_t) { return r.total(k); }, [](const Carry &) {},
        [&](int k, uint64_t tile, int part) { b.finish(k, tile, part); });
#endif
}

/* Others take more room than they are worth: `tiles` does them. MAX is MIN of flipped bits. */
template <class Op>
constexpr bool is_scan_compiled = false;
template <>
constexpr bool is_scan_compiled<wi_scan_op<WEFT_SUM>> = true;
template <>
constexpr bool is_scan_compiled<wi_scan_op<WEFT_MIN>> = true;

} // namespace

static const char scan_lookback_key = 0;

template <class Op, class T>
static weft_status launch_scan(weft_context *ctx, const wi_scan_params<T> &p,
                               const wi_run_heads &heads) {
    using Ring = typename group_scan_block<Op, T>::Ring;
    using Slot = typename Ring::Slot;
    constexpr int words = wi_carry_words<typename Ring::Carry>;
    const uint64_t tiles = wi_tiles_of(p.n, Slot::elements);
    void *scratch;
    const weft_status status =
        wi_gpu_scratch(ctx, &scan_lookback_key, wi_lookback_bytes(tiles, words), &scratch);
    if (status != WEFT_OK)
        return status;
    return WEFT_LAUNCH((scan_runs<Op, T>), ctx, wi_run_blocks(ctx, tiles),
                       Ring::ring_block::threads, wi_run_shape::slots * Slot::bytes, p, heads,
                       wi_lookback_in(scratch, tiles, words));
}

weft_status wi_group_scan_bulk(weft_context *ctx, const void *arguments) {
    const wi_group_scan_args *const args = (const wi_group_scan_args *)arguments;
    const wi_run_heads heads = wi_run_heads_of(args);
    return wi_group_with_scan(args, [=](auto p, auto op) -> weft_status {
        using Op = decltype(op);
        using T = typename decltype(p)::T;
        if constexpr (is_scan_compiled<Op> && sizeof(T) >= 4)
            return launch_scan<Op, T>(ctx, p, heads);
        else
            return WEFT_EUNSUPPORTED; /* the ladder lets none through */
    });
}
