/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix Market files: a banner, comments, a line of sizes, and one entry on each line. Files are
 * not trusted: whatever they contain, the result is a matrix or a message with the line number, and
 * memory is allocated in proportion to the bytes that were read, not to the sizes in the header. */
#ifndef WI_MATRIX_MARKET_H
#define WI_MATRIX_MARKET_H

#include <stdio.h>

#include "core/core.h"
#include "io/note.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum wi_mm_field {
    WI_MM_REAL,
    WI_MM_INTEGER,
    WI_MM_PATTERN /* entries without values; read as 1 */
} wi_mm_field;

typedef enum wi_mm_symmetry {
    WI_MM_GENERAL,
    WI_MM_SYMMETRIC, /* only entries on and below the diagonal are in the file */
    WI_MM_SKEW       /* a[i][j] = -a[j][i]: only entries below the diagonal are */
} wi_mm_symmetry;

/* The contents of a file's header. */
typedef struct wi_mm_head {
    bool array; /* dense: values only, column by column; otherwise coordinates */
    wi_mm_field field;
    wi_mm_symmetry symmetry;
    size_t rows, cols;
    size_t entries; /* lines with an entry */
} wi_mm_head;

/* The matrix of a file. Entry k is value[k] in row row[k], column col[k], counted from 0, in the
 * order of the file; for an array, row and col are NULL. All zeros: empty. */
typedef struct wi_mm {
    wi_mm_head head;
    int64_t *row, *col; /* from wi_host_alloc, as is `value` */
    double *value;
} wi_mm;

/* Reads one matrix; the threads of `ctx` each parse a part of every block of `block_bytes` (0: a
 * suitable size). `name` is for messages. On failure *m is empty and `note` says why: WEFT_EIO,
 * WEFT_EFORMAT, WEFT_EUNSUPPORTED (complex, hermitian), WEFT_ENONFINITE or WEFT_ENOMEM. */
weft_status wi_mm_read(const weft_context *ctx, FILE *file, const char *name, size_t block_bytes,
                       wi_mm *m, wi_note *note);

void wi_mm_free(wi_mm *m);

/* Writes the banner and sizes of a coordinate real matrix; then entries one by one (counted from
 * 0); then checks that all was written. */
void wi_mm_write_head(FILE *file, const wi_mm_head *head);
void wi_mm_write_entry(FILE *file, int64_t row, int64_t col, double value);
weft_status wi_mm_write_end(FILE *file, const char *name, wi_note *note);

/* ---- parts of the reader ---- */

/* A piece of text, not terminated. */
typedef struct wi_mm_text {
    const char *begin, *end;
} wi_mm_text;

static inline bool wi_mm_is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static inline const char *wi_mm_skip_space(const char *at, const char *end) {
    while (at < end && wi_mm_is_space(*at))
        at++;
    return at;
}

/* Reads the banner, the first line. */
weft_status wi_mm_parse_banner(wi_mm_text line, const char *name, wi_mm_head *head, wi_note *note);

/* Reads the sizes, and computes head->entries for an array. `number` is the number of the line. */
weft_status wi_mm_parse_sizes(wi_mm_text line, size_t number, const char *name, wi_mm_head *head,
                              wi_note *note);

/* What can be wrong with a line that should be an entry. */
typedef enum wi_mm_fault_kind {
    WI_MM_SOUND,
    WI_MM_MALFORMED,
    WI_MM_NOT_INTEGER,
    WI_MM_NOT_FINITE,
    WI_MM_OUTSIDE,
    WI_MM_WRONG_SIDE,
    WI_MM_TOO_MANY
} wi_mm_fault_kind;

/* Whole lines that one thread reads, and the result. */
typedef struct wi_mm_part {
    wi_mm_text text;
    size_t lines, entries; /* how many */
    size_t first;          /* the number of its first entry */
    wi_mm_fault_kind fault;
    size_t fault_line; /* counted from 0 in this part */
    wi_mm_text fault_text;
} wi_mm_part;

/* Is this line empty or a comment? */
bool wi_mm_is_blank(wi_mm_text line);

/* Removes the next line from the front of a text, and returns it without its end. The text must
 * have one. */
wi_mm_text wi_mm_next_line(wi_mm_text *text);

/* Reads an unsigned number followed by white space or the end; NULL if there is none, or if it does
 * not fit. */
const char *wi_mm_read_index(const char *at, const char *end, uint64_t *value);

/* Sets part->lines and part->entries. */
void wi_mm_count(wi_mm_part *part);

/* Parses part->entries entries into m, from number part->first on; stops at a fault. */
void wi_mm_parse(wi_mm_part *part, wi_mm *m);

#ifdef __cplusplus
}
#endif
#endif
