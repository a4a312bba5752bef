/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a matrix from triplets. Two counting sorts, by rows and then by columns, order the entries
 * in time proportional to their number, and bring duplicates together. */
#include <math.h>
#include <string.h>

#include "sparse/matrix.h"

/* The input, and the matrix being built. */
typedef struct builder {
    weft_context *ctx;
    const wi_voice *voice;
    weft_storage storage;
    size_t rows, cols, n;
    const int64_t *row, *col;
    size_t kept; /* entries that are not in an ignored half */
    weft_sparse *matrix;
} builder;

/* Where an entry is held in the matrix. */
typedef struct spot {
    int64_t row, col; /* row -1: nowhere, because it is in the ignored half */
    bool mirrored;    /* it was given on the other side of the diagonal */
} spot;

static inline spot spot_of(const builder *b, size_t k) {
    const int64_t i = b->row[k], j = b->col[k];
    const weft_storage storage = b->storage;
    if (storage != WEFT_GENERAL && i < j)
        return (spot){storage == WEFT_SYMMETRIC_USE_LOWER ? -1 : j, i,
                      storage == WEFT_SYMMETRIC_FULL};
    return (spot){storage == WEFT_SYMMETRIC_USE_UPPER && i > j ? -1 : i, j, false};
}

void *wi_sparse_take(weft_context *ctx, const char *call, size_t count) {
    void *const p = count <= PTRDIFF_MAX / 8 ? wi_host_alloc(count * 8) : NULL;
    if (!p)
        wi_fail(ctx, WEFT_ENOMEM,
                "%s: no memory for %zu numbers of 8 bytes; free some, or split the problem", call,
                count);
    return p;
}

weft_status wi_sparse_begin(weft_context *ctx, const char *call, weft_storage storage, size_t rows,
                            size_t cols, weft_sparse **matrix) {
    weft_sparse *const m = wi_host_alloc(sizeof *m);
    *matrix = m;
    if (!m)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for a matrix; free some", call);
    *m = (weft_sparse){
        .rows = rows, .cols = cols, .storage = storage, .symmetric = storage != WEFT_GENERAL};
    m->start = wi_sparse_take(ctx, call, cols + 1);
    m->row_start = wi_sparse_take(ctx, call, rows + 1);
    if (!m->start || !m->row_start)
        return WEFT_ENOMEM;
    memset(m->start, 0, (cols + 1) * sizeof *m->start);
    return WEFT_OK;
}

weft_status wi_sparse_make_room(weft_context *ctx, const char *call, weft_sparse *m) {
    const size_t entries = (size_t)m->start[m->cols];
    m->given = entries;
    m->row = wi_sparse_take(ctx, call, entries);
    m->value = wi_sparse_take(ctx, call, entries);
    m->col = wi_sparse_take(ctx, call, entries);
    m->at = wi_sparse_take(ctx, call, entries);
    return m->row && m->value && m->col && m->at ? WEFT_OK : WEFT_ENOMEM;
}

/* Turns counts (the count of index k is in count[k + 1]) into start positions. */
static void accumulate(int64_t *count, size_t n) {
    for (size_t k = 0; k < n; k++)
        count[k + 1] += count[k];
}

static uint64_t fingerprint(const weft_sparse *m) {
    uint64_t hash = UINT64_C(0xCBF29CE484222325) ^ m->cols;
    for (size_t j = 0; j < m->cols; j++) {
        for (int64_t k = m->start[j]; k < m->start[j + 1]; k++) {
            hash ^= (uint64_t)m->row[k] + (hash << 6) + (hash >> 2);
            hash *= UINT64_C(0x9E3779B97F4A7C15);
        }
        hash = (hash << 27 | hash >> 37) + j;
    }
    return hash;
}

void wi_sparse_index_rows(weft_sparse *m) {
    memset(m->row_start, 0, (m->rows + 1) * sizeof *m->row_start);
    for (size_t j = 0; j < m->cols; j++) {
        for (int64_t k = m->start[j]; k < m->start[j + 1]; k++)
            m->row_start[m->row[k] + 1] += !m->symmetric || m->row[k] != (int64_t)j;
    }
    accumulate(m->row_start, m->rows);
    for (size_t j = 0; j < m->cols; j++) {
        for (int64_t k = m->start[j]; k < m->start[j + 1]; k++) {
            if (m->symmetric && m->row[k] == (int64_t)j)
                continue;
            const int64_t at = m->row_start[m->row[k]]++;
            m->col[at] = (int64_t)j;
            m->at[at] = k;
        }
    }
    /* each row's start has moved on to the start of the next */
    memmove(m->row_start + 1, m->row_start, m->rows * sizeof *m->row_start);
    m->row_start[0] = 0;
    m->fingerprint = fingerprint(m);
}

