#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles each C source that asks whether there is CUDA as a build without CUDA does, with warnings
# as errors: else such a build would be the first to see that something is only used with CUDA.
set -euo pipefail
build=${WEFT_BUILD:?} source=${WEFT_SOURCE:?}

cd "$build"
compiled=0
while IFS= read -r file; do
    command=$(grep -F -- "-c $file\"" compile_commands.json | grep -v -e -DWEFT_EMU |
        sed -n '1s/^ *"command": "\(.*\)",$/\1/p') || continue # not of this build
    command=$(sed -E 's/\\(.)/\1/g; s/ -DWEFT_(CUDA|RING)=1//g; s/ -O[0-3s]//; s/ -o [^ ]+ -c / -o \/dev\/null -c /' \
        <<<"$command")
    said=$(eval "$command -Wall -Wextra -Werror" 2>&1) || {
        printf 'no_cuda_test: without CUDA %s does not compile:\n%s\n' "$file" "$said" >&2
        exit 1
    }
    compiled=$((compiled + 1))
done < <(grep -rlE 'WEFT_(CUDA|RING)' --include='*.c' "$source/src" "$source/tests")
echo "no_cuda_test: $compiled sources"
[ "$compiled" -gt 40 ]
