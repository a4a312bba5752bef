# SPDX-License-Identifier: Apache-2.0
"""Order, under numpy's names."""

import math

import numpy as np
from numpy import ndarray

from . import _core
from ._arrays import as_numbers, cast, cut, finish, flat, has_lines, last_axis, new, offsets_of
from ._arrays import output, take, take_line
from ._context import current

_RULES = {"linear": 0, "lower": 1, "higher": 2, "nearest": 3, "midpoint": 4}


def _as_one_line(run, c, a, x, dtype, descending, out):
    """What `run` makes of all elements."""
    line = flat(x)
    y = output(c, x, line.shape, dtype, out)
    run(c, descending, line, y)
    return finish(y, a, out)


def sort(a, axis=-1, *, descending=False, out=None):
    """The elements of `a` in order: along `axis`, or all of them if it is None. out may be `a`."""
    c = current()
    x = take_line(c, a)
    if not has_lines(x, axis, "sort"):
        return _as_one_line(_core.sort, c, a, x, x.dtype, descending, out)
    lines, back = last_axis(c, x, axis, "sort")
    y = output(c, x, lines.shape, x.dtype, out if lines is x else None)
    _core.sort_segments(c, descending, flat(lines), flat(y), None, None, offsets_of(lines))
    if out is not None and lines is not x:
        out[...] = back(y)
        return out
    return finish(back(y), a, out)


def sort_pairs(keys, values, *, descending=False):
    """The keys in order, and the values moved with them: (keys, values). Equal keys keep their
    order."""
    c = current()
    x, carried = flat(take(c, keys)), flat(take(c, values))
    if x.shape != carried.shape:
        raise ValueError(f"sort_pairs: {carried.size} values for {x.size} keys")
    y, moved = new(c, x, x.shape, x.dtype), new(c, carried, carried.shape, carried.dtype)
    _core.sort_pairs(c, descending, x, y, carried, moved)
    return finish(y, keys), finish(moved, values)


def argsort(a, axis=-1, *, descending=False, out=None):
    """The positions (int64) that put `a` in order. Equal elements keep their order."""
    c = current()
    x = take_line(c, a)
    if not has_lines(x, axis, "argsort"):
        return _as_one_line(_core.argsort, c, a, x, np.int64, descending, out)
    if type(x) is not ndarray:
        raise TypeError("argsort: an array in device memory must have one dimension")
    lines, back = last_axis(c, x, axis, "argsort")
    positions = np.array(
        np.broadcast_to(np.arange(lines.shape[-1]), lines.shape), np.int64, order="C"
    )
    keys = np.empty(lines.shape, x.dtype)
    _core.sort_segments(
        c, descending, flat(lines), flat(keys), flat(positions), flat(positions), offsets_of(lines)
    )
    if out is not None:
        out[...] = back(positions)
        return out
    return back(positions)


def partition(a, kth, axis=-1):
    """Like numpy.partition. It sorts, which is one way to do what that promises."""
    x = take(current(), a)
    length = x.size if axis is None else x.shape[axis]
    for k in np.atleast_1d(kth):
        if not -length <= k < length:
            raise ValueError(f"partition: kth = {k} is out of bounds for {length} elements")
    return sort(a, axis)


def argpartition(a, kth, axis=-1):
    """Like numpy.argpartition; see partition."""
    partition_length = np.shape(a)[axis] if axis is not None else np.size(a)
    for k in np.atleast_1d(kth):
        if not -partition_length <= k < partition_length:
            raise ValueError(f"argpartition: kth = {k} is out of bounds")
    return argsort(a, axis)


def top_k(a, k, *, largest=True):
    """The k largest (or smallest) elements of `a`, the first first, and their positions: (values,
    positions as uint64). NaN counts as largest. It takes about as long as reading `a`."""
    c = current()
    x = flat(take_line(c, a))
    if not 0 <= k <= x.size:
        raise ValueError(f"top_k: k = {k}, but there are {x.size} elements")
    values, positions = new(c, x, (k,), x.dtype), new(c, x, (k,), np.uint64)
    _core.top_k(c, largest, x, k, values, positions)
    return finish(values, a), finish(positions, a)


def is_sorted(a, *, descending=False):
    """Whether the elements are in order, as sort would leave them."""
    c = current()
    return _core.is_sorted(c, descending, flat(take_line(c, a))) == 2**64 - 1


def merge(a, b, *, descending=False, out=None):
    """The elements of `a` and `b`, each in order already, in one order."""
    c = current()
    x, y = flat(take(c, a)), flat(take(c, b))
    if x.dtype != y.dtype:
        raise TypeError(f"merge: the arrays have types {x.dtype} and {y.dtype}; one is needed")
    z = output(c, x, (x.size + y.size,), x.dtype, out)
    _core.merge(c, descending, x, y, z)
    return finish(z, a, out)


