/* SPDX-License-Identifier: Apache-2.0 */
/* C++: sparse matrices, and their Cholesky factors. */
#ifndef WEFT_CXX_SPARSE_HPP
#define WEFT_CXX_SPARSE_HPP

#include <string>
#include <vector>

#include "weft/cxx/dense.hpp"

namespace weft {
inline namespace WEFT_CXX_MODE {

/* A sparse matrix of doubles. */
class sparse {
  public:
    using raw_type = weft_sparse;

    template <class I>
    static result<sparse> create_csc(context &ctx, weft_storage storage, std::size_t rows,
                                     std::size_t cols, const I &start, const I &index,
                                     span<const double> value) {
        return compressed(call(ctx, "weft::sparse::create_csc"), weft_sparse_create_csc, storage,
                          rows, cols, start, cols, index, value);
    }
    template <class I>
    static result<sparse> create_csr(context &ctx, weft_storage storage, std::size_t rows,
                                     std::size_t cols, const I &start, const I &index,
                                     span<const double> value) {
        return compressed(call(ctx, "weft::sparse::create_csr"), weft_sparse_create_csr, storage,
                          rows, cols, start, rows, index, value);
    }
    template <class I>
    static result<sparse> create_triplets(context &ctx, weft_storage storage, std::size_t rows,
                                          std::size_t cols, const I &row, const I &col,
                                          span<const double> value) {
        return call(ctx, "weft::sparse::create_triplets")
            .holds("row", row, value.size())
            .holds("col", col, value.size())
            .template make<sparse>(weft_sparse_create_triplets, storage, rows, cols, value.size(),
                                   detail::type<I>, detail::data(row), detail::data(col),
                                   value.data());
    }
    /* Sets the size of the input by itself. */
    static result<sparse> create(context &ctx, weft_sparse_input input) {
        input.size = sizeof input;
        return call(ctx, "weft::sparse::create").make<sparse>(weft_sparse_create, &input);
    }
    static result<sparse> read(context &ctx, const char *path) {
        return call(ctx, "weft::sparse::read").make<sparse>(weft_sparse_read, path);
    }
    static result<sparse> read_as(context &ctx, const char *path, weft_storage storage,
                                  double symmetry_tolerance) {
        return call(ctx, "weft::sparse::read_as")
            .make<sparse>(weft_sparse_read_as, path, storage, symmetry_tolerance);
    }

    result<void> write(context &ctx, const char *path) const {
        return call(ctx, "weft::sparse::write").run(weft_sparse_write, get(), path);
    }
    /* `text` is an array of bytes. */
    template <class M>
    static result<sparse> read_memory(context &ctx, const M &text, weft_storage storage,
                                      double symmetry_tolerance) {
        return call(ctx, "weft::sparse::read_memory")
            .make<sparse>(weft_sparse_read_memory, detail::data(text),
                          detail::size(text) * detail::width<M>, storage, symmetry_tolerance);
    }
    /* Gives the text of a file. */
    result<std::string> write_memory(context &ctx) const {
        std::string text;
        const auto work = [&](weft_context *c) {
            std::size_t bytes = 0;
            const weft_status status = weft_sparse_write_memory(c, get(), nullptr, 0, &bytes);
            text.resize(bytes);
            return status == WEFT_OK
                       ? weft_sparse_write_memory(c, get(), text.data(), bytes, &bytes)
                       : status;
        };
        return call(ctx, "weft::sparse::write_memory").give(text, work);
    }
    result<void> update(context &ctx, span<const double> value) {
        return call(ctx, "weft::sparse::update")
            .run(weft_sparse_update, get(), value.size(), value.data());
    }
    /* Y = A X, stored by columns. */
    template <class X>
    result<void> multiply(context &ctx, matrix<X> x, matrix<double> y) const {
        return call(ctx, "weft::sparse::multiply")
            .same<double, X>("x", x.rows, x.cols, cols(), x.cols)
            .template same<double, double>("y", y.rows, y.cols, rows(), x.cols)
            .run(weft_sparse_multiply, get(), x.cols, x.data, x.ld, y.data, y.ld);
    }

    std::size_t rows() const {
        return weft_sparse_rows(get());
    }
    std::size_t cols() const {
        return weft_sparse_cols(get());
    }
    bool is_symmetric() const {
        return weft_sparse_is_symmetric(get());
    }
    double asymmetry() const {
        return weft_sparse_asymmetry(get());
    }
    /* Over ranks: the rows of right-hand sides that this rank passes; *first is the first one. */
    std::size_t own_rows(const context &ctx, std::size_t *first = nullptr) const {
        return weft_sparse_own_rows(ctx.get(), get(), first);
    }
    std::size_t entries() const {
        return weft_sparse_entries(get());
    }
    span<const std::int64_t> starts() const {
        const std::int64_t *const start = weft_sparse_starts(get());
        return span<const std::int64_t>(start, start ? cols() + 1 : 0);
    }
    span<const std::int64_t> row_indices() const {
        return span<const std::int64_t>(weft_sparse_row_indices(get()), entries());
    }
    span<const double> values() const {
        return span<const double>(weft_sparse_values(get()), entries());
    }
    weft_sparse *get() const {
        return raw_.get();
    }

  private:
    friend class call;
    explicit sparse(weft_sparse *raw) : raw_(raw) {}
    template <class F, class I>
    static result<sparse> compressed(call &&c, F create, weft_storage storage, std::size_t rows,
                                     std::size_t cols, const I &start, std::size_t lines,
                                     const I &index, span<const double> value) {
        return c.holds("start", start, lines + 1)
            .holds("value", value, detail::size(index))
            .template make<sparse>(create, storage, rows, cols, detail::type<I>,
                                   detail::data(start), detail::data(index), value.data());
    }
    std::unique_ptr<weft_sparse, detail::destroyer<weft_sparse_destroy>> raw_;
};

/* The plan and the factor of P A Pt = L Lt. */
class chol {
  public:
    using raw_type = weft_chol;

    /* Sets the size of the options by itself. */
    static result<chol> analyze(context &ctx, const sparse &a, weft_chol_options options = {}) {
        options.size = sizeof options;
        return call(ctx, "weft::chol::analyze")
            .make_last<chol>(weft_chol_analyze, a.get(), &options);
    }
    static result<chol> load(context &ctx, const char *path) {
        return call(ctx, "weft::chol::load").make_last<chol>(weft_chol_load, path);
    }
    result<void> save(context &ctx, const char *path) const {
        return call(ctx, "weft::chol::save").run(weft_chol_save, get(), path);
    }

    /* `saved` is an array of bytes that save_memory gave. */
    template <class M>
    static result<chol> load_memory(context &ctx, const M &saved) {
        return call(ctx, "weft::chol::load_memory")
            .make_last<chol>(weft_chol_load_memory, detail::data(saved),
                             detail::size(saved) * detail::width<M>);
    }
    result<std::vector<unsigned char>> save_memory(context &ctx) const {
        std::vector<unsigned char> saved;
        const auto work = [&](weft_context *c) {
            std::size_t bytes = 0;
            const weft_status status = weft_chol_save_memory(c, get(), nullptr, 0, &bytes);
            saved.resize(bytes);
            return status == WEFT_OK ? weft_chol_save_memory(c, get(), saved.data(), bytes, &bytes)
                                     : status;
        };
        return call(ctx, "weft::chol::save_memory").give(saved, work);
    }

    result<weft_chol_report> report(context &ctx) const {
        weft_chol_report r = {};
        r.size = sizeof r;
        return call(ctx, "weft::chol::report").give(r, weft_chol_get_report, get(), &r);
    }
    /* The k-th column is the matrix's column permutation()[k], for k = 0 ... n - 1. */
    const std::int64_t *permutation() const {
        return weft_chol_permutation(get());
    }
    result<void> reserve(context &ctx, std::size_t right_hand_sides) {
        return call(ctx, "weft::chol::reserve").run(weft_chol_reserve, get(), right_hand_sides);
    }
    result<void> on_progress(context &ctx, weft_chol_progress progress, void *user) {
        return call(ctx, "weft::chol::on_progress")
            .run(weft_chol_on_progress, get(), progress, user);
    }
    result<void> factor(context &ctx, const sparse &a) {
        return call(ctx, "weft::chol::factor").run(weft_chol_factor, get(), a.get());
    }
    /* Values in the order of a.values(). */
    template <class V>
    result<void> factor_values(context &ctx, const sparse &a, const V &value) {
        return call(ctx, "weft::chol::factor_values")
            .holds("value", value, a.entries())
            .run(weft_chol_factor_values, get(), a.get(), detail::data(value));
    }
    /* How graphs of calls on this plan went. */
    result<void> check(context &ctx) {
        return call(ctx, "weft::chol::check").run(weft_chol_check, get());
    }
    /* After WEFT_ENOTSPD or WEFT_ESINGULAR; d has as many elements as A has rows. */
    result<void> direction(context &ctx, span<double> d) {
        return call(ctx, "weft::chol::direction")
            .holds("d", d, order(ctx))
            .run(weft_chol_direction, get(), d.data());
    }
    /* X = A \ B, stored by columns. X may be B. */
    template <class B>
    result<void> solve(context &ctx, const sparse &a, matrix<B> b, matrix<double> x,
                       weft_chol_solve_options options = {}) {
        options.size = sizeof options;
        return call(ctx, "weft::chol::solve")
            .same<double, B>("b", b.rows, b.cols, a.rows(), b.cols)
            .template same<double, double>("x", x.rows, x.cols, a.rows(), b.cols)
            .run(weft_chol_solve, get(), a.get(), &options, b.cols, b.data, b.ld, x.data, x.ld);
    }
    result<double> condition(context &ctx, const sparse &a) {
        double estimate = 0;
        return call(ctx, "weft::chol::condition")
            .give(estimate, weft_chol_condition, get(), a.get(), &estimate);
    }
    weft_chol *get() const {
        return raw_.get();
    }

  private:
    friend class call;
    explicit chol(weft_chol *raw) : raw_(raw) {}
    std::size_t order(weft_context *ctx) const {
        weft_chol_report r = {};
        r.size = sizeof r;
        return weft_chol_get_report(ctx, get(), &r) == WEFT_OK ? r.n : 0;
    }
    std::unique_ptr<weft_chol, detail::destroyer<weft_chol_destroy>> raw_;
};

} // namespace WEFT_CXX_MODE
} // namespace weft

#endif
