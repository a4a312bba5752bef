# SPDX-License-Identifier: Apache-2.0
"""What the sources say of themselves: the public calls, read by scripts/headers.awk, and the ladders,
read from their tables of rungs."""
import re
import subprocess
from pathlib import Path

OP = re.compile(r"^WI_(OP|LADDER)\((\w+)\)$", re.MULTILINE)
LADDER = re.compile(r'const wi_ladder wi_(\w+)_ladder\s*=\s*\{\s*"\w+",\s*(\w+)')
ROW = re.compile(r'\{\s*\.name = "(\w+)"(.*?)\}(?=,|\s*\})', re.DOTALL)
DEFINED = re.compile(r'^(?:extern "C" )?(?:static )?weft_status (\w+)\([^;{]*\)\s*\{', re.MULTILINE)


class Header:
    """A public header: `summary`, `names` of calls, and `parts`, each (kind, lines, lines of the
    comment, names): "heading", "declared" or "text"."""

    def __init__(self, path):
        self.name, self.names, self.parts, self.summary = path.stem, [], [], ""


def read_header(root, path):
    header = Header(path)
    scripts = root / "scripts"
    lines = subprocess.run(
        ["awk", "-f", scripts / "headers.awk", "-f", scripts / "reference.awk", path],
        check=True, capture_output=True, text=True).stdout.split("\n")
    declared, comment, names = [], [], []
    for line in lines:
        kind, text = line[:1], line[2:]
        if kind == "N":
            names.append(text)
        elif kind == "D":
            declared.append(text)
        elif kind in ("C", "T"):
            comment.append(text)
        elif kind == "H":
            header.parts.append(("heading", [text], [], []))
        elif kind == "S":
            header.summary = text
        elif kind == "E":
            header.parts.append(("declared" if declared else "text", declared, comment, names))
            header.names += names
            declared, comment, names = [], [], []
    return header


def read_headers(root):
    paths = sorted((root / "include/weft").glob("*.h"))
    return [read_header(root, path) for path in paths if path.stem != "export"]


class Rung:
    def __init__(self, name, fields, home):
        def field(word, otherwise=""):
            match = re.search(rf"\.{word} =\s*((?:\"[^\"]*\"\s*)+|[^,}}]+)", fields)
            return match[1].strip() if match else otherwise

        self.name = name
        self.what = "".join(re.findall(r'"([^"]*)"', field("what")))
        kinds = field("kinds")
        self.on_cpu, self.on_gpu = "WI_ON_CPU" in kinds, "WI_ON_CUDA" in kinds
        self.over_ranks = "WI_DISTRIBUTED" in field("scope")
        self.taught = ".seconds" not in fields
        self.run = field("run")
        self.home, self.line = home, 1  # where it is defined


class Ladder:
    def __init__(self, name, climbs, folder, rungs):
        self.name, self.climbs, self.folder, self.rungs = name, climbs, folder, rungs


def tables_of(text):
    """The bodies of the tables of rungs in a file, by name."""
    return {match[1]: match[2] for match in re.finditer(
        r"wi_row (\w+)\[\] = \{\n(.*?)\n\};", text, re.DOTALL)}


def definitions(root):
    """Where functions that return a weft_status are defined: name -> (path, line)."""
    places = {}
    for path in sorted((root / "src").glob("*/*")):
        if path.suffix in (".c", ".cu", ".inc", ".cuh"):
            text = path.read_text()
            for match in DEFINED.finditer(text):
                places.setdefault(match[1], []).append(
                    (path.relative_to(root), text.count("\n", 0, match.start()) + 1))
    return places


def read_ladders(root):
    """All ladders, those that one can climb first, in the order of src/core/ops.def."""
    found = {}
    places = definitions(root)
    for path in sorted((root / "src").glob("*/*.c")):
        text = path.read_text()
        tables = tables_of(text)
        for name, table in LADDER.findall(text):
            if table not in tables:
                continue
            home = path.relative_to(root)
            rungs = [Rung(row, fields, home) for row, fields in ROW.findall(tables[table])]
            for rung in rungs:
                for place in places.get(rung.run, []):
                    if place[0].parent == home.parent or len(places[rung.run]) == 1:
                        rung.home, rung.line = place
            found[name] = (path.parent.name, rungs)
    ladders = []
    for kind, name in OP.findall((root / "src/core/ops.def").read_text()):
        folder, rungs = found.get(name, ("", []))
        if not rungs or any(not rung.what for rung in rungs):
            raise ValueError(f"the table of rungs of ladder {name} was not understood")
        ladders.append(Ladder(name, kind == "OP", folder, rungs))
    return ladders


if __name__ == "__main__":
    for ladder in read_ladders(Path(".")):
        for rung in ladder.rungs:
            print(ladder.name, rung.name, rung.what, rung.home, rung.line, rung.run, rung.on_cpu, rung.on_gpu,
                  rung.over_ranks, rung.taught, sep=" | ")
