/* SPDX-License-Identifier: Apache-2.0 */
/* The data of exact's tests, made to break what is not exact. */
#ifndef WEFT_EXACT_DATA_H
#define WEFT_EXACT_DATA_H

#include <math.h>
#include <stdlib.h>

#include "exact/exact.h"
#include "testing.h"

/* What data to draw. */
typedef enum exact_pattern {
    UNIFORM,    /* in [-1, 1) */
    SPREAD,     /* exponents within 40 of 0 */
    EVERYWHERE, /* all finite bits are equally likely */
    CANCELLING, /* x and -x in random places, and little else */
    ONE_HUGE,   /* among tiny ones */
    TINY,       /* subnormal */
    HALFWAY,    /* 1, half its last place, and at times a little more or less */
    ZEROS,      /* of both signs; at times all of one */
    SPECIALS,   /* infinities and NaN among others */
    RISING,     /* sorted by magnitude, over all exponents */
    HUGE_ONES,  /* whose sum overflows on the way */
    FAINT,      /* whose products' last bits are below all numbers */
    NEAR_ONE,   /* all bits drawn, exponents within 3 of 0: folds take them, and their products */
    FULL, /* all the same: what a fold takes of each, and leaves of it, is as much as can be */
    PATTERNS
} exact_pattern;

typedef struct exact_case {
    const wi_row *row;
    wi_exact_terms terms;
    weft_type type, result_type;
    size_t n;
    size_t offset_x, offset_y;
    unsigned device;
    exact_pattern pattern;
} exact_case;

/* Arrays in host and device memory, and what is drawn for them. */
typedef struct rig {
    weft_context *ctx;
    test_random random;
    test_buffer host_x, host_y, host_result, device_x, device_y, device_result;
    double *x, *y;
    unsigned char *source_x, *source_y;
} rig;

/* Arrays of up to n elements; data from generator `stream`. */
static inline rig rig_open(weft_context *ctx, uint64_t stream, size_t n) {
    rig r = {.ctx = ctx, .random = test_random_at(stream)};
    const size_t bytes = 8 * n;
    r.host_x = test_buffer_open(ctx, false, bytes);
    r.host_y = test_buffer_open(ctx, false, bytes);
    r.host_result = test_buffer_open(ctx, false, 8);
    if (ctx->kind == WI_CUDA) {
        r.device_x = test_buffer_open(ctx, true, bytes);
        r.device_y = test_buffer_open(ctx, true, bytes);
        r.device_result = test_buffer_open(ctx, true, 8);
    }
    r.x = malloc(bytes), r.y = malloc(bytes);
    r.source_x = malloc(bytes), r.source_y = malloc(bytes);
    assert_true(r.x && r.y && r.source_x && r.source_y);
    return r;
}

static inline void rig_close(rig *r) {
    test_buffer_close(&r->host_x), test_buffer_close(&r->host_y);
    test_buffer_close(&r->host_result);
    if (r->ctx->kind == WI_CUDA) {
        test_buffer_close(&r->device_x), test_buffer_close(&r->device_y);
        test_buffer_close(&r->device_result);
    }
    free(r->x), free(r->y), free(r->source_x), free(r->source_y);
}

/* A number with exponents from `low` to `high`, all bits of its significand drawn. */
static inline double any_of(test_random *r, int low, int high) {
    const int exponent = low + (int)test_below(r, (uint64_t)(high - low + 1));
    const double m = 1 + (double)(test_bits(r) >> 12) * 0x1p-52;
    return ldexp(test_bits(r) & 1 ? -m : m, exponent);
}

/* Exponents that the type has. */
static inline int lowest_of(weft_type type) {
    return type == WEFT_F16 ? -24 : type == WEFT_F64 ? -1074 : -140;
}

static inline int highest_of(weft_type type) {
    return type == WEFT_F16 ? 15 : type == WEFT_F64 ? 1023 : 127;
}

/* A subnormal number, or zero; half of them with few bits. */
static inline double tiny(test_random *r, weft_type type) {
    const int least = type == WEFT_F16    ? -24
                      : type == WEFT_BF16 ? -133
                      : type == WEFT_F32  ? -149
                                          : -1074;
    const uint64_t end = (uint64_t)1 << (-ilogb(test_roundoff(type)) - 1);
    const uint64_t m = test_below(r, test_bits(r) & 1 || end < 200 ? end : 200);
    return ldexp(test_bits(r) & 1 ? -(double)m : (double)m, least);
}

