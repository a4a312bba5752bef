/* SPDX-License-Identifier: Apache-2.0 */
/* Races triangular solutions with one or a few right-hand sides against cuBLAS's trsm, and with one
 * against its trsv, on the same device arrays in the same process and in turns. A result that
 * differs by more than rounding ends the program with status 1.
 *
 *   trsv_peer [TYPE]    f64 or f32 */
#include <string.h>

#include "cublas.cuh"
#include "triangle_race.cuh"

static bool all_ok = true;

static cublasStatus_t blas_trsv(cublasHandle_t h, cublasFillMode_t uplo, cublasOperation_t op,
                                int n, const double *a, double *x) {
    return cublasDtrsv(h, uplo, op, CUBLAS_DIAG_NON_UNIT, n, a, n, x, 1);
}
static cublasStatus_t blas_trsv(cublasHandle_t h, cublasFillMode_t uplo, cublasOperation_t op,
                                int n, const float *a, float *x) {
    return cublasStrsv(h, uplo, op, CUBLAS_DIAG_NON_UNIT, n, a, n, x, 1);
}

/* `bytes` is the triangle, of which reading `roof` GB/s would do. */
static void tell(const char *type, const variant &v, size_t n, size_t count, const char *rung,
                 double bytes, double seconds, const char *peer, double peer_s, double roof,
                 bool ok) {
    printf("{\"op\":\"trsm\",\"type\":\"%s\",\"how\":\"%s %s\",\"m\":%zu,\"n\":%zu,"
           "\"variant\":\"%s\",\"seconds\":%.4g,\"gbps\":%.1f,\"peer\":\"%s\","
           "\"peer_seconds\":%.4g,\"peer_ratio\":%.3f,\"roof\":\"copy\",\"roof_share\":%.3f,"
           "\"ok\":%s}\n",
           type, v.upper ? "upper" : "lower", v.transposed ? "T" : "N", n, count, rung, seconds,
           bytes / seconds * 1e-9, peer, peer_s, peer_s / seconds, bytes / seconds * 1e-9 / roof,
           ok ? "true" : "false");
    fflush(stdout);
    all_ok = all_ok && ok;
}

template <class T>
static void race_one(const race &r, const variant &v, size_t n, size_t count, double roof) {
    const weft_type type = sizeof(T) == 8 ? WEFT_F64 : WEFT_F32;
    const cublasFillMode_t fill = v.upper ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
    const cublasOperation_t op = v.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    device_array<T> a(n * n), b(n * count), ours(n * count), theirs(n * count);
    draw_triangle<<<filling_blocks, filling_threads>>>(a.p, n, 1);
    fill_random(b.p, n * count, 2);
    const auto own_call = [&] {
        check_weft(r.ctx, weft_trsm(r.ctx, flags_of(v), type, n, count, 1, a.p, n, ours.p, n));
    };
    for (bool by_trsv : {false, true}) {
        const auto peer_call = [&] {
            if (by_trsv)
                BLAS(blas_trsv(r.blas, fill, op, (int)n, a.p, theirs.p));
            else
                BLAS(blas_trsm(r.blas, CUBLAS_SIDE_LEFT, fill, op, (int)n, (int)count, a.p, (int)n,
                               theirs.p));
        };
        if (by_trsv && count > 1)
            continue;
        const size_t bytes = n * count * sizeof(T);
        CUDA(cudaMemcpyAsync(ours.p, b.p, bytes, cudaMemcpyDefault, r.stream));
        CUDA(cudaMemcpyAsync(theirs.p, b.p, bytes, cudaMemcpyDefault, r.stream));
        own_call();
        peer_call();
        CUDA(cudaStreamSynchronize(r.stream));
        const bool ok = is_near(ours.p, theirs.p, n * count);
        double seconds, peer_s;
        seconds_in_turns(r.stream, n * n, own_call, peer_call, &seconds, &peer_s);
        tell(sizeof(T) == 8 ? "f64" : "f32", v, n, count, weft_used(r.ctx, "trsm"),
             (double)n * (double)(n + 1) / 2 * sizeof(T), seconds,
             by_trsv ? "cuBLAS trsv" : "cuBLAS trsm", peer_s, roof, ok);
    }
}

template <class T>
static void run(const race &r, double roof) {
    for (const variant &v : {variant{false, false, false}, variant{false, true, false},
                             variant{false, false, true}, variant{false, true, true}})
        for (size_t n : {1024, 4096, 16384})
            for (size_t count : {1, 4})
                race_one<T>(r, v, n, count, roof);
    for (size_t count : {2, 8})
        race_one<T>(r, {false, false, false}, 8192, count, roof);
}

int main(int argc, char **argv) {
    const race r;
    const double roof = copy_roof(r.stream, (size_t)1 << 30);
    if (argc < 2 || strcmp(argv[1], "f64") == 0)
        run<double>(r, roof);
    if (argc < 2 || strcmp(argv[1], "f32") == 0)
        run<float>(r, roof);
    return all_ok ? 0 : 1;
}