static weft_status check_index(const builder *b, size_t k, const char *what, int64_t index,
                               size_t count) {
    if (index >= 0 && (uint64_t)index < count)
        return WEFT_OK;
    return wi_fail(b->ctx, WEFT_EARG,
                   "%s: entry %zu is in %s %lld, but the %ss of a matrix of %zu x %zu count from 0 "
                   "to %lld; mend the index",
                   b->voice->call, k, what, (long long)index, what, b->rows, b->cols,
                   (long long)count - 1);
}

static weft_status wrong_side(const builder *b, size_t k) {
    const int64_t i = b->row[k], j = b->col[k], first = wi_first_number(b->voice);
    return wi_fail(b->ctx, WEFT_EARG,
                   "%s: entry %zu, in row %lld and column %lld (%s), is %s the diagonal, and the "
                   "storage is %s; leave it out, or pass %s to have it ignored",
                   b->voice->call, k, (long long)(i + first), (long long)(j + first),
                   wi_counted(b->voice), i < j ? "above" : "below",
                   i < j ? "WEFT_SYMMETRIC_LOWER" : "WEFT_SYMMETRIC_UPPER",
                   i < j ? "WEFT_SYMMETRIC_USE_LOWER" : "WEFT_SYMMETRIC_USE_UPPER");
}

static weft_status check_entries(const builder *b) {
    for (size_t k = 0; k < b->n; k++) {
        const int64_t i = b->row[k], j = b->col[k];
        weft_status status = check_index(b, k, "row", i, b->rows);
        if (status == WEFT_OK)
            status = check_index(b, k, "column", j, b->cols);
        if (status != WEFT_OK)
            return status;
        if ((b->storage == WEFT_SYMMETRIC_LOWER && i < j) ||
            (b->storage == WEFT_SYMMETRIC_UPPER && i > j))
            return wrong_side(b, k);
    }
    return WEFT_OK;
}

/* Are the entries already in the order in which they are held, without duplicates? Never for FULL,
 * which gives every entry off the diagonal twice. */
static bool in_order(const builder *b) {
    if (b->storage == WEFT_SYMMETRIC_FULL)
        return false;
    spot before = {-1, -1, false};
    for (size_t k = 0; k < b->n; k++) {
        const spot here = spot_of(b, k);
        if (here.row < 0 || here.col < before.col ||
            (here.col == before.col && here.row <= before.row))
            return false;
        before = here;
    }
    return true;
}

static weft_status take_ordered(const builder *b) {
    weft_sparse *const m = b->matrix;
    for (size_t k = 0; k < b->n; k++)
        m->start[spot_of(b, k).col + 1]++;
    accumulate(m->start, m->cols);
    const weft_status status = wi_sparse_make_room(b->ctx, b->voice->call, m);
    if (status != WEFT_OK)
        return status;
    for (size_t k = 0; k < b->n; k++)
        m->row[k] = spot_of(b, k).row;
    return WEFT_OK;
}

/* by_row lists the kept entries by the rows they are held in, those of one row in the order given;
 * `next` has room for rows + 1. */
static void list_by_row(builder *b, int64_t *by_row, int64_t *next) {
    memset(next, 0, (b->rows + 1) * sizeof *next);
    b->kept = 0;
    for (size_t k = 0; k < b->n; k++) {
        const spot s = spot_of(b, k);
        next[s.row + 1] += s.row >= 0;
        b->kept += s.row >= 0;
    }
    accumulate(next, b->rows);
    for (size_t k = 0; k < b->n; k++) {
        const spot s = spot_of(b, k);
        if (s.row < 0)
            b->matrix->home[k] = wi_left_out;
        else
            by_row[next[s.row]++] = (int64_t)k;
    }
}

/* start: counts the distinct entries of each column; `last` has room for cols. */
static void count_places(const builder *b, const int64_t *by_row, int64_t *last) {
    weft_sparse *const m = b->matrix;
    memset(last, -1, m->cols * sizeof *last);
    for (size_t t = 0; t < b->kept; t++) {
        const spot s = spot_of(b, (size_t)by_row[t]);
        m->start[s.col + 1] += last[s.col] != s.row;
        last[s.col] = s.row;
    }
    accumulate(m->start, m->cols);
}

