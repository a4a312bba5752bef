#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests of the command: what it prints, what it returns, pipes, bad files, bad command lines.
#   WEFT=build/weft tests/cli_test.sh        places: WEFT_TEST_PLACES="cpu:2 gpu"
. "$(dirname "$0")/command.sh"

# What bash offers for the last word of a line.
completed() {
    bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _weft; echo "${COMPREPLY[@]}"' - \
        "$folder/weft.bash" "$@"
}

test_help() {
    local command
    expect 0 '^weft [0-9]+\.[0-9]+\.[0-9]+$' "$weft" --version
    expect 0 'weft demo' "$weft" help
    expect 0 'weft demo' "$weft" --help
    expect 2 'Four things to try' "$weft"
    for command in $(commands); do
        expect 0 "usage: weft $command" "$weft" help $command
        expect 0 "usage: weft $command" "$weft" $command --help
        checks=$((checks + 1))
        "$weft" help $command | grep -Eq '.{81}' && fail "help $command: a line over 80 columns"
        "$weft" help --man | grep -q "^.SS weft $command" || fail "man page lacks $command"
    done
    "$weft" help --completion bash >"$folder/weft.bash"
    checks=$((checks + 1))
    bash -n "$folder/weft.bash" || fail 'bash completion is no bash'
    same 'argmin argmax' "$(bash -c '. "$1"; COMP_WORDS=(weft reduce x.npy --op arg); COMP_CWORD=4
        _weft; echo "${COMPREPLY[@]}"' - "$folder/weft.bash")" 'completion of --op arg'
    same 'scan' "$(bash -c '. "$1"; COMP_WORDS=(weft sc); COMP_CWORD=1; _weft
        echo "${COMPREPLY[@]}"' - "$folder/weft.bash")" 'completion of sc'
    : >"$folder/A.mtx"
    : >"$folder/a.npy"
    same "$("$weft" help solve | sed -n '/^Variants/,/^$/s/^  //p' | xargs) $folder/A.mtx $folder/a.npy" "$(bash -c '. "$1"
        COMP_WORDS=(weft solve --variant ""); COMP_CWORD=3; _weft; echo -n "${COMPREPLY[@]} "
        COMP_WORDS=(weft solve "$2/"); COMP_CWORD=2; _weft; echo "${COMPREPLY[@]}"' - \
        "$folder/weft.bash" "$folder")" 'completion of weft solve'
    same '--rhs --repeat' "$(completed weft solve A.mtx --refine 2 --r)" 'an option that is there'
    same '--refine --repeat' "$(completed weft solve -b b.npy A.mtx --r)" 'an option that is there as a letter'
    same '--refine' "$(completed weft solve --repeat = 3 --re)" 'an option that is there with ='
    same 'scan scatter' "$(completed weft climb sca)" 'an operand'
    same '' "$(completed weft climb scan s)" 'an operand too many'
    same 'cpu' "$(completed weft gemm -p c)" 'a place'
    same '' "$(completed weft blend -p m)" 'place mpi, of a command that does not work there'
    same 'mpi' "$(completed weft sort -p m)" 'place mpi'
    expect 0 'left_looking multifrontal' "$weft" help solve
    expect 0 'dissect best$' "$weft" help analyze
    expect 0 '#compdef weft' "$weft" help --completion zsh
    expect 0 'complete -c weft' "$weft" help --completion fish
    if command -v zsh >/dev/null; then
        "$weft" help --completion zsh | zsh -fn || fail 'zsh completion is no zsh'
    fi
    if command -v fish >/dev/null; then
        "$weft" help --completion fish | fish --no-execute || fail 'fish completion is no fish'
    fi
    expect 2 'there are: bash, zsh, fish' "$weft" help --completion tcl
}

test_usage() {
    npy good.npy "'<f4'" '(2,)' '\0\0\0\0\0\0\0\0'
    local file=$folder/good.npy
    expect 2 'did you mean "climb"' "$weft" clmib scan
    expect 2 'did you mean "scan"' "$weft" climb scna
    expect 2 'did you mean --place' "$weft" climb scan --plcae cpu
    expect 2 'no option -op; did you mean --op' "$weft" reduce -op max
    same 'weft: there is no command "clmib"; did you mean "climb"?' \
        "$(for _ in {1..30}; do "$weft" clmib 2>&1 | dd bs=4096 count=1 2>/dev/null | head -n 1; done | sort -u)" \
        'an error in one write'
    expect 2 'no option --hlep; did you mean --help' "$weft" --hlep
    expect 2 'no option --vers; did you mean --version' "$weft" --vers
    expect 2 '^weft: --place is not understood before the command' "$weft" --place cpu
    expect 2 'did you mean "f32"' "$weft" reduce "$file" --type f33
    expect 2 'did you mean "argmax"' "$weft" reduce "$file" --op agrmax
    expect 2 'there are: sum, product, min, max, and, or, xor' "$weft" scan "$file" --op mean -o x
    expect 2 'no operation "and"' "$weft" reduce "$file" --op and
    expect 2 'option --place: .*is not a place' "$weft" reduce "$file" --place moon
    expect 2 'option --variant: .*no variant' "$weft" reduce "$file" --variant fastest
    expect 2 'did you mean "threads"' "$weft" reduce "$file" --place cpu --variant thraeds
    expect 2 'an operand is missing; give FILE\(.npy\|.csv\|.txt\)' "$weft" reduce
    expect 2 'one operand too many' "$weft" scan a b -o c
    expect 2 'takes options only' "$weft" info file
    expect 2 'option --output is missing; add -o' "$weft" scan "$file"
    expect 2 'option --op lacks its OP' "$weft" reduce "$file" --op
    expect 2 'option --json takes no value' "$weft" reduce "$file" --json=yes
    expect 2 'option --n: "-1" is not a count' "$weft" climb scan --n -1
    expect 2 'option --n: "1.5" is not a count' "$weft" climb scan --n 1.5
    expect 2 'option --n: "2\^64" is not a count' "$weft" climb scan --n 2^64
    expect 2 'option --seed: "x" is not a number' "$weft" climb scan --seed x
    expect 2 'options come after it' "$weft" --place cpu demo
    expect 2 'takes two files' "$weft" reduce "$file" --op dot
    expect 2 'takes one file' "$weft" reduce "$file" "$file"
    expect 2 'only one of the files' "$weft" add - - -o x.npy
    expect 2 'WEFT_PLACE' env WEFT_PLACE=moon "$weft" reduce "$file"
    expect 2 '^weft: reduce: WEFT_THREADS' env WEFT_THREADS=0 "$weft" reduce "$file" --place cpu
    expect 2 '^weft: reduce: WEFT_VARIANT' env WEFT_VARIANT=scan "$weft" reduce "$file" -p cpu
    expect 0 '^0$' env WEFT_PLACE= WEFT_THREADS= WEFT_VARIANT= "$weft" reduce "$file"
    expect 0 '^0$' "$weft" reduce --op=sum -p cpu -- "$file"
}

test_reduce() {
    local place=$1 op
    npy ints.npy "'<i4'" '(5,)' '\x03\0\0\0\xff\xff\xff\xff\x04\0\0\0\xff\xff\xff\xff\x05\0\0\0'
    npy big.npy "'>i4'" '(5, 1)' '\0\0\0\x03\xff\xff\xff\xff\0\0\0\x04\xff\xff\xff\xff\0\0\0\x05' \
        False 2
    npy floats.npy "'<f4'" '(1,)' '\xcd\xcc\xcc\x3d' False 3
    npy doubles.npy "'>f8'" '()' '\x3f\xd5\x55\x55\x55\x55\x55\x55'
    npy nan.npy "'<f4'" '(2,)' '\0\0\0\0\0\0\xc0\x7f'
    npy empty.npy "'<f8'" '(0, 3)' ''
    npy voids.npy "'<V2'" '(3,)' '\x80\x3f\x00\x40\x40\x40'
    npy matrix.npy "'|i1'" '(2, 3)' '\x01\x02\x03\x09\x05\x06' True # 1 3 5 / 2 9 6
    for op in 'sum 10' 'product 60' 'min -1' 'max 5' 'argmin 1' 'argmax 4' 'nrm1 14' 'nrminf 5' \
        'nrm2 7.211102550927978'; do
        same "${op#* }" "$("$weft" reduce "$folder/ints.npy" -p "$place" --op "${op% *}")" \
            "$place: reduce --op ${op% *}"
        same "${op#* }" "$("$weft" reduce - -p "$place" --op "${op% *}" <"$folder/big.npy")" \
            "$place: big-endian pipe, --op ${op% *}"
    done
    same 52 "$("$weft" reduce "$folder/ints.npy" - -p "$place" --op dot <"$folder/ints.npy")" dot
    same 0.1 "$("$weft" reduce "$folder/floats.npy" -p "$place")" 'shortest digits of an f32'
    same 0.3333333333333333 "$("$weft" reduce "$folder/doubles.npy" -p "$place")" 'digits of an f64'
    same nan "$("$weft" reduce "$folder/nan.npy" -p "$place" --op max)" 'max with a NaN'
    same 0 "$("$weft" reduce "$folder/empty.npy" -p "$place")" 'sum of nothing'
    same none "$("$weft" reduce "$folder/empty.npy" -p "$place" --op argmin)" 'argmin of nothing'
    same 6 "$("$weft" reduce "$folder/voids.npy" -p "$place" --type bf16)" 'sum of bf16'
    same 4 "$("$weft" reduce "$folder/matrix.npy" -p "$place" --op argmax)" 'argmax, Fortran order'
    "$weft" reduce "$folder/ints.npy" -p "$place" --json | json_valid 'reduce --json' 1
    "$weft" reduce "$folder/nan.npy" -p "$place" --json | json_valid 'reduce --json of NaN' 1
    same 0.1 "$("$weft" reduce "$folder/floats.npy" -p "$place" --exact)" 'an exact sum'
    same 7.211102550927978 "$("$weft" reduce "$folder/ints.npy" -p "$place" --op nrm2 --exact)" \
        'an exact norm of integers'
    "$weft" reduce "$folder/floats.npy" -p "$place" --exact --json | json_valid 'reduce --exact' 1
    expect 1 'op must be SUM, NRM1 or NRM2' "$weft" reduce "$folder/floats.npy" --exact --op max
    expect 0 '"result": null' "$weft" reduce "$folder/empty.npy" -p "$place" --op argmax --json
    expect 0 '"variant": "serial"' env WEFT_VARIANT=reduce:serial "$weft" reduce \
        "$folder/ints.npy" -p cpu --json
}

