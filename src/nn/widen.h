/* SPDX-License-Identifier: Apache-2.0 */
/* Calls on f16 and bf16 by a cpu's rungs for f32: arrays are widened into memory of their own, and
 * results are rounded back. */
#ifndef WI_NN_WIDEN_H
#define WI_NN_WIDEN_H

#include "core/call.h"

enum {
    WI_WIDENED_MOST = 4
};

/* An array of n elements. `p` is changed to its widened copy, and back. */
typedef struct wi_widened {
    void **p;
    size_t n;
    unsigned use; /* WI_IN: is read; WI_OUT: is written */
} wi_widened;

/* The arrays of a call whose type is f16 or bf16. */
typedef struct wi_widening {
    weft_type type;
    int count;
    wi_widened array[WI_WIDENED_MOST];
    void *narrow[WI_WIDENED_MOST]; /* where each array is */
    float *memory;
} wi_widening;

/* Leaves out arrays that are NULL. One in place of another is widened apart, and rounded last. */
void wi_widening_add(wi_widening *w, void **p, size_t n, unsigned use);

/* Widens all arrays that are read. */
weft_status wi_widening_begin(weft_context *ctx, wi_widening *w);

/* Rounds all that were written, unless `status` is a failure, and frees the memory; gives `status`.
 */
weft_status wi_widening_end(weft_context *ctx, wi_widening *w, weft_status status);

#endif
