/* SPDX-License-Identifier: Apache-2.0 */
/* The rung serial: all pairs, one after the other. */
#include <math.h>

#include "nbody/nbody.h"
#include "nbody/nbody_at.h"

weft_status wi_nbody_serial(weft_context *ctx, const void *args) {
    const wi_nbody_args *const a = args;
    const bool is_f32 = a->type == WEFT_F32;
    (void)ctx;
    for (size_t i = 0; i < a->own; i++) {
        double sum[4] = {0, 0, 0, 0};
        for (size_t j = 0; j < a->n; j++) {
            double d[3], q = 0;
            for (size_t k = 0; k < 3; k++) {
                d[k] = wi_nbody_at(a->type, a->positions, j * a->position_pitch + k) -
                       wi_nbody_at(a->type, a->positions, (a->first + i) * a->position_pitch + k);
                q += d[k] * d[k];
            }
            if (!(is_f32 ? (float)q > 0 : q > 0))
                continue;
            const double mass = a->gravity * wi_nbody_at(a->type, a->masses, j * a->mass_pitch);
            const double inverse = 1 / sqrt(q + a->softening * a->softening);
            const double w = mass * inverse * inverse * inverse;
            for (size_t k = 0; k < 3; k++)
                sum[k] += w * d[k];
            sum[3] -= mass * inverse;
        }
        for (size_t k = 0; k < 3 && a->accelerations; k++)
            wi_nbody_put(a->type, a->accelerations, 3 * i + k, sum[k]);
        if (a->potentials)
            wi_nbody_put(a->type, a->potentials, i, sum[3]);
    }
    return WEFT_OK;
}
