#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs clang-format 14, and no other version, over every C and CUDA source. Versions differ in taste,
# so another one would change files back and forth. The .inc files are left as they are: their
# functions are named by macros, which clang-format takes for something else.
#   scripts/format.sh [-i | --dry-run -Werror]      without options: -i
set -euo pipefail
[ $# -gt 0 ] || set -- -i
cd "$(dirname "$0")/.."

scripts/setup.sh format
formatter=clang-format-14
command -v $formatter >/dev/null || formatter=clang-format

scripts/sources.sh | grep -E '\.(c|h|cu|cuh|cpp|hpp)$' | tr '\n' '\0' |
    xargs -0 -r -n 50 -P "$(nproc)" "$formatter" "$@"
