/* SPDX-License-Identifier: Apache-2.0 */
/* C++: what is done element by element: map, expr, random, gather. */
#ifndef WEFT_CXX_ELEMENTS_HPP
#define WEFT_CXX_ELEMENTS_HPP

#include "weft/cxx/base.hpp"

namespace weft {
inline namespace WEFT_CXX_MODE {

/* rows x cols elements in memory: `rows` runs of `cols` elements, each `ld` after the one before.
 * For dense algebra it is what is stored, and what a run is depends on the call's flags. */
template <class T>
struct matrix {
    T *data;
    std::size_t rows, cols, ld;
    std::size_t room = SIZE_MAX; /* elements of the array that it lies in, if that is known */
};

/* ---- map ---- */

template <class X, class Y, class Z>
result<void> add(context &ctx, const X &x, const Y &y, Z &&z) {
    return call(ctx, "weft::add")
        .like<X>("y", y, detail::size(x))
        .template like<X>("z", z, detail::size(x))
        .run(weft_add, detail::type<X>, detail::size(x), detail::data(x), detail::data(y),
             detail::data(z));
}

template <class X, class Y>
result<void> axpy(context &ctx, const element<Y> &alpha, const X &x, Y &&y) {
    return call(ctx, "weft::axpy")
        .like<X>("y", y, detail::size(x))
        .run(weft_axpy, detail::type<X>, detail::size(x), &alpha, detail::data(x), detail::data(y));
}

template <class X>
result<void> fill(context &ctx, const element<X> &value, X &&x) {
    return call(ctx, "weft::fill")
        .run(weft_fill, detail::type<X>, detail::size(x), &value, detail::data(x));
}

template <class X>
result<void> iota(context &ctx, const element<X> &start, const element<X> &step, X &&x) {
    return call(ctx, "weft::iota")
        .run(weft_iota, detail::type<X>, detail::size(x), &start, &step, detail::data(x));
}

template <class X, class Y, class Z>
result<void> add_matrix(context &ctx, matrix<X> x, matrix<Y> y, matrix<Z> z) {
    return call(ctx, "weft::add_matrix")
        .same<X, Y>("y", y.rows, y.cols, x.rows, x.cols)
        .template same<X, Z>("z", z.rows, z.cols, x.rows, x.cols)
        .run(weft_add_matrix, type_of<X>, x.rows, x.cols, x.data, x.ld, y.data, y.ld, z.data, z.ld);
}

template <class X, class Y>
result<void> axpy_matrix(context &ctx, const Y &alpha, matrix<X> x, matrix<Y> y) {
    return call(ctx, "weft::axpy_matrix")
        .same<X, Y>("y", y.rows, y.cols, x.rows, x.cols)
        .run(weft_axpy_matrix, type_of<X>, x.rows, x.cols, &alpha, x.data, x.ld, y.data, y.ld);
}

template <class X>
result<void> fill_matrix(context &ctx, const X &value, matrix<X> x) {
    return call(ctx, "weft::fill_matrix")
        .run(weft_fill_matrix, type_of<X>, x.rows, x.cols, &value, x.data, x.ld);
}

template <class X>
result<void> iota_matrix(context &ctx, const X &start, const X &step, matrix<X> x) {
    return call(ctx, "weft::iota_matrix")
        .run(weft_iota_matrix, type_of<X>, x.rows, x.cols, &start, &step, x.data, x.ld);
}

/* ---- expr ---- */

/* An input of a formula. */
template <class X>
weft_expr_input input(const X &x) {
    return {detail::type<X>, detail::data(x)};
}
inline weft_expr_step step(weft_expr_op op, int argument = 0) {
    weft_expr_step s = {};
    s.op = op;
    s.argument = argument;
    return s;
}
template <class T>
weft_expr_step constant(T value) {
    weft_expr_step s = step(WEFT_X_CONSTANT, type_of<T>);
    if constexpr (std::is_floating_point_v<T>)
        s.value.f = value;
    else if constexpr (std::is_signed_v<T>)
        s.value.i = value;
    else
        s.value.u = value;
    return s;
}

/* `program` is an array of weft_expr_step and `inputs` one of weft_expr_input, each of as many
 * elements as z has. */
template <class P, class I, class Z>
result<void> expr(context &ctx, const P &program, const I &inputs, Z &&z) {
    return call(ctx, "weft::expr")
        .run(weft_expr, detail::data(program), detail::size(program), detail::size(z),
             detail::data(inputs), detail::size(inputs), detail::type<Z>, detail::data(z));
}

/* Reduces a program's values for the first n elements of the inputs; they are of type T, and the
 * result is of type R: that which weft/expr.h says. */
template <class T, class R, class P, class I>
result<R> expr_reduce(context &ctx, weft_op op, const P &program, std::size_t n, const I &inputs) {
    R value{};
    return call(ctx, "weft::expr_reduce")
        .makes("the result", type_of<R>, detail::reduced(op, type_of<T>))
        .give(value, weft_expr_reduce, op, detail::data(program), detail::size(program), n,
              detail::data(inputs), detail::size(inputs), type_of<T>, &value);
}

template <class X, class Z>
result<void> unary(context &ctx, weft_expr_op op, const X &x, Z &&z) {
    return call(ctx, "weft::unary")
        .like<X>("z", z, detail::size(x))
        .run(weft_unary, op, detail::type<X>, detail::size(x), detail::data(x), detail::data(z));
}

/* z has the type of x, or of masks, u8 or bool, for comparisons. */
template <class X, class Y, class Z>
result<void> binary(context &ctx, weft_expr_op op, const X &x, const Y &y, Z &&z) {
    const bool compares = op >= WEFT_X_EQ && op <= WEFT_X_GE;
    return call(ctx, "weft::binary")
        .like<X>("y", y, detail::size(x))
        .holds("z", z, detail::size(x))
        .equals("z", "bytes in an element", detail::width<Z>, compares ? 1 : detail::width<X>)
        .run(weft_binary, op, detail::type<X>, detail::size(x), detail::data(x), detail::data(y),
             detail::data(z));
}

template <class X, class Z>
result<void> binary_scalar(context &ctx, weft_expr_op op, const X &x, const element<X> &y, Z &&z) {
    const bool compares = op >= WEFT_X_EQ && op <= WEFT_X_GE;
    return call(ctx, "weft::binary_scalar")
        .holds("z", z, detail::size(x))
        .equals("z", "bytes in an element", detail::width<Z>, compares ? 1 : detail::width<X>)
        .run(weft_binary_scalar, op, detail::type<X>, detail::size(x), detail::data(x), &y,
             detail::data(z));
}

template <class M, class X, class Y, class Z>
result<void> where(context &ctx, const M &mask, const X &x, const Y &y, Z &&z) {
    static_assert(detail::type<M> == WEFT_U8, "a mask has elements of u8 or bool");
    return call(ctx, "weft::where")
        .holds("mask", mask, detail::size(x))
        .template like<X>("y", y, detail::size(x))
        .template like<X>("z", z, detail::size(x))
        .run(weft_where, detail::type<X>, detail::size(x), detail::data(mask), detail::data(x),
             detail::data(y), detail::data(z));
}

template <class X, class Z>
result<void> convert(context &ctx, weft_expr_op how, const X &x, Z &&z) {
    return call(ctx, "weft::convert")
        .holds("z", z, detail::size(x))
        .run(weft_convert, how, detail::type<X>, detail::type<Z>, detail::size(x), detail::data(x),
             detail::data(z));
}

template <class X, class Z>
result<void> adjacent_difference(context &ctx, const X &x, Z &&z) {
    return call(ctx, "weft::adjacent_difference")
        .like<X>("z", z, detail::size(x))
        .run(weft_adjacent_difference, detail::type<X>, detail::size(x), detail::data(x),
             detail::data(z));
}

template <class X, class F>
result<void> flag_heads(context &ctx, const X &x, F &&flags) {
    static_assert(detail::type<F> == WEFT_U8, "flags are u8 or bool");
    return call(ctx, "weft::flag_heads")
        .holds("flags", flags, detail::size(x))
        .run(weft_flag_heads, detail::type<X>, detail::size(x), detail::data(x),
             detail::data(flags));
}

/* ---- random ---- */

template <class X>
result<void> random_bits(context &ctx, std::uint64_t seed, std::uint64_t offset, X &&x) {
    return call(ctx, "weft::random_bits")
        .run(weft_random_bits, detail::type<X>, detail::size(x), seed, offset, detail::data(x));
}

template <class X>
result<void> random_integers(context &ctx, const element<X> &low, const element<X> &high,
                             std::uint64_t seed, std::uint64_t offset, X &&x) {
    return call(ctx, "weft::random_integers")
        .run(weft_random_integers, detail::type<X>, detail::size(x), &low, &high, seed, offset,
             detail::data(x));
}

template <class X>
result<void> random_uniform(context &ctx, std::uint64_t seed, std::uint64_t offset, X &&x) {
    return call(ctx, "weft::random_uniform")
        .run(weft_random_uniform, detail::type<X>, detail::size(x), seed, offset, detail::data(x));
}

template <class X>
result<void> random_normal(context &ctx, std::uint64_t seed, std::uint64_t offset, X &&x) {
    return call(ctx, "weft::random_normal")
        .run(weft_random_normal, detail::type<X>, detail::size(x), seed, offset, detail::data(x));
}

template <class X>
result<void> random_permutation(context &ctx, std::uint64_t seed, X &&x) {
    return call(ctx, "weft::random_permutation")
        .run(weft_random_permutation, detail::type<X>, detail::size(x), seed, detail::data(x));
}

/* ---- gather ---- */

template <class I, class X, class Y>
result<void> gather(context &ctx, const I &index, const X &x, Y &&y, std::uint64_t *bad = nullptr) {
    return call(ctx, "weft::gather")
        .like<X>("y", y, detail::size(index))
        .run(weft_gather, detail::size(index), detail::width<X>, detail::type<I>,
             detail::data(index), detail::size(x), detail::data(x), detail::data(y), bad);
}

/* One array of several that gather_arrays moves. */
template <class X, class Y>
weft_gathered gathered(const X &x, Y &&y) {
    static_assert(std::is_same_v<element<X>, element<Y>>, "x and y must have one element type");
    return {detail::width<X>, detail::data(x), detail::data(y)};
}

/* Every x has m elements and every y as many as `index`; `arrays` holds weft_gathered. */
template <class I, class A>
result<void> gather_arrays(context &ctx, const I &index, std::size_t m, const A &arrays,
                           std::uint64_t *bad = nullptr) {
    return call(ctx, "weft::gather_arrays")
        .run(weft_gather_arrays, detail::size(index), detail::type<I>, detail::data(index), m,
             detail::size(arrays), detail::data(arrays), bad);
}

template <class X, class I, class Y>
result<void> scatter(context &ctx, const X &x, const I &index, weft_repeats repeats, Y &&y,
                     std::uint64_t *bad = nullptr) {
    return call(ctx, "weft::scatter")
        .like<X>("y", y, 0)
        .holds("x", x, detail::size(index))
        .run(weft_scatter, detail::size(index), detail::width<X>, detail::data(x), detail::type<I>,
             detail::data(index), repeats, detail::size(y), detail::data(y), bad);
}

} // namespace WEFT_CXX_MODE
} // namespace weft

#endif
