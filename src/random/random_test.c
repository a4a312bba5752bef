/* SPDX-License-Identifier: Apache-2.0 */
/* Every rung of random, on every place: the generator against its published vectors, every call
 * against an oracle that shares nothing but that, offsets, sizes, alignments, host and device
 * memory; permutations, and how numbers are distributed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random/random.h"
#include "testing.h"

__extension__ typedef unsigned __int128 wide;

enum {
    MOST = 20011
};

typedef struct rig {
    weft_context *ctx;
    test_random random;
    test_buffer host, device;
    unsigned char *right;
} rig;

static rig rig_open(weft_context *ctx) {
    rig r = {.ctx = ctx, .random = test_random_at(1)};
    r.host = test_buffer_open(ctx, false, MOST * 8);
    if (ctx->kind == WI_CUDA)
        r.device = test_buffer_open(ctx, true, MOST * 8);
    r.right = malloc(MOST * 8);
    assert_non_null(r.right);
    return r;
}

static void rig_close(rig *r) {
    test_buffer_close(&r->host);
    if (r->ctx->kind == WI_CUDA)
        test_buffer_close(&r->device);
    free(r->right);
}

/* An array of n elements, now and then off a boundary. */
static test_buffer *place(rig *r, weft_type type, size_t n) {
    const size_t size = test_size_of(type);
    const bool device = r->ctx->kind == WI_CUDA && test_below(&r->random, 4) > 0;
    test_buffer *const b = device ? &r->device : &r->host;
    test_buffer_poison(b, n * size, test_below(&r->random, 2) * test_below(&r->random, 4) * size);
    return b;
}

/* ---- the generator ---- */

