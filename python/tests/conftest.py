# SPDX-License-Identifier: Apache-2.0
"""What all tests share: the place, the seed, and how many random cases there are.

WEFT_TEST_PLACE is the place (cpu:2), WEFT_TEST_SEED the seed of the data (drawn, and printed),
WEFT_TEST_CASES how many random cases each property is tried on.
"""

import os
import random

import numpy as np
import pytest

import weft

PLACE = os.environ.get("WEFT_TEST_PLACE", "cpu:2")
SEED = int(os.environ.get("WEFT_TEST_SEED", random.randrange(2**32)))
CASES = int(os.environ.get("WEFT_TEST_CASES", "40"))
TYPES = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
TYPES += (np.float16, np.float32, np.float64)
FLOATS = (np.float32, np.float64)


def pytest_report_header():
    return f"weft {weft.__version__} of {weft._library.path}, place {PLACE}, WEFT_TEST_SEED={SEED}"


@pytest.fixture(autouse=True)
def place():
    """Every test runs on the place that is asked for."""
    with context():
        yield


_contexts = []


def context():
    if not _contexts:
        _contexts.append(weft.Context(PLACE))
    return _contexts[0]


@pytest.fixture
def rng(request):
    return np.random.default_rng([SEED, *request.node.name.encode()])


def lengths(rng, count, most=300):
    """Awkward lengths first, then drawn ones."""
    first = [0, 1, 2, 3, 15, 16, 17, 31, 33, 64, 255, 256, 257]
    return first[:count] + [int(rng.integers(0, most)) for _ in range(count - len(first))]


def numbers(rng, n, dtype, special=True):
    """n numbers of any type: wide and narrow ranges, many equal ones, NaN, infinities and zeros of
    both signs."""
    dtype = np.dtype(dtype)
    kind = rng.integers(3)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        low, high = (info.min, info.max) if kind == 0 else (max(info.min, -3), 5)
        return rng.integers(low, high, n, dtype, endpoint=True)
    x = rng.normal(size=n) * (1.0 if kind else 10.0 ** rng.integers(-4, 4))
    x = np.round(x) if kind == 1 else x
    x = x.astype(dtype)
    if not special:
        return x + dtype.type(0)  # no -0.0, by which weft orders and numpy does not
    if n:
        for value in (0.0, -0.0, np.nan, np.inf, -np.inf):
            if rng.integers(2):
                x[rng.integers(0, n, max(n // 20, 1))] = value
    return x


def same(got, want):
    """Equal in shape, type and value; NaN equals NaN, and the sign of zero does not count."""
    assert got.shape == want.shape and got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


def same_bits(got, want):
    """Equal in every bit."""
    assert got.shape == want.shape and got.dtype == want.dtype
    assert got.tobytes() == want.tobytes()
