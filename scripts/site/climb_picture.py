# SPDX-License-Identifier: Apache-2.0
"""The picture at the top of the README, docs/climb.svg: the ladder of scan on a GPU, as measured.
    python3 scripts/site/climb_picture.py > docs/climb.svg"""
import json
from pathlib import Path

import charts
from results import metric, power

FILE = "bench/results/2026-11-20-h200-scan.json"


def picture(root):
    lines = (root / FILE).read_text().split("\n")
    header, *climb = [json.loads(line) for line in lines if line.strip()]
    best = max(climb, key=lambda r: r["gbps"])
    rows = [(r["variant"], r["gbps"] * 1e9, (metric(r["gbps"] * 1e9, "B/s"), f"n = {power(r['n'])}"), r is best)
            for r in climb]
    title = f"weft climb scan on an {header['device']}, {header['date']}: bytes read and written a second"
    return charts.bars(title, rows, lambda value: metric(value, "B/s"),
                       (best["roof_gbps"] * 1e9, "the roof: copying memory"), alone=True) + "\n"


if __name__ == "__main__":
    print(picture(Path(__file__).resolve().parents[2]), end="")
