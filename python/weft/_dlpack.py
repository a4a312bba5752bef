# SPDX-License-Identifier: Apache-2.0
"""DLPack, by which libraries hand each other arrays (dmlc.github.io/dlpack): both directions."""

import ctypes

import numpy as np

from . import _arrays

_CPU, _CUDA, _CUDA_HOST, _CUDA_MANAGED = 1, 2, 3, 13
_KINDS = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("owner", ctypes.c_void_p), ("deleter", _Deleter)]

_api = ctypes.pythonapi
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

# The same of a capsule that is at its end, and no object any more.
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", _api)
)
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _api)
)

_given: dict = {}  # what other libraries hold of ours, by the address of its description


class _Owner:
    """Keeps a capsule's memory until the last view of it is gone."""

    def __init__(self, managed):
        self.managed = managed

    def __del__(self):
        if self.managed.contents.deleter:
            self.managed.contents.deleter(self.managed)


def _dtype_of(tensor):
    for kind, code in _KINDS.items():
        if tensor.code == code and tensor.lanes == 1:
            return np.dtype("bool" if kind == "b" else f"{kind}{tensor.bits // 8}")
    raise TypeError(f"DLPack elements of code {tensor.code}, {tensor.bits} bits: not supported")


def take(context, a):
    """A view of an object with __dlpack__."""
    device = a.__dlpack_device__()[0]
    if device in (_CPU, _CUDA_HOST):  # by __array__, what may be written stays so
        return np.asarray(a) if hasattr(a, "__array__") else np.from_dlpack(a)
    if device not in (_CUDA, _CUDA_MANAGED):
        raise TypeError(f"an array on a device of DLPack's kind {device} is not supported")
    # Its owner orders that stream after the work on the array: 1 is the legacy default stream.
    capsule = a.__dlpack__(stream=context.stream or 1)
    address = _api.PyCapsule_GetPointer(capsule, b"dltensor")
    managed = ctypes.cast(address, ctypes.POINTER(_Managed))
    _api.PyCapsule_SetName(ctypes.py_object(capsule), b"used_dltensor")
    tensor = managed.contents.tensor
    view = _arrays.DeviceView()
    view.base = (a, _Owner(managed))
    view.shape = tuple(tensor.shape[: tensor.ndim])
    view.dtype = _dtype_of(tensor)
    view._address = (tensor.data or 0) + tensor.byte_offset
    if tensor.strides:
        view.strides = tuple(s * view.dtype.itemsize for s in tensor.strides[: tensor.ndim])
    return view


def device_of(context):
    """The place of a context, in DLPack's numbers."""
    if not context.on_device:
        return (_CPU, 0)
    number = context.place.partition(":")[2].partition(",")[0]
    return (_CUDA, int(number or 0))


@_Deleter
def _forget(managed):
    _given.pop(ctypes.addressof(managed.contents), None)


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _end(capsule):
    """A capsule that nobody took ends."""
    if _is_valid(capsule, b"dltensor"):
        _given.pop(_pointer(capsule, b"dltensor"), None)


def capsule_of(array, stream):
    """A capsule that describes a weft.Array; `stream` is the one that its taker will use."""
    if stream not in (None, -1) and stream != (array.context.stream or 1):
        array.context.sync()
    kind = array.dtype.kind
    shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    device = device_of(array.context)
    managed = _Managed()
    managed.tensor = _Tensor(
        array._address,
        *device,
        array.ndim,
        _KINDS[kind],
        8 * array.dtype.itemsize,
        1,
        ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64)),
        None,
        0,
    )
    managed.deleter = _forget
    address = ctypes.addressof(managed)
    _given[address] = (managed, shape, array)
    return _api.PyCapsule_New(address, b"dltensor", ctypes.cast(_end, ctypes.c_void_p))