test_scan_and_add() {
    local place=$1
    npy bytes.npy "'|u1'" '(4,)' '\x01\x02\x03\xff'
    npy c_order.npy "'|i1'" '(2, 3)' '\x0a\x14\x1e\x28\x32\x3c' # 10 20 30 / 40 50 60
    "$weft" scan "$folder/bytes.npy" -p "$place" -o "$folder/out.npy" || fail "$place: scan"
    same '1 3 6 5' "$(elements out.npy u1 128)" "$place: inclusive scan, wrapping"
    "$weft" scan - -p "$place" --exclusive --init 7 -o - <"$folder/bytes.npy" >"$folder/out.npy"
    same '7 8 10 13' "$(elements out.npy u1 128)" "$place: exclusive scan from 7, in a pipe"
    "$weft" scan "$folder/big.npy" -p "$place" --op max -o "$folder/out.npy"
    same '3 3 4 4 5' "$(elements out.npy d4 128)" "$place: max scan of a big-endian file"
    "$weft" scan "$folder/matrix.npy" -p "$place" -o "$folder/out.npy"
    same '1 4 9 11 20 26' "$(elements out.npy d1 128)" "$place: scan of a Fortran matrix, in C order"
    grep -aq "'shape': (2, 3)" "$folder/out.npy" || fail 'scan lost the shape'
    same 15 "$("$weft" scan "$folder/bytes.npy" -p "$place" -o - | "$weft" reduce -)" 'scan | reduce'
    "$weft" add "$folder/matrix.npy" "$folder/matrix.npy" -p "$place" -o "$folder/out.npy"
    same '2 4 6 18 10 12' "$(elements out.npy d1 128)" "$place: add keeps Fortran order"
    grep -aq "'fortran_order': True" "$folder/out.npy" || fail 'add lost the order'
    "$weft" add "$folder/matrix.npy" - -p "$place" -o - <"$folder/c_order.npy" >"$folder/out.npy"
    same '11 23 35 42 59 66' "$(elements out.npy d1 128)" "$place: add of both orders"
    cp "$folder/bytes.npy" "$folder/self.npy"
    "$weft" add "$folder/self.npy" "$folder/self.npy" -p "$place" -o "$folder/self.npy"
    same '2 4 6 254' "$(elements self.npy u1 128)" "$place: add onto its own input"
    "$weft" scan "$folder/bytes.npy" -p "$place" -o "$folder/out.npy" --json | json_valid 'scan --json' 1
    "$weft" add "$folder/self.npy" "$folder/self.npy" -p "$place" -o "$folder/out.npy" --json |
        json_valid 'add --json' 1
    expect 2 'option --json: standard output takes' "$weft" scan "$folder/bytes.npy" --json -o -
    expect 2 '"300" is outside u8, from 0 to 255' "$weft" scan "$folder/bytes.npy" -p "$place" \
        --init 300 -o "$folder/out.npy"
    expect 1 'bytes.npy holds u8 of shape \(4\), but .*matrix.npy holds i8 of shape \(2, 3\)' \
        "$weft" add "$folder/bytes.npy" "$folder/matrix.npy" -o "$folder/x"
    expect 1 'save them alike' "$weft" reduce "$folder/bytes.npy" "$folder/matrix.npy" --op dot
}

test_histogram() {
    local place=$1 corpus=$WEFT_SOURCE/tests/fuzz
    npy fives.npy "'<i4'" '(2, 3)' \
        '\x05\0\0\0\xff\xff\xff\xff\x05\0\0\0\x02\0\0\0\x09\0\0\0\xfe\xff\xff\xff' # 5 -1 5 2 9 -2
    "$weft" histogram "$folder/fives.npy" -p "$place" --bins 3 --lo -1 --hi 8 -o "$folder/out.npy"
    same '1 1 2' "$(elements out.npy u8 128)" "$place: histogram"
    expect 0 '"below": 1, "above": 1, "nan": 0, "counts": \[1, 1, 2\]' "$weft" histogram \
        "$folder/fives.npy" -p "$place" --bins 3 --lo -1 --hi 8 --json
    expect 0 'below 1, above 1, NaN 0' "$weft" histogram "$folder/fives.npy" -p "$place" --bins 3 \
        --lo -1 --hi 8
    expect 0 '^ *-2 +3 #+$' "$weft" histogram "$folder/fives.npy" -p "$place" --bins 2
    expect 0 '"counts": \[0, 0\]' "$weft" histogram "$folder/empty.npy" -p "$place" --bins 2 --json
    printf '%s\n' 9007199254740995 1152921504606846976 >"$folder/long.txt" # as f64 the first is one more
    expect 0 '"below": 0, .*"counts": \[1, 1\]' "$weft" histogram "$folder/long.txt" -p "$place" -t i64 --bins 2 --json
    expect 0 '"channel": "gray".*"counts": \[3, 0, 0, 3\]' "$weft" histogram -p "$place" \
        "$corpus/pnm/plain_gray.pgm" --bins 4 --lo 0 --hi 16 --json
    expect 0 '"channel": "blue".*"hi": 1001' "$weft" histogram -p "$place" \
        "$corpus/pnm/plain_rgb16.ppm" --json
    expect 1 'cut short' "$weft" histogram "$corpus/pnm/lying_size.pgm"
    expect 1 'not a .npy, .csv, .txt, PGM, PPM or PNG file; convert other images, such as JPEG' "$weft" histogram "$0"
    if [ "${WEFT_PNG:-0}" = 1 ]; then
        expect 0 '"channel": "green".*"counts": \[6, 0\]' "$weft" histogram -p "$place" --bins 2 \
            "$corpus/png/rgb8.png" --json
        "$weft" histogram - -p "$place" -o "$folder/out.npy" <"$corpus/png/gray_alpha8.png"
        grep -aq "'shape': (2, 256)" "$folder/out.npy" || fail "$place: histogram of a pipe"
        expect 1 'malformed PNG' "$weft" histogram "$corpus/png/cut_short.png"
    else
        expect 1 'libpng-dev' "$weft" histogram "$corpus/png/rgb8.png"
    fi
    expect 2 'is not a finite number' "$weft" histogram "$folder/fives.npy" --lo nan
    expect 2 'is not a whole number' "$weft" histogram "$folder/fives.npy" --bins 1.5
    expect 1 'count of 0' "$weft" histogram "$folder/fives.npy" --bins 0
    expect 1 'lo < hi' "$weft" histogram "$folder/fives.npy" --lo 2 --hi 1
    expect 0 '"lo": 0, "hi": 1, "below": 0, "above": 0, "nan": 1, "counts": \[1, 0\]' "$weft" histogram \
        "$folder/nan.npy" -p "$place" --bins 2 --json
    npy wild.npy "'<f2'" '(6,)' '\0\x3c\0\x7c\0\xfc\0\xc0\0\x7e\0\0' # 1, inf, -inf, -2, NaN, 0
    expect 0 '"lo": -2, "hi": 1\.0000000000000002, "below": 1, "above": 1, "nan": 1, "counts": \[1, 2\]' \
        "$weft" histogram "$folder/wild.npy" -p "$place" --bins 2 --json
    npy undefined.npy "'<f8'" '(1,)' '\0\0\0\0\0\0\xf8\x7f'
    expect 0 'below 0, above 0, NaN 1' "$weft" histogram "$folder/undefined.npy" -p "$place" \
        --bins 2
    npy most.npy "'<f8'" '(2,)' '\xff\xff\xff\xff\xff\xff\xef\x7f\0\0\0\0\0\0\0\0'
    expect 1 'most.npy: the largest element is as large as f64 can be' "$weft" histogram \
        "$folder/most.npy" -p "$place"
}

# Between images white stays white, and numbers of arrays stay what they are.
test_convolve_types() {
    local place=$1
    npy wide.npy "'<u2'" '(1, 3)' '\7\0\377\0\0\1'        # 7 255 256
    npy half.npy "'<f8'" '(1, 1)' '\0\0\0\0\0\0\xe0\x3f' # 0.5
    "$weft" convolve "$folder/tiny.pgm" -p "$place" -f box:1 --to u16 -o "$folder/out.npy"
    same '257 514 771 1028 1285 65535' "$(elements out.npy u2 128)" "$place: 16 bits of 8"
    "$weft" convolve "$folder/wide.npy" -p "$place" -f box:1 --to u8 -o "$folder/out.npy"
    same '7 255 255' "$(elements out.npy u1 128)" "$place: an array of 8 bits of 16"
    "$weft" convolve "$folder/wide.npy" -p "$place" -f "$folder/half.npy" --to f32 -o "$folder/out.npy"
    same '3.5 127.5 128' "$(elements out.npy f4 128)" "$place: floats of 16 bits"
    "$weft" convolve "$folder/wide.npy" -p "$place" -f "$folder/half.npy" --to u8 --truncate \
        --any-order -o "$folder/out.npy"
    same '3 127 128' "$(elements out.npy u1 128)" "$place: cut towards zero"
    "$weft" convolve "$folder/tiny.pgm" -p "$place" -f sobel --to f64 --json -o "$folder/out.npy" |
        json_valid 'convolve --to --json' 1
    expect 2 'images hold u8 and u16' "$weft" convolve "$folder/tiny.pgm" -f box:1 --to f32 -o "$folder/x.pgm"
    expect 2 'no type "u32"' "$weft" convolve "$folder/tiny.pgm" -f box:1 --to u32 -o "$folder/x.npy"
}

