/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a table as text: whole lines, which several threads parse at once. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "io/decimal.h"
#include "io/text_table.h"

enum {
    SHORT_WORDS = 6, /* of eight characters */
    SURE_DIGITS = 19 /* that fit 64 bits, whatever they are */
};

static const double EXACT_WHOLE = 0x1p53; /* f64 has all integers below this */

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* White space inside a line of fields; a tab may be the separator. */
static const char *skip_space(const char *at, const char *end, char separator) {
    while (at < end && is_space(*at) && (*at != separator || separator == ' '))
        at++;
    return at;
}

/* The next line end, or NULL. Most lines are short, and for these looking at eight characters at a
 * time is quicker than a call of memchr. */
static const char *find_line_end(const char *at, const char *end) {
    const uint64_t ones = 0x0101010101010101, tops = 0x8080808080808080;
    for (int word = 0; word < SHORT_WORDS && end - at >= 8; word++, at += 8) {
        const uint64_t bytes = wi_decimal_eight(at) ^ ones * '\n';
        const uint64_t zeros = (bytes - ones) & ~bytes & tops; /* the lowest one is right */
        if (zeros)
            return at + __builtin_ctzll(zeros) / 8;
    }
    return memchr(at, '\n', (size_t)(end - at));
}

wi_table_text wi_table_next_line(wi_table_text *text) {
    const char *const end = find_line_end(text->begin, text->end);
    const wi_table_text line = {text->begin, end ? end : text->end};
    text->begin = end ? end + 1 : text->end;
    return line;
}

bool wi_table_is_blank(wi_table_text line, char separator) {
    const char *const at = skip_space(line.begin, line.end, separator);
    return at == line.end || *at == '#';
}

/* ---- fields ---- */

static wi_table_text trimmed(const char *begin, const char *end) {
    while (begin < end && is_space(*begin))
        begin++;
    while (end > begin && is_space(end[-1]))
        end--;
    return (wi_table_text){begin, end};
}

/* Where a field that is not in quotes ends. */
static const char *field_end(const char *at, const char *end, char separator) {
    while (at < end && (separator == ' ' ? !is_space(*at) : *at != separator))
        at++;
    return at;
}

/* The end of a field that begins with a quote: the next one, if no other follows it. */
static const char *quoted_end(const char *at, const char *end) {
    for (at++; at < end; at++) {
        if (*at == '"' && at + 1 < end && at[1] == '"')
            at++;
        else if (*at == '"')
            return at;
    }
    return end;
}

wi_table_text wi_table_next_field(wi_table_text *line, char separator, wi_table_after *after) {
    const char *const end = line->end;
    const char *at = skip_space(line->begin, end, separator);
    const bool quoted = at < end && *at == '"';
    const char *const close = quoted ? quoted_end(at, end) : NULL;
    const bool open = quoted && close == end;
    const char *const stop = open ? end : field_end(quoted ? close + 1 : at, end, separator);
    wi_table_text field = trimmed(at, stop);
    if (quoted && !open && field.end == close + 1)
        field = trimmed(at + 1, close);
    at = separator == ' ' ? skip_space(stop, end, separator) : stop;
    *after = open ? WI_TABLE_OPEN : at < end ? WI_TABLE_MORE : WI_TABLE_LAST;
    line->begin = at < end && separator != ' ' ? at + 1 : at;
    return field;
}

/* NaN or an infinity, or nothing. */
static bool read_word(wi_table_text field, double *value) {
    static const struct {
        const char *word;
        double value;
    } words[] = {{"nan", NAN},  {"na", NAN},   {"inf", INFINITY}, {"infinity", INFINITY},
                 {"null", NAN}, {"none", NAN}, {"n/a", NAN},      {"", NAN}};
    const bool sign = field.begin < field.end && (*field.begin == '-' || *field.begin == '+');
    const bool negative = sign && *field.begin == '-';
    const char *const begin = field.begin + sign;
    const size_t length = (size_t)(field.end - begin);
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (strlen(words[k].word) == length && strncasecmp(words[k].word, begin, length) == 0 &&
            (length > 0 || !sign)) {
            *value = negative ? -words[k].value : words[k].value;
            return true;
        }
    return false;
}

