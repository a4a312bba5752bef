/* SPDX-License-Identifier: Apache-2.0 */
/* Races trsm, trmm and syrk against cuBLAS on the same device arrays in the same process. Triangles
 * are near the identity, so that what is solved or multiplied in place time after time stays in
 * range; the first result of each is compared with cuBLAS's, and one that differs by more than
 * rounding ends the program with status 1.
 *
 *   triangle_peer [OP [TYPE]]    all, or trsm, trmm or syrk; f64 or f32 */
#include <string.h>

#include "cublas.cuh"
#include "triangle_race.cuh"

static bool all_ok = true;

/* ---- cuBLAS by type ---- */

static cublasStatus_t blas_trmm(cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t uplo,
                                cublasOperation_t op, int m, int n, const double *a, int lda,
                                double *b) {
    const double one = 1;
    return cublasDtrmm(h, side, uplo, op, CUBLAS_DIAG_NON_UNIT, m, n, &one, a, lda, b, m, b, m);
}
static cublasStatus_t blas_trmm(cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t uplo,
                                cublasOperation_t op, int m, int n, const float *a, int lda,
                                float *b) {
    const float one = 1;
    return cublasStrmm(h, side, uplo, op, CUBLAS_DIAG_NON_UNIT, m, n, &one, a, lda, b, m, b, m);
}
static cublasStatus_t blas_syrk(cublasHandle_t h, cublasFillMode_t uplo, cublasOperation_t op,
                                int n, int k, const double *a, int lda, double *c) {
    const double one = 1, zero = 0;
    return cublasDsyrk(h, uplo, op, n, k, &one, a, lda, &zero, c, n);
}
static cublasStatus_t blas_syrk(cublasHandle_t h, cublasFillMode_t uplo, cublasOperation_t op,
                                int n, int k, const float *a, int lda, float *c) {
    const float one = 1, zero = 0;
    return cublasSsyrk(h, uplo, op, n, k, &one, a, lda, &zero, c, n);
}

/* ---- races ---- */

static void tell(const char *op, const char *type, const char *how, size_t m, size_t n,
                 const char *variant, double flops, double seconds, double peer, bool ok) {
    printf("{\"op\":\"%s\",\"type\":\"%s\",\"how\":\"%s\",\"m\":%zu,\"n\":%zu,\"variant\":\"%s\","
           "\"seconds\":%.4g,\"tflops\":%.2f,\"peer\":\"cuBLAS\",\"peer_seconds\":%.4g,"
           "\"peer_tflops\":%.2f,\"peer_ratio\":%.3f,\"ok\":%s}\n",
           op, type, how, m, n, variant, seconds, flops / seconds * 1e-12, peer,
           flops / peer * 1e-12, peer / seconds, ok ? "true" : "false");
    fflush(stdout);
    all_ok = all_ok && ok;
}

template <class T>
static void race_triangle(const race &r, bool solves, const variant &v, size_t m, size_t n) {
    const weft_type type = sizeof(T) == 8 ? WEFT_F64 : WEFT_F32;
    const size_t order = v.right ? n : m, size = m * n;
    device_array<T> a(order * order), b(size), ours(size), theirs(size);
    draw_triangle<<<filling_blocks, filling_threads>>>(a.p, order, 1);
    fill_random(b.p, size, 2);
    const auto peer_call = [&] {
        const cublasSideMode_t side = v.right ? CUBLAS_SIDE_RIGHT : CUBLAS_SIDE_LEFT;
        const cublasFillMode_t fill = v.upper ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
        const cublasOperation_t op = v.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
        if (solves)
            BLAS(blas_trsm(r.blas, side, fill, op, (int)m, (int)n, a.p, (int)order, theirs.p));
        else
            BLAS(blas_trmm(r.blas, side, fill, op, (int)m, (int)n, a.p, (int)order, theirs.p));
    };
    const auto own_call = [&] {
        const auto call = solves ? weft_trsm : weft_trmm;
        check_weft(r.ctx, call(r.ctx, flags_of(v), type, m, n, 1, a.p, order, ours.p, m));
    };
    const auto restore = [&] {
        CUDA(cudaMemcpyAsync(ours.p, b.p, size * sizeof(T), cudaMemcpyDefault, r.stream));
        CUDA(cudaMemcpyAsync(theirs.p, b.p, size * sizeof(T), cudaMemcpyDefault, r.stream));
    };
    restore();
    peer_call();
    own_call();
    CUDA(cudaStreamSynchronize(r.stream));
    const bool ok = is_near(ours.p, theirs.p, size);
    restore();
    const double flops = (double)order * (double)size;
    const double peer = device_seconds(r.stream, order * size / 64, peer_call);
    const double seconds = device_seconds(r.stream, order * size / 64, own_call);
    char how[32];
    snprintf(how, sizeof how, "%s %s %s", v.right ? "right" : "left", v.upper ? "upper" : "lower",
             v.transposed ? "T" : "N");
    const char *const op = solves ? "trsm" : "trmm";
    tell(op, sizeof(T) == 8 ? "f64" : "f32", how, m, n, weft_used(r.ctx, op), flops, seconds, peer,
         ok);
}

