#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the fuzzer of the public calls for some seconds on cpu and as many on emu, from a seed that it
# prints. emu's processes are short, each with another seed of schedules: so a replay is short too.
#   scripts/fuzz_calls.sh BUILD-FOLDER SECONDS [SEED]
set -euo pipefail
programs=$1/tests
seconds=$2
seed=${3:-$((RANDOM << 15 | RANDOM))}
sessions=25

# Runs a fuzzer; if it finds something, says what repeats it, and the call that it was in.
run() { # run VARIABLE=VALUE... PROGRAM - COUNT FIRST
    if ! env "$@" >/dev/null; then
        echo "found by: env $*" >&2
        echo "its last call:" >&2
        env WEFT_FUZZ_SAY=1 "$@" 2>&1 | grep '; place ' | tail -n 1 >&2
        exit 1
    fi
}

echo "fuzz_calls: seed $seed, $seconds s on cpu"
run "$programs/calls_fuzz" - "${seconds}s" "$((seed * 1000000))"

echo "fuzz_calls: seed $seed, $seconds s on emu"
end=$((SECONDS + seconds))
first=$((seed * 1000000))
while [ "$SECONDS" -lt "$end" ]; do
    run WEFT_EMU_SEED="$((first % 1000003))" "$programs/emu_calls_fuzz" - "$sessions" "$first"
    first=$((first + sessions))
done
echo "fuzz_calls: nothing found"