bool wi_table_is_number(wi_table_text field) {
    double value;
    return read_word(field, &value) || wi_decimal_read(field.begin, field.end, &value) == field.end;
}

/* ---- values ---- */

static wi_table_fault put_float(weft_type type, double value, void *to) {
    if (type == WEFT_F64) {
        memcpy(to, &value, sizeof value);
    } else if (type == WEFT_F32) {
        const float single = (float)value;
        memcpy(to, &single, sizeof single);
    } else if (type == WEFT_F16) {
        const weft_f16 half = weft_f16_from_float((float)value);
        memcpy(to, &half, sizeof half);
    } else {
        const weft_bf16 brain = weft_bf16_from_float((float)value);
        memcpy(to, &brain, sizeof brain);
    }
    return WI_TABLE_SOUND;
}

static void store_whole(size_t size, uint64_t value, void *to) {
    const uint8_t value_8 = (uint8_t)value;
    const uint16_t value_16 = (uint16_t)value;
    const uint32_t value_32 = (uint32_t)value;
    switch (size) {
    case 1:
        memcpy(to, &value_8, sizeof value_8);
        break;
    case 2:
        memcpy(to, &value_16, sizeof value_16);
        break;
    case 4:
        memcpy(to, &value_32, sizeof value_32);
        break;
    default:
        memcpy(to, &value, sizeof value);
    }
}

/* The largest magnitude of an integer type, of numbers with this sign. */
static uint64_t largest(weft_type type, bool negative) {
    const uint64_t ones = UINT64_MAX >> (64 - 8 * weft_type_size(type));
    return wi_type_is_signed(type) ? (ones >> 1) + negative : negative ? 0 : ones;
}

/* A whole number, exactly. */
static wi_table_fault put_integer(weft_type type, wi_table_text field, void *to) {
    const bool sign = field.begin < field.end && (*field.begin == '-' || *field.begin == '+');
    const bool negative = sign && *field.begin == '-';
    uint64_t value = 0;
    const char *at = field.begin + sign;
    if (at == field.end)
        return WI_TABLE_NO_INTEGER;
    for (; at < field.end; at++) {
        const unsigned digit = (unsigned char)(*at - '0');
        if (digit > 9)
            return wi_table_is_number(field) ? WI_TABLE_NO_INTEGER : WI_TABLE_NO_NUMBER;
        if (value > (UINT64_MAX - digit) / 10)
            return WI_TABLE_TOO_LARGE;
        value = 10 * value + digit;
    }
    if (value > largest(type, negative))
        return WI_TABLE_TOO_LARGE;
    store_whole(weft_type_size(type), negative ? 0 - value : value, to);
    return WI_TABLE_SOUND;
}

/* Is it an integer of 64 bits that is not `value`, the nearest f64, which is EXACT_WHOLE or more?
 */
static bool is_rounded(wi_table_text field, double value) {
    uint64_t whole;
    int64_t negative;
    for (const char *at = field.begin + 1; at < field.end; at++)
        if ((unsigned char)(*at - '0') > 9)
            return false;
    if (put_integer(WEFT_U64, field, &whole) == WI_TABLE_SOUND)
        return !(value < 0x1p64) || (uint64_t)value != whole;
    return put_integer(WEFT_I64, field, &negative) == WI_TABLE_SOUND && (int64_t)value != negative;
}

static wi_table_fault put_field(const wi_table_head *head, weft_type type, wi_table_text field,
                                void *to) {
    double value;
    if (!wi_type_is_float(type))
        return put_integer(type, field, to);
    if (read_word(field, &value))
        return put_float(type, value, to);
    if (wi_decimal_read(field.begin, field.end, &value) != field.end)
        return WI_TABLE_NO_NUMBER;
    if (head->exact && fabs(value) >= EXACT_WHOLE && is_rounded(field, value))
        return WI_TABLE_ROUNDED;
    return isinf(value) ? WI_TABLE_TOO_LARGE : put_float(type, value, to);
}

