/* SPDX-License-Identifier: Apache-2.0 */
/* The sweep of reductions, scans and maps: reduce, argmax, summary, scan, add, fill, formulas,
 * differences, conversion, transpose.
 *
 *   sweep_reduce_peer [OPERATION|all [LOG2_N...]] */
#include <cub/cub.cuh>
#include <thrust/adjacent_difference.h>
#include <thrust/execution_policy.h>
#include <thrust/fill.h>
#include <thrust/sequence.h>
#include <thrust/transform.h>

#include "sweep.cuh"

/* Small whole numbers: every sum is exact, whatever the order. */
template <class T>
static void sweep_reduce(sweep &s, int most) {
    each_size(s, "reduce", most, [&](size_t n) {
        T *const x = s.room.take<T>(n), *const theirs = s.room.take<T>(1);
        T *const ours = s.room.take<T>(2);
        fill_random(x, n, n);
        race_cub(
            s, "reduce", name_of<T>(), n, "reduce",
            [&](void *scratch, size_t &bytes) {
                return cub::DeviceReduce::Sum(scratch, bytes, x, theirs, n, s.stream);
            },
            [&] { return weft_reduce(s.ctx, WEFT_SUM, type_of<T>(), n, x, ours); },
            [&] { return fetched(ours) == fetched(theirs); });
    });
}

static void sweep_argmax(sweep &s) {
    each_size(s, "argmax", 28, [&](size_t n) {
        float *const x = s.room.take<float>(n), *const top = s.room.take<float>(1);
        int64_t *const theirs = s.room.take<int64_t>(1);
        uint64_t *const ours = s.room.take<uint64_t>(1);
        fill_values(x, n, n);
        race_cub(
            s, "argmax", "f32", n, "reduce",
            [&](void *scratch, size_t &bytes) {
                return cub::DeviceReduce::ArgMax(scratch, bytes, x, top, theirs, (int64_t)n,
                                                 s.stream);
            },
            [&] { return weft_reduce(s.ctx, WEFT_ARGMAX, WEFT_F32, n, x, ours); },
            [&] { return fetched(ours) == (uint64_t)fetched(theirs); });
    });
}

template <class T>
static void sweep_scan(sweep &s, const char *op, weft_scan_kind kind, int most) {
    each_size(s, op, most, [&](size_t n) {
        T *const x = s.room.take<T>(n), *const ours = s.room.take<T>(n);
        T *const theirs = s.room.take<T>(n);
        fill_random(x, n, n);
        race_cub(
            s, op, name_of<T>(), n, "scan",
            [&](void *scratch, size_t &bytes) {
                return kind == WEFT_INCLUSIVE
                           ? cub::DeviceScan::InclusiveSum(scratch, bytes, x, theirs, n, s.stream)
                           : cub::DeviceScan::ExclusiveSum(scratch, bytes, x, theirs, n, s.stream);
            },
            [&] { return weft_scan(s.ctx, kind, WEFT_SUM, type_of<T>(), n, x, ours, nullptr); },
            [&] { return is_same(ours, theirs, n); });
    });
}

struct policy_of {
    cudaStream_t stream;
    auto operator()() const {
        return thrust::cuda::par_nosync.on(stream);
    }
};

template <class T>
static void sweep_add(sweep &s, int most) {
    each_size(s, "add", most, [&](size_t n) {
        T *const x = s.room.take<T>(n), *const y = s.room.take<T>(n);
        T *const ours = s.room.take<T>(n), *const theirs = s.room.take<T>(n);
        fill_random(x, n, 1);
        fill_random(y, n, 2);
        race(
            s, "add", name_of<T>(), n, "map", "Thrust transform",
            [&] { return weft_add(s.ctx, type_of<T>(), n, x, y, ours); },
            [&] {
                thrust::transform(policy_of{s.stream}(), x, x + n, y, theirs, thrust::plus<T>());
                return cudaSuccess;
            },
            [&] { return is_same(ours, theirs, n); });
    });
}

static void sweep_fill(sweep &s) {
    const float value = 3, start = 0, step = 1;
    each_size(s, "fill", 30, [&](size_t n) {
        float *const ours = s.room.take<float>(n), *const theirs = s.room.take<float>(n);
        race(
            s, "fill", "f32", n, "map", "Thrust fill",
            [&] { return weft_fill(s.ctx, WEFT_F32, n, &value, ours); },
            [&] {
                thrust::fill(policy_of{s.stream}(), theirs, theirs + n, value);
                return cudaSuccess;
            },
            [&] { return is_same(ours, theirs, n); });
    });
    each_size(s, "iota", 24, [&](size_t n) {
        float *const ours = s.room.take<float>(n), *const theirs = s.room.take<float>(n);
        race(
            s, "iota", "f32", n, "map", "Thrust sequence",
            [&] { return weft_iota(s.ctx, WEFT_F32, n, &start, &step, ours); },
            [&] {
                thrust::sequence(policy_of{s.stream}(), theirs, theirs + n, start, step);
                return cudaSuccess;
            },
            [&] { return is_same(ours, theirs, n); });
    });
}

