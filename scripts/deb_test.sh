#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Unpacks the packages in build-deb into one folder, as apt would into /, and uses what is there: the
# command, programs in C, C++ and Fortran through pkg-config, and the Python package if numpy is here.
#   scripts/deb_test.sh
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
fail() {
    echo "deb_test: $*" >&2
    exit 1
}

for package in libweft0 libweft-dev weft python3-weft; do
    deb=$(find build-deb -maxdepth 1 -name "${package}_*.deb")
    [ -n "$deb" ] || fail "no $package in build-deb; run make deb first"
    dpkg-deb -x "$deb" "$root"
done
library=$(dirname "$(find "$root/usr/lib" -name 'libweft.so.0')")
export PKG_CONFIG_PATH=$library/pkgconfig LD_LIBRARY_PATH=$library

# What belongs where.
dpkg-deb -c build-deb/libweft0_*.deb | grep -q 'libweft\.so\.0$\|libweft\.so\.0 ->' ||
    fail "libweft0 has no libweft.so.0"
for file in usr/include/weft/weft.h usr/include/weft/weft.hpp usr/include/weft/fortran/weft.mod \
    usr/bin/weft usr/share/man/man1/weft.1.gz usr/share/man/man3/weft_add.3.gz \
    usr/share/bash-completion/completions/weft usr/share/doc/weft/examples/first.f90 \
    usr/share/doc/weft/docs/languages.md; do
    [ -e "$root/$file" ] || fail "$file is missing"
done
if grep -rl "$PWD" "$root/usr/include" "$library/pkgconfig" "$library/cmake"; then
    fail "the files above name the folder of the build"
fi

"$root/usr/bin/weft" --version
examples=$root/usr/share/doc/weft/examples
read -ra flags <<<"$(pkg-config --cflags --libs weft)"
cc -std=c17 "$examples/cnn.c" -o "$work/cnn" "${flags[@]}" -lm
"$work/cnn" --place cpu:1 --steps 2 --least 0 >/dev/null
c++ -std=c++17 tests/install/hpp/consumer.cpp -o "$work/cxx" "${flags[@]}"
"$work/cxx"
read -ra flags <<<"$(pkg-config --cflags --libs weft_fortran)"
gfortran -J"$work" "$examples/first.f90" -o "$work/first" "${flags[@]}"
"$work/first" cpu:1

# The Python package has no library of its own, and one extension module for all versions of Python.
python=$root/usr/lib/python3/dist-packages
[ -e "$python/weft/_core.abi3.so" ] || fail "python3-weft has no extension module"
[ -z "$(find "$python" -name 'libweft*')" ] || fail "python3-weft has a library of its own"
if /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
    PYTHONPATH=$python /usr/bin/python3 -c "
import importlib.metadata, numpy, weft
assert weft._library.path == 'libweft.so.0' and weft.__file__.startswith('$python')
assert importlib.metadata.version('weft') == weft.__version__
assert (weft.sort(numpy.array([3.0, 1, 2])) == [1, 2, 3]).all()"
else
    echo "deb_test: no numpy here, so python3-weft was not used"
fi
echo "deb_test: the packages work, from C, C++, Fortran and Python"
