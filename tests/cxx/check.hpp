/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of weft.hpp share. They are compiled with exceptions and without. */
#ifndef TEST_CXX_CHECK_HPP
#define TEST_CXX_CHECK_HPP

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <weft/weft.hpp>

#define CHECK(condition)                                                                           \
    ((condition) ? (void)0                                                                         \
                 : (std::printf("%s:%d: %s\n", __FILE__, __LINE__, #condition), std::exit(1)))

/* OK(call) is what the call gives. REFUSED(ctx, status, words, call) wants it to fail, with a
 * message that has these words. */
#ifdef WEFT_NO_EXCEPTIONS
template <class T>
T value_of(weft::result<T> r) {
    CHECK(r.status() == WEFT_OK);
    return std::move(*r);
}
inline void value_of(weft::result<void> r) {
    CHECK(r.status() == WEFT_OK);
}
#    define OK(...) value_of(__VA_ARGS__)
#    define REFUSED(ctx, want, words, ...)                                                         \
        do {                                                                                       \
            CHECK((__VA_ARGS__).status() == (want));                                               \
            CHECK(std::string((ctx).message()).find(words) != std::string::npos);                  \
        } while (0)
#else
#    define OK(...) (__VA_ARGS__)
#    define REFUSED(ctx, want, words, ...)                                                         \
        do {                                                                                       \
            bool thrown = false;                                                                   \
            try {                                                                                  \
                (void)(__VA_ARGS__);                                                               \
            } catch (const weft::error &e) {                                                       \
                thrown = true;                                                                     \
                CHECK(e.status() == (want));                                                       \
                CHECK(std::string(e.what()).find(words) != std::string::npos);                     \
                CHECK(std::string((ctx).message()) == e.what());                                   \
            }                                                                                      \
            CHECK(thrown);                                                                         \
        } while (0)
#endif

inline bool near(double a, double b, double tolerance = 1e-5) {
    return std::fabs(a - b) <= tolerance * (1 + std::fabs(b));
}

void test_core(weft::context &ctx);
void test_elements(weft::context &ctx);
void test_reduce(weft::context &ctx);
void test_order(weft::context &ctx);
void test_dense(weft::context &ctx);
void test_sparse(weft::context &ctx);
void test_signals(weft::context &ctx);
void test_nn(weft::context &ctx);

#endif
