#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Adds the sample operation of docs/adding-an-operation.md to a copy of the tree, builds it there with
# emu, and runs its tests and its climb.
#   scripts/sample.sh
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
tree=$source/build-sample/tree
build=$source/build-sample/build

rm -rf "$tree"
mkdir -p "$tree"
(cd "$source" && git ls-files -z --cached --others --exclude-standard |
    xargs -0 sh -c 'for f; do [ ! -e "$f" ] || printf "%s\0" "$f"; done' - |
    tar -c --null -T - -f -) | tar -x -C "$tree" -f -
patch -s -d "$tree" -p1 <"$source/tests/sample/negate.patch"

launcher=()
if command -v ccache >/dev/null; then
    launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
cmake -S "$tree" -B "$build" -G "Unix Makefiles" -DWEFT_CUDA=OFF -DWEFT_TESTS=ON -DWEFT_EMU=ON \
    "${launcher[@]}" >/dev/null
cmake --build "$build" -j "$(nproc)" --target negate_test emu_negate_test arguments_test \
    weft_command >/dev/null
ctest --test-dir "$build" --no-tests=error -R '^(emu_)?negate_test|^arguments_test'
"$build/weft" climb negate --n 1e6
echo 'sample: built, tested, climbed'
