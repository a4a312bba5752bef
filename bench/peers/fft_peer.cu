/* SPDX-License-Identifier: Apache-2.0 */
/* Races fft against cuFFT, on the same device arrays in the same process, out of place, beside a
 * plain copy. Results of both are compared with each other: a wrong one ends the program with
 * status 1.
 *
 *     fft_peer               all races
 *     fft_peer NAME          those whose name begins so: c64, c128, 2d, 3d
 *     fft_peer NAME N ...    of those only these lengths (of the first dimension)
 *     fft_peer sweep [MOST [STEP]]
 *     fft_peer list N ...    these lengths as in a sweep
 *
 * A sweep is c64 of each STEP-th (1) length from 2 to MOST (4096), and of 200 / STEP lengths from
 * there to 2^18, 2^24 numbers each. It prints the 20 worst, and how many are behind; all of them,
 * as n, batch, seconds of both and their ratio, go to the standard error output. */
#include <cufft.h>
#include <math.h>
#include <string.h>

#include "peer.cuh"

static bool all_ok = true;

constexpr int no_race = 77;

struct track {
    weft_context *ctx;
    cudaStream_t stream;
    double copy_gbps;
};

struct race {
    const char *name;
    bool is_double;
    int rank;
    size_t n[3], batch;
};

static size_t line_numbers(const race &r) {
    size_t n = 1;
    for (int k = 0; k < r.rank; k++)
        n *= r.n[k];
    return n;
}

static void check_cufft(cufftResult result, const char *doing) {
    if (result == CUFFT_SUCCESS)
        return;
    fprintf(stderr, "peer: %s: cuFFT result %d\n", doing, (int)result);
    exit(1);
}
#define CHECKED(call) check_cufft(call, #call)

/* Sums of squares of a - b and of a. */
template <class T>
__global__ void differ(const T *a, const T *b, size_t n, double *sums) {
    double wrong = 0, size = 0;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x) {
        const double d = (double)a[i] - (double)b[i];
        wrong += d * d;
        size += (double)a[i] * (double)a[i];
    }
    atomicAdd(&sums[0], wrong);
    atomicAdd(&sums[1], size);
}

template <class T>
static double difference(const T *a, const T *b, size_t n) {
    device_array<double> sums(2);
    double host[2] = {0, 0};
    CUDA(cudaMemset(sums.p, 0, sizeof host));
    differ<<<filling_blocks, filling_threads>>>(a, b, n, sums.p);
    CUDA(cudaMemcpy(host, sums.p, sizeof host, cudaMemcpyDefault));
    return sqrt(host[0] / host[1]);
}

static cufftHandle plan_of(const track &t, const race &r) {
    cufftHandle plan;
    size_t room = 0;
    long long n[3] = {(long long)r.n[0], (long long)r.n[1], (long long)r.n[2]};
    const long long all = (long long)line_numbers(r);
    CHECKED(cufftCreate(&plan));
    CHECKED(cufftMakePlanMany64(plan, r.rank, n, NULL, 1, all, NULL, 1, all,
                                r.is_double ? CUFFT_Z2Z : CUFFT_C2C, (long long)r.batch, &room));
    CHECKED(cufftSetStream(plan, t.stream));
    return plan;
}

static void execute(cufftHandle plan, const float *x, float *y) {
    CHECKED(cufftExecC2C(plan, (cufftComplex *)x, (cufftComplex *)y, CUFFT_FORWARD));
}
static void execute(cufftHandle plan, const double *x, double *y) {
    CHECKED(cufftExecZ2Z(plan, (cufftDoubleComplex *)x, (cufftDoubleComplex *)y, CUFFT_FORWARD));
}

/* Is that what rounding leaves? */
static bool is_close(double wrong, const race &r) {
    const double unit = r.is_double ? 0x1p-53 : 0x1p-24;
    return wrong <= unit * 4 * sqrt(log2((double)line_numbers(r)) + 4);
}

