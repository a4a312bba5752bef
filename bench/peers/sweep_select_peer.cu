/* SPDX-License-Identifier: Apache-2.0 */
/* The sweep of select, partition, unique, run lengths and histograms.
 *
 *   sweep_select_peer [OPERATION|all [LOG2_N...]] */
#include <cub/cub.cuh>

#include "sweep.cuh"

struct positive {
    template <class T>
    __host__ __device__ bool operator()(const T &x) const {
        return x > T(0);
    }
};

struct in_upper_half {
    __host__ __device__ bool operator()(uint32_t x) const {
        return x > UINT32_MAX / 2;
    }
};

template <class T>
static weft_predicate predicate_of() {
    weft_predicate p = {WEFT_GT, type_of<T>(), {}, {}};
    if (type_of<T>() == WEFT_U32)
        p.a.u32 = UINT32_MAX / 2;
    return p;
}

template <class T>
using test_of = std::conditional_t<std::is_same<T, uint32_t>::value, in_upper_half, positive>;

/* The arrays of one race: input, both outputs, both counts. */
template <class T>
struct field {
    T *x, *ours, *theirs;
    uint64_t *our_count, *their_count;
    field(sweep &s, size_t n)
        : x(s.room.take<T>(n)), ours(s.room.take<T>(n)), theirs(s.room.take<T>(n)),
          our_count(s.room.take<uint64_t>(1)), their_count(s.room.take<uint64_t>(1)) {
        fill_values(x, n, n);
    }
    bool agrees() const {
        const uint64_t count = fetched(our_count);
        return count == fetched(their_count) && is_same(ours, theirs, count);
    }
};

template <class T>
static void sweep_select(sweep &s, int most) {
    each_size(s, "select", most, [&](size_t n) {
        const field<T> f(s, n);
        race_cub(
            s, "select", name_of<T>(), n, "select",
            [&](void *scratch, size_t &bytes) {
                return cub::DeviceSelect::If(scratch, bytes, f.x, f.theirs, f.their_count, n,
                                             test_of<T>(), s.stream);
            },
            [&] { return weft_select(s.ctx, predicate_of<T>(), n, f.x, f.ours, f.our_count); },
            [&] { return f.agrees(); });
    });
}

static void sweep_flagged(sweep &s) {
    each_size(s, "select by flags", 28, [&](size_t n) {
        const field<float> f(s, n);
        unsigned char *const flags = s.room.take<unsigned char>(n);
        draw_values<<<filling_blocks, filling_threads>>>(flags, n, 5);
        CUDA(cudaDeviceSynchronize());
        race_cub(
            s, "select by flags", "f32", n, "select",
            [&](void *scratch, size_t &bytes) {
                return cub::DeviceSelect::Flagged(scratch, bytes, f.x, flags, f.theirs,
                                                  f.their_count, n, s.stream);
            },
            [&] {
                return weft_select_where(s.ctx, WEFT_FLAGGED, n, flags, 4, f.x, f.ours,
                                         f.our_count);
            },
            [&] { return f.agrees(); });
    });
}

/* CUB leaves the rest in reverse, weft in order. */
template <class T>
static void sweep_partition(sweep &s, const char *op, bool apart, int most) {
    each_size(s, op, most, [&](size_t n) {
        const field<T> f(s, n);
        T *const rest = apart ? s.room.take<T>(n) : nullptr;
        race_cub(
            s, op, name_of<T>(), n, "select",
            [&](void *scratch, size_t &bytes) {
                return cub::DevicePartition::If(scratch, bytes, f.x, f.theirs, f.their_count, n,
                                                test_of<T>(), s.stream);
            },
            [&] {
                return weft_partition(s.ctx, predicate_of<T>(), n, f.x, f.ours, rest, f.our_count);
            },
            [&] { return f.agrees(); });
    });
}

/* Runs of ten. */
template <class T>
__global__ void draw_runs(T *x, size_t n) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        x[i] = (T)(i / 10 % 1000003);
}

