#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the testers of the reference BLAS (Debian's libblas-test) on libweft_blas, which is preloaded
# over whatever library they are linked with: plain loops for what is small, as by default, and then
# everything through libweft. Says so if there are no testers.
#   WEFT_BUILD=build tests/blas_testers_test.sh
#   WEFT_BLAS_TESTERS=FOLDER                      where they are, if not in /usr/lib/*/blas
#   WEFT_TEST_PLACES="cpu gpu"                    with gpu in it, on a GPU as well
set -euo pipefail
: "${WEFT_BUILD:?run me through ctest}"
library=$WEFT_BUILD/libweft_blas.so
if [ ! -e "$library" ]; then
    echo "blas_testers_test: skipped, as this build has no libweft_blas (WEFT_BLAS=OFF)"
    exit 0
fi
folder=${WEFT_BLAS_TESTERS:-}
for candidate in /usr/lib/*/blas; do
    if [ -z "$folder" ] && [ -x "$candidate/xblat2d" ]; then folder=$candidate; fi
done
if [ -z "$folder" ]; then
    echo "blas_testers_test: skipped, as there are no testers: install libblas-test"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failures=0
runs=0

# run WHERE PROGRAM [INPUT]: all that the program prints, and the summary it writes, must be passes.
run() {
    local where=$1 program=$2 input=${3:-} status=0
    rm -f ./*.out
    LD_PRELOAD=$library "$folder/$program" <"${input:+$folder/}${input:-/dev/null}" >log 2>&1 || status=$?
    cat ./*.out >>log 2>/dev/null || true
    runs=$((runs + 1))
    if [ "$status" != 0 ] || ! grep -q 'PASS' log ||
        grep -q 'FAIL\|\*\*\*\*\*\|ERROR: ld.so\|SUSPECT' <(grep -v 'FATAL\|RATIO' log); then
        failures=$((failures + 1))
        echo "$program, $where: status $status" >&2
        grep 'FAIL\|\*\*\*\*\*\|ERROR\|SUSPECT' log | sort | uniq -c | sort -rn | head -5 >&2 || true
    fi
}

run_all() { # run_all WHERE
    local letter
    for letter in s d; do
        run "$1" "xblat1$letter"
        run "$1" "xblat2$letter" "${letter}blat2.in"
        run "$1" "xblat3$letter" "${letter}blat3.in"
        run "$1" "x${letter}cblat1"
        run "$1" "x${letter}cblat2" "${letter}in2"
        run "$1" "x${letter}cblat3" "${letter}in3"
    done
}

unset WEFT_BLAS_PLACE WEFT_PLACE
WEFT_BLAS_PLACE=cpu run_all 'in plain loops'
export WEFT_BLAS_LARGE_FLOPS=0
WEFT_BLAS_PLACE=cpu:2 run_all 'through libweft'
if [[ " ${WEFT_TEST_PLACES:-} " == *" gpu"* ]]; then
    export WEFT_BLAS_GPU_FLOPS=0 WEFT_BLAS_GPU_FLOPS_A_BYTE=0
    WEFT_BLAS_PLACE=gpu run_all 'on a GPU'
fi
if [ "$failures" != 0 ]; then exit 1; fi
echo "blas_testers_test: $runs runs of the reference testers pass"
