#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A model of the calls over ranks and GPUs, which docs/scaling.md explains.

    scripts/scaling.py            predictions, and how far they are from what two GPUs took: two tables
    scripts/scaling.py --net 100 --box 4 --gpus 16,256     other machines

What one GPU takes and what lies between GPUs of one machine is read from bench/results; what lies
between machines is given, for nobody has measured it yet."""
import argparse
import json
import math
import pathlib

RESULTS = pathlib.Path(__file__).resolve().parent.parent / "bench" / "results"
ELEMENTS = 2**30  # of a GPU, in predictions
MEETINGS = 30e-6  # the two agreements of a call, between the GPUs of a machine
MEMORY = 4.17e12  # bytes a second that an H200 reads and writes: weft_add
PANEL = 2.2e-6  # seconds for each column of a panel of lu, with its way to the others
MESSAGE = 1e-6  # seconds in which a network card begins one message: assumed


def lines(name):
    """The objects of a file of figures."""
    found = [json.loads(line) for line in (RESULTS / name).read_text().splitlines()]
    return [line for line in found if "command" not in line]


class Machines:
    """So many GPUs, `box` of which are in one machine."""

    def __init__(self, gpus, box, net, latency):
        links = [x for x in lines("2026-11-23-h200x2-links.json") if x["step"] == "message"]
        links = [x for x in links if x["memory"] == x["to_memory"] == "gpu"]
        self.gpus, self.box, self.net = gpus, box, net
        self.inside = 1e9 * max(x["bus_gbps"] for x in links)
        near = min(x["seconds"] for x in links)
        far = latency * math.log2(gpus / box) if gpus > box else 0
        self.step = near + far  # any small step in which all take part
        self.call = MEETINGS + 2 * far

    def out(self):
        """The share of what is spread over all GPUs that leaves its machine."""
        return max(0, 1 - self.box / self.gpus)

    def exchange(self, own):
        """Each GPU sends parts of its `own` bytes to all others."""
        if self.gpus <= self.box:
            return own * (1 - 1 / self.gpus) / self.inside
        return own * self.out() / self.net + (self.gpus - self.box) * MESSAGE

    def gather(self, whole):
        """`whole` bytes come to every GPU: to each machine by all of its cards, then inside."""
        inside = whole * (1 - 1 / min(self.gpus, self.box)) / self.inside
        return inside + whole * self.out() / (self.net * self.box)


def elementwise(m, one):
    return one / m.gpus + m.call


def reduction(m, one):
    return one / m.gpus + m.call + m.step + m.gather(24 * m.gpus)


def scan(m, one):
    """Where one GPU moves 8 bytes of an element of 4, each of several moves 12."""
    return 1.5 * one / m.gpus + m.call + m.step + m.gather(24 * m.gpus)


def select_gpus(m, one, n):
    """On place gpus what half of the others keep goes to the first half of the GPUs."""
    return one / m.gpus + m.call + 2 * m.step + n / 2 / m.gpus * 4 / m.inside


def select_ranks(m, one):
    return one / m.gpus + m.call + 2 * m.step


def sort(m, one, n):
    """In a machine by ranges: partitioned at half of a copy's rate, sorted while others travel; else
    parts sorted, cut in 4 rounds of 2040 bytes for each rank, exchanged, merged in pairs."""
    own = 4 * n / m.gpus
    if m.gpus <= m.box:
        first = 0.1 * m.exchange(own)
        return max(one / m.gpus + first, m.exchange(own)) + 4 * own / MEMORY + m.call + 8 * m.step
    cut = 4 * (2 * m.step + m.gather(2040 * m.gpus))
    merge = math.ceil(math.log2(m.gpus)) * 2 * own / MEMORY
    return one / m.gpus + cut + m.exchange(own) + merge + m.call + 2 * m.step


def gemm(m, one, n):
    """All of op(A) comes to every GPU, while it multiplies what has come."""
    return max(one / m.gpus, m.gather(8 * n * n)) + m.call + 5 * m.step


def lu(m, one, n):
    """Columns dealt out and back; then, one after the other where they do not overlap, panels on
    one GPU and updates on all, with the panels' way to all behind the updates."""
    panels = PANEL * n
    updates = max((one - panels) / m.gpus, m.gather(4 * n * n))
    return 2 * m.exchange(8 * n * n / m.gpus) + panels + updates + n / 512 * m.step


def nbody(m, one, n):
    return one / m.gpus + m.gather(16 * n) + m.call + m.step


