#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests of `weft map` and `weft random`: what they write, and what they say of formulas, files and
# options that make no sense.
#   WEFT=build/weft tests/map_cli_test.sh        places: WEFT_TEST_PLACES="cpu:2 gpu"
. "$(dirname "$0")/command.sh"

# map ARGUMENT...: writes z.npy.
map() {
    expect 0 '' "$weft" map -p "$place" -o "$folder/z.npy" "$@"
}

make_files() {
    npy u.npy "'|u1'" '(4,)' '\x01\x02\x03\xff'
    npy s.npy "'|i1'" '(2, 2)' '\xff\x02\xfd\x04'         # -1 2 -3 4
    npy f.npy "'|i1'" '(2, 2)' '\xff\xfd\x02\x04' True     # the same in Fortran order
    npy w.npy "'<u4'" '(4,)' '\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0'
    npy d.npy "'<f4'" '(4,)' '\0\0\0\0\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40' # 0 1 2 3
}

test_formulas() {
    map '2*a + 1' "$folder/u.npy"
    same '3 5 7 255' "$(elements z.npy u1 128)" "$place: 2a + 1, wrapping"
    map 'a + b' "$folder/u.npy" "$folder/w.npy"
    same '2 4 6 3' "$(elements z.npy u1 128)" "$place: a + b, of the first type"
    map -t u8 'a + 250' "$folder/u.npy"
    same '251 252 253 255' "$(elements z.npy u1 128)" "$place: held in range"
    map 'wrap_u8(a * 100)' "$folder/w.npy"
    same '100 200 44 144' "$(elements z.npy u1 128)" "$place: wrap_u8"
    map 'a >= 2 ? a << 1 | 1 : ~a & 7' "$folder/w.npy"
    same '6 5 7 9' "$(elements z.npy u4 128)" "$place: a choice, and what binds first"
    map 'a % 2 == 0' "$folder/w.npy"
    same '0 1 0 1' "$(elements z.npy u1 128)" "$place: a mask"
    map 'u64(a) << 32 | b' "$folder/w.npy" "$folder/u.npy"
    same '4294967297 8589934594' "$(elements z.npy u8 128 | cut -d ' ' -f 1,2)" "$place: packed"
    map 'i32(round(sqrt(a * a) / 2 + 0.25))' "$folder/d.npy"
    same '0 1 1 2' "$(elements z.npy d4 128)" "$place: floats"
    map 'max(-a, abs(b)) - min(a, 1)' "$folder/s.npy" "$folder/s.npy"
    same '2 1 6 3' "$(elements z.npy d1 128)" "$place: functions of two"
    map 'a - b' "$folder/s.npy" "$folder/f.npy"
    same '0 0 0 0' "$(elements z.npy d1 128)" "$place: both orders"
    grep -aq "'shape': (2, 2)" "$folder/z.npy" || fail 'map lost the shape'
    "$weft" map a - -p "$place" -o - <"$folder/u.npy" >"$folder/z.npy"
    same '1 2 3 255' "$(elements z.npy u1 128)" "$place: in a pipe"
    "$weft" map 'a' "$folder/u.npy" -p "$place" -o "$folder/z.npy" --json | json_valid 'map --json' 1
}

