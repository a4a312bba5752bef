# SPDX-License-Identifier: Apache-2.0
"""weft: data-parallel algorithms and linear systems, on CPU cores and GPUs, under numpy's names.

import numpy as np, weft
x = np.random.default_rng(1).normal(size=1_000_000)
weft.sort(x); weft.sum(x); weft.cumsum(x); weft.quantile(x, [0.5, 0.99])
"""

from . import _library, fft, linalg, nbody, nn, random, records, sparse
from ._arrays import Array
from ._climb import Table, climb
from ._context import Context, current, set_default
from ._errors import (
    ArgumentError,
    CancelledError,
    CommunicationError,
    DeviceError,
    Error,
    FileError,
    FormatError,
    NonFiniteError,
    NotPositiveDefiniteError,
    OutOfMemoryError,
    SingularError,
    UnsupportedError,
)
from ._evaluate import evaluate
from ._exact import ExactSum
from ._filter import convolve, correlate_image
from ._group import *
from ._group import __all__ as _group_names
from ._move import *
from ._move import __all__ as _move_names
from ._numbers import *
from ._numbers import __all__ as _numbers_names
from ._order import *
from ._order import __all__ as _order_names
from .linalg import matmul

__version__ = _library.version

__all__ = [
    "ArgumentError",
    "Array",
    "CancelledError",
    "CommunicationError",
    "Context",
    "DeviceError",
    "Error",
    "ExactSum",
    "FileError",
    "FormatError",
    "NonFiniteError",
    "NotPositiveDefiniteError",
    "OutOfMemoryError",
    "SingularError",
    "Table",
    "UnsupportedError",
    "climb",
    "convolve",
    "correlate_image",
    "current",
    "evaluate",
    "fft",
    "linalg",
    "matmul",
    "nbody",
    "nn",
    "random",
    "records",
    "set_default",
    "sparse",
    *_group_names,
    *_move_names,
    *_numbers_names,
    *_order_names,
]
