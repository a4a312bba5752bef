#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests of `weft solve` on dense matrices: what it writes and reports, and what it says of files and
# options that make no sense.
#   WEFT=build/weft tests/solve_cli_test.sh        places: WEFT_TEST_PLACES="cpu:2 gpu"
. "$(dirname "$0")/command.sh"

# doubles NUMBER...: whole numbers from -1 to 8, and nan, as printf escapes, of f64.
doubles() {
    local x code=('\0\0' '\xf0\x3f' '\0\x40' '\x08\x40' '\x10\x40' '\x14\x40' '\x18\x40' '\x1c\x40'
        '\x20\x40')
    for x in "$@"; do
        case $x in
        -1) printf '%s' '\0\0\0\0\0\0\xf0\xbf' ;;
        nan) printf '%s' '\0\0\0\0\0\0\xf8\x7f' ;;
        *) printf '%s' '\0\0\0\0\0\0'"${code[$x]}" ;;
        esac
    done
}

# floats NUMBER...: whole numbers from 0 to 3, of f32.
floats() {
    local x code=('\0\0\0\0' '\0\0\x80\x3f' '\0\0\0\x40' '\0\0\x40\x40')
    for x in "$@"; do printf '%s' "${code[$x]}"; done
}

# A = (1 2; 3 5), A x = b: x = (1, 1) and (2, -1).
make_files() {
    npy a.npy "'<f8'" '(2, 2)' "$(doubles 1 2 3 5)"
    npy af.npy "'<f8'" '(2, 2)' "$(doubles 1 3 2 5)" True
    npy b.npy "'<f8'" '(2,)' "$(doubles 3 8)"
    npy bb.npy "'<f8'" '(2, 2)' "$(doubles 3 0 8 1)"
    npy bf.npy "'<f8'" '(2, 2)' "$(doubles 3 8 0 1)" True
    npy s.npy "'<f8'" '(2, 2)' "$(doubles 2 7 1 3)" # its lower triangle: (2 1; 1 3)
    npy sf.npy "'<f8'" '(2, 2)' "$(doubles 2 1 7 3)" True
    npy sb.npy "'<f8'" '(2,)' "$(doubles 3 4)"
    npy sbb.npy "'<f8'" '(2, 2)' "$(doubles 3 3 4 -1)"
    npy x.npy "'<f4'" '(2, 2)' "$(floats 1 2 3 1)"
    npy xb.npy "'<f4'" '(2,)' "$(floats 3 1)"
    npy singular.npy "'<f8'" '(2, 2)' "$(doubles 1 2 2 4)"
    npy nan.npy "'<f8'" '(2, 2)' "$(doubles 1 nan 3 5)"
    npy wide.npy "'<f8'" '(2, 3)' "$(doubles 1 2 3 4 5 6)"
    npy cube.npy "'<f8'" '(1, 1, 1)' "$(doubles 1)"
    npy bytes.npy "'|i1'" '(1, 1)' '\1'
    printf '%%%%MatrixMarket matrix coordinate real symmetric\n1 1 1\n1 1 4\n' >"$folder/one.mtx"
}

# solves EXPECTED ARGUMENT...: the elements of what is written.
solves() {
    local expected=$1
    shift
    expect 0 'backward' "$weft" solve -p "$place" -o "$folder/out.npy" "$@"
    same "$expected" "$(elements out.npy f8 128)" "$place: solve $*"
}

test_answers() {
    local a precision
    for a in a.npy af.npy; do
        solves '1 1' "$folder/$a" -b "$folder/b.npy"
        solves '1 2 1 -1' "$folder/$a" -b "$folder/bb.npy"
        solves '1 1 2 -1' "$folder/$a" -b "$folder/bf.npy"
        solves '1 1' "$folder/$a"
        for precision in full mixed tf32 bf16 f16; do
            solves '1 1' "$folder/$a" -b "$folder/b.npy" --precision $precision
        done
        solves '1 2 1 -1' "$folder/$a" -b "$folder/bb.npy" --exact
    done
    for a in s.npy sf.npy; do
        solves '1 1' "$folder/$a" -b "$folder/sb.npy" --spd
        solves '1 2 1 -1' "$folder/$a" -b "$folder/sbb.npy" --spd
        solves '1 1' "$folder/$a" --spd
    done
    expect 0 'n = 2, f32' "$weft" solve -p "$place" "$folder/x.npy" -b "$folder/xb.npy" \
        -o "$folder/out.npy"
    same '-0.2 1.6' "$(elements out.npy f4 128)" "$place: f32"
    same '1 1' "$("$weft" solve -p "$place" - -b "$folder/b.npy" -o - <"$folder/a.npy" 2>/dev/null |
        tail -c 16 | od -An -v -t f8 | xargs)" "$place: a pipe"
    mkfifo "$folder/pipe.npy"
    cat "$folder/a.npy" >"$folder/pipe.npy" &
    solves '1 1' "$folder/pipe.npy" -b "$folder/b.npy"
    wait
    rm "$folder/pipe.npy"
}

