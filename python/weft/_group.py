# SPDX-License-Identifier: Apache-2.0
"""Groups: by key, and in segments that offsets tell."""

import numpy as np

from . import _core
from ._arrays import as_bytes, cast, check_numbers, cut, finish, flat, new, output, take
from ._context import current
from ._numbers import _SCANNED, _wide

_REDUCED = {name: _SCANNED[name] for name in ("add", "multiply", "minimum", "maximum")}
_ALSO = {"sum": "add", "prod": "multiply", "min": "minimum", "max": "maximum"}  # pandas's names
_AT_ONCE = 8  # columns of one call


def _op(name, table, caller):
    if name not in table:
        raise ValueError(f"{caller}: op {name!r} is none of {', '.join(table)}")
    return table[name]


def _result_type(dtype, op):
    return dtype if op in ("minimum", "maximum") else np.dtype(_wide(dtype))


def _keys(c, keys, caller):
    k = flat(take(c, keys))
    if k.dtype.kind not in "iubf":
        raise TypeError(f"{caller}: keys are numbers, not {k.dtype}; weft.records has more")
    return k


def _columns(c, columns, k):
    """The columns of group as the library takes them: (op, array), a mean as a sum."""
    taken = []
    for op, values in columns:
        _op(op, {**_REDUCED, "mean": 0, "count": 0}, "group")
        if op == "count":
            x = new(c, k, k.shape, np.uint8)
            _core.fill(c, np.ones(1, np.uint8), x)
        else:
            x = flat(take(c, values))
            if op == "mean":
                x = cast(c, x, np.float64)
        if x.shape != k.shape:
            raise ValueError(f"group: {x.size} values for {k.size} keys")
        taken.append(("add" if op in ("count", "mean") else op, x))
    return taken


def _runs(c, keys, columns):
    """What reduce_by_key makes of any number of columns, cut to the number of runs."""
    distinct = new(c, keys, keys.shape, keys.dtype)
    results = [new(c, keys, keys.shape, _result_type(x.dtype, op)) for op, x in columns]
    count = 0
    for first in range(0, max(len(columns), 1), _AT_ONCE):
        some = slice(first, first + _AT_ONCE)
        ops = [_op(op, _REDUCED, "group") for op, _ in columns[some]]
        pairs = [part for (_, x), y in zip(columns[some], results[some]) for part in (x, y)]
        ops += [0] * (_AT_ONCE - len(ops))
        pairs += [None] * (2 * _AT_ONCE - len(pairs))
        width = keys.dtype.itemsize
        count = _core.reduce_by_key(c, width, *ops, as_bytes(keys), as_bytes(distinct), *pairs)
    return cut(distinct, count), [cut(y, count) for y in results]


def group(keys, *columns, in_order=False):
    """The distinct keys in order, and for each column, a pair (op, values), what op makes of the
    values of each key:

        keys, sums, counts = weft.group(k, ("add", x), ("count", None))

    op: add, multiply, minimum, maximum (or sum, prod, min, max), mean, or count, which has no
    values. Sums and products have the types of weft.sum; means are float64. Keys are equal if
    their bits are. in_order=True: equal keys are neighbours already; a key that comes back later is
    a group of its own."""
    c = current()
    k = _keys(c, keys, "group")
    columns = [(_ALSO.get(op, op), values) for op, values in columns]
    taken = _columns(c, columns, k)
    if not in_order:
        order = new(c, k, k.shape, np.int64)
        _core.argsort(c, 0, k, order)
        k = _gathered(c, order, k)
        taken = [
            (op, x if columns[j][0] == "count" else _gathered(c, order, x))
            for j, (op, x) in enumerate(taken)
        ]
    means = any(op == "mean" for op, _ in columns)
    if means:
        taken += _columns(c, [("count", None)], k)
    distinct, results = _runs(c, k, taken)
    counts = cast(c, results.pop(), np.float64) if means else None
    for j, (op, _) in enumerate(columns):
        if op == "mean":
            _core.binary(c, 6, results[j], counts, results[j])  # 6: divide
        elif op == "count":
            results[j] = cast(c, results[j], np.int64)
    results = [finish(y, keys) for y in results]
    return finish(distinct, keys) if not columns else (finish(distinct, keys), *results)


def _gathered(c, order, x):
    y = new(c, x, x.shape, x.dtype)
    _core.gather(c, 1, order, x, y)
    return y


