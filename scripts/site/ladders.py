# SPDX-License-Identifier: Apache-2.0
"""One page a ladder: its chart, its rungs and where each is written, and the figures beside peers."""
import html

import charts
from results import duration, metric, power

COLUMNS = ("type", "size", "time", "rate", "of the roof", "beside", "day")


def address(ladder):
    return f"ladders/{ladder.name}.html"


def rate_of(figure):
    rate = figure.rate()
    return metric(*rate) if rate else duration(figure.seconds)


def climb_chart(climb):
    """Rates of the rungs of one climb, on a logarithmic axis."""
    best = max(climb, key=lambda f: f.record["gbps"])
    first = climb[0].record
    rows = [(f.variant, f.record["gbps"] * 1e9, (rate_of(f), f"n = {power(f.record['n'])}"), f is best) for f in climb]
    title = f"{first['op']}: {first['example']}, {first['type']}, {climb[0].device}"
    roof = best.record.get("roof_gbps")
    return charts.bars(title, rows, lambda value: metric(value, "B/s"),
                       (roof * 1e9, f"the roof: {best.record['roof']}") if roof else None)


def peer_chart(ladder, figures):
    """At most twelve figures beside their peers: the first of each case."""
    seen, chosen = {}, []
    for figure in sorted(figures, key=lambda f: -f.work()):
        if figure.ratio and figure.device == figures[0].device:
            seen.setdefault((figure.case, figure.type), figure)
    chosen = sorted(list(seen.values())[:12], key=lambda f: -f.ratio)
    if not chosen:
        return ""
    name = chosen[0].peer
    rows = [(f"{shorter(f.case)} {f.type}", f.ratio, f"{times(f.ratio)} {short_peer(f.peer)}") for f in chosen]
    return figure_of(charts.ratios(f"{ladder.name} beside {name}", rows),
                     f"How many times as fast as the peer, on {chosen[0].device}: to the right is faster.")


def times(ratio):
    return f"{ratio:.2f} x" if ratio < 10 else f"{ratio:.0f} x"


def shorter(case):
    return case if len(case) < 36 else case[:34] + " ..."


def short_peer(peer):
    return peer.split()[0].rstrip(",")


def figure_of(svg, caption):
    return f'<figure><div class="wide">{svg}</div><figcaption>{html.escape(caption)}</figcaption></figure>'


def results_link(site, page, figure):
    name = f"files/{figure.file}"
    site.copy_results(f"bench/results/{figure.file}", name)
    return f'<a href="{site.between(page, name)}">{figure.date}</a>'


def figures_table(site, page, figures):
    rows = []
    for f in sorted(figures, key=lambda f: (f.case, f.type)):
        share, roof = f.share()
        beside = f"{times(f.ratio)} {html.escape(f.peer)}" if f.ratio and f.peer else ""
        rows.append(
            f"<tr><td>{html.escape(f.case)}</td><td>{f.type}</td><td>{html.escape(f.size())}</td>"
            f'<td>{duration(f.seconds)}</td><td>{rate_of(f) if f.rate() else ""}</td>'
            f'<td>{f"{100 * share:.0f} % of {roof}" if share else ""}</td><td>{beside}</td>'
            f'<td>{results_link(site, page, f)}</td></tr>')
    head = "".join(f"<th>{words}</th>" for words in ("call",) + COLUMNS)
    return f'<div class="wide"><table class="raced"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def where(rung):
    if rung.over_ranks:
        return "over ranks and GPUs"
    return " and ".join(name for name, runs in (("cpu", rung.on_cpu), ("GPU", rung.on_gpu)) if runs)


def rungs_table(site, page, ladder):
    rows = []
    for rung in ladder.rungs:
        source = site.between(page, site.source_line(str(rung.home), rung.line))
        what = html.escape(rung.what) + (' <span class="dim">(teaches; runs only if asked for)</span>' if rung.taught else "")
        rows.append(f"<tr><td><code>{rung.name}</code></td><td>{where(rung)}</td><td>{what}</td>"
                    f'<td><a href="{source}">{rung.home.name}</a></td></tr>')
    return ('<div class="wide"><table><thead><tr><th>rung</th><th>runs on</th><th>what it changes</th>'
            f"<th>written in</th></tr></thead><tbody>{''.join(rows)}</tbody></table></div>")


def write_one(site, results, ladder, side):
    page = address(ladder)
    body = [f"<h1>The ladder of {ladder.name}</h1>"]
    slice_page = site.homes.get(f"src/{ladder.folder}/README.md")
    if slice_page:
        body.append(f'<p>Every rung explained, with what was tried and measured: <a href="{site.between(page, slice_page)}">'
                    f"the notes on {ladder.folder}</a>.</p>")
    climbs, typical = results.climbs(ladder), results.typical(ladder.name)
    for climb in climbs:
        first = climb[0]
        svg = climb_chart(climb)
        body.append(figure_of(svg, f"{first.device}, place {first.place}, {first.date}: {first.record['example']}, "
                                   f"{first.record['type']}. The axis is logarithmic."))
    chart = peer_chart(ladder, typical)
    body.append(chart)
    if not climbs and not chart:
        body.append("<p>No figures of this ladder are in <code>bench/results</code> yet.</p>")
    if ladder.climbs:
        body.append("<p>On your machine: " f"<code>weft climb {ladder.name}</code>.</p>")
    body.append("<h2 id=\"rungs\">Rungs</h2>")
    sample = [rung for rung in ladder.rungs if not rung.over_ranks][-1].name
    body.append(f'<p>Any of them can be asked for by name: <code>weft_use(ctx, "{ladder.name}", "{sample}")</code>, '
                f"or <code>WEFT_VARIANT={ladder.name}:{sample}</code>.</p>")
    body.append(rungs_table(site, page, ladder))
    if typical:
        body.append('<h2 id="figures">Figures</h2><p>The largest size of each case, as the library chose the rung.</p>')
        for device in dict.fromkeys(f.device for f in typical):
            body.append(f"<h3>{device}</h3>" + figures_table(site, page, [f for f in typical if f.device == device]))
    site.page(page, f"The ladder of {ladder.name}", "\n".join(body), "ladders/index.html", side)


def write(site, results, ladders):
    side = [("ladders/index.html", "All ladders")] + [(address(ladder), ladder.name) for ladder in ladders]
    for ladder in ladders:
        write_one(site, results, ladder, side)
    rows = "".join(
        f'<tr><td><a href="{ladder.name}.html">{ladder.name}</a></td>'
        f"<td>{', '.join(rung.name for rung in ladder.rungs if rung.on_cpu and not rung.over_ranks)}</td>"
        f"<td>{', '.join(rung.name for rung in ladder.rungs if rung.on_gpu and not rung.over_ranks)}</td></tr>"
        for ladder in ladders)
    table = ('<h2 id="all">All of them</h2><div class="wide"><table><thead><tr><th>ladder</th><th>on the cpu</th>'
             f"<th>on a GPU</th></tr></thead><tbody>{rows}</tbody></table></div>")
    page = "ladders/index.html"
    site.document("docs/ladders.md", page, page, side, behind=table)
