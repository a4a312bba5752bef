# SPDX-License-Identifier: Apache-2.0
"""The reference: one page a header, made of its comments and declarations."""
import html
import re
import textwrap

import highlight

LANGUAGES = ("Python", "Fortran")


def address(header):
    return f"reference/{header.name}.html"


def register(site, headers):
    """Where each call, type and constant is explained."""
    for header in headers:
        page = address(header)
        site.homes[f"include/weft/{header.name}.h"] = page
        for kind, declared, _, names in header.parts:
            if kind != "declared":
                continue
            for name in names:
                site.calls[name] = f"{page}#{name}"
            group = anchor_of(declared, names)
            for line in declared:
                code = re.sub(r"/\*.*?\*/", "", line)
                found = re.findall(r"^\}\s*(weft_\w+);|^#define (WEFT_\w+)|^\s+(WEFT_\w+)|^typedef .*?\b(weft_\w+);|\(\*(weft_\w+)\)", code)
                for word in (w for words in found for w in words if w):
                    site.calls.setdefault(word, f"{page}#{group}")
    site.homes["include/weft"] = "reference/index.html"


def anchor_of(declared, names):
    """The anchor of a group of declarations: its first name."""
    if names:
        return names[0]
    found = re.search(r"weft_\w+|WEFT_\w+", "\n".join(reversed(declared)) if declared[-1].startswith("}") else "\n".join(declared))
    return found[0] if found else "more"


def prose(lines, link):
    """The lines of a comment: paragraphs, and what is indented as it is."""
    out, paragraph, example = [], [], []

    def inline(text):
        shown = html.escape(text, quote=False)
        shown = re.sub(r"`([^`]+)`", r"<code>\1</code>", shown)
        shown = re.sub(r"(?<!\w)\*(\w[\w ]*\w)\*(?!\w)", r"<em>\1</em>", shown)

        def named(match):
            target = link(match[0])
            return f'<a href="{target}">{match[0]}</a>' if target else match[0]
        return re.sub(r"\bweft_[a-z0-9_]+|\bWEFT_[A-Z0-9_]+", named, shown)

    def flush():
        if paragraph:
            out.append("<p>" + inline("\n".join(paragraph)) + "</p>")
            paragraph.clear()
        if example:
            while not example[-1].strip():
                example.pop()
            text = textwrap.dedent("\n".join(example))
            out.append(highlight.block(text, "c" if re.search(r"[;{]", text) else "", link))
            example.clear()

    for line in lines:
        if line.startswith("  ") and line.strip():
            if paragraph:
                flush()
            example.append(line)
        elif not line.strip():
            if example:
                example.append("")
            else:
                flush()
        else:
            if example:
                flush()
            paragraph.append(line)
    flush()
    return "\n".join(out)


def wrapped(line, width=92):
    """A prototype in one piece, as a reader finds it: broken behind commas."""
    if len(line) <= width or line.startswith(" "):
        return line
    indent = " " * (line.index("(") + 1) if "(" in line and line.index("(") < 50 else "    "
    out, rest = [], line
    while len(rest) > width:
        at = rest.rfind(", ", 0, width)
        if at <= len(indent):
            break
        out.append(rest[:at + 1])
        rest = indent + rest[at + 2:]
    return "\n".join(out + [rest])


def call_body(declared, comment, names, link, spellings):
    anchors = "".join(f'<a id="{name}"></a>' for name in names[1:])
    head = names[0] if names else anchor_of(declared, names)
    if declared and not any(declared[:1]):
        declared = declared[1:]
    code = highlight.block("\n".join(wrapped(line) for line in declared), "c", link)
    spelled = [(language, "\n".join(spellings[name][language] for name in names if language in spellings.get(name, {})))
               for language in LANGUAGES]
    blocks = "".join(f"<div><h4>{language}</h4>{highlight.block(text, '', link)}</div>" for language, text in spelled if text)
    if blocks:
        code = f'{code}<div class="languages">{blocks}</div>'
    title = ", ".join(f"<code>{name}</code>" for name in names) if names else f"<code>{head}</code>"
    return (f'<section class="call" id="{head}">{anchors}<h3>{title}</h3>{code}{prose(comment, link)}</section>')


def write(site, headers, side, spellings):
    """spellings: name of a call -> language -> how it is spelled there."""
    for header in headers:
        page = address(header)
        link = site.call_link(page)
        body = [f"<h1>{html.escape(title(header))}</h1>", f"<p>{html.escape(sentence(header))}</p>",
                highlight.block(f"#include <weft/weft.h>    /* or <weft/{header.name}.h> alone */", "c", link)]
        if len(header.names) > 3:
            body.append('<ul class="contents">' + "".join(
                f'<li><a href="#{name}"><code>{name}</code></a></li>' for name in header.names) + "</ul>")
        taken = set()
        for kind, declared, comment, names in header.parts:
            if kind == "heading":
                body.append(f"<h2>{html.escape(declared[0])}</h2>")
            elif kind == "text":
                body.append(prose(comment, link))
            else:
                section = call_body(declared, comment, names, link, spellings)
                anchor = anchor_of(declared, names)
                body.append(section.replace(f' id="{anchor}"', "", 1) if anchor in taken else section)
                taken.add(anchor)
        site.page(page, title(header), "\n".join(body), "reference/index.html", side)
    write_index(site, headers, side)


def title(header):
    return f"weft/{header.name}.h"


def sentence(header):
    text = header.summary
    return text[0].upper() + text[1:] + "."


def write_index(site, headers, side):
    page = "reference/index.html"
    rows = "".join(
        f'<tr><td><a href="{header.name}.html">weft/{header.name}.h</a></td><td>{html.escape(sentence(header))}</td></tr>'
        for header in headers)
    names = sorted((name, header) for header in headers for name in header.names)
    calls = "".join(f'<li><a href="{header.name}.html#{name}"><code>{name}</code></a></li>' for name, header in names)
    site.page(page, "Reference", f"""<h1>Reference</h1>
<p>Made from the headers, whose comments are the contract; <code>man 3 weft_scan</code> shows the same text. Every call returns a
<a href="{site.between(page, site.calls["weft_status"])}"><code>weft_status</code></a>, and
<a href="{site.between(page, site.calls["weft_message"])}"><code>weft_message</code></a> says in one line what was wrong.</p>
<div class="wide"><table><thead><tr><th>header</th><th>what it is about</th></tr></thead><tbody>{rows}</tbody></table></div>
<h2 id="calls">All {len(names)} calls</h2>
<ul class="contents">{calls}</ul>""", "reference/index.html", side)
