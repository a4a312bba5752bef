# SPDX-License-Identifier: Apache-2.0
# A public header as a manual page in roff: comments become filled text, declarations stand before
# the comment on them, and no line that is not filled is longer than a terminal of 80 columns takes.
#   awk -v title=weft_scan -v version=1.0.0 -v folder=man3 -v see=NAMES \
#       -f headers.awk -f man3.awk scan.h

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

function on_name(name) {
    if (name == title) return
    names = names ", " name
    print ".so man3/" title ".3" > (folder "/" name ".3")
}
function on_heading(text) { put(".SS " escape(text)) }
function on_declarations() {
    put_declarations(WIDTH)
    if (comments) {
        put(".RS 4\n.PP")
        put_comment(WIDTH - 4)
        put(".RE")
    }
}
function on_text() {
    put_paragraph()
    put_comment(WIDTH)
}
function on_end(    count, page, k, out) {
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

BEGIN {
    WIDTH = 72     # of 80 columns, where pages are indented by 7 and one stays free
    fixed = "\001" # a space at which no line is broken
}
