/* SPDX-License-Identifier: Apache-2.0 */
/* What the CUDA rungs of nbody share: bodies as kernels see them, and what one does to another. */
#ifndef WI_NBODY_CUDA_CUH
#define WI_NBODY_CUDA_CUH

#include "cuda/launch.cuh"
#include "cuda/memory.cuh"
#include "cuda/root.cuh"
#include "nbody/nbody.h"

/* A body whose mass is multiplied by G. */
template <class T>
struct alignas(16) wi_nbody_body {
    T x, y, z, m;
};

/* The bodies of a call in the caller's arrays. */
template <class T>
struct wi_nbody_bodies {
    const T *positions, *masses;
    size_t position_pitch, mass_pitch, n;
    size_t first, own; /* whose results are wanted */
    T gravity;
    __device__ wi_nbody_body<T> at(size_t i) const {
        const T *const x = positions + i * position_pitch;
        return {x[0], x[1], x[2], gravity * masses[i * mass_pitch]};
    }
};

template <class T>
wi_nbody_bodies<T> wi_nbody_bodies_of(const wi_nbody_args *a) {
    return {(const T *)a->positions,
            (const T *)a->masses,
            a->position_pitch,
            a->mass_pitch,
            a->n,
            a->first,
            a->own,
            (T)a->gravity};
}

/* Where the results of a call go; either may be NULL. */
template <class T>
struct wi_nbody_results {
    T *accelerations, *potentials;
    __device__ void put(size_t i, double x, double y, double z, double phi) const {
        if (accelerations) {
            accelerations[3 * i] = (T)x;
            accelerations[3 * i + 1] = (T)y;
            accelerations[3 * i + 2] = (T)z;
        }
        if (potentials)
            potentials[i] = (T)phi;
    }
};

template <class T>
wi_nbody_results<T> wi_nbody_results_of(const wi_nbody_args *a) {
    return {(T *)a->accelerations, (T *)a->potentials};
}

/* *cube = m d2^(-3/2) and *one = m d2^(-1/2), by y near d2^(-1/2). In f32 y is close enough. In
 * f64, with e = 1 - d2 y^2, they are m y^3 (1 + 3/2 e + 15/8 e^2) and m y (1 + 1/2 e + 3/8 e^2);
 * what is left out is about e^3, 2^-57. */
__device__ inline void wi_nbody_powers(float m, float, float y, float *cube, float *one) {
    *one = m * y;
    *cube = *one * (y * y);
}
__device__ inline void wi_nbody_powers(double m, double d2, double y, double *cube, double *one) {
    const double square = y * y, e = wi_fma(-d2, square, 1.0), my = m * y, my3 = my * square;
    *cube = wi_fma(my3 * e, wi_fma(1.875, e, 1.5), my3);
    *one = wi_fma(my * e, wi_fma(0.375, e, 0.5), my);
}

/* What acts on one body. */
template <class T>
struct wi_nbody_sums {
    T x, y, z, phi;
};

/* Adds what `other` does to a body at (x, y, z). If the call is soft, nothing asks whether they are
 * at the same point, and there are no potentials. */
template <bool soft, class T>
__device__ inline void wi_nbody_add(const wi_nbody_body<T> &other, T x, T y, T z, T eps2,
                                    wi_nbody_sums<T> &sum) {
    const T dx = other.x - x, dy = other.y - y, dz = other.z - z;
    T d2, root, cube, one;
    if constexpr (soft) {
        d2 = wi_fma(dx, dx, wi_fma(dy, dy, wi_fma(dz, dz, eps2)));
        root = wi_near_root(d2);
    } else {
        const T q = wi_fma(dx, dx, wi_fma(dy, dy, dz * dz));
        d2 = q + eps2;
        root = q > 0 ? wi_near_root(d2) : (T)0;
    }
    wi_nbody_powers(other.m, d2, root, &cube, &one);
    sum.x = wi_fma(cube, dx, sum.x);
    sum.y = wi_fma(cube, dy, sum.y);
    sum.z = wi_fma(cube, dz, sum.z);
    if constexpr (!soft)
        sum.phi -= one;
}

inline bool wi_nbody_takes_soft(const wi_nbody_args *a) {
    return wi_nbody_is_soft(a) && !a->potentials;
}

#endif