def searchsorted(a, v, side="left", *, descending=False):
    """Where elements `v` would go into `a`, which is in order: before those equal to them with
    side="left", behind them with "right". -0.0 comes before 0.0. Positions are int64."""
    if side not in ("left", "right"):
        raise ValueError('searchsorted: side is "left" or "right"')
    c = current()
    x, wanted = flat(take_line(c, a)), take_line(c, v)
    if x.dtype != wanted.dtype:
        common = np.result_type(x.dtype, wanted.dtype)
        x, wanted = cast(c, x, common), cast(c, wanted, common)
    y = new(c, wanted, wanted.shape, np.int64)
    _core.search(c, side == "right", descending, x, wanted, y)
    return finish(y, v) if y.ndim or type(y) is not ndarray else y[()]


def unique(a, return_index=False, return_inverse=False, return_counts=False, *, equal_nan=True):
    """The distinct elements in order, like numpy.unique; on request also the first position of each,
    what rebuilds `a`, and how often each occurs. In device memory elements are equal if their bits
    are: zeros of both signs, and NaN of different bits, stay apart there."""
    c = current()
    x = take(c, a)
    if type(x) is not ndarray:
        return _unique_on_device(c, a, flat(x), return_index or return_inverse, return_counts)
    line = x.reshape(-1)
    if not (return_index or return_inverse):
        ordered, order = sort(line), None
    else:
        order = argsort(line)
        if x.dtype.kind == "f" and not equal_nan:  # each NaN is one by itself, in the order of `a`
            nans = int(np.isnan(line).sum())
            order[len(order) - nans :].sort()
        ordered = np.empty_like(line)
        _core.gather(c, 1, order, line, ordered)
    values, lengths = np.empty_like(ordered), np.empty(ordered.shape, np.int64)
    count = _core.run_length(c, ordered, values, lengths)
    values, lengths = values[:count], lengths[:count]
    starts = np.zeros(count, np.int64)
    np.cumsum(lengths[:-1], out=starts[1:])
    if x.dtype.kind == "f":
        values, lengths, starts = _as_numbers(ordered, values, lengths, starts, equal_nan)
    result = [np.array(values)]
    if return_index:
        first = np.minimum.reduceat(order, starts) if len(starts) else order
        result.append(first)
    if return_inverse:
        inverse = np.empty(line.shape, np.int64)
        inverse[order] = np.repeat(np.arange(len(values)), lengths)
        result.append(inverse.reshape(x.shape))
    if return_counts:
        result.append(np.array(lengths))
    return result[0] if len(result) == 1 else tuple(result)


def _as_numbers(ordered, values, lengths, starts, equal_nan):
    """Runs of equal bits, made runs of equal numbers: zeros of both signs are one, and NaN are one,
    or each by itself."""
    numbers = int(np.searchsorted(values, np.inf, "right"))  # those that are no NaN
    keep = np.ones(len(values), bool)
    zero = int(np.searchsorted(values[:numbers], 0.0, "left"))
    if zero + 1 < numbers and values[zero + 1] == 0:
        keep[zero + 1] = False
    nans = int(lengths[numbers:].sum())
    if not equal_nan and nans:
        first = starts[numbers]
        keep = keep[:numbers]
        starts = np.concatenate([starts[:numbers][keep], np.arange(first, first + nans)])
        values = np.concatenate([values[:numbers][keep], ordered[first:]])
    else:
        keep[numbers + 1 :] = False
        values, starts = values[keep], starts[keep]
    return values, np.diff(starts, append=len(ordered)), starts


def _unique_on_device(c, source, x, more, return_counts):
    if more:
        raise TypeError("unique: positions and inverses of arrays in device memory are not offered")
    ordered = new(c, x, x.shape, x.dtype)
    _core.sort(c, 0, x, ordered)
    if not return_counts:
        values = new(c, x, x.shape, x.dtype)
        return finish(cut(values, _core.unique(c, ordered, values)), source)
    values, lengths = new(c, x, x.shape, x.dtype), new(c, x, x.shape, np.int64)
    count = _core.run_length(c, ordered, values, lengths)
    return finish(cut(values, count), source), finish(cut(lengths, count), source)


def _range_of(c, x):
    """The least and the largest element, as numpy's histogram wants them."""
    if x.size == 0:
        return 0.0, 1.0
    ends = np.empty((2,), x.dtype)
    _core.reduce(c, 2, x, ends[:1])
    _core.reduce(c, 3, x, ends[1:])
    return ends[0], ends[1]