def accumulate_by_key(keys, a, op="add", *, exclusive=False, out=None):
    """Running results as accumulate has them, which begin anew where a key differs from the one
    before it."""
    c = current()
    k, x = _keys(c, keys, "accumulate_by_key"), flat(take(c, a))
    if k.shape != x.shape:
        raise ValueError(f"accumulate_by_key: {x.size} values for {k.size} keys")
    if op == "add":
        check_numbers(x, "accumulate_by_key")
    y = output(c, x, x.shape, x.dtype, out)
    number = _op(op, _SCANNED, "accumulate_by_key")
    _core.scan_by_key(c, exclusive, number, k.dtype.itemsize, as_bytes(k), x, y)
    return finish(y, a, out)


def offsets(counts):
    """Where segments of these lengths begin, and the end of the last: one number more."""
    c = current()
    x = flat(take(c, counts))
    if x.dtype.kind not in "iub":
        raise TypeError(f"offsets: integers are needed, not {x.dtype}")
    y = new(c, x, (x.size + 1,), np.int64 if x.dtype.kind == "i" else np.uint64)
    _core.scan_wide(c, 1, 0, x, cut(y, x.size), cut(y, 1, x.size))
    return finish(y, counts)


def _limits(c, limits, wide, caller):
    """Offsets as the library takes them; wide: as uint64 alone."""
    x = flat(take(c, limits))
    if x.dtype.kind not in "iu" or x.size == 0:
        raise ValueError(f"{caller}: offsets are integers, one more than there are segments")
    if wide or x.dtype.itemsize < 4:
        return cast(c, x, np.uint64)
    return x


def _segments_of_columns(c, columns, limits):
    columns = [(_ALSO.get(op, op), values) for op, values in columns]
    xs = [flat(take(c, values)) for _, values in columns]
    if len({x.size for x in xs}) > 1:
        raise ValueError("reduce_segments: the columns have different lengths")
    types = [_result_type(x.dtype, op) for x, (op, _) in zip(xs, columns)]
    results = [new(c, x, (limits.size - 1,), t) for x, t in zip(xs, types)]
    for first in range(0, len(columns), _AT_ONCE):
        some = slice(first, first + _AT_ONCE)
        ops = [_op(op, _REDUCED, "reduce_segments") for op, _ in columns[some]]
        pairs = [part for pair in zip(xs[some], results[some]) for part in pair]
        ops += [0] * (_AT_ONCE - len(ops))
        pairs += [None] * (2 * _AT_ONCE - len(pairs))
        _core.reduce_segments_columns(c, *ops, limits, *pairs)
    return [finish(y, values) for y, (_, values) in zip(results, columns)]


def reduce_segments(a, offsets, op="add"):
    """What op makes of each segment a[offsets[k]:offsets[k + 1]]: add, multiply, minimum, maximum
    (or sum, prod, min, max). offsets begins with 0 and ends with the length of `a`. Several columns
    in one call are a list of pairs (op, values), and give a list."""
    c = current()
    limits = _limits(c, offsets, False, "reduce_segments")
    if isinstance(a, list) and a and isinstance(a[0], tuple):
        return _segments_of_columns(c, a, limits)
    op = _ALSO.get(op, op)
    x = flat(take(c, a))
    number = _op(op, _REDUCED, "reduce_segments")
    y = new(c, x, (limits.size - 1,), _result_type(x.dtype, op))
    _core.reduce_segments(c, number, x, limits, y)
    return finish(y, a)


def accumulate_segments(a, offsets, op="add", *, exclusive=False, out=None):
    """Running results of each segment; ops are those of accumulate. out may be `a`."""
    c = current()
    x, limits = flat(take(c, a)), _limits(c, offsets, False, "accumulate_segments")
    number = _op(op, _SCANNED, "accumulate_segments")
    if op == "add":
        check_numbers(x, "accumulate_segments")
    y = output(c, x, x.shape, x.dtype, out)
    _core.scan_segments(c, exclusive, number, x, y, limits)
    return finish(y, a, out)


def sort_segments(a, offsets, *, descending=False, out=None):
    """Each segment in order. out may be `a`."""
    c = current()
    x, limits = flat(take(c, a)), _limits(c, offsets, True, "sort_segments")
    y = output(c, x, x.shape, x.dtype, out)
    _core.sort_segments(c, descending, x, y, None, None, limits)
    return finish(y, a, out)


__all__ = [
    "accumulate_by_key",
    "accumulate_segments",
    "group",
    "offsets",
    "reduce_segments",
    "sort_segments",
]
