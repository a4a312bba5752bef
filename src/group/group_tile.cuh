/* SPDX-License-Identifier: Apache-2.0 */
/* A tile of elements in shared memory, where threads reduce short segments and warps long ones: for
 * the rungs that reduce segments and runs of equal keys. */
#ifndef WI_GROUP_TILE_CUH
#define WI_GROUP_TILE_CUH

#include "cuda/async.cuh"
#include "group/group_cuda.cuh"

constexpr int wi_group_block = 256;

/* The bytes of a tile's elements and offsets together, at most. */
constexpr unsigned wi_group_tile_bytes = 16 * 1024;

/* Elements of a segment that one thread takes, at most; and how many longer ones a tile can have,
 * with its first segment. */
constexpr unsigned wi_group_serial_most = 64,
                   wi_group_most_long = wi_group_tile_bytes / 4 / wi_group_serial_most + 1;

/* Where a byte of a tile's elements lies. Behind 128 bytes there is a gap of 16, so that threads
 * that walk segments of equal lengths side by side are in different banks. */
__host__ __device__ constexpr unsigned wi_spread(unsigned byte) {
    return byte + byte / 128 * 16;
}

/* Starts to bring `count` elements from array[first] on to shared memory, with what is before them
 * up to a boundary of 16 bytes, but for what is before the array. */
template <bool spreads, class U>
__device__ inline void wi_bring(unsigned char *to, const U *array, uint64_t first, unsigned count) {
    constexpr unsigned step = wi_group_block * 16, step_to = spreads ? wi_spread(step) : step;
    const char *const from = (const char *)(array + first);
    const unsigned past = (unsigned)((uintptr_t)from % 16);
    const unsigned bytes = count > 0 ? past + count * (unsigned)sizeof(U) : 0;
    unsigned b = threadIdx.x * 16;
    const char *base = from - past + b;
    to += spreads ? wi_spread(b) : b;
    if (base < (const char *)array) {
        for (unsigned e = past; e < 16 && e < bytes; e += sizeof(U))
            *(U *)(to + e) = *(const U *)(base + e);
        b += step, base += step, to += step_to;
    }
    for (; b + 16 <= bytes; b += step, base += step, to += step_to)
        wi_async_copy<16>(to, base);
    if (b < bytes)
        wi_async_copy<16>(to, base, (int)(bytes - b));
}

/* The elements of a tile in shared memory. */
template <class T>
struct wi_group_elements {
    const unsigned char *at;
    unsigned past; /* bytes before the first */
    uint64_t first;

    /* Elements from, from + step, ... of those before `to`. */
    template <unsigned step, class Reducer>
    __device__ typename Reducer::State reduce(const Reducer &reducer, unsigned from,
                                              unsigned to) const {
        typename Reducer::State s = reducer.identity();
        const unsigned byte = past + from * (unsigned)sizeof(T);
        if constexpr (step * sizeof(T) % 128 == 0) {
            const unsigned char *p = at + wi_spread(byte);
#pragma unroll 4
            for (unsigned i = from; i < to; i += step, p += wi_spread(step * sizeof(T))) {
                const T x = *(const T *)p;
                s = reducer.take(s, x, x, first + i);
            }
        } else {
            unsigned b = byte;
#pragma unroll 1
            for (unsigned i = from; i < to; i += step, b += step * (unsigned)sizeof(T)) {
                const T x = *(const T *)(at + wi_spread(b));
                s = reducer.take(s, x, x, first + i);
            }
        }
        return s;
    }
};

/* A segment's part of a tile, for a warp to reduce. */
struct wi_group_part {
    uint16_t from, to, segment;
};

#endif
