# SPDX-License-Identifier: Apache-2.0
"""What numpy promises, on cases that hypothesis makes up and shrinks. WEFT_TEST_CASES is how many of
each."""

import numpy as np
import pytest

import weft
from conftest import CASES, TYPES, same

hypothesis = pytest.importorskip("hypothesis")
arrays = pytest.importorskip("hypothesis.extra.numpy")
st = hypothesis.strategies


hypothesis.settings.register_profile(
    "weft",
    max_examples=CASES,
    deadline=None,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)
hypothesis.settings.load_profile("weft")


def vectors(dtypes=TYPES, most=200, **elements):
    """Arrays of one dimension of any type, of any numbers of it: NaN, infinities, zeros, subnormal."""
    return st.sampled_from(dtypes).flatmap(
        lambda dtype: arrays.arrays(
            dtype,
            st.integers(0, most),
            elements=arrays.from_dtype(np.dtype(dtype), **elements) if elements else None,
        )
    )


finite = {"allow_nan": False, "allow_infinity": False}


@hypothesis.given(vectors())
def test_sort(x):
    y = weft.sort(x)
    same(y, np.sort(x))
    order = weft.argsort(x)
    same(x[order], y)
    plain = x + x.dtype.type(
        0
    )  # without -0.0, which weft puts before 0.0, and NaN, which it orders
    plain = plain[~np.isnan(plain)]
    same(weft.argsort(plain), np.argsort(plain, kind="stable"))


@hypothesis.given(vectors(), st.booleans())
def test_unique(x, equal_nan):
    got = weft.unique(x, True, True, True, equal_nan=equal_nan)
    for ours, theirs in zip(got, np.unique(x, True, True, True, equal_nan=equal_nan), strict=True):
        same(ours, theirs.reshape(ours.shape))


@hypothesis.given(vectors(), st.data())
def test_partition(x, data):
    if len(x):
        kth = data.draw(st.integers(-len(x), len(x) - 1))
        y = weft.partition(x, kth)
        same(y[kth], np.sort(x)[kth])
        same(np.sort(y), np.sort(x))


@hypothesis.given(vectors(**finite))
def test_cumsum(x):
    if x.dtype.kind != "f":
        same(weft.cumsum(x), np.cumsum(x))
        return
    with np.errstate(over="ignore"):
        sums = np.cumsum(x.astype(np.longdouble))
        size = np.abs(x.astype(np.longdouble)).sum()
    if size < np.finfo(x.dtype).max / 4:
        got = weft.cumsum(x)
        assert got.dtype == x.dtype
        error = np.abs(got.astype(np.longdouble) - sums)
        tiny = np.finfo(x.dtype).smallest_subnormal
        bound = (len(x) + 4) * float(np.finfo(x.dtype).eps) / 2 * size + float(tiny)
        assert (error <= bound).all()


@hypothesis.given(vectors(), vectors(), st.sampled_from(["left", "right"]))
def test_searchsorted(x, v, side):
    with np.errstate(all="ignore"):
        v = v.astype(x.dtype)
    if x.dtype.kind == "f":
        x, v = (a[~np.isnan(a)] + x.dtype.type(0) for a in (x, v))
    x = np.sort(x)
    same(weft.searchsorted(x, v, side), np.searchsorted(x, v, side))


@hypothesis.given(vectors(**finite), st.integers(1, 50))
def test_histogram(x, bins):
    if x.dtype.itemsize == 8 and x.dtype.kind in "iu":
        x = x >> np.array(12, x.dtype)
    try:
        with np.errstate(all="ignore"):
            counts, edges = np.histogram(x, bins)
    except IndexError:  # numpy's own arithmetic overflows
        return
    except ValueError:
        with pytest.raises(ValueError), np.errstate(all="ignore"):
            weft.histogram(x, bins)
        return
    if not np.isfinite(edges).all():
        return
    with np.errstate(all="ignore"):
        got = weft.histogram(x, bins)
    same(got[1], edges)
    same(got[0], counts)


@hypothesis.given(
    arrays.arrays(
        st.sampled_from([np.float32, np.float64, np.complex64, np.complex128]),
        arrays.array_shapes(min_dims=1, max_dims=2, max_side=40),
    ),
    st.sampled_from([None, "ortho", "forward"]),
)
def test_fft(x, norm):
    x = np.nan_to_num(x, nan=1, posinf=1, neginf=1)
    x = np.where(np.abs(x) < 1e4, x, x.dtype.type(3)).astype(x.dtype)
    tolerance = (1e-5 if x.real.dtype == np.float32 else 1e-13) * (1 + np.abs(x).sum())
    for ours, theirs in ((weft.fft.fft, np.fft.fft), (weft.fft.ifft, np.fft.ifft)):
        np.testing.assert_allclose(ours(x, norm=norm), theirs(x, norm=norm), atol=tolerance, rtol=0)
    if x.dtype.kind == "f":
        np.testing.assert_allclose(
            weft.fft.rfft(x, norm=norm), np.fft.rfft(x, norm=norm), atol=tolerance, rtol=0
        )


@hypothesis.given(st.integers(1, 12), st.integers(0, 2**32 - 1), st.integers(0, 3))
def test_solve(n, seed, sides):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(n, n)), rng.normal(size=(n, sides) if sides else n)
    x = weft.linalg.solve(a, b)
    assert x.shape == b.shape
    size = np.abs(a).sum() * (np.abs(x).max() if x.size else 0) + np.abs(b).sum()
    assert np.abs(a @ x - b).sum() <= 1e-13 * size * n
    want = np.linalg.solve(a, b)
    np.testing.assert_allclose(x, want, rtol=0, atol=1e-12 * np.linalg.cond(a) * np.abs(want).max())
