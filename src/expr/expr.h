/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas inside the library: the program that postfix steps are compiled to, one call as the
 * rungs get it, and the rungs. */
#ifndef WI_EXPR_H
#define WI_EXPR_H

#include "core/call.h"
#include "core/rows.h"
#include "weft/expr.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What one code does, on lanes of 32 or 64 bits. */
typedef enum wi_expr_do {
    WI_X_LOAD,      /* acc = a */
    WI_X_SAVE,      /* slot a = acc */
    WI_X_MASK,      /* a, of 32 bits, says for each element what the SELECT behind it does: */
    WI_X_SELECT_32, /* acc = mask ? acc : b */
    WI_X_SELECT_64,
#define UNARY(name, z, a, value) WI_X_##name,
#define BINARY(name, z, a, b, value) WI_X_##name,
#define HEAVY_UNARY UNARY
#define HEAVY_BINARY BINARY
#include "expr/expr_narrow.inc"
#include "expr/expr_wide.inc"
#undef UNARY
#undef BINARY
#undef HEAVY_UNARY
#undef HEAVY_BINARY
    WI_X_DOS
} wi_expr_do;

/* Where a code's operand is: one of these numbers, plus which. */
enum {
    WI_X_ACC = 0,       /* the accumulator, which every code but SAVE writes */
    WI_X_AT_INPUT = 16, /* an input's element, widened */
    WI_X_AT_SLOT = 32,  /* a value put aside */
    WI_X_AT_CONSTANT = 64,
    WI_X_NONE = 255
};

enum {
    WI_X_CODES = 160,
    WI_X_CONSTANTS = 96,
    WI_X_SLOTS = WEFT_EXPR_MAX_DEPTH
};

/* Of operations the left operand, a, is the accumulator; b is NONE if they take one value. */
typedef struct wi_expr_code {
    uint8_t what; /* wi_expr_do */
    uint8_t a, b;
    uint8_t heavy; /* wi_expr_is_heavy */
} wi_expr_code;

/* A checked formula, as the rungs interpret it. */
typedef struct wi_expr_program {
    uint32_t codes, constants, slots, inputs;
    bool wide;                          /* some value has 64 bits */
    bool heavy;                         /* some operation takes many instructions */
    uint8_t type;                       /* of the output, a weft_type */
    uint8_t from[WEFT_EXPR_MAX_INPUTS]; /* of the inputs */
    wi_expr_code code[WI_X_CODES];
    uint64_t constant[WI_X_CONSTANTS]; /* bits */
    bool constant_wide[WI_X_CONSTANTS];
} wi_expr_program;

/* One call on memory that the place can access. */
typedef struct wi_expr_args {
    const wi_expr_program *program;
    size_t n;
    const void *x[WEFT_EXPR_MAX_INPUTS];
    void *z;
    /* Of a distributed call with the elements before; then nothing else here is set. */
    const struct wi_expr_neighbours *neighbours;
} wi_expr_args;

extern const wi_ladder wi_expr_ladder;

/* The type that elements of `type` are widened to. */
static inline weft_type wi_expr_widened(weft_type type) {
    switch (type) {
    case WEFT_I8:
    case WEFT_I16:
        return WEFT_I32;
    case WEFT_U8:
    case WEFT_U16:
        return WEFT_U32;
    case WEFT_F16:
    case WEFT_BF16:
        return WEFT_F32;
    default:
        return type;
    }
}

/* The code of an operation on values of a widened type, and of one with its operands in turn, which
 * makes of a op b what b op a is; WI_X_DOS: none. */
wi_expr_do wi_expr_code_of(weft_expr_op op, weft_type widened);
wi_expr_do wi_expr_turned_code_of(weft_expr_op op, weft_type widened);
/* Is there such an operation on values of a widened type; and its name in messages. */
bool wi_expr_takes(weft_expr_op op, weft_type widened);
const char *wi_expr_name(weft_expr_op op);

/* Takes many instructions: on a GPU such operations do not work in registers. */
bool wi_expr_is_heavy(wi_expr_do what);

/* What the inputs of a formula are called in messages. */
extern const char *const wi_expr_input_names[WEFT_EXPR_MAX_INPUTS];

/* Refuses a formula that is not there, is too long, or has inputs of no type. */
weft_status wi_expr_check(weft_context *ctx, const char *call, const weft_expr_step *program,
                          size_t steps, const weft_expr_input *inputs, size_t input_count);

/* Checks a formula and translates it. Messages begin with `call`. */
weft_status wi_expr_compile(weft_context *ctx, const char *call, const weft_expr_step *steps,
                            size_t count, const weft_expr_input *inputs, size_t input_count,
                            weft_type type, wi_expr_program *program);

/* The same for the conversion of one input, which saturates. */
weft_status wi_expr_compile_conversion(weft_context *ctx, const char *call, weft_type from,
                                       weft_type to, wi_expr_program *program);

/* A formula being translated: where expr_compile.c and expr_convert.c write codes. */
typedef struct wi_expr_writer {
    wi_expr_program *program;
    bool full; /* there was no room for all codes or constants */
} wi_expr_writer;
void wi_expr_emit(wi_expr_writer *w, wi_expr_do what, unsigned a, unsigned b);
/* The operand that stands for a constant of these bits, of 64 if `wide`. */
unsigned wi_expr_constant(wi_expr_writer *w, uint64_t bits, bool wide);
/* Converts the accumulator, of a widened type. */
void wi_expr_emit_conversion(wi_expr_writer *w, weft_type from, weft_type to, bool saturate);

/* A hash of what all ranks must pass alike. */
uint64_t wi_expr_alike(const wi_expr_program *program);

/* For one element: the bytes of the inputs; and a thread's cycles, if a code takes `simple` or
 * `heavy` of them, twice as many if some value has 64 bits. */
double wi_expr_bytes_read(const wi_expr_program *program);
double wi_expr_cycles(const wi_expr_program *program, double simple, double heavy);

/* The bits of the value of element i, computed alone. */
uint64_t wi_expr_value_at(const wi_expr_args *args, size_t i);

/* A step that puts the element at p on the stack. */
weft_expr_step wi_expr_constant_at(weft_type type, const void *p);

/* Runs a formula over described arrays: those of the inputs, and last z. */
weft_status wi_expr_run(weft_context *ctx, const char *name, const wi_expr_program *program,
                        size_t n, const weft_expr_input *inputs, const char *const *names, void *z,
                        const char *z_name, weft_status status);

/* Runs a checked call on this place alone; nothing if it is empty. */
weft_status wi_expr_call_run(weft_context *ctx, wi_call *call, wi_expr_args *args);

/* The rungs; `ranks` gets wi_dist_args. */
weft_status wi_expr_serial(weft_context *ctx, const void *args);
weft_status wi_expr_blocks(weft_context *ctx, const void *args);
weft_status wi_expr_one_each(weft_context *ctx, const void *args);
weft_status wi_expr_tiles(weft_context *ctx, const void *args);
weft_status wi_expr_ranks(weft_context *ctx, const void *args);

#ifdef __cplusplus
}
#endif
#endif
