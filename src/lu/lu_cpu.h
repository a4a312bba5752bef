/* SPDX-License-Identifier: Apache-2.0 */
/* What the rungs of lu on a cpu share: eliminating columns, and updating those right of them. */
#ifndef WI_LU_CPU_H
#define WI_LU_CPU_H

#include "gemm/trsm.h"
#include "lu/lu.h"
#include "lu/lu_simd.h"

typedef struct wi_lu_work {
    weft_context *ctx; /* whose threads work */
    const wi_lu_args *g;
    wi_lu_eliminate *eliminate;
    char *memory; /* of trsm and gemm */
} wi_lu_work;

/* Columns first ... first + count - 1. */
typedef struct wi_lu_columns {
    size_t first, count;
} wi_lu_columns;

static inline void *wi_lu_at(const wi_lu_args *g, size_t row, size_t column) {
    return (char *)g->a + (row + column * g->lda) * weft_type_size(g->type);
}

/* All columns right of these. */
static inline wi_lu_columns wi_lu_right_of(const wi_lu_args *g, wi_lu_columns c) {
    return (wi_lu_columns){c.first + c.count, g->n - c.first - c.count};
}

/* Exchanges rows of the columns `in` as the pivots of the columns `pivots` say. */
void wi_lu_exchange(const wi_lu_work *w, wi_lu_columns pivots, wi_lu_columns in);

/* U12 = L11 \ A12 */
wi_triangle_args wi_lu_triangle_of(const wi_lu_work *w, wi_lu_columns done, wi_lu_columns rest);

/* Updates columns `rest` by the eliminated columns `done` on their left: exchanges rows, then U12 =
 * L11 \ A12 and A22 -= L21 U12. */
void wi_lu_update(const wi_lu_work *w, wi_lu_columns done, wi_lu_columns rest);

/* Eliminates columns recursively: the left half, an update of the right half, the right half. Rows
 * are exchanged in these columns only. */
void wi_lu_halve(const wi_lu_work *w, wi_lu_columns c);

/* The bytes that wi_lu_update and wi_lu_halve need. */
size_t wi_lu_bytes_of_update(const wi_lu_work *w, wi_lu_columns done, wi_lu_columns rest);
size_t wi_lu_bytes_of_halves(const wi_lu_work *w, wi_lu_columns c);

/* Allocates bytes_of(work) for work->memory, and calls `body`. */
weft_status wi_lu_run(weft_context *ctx, const wi_lu_args *g,
                      size_t (*bytes_of)(const wi_lu_work *w), void (*body)(const wi_lu_work *w));

#endif
