/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the block that ends last: it has the results of all blocks to combine. */
#ifndef WI_TICKET_CUH
#define WI_TICKET_CUH

#include "cuda/launch.cuh"

/* True in every thread of the one block that calls this last; its threads then see what thread 0 of
 * every other block has written before. If other threads have written too, __syncthreads() comes
 * first. *ticket is 0 before the launch and 0 after it. */
__device__ inline bool wi_ends_last(unsigned *ticket) {
    WEFT_SHARED(bool, last, );
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    return last;
}

#endif
