# SPDX-License-Identifier: Apache-2.0
"""Dense linear algebra: products, solutions and factors of matrices of float64 and float32."""

import numpy as np
from numpy import ndarray

from . import _core
from ._arrays import cast, finish, new, output, shaped, take, take_matrix
from ._context import current
from ._errors import NonFiniteError, NotPositiveDefiniteError, SingularError
from ._numbers import norm

_TRANSPOSE, _STRICT, _TF32, _UPPER, _UNIT = 2, 8, 16, 32, 64
_BATCH_MOST = 64  # the largest systems that are solved many at a time
_PRECISIONS = {"auto": 0, "full": 1, "mixed": 2, "tf32": 3, "bf16": 4, "f16": 5}


def _floats(c, x, name):
    """x as float64 or float32: integers become float64."""
    if x.dtype.kind in "iub":
        return cast(c, x, np.float64)
    if x.dtype not in (np.float64, np.float32):
        raise TypeError(f"{name}: float64 or float32 is needed, not {x.dtype}")
    return x


def _square(a, name):
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"{name}: a square matrix is needed, not one of shape {tuple(a.shape)}")


def _copy(c, x):
    """A copy of a matrix, by rows."""
    if type(x) is ndarray:
        return np.array(x, order="C")
    y = new(c, x, x.shape, x.dtype)
    _core.copy(c, x, y)
    return y


def _matching(c, a, b):
    """Two operands of one type."""
    if a.dtype == b.dtype:
        return a, b
    common = np.result_type(a.dtype, b.dtype)
    return cast(c, a, common), cast(c, b, common)


def matmul(a, b, *, out=None, strict=False, tf32=False):
    """a @ b of float64, float32, float16 (and int8, whose result is int32); stacks of matrices too.
    strict: products of float32 by fused multiply-adds alone; tf32: with 11 significant bits."""
    c = current()
    x, y = take_matrix(c, a), take_matrix(c, b)
    if x.ndim == 0 or y.ndim == 0:
        raise ValueError("matmul: a number is no matrix")
    x, y = _matching(c, x, y)
    how = (_STRICT if strict else 0) | (_TF32 if tf32 else 0)
    if x.ndim > 2 or y.ndim > 2:
        return _matmul_stacks(c, how, a, take(c, x), take(c, y), out)
    rows, cols = x.ndim == 1, y.ndim == 1
    left = shaped(x, (1, x.shape[0])) if rows else x
    right = shaped(y, (y.shape[0], 1)) if cols else y
    if left.shape[1] != right.shape[0]:
        raise ValueError(f"matmul: shapes {tuple(x.shape)} and {tuple(y.shape)} do not fit")
    dtype = np.int32 if x.dtype == np.int8 else x.dtype
    m, n = left.shape[0], right.shape[1]
    shape = (() if rows else (m,)) + (() if cols else (n,))
    z = output(c, x, shape, dtype, out)
    if rows != cols and not strict and x.dtype.kind == "f":
        matrix, vector = (y, x) if rows else (x, y)
        _core.gemv(c, _TRANSPOSE if rows else 0, matrix, vector, z)
    else:
        _core.gemm(c, how, 1.0, 0.0, left, right, shaped(z, (m, n)))
    return finish(z, a, out) if shape or out is not None or type(z) is not ndarray else z[()]


def _matmul_stacks(c, how, source, x, y, out):
    """One product for each matrix of the stacks; a matrix or a vector may serve all of a stack."""
    left = shaped(x, (1, x.shape[0])) if x.ndim == 1 else x
    right = shaped(y, (y.shape[0], 1)) if y.ndim == 1 else y
    if left.shape[-1] != right.shape[-2]:
        raise ValueError(f"matmul: shapes {tuple(x.shape)} and {tuple(y.shape)} do not fit")
    m, k, n = left.shape[-2], left.shape[-1], right.shape[-1]
    stack = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    operands, steps = [], []
    for operand in (left, right):
        if operand.ndim > 2 and operand.shape[:-2] != stack:
            if type(operand) is not ndarray:
                raise ValueError("matmul: stacks in device memory must have the same shape")
            operand = np.ascontiguousarray(np.broadcast_to(operand, stack + operand.shape[-2:]))
        operands.append(operand)
        steps.append(operand.shape[-2] * operand.shape[-1] if operand.ndim > 2 else 0)
    dtype = np.int32 if x.dtype == np.int8 else x.dtype
    shape = (*stack, *(() if x.ndim == 1 else (m,)), *(() if y.ndim == 1 else (n,)))
    z = output(c, x, shape, dtype, out)
    count = int(np.prod(stack, dtype=np.int64))
    _core.gemm_batch(c, how, m, n, k, *steps, count, *operands, z)
    return finish(z, source, out)


