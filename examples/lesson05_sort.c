/* SPDX-License-Identifier: Apache-2.0 */
/* Lesson 5: sorts, finds out where the elements were, and searches what is sorted.
 *     lesson05_sort [PLACE] */
#include <inttypes.h>
#include <stdio.h>
#include <weft/weft.h>

enum {
    N = 6
};

int main(int argc, char **argv) {
    const char *const runner[N] = {"Ada", "Ben", "Chi", "Dua", "Eli", "Fay"};
    const double seconds[N] = {61.5, 58.25, 63, 58.25, 60, 59.5};
    const double wanted = 60;
    double sorted[N];
    uint32_t who[N];
    uint64_t faster;
    weft_context *ctx;
    if (weft_open(&ctx, argc > 1 ? argv[1] : NULL) != WEFT_OK) {
        fprintf(stderr, "%s\n", weft_message(NULL));
        return 1;
    }
    weft_status status = weft_sort(ctx, WEFT_ASCENDING, WEFT_F64, N, seconds, sorted);
    if (status == WEFT_OK) /* equal times keep their order: Ben before Dua */
        status = weft_sort_indices(ctx, WEFT_ASCENDING, WEFT_F64, N, seconds, WEFT_U32, who);
    if (status == WEFT_OK) /* how many are below 60? */
        status =
            weft_search(ctx, WEFT_LOWER, WEFT_ASCENDING, WEFT_F64, N, sorted, 1, &wanted, &faster);
    if (status == WEFT_OK) {
        printf("on %s\n", weft_place(ctx));
        for (int k = 0; k < N; k++)
            printf("%d. %s %.2f\n", k + 1, runner[who[k]], sorted[k]);
        printf("%" PRIu64 " ran in less than a minute\n", faster);
    } else {
        fprintf(stderr, "%s\n", weft_message(ctx));
    }
    weft_close(ctx);
    return status != WEFT_OK;
}
