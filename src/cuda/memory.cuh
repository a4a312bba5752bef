/* SPDX-License-Identifier: Apache-2.0 */
/* Wide and ordered memory accesses. CUDA C has no expression for the PTX used here. */
#ifndef WI_MEMORY_CUH
#define WI_MEMORY_CUH

#include <stdint.h>
#include <string.h>

/* The widest access that a thread can make: as many elements of T as fit 16 bytes. */
template <class T>
struct alignas(16) wi_vector {
    static constexpr int count = 16 / sizeof(T);
    T at[count];
};

/* How many elements p lies past the last 16-byte boundary. */
template <class T>
__host__ __device__ inline size_t wi_past_boundary(const T *p) {
    return ((uintptr_t)p % 16) / sizeof(T);
}

__host__ __device__ inline bool wi_is_aligned(const void *p) {
    return (uintptr_t)p % 16 == 0;
}

/* Loads a vector from an array of any alignment; aligned: wi_is_aligned(p). */
template <class T>
__device__ inline wi_vector<T> wi_load_vector(const T *p, bool aligned) {
    if (aligned)
        return *(const wi_vector<T> *)p;
    wi_vector<T> v;
#pragma unroll
    for (int e = 0; e < wi_vector<T>::count; e++)
        v.at[e] = p[e];
    return v;
}

/* Reads what nobody reads again for a long time, or writes it: the caches keep other data rather
 * than this. */
template <class T>
__device__ inline T wi_load_once(const T *p) {
#ifdef WEFT_EMU
    return *p;
#else
    return __ldcs(p);
#endif
}
template <class T>
__device__ inline void wi_store_once(T *p, T x) {
#ifdef WEFT_EMU
    *p = x;
#else
    __stcs(p, x);
#endif
}

/* Begins to bring the 128 bytes around p to the second-level cache. */
#ifdef WEFT_EMU
inline void wi_prefetch(const void *) {}
#else
__device__ inline void wi_prefetch(const void *p) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
}
#endif

/* Two words that are written and read together: a reader never sees one of each of two writes. */
struct alignas(16) wi_pair {
    uint64_t value, flag;
};

#ifdef WEFT_EMU
inline wi_pair wi_read_pair(const wi_pair *p, EMU_SITE("wi_read_pair")) {
    return emu_ordered_read(p, at);
}

inline void wi_write_pair(wi_pair *p, uint64_t value, uint64_t flag, EMU_SITE("wi_write_pair")) {
    emu_ordered_write(p, wi_pair{value, flag}, at);
}

/* Reads a word that one block writes while others read it. */
inline uint32_t wi_read_word(const uint32_t *p, EMU_SITE("wi_read_word")) {
    return emu_ordered_read(p, at);
}

inline void wi_write_word(uint32_t *p, uint32_t word, EMU_SITE("wi_write_word")) {
    emu_ordered_write(p, word, at);
}

/* Reads a word that others may be changing: any recent value will do. */
template <class T>
inline T wi_glance(const T *p, EMU_SITE("wi_glance")) {
    return emu_ordered_read(p, at);
}

/* Adds 1 to *next and returns its old value. Called by one thread of a warp. For atomicAdd the
 * compiler would combine the lanes' accesses into one and wait for its result at once; here the
 * wait is where the result is used. */
inline uint64_t wi_take_number(unsigned long long *next) {
    return atomicAdd(next, 1ull);
}
#else
__device__ inline wi_pair wi_read_pair(const wi_pair *p) {
    wi_pair pair;
    asm volatile("{\n\t.reg .b128 both;\n\t"
                 "ld.relaxed.gpu.global.b128 both, [%2];\n\t"
                 "mov.b128 {%0, %1}, both;\n\t}"
                 : "=l"(pair.value), "=l"(pair.flag)
                 : "l"(p)
                 : "memory");
    return pair;
}

