/* SPDX-License-Identifier: Apache-2.0 */
/* Races histogram against CUB on the same device arrays in the same process, on inputs that spread
 * and inputs that crowd. Counts are compared: a wrong one ends the program with status 1. */
#include <cub/cub.cuh>

#include "peer.cuh"

static bool all_ok = true;

/* The status that says: nothing here to race on. */
constexpr int no_race = 77;

struct track {
    weft_context *ctx;
    cudaStream_t stream;
    double read_gbps;
};

enum input {
    UNIFORM,
    EQUAL,
    TWO_VALUES,
    SORTED,
    INPUTS
};
static const char *const input_names[] = {"uniform", "all equal", "two values", "sorted"};

__device__ uint64_t mix(uint64_t z) {
    z *= 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* 24 bits for element i of n: integers take their first bits, floats are 24-bit fractions. */
__device__ uint32_t bits_of(input kind, uint64_t i, uint64_t n) {
    if (kind == EQUAL)
        return 0x123456;
    if (kind == TWO_VALUES)
        return mix(i + 1) >> 40 & 1 ? 0x051234 : 0xc81234;
    if (kind == SORTED)
        return (uint32_t)((i << 24) / n);
    return (uint32_t)(mix(i + 1) >> 40);
}

__device__ void put(uint8_t *x, uint32_t bits) {
    *x = (uint8_t)(bits >> 16);
}
__device__ void put(uint16_t *x, uint32_t bits) {
    *x = (uint16_t)(bits >> 8);
}
__device__ void put(uint32_t *x, uint32_t bits) {
    *x = bits << 7; /* below 2^31 */
}
__device__ void put(float *x, uint32_t bits) {
    *x = (float)bits * 0x1p-24f;
}

template <class T>
__global__ void draw_input(T *x, size_t n, input kind) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        put(x + i, bits_of(kind, i, n));
}

/* The same bins for both: `bins` even ones over [0, top). */
template <class T, class Level>
static void race(const track &t, weft_type type, input kind, size_t n, int bins, Level top) {
    device_array<T> x(n);
    device_array<uint32_t> ours((size_t)bins), theirs((size_t)bins);
    draw_input<<<filling_blocks, filling_threads>>>(x.p, n, kind);
    CUDA(cudaDeviceSynchronize());
    const auto cub_histogram = [&](void *scratch, size_t &bytes) {
        return cub::DeviceHistogram::HistogramEven(scratch, bytes, x.p, (int *)theirs.p, bins + 1,
                                                   (Level)0, top, n, t.stream);
    };
    size_t scratch_bytes = 0;
    CUDA(cub_histogram(nullptr, scratch_bytes));
    device_array<char> scratch(scratch_bytes);
    weft_bins even = {};
    even.count = (size_t)bins;
    even.hi = (double)top;
    const size_t bytes = n * sizeof(T);
    const double peer =
        device_seconds(t.stream, bytes, [&] { CUDA(cub_histogram(scratch.p, scratch_bytes)); });
    const double seconds = device_seconds(t.stream, bytes, [&] {
        check_weft(t.ctx, weft_histogram(t.ctx, type, n, 1, x.p, &even, WEFT_OVERWRITE, WEFT_U32,
                                         ours.p, nullptr));
    });
    std::vector<uint32_t> a((size_t)bins), b((size_t)bins);
    CUDA(cudaMemcpy(a.data(), ours.p, a.size() * sizeof a[0], cudaMemcpyDefault));
    CUDA(cudaMemcpy(b.data(), theirs.p, b.size() * sizeof b[0], cudaMemcpyDefault));
    const bool ok = a == b;
    all_ok = all_ok && ok;
    char op[64];
    snprintf(op, sizeof op, "histogram of %d bins, %s", bins, input_names[kind]);
    report(op, weft_type_name(type), n, weft_used(t.ctx, "histogram"), (double)bytes, seconds,
           "CUB", peer, "read", t.read_gbps, ok);
}

int main() {
    track t;
    if (weft_open(&t.ctx, "gpu") != WEFT_OK) {
        fprintf(stderr, "histogram_peer: no race: %s\n", weft_message(nullptr));
        return no_race;
    }
    CUDA(cudaStreamCreateWithFlags(&t.stream, cudaStreamNonBlocking));
    check_weft(t.ctx, weft_set_stream(t.ctx, t.stream));
    t.read_gbps = read_roof(t.stream, (size_t)1 << 32);
    for (int k = 0; k < INPUTS; k++) {
        const input kind = (input)k;
        race<uint8_t>(t, WEFT_U8, kind, (size_t)1 << 20, 256, 256);
        race<uint8_t>(t, WEFT_U8, kind, (size_t)1 << 30, 256, 256);
        race<uint16_t>(t, WEFT_U16, kind, (size_t)1 << 28, 65536, 65536);
        race<uint32_t>(t, WEFT_U32, kind, (size_t)1 << 28, 65536, 1u << 31);
        race<uint32_t>(t, WEFT_U32, kind, (size_t)1 << 28, 1 << 18, 1u << 31);
        race<uint32_t>(t, WEFT_U32, kind, (size_t)1 << 28, 1 << 22, 1u << 31);
        race<float>(t, WEFT_F32, kind, (size_t)1 << 28, 256, 1.0f);
        race<float>(t, WEFT_F32, kind, (size_t)1 << 28, 4096, 1.0f);
    }
    weft_close(t.ctx);
    CUDA(cudaStreamDestroy(t.stream));
    return all_ok ? 0 : 1;
}
