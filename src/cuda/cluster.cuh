/* SPDX-License-Identifier: Apache-2.0 */
/* Thread-block clusters (compute capability 9.0): blocks that run at the same time, have a common
 * barrier and can access each other's shared memory. Kernels that use them are launched with
 * WEFT_LAUNCH_CLUSTER or WEFT_LAUNCH_FIXED_CLUSTER of launch.cuh. */
#ifndef WI_CLUSTER_CUH
#define WI_CLUSTER_CUH

#include <stdint.h>

/* Set for sources whose PTX for 8.0 also serves 9.0 (cmake/WeftCuda.cmake); clusters need PTX of
 * their own. */
#ifdef WI_SHARED_PTX
#    error "name cuda/cluster.cuh in the .cu file too: the build then compiles it for 9.0 by itself"
#endif

#ifdef WEFT_EMU
inline unsigned wi_cluster_rank() {
    return emu_here()->rank;
}
inline unsigned wi_cluster_size() {
    return emu_here()->cluster;
}
inline void wi_cluster_sync(EMU_SITE("wi_cluster_sync")) {
    emu_cluster_barrier(at);
}
inline void wi_cluster_arrive_read() {}
inline void wi_cluster_wait(EMU_SITE("wi_cluster_wait")) {
    emu_cluster_barrier(at);
}
template <class T>
inline T *wi_cluster_map(T *mine, unsigned rank, EMU_SITE("wi_cluster_map")) {
    return (T *)emu_cluster_map((void *)mine, rank, at);
}
#else
/* The number of this block in its cluster, and the number of blocks in it. */
__device__ inline unsigned wi_cluster_rank() {
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
__device__ inline unsigned wi_cluster_size() {
    unsigned size;
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    return size;
}

/* The barrier of all threads of the cluster. Memory written before it, shared memory of all blocks
 * included, is visible to all after it. Needed before the first access to another block's shared
 * memory, and between the last such access and the end of the kernel. */
__device__ inline void wi_cluster_sync() {
    asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
}

/* The barrier in two halves; between them a thread does work that no other block waits for. The
 * first half says that this thread has read what it needs of its block's shared memory, so that
 * other blocks may write there. It does not publish what this block wrote. The first fence is for
 * loads, which an arrival can overtake (bulk.cuh). */
__device__ inline void wi_cluster_arrive_read() {
    asm volatile("fence.proxy.async.shared::cta;\n\tfence.acq_rel.cta;\n\t"
                 "barrier.cluster.arrive.relaxed;" ::
                     : "memory");
}
__device__ inline void wi_cluster_wait() {
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

/* The address in block `rank`'s shared memory of what is at `mine` in this block's. */
template <class T>
__device__ inline T *wi_cluster_map(T *mine, unsigned rank) {
    uint64_t there;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(mine), "r"(rank));
    return (T *)there;
}
#endif

#endif
