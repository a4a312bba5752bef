# SPDX-License-Identifier: Apache-2.0
# A public header as lines that the generator of the site reads: a letter, a blank and a text.
#     N name   a function or a typed macro, before its declaration
#     D line   of declarations, or of a prototype in one piece
#     C line   of the comment on the declarations before it
#     H text   a heading
#     T line   text that belongs to no declaration
#     E        the end of a group of declarations or of text
#     S text   the first sentence of the header
#   awk -f headers.awk -f reference.awk scan.h

function put_comments(letter,    k) {
    for (k = 1; k <= comments; k++) print letter " " comment[k]
    print "E"
}
function on_name(name) { print "N " name }
function on_heading(text) { print "H " text }
function on_declarations(    k) {
    for (k = 1; k <= declarations; k++) print "D " declaration[k]
    put_comments("C")
}
function on_text() { put_comments("T") }
function on_end() { print "S " summary }
