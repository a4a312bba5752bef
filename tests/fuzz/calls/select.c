/* SPDX-License-Identifier: Apache-2.0 */
/* select, partition and expand, by their own elements or by others; unique and run lengths. All
 * exactly: elements are moved as they are. */
#include "calls/calls.h"

#include <math.h>
#include <string.h>

static const char *const test_names[] = {"==", "!=", "<", "<=", ">", ">=", "between", "is NaN"};

/* ---- predicates ---- */

/* -1, 0, 1, or 2 if they cannot be compared. */
static int compare(weft_type type, test_value a, test_value b) {
    if (test_is_float(type)) {
        return isnan(a.f) || isnan(b.f) ? 2 : a.f < b.f ? -1 : a.f > b.f;
    }
    if (test_is_signed(type)) {
        return a.i < b.i ? -1 : a.i > b.i;
    }
    return a.u < b.u ? -1 : a.u > b.u;
}

static bool holds(const weft_predicate *p, const void *s, size_t i) {
    const test_value e = test_load(p->type, s, i);
    const int a = compare(p->type, e, test_load(p->type, &p->a, 0));
    const int b = compare(p->type, e, test_load(p->type, &p->b, 0));
    switch (p->test) {
    case WEFT_EQ:
        return a == 0;
    case WEFT_NE:
        return a != 0;
    case WEFT_LT:
        return a == -1;
    case WEFT_LE:
        return a == -1 || a == 0;
    case WEFT_GT:
        return a == 1;
    case WEFT_GE:
        return a == 1 || a == 0;
    case WEFT_BETWEEN:
        return (a == 1 || a == 0) && (b == -1 || b == 0);
    default:
        return test_is_float(p->type) && isnan(e.f);
    }
}

/* A constant: often one of the elements, or one of all their patterns. */
static void draw_constant(fuzz *f, const void *s, weft_element *constant) {
    const size_t size = test_size_of(f->type);
    memset(constant, 0, sizeof *constant);
    if (f->n > 0 && fuzz_below(f, 3)) {
        memcpy(constant, (const char *)s + fuzz_below(f, f->n) * size, size);
    } else {
        fuzz_fill(f, f->type, 1, constant);
    }
}

static weft_predicate draw_predicate(fuzz *f, const void *s) {
    weft_predicate p = {.test = (weft_test)fuzz_below(f, WEFT_TEST_COUNT), .type = f->type};
    draw_constant(f, s, &p.a);
    draw_constant(f, s, &p.b);
    return p;
}

/* The predicate as the call gets it. */
static weft_predicate spoil_predicate(fuzz *f, weft_predicate p) {
    fuzz_spoil(f);
    p.type = f->type;
    if (fuzz_spoil_own(f, "test")) {
        p.test = (weft_test)(WEFT_TEST_COUNT + fuzz_below(f, 9));
    }
    return p;
}

static fuzz_array *count_output(fuzz *f) {
    return fuzz_output(f, "count", sizeof(uint64_t), sizeof(uint64_t));
}

static void want_count(fuzz_array *count, uint64_t value) {
    memcpy(count->want, &value, sizeof value);
}

/* The wanted of x to y; the others to z, or to the end of y if `follows`. */
static uint64_t move(const weft_predicate *p, size_t n, const void *s, size_t width,
                     const unsigned char *x, unsigned char *y, unsigned char *z, bool follows) {
    size_t kept = 0, rest = 0, all = 0;
    for (size_t i = 0; i < n; i++) {
        all += holds(p, s, i);
    }
    for (size_t i = 0; i < n; i++) {
        if (holds(p, s, i)) {
            memcpy(y + kept++ * width, x + i * width, width);
        } else if (z) {
            memcpy(z + rest++ * width, x + i * width, width);
        } else if (follows) {
            memcpy(y + (all + rest++) * width, x + i * width, width);
        }
    }
    return all;
}

/* ---- select and partition ---- */

static size_t draw_width(fuzz *f) {
    static const size_t widths[] = {1, 2, 3, 4, 8, 12, 16, 24, 5, 40};
    return widths[fuzz_below(f, sizeof widths / sizeof *widths)];
}