template <class T>
static void run(const track &t, const race &r) {
    const size_t numbers = line_numbers(r) * r.batch;
    const double bytes = 4.0 * (double)numbers * sizeof(T) * r.rank;
    device_array<T> x(2 * numbers), y(2 * numbers), z(2 * numbers);
    fill_reals(x.p, 2 * numbers, 5);
    weft_fft_description d = {};
    d.type = r.is_double ? WEFT_F64 : WEFT_F32;
    d.rank = (unsigned)r.rank;
    for (int k = 0; k < r.rank; k++)
        d.n[k] = r.n[k];
    d.batch = r.batch;
    const cufftHandle plan = plan_of(t, r);
    const double peer =
        device_seconds(t.stream, numbers * 4 * sizeof(T), [&] { execute(plan, x.p, z.p); });
    check_weft(t.ctx, weft_fft_prepare(t.ctx, &d));
    const double seconds = device_seconds(t.stream, numbers * 4 * sizeof(T), [&] {
        check_weft(t.ctx, weft_fft(t.ctx, &d, x.p, y.p));
    });
    CUDA(cudaStreamSynchronize(t.stream));
    CHECKED(cufftDestroy(plan));
    const double wrong = difference(z.p, y.p, 2 * numbers);
    const bool ok = is_close(wrong, r);
    all_ok = all_ok && ok;
    printf("{\"op\":\"fft, %s\",\"n\":[%zu,%zu,%zu],\"rank\":%d,\"batch\":%zu,\"variant\":\"%s\","
           "\"seconds\":%.4g,\"gbps\":%.0f,\"copy_share\":%.3f,\"peer\":\"cuFFT\","
           "\"peer_seconds\":%.4g,\"peer_ratio\":%.3f,\"difference\":%.2g,\"ok\":%s}\n",
           r.name, r.n[0], r.n[1], r.n[2], r.rank, r.batch, weft_used(t.ctx, "fft"), seconds,
           bytes / seconds * 1e-9, bytes / seconds * 1e-9 / t.copy_gbps, peer, peer / seconds,
           wrong, ok ? "true" : "false");
    fflush(stdout);
}

/* Lengths that are wanted; none: all. */
static size_t chosen[128], chosen_count = 0;

static bool is_wanted(size_t n) {
    bool is = chosen_count == 0;
    for (size_t k = 0; k < chosen_count; k++)
        is = is || chosen[k] == n;
    return is;
}

static void start(const track &t, const race &r) {
    if (!is_wanted(r.n[0]))
        return;
    if (r.is_double)
        run<double>(t, r);
    else
        run<float>(t, r);
}

/* Lengths with as many transforms as make about `numbers` numbers; of c128 half as many. */
static void lengths(const track &t, bool is_double) {
    static const size_t n[] = {1 << 21, 1 << 22, 1 << 23, 1 << 8,  1 << 9,  1 << 10, 1 << 11,
                               1 << 12, 1 << 13, 1 << 14, 1000,    19683,   16807,   1 << 15,
                               1 << 16, 1 << 17, 1 << 18, 1 << 20, 1 << 24, 1 << 27, 1021};
    const size_t numbers = (size_t)1 << (is_double ? 26 : 27);
    for (const size_t each : n) {
        const size_t batch = numbers / each ? numbers / each : 1;
        start(t, {is_double ? "c128" : "c64", is_double, 1, {each, 1, 1}, batch});
    }
    start(t, {is_double ? "c128 single" : "c64 single", is_double, 1, {1 << 20, 1, 1}, 1});
    start(t, {is_double ? "c128 single" : "c64 single", is_double, 1, {1 << 24, 1, 1}, 1});
}

/* ---- many lengths ---- */

struct timing {
    size_t n, batch;
    double seconds, peer;
    double ratio() const {
        return peer / seconds;
    }
};

struct sweep_arrays {
    device_array<float> x, y, z;
    explicit sweep_arrays(size_t numbers) : x(2 * numbers), y(2 * numbers), z(2 * numbers) {
        fill_reals(x.p, 2 * numbers, 5);
    }
};

static timing time_length(const track &t, const sweep_arrays &a, size_t n, size_t batch) {
    const race r = {"sweep", false, 1, {n, 1, 1}, batch};
    const size_t bytes = 4 * n * batch * sizeof(float);
    weft_fft_description d = {};
    d.type = WEFT_F32;
    d.rank = 1;
    d.n[0] = n;
    d.batch = batch;
    timing v = {n, batch, 0, 0};
    const cufftHandle plan = plan_of(t, r);
    v.peer = device_seconds<5>(t.stream, bytes, [&] { execute(plan, a.x.p, a.z.p); });
    check_weft(t.ctx, weft_fft_prepare(t.ctx, &d));
    v.seconds = device_seconds<5>(t.stream, bytes,
                                  [&] { check_weft(t.ctx, weft_fft(t.ctx, &d, a.x.p, a.y.p)); });
    CUDA(cudaStreamSynchronize(t.stream));
    CHECKED(cufftDestroy(plan));
    const double wrong = difference(a.z.p, a.y.p, 2 * n * batch);
    if (!is_close(wrong, r)) {
        fprintf(stderr, "fft_peer: %zu numbers differ by %.2g\n", n, wrong);
        all_ok = false;
    }
    fprintf(stderr, "%zu %zu %.4g %.4g %.3f\n", n, batch, v.seconds, v.peer, v.ratio());
    return v;
}

