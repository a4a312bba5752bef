#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Module weft_c has every call of the C headers, and its types are as long as C's structs.
set -euo pipefail
: "${WEFT_BUILD:?run me through ctest}" "${WEFT_SOURCE:?}" "${CC:=cc}" "${FC:=gfortran}"

module=$WEFT_BUILD/fortran/weft_c.f90
if [ ! -f "$module" ]; then
    echo "fortran_layout_test: built without Fortran, so nothing to look at"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

declared=$(grep -hoE 'WEFT_API [^;{]*\(' "$WEFT_SOURCE"/include/weft/*.h |
    grep -oE 'weft_[a-z0-9_]+\($' | tr -d '(' | sort -u)
bound=$(grep -oE "bind\(c, name='[a-z0-9_]+'" "$module" | sed "s/.*'\(.*\)'/\1/" | sort -u)
diff <(echo "$declared") <(echo "$bound") || {
    echo "fortran_layout_test: the calls above are in the headers or in weft_c, not in both" >&2
    exit 1
}

types=$(sed -n 's/^ *type, bind(c) :: //p' "$module")
{
    printf '#include <stdio.h>\n#include "weft/weft.h"\nint main(void) {\n'
    for type in $types; do
        echo "    printf(\"$type %zu\\n\", sizeof(${type%_bits}));"
    done
    printf '    return 0;\n}\n'
} >"$work/c.c"
{
    printf 'program sizes\n    use weft_c\n    implicit none\n'
    for type in $types; do
        echo "    type($type) :: a_$type"
    done
    for type in $types; do
        echo "    print '(a, 1x, i0)', '$type', c_sizeof(a_$type)"
    done
    echo 'end program sizes'
} >"$work/f.f90"
"$CC" -I"$WEFT_SOURCE/include" -I"$WEFT_BUILD/include" "$work/c.c" -o "$work/c"
"$FC" -w -I"$WEFT_BUILD/fortran/modules" "$work/f.f90" -o "$work/f"
diff <("$work/c") <("$work/f") || {
    echo "fortran_layout_test: the types above have another size in C (<) than in Fortran (>)" >&2
    exit 1
}
echo "fortran_layout_test: $(echo "$bound" | wc -l) calls, and $(echo "$types" | wc -l) types as long as in C"
