/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the block that ends last: it has the results of all blocks to combine. */
#ifndef WI_TICKET_CUH
#define WI_TICKET_CUH

#include "cuda/launch.cuh"

/* Adds one to *ticket, or makes it 0 if it is `most`; returns what it was. What the caller has
 * written, or has seen written before a barrier, is seen by those who take a later ticket; and
 * behind their next barrier by their blocks. One access that orders others takes less time than
 * fences around one. */
#ifdef WEFT_EMU
inline unsigned wi_take_ticket(unsigned *ticket, unsigned most) {
    __threadfence();
    const unsigned was = atomicInc(ticket, most);
    __threadfence();
    return was;
}
#else
__device__ inline unsigned wi_take_ticket(unsigned *ticket, unsigned most) {
    unsigned was;
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                 : "=r"(was)
                 : "l"(ticket), "r"(most)
                 : "memory");
    return was;
}
#endif

/* True in every thread of the one of so many blocks that calls this last; its threads then see what
 * thread 0 of every other block has written before. If other threads have written too,
 * __syncthreads() comes first. *ticket is 0 before the launch and 0 after it. */
__device__ inline bool wi_ends_last_of(unsigned *ticket, unsigned blocks) {
    WEFT_SHARED(bool, last, );
    if (threadIdx.x == 0)
        last = wi_take_ticket(ticket, blocks - 1) == blocks - 1;
    __syncthreads();
    return last;
}

/* The same of all blocks of the kernel. */
__device__ inline bool wi_ends_last(unsigned *ticket) {
    return wi_ends_last_of(ticket, gridDim.x);
}

#endif
