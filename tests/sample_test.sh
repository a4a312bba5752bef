#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The sample operation of docs/adding-an-operation.md, a patch to this tree: it still applies, touches
# one folder, one header and one line of a table, and compiles. scripts/sample.sh builds and runs it.
#   WEFT_SOURCE=. WEFT_BUILD=build tests/sample_test.sh
set -euo pipefail
: "${WEFT_BUILD:?run me through ctest}" "${WEFT_SOURCE:?}" "${CC:=cc}" "${CXX:=c++}"
patch=$WEFT_SOURCE/tests/sample/negate.patch
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
    echo "sample_test: $*" >&2
    exit 1
}

mkdir -p "$folder/src/core"
cp "$WEFT_SOURCE/src/core/ops.def" "$folder/src/core/"
patch -s -d "$folder" -p1 <"$patch" || fail 'the patch does not apply'

others=$(sed -n 's#^+++ b/##p' "$patch" | grep -vE '^(src/negate/|include/weft/negate\.h$)')
[ "$others" = src/core/ops.def ] || fail "it touches, beside its folder and header: $others"
added=$(diff "$WEFT_SOURCE/src/core/ops.def" "$folder/src/core/ops.def" | grep -c '^[<>]') || true
[ "$added" = 1 ] || fail "it changes $added lines of the table"

include=(-I"$folder/include" -I"$folder/src" -I"$WEFT_BUILD/include" -I"$WEFT_SOURCE/include"
    -I"$WEFT_SOURCE/src" -I"$WEFT_SOURCE/tests" -DWEFT_LADDER=1)
for file in "$folder"/src/negate/*.c; do
    "$CC" -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror "${include[@]}" -fsyntax-only "$file" ||
        fail "${file#"$folder/"} does not compile"
done
"$CXX" -std=c++17 -Wall -Wextra -Werror -I"$WEFT_SOURCE/emu/include" "${include[@]}" -DWEFT_CUDA=1 \
    -DWEFT_EMU=1 -include cuda_runtime.h -fsyntax-only -x c++ "$folder/src/negate/negate_cuda.cu" ||
    fail 'negate_cuda.cu does not compile for emu'
echo 'sample_test: one folder, one header, one line'