def histogram(a, bins=10, range=None, density=None):
    """Like numpy.histogram without weights: (counts, edges). The last bin holds its upper edge."""
    c = current()
    x = flat(take_line(c, a))
    if isinstance(bins, str) or np.ndim(bins) > 0:
        edges = np.histogram_bin_edges(a if isinstance(bins, str) else x[:0], bins, range)
    else:
        low, high = _range_of(c, x) if range is None else range
        sample = np.array([low, high]).astype(x.dtype if x.dtype != bool else np.uint8)
        edges = np.histogram_bin_edges(sample, bins, (low, high))
    limits = edges.astype(np.float64)
    limits[-1] = np.nextafter(limits[-1], np.inf)
    if range is None and np.ndim(bins) == 0:  # the least integer may be below its float64
        limits[0] = np.nextafter(limits[0], -np.inf)
    counts = new(c, x, (len(edges) - 1,), np.int64)
    _core.histogram(c, x, len(edges) - 1, 0, 0, limits, counts, None)
    if density:
        counts = np.asarray(counts)
        return counts / np.diff(edges) / counts.sum(), edges
    return finish(counts, a), edges


def bincount(x, minlength=0):
    """How often each of the numbers 0, 1, 2 ... occurs in `x`, of integers that are not negative."""
    c = current()
    line = flat(take_line(c, x))
    if line.dtype.kind not in "iub":
        raise TypeError(f"bincount: integers are needed, not {line.dtype}")
    low, high = _range_of(c, line) if line.size else (0, -1)
    if low < 0:
        raise ValueError(f"bincount: there is a negative number, {low}")
    bins = max(int(high) + 1, minlength)
    counts = new(c, line, (bins,), np.int64)
    if bins:
        _core.histogram(c, line, bins, 0, bins, None, counts, None)
    return finish(counts, x)


def quantile(a, q, axis=None, *, method="linear"):
    """The quantiles `q`, from 0 to 1, of all elements, as float64, without a sort; NaN if there is a
    NaN. method: linear, lower, higher, nearest or midpoint."""
    if method not in _RULES:
        raise ValueError(f"quantile: method {method!r} is none of {', '.join(_RULES)}")
    c = current()
    x = as_numbers(c, take_line(c, a))
    if has_lines(x, axis, "quantile"):
        lines, _ = last_axis(c, x, axis, "quantile")
        rows = lines.reshape(math.prod(lines.shape[:-1]), lines.shape[-1])
        each = np.array([quantile(row, q, method=method) for row in rows])
        shape = np.shape(q) + lines.shape[:-1]
        return np.moveaxis(each, 0, -1).reshape(shape) if np.ndim(q) else each.reshape(shape)
    wanted = np.atleast_1d(np.asarray(q, np.float64))
    if not ((wanted >= 0) & (wanted <= 1)).all():
        raise ValueError("quantile: q must be from 0 to 1")
    floats = x.dtype.kind == "f"
    asked = np.append(wanted.ravel(), 1.0) if floats else wanted.ravel()
    result = np.empty(asked.shape)
    _core.quantiles(c, _RULES[method], flat(x), asked, result)
    if floats and result[-1] != result[-1]:
        result[:] = np.nan
    result = result[: wanted.size].reshape(np.shape(q))
    return result if np.ndim(q) else result[()]


def percentile(a, q, axis=None, *, method="linear"):
    """The percentiles `q`, from 0 to 100; see quantile."""
    return quantile(a, np.true_divide(q, 100), axis, method=method)


def median(a, axis=None):
    """The quantile 1/2, as float64."""
    return quantile(a, 0.5, axis)


def nth(a, ranks):
    """The elements that a sort would leave at positions `ranks`, without a sort."""
    c = current()
    x = flat(as_numbers(c, take_line(c, a)))
    wanted = np.asarray(ranks)
    if wanted.size and wanted.dtype.kind not in "iu":
        raise TypeError(f"nth: ranks are integers, not {wanted.dtype}")
    if wanted.size and not (wanted.min() >= 0 and wanted.max() < x.size):
        raise ValueError(f"nth: ranks must be from 0 to {x.size - 1}")
    values = np.empty(wanted.shape, x.dtype)
    _core.nth(c, x, wanted.astype(np.uint64).reshape(-1), values.reshape(-1))
    return values if wanted.ndim else values[()]


__all__ = [
    "argpartition",
    "argsort",
    "bincount",
    "histogram",
    "is_sorted",
    "median",
    "merge",
    "nth",
    "partition",
    "percentile",
    "quantile",
    "searchsorted",
    "sort",
    "sort_pairs",
    "top_k",
    "unique",
]
