/* SPDX-License-Identifier: Apache-2.0 */
/* Tables: the calls of weft/records.h, columns taken out and put back, and scans that make offsets.
 * The oracle compares records by the ranks of their fields. */
#include "calls/calls.h"

#include <math.h>
#include <string.h>

enum {
    MOST_FIELDS = 3
};

/* Records and what compares them. */
typedef struct record_case {
    size_t bytes, n_fields;
    weft_field fields[MOST_FIELDS];
} record_case;

static void draw_fields(fuzz *f, record_case *c) {
    c->bytes = 8 + fuzz_below(f, 20);
    c->n_fields = 1 + fuzz_below(f, MOST_FIELDS);
    for (size_t k = 0; k < c->n_fields; k++) {
        weft_field *const field = &c->fields[k];
        field->type = fuzz_type(f);
        field->offset = fuzz_below(f, c->bytes - test_size_of(field->type) + 1);
        field->order = (weft_order)fuzz_below(f, 2);
    }
}

static int compare(const record_case *c, const unsigned char *a, const unsigned char *b) {
    for (size_t k = 0; k < c->n_fields; k++) {
        const weft_field *const field = &c->fields[k];
        unsigned char of_a[8], of_b[8];
        memcpy(of_a, a + field->offset, test_size_of(field->type));
        memcpy(of_b, b + field->offset, test_size_of(field->type));
        const uint64_t x = fuzz_rank(field->type, of_a, 0), y = fuzz_rank(field->type, of_b, 0);
        if (x != y)
            return (x < y) == (field->order == WEFT_ASCENDING) ? -1 : 1;
    }
    return 0;
}

/* n records of few different bytes; many equal the one before. */
static unsigned char *draw_data(fuzz *f, const record_case *c, size_t n) {
    unsigned char *const data = fuzz_take(f, n * c->bytes);
    test_random *const r = fuzz_random(f);
    for (size_t i = 0; i < n * c->bytes; i++)
        data[i] = (unsigned char)(test_below(r, 2) * 255);
    for (size_t i = 1; i < n; i++)
        if (test_below(r, 2))
            memcpy(data + i * c->bytes, data + (i - 1) * c->bytes, c->bytes);
    return data;
}

/* Insertion of each record behind those that do not come after it; n is small. */
static void put_in_order(const record_case *c, size_t n, unsigned char *data) {
    unsigned char record[64];
    for (size_t i = 1; i < n; i++) {
        size_t at = i;
        memcpy(record, data + i * c->bytes, c->bytes);
        while (at > 0 && compare(c, data + (at - 1) * c->bytes, record) > 0)
            at--;
        memmove(data + (at + 1) * c->bytes, data + at * c->bytes, (i - at) * c->bytes);
        memcpy(data + at * c->bytes, record, c->bytes);
    }
}

/* Makes one argument wrong, some of the time. These calls have no type of their own, only those of
 * fields. */
static void spoil(fuzz *f, record_case *c) {
    fuzz_spoil_any_array(f);
    if (fuzz_spoil_own(f, "fields"))
        c->fields[c->n_fields - 1].offset = c->bytes;
    else if (fuzz_spoil_own(f, "n_fields"))
        c->n_fields = fuzz_below(f, 2) ? 0 : WEFT_MOST_FIELDS + 1;
    else if (fuzz_spoil_own(f, "record_bytes"))
        c->bytes = 0;
}

