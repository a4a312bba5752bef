/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls on sparse matrices: creation from each of the usual forms, facts, new values. */
#include "sparse/matrix.h"

static const char *const storage_names =
    "WEFT_GENERAL, WEFT_SYMMETRIC_LOWER, WEFT_SYMMETRIC_UPPER or WEFT_SYMMETRIC_FULL";

/* What a creating call was given. */
typedef struct given {
    weft_context *ctx;
    const char *call;
    weft_storage storage;
    size_t rows, cols;
    weft_type index_type;
} given;

static weft_status check_host(const given *g, const char *name, const void *p, size_t n,
                              weft_type type) {
    const weft_status status = wi_check_array(g->ctx, g->call, name, p, n, type);
    if (status != WEFT_OK || n == 0 || wi_is_host(g->ctx, p))
        return status;
    return wi_fail(g->ctx, WEFT_EARG,
                   "%s: %s is device memory; copy it to host memory with weft_copy", g->call, name);
}

static weft_status check_form(const given *g, weft_sparse **matrix) {
    if (!matrix)
        return wi_fail(g->ctx, WEFT_EARG, "%s: matrix is NULL; pass where to put it", g->call);
    *matrix = NULL;
    if ((unsigned)g->storage > WEFT_SYMMETRIC_FULL)
        return wi_fail(g->ctx, WEFT_EARG, "%s: storage %d is no weft_storage; pass %s", g->call,
                       (int)g->storage, storage_names);
    if (g->index_type != WEFT_I32 && g->index_type != WEFT_I64)
        return wi_fail(g->ctx, WEFT_EARG, "%s: index_type %d is not WEFT_I32 or WEFT_I64; pass one",
                       g->call, (int)g->index_type);
    if (g->rows > wi_most_rows || g->cols > wi_most_rows)
        return wi_fail(g->ctx, WEFT_EARG,
                       "%s: rows and cols are %zu and %zu, more than memory can index; check them",
                       g->call, g->rows, g->cols);
    if (g->storage != WEFT_GENERAL && g->rows != g->cols)
        return wi_fail(g->ctx, WEFT_EARG,
                       "%s: rows and cols of a symmetric matrix are equal, not %zu and %zu; pass "
                       "WEFT_GENERAL, or a square matrix",
                       g->call, g->rows, g->cols);
    return WEFT_OK;
}

static int64_t index_at(const void *index, weft_type type, size_t k) {
    return type == WEFT_I32 ? ((const int32_t *)index)[k] : ((const int64_t *)index)[k];
}

/* `index` in 64 bits: itself, or a copy that *own frees. */
static weft_status widen(const given *g, const void *index, size_t n, int64_t **own,
                         const int64_t **wide) {
    *own = NULL;
    *wide = index;
    if (g->index_type == WEFT_I64)
        return WEFT_OK;
    *own = wi_sparse_take(g->ctx, g->call, n);
    if (!*own)
        return WEFT_ENOMEM;
    for (size_t k = 0; k < n; k++)
        (*own)[k] = index_at(index, g->index_type, k);
    *wide = *own;
    return WEFT_OK;
}

static weft_status check_start(const given *g, const void *start, size_t count) {
    int64_t before = 0;
    for (size_t k = 0; k <= count; k++) {
        const int64_t here = index_at(start, g->index_type, k);
        if (k == 0 && here != 0)
            return wi_fail(g->ctx, WEFT_EARG, "%s: start[0] is %lld; it has to be 0", g->call,
                           (long long)here);
        if (here < before)
            return wi_fail(g->ctx, WEFT_EARG,
                           "%s: start[%zu] is %lld, less than start[%zu], which is %lld; each is "
                           "where the one before ends",
                           g->call, k, (long long)here, k - 1, (long long)before);
        before = here;
    }
    return WEFT_OK;
}

/* The row or column of each entry: `line` where start[line] <= entry < start[line + 1]. */
static weft_status expand(const given *g, const void *start, size_t count, size_t n,
                          int64_t **line) {
    *line = wi_sparse_take(g->ctx, g->call, n);
    if (!*line)
        return WEFT_ENOMEM;
    for (size_t j = 0; j < count; j++) {
        const int64_t end = index_at(start, g->index_type, j + 1);
        for (int64_t k = index_at(start, g->index_type, j); k < end; k++)
            (*line)[k] = (int64_t)j;
    }
    return WEFT_OK;
}

