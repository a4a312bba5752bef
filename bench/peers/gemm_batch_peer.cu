/* SPDX-License-Identifier: Apache-2.0 */
/* Races gemm_batch against cuBLAS's strided batches, and gemm against cuBLAS on thin and flat
 * matrices: the same device arrays, the same process. Elements are small whole numbers, so that
 * both are right to the last bit or wrong; a wrong result ends the program with status 1.
 *
 *   gemm_batch_peer [batch | thin]    both, or one of the two
 *   gemm_batch_peer host [N]          squares in pageable host memory beside the same on the
 * device; N is 16384 if not given */
#include <chrono>
#include <string.h>

#include "cublas.cuh"

static bool all_ok = true;

/* Stored by columns without gaps; a factor may be stored as its transpose. */
struct shape {
    size_t m, n, k, count;
    bool transposed_a, transposed_b;

    size_t lda() const {
        return transposed_a ? k : m;
    }
    size_t ldb() const {
        return transposed_b ? n : k;
    }
    unsigned how() const {
        return (transposed_a ? (unsigned)WEFT_TRANSPOSE_A : 0) |
               (transposed_b ? (unsigned)WEFT_TRANSPOSE_B : 0);
    }
    size_t elements() const {
        return count * (m * k + k * n + m * n);
    }
    double flops() const {
        return 2.0 * (double)count * (double)m * (double)n * (double)k;
    }
};

template <class T>
struct kind;
template <>
struct kind<float> {
    static constexpr const char *name = "f32";
    static constexpr weft_type type = WEFT_F32;
    static constexpr unsigned how = WEFT_F32_STRICT;
    static constexpr auto batch = cublasSgemmStridedBatched;
    static constexpr auto one = cublasSgemm;
};
template <>
struct kind<double> {
    static constexpr const char *name = "f64";
    static constexpr weft_type type = WEFT_F64;
    static constexpr unsigned how = 0;
    static constexpr auto batch = cublasDgemmStridedBatched;
    static constexpr auto one = cublasDgemm;
};

template <class T>
struct arrays {
    device_array<T> a, b, c, theirs;
    explicit arrays(const shape &s)
        : a(s.count * s.m * s.k), b(s.count * s.k * s.n), c(s.count * s.m * s.n),
          theirs(s.count * s.m * s.n) {
        fill_random(a.p, s.count * s.m * s.k, 1);
        fill_random(b.p, s.count * s.k * s.n, 2);
        CUDA(cudaMemset(c.p, 0xff, s.count * s.m * s.n * sizeof(T)));
    }
};

template <class T>
static void report(const char *op, const race &r, const shape &s, const arrays<T> &x,
                   double seconds, double peer) {
    const bool ok = is_same(x.c.p, x.theirs.p, s.count * s.m * s.n);
    const double bytes = (double)(s.elements() * sizeof(T));
    printf("{\"op\":\"%s\",\"type\":\"%s\",\"m\":%zu,\"n\":%zu,\"k\":%zu,\"count\":%zu,"
           "\"transposed\":\"%c%c\",\"variant\":\"%s\",\"seconds\":%.4g,\"bytes_per_s\":%.4g,"
           "\"tflops\":%.2f,\"peer\":\"cuBLAS\",\"peer_seconds\":%.4g,\"peer_bytes_per_s\":%.4g,"
           "\"peer_ratio\":%.3f,\"ok\":%s}\n",
           op, kind<T>::name, s.m, s.n, s.k, s.count, "nt"[s.transposed_a], "nt"[s.transposed_b],
           weft_used(r.ctx, op), seconds, bytes / seconds, s.flops() / seconds * 1e-12, peer,
           bytes / peer, peer / seconds, ok ? "true" : "false");
    fflush(stdout);
    all_ok = all_ok && ok;
}

static cublasOperation_t op_of(bool transposed) {
    return transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}

template <class T>
static void race_batch(const race &r, const shape &s) {
    const arrays<T> x(s);
    const T one = 1, zero = 0;
    const size_t bytes = s.elements() * sizeof(T);
    const double peer = device_seconds(r.stream, bytes, [&] {
        BLAS(kind<T>::batch(r.blas, op_of(s.transposed_a), op_of(s.transposed_b), (int)s.m,
                            (int)s.n, (int)s.k, &one, x.a.p, (int)s.lda(), (long long)(s.m * s.k),
                            x.b.p, (int)s.ldb(), (long long)(s.k * s.n), &zero, x.theirs.p,
                            (int)s.m, (long long)(s.m * s.n), (int)s.count));
    });
    const double seconds = device_seconds(r.stream, bytes, [&] {
        check_weft(r.ctx, weft_gemm_batch_strided(r.ctx, kind<T>::how | s.how(), kind<T>::type,
                                                  kind<T>::type, s.m, s.n, s.k, 1, x.a.p, s.lda(),
                                                  s.m * s.k, x.b.p, s.ldb(), s.k * s.n, 0, x.c.p,
                                                  s.m, s.m * s.n, s.count));
    });
    report("gemm_batch", r, s, x, seconds, peer);
}

