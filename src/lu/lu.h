/* SPDX-License-Identifier: Apache-2.0 */
/* lu inside the library: one checked call as its rungs get it, what a rung says of a failure,
 * systems with the factors, and the rungs. */
#ifndef WI_LU_H
#define WI_LU_H

#include "core/rows.h"
#include "weft/lu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a rung leaves in args.first: the number of a column, or this. */
#define WI_LU_NONE INT64_MAX

enum {
    WI_LU_SINGULAR, /* first[this]: the first column whose pivot is exactly 0 */
    WI_LU_INFINITE, /* ... NaN or infinite */
    WI_LU_WORDS
};

/* One call on memory the place can reach, checked, of a matrix stored by columns. m, n > 0.
 *
 * Column k < min(m, n): the pivot is the largest in absolute value of rows k ... m - 1, of equals
 * the one in the first row; a NaN counts as larger than any number, and as equal to another NaN.
 * The whole rows k and pivot[k] are exchanged, and the elements below the pivot divided by it
 * unless it is 0. A rung that fails has changed nothing. */
typedef struct wi_lu_args {
    weft_type type;
    size_t m, n;
    void *a;
    size_t lda;
    int64_t *pivot; /* min(m, n) */
    int64_t *first; /* WI_LU_WORDS words of the place's memory, set by the rung */
} wi_lu_args;

extern const wi_ladder wi_lu_ladder;

/* The rungs; args is a wi_lu_args. */
weft_status wi_lu_serial(weft_context *ctx, const void *args);
weft_status wi_lu_openblas(weft_context *ctx, const void *args);
weft_status wi_lu_blocked(weft_context *ctx, const void *args);
weft_status wi_lu_recursive(weft_context *ctx, const void *args);
weft_status wi_lu_lookahead(weft_context *ctx, const void *args);
weft_status wi_lu_three_kernels(weft_context *ctx, const void *args);
weft_status wi_lu_panels(weft_context *ctx, const void *args);
weft_status wi_lu_halves(weft_context *ctx, const void *args);
weft_status wi_lu_cluster(weft_context *ctx, const void *args);
weft_status wi_lu_overlapped(weft_context *ctx, const void *args);

/* The widest panel of so many rows that one cluster of a GPU can factor; 0 if none can. */
size_t wi_lu_cluster_width(const weft_context *ctx, size_t rows);

/* The columns of a block that a GPU is dealt where it has many of them. */
size_t wi_lu_dealt_columns(void);

/* X = P X (forward: exchanges k = 0, 1, ... count - 1 in turn) or X = P' X (backward, the last
 * first): row k of X is exchanged with row pivot[k]. X is stored by columns, of which there are n.
 * All is memory that the place can reach; on a GPU the call is queued. */
weft_status wi_lu_swap_rows(weft_context *ctx, weft_type type, size_t n, void *x, size_t ldx,
                            size_t count, const int64_t *pivot, bool forward);
/* Exchanges first ... end - 1 alone, forward, on a cpu. */
void wi_lu_swap_some(const weft_context *ctx, weft_type type, size_t n, void *x, size_t ldx,
                     size_t first, size_t end, const int64_t *pivot);
weft_status wi_lu_swap_rows_gpu(weft_context *ctx, weft_type type, size_t n, void *x, size_t ldx,
                                size_t count, const int64_t *pivot, bool forward);

/* Exchanges of rows in columns that are done with may wait for the end: until then numbers of rows
 * are exchanged in their place, one column of them for many. index[i + rows k] = i, k < columns. */
weft_status wi_lu_number_rows(weft_context *ctx, uint32_t *index, size_t rows, size_t columns);
/* Row i of block k of these columns, of `width` columns each, becomes what row from[i + rows k]
 * was, i = first + k step ... rows - 1. */
typedef struct wi_lu_permute_args {
    weft_type type;
    size_t rows, columns, width, first, step;
    void *a;
    size_t lda;
    const uint32_t *from;
    void *copy; /* room for `rows` elements of each column of a block */
    /* Not NULL: a stays as it is, and all rows of block k go here, to columns from k apart on. */
    void *to;
    size_t ldt, apart;
} wi_lu_permute_args;
weft_status wi_lu_permute(weft_context *ctx, const wi_lu_permute_args *args);

/* What the public calls check: the type, f64 or f32, and the flags, of which `allowed` are `names`.
 */
weft_status wi_lu_check(weft_context *ctx, const char *call, weft_type type, unsigned how,
                        unsigned allowed, const char *names);

/* One system on memory the place can reach, checked: op(A) X = B. n, nrhs > 0. */
typedef struct wi_lu_system {
    weft_type type;
    bool by_rows; /* lu and B */
    bool transposed;
    size_t n, nrhs;
    const void *lu;
    size_t lda;
    const int64_t *pivot;
    void *b;
    size_t ldb;
} wi_lu_system;

/* Solves for the columns of `x`, which holds B and then X: n x nrhs, stored by columns without gaps
 * even if lu is stored by rows. s->b is not used. If it fails X is not to be used. On a GPU it is
 * queued; between wi_gpu_enter and wi_gpu_leave. */
weft_status wi_lu_solve_columns(weft_context *ctx, const wi_lu_system *s, void *x);

/* B to X, which is stored by columns without gaps, or `back`. */
weft_status wi_lu_move_system(weft_context *ctx, const wi_lu_system *s, void *x, bool back);

/* Refuses pivot[k] below k or not below n, if pivot is host memory. */
weft_status wi_lu_check_pivots(weft_context *ctx, const char *call, size_t n, const int64_t *pivot);

#ifdef __cplusplus
}
#endif
#endif
