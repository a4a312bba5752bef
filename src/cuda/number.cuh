/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that blocks wait for one by one. A number that is not there yet has all of its bits set:
 * a NaN that arithmetic does not make, and that cudaMemset can write. */
#ifndef WI_NUMBER_CUH
#define WI_NUMBER_CUH

#include <stdint.h>

#include "cuda/memory.cuh"

__device__ inline bool wi_is_awaited(double x) {
    return __double_as_longlong(x) == -1ll;
}
__device__ inline double wi_awaited() {
    return __longlong_as_double(-1ll);
}

/* Reads a number that another block may be writing; only its own value is ordered by that. */
#ifdef WEFT_EMU
inline double wi_read_number(const double *p, EMU_SITE("wi_read_number")) {
    return emu_ordered_read(p, at);
}
inline void wi_write_word_of(double *p, double x, EMU_SITE("wi_write_number")) {
    emu_ordered_write(p, x, at);
}
#else
__device__ inline double wi_read_number(const double *p) {
    double x;
    asm volatile("ld.relaxed.gpu.global.f64 %0, [%1];" : "=d"(x) : "l"(p) : "memory");
    return x;
}
__device__ inline void wi_write_word_of(double *p, double x) {
    asm volatile("st.relaxed.gpu.global.f64 [%0], %1;" : : "l"(p), "d"(x) : "memory");
}
#endif

/* The number is there from now on. */
__device__ inline void wi_write_number(double *p, double x) {
    const double usual_nan = __longlong_as_double(0x7ff8000000000000ll);
    wi_write_word_of(p, wi_is_awaited(x) ? usual_nan : x);
}

#endif
