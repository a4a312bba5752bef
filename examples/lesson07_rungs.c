/* SPDX-License-Identifier: Apache-2.0 */
/* Lesson 7: every way to compute the same prefix sums, by name, with the time that each takes.
 *     lesson07_rungs [PLACE [N]] */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <weft/weft.h>

static weft_context *ctx;

static void check(weft_status status) {
    if (status == WEFT_OK)
        return;
    fprintf(stderr, "%s\n", weft_message(ctx));
    exit(1);
}

static double seconds(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Milliseconds of one scan of device memory, from the call to the end of the work. */
static double scan(size_t n, const int32_t *d_x, int32_t *d_y) {
    check(weft_inclusive(ctx, WEFT_SUM, n, d_x, d_y)); /* the first call takes scratch memory */
    check(weft_sync(ctx));
    const double start = seconds();
    check(weft_inclusive(ctx, WEFT_SUM, n, d_x, d_y));
    check(weft_sync(ctx));
    return 1e3 * (seconds() - start);
}

int main(int argc, char **argv) {
    static const char *const rungs[] = {"serial",     "blocked",  "doubling", "doubling_shared",
                                        "three_pass", "lookback", "bulk",     "auto"};
    const size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 4000000;
    const int32_t one = 1;
    int32_t *d_x, *d_y, last;
    check(weft_open(&ctx, argc > 1 ? argv[1] : NULL));
    check(weft_alloc(ctx, (void **)&d_x, n * sizeof *d_x));
    check(weft_alloc(ctx, (void **)&d_y, n * sizeof *d_y));
    check(weft_fill(ctx, WEFT_I32, n, &one, d_x));
    printf("on %s: prefix sums of %zu ones\n", weft_place(ctx), n);
    for (size_t k = 0; k < sizeof rungs / sizeof *rungs; k++) {
        /* Names of another kind of place are refused; so are calls that a rung cannot do. */
        if (weft_use(ctx, "scan", rungs[k]) != WEFT_OK ||
            weft_inclusive(ctx, WEFT_SUM, n, d_x, d_y) == WEFT_EUNSUPPORTED) {
            printf("%-15s  does not fit here\n", rungs[k]);
            continue;
        }
        const double ms = scan(n, d_x, d_y);
        check(weft_copy(ctx, &last, d_y + n - 1, sizeof last));
        printf("%-15s  last %d, %.2f ms\n", weft_used(ctx, "scan"), (int)last, ms);
    }
    check(weft_free(ctx, d_y));
    check(weft_free(ctx, d_x));
    weft_close(ctx);
    return 0;
}
