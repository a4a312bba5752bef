/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a .npy file: a Python dictionary such as
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } */
#include "io/npy.h"

#include <stdint.h>
#include <string.h>

/* The text that is still to be parsed, and where messages go. */
typedef struct cursor {
    const char *at, *end;
    const char *name;
    wi_note *note;
} cursor;

/* A piece of the header, not terminated. */
typedef struct piece {
    const char *text;
    size_t length;
} piece;

static bool is_piece(piece p, const char *text) {
    return p.length == strlen(text) && memcmp(p.text, text, p.length) == 0;
}

static void skip_space(cursor *c) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r'))
        c->at++;
}

/* Skips `mark` if it comes next. */
static bool take(cursor *c, char mark) {
    skip_space(c);
    if (c->at == c->end || *c->at != mark)
        return false;
    c->at++;
    return true;
}

static weft_status malformed(cursor *c, const char *expected) {
    char quoted[WI_QUOTE_BYTES];
    piece rest = {c->at, (size_t)(c->end - c->at)};
    return wi_note_fail(c->note, WEFT_EFORMAT, "%s: the .npy header should have %s here: \"%s\"",
                        c->name, expected, wi_note_quote(rest.text, rest.length, quoted));
}

static weft_status read_string(cursor *c, piece *p) {
    skip_space(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"'))
        return malformed(c, "a quoted string");
    const char *const start = c->at + 1;
    const char *const end = memchr(start, *c->at, (size_t)(c->end - start));
    if (!end || memchr(start, '\\', (size_t)(end - start)))
        return malformed(c, "a plain string with its closing quote");
    *p = (piece){start, (size_t)(end - start)};
    c->at = end + 1;
    return WEFT_OK;
}

static weft_status read_bool(cursor *c, bool *value) {
    skip_space(c);
    const char *const start = c->at;
    while (c->at < c->end && ((*c->at | 32) >= 'a' && (*c->at | 32) <= 'z'))
        c->at++;
    const piece word = {start, (size_t)(c->at - start)};
    *value = is_piece(word, "True");
    if (*value || is_piece(word, "False"))
        return WEFT_OK;
    c->at = start;
    return malformed(c, "True or False");
}

static weft_status read_extent(cursor *c, size_t *value) {
    skip_space(c);
    if (c->at == c->end || *c->at < '0' || *c->at > '9')
        return malformed(c, "the length of a dimension, 0 or more,");
    *value = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        if (__builtin_mul_overflow(*value, (size_t)10, value) ||
            __builtin_add_overflow(*value, (size_t)(*c->at - '0'), value))
            return malformed(c, "a dimension that fits 64 bits");
    }
    if (c->at < c->end && *c->at == 'L') /* Python 2 wrote long integers with an L */
        c->at++;
    return WEFT_OK;
}

/* The product of the shape. A zero makes it 0, but as in NumPy the product of the other dimensions
 * must still be valid. */
static weft_status count_elements(cursor *c, wi_npy_layout *layout) {
    size_t product = 1;
    bool empty = false;
    for (size_t k = 0; k < layout->dims; k++) {
        if (layout->shape[k] == 0)
            empty = true;
        else if (__builtin_mul_overflow(product, layout->shape[k], &product))
            return wi_note_fail(c->note, WEFT_EFORMAT,
                                "%s: the shape in the .npy header has more elements than 64 bits "
                                "can count",
                                c->name);
    }
    layout->count = empty ? 0 : product;
    return WEFT_OK;
}

static weft_status read_shape(cursor *c, wi_npy_layout *layout) {
    if (!take(c, '('))
        return malformed(c, "the shape, a tuple as (3, 4),");
    layout->dims = 0;
    while (!take(c, ')')) {
        if (layout->dims == WI_NPY_MAX_DIMS)
            return wi_note_fail(c->note, WEFT_EFORMAT, "%s: the array has more than %d dimensions",
                                c->name, WI_NPY_MAX_DIMS);
        const weft_status status = read_extent(c, &layout->shape[layout->dims]);
        if (status != WEFT_OK)
            return status;
        layout->dims++;
        if (!take(c, ',')) {
            if (!take(c, ')'))
                return malformed(c, "a comma or the end of the shape");
            break;
        }
    }
    return count_elements(c, layout);
}