test_convolve() {
    local place=$1 corpus=$WEFT_SOURCE/tests/fuzz
    printf 'P5 3 2 255\n\1\2\3\4\5\377' >"$folder/tiny.pgm"
    npy shift.npy "'<f8'" '(1, 3)' '\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' # 1 0 0
    "$weft" convolve "$folder/tiny.pgm" -p "$place" -f box:1 -o "$folder/out.npy"
    same '1 2 3 4 5 255' "$(elements out.npy u1 128)" "$place: convolve by one pixel"
    "$weft" convolve "$folder/tiny.pgm" -p "$place" -f gauss:1e-300 -o "$folder/out.npy"
    same '1 2 3 4 5 255' "$(elements out.npy u1 128)" "$place: a blur of next to nothing"
    "$weft" convolve "$folder/tiny.pgm" -p "$place" -f "$folder/shift.npy" -o "$folder/out.npy"
    same '2 3 3 5 255 255' "$(elements out.npy u1 128)" "$place: a convolution turns its filter"
    "$weft" convolve - -p "$place" -f "$folder/shift.npy" --correlate --border zero -o - \
        <"$folder/tiny.pgm" | tail -c 6 >"$folder/raw"
    same '0 1 2 0 4 5' "$(od -An -tu1 "$folder/raw" | xargs)" "$place: a correlation does not; in a pipe"
    "$weft" convolve "$folder/tiny.pgm" -p "$place" -f sobel --border valid -o "$folder/out.npy"
    grep -aq "'shape': (0, 1)" "$folder/out.npy" || fail "$place: nothing valid"
    # gray and alpha: with a filter of even sides the alpha is that of the pixel on which the centre lies
    npy ga.npy "'|u1'" '(2, 2, 2)' '\1\24\2\25\3\26\4\27'
    npy corner.npy "'<f4'" '(2, 2)' '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x80\x3f'
    "$weft" convolve "$folder/ga.npy" -p "$place" -f box:1 -o "$folder/ga.png"
    "$weft" convolve "$folder/ga.png" -p "$place" -f "$folder/corner.npy" --border valid -o "$folder/out.npy"
    same '1 20' "$(elements out.npy u1 128)" "$place: alpha of a convolution without border"
    "$weft" convolve "$folder/ga.png" -p "$place" -f "$folder/corner.npy" --border valid --correlate \
        -o "$folder/out.npy"
    same '4 23' "$(elements out.npy u1 128)" "$place: alpha of a correlation without border"
    "$weft" convolve "$corpus/pnm/plain_rgb16.ppm" -p "$place" -f gauss:0.7 -o "$folder/out.ppm"
    expect 0 '"channel": "blue".*"hi": 1001' "$weft" histogram -p "$place" "$folder/out.ppm" --json
    "$weft" convolve "$folder/tiny.pgm" -p "$place" -f emboss -o "$folder/out.pgm" --json |
        json_valid 'convolve --json' 1
    test_convolve_types "$place"
    if [ "${WEFT_PNG:-0}" = 1 ]; then
        "$weft" convolve "$corpus/png/gray_alpha8.png" -p "$place" -f sharpen:2 -o "$folder/out.png"
        expect 0 '"channel": "alpha"' "$weft" histogram -p "$place" "$folder/out.png" --json
        expect 1 'malformed PNG' "$weft" convolve "$corpus/png/cut_short.png" -f box:3 -o "$folder/x.png"
    fi
    expect 1 'cut short' "$weft" convolve "$corpus/pnm/lying_size.pgm" -f box:3 -o "$folder/x.pgm"
    expect 1 'no image' "$weft" convolve "$folder/bytes.npy" -f box:3 -o "$folder/x.npy"
    expect 1 'filter\[0\] is nan, not finite' "$weft" convolve "$folder/tiny.pgm" -p "$place" \
        -f "$folder/undefined.npy" -o "$folder/x.pgm"
    expect 2 'option --filter is missing' "$weft" convolve "$folder/tiny.pgm" -o "$folder/x.pgm"
    expect 2 'no filter "gaus"; did you mean "gauss"' "$weft" convolve "$folder/tiny.pgm" -f gaus \
        -o "$folder/x.pgm"
    expect 2 'write gauss:SIGMA' "$weft" convolve "$folder/tiny.pgm" -f gauss:0 -o "$folder/x.pgm"
    expect 2 'write box:SIDE' "$weft" convolve "$folder/tiny.pgm" -f box:0 -o "$folder/x.pgm"
    expect 2 'did you mean "clamp"' "$weft" convolve "$folder/tiny.pgm" -f box:3 --border clmp \
        -o "$folder/x.pgm"
    expect 2 'write .pgm or .png' "$weft" convolve "$folder/tiny.pgm" -f box:3 -o "$folder/x.ppm"
    expect 2 'does not say which kind' "$weft" convolve "$folder/tiny.pgm" -f box:3 -o "$folder/x.jpg"
}

test_blend() {
    local place=$1 corpus=$WEFT_SOURCE/tests/fuzz
    printf 'P5 3 2 255\n\0\12\24\36\50\377' >"$folder/a.pgm" # 0 10 20 30 40 255
    printf 'P5 3 2 255\n\12\12\5\0\377\377' >"$folder/b.pgm" # 10 10 5 0 255 255
    printf 'P5 3 2 255\n\0\377\0\377\0\377' >"$folder/m.pgm"
    "$weft" blend "$folder/a.pgm" "$folder/b.pgm" -p "$place" -o "$folder/out.npy"
    same '5 10 12 15 148 255' "$(elements out.npy u1 128)" "$place: blend, ties to even"
    "$weft" blend "$folder/a.pgm" - -w 2 -p "$place" -o "$folder/out.npy" <"$folder/b.pgm"
    same '0 10 35 60 0 255' "$(elements out.npy u1 128)" "$place: blend beyond the range"
    "$weft" blend "$folder/a.pgm" "$folder/b.pgm" -m "$folder/m.pgm" -p "$place" -o "$folder/out.npy"
    same '10 10 5 30 255 255' "$(elements out.npy u1 128)" "$place: blend by a mask"
    "$weft" blend "$folder/out.npy" "$folder/out.npy" -p "$place" -o "$folder/out.pgm" --json |
        json_valid 'blend --json' 1
    expect 1 'needs 3 x 2 of 1 u8, up to 255' "$weft" blend "$folder/a.pgm" \
        "$corpus/pnm/plain_rgb16.ppm" -o "$folder/x.pgm"
    expect 2 'the mask has the weights' "$weft" blend "$folder/a.pgm" "$folder/b.pgm" -w 1 \
        -m "$folder/m.pgm" -o "$folder/x.pgm"
    expect 2 '"half" is not a number' "$weft" blend "$folder/a.pgm" "$folder/b.pgm" -w half \
        -o "$folder/x.pgm"
}

test_nbody() {
    local place=$1
    expect 0 '^60 bodies, 4 steps on' "$weft" nbody -n 60 --steps 4 -p "$place" --plot "$folder/n.ppm"
    head -c 15 "$folder/n.ppm" | grep -aq '^P6' || fail "$place: nbody draws no picture"
    "$weft" nbody -n 50 --steps 3 --frames 2 --plot "$folder/f.ppm" --seed 5 -p "$place" -t f64 --json |
        json_valid 'nbody --json' 1
    cmp -s "$folder/f.ppm" "$folder/f-0002.ppm" || fail "$place: the last frame is not the picture"
    expect 0 'rms relative error .*, tolerance 1.00e-02' "$weft" nbody -n 80 --steps 2 \
        --shape sphere --tolerance 0.01 -p "$place"
    expect 2 'no shape "spheer"; did you mean "sphere"' "$weft" nbody --shape spheer
    expect 2 'end it in .png or .ppm' "$weft" nbody --plot "$folder/x.gif"
    expect 2 'add --plot' "$weft" nbody --frames 3
    expect 2 'is not a positive number' "$weft" nbody --softening -1
    expect 2 'choose 2 to' "$weft" nbody -n 1
    expect 2 'there are f32 and f64' "$weft" nbody -t i32
}

test_sort_and_topk() {
    local place=$1
    npy fives.npy "'<i4'" '(2, 3)' \
        '\x05\0\0\0\xff\xff\xff\xff\x05\0\0\0\x02\0\0\0\x09\0\0\0\xfe\xff\xff\xff' # 5 -1 5 2 9 -2
    "$weft" sort "$folder/fives.npy" -p "$place" -o "$folder/out.npy" || fail "$place: sort"
    same '-2 -1 2 5 5 9' "$(elements out.npy d4 128)" "$place: sort"
    grep -aq "'shape': (2, 3)" "$folder/out.npy" || fail 'sort lost the shape'
    "$weft" sort - -p "$place" --descending -o - <"$folder/fives.npy" >"$folder/out.npy"
    same '9 5 5 2 -1 -2' "$(elements out.npy d4 128)" "$place: descending sort, in a pipe"
    "$weft" sort "$folder/fives.npy" -p "$place" -d -i -o "$folder/out.npy"
    same '4 0 2 3 1 5' "$(elements out.npy u8 128)" "$place: descending positions, equals in order"
    "$weft" sort "$folder/matrix.npy" -p "$place" -i -o "$folder/out.npy"
    same '0 3 1 2 5 4' "$(elements out.npy u8 128)" "$place: positions in a Fortran matrix, C order"
    "$weft" sort "$folder/nan.npy" -p "$place" -d -o "$folder/out.npy"
    same 'nan 0' "$(elements out.npy f4 128 | tr -d -)" "$place: NaN come first, descending"
    "$weft" sort "$folder/empty.npy" -p "$place" -o "$folder/out.npy" || fail "$place: sort of nothing"
    "$weft" sort "$folder/fives.npy" -p "$place" -o "$folder/out.npy" --json | json_valid 'sort --json' 1
    expect 0 '"variant": "serial_radix"' "$weft" sort "$folder/fives.npy" -p cpu -o "$folder/out.npy" \
        --variant serial_radix --json
    expect 2 'option --output is missing' "$weft" sort "$folder/fives.npy"
    expect 2 'option --k: "x" is not a count' "$weft" topk "$folder/fives.npy" --k x
    expect 2 'did you mean --smallest' "$weft" topk "$folder/fives.npy" --samllest
    same '9 4,5 0,5 2,2 3,-1 1,-2 5' "$("$weft" topk "$folder/fives.npy" -p "$place" | paste -sd,)" \
        "$place: all there are, if k is more"
    same '9 4,5 0,5 2' "$("$weft" topk "$folder/fives.npy" -p "$place" -k 3 | paste -sd,)" \
        "$place: three largest"
    same '-2 5,-1 1' \
        "$("$weft" topk - -p "$place" -k 2 --smallest <"$folder/fives.npy" | paste -sd,)" \
        "$place: two smallest, in a pipe"
    same '' "$("$weft" topk "$folder/fives.npy" -p "$place" -k 0)" "$place: no elements"
    "$weft" topk "$folder/nan.npy" -p "$place" --json | json_valid 'topk --json' 2
}

