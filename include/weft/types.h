/* SPDX-License-Identifier: Apache-2.0 */
/* The element types every operation understands, and the two 16-bit floats C17 lacks. */
#ifndef WEFT_TYPES_H
#define WEFT_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "weft/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The numeric types. The values are part of the ABI: new types are added at the end. */
typedef enum weft_type {
    WEFT_I8 = 0,
    WEFT_I16,
    WEFT_I32,
    WEFT_I64,
    WEFT_U8,
    WEFT_U16,
    WEFT_U32,
    WEFT_U64,
    WEFT_F16,  /* IEEE 754 binary16 */
    WEFT_BF16, /* bfloat16: the upper half of a binary32 */
    WEFT_F32,
    WEFT_F64
} weft_type;

#define WEFT_TYPE_COUNT 12

/* The storage of the 16-bit floats. */
typedef struct weft_f16 {
    uint16_t bits;
} weft_f16;
typedef struct weft_bf16 {
    uint16_t bits;
} weft_bf16;

/* Bytes of one element; 0 if `type` is not a weft_type. */
WEFT_API size_t weft_type_size(weft_type type);

/* "i8" ... "f64"; "?" if `type` is not a weft_type. */
WEFT_API const char *weft_type_name(weft_type type);

/* Conversions round to nearest, ties to even; NaN stays NaN; overflow gives infinity. */
WEFT_API weft_f16 weft_f16_from_float(float value);
WEFT_API float weft_f16_to_float(weft_f16 value);
WEFT_API weft_bf16 weft_bf16_from_float(float value);
WEFT_API float weft_bf16_to_float(weft_bf16 value);

#ifdef __cplusplus
}
#else

/* The weft_type of what pointer `p` points at, WEFT_U8 for a bool. Other element types do not
 * compile, nor does plain char, which may have a sign or not. */
#    define weft_type_of(p)                                                                        \
        _Generic(*(p), _Bool                                                                       \
                 : WEFT_U8, signed char                                                            \
                 : WEFT_I8, short                                                                  \
                 : WEFT_I16, int                                                                   \
                 : WEFT_I32, long                                                                  \
                 : (sizeof(long) == 8 ? WEFT_I64 : WEFT_I32), long long                            \
                 : WEFT_I64, unsigned char                                                         \
                 : WEFT_U8, unsigned short                                                         \
                 : WEFT_U16, unsigned int                                                          \
                 : WEFT_U32, unsigned long                                                         \
                 : (sizeof(long) == 8 ? WEFT_U64 : WEFT_U32), unsigned long long                   \
                 : WEFT_U64, weft_f16                                                              \
                 : WEFT_F16, weft_bf16                                                             \
                 : WEFT_BF16, float                                                                \
                 : WEFT_F32, double                                                                \
                 : WEFT_F64)

#endif
#endif
