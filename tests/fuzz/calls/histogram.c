/* SPDX-License-Identifier: Apache-2.0 */
/* weft_histogram, against elements compared with edges as real numbers, bin by bin. */
#include "calls/calls.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_FUZZ_BINS = 3000,
    OUTSIDES = 3 /* below, above, NaN */
};

/* An element as a real number: 64 bits of mantissa hold every one. */
static long double real(weft_type type, const void *x, size_t i) {
    const test_value v = test_load(type, x, i);
    return test_is_float(type)    ? (long double)v.f
           : test_is_signed(type) ? (long double)v.i
                                  : (long double)v.u;
}

/* All edges of even bins, by the formula of histogram.h. */
static void even_edges(size_t count, double lo, double hi, double *edges) {
    for (size_t k = 0; k < count; k++) {
        const double product = (double)k * (hi - lo), quotient = product / (double)count;
        const double edge = lo + quotient;
        edges[k] = edge < hi ? edge : hi;
    }
    edges[count] = hi;
}

/* The bin of v; count for below, count + 1 for above, count + 2 for NaN. */
static size_t bin_of(long double v, size_t count, const double *edges) {
    size_t first = 0, last = count; /* the last edge that is <= v */
    if (isnan(v)) {
        return count + 2;
    }
    if (v < edges[0]) {
        return count;
    }
    if (v >= edges[count]) {
        return count + 1;
    }
    while (last - first > 1) {
        const size_t middle = (first + last) / 2;
        if (v >= edges[middle]) {
            first = middle;
        } else {
            last = middle;
        }
    }
    return first;
}

