#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The manual pages: each public call has one that shows it, none of the headers' words are lost, and
# they fit a terminal of 80 columns. Where man, groff or mandoc are there, they have to be content.
#   WEFT=build/weft WEFT_SOURCE=. tests/man_test.sh
set -u
: "${WEFT:?run me through ctest}" "${WEFT_SOURCE:?}"
cd "$WEFT_SOURCE" || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C.UTF-8 MANWIDTH=80
failures=0

# Every line read is a failure of what the arguments name.
none() {
    local line
    while IFS= read -r line; do
        printf 'FAIL %s: %s\n' "$*" "$line" >&2
        failures=$((failures + 1))
    done
}

# What headers offer: functions, and the typed macros but those that serve other macros.
offered() {
    grep -hoE 'WEFT_API [^;{]*\(' include/weft/*.h | grep -oE 'weft_[a-z0-9_]+\($'
    grep -hoE '^# *define weft_[a-z0-9_]+\(' include/weft/*.h | grep -o 'weft_.*' |
        grep -vE 'weft_(wide|norm)_of'
}

# A page as one reads it: without roff's requests and escapes.
plain() {
    sed -E '/^\.(SH|RS|RE|PP|EX|EE|nf|fi|nh|ad|nr|TH|so|BR)/d; s/^\.(SS|TP|B|I) ?//
        s/\\&//g; s/\\-/-/g; s/\\e/\\/g; s/\\\(ha/^/g; s/\\\(ti/~/g; s/\\\(ga/`/g; s/\\f[IBR]//g' "$1" |
        sed "s/\\\\(aq/'/g"
}

# The pages that are no links to others.
pages() { grep -L '^\.so ' "$work"/man3/weft*.3; }

# What each page is, declares and names: "link PAGE TARGET", "page PAGE", "declares PAGE CALL", "names
# PAGE WORD".
contents() {
    awk '
        function base(path) { sub(/.*\//, "", path); return path }
        function each(kind, pattern, text) {
            for (; match(text, pattern); text = substr(text, RSTART + RLENGTH))
                print kind, page, substr(text, RSTART, RLENGTH)
        }
        FNR == 1 { page = base(FILENAME); example = name = 0; print "page", page }
        /^\.so / { print "link", page, base($2) }
        /^\.EX/ { example = 1 }
        /^\.EE/ { example = 0 }
        example { each("declares", "weft_[a-z0-9_]+[(]", $0) }
        name { each("names", "[A-Za-z0-9_]+", $0) }
        { name = /^\.SH NAME/ }' "$work"/man3/*.3
}

check_calls() {
    contents >"$work/contents"
    offered | sed 's/($//' | awk '
        NR == FNR && $1 == "link" { target[$2] = $3 }
        NR == FNR { has[$0]; next }
        {
            page = $1 ".3"
            page = page in target ? target[page] : page
            if (!("page " page in has))
                print $1 " has none"
            else if (!("declares " page " " $1 "(" in has))
                print $1 " is not declared in " page
            else if (!("names " page " " $1 in has))
                print $1 " is not among the names of " page
        }' "$work/contents" -
}

words() { grep -oE '[A-Za-z_]{3,}' | sort | uniq -c; }

# Each word of a header's comments and declarations is in its page as often, at least.
check_words() {
    local header page
    for header in include/weft/*.h; do
        page=$work/man3/weft_$(basename "$header" .h).3
        [ -f "$page" ] || continue
        awk '/^#/ || rest { rest = /\\$/; next } /SPDX|^extern "C"/ { next } { print }' "$header" |
            sed 's/^WEFT_API //' | words >"$work/wanted"
        { sed -n '/^\.SH NAME/{n;p}' "$page"; basename "$header" .h; plain "$page"; } | words |
            awk -v page="$page" 'NR == FNR { has[$2] = $1; next }
                !(has[$2] >= $1) { sub(/.*\//, "", page); print $2 " in " page }' - "$work/wanted"
    done
}

# Lines that roff does not fill fit, and what is opened is closed.
check_layout() {
    local page
    for page in $(pages); do
        plain <(sed -n '/^\.EX/,/^\.EE/p' "$page") | awk 'length > 72'
        [ "$(grep -c '^\.EX' "$page")" = "$(grep -c '^\.EE' "$page")" ] || echo "examples of $page"
        [ "$(grep -c '^\.RS' "$page")" = "$(grep -c '^\.RE' "$page")" ] || echo "indents of $page"
    done
}

# Letters that stand for more than one option say of which command.
check_letters() {
    local letter
    sed -n '/^\.SH OPTIONS/,/^\.SH EXAMPLES/s/^\.B \\-\(.\), /\1 /p' "$work/weft.1" >"$work/letters"
    [ "$(wc -l <"$work/letters")" -gt 5 ] || echo "fewer than six options with a letter"
    for letter in $(cut -c 1 "$work/letters" | sort | uniq -d); do
        grep "^$letter " "$work/letters" | grep -v '(.*)$'
    done
}

# The formatters that are there complain of nothing, and print no line over 80 columns.
check_formatters() {
    local page
    : >"$work/warnings"
    : >"$work/shown"
    for page in "$work/weft.1" $(pages); do
        if command -v man >/dev/null && man --version 2>/dev/null | grep -q '^man '; then
            man --warnings -l "$page" 2>"$work/warnings" >"$work/shown"
        elif command -v groff >/dev/null; then
            groff -ww -man -Tascii -P-cbou -rLL=80n "$page" 2>"$work/warnings" >"$work/shown"
        fi
        cat "$work/warnings"
        awk -v page="$page" 'length > 80 { print page ": " $0 }' "$work/shown"
        ! command -v mandoc >/dev/null ||
            mandoc -Tlint -Wwarning "$page" 2>&1 | grep -v 'missing date'
    done
}

sh scripts/man3.sh "$work/man3" 0.0.0 include/weft/*.h || exit 1
"$WEFT" help --man >"$work/weft.1" || exit 1
shopt -s lastpipe
check_calls | none 'page of each call'
check_words | none 'word lost'
check_layout | none 'layout'
check_letters | none 'letter of two options'
check_formatters | none 'formatter'
echo "man_test: $(offered | wc -l) calls, $failures failures"
[ "$failures" = 0 ]
