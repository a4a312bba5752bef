/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies for `weft nbody`, and pictures of them. */
#ifndef WI_BODIES_H
#define WI_BODIES_H

#include "io/image.h"

/* Bodies in the units of gravity: G = 1, and one galaxy or sphere has the mass 1. */
typedef struct wi_bodies {
    weft_type type; /* f32 or f64 */
    size_t n;
    void *positions;  /* rows x, y, z, m; from wi_host_alloc, as velocities are */
    void *velocities; /* rows x, y, z */
    double view;      /* pictures show x and y from -view to view */
    size_t second;    /* the first body of the second galaxy; n if there is one alone */
} wi_bodies;

/* Both fill the arrays. A sphere in balance whose density falls with (1 + r^2)^(-5/2) (Plummer's).
 */
void wi_make_sphere(wi_bodies *bodies, uint64_t seed);
/* Two discs with bulges that fall towards each other and pass. */
void wi_make_galaxies(wi_bodies *bodies, uint64_t seed);

/* Draws them on `side` x `side` pixels, in memory that wi_image_free frees; false if there is none.
 */
bool wi_draw_bodies(const wi_bodies *bodies, size_t side, wi_image *image);

#endif
