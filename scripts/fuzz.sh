#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every libFuzzer target for some seconds, starting from its seed corpus. What it finds stays in
# the build folder.
#   scripts/fuzz.sh BUILD-FOLDER SECONDS
set -euo pipefail
build=$1
seconds=$2
source=$(cd "$(dirname "$0")/.." && pwd)

for fuzzer in "$build"/fuzz/*_fuzz; do
    name=$(basename "$fuzzer" _fuzz)
    mkdir -p "$build/fuzz/corpus-$name"
    "$fuzzer" -max_total_time="$seconds" -rss_limit_mb=1024 -artifact_prefix="$build/fuzz/" \
        "$build/fuzz/corpus-$name" "$source/tests/fuzz/$name"
done
