# SPDX-License-Identifier: Apache-2.0
"""Blocks of code as HTML: comments, strings and words of C and of the shell in colours, calls of the
library as links to the reference."""
import html
import re

C_WORDS = ("_Generic alignas auto bool break case char class const constexpr continue default do double else "
           "enum extern float for goto if inline int int32_t int64_t long register return short signed "
           "size_t sizeof static static_assert struct switch template typedef typename uint16_t uint32_t "
           "uint64_t uint8_t union unsigned using void volatile while")
C_TOKEN = re.compile(
    r"(?P<remark>/\*.*?\*/|//[^\n]*)|(?P<text>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)+')"
    r"|(?P<before>^[ ]*\#[ ]*\w+[^\n]*)|(?P<word>[A-Za-z_]\w*)", re.DOTALL | re.MULTILINE)
REMARK = re.compile(r"(?P<remark>/\*.*?\*/|(?<!:)//[^\n]*)", re.DOTALL)
SHELL_TOKEN = re.compile(r"(?P<remark>(?:^|(?<=\s))\#[^\n]*)|(?P<text>'[^'\n]*'|\"[^\"\n]*\")", re.MULTILINE)
PYTHON_TOKEN = re.compile(r"(?P<remark>\#[^\n]*)|(?P<text>\"\"\".*?\"\"\"|'[^'\n]*'|\"[^\"\n]*\")|(?P<word>[A-Za-z_]\w*)", re.DOTALL)
PYTHON_WORDS = ("and as assert class def elif else except False for from if import in is lambda None not or pass "
                "raise return True try while with yield")
KEYWORDS = set(C_WORDS.split())
PYTHON_KEYWORDS = set(PYTHON_WORDS.split())


# Short names: a source has hundreds of them, and the site must stay small.
TAGS = {"remark": "i", "keyword": "b", "text": "u", "before": "s"}


def tagged(kind, text):
    return f"<{TAGS[kind]}>{html.escape(text, quote=False)}</{TAGS[kind]}>"


def coloured(text, pattern, call, keywords=KEYWORDS):
    out, at = [], 0
    for match in pattern.finditer(text):
        out.append(html.escape(text[at:match.start()], quote=False))
        kind, word = match.lastgroup, match[0]
        if kind != "word":
            out.append(tagged(kind, word))
        elif word in keywords:
            out.append(tagged("keyword", word))
        else:
            address = call(word)
            shown = html.escape(word)
            out.append(f'<a href="{address}">{shown}</a>' if address else shown)
        at = match.end()
    return "".join(out) + html.escape(text[at:], quote=False)


def remarks(text):
    """A long source, with nothing but its comments in colour."""
    return coloured(text, REMARK, None)


def code(text, language, call):
    if language in ("c", "cpp", "cuda"):
        return coloured(text, C_TOKEN, call)
    if language in ("sh", "bash"):
        return coloured(text, SHELL_TOKEN, call)
    if language == "python":
        return coloured(text, PYTHON_TOKEN, lambda word: None, PYTHON_KEYWORDS)
    return html.escape(text, quote=False)


def block(text, language, call):
    return f'<pre tabindex="0"><code>{code(text, language, call)}</code></pre>'
