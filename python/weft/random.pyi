# SPDX-License-Identifier: Apache-2.0
from collections.abc import Sequence
from typing import Any, TypeAlias

from numpy.typing import DTypeLike

_Size: TypeAlias = int | Sequence[int] | None

class Generator:
    seed: int
    def __init__(self, seed: int | None = None) -> None: ...
    def random(self, size: _Size = None, dtype: DTypeLike = ..., *, out: Any = None) -> Any: ...
    def standard_normal(
        self, size: _Size = None, dtype: DTypeLike = ..., *, out: Any = None
    ) -> Any: ...
    def normal(self, loc: float = 0.0, scale: float = 1.0, size: _Size = None) -> Any: ...
    def bits(self, size: _Size = None, dtype: DTypeLike = ..., *, out: Any = None) -> Any: ...
    def integers(
        self,
        low: int,
        high: int | None = None,
        size: _Size = None,
        dtype: DTypeLike = ...,
        *,
        endpoint: bool = False,
    ) -> Any: ...
    def permutation(self, n: Any) -> Any: ...
    def choice(self, a: Any, size: _Size = None, replace: bool = True) -> Any: ...

def default_rng(seed: int | None = None) -> Generator: ...
