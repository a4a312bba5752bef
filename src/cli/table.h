/* SPDX-License-Identifier: Apache-2.0 */
/* Tables on standard output that fit the terminal. */
#ifndef WI_TABLE_H
#define WI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

/* A column, printed only if `shown`. */
typedef struct wi_column {
    const char *title;
    int width; /* of its cells; negative: aligned left */
    int rank;  /* if there is no room for all, columns with the highest rank are dropped first; 0:
                  never dropped */
    bool shown;
} wi_column;

/* Shows the columns that fit; all of them if standard output is not a terminal. */
void wi_table_fit(wi_column *columns, size_t count);

/* The width of all shown columns, with one space between two of them. */
size_t wi_table_width(const wi_column *columns, size_t count);

/* Prints the cells of a row, or the titles if they are NULL; does not end the line. */
void wi_table_print(const wi_column *columns, size_t count, const char *const *cells);

#endif
