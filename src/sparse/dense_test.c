/* SPDX-License-Identifier: Apache-2.0 */
/* The dense kernels on every instruction set of this processor: the same bits as loops in the order
 * that dense.h promises, which are compared with long double; nothing else is written, and the
 * upper triangle and memory around arrays are not even read. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "sparse/dense.h"
#include "sparse/dense_simd.h"
#include "testing.h"

/* ---- arrays that end, or begin, at a page that must not be accessed ---- */

typedef struct fence {
    unsigned char *block;
    size_t bytes; /* between the two pages */
    double *data;
    size_t n;
} fence;

enum {
    PAGE_BYTES = 4096
};

static fence fence_open(size_t capacity) {
    fence f = {.bytes = (capacity * sizeof(double) / PAGE_BYTES + 1) * PAGE_BYTES};
    f.block =
        mmap(NULL, f.bytes + 2 * (size_t)PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, 0, 0);
    assert_true(f.block != MAP_FAILED);
    assert_int_equal(mprotect(f.block + PAGE_BYTES, f.bytes, PROT_READ | PROT_WRITE), 0);
    return f;
}

static void fence_close(fence *f) {
    assert_int_equal(munmap(f->block, f->bytes + 2 * (size_t)PAGE_BYTES), 0);
}

/* n doubles that end at the page after them, or begin at the page before. */
static void fence_place(fence *f, size_t n, bool at_end) {
    assert_true(n * sizeof(double) <= f->bytes);
    f->n = n;
    f->data = (void *)(f->block + PAGE_BYTES + (at_end ? f->bytes - n * sizeof(double) : 0));
}

static void copy(fence *to, const fence *from) {
    fence_place(to, from->n, (unsigned char *)from->data != from->block + PAGE_BYTES);
    memcpy(to->data, from->data, from->n * sizeof(double));
}

/* ---- matrices of every case ---- */

enum {
    MOST = 700 * 710
};
static fence array_a, array_b, array_c, wanted, packed;
static test_random *draw;

/* Elements of an m x n matrix with leading dimension ld; the gaps are NaN. */
static void fill(fence *f, int64_t m, int64_t n, int64_t ld) {
    fence_place(f, m == 0 || n == 0 ? 0 : (size_t)(ld * (n - 1) + m), test_below(draw, 2) == 0);
    for (size_t i = 0; i < f->n; i++)
        f->data[i] = (int64_t)(i % (size_t)ld) < m ? test_unit(draw) : NAN;
}

/* The same with NaN above the diagonal, and a diagonal that makes it well conditioned. */
static void fill_triangle(fence *f, int64_t m, int64_t n, int64_t ld, double diagonal) {
    fill(f, m, n, ld);
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < j && i < m; i++)
            f->data[i + j * ld] = NAN;
        if (j < m)
            f->data[j + j * ld] = diagonal + test_unit(draw);
    }
}

static int64_t wider(int64_t m) {
    return m + (int64_t)test_below(draw, 4) + (m == 0);
}

/* ---- the promised order ---- */

static inline __attribute__((always_inline)) void
multiply_as_defined(int64_t m, int64_t n, int64_t k, const double *a, int64_t lda, const double *b,
                    int64_t ldb, double *c, int64_t ldc) {
    for (int64_t j = 0; j < n; j++)
        for (int64_t p = 0; p < k; p++)
            for (int64_t i = 0; i < m; i++)
                c[i + j * ldc] = fma(-a[i + p * lda], b[j + p * ldb], c[i + j * ldc]);
}

/* Where there is an instruction for it, a call of fma() each would be most of this test's time. */
#ifdef __x86_64__
__attribute__((target("fma"))) static void multiply_by_fma(int64_t m, int64_t n, int64_t k,
                                                           const double *a, int64_t lda,
                                                           const double *b, int64_t ldb, double *c,
                                                           int64_t ldc) {
    multiply_as_defined(m, n, k, a, lda, b, ldb, c, ldc);
}
#endif

