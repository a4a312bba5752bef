# SPDX-License-Identifier: Apache-2.0
"""Markdown, as far as the documentation uses it, to HTML: headings, paragraphs, lists, tables, blocks
of code, images, links, emphasis, code. Comments of HTML are left out."""
import html
import re

import highlight

CODE_SPAN = re.compile(r"(`+)(.+?)\1", re.DOTALL)  # one may go on in the next line
IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
ADDRESS = re.compile(r"&lt;(https?://[^&\s]+)&gt;")
ITEM = re.compile(r"^( *)([-*]|\d+\.) +(.*)$")
FENCE = re.compile(r"^( *)```\s*(\S*)[^`]*$")
TABLE_RULE = re.compile(r"^\|?( *:?-+:? *\|)+ *:?-*:? *\|?$")


def slug(text, taken):
    """The anchor of a heading, as the usual hosts make it."""
    name = re.sub(r"[^\w\- ]", "", re.sub(r"`|\*", "", text).lower()).replace(" ", "-")
    known, number = name, 1
    while known in taken:
        known, number = f"{name}-{number}", number + 1
    taken.add(known)
    return known


def title_of(text):
    """The first heading of a page."""
    for line in text.split("\n"):
        if line.startswith("# "):
            return line[2:].replace("`", "")
    raise ValueError("a page without a heading")


