/* SPDX-License-Identifier: Apache-2.0 */
/* scan inside the library: one call as its rungs get it, and the rungs. */
#ifndef WI_SCAN_H
#define WI_SCAN_H

#include <string.h>

#include "core/call.h"
#include "core/rows.h"
#include "weft/scan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One call on memory that the place can access directly. A long host array on a GPU becomes several
 * calls, one for each segment, which pass on a carry: 8 bytes, an f64 for floats, else a u64, the
 * element extended by sign or zero. */
typedef struct wi_scan_args {
    const char *call; /* the public name, for messages */
    weft_op op;       /* SUM ... XOR */
    weft_scan_kind kind;
    weft_type type; /* of y */
    weft_type from; /* of x */
    /* What makes elements of `type` of those of x; NULL: they are. On a GPU rungs get x widened. */
    const struct wi_expr_program *widen;
    size_t n;
    const void *x;
    void *y;              /* may be x, unless that is widened */
    uint64_t init;        /* the initial value in the form of a carry; used if carry_in is NULL */
    const void *carry_in; /* in memory that the device can access: the carry to start from, instead
                             of init; or NULL */
    void *carry_out;      /* in device memory: where the carry after x[n-1] is stored; or NULL */
    void *total;          /* not for rungs: the caller's, for one element; or NULL */
} wi_scan_args;

extern const wi_ladder wi_scan_ladder;

/* The carry of a float type, as a number. */
static inline double wi_carry_value(uint64_t carry) {
    double value;
    memcpy(&value, &carry, sizeof value);
    return value;
}

/* The initial value NULL, and an element, in the form of a carry. */
uint64_t wi_scan_identity(weft_op op, weft_type type);
uint64_t wi_scan_carry_of(weft_type type, const void *element);
/* The carry of a number, of a float type. */
uint64_t wi_scan_carry_of_double(double value);
/* The element that a carry is, rounded; and what two carries make. */
void wi_scan_element_of(weft_type type, uint64_t carry, void *element);
uint64_t wi_scan_combine(weft_op op, weft_type type, uint64_t a, uint64_t b);

/* Elements `first` ... `first + n - 1` of the input, of `type`: of x, or in y, where they are put
 * if they have to be widened. `room` has wi_scan_room bytes. */
const void *wi_scan_input(const wi_scan_args *args, size_t first, size_t n, void *room);
size_t wi_scan_room(const wi_scan_args *args);

/* Checks what the public call `call` scans, and how. */
weft_status wi_scan_check(weft_context *ctx, const char *call, weft_scan_kind kind, weft_op op,
                          weft_type type);

/* Runs a checked call on this place alone, from args->init or args->carry_in on. */
weft_status wi_scan_call_run(weft_context *ctx, wi_call *call, wi_scan_args *args);

/* Scans n elements on this place alone, from a carry on; and what they make together: the carry
 * behind them, if they follow nothing. */
weft_status wi_scan_from(weft_context *ctx, const wi_scan_args *args, uint64_t carry);
weft_status wi_scan_total(weft_context *ctx, const wi_scan_args *args, uint64_t *total);

/* How many elements a GPU widens before it scans them. */
size_t wi_scan_strip(void);

/* The rungs; `ranks` gets wi_dist_args. */
weft_status wi_scan_serial(weft_context *ctx, const void *args);
weft_status wi_scan_blocked(weft_context *ctx, const void *args);
weft_status wi_scan_all_prefixes(weft_context *ctx, const void *args);
weft_status wi_scan_doubling(weft_context *ctx, const void *args);
weft_status wi_scan_doubling_shared(weft_context *ctx, const void *args);
weft_status wi_scan_two_sweep(weft_context *ctx, const void *args);
weft_status wi_scan_two_sweep_padded(weft_context *ctx, const void *args);
weft_status wi_scan_three_pass(weft_context *ctx, const void *args);
weft_status wi_scan_lookback(weft_context *ctx, const void *args);
weft_status wi_scan_bulk(weft_context *ctx, const void *args);
weft_status wi_scan_ranks(weft_context *ctx, const void *args);

#ifdef __cplusplus
}
#endif
#endif
