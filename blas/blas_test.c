/* SPDX-License-Identifier: Apache-2.0 */
/* libweft_blas as a program meets it, at sizes that the reference testers do not have: level 2 and
 * 3 in both layouts beside the plainest loops, several threads at once, and errors that the program
 * takes. It calls through the library's names alone. */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "blas.h"
#include "comma.h"

/* As in cblas.h, which need not be there. */
void cblas_dgemv(int layout, int trans, int m, int n, double alpha, const double *a, int lda,
                 const double *x, int incx, double beta, double *y, int incy);
void cblas_dger(int layout, int m, int n, double alpha, const double *x, int incx, const double *y,
                int incy, double *a, int lda);
void cblas_dgbmv(int layout, int trans, int m, int n, int kl, int ku, double alpha, const double *a,
                 int lda, const double *x, int incx, double beta, double *y, int incy);
void cblas_dgemm(int layout, int trans_a, int trans_b, int m, int n, int k, double alpha,
                 const double *a, int lda, const double *b, int ldb, double beta, double *c,
                 int ldc);
void cblas_dsymm(int layout, int side, int uplo, int m, int n, double alpha, const double *a,
                 int lda, const double *b, int ldb, double beta, double *c, int ldc);
void cblas_dsyrk(int layout, int uplo, int trans, int n, int k, double alpha, const double *a,
                 int lda, double beta, double *c, int ldc);
void cblas_dsyr2k(int layout, int uplo, int trans, int n, int k, double alpha, const double *a,
                  int lda, const double *b, int ldb, double beta, double *c, int ldc);
void cblas_dtrmm(int layout, int side, int uplo, int trans, int diag, int m, int n, double alpha,
                 const double *a, int lda, double *b, int ldb);
void cblas_dtrsm(int layout, int side, int uplo, int trans, int diag, int m, int n, double alpha,
                 const double *a, int lda, double *b, int ldb);
void sgemm_(const char *trans_a, const char *trans_b, const int *m, const int *n, const int *k,
            const float *alpha, const float *a, const int *lda, const float *b, const int *ldb,
            const float *beta, float *c, const int *ldc);
double dnrm2_(const int *n, const double *x, const int *incx);

enum {
    SIDE = 61, /* products of it are large, and it is no multiple of anything */
    LD = SIDE + 3,
    AREA = LD * LD,
    THREADS = 4
};

static const int layouts[] = {WB_COLUMN_MAJOR, WB_ROW_MAJOR};

/* Arrays of one test: two inputs, an output, and what that was before. */
typedef struct arrays {
    double a[AREA], b[AREA], c[AREA], before[AREA];
} arrays;

static void fill(double *x, uint64_t seed) {
    for (size_t k = 0; k < AREA; k++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        x[k] = (double)(int64_t)(seed >> 11) * 0x1p-53 * 2 - 1;
    }
}

static arrays *arrays_open(void) {
    arrays *const x = malloc(sizeof *x);
    assert_non_null(x);
    fill(x->a, 1);
    fill(x->b, 2);
    fill(x->c, 3);
    for (size_t k = 0; k < SIDE; k++) /* triangles that can be solved with */
        x->a[k * (LD + 1)] = 4 + 0.1 * (double)k;
    for (size_t k = 0; k < AREA; k++)
        if (k % LD != k / LD)
            x->a[k] /= SIDE;
    memcpy(x->before, x->c, sizeof x->c);
    return x;
}

/* Element (i, j) of a stored matrix. */
static double at(int layout, const double *x, int i, int j) {
    return x[layout == WB_ROW_MAJOR ? i * LD + j : i + j * LD];
}

static double op_at(int layout, int trans, const double *x, int i, int j) {
    return trans == WB_NO_TRANSPOSE ? at(layout, x, i, j) : at(layout, x, j, i);
}

static double symmetric_at(int layout, int uplo, const double *x, int i, int j) {
    return (uplo == WB_UPPER) == (i <= j) ? at(layout, x, i, j) : at(layout, x, j, i);
}

