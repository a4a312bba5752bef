/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions and scans of segments and of runs of equal keys. */
#include "calls/calls.h"

#include <string.h>

enum {
    MOST_WIDTH = 24,
    FEW_KEYS = 4
};

typedef struct group_case {
    fuzz *f;
    bool by_key;
    size_t segments, width;
    uint64_t *cuts;      /* where segments begin; cuts[segments] = n */
    fuzz_array *divides; /* offsets or keys */
    weft_type offset_type;
} group_case;

/* Runs of random lengths, of keys that differ from their neighbours in one byte at least. */
static void draw_keys(group_case *c) {
    fuzz *const f = c->f;
    test_random *const r = fuzz_random(f);
    const size_t longest = 1 + fuzz_below(f, fuzz_one_in(f, 2) ? 4 : 2000);
    c->width = 1 + fuzz_below(f, MOST_WIDTH);
    unsigned char *const keys = fuzz_take(f, f->n * c->width);
    c->cuts = fuzz_take(f, (f->n + 1) * sizeof *c->cuts);
    c->segments = 0;
    for (size_t i = 0; i < f->n;) {
        const size_t length = 1 + test_below(r, longest);
        const size_t changed = test_below(r, c->width);
        unsigned char key[MOST_WIDTH] = {0};
        if (i > 0)
            memcpy(key, keys + (i - 1) * c->width, c->width);
        key[changed] = (unsigned char)(key[changed] + 1 + test_below(r, FEW_KEYS));
        c->cuts[c->segments++] = i;
        for (const size_t end = i + length; i < end && i < f->n; i++)
            memcpy(keys + i * c->width, key, c->width);
    }
    c->cuts[c->segments] = f->n;
    c->divides = fuzz_input(f, "keys", f->n * c->width, 1, keys);
}

/* Offsets of any type; some of the time, in host memory, ones that fall or end elsewhere. */
static void draw_offsets(group_case *c) {
    fuzz *const f = c->f;
    c->offset_type = fuzz_count_type(f);
    c->segments = fuzz_size(f, 1 + f->most / 10);
    c->segments += c->segments == 0 && f->n > 0;
    c->cuts = fuzz_cuts(f, c->segments, f->n);
    const size_t count = c->segments > 0 ? c->segments + 1 : 0; /* without segments none are read */
    const size_t size = test_size_of(c->offset_type), bytes = count * size;
    unsigned char *const offsets = fuzz_take(f, bytes);
    for (size_t s = 0; s < count; s++)
        fuzz_store_bits(offsets, size, s, c->cuts[s]);
    if (c->segments > 0 && fuzz_spoil_own(f, "offsets")) {
        fuzz_store_bits(offsets, size, fuzz_below(f, c->segments + 1), f->n + 1);
        c->divides = fuzz_host_input(f, "offsets", bytes, size, offsets);
    } else {
        c->divides = fuzz_input(f, "offsets", bytes, size, offsets);
    }
}

static group_case draw_case(fuzz *f) {
    group_case c = {.f = f, .by_key = fuzz_one_in(f, 2)};
    (c.by_key ? draw_keys : draw_offsets)(&c);
    return c;
}

static fuzz_array *draw_elements(fuzz *f) {
    const size_t size = test_size_of(f->type);
    void *const data = fuzz_take(f, f->n * size);
    fuzz_fill_tame(f, f->type, f->n, data);
    fuzz_array *const x = fuzz_input(f, "x", f->n * size, size, data);
    x->type = f->type;
    return x;
}

/* ---- reductions ---- */

static void expect_reductions(const group_case *c, weft_op op, const void *x, fuzz_array *y) {
    fuzz *const f = c->f;
    const size_t size = test_size_of(f->type);
    const size_t room = y->bytes / test_size_of(fuzz_reduction_type(f->type, op));
    fuzz_expect_reductions(f, op, room, y);
    for (size_t s = c->segments; s < room && y->compare == FUZZ_BOUNDED; s++)
        y->value[s] = test_load(y->type, y->before, s).f;
    for (size_t s = 0; s < c->segments; s++) {
        const size_t first = c->cuts[s], n = c->cuts[s + 1] - first;
        fuzz_expect_reduction(f, op, n, (const char *)x + first * size, NULL, y, s);
        const bool position = op == WEFT_ARGMIN || op == WEFT_ARGMAX;
        if (position && n > 0)
            fuzz_store_bits(y->want, 8, s, fuzz_bits(y->want, 8, s) + first);
    }
}

static void reduce_by_key(group_case *c, weft_op op) {
    fuzz *const f = c->f;
    const size_t size = test_size_of(fuzz_reduction_type(f->type, op));
    fuzz_array *const x = draw_elements(f), *keys_out = NULL;
    if (fuzz_one_in(f, 2)) {
        keys_out = fuzz_output(f, "keys_out", f->n * c->width, 1);
        for (size_t s = 0; s < c->segments; s++)
            memcpy(keys_out->want + s * c->width, c->divides->before + c->cuts[s] * c->width,
                   c->width);
    }
    fuzz_array *const y = fuzz_output(f, "y", f->n * size, size);
    fuzz_array *const count = fuzz_output(f, "count", sizeof(uint64_t), sizeof(uint64_t));
    fuzz_store_bits(count->want, 8, 0, c->segments);
    expect_reductions(c, op, x->before, y);
    const weft_column column = {.op = op, .type = f->type, .x = x->p, .y = y->p};
    fuzz_say(f, "weft_reduce_by_key(%s, %s, %zu, %zu runs, width %zu)", test_op_name(op),
             weft_type_name(f->type), f->n, c->segments, c->width);
    fuzz_end(f, "weft_reduce_by_key",
             weft_reduce_by_key(f->ctx, f->n, c->width, c->divides->p,
                                keys_out ? keys_out->p : NULL, 1, &column, count->p));
}

