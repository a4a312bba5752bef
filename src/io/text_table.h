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

#include <string.h>

#include "io/npy.h"
#include "io/source.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A piece of text, not terminated. */
typedef struct wi_table_text {
    const char *begin, *end;
} wi_table_text;

static inline bool wi_table_is_same(wi_table_text a, wi_table_text b) {
    const size_t length = (size_t)(a.end - a.begin);
    return length == (size_t)(b.end - b.begin) && memcmp(a.begin, b.begin, length) == 0;
}

/* How columns get their types where none is said. */
typedef enum wi_table_typing {
    WI_TABLE_FLOATS,    /* f64; an integer of 64 bits that f64 would round is refused */
    WI_TABLE_UNROUNDED, /* the same, but a column with such an integer is as by WI_TABLE_OWN */
    WI_TABLE_OWN        /* i64 or else u64 if all of its fields are integers that fit (which -0 and
                           empty fields are not), else f64 */
} wi_table_typing;

/* A type that is said. */
typedef struct wi_table_wish {
    wi_table_text column; /* by name or number; begin is NULL: all that no other wish names */
    weft_type type;
} wi_table_wish;

typedef struct wi_table_types {
    wi_table_typing typing;
    size_t count;
    const wi_table_wish *wishes;
} wi_table_types;

/* Columns of a table, each an array of one dimension with a type of its own, and all with as many
 * elements. All zeros: none. */
typedef struct wi_column_set {
    size_t count;
    wi_npy *column; /* from wi_host_alloc */
} wi_column_set;

void wi_columns_free(wi_column_set *columns);

/* A file in memory whose first line has been read. */
typedef struct wi_text_table wi_text_table;

/* Reads the rest of `file`, which may be a pipe. `name` is for messages, which go to `note` here
 * and in the calls below, and so is the option by which users say types, as "--type". The threads
 * of `ctx` will each parse a part. On failure *table is NULL, and the status WEFT_EIO, WEFT_EFORMAT
 * or WEFT_ENOMEM. */
weft_status wi_text_table_open(const weft_context *ctx, FILE *file, const char *name,
                               const char *option, wi_text_table **table, wi_note *note);
void wi_text_table_close(wi_text_table *table);

/* Which column, counted from 0, has that name or, where none has it, that number; SIZE_MAX if there
 * is none. The second says so in the note. */
size_t wi_text_table_find(const wi_text_table *table, wi_table_text column);
weft_status wi_text_table_must_find(const wi_text_table *table, wi_table_text column);

/* Reads all rows. `columns` says of which columns, and in which order: names or numbers from 1,
 * separated by commas; NULL: all. A name that several columns have is refused. On failure there is
 * nothing in *array or *out, and the status is WEFT_EFORMAT, WEFT_EARG (of `columns` or `types`) or
 * WEFT_ENOMEM.
 *
 * The first gives an array with a row for each line, or of one dimension if it has one column.
 * *type is its type: floats are the nearest f64, converted; integers must be whole numbers that
 * fit. If `type` is NULL it is f64, as by WI_TABLE_FLOATS or, if `unrounded` and it has one column,
 * by WI_TABLE_UNROUNDED. The second gives each column by itself. */
weft_status wi_text_table_array(wi_text_table *table, const char *columns, const weft_type *type,
                                bool unrounded, wi_npy *array);
weft_status wi_text_table_columns(wi_text_table *table, const char *columns,
                                  const wi_table_types *types, wi_column_set *out);

/* wi_text_table_open, _array and _close. */
weft_status wi_text_table_read(const weft_context *ctx, FILE *file, const char *name,
                               const char *columns, const weft_type *type, wi_npy *array,
                               wi_note *note);

/* ---- parts of the reader ---- */

/* What messages say of a field that begins with a quote. */
#define WI_TABLE_QUOTE_WORDS "a quote does not end on this line; a field is within a line"

/* What the first line says. Free `names` and `place` with wi_host_free. */
typedef struct wi_table_head {
    char separator; /* ' ': white space */
    bool named;
    size_t columns;
    wi_table_text *names; /* of each column, in the text of the file; empty without names */
    size_t *place;        /* of each column among the chosen ones; WI_TABLE_LEFT_OUT: in none */
    size_t width;         /* how many are chosen */
} wi_table_head;

#define WI_TABLE_LEFT_OUT SIZE_MAX

/* Makes the head from the first line, or says in the note of `source` what is wrong with it. */
weft_status wi_table_read_head(const wi_source *source, wi_table_text line, wi_table_head *head);

/* Does the line consist of names, none of which begins like a number, so that a table without rows
 * is what it seems to be? Several words between spaces are rather prose. */
bool wi_table_is_titled(const wi_table_head *head);

/* Which column the text names; `columns` if it names none. */
size_t wi_table_find(const wi_table_head *head, wi_table_text wanted);

/* The same where it must name one, and only one. */
weft_status wi_table_must_find(const wi_source *source, const wi_table_head *head,
                               wi_table_text wanted, size_t *column);

/* Sets `place` and `width` as `columns` says. */
weft_status wi_table_choose(const wi_source *source, const char *columns, wi_table_head *head);

/* Which column has this place. */
size_t wi_table_at_place(const wi_table_head *head, size_t place);

/* The names of `count` chosen columns from place `first` on, as a line of .csv. *titles is NULL if
 * the file has no names, or one of them has a quote. */
weft_status wi_table_titles(const wi_source *source, const wi_table_head *head, size_t first,
                            size_t count, char **titles);

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

/* What becomes of a column of the file. */
typedef struct wi_table_target {
    char *to;         /* where row 0 goes; NULL: the column is left out */
    size_t stride;    /* bytes from one row to the next */
    size_t size;      /* of an element */
    uint64_t most[2]; /* the largest magnitude of an integer, and of a negative one */
    weft_type type;
    bool is_float;
    bool exact; /* no integer may be rounded */
    bool grows; /* its type, of 8 bytes, becomes u64 or f64 where a field asks for it */
} wi_table_target;

/* Sets all that follows from the type. */
void wi_table_set_type(wi_table_target *target, weft_type type);

/* Whole lines that one thread reads, and what it finds. */
typedef struct wi_table_part {
    wi_table_text text;
    size_t lines, rows;   /* how many */
    size_t first, stored; /* the number of its first row; how many rows were read */
    uint8_t *types;       /* of its elements, for each column; NULL if none grows */
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

/* Parses part->rows rows into `targets`, one for each column of the file, from row part->first on;
 * stops at a fault. Targets that grow keep the types they end with. */
void wi_table_parse(wi_table_part *part, const wi_table_head *head, wi_table_target *targets);

/* Can a column's fault be mended by another type? Then part->stored rows get it. False if that
 * would round one of them: the target has the type, and the part is to be parsed anew. */
bool wi_table_may_grow(const wi_table_target *target, wi_table_fault fault);
bool wi_table_grow(wi_table_target *target, const wi_table_part *part);

/* Gives all parts, which have been parsed, the same types: those that all of their rows need. */
void wi_table_agree(const weft_context *ctx, int team, const wi_table_head *head,
                    wi_table_part *parts, size_t count, wi_table_target *targets);

#ifdef __cplusplus
}
#endif
#endif