static double triangle_at(int layout, int uplo, int trans, int diag, const double *x, int i,
                          int j) {
    const int r = trans == WB_NO_TRANSPOSE ? i : j, c = trans == WB_NO_TRANSPOSE ? j : i;
    if (r == c)
        return diag == WB_UNIT ? 1 : at(layout, x, r, c);
    return (uplo == WB_UPPER) == (r < c) ? at(layout, x, r, c) : 0;
}

static void expect(double got, double right, const char *what, int i, int j) {
    if (!(fabs(got - right) <= 1e-12 * (1 + fabs(right)) * SIDE))
        fail_msg("%s: element (%d, %d) is %.17g, should be %.17g", what, i, j, got, right);
}

static void test_gemm(void **state) {
    (void)state;
    for (int k = 0; k < 8; k++) {
        const int layout = layouts[k & 1];
        const int s = k & 2 ? WB_TRANSPOSE : WB_NO_TRANSPOSE;
        const int t = k & 4 ? WB_TRANSPOSE : WB_NO_TRANSPOSE;
        const int m = SIDE, n = SIDE - 7, inner = SIDE - 3;
        arrays *const x = arrays_open();
        cblas_dgemm(layout, s, t, m, n, inner, 0.5, x->a, LD, x->b, LD, -2, x->c, LD);
        for (int i = 0; i < SIDE; i++)
            for (int j = 0; j < SIDE; j++) {
                double sum = 0;
                for (int p = 0; p < inner; p++)
                    sum += op_at(layout, s, x->a, i, p) * op_at(layout, t, x->b, p, j);
                const double before = at(layout, x->before, i, j);
                expect(at(layout, x->c, i, j), i < m && j < n ? 0.5 * sum - 2 * before : before,
                       "dgemm", i, j);
            }
        free(x);
    }
}

static void test_symmetric(void **state) {
    (void)state;
    for (int k = 0; k < 8; k++) {
        const int layout = layouts[k & 1], uplo = k & 2 ? WB_UPPER : WB_LOWER;
        const int side = k & 4 ? WB_RIGHT : WB_LEFT, m = SIDE, n = SIDE - 7;
        const int order = side == WB_LEFT ? m : n;
        arrays *const x = arrays_open();
        cblas_dsymm(layout, side, uplo, m, n, 0.5, x->a, LD, x->b, LD, -2, x->c, LD);
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++) {
                double sum = 0;
                for (int p = 0; p < order; p++)
                    sum += side == WB_LEFT
                               ? symmetric_at(layout, uplo, x->a, i, p) * at(layout, x->b, p, j)
                               : at(layout, x->b, i, p) * symmetric_at(layout, uplo, x->a, p, j);
                expect(at(layout, x->c, i, j), 0.5 * sum - 2 * at(layout, x->before, i, j), "dsymm",
                       i, j);
            }
        free(x);
    }
}

/* syrk, and syr2k with `two`. */
static void update(int layout, int uplo, int trans, bool two) {
    const int n = SIDE, inner = SIDE - 3;
    arrays *const x = arrays_open();
    if (two)
        cblas_dsyr2k(layout, uplo, trans, n, inner, 0.5, x->a, LD, x->b, LD, -2, x->c, LD);
    else
        cblas_dsyrk(layout, uplo, trans, n, inner, 0.5, x->a, LD, -2, x->c, LD);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const double before = at(layout, x->before, i, j);
            const double *const b = two ? x->b : x->a;
            double sum = 0;
            for (int p = 0; p < inner; p++) {
                sum += op_at(layout, trans, x->a, i, p) * op_at(layout, trans, b, j, p);
                if (two)
                    sum += op_at(layout, trans, b, i, p) * op_at(layout, trans, x->a, j, p);
            }
            const bool stored = i == j || (uplo == WB_UPPER) == (i < j);
            expect(at(layout, x->c, i, j), stored ? 0.5 * sum - 2 * before : before,
                   two ? "dsyr2k" : "dsyrk", i, j);
        }
    free(x);
}

