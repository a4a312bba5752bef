#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy (.clang-tidy) and cppcheck over the C sources of a configured build; any finding fails.
#   scripts/lint.sh BUILD-FOLDER
set -euo pipefail
build=$1
cd "$(dirname "$0")/.."

failed=0
mapfile -t files < <(sed -n 's/^ *"file": "\(.*\)".*/\1/p' "$build/compile_commands.json" | sort -u)
printf '%s\0' "${files[@]}" |
    xargs -0 -P "$(nproc)" -n 4 clang-tidy -p "$build" --quiet 2>"$build/clang-tidy.log" || failed=1

cppcheck --project="$build/compile_commands.json" --enable=warning,portability,performance \
    --suppress=missingIncludeSystem --suppressions-list=scripts/cppcheck.suppress --library=posix --error-exitcode=1 --quiet -j "$(nproc)" ||
    failed=1

if [ "$failed" -ne 0 ]; then
    echo "lint: see the findings above" >&2
    exit 1
fi
echo "lint: clean"
