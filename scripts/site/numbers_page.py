# SPDX-License-Identifier: Apache-2.0
"""The page "Is this number normal?": what was measured, by device."""
import html

import ladders as ladder_pages
from results import DEVICES, duration, gpus, metric, power


def device_anchor(device):
    return next((word for word, name in DEVICES.items() if name == device), device)


def many_gpus(site, page, root):
    rows = []
    for record, path in gpus(root):
        name = f"files/{path.name}"
        site.copy_results(f"bench/results/{path.name}", name)
        seconds = record.get("all_seconds") or record.get("seconds")
        one = record["one_seconds"]
        case = record["op"] + (f", {record['variant']}" if record.get("variant") else "")
        rows.append(f"<tr><td>{html.escape(case)}</td><td>{power(record['n'])}</td>"
                    f'<td>{duration(one)}</td><td>{duration(seconds)}</td>'
                    f'<td>{record["times"]:.2f} x</td>'
                    f'<td><a href="{site.between(page, name)}">{path.stem[:10]}</a></td></tr>')
    return ('<div class="wide"><table class="figures"><thead><tr><th>call</th><th>n</th><th>one GPU</th><th>two GPUs</th><th>times</th>'
            f"<th>day</th></tr></thead><tbody>{''.join(rows)}</tbody></table></div>")


def climbs_of(site, page, results, ladders, device):
    """The best rung of each climb that has no race beside it."""
    rows = []
    for ladder in ladders:
        for climb in results.climbs(ladder):
            if climb[0].device == device:
                best = max(climb, key=lambda f: f.record["gbps"])
                r = best.record
                rows.append(f'<tr><td><a href="{site.between(page, ladder_pages.address(ladder))}">{ladder.name}</a>, {r["example"]}</td>'
                            f"<td>{best.place}</td><td>{r['type']}</td><td>{power(r['n'])}</td><td>{best.variant}</td>"
                            f'<td>{duration(best.seconds)}</td><td>{metric(r["gbps"] * 1e9, "B/s")}</td>'
                            f'<td>{100 * r["roof_share"]:.0f} % of {r["roof"]}</td>'
                            f'<td>{ladder_pages.results_link(site, page, best)}</td></tr>')
    if not rows:
        return ""
    return ('<h3>The best rung of each climb</h3><div class="wide"><table class="figures"><thead><tr><th>climb</th><th>place</th><th>type</th>'
            '<th>n</th><th>rung</th><th>time</th><th>rate</th><th>of the roof</th><th>day</th></tr></thead>'
            f"<tbody>{''.join(rows)}</tbody></table></div>")


def write(site, results, ladders):
    page = "numbers.html"
    devices = list(DEVICES.values()) + sorted({f.device for f in results.figures} - set(DEVICES.values()))
    side = [(page, "How to tell")] + [(f"{page}#{device_anchor(device)}", device.split(" (")[0]) for device in devices]
    parts = []
    for device in devices:
        parts.append(f'<h2 id="{device_anchor(device)}">{device}</h2>')
        if "Two" in device:
            parts.append(many_gpus(site, page, site.root))
            continue
        parts.append(climbs_of(site, page, results, ladders, device))
        for ladder in ladders:
            typical = results.typical(ladder.name, device)
            if typical:
                parts.append(f'<h3><a href="{site.between(page, ladder_pages.address(ladder))}">{ladder.name}</a></h3>')
                parts.append(ladder_pages.figures_table(site, page, typical))
    site.document("docs/numbers.md", page, page, side, behind="\n".join(parts))
