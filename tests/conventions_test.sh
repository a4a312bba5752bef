#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The rules of the house that a script can check; every breach is printed, and any fails.
set -euo pipefail
: "${WEFT_BUILD:?run me through ctest}" "${WEFT_SOURCE:?}" "${CC:=cc}" "${CXX:=c++}"
cd "$WEFT_SOURCE"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

breaches=0
# Prints the lines on standard input, if any, as breaches of the rule named.
breach_lines() {
    local line
    while IFS= read -r line; do
        echo "$1: $line" >&2
        breaches=$((breaches + 1))
    done
}

# The sources, wherever they are but in build folders.
sources() {
    scripts/sources.sh | grep -E '\.([ch]|cu|cuh|inc|cpp|hpp|f90|sh|def|map|cmake|awk|py)$|(^|/)(CMakeLists\.txt|Makefile)$|^\.ci/run$'
}
code() { sources | grep -E '\.(c|h|cu|cuh|inc|cpp|hpp)$'; }

check_licence_lines() {
    sources | grep -v '\.def$' | xargs awk '
        BEGIN {
            for (i = 1; i < ARGC; i++) {
                for (has = row = 0; row < 2 && (getline line < ARGV[i]) > 0; row++)
                    has += line ~ /SPDX-License-Identifier: Apache-2\.0/
                close(ARGV[i])
                if (!has)
                    print ARGV[i]
            }
        }' | breach_lines "no SPDX line at the top"
}

# Every file of code says what it is, in a comment on its second line.
check_first_comments() {
    code | xargs awk 'FNR == 2 && !/^\/[*\/]/ { print FILENAME }' |
        breach_lines "no comment after the SPDX line that says what the file is"
}

# grep over the code outside a folder; comments of one line are left out.
outside() { # outside FOLDER-PATTERN PATTERN
    code | grep -vE "$1" | xargs grep -nE "$2" | grep -vE ':[0-9]+: *(/\*|\*|//)' || true
}

check_homes() {
    outside '^(src/cuda|emu)/' '(^|[^a-z_])(__asm__|asm) *(volatile|__volatile__)? *\(' |
        breach_lines "raw PTX or assembly outside src/cuda and emu"
    outside '^(src/cuda/(device_)?launch|bench/)' '<<<' | breach_lines "launch without WEFT_LAUNCH"
    outside '^src/comm/' '# *include *[<"](nccl|mpi)\.h' |
        breach_lines "nccl.h or mpi.h included outside src/comm"
    # blas/errors.c does as BLAS demands
    outside '^(src/cli|tests|bench|emu|examples|python/bench)/|^blas/errors\.c|_(test|cases)\.c$' '(^|[^a-z_])(v?f?printf|puts|putchar|exit|abort|assert) *\(' |
        breach_lines "the library prints, exits or aborts"
    outside '^(src/cpu/team\.c|emu/|tests/|bench/)|_(test|cases)\.c$' \
        '# *pragma omp +(parallel|for|task|sections|single)|<omp\.h>|pthread_create' |
        breach_lines "threads not from src/cpu/team.c"
    code | grep -E '^src/.*\.cuh?$' | xargs grep -nE '(^|[^a-z_])(malloc|free)\(|= new ' |
        breach_lines "a kernel takes memory by itself" || true
    { code | xargs grep -nE '\<(TODO|FIXME|XXX)\>' || true; } | breach_lines "unfinished"
}

