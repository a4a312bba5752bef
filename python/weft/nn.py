# SPDX-License-Identifier: Apache-2.0
"""Layers of convolutional networks, their gradients, and steps of training.

Images are arrays (images, channels, rows, columns), or with layout="NHWC" (images, rows, columns,
channels), of float64, float32 or float16. Of float16 all is computed in float32, and what stands
for many pixels (biases, scales, means, losses, weights of a step) is float32.
"""

import numpy as np

from . import _core
from ._arrays import finish, flat, new, output, take
from ._context import current

_LAYOUTS = {"NCHW": 0, "NHWC": 1}
_MAX, _AVERAGE, _AVERAGE_PADDED = range(3)
_INTERPOLATIONS = {"nearest": 0, "bilinear": 1}
_ACTIVATIONS = {"relu": 0, "sigmoid": 1, "tanh": 2}
_STRICT, _TF32 = 8, 16


def _pair(value, name):
    """A number for rows and one for columns."""
    pair = (value, value) if np.ndim(value) == 0 else tuple(value)
    if len(pair) != 2 or any(int(k) != k or k < 0 for k in pair):
        raise ValueError(f"{name}: an integer, or two, that are not negative; not {value!r}")
    return int(pair[0]), int(pair[1])


def _shape(shape, layout):
    """(layout, images, channels, rows, columns) of an array of images."""
    if layout not in _LAYOUTS:
        raise ValueError('layout is "NCHW" or "NHWC"')
    if len(shape) != 4:
        raise ValueError(f"images have four dimensions, not the shape {tuple(shape)}")
    n, *rest = (int(k) for k in shape)
    c, h, w = rest if layout == "NCHW" else (rest[2], rest[0], rest[1])
    return _LAYOUTS[layout], n, c, h, w


def _like(images, c, h, w):
    """The shape of an array of as many images in the same layout."""
    return (images[1], c, h, w) if images[0] == 0 else (images[1], h, w, c)


def _wide(dtype):
    """The type of what stands for many pixels."""
    return np.dtype(np.float32) if dtype == np.float16 else dtype


def _need(x, shape, dtype, name):
    if tuple(x.shape) != tuple(shape) or x.dtype != dtype:
        raise ValueError(
            f"{name} has shape {tuple(x.shape)} and type {x.dtype}, but {tuple(shape)} and "
            f"{dtype} are needed"
        )


