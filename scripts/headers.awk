# SPDX-License-Identifier: Apache-2.0
# Reads a public header: comments, and the declarations that stand before them. What becomes of them
# says a second file, with these functions, in the order of the header:
#     on_name(name)        a function or a typed macro is declared
#     on_heading(text)
#     on_declarations()    declaration[1 .. declarations], and what comment[1 .. comments] says of them
#     on_text()            comment[1 .. comments], of no declaration
#     on_end()             all is read; `summary` is the first sentence
#   awk -f headers.awk -f man3.awk ... scan.h

function name_of(prototype) {
    sub(/\(.*/, "", prototype)
    sub(/.*[ *]/, "", prototype)
    return prototype
}
function declare(line) { declaration[++declarations] = line }
function offer(name) {
    if (name in offered) return
    offered[name] = 1
    on_name(name)
}

# A comment and the declarations that follow it without a blank line.
function flush_group() {
    if (!summary && comments) {
        take_summary()
    } else if (comments && !declarations && comment[1] ~ /^-+ .* -+$/) {
        gsub(/^-+ | -+$/, "", comment[1])
        on_heading(comment[1])
    } else if (declarations) {
        on_declarations()
    } else if (comments) {
        on_text()
    }
    comments = declarations = 0
}

# The first comment: its first sentence is `summary`, what the header is about; the rest is its
# introduction.
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
    if (comments) on_text()
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
    on_end()
}
