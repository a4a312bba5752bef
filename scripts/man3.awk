# SPDX-License-Identifier: Apache-2.0
# A public header as a manual page in roff: comments become filled text, declarations stand before
# the comment on them, and no line that is not filled is longer than a terminal of 80 columns takes.
#   awk -v title=weft_scan -v version=1.0.0 -v folder=man3 -v see=NAMES -f man3.awk scan.h

function escape(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    gsub(/\^/, "\\(ha", text)
    gsub(/~/, "\\(ti", text)
    gsub(/`/, "\\(ga", text)
    gsub(/'/, "\\(aq", text)
    gsub(fixed, " ", text)
    return text ~ /^\./ ? "\\&" text : text
}
function blanks(count) { return sprintf("%" count "s", "") }
function put(line) {
    body = body line "\n"
    headed = line ~ /^\.SS/
}
function put_paragraph() { if (body != "" && !headed) put(".PP") }

# Text that is too long goes on in lines that begin with `rest`: broken at spaces, or where `comma`
# is given behind commas, so that a parameter stays in one piece.
function put_wrapped(text, rest, width, comma,    at) {
    while (length(text) > width) {
        at = width + 1
        while (at > length(rest) + 1 &&
               (substr(text, at, 1) != " " || (comma && substr(text, at - 1, 1) != ","))) at--
        if (at <= length(rest) + 1) break # there is no such place
        line = substr(text, 1, at - 1)
        sub(/ +$/, "", line)
        put(escape(line))
        text = rest substr(text, at + 1)
    }
    put(escape(text))
}

# A line of a table or of code in a comment; what is too long goes on in its last column.
function put_as_is(text, width,    column, scan) {
    column = match(text, /[^ ]/)
    for (scan = column; scan < width / 2; scan++) {
        if (substr(text, scan, 2) ~ /^ [^ ]/ && substr(text, scan - 1, 1) == " ") column = scan + 1
    }
    put_wrapped(text, blanks(column - 1), width)
}

# Lines of a comment: indented ones stay as they are, the others are paragraphs.
function put_comment(width,    k, example, between) {
    for (k = 1; k <= comments; k++) {
        if (comment[k] ~ /^ *$/) {
            between = 1
            continue
        }
        if (example && comment[k] !~ /^  /) {
            put(".EE")
            example = 0
            between = 1
        }
        if (!example && comment[k] ~ /^  /) {
            put_paragraph()
            put(".EX")
            example = 1
        } else if (between) {
            if (example) put("")
            else put_paragraph()
        }
        between = 0
        if (example) put_as_is(comment[k], width)
        else put(escape(comment[k]))
    }
    if (example) put(".EE")
}

# A declaration with the comment behind it, which goes above where there is no room.
function put_declared(code, remark, width,    indent) {
    sub(/ +$/, "", code)
    indent = blanks(match(code, /[^ ]/) - 1)
    if (remark != "") {
        if (code == "") put_wrapped(indent_before "/* " remark fixed "*/", indent_before " * ", width)
        else put_wrapped(indent "/* " remark fixed "*/", indent " * ", width)
    }
    if (code != "") put_wrapped(code, indent "    ", width, code ~ /\(/)
    if (code != "") indent_before = indent
}

# The lines of declarations, of which any may have a comment behind or beneath it.
function put_declarations(width,    k, code, remark, inside, first, whole) {
    put_paragraph()
    put(".EX")
    for (k = 1; k <= declarations; k++) {
        whole = declaration[k]
        if (whole !~ /\/\*/ || (whole ~ /\*\/ *$/ && length(whole) <= width)) {
            put_wrapped(whole, blanks(match(whole, /[^ ]/) + 3), width, whole ~ /\(/)
            if (whole ~ /[^ ]/) indent_before = blanks(match(whole, /[^ ]/) - 1)
            if (whole ~ /\{$/) indent_before = indent_before "    "
            continue
        }
        code = remark = whole
        sub(/\/\*.*/, "", code)
        sub(/.*\/\* */, "", remark)
        while (remark !~ /\*\/ *$/ && k < declarations) {
            whole = declaration[++k]
            sub(/^ *\*? */, "", whole)
            if (whole == "/") whole = "*/"
            remark = remark " " whole
        }
        sub(/ *\*\/ *$/, "", remark)
        put_declared(code, remark, width)
    }
    put(".EE")
}

function name_of(prototype) {
    sub(/\(.*/, "", prototype)
    sub(/.*[ *]/, "", prototype)
    return prototype
}
function declare(line) { declaration[++declarations] = line }
function offer(name) {
    if (name == title || name in offered) return
    offered[name] = 1
    names = names ", " name
    print ".so man3/" title ".3" > (folder "/" name ".3")
}

# A comment and the declarations that follow it without a blank line.
function flush_group() {
    if (!summary && comments) {
        take_summary()
    } else if (comments && !declarations && comment[1] ~ /^-+ .* -+$/) {
        gsub(/^-+ | -+$/, "", comment[1])
        put(".SS " escape(comment[1]))
    } else if (declarations) {
        put_declarations(WIDTH)
        if (comments) {
            put(".RS 4\n.PP")
            put_comment(WIDTH - 4)
            put(".RE")
        }
    } else if (comments) {
        put_paragraph()
        put_comment(WIDTH)
    }
    comments = declarations = 0
}

# The first comment: its first sentence is what the page is about, the rest is its introduction.
function take_summary(    k, text, end) {
    for (k = 1; k <= comments && comment[k] !~ /^ *$/; k++) text = text (k > 1 ? " " : "") comment[k]
    end = match(text, /\.( |$)/)
    summary = end ? substr(text, 1, end - 1) : text
    sub(/^[a-z]+: /, "", summary)
    if (end && length(text) > end) {
        comment[--k] = substr(text, end + 2)
    }
    for (end = 1; k + end - 1 <= comments; end++) comment[end] = comment[k + end - 1]
    comments = end - 1
    if (comments) put_comment(WIDTH)
}

BEGIN {
    WIDTH = 72     # of 80 columns, where pages are indented by 7 and one stays free
    fixed = "\001" # a space at which no line is broken
}
/SPDX-License/ { next }
in_comment {
    line = $0
    in_comment = line !~ /\*\/ *$/
    sub(/^ \*\/ *$/, "", line)
    sub(/^ \* ?/, "", line)
    sub(/ *\*\/ *$/, "", line)
    comment[++comments] = line
    next
}
/^#ifdef __cplusplus/ { foreign = 1; next }
/^# *(else|endif)/ { foreign = 0; next }
foreign { next }
/^ *$/ && !open { flush_group(); next }
/^\/\*/ {
    if (declarations || comments) flush_group()
    line = $0
    in_comment = line !~ /\*\/ *$/
    sub(/^\/\* ?/, "", line)
    sub(/ *\*\/ *$/, "", line)
    comment[++comments] = line
    next
}
macro { # the rest of one
    macro = /\\$/
    line = $0
    sub(/^ */, "", line)
    sub(/ *\\$/, "", line)
    if (wanted == "WEFT") declaration[declarations] = declaration[declarations] " " line
    next
}
/^# *define WEFT_[A-Z]*_H$/ { next }
/^# *define / {
    macro = /\\$/
    line = $0
    sub(/^# *define /, "", line)
    sub(/ *\\$/, "", line)
    wanted = substr(line, 1, 4)
    if (wanted == "WEFT") {
        declare("#define " line)
    } else if (line !~ /^weft_[a-z_]*_of\(/ || line ~ /^weft_type_of/) {
        sub(/\).*/, ")", line)
        declare(line)
        name = line
        sub(/\(.*/, "", name)
        offer(name)
    }
    next
}
/^#/ { flush_group(); next }
/^WEFT_API/ {
    sub(/^WEFT_API /, "")
    declare("")
    open = 1
}
open { # a prototype, up to its semicolon
    line = $0
    sub(/^ +/, "", line)
    declaration[declarations] = declaration[declarations] (declaration[declarations] ? " " : "") line
    open = line !~ /;/
    if (!open) offer(name_of(declaration[declarations]))
    next
}
{ declare($0) }
END {
    flush_group()
    out = folder "/" title ".3"
    printf ".TH %s 3 \"\" \"weft %s\" \"weft manual\"\n.nr HY 0\n.nh\n.ad l\n", toupper(title), version > out
    printf ".SH NAME\n%s%s \\- %s\n", title, names, escape(summary) > out
    print ".SH SYNOPSIS\n.nf\n#include <weft/weft.h>\n.fi\n.SH DESCRIPTION" > out
    printf "%s", body > out
    count = split(see, page)
    printf ".SH SEE ALSO\n.BR weft (1)" > out
    for (k = 1; k <= count; k++) {
        if (page[k] != title) printf ",\n.BR %s (3)", page[k] > out
    }
    print "" > out
}
