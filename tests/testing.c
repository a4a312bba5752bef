/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests share; see testing.h. */
#include "testing.h"

#include <ctype.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef WEFT_EMU
#    include <cuda_runtime_api.h>
#endif

#if defined(__has_feature) /* how clang tells it */
#    if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#        define __SANITIZE_ADDRESS__ 1
#    endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#    include <sanitizer/asan_interface.h>
#else
#    define ASAN_POISON_MEMORY_REGION(p, bytes) ((void)(p), (void)(bytes))
#    define ASAN_UNPOISON_MEMORY_REGION(p, bytes) ((void)(p), (void)(bytes))
#endif

/* ---- seeded random numbers ---- */

uint64_t test_seed(void) {
    static bool known;
    static uint64_t seed = 20250101;
    if (!known) {
        const char *text = getenv("WEFT_TEST_SEED");
        if (text) {
            seed = strtoull(text, NULL, 0);
        }
        known = true;
        print_message("seed: WEFT_TEST_SEED=%" PRIu64 "\n", seed);
    }
    return seed;
}

/* SplitMix64. */
uint64_t test_bits(test_random *r) {
    uint64_t z = (r->state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

test_random test_random_at(uint64_t stream) {
    test_random r = {test_seed() ^ (stream * 0xD1342543DE82EF95u)};
    r.state = test_bits(&r);
    return r;
}

uint64_t test_below(test_random *r, uint64_t bound) {
    return (uint64_t)(((unsigned __int128)test_bits(r) * bound) >> 64);
}

double test_unit(test_random *r) {
    return (double)(test_bits(r) >> 11) * 0x1p-52 - 1.0;
}

/* ---- places ---- */

static size_t named_places(const char *text, const char *names[TEST_MAX_PLACES]) {
    static char storage[256];
    size_t count = 0;
    snprintf(storage, sizeof storage, "%s", text);
    char *rest = NULL;
    for (char *name = strtok_r(storage, " ", &rest); name && count < TEST_MAX_PLACES;
         name = strtok_r(NULL, " ", &rest)) {
        names[count++] = name;
    }
    return count;
}

size_t test_places(const char *names[TEST_MAX_PLACES]) {
    const char *text = getenv("WEFT_TEST_PLACES");
    if (text && *text) {
        return named_places(text, names);
    }
    size_t count = 0;
#ifdef WEFT_EMU
    names[count++] = "emu";
    return count;
#endif
    names[count++] = "cpu:1";
    names[count++] = "cpu:3";
    weft_context *gpu = NULL;
    if (weft_open(&gpu, "gpu") == WEFT_OK) {
        names[count++] = "gpu";
    }
    weft_close(gpu);
    return count;
}

bool test_place_is_gpu(const char *place) {
    return strncmp(place, "gpu", 3) == 0 || strncmp(place, "emu", 3) == 0;
}

weft_context *test_open(const char *place) {
    weft_context *ctx = NULL;
    weft_status status = weft_open(&ctx, place);
    if (status != WEFT_OK) {
        fail_msg("place %s: %s", place, weft_message(NULL));
    }
    return ctx;
}

void test_each_place(void (*body)(weft_context *ctx)) {
    const char *names[TEST_MAX_PLACES];
    size_t count = test_places(names);
    test_seed();
    for (size_t i = 0; i < count; i++) {
        weft_context *ctx = test_open(names[i]);
        body(ctx);
        weft_close(ctx);
    }
}

void test_on_each_place(void **state) {
    const test_body *body = *state;
    test_each_place(body->run);
}

/* ---- values of every type ---- */

typedef struct float_facts {
    int precision; /* bits of significand, the hidden one counted */
    int emin;      /* exponent of the smallest normal number */
    int emax;      /* exponent of the largest finite number */
} float_facts;

static float_facts facts_of(weft_type type) {
    switch (type) {
    case WEFT_F16:
        return (float_facts){11, -14, 15};
    case WEFT_BF16:
        return (float_facts){8, -126, 127};
    case WEFT_F32:
        return (float_facts){24, -126, 127};
    default:
        return (float_facts){53, -1022, 1023};
    }
}

/* 2^k, a normal number, and the exponent of a normal v. The tests take them for most elements of
 * 16-bit floats: functions of libm would be most of their time. */
static double power_of_two(int k) {
    const uint64_t bits = (uint64_t)(k + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return power;
}
static int exponent_of(double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return (int)(bits >> 52 & 2047) - 1023;
}

bool test_is_float(weft_type type) {
    return type == WEFT_F16 || type == WEFT_BF16 || type == WEFT_F32 || type == WEFT_F64;
}

bool test_is_signed(weft_type type) {
    return type == WEFT_I8 || type == WEFT_I16 || type == WEFT_I32 || type == WEFT_I64;
}

size_t test_size_of(weft_type type) {
    static const size_t sizes[WEFT_TYPE_COUNT] = {1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
    return sizes[type];
}

const char *test_type_name(weft_type type) {
    static const char *const names[WEFT_TYPE_COUNT] = {"i8",  "i16", "i32", "i64",  "u8",  "u16",
                                                       "u32", "u64", "f16", "bf16", "f32", "f64"};
    return names[type];
}

const char *test_op_name(weft_op op) {
    static const char *const names[WEFT_OP_COUNT] = {"sum",    "product", "min",  "max",
                                                     "and",    "or",      "xor",  "argmin",
                                                     "argmax", "nrm1",    "nrm2", "nrminf"};
    return names[op];
}

double test_roundoff(weft_type type) {
    return power_of_two(-facts_of(type).precision);
}

double test_half_tiny(weft_type type) {
    float_facts f = facts_of(type);
    return ldexp(1.0, f.emin - f.precision); /* 0 for f64: no double is that small */
}

double test_largest_of(weft_type type) {
    float_facts f = facts_of(type);
    return ldexp(2.0 - ldexp(1.0, 1 - f.precision), f.emax);
}

double test_round(weft_type type, long double v) {
    if (type == WEFT_F64)
        return (double)v;
    if (type == WEFT_F32)
        return (double)(float)v;
    if (!isfinite(v) || v == 0)
        return (double)v;
    const float_facts f = facts_of(type);
    const int e = exponent_of((double)v); /* of what rounds up to a power of two, that one's */
    const int quantum = (e < f.emin ? f.emin : e) - f.precision + 1;
    const long double rounded = rintl(v * power_of_two(-quantum)) * power_of_two(quantum);
    if (fabsl(rounded) >= power_of_two(f.emax + 1))
        return copysign(INFINITY, (double)v);
    return (double)rounded;
}

uint64_t test_wrap(weft_type type, uint64_t bits) {
    unsigned unused = 64 - 8 * (unsigned)test_size_of(type);
    if (test_is_signed(type)) {
        return (uint64_t)((int64_t)(bits << unused) >> unused);
    }
    return bits << unused >> unused;
}

/* A 16-bit float from its fields. */
static double decode_half(weft_type type, uint16_t bits) {
    float_facts f = facts_of(type);
    int fraction_bits = f.precision - 1;
    int fraction = bits & ((1 << fraction_bits) - 1);
    int exponent = (bits & 0x7FFF) >> fraction_bits;
    double magnitude;
    if (exponent == 0x7FFF >> fraction_bits) {
        magnitude = fraction ? NAN : INFINITY;
    } else if (exponent == 0) {
        magnitude = fraction * power_of_two(f.emin - fraction_bits);
    } else {
        magnitude =
            (fraction + (1 << fraction_bits)) * power_of_two(exponent - 1 + f.emin - fraction_bits);
    }
    return bits & 0x8000 ? -magnitude : magnitude;
}

static uint16_t encode_half(weft_type type, double v) {
    float_facts f = facts_of(type);
    int fraction_bits = f.precision - 1;
    uint16_t sign = signbit(v) ? 0x8000 : 0;
    uint16_t infinity = (uint16_t)(0x7FFF >> fraction_bits << fraction_bits);
    v = fabs(test_round(type, v));
    if (isnan(v)) {
        return (uint16_t)(sign | infinity | 1 << (fraction_bits - 1));
    }
    if (isinf(v)) {
        return sign | infinity;
    }
    if (v < power_of_two(f.emin)) {
        return sign | (uint16_t)(v * power_of_two(fraction_bits - f.emin));
    }
    const int e = exponent_of(v);
    return sign |
           (uint16_t)(((e - f.emin) << fraction_bits) + (int)(v * power_of_two(fraction_bits - e)));
}

test_value test_load(weft_type type, const void *p, size_t i) {
    const size_t size = test_size_of(type);
    const char *const at = (const char *)p + i * size; /* aligned or not */
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    float single;
    double full;
    if (type == WEFT_F32) {
        memcpy(&single, at, sizeof single);
        return (test_value){.f = (double)single};
    }
    if (type == WEFT_F64) {
        memcpy(&full, at, sizeof full);
        return (test_value){.f = full};
    }
    switch (size) {
    case 1:
        return type == WEFT_I8 ? (test_value){.i = *(const int8_t *)at}
                               : (test_value){.u = *(const uint8_t *)at};
    case 2:
        memcpy(&two, at, sizeof two);
        return test_is_float(type) ? (test_value){.f = decode_half(type, two)}
               : type == WEFT_I16  ? (test_value){.i = (int16_t)two}
                                   : (test_value){.u = two};
    case 4:
        memcpy(&four, at, sizeof four);
        return type == WEFT_I32 ? (test_value){.i = (int32_t)four} : (test_value){.u = four};
    default:
        memcpy(&eight, at, sizeof eight);
        return (test_value){.u = eight};
    }
}

void test_store(weft_type type, void *p, size_t i, test_value v) {
    const size_t size = test_size_of(type);
    const uint16_t two = test_is_float(type) && size == 2 ? encode_half(type, v.f) : (uint16_t)v.u;
    const float single = type == WEFT_F32 ? (float)v.f : 0;
    const uint32_t four = (uint32_t)v.u;
    char *const at = (char *)p + i * size; /* aligned or not */
    switch (size) {
    case 1:
        *(uint8_t *)at = (uint8_t)v.u;
        return;
    case 2:
        memcpy(at, &two, sizeof two);
        return;
    case 4:
        memcpy(at, type == WEFT_F32 ? (const void *)&single : &four, sizeof four);
        return;
    default:
        memcpy(at, &v.u, sizeof v.u);
    }
}

void test_widen(weft_type type, size_t n, const void *p, test_value *out) {
    for (size_t i = 0; i < n; i++) {
        out[i] = test_load(type, p, i);
    }
}

bool test_same(weft_type type, test_value a, test_value b) {
    return a.u == b.u || (test_is_float(type) && isnan(a.f) && isnan(b.f));
}

const char *test_text(weft_type type, test_value v) {
    static char texts[4][64];
    static unsigned turn;
    char *text = texts[turn++ % 4];
    if (test_is_float(type)) {
        snprintf(text, sizeof texts[0], "%.17g (%#" PRIx64 ")", v.f, v.u);
    } else if (test_is_signed(type)) {
        snprintf(text, sizeof texts[0], "%" PRId64, v.i);
    } else {
        snprintf(text, sizeof texts[0], "%" PRIu64, v.u);
    }
    return text;
}

/* ---- patterns ---- */

/* The extremes of an integer type, and a value in the middle. */
static uint64_t integer_tie(weft_type type, uint64_t which) {
    uint64_t top = UINT64_C(1) << (8 * test_size_of(type) - 1);
    switch (which) {
    case 0:
        return test_is_signed(type) ? top : 0;
    case 1:
        return test_is_signed(type) ? top - 1 : UINT64_MAX;
    case 2:
        return 1;
    default:
        return UINT64_MAX; /* -1 if signed */
    }
}

static test_value integer_of(test_random *r, test_pattern pattern, weft_type type) {
    switch (pattern) {
    case TEST_SMALL:
        return test_is_signed(type) ? (test_value){.i = (int64_t)test_below(r, 7) - 3}
                                    : (test_value){.u = test_below(r, 4)};
    case TEST_ANY:
        return (test_value){.u = test_bits(r)};
    case TEST_NEAR_ONE:
    case TEST_SIGNS:
        return (test_value){.u = test_bits(r) | 1};
    case TEST_EQUAL:
        return (test_value){.u = 3};
    default:
        return (test_value){.u = integer_tie(type, test_below(r, 4))};
    }
}

static double special(test_random *r, weft_type type) {
    double tiny = 2 * test_half_tiny(type);
    switch (test_below(r, 8)) {
    case 0:
        return INFINITY;
    case 1:
        return -INFINITY;
    case 2:
        return -0.0;
    case 3:
        return 0.0;
    case 4:
        return type == WEFT_F64 ? 0x1p-1074 : tiny;
    case 5:
        return type == WEFT_F64 ? -0x1p-1074 : -tiny;
    case 6:
        return test_largest_of(type);
    default:
        return -test_largest_of(type);
    }
}

static double float_of(test_random *r, test_pattern pattern, weft_type type) {
    static const double ties[] = {-2.5, -0.0, 0.0, 7.0};
    switch (pattern) {
    case TEST_SMALL:
        return (double)test_below(r, 7) - 3;
    case TEST_NEAR_ONE: {
        double step = test_roundoff(type) < 0x1p-24 ? 0x1p-24 : test_roundoff(type);
        uint64_t which = test_below(r, 64);
        return which == 0 ? 1 + 2 * step : which < 3 ? 1 - step : which == 3 ? -1 : 1;
    }
    case TEST_SIGNS:
        return test_below(r, 3) ? 1 : -1;
    case TEST_TIES:
        return ties[test_below(r, 4)];
    case TEST_EQUAL:
        return 0.25;
    case TEST_SPECIAL:
    case TEST_NANS:
        return test_below(r, 4) ? test_unit(r) : special(r, type);
    default:
        return test_unit(r);
    }
}

/* About every tenth element is doubled, and the next such one halved: prefixes stay within 1/2 ...
 * 2. */
static void add_powers(test_random *r, weft_type type, size_t n, void *p) {
    double power = 2;
    for (size_t i = test_below(r, 10); i < n; i += 1 + test_below(r, 20)) {
        test_store(type, p, i, (test_value){.f = test_load(type, p, i).f * power});
        power = 1 / power;
    }
}

static void add_nans(test_random *r, weft_type type, size_t n, void *p) {
    for (int k = 0; k < 3 && n > 0; k++) {
        test_store(type, p, n / 2 + test_below(r, n - n / 2), (test_value){.f = NAN});
    }
}

void test_fill(test_random *r, test_pattern pattern, weft_type type, size_t n, void *p) {
    bool floats = test_is_float(type);
    for (size_t i = 0; i < n; i++) {
        test_value v =
            floats ? (test_value){.f = float_of(r, pattern, type)} : integer_of(r, pattern, type);
        test_store(type, p, i, v);
    }
    if (floats && pattern == TEST_SIGNS) {
        add_powers(r, type, n, p);
    }
    if (floats && pattern == TEST_NANS) {
        add_nans(r, type, n, p);
    }
}

/* ---- buffers ---- */

static size_t block_bytes(const test_buffer *b) {
    return b->capacity + 2 * TEST_GUARD_BYTES + TEST_MAX_OFFSET;
}

test_buffer test_buffer_open(weft_context *ctx, bool device, size_t capacity) {
    test_buffer b = {.ctx = ctx, .device = device, .capacity = capacity};
    void *p = NULL;
    assert_int_equal(posix_memalign(&p, 64, block_bytes(&b)), 0);
    b.mirror = p;
    b.block = p;
    if (device) {
        assert_int_equal(weft_alloc(ctx, &p, block_bytes(&b)), WEFT_OK);
        b.block = p;
    }
    return b;
}

void test_buffer_close(test_buffer *b) {
    ASAN_UNPOISON_MEMORY_REGION(b->mirror, block_bytes(b));
    if (b->device) {
        assert_int_equal(weft_free(b->ctx, b->block), WEFT_OK);
    }
    free(b->mirror);
}

test_pair test_pair_open(weft_context *ctx, size_t capacity) {
    test_pair pair = {.host = test_buffer_open(ctx, false, capacity)};
    if (ctx->kind == WI_CUDA)
        pair.device = test_buffer_open(ctx, true, capacity);
    return pair;
}

void test_pair_close(test_pair *pair) {
    test_buffer_close(&pair->host);
    if (pair->device.ctx)
        test_buffer_close(&pair->device);
}

test_buffer *test_pair_at(test_pair *pair, bool on_device) {
    return on_device && pair->device.ctx ? &pair->device : &pair->host;
}

/* Where the guarded array starts in block and mirror, guards included. */
static size_t guarded_start(const test_buffer *b) {
    return (size_t)(b->p - b->block) - TEST_GUARD_BYTES;
}

static size_t guarded_bytes(const test_buffer *b) {
    return b->bytes + 2 * TEST_GUARD_BYTES;
}

/* How many bytes went through buffers so far; even a small buffer costs some work. */
static uint64_t bytes_moved;

static void note_work(const test_buffer *b) {
    bytes_moved += guarded_bytes(b) + 1024;
}

uint64_t test_work(void) {
#ifdef WEFT_EMU
    return emu_steps();
#else
    return bytes_moved;
#endif
}

/* Fills the host view, then copies it to where the array is. */
static void place_array(test_buffer *b, const void *from, size_t bytes, size_t offset) {
    assert_true(bytes <= b->capacity && offset <= TEST_MAX_OFFSET);
    ASAN_UNPOISON_MEMORY_REGION(b->mirror, block_bytes(b));
    b->p = b->block + TEST_GUARD_BYTES + offset;
    b->bytes = bytes;
    note_work(b);
    unsigned char *start = b->mirror + guarded_start(b);
    memset(start, TEST_POISON, TEST_GUARD_BYTES);
    memset(start + TEST_GUARD_BYTES + bytes, TEST_POISON, TEST_GUARD_BYTES);
    if (from && bytes) {
        memcpy(start + TEST_GUARD_BYTES, from, bytes);
    } else {
        memset(start + TEST_GUARD_BYTES, TEST_POISON, bytes);
    }
    if (b->device) {
        weft_status status =
            weft_copy(b->ctx, b->block + guarded_start(b), start, guarded_bytes(b));
        assert_int_equal(status, WEFT_OK);
    } else {
        ASAN_POISON_MEMORY_REGION(start, TEST_GUARD_BYTES);
        ASAN_POISON_MEMORY_REGION(start + TEST_GUARD_BYTES + bytes, TEST_GUARD_BYTES);
    }
}

void test_buffer_poison(test_buffer *b, size_t bytes, size_t offset) {
    place_array(b, NULL, bytes, offset);
}

void test_buffer_load(test_buffer *b, const void *from, size_t bytes, size_t offset) {
    place_array(b, from, bytes, offset);
}

const void *test_buffer_read(test_buffer *b, const char *what) {
    unsigned char *start = b->mirror + guarded_start(b);
    note_work(b);
    if (b->device) {
        weft_status status =
            weft_copy(b->ctx, start, b->block + guarded_start(b), guarded_bytes(b));
        if (status != WEFT_OK) {
            fail_msg("%s: reading back: %s", what, weft_message(b->ctx));
        }
    }
    ASAN_UNPOISON_MEMORY_REGION(b->mirror, block_bytes(b));
    for (size_t i = 0; i < TEST_GUARD_BYTES; i++) {
        if (start[i] != TEST_POISON) {
            fail_msg("%s: wrote %zu bytes before the array", what, TEST_GUARD_BYTES - i);
        }
        if (start[TEST_GUARD_BYTES + b->bytes + i] != TEST_POISON) {
            fail_msg("%s: wrote %zu bytes past the array", what, i + 1);
        }
    }
    return start + TEST_GUARD_BYTES;
}

/* ---- rungs ---- */

void test_use(weft_context *ctx, const char *op, const wi_row *row) {
    const char *name = row ? row->name : NULL;
    if (weft_use(ctx, op, name) != WEFT_OK) {
        fail_msg("weft_use(%s, %s): %s", op, name ? name : "NULL", weft_message(ctx));
    }
}

void test_used(const weft_context *ctx, const char *op, const wi_row *row, const char *what) {
    const char *used = weft_used(ctx, op);
    if (!used || (row && strcmp(used, row->name) != 0)) {
        fail_msg("%s: ran %s", what, used ? used : "nothing");
    }
}

bool test_taught_type(weft_type type) {
    return type == WEFT_I32 || type == WEFT_U32 || type == WEFT_F32 || type == WEFT_F64;
}

/* ---- statuses ---- */

bool test_has_word(const char *text, const char *word) {
    size_t length = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
        bool starts = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
        bool ends = !(isalnum((unsigned char)at[length]) || at[length] == '_');
        if (starts && ends) {
            return true;
        }
    }
    return false;
}

void test_ok(const weft_context *ctx, weft_status status) {
    if (status != WEFT_OK)
        fail_msg("%s: %s", weft_status_name(status), weft_message(ctx));
}

void test_refused(const weft_context *ctx, weft_status status, weft_status expected,
                  const char *call, const char *word) {
    const char *message = weft_message(ctx);
    if (status != expected) {
        fail_msg("%s: status %s, not %s; message \"%s\"", call, weft_status_name(status),
                 weft_status_name(expected), message);
    }
    if (status == WEFT_OK) {
        return;
    }
    if (!*message || strchr(message, '\n')) {
        fail_msg("%s: the message \"%s\" is not one line", call, message);
    }
    if (!test_has_word(message, call) || (word && !test_has_word(message, word))) {
        fail_msg("%s: the message \"%s\" does not name %s and %s", call, message, call,
                 word ? word : "the call");
    }
}
