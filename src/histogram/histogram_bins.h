/* SPDX-License-Identifier: Apache-2.0 */
/* Which bin an element belongs to, the same on every place.
 *
 * Elements have keys: unsigned integers in the same order. The threshold of an edge is the smallest
 * key that is not below it, so x >= edge is the same as key >= threshold, an exact comparison.
 *
 * An element's slot is the number of edges at or below it: 0 is below all bins, 1 ... count are the
 * bins, count + 1 is above them; NaN has slot count + 2. */
#ifndef WI_HISTOGRAM_BINS_H
#define WI_HISTOGRAM_BINS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/core.h"

#if defined(__CUDACC__) || defined(WI_HISTOGRAM_CUDA_CUH)
#    define WI_BOTH __host__ __device__
#else
#    define WI_BOTH
#endif

/* How slots are found; the best rule first. */
typedef enum wi_bin_rule {
    WI_BINS_SHIFT,  /* integers, edges 2^shift apart: a subtraction and a shift */
    WI_BINS_LINEAR, /* even bins: (value - origin) scale, if that is right at every edge */
    WI_BINS_SEARCH  /* a binary search of the thresholds */
} wi_bin_rule;

/* How the bits of an element become a key. */
typedef struct wi_key_form {
    unsigned bits;
    uint64_t flip; /* the sign bit, for floats and signed integers */
    bool is_float;
    unsigned mantissa_bits; /* of floats */
} wi_key_form;

typedef struct wi_bins {
    uint32_t count;
    wi_bin_rule rule;
    wi_key_form form;
    double lo, hi;
    const double *edges; /* NULL: even */
    uint64_t first;      /* SHIFT: the key at lo */
    unsigned shift;
    double origin, scale; /* for LINEAR; for integers, origin is a key */
    /* LINEAR takes what is between -snap and 0 for -snap: else value - origin rounds it up to an
     * edge at 0 where bins begin below 0. */
    double snap;
} wi_bins;

/* ---- elements, keys, values ---- */

