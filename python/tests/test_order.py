# SPDX-License-Identifier: Apache-2.0
"""Sort and its kin do what numpy's documentation says of the functions of the same names."""

import numpy as np
import pytest

import weft
from conftest import CASES, FLOATS, TYPES, lengths, numbers, same, same_bits


def ordered(x, descending=False):
    """The order of weft/sort.h, by its formula: sorts the ordered bits."""
    bits = x.view(f"u{x.itemsize}")
    one = bits.dtype.type(1)
    top = bits.dtype.type(1 << (8 * x.itemsize - 1))
    if x.dtype.kind == "i":
        keys = bits ^ top
    elif x.dtype.kind == "f":
        mantissa = np.finfo(x.dtype).nmant
        keys = np.where(bits & top, ~bits, bits | top) - bits.dtype.type((1 << mantissa) - 1)
    else:
        keys = bits
    keys = keys * one
    order = np.argsort(keys, kind="stable")
    if descending:
        order = len(x) - 1 - np.argsort(keys[::-1], kind="stable")[::-1]
    return order


@pytest.mark.parametrize("dtype", TYPES)
def test_sort(rng, dtype):
    for n in lengths(rng, CASES):
        x = numbers(rng, n, dtype)
        kept = x.copy()
        y = weft.sort(x)
        same(y, np.sort(x))
        same_bits(y, x[ordered(x)])
        same_bits(weft.argsort(x), ordered(x))
        same_bits(weft.sort(x, descending=True), x[ordered(x, True)])
        same_bits(weft.argsort(x, descending=True), ordered(x, True))
        assert weft.is_sorted(y) and weft.is_sorted(x) == (x.tobytes() == y.tobytes())
        same_bits(x, kept)
        assert weft.sort(x, out=x) is x
        same_bits(x, y)


