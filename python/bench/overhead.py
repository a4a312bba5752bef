# SPDX-License-Identifier: Apache-2.0
"""What a call from Python costs beside the same call in C, on arrays of 16 numbers; and a large sort
beside numpy's. The calls in C are overhead.c, compiled here:

    WEFT_LIBRARY=build/libweft.so python3 python/bench/overhead.py [PLACE]
"""

import os
import subprocess
import sys
import tempfile
import timeit

import numpy as np

import weft

HERE = os.path.dirname(os.path.abspath(__file__))
INCLUDE = os.path.join(HERE, "..", "..", "include")


def in_c(place):
    """Microseconds of each call in C."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "overhead")
        source = os.path.join(HERE, "overhead.c")
        command = ["cc", "-O2", "-I", INCLUDE, source, "-o", program, "-ldl"]
        subprocess.run(command, check=True)
        printed = subprocess.run(
            [program, weft._library.path, place], check=True, capture_output=True, text=True
        ).stdout
    return {name: float(time) for name, time in map(str.split, printed.splitlines())}


def best(call, repeat=300, number=200):
    return min(timeit.repeat(call, number=number, repeat=repeat)) / number


def main():
    place = sys.argv[1] if len(sys.argv) > 1 else "cpu:1"
    x = ((np.arange(16) * 7) % 16).astype(np.float32)
    ordered = np.arange(16, dtype=np.float32)
    calls = {
        "sort": lambda: weft.sort(x),
        "argsort": lambda: weft.argsort(x),
        "sum": lambda: weft.sum(x),
        "sum_fast": lambda: weft.sum(x, exact=False),
        "cumsum": lambda: weft.cumsum(x),
        "max": lambda: weft.max(x),
        "dot": lambda: weft.dot(x, x),
        "searchsorted": lambda: weft.searchsorted(ordered, x),
    }
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores, numpy {np.__version__}")
    plain = in_c(place)
    with weft.Context(place):
        for name, call in calls.items():
            time = 1e6 * best(call)
            print(
                f"{name:13} {time:6.2f} us, in C {plain[name]:5.2f}, over {time - plain[name]:5.2f}"
            )
    large = np.random.default_rng(1).random(2**24, dtype=np.float32)
    out = np.empty_like(large)
    with weft.Context("cpu"):
        ours = best(lambda: weft.sort(large, out=out), 5, 1)
        theirs = best(lambda: np.sort(large), 5, 1)
        print(
            f"sort of 2^24 f32, {weft.current().place}: {1e3 * ours:.1f} ms, numpy {1e3 * theirs:.1f} ms,",
            f"{theirs / ours:.2f} times as fast",
        )


if __name__ == "__main__":
    main()