# Columns of a table, by their names: each has a type of its own.
columns_of() {
    "$weft" map "$@" -p "$place" -o -.csv | paste -sd/
}
test_columns() {
    local log=$folder/log.csv
    printf 'id,temp,n,"a b",min\n9007199254740993,0.5,3,1,7\n-9007199254740993,,4,2,8\n' >"$log"
    same '9007199254740994/-9007199254740992' "$(columns_of 'id + 1' "$log")" "$place: an id"
    same '4/nan' "$(columns_of 'temp * 2 + n' "$log")" "$place: i64 beside f64"
    same '1/2' "$(columns_of 'n / 2' "$log")" "$place: integers"
    same '1.5/2' "$(columns_of 'n / 2' "$log" --types n=f64)" "$place: a type that is said"
    same '2/4' "$(columns_of '2 * "a b"' "$log")" "$place: a name in quotes"
    same '3/4' "$(columns_of '$3' "$log")" "$place: a number"
    same '3/4' "$(columns_of 'min(min, n)' "$log")" "$place: a function's name"
    same '1/0' "$(columns_of 'id > 9007199254740992' "$log")" "$place: a mask"
    same 9007199254740993 "$("$weft" map id "$log" --reduce max -p "$place")" "$place: the largest"
    same '3/4' "$(columns_of n - <"$log")" "$place: in a pipe"
    map id "$log"
    same '9007199254740993 -9007199254740993' "$(elements z.npy d8 128)" "$place: an array"
    printf '18446744073709551615 2\n1 3\n' >"$folder/none.txt"
    same '9223372036854775807/0' "$(columns_of '$1 / u64($2)' "$folder/none.txt")" "$place: u64, no names"
    npy two.npy "'|i1'" '(2,)' '\x01\x02'
    same '4/6' "$(columns_of 'n + b' "$log" "$folder/two.npy")" "$place: beside an array"
    same '0.5,1/2,2.5' "$(printf '1,2\n4,5\n' | "$weft" map 'a / 2' - -p "$place" -o -.csv | paste -sd/)" \
        "$place: a table as a whole is of f64"
    same '0,1/2,2' "$(printf '1,2\n4,5\n' |
        "$weft" map 'a / 2' - --types i64 -p "$place" -o -.csv | paste -sd/)" "$place: or of i64"
    printf 'a,b\n1,2\n' >"$folder/ab.csv"
    same 3 "$(columns_of 'a + b' "$folder/ab.csv")" "$place: columns called as files are"
    expect 2 'formula: a is the file .*ab.csv, and a column of .*ab.csv; write .* as "a", in double quotes' \
        "$weft" map 'a + b' "$folder/ab.csv" "$folder/two.npy" -o "$folder/z.npy"
    expect 1 'no column "tmp"; did you mean "temp"' "$weft" map '2 * tmp' "$log" -o "$folder/z.npy"
    expect 1 'column n of .*log.csv and .*u.npy differ in shape' \
        "$weft" map 'n + b' "$log" "$folder/u.npy" -o "$folder/z.npy"
    expect 2 'formula: n is a column of several files' "$weft" map n "$log" "$log" -o "$folder/z.npy"
    expect 2 'formula: n and \$3 are one column' "$weft" map 'n + $3' "$log" -o "$folder/z.npy"
    echo 1,2,3,4,5,6,7,8 >"$folder/eight.csv"
    expect 2 'formula: it names more than 7 columns' "$weft" map \
        '$1 + $2 + $3 + $4 + $5 + $6 + $7 + $8' "$folder/eight.csv" -o "$folder/z.npy"
    expect 1 '"9007199254740993" is an integer that f64 rounds; read it with --types i64' \
        "$weft" map a "$log" -o "$folder/z.npy"
    expect 2 'the formula names no columns of' "$weft" map 'a' "$log" --types n=f32 -o "$folder/z.npy"
    same '9007199254740993,0.5,3,1,7' "$(head -n 2 "$log" | tail -n 1)" 'the table is as it was'
}

# Literals are decimal, or hexadecimal, and none is cut off to the type of what it meets.
test_literals() {
    map 'a + 010 + 0x10' "$folder/u.npy"
    same '27 28 29 25' "$(elements z.npy u1 128)" "$place: 010 is ten"
    map '(a < 4294967298) + (4294967298 > a)' "$folder/w.npy"
    same '2 2 2 2' "$(elements z.npy u4 128)" "$place: 2^32 + 2 beside u32"
    map 'i32(a) + 3000000000' "$folder/w.npy"
    same '3000000001 3000000002' "$(elements z.npy d8 128 | cut -d ' ' -f 1,2)" "$place: beside i32"
    map 'i64(a) < 9223372036854775808' "$folder/w.npy"
    same '1 1 1 1' "$(elements z.npy u1 128)" "$place: 2^63 beside i64"
    map 'u64(18446744073709551615) - a' "$folder/w.npy"
    same '18446744073709551614 18446744073709551613' \
        "$(elements z.npy u8 128 | cut -d ' ' -f 1,2)" "$place: 2^64 - 1"
    map 'a * -0 + -9223372036854775808' "$folder/w.npy"
    same '-9223372036854775808' "$(elements z.npy d8 128 | cut -d ' ' -f 1)" "$place: -2^63"
    map 'u64(a) < 18446744073709551616' "$folder/w.npy"
    same '1 1 1 1' "$(elements z.npy u1 128)" "$place: 2^64 is a float"
}

test_reductions() {
    local reduced=("$weft" map -p "$place" --reduce)
    same 512 "$("${reduced[@]}" sum '2*a - b' "$folder/u.npy" "$folder/w.npy")" "$place: a sum"
    same 3 "$("${reduced[@]}" count a "$folder/d.npy")" "$place: how many are not 0"
    same 3 "$("${reduced[@]}" argmax 'a > 3' "$folder/w.npy")" "$place: where"
    same 2 "$("${reduced[@]}" argmin a "$folder/f.npy")" "$place: positions in C order"
    same 255 "$("${reduced[@]}" or a "$folder/u.npy")" "$place: bits"
    "${reduced[@]}" max 'sqrt(a)' "$folder/d.npy" --json | json_valid 'map --reduce --json' 1
}

