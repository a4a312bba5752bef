/* SPDX-License-Identifier: Apache-2.0 */
/* Data structures of the sparse slice: matrices, orderings and symbolic factors. Internal. */
#ifndef WI_SPARSE_H
#define WI_SPARSE_H

#include <stdio.h>

#include "core/core.h"
#include "weft/sparse.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of a matrix whose rows, or columns, several ranks have passed. */
typedef struct wi_dealt {
    int ranks;
    size_t *rows;   /* of each, as of b and x */
    size_t *given;  /* values of each */
    double *values; /* room for those of all */
} wi_dealt;

/* The caller's matrix by columns: 64-bit indices, rows ascending in each column, duplicates summed.
 * For a symmetric matrix only the entries on and below the diagonal are held. */
struct weft_sparse {
    size_t rows, cols;
    weft_storage storage; /* how it was given */
    bool symmetric;       /* storage is not WEFT_GENERAL */
    int64_t *start;       /* cols + 1 */
    int64_t *row;         /* start[cols] elements, and so are those below */
    double *value;
    /* Of a matrix that is only a call's view of the caller's: device memory that has the values.
     * `value` may then be NULL. Else NULL. */
    const double *there;
    /* The same entries by rows, columns ascending; without the diagonal if symmetric. Entry k of
     * row i, k = row_start[i] ... row_start[i + 1] - 1, is value[at[k]] in column col[k]. */
    int64_t *row_start; /* rows + 1 */
    int64_t *col, *at;
    uint64_t fingerprint; /* a hash of the pattern; values do not enter */
    uint64_t version;     /* of the values: no two matrices and no two updates have the same */
    /* home[k] is the entry to which value k of the `given` values is added; ~entry if it was given
     * on the other side of the diagonal and has to equal it; or wi_left_out. NULL: value k is entry
     * k. */
    size_t given;
    int64_t *home;
    /* Both halves are given, each entry once, by columns or by rows: the first value for an entry
     * has home >= 0, its image, which comes later, has home < 0. So by rows, those with home < 0
     * are below the diagonal; otherwise they are above it. */
    bool paired, by_rows;
    double *sums;         /* room for new values */
    double *mirror_sums;  /* for WEFT_SYMMETRIC_FULL, the same for their mirror images */
    double *summed_sizes; /* if there are duplicates, half the sum of |value| over both sides; else
                             NULL */
    double tolerance;     /* for FULL: how far the halves may be apart, and how far they are, */
    double asymmetry;     /* both relative to the size of an entry; see weft_sparse_input */
    wi_dealt *dealt;      /* this pointer owns its memory; NULL: all of it was this process's */
};

/* A number above 0 that no earlier call has given. */
uint64_t wi_sparse_new_version(void);

/* Entry (j, j), 0 if it is not held. */
static inline double wi_sparse_diagonal(const weft_sparse *matrix, int64_t j) {
    const int64_t k = matrix->start[j];
    return k < matrix->start[j + 1] && matrix->row[k] == j ? matrix->value[k] : 0;
}

enum {
    WI_CHOL_RHS = 16 /* how many right-hand sides are solved at once, at most */
};

/* A symmetric graph: the neighbours of each vertex, ascending, without itself; each edge is in both
 * lists. */
typedef struct wi_pattern {
    int64_t n;
    const int64_t *start, *row;
} wi_pattern;

/* An ordering: perm[k] is the caller's column that comes k-th. */
typedef struct wi_order_args {
    const char *call; /* the public name, for messages */
    const wi_pattern *graph;
    int64_t *perm;
    const int64_t *given;  /* the caller's own ordering, or NULL */
    double seconds_budget; /* for `best` */
    double factorizations; /* for `best`: how often the plan will be factored; 0: once */
    int64_t halo;  /* for `amd`: the last `halo` vertices count as neighbours but are not ordered,
                      because they come after all of perm */
    double *flops; /* here `amd` stores an upper bound on the flops of L, and `best` too if it takes
                      amd at once; or NULL */
    const struct wi_order_limit *limit; /* with `flops`: `amd` stops, without an ordering, as soon
                                           as its bound is above this limit; or NULL */
    const char **chosen;                /* here `best` stores the rung that it took; or NULL */
    struct wi_spare *spare;             /* here `dissect` leaves memory that it used; or NULL */
} wi_order_args;

