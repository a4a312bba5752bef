/* SPDX-License-Identifier: Apache-2.0 */
/* Scan in one pass: each block holds a tile in registers, finds its carry by look-back, and writes.
 * For any alignment and any device. */
#include "cuda/ahead.cuh"
#include "cuda/limit.cuh"
#include "scan/scan_tile.cuh"

/* Widened elements of 8 bytes, 16 MiB of them: in the second-level cache until they are scanned. */
WI_LIMIT(size_t, wi_scan_strip_elements, (size_t)1 << 21)

size_t wi_scan_strip(void) {
    return wi_scan_strip_elements;
}

constexpr int warps = wi_tile_warps;
constexpr int threads = 32 * warps;

/* How many blocks on a multiprocessor the registers must allow. */
template <class T>
constexpr int resident = sizeof(T) == 1   ? 1
                         : sizeof(T) == 2 ? 2
                                          : 4;

/* The carry at the start of this warp's part, computed from the totals of all parts. */
template <class Op, class T>
__device__ wi_scan_carry<T> carry_of_warp(const wi_lookback &l, uint64_t epoch, uint64_t tile,
                                          const wi_scan_params<T> &p, wi_scan_carry<T> of_part) {
    using C = wi_scan_carry<T>;
    WEFT_SHARED(C, shared, [warps]);
    const int warp = (int)threadIdx.x / 32;
    if (wi_lane() == 0)
        shared[warp] = of_part;
    __syncthreads();
    if (warp == 0) {
        const C mine = wi_lane() < warps ? shared[wi_lane()] : Op::template identity<C>();
        const C scanned = wi_scan_parts<Op>(mine);
        const C total = wi_shuffle(scanned, warps - 1);
        if (wi_lane() == 0)
            wi_publish_total(l, epoch, tile, total);
        C after;
        const C carry = wi_find_carry<Op>(l, epoch, tile, wi_scan_start<Op>(p), total, &after);
        const C of_lane = wi_part_carry<Op>(carry, scanned);
        if (wi_lane() < warps)
            shared[wi_lane()] = of_lane;
        if (wi_lane() == 0 && tile == l.tiles - 1 && p.carry_out)
            wi_scan_hand_on<Op>(p, after);
    } else if (warp == 1 && wi_ends_group(tile)) {
        wi_publish_group<Op, C>(l, epoch, tile);
    }
    __syncthreads();
    return shared[warp];
}

template <class Op, class T>
__global__ void __launch_bounds__(threads, resident<T>)
    lookback(wi_scan_params<T> p, wi_lookback l) {
    using C = wi_scan_carry<T>;
    WEFT_SHARED(uint64_t, shared_tile, );
    WEFT_SHARED(uint64_t, shared_epoch, );
    wi_wait_for_earlier();
    if (threadIdx.x == 0) {
        shared_epoch = wi_lookback_epoch(l);
        shared_tile = wi_lookback_take_tile(l);
    }
    __syncthreads();
    const uint64_t tile = shared_tile, epoch = shared_epoch;
    const int part = (int)threadIdx.x / 32;
    const bool aligned_x = wi_is_aligned(p.x), aligned_y = wi_is_aligned(p.y);

    wi_vector<T> x[wi_part_rows];
#pragma unroll
    for (int row = 0; row < wi_part_rows; row++)
        x[row] =
            wi_flipped<Op>(p, wi_read_vector<Op>(p, wi_place_in<T>(tile, part, row), aligned_x));
    const C total = wi_part_total<Op, T>([&](int row) { return x[row]; });
    C carry = carry_of_warp<Op>(l, epoch, tile, p, total);
#pragma unroll
    for (int row = 0; row < wi_part_rows; row++)
        wi_write_vector(p.y, wi_place_in<T>(tile, part, row), p.n, aligned_y,
                        wi_flipped<Op>(p, wi_scan_row<Op>(x[row], p.exclusive, &carry)));
    if (threadIdx.x == 0)
        wi_lookback_leave(l, gridDim.x);
}

weft_status wi_scan_lookback(weft_context *ctx, const void *arguments) {
    const wi_scan_args *args = (const wi_scan_args *)arguments;
    return wi_with_scan(args, [=](auto p, auto op) {
        using T = typename decltype(p)::T;
        const uint64_t tiles = wi_tiles_of(args->n, wi_tile_elements<T>);
        void *scratch;
        weft_status status =
            wi_gpu_scratch(ctx, &wi_scan_ladder, wi_lookback_bytes(tiles), &scratch);
        if (status != WEFT_OK)
            return status;
        return WEFT_LAUNCH_AHEAD((lookback<decltype(op), T>), ctx, (unsigned)tiles, threads, 0, p,
                                 wi_lookback_in(scratch, tiles));
    });
}
