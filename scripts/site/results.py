# SPDX-License-Identifier: Apache-2.0
"""The figures in bench/results, which several programs wrote, in one form."""
import json
import math
import re

DEVICES = {  # the word in the name of a file -> what it was measured on
    "h100": "NVIDIA H100 (80 GB HBM3)",
    "h200": "NVIDIA H200",
    "h200x2": "Two NVIDIA H200",
    "h200host": "Intel Xeon with AVX-512, 16 cores (the host of the H200)",
    "xeon2": "Intel Xeon with AVX-512, 2 cores of a shared machine",
    "epyc2": "AMD EPYC, 2 cores of a shared machine",
    "zen3": "AMD EPYC (Zen 3) with AVX2, 2 cores of a shared machine",
}
# Files of one rung, or of kernels that have changed since: of use beside others, not as what to expect.
SPECIAL = re.compile(r"-(first|before|tried|steps|panels|folds|fused|accuracy|after-emu)(-later)?$")
NAMED = {  # the first word of an operation in a file -> its ladder, where they differ
    "segments": "sort_segments", "nth,": "quantile", "sums": "group", "lu_factor_batch": "solve_batch",
}
SIZES = ("n", "m", "k", "count", "batch", "side", "image", "channels", "filters", "rows", "right_hand_sides")
CASES = ("call", "input", "transposes", "transposed", "how", "layout", "tolerance")


class Figure:
    """One time that was measured. `case` and `type` say of what, `size` how much of it."""

    def __init__(self, record, device, date, file, ladder):
        self.device, self.date, self.file, self.ladder = device, date, file, ladder
        self.record = record
        self.variant = record.get("variant")
        self.place = record.get("place", "")
        self.type = record.get("type", "")
        self.seconds = record.get("seconds")
        self.peer = record.get("peer") if record.get("peer") not in ("none", "") else None
        self.ratio = record.get("peer_ratio") or record.get("times_peer") or record.get("speedup")
        if not self.ratio and self.peer and record.get("peer_seconds"):
            self.ratio = record["peer_seconds"] / self.seconds
        self.climbed = "speedup_first" in record
        words = [record["op"]]
        words += [f"{key} {record[key]}" if key == "tolerance" else str(record[key])
                  for key in CASES if record.get(key) not in (None, "", "nn", "NN")]
        if self.climbed and record.get("example"):
            words.append(record["example"])
        self.case = ", ".join(words)

    def work(self):
        product = 1.0
        for key in SIZES:
            value = self.record.get(key)
            for number in value if isinstance(value, list) else [value]:
                if isinstance(number, (int, float)) and number > 0:
                    product *= number
        return product

    def same(self):
        """Equal for figures of the same call, whatever the rung."""
        dims = tuple(json.dumps(self.record.get(key)) for key in SIZES + ("layer", "matrix"))
        return self.device, self.place, self.case, self.type, dims

    def size(self):
        r = self.record
        if r.get("matrix"):
            return f"{r['matrix']}, n = {r['n']:,}"
        if "layer" in r:
            return f"{r['channels']} channels of {r['side']} x {r['side']}, {r['filters']} filters of {r['kernel']} x {r['kernel']}"
        if "image" in r:
            return f"{r['image']} x {r['image']}, filter {r['side']} x {r['side']}"
        if isinstance(r.get("n"), list):
            dims = " x ".join(power(number) for number in r["n"][:r.get("rank", 3)])
            return dims + (f", {r['batch']} of them" if r.get("batch", 1) > 1 else "")
        dims = " x ".join(power(r[key]) for key in ("m", "n", "k") if r.get(key))
        if r.get("count"):
            dims += f", {power(r['count'])} of them"
        return dims

    def rate(self):
        """(value, unit) or None."""
        r = self.record
        for key, factor, unit in (("tflops", 1e12, "flop/s"), ("gflops", 1e9, "flop/s"), ("gbps", 1e9, "B/s"),
                                  ("bytes_per_s", 1, "B/s"), ("keys_per_second", 1, "keys/s"),
                                  ("pairs_per_s", 1, "pairs/s"), ("bodies_per_s", 1, "bodies/s"),
                                  ("TF_per_s", 1e12, "flop/s")):
            if r.get(key):
                return r[key] * factor, unit
        return None

    def share(self):
        """The share of the roof, and the name of the roof; (None, "") if there is none."""
        r = self.record
        if r.get("roof_share"):
            return r["roof_share"], r.get("roof", "")
        if r.get("copy_share"):
            return r["copy_share"], "copy"
        if r.get("limit_share"):
            return r["limit_share"], "issue"
        return (r["peak_share"], "peak") if r.get("peak_share") else (None, "")


