/* SPDX-License-Identifier: Apache-2.0 */
/* Races map, reduce and scan against CUB on the same device arrays in the same process, beside the
 * copy and read bandwidth and the pinned link measured here too. Results are compared: a wrong one
 * ends the program with status 1. */
#include <chrono>
#include <cub/cub.cuh>
#include <type_traits>

#include "peer.cuh"

static bool all_ok = true;

/* The status that says: nothing here to race on. */
constexpr int no_race = 77;

struct track {
    weft_context *ctx;
    cudaStream_t stream;
};

template <class T>
const char *type_name() {
    return weft_type_name(std::is_same<T, float>::value    ? WEFT_F32
                          : std::is_same<T, double>::value ? WEFT_F64
                                                           : WEFT_U32);
}

template <class T>
weft_type type_of() {
    return std::is_same<T, float>::value    ? WEFT_F32
           : std::is_same<T, double>::value ? WEFT_F64
                                            : WEFT_U32;
}

/* Numbers so small that every sum is exact, whatever the order. */
template <class T>
static void race_reduce(const track &t, size_t n, double read_gbps) {
    device_array<T> x(n);
    device_array<double> ours(1);
    device_array<T> theirs(1);
    fill_random(x.p, n, n);
    size_t bytes = 0;
    CUDA(cub::DeviceReduce::Sum(nullptr, bytes, x.p, theirs.p, n, t.stream));
    device_array<char> scratch(bytes);
    const double peer = device_seconds(t.stream, n * sizeof(T), [&] {
        CUDA(cub::DeviceReduce::Sum(scratch.p, bytes, x.p, theirs.p, n, t.stream));
    });
    const double seconds = device_seconds(t.stream, n * sizeof(T), [&] {
        check_weft(t.ctx, weft_reduce(t.ctx, WEFT_SUM, type_of<T>(), n, x.p, ours.p));
    });
    T a, b;
    CUDA(cudaMemcpy(&a, ours.p, sizeof a, cudaMemcpyDefault));
    CUDA(cudaMemcpy(&b, theirs.p, sizeof b, cudaMemcpyDefault));
    const bool ok = a == b;
    all_ok = all_ok && ok;
    report("reduce sum", type_name<T>(), n, weft_used(t.ctx, "reduce"), (double)n * sizeof(T),
           seconds, "CUB", peer, "read", read_gbps, ok);
}

template <class T>
static void race_scan(const track &t, weft_scan_kind kind, size_t n, double copy_gbps) {
    device_array<T> x(n), ours(n), theirs(n);
    fill_random(x.p, n, n);
    const auto cub_scan = [&](void *scratch, size_t &bytes) {
        return kind == WEFT_INCLUSIVE
                   ? cub::DeviceScan::InclusiveSum(scratch, bytes, x.p, theirs.p, n, t.stream)
                   : cub::DeviceScan::ExclusiveSum(scratch, bytes, x.p, theirs.p, n, t.stream);
    };
    size_t bytes = 0;
    CUDA(cub_scan(nullptr, bytes));
    device_array<char> scratch(bytes);
    const double peer =
        device_seconds(t.stream, n * sizeof(T), [&] { CUDA(cub_scan(scratch.p, bytes)); });
    const double seconds = device_seconds(t.stream, n * sizeof(T), [&] {
        check_weft(t.ctx, weft_scan(t.ctx, kind, WEFT_SUM, type_of<T>(), n, x.p, ours.p, nullptr));
    });
    const bool ok = is_same(ours.p, theirs.p, n);
    all_ok = all_ok && ok;
    report(kind == WEFT_INCLUSIVE ? "scan inclusive sum" : "scan exclusive sum", type_name<T>(), n,
           weft_used(t.ctx, "scan"), 2.0 * (double)n * sizeof(T), seconds, "CUB", peer, "copy",
           copy_gbps, ok);
}

/* The peer is the plain copy on the same arrays, scaled to the three arrays an addition moves:
 * where arrays lie in memory after much allocation moves both. */
