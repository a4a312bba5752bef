#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints what the library's objects hold, by slice, in kB: code for the CPU, and what the kernels take
# as PTX and as machine code of each kind, compressed as they are stored. Then the size of libweft.so;
# fails if that is more than MOST megabytes.
#   scripts/size.sh BUILD-FOLDER [MOST]
set -euo pipefail
if [ $# -lt 1 ] || [ $# -gt 2 ]; then
    echo "usage: $0 BUILD-FOLDER [MOST]" >&2
    exit 2
fi
build=$1 most=${2:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

words() { # words OFFSET: sets w to the eight words of 4 bytes that begin there
    read -r -a w < <(od -An -v -tu4 -w32 -j "$1" -N 32 "$work/kernels") || true
}

# Prints "SLICE KIND BYTES" for each image in an object's section of kernels: a header with the bytes
# that follow, then images, each with a header that tells its kind, architecture and bytes.
kernels_of() { # kernels_of OBJECT SLICE
    local at=0 end bytes image kind w=()
    objcopy -O binary --only-section=.nv_fatbin "$1" "$work/kernels"
    bytes=$(stat -c %s "$work/kernels")
    while [ $((at + 32)) -le "$bytes" ]; do
        words "$at"
        if [ "${w[0]}" != 3126193488 ]; then # 0xba55ed50: between sets there may be a gap
            at=$((at + 8))
            continue
        fi
        image=$((at + (w[1] >> 16)))
        end=$((image + w[2]))
        while [ "$image" -lt "$end" ]; do
            words "$image"
            kind=PTX
            [ $((w[0] & 65535)) = 1 ] || kind=sm_${w[7]}
            echo "$2 $kind $((w[1] + w[2]))"
            image=$((image + w[1] + w[2]))
        done
        at=$(((end + 7) / 8 * 8))
    done
}

objects=$(find "$build/CMakeFiles/" -name '*.o' -path '*/src/*' 2>/dev/null | sort |
    grep -E '/weft_(c|kernels|ring_kernels|nested|simd_[a-z0-9]+)\.dir/') || {
    echo "size: no objects of the library in $build" >&2
    exit 2
}
slice_of='{ slice = $0; sub(/\/[^\/]*$/, "", slice); sub(/.*\//, "", slice) }'
{
    # What `size` counts as text includes the kernels: they are taken off again.
    xargs size <<<"$objects" | awk 'FNR > 1 && $1 != "text" { print $1 + $2, $6 }' |
        awk "$slice_of"' { print slice, "CPU", $1 }'
    for object in $(grep '\.cu\.o$' <<<"$objects"); do
        kernels_of "$object" "$(awk "$slice_of"' { print slice }' <<<"$object")"
    done | awk '{ print; print $1, "CPU", -$3 }'
} | awk '
    { bytes[$1, $2] += $3; slices[$1] += $3; kinds[$2] += $3; all += $3 }
    function row(name, sum) {
        printf "%-12s", name
        for (k = 1; k <= count; k++)
            printf " %8.0f", (name == "all" ? kinds[order[k]] : bytes[name, order[k]]) / 1000
        printf " %8.0f\n", sum / 1000
    }
    END {
        order[count = 1] = "CPU"
        for (kind in kinds)
            if (kind != "CPU")
                order[++count] = kind
        for (i = 2; i < count; i++)
            for (j = i + 1; j <= count; j++)
                if (order[j] < order[i]) {
                    kind = order[i]
                    order[i] = order[j]
                    order[j] = kind
                }
        printf "%-12s", "kB"
        for (k = 1; k <= count; k++)
            printf " %8s", order[k]
        printf " %8s\n", "all"
        while (1) {
            largest = ""
            for (slice in slices)
                if (largest == "" || slices[slice] > slices[largest])
                    largest = slice
            if (largest == "")
                break
            row(largest, slices[largest])
            delete slices[largest]
        }
        row("all", all)
    }'

library=$(readlink -f "$build/libweft.so")
bytes=$(stat -c %s "$library")
awk -v bytes="$bytes" 'BEGIN { printf "libweft.so   %.1f MB\n", bytes / 1e6 }'
if [ -n "$most" ] && awk -v bytes="$bytes" -v most="$most" 'BEGIN { exit !(bytes > most * 1e6) }'; then
    echo "size: libweft.so is larger than $most MB: CONTRIBUTING.md says what takes room" >&2
    exit 1
fi
