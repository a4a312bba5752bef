# SPDX-License-Identifier: Apache-2.0
from collections.abc import Sequence
from typing import Any, TypeAlias

_Two: TypeAlias = int | tuple[int, int]

def conv2d(
    x: Any,
    weights: Any,
    *,
    stride: _Two = 1,
    padding: _Two = 0,
    dilation: _Two = 1,
    groups: int = 1,
    layout: str = "NCHW",
    tf32: bool = False,
    strict: bool = False,
) -> Any: ...
def conv2d_input_gradient(
    dy: Any,
    weights: Any,
    shape: Sequence[int],
    *,
    stride: _Two = 1,
    padding: _Two = 0,
    dilation: _Two = 1,
    groups: int = 1,
    layout: str = "NCHW",
    tf32: bool = False,
) -> Any: ...
def conv2d_weight_gradient(
    x: Any,
    dy: Any,
    kernel: _Two,
    *,
    stride: _Two = 1,
    padding: _Two = 0,
    dilation: _Two = 1,
    groups: int = 1,
    layout: str = "NCHW",
    tf32: bool = False,
) -> Any: ...
def max_pool2d(
    x: Any,
    kernel: _Two,
    *,
    stride: _Two | None = None,
    padding: _Two = 0,
    layout: str = "NCHW",
) -> Any: ...
def avg_pool2d(
    x: Any,
    kernel: _Two,
    *,
    stride: _Two | None = None,
    padding: _Two = 0,
    count_padding: bool = True,
    layout: str = "NCHW",
) -> Any: ...
def max_pool2d_gradient(
    x: Any,
    dy: Any,
    kernel: _Two,
    *,
    stride: _Two | None = None,
    padding: _Two = 0,
    layout: str = "NCHW",
) -> Any: ...
def avg_pool2d_gradient(
    dy: Any,
    shape: Sequence[int],
    kernel: _Two,
    *,
    stride: _Two | None = None,
    padding: _Two = 0,
    count_padding: bool = True,
    layout: str = "NCHW",
) -> Any: ...
def upsample(
    x: Any, size: tuple[int, int], mode: str = "nearest", *, layout: str = "NCHW"
) -> Any: ...
def upsample_gradient(
    dy: Any, shape: Sequence[int], mode: str = "nearest", *, layout: str = "NCHW"
) -> Any: ...
def add_bias(x: Any, bias: Any, *, layout: str = "NCHW", out: Any = None) -> Any: ...
def bias_gradient(dy: Any, *, layout: str = "NCHW") -> Any: ...
def relu(x: Any, *, out: Any = None) -> Any: ...
def sigmoid(x: Any, *, out: Any = None) -> Any: ...
def tanh(x: Any, *, out: Any = None) -> Any: ...
def activation_gradient(kind: str, y: Any, dy: Any, *, out: Any = None) -> Any: ...
def softmax(x: Any, *, out: Any = None) -> Any: ...
def cross_entropy(x: Any, labels: Any) -> Any: ...
def cross_entropy_gradient(x: Any, labels: Any, scale: float | None = None) -> Any: ...
def batch_norm(
    x: Any,
    scale: Any,
    shift: Any,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.1,
    running: tuple[Any, Any] | None = None,
    layout: str = "NCHW",
) -> tuple[Any, Any, Any]: ...
def batch_norm_inference(
    x: Any,
    scale: Any,
    shift: Any,
    mean: Any,
    variance: Any,
    *,
    epsilon: float = 1e-5,
    layout: str = "NCHW",
) -> Any: ...
def batch_norm_gradient(
    x: Any, scale: Any, mean: Any, inverse: Any, dy: Any, *, layout: str = "NCHW"
) -> tuple[Any, Any, Any]: ...
def sgd_step(
    w: Any,
    gradient: Any,
    *,
    rate: float,
    velocity: Any = None,
    momentum: float = 0.0,
    weight_decay: float = 0.0,
) -> None: ...
def adam_step(
    w: Any,
    gradient: Any,
    first: Any,
    second: Any,
    step: int,
    *,
    rate: float = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    weight_decay: float = 0.0,
) -> None: ...