/* Elements of `width` bytes, whatever is in them; any alignment. */
static fuzz_array *things(fuzz *f, const char *name, size_t n, size_t width) {
    unsigned char *const data = fuzz_take(f, n * width);
    test_random *const r = fuzz_random(f);
    for (size_t i = 0; i < n * width; i++) {
        data[i] = (unsigned char)test_bits(r);
    }
    const size_t align = width % 16 == 0  ? 16
                         : width % 8 == 0 ? 8
                         : width % 4 == 0 ? 4
                         : width % 2 == 0 ? 2
                                          : 1;
    fuzz_array *const a = fuzz_input(f, name, n * width, fuzz_one_in(f, 3) ? 1 : align, data);
    a->align = 1; /* no other is asked for */
    return a;
}

static void say(fuzz *f, const char *call, const weft_predicate *p, size_t width) {
    fuzz_say(f, "%s(%s, test %s, n %zu, width %zu)", call, weft_type_name(p->type),
             (unsigned)p->test < WEFT_TEST_COUNT ? test_names[p->test] : "none", f->n, width);
}

/* By the elements themselves. */
static void move_own(fuzz *f, bool partition) {
    const char *const call = partition ? "weft_partition" : "weft_select";
    fuzz_array *const s = fuzz_elements(f, "x", f->n), *y, *z = NULL;
    const size_t size = test_size_of(f->type);
    weft_predicate p = draw_predicate(f, s->before);
    const bool apart = partition && fuzz_one_in(f, 2);
    y = partition && !apart ? fuzz_output(f, "y", s->bytes, size) : fuzz_output_or(f, s, "y");
    if (apart && f->n > 0) {
        z = fuzz_output(f, "z", s->bytes, size);
        z->optional = true;
        if (!z->p) {
            z = NULL;
        }
    }
    fuzz_array *const count = count_output(f);
    want_count(count, move(&p, f->n, s->before, size, s->before, y->want, z ? z->want : NULL,
                           partition && !z));
    if (apart && !z && y == s) {
        return; /* z = NULL asks for y apart from x */
    }
    p = spoil_predicate(f, p);
    say(f, call, &p, size);
    weft_status status =
        partition ? weft_partition(f->ctx, p, f->n, s->p, y->p, z ? z->p : NULL, count->p)
                  : weft_select(f->ctx, p, f->n, s->p, y->p, count->p);
    fuzz_end(f, call, status);
}

/* By other elements. */
static void move_where(fuzz *f, bool partition) {
    const char *const call = partition ? "weft_partition_where" : "weft_select_where";
    fuzz_array *const s = fuzz_elements(f, "s", f->n), *y, *z = NULL;
    size_t width = draw_width(f);
    weft_predicate p = draw_predicate(f, s->before);
    fuzz_array *const x = things(f, "x", f->n, width);
    const bool apart = partition && f->n > 0 && fuzz_one_in(f, 2);
    y = partition && !apart ? fuzz_output(f, "y", x->bytes, 1) : fuzz_output_or(f, x, "y");
    if (apart) {
        z = fuzz_output(f, "z", x->bytes, 1);
        z->optional = true;
    }
    fuzz_array *const count = count_output(f);
    want_count(count, move(&p, f->n, s->before, width, x->before, y->want, z ? z->want : NULL,
                           partition && !z));
    p = spoil_predicate(f, p);
    if (fuzz_spoil_own(f, "width")) {
        width = 0;
    }
    say(f, call, &p, width);
    weft_status status =
        partition ? weft_partition_where(f->ctx, p, f->n, s->p, width, x->p, y->p, z ? z->p : NULL,
                                         count->p)
                  : weft_select_where(f->ctx, p, f->n, s->p, width, x->p, y->p, count->p);
    fuzz_end(f, call, status);
}

static void count_only(fuzz *f) {
    static const char call[] = "weft_select_count";
    fuzz_array *const s = fuzz_elements(f, "x", f->n), *const count = count_output(f);
    weft_predicate p = draw_predicate(f, s->before);
    uint64_t all = 0;
    for (size_t i = 0; i < f->n; i++) {
        all += holds(&p, s->before, i);
    }
    want_count(count, all);
    p = spoil_predicate(f, p);
    say(f, call, &p, 0);
    fuzz_end(f, call, weft_select_count(f->ctx, p, f->n, s->p, count->p));
}

static void spoil_index_type(fuzz *f, const char *name, weft_type *type) {
    if (fuzz_spoil_own(f, name)) {
        *type = fuzz_one_in(f, 2) ? WEFT_F32 : WEFT_U8;
    }
}

