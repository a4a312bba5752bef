# SPDX-License-Identifier: Apache-2.0
"""Bodies that attract each other by gravity, in three dimensions."""

import numpy as np

from . import _core
from ._arrays import finish, flat, new, take
from ._context import current


def _bodies(c, positions, masses):
    """Positions (n, 3) and masses (n), or (n, 4) with the mass last."""
    x = take(c, positions)
    m = None if masses is None else take(c, masses)
    wide = 4 if masses is None else 3
    if x.ndim != 2 or x.shape[1] != wide or x.dtype not in (np.float32, np.float64):
        raise ValueError(
            "positions are an array (n, 3) of float64 or float32 with masses, or (n, 4) with the "
            "mass behind x, y and z"
        )
    if m is not None and (tuple(m.shape) != (x.shape[0],) or m.dtype != x.dtype):
        raise ValueError("masses are n numbers of the type of the positions")
    return x, m


def accelerations(
    positions,
    masses=None,
    *,
    gravity=1.0,
    softening=0.0,
    tolerance=0.0,
    potentials=False,
    error=False,
):
    """The acceleration (n, 3) of each body. tolerance: the relative error that a tree may make; 0: all
    pairs. potentials=True gives the potentials (n) too, error=True the relative error found, in a
    tuple."""
    c = current()
    x, m = _bodies(c, positions, masses)
    n = x.shape[0]
    a = new(c, x, (n, 3), x.dtype)
    phi = new(c, x, (n,), x.dtype) if potentials else None
    off = np.zeros(()) if error else None
    _core.nbody_accelerations(c, n, gravity, softening, tolerance, flat(x), m, flat(a), phi, off)
    result = [finish(a, positions)]
    result += [finish(phi, positions)] if potentials else []
    result += [float(off)] if error else []
    return result[0] if len(result) == 1 else tuple(result)


def step(
    positions, velocities, dt, masses=None, *, steps=1, gravity=1.0, softening=0.0, tolerance=0.0
):
    """Moves the bodies by `steps` steps of the time dt, in place, by leapfrog."""
    c = current()
    for name, array in (("positions", positions), ("velocities", velocities)):
        if isinstance(array, np.ndarray) and not array.flags.carray:
            raise ValueError(f"step: {name} must be writable, without gaps")
        if not hasattr(array, "dtype"):
            raise TypeError(f"step: {name} must be an array, which the call changes")
    if steps < 0:
        raise ValueError(f"step: steps is {steps}; pass 0 or more")
    x, m = _bodies(c, positions, masses)
    v = take(c, velocities)
    if tuple(v.shape) != (x.shape[0], 3) or v.dtype != x.dtype:
        raise ValueError("step: velocities are an array (n, 3) of the type of the positions")
    _core.nbody_step(c, x.shape[0], steps, gravity, softening, tolerance, dt, flat(x), m, flat(v))


def energy(positions, velocities, masses=None, *, gravity=1.0, softening=0.0):
    """The kinetic and the potential energy of all bodies."""
    c = current()
    x, m = _bodies(c, positions, masses)
    v = take(c, velocities)
    if tuple(v.shape) != (x.shape[0], 3) or v.dtype != x.dtype:
        raise ValueError("energy: velocities are an array (n, 3) of the type of the positions")
    both = np.zeros(2)
    _core.nbody_energy(c, x.shape[0], gravity, softening, 0.0, flat(x), m, flat(v), both)
    return float(both[0]), float(both[1])


__all__ = ["accelerations", "energy", "step"]
