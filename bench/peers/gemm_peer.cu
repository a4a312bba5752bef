/* SPDX-License-Identifier: Apache-2.0 */
/* Races gemm against cuBLAS on the same device arrays in the same process: squares, updates with a
 * short inner size, without and with what was in C, and shapes that are long in one direction. A
 * wrong result ends the program with status 1.
 *
 *   gemm_peer [TYPE]    all types, or one of f64, f32, strict, tf32, f16, bf16, i8 */
#include <string.h>

#include "cublas.cuh"
#include "gemm_race.cuh"

static const shape squares[] = {{1000, 1000, 1000},   {1024, 1024, 1024}, {2000, 2000, 2000},
                                {4096, 4096, 4096},   {4095, 4097, 4099}, {8192, 8192, 8192},
                                {16384, 16384, 16384}};
static const shape others[] = {{16384, 16384, 128}, {16384, 16384, 256}, {16384, 16384, 512},
                               {4096, 4096, 64},    {64, 64, 1 << 20},   {8192, 16, 8192},
                               {33, 8192, 8192},    {8192, 1, 8192}};
/* C += A B, as elimination needs it; only where C is as wide as its sums. */
static const shape added[] = {{16384, 16384, 64, false, false, 1},
                              {16384, 16384, 128, false, false, 1},
                              {16384, 16384, 256, false, false, 1},
                              {16384, 16384, 512, false, false, 1},
                              {4096, 4096, 256, false, false, 1}};

int main(int argc, char **argv) {
    const race r;
    bool all_ok = true;
    /* Else some of its sums of f16 and bf16 are rounded on the way, and cannot be compared. */
    BLAS(cublasSetMathMode(r.blas, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION));
    for (const kind &t : kinds) {
        if (argc > 1 && strcmp(argv[1], t.name) != 0)
            continue;
        for (const shape &s : squares)
            all_ok = run(r, t, s).ok && all_ok;
        for (const shape &s : others)
            all_ok = run(r, t, s).ok && all_ok;
        for (const shape &s : added)
            if (weft_type_size(t.out) >= 4)
                all_ok = run(r, t, s).ok && all_ok;
    }
    return all_ok ? 0 : 1;
}