static weft_status create_compressed(const given *g, weft_sparse **matrix, bool by_columns,
                                     const void *start, const void *index, const double *value) {
    const size_t count = by_columns ? g->cols : g->rows;
    int64_t *line = NULL, *own = NULL;
    const int64_t *wide = NULL;
    weft_status status = check_form(g, matrix);
    if (status == WEFT_OK)
        status = check_host(g, "start", start, count + 1, g->index_type);
    if (status == WEFT_OK)
        status = check_start(g, start, count);
    if (status != WEFT_OK)
        return status;
    const size_t n = (size_t)index_at(start, g->index_type, count);
    status = check_host(g, "index", index, n, g->index_type);
    if (status == WEFT_OK)
        status = check_host(g, "value", value, n, WEFT_F64);
    if (status == WEFT_OK)
        status = expand(g, start, count, n, &line);
    if (status == WEFT_OK)
        status = widen(g, index, n, &own, &wide);
    if (status == WEFT_OK)
        status = wi_sparse_build(g->ctx, g->call, g->storage, g->rows, g->cols, n,
                                 by_columns ? wide : line, by_columns ? line : wide, value, matrix);
    wi_host_free(line);
    wi_host_free(own);
    return status;
}

weft_status weft_sparse_create_csc(weft_context *ctx, weft_sparse **matrix, weft_storage storage,
                                   size_t rows, size_t cols, weft_type index_type,
                                   const void *start, const void *index, const double *value) {
    const given g = {ctx, "weft_sparse_create_csc", storage, rows, cols, index_type};
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    return create_compressed(&g, matrix, true, start, index, value);
}

weft_status weft_sparse_create_csr(weft_context *ctx, weft_sparse **matrix, weft_storage storage,
                                   size_t rows, size_t cols, weft_type index_type,
                                   const void *start, const void *index, const double *value) {
    const given g = {ctx, "weft_sparse_create_csr", storage, rows, cols, index_type};
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    return create_compressed(&g, matrix, false, start, index, value);
}

weft_status weft_sparse_create_triplets(weft_context *ctx, weft_sparse **matrix,
                                        weft_storage storage, size_t rows, size_t cols, size_t n,
                                        weft_type index_type, const void *row, const void *col,
                                        const double *value) {
    const given g = {ctx, "weft_sparse_create_triplets", storage, rows, cols, index_type};
    int64_t *own_row = NULL, *own_col = NULL;
    const int64_t *wide_row = NULL, *wide_col = NULL;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = check_form(&g, matrix);
    if (status == WEFT_OK)
        status = check_host(&g, "row", row, n, index_type);
    if (status == WEFT_OK)
        status = check_host(&g, "col", col, n, index_type);
    if (status == WEFT_OK)
        status = check_host(&g, "value", value, n, WEFT_F64);
    if (status == WEFT_OK)
        status = widen(&g, row, n, &own_row, &wide_row);
    if (status == WEFT_OK)
        status = widen(&g, col, n, &own_col, &wide_col);
    if (status == WEFT_OK)
        status =
            wi_sparse_build(ctx, g.call, storage, rows, cols, n, wide_row, wide_col, value, matrix);
    wi_host_free(own_row);
    wi_host_free(own_col);
    return status;
}

void weft_sparse_destroy(weft_sparse *matrix) {
    if (!matrix)
        return;
    void *const parts[] = {matrix->start,       matrix->row, matrix->value, matrix->row_start,
                           matrix->col,         matrix->at,  matrix->home,  matrix->sums,
                           matrix->mirror_sums, matrix};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        wi_host_free(parts[k]);
}

weft_status weft_sparse_update(weft_context *ctx, weft_sparse *matrix, size_t n,
                               const double *value) {
    static const char call[] = "weft_sparse_update";
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    const given g = {.ctx = ctx, .call = call};
    if (!matrix)
        return wi_fail(ctx, WEFT_EARG, "%s: matrix is NULL; pass one", call);
    if (n != matrix->given)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: n is %zu, but the matrix was created from %zu values; pass as many, in "
                       "the same order",
                       call, n, matrix->given);
    const weft_status status = check_host(&g, "value", value, n, WEFT_F64);
    return status == WEFT_OK ? wi_sparse_set_values(ctx, call, matrix, value) : status;
}

size_t weft_sparse_rows(const weft_sparse *matrix) {
    return matrix ? matrix->rows : 0;
}

size_t weft_sparse_cols(const weft_sparse *matrix) {
    return matrix ? matrix->cols : 0;
}

int weft_sparse_is_symmetric(const weft_sparse *matrix) {
    return matrix ? matrix->symmetric : 0;
}

size_t weft_sparse_entries(const weft_sparse *matrix) {
    return matrix ? (size_t)matrix->start[matrix->cols] : 0;
}

const int64_t *weft_sparse_starts(const weft_sparse *matrix) {
    return matrix ? matrix->start : NULL;
}

const int64_t *weft_sparse_row_indices(const weft_sparse *matrix) {
    return matrix ? matrix->row : NULL;
}

const double *weft_sparse_values(const weft_sparse *matrix) {
    return matrix ? matrix->value : NULL;
}
