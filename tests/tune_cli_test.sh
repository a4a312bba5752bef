#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests of `weft tune`: the table it writes, that programs take it, and what is refused.
#   WEFT=build/weft tests/tune_cli_test.sh        places: WEFT_TEST_PLACES="cpu:2 gpu"
. "$(dirname "$0")/command.sh"

table=$folder/table
tune() { "$weft" tune "$@" -p "$place" -t f32 -n 2000; }

test_table() {
    local lines
    expect 0 '^scan on ' tune scan -o "$table"
    same 'weft-tuning 1' "$(head -n 1 "$table")" 'the first line'
    same "place ${place%%:*}" "$(sed -n 2p "$table")" 'the place'
    lines=$(grep -cE '^scan [a-z_0-9]+ f32 any [0-9.e+-]+$' "$table")
    same "factors $lines" "$(tail -n 1 "$table")" 'the last line'
    same '' "$(tune scan -o - | grep -vE '^(weft-tuning|place|library|device|#|scan|factors) ?')" \
        'standard output'
    tune scan select --json -o "$table" | json_valid 'tune --json' 2
    grep -q '^factors [0-9]' "$table" || fail "the table has no end"
    same '' "$(find "$folder" -name '.weft_*')" 'what is left beside it'
}

test_use() {
    npy x.npy "'<f4'" '(2,)' '\0\0\x80\x3f\0\0\0\x40'
    local scan=("$weft" scan "$folder/x.npy" -p "$place" -o "$folder/y.npy" --json)
    expect 0 '"variant"' env WEFT_TUNING="$table" "${scan[@]}"
    # the factors decide: what they make look slow is not chosen, unless it is forced
    sed '/^[#s]/d; /^factors/d' "$table" >"$table.serial"
    printf 'scan serial f32 any 1e6\nscan blocked f32 any 1e-6\nfactors 2\n' >>"$table.serial"
    if [ "${place%%:*}" = cpu ]; then
        expect 0 '"variant": "serial"' "${scan[@]}"
        expect 0 '"variant": "blocked"' env WEFT_TUNING="$table.serial" "${scan[@]}"
        expect 0 '"variant": "serial"' env WEFT_TUNING="$table.serial" "${scan[@]}" -v serial
    fi
    sed 's/^device .*/device Abacus/' "$table" >"$table.other"
    expect 1 '^weft: scan: WEFT_TUNING: .*for device Abacus' env WEFT_TUNING="$table.other" "${scan[@]}"
    head -n 5 "$table" >"$table.short"
    expect 1 '^weft: scan: WEFT_TUNING: .*does not end' env WEFT_TUNING="$table.short" "${scan[@]}"
    expect 1 '^weft: scan: WEFT_TUNING: .*opening failed' env WEFT_TUNING="$folder/none" "${scan[@]}"
    # a table that is of no use does not keep the command from writing another
    WEFT_TUNING="$table.other" expect 0 'scan on' tune scan -o "$table.other"
    expect 0 '"variant"' env WEFT_TUNING="$table.other" "${scan[@]}"
}

test_refusals() {
    expect 2 'option --output is missing' "$weft" tune scan
    expect 2 'takes the table already' "$weft" tune scan -o - --json
    expect 2 'no ladder "scam".*scan' "$weft" tune scam -p cpu:2 -o "$folder/new"
    expect 2 'scan is named twice' "$weft" tune scan scan -p cpu:2 -o "$folder/new"
    expect 1 'cpu:2 has no choice between rungs of gemm' "$weft" tune gemm -p cpu:2 -o "$folder/new"
    expect 1 'no choice .* for i64' "$weft" tune sparse -t i64 -p cpu:2 -o "$folder/new"
    expect 1 'cannot write' "$weft" tune scan -p cpu:2 -o "$folder/none/table"
    [ ! -e "$folder/new" ] || fail "a refused command wrote a table"
}

for place in $places; do
    test_table
    test_use
done
test_refusals
finish
