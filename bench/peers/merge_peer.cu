/* SPDX-License-Identifier: Apache-2.0 */
/* Races what merges and searches against CUB and Thrust on the same device arrays in the same
 * process: merge sort, merge, segments, top_k, search, is_sorted. Results are compared with the
 * peer's: a wrong one ends the program with status 1. */
#include <cub/cub.cuh>
#include <thrust/binary_search.h>
#include <thrust/execution_policy.h>
#include <thrust/sort.h>

#include "peer.cuh"

static bool all_ok = true;

/* The status that says: nothing here to race on. */
constexpr int no_race = 77;

struct track {
    weft_context *ctx;
    cudaStream_t stream;
    double copy_gbps;
};

struct less_u32 {
    __host__ __device__ bool operator()(uint32_t a, uint32_t b) const {
        return a < b;
    }
};

__global__ void draw_keys(uint32_t *x, size_t n, uint64_t seed) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        uint64_t z = (i + seed) * 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        x[i] = (uint32_t)(z >> 32);
    }
}

static void fill_keys(uint32_t *x, size_t n, uint64_t seed) {
    draw_keys<<<filling_blocks, filling_threads>>>(x, n, seed);
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());
}

template <class T>
static bool same(const T *a, const T *b, size_t n) {
    const bool ok = is_same(a, b, n);
    all_ok = all_ok && ok;
    return ok;
}

/* A CUB call that asks for scratch first, timed with it. */
template <class Call>
static double cub_seconds(const track &t, size_t data_bytes, Call call) {
    size_t bytes = 0;
    CUDA(call(nullptr, bytes));
    device_array<char> scratch(bytes);
    return device_seconds(t.stream, data_bytes, [&] { CUDA(call(scratch.p, bytes)); });
}

static void race_merge_sort(const track &t, size_t n) {
    device_array<uint32_t> x(n), ours(n), theirs(n);
    fill_keys(x.p, n, 1);
    const double peer = cub_seconds(t, n * 4, [&](void *scratch, size_t &bytes) {
        return cub::DeviceMergeSort::SortKeysCopy(scratch, bytes, x.p, theirs.p, n, less_u32{},
                                                  t.stream);
    });
    check_weft(t.ctx, weft_use(t.ctx, "sort", "merge"));
    const double seconds = device_seconds(t.stream, n * 4, [&] {
        check_weft(t.ctx, weft_sort(t.ctx, WEFT_ASCENDING, WEFT_U32, n, x.p, ours.p));
    });
    check_weft(t.ctx, weft_use(t.ctx, "sort", NULL));
    report("merge sort", "u32", n, "merge", 8.0 * (double)n, seconds, "CUB DeviceMergeSort", peer,
           "copy", t.copy_gbps, same(ours.p, theirs.p, n));
}

static void race_merge(const track &t, size_t n) {
    device_array<uint32_t> a(n), b(n), ours(2 * n), theirs(2 * n);
    fill_keys(a.p, n, 1);
    fill_keys(b.p, n, 2);
    check_weft(t.ctx, weft_sort(t.ctx, WEFT_ASCENDING, WEFT_U32, n, a.p, a.p));
    check_weft(t.ctx, weft_sort(t.ctx, WEFT_ASCENDING, WEFT_U32, n, b.p, b.p));
    const double peer = cub_seconds(t, n * 8, [&](void *scratch, size_t &bytes) {
        return cub::DeviceMerge::MergeKeys(scratch, bytes, a.p, (int64_t)n, b.p, (int64_t)n,
                                           theirs.p, less_u32{}, t.stream);
    });
    const double seconds = device_seconds(t.stream, n * 8, [&] {
        check_weft(t.ctx, weft_merge(t.ctx, WEFT_ASCENDING, WEFT_U32, n, a.p, n, b.p, ours.p, 0,
                                     NULL, NULL, NULL));
    });
    report("merge of two", "u32", 2 * n, "merge_path", 16.0 * (double)n, seconds, "CUB DeviceMerge",
           peer, "copy", t.copy_gbps, same(ours.p, theirs.p, 2 * n));
}

/* Segments of `length` keys, or one that holds half of all. */
static void race_segments(const track &t, size_t n, size_t length, bool one_long) {
    std::vector<uint64_t> offsets;
    for (size_t at = 0; at < n; at += one_long && at == 0 ? n / 2 : length)
        offsets.push_back(at);
    offsets.push_back(n);
    const size_t count = offsets.size() - 1;
    device_array<uint64_t> at(count + 1);
    CUDA(cudaMemcpy(at.p, offsets.data(), (count + 1) * 8, cudaMemcpyDefault));
    device_array<uint32_t> x(n), ours(n), theirs(n);
    fill_keys(x.p, n, 3);
    const double peer = cub_seconds(t, n * 4, [&](void *scratch, size_t &bytes) {
        return cub::DeviceSegmentedSort::SortKeys(scratch, bytes, x.p, theirs.p, (int64_t)n,
                                                  (int64_t)count, at.p, at.p + 1, t.stream);
    });
    const double seconds = device_seconds(t.stream, n * 4, [&] {
        check_weft(t.ctx, weft_sort_segments(t.ctx, WEFT_ASCENDING, WEFT_U32, n, x.p, ours.p, 0,
                                             NULL, NULL, count, at.p));
    });
    char op[64];
    snprintf(op, sizeof op, "segments of %zu%s", length, one_long ? ", one of half" : "");
    report(op, "u32", n, "windows", 8.0 * (double)n, seconds, "CUB DeviceSegmentedSort", peer,
           "copy", t.copy_gbps, same(ours.p, theirs.p, n));
}

