#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the test programs on place gpu, plainly and then under compute-sanitizer.
#   scripts/gpu_test.sh [BUILD-FOLDER]
set -euo pipefail
build=${1:-build}
source=$(cd "$(dirname "$0")/.." && pwd)
cuda_folder=${CUDA_HOME:-/usr/local/cuda}
export WEFT_TEST_PLACES=gpu

if ! why=$("$build/weft" reduce "$source/tests/fuzz/npy/f32_vector.npy" --place gpu 2>&1); then
    echo "gpu-test: place gpu does not open, so there is nothing to test on it: $why" >&2
    exit 1
fi

WEFT_TEST_BUDGET=all ctest --test-dir "$build" --output-on-failure

sanitizer=$(command -v compute-sanitizer || echo "$cuda_folder/bin/compute-sanitizer")
if [ ! -x "$sanitizer" ]; then
    echo "gpu-test: the plain run passed, but compute-sanitizer is neither in PATH nor in" \
        "$cuda_folder/bin, so memcheck and racecheck did not run" >&2
    exit 1
fi

# Checked kernels are up to a hundred times slower, so the plain run has the largest sizes and all
# cases to itself. Refusals by the runtime are provoked by the tests and checked by the library.
export WEFT_TEST_MAX=${WEFT_TEST_MAX:-20000} WEFT_TEST_ONE_IN=${WEFT_TEST_ONE_IN:-20}
export WEFT_TEST_BUDGET=${WEFT_TEST_BUDGET:-1}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
check() { # check TOOL OPTION...
    local test
    for test in "$build"/tests/*_test; do
        case $(basename "$test") in
        allocation_test | isa_test | npy_test) continue ;;   # no kernels
        large_test | large_matrices_test) continue ;;        # too many elements
        faults_test) continue ;;                             # it makes a kernel fail
        lu_hpl_test) continue ;; # of the order 20000
        esac
        echo "gpu-test: $1 $(basename "$test")"
        # It counts as a warning that racecheck cannot look into what kernels launch.
        "$sanitizer" --tool "$@" --error-exitcode 99 --print-limit 20 "$test" | tee "$log" ||
            grep -q 'RACECHECK SUMMARY:.*(0 errors' "$log"
    done
}
check memcheck --report-api-errors no
check racecheck
echo "gpu-test: passed plainly and under memcheck and racecheck"