static void reference_multiply(int64_t m, int64_t n, int64_t k, const double *a, int64_t lda,
                               const double *b, int64_t ldb, double *c, int64_t ldc) {
#ifdef __x86_64__
    if (__builtin_cpu_supports("fma")) {
        multiply_by_fma(m, n, k, a, lda, b, ldb, c, ldc);
        return;
    }
#endif
    multiply_as_defined(m, n, k, a, lda, b, ldb, c, ldc);
}

/* The same, but the sum of the products is subtracted from C at once. */
static void reference_apart(int64_t m, int64_t k, const double *a, int64_t lda, const double *b,
                            double *c) {
    for (int64_t i = 0; i < m; i++) {
        double sum = -0.0;
        reference_multiply(1, 1, k, a + i, lda, b, lda, &sum, 1);
        c[i] += sum;
    }
}

static void reference_update(int64_t m, int64_t k, const double *a, int64_t lda, int64_t end,
                             double *c, int64_t ldc) {
    for (int64_t j = 0; j < end; j++)
        reference_apart(m - j, k, a + j, lda, a + j, c + j + j * ldc);
}

static int64_t reference_panel(int64_t m, int64_t n, double *a, int64_t lda) {
    for (int64_t j = 0; j < n; j++) {
        const int64_t apart = j / WI_DENSE_APART * WI_DENSE_APART;
        const double *const rest = a + j + apart * lda;
        double *const pivot = a + j + j * lda;
        reference_apart(m - j, apart, a + j, lda, a + j, pivot);
        reference_multiply(m - j, 1, j - apart, rest, lda, rest, lda, pivot, lda);
        if (!(*pivot > 0 && *pivot < INFINITY))
            return j;
        *pivot = sqrt(*pivot);
        for (int64_t i = 1; i < m - j; i++)
            pivot[i] *= 1 / *pivot;
    }
    return n;
}

static void reference_subtract(int64_t m, int64_t n, int64_t count, const double *a, int64_t lda,
                               const double *x, int64_t ldx, double *y, int64_t ldy) {
    for (int64_t r = 0; r < count; r++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i < m; i++)
                y[i + r * ldy] = fma(-a[i + j * lda], x[j + r * ldx], y[i + r * ldy]);
}

static void reference_subtract_transposed(int64_t m, int64_t n, int64_t count, const double *a,
                                          int64_t lda, const double *y, int64_t ldy, double *x,
                                          int64_t ldx) {
    for (int64_t r = 0; r < count; r++)
        for (int64_t j = 0; j < n; j++) {
            double s[8] = {0};
            for (int64_t i = 0; i < m; i++)
                s[i % 8] = fma(a[i + j * lda], y[i + r * ldy], s[i % 8]);
            x[j + r * ldx] -= ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
        }
}

static void reference_forward(int64_t n, int64_t count, const double *l, int64_t ldl, double *x,
                              int64_t ldx) {
    for (int64_t r = 0; r < count; r++)
        for (int64_t j = 0; j < n; j++) {
            x[j + r * ldx] *= 1 / l[j + j * ldl];
            reference_subtract(n - j - 1, 1, 1, l + j + 1 + j * ldl, ldl, x + j + r * ldx, ldx,
                               x + j + 1 + r * ldx, ldx);
        }
}

static void reference_backward(int64_t n, int64_t count, const double *l, int64_t ldl, double *x,
                               int64_t ldx) {
    for (int64_t r = 0; r < count; r++) {
        double *const side = x + r * ldx;
        for (int64_t i = n - 1; i >= 0; i--) {
            const int64_t begin = i / 8 * 8, end = begin + 8 < n ? begin + 8 : n;
            if (i == end - 1)
                reference_subtract_transposed(n - end, end - begin, 1, l + end + begin * ldl, ldl,
                                              side + end, ldx, side + begin, ldx);
            side[i] *= 1 / l[i + i * ldl];
            for (int64_t p = begin; p < i; p++)
                side[p] = fma(-l[i + p * ldl], side[i], side[p]);
        }
    }
}

static void same(const fence *got, const fence *want, const char *what) {
    if (got->n > 0 && memcmp(got->data, want->data, got->n * sizeof(double)) != 0)
        fail_msg("%s", what);
}

