# SPDX-License-Identifier: Apache-2.0
"""Contexts: places to compute, one of which is the current one of each thread."""

import atexit
import threading
import weakref
from collections import deque

import numpy as np

from . import _core, _library  # noqa: F401  (the library is loaded before a context opens)


def stream_address(stream):
    """The address of a stream: a number, or an object of CuPy, PyTorch or cuda.core; 0 of None."""
    if stream is None:
        return 0
    for name in ("ptr", "cuda_stream"):
        address = getattr(stream, name, None)
        if address is not None:
            return int(address)
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return int((protocol() if callable(protocol) else protocol)[1])
    return int(stream)


_opened: weakref.WeakSet = weakref.WeakSet()


@atexit.register
def _close_all():
    """While Python still has all it needs for it."""
    for context in list(_opened):
        context.close()


class Context(_core.Context):
    """A place to compute: "cpu", "cpu:4", "gpu", "gpu:1", "gpus"; None is the best there is, or what
    the environment variable WEFT_PLACE names.

    Inside `with Context(...)` it is the current one of the thread. Several threads may use one
    context; their calls then wait for each other.
    """

    def __init__(self, place=None):
        super().__init__()
        self._held = set()  # the addresses of the memory of its arrays
        self._freed = deque()  # those that finalizers have given up
        self._stream = 0  # the caller's stream that the library has been told of
        self._stream_owner = None  # keeps that stream until another one is followed
        self._fixed = False  # set_stream was called: streams of arrays are not followed
        self._open(place)
        _opened.add(self)

    def close(self):
        """Waits for all work and gives back what the context owns, the memory of its arrays too:
        they cannot be used any more, nor what other libraries have made of them."""
        if self.place != "closed":
            for address in list(self._held):
                _core.free(self, address)
            self._held.clear()
            self._freed.clear()
        self._close()

    def __del__(self):
        if getattr(self, "_held", None):
            self.close()

    @property
    def on_device(self):
        """Whether arrays of this place are in device memory."""
        return not self.place.startswith(("cpu", "mpi:cpu", "closed"))

    @property
    def stream(self):
        """The address of the caller's stream that calls are queued on; 0: the context's own."""
        return self._stream

    def set_stream(self, stream):
        """Queues all later calls on `stream`, of CuPy, PyTorch or an address; None: on the stream
        of each call's arrays, as at first."""
        self._follow(stream_address(stream), stream)
        self._fixed = stream is not None

    def _follow(self, address, owner=None):
        if address in (0, 1):  # 1: the legacy default stream, which the own stream is ordered with
            address = 0
        if address != self._stream:  # the one before must be there still: its work is waited for
            _core.set_stream(self, address)
            self._stream, self._stream_owner = address, owner

    def use(self, op, variant):
        """Makes operation `op` use the variant named; None lets the library choose again."""
        _core.use(self, op, variant)

    def sync(self):
        """Waits until all queued work is done, and raises what went wrong in it."""
        self._free_garbage()
        _core.sync(self)

    def set_tuning(self, path):
        """Reads a table that `weft tune` has measured; None drops it."""
        _core.set_tuning(self, path)

    def trace(self, path):
        """Within `with context.trace("t.json")` calls are recorded, for ui.perfetto.dev."""
        return _Trace(self, path)

    def empty(self, shape, dtype=float):
        """An uninitialized array in memory of the place: weft.Array."""
        from ._arrays import Array

        return Array(self, shape, dtype)

    def full(self, shape, value, dtype=None):
        """An array in memory of the place, with every element `value`."""
        array = self.empty(shape, np.asarray(value).dtype if dtype is None else dtype)
        _core.fill(self, np.array([value]).astype(array.dtype), _flat(array))
        return array

    def zeros(self, shape, dtype=float):
        """An array of zeros in memory of the place."""
        return self.full(shape, 0, dtype)

    def arange(self, start, stop=None, step=1, dtype=None):
        """Evenly spaced numbers in memory of the place, like numpy.arange."""
        start, stop = (0, start) if stop is None else (start, stop)
        ends = [np.asarray(number) for number in (start, step)]
        dtype = np.result_type(*ends, stop) if dtype is None else np.dtype(dtype)
        if dtype == bool:
            raise TypeError("arange: numbers are needed, not bool")
        array = self.empty(max(int(np.ceil((stop - start) / step)), 0), dtype)
        _core.iota(self, *(end.astype(dtype).reshape(1) for end in ends), _flat(array))
        return array

    def asarray(self, a, dtype=None):
        """A copy of a host array in memory of the place: weft.Array."""
        from ._arrays import Array

        return Array.of(self, a, dtype)

    def _alloc(self, nbytes):
        self._free_garbage()
        address = _core.alloc(self, nbytes)
        self._held.add(address)
        return address

    def _free_garbage(self):
        while self._freed:
            address = self._freed.popleft()
            if address in self._held:
                _core.free(self, address)
                self._held.discard(address)

    def __enter__(self):
        if self.place == "closed":
            raise ValueError("this context is closed: open another weft.Context")
        _local.stack = (*_local.stack, self)
        return self

    def __exit__(self, *unused):
        _local.stack = _local.stack[:-1]

    def __repr__(self):
        return f"<weft.Context {self.place}>"


def _flat(array):
    return array.as_shape((array.size,))


class _Trace:
    def __init__(self, context, path):
        self.context, self.path = context, path

    def __enter__(self):
        _core.trace_begin(self.context, self.path)

    def __exit__(self, *unused):
        _core.trace_end(self.context)


class _Local(threading.local):
    """Of each thread: its default context, and those of the `with` around, the innermost last."""

    default = None
    stack = ()


_local = _Local()


def current():
    """The current context of this thread: that of the innermost `with`, else the one that
    set_default has opened, else one on the best place, opened now."""
    if _local.stack:
        return _local.stack[-1]
    if _local.default is None:
        _local.default = Context()
    return _local.default


def set_default(place):
    """Makes `place`, a context or the name of a place, the default of this thread."""
    _local.default = place if isinstance(place, Context) else Context(place)
    return _local.default
