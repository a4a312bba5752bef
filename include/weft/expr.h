/* SPDX-License-Identifier: Apache-2.0 */
/* expr: element by element, any small formula over several arrays, in one pass over memory.
 *
 * Every call here takes any count from 0. Arrays may be host or device memory, mixed freely, and
 * need no alignment beyond that of C's own types. An output may be the same array as an input whose
 * elements have the same size (in place); any other overlap is WEFT_EARG. On host memory a call
 * returns when the answer is there; when all arrays are device memory it is queued on the context's
 * stream. Scalars are pointers to one element in host memory.
 *
 * Values. A formula works on values of six types: i32, u32, i64, u64, f32 and f64. An array of a
 * narrower type is widened as it is read (i8 and i16 to i32, u8 and u16 to u32, f16 and bf16 to
 * f32), and its values are narrowed once as they are written: integers keep their low bits, floats
 * are rounded to nearest. So the steps in between see values of 32 or 64 bits.
 *
 * Rules of the operations
 *     integers       ADD, SUB, MUL, NEG and ABS wrap modulo 2^32 or 2^64. DIV truncates toward 0
 *                    and REM has the sign of the dividend; division by 0 gives 0, for both, and
 *                    the least integer divided by -1 is itself. SHL and SHR by less than 0, or by
 *                    the width of the value or more, shift every bit out; SHR of a signed value
 *                    shifts in its sign.
 *     floats         ADD, SUB, MUL, DIV, SQRT, FLOOR, CEIL and ROUND (to the nearest integer, ties
 *                    to even) are rounded as IEEE 754 says, each by itself: nothing is fused. MIN
 *                    and MAX give NaN if either value is, and take -0.0 for less than +0.0.
 *     EXP, LOG, POW  of f32 err by at most 0.51 units in the last place; of f64 EXP and LOG by less
 *                    than 1 and POW by less than 1.5. Special values are those of C: POW(x, 0) and
 *                    POW(1, y) are 1, LOG(0) is -infinity.
 *     comparisons    give the u32 1 or 0. With NaN only NE is 1.
 *     SELECT         takes its second value where the first, an i32 or u32, is not 0, else its
 *                    third.
 * The bits of every result are the same on every place and at every run; of a NaN only that it is
 * one.
 *
 * Conversion. WEFT_X_SATURATE and WEFT_X_WRAP make a value of the type named in `argument`, and for
 * a narrow type one that it can hold. To a float both round to nearest, ties to even, and overflow
 * to infinity. To an integer floats are truncated toward 0; what the type cannot hold becomes with
 * SATURATE its nearest end, with WRAP the low bits; NaN becomes 0, with WRAP infinity too.
 *
 * Over ranks (place mpi) every rank passes its part of each array and the same formula. */
#ifndef WEFT_EXPR_H
#define WEFT_EXPR_H

#include "weft/core.h"
#include "weft/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The values are part of the ABI: new ones are added at the end. */
typedef enum weft_expr_op {
    WEFT_X_INPUT = 0, /* puts the element of input number `argument` on the stack */
    WEFT_X_CONSTANT,  /* puts `value`, of type `argument`, there: of an integer its low bits */
    WEFT_X_DUP,       /* puts a second copy of the top value there */
    WEFT_X_ADD,       /* from here to GE two values of one type; first the left, then the right */
    WEFT_X_SUB,
    WEFT_X_MUL,
    WEFT_X_DIV,
    WEFT_X_MIN,
    WEFT_X_MAX,
    WEFT_X_REM, /* integers only, as are AND ... SHR */
    WEFT_X_AND,
    WEFT_X_OR,
    WEFT_X_XOR,
    WEFT_X_SHL,
    WEFT_X_SHR,
    WEFT_X_POW, /* floats only */
    WEFT_X_EQ,
    WEFT_X_NE,
    WEFT_X_LT,
    WEFT_X_LE,
    WEFT_X_GT,
    WEFT_X_GE,
    WEFT_X_NEG, /* from here to ROUND one value */
    WEFT_X_ABS,
    WEFT_X_NOT,  /* every bit; integers only */
    WEFT_X_SQRT, /* floats only, as are those below */
    WEFT_X_EXP,
    WEFT_X_LOG,
    WEFT_X_FLOOR,
    WEFT_X_CEIL,
    WEFT_X_ROUND,
    WEFT_X_SELECT,   /* mask, value, other value */
    WEFT_X_SATURATE, /* one value, converted to type `argument` */
    WEFT_X_WRAP
} weft_expr_op;

#define WEFT_X_COUNT 34