/* The vectors that its authors publish with it. */
static void known_answers(void **state) {
    static const struct {
        uint32_t counter[4];
        uint64_t key;
        uint32_t words[4];
    } known[] = {
        {{0, 0, 0, 0}, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         UINT64_MAX,
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         0x299f31d0a4093822u,
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    (void)state;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        const wi_random_words words = wi_philox(known[k].counter, known[k].key);
        assert_memory_equal(words.at, known[k].words, sizeof words.at);
    }
}

/* The same in other words. */
static void philox(uint64_t seed, uint64_t block, uint32_t attempt, uint32_t out[4]) {
    uint32_t c[4] = {(uint32_t)block, (uint32_t)(block >> 32), attempt, 0};
    for (uint32_t round = 0; round < 10; round++) {
        const uint32_t k0 = (uint32_t)seed + round * 0x9E3779B9u;
        const uint32_t k1 = (uint32_t)(seed >> 32) + round * 0xBB67AE85u;
        const wide p = (wide)c[0] * 0xD2511F53u, q = (wide)c[2] * 0xCD9E8D57u;
        const uint32_t next[4] = {(uint32_t)(q >> 32) ^ c[1] ^ k0, (uint32_t)q,
                                  (uint32_t)(p >> 32) ^ c[3] ^ k1, (uint32_t)p};
        memcpy(c, next, sizeof c);
    }
    memcpy(out, c, sizeof c);
}

static uint32_t word_at(uint64_t seed, uint64_t i, uint32_t attempt) {
    uint32_t words[4];
    philox(seed, i / 4, attempt, words);
    return words[i % 4];
}

static uint64_t long_at(uint64_t seed, uint64_t i, uint32_t attempt) {
    uint32_t words[4];
    philox(seed, i / 2, attempt, words);
    return words[i % 2 * 2] | (uint64_t)words[i % 2 * 2 + 1] << 32;
}

/* ---- what each call makes ---- */

static void expect_bits(weft_type type, size_t n, uint64_t seed, uint64_t offset, void *right) {
    const size_t size = test_size_of(type), each = 16 / size;
    for (size_t i = 0; i < n; i++) {
        uint32_t words[4];
        philox(seed, (offset + i) / each, 0, words);
        memcpy((char *)right + i * size, (const char *)words + (offset + i) % each * size, size);
    }
}

/* low + k, by what weft/random.h says of ranges. */
static uint64_t integer_at(uint64_t seed, uint64_t i, uint64_t low, uint64_t most) {
    const bool narrow = most <= UINT32_MAX;
    const wide all = narrow ? (wide)1 << 32 : (wide)1 << 64, span = (wide)most + 1;
    for (uint32_t attempt = 0;; attempt++) {
        const wide drawn = narrow ? word_at(seed, i, attempt) : long_at(seed, i, attempt);
        const wide product = drawn * span;
        if (product % all >= all % span)
            return low + (uint64_t)(product / all);
    }
}

static void expect_integers(weft_type type, size_t n, uint64_t seed, uint64_t offset, uint64_t low,
                            uint64_t high, void *right) {
    for (size_t i = 0; i < n; i++)
        test_store(type, right, i,
                   (test_value){.u = integer_at(seed, offset + i, low, high - low)});
}

static void expect_uniform(weft_type type, size_t n, uint64_t seed, uint64_t offset, void *right) {
    for (size_t i = 0; i < n; i++) {
        const double v = type == WEFT_F32
                             ? ldexp((double)(word_at(seed, offset + i, 0) / 256), -24)
                             : ldexp((double)(long_at(seed, offset + i, 0) / 2048), -53);
        test_store(type, right, i, (test_value){.f = v});
    }
}

static long double normal_at(weft_type type, uint64_t seed, uint64_t i) {
    const uint64_t first = i & ~(uint64_t)1;
    const long double turn = 6.283185307179586476925286766559L;
    const long double a = type == WEFT_F32
                              ? word_at(seed, first, 0) * 0x1p-32L
                              : (long double)(long_at(seed, first, 0) >> 11) * 0x1p-53L;
    const long double b = type == WEFT_F32
                              ? word_at(seed, first + 1, 0) * 0x1p-32L
                              : (long double)(long_at(seed, first + 1, 0) >> 11) * 0x1p-53L;
    const long double u = a + (type == WEFT_F32 ? 0x1p-32L : 0x1p-53L);
    const long double r = sqrtl(-2 * logl(u));
    return r * (i & 1 ? sinl(turn * b) : cosl(turn * b));
}

static const uint64_t offsets[] = {0, 1, 2, 3, 16, 1000001, (uint64_t)1 << 34 | 5, UINT64_MAX / 2};

static void compare(rig *r, const char *what, weft_type type, size_t n, const wi_row *row,
                    const void *got) {
    const size_t size = test_size_of(type);
    for (size_t i = 0; i < n; i++)
        if (memcmp((const char *)got + i * size, r->right + i * size, size) != 0)
            fail_msg("%s of %zu %s on %s, variant %s: element %zu is %s, should be %s", what, n,
                     test_type_name(type), weft_place(r->ctx), row ? row->name : "auto", i,
                     test_text(type, test_load(type, got, i)),
                     test_text(type, test_load(type, r->right, i)));
}

static void made(rig *r, weft_status status, size_t n, const wi_row *row) {
    if (status != WEFT_OK)
        fail_msg("%s", weft_message(r->ctx));
    if (n > 0)
        test_used(r->ctx, "random", row, "random");
}

static bool run_bits(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = rig_of_test;
    const weft_type type = (weft_type)at[0];
    const uint64_t seed = test_bits(&r->random), offset = offsets[test_below(&r->random, 8)];
    if (test_is_float(type))
        return false;
    test_buffer *const x = place(r, type, n);
    test_use(r->ctx, "random", row);
    made(r, weft_random_bits(r->ctx, type, n, seed, offset, x->p), n, row);
    expect_bits(type, n, seed, offset, r->right);
    compare(r, "bits", type, n, row, test_buffer_read(x, "bits"));
    return true;
}

/* Ranges of which nothing, little and half is drawn again. */
static uint64_t draw_range(rig *r, weft_type type) {
    static const uint64_t ranges[] = {0,
                                      1,
                                      2,
                                      5,
                                      99,
                                      0x80000000u,
                                      UINT32_MAX,
                                      (uint64_t)UINT32_MAX + 1,
                                      (uint64_t)1 << 63,
                                      UINT64_MAX};
    const uint64_t range = ranges[test_below(&r->random, 10)];
    const unsigned bits = 8 * (unsigned)test_size_of(type);
    return bits == 64 ? range : range & (((uint64_t)1 << bits) - 1);
}

static bool run_integers(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = rig_of_test;
    const weft_type type = (weft_type)at[0];
    const uint64_t seed = test_bits(&r->random), offset = offsets[test_below(&r->random, 8)];
    if (test_is_float(type))
        return false;
    const unsigned bits = 8 * (unsigned)test_size_of(type);
    const uint64_t range = draw_range(r, type);
    const uint64_t least = test_is_signed(type) ? 0u - ((uint64_t)1 << (bits - 1)) : 0;
    const uint64_t most = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    const uint64_t room = most - range;
    const uint64_t low = least + (room ? test_below(&r->random, room) : 0), high = low + range;
    unsigned char low_element[8], high_element[8];
    test_store(type, low_element, 0, (test_value){.u = low});
    test_store(type, high_element, 0, (test_value){.u = high});
    test_buffer *const x = place(r, type, n);
    test_use(r->ctx, "random", row);
    made(r, weft_random_integers(r->ctx, type, n, low_element, high_element, seed, offset, x->p), n,
         row);
    expect_integers(type, n, seed, offset, low, high, r->right);
    compare(r, "integers", type, n, row, test_buffer_read(x, "integers"));
    return true;
}

static bool run_uniform(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = rig_of_test;
    const weft_type type = at[0] ? WEFT_F64 : WEFT_F32;
    const uint64_t seed = test_bits(&r->random), offset = offsets[test_below(&r->random, 8)];
    test_buffer *const x = place(r, type, n);
    test_use(r->ctx, "random", row);
    made(r, weft_random_uniform(r->ctx, type, n, seed, offset, x->p), n, row);
    expect_uniform(type, n, seed, offset, r->right);
    compare(r, "uniform", type, n, row, test_buffer_read(x, "uniform"));
    return true;
}

/* Bits as by the serial rung, and near what the formula says. */
static bool run_normal(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = rig_of_test;
    const weft_type type = at[0] ? WEFT_F64 : WEFT_F32;
    const uint64_t seed = test_bits(&r->random), offset = offsets[test_below(&r->random, 8)];
    const wi_random_args serial = {.op = at[0] ? WI_RANDOM_NORMAL_64 : WI_RANDOM_NORMAL_32,
                                   .type = type,
                                   .n = n,
                                   .seed = seed,
                                   .first = offset,
                                   .x = r->right};
    test_buffer *const x = place(r, type, n);
    test_use(r->ctx, "random", row);
    made(r, weft_random_normal(r->ctx, type, n, seed, offset, x->p), n, row);
    assert_int_equal(wi_random_serial(r->ctx, &serial), WEFT_OK);
    const void *const got = test_buffer_read(x, "normal");
    compare(r, "normal", type, n, row, got);
    for (size_t i = 0; i < n; i++) {
        const long double right = normal_at(type, seed, offset + i);
        const double v = test_load(type, got, i).f;
        const long double near =
            at[0] ? 1e-15L * (0.1L + fabsl(right)) : ldexpl(6, ilogbl(right) - 23) + 1e-18L;
        if (!(fabsl(v - right) <= near))
            fail_msg("normal number %zu of %s is %a, should be near %La", i, test_type_name(type),
                     v, right);
    }
    return true;
}

static void sweep(weft_context *ctx, const size_t *sizes, size_t count, size_t types,
                  bool (*run)(void *, size_t, const wi_row *, const size_t[])) {
    rig r = rig_open(ctx);
    const test_sweep s = {.sizes = sizes,
                          .size_count = count,
                          .ladder = &wi_random_ladder,
                          .extent = {types},
                          .must = 1,
                          .share = 15,
                          .run = run};
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

static const size_t sizes[] = {0, 1, 2, 3, 4, 5, 15, 16, 17, 100, 511, 512, 513, 1025, 4099, MOST};
enum {
    SIZES = sizeof sizes / sizeof *sizes
};

static void bits(weft_context *ctx) {
    sweep(ctx, sizes, SIZES, WEFT_TYPE_COUNT, run_bits);
}

static void integers(weft_context *ctx) {
    sweep(ctx, sizes, SIZES - 1, WEFT_TYPE_COUNT, run_integers);
}

static void uniform(weft_context *ctx) {
    sweep(ctx, sizes, SIZES - 1, 2, run_uniform);
}

static void normal(weft_context *ctx) {
    sweep(ctx, sizes, SIZES - 1, 2, run_normal);
}

/* ---- permutations ---- */

static bool run_permutation(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    static const weft_type types[] = {WEFT_U32, WEFT_U64, WEFT_I32, WEFT_I64};
    rig *const r = rig_of_test;
    const weft_type type = types[at[0]];
    const uint64_t seed = test_bits(&r->random);
    weft_context *const cpu = test_open("cpu:1");
    test_buffer *const x = place(r, type, n);
    test_use(r->ctx, "random", row);
    made(r, weft_random_permutation(r->ctx, type, n, seed, x->p), n, row);
    assert_int_equal(weft_use(cpu, "random", "serial"), WEFT_OK);
    assert_int_equal(weft_random_permutation(cpu, type, n, seed, r->right), WEFT_OK);
    weft_close(cpu);
    compare(r, "permutation", type, n, row, test_buffer_read(x, "permutation"));
    unsigned char *const seen = calloc(n + 1, 1);
    assert_non_null(seen);
    for (size_t i = 0; i < n; i++) {
        const uint64_t v = test_load(type, r->right, i).u;
        if (v >= n || seen[v]++)
            fail_msg("a permutation of %zu has %llu twice or at all", n, (unsigned long long)v);
    }
    free(seen);
    return true;
}

static void permutations(weft_context *ctx) {
    static const size_t lengths[] = {0,    1,    2,    3,    31,   100,  1023,
                                     1024, 1025, 1500, 2048, 4099, 10000};
    sweep(ctx, lengths, sizeof lengths / sizeof *lengths, 4, run_permutation);
}

/* All orders of three numbers come equally often, and each number of many everywhere. */
static void fair_permutations(void **state) {
    enum {
        TIMES = 3000,
        MANY = 2000,
        CELLS = 10,
        SEEDS = 20
    };
    weft_context *const ctx = test_open("cpu:1");
    unsigned orders[27] = {0}, cells[CELLS][CELLS] = {{0}};
    uint32_t x[MANY];
    double chi = 0;
    (void)state;
    for (uint64_t seed = 0; seed < TIMES; seed++) {
        assert_int_equal(weft_random_permutation(ctx, WEFT_U32, 3, seed, x), WEFT_OK);
        orders[x[0] * 9 + x[1] * 3 + x[2]]++;
    }
    for (int k = 0; k < 27; k++)
        assert_true(orders[k] == 0 ||
                    (orders[k] > TIMES / 6 * 3 / 4 && orders[k] < TIMES / 6 * 5 / 4));
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        assert_int_equal(weft_random_permutation(ctx, WEFT_U32, MANY, seed, x), WEFT_OK);
        for (uint32_t i = 0; i < MANY; i++)
            cells[i * CELLS / MANY][x[i] * CELLS / MANY]++;
    }
    const double expected = (double)MANY * SEEDS / (CELLS * CELLS);
    for (int i = 0; i < CELLS; i++)
        for (int k = 0; k < CELLS; k++)
            chi += (cells[i][k] - expected) * (cells[i][k] - expected) / expected;
    if (!(chi > 40 && chi < 130)) /* 81 degrees of freedom */
        fail_msg("cells of permutations: chi squared is %g", chi);
    weft_close(ctx);
}

/* ---- distributions ---- */

static void moments(void **state) {
    enum {
        N = 200000
    };
    weft_context *const ctx = test_open("cpu:2");
    double *const x = malloc(N * sizeof *x), sum = 0, square = 0, fourth = 0;
    assert_non_null(x);
    (void)state;
    assert_int_equal(weft_random_normal(ctx, WEFT_F64, N, 42, 7, x), WEFT_OK);
    for (size_t i = 0; i < N; i++) {
        sum += x[i];
        square += x[i] * x[i];
        fourth += x[i] * x[i] * x[i] * x[i];
    }
    assert_true(fabs(sum / N) < 0.01 && fabs(square / N - 1) < 0.015 &&
                fabs(fourth / N - 3) < 0.15);
    assert_int_equal(weft_random_uniform(ctx, WEFT_F64, N, 42, 7, x), WEFT_OK);
    sum = square = 0;
    for (size_t i = 0; i < N; i++) {
        sum += x[i];
        square += x[i] * x[i];
    }
    assert_true(fabs(sum / N - 0.5) < 0.004 && fabs(square / N - 1.0 / 3) < 0.004);
    free(x);
    weft_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers),     TEST_ON_EACH_PLACE(bits),
        TEST_ON_EACH_PLACE(integers),        TEST_ON_EACH_PLACE(uniform),
        TEST_ON_EACH_PLACE(normal),          TEST_ON_EACH_PLACE(permutations),
        cmocka_unit_test(fair_permutations), cmocka_unit_test(moments),
    };
    return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
