#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy (.clang-tidy) and cppcheck over the C sources of a configured build; any finding fails.
#   scripts/lint.sh BUILD-FOLDER
set -euo pipefail
build=$1
cd "$(dirname "$0")/.."

# clang-tidy knows no -mprefer-vector-width-like GCC extras, and *_simd.c is one file three times.
mapfile -t files < <(sed -n 's/^ *"file": "\(.*\)".*/\1/p' "$build/compile_commands.json" | sort -u)
printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 4 clang-tidy -p "$build" --quiet \
    --warnings-as-errors='*'

cppcheck --project="$build/compile_commands.json" --enable=warning,portability,performance \
    --inline-suppr --suppress=missingIncludeSystem --suppress='*:*/src/*/*.inc' \
    --library=posix --error-exitcode=1 --quiet -j "$(nproc)"
echo "lint: clean"
