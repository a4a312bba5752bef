/* SPDX-License-Identifier: Apache-2.0 */
/* Calls about bodies that attract each other. The rows at the end name their arguments. */
#include "core.h"

/* n, of arrays of the type of `a`; gravity, softening and tolerance. */
static weft_nbody system_of(const wp_arguments *v, const wp_array *a) {
    weft_nbody system = {.type = a->type,
                         .n = (size_t)v->i[0],
                         .gravity = v->r[0],
                         .softening = v->r[1],
                         .tolerance = v->r[2]};
    return system;
}

static weft_status accelerations(weft_context *ctx, wp_arguments *v) {
    weft_nbody system = system_of(v, &v->a[0]);
    return wp.weft_nbody_accelerations(ctx, &system, v->a[0].p, v->a[1].p, v->a[2].p, v->a[3].p,
                                       v->a[4].p);
}

static weft_status step(weft_context *ctx, wp_arguments *v) {
    weft_nbody system = system_of(v, &v->a[0]);
    return wp.weft_nbody_step(ctx, &system, v->r[3], (size_t)v->i[1], v->a[0].p, v->a[1].p,
                              v->a[2].p);
}

static weft_status energy(weft_context *ctx, wp_arguments *v) {
    weft_nbody system = system_of(v, &v->a[0]);
    return wp.weft_nbody_energy(ctx, &system, v->a[0].p, v->a[1].p, v->a[2].p, v->a[3].p);
}

const wp_row wp_nbody_rows[] = {
    /* n, gravity, softening, tolerance, positions, masses or None, accelerations or None,
     * potentials or None, error or None */
    {"nbody_accelerations", "irrraaooo", accelerations},
    /* n, steps, gravity, softening, tolerance, dt, positions, masses or None, velocities */
    {"nbody_step", "iirrrroao", step},
    /* n, gravity, softening, tolerance, positions, masses or None, velocities, two energies */
    {"nbody_energy", "irrraaao", energy},
    {NULL, NULL, NULL},
};
