/* SPDX-License-Identifier: Apache-2.0 */
/* weft_sort and its kin: pairs, indices, bits, segments, records. The oracle ranks elements as
 * sort.h words the order, and merges their positions. */
#include "calls/calls.h"

#include <stdio.h>
#include <string.h>

typedef enum sort_kind {
    KEYS,
    PAIRS,
    BITS,
    SEGMENTS,
    INDICES
} sort_kind;

static const char *const names[] = {"weft_sort", "weft_sort_pairs", "weft_sort_bits",
                                    "weft_sort_segments", "weft_sort_indices"};

typedef struct sort_case {
    fuzz *f;
    sort_kind kind;
    weft_order order;
    weft_type index_type;
    unsigned first_bit, end_bit;
    size_t value_bytes, segments;
    uint64_t *cuts; /* of segments */
    bool broken;    /* offsets in device memory that no check sees */
    fuzz_array *keys, *keys_out, *values, *values_out, *offsets;
} sort_case;

/* Positions in the order wanted, segment by segment; everything is one segment for the others. */
static size_t *order_of(const sort_case *c, weft_type type, size_t n) {
    uint64_t *const ranks = fuzz_take(c->f, n * sizeof *ranks);
    size_t *const positions = fuzz_take(c->f, n * sizeof *positions);
    const unsigned bits = c->end_bit - c->first_bit;
    for (size_t i = 0; i < n; i++) {
        const uint64_t rank = fuzz_rank(type, c->keys->before, i);
        const uint64_t kept = bits == 0 ? 0 : rank >> c->first_bit << (64 - bits) >> (64 - bits);
        ranks[i] = c->order == WEFT_DESCENDING ? ~kept : kept;
    }
    if (c->kind != SEGMENTS) {
        fuzz_order(ranks, n, positions);
        return positions;
    }
    for (size_t s = 0; s < c->segments; s++) {
        const size_t first = c->cuts[s], end = c->cuts[s + 1];
        fuzz_order(ranks + first, end - first, positions + first);
        for (size_t k = first; k < end; k++) {
            positions[k] += first;
        }
    }
    return positions;
}

static void gather(fuzz_array *to, const fuzz_array *from, size_t size, size_t n,
                   const size_t *positions) {
    for (size_t k = 0; k < n; k++) {
        memcpy(to->want + k * size, from->before + positions[k] * size, size);
    }
}

static void foretell(const sort_case *c, weft_type type) {
    const size_t n = c->f->n, *const positions = order_of(c, type, n);
    if (c->kind == INDICES) {
        for (size_t k = 0; k < n; k++) {
            fuzz_store_bits(c->keys_out->want, test_size_of(c->index_type), k, positions[k]);
        }
        return;
    }
    gather(c->keys_out, c->keys, test_size_of(type), n, positions);
    if (c->values) {
        gather(c->values_out, c->values, c->value_bytes, n, positions);
    }
}

/* ---- arguments ---- */

static fuzz_array *draw_values(fuzz *f, const char *name, size_t n, size_t bytes) {
    unsigned char *const data = fuzz_take(f, n * bytes);
    test_random *const r = fuzz_random(f);
    for (size_t i = 0; i < n * bytes; i++) {
        data[i] = (unsigned char)test_bits(r);
    }
    const size_t align = bytes == 4 || bytes == 8 ? bytes : 1;
    fuzz_array *const a = fuzz_input(f, name, n * bytes, fuzz_one_in(f, 3) ? 1 : align, data);
    a->align = 1;
    return a;
}

static size_t draw_value_bytes(fuzz *f, bool may_be_none) {
    static const size_t widths[] = {0, 4, 8, 1, 2, 3, 12, 16, 0, 37};
    const size_t bytes = widths[fuzz_below(f, sizeof widths / sizeof *widths)];
    return bytes > 0 || may_be_none ? bytes : 4;
}

