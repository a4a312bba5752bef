/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices from and to Matrix Market files. */
#include <errno.h>
#include <string.h>

#include "io/matrix_market.h"
#include "sparse/matrix.h"

/* A file must not cost more memory than its bytes justify. */
enum {
    ROWS_FOR_ANY_FILE = 1 << 24,
    ROWS_FOR_AN_ENTRY = 1 << 10
};

/* Makes triplets of a dense file, in place: its entries that are not zero, column by column. */
static weft_status list_dense(weft_context *ctx, const char *call, wi_mm *m) {
    size_t kept = 0, k = 0;
    for (size_t e = 0; e < m->head.entries; e++)
        kept += m->value[e] != 0;
    m->row = wi_sparse_take(ctx, call, kept);
    m->col = wi_sparse_take(ctx, call, kept);
    if (!m->row || !m->col)
        return WEFT_ENOMEM;
    kept = 0;
    for (size_t j = 0; j < m->head.cols; j++) {
        for (size_t i = m->head.symmetry == WI_MM_SYMMETRIC ? j : 0; i < m->head.rows; i++, k++) {
            if (m->value[k] == 0)
                continue;
            m->row[kept] = (int64_t)i;
            m->col[kept] = (int64_t)j;
            m->value[kept++] = m->value[k];
        }
    }
    m->head.entries = kept;
    return WEFT_OK;
}

/* Does column i hold what row i holds, for all i? */
static bool is_own_transpose(const weft_sparse *m) {
    if (m->rows != m->cols || memcmp(m->start, m->row_start, (m->cols + 1) * sizeof *m->start) != 0)
        return false;
    for (int64_t k = 0; k < m->start[m->cols]; k++) {
        if (m->row[k] != m->col[k] || m->value[k] != m->value[m->at[k]])
            return false;
    }
    return true;
}

/* Drops the entries above the diagonal of a matrix that is its own transpose. */
static void keep_lower(weft_sparse *m) {
    int64_t kept = 0, begin = 0;
    for (size_t j = 0; j < m->cols; j++) {
        const int64_t end = m->start[j + 1];
        for (int64_t k = begin; k < end; k++) {
            if (m->row[k] < (int64_t)j)
                continue;
            m->row[kept] = m->row[k];
            m->value[kept++] = m->value[k];
        }
        begin = end;
        m->start[j + 1] = kept;
    }
    m->storage = WEFT_SYMMETRIC_LOWER;
    m->symmetric = true;
    wi_sparse_index_rows(m);
}

/* From now on, new values come in the order in which they are held. */
static void forget_order_given(weft_sparse *m) {
    wi_host_free(m->home);
    wi_host_free(m->sums);
    m->home = NULL;
    m->sums = NULL;
    m->given = (size_t)m->start[m->cols];
}

static weft_status check_size(weft_context *ctx, const char *label, const wi_mm_head *head) {
    if (head->symmetry == WI_MM_SKEW)
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: the matrix is skew-symmetric, so it is not positive definite, and "
                       "weft solves no other systems; write a skew matrix as general to multiply "
                       "by it",
                       label);
    const size_t most = head->entries < wi_most_rows / ROWS_FOR_AN_ENTRY
                            ? ROWS_FOR_ANY_FILE + ROWS_FOR_AN_ENTRY * head->entries
                            : wi_most_rows;
    if (head->rows > most || head->cols > most)
        return wi_fail(ctx, WEFT_EFORMAT,
                       "%s: a matrix of %zu x %zu with %zu entries is hardly meant; mend its "
                       "sizes",
                       label, head->rows, head->cols, head->entries);
    return WEFT_OK;
}

weft_status wi_sparse_read(weft_context *ctx, const char *call, FILE *file, const char *name,
                           weft_sparse **matrix) {
    wi_mm m;
    wi_note note = {""};
    char label[WI_MESSAGE_BYTES / 2]; /* messages name the file, too */
    snprintf(label, sizeof label, "%s: %s", call, name);
    *matrix = NULL;
    weft_status status = wi_mm_read(ctx, file, name, 0, &m, &note);
    if (status != WEFT_OK)
        return wi_fail(ctx, status, "%s: %s", call, note.text);
    status = check_size(ctx, label, &m.head);
    if (status == WEFT_OK && m.head.array)
        status = list_dense(ctx, label, &m);
    if (status == WEFT_OK)
        status = wi_sparse_build(
            ctx, label, m.head.symmetry == WI_MM_SYMMETRIC ? WEFT_SYMMETRIC_LOWER : WEFT_GENERAL,
            m.head.rows, m.head.cols, m.head.entries, m.row, m.col, m.value, matrix);
    wi_mm_free(&m);
    if (status != WEFT_OK)
        return status;
    if (!(*matrix)->symmetric && is_own_transpose(*matrix))
        keep_lower(*matrix);
    forget_order_given(*matrix);
    return WEFT_OK;
}

weft_status wi_sparse_write(weft_context *ctx, const char *call, FILE *file, const char *name,
                            const weft_sparse *matrix) {
    wi_note note = {""};
    const wi_mm_head head = {.symmetry = matrix->symmetric ? WI_MM_SYMMETRIC : WI_MM_GENERAL,
                             .rows = matrix->rows,
                             .cols = matrix->cols,
                             .entries = weft_sparse_entries(matrix)};
    wi_mm_write_head(file, &head);
    for (size_t j = 0; j < matrix->cols; j++) {
        for (int64_t k = matrix->start[j]; k < matrix->start[j + 1]; k++)
            wi_mm_write_entry(file, matrix->row[k], (int64_t)j, matrix->value[k]);
    }
    const weft_status status = wi_mm_write_end(file, name, &note);
    return status == WEFT_OK ? status : wi_fail(ctx, status, "%s: %s", call, note.text);
}

static weft_status open_failed(weft_context *ctx, const char *call, const char *path) {
    return wi_fail(ctx, WEFT_EIO, "%s: %s: opening failed: %s", call, path, strerror(errno));
}

weft_status weft_sparse_read(weft_context *ctx, weft_sparse **matrix, const char *path) {
    static const char call[] = "weft_sparse_read";
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    if (!matrix)
        return wi_fail(ctx, WEFT_EARG, "%s: matrix is NULL; pass where to put it", call);
    *matrix = NULL;
    if (!path)
        return wi_fail(ctx, WEFT_EARG, "%s: path is NULL; name a file", call);
    FILE *const file = fopen(path, "rb");
    if (!file)
        return open_failed(ctx, call, path);
    const weft_status status = wi_sparse_read(ctx, call, file, path, matrix);
    fclose(file);
    return status;
}

weft_status weft_sparse_write(weft_context *ctx, const weft_sparse *matrix, const char *path) {
    static const char call[] = "weft_sparse_write";
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    if (!matrix || !path)
        return wi_fail(ctx, WEFT_EARG, "%s: %s is NULL; pass %s", call, matrix ? "path" : "matrix",
                       matrix ? "the name of a file" : "one");
    FILE *const file = fopen(path, "wb");
    if (!file)
        return open_failed(ctx, call, path);
    weft_status status = wi_sparse_write(ctx, call, file, path, matrix);
    if (fclose(file) != 0 && status == WEFT_OK)
        status = wi_fail(ctx, WEFT_EIO, "%s: %s: writing failed: %s", call, path, strerror(errno));
    return status;
}
