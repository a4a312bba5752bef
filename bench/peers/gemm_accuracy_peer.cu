/* SPDX-License-Identifier: Apache-2.0 */
/* How far f32 products are from the same in f64: those by fused multiply-adds, those by parts of
 * the elements (variants `parts`, and `thin` for a thin C), and cuBLAS's, for numbers of several
 * kinds. Errors count in 2^-24 sum |a| |b| of their element. The program fails if ours are more
 * than twice those of fused multiply-adds, in the mean square or at most. */
#include <math.h>
#include <string.h>

#include "cublas.cuh"

constexpr size_t rows = 1024;

enum way {
    UNIFORM,   /* -1 to 1 */
    POSITIVE,  /* 0 to 1 */
    SPREAD,    /* exponents of all elements from -20 to 20 */
    SCALED,    /* rows of A and columns of B by 2^-30 to 2^30 */
    GRADED,    /* columns of A by 2^-40 to 2^40, rows of B the other way */
    HUGE_TINY, /* A near 2^60, B near 2^-60 */
    WAYS
};
static const char *const way_names[WAYS] = {"uniform", "positive", "spread",
                                            "scaled",  "graded",   "huge_tiny"};

__host__ __device__ inline double power(int spread, uint64_t seed, uint64_t i) {
    return ldexp(1.0, (draw(seed, i) * spread) / 8);
}

/* Element (i, p) of A by columns, or (p, j) of B. */
__global__ void fill_way(float *x, size_t extent, size_t k, bool is_b, int w, uint64_t seed) {
    const size_t stride = (size_t)gridDim.x * blockDim.x, n = extent * k;
    for (size_t e = (size_t)blockIdx.x * blockDim.x + threadIdx.x; e < n; e += stride) {
        const size_t i = is_b ? e / k : e % extent, p = is_b ? e % k : e / extent;
        double v = x[e];
        if (w == POSITIVE)
            v = fabs(v);
        if (w == SPREAD)
            v *= power(20, seed + 3, e);
        if (w == SCALED)
            v *= power(30, seed + 4, i);
        if (w == GRADED)
            v *= is_b ? 1 / power(40, 99, p) : power(40, 99, p);
        if (w == HUGE_TINY)
            v *= is_b ? 0x1p-60 : 0x1p60;
        x[e] = (float)v;
    }
}

__global__ void widen(const float *x, double *y, size_t n, bool absolute) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        y[i] = absolute ? fabs((double)x[i]) : (double)x[i];
}

struct errors {
    double most, mean_square;
};

static errors errors_of(const device_array<float> &c, const std::vector<double> &right,
                        const std::vector<double> &size) {
    std::vector<float> got(right.size());
    CUDA(cudaMemcpy(got.data(), c.p, got.size() * sizeof(float), cudaMemcpyDefault));
    errors e = {};
    for (size_t i = 0; i < right.size(); i++) {
        const double error = fabs((double)got[i] - right[i]) / (size[i] * 0x1p-24);
        e.most = error > e.most || error != error ? error : e.most;
        e.mean_square += error * error;
    }
    e.mean_square = sqrt(e.mean_square / (double)right.size());
    return e;
}

struct numbers {
    device_array<float> a, b, c;
    device_array<double> a64, b64, c64;
    size_t columns, k;
    numbers(size_t columns_, size_t k_)
        : a(rows * k_), b(columns_ * k_), c(rows * columns_), a64(rows * k_), b64(columns_ * k_),
          c64(rows * columns_), columns(columns_), k(k_) {}
};

static std::vector<double> product_in_f64(weft_context *ctx, const numbers &x, bool absolute) {
    widen<<<filling_blocks, filling_threads>>>(x.a.p, x.a64.p, rows * x.k, absolute);
    widen<<<filling_blocks, filling_threads>>>(x.b.p, x.b64.p, x.columns * x.k, absolute);
    CUDA(cudaDeviceSynchronize());
    check_weft(ctx, weft_gemm(ctx, 0, WEFT_F64, WEFT_F64, rows, x.columns, x.k, 1, x.a64.p, rows,
                              x.b64.p, x.k, 0, x.c64.p, rows));
    check_weft(ctx, weft_sync(ctx));
    std::vector<double> c(rows * x.columns);
    CUDA(cudaMemcpy(c.data(), x.c64.p, c.size() * sizeof(double), cudaMemcpyDefault));
    return c;
}

static errors errors_how(weft_context *ctx, const numbers &x, unsigned how,
                         const std::vector<double> &right, const std::vector<double> &size) {
    check_weft(ctx, weft_gemm(ctx, how, WEFT_F32, WEFT_F32, rows, x.columns, x.k, 1, x.a.p, rows,
                              x.b.p, x.k, 0, x.c.p, rows));
    check_weft(ctx, weft_sync(ctx));
    return errors_of(x.c, right, size);
}

static bool measure(const race &r, const char *variant, size_t columns, int w, size_t k) {
    const numbers x(columns, k);
    const float one = 1, zero = 0;
    fill_reals(x.a.p, rows * k, 1);
    fill_reals(x.b.p, columns * k, 2);
    fill_way<<<filling_blocks, filling_threads>>>(x.a.p, rows, k, false, w, 11);
    fill_way<<<filling_blocks, filling_threads>>>(x.b.p, columns, k, true, w, 12);
    const std::vector<double> right = product_in_f64(r.ctx, x, false);
    const std::vector<double> size = product_in_f64(r.ctx, x, true);
    const errors strict = errors_how(r.ctx, x, WEFT_F32_STRICT, right, size);
    check_weft(r.ctx, weft_use(r.ctx, "gemm", variant));
    const errors parts = errors_how(r.ctx, x, 0, right, size);
    check_weft(r.ctx, weft_use(r.ctx, "gemm", NULL));
    BLAS(cublasSgemm(r.blas, CUBLAS_OP_N, CUBLAS_OP_N, (int)rows, (int)columns, (int)k, &one, x.a.p,
                     (int)rows, x.b.p, (int)k, &zero, x.c.p, (int)rows));
    CUDA(cudaDeviceSynchronize());
    const errors theirs = errors_of(x.c, right, size);
    const bool ok = parts.most <= 2 * strict.most && parts.mean_square <= 2 * strict.mean_square;
    printf("{\"op\":\"gemm_accuracy\",\"numbers\":\"%s\",\"m\":%zu,\"n\":%zu,\"k\":%zu,"
           "\"variant\":\"%s\",\"strict_most\":%.3g,\"strict_rms\":%.3g,\"parts_most\":%.3g,"
           "\"parts_rms\":%.3g,\"cublas_most\":%.3g,\"cublas_rms\":%.3g,\"ok\":%s}\n",
           way_names[w], rows, columns, k, variant, strict.most, strict.mean_square, parts.most,
           parts.mean_square, theirs.most, theirs.mean_square, ok ? "true" : "false");
    fflush(stdout);
    return ok;
}

int main(void) {
    static const size_t depths[] = {16, 17, 64, 500, 4096, 16384};
    const race r;
    bool ok = true;
    for (int w = 0; w < WAYS; w++)
        for (const size_t k : depths) {
            ok = measure(r, "parts", rows, w, k) && ok;
            ok = measure(r, "thin", 48, w, k) && ok;
        }
    return ok ? 0 : 1;
}
