/* SPDX-License-Identifier: Apache-2.0 */
/* Races exact sums and scans against CUB's ordinary ones, which round at each addition, on the same
 * device arrays in the same process, over data from ordinary to the worst there are; and times the
 * other exact calls beside the read bandwidth. Every result is compared with that of the cpu, which
 * has the same bits: a wrong one ends the program with status 1.
 *
 *   exact_peer [LOG2 OF N [WHICH]]    28 if it is not given; scans or sums alone */
#include <cub/cub.cuh>
#include <string.h>
#include <type_traits>

#include "peer.cuh"

static bool all_ok = true;

/* The status that says: nothing here to race on. */
constexpr int no_race = 77;

struct track {
    weft_context *ctx, *cpu;
    cudaStream_t stream;
    size_t n;
    double read_gbps;
};

enum kind_of_data {
    ORDINARY,  /* evenly in [-1, 1) */
    SPREAD,    /* exponents evenly within 40 of 0 */
    RISING,    /* the same, sorted by magnitude */
    FALLING,   /* and the other way round */
    EVERYWHERE /* all exponents of the type */
};
static const char *const names[] = {"ordinary", "exponents within 40", "rising", "falling",
                                    "all exponents"};

template <class T>
__global__ void make(T *x, size_t n, kind_of_data kind) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    const int most = sizeof(T) == 8 ? 990 : 98, least = sizeof(T) == 8 ? -1022 : -126;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        const uint64_t bits = draw_bits(5, i);
        const double unit = (double)(bits >> 12) * 0x1p-52, sign = bits & 1 ? -1 : 1;
        const size_t place = kind == FALLING ? n - 1 - i : i;
        const double along = 81.0 * (double)place / (double)n;
        if (kind == ORDINARY)
            x[i] = (T)draw_real(5, i);
        else if (kind == SPREAD)
            x[i] = (T)(sign * scalbn(1 + unit, (int)(draw_bits(6, i) % 81) - 40));
        else if (kind == EVERYWHERE)
            x[i] = (T)(sign * scalbn(1 + unit, least + (int)(draw_bits(6, i) % (most - least))));
        else
            x[i] = (T)(sign * exp2(along - 40));
    }
}

template <class T>
weft_type type_of() {
    return std::is_same<T, float>::value ? WEFT_F32 : WEFT_F64;
}

static bool has_bits_of(const track &t, double ours, double right) {
    const bool ok = memcmp(&ours, &right, sizeof ours) == 0;
    if (!ok)
        fprintf(stderr, "exact_peer: %.17g on %s, %.17g on %s\n", ours, weft_place(t.ctx), right,
                weft_place(t.cpu));
    all_ok = all_ok && ok;
    return ok;
}

template <class T>
static double of_cpu(const track &t, const T *x, const T *y) {
    std::vector<T> a(t.n), b(y ? t.n : 0);
    double right = 0;
    CUDA(cudaMemcpy(a.data(), x, t.n * sizeof(T), cudaMemcpyDefault));
    if (y)
        CUDA(cudaMemcpy(b.data(), y, t.n * sizeof(T), cudaMemcpyDefault));
    check_weft(
        t.cpu,
        y ? weft_exact_dot(t.cpu, type_of<T>(), t.n, a.data(), b.data(), WEFT_F64, &right)
          : weft_exact_reduce(t.cpu, WEFT_SUM, type_of<T>(), t.n, a.data(), WEFT_F64, &right));
    return right;
}

template <class T>
static void race_sum(const track &t, kind_of_data kind) {
    device_array<T> x(t.n), theirs(1);
    device_array<double> ours(1);
    make<<<filling_blocks, filling_threads>>>(x.p, t.n, kind);
    CUDA(cudaDeviceSynchronize());
    size_t bytes = 0;
    CUDA(cub::DeviceReduce::Sum(nullptr, bytes, x.p, theirs.p, t.n, t.stream));
    device_array<char> scratch(bytes);
    double seconds, peer, got;
    seconds_in_turns(
        t.stream, t.n * sizeof(T),
        [&] {
            check_weft(t.ctx, weft_exact_reduce(t.ctx, WEFT_SUM, type_of<T>(), t.n, x.p, WEFT_F64,
                                                ours.p));
        },
        [&] { CUDA(cub::DeviceReduce::Sum(scratch.p, bytes, x.p, theirs.p, t.n, t.stream)); },
        &seconds, &peer);
    CUDA(cudaMemcpy(&got, ours.p, sizeof got, cudaMemcpyDefault));
    const bool ok = has_bits_of(t, got, of_cpu<T>(t, x.p, nullptr));
    char what[64];
    snprintf(what, sizeof what, "exact sum, %s", names[kind]);
    report(what, weft_type_name(type_of<T>()), t.n, weft_used(t.ctx, "exact"),
           (double)t.n * sizeof(T), seconds, "CUB, rounding", peer, "read", t.read_gbps, ok);
}

