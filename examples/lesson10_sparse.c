/* SPDX-License-Identifier: Apache-2.0 */
/* Lesson 10: sparse systems of one pattern, dealt out to all GPUs, each solved by a thread of its
 * own: how warm a heated plate becomes, for several strengths of cooling.
 *     lesson10_sparse [PLACE ...]      as gpu:0 gpu:1; without places, all GPUs or else the cpu */
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>
#include <weft/weft.h>

enum {
    SIDE = 24, /* points in a row of the plate */
    N = SIDE * SIDE,
    ENTRIES = 3 * N,
    SYSTEMS = 6,
    MOST_PLACES = 8
};

/* What one thread does: systems first, first + step, ... on its place. */
typedef struct worker {
    const char *place;
    int first, step;
    double *warmest; /* of every system */
    double worst;    /* backward error */
    char message[200];
} worker;

/* The lower triangle: each point loses heat to the air, and passes it on to its neighbours. */
static size_t cooled_plate(double cooling, int32_t *row, int32_t *col, double *value) {
    size_t k = 0;
    for (int32_t i = 0; i < N; i++) {
        row[k] = col[k] = i;
        value[k++] = 4 + cooling;
        if (i % SIDE > 0) {
            row[k] = i, col[k] = i - 1;
            value[k++] = -1;
        }
        if (i >= SIDE) {
            row[k] = i, col[k] = i - SIDE;
            value[k++] = -1;
        }
    }
    return k;
}

static weft_status solve_all(weft_context *ctx, worker *w) {
    int32_t row[ENTRIES], col[ENTRIES];
    double value[ENTRIES], x[N];
    weft_sparse *plate = NULL;
    weft_chol *plan = NULL;
    weft_chol_report report = {.size = sizeof report};
    size_t entries = cooled_plate(0.1, row, col, value);
    weft_status status = weft_sparse_create_triplets(ctx, &plate, WEFT_SYMMETRIC_LOWER, N, N,
                                                     entries, WEFT_I32, row, col, value);
    if (status == WEFT_OK) /* once: the pattern is always the same */
        status = weft_chol_analyze(ctx, plate, NULL, &plan);
    for (int k = w->first; k < SYSTEMS && status == WEFT_OK; k += w->step) {
        entries = cooled_plate(0.1 * (k + 1), row, col, value);
        for (int i = 0; i < N; i++)
            x[i] = i == N / 2 + SIDE / 2; /* a flame under the middle */
        status = weft_sparse_update(ctx, plate, entries, value);
        if (status == WEFT_OK)
            status = weft_chol_factor(ctx, plan, plate);
        if (status == WEFT_OK)
            status = weft_chol_solve(ctx, plan, plate, NULL, 1, x, N, x, N);
        if (status == WEFT_OK)
            status = weft_max(ctx, N, x, &w->warmest[k]);
        if (status == WEFT_OK)
            status = weft_chol_get_report(ctx, plan, &report);
        if (report.backward_error > w->worst)
            w->worst = report.backward_error;
    }
    weft_chol_destroy(plan);
    weft_sparse_destroy(plate);
    return status;
}

static int run(void *argument) {
    worker *const w = argument;
    weft_context *ctx;
    weft_status status = weft_open(&ctx, w->place); /* a context belongs to one thread */
    if (status == WEFT_OK)
        status = solve_all(ctx, w);
    if (status != WEFT_OK)
        snprintf(w->message, sizeof w->message, "%s", weft_message(ctx));
    weft_close(ctx);
    return (int)status;
}

/* The names of all GPUs that open; else "cpu". */
static int find_places(char names[MOST_PLACES][16], const char **places) {
    weft_context *ctx;
    int count = 0;
    for (; count < MOST_PLACES; count++) {
        snprintf(names[count], sizeof names[count], "gpu:%d", count);
        if (weft_open(&ctx, names[count]) != WEFT_OK)
            break;
        weft_close(ctx);
        places[count] = names[count];
    }
    if (count == 0)
        places[count++] = "cpu";
    return count;
}

int main(int argc, char **argv) {
    char names[MOST_PLACES][16];
    const char *places[MOST_PLACES];
    double warmest[SYSTEMS], worst = 0;
    worker workers[MOST_PLACES];
    thrd_t threads[MOST_PLACES];
    int count = argc - 1, failed = 0;
    if (count > MOST_PLACES) {
        fprintf(stderr, "at most %d places\n", MOST_PLACES);
        return 2;
    }
    for (int k = 0; k < count; k++)
        places[k] = argv[k + 1];
    if (count == 0)
        count = find_places(names, places);
    for (int k = 0; k < count; k++) {
        workers[k] = (worker){places[k], k, count, warmest, 0, ""};
        if (thrd_create(&threads[k], run, &workers[k]) != thrd_success)
            return 1;
    }
    for (int k = 0; k < count; k++) {
        int status;
        thrd_join(threads[k], &status);
        if (status != WEFT_OK)
            fprintf(stderr, "%s: %s\n", places[k], workers[k].message);
        failed |= status != WEFT_OK;
        worst = workers[k].worst > worst ? workers[k].worst : worst;
    }
    if (failed)
        return 1;
    printf("%d systems of %d unknowns, solved by %d contexts at once\n", SYSTEMS, N, count);
    for (int k = 0; k < SYSTEMS; k++)
        printf("cooling %.1f: warmest point %.4f\n", 0.1 * (k + 1), warmest[k]);
    printf("backward errors below 1e-15: %s\n", worst < 1e-15 ? "yes" : "no");
    return 0;
}
