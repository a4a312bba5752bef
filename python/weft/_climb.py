# SPDX-License-Identifier: Apache-2.0
"""Ladders: what `weft climb` measures, as a table."""

import json
import os
import shutil
import subprocess
import sys

from . import _library

_COLUMNS = ("variant", "n", "seconds", "rate", "roof", "speedup", "what")


def command():
    """The path of the weft command: what WEFT_COMMAND names, that of this package, one in PATH."""
    named = os.environ.get("WEFT_COMMAND")
    if named:
        return named
    inside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "weft")
    if os.path.exists(inside):
        return inside
    beside = os.path.join(os.path.dirname(_library.path), "weft")
    found = beside if os.path.isfile(beside) else shutil.which("weft")
    if not found:
        raise FileNotFoundError("the weft command is not in PATH: name it in WEFT_COMMAND")
    return found


def main():
    """Becomes the weft command: what `pip install` puts into PATH."""
    try:
        path = command()
    except FileNotFoundError as error:
        sys.exit(f"weft: {error}")
    os.execv(path, [path, *sys.argv[1:]])


def _scaled(value, units):
    for factor, unit in units:
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value:.3g}"


class Table:
    """The rungs of a ladder, the slowest idea first; a list of dicts, printed as a table."""

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, k):
        return self.rows[k]

    def __iter__(self):
        return iter(self.rows)

    def _cells(self, row):
        time = _scaled(row["seconds"], [(1, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")])
        rate = ""
        if row.get("gbps"):
            rate = f"{row['gbps']:.3g} GB/s"
        elif row.get("gflops"):
            rate = f"{row['gflops']:.3g} GF/s"
        share = row.get("roof_share")
        return (
            row["variant"],
            str(row["n"]),
            time,
            rate,
            "" if share is None else f"{100 * share:.0f} %",
            f"{row['speedup_first']:.2f}x" if row.get("speedup_first") else "",
            row.get("what") or "",
        )

    def __str__(self):
        lines = [_COLUMNS] + [self._cells(row) for row in self.rows]
        widths = [max(len(line[k]) for line in lines) for k in range(len(_COLUMNS))]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip()
            for line in lines
        )

    __repr__ = __str__

    def _repr_html_(self):
        from html import escape

        head = "".join(f"<th>{name}</th>" for name in _COLUMNS)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in self._cells(row)) + "</tr>"
            for row in self.rows
        )
        return f"<table><tr>{head}</tr>{body}</table>"

    def plot(self, axes=None):
        """A bar for each rung, with matplotlib: the rate, or how many times faster than the first.
        Returns the axes."""
        import matplotlib.pyplot as plt

        if axes is None:
            axes = plt.subplots(layout="constrained")[1]
        for key, label in (("gbps", "GB/s"), ("gflops", "GF/s"), ("speedup_first", "times")):
            if all(row.get(key) for row in self.rows):
                break
        names = [row["variant"] for row in self.rows]
        axes.barh(names, [row.get(key) or 0 for row in self.rows])
        axes.invert_yaxis()
        axes.set_xlabel(label)
        axes.set_title(f"{self.rows[0]['op']}, {self.rows[0]['place']}" if self.rows else "")
        return axes


def climb(op, *, place=None, type=None, n=None, variant=None):
    """Runs the ladder of an operation with the weft command, and gives what it measured. Every
    result is checked before it is timed. n may be text, like "2^24"."""
    arguments = [command(), "climb", op, "--json"]
    for name, value in (("--place", place), ("--type", type), ("--n", n), ("--variant", variant)):
        if value is not None:
            arguments += [name, str(value)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip() or f"weft climb {op} ended with {done.returncode}")
    rows = [json.loads(line) for line in done.stdout.splitlines() if line]
    return Table([row for row in rows if "variant" in row and row.get("seconds")])
