/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "threads" of reduce. The array is divided into blocks of fixed size; runs of blocks, at
 * most MAX_SPANS of them, are reduced by any thread, and the results are combined in a tree. The
 * division depends on n only, so neither the number of threads nor the instruction set changes a
 * bit of the result. */
#include <math.h>
#include <string.h>

#include "cpu/order.h"
#include "cpu/team.h"
#include "reduce/reduce_simd.h"

enum {
    MAX_SPANS = 1024,
    FEW_SPANS = 256 /* so many partial results fit the stack */
};

/* How two partial results are combined. */
typedef enum merging {
    ADD_INTEGERS,
    MULTIPLY_INTEGERS,
    LARGER_INTEGER,
    ADD_VALUES,
    MULTIPLY_VALUES,
    ADD_SQUARES,
    BETTER_KEY
} merging;

typedef struct plan {
    wi_reduce_args args;
    wi_reduce_block block;
    merging merge;
    uint64_t flip;
    size_t span; /* elements, a multiple of WI_REDUCE_BLOCK */
    size_t spans;
} plan;

static merging merging_of(wi_reduction op, weft_type type) {
    bool floating = wi_type_is_float(type);
    switch (op) {
    case WI_RED_PRODUCT:
        return floating ? MULTIPLY_VALUES : MULTIPLY_INTEGERS;
    case WI_RED_NRM2:
        return type == WEFT_F64 ? ADD_SQUARES : ADD_VALUES;
    case WI_RED_NRMINF:
        return LARGER_INTEGER;
    case WI_RED_SUM:
    case WI_RED_NRM1:
    case WI_RED_DOT:
        return floating ? ADD_VALUES : ADD_INTEGERS;
    default:
        return BETTER_KEY;
    }
}

/* The xor mask for keys, which compare as signed integers: flipping the top bit makes unsigned
 * elements comparable, flipping all bits reverses the order. */
static uint64_t flip_of(wi_reduction op, weft_type type) {
    const uint64_t sign = wi_sign_turn(type);
    return op == WI_RED_MAX || op == WI_RED_ARGMAX ? ~sign : sign;
}

/* The element that a key was made from. */
static uint64_t bits_of_key(weft_type type, uint64_t flip, int64_t key) {
    uint64_t bits = (uint64_t)key ^ flip;
    if (!wi_type_is_float(type))
        return bits;
    unsigned width = 8 * (unsigned)weft_type_size(type);
    bool negative = bits >> (width - 1) & 1;
    return negative ? bits ^ (UINT64_MAX >> (65 - width)) : bits;
}

static plan make_plan(const wi_reduce_args *args, const wi_reduce_simd *simd) {
    plan p = {.args = *args,
              .block = simd->blocks[args->op][args->type],
              .merge = merging_of(args->op, args->type),
              .flip = flip_of(args->op, args->type)};
    size_t blocks = (args->n - 1) / WI_REDUCE_BLOCK + 1;
    size_t per_span = (blocks - 1) / MAX_SPANS + 1;
    p.span = per_span * WI_REDUCE_BLOCK;
    p.spans = (blocks - 1) / per_span + 1;
    return p;
}

/* Combines b into a; b comes after a. */
static void merge(merging how, wi_partial *a, const wi_partial *b) {
    switch (how) {
    case ADD_INTEGERS:
        a->integer += b->integer;
        break;
    case MULTIPLY_INTEGERS:
        a->integer *= b->integer;
        break;
    case LARGER_INTEGER:
        a->integer = b->integer > a->integer ? b->integer : a->integer;
        break;
    case ADD_VALUES:
        a->value += b->value;
        break;
    case MULTIPLY_VALUES:
        a->value *= b->value;
        break;
    case ADD_SQUARES:
        a->squares.small += b->squares.small;
        a->squares.medium += b->squares.medium;
        a->squares.large += b->squares.large;
        break;
    case BETTER_KEY:
        *a = b->best.key < a->best.key ? *b : *a;
        break;
    }
}

/* Elements [from, from + n), at most a block of them. */
static wi_partial reduce_block(const plan *p, size_t from, size_t n) {
    const size_t size = weft_type_size(p->args.type);
    const char *x = p->args.x, *y = p->args.y;
    wi_partial partial = {.best = {.at = from}};
    const wi_reduce_run run = {.n = n,
                               .x = x + from * size,
                               .y = y ? y + from * size : NULL,
                               .flip = p->flip,
                               .more = n == WI_REDUCE_BLOCK && p->args.n - from - n >= n};
    p->block(&run, &partial);
    return partial;
}

uint64_t wi_reduce_block_bits(wi_reduction op, weft_type type, size_t n, const void *x) {
    const wi_reduce_simd *const simd = WI_OF_ISA(wi_cpu_isa(), wi_reduce_simd);
    const wi_reduce_run run = {.n = n, .x = x, .flip = flip_of(op, type)};
    wi_partial partial = {.integer = 0};
    uint64_t bits;
    simd->blocks[op][type](&run, &partial);
    memcpy(&bits, &partial, sizeof bits);
    return merging_of(op, type) == BETTER_KEY ? bits_of_key(type, run.flip, partial.best.key)
                                              : bits;
}

