/* SPDX-License-Identifier: Apache-2.0 */
/* Races gemv, ger and transpose against cuBLAS on the same device arrays in the same process:
 * squares, and matrices that are long one way. Elements are small whole numbers, so that both are
 * right to the last bit or wrong; a wrong result ends the program with status 1.
 *
 *   gemv_peer [OP]    all of gemv, ger and transpose, or one of them */
#include <string.h>

#include "cublas.cuh"

static bool all_ok = true;

struct shape {
    size_t m, n;
};

static const shape shapes[] = {{16384, 16384}, {1 << 20, 64}, {64, 1 << 20}, {8192, 8192},
                               {4095, 4097},   {1000, 1000},  {1024, 1024},  {100, 100}};

struct race_to_roofs : race {
    double read_gbps = 0, copy_gbps = 0;
};

/* ---- cuBLAS by type ---- */

static cublasStatus_t blas_gemv(cublasHandle_t h, cublasOperation_t op, int m, int n,
                                const double *a, const double *x, double *y) {
    const double one = 1, zero = 0;
    return cublasDgemv(h, op, m, n, &one, a, m, x, 1, &zero, y, 1);
}
static cublasStatus_t blas_gemv(cublasHandle_t h, cublasOperation_t op, int m, int n,
                                const float *a, const float *x, float *y) {
    const float one = 1, zero = 0;
    return cublasSgemv(h, op, m, n, &one, a, m, x, 1, &zero, y, 1);
}
static cublasStatus_t blas_ger(cublasHandle_t h, int m, int n, const double *x, const double *y,
                               double *a) {
    const double one = 1;
    return cublasDger(h, m, n, &one, x, 1, y, 1, a, m);
}
static cublasStatus_t blas_ger(cublasHandle_t h, int m, int n, const float *x, const float *y,
                               float *a) {
    const float one = 1;
    return cublasSger(h, m, n, &one, x, 1, y, 1, a, m);
}
static cublasStatus_t blas_transpose(cublasHandle_t h, int m, int n, const double *a, double *b) {
    const double one = 1, zero = 0;
    return cublasDgeam(h, CUBLAS_OP_T, CUBLAS_OP_N, n, m, &one, a, m, &zero, b, n, b, n);
}
static cublasStatus_t blas_transpose(cublasHandle_t h, int m, int n, const float *a, float *b) {
    const float one = 1, zero = 0;
    return cublasSgeam(h, CUBLAS_OP_T, CUBLAS_OP_N, n, m, &one, a, m, &zero, b, n, b, n);
}

template <class T>
static weft_type type_of() {
    return sizeof(T) == 8 ? WEFT_F64 : WEFT_F32;
}

/* ---- races ---- */

static void tell(const race_to_roofs &r, const char *op, const char *type, const shape &s,
                 double bytes, double seconds, double peer, const char *roof, double roof_gbps,
                 bool ok) {
    printf("{\"op\":\"%s\",\"type\":\"%s\",\"m\":%zu,\"n\":%zu,\"bytes\":%.0f,\"seconds\":%.4g,"
           "\"gbps\":%.1f,\"peer\":\"cuBLAS\",\"peer_seconds\":%.4g,\"peer_ratio\":%.3f,"
           "\"roof\":\"%s\",\"roof_gbps\":%.1f,\"roof_share\":%.3f,\"ok\":%s}\n",
           op, type, s.m, s.n, bytes, seconds, bytes / seconds * 1e-9, peer,
           peer > 0 ? peer / seconds : 0, roof, roof_gbps, bytes / seconds * 1e-9 / roof_gbps,
           ok ? "true" : "false");
    fflush(stdout);
    (void)r;
    all_ok = all_ok && ok;
}

template <class T>
static void run_gemv(const race_to_roofs &r, const shape &s, bool transposed) {
    const size_t results = transposed ? s.n : s.m, terms = transposed ? s.m : s.n;
    device_array<T> a(s.m * s.n), x(terms), y(results), theirs(results);
    fill_random(a.p, s.m * s.n, 1);
    fill_random(x.p, terms, 2);
    const double bytes = (double)(s.m * s.n + s.m + s.n) * sizeof(T);
    const double peer = device_seconds(r.stream, (size_t)bytes, [&] {
        BLAS(blas_gemv(r.blas, transposed ? CUBLAS_OP_T : CUBLAS_OP_N, (int)s.m, (int)s.n, a.p, x.p,
                       theirs.p));
    });
    const double seconds = device_seconds(r.stream, (size_t)bytes, [&] {
        check_weft(r.ctx, weft_gemv(r.ctx, transposed ? WEFT_TRANSPOSE_A : 0, type_of<T>(),
                                    type_of<T>(), results, terms, 1, a.p, s.m, x.p, 1, 0, y.p, 1));
    });
    tell(r, transposed ? "gemv_t" : "gemv_n", weft_type_name(type_of<T>()), s, bytes, seconds, peer,
         "read", r.read_gbps, is_same(y.p, theirs.p, results));
}

