/* SPDX-License-Identifier: Apache-2.0 */
/* C++: sort records, and what goes with sorted ones. Records are structs; `fields` holds
 * weft_field. */
#ifndef WEFT_CXX_RECORDS_HPP
#define WEFT_CXX_RECORDS_HPP

#include "weft/cxx/order.hpp"

namespace weft {
inline namespace WEFT_CXX_MODE {

template <class R, class S, class F>
result<void> sort_records(context &ctx, const R &records, S &&out, const F &fields) {
    return call(ctx, "weft::sort_records")
        .like<R>("out", out, detail::size(records))
        .run(weft_sort_records, detail::size(records), detail::width<R>, detail::data(records),
             detail::data(out), detail::data(fields), detail::size(fields));
}
template <class R, class S, class F>
result<std::size_t> sort_records_bytes(context &ctx, const R &records, S &&out, const F &fields) {
    call c(ctx, "weft::sort_records_bytes");
    return detail::bytes_of(c, weft_sort_records_bytes, detail::size(records), detail::width<R>,
                            detail::input(records), detail::output(out), detail::data(fields),
                            detail::size(fields));
}

template <class R, class F, class I>
result<void> sort_records_indices(context &ctx, const R &records, const F &fields, I &&indices) {
    return call(ctx, "weft::sort_records_indices")
        .holds("indices", indices, detail::size(records))
        .run(weft_sort_records_indices, detail::size(records), detail::width<R>,
             detail::data(records), detail::data(fields), detail::size(fields), detail::type<I>,
             detail::data(indices));
}
template <class R, class F, class I>
result<std::size_t> sort_records_indices_bytes(context &ctx, const R &records, const F &fields,
                                               I &&indices) {
    call c(ctx, "weft::sort_records_indices_bytes");
    return detail::bytes_of(c, weft_sort_records_indices_bytes, detail::size(records),
                            detail::width<R>, detail::input(records), detail::data(fields),
                            detail::size(fields), detail::type<I>, detail::output(indices));
}

/* Gives how many records are kept. */
template <class R, class S, class F>
result<std::uint64_t> unique_records(context &ctx, const R &records, S &&out, const F &fields) {
    std::uint64_t count = 0;
    return call(ctx, "weft::unique_records")
        .like<R>("out", out, 0)
        .give(count, weft_unique_records, detail::size(records), detail::width<R>,
              detail::data(records), detail::data(out), detail::data(fields), detail::size(fields),
              &count);
}

/* Gives how many runs there are. */
template <class R, class S, class F, class L>
result<std::uint64_t> run_length_records(context &ctx, const R &records, S &&out, const F &fields,
                                         L &&lengths) {
    std::uint64_t count = 0;
    return call(ctx, "weft::run_length_records")
        .like<R>("out", out, 0)
        .give(count, weft_run_length_records, detail::size(records), detail::width<R>,
              detail::data(records), detail::data(out), detail::data(fields), detail::size(fields),
              detail::type<L>, detail::data(lengths), &count);
}

template <class R, class W, class F, class P>
result<void> search_records(context &ctx, weft_bound bound, const R &records, const W &wanted,
                            const F &fields, P &&positions) {
    return call(ctx, "weft::search_records")
        .like<R>("wanted", wanted, 0)
        .holds("positions", positions, detail::size(wanted))
        .run(weft_search_records, bound, detail::size(records), detail::width<R>,
             detail::data(records), detail::size(wanted), detail::data(wanted),
             detail::data(fields), detail::size(fields), detail::data(positions));
}

template <class A, class B, class S, class F>
result<void> merge_records(context &ctx, const A &a, const B &b, S &&out, const F &fields) {
    return call(ctx, "weft::merge_records")
        .like<A>("b", b, 0)
        .template like<A>("out", out, detail::size(a) + detail::size(b))
        .run(weft_merge_records, detail::width<A>, detail::size(a), detail::data(a),
             detail::size(b), detail::data(b), detail::data(out), detail::data(fields),
             detail::size(fields));
}

/* ---- columns of a table ---- */

/* The member at `offset` of each record, and the array that it goes to or comes from. */
template <class X>
weft_table_column table_column(std::size_t offset, X &&array) {
    using bare = std::remove_const_t<element<X>>;
    return {offset, detail::width<X>, const_cast<bare *>(detail::data(array))};
}

/* `columns` holds weft_table_column, with arrays of as many elements as there are records. */
template <class R, class C>
result<void> take_columns(context &ctx, const R &records, const C &columns) {
    return call(ctx, "weft::take_columns")
        .run(weft_take_columns, detail::size(records), detail::width<R>, detail::data(records),
             detail::size(columns), detail::data(columns));
}
template <class R, class C>
result<void> put_columns(context &ctx, R &&records, const C &columns) {
    return call(ctx, "weft::put_columns")
        .run(weft_put_columns, detail::size(records), detail::width<R>, detail::data(records),
             detail::size(columns), detail::data(columns));
}

/* n elements that are stride_bytes apart, for the calls that weft_strided names: an input, and
 * nothing to be read through. It is valid as long as what weft_strided returns. */
template <class T>
class strided {
  public:
    strided(context &ctx, const T *first, std::size_t n, std::size_t stride_bytes)
        : view_(static_cast<const T *>(weft_strided(ctx, first, stride_bytes))), n_(n) {}
    const T *data() const {
        return view_;
    }
    std::size_t size() const {
        return n_;
    }

  private:
    const T *view_;
    std::size_t n_;
};

/* A member of each record, as such elements: weft::column(ctx, records, &record::price). Records in
 * device memory are not accessed. */
template <class R, class T>
strided<T> column(context &ctx, const R &records, T element<R>::*member) {
    const auto *const first = detail::data(records);
    const std::size_t n = detail::size(records);
    return strided<T>(ctx, n > 0 ? &(first->*member) : nullptr, n, detail::width<R>);
}

} // namespace WEFT_CXX_MODE
} // namespace weft

#endif