static char text[200];
static const char *say(const char *what, wi_isa isa, int64_t m, int64_t n, int64_t k) {
    snprintf(text, sizeof text, "%s, instruction set %d: m %lld, n %lld, k %lld, seed %llu", what,
             (int)isa, (long long)m, (long long)n, (long long)k, (unsigned long long)test_seed());
    return text;
}

/* ---- one case on every instruction set ---- */

typedef void (*body)(wi_isa isa, int64_t m, int64_t n, int64_t k);

static void on_each_isa(body run, int64_t m, int64_t n, int64_t k) {
    for (wi_isa isa = WI_ISA_BASE; isa <= wi_cpu_isa(); isa++)
        run(isa, m, n, k);
}

static void check_multiply(wi_isa isa, int64_t m, int64_t n, int64_t k) {
    const int64_t lda = wider(m), ldb = wider(n), ldc = wider(m);
    fill(&array_a, m, k, lda);
    fill(&array_b, n, k, ldb);
    fill(&array_c, m, n, ldc);
    copy(&wanted, &array_c);
    reference_multiply(m, n, k, array_a.data, lda, array_b.data, ldb, wanted.data, ldc);
    WI_OF_ISA(isa, wi_dense_simd)
        ->multiply(m, n, k, array_a.data, lda, array_b.data, ldb, array_c.data, ldc);
    same(&array_c, &wanted, say("multiply", isa, m, n, k));
}

/* Where rows that begin at `row` may be divided next: at most at `end`. */
static int64_t cut_after(int64_t row, int64_t end) {
    const int64_t groups = 1 + (int64_t)test_below(draw, 12);
    const int64_t cut = (row / WI_DENSE_GROUP + groups) * WI_DENSE_GROUP;
    return cut < end ? cut : end;
}

/* Packed rows begin at aligned addresses; their contents are unknown. */
static void open_packed(int64_t m, int64_t n) {
    fence_place(&packed, (size_t)wi_dense_packed(m, n), true);
    for (size_t i = 0; i < packed.n; i++)
        packed.data[i] = NAN;
}

/* First the rows of the square on the diagonal, then the others in pieces from the last to the
 * first. */
static int64_t eliminate(wi_isa isa, int64_t m, int64_t n, double *a, int64_t lda) {
    const wi_dense_simd *const simd = WI_OF_ISA(isa, wi_dense_simd);
    int64_t cuts[64] = {0}, count = 0, done = n;
    open_packed(m, n);
    while (cuts[count] < m && done == n) {
        cuts[count + 1] = cut_after(cuts[count], m);
        if (cuts[count++] < n)
            done = simd->eliminate(cuts[count - 1], cuts[count], n, a, lda, packed.data);
    }
    for (; done == n && count > 0 && cuts[count - 1] >= n; count--)
        assert_int_equal(simd->eliminate(cuts[count - 1], cuts[count], n, a, lda, packed.data), n);
    return done;
}

/* k columns are eliminated from k + m rows, then their products are subtracted from n more columns,
 * in runs of random widths and pieces of random heights. */
static void check_update(wi_isa isa, int64_t m, int64_t n, int64_t k) {
    const int64_t lda = wider(k + m), ldc = wider(m);
    n = n < m ? n : m;
    fill_triangle(&array_a, k + m, k, lda, 4 + (double)k);
    assert_int_equal(eliminate(isa, k + m, k, array_a.data, lda), k);
    fill_triangle(&array_c, m, n, ldc, 0);
    copy(&wanted, &array_c);
    reference_update(m, k, array_a.data + k, lda, n, wanted.data, ldc);
    for (int64_t begin = 0, end; begin < n; begin = end) {
        end = begin + 1 + (int64_t)test_below(draw, (uint64_t)(n - begin));
        for (int64_t row = k + begin, next; row < k + m; row = next) {
            next = cut_after(row, k + m);
            WI_OF_ISA(isa, wi_dense_simd)
                ->update(row, next - row, k + begin, end - begin, k, packed.data, packed.data,
                         array_c.data + (row - k) + begin * ldc, ldc);
        }
    }
    same(&array_c, &wanted, say("update", isa, m, n, k));
}

