#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests of the command over ranks: the same files and the same lines as on one place. Needs mpirun,
# and a build with MPI.
. "$(dirname "$0")/command.sh"

if [ "${WEFT_MPI:-0}" != 1 ] || [ -z "${MPIRUN:-}" ]; then
    expect 1 'this build of weft has no MPI.*libopenmpi-dev' "$weft" reduce /dev/null --place mpi
    echo "without MPI only its absence is tested"
    finish
    exit
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export ASAN_OPTIONS=detect_leaks=0 # MPI keeps some memory to the end

# over RANKS COMMAND...; with a folder of its own, as some run at the same time (command.sh)
over() {
    local ranks=$1 sessions=$folder/sessions$BASHPID
    shift
    mkdir -p "$sessions"
    OMPI_MCA_orte_tmpdir_base=$sessions $MPIRUN --oversubscribe --bind-to none -np "$ranks" "$weft" "$@" --place mpi:cpu:1
}

# files NAME COMMAND...: what the command writes to -o over 3 ranks and alone.
files() {
    local name=$1 one=$folder/one$BASHPID.npy all=$folder/all$BASHPID.npy
    shift
    expect 0 '' "$weft" "$@" --place cpu:1 -o "$one"
    expect 0 '' over 3 "$@" -o "$all"
    checks=$((checks + 1))
    cmp -s "$one" "$all" || fail "$name over 3 ranks writes another file"
}

# texts COMMAND...: the same for a table of text.
texts() {
    local one=$folder/one$BASHPID.csv all=$folder/all$BASHPID.csv
    expect 0 '' "$weft" "$@" --place cpu:1 -o "$one"
    expect 0 '' over 3 "$@" -o "$all"
    same "$(cat "$one")" "$(cat "$all")" "weft $* over 3 ranks writes the same text"
}

# lines COMMAND...: what it prints; lines_over RANKS COMMAND...
lines_over() {
    local ranks=$1
    shift
    same "$("$weft" "$@" --place cpu:1)" "$(over "$ranks" "$@")" "weft $* over $ranks ranks"
}
lines() {
    lines_over 3 "$@"
}

# beside COMMAND...: a check while another one goes on: mpirun waits for most of its half a second.
# `together` ends them all.
beside() {
    if [ "$(jobs -r | wc -l)" -ge 3 ]; then
        wait -n
    fi
    started=$((started + 1))
    (
        checks=0 failures=0
        "$@"
        echo "$checks $failures" >"$folder/beside.$started"
    ) &
}
together() {
    local counts ended=0 of_checks of_failures
    wait
    for counts in "$folder"/beside.*; do
        read -r of_checks of_failures <"$counts"
        checks=$((checks + of_checks)) failures=$((failures + of_failures)) ended=$((ended + 1))
    done
    [ "$ended" = "$started" ] || fail "$started checks began, $ended ended"
}
started=0

npy x.npy "'<i4'" '(200,)' "$(for k in $(seq 200); do printf '\\x%02x\\0\\0\\0' $((k * k % 7)); done)"
npy m.npy "'|i1'" '(4, 3)' "$(printf '\\x%02x' 3 1 1 2 2 2 5 9 9 0 9 1)"
npy f.npy "'|i1'" '(2, 3)' "$(printf '\\x%02x' 1 4 2 5 3 6)" True
npy tiny.npy "'|u1'" '(1,)' '\x07'
x=$folder/x.npy m=$folder/m.npy

