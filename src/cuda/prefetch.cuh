/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is brought nearer before it is read. */
#ifndef WI_PREFETCH_CUH
#define WI_PREFETCH_CUH

#include <stdint.h>

#ifdef WI_SHARED_PTX
#    error                                                                                         \
        "name cuda/prefetch.cuh in the .cu file too: the build then compiles it for 9.0 by itself"
#endif

/* Brings global memory to the second-level cache; before compute capability 9.0 it does nothing.
 * Address and size are multiples of 16 bytes. */
#ifdef WEFT_EMU
inline void wi_bulk_prefetch(const void *global, uint32_t bytes) {
    emu_bulk_prefetch(global, bytes);
}
#else
__device__ inline void wi_bulk_prefetch(const void *global, uint32_t bytes) {
#    if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(global), "r"(bytes));
#    endif
}
#endif

#endif
