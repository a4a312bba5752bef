/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of a Matrix Market file: whole lines, which several threads parse at once. */
#include <math.h>
#include <string.h>

#include "io/decimal.h"
#include "io/matrix_market.h"

bool wi_mm_is_blank(wi_mm_text line) {
    const char *const at = wi_mm_skip_space(line.begin, line.end);
    return at == line.end || *at == '%';
}

wi_mm_text wi_mm_next_line(wi_mm_text *text) {
    const char *const end = memchr(text->begin, '\n', (size_t)(text->end - text->begin));
    const wi_mm_text line = {text->begin, end ? end : text->end};
    text->begin = end ? end + 1 : text->end;
    return line;
}

void wi_mm_count(wi_mm_part *part) {
    wi_mm_text rest = part->text;
    part->lines = part->entries = 0;
    while (rest.begin < rest.end) {
        part->entries += !wi_mm_is_blank(wi_mm_next_line(&rest));
        part->lines++;
    }
}

const char *wi_mm_read_index(const char *at, const char *end, uint64_t *value) {
    uint64_t sum = 0;
    const char *const begin = at;
    for (; at < end && (unsigned char)(*at - '0') <= 9; at++) {
        if (sum > (UINT64_MAX - 9) / 10)
            return NULL;
        sum = 10 * sum + (uint64_t)(*at - '0');
    }
    *value = sum;
    return at > begin && (at == end || wi_mm_is_space(*at)) ? at : NULL;
}

/* Is a word that is not a decimal number an infinity or a NaN? */
static bool is_special(const char *at, const char *end) {
    at += at < end && (*at == '-' || *at == '+');
    return at < end && ((*at | 32) == 'n' || (*at | 32) == 'i');
}

/* Reads the value that ends a line. */
static wi_mm_fault_kind read_value(const char *at, const char *end, bool integer, double *value) {
    at = wi_mm_skip_space(at, end);
    const char *const after = wi_decimal_read(at, end, value);
    if (!after)
        return is_special(at, end) ? WI_MM_NOT_FINITE : WI_MM_MALFORMED;
    if (wi_mm_skip_space(after, end) != end)
        return WI_MM_MALFORMED;
    if (!isfinite(*value))
        return WI_MM_NOT_FINITE;
    for (const char *p = at; p < after && integer; p++) {
        if ((*p < '0' || *p > '9') && (p > at || (*p != '-' && *p != '+')))
            return WI_MM_NOT_INTEGER;
    }
    return WI_MM_SOUND;
}

static wi_mm_fault_kind read_coordinate(wi_mm_text line, wi_mm *m, size_t k) {
    const wi_mm_head *const head = &m->head;
    uint64_t row, col;
    const char *at = wi_mm_skip_space(line.begin, line.end);
    at = wi_mm_read_index(at, line.end, &row);
    if (!at)
        return WI_MM_MALFORMED;
    at = wi_mm_read_index(wi_mm_skip_space(at, line.end), line.end, &col);
    if (!at)
        return WI_MM_MALFORMED;
    if (row - 1 >= head->rows || col - 1 >= head->cols) /* 0 wraps around */
        return WI_MM_OUTSIDE;
    if ((head->symmetry != WI_MM_GENERAL && row < col) ||
        (head->symmetry == WI_MM_SKEW && row == col))
        return WI_MM_WRONG_SIDE;
    m->row[k] = (int64_t)(row - 1);
    m->col[k] = (int64_t)(col - 1);
    m->value[k] = 1;
    if (head->field == WI_MM_PATTERN)
        return wi_mm_skip_space(at, line.end) == line.end ? WI_MM_SOUND : WI_MM_MALFORMED;
    return read_value(at, line.end, head->field == WI_MM_INTEGER, &m->value[k]);
}

void wi_mm_parse(wi_mm_part *part, wi_mm *m) {
    wi_mm_text rest = part->text;
    size_t k = part->first;
    part->fault = WI_MM_SOUND;
    for (size_t number = 0; number < part->lines && part->fault == WI_MM_SOUND; number++) {
        const wi_mm_text line = wi_mm_next_line(&rest);
        if (wi_mm_is_blank(line))
            continue;
        if (k >= m->head.entries)
            part->fault = WI_MM_TOO_MANY;
        else if (m->head.array)
            part->fault =
                read_value(line.begin, line.end, m->head.field == WI_MM_INTEGER, &m->value[k]);
        else
            part->fault = read_coordinate(line, m, k);
        part->fault_line = number;
        part->fault_text = line;
        k++;
    }
}
