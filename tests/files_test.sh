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
        expect 2 'this is the input .*, which something of another kind would replace' \
            "$weft" $line
    done
    expect 2 'option --plot: this is the input itself' sh -c '"$0" analyze - --plot A.mtx <A.mtx' "$weft"
    for line in 'unique b.npy -o q -l q' 'unique b.npy -o q -l ./q' 'unique b.npy -o new -l new' \
        "unique b.npy -o new -l $folder/new" 'unique b.npy -o new -l dangling'; do
        expect 2 'option --(output|lengths): .* is where --(lengths|output) goes, too' "$weft" $line
    done
    expect 2 'standard output' sh -c '"$0" unique b.npy -o - -l - | cat; exit 2' "$weft"
    same "$before" "$(cksum A.mtx A b.npy q)" 'what was there'
    checks=$((checks + 1))
    [ ! -e new ] && [ ! -e x ] || fail 'a refused command wrote'
    expect 0 '' "$weft" scan b.npy -o b.npy
    expect 0 '' "$weft" solve A.mtx -b q -o q
    expect 0 '' sh -c '"$0" sort - -o b.npy <b.npy' "$weft"
    left 'clashes'
}

test_full_disk
test_signals
test_targets
test_clashes
finish