test_fft() {
    local place=$1
    npy line.npy "'<f4'" '(4,)' '\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40' # 1 2 3 4
    "$weft" fft "$folder/line.npy" -p "$place" -o "$folder/out.npy"
    grep -aq "'descr': '<c8'.*'shape': (4,)" "$folder/out.npy" || fail "$place: fft of real numbers"
    same '10 0 -2 2 -2 0 -2 -2' "$(elements out.npy f4 128)" "$place: fft"
    "$weft" fft "$folder/out.npy" -p "$place" --inverse -o "$folder/back.npy"
    same '1 0 2 0 3 0 4 0' "$(elements back.npy f4 128)" "$place: fft and back"
    "$weft" fft - -p "$place" --half -o - <"$folder/line.npy" | tail -c 24 >"$folder/raw"
    same '10 0 -2 2 -2 0' "$(od -An -tf4 "$folder/raw" | xargs)" "$place: fft --half in a pipe"
    npy square.npy "'<i2'" '(2, 2)' '\1\0\2\0\3\0\4\0' True # Fortran order: rows 1 3, 2 4
    "$weft" fft "$folder/square.npy" -p "$place" -o "$folder/out.npy"
    same '10 0 -4 0 -2 0 0 0' "$(elements out.npy f8 128)" "$place: fft of whole numbers, both dimensions"
    "$weft" fft "$folder/square.npy" -p "$place" --dims 1 -o "$folder/out.npy"
    same '4 0 -2 0 6 0 -2 0' "$(elements out.npy f8 128)" "$place: fft of rows"
    npy across.npy "'<c16'" '(1, 2)' '\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xf0\x3f' True
    "$weft" fft "$folder/across.npy" -p "$place" -o "$folder/out.npy" --json | json_valid 'fft --json' 1
    same '1 1 1 -1' "$(elements out.npy f8 128)" "$place: fft of 1, i"
    npy pairs.npy "'<f2'" '(2, 2)' '\0\x3c\0\0\0\x40\0\0' # 1, 2
    "$weft" fft "$folder/pairs.npy" -p "$place" --pairs -o "$folder/out.npy"
    grep -aq "'descr': '<f2'.*'shape': (2, 2)" "$folder/out.npy" || fail "$place: fft of f16"
    same '4200 0000 bc00 0000' "$(elements out.npy x2 128)" "$place: fft of f16: 3, -1"
    "$weft" fft "$folder/out.npy" -p "$place" --pairs --dims 1 --inverse -o "$folder/back.npy"
    same '3c00 0000 4000 0000' "$(elements back.npy x2 128)" "$place: fft of f16 and back"
    expect 1 'is not 2' "$weft" fft "$folder/line.npy" -p "$place" --pairs -o "$folder/x.npy"
    expect 1 'needs real ones' "$weft" fft "$folder/across.npy" -p "$place" --pairs -o "$folder/x.npy"
    expect 1 'half is for forward' "$weft" fft "$folder/across.npy" -p "$place" --half -o "$folder/x.npy"
    expect 1 'lower --dims' "$weft" fft "$folder/line.npy" -p "$place" --dims 2 -o "$folder/x.npy"
    expect 2 'write 1, 2 or 3' "$weft" fft "$folder/line.npy" -p "$place" --dims 4 -o "$folder/x.npy"
}

test_bad_files() {
    local name
    npy complex.npy "'<c8'" '(1,)' '\0\0\0\0\0\0\0\0'
    npy records.npy "[('a', '<f4')]" '(1,)' '\0\0\0\0'
    npy short.npy "'<f8'" '(3,)' '\0\0\0\0\0\0\0\0'
    npy huge.npy "'<f8'" '(1152921504606846976,)' '\0\0\0\0\0\0\0\0'
    npy overflow.npy "'<f8'" '(4294967296, 4294967296)' ''
    npy negative.npy "'<f8'" '(-1,)' ''
    printf 'hello\n' >"$folder/text.npy"
    : >"$folder/zero.npy"
    expect 1 'complex numbers' "$weft" reduce "$folder/complex.npy"
    expect 1 'named fields' "$weft" reduce "$folder/records.npy"
    expect 1 'two raw bytes each.*--type bf16' "$weft" reduce "$folder/voids.npy"
    expect 1 'holds i32, not f64' "$weft" reduce "$folder/ints.npy" --type f64
    expect 1 'cut short' "$weft" reduce "$folder/short.npy"
    expect 1 'cut short' "$weft" reduce "$folder/huge.npy"
    expect 1 'more elements than 64 bits' "$weft" reduce "$folder/overflow.npy"
    expect 1 'length of a dimension' "$weft" reduce "$folder/negative.npy"
    expect 1 'not a .npy file' "$weft" reduce "$folder/text.npy"
    expect 1 'it is empty' "$weft" reduce "$folder/zero.npy"
    expect 1 'No such file' "$weft" reduce "$folder/missing.npy"
    for name in reduce topk histogram analyze solve 'select '"$folder/ints.npy"' -o x'; do
        expect 1 "$folder: reading failed: Is a directory" "$weft" $name "$folder"
    done
    for name in short huge overflow negative text; do
        checks=$((checks + 1))
        "$weft" reduce - -p cpu:1 <"$folder/$name.npy" 2>/dev/null
        [ $? = 1 ] || fail "$name.npy through a pipe"
    done
    if [ -w /dev/full ]; then
        expect 1 'writing failed' "$weft" scan "$folder/ints.npy" -o /dev/full
        expect 1 'failed' sh -c '"$0" help >/dev/full' "$weft"
    fi
}

# A launcher's processes, that share nothing: the first says so, unless a script is what was started.
test_launched() {
    local note='^weft: note: each of the 4 processes does all of this by itself'
    npy launched.npy "'|u1'" '(2,)' '\x03\x04'
    local reduce=("$weft" reduce "$folder/launched.npy" -p cpu:1)
    for names in OMPI_COMM_WORLD_SIZE=4,OMPI_COMM_WORLD_RANK PMI_SIZE=4,PMI_RANK SLURM_STEP_NUM_TASKS=4,SLURM_PROCID; do
        expect 0 "$note; add --place mpi, and they share it$" env "${names%,*}" "${names#*,}=0" "${reduce[@]}"
        same 7 "$(env "${names%,*}" "${names#*,}=1" "${reduce[@]}" 2>&1)" "the second of ${names%,*}"
        same 7 "$(env "${names%,*}" "${names#*,}=0" sh -c '"$@"; true' sh "${reduce[@]}" 2>&1)" "a script of ${names%,*}"
    done
    same 7 "$(env OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0 "${reduce[@]}" 2>&1)" 'one process alone'
    same 7 "$("${reduce[@]}" 2>&1)" 'no launcher'
    expect 0 "$note; start it without mpirun$" env PMI_SIZE=4 PMI_RANK=0 "$weft" generate laplace2d 3 -o "$folder/launched.mtx"
}

test_climb() {
    local place=$1 op output
    for op in histogram map reduce scan sort; do
        output=$("$weft" climb $op -p "$place" --n 5000 --json 2>"$folder/noise")
        same 0 $? "$place: climb $op"
        json_valid "climb $op --json" 2 <<<"$output"
        same '' "$(cat "$folder/noise")" "climb $op: standard error"
        grep -q '"ok": false' <<<"$output" && fail "$place: climb $op has a wrong rung: $output"
        for key in op variant place type n seconds bytes gbps roof_gbps ok; do
            grep -vq "\"$key\": " <<<"$output" && fail "climb --json lacks $key"
        done
    done
    output=$("$weft" climb map -p "$place" --n 5000 --json)
    for key in flops gflops roof_gflops; do
        grep -q "\"$key\": " <<<"$output" && fail "climb map --json has $key"
    done
    expect 0 'x first' "$weft" climb reduce -p "$place" --n 1e3 --type i32 --seed 7
    same 1 "$("$weft" climb scan -p cpu:1 --n 100 --variant serial --json | wc -l)" 'one rung'
    "$weft" demo -p "$place" --n 2^12 --json >"$folder/demo.json"
    same 0 $? "$place: demo"
    json_valid 'demo --json' 3 <"$folder/demo.json"
    expect 0 'every result checked' "$weft" demo -p "$place" --n 64Ki
    for op in -1 1h nan 3601; do
        expect 1 "WEFT_SECONDS: \"$op\" is not a time; set it to" env "WEFT_SECONDS=$op" \
            "$weft" climb scan -p "$place" --n 100
    done
}

# All roofs of a cpu, and none that it does not have; the bytes that the passes of sort's rungs move.
test_climb_roof() {
    local output roofs='read write copy fma_f32 fma_f64'
    output=$("$weft" climb roof -p cpu:2 --json)
    same 0 $? 'climb roof'
    json_valid 'climb roof --json' 6 <<<"$output"
    same "$roofs launch" "$(sed 's/^{"roof": "\([a-z0-9_]*\)".*/\1/' <<<"$output" | xargs)" \
        'roofs of a cpu'
    same '' "$(grep -E '": 0[,}]' <<<"$output")" 'roofs that are 0'
    output=$("$weft" climb roof -p cpu:1)
    same "$roofs" "$(grep -Eo '^[a-z0-9_]+ .* [kMGT](B|F)/s ' <<<"$output" | cut -d' ' -f1 | xargs)" \
        'roofs of one thread'
    grep -q '^launch' <<<"$output" && fail 'one thread calls others'
    expect 2 'option --n: roofs have no such choice' "$weft" climb roof --n 5
    expect 2 'option --variant: roofs have no such choice' "$weft" climb roof --variant serial
    expect 2 'did you mean "roof"' "$weft" climb rooff
    expect 0 '(^| )roof$' "$weft" help climb
    output=$("$weft" climb sort -p cpu:1 --n 2^14 --json)
    same '96 52 20' "$(awk -F'[:,] *' '{
            for (k = 1; k < NF; k++) v[$k] = $(k + 1)
            print v["\"bytes\""] / v["\"n\""]
        }' <<<"$output" | xargs)" 'climb sort: bytes of the passes, an element'
}

