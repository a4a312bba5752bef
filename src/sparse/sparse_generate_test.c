/* SPDX-License-Identifier: Apache-2.0 */
/* The generated problems are correct: entries by their formulas, balance of forces, positive
 * definite by a dense factorization, the same for the same seed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sparse/generate.h"
#include "testing.h"

static weft_sparse *make(weft_context *ctx, const char *name, wi_recipe recipe) {
    weft_sparse *m = NULL;
    const wi_generator *const generator = wi_find_generator(name);
    assert_non_null(generator);
    if (generator->make(ctx, "test", &recipe, &m) != WEFT_OK)
        fail_msg("%s %zu: %s", name, recipe.n, weft_message(ctx));
    return m;
}

/* Both halves, column-major. */
static double *dense_of(const weft_sparse *m) {
    const size_t n = weft_sparse_rows(m);
    const int64_t *const start = weft_sparse_starts(m), *const row = weft_sparse_row_indices(m);
    double *const dense = calloc(n * n, sizeof *dense);
    assert_non_null(dense);
    assert_true(weft_sparse_is_symmetric(m));
    for (size_t j = 0; j < n; j++) {
        int64_t before = (int64_t)j - 1;
        for (int64_t k = start[j]; k < start[j + 1]; k++) {
            assert_true(row[k] > before && row[k] < (int64_t)n);
            before = row[k];
            dense[(size_t)row[k] + j * n] = dense[j + (size_t)row[k] * n] =
                weft_sparse_values(m)[k];
        }
        assert_true(start[j] < start[j + 1] && row[start[j]] == (int64_t)j);
    }
    return dense;
}

/* Cholesky's own algorithm; false at the first pivot that is not positive. */
static bool is_positive_definite(double *a, size_t n) {
    for (size_t k = 0; k < n; k++) {
        const double pivot = a[k + k * n];
        if (!(pivot > 0))
            return false;
        for (size_t j = k + 1; j < n; j++) {
            for (size_t i = j; i < n; i++)
                a[i + j * n] -= a[i + k * n] * a[j + k * n] / pivot;
        }
    }
    return true;
}

static void laplacians(weft_context *ctx) {
    for (size_t dims = 2; dims <= 3; dims++) {
        for (size_t n = 1; n <= (dims == 2 ? 9 : 5); n++) {
            weft_sparse *const m =
                make(ctx, dims == 2 ? "laplace2d" : "laplace3d", (wi_recipe){.n = n});
            const size_t size = dims == 2 ? n * n : n * n * n;
            double *const a = dense_of(m);
            assert_int_equal(weft_sparse_rows(m), size);
            for (size_t p = 0; p < size; p++) {
                for (size_t q = 0; q < size; q++) {
                    const size_t far = (size_t)labs((long)(p % n) - (long)(q % n)) +
                                       (size_t)labs((long)(p / n % n) - (long)(q / n % n)) +
                                       (size_t)labs((long)(p / n / n) - (long)(q / n / n));
                    const double expected = far == 0 ? 2 * (double)dims + 1e-3 : far == 1 ? -1 : 0;
                    assert_true(a[p + q * size] == expected);
                }
            }
            assert_true(is_positive_definite(a, size));
            free(a);
            weft_sparse_destroy(m);
        }
    }
}

/* The position of free node k of a cube of n elements. */
static void node_at(size_t n, size_t k, size_t at[3]) {
    at[0] = k % n + 1;
    at[1] = k / n % (n + 1);
    at[2] = k / n / (n + 1);
}

/* A displacement proportional to x strains the cube evenly: no force on any inner node, and on the
 * loaded face the force is the stress times the node's share of the face. */
