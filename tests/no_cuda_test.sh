#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles each C source that asks whether there is CUDA as a build without CUDA does, with warnings
# as errors, and looks whether that build would lack a function: else it would be the first to see
# that something is only used, or only there, with CUDA.
set -euo pipefail
build=${WEFT_BUILD:?} source=${WEFT_SOURCE:?}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$build"

# compile FILE [LIKE]: to an object in $work, by the command that the build has for FILE or LIKE;
# fails if it has none.
compile() {
    local file=$1 like=${2:-$1} command said
    command=$(grep -F -- "-c $like\"" compile_commands.json | grep -v -e -DWEFT_EMU |
        sed -n '1s/^ *"command": "\(.*\)",$/\1/p') && [ -n "$command" ] || return 1
    command=$(sed -E 's/\\(.)/\1/g; s/ -DWEFT_(CUDA|RING)=1//g; s/ -O[0-3s]//; s# -include[^ ]*/same\.h##; s/ -o [^ ]+ -c .*//' \
        <<<"$command")
    said=$(eval "$command -Wall -Wextra -Werror" -o "$work/${file//\//_}.o" -c "$file" 2>&1) || {
        printf 'no_cuda_test: without CUDA %s does not compile:\n%s\n' "$file" "$said" >&2
        exit 1
    }
}

compiled=0
while IFS= read -r file; do
    compile "$file" || continue # not of this build
    compiled=$((compiled + 1))
done < <(grep -rlE 'WEFT_(CUDA|RING)' --include='*.c' "$source/src" "$source/tests")
echo "no_cuda_test: $compiled sources"
[ "$compiled" -gt 40 ]

# The library's objects: those above, what stands in for a GPU, and of this build the others.
for file in core/gpu_none sparse/chol_device_none; do
    compile "$source/src/$file.c" "$source/src/core/context.c"
done
rm -f "$work"/*_test.c.o "$work"/*_tests_*.o "$work"/*_src_cli_*.o "$work"/*_src_climb_*.o

# The objects of this build whose sources have not been compiled here.
others() {
    local object file
    find CMakeFiles/weft_c.dir CMakeFiles/weft_simd_*.dir -name '*.o' |
        grep -vE '/core/(gpu_[a-z]+|stage|stage_whole|stage_segments)\.c\.o$' |
        while IFS= read -r object; do
            file=$source/${object#CMakeFiles/*.dir/} file=${file//\//_}
            [ -e "$work/$file" ] || echo "$object"
        done
}

# What they use, and none of them defines.
lacking() {
    others | xargs nm -A -P "$work"/*.o | awk '
        $2 ~ /^(wi|weft)_/ { if ($3 == "U") used[$2]; else there[$2] }
        END { for (name in used) if (!(name in there)) print name }'
}

# A header may say for itself what there is without CUDA: what uses such a name is compiled, too.
lacking >"$work/lacking"
if [ -s "$work/lacking" ]; then
    others | xargs nm -A -u | grep -wFf "$work/lacking" | cut -d: -f1 | sort -u >"$work/users"
    while IFS= read -r object; do
        file=${object#CMakeFiles/*.dir/}
        compile "$source/${file%.o}"
    done <"$work/users"
    lacking >"$work/lacking"
fi
if [ -s "$work/lacking" ]; then
    printf 'no_cuda_test: without CUDA nothing defines:\n%s\n' "$(cat "$work/lacking")" >&2
    exit 1
fi
