#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every libFuzzer target for some seconds, starting from its seed corpus. What it finds stays in
# the build folder. calls_fuzz, which draws calls from the bytes, has no seeds.
#   scripts/fuzz.sh BUILD-FOLDER SECONDS
set -euo pipefail
build=$1
seconds=$2
source=$(cd "$(dirname "$0")/.." && pwd)

for fuzzer in "$build"/fuzz/*_fuzz; do
    name=$(basename "$fuzzer" _fuzz)
    mkdir -p "$build/fuzz/corpus-$name"
    corpus=("$build/fuzz/corpus-$name" "$source/tests/fuzz/$name")
    if [ "$name" = calls ]; then
        corpus=("$build/fuzz/corpus-$name" -max_len=512 -timeout=120)
    fi
    "$fuzzer" -max_total_time="$seconds" -rss_limit_mb=1024 -artifact_prefix="$build/fuzz/" \
        "${corpus[@]}"
done
