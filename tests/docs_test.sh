#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The code in the documentation. A block of shell lines runs, a block of C is compiled, and a program in
# it runs, unless the comment right above the block says otherwise:
#     <!-- not run: why -->        its commands and options of weft are looked up instead
#     <!-- run by FILE -->         that test has the same lines, and is there
#     <!-- all run by FILE -->     so are all blocks further down
#     <!-- with: DECLARATIONS -->  C that stands inside of a function, with these (or "nothing") before it
#   WEFT=build/weft WEFT_BUILD=build WEFT_SOURCE=. tests/docs_test.sh
: "${WEFT_BUILD:?run me through ctest}" "${WEFT_SOURCE:?}" "${CC:=cc}"
. "$(dirname "$0")/command.sh"
cd "$WEFT_SOURCE" || exit 1
export WEFT_PLACE=cpu:2 LC_ALL=C.UTF-8
blocks=$folder/blocks samples=$folder/samples run=$folder/run
mkdir -p "$blocks" "$samples/bin"
png=${WEFT_PNG:-1}

# weft, on small problems. demo and climb, which first measure the machine and which other tests run for
# every ladder, only read their options.
cat >"$samples/bin/weft" <<END
#!/usr/bin/env bash
case \$1 in
demo | climb) exec "$weft" "\$@" --help ;;
nbody) ;;
*) exec "$weft" "\$@" ;;
esac
arguments=()
while [ \$# -gt 0 ]; do
    case \$1 in
    --n | -n) arguments+=("\$1" 1000) && shift 2 ;;
    --steps | --frames) arguments+=("\$1" 2) && shift 2 ;;
    *) arguments+=("\$1") && shift ;;
    esac
done
exec "$weft" "\${arguments[@]}"
END
chmod +x "$samples/bin/weft"

# matrix FILE ROWS COLUMNS: random numbers of f64.
matrix() {
    "$weft" random normal -n $(($2 * $3)) -o "$samples/raw.npy"
    npy header "'<f8'" "($2, $3)" ''
    { cat "$folder/header" && tail -c $((8 * $2 * $3)) "$samples/raw.npy"; } >"$samples/$1"
}

# What the lines of the documentation read.
make_samples() {
    local name
    for name in x data keys; do "$weft" random normal -t f32 -n 1000 -o "$samples/$name.npy" || return; done
    for name in a b signals image; do matrix $name.npy 32 32; done
    "$weft" gemm "$samples/a.npy" "$samples/a.npy" --transpose-a -o "$samples/A.npy" >/dev/null
    matrix weights.npy 3 3
    printf 'when,latency,port\n1,0.5,7\n2,0.25,8\n3,4,7\n' >"$samples/log.csv"
    printf '2\n0\n' >"$samples/rows.txt"
    { printf 'P5 64 64 255\n' && head -c 4096 "$samples/keys.npy"; } >"$samples/scan.pgm"
    if [ "$png" = 1 ]; then
        for name in photo a b m; do "$weft" convolve "$samples/scan.pgm" -f box:3 -o "$samples/$name.png" >/dev/null; done
    fi
}

# Every command and option of weft in the block exists.
check_options() { # check_options FILE WHERE
    local line command option help
    grep -oE '(^|[ /])weft [a-z]+ .*' "$1" | sed 's/#.*//; s/^[ /]//' | while IFS= read -r line; do
        command=$(cut -d' ' -f2 <<<"$line")
        help=$("$weft" help "$command" 2>/dev/null) || { echo "$2: no command weft $command"; continue; }
        for option in $(grep -oE '(^| )--[a-z0-9-]+' <<<"$line"); do
            grep -q -- "$option\>" <<<"$help" || echo "$2: weft $command takes no $option"
        done
    done
}

run_shell() { # run_shell FILE WHERE
    if [ "$png" != 1 ] && grep -q '\.png' "$1"; then return; fi
    rm -rf "$run" && cp -r "$samples" "$run"
    (cd "$run" && PATH=$run/bin:$PATH timeout 60 bash -eo pipefail "$1" </dev/null >"$folder/said" 2>&1) ||
        { echo "$2: failed: $(tail -3 "$folder/said" | tr '\n' ' ')"; }
}

# The libraries of the build: the shared one, so that nothing else need be named.
compile() { # compile FILE OPTION...
    local source=$1
    shift
    "$CC" -std=c17 -Wall -Wextra -Werror -Wno-unused-variable -Wno-unused-but-set-variable -x c \
        -I"$WEFT_BUILD/include" -Iinclude "$source" "$@" >"$folder/said" 2>&1
}

run_c() { # run_c FILE WHERE DECLARATIONS
    local source=$folder/block.c
    if [ -n "$3" ]; then
        {
            echo '#include <weft/weft.h>'
            echo 'weft_status block(weft_context *ctx); weft_status block(weft_context *ctx) {'
            echo 'weft_status status = WEFT_OK;' "$3"
            cat "$1"
            echo 'return status; }'
        } >"$source"
        compile "$source" -Wno-shadow -fsyntax-only || echo "$2: $(grep -m1 error "$folder/said")"
    elif grep -q 'int main(' "$1"; then
        cp "$1" "$source"
        if ! compile "$source" -o "$folder/block" -L"$WEFT_BUILD" -lweft -Wl,-rpath,"$WEFT_BUILD"; then
            echo "$2: $(grep -m1 error "$folder/said")"
        elif ! "$folder/block" >"$folder/said" 2>&1; then
            echo "$2: it failed: $(cat "$folder/said")"
        fi
    else
        compile "$1" -fsyntax-only || echo "$2: $(grep -m1 error "$folder/said")"
    fi
}

check_block() { # check_block FILE LANGUAGE WHERE REMARK
    case $2:$4 in
    *:"not run: "?*) check_options "$1" "$3" ;;
    *:"run by "?*) [ -f "${4#run by }" ] || echo "$3: there is no ${4#run by }" ;;
    sh:) run_shell "$1" "$3" ;;
    c:) run_c "$1" "$3" '' ;;
    c:"with: nothing") run_c "$1" "$3" ' ' ;;
    c:"with: "?*) run_c "$1" "$3" "${4#with: }" ;;
    text:* | none:* | diff:*) ;;
    *) echo "$3: a block of \"$2\" with the remark \"$4\" is neither run nor said not to be" ;;
    esac
}

make_samples || fail "no samples"
shopt -s lastpipe
next=1
for page in README.md CONTRIBUTING.md docs/*.md docs/tutorial/*.md src/*/README.md; do
    awk -v folder="$blocks" -v first=$next -f tests/docs_blocks.awk "$page" >"$folder/list"
    while IFS=$'\t' read -r number language line remark; do
        checks=$((checks + 1))
        next=$((next + 1))
        check_block "$blocks/$number.$language" "$language" "$page:$line" "$remark" >"$folder/wrong"
        while IFS= read -r wrong; do fail "$wrong"; done <"$folder/wrong"
    done <"$folder/list"
done

# What `weft` alone says to try runs as it stands.
"$weft" | sed -nE 's/^  (weft ([^ ]| [^ ])*).*/\1/p' >"$folder/tries"
same 4 "$(wc -l <"$folder/tries")" 'things to try'
run_shell "$folder/tries" 'the greeting' >"$folder/wrong"
same '' "$(cat "$folder/wrong")" 'what is to try'
finish