void fuzz_record_runs(fuzz *f) {
    static const char unique[] = "weft_unique_records", lengths_of[] = "weft_run_length_records";
    fuzz_begin(f, "record_runs");
    record_case c;
    draw_fields(f, &c);
    const bool wants = fuzz_one_in(f, 2);
    const weft_type type = fuzz_count_type(f);
    const size_t size = test_size_of(type), bytes = c.bytes;
    fuzz_array *const records = fuzz_input(f, "records", f->n * bytes, 1, draw_data(f, &c, f->n));
    fuzz_array *const out = fuzz_output(f, "out", f->n * bytes, 1);
    fuzz_array *const count = fuzz_output(f, "count", sizeof(uint64_t), sizeof(uint64_t));
    fuzz_array *const lengths = wants ? fuzz_output(f, "lengths", f->n * size, size) : NULL;
    uint64_t runs = 0;
    for (size_t i = 0; i < f->n; runs++) {
        const unsigned char *const first = records->before + i * bytes;
        size_t length = 1;
        while (i + length < f->n && compare(&c, first, first + length * bytes) == 0)
            length++;
        memcpy(out->want + runs * bytes, first, bytes);
        if (wants)
            fuzz_store_bits(lengths->want, size, runs, length);
        i += length;
    }
    memcpy(count->want, &runs, sizeof runs);
    spoil(f, &c);
    fuzz_say(f, "%s(%zu of %zu bytes, %zu fields)", wants ? lengths_of : unique, f->n, c.bytes,
             c.n_fields);
    fuzz_end(f, wants ? lengths_of : unique,
             wants ? weft_run_length_records(f->ctx, f->n, c.bytes, records->p, out->p, c.fields,
                                             c.n_fields, type, lengths->p, count->p)
                   : weft_unique_records(f->ctx, f->n, c.bytes, records->p, out->p, c.fields,
                                         c.n_fields, count->p));
}

void fuzz_record_search(fuzz *f) {
    static const char name[] = "weft_search_records";
    fuzz_begin(f, "search_records");
    record_case c;
    draw_fields(f, &c);
    const size_t n = f->n % 300, m = fuzz_below(f, 60), bytes = c.bytes;
    weft_bound bound = (weft_bound)fuzz_below(f, 2);
    unsigned char *const data = draw_data(f, &c, n);
    put_in_order(&c, n, data);
    fuzz_array *const records = fuzz_input(f, "records", n * bytes, 1, data);
    fuzz_array *const wanted = fuzz_input(f, "wanted", m * bytes, 1, draw_data(f, &c, m));
    fuzz_array *const positions = fuzz_output(f, "positions", m * 8, sizeof(uint64_t));
    for (size_t j = 0; j < m; j++) {
        uint64_t before = 0;
        for (size_t i = 0; i < n; i++)
            before += compare(&c, data + i * bytes, wanted->before + j * bytes) <
                      (bound == WEFT_UPPER ? 1 : 0);
        fuzz_store_bits(positions->want, 8, j, before);
    }
    spoil(f, &c);
    if (fuzz_spoil_own(f, "bound"))
        bound = (weft_bound)2;
    fuzz_say(f, "%s(%d, %zu of %zu bytes, %zu wanted)", name, (int)bound, n, c.bytes, m);
    fuzz_end(f, name,
             weft_search_records(f->ctx, bound, n, c.bytes, records->p, m, wanted->p, c.fields,
                                 c.n_fields, positions->p));
}

/* Columns that do not overlap in a record, so that their order does not matter in weft_put_columns.
 */
void fuzz_columns(fuzz *f) {
    static const char *const names[] = {"column[0].array", "column[1].array", "column[2].array"};
    fuzz_begin(f, "columns");
    const bool puts = fuzz_one_in(f, 2);
    const size_t columns = 1 + fuzz_below(f, 3), most = 1 + fuzz_below(f, 12);
    const size_t gap = fuzz_below(f, 3);
    size_t bytes = columns * (most + gap);
    const record_case c = {.bytes = bytes};
    weft_table_column column[3];
    fuzz_array *arrays[3];
    fuzz_array *const records = fuzz_input(f, "records", f->n * bytes, 1, draw_data(f, &c, f->n));
    records->output = puts;
    for (size_t k = 0; k < columns; k++) {
        const size_t width = 1 + fuzz_below(f, most), offset = k * (most + gap);
        unsigned char *const data = puts ? fuzz_take(f, f->n * width) : NULL;
        for (size_t i = 0; puts && i < f->n * width; i++)
            data[i] = (unsigned char)(i * 7 + k);
        arrays[k] = puts ? fuzz_input(f, names[k], f->n * width, 1, data)
                         : fuzz_output(f, names[k], f->n * width, 1);
        for (size_t i = 0; i < f->n && puts; i++)
            memcpy(records->want + i * bytes + offset, data + i * width, width);
        for (size_t i = 0; i < f->n && !puts; i++)
            memcpy(arrays[k]->want + i * width, records->before + i * bytes + offset, width);
        column[k] = (weft_table_column){offset, width, NULL};
    }
    fuzz_spoil_any_array(f);
    if (fuzz_spoil_own(f, "record_bytes"))
        bytes = 0;
    for (size_t k = 0; k < columns; k++)
        column[k].array = arrays[k]->p;
    const char *const name = puts ? "weft_put_columns" : "weft_take_columns";
    fuzz_say(f, "%s(%zu of %zu bytes, %zu columns)", name, f->n, bytes, columns);
    fuzz_end(f, name,
             puts ? weft_put_columns(f->ctx, f->n, bytes, records->p, columns, column)
                  : weft_take_columns(f->ctx, f->n, bytes, records->p, columns, column));
}