static wi_partial reduce_span(const plan *p, size_t from, size_t n) {
    wi_partial sum = reduce_block(p, from, n < WI_REDUCE_BLOCK ? n : WI_REDUCE_BLOCK);
    for (size_t at = WI_REDUCE_BLOCK; at < n; at += WI_REDUCE_BLOCK) {
        size_t left = n - at;
        wi_partial next =
            reduce_block(p, from + at, left < WI_REDUCE_BLOCK ? left : WI_REDUCE_BLOCK);
        merge(p->merge, &sum, &next);
    }
    return sum;
}

static void reduce_share(const plan *p, size_t first, size_t last, wi_partial partials[]) {
    for (size_t k = first; k < last; k++) {
        size_t from = k * p->span, left = p->args.n - from;
        partials[k] = reduce_span(p, from, left < p->span ? left : p->span);
    }
}

/* The first position in the block with the best key, found by halving. */
static size_t locate(const plan *p, const wi_partial *found) {
    size_t from = found->best.at;
    size_t n = p->args.n - from < WI_REDUCE_BLOCK ? p->args.n - from : WI_REDUCE_BLOCK;
    while (n > 1) {
        size_t half = n / 2;
        if (reduce_block(p, from, half).best.key == found->best.key) {
            n = half;
        } else {
            from += half;
            n -= half;
        }
    }
    return from;
}

/* sqrt(small + medium + large), each in its scale. Small squares do not matter beside a large one.
 */
static double norm_of_squares(const wi_partial *p) {
    double small = p->squares.small, medium = p->squares.medium, large = p->squares.large;
    if (large > 0)
        return sqrt(large + (medium * WI_SHRINK) * WI_SHRINK) / WI_SHRINK;
    if (!(small > 0))
        return sqrt(medium);
    double low = sqrt(small) / WI_GROW, high = sqrt(medium);
    if (!(low <= high)) {
        double swap = low;
        low = high;
        high = swap;
    }
    return high * sqrt(1 + (low / high) * (low / high));
}

static void put_value(const plan *p, double value) {
    float rounded = (float)value;
    bool short_float = wi_type_is_float(p->args.type) && p->args.type != WEFT_F64;
    if (short_float && !p->args.wide)
        memcpy(p->args.result, &rounded, sizeof rounded);
    else
        memcpy(p->args.result, &value, sizeof value);
}

static void put_integer(const plan *p, uint64_t bits, size_t size) {
    uint8_t bits_8 = (uint8_t)bits;
    uint16_t bits_16 = (uint16_t)bits;
    uint32_t bits_32 = (uint32_t)bits;
    const void *const from[] = {[1] = &bits_8, [2] = &bits_16, [4] = &bits_32, [8] = &bits};
    memcpy(p->args.result, from[size], size);
}

static void finish(const plan *p, const wi_partial *sum) {
    const size_t size = weft_type_size(p->args.type);
    switch (p->args.op) {
    case WI_RED_MIN:
    case WI_RED_MAX:
        put_integer(p, bits_of_key(p->args.type, p->flip, sum->best.key), size);
        break;
    case WI_RED_ARGMIN:
    case WI_RED_ARGMAX:
        put_integer(p, p->args.first + locate(p, sum), sizeof(uint64_t));
        break;
    case WI_RED_NRM2:
        put_value(p, p->merge == ADD_SQUARES ? norm_of_squares(sum)
                     : p->args.wide          ? sum->value
                                             : sqrt(sum->value));
        break;
    case WI_RED_NRMINF:
        put_integer(p, sum->integer, wi_type_is_float(p->args.type) ? size : sizeof(uint64_t));
        break;
    default:
        if (wi_type_is_float(p->args.type))
            put_value(p, sum->value);
        else
            put_integer(p, sum->integer, sizeof(uint64_t));
        break;
    }
}

/* The arguments of the threads. */
typedef struct work {
    const plan *p;
    wi_partial *partials;
} work;

static void reduce_part(void *user, int rank, int size) {
    const work *const w = user;
    reduce_share(w->p, wi_team_share(w->p->spans, rank, size),
                 wi_team_share(w->p->spans, rank + 1, size), w->partials);
}

static void reduce_spans(const weft_context *ctx, const plan *p, wi_partial partials[]) {
    const int team = wi_team_size(ctx, p->spans, p->args.n * weft_type_size(p->args.type));
    wi_team_run(ctx, team, reduce_part, &(work){p, partials});
}

weft_status wi_reduce_threads(weft_context *ctx, const void *args) {
    const wi_reduce_args *call = args;
    if (call->n == 0)
        return wi_reduce_serial(ctx, args);
    const wi_reduce_simd *simd = WI_OF_ISA(wi_cpu_isa(), wi_reduce_simd);
    const plan p = make_plan(call, simd);
    wi_partial few[FEW_SPANS], *partials = few;
    if (p.spans > FEW_SPANS)
        partials = wi_host_alloc(p.spans * sizeof *partials);
    if (!partials)
        return wi_fail(ctx, WEFT_ENOMEM,
                       "weft_reduce: no memory for %zu partial results; free some, or use variant "
                       "serial, which needs none",
                       p.spans);
    memset(&partials[0], 0, sizeof partials[0]); /* analysers cannot tell that there is a span */
    reduce_spans(ctx, &p, partials);
    for (size_t step = 1; step < p.spans; step *= 2) {
        for (size_t k = 0; k + step < p.spans; k += 2 * step)
            merge(p.merge, &partials[k], &partials[k + step]);
    }
    finish(&p, &partials[0]);
    if (partials != few)
        wi_host_free(partials);
    return WEFT_OK;
}