template <class T>
static void time_dot(const track &t, kind_of_data kind) {
    device_array<T> x(t.n), y(t.n);
    device_array<double> ours(1);
    make<<<filling_blocks, filling_threads>>>(x.p, t.n, kind);
    draw_reals<<<filling_blocks, filling_threads>>>(y.p, t.n, 9);
    CUDA(cudaDeviceSynchronize());
    double seconds, fast, got;
    const auto dot = [&] {
        check_weft(t.ctx, weft_exact_dot(t.ctx, type_of<T>(), t.n, x.p, y.p, WEFT_F64, ours.p));
    };
    device_array<double> theirs(1);
    seconds_in_turns(
        t.stream, t.n * sizeof(T), dot,
        [&] { check_weft(t.ctx, weft_dot_fast(t.ctx, type_of<T>(), t.n, x.p, y.p, theirs.p)); },
        &seconds, &fast);
    CUDA(cudaMemcpy(&got, ours.p, sizeof got, cudaMemcpyDefault));
    const bool ok = has_bits_of(t, got, of_cpu<T>(t, x.p, y.p));
    char what[64];
    snprintf(what, sizeof what, "exact dot, %s", names[kind]);
    report(what, weft_type_name(type_of<T>()), t.n, weft_used(t.ctx, "exact"),
           2.0 * (double)t.n * sizeof(T), seconds, "weft_dot_fast", fast, "read", t.read_gbps, ok);
}

/* NRM1 or NRM2. */
template <class T>
static void time_norm(const track &t, weft_op op) {
    device_array<T> x(t.n);
    device_array<double> ours(1), theirs(1);
    make<<<filling_blocks, filling_threads>>>(x.p, t.n, ORDINARY);
    CUDA(cudaDeviceSynchronize());
    double seconds, fast, got, right = 0;
    seconds_in_turns(
        t.stream, t.n * sizeof(T),
        [&] {
            check_weft(t.ctx,
                       weft_exact_reduce(t.ctx, op, type_of<T>(), t.n, x.p, WEFT_F64, ours.p));
        },
        [&] { check_weft(t.ctx, weft_reduce(t.ctx, op, type_of<T>(), t.n, x.p, theirs.p)); },
        &seconds, &fast);
    CUDA(cudaMemcpy(&got, ours.p, sizeof got, cudaMemcpyDefault));
    std::vector<T> a(t.n);
    CUDA(cudaMemcpy(a.data(), x.p, t.n * sizeof(T), cudaMemcpyDefault));
    check_weft(t.cpu, weft_exact_reduce(t.cpu, op, type_of<T>(), t.n, a.data(), WEFT_F64, &right));
    report(op == WEFT_NRM1 ? "exact nrm1, ordinary" : "exact nrm2, ordinary",
           weft_type_name(type_of<T>()), t.n, weft_used(t.ctx, "exact"), (double)t.n * sizeof(T),
           seconds, "weft_reduce", fast, "read", t.read_gbps, has_bits_of(t, got, right));
}

