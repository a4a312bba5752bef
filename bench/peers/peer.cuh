/* SPDX-License-Identifier: Apache-2.0 */
/* What the races share: memory, clocks and one line of JSON for each race. A program that cannot go
 * on says why and exits: it is a measurement, not a library. */
#ifndef WEFT_PEER_CUH
#define WEFT_PEER_CUH

#include <algorithm>
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

#include "weft/weft.h"

inline void check_cuda(cudaError_t error, const char *doing) {
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "peer: %s: %s\n", doing, cudaGetErrorString(error));
    exit(1);
}
#define CUDA(call) check_cuda(call, #call)

inline void check_weft(weft_context *ctx, weft_status status) {
    if (status == WEFT_OK)
        return;
    fprintf(stderr, "peer: %s: %s\n", weft_status_name(status), weft_message(ctx));
    exit(1);
}

/* Device memory for the life of the object. */
template <class T>
struct device_array {
    T *p = nullptr;
    explicit device_array(size_t n) {
        CUDA(cudaMalloc(&p, n * sizeof(T)));
    }
    ~device_array() {
        cudaFree(p);
    }
    device_array(const device_array &) = delete;
    device_array &operator=(const device_array &) = delete;
};

/* A small whole number that depends on seed and position: sums of many stay exact in f64. */
__host__ __device__ inline int draw(uint64_t seed, uint64_t i) {
    uint64_t z = (i + seed) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    return (int)((z >> 40) % 17) - 8;
}

template <class T>
__global__ void draw_all(T *x, size_t n, uint64_t seed) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        x[i] = (T)draw(seed, i);
}

__host__ __device__ inline uint64_t draw_bits(uint64_t seed, uint64_t i) {
    uint64_t z = (i + seed) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
/* From -1 to below 1. */
__host__ __device__ inline double draw_real(uint64_t seed, uint64_t i) {
    return (double)(int64_t)draw_bits(seed, i) * 0x1p-63;
}

/* Such numbers; of whole numbers any. */
template <class T>
__global__ void draw_reals(T *x, size_t n, uint64_t seed) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        if constexpr (sizeof(T) == 1)
            x[i] = (T)(draw_bits(seed, i) >> 56);
        else
            x[i] = (T)draw_real(seed, i);
    }
}

constexpr unsigned filling_blocks = 1024, filling_threads = 256;

template <class T>
void fill_random(T *x, size_t n, uint64_t seed) {
    draw_all<<<filling_blocks, filling_threads>>>(x, n, seed);
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());
}

template <class T>
void fill_reals(T *x, size_t n, uint64_t seed) {
    draw_reals<<<filling_blocks, filling_threads>>>(x, n, seed);
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());
}

/* Keeps the stream busy for some 100 us, in which the host queues what is timed next: so a long
 * call is timed without the time in which it is prepared. Many short calls are timed with it. */
__global__ void keep_busy() {
    const long long begin = clock64();
    while (clock64() - begin < 200000)
        continue;
}

/* Median seconds of one call of each of two, in turns: a device that is near its limit of power
 * slows down for a while, whoever ran. Each begins on a stream that has nothing to do: behind calls
 * of the other its first ones would be timed without their host. */
template <class Ours, class Theirs>
void seconds_in_turns(cudaStream_t stream, size_t work, Ours ours, Theirs theirs, double *our_s,
                      double *their_s) {
    constexpr int warmups = 3, passes = 15;
    const int calls = work < ((size_t)1 << 26) ? 20 : 1;
    cudaEvent_t begin, end;
    CUDA(cudaEventCreate(&begin));
    CUDA(cudaEventCreate(&end));
    std::vector<double> seconds[2];
    for (int turn = -2 * warmups; turn < 2 * passes; turn++) {
        const int who = turn & 1;
        float ms = 0;
        if (calls == 1)
            keep_busy<<<1, 1, 0, stream>>>();
        CUDA(cudaEventRecord(begin, stream));
        for (int i = 0; i < calls; i++)
            if (who == 0)
                ours();
            else
                theirs();
        CUDA(cudaEventRecord(end, stream));
        CUDA(cudaEventSynchronize(end));
        CUDA(cudaEventElapsedTime(&ms, begin, end));
        if (turn >= 0)
            seconds[who].push_back(ms * 1e-3 / calls);
    }
    CUDA(cudaEventDestroy(begin));
    CUDA(cudaEventDestroy(end));
    for (std::vector<double> &s : seconds)
        std::sort(s.begin(), s.end());
    *our_s = seconds[0][passes / 2];
    *their_s = seconds[1][passes / 2];
}

