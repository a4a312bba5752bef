#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what this project needs and the machine lacks, when it may; otherwise prints the exact
# command and stops. Quick and quiet when nothing is missing. What the tests only wish for, MPI
# and numpy, it installs where it may, and does without elsewhere. It never installs CUDA.
#   scripts/setup.sh build|test|mpi|acc|deb|format|lint|fuzz|site|ci
set -euo pipefail

have() { command -v "$1" >/dev/null 2>&1; }

# True if version $1 is at least version $2.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

missing=()
wished=()
need() { # need TEST-COMMAND... -- PACKAGE
    local test=()
    while [ "$1" != -- ]; do
        test+=("$1")
        shift
    done
    "${test[@]}" >/dev/null 2>&1 || missing+=("$2")
}

has_libc() { echo '#include <stdio.h>' | "${CC:-cc}" -fsyntax-only -x c -; }
has_metis() { echo '#include <metis.h>' | "${CC:-cc}" -fsyntax-only -x c -; }
has_openblas() { /sbin/ldconfig -p | grep 'libopenblas\.so\.0 '; } # rung left_looking loads it
has_blas_testers() { compgen -G '/usr/lib/*/blas/xblat2d'; }
has_clang_format_14() {
    have clang-format-14 || [[ $(clang-format --version 2>/dev/null) == *"version 14."* ]]
}

has_mpi() { have mpicc && have mpirun; }
has_python() { # what the tests of the Python package need, in any python3 that CMake tries
    local python
    for python in python3 /usr/bin/python3; do
        "$python" -c 'import numpy, pytest, sysconfig, os
os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null && return
    done
    return 1
}

has_headers_of_python() { # of the system's own Python, for which packages are built
    /usr/bin/python3 -c 'import sysconfig, os; os.stat(sysconfig.get_path("include") + "/Python.h")'
}

has_acc() { [[ -d /usr/lib/gcc/x86_64-linux-gnu/$1/accel/nvptx-none ]]; }
wish_mpi() { has_mpi || wished+=(libopenmpi-dev openmpi-bin); }
wish_python() { has_python || wished+=(python3-dev python3-numpy python3-pytest); }
need_mpi() {
    need have mpicc -- libopenmpi-dev
    need have mpirun -- openmpi-bin
}
need_acc() {
    local version
    version=$("${CC:-gcc}" -dumpversion | cut -d. -f1)
    need has_acc "$version" -- "gcc-$version-offload-nvptx"
}
need_build() {
    need have cmake -- cmake
    need have make -- make
    need have "${CC:-cc}" -- gcc
    need has_libc -- libc6-dev
    need have g++ -- g++
    need have pkg-config -- pkg-config
    need has_metis -- libmetis-dev
}
need_test() {
    need_build
    need pkg-config --exists cmocka -- libcmocka-dev
    need pkg-config --exists libpng -- libpng-dev
    need has_openblas -- libopenblas0
    wish_mpi
    wish_python
}
need_deb() {
    need_build
    need have gfortran -- gfortran
    need have dpkg-buildpackage -- dpkg-dev
    need have dh -- debhelper
    need have dh_python3 -- dh-python
    need has_headers_of_python -- python3-dev
    need pkg-config --exists libpng -- libpng-dev
}
need_format() { need has_clang_format_14 -- clang-format-14; }
need_lint() {
    need_build
    need have clang-tidy -- clang-tidy
    need have cppcheck -- cppcheck
}
need_fuzz() {
    need have cmake -- cmake
    need have make -- make
    need have clang -- clang
    need have pkg-config -- pkg-config
    need pkg-config --exists cmocka -- libcmocka-dev
}

need_site() {
    need have python3 -- python3
    need have awk -- gawk
}

purpose=${1:-test}
look() {
    missing=()
    wished=()
    case $purpose in
    build) need_build ;;
    test) need_test ;;
    mpi) need_mpi ;;
    acc) need_acc ;;
    format) need_format ;;
    lint) need_lint ;;
    fuzz) need_fuzz ;;
    site) need_site ;;
    deb) need_deb ;;
    ci)
        need_test
        need_format
        need has_blas_testers -- libblas-test
        ;;
    *)
        echo "usage: $0 build|test|mpi|acc|deb|format|lint|fuzz|site|ci" >&2
        exit 2
        ;;
    esac
}

install() { # install PACKAGE...
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        as_root=(sudo -n)
    fi
    echo "setup: installing $*"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq &&
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

may_install() {
    have apt-get && { [ "$(id -u)" -eq 0 ] || { have sudo && sudo -n true 2>/dev/null; }; }
}

look
if [ ${#missing[@]} -gt 0 ]; then
    if may_install; then
        install "${missing[@]}"
        look
    fi
    if [ ${#missing[@]} -gt 0 ]; then
        echo "setup: missing here: ${missing[*]}. On Debian or Ubuntu, run this, then try again:" >&2
        echo "    sudo apt-get update && sudo apt-get install -y ${missing[*]}" >&2
        exit 1
    fi
fi

if [ ${#wished[@]} -gt 0 ]; then
    { may_install && install "${wished[@]}"; } ||
        echo "setup: no ${wished[*]} here, so what needs them (places over ranks, the Python package) is not tested"
fi

if have cmake; then
    cmake_version=$(cmake --version | sed -n '1s/[^0-9]*//p')
    if ! at_least "$cmake_version" 3.25; then
        echo "setup: cmake $cmake_version is too old: 3.25 or later is needed (cmake.org/download)" >&2
        exit 1
    fi
fi
