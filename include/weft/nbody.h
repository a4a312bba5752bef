/* SPDX-License-Identifier: Apache-2.0 */
/* nbody: bodies that attract each other by gravity. */
#ifndef WEFT_NBODY_H
#define WEFT_NBODY_H

#include "weft/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How bodies act on each other. All members that are 0 have a meaning, so that an initializer can
 * leave them out. */
typedef struct weft_nbody {
    weft_type type;   /* of all arrays: f32 or f64 */
    size_t n;         /* the number of bodies, less than 2^31 */
    double gravity;   /* G; 0 stands for 1 */
    double softening; /* the length eps, 0 or more */
    double tolerance; /* 0: all pairs. Else the rms relative error that accelerations may have */
} weft_nbody;

/* Accelerations and potentials of n bodies at x with masses m:
 *
 *     a(i) = G sum over j of m(j) (x(j) - x(i)) / (|x(j) - x(i)|^2 + eps^2)^(3/2)
 *     phi(i) = -G sum over j of m(j) / (|x(j) - x(i)|^2 + eps^2)^(1/2)
 *
 * Bodies at the very same point do not act on each other, so that no body acts on itself.
 *
 * `positions` holds n rows x, y, z, and `masses` n masses; or `masses` is NULL and positions holds
 * n rows x, y, z, m. `accelerations` gets n rows x, y, z, and `potentials` n numbers; one of the
 * two may be NULL: not wanted. `error` may be NULL; if not, it gets the rms relative error of the
 * accelerations of 256 bodies (of all, if there are fewer), spread evenly over the array:
 * the root of the mean of |a - b|^2 / |b|^2, where b is the sum over all pairs in f64, made anew
 * by this call. That needs accelerations.
 *
 * All pairs (tolerance 0). Terms are computed in `type`, and 256 or fewer are summed in it before
 * they are added to an f64. With u = 2^-24 for f32 and 2^-53 for f64, a component of an
 * acceleration is off by at most (300 + n / 256) u (f32: 300 u) times the sum of the magnitudes of
 * its terms, and a potential likewise, if |x(j) - x(i)|^2 + eps^2 of pairs that act is between
 * 2^-80 and 2^80 (f64: 2^-600 and 2^600) and |G m| between 2^-40 and 2^7 (f64: 2^-200 and 2^60), or
 * 0. Beyond these ranges results may be infinite or NaN, and differences whose squares underflow
 * count as none.
 *
 * With a tolerance a tree may replace many distant bodies by their mass and second moments. How
 * far it goes to meet the tolerance was found by measurement on smooth clusters, on discs and on
 * even distributions; other bodies may see a larger error, which `error` shows.
 *
 * The same input gives the same bits on every run at one place, on a cpu with any number of
 * threads.
 *
 * Arrays may be host or device memory, mixed freely; outputs share no memory with anything else.
 * With all on the device the call is queued on the context's stream.
 *
 * Over ranks (docs/clusters.md) each passes its own bodies, n of them, which may be none; all act
 * on all. It gets what is of its own bodies; but the error and the energy are those of all, on all
 * ranks. With a tolerance all ranks make a tree or none does, and each walks as many bodies as any
 * other, wherever they came from; the same on several GPUs of one process. Where all work on cpus,
 * and by a tree where all work on GPUs, the bits are those of one such place by the same variant;
 * of all pairs on GPUs the last bit may differ with the number of ranks. */
WEFT_API weft_status weft_nbody_accelerations(weft_context *ctx, const weft_nbody *system,
                                              const void *positions, const void *masses,
                                              void *accelerations, void *potentials, double *error);

/* Moves the bodies by `steps` steps of the time dt, which may be negative, by leapfrog
 * (kick, drift, kick):
 *
 *     v = v + a(x) dt / 2,   x = x + v dt,   v = v + a(x) dt / 2
 *
 * Each of the three is one fused multiply-add for a component. positions and masses are as in
 * weft_nbody_accelerations, `velocities` n rows x, y, z; masses are not changed. One call of k
 * steps gives the bits of k calls of one step, and takes k + 1 evaluations of the accelerations
 * instead of 2 k. The method is of second order and symplectic: the error of the energy is
 * proportional to dt^2, and does not grow with the number of steps as long as dt resolves the
 * motion. */
WEFT_API weft_status weft_nbody_step(weft_context *ctx, const weft_nbody *system, double dt,
                                     size_t steps, void *positions, const void *masses,
                                     void *velocities);

/* energy[0] = the kinetic energy, sum of m v^2 / 2; energy[1] = the potential energy, sum of
 * m phi / 2, summed in f64. Host or device memory. */
WEFT_API weft_status weft_nbody_energy(weft_context *ctx, const weft_nbody *system,
                                       const void *positions, const void *masses,
                                       const void *velocities, double *energy);

#ifdef __cplusplus
}
#endif
#endif
