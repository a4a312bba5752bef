# SPDX-License-Identifier: Apache-2.0
"""Tables of records: numpy's structured arrays, ordered by several fields.

table = numpy.array([(2, 0.5), (1, 0.25)], dtype=[("key", "i4"), ("value", "f8")])
weft.records.sort(table, by=["key", "-value"])   # "-": from the largest down
"""

import numpy as np
from numpy import ndarray

from . import _core
from ._arrays import as_bytes, cut, finish, flat, new, number_of, output, take
from ._context import current

_MOST_FIELDS = 32
_COLUMNS_AT_ONCE = 8


def _table(c, a, name):
    """A table in one dimension."""
    x = flat(take(c, a))
    if x.dtype.names is None:
        raise TypeError(f"{name}: an array of records is needed, not of {x.dtype}")
    return x


def _numbers_of(dtype, start):
    """(offset, type) of each number of a field; of text, its bytes."""
    base, shape = dtype.subdtype or (dtype, ())
    if base.kind == "S":
        base, shape = np.dtype(np.uint8), (*shape, base.itemsize)
    number = number_of(base)
    for k in range(int(np.prod(shape, dtype=np.int64))):
        yield start + k * base.itemsize, number


def _fields(dtype, by):
    """The fields `by` as the library takes them: an array of offset, type, order for each number."""
    names = list(dtype.names) if by is None else [by] if isinstance(by, str) else list(by)
    rows = []
    for name in names:
        falling = name not in dtype.names and name.startswith("-")
        field = dtype.fields.get(name[1:] if falling else name)
        if field is None:
            raise ValueError(f"by: there is no field {name!r}; there are {', '.join(dtype.names)}")
        rows += [(at, number, falling) for at, number in _numbers_of(field[0], field[1])]
    if not 1 <= len(rows) <= _MOST_FIELDS:
        raise ValueError(f"by: 1 to {_MOST_FIELDS} numbers can be compared, not {len(rows)}")
    return np.array(rows, np.int64).reshape(-1)


def sort(table, by=None, *, out=None):
    """The records ordered by the first field of `by`, where that is equal by the second, and so on;
    all fields unless told. Records that are equal in them keep their order. out may be `table`."""
    c = current()
    x = _table(c, table, "sort")
    y = output(c, x, x.shape, x.dtype, out)
    _core.records_sort(c, x.dtype.itemsize, _fields(x.dtype, by), as_bytes(x), as_bytes(y))
    return finish(y, table, out)


def argsort(table, by=None):
    """The positions (int64) that put the records in that order."""
    c = current()
    x = _table(c, table, "argsort")
    y = new(c, x, x.shape, np.int64)
    _core.records_argsort(c, x.dtype.itemsize, _fields(x.dtype, by), as_bytes(x), y)
    return finish(y, table)


def unique(table, by=None, *, return_counts=False):
    """Of the records that are equal in the fields `by` the first, in order; on request also how many
    they are."""
    c = current()
    x = _table(c, table, "unique")
    fields, width = _fields(x.dtype, by), x.dtype.itemsize
    ordered, y = new(c, x, x.shape, x.dtype), new(c, x, x.shape, x.dtype)
    _core.records_sort(c, width, fields, as_bytes(x), as_bytes(ordered))
    lengths = new(c, x, x.shape, np.int64) if return_counts else None
    count = _core.records_unique(c, width, fields, as_bytes(ordered), as_bytes(y), lengths)
    first = finish(cut(y, count), table)
    return (first, finish(cut(lengths, count), table)) if return_counts else first


def _two(c, a, b, name):
    x, y = _table(c, a, name), _table(c, b, name)
    if x.dtype != y.dtype:
        raise TypeError(f"{name}: the records are {x.dtype} and {y.dtype}; one type is needed")
    return x, y


def searchsorted(table, wanted, by=None, side="left"):
    """Where records `wanted` would go into `table`, which is in order by these fields. int64."""
    if side not in ("left", "right"):
        raise ValueError('searchsorted: side is "left" or "right"')
    c = current()
    x, w = _two(c, table, wanted, "searchsorted")
    y = new(c, w, w.shape, np.int64)
    fields, width = _fields(x.dtype, by), x.dtype.itemsize
    _core.records_search(c, side == "right", width, fields, as_bytes(x), as_bytes(w), y)
    return finish(y, wanted)


def merge(a, b, by=None):
    """The records of `a` and `b`, each in order already, in one order; of equal ones `a` first."""
    c = current()
    x, y = _two(c, a, b, "merge")
    z = new(c, x, (x.size + y.size,), x.dtype)
    fields, width = _fields(x.dtype, by), x.dtype.itemsize
    _core.records_merge(c, width, fields, as_bytes(x), as_bytes(y), as_bytes(z))
    return finish(z, a)


def _move_columns(run, c, x, names, arrays):
    """Moves columns between a table and arrays, eight of them in each pass over the table."""
    for first in range(0, len(names), _COLUMNS_AT_ONCE):
        some = slice(first, first + _COLUMNS_AT_ONCE)
        offsets = [x.dtype.fields[name][1] for name in names[some]]
        held = [as_bytes(array) for array in arrays[some]]
        spare = _COLUMNS_AT_ONCE - len(held)
        offsets += [0] * spare
        held += [None] * spare
        run(c, x.dtype.itemsize, *offsets, as_bytes(x), *held)


def columns(table, names=None):
    """The fields `names`, all unless told, as arrays of their own: a dict, in one pass."""
    c = current()
    x = _table(c, table, "columns")
    names = list(x.dtype.names) if names is None else [names] if isinstance(names, str) else names
    for name in names:
        if name not in x.dtype.names:
            raise ValueError(f"columns: there is no field {name!r}")
    arrays = []
    for name in names:
        base, shape = x.dtype.fields[name][0].subdtype or (x.dtype.fields[name][0], ())
        arrays.append(new(c, x, (*x.shape, *shape), base))
    if x.size:
        _move_columns(_core.take_columns, c, x, names, arrays)
    return {name: finish(array, table) for name, array in zip(names, arrays)}


def put_columns(table, **columns):
    """Puts arrays into the fields that bear their names, in place; other fields stay."""
    c = current()
    if isinstance(table, ndarray) and (table.ndim != 1 or not table.flags.carray):
        raise ValueError("put_columns: a table in one dimension, writable, without gaps is needed")
    x = _table(c, table, "put_columns")
    arrays = []
    for name, values in columns.items():
        if name not in x.dtype.names:
            raise ValueError(f"put_columns: there is no field {name!r}")
        base, shape = x.dtype.fields[name][0].subdtype or (x.dtype.fields[name][0], ())
        y = take(c, values)
        if not base.isnative and y.dtype == base.newbyteorder("="):
            y = y.astype(base)
        if tuple(y.shape) != (*x.shape, *shape) or y.dtype != base:
            raise ValueError(f"put_columns: {name} needs the shape {(*x.shape, *shape)}, of {base}")
        arrays.append(y)
    if x.size:
        _move_columns(_core.put_columns, c, x, list(columns), arrays)


__all__ = ["argsort", "columns", "merge", "put_columns", "searchsorted", "sort", "unique"]