# Includes go down only: the base (core, cpu, cuda, comm, io) includes nothing but itself, the runner
# of ladders (climb) itself and the base, a slice itself, other slices and the base; its *_climb.c
# and *_climb.h climb too; cli all of them. Tests may include what they test.
check_floors() {
    code | grep '^src/' | grep -vE '_(test|cases)\.c$' | xargs grep -nE '^ *# *include "[a-z0-9_]+/' | awk -F: '
        function floor_of(folder) {
            if (folder ~ /^(core|cpu|cuda|comm|io)$/) return "base"
            return folder ~ /^(climb|cli|weft)$/ ? folder : "slice"
        }
        {
            split($1, file, "/")
            to = $3
            sub(/^[^"]*"/, "", to)
            sub("/.*", "", to)
            from = floor_of(file[2])
            to = floor_of(to)
            if (to == "weft" || to == "base" || to == from || from == "cli") next
            if (from == "slice" && to == "climb" && $1 ~ /_climb\.[ch]$/) next
            print
        }' | breach_lines "an include from a lower floor to a higher"
}

# weft_share_ptx in cmake/WeftCuda.cmake makes one PTX for 8.0 and 9.0 of a source unless the source
# itself names what only 9.0 has. One that comes by it through other headers alone would fail to
# compile, but only in a build for both.
check_sources_apart() {
    code | grep -E '^src/.*\.(cu|cuh)$' | grep -vE '_ring_[a-z0-9]+\.cu$|_nested_steps\.cu$' |
        xargs awk '
        FNR == 1 { files[++count] = FILENAME }
        /__CUDA_ARCH__|WEFT_CLUSTER|cuda\/(ahead|bulk|prefetch|ring|cluster|tensor_f64)[.]cuh/ { named[FILENAME] = 1 }
        /^#ifdef WI_SHARED_PTX/ { apart[FILENAME] = 1 }
        /^# *include "/ { split($0, part, "\""); includes[FILENAME] = includes[FILENAME] " src/" part[2] }
        END {
            for (changed = 1; changed;) {
                changed = 0
                for (k = 1; k <= count; k++) {
                    many = split(includes[files[k]], header, " ")
                    for (i = 1; i <= many; i++)
                        if (header[i] in apart && !(files[k] in apart)) {
                            apart[files[k]] = changed = 1
                            via[files[k]] = header[i]
                        }
                }
            }
            for (k = 1; k <= count; k++)
                if (files[k] ~ /\.cu$/ && files[k] in apart && !(files[k] in named))
                    print files[k] ", by " via[files[k]]
        }' | breach_lines "a source that does not name what only 9.0 has"
}

# A type of a .cu or .cuh file is that file's own: on emu, and in host code, templates of one name that take
# types of one name are one function, whichever file's it is.
check_types_of_kernels() {
    code | grep -E '^(src|tests)/.*\.cuh?$' | xargs awk '
        FNR == 1 { hidden = 0 }
        /^namespace \{/ { hidden = 1 }
        /^\} +\/\/ namespace/ { hidden = 0 }
        !hidden && /^(struct|class|union|enum) [a-z]/ && !/;$/ {
            name = $0
            sub(/^((enum )?(struct|class|union)|enum) (alignas\(.*\) )?/, "", name)
            if (name ~ /^[A-Za-z0-9_]+</) # it is one of a template elsewhere
                next
            sub(/[^A-Za-z0-9_].*/, "", name)
            if (name in home && home[name] != FILENAME)
                print name ", in " home[name] " and " FILENAME
            home[name] = FILENAME
        }' | breach_lines "one name for types of two .cu or .cuh files"
}

check_sizes() {
    code | xargs wc -l | awk '$2 != "total" && $1 >= 700 {print $2 ", " $1 " lines"}' |
        breach_lines "longer than 700 lines"
}

check_headers_stand_alone() {
    local header
    for header in include/weft/*.h; do
        printf '#include "%s"\nextern int one;\n' "$PWD/$header" >"$work/alone.c"
        "$CC" -std=c17 -Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only -x c \
            "$work/alone.c" 2>&1 || echo "$header, as C"
        "$CXX" -std=c++11 -Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only -x c++ \
            "$work/alone.c" 2>&1 || echo "$header, as C++"
    done | breach_lines "does not compile alone"
    for header in include/weft/weft.hpp include/weft/cxx/*.hpp; do
        printf '#include "%s"\nextern int one;\n' "$PWD/$header" >"$work/alone.cpp"
        "$CXX" -std=c++17 -Wall -Wextra -Wpedantic -Werror -Iinclude -I"$WEFT_BUILD/include" \
            -fsyntax-only "$work/alone.cpp" 2>&1 || echo "$header, as C++17"
    done | breach_lines "does not compile alone"
}

# Does CALL take elements of TYPE and a result of RESULT, without a warning?
takes() { # takes CALL TYPE RESULT
    printf '#include "weft/reduce.h"\n#include "weft/sort.h"\nweft_status f(weft_context *c, const %s *x, %s *y) { return %s(c, 1, x, y); }\n' \
        "$2" "$3" "$1" | "$CC" -std=c17 -Wall -Werror -Iinclude -fsyntax-only -x c - 2>/dev/null
}

check_typed_results() {
    local call type right wrong
    while read -r call type right wrong; do
        takes "$call" "$type" "$right" || echo "$call of $type does not take $right"
        if takes "$call" "$type" "$wrong"; then echo "$call of $type takes $wrong"; fi
    done <<'END' | breach_lines "results of typed calls"
weft_sum_fast int int64_t int
weft_sum_fast weft_bf16 float double
weft_product _Bool uint64_t int64_t
weft_nrm1_fast short uint64_t float
weft_nrm1_fast float float double
weft_nrm2_fast int double float
weft_nrm2_fast weft_f16 float double
weft_nrm2_fast double double float
weft_max int int float
weft_argmin float uint64_t int
weft_sort_ascending double double float
END
}

declared_calls() {
    grep -hoE 'WEFT_API [^;{]*\(' include/weft/*.h | grep -oE 'weft_[a-z0-9_]+\($' | tr -d '(' |
        sort -u
}

# Every public call that takes a context is made without one in the cases of its slice.
check_cases() {
    local call cases
    cases=$(cat src/*/*_cases.c | tr '\n' ' ')
    cat include/weft/*.h | tr '\n' ' ' | grep -oE '\<weft_[a-z0-9_]+\(weft_context \*ctx' |
        sed 's/(.*//' | sort -u | while read -r call; do
        [[ $cases == *[^a-z_]"$call"\(NULL* ]] || echo "$call"
    done | breach_lines "without a case in a src/*/*_cases.c" || true
}

# What the shared library offers is what the headers declare, no less and no more.
check_exports() {
    local library=$WEFT_BUILD/libweft.so exported dynamic
    dynamic=$(objdump -p "$library")
    exported=$(nm -D --defined-only "$library" | awk '$2 != "A" {print $3}')
    echo "$exported" | grep -v '@@WEFT_0$' | breach_lines "exported without the version WEFT_0" ||
        true
    diff <(declared_calls) <(echo "$exported" | sed 's/@.*//' | sort -u) | grep '^[<>]' |
        sed 's/^</declared, not exported:/; s/^>/exported, not declared:/' |
        breach_lines "libweft.so" || true
    [[ $dynamic =~ SONAME\ +libweft\.so\.0 ]] ||
        echo "libweft.so.0" | breach_lines "wrong SONAME, want"
    [[ $dynamic != *stdc++* ]] || echo "libstdc++" | breach_lines "libweft.so needs"
}

# Build folders of any name, beside the sources or among them, are no sources; nor is what git is
# told to ignore.
check_listing() {
    local tree=$work/tree lister=$PWD/scripts/sources.sh listed
    mkdir -p "$tree"/{src/deep,bb/CMakeFiles}
    touch "$tree"/src/{a.c,deep/b.c,deep/CMakeCache.txt} "$tree"/bb/{CMakeCache.txt,CMakeFiles/c.c,d.h}
    listed=$("$lister" "$tree" | xargs)
    [ "$listed" = src/a.c ] || echo "without git: $listed" | breach_lines "not listed as src/a.c"
    git --version >/dev/null 2>&1 || return 0
    git -C "$tree" init -q
    touch "$tree"/{local.c,gone.c}
    echo /local.c >"$tree/.gitignore"
    git -C "$tree" add src/a.c gone.c
    rm "$tree/gone.c"
    listed=$("$lister" "$tree" | xargs)
    [ "$listed" = '.gitignore src/a.c' ] ||
        echo "with git: $listed" | breach_lines "not listed as .gitignore src/a.c"
}

# A planted fault whose lines are gone tests nothing.
check_planted_faults() {
    { scripts/mutants.sh --fit || true; } | breach_lines "a planted fault that does not fit"
}

# The breaches are counted in this shell, so that pipes do not lose the count.
shopt -s lastpipe
check_listing
check_licence_lines
check_first_comments
check_homes
check_floors
check_sources_apart
check_types_of_kernels
check_sizes
check_headers_stand_alone
check_typed_results
check_cases
check_exports
check_planted_faults
if [ "$breaches" -gt 0 ]; then
    echo "conventions_test: $breaches breaches" >&2
    exit 1
fi
echo "conventions_test: kept"
