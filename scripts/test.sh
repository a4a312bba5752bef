#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of a build folder, each program on place emu with one of the eight seeds, or two
# (docs/emu.md): which is the number of the round. A round is drawn from the clock unless
# WEFT_TEST_ROUND is 0 ... 3; "all" runs all eight seeds. With WEFT_TEST_SEEDS=1 no program has two, and
# there are eight rounds.
#   scripts/test.sh BUILD-FOLDER [JOBS]
set -euo pipefail
build=$1 jobs=${2:-$(nproc)} seeds=${WEFT_TEST_SEEDS:-2}
case $seeds in
1) rounds=8 ;;
2) rounds=4 ;;
*)
    echo "test: WEFT_TEST_SEEDS is \"$seeds\": give 1 or 2" >&2
    exit 2
    ;;
esac
round=${WEFT_TEST_ROUND:-$(($(date +%s) / 60 % rounds))}

if [ "$round" = all ]; then
    left_out=none
    echo "test: emu runs with all eight seeds"
elif [[ $round =~ ^[0-7]$ ]] && [ "$round" -lt "$rounds" ]; then
    others=0123
    left_out="(round_[${others/$((round % 4))/}]|later)"
    [ "$seeds" = 2 ] || left_out="(round_[${others/$((round % 4))/}]|half_$((1 - round / 4))|later)"
    echo "test: emu runs with round $round of the seeds: WEFT_TEST_SEEDS=$seeds WEFT_TEST_ROUND=$round runs the same again"
else
    echo "test: WEFT_TEST_ROUND is \"$round\": give 0 ... $((rounds - 1)) or all" >&2
    exit 2
fi
unset WEFT_TEST_SEEDS
unset WEFT_TEST_ROUND
# Open MPI looks for networks whenever it starts, for longer than it takes to start: it need not here.
export OMPI_MCA_pml=${OMPI_MCA_pml:-ob1}
ctest --test-dir "$build" --output-on-failure -j "$jobs" -LE "^$left_out\$"
