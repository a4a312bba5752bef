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

uint64_t wi_sparse_fingerprint(const weft_sparse *m) {
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
    m->fingerprint = wi_sparse_fingerprint(m);
    m->version = wi_sparse_new_version();
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

/* The kept entries by the rows they are held in, those of one row in the order given. Row i has
 * those from where row i - 1 ends to row_start[i]. */
typedef struct listing {
    int64_t *entry;  /* its number among the given */
    int64_t *column; /* it is held in; ~column if it was given on the other side of the diagonal */
    int64_t *work;   /* an element for each column */
} listing;

static void list_by_row(const builder *b, const listing *list) {
    weft_sparse *const m = b->matrix;
    int64_t *const next = m->row_start;
    memset(next, 0, (b->rows + 1) * sizeof *next);
    for (size_t k = 0; k < b->n; k++) {
        const spot s = spot_of(b, k);
        next[s.row + 1] += s.row >= 0;
    }
    accumulate(next, b->rows);
    for (size_t k = 0; k < b->n; k++) {
        const spot s = spot_of(b, k);
        if (s.row < 0) {
            m->home[k] = wi_left_out;
            continue;
        }
        const int64_t t = next[s.row]++;
        list->entry[t] = (int64_t)k;
        list->column[t] = s.mirrored ? ~s.col : s.col;
    }
}

static inline int64_t unmirrored(int64_t index) {
    return index < 0 ? ~index : index;
}

/* start: counts the distinct entries of each column. */
static void count_places(const builder *b, const listing *list) {
    weft_sparse *const m = b->matrix;
    int64_t *const last = list->work, t = 0;
    memset(last, -1, m->cols * sizeof *last);
    for (int64_t i = 0; i < (int64_t)m->rows; i++) {
        for (; t < m->row_start[i]; t++) {
            const int64_t col = unmirrored(list->column[t]);
            m->start[col + 1] += last[col] != i;
            last[col] = i;
        }
    }
    accumulate(m->start, m->cols);
}

/* row and home. Returns whether FULL has a duplicate on one side of the diagonal: `at`, which is
 * filled later, holds meanwhile the sides on which an entry was met. */
static bool place(const builder *b, const listing *list) {
    weft_sparse *const m = b->matrix;
    const bool full = b->storage == WEFT_SYMMETRIC_FULL;
    int64_t *const next = list->work, t = 0, repeated = 0;
    if (m->cols)
        memcpy(next, m->start, m->cols * sizeof *next);
    for (int64_t i = 0; i < (int64_t)m->rows; i++) {
        for (; t < m->row_start[i]; t++) {
            const bool mirrored = list->column[t] < 0;
            const int64_t col = unmirrored(list->column[t]);
            const bool met = next[col] > m->start[col] && m->row[next[col] - 1] == i;
            const int64_t entry = met ? next[col] - 1 : next[col]++;
            m->row[entry] = i;
            m->home[list->entry[t]] = mirrored ? ~entry : entry;
            if (!full)
                continue;
            const int64_t side = mirrored ? 2 : 1, sides = met ? m->at[entry] : 0;
            repeated |= sides & side;
            m->at[entry] = sides | side;
        }
    }
    return repeated;
}

/* Allocates room for the sums of values; m->home is known. */
static weft_status take_sums(const builder *b, bool repeated) {
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
    if (!repeated)
        return WEFT_OK;
    m->summed_sizes = wi_sparse_take(b->ctx, call, entries);
    return m->summed_sizes ? WEFT_OK : WEFT_ENOMEM;
}

static weft_status take_unordered(const builder *b) {
    weft_sparse *const m = b->matrix;
    const char *const call = b->voice->call;
    const size_t n = b->n;
    const listing list = {.entry = wi_sparse_take(b->ctx, call, n),
                          .column = wi_sparse_take(b->ctx, call, n),
                          .work = wi_sparse_take(b->ctx, call, m->cols)};
    bool repeated = false;
    weft_status status = WEFT_ENOMEM;
    m->home = wi_sparse_take(b->ctx, call, n);
    if (!list.entry || !list.column || !list.work || !m->home)
        goto done;
    list_by_row(b, &list);
    count_places(b, &list);
    status = wi_sparse_make_room(b->ctx, call, m);
    if (status != WEFT_OK)
        goto done;
    m->given = n;
    repeated = place(b, &list);
done:
    wi_host_free(list.entry);
    wi_host_free(list.column);
    wi_host_free(list.work);
    return status == WEFT_OK ? take_sums(b, repeated) : status;
}

static weft_status take_pattern(builder *b, const wi_triplets *given) {
    weft_context *const ctx = b->ctx;
    const char *const call = b->voice->call;
    weft_status status = wi_sparse_begin(ctx, call, b->storage, b->rows, b->cols, &b->matrix);
    if (status == WEFT_OK && b->storage == WEFT_SYMMETRIC_FULL) {
        status = wi_sparse_take_pairs(ctx, call, given, b->matrix);
        if (status != WEFT_OK || b->matrix->paired)
            return status;
        weft_sparse_destroy(b->matrix);
        status = wi_sparse_begin(ctx, call, b->storage, b->rows, b->cols, &b->matrix);
    }
    if (status != WEFT_OK)
        return status;
    return in_order(b) ? take_ordered(b) : take_unordered(b);
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
        status = take_pattern(&b, given);
    if (status == WEFT_OK) {
        b.matrix->tolerance = tolerance_of(given->symmetry_tolerance);
        status = wi_sparse_set_values(ctx, voice, b.matrix, given->value);
    }
    if (status != WEFT_OK) {
        weft_sparse_destroy(b.matrix);
        return status;
    }
    if (b.matrix->paired)
        b.matrix->fingerprint = wi_sparse_fingerprint(b.matrix);
    else
        wi_sparse_index_rows(b.matrix);
    *matrix = b.matrix;
    return WEFT_OK;
}
