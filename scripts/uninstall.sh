#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Removes the files that a list names, which `make install` left, and folders of weft's own that are
# empty then. DESTDIR is what it was when they were installed.
#   scripts/uninstall.sh build/installed.txt
set -euo pipefail
list=${1:?name the list, as build/installed.txt}
[ -f "$list" ] || {
    echo "uninstall: there is no $list: nothing was installed from here by make install" >&2
    exit 1
}
mapfile -t files <"$list"
removed=0
for file in "${files[@]}"; do
    file=${DESTDIR:-}$file
    if [ -e "$file" ] || [ -L "$file" ]; then
        rm "$file"
        removed=$((removed + 1))
    fi
done
printf '%s\n' "${files[@]%/*}" | grep '/weft' | sort -ru | while read -r folder; do
    [ ! -d "${DESTDIR:-}$folder" ] || rmdir --ignore-fail-on-non-empty "${DESTDIR:-}$folder"
done
echo "uninstall: removed $removed of ${#files[@]} files"
