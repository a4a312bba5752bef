#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of a build folder, on place emu with four of the eight seeds: one for each way of
# scheduling, drawn by the number of the round. A round is drawn from the clock unless
# WEFT_TEST_ROUND is 0 ... 15; "all" runs all eight.
#   scripts/test.sh BUILD-FOLDER [JOBS]
set -euo pipefail
build=$1 jobs=${2:-$(nproc)}
round=${WEFT_TEST_ROUND:-$(($(date +%s) / 60 % 16))}

left_out=()
if [ "$round" = all ]; then
    echo "test: emu runs with all eight seeds"
else
    seeds=()
    [[ $round =~ ^([0-9]|1[0-5])$ ]] || {
        echo "test: WEFT_TEST_ROUND is \"$round\": give 0 ... 15 or all" >&2
        exit 2
    }
    for policy in 0 1 2 3; do # a seed's policy is the seed modulo 4
        upper=$((round >> policy & 1))
        seeds+=($((policy + 4 * upper)))
        left_out+=("seed_$((policy + 4 * (1 - upper)))")
    done
    echo "test: emu runs with seeds ${seeds[*]}: WEFT_TEST_ROUND=$round runs these again"
fi
exclude=$(IFS='|' && echo "${left_out[*]:-none}")
unset WEFT_TEST_ROUND
ctest --test-dir "$build" --output-on-failure -j "$jobs" -LE "^($exclude)\$"
