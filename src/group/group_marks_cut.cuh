/* SPDX-License-Identifier: Apache-2.0 */
/* Where the stretches of the rungs "marks" and "lanes" begin. */
#ifndef WI_GROUP_MARKS_CUT_CUH
#define WI_GROUP_MARKS_CUT_CUH

#include "group/group_cuda.cuh"

/* Where a stretch begins: its first element, and the first end that is not before it. */
struct wi_mark_cut {
    uint64_t element, end;
};

/* An end for a lane to ask for: around a guess, on either side of it eight times as far from lane
 * to lane. */
static __device__ inline uint64_t wi_around(uint64_t guess, uint64_t count, unsigned lane) {
    const uint64_t far = (uint64_t)1 << 3 * (lane < 8 ? 7 - lane : lane - 8);
    if (lane < 8)
        return guess > far ? guess - far : 0;
    return guess + far < count ? guess + far : count;
}

/* The cuts at two steps, found by the halves of a warp. They first ask around the end that would be
 * there if all segments had one length, and then for 16 ends at once. If offsets fall, which nobody
 * has checked, it is still a cut that there is. An end counts as so many steps. */
template <unsigned end_steps>
__device__ wi_mark_cut wi_mark_find(const wi_group_starts &starts, uint64_t count, uint64_t step) {
    const unsigned lane = (unsigned)wi_lane() % 16, half = (unsigned)wi_lane() / 16;
    const auto is_before = [&](uint64_t s) {
        return s < count && starts.of(s + 1, count) + s * end_steps < step;
    };
    const auto how_many = [&](bool before) {
        return (unsigned)__popc(__ballot_sync(wi_all_lanes, before) >> 16 * half & 0xffff);
    };
    const uint64_t guess =
        (uint64_t)((double)step * (double)count / (double)(starts.n + count * end_steps));
    const unsigned first = how_many(is_before(wi_around(guess, count, lane)));
    uint64_t low = first > 0 ? wi_around(guess, count, first - 1) + 1 : 0,
             high = first < 16 ? wi_around(guess, count, first) : count;
    while (__any_sync(wi_all_lanes, low < high)) {
        const uint64_t apart = high > low ? (high - low) / 16 + 1 : 0, s = low + lane * apart;
        const unsigned many = how_many(s < high && is_before(s));
        const uint64_t behind = low + many * apart;
        low = many > 0 ? behind - apart + 1 : low;
        high = many > 0 && behind > high ? high : many > 0 ? behind : low;
    }
    const uint64_t past = low * end_steps, least = low > 0 ? starts.of(low, count) : 0;
    const uint64_t element = step < past + least ? least : step - past;
    return {element < starts.n ? element : starts.n, low};
}

#endif
