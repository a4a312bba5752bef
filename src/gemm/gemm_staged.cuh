/* SPDX-License-Identifier: Apache-2.0 */
/* The sums' way to C where tensor cores leave a thread pairs of them in many columns: through
 * shared memory of the warp's own, so that it reads and writes C by whole lines of memory. Eight
 * columns go at a time, up to 512 bytes of each. What C was is read for one such piece while the
 * one before is on its way, and all of a piece at once: where the reads stood beside their uses,
 * under the question whether beta is 0, the compiler made them one by one. */
#ifndef WI_GEMM_STAGED_CUH
#define WI_GEMM_STAGED_CUH

#include "cuda/memory.cuh"
#include "cuda/tensor.cuh"
#include "cuda/warp.cuh"
#include "gemm/gemm_cuda.cuh"

/* A piece as it lies there: a column after the other, its chunks of 16 bytes shuffled so that lanes
 * that have four pairs of each of eight columns use different banks. */
template <class Staged, int tile_m>
struct wi_gemm_piece {
    static constexpr int columns = 8, width = (int)sizeof(Staged), chunk = 16, run = chunk / width;
    static constexpr int most = tile_m % 128 == 0 ? 512 / width : 64,
                         rows = tile_m < most ? tile_m : most;
    static constexpr int line = rows * width, lanes = line / chunk;       /* of a column */
    static constexpr int at_once = 32 / lanes, times = columns / at_once; /* columns, by a warp */
    static constexpr int pieces_down = tile_m / rows, pieces = 2 * pieces_down;
    static_assert(tile_m % rows == 0 && line >= 128 && rows % 32 == 0, "whole pieces");

    /* Where piece p begins. */
    __device__ static constexpr int down(int p) {
        return p % pieces_down * rows;
    }
    __device__ static constexpr int right(int p) {
        return p / pieces_down * columns;
    }
    __device__ static uint32_t at(int row, int column) {
        const int shuffled = (width == 2 ? column : column % 4 * 2) * chunk, byte = row * width;
        return (uint32_t)(column * line + byte / 128 * 128 + ((byte % 128) ^ shuffled));
    }
};

template <class Shape>
struct wi_gemm_staged {
    using Sum = typename Shape::Sum;
    static constexpr size_t of_warp = 8 * 512;
    static constexpr size_t bytes = Shape::is_staged ? Shape::adders * of_warp : 0;
    char *mine; /* 4 KiB */

    /* Stores a warp's sums in the tile, of which so many rows and columns are in C; false, and
     * nothing is done, if these do not lie in aligned runs. */
    template <class Adder, class To>
    __device__ bool store(const Adder &sums, To *tile, size_t ldc, size_t rows, size_t columns,
                          Sum alpha, Sum beta) const {
        if (!has_runs<Sum>(tile, ldc, rows))
            return false;
        if (beta != (Sum)0 || (sizeof(To) < sizeof(Sum) && !has_runs<To>(tile, ldc, rows)))
            store_as<true, Sum>(sums, tile, ldc, rows, columns, alpha, beta);
        else
            store_as<false, To>(sums, tile, ldc, rows, columns, alpha, beta);
        return true;
    }

    /* The same where C is only written, and lies in such runs. */
    template <class Adder, class To>
    __device__ void write(const Adder &sums, To *tile, size_t ldc, size_t rows, size_t columns,
                          Sum alpha) const {
        store_as<false, To>(sums, tile, ldc, rows, columns, alpha, (Sum)0);
    }

  private:
    /* Are there runs of as many as fit 16 bytes of Staged alone? */
    template <class Staged, class To>
    __device__ static bool has_runs(const To *tile, size_t ldc, size_t rows) {
        constexpr size_t run = 16 / sizeof(Staged);
        return (uintptr_t)tile % (run * sizeof(To)) == 0 && ldc % run == 0 && rows % run == 0;
    }

