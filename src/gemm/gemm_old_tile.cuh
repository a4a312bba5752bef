/* SPDX-License-Identifier: Apache-2.0 */
/* What was in C's tile, in shared memory beside the ring, for those who add to it. All blocks end
 * their tiles at about the same time: if each then read C from the second-level cache, that would
 * be the limit. So a warp brings it while the tile's products are made. */
#ifndef WI_GEMM_OLD_TILE_CUH
#define WI_GEMM_OLD_TILE_CUH

#include "cuda/bulk.cuh"
#include "cuda/warp.cuh"

/* By columns, with gaps: the lanes of an access then read from different banks, whether neighbours
 * have columns 4 apart or 2 and 8 (gemm_doubles.cuh). */
template <class Shape>
struct wi_gemm_old_tile {
    using Out = typename Shape::Out;
    static constexpr uint32_t line = Shape::tile_m * (uint32_t)sizeof(Out), gap = 16;
    static_assert(line % 16 == 0 && Shape::tile_n % 4 == 0, "what the copy engine takes");
    static constexpr size_t bytes =
        Shape::brings_c ? Shape::tile_n * (size_t)(line + gap) + Shape::tile_n / 4 * gap : 0;

    char *first;

    __device__ char *at(int i, int j) const {
        return first + (uint32_t)j * (line + gap) + (uint32_t)j / 4 * gap +
               (uint32_t)i * (uint32_t)sizeof(Out);
    }
    /* By one warp: starts the copies of all columns. */
    __device__ void load(const Out *tile, size_t ldc, wi_barrier *arrived) const {
        if (wi_lane() == 0)
            wi_barrier_arrive_expect(arrived, Shape::tile_n * line);
        __syncwarp();
        for (int j = wi_lane(); j < Shape::tile_n; j += 32)
            wi_bulk_load(at(0, j), tile + (size_t)j * ldc, line, arrived);
    }
};

#endif