static void print_timing(const timing &v) {
    printf("{\"op\":\"fft, sweep\",\"n\":[%zu,1,1],\"rank\":1,\"batch\":%zu,\"seconds\":%.4g,"
           "\"peer\":\"cuFFT\",\"peer_seconds\":%.4g,\"peer_ratio\":%.3f}\n",
           v.n, v.batch, v.seconds, v.peer, v.ratio());
}

static void print_sweep(const char *which, std::vector<timing> all) {
    constexpr size_t worst = 20;
    size_t behind = 0;
    if (all.empty())
        return;
    std::sort(all.begin(), all.end(),
              [](const timing &a, const timing &b) { return a.ratio() < b.ratio(); });
    for (const timing &v : all)
        behind += v.ratio() < 0.7;
    for (size_t k = 0; k < worst && k < all.size(); k++)
        print_timing(all[k]);
    printf("{\"op\":\"fft, sweep of %s\",\"lengths\":%zu,\"behind\":%zu,\"least\":%.3f,"
           "\"median\":%.3f,\"most\":%.3f,\"ok\":%s}\n",
           which, all.size(), behind, all[0].ratio(), all[all.size() / 2].ratio(),
           all.back().ratio(), all_ok ? "true" : "false");
    fflush(stdout);
}

static void sweep(const track &t, size_t most, size_t step) {
    constexpr size_t numbers = (size_t)1 << 24;
    const size_t larger = 200 / step;
    const double octaves = 18 - log2((double)most);
    const sweep_arrays a(numbers);
    std::vector<timing> small, large;
    for (size_t k = 0; k < larger && octaves > 0; k++) {
        const double share = (draw_real(7, k) + 1) / 2;
        const size_t n = (size_t)((double)most * exp2(octaves * share)) + 1;
        large.push_back(time_length(t, a, n, numbers / n));
    }
    print_sweep("larger lengths", large);
    for (size_t n = 2; n <= most; n += step)
        small.push_back(time_length(t, a, n, numbers / n));
    print_sweep("all lengths", small);
}

int main(int argc, char **argv) {
    const char *const only = argc > 1 ? argv[1] : "";
    const size_t most = argc > 2 ? (size_t)strtoull(argv[2], nullptr, 10) : 4096;
    for (int k = 2; k < argc && chosen_count < sizeof chosen / sizeof *chosen; k++)
        chosen[chosen_count++] = (size_t)strtoull(argv[k], nullptr, 10);
    track t = {};
    if (weft_open(&t.ctx, "gpu") != WEFT_OK) {
        fprintf(stderr, "fft_peer: no race: %s\n", weft_message(nullptr));
        return no_race;
    }
    CUDA(cudaStreamCreateWithFlags(&t.stream, cudaStreamNonBlocking));
    check_weft(t.ctx, weft_set_stream(t.ctx, t.stream));
    t.copy_gbps = copy_roof(t.stream, (size_t)1 << 30);
    if (strcmp(only, "list") == 0) {
        const sweep_arrays a((size_t)1 << 24);
        for (size_t k = 0; k < chosen_count; k++)
            time_length(t, a, chosen[k], ((size_t)1 << 24) / chosen[k]);
    } else if (strcmp(only, "sweep") == 0) {
        sweep(t, most, argc > 3 ? chosen[1] : 1);
    } else {
        if (strncmp("c64", only, strlen(only)) == 0)
            lengths(t, false);
        if (strncmp("c128", only, strlen(only)) == 0)
            lengths(t, true);
        if (strncmp("2d", only, strlen(only)) == 0) {
            start(t, {"2d c64", false, 2, {8192, 8192, 1}, 1});
            start(t, {"2d c128", true, 2, {8192, 8192, 1}, 1});
        }
        if (strncmp("3d", only, strlen(only)) == 0)
            start(t, {"3d c64", false, 3, {512, 512, 512}, 1});
    }
    weft_close(t.ctx);
    CUDA(cudaStreamDestroy(t.stream));
    return all_ok ? 0 : 1;
}
