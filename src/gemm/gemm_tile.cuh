/* SPDX-License-Identifier: Apache-2.0 */
/* A block computes a tile of C from tiles of A and B that asynchronous copies bring to shared
 * memory, several steps of k ahead of the arithmetic. A Shape says how large everything is:
 *
 *   T, Out, Sum              the types
 *   tile_m, tile_n, tile_k   of C's tile, and of a step
 *   warps_m, warps_n         how warps divide C's tile
 *   warps_k                  and so many have the same part of it: each takes some groups of a step
 *   stages                   steps in shared memory at once
 *   blocks                   on a multiprocessor at once, at least
 *   by_elements              are operands copied so, as they may not be aligned?
 *   Sums<A, B>               what a thread adds up, and how: gemm_warp.cuh
 *   may_lie_along_k          in shared memory, if it does in the caller's matrix
 *   pad_by_k, pad_across     elements between lines of a tile, which keep banks apart
 *
 * A step's k is gone through in groups: while one is multiplied, the operands of the next come from
 * shared memory to registers. */
#ifndef WI_GEMM_TILE_CUH
#define WI_GEMM_TILE_CUH

#include "cuda/warp.cuh"
#include "gemm/gemm_held.cuh"

/* Of a product whose k is cut into slices, the blocks of each slice leave their sums in a matrix of
 * its own, without gaps, one after the other in `partial`; else `partial` is NULL. */
template <class Sum>
struct wi_gemm_slices {
    Sum *partial;
    size_t depth; /* of a slice, whole steps */
    wi_gemm_condition when;
};

/* Stores the sum of an element, of one slice or of all k. */
template <class T, class Out, class Sum>
__device__ inline void wi_gemm_store_slice(const wi_gemm_params<T, Out, Sum> &g,
                                           const wi_gemm_slices<Sum> &slices, size_t slice,
                                           size_t i, size_t j, Sum sum) {
    if (slices.partial)
        slices.partial[(slice * g.n + j) * g.m + i] = sum;
    else
        wi_gemm_store_either(g, i, j, sum);
}

template <class Shape, bool a_by_k, bool b_by_k>
struct wi_gemm_block {
    using T = typename Shape::T;
    using Sum = typename Shape::Sum;
    using Params = wi_gemm_params<T, typename Shape::Out, Sum>;
    static constexpr int warps_of_tile = Shape::warps_m * Shape::warps_n;
    static constexpr int threads = 32 * warps_of_tile * Shape::warps_k;
    template <int extent, bool by_k>
    using Slab = wi_gemm_slab<T, extent, Shape::tile_k, by_k, by_k && Shape::may_lie_along_k,
                              by_k && Shape::may_lie_along_k ? Shape::pad_by_k : Shape::pad_across>;
    using A = Slab<Shape::tile_m, a_by_k>;
    using B = Slab<Shape::tile_n, b_by_k>;
    using Sums = typename Shape::template Sums<A, B>;
    static constexpr bool held = Shape::by_elements && sizeof(T) == 2;
    template <class Slab>
    using Loader = std::conditional_t<held, wi_gemm_holder<T, Slab, threads>,
                                      wi_gemm_loader<T, Slab, threads, Shape::by_elements>>;
    static constexpr int stage = A::size + B::size;
    static constexpr int sums_stride = Shape::tile_m + (sizeof(Sum) == 8 ? 2 : 4);
    static constexpr size_t operand_bytes = (size_t)Shape::stages * stage * sizeof(T);
    static constexpr size_t sum_bytes = (size_t)sums_stride * Shape::tile_n * sizeof(Sum);
    static constexpr size_t shared_bytes = operand_bytes > sum_bytes ? operand_bytes : sum_bytes;
    static constexpr int groups = Sums::groups / Shape::warps_k; /* of a warp, in a step */
    static_assert(groups * Shape::warps_k == Sums::groups && groups % 2 == 0,
                  "operands take turns");
    static_assert(!held || Shape::stages >= 3, "what is held is put a step later");
    static_assert(A::size * sizeof(T) % 16 == 0 && B::size * sizeof(T) % 16 == 0, "aligned slabs");

