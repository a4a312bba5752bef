/* SPDX-License-Identifier: Apache-2.0 */
/* The sweep of sorts and what goes with sorted arrays: keys, pairs, positions, merge sort,
 * segments, merge, search, top_k, the median, is_sorted.
 *
 *   sweep_sort_peer [OPERATION|all [LOG2_N...]], where an operation may be "segments of 300" */
#include <cub/cub.cuh>
#include <thrust/binary_search.h>
#include <thrust/execution_policy.h>
#include <thrust/sort.h>

#include "sweep.cuh"

struct is_less {
    template <class T>
    __host__ __device__ bool operator()(const T &a, const T &b) const {
        return a < b;
    }
};

template <class T>
static void sweep_keys(sweep &s, int most) {
    each_size(s, "sort", most, [&](size_t n) {
        T *const x = s.room.take<T>(n), *const ours = s.room.take<T>(n);
        T *const theirs = s.room.take<T>(n);
        fill_values(x, n, n);
        race_cub(
            s, "sort", name_of<T>(), n, "sort",
            [&](void *scratch, size_t &bytes) {
                return cub::DeviceRadixSort::SortKeys(scratch, bytes, x, theirs, n, 0,
                                                      8 * (int)sizeof(T), s.stream);
            },
            [&] { return weft_sort(s.ctx, WEFT_ASCENDING, type_of<T>(), n, x, ours); },
            [&] { return is_same(ours, theirs, n); });
    });
}

/* Keys with values of 32 bits. */
template <class K>
static void sweep_pairs(sweep &s, int most) {
    each_size(s, "sort pairs", most, [&](size_t n) {
        K *const x = s.room.take<K>(n), *const ours = s.room.take<K>(n);
        K *const theirs = s.room.take<K>(n);
        uint32_t *const v = s.room.take<uint32_t>(n), *const values = s.room.take<uint32_t>(n);
        uint32_t *const their_values = s.room.take<uint32_t>(n);
        fill_values(x, n, n);
        fill_values(v, n, n + 1);
        race_cub(
            s, "sort pairs", name_of<K>(), n, "sort",
            [&](void *scratch, size_t &bytes) {
                return cub::DeviceRadixSort::SortPairs(scratch, bytes, x, theirs, v, their_values,
                                                       n, 0, 8 * (int)sizeof(K), s.stream);
            },
            [&] {
                return weft_sort_pairs(s.ctx, WEFT_ASCENDING, type_of<K>(), n, x, ours, 4, v,
                                       values);
            },
            [&] { return is_same(ours, theirs, n) && is_same(values, their_values, n); });
    });
}

static void sweep_merge_sort(sweep &s) {
    each_size(s, "merge sort", 28, [&](size_t n) {
        uint32_t *const x = s.room.take<uint32_t>(n), *const ours = s.room.take<uint32_t>(n);
        uint32_t *const theirs = s.room.take<uint32_t>(n);
        fill_values(x, n, n);
        check_weft(s.ctx, weft_use(s.ctx, "sort", "merge"));
        race_cub(
            s, "merge sort", "u32", n, "sort",
            [&](void *scratch, size_t &bytes) {
                return cub::DeviceMergeSort::SortKeysCopy(scratch, bytes, x, theirs, n, is_less(),
                                                          s.stream);
            },
            [&] { return weft_sort(s.ctx, WEFT_ASCENDING, WEFT_U32, n, x, ours); },
            [&] { return is_same(ours, theirs, n); });
        check_weft(s.ctx, weft_use(s.ctx, "sort", NULL));
    });
}

/* Two halves. */
static void sweep_merge(sweep &s) {
    each_size(s, "merge", 28, [&](size_t n) {
        const size_t h = n / 2;
        uint32_t *const x = s.room.take<uint32_t>(n), *const ours = s.room.take<uint32_t>(n);
        uint32_t *const theirs = s.room.take<uint32_t>(n);
        fill_values(x, n, n);
        check_weft(s.ctx, weft_sort(s.ctx, WEFT_ASCENDING, WEFT_U32, h, x, x));
        check_weft(s.ctx, weft_sort(s.ctx, WEFT_ASCENDING, WEFT_U32, h, x + h, x + h));
        race_cub(
            s, "merge", "u32", n, "merge",
            [&](void *scratch, size_t &bytes) {
                return cub::DeviceMerge::MergeKeys(scratch, bytes, x, (int64_t)h, x + h, (int64_t)h,
                                                   theirs, is_less(), s.stream);
            },
            [&] {
                return weft_merge(s.ctx, WEFT_ASCENDING, WEFT_U32, h, x, h, x + h, ours, 0, NULL,
                                  NULL, NULL);
            },
            [&] { return is_same(ours, theirs, n); });
    });
}

static void sweep_segments(sweep &s, const char *op, size_t length) {
    each_size(s, op, 24, [&](size_t n) {
        std::vector<uint64_t> offsets;
        for (size_t at = 0; at < n; at += length)
            offsets.push_back(at);
        offsets.push_back(n);
        const size_t count = offsets.size() - 1;
        uint64_t *const at = s.room.take<uint64_t>(count + 1);
        CUDA(cudaMemcpy(at, offsets.data(), (count + 1) * 8, cudaMemcpyDefault));
        uint32_t *const x = s.room.take<uint32_t>(n), *const ours = s.room.take<uint32_t>(n);
        uint32_t *const theirs = s.room.take<uint32_t>(n);
        fill_values(x, n, n);
        race_cub(
            s, op, "u32", n, "sort_segments",
            [&](void *scratch, size_t &bytes) {
                return cub::DeviceSegmentedSort::SortKeys(scratch, bytes, x, theirs, (int64_t)n,
                                                          (int64_t)count, at, at + 1, s.stream);
            },
            [&] {
                return weft_sort_segments(s.ctx, WEFT_ASCENDING, WEFT_U32, n, x, ours, 0, NULL,
                                          NULL, count, at);
            },
            [&] { return is_same(ours, theirs, n); });
    });
}

