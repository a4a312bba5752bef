/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests share: seeded data, the available places, guarded buffers in host and device
 * memory, and arithmetic on every weft_type that does not use the library. */
#ifndef WEFT_TESTING_H
#define WEFT_TESTING_H

/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <string.h>

#include "core/rows.h"
#include "weft/weft.h"

/* cmocka compares byte by byte: only what differs, to say where. */
#undef assert_memory_equal
#define assert_memory_equal(a, b, size)                                                            \
    ((void)((size) == 0 || memcmp((const void *)(a), (const void *)(b), (size)) == 0 ||            \
            (_assert_memory_equal((const void *)(a), (const void *)(b), (size), __FILE__,          \
                                  __LINE__),                                                       \
             1)))

/* ---- seeded random numbers ---- */

typedef struct test_random {
    uint64_t state;
} test_random;

/* WEFT_TEST_SEED, or a fixed number; printed at its first use. */
uint64_t test_seed(void);
/* A separate generator for each `stream`, all from the same seed. */
test_random test_random_at(uint64_t stream);
uint64_t test_bits(test_random *r);
uint64_t test_below(test_random *r, uint64_t bound); /* 0 ... bound - 1 */
double test_unit(test_random *r);                    /* in [-1, 1) */

/* Halves the smaller of two extents, or once that is 1 the larger, until their product is at most
 * `most`. */
static inline void test_shrink(size_t *a, size_t *b, size_t most) {
    while (*a * *b > most) {
        size_t *const smaller = *a <= *b ? a : b, *const larger = *a <= *b ? b : a;
        size_t *const shrinks = *smaller > 1 ? smaller : larger;
        *shrinks = (*shrinks + 1) / 2;
    }
}

/* ---- places ---- */

enum {
    TEST_MAX_PLACES = 8
};

/* The places to test: WEFT_TEST_PLACES ("cpu:2 gpu"), else "cpu:1", "cpu:3" and, if it opens,
 * "gpu". A place that is named there but does not open fails the test that opens it. */
size_t test_places(const char *names[TEST_MAX_PLACES]);
bool test_place_is_gpu(const char *place);
weft_context *test_open(const char *place);

/* Calls `body` with an open context on each place. */
void test_each_place(void (*body)(weft_context *ctx));

/* An entry of a CMUnitTest array: `body` called with an open context on each place. */
typedef struct test_body {
    void (*run)(weft_context *ctx);
} test_body;
void test_on_each_place(void **state);
#define TEST_ON_EACH_PLACE(body)                                                                   \
    {                                                                                              \
#        body, test_on_each_place, NULL, NULL, &(test_body) {                                      \
            body                                                                                   \
        }                                                                                          \
    }

/* ---- which cases to run ---- */

/* Sizes above WEFT_TEST_MAX are left out. */
bool test_size_wanted(size_t n);
/* For similar cases outside sweeps, under slow sanitizers: true for one in WEFT_TEST_ONE_IN, at
 * random. What sweeps draw is as many times less. */
bool test_case_wanted(test_random *r);

extern const size_t test_small_sizes[];
extern const size_t test_small_size_count;
extern const size_t test_medium_sizes[];
extern const size_t test_medium_size_count;

enum {
    TEST_MOST_AXES = 6
};

/* A sweep: every combination of a size, a rung of a ladder and one value of each further axis. A
 * program has a budget of work. Within it a sweep first runs what must be run: each rung with each
 * combination of the axes in `must` once, the rest of the case drawn at random; as far as these
 * take more than the budget, from smaller sizes. Then it runs random cases until its share of the
 * budget is spent. */
typedef struct test_sweep {
    const size_t *sizes;     /* ascending; NULL: the cases have no size */
    size_t size_count;       /* sizes above WEFT_TEST_MAX are left out */
    const wi_ladder *ladder; /* its rungs on the place, and NULL: the library's choice; or NULL */
    size_t extent[TEST_MOST_AXES]; /* number of values of each further axis; 0 after the last */
    unsigned must;                 /* bit k: further axis k */
    unsigned share;                /* of the program's budget, in percent */
    size_t one_in;                 /* if everything is run: only one in so many cases; 0: all */
    /* Runs a case, at[k] being its value on axis k; false if there is no such case. */
    bool (*run)(void *rig, size_t n, const wi_row *row, const size_t at[]);
} test_sweep;

/* How often a loop over random cases runs that no sweep holds: a quarter of `all` with the usual
 * budget. */
size_t test_times(size_t all);

/* For cases for which emu takes seconds: there, with the usual budget, whether the seed's schedules
 * are wild (random, starve), as those of every second round are; elsewhere true. */
bool test_largest_wanted(void);

/* WEFT_TEST_BUDGET multiplies the budget; "all" runs everything. */
void test_sweep_run(const weft_context *ctx, test_random *r, const test_sweep *s, void *rig);
/* Work done so far: on place emu the steps of kernels; elsewhere the bytes that went through test
 * buffers, plus a few for each buffer. */
uint64_t test_work(void);

/* ---- values of every type ---- */

