#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs one program, tests/same/same_program.c, on every place there is: all print the same lines.
set -euo pipefail
: "${WEFT_BUILD:?run me through ctest}" "${WEFT_SOURCE:?}"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export ASAN_OPTIONS=detect_leaks=0 # MPI keeps some memory to the end
program=$WEFT_BUILD/tests/same_program emu_program=$WEFT_BUILD/tests/emu_same_program
wanted=$("$program" cpu:1)
failures=0

# same PLACE RANKS PROGRAM
same() {
    local got
    if [ "$2" = 1 ]; then
        got=$("$3" "$1") || true
    else
        got=$("$MPIRUN" --oversubscribe --bind-to none -np "$2" "$3" "$1" | tr -d '\r') || true
    fi
    if [ "$got" != "$wanted" ]; then
        echo "FAIL: $2 x $1: $got" >&2
        failures=$((failures + 1))
    fi
}

echo "$wanted"
same cpu:3 1 "$program"
if [ -x "$emu_program" ]; then
    same emu 1 "$emu_program"
    spread= # every call that can go to all GPUs
    for op in map reduce scan select histogram sort merge search is_sorted top_k quantile gather scatter \
        columns group group_keys group_scan; do
        spread=$spread,$op:ranks
    done
    for gpus in 1 2 3 4; do
        WEFT_EMU_DEVICES=$gpus same emus 1 "$emu_program"
        WEFT_EMU_DEVICES=$gpus WEFT_VARIANT=${spread#,} same emus 1 "$emu_program"
    done
fi
if [ "${WEFT_MPI:-0}" = 1 ] && [ -n "${MPIRUN:-}" ]; then
    same mpi:cpu:1 1 "$program"
    same mpi:cpu:1 3 "$program"
    same mpi 2 "$program"
    if [ -x "$emu_program" ]; then same mpi:emu 2 "$emu_program"; fi
else
    echo "same_program_test: no mpirun, or a build without MPI: places over ranks are left out"
fi
exit "$((failures > 0))"
