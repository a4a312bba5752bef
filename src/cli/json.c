/* SPDX-License-Identifier: Apache-2.0 */
/* JSON objects, one on each line of standard output. */
#include <inttypes.h>
#include <math.h>

#include "cli/text.h"

/* Prints a string. A byte that is not UTF-8 becomes U+FFFD: JSON is UTF-8, whatever a file name
 * holds. */
static void print_quoted(const char *text) {
    putchar('"');
    while (*text) {
        const size_t bytes = wi_utf8_bytes(text);
        if (bytes == 0)
            fputs("\\ufffd", stdout);
        else if (wi_is_control(text)) /* characters from U+0080 to U+009F have two bytes, and the
                                         second is their number */
            printf("\\u%04x", (unsigned char)text[bytes - 1]);
        else
            printf("%s%.*s", *text == '"' || *text == '\\' ? "\\" : "", (int)bytes, text);
        text += bytes ? bytes : 1;
    }
    putchar('"');
}

static void print_key(wi_json *json, const char *key) {
    fputs(json->begun ? ", " : "", stdout);
    json->begun = true;
    print_quoted(key);
    fputs(": ", stdout);
}

void wi_json_open(wi_json *json) {
    json->begun = false;
    putchar('{');
}

void wi_json_close(wi_json *json) {
    json->begun = false;
    fputs("}\n", stdout);
    fflush(stdout);
}

void wi_json_null(wi_json *json, const char *key) {
    print_key(json, key);
    fputs("null", stdout);
}

void wi_json_string(wi_json *json, const char *key, const char *value) {
    if (!value) {
        wi_json_null(json, key);
        return;
    }
    print_key(json, key);
    print_quoted(value);
}

void wi_json_count(wi_json *json, const char *key, uint64_t value) {
    print_key(json, key);
    printf("%" PRIu64, value);
}

void wi_json_counts(wi_json *json, const char *key, size_t n, const uint64_t *values) {
    print_key(json, key);
    for (size_t i = 0; i < n; i++)
        printf("%s%" PRIu64, i ? ", " : "[", values[i]);
    fputs(n ? "]" : "[]", stdout);
}

void wi_json_number(wi_json *json, const char *key, double value) {
    if (!isfinite(value)) {
        wi_json_element(json, key, WEFT_F64, &value);
        return;
    }
    print_key(json, key);
    printf("%.9g", value);
}

void wi_json_known(wi_json *json, const char *key, bool known, double value) {
    if (known)
        wi_json_number(json, key, value);
    else
        wi_json_null(json, key);
}

void wi_json_bool(wi_json *json, const char *key, bool value) {
    print_key(json, key);
    fputs(value ? "true" : "false", stdout);
}

void wi_json_element(wi_json *json, const char *key, weft_type type, const void *p) {
    char text[WI_FIELD_BYTES];
    wi_format_element(type, p, text);
    const bool number = text[0] != 'n' && text[0] != 'i' && text[1] != 'i'; /* nan, inf, -inf */
    print_key(json, key);
    if (number)
        fputs(text, stdout);
    else
        print_quoted(text);
}
