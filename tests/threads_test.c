/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a context on the cpu: after a fork, with other work on all cores, with little
 * stack and few threads, how many there are, and where they may run. Whatever might hang or crash
 * runs in a child process with an alarm. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "testing.h"

enum {
    COUNT = 1 << 18, /* two threads' worth of f32 */
    PATIENCE_SECONDS = 30,
    CALL_BYTES = 1 << 16,   /* of stack, as weft/core.h says */
    THREAD_BYTES = 1 << 14, /* used by the system: thread-local variables, the first frame */
    KILLED = 1000           /* added to the signal that ended a child */
};

static float ones[COUNT];

static void fill_ones(void) {
    for (size_t i = 0; i < COUNT; i++)
        ones[i] = 1;
}

static bool sums_up(weft_context *ctx) {
    float sum = 0;
    return weft_sum(ctx, COUNT, ones, &sum) == WEFT_OK && sum == COUNT;
}

static int run_child(int (*body)(void *user), void *user) {
    int how = 0;
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(PATIENCE_SECONDS);
        _exit(body(user));
    }
    while (waitpid(child, &how, 0) < 0)
        assert_int_equal(errno, EINTR);
    return WIFEXITED(how) ? WEXITSTATUS(how) : KILLED + WTERMSIG(how);
}

/* ---- after a fork ---- */

static int open_and_sum(void *user) {
    weft_context *ctx = NULL;
    if (weft_open(&ctx, user) != WEFT_OK)
        return 1;
    const bool right = sums_up(ctx) && sums_up(ctx);
    weft_close(ctx);
    return right ? 0 : 2;
}

static int sum_twice(void *user) {
    const bool right = sums_up(user) && sums_up(user);
    weft_close(user);
    return right ? 0 : 2;
}

static int close_only(void *user) {
    weft_close(user);
    return 0;
}

static int sum_in_grandchild(void *user) {
    return sums_up(user) ? run_child(sum_twice, user) : 3;
}

/* In a child process, both its own context and one from before the fork work, as they do in the
 * parent afterwards. */
static void test_fork(void **state) {
    (void)state;
    weft_context *const ctx = test_open("cpu:2");
    fill_ones();
    assert_true(sums_up(ctx));
    assert_int_equal(run_child(open_and_sum, (void *)(uintptr_t) "cpu:2"), 0);
    assert_int_equal(run_child(sum_twice, ctx), 0);
    assert_int_equal(run_child(close_only, ctx), 0);
    assert_int_equal(run_child(sum_in_grandchild, ctx), 0);
    assert_true(sums_up(ctx));
    weft_close(ctx);
}

/* ---- with other work on all cores ---- */

static void *burn(void *stop) {
    while (!atomic_load_explicit((atomic_bool *)stop, memory_order_relaxed)) {
    }
    return NULL;
}

