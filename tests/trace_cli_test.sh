#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Timelines of the command: --trace and WEFT_TRACE, on each place and over ranks.
. "$(dirname "$0")/command.sh"

# spans FILE NAME: how many spans have this name.
spans() {
    grep -c "\"ph\":\"X\",\"name\":\"$2\"" "$1"
}

# lanes FILE PATTERN: how many lanes are called so.
lanes() {
    grep '"thread_name"' "$1" | grep -c "\"args\":{\"name\":\"$2\"}"
}

# parsed FILE: a parser of JSON takes it, and the spans of a lane lie inside of one another or apart.
parsed() {
    checks=$((checks + 1))
    python3 - "$1" <<'END' || fail "$1: a parser refuses it"
import collections
import json
import sys

lanes = collections.defaultdict(list)
for event in json.load(open(sys.argv[1]))["traceEvents"]:
    if event["ph"] == "X":
        assert event["name"] and event["dur"] >= 0 and event["ts"] >= 0, event
        lanes[event["pid"], event["tid"]].append((event["ts"], -event["dur"], event["name"]))
    else:
        assert event["ph"] == "M" and event["args"], event
assert lanes, "no spans"
for spans in lanes.values():
    ends = []
    for begin, minus, name in sorted(spans):
        while ends and ends[-1] <= begin + 0.0015:  # times are written in thousandths of a us
            ends.pop()
        assert not ends or begin - minus <= ends[-1] + 0.0015, (name, begin)
        ends.append(begin - minus)
END
}

# whole FILE: is it one JSON object? Its lines show that, and a parser, where there is Python.
whole() {
    local line='^\{"ph":"[MX]",.*\}(,)?$'
    checks=$((checks + 1))
    [ "$(head -c 1 "$1")" = '{' ] || fail "$1 does not begin"
    [ "$(tail -n 1 "$1")" = ']}' ] || fail "$1 does not end"
    ! sed '1d;$d' "$1" | grep -vqE "$line" || fail "$1 has other lines"
    [ "$(sed '1d;$d' "$1" | grep -cvE ',$')" = 1 ] || fail "$1: a comma is missing or too much"
    if command -v python3 >/dev/null; then parsed "$1"; fi
}

npy x.npy "'<i4'" '(200,)' "$(for k in $(seq 200); do printf '\\x%02x\\0\\0\\0' $((k * k % 7)); done)"
x=$folder/x.npy t=$folder/t.json

for place in $places; do
    expect 0 '' "$weft" scan "$x" -o "$folder/y.npy" -p "$place" --trace "$t"
    whole "$t"
    same 1 "$(spans "$t" weft_scan)" "calls on $place"
    same 1 "$(lanes "$t" ".*$place.* calls")" "lanes on $place"
    rm "$t"
done
expect 0 '' env WEFT_TRACE="$t" "$weft" scan "$x" -o "$folder/y.npy" -p cpu:1 -v serial
whole "$t"
same 1 "$(spans "$t" 'scan serial')" "rungs with WEFT_TRACE"
expect 0 '' "$weft" climb scan -n 1000 -p cpu:1 --trace "$t"
whole "$t"
checks=$((checks + 1))
[ "$(spans "$t" weft_scan)" -gt 3 ] || fail "climb shows few calls"

expect 2 'option --trace: "-" is not a file' "$weft" scan "$x" -o "$folder/y.npy" --trace -
expect 1 'cannot write' "$weft" scan "$x" -o "$folder/y.npy" --trace "$folder/none/t.json"
expect 2 'one would be lost' "$weft" scan "$x" -o "$folder/y.npy" --trace "$folder/y.npy"
expect 2 'no option --trace' "$weft" generate 'poisson:2x2' --trace "$t"
expect 1 'WEFT_TRACE: cannot write' env WEFT_TRACE="$folder/none/t" "$weft" reduce "$x"
if [ -w /dev/full ]; then
    expect 1 '/dev/full' "$weft" reduce "$x" -p cpu:1 --trace /dev/full
fi
same '' "$(find "$folder" -name '*.part')" "unfinished files left"

if [ "${WEFT_MPI:-0}" = 1 ] && [ -n "${MPIRUN:-}" ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export ASAN_OPTIONS=detect_leaks=0 # MPI keeps some memory to the end
    over() {
        $MPIRUN --oversubscribe --bind-to none -np 3 "$weft" scan "$x" -p mpi:cpu:1 "$@"
    }
    rm -f "$t"
    expect 0 '' over -o "$folder/y.npy" --trace "$t"
    whole "$t"
    same 3 "$(grep -c '"process_name".*weft, rank [0-2] of 3' "$t")" "ranks in the file"
    same 3 "$(spans "$t" 'scan ranks')" "calls of all ranks"
    rm "$t"
    WEFT_TRACE=$t expect 0 '' over -o "$folder/y.npy"
    whole "$t"
    same 3 "$(spans "$t" 'scan ranks')" "calls of all ranks with WEFT_TRACE"
fi
finish
