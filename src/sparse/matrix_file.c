/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing matrices as Matrix Market files, and as their text in memory. */
#include <errno.h>
#include <string.h>

#include "io/matrix_market.h"
#include "io/memory_file.h"
#include "io/target.h"
#include "sparse/matrix.h"

/* Limits on what a file may declare, so that it does not take far more memory than its length
 * justifies. */
enum {
    ROWS_FOR_ANY_FILE = 1 << 24,
    ROWS_FOR_AN_ENTRY = 1 << 10
};

/* Turns a dense file into triplets of its nonzero entries, in place, column by column. */
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

/* How a square matrix is related to its transpose. */
typedef enum likeness {
    UNLIKE,
    ALIKE_BUT_FOR_ZEROS, /* equal, but one side has an explicit zero where the other has no entry */
    ALIKE                /* column i equals row i, for all i */
} likeness;

/* Compares column j with row j. */
static likeness compare_line(const weft_sparse *m, size_t j) {
    int64_t c = m->start[j], r = m->row_start[j];
    likeness found = ALIKE;
    while (c < m->start[j + 1] || r < m->row_start[j + 1]) {
        const int64_t row = c < m->start[j + 1] ? m->row[c] : INT64_MAX;
        const int64_t col = r < m->row_start[j + 1] ? m->col[r] : INT64_MAX;
        const double below = row <= col ? m->value[c] : 0,
                     above = col <= row ? m->value[m->at[r]] : 0;
        if (below != above)
            return UNLIKE;
        if (row != col)
            found = ALIKE_BUT_FOR_ZEROS;
        c += row <= col;
        r += col <= row;
    }
    return found;
}

static likeness compare_transpose(const weft_sparse *m) {
    likeness found = m->rows == m->cols ? ALIKE : UNLIKE;
    for (size_t j = 0; j < m->cols && found != UNLIKE; j++) {
        const likeness here = compare_line(m, j);
        found = here < found ? here : found;
    }
    return found;
}

/* Drops the entries above the diagonal of a matrix that equals its transpose. */
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
    m->symmetric = true;
    wi_sparse_index_rows(m);
}

/* Later updates give values in the order in which the matrix holds them. */
static void forget_order_given(weft_sparse *m) {
    wi_host_free(m->home);
    wi_host_free(m->sums);
    wi_host_free(m->mirror_sums);
    wi_host_free(m->summed_sizes);
    m->home = NULL;
    m->sums = m->mirror_sums = m->summed_sizes = NULL;
    m->paired = m->by_rows = false;
    m->given = (size_t)m->start[m->cols];
    if (m->symmetric)
        m->storage = WEFT_SYMMETRIC_LOWER;
}

static weft_status check_size(weft_context *ctx, const char *label, const wi_mm_head *head,
                              weft_storage storage) {
    if (head->symmetry == WI_MM_SKEW)
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: the matrix is skew-symmetric, and weft factors symmetric ones only; "
                       "write a skew matrix as general to multiply by it",
                       label);
    const size_t most = head->entries < wi_most_rows / ROWS_FOR_AN_ENTRY
                            ? ROWS_FOR_ANY_FILE + ROWS_FOR_AN_ENTRY * head->entries
                            : wi_most_rows;
    if (head->rows > most || head->cols > most)
        return wi_fail(ctx, WEFT_EFORMAT,
                       "%s: a matrix of %zu x %zu with %zu entries is hardly meant; mend its "
                       "sizes",
                       label, head->rows, head->cols, head->entries);
    if (storage != WEFT_GENERAL && head->rows != head->cols)
        return wi_fail(ctx, WEFT_EARG, "%s is %zu x %zu; a symmetric matrix has to be square",
                       label, head->rows, head->cols);
    return WEFT_OK;
}

/* Takes a matrix of which every entry is given: symmetric if the caller says so, and also if it
 * equals its transpose. Most equal it to the last bit, so that is checked first: it is cheaper. */
static weft_status take_whole(weft_context *ctx, const wi_voice *voice, const wi_triplets *given,
                              weft_sparse **matrix) {
    wi_triplets as = *given;
    as.storage = WEFT_GENERAL;
    weft_status status = wi_sparse_build(ctx, voice, &as, matrix);
    if (status != WEFT_OK)
        return status;
    const likeness found = compare_transpose(*matrix);
    if (found == ALIKE)
        keep_lower(*matrix);
    if (found == ALIKE || (found == UNLIKE && given->storage == WEFT_GENERAL))
        return WEFT_OK;
    weft_sparse_destroy(*matrix);
    as.storage = WEFT_SYMMETRIC_FULL;
    return wi_sparse_build(ctx, voice, &as, matrix);
}

static weft_status take(weft_context *ctx, const wi_voice *voice, const wi_mm *m,
                        const wi_reading *how, weft_sparse **matrix) {
    const bool half = m->head.symmetry == WI_MM_SYMMETRIC;
    const wi_triplets given = {.storage = half ? WEFT_SYMMETRIC_LOWER : how->storage,
                               .symmetry_tolerance = how->symmetry_tolerance,
                               .rows = m->head.rows,
                               .cols = m->head.cols,
                               .n = m->head.entries,
                               .row = m->row,
                               .col = m->col,
                               .value = m->value};
    if (given.storage == WEFT_GENERAL || given.storage == WEFT_SYMMETRIC_FULL)
        return take_whole(ctx, voice, &given, matrix);
    return wi_sparse_build(ctx, voice, &given, matrix);
}

