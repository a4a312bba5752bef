/* SPDX-License-Identifier: Apache-2.0 */
/* Reads tables of numbers as text: the whole file, whose lines several threads count and then
 * parse. */
#include "io/text_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/near.h"
#include "cpu/team.h"
#include "io/source.h"

enum {
    FIRST_BYTES = 1 << 16,  /* allocated before anything of a pipe has been read */
    PART_BYTES = 1 << 20,   /* of text for a thread at a time */
    MOST_LISTED_BYTES = 160 /* of columns' names in a message */
};

/* What messages say of a field that begins with a quote. */
#define OPEN_QUOTE "a quote does not end on this line; a field is within a line"

/* A table being read. */
typedef struct table {
    wi_source source;
    const weft_context *ctx;
    wi_table_text text;
    size_t lines; /* before the rows */
    wi_table_head head;
    wi_table_part *parts;
    size_t count; /* of parts */
    weft_type type;
    void *data;
} table;

static weft_status no_numbers(const table *t) {
    return wi_note_fail(t->source.note, WEFT_EFORMAT, "%s: it has no line of numbers%s",
                        t->source.name,
                        t->head.named ? " behind that of the names; check the first line" : "");
}

/* ---- the text ---- */

static weft_status read_all(table *t, unsigned char **text, size_t *bytes) {
    size_t left, used = 0, room = FIRST_BYTES;
    weft_status status = WEFT_OK;
    *text = NULL;
    if (wi_source_left(t->source.file, &left))
        room = left + 1; /* one more: the end is seen at once */
    for (;;) {
        status = wi_source_resize(&t->source, text, used, room);
        if (status != WEFT_OK)
            return status;
        used += fread(*text + used, 1, room - used, t->source.file);
        if (used < room)
            break;
        room *= 2;
    }
    if (ferror(t->source.file))
        return wi_note_fail(t->source.note, WEFT_EIO, "%s: reading failed: %s", t->source.name,
                            strerror(errno));
    *bytes = used;
    return WEFT_OK;
}

/* ---- the first line ---- */

static bool has_outside_quotes(wi_table_text line, char wanted) {
    bool quoted = false, found = false;
    for (const char *at = line.begin; at < line.end; at++) {
        quoted ^= *at == '"';
        found = found || (*at == wanted && !quoted);
    }
    return found;
}

static char separator_of(wi_table_text line) {
    static const char separators[] = ",;\t";
    for (const char *s = separators; *s; s++)
        if (has_outside_quotes(line, *s))
            return *s;
    return ' ';
}

/* Lists the fields of the first line, and finds out whether they are names. */
static weft_status read_names(table *t, wi_table_text line) {
    wi_table_head *const h = &t->head;
    wi_table_text rest = line;
    wi_table_after after = WI_TABLE_MORE;
    h->separator = separator_of(line);
    for (h->columns = 0; after == WI_TABLE_MORE; h->columns++)
        h->named |= !wi_table_is_number(wi_table_next_field(&rest, h->separator, &after));
    if (after == WI_TABLE_OPEN)
        return wi_note_fail(t->source.note, WEFT_EFORMAT,
                            "%s: the first line, column %zu: " OPEN_QUOTE, t->source.name,
                            h->columns);
    h->names = wi_host_alloc(h->columns * sizeof *h->names);
    h->place = wi_host_alloc(h->columns * sizeof *h->place);
    if (!h->names || !h->place)
        return wi_source_no_memory(&t->source, h->columns * sizeof *h->names);
    rest = line;
    for (size_t k = 0; k < h->columns; k++)
        h->names[k] = wi_table_next_field(&rest, h->separator, &after);
    return WEFT_OK;
}

/* The name that a mistyped one may have been; NULL if there is none. */
static const wi_table_text *nearest_name(const wi_table_head *h, wi_table_text wanted) {
    const wi_table_text *nearest = NULL;
    size_t best = SIZE_MAX;
    for (size_t k = 0; k < h->columns; k++) {
        const wi_table_text *const n = &h->names[k];
        const size_t far = wi_far(wanted.begin, (size_t)(wanted.end - wanted.begin), n->begin,
                                  (size_t)(n->end - n->begin));
        if (far < best) {
            best = far;
            nearest = n;
        }
    }
    return nearest;
}