# What counts flops, and orderings: on the cpu, also where the best place is another.
test_climb_sparse() {
    local output
    output=$("$weft" climb sparse --n 3000 --json)
    same 0 $? 'climb sparse'
    json_valid 'climb sparse --json' 1 <<<"$output"
    same '' "$(grep -E '"ok": false|gbps' <<<"$output")" 'climb sparse: wrong rungs, or bytes a second'
    # flops over seconds are the rate, and the rate over the roof the share; no rung is above it
    same '' "$(awk -F'[:,] *' '{
            for (k = 1; k < NF; k++) v[$k] = $(k + 1)
            rate = v["\"flops\""] / v["\"seconds\""] / 1e9; share = rate / v["\"roof_gflops\""]
            if (!(rate / v["\"gflops\""] > 0.999 && rate / v["\"gflops\""] < 1.001 &&
                  share / v["\"roof_share\""] > 0.999 && share / v["\"roof_share\""] < 1.001 &&
                  share < 1 && $0 ~ /"roof": "fma_f64"/)) print
        }' <<<"$output")" 'climb sparse: rates and shares'
    expect 0 '^rate: the additions and multiplications' "$weft" climb sparse --n 100
    expect 0 '^multifrontal .* [kMGT]F/s .* %' "$weft" climb sparse --n 3000
    expect 0 '^roof: .*[kMGT]F/s to' "$weft" climb sparse --n 3000 --variant multifrontal
    expect 0 '^amd .* [0-9.]+ [kM] +[0-9.]+ [kM] ' "$weft" climb sparse_order --n 3000 --variant amd
    expect 0 '"place": "cpu:1"' env WEFT_PLACE=cpu:1 "$weft" climb sparse --n 100 --json
    expect 2 'option --type: sparse is of f64 only' "$weft" climb sparse --type f32
    expect 2 '^weft: climb: option --type: gemm does not take u8, only i8, f16, bf16, f32, f64$' \
        "$weft" climb gemm -t u8
    expect 2 'cholesky does not take i8, only f32, f64' "$weft" climb cholesky -t i8
    expect 1 'climb: a record has 4 elements; choose --n 4 or more' "$weft" climb columns -n 3
    expect 2 'option --type: sparse_order is of i64 only' "$weft" climb sparse_order -t f64
}

# Test problems: their sizes, the same from the same seed, and refusals.
test_generate() {
    local kind
    for kind in 'laplace2d 3' 'laplace3d 2' 'elasticity3d 1' 'random 20'; do
        "$weft" generate $kind -o "$folder/A.mtx" --json | json_valid "generate $kind --json" 1
        same "$("$weft" generate $kind)" "$(cat "$folder/A.mtx")" "generate $kind: file and pipe"
    done
    same '9 9 21' "$("$weft" generate laplace2d 3 -o - | sed -n 2p)" 'sizes of laplace2d 3'
    same '1 1 4.001' "$("$weft" generate laplace2d 3 | sed -n 3p)" 'diagonal of laplace2d'
    same '12 12 78' "$("$weft" generate elasticity3d 1 | sed -n 2p)" 'sizes of elasticity3d 1'
    same "$("$weft" generate random 50 --seed 1)" "$("$weft" generate random 50)" 'default seed'
    same '50 50 50' "$("$weft" generate random 50 --per-row 1 | sed -n 2p)" 'one entry in a row'
    [ "$("$weft" generate random 50 --seed 2)" != "$("$weft" generate random 50)" ] ||
        fail 'generate random: another seed gives the same'
    expect 2 'did you mean "laplace2d"' "$weft" generate laplac2d 3
    expect 2 'there are: laplace2d, laplace3d, elasticity3d, random' "$weft" generate x 3
    expect 2 'N: "0" is not a count' "$weft" generate laplace2d 0
    expect 2 'N: "ten" is not a count' "$weft" generate laplace2d ten
    expect 2 'option --per-row: "-1" is not a count' "$weft" generate random 9 --per-row -1
    expect 2 'an operand is missing; give KIND N' "$weft" generate laplace2d
    expect 2 'option --json: standard output' "$weft" generate laplace2d 3 --json
    expect 1 'cannot hold 30 entries' "$weft" generate random 9 --per-row 30
    expect 1 'beyond any memory' "$weft" generate laplace3d 2^21
    expect 1 'option --output: cannot write .*/no/A.mtx: No such file' "$weft" generate laplace2d 3 \
        -o "$folder/no/A.mtx"
    expect 1 'cannot write .*: Is a directory' "$weft" generate laplace2d 3 -o "$folder"
    expect 2 'option --per-row: laplace2d is the same' "$weft" generate laplace2d 3 --per-row 2
    expect 2 'option --seed: elasticity3d is the same' "$weft" generate elasticity3d 3 --seed 2
    [ ! -w /dev/full ] || expect 1 'writing failed' "$weft" generate laplace2d 3 -o /dev/full
}

# Plans: known figures of a path, the same from file and pipe, pictures, and refusals.
test_analyze() {
    local output key
    printf '%%%%MatrixMarket matrix coordinate real symmetric\n4 4 7\n' >"$folder/path.mtx"
    printf '%s\n' '1 1 2' '2 1 -1' '2 2 2' '3 2 -1' '3 3 2' '4 3 -1' '4 4 2' >>"$folder/path.mtx"
    output=$("$weft" analyze "$folder/path.mtx" --json)
    json_valid 'analyze --json' 1 <<<"$output"
    for key in '"n": 4' '"nnz_a": 7' '"nnz_l": 7' '"flops": 13' '"ordering": "amd"'; do
        same "$key" "$(grep -o "$key" <<<"$output")" 'analyze a path'
    done
    expect 0 'ordering  rcm' "$weft" analyze "$folder/path.mtx" --ordering rcm
    "$weft" generate laplace2d 100 >"$folder/square.mtx"
    for key in '1 amd' '100000 dissect'; do
        read -r count order <<<"$key"
        expect 0 "ordering  $order" "$weft" analyze "$folder/square.mtx" --factorizations "$count"
    done
    expect 0 '7 entries, 1\.0 x A' "$weft" analyze "$folder/path.mtx" --plot "$folder/plan.svg"
    same 1 "$(grep -c '</svg>' "$folder/plan.svg")" 'the picture ends'
    same "$(grep -c '<g ' "$folder/plan.svg")" "$(grep -c '</g>' "$folder/plan.svg")" 'its groups'
    "$weft" generate laplace2d 300 | "$weft" analyze - --plot "$folder/plan.svg" >/dev/null
    checks=$((checks + 1))
    [ "$(wc -c <"$folder/plan.svg")" -lt 100000 ] || fail 'a picture of 90,000 columns is not small'
    printf '%%%%MatrixMarket matrix coordinate real symmetric\n0 0 0\n' >"$folder/none.mtx"
    for key in "$folder/none.mtx" "$folder/path.mtx"; do
        expect 0 'ordering' "$weft" analyze "$key" --plot "$folder/plan.svg"
        same '' "$(grep -oE '(cx|cy|r)="[^"]*"' "$folder/plan.svg" | tr '="' '  ' |
            awk '$2 != $2 + 0 || $2 < 0 || $2 > 400 || ($1 == "r" && $2 > 16)')" "circles of $key"
    done
    same "$("$weft" analyze "$folder/path.mtx" --plot - 2>/dev/null)" "$(cat "$folder/plan.svg")" \
        'a picture to standard output'
    expect 2 'option --json: standard output takes the picture' "$weft" analyze "$folder/path.mtx" \
        --plot - --json
    same '"nnz_l": 7' "$("$weft" analyze - --json <"$folder/path.mtx" | grep -o '"nnz_l": 7')" pipe
    printf '%%%%MatrixMarket matrix coordinate real general\n2 2 1\n2 1 1\n' >"$folder/skew.mtx"
    expect 1 'analyze: .*skew.mtx: .* not symmetric: row 2 of column 1 holds 1, row 1 of column 2 0 ' \
        "$weft" analyze "$folder/skew.mtx"
    expect 0 'n = 2, 1 entry' "$weft" analyze "$folder/skew.mtx" --half lower
    expect 0 'n = 2, 0 entries' "$weft" analyze "$folder/skew.mtx" --half=upper
    printf '%%%%MatrixMarket matrix coordinate real general\n2 3 1\n2 1 1\n' >"$folder/wide.mtx"
    expect 1 'wide.mtx is 2 x 3; .* square' "$weft" analyze "$folder/wide.mtx"
    gzip -c "$folder/path.mtx" >"$folder/path.mtx.gz"
    expect 1 'compressed by gzip; unpack it' "$weft" analyze "$folder/path.mtx.gz"
    expect 2 'there is no ordering "amdd"; did you mean "amd"' \
        "$weft" analyze "$folder/path.mtx" --ordering amdd
    expect 2 'SVG; end the name .*p.PNG in .svg' "$weft" analyze "$folder/path.mtx" --plot "$folder/p.PNG"
    expect 1 'option --plot: cannot write' "$weft" analyze "$folder/path.mtx" --plot "$folder/no/p.svg"
    [ ! -w /dev/full ] || expect 1 'No space left' "$weft" analyze "$folder/path.mtx" --plot /dev/full
    expect 1 'analyze: .*no.mtx: opening failed' "$weft" analyze "$folder/no.mtx"
}

