/* SPDX-License-Identifier: Apache-2.0 */
/* The serial rung of expr: one element after the other goes through the whole program. */
#include <string.h>

#include "core/core.h"
#include "expr/expr.h"
#include "expr/expr_host.h"

/* The bits of element i, widened. */
static uint64_t element(weft_type type, const void *x, size_t i) {
    switch (type) {
    case WEFT_I8:
        return (uint32_t)((const int8_t *)x)[i];
    case WEFT_I16:
        return (uint32_t)((const int16_t *)x)[i];
    case WEFT_F16:
        return wi_float_bits(wi_f16_widen(((const uint16_t *)x)[i]));
    case WEFT_BF16:
        return wi_float_bits(wi_bf16_widen(((const uint16_t *)x)[i]));
    default:
        return wi_element_bits(x, weft_type_size(type), i);
    }
}

static void put(weft_type type, void *z, size_t i, uint64_t bits) {
    const float single = wi_float_of_bits((uint32_t)bits);
    switch (type) {
    case WEFT_F16:
        ((uint16_t *)z)[i] = wi_f16_narrow(single);
        break;
    case WEFT_BF16:
        ((uint16_t *)z)[i] = wi_bf16_narrow(single);
        break;
    default: /* the low bytes come first */
        memcpy((char *)z + i * weft_type_size(type), &bits, weft_type_size(type));
    }
}

/* The bits of the result of an operation on bits. */
static uint64_t apply(wi_expr_do what, uint64_t bits_a, uint64_t bits_b) {
    uint64_t bits = 0;
#define BINARY(name, Z, A, B, value)                                                               \
    case WI_X_##name: {                                                                            \
        A a;                                                                                       \
        B b;                                                                                       \
        memcpy(&a, &bits_a, sizeof a);                                                             \
        memcpy(&b, &bits_b, sizeof b);                                                             \
        const Z z = (Z)(value);                                                                    \
        memcpy(&bits, &z, sizeof z);                                                               \
        break;                                                                                     \
    }
#define UNARY(name, Z, A, value)                                                                   \
    case WI_X_##name: {                                                                            \
        A a;                                                                                       \
        memcpy(&a, &bits_a, sizeof a);                                                             \
        const Z z = (Z)(value);                                                                    \
        memcpy(&bits, &z, sizeof z);                                                               \
        break;                                                                                     \
    }
#define HEAVY_BINARY BINARY
#define HEAVY_UNARY UNARY
    switch (what) {
#include "expr/expr_narrow.inc"
#include "expr/expr_wide.inc"
    default:
        break;
    }
#undef BINARY
#undef UNARY
#undef HEAVY_BINARY
#undef HEAVY_UNARY
    return bits;
}

typedef struct machine {
    const wi_expr_args *args;
    size_t i;
    uint64_t acc, mask, slot[WI_X_SLOTS];
} machine;

static uint64_t operand(const machine *m, unsigned at) {
    const wi_expr_program *const p = m->args->program;
    if (at == WI_X_NONE || at == WI_X_ACC)
        return m->acc;
    if (at >= WI_X_AT_CONSTANT)
        return p->constant[at - WI_X_AT_CONSTANT];
    if (at >= WI_X_AT_SLOT)
        return m->slot[at - WI_X_AT_SLOT];
    const unsigned k = at - WI_X_AT_INPUT;
    return element((weft_type)p->from[k], m->args->x[k], m->i);
}

static void step(machine *m, wi_expr_code code) {
    switch ((wi_expr_do)code.what) {
    case WI_X_LOAD:
        m->acc = operand(m, code.a);
        break;
    case WI_X_SAVE:
        m->slot[code.a - WI_X_AT_SLOT] = m->acc;
        break;
    case WI_X_MASK:
        m->mask = operand(m, code.a);
        break;
    case WI_X_SELECT_32:
    case WI_X_SELECT_64:
        m->acc = m->mask ? m->acc : operand(m, code.b);
        break;
    default:
        m->acc = apply((wi_expr_do)code.what, operand(m, code.a), operand(m, code.b));
    }
}

uint64_t wi_expr_value_at(const wi_expr_args *args, size_t i) {
    const wi_expr_program *const p = args->program;
    machine m = {.args = args, .i = i};
    for (uint32_t k = 0; k < p->codes; k++)
        step(&m, p->code[k]);
    return m.acc;
}

weft_status wi_expr_serial(weft_context *ctx, const void *args) {
    const wi_expr_args *const call = args;
    (void)ctx;
    for (size_t i = 0; i < call->n; i++)
        put((weft_type)call->program->type, call->z, i, wi_expr_value_at(call, i));
    return WEFT_OK;
}