    /* Sums are scaled and rounded to Staged on their way: if C is read, Staged is Sum. */
    template <bool reads, class Staged, class Adder, class To>
    __device__ void store_as(const Adder &sums, To *tile, size_t ldc, size_t rows, size_t columns,
                             Sum alpha, Sum beta) const {
        using piece = wi_gemm_piece<Staged, Shape::tile_m>;
        using run = wi_gemm_run<To, piece::run>;
        const int column = wi_lane() / piece::lanes, row = wi_lane() % piece::lanes * piece::run;
        const int across = sums.warp_column() + column;
        const int rows_left = in_int(rows) - row, columns_left = in_int(columns) - across;
        To *const first = tile + (size_t)row + (size_t)across * ldc;
        const size_t step = piece::at_once * ldc;
        const auto begin = [&](int p) {
            return first + piece::down(p) + (piece::right(p) ? piece::columns * ldc : 0);
        };
        const auto is_there = [&](int p, int time) {
            return piece::down(p) < rows_left &&
                   piece::right(p) + time * piece::at_once < columns_left;
        };
        run old[piece::pieces][piece::times] = {};
        const auto read = [&](int p) {
            const To *from = begin(p);
#pragma unroll
            for (int time = 0; time < piece::times; time++, from += step)
                if (is_there(p, time))
                    old[p][time] = *(const run *)from;
        };
        const bool is_added = reads && beta != (Sum)0;
        if (is_added)
            read(0);
#pragma unroll
        for (int p = 0; p < piece::pieces; p++) {
            put<piece, Staged>(sums, p, alpha);
            if (is_added && p + 1 < piece::pieces)
                read(p + 1);
            __syncwarp();
            To *to = begin(p);
#pragma unroll
            for (int time = 0; time < piece::times; time++, to += step) {
                const auto x = *(const wi_gemm_run<Staged, piece::run>
                                     *)(mine + piece::at(row, column + time * piece::at_once));
                /* by one access, which the compiler makes several of behind a question */
                wi_store_if(is_there(p, time), (run *)to, added_to<reads>(old[p][time], x, beta));
            }
            __syncwarp();
        }
    }

    /* What is left of C beyond a tile does not count. */
    __device__ static int in_int(size_t extent) {
        return extent < 1024 ? (int)extent : 1024;
    }
    /* A piece's sums to shared memory, 16-bit floats by four squares at once. */
    template <class piece, class Staged, class Adder>
    __device__ void put(const Adder &sums, int p, Sum alpha) const {
        using pair = wi_gemm_run<Staged, 2>;
        const int half = piece::right(p) / piece::columns, lane = wi_lane();
        uint32_t four[4];
        sums.each_square(half, piece::down(p), piece::rows, [&](int row, Sum x, Sum y) {
            const pair two = {{(Staged)wi_gemm_scaled(alpha, x), (Staged)wi_gemm_scaled(alpha, y)}};
            if constexpr (sizeof(Staged) == 2) {
                const int square = row / 8 % 4;
                memcpy(&four[square], &two, sizeof two);
                if (square == 3)
                    wi_store_matrices(four, mine + piece::at(row - 24 + lane / 8 * 8, lane % 8));
            } else {
                *(pair *)(mine + piece::at(row + lane % 4 * 2, lane / 4)) = two;
            }
        });
    }
    template <bool reads, class To, class Staged, int count>
    __device__ static wi_gemm_run<To, count>
    added_to(wi_gemm_run<To, count> old, const wi_gemm_run<Staged, count> &x, Sum beta) {
        if constexpr (!reads && sizeof(To) == sizeof(Staged))
            return x;
        else {
#pragma unroll
            for (int q = 0; q < count; q++) {
                const Sum sum =
                    wi_plus((Sum)x.at[q], wi_gemm_scaled(beta, (Sum)wi_load(old.at[q])));
                old.at[q] = (To)(beta != (Sum)0 ? sum : (Sum)x.at[q]);
            }
            return old;
        }
    }
};

#endif
