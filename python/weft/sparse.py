# SPDX-License-Identifier: Apache-2.0
"""Sparse matrices of float64, and a direct solver for symmetric ones."""

import os
import threading

import numpy as np

from . import _core
from ._arrays import reals, take
from ._context import current

_STORAGES = {"general": 0, "lower": 1, "upper": 2, "full": 3, "use_lower": 4, "use_upper": 5}
_FORMS = {"csc": 0, "csr": 1}
_PARTS = {"A": 0, "L": 1, "Lt": 2}
_PRECISIONS = {"full": 1, "mixed": 2}
_KINDS = {"definite": 0, "quasidefinite": 1, "indefinite": 2}


def _storage_of(name):
    if name not in _STORAGES:
        raise ValueError(f"storage {name!r} is none of {', '.join(_STORAGES)}")
    return _STORAGES[name]


def _line(values, caller):
    """Values as a line of float64 without gaps."""
    return np.ascontiguousarray(reals(values, caller).reshape(-1))


def _arrays_of(a):
    """The starts, indices and values of a matrix, as long as each other says, for the library reads
    them unseen. Behind the last entry there may be room, as scipy leaves it."""
    starts, indices = np.ascontiguousarray(a.indptr), np.ascontiguousarray(a.indices)
    values = _line(a.data, "a sparse matrix")
    lines = a.shape[1 if a.format == "csc" else 0]
    if starts.shape != (lines + 1,) or indices.ndim != 1:
        raise ValueError(
            f"indptr has shape {starts.shape} and indices {indices.shape}, but {lines + 1} starts "
            "and a line of indices are needed"
        )
    if not starts[-1] <= min(indices.size, values.size):
        raise ValueError(
            f"indptr ends with {starts[-1]}, but there are {indices.size} indices and "
            f"{values.size} values"
        )
    return starts, indices, values


class Matrix:
    """A sparse matrix as the library holds it."""

    def __init__(self, handle, how=("full", 0.0)):
        self._handle = handle
        self._how = how  # storage and tolerance
        self._lock = threading.Lock()

    @classmethod
    def of(cls, a, storage="full", tolerance=0.0):
        """Takes a matrix of scipy.sparse in any form (or one with indptr, indices, data, shape and
        format). storage: "full", both halves of a symmetric one; "lower" or "upper", one half of
        it, and the other is not there; "use_lower" or "use_upper", one half of it, and what the
        other has is not looked at; "general", not symmetric. tolerance: how far the halves of
        "full" may differ, relatively."""
        if isinstance(a, cls):
            return a
        kept = _storage_of(storage)
        if not hasattr(a, "indptr"):
            if not hasattr(a, "tocsc"):
                raise TypeError("a sparse matrix is needed, as scipy.sparse makes them")
            a = a.tocsc()
        if a.format not in _FORMS:
            a = a.tocsc()
        arrays = _arrays_of(a)
        rows, cols = a.shape
        form = _FORMS[a.format]
        made = _core.sparse_create(
            current(), kept, form, rows, cols, tolerance, *arrays
        )
        return cls(made, (storage, tolerance))

    @property
    def shape(self):
        return _core.sparse_facts(self._handle)[:2]

    @property
    def nnz(self):
        """The entries held: of a symmetric matrix those on and below the diagonal."""
        return _core.sparse_facts(self._handle)[2]

    @property
    def symmetric(self):
        return _core.sparse_facts(self._handle)[3]

    def entries(self):
        """Copies of (starts, rows, values) by columns; of a symmetric matrix the lower half."""
        starts, rows, values = _core.sparse_entries(self._handle)
        return (
            np.frombuffer(starts, np.int64),
            np.frombuffer(rows, np.int64),
            np.frombuffer(values, np.float64),
        )

    def toscipy(self):
        """The whole matrix as a scipy.sparse.csc_matrix."""
        from scipy.sparse import csc_matrix, tril

        starts, rows, values = self.entries()
        half = csc_matrix((values, rows, starts), self.shape)
        return (half + tril(half, -1).T).tocsc() if self.symmetric else half

    def update(self, values):
        """New values, in the order of the entries that the matrix was made from."""
        with self._lock:
            _core.sparse_update(current(), self._handle, _line(values, "update"))

    def __matmul__(self, x):
        given = reals(x, "a product")
        rows, cols = self.shape
        if given.ndim not in (1, 2) or given.shape[0] != cols:
            raise ValueError(f"a matrix of shape {self.shape} times one of shape {given.shape}")
        y = np.empty((rows,) + given.shape[1:], order="F")
        sides = given.shape[1] if given.ndim == 2 else 1
        _core.sparse_multiply(
            current(), self._handle, sides, given.ravel(order="F"), y.reshape(-1, order="F")
        )
        return y


