#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests of `weft group` and `weft gather`, and of choosing columns: tables of text and arrays, in
# and out, and what they say of files and options that make no sense.
#   WEFT=build/weft tests/group_cli_test.sh        places: WEFT_TEST_PLACES="cpu:2 gpu"
. "$(dirname "$0")/command.sh"

log=$folder/log.csv

# lines COMMAND...: what it prints, with / between lines.
lines() {
    "$weft" "$@" -p "$place" | paste -sd/
}

make_files() {
    printf 'time,sensor,"temp, C",pressure\n1,7,20.5,1\n2,3,18,2\n3,7,21.5,3\n4,3,19,4\n5,9,0,5\n' \
        >"$log"
    npy values.npy "'<f4'" '(4,)' '\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40' # 1 2 3 4
    npy keys.npy "'|i1'" '(4,)' '\x02\xff\x02\xff'
    npy table.npy "'|u1'" '(3, 2)' '\1\2\3\4\5\6' True # 1 4 / 2 5 / 3 6
    npy large.npy "'<u8'" '(1,)' '\xff\xff\xff\xff\xff\xff\xff\xff'
    npy minus.npy "'|i1'" '(1,)' '\xff'
    npy halves.npy "'<u4'" '(3,)' '\2\0\0\0\1\0\0\0\1\0\0\0'
    npy none.npy "'<i4'" '(0,)' ''
    npy empty.npy "'<f8'" '(0,)' ''
}

test_group() {
    same 'sensor count mean min max/3 2 18.5 18 19/7 2 21 20.5 21.5/9 1 0 0 0' \
        "$(lines group "$log" --by sensor -c 3 --op count,mean,min,max)" "$place: sensors"
    same 'sensor count/3 2/7 2/9 1' "$(lines group "$log" --by sensor)" "$place: counts"
    same 'sensor count/7 1/3 1/7 1/3 1/9 1' "$(lines group "$log" --by sensor --runs)" \
        "$place: runs"
    same 'key sum/3 6/7 4/9 5' "$(lines group "$log" -b 2 -t i64 -c pressure --op sum)" \
        "$place: of integers"
    same 'key_2 key_1 product_pressure product_3/3 2 2 18/3 4 4 19/7 1 1 20.5/7 3 3 21.5/9 5 5 0' \
        "$(lines group "$log" --by 2,1 -c pressure,3 --op product)" "$place: a key of two columns"
    same '3 2/7 2/9 1' "$(tail -n +2 "$log" | cut -d, -f2 | "$weft" group - --by 1 -p "$place" \
        --op count | tail -n +2 | paste -sd/)" "$place: standard input"
    same 'key count sum/-1 2 6/2 2 4' \
        "$(lines group "$folder/values.npy" "$folder/keys.npy")" "$place: keys of another file"
    same 'key mean_1 mean_2/1 2.5 5.5/2 1 4' \
        "$(lines group "$folder/table.npy" "$folder/halves.npy" --op mean)" "$place: two columns"
    printf 'k,x\n1,1e30\n1,2\n1,-1e30\n1,0\n2,5\n' >"$folder/cancel.csv"
    same 'k count sum mean max/1 4 2 0.5 1e+30/2 1 5 5 5' \
        "$(lines group "$folder/cancel.csv" --by k -c x --op count,sum,mean,max --exact)" \
        "$place: exact sums"
    expect 0 '' "$weft" group "$log" --by sensor -t i64 -c time -p "$place" -o "$folder/out.npy" \
        --op max,count
    same '3 4 2 7 3 2 9 5 1' "$(elements out.npy d8 128)" "$place: an array of i64"
    expect 0 '' "$weft" group "$log" --by sensor -c time -p "$place" -o "$folder/out.csv" --op max
    same 'sensor,max/3,4/7,3/9,5' "$(paste -sd/ "$folder/out.csv")" "$place: a table of text"
    same 'key count sum' "$(lines group "$folder/empty.npy" "$folder/empty.npy")" "$place: no rows"
    "$weft" group "$log" --by sensor -p "$place" --json | json_valid 'group --json' 3
    printf 'count,file,x\n1,2,3\n' >"$folder/taken.csv"
    expect 0 '"key_count": 1, "key_file": 2, "count": 1, "sum": 3' \
        "$weft" group "$folder/taken.csv" --by count,file -c x -p "$place" --json
    "$weft" group "$log" --by sensor -p "$place" -o "$folder/out.csv" --json |
        json_valid 'group -o --json' 1
}

