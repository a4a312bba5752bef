/* SPDX-License-Identifier: Apache-2.0 */
/* What the rungs of lu on a GPU are made of. */
#ifndef WI_LU_CUDA_CUH
#define WI_LU_CUDA_CUH

#include "core/gpu.h"
#include "lu/lu.h"

/* Columns first ... first + width - 1 of the matrix of a call, from row `first` on. */
typedef struct wi_lu_panel {
    const wi_lu_args *args;
    size_t first, width;
} wi_lu_panel;

/* Columns first ... end - 1. */
typedef struct wi_lu_columns {
    size_t first, end;
} wi_lu_columns;

static inline size_t wi_lu_count(wi_lu_columns c) {
    return c.end - c.first;
}

/* The address of an element. */
static inline char *wi_lu_at(const wi_lu_args *args, size_t row, size_t column) {
    return (char *)args->a + (row + column * args->lda) * weft_type_size(args->type);
}

/* Sets the words of args->first to WI_LU_NONE. */
weft_status wi_lu_clear_words(weft_context *ctx, const wi_lu_args *args);

/* Factors a panel, column by column, on any GPU; rows are exchanged in the columns of `whole`,
 * which contain the panel, and nowhere else. If `whole` goes beyond the panel its columns are
 * eliminated too. */
weft_status wi_lu_factor_by_columns(weft_context *ctx, const wi_lu_panel *panel,
                                    wi_lu_columns whole);

/* Factors a block of columns in one cluster. */
weft_status wi_lu_factor_in_cluster(weft_context *ctx, const wi_lu_args *args, wi_lu_columns whole);

/* Exchanges rows in the columns of `whole` outside the panel, of at most 32 columns, as its
 * factorization did; and in those after the panel solves with its unit lower triangle, so that its
 * rows there are rows of U. */
weft_status wi_lu_apply(weft_context *ctx, const wi_lu_panel *panel, wi_lu_columns whole);

/* Row first + k of X is exchanged with row pivot[k], k = 0 ... count - 1, or the last first. */
typedef struct wi_lu_exchanges {
    size_t first, count;
    const int64_t *pivot;
    bool forward;
} wi_lu_exchanges;

/* The same of wi_lu_swap_rows, from row `first` on. x is row 0 of X, which has n columns. */
weft_status wi_lu_exchange(weft_context *ctx, weft_type type, size_t n, void *x, size_t ldx,
                           wi_lu_exchanges e);
/* The same exchanges as those of the last call on this lane, in other columns. */
weft_status wi_lu_exchange_again(weft_context *ctx, weft_type type, size_t n, void *x, size_t ldx,
                                 wi_lu_exchanges e);
/* Takes the memory that up to `count` of them need on this lane, so that none fails for it later.
 */
weft_status wi_lu_reserve_exchanges(weft_context *ctx, size_t count);

/* A(below the panel, columns) -= A(below, panel) A(rows of the panel, columns), for a panel of at
 * most 32 columns. */
weft_status wi_lu_update(weft_context *ctx, const wi_lu_panel *panel, wi_lu_columns columns);

constexpr size_t wi_lu_most_substituted = 256; /* rows */
/* A(rows of the triangle, columns) = L \ A(rows of the triangle, columns), L being the unit lower
 * triangle on the diagonal in these columns, of so many rows at most. */
weft_status wi_lu_substitute(weft_context *ctx, const wi_lu_args *args, wi_lu_columns triangle,
                             wi_lu_columns columns);

#endif
