# SPDX-License-Identifier: Apache-2.0
"""Layers against sums written out in numpy; gradients of linear layers by the identity
<dy, f(x)> = <f'(dy), x>; bodies; stacks of systems."""

import numpy as np
import pytest

import weft
from conftest import same
from weft import nn

LAYOUTS = ("NCHW", "NHWC")


def images(rng, layout, n=2, c=4, h=7, w=6):
    return rng.normal(size=(n, c, h, w) if layout == "NCHW" else (n, h, w, c))


def first(x, layout):
    """As NCHW."""
    return x if layout == "NCHW" else np.moveaxis(x, -1, 1)


def correlate(x, w, stride, padding, dilation, groups):
    """conv2d, written out."""
    x = np.pad(x, [(0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2])
    filters, each, kh, kw = w.shape
    rows = (x.shape[2] - dilation[0] * (kh - 1) - 1) // stride[0] + 1
    cols = (x.shape[3] - dilation[1] * (kw - 1) - 1) // stride[1] + 1
    y = np.zeros((x.shape[0], filters, rows, cols))
    for k in range(filters):
        group = k // (filters // groups)
        for r in range(kh):
            for s in range(kw):
                top, left = r * dilation[0], s * dilation[1]
                part = x[
                    :,
                    group * each : (group + 1) * each,
                    top : top + stride[0] * (rows - 1) + 1 : stride[0],
                    left : left + stride[1] * (cols - 1) + 1 : stride[1],
                ]
                y[:, k] += np.einsum("ncpq,c->npq", part, w[k, :, r, s])
    return y


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("groups", (1, 2))
def test_conv2d(rng, layout, groups):
    for stride, padding, dilation in (((1, 1), (0, 0), (1, 1)), ((2, 1), (1, 2), (1, 2))):
        x = images(rng, layout)
        w = rng.normal(size=(6, 4 // groups, 3, 2))
        weights = w if layout == "NCHW" else np.moveaxis(w, 1, -1).copy()
        options = {"stride": stride, "padding": padding, "dilation": dilation}
        options |= {"groups": groups, "layout": layout}
        y = nn.conv2d(x, weights, **options)
        want = correlate(first(x, layout), w, stride, padding, dilation, groups)
        np.testing.assert_allclose(first(y, layout), want, atol=1e-12)
        dy = rng.normal(size=y.shape)
        dx = nn.conv2d_input_gradient(dy, weights, x.shape, **options)
        dw = nn.conv2d_weight_gradient(x, dy, (3, 2), **options)
        assert dx.shape == x.shape and dw.shape == weights.shape
        np.testing.assert_allclose([(dx * x).sum(), (dw * weights).sum()], (dy * y).sum())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_pools(rng, layout):
    x = images(rng, layout)
    plain = first(x, layout)
    windows = plain[:, :, :6, :6].reshape(2, 4, 2, 3, 3, 2)
    y = nn.max_pool2d(x, (3, 2), layout=layout)
    same(first(y, layout), windows.max(axis=(3, 5)))
    means = nn.avg_pool2d(x, (3, 2), layout=layout)
    np.testing.assert_allclose(first(means, layout), windows.mean(axis=(3, 5)))
    dy = rng.normal(size=y.shape)
    dx = nn.max_pool2d_gradient(x, dy, (3, 2), layout=layout)
    np.testing.assert_allclose((dx * x).sum(), (dy * y).sum())
    assert np.count_nonzero(dx) == y.size
    options = {"stride": 1, "padding": 1, "count_padding": False, "layout": layout}
    y = nn.avg_pool2d(x, 3, **options)
    np.testing.assert_allclose(first(y, layout)[:, :, 0, 0], plain[:, :, :2, :2].mean(axis=(2, 3)))
    dy = rng.normal(size=y.shape)
    dx = nn.avg_pool2d_gradient(dy, x.shape, 3, **options)
    np.testing.assert_allclose((dx * x).sum(), (dy * y).sum())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_upsample_and_bias(rng, layout):
    x = images(rng, layout)
    y = nn.upsample(x, (14, 12), layout=layout)
    same(first(y, layout), first(x, layout).repeat(2, 2).repeat(2, 3))
    for mode in ("nearest", "bilinear"):
        y = nn.upsample(x, (5, 9), mode, layout=layout)
        dy = rng.normal(size=y.shape)
        dx = nn.upsample_gradient(dy, x.shape, mode, layout=layout)
        np.testing.assert_allclose((dx * x).sum(), (dy * y).sum())
    bias = rng.normal(size=4)
    np.testing.assert_allclose(
        first(nn.add_bias(x, bias, layout=layout), layout),
        first(x, layout) + bias[:, None, None],
    )
    np.testing.assert_allclose(
        nn.bias_gradient(x, layout=layout), first(x, layout).sum(axis=(0, 2, 3))
    )


def test_activations(rng):
    x, dy = rng.normal(size=(3, 5)), rng.normal(size=(3, 5))
    y = nn.relu(x)
    same(y, np.maximum(x, 0))
    same(nn.activation_gradient("relu", y, dy), np.where(x > 0, dy, 0))
    y = nn.sigmoid(x)
    np.testing.assert_allclose(y, 1 / (1 + np.exp(-x)))
    np.testing.assert_allclose(nn.activation_gradient("sigmoid", y, dy), dy * y * (1 - y))
    y = nn.tanh(x)
    np.testing.assert_allclose(y, np.tanh(x))
    np.testing.assert_allclose(nn.activation_gradient("tanh", y, dy), dy * (1 - y * y))
    assert nn.relu(x, out=x) is x and x.min() == 0
    with pytest.raises(ValueError, match="relu, sigmoid, tanh"):
        nn.activation_gradient("gelu", y, dy)


def test_softmax_and_losses(rng):
    x, labels = rng.normal(size=(6, 5)) * 50, rng.integers(0, 5, 6)
    shifted = np.exp(x - x.max(axis=1, keepdims=True))
    p = shifted / shifted.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(nn.softmax(x), p)
    losses = -np.log(p[np.arange(6), labels])
    np.testing.assert_allclose(nn.cross_entropy(x, labels), losses, atol=1e-12)
    want = p.copy()
    want[np.arange(6), labels] -= 1
    np.testing.assert_allclose(nn.cross_entropy_gradient(x, labels), want / 6, atol=1e-12)
    np.testing.assert_allclose(nn.cross_entropy_gradient(x, labels, 1), want, atol=1e-12)
    with pytest.raises(ValueError, match="labels"):
        nn.cross_entropy(x, labels[:3])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_batch_norm(rng, layout):
    x = images(rng, layout)
    scale, shift, dy = rng.normal(size=4), rng.normal(size=4), rng.normal(size=x.shape)
    running = np.zeros(4), np.ones(4)
    y, mean, inverse = nn.batch_norm(x, scale, shift, running=running, layout=layout)
    plain = first(x, layout)
    m = plain.mean(axis=(0, 2, 3))
    v = plain.var(axis=(0, 2, 3))
    z = (plain - m[:, None, None]) / np.sqrt(v + 1e-5)[:, None, None]
    want = z * scale[:, None, None] + shift[:, None, None]
    np.testing.assert_allclose(first(y, layout), want)
    np.testing.assert_allclose(mean, m)
    np.testing.assert_allclose(inverse, 1 / np.sqrt(v + 1e-5))
    pixels = plain.size // 4
    np.testing.assert_allclose(running[0], 0.1 * m)
    np.testing.assert_allclose(running[1], 0.9 + 0.1 * v * pixels / (pixels - 1))
    again = nn.batch_norm_inference(x, scale, shift, m, v, layout=layout)
    np.testing.assert_allclose(again, y)
    dx, dscale, dshift = nn.batch_norm_gradient(x, scale, mean, inverse, dy, layout=layout)
    d = first(dy, layout)
    np.testing.assert_allclose(dshift, d.sum(axis=(0, 2, 3)))
    np.testing.assert_allclose(dscale, (d * z).sum(axis=(0, 2, 3)))
    inner = d - (dshift[:, None, None] + z * dscale[:, None, None]) / pixels
    want = (scale * inverse)[:, None, None] * inner
    np.testing.assert_allclose(first(dx, layout), want, atol=1e-12)


def test_steps(rng):
    w, g = rng.normal(size=(3, 4)), rng.normal(size=(3, 4))
    want, velocity = w - 0.1 * (g + 0.01 * w), np.zeros((3, 4))
    nn.sgd_step(w, g, rate=0.1, velocity=velocity, momentum=0.9, weight_decay=0.01)
    np.testing.assert_allclose(w, want)
    assert velocity.any()
    nn.sgd_step(w, g, rate=0.0)
    np.testing.assert_allclose(w, want)
    first_moment, second = np.zeros((3, 4)), np.zeros((3, 4))
    nn.adam_step(w, g, first_moment, second, 1, rate=0.5)
    np.testing.assert_allclose(w, want - 0.5 * g / (np.abs(g) + 1e-8))


def test_float16(rng):
    x, w = rng.normal(size=(1, 2, 4, 4)), rng.normal(size=(3, 2, 3, 3))
    y = nn.conv2d(x.astype(np.float16), w.astype(np.float16))
    assert y.dtype == np.float16
    np.testing.assert_allclose(y, correlate(x, w, (1, 1), (0, 0), (1, 1), 1), atol=0.05)
    assert nn.bias_gradient(y).dtype == np.float32


def test_layers_that_are_refused(rng):
    x = np.zeros((1, 2, 4, 4))
    for call, why in (
        (lambda: nn.conv2d(x, np.zeros((3, 5, 3, 3))), "weights has shape"),
        (lambda: nn.conv2d(x, np.zeros((3, 2, 3, 3)), groups=3), "groups"),
        (lambda: nn.conv2d(x, np.zeros((3, 2, 3, 3)), stride=0), "stride"),
        (lambda: nn.conv2d(x[0], np.zeros((3, 2, 3, 3))), "four dimensions"),
        (lambda: nn.conv2d(x, np.zeros((3, 2, 3, 3)), layout="HWCN"), "layout"),
        (lambda: nn.max_pool2d(x, 2, padding=-1), "padding"),
        (lambda: nn.max_pool2d_gradient(x, x, 2), "dy has shape"),
        (lambda: nn.upsample(x, (8, 8), "cubic"), "mode"),
        (lambda: nn.add_bias(x, np.zeros(3)), "bias has shape"),
        (lambda: nn.sgd_step(x, x, rate=1, momentum=0.5), "velocity"),
    ):
        with pytest.raises(ValueError, match=why):
            call()


def test_bodies(rng):
    n = 60
    x, m, v = rng.normal(size=(n, 3)), rng.random(n), rng.normal(size=(n, 3))
    d = x[None] - x[:, None]
    r2 = (d**2).sum(axis=2) + 0.01
    want = (m[None, :, None] * d / r2[..., None] ** 1.5).sum(axis=1)
    phi = -(m[None] / np.sqrt(r2)).sum(axis=1) + m / 0.1
    a, p = weft.nbody.accelerations(x, m, softening=0.1, potentials=True)
    np.testing.assert_allclose(a, want, atol=1e-11)
    np.testing.assert_allclose(p, phi, rtol=1e-12)
    packed = np.column_stack([x, m])
    np.testing.assert_allclose(weft.nbody.accelerations(packed, softening=0.1, gravity=2), 2 * want)
    a, error = weft.nbody.accelerations(x, m, tolerance=1e-3, error=True)
    assert error <= 1e-3
    kinetic, potential = weft.nbody.energy(x, v, m, softening=0.1)
    np.testing.assert_allclose(kinetic, (m * (v**2).sum(axis=1)).sum() / 2)
    np.testing.assert_allclose(potential, (m * phi).sum() / 2)
    positions, velocities = x.copy(), v.copy()
    weft.nbody.step(positions, velocities, 1e-4, m, steps=10, softening=0.1)
    np.testing.assert_allclose(positions, x + 1e-3 * v, atol=1e-4)
    after = sum(weft.nbody.energy(positions, velocities, m, softening=0.1))
    np.testing.assert_allclose(after, kinetic + potential, rtol=1e-6)
    with pytest.raises(ValueError, match=r"\(n, 4\)"):
        weft.nbody.accelerations(x)
    with pytest.raises(ValueError, match="velocities"):
        weft.nbody.energy(x, v[:2], m)


@pytest.mark.parametrize("dtype", (np.float32, np.float64))
def test_stacks_of_systems(rng, dtype):
    eps = np.finfo(dtype).eps
    for n, stack in ((1, (3,)), (5, (2, 3)), (20, (4,)), (70, (2,)), (3, (0,))):
        a = (rng.normal(size=(*stack, n, n)) + 4 * np.sqrt(n) * np.eye(n)).astype(dtype)
        b = rng.normal(size=(*stack, n, 2)).astype(dtype)
        x = weft.linalg.solve(a, b)
        assert x.shape == b.shape and x.dtype == dtype
        np.testing.assert_allclose(a @ x, b, atol=100 * n * eps)
        vectors = weft.linalg.solve(a, b[..., 0])
        np.testing.assert_allclose(vectors, x[..., 0], atol=100 * n * eps)
        spd = a @ np.swapaxes(a, -1, -2)
        y = weft.linalg.solve(spd, b, assume_a="pos")
        np.testing.assert_allclose(spd @ y, b, atol=3000 * n * eps)
        if n <= 64:
            lower = weft.linalg.cholesky(spd)
            off = np.abs(lower @ np.swapaxes(lower, -1, -2) - spd)
            sizes = np.sqrt(np.diagonal(spd, axis1=-2, axis2=-1))  # |L| |Lt| is no more than these
            assert (off <= 2 * (n + 1) * eps * sizes[..., :, None] * sizes[..., None, :]).all()
            same(np.tril(lower), lower)
    a = np.stack([np.eye(3), np.ones((3, 3))]).astype(dtype)
    with pytest.raises(weft.SingularError, match="matrix 1 of the stack"):
        weft.linalg.solve(a, np.ones((2, 3), dtype))
    with pytest.raises(weft.NotPositiveDefiniteError, match="matrix 1"):
        weft.linalg.cholesky(a)
    with pytest.raises(ValueError, match="do not fit"):
        weft.linalg.solve(a, np.ones((3, 3), dtype))


def test_what_is_written_is_an_array():
    ones = np.ones(2)
    for call in (
        lambda: weft.nn.sgd_step([1.0, 2.0], ones, rate=1),
        lambda: weft.nn.adam_step(ones, ones, [0.0, 0.0], np.zeros(2), 1),
        lambda: weft.nn.relu(ones, out=[0.0, 0.0]),
        lambda: weft.sort(ones, out=(0.0, 0.0)),
    ):
        with pytest.raises(TypeError, match="an array is needed"):
            call()


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_labels_beyond_int32(dtype):
    labels = np.array([1, 2**32, 2**31], dtype)
    loss = weft.nn.cross_entropy(np.ones((3, 2)), labels)
    assert abs(loss[0] - np.log(2)) < 1e-15 and np.isnan(loss[1:]).all()
