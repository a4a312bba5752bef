# SPDX-License-Identifier: Apache-2.0
from typing import Any

def accelerations(
    positions: Any,
    masses: Any = None,
    *,
    gravity: float = 1.0,
    softening: float = 0.0,
    tolerance: float = 0.0,
    potentials: bool = False,
    error: bool = False,
) -> Any: ...
def step(
    positions: Any,
    velocities: Any,
    dt: float,
    masses: Any = None,
    *,
    steps: int = 1,
    gravity: float = 1.0,
    softening: float = 0.0,
    tolerance: float = 0.0,
) -> None: ...
def energy(
    positions: Any,
    velocities: Any,
    masses: Any = None,
    *,
    gravity: float = 1.0,
    softening: float = 0.0,
) -> tuple[float, float]: ...