__device__ inline void wi_write_pair(wi_pair *p, uint64_t value, uint64_t flag) {
    asm volatile("{\n\t.reg .b128 both;\n\t"
                 "mov.b128 both, {%0, %1};\n\t"
                 "st.relaxed.gpu.global.b128 [%2], both;\n\t}"
                 :
                 : "l"(value), "l"(flag), "l"(p)
                 : "memory");
}

__device__ inline uint32_t wi_read_word(const uint32_t *p) {
    uint32_t word;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(p) : "memory");
    return word;
}

__device__ inline void wi_write_word(uint32_t *p, uint32_t word) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" : : "l"(p), "r"(word) : "memory");
}

template <class T>
__device__ inline T wi_glance(const T *p) {
    return *(const volatile T *)p;
}

__device__ inline uint64_t wi_take_number(unsigned long long *next) {
    uint64_t number;
    asm volatile("atom.relaxed.gpu.global.add.u64 %0, [%1], 1;"
                 : "=l"(number)
                 : "l"(next)
                 : "memory");
    return number;
}
#endif

/* *p = x if the condition holds, without a branch, so that several such stores can be in flight
 * together. */
#ifdef WEFT_EMU
template <class T>
inline void wi_store_if(bool condition, T *p, T x) {
    if (condition)
        *p = x;
}
#else
template <class T>
__device__ inline void wi_store_if(bool condition, T *p, T x) {
    static_assert(sizeof(T) <= 16, "one access");
    uint64_t bits[2] = {};
    memcpy(bits, &x, sizeof x);
    if constexpr (sizeof(T) == 1)
        asm volatile("{\n\t.reg .pred yes;\n\tsetp.ne.b32 yes, %0, 0;\n\t"
                     "@yes st.global.b8 [%1], %2;\n\t}" ::"r"((int)condition),
                     "l"(p), "h"((uint16_t)bits[0])
                     : "memory");
    else if constexpr (sizeof(T) == 2)
        asm volatile("{\n\t.reg .pred yes;\n\tsetp.ne.b32 yes, %0, 0;\n\t"
                     "@yes st.global.b16 [%1], %2;\n\t}" ::"r"((int)condition),
                     "l"(p), "h"((uint16_t)bits[0])
                     : "memory");
    else if constexpr (sizeof(T) == 4)
        asm volatile("{\n\t.reg .pred yes;\n\tsetp.ne.b32 yes, %0, 0;\n\t"
                     "@yes st.global.b32 [%1], %2;\n\t}" ::"r"((int)condition),
                     "l"(p), "r"((uint32_t)bits[0])
                     : "memory");
    else if constexpr (sizeof(T) == 8)
        asm volatile("{\n\t.reg .pred yes;\n\tsetp.ne.b32 yes, %0, 0;\n\t"
                     "@yes st.global.b64 [%1], %2;\n\t}" ::"r"((int)condition),
                     "l"(p), "l"(bits[0])
                     : "memory");
    else
        asm volatile("{\n\t.reg .pred yes;\n\tsetp.ne.b32 yes, %0, 0;\n\t"
                     "@yes st.global.v2.b64 [%1], {%2, %3};\n\t}" ::"r"((int)condition),
                     "l"(p), "l"(bits[0]), "l"(bits[1])
                     : "memory");
}
#endif

/* Call it in every iteration of a loop that waits for another block. */
#ifdef WEFT_EMU
inline void wi_spin(EMU_SITE("wi_spin")) {
    emu_spin(at);
}
/* The same where the wait is long: looks seldom, so that those who wait for less see it sooner. */
inline void wi_rest(EMU_SITE("wi_rest")) {
    emu_spin(at);
}
/* The same where warps of this block work meanwhile, which get the turns of the one that waits. */
inline void wi_pause(EMU_SITE("wi_pause")) {
    emu_spin(at);
}
#else
__device__ inline void wi_spin() {}
__device__ inline void wi_rest() {
    __nanosleep(500);
}
__device__ inline void wi_pause() {
    __nanosleep(40);
}
#endif

#endif
