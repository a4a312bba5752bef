/* SPDX-License-Identifier: Apache-2.0 */
/* C++: many elements to few: reduce, exact, summary, quantile, histogram; scans and groups. */
#ifndef WEFT_CXX_REDUCE_HPP
#define WEFT_CXX_REDUCE_HPP

#include "weft/cxx/base.hpp"

namespace weft {
inline namespace WEFT_CXX_MODE {

namespace detail {

template <class T>
inline constexpr bool is_f16 = std::is_same_v<T, weft_f16> || std::is_same_v<T, weft_bf16>;

/* The type of a sum of T: that which weft_reduce_type gives. */
template <class T>
using sum_of = std::conditional_t<
    is_f16<T> || std::is_same_v<T, float>, float,
    std::conditional_t<std::is_same_v<T, double>, double,
                       std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>>;
template <class T>
using nrm1_of = std::conditional_t<std::is_integral_v<T>, std::uint64_t, sum_of<T>>;
template <class T>
using nrm2_of = std::conditional_t<std::is_integral_v<T>, double, sum_of<T>>;
template <class T>
using nrminf_of = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;

template <class R, class X>
result<R> reduce(context &ctx, const char *name, weft_op op, const X &x) {
    R value{};
    return call(ctx, name).give(value, weft_reduce, op, type<X>, detail::size(x), detail::data(x),
                                &value);
}

template <class R, class X>
result<R> exact_reduce(context &ctx, const char *name, weft_op op, const X &x) {
    R value{};
    return call(ctx, name).give(value, weft_exact_reduce, op, type<X>, detail::size(x),
                                detail::data(x), type_of<R>, &value);
}

} // namespace detail

/* ---- reduce: fast, rounded many times ---- */

inline result<weft_type> reduce_type(context &ctx, weft_op op, weft_type type) {
    weft_type found = type;
    return call(ctx, "weft::reduce_type")
        .give(
            found,
            [](weft_context *, weft_op o, weft_type t, weft_type *to) {
                return weft_reduce_type(o, t, to);
            },
            op, type, &found);
}

template <class X>
auto sum_fast(context &ctx, const X &x) {
    return detail::reduce<detail::sum_of<element<X>>>(ctx, "weft::sum_fast", WEFT_SUM, x);
}
template <class X>
auto product(context &ctx, const X &x) {
    return detail::reduce<detail::sum_of<element<X>>>(ctx, "weft::product", WEFT_PRODUCT, x);
}
template <class X>
auto min(context &ctx, const X &x) {
    return detail::reduce<element<X>>(ctx, "weft::min", WEFT_MIN, x);
}
template <class X>
auto max(context &ctx, const X &x) {
    return detail::reduce<element<X>>(ctx, "weft::max", WEFT_MAX, x);
}
template <class X>
auto argmin(context &ctx, const X &x) {
    return detail::reduce<std::uint64_t>(ctx, "weft::argmin", WEFT_ARGMIN, x);
}
template <class X>
auto argmax(context &ctx, const X &x) {
    return detail::reduce<std::uint64_t>(ctx, "weft::argmax", WEFT_ARGMAX, x);
}
template <class X>
auto nrm1_fast(context &ctx, const X &x) {
    return detail::reduce<detail::nrm1_of<element<X>>>(ctx, "weft::nrm1_fast", WEFT_NRM1, x);
}
template <class X>
auto nrm2_fast(context &ctx, const X &x) {
    return detail::reduce<detail::nrm2_of<element<X>>>(ctx, "weft::nrm2_fast", WEFT_NRM2, x);
}
template <class X>
auto nrminf(context &ctx, const X &x) {
    return detail::reduce<detail::nrminf_of<element<X>>>(ctx, "weft::nrminf", WEFT_NRMINF, x);
}

template <class X, class Y>
auto dot_fast(context &ctx, const X &x, const Y &y) {
    detail::sum_of<element<X>> value{};
    return call(ctx, "weft::dot_fast")
        .like<X>("y", y, detail::size(x))
        .give(value, weft_dot_fast, detail::type<X>, detail::size(x), detail::data(x),
              detail::data(y), &value);
}

/* ---- exact: correctly rounded, to the type R ---- */

template <class X, class R = detail::sum_of<element<X>>>
result<R> sum(context &ctx, const X &x) {
    return detail::exact_reduce<R>(ctx, "weft::sum", WEFT_SUM, x);
}
template <class X, class R = detail::nrm1_of<element<X>>>
result<R> nrm1(context &ctx, const X &x) {
    return detail::exact_reduce<R>(ctx, "weft::nrm1", WEFT_NRM1, x);
}
template <class X, class R = detail::nrm2_of<element<X>>>
result<R> nrm2(context &ctx, const X &x) {
    return detail::exact_reduce<R>(ctx, "weft::nrm2", WEFT_NRM2, x);
}

template <class X, class Y>
auto dot(context &ctx, const X &x, const Y &y) {
    detail::sum_of<element<X>> value{};
    return call(ctx, "weft::dot")
        .like<X>("y", y, detail::size(x))
        .give(value, weft_dot, detail::type<X>, detail::size(x), detail::data(x), detail::data(y),
              &value);
}
template <class R, class X, class Y>
result<R> exact_dot(context &ctx, const X &x, const Y &y) {
    R value{};
    return call(ctx, "weft::exact_dot")
        .like<X>("y", y, detail::size(x))
        .give(value, weft_exact_dot, detail::type<X>, detail::size(x), detail::data(x),
              detail::data(y), type_of<R>, &value);
}
template <class R = double, class X>
result<R> mean(context &ctx, const X &x) {
    R value{};
    return call(ctx, "weft::mean")
        .give(value, weft_mean, detail::type<X>, detail::size(x), detail::data(x), type_of<R>,
              &value);
}
template <class R = double, class X>
result<R> variance(context &ctx, const X &x, std::size_t correction = 0) {
    R value{};
    return call(ctx, "weft::variance")
        .give(value, weft_variance, detail::type<X>, detail::size(x), detail::data(x), correction,
              type_of<R>, &value);
}

/* An exact sum that can be added to. */
class exact {
  public:
    using raw_type = weft_exact;
    static result<exact> create(context &ctx) {
        return call(ctx, "weft::exact").make<exact>(weft_exact_create);
    }
    template <class X>
    result<void> add(context &ctx, const X &x) {
        return call(ctx, "weft::exact::add")
            .run(weft_exact_add, get(), detail::type<X>, detail::size(x), detail::data(x));
    }
    template <class X, class Y>
    result<void> add_dot(context &ctx, const X &x, const Y &y) {
        return call(ctx, "weft::exact::add_dot")
            .like<X>("y", y, detail::size(x))
            .run(weft_exact_add_dot, get(), detail::type<X>, detail::size(x), detail::data(x),
                 detail::data(y));
    }
    result<void> add_value(context &ctx, double x) {
        return call(ctx, "weft::exact::add_value").run(weft_exact_add_value, get(), x);
    }
    result<void> add_product(context &ctx, double x, double y) {
        return call(ctx, "weft::exact::add_product").run(weft_exact_add_product, get(), x, y);
    }
    result<void> merge(context &ctx, const exact &other) {
        return call(ctx, "weft::exact::merge").run(weft_exact_merge, get(), other.get());
    }
    template <class R = double>
    result<R> round(context &ctx) const {
        R value{};
        return call(ctx, "weft::exact::round")
            .give(value, weft_exact_round, get(), type_of<R>, &value);
    }
    result<std::uint64_t> count(context &ctx) const {
        std::uint64_t n = 0;
        return call(ctx, "weft::exact::count").give(n, weft_exact_count, get(), &n);
    }
    /* `bytes` is an array of at least WEFT_EXACT_BYTES bytes. */
    template <class B>
    result<void> save(context &ctx, B &&bytes) const {
        static_assert(detail::width<B> == 1, "pass an array of bytes");
        return call(ctx, "weft::exact::save")
            .holds("bytes", bytes, WEFT_EXACT_BYTES)
            .run(weft_exact_save, get(), detail::data(bytes));
    }
    template <class B>
    result<void> load(context &ctx, const B &bytes) {
        static_assert(detail::width<B> == 1, "pass an array of bytes");
        return call(ctx, "weft::exact::load")
            .holds("bytes", bytes, WEFT_EXACT_BYTES)
            .run(weft_exact_load, get(), detail::data(bytes));
    }
    weft_exact *get() const {
        return raw_.get();
    }

  private:
    friend class call;
    explicit exact(weft_exact *raw) : raw_(raw) {}
    std::unique_ptr<weft_exact, detail::destroyer<weft_exact_destroy>> raw_;
};

/* ---- summary, quantiles ---- */

template <class X>
result<weft_statistics> summary(context &ctx, const X &x) {
    weft_statistics value{};
    return call(ctx, "weft::summary")
        .give(value, weft_summary, detail::type<X>, detail::size(x), detail::data(x), &value);
}

template <class X, class R, class V>
result<void> nth(context &ctx, const X &x, const R &ranks, V &&values) {
    return call(ctx, "weft::nth")
        .like<X>("values", values, detail::size(ranks))
        .run(weft_nth, detail::type<X>, detail::size(x), detail::data(x), detail::size(ranks),
             detail::data(ranks), detail::data(values));
}

template <class X, class Q, class R>
result<void> quantiles(context &ctx, weft_quantile_rule rule, const X &x, const Q &q, R &&values) {
    return call(ctx, "weft::quantiles")
        .like<Q>("values", values, detail::size(q))
        .run(weft_quantiles, rule, detail::type<X>, detail::size(x), detail::data(x),
             detail::size(q), detail::data(q), detail::data(values));
}

template <class X>
result<double> median(context &ctx, const X &x) {
    double value = 0;
    return call(ctx, "weft::median")
        .give(value, weft_median, detail::type<X>, detail::size(x), detail::data(x), &value);
}

/* ---- histogram ---- */

/* x holds pixels of `channels` elements. bins may be nullptr, and outside may be none. */
template <class X, class C, class O = const none_type &>
result<void> histogram(context &ctx, unsigned channels, const X &x, const weft_bins *bins,
                       weft_counting counting, C &&counts, O &&outside = none) {
    const std::size_t values = detail::width<X> == 1 ? 256 : 65536;
    static_assert(detail::is_none<O> || std::is_same_v<element<C>, element<O>>,
                  "counts and outside must have one element type");
    return call(ctx, "weft::histogram")
        .whole("x", x, channels)
        .holds("counts", counts, channels * (bins ? bins->count : values))
        .holds("outside", outside, 3 * std::size_t(channels))
        .run(weft_histogram, detail::type<X>, detail::size(x) / (channels ? channels : 1), channels,
             detail::data(x), bins, counting, detail::type<C>, detail::data(counts),
             detail::data(outside));
}

/* ---- scan ---- */

template <class X, class Y>
result<void> scan(context &ctx, weft_scan_kind kind, weft_op op, const X &x, Y &&y,
                  const element<X> *init = nullptr) {
    return call(ctx, "weft::scan")
        .like<X>("y", y, detail::size(x))
        .run(weft_scan, kind, op, detail::type<X>, detail::size(x), detail::data(x),
             detail::data(y), init);
}

/* y may have a wider type than x; init and total, of y's type, may be nullptr. */
template <class X, class Y>
result<void> scan_wide(context &ctx, weft_scan_kind kind, weft_op op, const X &x, Y &&y,
                       const element<Y> *init = nullptr, element<Y> *total = nullptr) {
    return call(ctx, "weft::scan_wide")
        .holds("y", y, detail::size(x))
        .run(weft_scan_wide, kind, op, detail::type<X>, detail::size(x), detail::data(x),
             detail::type<Y>, detail::data(y), init, total);
}

/* Every element of y is exact and rounded once. */
template <class X, class Y>
result<void> exact_scan(context &ctx, weft_scan_kind kind, const X &x, Y &&y,
                        const element<X> *init = nullptr) {
    return call(ctx, "weft::exact_scan")
        .like<X>("y", y, detail::size(x))
        .run(weft_exact_scan, kind, detail::type<X>, detail::size(x), detail::data(x),
             detail::data(y), init);
}

/* ---- groups ---- */

/* offsets has one element more than there are segments. */
template <class X, class O, class Y>
result<void> reduce_segments(context &ctx, weft_op op, const X &x, const O &offsets, Y &&y) {
    const std::size_t segments = detail::size(offsets) - 1;
    return call(ctx, "weft::reduce_segments")
        .holds("offsets", offsets, 1)
        .holds("y", y, segments)
        .makes("y", detail::type<Y>, detail::reduced(op, detail::type<X>))
        .run(weft_reduce_segments, op, detail::type<X>, detail::size(x), detail::data(x), segments,
             detail::type<O>, detail::data(offsets), detail::data(y));
}

/* What to do with one column of a table. A y of another type than op makes becomes NULL, which the
 * calls refuse. */
template <class X, class Y>
weft_column column(weft_op op, const X &x, Y &&y) {
    const bool fits = detail::type<Y> == detail::reduced(op, detail::type<X>);
    return {op, detail::type<X>, detail::data(x), fits ? detail::data(y) : nullptr};
}

/* For columns of n elements each; `columns` holds weft_column. */
template <class O, class C>
result<void> reduce_segments_columns(context &ctx, std::size_t n, const O &offsets,
                                     const C &columns) {
    return call(ctx, "weft::reduce_segments_columns")
        .holds("offsets", offsets, 1)
        .run(weft_reduce_segments_columns, n, detail::size(offsets) - 1, detail::type<O>,
             detail::data(offsets), detail::size(columns), detail::data(columns));
}

/* Gives how many runs there are. `columns` holds weft_column. */
template <class K, class U, class C>
result<std::uint64_t> reduce_by_key(context &ctx, const K &keys, U &&keys_out, const C &columns) {
    std::uint64_t count = 0;
    return call(ctx, "weft::reduce_by_key")
        .like<K>("keys_out", keys_out, detail::size(keys))
        .give(count, weft_reduce_by_key, detail::size(keys), detail::width<K>, detail::data(keys),
              detail::data(keys_out), detail::size(columns), detail::data(columns), &count);
}

template <class X, class O, class Y>
result<void> exact_reduce_segments(context &ctx, weft_op op, const X &x, const O &offsets, Y &&y) {
    const std::size_t segments = detail::size(offsets) - 1;
    return call(ctx, "weft::exact_reduce_segments")
        .holds("offsets", offsets, 1)
        .holds("y", y, segments)
        .run(weft_exact_reduce_segments, op, detail::type<X>, detail::size(x), detail::data(x),
             segments, detail::type<O>, detail::data(offsets), detail::type<Y>, detail::data(y));
}

template <class X, class Y>
weft_exact_column exact_column(weft_op op, const X &x, Y &&y) {
    return {op, detail::type<X>, detail::data(x), detail::type<Y>, detail::data(y)};
}

/* Gives how many runs there are. `columns` holds weft_exact_column. */
template <class K, class U, class C>
result<std::uint64_t> exact_reduce_by_key(context &ctx, const K &keys, U &&keys_out,
                                          const C &columns) {
    std::uint64_t count = 0;
    return call(ctx, "weft::exact_reduce_by_key")
        .like<K>("keys_out", keys_out, detail::size(keys))
        .give(count, weft_exact_reduce_by_key, detail::size(keys), detail::width<K>,
              detail::data(keys), detail::data(keys_out), detail::size(columns),
              detail::data(columns), &count);
}

template <class X, class Y, class O>
result<void> scan_segments(context &ctx, weft_scan_kind kind, weft_op op, const X &x, Y &&y,
                           const O &offsets) {
    return call(ctx, "weft::scan_segments")
        .like<X>("y", y, detail::size(x))
        .holds("offsets", offsets, 1)
        .run(weft_scan_segments, kind, op, detail::type<X>, detail::size(x), detail::data(x),
             detail::data(y), detail::size(offsets) - 1, detail::type<O>, detail::data(offsets));
}

template <class K, class X, class Y>
result<void> scan_by_key(context &ctx, weft_scan_kind kind, weft_op op, const K &keys, const X &x,
                         Y &&y) {
    return call(ctx, "weft::scan_by_key")
        .like<X>("y", y, detail::size(x))
        .holds("keys", keys, detail::size(x))
        .run(weft_scan_by_key, kind, op, detail::type<X>, detail::size(x), detail::width<K>,
             detail::data(keys), detail::data(x), detail::data(y));
}

} // namespace WEFT_CXX_MODE
} // namespace weft

#endif
