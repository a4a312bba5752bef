/* SPDX-License-Identifier: Apache-2.0 */
/* Races sort against CUB's radix sort on the same device arrays in the same process, beside the
 * copy bandwidth measured here too. Results are compared: a wrong one ends the program with status
 * 1. `bytes` is what a sort by digits of 8 bits must move: one read to count them, and a read and a
 * write for each. */
#include <cub/cub.cuh>
#include <type_traits>

#include "peer.cuh"

static bool all_ok = true;

/* The status that says: nothing here to race on. */
constexpr int no_race = 77;

struct track {
    weft_context *ctx;
    cudaStream_t stream;
    double copy_gbps;
};

enum pattern {
    RANDOM,
    EQUAL,
    SORTED,
    REVERSED,
    EIGHT
};

static const char *pattern_name(pattern shape) {
    static const char *const names[] = {"random", "all equal", "sorted", "reversed", "8 values"};
    return names[shape];
}

/* The finalizer of MurmurHash3. */
__host__ __device__ inline uint64_t mixed(uint64_t z) {
    z = (z ^ (z >> 33)) * 0xff51afd7ed558ccdu;
    z = (z ^ (z >> 33)) * 0xc4ceb9fe1a85ec53u;
    return z ^ (z >> 33);
}

/* Integers from all bits, floats from [-1, 1) without -0.0. */
template <class K>
__host__ __device__ inline K key_of(uint64_t bits) {
    if (std::is_same<K, float>::value)
        return (K)((float)(int32_t)(bits >> 32) * 0x1p-31f + 0.0f);
    return (K)bits;
}

/* As random keys would be, had they been sorted: one in each nth of the range. */
template <class K>
__host__ __device__ inline K rising_key(uint64_t i, uint64_t n) {
    const uint64_t step = UINT64_MAX / n, at = i * step + mixed(i + 1) % step;
    return (K)(sizeof(K) == 8 ? at : at >> 32);
}

template <class K>
__host__ __device__ inline K draw_key(pattern shape, uint64_t i, uint64_t n) {
    switch (shape) {
    case EQUAL:
        return key_of<K>(mixed(1));
    case SORTED:
        return rising_key<K>(i, n);
    case REVERSED:
        return rising_key<K>(n - 1 - i, n);
    case EIGHT:
        return key_of<K>(mixed(mixed(i) % 8));
    default:
        return key_of<K>(mixed(i + 1));
    }
}

template <class K>
__global__ void draw_keys(K *x, size_t n, pattern shape) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        x[i] = draw_key<K>(shape, i, n);
}

template <class K>
constexpr weft_type type_of() {
    return std::is_same<K, float>::value ? WEFT_F32 : sizeof(K) == 8 ? WEFT_U64 : WEFT_U32;
}

template <class K>
static void report_sort(const track &t, const char *what, pattern shape, size_t n,
                        size_t value_bytes, double seconds, double peer, bool ok) {
    char op[64];
    snprintf(op, sizeof op, "sort %s, %s", what, pattern_name(shape));
    all_ok = all_ok && ok;
    const double passes = sizeof(K);
    const double bytes = (double)n * (sizeof(K) + 2 * passes * (double)(sizeof(K) + value_bytes));
    report(op, weft_type_name(type_of<K>()), n, weft_used(t.ctx, "sort"), bytes, seconds, "CUB",
           peer, "copy", t.copy_gbps, ok);
}

template <class K>
static void race_keys(const track &t, size_t n, pattern shape) {
    device_array<K> x(n), ours(n), theirs(n);
    draw_keys<<<filling_blocks, filling_threads>>>(x.p, n, shape);
    CUDA(cudaDeviceSynchronize());
    const auto cub_sort = [&](void *scratch, size_t &bytes) {
        return cub::DeviceRadixSort::SortKeys(scratch, bytes, x.p, theirs.p, n, 0, 8 * sizeof(K),
                                              t.stream);
    };
    size_t bytes = 0;
    CUDA(cub_sort(nullptr, bytes));
    device_array<char> scratch(bytes);
    const double peer =
        device_seconds(t.stream, n * sizeof(K), [&] { CUDA(cub_sort(scratch.p, bytes)); });
    const double seconds = device_seconds(t.stream, n * sizeof(K), [&] {
        check_weft(t.ctx, weft_sort(t.ctx, WEFT_ASCENDING, type_of<K>(), n, x.p, ours.p));
    });
    report_sort<K>(t, "keys", shape, n, 0, seconds, peer, is_same(ours.p, theirs.p, n));
}

static void race_pairs(const track &t, size_t n, pattern shape) {
    device_array<uint32_t> x(n), v(n), keys(n), values(n), their_keys(n), their_values(n);
    draw_keys<<<filling_blocks, filling_threads>>>(x.p, n, shape);
    draw_keys<<<filling_blocks, filling_threads>>>(v.p, n, RANDOM);
    CUDA(cudaDeviceSynchronize());
    const auto cub_sort = [&](void *scratch, size_t &bytes) {
        return cub::DeviceRadixSort::SortPairs(scratch, bytes, x.p, their_keys.p, v.p,
                                               their_values.p, n, 0, 32, t.stream);
    };
    size_t bytes = 0;
    CUDA(cub_sort(nullptr, bytes));
    device_array<char> scratch(bytes);
    const double peer = device_seconds(t.stream, n * 8, [&] { CUDA(cub_sort(scratch.p, bytes)); });
    const double seconds = device_seconds(t.stream, n * 8, [&] {
        check_weft(t.ctx, weft_sort_pairs(t.ctx, WEFT_ASCENDING, WEFT_U32, n, x.p, keys.p, 4, v.p,
                                          values.p));
    });
    const bool ok = is_same(keys.p, their_keys.p, n) && is_same(values.p, their_values.p, n);
    report_sort<uint32_t>(t, "pairs with u32", shape, n, 4, seconds, peer, ok);
}

int main() {
    track t;
    const weft_status opened = weft_open(&t.ctx, "gpu");
    if (opened != WEFT_OK) {
        fprintf(stderr, "sort_peer: no race: %s\n", weft_message(nullptr));
        return no_race;
    }
    CUDA(cudaStreamCreateWithFlags(&t.stream, cudaStreamNonBlocking));
    check_weft(t.ctx, weft_set_stream(t.ctx, t.stream));
    t.copy_gbps = copy_roof(t.stream, (size_t)1 << 31);
    for (const pattern shape : {RANDOM, EQUAL, SORTED, REVERSED, EIGHT}) {
        race_keys<uint32_t>(t, (size_t)1 << 28, shape);
        race_keys<float>(t, (size_t)1 << 28, shape);
        race_keys<uint64_t>(t, (size_t)1 << 28, shape);
        race_pairs(t, (size_t)1 << 28, shape);
    }
    race_keys<uint64_t>(t, (size_t)1 << 27, RANDOM);
    for (const int log_n : {10, 14, 16, 18, 20, 22, 24}) {
        race_keys<uint32_t>(t, (size_t)1 << log_n, RANDOM);
        race_keys<uint64_t>(t, (size_t)1 << log_n, RANDOM);
        race_pairs(t, (size_t)1 << log_n, RANDOM);
    }
    weft_close(t.ctx);
    CUDA(cudaStreamDestroy(t.stream));
    return all_ok ? 0 : 1;
}
