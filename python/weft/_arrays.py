# SPDX-License-Identifier: Apache-2.0
"""Arrays: what comes in is taken where it lies, host or device, and results go where it lay."""

import sys

import numpy as np
from numpy import ndarray

from . import _core

# The numbers of the library's types; of complex ones the number of the parts + 64.
_TYPES = {"int8": 0, "int16": 1, "int32": 2, "int64": 3, "uint8": 4, "uint16": 5, "uint32": 6}
_TYPES.update(uint64=7, float16=8, bfloat16=9, float32=10, float64=11)
_TYPES.update(bool=_TYPES["uint8"], complex64=_TYPES["float32"] + 64)
_TYPES.update(complex128=_TYPES["float64"] + 64)


class DeviceView:
    """An array in device memory, of another library or of weft; what functions compute with."""

    strides = None
    readonly = False
    base = None

    @property
    def _raw(self):
        number = _TYPES.get(self.dtype.name)
        if number is None or not self.dtype.isnative:
            raise TypeError(f"elements of the type {self.dtype} are not supported")
        return (self._address, number, self.shape, self.strides, not self.readonly)

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        n = 1
        for length in self.shape:
            n *= length
        return n

    @property
    def nbytes(self):
        return self.size * self.dtype.itemsize

    def __len__(self):
        return self.shape[0]

    def as_shape(self, shape):
        """The same memory with another shape; there are no gaps."""
        view = DeviceView()
        view.shape, view.dtype, view.base = tuple(shape), self.dtype, self
        view._address, view.readonly = self._address, self.readonly
        return view


class Array(DeviceView):
    """An array in memory of a context's place. CuPy, PyTorch, Numba and JAX take it as it is:
    cupy.asarray(a), torch.as_tensor(a, device="cuda"), jax.dlpack.from_dlpack(a)."""

    def __init__(self, context, shape, dtype=float):
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.dtype = np.dtype(dtype)
        self.context = context
        self._address = 0
        self._address = context._alloc(self.nbytes)

    @classmethod
    def of(cls, context, a, dtype=None):
        """A copy of host array `a` in memory of the place."""
        host = np.ascontiguousarray(a, dtype)
        array = cls(context, np.shape(a), host.dtype)
        _core.copy(context, as_bytes(host), as_bytes(array))
        return array

    def numpy(self):
        """A copy in host memory."""
        host = np.empty(self.shape, self.dtype)
        _core.copy(self.context, as_bytes(self), as_bytes(host))
        return host

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("an array in device memory becomes a numpy array by a copy only")
        host = self.numpy()
        return host if dtype is None else host.astype(dtype)

    def reshape(self, *shape):
        """The same memory with another shape."""
        lengths = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        view = np.empty(0, self.dtype) if self.size == 0 else np.broadcast_to(0, self.shape)
        return self._view(view.reshape(lengths).shape, self.dtype)

    def _view(self, shape, dtype, offset=0):
        """Part of the same memory, from `offset` bytes on; self owns it."""
        array = object.__new__(Array)
        array.shape, array.dtype, array.context = shape, dtype, self.context
        array._address, array.base = self._address + offset, self
        return array

    def _check_open(self):
        if self.context.place == "closed":
            raise ValueError("the context of this array is closed, and its memory given back")

    @property
    def _raw(self):
        self._check_open()
        return super()._raw

    @property
    def __cuda_array_interface__(self):
        if not self.context.on_device:
            raise AttributeError("an array of place cpu is in host memory")
        return {**self._described(), "stream": self.context.stream or 1}

    @property
    def __array_interface__(self):
        if self.context.on_device:
            raise AttributeError("an array in device memory: numpy() gives a copy in host memory")
        return self._described()

    def _described(self):
        self._check_open()
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self._address, False),
            "strides": None,
            "version": 3,
        }

    def __dlpack_device__(self):
        from . import _dlpack

        self._check_open()
        return _dlpack.device_of(self.context)

    def __dlpack__(self, *, stream=None, **unused):
        from . import _dlpack

        self._check_open()
        return _dlpack.capsule_of(self, stream)

    def __repr__(self):
        if self.context.place == "closed":
            return f"weft.Array(of shape {self.shape} and type {self.dtype}, closed)"
        return f"weft.Array({self.numpy()!r} on {self.context.place})"

    def __del__(self):
        if self.base is None and self._address:
            self.context._freed.append(self._address)


def _library_of(a):
    """The name of the library whose array `a` is."""
    return type(a).__module__.partition(".")[0]


def _stream_of(a, library, address):
    """The stream of array `a`: its address, and what keeps it from being destroyed, or None. The
    interface of PyTorch names none; CuPy destroys one with the last reference to it."""
    if address is None and library == "torch":
        address = sys.modules["torch"].cuda.current_stream(a.device).cuda_stream
    if library == "cupy":
        current = sys.modules["cupy"].cuda.get_current_stream()
        if current.ptr == address:
            return address, current
    return address or 0, None


