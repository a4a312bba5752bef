/* SPDX-License-Identifier: Apache-2.0 */
/* Lesson 2: sums that rounding does not touch.
 *     lesson02_sum [PLACE] */
#include <stdio.h>
#include <weft/weft.h>

enum {
    N = 3000
};

int main(int argc, char **argv) {
    static float x[N];
    float loop = 0, rounded, largest;
    double sum, mean;
    weft_context *ctx;
    if (weft_open(&ctx, argc > 1 ? argv[1] : NULL) != WEFT_OK) {
        fprintf(stderr, "%s\n", weft_message(NULL));
        return 1;
    }
    for (int i = 0; i < N; i++) /* 1e9, 0.25, -1e9 and so on: together 250 */
        x[i] = i % 3 == 0 ? 1e9f : i % 3 == 1 ? 0.25f : -1e9f;
    for (int i = 0; i < N; i++)
        loop += x[i];

    weft_status status = weft_sum(ctx, N, x, &sum);
    if (status == WEFT_OK)
        status = weft_sum(ctx, N, x, &rounded); /* the same sum, rounded to a float */
    if (status == WEFT_OK)
        status = weft_mean(ctx, WEFT_F32, N, x, WEFT_F64, &mean);
    if (status == WEFT_OK)
        status = weft_max(ctx, N, x, &largest);
    if (status == WEFT_OK)
        printf("on %s\na loop of floats %g\nweft_sum         %g, as a float %g\nweft_mean        "
               "%.17g\n"
               "weft_max         %g\n",
               weft_place(ctx), loop, sum, rounded, mean, largest);
    else
        fprintf(stderr, "%s\n", weft_message(ctx));
    weft_close(ctx);
    return status != WEFT_OK;
}
