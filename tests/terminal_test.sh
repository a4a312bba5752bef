#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests of how the command behaves where people meet it: what stands on a terminal of 80 columns, of
# 60 and of 40, on a dumb one and on one for UTF-8; letters and words completed; charts; outputs
# that may be left out.
#   WEFT=build/weft WEFT_BUILD=build tests/terminal_test.sh
: "${WEFT_BUILD:?run me through ctest}"
. "$(dirname "$0")/command.sh"
terminal=$WEFT_BUILD/tests/terminal
export TERM=xterm LC_ALL=C
unset COLUMNS

# screen COLUMNS COMMAND...: what stands there in the end; no line may have run over the edge, and
# nothing of what was progress may be left.
screen() {
    local columns=$1
    shift
    "$terminal" "$columns" "$@" >"$folder/screen"
    case $? in
    126) return 1 ;;
    127) fail "cannot run $*" ;;
    esac
    checks=$((checks + 1))
    if grep -nE '<(WRAP|ESC|[0-9]+|NO NEWLINE)>|(preparing|analysis|factor|solve|best|C loop).* \.\.\.' \
        "$folder/screen" >&2; then
        fail "$columns columns, TERM=$TERM: $*"
    fi
}

test_screens() {
    local columns command
    if ! screen 80 true; then
        echo 'no terminal to be had' >&2
        return
    fi
    for columns in 80 60 40; do
        for command in $(commands); do
            screen $columns "$weft" help $command
        done
        screen $columns "$weft" help
        screen $columns "$weft" info
        screen $columns "$weft" info --limits
        screen $columns "$weft" analyze "$folder/A.mtx"
        screen $columns "$weft" solve "$folder/A.mtx"
        screen $columns "$weft" histogram "$folder/bytes.npy"
        screen $columns "$weft" histogram "$folder/bytes.npy" --bins 3 --lo 1 --hi 9
        screen $columns "$weft" reduce "$folder/bytes.npy" --op mean
        screen $columns "$weft" reduce "$folder/bytes.npy" --frobnicate
        screen $columns "$weft" precision "$folder/floats.npy" -p cpu:1
        screen $columns "$weft" solve "$folder/there is/no/such file/A.mtx"
    done
    screen 40 "$weft" climb sparse --n 500 --variant multifrontal
    screen 60 "$weft" climb scan --n 5000 -p cpu:2 --variant blocked
    screen 60 "$weft" climb sparse_order --n 500 --variant amd
    screen 60 "$weft" climb roof -p cpu:1
    screen 40 "$weft" links
    screen 60 "$weft" demo --n 4096 -p cpu:2
    screen 200 "$weft" climb scan --n 5000 -p cpu:2 --variant serial
    grep -q '^serial .* the loop you would write$' "$folder/screen" || fail 'a wide climb: two lines'
    LC_ALL=C.UTF-8 screen 60 "$weft" histogram "$folder/bytes.npy"
    TERM=dumb screen 80 "$weft" solve "$folder/A.mtx" --repeat 3
    TERM='' screen 80 "$weft" solve "$folder/A.mtx"
}

# What each command does begins in one column.
test_alignment() {
    same 1 "$("$weft" help | sed -n '/^Commands/,/^$/s/^\(  [a-z]* *\).*/\1/p' |
        awk '{print length}' | sort -u | wc -l)" 'columns in which help begins to explain'
}