/* The peer sorts all of x, for CUB has no selection. */
static void race_top_k(const track &t, size_t n, size_t k) {
    device_array<uint32_t> x(n), ours(k), theirs(n);
    device_array<uint64_t> positions(k);
    fill_keys(x.p, n, 4);
    const double peer = cub_seconds(t, n * 4, [&](void *scratch, size_t &bytes) {
        return cub::DeviceRadixSort::SortKeys(scratch, bytes, x.p, theirs.p, n, 0, 32, t.stream);
    });
    const double seconds = device_seconds(t.stream, n * 4, [&] {
        check_weft(t.ctx,
                   weft_top_k(t.ctx, WEFT_ASCENDING, WEFT_U32, n, x.p, k, ours.p, positions.p));
    });
    char op[64];
    snprintf(op, sizeof op, "top_k, k = %zu", k);
    report(op, "u32", n, "select", 4.0 * (double)n, seconds, "CUB DeviceRadixSort, keys", peer,
           "copy", t.copy_gbps, same(ours.p, theirs.p, k));
}

static void race_search(const track &t, size_t n, size_t m, bool in_order) {
    device_array<uint32_t> x(n), wanted(m);
    device_array<uint64_t> ours(m), theirs(m);
    fill_keys(x.p, n, 5);
    fill_keys(wanted.p, m, 6);
    check_weft(t.ctx, weft_sort(t.ctx, WEFT_ASCENDING, WEFT_U32, n, x.p, x.p));
    if (in_order)
        check_weft(t.ctx, weft_sort(t.ctx, WEFT_ASCENDING, WEFT_U32, m, wanted.p, wanted.p));
    const double peer = device_seconds(t.stream, n * 4, [&] {
        thrust::lower_bound(thrust::cuda::par_nosync.on(t.stream), x.p, x.p + n, wanted.p,
                            wanted.p + m, theirs.p);
    });
    const double seconds = device_seconds(t.stream, n * 4, [&] {
        check_weft(t.ctx, weft_search(t.ctx, WEFT_LOWER, WEFT_ASCENDING, WEFT_U32, n, x.p, m,
                                      wanted.p, ours.p));
    });
    report(in_order ? "search of wanted in order" : "search", "u32", m, weft_used(t.ctx, "search"),
           12.0 * (double)m, seconds, "Thrust lower_bound", peer, "copy", t.copy_gbps,
           same(ours.p, theirs.p, m));
}

static void race_sorted(const track &t, size_t n) {
    device_array<uint32_t> x(n);
    device_array<uint64_t> position(1);
    fill_keys(x.p, n, 7);
    check_weft(t.ctx, weft_sort(t.ctx, WEFT_ASCENDING, WEFT_U32, n, x.p, x.p));
    bool right = true;
    const double peer = device_seconds(t.stream, n * 4, [&] {
        right = right && thrust::is_sorted(thrust::cuda::par.on(t.stream), x.p, x.p + n);
    });
    const double seconds = device_seconds(t.stream, n * 4, [&] {
        check_weft(t.ctx, weft_is_sorted(t.ctx, WEFT_ASCENDING, WEFT_U32, n, x.p, position.p));
    });
    uint64_t got = 0;
    CUDA(cudaMemcpy(&got, position.p, sizeof got, cudaMemcpyDefault));
    const bool ok = right && got == WEFT_NOWHERE;
    all_ok = all_ok && ok;
    report("is_sorted, sorted", "u32", n, "read", 4.0 * (double)n, seconds, "Thrust is_sorted",
           peer, "copy", t.copy_gbps, ok);
}

int main() {
    track t;
    if (weft_open(&t.ctx, "gpu") != WEFT_OK) {
        fprintf(stderr, "merge_peer: no race: %s\n", weft_message(nullptr));
        return no_race;
    }
    CUDA(cudaStreamCreateWithFlags(&t.stream, cudaStreamNonBlocking));
    check_weft(t.ctx, weft_set_stream(t.ctx, t.stream));
    t.copy_gbps = copy_roof(t.stream, (size_t)1 << 31);
    const size_t large = (size_t)1 << 28, small = (size_t)1 << 20;
    race_merge_sort(t, large);
    race_merge_sort(t, small);
    race_merge(t, large / 2);
    for (const size_t length : {10, 1000, 10000, 1000000})
        race_segments(t, large / 4, length, false);
    race_segments(t, large / 4, 100, true);
    for (const size_t k : {10, 100000, 10000000})
        race_top_k(t, large, k);
    race_search(t, large, large / 4, false);
    race_search(t, large, large / 4, true);
    race_sorted(t, large);
    weft_close(t.ctx);
    CUDA(cudaStreamDestroy(t.stream));
    return all_ok ? 0 : 1;
}
