/* SPDX-License-Identifier: Apache-2.0 */
/* weft_top_k of many elements of data whose first k are the first k of all, or all but one: by one
 * thread and by several, which look for an element behind them that comes before one of them. And
 * of data whose samples mislead. */
#include <stdlib.h>
#include <string.h>

#include "testing.h"
#include "weft/sort.h"

enum {
    N = (1 << 20) + 333, /* worth several threads */
    K = 10000,
    SAMPLES = 4096 /* which sort_counted.c looks at */
};

/* Where the one is that belongs among the first. */
typedef enum shape {
    NOWHERE,
    JUST_BEHIND,
    IN_THE_MIDDLE,
    AT_THE_END,
    ALL_EQUAL,
    SHAPES
} shape;

static const weft_type types[] = {WEFT_U8, WEFT_I16, WEFT_F32, WEFT_I32, WEFT_F64, WEFT_U64};

typedef struct ranked {
    double value;
    size_t at;
} ranked;

static int by_value(const void *a, const void *b) {
    const ranked *const x = a, *const y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void put(weft_type type, void *x, size_t i, int value) {
    switch (type) {
    case WEFT_U8:
        ((uint8_t *)x)[i] = (uint8_t)value;
        break;
    case WEFT_I16:
        ((int16_t *)x)[i] = (int16_t)(value - 100);
        break;
    case WEFT_F32:
        ((float *)x)[i] = (float)value - 100;
        break;
    case WEFT_I32:
        ((int32_t *)x)[i] = value - 100;
        break;
    case WEFT_F64:
        ((double *)x)[i] = value - 100;
        break;
    default:
        ((uint64_t *)x)[i] = (uint64_t)value;
    }
}

static double value_at(weft_type type, const void *x, size_t i) {
    const test_value v = test_load(type, x, i);
    return test_is_float(type) ? v.f : test_is_signed(type) ? (double)v.i : (double)v.u;
}

static const size_t places_of_one[SHAPES] = {
    [JUST_BEHIND] = K, [IN_THE_MIDDLE] = N / 2, [AT_THE_END] = N - 1};

/* Ascending: the first K are 20 to 80, those behind them 80 to 250, and one may be 30. */
static void draw(test_random *r, weft_type type, shape how, bool descending, void *x) {
    for (size_t i = 0; i < N; i++) {
        int value = i < K ? 20 + (int)test_below(r, 61) : 80 + (int)test_below(r, 171);
        if (how == ALL_EQUAL)
            value = 90;
        else if (places_of_one[how] > 0 && i == places_of_one[how])
            value = 30;
        put(type, x, i, descending ? 255 - value : value);
    }
}

/* No others come before the last of these: they are no better, and lie behind. */
static void rank(weft_type type, shape how, bool descending, const void *x, ranked *right) {
    const size_t count = places_of_one[how] > 0 ? K + 1 : K;
    for (size_t j = 0; j < count; j++) {
        const size_t at = j < K ? j : places_of_one[how];
        const double v = value_at(type, x, at);
        right[j] = (ranked){descending ? -v : v, at};
    }
    qsort(right, count, sizeof *right, by_value);
}

static void check(const char *place, weft_type type, shape how, bool descending, const void *x,
                  const ranked *right, void *values, uint64_t *positions) {
    weft_context *const ctx = test_open(place);
    assert_int_equal(weft_top_k(ctx, descending ? WEFT_DESCENDING : WEFT_ASCENDING, type, N, x, K,
                                values, positions),
                     WEFT_OK);
    weft_close(ctx);
    for (size_t j = 0; j < K; j++)
        if (positions[j] != right[j].at ||
            value_at(type, values, j) != value_at(type, x, right[j].at))
            fail_msg("%s, %s, shape %d, descending %d: number %zu is x[%llu], should be x[%zu]",
                     place, test_type_name(type), (int)how, descending, j,
                     (unsigned long long)positions[j], right[j].at);
}

static void first_elements_are_first(void **state) {
    (void)state;
    if (!test_size_wanted(N))
        return;
    test_random random = test_random_at(41);
    void *const x = malloc(N * sizeof(double)), *const values = malloc(K * sizeof(double));
    ranked *const right = malloc((K + 1) * sizeof *right);
    uint64_t *const positions = malloc(K * sizeof *positions);
    assert_true(x && values && right && positions);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        const bool descending = test_below(&random, 2);
        for (int how = 0; how < SHAPES; how++) {
            draw(&random, types[t], (shape)how, descending, x);
            rank(types[t], (shape)how, descending, x, right);
            check("cpu:1", types[t], (shape)how, descending, x, right, values, positions);
            check("cpu:3", types[t], (shape)how, descending, x, right, values, positions);
        }
    }
    free(x);
    free(values);
    free(right);
    free(positions);
}

/* Finds the first K of N numbers, which are smaller than 2^53, by one thread and by several. */
static void check_numbers(const uint64_t *x) {
    uint64_t *const values = malloc(K * sizeof *values);
    uint64_t *const positions = malloc(K * sizeof *positions);
    ranked *const right = malloc(N * sizeof *right);
    assert_true(values && positions && right);
    for (size_t i = 0; i < N; i++)
        right[i] = (ranked){(double)x[i], i};
    qsort(right, N, sizeof *right, by_value);
    check("cpu:1", WEFT_U64, NOWHERE, false, x, right, values, positions);
    check("cpu:3", WEFT_U64, NOWHERE, false, x, right, values, positions);
    free(values);
    free(positions);
    free(right);
}

/* All samples come before all others, so few elements are found where the k-th is expected. */
static void samples_may_mislead(void **state) {
    (void)state;
    if (!test_size_wanted(N))
        return;
    test_random random = test_random_at(42);
    uint64_t *const x = malloc(N * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < N; i++)
        x[i] = SAMPLES + test_below(&random, 1 << 30);
    for (size_t j = 0, apart = N / SAMPLES; j < SAMPLES; j++)
        x[j * apart + j * 7919 % apart] = test_below(&random, SAMPLES);
    check_numbers(x);
    free(x);
}

/* More elements are equal to the k-th than the call can sort, though the threads together have the
 * memory to collect them all. */
static void many_are_equal(void **state) {
    enum {
        EQUAL = 60000
    };
    (void)state;
    if (!test_size_wanted(N))
        return;
    uint64_t *const x = malloc(N * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < N; i++)
        x[i] = 1 + i; /* the first is not among the first k */
    for (size_t j = 0, apart = N / EQUAL; j < EQUAL; j++)
        x[1 + j * apart] = 0;
    check_numbers(x);
    free(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(first_elements_are_first),
                                       cmocka_unit_test(samples_may_mislead),
                                       cmocka_unit_test(many_are_equal)};
    return cmocka_run_group_tests_name("sort first", tests, NULL, NULL);
}
