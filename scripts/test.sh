#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of a build folder, each program on place emu with two of the eight seeds: which two
# is the number of the round, and four rounds run all; on several GPUs, with one of them. A round is
# drawn from the clock unless WEFT_TEST_ROUND is 0 ... 3; "all" runs all eight.
#   scripts/test.sh BUILD-FOLDER [JOBS]
set -euo pipefail
build=$1 jobs=${2:-$(nproc)}
round=${WEFT_TEST_ROUND:-$(($(date +%s) / 60 % 4))}

case $round in
all)
    left_out=none
    echo "test: emu runs with all eight seeds"
    ;;
[0-3])
    others=0123
    left_out="(round_[${others/$round/}]|later)"
    echo "test: emu runs with two seeds: WEFT_TEST_ROUND=$round runs the same again"
    ;;
*)
    echo "test: WEFT_TEST_ROUND is \"$round\": give 0 ... 3 or all" >&2
    exit 2
    ;;
esac
unset WEFT_TEST_ROUND
# Open MPI looks for networks whenever it starts, for longer than it takes to start: it need not here.
export OMPI_MCA_pml=${OMPI_MCA_pml:-ob1}
ctest --test-dir "$build" --output-on-failure -j "$jobs" -LE "^$left_out\$"
