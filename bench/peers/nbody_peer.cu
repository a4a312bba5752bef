/* SPDX-License-Identifier: Apache-2.0 */
/* Races nbody's sums over all pairs against a plain tiled kernel, on the same bodies in the same
 * process, beside the issue limit: the pairs for which a multiprocessor can issue instructions, 13
 * for a pair of f32 and 16 for one of f64. Times the tree with its build, and tells the error that
 * it measured. A result off by more than the header states ends the program with status 1.
 *
 *     nbody_peer              all races
 *     nbody_peer NAME [N]     those whose name begins so: pairs f32, pairs f64, tree; with N bodies
 */
#include <math.h>
#include <string.h>

#include "peer.cuh"

/* The status that says: nothing here to race on. */
constexpr int no_race = 77;
constexpr double softening = 1.0 / 1024;

static bool all_ok = true;

struct track {
    weft_context *ctx;
    cudaStream_t stream;
    double f32_limit, f64_limit; /* pairs a second */
    const char *only;
    size_t n; /* 0: as each race has it */
};

/* ---- the peer: what a book shows ---- */

template <class T>
struct alignas(4 * sizeof(T)) body {
    T x, y, z, m;
};

constexpr int plain_threads = 256, plain_each = 4;

__device__ inline float plain_root(float x) {
    return rsqrtf(x);
}
__device__ inline double plain_root(double x) {
    return rsqrt(x);
}

/* Four bodies a thread, tiles of 256 in shared memory, sums in T. n is a multiple of 1024. */
template <class T>
__global__ void __launch_bounds__(plain_threads)
    plain(const body<T> *bodies, size_t n, T eps2, T *out) {
    __shared__ body<T> tile[plain_threads];
    const size_t first = (size_t)blockIdx.x * plain_threads * plain_each + threadIdx.x;
    body<T> own[plain_each];
    T sum[plain_each][3] = {};
    for (int k = 0; k < plain_each; k++)
        own[k] = bodies[first + (size_t)k * plain_threads];
    for (size_t t = 0; t < n; t += plain_threads) {
        __syncthreads();
        tile[threadIdx.x] = bodies[t + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < plain_threads; j++)
#pragma unroll
            for (int k = 0; k < plain_each; k++) {
                const T dx = tile[j].x - own[k].x, dy = tile[j].y - own[k].y;
                const T dz = tile[j].z - own[k].z;
                const T root = plain_root(fma(dx, dx, fma(dy, dy, fma(dz, dz, eps2))));
                const T w = tile[j].m * root * (root * root);
                sum[k][0] = fma(w, dx, sum[k][0]);
                sum[k][1] = fma(w, dy, sum[k][1]);
                sum[k][2] = fma(w, dz, sum[k][2]);
            }
    }
    for (int k = 0; k < plain_each; k++)
        for (int c = 0; c < 3; c++)
            out[3 * (first + (size_t)k * plain_threads) + c] = sum[k][c];
}

/* ---- bodies ---- */

/* A Plummer sphere: radius (u^(-2/3) - 1)^(-1/2), any direction. */
template <class T>
__global__ void make_sphere(body<T> *bodies, size_t n) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        const double u = 0.5 + 0.4995 * draw_real(1, i), c = draw_real(2, i);
        const double angle = 3.141592653589793 * draw_real(3, i), s = sqrt(1 - c * c);
        const double r = 1 / sqrt(pow(u, -2.0 / 3) - 1);
        bodies[i] = {(T)(r * s * cos(angle)), (T)(r * s * sin(angle)), (T)(r * c),
                     (T)(1 / (double)n)};
    }
}

/* ---- races ---- */

template <class T>
static weft_nbody system_of(size_t n, double tolerance) {
    weft_nbody s = {};
    s.type = sizeof(T) == 4 ? WEFT_F32 : WEFT_F64;
    s.n = n;
    s.softening = softening;
    s.tolerance = tolerance;
    return s;
}

/* The error that the library measures of its accelerations, for one more call. */
template <class T>
static double error_of(const track &t, const weft_nbody &s, const body<T> *bodies, T *out) {
    double error = -1;
    check_weft(t.ctx, weft_nbody_accelerations(t.ctx, &s, bodies, NULL, out, NULL, &error));
    return error;
}