# Files that give both halves of a symmetric matrix: zeros on one side only, halves that differ.
test_halves() {
    local key output status
    printf '%%%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 4\n1 2 0\n2 2 5\n' >"$folder/zero.mtx"
    for key in solve analyze; do
        expect 0 '3 entries on and below' "$weft" $key "$folder/zero.mtx"
    done
    printf '%%%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 4\n2 1 2\n2 2 5\n' >"$folder/apart.mtx"
    printf '1 2 2.0000000000000018\n' >>"$folder/apart.mtx"
    for key in solve analyze; do
        expect 0 'symmetry  halves differ by 4e-16 of their size at most; their mean is taken' \
            "$weft" $key "$folder/apart.mtx"
        expect 0 '"asymmetry": 3\.97[0-9]*e-16,' "$weft" $key "$folder/apart.mtx" --json
        expect 0 '"asymmetry": 0,' "$weft" $key "$folder/apart.mtx" --json --half lower
        expect 1 'row 2 of column 1 holds 2, row 1 of column 2 2\.000000000000002 \(counted from 1\)' \
            "$weft" $key "$folder/apart.mtx" --symmetry-tolerance 0
        expect 1 'apart by 4\.0e-16 .* one half with --half, or allow that with --symmetry-tolerance' \
            "$weft" $key "$folder/apart.mtx" --symmetry-tolerance 1e-16
        expect 2 'there is no half "lowr"; did you mean "lower"' "$weft" $key "$folder/apart.mtx" --half lowr
        expect 2 'option --symmetry-tolerance: "-1" is not a number from 0; write 1e-12' \
            "$weft" $key "$folder/apart.mtx" --symmetry-tolerance -1
        expect 2 'option --symmetry-tolerance: "nan" is not a number' \
            "$weft" $key "$folder/apart.mtx" --symmetry-tolerance nan
        expect 2 'with --half nothing is compared' \
            "$weft" $key "$folder/apart.mtx" --half upper --symmetry-tolerance 1
    done
    # whatever a general file holds, it is solved or there is a word on why not
    for ((key = 0; key < 40; key++)); do
        awk -v seed=$key 'BEGIN { srand(seed); n = 1 + int(3 * rand()); m = int(2 * n * rand());
            print "%%MatrixMarket matrix coordinate real general"; print n, n, m
            while (m-- > 0) print 1 + int(n * rand()), 1 + int(n * rand()), int(5 * rand()) - 1 }' >"$folder/any.mtx"
        output=$("$weft" solve "$folder/any.mtx" 2>&1 >/dev/null)
        status=$?
        checks=$((checks + 1))
        [ $status = 0 ] || [[ $status = 1 && "$output" = "weft: solve: "* ]] || fail "any.mtx $key: $status, $output"
    done
    sed -i 's/^1 2 .*/1 2 1/' "$folder/apart.mtx"
    npy b.npy "'<f8'" '(2,)' '\x00\x00\x00\x00\x00\x00\x28\x40\x00\x00\x00\x00\x00\x00\x2c\x40'
    expect 0 '' "$weft" solve "$folder/apart.mtx" --half lower -b "$folder/b.npy" -o "$folder/x.npy"
    same '2 2' "$(elements x.npy f8 128)" 'x of 4 2 / 2 5 and 12, 14'
    expect 1 'apart by 2\.2e-01' "$weft" solve "$folder/apart.mtx"
    expect 0 'differ by 0\.22 ' "$weft" solve "$folder/apart.mtx" --symmetry-tolerance 0.25
}

# Solving: a system solved by hand, right-hand sides of every kind, the report, and refusals.
# (0 1; 1 0), (1 2; 2 -1) and 1 2; 2 1, solved as what they are and as what they are not.
test_kinds() {
    local kind output
    local head='%%%%MatrixMarket matrix coordinate real symmetric\n2 2'
    printf "$head 1\n2 1 1\n" >"$folder/hollow.mtx"
    printf "$head 3\n1 1 1\n2 1 2\n2 2 -1\n" >"$folder/quasi.mtx"
    printf "$head 3\n1 1 1\n2 1 2\n2 2 1\n" >"$folder/plus.mtx"
    expect 0 'pivots    1 above 0, 1 below, 0 replaced; 1 pair of columns' \
        "$weft" solve "$folder/hollow.mtx" --kind indefinite
    expect 0 'pivots    1 above 0, 1 below, 0 replaced; 0 pairs of columns' \
        "$weft" solve "$folder/quasi.mtx" --kind quasidefinite
    expect 0 'log .det A. = 1\.60943791' "$weft" solve "$folder/quasi.mtx" --kind indefinite
    output=$("$weft" solve "$folder/quasi.mtx" --kind indefinite --json)
    same 1 "$(count_of negative <<<"$output")" "pivots below 0"
    expect 1 'quasi.mtx is not positive definite.* --kind indefinite' "$weft" solve "$folder/quasi.mtx"
    expect 1 'plus.mtx is not quasi-definite: elimination leaves -3 on the diagonal of column' \
        "$weft" solve "$folder/plus.mtx" --kind quasidefinite
    for kind in definite quasidefinite indefinite; do
        expect 0 'tree ' "$weft" analyze "$folder/quasi.mtx" --kind "$kind"
    done
    printf '%s\n' '%%MatrixMarket matrix coordinate real symmetric' '2 2 3' '1 1 1' '2 1 1' '2 2 1' >"$folder/one.mtx"
    printf '%s\n' 1 2 >"$folder/sides.txt"
    expect 1 'has a backward error of .*singular' \
        "$weft" solve "$folder/one.mtx" --kind indefinite -b "$folder/sides.txt" -o "$folder/x.npy"
    expect 2 'there is no kind "odd"' "$weft" solve "$folder/quasi.mtx" --kind odd
    expect 2 'there is no kind "odd"' "$weft" analyze "$folder/quasi.mtx" --kind odd
}