static void indices(fuzz *f) {
    static const char call[] = "weft_select_indices";
    weft_type index_type = fuzz_count_type(f);
    const size_t size = test_size_of(index_type);
    fuzz_array *const s = fuzz_elements(f, "x", f->n);
    fuzz_array *const y = fuzz_output(f, "y", f->n * size, size), *const count = count_output(f);
    weft_predicate p = draw_predicate(f, s->before);
    size_t kept = 0;
    for (size_t i = 0; i < f->n; i++) {
        if (holds(&p, s->before, i)) {
            fuzz_store_bits(y->want, size, kept++, i);
        }
    }
    want_count(count, kept);
    p = spoil_predicate(f, p);
    spoil_index_type(f, "index_type", &index_type);
    say(f, call, &p, size);
    fuzz_end(f, call, weft_select_indices(f->ctx, p, f->n, s->p, index_type, y->p, count->p));
}

void fuzz_select(fuzz *f) {
    fuzz_begin(f, "select");
    switch (fuzz_below(f, 4)) {
    case 0:
        count_only(f);
        break;
    case 1:
        indices(f);
        break;
    case 2:
        move_own(f, false);
        break;
    default:
        move_where(f, false);
    }
}

void fuzz_partition(fuzz *f) {
    fuzz_begin(f, "select");
    (fuzz_one_in(f, 2) ? move_own : move_where)(f, true);
}

/* ---- expand ---- */

void fuzz_expand(fuzz *f) {
    static const char call[] = "weft_expand";
    fuzz_begin(f, "select");
    fuzz_array *const s = fuzz_elements(f, "s", f->n), *fill = NULL;
    size_t width = draw_width(f), m = fuzz_size(f, f->most), k = 0;
    fuzz_array *const x = things(f, "x", m, width);
    fuzz_array *const y = things(f, "y", f->n, width);
    weft_predicate p = draw_predicate(f, s->before);
    y->output = true;
    if (fuzz_one_in(f, 2)) {
        fill = things(f, "fill", 1, width);
        fill->optional = true;
    }
    for (size_t i = 0; i < f->n; i++) {
        const bool wanted = holds(&p, s->before, i);
        if (wanted && k < m) {
            memcpy(y->want + i * width, x->before + k * width, width);
        } else if (fill) {
            memcpy(y->want + i * width, fill->before, width);
        }
        k += wanted;
    }
    p = spoil_predicate(f, p);
    if (fuzz_spoil_own(f, "width")) {
        width = 0;
    }
    say(f, call, &p, width);
    fuzz_end(f, call,
             weft_expand(f->ctx, p, f->n, s->p, width, m, x->p, fill ? fill->p : NULL, y->p));
}

/* ---- unique and run lengths ---- */

void fuzz_runs(fuzz *f) {
    fuzz_begin(f, "select");
    const bool with_lengths = fuzz_one_in(f, 2);
    const char *const call = with_lengths ? "weft_run_length" : "weft_unique";
    weft_type length_type = fuzz_count_type(f);
    const size_t size = test_size_of(f->type), length_size = test_size_of(length_type);
    fuzz_array *const x = fuzz_elements(f, "x", f->n), *lengths = NULL;
    fuzz_array *const y = fuzz_output_or(f, x, with_lengths ? "values" : "y");
    if (with_lengths) {
        lengths = fuzz_output(f, "lengths", f->n * length_size, length_size);
    }
    fuzz_array *const count = count_output(f);
    size_t runs = 0, length = 0;
    for (size_t i = 0; i < f->n; i++) {
        length++;
        if (i + 1 < f->n && fuzz_bits(x->before, size, i) == fuzz_bits(x->before, size, i + 1)) {
            continue;
        }
        fuzz_store_bits(y->want, size, runs, fuzz_bits(x->before, size, i));
        if (lengths) {
            fuzz_store_bits(lengths->want, length_size, runs, length);
        }
        runs++;
        length = 0;
    }
    want_count(count, runs);
    fuzz_spoil(f);
    if (with_lengths) {
        spoil_index_type(f, "length_type", &length_type);
    }
    fuzz_say(f, "%s(%s, %zu)", call, weft_type_name(f->type), f->n);
    fuzz_end(f, call,
             lengths ? weft_run_length(f->ctx, f->type, f->n, x->p, y->p, length_type, lengths->p,
                                       count->p)
                     : weft_unique(f->ctx, f->type, f->n, x->p, y->p, count->p));
}
