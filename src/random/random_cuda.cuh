/* SPDX-License-Identifier: Apache-2.0 */
/* What the rungs of random on a GPU share. */
#ifndef WI_RANDOM_CUDA_CUH
#define WI_RANDOM_CUDA_CUH

#include "cuda/launch.cuh"
#include "cuda/memory.cuh"
#include "random/random.h"

constexpr unsigned wi_random_threads_each = 256, wi_random_most_grid = 0x7fffffff;

/* A grid for so many threads. */
inline unsigned wi_random_grid(uint64_t threads) {
    const uint64_t blocks = (threads + wi_random_threads_each - 1) / wi_random_threads_each;
    return (unsigned)(blocks < wi_random_most_grid ? blocks : wi_random_most_grid);
}

/* Orders a small permutation, in one block. */
weft_status wi_random_order_few(weft_context *ctx, const wi_random_args *args);

/* Writes an element of 1, 2, 4 or 8 bytes. */
__device__ inline void wi_random_put(void *x, size_t i, unsigned size, uint64_t bits) {
    if (size == 4)
        ((uint32_t *)x)[i] = (uint32_t)bits;
    else if (size == 8)
        ((uint64_t *)x)[i] = bits;
    else if (size == 2)
        ((uint16_t *)x)[i] = (uint16_t)bits;
    else
        ((uint8_t *)x)[i] = (uint8_t)bits;
}

#endif
