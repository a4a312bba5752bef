# SPDX-License-Identifier: Apache-2.0
# The calls of the library, for the package alone: the rows in python/src name their arguments.
from typing import Any

class Context:
    @property
    def place(self) -> str: ...
    def used(self, op: str, /) -> str | None: ...

def __getattr__(name: str) -> Any: ...
