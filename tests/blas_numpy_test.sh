#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs numpy's own tests of linear algebra with libweft_blas preloaded, everything through libweft: a
# numpy that is linked with Debian's switchable BLAS, by Fortran's and C's names. Says so if there is
# none. Its tests of stacks take three quarters of the time and make the calls of those of one matrix once more:
# but for those of solve and inv they are left to WEFT_TEST_BUDGET=all.
#   WEFT_BUILD=build tests/blas_numpy_test.sh
#   WEFT_TEST_PLACES="cpu gpu"                    with gpu in it, on a GPU as well
set -euo pipefail
: "${WEFT_BUILD:?run me through ctest}"
library=$WEFT_BUILD/libweft_blas.so
if [ ! -e "$library" ]; then
    echo "blas_numpy_test: skipped, as this build has no libweft_blas (WEFT_BLAS=OFF)"
    exit 0
fi

# Prints where numpy's tests of linear algebra are.
find_tests='
import os, pytest, numpy.linalg
print(os.path.join(os.path.dirname(numpy.linalg.__file__), "tests"))'
# Where the BLAS that numpy calls comes from.
find_blas='
import ctypes, numpy.linalg
class Found(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("name", ctypes.c_char_p), ("at", ctypes.c_void_p)]
libraries, found = ctypes.CDLL(None), Found()
libraries.dladdr(ctypes.cast(libraries.cblas_dgemm, ctypes.c_void_p), ctypes.byref(found))
print(found.file.decode())'

python='' tests=''
for candidate in python3 /usr/bin/python3; do
    if [ -z "$tests" ] && tests=$("$candidate" -c "$find_tests" 2>/dev/null) && [ -d "$tests" ]; then
        core=$(echo "${tests%/linalg/tests}"/core/_multiarray_umath*.so)
        linked=$(ldd "$core" 2>/dev/null) || true
        if [[ $linked == *libblas.so.3* ]]; then python=$candidate; fi
    fi
done
if [ -z "$python" ]; then
    echo "blas_numpy_test: skipped, as there is no numpy with a switchable BLAS: install python3-numpy and python3-pytest"
    exit 0
fi
export LD_PRELOAD=$library WEFT_BLAS_LARGE_FLOPS=0
used=$("$python" -c "$find_blas")
if [[ $used != *libweft_blas* ]]; then
    echo "blas_numpy_test: numpy calls $used, and not $library" >&2
    exit 1
fi

run() { # run PLACE
    local left_out='test_generalized and not (TestSolve or TestInv)'
    if [ "${WEFT_TEST_BUDGET:-1}" = all ]; then left_out=none; fi
    echo "blas_numpy_test: on $1"
    (cd "$tests" && WEFT_BLAS_PLACE=$1 "$python" -m pytest --noconftest -q -W ignore \
        -p no:cacheprovider -k "not ($left_out)" .)
}
run cpu:2
if [[ " ${WEFT_TEST_PLACES:-} " == *" gpu"* ]]; then
    export WEFT_BLAS_GPU_FLOPS=0 WEFT_BLAS_GPU_FLOPS_A_BYTE=0
    run gpu
fi