beside files scan scan "$x"
beside files "an exclusive scan" scan "$m" --exclusive
beside files sort sort "$m" --descending
beside files "sort --indices" sort "$x" --indices
beside files add add "$m" "$m"
beside files select select "$x" --where '>1'
beside files "select --indices" select "$m" --where '>1' --indices
beside files "select by a second file" select "$m" "$m"
beside files unique unique "$m"
beside files fft fft "$m"
beside files "the half of a transform of real numbers" fft "$m" --half
beside files "fft of rows" fft "$m" --dims 1
beside expect 1 'WEFT_FFT_OWN' over 3 fft "$x" -o "$folder/never.npy"
beside files "random numbers" random normal -n 101 --offset 3
beside files "a small permutation" random permutation -n 50
beside texts random permutation -n 3000 -t i64
beside files "scan of one element" scan "$folder/tiny.npy"
# products and images: each rank has a part of the rows, which may be none
npy wide.npy "'|i1'" '(3, 5)' "$(printf '\\x%02x' 1 255 3 4 0 2 2 254 9 7 5 1 1 8 6)"
npy added.npy "'<i4'" '(4, 5)' "$(for k in $(seq 20); do printf '\\x%02x\\0\\0\\0' $k; done)"
npy one_row.npy "'|i1'" '(1, 4)' '\1\2\3\4'
beside files gemm gemm "$m" "$folder/wide.npy"
beside files "gemm, A transposed" gemm "$m" "$m" --transpose-a
beside files "gemm, B transposed" gemm "$m" "$m" --transpose-b
beside files "gemm, both transposed" gemm "$folder/wide.npy" "$m" --transpose-a --transpose-b
beside files "gemm of a file in Fortran order" gemm "$m" "$folder/f.npy" --transpose-b
beside files "gemm --add" gemm "$m" "$folder/wide.npy" --add "$folder/added.npy" --alpha 2
beside files "gemm of one row" gemm "$folder/one_row.npy" "$m"
beside texts gemm "$m" "$folder/wide.npy"
beside expect 1 'ranks cannot share standard input' over 2 gemm "$m" - -o "$folder/never.npy"
beside expect 1 'columns of the first must be' over 2 gemm "$m" "$m" -o "$folder/never.npy"
printf 'P5 7 11 255\n%s' "$(head -c 77 "$0")" >"$folder/gray.pgm"
npy rgba.npy "'|u1'" '(5, 6, 4)' "$(for k in $(seq 120); do printf '\\x%02x' $((k * k % 251)); done)"
"$weft" convolve "$folder/rgba.npy" -f box:1 -o "$folder/rgba.png" -p cpu:1
npy even.npy "'<f4'" '(2, 4)' "$(for k in $(seq 8); do printf '\\0\\0\\x%02x\\x3e' $k; done)"
for border in reflect wrap valid; do
    beside files "convolve --border $border" convolve "$folder/gray.pgm" -f gauss:1.5 --border $border
    beside files "edges, --border $border" convolve "$folder/rgba.png" -f sobel --border $border
    beside files "even sides, --border $border" convolve "$folder/rgba.png" -f "$folder/even.npy" --border $border