/* A column used where it lies, by weft_strided: x ^ 0 copies it. */
void fuzz_strided(fuzz *f) {
    static const char name[] = "weft_binary_scalar";
    static const weft_type types[] = {WEFT_U8, WEFT_U16, WEFT_U32, WEFT_U64};
    fuzz_begin(f, "expr");
    const weft_type type = types[fuzz_below(f, 4)];
    const size_t width = test_size_of(type), bytes = width + fuzz_below(f, 20);
    const size_t offset = fuzz_below(f, bytes - width + 1);
    const record_case c = {.bytes = bytes};
    const uint64_t nothing = 0;
    fuzz_array *const x = fuzz_input(f, "x", f->n * bytes, 1, draw_data(f, &c, f->n));
    fuzz_array *const z = fuzz_output(f, "z", f->n * width, width);
    for (size_t i = 0; i < f->n; i++)
        memcpy(z->want + i * width, x->before + i * bytes + offset, width);
    const void *const column =
        x->p ? weft_strided(f->ctx, (const char *)x->p + offset, bytes) : x->p;
    fuzz_say(f, "%s(%s, %zu of %zu bytes)", name, weft_type_name(type), f->n, bytes);
    fuzz_end(f, name, weft_binary_scalar(f->ctx, WEFT_X_XOR, type, f->n, column, &nothing, z->p));
}

/* ---- scans into wider integers ---- */

static weft_type wider(fuzz *f, weft_type type) {
    static const weft_type to_signed[] = {WEFT_I32, WEFT_I64}, to_unsigned[] = {WEFT_U32, WEFT_U64};
    const bool is_signed = test_is_signed(type) || fuzz_one_in(f, 2);
    const weft_type to = (is_signed ? to_signed : to_unsigned)[fuzz_below(f, 2)];
    return test_size_of(to) > test_size_of(type) ? to : type;
}

void fuzz_scan_wide(fuzz *f) {
    static const char name[] = "weft_scan_wide";
    static const weft_type types[] = {WEFT_I8,  WEFT_I16, WEFT_I32, WEFT_U8,
                                      WEFT_U16, WEFT_U32, WEFT_U64};
    static const weft_op ops[] = {WEFT_SUM, WEFT_OR, WEFT_XOR};
    fuzz_begin(f, "scan");
    f->type = types[fuzz_below(f, sizeof types / sizeof *types)];
    const weft_type to = wider(f, f->type);
    const size_t size = test_size_of(to);
    const weft_op op = ops[fuzz_below(f, sizeof ops / sizeof *ops)];
    const weft_scan_kind kind = (weft_scan_kind)fuzz_below(f, 2);
    fuzz_array *const x = fuzz_elements(f, "x", f->n);
    fuzz_array *const y = fuzz_output(f, "y", f->n * size, size);
    fuzz_array *const total = fuzz_one_in(f, 2) ? fuzz_output(f, "total", size, size) : NULL;
    uint64_t so_far = 0;
    for (size_t i = 0; i < f->n; i++) {
        const uint64_t before = so_far, element = test_load(f->type, x->before, i).u;
        so_far = op == WEFT_SUM  ? so_far + element
                 : op == WEFT_OR ? so_far | element
                                 : so_far ^ element;
        fuzz_store_bits(y->want, size, i, kind == WEFT_INCLUSIVE ? so_far : before);
    }
    if (total) {
        fuzz_store_bits(total->want, size, 0, so_far);
        total->optional = true;
    }
    fuzz_spoil(f);
    fuzz_say(f, "%s(kind %d, op %d, %s to %s, %zu)", name, (int)kind, (int)op,
             weft_type_name(f->type), weft_type_name(to), f->n);
    fuzz_end(f, name,
             weft_scan_wide(f->ctx, kind, op, f->type, f->n, x->p, to, y->p, NULL,
                            total ? total->p : NULL));
}