class Page:
    """Converts one page. `link(target)` gives the address of what is linked, `call(name)` that of a
    name of the library in code, or None."""

    def __init__(self, link, call):
        self.link, self.call = link, call
        self.headings = []  # (level, anchor, text)
        self.anchors = set()

    def code(self, text):
        shown = html.escape(text, quote=False)
        address = self.call(text)
        return f'<code><a href="{address}">{shown}</a></code>' if address else f"<code>{shown}</code>"

    def inline(self, text):
        """Text within a paragraph. What is finished is kept apart, under a number."""
        kept = []

        def keep(finished):
            kept.append(finished)
            return f"\0{len(kept) - 1}\0"

        text = re.sub(r"\\([\\`*_{}\[\]()#+.!|-])", lambda m: keep(html.escape(m[1])), text)
        text = CODE_SPAN.sub(lambda m: keep(self.code(" ".join(m[2].split("\n")).strip())), text)
        text = html.escape(text, quote=False)
        text = IMAGE.sub(
            lambda m: keep(f'<img src="{self.link(m[2])}" alt="{html.escape(m[1])}" loading="lazy">'), text)
        text = ADDRESS.sub(lambda m: keep(f'<a href="{m[1]}">{m[1]}</a>'), text)
        text = LINK.sub(lambda m: keep(f'<a href="{self.link(m[2])}">') + m[1] + keep("</a>"), text)
        text = re.sub(r"\*\*(\S(?:[^*]*\S)?)\*\*", r"<strong>\1</strong>", text)
        text = re.sub(r"(?<![\w*])\*(\S(?:[^*]*\S)?)\*(?![\w*])", r"<em>\1</em>", text)
        while "\0" in text:
            text = re.sub("\0(\\d+)\0", lambda m: kept[int(m[1])], text)
        # A link around code that is itself a link: the outer one stays.
        return re.sub(r'(<a href="[^"]*">[^<]*<code>)<a href="[^"]*">([^<]*)</a>(</code>)', r"\1\2\3", text)

    def heading(self, level, text):
        anchor = slug(text, self.anchors)
        shown = self.inline(text)
        self.headings.append((level, anchor, re.sub(r"<[^>]*>", "", shown)))
        return f'<h{level} id="{anchor}">{shown}</h{level}>'

    def table(self, lines):
        def cells(line):
            parts = re.split(r"(?<!\\)\|", CODE_SPAN.sub(lambda m: m[0].replace("|", "\1"), line.strip()))
            parts = [part.replace("\1", "|") for part in parts]
            return [part.strip() for part in parts[1:-1 if not parts[-1].strip() else None]]

        head, rows = cells(lines[0]), [cells(line) for line in lines[2:]]
        out = ['<div class="wide"><table>']
        if any(head):
            out.append("<thead><tr>" + "".join(f"<th>{self.inline(c)}</th>" for c in head) + "</tr></thead>")
        out.append("<tbody>")
        for row in rows:
            row += [""] * (len(head) - len(row))
            out.append("<tr>" + "".join(f"<td>{self.inline(c)}</td>" for c in row) + "</tr>")
        return "\n".join(out + ["</tbody></table></div>"])

    def items(self, lines):
        """A list: each item's lines, without their indent, are blocks of their own."""
        first = ITEM.match(lines[0])
        indent, tag = len(first[1]), "ul" if first[2] in "-*" else "ol"
        items = []
        for line in lines:
            match = ITEM.match(line)
            if match and len(match[1]) == indent:
                width = len(line) - len(match[3])
                items.append([match[3]])
            else:
                items[-1].append(line[min(width, len(line) - len(line.lstrip())):])
        out = [f"<{tag}>"]
        for item in items:
            body = self.blocks(item)
            if body.count("<p>") == 1:
                body = body.replace("<p>", "").replace("</p>", "")
            out.append(f"<li>{body}</li>")
        return "\n".join(out + [f"</{tag}>"])

    def blocks(self, lines):
        out, k = [], 0
        while k < len(lines):
            line = lines[k]
            taken, block = self.block(lines, k)
            if block:
                out.append(block)
            k += taken
            if taken == 0:
                raise ValueError(f"not understood: {line}")
        return "\n".join(out)

    def block(self, lines, k):
        """How many lines the block at k takes, and what it becomes."""
        line, end = lines[k], k + 1
        if not line.strip():
            return 1, ""
        if line.lstrip().startswith("<!--"):
            while "-->" not in lines[end - 1]:
                end += 1
            return end - k, ""
        fence = FENCE.match(line)
        if fence:
            while end < len(lines) and not FENCE.match(lines[end]):
                end += 1
            if end == len(lines):
                raise ValueError(f"a block of code that does not end: {line}")
            cut = len(fence[1])
            return end + 1 - k, highlight.block("\n".join(l[cut:] for l in lines[k + 1:end]), fence[2], self.call)
        if line.startswith("    "):
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            return end - k, highlight.block("\n".join(l[4:] for l in lines[k:end]).rstrip(), "", self.call)
        if re.match(r"#{1,4} ", line):
            level = len(line) - len(line.lstrip("#"))
            return 1, self.heading(level, line[level + 1:].strip())
        if line.lstrip().startswith("|") and end < len(lines) and TABLE_RULE.match(lines[end].strip()):
            while end < len(lines) and lines[end].lstrip().startswith("|"):
                end += 1
            return end - k, self.table(lines[k:end])
        if ITEM.match(line):
            while end < len(lines) and self.goes_on(lines, end):
                end += 1
            return end - k, self.items(lines[k:end])
        while end < len(lines) and not self.interrupts(lines[end]):
            end += 1
        return end - k, "<p>" + self.inline("\n".join(l.strip() for l in lines[k:end])) + "</p>"

    @staticmethod
    def goes_on(lines, k):
        """Is line k still of the list before it?"""
        if lines[k].strip():
            return lines[k].startswith(" ") or bool(ITEM.match(lines[k])) or bool(lines[k - 1].strip())
        return k + 1 < len(lines) and (lines[k + 1].startswith("  ") or bool(ITEM.match(lines[k + 1])))

    @staticmethod
    def interrupts(line):
        """Does the line end a paragraph? Numbers do not, but for 1: text may begin with one."""
        start = line.lstrip()
        return (not start or start.startswith(("```", "# ", "## ", "### ", "<!--", "|", "- ", "1. ")))

    def convert(self, text):
        return self.blocks(text.rstrip("\n").split("\n"))
