/* SPDX-License-Identifier: Apache-2.0 */
/* Colours, progress, errors, and quantities with their units. */
#include "cli/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    USUAL_COLUMNS = 80,
    LEAST_TEXT_COLUMNS = 24, /* text is never wrapped to less than this after its indent */
    LONGEST_LINE = 8192,     /* longer lines are cut off */
    PROGRESS_BYTES = 256
};

/* Is the file a terminal that understands escape sequences? */
static bool understands_escapes(FILE *file) {
    const char *const terminal = getenv("TERM");
    return isatty(fileno(file)) && terminal && *terminal && strcmp(terminal, "dumb") != 0;
}

/* Colours are for terminals, unless NO_COLOR is set (see no-color.org). */
static bool wants_colour(FILE *file) {
    const char *const no_colour = getenv("NO_COLOR");
    return understands_escapes(file) && !(no_colour && *no_colour);
}

size_t wi_screen_columns(FILE *file) {
    struct winsize size = {.ws_col = 0};
    if (!isatty(fileno(file)))
        return 0;
    if (ioctl(fileno(file), TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return USUAL_COLUMNS;
    return size.ws_col;
}

const char *wi_style_on(FILE *file, wi_style style) {
    static const char *const codes[] = {
        [WI_PLAIN] = "\033[0m",  [WI_BOLD] = "\033[1m", [WI_DIM] = "\033[2m",
        [WI_GREEN] = "\033[32m", [WI_RED] = "\033[31m",
    };
    return wants_colour(file) ? codes[style] : "";
}

size_t wi_visible(const char *text, size_t bytes) {
    size_t columns = 0;
    for (size_t k = 0; k < bytes; k++) {
        if (text[k] == '\033')
            k += strcspn(text + k, "m");
        else if (((unsigned char)text[k] & 0xC0) != 0x80) /* the first byte of a character */
            columns++;
    }
    return columns;
}

/* Prints words from `column` on, breaking lines before `columns`; later lines are indented. A word
 * too long for the indent begins further left. */
static void wrap(FILE *to, const char *text, size_t column, size_t indent, size_t columns) {
    const char *separator = "";
    if (indent + LEAST_TEXT_COLUMNS > columns)
        indent = columns > LEAST_TEXT_COLUMNS ? columns - LEAST_TEXT_COLUMNS : 0;
    while (*text) {
        if (*text == '\n') {
            fputc(*text++, to);
            column = 0;
            separator = "";
            continue;
        }
        const size_t bytes = strcspn(text, " \n"), length = wi_visible(text, bytes);
        const size_t begin = indent + length <= columns ? indent
                             : length < columns         ? columns - length
                                                        : 0;
        if (column > begin && column + strlen(separator) + length > columns) {
            fprintf(to, "\n%*s", (int)begin, "");
            column = begin;
            separator = "";
        }
        fprintf(to, "%s%.*s", separator, (int)bytes, text);
        column += strlen(separator) + length;
        text += bytes + (text[bytes] == ' ');
        separator = " ";
    }
    fputc('\n', to);
}

void wi_print_wrapped(const char *text, size_t column, size_t indent) {
    const size_t columns = wi_screen_columns(stdout);
    wrap(stdout, text, column, indent,
         columns && columns < USUAL_COLUMNS ? columns : USUAL_COLUMNS);
}

/* Prints one line, without breaking words on a terminal. */
static void print_whole(FILE *to, const char *line, size_t column, size_t indent) {
    const size_t columns = wi_screen_columns(to);
    if (columns > 0)
        wrap(to, line, column, indent, columns);
    else
        fprintf(to, "%s\n", line);
}

void wi_print_line(FILE *to, size_t indent, const char *format, ...) {
    char line[LONGEST_LINE];
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    print_whole(to, line, 0, indent);
}

void wi_say_error(const char *format, ...) {
    static const char begin[] = "weft: ";
    char line[LONGEST_LINE], shown[LONGEST_LINE];
    wi_progress_end();
    fflush(stdout);
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    wi_shown(line, shown, sizeof shown);
    const size_t columns = wi_screen_columns(stderr);
    if (columns == 0) { /* in one write: ranks may share a pipe */
        fprintf(stderr, "%s%s\n", begin, shown);
        return;
    }
    fprintf(stderr, "%sweft:%s ", wi_style_on(stderr, WI_RED), wi_style_on(stderr, WI_PLAIN));
    wrap(stderr, shown, strlen(begin), strlen(begin), columns);
}

static bool progress_shown;

/* Cut to the width of the terminal: a longer line could not be overwritten. */
void wi_progress(const char *format, ...) {
    char line[PROGRESS_BYTES];
    const size_t columns = wi_screen_columns(stderr);
    if (!understands_escapes(stderr))
        return;
    fflush(stdout);
    va_list values;
    va_start(values, format);
    vsnprintf(line, columns < sizeof line ? columns : sizeof line, format, values);
    va_end(values);
    fprintf(stderr, "\r\033[K%s", line);
    fflush(stderr);
    progress_shown = true;
}

void wi_progress_end(void) {
    if (!progress_shown)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    progress_shown = false;
}

/* Three significant digits and the largest unit that leaves at least 1. */
static const char *scaled(double value, double base, const char *const units[], size_t count,
                          char out[WI_FIELD_BYTES]) {
    size_t unit = 0;
    while (unit + 1 < count && value >= base * 0.9995) {
        value /= base;
        unit++;
    }
    const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(out, WI_FIELD_BYTES, "%.*f %s", decimals, value, units[unit]);
    return out;
}

const char *wi_format_seconds(double seconds, char out[WI_FIELD_BYTES]) {
    static const char *const units[] = {"ns", "us", "ms", "s"};
    return scaled(seconds * 1e9, 1000, units, 4, out);
}

const char *wi_format_rate(double bytes_per_second, char out[WI_FIELD_BYTES]) {
    static const char *const units[] = {"kB/s", "MB/s", "GB/s", "TB/s"};
    return scaled(bytes_per_second / 1e3, 1000, units, 4, out);
}

const char *wi_format_flops(double flops_per_second, char out[WI_FIELD_BYTES]) {
    static const char *const units[] = {"kF/s", "MF/s", "GF/s", "TF/s"};
    return scaled(flops_per_second / 1e3, 1000, units, 4, out);
}

const char *wi_format_ops(double ops_per_second, char out[WI_FIELD_BYTES]) {
    static const char *const units[] = {"kOP/s", "MOP/s", "GOP/s", "TOP/s"};
    return scaled(ops_per_second / 1e3, 1000, units, 4, out);
}

const char *wi_format_amount(double value, char out[WI_FIELD_BYTES]) {
    static const char *const units[] = {"", "k", "M", "G", "T", "P"};
    scaled(value, 1000, units, 6, out);
    if (value < 999.5) /* a whole number without a unit */
        snprintf(out, WI_FIELD_BYTES, "%.0f", value);
    return out;
}

const char *wi_format_bytes(double bytes, char out[WI_FIELD_BYTES]) {
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    if (bytes < 1024) {
        snprintf(out, WI_FIELD_BYTES, "%.0f B", bytes);
        return out;
    }
    return scaled(bytes / 1024, 1024, units, 4, out);
}

const char *wi_format_count(size_t n, char out[WI_FIELD_BYTES]) {
    if (n >= 2048 && (n & (n - 1)) == 0)
        snprintf(out, WI_FIELD_BYTES, "2^%d", __builtin_ctzll(n));
    else
        snprintf(out, WI_FIELD_BYTES, "%zu", n);
    return out;
}

const char *wi_format_share(double share, char out[WI_FIELD_BYTES]) {
    const double percent = 100 * share;
    snprintf(out, WI_FIELD_BYTES, "%.*f %%", percent < 0.995 ? 2 : percent < 9.95 ? 1 : 0, percent);
    return out;
}

const char *wi_plural(size_t n) {
    return n == 1 ? "" : "s";
}

const char *wi_format_times(double ratio, char out[WI_FIELD_BYTES]) {
    if (ratio > 0)
        snprintf(out, WI_FIELD_BYTES, "%.*fx", ratio < 9.995 ? 2 : ratio < 99.95 ? 1 : 0, ratio);
    else
        snprintf(out, WI_FIELD_BYTES, "-");
    return out;
}

/* The fewest digits that read back as the same float or double. An exponent is used only if %g with
 * all digits would use one, so that 30 is not printed as 3e+01. */
static void format_float(double value, bool single, char out[WI_FIELD_BYTES]) {
    if (isnan(value)) { /* the sign of a NaN has no meaning */
        snprintf(out, WI_FIELD_BYTES, "nan");
        return;
    }
    const int most = single ? 9 : 17;
    for (int digits = 1; digits <= most; digits++) {
        snprintf(out, WI_FIELD_BYTES, "%.*g", digits, value);
        const double back = single ? (double)strtof(out, NULL) : strtod(out, NULL);
        if (back == value)
            break;
    }
    if (strchr(out, 'e') && fabs(value) >= 1 && fabs(value) < (single ? 1e9 : 1e17))
        snprintf(out, WI_FIELD_BYTES, "%.0f", value);
}

const char *wi_format_element(weft_type type, const void *p, char out[WI_FIELD_BYTES]) {
    union {
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        uint8_t u8;
        uint16_t u16;
        uint32_t u32;
        uint64_t u64;
        weft_f16 f16;
        weft_bf16 bf16;
        float f32;
        double f64;
    } value;
    memcpy(&value, p, weft_type_size(type));
    switch (type) {
    case WEFT_F16:
        format_float((double)weft_f16_to_float(value.f16), true, out);
        return out;
    case WEFT_BF16:
        format_float((double)weft_bf16_to_float(value.bf16), true, out);
        return out;
    case WEFT_F32:
        format_float((double)value.f32, true, out);
        return out;
    case WEFT_F64:
        format_float(value.f64, false, out);
        return out;
    default:
        break;
    }
    const size_t size = weft_type_size(type);
    if (wi_type_is_signed(type))
        snprintf(out, WI_FIELD_BYTES, "%" PRId64,
                 size == 1   ? (int64_t)value.i8
                 : size == 2 ? (int64_t)value.i16
                 : size == 4 ? (int64_t)value.i32
                             : value.i64);
    else
        snprintf(out, WI_FIELD_BYTES, "%" PRIu64,
                 size == 1   ? (uint64_t)value.u8
                 : size == 2 ? (uint64_t)value.u16
                 : size == 4 ? (uint64_t)value.u32
                             : value.u64);
    return out;
}