static void test_updates(void **state) {
    (void)state;
    for (int k = 0; k < 16; k++)
        update(layouts[k & 1], k & 2 ? WB_UPPER : WB_LOWER, k & 4 ? WB_TRANSPOSE : WB_NO_TRANSPOSE,
               k & 8);
}

/* op(A) X or X op(A), after which a solve gives X again. */
static void there_and_back(int layout, int side, int uplo, int trans, int diag) {
    const int m = SIDE, n = SIDE - 7, order = side == WB_LEFT ? m : n;
    arrays *const x = arrays_open();
    cblas_dtrmm(layout, side, uplo, trans, diag, m, n, 2, x->a, LD, x->c, LD);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int p = 0; p < order; p++)
                sum += side == WB_LEFT ? triangle_at(layout, uplo, trans, diag, x->a, i, p) *
                                             at(layout, x->before, p, j)
                                       : at(layout, x->before, i, p) *
                                             triangle_at(layout, uplo, trans, diag, x->a, p, j);
            expect(at(layout, x->c, i, j), 2 * sum, "dtrmm", i, j);
        }
    cblas_dtrsm(layout, side, uplo, trans, diag, m, n, 0.5, x->a, LD, x->c, LD);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            expect(at(layout, x->c, i, j), at(layout, x->before, i, j), "dtrsm", i, j);
    free(x);
}

static void test_triangles(void **state) {
    (void)state;
    for (int k = 0; k < 32; k++)
        there_and_back(layouts[k & 1], k & 2 ? WB_RIGHT : WB_LEFT, k & 4 ? WB_UPPER : WB_LOWER,
                       k & 8 ? WB_TRANSPOSE : WB_NO_TRANSPOSE, k & 16 ? WB_UNIT : WB_NON_UNIT);
}

/* gemv and ger of matrices large enough for libweft, with strides of both signs. */
static void test_vectors(void **state) {
    enum {
        M = 211,
        N = 97
    };
    static double a[M * N], x[3 * M], y[3 * M], before[3 * M];
    (void)state;
    for (int k = 0; k < 8; k++) {
        const int layout = layouts[k & 1], trans = k & 2 ? WB_TRANSPOSE : WB_NO_TRANSPOSE;
        const int incx = k & 4 ? -2 : 1, incy = k & 4 ? 1 : -3, ld = layout == WB_ROW_MAJOR ? N : M;
        const int nx = trans == WB_TRANSPOSE ? M : N, ny = trans == WB_TRANSPOSE ? N : M;
        for (int i = 0; i < M * N; i++)
            a[i] = (i * 37 % 101) - 50;
        for (int i = 0; i < 3 * M; i++) {
            x[i] = (i * 13 % 17) - 8;
            y[i] = before[i] = i % 7;
        }
        cblas_dgemv(layout, trans, M, N, 2, a, ld, x, incx, 3, y, incy);
        for (int i = 0; i < ny; i++) {
            double sum = 0;
            for (int j = 0; j < nx; j++) {
                const int r = trans == WB_TRANSPOSE ? j : i, c = trans == WB_TRANSPOSE ? i : j;
                sum += a[layout == WB_ROW_MAJOR ? r * N + c : r + c * M] *
                       x[wb_start(nx, incx) + j * incx];
            }
            const ptrdiff_t place = wb_start(ny, incy) + i * incy;
            assert_true(y[place] == 2 * sum + 3 * before[place]);
        }
        cblas_dger(layout, M, N, 2, x, incx, before, incy, a, ld);
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                const int place = layout == WB_ROW_MAJOR ? i * N + j : i + j * M;
                assert_true(a[place] == (place * 37 % 101) - 50 +
                                            2 * x[wb_start(M, incx) + i * incx] *
                                                before[wb_start(N, incy) + j * incy]);
            }
    }
}

/* What libweft refuses, as results over their own factors, still ends in the loops of old. */
static void test_overlap(void **state) {
    (void)state;
    arrays *const x = arrays_open();
    cblas_dgemv(WB_COLUMN_MAJOR, WB_NO_TRANSPOSE, SIDE, SIDE, 1, x->a, LD, x->b, 1, 0, x->a, 1);
    assert_true(isfinite(x->a[0]));
    free(x);
}