static int compare_doubles(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double usual_seconds(weft_context *ctx) {
    enum {
        CALLS = 101
    };
    double seconds[CALLS];
    for (int k = 0; k < CALLS; k++) {
        const double start = wi_now();
        assert_true(sums_up(ctx));
        seconds[k] = wi_now() - start;
    }
    qsort(seconds, CALLS, sizeof *seconds, compare_doubles);
    return seconds[CALLS / 2];
}

/* With every core busy, a call of about 30 us usually ends within a fraction of the scheduler's
 * time slice, which is 3 ms or more: it does not wait for threads that have not begun. */
static void test_busy_machine(void **state) {
    (void)state;
    enum {
        MOST = 64
    };
    pthread_t threads[MOST];
    atomic_bool stop = false;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const int burning = cores < MOST ? (int)cores : MOST;
    weft_context *const ctx = test_open("cpu:2");
    fill_ones();
    for (int k = 0; k < burning; k++)
        assert_int_equal(pthread_create(&threads[k], NULL, burn, &stop), 0);
    const double seconds = usual_seconds(ctx);
    atomic_store(&stop, true);
    for (int k = 0; k < burning; k++)
        pthread_join(threads[k], NULL);
    weft_close(ctx);
    if (!(seconds < 1e-3))
        fail_msg("a sum of %d on two threads of a busy machine usually takes %.0f us", COUNT,
                 1e6 * seconds);
}

/* ---- how many there are ---- */

static int sum_on_one(void *user) {
    weft_context *ctx = NULL;
    if (user && setenv("OMP_NUM_THREADS", user, 1) != 0)
        return 1;
    if (weft_open(&ctx, "cpu") != WEFT_OK || strcmp(weft_place(ctx), "cpu:1") != 0)
        return 2;
    const bool right = sums_up(ctx);
    weft_close(ctx);
    return right ? 0 : 3;
}

static int bind_to_one(void *user) {
    cpu_set_t all, one;
    int first = 0;
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return 0; /* more cores than the set holds */
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0 ? sum_on_one(user) : 1;
}

static void test_number(void **state) {
    (void)state;
    fill_ones();
    unsetenv("WEFT_THREADS");
    assert_int_equal(run_child(sum_on_one, (void *)(uintptr_t) "1"), 0);
    assert_int_equal(run_child(sum_on_one, (void *)(uintptr_t) "1,4"), 0);
    assert_int_equal(run_child(bind_to_one, (void *)(uintptr_t) "many"), 0);
}

/* ---- little stack, few threads ---- */

static weft_sparse *laplace(weft_context *ctx, size_t side) {
    const size_t n = side * side * side, most = 4 * n;
    int32_t *const row = malloc(most * sizeof *row), *const col = malloc(most * sizeof *col);
    double *const value = malloc(most * sizeof *value);
    weft_sparse *matrix = NULL;
    size_t count = 0;
    for (size_t k = 0; row && col && value && k < n; k++) {
        const size_t at[] = {k % side, k / side % side, k / side / side};
        const size_t step[] = {1, side, side * side};
        for (int d = -1; d < 3; d++) {
            if (d >= 0 && at[d] + 1 == side)
                continue;
            row[count] = (int32_t)(d < 0 ? k : k + step[d]);
            col[count] = (int32_t)k;
            value[count++] = d < 0 ? 6.5 : -1;
        }
    }
    if (weft_sparse_create_triplets(ctx, &matrix, WEFT_SYMMETRIC_LOWER, n, n, count, WEFT_I32, row,
                                    col, value) != WEFT_OK)
        matrix = NULL;
    free(row);
    free(col);
    free(value);
    return matrix;
}

/* Every ordering of our own, and a solve with refinement and so on. */
static bool solves(weft_context *ctx) {
    static const char *const orderings[] = {"amd", "dissect", "rcm", "best"};
    const size_t n = 20 * 20 * 20;
    weft_sparse *const matrix = laplace(ctx, 20);
    double *const b = malloc(n * sizeof *b);
    bool right = matrix && b;
    for (size_t k = 0; right && k < sizeof orderings / sizeof *orderings; k++) {
        const weft_chol_options options = {.size = sizeof options, .ordering = orderings[k]};
        const weft_chol_solve_options refined = {.size = sizeof refined, .refine = 1};
        weft_chol *plan = NULL;
        double condition = 0;
        for (size_t i = 0; i < n; i++)
            b[i] = 1;
        right = weft_chol_analyze(ctx, matrix, &options, &plan) == WEFT_OK &&
                weft_chol_factor(ctx, plan, matrix) == WEFT_OK &&
                weft_chol_solve(ctx, plan, matrix, &refined, 1, b, n, b, n) == WEFT_OK &&
                weft_chol_condition(ctx, plan, matrix, &condition) == WEFT_OK && b[0] > 0;
        weft_chol_destroy(plan);
    }
    free(b);
    weft_sparse_destroy(matrix);
    return right;
}

/* The calls whose parts have large tables. */
static bool sorts(weft_context *ctx, size_t n, const void *x, void *y, uint64_t *at) {
    static const weft_type types[] = {WEFT_U8, WEFT_F16, WEFT_F32, WEFT_F64};
    const weft_field fields[] = {{.offset = 0, .type = WEFT_U32}, {.offset = 4, .type = WEFT_U32}};
    const uint64_t offsets[] = {0, n / 2, n / 2 + 100, n};
    uint64_t position;
    bool right = weft_sort_records(ctx, n, 8, x, y, fields, 2) == WEFT_OK;
    for (size_t k = 0; right && k < sizeof types / sizeof *types; k++) {
        const weft_type t = types[k];
        right = weft_sort(ctx, WEFT_ASCENDING, t, n, x, y) == WEFT_OK &&
                weft_is_sorted(ctx, WEFT_ASCENDING, t, n, y, &position) == WEFT_OK &&
                position == WEFT_NOWHERE &&
                weft_search(ctx, WEFT_LOWER, WEFT_ASCENDING, t, n, y, n / 8, x, at) == WEFT_OK &&
                weft_sort_indices(ctx, WEFT_DESCENDING, t, n, x, WEFT_U64, at) == WEFT_OK &&
                weft_sort_segments(ctx, WEFT_DESCENDING, t, n, x, y, 0, NULL, NULL, 3, offsets) ==
                    WEFT_OK &&
                weft_top_k(ctx, WEFT_ASCENDING, t, n, x, 5, y, at) == WEFT_OK &&
                weft_merge(ctx, WEFT_ASCENDING, t, n / 2, x, n / 2, x, y, 0, NULL, NULL, NULL) ==
                    WEFT_OK;
    }
    return right;
}

static bool goes_through(weft_context *ctx, size_t n, const double *x, double *y) {
    const weft_predicate positive = {WEFT_GT, WEFT_F64, .a.f64 = 0};
    const weft_bins bins = {.count = 1000, .lo = -1, .hi = 1};
    uint64_t counts[1000], count;
    const double one = 1;
    return weft_reduce(ctx, WEFT_NRM2, WEFT_F64, n, x, y) == WEFT_OK &&
           weft_reduce(ctx, WEFT_ARGMAX, WEFT_F16, n, x, y) == WEFT_OK &&
           weft_inclusive(ctx, WEFT_SUM, n, x, y) == WEFT_OK &&
           weft_exclusive(ctx, WEFT_PRODUCT, n, x, y) == WEFT_OK &&
           weft_axpy(ctx, WEFT_F64, n, &one, x, y) == WEFT_OK &&
           weft_add(ctx, WEFT_F16, n, x, x, y) == WEFT_OK &&
           weft_select(ctx, positive, n, x, y, &count) == WEFT_OK &&
           weft_unique(ctx, WEFT_F64, n, x, y, &count) == WEFT_OK &&
           weft_copy(ctx, y, x, n * sizeof *x) == WEFT_OK &&
           weft_histogram(ctx, WEFT_F64, n, 1, x, &bins, WEFT_OVERWRITE, WEFT_U64, counts, NULL) ==
               WEFT_OK &&
           weft_histogram(ctx, WEFT_U16, n, 1, x, NULL, WEFT_OVERWRITE, WEFT_U64, y, NULL) ==
               WEFT_OK &&
           weft_histogram(ctx, WEFT_U8, n, 1, x, NULL, WEFT_OVERWRITE, WEFT_U64, y, NULL) ==
               WEFT_OK;
}

static void *use_everything(void *place) {
    enum {
        N = 1 << 18
    };
    weft_context *ctx = NULL;
    double *const x = malloc(N * sizeof *x), *const y = malloc(N * sizeof *y);
    uint64_t *const at = malloc(N * sizeof *at);
    if (x && y && at && weft_open(&ctx, place) == WEFT_OK) {
        for (uint64_t i = 0; i < N; i++)
            x[i] = (double)(int64_t)(i * UINT64_C(0x9E3779B97F4A7C15)) * 0x1p-63;
        if (!goes_through(ctx, N, x, y) || !sorts(ctx, N, x, y, at) || !solves(ctx)) {
            fprintf(stderr, "on %s: %s\n", weft_place(ctx), weft_message(ctx));
            place = NULL;
        }
    } else {
        place = NULL;
    }
    weft_close(ctx);
    free(x);
    free(y);
    free(at);
    return place;
}

/* On a thread whose stack is no larger than weft/core.h requires. */
static int use_little_stack(void *place) {
    pthread_attr_t attributes;
    pthread_t thread;
    void *result = NULL;
    if (pthread_attr_init(&attributes) != 0 ||
        pthread_attr_setstacksize(&attributes, (size_t)(CALL_BYTES + THREAD_BYTES)) != 0 ||
        pthread_create(&thread, &attributes, use_everything, place) != 0 ||
        pthread_join(thread, &result) != 0)
        return 1;
    return result == place ? 0 : 2;
}

/* A call continues with the threads that it gets. */
static int use_many_threads(void *place) {
    enum {
        N = 1 << 24
    };
    char line[256] = "";
    FILE *const file = fopen("/proc/self/statm", "r");
    float *const many = calloc(N, sizeof *many), sum = 1;
    weft_context *ctx = NULL;
    if (!many || !file || !fgets(line, sizeof line, file) || weft_open(&ctx, place) != WEFT_OK)
        return 1;
    const rlim_t now = (rlim_t)strtoul(line, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE);
    const struct rlimit limit = {now + ((rlim_t)80 << 20), RLIM_INFINITY};
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        return 1;
    return weft_sum(ctx, N, many, &sum) == WEFT_OK && sum == 0 ? 0 : 2;
}

static void test_little(void **state) {
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* its frames are larger, and it uses the whole address space */
#endif
    assert_int_equal(run_child(use_little_stack, (void *)(uintptr_t) "cpu:1"), 0);
    assert_int_equal(run_child(use_little_stack, (void *)(uintptr_t) "cpu:3"), 0);
    assert_int_equal(run_child(use_many_threads, (void *)(uintptr_t) "cpu:1000"), 0);
}

/* ---- where they may run ---- */

/* May this thread of the process run where the calling one may? True of one that has ended. */
static bool runs_anywhere(const char *thread) {
    cpu_set_t own, of_thread;
    const pid_t number = (pid_t)strtol(thread, NULL, 10);
    assert_int_equal(sched_getaffinity(0, sizeof own, &own), 0);
    return sched_getaffinity(number, sizeof of_thread, &of_thread) != 0 ||
           CPU_EQUAL(&own, &of_thread);
}

static bool all_run_anywhere(void) {
    DIR *const threads = opendir("/proc/self/task");
    bool all = true;
    for (struct dirent *one; threads && all && (one = readdir(threads));)
        all = one->d_name[0] == '.' || runs_anywhere(one->d_name);
    if (threads)
        closedir(threads);
    return all;
}

/* Threads that are woken on the caller's processor step aside, and are then as free as before. */
static void test_pauses(void **state) {
    (void)state;
    weft_context *const ctx = test_open("cpu:2");
    const struct timespec pause = {.tv_nsec = 5000000}; /* they sleep after one millisecond */
    for (int round = 0; round < 20; round++) {
        nanosleep(&pause, NULL);
        assert_true(sums_up(ctx));
    }
    for (int look = 0; look < 1000 && !all_run_anywhere(); look++)
        nanosleep(&pause, NULL);
    assert_true(all_run_anywhere());
    weft_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fork),   cmocka_unit_test(test_busy_machine),
        cmocka_unit_test(test_number), cmocka_unit_test(test_little),
        cmocka_unit_test(test_pauses),
    };
    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
