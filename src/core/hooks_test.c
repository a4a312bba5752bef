/* SPDX-License-Identifier: Apache-2.0 */
/* What a caller may replace: the allocator and the handler of errors. And the version. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sparse/generate.h"
#include "testing.h"

/* ---- allocator ---- */

enum {
    POISON = 0xA5
};

/* What an allocator has handed out. Threads share it. */
typedef struct ledger {
    pthread_mutex_t lock;
    size_t taken, held, refuse_from; /* calls; blocks; the first call that gets none */
    bool misaligned;
} ledger;

static void *allocate(void *user, size_t alignment, size_t bytes) {
    ledger *const l = user;
    pthread_mutex_lock(&l->lock);
    const bool refused = l->taken++ >= l->refuse_from;
    l->held += !refused;
    l->misaligned = l->misaligned || alignment < 64 || (alignment & (alignment - 1)) || bytes == 0;
    pthread_mutex_unlock(&l->lock);
    if (refused)
        return NULL;
    void *const p = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    memset(p, POISON, bytes);
    return p;
}

static void release(void *user, void *p) {
    ledger *const l = user;
    pthread_mutex_lock(&l->lock);
    l->held--;
    l->misaligned = l->misaligned || !p;
    pthread_mutex_unlock(&l->lock);
    free(p);
}

/* A session with memory of every kind: of the place, temporary, of plans, and by pages. */
static void run_session(weft_context *ctx) {
    enum {
        N = 100000
    };
    weft_sparse *matrix;
    weft_chol *plan;
    void *x;
    const double one = 1;
    const weft_chol_options options = {.size = sizeof options, .ordering = "dissect"};
    assert_int_equal(weft_alloc(ctx, &x, N * sizeof(double)), WEFT_OK);
    assert_int_equal(weft_fill(ctx, WEFT_F64, N, &one, x), WEFT_OK);
    assert_int_equal(weft_sort(ctx, WEFT_ASCENDING, WEFT_F64, N, x, x), WEFT_OK);
    assert_int_equal(
        wi_find_generator("laplace2d")->make(ctx, "test", &(wi_recipe){.n = 60}, &matrix), WEFT_OK);
    assert_int_equal(weft_chol_analyze(ctx, matrix, &options, &plan), WEFT_OK);
    assert_int_equal(weft_chol_factor(ctx, plan, matrix), WEFT_OK);
    const size_t n = weft_sparse_rows(matrix);
    double *const b = malloc(n * sizeof *b);
    for (size_t i = 0; i < n; i++)
        b[i] = 1;
    assert_int_equal(weft_chol_solve(ctx, plan, matrix, NULL, 1, b, n, b, n), WEFT_OK);
    assert_true(b[0] > 0 && b[0] < 100);
    free(b);
    assert_int_equal(weft_free(ctx, x), WEFT_OK);
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
}

static void test_allocator(void **state) {
    (void)state;
    ledger l = {.lock = PTHREAD_MUTEX_INITIALIZER, .refuse_from = SIZE_MAX};
    const weft_allocator callers = {sizeof callers, allocate, release, &l};
    weft_context *ctx;
    assert_int_equal(weft_set_allocator(&callers), WEFT_OK);
    assert_int_equal(weft_open(&ctx, "cpu:3"), WEFT_OK);
    run_session(ctx);
    assert_true(l.taken > 20 && l.held > 0 && !l.misaligned);

    assert_int_equal(weft_set_allocator(NULL), WEFT_EARG); /* in use */
    assert_non_null(strstr(weft_message(NULL), "blocks"));
    weft_close(ctx);
    assert_int_equal(l.held, 0);

    l.refuse_from = l.taken;
    assert_int_equal(weft_open(&ctx, "cpu:1"), WEFT_ENOMEM);
    assert_int_equal(l.held, 0);

    const size_t taken = l.taken;
    assert_int_equal(weft_set_allocator(NULL), WEFT_OK);
    assert_int_equal(weft_open(&ctx, "cpu:1"), WEFT_OK);
    run_session(ctx);
    weft_close(ctx);
    assert_int_equal(l.taken, taken);
}