/* An element converted without loss: .f for floats, .i for signed, .u for unsigned. */
typedef union test_value {
    int64_t i;
    uint64_t u;
    double f;
} test_value;

bool test_is_float(weft_type type);
bool test_is_signed(weft_type type); /* a signed integer */
size_t test_size_of(weft_type type);
const char *test_type_name(weft_type type);
const char *test_op_name(weft_op op);

/* `v`, any value, rounded to nearest even in `type` (a float type), as a double. */
double test_round(weft_type type, long double v);
/* `bits` modulo 2^bits of `type` (an integer type), extended by sign or zeros. */
uint64_t test_wrap(weft_type type, uint64_t bits);
/* Unit roundoff of a float type, 2^-p, and half the distance between its smallest numbers. */
double test_roundoff(weft_type type);
double test_half_tiny(weft_type type);
double test_largest_of(weft_type type); /* the largest finite number of a float type */

test_value test_load(weft_type type, const void *p, size_t i);
/* Rounds to nearest even, or wraps. */
void test_store(weft_type type, void *p, size_t i, test_value v);
void test_widen(weft_type type, size_t n, const void *p, test_value *out);
/* Equal bits, or both NaN: -0.0 differs from +0.0. */
bool test_same(weft_type type, test_value a, test_value b);

/* The value as text, floats with their bits as f64; valid until the fourth call after this. */
const char *test_text(weft_type type, test_value v);

typedef enum test_pattern {
    TEST_SMALL,    /* whole numbers -3 ... 3 (0 ... 3 if unsigned): float sums of them are exact */
    TEST_ANY,      /* integers: all bits random; floats: fractions in [-1, 1) */
    TEST_NEAR_ONE, /* mostly 1 and its neighbours (integers: odd): products stay finite */
    TEST_SIGNS,    /* 1, -1, and 2 and 1/2 in turn: products are exact. Integers: as NEAR_ONE */
    TEST_TIES,     /* four distinct values, extremes of the type among them */
    TEST_EQUAL,    /* one value throughout */
    TEST_SPECIAL,  /* floats: ANY with infinities, signed zeros, subnormals; integers: as TIES */
    TEST_NANS      /* floats: SPECIAL with a few NaN in its second half; integers: as TIES */
} test_pattern;

void test_fill(test_random *r, test_pattern pattern, weft_type type, size_t n, void *p);

/* ---- buffers ---- */

/* An array with guard zones filled with a pattern before and after it; reused from case to case. */
typedef struct test_buffer {
    weft_context *ctx;
    bool device;
    size_t capacity;
    unsigned char *block;  /* the allocated memory */
    unsigned char *mirror; /* host view of block: block itself, unless it is device memory */
    unsigned char *p;      /* the array, in block */
    size_t bytes;
} test_buffer;

enum {
    TEST_POISON = 0xA5,
    TEST_GUARD_BYTES = 256,
    TEST_MAX_OFFSET = 64
};

test_buffer test_buffer_open(weft_context *ctx, bool device, size_t capacity);
void test_buffer_close(test_buffer *b);
/* A buffer in host memory and, on a GPU place, another in memory of the device. */
typedef struct test_pair {
    test_buffer host, device;
} test_pair;

test_pair test_pair_open(weft_context *ctx, size_t capacity);
void test_pair_close(test_pair *pair);
/* The one on the device if that is asked for and there is one. */
test_buffer *test_pair_at(test_pair *pair, bool on_device);

/* Places an array of `bytes` bytes, `offset` past a 64-byte boundary, filled with the guard
 * pattern. */
void test_buffer_poison(test_buffer *b, size_t bytes, size_t offset);
/* The same, filled from `from`. */
void test_buffer_load(test_buffer *b, const void *from, size_t bytes, size_t offset);
/* A host view of the array, after all queued work. Fails the test if a guard was overwritten. */
const void *test_buffer_read(test_buffer *b, const char *what);

/* ---- rungs ---- */

/* Forces `op` to `row`; NULL: the library chooses. */
void test_use(weft_context *ctx, const char *op, const wi_row *row);
/* Fails the test unless the latest call of `op` ran `row`; any row of the ladder if row is NULL. */
void test_used(const weft_context *ctx, const char *op, const wi_row *row, const char *what);
/* Do teaching rungs take this type? */
bool test_taught_type(weft_type type);
/* The rungs of a ladder on the context's place, and NULL for the library's choice. More than
 * TEST_MAX_ROWS fail the test. */
size_t test_rows(const weft_context *ctx, const wi_ladder *ladder, const wi_row *rows[]);

const wi_row *test_row_named(const wi_ladder *ladder, const char *name); /* which must exist */

enum {
    TEST_MAX_ROWS = 24
};

/* ---- statuses ---- */

/* Fails the test with the context's message unless the status is WEFT_OK. */
void test_ok(const weft_context *ctx, weft_status status);

/* Fails the test unless `status` is `expected` and, if that is not WEFT_OK, the message is one line
 * that names `call` and `word`, each as a whole word. `word` may be NULL. */
void test_refused(const weft_context *ctx, weft_status status, weft_status expected,
                  const char *call, const char *word);
bool test_has_word(const char *text, const char *word);

#endif