test_gather() {
    printf '2\n0\n2\n' >"$folder/rows.txt"
    expect 0 '' "$weft" gather "$log" "$folder/rows.txt" -p "$place" -o "$folder/out.csv"
    same 'time,sensor,"temp, C",pressure/3,7,21.5,3/1,7,20.5,1/3,7,21.5,3' \
        "$(paste -sd/ "$folder/out.csv")" "$place: rows, with their titles"
    expect 0 '' "$weft" gather "$log" "$folder/rows.txt" -c sensor -p "$place" -o "$folder/out.txt"
    same 'sensor/7/7/7' "$(paste -sd/ "$folder/out.txt")" "$place: one column"
    "$weft" gather "$log" "$folder/rows.txt" -c 3,2 -p "$place" -o "$folder/out.txt"
    same '"temp, C" sensor/21.5 7/20.5 7/21.5 7' "$(paste -sd/ "$folder/out.txt")" "$place: in quotes"
    same 21.5 "$("$weft" reduce "$folder/out.txt" -c '"temp, C"' --op max)" "$place: read again"
    "$weft" sort "$folder/keys.npy" --indices -p "$place" -o - |
        "$weft" gather "$folder/keys.npy" - -p "$place" -o "$folder/out.npy"
    same '-1 -1 2 2' "$(elements out.npy d1 128)" "$place: as sort --indices"
    npy where.npy "'|u1'" '(2,)' '\2\0'
    expect 0 '' "$weft" gather "$folder/table.npy" "$folder/where.npy" -p "$place" -o "$folder/out.npy"
    same '3 6 1 4' "$(elements out.npy u1 128)" "$place: rows of an array in Fortran order"
    expect 0 '' "$weft" gather "$folder/keys.npy" "$folder/none.npy" -p "$place" -o "$folder/out.npy"
    same '' "$(elements out.npy d1 128)" "$place: no positions"
    "$weft" gather "$folder/keys.npy" "$folder/where.npy" -p "$place" -o "$folder/out.npy" --json |
        json_valid 'gather --json' 1
    printf '0\n5\n' >"$folder/rows.txt"
    expect 1 'index\[1\] is 5, and m is 5' "$weft" gather "$log" "$folder/rows.txt" -p "$place" \
        -o "$folder/x"
    printf -- '-1\n' >"$folder/rows.txt"
    expect 1 'index\[0\] is -1' "$weft" gather "$log" "$folder/rows.txt" -p "$place" -o "$folder/x"
}

# Columns of arrays, which other commands take as well.
test_columns() {
    expect 0 '' "$weft" sort "$folder/table.npy" -c 2 --descending -p "$place" -o "$folder/out.npy"
    same '6 5 4' "$(elements out.npy u1 128)" "$place: a column of an array"
    "$weft" scan "$folder/table.npy" -c 2,1 -p "$place" -o "$folder/out.txt"
    same '4 5/10 12/18 21' "$(paste -sd/ "$folder/out.txt")" "$place: two columns, the other way"
    expect 1 'names no columns of it; they have numbers from 1 to 2' "$weft" reduce \
        "$folder/table.npy" -c 3
    expect 1 'names no columns of it' "$weft" reduce "$folder/table.npy" -c 1,,2
    expect 1 'an array of 1 dimension has no columns' "$weft" reduce "$folder/keys.npy" -c 1
}

