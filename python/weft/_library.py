# SPDX-License-Identifier: Apache-2.0
"""Finds and loads libweft, and hands the extension module its exception classes."""

import os

from . import _core, _errors

_HERE = os.path.dirname(os.path.abspath(__file__))


def _candidates():
    """Where the library may be: what WEFT_LIBRARY names, this package, the system."""
    named = os.environ.get("WEFT_LIBRARY")
    if named:
        return [named]
    inside = os.path.join(_HERE, "libweft.so.0")
    return [inside] if os.path.exists(inside) else ["libweft.so.0"]


def _load():
    path = _candidates()[0]
    try:
        return path, _core.load(path, _errors.classes)
    except ImportError as error:
        raise ImportError(
            f"{error}. Install the package with its library, put libweft.so.0 where the system "
            "looks for libraries, or name it in WEFT_LIBRARY."
        ) from None


path, version = _load()