/* The structure of L, known before any values. Column k is a column of the permuted matrix. */
typedef struct wi_symbolic {
    int64_t n, *perm, *inverse;
    int64_t *parent; /* the elimination tree; every column comes before its parent; -1: root */
    int64_t *count;  /* entries of column k of L, the diagonal included */
    int64_t supernodes;
    int64_t *
        first; /* supernodes + 1: the first column of each. The tree of supernodes is postordered */
    int64_t *rows_at; /* supernodes + 1: where the rows of each begin in `rows` */
    int64_t *rows;    /* of each supernode, ascending; its own columns first */
    int64_t *super_parent;
    int64_t *peak;        /* the most doubles on the stack while each subtree is factored */
    int64_t *size;        /* number of supernodes in the subtree of each, itself included */
    double *work;         /* to factor the subtree of each: flops and what else takes time */
    int64_t nnz_l;        /* entries of L */
    int64_t nnz_l_stored; /* the same, with the explicit zeros that amalgamation adds */
    int64_t tree_height;  /* columns on the longest path of the elimination tree */
    int64_t largest_front;
    double flops; /* the sum of count[k]^2 */
    size_t factor_bytes, work_bytes;
} wi_symbolic;

/* The work of weft_sparse_read_as and weft_sparse_write on open files; `call` and `name` are for
 * messages, which may be in the terms of the command. */
typedef struct wi_reading {
    weft_storage storage;
    double symmetry_tolerance;
    bool command;
} wi_reading;
weft_status wi_sparse_read(weft_context *ctx, const char *call, FILE *file, const char *name,
                           const wi_reading *how, weft_sparse **matrix);
weft_status wi_sparse_write(weft_context *ctx, const char *call, FILE *file, const char *name,
                            const weft_sparse *matrix);

/* Rows of a matrix, as of b and x that a rank passes. */
typedef struct wi_own_rows {
    size_t first, n;
} wi_own_rows;

/* These rows of y = A x, from y[0] on. */
void wi_sparse_multiply(const weft_context *ctx, const weft_sparse *matrix, wi_own_rows rows,
                        const double *x, double *y);

/* How well x solves the system: the maximum over all rows, for each of at most WI_CHOL_RHS columns.
 * NaN counts as the largest. */
typedef struct wi_misfit {
    double error[WI_CHOL_RHS]; /* |r| / scale, with 0 / 0 = 0 */
    double most[WI_CHOL_RHS];  /* |r| */
    double norm;               /* the largest sum of |a| in a row: the infinity norm of A */
} wi_misfit;

/* r = b - A x for `n` columns, scale = |A| |x| + |b|, and the misfit; outputs that are NULL are not
 * computed. With `extended` each r[i] is summed in twice the precision and then rounded. The same
 * bits for any number of threads. Allocates nothing.
 *
 * For the misfit, a row whose scale is tiny (at most 1000 n 2^-53 times what it could be, a |x|_max
 * + |b|, where a is the largest |a| in the row) is measured by |A| |x| + a |x|_max instead (Arioli,
 * Demmel and Duff 1989): if b and all products of the row are zero but for rounding, r / scale is
 * of the order of 1 and means nothing. */
typedef struct wi_residual_args {
    const weft_sparse *matrix;
    size_t n;
    const double *x, *b;
    double *r, *scale;
    size_t ldx, ldb, ldr, ld_scale;
    bool extended;
    const int64_t *place; /* not NULL: r is row-major, and its row i is stored as row place[i] */
    wi_misfit *misfit;
    const double *largest; /* for the misfit: the largest |x| in each column */
    const int *shift;      /* not NULL: row i of b, column j, times 2^(power[i] - shift[j]) */
    const int32_t *power;  /* of each row; NULL: 0 */
    int threads;           /* at most; 0: as many as pay */
} wi_residual_args;
void wi_sparse_residual(const weft_context *ctx, const wi_residual_args *args);

/* The largest |x[i]|; if one is not finite, such a one. */
double wi_largest(size_t n, const double *x);

/* Is each |x[i]| either 0 or between `least` and `most`? */
bool wi_within(size_t n, const double *x, double least, double most);

#ifdef __cplusplus
}
#endif
#endif
