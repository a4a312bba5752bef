/* SPDX-License-Identifier: Apache-2.0 */
/* Lesson 8: multiplies matrices, and solves a system of equations with a report on the answer.
 *     lesson08_dense [PLACE] */
#include <stdio.h>
#include <stdlib.h>
#include <weft/weft.h>

enum {
    N = 4
};

static weft_context *ctx;

static void check(weft_status status) {
    if (status == WEFT_OK)
        return;
    fprintf(stderr, "%s\n", weft_message(ctx));
    exit(1);
}

int main(int argc, char **argv) {
    /* Row after row, as C stores it; without WEFT_ROW_MAJOR, column after column, as Fortran. */
    const double a[N * N] = {4, 1, 0, 0, /**/ 1, 4, 1, 0, /**/ 0, 1, 4, 1, /**/ 0, 0, 1, 4};
    const double x[N] = {1, 2, 3, 4};
    double b[N], solved[N];
    weft_report report = {.size = sizeof report};
    check(weft_open(&ctx, argc > 1 ? argv[1] : NULL));

    /* b = 1 A x + 0 b: x and b are matrices with one column, so their rows are 1 long. */
    check(weft_gemm(ctx, WEFT_ROW_MAJOR, WEFT_F64, WEFT_F64, N, 1, N, 1, a, N, x, 1, 0, b, 1));
    printf("on %s: A x = %g %g %g %g\n", weft_place(ctx), b[0], b[1], b[2], b[3]);

    check(weft_solve(ctx, WEFT_ROW_MAJOR, WEFT_F64, N, 1, a, N, b, 1, solved, 1, NULL, &report));
    printf("A \\ b = %g %g %g %g\n", solved[0], solved[1], solved[2], solved[3]);
    printf("backward error below 1e-15: %s; condition number about %.1f\n",
           report.backward_error < 1e-15 ? "yes" : "no", report.condition_estimate);

    /* A singular matrix is an error that says where. */
    const double singular[4] = {1, 2, 2, 4};
    if (weft_solve(ctx, WEFT_ROW_MAJOR, WEFT_F64, 2, 1, singular, 2, b, 1, solved, 1, NULL,
                   &report) == WEFT_ESINGULAR)
        printf("%s\n", weft_message(ctx));
    weft_close(ctx);
    return 0;
}
