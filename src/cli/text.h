/* SPDX-License-Identifier: Apache-2.0 */
/* How the command speaks: colours, progress, units, numbers, JSON. */
#ifndef WI_TEXT_H
#define WI_TEXT_H

#include <stdio.h>

#include "core/core.h"

enum {
    WI_FIELD_BYTES = 32 /* room for any formatted quantity */
};

typedef enum wi_style {
    WI_PLAIN,
    WI_BOLD,
    WI_DIM,
    WI_GREEN,
    WI_RED
} wi_style;

/* The escape sequence that begins a style on `file`; "" unless it is a terminal where colours are
 * wanted. */
const char *wi_style_on(FILE *file, wi_style style);

/* The width of the terminal that `file` is; 0 if it is not a terminal. */
size_t wi_screen_columns(FILE *file);

/* The number of columns that `bytes` bytes of text take; escape sequences take none. */
size_t wi_visible(const char *text, size_t bytes);

/* Prints words on standard output, breaking lines at 80 columns or at the width of the terminal if
 * that is less. The first word starts at `column`; later lines are indented to `indent`. Ends the
 * last line. */
void wi_print_wrapped(const char *text, size_t column, size_t indent);

/* Prints a line, or several separated by \n. On a terminal they are broken between words at its
 * width, and then indented. */
void wi_print_line(FILE *to, size_t indent, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Prints an error: one line on standard error that begins with "weft: ", with control characters
 * escaped, broken as by wi_print_line. */
void wi_say_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints a line on standard error that the next one overwrites; only on terminals that understand
 * the escape sequence for clearing a line. Call wi_progress_end before printing anything else. */
void wi_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void wi_progress_end(void);

/* "12.3 ms", "4.41 TB/s", "101 GF/s", "1.2 TOP/s", "1.31 M", "1.50 MiB", "2^28" or "1000", "97 %".
 * Each is written to `out` and returned. */
const char *wi_format_seconds(double seconds, char out[WI_FIELD_BYTES]);
const char *wi_format_rate(double bytes_per_second, char out[WI_FIELD_BYTES]);
const char *wi_format_flops(double flops_per_second, char out[WI_FIELD_BYTES]);
const char *wi_format_ops(double ops_per_second, char out[WI_FIELD_BYTES]);
const char *wi_format_amount(double value, char out[WI_FIELD_BYTES]);
const char *wi_format_bytes(double bytes, char out[WI_FIELD_BYTES]);
const char *wi_format_count(size_t n, char out[WI_FIELD_BYTES]);
const char *wi_format_share(double share, char out[WI_FIELD_BYTES]);

/* The ending of a noun: "s", or "" for 1. */
const char *wi_plural(size_t n);

/* A ratio as "3.1x", or "-" if there is none (0). */
const char *wi_format_times(double ratio, char out[WI_FIELD_BYTES]);

/* The element at p: integers exactly, floats with the fewest digits that read back the same. */
const char *wi_format_element(weft_type type, const void *p, char out[WI_FIELD_BYTES]);

/* Reads "1000", "1e6", "2^28", "64Ki", "10M"; false unless it is a whole number of elements. */
bool wi_read_count(const char *text, size_t *count);

/* Reads an unsigned number, decimal or 0x hexadecimal. */
bool wi_read_u64(const char *text, uint64_t *value);

enum {
    WI_REASON_BYTES = 192
};

/* Parses one element of `type` into p (which has room for 8 bytes); false if it is not one or does
 * not fit. */
bool wi_read_element(weft_type type, const char *text, void *p);

/* Explains why wi_read_element returned false. */
void wi_explain_element(weft_type type, const char *text, char why[WI_REASON_BYTES]);

bool wi_find_type(const char *name, weft_type *type);

/* One JSON object on a line of standard output, in UTF-8. Keys carry their unit. NaN and
 * infinities, which JSON lacks, are the strings "nan", "inf" and "-inf"; null means that there is
 * no value. */
typedef struct wi_json {
    bool begun;
} wi_json;

void wi_json_open(wi_json *json);
void wi_json_close(wi_json *json);
void wi_json_string(wi_json *json, const char *key, const char *value); /* NULL: prints null */
void wi_json_count(wi_json *json, const char *key, uint64_t value);
void wi_json_number(wi_json *json, const char *key, double value);
void wi_json_known(wi_json *json, const char *key, bool known, double value); /* else null */
/* An array of numbers. */
void wi_json_counts(wi_json *json, const char *key, size_t n, const uint64_t *values);
void wi_json_bool(wi_json *json, const char *key, bool value);
void wi_json_null(wi_json *json, const char *key);
void wi_json_element(wi_json *json, const char *key, weft_type type, const void *p);

#endif
