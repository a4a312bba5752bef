#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles and runs the programs in docs/recipes.md and docs/languages.md as they stand there, and
# compares the values of enums that the recipes tell with the headers. Programs in languages for which
# there is no compiler here are left out, and named.
set -euo pipefail
: "${WEFT_BUILD:?run me through ctest}" "${WEFT_SOURCE:?}" "${CC:=cc}" "${CXX:=c++}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export LD_LIBRARY_PATH=$WEFT_BUILD OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export WEFT_PLACE=cpu:2

fail() {
    echo "recipes_test: $*" >&2
    exit 1
}

# Each block of code that is a whole program becomes a file: NUMBER.LANGUAGE, or NUMBER.mpi.c.
cat "$WEFT_SOURCE/docs/recipes.md" "$WEFT_SOURCE/docs/languages.md" | awk '
    /^```/ && !inside {
        language = substr($1, 4)
        inside = 1
        text = ""
        mpi = $2 == "mpi" ? "mpi." : ""
        next
    }
    /^```/ {
        inside = 0
        if (language ~ /^(c|cpp|rust|julia|csharp|lua)$/)
            printf "%s", text > sprintf("%02d.%s%s", ++count, mpi, language)
    }
    inside { text = text $0 "\n" }'

flags=(-Wall -Wextra -Werror -I"$WEFT_SOURCE/include" -I"$WEFT_BUILD/include")
libraries=("-L$WEFT_BUILD" -lweft -lm)
left_out=
ran=0
for file in *.*; do
    run=(./program)
    case $file in
    *.mpi.c)
        if [ "${WEFT_MPI:-0}" != 1 ] || [ -z "${MPIRUN:-}" ]; then
            left_out+=" MPI"
            continue
        fi
        "$CC" -std=c17 "${flags[@]}" "$file" -o program "${libraries[@]}"
        run=("$MPIRUN" --oversubscribe --bind-to none -np 3 ./program)
        ;;
    *.c) "$CC" -std=c17 "${flags[@]}" "$file" -o program "${libraries[@]}" ;;
    *.cpp) "$CXX" -x c++ -std=c++17 "${flags[@]}" "$file" -x none -o program "${libraries[@]}" ;;
    *.rust)
        if ! command -v rustc >/dev/null; then
            left_out+=" Rust"
            continue
        fi
        rustc -L "$WEFT_BUILD" "$file" -o program
        ;;
    *.julia)
        if ! command -v julia >/dev/null; then
            left_out+=" Julia"
            continue
        fi
        run=(julia "$file")
        ;;
    *.csharp)
        if ! command -v mcs >/dev/null || ! command -v mono >/dev/null; then
            left_out+=" C#"
            continue
        fi
        mcs -nologo -out:program.exe "$file"
        run=(mono program.exe)
        ;;
    *.lua)
        if ! command -v luajit >/dev/null; then
            left_out+=" Lua"
            continue
        fi
        run=(luajit "$file")
        ;;
    *) fail "no way to run $file" ;;
    esac
    "${run[@]}" >log 2>&1 || {
        cat log >&2
        fail "program $file of docs/recipes.md and docs/languages.md fails"
    }
    ran=$((ran + 1))
done
[ "$ran" -ge 5 ] || fail "found $ran programs only"

# `NAME` | VALUE in the tables.
{
    printf '#include "weft/weft.h"\n'
    grep -oE '`WEFT_[A-Z0-9_]+` \| [0-9]+' "$WEFT_SOURCE/docs/recipes.md" |
        sed -E 's/`(.*)` \| (.*)/_Static_assert(\1 == \2, "\1");/'
} >values.c
[ "$(wc -l <values.c)" -gt 40 ] || fail "found no table of values"
"$CC" -std=c17 "${flags[@]}" -fsyntax-only values.c
echo "recipes_test: $ran programs ran; left out:${left_out:- none}"
