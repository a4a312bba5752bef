#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compares the ABI of the library with that of the last tag, by abidiff: what programs that were built
# against that release rely on may be added to, not changed. Builds both, without CUDA and without
# optimisation, in build-abi. Says why it does nothing where there is no abidiff or no tag.
#   scripts/abi.sh [JOBS]
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${1:-2}

if ! command -v abidiff >/dev/null; then
    echo "abi: left out: there is no abidiff here (install abigail-tools)"
    exit 0
fi
tag=$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null || true)
if [ -z "$tag" ]; then
    echo "abi: left out: there is no release to compare with (a tag like v0.1.0)"
    exit 0
fi

build() { # build SOURCES NAME
    cmake -S "$1" -B "build-abi/$2" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG="-O0 -g -w" \
        -DWEFT_CUDA=OFF -DWEFT_TESTS=OFF -DWEFT_MPI=OFF -DWEFT_OPENACC=OFF -DWEFT_LADDER=OFF \
        -DWEFT_FORTRAN=OFF -DWEFT_WERROR=OFF -DWEFT_ISA=NATIVE >/dev/null
    cmake --build "build-abi/$2" -j "$jobs" --target weft_shared >/dev/null
}
mkdir -p "build-abi/sources-$tag"
git archive "$tag" | tar -xf - -C "build-abi/sources-$tag"
build "build-abi/sources-$tag" "$tag"
build . now

# 4: changed; 8: changed so that programs break. Calls that are new change nothing for them.
difference=0
abidiff --no-added-syms --headers-dir1 "build-abi/sources-$tag/include" --headers-dir2 include \
    "build-abi/$tag/libweft.so" build-abi/now/libweft.so || difference=$?
if [ "$difference" -ne 0 ]; then
    echo "abi: programs built against $tag may not work with this library; before 1.0 say so in" >&2
    echo "abi: CHANGELOG.md and raise the minor version, later keep the old calls" >&2
    exit 1
fi
echo "abi: nothing that programs built against $tag rely on has changed"