static void check_panel(wi_isa isa, int64_t m, int64_t n, int64_t k) {
    const int64_t lda = wider(m);
    (void)k;
    n = n < m ? n : m;
    fill_triangle(&array_a, m, n, lda, 4 + (double)n);
    copy(&wanted, &array_a);
    assert_int_equal(reference_panel(m, n, wanted.data, lda), n);
    assert_int_equal(eliminate(isa, m, n, array_a.data, lda), n);
    same(&array_a, &wanted, say("eliminate", isa, m, n, 0));
}

/* A pivot that is not above 0 in column k: the columns before it must be done down to its row, and
 * the pivot must be there. */
static void check_bad_pivot(wi_isa isa, int64_t m, int64_t n, int64_t k) {
    static const double bad[] = {-1e6, NAN, INFINITY, -INFINITY};
    const int64_t lda = wider(m);
    fill_triangle(&array_a, m, n, lda, 4 + (double)n);
    array_a.data[k + k * lda] = bad[test_below(draw, sizeof bad / sizeof *bad)];
    copy(&wanted, &array_a);
    assert_int_equal(reference_panel(m, n, wanted.data, lda), k);
    assert_int_equal(eliminate(isa, m, n, array_a.data, lda), k);
    for (int64_t j = 0; j < k; j++)
        assert_memory_equal(array_a.data + j + j * lda, wanted.data + j + j * lda,
                            (size_t)(k + 1 - j) * sizeof(double));
    for (int64_t j = 1; j < n; j++)
        for (int64_t i = 0; i < j; i++)
            assert_true(isnan(array_a.data[i + j * lda]));
    const double left = array_a.data[k + k * lda], want = wanted.data[k + k * lda];
    assert_true(left == want || (isnan(left) && isnan(want)));
}

/* ---- solves: n columns, `count` right-hand sides ---- */

static void check_subtract(wi_isa isa, int64_t m, int64_t n, int64_t count) {
    const int64_t lda = wider(m), ldx = wider(n), ldy = wider(m);
    const int64_t cut = (int64_t)test_below(draw, (uint64_t)m + 1);
    const wi_dense_solve_simd *const simd = WI_OF_ISA(isa, wi_dense_solve_simd);
    fill(&array_a, m, n, lda);
    fill(&array_b, n, count, ldx);
    fill(&array_c, m, count, ldy);
    copy(&wanted, &array_c);
    reference_subtract(m, n, count, array_a.data, lda, array_b.data, ldx, wanted.data, ldy);
    simd->subtract(cut, n, count, array_a.data, lda, array_b.data, ldx, array_c.data, ldy);
    simd->subtract(m - cut, n, count, array_a.data + cut, lda, array_b.data, ldx,
                   array_c.data + cut, ldy);
    same(&array_c, &wanted, say("subtract", isa, m, n, count));
}

static void check_subtract_transposed(wi_isa isa, int64_t m, int64_t n, int64_t count) {
    const int64_t lda = wider(m), ldx = wider(n), ldy = wider(m);
    const int64_t cut = (int64_t)test_below(draw, (uint64_t)n + 1);
    const wi_dense_solve_simd *const simd = WI_OF_ISA(isa, wi_dense_solve_simd);
    fill(&array_a, m, n, lda);
    fill(&array_b, m, count, ldy);
    fill(&array_c, n, count, ldx);
    copy(&wanted, &array_c);
    reference_subtract_transposed(m, n, count, array_a.data, lda, array_b.data, ldy, wanted.data,
                                  ldx);
    simd->subtract_transposed(m, cut, count, array_a.data, lda, array_b.data, ldy, array_c.data,
                              ldx);
    simd->subtract_transposed(m, n - cut, count, array_a.data + cut * lda, lda, array_b.data, ldy,
                              array_c.data + cut, ldx);
    same(&array_c, &wanted, say("subtract_transposed", isa, m, n, count));
}

static void check_triangle(wi_isa isa, int64_t n, int64_t count, bool transposed) {
    const int64_t ldl = wider(n), ldx = wider(n);
    const wi_dense_solve_simd *const simd = WI_OF_ISA(isa, wi_dense_solve_simd);
    fill_triangle(&array_a, n, n, ldl, 4 + (double)n);
    fill(&array_c, n, count, ldx);
    copy(&wanted, &array_c);
    (transposed ? reference_backward : reference_forward)(n, count, array_a.data, ldl, wanted.data,
                                                          ldx);
    (transposed ? simd->backward : simd->forward)(n, count, array_a.data, ldl, array_c.data, ldx);
    same(&array_c, &wanted, say(transposed ? "backward" : "forward", isa, n, n, count));
}

