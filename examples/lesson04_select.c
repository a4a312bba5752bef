/* SPDX-License-Identifier: Apache-2.0 */
/* Lesson 4: keeps the elements that satisfy a test, and tells where they were.
 *     lesson04_select [PLACE] */
#include <inttypes.h>
#include <stdio.h>
#include <weft/weft.h>

enum {
    HOURS = 24
};

int main(int argc, char **argv) {
    const float temperature[HOURS] = {14, 13, 13, 12, 12, 13, 15, 18, 21, 24, 27, 29,
                                      31, 32, 33, 33, 32, 30, 27, 24, 21, 19, 17, 15};
    float hot[HOURS];
    int32_t hour[HOURS];
    uint64_t count, cold;
    weft_context *ctx;
    if (weft_open(&ctx, argc > 1 ? argv[1] : NULL) != WEFT_OK) {
        fprintf(stderr, "%s\n", weft_message(NULL));
        return 1;
    }
    const weft_predicate above = {WEFT_GT, WEFT_F32, .a.f32 = 30};
    const weft_predicate below = {WEFT_LT, WEFT_F32, .a.f32 = 15};

    weft_status status = weft_select(ctx, above, HOURS, temperature, hot, &count);
    if (status == WEFT_OK)
        status = weft_select_indices(ctx, above, HOURS, temperature, WEFT_I32, hour, &count);
    if (status == WEFT_OK)
        status = weft_select_count(ctx, below, HOURS, temperature, &cold);
    if (status == WEFT_OK) {
        printf("on %s: %" PRIu64 " hours above 30, %" PRIu64 " below 15\n", weft_place(ctx), count,
               cold);
        for (uint64_t k = 0; k < count; k++)
            printf("%02" PRId32 ":00  %g\n", hour[k], hot[k]);
    } else {
        fprintf(stderr, "%s\n", weft_message(ctx));
    }
    weft_close(ctx);
    return status != WEFT_OK;
}
