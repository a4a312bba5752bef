/* SPDX-License-Identifier: Apache-2.0 */
/* Few keys and elements, for the rungs "one_tile" of scan and reduction by key: one block has all
 * of them in registers, and nothing is set up before the loads. */
#ifndef WI_GROUP_ONE_TILE_CUH
#define WI_GROUP_ONE_TILE_CUH

#include "group/group_carry.cuh"

constexpr unsigned wi_one_threads = 512, wi_one_warps = wi_one_threads / 32, wi_one_own = 8,
                   wi_one_tile = wi_one_threads * wi_one_own;

/* The thread's neighbours from place `first` on, of n; beyond the end: 0. */
template <class T>
__device__ inline void wi_one_load(const T *x, uint64_t first, uint64_t n, T (&own)[wi_one_own]) {
    constexpr unsigned count = wi_vector<T>::count;
    if constexpr (count <= wi_one_own) {
        if (wi_is_aligned(x) && first + wi_one_own <= n) {
#pragma unroll
            for (unsigned k = 0; k < wi_one_own / count; k++) {
                const wi_vector<T> v = *(const wi_vector<T> *)(x + first + k * count);
#pragma unroll
                for (unsigned e = 0; e < count; e++)
                    own[k * count + e] = v.at[e];
            }
            return;
        }
    }
#pragma unroll
    for (unsigned e = 0; e < wi_one_own; e++)
        own[e] = first + e < n ? x[first + e] : T();
}

/* The keys of a thread, of at most 4 bytes or of 8, and a bit for each of its elements with which a
 * run begins. */
template <bool wide>
struct wi_one_keys {
    using Word = typename wi_choose<wide, uint64_t, uint32_t>::type;
    Word own[wi_one_own];
    unsigned begins;

    template <class Key>
    __device__ void load_as(const wi_run_heads &heads, uint64_t first, uint64_t n) {
        const Key *const keys = (const Key *)heads.at;
        Key loaded[wi_one_own];
        wi_one_load(keys, first, n, loaded);
        /* The neighbour has the key before, but for the first lane. */
        Word before = 0;
        if (wi_lane() == 0 && first > 0 && first < n)
            before = keys[first - 1];
#pragma unroll
        for (unsigned e = 0; e < wi_one_own; e++)
            own[e] = loaded[e];
        const Word last = wi_shuffle_up(own[wi_one_own - 1], 1);
        before = wi_lane() == 0 ? before : last;
        begins = 0;
#pragma unroll
        for (unsigned e = 0; e < wi_one_own; e++) {
            const bool is_start = heads.flags ? own[e] != 0 : own[e] != before || first + e == 0;
            begins |= first + e < n && is_start ? 1u << e : 0;
            before = own[e];
        }
    }
    __device__ void load(const wi_run_heads &heads, uint64_t first, uint64_t n) {
        if constexpr (wide)
            load_as<uint64_t>(heads, first, n);
        else
            wi_with_narrow_key(heads.width, [&](auto tag) {
                load_as<typename decltype(tag)::type>(heads, first, n);
            });
    }
};

template <class Carry>
using wi_one_words = Carry[wi_one_warps];

/* The carries of the block's threads one after another: what is before this one. All of the block
 * call it, once. */
template <class Follow, class Carry>
__device__ inline Carry wi_one_scan(const Carry &mine, wi_one_words<Carry> &of_warp) {
    const auto follow = [](const Carry &a, const Carry &b) { return Follow::combine(a, b); };
    const unsigned lane = (unsigned)wi_lane(), warp = threadIdx.x / 32;
    const Carry up_to = wi_warp_scan(mine, follow);
    Carry before = wi_shuffle_up(up_to, 1);
    if (lane == 0)
        before = Follow::template identity<Carry>();
    if (lane == 31)
        of_warp[warp] = up_to;
    __syncthreads();
    const Carry of_lane = of_warp[lane % wi_one_warps];
    const Carry warps = wi_warp_scan<(int)wi_one_warps>(of_lane, follow);
    const Carry of_earlier = wi_shuffle(warps, warp > 0 ? (int)warp - 1 : 0);
    return warp > 0 ? Follow::combine(of_earlier, before) : before;
}

#endif
