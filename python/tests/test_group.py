# SPDX-License-Identifier: Apache-2.0
"""Groups, segments, records and exact sums that are kept."""

import pickle
from fractions import Fraction

import numpy as np
import pytest

import weft
from conftest import CASES, lengths, numbers, same, same_bits

UFUNCS = {"add": np.add, "multiply": np.multiply, "minimum": np.minimum, "maximum": np.maximum}


def test_group(rng):
    for n in lengths(rng, CASES):
        keys = rng.integers(-3, 4, n).astype(rng.choice(["i1", "i4", "i8", "u2", "f8"]))
        a, b = rng.integers(-9, 9, n), rng.integers(0, 9, n).astype(np.uint8)
        got = weft.group(
            keys, ("add", a), ("minimum", a), ("maximum", b), ("count", None), ("mean", b)
        )
        distinct = np.unique(keys)
        parts = [(a[keys == k], b[keys == k]) for k in distinct]
        same(got[0], distinct)
        for column, function in zip(
            got[1:],
            (
                lambda p: p[0].sum(),
                lambda p: p[0].min(),
                lambda p: p[1].max(),
                lambda p: len(p[0]),
                lambda p: p[1].mean(),
            ),
        ):
            np.testing.assert_array_equal(column, [function(p) for p in parts])
        same(weft.group(keys), distinct)
    keys = np.array([2, 2, 1, 2])
    runs, sums = weft.group(keys, ("add", [1.0, 2.0, 3.0, 4.0]), in_order=True)
    same(runs, np.array([2, 1, 2]))
    same(sums, np.array([3.0, 3.0, 4.0]))
    many = weft.group(keys, *[("add", keys + k) for k in range(11)])
    assert [int(column[1]) for column in many[1:]] == [6 + 3 * k for k in range(11)]


def test_names_of_pandas():
    keys, x = np.array([2, 1, 2]), np.array([1.0, 5.0, 3.0])
    pairs = {"sum": "add", "prod": "multiply", "min": "minimum", "max": "maximum"}
    for theirs, ours in pairs.items():
        same(weft.group(keys, (theirs, x))[1], weft.group(keys, (ours, x))[1])
        same(weft.reduce_segments(x, [0, 2, 3], theirs), weft.reduce_segments(x, [0, 2, 3], ours))
        same(*(weft.reduce_segments([(op, x)], [0, 2, 3])[0] for op in (theirs, ours)))


def test_groups_that_are_refused():
    with pytest.raises(ValueError, match="none of add, multiply, minimum, maximum, mean, count"):
        weft.group([1, 2], ("first", [1, 2]))
    with pytest.raises(ValueError, match="median"):
        weft.group([1, 2], ("median", [1, 2]))
    with pytest.raises(ValueError, match="3 values for 2 keys"):
        weft.group([1, 2], ("add", [1, 2, 3]))
    with pytest.raises(TypeError, match="keys are numbers"):
        weft.group(np.array(["a"]))


def test_accumulate_by_key(rng):
    for n in lengths(rng, CASES):
        keys, x = np.sort(rng.integers(0, 5, n)), rng.integers(-9, 9, n)
        want = [np.cumsum(x[keys == k]) for k in np.unique(keys)]
        want = np.concatenate(want) if want else x
        same(weft.accumulate_by_key(keys, x), want)
        same(weft.accumulate_by_key(keys, x, exclusive=True), want - x)


def test_segments(rng):
    for _ in range(CASES):
        counts = rng.integers(0, 9, int(rng.integers(0, 20)))
        limits = weft.offsets(counts)
        same(limits, np.concatenate([[0], np.cumsum(counts)]))
        x = rng.integers(-9, 9, int(counts.sum()))
        parts = np.split(x, limits[1:-1]) if len(counts) else []
        for op, ufunc in UFUNCS.items():
            got = weft.reduce_segments(x, limits, op)
            full = [k for k, p in enumerate(parts) if len(p)]
            np.testing.assert_array_equal(got[full], [ufunc.reduce(parts[k]) for k in full])
            want = [ufunc.accumulate(p) for p in parts]
            same(
                weft.accumulate_segments(x, limits.astype(np.uint32), op),
                np.concatenate(want) if want else x,
            )
        same(
            weft.sort_segments(x, limits),
            np.concatenate([np.sort(p) for p in parts]) if parts else x,
        )
        ops = list(UFUNCS) * 3
        columns = weft.reduce_segments([(op, x + k) for k, op in enumerate(ops)], limits)
        for k, op in enumerate(ops):
            same(columns[k], weft.reduce_segments(x + k, limits, op))
    with pytest.raises(ValueError, match="different lengths"):
        weft.reduce_segments([("add", np.arange(4)), ("add", np.arange(3))], [0, 4])
    same(weft.offsets(np.array([], np.uint8)), np.array([0], np.uint64))
    with pytest.raises(weft.ArgumentError, match="offsets"):
        weft.reduce_segments(np.arange(4), [0, 3])
    with pytest.raises(ValueError, match="offsets"):
        weft.reduce_segments(np.arange(4), [])


TABLE = np.dtype(
    [("key", "i2"), ("name", "S3"), ("value", "f4"), ("pair", "u1", (2,)), ("flag", "?")]
)


