#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests of the command's files: full disks and signals, outputs that would replace an input or each
# other, names that hold anything, and numbers as people write them.
. "$(dirname "$0")/command.sh"
cd "$folder" || exit 1
export WEFT_PLACE=cpu:2

# left WHAT: nothing unfinished lies about.
left() {
    same '' "$(find "$folder" -name '.weft_*')" "$1: left behind"
}

# Every command that writes files, as OPTION-FILE and words; the result has more than 1 KiB.
writers=(
    'out.npy scan x.npy -o out.npy'
    'x.npy scan x.npy -o x.npy'
    'out.npy sort x.npy -o out.npy'
    'out.npy add x.npy x.npy -o out.npy'
    'out.npy select x.npy -w >=0 -o out.npy'
    'out.npy unique x.npy -o out.npy'
    'out.npy unique x.npy -o /dev/null -l out.npy'
    'out.npy histogram x.npy --bins 1000 -o out.npy'
    'A.mtx generate random 400 --per-row 3 -o A.mtx'
    'out.npy solve A.mtx -o out.npy'
    'out.npy solve A.mtx -b b.npy -o out.npy'
    'b.npy solve A.mtx -b b.npy -o b.npy'
    'out.svg analyze A.mtx --plot out.svg'
)

test_full_disk() {
    local line words file
    "$weft" generate laplace2d 20 -o A.mtx
    "$weft" solve A.mtx -o b.npy >/dev/null 2>&1
    cp b.npy x.npy
    for line in "${writers[@]}"; do
        read -ra words <<<"$line"
        file=${words[0]}
        [ -e "$file" ] || echo old >"$file"
        cp "$file" before
        expect 1 "^weft: .*$file: writing failed: File too large" bash -c 'ulimit -f 1; "$@"' - \
            "$weft" "${words[@]:1}"
        same '' "$(cmp before "$file" 2>&1)" "weft ${words[*]:1}: what was there"
        left "weft ${words[*]:1}"
        expect 0 '' "$weft" "${words[@]:1}"
        checks=$((checks + 1))
        cmp -s before "$file" && [ "$file" != b.npy ] && fail "weft ${words[*]:1} wrote nothing"
        left "weft ${words[*]:1}, complete"
        [ "$file" = "${file#out}" ] || rm "$file"
    done
}

# interrupt NAME COMMAND...: sends the signal while the command writes a file; its status. Where the
# file was complete before that, another try is made.
interrupt() {
    local name=$1 pid status
    shift
    for _ in 1 2 3 4 5 6 7 8 9; do
        echo old >big.mtx
        "$@" &
        pid=$!
        until compgen -G '.weft_*' >/dev/null || ! kill -0 "$pid" 2>/dev/null; do :; done
        kill -"$name" "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
        status=$?
        [ "$status" = 0 ] || break
    done
    return "$status"
}

# A signal while a file is being written ends the command, as that signal does, and takes the file
# along; one that is ignored does not.
test_signals() {
    local name status
    for name in HUP INT TERM QUIT KILL; do
        interrupt "$name" env --default-signal=INT,QUIT "$weft" generate laplace3d 40 -o big.mtx
        status=$?
        same "$((128 + $(kill -l "$name")))" "$status" "SIG$name ends generate"
        same old "$(head -c 20 big.mtx)" "SIG$name: what was there"
        [ "$name" != KILL ] || rm .weft_* # what nobody can catch leaves a file behind
        left "SIG$name"
    done
    trap '' HUP
    interrupt HUP "$weft" generate laplace3d 20 -o big.mtx
    same 0 $? 'a signal that is ignored'
    trap - HUP
    same "$("$weft" generate laplace3d 20 | cksum)" "$(cksum <big.mtx)" 'and the file'
    left 'a signal that is ignored'
    rm big.mtx
}

