/* SPDX-License-Identifier: Apache-2.0 */
/* What rests on the order: merging, searching, is_sorted, the first k. Arrays that have to be in
 * order sometimes are not: then no result is promised, but nothing outside the arrays is touched.
 */
#include "calls/calls.h"

#include <string.h>

static uint64_t key_of(weft_order order, weft_type type, const void *p, size_t i) {
    const uint64_t rank = fuzz_rank(type, p, i);
    return order == WEFT_DESCENDING ? ~rank : rank;
}

static uint64_t *keys_of(fuzz *f, weft_order order, const void *p, size_t n) {
    uint64_t *const keys = fuzz_take(f, n * sizeof *keys);
    for (size_t i = 0; i < n; i++) {
        keys[i] = key_of(order, f->type, p, i);
    }
    return keys;
}

/* n elements in order; in a few cases not: *ordered tells. */
static fuzz_array *draw_ordered(fuzz *f, weft_order order, const char *name, size_t n,
                                bool *ordered) {
    const size_t size = test_size_of(f->type);
    unsigned char *const data = fuzz_take(f, n * size), *const sorted = fuzz_take(f, n * size);
    size_t *const positions = fuzz_take(f, n * sizeof *positions);
    fuzz_fill(f, f->type, n, data);
    fuzz_order(keys_of(f, order, data, n), n, positions);
    for (size_t i = 0; i < n; i++) {
        memcpy(sorted + i * size, data + positions[i] * size, size);
    }
    if (fuzz_one_in(f, 8)) {
        *ordered = false;
        return fuzz_input(f, name, n * size, size, data);
    }
    return fuzz_input(f, name, n * size, size, sorted);
}

static void spoil_order(fuzz *f, weft_order *order) {
    fuzz_spoil(f);
    if (fuzz_spoil_own(f, "order")) {
        *order = (weft_order)(2 + fuzz_below(f, 9));
    }
}

/* ---- merge ---- */

typedef struct merge_case {
    weft_order order;
    size_t na, nb, value_bytes;
    bool ordered;
    fuzz_array *a, *b, *out, *a_values, *b_values, *out_values;
} merge_case;

static void foretell_merge(fuzz *f, const merge_case *c) {
    const size_t size = test_size_of(f->type), width = c->value_bytes;
    const uint64_t *const a = keys_of(f, c->order, c->a->before, c->na);
    const uint64_t *const b = keys_of(f, c->order, c->b->before, c->nb);
    for (size_t i = 0, j = 0; i + j < c->na + c->nb;) {
        const bool left = i < c->na && (j == c->nb || a[i] <= b[j]);
        const size_t k = i + j, from = left ? i++ : j++;
        memcpy(c->out->want + k * size, (left ? c->a : c->b)->before + from * size, size);
        if (width > 0) {
            memcpy(c->out_values->want + k * width,
                   (left ? c->a_values : c->b_values)->before + from * width, width);
        }
    }
}

static fuzz_array *draw_values(fuzz *f, const char *name, size_t bytes) {
    unsigned char *const data = fuzz_take(f, bytes);
    test_random *const r = fuzz_random(f);
    for (size_t i = 0; i < bytes; i++) {
        data[i] = (unsigned char)test_bits(r);
    }
    fuzz_array *const a = fuzz_input(f, name, bytes, fuzz_one_in(f, 2) ? 8 : 1, data);
    a->align = 1;
    return a;
}

void fuzz_merge(fuzz *f) {
    static const char name[] = "weft_merge";
    static const size_t widths[] = {0, 0, 4, 8, 1, 12};
    fuzz_begin(f, "sort");
    merge_case c = {.order = (weft_order)fuzz_below(f, 2),
                    .value_bytes = widths[fuzz_below(f, 6)],
                    .ordered = true};
    c.na = fuzz_one_in(f, 4) ? fuzz_below(f, f->n + 1) : f->n / 2;
    c.nb = f->n - c.na;
    const size_t size = test_size_of(f->type), n = f->n;
    c.a = draw_ordered(f, c.order, "a", c.na, &c.ordered);
    c.b = draw_ordered(f, c.order, "b", c.nb, &c.ordered);
    c.out = fuzz_output(f, "keys_out", n * size, size);
    if (c.value_bytes > 0) {
        c.a_values = draw_values(f, "a_values", c.na * c.value_bytes);
        c.b_values = draw_values(f, "b_values", c.nb * c.value_bytes);
        c.out_values = fuzz_output(f, "values_out", n * c.value_bytes, c.value_bytes % 4 ? 1 : 4);
        c.out_values->align = 1;
    }
    if (c.ordered) {
        foretell_merge(f, &c);
    } else {
        c.out->compare = FUZZ_ANY;
        if (c.out_values) {
            c.out_values->compare = FUZZ_ANY;
        }
    }
    spoil_order(f, &c.order);
    c.na = f->n == n ? c.na : f->n;
    size_t bytes = 0;
    fuzz_say(f, "%s(order %d, %s, %zu and %zu, value_bytes %zu%s)", name, (int)c.order,
             weft_type_name(f->type), c.na, c.nb, c.value_bytes, c.ordered ? "" : ", unordered");
    void *const av = c.a_values ? c.a_values->p : NULL;
    void *const bv = c.b_values ? c.b_values->p : NULL;
    void *const ov = c.out_values ? c.out_values->p : NULL;
    if (!f->wrong && weft_merge_bytes(f->ctx, c.order, f->type, c.na, c.a->p, c.nb, c.b->p,
                                      c.out->p, c.value_bytes, av, bv, ov, &bytes) != WEFT_OK) {
        fail_msg("weft_merge_bytes: %s", weft_message(f->ctx));
    }
    fuzz_end(f, name,
             weft_merge(f->ctx, c.order, f->type, c.na, c.a->p, c.nb, c.b->p, c.out->p,
                        c.value_bytes, av, bv, ov));
}