static void check_solves(wi_isa isa, int64_t m, int64_t n, int64_t count) {
    check_subtract(isa, m, n, count);
    check_subtract_transposed(isa, m, n, count);
    check_triangle(isa, n, count, false);
    check_triangle(isa, n, count, true);
}

static void check_all(int64_t m, int64_t n, int64_t k) {
    on_each_isa(check_multiply, m, n, k);
    on_each_isa(check_update, m, n, k);
    on_each_isa(check_panel, m, n, k);
}

/* ---- tests ---- */

static void open_case_matrices(void) {
    static test_random random;
    random = test_random_at(1);
    draw = &random;
    array_a = fence_open(MOST);
    array_b = fence_open(MOST);
    array_c = fence_open(MOST);
    wanted = fence_open(MOST);
    packed = fence_open(MOST);
}

static void close_case_matrices(void) {
    fence_close(&array_a);
    fence_close(&array_b);
    fence_close(&array_c);
    fence_close(&wanted);
    fence_close(&packed);
}

static void test_sizes_to_40(void **state) {
    static const int64_t depths[] = {0, 1, 2, 3, 7, 8, 9, 40};
    (void)state;
    open_case_matrices();
    for (int64_t m = 0; m <= 40; m++)
        for (int64_t n = 0; n <= 40; n++)
            for (size_t d = 0; d < sizeof depths / sizeof *depths; d++)
                if (test_case_wanted(draw))
                    check_all(m, n, depths[d]);
    close_case_matrices();
}

static int64_t up_to(int64_t most) {
    return (int64_t)test_below(draw, (uint64_t)most + 1);
}

static void test_medium_random(void **state) {
    (void)state;
    open_case_matrices();
    for (int round = 0; round < 150; round++)
        if (test_case_wanted(draw))
            check_all(up_to(200), up_to(200), up_to(150));
    close_case_matrices();
}

/* Around the sizes of groups and of blocks of columns. */
static void test_sizes_of_blocks(void **state) {
    static const int64_t sizes[][3] = {{48, 32, 48},    {47, 32, 48},   {64, 64, 64},
                                       {65, 66, 257},   {241, 40, 256}, {300, 257, 100},
                                       {500, 300, 270}, {40, 600, 50},  {100, 65, 300}};
    (void)state;
    open_case_matrices();
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        if (test_case_wanted(draw))
            check_all(sizes[s][0], sizes[s][1], sizes[s][2]);
    for (wi_isa isa = wi_cpu_isa(); isa > WI_ISA_BASE; isa--) {
        check_multiply(isa, 500, 640, 520);
        check_update(isa, 430, 430, 256);
        check_panel(isa, 690, 600, 0);
    }
    close_case_matrices();
}

static void test_solves(void **state) {
    static const int64_t counts[] = {0, 1, 2, 3, 4, 5, 8, 9, 16, 19};
    (void)state;
    open_case_matrices();
    for (int64_t n = 0; n <= 40; n++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            for (int64_t m = 0; m <= 40; m += 1 + up_to(8))
                if (test_case_wanted(draw))
                    on_each_isa(check_solves, m, n, counts[c]);
    for (int round = 0; round < 100; round++)
        if (test_case_wanted(draw))
            on_each_isa(check_solves, up_to(500), up_to(200), up_to(20));
    close_case_matrices();
}

/* ---- accuracy ---- */

/* Is every |r_ij| of A - L Lt at most n eps times the sum of the magnitudes that enter it? */
static void check_residuals(int64_t m, int64_t n) {
    const int64_t ld = m;
    fill_triangle(&array_a, m, n, ld, 2 * (double)n);
    copy(&wanted, &array_a);
    open_packed(m, n);
    assert_int_equal(wi_dense_eliminate(0, m, n, array_a.data, ld, packed.data), n);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < m; i++) {
            long double sum = wanted.data[i + j * ld], size = 0;
            for (int64_t k = 0; k <= j; k++) {
                const long double product =
                    (long double)array_a.data[i + k * ld] * (long double)array_a.data[j + k * ld];
                sum -= product;
                size += fabsl(product);
            }
            if (!(fabsl(sum) <= (long double)(n + 4) * 0x1p-53L * size))
                fail_msg("%s", say("residual", wi_cpu_isa(), i, j, n));
        }
}

