/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers, by a Philox of the fuzzer's own. */
#include "calls/calls.h"

#include <math.h>
#include <string.h>

/* Word `index` of the sequence of a seed. */
static uint32_t word(uint64_t seed, uint64_t index) {
    const uint64_t block = index / 4;
    uint32_t c[4] = {(uint32_t)block, (uint32_t)(block >> 32), 0, 0};
    uint32_t k[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    for (int round = 0; round < 10; round++) {
        const uint64_t a = (uint64_t)c[0] * 0xD2511F53u, b = (uint64_t)c[2] * 0xCD9E8D57u;
        const uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ k[0], (uint32_t)b,
                                  (uint32_t)(a >> 32) ^ c[3] ^ k[1], (uint32_t)a};
        memcpy(c, next, sizeof c);
        k[0] += 0x9E3779B9u;
        k[1] += 0xBB67AE85u;
    }
    return c[index % 4];
}

static uint64_t pair(uint64_t seed, uint64_t index) {
    return word(seed, 2 * index) | (uint64_t)word(seed, 2 * index + 1) << 32;
}

typedef struct stream {
    uint64_t seed, offset;
} stream;

static stream draw_stream(fuzz *f) {
    stream s = {.seed = test_bits(fuzz_random(f))};
    if (fuzz_one_in(f, 2))
        s.offset = fuzz_one_in(f, 2) ? fuzz_below(f, 100) : test_bits(fuzz_random(f)) >> 8;
    return s;
}

static fuzz_array *random_output(fuzz *f, weft_type type) {
    fuzz_array *const x = fuzz_output(f, "x", f->n * test_size_of(type), test_size_of(type));
    x->type = type;
    return x;
}

void fuzz_random_bits(fuzz *f) {
    static const weft_type integers[] = {WEFT_I8,  WEFT_U8,  WEFT_I16, WEFT_U16,
                                         WEFT_I32, WEFT_U32, WEFT_I64, WEFT_U64};
    fuzz_begin(f, "random");
    const stream s = draw_stream(f);
    f->type = integers[fuzz_below(f, 8)];
    const size_t size = test_size_of(f->type);
    fuzz_array *const x = random_output(f, f->type);
    for (size_t i = 0; i < x->bytes; i++) {
        const uint64_t byte = s.offset * size + i;
        x->want[i] = (unsigned char)(word(s.seed, byte / 4) >> 8 * (byte % 4));
    }
    fuzz_spoil(f);
    fuzz_say(f, "weft_random_bits(%s, %zu, offset %llu)", weft_type_name(f->type), f->n,
             (unsigned long long)s.offset);
    fuzz_end(f, "weft_random_bits",
             weft_random_bits(f->ctx, f->type, f->n, s.seed, s.offset, x->p));
}

/* The number in [0, 1) at a place of the sequence. */
static double unit(weft_type type, stream s, uint64_t index) {
    return type == WEFT_F32 ? (double)(word(s.seed, index) >> 8) * 0x1p-24
                            : (double)(pair(s.seed, index) >> 11) * 0x1p-53;
}

/* Element i of the normal numbers. */
static long double normal(weft_type type, stream s, uint64_t i) {
    const uint64_t first = i / 2 * 2;
    const long double pi = acosl(-1.0L);
    const long double u = type == WEFT_F32 ? ((long double)word(s.seed, first) + 1) * 0x1p-32L
                                           : (long double)unit(type, s, first) + 0x1p-53L;
    const long double v =
        type == WEFT_F32 ? word(s.seed, first + 1) * 0x1p-32L : unit(type, s, first + 1);
    return sqrtl(-2 * logl(u)) * (i % 2 ? sinl(2 * pi * v) : cosl(2 * pi * v));
}

void fuzz_random_reals(fuzz *f) {
    fuzz_begin(f, "random");
    const stream s = draw_stream(f);
    const bool is_normal = fuzz_one_in(f, 2);
    const char *const name = is_normal ? "weft_random_normal" : "weft_random_uniform";
    f->type = fuzz_one_in(f, 2) ? WEFT_F32 : WEFT_F64;
    const long double places = f->type == WEFT_F32 ? 12 : 2; /* halves of the last place */
    fuzz_array *const x = random_output(f, f->type);
    x->compare = FUZZ_BOUNDED;
    x->value = fuzz_take(f, (f->n + 1) * sizeof *x->value);
    x->bound = fuzz_take(f, (f->n + 1) * sizeof *x->bound);
    for (size_t i = 0; i < f->n; i++) {
        const uint64_t at = s.offset + i;
        x->value[i] = is_normal ? normal(f->type, s, at) : unit(f->type, s, at);
        x->bound[i] =
            is_normal ? fabsl(x->value[i]) * places * test_roundoff(f->type) + 0x1p-48L : 0;
    }
    fuzz_spoil(f);
    fuzz_say(f, "%s(%s, %zu, offset %llu)", name, weft_type_name(f->type), f->n,
             (unsigned long long)s.offset);
    fuzz_end(f, name,
             (is_normal ? weft_random_normal : weft_random_uniform)(f->ctx, f->type, f->n, s.seed,
                                                                    s.offset, x->p));
}