/* Has y the bits that a scan on the cpu gives? */
template <class T>
static bool is_scan(const track &t, const T *x, const T *y) {
    std::vector<T> a(t.n), got(t.n);
    CUDA(cudaMemcpy(a.data(), x, t.n * sizeof(T), cudaMemcpyDefault));
    CUDA(cudaMemcpy(got.data(), y, t.n * sizeof(T), cudaMemcpyDefault));
    check_weft(t.cpu, weft_exact_scan(t.cpu, WEFT_INCLUSIVE, type_of<T>(), t.n, a.data(), a.data(),
                                      nullptr));
    for (size_t i = 0; i < t.n; i++) {
        if (memcmp(&a[i], &got[i], sizeof(T)) != 0) {
            fprintf(stderr, "exact_peer: y[%zu] is %.17g on %s, %.17g on %s\n", i, (double)got[i],
                    weft_place(t.ctx), (double)a[i], weft_place(t.cpu));
            all_ok = false;
            return false;
        }
    }
    return true;
}

/* Each rung of exact_scan, and the library's choice. */
template <class T>
static void race_scan(const track &t, kind_of_data kind, double copy_gbps) {
    device_array<T> x(t.n), y(t.n), theirs(t.n);
    make<<<filling_blocks, filling_threads>>>(x.p, t.n, kind);
    CUDA(cudaDeviceSynchronize());
    size_t bytes = 0;
    CUDA(cub::DeviceScan::InclusiveSum(nullptr, bytes, x.p, theirs.p, t.n, t.stream));
    device_array<char> scratch(bytes);
    for (const char *variant : {"wide", "bulk", "lanes"}) {
        check_weft(t.ctx, weft_use(t.ctx, "exact_scan", variant));
        double seconds, peer;
        seconds_in_turns(
            t.stream, t.n * sizeof(T),
            [&] {
                check_weft(t.ctx, weft_exact_scan(t.ctx, WEFT_INCLUSIVE, type_of<T>(), t.n, x.p,
                                                  y.p, nullptr));
            },
            [&] {
                CUDA(cub::DeviceScan::InclusiveSum(scratch.p, bytes, x.p, theirs.p, t.n, t.stream));
            },
            &seconds, &peer);
        const bool ok = is_scan<T>(t, x.p, y.p);
        char what[64];
        snprintf(what, sizeof what, "exact scan, %s", names[kind]);
        report(what, weft_type_name(type_of<T>()), t.n, weft_used(t.ctx, "exact_scan"),
               2.0 * (double)t.n * sizeof(T), seconds, "CUB, rounding", peer, "copy", copy_gbps,
               ok);
    }
    check_weft(t.ctx, weft_use(t.ctx, "exact_scan", "auto"));
}

static void race_scans(track &t) {
    const double copy_gbps = copy_roof(t.stream, (size_t)1 << 31);
    for (const kind_of_data kind : {ORDINARY, SPREAD, EVERYWHERE}) {
        race_scan<double>(t, kind, copy_gbps);
        race_scan<float>(t, kind, copy_gbps);
    }
}

static void race_sums(track &t) {
    t.read_gbps = read_roof(t.stream, (size_t)1 << 32);
    for (const kind_of_data kind : {ORDINARY, SPREAD, RISING, FALLING, EVERYWHERE}) {
        race_sum<double>(t, kind);
        race_sum<float>(t, kind);
    }
    for (const kind_of_data kind : {ORDINARY, SPREAD, EVERYWHERE}) {
        time_dot<double>(t, kind);
        time_dot<float>(t, kind);
    }
    for (const weft_op op : {WEFT_NRM1, WEFT_NRM2}) {
        time_norm<double>(t, op);
        time_norm<float>(t, op);
    }
}

int main(int argc, char **argv) {
    track t;
    const weft_status opened = weft_open(&t.ctx, "gpu");
    if (opened != WEFT_OK) {
        fprintf(stderr, "exact_peer: no race: %s\n", weft_message(nullptr));
        return no_race;
    }
    check_weft(nullptr, weft_open(&t.cpu, "cpu"));
    CUDA(cudaStreamCreateWithFlags(&t.stream, cudaStreamNonBlocking));
    check_weft(t.ctx, weft_set_stream(t.ctx, t.stream));
    t.n = (size_t)1 << (argc > 1 ? atoi(argv[1]) : 28);
    const char *const which = argc > 2 ? argv[2] : "";
    if (strcmp(which, "sums") != 0)
        race_scans(t);
    if (strcmp(which, "scans") != 0)
        race_sums(t);
    weft_close(t.cpu);
    weft_close(t.ctx);
    CUDA(cudaStreamDestroy(t.stream));
    return all_ok ? 0 : 1;
}
