# SPDX-License-Identifier: Apache-2.0
"""Checks a site that was built: no dead link or anchor, every page within three clicks of the first, no
script, small enough, well formed."""
import posixpath
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

MOST_BYTES = 5_000_000
MOST_CLICKS = 3
IMPLIED = {"body", "head", "html", "li", "p", "td", "th", "tr"}  # have no end of their own
VOID = {"area", "br", "col", "hr", "img", "input", "link", "meta", "rect", "line"}


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.anchors, self.open, self.wrong = [], set(), [], []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag == "script" or any(name.startswith("on") for name in values):
            self.wrong.append(f"a script: <{tag}>")
        if "id" in values:
            if values["id"] in self.anchors:
                self.wrong.append(f"two elements are called {values['id']}")
            self.anchors.add(values["id"])
        if tag == "img" and not values.get("alt"):
            self.wrong.append(f"an image without words: {values.get('src')}")
        self.links += [values[name] for name in ("href", "src") if name in values]
        if tag not in VOID | IMPLIED:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> closes nothing that is open")
            self.open = []


def read(folder):
    pages = {}
    for path in sorted(folder.rglob("*.html")):
        reader = Reader()
        reader.feed(path.read_text(encoding="utf-8"))
        if reader.open:
            reader.wrong.append(f"not closed: {reader.open}")
        pages[path.relative_to(folder).as_posix()] = reader
    return pages


def target_of(page, link):
    path, _, anchor = link.partition("#")
    return (posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page), anchor


def problems(folder):
    pages = read(folder)
    for page, reader in pages.items():
        yield from (f"{page}: {wrong}" for wrong in reader.wrong)
        for link in reader.links:
            if re.match(r"https?:", link):
                continue
            target, anchor = target_of(page, link)
            if not (folder / target).is_file():
                yield f"{page}: dead link to {link}"
            elif anchor and target in pages and anchor not in pages[target].anchors:
                yield f"{page}: no such anchor: {link}"
    reached, edge = {"index.html"}, ["index.html"]
    for _ in range(MOST_CLICKS):
        edge = [target for page in edge for target in {target_of(page, link)[0] for link in pages[page].links}
                if target in pages and target not in reached and not reached.add(target)]
    yield from (f"{page} is more than {MOST_CLICKS} clicks away" for page in pages if page not in reached)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    if size > MOST_BYTES:
        yield f"the site has {size:,} bytes, more than {MOST_BYTES:,}"


if __name__ == "__main__":
    found = list(problems(Path(sys.argv[1])))
    print("\n".join(found) or "the site is whole", file=sys.stderr if found else sys.stdout)
    sys.exit(bool(found))