template <class T>
static void sweep_unique(sweep &s, int most) {
    each_size(s, "unique", most, [&](size_t n) {
        const field<T> f(s, n);
        draw_runs<<<filling_blocks, filling_threads>>>(f.x, n);
        CUDA(cudaDeviceSynchronize());
        race_cub(
            s, "unique", name_of<T>(), n, "select",
            [&](void *scratch, size_t &bytes) {
                return cub::DeviceSelect::Unique(scratch, bytes, f.x, f.theirs, f.their_count, n,
                                                 s.stream);
            },
            [&] { return weft_unique(s.ctx, type_of<T>(), n, f.x, f.ours, f.our_count); },
            [&] { return f.agrees(); });
    });
    each_size(s, "run lengths", 28, [&](size_t n) {
        const field<T> f(s, n);
        uint64_t *const ours = s.room.take<uint64_t>(n), *const theirs = s.room.take<uint64_t>(n);
        draw_runs<<<filling_blocks, filling_threads>>>(f.x, n);
        CUDA(cudaDeviceSynchronize());
        race_cub(
            s, "run lengths", name_of<T>(), n, "select",
            [&](void *scratch, size_t &bytes) {
                return cub::DeviceRunLengthEncode::Encode(scratch, bytes, f.x, f.theirs, theirs,
                                                          f.their_count, n, s.stream);
            },
            [&] {
                return weft_run_length(s.ctx, type_of<T>(), n, f.x, f.ours, WEFT_U64, ours,
                                       f.our_count);
            },
            [&] { return f.agrees() && is_same(ours, theirs, fetched(f.our_count)); });
    });
}

/* Bytes; or floats from -1 to below 1, whose distance from -1 no float rounds: CUB finds bins with
 * floats, weft exactly. */
template <class T>
__global__ void draw_binned(T *x, size_t n) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        x[i] = sizeof(T) == 1 ? (T)(draw_bits(6, i) >> 56)
                              : (T)((double)(draw_bits(6, i) >> 40) * 0x1p-23 - 1);
}

template <class T, class Level>
static void sweep_histogram(sweep &s, Level low, Level high, int bins, int most) {
    each_size(s, "histogram", most, [&](size_t n) {
        T *const x = s.room.take<T>(n);
        uint32_t *const ours = s.room.take<uint32_t>((size_t)bins);
        uint32_t *const theirs = s.room.take<uint32_t>((size_t)bins);
        const weft_bins even = {(size_t)bins, (double)low, (double)high, nullptr};
        draw_binned<<<filling_blocks, filling_threads>>>(x, n);
        CUDA(cudaDeviceSynchronize());
        race_cub(
            s, "histogram", name_of<T>(), n, "histogram",
            [&](void *scratch, size_t &bytes) {
                return cub::DeviceHistogram::HistogramEven(
                    scratch, bytes, x, (int *)theirs, bins + 1, low, high, (int64_t)n, s.stream);
            },
            [&] {
                return weft_histogram(s.ctx, type_of<T>(), n, 1, x, &even, WEFT_OVERWRITE, WEFT_U32,
                                      ours, nullptr);
            },
            [&] { return is_same(ours, theirs, (size_t)bins); });
    });
}

int main(int argc, char **argv) {
    return run_sweep(argc, argv, (size_t)34 << 30, [](sweep &s) {
        sweep_select<float>(s, 30);
        sweep_select<double>(s, 28);
        sweep_select<uint32_t>(s, 28);
        sweep_flagged(s);
        sweep_partition<float>(s, "partition, the rest apart", true, 28);
        sweep_partition<float>(s, "partition, the rest behind", false, 28);
        sweep_partition<double>(s, "partition, the rest behind", false, 28);
        sweep_unique<float>(s, 30);
        sweep_unique<uint32_t>(s, 28);
        sweep_histogram<uint8_t>(s, 0, 256, 256, 30);
        sweep_histogram<float>(s, -1.0f, 1.0f, 256, 30);
        sweep_histogram<float>(s, -1.0f, 1.0f, 4096, 28);
    });
}
