/* SPDX-License-Identifier: Apache-2.0 */
/* weft from C++17 on: typed calls over the C library, in headers alone.
 *
 *     #include <weft/weft.hpp>
 *     weft::context ctx("cpu");
 *     std::vector<float> x = {3, 1, 2};
 *     weft::sort(ctx, WEFT_ASCENDING, x, x);
 *     double total = weft::sum(ctx, x);
 *
 * A call has the name of C's without "weft_", and C's arguments in C's order, but for types and
 * counts: those come from the arrays. An array is whatever has data() and size() (std::vector,
 * std::array, std::span, weft::buffer), or an array of C; weft::span(p, n) makes one of a pointer,
 * to device memory for example, and weft::none stands for one that is not wanted. Arrays that are
 * too short are refused, but not outputs whose length the elements decide, as those of select and
 * unique: they have room for what is found. Constants, structs and rules are those of the C
 * headers.
 *
 * A single number that a call computes is its value. To leave it in device memory, call the C
 * function: a weft::context converts to weft_context *.
 *
 * A call that fails throws weft::error, with weft's message in what(). With WEFT_NO_EXCEPTIONS, or
 * where the compiler has none, calls give a weft::result instead: it has a status(), is true if
 * that is WEFT_OK, and then *result is the value; ctx.message() is the message. */
#ifndef WEFT_WEFT_HPP
#define WEFT_WEFT_HPP

#include "weft/cxx/base.hpp"
#include "weft/cxx/dense.hpp"
#include "weft/cxx/elements.hpp"
#include "weft/cxx/nn.hpp"
#include "weft/cxx/order.hpp"
#include "weft/cxx/records.hpp"
#include "weft/cxx/reduce.hpp"
#include "weft/cxx/signals.hpp"
#include "weft/cxx/solve.hpp"
#include "weft/cxx/sparse.hpp"

#endif
