/* SPDX-License-Identifier: Apache-2.0 */
/* Copies from global to shared memory that a thread starts and later waits for: 4, 8 or 16 bytes
 * each, at addresses that are multiples of their size. */
#ifndef WI_ASYNC_CUH
#define WI_ASYNC_CUH

#include <stdint.h>

#include "cuda/launch.cuh"

#ifdef WEFT_EMU
template <int bytes, bool whole_lines = false>
inline void wi_async_copy(void *shared, const void *global, bool there) {
    emu_async_copy(shared, global, bytes, there ? bytes : 0);
}
template <int bytes>
inline void wi_async_copy(void *shared, const void *global) {
    emu_async_copy(shared, global, bytes, bytes);
}
template <int bytes, unsigned to_behind = 0, unsigned from_behind = 0>
inline void wi_async_copy_if(bool condition, void *shared, const void *global) {
    if (condition)
        emu_async_copy((char *)shared + to_behind, (const char *)global + from_behind, bytes,
                       bytes);
}
inline void wi_async_commit() {
    emu_async_commit();
}
template <int pending>
inline void wi_async_wait() {
    emu_async_wait(pending);
}
#else
/* Copies if `there`; else makes the bytes zero and reads nothing, so that `global` may be any
 * address. (A copy of some bytes reads the others too, and takes more instructions.) With
 * `whole_lines` the second-level cache takes in the 128 bytes around: for a matrix whose lines are
 * read on later. */
template <int bytes, bool whole_lines = false>
__device__ inline void wi_async_copy(void *shared, const void *global, bool there) {
    static_assert(bytes == 4 || bytes == 8 || bytes == 16, "what one copy may bring");
    const uint32_t to = (uint32_t)__cvta_generic_to_shared(shared);
    const int valid = there ? bytes : 0;
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

/* The same if the condition holds, of bytes so far behind those addresses. Without a branch, behind
 * which the compiler computes the addresses of each copy anew; and distances that are not added up
 * beforehand are part of the instruction. */
template <int bytes, unsigned to_behind = 0, unsigned from_behind = 0>
__device__ inline void wi_async_copy_if(bool condition, void *shared, const void *global) {
    static_assert(bytes == 4 || bytes == 8 || bytes == 16, "what one copy may bring");
    const uint32_t to = (uint32_t)__cvta_generic_to_shared(shared);
    if constexpr (bytes == 16)
        asm volatile(
            "{\n\t.reg .pred yes;\n\tsetp.ne.b32 yes, %0, 0;\n\t"
            "@yes cp.async.cg.shared.global [%1 + %3], [%2 + %4], 16;\n\t}" ::"r"((int)condition),
            "r"(to), "l"(global), "n"(to_behind), "n"(from_behind)
            : "memory");
    else
        asm volatile(
            "{\n\t.reg .pred yes;\n\tsetp.ne.b32 yes, %0, 0;\n\t"
            "@yes cp.async.ca.shared.global [%1 + %3], [%2 + %4], %5;\n\t}" ::"r"((int)condition),
            "r"(to), "l"(global), "n"(to_behind), "n"(from_behind), "n"(bytes)
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

/* For the end of an array: the first `there` elements of a chunk of 16 bytes, and zeros for the
 * others. What lies beyond them is not read. Words of 4 bytes that are not whole come at once. */
template <class T>
__device__ inline void wi_async_copy_first(T *shared, const T *global, int there) {
    constexpr int chunk = 16 / (int)sizeof(T), each = sizeof(T) < 4 ? 4 / (int)sizeof(T) : 1;
#pragma unroll 1
    for (int e = 0; e < chunk; e += each)
        if (e >= there || e + each <= there)
            wi_async_copy<each *(int)sizeof(T)>(shared + e, global + e, e < there);
        else
            for (int k = e; k < e + each; k++)
                shared[k] = k < there ? global[k] : T{};
}

#endif
