/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of arrays of f32 or f64, on a cpu. */
#ifndef WI_NBODY_AT_H
#define WI_NBODY_AT_H

#include "weft/core.h"

static inline double wi_nbody_at(weft_type type, const void *p, size_t i) {
    return type == WEFT_F32 ? (double)((const float *)p)[i] : ((const double *)p)[i];
}

static inline void wi_nbody_put(weft_type type, void *p, size_t i, double x) {
    if (type == WEFT_F32)
        ((float *)p)[i] = (float)x;
    else
        ((double *)p)[i] = x;
}

#endif
