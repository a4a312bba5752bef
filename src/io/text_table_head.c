/* SPDX-License-Identifier: Apache-2.0 */
/* The first line of a table as text: its separator, the names of columns, and which of them are
 * chosen. */
#include <stdio.h>
#include <string.h>

#include "core/near.h"
#include "io/text_table.h"

enum {
    MOST_LISTED_BYTES = 160 /* of columns' names in a message */
};

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

weft_status wi_table_read_head(const wi_source *source, wi_table_text line, wi_table_head *h) {
    wi_table_text rest = line;
    wi_table_after after = WI_TABLE_MORE;
    h->separator = separator_of(line);
    for (h->columns = 0; after == WI_TABLE_MORE; h->columns++)
        h->named |= !wi_table_is_number(wi_table_next_field(&rest, h->separator, &after));
    if (after == WI_TABLE_OPEN)
        return wi_note_fail(source->note, WEFT_EFORMAT,
                            "%s: the first line, column %zu: " WI_TABLE_QUOTE_WORDS, source->name,
                            h->columns);
    h->names = wi_host_alloc(h->columns * sizeof *h->names);
    h->place = wi_host_alloc(h->columns * sizeof *h->place);
    if (!h->names || !h->place)
        return wi_source_no_memory(source, h->columns * sizeof *h->names);
    rest = line;
    for (size_t k = 0; k < h->columns; k++)
        h->names[k] = wi_table_next_field(&rest, h->separator, &after);
    return WEFT_OK;
}

bool wi_table_is_titled(const wi_table_head *h) {
    bool titled = h->named && (h->separator != ' ' || h->columns == 1); /* a line of prose is not */
    for (size_t k = 0; k < h->columns; k++) {
        const wi_table_text name = h->names[k];
        titled = titled && name.begin < name.end && !memchr("+-.0123456789", *name.begin, 13);
    }
    return titled;
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

static weft_status unknown_column(const wi_source *source, const wi_table_head *h,
                                  wi_table_text wanted) {
    char quoted[WI_QUOTE_BYTES], name[WI_QUOTE_BYTES], listed[MOST_LISTED_BYTES] = "";
    wi_note_quote(wanted.begin, (size_t)(wanted.end - wanted.begin), quoted);
    if (!h->named)
        return wi_note_fail(source->note, WEFT_EARG,
                            "%s: there is no column \"%s\"; its columns have no names, and numbers "
                            "from 1 to %zu",
                            source->name, quoted, h->columns);
    const wi_table_text *const nearest = nearest_name(h, wanted);
    if (nearest)
        return wi_note_fail(
            source->note, WEFT_EARG, "%s: there is no column \"%s\"; did you mean \"%s\"?",
            source->name, quoted,
            wi_note_quote(nearest->begin, (size_t)(nearest->end - nearest->begin), name));
    for (size_t k = 0; k < h->columns; k++) {
        const wi_table_text n = h->names[k];
        wi_append(listed, sizeof listed, ", ",
                  wi_note_quote(n.begin, (size_t)(n.end - n.begin), name));
    }
    return wi_note_fail(source->note, WEFT_EARG,
                        "%s: there is no column \"%s\"; it has %zu column%s: %s", source->name,
                        quoted, h->columns, h->columns == 1 ? "" : "s", listed);
}

/* The first column of that name from column k on; `columns` if there is none. */
static size_t find_name(const wi_table_head *h, wi_table_text wanted, size_t k) {
    while (k < h->columns && !(h->named && wi_table_is_same(h->names[k], wanted)))
        k++;
    return k;
}

size_t wi_table_find(const wi_table_head *h, wi_table_text wanted) {
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
static weft_status check_single(const wi_source *source, const wi_table_head *h,
                                wi_table_text wanted) {
    const size_t first = find_name(h, wanted, 0);
    const size_t next = first < h->columns ? find_name(h, wanted, first + 1) : h->columns;
    char quoted[WI_QUOTE_BYTES];
    if (next == h->columns)
        return WEFT_OK;
    return wi_note_fail(source->note, WEFT_EARG,
                        "%s: columns %zu and %zu are both named \"%s\"; choose one of them by its "
                        "number",
                        source->name, first + 1, next + 1,
                        wi_note_quote(wanted.begin, (size_t)(wanted.end - wanted.begin), quoted));
}

weft_status wi_table_must_find(const wi_source *source, const wi_table_head *h,
                               wi_table_text wanted, size_t *column) {
    *column = wi_table_find(h, wanted);
    return *column == h->columns ? unknown_column(source, h, wanted)
                                 : check_single(source, h, wanted);
}

weft_status wi_table_choose(const wi_source *source, const char *columns, wi_table_head *h) {
    for (size_t k = 0; k < h->columns; k++)
        h->place[k] = columns ? WI_TABLE_LEFT_OUT : k;
    h->width = columns ? 0 : h->columns;
    if (!columns)
        return WEFT_OK;
    wi_table_text rest = {columns, columns + strlen(columns)};
    for (wi_table_after after = WI_TABLE_MORE; after == WI_TABLE_MORE;) {
        size_t k;
        const weft_status status =
            wi_table_must_find(source, h, wi_table_next_field(&rest, ',', &after), &k);
        if (status != WEFT_OK)
            return status;
        if (h->place[k] != WI_TABLE_LEFT_OUT)
            return wi_note_fail(source->note, WEFT_EARG,
                                "%s: column %zu is chosen twice; name each column once",
                                source->name, k + 1);
        h->place[k] = h->width++;
    }
    return WEFT_OK;
}

size_t wi_table_at_place(const wi_table_head *h, size_t place) {
    size_t k = place; /* where it is if no columns were chosen */
    while (h->place[k] != place)
        k = k + 1 < h->columns ? k + 1 : 0;
    return k;
}

/* ---- titles ---- */

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

weft_status wi_table_titles(const wi_source *source, const wi_table_head *h, size_t first,
                            size_t count, char **titles) {
    size_t bytes = 1, at = 0;
    *titles = NULL;
    for (size_t place = first; place < first + count; place++) {
        const wi_table_text name = h->names[wi_table_at_place(h, place)];
        const size_t length = (size_t)(name.end - name.begin);
        if (!h->named || memchr(name.begin, '"', length))
            return WEFT_OK;
        bytes += length + 3;
    }
    *titles = wi_host_alloc(bytes);
    if (!*titles)
        return wi_source_no_memory(source, bytes);
    for (size_t place = first; place < first + count; place++) {
        at += put_title(h->names[wi_table_at_place(h, place)], *titles + at);
        (*titles)[at++] = place + 1 < first + count ? ',' : '\0';
    }
    return WEFT_OK;
}
