#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Plants the faults of tests/mutants/*.txt one at a time in a copy of the tree, builds the test
# program that is to see it, and runs that until it fails. Says which faults were killed and which
# survived; fails if one survived or fits the code no more. With names, only those faults.
#   scripts/mutants.sh [NAME...]
#   scripts/mutants.sh --fit        only says which faults fit the code no more
#
# A list has paragraphs of lines that begin with a word:
#   fault NAME      what follows is this fault
#   file PATH       where it is planted
#   - LINE          the lines to be replaced, each as it stands but for its indentation, together
#   + LINE          once in the file; and what to put there
#   test PROGRAM    what is to see it, a program or a script; all is set as in make test
#   seeds SEED...   of a program of emu: which to try, in this order, if not all
# Lines that begin with # are comments.
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
work=$source/build-mutants
tree=$work/tree
build=$work/build

# Copies what git knows or could add, touches nothing that is the same, and removes what is gone.
copy_tree() {
    local file
    mkdir -p "$tree"
    (cd "$source" && git ls-files -z --cached --others --exclude-standard) |
        while IFS= read -r -d '' file; do
            if [ -f "$source/$file" ] && ! cmp -s "$source/$file" "$tree/$file"; then
                mkdir -p "$(dirname "$tree/$file")"
                cp "$source/$file" "$tree/$file"
            fi
        done
    find "$tree" -type f -printf '%P\0' |
        while IFS= read -r -d '' file; do
            [ -f "$source/$file" ] || rm "$tree/$file"
        done
}

configure() {
    local launcher=()
    if command -v ccache >/dev/null; then
        launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
    fi
    cmake -S "$tree" -B "$build" -G "Unix Makefiles" -DWEFT_CUDA=OFF -DWEFT_TESTS=ON \
        -DWEFT_EMU=ON -DWEFT_WERROR=OFF "${launcher[@]}" >"$work/log" ||
        fail "the copy in $tree does not configure: see $work/log"
}

fail() {
    echo "mutants: $*" >&2
    exit 1
}

# A test that is a script runs the command.
compile() { # compile PROGRAM
    local target=$1
    [ ! -f "$tree/tests/$1.sh" ] || target=weft_command
    cmake --build "$build" -j "$(nproc)" --target "$target" >"$work/log" 2>&1
}

# The file with the fault planted; fails if the old lines are not there, or more than once.
plant() { # plant FILE OLD NEW
    awk -v old="$2" -v new="$3" '
        function bare(line) { sub(/^[ \t]+/, "", line); return line }
        BEGIN { wanted = split(old, part, "\n") }
        { line[NR] = $0 }
        END {
            for (i = 1; i + wanted - 1 <= NR; i++) {
                for (k = 1; k <= wanted && bare(line[i + k - 1]) == bare(part[k]); k++)
                    ;
                if (k > wanted) { found++; at = i }
            }
            if (found != 1)
                exit 1
            for (i = 1; i <= NR; i++) {
                if (i == at && new != "")
                    print new
                if (i < at || i >= at + wanted)
                    print line[i]
            }
        }' "$1"
}

# Runs a program as make test does, those of emu with one seed after the other, until it fails.
survives() { # survives PROGRAM SEEDS
    local name names=("$1")
    case $1 in
    emu_bugs_test | emu_*context_test) ;;
    emu_*)
        names=()
        for name in ${2:-2 3 0 1 6 7 4 5}; do names+=("$1_$name"); done
        ;;
    esac
    for name in "${names[@]}"; do
        ran=$name
        ctest --test-dir "$build" --no-tests=error -R "^$name\$" >"$work/run" 2>&1 || return 1
    done
}

# Whether it passes without any fault, lest everything be killed by a test that fails anyway.
declare -A passes
passes_without() { # passes_without PROGRAM SEEDS
    if [ -z "${passes[$1]:-}" ]; then
        passes[$1]=no
        if compile "$1" && survives "$1" "${2%% *}"; then
            passes[$1]=yes
        fi
    fi
    [ "${passes[$1]}" = yes ]
}

misfit() {
    echo "ERROR     $name: the lines it replaces are not in $file, or more than once"
    errors=$((errors + 1))
}

# The fault read last, if there is one and it is asked for.
run_fault() {
    if [ -z "$name" ] || [[ -n "$asked" && " $asked " != *" $name "* ]]; then
        return
    fi
    local begun=$SECONDS
    count=$((count + 1))
    if [ "$fit_only" = yes ]; then
        plant "$source/$file" "${old%$'\n'}" "${new%$'\n'}" >/dev/null || misfit
        return
    fi
    if ! passes_without "$test" "${seeds:-2}"; then
        echo "ERROR     $name: $test does not build, or fails, without any fault"
        errors=$((errors + 1))
        return
    fi
    if ! plant "$source/$file" "${old%$'\n'}" "${new%$'\n'}" >"$work/planted"; then
        misfit
        return
    fi
    cp "$work/planted" "$tree/$file"
    if ! compile "$test"; then
        echo "ERROR     $name: $test does not build with it; see $work/log"
        cp "$work/log" "$work/log-$name"
        errors=$((errors + 1))
    elif survives "$test" "$seeds"; then
        echo "SURVIVED  $name: $test saw nothing"
        survived=$((survived + 1))
    else
        echo "killed    $name ($ran, $((SECONDS - begun)) s)"
    fi
    cp "$source/$file" "$tree/$file"
}

read_faults() {
    local word rest
    name=''
    while IFS= read -r line || [ -n "$line" ]; do
        word=${line%% *}
        rest=${line#"$word"}
        rest=${rest# }
        case $word in
        fault)
            run_fault
            name=$rest file='' old='' new='' test='' seeds=''
            ;;
        file) file=$rest ;;
        -) old+=$rest$'\n' ;;
        +) new+=$rest$'\n' ;;
        test) test=$rest ;;
        seeds) seeds=$rest ;;
        '' | '#'*) ;;
        *) fail "what does this line mean: $line" ;;
        esac
    done
    run_fault
}

fit_only=no asked=$*
count=0 survived=0 errors=0 ran=''
if [ "$asked" = --fit ]; then
    fit_only=yes asked=''
else
    copy_tree
    configure
fi
for list in "$source"/tests/mutants/*.txt; do
    read_faults <"$list"
done
if [ "$fit_only" = no ]; then
    echo "mutants: $((count - survived - errors)) of $count killed," \
        "$survived survived, $errors could not be tried"
fi
[ "$count" -gt 0 ] && [ $((survived + errors)) -eq 0 ]
