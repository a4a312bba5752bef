/* SPDX-License-Identifier: Apache-2.0 */
/* The serial rung of reduce: simple loops that do what the public header says. */
#include <math.h>
#include <string.h>

#include "cpu/half.h"
#include "cpu/order.h"
#include "reduce/reduce.h"

static void put_position(const wi_reduce_args *args, size_t at) {
    uint64_t position = args->n > 0 ? args->first + at : WEFT_NOWHERE;
    memcpy(args->result, &position, sizeof position);
}

/* sqrt(sum of x^2) in f64. All elements are first scaled by the power of two that brings the
 * largest near 1, so that no square that matters overflows or underflows. */
static double squares_norm_f64(const wi_reduce_args *args) {
    const double *x = args->x;
    double greatest = 0;
    for (size_t i = 0; i < args->n; i++)
        greatest = wi_comes_before(-fabs(x[i]), -greatest) ? fabs(x[i]) : greatest;
    if (greatest == 0 || !isfinite(greatest))
        return greatest;
    int exponent;
    frexp(greatest, &exponent);
    /* 2^1023 is the largest power of two, and enough for the smallest subnormals. */
    exponent = exponent < -1023 ? -1023 : exponent;
    double scale = ldexp(1, -exponent);
    double squares = 0;
    for (size_t i = 0; i < args->n; i++)
        squares += (x[i] * scale) * (x[i] * scale);
    return ldexp(sqrt(squares), exponent);
}

#define MAGNITUDE(v) ((v) < 0 ? 0 - (uint64_t)(v) : (uint64_t)(v))

#define NAME(op) op##_i8
#define T int8_t
#define LEAST INT8_MIN
#define GREATEST INT8_MAX
#include "reduce/reduce_ref_int.inc"

#define NAME(op) op##_i16
#define T int16_t
#define LEAST INT16_MIN
#define GREATEST INT16_MAX
#include "reduce/reduce_ref_int.inc"

#define NAME(op) op##_i32
#define T int32_t
#define LEAST INT32_MIN
#define GREATEST INT32_MAX
#include "reduce/reduce_ref_int.inc"

#define NAME(op) op##_i64
#define T int64_t
#define LEAST INT64_MIN
#define GREATEST INT64_MAX
#include "reduce/reduce_ref_int.inc"

#undef MAGNITUDE
#define MAGNITUDE(v) ((uint64_t)(v))

#define NAME(op) op##_u8
#define T uint8_t
#define LEAST 0
#define GREATEST UINT8_MAX
#include "reduce/reduce_ref_int.inc"

#define NAME(op) op##_u16
#define T uint16_t
#define LEAST 0
#define GREATEST UINT16_MAX
#include "reduce/reduce_ref_int.inc"

#define NAME(op) op##_u32
#define T uint32_t
#define LEAST 0
#define GREATEST UINT32_MAX
#include "reduce/reduce_ref_int.inc"

#define NAME(op) op##_u64
#define T uint64_t
#define LEAST 0
#define GREATEST UINT64_MAX
#include "reduce/reduce_ref_int.inc"

static double value_f16(uint16_t half) {
    return (double)wi_f16_widen(half);
}

static double value_bf16(uint16_t half) {
    return (double)wi_bf16_widen(half);
}

#define NAME(op) op##_f16
#define T uint16_t
#define VALUE value_f16
#define STORED wi_f16_narrow_double
#define RESULT float
#define INFINITE 0x7c00
#define MINUS_INFINITY 0xfc00
#define SQUARES_NORM squares_norm_f16
#include "reduce/reduce_ref_norm.inc"

#include "reduce/reduce_ref_float.inc"

#define NAME(op) op##_bf16
#define T uint16_t
#define VALUE value_bf16
#define STORED wi_bf16_narrow_double
#define RESULT float
#define INFINITE 0x7f80
#define MINUS_INFINITY 0xff80
#define SQUARES_NORM squares_norm_bf16
#include "reduce/reduce_ref_norm.inc"

#include "reduce/reduce_ref_float.inc"

#define NAME(op) op##_f32
#define T float
#define VALUE (double)
#define STORED (float)
#define RESULT float
#define INFINITE INFINITY
#define MINUS_INFINITY -INFINITY
#define SQUARES_NORM squares_norm_f32
#include "reduce/reduce_ref_norm.inc"

#include "reduce/reduce_ref_float.inc"

#define NAME(op) op##_f64
#define T double
#define VALUE(v) (v)
#define STORED(v) (v)
#define RESULT double
#define INFINITE INFINITY
#define MINUS_INFINITY -INFINITY
#define SQUARES_NORM squares_norm_f64
#include "reduce/reduce_ref_float.inc"

typedef void (*loop)(const wi_reduce_args *args);

#define OF_EVERY_TYPE(op)                                                                          \
    {                                                                                              \
        op##_i8, op##_i16, op##_i32, op##_i64, op##_u8, op##_u16, op##_u32, op##_u64, op##_f16,    \
            op##_bf16, op##_f32, op##_f64                                                          \
    }

static const loop loops[][WEFT_TYPE_COUNT] = {
    [WI_RED_SUM] = OF_EVERY_TYPE(sum),       [WI_RED_PRODUCT] = OF_EVERY_TYPE(product),
    [WI_RED_MIN] = OF_EVERY_TYPE(min),       [WI_RED_MAX] = OF_EVERY_TYPE(max),
    [WI_RED_ARGMIN] = OF_EVERY_TYPE(argmin), [WI_RED_ARGMAX] = OF_EVERY_TYPE(argmax),
    [WI_RED_NRM1] = OF_EVERY_TYPE(nrm1),     [WI_RED_NRM2] = OF_EVERY_TYPE(nrm2),
    [WI_RED_NRMINF] = OF_EVERY_TYPE(nrminf), [WI_RED_DOT] = OF_EVERY_TYPE(dot),
};

weft_status wi_reduce_serial(weft_context *ctx, const void *args) {
    (void)ctx;
    const wi_reduce_args *call = args;
    loops[call->op][call->type](call);
    return WEFT_OK;
}
