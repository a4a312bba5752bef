#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of the Python package, for ctest, which tells where the package and the library are.
# Without numpy or pytest it ends with 77, which ctest shows as skipped.
#   python/tests/run.sh PLACE [TEST-FILE...]
set -euo pipefail
: "${PYTHON:?run me through ctest}" "${PYTHONPATH:?}" "${WEFT_LIBRARY:?}"
cd "$(dirname "$0")"
export WEFT_TEST_PLACE=$1 PYTHONDONTWRITEBYTECODE=1
shift

if ! why=$("$PYTHON" -c 'import numpy, pytest' 2>&1); then
    echo "python: skipped, for $PYTHON has no numpy or no pytest (${why##*$'\n'}): install python3-numpy and python3-pytest"
    exit 77
fi
exec "$PYTHON" -m pytest -q -p no:cacheprovider --import-mode=importlib --rootdir=. -c /dev/null "${@:-.}"
