#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Lists the files of a source tree: what git tracks or could add, or in a tree without git all there
# are. Folders that CMake builds in, wherever they are and whatever their names, are left out.
#   scripts/sources.sh [FOLDER]
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

files() {
    # A tree unpacked somewhere inside another repository is no work tree of its own.
    if [ "$(git rev-parse --show-toplevel 2>/dev/null)" -ef . ]; then
        git ls-files --cached --others --exclude-standard | while IFS= read -r file; do
            if [ -f "$file" ]; then printf '%s\n' "$file"; fi
        done
    else
        find . -name .git -prune -o -type f -print | sed 's:^\./::'
    fi
}

# With a build in the tree itself, only what CMake keeps for itself can be told apart.
builds() { find . -name .git -prune -o -name CMakeCache.txt -print | sed 's:^\./::; s:CMakeCache.txt$::'; }

files | awk -v builds="$(builds)" '
    BEGIN { count = split(builds, folder, "\n") }
    /(^|\/)CMakeFiles\// { next }
    {
        for (k = 1; k <= count; k++) {
            if (folder[k] != "" && index($0, folder[k]) == 1) next
        }
        print
    }' | sort