uint64_t *fuzz_cuts(fuzz *f, size_t count, size_t n) {
    uint64_t *const cuts = fuzz_take(f, (count + 1) * sizeof *cuts);
    uint64_t *const ranks = fuzz_take(f, count * sizeof *ranks);
    size_t *const positions = fuzz_take(f, count * sizeof *positions);
    test_random *const r = fuzz_random(f);
    for (size_t s = 1; s < count; s++) {
        ranks[s - 1] = test_below(r, n + 1);
    }
    if (count > 0) {
        fuzz_order(ranks, count - 1, positions);
        for (size_t s = 1; s < count; s++) {
            cuts[s] = ranks[positions[s - 1]];
        }
    }
    cuts[count] = count ? n : 0;
    return cuts;
}

static void draw_segments(sort_case *c) {
    fuzz *const f = c->f;
    c->segments = fuzz_size(f, 1 + f->most / 10);
    c->segments += c->segments == 0 && f->n > 0;
    c->cuts = fuzz_cuts(f, c->segments, f->n);
    c->offsets =
        fuzz_input(f, "offsets", (c->segments + 1) * sizeof *c->cuts, sizeof *c->cuts, c->cuts);
}

/* Offsets that fall or end elsewhere: refused on the host, and nothing is sorted by those on the
 * device. */
static void break_offsets(sort_case *c) {
    fuzz *const f = c->f;
    uint64_t *const cuts = c->cuts;
    if (c->segments == 0 || f->wrong || !fuzz_one_in(f, 20)) {
        return;
    }
    cuts[fuzz_below(f, c->segments + 1)] = f->n + 1 + fuzz_below(f, 1000);
    memcpy(c->offsets->before, cuts, c->offsets->bytes);
    memcpy(c->offsets->want, cuts, c->offsets->bytes);
    if (weft_copy(f->ctx, c->offsets->p, cuts, c->offsets->bytes) != WEFT_OK) {
        fail_msg("weft_copy: %s", weft_message(f->ctx));
    }
    if (c->offsets->buffer.device) {
        c->broken = true;
        memcpy(c->keys_out->want, c->keys->before, c->keys->bytes);
        if (c->values) {
            memcpy(c->values_out->want, c->values->before, c->values->bytes);
        }
    } else {
        f->wrong = "offsets";
    }
}

static void draw_arguments(sort_case *c) {
    fuzz *const f = c->f;
    const bool plain = c->kind == KEYS || c->kind == INDICES;
    c->keys = fuzz_elements(f, plain ? "x" : "keys", f->n);
    if (c->kind == INDICES) {
        const size_t size = test_size_of(c->index_type);
        c->keys_out = fuzz_output(f, "indices", f->n * size, size);
        return;
    }
    c->keys_out = fuzz_output_or(f, c->keys, plain ? "y" : "keys_out");
    if (c->value_bytes > 0) {
        c->values = draw_values(f, "values", f->n, c->value_bytes);
        c->values_out = fuzz_output_or(f, c->values, "values_out");
        c->values_out->align = 1;
    }
}

static void spoil(sort_case *c) {
    fuzz *const f = c->f;
    fuzz_spoil(f);
    if (fuzz_spoil_own(f, "order")) {
        c->order = (weft_order)(2 + fuzz_below(f, 9));
    }
    if (c->kind == BITS && fuzz_spoil_own(f, "end_bit")) {
        c->end_bit = 8 * (unsigned)test_size_of(f->type) + 1;
    }
    if (c->kind == BITS && fuzz_spoil_own(f, "first_bit")) {
        c->first_bit = c->end_bit + 1;
    }
    if (c->kind == INDICES && fuzz_spoil_own(f, "index_type")) {
        c->index_type = WEFT_F32;
    }
}

/* ---- the call, and its namesake that tells the memory ---- */

