# SPDX-License-Identifier: Apache-2.0
"""Random numbers of a seed: the same bits on every place and at any number of threads."""

import os

import numpy as np

from . import _core
from ._arrays import check_numbers, cut, flat, written
from ._context import current
from ._move import take

_BLOCK = 16  # bytes of the sequence that Philox makes at once


class Generator:
    """Philox4x32-10. Every array goes on where the one before ended: two calls in a row for n numbers
    of a kind and type give what one call for 2 n gives, and no two calls use the same bits. Its
    numbers are not those of numpy's generators."""

    def __init__(self, seed=None):
        if seed is None:
            seed = int.from_bytes(os.urandom(8), "little")
        self.seed = int(seed) % 2**64
        self._used = 0  # bytes of the sequence
        self._latest = None  # of which kind and width the latest numbers were
        self._permutations = 0

    def _fill(self, kind, run, size, dtype, out, width=None):
        """`width`: the bytes of the sequence that a number takes, if not those of its type."""
        c = current()
        if out is None:
            shape = () if size is None else size
            x = c.empty(shape, dtype) if c.on_device else np.empty(shape, dtype)
        else:
            x = out if type(out) is np.ndarray else written(c, out)
            if type(x) is np.ndarray and not x.flags.carray:
                raise ValueError(
                    "out must be writable and aligned, without gaps between its elements"
                )
        width = width or x.dtype.itemsize
        # Numbers of another kind begin with a block, for normal ones are made of pairs.
        used = self._used if self._latest == (kind, width) else -(-self._used // _BLOCK) * _BLOCK
        run(c, used // width, flat(x) if x.ndim else x)
        self._used, self._latest = used + x.size * width, (kind, width)
        if out is not None:
            return out
        return x[()] if size is None and type(x) is np.ndarray else x

    def random(self, size=None, dtype=np.float64, *, out=None):
        """Floats x with 0 <= x < 1, all equally likely."""
        return self._fill(
            "u", lambda c, at, x: _core.random_uniform(c, self.seed, at, x), size, dtype, out
        )

    def standard_normal(self, size=None, dtype=np.float64, *, out=None):
        """Normally distributed floats of mean 0 and variance 1."""
        return self._fill(
            "n", lambda c, at, x: _core.random_normal(c, self.seed, at, x), size, dtype, out
        )

    def normal(self, loc=0.0, scale=1.0, size=None):
        """Normally distributed float64 of mean `loc` and standard deviation `scale`, on the host."""
        if np.any(np.asarray(scale) < 0):
            raise ValueError("normal: scale is less than 0")
        return loc + scale * np.asarray(self.standard_normal(size))

    def bits(self, size=None, dtype=np.uint64, *, out=None):
        """Integers of which every bit is random."""

        def run(c, at, x):
            check_numbers(x, "bits")
            _core.random_bits(c, self.seed, at, x)

        return self._fill("b", run, size, dtype, out)

    def integers(self, low, high=None, size=None, dtype=np.int64, *, endpoint=False):
        """Integers from `low` to `high`, which is left out unless endpoint; all equally likely."""
        low, high = (0, low) if high is None else (low, high)
        last = high if endpoint else high - 1
        if last < low:
            raise ValueError(f"integers: there is none from {low} to {last}")
        ends = [np.array([end]).astype(dtype) for end in (low, last)]
        if int(ends[0][0]) != low or int(ends[1][0]) != last:
            raise ValueError(f"integers: {np.dtype(dtype)} cannot hold {low} and {last}")
        return self._fill(
            "i",
            lambda c, at, x: _core.random_integers(c, self.seed, at, *ends, x),
            size,
            dtype,
            None,
            8 if last - low >= 2**32 else 4,
        )

    def permutation(self, n):
        """The numbers 0 to n - 1 in an order that the seed and the calls before choose; or a copy of
        an array with its elements, or rows, in such an order."""
        if not hasattr(n, "shape") and not hasattr(n, "__index__"):
            n = np.asarray(n)
        if getattr(n, "shape", ()) != ():
            return take(n, self.permutation(n.shape[0]), axis=0)
        count = self._permutations
        self._permutations += 1
        c = current()
        x = c.empty((n,), np.int64) if c.on_device else np.empty(n, np.int64)
        _core.random_permutation(c, (self.seed + 0x9E3779B97F4A7C15 * count) % 2**64, x)
        return x

    def choice(self, a, size=None, replace=True):
        """Elements, or rows, of `a` (or of the numbers 0 to a - 1), all equally likely."""
        if not hasattr(a, "shape") and not hasattr(a, "__index__"):
            a = np.asarray(a)
        n = a.shape[0] if hasattr(a, "shape") else int(a)
        if replace:
            chosen = self.integers(0, n, size)
        else:
            count = 1 if size is None else int(np.prod(size))
            if count > n:
                raise ValueError(f"choice: {count} different ones of {n}")
            chosen = cut(self.permutation(n), count).reshape(() if size is None else size)
        return take(a, chosen, axis=0) if hasattr(a, "shape") else chosen


def default_rng(seed=None):
    """A generator; without a seed, of one that the system draws."""
    return Generator(seed)


__all__ = ["Generator", "default_rng"]
