/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a symmetric matrix of which both halves are given in order, as compressed columns and rows
 * give them. One pass in that order meets each entry a[i][j] twice: first in line min(i, j), and
 * there the entries have the order in which they are held; then in line max(i, j), and there they
 * have the order of the matrix by rows. So nothing is sorted. */
#include <string.h>

#include "sparse/matrix.h"

/* The given entries by lines: columns, or rows. `across` is the index within a line. */
typedef struct lines {
    size_t n;
    const int64_t *line, *across;
} lines;

/* Are the entries in strictly ascending order? Then start counts those that are held. */
static bool count_held(const lines *in, weft_sparse *m) {
    int64_t line = -1, across = -1;
    for (size_t k = 0; k < in->n; k++) {
        if (in->line[k] < line || (in->line[k] == line && in->across[k] <= across))
            return false;
        line = in->line[k];
        across = in->across[k];
        m->start[line + 1] += across >= line;
    }
    return true;
}

/* Fills row, home, row_start, col and at; false if an entry has no mirror image. next[j], for
 * `cols` columns, is the entry of column j whose image comes next. */
static bool pair_up(const lines *in, weft_sparse *m, int64_t *next) {
    int64_t held = 0, images = 0;
    size_t k = 0;
    for (int64_t line = 0; line < (int64_t)m->cols; line++) {
        m->row_start[line] = images;
        for (; k < in->n && in->line[k] == line && in->across[k] < line; k++) {
            const int64_t entry = next[in->across[k]]++;
            if (entry >= held || m->row[entry] != line)
                return false;
            m->col[images] = in->across[k];
            m->at[images++] = entry;
            m->home[k] = ~entry;
        }
        next[line] = held + (k < in->n && in->line[k] == line && in->across[k] == line);
        for (; k < in->n && in->line[k] == line; k++) {
            m->row[held] = in->across[k];
            m->home[k] = held++;
        }
    }
    m->row_start[m->rows] = images;
    /* if every column's entries have been met, none was taken for one of the next column */
    for (size_t j = 0; j < m->cols; j++) {
        if (next[j] != m->start[j + 1])
            return false;
    }
    return true;
}

weft_status wi_sparse_take_pairs(weft_context *ctx, const char *call, const wi_triplets *given,
                                 weft_sparse *m) {
    lines in = {given->n, given->col, given->row};
    m->by_rows = false;
    if (!count_held(&in, m)) {
        memset(m->start, 0, (m->cols + 1) * sizeof *m->start);
        in = (lines){given->n, given->row, given->col};
        m->by_rows = true;
        if (!count_held(&in, m))
            return WEFT_OK;
    }
    for (size_t j = 0; j < m->cols; j++)
        m->start[j + 1] += m->start[j];
    weft_status status = wi_sparse_make_room(ctx, call, m);
    int64_t *const next = wi_sparse_take(ctx, call, m->cols);
    m->home = wi_sparse_take(ctx, call, in.n);
    m->sums = wi_sparse_take(ctx, call, m->given);
    m->mirror_sums = wi_sparse_take(ctx, call, m->given);
    if (!next || !m->home || !m->sums || !m->mirror_sums)
        status = WEFT_ENOMEM;
    m->given = in.n;
    m->paired = status == WEFT_OK && pair_up(&in, m, next);
    wi_host_free(next);
    return status;
}
