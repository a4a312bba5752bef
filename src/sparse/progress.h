/* SPDX-License-Identifier: Apache-2.0 */
/* When refinement of a right-hand side goes on: the same rule on the host and in a graph. */
#ifndef WI_SPARSE_PROGRESS_H
#define WI_SPARSE_PROGRESS_H

#include <math.h>
#include <stdbool.h>

#include "sparse/dense.h"

/* One right-hand side: its latest correction relative to x, and an estimate of the remaining error.
 * x itself counts as the first correction, to 0. */
typedef struct wi_refining {
    double size, left;
    bool active, taken;
} wi_refining;

WI_COUNTED wi_refining wi_progress_of(bool active) {
    wi_refining p;
    p.size = 1;
    p.left = 0;
    p.active = active;
    p.taken = false;
    return p;
}

/* Is a correction of this size to be added, and another one to be computed? If it is more than half
 * of the one before, the factor is too far from the matrix, and the correction is as wrong as x.
 * If the next one is foreseen to be small it is left out, unless L is of floats: errors in
 * directions that A nearly maps to 0 then shrink more slowly than the sizes of corrections tell.
 * `margin`: elements of x that are so much smaller than the largest are right to their last bits,
 * too. */
WI_COUNTED void wi_judge(wi_refining *p, double size, double wanted, bool narrow) {
    const double unit = 0x1p-53, margin = 0x1p-10;
    const bool last = size <= 2 * wanted;
    p->taken = last || size <= p->size / 2;
    const double left = p->taken ? size / p->size * size : size;
    p->active = p->taken && !last && (narrow || !(left <= wanted * margin));
    p->size = size;
    p->left = left <= 1 ? fmax(left, unit) : 1;
}

#endif