test_completion() {
    local op rungs
    orders=$("$weft" climb sparse_order --n 900 --json)
    "$weft" help --completion bash >"$folder/weft.bash"
    "$weft" help --completion fish >"$folder/weft.fish"
    "$weft" help --completion zsh >"$folder/weft.zsh"
    for op in sort scan sparse_order; do
        rungs=$("$weft" help $op 2>/dev/null | sed -n '/^Variants/,/^$/p' | tail -n +2 | xargs)
        [ "$rungs" ] || rungs=$(sed 's/.*"variant": "\([a-z_]*\)".*/\1/' <<<"$orders" | xargs)
        same "$rungs" "$(bash -c '. "$1"; COMP_WORDS=(weft climb $2 --variant ""); COMP_CWORD=4
            _weft; echo "${COMPREPLY[@]}"' - "$folder/weft.bash" $op)" "bash: rungs of $op"
        same "$rungs" "$(bash -c '. "$1"; COMP_WORDS=(weft climb -v "" $2); COMP_CWORD=3
            _weft; echo "${COMPREPLY[@]}"' - "$folder/weft.bash" $op)" "bash: rungs of $op, before it"
        same "$rungs" "$(sed -n "s/^ *\*' $op '\*) rungs='\(.*\)' ;;/\1/p" "$folder/weft.zsh")" \
            "zsh: rungs of $op"
        ! command -v fish >/dev/null ||
            same "$(tr ' ' '\n' <<<"$rungs" | sort | xargs)" \
                "$(fish -c "source '$folder/weft.fish'; complete -C 'weft climb $op --variant '" |
                    cut -f 1 | sort | xargs)" "fish: rungs of $op"
    done
    ! command -v fish >/dev/null ||
        same '' "$(fish -c "source '$folder/weft.fish'; complete -C 'weft climb scan --ex'")" \
            'fish: an option of scan for climb scan'
}

# Letters without values combine with each other and with one that has a value.
test_letters() {
    same 2 "$("$weft" topk "$folder/bytes.npy" -p cpu -jk 2 | grep -c '"rank"')" 'topk -jk 2'
    same 2 "$("$weft" topk "$folder/bytes.npy" -jk2 -pcpu | grep -c '"rank"')" 'topk -jk2'
    expect 0 '"variant": "serial"' "$weft" reduce "$folder/bytes.npy" -p cpu -jv serial
    "$weft" sort "$folder/bytes.npy" -dio "$folder/out.npy" || fail 'sort -dio'
    same "$("$weft" topk "$folder/bytes.npy" -k 300 --indices | xargs)" \
        "$(elements out.npy u8 128)" 'sort -dio and topk'
    expect 2 'there is no option -q' "$weft" reduce "$folder/bytes.npy" -jq
    expect 2 'there is no option -qj' "$weft" reduce "$folder/bytes.npy" -qj
    expect 2 'option --variant lacks its NAME' "$weft" reduce "$folder/bytes.npy" -jv
}

# A line for each bin that was asked for; else 32, and a word on that.
test_chart() {
    local lines
    lines=$("$weft" histogram "$folder/bytes.npy" --bins 40 --lo 0 --hi 40)
    same 40 "$(grep -cE '^ +[0-9]+ +[0-9]+ ' <<<"$lines")" 'lines of 40 bins'
    same '0 1 39' "$(awk 'NR < 3 || NR == 40 {print $1}' <<<"$lines" | xargs)" 'their edges'
    lines=$("$weft" histogram "$folder/bytes.npy")
    same 32 "$(grep -cE '^ +[0-9]+ +[0-9]+ ' <<<"$lines")" 'lines of 256 bins'
    grep -q '^256 bins, 8 a line; --bins 256 draws every one$' <<<"$lines" ||
        fail "256 bins in 32 lines, and no word on it: $lines"
    expect 0 '32 lines' "$weft" help histogram
}

test_outputs() {
    "$weft" topk "$folder/ints.npy" -k 3 -o "$folder/out.npy" || fail 'topk -o'
    same '9 5 4' "$(elements out.npy d4 128)" 'topk --output'
    "$weft" topk "$folder/ints.npy" -k 3 --indices --smallest -o "$folder/out.npy"
    same '1 3 0' "$(elements out.npy u8 128)" 'topk --indices --output'
    "$weft" topk "$folder/ints.npy" -o - | "$weft" reduce - >"$folder/sum"
    same 20 "$(cat "$folder/sum")" 'topk | reduce'
    "$weft" topk "$folder/ints.npy" -k 2 -o "$folder/out.npy" --json | json_valid 'topk -o --json' 1
    rm -f "$folder/out.npy"
    (cd "$folder" && "$weft" unique ints.npy --lengths out.npy) || fail 'unique --lengths alone'
    same '1 1 1 1 1 1' "$(elements out.npy u8 128)" 'unique --lengths alone'
    same '' "$("$weft" unique "$folder/ints.npy" -l "$folder/out.npy" 2>&1)" 'and nothing else'
    expect 2 'option --output is missing' "$weft" unique "$folder/ints.npy"
}

