/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that are on their multiprocessors before those queued earlier have ended, so that what
 * they begin with (barriers, addresses) takes no time of its own. They are launched by
 * WEFT_LAUNCH_AHEAD. Before compute capability 9.0 they begin as any other. */
#ifndef WI_AHEAD_CUH
#define WI_AHEAD_CUH

#ifdef WI_SHARED_PTX
#    error "name cuda/ahead.cuh in the .cu file too: the build then compiles it for 9.0 by itself"
#endif

/* Waits until all that was queued earlier on the stream has ended, and what it wrote can be read.
 * Each thread calls it before it reads or writes global memory. From then on the next kernel may
 * come to its own wait. On emu kernels begin one after the other. */
#ifdef WEFT_EMU
inline void wi_wait_for_earlier() {}
#else
__device__ inline void wi_wait_for_earlier() {
#    if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#    endif
}
#endif

#endif
