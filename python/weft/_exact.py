# SPDX-License-Identifier: Apache-2.0
"""Exact sums that are kept: over files, threads, processes and time."""

import numpy as np

from . import _core
from ._arrays import flat, take
from ._context import current

_BYTES = 592  # WEFT_EXACT_BYTES


class ExactSum:
    """A sum of floats without any rounding; value() rounds it once. It does not depend on the order
    in which numbers are added, nor on where. It can be pickled: parts of a sum may come from other
    processes. One thread at a time may use it.

        total = weft.ExactSum()
        for part in parts:
            total.add(part)
        total.value()
    """

    def __init__(self, a=None):
        self._state = np.zeros(_BYTES, np.uint8)
        _core.exact_start(current(), self._state)
        if a is not None:
            self.add(a)

    def add(self, a):
        """Adds all elements of `a`: float64, float32 or float16, or a number."""
        c = current()
        _core.exact_add(c, self._state, flat(self._floats(c, a)), None)
        return self

    def add_dot(self, a, b):
        """Adds the products of the elements of `a` and `b`, without rounding either."""
        c = current()
        x, y = flat(self._floats(c, a)), flat(self._floats(c, b))
        if x.shape != y.shape or x.dtype != y.dtype:
            raise ValueError("add_dot: two arrays of one length and type are needed")
        _core.exact_add(c, self._state, x, y)
        return self

    @staticmethod
    def _floats(c, a):
        x = take(c, a)
        if x.dtype.kind != "f":
            raise TypeError(f"floats are needed, not {x.dtype}: integers are exact in weft.sum")
        return x

    def merge(self, other):
        """Adds all that was added to `other`."""
        if not isinstance(other, ExactSum):
            raise TypeError(f"merge: an ExactSum is needed, not {type(other).__name__}; see add")
        _core.exact_merge(current(), self._state, other._state)
        return self

    __iadd__ = merge

    def value(self, dtype=np.float64):
        """The sum, rounded once to a type of floats."""
        y = np.empty((), dtype)
        _core.exact_value(current(), self._state, y)
        return y[()]

    @property
    def count(self):
        """How many elements and products were added."""
        return _core.exact_value(current(), self._state, np.empty(()))

    def __float__(self):
        return float(self.value())

    def __eq__(self, other):
        if not isinstance(other, ExactSum):
            return NotImplemented
        return bool((self._state == other._state).all())

    def __getstate__(self):
        return self._state.tobytes()

    def __setstate__(self, state):
        self._state = np.frombuffer(state, np.uint8).copy()

    def __repr__(self):
        return f"weft.ExactSum({float(self)!r} of {self.count})"


__all__ = ["ExactSum"]