/* As many wanted as elements. */
static void sweep_search(sweep &s, const char *op, bool in_order) {
    each_size(s, op, 28, [&](size_t n) {
        uint32_t *const x = s.room.take<uint32_t>(n), *const wanted = s.room.take<uint32_t>(n);
        uint64_t *const ours = s.room.take<uint64_t>(n), *const theirs = s.room.take<uint64_t>(n);
        fill_values(x, n, n);
        fill_values(wanted, n, n + 1);
        check_weft(s.ctx, weft_sort(s.ctx, WEFT_ASCENDING, WEFT_U32, n, x, x));
        if (in_order)
            check_weft(s.ctx, weft_sort(s.ctx, WEFT_ASCENDING, WEFT_U32, n, wanted, wanted));
        race(
            s, op, "u32", n, "search", "Thrust lower_bound",
            [&] {
                return weft_search(s.ctx, WEFT_LOWER, WEFT_ASCENDING, WEFT_U32, n, x, n, wanted,
                                   ours);
            },
            [&] {
                thrust::lower_bound(thrust::cuda::par_nosync.on(s.stream), x, x + n, wanted,
                                    wanted + n, theirs);
                return cudaSuccess;
            },
            [&] { return is_same(ours, theirs, n); });
    });
}

/* CUB has no selection: it sorts all. */
static void sweep_chosen(sweep &s) {
    each_size(s, "top_k", 28, [&](size_t n) {
        const size_t k = std::min<size_t>(n, 100);
        uint32_t *const x = s.room.take<uint32_t>(n), *const ours = s.room.take<uint32_t>(k);
        uint32_t *const theirs = s.room.take<uint32_t>(n);
        uint64_t *const positions = s.room.take<uint64_t>(k);
        fill_values(x, n, n);
        race_cub(
            s, "top_k", "u32", n, "top_k",
            [&](void *scratch, size_t &bytes) {
                return cub::DeviceRadixSort::SortKeys(scratch, bytes, x, theirs, n, 0, 32,
                                                      s.stream);
            },
            [&] { return weft_top_k(s.ctx, WEFT_ASCENDING, WEFT_U32, n, x, k, ours, positions); },
            [&] { return is_same(ours, theirs, k); });
    });
    each_size(s, "nth", 28, [&](size_t n) {
        float *const x = s.room.take<float>(n), *const ours = s.room.take<float>(1);
        float *const theirs = s.room.take<float>(n);
        const uint64_t rank = n / 2;
        fill_values(x, n, n);
        race_cub(
            s, "nth", "f32", n, "quantile",
            [&](void *scratch, size_t &bytes) {
                return cub::DeviceRadixSort::SortKeys(scratch, bytes, x, theirs, n, 0, 32,
                                                      s.stream);
            },
            [&] { return weft_nth(s.ctx, WEFT_F32, n, x, 1, &rank, ours); },
            [&] { return fetched(ours) == fetched(theirs + rank); });
    });
}

/* Thrust gives its answer to the host, and so must wait; weft leaves it in device memory. */
static void sweep_is_sorted(sweep &s) {
    each_size(s, "is_sorted", 28, [&](size_t n) {
        uint32_t *const x = s.room.take<uint32_t>(n);
        uint64_t position, *const at = s.room.take<uint64_t>(1);
        bool right = true;
        fill_values(x, n, n);
        check_weft(s.ctx, weft_sort(s.ctx, WEFT_ASCENDING, WEFT_U32, n, x, x));
        race(
            s, "is_sorted", "u32", n, "is_sorted", "Thrust is_sorted, which waits",
            [&] { return weft_is_sorted(s.ctx, WEFT_ASCENDING, WEFT_U32, n, x, at); },
            [&] {
                cudaStreamCaptureStatus status;
                if (cudaStreamIsCapturing(s.stream, &status) != cudaSuccess ||
                    status != cudaStreamCaptureStatusNone)
                    return cudaErrorStreamCaptureUnsupported;
                right = right && thrust::is_sorted(thrust::cuda::par.on(s.stream), x, x + n);
                return cudaSuccess;
            },
            [&] {
                position = fetched(at);
                return right && position == WEFT_NOWHERE;
            });
    });
}

int main(int argc, char **argv) {
    return run_sweep(argc, argv, (size_t)40 << 30, [](sweep &s) {
        sweep_keys<uint32_t>(s, 30);
        sweep_keys<uint64_t>(s, 28);
        sweep_keys<float>(s, 28);
        sweep_keys<double>(s, 28);
        sweep_pairs<uint32_t>(s, 28);
        sweep_pairs<uint64_t>(s, 28);
        sweep_merge_sort(s);
        sweep_merge(s);
        size_t length;
        if (s.only && sscanf(s.only, "segments of %zu", &length) == 1)
            sweep_segments(s, s.only, length);
        else
            for (const char *op : {"segments of 10", "segments of 100", "segments of 1000"})
                sweep_segments(s, op, (size_t)atoi(op + strlen("segments of ")));
        sweep_search(s, "search", false);
        sweep_search(s, "search in order", true);
        sweep_chosen(s);
        sweep_is_sorted(s);
    });
}
