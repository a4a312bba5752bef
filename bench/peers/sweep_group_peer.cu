/* SPDX-License-Identifier: Apache-2.0 */
/* The sweep of reductions and scans by segment and by key, and of gather and scatter.
 *
 *   sweep_group_peer [OPERATION|all [LOG2_N...]] */
#include <cub/cub.cuh>
#include <thrust/execution_policy.h>
#include <thrust/gather.h>
#include <thrust/scatter.h>

#include "sweep.cuh"

#include <string>

static void sweep_segments(sweep &s, const char *op, size_t length) {
    each_size(s, op, 28, [&](size_t n) {
        const size_t segments = (n + length - 1) / length;
        std::vector<uint32_t> offsets;
        for (size_t k = 0; k <= segments; k++)
            offsets.push_back((uint32_t)std::min(n, k * length));
        uint32_t *const at = s.room.take<uint32_t>(segments + 1);
        CUDA(cudaMemcpy(at, offsets.data(), (segments + 1) * 4, cudaMemcpyDefault));
        float *const x = s.room.take<float>(n), *const ours = s.room.take<float>(segments);
        float *const theirs = s.room.take<float>(segments);
        fill_random(x, n, 3);
        race_cub(
            s, op, "f32", n, "group",
            [&](void *scratch, size_t &bytes) {
                return cub::DeviceSegmentedReduce::Sum(scratch, bytes, x, theirs, (int64_t)segments,
                                                       at, at + 1, s.stream);
            },
            [&] {
                return weft_reduce_segments(s.ctx, WEFT_SUM, WEFT_F32, n, x, segments, WEFT_U32, at,
                                            ours);
            },
            [&] { return is_same(ours, theirs, segments); });
    });
}

/* Segments of 100,000 with 40,000 empty ones before each. */
static void sweep_gaps(sweep &s) {
    constexpr size_t length = 100000, gap = 40000;
    each_size(s, "segments between empty ones", 28, [&](size_t n) {
        std::vector<uint32_t> offsets;
        for (size_t at = 0; at < n; at += length)
            offsets.insert(offsets.end(), gap + 1, (uint32_t)at);
        offsets.push_back((uint32_t)n);
        const size_t segments = offsets.size() - 1;
        uint32_t *const at = s.room.take<uint32_t>(segments + 1);
        CUDA(cudaMemcpy(at, offsets.data(), (segments + 1) * 4, cudaMemcpyDefault));
        float *const x = s.room.take<float>(n), *const ours = s.room.take<float>(segments);
        float *const theirs = s.room.take<float>(segments);
        fill_random(x, n, 3);
        for (const char *rung : {"lanes", "auto"}) {
            check_weft(s.ctx, weft_use(s.ctx, "group", rung));
            race_cub(
                s, "segments between empty ones", "f32", n, "group",
                [&](void *scratch, size_t &bytes) {
                    return cub::DeviceSegmentedReduce::Sum(scratch, bytes, x, theirs,
                                                           (int64_t)segments, at, at + 1, s.stream);
                },
                [&] {
                    return weft_reduce_segments(s.ctx, WEFT_SUM, WEFT_F32, n, x, segments, WEFT_U32,
                                                at, ours);
                },
                [&] { return is_same(ours, theirs, segments); });
        }
    });
}

__global__ void draw_run_keys(uint32_t *keys, size_t n, size_t length) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        keys[i] = (uint32_t)(i / length) * 2654435761u;
}