template <class T>
static void race_thin(const race &r, const shape &s) {
    const arrays<T> x(s);
    const T one = 1, zero = 0;
    const size_t bytes = s.elements() * sizeof(T);
    const double peer = device_seconds(r.stream, bytes, [&] {
        BLAS(kind<T>::one(r.blas, op_of(s.transposed_a), op_of(s.transposed_b), (int)s.m, (int)s.n,
                          (int)s.k, &one, x.a.p, (int)s.lda(), x.b.p, (int)s.ldb(), &zero,
                          x.theirs.p, (int)s.m));
    });
    const double seconds = device_seconds(r.stream, bytes, [&] {
        check_weft(r.ctx,
                   weft_gemm(r.ctx, kind<T>::how | s.how(), kind<T>::type, kind<T>::type, s.m, s.n,
                             s.k, 1, x.a.p, s.lda(), x.b.p, s.ldb(), 0, x.c.p, s.m));
    });
    report("gemm", r, s, x, seconds, peer);
}

/* About 2^28 bytes of squares. */
template <class T>
static void race_batches(const race &r) {
    static const size_t sides[] = {4, 8, 12, 16, 24, 32, 48, 64, 96, 128};
    for (const size_t side : sides) {
        const size_t count = ((size_t)1 << 28) / (3 * side * side * sizeof(T));
        race_batch<T>(r, {side, side, side, count, false, false});
        if (side == 16 || side == 32 || side == 64)
            race_batch<T>(r, {side, side, side, count, true, false});
    }
}

template <class T>
static void race_thins(const race &r) {
    static const shape shapes[] = {
        {64, 64, 1 << 20, 1, false, false}, {64, 64, 1 << 20, 1, true, false},
        {32, 48, 1 << 20, 1, false, true},  {8192, 16, 8192, 1, false, false},
        {8192, 16, 8192, 1, true, false},   {8192, 64, 8192, 1, false, false},
        {8192, 4, 8192, 1, false, false},   {33, 8192, 8192, 1, false, false},
        {33, 8192, 8192, 1, false, true},   {16, 8192, 8192, 1, false, false},
        {64, 8192, 8192, 1, false, false}};
    for (const shape &s : shapes)
        race_thin<T>(r, s);
}

static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

/* A product of host matrices takes as long as that of device matrices if all copies are hidden. */
template <class T>
static void race_host(const race &r, size_t n) {
    const shape s = {n, n, n, 1, false, false};
    const size_t bytes = n * n * sizeof(T);
    const arrays<T> x(s);
    const auto multiply = [&](const T *a, const T *b, T *c) {
        check_weft(r.ctx, weft_gemm(r.ctx, kind<T>::how, kind<T>::type, kind<T>::type, n, n, n, 1,
                                    a, n, b, n, 0, c, n));
        check_weft(r.ctx, weft_sync(r.ctx));
    };
    T *const a = (T *)malloc(bytes), *const b = (T *)malloc(bytes), *const c = (T *)malloc(bytes);
    if (!a || !b || !c) {
        fprintf(stderr, "peer: no host memory for three matrices of %zu bytes\n", bytes);
        exit(1);
    }
    CUDA(cudaMemcpy(a, x.a.p, bytes, cudaMemcpyDefault));
    CUDA(cudaMemcpy(b, x.b.p, bytes, cudaMemcpyDefault));
    double seconds[2] = {1e9, 1e9}; /* on the device, on the host: the best of three */
    for (int pass = 0; pass < 3; pass++)
        for (int host = 0; host < 2; host++) {
            const double begin = now();
            if (host)
                multiply(a, b, c);
            else
                multiply(x.a.p, x.b.p, x.c.p);
            seconds[host] = std::min(seconds[host], now() - begin);
        }
    CUDA(cudaMemcpy(x.theirs.p, c, bytes, cudaMemcpyDefault));
    const bool ok = is_same(x.c.p, x.theirs.p, n * n);
    printf("{\"op\":\"gemm\",\"type\":\"%s\",\"n\":%zu,\"host_data\":true,\"variant\":\"%s\","
           "\"seconds\":%.4g,\"tflops\":%.2f,\"device_seconds\":%.4g,\"share_of_device\":%.3f,"
           "\"ok\":%s}\n",
           kind<T>::name, n, weft_used(r.ctx, "gemm"), seconds[1], s.flops() / seconds[1] * 1e-12,
           seconds[0], seconds[0] / seconds[1], ok ? "true" : "false");
    all_ok = all_ok && ok;
    free(a);
    free(b);
    free(c);
}

int main(int argc, char **argv) {
    const race r;
    if (argc < 2 || strcmp(argv[1], "batch") == 0) {
        race_batches<float>(r);
        race_batches<double>(r);
    }
    if (argc < 2 || strcmp(argv[1], "thin") == 0) {
        race_thins<float>(r);
        race_thins<double>(r);
    }
    if (argc > 1 && strcmp(argv[1], "host") == 0) {
        const size_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 16384;
        race_host<float>(r, n);
        race_host<double>(r, n);
    }
    return all_ok ? 0 : 1;
}
