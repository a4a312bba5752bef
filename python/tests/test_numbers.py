# SPDX-License-Identifier: Apache-2.0
"""Sums, statistics and scans beside numpy's, and beside exact arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest

import weft
from conftest import CASES, FLOATS, TYPES, lengths, numbers, same
from weft._arrays import is_bfloat16


def test_which_types_are_bfloat16():
    for dtype in TYPES:
        assert not is_bfloat16(np.dtype(dtype))
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert is_bfloat16(np.dtype(ml_dtypes.bfloat16))


def rounding(x):
    """What sums of x may differ by: a rounding of the type at each step."""
    eps = np.finfo(x.dtype).eps if x.dtype.kind == "f" else 0
    return (len(x) + 4) * float(eps) / 2 * float(np.abs(x.astype(np.float64)).sum()) + 1e-300


@pytest.mark.parametrize("dtype", TYPES)
def test_sums(rng, dtype):
    for n in lengths(rng, CASES):
        x = numbers(rng, n, dtype, special=False)
        if x.dtype.kind == "f":
            exact = float(sum(map(Fraction, x.astype(np.float64).tolist()), Fraction(0)))
            if x.dtype.itemsize == 8:
                assert weft.sum(x) == exact == math.fsum(x)
            else:
                assert abs(float(weft.sum(x)) - exact) <= np.spacing(np.abs(weft.sum(x))) / 2
            assert abs(float(weft.sum(x, exact=False)) - exact) <= rounding(x)
            assert weft.sum(x).dtype == dtype
        else:
            same(weft.sum(x), np.sum(x))
            same(weft.prod(x), np.prod(x))
        if n:
            for name in ("min", "max", "argmin", "argmax"):
                same(getattr(weft, name)(x), getattr(np, name)(x))
            np.testing.assert_allclose(
                weft.mean(x),
                np.mean(x.astype(np.float64)),
                rtol=2e-3 if dtype == np.float16 else 1e-5,
                atol=rounding(x),
            )
            s = weft.summary(x)
            assert (s.count, s.nans, s.min, s.max) == (n, 0, float(x.min()), float(x.max()))


@pytest.mark.parametrize("dtype", FLOATS)
def test_exact_sums(dtype):
    x = np.array([1e30, 1, -1e30] * 1000, dtype)
    assert weft.sum(x) == 1000
    assert weft.dot(x, np.ones_like(x)) == 1000
    assert weft.var(np.array([1, 2, 3, 4], dtype), ddof=1) == dtype(5 / 3)
    assert weft.std(np.array([2, 4], dtype)) == 1
    assert weft.norm(np.array([3, 4], dtype)) == 5
    rows = np.array([[1e30, 1, -1e30], [1, 2, 3]], dtype)
    assert weft.sum(rows, 1).tolist() == [1, 6] and weft.sum(rows.T, 0).tolist() == [1, 6]
    assert weft.sum(rows, 1).dtype == dtype and weft.sum(rows, 1, exact=False)[0] == 0


def test_nan_and_nothing():
    x = np.array([3.0, np.nan, 1.0, np.nan])
    assert np.isnan(weft.min(x)) and np.isnan(weft.max(x)) and np.isnan(weft.sum(x))
    assert weft.argmin(x) == 1 and weft.argmax(x) == 1
    assert weft.summary(x).nans == 2
    assert weft.argmin(np.array([0.0, -0.0])) == 1  # numpy gives 0
    assert weft.sum(np.array([])) == 0 and weft.prod(np.array([])) == 1
    assert np.isnan(weft.quantile(x, 0.1))
    for function in (weft.min, weft.max, weft.argmin, weft.argmax):
        with pytest.raises(ValueError, match="no element"):
            function(np.array([]))


@pytest.mark.parametrize("dtype", TYPES)
def test_cumsum(rng, dtype):
    for n in lengths(rng, CASES):
        x = numbers(rng, n, dtype, special=False)
        y = weft.cumsum(x)
        if x.dtype.kind != "f":
            same(y, np.cumsum(x))
            same(weft.cumprod(x), np.cumprod(x))
            same(weft.accumulate(x, "bitwise_xor"), np.bitwise_xor.accumulate(x))
        else:
            assert y.dtype == dtype
            want = np.cumsum(x.astype(np.float64))
            np.testing.assert_allclose(y.astype(np.float64), want, rtol=0, atol=rounding(x))
        exclusive = weft.cumsum(x, exclusive=True)
        if n:
            assert exclusive[0] == 0
            np.testing.assert_allclose(exclusive[1:], y[:-1], rtol=0, atol=rounding(x))
        same(weft.accumulate(x, "maximum"), np.maximum.accumulate(x))
        same(weft.accumulate(x, "minimum"), np.minimum.accumulate(x))


def test_axes(rng):
    for _ in range(CASES // 2):
        shape = tuple(int(k) for k in rng.integers(1, 8, int(rng.integers(1, 4))))
        for dtype in (np.float64, np.int32):
            x = numbers(rng, int(np.prod(shape)), dtype, special=False).reshape(shape)
            x = x % 1000 if dtype == np.int32 else x
            for axis in [None, *range(-x.ndim, x.ndim)]:
                tolerance = {"rtol": 1e-10, "atol": 1e-9 * float(np.abs(x).max() + 1)}
                for name in ("cumsum", "sum", "mean", "max", "min", "argmax", "argmin", "median"):
                    got, want = getattr(weft, name)(x, axis), getattr(np, name)(x, axis)
                    assert np.shape(got) == np.shape(want), name
                    np.testing.assert_allclose(got, want, **tolerance)
                assert (
                    weft.sum(x, axis, keepdims=True).shape == np.sum(x, axis, keepdims=True).shape
                )


def test_axes_that_are_not_there():
    for name in ("sort", "argsort", "sum", "prod", "mean", "max", "argmax", "cumsum", "median"):
        for axis in (1, -2):
            with pytest.raises(ValueError, match="axis"):
                getattr(weft, name)(np.arange(3.0), axis)


def test_means_along_an_axis():
    """Where the sum is beyond the type: it neither wraps nor becomes infinite."""
    large = {np.int64: 2**62, np.uint64: 2**63, np.float16: 100, np.float32: 3e38}
    for dtype, number in large.items():
        x = np.full((2, 1000), number, dtype)
        same(weft.mean(x, 1), np.full(2, number, dtype if np.dtype(dtype).kind == "f" else float))


def test_dot(rng):
    for n in lengths(rng, CASES):
        x, y = numbers(rng, n, np.float64, False), numbers(rng, n, np.float64, False)
        exact = sum(
            (Fraction(a) * Fraction(b) for a, b in zip(x.tolist(), y.tolist())), Fraction(0)
        )
        assert weft.dot(x, y) == float(exact)
        np.testing.assert_allclose(
            weft.dot(x, y, exact=False),
            float(exact),
            rtol=1e-9,
            atol=1e-12 * float(np.abs(x * y).sum()),
        )
        k = rng.integers(-9, 9, n)
        assert weft.dot(k, k) == np.dot(k, k)
    with pytest.raises(ValueError):
        weft.dot(np.zeros(2), np.zeros(3))


def test_elementwise(rng):
    x, y = rng.normal(size=100), rng.normal(size=100)
    for op in ("add", "subtract", "multiply", "divide", "minimum", "maximum"):
        same(weft.elementwise(op, x, y), getattr(np, op)(x, y))
        same(weft.elementwise(op, x, 2.5), getattr(np, op)(x, 2.5))
    for op in ("negative", "absolute", "floor", "ceil", "rint"):
        same(weft.elementwise(op, x), getattr(np, op)(x))
    for op in ("less", "greater_equal", "not_equal"):
        same(weft.elementwise(op, x, y), getattr(np, op)(x, y))
    same(weft.where(x < y, x, y), np.minimum(x, y))
    with pytest.raises(ValueError, match="weft.evaluate"):
        weft.where(x < y, x, 0)
    same(weft.astype(x * 100, np.int32), (x * 100).astype(np.int32))
    assert weft.astype(np.array([300.0]), np.uint8, saturate=True)[0] == 255
    with pytest.raises(ValueError):
        weft.elementwise("plus", x, y)


def test_random():
    one, two = weft.random.default_rng(5), weft.random.default_rng(5)
    whole = one.random(1000)
    same(np.concatenate([two.random(300), two.random(700)]), whole)
    assert 0 <= whole.min() and whole.max() < 1 and abs(whole.mean() - 0.5) < 0.05
    normal = one.standard_normal((50, 40), np.float32)
    assert normal.shape == (50, 40) and abs(float(normal.mean())) < 0.1
    dice = one.integers(1, 7, size=600)
    assert set(dice) == set(range(1, 7)) and dice.dtype == np.int64
    same(np.sort(one.permutation(100)), np.arange(100))
    same(np.sort(one.permutation([3, 4, 5])), np.array([3, 4, 5]))
    with pytest.raises(ValueError, match="scale"):
        one.normal(0, -1, 3)
    assert isinstance(one.random(), float)
    with pytest.raises(ValueError):
        one.integers(5, 5)
    with pytest.raises(ValueError):
        one.integers(0, 300, dtype=np.uint8)


def test_random_calls_share_nothing():
    draws = {
        "random": lambda r, n: r.random(n),
        "single": lambda r, n: r.random(n, np.float32),
        "normal": lambda r, n: np.abs(r.standard_normal(n)),
        "integers": lambda r, n: r.integers(0, 1000, n),
        "small": lambda r, n: r.integers(0, 100, n, np.uint8),
        "wide": lambda r, n: r.integers(0, 2**40, n),
        "bits": lambda r, n: r.bits(n, np.uint32),
        "bytes": lambda r, n: r.bits(n, np.uint8),
    }
    for first, one in draws.items():
        r = weft.random.default_rng(5)
        x = np.concatenate([one(r, 1001), one(r, 999)])
        same(x, one(weft.random.default_rng(5), 2000))
        for second, other in draws.items():
            y, odd = other(r, 2000), one(r, 3)
            for step in (1, 2):  # pairs make normal numbers
                c = np.corrcoef(x[::step].astype(float), y[::step].astype(float))[0, 1]
                assert abs(c) < 0.2, (first, second, c)
            assert not np.isin(odd, x[:3]).all()


def test_bools_stay_bools():
    truth = np.array([True, False, True])
    same(weft.astype(np.array([0.5, 2, 256, 0, np.nan]), bool), np.array([1, 1, 1, 0, 1], bool))
    for dtype in (np.int8, np.uint16, np.int64):
        x = np.array([0, 1, 2, 64, -128]).astype(dtype)
        for saturate in (False, True):
            same(weft.astype(x, bool, saturate=saturate), x.astype(bool))
    same(weft.astype(truth, np.int32), truth.astype(np.int32))
    same(weft.elementwise("invert", truth), ~truth)
    for op in ("multiply", "minimum", "maximum", "bitwise_and", "bitwise_or", "bitwise_xor"):
        same(weft.elementwise(op, truth, truth[::-1].copy()), getattr(np, op)(truth, truth[::-1]))
    for call in (
        lambda: weft.elementwise("add", truth, truth),
        lambda: weft.elementwise("negative", truth),
        lambda: weft.elementwise("left_shift", truth, 1),
        lambda: weft.accumulate(truth),
        lambda: weft.accumulate_by_key(truth, truth),
        lambda: weft.accumulate_segments(truth, [0, 3]),
        lambda: weft.blend(truth.reshape(1, 3), truth.reshape(1, 3)),
        lambda: weft.correlate_image(truth.reshape(1, 3), np.ones((1, 1))),
        lambda: weft.correlate_image(np.ones((2, 2)), np.ones((1, 1)), out_dtype=bool),
        lambda: weft.random.default_rng(1).bits(3, bool),
        lambda: weft.current().arange(0, 3, 1, bool),
    ):
        with pytest.raises(TypeError, match="not bool"):
            call()


def test_exact_sums_merge_with_their_kind():
    total = weft.ExactSum([1.0])
    with pytest.raises(TypeError, match="see add"):
        total += 3
    assert float(total.merge(total)) == 2


def test_out_along_an_axis(rng):
    x = rng.normal(size=(5, 6)).astype(np.float32)
    for name in "sum", "min", "max":
        ours, wide = getattr(weft, name), getattr(np, name)

        def theirs(x, axis, wide=wide, **options):  # sums of float32 are rounded once
            return wide(x.astype(np.float64), axis, **options).astype(np.float32)

        for axis in 0, 1:
            out = np.full(x.shape[1 - axis], 7, np.float32)
            assert ours(x, axis, out=out) is out
            np.testing.assert_allclose(out, theirs(x, axis), rtol=1.2e-7)
            out = np.full(theirs(x, axis, keepdims=True).shape, 7, np.float32)
            ours(x, axis, keepdims=True, out=out)
            np.testing.assert_allclose(out, theirs(x, axis, keepdims=True), rtol=1.2e-7)
        with pytest.raises(ValueError, match="out has shape"):
            ours(x, 0, out=np.zeros(5, np.float32))
    whole, flags = np.arange(6, dtype=np.uint8).reshape(2, 3), np.zeros(3, bool)
    assert weft.sum(whole, 0, out=np.zeros(3, np.uint64)).tolist() == [3, 5, 7]
    assert weft.max(whole > 3, 0, out=flags).tolist() == [False, True, True]


def test_numbers_that_a_type_does_not_hold():
    x = np.arange(5, dtype=np.uint8)
    for op, number in ("less", 2.5), ("less", -1), ("multiply", 1.5), ("add", 256), ("add", 2**70):
        with pytest.raises(ValueError, match="uint8 does not hold"):
            weft.elementwise(op, x, number)
    with pytest.raises(ValueError, match="does not hold"):
        weft.elementwise("add", x.astype(float), 1j)
    same(weft.elementwise("less", x, 2.0), x < 2)
    same(weft.elementwise("add", x.astype(np.float32), 0.1), x.astype(np.float32) + np.float32(0.1))


def test_outputs_that_would_be_copies(tmp_path):
    x = np.array([3.0, 1.0, 2.0, 0.0])
    file = np.memmap(tmp_path / "x", float, "w+", shape=(8,))
    for out in file[::2], file[::-1][:4], np.ma.zeros(8)[::2]:
        with pytest.raises(ValueError, match="without gaps"):
            weft.sort(x, out=out)
    weft.sort(x, out=file[:4])
    assert file[:4].tolist() == [0, 1, 2, 3]
    with pytest.raises(TypeError, match="masked"):
        weft.sort(x, out=np.ma.array(x, mask=[0, 1, 0, 0]))
    generator = weft.random.default_rng(1)
    for out in np.zeros((3, 4)).T, file[::2]:
        with pytest.raises(ValueError, match="without gaps"):
            generator.random(out=out)
    with pytest.raises(TypeError, match="not list"):
        generator.random(out=[0.0, 0.0])
    with pytest.raises(TypeError, match="masked"):
        weft.convolve(np.ma.array(x, mask=[0, 1, 0, 0]), [1.0, 1.0])
    with pytest.raises(TypeError, match="masked"):
        weft.linalg.solve(np.eye(4), np.ma.array(x, mask=[0, 1, 0, 0]))
    with pytest.raises(TypeError, match="ranks are integers"):
        weft.nth(x, [1.7])
    table = np.rec.array(np.zeros(4, [("a", "i4"), ("b", "f8")]))
    with pytest.raises(ValueError, match="without gaps"):
        weft.records.put_columns(table[::2], a=np.arange(2, dtype=np.int32))
    weft.records.put_columns(table, a=np.arange(4, dtype=np.int32))
    assert table.a.tolist() == [0, 1, 2, 3]
    bodies = np.memmap(tmp_path / "y", float, "w+", shape=(4, 3))
    with pytest.raises(ValueError, match="without gaps"):
        weft.nbody.step(bodies[::2], np.zeros((2, 3)), 0.1, np.ones(2))


def test_numbers_in_formulas():
    x = np.array([1, 2, 200], np.int64)
    formulas = ["x * (1/2)", "x + 1/2", "x + 2**3", "x * 2**-1", "x > 5/2", "x + (1 + 2)"]
    for formula in [*formulas, "x ** (1 + 1.0)", "x + -(3 - 1)"]:
        same(weft.evaluate(formula, x=x), eval(formula, {"x": x}))
    functions = {"sqrt": np.sqrt, "floor": np.floor, "x": x}
    of_numbers = "sqrt(2) * x", "sqrt(2) / 3 + x", "x > floor(1.5)", "x & 5 << 1 | 1"
    for formula in *of_numbers, "x + ~5", "+x - +1":
        same(weft.evaluate(formula, x=x), eval(formula, functions))
    for dtype in np.uint8, np.int16, np.uint64, np.int64:
        y = x.astype(dtype)
        for number in -1, 70000, 10**30, -(10**30):
            for op in "<", "<=", ">", ">=", "==", "!=":
                for formula in f"y {op} n", f"n {op} y":
                    want = [eval(formula, {"y": int(k), "n": number}) for k in y]
                    same(weft.evaluate(formula, y=y, n=number), np.array(want))
    large = "x + 2**(2**(2**9))", "x + 10**30", "x + (1 << 10**9)"
    for formula in "x + 1/0", "x + (-8)**0.5", "x + (1 >> -1)", *large:
        with pytest.raises(ValueError, match="evaluate: "):
            weft.evaluate(formula, x=x)
    with pytest.raises(TypeError, match="axis is a whole number"):
        weft.sum(np.ones((2, 3)), axis=(0, 1))
    with pytest.raises(ValueError, match="steps is -1"):
        weft.nbody.step(np.zeros((2, 3)), np.zeros((2, 3)), 0.1, np.ones(2), steps=-1)
    with pytest.raises(TypeError, match="numbers are needed, not <U1"):
        weft.fft.fft(["a"])
    with pytest.raises(TypeError, match="elements are text"):
        weft.sort(["b", "a"])
    with pytest.raises(TypeError, match="objects of Python"):
        weft.sum(np.array([1, None], dtype=object))