def power(number):
    exponent = math.log2(number) if number > 0 else 0
    return f"2^{int(exponent)}" if exponent == int(exponent) and exponent >= 14 else f"{number:,}"


def metric(value, unit):
    """"3.94 TB/s" """
    for factor, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:.3g} {letter}{unit}"
    return f"{value:.3g} {unit}"


def duration(seconds):
    for factor, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def ladder_of(op, stem, ladders):
    two = "_".join(op.replace(",", "").split()[:2])  # "exact scan, ordinary"
    if two in ladders:
        return two
    first = op.split()[0]
    word = NAMED.get(first, first.rstrip(","))
    if op.startswith("scan by key"):
        return "group_scan"
    if word in ladders:
        return word
    if "_" in word and word.split("_")[0] in ladders:
        return word.split("_")[0]
    words = stem.replace("-", "_")
    inside = [name for name in ladders if re.search(rf"_{name}(_|$)", words)]
    return max(inside, key=len) if inside else None


def read_sparse(records):
    """Of CHOLMOD's races: weft's total beside the faster of its rival's orderings."""
    for record in records:
        if record.get("op") == "sparse" and record.get("who") == "weft":
            rivals = [r["total_seconds"] for r in records if r.get("who") == "CHOLMOD" and r["matrix"] == record["matrix"]]
            if rivals:
                yield {"op": "sparse", "matrix": record["matrix"].removesuffix(".mtx"), "n": record["n"], "type": "f64",
                       "seconds": record["total_seconds"], "peer": "CHOLMOD", "peer_seconds": min(rivals)}


def read_file(path, ladders):
    match = re.match(r"(\d{4}-\d{2}-\d{2})-([a-z0-9]+)-(.*)", path.stem)
    date, device = match[1], DEVICES.get(match[2], match[2])
    records = [json.loads(line) for line in path.read_text().split("\n") if line.strip()]
    records += list(read_sparse(records))
    for record in records:
        seconds = record.get("seconds")
        if "op" not in record or not seconds or not seconds > 0 or record.get("ok") is False:
            continue
        ladder = ladder_of(record["op"], path.stem, ladders)
        if ladder:
            yield Figure(record, device, date, path.name, ladder)


class Results:
    def __init__(self, root, ladders):
        self.figures, self.usual = [], []
        names = {ladder.name for ladder in ladders}
        paths = sorted((root / "bench/results").glob("*.json"), key=lambda p: (p.stem[:10], "later" in p.stem, p.stem))
        latest = {}
        for path in paths:
            found = list(read_file(path, names))
            self.figures += found
            if SPECIAL.search(path.stem):
                continue
            own = {}
            for figure in found:
                if not figure.climbed:
                    own.setdefault(figure.same(), figure)  # the first: later ones may be of forced rungs
            latest.update(own)
        self.usual = list(latest.values())

    def climbs(self, ladder):
        """The latest climb of a ladder on each device and place: lists of figures in the order of rungs."""
        found = {}
        for figure in self.figures:
            if figure.ladder == ladder.name and figure.climbed:
                found.setdefault((figure.device, figure.place, figure.record["example"]), {})[figure.variant] = figure
        order = [rung.name for rung in ladder.rungs]
        return [sorted(climb.values(), key=lambda f: order.index(f.variant) if f.variant in order else 99)
                for climb in found.values() if len(climb) > 1]

    def typical(self, ladder_name, device=None):
        """Of each case and type the largest, as a user meets it: without a choice of the rung."""
        largest = {}
        for figure in self.usual:
            if figure.ladder == ladder_name and (device is None or figure.device == device):
                key = figure.device, figure.case, figure.type, figure.record.get("matrix")
                if key not in largest or figure.work() > largest[key].work():
                    largest[key] = figure
        return list(largest.values())


def gpus(root):
    """What several GPUs gain: the latest figure of each operation beside one GPU."""
    latest = {}
    for path in sorted((root / "bench/results").glob("*h200x2*.json")):
        for line in path.read_text().split("\n"):
            record = json.loads(line) if line.strip() else {}
            if record.get("one_seconds") and record.get("op") and record.get("place", "").startswith("gpus"):
                latest[record["op"], record["n"], record.get("variant")] = (record, path)
    return list(latest.values())
