# SPDX-License-Identifier: Apache-2.0
"""Sums, statistics and scans, under numpy's names."""

import builtins
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from . import _core
from ._arrays import as_numbers, cast, check_numbers, convert, finish, flat, has_lines, is_bfloat16
from ._arrays import last_axis, new, offsets_of, output, take, take_line
from ._context import current

_SUM, _PRODUCT, _MIN, _MAX, _AND, _OR, _XOR, _ARGMIN, _ARGMAX, _NRM1, _NRM2, _NRMINF = range(12)
_SCANNED = {"add": _SUM, "multiply": _PRODUCT, "minimum": _MIN, "maximum": _MAX}
_SCANNED.update(bitwise_and=_AND, bitwise_or=_OR, bitwise_xor=_XOR)


@dataclass(frozen=True)
class Summary:
    """Of the elements that are no NaN: how many, extremes and where they are first, mean and
    variance; and the number of NaN."""

    count: int
    nans: int
    min: float
    max: float
    min_at: int
    max_at: int
    mean: float
    variance: float


def _wide(dtype):
    """The type in which weft_reduce adds elements of `dtype`."""
    if dtype.kind == "f":
        return np.float64 if dtype.itemsize == 8 else np.float32
    return np.uint64 if dtype.kind in "ub" else np.int64


def _refuse_none(x, name):
    if x.size == 0:
        raise ValueError(f"{name}: there is no element")


def _number(c, x, dtype, out):
    """Memory for a result of one number: on the host, unless `out` is given."""
    return np.empty((), dtype) if out is None else output(c, x, (), dtype, out)


def _scalar(result, out):
    return result[()] if out is None else out


def _along(c, a, x, axis, op, dtype, keepdims, name, exact=False, out=None):
    """Reduces along one axis; as the results of weft_reduce, then converted to `dtype`. `exact`:
    sums of floats, correctly rounded to `dtype`."""
    lines, _ = last_axis(c, x, axis, name)
    shape = list(x.shape)
    shape[axis] = 1
    shape = shape if keepdims else shape[: axis % x.ndim] + shape[axis % x.ndim + 1 :]
    wide = x.dtype if op in (_MIN, _MAX) else np.uint64 if op >= _ARGMIN else _wide(x.dtype)
    given = None if out is None else output(c, x, tuple(shape), dtype, out)
    y = new(c, x, tuple(shape), dtype if exact else wide)
    if lines.shape[-1] == 0:
        if op != _SUM and op != _PRODUCT:
            _refuse_none(lines[..., :1], name)
        offsets = np.zeros(y.size + 1, np.uint64)
    else:
        offsets = offsets_of(lines)
    call = _core.exact_reduce_segments if exact else _core.reduce_segments
    call(c, op, flat(lines), offsets, flat(y))
    if op in (_ARGMIN, _ARGMAX):
        return y.astype(np.int64) - offsets[:-1].astype(np.int64).reshape(y.shape)
    if given is not None:
        convert(c, flat(y), flat(given), False)
        return out
    return finish(cast(c, y, dtype), a)


def sum(a, axis=None, *, out=None, keepdims=False, exact=True):
    """The sum of all elements or along an axis, of floats correctly rounded to their type, of
    integers as int64 or uint64. exact=False adds faster, with rounding at every step."""
    c = current()
    x = as_numbers(c, take(c, a))
    floats = x.dtype.kind == "f"
    dtype = x.dtype if floats else np.uint64 if x.dtype.kind == "u" else np.int64
    if has_lines(x, axis, "sum"):
        return _along(c, a, x, axis, _SUM, dtype, keepdims, "sum", floats and exact, out)
    if floats and exact:
        y = _number(c, x, dtype, out)
        _core.exact_reduce(c, _SUM, x, y)
    else:
        y = _number(c, x, _wide(x.dtype), out)
        _core.reduce(c, _SUM, x, y)
        y = y if out is not None or y.dtype == dtype else y.astype(dtype)
    return _shaped_scalar(y, x, out, keepdims)


def _shaped_scalar(y, x, out, keepdims):
    if out is None and keepdims:
        return y.reshape((1,) * x.ndim)
    return _scalar(y, out)