/* ---- integers of a range, and permutations ---- */

/* Elements are in the range, and those of a call for a part of the sequence are the same. */
static void check_range(fuzz *f, const fuzz_array *x, const void *data, test_value low,
                        test_value high) {
    for (size_t i = 0; i < f->n; i++) {
        const test_value v = test_load(f->type, data, i);
        if (test_is_signed(f->type) ? v.i < low.i || v.i > high.i : v.u < low.u || v.u > high.u)
            fail_msg("x[%zu] is %s, not from %s to %s", i, test_text(f->type, v),
                     test_text(f->type, low), test_text(f->type, high));
    }
    (void)x;
}

static void check_part(fuzz *f, const void *data, const void *low, const void *high, stream s) {
    const size_t size = test_size_of(f->type), first = fuzz_below(f, f->n);
    const size_t count = fuzz_below(f, f->n - first + 1);
    void *const part = fuzz_take(f, count * size + 1);
    weft_context *const ctx = f->twin ? f->twin : f->ctx;
    test_use(ctx, "random", NULL);
    if (weft_random_integers(ctx, f->type, count, low, high, s.seed, s.offset + first, part) !=
        WEFT_OK)
        fail_msg("a part: %s", weft_message(ctx));
    if (memcmp(part, (const char *)data + first * size, count * size) != 0)
        fail_msg("elements %zu and on, %zu of them, differ if asked for alone", first, count);
}

static void integers(fuzz *f) {
    const size_t size = test_size_of(f->type);
    const stream s = draw_stream(f);
    unsigned char ends[2][8];
    fuzz_fill(f, f->type, 1, ends[0]);
    fuzz_fill(f, f->type, 1, ends[1]);
    const test_value a = test_load(f->type, ends[0], 0), b = test_load(f->type, ends[1], 0);
    const bool rise = test_is_signed(f->type) ? a.i <= b.i : a.u <= b.u;
    const void *const low = ends[!rise], *const high = ends[rise];
    fuzz_array *const x = random_output(f, f->type);
    x->compare = FUZZ_ANY;
    const bool falls = memcmp(low, high, size) != 0 && fuzz_spoil_own(f, "low");
    fuzz_spoil(f);
    fuzz_say(f, "weft_random_integers(%s, %zu, %s to %s)", weft_type_name(f->type), f->n,
             test_text(f->type, rise ? a : b), test_text(f->type, rise ? b : a));
    if (fuzz_end(f, "weft_random_integers",
                 weft_random_integers(f->ctx, f->type, f->n, falls ? high : low, falls ? low : high,
                                      s.seed, s.offset, x->p)) &&
        f->n > 0) {
        void *const data = fuzz_take(f, x->bytes);
        memcpy(data, fuzz_read(f, x), x->bytes);
        check_range(f, x, data, rise ? a : b, rise ? b : a);
        check_part(f, data, low, high, s);
    }
}

static void permutation(fuzz *f) {
    const size_t size = test_size_of(f->type);
    bool *const met = fuzz_take(f, f->n + 1);
    fuzz_array *const x = random_output(f, f->type);
    x->compare = FUZZ_ANY;
    fuzz_spoil(f);
    fuzz_say(f, "weft_random_permutation(%s, %zu)", weft_type_name(f->type), f->n);
    if (!fuzz_end(f, "weft_random_permutation",
                  weft_random_permutation(f->ctx, f->type, f->n, test_bits(fuzz_random(f)), x->p)))
        return;
    const void *const data = fuzz_read(f, x);
    for (size_t i = 0; i < f->n; i++) {
        const uint64_t v = fuzz_bits(data, size, i);
        if (v >= f->n || met[v])
            fail_msg("weft_random_permutation: x[%zu] is %llu, which is there already or too large",
                     i, (unsigned long long)v);
        met[v] = true;
    }
}

void fuzz_random_range(fuzz *f) {
    static const weft_type integer_types[] = {WEFT_I32, WEFT_U32, WEFT_I64, WEFT_U64,
                                              WEFT_I8,  WEFT_U8,  WEFT_I16, WEFT_U16};
    const bool permute = fuzz_one_in(f, 2);
    fuzz_begin(f, "random");
    f->type = integer_types[fuzz_below(f, permute ? 4 : 8)];
    (permute ? permutation : integers)(f);
}
