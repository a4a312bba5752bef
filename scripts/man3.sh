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

# shellcheck disable=SC2016 # the dollars are awk's
page='
function escape(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    return text ~ /^[.\x27]/ ? "\\&" text : text
}
function link(name) { if (name != title) print ".so man3/" title ".3" > (folder "/" name ".3") }
function start(summary) {
    sub(/^[a-z]+: /, "", summary)
    sub(/\.( .*)?$/, "", summary)
    printf ".TH %s 3 \"\" \"weft %s\" \"weft manual\"\n", toupper(title), version > out
    printf ".SH NAME\n%s \\- %s\n", title, escape(summary) > out
    print ".SH SYNOPSIS\n.nf\n#include <weft/weft.h>\n.fi\n.SH DESCRIPTION\n.EX" > out
    started = 1
    comment = $0 !~ /\*\/$/
}
/SPDX-License/ { next }
!started {
    if (!/^\/\* /) next
    text = $0; sub(/^\/\* /, "", text); sub(/ *\*\/$/, "", text); start(text)
    print escape(text) > out
    next
}
/^#else/ { typed = 1; next }
macro { macro = /\\$/; next }
/^# *define weft_[a-z_]*_of\(/ && !/weft_type_of/ { macro = /\\$/; next }
/^# *define weft_/ {
    line = $0; sub(/^# *define /, "", line); sub(/\).*/, ")", line)
    print escape(line) > out
    name = line; sub(/\(.*/, "", name); link(name)
    macro = /\\$/
    next
}
/^# *define WEFT_[A-Z]*_H$/ { next }
/^# *define WEFT_/ { print escape($0) > out; next }
/^#/ || /^extern "C" \{/ || /^}$/ { next }
{
    blank_before = blank; blank = /^ *$/
    if (blank && blank_before) next
    if (/^\/\*/) { comment = 1; sub(/^\/\* ?/, "") }
    if (comment) {
        sub(/^ \* ?/, "")
        comment = !sub(/ *\*\/$/, "")
    } else if (/^WEFT_API/) {
        sub(/^WEFT_API /, "")
        name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name); link(name)
    }
    print escape($0) > out
}
END { print ".EE\n.SH SEE ALSO\n" see > out }
'
# export.h is about building weft, not about using it: it has no page.
see='.BR weft (1)'
for header in "$@"; do
    name=$(basename "$header" .h)
    case $name in export | weft) ;; *) see="$see,\\n.BR weft_$name (3)" ;; esac
done
for header in "$@"; do
    name=$(basename "$header" .h)
    case $name in
    export) continue ;;
    weft) title=weft ;;
    *) title=weft_$name ;;
    esac
    awk -v see="$see" -v title="$title" -v version="$version" -v folder="$folder" \
        -v out="$folder/$title.3" "$page" "$header"
done