def prod(a, axis=None, *, keepdims=False):
    """The product of all elements, or along an axis; of integers as int64 or uint64."""
    c = current()
    x = as_numbers(c, take_line(c, a))
    dtype = x.dtype if x.dtype.kind == "f" else np.uint64 if x.dtype.kind == "u" else np.int64
    if has_lines(x, axis, "prod"):
        return _along(c, a, x, axis, _PRODUCT, dtype, keepdims, "prod")
    y = np.empty((), _wide(x.dtype))
    _core.reduce(c, _PRODUCT, x, y)
    return _shaped_scalar(y.astype(dtype), x, None, keepdims)


def _extreme(a, axis, op, keepdims, out, name):
    c = current()
    x = as_numbers(c, take_line(c, a))
    if has_lines(x, axis, name):
        return _along(c, a, x, axis, op, x.dtype, keepdims, name, out=out)
    _refuse_none(x, name)
    y = _number(c, x, x.dtype, out)
    _core.reduce(c, op, x, y)
    return _shaped_scalar(y, x, out, keepdims)


def min(a, axis=None, *, keepdims=False, out=None):
    """The least element; NaN if there is a NaN."""
    return _extreme(a, axis, _MIN, keepdims, out, "min")


def max(a, axis=None, *, keepdims=False, out=None):
    """The largest element; NaN if there is a NaN."""
    return _extreme(a, axis, _MAX, keepdims, out, "max")


def _position(a, axis, op, name):
    c = current()
    x = take_line(c, a)
    if has_lines(x, axis, name):
        return _along(c, a, x, axis, op, np.int64, False, name)
    _refuse_none(x, name)
    y = np.empty((), np.uint64)
    _core.reduce(c, op, x, y)
    return y.astype(np.int64)[()]


def argmin(a, axis=None):
    """The first position of the least element; of a NaN if there is one. -0.0 is less than 0.0."""
    return _position(a, axis, _ARGMIN, "argmin")


def argmax(a, axis=None):
    """The first position of the largest element; of a NaN if there is one. 0.0 exceeds -0.0."""
    return _position(a, axis, _ARGMAX, "argmax")


def _scan(a, op, axis, out, exclusive, name, widen, exact=False):
    c = current()
    x = take_line(c, a)
    kind = "f" if is_bfloat16(x.dtype) else x.dtype.kind
    wide = (np.uint64 if kind == "u" else np.int64) if widen and kind != "f" else x.dtype
    if op == _SUM and wide == bool:
        check_numbers(x, name)
    if not has_lines(x, axis, name):
        x = flat(x)
        y = output(c, x, x.shape, wide, out)
        if exact and kind == "f":
            _core.exact_scan(c, exclusive, x, y)
        elif y.dtype == x.dtype:
            _core.scan(c, exclusive, op, x, y)
        else:
            _core.scan_wide(c, exclusive, op, x, y, None)
        return finish(y, a, out)
    if exact and kind == "f":
        raise ValueError(f"{name}: exact sums run over all elements, not along an axis")
    x = cast(c, x, wide)
    lines, back = last_axis(c, x, axis, name)
    y = output(c, x, lines.shape, x.dtype, out if lines is x else None)
    _core.scan_segments(c, exclusive, op, flat(lines), flat(y), offsets_of(lines))
    if out is not None and lines is not x:
        out[...] = back(y)
        return out
    return finish(back(y), a, out)


def cumsum(a, axis=None, *, out=None, exclusive=False, exact=False):
    """Running sums; of integers as int64 or uint64. exclusive: each without its own element. exact:
    every sum of floats is the exact one, rounded once."""
    return _scan(a, _SUM, axis, out, exclusive, "cumsum", True, exact)


def cumprod(a, axis=None, *, out=None, exclusive=False):
    """Running products; of integers as int64 or uint64."""
    return _scan(a, _PRODUCT, axis, out, exclusive, "cumprod", True)


def accumulate(a, op="add", axis=None, *, out=None, exclusive=False):
    """Running results in the type of `a`: op is add, multiply, minimum, maximum, bitwise_and,
    bitwise_or or bitwise_xor. out may be `a`."""
    if op not in _SCANNED:
        raise ValueError(f"accumulate: op {op!r} is none of {', '.join(_SCANNED)}")
    return _scan(a, _SCANNED[op], axis, out, exclusive, "accumulate", False)


