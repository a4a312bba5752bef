/* SPDX-License-Identifier: Apache-2.0 */
/* Lesson 1: adds two arrays.
 *     lesson01_add [PLACE] */
#include <stdio.h>
#include <weft/weft.h>

int main(int argc, char **argv) {
    const float x[4] = {1, 2, 3, 4}, y[4] = {10, 20, 30, 40};
    float z[4];
    weft_context *ctx;
    if (weft_open(&ctx, argc > 1 ? argv[1] : NULL) != WEFT_OK) {
        fprintf(stderr, "%s\n", weft_message(NULL));
        return 1;
    }
    const weft_status status = weft_add(ctx, WEFT_F32, 4, x, y, z);
    if (status == WEFT_OK)
        printf("on %s: %g %g %g %g\n", weft_place(ctx), z[0], z[1], z[2], z[3]);
    else
        fprintf(stderr, "%s\n", weft_message(ctx));
    weft_close(ctx);
    return status != WEFT_OK;
}
