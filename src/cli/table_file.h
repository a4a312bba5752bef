/* SPDX-License-Identifier: Apache-2.0 */
/* Tables as text, .csv and .txt, wherever the command takes or writes an array. */
#ifndef WI_TABLE_FILE_H
#define WI_TABLE_FILE_H

#include "cli/options.h"
#include "io/npy.h"

/* Does the name end in .csv or .txt? */
bool wi_is_table_name(const char *path);

/* Does this input hold a table as text? By its name or, for standard input, by its first byte. */
bool wi_holds_table(const char *path, FILE *file);

/* Reads some columns of a table, or all if `columns` is NULL, as wi_text_table_array does. */
weft_status wi_table_load(FILE *file, const char *name, const char *columns, const weft_type *type,
                          bool unrounded, wi_npy *array, wi_note *note);

/* Keeps of an array of two dimensions the columns that `columns` lists, by numbers from 1, in this
 * order and in C order; a single one becomes an array of one dimension. */
weft_status wi_columns_choose(const char *columns, const char *name, wi_npy *array, wi_note *note);

/* Writes an array of one or two dimensions: a row on each line, with commas in a .csv and spaces
 * elsewhere; a complex number takes two columns. `titles` is NULL, or the columns' names for the
 * first line: separated by commas, and in double quotes if they hold some. */
weft_status wi_table_save(FILE *file, const char *name, const char *titles, const wi_npy *array,
                          wi_note *note);

/* What stands between the columns of a table of that name. */
char wi_table_separator(const char *name);

/* Writes titles, which are a line of .csv, as the first line of a table. */
void wi_titles_write(FILE *file, const char *titles, char separator);

/* How many names these are. */
size_t wi_titles_count(const char *titles);

#endif