class Factor:
    """A = L L', or L D L', with rows and columns in an order that keeps L sparse; what cholesky and
    ldlt give."""

    def __init__(self, matrix, plan):
        self.matrix = matrix
        self._lock = threading.Lock()
        self._plan = plan
        self._values = None

    def factor(self, a=None, *, values=None, progress=None):
        """Factors, also other values with the same pattern: those of `a`, made as the first matrix
        was; or `values`, in the order of matrix.entries(), which may be in the memory of a GPU
        and are not copied: later solutions need them as they are."""
        c = current()
        with self._lock:
            matrix = self.matrix if a is None else Matrix.of(a, *self.matrix._how)
            taken = None if values is None else self._taken(c, matrix, values)
            bar = _Bar() if progress is True else None
            tell = (bar or progress) or None
            _core.chol_factor(c, self._plan, matrix._handle, taken, tell)
            self.matrix, self._values = matrix, taken
            if bar is not None:
                bar.end()
        return self

    def _taken(self, context, matrix, values):
        """Values that replace those of the matrix."""
        x = take(context, values)
        if isinstance(x, np.ndarray):
            x = np.ascontiguousarray(reals(x, "factor"))
        if x.dtype != np.float64 or x.shape != (matrix.nnz,):
            raise ValueError(
                f"factor: values of shape {x.shape} and type {x.dtype}, but the matrix has "
                f"{matrix.nnz} entries of float64"
            )
        return x

    def solve(self, b, *, refine=0, exact=False, part="A"):
        """x with A @ x = b; b may have several columns. refine: the most steps of refinement in
        twice the precision (0 means 10 where L D L' needs them, 40 if exact). exact=True: residuals are exact,
        so that x is the exact solution, rounded, where refinement converges. part: "L" and "Lt" solve with one factor, in the factor's order."""
        if part not in _PARTS:
            raise ValueError('solve: part is "A", "L" or "Lt"')
        n = self.matrix.shape[0]
        given = reals(b, "solve")
        if given.ndim not in (1, 2) or given.shape[0] != n:
            raise ValueError(f"solve: b has shape {given.shape}, but {n} rows are needed")
        x = np.empty(given.shape, order="F")
        sides = given.shape[1] if given.ndim == 2 else 1
        with self._lock:
            _core.chol_solve(
                current(),
                self._plan,
                self.matrix._handle,
                self._values,
                _PARTS[part],
                refine,
                exact,
                sides,
                given.ravel(order="F"),
                x.reshape(-1, order="F"),
            )
        return x

    __call__ = solve

    @property
    def report(self):
        """Facts: the ordering used, entries of L, operations, seconds, errors of the latest solve."""
        with self._lock:
            return _core.chol_report(current(), self._plan)

    @property
    def permutation(self):
        """Column permutation[k] of the matrix comes k-th."""
        n = self.matrix.shape[0]
        return np.frombuffer(_core.chol_permutation(self._plan, n), np.int64)

    @property
    def inertia(self):
        """(above, below, replaced): how many eigenvalues are above and below 0, and how many pivots
        were replaced, which do not say."""
        report = self.report
        return report["positive"], report["negative"], report["perturbed"]

    def save(self, path):
        """Writes the order and the pattern of L to a file, for sparse.load; not its values."""
        with self._lock:
            _core.chol_save(current(), self._plan, os.fspath(path))

    def logdet(self):
        """The logarithm of the determinant, of its absolute value for L D L'."""
        return self.report["logdet"]

    def condition(self):
        """An estimate of the condition number in the 1-norm, of a matrix with its own values."""
        with self._lock:
            if self._values is not None:
                raise ValueError("condition: `values` were factored; factor a matrix that has them")
            return _core.chol_condition(current(), self._plan, self.matrix._handle)


class _Bar:
    """A bar of tqdm, which shows the fraction done; nothing where tqdm is not installed."""

    def __init__(self):
        try:
            from tqdm import tqdm
        except ImportError:
            self.bar = None
        else:
            self.bar = tqdm(total=100, desc="factoring", unit="%")

    def __call__(self, done):
        if self.bar is not None:
            self.bar.update(int(100 * done) - self.bar.n)

    def end(self):
        if self.bar is not None:
            self(1.0)
            self.bar.close()


