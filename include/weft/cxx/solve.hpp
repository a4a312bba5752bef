/* SPDX-License-Identifier: Apache-2.0 */
/* C++: dense systems, single and in batches. */
#ifndef WEFT_CXX_SOLVE_HPP
#define WEFT_CXX_SOLVE_HPP

#include "weft/cxx/dense.hpp"

namespace weft {
inline namespace WEFT_CXX_MODE {

/* Options at their defaults; `size` is set. */
inline weft_solve_options solve_options() {
    weft_solve_options o = {};
    o.size = sizeof o;
    return o;
}

namespace detail {

template <class A, class B, class X, class F>
result<void> solve(call &&c, F f, unsigned how, matrix<A> a, matrix<B> b, matrix<X> x,
                   const weft_solve_options *options, weft_report *report) {
    if (report)
        report->size = sizeof *report;
    return c.equals("a", "columns", a.cols, a.rows)
        .template same<A, B>("b", b.rows, b.cols, a.rows, b.cols)
        .template same<A, X>("x", x.rows, x.cols, a.rows, b.cols)
        .within("a", a, how)
        .within("b", b, how)
        .within("x", x, how)
        .run(f, how, type_of<A>, a.rows, b.cols, a.data, a.ld, b.data, b.ld, x.data, x.ld, options,
             report);
}

} // namespace detail

/* The report, if one is wanted, gets its size by itself. */
template <class A, class B, class X>
result<void> solve(context &ctx, unsigned how, matrix<A> a, matrix<B> b, matrix<X> x,
                   const weft_solve_options *options = nullptr, weft_report *report = nullptr) {
    return detail::solve(call(ctx, "weft::solve"), weft_solve, how, a, b, x, options, report);
}
template <class A, class B, class X>
result<void> solve_spd(context &ctx, unsigned how, matrix<A> a, matrix<B> b, matrix<X> x,
                       const weft_solve_options *options = nullptr, weft_report *report = nullptr) {
    return detail::solve(call(ctx, "weft::solve_spd"), weft_solve_spd, how, a, b, x, options,
                         report);
}

/* ---- batches: each matrix is the first of its kind, and the others follow at the stride ---- */

template <class A, class P, class I>
result<void> lu_factor_batch_strided(context &ctx, unsigned how, matrix<A> a, std::size_t stride_a,
                                     P &&pivot, I &&info, std::size_t count) {
    return call(ctx, "weft::lu_factor_batch_strided")
        .equals("a", "columns", a.cols, a.rows)
        .holds("pivot", pivot, a.rows * count)
        .holds("info", info, count)
        .within("a", a, how, stride_a, count)
        .run(weft_lu_factor_batch_strided, how, type_of<A>, a.rows, a.data, a.ld, stride_a,
             detail::data(pivot), detail::data(info), count);
}
template <class A, class P, class B>
result<void> lu_solve_batch_strided(context &ctx, unsigned how, matrix<A> lu, std::size_t stride_a,
                                    const P &pivot, matrix<B> b, std::size_t stride_b,
                                    std::size_t count) {
    return call(ctx, "weft::lu_solve_batch_strided")
        .equals("lu", "columns", lu.cols, lu.rows)
        .template same<A, B>("b", b.rows, b.cols, lu.rows, b.cols)
        .holds("pivot", pivot, lu.rows * count)
        .within("lu", lu, how, stride_a, count)
        .within("b", b, how, stride_b, count)
        .run(weft_lu_solve_batch_strided, how, type_of<A>, lu.rows, b.cols, lu.data, lu.ld,
             stride_a, detail::data(pivot), b.data, b.ld, stride_b, count);
}
namespace detail {

template <class A, class B, class I, class F>
result<void> solve_batch(call &&c, F f, unsigned how, matrix<A> a, std::size_t stride_a,
                         matrix<B> b, std::size_t stride_b, I &&info, std::size_t count) {
    return c.equals("a", "columns", a.cols, a.rows)
        .template same<A, B>("b", b.rows, b.cols, a.rows, b.cols)
        .holds("info", info, count)
        .within("a", a, how, stride_a, count)
        .within("b", b, how, stride_b, count)
        .run(f, how, type_of<A>, a.rows, b.cols, a.data, a.ld, stride_a, b.data, b.ld, stride_b,
             detail::data(info), count);
}

} // namespace detail

template <class A, class B, class I>
result<void> solve_batch_strided(context &ctx, unsigned how, matrix<A> a, std::size_t stride_a,
                                 matrix<B> b, std::size_t stride_b, I &&info, std::size_t count) {
    return detail::solve_batch(call(ctx, "weft::solve_batch_strided"), weft_solve_batch_strided,
                               how, a, stride_a, b, stride_b, info, count);
}
template <class A, class I>
result<void> cholesky_factor_batch_strided(context &ctx, unsigned how, matrix<A> a,
                                           std::size_t stride_a, I &&info, std::size_t count) {
    return call(ctx, "weft::cholesky_factor_batch_strided")
        .equals("a", "columns", a.cols, a.rows)
        .holds("info", info, count)
        .within("a", a, how, stride_a, count)
        .run(weft_cholesky_factor_batch_strided, how, type_of<A>, a.rows, a.data, a.ld, stride_a,
             detail::data(info), count);
}
template <class A, class B>
result<void> cholesky_solve_batch_strided(context &ctx, unsigned how, matrix<A> l,
                                          std::size_t stride_a, matrix<B> b, std::size_t stride_b,
                                          std::size_t count) {
    return call(ctx, "weft::cholesky_solve_batch_strided")
        .equals("l", "columns", l.cols, l.rows)
        .template same<A, B>("b", b.rows, b.cols, l.rows, b.cols)
        .within("l", l, how, stride_a, count)
        .within("b", b, how, stride_b, count)
        .run(weft_cholesky_solve_batch_strided, how, type_of<A>, l.rows, b.cols, l.data, l.ld,
             stride_a, b.data, b.ld, stride_b, count);
}
template <class A, class B, class I>
result<void> solve_spd_batch_strided(context &ctx, unsigned how, matrix<A> a, std::size_t stride_a,
                                     matrix<B> b, std::size_t stride_b, I &&info,
                                     std::size_t count) {
    return detail::solve_batch(call(ctx, "weft::solve_spd_batch_strided"),
                               weft_solve_spd_batch_strided, how, a, stride_a, b, stride_b, info,
                               count);
}

} // namespace WEFT_CXX_MODE
} // namespace weft

#endif