weft_status wi_sparse_read(weft_context *ctx, const char *call, FILE *file, const char *name,
                           const wi_reading *how, weft_sparse **matrix) {
    wi_mm m;
    wi_note note = {""};
    char label[WI_MESSAGE_BYTES / 2]; /* messages contain the file name too */
    const wi_voice voice = {label, how->command};
    snprintf(label, sizeof label, "%s: %s", call, name);
    *matrix = NULL;
    weft_status status = wi_mm_read(ctx, file, name, 0, &m, &note);
    if (status != WEFT_OK)
        return wi_fail(ctx, status, "%s: %s", call, note.text);
    status = check_size(ctx, label, &m.head, how->storage);
    if (status == WEFT_OK && m.head.array)
        status = list_dense(ctx, label, &m);
    if (status == WEFT_OK)
        status = take(ctx, &voice, &m, how, matrix);
    wi_mm_free(&m);
    if (status != WEFT_OK)
        return status;
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

static weft_status no_file(weft_context *ctx, const char *call) {
    return wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for a file in memory; free some", call);
}

static weft_status check_reading(weft_context *ctx, const char *call, const char *from,
                                 const void *pointer, const wi_reading *how, weft_sparse **matrix) {
    if (!matrix)
        return wi_fail(ctx, WEFT_EARG, "%s: matrix is NULL; pass where to put it", call);
    *matrix = NULL;
    if (!pointer)
        return wi_fail(ctx, WEFT_EARG, "%s: %s is NULL; name a file, or pass its text", call, from);
    return wi_sparse_check_meaning(ctx, call, how->storage, how->symmetry_tolerance);
}

static weft_status read_path(weft_context *ctx, const char *call, const char *path,
                             const wi_reading *how, weft_sparse **matrix) {
    weft_status status = check_reading(ctx, call, "path", path, how, matrix);
    if (status != WEFT_OK)
        return status;
    FILE *const file = fopen(path, "rb");
    if (!file)
        return open_failed(ctx, call, path);
    status = wi_sparse_read(ctx, call, file, path, how, matrix);
    fclose(file);
    return status;
}

weft_status weft_sparse_read(weft_context *ctx, weft_sparse **matrix, const char *path) {
    const wi_reading how = {.storage = WEFT_GENERAL};
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    return read_path(ctx, "weft_sparse_read", path, &how, matrix);
}

weft_status weft_sparse_read_as(weft_context *ctx, weft_sparse **matrix, const char *path,
                                weft_storage storage, double symmetry_tolerance) {
    const wi_reading how = {.storage = storage, .symmetry_tolerance = symmetry_tolerance};
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    return read_path(ctx, "weft_sparse_read_as", path, &how, matrix);
}

weft_status weft_sparse_read_memory(weft_context *ctx, weft_sparse **matrix, const void *memory,
                                    size_t bytes, weft_storage storage, double symmetry_tolerance) {
    static const char call[] = "weft_sparse_read_memory";
    const wi_reading how = {.storage = storage, .symmetry_tolerance = symmetry_tolerance};
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = check_reading(ctx, call, "memory", memory, &how, matrix);
    if (status != WEFT_OK)
        return status;
    wi_memory_file from = {(unsigned char *)(uintptr_t)memory, bytes, 0};
    FILE *const file = wi_memory_file_read(&from);
    if (!file)
        return no_file(ctx, call);
    status = wi_sparse_read(ctx, call, file, "memory", &how, matrix);
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
    wi_target target;
    wi_note note = {""};
    weft_status status = wi_target_open(path, &target, &note);
    if (status != WEFT_OK)
        return wi_fail(ctx, status, "%s: %s", call, note.text);
    status = wi_sparse_write(ctx, call, target.file, path, matrix);
    if (status != WEFT_OK) {
        wi_target_drop(&target);
        return status;
    }
    status = wi_target_close(&target, &note);
    return status == WEFT_OK ? status : wi_fail(ctx, status, "%s: %s", call, note.text);
}

/* Writes the text to memory, or counts it. */
static weft_status write_memory(weft_context *ctx, const char *call, const weft_sparse *matrix,
                                wi_memory_file *to) {
    FILE *const file = wi_memory_file_write(to);
    if (!file)
        return no_file(ctx, call);
    const weft_status status = wi_sparse_write(ctx, call, file, "memory", matrix);
    fclose(file);
    return status;
}

weft_status weft_sparse_write_memory(weft_context *ctx, const weft_sparse *matrix, void *memory,
                                     size_t room, size_t *bytes) {
    static const char call[] = "weft_sparse_write_memory";
    wi_memory_file count = {0};
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    if (!matrix)
        return wi_fail(ctx, WEFT_EARG, "%s: matrix is NULL; pass one", call);
    weft_status status = write_memory(ctx, call, matrix, &count);
    if (status == WEFT_OK)
        status = wi_check_room(ctx, call, memory, room, count.at, bytes);
    if (status != WEFT_OK)
        return status;
    if (memory) {
        wi_memory_file to = {memory, room, 0};
        status = write_memory(ctx, call, matrix, &to);
    }
    if (status == WEFT_OK)
        *bytes = count.at;
    return status;
}
