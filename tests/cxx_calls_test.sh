#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every call of the C headers is behind a call of weft.hpp that its test makes: what the test program
# takes from libweft is all that there is.
set -euo pipefail
: "${WEFT_BUILD:?run me through ctest}" "${WEFT_SOURCE:?}"

program=$WEFT_BUILD/tests/cxx17_test
if [ ! -x "$program" ]; then
    echo "cxx_calls_test: no C++ compiler here, so nothing to look at"
    exit 0
fi

# Left out on purpose: a name, and the reason.
left_out=(
)

declared=$(grep -hoE 'WEFT_API [^;{]*\(' "$WEFT_SOURCE"/include/weft/*.h |
    grep -oE 'weft_[a-z0-9_]+\($' | tr -d '(' | sort -u)
used=$(nm -D --undefined-only "$program" | grep -oE '\bweft_[a-z0-9_]+' | sort -u)
missing=$(comm -23 <(echo "$declared") <({ echo "$used"; printf '%s\n' "${left_out[@]%% *}"; } | sort -u))
if [ -n "$missing" ]; then
    echo "cxx_calls_test: no call of include/weft/cxx/*.hpp that tests/cxx runs reaches these;" >&2
    echo "add one to both, or name it in left_out with the reason:" >&2
    echo "$missing" >&2
    exit 1
fi
echo "cxx_calls_test: weft.hpp reaches all $(echo "$declared" | wc -l) calls"
