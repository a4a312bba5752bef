# SPDX-License-Identifier: Apache-2.0
"""Choosing and moving elements, formulas, and arrays that a context makes."""

import numpy as np
import pytest

import weft
from conftest import CASES, TYPES, lengths, numbers, same, same_bits


@pytest.mark.parametrize("dtype", TYPES)
def test_take_and_put(rng, dtype):
    for n in lengths(rng, CASES):
        x = numbers(rng, n, dtype)
        k = int(rng.integers(0, 50)) if n else 0
        index = rng.integers(0, max(n, 1), k).astype(rng.choice(["i4", "u4", "i8", "u8", "i2"]))
        same_bits(weft.take(x, index), x[index])
        y, want, values = x.copy(), x.copy(), numbers(rng, k, dtype)
        weft.put(y, index, values)
        for i, value in zip(index, values):
            want[i] = value
        same_bits(y, want)


def test_take_along_axes(rng):
    x = rng.normal(size=(4, 5, 6))
    for axis in (None, 0, 1, 2, -1):
        for index in (2, [1, 0, 3, 3], [[0, 1], [2, 3]], []):
            same(weft.take(x, index, axis), np.take(x, np.array(index, np.int64), axis))
    out = np.empty((2, 5, 6))
    assert weft.take(x, [3, 1], 0, out=out) is out
    same(out, x[[3, 1]])
    y, rows = x.copy(), rng.normal(size=(2, 5, 6))
    weft.put(y, [2, 0], rows, axis=0)
    same(y[[2, 0]], rows)
    weft.put(y, [5, 119], 7)
    assert (y.reshape(-1)[[5, 119]] == 7).all()
    same(weft.take(np.zeros((3, 0)), [0, 1], 0), np.zeros((2, 0)))


def test_indices_that_are_refused():
    x = np.arange(5.0)
    for bad in ([5], [-1], [0, 1, 99]):
        with pytest.raises(weft.ArgumentError, match="index"):
            weft.take(x, bad)
        with pytest.raises(weft.ArgumentError, match="index"):
            weft.put(x, bad, 0.0)
    same(x, np.arange(5.0))
    with pytest.raises(TypeError, match="integers"):
        weft.take(x, [0.5])
    with pytest.raises(ValueError, match="axis"):
        weft.take(x, [0], 1)
    with pytest.raises(TypeError, match="array"):
        weft.put([1, 2], [0], 5)
    fixed = np.zeros(3)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="writable"):
        weft.put(fixed, [0], 1.0)


@pytest.mark.parametrize("dtype", (np.int8, np.uint32, np.float64))
def test_flags(rng, dtype):
    for n in lengths(rng, CASES):
        x, mask = numbers(rng, n, dtype), rng.random(n) < rng.random()
        same_bits(weft.compress(mask, x), x[mask])
        assert weft.count_nonzero(mask) == np.count_nonzero(mask)
        assert weft.count_nonzero(x) == np.count_nonzero(x)
        same(weft.flatnonzero(mask), np.flatnonzero(mask))
        y, want = x.copy(), x.copy()
        values = numbers(rng, n, dtype)
        weft.place(y, mask, values)
        want[mask] = values[: mask.sum()]
        same_bits(y, want)
    with pytest.raises(ValueError, match="1 values for 2"):
        weft.place(np.zeros(3), [1, 1, 0], [5.0])
    with pytest.raises(ValueError, match="2 conditions"):
        weft.compress([1, 0], np.zeros(3))


def test_transpose_and_diff(rng):
    for shape in ((0, 3), (1, 1), (3, 7), (33, 31)):
        for dtype in (np.int8, np.float16, np.float32, np.float64):
            x = (rng.normal(size=shape) * 50).astype(dtype)
            same_bits(weft.transpose(x), x.T.copy())
    for n in (0, 1, 2, 100):
        x = rng.integers(-100, 100, n).astype(np.int16)
        same(weft.diff(x), np.diff(x))
        same(weft.diff(x.reshape(-1, 1, 1)), np.diff(x.reshape(-1, 1, 1)))
    x = rng.normal(size=(3, 4, 5))
    same_bits(weft.diff(x), np.diff(x))
    with pytest.raises(ValueError, match="matrix"):
        weft.transpose(np.zeros(3))


def test_blend(rng):
    for dtype, top in ((np.uint8, 255), (np.uint16, 65535), (np.float32, 1)):
        shape = (5, 7, 3)
        a, b = ((rng.random(shape) * top).astype(dtype) for _ in range(2))
        mask = (rng.random(shape[:2]) * top).astype(dtype)
        share = mask[..., None].astype(np.float64) / top
        for got, want in (
            (weft.blend(a, b), 0.5 * a + 0.5 * b),
            (weft.blend(a, b, 0.25, 0.5), 0.25 * a + 0.5 * b),
            (weft.blend(a, b, mask=mask), share * a + (1 - share) * b),
        ):
            assert got.dtype == dtype and got.shape == shape
            assert np.abs(got.astype(np.float64) - want).max() <= (1e-6 if top == 1 else 0.51)
    same(weft.blend(a[..., 0].copy(), a[..., 0].copy(), 1, 0), a[..., 0])
    with pytest.raises(ValueError, match="shape"):
        weft.blend(a, b[:2])


FORMULAS = [
    "x + y",
    "2 * x - y / 3",
    "x * x + 2 * x * y + y * y",
    "-x + 1.5",
    "(x + 1) ** 2",
    "where(x > y, x, y)",
    "where((x > 0) & (y <= 3), 1, 0)",
    "~(x > y)",
    "(x == y) | (x != 2)",
    "abs(x) + minimum(x, y) - maximum(x, 1)",
    "sqrt(abs(x)) + exp(y / 100)",
]
NAMES = {"where": np.where, "abs": np.abs, "minimum": np.minimum, "maximum": np.maximum}
NAMES |= {"sqrt": np.sqrt, "exp": np.exp}


