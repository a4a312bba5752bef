# SPDX-License-Identifier: Apache-2.0
"""Builds the site from the documentation, the headers, the ladders and the figures of this repository.
Python's standard library and awk are all it needs.
    python3 scripts/site/build.py OUTPUT-FOLDER"""
import html
import re
import shutil
import sys
from pathlib import Path

import check
import highlight
import ladders as ladder_pages
import markdown
import numbers_page
import reference
import results
import sources
import spellings
from site_pages import Site, turns

ROOT = Path(__file__).resolve().parents[2]
GROUPS = {  # the order of the guides; those that no group names come last
    "Begin": ["building", "places", "command"],
    "Other languages": ["python", "languages", "recipes"],
    "Operations": ["precision", "matrices", "dense-solver", "sparse-solver", "fft", "images", "layers", "bodies", "blas"],
    "Many GPUs, many processes": ["gpus", "clusters", "scaling", "when-a-gpu-fails"],
    "Speed": ["tuning", "timelines"],
    "Inside": ["how-it-works", "adding-a-rung", "adding-an-operation", "emu"],
}
OWN_PLACE = {"docs/ladders.md", "docs/numbers.md", "docs/coming-from.md", "docs/testing.md"}


def grouped_guides(root):
    """Heading -> documents; each guide is in one group."""
    there = [path.relative_to(root).as_posix() for path in sorted((root / "docs").glob("*.md"))]
    left = [source for source in there if source not in OWN_PLACE]
    groups = {heading: [f"docs/{name}.md" for name in names if f"docs/{name}.md" in left] for heading, names in GROUPS.items()}
    groups["More"] = [source for source in left if not any(source in group for group in groups.values())]
    groups["More"] += ["CONTRIBUTING.md", "CHANGELOG.md"]
    return {heading: group for heading, group in groups.items() if group}


def guides(root):
    return [source for group in grouped_guides(root).values() for source in group]


def lessons(root):
    return [path.relative_to(root).as_posix() for path in sorted((root / "docs/tutorial").glob("[0-9]*.md"))]


def slices(root):
    return [path.relative_to(root).as_posix() for path in sorted((root / "src").glob("*/README.md"))]


def place_documents(site):
    """Which page each document becomes, before any is written: they link to each other."""
    for source in guides(site.root):
        site.homes[source] = f"guides/{Path(source).stem.lower()}.html"
    for source in lessons(site.root):
        site.homes[source] = f"tutorial/{Path(source).stem}.html"
    for source in slices(site.root):
        site.homes[source] = f"notes/{Path(source).parent.name}.html"
    site.homes |= {
        "README.md": "index.html", "docs/tutorial/README.md": "tutorial/index.html", "docs/tutorial": "tutorial/index.html",
        "docs/ladders.md": "ladders/index.html", "docs/numbers.md": "numbers.html", "bench/results": "numbers.html",
        "docs/coming-from.md": "coming-from.html", "docs/testing.md": "testing.html", "docs": "guides/index.html"}


def titled(site, documents):
    return [(site.homes[source], markdown.title_of((site.root / source).read_text())) for source in documents]


def write_guides(site):
    page = "guides/index.html"
    notes = titled(site, slices(site.root))
    side = [(page, "All guides")] + titled(site, guides(site.root))
    for source in guides(site.root):
        site.document(source, site.homes[source], page, side)
    for source in slices(site.root):
        site.document(source, site.homes[source], page, [(page, "All guides")] + notes)

    def linked(entries):
        return "<ul>" + "".join(f'<li><a href="{site.between(page, address)}">{html.escape(words)}</a></li>'
                                for address, words in entries) + "</ul>"
    groups = "".join(f"<h2>{heading}</h2>{linked(titled(site, group))}"
                     for heading, group in grouped_guides(site.root).items())
    site.page(page, "Guides", f'<h1>Guides</h1>{groups}<h2 id="notes">Notes on every operation</h2><p>The README of each folder '
              "of the sources: what each rung changes, why it helps, what was measured, and what was tried in vain.</p>"
              + linked(notes), page, side)


