#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The bars for a cpu of two threads: the first k beside std::partial_sort_copy, reduction by key
# beside reading, two threads beside one. Writes JSON lines to bench/results-local/, which git
# ignores, and prints the rows that miss a bar. Wants a build with -DWEFT_BENCH=ON, and a machine
# with nothing else to do.
#   scripts/bench_cpu.sh [BUILD-FOLDER [LOG2_MOST]]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
most=${2:-24}
mkdir -p bench/results-local
results=bench/results-local/$(date -u +%Y-%m-%dT%H%M%SZ)-cpu.jsonl

"$build/bench/top_k_peer" 20 cpu:2 >>"$results"
"$build/bench/top_k_peer" "$most" cpu:2 >>"$results"
"$build/bench/threads_cpu_peer" "$most" >>"$results"

missed() { # missed KEY LEAST WHAT: the lines whose number is below LEAST
    sed -n "s/.*\"$1\": \([0-9.e+-]*\).*/\1 &/p" "$results" |
        awk -v least="$2" -v what="$3" '$1 + 0 < least { print what ": " $0 }' || true
}

echo "rows that miss a bar:"
awk -F'"peer_seconds": ' '/"top_k"/ {
    split($0, s, /"seconds": /)
    if (s[2] + 0 > $2 + 0) print "top_k slower than std::partial_sort_copy: " $0
}' "$results"
missed read_share 0.7 "by key below 0.7 of reading"
missed speedup 0.97 "two threads slower than one"
echo "bench: written to $results" >&2