done
npy one_row_u8.npy "'|u1'" '(1, 4)' '\1\2\3\4'
beside files "one row of an image" convolve "$folder/one_row_u8.npy" -f box:3
picture_over_ranks() {
    expect 0 '"ranks": 3, .*"height": 11' over 3 convolve "$folder/gray.pgm" -f sharpen:1 -o "$folder/all.pgm" --json
    expect 0 '' "$weft" convolve "$folder/gray.pgm" -f sharpen:1 -o "$folder/one.pgm" -p cpu:1
    checks=$((checks + 1))
    cmp -s "$folder/one.pgm" "$folder/all.pgm" || fail "an image over ranks is another one"
}
beside picture_over_ranks
beside expect 1 'ranks cannot share standard input' over 2 convolve - -f box:3 -o "$folder/never.npy"
lengths_of_runs() {
    expect 0 '' over 3 unique "$m" -o "$folder/runs.npy" --lengths "$folder/all_lengths.npy"
    expect 0 '' "$weft" unique "$m" -p cpu:1 -o "$folder/run.npy" --lengths "$folder/one_lengths.npy"
    checks=$((checks + 1))
    cmp -s "$folder/one_lengths.npy" "$folder/all_lengths.npy" || fail "lengths of runs differ"
}
beside lengths_of_runs
beside lines reduce "$x"
beside lines reduce "$m" --op argmax
beside lines reduce "$m" "$m" --op dot
beside lines topk "$x" --k 3
beside lines quantile "$x" --q 0,0.3,0.5,1
beside lines quantile "$m" --rule nearest
beside lines topk "$m" --k 20
beside files histogram histogram "$x" --bins 5
# tables of text: every rank reads all and keeps its part, and rank 0 writes
"$weft" map a "$x" -p cpu:1 -o "$folder/x.csv"
{
    echo 'a,b'
    paste -d , "$folder/x.csv" <(tac "$folder/x.csv")
} >"$folder/two.csv"
beside texts sort "$folder/x.csv"
beside texts scan "$folder/two.csv" --columns b
beside texts select "$folder/x.csv" --where '>3' --indices
beside texts unique "$x"
beside texts map 'a * b + 1' "$folder/x.csv" "$x"
beside texts add "$folder/two.csv" "$folder/two.csv"
beside files "sort of a column" sort "$folder/two.csv" --columns 2
beside files "a histogram of text" histogram "$folder/x.csv" --bins 5
beside lines reduce "$folder/two.csv" --columns a --op argmax
beside lines summary "$folder/two.csv" --columns a
beside lines quantile "$folder/x.csv" --q 0.2,0.7
beside lines map 'a * a' "$folder/x.csv" --reduce sum
beside lines_over 4 topk "$folder/x.csv" --k 3
"$weft" select "$x" -p cpu:1 --where '>3' --indices -o "$folder/rows.txt"
printf '%d\n' 60 0 7 7 59 3 >"$folder/at60.txt"
beside texts gather "$folder/x.csv" "$folder/rows.txt"
beside expect 1 'no column|names no column' over 2 sort "$folder/two.csv" --columns c -o "$folder/never.csv"
npy at.npy "'|u1'" '(7,)' "$(printf '\\x%02x' 199 0 7 7 120 3 66)"
beside files gather gather "$x" "$folder/at.npy"

# rows of a table, by two keys, with sums that are exact; runs that cross ranks; fewer rows than ranks
log=$folder/log.csv
awk 'BEGIN { print "sensor,day,heat,wet"
             for (i = 0; i < 61; i++) printf "%d,%d,%g,%d\n", i * i % 7, i / 20, i % 11 / 4, i % 5 }' >"$log"
head -n 4 "$log" >"$folder/three.csv"
npy rows.npy "'|i1'" '(4, 3)' "$(printf '\\x%02x' 3 1 1 2 2 2 3 9 9 0 9 1)"
npy keys.npy "'|i1'" '(4,)' '\x02\xff\x02\xff'
npy large.npy "'<u8'" '(3,)' '\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff'
for ranks in 1 2 4 7; do
    beside lines_over "$ranks" group "$log" --by sensor -c heat,wet --op count,sum,mean,min,max
    beside lines_over "$ranks" group "$folder/three.csv" --by day,sensor -c wet
done
beside lines_over 4 group "$log" --by day,sensor -c heat --exact
beside lines_over 7 group "$log" --by day -c wet --runs --op product,max,count
beside lines_over 2 group "$folder/rows.npy" "$folder/keys.npy"
beside files group group "$folder/rows.npy" --by 1
beside expect 0 '"variant": "ranks", "place": "mpi:cpu:1", "ranks": 2, .*"count": 20, "sum": 40' \
    over 2 group "$log" --by day -c wet --json
