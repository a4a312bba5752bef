#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What `make test-all` runs after the tests: large arrays where there is memory for them, the fuzzers
# for a minute each, and the faults planted on purpose. Says what it leaves out, and why.
#   scripts/test_all.sh BUILD-FOLDER
set -euo pipefail
build=$1
seconds=60
large_kib=$((13 << 20)) # three times 4 GiB, and what calls take beside it

memory_kib=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo 2>/dev/null || echo 0)
if [ "${memory_kib:-0}" -ge "$large_kib" ]; then
    echo "test-all: counts beyond 2^32"
    WEFT_TEST_LARGE=1 WEFT_TEST_PLACES=cpu "$build/tests/large_test"
    echo "test-all: matrices with more than 2^31 rows"
    WEFT_TEST_LARGE=1 WEFT_TEST_PLACES=cpu "$build/tests/large_matrices_test"
else
    echo "test-all: left out: counts beyond 2^32, for 13 GiB of memory are not free"
fi

scripts/fuzz_calls.sh "$build" "$seconds"

if command -v clang >/dev/null; then
    make fuzz SECONDS_EACH="$seconds"
else
    echo "test-all: left out: the fuzzers of the file readers, for there is no clang"
fi

scripts/abi.sh

echo "test-all: an operation added to a copy of the tree"
scripts/sample.sh

if [ -x scripts/mutants.sh ]; then
    echo "test-all: faults planted on purpose"
    scripts/mutants.sh
fi
echo "test-all: all passed"