template <class T>
static void run_ger(const race_to_roofs &r, const shape &s) {
    device_array<T> a(s.m * s.n), theirs(s.m * s.n), x(s.m), y(s.n);
    fill_random(a.p, s.m * s.n, 1);
    fill_random(theirs.p, s.m * s.n, 1);
    fill_random(x.p, s.m, 2);
    fill_random(y.p, s.n, 3);
    const double bytes = 2.0 * (double)(s.m * s.n) * sizeof(T);
    const double peer = device_seconds(r.stream, (size_t)bytes, [&] {
        BLAS(blas_ger(r.blas, (int)s.m, (int)s.n, x.p, y.p, theirs.p));
    });
    const double seconds = device_seconds(r.stream, (size_t)bytes, [&] {
        check_weft(r.ctx, weft_ger(r.ctx, 0, type_of<T>(), s.m, s.n, 1, x.p, 1, y.p, 1, a.p, s.m));
    });
    tell(r, "ger", weft_type_name(type_of<T>()), s, bytes, seconds, peer, "copy", r.copy_gbps,
         is_same(a.p, theirs.p, s.m * s.n));
}

template <class T>
static void run_transpose(const race_to_roofs &r, const shape &s) {
    device_array<T> a(s.m * s.n), b(s.m * s.n), theirs(s.m * s.n);
    fill_random(a.p, s.m * s.n, 1);
    const double bytes = 2.0 * (double)(s.m * s.n) * sizeof(T);
    const double peer = device_seconds(r.stream, (size_t)bytes, [&] {
        BLAS(blas_transpose(r.blas, (int)s.m, (int)s.n, a.p, theirs.p));
    });
    const double seconds = device_seconds(r.stream, (size_t)bytes, [&] {
        check_weft(r.ctx, weft_transpose(r.ctx, 0, sizeof(T), s.m, s.n, a.p, s.m, b.p, s.n));
    });
    tell(r, "transpose", weft_type_name(type_of<T>()), s, bytes, seconds, peer, "copy", r.copy_gbps,
         is_same(b.p, theirs.p, s.m * s.n));
}

/* Elements of widths that cuBLAS has no transpose for; there and back again must be the same. */
static void run_width(const race_to_roofs &r, size_t width) {
    const shape s = {(size_t)8192, (size_t)8192};
    const size_t bytes = s.m * s.n * width;
    device_array<uint8_t> a(bytes), b(bytes), c(bytes);
    char type[16];
    snprintf(type, sizeof type, "%zu bytes", width);
    fill_random(a.p, bytes, 1);
    const double seconds = device_seconds(r.stream, bytes, [&] {
        check_weft(r.ctx, weft_transpose(r.ctx, 0, width, s.m, s.n, a.p, s.m, b.p, s.n));
    });
    check_weft(r.ctx, weft_transpose(r.ctx, 0, width, s.n, s.m, b.p, s.n, c.p, s.m));
    tell(r, "transpose", type, s, 2.0 * (double)bytes, seconds, 0, "copy", r.copy_gbps,
         is_same(a.p, c.p, bytes));
    const double swapping = device_seconds(r.stream, bytes, [&] {
        check_weft(r.ctx, weft_transpose(r.ctx, 0, width, s.m, s.n, c.p, s.m, c.p, s.n));
    });
    tell(r, "transpose in place", type, s, 2.0 * (double)bytes, swapping, 0, "copy", r.copy_gbps,
         true);
}

template <class T>
static void run_all(const race_to_roofs &r, const char *only, const shape &s) {
    if (!only || strcmp(only, "gemv") == 0) {
        run_gemv<T>(r, s, false);
        run_gemv<T>(r, s, true);
    }
    if (!only || strcmp(only, "ger") == 0)
        run_ger<T>(r, s);
    if (!only || strcmp(only, "transpose") == 0)
        run_transpose<T>(r, s);
}

int main(int argc, char **argv) {
    const char *const only = argc > 1 ? argv[1] : NULL;
    race_to_roofs r;
    r.copy_gbps = copy_roof(r.stream, (size_t)1 << 31);
    r.read_gbps = read_roof(r.stream, (size_t)1 << 31);
    for (const shape &s : shapes) {
        run_all<double>(r, only, s);
        run_all<float>(r, only, s);
    }
    for (size_t width = 1; width <= 16 && (!only || strcmp(only, "transpose") == 0); width++)
        run_width(r, width);
    return all_ok ? 0 : 1;
}
