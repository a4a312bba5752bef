/* SPDX-License-Identifier: Apache-2.0 */
/* C's tile goes to memory as boxes, by the copy engine, while the next tile's products are made: of
 * 16-bit floats that are only written. The sums go to shared memory beside the ring as tensor cores
 * have them, four squares of 8 x 8 at once, and lie there as boxes do: a line is 64 rows of a
 * column. What a tile has beyond C does not go back. */
#ifndef WI_GEMM_SENT_CUH
#define WI_GEMM_SENT_CUH

#include "cuda/boxes.cuh"
#include "cuda/tensor.cuh"
#include "cuda/warp.cuh"
#include "gemm/gemm_cuda.cuh"

template <class Shape>
struct wi_gemm_sent {
    using Out = typename Shape::Out;
    using Sum = typename Shape::Sum;
    static constexpr int rows = wi_box_line / (int)sizeof(Out); /* of a box */
    static constexpr uint32_t box_bytes = (uint32_t)Shape::tile_n * wi_box_line;
    static constexpr size_t bytes = Shape::sends_c ? Shape::tile_m / rows * (size_t)box_bytes : 0;

    struct barriers {
        wi_barrier free, full; /* the tile's place may be written; the tile may go */
    };
    char *first;
    barriers &b;

    /* By one thread, before any other uses the barriers. */
    __device__ void begin() const {
        wi_barrier_init(&b.free, 1);
        wi_barrier_init(&b.full, Shape::adders);
    }
    /* By an adder's warp: its sums to their place. */
    template <class Adder>
    __device__ void put(const Adder &sums, Sum alpha, uint32_t parity) const {
        wi_barrier_wait(&b.free, parity ^ 1);
        put_half(sums, 0, alpha);
        put_half(sums, 1, alpha);
        wi_bulk_fence();
        __syncwarp();
        if (wi_lane() == 0)
            wi_barrier_arrive(&b.full);
    }
    /* By one lane, when the tile is there: sends it to (row, column) of C. */
    __device__ void send(const wi_boxes *c, size_t row, size_t column, uint32_t parity) const {
        wi_barrier_wait(&b.full, parity);
#pragma unroll
        for (int box = 0; box < Shape::tile_m / rows; box++)
            wi_box_store(c, (int)row + box * rows, (int)column, 0,
                         first + (uint32_t)box * box_bytes);
        wi_bulk_commit();
        wi_bulk_wait_read<0>();
        wi_barrier_arrive(&b.free);
    }
    /* By that lane, before it ends. */
    __device__ static void finish() {
        wi_bulk_wait_all();
    }

  private:
    /* Where eight rows from `row` on are in a column. */
    __device__ char *at(int row, int column) const {
        const uint32_t line = (uint32_t)(row / rows) * box_bytes + (uint32_t)(column * wi_box_line);
        return first + line + (uint32_t)((row % rows / 8 ^ column % 8) * 16);
    }
    template <class Adder>
    __device__ void put_half(const Adder &sums, int half, Sum alpha) const {
        using pair = wi_gemm_run<Out, 2>;
        const int lane = wi_lane(), column = sums.warp_column() + 8 * half + lane % 8;
        uint32_t four[4];
        sums.each_square(half, 0, Shape::tile_m, [&](int row, Sum x, Sum y) {
            const pair two = {{(Out)wi_gemm_scaled(alpha, x), (Out)wi_gemm_scaled(alpha, y)}};
            const int square = row / 8 % 4;
            memcpy(&four[square], &two, sizeof two);
            if (square == 3)
                wi_store_matrices(four, at(row - 24 + lane / 8 * 8, column));
        });
    }
};

#endif