static void test_wrong_allocators(void **state) {
    (void)state;
    const weft_allocator small = {sizeof small - 1, allocate, release, NULL},
                         no_allocate = {sizeof small, NULL, release, NULL},
                         no_release = {sizeof small, allocate, NULL, NULL};
    assert_int_equal(weft_set_allocator(&small), WEFT_EARG);
    assert_non_null(strstr(weft_message(NULL), "sizeof(weft_allocator)"));
    assert_int_equal(weft_set_allocator(&no_allocate), WEFT_EARG);
    assert_non_null(strstr(weft_message(NULL), "allocate is NULL"));
    assert_int_equal(weft_set_allocator(&no_release), WEFT_EARG);
    assert_non_null(strstr(weft_message(NULL), "release is NULL"));
}

/* ---- errors ---- */

typedef struct record {
    int calls;
    weft_status status;
    char text[512];
} record;

static void remember(void *user, weft_status status, const char *message) {
    record *const r = user;
    r->calls++;
    r->status = status;
    snprintf(r->text, sizeof r->text, "%s", message);
}

static void errors(weft_context *ctx) {
    record r = {0};
    float x[2] = {1, 2};
    assert_int_equal(weft_on_error(ctx, remember, &r), WEFT_OK);
    assert_int_equal(weft_add(ctx, WEFT_F32, 2, x, x, x), WEFT_OK);
    assert_int_equal(r.calls, 0);
    assert_int_equal(weft_add(ctx, WEFT_F32, 2, NULL, x, x), WEFT_EARG);
    assert_int_equal(r.calls, 1);
    assert_int_equal(r.status, WEFT_EARG);
    assert_string_equal(r.text, weft_message(ctx));
    assert_int_equal(weft_use(ctx, "nothing", "at all"), WEFT_EARG);
    assert_int_equal(r.calls, 2);
    assert_int_equal(weft_on_error(ctx, NULL, NULL), WEFT_OK);
    assert_int_equal(weft_add(ctx, WEFT_F32, 2, NULL, x, x), WEFT_EARG);
    assert_int_equal(r.calls, 2);
}

/* A matrix that is singular in f32 is solved in f64 after all: the handler is not called. */
static void fallback(weft_context *ctx) {
    record r = {0};
    const weft_solve_options mixed = {.size = sizeof mixed, .precision = WEFT_PRECISION_MIXED};
    weft_report report = {.size = sizeof report};
    const double a[4] = {1, 1, 1, 1 + 0x1p-40}, zeros[4] = {0};
    double x[2] = {1, 2};
    assert_int_equal(weft_on_error(ctx, remember, &r), WEFT_OK);
    assert_int_equal(weft_solve(ctx, 0, WEFT_F64, 2, 1, a, 2, x, 2, x, 2, &mixed, &report),
                     WEFT_OK);
    assert_true(report.fell_back);
    assert_int_equal(r.calls, 0);
    assert_int_equal(weft_solve(ctx, 0, WEFT_F64, 2, 1, zeros, 2, x, 2, x, 2, &mixed, &report),
                     WEFT_ESINGULAR);
    assert_int_equal(r.status, WEFT_ESINGULAR);
    assert_string_equal(r.text, weft_message(ctx));
    assert_int_equal(weft_on_error(ctx, NULL, NULL), WEFT_OK);
}

static void test_version(void **state) {
    (void)state;
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR,
             WEFT_VERSION_PATCH);
    assert_string_equal(weft_version(), text);
#if WEFT_VERSION_AT_LEAST(WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR + 1, 0) ||                        \
    WEFT_VERSION_AT_LEAST(WEFT_VERSION_MAJOR + 1, 0, 0) ||                                         \
    !WEFT_VERSION_AT_LEAST(WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR, WEFT_VERSION_PATCH) ||          \
    !WEFT_VERSION_AT_LEAST(0, 0, 99)
    fail_msg("WEFT_VERSION_AT_LEAST is wrong");
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allocator), cmocka_unit_test(test_wrong_allocators),
        TEST_ON_EACH_PLACE(errors),       TEST_ON_EACH_PLACE(fallback),
        cmocka_unit_test(test_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
