#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests of `weft gemm`: what it writes, and what it says of files and options that make no sense.
#   WEFT=build/weft tests/gemm_cli_test.sh        places: WEFT_TEST_PLACES="cpu:2 gpu"
. "$(dirname "$0")/command.sh"

# bytes NUMBER...: as printf escapes, of i8.
bytes() {
    local x
    for x in "$@"; do printf '\\x%02x' $((x & 255)); done
}

# floats NUMBER...: whole numbers from 0 to 3 as printf escapes, of f32.
floats() {
    local x code=('\0\0\0\0' '\0\0\x80\x3f' '\0\0\0\x40' '\0\0\x40\x40')
    for x in "$@"; do printf '%s' "${code[$x]}"; done
}

# gemm ARGUMENT...: writes c.npy.
gemm() {
    expect 0 '' "$weft" gemm -p "$place" -o "$folder/c.npy" "$@"
}

make_files() {
    npy a.npy "'|i1'" '(2, 3)' "$(bytes 1 2 3 4 5 6)"
    npy af.npy "'|i1'" '(2, 3)' "$(bytes 1 4 2 5 3 6)" True
    npy at.npy "'|i1'" '(3, 2)' "$(bytes 1 4 2 5 3 6)"
    npy b.npy "'|i1'" '(3, 2)' "$(bytes 1 0 -1 2 0 1)"
    npy bt.npy "'|i1'" '(2, 3)' "$(bytes 1 -1 0 0 2 1)"
    npy c0.npy "'<i4'" '(2, 2)' "$(printf '\\x%02x\\0\\0\\0' 10 20 30 40)"
    npy c0f.npy "'<i4'" '(2, 2)' "$(printf '\\x%02x\\0\\0\\0' 10 30 20 40)" True
    npy x.npy "'<f4'" '(2, 2)' "$(floats 1 2 3 0)"
    npy half.npy "'<f2'" '(1, 2)' '\0\x3c\0\x40'
    npy brain.npy "'|V2'" '(1, 2)' '\x80\x3f\0\x40'
    npy brain0.npy "'|V2'" '(1, 1)' '\x80\x3f'
    npy vector.npy "'<f4'" '(2,)' "$(floats 1 2)"
    npy empty.npy "'<f4'" '(2, 0)' ''
}

test_products() {
    local a b
    for a in a.npy af.npy 'at.npy --transpose-a'; do
        for b in b.npy 'bt.npy --transpose-b'; do
            set -- $a $b
            gemm "$folder/${a%% *}" "$folder/${b%% *}" $(tr ' ' '\n' <<<"$a $b" | grep -e --)
            same '-1 7 -1 16' "$(elements c.npy d4 128)" "$place: $a times $b"
        done
    done
    gemm "$folder/a.npy" "$folder/b.npy" --alpha -2 --add "$folder/c0.npy"
    same '12 6 32 8' "$(elements c.npy d4 128)" "$place: --alpha --add"
    gemm "$folder/a.npy" "$folder/b.npy" --add "$folder/c0f.npy" --beta 3
    same '29 67 89 136' "$(elements c.npy d4 128)" "$place: --add in Fortran order, --beta"
    for a in full strict tf32; do
        gemm "$folder/x.npy" "$folder/x.npy" --accuracy $a
        same '7 2 3 6' "$(elements c.npy f4 128)" "$place: --accuracy $a"
    done
    gemm "$folder/half.npy" "$folder/half.npy" --transpose-b
    same 4500 "$(elements c.npy x2 128)" "$place: f16"
    gemm "$folder/brain.npy" "$folder/brain.npy" --transpose-b -t bf16
    same 40a0 "$(elements c.npy x2 128)" "$place: bf16"
    gemm "$folder/brain.npy" "$folder/brain.npy" --transpose-b -t bf16 --add "$folder/brain0.npy"
    same 40c0 "$(elements c.npy x2 128)" "$place: bf16, --add"
    gemm "$folder/empty.npy" "$folder/empty.npy" --transpose-b
    same '0 0 0 0' "$(elements c.npy f4 128)" "$place: k = 0"
    cp "$folder/c0.npy" "$folder/c.npy"
    gemm "$folder/a.npy" "$folder/b.npy" --add "$folder/c.npy"
    same '9 27 29 56' "$(elements c.npy d4 128)" "$place: -o takes the place of --add"
    json_valid 'gemm --json' 1 < <("$weft" gemm -p "$place" "$folder/a.npy" "$folder/b.npy" \
        -o "$folder/c.npy" --json)
    same '-1 7 -1 16' "$("$weft" gemm -p "$place" - "$folder/b.npy" -o - <"$folder/a.npy" |
        tail -c 16 | od -An -v -t d4 | xargs)" "$place: a pipe"
}