beside expect 1 'ranks cannot share standard input' over 2 group - --by 1
beside expect 1 'ranks cannot share standard input' over 2 sort - --by 1 -o "$folder/never.csv"
beside expect 1 'ranks cannot share standard input' over 2 gather - "$folder/rows.txt" -o "$folder/never.csv"
beside expect 1 'ranks cannot share standard input' over 2 map '2 * x' - -o "$folder/never.csv"
beside expect 1 'ranks cannot share standard input' over 2 summary - -c x
beside expect 1 'opening failed' over 2 group "$folder/none.csv" --by 1
beside lines_over 2 group "$folder/large.npy" "$folder/large.npy" --op sum
npy same.npy "'|u1'" '(3,)' '\5\5\5'
beside expect 1 'a sum of column 1 is about 1.84467e.19, which u64 cannot hold' over 2 group \
    "$folder/large.npy" "$folder/same.npy" --op sum
# ids of 64 bits beside floats: columns with types of their own
awk 'BEGIN { print "id,heat,u"; for (i = 0; i < 61; i++)
             printf "%s9007199254740%03d,%s,18446744073709551%03d\n", i % 3 ? "" : "-", i * i % 7 + 990,
                    i % 10 ? i % 11 / 4 : "", 615 - i % 5 }' >"$folder/ids.csv"
for ranks in 2 4; do
    beside lines_over "$ranks" group "$folder/ids.csv" --by id -c heat,u --op count,mean,max
done
beside texts group "$folder/ids.csv" --by u,id -c heat
beside texts gather "$folder/ids.csv" "$folder/at60.txt" --columns u,id,heat
beside texts map 'id * 2 + (heat > 1)' "$folder/ids.csv"
beside texts sort "$folder/ids.csv" -c u
beside texts sort "$folder/ids.csv" --by u,heat -d
beside files "sort of rows" sort "$folder/ids.csv" --by id -i
beside lines summary "$folder/ids.csv" --columns u,id
beside lines map id "$folder/ids.csv" --reduce min
beside lines quantile "$folder/two.csv" --q 0.2,0.7
beside texts quantile "$folder/two.csv" --q 0.2,0.7
beside expect 1 'no column "hat"; did you mean' over 2 map 'hat + 1' "$folder/ids.csv" -o "$folder/never.csv"
beside expect 2 '3 columns of a table would be mixed' over 2 sort "$folder/ids.csv" --type f64 -o "$folder/never.csv"
beside expect 1 'm.npy has 2 dimensions' over 2 gather "$m" "$folder/at.npy" -o "$folder/never.npy"
beside expect 0 '"place": "mpi:cpu:1", "ranks": 2, "comm": "[^"]+: 2 ranks, 2 on this machine"' \
    over 2 scan "$x" -o "$folder/scanned.npy" --json

# every size of every step, checked
links() {
    over 3 links --bytes 20000 --json >"$folder/links.json"
    json_valid 'links over ranks' 21 <"$folder/links.json"
    same 21 "$(grep -c '"right": true' "$folder/links.json")" "steps that are right"
}
picture_of_links() {
    expect 0 'all-to-all of 3 ranks, host memory' over 3 links --bytes 4096 --plot "$folder/links.svg"
    same 1 "$(grep -c '</svg>' "$folder/links.svg")" "pictures"
}
beside links
beside picture_of_links
# a system of small integers, whose solution is exact: f64 numbers below 256 by their two high bytes
number() { printf '\\x00\\x00\\x00\\x00\\x00\\x00\\x%s\\x%s' "${1#??}" "${1%??}"; }
one=$(number 3ff0) two=$(number 4000) none=$(number 0000)
npy a.npy "'<f8'" '(3, 3)' "$two$one$none$none$one$none$one$none$one"
npy b.npy "'<f8'" '(3, 2)' "$one$two$one$one$two$one"
npy zero.npy "'<f8'" '(2, 2)' "$one$one$one$one"
beside files "solve" solve "$folder/a.npy" -b "$folder/b.npy"
beside expect 0 '"ranks": 3' over 3 solve "$folder/a.npy" -b "$folder/b.npy" --json
beside expect 0 '"exact": 1' over 3 solve "$folder/a.npy" -b "$folder/b.npy" --exact --json
beside expect 1 'singular: its column 1' over 2 solve "$folder/zero.npy"
beside expect 1 'ranks cannot share standard input' over 2 solve "$folder/a.npy" -b -
npy spd.npy "'<f8'" '(2, 2)' "$two$one$one$two"
npy ones.npy "'<f8'" '(2,)' "$one$one"
beside expect 0 'factor .*, in f64, by ranks on mpi:cpu:1, 2 ranks' over 2 solve "$folder/spd.npy" --spd
beside expect 0 '"variant": "ranks"' over 3 solve "$folder/spd.npy" -b "$folder/ones.npy" --spd --json
beside expect 1 'not positive definite: its leading block of order 2' over 2 solve "$folder/zero.npy" --spd
# sparse: x to the last bit, failures with the column, one report
"$weft" generate laplace3d 17 -o "$folder/cube.mtx" 2>/dev/null
beside files "sparse solve" solve "$folder/cube.mtx"
beside expect 0 'by ranks on mpi:cpu:1' over 3 solve "$folder/cube.mtx" -o "$folder/cube.npy"
beside expect 0 '"variant": "ranks", "ranks": 2.*"forward_error": [0-9.e-]+' \
    over 2 solve "$folder/cube.mtx" --json --refine
