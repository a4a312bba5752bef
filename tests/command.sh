# SPDX-License-Identifier: Apache-2.0
# What the tests of the command share; sourced by them. WEFT names the command, WEFT_TEST_PLACES the
# places, as "cpu:2 gpu". Files go into $folder.
set -u
weft=${WEFT:?name the command, as WEFT=build/weft}
places=${WEFT_TEST_PLACES:-cpu:2}
unset WEFT_PLACE WEFT_VARIANT WEFT_TUNING WEFT_THREADS WEFT_TRACE WEFT_NCCL WEFT_MAILBOX NO_COLOR
export WEFT_SECONDS=0 # what is timed is not looked at: the fewest samples do
folder=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d) # in memory, where files are flushed at once
export OMPI_MCA_orte_tmpdir_base=$folder # an mpirun that ends removes the folder that others use
trap 'rm -rf "$folder"' EXIT
failures=0
checks=0

fail() {
    printf 'FAIL %s\n' "$*" >&2
    failures=$((failures + 1))
}

# expect STATUS PATTERN COMMAND...: the exit status, and a regular expression that what is printed
# (on both streams) matches.
expect() {
    local status=$1 pattern=$2 output got
    shift 2
    checks=$((checks + 1))
    output=$("$@" 2>&1 </dev/null | tr -d '\0'; exit "${PIPESTATUS[0]}")
    got=$?
    [ "$got" = "$status" ] || fail "status $got, not $status: $* ($output)"
    grep -Eq -- "$pattern" <<<"$output" || fail "no /$pattern/ from: $* ($output)"
}

# same EXPECTED ACTUAL WHAT
same() {
    checks=$((checks + 1))
    [ "$1" = "$2" ] || fail "$3: \"$2\", not \"$1\""
}

# within PERCENT EXPECTED ACTUAL WHAT: whole numbers that differ by no more than that.
within() {
    local apart=$(($3 > $2 ? $3 - $2 : $2 - $3))
    checks=$((checks + 1))
    [ $((100 * apart)) -le $(($1 * $2)) ] || fail "$4: $3, not within $1 % of $2"
}

# The names of all subcommands.
commands() {
    "$weft" help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p'
}

# count_of KEY: its value in the flat JSON object that is read.
count_of() {
    grep -o "\"$1\": [0-9]*" | grep -o '[0-9]*$'
}

# npy FILE DESCR SHAPE BYTES [ORDER [VERSION]]: a file made of a header and printf escapes.
npy() {
    local dictionary length width='\\x%02x\\x%02x'
    dictionary="{'descr': $2, 'fortran_order': ${5:-False}, 'shape': $3, }"
    length=${#dictionary}
    [ "${6:-1}" = 1 ] || width+='\\x00\\x00'
    {
        printf '\223NUMPY'
        printf "\\x0${6:-1}\\x00"
        printf "$(printf "$width" $((length % 256)) $((length / 256)))"
        printf '%s' "$dictionary"
        printf "$4"
    } >"$folder/$1"
}

# Every line is one flat JSON object.
string='"([^"\\]|\\.)*"'
number='-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?'
field="$string: ($string|$number|true|false|null)"
json_valid() {
    local lines
    checks=$((checks + 1))
    lines=$(cat)
    [ -n "$lines" ] || fail "$1: no JSON"
    grep -Evq -- "^\{$field(, $field)*\}$" <<<"$lines" && fail "$1: not JSON: $lines"
    [ "$(wc -l <<<"$lines")" -ge "$2" ] || fail "$1: fewer than $2 objects: $lines"
}

# The elements of a file, past its header: a multiple of 64 bytes.
elements() {
    tail -c +$((1 + $3)) "$folder/$1" | od -An -v -t "$2" | xargs
}

# Ends a test: says how many checks there were, and fails if any did.
finish() {
    echo "$checks checks, $failures failures"
    [ "$failures" = 0 ]
}