# Columns with types of their own, as 64-bit ids beside readings: nothing is rounded on its way from
# a table to a table.
test_types() {
    local big=9007199254740993 most=18446744073709551615
    printf "id,temp,n\r\n$big,0.5,$most\n-5,,1\r\n$big,\"1.5\",3\n\n-9223372036854775808,1e3,2" \
        >"$folder/ids.csv"
    same "id count sum/-9223372036854775808 1 1000/-5 1 nan/$big 2 2" \
        "$(lines group "$folder/ids.csv" --by id -c temp)" "$place: ids beside floats"
    same "temp max_id max_n/0.5 $big $most/1.5 $big 3/1000 -9223372036854775808 2/nan -5 1" \
        "$(lines group "$folder/ids.csv" --by temp -c id,n --op max)" "$place: by a float, u64"
    same "id n count/-9223372036854775808 2 1/-5 1 1/$big 3 1/$big $most 1" \
        "$(lines group "$folder/ids.csv" --by id,n)" "$place: a key of i64 and u64"
    expect 0 '' "$weft" group "$folder/ids.csv" --by id -c temp,n --op max,mean -p "$place" \
        -o "$folder/out.csv"
    same "id,max_temp,max_n,mean_temp,mean_n -9223372036854775808,1000,2,1000,2 -5,nan,1,nan,1 \
$big,1.5,$most,1,9.223372036854776e+18" "$(xargs <"$folder/out.csv")" "$place: means of u64 do not wrap"
    same "id sum/-9223372036854775808 1000/-5 nan/$big 2" \
        "$(lines group "$folder/out.csv" --by id -c max_temp --op sum | sed 's/ 1.5/ 2/')" \
        "$place: read back"
    "$weft" group "$folder/ids.csv" --by id -c n --op max --json -p "$place" >"$folder/ids.json"
    expect 0 "\"id\": $big, \"max\": $most" cat "$folder/ids.json"
    expect 1 'a sum of column n is about 1.84467e\+19, which u64 cannot hold; .* --types n=f64' \
        "$weft" group "$folder/ids.csv" --by id -c n --op sum -p "$place"
    same "id sum/-9.223372036854776e+18 2/-5 1/9007199254740992 1.8446744073709552e+19" \
        "$(lines group "$folder/ids.csv" --by id -c n --op sum --types n=f64,id=f64)" "$place: said types"
    expect 1 'f64 cannot hold 9007199254740993 of column id exactly; write a table of text' \
        "$weft" group "$folder/ids.csv" --by id -c temp -p "$place" -o "$folder/x.npy"
    printf '3037000500,3037000500\n' | sed 'p;s/,.*/,-3037000500/;p' >"$folder/square.csv"
    expect 1 'a product of column 2 is about .*e\+28, which i64 cannot hold' \
        "$weft" group "$folder/square.csv" --by 1 -c 2 --op product -p "$place"
    same '3037000500 -3037000500' "$(lines group "$folder/square.csv" --by 1 -c 2 --op sum | tail -n 1 |
        sed 's,.*/,,')" "$place: sums that fit"
    printf '%s,1\n' -5 "$big" 7 >"$folder/some.csv"
    "$weft" sort "$folder/ids.csv" -c id -i -o -.csv -p "$place" |
        "$weft" gather "$folder/ids.csv" - -o "$folder/out.csv" -p "$place"
    same "id,temp,n -9223372036854775808,1000,2 -5,nan,1 $big,0.5,$most $big,1.5,3" \
        "$(xargs <"$folder/out.csv")" "$place: rows by an id"
    printf 'row,why\n3,0.5\n0,9\n' >"$folder/rows.csv"
    expect 0 '' "$weft" gather "$folder/ids.csv" "$folder/rows.csv" --by row -c n,id -p "$place" \
        -o "$folder/out.csv"
    same "n,id 2,-9223372036854775808 $most,$big" "$(xargs <"$folder/out.csv")" "$place: by a column"
    expect 2 'rows.csv: it has 2 columns; name the one that holds positions with --by' \
        "$weft" gather "$folder/ids.csv" "$folder/rows.csv" -o "$folder/x.csv" -p "$place"
    expect 1 'rows.csv holds f64; positions are integers' \
        "$weft" gather "$folder/ids.csv" "$folder/rows.csv" --by why -o "$folder/x.csv" -p "$place"
    expect 1 'f64 cannot hold 9007199254740993 of column id exactly' \
        "$weft" gather "$folder/ids.csv" "$folder/rows.csv" --by row -o "$folder/x.npy" -p "$place"
}

