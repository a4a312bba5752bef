/* SPDX-License-Identifier: Apache-2.0 */
/* C's tile in shared memory, beside the ring. All blocks end their tiles at about the same time: if
 * their threads then read C and wrote it, the second-level cache would be the limit, and tensor
 * cores would wait. So a warp of its own, the carrier, has the copy engine bring the tile while its
 * products are made, and take it back while those of the next one are. */
#ifndef WI_GEMM_CARRIED_CUH
#define WI_GEMM_CARRIED_CUH

#include "cuda/bulk.cuh"
#include "cuda/warp.cuh"

/* By columns, with a gap after each and one more after every fourth. Eight lanes at a time access
 * two rows of four columns (gemm_doubles.cuh): with columns 4 apart and rows 8 apart all of them
 * use different banks, and with rows 2 apart two use the same; with columns 2 and 8 apart every
 * bank is used by two. */
template <class Shape>
struct wi_gemm_carried {
    using Out = typename Shape::Out;
    static constexpr uint32_t line = Shape::tile_m * (uint32_t)sizeof(Out), gap = 16;
    static_assert(line % 16 == 0 && Shape::tile_n % 4 == 0, "what the copy engine takes");
    static constexpr size_t bytes =
        Shape::carries_c ? Shape::tile_n * (size_t)(line + gap) + Shape::tile_n / 4 * gap : 0;

    struct barriers {
        wi_barrier ready, done; /* to be changed; to be taken back */
    };
    char *first;
    barriers &b;

    __device__ char *at(int i, int j) const {
        return first + (uint32_t)j * (line + gap) + (uint32_t)j / 4 * gap +
               (uint32_t)i * (uint32_t)sizeof(Out);
    }
    /* By one thread, before any other uses the barriers. */
    __device__ void begin() const {
        wi_barrier_init(&b.ready, 32);
        wi_barrier_init(&b.done, Shape::adders);
    }
    /* By the carrier: brings the tile, or makes room for one. Each lane has columns of its own. */
    __device__ void load(const Out *tile, size_t ldc, bool is_added_to) const {
        static_assert(Shape::tile_n % 32 == 0, "as many columns for each lane");
        if (is_added_to)
            wi_barrier_arrive_expect(&b.ready, Shape::tile_n / 32 * line);
        else
            wi_barrier_arrive(&b.ready);
        for (int j = wi_lane(); is_added_to && j < Shape::tile_n; j += 32)
            wi_bulk_load(at(0, j), tile + (size_t)j * ldc, line, &b.ready);
    }
    /* By the carrier, when the tile is done: takes it back. */
    __device__ void store(Out *tile, size_t ldc, uint32_t parity) const {
        wi_barrier_wait(&b.done, parity);
        for (int j = wi_lane(); j < Shape::tile_n; j += 32)
            wi_bulk_store(tile + (size_t)j * ldc, at(0, j), line);
        wi_bulk_commit();
        wi_bulk_wait_read<0>();
    }
    /* By an adder's warp, before and after it changes its part. */
    __device__ void take(uint32_t parity) const {
        wi_barrier_wait(&b.ready, parity);
    }
    __device__ void give_back() const {
        wi_bulk_fence();
        __syncwarp();
        if (wi_lane() == 0)
            wi_barrier_arrive(&b.done);
    }
};

#endif