/* Median seconds of one call, by events on the stream; short calls are timed several at once. */
template <int passes = 15, class Call>
double device_seconds(cudaStream_t stream, size_t bytes, Call call) {
    constexpr int warmups = 3;
    const int calls = bytes < ((size_t)1 << 26) ? 20 : 1;
    cudaEvent_t begin, end;
    CUDA(cudaEventCreate(&begin));
    CUDA(cudaEventCreate(&end));
    for (int i = 0; i < warmups; i++)
        call();
    std::vector<double> seconds;
    for (int pass = 0; pass < passes; pass++) {
        float ms = 0;
        if (calls == 1)
            keep_busy<<<1, 1, 0, stream>>>();
        CUDA(cudaEventRecord(begin, stream));
        for (int i = 0; i < calls; i++)
            call();
        CUDA(cudaEventRecord(end, stream));
        CUDA(cudaEventSynchronize(end));
        CUDA(cudaEventElapsedTime(&ms, begin, end));
        seconds.push_back(ms * 1e-3 / calls);
    }
    CUDA(cudaEventDestroy(begin));
    CUDA(cudaEventDestroy(end));
    std::sort(seconds.begin(), seconds.end());
    return seconds[passes / 2];
}

/* Read + write bandwidth of the plain device copy, GB/s. */
inline double copy_roof(cudaStream_t stream, size_t bytes) {
    device_array<char> a(bytes), b(bytes);
    fill_random(a.p, bytes, 1);
    const double seconds = device_seconds(stream, bytes, [&] {
        CUDA(cudaMemcpyAsync(b.p, a.p, bytes, cudaMemcpyDeviceToDevice, stream));
    });
    return 2.0 * (double)bytes / seconds * 1e-9;
}

/* Reads an array, four accesses of sixteen bytes in flight in each thread. */
template <class Vector>
__global__ void read_all(const Vector *x, size_t n, unsigned *sink) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    unsigned all = 0;
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + 3 * stride < n; i += 4 * stride) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const Vector v = x[i + k * stride];
            all ^= v.x ^ v.y ^ v.z ^ v.w;
        }
    }
    if (all == 0x9e3779b9u) /* keeps the loads */
        *sink = all;
}

/* Read bandwidth, GB/s. */
inline double read_roof(cudaStream_t stream, size_t bytes) {
    constexpr unsigned blocks_each = 4, threads = 512; /* all that a multiprocessor can hold */
    device_array<char> x(bytes);
    device_array<unsigned> sink(1);
    fill_random(x.p, bytes, 1);
    int multiprocessors = 0;
    CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    const double seconds = device_seconds(stream, bytes, [&] {
        read_all<<<(unsigned)multiprocessors * blocks_each, threads, 0, stream>>>(
            (const uint4 *)x.p, bytes / sizeof(uint4), sink.p);
    });
    return (double)bytes / seconds * 1e-9;
}

template <class T>
__global__ void count_differences(const T *a, const T *b, size_t n, unsigned long long *count) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        if (!(a[i] == b[i]))
            atomicAdd(count, 1ull);
}

/* Are two device arrays equal, element by element? */
template <class T>
bool is_same(const T *a, const T *b, size_t n) {
    device_array<unsigned long long> count(1);
    CUDA(cudaMemset(count.p, 0, sizeof(unsigned long long)));
    CUDA(cudaDeviceSynchronize());
    count_differences<<<filling_blocks, filling_threads>>>(a, b, n, count.p);
    unsigned long long different = 1;
    CUDA(cudaMemcpy(&different, count.p, sizeof different, cudaMemcpyDefault));
    return different == 0;
}

/* One race. `roof` is the bandwidth the memory or link allows, `peer` 0 where none ran. */
inline void report(const char *op, const char *type, size_t n, const char *variant, double bytes,
                   double seconds, const char *peer, double peer_seconds, const char *roof,
                   double roof_gbps, bool ok) {
    printf("{\"op\":\"%s\",\"type\":\"%s\",\"n\":%zu,\"variant\":\"%s\",\"bytes\":%.0f,"
           "\"seconds\":%.4g,\"gbps\":%.1f,\"peer\":\"%s\",\"peer_seconds\":%.4g,"
           "\"peer_ratio\":%.3f,\"roof\":\"%s\",\"roof_gbps\":%.1f,\"roof_share\":%.3f,"
           "\"ok\":%s}\n",
           op, type, n, variant, bytes, seconds, bytes / seconds * 1e-9, peer, peer_seconds,
           peer_seconds / seconds, roof, roof_gbps, bytes / seconds * 1e-9 / roof_gbps,
           ok ? "true" : "false");
    fflush(stdout);
}

#endif