static weft_status call(const sort_case *c, bool ask, size_t *bytes) {
    const fuzz *const f = c->f;
    weft_context *const ctx = f->ctx;
    const weft_type t = f->type;
    const void *const x = c->keys->p;
    void *const y = c->keys_out->p;
    /* Without values these are not looked at. */
    void *const v = c->values ? c->values->p : (void *)c, *const w = c->values ? c->values_out->p
                                                                               : (void *)c;
    switch (c->kind) {
    case KEYS:
        return ask ? weft_sort_bytes(ctx, c->order, t, f->n, x, y, bytes)
                   : weft_sort(ctx, c->order, t, f->n, x, y);
    case PAIRS:
        return ask ? weft_sort_pairs_bytes(ctx, c->order, t, f->n, x, y, c->value_bytes, v, w,
                                           bytes)
                   : weft_sort_pairs(ctx, c->order, t, f->n, x, y, c->value_bytes, v, w);
    case BITS:
        return ask ? weft_sort_bits_bytes(ctx, c->order, t, c->first_bit, c->end_bit, f->n, x, y,
                                          c->value_bytes, v, w, bytes)
                   : weft_sort_bits(ctx, c->order, t, c->first_bit, c->end_bit, f->n, x, y,
                                    c->value_bytes, v, w);
    case SEGMENTS:
        return ask ? weft_sort_segments_bytes(ctx, c->order, t, f->n, x, y, c->value_bytes, v, w,
                                              c->segments, c->offsets->p, bytes)
                   : weft_sort_segments(ctx, c->order, t, f->n, x, y, c->value_bytes, v, w,
                                        c->segments, c->offsets->p);
    default:
        return ask ? weft_sort_indices_bytes(ctx, c->order, t, f->n, x, c->index_type, y, bytes)
                   : weft_sort_indices(ctx, c->order, t, f->n, x, c->index_type, y);
    }
}

/* Asking for the memory is refused as the call itself is, and changes nothing. */
static void ask(const sort_case *c) {
    char name[FUZZ_NAME_BYTES + 8];
    size_t bytes = 12345;
    const weft_status status = call(c, true, &bytes);
    snprintf(name, sizeof name, "%s_bytes", names[c->kind]);
    if (c->f->wrong) {
        test_refused(c->f->ctx, status, WEFT_EARG, name, *c->f->wrong ? c->f->wrong : NULL);
    }
    if (status != WEFT_OK && bytes != 12345) {
        fail_msg("%s was refused and set bytes to %zu", name, bytes);
    }
    for (size_t k = 0; k < c->f->count; k++) {
        fuzz_array *const a = &c->f->arrays[k];
        if (a->bytes > 0 && memcmp(fuzz_read(c->f, a), a->before, a->bytes) != 0) {
            fail_msg("%s changed %s", name, a->name);
        }
    }
}

static void run(fuzz *f, sort_kind kind) {
    fuzz_begin(f, "sort");
    const weft_type type = f->type;
    sort_case c = {.f = f,
                   .kind = kind,
                   .order = (weft_order)fuzz_below(f, 2),
                   .index_type = fuzz_count_type(f),
                   .end_bit = 8 * (unsigned)test_size_of(type)};
    if (kind == BITS) {
        c.end_bit = (unsigned)fuzz_below(f, c.end_bit + 1);
        c.first_bit = (unsigned)fuzz_below(f, c.end_bit + 1);
    }
    if (kind != KEYS && kind != INDICES) {
        c.value_bytes = draw_value_bytes(f, kind != PAIRS);
    }
    draw_arguments(&c);
    if (kind == SEGMENTS) {
        draw_segments(&c);
    }
    foretell(&c, type);
    spoil(&c);
    if (kind == SEGMENTS) {
        break_offsets(&c);
    }
    fuzz_say(f, "%s(order %d, %s, bits %u to %u, n %zu, value_bytes %zu, segments %zu%s)",
             names[kind], (int)c.order, test_type_name(type), c.first_bit, c.end_bit, f->n,
             c.value_bytes, c.segments, c.broken ? ", broken" : "");
    if (fuzz_one_in(f, 4)) {
        ask(&c);
    }
    fuzz_end(f, names[kind], call(&c, false, NULL));
}

void fuzz_sort(fuzz *f) {
    static const sort_kind kinds[] = {KEYS, PAIRS, BITS, INDICES};
    run(f, kinds[fuzz_below(f, 4)]);
}

void fuzz_segments(fuzz *f) {
    run(f, SEGMENTS);
}

/* ---- records ---- */

enum {
    MOST_FIELDS = 4
};

static size_t draw_fields(fuzz *f, size_t record_bytes, weft_field fields[MOST_FIELDS]) {
    const size_t n_fields = 1 + fuzz_below(f, MOST_FIELDS);
    for (size_t k = 0; k < n_fields; k++) {
        do {
            fields[k].type = fuzz_type(f);
        } while (test_size_of(fields[k].type) > record_bytes);
        fields[k].offset = fuzz_below(f, record_bytes - test_size_of(fields[k].type) + 1);
        fields[k].order = (weft_order)fuzz_below(f, 2);
    }
    return n_fields;
}