def cholesky(
    a,
    *,
    ordering=None,
    permutation=None,
    storage="full",
    progress=None,
    seconds=0.0,
    precision="full",
    factorizations=1,
):
    """Factors a symmetric positive definite matrix of scipy.sparse; see Factor.

    ordering: "natural", "given" (by `permutation`), "rcm", "md", "mmd", "amd", "nd", "dissect" or
    "best" (what None means). progress: a function of the fraction done, which may raise an exception
    to stop; or True: a bar of tqdm, where it is installed. precision: "mixed" computes L in float32,
    in half the memory, and refines every solution to float64; where that does not serve, it falls
    back to float64, and `report["fell_back"]` says so. factorizations: about how many there will be
    with this pattern, by Factor.factor; for many "best" takes an order that is slower to find, and
    saves more.
    """
    return _factored(
        Matrix.of(a, storage),
        (0, None, 0.0),
        progress,
        ordering,
        permutation,
        seconds,
        precision,
        factorizations,
    )


def _factored(
    matrix,
    pivots,
    progress=None,
    ordering=None,
    permutation=None,
    seconds=0.0,
    precision="full",
    factorizations=1,
):
    if precision not in _PRECISIONS:
        raise ValueError('precision is "full" or "mixed"')
    if permutation is not None:
        given = np.asarray(permutation)
        if given.shape != matrix.shape[:1] or given.dtype.kind not in "iu" and given.size:
            raise ValueError(f"permutation: {matrix.shape[0]} integers are needed, in a line")
        permutation = np.ascontiguousarray(given, np.int64)
        ordering = ordering or "given"
    plan = _core.chol_analyze(
        current(),
        matrix._handle,
        ordering,
        permutation,
        seconds,
        *pivots,
        _PRECISIONS[precision],
        factorizations,
    )
    return Factor(matrix, plan).factor(progress=progress)


def load(path, a, *, storage="full", progress=None):
    """Factors `a`, which has the pattern of the matrix whose Factor was saved, without analysing it
    again."""
    plan = _core.chol_load(current(), os.fspath(path))
    return Factor(Matrix.of(a, storage), plan).factor(progress=progress)


def ldlt(a, *, kind="indefinite", signs=None, perturbation=0.0, **options):
    """Factors any symmetric matrix of scipy.sparse as L D L'; see Factor, and its inertia.

    kind: "indefinite"; or "quasidefinite", faster, for [H B'; B -C] with H and C positive definite.
    signs: for the latter, the sign of each pivot; None: those of the diagonal, and -1 where it is 0.
    perturbation: pivots below this share of the largest entry are replaced by so much; 0: the
    default (2**-26, none for quasidefinite); less than 0: none, and a matrix that needs it is refused.
    Other options are those of cholesky.
    """
    if kind not in ("quasidefinite", "indefinite"):
        raise ValueError('ldlt: kind is "indefinite" or "quasidefinite"')
    matrix = Matrix.of(a, options.pop("storage", "full"))
    if signs is not None:
        signs = np.ascontiguousarray(np.sign(signs), np.int8)
        if signs.shape != matrix.shape[:1]:
            raise ValueError(f"ldlt: signs has shape {signs.shape}, not ({matrix.shape[0]},)")
    return _factored(matrix, (_KINDS[kind], signs, perturbation), **options)


def solve(a, b, *, refine=2, kind="definite", **options):
    """x with a @ x = b, for a symmetric `a` of this kind, positive definite unless it says
    otherwise; options are those of cholesky, or of ldlt."""
    if kind == "definite":
        return cholesky(a, **options).solve(b, refine=refine)
    return ldlt(a, kind=kind, **options).solve(b, refine=refine)


def read(path, *, storage=None, tolerance=0.0):
    """Reads a Matrix Market file. storage and tolerance, as those of Matrix.of, say how a symmetric
    matrix lies in a general file; without them it is symmetric if it equals its transpose."""
    kept = _storage_of(storage or "general")
    read_one = _core.sparse_read(current(), os.fspath(path), kept, tolerance)
    return Matrix(read_one, (storage or "full", tolerance))


def write(path, a, *, storage="general"):
    """Writes a Matrix Market file."""
    _core.sparse_write(current(), Matrix.of(a, storage)._handle, os.fspath(path))


__all__ = ["Factor", "Matrix", "cholesky", "ldlt", "load", "read", "solve", "write"]