static weft_status unknown_column(const table *t, wi_table_text wanted) {
    char quoted[WI_QUOTE_BYTES], name[WI_QUOTE_BYTES], listed[MOST_LISTED_BYTES] = "";
    wi_note_quote(wanted.begin, (size_t)(wanted.end - wanted.begin), quoted);
    if (!t->head.named)
        return wi_note_fail(t->source.note, WEFT_EARG,
                            "%s: there is no column \"%s\"; its columns have no names, and numbers "
                            "from 1 to %zu",
                            t->source.name, quoted, t->head.columns);
    const wi_table_text *const nearest = nearest_name(&t->head, wanted);
    if (nearest)
        return wi_note_fail(
            t->source.note, WEFT_EARG, "%s: there is no column \"%s\"; did you mean \"%s\"?",
            t->source.name, quoted,
            wi_note_quote(nearest->begin, (size_t)(nearest->end - nearest->begin), name));
    for (size_t k = 0; k < t->head.columns; k++) {
        const wi_table_text n = t->head.names[k];
        wi_append(listed, sizeof listed, ", ",
                  wi_note_quote(n.begin, (size_t)(n.end - n.begin), name));
    }
    return wi_note_fail(t->source.note, WEFT_EARG,
                        "%s: there is no column \"%s\"; it has %zu column%s: %s", t->source.name,
                        quoted, t->head.columns, t->head.columns == 1 ? "" : "s", listed);
}

/* The first column of that name from column k on; `columns` if there is none. */
static size_t find_name(const wi_table_head *h, wi_table_text wanted, size_t k) {
    const size_t length = (size_t)(wanted.end - wanted.begin);
    while (k < h->columns &&
           !(h->named && (size_t)(h->names[k].end - h->names[k].begin) == length &&
             memcmp(h->names[k].begin, wanted.begin, length) == 0))
        k++;
    return k;
}

/* The column of a name or, if there is none, of a number; `columns` if there is neither. */
static size_t find_column(const wi_table_head *h, wi_table_text wanted) {
    const size_t named = find_name(h, wanted, 0);
    size_t number = 0;
    if (named < h->columns)
        return named;
    for (const char *at = wanted.begin; at < wanted.end; at++) {
        if (*at < '0' || *at > '9' || number > h->columns)
            return h->columns;
        number = 10 * number + (size_t)(*at - '0');
    }
    return number >= 1 && number <= h->columns ? number - 1 : h->columns;
}

/* A name that several columns have says nothing. */
static weft_status check_single(const table *t, wi_table_text wanted) {
    const wi_table_head *const h = &t->head;
    const size_t first = find_name(h, wanted, 0);
    const size_t next = first < h->columns ? find_name(h, wanted, first + 1) : h->columns;
    char quoted[WI_QUOTE_BYTES];
    if (next == h->columns)
        return WEFT_OK;
    return wi_note_fail(t->source.note, WEFT_EARG,
                        "%s: columns %zu and %zu are both named \"%s\"; choose one of them by its "
                        "number",
                        t->source.name, first + 1, next + 1,
                        wi_note_quote(wanted.begin, (size_t)(wanted.end - wanted.begin), quoted));
}

static weft_status choose_columns(table *t, const char *columns) {
    wi_table_head *const h = &t->head;
    for (size_t k = 0; k < h->columns; k++)
        h->place[k] = columns ? WI_TABLE_LEFT_OUT : k;
    h->width = columns ? 0 : h->columns;
    if (!columns)
        return WEFT_OK;
    wi_table_text rest = {columns, columns + strlen(columns)};
    for (wi_table_after after = WI_TABLE_MORE; after == WI_TABLE_MORE;) {
        const wi_table_text wanted = wi_table_next_field(&rest, ',', &after);
        const size_t k = find_column(h, wanted);
        const weft_status status =
            k == h->columns ? unknown_column(t, wanted) : check_single(t, wanted);
        if (status != WEFT_OK)
            return status;
        if (h->place[k] != WI_TABLE_LEFT_OUT)
            return wi_note_fail(t->source.note, WEFT_EARG,
                                "%s: column %zu is chosen twice; name each column once",
                                t->source.name, k + 1);
        h->place[k] = h->width++;
    }
    return WEFT_OK;
}

/* Reads the first line that is not blank, and leaves the rows in t->text. */
static weft_status read_head(table *t, const char *columns) {
    wi_table_text rest = t->text, line;
    size_t lines = 0;
    weft_status status =
        wi_note_packed(t->source.note, t->source.name, rest.begin, (size_t)(rest.end - rest.begin));
    if (status != WEFT_OK)
        return status;
    if (rest.end - rest.begin >= 2 &&
        (memcmp(rest.begin, "\xFF\xFE", 2) == 0 || memcmp(rest.begin, "\xFE\xFF", 2) == 0))
        return wi_note_fail(t->source.note, WEFT_EFORMAT, "%s: it is UTF-16; save it as UTF-8",
                            t->source.name);
    if (rest.end - rest.begin >= 3 && memcmp(rest.begin, "\xEF\xBB\xBF", 3) == 0)
        rest.begin = t->text.begin = rest.begin + 3; /* the mark of UTF-8 */
    do {
        if (rest.begin == rest.end)
            return no_numbers(t);
        line = wi_table_next_line(&rest);
        lines++;
    } while (wi_table_is_blank(line, ' '));
    status = read_names(t, line);
    if (status != WEFT_OK)
        return status;
    t->lines = t->head.named ? lines : lines - 1;
    t->text.begin = t->head.named ? rest.begin : line.begin;
    return choose_columns(t, columns);
}

