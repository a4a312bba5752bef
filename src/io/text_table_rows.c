/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a table as text: whole lines, which several threads parse at once. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "io/decimal.h"
#include "io/text_table.h"

enum {
    SHORT_WORDS = 6,  /* of eight characters */
    SURE_DIGITS = 19, /* that fit 64 bits, whatever they are, */
    EXACT_DIGITS = 15 /* and the 53 of a double */
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

/* Is it a 0 whose sign an integer would lose? A column whose type grows becomes one of floats. */
static inline bool is_minus_0(const wi_table_target *t, bool negative, uint64_t value) {
    return t->grows && negative && value == 0;
}

/* A whole number, exactly. */
static wi_table_fault put_integer(const wi_table_target *t, wi_table_text field, void *to) {
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
    if (value > t->most[negative])
        return WI_TABLE_TOO_LARGE;
    if (is_minus_0(t, negative, value))
        return WI_TABLE_NO_INTEGER;
    store_whole(t->size, negative ? 0 - value : value, to);
    return WI_TABLE_SOUND;
}

/* Is it an integer of 64 bits that is not `value`, the nearest f64, which is EXACT_WHOLE or more?
 */
static bool is_rounded(wi_table_text field, double value) {
    wi_table_target u64 = {.exact = true}, i64 = {.exact = true};
    wi_table_set_type(&u64, WEFT_U64);
    wi_table_set_type(&i64, WEFT_I64);
    uint64_t whole;
    int64_t negative;
    for (const char *at = field.begin + 1; at < field.end; at++)
        if ((unsigned char)(*at - '0') > 9)
            return false;
    if (put_integer(&u64, field, &whole) == WI_TABLE_SOUND)
        return !(value < 0x1p64) || (uint64_t)value != whole;
    return put_integer(&i64, field, &negative) == WI_TABLE_SOUND && (int64_t)value != negative;
}

static wi_table_fault put_field(const wi_table_target *t, wi_table_text field, void *to) {
    double value;
    if (!t->is_float)
        return put_integer(t, field, to);
    if (read_word(field, &value))
        return put_float(t->type, value, to);
    if (wi_decimal_read(field.begin, field.end, &value) != field.end)
        return WI_TABLE_NO_NUMBER;
    if (t->exact && fabs(value) >= EXACT_WHOLE && is_rounded(field, value))
        return WI_TABLE_ROUNDED;
    return isinf(value) ? WI_TABLE_TOO_LARGE : put_float(t->type, value, to);
}

/* Reads a sign and digits, as many as are surely right; NULL if there are none, or more. */
static inline const char *read_digits(const char *at, const char *end, ptrdiff_t most,
                                      bool *negative, uint64_t *value) {
    const bool sign = at < end && (*at == '-' || *at == '+');
    const char *const first = at + sign;
    uint64_t sum = 0;
    *negative = sign && *at == '-';
    for (at = first; at < end && (unsigned char)(*at - '0') <= 9; at++)
        sum = 10 * sum + (uint64_t)(*at - '0');
    *value = sum;
    return at == first || at - first > most ? NULL : at;
}

/* Reads a whole number that the type can hold; NULL if there is none. */
static inline const char *read_whole(const wi_table_target *t, const char *at, const char *end,
                                     void *to) {
    bool negative;
    uint64_t value;
    const char *const after = read_digits(at, end, SURE_DIGITS, &negative, &value);
    if (!after || value > t->most[negative] || is_minus_0(t, negative, value))
        return NULL;
    store_whole(t->size, negative ? 0 - value : value, to);
    return after;
}

/* May this character belong to a number that goes on behind its first digits? */
static inline bool goes_on(char c) {
    return c == '.' || (c | 32) == 'e' || (c | 32) == 'd';
}

static inline const char *read_float(const wi_table_target *t, const char *at, const char *end,
                                     void *to) {
    double value;
    bool negative;
    uint64_t whole;
    const char *after = read_digits(at, end, EXACT_DIGITS, &negative, &whole);
    if (after && (after == end || !goes_on(*after))) {
        value = negative ? -(double)whole : (double)whole;
    } else {
        after = wi_decimal_read(at, end, &value);
        if (!after)
            return NULL;
        if (fabs(value) >= EXACT_WHOLE &&
            (isinf(value) || (t->exact && is_rounded((wi_table_text){at, after}, value))))
            return NULL;
    }
    put_float(t->type, value, to);
    return after;
}

static inline const char *read_number(const wi_table_target *t, const char *at, const char *end,
                                      void *to) {
    return t->is_float ? read_float(t, at, end, to) : read_whole(t, at, end, to);
}

/* The usual field, with no quotes and no space around it. Returns where it ends; NULL: it is
 * another kind of field, or none, and `to` is to be written anew. */
static const char *put_plain(const wi_table_target *t, char separator, const char *at,
                             const char *end, void *to) {
    const char *const after = read_number(t, at, end, to);
    const bool ends =
        after && (after == end || *after == separator || (separator == ' ' && is_space(*after)));
    return ends ? after : NULL;
}

/* ---- rows ---- */

static wi_table_fault parse_row(wi_table_part *part, const wi_table_head *head,
                                const wi_table_target *targets, wi_table_text line, size_t row) {
    wi_table_after next = WI_TABLE_MORE;
    if (line.end > line.begin && line.end[-1] == '\r')
        line.end--;
    for (size_t column = 0; next == WI_TABLE_MORE; column++) {
        part->fault_column = column;
        if (column == head->columns)
            return WI_TABLE_TOO_MANY;
        const wi_table_target *const t = &targets[column];
        char *const to = t->to ? t->to + row * t->stride : NULL;
        const char *after = NULL;
        if (to)
            after = put_plain(t, head->separator, line.begin, line.end, to);
        if (after && (after == line.end || head->separator != ' ')) {
            next = after < line.end ? WI_TABLE_MORE : WI_TABLE_LAST;
            line.begin = after + (after < line.end);
            continue;
        }
        const wi_table_text field = wi_table_next_field(&line, head->separator, &next);
        part->fault_text = field;
        if (next == WI_TABLE_OPEN)
            return WI_TABLE_OPEN_QUOTE;
        if (!to || after)
            continue;
        const wi_table_fault fault = put_field(t, field, to);
        if (fault != WI_TABLE_SOUND)
            return fault;
    }
    return part->fault_column + 1 < head->columns ? WI_TABLE_TOO_FEW : WI_TABLE_SOUND;
}

/* The usual row: a plain number for each column, with one separator between them, and a line end.
 * Returns where the next line begins; NULL: it is another kind of line, or a wrong one, or the last
 * one, and its row is to be written anew. */
static inline const char *put_plain_row(const wi_table_target *targets, size_t columns,
                                        char separator, wi_table_text text, size_t row) {
    const char *at = text.begin;
    for (size_t column = 0; column < columns; column++) {
        const wi_table_target *const t = &targets[column];
        if (column > 0 && (at == text.end || *at++ != separator))
            return NULL;
        at = read_number(t, at, text.end, t->to + row * t->stride);
        if (!at)
            return NULL;
    }
    at += at < text.end && *at == '\r';
    return at < text.end && *at == '\n' ? at + 1 : NULL;
}

/* Reads usual rows as long as there are some. */
static void put_plain_rows(wi_table_part *part, const wi_table_head *head,
                           const wi_table_target *targets, wi_table_text *rest) {
    const size_t columns = head->columns, most = part->lines - part->fault_line;
    const size_t first = part->first + part->stored;
    const char separator = head->separator;
    wi_table_text text = *rest;
    size_t rows = 0;
    for (; rows < most; rows++) {
        const char *const next = put_plain_row(targets, columns, separator, text, first + rows);
        if (!next)
            break;
        text.begin = next;
    }
    rest->begin = text.begin;
    part->fault_line += rows;
    part->stored += rows;
}

/* ---- eight characters at once: bit 7 of each byte says whether it is so ---- */

#define ONES 0x0101010101010101
#define TOPS 0x8080808080808080

static inline uint64_t are(uint64_t bytes, char c) {
    const uint64_t differ = bytes ^ ONES * (unsigned char)c;
    return ~(((differ & ~TOPS) + ~TOPS) | differ) & TOPS;
}

/* White space or a control character. */
static inline uint64_t are_blank(uint64_t bytes) {
    return ~(((bytes & ~TOPS) + ONES * (0x7f - ' ')) | bytes) & TOPS;
}

static inline size_t count_of(uint64_t bits) {
    return (size_t)((bits >> 7) * ONES >> 56);
}

static bool is_blank_from(const char *at, const char *end, char separator) {
    wi_table_text rest = {at, end};
    return wi_table_is_blank(wi_table_next_line(&rest), separator);
}

/* Looks only at how lines begin, but for those that may be blank. */
void wi_table_count(wi_table_part *part, char separator) {
    const char *at = part->text.begin, *const end = part->text.end;
    uint64_t begins = 0x80; /* does a line begin with the next character? */
    part->lines = part->rows = 0;
    for (; end - at >= 8; at += 8) {
        const uint64_t bytes = wi_decimal_eight(at), ends = are(bytes, '\n');
        const uint64_t starts = ends << 8 | begins;
        part->lines += count_of(starts);
        part->rows += count_of(starts);
        for (uint64_t odd = starts & (are_blank(bytes) | are(bytes, '#')); odd; odd &= odd - 1)
            part->rows -= is_blank_from(at + __builtin_ctzll(odd) / 8, end, separator);
        begins = ends >> 56;
    }
    for (; at < end; begins = *at++ == '\n')
        if (begins) {
            part->lines++;
            part->rows += !is_blank_from(at, end, separator);
        }
}

static bool takes_all(const wi_table_head *head, const wi_table_target *targets) {
    for (size_t column = 0; column < head->columns; column++)
        if (!targets[column].to)
            return false;
    return true;
}

/* Reads the next line; what a fault asks for is done before the same line is read once more. */
static void parse_line(wi_table_part *part, const wi_table_head *head, wi_table_target *targets,
                       wi_table_text *rest) {
    const wi_table_text before = *rest, line = wi_table_next_line(rest);
    if (wi_table_is_blank(line, head->separator)) {
        part->fault_line++;
        return;
    }
    part->fault = parse_row(part, head, targets, line, part->first + part->stored);
    if (part->fault == WI_TABLE_SOUND) {
        part->fault_line++;
        part->stored++;
        return;
    }
    wi_table_target *const target = &targets[part->fault_column];
    if (part->fault_column == head->columns || !wi_table_may_grow(target, part->fault))
        return;
    *rest = before;
    if (!wi_table_grow(target, part)) {
        *rest = part->text;
        part->fault_line = part->stored = 0;
    }
    part->fault = WI_TABLE_SOUND;
}

void wi_table_parse(wi_table_part *part, const wi_table_head *head, wi_table_target *targets) {
    const bool plain = takes_all(head, targets);
    wi_table_text rest = part->text;
    part->fault = WI_TABLE_SOUND;
    part->fault_line = part->stored = 0;
    while (part->fault_line < part->lines && part->fault == WI_TABLE_SOUND) {
        if (plain)
            put_plain_rows(part, head, targets, &rest);
        if (part->fault_line < part->lines)
            parse_line(part, head, targets, &rest);
    }
    for (size_t column = 0; part->types && column < head->columns; column++)
        part->types[column] = (uint8_t)targets[column].type;
}
