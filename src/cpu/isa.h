/* SPDX-License-Identifier: Apache-2.0 */
/* Instruction sets. A file named *_simd.c is compiled once for each, with WI_ISA set to base, avx2
 * or avx512. In it, WI_FOR_ISA(name) is `name` with that suffix. At run time WI_OF_ISA(isa, name)
 * is the address of the one for `isa`. */
#ifndef WI_CPU_ISA_H
#define WI_CPU_ISA_H

typedef enum wi_isa {
    WI_ISA_BASE, /* what every such processor has: SSE2 on x86-64 */
    WI_ISA_AVX2,
    WI_ISA_AVX512
} wi_isa;

/* The widest that this build and this processor support. */
wi_isa wi_cpu_isa(void);

#define WI_PASTE_(name, isa) name##_##isa
#define WI_PASTE(name, isa) WI_PASTE_(name, isa)
#ifdef WI_ISA
#    define WI_FOR_ISA(name) WI_PASTE(name, WI_ISA)
#endif

#ifdef WI_ONLY_ISA /* a build for this processor alone: -DWEFT_ISA=NATIVE */
#    define WI_OF_ISA(isa, name) ((void)(isa), &WI_PASTE(name, WI_ONLY_ISA))
#    define WI_DECLARE_ISAS(type, name) extern const type WI_PASTE(name, WI_ONLY_ISA)
#elif defined(__x86_64__)
#    define WI_OF_ISA(isa, name)                                                                   \
        ((isa) == WI_ISA_AVX512 ? &name##_avx512                                                   \
         : (isa) == WI_ISA_AVX2 ? &name##_avx2                                                     \
                                : &name##_base)
#    define WI_DECLARE_ISAS(type, name) extern const type name##_base, name##_avx2, name##_avx512
#else
#    define WI_OF_ISA(isa, name) ((void)(isa), &name##_base)
#    define WI_DECLARE_ISAS(type, name) extern const type name##_base
#endif

#endif
