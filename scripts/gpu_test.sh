#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the test programs on place gpu, plainly and then under compute-sanitizer.
#   scripts/gpu_test.sh [BUILD-FOLDER]
set -euo pipefail
build=${1:-build}
cuda_folder=${CUDA_HOME:-/usr/local/cuda}
export WEFT_TEST_PLACES=gpu

if ! WEFT_PLACE=gpu "$build/weft" reduce - --op sum >/dev/null 2>&1 </dev/null &&
    ! "$build/weft" info 2>/dev/null | grep -q 'gpu:0'; then
    echo "gpu-test: no GPU opens on this machine, so there is nothing to test:" >&2
    "$build/weft" info >&2 || true
    exit 1
fi

ctest --test-dir "$build" --output-on-failure

sanitizer=$(command -v compute-sanitizer || echo "$cuda_folder/bin/compute-sanitizer")
if [ ! -x "$sanitizer" ]; then
    echo "gpu-test: the plain run passed, but compute-sanitizer is neither in PATH nor in" \
        "$cuda_folder/bin, so memcheck and racecheck did not run" >&2
    exit 1
fi

# Checked kernels are up to a hundred times slower, so the largest sizes are left to the plain run.
export WEFT_TEST_MAX=${WEFT_TEST_MAX:-20000}
for tool in memcheck racecheck; do
    for test in core_test stage_test map_test reduce_test scan_test; do
        if [ -x "$build/tests/$test" ]; then
            echo "gpu-test: $tool $test"
            "$sanitizer" --tool "$tool" --error-exitcode 99 --print-limit 20 "$build/tests/$test"
        fi
    done
done
echo "gpu-test: passed plainly and under memcheck and racecheck"