    const Params &g;
    T *shared;
    size_t row, column; /* of the tile's first element */
    size_t first, end;  /* of k */

    /* How much of the step at p there is. */
    __device__ int left(size_t p) const {
        return p >= end ? 0 : end - p < (size_t)Shape::tile_k ? (int)(end - p) : Shape::tile_k;
    }

    /* Which of the warps that have the same part of the tile. */
    __device__ static int layer() {
        return Shape::warps_k == 1 ? 0 : (int)threadIdx.x / 32 / warps_of_tile;
    }

    /* Copies run `stages` - 1 steps ahead; and while a group is multiplied, the operands of the
     * next come from shared memory. */
    template <class Load>
    __device__ void multiply(Sums &sums, size_t steps, const Load &load) const {
        typename Sums::Operands o[2];
        int now = 0, free = Shape::stages - 1; /* slots */
        wi_async_wait<Shape::stages - 2>();
        __syncthreads();
        sums.take(shared, shared + A::size, layer(), o[0]);
        for (size_t s = 0; s < steps; s++) {
#pragma unroll
            for (int group = 0; group < groups; group++) {
                const bool last = group == groups - 1;
                if (last) {
                    free = now;
                    now = now + 1 == Shape::stages ? 0 : now + 1;
                    wi_async_wait<Shape::stages - 2>();
                    __syncthreads(); /* the next step is here, and the one before used up */
                }
                if (!last || s + 1 < steps) {
                    const T *const slab = shared + now * stage;
                    const int next = last ? 0 : group + 1;
                    sums.take(slab, slab + A::size, next * Shape::warps_k + layer(),
                              o[(group + 1) % 2]);
                }
                if (group == 0)
                    load(free);
                sums.add(o[group % 2]);
            }
        }
    }

    __device__ void add_up(Sums &sums) const {
        Loader<A> load_a(g.a, g.lda, row, g.m);
        Loader<B> load_b(g.b, g.ldb, column, g.n);
        const size_t steps = wi_gemm_pieces(end - first, Shape::tile_k);
        size_t p = first; /* of the step that is loaded next */
        const auto load = [&](int slot) {
            T *const slab = shared + slot * stage;
            if (p < end) {
                load_a.load(slab, p, left(p));
                load_b.load(slab + A::size, p, left(p));
            } else {
                load_a.finish();
                load_b.finish();
            }
            wi_async_commit();
            p += Shape::tile_k;
        };
        for (int slot = 0; slot < Shape::stages - 1; slot++)
            load(slot);
        multiply(sums, steps, load);
        wi_async_wait<0>();
    }

    /* Calls f(i, j, sum) for the elements of the tile that C has. They pass through shared memory,
     * in the operands' place, so that neighbouring threads have neighbours of a column. */
    template <class F>
    __device__ void each(const Sums &sums, const F &f) const {
        Sum *const tile = (Sum *)shared;
        const size_t rows = g.m - row, columns = g.n - column;
        __syncthreads();
#pragma unroll
        for (int l = 0; l < Shape::warps_k; l++) {
            if (l == layer())
                sums.each([&](int i, int j, Sum sum) {
                    Sum *const to = tile + i + j * sums_stride;
                    *to = l == 0 ? sum : wi_plus(*to, sum);
                });
            __syncthreads();
        }
#pragma unroll 4
        for (int e = (int)threadIdx.x; e < Shape::tile_m * Shape::tile_n; e += threads) {
            const int i = e % Shape::tile_m, j = e / Shape::tile_m;
            if ((size_t)i < rows && (size_t)j < columns)
                f(row + (size_t)i, column + (size_t)j, tile[i + j * sums_stride]);
        }
    }
};

#endif
