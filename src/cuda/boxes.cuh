/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes of a matrix that the copy engine brings to shared memory, or back (compute capability 9.0).
 * A box is as many lines as the matrix was described with, of 128 bytes each, one after the other.
 * The eight chunks of 16 bytes of a line are shuffled, so that the same chunk of neighbouring lines
 * is in different banks: chunk c of line l is where chunk c ^ (l % 8) would be. The box begins at a
 * multiple of 1024 bytes. What a box has beyond the matrix is 0, and does not go back. A plain box
 * has lines of any multiple of 16 bytes, whose chunks are where they are, and begins at a multiple
 * of 128 bytes. A narrow box has lines of 64 bytes, whose chunk c is where chunk c ^ (l / 2 % 4)
 * would be, and begins at a multiple of 512 bytes. In memory every box begins at a multiple of 16
 * bytes within its lines; so x is a multiple of 16 if elements are bytes. */
#ifndef WI_BOXES_CUH
#define WI_BOXES_CUH

#include "core/gpu_boxes.h"
#include "cuda/bulk.cuh"

constexpr int wi_box_line = 128; /* bytes */
constexpr int wi_narrow_box_line = 64;
constexpr size_t wi_box_align = 1024;

/* Where the byte at `at` of a box is. */
__device__ constexpr uint32_t wi_box_place(uint32_t at) {
    return at ^ (at >> 7 & 7) << 4;
}
__device__ constexpr uint32_t wi_narrow_box_place(uint32_t at) {
    return at ^ (at >> 7 & 3) << 4;
}

/* The next slot of a ring of `slots` that boxes come to, and the parity of how often it has been
 * used. */
template <int slots>
struct wi_box_turn {
    int slot;
    uint32_t parity;
    __device__ void next() {
        if (++slot == slots) {
            slot = 0;
            parity ^= 1;
        }
    }
};

/* Starts the copy of the box whose first element is (x, y) of matrix z; completion is signalled on
 * b. One thread. */
#ifdef WEFT_EMU
inline void wi_box_load(void *shared, const wi_boxes *from, int x, int y, int z, wi_barrier *b) {
    emu_box_load(shared, from, x, y, z, b);
}
inline void wi_box_load_to(void *shared, const wi_boxes *from, int x, int y, int z, wi_barrier *b,
                           unsigned blocks, EMU_SITE("wi_box_load_to")) {
    emu_box_load_to(shared, from, x, y, z, b, blocks, at);
}
inline void wi_box_store(const wi_boxes *to, int x, int y, int z, const void *shared) {
    emu_box_store(to, x, y, z, shared);
}
inline void wi_walk_load(void *shared, const wi_boxes *from, const int (&at)[4], int column,
                         int row, wi_barrier *b) {
    emu_walk_load(shared, from, at, column, row, b);
}
#else
__device__ inline void wi_box_load(void *shared, const wi_boxes *from, int x, int y, int z,
                                   wi_barrier *b) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(wi_shared_address(shared)),
                 "l"(from), "r"(x), "r"(y), "r"(z), "r"(wi_shared_address(b))
                 : "memory");
}

/* The same to each block of the cluster that has its bit in `blocks`: to the same place of its
 * shared memory, with completion on its own barrier at b's place. */
__device__ inline void wi_box_load_to(void *shared, const wi_boxes *from, int x, int y, int z,
                                      wi_barrier *b, unsigned blocks) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(wi_shared_address(shared)),
        "l"(from), "r"(x), "r"(y), "r"(z), "r"(wi_shared_address(b)), "h"((uint16_t)blocks)
        : "memory");
}

/* Copies a box from shared memory to where its first element is (x, y) of matrix z, as part of the
 * calling thread's current group of stores (bulk.cuh). */
__device__ inline void wi_box_store(const wi_boxes *to, int x, int y, int z, const void *shared) {
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group "
                 "[%0, {%1, %2, %3}], [%4];" ::"l"(to),
                 "r"(x), "r"(y), "r"(z), "r"(wi_shared_address(shared))
                 : "memory");
}

/* wi_box_load of images, gpu_boxes.h: the walk begins at channel, column, row and image `at`, where
 * column and row are of the frame; what comes is as many columns and rows further, 0 to 255. */
__device__ inline void wi_walk_load(void *shared, const wi_boxes *from, const int (&at)[4],
                                    int column, int row, wi_barrier *b) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8};" ::"r"(wi_shared_address(shared)),
        "l"(from), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(wi_shared_address(b)),
        "h"((uint16_t)column), "h"((uint16_t)row)
        : "memory");
}
#endif

#endif
