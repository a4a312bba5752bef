/* SPDX-License-Identifier: Apache-2.0 */
/* C++: dense matrices. A matrix<T> is what is stored: its rows and columns are those of A itself,
 * whether the flags say that it lies by rows or by columns; with WEFT_TRANSPOSE_A it is what is
 * stored, not the transpose that the formula has. */
#ifndef WEFT_CXX_DENSE_HPP
#define WEFT_CXX_DENSE_HPP

#include "weft/cxx/elements.hpp"

namespace weft {
inline namespace WEFT_CXX_MODE {

namespace detail {

/* The shape of op(A). */
template <class T>
std::size_t op_rows(const matrix<T> &a, bool transposed) {
    return transposed ? a.cols : a.rows;
}
template <class T>
std::size_t op_cols(const matrix<T> &a, bool transposed) {
    return transposed ? a.rows : a.cols;
}

} // namespace detail

/* A matrix without gaps, by columns unless `how` has WEFT_ROW_MAJOR, in an array, whose end the
 * calls look at. If that has fewer elements, the matrix is at NULL, which all of them refuse. */
template <class X>
auto as_matrix(X &&x, std::size_t rows, std::size_t cols, unsigned how = 0) {
    const std::size_t ld = how & WEFT_ROW_MAJOR ? cols : rows;
    const std::size_t room = detail::size(x);
    const bool fits = rows == 0 || room / rows >= cols;
    return matrix<std::remove_pointer_t<decltype(std::data(x))>>{
        fits ? std::data(x) : nullptr, rows, cols, ld ? ld : 1, fits ? room : SIZE_MAX};
}

/* ---- products ---- */

namespace detail {

struct product_shape {
    std::size_t m, n, k;
};

/* Checks that C = op(A) op(B) fits. */
template <class A, class B, class C>
product_shape check_product(call &c, unsigned how, const matrix<A> &a, const matrix<B> &b,
                            const matrix<C> &out) {
    const bool ta = how & WEFT_TRANSPOSE_A, tb = how & WEFT_TRANSPOSE_B;
    const product_shape s = {op_rows(a, ta), op_cols(b, tb), op_cols(a, ta)};
    c.same<A, B>("b", op_rows(b, tb), s.n, s.k, s.n)
        .equals("c", "rows", out.rows, s.m)
        .equals("c", "columns", out.cols, s.n);
    c.within("a", a, how).within("b", b, how).within("c", out, how);
    return s;
}

} // namespace detail

template <class A, class B, class C>
result<void> gemm(context &ctx, unsigned how, double alpha, matrix<A> a, matrix<B> b, double beta,
                  matrix<C> c) {
    call checked(ctx, "weft::gemm");
    const auto s = detail::check_product(checked, how, a, b, c);
    return checked.run(weft_gemm, how, type_of<A>, type_of<C>, s.m, s.n, s.k, alpha, a.data, a.ld,
                       b.data, b.ld, beta, c.data, c.ld);
}

/* `count` products; each matrix is the first of its kind, and the others follow at the stride. */
template <class A, class B, class C>
result<void> gemm_batch_strided(context &ctx, unsigned how, double alpha, matrix<A> a,
                                std::size_t stride_a, matrix<B> b, std::size_t stride_b,
                                double beta, matrix<C> c, std::size_t stride_c, std::size_t count) {
    call checked(ctx, "weft::gemm_batch_strided");
    const auto s = detail::check_product(checked, how, a, b, c);
    checked.within("a", a, how, stride_a, count)
        .within("b", b, how, stride_b, count)
        .within("c", c, how, stride_c, count);
    return checked.run(weft_gemm_batch_strided, how, type_of<A>, type_of<C>, s.m, s.n, s.k, alpha,
                       a.data, a.ld, stride_a, b.data, b.ld, stride_b, beta, c.data, c.ld, stride_c,
                       count);
}

/* The matrices lie at the addresses in a, b and c, arrays of const T * and U *. */
template <class A, class B, class C>
result<void> gemm_batch(context &ctx, unsigned how, std::size_t m, std::size_t n, std::size_t k,
                        double alpha, const A &a, std::size_t lda, const B &b, std::size_t ldb,
                        double beta, const C &c, std::size_t ldc) {
    using in = std::remove_cv_t<std::remove_pointer_t<element<A>>>;
    using out = std::remove_pointer_t<element<C>>;
    const auto addresses = [](const auto &x) {
        return reinterpret_cast<const void *const *>(std::data(x));
    };
    return call(ctx, "weft::gemm_batch")
        .like<A>("b", b, detail::size(a))
        .holds("c", c, detail::size(a))
        .run(weft_gemm_batch, how, type_of<in>, type_of<out>, m, n, k, alpha, addresses(a), lda,
             addresses(b), ldb, beta, reinterpret_cast<void *const *>(std::data(c)), ldc,
             detail::size(a));
}

template <class A, class C>
result<void> syrk(context &ctx, unsigned how, double alpha, matrix<A> a, double beta, matrix<C> c) {
    const bool transposed = how & WEFT_TRANSPOSE_A;
    const std::size_t n = detail::op_rows(a, transposed);
    return call(ctx, "weft::syrk")
        .same<A, C>("c", c.rows, c.cols, n, n)
        .within("a", a, how)
        .within("c", c, how)
        .run(weft_syrk, how, type_of<A>, n, detail::op_cols(a, transposed), alpha, a.data, a.ld,
             beta, c.data, c.ld);
}

template <class A, class B>
result<void> trsm(context &ctx, unsigned how, double alpha, matrix<A> a, matrix<B> b) {
    const std::size_t n = how & WEFT_RIGHT ? b.cols : b.rows;
    return call(ctx, "weft::trsm")
        .same<B, A>("a", a.rows, a.cols, n, n)
        .within("a", a, how)
        .within("b", b, how)
        .run(weft_trsm, how, type_of<A>, b.rows, b.cols, alpha, a.data, a.ld, b.data, b.ld);
}

template <class A, class B>
result<void> trmm(context &ctx, unsigned how, double alpha, matrix<A> a, matrix<B> b) {
    const std::size_t n = how & WEFT_RIGHT ? b.cols : b.rows;
    return call(ctx, "weft::trmm")
        .same<B, A>("a", a.rows, a.cols, n, n)
        .within("a", a, how)
        .within("b", b, how)
        .run(weft_trmm, how, type_of<A>, b.rows, b.cols, alpha, a.data, a.ld, b.data, b.ld);
}

/* Vectors without gaps; weft_gemv and weft_ger take strides. */
template <class A, class X, class Y>
result<void> gemv(context &ctx, unsigned how, double alpha, matrix<A> a, const X &x, double beta,
                  Y &&y) {
    const bool transposed = how & WEFT_TRANSPOSE_A;
    const std::size_t m = detail::op_rows(a, transposed), n = detail::op_cols(a, transposed);
    static_assert(std::is_same_v<std::remove_cv_t<A>, element<X>>, "A and x must have one type");
    return call(ctx, "weft::gemv")
        .holds("x", x, n)
        .holds("y", y, m)
        .within("a", a, how)
        .run(weft_gemv, how, type_of<A>, detail::type<Y>, m, n, alpha, a.data, a.ld,
             detail::data(x), std::ptrdiff_t(1), beta, detail::data(y), std::ptrdiff_t(1));
}

template <class X, class Y, class A>
result<void> ger(context &ctx, unsigned how, double alpha, const X &x, const Y &y, matrix<A> a) {
    static_assert(std::is_same_v<A, element<X>>, "x and A must have one type");
    return call(ctx, "weft::ger")
        .holds("x", x, a.rows)
        .template like<X>("y", y, a.cols)
        .within("a", a, how)
        .run(weft_ger, how, type_of<A>, a.rows, a.cols, alpha, detail::data(x), std::ptrdiff_t(1),
             detail::data(y), std::ptrdiff_t(1), a.data, a.ld);
}

template <class A, class B>
result<void> transpose(context &ctx, unsigned how, matrix<A> a, matrix<B> b) {
    return call(ctx, "weft::transpose")
        .same<A, B>("b", b.rows, b.cols, a.cols, a.rows)
        .within("a", a, how)
        .within("b", b, how)
        .run(weft_transpose, how, sizeof(A), a.rows, a.cols, a.data, a.ld, b.data, b.ld);
}

/* ---- factors ---- */

template <class A, class P>
result<void> lu_factor(context &ctx, unsigned how, matrix<A> a, P &&pivot) {
    return call(ctx, "weft::lu_factor")
        .holds("pivot", pivot, a.rows < a.cols ? a.rows : a.cols)
        .within("a", a, how)
        .run(weft_lu_factor, how, type_of<A>, a.rows, a.cols, a.data, a.ld, detail::data(pivot));
}
template <class A, class P, class B>
result<void> lu_solve(context &ctx, unsigned how, matrix<A> lu, const P &pivot, matrix<B> b) {
    return call(ctx, "weft::lu_solve")
        .equals("lu", "columns", lu.cols, lu.rows)
        .template same<A, B>("b", b.rows, b.cols, lu.rows, b.cols)
        .holds("pivot", pivot, lu.rows)
        .within("lu", lu, how)
        .within("b", b, how)
        .run(weft_lu_solve, how, type_of<A>, lu.rows, b.cols, lu.data, lu.ld, detail::data(pivot),
             b.data, b.ld);
}
template <class A, class P>
result<void> lu_inverse(context &ctx, unsigned how, matrix<A> lu, const P &pivot) {
    return call(ctx, "weft::lu_inverse")
        .equals("lu", "columns", lu.cols, lu.rows)
        .holds("pivot", pivot, lu.rows)
        .within("lu", lu, how)
        .run(weft_lu_inverse, how, type_of<A>, lu.rows, lu.data, lu.ld, detail::data(pivot));
}

template <class A>
result<void> cholesky_factor(context &ctx, unsigned how, matrix<A> a) {
    return call(ctx, "weft::cholesky_factor")
        .equals("a", "columns", a.cols, a.rows)
        .within("a", a, how)
        .run(weft_cholesky_factor, how, type_of<A>, a.rows, a.data, a.ld);
}
template <class A, class B>
result<void> cholesky_solve(context &ctx, unsigned how, matrix<A> l, matrix<B> b) {
    return call(ctx, "weft::cholesky_solve")
        .equals("l", "columns", l.cols, l.rows)
        .template same<A, B>("b", b.rows, b.cols, l.rows, b.cols)
        .within("l", l, how)
        .within("b", b, how)
        .run(weft_cholesky_solve, how, type_of<A>, l.rows, b.cols, l.data, l.ld, b.data, b.ld);
}

namespace detail {

/* Copies n x n elements into memory of the place. */
template <class T, class X>
weft_status copy_square(weft_context *ctx, std::size_t n, const X &a, block &to) {
    static_assert(std::is_same_v<T, element<X>>, "A and its factors must have one type");
    const std::size_t bytes = n * n * sizeof(T);
    void *memory = nullptr;
    const weft_status status = weft_alloc(ctx, &memory, bytes);
    to.reset(memory, ctx);
    return status == WEFT_OK ? weft_copy(ctx, memory, detail::data(a), bytes) : status;
}

} // namespace detail

/* P A = L U of an n x n matrix without gaps, with the memory that it takes. */
template <class T>
class lu_factors {
  public:
    /* Factors a copy of A, which lies as `how` says. Over ranks use lu_factor. */
    template <class X>
    static result<lu_factors> factor(context &ctx, unsigned how, std::size_t n, const X &a) {
        lu_factors f;
        f.n_ = n;
        f.how_ = how & WEFT_ROW_MAJOR;
        const auto work = [&](weft_context *c) {
            void *pivot = nullptr;
            weft_status status = weft_alloc(c, &pivot, n * sizeof(std::int64_t));
            f.pivot_.reset(pivot, c);
            if (status == WEFT_OK)
                status = detail::copy_square<T>(c, n, a, f.a_);
            return status == WEFT_OK ? weft_lu_factor(c, how, type_of<T>, n, n, f.a_.memory,
                                                      n ? n : 1, f.pivot().data())
                                     : status;
        };
        return call(ctx, "weft::lu_factors::factor").holds("a", a, n * n).give(f, work);
    }
    /* X = op(A) \ B in the place of B. */
    result<void> solve(context &ctx, matrix<T> b, bool transposed = false) const {
        return lu_solve(ctx, how_ | (transposed ? unsigned(WEFT_TRANSPOSE_A) : 0U), view(), pivot(),
                        b);
    }
    matrix<T> view() const {
        return {static_cast<T *>(a_.memory), n_, n_, n_ ? n_ : 1};
    }
    span<std::int64_t> pivot() const {
        return span<std::int64_t>(static_cast<std::int64_t *>(pivot_.memory), n_);
    }

  private:
    detail::block a_, pivot_;
    std::size_t n_ = 0;
    unsigned how_ = 0;
};

/* A = L L' or, with WEFT_UPPER_TRIANGLE, U' U, likewise. */
template <class T>
class cholesky_factors {
  public:
    template <class X>
    static result<cholesky_factors> factor(context &ctx, unsigned how, std::size_t n, const X &a) {
        cholesky_factors f;
        f.n_ = n;
        f.how_ = how;
        const auto work = [&](weft_context *c) {
            const weft_status status = detail::copy_square<T>(c, n, a, f.a_);
            return status == WEFT_OK
                       ? weft_cholesky_factor(c, how, type_of<T>, n, f.a_.memory, n ? n : 1)
                       : status;
        };
        return call(ctx, "weft::cholesky_factors::factor").holds("a", a, n * n).give(f, work);
    }
    /* X = A \ B in the place of B. */
    result<void> solve(context &ctx, matrix<T> b) const {
        return cholesky_solve(ctx, how_, view(), b);
    }
    matrix<T> view() const {
        return {static_cast<T *>(a_.memory), n_, n_, n_ ? n_ : 1};
    }

  private:
    detail::block a_;
    std::size_t n_ = 0;
    unsigned how_ = 0;
};

} // namespace WEFT_CXX_MODE
} // namespace weft

#endif
