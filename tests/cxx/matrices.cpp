/* SPDX-License-Identifier: Apache-2.0 */
/* weft.hpp: dense and sparse matrices. */
#include <cstdint>
#include <cstring>

#include "check.hpp"

using std::vector;
using weft::as_matrix;

static void test_products(weft::context &ctx) {
    const vector<double> a = {1, 2, 3, 4, 5, 6}; /* 2 x 3 by rows */
    const vector<double> b = {1, 0, 0, 1, 1, 1}; /* 3 x 2 by rows */
    vector<double> c(4);
    const unsigned rows = WEFT_ROW_MAJOR;
    const auto am = as_matrix(a, 2, 3, rows), bm = as_matrix(b, 3, 2, rows);
    OK(weft::gemm(ctx, rows, 1, am, bm, 0, as_matrix(c, 2, 2, rows)));
    CHECK((c == vector<double>{4, 5, 10, 11}));
    const double at[] = {1, 4, 2, 5, 3, 6};
    OK(weft::gemm(ctx, rows | WEFT_TRANSPOSE_A, 1, as_matrix(at, 3, 2, rows), bm, 1,
                  as_matrix(c, 2, 2, rows)));
    CHECK(c[0] == 8 && c[3] == 22);
    REFUSED(ctx, WEFT_EARG, "b has 2 rows; pass one of 3",
            weft::gemm(ctx, rows, 1, am, am, 0, as_matrix(c, 2, 2, rows)));
    REFUSED(ctx, WEFT_EARG, "a is NULL",
            weft::gemm(ctx, rows, 1, as_matrix(b, 4, 3, rows), bm, 0, as_matrix(c, 4, 2, rows)));
    REFUSED(ctx, WEFT_EARG, "c is NULL",
            weft::gemm(ctx, rows, 1, am, bm, 0, as_matrix(vector<double>(3), 2, 2, rows)));
    /* stored by columns, and read by rows it would end behind the array */
    REFUSED(ctx, WEFT_EARG, "b ends behind its array, which has 6 elements",
            weft::gemm(ctx, rows, 1, am, as_matrix(b, 3, 2), 0, as_matrix(c, 2, 2, rows)));
    vector<double> two(8);
    REFUSED(
        ctx, WEFT_EARG, "c ends behind its array, which has 8 elements",
        weft::gemm_batch_strided(ctx, rows, 1, am, 0, bm, 0, 0, as_matrix(two, 2, 2, rows), 5, 2));
    OK(weft::gemm_batch_strided(ctx, rows, 1, am, 0, bm, 0, 0, as_matrix(two, 2, 2, rows), 4, 2));
    CHECK(two[0] == 4 && two[7] == 11);
    const vector<const double *> as = {a.data()}, bs = {b.data()};
    const vector<double *> cs = {c.data()};
    OK(weft::gemm_batch(ctx, rows, 2, 2, 3, 1, as, 3, bs, 2, 0, cs, 2));
    CHECK(c[3] == 11);

    vector<double> s(4);
    OK(weft::syrk(ctx, rows, 1, am, 0, as_matrix(s, 2, 2, rows)));
    CHECK(s[0] == 14 && s[2] == 32 && s[3] == 77);
    const vector<double> l = {2, 0, 1, 4};
    vector<double> x = {2, 9};
    OK(weft::trsm(ctx, rows, 1, as_matrix(l, 2, 2, rows), as_matrix(x, 2, 1, rows)));
    CHECK(x[0] == 1 && x[1] == 2);
    OK(weft::trmm(ctx, rows, 1, as_matrix(l, 2, 2, rows), as_matrix(x, 2, 1, rows)));
    CHECK(x[0] == 2 && x[1] == 9);
    vector<double> y(2);
    OK(weft::gemv(ctx, rows, 1, am, vector<double>{1, 1, 1}, 0, y));
    CHECK(y[0] == 6 && y[1] == 15);
    OK(weft::ger(ctx, rows, 1, vector<double>{1, 2}, vector<double>{3, 4},
                 as_matrix(c, 2, 2, rows)));
    CHECK(c[0] == 7 && c[3] == 19);
    vector<double> t(6);
    OK(weft::transpose(ctx, rows, am, as_matrix(t, 3, 2, rows)));
    CHECK(t[1] == 4 && t[5] == 6);
}

