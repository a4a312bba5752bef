/* SPDX-License-Identifier: Apache-2.0 */
/* The tiles that a triangle of C has something of, and a lower one's rows below it, numbered as
 * blocks go: down in bands of columns of tiles, as the tiles of all of C do. A band is as wide as
 * `high` tiles are high, so that the diagonal leaves it at a corner: rows of tiles that it crosses,
 * the band's stair, have some tiles of the triangle, those on one side of it have all, and those on
 * the other none. */
#ifndef WI_GEMM_TRIANGLE_CUH
#define WI_GEMM_TRIANGLE_CUH

#include "gemm/gemm_cuda.cuh"

/* All of C is in memory, so 32 bits count its tiles. */
template <class Shape>
struct wi_gemm_triangle {
    static constexpr uint32_t tile_m = Shape::tile_m, tile_n = Shape::tile_n;

    /* The least that is no less than a band of all of C. */
    static constexpr uint32_t columns_of_band() {
        uint32_t columns = Shape::band;
        while (columns * tile_n % tile_m != 0)
            columns++;
        return columns;
    }
    static constexpr uint32_t wide = columns_of_band(), high = wide * tile_n / tile_m;

    /* Columns of tiles of row r of a stair. */
    struct step {
        uint32_t first, end;
        __host__ __device__ constexpr uint32_t count() const {
            return first < end ? end - first : 0;
        }
    };
    __host__ __device__ static constexpr step step_of(uint32_t r, uint32_t columns, bool is_upper) {
        const uint32_t end = (r * tile_m + tile_m - 1) / tile_n + 1;
        return is_upper ? step{r * tile_m / tile_n, columns}
                        : step{0, end < columns ? end : columns};
    }
    __host__ __device__ static constexpr uint32_t stair(uint32_t rows, uint32_t columns,
                                                        bool is_upper) {
        uint32_t tiles = 0;
        for (uint32_t r = 0; r < rows; r++)
            tiles += step_of(r, columns, is_upper).count();
        return tiles;
    }

    uint32_t tiles_m, tiles_n;
    bool is_upper;

    __host__ __device__ wi_gemm_triangle(size_t m, size_t n, wi_gemm_wanted wanted)
        : tiles_m((uint32_t)wi_gemm_pieces(m, tile_m)),
          tiles_n((uint32_t)wi_gemm_pieces(n, tile_n)), is_upper(wanted == WI_UPPER) {}

    /* Of the band that begins in row `first` of tiles, and is not the last. */
    __host__ __device__ uint32_t tiles_of_band(uint32_t first) const {
        constexpr uint32_t of_lower = stair(high, wide, false), of_upper = stair(high, wide, true);
        return is_upper ? of_upper + first * wide : of_lower + (tiles_m - first - high) * wide;
    }
    uint32_t count() const {
        uint32_t tiles = 0, row = 0, column = 0;
        for (; column + wide < tiles_n; column += wide, row += high)
            tiles += tiles_of_band(row);
        const uint32_t columns = tiles_n - column;
        return tiles + (is_upper ? row * columns : 0) + stair(tiles_m - row, columns, is_upper);
    }

    __device__ wi_gemm_place place(size_t tile) const {
        uint32_t left = (uint32_t)tile, row = 0, column = 0;
        for (; column + wide < tiles_n; column += wide, row += high) {
            const uint32_t tiles = tiles_of_band(row);
            if (left < tiles)
                break;
            left -= tiles;
        }
        const uint32_t columns = tiles_n - column < wide ? tiles_n - column : wide;
        const uint32_t above = is_upper ? row * columns : 0;
        if (left < above)
            return {left / columns, column + left % columns};
        left -= above;
#pragma unroll 1
        for (uint32_t r = 0; r < high; r++) {
            const step s = step_of(r, columns, is_upper);
            if (left < s.count())
                return {row + r, column + s.first + left};
            left -= s.count();
        }
        return {row + high + left / columns, column + left % columns};
    }

    /* Is all of the tile that begins there wanted? */
    __device__ static bool has_all_of(size_t row, size_t column, wi_gemm_wanted wanted) {
        return wanted == WI_ALL ||
               (wanted == WI_LOWER ? row + 1 >= column + tile_n : row + tile_m <= column + 1);
    }
};

#endif
