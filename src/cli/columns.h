/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of tables, each with a type of its own, for the commands that give them different roles:
 * read from tables of text and from .npy arrays, and written as both. */
#ifndef WI_CLI_COLUMNS_H
#define WI_CLI_COLUMNS_H

#include "cli/session.h"
#include "cli/text.h"
#include "io/text_table.h"

enum {
    WI_MOST_TYPES = 64,   /* that --types can say */
    WI_COLUMN_BYTES = 128 /* of a column's name where it is shown */
};

/* What --type, where it is about reading, and --types say. */
typedef struct wi_said_types {
    wi_table_wish wish[WI_MOST_TYPES + 1];
    wi_table_types types;
    const weft_type *type; /* that of --type; NULL: not given */
    bool by_column;        /* --types is given */
} wi_said_types;

/* Reads the options. Columns whose type is not said get it as `typing` says. *said is to stay where
 * it is. */
wi_exit wi_types_said(const wi_arguments *args, wi_table_typing typing, wi_said_types *said);

/* Is the operand a table of text? Of standard input the first byte says so, unless it is one that
 * will be refused. */
bool wi_is_table(const weft_context *ctx, const char *path);

/* Reads the file `path`, all of it on every rank: the listed columns, or all if `columns` is NULL.
 * Columns of a .npy array have its type. On failure an error has been printed. */
wi_exit wi_columns_load(const wi_arguments *args, const char *path, const char *columns,
                        const wi_said_types *said, wi_column_set *out);

/* The same with the rows of this rank only. If one rank fails, all do. */
wi_exit wi_columns_load_part(const wi_arguments *args, weft_context *ctx, const char *path,
                             const char *columns, const wi_said_types *said, wi_column_set *out);

/* The same for two lists of columns of one table of text. */
wi_exit wi_columns_load_lists(const wi_arguments *args, weft_context *ctx, const char *path,
                              const char *const columns[2], const wi_said_types *said,
                              wi_column_set out[2]);

/* wi_columns_load_part for commands that look at each of the columns of --columns by itself. An
 * array, which is no table of text, is as a whole one of them. */
wi_exit wi_columns_load_each(const wi_arguments *args, weft_context *ctx, const char *path,
                             wi_table_typing typing, wi_column_set *out);

/* The title of column k, without quotes, or its number. */
const char *wi_column_name(const wi_column_set *columns, size_t k, char out[WI_COLUMN_BYTES]);

/* How many rows there are, on this rank. */
size_t wi_table_rows(const wi_column_set *columns);

/* Takes memory for that many columns of no elements yet. */
wi_exit wi_columns_make(const wi_arguments *args, size_t count, wi_column_set *out);

/* Over ranks: rank 0 gets all rows. */
wi_exit wi_columns_collect(const wi_arguments *args, weft_context *ctx, wi_column_set *columns);

/* Writes a table of text: a row on each line, each number as its column's type has it. `titles` are
 * as for wi_table_save; if they are NULL the first line is that of the columns' own titles, if all
 * have one. */
weft_status wi_columns_write(FILE *file, const char *name, const char *titles,
                             const wi_column_set *columns, wi_note *note);

/* Writes to the file that `option` names: a table of text, or an array of all columns, whose type
 * is theirs; i64 if they are several of integers, else f64. What that cannot hold exactly is
 * refused. */
wi_exit wi_columns_save(const wi_arguments *args, const wi_option *option, const char *titles,
                        const wi_column_set *columns);

/* The same for all ranks, of which rank 0 writes, to --output; with --json says so. */
wi_exit wi_columns_save_part(const wi_arguments *args, weft_context *ctx, wi_column_set *columns);

/* As wi_print_saved. */
void wi_columns_print_saved(const wi_arguments *args, const char *op, const char *ladder,
                            const weft_context *ctx, const wi_column_set *columns);

#endif
