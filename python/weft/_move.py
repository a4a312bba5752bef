# SPDX-License-Identifier: Apache-2.0
"""Choosing, moving and counting elements, under numpy's names."""

import numpy as np
from numpy import ndarray

from . import _arrays, _core
from ._arrays import cast, cut, finish, flat, new, output
from ._context import current


def flatnonzero(a):
    """The positions (int64) of the elements that are not 0, in the flattened array."""
    c = current()
    x = flat(_arrays.take_line(c, a))
    y = new(c, x, x.shape, np.int64)
    return finish(cut(y, _core.nonzero(c, x, y)), a)


def count_nonzero(a):
    """How many elements are not 0."""
    c = current()
    return _core.count_nonzero(c, flat(_arrays.take(c, a)))


def _flags_for(c, condition, x, name):
    flags = flat(_arrays.take(c, condition))
    if flags.shape != x.shape:
        raise ValueError(f"{name}: {flags.size} conditions for {x.size} elements")
    return flags


def compress(condition, a):
    """The elements of `a` where `condition` is not 0, in their order."""
    c = current()
    x = flat(_arrays.take(c, a))
    flags = _flags_for(c, condition, x, "compress")
    y = new(c, x, x.shape, x.dtype)
    return finish(cut(y, _core.select(c, flags, x, y)), a)


def place(a, mask, values):
    """Puts `values` into `a` where `mask` is not 0, in their order: the inverse of compress. There
    must be enough of them."""
    c = current()
    y = flat(_given(c, a))
    flags = _flags_for(c, mask, y, "place")
    x = flat(cast(c, _arrays.take(c, values), y.dtype))
    wanted = _core.count_nonzero(c, flags)
    if x.size < wanted:
        raise ValueError(f"place: {x.size} values for {wanted} elements")
    _core.expand(c, flags, x, y)


def _given(c, a):
    """An array that is written: it must be one, and lie without gaps."""
    if not hasattr(a, "dtype"):
        raise TypeError("an array is needed, into which the call can write")
    return output(c, None, a.shape, a.dtype, a)


def _indices(c, indices):
    """Indices as the library takes them."""
    index = _arrays.take(c, indices)
    if index.size == 0 and type(index) is ndarray:
        return index.astype(np.int64)
    if index.dtype.kind not in "iu":
        raise TypeError(f"indices are integers, not {index.dtype}")
    return index if index.dtype.itemsize >= 4 else cast(c, index, np.int64)


def _rows(x, axis, name):
    """x with `axis` first, and how many elements one index stands for."""
    if axis is None:
        return flat(x), 1
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"{name}: axis {axis} is out of bounds for {x.ndim} dimensions")
    if axis % x.ndim:
        if type(x) is not ndarray:
            raise TypeError(f"{name}: of an array in device memory, the first axis or all of it")
        x = np.array(np.moveaxis(x, axis, 0), order="C")
    return x, x.size // x.shape[0] if x.shape[0] else 1


def take(a, indices, axis=None, *, out=None):
    """a[indices], along `axis` or of the flattened array. Every index is checked; they run from 0."""
    c = current()
    index = _indices(c, indices)
    x, row = _rows(_arrays.take(c, a), axis, "take")
    moved = axis is not None and axis % x.ndim != 0
    y = output(c, x, (*index.shape, *x.shape[1:]), x.dtype, None if moved else out)
    if row:
        _core.gather(c, row, flat(index), flat(x), flat(y))
    if moved:
        y = np.moveaxis(y, range(index.ndim), range(axis % x.ndim, axis % x.ndim + index.ndim))
        if out is not None:
            out[...] = y
    return finish(y, a, out)


def put(a, indices, values, axis=None):
    """a[indices] = values, in place; with axis=0 whole rows. Of equal indices the last one counts."""
    if axis not in (None, 0):
        raise ValueError("put: axis is None or 0")
    c = current()
    y, index = _given(c, a), _indices(c, indices)
    row = 1 if axis is None or not y.shape[0] else y.size // y.shape[0]
    shape = index.shape if axis is None else (*index.shape, *y.shape[1:])
    x = cast(c, _arrays.take(c, values), y.dtype)
    if tuple(x.shape) != shape:
        if type(x) is not ndarray:
            raise ValueError(f"put: the values have shape {tuple(x.shape)}, not {shape}")
        x = np.array(np.broadcast_to(x, shape), order="C")
    if row:
        _core.scatter(c, row, flat(index), flat(x), flat(y))


def transpose(a, *, out=None):
    """A matrix turned over its diagonal, as a copy: rows of the result have no gaps."""
    c = current()
    x = _arrays.take(c, a)
    if x.ndim != 2:
        raise ValueError("transpose: a matrix is needed")
    rows, cols = x.shape
    y = output(c, x, (cols, rows), x.dtype, out)
    _core.transpose(c, rows, cols, flat(x), flat(y))
    return finish(y, a, out)


def diff(a):
    """The differences of neighbours along the last axis, a[..., 1:] - a[..., :-1]."""
    c = current()
    x = _arrays.take(c, a)
    _arrays.check_numbers(x, "diff")
    if x.ndim != 1 and type(x) is not ndarray:
        raise TypeError("diff: an array in device memory needs one dimension")
    if x.ndim == 0:
        raise ValueError("diff: a number has no neighbours")
    y = new(c, x, (x.size,), x.dtype)
    _core.adjacent_difference(c, flat(x), y)
    if x.ndim > 1:
        return np.array(y.reshape(x.shape)[..., 1:])
    return finish(cut(y, max(x.size - 1, 0), min(x.size, 1)), a)


def blend(a, b, weight_a=0.5, weight_b=0.5, *, mask=None, out=None):
    """weight_a * a + weight_b * b of images (rows, columns) or (rows, columns, 1 to 4 channels) of
    uint8, uint16 or float32, rounded and kept in range; or with a mask of one number for each pixel
    m * a + (1 - m) * b, where the largest integer stands for m = 1."""
    c = current()
    x, y = _arrays.take(c, a), _arrays.take(c, b)
    m = None if mask is None else _arrays.take(c, mask)
    if x.ndim not in (2, 3) or x.shape != y.shape or x.dtype != y.dtype:
        raise ValueError("blend: two images of one shape and type are needed")
    if m is not None and (tuple(m.shape) != tuple(x.shape[:2]) or m.dtype != x.dtype):
        raise ValueError("blend: the mask has the rows, the columns and the type of the images")
    _arrays.check_numbers(x, "blend")
    height, width = x.shape[:2]
    z = output(c, x, x.shape, x.dtype, out)
    channels = x.shape[2] if x.ndim == 3 else 1
    _core.blend(c, width, height, channels, weight_a, weight_b, x, y, m, z)
    return finish(z, a, out)


__all__ = [
    "blend",
    "compress",
    "count_nonzero",
    "diff",
    "flatnonzero",
    "place",
    "put",
    "take",
    "transpose",
]