test_targets() {
    npy ints.npy "'<i4'" '(3,)' '\x01\0\0\0\x02\0\0\0\x03\0\0\0'
    cp ints.npy own.npy
    chmod 640 own.npy
    ln -s own.npy link.npy
    expect 0 '' "$weft" scan ints.npy -o link.npy
    same '1 3 6' "$(elements own.npy d4 128)" 'through a link'
    same own.npy "$(readlink link.npy)" 'the link stays'
    same 640 "$(stat -c %a own.npy)" 'the mode stays'
    mkfifo pipe
    cat pipe >piped.npy &
    expect 0 '' "$weft" scan ints.npy -o pipe
    wait
    same '' "$(cmp own.npy piped.npy)" 'through a pipe that has a name'
    checks=$((checks + 1))
    [ -p pipe ] || fail 'the pipe was replaced'
    "$weft" scan ints.npy -o /dev/stdout | cmp -s - own.npy || fail 'to /dev/stdout'
    expect 0 '' "$weft" unique ints.npy -o /dev/null -l /dev/null
    same 'character special file' "$(stat -c %F /dev/null)" '/dev/null'
    expect 1 'cannot write no/x.npy: No such file' "$weft" scan ints.npy -o no/x.npy
    expect 1 'cannot write x/: Is a directory' "$weft" scan ints.npy -o x/
    left 'targets'
}

# What would replace an input, or another output, is refused before the work, and nothing is lost.
test_clashes() {
    local line before
    "$weft" generate laplace2d 3 -o A.mtx
    "$weft" solve A.mtx -o b.npy >/dev/null 2>&1
    cp b.npy q
    cp b.npy histogram.npy
    cp A.mtx A
    ln -s A.mtx symbolic
    ln A.mtx hard
    ln -s new dangling
    rm -f new
    before=$(cksum A.mtx A b.npy q)
    for line in 'analyze A.mtx --plot A.mtx' 'analyze A.mtx --plot ./A.mtx' \
        'analyze A.mtx --plot symbolic' 'analyze symbolic --plot A.mtx' \
        'analyze A.mtx --plot hard' "analyze A.mtx --plot $folder/A.mtx" \
        'solve A -o A' 'solve A -b b.npy -o A' 'unique b.npy -o x -l b.npy'; do
        expect 2 'this is the input .*, and only an array in a .npy file can be replaced by a result' \
            "$weft" $line
    done
    expect 2 'option --plot: this is the input itself' sh -c '"$0" analyze - --plot A.mtx <A.mtx' "$weft"
    for line in 'unique b.npy -o q -l q' 'unique b.npy -o q -l ./q' 'unique b.npy -o new -l new' \
        "unique b.npy -o new -l $folder/new" 'unique b.npy -o new -l dangling'; do
        expect 2 'option --(output|lengths): .* is where --(lengths|output) goes, too' "$weft" $line
    done
    expect 2 'standard output' sh -c '"$0" unique b.npy -o - -l - | cat; exit 2' "$weft"
    expect 2 'option --json: standard output takes the array already; name a file with --lengths' \
        "$weft" unique b.npy -o q -l - --json
    script -qec true /dev/null >/dev/null 2>&1 </dev/null && # where there is a terminal to be had
        expect 2 'option --lengths: standard output is a terminal' script -qec \
            "'$weft' unique b.npy -o q -l -" /dev/null
    same "$before" "$(cksum A.mtx A b.npy q)" 'what was there'
    checks=$((checks + 1))
    [ ! -e new ] && [ ! -e x ] || fail 'a refused command wrote'
    expect 0 '' "$weft" unique b.npy -o one -l two # in one folder, and neither is there yet
    expect 0 '' "$weft" scan b.npy -o b.npy
    expect 0 '' "$weft" solve A.mtx -b q -o q
    expect 0 '' sh -c '"$0" sort - -o b.npy <b.npy' "$weft"
    left 'clashes'
}

