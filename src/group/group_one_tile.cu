/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs "one_tile" of reduction and scan by key (group_one_tile.cuh). */
#include "group/group_one_tile.cuh"
#include "group/group_scan_cuda.cuh"

namespace {

/* ---- reduction ---- */

template <class Reducer, class T>
struct one_tile_params {
    const T *x;
    typename Reducer::Result *y;
    void *keys_out; /* or NULL */
    uint64_t n, *count;
    wi_run_heads keys;
};

template <bool wide>
__device__ void put_key(void *keys_out, unsigned width, uint64_t at,
                        typename wi_one_keys<wide>::Word key) {
    if constexpr (wide)
        ((uint64_t *)keys_out)[at] = key;
    else if (width == 4)
        ((uint32_t *)keys_out)[at] = key;
    else if (width == 2)
        ((uint16_t *)keys_out)[at] = (uint16_t)key;
    else
        ((uint8_t *)keys_out)[at] = (uint8_t)key;
}

/* An element that begins a run ends the one before it. The last run ends at the end. */
template <class Reducer, class T, bool wide>
__global__ void __launch_bounds__(wi_one_threads)
    reduce_one_tile(Reducer reducer, one_tile_params<Reducer, T> p) {
    using Carry = wi_run_carry<typename Reducer::State>;
    using Follow = wi_follow_runs<Reducer>;
    using Words = wi_one_words<Carry>;
    WEFT_SHARED(Words, of_warp, );
    const uint64_t first = threadIdx.x * wi_one_own;
    wi_one_keys<wide> keys;
    T x[wi_one_own];
    wi_one_load(p.x, first, p.n, x);
    keys.load(p.keys, first, p.n);
    Carry open = Follow::template identity<Carry>();
#pragma unroll
    for (unsigned e = 0; e < wi_one_own; e++) {
        if (keys.begins >> e & 1)
            open = {reducer.identity(), open.runs + 1};
        if (first + e < p.n)
            open.state = reducer.take(open.state, x[e], x[e], first + e);
    }
    Carry running = wi_one_scan<Follow>(open, of_warp);
#pragma unroll
    for (unsigned e = 0; e < wi_one_own; e++) {
        if (keys.begins >> e & 1) {
            if (running.runs > 0)
                p.y[running.runs - 1] = reducer.finish(running.state);
            if (p.keys_out)
                put_key<wide>(p.keys_out, p.keys.width, running.runs, keys.own[e]);
            running = {reducer.identity(), running.runs + 1};
        }
        if (first + e < p.n)
            running.state = reducer.take(running.state, x[e], x[e], first + e);
        if (first + e + 1 == p.n) {
            p.y[running.runs - 1] = reducer.finish(running.state);
            *p.count = running.runs;
        }
    }
}

/* Others take more room than they are worth: `one_pass` does them. */
template <class Reducer>
constexpr bool is_in_one_tile = false;
template <class T>
constexpr bool is_in_one_tile<wi_sum_reducer<T>> = true;
template <class T>
constexpr bool is_in_one_tile<wi_extreme_reducer<T>> = true;

template <class Reducer, class T, bool wide>
weft_status launch_one_tile(weft_context *ctx, const wi_group_keys_args *a,
                            const Reducer &reducer) {
    const one_tile_params<Reducer, T> p = {(const T *)a->column[0].x,
                                           (typename Reducer::Result *)a->column[0].y,
                                           a->keys_out,
                                           a->n,
                                           a->count,
                                           {a->keys, (unsigned)a->width, false}};
    return WEFT_LAUNCH((reduce_one_tile<Reducer, T, wide>), ctx, 1, wi_one_threads, 0, reducer, p);
}

/* ---- scan ---- */

/* MAX is MIN of flipped bits. */
template <class Op, class T, bool wide>
__global__ void __launch_bounds__(wi_one_threads)
    scan_one_tile(wi_scan_params<T> p, wi_run_heads heads) {
    using C = wi_scan_carry<T>;
    using Combiner = wi_group_combiner<Op, C>;
    using Carry = wi_run_carry<C>;
    using Follow = wi_follow_runs<Combiner>;
    using Words = wi_one_words<Carry>;
    WEFT_SHARED(Words, of_warp, );
    const Combiner combiner = {};
    const uint64_t first = threadIdx.x * wi_one_own;
    wi_one_keys<wide> keys;
    T x[wi_one_own];
    wi_one_load(p.x, first, p.n, x);
    keys.load(heads, first, p.n);
    const auto take = [&](C state, T value) {
        return combiner.combine(state, (C)wi_load(wi_flipped<Op>(p, value)));
    };
    Carry open = Follow::template identity<Carry>();
#pragma unroll
    for (unsigned e = 0; e < wi_one_own; e++) {
        if (keys.begins >> e & 1)
            open = {combiner.start(), open.runs + 1};
        if (first + e < p.n)
            open.state = take(open.state, x[e]);
    }
    C running = wi_one_scan<Follow>(open, of_warp).state;
#pragma unroll
    for (unsigned e = 0; e < wi_one_own; e++) {
        if (keys.begins >> e & 1)
            running = combiner.start();
        const C with = take(running, x[e]);
        x[e] = wi_flipped<Op>(p, (T)(wi_compute<T>)(p.exclusive ? running : with));
        running = with;
    }
    constexpr unsigned count = wi_vector<T>::count;
#pragma unroll
    for (unsigned k = 0; k < wi_one_own / count; k++) {
        wi_vector<T> v;
#pragma unroll
        for (unsigned e = 0; e < count; e++)
            v.at[e] = x[k * count + e];
        wi_write_vector(p.y, first + k * count, p.n, wi_is_aligned(p.y), v);
    }
}

template <class Op>
constexpr bool is_scan_in_one_tile = false;
template <>
constexpr bool is_scan_in_one_tile<wi_scan_op<WEFT_SUM>> = true;
template <>
constexpr bool is_scan_in_one_tile<wi_scan_op<WEFT_MIN>> = true;

template <class Op, class T, bool wide>
weft_status launch_scan_one_tile(weft_context *ctx, const wi_scan_params<T> &p,
                                 const wi_run_heads &heads) {
    return WEFT_LAUNCH((scan_one_tile<Op, T, wide>), ctx, 1, wi_one_threads, 0, p, heads);
}

} // namespace

