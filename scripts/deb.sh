#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Debian packages of a copy of the sources, in build-deb, where they stay, and looks at them
# with lintian if it is there. WEFT_CUDA=OFF leaves GPU places out, and the time their kernels take.
#   scripts/deb.sh [JOBS]
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${1:-2}

version=$(sed -n 's/^project(weft VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
packaged=$(dpkg-parsechangelog -S Version)
if [ "${packaged%-*}" != "$version" ]; then
    echo "deb: debian/changelog is of version $packaged, CMakeLists.txt of $version" >&2
    exit 1
fi
mkdir -p build-deb
rm -rf build-deb/weft_* build-deb/*.deb "build-deb/weft-$version"
mkdir "build-deb/weft-$version"
scripts/sources.sh | tar -cf - -T - | tar -xf - -C "build-deb/weft-$version"
tar -C build-deb -czf "build-deb/weft_$version.orig.tar.gz" --exclude=debian "weft-$version"
(cd "build-deb/weft-$version" && dpkg-buildpackage -b -us -uc -j"$jobs")
if command -v lintian >/dev/null; then
    # The bug that a first upload closes is Debian's affair.
    lintian --allow-root --fail-on error,warning --info --tag-display-limit 0 \
        --suppress-tags initial-upload-closes-no-bugs build-deb/*.changes
else
    echo "deb: not looked at with lintian, which is not here"
fi
rm -rf "build-deb/weft-$version"
ls -l build-deb/*.deb
