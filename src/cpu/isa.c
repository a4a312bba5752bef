/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out what the processor can do. */
#include "cpu/isa.h"

wi_isa wi_cpu_isa(void) {
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return WI_ISA_AVX512;
    /* Every processor with AVX2 has F16C; FMA is the one to ask for. */
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return WI_ISA_AVX2;
#endif
    return WI_ISA_BASE;
}
