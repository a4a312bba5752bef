/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of Q (solve_mix.h), and systems that are mixed. */
#include "solve/solve_mix.h"

#include <math.h>

#include "lu/lu_window.h"

int wi_mixed_parts(size_t n, wi_mixed_part *part) {
    int levels = 0;
    while (n >> levels > 1)
        levels++;
    const size_t length = (size_t)1 << levels, beyond = n - length;
    const bool few_meet = 2 * n > 3 * length;
    const size_t first[WI_MIXED_PARTS] = {0, beyond, few_meet ? beyond / 2 : 0, 0, beyond};
    for (int k = 0; k < WI_MIXED_PARTS; k++)
        part[k] = (wi_mixed_part){first[k], levels, (uint32_t)k};
    return beyond == 0 ? 1 : few_meet ? WI_MIXED_PARTS : 3;
}

/* log2 of the factor that the butterflies multiply lengths by. */
static double factor_of(int levels) {
    double sum = 0;
    for (int level = 0; level < levels; level++) {
        const double s = wi_mixed_size(level) / 16.0;
        sum += 0.5 * log2(1 + s * s);
    }
    return sum;
}

int wi_mixed_power(int levels) {
    return (int)floor(factor_of(levels));
}

/* A part of k levels has k 2^(k-1) butterflies, each with the determinant -(1 + s^2): an odd number
 * only if k = 1. */
int wi_mixed_sign(size_t n, double *log_size) {
    wi_mixed_part part[WI_MIXED_PARTS];
    const int parts = wi_mixed_parts(n, part), levels = part->levels;
    const double length = (double)((size_t)1 << levels);
    *log_size = parts * length * (factor_of(levels) - wi_mixed_power(levels)) * WI_LN_2;
    return levels == 1 && parts % 2 ? -1 : 1;
}

#ifdef WEFT_CUDA

weft_status wi_system_mix(wi_system *s, size_t count, bool transposed) {
    const wi_mixed_vectors x = {s->n, count, s->d, 1, s->n, NULL, 0};
    return wi_mix(s->ctx, &x, transposed);
}

/* Reads H where it lies, without a copy to f first, if its layout makes that fast. */
weft_status wi_system_fill_mixed(wi_system *s) {
    wi_mixed_part part[WI_MIXED_PARTS];
    const bool at_once = wi_mixed_parts(s->n, part) == 1 && s->n > 1 && s->a.down == 1 &&
                         !s->a.row_power && !s->a.column_power;
    const wi_mixed_vectors rows = {s->n,       s->n, s->f, s->ld, 1, at_once ? s->a.p : NULL,
                                   s->a.across};
    const weft_status status =
        at_once ? WEFT_OK : s->place->copy(s->ctx, &s->a, s->factor, s->f, s->ld);
    return status == WEFT_OK ? wi_mix(s->ctx, &rows, true) : status;
}

weft_status wi_system_factor_mixed(wi_system *s) {
    const wi_lu_args lu = {s->factor, s->n, s->n, s->f, s->ld, s->pivot, s->first};
    const int32_t e = wi_exponent(s->most_of_a);
    return wi_lu_factor_window(s->ctx, &lu, e == WI_EXPONENT_OF_0 ? 0 : e);
}

#else

static weft_status nowhere(const wi_system *s) {
    return wi_fail(s->ctx, WEFT_EUNSUPPORTED, "%s: this build has no GPU place", s->call);
}
weft_status wi_system_mix(wi_system *s, size_t count, bool transposed) {
    (void)count, (void)transposed;
    return nowhere(s);
}
weft_status wi_system_fill_mixed(wi_system *s) {
    return nowhere(s);
}
weft_status wi_system_factor_mixed(wi_system *s) {
    return nowhere(s);
}

#endif
