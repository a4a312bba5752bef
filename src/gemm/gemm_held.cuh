/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of two bytes, for which there are no asynchronous copies: a thread holds those of a step
 * in registers, on their way from memory, until it is asked for the next step; then it puts them
 * into the slab they are for. So they take a step more than asynchronous copies do, and a ring
 * needs three slots at least. */
#ifndef WI_GEMM_HELD_CUH
#define WI_GEMM_HELD_CUH

#include "gemm/gemm_loader.cuh"

template <class T, class Slab, int threads>
struct wi_gemm_holder : wi_gemm_loader<T, Slab, threads, true> {
    using Loader = wi_gemm_loader<T, Slab, threads, true>;
    using Loader::step, Loader::turns, Loader::from, Loader::ld, Loader::line, Loader::place;
    static_assert(sizeof(T) == 2, "others are copied asynchronously");

    uint16_t held[turns];
    uint16_t *slab = NULL; /* that they are for */

    __device__ wi_gemm_holder(const T *matrix, size_t ld_, size_t first, size_t extent)
        : Loader(matrix, ld_, first, extent) {}

    /* Puts what is held. */
    __device__ void finish() {
        if (!slab)
            return;
#pragma unroll
        for (int turn = 0; turn < turns; turn++) {
            const int l = line + turn * step;
            if (Slab::lines % step == 0 || l < Slab::lines)
                slab[Slab::at_line(l, place)] = held[turn];
        }
        slab = NULL;
    }

    /* Begins to bring the tile whose k begins at p, of which `left` are there. */
    __device__ void load(T *slab_, size_t p, int left) {
        finish();
        slab = (uint16_t *)slab_;
        const uint16_t *source = (const uint16_t *)from + (Slab::along_k ? p : p * ld);
        const bool is_in_line = place < (Slab::along_k ? left : this->extent_left);
        const int lines = Slab::along_k ? this->extent_left : left;
#pragma unroll
        for (int turn = 0; turn < turns; turn++) {
            const bool there = is_in_line && line + turn * step < lines;
            held[turn] = there ? *source : (uint16_t)0;
            source += (size_t)step * ld;
        }
    }
};

#endif
