// SPDX-License-Identifier: Apache-2.0
// On the cpu: reduction by key beside reading the same bytes, for runs of several lengths; and
// calls on two threads beside the same calls on one, from small to large arrays. Prints one JSON
// object a line; a machine of two cores with nothing else to do is wanted.
//     threads_cpu_peer [LOG2_MOST [LOG2_LEAST [OPERATION or TYPE]]]
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

// Keys of runs of this length, and values: bytes read a second, beside those of a sum; and bytes
// read and written, of which runs of one element have twice as many.
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
                "\"seconds\": %.4g, \"read_share\": %.3g, \"moved_share\": %.3g}\n",
                weft_place(ctx), n, length, ours, 2 * reading / ours,
                2 * reading / ours * (1 + double(count) / double(n)));
    std::fflush(stdout);
}

struct arrays {
    std::vector<uint64_t> x, y, z, out; // room for elements of any type
    std::vector<uint32_t> index;
    uint64_t count = 0;
};

using runner = weft_status (*)(weft_context *, weft_type, size_t, arrays &);

enum kinds : unsigned {
    F32 = 1 << WEFT_F32,
    F64 = 1 << WEFT_F64,
    U8 = 1 << WEFT_U8,
    U16 = 1 << WEFT_U16,
    U32 = 1 << WEFT_U32,
    U64 = 1 << WEFT_U64,
    FLOATS = F32 | F64,
    ALL = FLOATS | U8 | U32 | U64
};

struct operation {
    const char *name;
    unsigned types;
    runner run;
};

weft_predicate upper_half(weft_type type) {
    weft_predicate p = {WEFT_GT, type, {}, {}};
    if (type == WEFT_U8)
        p.a.u8 = 127;
    else if (type == WEFT_U32)
        p.a.u32 = UINT32_MAX / 2;
    else if (type == WEFT_U64)
        p.a.u64 = UINT64_MAX / 2;
    return p;
}

weft_images images_of(weft_type type, size_t n) {
    weft_images i = {type, WEFT_NCHW, 1, 4, 16, n / 64};
    return i;
}

