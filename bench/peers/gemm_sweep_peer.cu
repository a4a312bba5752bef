/* SPDX-License-Identifier: Apache-2.0 */
/* Races gemm against cuBLAS over 60 shapes in each of five types: squares, odd sizes, thin and flat
 * ones, few terms and many, each with some of the transposes. At the end standard error gets the
 * least ratio of each type. A wrong result ends the program with status 1.
 *
 *   gemm_sweep_peer [TYPE [RUNG]]    all types, or one of f64, f32, tf32, f16, bf16; RUNG alone,
 * where it can do them */
#include <string.h>

#include "cublas.cuh"
#include "gemm_race.cuh"

static const shape shapes[] = {
    /* squares */
    {64, 64, 64, false, false},
    {128, 128, 128, false, true},
    {256, 256, 256, false, false},
    {384, 384, 384, true, false},
    {512, 512, 512, false, false},
    {768, 768, 768, true, true},
    {1024, 1024, 1024, false, false},
    {1536, 1536, 1536, false, true},
    {2048, 2048, 2048, false, false},
    {3072, 3072, 3072, true, false},
    {4096, 4096, 4096, false, false},
    {4096, 4096, 4096, true, true},
    {6144, 6144, 6144, false, true},
    {8192, 8192, 8192, false, false},
    /* odd sizes */
    {100, 100, 100, false, false},
    {127, 129, 131, true, false},
    {333, 777, 555, false, true},
    {1000, 1000, 1000, false, false},
    {1001, 999, 1003, false, false},
    {1111, 2222, 3333, true, false},
    {2000, 2000, 2000, false, false},
    {3000, 3000, 3000, false, true},
    {4095, 4097, 4099, false, false},
    {5000, 3001, 2003, true, true},
    /* thin */
    {8192, 1, 8192, false, false},
    {8192, 4, 8192, true, false},
    {8192, 8, 4096, false, false},
    {8192, 16, 8192, false, false},
    {16384, 32, 4096, false, false},
    {8192, 48, 2048, true, false},
    {8192, 64, 8192, false, true},
    {10000, 100, 3000, false, false},
    /* flat */
    {1, 8192, 8192, false, false},
    {7, 8191, 4097, false, false},
    {16, 8192, 8192, false, true},
    {33, 8192, 8192, false, false},
    {48, 4096, 4096, true, false},
    {64, 16384, 2048, false, false},
    {100, 10000, 3000, false, true},
    {128, 8192, 4096, false, false},
    /* few terms */
    {4096, 4096, 1, false, false},
    {4096, 4096, 8, false, true},
    {8192, 8192, 16, false, false},
    {4096, 4096, 32, true, false},
    {4096, 4096, 64, false, false},
    {8192, 8192, 100, false, true},
    {16384, 16384, 128, false, false},
    {16384, 16384, 256, false, false},
    {8192, 8192, 512, true, true},
    {12000, 500, 96, false, false},
    /* many terms */
    {16, 16, 1 << 20, true, false},
    {64, 64, 1 << 20, false, false},
    {33, 65, 300001, false, false},
    {128, 128, 1 << 18, true, false},
    {256, 256, 1 << 16, false, true},
    {500, 300, 50000, false, false},
    {512, 512, 1 << 15, true, false},
    {1024, 1024, 1 << 15, false, true},
    {1000, 64, 100000, false, false},
    {2048, 256, 1 << 15, true, true}};
static_assert(sizeof shapes / sizeof *shapes == 60, "the sweep has 60 shapes");

/* Races all shapes of a type; false if a result was wrong. */
static bool sweep(const race &r, const kind &t) {
    constexpr double asked = 0.9;
    double least = 0;
    int count = 0, below = 0;
    bool all_ok = true;
    for (const shape &s : shapes) {
        const gemm_result result = run(r, t, s);
        all_ok = all_ok && result.ok;
        if (!result.ran)
            continue;
        least = count == 0 || result.ratio < least ? result.ratio : least;
        below += result.ratio < asked;
        count++;
    }
    fprintf(stderr, "%s: %d shapes, the least ratio %.3f, below %.1f: %d\n", t.name, count, least,
            asked, below);
    return all_ok;
}

int main(int argc, char **argv) {
    const race r;
    bool all_ok = true;
    /* Else some of its sums of f16 and bf16 are rounded on the way, and cannot be compared. */
    BLAS(cublasSetMathMode(r.blas, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION));
    if (argc > 2)
        check_weft(r.ctx, weft_use(r.ctx, "gemm", argv[2]));
    for (const kind &t : kinds) {
        const bool swept = strcmp(t.name, "strict") != 0 && t.type != WEFT_I8;
        if (swept && (argc < 2 || strcmp(argv[1], t.name) == 0))
            all_ok = sweep(r, t) && all_ok;
    }
    return all_ok ? 0 : 1;
}
