#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes the section 3 manual pages from the public headers, whose comments are the reference: one
# page a header, and a link for each function and typed macro.
#   scripts/man3.sh OUTPUT-FOLDER VERSION HEADER...
set -eu
folder=$1
version=$2
shift 2
mkdir -p "$folder"

title_of() {
    name=$(basename "$1" .h)
    case $name in weft) echo weft ;; *) echo "weft_$name" ;; esac
}

# export.h is about building weft, not about using it: it has no page.
see=
for header in "$@"; do
    case $header in *export.h | */weft.h) ;; *) see="$see $(title_of "$header")" ;; esac
done
for header in "$@"; do
    case $header in *export.h) continue ;; esac
    awk -v see="$see" -v title="$(title_of "$header")" -v version="$version" -v folder="$folder" \
        -f "$(dirname "$0")/headers.awk" -f "$(dirname "$0")/man3.awk" "$header"
done