/* Letter and width of a descr, and the type they mean. The first entry of a type is used for
 * writing. */
static const struct {
    const char *code;
    weft_type type;
} codes[] = {
    {"i1", WEFT_I8},  {"i2", WEFT_I16},  {"i4", WEFT_I32}, {"i8", WEFT_I64}, {"u1", WEFT_U8},
    {"u2", WEFT_U16}, {"u4", WEFT_U32},  {"u8", WEFT_U64}, {"f2", WEFT_F16}, {"V2", WEFT_BF16},
    {"f4", WEFT_F32}, {"f8", WEFT_F64},  {"b1", WEFT_U8}, /* booleans */
    {"c8", WEFT_F32}, {"c16", WEFT_F64},                  /* pairs */
};

enum {
    CODES = sizeof codes / sizeof *codes
};

/* The meaning of a descr's letter for which this library has no type. */
static const char *foreign_kind(char letter) {
    switch (letter) {
    case 'c':
        return "complex numbers of a width that weft lacks; save them with x.astype('c16')";
    case 'O':
        return "Python objects; save numbers instead";
    case 'S':
    case 'a':
    case 'U':
        return "text; save numbers instead";
    case 'M':
    case 'm':
        return "dates or times; save them with x.view('i8')";
    case 'V':
        return "records or raw bytes; save one field, as x['name']";
    default:
        return "a type unknown here; save one of i1 ... i8, u1 ... u8, f2, f4, f8";
    }
}

/* Does a descr begin with a mark of byte order? */
static bool is_marked(piece descr) {
    return descr.length && memchr("<>|=", descr.text[0], 4);
}

static weft_status foreign(cursor *c, piece descr) {
    char quoted[WI_QUOTE_BYTES];
    const bool marked = is_marked(descr);
    const char letter = descr.length > marked ? descr.text[marked] : '?';
    const bool width = letter == 'i' || letter == 'u' || letter == 'f';
    return wi_note_fail(c->note, WEFT_EUNSUPPORTED, "%s: elements of type '%s' are %s", c->name,
                        wi_note_quote(descr.text, descr.length, quoted),
                        width ? "numbers of a width that weft lacks; save them with x.astype('f8')"
                              : foreign_kind(letter));
}

static weft_status understand_descr(cursor *c, piece descr, wi_npy_layout *layout) {
    const bool big_here = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    piece code = descr;
    char order = '=';
    if (is_marked(code)) {
        order = code.text[0];
        code = (piece){code.text + 1, code.length - 1};
    }
    for (size_t k = 0; k < CODES; k++) {
        if (is_piece(code, codes[k].code)) {
            layout->type = codes[k].type;
            layout->opaque = codes[k].type == WEFT_BF16;
            layout->pairs = codes[k].code[0] == 'c';
            layout->swapped = order == (big_here ? '<' : '>') && weft_type_size(layout->type) > 1;
            return WEFT_OK;
        }
    }
    return foreign(c, descr);
}

static weft_status read_descr(cursor *c, wi_npy_layout *layout) {
    skip_space(c);
    if (c->at < c->end && *c->at == '[')
        return wi_note_fail(c->note, WEFT_EUNSUPPORTED,
                            "%s: the array has records with named fields; save one field, as "
                            "x['name']",
                            c->name);
    piece descr = {"", 0};
    const weft_status status = read_string(c, &descr);
    return status == WEFT_OK ? understand_descr(c, descr, layout) : status;
}

/* The entries that a header must have once each. */
typedef enum entry {
    DESCR,
    FORTRAN_ORDER,
    SHAPE,
    ENTRIES
} entry;