def fft(m, n):
    """Of n complex numbers of 8 bytes in three dimensions; on one GPU each dimension is a pass."""
    work = 6 * 8 * n / MEMORY / m.gpus
    return max(work, 2 * m.exchange(8 * n / m.gpus)) + m.call + 16 * m.step


CALLS = {
    "add": lambda m, one, n: elementwise(m, one),
    "blend_u8": lambda m, one, n: elementwise(m, one),
    "reduce": lambda m, one, n: reduction(m, one),
    "count": lambda m, one, n: reduction(m, one),
    "histogram_u8": lambda m, one, n: reduction(m, one),
    "scan": lambda m, one, n: scan(m, one),
    "select_half": select_gpus,
    "sort": sort,
    "gemm_f64": gemm,
    "nbody_f32": nbody,
    "lu": lu,
}


def measured():
    """What two GPUs took: operation, size, one GPU's seconds, both GPUs' seconds."""
    for x in lines("2026-11-22-h200x2-gpus-later.json"):
        if x["n"] == 2**28 and x["op"] != "sort":  # by an older sort
            yield x["op"], x["n"], x["one_seconds"], x["all_seconds"]
    for x in lines("2026-11-23-h200x2-gpus.json"):
        if x["op"] != "sort":  # by parts
            yield x["op"], x["n"], x["one_seconds"], x["all_seconds"]
    for x in lines("2026-11-29-h200x2-gpus-sort.json"):
        if "growth" in x:  # of ranges, as it is now
            yield x["op"], x["n"], x["one_seconds"], x["all_seconds"]
    for x in lines("2026-11-23-h200x2-lu.json"):
        if x.get("variant") == "ranks":
            yield x["op"], x["n"], x["one_seconds"], x["seconds"]


def short(seconds):
    unit, scale = (("s", 1), ("ms", 1e3))[seconds < 1]
    return f"{seconds * scale:.3g} {unit}"


def check():
    """Yields the rows of the first table: what, predicted, measured."""
    two = Machines(2, 8, 1, 0)
    for op, n, one, both in measured():
        yield op, n, one, CALLS[op](two, one, n), both


def predictions(gpus, box, net, latency):
    """Yields the rows of the second table: what, and (seconds, efficiency) for each number of GPUs.
    Work is such that each GPU has as many elements, pairs or flops as one GPU in the first column."""
    one_of = {(op, n): one for op, n, one, _ in measured()}
    fleet = [Machines(p, box, net, latency) for p in gpus]
    for op in ("add", "reduce", "scan", "histogram_u8", "sort"):
        one = one_of[op, ELEMENTS]
        yield op, [(CALLS[op](m, one * m.gpus, ELEMENTS * m.gpus), one) for m in fleet]
    one = one_of["select_half", ELEMENTS]
    yield "select_half", [(select_ranks(m, one * m.gpus), one) for m in fleet]
    fft_one = 6 * 8 * ELEMENTS / MEMORY
    yield "fft", [(fft(m, ELEMENTS * m.gpus), fft_one) for m in fleet]
    one = one_of["nbody_f32", 2**18]
    yield "nbody_f32", [(nbody(m, one * m.gpus, 2**18 * math.sqrt(m.gpus)), one) for m in fleet]
    for op in ("gemm_f64", "lu"):
        one = one_of[op, 32768]
        yield op, [
            (CALLS[op](m, one * m.gpus**1.5, 32768 * math.sqrt(m.gpus)), one * math.sqrt(m.gpus))
            for m in fleet
        ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gpus", default="8,64,1024,100000", help="numbers of GPUs")
    parser.add_argument("--box", type=int, default=8, help="GPUs in one machine")
    parser.add_argument("--net", type=float, default=45, help="GB/s of a network card, one a GPU")
    parser.add_argument("--latency", type=float, default=5, help="us of a step, each time that the "
                        "number of machines doubles")
    args = parser.parse_args()
    gpus = [int(p) for p in args.gpus.split(",")]
    print("| call, two GPUs | n | one GPU | predicted | measured | measured / predicted |")
    print("| --- | --- | --- | --- | --- | --- |")
    for op, n, one, guess, both in check():
        print(f"| {op} | {n} | {short(one)} | {short(guess)} | {short(both)} | {both / guess:.2f} |")
    print()
    print("| call | " + " | ".join(f"{p} GPUs" for p in gpus) + " |")
    print("| --- |" + " --- |" * len(gpus))
    for op, row in predictions(gpus, args.box, args.net * 1e9, args.latency * 1e-6):
        print(f"| {op} | " + " | ".join(f"{short(s)}, {one / s:.2f}" for s, one in row) + " |")


if __name__ == "__main__":
    main()