static void test_norms(void **state) {
    const double tiny[3] = {3e-300, 0, 4e-300}, huge[2] = {3e300, 4e300};
    const double infinite[2] = {1, INFINITY}, broken[2] = {INFINITY, NAN};
    const int two = 2, three = 3, one = 1;
    (void)state;
    assert_true(fabs(dnrm2_(&three, tiny, &one) / 5e-300 - 1) < 1e-15);
    assert_true(fabs(dnrm2_(&two, huge, &one) / 5e300 - 1) < 1e-15);
    assert_true(isinf(dnrm2_(&two, infinite, &one)) && isnan(dnrm2_(&two, broken, &one)));
}

/* ---- threads ---- */

static void *multiply(void *seed) {
    enum {
        N = 110 /* so that a product has several threads */
    };
    const int n = N;
    const float alpha = 1, beta = 0;
    float *const a = malloc(3 * N * N * sizeof *a), *const b = a + N * N, *const c = b + N * N;
    intptr_t wrong = a == NULL;
    for (int turn = 0; a && turn < 200; turn++) {
        for (int k = 0; k < N * N; k++) {
            a[k] = (float)((k + turn + (int)(intptr_t)seed) % 5);
            b[k] = k / N == k % N;
        }
        sgemm_("N", "N", &n, &n, &n, &alpha, a, &n, b, &n, &beta, c, &n);
        wrong += memcmp(a, c, N * N * sizeof *a) != 0;
    }
    free(a);
    return (void *)wrong;
}

static void test_threads(void **state) {
    pthread_t thread[THREADS];
    (void)state;
    for (intptr_t k = 0; k < THREADS; k++)
        assert_int_equal(pthread_create(&thread[k], NULL, multiply, (void *)k), 0);
    for (int k = 0; k < THREADS; k++) {
        void *wrong;
        assert_int_equal(pthread_join(thread[k], &wrong), 0);
        assert_null(wrong);
    }
}

/* ---- the environment ---- */

static int opened;

/* Instead of the library's, which has to be told of a large call. */
WB_EXPORT weft_status weft_open(weft_context **ctx, const char *place) {
    weft_status (*open_place)(weft_context **, const char *);
    *(void **)&open_place = dlsym(RTLD_NEXT, "weft_open");
    opened++;
    return open_place(ctx, place);
}

/* In a process of its own, as the environment is read once: does a product of 16 operations go to
 * libweft? */
