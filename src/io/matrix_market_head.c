/* SPDX-License-Identifier: Apache-2.0 */
/* The banner and the size line of a Matrix Market file. */
#include <string.h>
#include <strings.h>

#include "io/matrix_market.h"

/* Takes the next word of a line; it is empty at the end. */
static wi_mm_text next_word(wi_mm_text *line) {
    const char *const begin = wi_mm_skip_space(line->begin, line->end);
    wi_mm_text word = {begin, begin};
    while (word.end < line->end && !wi_mm_is_space(*word.end))
        word.end++;
    line->begin = word.end;
    return word;
}

static bool is_word(wi_mm_text word, const char *text) {
    const size_t length = strlen(text);
    return (size_t)(word.end - word.begin) == length && strncasecmp(word.begin, text, length) == 0;
}

/* Which of `count` words this is; `count` if none. */
static size_t find_word(wi_mm_text word, const char *const words[], size_t count) {
    size_t k = 0;
    while (k < count && !is_word(word, words[k]))
        k++;
    return k;
}

static weft_status unknown(wi_mm_text word, const char *what, const char *known, const char *name,
                           wi_note *note) {
    char quoted[WI_QUOTE_BYTES];
    return wi_note_fail(note, WEFT_EFORMAT, "%s: line 1: the %s is \"%s\"; it should be %s", name,
                        what, wi_note_quote(word.begin, (size_t)(word.end - word.begin), quoted),
                        known);
}

static weft_status parse_field(wi_mm_text word, const char *name, wi_mm_head *head, wi_note *note) {
    static const char *const fields[] = {"real", "integer", "pattern", "double"};
    const size_t field = find_word(word, fields, 4);
    if (is_word(word, "complex"))
        return wi_note_fail(note, WEFT_EUNSUPPORTED,
                            "%s: the values are complex, and weft's are real; save the real and "
                            "the imaginary part as two matrices",
                            name);
    if (field == 4)
        return unknown(word, "field", "real, integer or pattern", name, note);
    head->field = field == 3 ? WI_MM_REAL : (wi_mm_field)field;
    if (head->array && head->field == WI_MM_PATTERN)
        return wi_note_fail(
            note, WEFT_EFORMAT,
            "%s: line 1: an array has values, so its field cannot be pattern; write "
            "real or integer",
            name);
    return WEFT_OK;
}

static weft_status parse_symmetry(wi_mm_text word, const char *name, wi_mm_head *head,
                                  wi_note *note) {
    static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric"};
    const size_t symmetry = find_word(word, symmetries, 3);
    if (is_word(word, "hermitian"))
        return wi_note_fail(note, WEFT_EUNSUPPORTED,
                            "%s: the matrix is hermitian, which means complex values, and weft's "
                            "are real",
                            name);
    if (symmetry == 3)
        return unknown(word, "symmetry", "general, symmetric or skew-symmetric", name, note);
    head->symmetry = (wi_mm_symmetry)symmetry;
    return WEFT_OK;
}

weft_status wi_mm_parse_banner(wi_mm_text line, const char *name, wi_mm_head *head, wi_note *note) {
    static const char *const formats[] = {"coordinate", "array"};
    *head = (wi_mm_head){0};
    if (wi_note_packed(note, name, line.begin, (size_t)(line.end - line.begin)) != WEFT_OK)
        return WEFT_EFORMAT;
    if (!is_word(next_word(&line), "%%MatrixMarket"))
        return wi_note_fail(note, WEFT_EFORMAT,
                            "%s: this is not a Matrix Market file: it does not begin with "
                            "%%%%MatrixMarket",
                            name);
    const wi_mm_text object = next_word(&line), format = next_word(&line);
    if (!is_word(object, "matrix"))
        return unknown(object, "object", "matrix", name, note);
    if (find_word(format, formats, 2) == 2)
        return unknown(format, "format", "coordinate or array", name, note);
    head->array = is_word(format, "array");
    weft_status status = parse_field(next_word(&line), name, head, note);
    if (status == WEFT_OK)
        status = parse_symmetry(next_word(&line), name, head, note);
    return status;
}

/* How many values a dense n x n matrix lists: those on and below the diagonal, or those below it.
 */
static bool count_triangle(size_t n, bool diagonal, size_t *count) {
    if (n == 0) {
        *count = 0;
        return true;
    }
    const size_t other = diagonal ? n + 1 : n - 1;
    return !__builtin_mul_overflow(n % 2 ? n : n / 2, n % 2 ? other / 2 : other, count);
}

static weft_status count_entries(size_t number, const char *name, wi_mm_head *head, wi_note *note) {
    if (head->symmetry != WI_MM_GENERAL && head->rows != head->cols)
        return wi_note_fail(note, WEFT_EFORMAT,
                            "%s: line %zu: a matrix of %zu x %zu cannot be symmetric", name, number,
                            head->rows, head->cols);
    if (!head->array)
        return WEFT_OK;
    const bool fits =
        head->symmetry == WI_MM_GENERAL
            ? !__builtin_mul_overflow(head->rows, head->cols, &head->entries)
            : count_triangle(head->rows, head->symmetry == WI_MM_SYMMETRIC, &head->entries);
    if (fits && head->entries <= INT64_MAX)
        return WEFT_OK;
    return wi_note_fail(
        note, WEFT_EFORMAT,
        "%s: line %zu: an array of %zu x %zu has more values than 63 bits can count", name, number,
        head->rows, head->cols);
}

weft_status wi_mm_parse_sizes(wi_mm_text line, size_t number, const char *name, wi_mm_head *head,
                              wi_note *note) {
    char quoted[WI_QUOTE_BYTES];
    const wi_mm_text whole = line;
    uint64_t size[3] = {0, 0, 0};
    const size_t sizes = head->array ? 2 : 3;
    bool sound = true;
    for (size_t k = 0; k < sizes && sound; k++) {
        const wi_mm_text word = next_word(&line);
        sound =
            wi_mm_read_index(word.begin, word.end, &size[k]) == word.end && size[k] <= INT64_MAX;
    }
    const wi_mm_text rest = next_word(&line);
    if (!sound || rest.begin != rest.end)
        return wi_note_fail(note, WEFT_EFORMAT, "%s: line %zu should hold %s: \"%s\"", name, number,
                            head->array ? "two sizes, rows and columns"
                                        : "three sizes, rows, columns and entries",
                            wi_note_quote(whole.begin, (size_t)(whole.end - whole.begin), quoted));
    head->rows = size[0];
    head->cols = size[1];
    head->entries = size[2];
    return count_entries(number, name, head, note);
}
