# SPDX-License-Identifier: Apache-2.0
"""Charts as SVG. In a page their colours are those of its style sheet; a chart that stands alone
carries both kinds of colours itself."""
import html
import math

ROW, TOP, WIDTH, LETTER, ROOM_OF_TICK = 26, 34, 640, 8.8, 44
ALONE = """<style>
.chart text{font:13px system-ui,sans-serif;fill:#24292f}.chart .bar{fill:#2563a8}.chart .best{fill:#c2540a}
.chart .grid{stroke:#d0d7de}.chart .roof{stroke:#57606a;stroke-dasharray:4 3}.chart text.soft{fill:#57606a}
@media(prefers-color-scheme:dark){.chart text{fill:#e6edf3}.chart .bar{fill:#6cb0f5}.chart .best{fill:#f0883e}
.chart .grid{stroke:#30363d}.chart .roof{stroke:#9198a1}.chart text.soft{fill:#9198a1}}
</style>"""


def text(x, y, words, anchor="start", kind=""):
    more = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"{more}>{html.escape(words)}</text>'


def ticks(low, high):
    """Powers of ten from low to high; fewer where there are many."""
    exponents = list(range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1))
    return [10.0 ** e for e in exponents[::1 + len(exponents) // 7]]


def room_for(names):
    """How much the longest name takes, with a margin."""
    return 14 + LETTER * max(len(name) for name in names)


def bars(title, rows, label, roof=None, alone=False):
    """Horizontal bars on a logarithmic axis. rows: (name, value, two columns of words behind all bars, is
    it the best). `label(value)` names a tick; roof: (value, name)."""
    values = [row[1] for row in rows] + ([roof[0]] if roof else [])
    marks = ticks(min(values) / 1.5, max(values))
    low, high = math.log10(marks[0]), max(math.log10(marks[-1]), math.log10(max(values)))
    left, right, height = room_for(row[0] for row in rows), 178, TOP + ROW * len(rows) + 34
    scale = (WIDTH - left - right) / (high - low)

    def x(value):
        return left + (math.log10(value) - low) * scale

    foot = TOP + ROW * len(rows) + 4
    out = [f'<svg class="chart" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
           f"<title>{html.escape(title)}</title>", ALONE if alone else ""]
    for mark in marks:
        out.append(f'<line class="grid" x1="{x(mark):.1f}" x2="{x(mark):.1f}" y1="{TOP - 6}" y2="{foot}"/>')
        out.append(text(x(mark), foot + 18, label(mark), "middle", "soft"))
    if roof:
        out.append(f'<line class="roof" x1="{x(roof[0]):.1f}" x2="{x(roof[0]):.1f}" y1="{TOP - 10}" y2="{foot}"/>')
        out.append(text(x(roof[0]), TOP - 16, roof[1], "middle", "soft"))
    for k, (name, value, behind, best) in enumerate(rows):
        y = TOP + ROW * k
        out.append(text(left - 8, y + 15, name, "end"))
        out.append(f'<rect class="{"best" if best else "bar"}" x="{left}" y="{y + 3}" rx="2" '
                   f'width="{max(1.0, x(value) - left):.1f}" height="{ROW - 9}"/>')
        out.append(text(WIDTH - right + 94, y + 15, behind[0], "end"))
        out.append(text(WIDTH - right + 102, y + 15, behind[1], "start", "soft"))
    return "\n".join(line for line in out + ["</svg>"] if line)


def ratios(title, rows):
    """How many times as fast as a peer: bars from 1 to both sides. rows: (name, ratio, what stands
    behind)."""
    powers = [math.log2(ratio) for _, ratio, _ in rows]
    low, high = min(*powers, -1), max(*powers, 1)
    left, right, height = room_for(row[0] for row in rows), 150, TOP + ROW * len(rows) + 34
    scale = (WIDTH - left - right) / (high - low)
    middle, foot = left - low * scale, TOP + ROW * len(rows) + 4
    out = [f'<svg class="chart" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
           f"<title>{html.escape(title)}</title>"]
    step = 1 + int(ROOM_OF_TICK / scale)
    for exponent in range(-(int(-low) // step) * step, int(high) + 1, step):
        at = middle + exponent * scale
        name = f"{2 ** exponent} x" if exponent >= 0 else f"1/{2 ** -exponent}"
        out.append(f'<line class="{"roof" if exponent == 0 else "grid"}" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP - 6}" y2="{foot}"/>')
        out.append(text(at, foot + 18, name, "middle", "soft"))
    out.append(text(middle, TOP - 14, "the peer", "middle", "soft"))
    for k, (name, ratio, behind) in enumerate(rows):
        y, end = TOP + ROW * k, middle + math.log2(ratio) * scale
        out.append(text(left - 8, y + 15, name, "end"))
        out.append(f'<rect class="{"best" if ratio >= 1 else "bar"}" x="{min(middle, end):.1f}" y="{y + 3}" rx="2" '
                   f'width="{max(1.0, abs(end - middle)):.1f}" height="{ROW - 9}"/>')
        out.append(text(WIDTH - right + 12, y + 15, behind))
    return "\n".join(out + ["</svg>"])