test_refusals() {
    local a=$folder/a.npy b=$folder/b.npy x=$folder/x.npy
    set -- "$weft" gemm -o "$folder/none.npy"
    expect 2 'give A\(.npy\|.csv\|.txt\) B|missing' "$@" "$a"
    expect 2 'only one of the files' "$@" - -
    expect 2 'only one of the files' "$@" - "$b" --add -
    expect 2 'option --beta: there is no matrix' "$@" "$a" "$b" --beta 2
    expect 2 'option --alpha: "x" is not a number' "$@" "$a" "$b" --alpha x
    expect 2 'did you mean "strict"' "$@" "$x" "$x" --accuracy strikt
    expect 1 '2 x 3 and .*b.npy is 2 x 3 as they are' "$@" "$a" "$b" --transpose-b
    expect 1 'is of i8, but .*x.npy of f32' "$@" "$a" "$x"
    expect 1 'vector.npy has 1 dimension; give matrices' "$@" "$x" "$folder/vector.npy"
    expect 1 'c0.npy is 2 x 2, but the product is 3 x 3' "$@" "$a" "$a" --transpose-a \
        --add "$folder/c0.npy"
    expect 1 'alpha is 0.5; sums of i8' "$@" "$a" "$b" --alpha 0.5
    expect 1 'WEFT_TF32, which is of f32' "$@" "$a" "$b" --accuracy tf32
    expect 1 'type is i8 and out is f32' "$@" "$a" "$b" --add "$x"
    expect 1 'two raw bytes each' "$@" "$folder/brain.npy" "$folder/brain.npy" --transpose-b
    expect 1 'none.npy|No such file' "$@" "$a" "$folder/none.npy"
    checks=$((checks + 1))
    [ -e "$folder/none.npy" ] && fail 'a refused product was written'
}

test_climb() {
    local output
    output=$("$weft" climb gemm -p "$place" --m 20 --n 3 --k 31 --json)
    same 0 $? "$place: climb gemm"
    json_valid 'climb gemm --json' 2 <<<"$output"
    same '' "$(grep -v '"size": "20x3x31"' <<<"$output")" "$place: climb gemm --m --n --k"
    same '' "$(grep '"ok": false' <<<"$output")" "$place: climb gemm"
    same "$((2 * 20 * 3 * 31))" "$(head -n 1 <<<"$output" | count_of flops)" 'flops of 20 x 3 x 31'
    expect 0 'C = A B, i8, m x n x k = 40x40x40' "$weft" climb gemm -p "$place" --n 40 --type i8
    expect 0 '"size": "40x5x5"' "$weft" climb gemm -p "$place" --m 40 --n 5 --json
    expect 2 'option --k: "0" is no count above 0' "$weft" climb gemm -p "$place" --k 0
    expect 2 'option --m: "x" is no count above 0' "$weft" climb gemm -p "$place" --m x
    expect 2 'option --m: scan has one size, --n' "$weft" climb scan --m 5
    for op in gemv ger transpose; do
        expect 0 'm x n = 40x7' "$weft" climb "$op" -p "$place" --m 40 --n 7
        expect 0 '"size": "40x7"' "$weft" climb "$op" -p "$place" --m 40 --n 7 --json
        expect 2 'option --k: '"$op"' has no such extent' "$weft" climb "$op" -p "$place" --k 5
    done
    expect 0 '"size": "40x5"' "$weft" climb trsm -p "$place" --m 40 --n 5 --json
    expect 0 'B = A B, f32, m x n = 5x40' "$weft" climb trmm -p "$place" --m 5 --n 40 --type f32
    expect 0 "C = A A', f64, n x k = 40x5" "$weft" climb syrk -p "$place" --n 40 --k 5
    expect 2 'option --k: trsm has no such extent' "$weft" climb trsm --k 5
    expect 2 'option --m: syrk has no such extent' "$weft" climb syrk --m 5
    expect 2 'option --k: roofs have no such choice' "$weft" climb roof --k 5
    expect 0 '"size": "5x8x9x40"' "$weft" climb gemm_batch -p "$place" --m 5 --n 8 --k 9 \
        --count 40 --json
    expect 0 'f64, m x n x k x count = 32x32x32x50' "$weft" climb gemm_batch -p "$place" \
        --count 50 --type f64
    expect 2 'option --count: gemm is one call' "$weft" climb gemm --count 5
    expect 2 'option --count: roofs have no such choice' "$weft" climb roof --count 5
}

make_files
for place in $places; do
    test_products
    test_climb
done
test_refusals
finish