static const char *const entry_names[ENTRIES] = {"descr", "fortran_order", "shape"};

static weft_status read_entry(cursor *c, wi_npy_layout *layout, bool seen[ENTRIES]) {
    char quoted[WI_QUOTE_BYTES];
    piece key = {"", 0};
    weft_status status = read_string(c, &key);
    if (status != WEFT_OK)
        return status;
    size_t which = 0;
    while (which < ENTRIES && !is_piece(key, entry_names[which]))
        which++;
    if (which == ENTRIES || seen[which])
        return wi_note_fail(c->note, WEFT_EFORMAT, "%s: the .npy header has %s entry '%s'", c->name,
                            which == ENTRIES ? "an unknown" : "a second",
                            wi_note_quote(key.text, key.length, quoted));
    seen[which] = true;
    if (!take(c, ':'))
        return malformed(c, "a colon");
    switch ((entry)which) {
    case DESCR:
        return read_descr(c, layout);
    case FORTRAN_ORDER:
        return read_bool(c, &layout->fortran_order);
    default:
        return read_shape(c, layout);
    }
}

weft_status wi_npy_parse(const char *text, size_t length, const char *name, wi_npy_layout *layout,
                         wi_note *note) {
    cursor c = {text, text + length, name, note};
    bool seen[ENTRIES] = {false};
    *layout = (wi_npy_layout){0};
    if (!take(&c, '{'))
        return malformed(&c, "an opening brace");
    while (!take(&c, '}')) {
        const weft_status status = read_entry(&c, layout, seen);
        if (status != WEFT_OK)
            return status;
        if (!take(&c, ',')) {
            if (!take(&c, '}'))
                return malformed(&c, "a comma or the closing brace");
            break;
        }
    }
    skip_space(&c);
    if (c.at != c.end)
        return malformed(&c, "nothing more");
    for (size_t k = 0; k < ENTRIES; k++) {
        if (!seen[k])
            return wi_note_fail(note, WEFT_EFORMAT, "%s: the .npy header lacks its entry '%s'",
                                name, entry_names[k]);
    }
    if (layout->pairs && __builtin_mul_overflow(layout->count, (size_t)2, &layout->count))
        return wi_note_fail(
            note, WEFT_EFORMAT,
            "%s: the shape in the .npy header has more numbers than 64 bits can count", name);
    return WEFT_OK;
}

static const char *code_of(weft_type type, bool pairs) {
    for (size_t k = 0; k < CODES; k++) {
        if (codes[k].type == type && (codes[k].code[0] == 'c') == pairs)
            return codes[k].code;
    }
    return "V1"; /* not reached for any weft_type */
}

size_t wi_npy_format(const wi_npy_layout *layout, char header[4096]) {
    enum {
        PREFIX = 10,
        ALIGN = 64,
        ROOM = 4096
    };
    const bool big_here = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    const char order = weft_type_size(layout->type) == 1 ? '|' : big_here ? '>' : '<';
    size_t used = PREFIX;
    used += (size_t)snprintf(
        header + used, ROOM - used, "{'descr': '%c%s', 'fortran_order': %s, 'shape': (", order,
        code_of(layout->type, layout->pairs), layout->fortran_order ? "True" : "False");
    for (size_t k = 0; k < layout->dims; k++)
        used +=
            (size_t)snprintf(header + used, ROOM - used, "%s%zu", k ? ", " : "", layout->shape[k]);
    used += (size_t)snprintf(header + used, ROOM - used, "%s), }", layout->dims == 1 ? "," : "");
    const size_t total = (used + 1 + ALIGN - 1) / ALIGN * ALIGN;
    memset(header + used, ' ', total - used - 1);
    header[total - 1] = '\n';
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    header[8] = (char)((total - PREFIX) & 255);
    header[9] = (char)((total - PREFIX) >> 8);
    return total;
}