static void test_factors(weft::context &ctx) {
    const vector<double> a = {4, 1, 2, 3}; /* by columns: 4 2; 1 3 */
    vector<double> b = {8, 9}, f = a, spd = {4, 2, 2, 5};
    vector<std::int64_t> pivot(2);
    OK(weft::lu_factor(ctx, 0, as_matrix(f, 2, 2), pivot));
    OK(weft::lu_solve(ctx, 0, as_matrix(f, 2, 2), pivot, as_matrix(b, 2, 1)));
    CHECK(near(b[0], 0.6) && near(b[1], 2.8));
    OK(weft::lu_inverse(ctx, 0, as_matrix(f, 2, 2), pivot));
    CHECK(near(f[0], 0.3) && near(f[3], 0.4));
    b = {8, 9};
    const auto lu = OK(weft::lu_factors<double>::factor(ctx, 0, 2, a));
    OK(lu.solve(ctx, as_matrix(b, 2, 1)));
    CHECK(near(b[0], 0.6) && near(b[1], 2.8));
    b = {6, 5};
    OK(lu.solve(ctx, as_matrix(b, 2, 1), true));
    CHECK(near(b[0], 1.3) && near(b[1], 0.8));
    REFUSED(ctx, WEFT_ESINGULAR, "column 1",
            weft::lu_factors<double>::factor(ctx, 0, 2, vector<double>{1, 1, 1, 1}));

    vector<double> l = spd;
    b = {8, 9};
    OK(weft::cholesky_factor(ctx, 0, as_matrix(l, 2, 2)));
    OK(weft::cholesky_solve(ctx, 0, as_matrix(l, 2, 2), as_matrix(b, 2, 1)));
    CHECK(near(b[0], 1.375) && near(b[1], 1.25));
    b = {8, 9};
    const auto chol = OK(weft::cholesky_factors<double>::factor(ctx, 0, 2, spd));
    OK(chol.solve(ctx, as_matrix(b, 2, 1)));
    CHECK(near(b[0], 1.375));
    REFUSED(ctx, WEFT_ENOTSPD, "column 1",
            weft::cholesky_factors<double>::factor(ctx, 0, 2, vector<double>{1, 2, 2, 1}));

    vector<double> x(2);
    b = {8, 9};
    weft_report report = {};
    weft_solve_options options = weft::solve_options();
    OK(weft::solve(ctx, 0, as_matrix(a, 2, 2), as_matrix(b, 2, 1), as_matrix(x, 2, 1), &options,
                   &report));
    CHECK(near(x[1], 2.8) && report.backward_error < 1e-15 && std::strlen(report.variant) > 0);
    options.exact = 1;
    OK(weft::solve(ctx, 0, as_matrix(a, 2, 2), as_matrix(b, 2, 1), as_matrix(x, 2, 1), &options,
                   &report));
    CHECK(report.exact == 1);
    OK(weft::solve_spd(ctx, 0, as_matrix(spd, 2, 2), as_matrix(b, 2, 1), as_matrix(x, 2, 1)));
    CHECK(near(x[0], 1.375));
}

static void test_batches(weft::context &ctx) {
    const vector<float> a = {4, 1, 2, 3, 2, 0, 0, 2}, spd = {4, 2, 2, 5, 2, 0, 0, 2};
    vector<float> f = a, b = {8, 9, 2, 4};
    vector<std::int32_t> pivot(4), info(2, -9);
    const auto first = [](vector<float> &v, std::size_t cols) { return as_matrix(v, 2, cols); };
    OK(weft::lu_factor_batch_strided(ctx, 0, first(f, 2), 4, pivot, info, 2));
    OK(weft::lu_solve_batch_strided(ctx, 0, first(f, 2), 4, pivot, first(b, 1), 2, 2));
    CHECK(info[0] == 0 && near(b[1], 2.8) && b[3] == 2);
    b = {8, 9, 2, 4};
    OK(weft::solve_batch_strided(ctx, 0, as_matrix(a, 2, 2), 4, first(b, 1), 2, info, 2));
    CHECK(near(b[1], 2.8));
    f = spd;
    b = {8, 9, 2, 4};
    OK(weft::cholesky_factor_batch_strided(ctx, 0, first(f, 2), 4, info, 2));
    OK(weft::cholesky_solve_batch_strided(ctx, 0, first(f, 2), 4, first(b, 1), 2, 2));
    CHECK(near(b[0], 1.375) && b[2] == 1);
    b = {8, 9, 2, 4};
    OK(weft::solve_spd_batch_strided(ctx, 0, as_matrix(spd, 2, 2), 4, first(b, 1), 2, info, 2));
    CHECK(near(b[0], 1.375));
    REFUSED(ctx, WEFT_EARG, "info has 2",
            weft::solve_batch_strided(ctx, 0, as_matrix(a, 2, 2), 4, first(b, 1), 2, info, 3));
}

void test_dense(weft::context &ctx) {
    test_products(ctx);
    test_factors(ctx);
    test_batches(ctx);
}

static int count_calls(void *user, double) {
    ++*static_cast<int *>(user);
    return 0;
}

