/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the block that ends last: it has the results of all blocks to combine. */
#ifndef WI_TICKET_CUH
#define WI_TICKET_CUH

#include "cuda/launch.cuh"

/* True in every thread of the one of so many blocks that calls this last; its threads then see what
 * thread 0 of every other block has written before. If other threads have written too,
 * __syncthreads() comes first. *ticket is 0 before the launch and 0 after it. */
__device__ inline bool wi_ends_last_of(unsigned *ticket, unsigned blocks) {
    WEFT_SHARED(bool, last, );
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicInc(ticket, blocks - 1) == blocks - 1;
        __threadfence();
    }
    __syncthreads();
    return last;
}

/* The same of all blocks of the kernel. */
__device__ inline bool wi_ends_last(unsigned *ticket) {
    return wi_ends_last_of(ticket, gridDim.x);
}

#endif
