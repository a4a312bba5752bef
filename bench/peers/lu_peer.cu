/* SPDX-License-Identifier: Apache-2.0 */
/* Races the factorizations of dense matrices against cuSOLVER's 64-bit interface, in turns, on the
 * same random matrices in the same process. A system is solved with weft's factors; a backward
 * error of 16 n^(1/2) units and more ends the program with status 1.
 *
 *   lu_peer [OP [TYPE [RUNG [N]]]]    lu or cholesky; f64 or f32; a rung, or - for the library's
 *                                     choice; one order in place of a list */
#include <math.h>
#include <string.h>

#include <vector>

#include "cusolver.cuh"

static bool all_ok = true;

/* ---- data ---- */

/* Symmetric and positive definite, if the diagonal is large. */
template <class T>
__global__ void draw_matrix(T *a, size_t n, uint64_t seed, T diagonal) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t e = (size_t)blockIdx.x * blockDim.x + threadIdx.x; e < n * n; e += stride) {
        const size_t i = e % n, j = e / n, least = i < j ? i : j, most = i < j ? j : i;
        const T x = (T)draw_real(seed, diagonal > 0 ? least * n + most : e);
        a[e] = i == j ? x + diagonal : x;
    }
}

/* ---- races ---- */

static cublasStatus_t multiply(cublasHandle_t h, int n, const double *alpha, const double *a,
                               const double *x, const double *beta, double *y) {
    return cublasDgemv(h, CUBLAS_OP_N, n, n, alpha, a, n, x, 1, beta, y, 1);
}
static cublasStatus_t multiply(cublasHandle_t h, int n, const float *alpha, const float *a,
                               const float *x, const float *beta, float *y) {
    return cublasSgemv(h, CUBLAS_OP_N, n, n, alpha, a, n, x, 1, beta, y, 1);
}
template <class T>
static double largest(const T *device, size_t n) {
    std::vector<T> x(n);
    double most = 0;
    CUDA(cudaMemcpy(x.data(), device, n * sizeof(T), cudaMemcpyDefault));
    for (const T v : x)
        most = fabs((double)v) <= most ? most : fabs((double)v);
    return most;
}

/* |b - A x| / (|A| |x| n^(1/2)) in units of rounding; rows of A have sums of n / 2, about. */
template <class T>
static double backward_error(const race &r, bool is_lu, size_t n, const T *a, const T *factors,
                             const int64_t *pivots) {
    const weft_type type = sizeof(T) == 8 ? WEFT_F64 : WEFT_F32;
    const T one = 1, minus = -1;
    device_array<T> b(n), x(n);
    fill_random(b.p, n, 3);
    CUDA(cudaMemcpyAsync(x.p, b.p, n * sizeof(T), cudaMemcpyDefault, r.stream));
    CUDA(cudaStreamSynchronize(r.stream));
    if (is_lu)
        check_weft(r.ctx, weft_lu_solve(r.ctx, 0, type, n, 1, factors, n, pivots, x.p, n));
    else
        check_weft(r.ctx, weft_cholesky_solve(r.ctx, 0, type, n, 1, factors, n, x.p, n));
    BLAS(multiply(r.blas, (int)n, &minus, a, x.p, &one, b.p));
    CUDA(cudaStreamSynchronize(r.stream));
    const double unit = sizeof(T) == 8 ? ldexp(1, -53) : ldexp(1, -24);
    return largest(b.p, n) / (largest(x.p, n) * (double)n / 2 * sqrt((double)n) * unit);
}

template <class T>
static void race_factor(const race &r, const char *op, const char *rung, size_t n) {
    const weft_type type = sizeof(T) == 8 ? WEFT_F64 : WEFT_F32;
    const bool is_lu = strcmp(op, "lu") == 0;
    const int turns = n > 16384 ? 3 : n > 8192 ? 5 : 9;
    check_weft(r.ctx, weft_use(r.ctx, op, strcmp(rung, "-") == 0 ? NULL : rung));
    device_array<T> a(n * n), work(n * n);
    device_array<int64_t> pivots(n);
    draw_matrix<<<filling_blocks, filling_threads>>>(a.p, n, 1,
                                                     is_lu ? (T)0 : (T)(2 * sqrt((double)n)));
    cusolver<T> peer(r, n, work.p);
    std::vector<double> ours, theirs;
    double error = 0;
    for (int turn = 0; turn <= turns; turn++)
        for (int own = 0; own < 2; own++) {
            CUDA(cudaMemcpyAsync(work.p, a.p, n * n * sizeof(T), cudaMemcpyDefault, r.stream));
            CUDA(cudaStreamSynchronize(r.stream));
            const double start = now();
            if (own && is_lu)
                check_weft(r.ctx, weft_lu_factor(r.ctx, 0, type, n, n, work.p, n, pivots.p));
            else if (own)
                check_weft(r.ctx, weft_cholesky_factor(r.ctx, 0, type, n, work.p, n));
            else if (is_lu)
                peer.lu(work.p);
            else
                peer.cholesky(work.p);
            CUDA(cudaStreamSynchronize(r.stream));
            if (turn > 0)
                (own ? ours : theirs).push_back(now() - start);
            else if (own)
                error = backward_error(r, is_lu, n, a.p, work.p, pivots.p);
        }
    std::sort(ours.begin(), ours.end());
    std::sort(theirs.begin(), theirs.end());
    const double seconds = ours[ours.size() / 2], other = theirs[theirs.size() / 2];
    const double flops = (is_lu ? 2.0 : 1.0) / 3 * (double)n * (double)n * (double)n;
    const bool ok = error < 4;
    printf("{\"op\":\"%s\",\"type\":\"%s\",\"n\":%zu,\"variant\":\"%s\",\"seconds\":%.4g,"
           "\"tflops\":%.2f,\"peer\":\"cuSOLVER\",\"peer_seconds\":%.4g,\"peer_tflops\":%.2f,"
           "\"peer_ratio\":%.3f,\"backward_error_units\":%.3g,\"ok\":%s}\n",
           op, sizeof(T) == 8 ? "f64" : "f32", n, weft_used(r.ctx, op), seconds,
           flops / seconds * 1e-12, other, flops / other * 1e-12, other / seconds, error,
           ok ? "true" : "false");
    fflush(stdout);
    all_ok = all_ok && ok;
}

int main(int argc, char **argv) {
    static const size_t orders[] = {512, 1000, 1024, 2048, 4096, 8192, 16384, 32768};
    const race r;
    const char *const rung = argc > 3 ? argv[3] : "-";
    for (const char *op : {"lu", "cholesky"})
        for (const char *type : {"f64", "f32"})
            for (size_t n : orders) {
                if ((argc > 1 && strcmp(argv[1], op) != 0) ||
                    (argc > 2 && strcmp(argv[2], type) != 0))
                    continue;
                if (argc > 4)
                    n = strtoull(argv[4], NULL, 10);
                if (strcmp(type, "f64") == 0)
                    race_factor<double>(r, op, rung, n);
                else
                    race_factor<float>(r, op, rung, n);
                if (argc > 4)
                    break;
            }
    return all_ok ? 0 : 1;
}
