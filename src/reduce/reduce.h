/* SPDX-License-Identifier: Apache-2.0 */
/* reduce inside the library: the operations, one call as the rungs get it, and the rungs. */
#ifndef WI_REDUCE_H
#define WI_REDUCE_H

#include "core/call.h"
#include "core/rows.h"
#include "weft/reduce.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The reductions: those of weft_op, and dot. */
typedef enum wi_reduction {
    WI_RED_SUM,
    WI_RED_PRODUCT,
    WI_RED_MIN,
    WI_RED_MAX,
    WI_RED_ARGMIN,
    WI_RED_ARGMAX,
    WI_RED_NRM1,
    WI_RED_NRM2,
    WI_RED_NRMINF,
    WI_RED_DOT
} wi_reduction;

enum {
    WI_REDUCE_STATE_BYTES = 32 /* no accumulator is larger */
};

/* One call on memory that the place can access directly. A long host array on a GPU becomes several
 * calls, one for each segment, which pass on an accumulator. */
typedef struct wi_reduce_args {
    wi_reduction op;
    weft_type type;
    size_t n;
    uint64_t first; /* position of x[0] in the whole array, for ARGMIN and ARGMAX */
    const void *x;
    const void *y;        /* DOT only */
    const void *state_in; /* on the device: accumulator of earlier elements; NULL: none */
    void *state_out;      /* in device memory: receives the accumulator; NULL for the last call */
    void *result;         /* receives the rounded result; NULL if more segments follow */
    bool wide; /* `result` receives the accumulator instead: an f64, of NRM2 the sum of squares. For
                  SUM, PRODUCT, NRM1, NRM2 and DOT of f16, bf16 and f32, which are rounded to f32 */
} wi_reduce_args;

/* The type of the result. */
weft_type wi_reduce_result_type(wi_reduction op, weft_type type);

/* Checks the type and the operator of the public call `call`. */
weft_status wi_reduce_check_op(weft_context *ctx, const char *call, weft_op op, weft_type type,
                               wi_reduction *reduction);

/* Runs a call, whose arrays are checked, on this place alone. wi_reduce_describe makes the
 * description of one with the arrays of args; `call` gets the public name. */
void wi_reduce_describe(weft_context *ctx, const char *name, const wi_reduce_args *args,
                        wi_call *call);
weft_status wi_reduce_call_run(weft_context *ctx, wi_call *call, wi_reduce_args *args);

/* weft_reduce and weft_dot_fast under another name; the context has been checked. */
weft_status wi_reduce_by(weft_context *ctx, const char *call, weft_op op, weft_type type, size_t n,
                         const void *x, void *result);
weft_status wi_reduce_dot(weft_context *ctx, const char *call, weft_type type, size_t n,
                          const void *x, const void *y, void *result);

/* SUM, PRODUCT, MIN or MAX of at most WI_REDUCE_BLOCK elements on a cpu: sums and products as a u64
 * or an f64, of MIN and MAX the element. */
uint64_t wi_reduce_block_bits(wi_reduction op, weft_type type, size_t n, const void *x);

/* What a rank knows of a part of an array that lies on several ranks. */
typedef struct wi_reduce_partial {
    uint64_t n;
    uint64_t at; /* ARGMIN and ARGMAX: where it is in the part */
    uint64_t
        bits; /* the result of the part, or the element that was found; sums of floats as f64 */
} wi_reduce_partial;

/* Reduces n elements of `type` at x, which this rank has; and combines parts that follow one
 * another, in their order and at most one of each rank, into *result, which has room for 8 bytes.
 * ARGMIN and ARGMAX: a position counted from the first part's beginning. */
weft_status wi_reduce_part(weft_context *ctx, const char *name, const wi_reduce_args *args,
                           wi_reduce_partial *part);
void wi_reduce_join(weft_context *ctx, wi_reduction op, weft_type type,
                    const wi_reduce_partial *parts, int count, uint64_t *result);

extern const wi_ladder wi_reduce_ladder;

/* The rungs; `ranks` gets wi_dist_args. `result` is host memory on the cpu, and memory that the
 * device can access on a GPU. */
weft_status wi_reduce_naive(weft_context *ctx, const void *args);
weft_status wi_reduce_pairwise(weft_context *ctx, const void *args);
weft_status wi_reduce_compensated(weft_context *ctx, const void *args);
weft_status wi_reduce_double_double(weft_context *ctx, const void *args);
weft_status wi_reduce_exact(weft_context *ctx, const void *args);
weft_status wi_reduce_serial(weft_context *ctx, const void *args);
weft_status wi_reduce_threads(weft_context *ctx, const void *args);
weft_status wi_reduce_tree_global(weft_context *ctx, const void *args);
weft_status wi_reduce_tree_shared(weft_context *ctx, const void *args);
weft_status wi_reduce_shuffle(weft_context *ctx, const void *args);
weft_status wi_reduce_one_pass(weft_context *ctx, const void *args);
weft_status wi_reduce_ranks(weft_context *ctx, const void *args);

/* Misfits: of the rungs that do sums alone, and of `exact`. */
const char *wi_reduce_only_adds(const weft_context *ctx, const void *args);
const char *wi_reduce_not_exact(const weft_context *ctx, const void *args);

#ifdef __cplusplus
}
#endif
#endif
