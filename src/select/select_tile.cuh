/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of select in the registers of a block: which one it takes, and what of it is wanted. */
#ifndef WI_SELECT_TILE_CUH
#define WI_SELECT_TILE_CUH

#include "select/select_cuda.cuh"

namespace {

constexpr int warps = 8;
constexpr int threads = 32 * warps;

/* Rows of 32 elements that a warp processes. */
template <class P>
constexpr int rows_of = sizeof(P) <= 4 ? 16 : 64 / (int)sizeof(P);

template <class P>
constexpr uint64_t tile_elements = (uint64_t)threads *rows_of<P>;

/* A block's tile, and this warp's part of it. */
struct place {
    uint64_t tile, epoch, first;
};

template <class P>
__device__ place take_place(const wi_lookback &l) {
    WEFT_SHARED(place, shared, );
    if (threadIdx.x == 0) {
        shared.epoch = wi_lookback_epoch(l);
        shared.tile = wi_lookback_take_tile(l);
    }
    __syncthreads();
    place here = shared;
    here.first = here.tile * tile_elements<P> + (uint64_t)(threadIdx.x / 32) * (32 * rows_of<P>);
    return here;
}

template <class P>
__device__ unsigned mark(const wi_select_params &p, uint64_t first, unsigned *marks) {
    constexpr int rows = rows_of<P>;
    const unsigned left = wi_left(p, first, 32 * rows);
    return wi_with_tested(p.tested_bytes, [&](auto zero) {
        using S = decltype(zero);
        const S *const at = (const S *)p.tested + first;
        S last = 0;
        if (p.unique && first > 0 && left > 0)
            last = at[-1];
        return wi_mark_rows<rows>(p, left, last, first == 0, marks, [&](int row) {
            const unsigned e = (unsigned)(32 * row + wi_lane());
            return e < left ? at[e] : (S)0;
        });
    });
}

} // namespace

#endif