const operation operations[] = {
    {"add", ALL,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_add(c, t, n, a.x.data(), a.y.data(), a.z.data());
     }},
    {"fill", ALL,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_fill(c, t, n, a.x.data(), a.z.data());
     }},
    {"iota", ALL,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_iota(c, t, n, a.x.data(), a.y.data(), a.z.data());
     }},
    {"reduce", ALL,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_reduce(c, WEFT_SUM, t, n, a.x.data(), a.z.data());
     }},
    {"argmax", ALL,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_reduce(c, WEFT_ARGMAX, t, n, a.x.data(), a.z.data());
     }},
    {"exact", FLOATS,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_exact_reduce(c, WEFT_SUM, t, n, a.x.data(), t, a.z.data());
     }},
    {"exact_dot", FLOATS,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_exact_dot(c, t, n, a.x.data(), a.y.data(), t, a.z.data());
     }},
    {"exact_scan", FLOATS,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_exact_scan(c, WEFT_INCLUSIVE, t, n, a.x.data(), a.z.data(), nullptr);
     }},
    {"summary", ALL,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_summary(c, t, n, a.x.data(), (weft_statistics *)a.z.data());
     }},
    {"scan", ALL,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_scan(c, WEFT_INCLUSIVE, WEFT_SUM, t, n, a.x.data(), a.z.data(), nullptr);
     }},
    {"scan_max", ALL,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_scan(c, WEFT_INCLUSIVE, WEFT_MAX, t, n, a.x.data(), a.z.data(), nullptr);
     }},
    {"select", ALL,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_select(c, upper_half(t), n, a.x.data(), a.z.data(), &a.count);
     }},
    {"select_indices", ALL,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_select_indices(c, upper_half(t), n, a.x.data(), WEFT_U32, a.z.data(),
                                    &a.count);
     }},
    {"partition", ALL,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_partition(c, upper_half(t), n, a.x.data(), a.z.data(), a.out.data(), &a.count);
     }},
    {"unique", ALL,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_unique(c, t, n, a.x.data(), a.z.data(), &a.count);
     }},
    {"run_length", ALL,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_run_length(c, t, n, a.x.data(), a.z.data(), WEFT_U32, a.out.data(), &a.count);
     }},
    {"histogram", U8 | U16,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_histogram(c, t, n, 1, a.x.data(), nullptr, WEFT_OVERWRITE, WEFT_U64,
                               a.z.data(), nullptr);
     }},
    {"histogram_256", FLOATS,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         const weft_bins bins = {256, -1, 1, nullptr};
         return weft_histogram(c, t, n, 1, a.x.data(), &bins, WEFT_OVERWRITE, WEFT_U64, a.z.data(),
                               nullptr);
     }},
    {"gather", ALL,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_gather(c, n, weft_type_size(t), WEFT_U32, a.index.data(), n, a.x.data(),
                            a.z.data(), nullptr);
     }},
    {"scatter", ALL,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_scatter(c, n, weft_type_size(t), a.x.data(), WEFT_U32, a.index.data(),
                             WEFT_REPEATS_LAST, n, a.z.data(), nullptr);
     }},
    {"transpose", ALL,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_transpose(c, 0, weft_type_size(t), n / 32, 32, a.x.data(), n / 32, a.z.data(),
                               32);
     }},
    {"reduce_by_key", ALL,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         const weft_column column = {WEFT_MAX, t, a.x.data(), a.z.data()};
         return weft_reduce_by_key(c, n, 4, a.index.data(), a.out.data(), 1, &column, &a.count);
     }},
    {"scan_by_key", ALL,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_scan_by_key(c, WEFT_INCLUSIVE, WEFT_SUM, t, n, 4, a.index.data(), a.x.data(),
                                 a.z.data());
     }},
    {"median", ALL,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_median(c, t, n, a.x.data(), (double *)a.z.data());
     }},
    {"random_bits", U8 | U32 | U64,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_random_bits(c, t, n, 1, 0, a.z.data());
     }},
    {"random_uniform", FLOATS,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_random_uniform(c, t, n, 1, 0, a.z.data());
     }},
    {"random_normal", FLOATS,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_random_normal(c, t, n, 1, 0, a.z.data());
     }},
    {"random_permutation", U32 | U64,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_random_permutation(c, t, n, 1, a.z.data());
     }},
    {"blend", U8 | U16 | F32,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         const weft_blending b = {t, n / 32, 32, 1, 0, 0, 0, 0, 0.5, 0.5};
         return weft_blend(c, &b, a.x.data(), a.y.data(), nullptr, a.z.data());
     }},
    {"sqrt", FLOATS,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_unary(c, WEFT_X_SQRT, t, n, a.y.data(), a.z.data());
     }},
    {"exp", FLOATS,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_unary(c, WEFT_X_EXP, t, n, a.x.data(), a.z.data());
     }},
    {"convert_to_f32", ALL,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_convert(c, WEFT_X_SATURATE, t, WEFT_F32, n, a.x.data(), a.z.data());
     }},
    {"convert_to_u8", ALL,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_convert(c, WEFT_X_SATURATE, t, WEFT_U8, n, a.x.data(), a.z.data());
     }},
    {"adjacent_difference", ALL,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_adjacent_difference(c, t, n, a.x.data(), a.z.data());
     }},
    {"pool", FLOATS,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         const weft_images i = images_of(t, n);
         const weft_pool p = {WEFT_POOL_MAX, 2, 2, 0, 0, 0, 0};
         return weft_pool_forward(c, &i, &p, a.x.data(), a.z.data());
     }},
    {"relu", FLOATS,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_activation_forward(c, WEFT_RELU, t, n, a.x.data(), a.z.data());
     }},
    {"convolve", U8 | FLOATS,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         static const double filter[9] = {1, 2, 1, 2, 4, 2, 1, 2, 1};
         weft_convolution d = {};
         d.type = d.out = t;
         d.width = n / 32, d.height = 32, d.channels = 1, d.images = 1;
         d.filter_width = d.filter_height = 3;
         d.filter = filter;
         return weft_convolve(c, &d, a.x.data(), a.z.data());
     }},
    {"fft", FLOATS,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         weft_fft_description d = {};
         d.type = t, d.rank = 1, d.n[0] = n / 2, d.batch = 1;
         return weft_fft(c, &d, a.x.data(), a.z.data());
     }},
    {"gemv", FLOATS,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_gemv(c, 0, t, t, n / 32, 32, 1, a.x.data(), n / 32, a.y.data(), 1, 0,
                          a.z.data(), 1);
     }},
    {"gemm", FLOATS,
     [](weft_context *c, weft_type t, size_t n, arrays &a) {
         return weft_gemm(c, 0, t, t, n / 32, 32, 32, 1, a.x.data(), n / 32, a.y.data(), 32, 0,
                          a.z.data(), n / 32);
     }},
};