class _Convolution:
    """What a convolution is told: its integers, and the shapes of its arrays."""

    def __init__(self, shape, kernel, filters, stride, padding, dilation, groups, layout, how):
        self.images = _shape(shape, layout)
        (kh, kw), (ph, pw) = kernel, _pair(padding, "padding")
        (sh, sw), (dh, dw) = _pair(stride, "stride"), _pair(dilation, "dilation")
        _, _, channels, h, w = self.images
        if groups < 1 or channels % groups:
            raise ValueError(f"groups: {groups} does not divide {channels} channels")
        if min(sh, sw, dh, dw) < 1:
            raise ValueError("stride and dilation are at least 1")
        self.numbers = (*self.images, filters, kh, kw, sh, sw, ph, pw, dh, dw, groups, how)
        each = channels // groups
        self.weights = (filters, each, kh, kw) if layout == "NCHW" else (filters, kh, kw, each)
        rows = max((h + 2 * ph - dh * (kh - 1) - 1) // sh + 1, 0)
        cols = max((w + 2 * pw - dw * (kw - 1) - 1) // sw + 1, 0)
        self.result = _like(self.images, filters, rows, cols)


def _of_weights(shape, w, layout, options):
    """The convolution of images of this shape with weights `w`."""
    if len(w.shape) != 4:
        raise ValueError("weights have four dimensions: filters, channels, rows, columns")
    kernel = tuple(w.shape[2:]) if layout == "NCHW" else tuple(w.shape[1:3])
    return _Convolution(shape, kernel, w.shape[0], *options)


def conv2d(
    x,
    weights,
    *,
    stride=1,
    padding=0,
    dilation=1,
    groups=1,
    layout="NCHW",
    tf32=False,
    strict=False,
):
    """The correlation of images with filters (filters, channels / groups, rows, columns), or of
    NHWC (filters, rows, columns, channels / groups). tf32: products of float32 with 11 significant
    bits; strict: by fused multiply-adds alone."""
    c = current()
    images, w = take(c, x), take(c, weights)
    how = (_TF32 if tf32 else 0) | (_STRICT if strict else 0)
    conv = _of_weights(images.shape, w, layout, (stride, padding, dilation, groups, layout, how))
    _need(w, conv.weights, images.dtype, "weights")
    y = new(c, images, conv.result, images.dtype)
    _core.conv_forward(c, *conv.numbers, images, w, y)
    return finish(y, x)


def conv2d_input_gradient(
    dy, weights, shape, *, stride=1, padding=0, dilation=1, groups=1, layout="NCHW", tf32=False
):
    """The gradient for the images, which have this shape, given that for the result of conv2d."""
    c = current()
    d, w = take(c, dy), take(c, weights)
    options = (stride, padding, dilation, groups, layout, _TF32 if tf32 else 0)
    conv = _of_weights(shape, w, layout, options)
    _need(w, conv.weights, d.dtype, "weights")
    _need(d, conv.result, d.dtype, "dy")
    dx = new(c, d, tuple(shape), d.dtype)
    _core.conv_backward_data(c, *conv.numbers, d, w, dx)
    return finish(dx, dy)


def conv2d_weight_gradient(
    x, dy, kernel, *, stride=1, padding=0, dilation=1, groups=1, layout="NCHW", tf32=False
):
    """The gradient for the weights, of `kernel` rows and columns, given that for the result."""
    c = current()
    images, d = take(c, x), take(c, dy)
    filters = d.shape[1] if layout == "NCHW" else d.shape[-1]
    options = (stride, padding, dilation, groups, layout, _TF32 if tf32 else 0)
    conv = _Convolution(images.shape, _pair(kernel, "kernel"), filters, *options)
    _need(d, conv.result, images.dtype, "dy")
    dw = new(c, images, conv.weights, images.dtype)
    _core.conv_backward_weights(c, *conv.numbers, images, d, dw)
    return finish(dw, x)


def _pool(shape, kind, kernel, stride, padding, layout):
    """The integers of a pooling, and the shape of its result."""
    images = _shape(shape, layout)
    (kh, kw), (ph, pw) = _pair(kernel, "kernel"), _pair(padding, "padding")
    sh, sw = (kh, kw) if stride is None else _pair(stride, "stride")
    if min(kh, kw, sh, sw) < 1:
        raise ValueError("kernel and stride are at least 1")
    _, _, channels, h, w = images
    rows, cols = (
        (max((a + 2 * p - k) // s + 1, 0) if a + 2 * p >= k else 0)
        for a, p, k, s in ((h, ph, kh, sh), (w, pw, kw, sw))
    )
    return (*images, kind, kh, kw, sh, sw, ph, pw), _like(images, channels, rows, cols)


def _pooled(x, kind, kernel, stride, padding, layout):
    c = current()
    images = take(c, x)
    numbers, shape = _pool(images.shape, kind, kernel, stride, padding, layout)
    y = new(c, images, shape, images.dtype)
    _core.pool_forward(c, *numbers, images, y)
    return finish(y, x)


def max_pool2d(x, kernel, *, stride=None, padding=0, layout="NCHW"):
    """The largest pixel of each window; windows lie side by side unless stride is told."""
    return _pooled(x, _MAX, kernel, stride, padding, layout)


def avg_pool2d(x, kernel, *, stride=None, padding=0, count_padding=True, layout="NCHW"):
    """The mean of each window; count_padding: pixels outside count as zeros."""
    kind = _AVERAGE_PADDED if count_padding else _AVERAGE
    return _pooled(x, kind, kernel, stride, padding, layout)


def max_pool2d_gradient(x, dy, kernel, *, stride=None, padding=0, layout="NCHW"):
    """The gradient for x, given that for the result of max_pool2d."""
    c = current()
    images, d = take(c, x), take(c, dy)
    numbers, shape = _pool(images.shape, _MAX, kernel, stride, padding, layout)
    _need(d, shape, images.dtype, "dy")
    dx = new(c, images, images.shape, images.dtype)
    _core.pool_backward(c, *numbers, images, d, dx)
    return finish(dx, x)


def avg_pool2d_gradient(
    dy, shape, kernel, *, stride=None, padding=0, count_padding=True, layout="NCHW"
):
    """The gradient for images of this shape, given that for the result of avg_pool2d."""
    c = current()
    d = take(c, dy)
    kind = _AVERAGE_PADDED if count_padding else _AVERAGE
    numbers, result = _pool(shape, kind, kernel, stride, padding, layout)
    _need(d, result, d.dtype, "dy")
    dx = new(c, d, tuple(shape), d.dtype)
    _core.pool_backward(c, *numbers, None, d, dx)
    return finish(dx, dy)


def _interpolation(mode):
    if mode not in _INTERPOLATIONS:
        raise ValueError('mode is "nearest" or "bilinear"')
    return _INTERPOLATIONS[mode]


def upsample(x, size, mode="nearest", *, layout="NCHW"):
    """Images of `size` rows and columns, more than x has or fewer."""
    c = current()
    images = take(c, x)
    described, how, (rows, cols) = _shape(images.shape, layout), _interpolation(mode), size
    y = new(c, images, _like(described, described[2], rows, cols), images.dtype)
    _core.upsample_forward(c, *described, how, rows, cols, images, y)
    return finish(y, x)


def upsample_gradient(dy, shape, mode="nearest", *, layout="NCHW"):
    """The gradient for images of this shape, given that for the result of upsample."""
    c = current()
    d = take(c, dy)
    described, (_, _, _, rows, cols) = _shape(shape, layout), _shape(d.shape, layout)
    _need(d, _like(described, described[2], rows, cols), d.dtype, "dy")
    dx = new(c, d, tuple(shape), d.dtype)
    _core.upsample_backward(c, *described, _interpolation(mode), rows, cols, d, dx)
    return finish(dx, dy)


def add_bias(x, bias, *, layout="NCHW", out=None):
    """x with bias[c] added to every pixel of channel c. out may be `x`."""
    c = current()
    images, b = take(c, x), take(c, bias)
    described = _shape(images.shape, layout)
    _need(b, (described[2],), _wide(images.dtype), "bias")
    y = output(c, images, images.shape, images.dtype, out)
    _core.bias_forward(c, *described, images, b, y)
    return finish(y, x, out)


def bias_gradient(dy, *, layout="NCHW"):
    """The sum of each channel of dy."""
    c = current()
    d = take(c, dy)
    described = _shape(d.shape, layout)
    db = new(c, d, (described[2],), _wide(d.dtype))
    _core.bias_backward(c, *described, d, db)
    return finish(db, dy)


def _activated(x, kind, out):
    c = current()
    given = take(c, x)
    y = output(c, given, given.shape, given.dtype, out)
    _core.activation_forward(c, _ACTIVATIONS[kind], flat(given), flat(y))
    return finish(y, x, out)


def relu(x, *, out=None):
    """x where it is above 0, else 0. out may be `x`."""
    return _activated(x, "relu", out)


def sigmoid(x, *, out=None):
    """1 / (1 + exp(-x)). out may be `x`."""
    return _activated(x, "sigmoid", out)


def tanh(x, *, out=None):
    """The hyperbolic tangent. out may be `x`."""
    return _activated(x, "tanh", out)


def activation_gradient(kind, y, dy, *, out=None):
    """The gradient for the input of relu, sigmoid or tanh, from its result y. out may be `dy`."""
    if kind not in _ACTIVATIONS:
        raise ValueError(f"activation_gradient: kind is one of {', '.join(_ACTIVATIONS)}")
    c = current()
    result, d = take(c, y), take(c, dy)
    _need(d, result.shape, result.dtype, "dy")
    dx = output(c, d, d.shape, d.dtype, out)
    _core.activation_backward(c, _ACTIVATIONS[kind], flat(result), flat(d), flat(dx))
    return finish(dx, dy, out)


def _classes(x):
    """How many rows of how many classes: classes are the last axis."""
    if x.ndim == 0:
        raise ValueError("an array whose last axis are the classes is needed")
    classes = x.shape[-1]
    return x.size // classes if classes else 0, classes


def softmax(x, *, out=None):
    """exp(x) / sum(exp(x)) along the last axis, without overflow. out may be `x`."""
    c = current()
    given = take(c, x)
    y = output(c, given, given.shape, given.dtype, out)
    _core.softmax(c, *_classes(given), flat(given), flat(y))
    return finish(y, x, out)


def _labels(c, labels, x, name):
    given = take(c, labels)
    if tuple(given.shape) != tuple(x.shape[:-1]):
        raise ValueError(f"{name}: labels have shape {tuple(given.shape)}, not {x.shape[:-1]}")
    return flat(given if given.dtype == np.int32 else _narrow(given, name))


def _narrow(labels, name):
    if type(labels) is not np.ndarray or labels.dtype.kind not in "iu":
        raise TypeError(f"{name}: labels are integers, in device memory int32")
    narrow = labels.astype(np.int32)
    narrow[(labels < 0) | (labels >= 2**31)] = -1  # out of range, as they were
    return narrow


def cross_entropy(x, labels):
    """The loss -log softmax(x)[label] of each row, with integer labels."""
    c = current()
    given = take(c, x)
    wanted = _labels(c, labels, given, "cross_entropy")
    loss = new(c, given, given.shape[:-1], _wide(given.dtype))
    _core.cross_entropy_forward(c, *_classes(given), flat(given), wanted, flat(loss))
    return finish(loss, x)


def cross_entropy_gradient(x, labels, scale=None):
    """The gradient of `scale` times the sum of the losses; of their mean unless told."""
    c = current()
    given = take(c, x)
    wanted = _labels(c, labels, given, "cross_entropy_gradient")
    rows, classes = _classes(given)
    scale = 1 / max(rows, 1) if scale is None else scale
    dx = new(c, given, given.shape, given.dtype)
    _core.cross_entropy_backward(c, rows, classes, scale, flat(given), wanted, flat(dx))
    return finish(dx, x)


def _vectors(c, arrays, channels, dtype):
    taken = [take(c, a) for a in arrays]
    for a in taken:
        _need(a, (channels,), dtype, "a vector of one number for each channel")
    return taken


def batch_norm(x, scale, shift, *, epsilon=1e-5, momentum=0.1, running=None, layout="NCHW"):
    """Training: (y, mean, inverse), with each channel brought to mean 0 and variance 1 before it is
    scaled and shifted; mean and inverse are for the gradient. running: (mean, variance), which are
    moved towards those of the batch, in place."""
    c = current()
    images = take(c, x)
    described, wide = _shape(images.shape, layout), _wide(images.dtype)
    vectors = _vectors(c, (scale, shift), described[2], wide)
    held = [output(c, images, (described[2],), wide, a) for a in running or ()] or [None, None]
    y = new(c, images, images.shape, images.dtype)
    mean, inverse = (new(c, images, (described[2],), wide) for _ in range(2))
    _core.batch_norm_forward(
        c, *described, epsilon, momentum, images, *vectors, y, mean, inverse, *held
    )
    return finish(y, x), finish(mean, x), finish(inverse, x)


def batch_norm_inference(x, scale, shift, mean, variance, *, epsilon=1e-5, layout="NCHW"):
    """The same with mean and variance as given."""
    c = current()
    images = take(c, x)
    described = _shape(images.shape, layout)
    vectors = _vectors(c, (scale, shift, mean, variance), described[2], _wide(images.dtype))
    y = new(c, images, images.shape, images.dtype)
    _core.batch_norm_inference(c, *described, epsilon, images, *vectors, y)
    return finish(y, x)


def batch_norm_gradient(x, scale, mean, inverse, dy, *, layout="NCHW"):
    """(dx, dscale, dshift), with the mean and inverse that batch_norm gave."""
    c = current()
    images, d = take(c, x), take(c, dy)
    _need(d, images.shape, images.dtype, "dy")
    described, wide = _shape(images.shape, layout), _wide(images.dtype)
    vectors = _vectors(c, (scale, mean, inverse), described[2], wide)
    dx = new(c, images, images.shape, images.dtype)
    dscale, dshift = (new(c, images, (described[2],), wide) for _ in range(2))
    _core.batch_norm_backward(c, *described, images, *vectors, d, dx, dscale, dshift)
    return finish(dx, x), finish(dscale, x), finish(dshift, x)


def _of_step(c, gradient, *changed):
    """Arrays of a step: the gradient, and those that it changes."""
    g = take(c, gradient)
    held = (a if a is None else output(c, g, g.shape, _wide(g.dtype), a) for a in changed)
    return [flat(g), *(a if a is None else flat(a) for a in held)]


def sgd_step(w, gradient, *, rate, velocity=None, momentum=0.0, weight_decay=0.0):
    """One step of gradient descent, in place; with momentum, velocity is needed."""
    c = current()
    _core.sgd_step(c, rate, momentum, weight_decay, *_of_step(c, gradient, w, velocity))


def adam_step(
    w,
    gradient,
    first,
    second,
    step,
    *,
    rate=1e-3,
    beta1=0.9,
    beta2=0.999,
    epsilon=1e-8,
    weight_decay=0.0,
):
    """One step of Adam with decoupled decay, in place; `step` is 1 at first, with moments of 0."""
    c = current()
    arrays = _of_step(c, gradient, w, first, second)
    _core.adam_step(c, step, rate, beta1, beta2, epsilon, weight_decay, *arrays)


__all__ = [
    "activation_gradient",
    "adam_step",
    "add_bias",
    "avg_pool2d",
    "avg_pool2d_gradient",
    "batch_norm",
    "batch_norm_gradient",
    "batch_norm_inference",
    "bias_gradient",
    "conv2d",
    "conv2d_input_gradient",
    "conv2d_weight_gradient",
    "cross_entropy",
    "cross_entropy_gradient",
    "max_pool2d",
    "max_pool2d_gradient",
    "relu",
    "sgd_step",
    "sigmoid",
    "softmax",
    "tanh",
    "upsample",
    "upsample_gradient",
]