def _sides(c, b, n, name):
    """Right-hand sides by rows, in two dimensions."""
    x = _floats(c, take(c, b), name)
    if x.ndim not in (1, 2) or x.shape[0] != n:
        raise ValueError(f"{name}: b has shape {tuple(x.shape)}, but {n} rows are needed")
    return x, shaped(x, (n, x.size // n if n else 0))


def _told(info, name, spd):
    """Raises what the first system of a stack met that could not be solved."""
    info = np.asarray(info)
    bad = np.flatnonzero(info)
    if not bad.size:
        return
    which, code = int(bad[0]), int(info[bad[0]])
    kind = NonFiniteError if code < 0 else NotPositiveDefiniteError if spd else SingularError
    what = "has NaN or infinity in" if code < 0 else "has no usable pivot in"
    raise kind(f"{name}: matrix {which} of the stack {what} column {abs(code) - 1}")


def _solve_stack(a, b, spd):
    """x of each system of a stack, by elimination without refinement."""
    c = current()
    matrices, sides = _floats(c, take(c, a), "solve"), _floats(c, take(c, b), "solve")
    matrices, sides = _matching(c, matrices, sides)
    n, stack = matrices.shape[-1], matrices.shape[:-2]
    vectors = tuple(sides.shape) == tuple(matrices.shape[:-1])
    if matrices.shape[-2] != n or not (
        vectors or (sides.ndim == matrices.ndim and tuple(sides.shape[:-1]) == (*stack, n))
    ):
        raise ValueError(
            f"solve: stacks of shapes {tuple(matrices.shape)} and {tuple(sides.shape)} do not fit"
        )
    if n > _BATCH_MOST:
        if type(matrices) is not ndarray:
            raise ValueError(f"solve: stacks in device memory have at most {_BATCH_MOST} rows")
        each = zip(matrices.reshape(-1, n, n), sides.reshape(-1, *sides.shape[len(stack) :]))
        how = "pos" if spd else "gen"
        return np.array([solve(m, s, assume_a=how) for m, s in each]).reshape(sides.shape)
    x = _copy(c, sides)
    info = new(c, x, (int(np.prod(stack, dtype=np.int64)),), np.int32)
    if n > 0:  # else there is nothing to do, and info would stay as it is
        _core.solve_batch(c, spd, n, 1 if vectors else sides.shape[-1], matrices, x, info)
        _told(info, "solve", spd)
    return finish(x, b)


def solve(
    a,
    b,
    *,
    assume_a="gen",
    transposed=False,
    precision="auto",
    refine=None,
    exact=False,
    report=False,
):
    """x with a @ x = b, refined until it is accurate. Stacks of matrices are solved all at once,
    without refinement.

    assume_a="pos": the matrix is symmetric positive definite, and its lower triangle is read.
    precision: "full" factors in the type of `a`, "mixed" float64 in float32,
    "tf32", "bf16" and "f16" by products of these; "auto" what is faster.
    refine: the most steps of refinement; None: 10, or 40 if exact. exact=True: residuals are exact,
    and x the exact solution, rounded (include/weft/solve.h says when). report=True gives (x,
    facts), a dict about how good x is: backward_error, condition_estimate, forward_bound, ...
    """
    if assume_a not in ("gen", "pos"):
        raise ValueError('solve: assume_a is "gen" or "pos"')
    if precision not in _PRECISIONS:
        raise ValueError(f"solve: precision {precision!r} is none of {', '.join(_PRECISIONS)}")
    if len(getattr(a, "shape", ())) > 2:
        if report or transposed or exact or refine or precision not in ("auto", "full"):
            raise ValueError(
                "solve: report, transposed, exact, refine and precision are for single systems"
            )
        return _solve_stack(a, b, assume_a == "pos")
    c = current()
    matrix = _floats(c, take_matrix(c, a), "solve")
    _square(matrix, "solve")
    n = matrix.shape[0]
    given, _ = _sides(c, b, n, "solve")
    matrix, given = _matching(c, matrix, given)
    x = new(c, given, given.shape, given.dtype)
    sides = given.size // n if n else 0
    facts = _core.solve(
        c,
        assume_a == "pos",
        _TRANSPOSE if transposed and assume_a == "gen" else 0,
        0 if refine is None else refine if refine > 0 else -1,
        _PRECISIONS[precision],
        not report,
        exact,
        matrix,
        shaped(given, (n, sides)),
        shaped(x, (n, sides)),
    )
    x = finish(x, b)
    return (x, facts) if report else x


def slogdet(a):
    """The sign and the logarithm of the absolute value of the determinant."""
    c = current()
    matrix = _floats(c, take_matrix(c, a), "slogdet")
    _square(matrix, "slogdet")
    none = np.empty((matrix.shape[0], 0), matrix.dtype)
    try:
        facts = _core.solve(c, 0, 0, -1, 1, 1, 0, matrix, none, none)
    except SingularError:
        return 0.0, -np.inf
    return float(facts["sign_det"]), facts["log_abs_det"]


def det(a):
    """The determinant."""
    sign, logarithm = slogdet(a)
    return sign * np.exp(logarithm)


def lu_factor(a):
    """(lu, pivots) with P a = L U, as scipy.linalg.lu_factor gives them, rows counted from 0."""
    c = current()
    lu = _copy(c, _floats(c, take(c, a), "lu_factor"))
    if lu.ndim != 2:
        raise ValueError("lu_factor: a matrix is needed")
    pivots = new(c, lu, (min(lu.shape),), np.int64)
    _core.lu_factor(c, lu, pivots)
    return finish(lu, a), finish(pivots, a)


def lu_solve(lu_and_pivots, b, *, transposed=False):
    """x with a @ x = b, from what lu_factor gave."""
    c = current()
    lu, pivots = (take(c, part) for part in lu_and_pivots)
    _square(lu, "lu_solve")
    if pivots.dtype.kind not in "iu" and pivots.size:
        raise TypeError(f"lu_solve: pivots are integers, not {pivots.dtype}")
    pivots = cast(c, pivots, np.int64)  # scipy's are int32
    if tuple(pivots.shape) != (lu.shape[0],):
        raise ValueError(f"lu_solve: {pivots.size} pivots for {lu.shape[0]} rows")
    return _substitute(
        c, b, lu, lambda x: _core.lu_solve(c, _TRANSPOSE if transposed else 0, lu, pivots, x)
    )


def _substitute(c, b, factor, run):
    """Solves in a copy of b, by rows."""
    given, _ = _sides(c, b, factor.shape[0], "solve")
    x = _copy(c, cast(c, given, factor.dtype))
    run(shaped(x, (x.shape[0], x.size // x.shape[0] if x.shape[0] else 0)))
    return finish(x, b)


def inv(a):
    """The inverse. To solve systems, solve is faster and more accurate."""
    c = current()
    matrix = _copy(c, _floats(c, take(c, a), "inv"))
    _square(matrix, "inv")
    pivots = new(c, matrix, (matrix.shape[0],), np.int64)
    _core.lu_factor(c, matrix, pivots)
    _core.lu_inverse(c, matrix, pivots)
    return finish(matrix, a)


def cholesky(a, *, upper=False):
    """L, lower triangular, with L @ L.T = a; or U with U.T @ U = a; of a stack each. One triangle of
    `a` is read. Of an array in device memory, the other triangle of the result is that of `a`."""
    c = current()
    factor = _copy(c, _floats(c, take(c, a), "cholesky"))
    how = _UPPER if upper else 0
    if factor.ndim > 2 and factor.shape[-1] == factor.shape[-2] <= _BATCH_MOST:
        info = new(c, factor, (int(np.prod(factor.shape[:-2], dtype=np.int64)),), np.int32)
        _core.cholesky_batch(c, how, factor.shape[-1], factor, info)
        _told(info, "cholesky", True)
    elif factor.ndim > 2 and factor.shape[-1] == factor.shape[-2] and type(factor) is ndarray:
        for one in factor.reshape(-1, *factor.shape[-2:]):
            _core.cholesky_factor(c, how, one)
    else:
        _square(factor, "cholesky")
        _core.cholesky_factor(c, how, factor)
    if type(factor) is ndarray:
        factor = np.triu(factor) if upper else np.tril(factor)
    return finish(factor, a)


def cho_solve(factor, b, *, upper=False):
    """x with a @ x = b, from what cholesky gave."""
    c = current()
    held = take_matrix(c, factor)
    _square(held, "cho_solve")
    how = _UPPER if upper else 0
    return _substitute(c, b, held, lambda x: _core.cholesky_solve(c, how, held, x))


def solve_triangular(a, b, *, lower=False, transposed=False, unit_diagonal=False):
    """x with a @ x = b, of which one triangle of `a` is read (the upper one unless `lower`)."""
    c = current()
    triangle = _floats(c, take_matrix(c, a), "solve_triangular")
    _square(triangle, "solve_triangular")
    triangle, sides = _matching(c, triangle, _floats(c, take(c, b), "solve_triangular"))
    how = (0 if lower else _UPPER) | (_TRANSPOSE if transposed else 0)
    how |= _UNIT if unit_diagonal else 0
    x = _substitute(c, sides, triangle, lambda x: _core.trsm(c, how, triangle, x))
    return finish(x, b)


__all__ = [
    "cho_solve",
    "cholesky",
    "det",
    "inv",
    "lu_factor",
    "lu_solve",
    "matmul",
    "norm",
    "slogdet",
    "solve",
    "solve_triangular",
]