test_solve() {
    local output key type bytes x y
    printf '%%%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 4\n2 1 2\n2 2 5\n' \
        >"$folder/two.mtx"
    npy b.npy "'<f8'" '(2,)' '\x00\x00\x00\x00\x00\x00\x28\x40\x00\x00\x00\x00\x00\x00\x2c\x40'
    expect 0 'by multifrontal' "$weft" solve "$folder/two.mtx" -b "$folder/b.npy" -o "$folder/x.npy"
    same '2 2' "$(elements x.npy f8 128)" 'x of 4 2 / 2 5 and 12, 14' # 8 + 4, 4 + 10
    npy mask.npy "'|b1'" '(2,)' '\x00\x01'
    expect 0 'by multifrontal' "$weft" solve "$folder/two.mtx" -b "$folder/mask.npy" -o "$folder/x.npy"
    same '-0.125 0.25' "$(elements x.npy f8 128)" 'x of false, true' # -0.5 + 0.5, -0.25 + 1.25
    printf '%%%%MatrixMarket matrix array real general\n2 2\n12\n14\n4\n2\n' >"$folder/b.mtx"
    expect 0 '2 right-hand sides' "$weft" solve "$folder/two.mtx" -b "$folder/b.mtx" -o "$folder/x.npy"
    same '2 2 1 0' "$(elements x.npy f8 128)" 'two columns'
    same '2 2' "$("$weft" solve "$folder/two.mtx" -b - -o - <"$folder/b.npy" 2>/dev/null |
        tail -c 16 | od -An -v -t f8 | xargs)" 'in a pipe'
    "$weft" generate laplace3d 8 -o "$folder/A.mtx"
    output=$("$weft" solve "$folder/A.mtx" --refine --repeat 3 --json)
    json_valid 'solve --json' 1 <<<"$output"
    for key in n nnz_a nnz_l flops ordering bytes_predicted bytes_peak analyze_seconds \
        factor_seconds solve_seconds gflops backward_error normwise_error forward_error \
        forward_estimate stalled condition_estimate logdet; do
        same "\"$key\": " "$(grep -o "\"$key\": " <<<"$output")" 'solve --json'
    done
    "$weft" generate laplace3d 20 -o "$folder/B.mtx"
    output=$("$weft" solve "$folder/B.mtx" --json)
    grep -aq __asan_init "$weft" || within 5 "$(count_of bytes_predicted <<<"$output")" \
        "$(count_of bytes_peak <<<"$output")" 'the peak of what is resident'
    output=$(ballast=$(head -c 32000000 /dev/zero | tr '\0' x) # which the command is started from
        "$weft" solve "$folder/A.mtx" --json
        echo "${#ballast}")
    checks=$((checks + 1))
    grep -aq __asan_init "$weft" || [ "$(count_of bytes_peak <<<"$output")" -lt 32000000 ] ||
        fail "the peak of a process that was started from a large one: $output"
    for key in amd nd dissect rcm natural; do
        expect 0 "ordering  $key" "$weft" solve "$folder/A.mtx" --ordering "$key"
    done
    { # a beam of 2000 joints: its condition is about 10^13
        printf '%%%%MatrixMarket matrix coordinate real symmetric\n2000 2000 5997\n'
        seq 2000 | awk '{print $1, $1, 6; if ($1 < 2000) print $1 + 1, $1, -4
            if ($1 < 1999) print $1 + 2, $1, 1}'
    } >"$folder/beam.mtx"
    expect 0 'forward [0-9.]+e-(0[0-9]|10)' "$weft" solve "$folder/beam.mtx"
    expect 0 ' [2-9] steps of refinement$' "$weft" solve "$folder/beam.mtx" --refine
    expect 0 'forward ([0-9.]+e-16|0) ' "$weft" solve "$folder/beam.mtx" --refine
    printf '%%%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1e-320\n2 2 1e-320\n' \
        >"$folder/tiny.mtx"
    expect 0 'forward [0-9.]*(0|e-16) .*' "$weft" solve "$folder/tiny.mtx"
    expect 1 'row 0 of the solution for column 0 of b, counted from 0, is too large' \
        "$weft" solve "$folder/tiny.mtx" -b "$folder/b.npy" -o "$folder/none.npy"
    checks=$((checks + 1))
    [ ! -e "$folder/none.npy" ] || fail 'infinities were written'
    printf '%%%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 1\n2 1 2\n2 2 1\n' \
        >"$folder/not.mtx"
    expect 1 'not.mtx is not positive definite: .* -3 on the diagonal of column [12], counted from 1' \
        "$weft" solve "$folder/not.mtx"
    printf '%%%%MatrixMarket matrix coordinate real symmetric\n3 3 5\n1 1 4\n2 1 2\n2 2 1\n3 3 1\n3 1 0\n' \
        >"$folder/singular.mtx"
    expect 1 'singular.mtx is singular: but for rounding column [12], counted from 1, is a combination' \
        "$weft" solve "$folder/singular.mtx"
    printf '%%%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n1 1 1\n2 2 1e-300\n3 2 1e200\n3 3 1\n' \
        >"$folder/graded.mtx"
    expect 1 'graded.mtx.* column 3, counted from 1' "$weft" solve "$folder/graded.mtx" --ordering natural
    printf '%%%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 3\n2 1 1\n2 2 0.3333333333333334\n' \
        >"$folder/nearly.mtx"
    expect 0 'condition about .*, singular as far as doubles can tell; log det' \
        "$weft" solve "$folder/nearly.mtx" --ordering natural
    printf '%%%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 1e308\n2 1 1e308\n2 2 1.1e308\n' \
        >"$folder/huge.mtx"
    expect 1 'A times ones holds inf in row 1 of column 1, counted from 1' "$weft" solve "$folder/huge.mtx"
    for key in up_looking left_looking multifrontal; do # the third column, in any order
        printf '%%%%MatrixMarket matrix coordinate real symmetric\n4 4 4\n' >"$folder/third.mtx"
        printf '%s\n' '1 1 1' '2 2 1' '3 3 -2' '4 4 1' >>"$folder/third.mtx"
        expect 1 'leaves -2 on the diagonal of column 3,' \
            "$weft" solve "$folder/third.mtx" --place cpu --variant $key --ordering rcm
    done
    npy inf.npy "'<f8'" '(2,)' '\x00\x00\x00\x00\x00\x00\x28\x40\x00\x00\x00\x00\x00\x00\xf0\x7f'
    expect 1 'inf.npy holds inf in row 2 of column 1' "$weft" solve "$folder/two.mtx" -b "$folder/inf.npy"
    expect 1 'b.npy has 2 rows, but the matrix 512' "$weft" solve "$folder/A.mtx" -b "$folder/b.npy"
    npy three.npy "'<i4'" '(3,)' '\x01\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00'
    expect 1 'three.npy has 3 rows, but the matrix 2' "$weft" solve "$folder/two.mtx" -b "$folder/three.npy"
    printf '%%%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1\n2 2 1\n' >"$folder/one.mtx"
    for key in '<i1 \xff\x07 -1 7' '|u1 \xff\x07 255 7' '<i2 \xff\xff\x07\x00 -1 7' '>i2 \xff\xff\x00\x07 -1 7' \
        '<u2 \xff\xff\x07\x00 65535 7' '<i4 \xff\xff\xff\xff\x07\x00\x00\x00 -1 7' \
        '<u4 \xff\xff\xff\xff\x07\x00\x00\x00 4294967295 7' '<f2 \x00\xbc\x00\x47 -1 7' \
        '<i8 \xff\xff\xff\xff\xff\xff\xff\xff\x07\x00\x00\x00\x00\x00\x00\x00 -1 7' \
        '<u8 \x00\x00\x00\x00\x00\x00\x00\x80\x07\x00\x00\x00\x00\x00\x00\x00 9.223372036854776e+18 7'; do
        read -r type bytes x y <<<"$key"
        npy b.npy "'$type'" '(2,)' "$bytes"
        expect 0 '' "$weft" solve "$folder/one.mtx" -b "$folder/b.npy" -o "$folder/x.npy"
        same "$x $y" "$(elements x.npy f8 128)" "right-hand sides of $type"
    done
    test_kinds
    expect 2 'option --repeat: "0" is not a count' "$weft" solve "$folder/two.mtx" --repeat 0
    expect 2 'option --factorizations: "-1" is not a count' "$weft" solve "$folder/two.mtx" --factorizations -1
    expect 2 'standard input gives the matrix already' "$weft" solve - -b -
    expect 2 'there is no ordering "amdd"; did you mean "amd"' \
        "$weft" solve "$folder/two.mtx" --ordering amdd
    expect 2 'did you mean "multifrontal"' "$weft" solve "$folder/two.mtx" --variant multifronta
    expect 1 'opening failed' "$weft" solve "$folder/two.mtx" -b "$folder/none.npy"
    expect 1 "$folder: reading failed: Is a directory" "$weft" solve "$folder/two.mtx" -b "$folder"
    expect 1 'option --output: cannot write' "$weft" solve "$folder/none.mtx" -o "$folder/no/x.npy"
    expect 1 'option --output: cannot write' "$weft" solve "$folder/two.mtx" -o ''
    expect 2 'option --output: X is written as a .npy' "$weft" solve "$folder/two.mtx" -o x.mtx
    expect 2 'option --output: an array is written, and x.png is named' "$weft" histogram two.npy -o x.png
    expect 0 '"logdet": 2\.772588722239781' "$weft" solve "$folder/two.mtx" --json # ln 16
}

test_precision() {
    expect 0 'running sum in bf16 stopped at 256' sh -c "'$weft' precision --demo -p cpu | tr '\n' ' '"
    expect 0 'The terms cancel' sh -c "'$weft' precision --demo -p cpu | tr '\n' ' '"
    "$weft" precision --demo -p cpu --json | json_valid 'precision --json' 60
    expect 0 '' "$weft" precision --demo -p cpu --plot "$folder/digits.svg"
    expect 0 '</svg>' tail -n 1 "$folder/digits.svg"
    expect 0 'exact sum' "$weft" precision "$folder/floats.npy" -p cpu
    expect 1 'pass an array of floats' "$weft" precision "$folder/ints.npy" -p cpu
    expect 2 'give a file of floats, or --demo' "$weft" precision
    expect 2 'leave out the file' "$weft" precision --demo "$folder/floats.npy"
}

test_links() {
    expect 0 'host memory to host memory' sh -c "'$weft' links --bytes 65536 | xargs echo"
    "$weft" links --bytes 65536 --json | json_valid 'links --json' 1
    expect 2 'bytes' "$weft" links --bytes none
    expect 2 'takes options only' "$weft" links 0
    expect 1 'has one rank' "$weft" links --place cpu:1
    expect 2 'without --place' "$weft" links --place cpu:1 --staged
    expect 2 'name a file' "$weft" links --plot -
    expect 2 'SVG' "$weft" links --plot "$folder/l.pdf"
    expect 2 'SVG' "$weft" precision --demo --plot "$folder/l.pdf"
    expect 1 'cannot write' "$weft" links --plot "$folder/none/l.svg"
    if [ "$("$weft" links --bytes 65536 | awk 'length > 80' | wc -l)" != 0 ]; then
        fail 'links: a line is longer than 80 columns'
    fi
}

test_info() {
    expect 0 'instructions' "$weft" info
    "$weft" info --json | json_valid 'info --json' 3
    if "$weft" info --json | grep -q '"place": "gpu:0", "refused": null'; then
        expect 0 'registers .* a thread.*occupancy' sh -c "'$weft' info --limits | xargs echo"
        "$weft" info --limits --json | json_valid 'info --limits --json' 40
    else
        expect 1 'no limits to show: ' "$weft" info --limits
        expect 1 'no limits to show: ' "$weft" info --limits --json
    fi
}

# A terminal is told how far a long factorization is, and of a short one next to nothing; it cannot
# give matrices.
test_progress() {
    local output
    script -qec true /dev/null >/dev/null 2>&1 </dev/null || return 0 # no terminal to be had
    export TERM=xterm
    "$weft" generate laplace3d 16 -o "$folder/A.mtx"
    expect 0 'solve \.\.\..*(factor: [0-9]+ %|solve \.\.\.)' script -qec \
        "'$weft' solve '$folder/A.mtx' --ordering natural --repeat 40" /dev/null
    output=$(script -qec "'$weft' solve '$folder/A.mtx'" /dev/null </dev/null)
    checks=$((checks + 1))
    [ "$(grep -o 'factor: [0-9]' <<<"$output" | wc -l)" -lt 20 ] || fail "too much progress: $output"
    same '' "$("$weft" solve "$folder/A.mtx" 2>&1 >/dev/null)" 'progress in a pipe'
    expect 2 'which is a terminal' script -qec "'$weft' solve -" /dev/null
    expect 2 'which is a terminal' script -qec "'$weft' solve '$folder/A.mtx' -b -" /dev/null
    expect 2 'is a terminal, and .npy is not' script -qec "'$weft' solve '$folder/A.mtx' -o -" /dev/null
}

# Colours are for terminals, and not for those who ask for none.
test_colour() {
    local escape=$'\033'
    checks=$((checks + 1))
    "$weft" help | grep -q "$escape" && fail 'colour in a pipe'
    script -qec true /dev/null >/dev/null 2>&1 </dev/null || return 0 # no terminal to be had
    export TERM=xterm
    expect 0 "$escape" script -qec "'$weft' help" /dev/null
    NO_COLOR=1 script -qec "'$weft' help" /dev/null </dev/null | grep -q "$escape" &&
        fail 'colour in spite of NO_COLOR'
    TERM=dumb script -qec "'$weft' help" /dev/null </dev/null | grep -q "$escape" &&
        fail 'colour on a dumb terminal'
    return 0
}