test_numbers() {
    # the first words of Philox4x32-10 of counter 0 and key 0, as its authors publish them
    expect 0 '' "$weft" random bits -n 4 --seed 0 -p "$place" -o "$folder/z.npy"
    same '6627e8d5 e169c58d bc57ac4c 9b00dbd8' "$(elements z.npy x4 128)" "$place: known words"
    expect 0 '' "$weft" random bits -n 2 --offset 2 --seed 0 -p "$place" -o "$folder/z.npy"
    same 'bc57ac4c 9b00dbd8' "$(elements z.npy x4 128)" "$place: an offset"
    expect 0 '' "$weft" random permutation -n 5 -p "$place" -o "$folder/z.npy"
    same '0 1 2 3 4' "$(elements z.npy u4 128 | tr ' ' '\n' | sort | xargs)" "$place: permutation"
    same true "$("$weft" random integers -n 1000 --low 1 --high 6 -p "$place" -o - |
        "$weft" map '(a >= 1) & (a <= 6)' - -o - | "$weft" reduce - --op min |
        sed 's/^1$/true/')" "$place: integers in their range"
    "$weft" random normal -n 9 -p "$place" -o "$folder/z.npy" --json | json_valid 'random --json' 1
}

test_refusals() {
    expect 2 'it ends where a number' "$weft" map 'a +' "$folder/u.npy" -o "$folder/x"
    expect 2 '"b" is no input; there is one file, a' "$weft" map 'a + b' "$folder/u.npy" -o "$folder/x"
    expect 2 "no option -a; if it is the formula, write it as '\(-a\)'" \
        "$weft" map -a "$folder/u.npy" -o "$folder/x"
    expect 0 '' "$weft" map '(-a)' "$folder/u.npy" -o "$folder/x" -p cpu
    for formula in '0 < a < 1' 'a == 1 & a == 2'; do
        expect 2 'one comparison is compared; write \(a < b\) & \(b < c\)' \
            "$weft" map "$formula" "$folder/u.npy" -o "$folder/x"
    done
    expect 0 '' "$weft" map '(0 < a) == (a < 1)' "$folder/u.npy" -o "$folder/x" -p cpu
    expect 2 'no function "sin"; there are abs, sqrt, .*round, i8' "$weft" map 'sin(a)' "$folder/u.npy" \
        -o "$folder/x"
    expect 2 'pow\(x, y\)' "$weft" map 'a ** 2' "$folder/u.npy" -o "$folder/x"
    expect 2 '\(a > 0\) & \(a < 1\)' "$weft" map 'a > 0 && a < 1' "$folder/u.npy" -o "$folder/x"
    expect 2 'not a is a == 0' "$weft" map '!a' "$folder/u.npy" -o "$folder/x"
    expect 2 'REM takes integers only' "$weft" map 'a % 2' "$folder/d.npy" -o "$folder/x"
    expect 2 'is not an operator' "$weft" map 'a a' "$folder/u.npy" -o "$folder/x"
    expect 2 'is not a closing parenthesis|ends where a closing' "$weft" map 'min(a, 2' \
        "$folder/u.npy" -o "$folder/x"
    expect 2 'too long|too deeply' "$weft" map "$(printf '(%.0s' {1..90})a" "$folder/u.npy" \
        -o "$folder/x"
    expect 1 'differ in shape' "$weft" map 'a + b' "$folder/u.npy" "$folder/s.npy" -o "$folder/x"
    expect 2 'option --output is missing' "$weft" map a "$folder/u.npy"
    expect 2 'leave --output out' "$weft" map a "$folder/u.npy" --reduce sum -o "$folder/x"
    expect 2 'did you mean "count"' "$weft" map a "$folder/u.npy" --reduce cuont
    expect 1 'integers' "$weft" map a "$folder/d.npy" --reduce xor
    expect 2 'option --n is missing' "$weft" random bits -o "$folder/x"
    expect 2 'did you mean "normal"' "$weft" random norml -n 3 -o "$folder/x"
    expect 2 'only integers have a range' "$weft" random normal -n 3 --low 1 -o "$folder/x"
    expect 2 'a permutation has none' "$weft" random permutation -n 3 --offset 1 -o "$folder/x"
    expect 2 '"300" is outside u8' "$weft" random integers -n 3 -t u8 --high 300 -o "$folder/x"
    expect 1 'low is greater than high' "$weft" random integers -n 3 --low 5 --high 1 \
        -o "$folder/x"
}

make_files
for place in $places; do
    test_formulas
    test_literals
    test_columns
    test_reductions
    test_numbers
done
test_refusals
finish