def write_tutorial(site):
    documents = lessons(site.root)
    pages = titled(site, documents)
    first = ("tutorial/index.html", "Tutorial")
    whole = [first] + pages
    site.document("docs/tutorial/README.md", first[0], first[0], whole, behind=turns(site, first[0], whole, 0))
    for k, (source, (page, _)) in enumerate(zip(documents, pages), 1):
        text = (site.root / source).read_text()
        name = re.search(r"\(\.\./\.\./examples/(\w+\.c)\)", text)[1]
        program = (site.root / "examples" / name).read_text()
        program = program.split("*/\n", 1)[1]  # without the licence
        shown = ('<h2 id="the-program">The program</h2>'
                 + highlight.block(program.rstrip(), "c", site.call_link(page)))
        site.document(source, page, first[0], whole, behind=shown + turns(site, page, whole, k))


def write_home(site):
    text = (site.root / "README.md").read_text()
    cards = [("tutorial/index.html", "Learn it in an evening", "ten short lessons, each a program that runs"),
             ("coming-from.html", "Coming from ...", "CUB, Thrust, NumPy, cuBLAS, LAPACK, FFTW, CHOLMOD, MPI"),
             ("reference/index.html", "Reference", "every call, from the headers"),
             ("ladders/index.html", "Ladders", "every rung, what it changes, and its source"),
             ("numbers.html", "Is this number normal?", "what was measured, by device"),
             ("guides/index.html", "Guides", "how it works, and notes on every operation"),
             ("testing.html", "How it was tested", "and how to test it yourself")]
    shown = "".join(f'<li><a href="{page}"><strong>{words}</strong>{more}</a></li>' for page, words, more in cards)
    site.document("README.md", "index.html", text=text, behind=f'<h2 id="go-on">Go on</h2><ul class="cards">{shown}</ul>')


def tabbed(row):
    """Four blanks at the beginning of a line as a tab, which pages show as wide: 0.3 MB less."""
    indent = len(row) - len(row.lstrip(" "))
    return "\t" * (indent // 4) + row[indent // 4 * 4 :]


def write_sources(site):
    """The files that other pages link to, with anchors at the lines that they link to. They are
    hundreds, and have few links themselves: the site must stay small."""
    doors = [("ladders/index.html", "Ladders"), ("reference/index.html", "Reference")]
    for path, lines in sorted(site.shown_sources.items()):
        page = f"source/{path}.html"
        text = (site.root / path).read_text()
        rows = highlight.remarks(text.rstrip("\n")).split("\n")
        for line in lines:
            rows[line - 1] = f'<a id="line-{line}"></a>' + rows[line - 1]
        if "SPDX-License" in rows[0]: # the page's foot says it
            del rows[0]
        shown = "\n".join(tabbed(row) for row in rows)
        site.page(page, path, f'<h1>{html.escape(path)}</h1><pre tabindex="0"><code>{shown}</code></pre>', doors=doors)


def main(output):
    version = re.search(r"project\(weft VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
    if output.exists():
        if not (output / "style.css").is_file() and any(output.iterdir()):
            sys.exit(f"site: {output} holds something else: name an empty folder")
        shutil.rmtree(output)
    site = Site(ROOT, output, version)
    headers = sources.read_headers(ROOT)
    ladders = sources.read_ladders(ROOT)
    figures = results.Results(ROOT, ladders)
    reference.register(site, headers)
    place_documents(site)
    site.copy("scripts/site/style.css", "style.css")
    write_home(site)
    write_tutorial(site)
    site.document("docs/coming-from.md", "coming-from.html", "coming-from.html")
    side = [("reference/index.html", "All calls")] + [(reference.address(h), reference.title(h)) for h in headers]
    reference.write(site, headers, side, spellings.read(ROOT, headers))
    ladder_pages.write(site, figures, ladders)
    numbers_page.write(site, figures, ladders)
    write_guides(site)
    site.document("docs/testing.md", "testing.html", "testing.html")
    write_sources(site)
    found = site.unknown + list(check.problems(output))
    for problem in found:
        print(f"site: {problem}", file=sys.stderr)
    size = sum(path.stat().st_size for path in output.rglob("*") if path.is_file())
    print(f"site: {len(site.files)} files, {size / 1e6:.1f} MB: {output}/index.html")
    sys.exit(bool(found))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        main(Path(sys.argv[1]))
    except ValueError as error:  # what the documentation or the sources have that is not understood
        sys.exit(f"site: {error}")
