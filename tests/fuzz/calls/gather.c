/* SPDX-License-Identifier: Apache-2.0 */
/* gather and scatter, with indices out of range and repeated ones. */
#include "calls/calls.h"

#include <string.h>

typedef struct gather_case {
    fuzz *f;
    size_t m, width;
    weft_type index_type;
    fuzz_array *index, *bad; /* bad may be NULL */
    uint64_t first_bad;      /* WEFT_NOWHERE: none */
    int64_t *place;          /* the indices */
} gather_case;

static size_t draw_width(fuzz *f) {
    static const size_t widths[] = {1, 2, 4, 8, 16, 3, 12, 37};
    return widths[fuzz_below(f, sizeof widths / sizeof *widths)];
}

static bool is_in_range(const gather_case *c, size_t i) {
    return c->place[i] >= 0 && (uint64_t)c->place[i] < c->m;
}

static void draw_indices(gather_case *c) {
    fuzz *const f = c->f;
    const size_t size = test_size_of(c->index_type);
    const size_t broken = fuzz_one_in(f, 4) ? 1 + fuzz_below(f, 50) : 0;
    unsigned char *const data = fuzz_take(f, f->n * size);
    test_random *const r = fuzz_random(f);
    c->place = fuzz_take(f, f->n * sizeof *c->place);
    c->first_bad = WEFT_NOWHERE;
    for (size_t i = 0; i < f->n; i++) {
        const bool wrong = c->m == 0 || (broken && test_below(r, broken * 100) == 0);
        const bool below = wrong && test_is_signed(c->index_type) && test_below(r, 2) == 0;
        c->place[i] = below   ? -1 - (int64_t)test_below(r, 1000)
                      : wrong ? (int64_t)(c->m + test_below(r, 1000))
                              : (int64_t)test_below(r, c->m);
        fuzz_store_bits(data, size, i, (uint64_t)c->place[i]);
        if (!is_in_range(c, i) && c->first_bad == WEFT_NOWHERE)
            c->first_bad = i;
    }
    c->index = fuzz_input(f, "index", f->n * size, size, data);
}

static gather_case draw_case(fuzz *f) {
    gather_case c = {.f = f,
                     .m = fuzz_size(f, f->most),
                     .width = draw_width(f),
                     .index_type = fuzz_count_type(f)};
    draw_indices(&c);
    if (fuzz_one_in(f, 2)) {
        c.bad = fuzz_output(f, "bad", sizeof(uint64_t), sizeof(uint64_t));
        c.bad->optional = true;
        fuzz_store_bits(c.bad->want, 8, 0, c.first_bad);
    }
    return c;
}

/* Without `bad`, indices out of range are refused. */
static void spoil(gather_case *c) {
    if (!c->bad && c->first_bad != WEFT_NOWHERE)
        c->f->wrong = "index";
    fuzz_spoil_any_array(c->f);
}

static fuzz_array *draw_values(fuzz *f, size_t n, size_t width) {
    unsigned char *const data = fuzz_take(f, n * width);
    test_random *const r = fuzz_random(f);
    for (size_t i = 0; i < n * width; i++)
        data[i] = (unsigned char)test_bits(r);
    return fuzz_input(f, "x", n * width, 1, data);
}

static void *bad_of(const gather_case *c) {
    return c->bad ? c->bad->p : NULL;
}

void fuzz_gather(fuzz *f) {
    fuzz_begin(f, "gather");
    gather_case c = draw_case(f);
    fuzz_array *const x = draw_values(f, c.m, c.width);
    fuzz_array *const y = fuzz_output(f, "y", f->n * c.width, 1);
    for (size_t i = 0; i < f->n; i++)
        if (is_in_range(&c, i))
            memcpy(y->want + i * c.width, x->before + (size_t)c.place[i] * c.width, c.width);
    spoil(&c);
    fuzz_say(f, "weft_gather(%zu, width %zu, %s, m %zu%s)", f->n, c.width,
             weft_type_name(c.index_type), c.m, c.bad ? ", bad" : "");
    fuzz_end(
        f, "weft_gather",
        weft_gather(f->ctx, f->n, c.width, c.index_type, c.index->p, c.m, x->p, y->p, bad_of(&c)));
}

/* Of repeated indices the last wins; without that promise, the indices are made different. */
static void make_different(gather_case *c) {
    fuzz *const f = c->f;
    const size_t size = test_size_of(c->index_type);
    bool *const met = fuzz_take(f, c->m + 1);
    for (size_t i = 0; i < f->n; i++) {
        if (is_in_range(c, i) && met[c->place[i]]) {
            c->place[i] = (int64_t)c->m; /* out of range */
            c->first_bad = i < c->first_bad ? i : c->first_bad;
        } else if (is_in_range(c, i)) {
            met[c->place[i]] = true;
        }
        fuzz_store_bits(c->index->before, size, i, (uint64_t)c->place[i]);
    }
    memcpy(c->index->want, c->index->before, c->index->bytes);
    if (c->index->bytes > 0 &&
        weft_copy(f->ctx, c->index->p, c->index->before, c->index->bytes) != WEFT_OK)
        fail_msg("weft_copy: %s", weft_message(f->ctx));
    if (c->bad)
        fuzz_store_bits(c->bad->want, 8, 0, c->first_bad);
}

void fuzz_scatter(fuzz *f) {
    fuzz_begin(f, "scatter");
    gather_case c = draw_case(f);
    weft_repeats repeats = fuzz_one_in(f, 2) ? WEFT_REPEATS_LAST : WEFT_REPEATS_ANY;
    if (repeats == WEFT_REPEATS_ANY)
        make_different(&c);
    fuzz_array *const x = draw_values(f, f->n, c.width);
    fuzz_array *const y = fuzz_output(f, "y", c.m * c.width, 1);
    for (size_t i = 0; i < f->n; i++)
        if (is_in_range(&c, i))
            memcpy(y->want + (size_t)c.place[i] * c.width, x->before + i * c.width, c.width);
    spoil(&c);
    fuzz_say(f, "weft_scatter(%zu, width %zu, %s, repeats %d, m %zu%s)", f->n, c.width,
             weft_type_name(c.index_type), (int)repeats, c.m, c.bad ? ", bad" : "");
    fuzz_end(f, "weft_scatter",
             weft_scatter(f->ctx, f->n, c.width, x->p, c.index_type, c.index->p, repeats, c.m, y->p,
                          bad_of(&c)));
}
