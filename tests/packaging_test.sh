#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The archive of `make tarball` works where it is unpacked, packages are of the version that CMake
# tells, and every file that is installed has a package.
set -euo pipefail
: "${WEFT_BUILD:?run me through ctest}" "${WEFT_SOURCE:?}" "${CC:=cc}" "${CMAKE:=cmake}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "packaging_test: $*" >&2
    exit 1
}

version=$(sed -n 's/^project(weft VERSION \([0-9.]*\).*/\1/p' "$WEFT_SOURCE/CMakeLists.txt")
packaged=$(sed -n '1s/.*(\([0-9.]*\)-.*/\1/p' "$WEFT_SOURCE/debian/changelog")
[ "$packaged" = "$version" ] || fail "debian/changelog is of $packaged, CMakeLists.txt of $version"
grep -q "version(\"$version\"" "$WEFT_SOURCE/packaging/spack/packages/weft/package.py" ||
    fail "the Spack recipe has no version $version"

(cd "$WEFT_BUILD" && "$(dirname "$CMAKE")/cpack" -G TGZ -B "$work") >"$work/log" 2>&1 || {
    cat "$work/log" >&2
    fail "cpack failed"
}
tar -xzf "$work"/weft-"$version"-*.tar.gz -C "$work"
root=$(find "$work" -maxdepth 1 -name "weft-$version-*" -type d)
"$root/bin/weft" --version | grep -q "$version" || fail "bin/weft of the archive has another version"
PKG_CONFIG_PATH=$(dirname "$(find "$root" -name weft.pc)")
export PKG_CONFIG_PATH
read -ra flags <<<"$(pkg-config --cflags --libs weft)"
"$CC" "$WEFT_SOURCE/tests/install/c/consumer.c" -o "$work/consumer" "${flags[@]}" \
    -Wl,-rpath,"$(dirname "$PKG_CONFIG_PATH")"
"$work/consumer" >/dev/null || fail "a program that was linked with the archive fails"

# The lines of debian/*.install, as patterns of what is in the archive.
patterns=$(sed -E 's:^usr/::; s:/\*/:/:; s:\.:\\.:g; s:\*:.*:g; s:^:^:' "$WEFT_SOURCE"/debian/*.install)
find "$root" ! -type d | sed "s:^$root/::; s:/[a-z0-9_]*-linux-gnu/:/:" |
    grep -vE "$patterns" | sed 's/^/packaging_test: in no package of debian: /' >"$work/unclaimed" || true
if [ -s "$work/unclaimed" ]; then
    cat "$work/unclaimed" >&2
    exit 1
fi
echo "packaging_test: the archive of $version works, and every file has a package"