static bool is_large(const char *least) {
    int status;
    const pid_t child = fork();
    if (child == 0) {
        const double a[4] = {1, 2, 3, 4};
        double c[4];
        test_comma_locale();
        setenv("WEFT_BLAS_PLACE", "cpu:1", 1);
        setenv("WEFT_BLAS_LARGE_FLOPS", least, 1);
        cblas_dgemm(WB_ROW_MAJOR, WB_NO_TRANSPOSE, WB_NO_TRANSPOSE, 2, 2, 2, 1, a, 2, a, 2, 0, c,
                    2);
        _exit(c[0] == 7 && c[3] == 22 ? opened : 2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return WEXITSTATUS(status) == 1;
}

static void test_environment(void **state) {
    (void)state;
    assert_true(is_large("0.5"));
    assert_true(is_large("1.5e1"));
    assert_false(is_large("1.7e1"));
    assert_false(is_large("1,5"));
}

/* ---- errors, which this program takes ---- */

static int reported;
static char reporter[16];

void xerbla_(const char *name, const int *info, size_t length) {
    reported = *info;
    snprintf(reporter, sizeof reporter, "%.*s", (int)length, name);
}

void cblas_xerbla(int position, const char *name, const char *format, ...) {
    (void)format;
    reported = position;
    snprintf(reporter, sizeof reporter, "%s", name);
}

static void test_errors(void **state) {
    const int n = 4, wrong = -1;
    const float one = 1;
    float c[16] = {7};
    double d[16] = {7};
    (void)state;
    sgemm_("N", "T", &n, &wrong, &n, &one, c, &n, c, &n, &one, c, &n);
    assert_int_equal(reported, 4);
    assert_string_equal(reporter, "SGEMM ");
    cblas_dgemm(WB_ROW_MAJOR, 5, WB_TRANSPOSE, n, n, n, 1, d, n, d, n, 1, d, n);
    assert_int_equal(reported, 2);
    assert_string_equal(reporter, "cblas_dgemm");
    cblas_dgemv(99, WB_TRANSPOSE, n, n, 1, d, n, d, 1, 1, d, 1);
    assert_int_equal(reported, 1);
    assert_true(c[0] == 7 && d[0] == 7);
}

typedef void handler(int position, const char *name, const char *format, ...);

/* Does the library's own handler, which ends its process, name this argument of the latest call? */
static void expect_named(int position) {
    union { /* C has no conversion of one to the other */
        void *object;
        handler *function;
    } own = {dlsym(RTLD_NEXT, "cblas_xerbla")};
    char said[200] = "", want[100];
    int ends[2], status;
    assert_non_null(own.object);
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        own.function(reported, reporter, "");
        _exit(0);
    }
    close(ends[1]);
    assert_true(read(ends[0], said, sizeof said - 1) > 0);
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILURE);
    snprintf(want, sizeof want, "Parameter %d to routine %s was incorrect\n", position, reporter);
    assert_string_equal(said, want);
}

/* Each wrong argument of calls in both layouts is told by its position in the call. */
static void test_positions(void **state) {
    static double d[64];
    (void)state;
    for (int k = 0; k < 2; k++) {
        const int layout = layouts[k], no = WB_NO_TRANSPOSE;
        cblas_dgemm(layout, no, no, -1, 2, 2, 1, d, 2, d, 2, 1, d, 2);
        expect_named(4);
        cblas_dgemm(layout, no, no, 2, -1, 2, 1, d, 2, d, 2, 1, d, 2);
        expect_named(5);
        cblas_dgemm(layout, no, no, 2, 2, 2, 1, d, 1, d, 2, 1, d, 2);
        expect_named(9);
        cblas_dgemm(layout, no, no, 2, 2, 2, 1, d, 2, d, 1, 1, d, 2);
        expect_named(11);
        cblas_dsymm(layout, WB_LEFT, WB_LOWER, -1, 2, 1, d, 2, d, 2, 1, d, 2);
        expect_named(4);
        cblas_dtrsm(layout, WB_LEFT, WB_LOWER, no, WB_NON_UNIT, 2, -1, 1, d, 2, d, 2);
        expect_named(7);
        cblas_dtrmm(layout, WB_LEFT, WB_LOWER, no, WB_NON_UNIT, -1, 2, 1, d, 2, d, 2);
        expect_named(6);
        cblas_dgemv(layout, no, -1, 2, 1, d, 2, d, 1, 1, d, 1);
        expect_named(3);
        cblas_dgbmv(layout, no, 2, 2, -1, 1, 1, d, 4, d, 1, 1, d, 1);
        expect_named(5);
        cblas_dger(layout, -1, 2, 1, d, 1, d, 1, d, 2);
        expect_named(2);
        cblas_dger(layout, 2, 2, 1, d, 0, d, 1, d, 2);
        expect_named(6);
        cblas_dger(layout, 2, 2, 1, d, 1, d, 1, d, 1);
        expect_named(10);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_environment), /* first: later it has been read */
        cmocka_unit_test(test_gemm),        cmocka_unit_test(test_symmetric),
        cmocka_unit_test(test_updates),     cmocka_unit_test(test_triangles),
        cmocka_unit_test(test_vectors),     cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_norms),       cmocka_unit_test(test_threads),
        cmocka_unit_test(test_errors),      cmocka_unit_test(test_positions),
    };
    return cmocka_run_group_tests_name("blas", tests, NULL, NULL);
}