static void sweep_keys(sweep &s, size_t length) {
    const std::string sums = "sums by key, runs of " + std::to_string(length);
    each_size(s, sums.c_str(), 28, [&](size_t n) {
        uint32_t *const keys = s.room.take<uint32_t>(n), *const ours = s.room.take<uint32_t>(n);
        uint32_t *const theirs = s.room.take<uint32_t>(n);
        float *const x = s.room.take<float>(n), *const y = s.room.take<float>(n);
        float *const their_y = s.room.take<float>(n);
        uint64_t *const our_count = s.room.take<uint64_t>(1);
        uint64_t *const their_count = s.room.take<uint64_t>(1);
        const weft_column column = {WEFT_SUM, WEFT_F32, x, y};
        draw_run_keys<<<filling_blocks, filling_threads>>>(keys, n, length);
        fill_random(x, n, 4);
        race_cub(
            s, sums.c_str(), "u32, f32", n, "group_keys",
            [&](void *scratch, size_t &bytes) {
                return cub::DeviceReduce::ReduceByKey(scratch, bytes, keys, theirs, x, their_y,
                                                      their_count, cuda::std::plus<>{}, (int64_t)n,
                                                      s.stream);
            },
            [&] { return weft_reduce_by_key(s.ctx, n, 4, keys, ours, 1, &column, our_count); },
            [&] {
                const uint64_t count = fetched(our_count);
                return count == fetched(their_count) && is_same(ours, theirs, count) &&
                       is_same(y, their_y, count);
            });
    });
    const std::string scans = "scan by key, runs of " + std::to_string(length);
    each_size(s, scans.c_str(), 28, [&](size_t n) {
        uint32_t *const keys = s.room.take<uint32_t>(n);
        float *const x = s.room.take<float>(n), *const ours = s.room.take<float>(n);
        float *const theirs = s.room.take<float>(n);
        draw_run_keys<<<filling_blocks, filling_threads>>>(keys, n, length);
        fill_random(x, n, 4);
        race_cub(
            s, scans.c_str(), "u32, f32", n, "group_scan",
            [&](void *scratch, size_t &bytes) {
                return cub::DeviceScan::InclusiveSumByKey(
                    scratch, bytes, keys, x, theirs, (int64_t)n, cuda::std::equal_to<>{}, s.stream);
            },
            [&] {
                return weft_scan_by_key(s.ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_F32, n, 4, keys, x,
                                        ours);
            },
            [&] { return is_same(ours, theirs, n); });
    });
}

/* A permutation of 2^bits numbers. */
__global__ void draw_permutation(uint32_t *index, size_t n) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        uint32_t k = (uint32_t)i;
        for (int round = 0; round < 3; round++) {
            k = (k * 2654435769u + 12345u) & (uint32_t)(n - 1);
            k ^= k >> 11;
        }
        index[i] = k;
    }
}

/* Elements, and where each of them comes from or goes to. */
template <class T>
struct moved {
    uint32_t *index;
    T *x, *ours, *theirs;
    uint64_t *bad;
    moved(sweep &s, size_t n)
        : index(s.room.take<uint32_t>(n)), x(s.room.take<T>(n)), ours(s.room.take<T>(n)),
          theirs(s.room.take<T>(n)), bad(s.room.take<uint64_t>(1)) {
        draw_permutation<<<filling_blocks, filling_threads>>>(index, n);
        fill_values(x, n, n);
    }
};

template <class T>
static void sweep_moves(sweep &s) {
    each_size(s, "gather", 28, [&](size_t n) {
        const moved<T> m(s, n);
        race(
            s, "gather", name_of<T>(), n, "gather", "Thrust gather",
            [&] {
                return weft_gather(s.ctx, n, sizeof(T), WEFT_U32, m.index, n, m.x, m.ours, m.bad);
            },
            [&] {
                thrust::gather(thrust::cuda::par_nosync.on(s.stream), m.index, m.index + n, m.x,
                               m.theirs);
                return cudaSuccess;
            },
            [&] { return is_same(m.ours, m.theirs, n); });
    });
    each_size(s, "scatter", 28, [&](size_t n) {
        const moved<T> m(s, n);
        race(
            s, "scatter", name_of<T>(), n, "scatter", "Thrust scatter",
            [&] {
                return weft_scatter(s.ctx, n, sizeof(T), m.x, WEFT_U32, m.index, WEFT_REPEATS_ANY,
                                    n, m.ours, m.bad);
            },
            [&] {
                thrust::scatter(thrust::cuda::par_nosync.on(s.stream), m.x, m.x + n, m.index,
                                m.theirs);
                return cudaSuccess;
            },
            [&] { return is_same(m.ours, m.theirs, n); });
    });
}

int main(int argc, char **argv) {
    return run_sweep(argc, argv, (size_t)16 << 30, [](sweep &s) {
        sweep_segments(s, "segments of 10", 10);
        sweep_segments(s, "segments of 1000", 1000);
        if (s.only)
            sweep_gaps(s);
        sweep_keys(s, 10);
        sweep_keys(s, 1000);
        sweep_moves<uint32_t>(s);
        sweep_moves<uint64_t>(s);
    });
}