def dot(a, b, *, out=None, exact=True):
    """The product of two vectors, of floats correctly rounded; of matrices what matmul gives."""
    c = current()
    x, y = as_numbers(c, take(c, a)), as_numbers(c, take(c, b))
    if x.ndim != 1 or y.ndim != 1:
        from .linalg import matmul

        return matmul(a, b, out=out)
    if x.shape != y.shape:
        raise ValueError(f"dot: the vectors have {x.size} and {y.size} elements")
    if x.dtype != y.dtype:
        common = np.result_type(x.dtype, y.dtype)
        x, y = cast(c, x, common), cast(c, y, common)
    if x.dtype.kind == "f" and exact:
        z = _number(c, x, x.dtype, out)
        _core.exact_dot(c, x, y, z)
    else:
        z = _number(c, x, _wide(x.dtype), out)
        _core.dot_fast(c, x, y, z)
    return _scalar(z, out)


def norm(a, ord=2):
    """The 1-, 2- or infinity norm of all elements; of floats the first two correctly rounded."""
    c = current()
    x = as_numbers(c, take(c, a))
    ops = {1: _NRM1, 2: _NRM2, np.inf: _NRMINF}
    if ord not in ops:
        raise ValueError("norm: ord is 1, 2 or infinity")
    if x.dtype.kind == "f" and ord != np.inf:
        y = np.empty((), x.dtype)
        _core.exact_reduce(c, ops[ord], x, y)
    else:
        if x.dtype.kind not in "biuf":
            raise TypeError(f"norm: real numbers are needed, not {x.dtype}")
        x = x if x.dtype.kind == "f" else cast(c, x, np.float64)
        y = np.empty((), x.dtype)
        _core.reduce(c, ops[ord], x, y)
    return y[()]


def summary(a):
    """Count, extremes, mean and variance in one pass; NaN are counted and left out."""
    c = current()
    record = np.empty(8, np.uint64)
    _core.summary(c, flat(take_line(c, a)), record)
    reals = record.view(np.float64)
    count, nans, min_at, max_at = (int(record[k]) for k in (0, 1, 4, 5))
    least, most, mean_of, variance = (float(reals[k]) for k in (2, 3, 6, 7))
    return Summary(count, nans, least, most, min_at, max_at, mean_of, variance)


def mean(a, axis=None):
    """The mean: of floats correctly rounded to their type, of integers as float64. Along an axis it
    is the exact sum, rounded to float64, over the number of elements."""
    c = current()
    x = as_numbers(c, take(c, a))
    if has_lines(x, axis, "mean"):
        dtype = x.dtype if x.dtype.kind == "f" else np.float64
        if x.dtype.kind != "f" and x.dtype.itemsize == 8:
            x = cast(c, x, np.float64)  # sums of integers would wrap
        sums = _along(c, a, x, axis, _SUM, np.float64, False, "mean", x.dtype.kind == "f")
        return (np.asarray(sums) / x.shape[axis]).astype(dtype)
    if x.dtype.kind != "f":
        s = summary(x)
        if s.count and builtins.max(-s.min, s.max) * s.count < 2**62:  # the sum cannot overflow
            return np.float64(int(sum(x)) / s.count)
        return np.float64(s.mean)
    y = np.empty((), x.dtype)
    _core.mean(c, x, y)
    return y[()]


def var(a, *, ddof=0):
    """The variance of all elements: of floats correctly rounded, of integers as float64."""
    c = current()
    x = as_numbers(c, take(c, a))
    if x.dtype.kind != "f":
        s = summary(x)
        return np.float64(s.variance * s.count / (s.count - ddof) if s.count > ddof else np.nan)
    y = np.empty((), x.dtype)
    _core.variance(c, ddof, x, y)
    return y[()]


def std(a, *, ddof=0):
    """The square root of the variance."""
    return np.sqrt(var(a, ddof=ddof))