static void check_solution(int64_t n, bool transposed) {
    fill_triangle(&array_a, n, n, n, 2 * (double)n);
    fill(&array_b, n, 1, n);
    copy(&wanted, &array_b);
    (transposed ? wi_dense_backward : wi_dense_forward)(n, 1, array_a.data, n, array_b.data, n);
    for (int64_t i = 0; i < n; i++) {
        long double sum = wanted.data[i], size = 0;
        for (int64_t k = transposed ? i : 0; k < (transposed ? n : i + 1); k++) {
            const double entry = transposed ? array_a.data[k + i * n] : array_a.data[i + k * n];
            const long double product = (long double)entry * (long double)array_b.data[k];
            sum -= product;
            size += fabsl(product);
        }
        if (!(fabsl(sum) <= (long double)(n + 4) * 0x1p-53L * size))
            fail_msg("%s", say("solution", wi_cpu_isa(), i, n, transposed));
    }
}

static void test_accuracy(void **state) {
    (void)state;
    open_case_matrices();
    for (int64_t n = 1; n <= 40; n++) {
        check_residuals(n, n);
        check_residuals(n + 30, n);
        check_solution(n, false);
        check_solution(n, true);
    }
    check_residuals(300, 200);
    check_residuals(400, 400);
    check_solution(400, false);
    check_solution(400, true);
    close_case_matrices();
}

/* Products too small to change a pivot of 1 must not be lost if there are many: columns of the
 * identity over a row of 2^-28 subtract 2^-56 each from later pivots, in elimination and in
 * updates, except those in the same tile. */
static void test_small_products(void **state) {
    enum {
        COLUMNS = 256
    };
    const double small = 0x1p-28;
    (void)state;
    open_case_matrices();
    for (wi_isa isa = WI_ISA_BASE; isa <= wi_cpu_isa(); isa++) {
        const int64_t lda = COLUMNS + 1;
        for (int64_t columns = COLUMNS; columns <= lda; columns++) {
            double left = 1;
            fence_place(&array_a, (size_t)(lda * columns), true);
            for (int64_t k = 0; k < lda * columns; k++)
                array_a.data[k] = k % (lda + 1) == 0 ? 1 : k % lda == COLUMNS ? small : 0;
            assert_int_equal(eliminate(isa, lda, columns, array_a.data, lda), columns);
            if (columns > COLUMNS)
                left = array_a.data[lda * columns - 1] * array_a.data[lda * columns - 1];
            else
                WI_OF_ISA(isa, wi_dense_simd)
                    ->update(COLUMNS, 1, COLUMNS, 1, COLUMNS, packed.data, packed.data, &left, 1);
            if (!(fabs(left - (1 - COLUMNS * small * small)) <= 0x1p-52))
                fail_msg("%s: %g", say("small products", isa, lda, columns, 0), 1 - left);
        }
    }
    close_case_matrices();
}

static void test_bad_pivots(void **state) {
    (void)state;
    open_case_matrices();
    for (int64_t n = 1; n <= 30; n++)
        for (int64_t k = 0; k < n; k++)
            if (test_case_wanted(draw))
                on_each_isa(check_bad_pivot, n + up_to(40), n, k);
    for (int round = 0; round < 60; round++) {
        const int64_t n = 1 + up_to(300);
        if (test_case_wanted(draw))
            on_each_isa(check_bad_pivot, n + up_to(200), n, up_to(n - 1));
    }
    close_case_matrices();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_to_40),     cmocka_unit_test(test_medium_random),
        cmocka_unit_test(test_sizes_of_blocks), cmocka_unit_test(test_bad_pivots),
        cmocka_unit_test(test_solves),          cmocka_unit_test(test_accuracy),
        cmocka_unit_test(test_small_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
