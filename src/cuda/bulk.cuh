/* SPDX-License-Identifier: Apache-2.0 */
/* Bulk asynchronous copies between global and shared memory, and the barriers that signal their
 * completion (compute capability 9.0). Addresses and sizes are multiples of 16 bytes. */
#ifndef WI_BULK_CUH
#define WI_BULK_CUH

#include <stdint.h>

#ifdef WI_SHARED_PTX
#    error "name cuda/bulk.cuh in the .cu file too: the build then compiles it for 9.0 by itself"
#endif

/* A barrier in shared memory. A phase ends when `count` threads have arrived and all announced
 * bytes have been copied. */
using wi_barrier = uint64_t;

#ifdef WEFT_EMU
#    include "cuda/bulk_emu.cuh"
#else
__device__ inline uint32_t wi_shared_address(const void *p) {
    return (uint32_t)__cvta_generic_to_shared(p);
}

__device__ inline void wi_barrier_init(wi_barrier *b, uint32_t count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(wi_shared_address(b)), "r"(count)
                 : "memory");
}

/* Call after initializing barriers and before using them: makes them visible to the copy engine. */
__device__ inline void wi_barrier_publish() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ inline void wi_barrier_arrive(wi_barrier *b) {
    asm volatile("{\n\t.reg .b64 state;\n\t"
                 "mbarrier.arrive.shared::cta.b64 state, [%0];\n\t}" ::"r"(wi_shared_address(b))
                 : "memory");
}

/* Arrives at the same barrier of block `rank` of the cluster, to say that this block's copy engine
 * and tensor cores are done with something; what the thread itself wrote there does not follow. */
__device__ inline void wi_barrier_arrive_at(wi_barrier *b, unsigned rank) {
    asm volatile("{\n\t.reg .b32 there;\n\t"
                 "mapa.shared::cluster.u32 there, %0, %1;\n\t"
                 "mbarrier.arrive.shared::cluster.b64 _, [there];\n\t}" ::"r"(wi_shared_address(b)),
                 "r"(rank)
                 : "memory");
}

/* Arrives, and announces how many bytes a copy will bring. */
__device__ inline void wi_barrier_arrive_expect(wi_barrier *b, uint32_t bytes) {
    asm volatile("{\n\t.reg .b64 state;\n\t"
                 "mbarrier.arrive.expect_tx.shared::cta.b64 state, [%0], %1;\n\t}" ::"r"(
                     wi_shared_address(b)),
                 "r"(bytes)
                 : "memory");
}

/* Waits until the phase of that parity (0, 1, 0, ...) has ended. */
__device__ inline void wi_barrier_wait(wi_barrier *b, uint32_t parity) {
    uint32_t done = 0;
    while (!done)
        asm volatile("{\n\t.reg .pred p;\n\t"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, p;\n\t}"
                     : "=r"(done)
                     : "r"(wi_shared_address(b)), "r"(parity)
                     : "memory");
}

/* Copies global to shared memory; completion is signalled on b. */
__device__ inline void wi_bulk_load(void *shared, const void *global, uint32_t bytes,
                                    wi_barrier *b) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(wi_shared_address(shared)),
                 "l"(global), "r"(bytes), "r"(wi_shared_address(b))
                 : "memory");
}

/* Copies shared to global memory, as part of the calling thread's current group of stores. */
__device__ inline void wi_bulk_store(void *global, const void *shared, uint32_t bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global),
                 "r"(wi_shared_address(shared)), "r"(bytes)
                 : "memory");
}

/* Ends the calling thread's current group of stores. */
__device__ inline void wi_bulk_commit() {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/* Waits until all but the latest `pending` groups of this thread have read their shared memory. */
template <int pending>
__device__ inline void wi_bulk_wait_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}

/* Waits until all groups of this thread have been written to global memory. */
__device__ inline void wi_bulk_wait_all() {
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

/* Each thread that wrote shared memory calls this before the copy engine reads or writes it; each
 * that read some, before it lets the copy engine write there. A barrier alone is not enough: on an
 * H200 a thread's arrival overtook its own loads, and these brought what came next. */
__device__ inline void wi_bulk_fence() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* A thread that has learnt that others wrote to global memory calls this before it has the copy
 * engine read that. */
__device__ inline void wi_bulk_fence_memory() {
    asm volatile("fence.proxy.async.global;" ::: "memory");
}
#endif

#endif
