/* SPDX-License-Identifier: Apache-2.0 */
/* Lesson 6: data that stays on the device from call to call.
 *     lesson06_device [PLACE [N]] */
#include <stdio.h>
#include <stdlib.h>
#include <weft/weft.h>

static weft_context *ctx;

static void check(weft_status status) {
    if (status == WEFT_OK)
        return;
    fprintf(stderr, "%s\n", weft_message(ctx));
    exit(1);
}

int main(int argc, char **argv) {
    const size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 10000;
    float *d_x, *d_y, first[3], longest;
    check(weft_open(&ctx, argc > 1 ? argv[1] : NULL));
    check(weft_alloc(ctx, (void **)&d_x, n * sizeof *d_x)); /* on the cpu this is host memory */
    check(weft_alloc(ctx, (void **)&d_y, n * sizeof *d_y));

    /* Steps of a walk that is drawn at random, the walk, and how far from 0 it comes. On a GPU each
     * call is queued and returns; nothing crosses to the host. */
    check(weft_random_normal(ctx, WEFT_F32, n, 1, 0, d_x));
    check(weft_inclusive(ctx, WEFT_SUM, n, d_x, d_y));
    check(weft_unary(ctx, WEFT_X_ABS, WEFT_F32, n, d_y, d_x));

    /* A result in host memory is there when the call returns. */
    check(weft_max(ctx, n, d_x, &longest));
    check(weft_copy(ctx, first, d_y, sizeof first));
    printf("on %s: %zu steps, the first three lead to %.4f %.4f %.4f\n", weft_place(ctx), n,
           first[0], first[1], first[2]);
    printf("farthest from 0: %.2f\n", longest);
    check(weft_free(ctx, d_y));
    check(weft_free(ctx, d_x));
    weft_close(ctx);
    return 0;
}