@pytest.mark.parametrize("formula", FORMULAS)
def test_evaluate(rng, formula):
    for one in (np.int32, np.int64, np.float32, np.float64):
        for two in (np.int32, np.float64):
            x, y = (rng.integers(-9, 10, 100).astype(t) for t in (one, two))
            got = weft.evaluate(formula, x=x, y=y)
            with np.errstate(all="ignore"):
                want = eval(formula, NAMES, {"x": x, "y": y})
            assert got.dtype == want.dtype or formula.startswith("sqrt")
            np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)


def test_evaluate_integers(rng):
    x = rng.integers(0, 2**31, 50).astype(np.uint32)
    for formula in ("x & 255", "x ^ (x >> 3)", "x | 1", "~x", "(x << 2) + 5"):
        want = eval(formula, {}, {"x": x})
        same(weft.evaluate(formula, x=x).astype(np.uint32), want.astype(np.uint32))
    small = np.array([100, 120], np.int8)
    same(weft.evaluate("x + x", x=small), small + small)
    assert weft.evaluate("a * x", a=np.float64(3), x=np.ones((2, 3))).shape == (2, 3)
    assert weft.evaluate("a * x", a=np.array(3.0), x=np.ones(2, np.float32)).dtype == np.float32
    same(weft.evaluate("(x > 100) + (x > 110)", x=small), np.array([0, 2]))
    out = np.empty(2)
    assert weft.evaluate("x / 8", x=small, out=out) is out and out[0] == 12.5


def test_evaluate_and_reduce(rng):
    x, y = rng.standard_normal((2, 1000)), rng.standard_normal(1000)
    d = x[0] - y
    got = weft.evaluate("(x - y) ** 2", x=x[0], y=y, reduce="sum")
    np.testing.assert_allclose(got, np.sum(d * d), rtol=1e-12)
    for name in ("min", "max"):
        assert weft.evaluate("x - y", x=x[0], y=y, reduce=name) == getattr(np, name)(d)
        want = getattr(np, "arg" + name)(d)
        assert weft.evaluate("x - y", x=x[0], y=y, reduce="arg" + name) == want
    assert weft.evaluate("x > 0", x=x, reduce="sum") == np.sum(x > 0)
    k = rng.integers(-100, 100, 500).astype(np.int8)
    got = weft.evaluate("3 * k", k=k, reduce="sum")
    assert got == np.sum(k * np.int8(3)) and got.dtype == np.int64
    assert weft.evaluate("k + k", k=k, reduce="max").dtype == np.int8
    assert weft.evaluate("k ^ 1", k=k, reduce="xor") == np.bitwise_xor.reduce(k ^ 1)
    with pytest.raises(ValueError, match="pass one of sum"):
        weft.evaluate("k", k=k, reduce="mean")
    with pytest.raises(ValueError, match="integers"):
        weft.evaluate("x", x=x, reduce="or")
    with pytest.raises(ValueError, match="no element"):
        weft.evaluate("x", x=x[:0], reduce="max")


@pytest.mark.parametrize(
    ("formula", "why"),
    [
        ("x +", "no formula"),
        ("x + z", "no array of this name"),
        ("sin(x)", "no such function"),
        ("x[0]", "not understood"),
        ("1 < x < 2", "one comparison"),
        ("x and y", "not understood"),
        ("x % 2", "not offered"),
        ("x & 1", "integers"),
        ("~x", "integers"),
        ("x + ~2.5", "integers"),
        ("x + ~sqrt(2)", "integers"),
        ("1 + 2", "no array"),
        ("minimum(x)", "takes 2"),
        ("where(x, y, x)", "comparison"),
        ("__import__('os').getpid()", "not understood|no such"),
        ("+".join(["x"] * 70), "too many steps"),
    ],
)
def test_formulas_that_are_refused(formula, why):
    x = np.ones(3)
    with pytest.raises(ValueError, match=why):
        weft.evaluate(formula, x=x, y=x)
    with pytest.raises(ValueError, match="shapes"):
        weft.evaluate("x + y", x=x, y=np.ones(4))


def test_made_by_a_context():
    c = weft.current()
    same(c.full((2, 3), 7).numpy(), np.full((2, 3), 7))
    same(c.full(4, 1.5, np.float32).numpy(), np.full(4, 1.5, np.float32))
    same(c.zeros(5, np.int8).numpy(), np.zeros(5, np.int8))
    same(c.arange(7).numpy(), np.arange(7))
    same(c.arange(2, 11, 3).numpy(), np.arange(2, 11, 3))
    same(c.arange(0.0, 1.0, 0.25).numpy(), np.arange(0.0, 1.0, 0.25))
    same(c.arange(5, 5).numpy(), np.arange(5, 5))


def test_permutations(rng):
    r = weft.random.default_rng(int(rng.integers(2**32)))
    x = rng.normal(size=(20, 3))
    y = r.permutation(x)
    assert sorted(map(tuple, y)) == sorted(map(tuple, x))
    drawn = np.asarray(r.choice(100, (10, 10), replace=False))
    assert drawn.shape == (10, 10) and len(set(drawn.ravel().tolist())) == 100
    assert set(r.choice(np.array([3, 5]), 50).tolist()) == {3, 5}
    assert set(r.choice([3, 5], 50).tolist()) == {3, 5}
    assert r.choice(x, 4).shape == (4, 3) and r.choice(9, replace=False).shape == ()
    with pytest.raises(ValueError, match="5 different ones of 4"):
        r.choice(4, 5, replace=False)
