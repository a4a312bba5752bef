# SPDX-License-Identifier: Apache-2.0
"""One exception class for each status of the library; str() is the library's message."""

import numpy as np


class Error(Exception):
    """What the library refused or could not do. `status` is the name of the status in C."""

    status = ""


class ArgumentError(Error, ValueError):
    """An argument is wrong; the message names it."""

    status = "WEFT_EARG"


class OutOfMemoryError(Error, MemoryError):
    """Host or device memory ran out."""

    status = "WEFT_ENOMEM"


class DeviceError(Error, RuntimeError):
    """The device or its driver failed."""

    status = "WEFT_EDEVICE"


class UnsupportedError(Error, NotImplementedError):
    """A valid request that this type, place or build does not support."""

    status = "WEFT_EUNSUPPORTED"


class SingularError(Error, np.linalg.LinAlgError):
    """The matrix is singular."""

    status = "WEFT_ESINGULAR"


class NotPositiveDefiniteError(Error, np.linalg.LinAlgError):
    """The matrix is not symmetric positive definite."""

    status = "WEFT_ENOTSPD"


class NonFiniteError(Error, ValueError):
    """NaN or infinity where the operation cannot use it."""

    status = "WEFT_ENONFINITE"


class FileError(Error, OSError):
    """Reading or writing a file failed."""

    status = "WEFT_EIO"


class FormatError(Error, ValueError):
    """The file is not what it claims to be."""

    status = "WEFT_EFORMAT"


class CommunicationError(Error, RuntimeError):
    """Communication between processes or devices failed."""

    status = "WEFT_ECOMM"


class CancelledError(Error):
    """The caller's own function asked to stop."""

    status = "WEFT_ECANCELLED"


# In the order of the enum weft_status, from WEFT_EARG on.
classes = (
    ArgumentError,
    OutOfMemoryError,
    DeviceError,
    UnsupportedError,
    SingularError,
    NotPositiveDefiniteError,
    NonFiniteError,
    FileError,
    FormatError,
    CommunicationError,
    CancelledError,
)
