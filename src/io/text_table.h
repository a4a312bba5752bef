/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of numbers as text: .csv and .txt files. A row on each line; columns are separated by
 * commas, by semicolons, by tabs or by white space: the first of these in the first line counts for
 * all. That line holds the columns' names if it holds anything but numbers. Blank lines and lines
 * that begin with # are left out; fields may be in double quotes, within a line; an empty field is
 * NaN, as are nan, na, n/a, null and none, and infinity may be inf or infinity, in any case.
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
 * separated by commas; NULL: all. A name that several columns have is refused. *type is the type of
 * the array: floats are the nearest f64, converted; integers must be whole numbers that fit. If
 * `type` is NULL it is f64, and an integer of 64 bits that f64 would round is refused. The array
 * has a row for each line, or one dimension if it has one column. On failure *array is empty and
 * `note` says why: WEFT_EIO, WEFT_EFORMAT, WEFT_EARG (of `columns`) or WEFT_ENOMEM. */
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
    bool exact; /* refuse integers that f64 would round */
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
    WI_TABLE_ROUNDED,
    WI_TABLE_OPEN_QUOTE,
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

/* Is this line a comment, or nothing but white space? A tab that is the separator is a field's end,
 * not white space. */
bool wi_table_is_blank(wi_table_text line, char separator);

typedef enum wi_table_after {
    WI_TABLE_LAST = 0,
    WI_TABLE_MORE, /* another field follows */
    WI_TABLE_OPEN  /* the field is the last, and begins with a quote that does not end */
} wi_table_after;

/* Removes the next field from the front of a line, and returns it without white space around it
 * and without its quotes; with them if something follows them, which is then no number either. */
wi_table_text wi_table_next_field(wi_table_text *line, char separator, wi_table_after *after);

/* Is it a number, or a word or nothing that stands for one? */
bool wi_table_is_number(wi_table_text field);

/* Sets part->lines and part->rows. */
void wi_table_count(wi_table_part *part, char separator);

/* Parses part->rows rows into the array `data` of elements of `type`, from row part->first on;
 * stops at a fault. */
void wi_table_parse(wi_table_part *part, const wi_table_head *head, weft_type type, void *data);

#ifdef __cplusplus
}
#endif
#endif
