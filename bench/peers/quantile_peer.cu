/* SPDX-License-Identifier: Apache-2.0 */
/* Races quantiles against CUB's radix sort, and the summary against thrust::transform_reduce, on
 * the same device arrays in the same process, beside the read bandwidth measured here too. Results
 * are compared: a wrong one ends the program with status 1. */
#include <cub/cub.cuh>
#include <thrust/execution_policy.h>
#include <thrust/transform_reduce.h>

#include <math.h>
#include <string>

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
    FEW_VALUES,
    SORTED,
    INPUTS
};
static const char *const input_names[] = {"uniform", "few values", "sorted"};

__device__ void put(float *x, uint64_t bits) {
    *x = (float)(bits >> 40) * 0x1p-24f;
}
__device__ void put(double *x, uint64_t bits) {
    *x = (double)(bits >> 11) * 0x1p-53;
}
__device__ void put(uint32_t *x, uint64_t bits) {
    *x = (uint32_t)(bits >> 32);
}
__device__ void put(uint64_t *x, uint64_t bits) {
    *x = bits;
}
__device__ void put(uint8_t *x, uint64_t bits) {
    *x = (uint8_t)(bits >> 56);
}

template <class T>
__global__ void draw_numbers(T *x, size_t n, input kind) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        const uint64_t bits = draw_bits(7, i);
        put(x + i, kind == UNIFORM      ? bits
                   : kind == FEW_VALUES ? bits & (uint64_t)7 << 61
                                        : (uint64_t)((double)i / (double)n * 0x1p63));
    }
}

/* `count` ranks, or the median for one; the elements are compared with those of CUB's sort. */
template <class T>
static void race_nth(const track &t, weft_type type, input kind, size_t n, size_t count,
                     const char *variant) {
    device_array<T> x(n), sorted(n), got(count);
    std::vector<uint64_t> ranks;
    for (size_t j = 0; j < count; j++)
        ranks.push_back(n / (2 * count) * (2 * j + 1));
    draw_numbers<<<filling_blocks, filling_threads>>>(x.p, n, kind);
    CUDA(cudaDeviceSynchronize());
    size_t bytes = 0;
    CUDA(cub::DeviceRadixSort::SortKeys(nullptr, bytes, x.p, sorted.p, n, 0, 8 * (int)sizeof(T),
                                        t.stream));
    device_array<char> scratch(bytes);
    check_weft(t.ctx, weft_use(t.ctx, "quantile", variant));
    double ours, theirs;
    seconds_in_turns(
        t.stream, n * sizeof(T),
        [&] { check_weft(t.ctx, weft_nth(t.ctx, type, n, x.p, count, ranks.data(), got.p)); },
        [&] {
            CUDA(cub::DeviceRadixSort::SortKeys(scratch.p, bytes, x.p, sorted.p, n, 0,
                                                8 * (int)sizeof(T), t.stream));
        },
        &ours, &theirs);
    std::vector<T> a(count), b(count);
    CUDA(cudaMemcpy(a.data(), got.p, count * sizeof(T), cudaMemcpyDefault));
    for (size_t j = 0; j < count; j++)
        CUDA(cudaMemcpy(&b[j], sorted.p + ranks[j], sizeof(T), cudaMemcpyDefault));
    const bool ok = a == b;
    all_ok = all_ok && ok;
    const std::string op = "nth, " + std::to_string(count) + " ranks, " + input_names[kind];
    report(op.c_str(), weft_type_name(type), n, weft_used(t.ctx, "quantile"),
           (double)(n * sizeof(T)), ours, "CUB sort", theirs, "read", t.read_gbps, ok);
    check_weft(t.ctx, weft_use(t.ctx, "quantile", "auto"));
}

/* What thrust's own example of summary statistics merges. */
struct moments {
    double n, min, max, mean, squares;
};
template <class T>
struct moments_of {
    __host__ __device__ moments operator()(const T &x) const {
        return {1, (double)x, (double)x, (double)x, 0};
    }
};
struct merge_moments {
    __host__ __device__ moments operator()(const moments &a, const moments &b) const {
        const double n = a.n + b.n, d = b.mean - a.mean;
        return n == 0
                   ? a
                   : moments{n, a.min < b.min ? a.min : b.min, a.max > b.max ? a.max : b.max,
                             a.mean + d * b.n / n, a.squares + b.squares + d * d * a.n * b.n / n};
    }
};