# Names may hold anything: messages show it, and JSON stays JSON in UTF-8.
test_names() {
    local output escape=$'\033' name
    local odd=$'a\033[31mb\nc\177d\377e\302\233f\300\200g\355\240\200h.npy'
    local shown='a\x1b[31mb\nc\x7fd\xffe\xc2\x9bf\xc0\x80g\xed\xa0\x80h.npy'
    npy ints.npy "'<i4'" '(3,)' '\x01\0\0\0\x02\0\0\0\x03\0\0\0'
    "$weft" generate laplace2d 3 -o A.mtx
    for name in 'reduce' 'solve' 'analyze' 'histogram' 'solve A.mtx -b' 'scan ints.npy -o no/'; do
        output=$("$weft" $name"$odd" 2>&1; "$weft" $name "$odd" 2>&1)
        same '' "$(grep -aF "$escape" <<<"$output")" "weft $name: an escape of a name"
        same '' "$(iconv -f utf-8 -t utf-8 <<<"$output" 2>&1 >/dev/null)" "weft $name: UTF-8"
        checks=$((checks + 1))
        grep -qF "$shown" <<<"$output" || fail "weft $name: no $shown in $output"
    done
    expect 1 'naïve ☃ 𝄞.npy: opening failed' "$weft" reduce 'naïve ☃ 𝄞.npy'
    expect 2 'option --where: ">\\x1b": "\\x1b" is not a number' "$weft" select ints.npy -w ">$escape" -o x.npy
    expect 2 'there is no command "\\x1b\\n"' "$weft" "$escape"$'\n'
    expect 2 'there is no option --\\x1bx' "$weft" reduce "--${escape}x"
    expect 2 'WEFT_PLACE: "\\x1b\\xff"' env WEFT_PLACE=$'\033\377' "$weft" reduce ints.npy
    cp ints.npy "$odd"
    cp A.mtx "$odd.mtx"
    for name in 'reduce' 'topk' 'histogram -o x.npy' 'scan -o x.npy' 'sort -o x.npy' 'unique -o x.npy'; do
        "$weft" $name --json "$odd" | json_valid "weft $name --json" 1
        "$weft" $name --json "$odd" | iconv -f utf-8 -t utf-8 >/dev/null || fail "weft $name: JSON in UTF-8"
        expect 0 '"file": "a\\u001b\[31mb\\u000ac\\u007fd\\ufffde\\u009bf\\ufffd\\ufffdg\\ufffd\\ufffd\\ufffdh.npy"' \
            "$weft" $name --json "$odd"
    done
    expect 0 '"output": "\\ufffd"' "$weft" scan ints.npy --json -o $'\377'
    expect 0 '"file": "naïve ☃ 𝄞.npy"' sh -c 'cp ints.npy "$1"; "$0" reduce --json "$1"' "$weft" \
        'naïve ☃ 𝄞.npy'
    "$weft" solve "$odd.mtx" --json | json_valid 'solve --json' 1
    for name in solve analyze; do
        same "${shown}.mtx: n = 9, 21 entries on and below the diagonal" \
            "$("$weft" $name "$odd.mtx" | head -1)" "weft $name: the name in the report"
    done
}

