// SPDX-License-Identifier: Apache-2.0
// On the cpu: reduction by key beside reading the same bytes, for runs of several lengths; and
// calls on two threads beside the same calls on one, from small to large arrays. Prints one JSON
// object a line; a machine of two cores with nothing else to do is wanted.
//     threads_cpu_peer [LOG2_MOST]
#include <functional>

#include "peer.hpp"

namespace {

constexpr int runs = 15;

double median_of(const std::function<void()> &call) {
    std::vector<double> times;
    call();
    for (int k = 0; k < runs; k++)
        times.push_back(seconds_of(call));
    return median(times);
}

// Keys of runs of this length, and values: bytes read a second, beside those of a sum.
void race_by_key(weft_context *ctx, size_t n, size_t length) {
    std::vector<uint32_t> keys(n), keys_out(n);
    std::vector<float> x(n, 1.0f), y(n);
    for (size_t i = 0; i < n; i++)
        keys[i] = uint32_t(i / length);
    uint64_t count = 0;
    float sum = 0;
    const weft_column column = {WEFT_SUM, WEFT_F32, x.data(), y.data()};
    const double ours = median_of([&] {
        require(ctx, weft_reduce_by_key(ctx, n, sizeof keys[0], keys.data(), keys_out.data(), 1,
                                        &column, &count));
    });
    const double reading =
        median_of([&] { require(ctx, weft_reduce(ctx, WEFT_SUM, WEFT_F32, n, x.data(), &sum)); });
    if (count != (n + length - 1) / length || y[0] != float(std::min(n, length))) {
        std::fprintf(stderr, "runs of %zu: the result is wrong\n", length);
        std::exit(1);
    }
    std::printf("{\"op\": \"reduce_by_key\", \"place\": \"%s\", \"n\": %zu, \"length\": %zu, "
                "\"seconds\": %.4g, \"read_share\": %.3g}\n",
                weft_place(ctx), n, length, ours, 2 * reading / ours);
    std::fflush(stdout);
}

struct arrays {
    std::vector<float> x, y, z;
    std::vector<uint32_t> index;
    uint64_t count = 0;
};

struct operation {
    const char *name;
    std::function<weft_status(weft_context *, size_t, arrays &)> run;
};

const std::vector<operation> operations = {
    {"add", [](weft_context *c, size_t n,
               arrays &a) { return weft_add(c, WEFT_F32, n, a.x.data(), a.y.data(), a.z.data()); }},
    {"reduce",
     [](weft_context *c, size_t n, arrays &a) {
         return weft_reduce(c, WEFT_SUM, WEFT_F32, n, a.x.data(), a.z.data());
     }},
    {"scan",
     [](weft_context *c, size_t n, arrays &a) {
         return weft_scan(c, WEFT_INCLUSIVE, WEFT_SUM, WEFT_F32, n, a.x.data(), a.z.data(),
                          nullptr);
     }},
    {"select",
     [](weft_context *c, size_t n, arrays &a) {
         const weft_predicate positive = {WEFT_GT, WEFT_F32, {}, {}};
         return weft_select(c, positive, n, a.x.data(), a.z.data(), &a.count);
     }},
    {"sort",
     [](weft_context *c, size_t n, arrays &a) {
         return weft_sort(c, WEFT_ASCENDING, WEFT_F32, n, a.x.data(), a.z.data());
     }},
    {"top_k",
     [](weft_context *c, size_t n, arrays &a) {
         return weft_top_k(c, WEFT_DESCENDING, WEFT_F32, n, a.x.data(), std::min<size_t>(n, 100),
                           a.z.data(), nullptr);
     }},
    {"gather",
     [](weft_context *c, size_t n, arrays &a) {
         return weft_gather(c, n, sizeof(float), WEFT_U32, a.index.data(), n, a.x.data(),
                            a.z.data(), nullptr);
     }},
    {"sqrt",
     [](weft_context *c, size_t n, arrays &a) {
         return weft_unary(c, WEFT_X_SQRT, WEFT_F32, n, a.y.data(), a.z.data());
     }},
};

// One thread and two in turns, and each first as often as the other, so that both meet the same
// neighbours. A short call is made many times at once: the clock tells no less than a call of 100
// ns.
void race_threads(weft_context *const places[2], const operation &op, size_t n, arrays &a) {
    std::vector<double> times[2];
    const size_t calls = std::max<size_t>(1, (size_t(1) << 17) / n);
    for (int k = 0; k < runs + 1; k++)
        for (int turn = 0; turn < 2; turn++) {
            const int t = (k + turn) % 2;
            const double seconds = seconds_of([&] {
                for (size_t j = 0; j < calls; j++)
                    require(places[t], op.run(places[t], n, a));
            });
            if (k > 0)
                times[t].push_back(seconds / double(calls));
        }
    const double one = median(times[0]), two = median(times[1]);
    std::printf("{\"op\": \"%s\", \"n\": %zu, \"seconds_of_one\": %.4g, \"seconds_of_two\": %.4g, "
                "\"speedup\": %.3g}\n",
                op.name, n, one, two, one / two);
    std::fflush(stdout);
}

} // namespace

int main(int count, char **words) {
    const int most = count > 1 ? std::atoi(words[1]) : 24;
    weft_context *places[2] = {nullptr, nullptr};
    require(nullptr, weft_open(&places[0], "cpu:1"));
    require(nullptr, weft_open(&places[1], "cpu:2"));
    for (size_t length : {size_t(1), size_t(10), size_t(100), size_t(10000)})
        race_by_key(places[1], size_t(1) << most, length);
    arrays a;
    a.x = make_keys<float>("random", size_t(1) << most);
    a.y.assign(a.x.size(), 2.0f);
    a.z.resize(a.x.size());
    std::mt19937_64 random(2);
    for (int bits = 4; bits <= most; bits += 2) {
        const size_t n = size_t(1) << bits;
        a.index.resize(n);
        for (auto &index : a.index)
            index = uint32_t(random() % n);
        for (const operation &op : operations)
            race_threads(places, op, n, a);
    }
    weft_close(places[0]);
    weft_close(places[1]);
    return 0;
}
