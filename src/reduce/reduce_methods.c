/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to add up floats, as one would write them. */
#include "reduce/reduce_methods.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "cpu/half.h"

const char *const wi_method_names[WI_METHODS] = {"naive", "pairwise", "compensated",
                                                 "double-double"};

enum {
    RUN = 32 /* elements that pairwise adds one after the other */
};

/* An f32 has at least twice the bits of the 16-bit types and two more, so a sum of two of them that
 * is rounded to f32 first is rounded to their type as if it had been exact. */
static float rounded_f16(float sum) {
    return wi_f16_widen(wi_f16_narrow(sum));
}

static float rounded_bf16(float sum) {
    return wi_bf16_widen(wi_bf16_narrow(sum));
}

#define NAME(way) way##_f16
#define T uint16_t
#define SUM float
#define VALUE(v) wi_f16_widen(v)
#define ROUNDED(s) rounded_f16(s)
#include "reduce/reduce_methods.inc"

#define NAME(way) way##_bf16
#define T uint16_t
#define SUM float
#define VALUE(v) wi_bf16_widen(v)
#define ROUNDED(s) rounded_bf16(s)
#include "reduce/reduce_methods.inc"

#define NAME(way) way##_f32
#define T float
#define SUM float
#define VALUE(v) (v)
#define ROUNDED(s) (s)
#include "reduce/reduce_methods.inc"

#define NAME(way) way##_f64
#define T double
#define SUM double
#define VALUE(v) (v)
#define ROUNDED(s) (s)
#include "reduce/reduce_methods.inc"

typedef double (*loop)(size_t n, const void *x);

#define OF_EVERY_TYPE(way)                                                                         \
    {                                                                                              \
        [WEFT_F16] = way##_f16, [WEFT_BF16] = way##_bf16, [WEFT_F32] = way##_f32,                  \
        [WEFT_F64] = way##_f64                                                                     \
    }

static const loop loops[WI_METHODS][WEFT_TYPE_COUNT] = {
    [WI_NAIVE] = OF_EVERY_TYPE(naive),
    [WI_PAIRWISE] = OF_EVERY_TYPE(pairwise),
    [WI_COMPENSATED] = OF_EVERY_TYPE(compensated),
    [WI_DOUBLE_DOUBLE] = OF_EVERY_TYPE(double_double),
};

double wi_method_sum(wi_method method, weft_type type, size_t n, const void *x) {
    return loops[method][type](n, x);
}
