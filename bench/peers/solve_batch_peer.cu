/* SPDX-License-Identifier: Apache-2.0 */
/* Races batches of small systems against cuBLAS's getrfBatched and getrsBatched on the same device
 * arrays in the same process and in turns. "solve_batch" is one call of ours beside both of theirs.
 * Where matrices are overwritten each call begins with a copy of them, whose
 * own time is taken off. A residual that is more than rounding ends the program with status 1.
 *
 *   solve_batch_peer [TYPE [COUNT]]    f64 or f32; 100000 systems */
#include <string.h>

#include "cublas.cuh"

static bool all_ok = true;

/* ---- cuBLAS by type ---- */

static cublasStatus_t blas_factor(cublasHandle_t h, int n, double *const *a, int *pivot, int *info,
                                  int count) {
    return cublasDgetrfBatched(h, n, a, n, pivot, info, count);
}
static cublasStatus_t blas_factor(cublasHandle_t h, int n, float *const *a, int *pivot, int *info,
                                  int count) {
    return cublasSgetrfBatched(h, n, a, n, pivot, info, count);
}
static cublasStatus_t blas_solve(cublasHandle_t h, int n, int rhs, double *const *a,
                                 const int *pivot, double *const *b, int *info, int count) {
    return cublasDgetrsBatched(h, CUBLAS_OP_N, n, rhs, a, n, pivot, b, n, info, count);
}
static cublasStatus_t blas_solve(cublasHandle_t h, int n, int rhs, float *const *a,
                                 const int *pivot, float *const *b, int *info, int count) {
    return cublasSgetrsBatched(h, CUBLAS_OP_N, n, rhs, a, n, pivot, b, n, info, count);
}

/* ---- data ---- */

template <class T>
__global__ void point(T **to, T *first, size_t apart, size_t count) {
    const size_t s = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (s < count)
        to[s] = first + s * apart;
}

/* Counts rows whose residual is more than rounding. */
template <class T>
__global__ void count_off(const T *a, const T *b, const T *x, int n, int rhs, size_t count,
                          unsigned long long *off) {
    const size_t rows = count * (size_t)n, stride = (size_t)gridDim.x * blockDim.x;
    for (size_t r = (size_t)blockIdx.x * blockDim.x + threadIdx.x; r < rows; r += stride) {
        const size_t s = r / n, i = r % n;
        for (int j = 0; j < rhs; j++) {
            const size_t side = (s * rhs + j) * n;
            double sum = -(double)b[side + i], size = fabs(sum);
            for (int k = 0; k < n; k++) {
                const double y = (double)a[s * n * n + k * n + i] * (double)x[side + k];
                sum += y;
                size += fabs(y);
            }
            if (!(fabs(sum) <= n * (sizeof(T) == 8 ? 1e-14 : 1e-5) * size))
                atomicAdd(off, 1ull);
        }
    }
}

template <class T>
struct systems {
    int n, rhs;
    size_t count;
    device_array<T> a, b, factors, x, their_factors, their_x;
    device_array<T *> matrices, sides;
    device_array<int> pivot, their_pivot, info, their_info;

    systems(int n_, int rhs_, size_t count_)
        : n(n_), rhs(rhs_), count(count_), a(count * n * n), b(count * n * rhs),
          factors(count * n * n), x(count * n * rhs), their_factors(count * n * n),
          their_x(count * n * rhs), matrices(count), sides(count), pivot(count * n),
          their_pivot(count * n), info(count), their_info(count) {
        const unsigned blocks = (unsigned)((count + filling_threads - 1) / filling_threads);
        fill_reals(a.p, count * n * n, 1);
        fill_reals(b.p, count * n * rhs, 2);
        point<<<blocks, filling_threads>>>(matrices.p, their_factors.p, (size_t)n * n, count);
        point<<<blocks, filling_threads>>>(sides.p, their_x.p, (size_t)n * rhs, count);
        CUDA(cudaDeviceSynchronize());
    }
    size_t matrix_bytes() const {
        return count * n * n * sizeof(T);
    }
    size_t side_bytes() const {
        return count * n * rhs * sizeof(T);
    }
    bool is_right(const T *found) const {
        device_array<unsigned long long> off(1);
        CUDA(cudaMemset(off.p, 0, sizeof(unsigned long long)));
        count_off<<<filling_blocks, filling_threads>>>(a.p, b.p, found, n, rhs, count, off.p);
        unsigned long long wrong = 1;
        CUDA(cudaMemcpy(&wrong, off.p, sizeof wrong, cudaMemcpyDefault));
        /* random matrices: among so many some are nearly singular, and factors have grown */
        return wrong <= count * n / 1000;
    }
};

static void copy(const race &r, void *to, const void *from, size_t bytes) {
    CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, r.stream));
}

