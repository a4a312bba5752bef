/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors as wide as the instruction set's registers. For *_simd.c files. */
#ifndef WI_CPU_VECTOR_H
#define WI_CPU_VECTOR_H

#include <stdint.h>

#if defined(__AVX512F__)
#    define WI_VECTOR_BYTES 64
#elif defined(__AVX2__)
#    define WI_VECTOR_BYTES 32
#else
#    define WI_VECTOR_BYTES 16
#endif

typedef double wi_doubles __attribute__((vector_size(WI_VECTOR_BYTES)));
typedef int64_t wi_longs __attribute__((vector_size(WI_VECTOR_BYTES)));

#define WI_INLINE static inline __attribute__((always_inline))

#endif