static void elasticity(weft_context *ctx) {
    const size_t n = 4, nodes = n * (n + 1) * (n + 1);
    weft_sparse *const m = make(ctx, "elasticity3d", (wi_recipe){.n = n});
    double *const u = calloc(3 * nodes, sizeof *u), *const f = calloc(3 * nodes, sizeof *f);
    const double stress = 0.7 / (1.3 * 0.4); /* E (1 - nu) / ((1 + nu) (1 - 2 nu)) */
    assert_non_null(u);
    assert_non_null(f);
    assert_int_equal(weft_sparse_rows(m), 3 * nodes);
    for (size_t k = 0; k < nodes; k++)
        u[3 * k] = (double)(k % n + 1);
    assert_int_equal(weft_sparse_multiply(ctx, m, 1, u, 3 * nodes, f, 3 * nodes), WEFT_OK);
    for (size_t k = 0; k < nodes; k++) {
        size_t at[3];
        node_at(n, k, at);
        const bool inside_y = at[1] > 0 && at[1]<n, inside_z = at[2]> 0 && at[2] < n;
        const double share = (inside_y ? 1 : 0.5) * (inside_z ? 1 : 0.5);
        const double expected = at[0] == n ? stress * share : 0;
        if (!(fabs(f[3 * k] - expected) <= 1e-13))
            fail_msg("node %zu: force %g, not %g", k, f[3 * k], expected);
        if (inside_y && inside_z && !(fabs(f[3 * k + 1]) + fabs(f[3 * k + 2]) <= 1e-13))
            fail_msg("node %zu: forces %g and %g across", k, f[3 * k + 1], f[3 * k + 2]);
    }
    weft_sparse_destroy(m);
    free(u);
    free(f);
}

static void positive_definite(weft_context *ctx) {
    static const struct {
        const char *name;
        wi_recipe recipe;
    } cases[] = {
        {"elasticity3d", {.n = 1}},
        {"elasticity3d", {.n = 2}},
        {"elasticity3d", {.n = 3}},
        {"random", {.n = 1, .seed = 1, .per_row = 1}},
        {"random", {.n = 2, .seed = 2, .per_row = 2}},
        {"random", {.n = 150, .seed = 3, .per_row = 8}},
        {"random", {.n = 60, .seed = 4, .per_row = 60}},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        weft_sparse *const m = make(ctx, cases[k].name, cases[k].recipe);
        double *const a = dense_of(m);
        if (!is_positive_definite(a, weft_sparse_rows(m)))
            fail_msg("%s %zu is not positive definite", cases[k].name, cases[k].recipe.n);
        free(a);
        weft_sparse_destroy(m);
    }
}

static void seeds(weft_context *ctx) {
    const wi_recipe recipe = {.n = 3000, .seed = 5, .per_row = 9};
    const wi_recipe other = {.n = 3000, .seed = 6, .per_row = 9};
    weft_sparse *const a = make(ctx, "random", recipe), *const b = make(ctx, "random", recipe),
                       *const c = make(ctx, "random", other);
    const size_t entries = weft_sparse_entries(a);
    /* 4 random entries below the diagonal in almost every column, few of them twice */
    assert_true(entries > 3000 + 4 * 2900 && entries <= 3000 + 4 * 3000);
    assert_int_equal(entries, weft_sparse_entries(b));
    assert_memory_equal(weft_sparse_row_indices(a), weft_sparse_row_indices(b), entries * 8);
    assert_memory_equal(weft_sparse_values(a), weft_sparse_values(b), entries * 8);
    assert_true(weft_sparse_values(a)[1] != weft_sparse_values(c)[1]);
    weft_sparse_destroy(a);
    weft_sparse_destroy(b);
    weft_sparse_destroy(c);
}

static void refusals(weft_context *ctx) {
    static const struct {
        const char *name;
        wi_recipe recipe;
    } cases[] = {
        {"laplace2d", {.n = 0}},
        {"laplace2d", {.n = (size_t)1 << 32}},
        {"laplace3d", {.n = (size_t)1 << 21}},
        {"elasticity3d", {.n = 0}},
        {"elasticity3d", {.n = SIZE_MAX}},
        {"elasticity3d", {.n = (size_t)1 << 20}},
        {"random", {.n = 0, .per_row = 1}},
        {"random", {.n = 7, .per_row = 8}},
    };
    assert_null(wi_find_generator("laplace4d"));
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        weft_sparse *m = NULL;
        const wi_generator *const generator = wi_find_generator(cases[k].name);
        test_refused(ctx, generator->make(ctx, "test", &cases[k].recipe, &m), WEFT_EARG, "test",
                     NULL);
        assert_null(m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(laplacians),        TEST_ON_EACH_PLACE(elasticity),
        TEST_ON_EACH_PLACE(positive_definite), TEST_ON_EACH_PLACE(seeds),
        TEST_ON_EACH_PLACE(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
