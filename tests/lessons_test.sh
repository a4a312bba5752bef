#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The lessons of docs/tutorial: each program prints what its page shows, on the cpu and, in a build with
# place emu, there as well, on small problems. Times and the names of places are left out.
#   WEFT_BUILD=build WEFT_SOURCE=. tests/lessons_test.sh
: "${WEFT_BUILD:?run me through ctest}" "${WEFT_SOURCE:?}" "${WEFT:=$WEFT_BUILD/weft}"
. "$(dirname "$0")/command.sh"
cd "$WEFT_SOURCE" || exit 1
export WEFT_EMU_DEVICES=2

# Standard input without what differs from run to run and from place to place.
alike() { sed -E 's/^on [a-z]+:[a-z0-9:,]*/on PLACE/; s/, [0-9.]+ ms$/, TIME/'; }

# The first block of text of the page.
shown() { awk '/^```text/ { inside = 1; next } /^```/ { if (inside) exit } inside' "$1"; }

# What each lesson is given besides its place: on emu a problem of a size for it.
places_of() { # places_of LESSON cpu|emu
    case $1:$2 in
    lesson10*:cpu) echo cpu:1 cpu:1 ;;
    lesson10*:emu) echo emu:0 emu:1 ;;
    lesson07*:emu) echo emu 1000 ;;
    lesson09*:emu) echo emus 20000 ;;
    *:cpu) echo cpu:2 ;;
    *:emu) echo emu ;;
    esac
}

check_lesson() { # check_lesson PAGE
    local name said program
    name=$(grep -om1 'examples/lesson[a-z0-9_]*' "$1")
    name=${name#examples/}
    [ -n "$name" ] || fail "$1 names no program"
    read -ra arguments <<<"$(places_of "$name" cpu)"
    said=$("$WEFT_BUILD/examples/$name" "${arguments[@]}" 2>&1) || fail "$name failed: $said"
    same "$(shown "$1" | alike)" "$(alike <<<"$said")" "$name"
    expect 1 'nowhere' "$WEFT_BUILD/examples/$name" nowhere
    program=$WEFT_BUILD/tests/emu_$name
    [ -x "$program" ] || return 0
    read -ra arguments <<<"$(places_of "$name" emu)"
    said=$("$program" "${arguments[@]}" 2>&1) || fail "emu_$name failed: $said"
    case $name in
    lesson07*) [[ $said == *'lookback '*'last 1000'* ]] || fail "emu_$name: $said" ;; # other rungs there
    lesson09*) [[ $said == *'20000 throws'*'the first is 1' ]] || fail "emu_$name: $said" ;;
    *) same "$(shown "$1" | alike)" "$(alike <<<"$said")" "emu_$name" ;;
    esac
}

pages=(docs/tutorial/[0-9]*.md)
same 10 ${#pages[@]} 'number of lessons'
for page in "${pages[@]}"; do check_lesson "$page"; done
if [ "${WEFT_MPI:-0}" = 1 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ASAN_OPTIONS=detect_leaks=0
    same "$(shown docs/tutorial/09-gpus.md | alike)" "$("$MPIRUN" --oversubscribe --bind-to none -np 3 \
        "$WEFT_BUILD/examples/lesson09_gpus" mpi:cpu:1 2>/dev/null | alike)" 'lesson 9 on three ranks'
fi
finish