static void add_to(unsigned char *counts, size_t size, size_t k) {
    fuzz_store_bits(counts, size, k, fuzz_bits(counts, size, k) + 1);
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Ascending, some equal, some infinite, some at the elements themselves. */
static void draw_edges(fuzz *f, size_t count, const void *x, size_t elements, double *edges) {
    test_random *const r = fuzz_random(f);
    const bool at_elements = elements > 0 && fuzz_one_in(f, 2);
    for (size_t k = 0; k <= count; k++) {
        double edge = 4 * test_unit(r);
        if (at_elements) {
            edge = (double)real(f->type, x, test_below(r, elements));
        }
        edges[k] = isnan(edge) ? 0 : edge;
    }
    if (fuzz_one_in(f, 4)) {
        edges[0] = -INFINITY;
        edges[count] = INFINITY;
    }
    qsort(edges, count + 1, sizeof *edges, by_value);
}

static void draw_range(fuzz *f, weft_bins *bins) {
    test_random *const r = fuzz_random(f);
    const double scales[] = {1, 4, 256, 65536, 0x1p31, 0x1p63, 0x1p-20, 1e300};
    const double scale = scales[fuzz_below(f, sizeof scales / sizeof *scales)];
    bins->lo = fuzz_one_in(f, 2) ? -scale : fuzz_one_in(f, 2) ? 0 : scale * test_unit(r);
    bins->hi = bins->lo + scale * (fuzz_one_in(f, 2) ? 1 : 1 + test_unit(r));
    if (!(bins->lo < bins->hi)) {
        bins->hi = bins->lo + scale;
    }
    if (fuzz_one_in(f, 2)) { /* bins a whole number wide */
        bins->hi = bins->lo + (double)bins->count * (double)(1 + fuzz_below(f, 40));
    }
    if (!(bins->lo < bins->hi) || !isfinite((double)bins->count * (bins->hi - bins->lo))) {
        bins->lo = 0;
        bins->hi = 1;
    }
}

/* Bins that no call takes. */
static void spoil_bins(fuzz *f, weft_bins *bins, double *edges) {
    if (!fuzz_spoil_own(f, "bins")) {
        return;
    }
    switch (fuzz_below(f, 3)) {
    case 0:
        bins->count = fuzz_one_in(f, 2) ? 0 : WEFT_MOST_BINS + 1;
        break;
    case 1:
        if (bins->edges) {
            edges[fuzz_below(f, bins->count + 1)] = NAN;
        } else {
            bins->hi = bins->lo;
        }
        break;
    default:
        if (bins->edges) {
            edges[0] = INFINITY;
            edges[bins->count] = -INFINITY;
        } else {
            bins->hi = NAN;
        }
    }
}

typedef struct histogram_case {
    unsigned channels;
    weft_bins bins;
    bool by_value; /* bins NULL */
    weft_counting counting;
    weft_type count_type;
    size_t count;
    double *edges; /* what the oracle compares with */
    fuzz_array *x, *given, *counts, *outside;
} histogram_case;

static bool has_values(weft_type type) {
    return test_size_of(type) <= 2 && !test_is_float(type);
}

static void draw_bins(fuzz *f, histogram_case *c, const void *data, size_t elements) {
    c->by_value = has_values(f->type) && fuzz_one_in(f, 2);
    c->bins.count =
        c->by_value ? (size_t)1 << 8 * test_size_of(f->type) : 1 + fuzz_size(f, MOST_FUZZ_BINS);
    c->count = c->bins.count;
    c->edges = fuzz_take(f, (c->count + 1) * sizeof *c->edges);
    if (c->by_value) {
        const double least = test_is_signed(f->type) ? -(double)(c->count / 2) : 0;
        even_edges(c->count, least, least + (double)c->count, c->edges);
    } else if (fuzz_one_in(f, 2)) {
        draw_edges(f, c->count, data, elements, c->edges);
        c->given =
            fuzz_input(f, "edges", (c->count + 1) * sizeof *c->edges, sizeof *c->edges, c->edges);
        c->given->optional = true; /* NULL asks for even bins */
    } else {
        draw_range(f, &c->bins);
        even_edges(c->count, c->bins.lo, c->bins.hi, c->edges);
    }
}

/* Counters, which WEFT_ACCUMULATE adds to. */
static fuzz_array *counters(fuzz *f, const histogram_case *c, const char *name, size_t n) {
    const size_t size = test_size_of(c->count_type);
    fuzz_array *const a = fuzz_output(f, name, n * size, size);
    if (c->counting == WEFT_OVERWRITE) {
        memset(a->want, 0, a->bytes);
    }
    return a;
}

static void foretell(const fuzz *f, histogram_case *c) {
    const size_t size = test_size_of(c->count_type);
    for (size_t i = 0; i < f->n * c->channels; i++) {
        const size_t channel = i % c->channels;
        const size_t bin = bin_of(real(f->type, c->x->before, i), c->count, c->edges);
        if (bin < c->count) {
            add_to(c->counts->want, size, channel * c->count + bin);
        } else if (c->outside) {
            add_to(c->outside->want, size, channel * OUTSIDES + bin - c->count);
        }
    }
}

static void spoil_rest(fuzz *f, histogram_case *c) {
    fuzz_spoil(f);
    if (fuzz_spoil_own(f, "channels")) {
        c->channels = fuzz_one_in(f, 2) ? 0 : WEFT_MOST_CHANNELS + 1;
    }
    if (fuzz_spoil_own(f, "counting")) {
        c->counting = (weft_counting)(2 + fuzz_below(f, 9));
    }
    if (fuzz_spoil_own(f, "count_type")) {
        c->count_type = fuzz_one_in(f, 2) ? WEFT_U16 : WEFT_F64;
    }
}

void fuzz_histogram(fuzz *f) {
    static const char call[] = "weft_histogram";
    fuzz_begin(f, "histogram");
    histogram_case c = {.counting = (weft_counting)fuzz_below(f, 2),
                        .count_type = fuzz_count_type(f)};
    c.channels = fuzz_one_in(f, 2) ? 1 : 1 + (unsigned)fuzz_below(f, WEFT_MOST_CHANNELS);
    f->n /= c.channels;
    c.x = fuzz_elements(f, "x", f->n * c.channels);
    draw_bins(f, &c, c.x->before, f->n * c.channels);
    c.counts = counters(f, &c, "counts", c.count * c.channels);
    if (fuzz_one_in(f, 2)) {
        c.outside = counters(f, &c, "outside", (size_t)OUTSIDES * c.channels);
        c.outside->optional = true;
    }
    foretell(f, &c);
    c.bins.edges = c.given ? c.given->p : NULL;
    const bool host_edges = c.given && !c.given->buffer.device;
    if (!c.by_value && (!c.given || host_edges)) {
        spoil_bins(f, &c.bins, host_edges ? c.given->p : NULL);
        if (f->wrong && host_edges) {
            memcpy(c.given->before, c.given->p, c.given->bytes);
        }
    }
    spoil_rest(f, &c);
    c.bins.edges = c.given ? c.given->p : NULL;
    fuzz_say(f, "%s(%s, n %zu, channels %u, %s %zu [%g, %g), counting %d, %s)", call,
             weft_type_name(f->type), f->n, c.channels,
             c.by_value ? "values"
             : c.given  ? "edges"
                        : "even",
             c.bins.count, c.bins.lo, c.bins.hi, (int)c.counting, weft_type_name(c.count_type));
    fuzz_end(f, call,
             weft_histogram(f->ctx, f->type, f->n, c.channels, c.x->p, c.by_value ? NULL : &c.bins,
                            c.counting, c.count_type, c.counts->p,
                            c.outside ? c.outside->p : NULL));
}
