/* SPDX-License-Identifier: Apache-2.0 */
/* C++: what a call gives: its value, or an error. */
#ifndef WEFT_CXX_RESULT_HPP
#define WEFT_CXX_RESULT_HPP

#include <utility>

#include "weft/weft.h"

/* Programs built without exceptions, or with WEFT_NO_EXCEPTIONS defined, get results that hold a
 * status. The two kinds have different names for the linker, so one program may hold both. */
#if !defined(WEFT_NO_EXCEPTIONS) && !defined(__cpp_exceptions)
#    define WEFT_NO_EXCEPTIONS 1
#endif
#ifdef WEFT_NO_EXCEPTIONS
#    define WEFT_CXX_MODE returning
#else
#    include <stdexcept>
#    define WEFT_CXX_MODE throwing
#endif

namespace weft {
inline namespace WEFT_CXX_MODE {

#ifdef WEFT_NO_EXCEPTIONS
/* What a call gives: a status, and if that is WEFT_OK a value. */
template <class T>
class [[nodiscard]] result {
  public:
    result(weft_status status, T value) : status_(status), value_(std::move(value)) {}
    weft_status status() const {
        return status_;
    }
    explicit operator bool() const {
        return status_ == WEFT_OK;
    }
    T &operator*() {
        return value_;
    }
    T *operator->() {
        return &value_;
    }

  private:
    weft_status status_;
    T value_;
};

template <>
class [[nodiscard]] result<void> {
  public:
    result(weft_status status) : status_(status) {}
    weft_status status() const {
        return status_;
    }
    explicit operator bool() const {
        return status_ == WEFT_OK;
    }

  private:
    weft_status status_;
};
#else
/* What a call gives: its value. A call that fails throws an error. */
template <class T>
using result = T;

/* what() is weft_message: what went wrong, where, and what to do about it. */
class error : public std::runtime_error {
  public:
    error(weft_status status, const char *message) : std::runtime_error(message), status_(status) {}
    weft_status status() const noexcept {
        return status_;
    }

  private:
    weft_status status_;
};
#endif

namespace detail {

inline result<void> finish(weft_status status, const char *message) {
#ifdef WEFT_NO_EXCEPTIONS
    (void)message;
    return status;
#else
    if (status != WEFT_OK)
        throw error(status, message);
#endif
}

template <class T>
result<T> finish(weft_status status, const char *message, T &&value) {
#ifdef WEFT_NO_EXCEPTIONS
    (void)message;
    return {status, std::move(value)};
#else
    if (status != WEFT_OK)
        throw error(status, message);
    return std::move(value);
#endif
}

} // namespace detail

} // namespace WEFT_CXX_MODE
} // namespace weft

#endif