/* Least significant field first, each sort stable. */
static void order_records(fuzz *f, const unsigned char *records, size_t record_bytes,
                          const weft_field *fields, size_t n_fields, size_t *positions) {
    uint64_t *const ranks = fuzz_take(f, f->n * sizeof *ranks);
    size_t *const step = fuzz_take(f, f->n * sizeof *step);
    size_t *const before = fuzz_take(f, f->n * sizeof *before);
    for (size_t i = 0; i < f->n; i++) {
        positions[i] = i;
    }
    for (size_t k = n_fields; k-- > 0;) {
        for (size_t i = 0; i < f->n; i++) {
            unsigned char bytes[8];
            memcpy(bytes, records + positions[i] * record_bytes + fields[k].offset,
                   test_size_of(fields[k].type));
            const uint64_t rank = fuzz_rank(fields[k].type, bytes, 0);
            ranks[i] = fields[k].order == WEFT_DESCENDING ? ~rank : rank;
        }
        fuzz_order(ranks, f->n, step);
        memcpy(before, positions, f->n * sizeof *before);
        for (size_t i = 0; i < f->n; i++) {
            positions[i] = before[step[i]];
        }
    }
}

/* Few different bytes, so that fields are often equal. */
static fuzz_array *draw_records(fuzz *f, size_t record_bytes) {
    unsigned char *const data = fuzz_take(f, f->n * record_bytes);
    const size_t different = fuzz_one_in(f, 2) ? 256 : 2;
    test_random *const r = fuzz_random(f);
    for (size_t i = 0; i < f->n * record_bytes; i++) {
        data[i] = (unsigned char)(test_below(r, different) * 255);
    }
    return fuzz_input(f, "records", f->n * record_bytes, 1, data);
}

static void spoil_fields(fuzz *f, size_t record_bytes, weft_field *field) {
    if (!fuzz_spoil_own(f, "fields")) {
        return;
    }
    switch (fuzz_below(f, 3)) {
    case 0:
        field->offset = record_bytes - test_size_of(field->type) + 1;
        break;
    case 1:
        field->type = (weft_type)WEFT_TYPE_COUNT;
        f->wrong = "";
        break;
    default:
        field->order = (weft_order)7;
        f->wrong = "order";
    }
}

void fuzz_records(fuzz *f) {
    static const char name[] = "weft_sort_records";
    fuzz_begin(f, "sort");
    size_t record_bytes = 1 + fuzz_below(f, 40), bytes = 0;
    weft_field fields[MOST_FIELDS];
    const size_t n_fields = draw_fields(f, record_bytes, fields);
    f->n /= 4;
    fuzz_array *const records = draw_records(f, record_bytes);
    fuzz_array *const out = fuzz_output_or(f, records, "out");
    size_t *const positions = fuzz_take(f, f->n * sizeof *positions);
    order_records(f, records->before, record_bytes, fields, n_fields, positions);
    gather(out, records, record_bytes, f->n, positions);
    fuzz_spoil(f);
    if (f->wrong && strcmp(f->wrong, "type") == 0) {
        f->wrong = NULL; /* it has none but those of its fields */
    }
    spoil_fields(f, record_bytes, &fields[fuzz_below(f, n_fields)]);
    if (fuzz_spoil_own(f, "record_bytes")) {
        record_bytes = 0;
        f->wrong = "";
    }
    fuzz_say(f, "%s(%zu of %zu bytes, %zu fields, the first %s at %zu)", name, f->n, record_bytes,
             n_fields, weft_type_name(fields[0].type), fields[0].offset);
    if (!f->wrong && fuzz_one_in(f, 4)) {
        weft_sort_records_bytes(f->ctx, f->n, record_bytes, records->p, out->p, fields, n_fields,
                                &bytes);
    }
    fuzz_end(f, name,
             weft_sort_records(f->ctx, f->n, record_bytes, records->p, out->p, fields, n_fields));
}