test_reports() {
    local output
    output=$("$weft" solve -p "$place" "$folder/a.npy" -b "$folder/bb.npy" --json)
    json_valid 'solve --json' 1 <<<"$output"
    for key in '"method": "direct"' '"n": 2' '"right_hand_sides": 2' '"sign_det": -1' \
        '"factor_type": "f64"' '"fell_back": 0' '"equilibrated": 0' '"log_abs_det": '; do
        checks=$((checks + 1))
        grep -Fq -- "$key" <<<"$output" || fail "no $key in $output"
    done
    expect 0 '"method": "mixed"' "$weft" solve -p "$place" "$folder/a.npy" --variant mixed --json
    expect 0 'det A = - exp\(' "$weft" solve -p "$place" "$folder/a.npy"
    expect 0 'refinement with exact residuals' "$weft" solve -p "$place" "$folder/a.npy" --exact
    expect 0 '"exact": 1' "$weft" solve -p "$place" "$folder/a.npy" --exact --json
}

test_refusals() {
    local a=$folder/a.npy b=$folder/b.npy
    set -- "$weft" solve -o "$folder/none.npy"
    expect 1 'a is singular: column 1' "$@" "$folder/singular.npy" -b "$b"
    expect 1 'not positive definite: its leading block of order 2' "$@" "$folder/singular.npy" --spd
    expect 1 'a has an entry that is not finite in row 0 of column 1' "$@" "$folder/nan.npy" -b "$b"
    expect 1 'wide.npy is no square matrix but has 2 dimensions of different' "$@" "$folder/wide.npy"
    expect 1 'cube.npy is no square matrix but has 3 dimensions' "$@" "$folder/cube.npy"
    expect 1 'bytes.npy is of i8; matrices are of f64 or f32' "$@" "$folder/bytes.npy"
    expect 1 'xb.npy is of f32, but .*a.npy of f64' "$@" "$a" -b "$folder/xb.npy"
    expect 1 'cube.npy has 3 dimensions; a right-hand side' "$@" "$a" -b "$folder/cube.npy"
    npy long.npy "'<f8'" '(3,)' "$(doubles 1 2 3)"
    expect 1 'long.npy has 3 rows, but the matrix 2' "$@" "$a" -b "$folder/long.npy"
    expect 2 'did you mean "mixed"' "$@" "$a" --precision mixe
    expect 2 'option --ordering: .*a.npy is a dense matrix' "$@" "$a" --ordering amd
    expect 2 'option --repeat: .*a.npy is a dense matrix' "$@" "$a" --repeat 2
    expect 2 'option --spd: .*one.mtx is a sparse matrix' "$@" "$folder/one.mtx" --spd
    expect 0 'in f32' "$weft" solve "$folder/one.mtx" --precision mixed
    expect 0 '"factor_type": "f32"' "$weft" solve "$folder/one.mtx" --precision mixed --json
    expect 0 '"factor_type": "f64"' "$weft" solve "$folder/one.mtx" --json
    { # ones, and a little on the diagonal that f32 does not see
        printf '%s\n' '%%MatrixMarket matrix coordinate real symmetric' '20 20 210'
        for ((j = 1; j <= 20; j++)); do
            printf '%s\n' "$j $j 1.000000001"
            for ((i = j + 1; i <= 20; i++)); do printf '%s\n' "$i $j 1"; done
        done
    } >"$folder/near.mtx"
    expect 0 'in f64 because f32 was not enough' "$weft" solve "$folder/near.mtx" --precision mixed
    expect 2 'option --precision: .*one.mtx is a sparse matrix' "$@" "$folder/one.mtx" --precision tf32
    expect 0 'backward 0 by components' "$weft" solve "$folder/one.mtx" --exact
    expect 2 'option --variant: ' "$@" "$a" --variant up_looking
    expect 1 'none.npy|No such file' "$@" "$folder/missing.npy"
    checks=$((checks + 1))
    [ -e "$folder/none.npy" ] && fail 'a refused solution was written'
}

make_files
for place in $places; do
    test_answers
    test_reports
done
test_refusals
finish
