/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of overhead.py in C: prints the microseconds of each. It loads the library as Python
 * does.
 *     overhead LIBRARY PLACE */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "weft/core.h"
#include "weft/exact.h"
#include "weft/reduce.h"
#include "weft/scan.h"
#include "weft/sort.h"

enum {
    N = 16,
    TIMES = 2000,
    ROUNDS = 30
};

static weft_context *ctx;
static float x[N], y[N], ordered[N], number;
static int64_t positions[N];

#define CALLS(CALL)                                                                                \
    CALL(weft_open)                                                                                \
    CALL(weft_close)                                                                               \
    CALL(weft_sort)                                                                                \
    CALL(weft_sort_indices)                                                                        \
    CALL(weft_exact_reduce)                                                                        \
    CALL(weft_exact_dot)                                                                           \
    CALL(weft_reduce)                                                                              \
    CALL(weft_scan)                                                                                \
    CALL(weft_search)
#define POINTER(name) static __typeof__(name) *p_##name;
CALLS(POINTER)

static weft_status run(int which) {
    switch (which) {
    case 0:
        return p_weft_sort(ctx, WEFT_ASCENDING, WEFT_F32, N, x, y);
    case 1:
        return p_weft_sort_indices(ctx, WEFT_ASCENDING, WEFT_F32, N, x, WEFT_I64, positions);
    case 2:
        return p_weft_exact_reduce(ctx, WEFT_SUM, WEFT_F32, N, x, WEFT_F32, &number);
    case 3:
        return p_weft_reduce(ctx, WEFT_SUM, WEFT_F32, N, x, &number);
    case 4:
        return p_weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_F32, N, x, y, NULL);
    case 5:
        return p_weft_reduce(ctx, WEFT_MAX, WEFT_F32, N, x, &number);
    case 6:
        return p_weft_exact_dot(ctx, WEFT_F32, N, x, x, WEFT_F32, &number);
    default:
        return p_weft_search(ctx, WEFT_LOWER, WEFT_ASCENDING, WEFT_F32, N, ordered, N, x,
                             (uint64_t *)positions);
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
    static const char *const names[] = {"sort",   "argsort", "sum", "sum_fast",
                                        "cumsum", "max",     "dot", "searchsorted"};
    void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (library == NULL)
        return 2;
#define FIND(name) *(void **)&p_##name = dlsym(library, #name);
    CALLS(FIND)
    if (p_weft_open(&ctx, argv[2]) != WEFT_OK)
        return 1;
    for (int i = 0; i < N; i++) {
        x[i] = (float)((i * 7) % N);
        ordered[i] = (float)i;
    }
    for (int which = 0; which < 8; which++) {
        double best = 1;
        for (int round = 0; round < ROUNDS; round++) {
            double start = now();
            for (int k = 0; k < TIMES; k++) {
                if (run(which) != WEFT_OK)
                    return 1;
            }
            double each = (now() - start) / TIMES;
            best = each < best ? each : best;
        }
        printf("%s %.4f\n", names[which], 1e6 * best);
    }
    p_weft_close(ctx);
    return 0;
}
