// SPDX-License-Identifier: Apache-2.0
// Races std::sort and std::stable_sort on the cpu: the same keys, in one process. Prints one JSON
// object a line.
//     sort_cpu_peer [LOG2_N [PLACE]]
#include <numeric>

#include "peer.hpp"

namespace {

constexpr int runs = 9;

void print(weft_context *ctx, const char *call, const char *type, const std::string &shape,
           size_t n, double ours, double theirs) {
    std::printf("{\"peer\": \"libstdc++\", \"op\": \"sort\", \"call\": \"%s\", \"type\": \"%s\", "
                "\"input\": \"%s\", \"place\": \"%s\", \"variant\": \"%s\", \"n\": %zu, "
                "\"seconds\": %.6g, \"peer_seconds\": %.6g, \"keys_per_second\": %.4g, "
                "\"times_peer\": %.4g}\n",
                call, type, shape.c_str(), weft_place(ctx), weft_used(ctx, "sort"), n, ours, theirs,
                double(n) / ours, theirs / ours);
    std::fflush(stdout);
}

// Keys alone beside std::sort. The peer is timed once before and once after: it takes seconds.
template <class T>
void race_keys(weft_context *ctx, weft_type type, const std::string &shape, size_t n) {
    const std::vector<T> keys = make_keys<T>(shape, n);
    std::vector<T> sorted(n), expected = keys;
    std::vector<double> ours, theirs;
    theirs.push_back(seconds_of([&] { std::sort(expected.begin(), expected.end()); }));
    for (int k = 0; k < runs + 1; k++) {
        const double seconds = seconds_of([&] {
            require(ctx, weft_sort(ctx, WEFT_ASCENDING, type, n, keys.data(), sorted.data()));
        });
        if (k > 0)
            ours.push_back(seconds);
    }
    if (sorted != expected) {
        std::fprintf(stderr, "sort of %s, %s: wrong\n", weft_type_name(type), shape.c_str());
        std::exit(1);
    }
    for (int k = 0; k < 2; k++) {
        expected = keys;
        theirs.push_back(seconds_of([&] { std::sort(expected.begin(), expected.end()); }));
    }
    print(ctx, "keys", weft_type_name(type), shape, n, median(ours), median(theirs));
}

// Positions beside std::stable_sort of an index array.
void race_indices(weft_context *ctx, size_t n) {
    const std::vector<uint32_t> keys = make_keys<uint32_t>("random", n);
    std::vector<uint32_t> indices(n), expected(n);
    std::vector<double> ours;
    std::iota(expected.begin(), expected.end(), 0u);
    const double theirs = seconds_of([&] {
        std::stable_sort(expected.begin(), expected.end(),
                         [&](uint32_t a, uint32_t b) { return keys[a] < keys[b]; });
    });
    for (int k = 0; k < runs + 1; k++) {
        const double seconds = seconds_of([&] {
            require(ctx, weft_sort_indices(ctx, WEFT_ASCENDING, WEFT_U32, n, keys.data(), WEFT_U32,
                                           indices.data()));
        });
        if (k > 0)
            ours.push_back(seconds);
    }
    if (indices != expected) {
        std::fprintf(stderr, "indices: wrong\n");
        std::exit(1);
    }
    print(ctx, "indices", "u32", "random", n, median(ours), theirs);
}

} // namespace

int main(int count, char **words) {
    const size_t n = size_t(1) << (count > 1 ? std::atoi(words[1]) : 24);
    weft_context *ctx = nullptr;
    require(nullptr, weft_open(&ctx, count > 2 ? words[2] : "cpu"));
    for (const char *shape : {"random", "equal", "eight", "sorted", "reversed"})
        race_keys<uint32_t>(ctx, WEFT_U32, shape, n);
    race_keys<float>(ctx, WEFT_F32, "random", n);
    race_keys<uint64_t>(ctx, WEFT_U64, "random", n);
    race_keys<double>(ctx, WEFT_F64, "random", n);
    race_indices(ctx, n);
    weft_close(ctx);
    return 0;
}
