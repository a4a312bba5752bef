/* SPDX-License-Identifier: Apache-2.0 */
/* Races random against cuRAND's Philox generator on the same device arrays in the same process,
 * beside the plain write. The numbers of the two differ, so that the means are compared: a wrong
 * one ends the program with status 1.
 *
 *   random_peer [LOG2_N]    2^28 elements unless it says otherwise */
#include <curand.h>
#include <math.h>

#include "peer.cuh"

static bool all_ok = true;

struct track {
    weft_context *ctx;
    cudaStream_t stream;
    curandGenerator_t generator;
    double write_gbps;
    size_t n;
};

static void check_curand(curandStatus_t status, const char *doing) {
    if (status == CURAND_STATUS_SUCCESS)
        return;
    fprintf(stderr, "peer: %s: cuRAND status %d\n", doing, (int)status);
    exit(1);
}
#define CURAND(call) check_curand(call, #call)

/* Bandwidth of plain stores. */
static double write_roof(cudaStream_t stream, size_t bytes) {
    device_array<char> a(bytes);
    const double seconds =
        device_seconds(stream, bytes, [&] { CUDA(cudaMemsetAsync(a.p, 1, bytes, stream)); });
    return (double)bytes / seconds * 1e-9;
}

/* The mean of the first elements. */
template <class T>
static double mean_of(const T *x, size_t n) {
    const size_t shown = n < 1 << 20 ? n : 1 << 20;
    std::vector<T> some(shown);
    double sum = 0;
    CUDA(cudaMemcpy(some.data(), x, shown * sizeof(T), cudaMemcpyDefault));
    for (const T v : some)
        sum += (double)v;
    return sum / (double)shown;
}

/* `spread`: how far apart means may be. */
template <class T, class Ours, class Theirs>
static void race(const track &t, const char *name, weft_type type, double spread, Ours ours,
                 Theirs theirs, bool has_peer = true) {
    device_array<T> x(t.n), y(t.n);
    double our_s = 0, their_s = 0;
    const size_t bytes = t.n * sizeof(T);
    if (has_peer)
        seconds_in_turns(
            t.stream, bytes, [&] { check_weft(t.ctx, ours(x.p)); }, [&] { CURAND(theirs(y.p)); },
            &our_s, &their_s);
    else
        our_s = device_seconds(t.stream, bytes, [&] { check_weft(t.ctx, ours(x.p)); });
    CUDA(cudaStreamSynchronize(t.stream));
    const bool ok = !has_peer || fabs(mean_of(x.p, t.n) - mean_of(y.p, t.n)) < spread;
    all_ok = all_ok && ok;
    report(name, weft_type_name(type), t.n, weft_used(t.ctx, "random"), (double)bytes, our_s,
           has_peer ? "cuRAND" : "", their_s, "write", t.write_gbps, ok);
}

static void race_all(const track &t) {
    const uint32_t low = 0, high = 99;
    race<uint32_t>(
        t, "bits", WEFT_U32, 2e7,
        [&](uint32_t *x) { return weft_random_bits(t.ctx, WEFT_U32, t.n, 1, 0, x); },
        [&](uint32_t *y) { return curandGenerate(t.generator, y, t.n); });
    race<float>(
        t, "uniform", WEFT_F32, 0.01,
        [&](float *x) { return weft_random_uniform(t.ctx, WEFT_F32, t.n, 1, 0, x); },
        [&](float *y) { return curandGenerateUniform(t.generator, y, t.n); });
    race<double>(
        t, "uniform", WEFT_F64, 0.01,
        [&](double *x) { return weft_random_uniform(t.ctx, WEFT_F64, t.n, 1, 0, x); },
        [&](double *y) { return curandGenerateUniformDouble(t.generator, y, t.n); });
    race<float>(
        t, "normal", WEFT_F32, 0.02,
        [&](float *x) { return weft_random_normal(t.ctx, WEFT_F32, t.n, 1, 0, x); },
        [&](float *y) { return curandGenerateNormal(t.generator, y, t.n, 0, 1); });
    race<double>(
        t, "normal", WEFT_F64, 0.02,
        [&](double *x) { return weft_random_normal(t.ctx, WEFT_F64, t.n, 1, 0, x); },
        [&](double *y) { return curandGenerateNormalDouble(t.generator, y, t.n, 0, 1); });
    const auto none = [](uint32_t *) { return CURAND_STATUS_SUCCESS; };
    race<uint32_t>(
        t, "integers 0 ... 99", WEFT_U32, 0,
        [&](uint32_t *x) {
            return weft_random_integers(t.ctx, WEFT_U32, t.n, &low, &high, 1, 0, x);
        },
        none, false);
    race<uint32_t>(
        t, "permutation", WEFT_U32, 0,
        [&](uint32_t *x) { return weft_random_permutation(t.ctx, WEFT_U32, t.n, 1, x); }, none,
        false);
}

int main(int argc, char **argv) {
    track t = {};
    if (weft_open(&t.ctx, "gpu") != WEFT_OK) {
        fprintf(stderr, "random_peer: no race: %s\n", weft_message(nullptr));
        return 77;
    }
    t.n = (size_t)1 << (argc > 1 ? atoi(argv[1]) : 28);
    CUDA(cudaStreamCreateWithFlags(&t.stream, cudaStreamNonBlocking));
    check_weft(t.ctx, weft_set_stream(t.ctx, t.stream));
    CURAND(curandCreateGenerator(&t.generator, CURAND_RNG_PSEUDO_PHILOX4_32_10));
    CURAND(curandSetStream(t.generator, t.stream));
    t.write_gbps = write_roof(t.stream, (size_t)1 << 32);
    race_all(t);
    CURAND(curandDestroyGenerator(t.generator));
    weft_close(t.ctx);
    CUDA(cudaStreamDestroy(t.stream));
    return all_ok ? 0 : 1;
}