/* One step of a formula. */
typedef struct weft_expr_step {
    weft_expr_op op;
    int argument; /* of INPUT its number, of CONSTANT, SATURATE and WRAP a weft_type; else unused */
    union {       /* of CONSTANT: i for signed, u for unsigned integers, f for floats */
        int64_t i;
        uint64_t u;
        double f;
    } value;
} weft_expr_step;

/* n elements of a type. */
typedef struct weft_expr_input {
    weft_type type;
    const void *x;
} weft_expr_input;

#define WEFT_EXPR_MAX_STEPS 64
#define WEFT_EXPR_MAX_INPUTS 7
#define WEFT_EXPR_MAX_DEPTH 8 /* values on the stack */

/* z[i] = the value that the steps leave on the stack for element i of every input: exactly one, of
 * the type that z's elements are widened to. A step that does not find on the stack what it needs
 * is WEFT_EARG, and the message names it. 2 x + 1 for f32:
 *     {WEFT_X_INPUT, 0}, {WEFT_X_CONSTANT, WEFT_F32, {.f = 2}}, {WEFT_X_MUL},
 *     {WEFT_X_CONSTANT, WEFT_F32, {.f = 1}}, {WEFT_X_ADD} */
WEFT_API weft_status weft_expr(weft_context *ctx, const weft_expr_step *program, size_t steps,
                               size_t n, const weft_expr_input *inputs, size_t input_count,
                               weft_type type, void *z);

/* Reduces the values of a formula with `op`, without an array between: *result is that of the
 * values for elements 0 ... n - 1. They are of `type`, one of the six that values have.
 *
 *     op            result              n = 0
 *     SUM, PRODUCT  i64 of i32 and i64, u64 of u32 and u64, both modulo 2^64;     0, 1
 *                   f32 of f32, every step in f64 and rounded to f32 once; f64
 *     MIN, MAX      `type`                        the largest, the smallest (infinities for floats)
 *     AND, OR, XOR  `type`, integers only                                  all bits, 0, 0
 *     ARGMIN/MAX    u64, a position; of equal values the first             WEFT_NOWHERE
 *
 * NaN and -0.0 are as in weft/reduce.h. Norms are WEFT_EUNSUPPORTED: take ABS or squares in the
 * formula. To count the elements for which a formula is not 0, end it with `0 NE`, and take SUM of
 * WEFT_U32.
 *
 * The same input gives the same bits on every run at one place; on a cpu the bits do not depend on
 * the number of threads or on the instruction set either; and all results but sums and products of
 * floats are the same on every place. `result` may be in host or device memory, and must not
 * overlap an input. Over ranks all get the result of the whole, positions included; sums and
 * products of floats are those of the parts, in f64, combined in the order of the ranks and rounded
 * once. */
WEFT_API weft_status weft_expr_reduce(weft_context *ctx, weft_op op, const weft_expr_step *program,
                                      size_t steps, size_t n, const weft_expr_input *inputs,
                                      size_t input_count, weft_type type, void *result);

/* z[i] = op x[i], of one type, for NEG ... ROUND. */
WEFT_API weft_status weft_unary(weft_context *ctx, weft_expr_op op, weft_type type, size_t n,
                                const void *x, void *z);

/* z[i] = x[i] op y[i] for ADD ... POW, of one type; for EQ ... GE z is a mask of u8. */
WEFT_API weft_status weft_binary(weft_context *ctx, weft_expr_op op, weft_type type, size_t n,
                                 const void *x, const void *y, void *z);

/* z[i] = x[i] op *y */
WEFT_API weft_status weft_binary_scalar(weft_context *ctx, weft_expr_op op, weft_type type,
                                        size_t n, const void *x, const void *y, void *z);

/* z[i] = x[i] where mask[i] is not 0, else y[i]. The mask is of u8, or of bool. */
WEFT_API weft_status weft_where(weft_context *ctx, weft_type type, size_t n, const void *mask,
                                const void *x, const void *y, void *z);

/* z[i] = x[i], converted by `how`: WEFT_X_SATURATE or WEFT_X_WRAP. */
WEFT_API weft_status weft_convert(weft_context *ctx, weft_expr_op how, weft_type from, weft_type to,
                                  size_t n, const void *x, void *z);

/* z[i] = x[i] - x[i - 1], and z[0] = x[0]. z must not overlap x. Over ranks x[i - 1] may be of the
 * rank before. */
WEFT_API weft_status weft_adjacent_difference(weft_context *ctx, weft_type type, size_t n,
                                              const void *x, void *z);

/* flags[i], a u8, = 1 where a run of equal elements begins: i = 0, or x[i] != x[i - 1]; else 0. NaN
 * differs from everything, and -0.0 equals +0.0. */
WEFT_API weft_status weft_flag_heads(weft_context *ctx, weft_type type, size_t n, const void *x,
                                     void *flags);

#ifdef __cplusplus
}
#endif
#endif
