#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every peer race and climbs every ladder; JSON lines go to bench/results-local/, which git
# ignores, and to the screen.
#   scripts/bench.sh [BUILD-FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
mkdir -p bench/results-local
results=bench/results-local/$(date -u +%Y-%m-%dT%H%M%SZ).jsonl

for peer in "$build"/bench/*_peer; do
    if [ -x "$peer" ]; then
        "$peer" | tee -a "$results" || [ "${PIPESTATUS[0]}" -eq 77 ] # 77: no place to race on
    fi
done
# "stage" is climbed by map, on a GPU.
sed -n '/(stage)/d; s/^WI_OP(\(.*\))$/\1/p' src/core/ops.def | while IFS= read -r op; do
    "$build/weft" climb "$op" --json </dev/null | tee -a "$results"
done
echo "bench: written to $results" >&2