/* ---- races ---- */

/* `bytes` are the fewest; `roof` GB/s is what copying reaches. */
static void tell(const char *op, const char *type, int n, int rhs, size_t count, double bytes,
                 double seconds, double peer, double roof, bool ok) {
    printf("{\"op\":\"%s\",\"type\":\"%s\",\"n\":%d,\"right_hand_sides\":%d,\"count\":%zu,"
           "\"seconds\":%.4g,\"gbps\":%.1f,\"peer\":\"cuBLAS\",\"peer_seconds\":%.4g,"
           "\"peer_ratio\":%.3f,\"roof\":\"copy\",\"roof_share\":%.3f,\"ok\":%s}\n",
           op, type, n, rhs, count, seconds, bytes / seconds * 1e-9, peer, peer / seconds,
           bytes / seconds * 1e-9 / roof, ok ? "true" : "false");
    fflush(stdout);
    all_ok = all_ok && ok;
}

template <class T>
static void race_order(const race &r, int n, int rhs, size_t count, double roof) {
    constexpr weft_type type = sizeof(T) == 8 ? WEFT_F64 : WEFT_F32;
    const char *const name = sizeof(T) == 8 ? "f64" : "f32";
    systems<T> s(n, rhs, count);
    const size_t apart = (size_t)n * n, side = (size_t)n * rhs;
    int info = 0;
    const auto our_factor = [&] {
        copy(r, s.factors.p, s.a.p, s.matrix_bytes());
        check_weft(r.ctx, weft_lu_factor_batch_strided(r.ctx, 0, type, n, s.factors.p, n, apart,
                                                       s.pivot.p, s.info.p, count));
    };
    const auto their_factor = [&] {
        copy(r, s.their_factors.p, s.a.p, s.matrix_bytes());
        BLAS(blas_factor(r.blas, n, s.matrices.p, s.their_pivot.p, s.their_info.p, (int)count));
    };
    const auto our_solve = [&] {
        copy(r, s.x.p, s.b.p, s.side_bytes());
        check_weft(r.ctx, weft_solve_batch_strided(r.ctx, 0, type, n, rhs, s.a.p, n, apart, s.x.p,
                                                   n, side, s.info.p, count));
    };
    const auto their_solve = [&] {
        their_factor();
        copy(r, s.their_x.p, s.b.p, s.side_bytes());
        BLAS(blas_solve(r.blas, n, rhs, s.matrices.p, s.their_pivot.p, s.sides.p, &info,
                        (int)count));
    };
    const auto our_two = [&] {
        our_factor();
        copy(r, s.x.p, s.b.p, s.side_bytes());
        check_weft(r.ctx, weft_lu_solve_batch_strided(r.ctx, 0, type, n, rhs, s.factors.p, n, apart,
                                                      s.pivot.p, s.x.p, n, side, count));
    };
    const double copying = device_seconds(r.stream, s.matrix_bytes(),
                                          [&] { copy(r, s.factors.p, s.a.p, s.matrix_bytes()); });
    double seconds, peer;
    seconds_in_turns(r.stream, s.matrix_bytes(), our_factor, their_factor, &seconds, &peer);
    tell("lu_factor_batch", name, n, 0, count, 2.0 * (double)s.matrix_bytes(), seconds - copying,
         peer - copying, roof, true);
    seconds_in_turns(r.stream, s.matrix_bytes(), our_two, their_solve, &seconds, &peer);
    const bool two_ok = s.is_right(s.x.p);
    tell("lu_factor_batch and lu_solve_batch", name, n, rhs, count,
         (double)(3 * s.matrix_bytes() + 2 * s.side_bytes()), seconds - copying, peer - copying,
         roof, two_ok);
    seconds_in_turns(r.stream, s.matrix_bytes(), our_solve, their_solve, &seconds, &peer);
    tell("solve_batch", name, n, rhs, count, (double)(s.matrix_bytes() + 2 * s.side_bytes()),
         seconds, peer - copying, roof, s.is_right(s.x.p) && s.is_right(s.their_x.p));
}

template <class T>
static void run(const race &r, size_t count, double roof) {
    for (int n : {4, 8, 16, 24, 32, 48, 64})
        race_order<T>(r, n, 1, count, roof);
    for (int n : {8, 16, 32})
        race_order<T>(r, n, 4, count, roof);
}

int main(int argc, char **argv) {
    const race r;
    const size_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 100000;
    const double roof = copy_roof(r.stream, (size_t)1 << 30);
    if (argc < 2 || strcmp(argv[1], "f64") == 0)
        run<double>(r, count, roof);
    if (argc < 2 || strcmp(argv[1], "f32") == 0)
        run<float>(r, count, roof);
    return all_ok ? 0 : 1;
}