# analyze foretells what solve does, and what solve needs.
test_prediction() {
    local analyzed solved
    analyzed=$("$weft" analyze "$folder/A.mtx" --json)
    solved=$("$weft" solve "$folder/A.mtx" --json)
    grep -aq __asan_init "$weft" || within 5 "$(count_of bytes_predicted <<<"$solved")" \
        "$(count_of bytes_predicted <<<"$analyzed")" 'memory foretold by analyze'
    expect 0 '^memory    [0-9.]+ [KMG]iB predicted for weft solve' "$weft" analyze "$folder/A.mtx"
}

# Orders are told apart by what they lead to, the same as analyze finds; there is no roof.
test_orders() {
    local key text
    "$weft" generate laplace2d 30 -o "$folder/mesh.mtx"
    for order in natural rcm amd dissect; do
        for key in nnz_l flops; do
            same "$("$weft" analyze "$folder/mesh.mtx" --ordering $order --json | count_of $key)" \
                "$(grep "\"variant\": \"$order\"" <<<"$orders" | count_of $key)" "$key of $order"
        done
    done
    same '' "$(grep -E 'gbps|roof|speedup' <<<"$orders")" 'climb sparse_order: bytes a second'
    text=$("$weft" climb sparse_order --n 900 --variant best)
    grep -qE '^rung +n +time +fill +flops +x below +x first' <<<"$text" || fail "no columns: $text"
    same '' "$(grep -E '[kMGT]B/s|%|^roof' <<<"$text")" 'orders: bytes a second, or a roof'
}

# A picture says what it is of and what is seen, in text that stays inside its panel, and scales.
test_picture() {
    local picture=$folder/plan.svg name=$folder/'a <b> & c.mtx' shown report
    "$weft" generate laplace2d 100 -o "$name"
    report=$("$weft" analyze "$name" --plot "$picture" --json)
    same 'viewBox="0 0 1320 598"' "$(grep -o 'viewBox="[^"]*"' "$picture")" 'the picture scales'
    same 2 "$(grep -c "${folder##*/}/a &lt;b&gt; &amp; c.mtx</t" "$picture")" "the file's name"
    expect 0 '10,000 columns, 49,600 entries in both halves' cat "$picture" # 5 n - 4 100
    for shown in 'mostly entries of A' 'mostly fill' '30 % of a cell or more' 'A circle is a supernode'; do
        expect 0 "$shown" cat "$picture"
    done
    shown=$(grep -c '<circle' "$picture")
    same "$(($(count_of supernodes <<<"$report") - shown))" \
        "$(grep -o 'Not drawn: [0-9,]*' "$picture" | tr -dc 0-9)" 'supernodes that are not drawn'
    same '' "$(grep '<text' "$picture" | grep -v 'font-size="16"' | sed 's/<[^>]*>//g' | grep -E '.{65}')" \
        'text that leaves its panel'
    ! command -v xmllint >/dev/null || expect 0 '^$' xmllint --noout "$picture"
    printf '%%%%MatrixMarket matrix coordinate real symmetric\n1 1 1\n1 1 4\n' >"$folder/one.mtx"
    "$weft" analyze "$folder/one.mtx" --plot "$picture" >"$folder/report"
    expect 0 '>1 column, 1 entry in' cat "$picture"
    expect 0 'The tree of 1 supernode<' cat "$picture"
    expect 0 'All of them are drawn' cat "$picture"
    "$weft" generate laplace2d 3 >"$folder/$(printf 'a\033\377.mtx')"
    "$weft" analyze "$folder/$(printf 'a\033\377.mtx')" --plot "$picture" >"$folder/report"
    expect 0 'a\\x1b\\xff.mtx</title>' cat "$picture"
}

npy bytes.npy "'|u1'" '(300,)' "$(for k in {0..255} {0..43}; do printf '\\x%02x' "$k"; done)"
npy ints.npy "'<i4'" '(6,)' \
    '\x03\0\0\0\xff\xff\xff\xff\x04\0\0\0\0\0\0\0\x05\0\0\0\x09\0\0\0' # 3 -1 4 0 5 9
"$weft" generate laplace3d 16 -o "$folder/A.mtx"
"$weft" random normal -n 100 -o "$folder/floats.npy"
test_screens
test_alignment
test_completion
test_letters
test_chart
test_outputs
test_prediction
test_orders
test_picture
finish