/* ---- the rows ---- */

/* Divides the text at line ends. */
static weft_status cut(table *t) {
    const size_t length = (size_t)(t->text.end - t->text.begin);
    const size_t most = length / PART_BYTES + 1;
    t->parts = wi_host_alloc(most * sizeof *t->parts);
    if (!t->parts)
        return wi_source_no_memory(&t->source, most * sizeof *t->parts);
    const char *begin = t->text.begin;
    for (t->count = 0; begin < t->text.end; t->count++) {
        const char *end = t->text.end;
        if (end - begin > PART_BYTES) {
            const char *const line_end =
                memchr(begin + PART_BYTES, '\n', (size_t)(end - begin - PART_BYTES));
            end = line_end ? line_end + 1 : end;
        }
        t->parts[t->count] = (wi_table_part){.text = {begin, end}};
        begin = end;
    }
    return WEFT_OK;
}

static void count_parts(void *user, int rank, int team) {
    const table *const t = user;
    for (size_t k = (size_t)rank; k < t->count; k += (size_t)team)
        wi_table_count(&t->parts[k], t->head.separator);
}

static void parse_parts(void *user, int rank, int team) {
    const table *const t = user;
    for (size_t k = (size_t)rank; k < t->count; k += (size_t)team)
        wi_table_parse(&t->parts[k], &t->head, t->type, t->data);
}

/* What to do about a field that is no number. */
static const char *remedy(const wi_table_head *h, wi_table_text field) {
    const size_t length = (size_t)(field.end - field.begin);
    if (length > 0 && memchr("+-.0123456789", *field.begin, 13) && memchr(field.begin, ',', length))
        return "; a number has no comma, as 1000.5";
    return h->columns > 1 && h->width == h->columns ? "; choose columns of numbers with --columns"
                                                    : "";
}

static weft_status explain(const table *t, const wi_table_part *part, size_t line) {
    const wi_table_head *const h = &t->head;
    const size_t column = part->fault_column;
    const wi_table_text name = column < h->columns ? h->names[column] : (wi_table_text){NULL, NULL};
    char quoted[WI_QUOTE_BYTES], named[WI_QUOTE_BYTES], where[WI_QUOTE_BYTES + 32];
    wi_note *const note = t->source.note;
    wi_note_quote(part->fault_text.begin, (size_t)(part->fault_text.end - part->fault_text.begin),
                  quoted);
    if (part->fault == WI_TABLE_TOO_FEW || part->fault == WI_TABLE_TOO_MANY)
        return wi_note_fail(note, WEFT_EFORMAT,
                            "%s: line %zu has %s than the %zu columns of the "
                            "first line",
                            t->source.name, line,
                            part->fault == WI_TABLE_TOO_FEW ? "fewer columns" : "more columns",
                            h->columns);
    snprintf(where, sizeof where, "column %zu", column + 1);
    if (h->named)
        snprintf(where, sizeof where, "column %zu (%s)", column + 1,
                 wi_note_quote(name.begin, (size_t)(name.end - name.begin), named));
    if (part->fault == WI_TABLE_OPEN_QUOTE)
        return wi_note_fail(note, WEFT_EFORMAT, "%s: line %zu, %s: " OPEN_QUOTE, t->source.name,
                            line, where);
    if (part->fault == WI_TABLE_ROUNDED)
        return wi_note_fail(note, WEFT_EFORMAT,
                            "%s: line %zu, %s: \"%s\" is an integer that f64 rounds; read it "
                            "with --type i64 or u64, or f64 to round it",
                            t->source.name, line, where, quoted);
    if (part->fault == WI_TABLE_NO_NUMBER)
        return wi_note_fail(note, WEFT_EFORMAT, "%s: line %zu, %s: \"%s\" is no number%s",
                            t->source.name, line, where, quoted, remedy(h, part->fault_text));
    if (part->fault == WI_TABLE_NO_INTEGER)
        return wi_note_fail(note, WEFT_EFORMAT,
                            "%s: line %zu, %s: \"%s\" is no whole number; read it as f64",
                            t->source.name, line, where, quoted);
    return wi_note_fail(note, WEFT_EFORMAT, "%s: line %zu, %s: \"%s\" does not fit %s",
                        t->source.name, line, where, quoted, weft_type_name(t->type));
}