template <class T>
static void race_summary(const track &t, weft_type type, size_t n) {
    device_array<T> x(n);
    device_array<weft_statistics> got(1);
    draw_numbers<<<filling_blocks, filling_threads>>>(x.p, n, UNIFORM);
    CUDA(cudaDeviceSynchronize());
    moments their = {};
    double ours, theirs;
    seconds_in_turns(
        t.stream, n * sizeof(T),
        [&] { check_weft(t.ctx, weft_summary(t.ctx, type, n, x.p, got.p)); },
        [&] {
            their = thrust::transform_reduce(thrust::cuda::par_nosync.on(t.stream), x.p, x.p + n,
                                             moments_of<T>{}, moments{0, INFINITY, -INFINITY, 0, 0},
                                             merge_moments{});
        },
        &ours, &theirs);
    weft_statistics s;
    CUDA(cudaMemcpy(&s, got.p, sizeof s, cudaMemcpyDefault));
    const double variance = their.squares / their.n;
    const bool ok = s.count == n && s.min == their.min && s.max == their.max &&
                    fabs(s.mean - their.mean) <= 1e-9 * sqrt(variance) &&
                    fabs(s.variance - variance) <= 1e-9 * variance;
    all_ok = all_ok && ok;
    report("summary", weft_type_name(type), n, weft_used(t.ctx, "summary"), (double)(n * sizeof(T)),
           ours, "thrust::transform_reduce", theirs, "read", t.read_gbps, ok);
}

int main() {
    track t;
    if (weft_open(&t.ctx, "gpu") != WEFT_OK) {
        fprintf(stderr, "quantile_peer: no race: %s\n", weft_message(nullptr));
        return no_race;
    }
    CUDA(cudaStreamCreateWithFlags(&t.stream, cudaStreamNonBlocking));
    check_weft(t.ctx, weft_set_stream(t.ctx, t.stream));
    t.read_gbps = read_roof(t.stream, (size_t)1 << 32);
    const size_t most = (size_t)1 << 28;
    for (int k = 0; k < INPUTS; k++) {
        const input kind = (input)k;
        race_nth<float>(t, WEFT_F32, kind, most, 1, "auto");
        race_nth<float>(t, WEFT_F32, kind, most, 8, "auto");
        race_nth<double>(t, WEFT_F64, kind, most / 2, 1, "auto");
    }
    race_nth<float>(t, WEFT_F32, UNIFORM, most, 1, "digits");
    race_nth<float>(t, WEFT_F32, UNIFORM, most, 1, "sorted_copy");
    race_nth<uint32_t>(t, WEFT_U32, UNIFORM, most, 1, "auto");
    race_nth<uint64_t>(t, WEFT_U64, UNIFORM, most / 2, 4, "auto");
    race_nth<uint8_t>(t, WEFT_U8, UNIFORM, most, 1, "bracketed");
    race_nth<uint8_t>(t, WEFT_U8, UNIFORM, most, 1, "digits");
    for (size_t n : {(size_t)1 << 14, (size_t)1 << 17, (size_t)1 << 20, (size_t)1 << 24})
        for (const char *variant : {"digits", "bracketed", "sorted_copy"})
            race_nth<float>(t, WEFT_F32, UNIFORM, n, 1, variant);
    race_summary<float>(t, WEFT_F32, (size_t)1 << 20);
    race_summary<float>(t, WEFT_F32, most);
    race_summary<double>(t, WEFT_F64, most / 2);
    race_summary<uint32_t>(t, WEFT_U32, most);
    race_summary<uint64_t>(t, WEFT_U64, most / 2);
    race_summary<uint8_t>(t, WEFT_U8, most * 2);
    race_summary<uint8_t>(t, WEFT_U8, most * 4);
    weft_close(t.ctx);
    CUDA(cudaStreamDestroy(t.stream));
    return all_ok ? 0 : 1;
}
