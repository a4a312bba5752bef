/* SPDX-License-Identifier: Apache-2.0 */
/* What the sparse slice is made of: matrices, orderings and symbolic factors. Internal. */
#ifndef WI_SPARSE_H
#define WI_SPARSE_H

#include <stdio.h>

#include "core/core.h"
#include "weft/sparse.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The caller's matrix by columns: indices of 64 bits, rows ascending in each column, duplicates
 * summed. Of a symmetric matrix only the entries on and below the diagonal are held. */
struct weft_sparse {
    size_t rows, cols;
    weft_storage storage; /* how it was given */
    bool symmetric;       /* storage is not WEFT_GENERAL */
    int64_t *start;       /* cols + 1 */
    int64_t *row;         /* start[cols], and so below */
    double *value;
    /* The same entries by rows, columns ascending; those of the diagonal left out if symmetric.
     * Entry k of row i, k = row_start[i] ... row_start[i + 1] - 1, is value[at[k]] in column
     * col[k]. */
    int64_t *row_start; /* rows + 1 */
    int64_t *col, *at;
    uint64_t fingerprint; /* tells patterns apart: entries and their places, not values */
    /* For new values: the entry that value k of `given` is added to, as ~entry if it is given on
     * the other side of the diagonal and has to equal it, or that it is left out. NULL: each is the
     * entry of its number. */
    size_t given;
    int64_t *home;
    double *sums;         /* room for new values */
    double *mirror_sums;  /* and, of WEFT_SYMMETRIC_FULL, for their mirror images */
    double *summed_sizes; /* and, if some are summed, for half of |value| over both; else NULL */
    double tolerance;     /* how far the halves of FULL may be apart, and how far they are, both */
    double asymmetry;     /* relative to the size of an entry, see weft_sparse_input */
};

/* Entry (j, j), 0 if there is none. */
static inline double wi_sparse_diagonal(const weft_sparse *matrix, int64_t j) {
    const int64_t k = matrix->start[j];
    return k < matrix->start[j + 1] && matrix->row[k] == j ? matrix->value[k] : 0;
}

enum {
    WI_CHOL_RHS = 16 /* right-hand sides solved at once, at most */
};

/* A symmetric graph: the neighbours of each vertex, ascending, itself left out, both ways. */
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
    int64_t halo; /* for `amd`: so many vertices, the last, count as neighbours but have no place in
                   * perm, for they come after all of it */
    double *flops;       /* where `amd` says how many flops L takes at most, and `best` if it takes
                          * `amd` at once; or NULL */
    const char **chosen; /* where `best` says which rung it took; or NULL */
} wi_order_args;

/* The structure of L before there are numbers. Columns k are those of the permuted matrix. */
typedef struct wi_symbolic {
    int64_t n, *perm, *inverse;
    int64_t *parent; /* the elimination tree, every column before its parent; -1: root */
    int64_t *count;  /* entries of column k of L, the diagonal included */
    int64_t supernodes;
    int64_t *first;   /* supernodes + 1: the first column of each; their tree is postordered */
    int64_t *rows_at; /* supernodes + 1: where in `rows` those of each begin */
    int64_t *rows;    /* of each supernode ascending, its own columns first */
    int64_t *super_parent;
    int64_t *peak;        /* doubles on the stack at most, while the subtree of each is factored */
    int64_t *size;        /* supernodes in the subtree of each, itself included */
    double *work;         /* to factor the subtree of each: flops and what comes with them */
    int64_t nnz_l;        /* entries of L */
    int64_t nnz_l_stored; /* the same with the zeros that amalgamation pads */
    int64_t tree_height;  /* columns on the longest path of the elimination tree */
    int64_t largest_front;
    double flops; /* the sum of count[k]^2 */
    size_t factor_bytes, work_bytes;
} wi_symbolic;

/* What weft_sparse_read_as and weft_sparse_write do, on open files; `call` and `name` are for
 * messages, which may be in the words of the command. */
typedef struct wi_reading {
    weft_storage storage;
    double symmetry_tolerance;
    bool command;
} wi_reading;
weft_status wi_sparse_read(weft_context *ctx, const char *call, FILE *file, const char *name,
                           const wi_reading *how, weft_sparse **matrix);
weft_status wi_sparse_write(weft_context *ctx, const char *call, FILE *file, const char *name,
                            const weft_sparse *matrix);

/* How well x solves: the most over all rows, for each of at most WI_CHOL_RHS columns. NaN counts as
 * the largest. */
typedef struct wi_misfit {
    double error[WI_CHOL_RHS]; /* |r| / scale, where 0 / 0 is 0 */
    double most[WI_CHOL_RHS];  /* |r| */
    double norm;               /* the sum of |a| in a row: the infinity norm of A */
} wi_misfit;

/* r = b - A x for `n` columns, scale = |A| |x| + |b|, and the misfit; outputs that are NULL are
 * left out. With `extended` each r[i] is summed in twice the precision and then rounded. Same bits
 * for any number of threads. Allocates nothing.
 *
 * For the misfit a row whose scale is tiny, no more than 1000 n 2^-53 times what it could be, a x +
 * |b| with the largest |a| in the row and the largest |x| of all, is measured by |A| |x| + a x
 * instead (Arioli, Demmel and Duff 1989): where b and what x meets in the row are zeros but for
 * rounding, r / scale is of the order of 1 and means nothing. */
typedef struct wi_residual_args {
    const weft_sparse *matrix;
    size_t n;
    const double *x, *b;
    double *r, *scale;
    size_t ldx, ldb, ldr, ld_scale;
    bool extended;
    const int64_t *place; /* not NULL: r is row-major, and row i of it goes to row place[i] */
    wi_misfit *misfit;
    const double *largest; /* of the misfit: the largest |x| in each column */
    const int *shift;     /* not NULL: of row i of column j, b 2^(power[i] - shift[j]) stands for */
    const int32_t *power; /* b; power NULL: 0 */
    int threads;          /* at most; 0: as many as pay */
} wi_residual_args;
void wi_sparse_residual(const weft_context *ctx, const wi_residual_args *args);

/* The largest |x[i]|; one that is not finite if there is any. */
double wi_largest(size_t n, const double *x);

/* Is each |x[i]| 0 or from `least` to `most`? */
bool wi_within(size_t n, const double *x, double least, double most);

#ifdef __cplusplus
}
#endif
#endif
