/* SPDX-License-Identifier: Apache-2.0 */
/* A C program that uses an installed weft; the installation test compiles and runs it. */
#include <stdio.h>

#include <weft/weft.h>

int main(void) {
    float x[1000], sum = 0;
    weft_context *ctx = NULL;
    weft_status status = weft_open(&ctx, "cpu");
    for (int i = 0; i < 1000; i++)
        x[i] = (float)i;
    if (status == WEFT_OK)
        status = weft_sum(ctx, 1000, x, &sum);
    if (status != WEFT_OK)
        fprintf(stderr, "%s: %s\n", weft_status_name(status), weft_message(ctx));
    weft_close(ctx);
    printf("weft %s: sum %g\n", weft_version(), (double)sum);
    return status == WEFT_OK && sum == 499500.0f ? 0 : 1;
}