printf '%s\n' '%%MatrixMarket matrix coordinate real symmetric' '2 2 3' '1 1 1' '2 1 2' '2 2 1' >"$folder/bad.mtx"
beside expect 1 'bad.mtx is not positive definite: elimination leaves -3' over 2 solve "$folder/bad.mtx"
beside expect 0 '1 above 0, 1 below' over 2 solve "$folder/bad.mtx" --kind indefinite
beside expect 1 'ranks cannot share standard input' over 2 solve "$folder/bad.mtx" -b -

# without the place: one note of four processes that each do all of it
alone() {
    OMPI_MCA_orte_tmpdir_base=$folder/alone $MPIRUN --oversubscribe -np 4 "$weft" reduce "$folder/tiny.npy" "$@" 2>&1 |
        grep -v ^mpi | sort | uniq -c | tr -s ' \n' ' '
}
mkdir -p "$folder/alone"
beside same ' 4 7 1 weft: note: each of the 4 processes does all of this by itself; add --place mpi, and they share it ' \
    "$(alone)" 'four processes without a place over ranks'
beside same ' 1 7 ' "$(WEFT_PLACE=mpi:cpu:1 alone)" 'four processes whose place is in the environment'

# apart COMMAND...: two ranks, of which the second stands in a folder without the file: it says so, and
# the first knows that the other gave up, if mpirun leaves it the time to say so.
apart() {
    local both=("$weft" "$@" --place mpi:cpu:1) output
    output=$(OMPI_MCA_orte_tmpdir_base=$folder/alone $MPIRUN --oversubscribe -np 1 -wdir "$folder" "${both[@]}" \
        : -np 1 -wdir "$folder/alone" "${both[@]}" 2>&1)
    checks=$((checks + 1))
    grep -q 'x.npy: opening failed' <<<"$output" || fail "nobody says what is missing: $* ($output)"
    ! grep -q 'out of step' <<<"$output" || fail "a rank ends without a word to the others: $* ($output)"
}
for command in reduce histogram; do
    beside apart $command x.npy
done
beside apart sort x.npy -o "$folder/never.npy"

# what cannot be shared, and what is not there: every rank ends, and one line says why
beside expect 1 'ranks cannot share standard input' over 2 reduce -
beside expect 1 'opening failed' over 2 reduce "$folder/none.npy"
beside expect 1 'Fortran order' over 2 reduce "$folder/f.npy"
beside expect 1 'no part of it can be written|cannot write' over 2 scan "$x" -o "$folder/none/y.npy"
beside expect 1 'climb: it does not work over ranks' over 2 climb scan
together
same '' "$(find "$folder" -name '*.part')" "unfinished files left"

finish