static_assert(wi_one_tile == WI_GROUP_ONE_TILE, "what the ladders say");

weft_status wi_group_keys_one_tile(weft_context *ctx, const void *arguments) {
    const wi_group_keys_args *const a = (const wi_group_keys_args *)arguments;
    return wi_with_one_column(a, [=](auto tag, auto reducer) -> weft_status {
        using Reducer = decltype(reducer);
        using T = typename decltype(tag)::type;
        if constexpr (is_in_one_tile<Reducer>)
            return a->width == 8 ? launch_one_tile<Reducer, T, true>(ctx, a, reducer)
                                 : launch_one_tile<Reducer, T, false>(ctx, a, reducer);
        else
            return WEFT_EUNSUPPORTED; /* the ladder lets none through */
    });
}

weft_status wi_group_scan_one_tile(weft_context *ctx, const void *arguments) {
    const wi_group_scan_args *const args = (const wi_group_scan_args *)arguments;
    const wi_run_heads heads = wi_run_heads_of(args);
    return wi_group_with_scan(args, [=](auto p, auto op) -> weft_status {
        using Op = decltype(op);
        using T = typename decltype(p)::T;
        if constexpr (is_scan_in_one_tile<Op> && sizeof(T) >= 4)
            return heads.width == 8 ? launch_scan_one_tile<Op, T, true>(ctx, p, heads)
                                    : launch_scan_one_tile<Op, T, false>(ctx, p, heads);
        else
            return WEFT_EUNSUPPORTED; /* the ladder lets none through */
    });
}