template <class T>
static void race_pairs(const track &t, size_t usual_n) {
    const size_t n = t.n ? (t.n + 1023) / 1024 * 1024 : usual_n;
    const char *const name = sizeof(T) == 4 ? "pairs f32" : "pairs f64";
    if (t.only && strncmp(t.only, name, strlen(t.only)) != 0)
        return;
    device_array<body<T>> bodies(n);
    device_array<T> out(3 * n), theirs(3 * n);
    make_sphere<<<filling_blocks, filling_threads>>>(bodies.p, n);
    CUDA(cudaDeviceSynchronize());
    const weft_nbody s = system_of<T>(n, 0);
    double seconds, peer;
    seconds_in_turns(
        t.stream, (size_t)1 << 30,
        [&] {
            check_weft(t.ctx,
                       weft_nbody_accelerations(t.ctx, &s, bodies.p, NULL, out.p, NULL, NULL));
        },
        [&] {
            plain<<<(unsigned)(n / plain_threads / plain_each), plain_threads, 0, t.stream>>>(
                bodies.p, n, (T)(softening * softening), theirs.p);
        },
        &seconds, &peer);
    const double error = error_of(t, s, bodies.p, out.p);
    const bool ok = error <= (sizeof(T) == 4 ? 1e-5 : 1e-12);
    const double pairs = (double)n * (double)n, limit = sizeof(T) == 4 ? t.f32_limit : t.f64_limit;
    all_ok = all_ok && ok;
    printf("{\"op\":\"nbody, pairs\",\"type\":\"%s\",\"n\":%zu,\"variant\":\"%s\","
           "\"seconds\":%.4g,\"pairs_per_s\":%.4g,\"issue_limit\":%.4g,\"limit_share\":%.3f,"
           "\"error\":%.3g,\"peer\":\"plain tiles\",\"peer_seconds\":%.4g,\"peer_ratio\":%.3f,"
           "\"ok\":%s}\n",
           weft_type_name(s.type), n, weft_used(t.ctx, "nbody"), seconds, pairs / seconds, limit,
           pairs / seconds / limit, error, peer, peer / seconds, ok ? "true" : "false");
    fflush(stdout);
}

/* Building and walking the tree, without measuring the error, which a call of its own does. */
template <class T>
static void race_tree(const track &t, size_t usual_n, double tolerance) {
    const size_t n = t.n ? t.n : usual_n;
    if (t.only && strncmp(t.only, "tree", strlen(t.only)) != 0)
        return;
    device_array<body<T>> bodies(n);
    device_array<T> out(3 * n);
    make_sphere<<<filling_blocks, filling_threads>>>(bodies.p, n);
    CUDA(cudaDeviceSynchronize());
    const weft_nbody s = system_of<T>(n, tolerance);
    check_weft(t.ctx, weft_use(t.ctx, "nbody", "octree"));
    const double seconds = device_seconds(t.stream, (size_t)1 << 30, [&] {
        check_weft(t.ctx, weft_nbody_accelerations(t.ctx, &s, bodies.p, NULL, out.p, NULL, NULL));
    });
    const double error = error_of(t, s, bodies.p, out.p);
    check_weft(t.ctx, weft_use(t.ctx, "nbody", nullptr));
    const bool ok = error <= tolerance;
    all_ok = all_ok && ok;
    printf("{\"op\":\"nbody, tree\",\"type\":\"%s\",\"n\":%zu,\"tolerance\":%g,"
           "\"variant\":\"%s\",\"seconds\":%.4g,\"bodies_per_s\":%.4g,\"error\":%.3g,"
           "\"ok\":%s}\n",
           weft_type_name(s.type), n, tolerance, weft_used(t.ctx, "nbody"), seconds,
           (double)n / seconds, error, ok ? "true" : "false");
    fflush(stdout);
}

int main(int argc, char **argv) {
    int clock_khz = 0, multiprocessors = 0;
    track t = {};
    t.only = argc > 1 ? argv[1] : nullptr;
    t.n = argc > 2 ? (size_t)strtoull(argv[2], nullptr, 10) : 0;
    if (weft_open(&t.ctx, "gpu") != WEFT_OK) {
        fprintf(stderr, "nbody_peer: no race: %s\n", weft_message(nullptr));
        return no_race;
    }
    CUDA(cudaStreamCreateWithFlags(&t.stream, cudaStreamNonBlocking));
    check_weft(t.ctx, weft_set_stream(t.ctx, t.stream));
    CUDA(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, 0));
    CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    t.f32_limit = 128.0 * multiprocessors * clock_khz * 1e3 / 13;
    t.f64_limit = 64.0 * multiprocessors * clock_khz * 1e3 / 16;
    if (!t.n) {
        race_pairs<float>(t, (size_t)1 << 16);
        race_pairs<double>(t, (size_t)1 << 16);
    }
    race_pairs<float>(t, (size_t)1 << 20);
    race_pairs<double>(t, (size_t)1 << 19);
    race_tree<float>(t, 100000, 1e-3);
    race_tree<float>(t, 1000000, 1e-3);
    race_tree<float>(t, 10000000, 1e-3);
    race_tree<float>(t, 10000000, 5e-3);
    race_tree<double>(t, 1000000, 1e-3);
    weft_close(t.ctx);
    CUDA(cudaStreamDestroy(t.stream));
    return all_ok ? 0 : 1;
}