# Constants that the type cannot hold are refused, and the message says why.
test_constants() {
    local file value type
    npy f2.npy "'<f2'" '(2,)' '\0\x3c\0\x7c' # 1, inf
    npy f4.npy "'<f4'" '(2,)' '\0\0\x80\x3f\0\0\x80\x7f'
    npy f8.npy "'<f8'" '(2,)' '\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\xf0\x7f'
    npy i1.npy "'|i1'" '(2,)' '\x01\x7f'
    npy u8.npy "'<u8'" '(1,)' '\x01\0\0\0\0\0\0\0'
    npy voids.npy "'<V2'" '(1,)' '\x80\x3f'
    for type in 'f2 65520 f16' 'f4 1e39 f32' 'f4 -3.5e38 f32' 'f8 1e400 f64' 'f8 -1e9999 f64'; do
        read -r file value type <<<"$type"
        expect 2 "option --init: \"$value\" is too large for $type" "$weft" scan $file.npy -o x.npy \
            --init "$value"
        expect 2 "option --where: \">$value\": \"$value\" is too large for $type" \
            "$weft" select $file.npy -o x.npy --where ">$value"
        expect 2 "\"$value\" is too large for $type" "$weft" select $file.npy -o x.npy \
            --where "$value..7"
    done
    expect 2 'too large for bf16' "$weft" scan voids.npy -t bf16 -o x.npy --init 3.4e38
    for type in f2 f4 f8; do # what is spelled as infinite may be
        "$weft" select $type.npy -w '==inf' -i -o x.npy
        same 1 "$(elements x.npy u8 128)" "$type: where the infinite is"
        expect 0 '' "$weft" scan $type.npy --op min --init -inf -o x.npy
    done
    expect 0 '' "$weft" scan f2.npy -o x.npy --init 65504
    expect 0 '' "$weft" scan f4.npy -o x.npy --init 3.4028235e38
    expect 2 'option --where: ">1.5": i8 takes whole numbers, as 30 or 0x1e, not "1.5"' \
        "$weft" select i1.npy -w '>1.5' -o x.npy
    expect 2 'u64 takes whole numbers, as 30 or 0x1e, not "0.5"' "$weft" select u8.npy -w '0..0.5' -o x.npy
    expect 2 'option --init: i8 takes whole numbers, .* not "1e1"' "$weft" scan i1.npy --init 1e1 -o x.npy
    expect 2 '"128" is outside i8, from -128 to 127' "$weft" select i1.npy -w '>128' -o x.npy
    expect 2 '"-129" is outside i8' "$weft" select i1.npy -w '>-129' -o x.npy
    expect 2 '"-1" is outside u64, from 0 to 18446744073709551615' "$weft" scan u8.npy --init -1 -o x.npy
    expect 2 '"18446744073709551616" is outside u64' "$weft" scan u8.npy --init 18446744073709551616 -o x
    expect 2 '"one" is not a number' "$weft" scan i1.npy --init one -o x.npy
    expect 2 '"" is not a number' "$weft" select f4.npy -w '>' -o x.npy
    expect 2 '"~3": this is not a test of i8; write it as' "$weft" select i1.npy -w '~3' -o x.npy
}

# Numbers print as people write them, and read back the same.
test_numbers() {
    npy f4.npy "'<f4'" '(7,)' \
        '\0\0\xf0\x41\0\0\x80\x4b\xcd\xcc\xcc\x3d\x9a\x99\x99\xbf\0\0\0\x54\x17\xb7\xd1\x38\xac\xc5\x27\x37'
    same '30 16777216 0.1 -1.2 2.1990233e+12 0.0001 1e-05' "$("$weft" topk f4.npy | sort -k2n | cut -d' ' -f1 | xargs)" 'floats'
    npy f8.npy "'<f8'" '(1,)' '\0\0\0\0\0\0\x3e\x40'
    same 30 "$("$weft" reduce f8.npy)" 'a double of 30'
    npy f8.npy "'<f8'" '(1,)' '\0\xa0\xd8\x85\x57\x34\x76\x43'
    same 1e+17 "$("$weft" reduce f8.npy)" 'a double of 1e17'
    npy f8.npy "'<f8'" '(1,)' '\0\0\x40\xe5\x9c\x30\xa2\x42'
    same 10000000000000 "$("$weft" reduce f8.npy)" 'a double of 1e13'
    npy f8.npy "'<f8'" '(3,)' '\0\0\0\0\0\0\xf8\x7f\0\0\0\0\0\0\xf0\x7f\0\0\0\0\0\0\xf0\xff'
    same '"nan" "inf" "-inf"' "$("$weft" topk f8.npy --json | grep -o '"value": [^,]*' | cut -d' ' -f2 |
        paste -sd' ')" 'what is not finite, in JSON'
}

