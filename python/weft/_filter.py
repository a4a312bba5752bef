# SPDX-License-Identifier: Apache-2.0
"""Convolutions: of signals as numpy does, of images as scipy.ndimage does."""

import numpy as np
from numpy import ndarray

from . import _core
from ._arrays import check_numbers, finish, flat, new, reals, refuse_mask, take
from ._context import current

_BORDERS = {"constant": 0, "nearest": 1, "reflect": 2, "wrap": 3, "valid": 4}
_CORRELATE, _SUMS_F64, _TRUNCATE, _ANY_ORDER = 1, 4, 8, 16


def convolve(a, v, mode="full"):
    """Like numpy.convolve, for real numbers; integers become float64. Long filters are applied by
    Fourier transforms where that is faster."""
    if mode not in ("full", "same", "valid"):
        raise ValueError('convolve: mode is "full", "same" or "valid"')
    refuse_mask(a)
    refuse_mask(v)
    x, w = np.asarray(a), np.asarray(v)
    if x.ndim != 1 or w.ndim != 1 or x.size == 0 or w.size == 0:
        raise ValueError("convolve: two arrays of one dimension that are not empty are needed")
    if len(w) > len(x):
        x, w = w, x
    dtype = np.float32 if x.dtype == w.dtype == np.float32 else np.float64
    x, weights = reals(x, "convolve"), np.array(reals(w, "convolve"))
    n, m = len(x), len(w)
    before, after = m - 1, m - 1
    if mode == "same":
        before, after = m // 2, (m - 1) // 2
    elif mode == "valid":
        before = after = 0
    padded = np.zeros(n + before + after, dtype)
    padded[before : before + n] = x
    y = np.empty(len(padded) - m + 1, dtype)
    if not np.isfinite(weights).all():
        raise ValueError("convolve: the shorter array has NaN or infinity")
    how = _ANY_ORDER | (_SUMS_F64 if dtype == np.float64 else 0)
    _core.convolve(current(), 4, how, len(padded), 1, 1, 1, m, 1, padded, weights, y)
    return y


def correlate_image(
    image,
    weights,
    mode="reflect",
    *,
    turned=False,
    out_dtype=None,
    exact=False,
    truncate=False,
    any_order=False,
):
    """Filters an image (rows, columns) or (rows, columns, 1 to 4 channels) of uint8, uint16,
    float16, float32 or float64 as scipy.ndimage.correlate does; turned: as its convolve. mode is
    constant (zeros), nearest, reflect, wrap, or valid: only where the weights lie inside.
    out_dtype: that of the image if not given, or any of these: integers are rounded to nearest, or
    with truncate towards zero, and what is beyond their range becomes its end. exact: sums in
    float64. any_order: Fourier transforms, and sums of separable filters, where they are faster."""
    if mode not in _BORDERS:
        raise ValueError(f"correlate_image: mode {mode!r} is none of {', '.join(_BORDERS)}")
    c = current()
    x = take(c, image)
    w = np.array(reals(weights, "correlate_image"))
    if x.ndim not in (2, 3) or w.ndim != 2:
        raise ValueError("correlate_image: an image and a matrix of weights are needed")
    check_numbers(x, "correlate_image")
    height, width = x.shape[:2]
    channels = x.shape[2] if x.ndim == 3 else 1
    out = (height, width)
    if mode == "valid":
        out = (max(height - w.shape[0] + 1, 0), max(width - w.shape[1] + 1, 0))
    y = new(c, x, (*out, *x.shape[2:]), x.dtype if out_dtype is None else np.dtype(out_dtype))
    check_numbers(y, "correlate_image")
    how = (0 if turned else _CORRELATE) | (_SUMS_F64 if exact else 0)
    how |= (_TRUNCATE if truncate else 0) | (_ANY_ORDER if any_order else 0)
    _core.convolve(
        c,
        _BORDERS[mode],
        how,
        width,
        height,
        channels,
        1,
        w.shape[1],
        w.shape[0],
        flat(x),
        w,
        flat(y),
    )
    return finish(y, image) if type(y) is not ndarray else y