static inline WI_BOTH double wi_double_of_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline WI_BOTH uint64_t wi_bits_of_double(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline WI_BOTH uint64_t wi_key_of_bits(const wi_key_form *form, uint64_t bits) {
    if (!form->is_float || !(bits & form->flip))
        return bits ^ form->flip;
    return bits ^ (form->flip | (form->flip - 1));
}

static inline WI_BOTH uint64_t wi_bits_of_key(const wi_key_form *form, uint64_t key) {
    if (!form->is_float || (key & form->flip))
        return key ^ form->flip;
    return key ^ (form->flip | (form->flip - 1));
}

/* The bits of +infinity in a float type. */
static inline WI_BOTH uint64_t wi_infinity_bits(const wi_key_form *form) {
    return form->flip - ((uint64_t)1 << form->mantissa_bits);
}

static inline WI_BOTH bool wi_bits_are_nan(const wi_key_form *form, uint64_t bits) {
    return form->is_float && (bits & (form->flip - 1)) > wi_infinity_bits(form);
}

/* The value of a float's bits, not NaN; exact. */
static inline WI_BOTH double wi_float_value(const wi_key_form *form, uint64_t bits) {
    if (form->bits == 64)
        return wi_double_of_bits(bits);
    const unsigned exponent_bits = form->bits - 1 - form->mantissa_bits;
    const uint64_t magnitude = bits & (form->flip - 1);
    const uint64_t exponent = magnitude >> form->mantissa_bits;
    const uint64_t fraction = magnitude & (((uint64_t)1 << form->mantissa_bits) - 1);
    const uint64_t bias = ((uint64_t)1 << (exponent_bits - 1)) - 1;
    /* 2^(1 - bias - mantissa_bits): the value of the last bit of a subnormal */
    const double step = wi_double_of_bits((1023 + 1 - bias - (uint64_t)form->mantissa_bits) << 52);
    double value = (double)fraction * step;
    if (magnitude >= wi_infinity_bits(form))
        value = (double)INFINITY;
    else if (exponent > 0)
        value = wi_double_of_bits((exponent + 1023 - bias) << 52 |
                                  fraction << (52 - form->mantissa_bits));
    return bits & form->flip ? -value : value;
}

/* The argument of LINEAR: the value of a float, the key of an integer. It never decreases as keys
 * grow. */
static inline WI_BOTH double wi_linear_value(const wi_key_form *form, uint64_t key) {
    return form->is_float ? wi_float_value(form, wi_bits_of_key(form, key)) : (double)key;
}

/* The largest and smallest keys of numbers. */
static inline WI_BOTH uint64_t wi_last_key(const wi_key_form *form) {
    return form->is_float ? wi_key_of_bits(form, wi_infinity_bits(form))
                          : UINT64_MAX >> (64 - form->bits);
}

static inline WI_BOTH uint64_t wi_first_key(const wi_key_form *form) {
    return form->is_float ? wi_key_of_bits(form, wi_infinity_bits(form) | form->flip) : 0;
}

/* ---- edges and thresholds ---- */

static inline WI_BOTH double wi_edge(const wi_bins *bins, const double *edges, uint32_t k) {
    if (edges)
        return edges[k];
    if (k == bins->count)
        return bins->hi;
    const double edge = bins->lo + (double)k * (bins->hi - bins->lo) / (double)bins->count;
    return edge < bins->hi ? edge : bins->hi;
}

/* Sets *key to the smallest key of an integer that is not below the edge; false if there is none.
 */
static inline WI_BOTH bool wi_integer_threshold(const wi_key_form *form, double edge,
                                                uint64_t *key) {
    const double half = wi_double_of_bits((uint64_t)(1023 + form->bits - 1) << 52);
    const double least = form->flip ? -half : 0, beyond = form->flip ? half : 2 * half;
    const double whole = ceil(edge);
    *key = 0;
    if (whole >= beyond)
        return false;
    if (whole > least) {
        const uint64_t number = form->flip ? (uint64_t)(int64_t)whole : (uint64_t)whole;
        *key = (number & UINT64_MAX >> (64 - form->bits)) ^ form->flip;
    }
    return true;
}

/* The same for a float; infinity is never below an edge. */
static inline WI_BOTH uint64_t wi_float_threshold(const wi_key_form *form, double edge) {
    if (edge == 0) /* -0.0 is not below 0, and its key is smaller than that of +0.0 */
        return wi_key_of_bits(form, form->flip);
    if (form->bits == 64)
        return wi_key_of_bits(form, wi_bits_of_double(edge));
    if (form->mantissa_bits == 23) { /* f32, written out because it has many edges */
        const float near = (float)edge;
        uint32_t bits;
        memcpy(&bits, &near, sizeof bits);
        return wi_key_of_bits(form, bits) + ((double)near < edge);
    }
    uint64_t low = wi_first_key(form), high = wi_last_key(form);
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (wi_linear_value(form, middle) >= edge)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static inline WI_BOTH bool wi_threshold(const wi_key_form *form, double edge, uint64_t *key) {
    if (!form->is_float)
        return wi_integer_threshold(form, edge, key);
    *key = wi_float_threshold(form, edge);
    return true;
}

/* ---- slots ---- */

/* The slot of a value that is not NaN, by LINEAR. Rounding keeps the order, so slots never decrease
 * as the value grows: if they are right on both sides of every edge, they are right everywhere. */
static inline WI_BOTH uint32_t wi_linear_slot(const wi_bins *bins, double value) {
    const double snapped = value < 0 && value > -bins->snap ? -bins->snap : value;
    const double at = (snapped - bins->origin) * bins->scale;
    if (!(at >= 0))
        return 0;
    return at < (double)bins->count ? (uint32_t)at + 1 : bins->count + 1;
}

/* Is LINEAR right on both sides of edge k, whose threshold is `key` if `has_key`? */
static inline WI_BOTH bool wi_linear_is_right(const wi_bins *bins, uint32_t k, bool has_key,
                                              uint64_t key) {
    const wi_key_form *const form = &bins->form;
    if (has_key && wi_linear_slot(bins, wi_linear_value(form, key)) < k + 1)
        return false;
    if (has_key && key == wi_first_key(form))
        return true;
    const uint64_t before = has_key ? key - 1 : wi_last_key(form);
    return wi_linear_slot(bins, wi_linear_value(form, before)) <= k;
}

/* The number of thresholds at or below the key; only the first `live` edges have one. */
static inline WI_BOTH uint32_t wi_search_slot(const uint64_t *thresholds, uint32_t live,
                                              uint64_t key) {
    uint32_t from = 0, count = live;
    while (count > 0) {
        const uint32_t half = count / 2;
        const bool above = key >= thresholds[from + half];
        from = above ? from + half + 1 : from;
        count = above ? count - half - 1 : half;
    }
    return from;
}

/* The same, starting from a slot that is near. */
static inline WI_BOTH uint32_t wi_walk_slot(const uint64_t *thresholds, uint32_t live, uint64_t key,
                                            uint32_t slot) {
    slot = slot < live ? slot : live;
    while (slot > 0 && key < thresholds[slot - 1])
        slot--;
    while (slot < live && key >= thresholds[slot])
        slot++;
    return slot;
}

static inline WI_BOTH uint32_t wi_shift_slot(const wi_bins *bins, uint64_t key) {
    if (key < bins->first)
        return 0;
    const uint64_t bin = (key - bins->first) >> bins->shift;
    return bin < bins->count ? (uint32_t)bin + 1 : bins->count + 1;
}

/* What checking every edge finds; SHIFT does not need it. */
typedef struct wi_bin_table {
    const uint64_t *thresholds;
    uint32_t live;
    bool linear; /* LINEAR is right everywhere */
} wi_bin_table;

/* The slot of any element of any type, from its bits. */
static inline WI_BOTH uint32_t wi_slot_of_bits(const wi_bins *bins, const wi_bin_table *table,
                                               uint64_t bits) {
    if (wi_bits_are_nan(&bins->form, bits))
        return bins->count + 2;
    const uint64_t key = wi_key_of_bits(&bins->form, bits);
    if (bins->rule == WI_BINS_SHIFT)
        return wi_shift_slot(bins, key);
    if (bins->rule == WI_BINS_SEARCH)
        return wi_search_slot(table->thresholds, table->live, key);
    const uint32_t slot = wi_linear_slot(bins, wi_linear_value(&bins->form, key));
    return table->linear ? slot : wi_walk_slot(table->thresholds, table->live, key, slot);
}

#endif
