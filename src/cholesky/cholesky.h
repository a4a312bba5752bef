/* SPDX-License-Identifier: Apache-2.0 */
/* cholesky inside the library: one checked call as its rungs get it, what a rung says of a failure,
 * and the rungs. */
#ifndef WI_CHOLESKY_H
#define WI_CHOLESKY_H

#include <stdint.h>

#include "core/rows.h"
#include "weft/cholesky.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a rung leaves in args.first: the number of a column, or this. */
#define WI_CHOLESKY_NONE INT64_MAX

enum {
    WI_CHOLESKY_INDEFINITE, /* first[this]: the first column whose pivot is finite and not above 0
                             */
    WI_CHOLESKY_INFINITE,   /* ... NaN or infinite */
    WI_CHOLESKY_WORDS
};

/* One call on memory the place can reach, checked, of a matrix stored by columns. n > 0. Only the
 * triangle is read and written. Of the first column whose pivot is no finite number above 0, one of
 * the two words tells, and the other stays WI_CHOLESKY_NONE: what comes after does not count. A
 * rung that fails has changed nothing. */
typedef struct wi_cholesky_args {
    weft_type type;
    bool upper;
    size_t n;
    void *a;
    size_t lda;
    int64_t *first; /* WI_CHOLESKY_WORDS words of the place's memory, set by the rung */
    size_t columns; /* of a lower triangle on a GPU: only so many become columns of L, with all of
                       their rows, and others are not touched; 0: all */
} wi_cholesky_args;

extern const wi_ladder wi_cholesky_ladder;

/* The rungs; args is a wi_cholesky_args. */
weft_status wi_cholesky_serial(weft_context *ctx, const void *args);
weft_status wi_cholesky_columns(weft_context *ctx, const void *args);
weft_status wi_cholesky_panels(weft_context *ctx, const void *args);
weft_status wi_cholesky_stepwise(weft_context *ctx, const void *args);
weft_status wi_cholesky_flow(weft_context *ctx, const void *args);
/* Takes the memory that the rung needs for this call, and for smaller ones after it. */
weft_status wi_cholesky_flow_prepare(weft_context *ctx, const wi_cholesky_args *args);
weft_status wi_cholesky_blocks(weft_context *ctx, const void *args);
weft_status wi_cholesky_openblas(weft_context *ctx, const void *args);
weft_status wi_cholesky_blocked(weft_context *ctx, const void *args);
weft_status wi_cholesky_recursive(weft_context *ctx, const void *args);

/* What the public calls check: the type, f64 or f32, and the flags. */
weft_status wi_cholesky_check(weft_context *ctx, const char *call, weft_type type, unsigned how);

/* One system on memory the place can reach, checked: A X = B. n, nrhs > 0. */
typedef struct wi_cholesky_system {
    weft_type type;
    bool by_rows; /* l and B */
    bool upper;
    size_t n, nrhs;
    const void *l;
    size_t lda;
    void *b;
    size_t ldb;
} wi_cholesky_system;

/* X in the place of B, which is unchanged if this fails. On a GPU it is queued; between
 * wi_gpu_enter and wi_gpu_leave. */
weft_status wi_cholesky_solve_system(weft_context *ctx, const wi_cholesky_system *s);

#ifdef __cplusplus
}
#endif
#endif