/* Reads a whole number of few digits that the type can hold; NULL if there is none. */
static const char *read_whole(weft_type type, const char *at, const char *end, void *to) {
    const bool sign = at < end && (*at == '-' || *at == '+'), negative = sign && *at == '-';
    const char *const first = at + sign;
    uint64_t value = 0;
    for (at = first; at < end && (unsigned char)(*at - '0') <= 9; at++)
        value = 10 * value + (uint64_t)(*at - '0');
    if (at == first || at - first > SURE_DIGITS || value > largest(type, negative))
        return NULL;
    store_whole(weft_type_size(type), negative ? 0 - value : value, to);
    return at;
}

static const char *read_float(const wi_table_head *head, weft_type type, const char *at,
                              const char *end, void *to) {
    double value;
    const char *const after = wi_decimal_read(at, end, &value);
    if (!after)
        return NULL;
    if (fabs(value) >= EXACT_WHOLE &&
        (isinf(value) || (head->exact && is_rounded((wi_table_text){at, after}, value))))
        return NULL;
    put_float(type, value, to);
    return after;
}

/* The usual field, with no quotes and no space around it. Returns where it ends; NULL: it is
 * another kind of field, or none, and `to` is to be written anew. */
static const char *put_plain(const wi_table_head *head, weft_type type, const char *at,
                             const char *end, void *to) {
    const char separator = head->separator;
    const char *const after = wi_type_is_float(type) ? read_float(head, type, at, end, to)
                                                     : read_whole(type, at, end, to);
    const bool ends =
        after && (after == end || *after == separator || (separator == ' ' && is_space(*after)));
    return ends ? after : NULL;
}

/* ---- rows ---- */

static wi_table_fault parse_row(wi_table_part *part, const wi_table_head *head, weft_type type,
                                wi_table_text line, char *row) {
    const size_t size = weft_type_size(type);
    wi_table_after next = WI_TABLE_MORE;
    if (line.end > line.begin && line.end[-1] == '\r')
        line.end--;
    for (size_t column = 0; next == WI_TABLE_MORE; column++) {
        part->fault_column = column;
        if (column == head->columns)
            return WI_TABLE_TOO_MANY;
        const size_t place = head->place[column];
        const char *after = NULL;
        if (place != WI_TABLE_LEFT_OUT)
            after = put_plain(head, type, line.begin, line.end, row + place * size);
        if (after && (after == line.end || head->separator != ' ')) {
            next = after < line.end ? WI_TABLE_MORE : WI_TABLE_LAST;
            line.begin = after + (after < line.end);
            continue;
        }
        const wi_table_text field = wi_table_next_field(&line, head->separator, &next);
        part->fault_text = field;
        if (next == WI_TABLE_OPEN)
            return WI_TABLE_OPEN_QUOTE;
        if (place == WI_TABLE_LEFT_OUT || after)
            continue;
        const wi_table_fault fault = put_field(head, type, field, row + place * size);
        if (fault != WI_TABLE_SOUND)
            return fault;
    }
    return part->fault_column + 1 < head->columns ? WI_TABLE_TOO_FEW : WI_TABLE_SOUND;
}

void wi_table_count(wi_table_part *part, char separator) {
    wi_table_text rest = part->text;
    part->lines = part->rows = 0;
    while (rest.begin < rest.end) {
        part->rows += !wi_table_is_blank(wi_table_next_line(&rest), separator);
        part->lines++;
    }
}

void wi_table_parse(wi_table_part *part, const wi_table_head *head, weft_type type, void *data) {
    const size_t row_bytes = head->width * weft_type_size(type);
    wi_table_text rest = part->text;
    char *row = (char *)data + part->first * row_bytes;
    part->fault = WI_TABLE_SOUND;
    for (size_t number = 0; number < part->lines && part->fault == WI_TABLE_SOUND; number++) {
        const wi_table_text line = wi_table_next_line(&rest);
        if (wi_table_is_blank(line, head->separator))
            continue;
        part->fault = parse_row(part, head, type, line, row);
        part->fault_line = number;
        row += row_bytes;
    }
}