test_select_and_unique() {
    local place=$1
    npy runs.npy "'<i2'" '(2, 3)' '\x01\0\x01\0\xfe\xff\xfe\xff\xfe\xff\x05\0' # 1 1 -2 -2 -2 5
    npy flags.npy "'|u1'" '(6,)' '\x01\0\0\x02\0\xff'
    npy nans.npy "'<f4'" '(3,)' '\0\0\x80\x3f\0\0\xc0\x7f\0\0\0\x40' # 1 NaN 2
    "$weft" select "$folder/runs.npy" -p "$place" --where '> 0' -o "$folder/out.npy" || fail select
    same '1 1 5' "$(elements out.npy d2 128)" "$place: select above 0"
    grep -aq "'shape': (3,)" "$folder/out.npy" || fail 'select: not of one dimension'
    "$weft" select "$folder/runs.npy" -p "$place" --where=-2..1 -o "$folder/out.npy"
    same '1 1 -2 -2 -2' "$(elements out.npy d2 128)" "$place: select between"
    "$weft" select "$folder/runs.npy" "$folder/flags.npy" -p "$place" -o "$folder/out.npy"
    same '1 -2 5' "$(elements out.npy d2 128)" "$place: select by flags"
    npy mask.npy "'|b1'" '(3, 2)' '\x01\0\0\0\x01\x01' True # 1 0 / 0 1 / 0 1
    "$weft" select "$folder/runs.npy" "$folder/mask.npy" -p "$place" -o "$folder/out.npy"
    same '1 -2 5' "$(elements out.npy d2 128)" "$place: select by a mask of booleans"
    "$weft" sort "$folder/mask.npy" -p "$place" -o "$folder/out.npy"
    same '0 0 0 1 1 1' "$(elements out.npy u1 128)" "$place: booleans are bytes"
    same 3 "$("$weft" reduce "$folder/mask.npy" -p "$place" --type u8)" "$place: how many are true"
    "$weft" select "$folder/nans.npy" -p "$place" -w nan --indices -o "$folder/out.npy"
    same 1 "$(elements out.npy u8 128)" "$place: where the NaN is"
    "$weft" select "$folder/runs.npy" -p "$place" -w '==7' -o "$folder/out.npy"
    same '' "$(elements out.npy d2 128)" "$place: nothing selected"
    same 7 "$("$weft" select "$folder/runs.npy" -w '!=-2' -o - | "$weft" reduce -)" 'select | reduce'
    "$weft" unique "$folder/runs.npy" -p "$place" -o "$folder/out.npy" -l "$folder/lengths.npy"
    same '1 -2 5' "$(elements out.npy d2 128)" "$place: unique"
    same '2 3 1' "$(elements lengths.npy u8 128)" "$place: lengths of runs"
    "$weft" unique "$folder/runs.npy" -p "$place" -o "$folder/out.npy" --json |
        json_valid 'unique --json' 1
    "$weft" select "$folder/runs.npy" -p "$place" -w '<=1' -o "$folder/out.npy" --json |
        json_valid 'select --json' 1
    expect 2 'option --where is missing' "$weft" select "$folder/runs.npy" -o "$folder/x"
    expect 2 '"~3": this is not a test of i16' "$weft" select "$folder/runs.npy" -w '~3' -o "$folder/x"
    expect 2 '">70000": "70000" is outside i16, from -32768 to 32767' "$weft" select "$folder/runs.npy" -w '>70000' -o "$folder/x"
    expect 1 'give one to test for each' "$weft" select "$folder/runs.npy" "$folder/nans.npy" \
        -o "$folder/x"
}

# Tables as text, read and written; numbers about arrays.
test_tables() {
    local place=$1
    printf 'when,x,"y, z"\n1 May,0.5,4\n2 May,,3\n3 May,-1.5,2\n4 May,2.5,1\n' >"$folder/log.csv"
    same 'count 3,nans 1,min -1.5 at 2,max 2.5 at 3,mean 0.5' \
        "$("$weft" summary "$folder/log.csv" -p "$place" -c x | tr -s ' ' | head -n 5 | paste -sd,)" \
        "$place: summary of a column"
    "$weft" summary - --json -p "$place" -c 3 <"$folder/log.csv" | json_valid 'summary --json' 1
    same '0 1,0.25 1.75,1 4' \
        "$("$weft" quantile "$folder/log.csv" -p "$place" -c 3 --q 0,0.25,1 | paste -sd,)" \
        "$place: quantiles of a column"
    same '0.5 2' "$("$weft" quantile "$folder/log.csv" -p "$place" -c 3 --rule lower)" \
        "$place: the lower median"
    "$weft" quantile "$folder/log.csv" -p "$place" -c 3 --json | json_valid 'quantile --json' 1
    "$weft" sort "$folder/log.csv" -p "$place" -c 3 -o "$folder/sorted.csv"
    same '"y, z" 1 2 3 4' "$(paste -sd' ' "$folder/sorted.csv")" "$place: sorted"
    expect 2 'log.csv: 2 columns of a table would be mixed; choose one with --columns; for whole rows: ' \
        "$weft" sort "$folder/log.csv" -p "$place" -c 3,x -o "$folder/sorted.csv"
    expect 2 'standard input: 2 columns of a table would be mixed' \
        bash -c 'printf "1 2\n3 4\n" | "$0" scan - -o -.csv' "$weft"
    "$weft" scan "$folder/log.csv" -p "$place" -c 3 --type i8 -o "$folder/sums.txt"
    same '"y, z" 4 7 9 10' "$(paste -sd' ' "$folder/sums.txt")" "$place: sums as text"
    expect 1 'line 2, column 1 .when.: "1 May" is no number' "$weft" reduce "$folder/log.csv"
    same 'column x,count 3,nans 1,min -1.5 at 2,column y, z,count 4,min 1 at 3' \
        "$("$weft" summary "$folder/log.csv" -p "$place" -c x,3 | tr -s ' ' | grep '^[cn]\|^min' | paste -sd,)" \
        "$place: a summary of each column"
    "$weft" summary "$folder/log.csv" --json -p "$place" -c x,3 | json_valid 'summary --json' 2
    same 'x 0 -1.5,x 1 nan,y, z 0 1,y, z 1 4' \
        "$("$weft" quantile "$folder/log.csv" -p "$place" -c x,3 --q 0,1 | paste -sd,)" \
        "$place: quantiles of each column"
    same 'x,"y, z"/-1.5,1/nan,4' "$("$weft" quantile "$folder/log.csv" -p "$place" -c x,3 --q 0,1 -o -.csv |
        paste -sd/)" "$place: quantiles as a table"
    for command in 'topk -k 1' unique "select --where >1"; do
        expect 2 "log.csv: 2 columns of a table would be mixed; .* for whole rows: weft .* FILE" \
            "$weft" $command "$folder/log.csv" -p "$place" -c 3,x -o "$folder/x.csv"
    done
    printf 'id,u\n9007199254740993,18446744073709551615\n9007199254740992,1\n' >"$folder/ids.csv"
    same 'id 9007199254740992 9007199254740993' \
        "$("$weft" sort "$folder/ids.csv" -p "$place" -c id -o -.csv | xargs)" "$place: sorted ids"
    printf 'day,id,x\n2,9007199254740993,\n1,5,0.5\n2,9007199254740992,1\n1,5,-0.5\n' >"$folder/rows.csv"
    same 'day,id,x/1,5,0.5/1,5,-0.5/2,9007199254740992,1/2,9007199254740993,nan' \
        "$("$weft" sort "$folder/rows.csv" --by day,id -p "$place" -o -.csv | paste -sd/)" \
        "$place: rows by two columns, in their order where these are equal"
    same 'x,id/nan,9007199254740993/1,9007199254740992/0.5,5/-0.5,5' \
        "$("$weft" sort - --by id -d -c x,id -p "$place" -o -.csv <"$folder/rows.csv" | paste -sd/)" \
        "$place: some columns of rows, the largest first"
    same '3 1 2 0' "$("$weft" sort "$folder/rows.csv" --by day,x -i -p "$place" -o -.txt | xargs)" \
        "$place: where rows were"
    expect 2 'option --by is about tables of text' "$weft" sort "$folder/x.npy" --by 1 -o "$folder/x.csv"
    expect 1 'no column "dya"' "$weft" sort "$folder/rows.csv" --by dya -p "$place" -o "$folder/x.csv"
    expect 2 'option --types goes with --by' "$weft" sort "$folder/rows.csv" -c id --types i64 -o "$folder/x.csv"
    same 'u 18446744073709551615 1' \
        "$("$weft" unique "$folder/ids.csv" -p "$place" -c u -o -.csv | xargs)" "$place: unique ids"
    same '18446744073709551615 0' "$("$weft" topk "$folder/ids.csv" -p "$place" -c u -k 1)" "$place: top"
    same 'id 9007199254740993' "$("$weft" select "$folder/ids.csv" -p "$place" -c id \
        -w '>9007199254740992' -o -.csv | xargs)" "$place: selected ids"
    same 'min 1 at 1,max 18446744073709551615 at 0' "$("$weft" summary "$folder/ids.csv" -p "$place" -c u |
        tr -s ' ' | sed -n '2,3p' | paste -sd,)" "$place: extremes of ids"
    expect 1 'column 1 .id.: "9007199254740993" is an integer that f64 rounds; read it with --types i64' \
        "$weft" quantile "$folder/ids.csv" -p "$place"
    expect 1 'column 1 .id.: "9007199254740993" is an integer that f64 rounds; read it with --type i64' \
        "$weft" scan "$folder/ids.csv" -p "$place" -c id -o "$folder/x.csv"
    expect 1 'no column "z"; it has 3 columns: when, x, y, z' "$weft" summary "$folder/log.csv" -c z
    expect 2 'option --q: "2" is no number from 0 to 1' "$weft" quantile "$folder/log.csv" --q 2
    expect 2 'no rule "upper"' "$weft" quantile "$folder/log.csv" --rule upper
}

test_help
test_usage
for place in $places; do
    test_reduce "$place"
    test_scan_and_add "$place"
    test_sort_and_topk "$place"
    test_histogram "$place"
    test_convolve "$place"
    test_fft "$place"
    test_blend "$place"
    test_nbody "$place"
    test_select_and_unique "$place"
    test_tables "$place"
    test_climb "$place"
done
test_bad_files
test_climb_roof
test_climb_sparse
test_launched
test_generate
test_analyze
test_halves
test_solve
test_info
test_links
test_precision
test_progress
test_colour
finish
