/* SPDX-License-Identifier: Apache-2.0 */
/* A tile of elements in shared memory, where threads reduce short segments and warps long ones: for
 * the rungs that reduce segments and runs of equal keys. */
#ifndef WI_GROUP_TILE_CUH
#define WI_GROUP_TILE_CUH

#include "cuda/async.cuh"
#include "group/group_cuda.cuh"

constexpr int wi_group_block = 256;

/* The bytes of a tile's elements and offsets together for `paths`, at most: what five blocks of a
 * multiprocessor can hold twice, with gaps, and so much that its threads ask for as many pieces as
 * of 20 KiB. */
constexpr unsigned wi_path_tile_bytes = 19 * 1024;

/* Elements of a segment that one thread takes, at most; and how many longer ones a tile can have,
 * with its first segment. */
constexpr unsigned wi_group_serial_most = 32,
                   wi_group_most_long = wi_path_tile_bytes / 4 / wi_group_serial_most + 1;

/* Where a byte of a tile's elements lies. Behind 128 bytes there is a gap of 16, so that threads
 * that walk segments of equal lengths side by side are in different banks. */
__host__ __device__ constexpr unsigned wi_spread(unsigned byte) {
    return byte + byte / 128 * 16;
}

/* Starts to bring so many pieces of a lane from piece k on, 16 bytes each and a warp's width apart,
 * of which `left` bytes from the first on are wanted: a copy and a comparison for each piece. */
constexpr int wi_bring_step = 32 * 16;
template <bool spreads, int side_by_side, int k = 0>
__device__ inline void wi_bring_pieces(unsigned char *to, const char *base, int left) {
    constexpr int step_to = spreads ? wi_spread(wi_bring_step) : wi_bring_step;
    wi_async_copy_if<16, k * step_to, k * wi_bring_step>(left > k * wi_bring_step, to, base);
    if constexpr (k + 1 < side_by_side)
        wi_bring_pieces<spreads, side_by_side, k + 1>(to, base, left);
}

/* Starts to bring `count` elements from array[first] on to shared memory, in whole pieces of 16
 * bytes: with neighbours of the array's `total`, but nothing that is outside of it. At its ends
 * elements are read one by one, for compute-sanitizer takes a copy of fewer bytes for one of 16.
 * Called by one warp: if all did their share, each would spend as much on where that is. */
template <bool spreads, int side_by_side = 8, class U>
__device__ inline void wi_bring(unsigned char *to, const U *array, uint64_t total, uint64_t first,
                                unsigned count) {
    constexpr unsigned step_to = spreads ? wi_spread(wi_bring_step) : wi_bring_step;
    constexpr uint64_t piece = 16 / sizeof(U);
    const char *const from = (const char *)(array + first);
    const char *const end = (const char *)(array + total);
    const unsigned past = (unsigned)((uintptr_t)from % 16);
    const unsigned bytes = count > 0 ? past + count * (unsigned)sizeof(U) : 0;
    unsigned b = (unsigned)wi_lane() * 16;
    const char *base = from - past + b;
    to += spreads ? wi_spread(b) : b;
    if (first >= piece && first + count + piece <= total) {
#pragma unroll 1
        for (int left = (int)bytes - (int)b; left > 0; left -= side_by_side * wi_bring_step) {
            wi_bring_pieces<spreads, side_by_side>(to, base, left);
            base += side_by_side * wi_bring_step;
            to += side_by_side * step_to;
        }
        return;
    }
#pragma unroll 1
    for (; b < bytes; b += wi_bring_step, base += wi_bring_step, to += step_to) {
        if (base >= (const char *)array && base + 16 <= end) {
            wi_async_copy<16>(to, base);
            continue;
        }
#pragma unroll 1
        for (unsigned e = 0; e < 16; e += sizeof(U))
            if (base + e >= (const char *)array && base + e < end)
                *(U *)(to + e) = *(const U *)(base + e);
    }
}

/* The elements of a tile in shared memory. */
template <class T>
struct wi_group_members {
    const unsigned char *at;
    unsigned past; /* bytes before the first */
    uint64_t first;

    template <class Reducer>
    __device__ typename Reducer::State take(const Reducer &reducer, typename Reducer::State s,
                                            unsigned i, unsigned byte) const {
        const T x = *(const T *)(at + wi_spread(byte));
        return reducer.take(s, x, x, first + i);
    }

    /* Elements from, from + step, ... of those before `to`. Several states are made side by side,
     * so that an addition seldom waits for the one before it. */
    template <unsigned step, class Reducer>
    __device__ typename Reducer::State reduce(const Reducer &reducer, unsigned from,
                                              unsigned to) const {
        using State = typename Reducer::State;
        constexpr unsigned sides = sizeof(State) > 8 || step == 1 ? 2 : 4;
        constexpr unsigned bytes = step * sizeof(T);
        State side[sides];
#pragma unroll
        for (unsigned k = 0; k < sides; k++)
            side[k] = reducer.identity();
        unsigned i = from, b = past + from * (unsigned)sizeof(T);
#pragma unroll 1
        for (; i + (sides - 1) * step < to; i += sides * step, b += sides * bytes)
#pragma unroll
            for (unsigned k = 0; k < sides; k++)
                side[k] = take(reducer, side[k], i + k * step, b + k * bytes);
#pragma unroll
        for (unsigned k = 0; k < sides - 1; k++)
            if (i + k * step < to)
                side[k] = take(reducer, side[k], i + k * step, b + k * bytes);
#pragma unroll
        for (unsigned width = sides / 2; width > 0; width /= 2)
#pragma unroll
            for (unsigned k = 0; k < width; k++)
                side[k] = reducer.combine(side[k], side[k + width]);
        return side[0];
    }
};

/* A segment's part of a tile, for several lanes to reduce. */
struct wi_group_part {
    uint16_t from, to, segment;
};

/* Reduces parts, so many lanes each, and calls put(k, state) in one of them. */
template <unsigned lanes, class Reducer, class T, class Put>
__device__ inline void wi_reduce_parts_by(const Reducer &reducer,
                                          const wi_group_members<T> &elements,
                                          const wi_group_part *parts, unsigned count, Put put) {
    const unsigned lane = threadIdx.x % lanes, of_warp = (unsigned)wi_lane() / lanes;
    for (unsigned first = threadIdx.x / 32 * (32 / lanes); first < count;
         first += wi_group_block / lanes) {
        const unsigned k = first + of_warp;
        const wi_group_part part = k < count ? parts[k] : wi_group_part{0, 0, 0};
        auto state = elements.template reduce<lanes>(reducer, part.from + lane, part.to);
#pragma unroll
        for (unsigned step = 1; step < lanes; step *= 2)
            state = reducer.combine(state, wi_shuffle_xor(state, (int)step));
        if (lane == 0 && k < count)
            put(k, state);
    }
}

/* The same: a warp for each part or, if they are many and so not very long, a quarter of one. */
template <class Reducer, class T, class Put>
__device__ inline void wi_reduce_parts(const Reducer &reducer, const wi_group_members<T> &elements,
                                       const wi_group_part *parts, unsigned count, Put put) {
    if (count > wi_group_block / 16)
        wi_reduce_parts_by<8>(reducer, elements, parts, count, put);
    else
        wi_reduce_parts_by<32>(reducer, elements, parts, count, put);
}

#endif
