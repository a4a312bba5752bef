/* SPDX-License-Identifier: Apache-2.0 */
/* Sensor logs to groups: how many readings each sensor gave, their mean, the least and the largest.
 *     job_groups [PLACE]
 * Sorted by sensor the readings of each are neighbours; one call then combines every column. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weft/weft.h"

enum {
    ROWS = 300000,
    SENSORS = 50
};

static weft_context *ctx;
static uint32_t sensor[ROWS], key[ROWS];
static float reading[ROWS], sorted[ROWS], least[ROWS], most[ROWS];
static double value[ROWS], sum[ROWS];
static uint8_t one[ROWS];
static uint64_t count[ROWS];

static void check(weft_status status) {
    if (status == WEFT_OK)
        return;
    fprintf(stderr, "job_groups: %s: %s\n", weft_status_name(status), weft_message(ctx));
    exit(2);
}

/* The same by a loop over all rows, for sensor `id`: is group k right? */
static int is_right(size_t k, uint32_t id) {
    double total = 0;
    float low = INFINITY, high = -INFINITY;
    uint64_t rows = 0;
    for (size_t i = 0; i < ROWS; i++) {
        if (sensor[i] != id)
            continue;
        total += reading[i];
        low = fminf(low, reading[i]);
        high = fmaxf(high, reading[i]);
        rows++;
    }
    return key[k] == id && count[k] == rows && least[k] == low && most[k] == high &&
           fabs(sum[k] - total) <= 1e-9 * fabs(total);
}

int main(int argc, char **argv) {
    uint64_t groups = 0;
    int wrong = 0;
    check(weft_open(&ctx, argc > 1 ? argv[1] : NULL));
    check(weft_random_integers(ctx, WEFT_U32, ROWS, &(uint32_t){1}, &(uint32_t){SENSORS}, 1, 0,
                               sensor));
    check(weft_random_normal(ctx, WEFT_F32, ROWS, 2, 0, reading));
    memset(one, 1, sizeof one);

    check(weft_sort_pairs(ctx, WEFT_ASCENDING, WEFT_U32, ROWS, sensor, key, sizeof *reading,
                          reading, sorted));
    check(weft_convert(ctx, WEFT_X_SATURATE, WEFT_F32, WEFT_F64, ROWS, sorted, value));
    const weft_column columns[] = {{WEFT_SUM, WEFT_U8, one, count}, /* ones add up to the count */
                                   {WEFT_SUM, WEFT_F64, value, sum},
                                   {WEFT_MIN, WEFT_F32, sorted, least},
                                   {WEFT_MAX, WEFT_F32, sorted, most}};
    check(weft_reduce_by_key(ctx, ROWS, sizeof *key, key, key, 4, columns, &groups));

    printf("sensor    count       mean      least    largest   (place %s)\n", weft_place(ctx));
    for (size_t k = 0; k < groups; k++) {
        wrong += !is_right(k, (uint32_t)k + 1);
        if (k < 5)
            printf("%6u %8llu %10.6f %10.6f %10.6f\n", key[k], (unsigned long long)count[k],
                   sum[k] / (double)count[k], (double)least[k], (double)most[k]);
    }
    printf("%llu groups, %d of them wrong\n", (unsigned long long)groups, wrong);
    weft_close(ctx);
    return groups != SENSORS || wrong > 0;
}
