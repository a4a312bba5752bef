/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of a matrix that elimination shows to be singular, or not positive definite. */
#include <string.h>

#include "gemm/trsm.h"
#include "solve/system.h"

/* d[0 ... k) = T \ d, by the leading block of the factors of order k: U, or Lt. */
static weft_status back(wi_system *s, size_t k) {
    const wi_host_triangle leading = {wi_system_host_factors(s, k), !s->args->spd, false,
                                      s->args->spd};
    if (s->streams_factors)
        return wi_host_triangle_solve(s->ctx, &leading, 1, s->d, s->n);
    const wi_triangle_args args = {.type = s->factor,
                                   .upper = !s->args->spd,
                                   .transposed = s->args->spd,
                                   .m = k,
                                   .n = 1,
                                   .alpha = 1,
                                   .a = s->f,
                                   .lda = s->ld,
                                   .b = s->d,
                                   .ldb = s->n};
    return wi_pick(s->ctx, &wi_trsm_ladder, s->factor, &args)->run(s->ctx, &args);
}

/* v = (-U11 \ u, 1, 0), u being the part of column k of U above its pivot, which is 0: then U v =
 * 0. Of L, v = (-L11t \ l, 1, 0), l being the part of row k of L before its diagonal: then vt H v
 * is the pivot that was not positive. In the caller's unknowns it is C v, divided by its element k.
 */
static weft_status find_witness(wi_system *s, size_t k, double *v) {
    const size_t width = weft_type_size(s->factor);
    const wi_grid above = {.type = s->factor,
                           .rows = k,
                           .columns = 1,
                           .p = (const char *)s->f + (s->args->spd ? k : k * s->ld) * width,
                           .down = s->args->spd ? s->ld : 1,
                           .across = s->args->spd ? 1 : s->ld};
    weft_status status = WEFT_OK;
    if (k > 0)
        status = s->place->copy(s->ctx, &above, s->factor, s->d, s->n);
    if (k > 0 && status == WEFT_OK)
        status = back(s, k);
    const wi_grid found = {
        .type = s->factor, .rows = k, .columns = 1, .p = s->d, .down = 1, .across = s->n};
    if (k > 0 && status == WEFT_OK)
        status = s->place->copy(s->ctx, &found, WEFT_F64, s->v, s->n);
    if (status == WEFT_OK)
        status = wi_system_get(s, s->vector, s->v, k * sizeof *v);
    if (status != WEFT_OK)
        return status;
    memset(v, 0, s->n * sizeof *v);
    for (size_t i = 0; i < k; i++)
        v[i] =
            s->host_column_power
                ? -wi_times_power(s->vector[i], s->host_column_power[i] - s->host_column_power[k])
                : -s->vector[i];
    v[k] = 1;
    return WEFT_OK;
}

weft_status wi_system_refuse(wi_system *s, weft_status status, size_t column) {
    s->report->column = column;
    const bool is_final = s->factor == s->args->type && s->products == WI_FULL_PRODUCTS;
    if (s->args->options.witness && is_final) {
        const weft_status found = find_witness(s, column, s->args->options.witness);
        if (found != WEFT_OK)
            return found;
    }
    if (status == WEFT_ENOTSPD)
        return wi_fail(s->ctx, status,
                       "%s: a is not positive definite: its leading block of order %zu, which ends "
                       "in column %zu (counted from 0), is not; use weft_solve",
                       s->call, column + 1, column);
    return wi_fail(s->ctx, status,
                   "%s: a is singular: column %zu (counted from 0) is a combination of those "
                   "before it",
                   s->call, column);
}