void fill(weft_context *ctx, weft_type type, size_t n, arrays &a) {
    const bool is_float = type == WEFT_F32 || type == WEFT_F64;
    for (auto *x : {&a.x, &a.y})
        require(ctx, is_float ? weft_random_uniform(ctx, type, n, x == &a.y, 0, x->data())
                              : weft_random_bits(ctx, type, n, x == &a.y, 0, x->data()));
}

struct pair_of_times {
    double one, two;
};

// One thread and two in turns, and each first as often as the other, so that both meet the same
// neighbours. A short call is made many times at once: the clock tells no less than a call of 100
// ns.
pair_of_times time_threads(weft_context *const places[2], const operation &op, weft_type type,
                           size_t n, arrays &a) {
    std::vector<double> times[2];
    const auto call = [&](int t) { require(places[t], op.run(places[t], type, n, a)); };
    call(0);
    const double once = seconds_of([&] { call(0); });
    const size_t calls = std::max<size_t>(1, size_t(100e-6 / once));
    const int turns = std::max(5, int(std::min(double(runs), 0.3 / once)));
    for (int k = 0; k < turns + 1; k++)
        for (int turn = 0; turn < 2; turn++) {
            const int t = (k + turn) % 2;
            const double seconds = seconds_of([&] {
                for (size_t j = 0; j < calls; j++)
                    call(t);
            });
            if (k > 0)
                times[t].push_back(seconds / double(calls));
        }
    return {median(times[0]), median(times[1])};
}

// Where two threads lose, other programs may have had the second core: that is raced twice more,
// and the middle of the three ratios counts.
void race_threads(weft_context *const places[2], const operation &op, weft_type type, size_t n,
                  arrays &a) {
    constexpr double lost = 0.97;
    std::vector<pair_of_times> races = {time_threads(places, op, type, n, a)};
    while (races.size() < 3 && races[0].one < lost * races[0].two)
        races.push_back(time_threads(places, op, type, n, a));
    std::sort(races.begin(), races.end(), [](const pair_of_times &l, const pair_of_times &r) {
        return l.one / l.two < r.one / r.two;
    });
    const double one = races[races.size() / 2].one, two = races[races.size() / 2].two;
    std::printf("{\"op\": \"%s\", \"type\": \"%s\", \"n\": %zu, \"seconds_of_one\": %.4g, "
                "\"seconds_of_two\": %.4g, \"speedup\": %.3g}\n",
                op.name, weft_type_name(type), n, one, two, one / two);
    std::fflush(stdout);
}

} // namespace

int main(int count, char **words) {
    const int most = count > 1 ? std::atoi(words[1]) : 24;
    const int least = count > 2 ? std::atoi(words[2]) : 10;
    const std::string only = count > 3 ? words[3] : "";
    weft_context *places[2] = {nullptr, nullptr};
    require(nullptr, weft_open(&places[0], "cpu:1"));
    require(nullptr, weft_open(&places[1], "cpu:2"));
    for (size_t length : {size_t(1), size_t(10), size_t(100), size_t(10000)})
        if (only.empty() || only == "keys")
            race_by_key(places[1], size_t(1) << most, length);
    arrays a;
    const size_t bins = 1 << 16; // of a histogram of u16
    for (auto *x : {&a.x, &a.y, &a.z, &a.out})
        x->resize(std::max(bins, size_t(1) << most));
    // The second thread needs a while to get a core of its own.
    for (double spent = 0; spent < 0.5;)
        spent += seconds_of([&] {
            require(places[1],
                    weft_reduce(places[1], WEFT_SUM, WEFT_U64, a.x.size(), a.x.data(), a.z.data()));
        });
    std::mt19937_64 random(2);
    for (int bits = least; bits <= most; bits += 2) {
        const size_t n = size_t(1) << bits;
        a.index.resize(n);
        for (auto &index : a.index)
            index = uint32_t(random() % n);
        for (weft_type type : {WEFT_U8, WEFT_U16, WEFT_U32, WEFT_U64, WEFT_F32, WEFT_F64}) {
            fill(places[0], type, n, a);
            for (const operation &op : operations)
                if ((op.types >> type & 1) &&
                    (only.empty() || only == op.name || only == weft_type_name(type)))
                    race_threads(places, op, type, n, a);
        }
    }
    weft_close(places[0]);
    weft_close(places[1]);
    return 0;
}