_BINARY = {"add": 3, "subtract": 4, "multiply": 5, "divide": 6, "minimum": 7, "maximum": 8}
_BINARY.update(remainder=9, bitwise_and=10, bitwise_or=11, bitwise_xor=12, left_shift=13)
_BINARY.update(right_shift=14, power=15, equal=16, not_equal=17, less=18, less_equal=19)
_BINARY.update(greater=20, greater_equal=21)
_UNARY = {"negative": 22, "absolute": 23, "invert": 24, "sqrt": 25, "exp": 26, "log": 27}
_UNARY.update(floor=28, ceil=29, rint=30)
_OF_BOOLS = {"bitwise_and", "bitwise_or", "bitwise_xor", "multiply", "minimum", "maximum"}
_OF_BOOLS.add("absolute")


def _held(number, dtype, name):
    """A number as one of a type, which an integer type must hold as it is."""
    fits = not np.iscomplexobj(number)
    try:
        x = np.array([number if fits else 0]).astype(dtype)
        fits = fits and (dtype.kind not in "iub" or x[0] == number)
    except OverflowError:
        fits = False
    if not fits:
        raise ValueError(f"{name}: {dtype} does not hold {number}; convert the array by weft.astype")
    return x


def elementwise(op, a, b=None, *, out=None):
    """One operation on each element, for arrays in device memory (numpy does it on the host):
    op is add, subtract, multiply, divide, minimum, maximum, remainder, bitwise_and, _or, _xor,
    left_shift, right_shift, power, equal, not_equal, less, less_equal, greater, greater_equal with
    an array or a number `b`; or negative, absolute, invert, sqrt, exp, log, floor, ceil, rint."""
    c = current()
    x = take_line(c, a)
    if b is None:
        if op not in _UNARY:
            raise ValueError(f"elementwise: op {op!r} is none of {', '.join(_UNARY)}")
        z = output(c, x, x.shape, x.dtype, out)
        if op == "invert" and x.dtype == bool:
            _core.binary_scalar(c, _BINARY["equal"], x, np.zeros(1, bool), z)
            return finish(z, a, out)
        if op not in _OF_BOOLS:
            check_numbers(x, f"elementwise: {op}")
        _core.unary(c, _UNARY[op], x, z)
        return finish(z, a, out)
    if op not in _BINARY:
        raise ValueError(f"elementwise: op {op!r} is none of {', '.join(_BINARY)}")
    compares = _BINARY[op] >= _BINARY["equal"]
    if not compares and op not in _OF_BOOLS:
        check_numbers(x, f"elementwise: {op}")
    z = output(c, x, x.shape, np.bool_ if compares else x.dtype, out)
    if np.isscalar(b):
        _core.binary_scalar(c, _BINARY[op], x, _held(b, x.dtype, f"elementwise: {op}"), z)
    else:
        y = take_line(c, b)
        if y.shape != x.shape or y.dtype != x.dtype:
            raise ValueError("elementwise: both arrays need the same shape and type")
        _core.binary(c, _BINARY[op], x, y, z)
    return finish(z, a, out)


def where(condition, a, b, *, out=None):
    """Elements of `a` where `condition`, of bool or uint8, is not 0, else of `b`."""
    c = current()
    mask, x, y = take_line(c, condition), take_line(c, a), take_line(c, b)
    if not mask.shape == x.shape == y.shape or x.dtype != y.dtype or mask.dtype.itemsize != 1:
        raise ValueError(
            "where: a mask of bytes and two arrays of its shape and one type are needed; "
            'numbers are taken by weft.evaluate("where(mask, x, 0)", mask=mask, x=x)'
        )
    z = output(c, x, x.shape, x.dtype, out)
    _core.where(c, mask, x, y, z)
    return finish(z, a, out)


def astype(a, dtype, *, saturate=False):
    """Elements converted to another type; what an integer cannot hold becomes its nearest end with
    saturate, else its low bits. Of bool, whether an element is not 0."""
    c = current()
    x = take_line(c, a)
    y = new(c, x, x.shape, np.dtype(dtype))
    convert(c, x, y, saturate)
    return finish(y, a)


__all__ = [
    "Summary",
    "accumulate",
    "argmax",
    "argmin",
    "astype",
    "cumprod",
    "cumsum",
    "dot",
    "elementwise",
    "max",
    "mean",
    "min",
    "norm",
    "prod",
    "std",
    "sum",
    "summary",
    "var",
    "where",
]