def table(rng, n):
    t = np.zeros(n, TABLE)
    t["key"] = rng.integers(-2, 3, n)
    t["name"] = rng.choice([b"a", b"ab", b"b", b"zzz"], n)
    t["value"] = rng.integers(-2, 3, n)
    t["pair"] = rng.integers(0, 3, (n, 2))
    t["flag"] = rng.integers(0, 2, n)
    return t


def order_of(t, by):
    """The stable order by Python's own sort."""

    def key(i):
        values = []
        for name in by:
            sign, name = (-1, name[1:]) if name.startswith("-") else (1, name)
            value = t[i][name]
            values.append(
                tuple(sign * int(v) for v in value)
                if name == "pair"
                else [sign * v for v in value.ljust(3, bytes(1))]
                if name == "name"
                else sign * float(value)
            )
        return values

    return sorted(range(len(t)), key=key)


@pytest.mark.parametrize("by", (["key"], ["-key", "value"], ["name", "-pair"], ["flag", "-name"]))
def test_records(rng, by):
    for n in lengths(rng, CASES // 2, 60):
        t = table(rng, n)
        order = np.array(order_of(t, by), np.int64)
        same_bits(weft.records.sort(t, by), t[order])
        same(weft.records.argsort(t, by), order)
        plain = [name.lstrip("-") for name in by]
        rows = [tuple(np.ravel(r[name]).tolist() for name in plain) for r in t[order]]
        heads = [k for k in range(n) if k == 0 or rows[k] != rows[k - 1]]
        first, counts = weft.records.unique(t, by, return_counts=True)
        same_bits(first, t[order][heads])
        same(counts, np.diff(np.array([*heads, n])) if n else counts[:0])
        same_bits(weft.records.unique(t, by), first)
        ordered = t[order]
        for side in ("left", "right"):
            where = weft.records.searchsorted(ordered, t, by, side)
            at = [i if side == "left" else i + 1 for i in range(n)]
            want = [
                min(k for k, r in zip(at, rows) if r == row)
                if side == "left"
                else max(k for k, r in zip(at, rows) if r == row)
                for row in (tuple(np.ravel(r[name]).tolist() for name in plain) for r in t)
            ]
            np.testing.assert_array_equal(where, want)
        half = n // 2
        a, b = (weft.records.sort(part, by) for part in (t[:half], t[half:]))
        same_bits(weft.records.merge(a, b, by), ordered)


def test_columns(rng):
    for n in (0, 1, 2, 50):
        t = table(rng, n)
        for names in (None, ["value", "key"], "pair"):
            for name, column in weft.records.columns(t, names).items():
                assert column.tobytes() == t[name].copy().tobytes()
                assert column.shape == t[name].shape
        changed = t.copy()
        value, pair = rng.normal(size=n).astype("f4"), rng.integers(0, 9, (n, 2)).astype("u1")
        weft.records.put_columns(changed, value=value, pair=pair)
        t["value"], t["pair"] = value, pair
        same_bits(changed, t)
    wide = np.zeros(3, [(f"c{k}", "i4") for k in range(11)])
    assert len(weft.records.columns(wide)) == 11


def test_records_that_are_refused(rng):
    t = table(rng, 3)
    with pytest.raises(ValueError, match="no field 'x'"):
        weft.records.sort(t, "x")
    with pytest.raises(TypeError, match="records"):
        weft.records.sort(np.arange(3))
    with pytest.raises(TypeError, match="one type"):
        weft.records.merge(t, np.zeros(1, [("key", "i2")]))
    with pytest.raises(TypeError, match="supported"):
        weft.records.sort(np.zeros(2, [("a", ">i4")]))
    with pytest.raises(ValueError, match="value needs the shape"):
        weft.records.put_columns(t, value=np.zeros(3))
    with pytest.raises(ValueError, match="32 numbers"):
        weft.records.sort(np.zeros(1, [("a", "u1", (33,))]))


@pytest.mark.parametrize("dtype", (np.float16, np.float32, np.float64))
def test_exact_sums_that_are_kept(rng, dtype):
    total, want = weft.ExactSum(), Fraction(0)
    for _ in range(4):
        x = numbers(rng, int(rng.integers(0, 50)), dtype, special=False)
        x = x[np.isfinite(x)]
        total.add(x)
        want += sum(map(Fraction, x.astype(float).tolist()))
    x, y = (rng.normal(size=20).astype(dtype) for _ in range(2))
    other = weft.ExactSum().add_dot(x, y)
    want += sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(x, y))
    total += pickle.loads(pickle.dumps(other))
    assert total.value() == float(want) == float(total)
    assert total.count >= 20 and str(total.count) in repr(total)
    assert other == weft.ExactSum().add_dot(y, x) and other != total
    assert total.value(np.float32) == np.float32(float(want)) or dtype == np.float64
    with pytest.raises(TypeError, match="floats"):
        total.add(np.arange(3))
    with pytest.raises(ValueError, match="one length"):
        total.add_dot(x, y[:3])


def test_exact_cumsum(rng):
    for n in lengths(rng, CASES):
        x = rng.normal(size=n) * 10.0 ** rng.integers(-20, 20, n)
        sums, total = [], Fraction(0)
        for value in x.tolist():
            total += Fraction(value)
            sums.append(float(total))
        same(weft.cumsum(x, exact=True), np.array(sums))
    with pytest.raises(ValueError, match="axis"):
        weft.cumsum(np.zeros((2, 2)), 0, exact=True)
