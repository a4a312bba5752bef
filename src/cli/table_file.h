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

/* Reads the columns that --columns names, as wi_text_table_read does. */
weft_status wi_table_load(const wi_arguments *args, FILE *file, const char *name,
                          const weft_type *type, wi_npy *array, wi_note *note);

/* Writes an array of one or two dimensions: a row on each line, with commas in a .csv and spaces in
 * a .txt. */
weft_status wi_table_save(FILE *file, const char *name, const wi_npy *array, wi_note *note);

#endif
