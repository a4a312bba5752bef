/* SPDX-License-Identifier: Apache-2.0 */
/* C++: contexts, memory, and how the typed calls of the other headers are made. */
#ifndef WEFT_CXX_BASE_HPP
#define WEFT_CXX_BASE_HPP

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#if __cplusplus >= 202002L
#    include <span>
#endif

#include "weft/cxx/result.hpp"

namespace weft {
inline namespace WEFT_CXX_MODE {

/* ---- element types ---- */

namespace detail {

template <class T>
constexpr weft_type integer_type() {
    constexpr int size = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return static_cast<weft_type>((std::is_signed_v<T> ? WEFT_I8 : WEFT_U8) + size);
}

template <class T>
constexpr weft_type find_type() {
    if constexpr (std::is_same_v<T, float>)
        return WEFT_F32;
    else if constexpr (std::is_same_v<T, double>)
        return WEFT_F64;
    else if constexpr (std::is_same_v<T, weft_f16>)
        return WEFT_F16;
    else if constexpr (std::is_same_v<T, weft_bf16>)
        return WEFT_BF16;
    else {
        static_assert(std::is_integral_v<T> && sizeof(T) <= 8, "weft has no such element type");
        return integer_type<T>();
    }
}

} // namespace detail

/* The weft_type of elements of C++ type T; bool is WEFT_U8. */
template <class T>
inline constexpr weft_type type_of = detail::find_type<std::remove_cv_t<T>>();

/* ---- arrays ---- */

#if __cplusplus >= 202002L
using std::span;
#else
/* The elements of an array, or n of them at an address; C++20 has std::span. */
template <class T>
class span {
  public:
    constexpr span() = default;
    constexpr span(T *data, std::size_t n) : data_(data), n_(n) {}
    template <class C, class = std::enable_if_t<
                           std::is_convertible_v<decltype(std::data(std::declval<C &>())), T *>>>
    constexpr span(C &&c) : data_(std::data(c)), n_(std::size(c)) {}
    constexpr T *data() const {
        return data_;
    }
    constexpr std::size_t size() const {
        return n_;
    }

  private:
    T *data_ = nullptr;
    std::size_t n_ = 0;
};
#endif

/* Stands for an array that is not wanted, where C takes NULL. */
struct none_type {
    std::uint8_t *data() const {
        return nullptr;
    }
    std::size_t size() const {
        return 0;
    }
};
inline constexpr none_type none{};

/* The element type of whatever has data() and size(), or is an array of C. */
template <class X>
using element =
    std::remove_cv_t<std::remove_reference_t<decltype(*std::data(std::declval<X &>()))>>;

namespace detail {

template <class X>
inline constexpr bool is_none = std::is_same_v<std::decay_t<X>, none_type>;
template <class X>
inline constexpr weft_type type = type_of<element<X>>;
template <class X>
inline constexpr std::size_t width = sizeof(element<X>);

template <class X>
auto data(X &&x) {
    return std::data(x);
}
template <class X>
std::size_t size(const X &x) {
    return std::size(x);
}

} // namespace detail

namespace detail {

/* Elements from the first to the end of the last of images of rows x cols elements, whose rows are
 * `ld` elements apart and which are `apart` rows apart themselves; 0, no gaps. If these are more
 * than memory has it is 0: the call says so. */
inline std::size_t reach(std::size_t rows, std::size_t cols, std::size_t ld, std::size_t images = 1,
                         std::size_t apart = 0) {
    if (rows == 0 || cols == 0 || images == 0)
        return 0;
    ld = ld ? ld : cols;
    apart = apart ? apart : rows;
    const double lines = static_cast<double>(images - 1) * static_cast<double>(apart) +
                         static_cast<double>(rows - 1);
    if (lines * static_cast<double>(ld) + static_cast<double>(cols) > 1e18)
        return 0;
    return ((images - 1) * apart + rows - 1) * ld + cols;
}

/* Deletes objects of the C library. */
template <auto destroy>
struct destroyer {
    template <class T>
    void operator()(T *object) const {
        destroy(object);
    }
};

} // namespace detail

/* ---- contexts ---- */

/* A weft_context, closed by the destructor. It converts to weft_context *, for calls of C. */
class context {
  public:
    /* No place yet: calls are refused. */
    context() = default;
#ifndef WEFT_NO_EXCEPTIONS
    explicit context(const char *place) : context(open(place)) {}
    explicit context(std::nullptr_t) : context(open()) {} /* the best place, as weft_open's NULL */
#endif

    static result<context> open(const char *place = nullptr) {
        weft_context *opened = nullptr;
        const weft_status status = weft_open(&opened, place);
        return detail::finish(status, weft_message(nullptr), context(opened));
    }
    /* `comm` is the address of an MPI_Comm. */
    static result<context> open_mpi(const char *place, const void *comm) {
        weft_context *opened = nullptr;
        const weft_status status = weft_open_mpi(&opened, place, comm);
        return detail::finish(status, weft_message(nullptr), context(opened));
    }

    weft_context *get() const {
        return raw_.get();
    }
    operator weft_context *() const {
        return raw_.get();
    }
    const char *place() const {
        return weft_place(get());
    }
    /* One line on the latest call that failed. */
    const char *message() const {
        return refusal_.empty() ? weft_message(get()) : refusal_.c_str();
    }
    int rank() const {
        return weft_rank(get());
    }
    int ranks() const {
        return weft_ranks(get());
    }
    const char *comm() const {
        return weft_comm(get());
    }
    /* The variant that ran last; nullptr if none did. */
    const char *used(const char *op) const {
        return weft_used(get(), op);
    }

    result<void> use(const char *op, const char *variant) {
        return finish(weft_use(get(), op, variant));
    }
    result<void> set_tuning(const char *path) {
        return finish(weft_set_tuning(get(), path));
    }
    result<void> set_stream(void *stream) {
        return finish(weft_set_stream(get(), stream));
    }
    result<void> sync() {
        return finish(weft_sync(get()));
    }
    result<void> on_error(weft_error_handler handler, void *user) {
        return finish(weft_on_error(get(), handler, user));
    }
    result<void> trace_begin(const char *path) {
        return finish(weft_trace_begin(get(), path));
    }
    result<void> trace_end() {
        return finish(weft_trace_end(get()));
    }
    /* This rank's part of an output of which all ranks together have `count` elements. */
    result<std::uint64_t> own_count(std::uint64_t count) {
        std::uint64_t own = 0;
        const weft_status status = weft_own_count(get(), &count, &own);
        refusal_.clear();
        return detail::finish(status, message(), std::move(own));
    }

  private:
    friend class call;
    explicit context(weft_context *raw) : raw_(raw) {}
    result<void> finish(weft_status status) {
        refusal_.clear();
        return detail::finish(status, message());
    }

    std::unique_ptr<weft_context, detail::destroyer<weft_close>> raw_;
    std::string refusal_; /* what these headers refused; empty if the library did */
};

/* One call: checks of its arrays, then the call of C, then its result. The headers beside this one
 * are made of these; a program does not need it. */
class call {
  public:
    call(context &ctx, const char *name) : ctx_(ctx), name_(name) {
        ctx.refusal_.clear();
    }

    /* Refuses array `a` if it has fewer than n elements; `none` is no array. */
    template <class A>
    call &holds(const char *argument, const A &a, std::size_t n) {
        if (!detail::is_none<A> && detail::size(a) < n)
            refuse("%s: %s has %zu elements; pass at least %zu", name_, argument, detail::size(a),
                   n);
        return *this;
    }
    /* The same, and its elements have the type of those of X. */
    template <class X, class A>
    call &like(const char *argument, const A &a, std::size_t n) {
        static_assert(detail::is_none<A> || std::is_same_v<element<A>, element<X>>,
                      "these two arrays must have elements of one type");
        return holds(argument, a, n);
    }
    /* Refuses an array that does not consist of whole parts of so many elements. */
    template <class A>
    call &whole(const char *argument, const A &a, std::size_t part) {
        if (part && detail::size(a) % part)
            refuse("%s: %s has %zu elements; pass a multiple of %zu", name_, argument,
                   detail::size(a), part);
        return *this;
    }
    /* Refuses a matrix that, stored as `how` says, ends behind its array; or one whose copies,
     * `stride` elements apart, do. */
    template <class M>
    call &within(const char *argument, const M &a, unsigned how, std::size_t stride = 0,
                 std::size_t count = 1) {
        const bool by_rows = how & WEFT_ROW_MAJOR;
        const std::size_t all =
            detail::reach(by_rows ? a.rows : a.cols, by_rows ? a.cols : a.rows, a.ld);
        const std::size_t before = count > 1 ? count - 1 : 0;
        if (all > 0 && a.room < SIZE_MAX &&
            (all > a.room || (before > 0 && stride > (a.room - all) / before)))
            refuse(
                "%s: %s ends behind its array, which has %zu elements; check its shape, how it is "
                "stored, and strides",
                name_, argument, a.room);
        return *this;
    }
    /* Refuses a number, of `what`, that is not what it must be. */
    call &equals(const char *argument, const char *what, std::size_t have, std::size_t want) {
        if (have != want)
            refuse("%s: %s has %zu %s; pass one of %zu", name_, argument, have, what, want);
        return *this;
    }
    /* Refuses results of another type than the call makes. */
    call &makes(const char *argument, weft_type have, weft_type want) {
        if (have != want)
            refuse("%s: %s is of %s; make it of %s", name_, argument, weft_type_name(have),
                   weft_type_name(want));
        return *this;
    }
    /* Refuses a matrix of T that has not this shape; T is X, but for const. */
    template <class X, class T>
    call &same(const char *argument, std::size_t rows, std::size_t cols, std::size_t want_rows,
               std::size_t want_cols) {
        static_assert(std::is_same_v<std::remove_cv_t<X>, std::remove_cv_t<T>>,
                      "these two matrices must have elements of one type");
        return equals(argument, "rows", rows, want_rows)
            .equals(argument, "columns", cols, want_cols);
    }

    /* Refuses a predicate that is not made for elements of X. */
    template <class X>
    call &tests(const char *argument, const weft_predicate &p) {
        if (p.type != detail::type<X>)
            refuse("%s: %s is of type %s; make it of %s", name_, argument, weft_type_name(p.type),
                   weft_type_name(detail::type<X>));
        return *this;
    }

    template <class F, class... A>
    result<void> run(F f, A &&...arguments) {
        start(f, std::forward<A>(arguments)...);
        return detail::finish(status_, ctx_.message());
    }
    /* The same of a call that writes `value`. */
    template <class T, class F, class... A>
    result<T> give(T &value, F f, A &&...arguments) {
        start(f, std::forward<A>(arguments)...);
        return detail::finish(status_, ctx_.message(), std::move(value));
    }
    /* The same of a call that makes an object: its second argument is where the object goes. */
    template <class T, class F, class... A>
    result<T> make(F f, A &&...arguments) {
        typename T::raw_type *raw = nullptr;
        start(f, &raw, std::forward<A>(arguments)...);
        return detail::finish(status_, ctx_.message(), T(raw));
    }
    /* The same of a call whose last argument is where the object goes. */
    template <class T, class F, class... A>
    result<T> make_last(F f, A &&...arguments) {
        typename T::raw_type *raw = nullptr;
        start(f, std::forward<A>(arguments)..., &raw);
        return detail::finish(status_, ctx_.message(), T(raw));
    }

  private:
    template <class F, class... A>
    void start(F f, A &&...arguments) {
        if (status_ == WEFT_OK)
            status_ = f(ctx_.get(), std::forward<A>(arguments)...);
    }
    template <class... A>
    void refuse(const char *format, A... arguments) {
        if (status_ != WEFT_OK)
            return;
        char line[200];
        std::snprintf(line, sizeof line, format, arguments...);
        ctx_.refusal_ = line;
        status_ = WEFT_EARG;
    }

    context &ctx_;
    const char *name_;
    weft_status status_ = WEFT_OK;
};

namespace detail {

/* The type of what `op` makes of elements of `type`. */
inline weft_type reduced(weft_op op, weft_type type) {
    weft_type found = type;
    weft_reduce_type(op, type, &found); /* bitwise operations, which it does not know, keep it */
    return found;
}

} // namespace detail

/* ---- memory of a place ---- */

/* nullptr goes back to the allocator of C. */
inline result<void> set_allocator(const weft_allocator *allocator) {
    const weft_status status = weft_set_allocator(allocator);
    return detail::finish(status, weft_message(nullptr));
}

namespace detail {

/* Memory from weft_alloc. */
struct block {
    block() = default;
    block(block &&other) noexcept : memory(std::exchange(other.memory, nullptr)), ctx(other.ctx) {}
    block &operator=(block &&other) noexcept {
        std::swap(memory, other.memory);
        std::swap(ctx, other.ctx);
        return *this;
    }
    ~block() {
        reset(nullptr, nullptr);
    }
    void reset(void *to, weft_context *of) {
        if (memory)
            weft_free(ctx, memory);
        memory = to;
        ctx = of;
    }
    void *memory = nullptr;
    weft_context *ctx = nullptr;
};

} // namespace detail

/* n elements from weft_alloc, freed by the destructor, which must run before the context's. On a
 * GPU only calls of weft and kernels may access them. */
template <class T>
class buffer {
  public:
    buffer() = default;
    static result<buffer> take(context &ctx, std::size_t n) {
        buffer b;
        const std::size_t bytes = n > SIZE_MAX / sizeof(T) ? SIZE_MAX : n * sizeof(T);
        void *memory = nullptr;
        const weft_status status = weft_alloc(ctx, &memory, bytes);
        b.block_.reset(memory, ctx);
        b.n_ = memory ? n : 0;
        return detail::finish(status, weft_message(ctx), std::move(b));
    }
    T *data() const {
        return static_cast<T *>(block_.memory);
    }
    std::size_t size() const {
        return n_;
    }

  private:
    detail::block block_;
    std::size_t n_ = 0;
};

/* to[i] = from[i]; `to` has at least as many elements. */
template <class To, class From>
result<void> copy(context &ctx, To &&to, const From &from) {
    return call(ctx, "weft::copy")
        .like<From>("to", to, detail::size(from))
        .run(weft_copy, detail::data(to), detail::data(from),
             detail::size(from) * detail::width<From>);
}

/* ---- names and numbers ---- */

inline const char *version() {
    return weft_version();
}
inline const char *name(weft_status status) {
    return weft_status_name(status);
}
inline const char *name(weft_type type) {
    return weft_type_name(type);
}
inline std::size_t size_of(weft_type type) {
    return weft_type_size(type);
}
inline float to_float(weft_f16 x) {
    return weft_f16_to_float(x);
}
inline float to_float(weft_bf16 x) {
    return weft_bf16_to_float(x);
}
inline weft_f16 to_f16(float x) {
    return weft_f16_from_float(x);
}
inline weft_bf16 to_bf16(float x) {
    return weft_bf16_from_float(x);
}

} // namespace WEFT_CXX_MODE
} // namespace weft

#endif
