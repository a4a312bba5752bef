/* SPDX-License-Identifier: Apache-2.0 */
/* scan in one pass: each block holds a tile in registers, learns its carry by look-back, writes.
 * Any alignment, any device. */
#include "scan/scan_lookback.cuh"

constexpr int threads = 256;
constexpr int resident = 4; /* blocks on a multiprocessor: what registers must leave room for */
constexpr int warps = threads / 32;

/* Elements of a thread: eight 16-byte vectors. A warp's elements are contiguous, vector by vector.
 */
constexpr int vectors = 8;
template <class T>
constexpr int width = wi_vector<T>::count;
template <class T>
constexpr size_t tile_elements = (size_t)threads *vectors *width<T>;

/* Where this thread's vector k starts, within the tile. */
template <class T>
__device__ inline size_t place_of(int k) {
    const size_t warp = threadIdx.x / 32;
    return ((warp * vectors + (size_t)k) * 32 + (size_t)wi_lane()) * width<T>;
}

/* Reads vector k of a tile with `count` elements; beyond them, the identity. */
template <class Op, class T>
__device__ inline void read(const T *x, size_t count, bool aligned, int k,
                            wi_scan_value<T> (&v)[width<T>]) {
    using V = wi_scan_value<T>;
    const size_t at = place_of<T>(k);
    if (aligned && at + width<T> <= count) {
        const wi_vector<T> vector = *(const wi_vector<T> *)(x + at);
#pragma unroll
        for (int e = 0; e < width<T>; e++)
            v[e] = (V)wi_load(vector.at[e]);
        return;
    }
#pragma unroll
    for (int e = 0; e < width<T>; e++)
        v[e] = at + (size_t)e < count ? (V)wi_load(x[at + (size_t)e]) : Op::template identity<V>();
}

template <class T>
__device__ inline void write(T *y, size_t count, bool aligned, int k,
                             const wi_scan_value<T> (&v)[width<T>]) {
    const size_t at = place_of<T>(k);
    if (aligned && at + width<T> <= count) {
        wi_vector<T> vector;
#pragma unroll
        for (int e = 0; e < width<T>; e++)
            vector.at[e] = (T)v[e];
        *(wi_vector<T> *)(y + at) = vector;
        return;
    }
#pragma unroll
    for (int e = 0; e < width<T>; e++)
        if (at + (size_t)e < count)
            y[at + (size_t)e] = (T)v[e];
}

/* The carry at the start of each warp's part of the tile, by the first warp. */
template <class Op, class T>
__device__ inline wi_scan_carry<T> carry_of_warp(const wi_lookback &l, uint64_t epoch,
                                                 uint64_t tile, const wi_scan_params<T> &p,
                                                 wi_scan_carry<T> of_warp) {
    using C = wi_scan_carry<T>;
    WEFT_SHARED C shared[warps];
    if (wi_lane() == 0)
        shared[threadIdx.x / 32] = of_warp;
    __syncthreads();
    if (threadIdx.x < 32) {
        const auto combine = [](C a, C b) { return Op::combine(a, b); };
        const C mine = wi_lane() < warps ? shared[wi_lane()] : Op::template identity<C>();
        const C scanned = wi_warp_scan(mine, combine);
        const C total = wi_shuffle(scanned, warps - 1);
        C after;
        if (wi_lane() == 0)
            wi_publish_total(l, epoch, tile, total);
        const C carry = wi_find_carry<Op>(l, epoch, tile, p.start(), total, &after);
        const C before = wi_shuffle_up(scanned, 1);
        if (wi_lane() < warps)
            shared[wi_lane()] = wi_lane() == 0 ? carry : combine(carry, before);
        if (wi_lane() == 0 && tile == l.tiles - 1 && p.carry_out)
            *p.carry_out = wi_carry_bits(after);
    }
    if (threadIdx.x / 32 == warps - 1 && wi_ends_group(tile))
        wi_publish_group<Op, C>(l, epoch, tile);
    __syncthreads();
    return shared[threadIdx.x / 32];
}

template <class Op, class T>
__global__ void __launch_bounds__(threads, resident) lookback(wi_scan_params<T> p, wi_lookback l) {
    using V = wi_scan_value<T>;
    using C = wi_scan_carry<T>;
    WEFT_SHARED uint64_t shared_tile, shared_epoch;
    const auto combine = [](V a, V b) { return Op::combine(a, b); };
    if (threadIdx.x == 0) {
        shared_epoch = wi_lookback_epoch(l);
        shared_tile = wi_lookback_take_tile(l);
    }
    __syncthreads();
    const uint64_t tile = shared_tile, epoch = shared_epoch;
    const size_t first = tile * tile_elements<T>;
    const size_t count = p.n - first < tile_elements<T> ? p.n - first : tile_elements<T>;
    const bool aligned_x = wi_is_aligned(p.x + first), aligned_y = wi_is_aligned(p.y + first);

    V v[vectors][width<T>], scanned[vectors];
#pragma unroll
    for (int k = 0; k < vectors; k++)
        read<Op>(p.x + first, count, aligned_x, k, v[k]);
    C of_warp = Op::template identity<C>();
#pragma unroll
    for (int k = 0; k < vectors; k++) {
        V sum = v[k][0];
#pragma unroll
        for (int e = 1; e < width<T>; e++)
            sum = combine(sum, v[k][e]);
        scanned[k] = wi_warp_scan(sum, combine);
        of_warp = Op::combine(of_warp, (C)wi_shuffle(scanned[k], 31));
    }
    C carry = carry_of_warp<Op>(l, epoch, tile, p, of_warp);
#pragma unroll
    for (int k = 0; k < vectors; k++) {
        const V before = wi_shuffle_up(scanned[k], 1);
        V running = wi_lane() == 0 ? (V)carry : combine((V)carry, before);
#pragma unroll
        for (int e = 0; e < width<T>; e++) {
            const V with = combine(running, v[k][e]);
            v[k][e] = p.exclusive ? running : with;
            running = with;
        }
        write(p.y + first, count, aligned_y, k, v[k]);
        carry = Op::combine(carry, (C)wi_shuffle(scanned[k], 31));
    }
    if (threadIdx.x == 0)
        wi_lookback_leave(l, gridDim.x);
}

weft_status wi_scan_lookback(weft_context *ctx, const void *arguments) {
    const wi_scan_args *args = (const wi_scan_args *)arguments;
    return wi_with_scan(args->type, args->op, [=](auto tag, auto op) {
        using T = typename decltype(tag)::type;
        const uint64_t tiles = (args->n + tile_elements<T> - 1) / tile_elements<T>;
        void *scratch;
        weft_status status =
            wi_gpu_scratch(ctx, WI_SCRATCH_SCAN, wi_lookback_bytes(tiles), &scratch);
        if (status != WEFT_OK)
            return status;
        return WEFT_LAUNCH((lookback<decltype(op), T>), ctx, (unsigned)tiles, threads, 0,
                           wi_scan_typed<T>(args), wi_lookback_in(scratch, tiles));
    });
}
