/* SPDX-License-Identifier: Apache-2.0 */
/* What the races of the sparse slice share: the matrices, the clock, and the median of a call. */
#ifndef WEFT_PEERS_MATRICES_H
#define WEFT_PEERS_MATRICES_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "sparse/generate.h"
#include "weft/weft.h"

enum {
    LEAST_REPEATS = 9,
    MOST_MATRICES = 64,
    MOST_REPEATS = 99
};

static inline void fail(weft_context *ctx) {
    fprintf(stderr, "peer: %s\n", weft_message(ctx));
    exit(1);
}

static inline int compare_seconds(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double median(const double *seconds, int count) {
    double sorted[MOST_REPEATS];
    memcpy(sorted, seconds, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, compare_seconds);
    return sorted[count / 2];
}

/* The median of as many runs as take a second, nine at least; of slow ones, of three. */
static inline double median_seconds(void (*run)(void *), void *what) {
    double seconds[MOST_REPEATS], total = 0;
    int count = 0;
    run(what);
    do {
        const double begin = now();
        run(what);
        seconds[count] = now() - begin;
        total += seconds[count++];
    } while (count < MOST_REPEATS && (total < 1 || count < (total > 3 ? 3 : LEAST_REPEATS)));
    return median(seconds, count);
}

/* A problem to generate; the large ones are left out of a quick race. */
typedef struct made_matrix {
    const char *kind;
    size_t n;
    bool large;
} made_matrix;

typedef void race_matrix(weft_context *ctx, const char *name, const weft_sparse *matrix);

static inline int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Races every symmetric matrix of a folder of Matrix Market files, in the order of their names. */
static inline void race_folder(weft_context *ctx, const char *folder, race_matrix *race) {
    char *names[MOST_MATRICES], path[4096];
    size_t found = 0;
    DIR *const listing = opendir(folder);
    if (!listing) {
        fprintf(stderr, "peer: cannot list WEFT_MATRICES=%s\n", folder);
        exit(1);
    }
    for (const struct dirent *entry; (entry = readdir(listing)) && found < MOST_MATRICES;) {
        const char *const ending = strrchr(entry->d_name, '.');
        if (ending && strcmp(ending, ".mtx") == 0)
            names[found++] = strdup(entry->d_name);
    }
    closedir(listing);
    qsort(names, found, sizeof *names, by_name);
    for (size_t k = 0; k < found; k++) {
        weft_sparse *matrix;
        snprintf(path, sizeof path, "%s/%s", folder, names[k]);
        if (weft_sparse_read(ctx, &matrix, path) != WEFT_OK)
            fail(ctx);
        if (weft_sparse_is_symmetric(matrix))
            race(ctx, names[k], matrix);
        weft_sparse_destroy(matrix);
        free(names[k]);
    }
}

static inline void race_made(weft_context *ctx, const made_matrix *made, race_matrix *race) {
    const wi_recipe recipe = {.n = made->n, .seed = 1, .per_row = 6};
    char name[64];
    weft_sparse *matrix;
    if (wi_find_generator(made->kind)->make(ctx, "peer", &recipe, &matrix) != WEFT_OK)
        fail(ctx);
    snprintf(name, sizeof name, "%s %zu", made->kind, made->n);
    race(ctx, name, matrix);
    weft_sparse_destroy(matrix);
}

/* Races the matrices of the folder that WEFT_MATRICES names, and those made. */
static inline void race_all(weft_context *ctx, const made_matrix *made, size_t count, bool quick,
                            race_matrix *race) {
    const char *const folder = getenv("WEFT_MATRICES");
    if (folder)
        race_folder(ctx, folder, race);
    for (size_t k = 0; k < count; k++) {
        if (!quick || !made[k].large)
            race_made(ctx, &made[k], race);
    }
}

#endif
