/* SPDX-License-Identifier: Apache-2.0 */
/* The proof that a matrix over ranks is singular or not positive definite, as solve_singular.c has
 * it: v = (-T \ t, 1, 0), T being the leading block of U, or of L', and t what is beside it;
 * in the caller's unknowns C v, divided by its element k. */
#include "core/smaller.h"
#include "lu/lu_dist.h"
#include "solve/solve_ranks.h"

/* Own part of t = U(0 ... k-1, k), or of L(k, 0 ... k-1). */
static wi_grid beside_leading(const wi_ranks *s, size_t k) {
    const size_t width = weft_type_size(s->factor);
    const size_t before = s->first < k ? wi_smaller(s->own, k - s->first) : 0;
    const bool has = k >= s->first && k < s->first + s->own;
    wi_grid g = {.type = s->type, .rows = has ? k : 0, .columns = 1, .down = 1, .across = s->n};
    g.p = s->f + (has ? k - s->first : 0) * s->n * width;
    if (s->args->solve.spd) {
        g.rows = before;
        g.down = s->n;
        g.p = s->f + k * width;
    }
    return g;
}

/* t, on all ranks. */
static weft_status gather_beside(wi_ranks *s, size_t k, double *t) {
    const wi_grid own = beside_leading(s, k);
    weft_status status = WEFT_OK;
    memset(t, 0, s->n * sizeof *t);
    if (own.rows > 0) {
        status = wi_local(s->ctx, s->place->copy(s->child, &own, WEFT_F64, s->place_x, s->n));
        if (status == WEFT_OK)
            status = wi_ranks_move(s, t + (s->args->solve.spd ? s->first : 0), s->place_x,
                                   own.rows * sizeof *t);
    }
    return wi_ranks_combine(s, t, s->n, false, status);
}

/* t = T \ t, which rank 0 passes and gives to all. */
static weft_status solve_leading(wi_ranks *s, size_t k, double *t) {
    char *const own = (char *)s->gathered;
    const size_t before = s->first < k ? wi_smaller(s->own, k - s->first) : 0;
    const wi_lu_solving call = {.call = s->call,
                                .type = s->type,
                                .spd = s->args->solve.spd,
                                .last = true,
                                .columns = before,
                                .nrhs = s->ctx->comm->rank == 0,
                                .lu = s->f,
                                .lda = s->n,
                                .b = own,
                                .ldb = k};
    for (size_t i = 0; i < k; i++)
        wi_ranks_put(s, own, i, t[i]);
    weft_status status = wi_lu_solve_ranks(s->ctx, &call, WEFT_OK);
    s->ctx->comm->call = s->call;
    if (status == WEFT_OK)
        status = s->ctx->comm->calls->broadcast(s->ctx, own, k, s->type, 0);
    for (size_t i = 0; i < k && status == WEFT_OK; i++)
        t[i] = wi_ranks_element(s, own, i);
    return status;
}

weft_status wi_ranks_find_witness(wi_ranks *s, size_t k) {
    double *const v = s->args->solve.options.witness, *const t = s->z;
    const int32_t *const power = s->power + s->n;
    if (s->args->transposed)
        return WEFT_OK;
    weft_status status = gather_beside(s, k, t);
    if (status == WEFT_OK && k > 0)
        status = solve_leading(s, k, t);
    for (size_t i = 0; i < s->n && v && status == WEFT_OK; i++)
        v[i] = i >= k ? i == k : s->scaled ? -wi_times_power(t[i], power[i] - power[k]) : -t[i];
    return status;
}