@pytest.mark.parametrize("dtype", (np.int8, np.uint32, np.float64))
def test_sort_pairs(rng, dtype):
    for n in lengths(rng, CASES // 2):
        x, values = numbers(rng, n, dtype), rng.normal(size=n).astype(np.float32)
        for descending in (False, True):
            order = ordered(x, descending)
            keys, moved = weft.sort_pairs(x, values, descending=descending)
            same_bits(keys, x[order])
            same_bits(moved, values[order])
    with pytest.raises(ValueError, match="2 values for 3 keys"):
        weft.sort_pairs([1, 2, 3], [1, 2])


@pytest.mark.parametrize("dtype", (bool, np.int32, np.float64))
def test_sort_along_axes(rng, dtype):
    for _ in range(CASES // 4):
        shape = tuple(int(k) for k in rng.integers(0, 7, int(rng.integers(1, 4))))
        x = numbers(rng, int(np.prod(shape)), np.int8).astype(dtype).reshape(shape)
        for axis in [None, *range(-x.ndim, x.ndim)]:
            same(weft.sort(x, axis), np.sort(x, axis))
            same(weft.argsort(x, axis), np.argsort(x, axis, kind="stable"))
    with pytest.raises(ValueError):
        weft.sort(np.zeros((2, 2)), 2)


def test_views(rng):
    """Arrays with gaps, reversed and misaligned ones."""
    x = numbers(rng, 400, np.float32)
    for view in (x[::2], x[::-1], x[3:200], x.reshape(20, 20).T, x.reshape(20, 20)[:, 3:9]):
        same(weft.sort(view, None), np.sort(view, None))
    packed = np.zeros(100, [("a", "u1"), ("b", "<f8")])
    packed["b"] = rng.normal(size=100)
    for column in (packed["b"], packed["a"], x[::2], x[1::3]):
        kept = column.copy()
        same(weft.sort(column), np.sort(kept))
        for call in (weft.argsort, weft.cumsum, weft.min, weft.argmax, weft.flatnonzero, weft.median):
            same(call(column), call(kept))
        same(weft.top_k(column, 7)[0], weft.top_k(kept, 7)[0])
        same(weft.compress(column, column), weft.compress(kept, kept))
        same(weft.elementwise("maximum", column, column), weft.elementwise("maximum", kept, kept))
        same(column, kept)
    bytes_of = np.zeros(801, np.uint8)
    odd = bytes_of[1:].view(np.float64)
    odd[:] = rng.normal(size=100)
    same(weft.sort(odd), np.sort(odd))
    same(weft.histogram(packed["b"], 5)[0], np.histogram(packed["b"], 5)[0])
    with pytest.raises(ValueError, match="aligned"):
        weft.sort(odd, out=odd)


def test_byte_order(rng):
    """Numbers in the other order of bytes, as files may have them, are taken by a copy."""
    x = rng.integers(0, 1000, 400)
    for dtype in (np.float64, np.float32, np.float16, np.int64, np.uint16):
        kept = x.astype(dtype)
        other = kept.astype(kept.dtype.newbyteorder())
        assert not other.dtype.isnative
        for view, want in ((other, kept), (other[::3], kept[::3]), (other[:0], kept[:0])):
            same(weft.sort(view), np.sort(want))
            same(weft.cumsum(view), weft.cumsum(want))
            same(weft.sum(view), weft.sum(want))
            same(weft.compress(view > 0, view), want[want > 0])
        square, wanted = other.reshape(20, 20), kept.reshape(20, 20)
        same(weft.transpose(square), wanted.T)
        same(weft.sort(square[:, 3:9].T, 0), np.sort(wanted[:, 3:9].T, 0))
        same(other, kept.astype(other.dtype))
    swapped = x.astype(">f8")
    with pytest.raises(ValueError, match="type >f8, but"):
        weft.sort(x.astype(float), out=swapped)
    with pytest.raises(TypeError, match="order of bytes"):
        weft.put(swapped, [0], [1.0])
    table = np.zeros(3, [("a", ">f8"), ("b", "u1")])
    weft.records.put_columns(table, a=np.array([1.0, 2, 3], ">f8"))
    same(table["a"], np.array([1.0, 2, 3], ">f8"))
    with pytest.raises(TypeError, match="dates and times"):
        weft.sort(np.zeros(3, "M8[s]"))


@pytest.mark.parametrize("dtype", TYPES)
def test_unique(rng, dtype):
    for n in lengths(rng, CASES):
        x = numbers(rng, n, dtype)
        want = np.unique(x, True, True, True)
        same(weft.unique(x), want[0])
        got = weft.unique(x, True, True, True)
        same(got[0], want[0])
        same(got[1], want[1])
        same(got[2], want[2].reshape(x.shape))
        same(got[3], want[3])
        if n:
            same(got[0][got[2]], x)
        same(weft.unique(x, equal_nan=False), np.unique(x, equal_nan=False))


def test_unique_of_zeros_and_nan():
    x = np.array([0.0, -0.0, -np.nan, 1.0, np.nan])
    assert len(weft.unique(x)) == 3 and len(weft.unique(x, equal_nan=False)) == 4
    same(weft.unique(x, return_counts=True)[1], np.array([2, 1, 2]))
    assert weft.unique(np.zeros((2, 3)), return_inverse=True)[1].shape == (2, 3)
    got = weft.unique(x, True, True, True, equal_nan=False)
    for ours, theirs in zip(got, np.unique(x, True, True, True, equal_nan=False), strict=True):
        same(ours, theirs)


@pytest.mark.parametrize("dtype", TYPES)
def test_partition_and_top_k(rng, dtype):
    for n in lengths(rng, CASES)[1:]:
        x = numbers(rng, n, dtype)
        if n == 0:
            continue
        kth = int(rng.integers(0, n))
        y, order = weft.partition(x, kth), weft.argpartition(x, kth)
        same(y[kth], np.sort(x)[kth])
        same(np.sort(y), np.sort(x))
        same(x[order][kth], y[kth])
        k = int(rng.integers(0, n + 1))
        values, positions = weft.top_k(x, k)
        same_bits(values, x[ordered(x, True)][:k])
        same_bits(positions.astype(np.int64), ordered(x, True)[:k])
        same_bits(weft.top_k(x, k, largest=False)[0], x[ordered(x)][:k])
        same_bits(weft.nth(x, [kth, 0, n - 1]), x[ordered(x)][[kth, 0, n - 1]])
    with pytest.raises(ValueError):
        weft.partition(np.arange(3), 3)
    with pytest.raises(ValueError):
        weft.top_k(np.arange(3), 4)


@pytest.mark.parametrize("dtype", TYPES)
def test_searchsorted(rng, dtype):
    for n in lengths(rng, CASES):
        x = np.sort(numbers(rng, n, dtype))
        v = numbers(rng, int(rng.integers(0, 30)), dtype)
        if x.dtype.kind == "f":  # the one difference: -0.0 comes before 0.0, and NaN have an order
            x, v = x[~np.isnan(x)] + dtype(0), v[~np.isnan(v)] + dtype(0)
        for side in ("left", "right"):
            same(weft.searchsorted(x, v, side), np.searchsorted(x, v, side))
    assert weft.searchsorted(np.array([1, 2, 3]), 2.5) == 2
    assert weft.searchsorted(np.array([-0.0, 0.0]), -0.0, "right") == 1
    with pytest.raises(ValueError):
        weft.searchsorted(x, v, "middle")


@pytest.mark.parametrize("dtype", TYPES)
def test_histogram(rng, dtype):
    for n in lengths(rng, CASES):
        x = numbers(rng, n, dtype, special=False)
        if x.dtype.itemsize == 8 and x.dtype.kind in "iu":
            x = x >> np.array(12, dtype)  # numpy rounds larger ones to float64 first
        bins = int(rng.integers(1, 40))
        try:
            want = np.histogram(x, bins)
        except ValueError:  # too many bins for float16, or a range that is too wide
            with pytest.raises(ValueError):
                weft.histogram(x, bins)
            continue
        got = weft.histogram(x, bins)
        same(got[1], want[1])
        same(got[0], np.histogram(x.astype(np.float64), want[1].astype(np.float64))[0])
        exact = dtype not in (np.int64, np.uint64, np.float16)  # numpy 1 rounds these on its way
        if exact or np.lib.NumpyVersion(np.__version__) >= "2.0.0":
            same(got[0], want[0])
        edges = np.unique(numbers(rng, 12, dtype, special=False).astype(np.float64))
        if len(edges) > 1:
            same(weft.histogram(x, edges)[0], np.histogram(x, edges)[0])
            low, high = float(edges[0]), float(edges[-1])
            same(weft.histogram(x, bins, (low, high))[0], np.histogram(x, bins, (low, high))[0])
    large = np.array([2**53 + 3, 2**60])  # as float64 the first is one more
    assert weft.histogram(large, 4)[0].tolist() == [1, 0, 0, 1]
    density = weft.histogram(np.arange(10.0), 5, density=True)[0]
    np.testing.assert_allclose(density, np.histogram(np.arange(10.0), 5, density=True)[0])


def test_bincount(rng):
    for n in lengths(rng, CASES):
        x = rng.integers(0, 50, n)
        same(weft.bincount(x), np.bincount(x))
        same(weft.bincount(x.astype(np.uint8), 70), np.bincount(x, minlength=70))
    with pytest.raises(ValueError):
        weft.bincount(np.array([-1]))


@pytest.mark.parametrize("dtype", TYPES)
def test_quantiles(rng, dtype):
    for n in lengths(rng, CASES)[1:]:
        if n == 0:
            continue
        x = numbers(rng, n, dtype, special=bool(rng.integers(2)))
        x = x[np.isfinite(x) | np.isnan(x)] if x.dtype.kind == "f" else x
        if len(x) == 0:
            continue
        q = np.append(rng.random(3), [0, 1, 0.5])
        wide = x.astype(np.float64)
        for method in ("linear", "lower", "higher", "nearest", "midpoint"):
            want = np.quantile(wide, q, method=method)
            scale = np.abs(wide).max() * 1e-12
            np.testing.assert_allclose(weft.quantile(x, q, method=method), want, atol=scale)
        np.testing.assert_allclose(weft.median(x), np.median(wide), rtol=1e-12)
        np.testing.assert_allclose(weft.percentile(x, 30), np.percentile(wide, 30), atol=scale)
    assert np.isnan(weft.median(np.zeros((3, 0)), 1)).tolist() == [True] * 3
    assert weft.quantile(np.zeros((0, 3)), [0.5, 1], 1).shape == (2, 0)
    with pytest.raises(ValueError):
        weft.quantile(np.arange(3.0), 1.5)


def test_choice(rng):
    for n in lengths(rng, CASES):
        for dtype in FLOATS + (np.int8,):
            x = numbers(rng, n, dtype)
            flags = rng.integers(0, 2, n).astype(bool)
            same(weft.compress(flags, x), np.compress(flags, x))
            same(weft.flatnonzero(x), np.flatnonzero(x))
            if n:
                index = rng.integers(0, n, 20)
                same_bits(weft.take(x, index), x[index])
            a, b = np.sort(x), np.sort(numbers(rng, 20, dtype))
            same_bits(weft.merge(weft.sort(a), weft.sort(b)), weft.sort(np.concatenate([a, b])))
    with pytest.raises(weft.ArgumentError, match="index"):
        weft.take(np.arange(3.0), np.array([0, 3]))