struct linear {
    __device__ float operator()(float x) const {
        return x * 2 + 1;
    }
};
struct to_f64 {
    __device__ double operator()(float x) const {
        return x;
    }
};

static void sweep_formulas(sweep &s) {
    weft_expr_step steps[5] = {};
    const weft_expr_op ops[] = {WEFT_X_INPUT, WEFT_X_CONSTANT, WEFT_X_MUL, WEFT_X_CONSTANT,
                                WEFT_X_ADD};
    for (int k = 0; k < 5; k++)
        steps[k].op = ops[k];
    steps[1].argument = steps[3].argument = WEFT_F32;
    steps[1].value.f = 2;
    steps[3].value.f = 1;
    each_size(s, "formula", 30, [&](size_t n) {
        float *const x = s.room.take<float>(n);
        float *const ours = s.room.take<float>(n), *const theirs = s.room.take<float>(n);
        const weft_expr_input input = {WEFT_F32, x};
        fill_random(x, n, 1);
        race(
            s, "formula", "f32", n, "expr", "Thrust transform",
            [&] { return weft_expr(s.ctx, steps, 5, n, &input, 1, WEFT_F32, ours); },
            [&] {
                thrust::transform(policy_of{s.stream}(), x, x + n, theirs, linear());
                return cudaSuccess;
            },
            [&] { return is_same(ours, theirs, n); });
    });
    each_size(s, "convert", 28, [&](size_t n) {
        float *const x = s.room.take<float>(n);
        double *const ours = s.room.take<double>(n), *const theirs = s.room.take<double>(n);
        fill_random(x, n, 1);
        race(
            s, "convert", "f32 to f64", n, "expr", "Thrust transform",
            [&] { return weft_convert(s.ctx, WEFT_X_SATURATE, WEFT_F32, WEFT_F64, n, x, ours); },
            [&] {
                thrust::transform(policy_of{s.stream}(), x, x + n, theirs, to_f64());
                return cudaSuccess;
            },
            [&] { return is_same(ours, theirs, n); });
    });
    each_size(s, "difference", 28, [&](size_t n) {
        float *const x = s.room.take<float>(n);
        float *const ours = s.room.take<float>(n), *const theirs = s.room.take<float>(n);
        fill_random(x, n, 1);
        race_cub(
            s, "difference", "f32", n, "expr",
            [&](void *scratch, size_t &bytes) {
                return cub::DeviceAdjacentDifference::SubtractLeftCopy(
                    scratch, bytes, x, theirs, n, cuda::std::minus<>{}, s.stream);
            },
            [&] { return weft_adjacent_difference(s.ctx, WEFT_F32, n, x, ours); },
            [&] { return is_same(ours, theirs, n); });
    });
}

/* No peer transposes but cuBLAS: a plain copy of the same bytes stands for it. */
static void sweep_transpose(sweep &s) {
    each_size(s, "transpose", 28, [&](size_t n) {
        const size_t rows = n >= 4096 ? 64 : 4, cols = n / rows;
        float *const x = s.room.take<float>(n);
        float *const ours = s.room.take<float>(n), *const theirs = s.room.take<float>(n);
        fill_random(x, n, 1);
        race(
            s, "transpose", "f32", n, "transpose", "device copy",
            [&] { return weft_transpose(s.ctx, 0, 4, cols, rows, x, cols, ours, rows); },
            [&] { return cudaMemcpyAsync(theirs, x, n * 4, cudaMemcpyDeviceToDevice, s.stream); },
            [&] { return fetched(ours + n - 1) == fetched(x + n - 1); });
    });
}

int main(int argc, char **argv) {
    return run_sweep(argc, argv, (size_t)34 << 30, [](sweep &s) {
        sweep_reduce<float>(s, 30);
        sweep_reduce<double>(s, 30);
        sweep_reduce<uint32_t>(s, 30);
        sweep_reduce<uint64_t>(s, 28);
        sweep_argmax(s);
        sweep_scan<float>(s, "scan", WEFT_INCLUSIVE, 30);
        sweep_scan<double>(s, "scan", WEFT_INCLUSIVE, 28);
        sweep_scan<uint32_t>(s, "scan", WEFT_INCLUSIVE, 30);
        sweep_scan<uint64_t>(s, "scan", WEFT_INCLUSIVE, 28);
        sweep_scan<uint32_t>(s, "exclusive scan", WEFT_EXCLUSIVE, 28);
        sweep_add<float>(s, 30);
        sweep_add<double>(s, 28);
        sweep_add<uint8_t>(s, 28);
        sweep_fill(s);
        sweep_formulas(s);
        sweep_transpose(s);
    });
}
