/* SPDX-License-Identifier: Apache-2.0 */
/* Copies from global to shared memory that a thread starts and later waits for: 4, 8 or 16 bytes
 * each, at addresses that are multiples of their size. */
#ifndef WI_ASYNC_CUH
#define WI_ASYNC_CUH

#include <stdint.h>

#include "cuda/launch.cuh"

#ifdef WEFT_EMU
template <int bytes, bool whole_lines = false>
inline void wi_async_copy(void *shared, const void *global, int valid) {
    emu_async_copy(shared, global, bytes, (size_t)valid);
}
template <int bytes>
inline void wi_async_copy(void *shared, const void *global) {
    emu_async_copy(shared, global, bytes, bytes);
}
inline void wi_async_commit() {
    emu_async_commit();
}
template <int pending>
inline void wi_async_wait() {
    emu_async_wait(pending);
}
#else
/* Copies the first `valid` bytes, a whole number of elements, and makes the others zero. Of
 * `global` nothing else is read; it may be any address if valid is 0. With `whole_lines` the
 * second-level cache takes in the 128 bytes around: for a matrix whose lines are read on later. */
template <int bytes, bool whole_lines = false>
__device__ inline void wi_async_copy(void *shared, const void *global, int valid) {
    static_assert(bytes == 4 || bytes == 8 || bytes == 16, "what one copy may bring");
    const uint32_t to = (uint32_t)__cvta_generic_to_shared(shared);
    if constexpr (bytes == 16 && whole_lines)
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to),
                     "l"(global), "r"(valid)
                     : "memory");
    else if constexpr (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global),
                     "r"(valid)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(global),
                     "n"(bytes), "r"(valid)
                     : "memory");
}

/* The same where all bytes are there: of fewer instructions. */
template <int bytes>
__device__ inline void wi_async_copy(void *shared, const void *global) {
    static_assert(bytes == 4 || bytes == 8 || bytes == 16, "what one copy may bring");
    const uint32_t to = (uint32_t)__cvta_generic_to_shared(shared);
    if constexpr (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(global), "n"(bytes)
                     : "memory");
}

/* Closes the calling thread's current group of copies. */
__device__ inline void wi_async_commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits until all but the latest `pending` groups of this thread have arrived. Other threads see
 * what has arrived behind the next barrier. */
template <int pending>
__device__ inline void wi_async_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}
#endif

#endif