static inline double special(test_random *r, size_t n) {
    static const double specials[] = {(double)INFINITY, (double)INFINITY, (double)-INFINITY,
                                      (double)NAN};
    return test_below(r, n + 1) < 2 ? specials[test_below(r, 4)] : test_unit(r);
}

static inline double halfway(test_random *r, size_t i, weft_type type) {
    const double half = test_roundoff(type);
    if (i == 0)
        return 1 + (double)test_below(r, 2) * 2 * half;
    if (i == 1)
        return half;
    return test_below(r, 8) == 0 ? ldexp(test_unit(r), lowest_of(type) / 2) : 0;
}

/* Just below a power of two, and a last place above half a unit of some fold. */
static inline double full(test_random *r, weft_type type) {
    /* Of the first window, for terms and for products; and of a window of 16 exponents of f32. */
    static const int exponents[] = {4, 2, 1};
    const double roundoff = test_roundoff(type);
    const int bits = -ilogb(roundoff), bit = 1 + (int)test_below(r, (uint64_t)bits - 2);
    const double m = 1 - ldexp(1, -bit - 1) - roundoff;
    const int low = lowest_of(type) / 2, high = highest_of(type) / 2;
    const size_t kind = test_below(r, 4);
    const int exponent =
        kind < 3 ? exponents[kind] : low + (int)test_below(r, (uint64_t)(high - low));
    return ldexp(test_bits(r) & 1 ? -m : m, exponent);
}

static inline double draw_one(test_random *r, const exact_case *c, size_t i, const double *before) {
    const int low = lowest_of(c->type), high = highest_of(c->type);
    const size_t n = c->n;
    switch (c->pattern) {
    case SPREAD:
        return any_of(r, low < -40 ? -40 : low, high > 40 ? 40 : high);
    case EVERYWHERE:
        return any_of(r, low, high);
    case CANCELLING:
        return i % 2       ? -before[i - 1]
               : i + 2 < n ? any_of(r, low, high - 1)
                           : any_of(r, low, low + 2);
    case ONE_HUGE:
        return i == n / 2 ? any_of(r, high - 1, high - 1)
                          : any_of(r, low, low + 60 < 0 ? low + 60 : 0);
    case TINY:
        return tiny(r, c->type);
    case HALFWAY:
        return halfway(r, i, c->result_type);
    case ZEROS:
        return test_below(r, n + 1) == 0 ? 0.0 : -0.0;
    case SPECIALS:
        return special(r, n);
    case RISING:
        return any_of(r, low + (int)((size_t)(high - low) * i / n),
                      low + (int)((size_t)(high - low) * i / n));
    case HUGE_ONES:
        return i % 2 && test_below(r, 8) ? -before[i - 1] : any_of(r, high, high);
    case FAINT:
        return any_of(r, low / 2 + 12, low / 2 + 17);
    case NEAR_ONE:
        return any_of(r, -3, 3);
    case FULL:
        return i == 0 ? full(r, c->type) : before[0];
    default:
        return test_unit(r);
    }
}

/* Draws c->n elements, rounds them to the type, and mixes those that were drawn in pairs. */
static inline void draw(test_random *r, const exact_case *c, double *x, unsigned char *source) {
    for (size_t i = 0; i < c->n; i++) {
        x[i] = draw_one(r, c, i, x);
        if (c->type == WEFT_F32)
            x[i] = (double)(float)x[i];
        else if (c->type != WEFT_F64)
            x[i] = test_round(c->type, (long double)x[i]);
    }
    for (size_t i = c->n; i > 1 && (c->pattern == CANCELLING || c->pattern == HUGE_ONES); i--) {
        const size_t with = test_below(r, i);
        const double kept = x[i - 1];
        x[i - 1] = x[with];
        x[with] = kept;
    }
    if (c->type == WEFT_F64)
        memcpy(source, x, c->n * sizeof *x);
    for (size_t i = 0; i < c->n && c->type == WEFT_F32; i++)
        ((float *)(void *)source)[i] = (float)x[i];
    for (size_t i = 0; i < c->n && test_size_of(c->type) == 2; i++)
        test_store(c->type, source, i, (test_value){.f = x[i]});
}

#endif
