/* SPDX-License-Identifier: Apache-2.0 */
/* Races the rungs of lu over all GPUs of a place against one of them, on the same random matrices:
 * one JSON object a line. Each answer is checked by the residual of a system that is solved with
 * the factors; a wrong one ends the program with status 1. Matrices lie where weft_alloc of each
 * place puts them.
 *
 *   gpus_lu_peer [PLACE [ONE [N ...]]]    on PLACE (gpus) and ONE (gpu:0), of order N (8192 16384
 * 32768) */

#include "clock.h"
#include "gpus_lu.h"

enum {
    SAMPLES = 5,
    COLUMNS_MOST = 8192 /* the largest order of rung ranks_columns */
};

static size_t n;

/* The median time of SAMPLES factorizations. */
static double measure(const side *s, const double *matrix) {
    double seconds[SAMPLES];
    for (int k = 0; k < SAMPLES; k++) {
        check(s, weft_copy(s->ctx, s->a, matrix, n * n * sizeof *s->a));
        check(s, weft_sync(s->ctx));
        const double begin = now();
        check(s, weft_lu_factor(s->ctx, 0, WEFT_F64, n, n, s->a, n, s->pivot));
        seconds[k] = now() - begin;
    }
    return median(seconds, SAMPLES);
}

static bool report(const char *rung, const side *s, double seconds, double one_seconds,
                   double ratio) {
    printf("{\"op\": \"lu\", \"variant\": \"%s\", \"n\": %zu, \"type\": \"f64\", \"place\": "
           "\"%s\", \"comm\": \"%s\", \"seconds\": %.6e, \"one_seconds\": %.6e, \"TF_per_s\": "
           "%.2f, \"times\": %.3f, \"residual\": %.3g%s}\n",
           rung, n, weft_place(s->ctx), weft_comm(s->ctx), seconds, one_seconds,
           lu_rate(n, seconds), one_seconds / seconds, ratio,
           ratio <= RATIO ? "" : ", \"wrong\": 1");
    fflush(stdout);
    return ratio <= RATIO;
}

static bool race(side *one, side *all) {
    static const char *const rungs[] = {"ranks", "ranks_blocks", "ranks_columns"};
    double *const matrix = malloc(n * n * sizeof *matrix), *const b = malloc(n * sizeof *b);
    uint64_t state = n;
    bool right = true;
    if (!matrix || !b)
        return false;
    for (size_t e = 0; e < n * n + n; e++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const double x = (double)(int64_t)state * 0x1p-63;
        *(e < n * n ? &matrix[e] : &b[e - n * n]) = x;
    }
    take(one, n), take(all, n);
    check(one, weft_alloc(one->ctx, (void **)&one->b, n * n * sizeof *matrix));
    check(one, weft_copy(one->ctx, one->b, matrix, n * n * sizeof *matrix));
    const double seconds = measure(one, matrix);
    right = report(weft_used(one->ctx, "lu"), one, seconds, seconds,
                   residual_of_factors(one, one, n, b));
    for (size_t k = 0; k < sizeof rungs / sizeof *rungs; k++) {
        if (k == 2 && n > COLUMNS_MOST)
            continue;
        check(all, weft_use(all->ctx, "lu", rungs[k]));
        const double all_seconds = measure(all, matrix);
        right = report(rungs[k], all, all_seconds, seconds, residual_of_factors(all, one, n, b)) &&
                right;
    }
    check(one, weft_free(one->ctx, one->b));
    give(one), give(all);
    free(matrix), free(b);
    return right;
}

int main(int argc, char **argv) {
    static const size_t orders[] = {8192, 16384, 32768};
    side one = {0}, all = {0};
    bool right = true;
    open_side(&one, argc > 2 ? argv[2] : "gpu:0");
    open_side(&all, argc > 1 ? argv[1] : "gpus");
    for (int k = 3; k < (argc > 3 ? argc : 6); k++) {
        n = argc > 3 ? strtoull(argv[k], NULL, 10) : orders[k - 3];
        right = race(&one, &all) && right;
    }
    weft_close(one.ctx);
    weft_close(all.ctx);
    return right ? 0 : 1;
}
