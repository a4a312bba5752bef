# SPDX-License-Identifier: Apache-2.0
"""Products, solutions, factors and transforms, beside numpy's and scipy's."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view as sliding

import weft
from conftest import CASES, FLOATS


def layouts(a):
    """The same matrix as it may lie in memory."""
    wide = np.zeros((a.shape[0] + 3, a.shape[1] + 5), a.dtype)
    wide[2:-1, 1:-4] = a
    return [
        a,
        np.asfortranarray(a),
        wide[2:-1, 1:-4],
        np.asfortranarray(wide)[2:-1, 1:-4],
        np.repeat(a, 2, 1)[:, ::2],
    ]


@pytest.mark.parametrize("dtype", FLOATS)
def test_matmul(rng, dtype):
    eps = np.finfo(dtype).eps
    for _ in range(CASES // 3):
        m, n, k = (int(v) for v in rng.integers(0, 20, 3))
        a, b = rng.normal(size=(m, k)).astype(dtype), rng.normal(size=(k, n)).astype(dtype)
        want = a.astype(np.float64) @ b.astype(np.float64)
        for left in layouts(a):
            for right in layouts(b):
                got = weft.matmul(left, right)
                assert got.dtype == dtype and got.shape == (m, n)
                np.testing.assert_allclose(got, want, rtol=0, atol=50 * eps * (k + 1))
        out = np.full((m, n), np.nan, dtype)
        assert weft.matmul(a, b, out=out) is out
        np.testing.assert_allclose(out, want, rtol=0, atol=50 * eps * (k + 1))
        x, y = rng.normal(size=2 * k).astype(dtype)[::2], rng.normal(size=m).astype(dtype)
        for matrix in layouts(a):
            for got, exact in (
                (weft.matmul(matrix, x), a.astype(np.float64) @ x),
                (weft.matmul(y, matrix), y @ a.astype(np.float64)),
            ):
                assert got.dtype == dtype and got.shape == exact.shape
                np.testing.assert_allclose(got, exact, rtol=0, atol=50 * eps * (m + k + 1))
    with pytest.raises(ValueError, match="fit"):
        weft.matmul(np.zeros((2, 3)), np.zeros((2, 3)))
    with pytest.raises(weft.UnsupportedError):
        weft.matmul(np.zeros((2, 3), int), np.zeros((3, 2), int))


def test_matmul_of_stacks(rng):
    a, b = rng.normal(size=(3, 2, 4, 5)), rng.normal(size=(3, 2, 5, 6))
    np.testing.assert_allclose(weft.matmul(a, b), a @ b, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(weft.matmul(a, b[0, 0]), a @ b[0, 0], rtol=1e-12, atol=1e-12)
    column, row = b[0, 0, :, 0], rng.normal(size=4)
    np.testing.assert_allclose(weft.matmul(a, column), a @ column, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(weft.matmul(row, a), row @ a, rtol=1e-12, atol=1e-12)
    for x, y in ((a, b[0]), (a[:, :1], b), (a[:1], b[:, :1])):
        np.testing.assert_allclose(weft.matmul(x, y), x @ y, rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match="fit"):
        weft.matmul(a, row)
    single = a.astype(np.float32)
    for options in ({}, {"strict": True}, {"tf32": True}):
        got = weft.matmul(single, column.astype(np.float32), **options)
        np.testing.assert_allclose(got, a @ column, rtol=0, atol=0.1)
    with pytest.raises(weft.ArgumentError, match="how"):  # flags of stacks are not ignored
        weft.matmul(single, column.astype(np.float32), strict=True, tf32=True)
    small = rng.integers(-9, 9, (4, 4)).astype(np.int8)
    np.testing.assert_array_equal(weft.matmul(small, small), small.astype(int) @ small.astype(int))


@pytest.mark.parametrize("dtype", FLOATS)
def test_solve(rng, dtype):
    eps = np.finfo(dtype).eps
    for _ in range(CASES // 3):
        n, sides = int(rng.integers(1, 25)), int(rng.integers(1, 4))
        a = (rng.normal(size=(n, n)) + 3 * n**0.5 * np.eye(n)).astype(dtype)
        b = rng.normal(size=(n, sides)).astype(dtype)
        want = np.linalg.solve(a.astype(np.float64), b.astype(np.float64))
        for matrix in layouts(a):
            for right in (b, np.asfortranarray(b), b[:, 0]):
                x = weft.linalg.solve(matrix, right)
                reference = want if right.ndim == 2 else want[:, 0]
                np.testing.assert_allclose(x, reference, rtol=0, atol=200 * eps)
                x = weft.linalg.lu_solve(weft.linalg.lu_factor(matrix), right)
                np.testing.assert_allclose(x, reference, rtol=0, atol=2000 * eps)
        np.testing.assert_allclose(weft.linalg.inv(a) @ a, np.eye(n), rtol=0, atol=2000 * eps)
        sign, logarithm = weft.linalg.slogdet(a)
        reference = np.linalg.slogdet(a.astype(np.float64))
        assert sign == reference[0] and abs(logarithm - reference[1]) < 2000 * eps * n


@pytest.mark.parametrize("dtype", FLOATS)
def test_cholesky(rng, dtype):
    eps = np.finfo(dtype).eps
    for _ in range(CASES // 4):
        n = int(rng.integers(1, 25))
        half = rng.normal(size=(n, n))
        a = (half @ half.T + n * np.eye(n)).astype(dtype)
        b = rng.normal(size=(n, 2)).astype(dtype)
        want = np.linalg.solve(a.astype(np.float64), b.astype(np.float64))
        for matrix in layouts(a):
            lower = weft.linalg.cholesky(matrix)
            np.testing.assert_allclose(lower @ lower.T, a, rtol=0, atol=100 * eps * n)
            upper = weft.linalg.cholesky(matrix, upper=True)
            np.testing.assert_allclose(upper, lower.T, rtol=0, atol=100 * eps * n)
            x = weft.linalg.solve(matrix, b, assume_a="pos")
            np.testing.assert_allclose(x, want, rtol=0, atol=200 * eps)
            for factor in (lower, np.asfortranarray(lower)):
                x = weft.linalg.cho_solve(factor, b)
                np.testing.assert_allclose(x, want, rtol=0, atol=1000 * eps)
                y = weft.linalg.solve_triangular(factor, b, lower=True)
                np.testing.assert_allclose(lower @ y, b, rtol=0, atol=1000 * eps * n)
                y = weft.linalg.solve_triangular(factor, b, lower=True, transposed=True)
                np.testing.assert_allclose(lower.T @ y, b, rtol=0, atol=1000 * eps * n)


def test_exact_solution():
    a = np.array([[3.0, 1.0], [1.0, 2.0]])
    x, facts = weft.linalg.solve(a, np.array([1.0, 0.0]), exact=True, report=True)
    assert facts["exact"] and x.tolist() == [2 / 5, -1 / 5]


def test_stacks_of_systems_of_no_unknowns():
    for _ in range(20):  # memory that nothing is written to may hold anything
        assert weft.linalg.solve(np.zeros((3, 0, 0)), np.ones((3, 0, 2))).shape == (3, 0, 2)


def test_systems_without_solution():
    with pytest.raises(weft.SingularError, match="column 1") as caught:
        weft.linalg.solve(np.array([[1.0, 2.0], [2.0, 4.0]]), np.ones(2))
    assert isinstance(caught.value, np.linalg.LinAlgError)
    assert caught.value.status == "WEFT_ESINGULAR"
    assert weft.linalg.det(np.zeros((3, 3))) == 0
    with pytest.raises(weft.NotPositiveDefiniteError):
        weft.linalg.cholesky(-np.eye(3))
    with pytest.raises(weft.NonFiniteError):
        weft.linalg.solve(np.full((2, 2), np.nan), np.ones(2))
    with pytest.raises(ValueError, match="square"):
        weft.linalg.solve(np.zeros((2, 3)), np.ones(2))
    with pytest.raises(ValueError, match="rows"):
        weft.linalg.solve(np.eye(2), np.ones(3))


def test_report():
    x, facts = weft.linalg.solve(np.diag([1.0, 2.0, 4.0]), np.ones(3), report=True)
    np.testing.assert_array_equal(x, [1, 0.5, 0.25])
    assert facts["backward_error"] < 1e-15 and facts["condition_estimate"] == 4
    assert facts["sign_det"] == 1 and np.isclose(facts["log_abs_det"], np.log(8))


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
def test_fft(rng, name):
    ours, theirs = getattr(weft.fft, name), getattr(np.fft, name)
    for _ in range(CASES // 2):
        shape = tuple(int(k) for k in rng.integers(2, 20, int(rng.integers(1, 4))))
        x = rng.normal(size=shape)
        if name != "rfft":
            x = x + 1j * rng.normal(size=shape)
        axis = int(rng.integers(-len(shape), len(shape)))
        n = [None, int(rng.integers(1, 40))][rng.integers(2)]
        norm = [None, "backward", "ortho", "forward"][rng.integers(4)]
        want = theirs(x, n, axis, norm)
        got = ours(x, n, axis, norm)
        assert got.shape == want.shape and got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-12 * np.abs(x).sum())
        single = ours(x.astype(np.complex64 if x.dtype.kind == "c" else np.float32), n, axis, norm)
        np.testing.assert_allclose(single, want, rtol=0, atol=1e-5 * np.abs(x).sum())
        assert single.itemsize * 2 == got.itemsize


@pytest.mark.parametrize(
    "name", ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"]
)
def test_fft_of_more_dimensions(rng, name):
    ours, theirs = getattr(weft.fft, name), getattr(np.fft, name)
    x = rng.normal(size=(4, 6, 5))
    x = x if name.startswith("r") else x + 1j * rng.normal(size=x.shape)
    for options in ({}, {"axes": (0, 1)}, {"s": (5, 8), "axes": (1, 2)}, {"norm": "ortho"}):
        np.testing.assert_allclose(ours(x, **options), theirs(x, **options), rtol=0, atol=1e-10)
    # -1 is the whole axis of x, that of irfftn's last one too, though its results are other numbers
    want = theirs(x, s=(6, 5), axes=(1, 2))
    np.testing.assert_allclose(ours(x, s=(-1, -1), axes=(1, 2)), want, rtol=0, atol=1e-10)
    with pytest.raises(ValueError):
        ours(x, axes=(0, 7))
    with pytest.raises(ValueError):
        ours(x, norm="loud")


def test_windows_are_multiplied(rng):
    x = rng.normal(size=12)
    for windows in sliding(x, 5), sliding(x, 5).T, sliding(x, 12), sliding(x, 1):
        right = rng.normal(size=(windows.shape[1], 2))
        np.testing.assert_allclose(weft.linalg.matmul(windows, right), windows @ right, rtol=1e-12)
        np.testing.assert_allclose(weft.linalg.matmul(windows, right[:, 0]), windows @ right[:, 0])
    assert weft.linalg.slogdet(sliding(np.array([1.0, 5, 2]), 2))[0] == -1


def test_types_and_stacks_of_systems(rng):
    a = rng.normal(size=(4, 4)) + 4 * np.eye(4)
    lu, pivots = weft.linalg.lu_factor(a)
    x = weft.linalg.lu_solve((lu, pivots.astype(np.int32)), np.ones(4))
    np.testing.assert_allclose(a @ x, 1, rtol=1e-12)
    with pytest.raises(TypeError, match="pivots are integers"):
        weft.linalg.lu_solve((lu, pivots.astype(float)), np.ones(4))
    thirds = np.eye(2, dtype=np.float32) * 3
    x = weft.linalg.solve_triangular(thirds, np.array([0.1, 1.0]))
    assert x.dtype == np.float64 and np.allclose(x, [0.1 / 3, 1 / 3], rtol=1e-15, atol=0)
    for option in {"exact": True}, {"refine": 3}, {"precision": "tf32"}:
        with pytest.raises(ValueError, match="single systems"):
            weft.linalg.solve(np.stack([a, a]), np.ones((2, 4)), **option)
    large = rng.normal(size=(3, 70, 70))
    large = large @ large.transpose(0, 2, 1) + 70 * np.eye(70)
    np.testing.assert_allclose(weft.linalg.cholesky(large), np.linalg.cholesky(large), atol=1e-10)


def test_convolve(rng):
    for _ in range(CASES):
        a, v = (rng.normal(size=int(k)) for k in rng.integers(1, 60, 2))
        for mode in ("full", "same", "valid"):
            np.testing.assert_allclose(
                weft.convolve(a, v, mode), np.convolve(a, v, mode), atol=1e-12
            )
    with pytest.raises(ValueError):
        weft.convolve(a, np.array([]))


def test_images(rng):
    ndimage = pytest.importorskip("scipy.ndimage")
    image, weights = rng.normal(size=(20, 30)), rng.normal(size=(3, 4))
    for mode in ("constant", "nearest", "reflect", "wrap"):
        got = weft.correlate_image(image, weights, mode)
        np.testing.assert_allclose(got, ndimage.correlate(image, weights, mode=mode), atol=1e-12)
    photo = rng.integers(0, 256, (9, 8, 3)).astype(np.uint8)
    blur = np.full((3, 3), 1 / 9)
    assert weft.correlate_image(photo, blur).shape == photo.shape
    assert weft.correlate_image(photo, blur, "valid", out_dtype=np.float32).shape == (7, 6, 3)
    deep = np.array([[0, 300, 70, 513]], np.uint16)
    half = np.array([[0.5]])
    assert weft.correlate_image(deep, half, out_dtype=np.uint8).tolist() == [[0, 150, 35, 255]]
    cut = weft.correlate_image(deep, half, out_dtype=np.uint16, truncate=True, any_order=True)
    assert cut.tolist() == [[0, 150, 35, 256]]
    assert weft.correlate_image(deep, half, out_dtype=np.float64)[0, 3] == 256.5


def laplace(n):
    sparse = pytest.importorskip("scipy.sparse")
    line = sparse.diags([-1.0, 2.1, -1.0], [-1, 0, 1], shape=(n, n))
    return sparse.kronsum(line, line)


def test_sparse_exact():
    sparse = pytest.importorskip("scipy.sparse")
    a = sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(20, 20), format="csr")
    x = weft.sparse.cholesky(a).solve(np.eye(20)[0], exact=True)
    assert (x == np.arange(20, 0, -1) / 21).all()


def test_sparse(rng, tmp_path):
    a = laplace(12)
    b = rng.normal(size=(144, 3))
    for form in ("csr", "csc", "coo"):
        x = weft.sparse.solve(a.asformat(form), b)
        np.testing.assert_allclose(a @ x, b, atol=1e-10)
    factor = weft.sparse.cholesky(a.tocsr(), ordering="amd")
    np.testing.assert_allclose(factor(b[:, 0], refine=2), x[:, 0], atol=1e-12)
    np.testing.assert_allclose(factor.logdet(), np.linalg.slogdet(a.toarray())[1], rtol=1e-10)
    assert factor.report["ordering"] == "amd" and sorted(factor.permutation) == list(range(144))
    assert 1 <= factor.condition() < 1e4
    np.testing.assert_allclose(factor.factor(2 * a.tocsr()).solve(b), x / 2, atol=1e-10)
    factor.save(tmp_path / "plan")
    again = weft.sparse.load(tmp_path / "plan", a.tocsr())
    assert again.report["ordering"] == "amd"
    np.testing.assert_allclose(again.solve(b), x, atol=1e-10)
    with pytest.raises(weft.FileError):
        weft.sparse.load(tmp_path / "nothing", a)
    for factorizations, ordering in ((1, "amd"), (10000, "dissect")):
        often = weft.sparse.cholesky(laplace(200), factorizations=factorizations)
        assert often.report["ordering"] == ordering
    with pytest.raises(ValueError, match="factorizations"):
        weft.sparse.cholesky(a, factorizations=-1)
    matrix = weft.sparse.Matrix.of(a.tocsr())
    np.testing.assert_allclose(matrix @ b, a @ b, atol=1e-12)
    assert abs(matrix.toscipy() - a).max() == 0
    path = tmp_path / "a.mtx"
    weft.sparse.write(path, matrix)
    assert abs(weft.sparse.read(path).toscipy() - a).max() == 0
    with pytest.raises(weft.FileError):
        weft.sparse.read(tmp_path / "nothing.mtx")


def test_sparse_halves(rng, tmp_path):
    a = laplace(6).tocsc()
    other = a.copy()
    above = np.repeat(np.arange(36), np.diff(a.indptr)) > a.indices
    other.data[above] = np.where(rng.integers(2, size=above.sum()), np.nan, 7)
    for matrix, storage in (other, "use_lower"), (other.T.tocsc(), "use_upper"):
        made = weft.sparse.Matrix.of(matrix, storage)
        assert made.symmetric and abs(made.toscipy() - a).max() == 0
        x = weft.sparse.solve(matrix, a @ np.ones(36), storage=storage)
        np.testing.assert_allclose(x, 1, atol=1e-12)
        with pytest.raises((ValueError, weft.Error)):
            weft.sparse.Matrix.of(matrix, storage[4:])
    factor = weft.sparse.cholesky(other, storage="use_lower").factor(2 * other)
    np.testing.assert_allclose(factor(a @ np.ones(36)), 0.5, atol=1e-12)
    other.data[above] = 7
    weft.sparse.write(tmp_path / "other.mtx", other)
    assert not weft.sparse.read(tmp_path / "other.mtx").symmetric
    halves = weft.sparse.read(tmp_path / "other.mtx", storage="use_lower")
    assert halves.symmetric and abs(halves.toscipy() - a).max() == 0
    with pytest.raises(weft.Error, match="not symmetric"):
        weft.sparse.read(tmp_path / "other.mtx", storage="full")
    assert weft.sparse.read(tmp_path / "other.mtx", storage="full", tolerance=10.0).symmetric
    with pytest.raises(ValueError, match="none of general, lower"):
        weft.sparse.read(tmp_path / "other.mtx", storage="half")


def test_sparse_values(rng):
    a = laplace(9)
    b = rng.normal(size=(81, 2))
    factor = weft.sparse.cholesky(a.tocsr())
    values = 3 * factor.matrix.entries()[2]
    for given in (values, list(values), weft.current().asarray(values)):
        x = factor.factor(values=given).solve(b, refine=2)
        np.testing.assert_allclose(3 * (a @ x), b, atol=1e-11)
    with pytest.raises(ValueError, match="factor: values"):
        factor.factor(values=values[1:])
    with pytest.raises(ValueError, match="condition"):
        factor.condition()
    with pytest.raises(weft.Error):
        factor.factor(values=-values)
    np.testing.assert_allclose(a @ factor.factor().solve(b, refine=2), b, atol=1e-11)


def test_sparse_mixed(rng):
    sparse = pytest.importorskip("scipy.sparse")
    a = laplace(7).tocsc()
    b = rng.normal(size=(49, 2))
    for factor in weft.sparse.cholesky(a, precision="mixed"), weft.sparse.ldlt(a, precision="mixed"):
        x = factor.solve(b)
        assert np.abs(a @ x - b).max() < 1e-14 * np.abs(x).max()
        assert factor.report["factor_type"] == "float32" and not factor.report["fell_back"]
    hard = sparse.csc_matrix(np.ones((20, 20)) + 1e-9 * np.eye(20))
    factor = weft.sparse.cholesky(hard, precision="mixed")
    assert factor.report["factor_type"] == "float64" and factor.report["fell_back"]
    with pytest.raises(ValueError):
        weft.sparse.cholesky(a, precision="half")


def test_sparse_ldlt(rng):
    sparse = pytest.importorskip("scipy.sparse")
    h = laplace(9)
    couple = sparse.random(20, 81, 0.1, random_state=1) + sparse.eye(20, 81)
    zero, small = sparse.csc_matrix((20, 20)), 1e-3 * sparse.eye(20)
    b = rng.normal(size=(101, 2))
    for corner, kind in ((zero, "indefinite"), (small, "indefinite"), (small, "quasidefinite")):
        a = sparse.bmat([[h, couple.T], [couple, -corner]]).tocsc()
        factor = weft.sparse.ldlt(a, kind=kind)
        assert factor.inertia == (81, 20, 0) and factor.report["stalled"] == 0
        np.testing.assert_allclose(a @ factor(b), b, atol=1e-10)
        np.testing.assert_allclose(factor.logdet(), np.linalg.slogdet(a.toarray())[1], rtol=1e-9)
        np.testing.assert_allclose(weft.sparse.solve(a, b, kind=kind), factor(b), atol=1e-10)
    signs = np.r_[np.ones(81), -np.ones(20)]
    assert weft.sparse.ldlt(a, kind="quasidefinite", signs=signs).inertia == (81, 20, 0)
    with pytest.raises(weft.NotPositiveDefiniteError, match="sign"):
        weft.sparse.ldlt(a, kind="quasidefinite", signs=-signs)
    with pytest.raises(ValueError, match="signs"):
        weft.sparse.ldlt(a, kind="quasidefinite", signs=signs[1:])
    with pytest.raises(ValueError, match="kind"):
        weft.sparse.ldlt(a, kind="definite")


def test_sparse_errors_and_progress():
    a = laplace(8).tocsr()
    with pytest.raises(weft.NotPositiveDefiniteError, match="column"):
        weft.sparse.cholesky(-a)
    seen = []
    weft.sparse.cholesky(a, progress=seen.append)
    assert seen == sorted(seen) and all(0 <= done <= 1 for done in seen)

    def stop(done):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        weft.sparse.cholesky(a, progress=stop)
    with pytest.raises(RuntimeError, match="another context"):
        weft.sparse.cholesky(a, progress=lambda done: weft.sort(np.arange(3)))
    with pytest.raises(TypeError, match="sparse"):
        weft.sparse.cholesky(np.eye(3))


def test_sparse_factor_takes_what_it_was_made_of(rng):
    sparse = pytest.importorskip("scipy.sparse")
    a = sparse.diags([-1.0, 4, -1], [-1, 0, 1], (9, 9)).tocsc()
    ones = np.ones(9)
    for storage, half in (("lower", sparse.tril), ("upper", sparse.triu)):
        f = weft.sparse.cholesky(half(a), storage=storage).factor(half(2 * a))
        np.testing.assert_allclose(2 * a @ f.solve(ones), ones, rtol=1e-13)
        with pytest.raises(weft.ArgumentError, match="pattern"):
            f.factor(sparse.identity(9).tocsc())
        np.testing.assert_allclose(2 * a @ f.solve(ones), ones, rtol=1e-13)  # as before


def test_sparse_arrays_are_as_long_as_they_say():
    sparse = pytest.importorskip("scipy.sparse")
    a = sparse.diags([-1.0, 4, -1], [-1, 0, 1], (9, 9)).tocsc()

    class Given:
        format, shape = "csc", (9, 9)
        indptr, indices, data = a.indptr, a.indices, a.data

    m = Given()
    m.indices, m.data = np.append(a.indices, 0), np.append(a.data, 7)  # room behind the last
    assert weft.sparse.Matrix.of(m).nnz == 17
    for name, short in (("indptr", a.indptr[:5]), ("indices", a.indices[:3]), ("data", a.data[:3])):
        m = Given()
        setattr(m, name, short)
        with pytest.raises(ValueError, match="indptr"):
            weft.sparse.Matrix.of(m)
    for permutation in (np.arange(3), np.arange(9).reshape(3, 3), np.arange(9) + 0.5):
        with pytest.raises(ValueError, match="9 integers"):
            weft.sparse.cholesky(a, permutation=permutation)


def test_no_imaginary_part_is_lost():
    sparse = pytest.importorskip("scipy.sparse")
    a, z = sparse.identity(3).tocsc(), np.array([1j, 2, 3])
    for call in (
        lambda: weft.sparse.cholesky(a * 1j),
        lambda: weft.sparse.cholesky(a).solve(z),
        lambda: weft.sparse.cholesky(a).factor(values=z),
        lambda: weft.sparse.Matrix.of(a) @ z,
        lambda: weft.sparse.Matrix.of(a).update(z),
        lambda: weft.norm(z),
        lambda: weft.convolve(z, np.ones(2)),
        lambda: weft.convolve(np.ones(2), z),
        lambda: weft.correlate_image(np.ones((3, 3)), z.reshape(1, 3)),
    ):
        with pytest.raises(TypeError, match="real numbers"):
            call()


def test_lu_solve_needs_all_pivots():
    lu, pivots = weft.linalg.lu_factor(np.eye(4) * 3)
    for wrong in (pivots[:2], np.append(pivots, 3), pivots.reshape(2, 2)):
        with pytest.raises(ValueError, match="pivots for 4 rows"):
            weft.linalg.lu_solve((lu, wrong), np.ones(4))