static void race_add(const track &t, size_t n, double copy_gbps) {
    device_array<float> x(n), y(n), z(n);
    fill_random(x.p, n, 1);
    fill_random(y.p, n, 2);
    const double copy = device_seconds(t.stream, n * sizeof(float), [&] {
        CUDA(cudaMemcpyAsync(z.p, x.p, n * sizeof(float), cudaMemcpyDeviceToDevice, t.stream));
    });
    const double seconds = device_seconds(t.stream, n * sizeof(float), [&] {
        check_weft(t.ctx, weft_add(t.ctx, WEFT_F32, n, x.p, y.p, z.p));
    });
    float last = 0;
    CUDA(cudaMemcpy(&last, z.p + n - 1, sizeof last, cudaMemcpyDefault));
    const bool ok = last == (float)(draw(1, n - 1) + draw(2, n - 1));
    all_ok = all_ok && ok;
    report("map add", "f32", n, weft_used(t.ctx, "map"), 3.0 * (double)n * sizeof(float), seconds,
           "device copy, as 3/2 of it", 1.5 * copy, "copy", copy_gbps, ok);
}

/* Reduce of pageable host memory against what the link carries from pinned memory. */
static void time_staged_reduce(const track &t, size_t bytes) {
    const size_t n = bytes / sizeof(float);
    char *pinned;
    CUDA(cudaMallocHost(&pinned, bytes));
    device_array<char> sink(bytes);
    const double link = device_seconds(t.stream, bytes, [&] {
        CUDA(cudaMemcpyAsync(sink.p, pinned, bytes, cudaMemcpyHostToDevice, t.stream));
    });
    std::vector<float> x(n);
    double expected = 0;
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)draw(3, i);
        expected += x[i];
    }
    const auto call = [&] {
        float sum = 0;
        check_weft(t.ctx, weft_reduce(t.ctx, WEFT_SUM, WEFT_F32, n, x.data(), &sum));
        all_ok = all_ok && sum == (float)expected;
    };
    std::vector<double> seconds;
    for (int pass = 0; pass < 11; pass++) {
        const auto begin = std::chrono::steady_clock::now();
        call();
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
        seconds.push_back(taken.count());
    }
    std::sort(seconds.begin() + 2, seconds.end()); /* the first two warm up */
    report("reduce sum, pageable host memory", "f32", n, weft_used(t.ctx, "stage"), (double)bytes,
           seconds[2 + 4], "pinned copy", link, "link", (double)bytes / link * 1e-9, all_ok);
    CUDA(cudaFreeHost(pinned));
}

template <class T>
static void race_scans(const track &t, double copy_gbps) {
    for (const int log_n : {20, 28})
        for (const weft_scan_kind kind : {WEFT_INCLUSIVE, WEFT_EXCLUSIVE})
            race_scan<T>(t, kind, (size_t)1 << log_n, copy_gbps);
}

template <class T>
static void race_reduces(const track &t, double read_gbps) {
    for (const int log_n : {20, 28, 30})
        race_reduce<T>(t, (size_t)1 << log_n, read_gbps);
}

int main() {
    track t;
    const weft_status opened = weft_open(&t.ctx, "gpu");
    if (opened != WEFT_OK) {
        fprintf(stderr, "cub_peer: no race: %s\n", weft_message(nullptr));
        return no_race;
    }
    CUDA(cudaStreamCreateWithFlags(&t.stream, cudaStreamNonBlocking));
    check_weft(t.ctx, weft_set_stream(t.ctx, t.stream));
    const double copy = copy_roof(t.stream, (size_t)1 << 31),
                 read = read_roof(t.stream, (size_t)1 << 32);
    race_add(t, (size_t)1 << 28, copy);
    race_reduces<float>(t, read);
    race_reduces<double>(t, read);
    race_scans<float>(t, copy);
    race_scans<uint32_t>(t, copy);
    race_scans<double>(t, copy);
    time_staged_reduce(t, (size_t)1 << 30);
    weft_close(t.ctx);
    CUDA(cudaStreamDestroy(t.stream));
    return all_ok ? 0 : 1;
}