static void reduce_segments(group_case *c, weft_op op) {
    fuzz *const f = c->f;
    const size_t size = test_size_of(fuzz_reduction_type(f->type, op));
    fuzz_array *const x = draw_elements(f);
    fuzz_array *const y = fuzz_output(f, "y", c->segments * size, size);
    expect_reductions(c, op, x->before, y);
    fuzz_spoil(f);
    fuzz_say(f, "weft_reduce_segments(%s, %s, %zu, %zu segments, %s)", test_op_name(op),
             weft_type_name(f->type), f->n, c->segments, weft_type_name(c->offset_type));
    fuzz_end(f, "weft_reduce_segments",
             weft_reduce_segments(f->ctx, op, f->type, f->n, x->p, c->segments, c->offset_type,
                                  c->divides->p, y->p));
}

void fuzz_group(fuzz *f) {
    static const weft_op ops[] = {WEFT_SUM,    WEFT_PRODUCT, WEFT_MIN,  WEFT_MAX,   WEFT_ARGMIN,
                                  WEFT_ARGMAX, WEFT_NRM1,    WEFT_NRM2, WEFT_NRMINF};
    fuzz_begin(f, "group");
    const weft_op op = ops[fuzz_below(f, sizeof ops / sizeof *ops)];
    group_case c = draw_case(f);
    (c.by_key ? reduce_by_key : reduce_segments)(&c, op);
}

/* ---- exact sums ---- */

/* What y gets. */
static void expect_exact(const group_case *c, weft_op op, const void *x, weft_type type,
                         fuzz_array *y) {
    y->type = type;
    y->compare = FUZZ_SAME;
    for (size_t s = 0; s < c->segments; s++) {
        const size_t first = c->cuts[s], n = c->cuts[s + 1] - first;
        const char *const from = (const char *)x + first * test_size_of(c->f->type);
        const double sum = fuzz_exact_sum(c->f, op == WEFT_NRM1, n, from, type);
        test_store(type, y->want, s, (test_value){.f = sum});
    }
}

void fuzz_exact_group(fuzz *f) {
    fuzz_begin(f, "exact_segments");
    f->type = fuzz_float_type(f);
    weft_type type = fuzz_float_type(f);
    const weft_op op = fuzz_one_in(f, 3) ? WEFT_NRM1 : WEFT_SUM;
    const group_case c = draw_case(f);
    const size_t size = test_size_of(type);
    fuzz_array *const x = fuzz_elements(f, "x", f->n);
    fuzz_array *const y = fuzz_output(f, "y", (c.by_key ? f->n : c.segments) * size, size);
    expect_exact(&c, op, x->before, type, y);
    if (!c.by_key) {
        fuzz_spoil(f);
        fuzz_say(f, "weft_exact_reduce_segments(%s, %s, %zu, %zu segments, to %s)",
                 test_op_name(op), weft_type_name(f->type), f->n, c.segments, weft_type_name(type));
        fuzz_end(f, "weft_exact_reduce_segments",
                 weft_exact_reduce_segments(f->ctx, op, f->type, f->n, x->p, c.segments,
                                            c.offset_type, c.divides->p, type, y->p));
        return;
    }
    fuzz_array *const count = fuzz_output(f, "count", sizeof(uint64_t), sizeof(uint64_t));
    fuzz_store_bits(count->want, 8, 0, c.segments);
    const weft_exact_column column = {op, f->type, x->p, type, y->p};
    fuzz_say(f, "weft_exact_reduce_by_key(%s, %s, %zu, %zu runs, to %s)", test_op_name(op),
             weft_type_name(f->type), f->n, c.segments, weft_type_name(type));
    fuzz_end(
        f, "weft_exact_reduce_by_key",
        weft_exact_reduce_by_key(f->ctx, f->n, c.width, c.divides->p, NULL, 1, &column, count->p));
}

/* ---- scans ---- */

void fuzz_group_scan(fuzz *f) {
    fuzz_begin(f, "group_scan");
    const weft_op op = fuzz_scan_op(f);
    const weft_scan_kind kind = (weft_scan_kind)fuzz_below(f, 2);
    const group_case c = draw_case(f);
    const char *const name = c.by_key ? "weft_scan_by_key" : "weft_scan_segments";
    fuzz_array *const x = draw_elements(f), *const y = fuzz_output_or(f, x, "y");
    fuzz_expect_scans(f, op, y);
    for (size_t s = 0; s < c.segments; s++)
        fuzz_expect_scan(f, kind, op, c.cuts[s], c.cuts[s + 1], x->before, NULL, y);
    if (!c.by_key)
        fuzz_spoil(f);
    fuzz_say(f, "%s(kind %d, %s, %s, %zu, %zu segments)", name, (int)kind, test_op_name(op),
             weft_type_name(f->type), f->n, c.segments);
    fuzz_end(f, name,
             c.by_key ? weft_scan_by_key(f->ctx, kind, op, f->type, f->n, c.width, c.divides->p,
                                         x->p, y->p)
                      : weft_scan_segments(f->ctx, kind, op, f->type, f->n, x->p, y->p, c.segments,
                                           c.offset_type, c.divides->p));
}
