/* SPDX-License-Identifier: Apache-2.0 */
/* Run lengths and positions of arrays that several threads share, dense and sparse ones. */
#include "select/select.h"

#include <stdlib.h>
#include <string.h>

#include "testing.h"

enum {
    N = (1 << 20) + 77
};

static const char *const places[] = {"cpu:1", "cpu:2", "cpu:7"};
static const size_t longest[] = {1, 2, 20, 3000};

/* Runs of up to `most` elements; where they begin, and N behind. */
static size_t draw(test_random *r, size_t most, uint32_t *x, uint64_t *begins) {
    size_t runs = 0;
    for (size_t at = 0; at < N; runs++) {
        const size_t length = 1 + (size_t)test_below(r, most);
        begins[runs] = at;
        for (size_t end = at + length; at < end && at < N; at++)
            x[at] = (uint32_t)runs * 77;
    }
    begins[runs] = N;
    return runs;
}

static uint64_t element(weft_type type, const void *p, size_t k) {
    return type == WEFT_U32 ? ((const uint32_t *)p)[k] : ((const uint64_t *)p)[k];
}

static void check(const char *place, weft_type type, size_t runs, const uint32_t *x,
                  const uint64_t *begins, uint32_t *values, void *lengths) {
    weft_context *const ctx = test_open(place);
    uint64_t count = 0;
    memset(lengths, 0xa5, N * sizeof(uint64_t));
    test_use(ctx, "select", test_row_named(&wi_select_ladder, "threads"));
    assert_int_equal(weft_run_length(ctx, WEFT_U32, N, x, values, type, lengths, &count), WEFT_OK);
    weft_close(ctx);
    if (count != runs)
        fail_msg("%s: %llu runs, should be %zu", place, (unsigned long long)count, runs);
    for (size_t k = 0; k < runs; k++)
        if (element(type, lengths, k) != begins[k + 1] - begins[k] || values[k] != x[begins[k]])
            fail_msg("%s: run %zu of %zu is %llu of %u, should be %llu of %u", place, k, runs,
                     (unsigned long long)element(type, lengths, k), values[k],
                     (unsigned long long)(begins[k + 1] - begins[k]), x[begins[k]]);
    for (size_t i = runs * weft_type_size(type); i < N * sizeof(uint64_t); i++)
        if (((unsigned char *)lengths)[i] != 0xa5)
            fail_msg("%s: byte %zu behind the lengths was written", place, i);
}

static void lengths_by_threads(void **state) {
    (void)state;
    if (!test_size_wanted(N))
        return;
    test_random random = test_random_at(12);
    uint32_t *const x = malloc(N * sizeof *x), *const values = malloc(N * sizeof *values);
    uint64_t *const begins = malloc((N + 1) * sizeof *begins);
    void *const lengths = malloc(N * sizeof(uint64_t));
    assert_true(x && values && begins && lengths);
    for (size_t l = 0; l < sizeof longest / sizeof *longest; l++) {
        const size_t runs = draw(&random, longest[l], x, begins);
        for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
            check(places[k], WEFT_U32, runs, x, begins, values, lengths);
            check(places[k], WEFT_U64, runs, x, begins, values, lengths);
        }
    }
    free(x);
    free(values);
    free(begins);
    free(lengths);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(lengths_by_threads)};
    return cmocka_run_group_tests_name("select lengths", tests, NULL, NULL);
}