static void test_matrices(weft::context &ctx, const std::string &path) {
    const vector<int> start = {0, 2, 3}, index = {0, 1, 1}, row = {0, 1, 1}, col = {0, 0, 1};
    const vector<double> value = {4, 2, 5};
    auto a = OK(weft::sparse::create_csc(ctx, WEFT_SYMMETRIC_LOWER, 2, 2, start, index, value));
    const auto r = OK(weft::sparse::create_csr(ctx, WEFT_GENERAL, 2, 2, start, index, value));
    const auto t =
        OK(weft::sparse::create_triplets(ctx, WEFT_SYMMETRIC_LOWER, 2, 2, row, col, value));
    CHECK(a.rows() == 2 && a.cols() == 2 && a.entries() == 3 && a.is_symmetric());
    CHECK(!r.is_symmetric() && t.asymmetry() == 0);
    std::size_t first = 1;
    CHECK(a.own_rows(ctx, &first) == 2 && first == 0);
    CHECK(a.starts().data()[1] == 2 && a.row_indices().data()[1] == 1 && a.values().data()[2] == 5);
    weft_sparse_input input = {};
    input.form = WEFT_TRIPLETS;
    input.storage = WEFT_SYMMETRIC_LOWER;
    input.rows = input.cols = 2;
    input.n = 3;
    input.index_type = WEFT_I32;
    input.row = row.data();
    input.col = col.data();
    input.value = value.data();
    CHECK(OK(weft::sparse::create(ctx, input)).entries() == 3);
    OK(a.write(ctx, path.c_str()));
    CHECK(OK(weft::sparse::read(ctx, path.c_str())).entries() == 3);
    CHECK(OK(weft::sparse::read_as(ctx, path.c_str(), WEFT_SYMMETRIC_LOWER, 0)).entries() == 3);
    const std::string text = OK(a.write_memory(ctx));
    CHECK(text.rfind("%%MatrixMarket", 0) == 0);
    CHECK(OK(weft::sparse::read_memory(ctx, text, WEFT_GENERAL, 0)).entries() == 3);
    OK(a.update(ctx, vector<double>{8, 2, 5}));
    vector<double> y(2);
    const vector<double> x = {1, 1};
    OK(a.multiply(ctx, as_matrix(x, 2, 1), as_matrix(y, 2, 1)));
    CHECK(y[0] == 10 && y[1] == 7);
    REFUSED(ctx, WEFT_EARG, "value has 2",
            weft::sparse::create_csc(ctx, WEFT_GENERAL, 2, 2, start, index, vector<double>(2)));
    REFUSED(ctx, WEFT_EIO, "no_such_file", weft::sparse::read(ctx, "no_such_file"));
}

void test_sparse(weft::context &ctx) {
    const char *const tmp = std::getenv("TMPDIR");
    const std::string path =
        std::string(tmp ? tmp : "/tmp") + "/weft_cxx_" + std::to_string(__cplusplus) + ".tmp";
    test_matrices(ctx, path);
    const vector<int> row = {0, 1, 1}, col = {0, 0, 1};
    const auto make = [&](const vector<double> &value) {
        return OK(weft::sparse::create_triplets(ctx, WEFT_SYMMETRIC_LOWER, 2, 2, row, col, value));
    };
    const auto a = make({4, 2, 5});
    auto plan = OK(weft::chol::analyze(ctx, a));
    OK(plan.save(ctx, path.c_str()));
    plan = OK(weft::chol::load(ctx, path.c_str()));
    std::remove(path.c_str());
    const vector<unsigned char> saved = OK(plan.save_memory(ctx));
    plan = OK(weft::chol::load_memory(ctx, saved));
    CHECK(OK(plan.report(ctx)).n == 2);
    CHECK(plan.permutation()[0] + plan.permutation()[1] == 1);
    int calls = 0;
    OK(plan.on_progress(ctx, count_calls, &calls));
    OK(plan.reserve(ctx, 1));
    OK(plan.factor(ctx, a));
    vector<double> b = {8, 9};
    OK(plan.solve(ctx, a, as_matrix(b, 2, 1), as_matrix(b, 2, 1)));
    CHECK(near(b[0], 1.375) && near(b[1], 1.25) && calls > 0);
    CHECK(OK(plan.condition(ctx, a)) > 1);
    const vector<double> twice = {8, 4, 10};
    OK(plan.factor_values(ctx, a, twice));
    OK(plan.check(ctx));
    weft_chol_solve_options with = {};
    with.value = twice.data();
    b = {16, 18};
    OK(plan.solve(ctx, a, as_matrix(b, 2, 1), as_matrix(b, 2, 1), with));
    CHECK(near(b[0], 1.375) && near(b[1], 1.25));
    REFUSED(ctx, WEFT_EARG, "value", plan.factor_values(ctx, a, vector<double>{1, 2}));
    const auto indefinite = make({1, 2, 1});
    REFUSED(ctx, WEFT_ENOTSPD, "column", plan.factor(ctx, indefinite));
    vector<double> d(2);
    OK(plan.direction(ctx, d));
    CHECK(d[0] != 0 && d[1] != 0);
    weft_chol_options options = {};
    options.kind = WEFT_CHOL_INDEFINITE;
    plan = OK(weft::chol::analyze(ctx, indefinite, options));
    OK(plan.factor(ctx, indefinite));
    CHECK(OK(plan.report(ctx)).positive == 1 && OK(plan.report(ctx)).negative == 1);
    b = {5, 4};
    OK(plan.solve(ctx, indefinite, as_matrix(b, 2, 1), as_matrix(b, 2, 1)));
    CHECK(near(b[0], 1) && near(b[1], 2));
    const std::int8_t signs[] = {1, 1};
    options.kind = WEFT_CHOL_QUASIDEFINITE;
    options.signs = signs;
    plan = OK(weft::chol::analyze(ctx, indefinite, options));
    REFUSED(ctx, WEFT_ENOTSPD, "sign", plan.factor(ctx, indefinite));
}
