#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What `make demo` configures: the operations that `weft demo` shows are compiled as ever, what it does
# not show with less optimisation, and no build but that one is of this kind.
set -euo pipefail
source=${WEFT_SOURCE:?} build=${WEFT_BUILD:?} cmake=${CMAKE:-cmake}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
    echo "demo_build_test: $*" >&2
    exit 1
}

"$cmake" -S "$source" -B "$folder" -DWEFT_DEMO=ON -DWEFT_CUDA=OFF -DWEFT_TESTS=OFF -DWEFT_MPI=OFF \
    -DWEFT_OPENACC=OFF -DWEFT_FORTRAN=OFF -DCMAKE_BUILD_TYPE=Release >/dev/null

# Whether a file of the library, not of its copy for emu, is compiled with little optimisation: the last
# level on its line counts. For AVX-512 it is so as well where tests run on a processor without that.
is_little() { # is_little FOLDER FILE
    grep -E "\"command\".*/weft_(c|simd_base|simd_avx2)\.dir/.*/src/$2\"*,*\$" "$1/compile_commands.json" |
        grep -q -- ' -O3 .*-O[1g] '
}

for shown in scan/scan_simd.c sort/sort_simd.c reduce/reduce_cpu.c exact/exact_cpu.c cpu/team.c; do
    ! is_little "$folder" "$shown" || fail "$shown is shown, and compiled with little optimisation"
done
for other in gemm/gemm_simd.c fft/fft.c sparse/factor.c; do
    is_little "$folder" "$other" || fail "$other is not shown, and takes long to compile"
    ! is_little "$build" "$other" || fail "$other is slow in a usual build"
done
echo "demo_build_test: passed"
