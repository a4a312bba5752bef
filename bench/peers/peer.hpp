// SPDX-License-Identifier: Apache-2.0
// What the races on the cpu share: the clock, medians, keys.
#ifndef WEFT_PEER_HPP
#define WEFT_PEER_HPP

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "weft/weft.h"

inline void require(weft_context *ctx, weft_status status) {
    if (status == WEFT_OK)
        return;
    std::fprintf(stderr, "%s: %s\n", weft_status_name(status), weft_message(ctx));
    std::exit(1);
}

template <class Call>
double seconds_of(Call call) {
    const auto start = std::chrono::steady_clock::now();
    call();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

inline double median(std::vector<double> times) {
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

template <class T>
T random_key(std::mt19937_64 &random) {
    return T(random());
}

template <>
inline float random_key<float>(std::mt19937_64 &random) {
    return std::ldexp(float(int64_t(random())), -63);
}

template <>
inline double random_key<double>(std::mt19937_64 &random) {
    return std::ldexp(double(int64_t(random())), -63);
}

// Key number i of n, for each shape of input.
template <class T>
std::vector<T> make_keys(const std::string &shape, size_t n) {
    std::mt19937_64 random(1);
    std::vector<T> keys(n);
    for (auto &key : keys)
        key = random_key<T>(random);
    if (shape == "equal")
        std::fill(keys.begin(), keys.end(), keys[0]);
    if (shape == "eight")
        for (auto &key : keys)
            key = keys[random() % 8];
    if (shape == "sorted" || shape == "reversed")
        std::sort(keys.begin(), keys.end());
    if (shape == "reversed")
        std::reverse(keys.begin(), keys.end());
    return keys;
}

#endif