/* ---- is_sorted and search ---- */

static void is_sorted(fuzz *f) {
    static const char name[] = "weft_is_sorted";
    weft_order order = (weft_order)fuzz_below(f, 2);
    bool ordered = true;
    fuzz_array *const x = draw_ordered(f, order, "x", f->n, &ordered);
    fuzz_array *const position = fuzz_output(f, "position", 8, 8);
    uint64_t first = WEFT_NOWHERE;
    for (size_t i = f->n; i-- > 1;) {
        if (key_of(order, f->type, x->before, i) < key_of(order, f->type, x->before, i - 1)) {
            first = i;
        }
    }
    memcpy(position->want, &first, sizeof first);
    spoil_order(f, &order);
    fuzz_say(f, "%s(order %d, %s, %zu)", name, (int)order, weft_type_name(f->type), f->n);
    fuzz_end(f, name, weft_is_sorted(f->ctx, order, f->type, f->n, x->p, position->p));
}

static void search(fuzz *f) {
    static const char name[] = "weft_search";
    const size_t size = test_size_of(f->type), m = fuzz_size(f, f->most / 2);
    weft_order order = (weft_order)fuzz_below(f, 2);
    weft_bound bound = (weft_bound)fuzz_below(f, 2);
    bool ordered = true;
    fuzz_array *const x = draw_ordered(f, order, "x", f->n, &ordered);
    unsigned char *const data = fuzz_take(f, m * size);
    fuzz_fill(f, f->type, m, data);
    for (size_t j = 0; j < m && f->n > 0; j += 1 + fuzz_below(f, 20)) {
        memcpy(data + j * size, x->before + fuzz_below(f, f->n) * size, size);
    }
    fuzz_array *const wanted = fuzz_input(f, "wanted", m * size, size, data);
    fuzz_array *const positions = fuzz_output(f, "positions", m * 8, 8);
    const uint64_t *const keys = keys_of(f, order, x->before, f->n);
    for (size_t j = 0; j < m && ordered; j++) {
        const uint64_t key = key_of(order, f->type, data, j);
        uint64_t below = 0, end = f->n;
        while (below < end) {
            const uint64_t middle = below + (end - below) / 2;
            if (keys[middle] < key || (bound == WEFT_UPPER && keys[middle] == key)) {
                below = middle + 1;
            } else {
                end = middle;
            }
        }
        fuzz_store_bits(positions->want, 8, j, below);
    }
    positions->compare = ordered ? FUZZ_BITS : FUZZ_ANY;
    spoil_order(f, &order);
    if (fuzz_spoil_own(f, "bound")) {
        bound = (weft_bound)(2 + fuzz_below(f, 9));
    }
    fuzz_say(f, "%s(bound %d, order %d, %s, %zu, m %zu%s)", name, (int)bound, (int)order,
             weft_type_name(f->type), f->n, m, ordered ? "" : ", unordered");
    const size_t n = f->n;
    const bool ran = fuzz_end(
        f, name,
        weft_search(f->ctx, bound, order, f->type, f->n, x->p, m, wanted->p, positions->p));
    const void *const got = fuzz_read(f, positions);
    for (size_t j = 0; j < m && ran; j++) {
        if (fuzz_bits(got, 8, j) > n) {
            fail_msg("weft_search: positions[%zu] lies behind all %zu elements", j, n);
        }
    }
}

void fuzz_search(fuzz *f) {
    fuzz_begin(f, "sort");
    (fuzz_one_in(f, 2) ? is_sorted : search)(f);
}

/* ---- top_k ---- */

void fuzz_top_k(fuzz *f) {
    static const char name[] = "weft_top_k";
    fuzz_begin(f, "sort");
    const size_t size = test_size_of(f->type);
    size_t k = fuzz_below(f, 3) ? fuzz_below(f, f->n + 1) : f->n < 5 ? f->n : 5, bytes = 0;
    weft_order order = (weft_order)fuzz_below(f, 2);
    fuzz_array *const x = fuzz_elements(f, "x", f->n), *values = NULL, *positions = NULL;
    const size_t which = fuzz_below(f, 3);
    if (which != 0) {
        values = fuzz_output(f, "values", k * size, size);
        values->optional = true;
    }
    if (which != 1) {
        positions = fuzz_output(f, "positions", k * 8, 8);
        positions->optional = true;
    }
    size_t *const sorted = fuzz_take(f, f->n * sizeof *sorted);
    fuzz_order(keys_of(f, order, x->before, f->n), f->n, sorted);
    for (size_t j = 0; j < k; j++) {
        if (values) {
            memcpy(values->want + j * size, x->before + sorted[j] * size, size);
        }
        if (positions) {
            fuzz_store_bits(positions->want, 8, j, sorted[j]);
        }
    }
    spoil_order(f, &order);
    if (fuzz_spoil_own(f, "k")) {
        k = f->n + 1;
    }
    fuzz_say(f, "%s(order %d, %s, %zu, k %zu%s%s)", name, (int)order, weft_type_name(f->type), f->n,
             k, values ? ", values" : "", positions ? ", positions" : "");
    void *const v = values ? values->p : NULL, *const p = positions ? positions->p : NULL;
    if (!f->wrong &&
        weft_top_k_bytes(f->ctx, order, f->type, f->n, x->p, k, v, p, &bytes) != WEFT_OK) {
        fail_msg("weft_top_k_bytes: %s", weft_message(f->ctx));
    }
    fuzz_end(f, name, weft_top_k(f->ctx, order, f->type, f->n, x->p, k, v, p));
}
