/* SPDX-License-Identifier: Apache-2.0 */
/* Different contexts at the same time, one in each thread: each computes what it would alone, to
 * the bit, and has its own messages. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"

enum {
    THREADS = 4,
    COUNT = 70001,
#ifdef WEFT_EMU
    ROUNDS = 4, /* kernels are slow there */
#else
    ROUNDS = 20,
#endif
    TEXT_BYTES = 256
};

/* The results of one round. */
typedef struct answers {
    float sum;
    double norm;
    uint64_t at;
    float *added, *scanned;
} answers;

/* Passed to a thread and back. Only the main thread can use cmocka's assertions. */
typedef struct job {
    const char *place;
    const float *x, *y;
    const answers *right;
    char failure[TEXT_BYTES];
} job;

static bool answers_open(answers *a) {
    memset(a, 0, sizeof *a);
    a->added = malloc(COUNT * sizeof *a->added);
    a->scanned = malloc(COUNT * sizeof *a->scanned);
    return a->added && a->scanned;
}

static void answers_close(answers *a) {
    free(a->added);
    free(a->scanned);
}

static bool compute(weft_context *ctx, const float *x, const float *y, answers *a) {
    double wide[2];
    for (int i = 0; i < 2; i++) {
        wide[i] = (double)x[i];
    }
    return weft_reduce(ctx, WEFT_SUM, WEFT_F32, COUNT, x, &a->sum) == WEFT_OK &&
           weft_reduce(ctx, WEFT_ARGMAX, WEFT_F32, COUNT, y, &a->at) == WEFT_OK &&
           weft_reduce(ctx, WEFT_NRM2, WEFT_F64, 2, wide, &a->norm) == WEFT_OK &&
           weft_add(ctx, WEFT_F32, COUNT, x, y, a->added) == WEFT_OK &&
           weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_F32, COUNT, x, a->scanned, NULL) ==
               WEFT_OK;
}

static bool same(const answers *a, const answers *b) {
    return memcmp(&a->sum, &b->sum, sizeof a->sum) == 0 &&
           memcmp(&a->norm, &b->norm, sizeof a->norm) == 0 && a->at == b->at &&
           memcmp(a->added, b->added, COUNT * sizeof *a->added) == 0 &&
           memcmp(a->scanned, b->scanned, COUNT * sizeof *a->scanned) == 0;
}

/* One wrong call: its message must be this context's, whatever the other threads do. */
static bool message_is_own(weft_context *ctx) {
    float result;
    return weft_dot(ctx, WEFT_F32, 1, NULL, NULL, &result) == WEFT_EARG &&
           test_has_word(weft_message(ctx), "weft_dot");
}

static void run_rounds(weft_context *ctx, job *j) {
    answers got;
    if (!answers_open(&got)) {
        snprintf(j->failure, TEXT_BYTES, "no memory");
    }
    for (int round = 0; round < ROUNDS && !*j->failure; round++) {
        if (!compute(ctx, j->x, j->y, &got)) {
            snprintf(j->failure, TEXT_BYTES, "round %d: %s", round, weft_message(ctx));
        } else if (!same(&got, j->right)) {
            snprintf(j->failure, TEXT_BYTES, "round %d: other bits than alone", round);
        } else if (!message_is_own(ctx)) {
            snprintf(j->failure, TEXT_BYTES, "round %d: message \"%.100s\"", round,
                     weft_message(ctx));
        }
    }
    answers_close(&got);
}

static void *work(void *argument) {
    job *j = argument;
    weft_context *ctx = NULL;
    char nowhere[32];
    snprintf(nowhere, sizeof nowhere, "no-place-%p", argument);
    if (weft_open(&ctx, nowhere) == WEFT_OK || !strstr(weft_message(NULL), nowhere)) {
        snprintf(j->failure, TEXT_BYTES, "opening \"%s\": \"%.100s\"", nowhere, weft_message(NULL));
        weft_close(ctx);
    } else if (weft_open(&ctx, j->place) != WEFT_OK) {
        snprintf(j->failure, TEXT_BYTES, "%.200s", weft_message(NULL));
    } else {
        run_rounds(ctx, j);
        weft_close(ctx);
    }
    return NULL;
}

/* THREADS threads on each of the places, all at once. */
static void run_jobs(const char *const places[], const answers right[], size_t count,
                     const float *x, const float *y) {
    static job jobs[TEST_MAX_PLACES * THREADS];
    pthread_t threads[TEST_MAX_PLACES * THREADS];
    for (size_t k = 0; k < count * THREADS; k++) {
        jobs[k] = (job){.place = places[k % count], .x = x, .y = y, .right = &right[k % count]};
        assert_int_equal(pthread_create(&threads[k], NULL, work, &jobs[k]), 0);
    }
    for (size_t k = 0; k < count * THREADS; k++) {
        pthread_join(threads[k], NULL);
    }
    for (size_t k = 0; k < count * THREADS; k++) {
        if (*jobs[k].failure) {
            fail_msg("thread %zu on %s: %s", k, jobs[k].place, jobs[k].failure);
        }
    }
}

static void test_contexts_at_once(void **state) {
    (void)state;
    const char *places[TEST_MAX_PLACES];
    answers right[TEST_MAX_PLACES];
    size_t count = test_places(places);
    float *x = malloc(COUNT * sizeof *x), *y = malloc(COUNT * sizeof *y);
    test_random random = test_random_at(6);
    assert_true(x && y);
    test_fill(&random, TEST_ANY, WEFT_F32, COUNT, x);
    test_fill(&random, TEST_ANY, WEFT_F32, COUNT, y);
    for (size_t k = 0; k < count; k++) {
        weft_context *ctx = test_open(places[k]);
        assert_true(answers_open(&right[k]));
        assert_true(compute(ctx, x, y, &right[k]));
        weft_close(ctx);
    }
    run_jobs(places, right, count, x, y);
    for (size_t k = 0; k < count; k++) {
        answers_close(&right[k]);
    }
    free(x);
    free(y);
}

/* A context may move from thread to thread, as long as only one uses it at a time. */
static void *use_context(void *argument) {
    weft_context *ctx = argument;
    int32_t x[3] = {1, 2, 3};
    int64_t sum = 0;
    bool right = weft_reduce(ctx, WEFT_SUM, WEFT_I32, 3, x, &sum) == WEFT_OK && sum == 6;
    return right ? ctx : NULL;
}

static void context_moves(weft_context *ctx) {
    for (int k = 0; k < 3; k++) {
        pthread_t thread;
        void *result = NULL;
        assert_int_equal(pthread_create(&thread, NULL, use_context, ctx), 0);
        pthread_join(thread, &result);
        assert_ptr_equal(result, ctx);
    }
    assert_ptr_equal(use_context(ctx), ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contexts_at_once),
        TEST_ON_EACH_PLACE(context_moves),
    };
    return cmocka_run_group_tests_name("concurrency", tests, NULL, NULL);
}