/* row and home; `next` has room for cols. */
static void place(const builder *b, const int64_t *by_row, int64_t *next) {
    weft_sparse *const m = b->matrix;
    if (m->cols)
        memcpy(next, m->start, m->cols * sizeof *next);
    for (size_t t = 0; t < b->kept; t++) {
        const size_t k = (size_t)by_row[t];
        const spot s = spot_of(b, k);
        int64_t *const free = &next[s.col];
        if (*free == m->start[s.col] || m->row[*free - 1] != s.row)
            m->row[(*free)++] = s.row;
        m->home[k] = s.mirrored ? ~(*free - 1) : *free - 1;
    }
}

/* Does FULL have a duplicate on one side of the diagonal? */
static bool has_repeats(const weft_sparse *m) {
    const size_t entries = (size_t)m->start[m->cols];
    for (size_t k = 0; k < entries; k++)
        m->sums[k] = m->mirror_sums[k] = 0;
    for (size_t k = 0; k < m->given; k++) {
        double *const seen = m->home[k] >= 0 ? &m->sums[m->home[k]] : &m->mirror_sums[~m->home[k]];
        if (*seen != 0)
            return true;
        *seen = 1;
    }
    return false;
}

/* Allocates room for the sums of values; m->home is known. */
static weft_status take_sums(const builder *b) {
    weft_sparse *const m = b->matrix;
    const char *const call = b->voice->call;
    const size_t entries = (size_t)m->start[m->cols];
    m->sums = wi_sparse_take(b->ctx, call, entries);
    if (!m->sums)
        return WEFT_ENOMEM;
    if (m->storage != WEFT_SYMMETRIC_FULL)
        return WEFT_OK;
    m->mirror_sums = wi_sparse_take(b->ctx, call, entries);
    if (!m->mirror_sums)
        return WEFT_ENOMEM;
    if (!has_repeats(m))
        return WEFT_OK;
    m->summed_sizes = wi_sparse_take(b->ctx, call, entries);
    return m->summed_sizes ? WEFT_OK : WEFT_ENOMEM;
}

static weft_status take_unordered(builder *b) {
    weft_sparse *const m = b->matrix;
    const char *const call = b->voice->call;
    const size_t n = b->n, most = m->rows > m->cols ? m->rows : m->cols;
    int64_t *const by_row = wi_sparse_take(b->ctx, call, n);
    int64_t *const work = wi_sparse_take(b->ctx, call, most + 1);
    weft_status status = WEFT_ENOMEM;
    m->home = wi_sparse_take(b->ctx, call, n);
    if (!by_row || !work || !m->home)
        goto done;
    list_by_row(b, by_row, work);
    count_places(b, by_row, work);
    status = wi_sparse_make_room(b->ctx, call, m);
    if (status != WEFT_OK)
        goto done;
    m->given = n;
    place(b, by_row, work);
    status = take_sums(b);
done:
    wi_host_free(by_row);
    wi_host_free(work);
    return status;
}

/* How far apart the two halves may be, relative to the size of an entry. The default is 64 units in
 * the last place, more than the rounding error of a sum of tens of values. */
static double tolerance_of(double given) {
    return given == 0 ? 0x1p-46 : fmax(given, 0);
}

weft_status wi_sparse_build(weft_context *ctx, const wi_voice *voice, const wi_triplets *given,
                            weft_sparse **matrix) {
    builder b = {.ctx = ctx,
                 .voice = voice,
                 .storage = given->storage,
                 .rows = given->rows,
                 .cols = given->cols,
                 .n = given->n,
                 .row = given->row,
                 .col = given->col};
    *matrix = NULL;
    weft_status status = check_entries(&b);
    if (status == WEFT_OK)
        status =
            wi_sparse_begin(ctx, voice->call, given->storage, given->rows, given->cols, &b.matrix);
    if (status == WEFT_OK) {
        b.matrix->tolerance = tolerance_of(given->symmetry_tolerance);
        status = in_order(&b) ? take_ordered(&b) : take_unordered(&b);
    }
    if (status == WEFT_OK)
        status = wi_sparse_set_values(ctx, voice, b.matrix, given->value);
    if (status != WEFT_OK) {
        weft_sparse_destroy(b.matrix);
        return status;
    }
    wi_sparse_index_rows(b.matrix);
    *matrix = b.matrix;
    return WEFT_OK;
}
