/* SPDX-License-Identifier: Apache-2.0 */
/* Lengths of runs in one pass: tiles tell each other how many runs have begun, and where the latest
 * did. */
#ifndef WI_SELECT_RUNS_CUH
#define WI_SELECT_RUNS_CUH

#include "select/select_tile.cuh"

namespace {

/* What is known of the elements so far: how many runs have begun, and where the latest did, and 1;
 * 0 if none has. */
struct runs_so_far {
    uint64_t count, latest;
};

struct join_runs_so_far {
    static __device__ inline runs_so_far combine(const runs_so_far &a, const runs_so_far &b) {
        return {a.count + b.count, a.latest > b.latest ? a.latest : b.latest};
    }
    template <class V>
    static __device__ inline V identity() {
        return {0, 0};
    }
    /* Counts of what lanes see in one look stay below 2^32. */
    static __device__ inline runs_so_far of_lanes(const runs_so_far &x) {
        const uint32_t high = wi_warp_max((uint32_t)(x.latest >> 32));
        const uint32_t low = wi_warp_max(x.latest >> 32 == high ? (uint32_t)x.latest : 0);
        return {wi_warp_sum((uint32_t)x.count), (uint64_t)high << 32 | low};
    }
};

} // namespace

template <>
inline constexpr bool wi_in_any_order<join_runs_so_far> = true;

namespace {

constexpr unsigned nowhere = ~0u; /* a place in a tile where no run begins */

/* A warp's part of a tile: how many runs begin there, and where the first and the last do. */
struct runs_of_part {
    unsigned count, first, last;
};

template <int rows>
__device__ runs_of_part runs_in(const unsigned (&marks)[rows], unsigned count) {
    runs_of_part part = {count, nowhere, nowhere};
    const unsigned before = threadIdx.x / 32 * (32 * rows);
#pragma unroll
    for (int row = 0; row < rows; row++)
        if (marks[row])
            part.last = before + 32 * (unsigned)row + 31 - (unsigned)__clz((int)marks[row]);
#pragma unroll
    for (int row = rows - 1; row >= 0; row--)
        if (marks[row])
            part.first = before + 32 * (unsigned)row + (unsigned)__ffs((int)marks[row]) - 1;
    return part;
}

/* Puts down the length of a run that began in another tile, or that the array's end ends. */
__device__ void end_run(const wi_select_params &p, const runs_so_far &before, uint64_t end) {
    if (before.count == 0)
        return;
    const uint64_t length = end - (before.latest - 1);
    if (p.position_bytes == 4)
        ((uint32_t *)p.positions)[before.count - 1] = (uint32_t)length;
    else
        ((uint64_t *)p.positions)[before.count - 1] = length;
}

/* How many runs began before this warp's part; *next gets the place where the first run after that
 * part begins, if that is in the tile. The run that goes on into this tile gets its length here,
 * from the first run that begins in it: a tile knows from those before it where that one began. */
__device__ uint64_t runs_before(const wi_select_params &p, const wi_lookback &l, const place &tile,
                                uint64_t first, const runs_of_part &own, unsigned *next) {
    WEFT_SHARED(runs_of_part, parts, [warps]);
    WEFT_SHARED(uint64_t, carried, );
    const int warp = (int)threadIdx.x / 32, lane = wi_lane();
    if (lane == 0)
        parts[warp] = own;
    __syncthreads();
    runs_of_part part = {0, nowhere, nowhere};
    if (lane < warps)
        part = parts[lane];
    *next = wi_warp_min(lane > warp ? part.first : nowhere);
    if (warp == 0) {
        const unsigned begins = wi_warp_min(part.first);
        const unsigned latest = wi_warp_max(part.last == nowhere ? 0 : part.last);
        const runs_so_far total = {wi_warp_sum(part.count),
                                   begins == nowhere ? 0 : first + latest + 1};
        if (lane == 0)
            wi_publish_total(l, tile.epoch, tile.tile, total);
        runs_so_far after;
        const runs_so_far before = wi_find_carry<join_runs_so_far>(
            l, tile.epoch, tile.tile, runs_so_far{0, 0}, total, &after);
        if (lane == 0) {
            carried = before.count;
            if (begins != nowhere)
                end_run(p, before, first + begins);
            if (tile.tile == l.tiles - 1) {
                end_run(p, after, p.n);
                *p.count = after.count;
            }
        }
    } else if (warp == 1 && wi_ends_group(tile.tile)) {
        wi_publish_group<join_runs_so_far, runs_so_far>(l, tile.epoch, tile.tile);
    }
    __syncthreads();
    return carried + wi_warp_sum(lane < warp ? part.count : 0);
}

/* Lengths of the runs that begin in this warp's part, the first one's to to[0]; the last one's only
 * if another begins in the tile, at `next`. */
template <class I, int rows>
__device__ void write_lengths(I *to, const unsigned (&marks)[rows], unsigned count, unsigned next) {
    const unsigned lane = (unsigned)wi_lane(), lower = (1u << lane) - 1;
    unsigned before = count;
#pragma unroll
    for (int row = rows - 1; row >= 0; row--) {
        const unsigned higher = marks[row] & ~lower & ~(1u << lane);
        const unsigned start = threadIdx.x / 32 * (32 * rows) + 32 * (unsigned)row;
        const unsigned end = higher ? start + (unsigned)__ffs((int)higher) - 1 : next;
        const bool begins = marks[row] & 1u << lane;
        before -= (unsigned)__popc(marks[row]);
        wi_store_if(begins && end != nowhere, to + before + __popc(marks[row] & lower),
                    (I)(end - (start + lane)));
        if (marks[row])
            next = start + (unsigned)__ffs((int)marks[row]) - 1;
    }
}

} // namespace

#endif