# tables of text where arrays are taken: dense systems, transforms, products, maps, histograms
test_tables() {
    printf '2,1\n1,3\n' >a.csv
    printf '3\n5\n' >b.csv
    printf '3 5\n' >row.txt
    expect 0 '' "$weft" solve a.csv -b b.csv -o x.csv -p cpu:1 --json
    same '0.8 1.4' "$(xargs <x.csv)" 'solve: a system in text'
    "$weft" solve a.csv -p cpu:1 -o x.txt --json >solve.json
    same '1 1' "$(xargs <x.txt)" 'solve: A times ones, in text'
    "$weft" fft a.csv -o f.csv
    same '7,0,-1,0 -1,0,3,0' "$(xargs <f.csv)" 'fft: two columns for a complex number'
    "$weft" fft a.csv -c 1 -o f.csv
    same '3,0 1,0' "$(xargs <f.csv)" 'fft: one column of a table'
    "$weft" map a a.csv -o f.npy
    expect 1 'f.npy: --columns is about tables' "$weft" fft f.npy -c 1 -o f.csv
    "$weft" gemm row.txt a.csv -o g.txt -p cpu:1
    same '11 18' "$(cat g.txt)" 'gemm of text'
    "$weft" map 'a * a' a.csv -o m.txt -p cpu:1
    same '4 1 1 9' "$(xargs <m.txt)" 'map of text'
    same '1,3 2,1' "$("$weft" sort a.csv -c 1 -i -o - | "$weft" gather a.csv - -o -.csv | xargs)" \
        'rows by a column, to standard output as text'
    same '1 2' "$(cut -d, -f1 a.csv | "$weft" sort - -o -.txt | xargs)" 'text through pipes'
    expect 1 '-.csv: writing failed: No space left on device' \
        bash -c '"$0" sort a.csv -c 1 -o -.csv >/dev/full' "$weft"
    expect 2 'option --json: standard output takes the array already' "$weft" sort a.csv -c 1 -o -.csv --json
    expect 2 'option --output: .* where --lengths goes, too' "$weft" unique a.csv -o -.csv -l -
    script -qec true /dev/null >/dev/null 2>&1 </dev/null && # where there is a terminal to be had
        expect 0 '^1.*2' script -qec "'$weft' sort a.csv -c 1 -o -.csv | xargs" /dev/null
    printf 'id,x,x\n9007199254740993,1,2\n' >twice.csv
    expect 1 'twice.csv: columns 2 and 3 are both named "x"; choose one of them by its number' \
        "$weft" reduce twice.csv -c x
    same 2 "$("$weft" reduce twice.csv -c 3)" 'a column by its number'
    expect 1 '"9007199254740993" is an integer that f64 rounds; read it with --type i64 or u64' \
        "$weft" scan twice.csv -c id -o x.csv
    same 'id 9007199254740993' "$("$weft" sort twice.csv -c id -o -.csv | xargs)" 'sort does not round'
    same 'id 9007199254740993' "$("$weft" sort twice.csv -c id -t i64 -o -.csv | xargs)" '64 bits'
    printf '9007199254740993\n1\n' >n.csv
    printf '1 0\n0 1\n' >one.csv
    same '9007199254740992 1' "$("$weft" solve one.csv -b n.csv -o -.csv -p cpu:1 2>/dev/null | xargs)" \
        'solve rounds'
    gzip -c a.csv >a.csv.gz
    expect 1 'a.csv.gz: the file is compressed by gzip; unpack it first' "$weft" reduce a.csv.gz
    expect 1 'standard input: the file is compressed by gzip' bash -c '"$0" reduce - <a.csv.gz' "$weft"
    same '2 2' "$("$weft" histogram a.csv --bins 2 -o - -p cpu:1 | "$weft" map a - -o h.txt; xargs <h.txt)" \
        'histogram of text'
}

test_full_disk
test_signals
test_tables
test_targets
test_clashes
test_names
test_constants
test_numbers
finish