template <class T>
static void race_syrk(const race &r, bool upper, bool transposed, size_t n, size_t k) {
    const weft_type type = sizeof(T) == 8 ? WEFT_F64 : WEFT_F32;
    const size_t lda = transposed ? k : n;
    device_array<T> a(n * k), ours(n * n), theirs(n * n);
    fill_random(a.p, n * k, 1);
    CUDA(cudaMemset(ours.p, 0, n * n * sizeof(T)));
    CUDA(cudaMemset(theirs.p, 0, n * n * sizeof(T)));
    const double peer = device_seconds(r.stream, n * n * k / 64, [&] {
        BLAS(blas_syrk(r.blas, upper ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER,
                       transposed ? CUBLAS_OP_T : CUBLAS_OP_N, (int)n, (int)k, a.p, (int)lda,
                       theirs.p));
    });
    const double seconds = device_seconds(r.stream, n * n * k / 64, [&] {
        check_weft(r.ctx, weft_syrk(r.ctx, flags_of({false, upper, transposed}), type, n, k, 1, a.p,
                                    lda, 0, ours.p, n));
    });
    const bool ok = is_near(ours.p, theirs.p, n * n);
    const double flops = (double)n * (double)(n + 1) * (double)k;
    char how[32];
    snprintf(how, sizeof how, "%s %s", upper ? "upper" : "lower", transposed ? "T" : "N");
    tell("syrk", sizeof(T) == 8 ? "f64" : "f32", how, n, k, weft_used(r.ctx, "syrk"), flops,
         seconds, peer, ok);
}

template <class T>
static void race_triangles(const race &r, bool solves) {
    static const variant variants[] = {{false, false, false}, {false, true, false},
                                       {false, false, true},  {true, false, false},
                                       {true, true, false},   {true, false, true}};
    static const size_t squares[] = {256, 1000, 1024, 2048, 8192};
    for (const variant &v : variants) {
        race_triangle<T>(r, solves, v, v.right ? 16384 : 512, v.right ? 512 : 16384);
        race_triangle<T>(r, solves, v, 4096, 4096);
    }
    for (size_t n : squares)
        race_triangle<T>(r, solves, variants[0], n, n);
    race_triangle<T>(r, solves, variants[0], 128, 16384);
    race_triangle<T>(r, solves, variants[0], 256, 16384);
    race_triangle<T>(r, solves, variants[0], 1024, 16384);
    race_triangle<T>(r, solves, variants[0], 4096, 1);
    race_triangle<T>(r, solves, variants[0], 4096, 64);
}

template <class T>
static void race_syrks(const race &r) {
    static const size_t shapes[][2] = {{1000, 1000}, {2048, 2048}, {8192, 8192},
                                       {8192, 512},  {16384, 256}, {64, 1 << 20}};
    for (int v = 0; v < 4; v++)
        race_syrk<T>(r, v & 1, v & 2, 4096, 4096);
    for (const auto &s : shapes)
        race_syrk<T>(r, false, false, s[0], s[1]);
}

static bool is_wanted(int argc, char **argv, int position, const char *name) {
    return argc <= position || strcmp(argv[position], name) == 0;
}

template <class T>
static void run(const race &r, int argc, char **argv) {
    if (!is_wanted(argc, argv, 2, sizeof(T) == 8 ? "f64" : "f32"))
        return;
    if (is_wanted(argc, argv, 1, "trsm"))
        race_triangles<T>(r, true);
    if (is_wanted(argc, argv, 1, "syrk"))
        race_syrks<T>(r);
    if (is_wanted(argc, argv, 1, "trmm"))
        race_triangles<T>(r, false);
}

int main(int argc, char **argv) {
    const race r;
    run<double>(r, argc, argv);
    run<float>(r, argc, argv);
    return all_ok ? 0 : 1;
}
