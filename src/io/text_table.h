/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of numbers as text: .csv and .txt files. A row on each line; columns are separated by
 * commas, by semicolons, by tabs or by white space: the first of these in the first line counts for
 * all. That line holds the columns' names if it holds anything but numbers. Blank lines and lines
 * that begin with # are left out; fields may be in double quotes; an empty field is NaN, as are nan
 * and na, and infinity may be inf or infinity, in any case.
 *
 * Files are not trusted: whatever they contain, the result is an array or a message with the line
 * and the column, and memory is allocated in proportion to the bytes that were read. */
#ifndef WI_TEXT_TABLE_H
#define WI_TEXT_TABLE_H

#include "io/npy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads the rest of `file`, which may be a pipe; the threads of `ctx` each parse a part. `name` is
 * for messages. `columns` says which columns, and in which order: names or numbers from 1,
 * separated by commas; NULL: all. *type is the type of the array, f64 if `type` is NULL: floats are
 * the nearest f64, converted; integers must be whole numbers that fit. The array has a row for each
 * line, or one dimension if it has one column. On failure *array is empty and `note` says why:
 * WEFT_EIO, WEFT_EFORMAT, WEFT_EARG (of `columns`) or WEFT_ENOMEM. */
weft_status wi_text_table_read(const weft_context *ctx, FILE *file, const char *name,
                               const char *columns, const weft_type *type, wi_npy *array,
                               wi_note *note);

/* ---- parts of the reader ---- */

/* A piece of text, not terminated. */
typedef struct wi_table_text {
    const char *begin, *end;
} wi_table_text;

/* What the first line says. Free `names` and `place` with wi_host_free. */
typedef struct wi_table_head {
    char separator; /* ' ': white space */
    bool named;
    size_t columns;
    wi_table_text *names; /* of each column, in the text of the file; empty without names */
    size_t *place;        /* of each column in a row of the array; WI_TABLE_LEFT_OUT: in none */
    size_t width;         /* of a row of the array */
} wi_table_head;

#define WI_TABLE_LEFT_OUT SIZE_MAX

typedef enum wi_table_fault {
    WI_TABLE_SOUND,
    WI_TABLE_NO_NUMBER,
    WI_TABLE_NO_INTEGER,
    WI_TABLE_TOO_LARGE,
    WI_TABLE_TOO_FEW,
    WI_TABLE_TOO_MANY
} wi_table_fault;

/* Whole lines that one thread reads, and what it finds. */
typedef struct wi_table_part {
    wi_table_text text;
    size_t lines, rows; /* how many */
    size_t first;       /* the number of its first row */
    wi_table_fault fault;
    size_t fault_line, fault_column; /* counted from 0, the line in this part */
    wi_table_text fault_text;
} wi_table_part;

/* Removes the next line from the front of a text, and returns it without its end. */
wi_table_text wi_table_next_line(wi_table_text *text);

/* Is this line empty or a comment? */
bool wi_table_is_blank(wi_table_text line);

/* Removes the next field from the front of a line, and returns it without quotes and without white
 * space around it. *more: another follows. */
wi_table_text wi_table_next_field(wi_table_text *line, char separator, bool *more);

/* Is it a number, or a word or nothing that stands for one? */
bool wi_table_is_number(wi_table_text field);

/* Sets part->lines and part->rows. */
void wi_table_count(wi_table_part *part);

/* Parses part->rows rows into the array `data` of elements of `type`, from row part->first on;
 * stops at a fault. */
void wi_table_parse(wi_table_part *part, const wi_table_head *head, weft_type type, void *data);

#ifdef __cplusplus
}
#endif
#endif
