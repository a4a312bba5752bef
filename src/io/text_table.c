/* SPDX-License-Identifier: Apache-2.0 */
/* Reads tables of numbers as text: the whole file, whose lines several threads count and then
 * parse. */
#include "io/text_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cpu/team.h"

enum {
    FIRST_BYTES = 1 << 16, /* allocated before anything of a pipe has been read */
    PART_BYTES = 1 << 20   /* of text for a thread at a time */
};

struct wi_text_table {
    wi_source source;
    const weft_context *ctx;
    unsigned char *bytes;
    wi_table_text text; /* of the rows */
    size_t lines;       /* before the rows */
    size_t rows;
    wi_table_head head;
    wi_table_part *parts;
    size_t count; /* of parts */
    int team;
    wi_table_target *targets; /* for each column of the file; then the same for each thread */
    uint8_t *types;           /* of parts, for each column */
    bool grows;               /* some target does */
    const char *option;       /* by which a user says types */
};

static weft_status no_numbers(const wi_text_table *t) {
    return wi_note_fail(t->source.note, WEFT_EFORMAT, "%s: it has no line of numbers%s",
                        t->source.name,
                        t->head.named ? " behind that of the names; check the first line" : "");
}

/* ---- the text ---- */

static weft_status read_all(wi_text_table *t, size_t *bytes) {
    size_t left, used = 0, room = FIRST_BYTES;
    weft_status status = WEFT_OK;
    if (wi_source_left(t->source.file, &left))
        room = left + 1; /* one more: the end is seen at once */
    for (;;) {
        status = wi_source_resize(&t->source, &t->bytes, used, room);
        if (status != WEFT_OK)
            return status;
        used += fread(t->bytes + used, 1, room - used, t->source.file);
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

/* Reads the first line that is not blank, and leaves the rows in t->text. */
static weft_status read_head(wi_text_table *t) {
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
    status = wi_table_read_head(&t->source, line, &t->head);
    if (status != WEFT_OK)
        return status;
    t->lines = t->head.named ? lines : lines - 1;
    t->text.begin = t->head.named ? rest.begin : line.begin;
    return WEFT_OK;
}

/* ---- the rows ---- */

/* Divides the text at line ends. */
static weft_status cut(wi_text_table *t) {
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

/* What to do about a field that is no number. */
static const char *remedy(const wi_table_head *h, wi_table_text field) {
    const size_t length = (size_t)(field.end - field.begin);
    if (length > 0 && memchr("+-.0123456789", *field.begin, 13) && memchr(field.begin, ',', length))
        return "; a number has no comma, as 1000.5";
    return h->columns > 1 && h->width == h->columns ? "; choose columns of numbers with --columns"
                                                    : "";
}

static weft_status explain(const wi_text_table *t, const wi_table_part *part, size_t line) {
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
        return wi_note_fail(note, WEFT_EFORMAT, "%s: line %zu, %s: " WI_TABLE_QUOTE_WORDS,
                            t->source.name, line, where);
    if (part->fault == WI_TABLE_ROUNDED && t->targets[column].grows)
        return wi_note_fail(note, WEFT_EFORMAT,
                            "%s: line %zu, %s: \"%s\" is an integer that f64 rounds, and neither "
                            "i64 nor u64 holds all of the column; say %s f64 to round it",
                            t->source.name, line, where, quoted, t->option);
    if (part->fault == WI_TABLE_ROUNDED)
        return wi_note_fail(note, WEFT_EFORMAT,
                            "%s: line %zu, %s: \"%s\" is an integer that f64 rounds; read it "
                            "with %s i64 or u64, or f64 to round it",
                            t->source.name, line, where, quoted, t->option);
    if (part->fault == WI_TABLE_NO_NUMBER)
        return wi_note_fail(note, WEFT_EFORMAT, "%s: line %zu, %s: \"%s\" is no number%s",
                            t->source.name, line, where, quoted, remedy(h, part->fault_text));
    if (part->fault == WI_TABLE_NO_INTEGER)
        return wi_note_fail(note, WEFT_EFORMAT,
                            "%s: line %zu, %s: \"%s\" is no whole number; read it as f64",
                            t->source.name, line, where, quoted);
    return wi_note_fail(note, WEFT_EFORMAT, "%s: line %zu, %s: \"%s\" does not fit %s",
                        t->source.name, line, where, quoted,
                        weft_type_name(t->targets[column].type));
}

static void count_parts(void *user, int rank, int team) {
    const wi_text_table *const t = user;
    for (size_t k = (size_t)rank; k < t->count; k += (size_t)team)
        wi_table_count(&t->parts[k], t->head.separator);
}

/* Every thread has targets of its own, whose types grow from part to part. */
static void parse_parts(void *user, int rank, int team) {
    const wi_text_table *const t = user;
    const size_t columns = t->head.columns;
    wi_table_target *const own = t->targets + ((size_t)rank + 1) * columns;
    memcpy(own, t->targets, columns * sizeof *own);
    for (size_t k = (size_t)rank; k < t->count; k += (size_t)team)
        wi_table_parse(&t->parts[k], &t->head, own);
}

/* Finds out how many rows there are. */
static weft_status count_rows(wi_text_table *t) {
    weft_status status = t->parts ? WEFT_OK : cut(t);
    if (status != WEFT_OK)
        return status;
    t->team = wi_team_size(t->ctx, t->count, (size_t)(t->text.end - t->text.begin));
    wi_team_run(t->ctx, t->team, count_parts, t);
    t->rows = 0;
    for (size_t k = 0; k < t->count; k++) {
        t->parts[k].first = t->rows;
        t->rows += t->parts[k].rows;
    }
    /* A file's name has said that it is a table; what a pipe brings may be anything. */
    const bool may_be_empty = t->source.file != stdin && wi_table_is_titled(&t->head);
    return t->rows > 0 || may_be_empty ? WEFT_OK : no_numbers(t);
}

/* Chooses columns, and takes memory for what they become: for all threads, all left out yet. */
static weft_status begin(wi_text_table *t, const char *columns) {
    weft_status status = wi_table_choose(&t->source, columns, &t->head);
    if (status == WEFT_OK)
        status = count_rows(t);
    if (status != WEFT_OK)
        return status;
    const size_t bytes = ((size_t)t->team + 1) * t->head.columns * sizeof *t->targets;
    wi_host_free(t->targets);
    t->targets = wi_host_alloc(bytes);
    if (!t->targets)
        return wi_source_no_memory(&t->source, bytes);
    memset(t->targets, 0, bytes);
    t->grows = false;
    return WEFT_OK;
}

/* Rows that would need more bytes than the text has cannot all be whole: then nothing is stored,
 * and parsing finds the first that is not. */
static bool is_too_short(const wi_text_table *t) {
    const size_t length = (size_t)(t->text.end - t->text.begin);
    return t->head.columns > 1 && t->rows > length / (t->head.columns - 1);
}

/* Gives an array memory for `width` columns; of a table that is too short, for none. */
static weft_status take_room(const wi_text_table *t, weft_type type, size_t width, wi_npy *array) {
    const size_t count = is_too_short(t) ? 0 : t->rows * width, size = weft_type_size(type);
    *array = (wi_npy){.is_text = true,
                      .layout = {.type = type,
                                 .opaque = type == WEFT_BF16,
                                 .dims = width == 1 ? 1 : 2,
                                 .shape = {t->rows, width},
                                 .count = t->rows * width}};
    array->data = wi_host_alloc_huge(count * size + 1);
    return array->data ? WEFT_OK : wi_source_no_memory(&t->source, count * size);
}

/* Notes which parts have which types, if some can have others. */
static weft_status note_types(wi_text_table *t) {
    const size_t bytes = t->count * t->head.columns;
    if (t->types || !t->grows || t->count == 0)
        return WEFT_OK;
    t->types = wi_host_alloc(bytes);
    if (!t->types)
        return wi_source_no_memory(&t->source, bytes);
    for (size_t k = 0; k < t->count; k++)
        t->parts[k].types = t->types + k * t->head.columns;
    return WEFT_OK;
}

/* Reads the rows into the targets; their faults are in the parts. */
static weft_status parse(wi_text_table *t) {
    weft_status status = note_types(t);
    if (status != WEFT_OK)
        return status;
    wi_team_run(t->ctx, t->team, parse_parts, t);
    if (t->grows)
        wi_table_agree(t->ctx, t->team, &t->head, t->parts, t->count, t->targets);
    return WEFT_OK;
}

/* The first fault. */
static weft_status judge(const wi_text_table *t) {
    size_t line = t->lines;
    for (size_t k = 0; k < t->count; k++) {
        if (t->parts[k].fault != WI_TABLE_SOUND)
            return explain(t, &t->parts[k], line + t->parts[k].fault_line + 1);
        line += t->parts[k].lines;
    }
    return WEFT_OK;
}

/* Columns with integers that f64 would round, and no type yet: from now on their types grow. */
static bool let_rounded_grow(wi_text_table *t) {
    bool any = false;
    for (size_t k = 0; k < t->count; k++) {
        wi_table_target *const target = &t->targets[t->parts[k].fault_column];
        if (t->parts[k].fault != WI_TABLE_ROUNDED || target->grows)
            continue;
        wi_table_set_type(target, WEFT_I64);
        target->grows = any = t->grows = true;
    }
    return any;
}

/* Reads the rows; `unrounded`: as by WI_TABLE_UNROUNDED. */
static weft_status parse_as(wi_text_table *t, bool unrounded) {
    weft_status status;
    do
        status = parse(t);
    while (status == WEFT_OK && unrounded && let_rounded_grow(t));
    return status == WEFT_OK ? judge(t) : status;
}

/* ---- what callers ask for ---- */

weft_status wi_text_table_array(wi_text_table *t, const char *columns, const weft_type *type,
                                bool unrounded, wi_npy *array) {
    const weft_type element = type ? *type : WEFT_F64;
    const size_t size = weft_type_size(element);
    *array = (wi_npy){.data = NULL};
    weft_status status = begin(t, columns);
    const size_t width = t->head.width;
    if (status == WEFT_OK)
        status = take_room(t, element, width, array);
    for (size_t k = 0; status == WEFT_OK && k < t->head.columns; k++) {
        wi_table_target *const target = &t->targets[k];
        const bool stores = t->head.place[k] != WI_TABLE_LEFT_OUT && !is_too_short(t);
        wi_table_set_type(target, element);
        target->exact = !type;
        target->to = stores ? (char *)array->data + t->head.place[k] * size : NULL;
        target->stride = width * size;
    }
    if (status == WEFT_OK)
        status = parse_as(t, unrounded && width == 1);
    if (status == WEFT_OK)
        status = wi_table_titles(&t->source, &t->head, 0, width, &array->titles);
    if (status == WEFT_OK && width == 1)
        array->layout.type = t->targets[wi_table_at_place(&t->head, 0)].type;
    if (status != WEFT_OK)
        wi_npy_free(array);
    return status;
}

/* Sets the types that columns begin with. */
static weft_status set_types(wi_text_table *t, const wi_table_types *types) {
    for (size_t k = 0; k < t->head.columns; k++) {
        wi_table_target *const target = &t->targets[k];
        target->exact = true;
        target->grows = types->typing == WI_TABLE_OWN;
        wi_table_set_type(target, target->grows ? WEFT_I64 : WEFT_F64);
    }
    for (size_t w = 0; w < 2 * types->count; w++) { /* first those of all columns */
        const wi_table_wish *const wish = &types->wishes[w % types->count];
        const bool all = !wish->column.begin;
        size_t first = 0;
        if (all != (w < types->count))
            continue;
        const weft_status status =
            all ? WEFT_OK : wi_table_must_find(&t->source, &t->head, wish->column, &first);
        if (status != WEFT_OK)
            return status;
        for (size_t k = first; k < (all ? t->head.columns : first + 1); k++) {
            t->targets[k].exact = t->targets[k].grows = false;
            wi_table_set_type(&t->targets[k], wish->type);
        }
    }
    return WEFT_OK;
}

static weft_status take_columns(wi_text_table *t, wi_column_set *out) {
    const size_t bytes = t->head.width * sizeof *out->column;
    out->column = wi_host_alloc(bytes);
    if (!out->column)
        return wi_source_no_memory(&t->source, bytes);
    memset(out->column, 0, bytes);
    out->count = t->head.width;
    weft_status status = WEFT_OK;
    for (size_t place = 0; place < out->count && status == WEFT_OK; place++) {
        wi_npy *const array = &out->column[place];
        wi_table_target *const target = &t->targets[wi_table_at_place(&t->head, place)];
        status = take_room(t, target->type, 1, array);
        target->to = is_too_short(t) ? NULL : array->data;
        target->stride = target->size;
        if (status == WEFT_OK)
            status = wi_table_titles(&t->source, &t->head, place, 1, &array->titles);
    }
    return status;
}

weft_status wi_text_table_columns(wi_text_table *t, const char *columns,
                                  const wi_table_types *types, wi_column_set *out) {
    *out = (wi_column_set){.column = NULL};
    weft_status status = begin(t, columns);
    if (status == WEFT_OK)
        status = set_types(t, types);
    if (status == WEFT_OK)
        status = take_columns(t, out);
    for (size_t k = 0; k < t->head.columns && status == WEFT_OK; k++)
        t->grows = t->grows || t->targets[k].grows;
    if (status == WEFT_OK)
        status = parse_as(t, types->typing == WI_TABLE_UNROUNDED);
    for (size_t place = 0; place < out->count && status == WEFT_OK; place++)
        out->column[place].layout.type = t->targets[wi_table_at_place(&t->head, place)].type;
    if (status != WEFT_OK)
        wi_columns_free(out);
    return status;
}

void wi_columns_free(wi_column_set *columns) {
    for (size_t k = 0; k < columns->count; k++)
        wi_npy_free(&columns->column[k]);
    wi_host_free(columns->column);
    *columns = (wi_column_set){.column = NULL};
}

size_t wi_text_table_find(const wi_text_table *t, wi_table_text column) {
    const size_t found = wi_table_find(&t->head, column);
    return found < t->head.columns ? found : SIZE_MAX;
}

weft_status wi_text_table_must_find(const wi_text_table *t, wi_table_text column) {
    size_t found;
    return wi_table_must_find(&t->source, &t->head, column, &found);
}

weft_status wi_text_table_open(const weft_context *ctx, FILE *file, const char *name,
                               const char *option, wi_text_table **table, wi_note *note) {
    const wi_source source = {.file = file, .name = name, .note = note};
    size_t bytes = 0;
    wi_text_table *t = wi_host_alloc(sizeof *t);
    *table = NULL;
    if (!t)
        return wi_source_no_memory(&source, sizeof *t);
    *t = (wi_text_table){.source = source, .ctx = ctx, .option = option};
    weft_status status = read_all(t, &bytes);
    if (t->bytes)
        t->text = (wi_table_text){(char *)t->bytes, (char *)t->bytes + bytes};
    if (status == WEFT_OK)
        status = read_head(t);
    if (status == WEFT_OK)
        *table = t;
    else
        wi_text_table_close(t);
    return status;
}

void wi_text_table_close(wi_text_table *t) {
    if (!t)
        return;
    wi_host_free(t->head.names);
    wi_host_free(t->head.place);
    wi_host_free(t->parts);
    wi_host_free(t->targets);
    wi_host_free(t->types);
    wi_host_free(t->bytes);
    wi_host_free(t);
}

weft_status wi_text_table_read(const weft_context *ctx, FILE *file, const char *name,
                               const char *columns, const weft_type *type, wi_npy *array,
                               wi_note *note) {
    wi_text_table *t;
    *array = (wi_npy){.data = NULL};
    weft_status status = wi_text_table_open(ctx, file, name, "--type", &t, note);
    if (status == WEFT_OK)
        status = wi_text_table_array(t, columns, type, false, array);
    wi_text_table_close(t);
    return status;
}
