#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs into a temporary prefix and uses what is there as strangers would: C and C++ programs,
# through pkg-config and through find_package, shared and static; man pages; completions.
set -euo pipefail
: "${WEFT_BUILD:?run me through ctest}" "${WEFT_SOURCE:?}" "${CC:=cc}" "${CXX:=c++}" "${CMAKE:=cmake}"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix="$work/a prefix" # pkg-config escapes what it prints, for eval
log=$work/log

fail() {
    echo "install_test: $*" >&2
    [ ! -f "$log" ] || cat "$log" >&2
    exit 1
}
quietly() { "$@" >"$log" 2>&1 || fail "failed: $*"; }

quietly "$CMAKE" --install "$WEFT_BUILD" --prefix "$prefix"
library=$(dirname "$(find "$prefix" -name libweft.so)")
version=$("$prefix/bin/weft" --version | grep -o '[0-9]*\.[0-9]*\.[0-9]*')

check_files() {
    local file
    for file in include/weft/weft.h include/weft/weft.hpp bin/weft share/man/man1/weft.1 share/man/man3/weft_add.3 \
        share/bash-completion/completions/weft share/zsh/site-functions/_weft \
        share/fish/vendor_completions.d/weft.fish; do
        [ -s "$prefix/$file" ] || fail "$file is missing or empty"
    done
    bash -n "$prefix/share/bash-completion/completions/weft" || fail "the bash completion is broken"
    if grep -rl "$WEFT_SOURCE" "$prefix/include" "$prefix/share" "$library/pkgconfig" \
        "$library/cmake"; then
        fail "the files above name the source folder"
    fi
}

# Runs a program and looks for the version it reports and for what it is linked with.
check_program() { # check_program PROGRAM shared|static
    quietly "$1"
    grep -q "^weft $version: " "$log" || fail "$1 reports another version than $version"
    local libraries linked=static
    libraries=$(ldd "$1")
    if [[ $libraries == *libweft* ]]; then linked=shared; fi
    [ "$linked" = "$2" ] || fail "$1 is linked $linked, not $2"
    if [[ $1 == *-c-* && $libraries == *libstdc++* ]]; then
        fail "$1, written in C, needs libstdc++"
    fi
}

check_pkg_config() { # check_pkg_config LANGUAGE COMPILER FLAGS SOURCE
    export PKG_CONFIG_PATH=$library/pkgconfig
    [ "$(pkg-config --modversion weft)" = "$version" ] || fail "pkg-config: another version"
    local -a flags shared static
    eval "flags=($3 $(pkg-config --cflags weft))"
    eval "shared=($(pkg-config --libs weft))"
    eval "static=($(pkg-config --libs weft-static))"
    quietly "$2" "${flags[@]}" "$4" -o "$work/pc-$1-shared" "${shared[@]}" \
        -Wl,-rpath,"$library"
    quietly "$2" "${flags[@]}" "$4" -o "$work/pc-$1-static" "${static[@]}"
    check_program "$work/pc-$1-shared" shared
    check_program "$work/pc-$1-static" static
}

check_find_package() { # check_find_package LANGUAGE SOURCE-FOLDER
    local build=$work/cmake-$1-
    quietly "$CMAKE" -S "$2" -B "$build" -DCMAKE_PREFIX_PATH="$prefix" \
        -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX"
    quietly "$CMAKE" --build "$build"
    check_program "$build/consumer_shared" shared
    check_program "$build/consumer_static" static
}

# A program that knows BLAS alone, linked with libweft_blas, which finds libweft beside it.
check_blas() {
    [ -e "$library/libweft_blas.so" ] || return 0
    local -a flags
    eval "flags=($(pkg-config --libs weft_blas))"
    cat >"$work/blas.c" <<'END'
double dasum_(const int *n, const double *x, const int *incx);
double cblas_ddot(int n, const double *x, int incx, const double *y, int incy);
int main(void) {
    const double x[3] = {1, -2, 3};
    const int n = 3, one = 1;
    return dasum_(&n, x, &one) == 6 && cblas_ddot(3, x, 1, x, -1) == 10 ? 0 : 1;
}
END
    quietly "$CC" "$work/blas.c" -o "$work/blas" "${flags[@]}" -Wl,-rpath,"$library"
    quietly "$work/blas"
}