def bfloat16():
    """The type of ml_dtypes, for numpy has none of its own."""
    try:
        import ml_dtypes
    except ImportError:
        raise TypeError(
            "elements of the type bfloat16 need ml_dtypes, which numpy knows the type by: "
            "pip install ml_dtypes"
        ) from None
    return np.dtype(ml_dtypes.bfloat16)


def _from_interface(context, a, interface):
    """A view of what __cuda_array_interface__ describes."""
    library = _library_of(a)
    is_bfloat16 = library == "torch" and a.dtype == sys.modules["torch"].bfloat16
    view = DeviceView()
    view.base = a
    view.shape = tuple(interface["shape"])
    view.dtype = bfloat16() if is_bfloat16 else np.dtype(interface["typestr"])
    view._address, view.readonly = interface["data"]
    view.strides = interface.get("strides")
    if interface.get("mask") is not None:
        raise TypeError("arrays with a mask are not supported")
    if not context._fixed:
        context._follow(*_stream_of(a, library, interface.get("stream")))
    return view


def _take_other(context, a):
    """What `take` does with anything but a plain numpy array."""
    if isinstance(a, Array):
        if not context.on_device and not a.context.on_device:
            return np.asarray(_Host(a)) if a.size else np.empty(a.shape, a.dtype)
        view = a
    else:
        refuse_mask(a)
        interface = getattr(a, "__cuda_array_interface__", None)
        if interface is not None:
            view = _from_interface(context, a, interface)
        elif hasattr(a, "__dlpack_device__") and not isinstance(a, (ndarray, np.generic)):
            from . import _dlpack

            view = _dlpack.take(context, a)
        else:
            return np.ascontiguousarray(a) if np.ndim(a) else np.asarray(a)
    if isinstance(view, DeviceView) and not context.on_device:
        raise TypeError(
            f"the array is in device memory, but the context is on {context.place}: "
            'use weft.Context("gpu")'
        )
    return view


class _Host:
    """The interface of an array in host memory, which keeps it alive."""

    def __init__(self, array):
        self.array = array
        self.__array_interface__ = array.__array_interface__


def _native(x):
    """Numbers in the other order of bytes become a copy in this machine's; records stay."""
    return x if x.dtype.names else x.astype(x.dtype.newbyteorder("="), order="C")


def _laid(context, a):
    """What `a` is: an array of numpy, in this machine's order of bytes, or in device memory."""
    x = a if type(a) is ndarray else _take_other(context, a)
    return x if x.dtype.isnative or type(x) is not ndarray else _native(x)


def take(context, a):
    """Array `a` as the extension module takes it, where it lies; a numpy array with gaps, at an
    odd address or in the other order of bytes, and what is no array, by a copy."""
    x = _laid(context, a)
    if type(x) is ndarray:
        flags = x.flags
        if not flags.carray and not (flags.c_contiguous and flags.aligned):
            return np.array(x, order="C")
    return x


def take_line(context, a):
    """The same, but the elements of a vector may lie apart, at any address."""
    x = _laid(context, a)
    if type(x) is not ndarray or (x.ndim == 1 and x.size > 1 and x.strides[0] > x.itemsize):
        return x
    return take(context, x)


def take_matrix(context, a):
    """The same, but the rows or the columns of a matrix may lie apart."""
    x = _laid(context, a)
    if type(x) is not ndarray or (x.flags.forc and x.flags.aligned):
        return x
    item = x.itemsize
    if x.ndim == 2 and x.flags.aligned and item in x.strides:
        near = 1 if x.strides[1] == item else 0
        far = x.strides[1 - near]
        if far >= item * x.shape[near] and far % item == 0:  # else windows overlap
            return x
    return np.array(x, order="C")


def flat(x):
    """All elements in one dimension."""
    if x.ndim == 1:
        return x
    return x.reshape(-1) if type(x) is ndarray else x.as_shape((x.size,))


def shaped(x, shape):
    """The same memory with another shape."""
    return x.reshape(shape) if type(x) is ndarray else x.as_shape(shape)


def new(context, like, shape, dtype):
    """Memory for a result, where `like` lies."""
    if type(like) is ndarray:
        return np.empty(shape, dtype)
    return Array(context, shape, dtype)


def refuse_mask(a):
    if isinstance(a, np.ma.MaskedArray) and np.ma.is_masked(a):
        raise TypeError("masked elements are not supported: pass a.compressed() or a.filled(value)")


def written(context, out):
    """The memory of an array into which a call writes, never a copy of it."""
    if isinstance(out, ndarray):
        refuse_mask(out)
        return out.view(ndarray)
    if isinstance(out, DeviceView) or hasattr(out, "__dlpack_device__"):
        return _take_other(context, out)
    if hasattr(out, "__cuda_array_interface__"):
        return _take_other(context, out)
    y = np.asarray(out)
    if not np.may_share_memory(y, np.asarray(out)) and (y.size or not hasattr(out, "dtype")):
        raise TypeError(
            f"an array is needed, into which the call can write, not {type(out).__name__}"
        )
    return y


