// SPDX-License-Identifier: Apache-2.0
// Races std::partial_sort_copy for the k largest, and times reading (a sum) and sorting beside
// them: the same elements, in one process. Prints one JSON object a line.
//     top_k_peer [LOG2_N [PLACE]]
#include <functional>
#include <numeric>

#include "peer.hpp"

namespace {

constexpr int runs = 9;

template <class Call>
double median_of(Call call) {
    std::vector<double> times;
    call();
    for (int k = 0; k < runs; k++)
        times.push_back(seconds_of(call));
    return median(times);
}

// The positions of the k largest, of equal ones the first.
template <class T>
void check(const std::vector<T> &x, const std::vector<T> &values,
           const std::vector<uint64_t> &positions) {
    std::vector<uint64_t> right(x.size());
    std::iota(right.begin(), right.end(), uint64_t(0));
    std::partial_sort(right.begin(), right.begin() + ptrdiff_t(positions.size()), right.end(),
                      [&](uint64_t a, uint64_t b) { return x[a] != x[b] ? x[a] > x[b] : a < b; });
    for (size_t k = 0; k < positions.size(); k++)
        if (positions[k] != right[k] || values[k] != x[right[k]]) {
            std::fprintf(stderr, "the %zu largest of %zu: number %zu is wrong\n", positions.size(),
                         x.size(), k);
            std::exit(1);
        }
}

template <class T>
void race(weft_context *ctx, weft_type type, const std::string &shape, size_t n) {
    const std::vector<T> x = make_keys<T>(shape, n);
    std::vector<T> sorted(n);
    uint64_t sum[2];
    const double reading =
        median_of([&] { require(ctx, weft_reduce(ctx, WEFT_SUM, type, n, x.data(), sum)); });
    const double sorting = median_of(
        [&] { require(ctx, weft_sort(ctx, WEFT_DESCENDING, type, n, x.data(), sorted.data())); });
    for (size_t k : {size_t(1), size_t(5), size_t(100), size_t(1000), size_t(10000), n / 2}) {
        if (k > n)
            continue;
        std::vector<T> values(k), theirs(k);
        std::vector<uint64_t> positions(k);
        const double ours = median_of([&] {
            require(ctx, weft_top_k(ctx, WEFT_DESCENDING, type, n, x.data(), k, values.data(),
                                    positions.data()));
        });
        const double peer = seconds_of([&] {
            std::partial_sort_copy(x.begin(), x.end(), theirs.begin(), theirs.end(),
                                   std::greater<T>());
        });
        check(x, values, positions);
        std::printf("{\"peer\": \"libstdc++\", \"op\": \"top_k\", \"type\": \"%s\", "
                    "\"input\": \"%s\", \"place\": \"%s\", \"n\": %zu, \"k\": %zu, "
                    "\"seconds\": %.4g, \"sum_seconds\": %.4g, \"sort_seconds\": %.4g, "
                    "\"peer_seconds\": %.4g}\n",
                    weft_type_name(type), shape.c_str(), weft_place(ctx), n, k, ours, reading,
                    sorting, peer);
        std::fflush(stdout);
    }
}

} // namespace

int main(int count, char **words) {
    const size_t n = size_t(1) << (count > 1 ? std::atoi(words[1]) : 20);
    weft_context *ctx = nullptr;
    require(nullptr, weft_open(&ctx, count > 2 ? words[2] : "cpu"));
    for (const char *shape : {"random", "sorted", "reversed", "equal"}) {
        race<uint8_t>(ctx, WEFT_U8, shape, n);
        race<int16_t>(ctx, WEFT_I16, shape, n);
        race<float>(ctx, WEFT_F32, shape, n);
        race<double>(ctx, WEFT_F64, shape, n);
        race<uint64_t>(ctx, WEFT_U64, shape, n);
    }
    weft_close(ctx);
    return 0;
}
