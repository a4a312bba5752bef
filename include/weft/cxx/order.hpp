/* SPDX-License-Identifier: Apache-2.0 */
/* C++: select and sort, and what goes with them. Calls that keep some elements give their number.
 */
#ifndef WEFT_CXX_ORDER_HPP
#define WEFT_CXX_ORDER_HPP

#include "weft/cxx/base.hpp"

namespace weft {
inline namespace WEFT_CXX_MODE {

/* ---- select ---- */

namespace detail {

inline void set(weft_element &e, weft_f16 x) {
    e.f16 = x;
}
inline void set(weft_element &e, weft_bf16 x) {
    e.bf16 = x;
}
inline void set(weft_element &e, float x) {
    e.f32 = x;
}
inline void set(weft_element &e, double x) {
    e.f64 = x;
}
template <class T>
void set(weft_element &e, T x) {
    if constexpr (sizeof(T) == 1)
        e.u8 = static_cast<std::uint8_t>(x);
    else if constexpr (sizeof(T) == 2)
        e.u16 = static_cast<std::uint16_t>(x);
    else if constexpr (sizeof(T) == 4)
        e.u32 = static_cast<std::uint32_t>(x);
    else
        e.u64 = static_cast<std::uint64_t>(x);
}

} // namespace detail

/* e > a, or the like, of elements of T; b is for WEFT_BETWEEN. */
template <class T>
weft_predicate predicate(weft_test test, T a, T b = T{}) {
    weft_predicate p = {};
    p.test = test;
    p.type = type_of<T>;
    detail::set(p.a, a);
    detail::set(p.b, b);
    return p;
}

template <class X, class Y>
result<std::uint64_t> select(context &ctx, weft_predicate p, const X &x, Y &&y) {
    static_assert(std::is_same_v<element<X>, element<Y>>, "x and y must have one element type");
    std::uint64_t count = 0;
    return call(ctx, "weft::select")
        .tests<X>("p", p)
        .give(count, weft_select, p, detail::size(x), detail::data(x), detail::data(y), &count);
}

/* Elements of x and y may be structs. */
template <class S, class X, class Y>
result<std::uint64_t> select_where(context &ctx, weft_predicate p, const S &s, const X &x, Y &&y) {
    static_assert(std::is_same_v<element<X>, element<Y>>, "x and y must have one element type");
    std::uint64_t count = 0;
    return call(ctx, "weft::select_where")
        .tests<S>("p", p)
        .holds("x", x, detail::size(s))
        .give(count, weft_select_where, p, detail::size(s), detail::data(s), detail::width<X>,
              detail::data(x), detail::data(y), &count);
}

template <class X>
result<std::uint64_t> select_count(context &ctx, weft_predicate p, const X &x) {
    std::uint64_t count = 0;
    return call(ctx, "weft::select_count")
        .tests<X>("p", p)
        .give(count, weft_select_count, p, detail::size(x), detail::data(x), &count);
}

template <class X, class Y>
result<std::uint64_t> select_indices(context &ctx, weft_predicate p, const X &x, Y &&y) {
    std::uint64_t count = 0;
    return call(ctx, "weft::select_indices")
        .tests<X>("p", p)
        .give(count, weft_select_indices, p, detail::size(x), detail::data(x), detail::type<Y>,
              detail::data(y), &count);
}

/* z may be none. */
template <class X, class Y, class Z = const none_type &>
result<std::uint64_t> partition(context &ctx, weft_predicate p, const X &x, Y &&y, Z &&z = none) {
    std::uint64_t count = 0;
    return call(ctx, "weft::partition")
        .tests<X>("p", p)
        .template like<X>("y", y, detail::is_none<Z> ? detail::size(x) : 0)
        .template like<X>("z", z, 0)
        .give(count, weft_partition, p, detail::size(x), detail::data(x), detail::data(y),
              static_cast<void *>(detail::data(z)), &count);
}

template <class S, class X, class Y, class Z = const none_type &>
result<std::uint64_t> partition_where(context &ctx, weft_predicate p, const S &s, const X &x, Y &&y,
                                      Z &&z = none) {
    static_assert(std::is_same_v<element<X>, element<Y>>, "x and y must have one element type");
    std::uint64_t count = 0;
    return call(ctx, "weft::partition_where")
        .tests<S>("p", p)
        .holds("x", x, detail::size(s))
        .holds("y", y, detail::is_none<Z> ? detail::size(s) : 0)
        .give(count, weft_partition_where, p, detail::size(s), detail::data(s), detail::width<X>,
              detail::data(x), detail::data(y), static_cast<void *>(detail::data(z)), &count);
}

/* `fill` may be nullptr: other elements of y keep their values. */
template <class S, class X, class Y>
result<void> expand(context &ctx, weft_predicate p, const S &s, const X &x, const element<X> *fill,
                    Y &&y) {
    static_assert(std::is_same_v<element<X>, element<Y>>, "x and y must have one element type");
    return call(ctx, "weft::expand")
        .tests<S>("p", p)
        .holds("y", y, detail::size(s))
        .run(weft_expand, p, detail::size(s), detail::data(s), detail::width<X>, detail::size(x),
             detail::data(x), fill, detail::data(y));
}

template <class X, class Y>
result<std::uint64_t> unique(context &ctx, const X &x, Y &&y) {
    static_assert(std::is_same_v<element<X>, element<Y>>, "x and y must have one element type");
    std::uint64_t count = 0;
    return call(ctx, "weft::unique")
        .give(count, weft_unique, detail::type<X>, detail::size(x), detail::data(x),
              detail::data(y), &count);
}

template <class X, class V, class L>
result<std::uint64_t> run_length(context &ctx, const X &x, V &&values, L &&lengths) {
    static_assert(std::is_same_v<element<X>, element<V>>, "values must have the type of x");
    std::uint64_t count = 0;
    return call(ctx, "weft::run_length")
        .give(count, weft_run_length, detail::type<X>, detail::size(x), detail::data(x),
              detail::data(values), detail::type<L>, detail::data(lengths), &count);
}

/* ---- sort ---- */

/* Each sort has a call that gives the temporary memory it would take; their arguments, but for the
 * context and the bytes, are the same. */
namespace detail {

template <class F, class... A>
result<std::size_t> bytes_of(call &c, F f, A... arguments) {
    std::size_t bytes = 0;
    return c.give(bytes, f, arguments..., &bytes);
}
template <class A>
void *output(A &&a) {
    return static_cast<void *>(detail::data(a));
}
template <class A>
const void *input(const A &a) {
    return static_cast<const void *>(detail::data(a));
}
/* An array of positions, or of none. */
template <class P>
std::uint64_t *positions(P &&p) {
    if constexpr (is_none<P>)
        return nullptr;
    else
        return detail::data(p);
}
/* Bytes of a value that moves with its key; 0 for none. */
template <class A>
inline constexpr std::size_t value_bytes = is_none<A> ? 0 : width<A>;

} // namespace detail

template <class X, class Y>
result<void> sort(context &ctx, weft_order order, const X &x, Y &&y) {
    return call(ctx, "weft::sort")
        .like<X>("y", y, detail::size(x))
        .run(weft_sort, order, detail::type<X>, detail::size(x), detail::data(x), detail::data(y));
}
template <class X, class Y>
result<std::size_t> sort_bytes(context &ctx, weft_order order, const X &x, Y &&y) {
    call c(ctx, "weft::sort_bytes");
    return detail::bytes_of(c.like<X>("y", y, detail::size(x)), weft_sort_bytes, order,
                            detail::type<X>, detail::size(x), detail::input(x), detail::output(y));
}

template <class K, class L, class V, class W>
result<void> sort_pairs(context &ctx, weft_order order, const K &keys, L &&keys_out,
                        const V &values, W &&values_out) {
    return call(ctx, "weft::sort_pairs")
        .like<K>("keys_out", keys_out, detail::size(keys))
        .holds("values", values, detail::size(keys))
        .template like<V>("values_out", values_out, detail::size(keys))
        .run(weft_sort_pairs, order, detail::type<K>, detail::size(keys), detail::data(keys),
             detail::data(keys_out), detail::width<V>, detail::data(values),
             detail::data(values_out));
}
template <class K, class L, class V, class W>
result<std::size_t> sort_pairs_bytes(context &ctx, weft_order order, const K &keys, L &&keys_out,
                                     const V &values, W &&values_out) {
    call c(ctx, "weft::sort_pairs_bytes");
    return detail::bytes_of(c, weft_sort_pairs_bytes, order, detail::type<K>, detail::size(keys),
                            detail::input(keys), detail::output(keys_out), detail::width<V>,
                            detail::input(values), detail::output(values_out));
}

template <class X, class I>
result<void> sort_indices(context &ctx, weft_order order, const X &x, I &&indices) {
    return call(ctx, "weft::sort_indices")
        .holds("indices", indices, detail::size(x))
        .run(weft_sort_indices, order, detail::type<X>, detail::size(x), detail::data(x),
             detail::type<I>, detail::data(indices));
}
template <class X, class I>
result<std::size_t> sort_indices_bytes(context &ctx, weft_order order, const X &x, I &&indices) {
    call c(ctx, "weft::sort_indices_bytes");
    return detail::bytes_of(c, weft_sort_indices_bytes, order, detail::type<X>, detail::size(x),
                            detail::input(x), detail::type<I>, detail::output(indices));
}

/* values and values_out may be none. */
template <class K, class L, class V, class W>
result<void> sort_bits(context &ctx, weft_order order, unsigned first_bit, unsigned end_bit,
                       const K &keys, L &&keys_out, const V &values, W &&values_out) {
    return call(ctx, "weft::sort_bits")
        .like<K>("keys_out", keys_out, detail::size(keys))
        .holds("values", values, detail::size(keys))
        .template like<V>("values_out", values_out, detail::size(keys))
        .run(weft_sort_bits, order, detail::type<K>, first_bit, end_bit, detail::size(keys),
             detail::data(keys), detail::data(keys_out), detail::value_bytes<V>,
             detail::data(values), detail::data(values_out));
}
template <class K, class L, class V, class W>
result<std::size_t> sort_bits_bytes(context &ctx, weft_order order, unsigned first_bit,
                                    unsigned end_bit, const K &keys, L &&keys_out, const V &values,
                                    W &&values_out) {
    call c(ctx, "weft::sort_bits_bytes");
    return detail::bytes_of(c, weft_sort_bits_bytes, order, detail::type<K>, first_bit, end_bit,
                            detail::size(keys), detail::input(keys), detail::output(keys_out),
                            detail::value_bytes<V>, detail::input(values),
                            detail::output(values_out));
}

/* offsets has one element more than there are segments; values and values_out may be none. */
template <class K, class L, class V, class W, class O>
result<void> sort_segments(context &ctx, weft_order order, const K &keys, L &&keys_out,
                           const V &values, W &&values_out, const O &offsets) {
    return call(ctx, "weft::sort_segments")
        .like<K>("keys_out", keys_out, detail::size(keys))
        .holds("values", values, detail::size(keys))
        .template like<V>("values_out", values_out, detail::size(keys))
        .holds("offsets", offsets, 1)
        .run(weft_sort_segments, order, detail::type<K>, detail::size(keys), detail::data(keys),
             detail::data(keys_out), detail::value_bytes<V>, detail::data(values),
             detail::data(values_out), detail::size(offsets) - 1, detail::data(offsets));
}
template <class K, class L, class V, class W, class O>
result<std::size_t> sort_segments_bytes(context &ctx, weft_order order, const K &keys, L &&keys_out,
                                        const V &values, W &&values_out, const O &offsets) {
    call c(ctx, "weft::sort_segments_bytes");
    return detail::bytes_of(c.holds("offsets", offsets, 1), weft_sort_segments_bytes, order,
                            detail::type<K>, detail::size(keys), detail::input(keys),
                            detail::output(keys_out), detail::value_bytes<V>, detail::input(values),
                            detail::output(values_out), detail::size(offsets) - 1,
                            detail::data(offsets));
}

/* The three arrays of values may be none. */
template <class A, class B, class K, class V, class W, class U>
result<void> merge(context &ctx, weft_order order, const A &a, const B &b, K &&keys_out,
                   const V &a_values, const W &b_values, U &&values_out) {
    return call(ctx, "weft::merge")
        .like<A>("b", b, 0)
        .template like<A>("keys_out", keys_out, detail::size(a) + detail::size(b))
        .holds("a_values", a_values, detail::size(a))
        .template like<V>("b_values", b_values, detail::size(b))
        .template like<V>("values_out", values_out, detail::size(a) + detail::size(b))
        .run(weft_merge, order, detail::type<A>, detail::size(a), detail::data(a), detail::size(b),
             detail::data(b), detail::data(keys_out), detail::value_bytes<V>,
             detail::data(a_values), detail::data(b_values), detail::data(values_out));
}
template <class A, class B, class K, class V, class W, class U>
result<std::size_t> merge_bytes(context &ctx, weft_order order, const A &a, const B &b,
                                K &&keys_out, const V &a_values, const W &b_values,
                                U &&values_out) {
    call c(ctx, "weft::merge_bytes");
    return detail::bytes_of(
        c, weft_merge_bytes, order, detail::type<A>, detail::size(a), detail::input(a),
        detail::size(b), detail::input(b), detail::output(keys_out), detail::value_bytes<V>,
        detail::input(a_values), detail::input(b_values), detail::output(values_out));
}

/* The first position that is out of order; WEFT_NOWHERE if there is none. */
template <class X>
result<std::uint64_t> is_sorted(context &ctx, weft_order order, const X &x) {
    std::uint64_t position = 0;
    return call(ctx, "weft::is_sorted")
        .give(position, weft_is_sorted, order, detail::type<X>, detail::size(x), detail::data(x),
              &position);
}

template <class X, class W, class P>
result<void> search(context &ctx, weft_bound bound, weft_order order, const X &x, const W &wanted,
                    P &&positions) {
    return call(ctx, "weft::search")
        .like<X>("wanted", wanted, 0)
        .holds("positions", positions, detail::size(wanted))
        .run(weft_search, bound, order, detail::type<X>, detail::size(x), detail::data(x),
             detail::size(wanted), detail::data(wanted), detail::data(positions));
}

/* values or positions may be none. */
template <class X, class V, class P>
result<void> top_k(context &ctx, weft_order order, const X &x, std::size_t k, V &&values,
                   P &&positions) {
    return call(ctx, "weft::top_k")
        .like<X>("values", values, k)
        .holds("positions", positions, k)
        .run(weft_top_k, order, detail::type<X>, detail::size(x), detail::data(x), k,
             detail::output(values), detail::positions(positions));
}
template <class X, class V, class P>
result<std::size_t> top_k_bytes(context &ctx, weft_order order, const X &x, std::size_t k,
                                V &&values, P &&positions) {
    call c(ctx, "weft::top_k_bytes");
    return detail::bytes_of(c, weft_top_k_bytes, order, detail::type<X>, detail::size(x),
                            detail::input(x), k, detail::output(values),
                            detail::positions(positions));
}

} // namespace WEFT_CXX_MODE
} // namespace weft

#endif
