# SPDX-License-Identifier: Apache-2.0
"""What all pages share: where they are, the frame around them, and links between them."""
import html
import json
import posixpath
import re

import markdown

DOORS = [  # the top of every page but sources: address, words
    ("tutorial/index.html", "Tutorial"), ("coming-from.html", "Coming from ..."),
    ("reference/index.html", "Reference"), ("ladders/index.html", "Ladders"),
    ("numbers.html", "Is this number normal?"), ("guides/index.html", "Guides"), ("testing.html", "How it was tested"),
]


# Names in the documentation that look like calls: a library, a target and a function of the build, the
# sample operation of docs/adding-an-operation.md, a module and a function of Fortran.
NO_CALLS = {"weft_blas", "weft_command", "weft_share_ptx", "weft_negate", "weft_c", "weft_when"}

# Lines of a file of figures that the site has.
MOST_RECORDS = 100

# Tags that HTML implies where these pages have them.
IMPLIED = r"</(?:td|th|tr|li|p)>|</?(?:head|body)>\n|</html>\n"

# Tags that do not end in />, and values of attributes that need no quotes.
TAG = re.compile(r"<[a-z][^<>]*(?<!/)>")
VALUE = re.compile(r'="([^"\'\s=<>`]+)"')


def bare(text):
    """Without the quotes that HTML lets one leave out, of which a page has hundreds."""
    return TAG.sub(lambda tag: VALUE.sub(r"=\1", tag[0]), text)


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


class Site:
    """Collects pages. `homes` says which file of the repository became which page, `calls` where a
    name of the library is explained."""

    def __init__(self, root, output, version):
        self.root, self.output, self.version = root, output, version
        self.homes, self.calls, self.shown_sources = {}, {}, {}
        self.files = set()
        self.unknown = []

    def write(self, address, text):
        path = self.output / address
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        self.files.add(address)

    def copy_results(self, source, address):
        """A file of figures, as a line of names before the lines that have these values; without what all
        of them say, that the result was right. Many figures link to one file: it is written once. Of long
        ones the beginning: the rest is in the repository."""
        if address in self.files:
            return
        records = [json.loads(line) for line in (self.root / source).read_text().split("\n") if line.strip()]
        lines, before = [], None
        for record in records[:MOST_RECORDS]:
            if record.get("ok") is True:
                del record["ok"]
            names = list(record)
            if names != before:
                lines.append(compact(names))
            lines.append(compact(list(record.values())))
            before = names
        if len(records) > MOST_RECORDS:
            lines.append(compact([f"{len(records) - MOST_RECORDS} more lines: {source} in the repository"]))
        self.write(address, "\n".join(lines) + "\n")

    def copy(self, source, address):
        if address not in self.files:
            path = self.output / address
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes((self.root / source).read_bytes())
            self.files.add(address)

    @staticmethod
    def between(page, address):
        """The link from a page to an address of the site."""
        path, mark, anchor = address.partition("#")
        return posixpath.relpath(path, posixpath.dirname(page) or ".") + mark + anchor

    def call_link(self, page):
        def link(text):
            name = re.match(r"(weft_\w+|WEFT_[A-Z0-9_]+)(\(.*\))?$", text)
            address = self.calls.get(name[1]) if name else None
            return self.between(page, address) if address else None
        return link

    def source_page(self, path):
        """The page of a source file; written at the end, when all anchors are known."""
        self.shown_sources.setdefault(path, set())
        return f"source/{path}.html"

    def source_line(self, path, line):
        address = self.source_page(path)
        self.shown_sources[path].add(line)
        return f"{address}#line-{line}"

    def file_link(self, page, source):
        """Links of a document of the repository, which are relative to it, as links of a page."""
        folder = posixpath.dirname(source)

        def link(target):
            if re.match(r"[a-z]+:", target):
                return target
            path, mark, anchor = target.partition("#")
            if not path:
                return target
            path = posixpath.normpath(posixpath.join(folder, path))
            address = self.homes.get(path) or self.homes.get(path + "/README.md")
            if not address:
                real = self.root / path
                if not real.is_file():
                    raise ValueError(f"{source} links to {path}, which is not there")
                if real.suffix in (".png", ".svg", ".json"):
                    address = f"files/{real.name}"
                    copy = self.copy_results if real.suffix == ".json" else self.copy
                    copy(path, address)
                else:
                    address = self.source_page(path)
            return self.between(page, address) + mark + anchor
        return link

    def document(self, source, page, door=None, side=(), behind="", text=None):
        """A page made of a Markdown file of the repository."""
        text = (self.root / source).read_text() if text is None else text
        maker = markdown.Page(self.file_link(page, source), self.call_link(page))
        self.check_names(source, text)
        body = maker.convert(text)
        second = [(anchor, words) for level, anchor, words in maker.headings if level == 2]
        if len(second) > 3:
            links = "".join(f'<li><a href="#{anchor}">{words}</a></li>' for anchor, words in second)
            body = body.replace("</h1>", f'</h1>\n<ul class="contents">{links}</ul>', 1)
        self.page(page, markdown.title_of(text), body + behind, door, side)

    def check_names(self, source, text):
        """A name of a call in a document that no header declares is out of date."""
        for name in re.findall(r"`(weft_[a-z0-9_]+)(?:\([^`]*\))?`", text):
            if name not in self.calls and not name.endswith("_") and name not in NO_CALLS:
                self.unknown.append(f"{source}: `{name}` is in no public header")

    def page(self, page, title, body, door=None, side=(), doors=None):
        top = "".join(
            f'<a href="{self.between(page, address)}"{" aria-current=true" if address == door else ""}>{words}</a>'
            for address, words in doors or DOORS)
        links = "".join(
            f'<li><a href="{self.between(page, address)}"{" aria-current=page" if address == page else ""}>'
            f"{html.escape(words)}</a></li>" for address, words in side)
        aside = (f'<nav class="side" id="part" aria-label="In this part"><ul>{links}</ul></nav>') if side else ""
        jump = '<p class="jump"><a href="#part">In this part</a></p>' if side else ""
        frame = ' class="frame"' if side else ' class="frame alone"'
        skip = "" if doors else '<a class="skip" href="#main">To the text</a>\n'
        maker = "" if doors else "Made by <code>make site</code> from the repository; no scripts, no trackers."
        text = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}{"" if page == "index.html" else " - weft"}</title>
<link rel="stylesheet" href="{self.between(page, "style.css")}">
</head>
<body>
{skip}<header><a class="name" href="{self.between(page, "index.html")}">weft</a><nav aria-label="Parts">{top}</nav></header>
<div{frame}><main id="main">
{jump}{body}
</main>{aside}</div>
<footer>weft {self.version}, Apache-2.0. {maker}</footer>
</body>
</html>
"""
        self.write(page, bare(re.sub(IMPLIED, "", text)))


def turns(site, page, pages, k):
    """Links to the page before and the one behind."""
    out = []
    for at, arrow in ((k - 1, "&larr; {}"), (k + 1, "{} &rarr;")):
        if 0 <= at < len(pages):
            address, words = pages[at]
            out.append(f'<a href="{site.between(page, address)}">{arrow.format(html.escape(words))}</a>')
        else:
            out.append("<span></span>")
    return f'<nav class="turn" aria-label="Before and behind">{"".join(out)}</nav>'
