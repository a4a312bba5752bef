/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the instruction sets of the processor. */
#include "cpu/isa.h"

wi_isa wi_cpu_isa(void) {
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return WI_ISA_AVX512;
    /* Every processor with AVX2 also has F16C, but not necessarily FMA. */
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return WI_ISA_AVX2;
#endif
    return WI_ISA_BASE;
}
