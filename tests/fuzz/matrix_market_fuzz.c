/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the Matrix Market reader takes any bytes, in large blocks and small ones, alone and
 * with three threads, and ends each time in the same matrix or the same message. */
#include <math.h>

#include "fuzz.h"
#include "io/matrix_market.h"

static weft_status read_bytes(const uint8_t *bytes, size_t length, const weft_context *ctx,
                              size_t block_bytes, wi_mm *m, wi_note *note) {
    FILE *const file = open_bytes(bytes, length, true);
    *note = (wi_note){""};
    const weft_status status = wi_mm_read(ctx, file, "fuzz", block_bytes, m, note);
    require(fclose(file) == 0);
    require((status == WEFT_OK) == (note->text[0] == '\0') && !strchr(note->text, '\n'));
    return status;
}

static bool same(const wi_mm *a, const wi_mm *b) {
    const size_t bytes = a->head.entries * 8;
    return a->head.rows == b->head.rows && a->head.cols == b->head.cols &&
           a->head.entries == b->head.entries && memcmp(a->value, b->value, bytes) == 0 &&
           (a->head.array ||
            (memcmp(a->row, b->row, bytes) == 0 && memcmp(a->col, b->col, bytes) == 0));
}

/* Every entry is where the file may have one, and finite. */
static void check_entries(const wi_mm *m, size_t length) {
    require(m->head.entries <= length);
    for (size_t k = 0; k < m->head.entries; k++) {
        require(isfinite(m->value[k]));
        require(m->head.array || (m->row[k] >= 0 && (size_t)m->row[k] < m->head.rows &&
                                  m->col[k] >= 0 && (size_t)m->col[k] < m->head.cols));
    }
}

/* Written as coordinates and read again, the entries are the same. */
static void round_trip(const wi_mm *m) {
    wi_note note = {""};
    wi_mm again;
    char *written = NULL;
    size_t length = 0;
    FILE *const file = open_memstream(&written, &length);
    require(file);
    wi_mm_head head = m->head;
    head.symmetry = WI_MM_GENERAL;
    wi_mm_write_head(file, &head);
    for (size_t k = 0; k < m->head.entries; k++)
        wi_mm_write_entry(file, m->row[k], m->col[k], m->value[k]);
    require(wi_mm_write_end(file, "fuzz", &note) == WEFT_OK && fclose(file) == 0);
    require(read_bytes((const uint8_t *)written, length, reader("cpu:1"), 0, &again, &note) ==
            WEFT_OK);
    require(same(m, &again));
    wi_mm_free(&again);
    free(written);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    wi_note note, other_note;
    wi_mm m, other;
    if (length == 0)
        return 0;
    const weft_status status = read_bytes(bytes, length, reader("cpu:1"), 4096, &m, &note);
    require(read_bytes(bytes, length, reader("cpu:3"), 1, &other, &other_note) == status);
    require(strcmp(note.text, other_note.text) == 0);
    if (status != WEFT_OK)
        return 0;
    check_entries(&m, length);
    require(same(&m, &other));
    if (!m.head.array)
        round_trip(&m);
    wi_mm_free(&m);
    wi_mm_free(&other);
    return 0;
}
