/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of operands in shared memory, and the asynchronous copies that bring them there. */
#ifndef WI_GEMM_LOADER_CUH
#define WI_GEMM_LOADER_CUH

#include "cuda/async.cuh"
#include "gemm/gemm_cuda.cuh"

/* One operand's tile: `extent` rows of A, or columns of B, by `depth` of k. In the caller's matrix
 * elements lie together along k if `by_k`; in shared memory, if `kept_by_k`. */
template <class T, int extent, int depth, bool by_k, bool kept_by_k, int pad>
struct wi_gemm_slab {
    static constexpr bool along_k = by_k, kept_along_k = kept_by_k, turned = by_k != kept_by_k;
    static constexpr int length = by_k ? depth : extent; /* of a line in the caller's matrix */
    static constexpr int lines = by_k ? extent : depth;
    static constexpr int stride = (kept_by_k ? depth : extent) + pad;
    static constexpr int size = (kept_by_k ? extent : depth) * stride;

    /* Where element p along k of row (or column) i is. */
    __device__ static constexpr int at(int i, int p) {
        return kept_by_k ? i * stride + p : p * stride + i;
    }
    /* The same by line, and place in the line, of the caller's matrix. */
    __device__ static constexpr int at_line(int line, int place) {
        return by_k ? at(line, place) : at(place, line);
    }
};

/* The part of an operand's tiles that a thread copies: the same few chunks of each tile, of 16
 * bytes where lines stay lines. Lines of the matrix begin at multiples of 16 bytes, unless chunks
 * are elements; with `whole_chunks` they are also as long, as far as they are gone through. */
template <class T, class Slab, int threads, bool by_elements, bool whole_chunks = false>
struct wi_gemm_loader {
    static constexpr int chunk = Slab::turned || by_elements ? 1 : 16 / (int)sizeof(T);
    static constexpr int chunks = Slab::length / chunk; /* in a line */
    static constexpr int step = threads / chunks;       /* lines that all threads take at once */
    static constexpr int turns = (Slab::lines + step - 1) / step;
    static_assert(Slab::length % chunk == 0 && threads % chunks == 0 && step > 0, "whole chunks");

    const T *from;   /* the thread's first chunk in the tile at k = 0 */
    size_t ld;       /* of the matrix */
    int line, place; /* of the first chunk */
    int extent_left; /* rows (or columns) of the matrix from the tile's first on, at most 2^30 */

    __device__ wi_gemm_loader(const T *matrix, size_t ld_, size_t first, size_t extent)
        : ld(ld_), line((int)threadIdx.x / chunks), place((int)threadIdx.x % chunks * chunk) {
        const size_t left = extent - first;
        extent_left = left < (1u << 30) ? (int)left : 1 << 30;
        from = Slab::along_k ? matrix + (first + (size_t)line) * ld + place
                             : matrix + first + (size_t)place + (size_t)line * ld;
    }

    /* Of a chunk of which only some elements are there, in each of the first `lines`. */
    __device__ void load_ends(T *slab, const T *source, int lines, int there) const {
#pragma unroll 1
        for (int l = line; l < Slab::lines; l += step) {
            wi_async_copy_first(slab + Slab::at_line(l, place), source, l < lines ? there : 0);
            source += (size_t)step * ld;
        }
    }

    /* Starts the copy of the tile whose k begins at p, of which `left` are there. */
    __device__ void load(T *slab, size_t p, int left) const {
        const T *source = from + (Slab::along_k ? p : p * ld);
        const int in_line = (Slab::along_k ? left : extent_left) - place;
        const int lines = Slab::along_k ? extent_left : left;
        if constexpr (chunk > 1 && !whole_chunks)
            if (in_line > 0 && in_line < chunk) {
                load_ends(slab, source, lines, in_line);
                return;
            }
#pragma unroll
        for (int turn = 0; turn < turns; turn++) {
            const int l = line + turn * step;
            if (Slab::lines % step == 0 || l < Slab::lines)
                wi_async_copy<chunk *(int)sizeof(T)>(slab + Slab::at_line(l, place), source,
                                                     in_line >= chunk && l < lines);
            source += (size_t)step * ld;
        }
    }

    /* Nothing is left to do here once all copies are started. */
    __device__ void finish() const {}
};

#endif