# Positions of one and two bytes, of each sign.
test_narrow_positions() {
    local type bytes
    for type in u1 i1 u2 i2; do
        bytes='\2\0'
        [ "${type#?}" = 1 ] || bytes='\2\0\0\0'
        npy where.npy "'<$type'" '(2,)' "$bytes"
        "$weft" gather "$log" "$folder/where.npy" -c time -o "$folder/out.csv" -p "$place"
        same 'time 3 1' "$(xargs <"$folder/out.csv")" "$place: positions of $type"
    done
    npy where.npy "'|i1'" '(1,)' '\xff'
    expect 1 'index\[0\] is -1' "$weft" gather "$log" "$folder/where.npy" -o "$folder/x" -p "$place"
}

# Numbers of rows that are none or few.
test_few_rows() {
    printf 'id,x\n' >"$folder/none.csv"
    same 'id count' "$("$weft" group "$folder/none.csv" --by id -p "$place" | xargs)" "$place: no rows"
    "$weft" select "$folder/none.csv" -c x -w '>0' -p "$place" -o "$folder/left.csv"
    same '0' "$("$weft" reduce "$folder/left.csv" -p "$place")" "$place: what a select leaves is read again"
    "$weft" sort "$folder/none.csv" --by x -p "$place" -o "$folder/left.csv"
    same 'id,x' "$(cat "$folder/left.csv")" "$place: no rows in order"
    printf 'id,x\n18446744073709551615,-0\n' >"$folder/single.csv"
    same 'id max/18446744073709551615 -0' "$(lines group "$folder/single.csv" --by id -c x --op max)" \
        "$place: one row"
}

test_refusals() {
    expect 2 'there is no type "i65"' "$weft" group "$log" --by 1 --types sensor=i65
    expect 1 'no column "senso"; did you mean "sensor"' "$weft" group "$log" --by 1 --types senso=i64
    expect 1 '--types is about tables of text' "$weft" group "$folder/values.npy" "$folder/keys.npy" --types f64
    expect 1 '"20.5" is no whole number' "$weft" group "$log" --by sensor -c 3 --types 3=i64
    expect 2 'option --by is missing' "$weft" group "$log"
    expect 2 'holds the keys already' "$weft" group "$log" "$folder/keys.npy" --by 1
    expect 2 'did you mean "count"' "$weft" group "$log" --by 1 --op cuont
    expect 2 'sum stands there twice' "$weft" group "$log" --by 1 --op sum,sum
    expect 1 'no column "sensors"' "$weft" group "$log" --by sensors
    expect 1 'chosen twice' "$weft" group "$log" --by sensor -c sensor
    expect 1 'holds 5 rows, but .*keys.npy holds 4 keys' "$weft" group "$log" "$folder/keys.npy"
    npy rows.npy "'<f4'" '(4611686018427387904, 0)' ''
    expect 1 'rows.npy has no columns' timeout 20 "$weft" group "$folder/rows.npy" "$folder/rows.npy"
    expect 2 'only one of the files' "$weft" group - -
    expect 0 '^18446744073709551615 18446744073709551615$' "$weft" group "$folder/large.npy" \
        "$folder/large.npy" --op sum
    expect 1 'i64 cannot hold 18446744073709551615 of column key exactly; write a table of text' \
        "$weft" group "$folder/minus.npy" "$folder/large.npy" --op min -o "$folder/x.npy"
    expect 2 'option --output is missing' "$weft" gather "$log" "$folder/rows.txt"
    expect 1 'holds f64; positions are integers' "$weft" gather "$log" "$folder/empty.npy" \
        -o "$folder/x"
    expect 2 'only one of the files' "$weft" gather - - -o "$folder/x"
}

make_files
for place in $places; do
    test_group
    test_gather
    test_columns
    test_types
    test_narrow_positions
    test_few_rows
done
test_refusals
finish