/* Takes memory for the rows. Rows that would need more bytes than the text has cannot all be
 * whole: then nothing is stored, and parsing finds the first that is not. */
static weft_status take_room(table *t, wi_npy *array) {
    const size_t size = weft_type_size(t->type), length = (size_t)(t->text.end - t->text.begin);
    size_t rows = 0;
    for (size_t k = 0; k < t->count; k++) {
        t->parts[k].first = rows;
        rows += t->parts[k].rows;
    }
    if (rows == 0)
        return no_numbers(t);
    if (t->head.columns > 1 && rows > length / (t->head.columns - 1)) {
        for (size_t k = 0; k < t->head.columns; k++)
            t->head.place[k] = WI_TABLE_LEFT_OUT;
        t->head.width = 0;
    }
    const size_t width = t->head.width;
    *array = (wi_npy){.is_text = true,
                      .layout = {.type = t->type,
                                 .opaque = t->type == WEFT_BF16,
                                 .dims = width == 1 ? 1 : 2,
                                 .shape = {rows, width},
                                 .count = rows * width}};
    array->data = wi_host_alloc_huge(rows * width * size + 1);
    t->data = array->data;
    return t->data ? WEFT_OK : wi_source_no_memory(&t->source, rows * width * size);
}

/* Writes a name, in quotes if it needs them; returns how many bytes it has taken. */
static size_t put_title(wi_table_text name, char *out) {
    const size_t length = (size_t)(name.end - name.begin);
    bool plain = length > 0;
    for (const char *at = name.begin; at < name.end; at++)
        plain = plain && (unsigned char)*at > ' ' && !strchr(",;#", *at);
    memcpy(out + !plain, name.begin, length);
    if (!plain)
        out[0] = out[length + 1] = '"';
    return length + (plain ? 0 : 2);
}

/* Gives the array the names of its columns, if the file has them and no name has a quote. */
static weft_status take_titles(const table *t, wi_npy *array) {
    const wi_table_head *const h = &t->head;
    size_t bytes = 1, at = 0;
    for (size_t k = 0; k < h->columns; k++) {
        const size_t length = (size_t)(h->names[k].end - h->names[k].begin);
        if (!h->named || memchr(h->names[k].begin, '"', length))
            return WEFT_OK;
        bytes += length + 3;
    }
    array->titles = wi_host_alloc(bytes);
    if (!array->titles)
        return wi_source_no_memory(&t->source, bytes);
    for (size_t place = 0; place < h->width; place++) {
        size_t k = place; /* where it is if no columns were chosen */
        while (h->place[k] != place)
            k = k + 1 < h->columns ? k + 1 : 0;
        at += put_title(h->names[k], array->titles + at);
        array->titles[at++] = place + 1 < h->width ? ',' : '\0';
    }
    return WEFT_OK;
}

static weft_status read_rows(table *t, wi_npy *array) {
    weft_status status = cut(t);
    if (status != WEFT_OK)
        return status;
    const int team = wi_team_size(t->ctx, t->count, (size_t)(t->text.end - t->text.begin));
    wi_team_run(t->ctx, team, count_parts, t);
    status = take_room(t, array);
    if (status != WEFT_OK)
        return status;
    wi_team_run(t->ctx, team, parse_parts, t);
    size_t line = t->lines;
    for (size_t k = 0; k < t->count; k++) {
        if (t->parts[k].fault != WI_TABLE_SOUND)
            return explain(t, &t->parts[k], line + t->parts[k].fault_line + 1);
        line += t->parts[k].lines;
    }
    return WEFT_OK;
}

weft_status wi_text_table_read(const weft_context *ctx, FILE *file, const char *name,
                               const char *columns, const weft_type *type, wi_npy *array,
                               wi_note *note) {
    table t = {.source = {.file = file, .name = name, .note = note},
               .ctx = ctx,
               .head = {.exact = !type},
               .type = type ? *type : WEFT_F64};
    unsigned char *text;
    size_t bytes = 0;
    *array = (wi_npy){.data = NULL};
    weft_status status = read_all(&t, &text, &bytes);
    if (text)
        t.text = (wi_table_text){(char *)text, (char *)text + bytes};
    if (status == WEFT_OK)
        status = read_head(&t, columns);
    if (status == WEFT_OK)
        status = read_rows(&t, array);
    if (status == WEFT_OK)
        status = take_titles(&t, array);
    wi_host_free(t.head.names);
    wi_host_free(t.head.place);
    wi_host_free(t.parts);
    wi_host_free(text);
    if (status != WEFT_OK)
        wi_npy_free(array);
    return status;
}
