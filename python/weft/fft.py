# SPDX-License-Identifier: Apache-2.0
"""Discrete Fourier transforms, under numpy.fft's names. float32 stays float32."""

import numpy as np
from numpy import ndarray

from . import _core
from ._arrays import finish, flat, new, take
from ._context import current

_COMPLEX, _FORWARD_REAL, _BACKWARD_REAL = 0, 1, 2


def _scale(norm, total, inverse):
    """What results are multiplied by."""
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f'norm is "backward", "ortho" or "forward", not {norm!r}')
    if norm == "ortho":
        return 1 / np.sqrt(total)
    return 1 / total if (norm == "forward") != inverse else 1.0


def _typed(x, complex_numbers):
    """x with elements of a type that transforms take: single precision stays single."""
    if x.dtype.kind not in "biufc":
        raise TypeError(f"numbers are needed, not {x.dtype}")
    single = x.dtype in (np.float32, np.complex64, np.float16)
    wanted = (
        np.dtype("complex64" if single else "complex128")
        if complex_numbers
        else np.dtype("float32" if single else "float64")
    )
    if x.dtype == wanted:
        return x
    if type(x) is not ndarray:
        raise TypeError(f"an array in device memory must have the type {wanted}, not {x.dtype}")
    if not complex_numbers and x.dtype.kind == "c":
        raise TypeError("real numbers are needed, not complex ones")
    return x.astype(wanted)


def _fitted(x, axes, lengths):
    """x cut or filled with zeros to the lengths along the axes, which become the last ones."""
    order = [k for k in range(x.ndim) if k not in axes] + list(axes)
    if order == list(range(x.ndim)) and tuple(x.shape[k] for k in axes) == tuple(lengths):
        return x
    if type(x) is not ndarray:
        raise TypeError("an array in device memory is transformed as it is, along its last axes")
    x = np.transpose(x, order)
    whole = x.shape[: x.ndim - len(axes)] + tuple(lengths)
    if x.shape == whole:
        return np.array(x, order="C")
    y = np.zeros(whole, x.dtype)
    common = tuple(slice(0, min(p, q)) for p, q in zip(x.shape, whole))
    y[common] = x[common]
    return y


def _transform(a, s, axes, norm, kind, inverse):
    """`s` are the lengths of the real or longer side; None where they are those of `a`."""
    c = current()
    x = take(c, a)
    x = _typed(x, kind != _FORWARD_REAL)
    axes = [k % x.ndim if -x.ndim <= k < x.ndim else _no_axis(k, x) for k in axes]
    if not 1 <= len(axes) <= 3 or len(set(axes)) != len(axes):
        raise ValueError("a transform has one to three different axes")
    full = [x.shape[k] if n is None else n for k, n in zip(axes, s)]
    if s[-1] is None and kind == _BACKWARD_REAL:
        full[-1] = 2 * (x.shape[axes[-1]] - 1)
    if min(full) < 1:
        raise ValueError(f"a transform has at least one element along each axis, not {min(full)}")
    half = full[:-1] + [full[-1] // 2 + 1]
    x = _fitted(x, axes, half if kind == _BACKWARD_REAL else full)
    others = x.shape[: x.ndim - len(axes)]
    shape = (*others, *(half if kind == _FORWARD_REAL else full))
    real = "float32" if x.dtype in (np.complex64, np.float32) else "float64"
    complex_type = "complex64" if real == "float32" else "complex128"
    y = new(c, x, shape, real if kind == _BACKWARD_REAL else complex_type)
    batch = int(np.prod(others, dtype=np.int64))
    n = full + [1] * (3 - len(full))
    scale = _scale(norm, float(np.prod(full)), inverse)
    _core.fft(c, kind, inverse, len(axes), *n, batch, scale, flat(x), flat(y))
    if type(y) is ndarray and axes != list(range(x.ndim - len(axes), x.ndim)):
        y = np.moveaxis(y, range(y.ndim - len(axes), y.ndim), axes)
    return finish(y, a)


def _no_axis(axis, x):
    raise ValueError(f"axis {axis} is out of bounds for an array of {x.ndim} dimensions")


def _many(a, s, axes, default):
    """Lengths and axes of a transform along several axes."""
    dimensions = np.ndim(a) if not hasattr(a, "shape") else len(a.shape)
    if axes is None:
        count = len(s) if s is not None else dimensions if default is None else default
        axes = range(-count, 0)
    axes = list(axes)
    s = [None] * len(axes) if s is None else list(s)
    if len(s) != len(axes):
        raise ValueError("s and axes must be as many")
    shape = np.shape(a) if not hasattr(a, "shape") else a.shape
    whole = [shape[k] if -dimensions <= k < dimensions else None for k in axes]
    return [m if n == -1 else n for n, m in zip(s, whole)], axes  # as numpy takes -1


def fft(a, n=None, axis=-1, norm=None):
    """The transform along one axis."""
    return _transform(a, [n], [axis], norm, _COMPLEX, False)


def ifft(a, n=None, axis=-1, norm=None):
    """The inverse of fft."""
    return _transform(a, [n], [axis], norm, _COMPLEX, True)


def rfft(a, n=None, axis=-1, norm=None):
    """The transform of real numbers: its first n // 2 + 1 elements, which tell the others."""
    return _transform(a, [n], [axis], norm, _FORWARD_REAL, False)


def irfft(a, n=None, axis=-1, norm=None):
    """The inverse of rfft; n is the number of real results."""
    return _transform(a, [n], [axis], norm, _BACKWARD_REAL, True)


def fftn(a, s=None, axes=None, norm=None):
    """The transform along one to three axes, all unless told."""
    return _transform(a, *_many(a, s, axes, None), norm, _COMPLEX, False)


def ifftn(a, s=None, axes=None, norm=None):
    """The inverse of fftn."""
    return _transform(a, *_many(a, s, axes, None), norm, _COMPLEX, True)


def rfftn(a, s=None, axes=None, norm=None):
    """The transform of real numbers along one to three axes; the last one is halved."""
    return _transform(a, *_many(a, s, axes, None), norm, _FORWARD_REAL, False)


def irfftn(a, s=None, axes=None, norm=None):
    """The inverse of rfftn."""
    return _transform(a, *_many(a, s, axes, None), norm, _BACKWARD_REAL, True)


def fft2(a, s=None, axes=(-2, -1), norm=None):
    """The transform along two axes."""
    return fftn(a, s, axes, norm)


def ifft2(a, s=None, axes=(-2, -1), norm=None):
    """The inverse of fft2."""
    return ifftn(a, s, axes, norm)


def rfft2(a, s=None, axes=(-2, -1), norm=None):
    """The transform of real numbers along two axes."""
    return rfftn(a, s, axes, norm)


def irfft2(a, s=None, axes=(-2, -1), norm=None):
    """The inverse of rfft2."""
    return irfftn(a, s, axes, norm)


__all__ = [
    "fft",
    "fft2",
    "fftn",
    "ifft",
    "ifft2",
    "ifftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftn",
]