# A Fortran program by the module that is installed, if it was built.
check_fortran() {
    [ -e "$prefix/include/weft/fortran/weft.mod" ] || return 0
    local -a flags
    eval "flags=($(pkg-config --cflags --libs weft_fortran))"
    quietly "${FC:-gfortran}" -J"$work" "$WEFT_SOURCE/examples/first.f90" -o "$work/fortran" \
        "${flags[@]}" -Wl,-rpath,"$library"
    quietly "$work/fortran" cpu:1
    grep -q 'solution: 0.800 1.400' "$log" || fail "the Fortran example says something else"
    quietly "$CMAKE" -S "$consumers/fortran" -B "$work/cmake-fortran" -DCMAKE_PREFIX_PATH="$prefix"
    quietly "$CMAKE" --build "$work/cmake-fortran"
    quietly "$work/cmake-fortran/first"
}

# What `make uninstall` does leaves nothing, and no file of others goes.
check_uninstall() {
    local left
    quietly env DESTDIR="$work/dest" "$CMAKE" --install "$WEFT_BUILD" --prefix /usr
    cp "$WEFT_BUILD/install_manifest.txt" "$work/installed.txt"
    touch "$work/dest/usr/include/other.h" "$work/dest/usr/include/weft/mine.h"
    quietly env DESTDIR="$work/dest" "$WEFT_SOURCE/scripts/uninstall.sh" "$work/installed.txt"
    left=$(cd "$work/dest/usr" && find . ! -type d -o -path '*weft*' | sort | xargs)
    [ "$left" = './include/other.h ./include/weft ./include/weft/mine.h' ] ||
        fail "after uninstalling there are: $left"
    if "$WEFT_SOURCE/scripts/uninstall.sh" "$work/none" >"$log" 2>&1; then
        fail "what was never installed is uninstalled"
    fi
}

# `make BUILD="a folder"` configures and builds there, and configures only once.
check_make() {
    local folder="$work/a folder" printed
    printed=$(cd "$WEFT_SOURCE" && MAKEFLAGS='' make -n all BUILD="$folder" 2>&1)
    [[ $printed == *"cmake -S . -B \"$folder\" "*"cmake --build \"$folder\" "* ]] ||
        fail "make in a folder whose name has a space: $printed"
    mkdir "$folder"
    touch "$folder/build.ninja"
    printed=$(cd "$WEFT_SOURCE" && MAKEFLAGS='' make -n all BUILD="$folder" 2>&1)
    [[ $printed != *"cmake -S"* && $printed == *"cmake --build \"$folder\" "* ]] ||
        fail "make configures \"a folder\" once more: $printed"
}

consumers=$WEFT_SOURCE/tests/install
check_make
check_files
check_uninstall
check_pkg_config c "$CC" "-std=c17 -Wall -Wextra -Wpedantic -Werror" "$consumers/c/consumer.c"
check_pkg_config cxx "$CXX" "-std=c++11 -Wall -Wextra -Wpedantic -Werror" \
    "$consumers/cxx/consumer.cpp"
check_pkg_config hpp "$CXX" "-std=c++17 -Wall -Wextra -Wpedantic -Werror" \
    "$consumers/hpp/consumer.cpp"
check_blas
check_fortran
check_find_package c "$consumers/c"
check_find_package cxx "$consumers/cxx"
check_find_package hpp "$consumers/hpp"
echo "install_test: C and C++ consumers of $version run, shared and static, from pkg-config and CMake"