def output(context, like, shape, dtype, out):
    """Memory for a result: `out` if it is given, which must fit, else new memory."""
    if out is None:
        return new(context, like, shape, dtype)
    y = out if type(out) is ndarray else written(context, out)
    if tuple(y.shape) != tuple(shape) or y.dtype != dtype:
        raise ValueError(
            f"out has shape {tuple(y.shape)} and type {y.dtype}, but {tuple(shape)} and "
            f"{np.dtype(dtype)} are needed"
        )
    if type(y) is ndarray and not y.flags.carray:
        raise ValueError("out must be writable and aligned, without gaps between its elements")
    return y


def finish(y, source, out=None):
    """A result as the caller gets it: `out` itself, or new memory in the form of `source`'s library."""
    if out is not None:
        return out
    if type(y) is ndarray:
        return y
    library = _library_of(source)
    if library == "cupy":
        return sys.modules["cupy"].asarray(y)
    if library == "torch":
        torch = sys.modules["torch"]
        if is_bfloat16(y.dtype):  # which the interface has no name for
            bits = y._view(y.shape, np.dtype(np.int16))
            return torch.as_tensor(bits, device=source.device).view(torch.bfloat16)
        return torch.as_tensor(y, device=source.device)
    return y


def cast(context, x, dtype):
    """x with elements of another type: x itself if it has it."""
    dtype = np.dtype(dtype)
    if x.dtype == dtype:
        return x
    if type(x) is ndarray:
        return x.astype(dtype)
    y = new(context, x, x.shape, dtype)
    convert(context, flat(x), flat(y), False)
    return y


def convert(context, x, y, saturate):
    """y = x in the type of y; a bool tells whether a number is not 0."""
    if y.dtype == bool:
        _core.binary_scalar(context, 17, x, np.zeros(1, x.dtype), y)  # 17: WEFT_X_NE
    else:
        _core.convert(context, 32 if saturate else 33, x, y)  # WEFT_X_SATURATE, WEFT_X_WRAP


def reals(a, caller):
    """A host array as float64. Complex numbers would lose their imaginary parts, dates their unit."""
    refuse_mask(a)
    x = np.asarray(a)
    if x.dtype.kind in "cmMSU":
        raise TypeError(f"{caller}: real numbers are needed, not {x.dtype}")
    return x.astype(np.float64, copy=False)


def check_numbers(x, caller):
    """Arithmetic on the bytes of bools makes others than 0 and 1."""
    if x.dtype == bool:
        raise TypeError(f"{caller}: numbers are needed, not bool; convert by weft.astype")


def is_bfloat16(dtype):
    """A type's name takes numpy a microsecond: only types that are not numpy's own are asked for it."""
    return dtype.kind not in "biufc" and dtype.name == "bfloat16"


def as_numbers(context, x):
    """x, or of bfloat16 the same numbers as float32: what becomes a number in host memory, where
    numpy has no bfloat16."""
    return cast(context, x, np.float32) if is_bfloat16(x.dtype) else x


def cut(x, count, first=0):
    """`count` elements of a result in one dimension, from `first` on."""
    if type(x) is ndarray:
        return x[first : first + count]
    return x._view((count,), x.dtype, first * x.dtype.itemsize)


def as_bytes(x):
    """The bytes of an array without gaps, in one dimension."""
    if type(x) is ndarray:
        return x.reshape(-1).view(np.uint8)
    view = x.as_shape((x.nbytes,))
    view.dtype = np.dtype(np.uint8)
    return view


def number_of(dtype):
    """The library's number of a type of real numbers."""
    number = _TYPES.get(dtype.name) if dtype.isnative else None
    if number is None or number >= 64:
        raise TypeError(f"elements of the type {dtype} are not supported here")
    return number


def has_lines(x, axis, name):
    """Does a call work on lines along `axis`, and not on all elements as one line? An axis that is
    not there is refused."""
    if axis is None:
        return False
    if not hasattr(axis, "__index__"):
        raise TypeError(f"{name}: axis is a whole number or None, not {axis!r}")
    most = max(x.ndim, 1)
    if not -most <= axis < most:
        raise (
            np.exceptions.AxisError(axis, x.ndim)
            if hasattr(np, "exceptions")
            else ValueError(
                f"{name}: axis {axis} is out of bounds for an array of {x.ndim} dimensions"
            )
        )
    return x.ndim > 1


def last_axis(context, x, axis, name):
    """x with `axis` moved to the end, without gaps, and a function that moves it back."""
    if axis in (-1, x.ndim - 1):
        return x, lambda y: y
    if type(x) is not ndarray:
        raise TypeError(
            f"{name}: of an array in device memory, only the last axis can be worked on"
        )
    return np.array(np.moveaxis(x, axis, -1), order="C"), lambda y: np.moveaxis(y, -1, axis)


def offsets_of(x):
    """Where the lines of the last axis begin, and the end of the last: for calls on segments."""
    length = x.shape[-1]
    lines = x.size // length if length else 0
    return np.arange(lines + 1, dtype=np.uint64) * np.uint64(length)
