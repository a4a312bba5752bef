/* SPDX-License-Identifier: Apache-2.0 */
/* A group of right-hand sides over ranks: substitution and refinement. */
#include <math.h>

#include "lu/lu_dist.h"
#include "solve/solve_ranks.h"

enum {
    GROUP = WI_SYSTEM_GROUP,
    USUAL_STEPS = 10,
    USUAL_EXACT_STEPS = 40
};

/* With exact residuals z + z_low is refined to this times the unit of x, as on one place. */
static const double finer = 0x1p-40;

/* to = `count` columns of n elements on all ranks; this rank has `own` of them, and rank r
 * s->counts[r] elements. */
static weft_status gather_columns(wi_ranks *s, const void *own, void *to, weft_type type) {
    return s->ctx->comm->calls->all_gather_v(s->ctx, own, to, s->counts, type);
}

/* c = the right-hand sides from number k on. */
static weft_status gather_group(wi_ranks *s, size_t k) {
    size_t begin = 0, own_at = 0;
    for (int r = 0; r < s->ctx->comm->size; r++) {
        const size_t end = begin + s->all[2 * (size_t)r + 1];
        const size_t from = begin > k ? begin : k, bound = k + s->group;
        const size_t to = end < bound ? end : bound;
        s->counts[r] = from < to ? (to - from) * s->n : 0;
        if (r == s->ctx->comm->rank && from < to)
            own_at = from - begin;
        begin = end;
    }
    return gather_columns(s, s->own_b + own_at * s->n, s->c, WEFT_F64);
}

/* Each rank passes a share of the corrections to be. */
static void share_out(wi_ranks *s) {
    const size_t size = (size_t)s->ctx->comm->size, rank = (size_t)s->ctx->comm->rank;
    for (size_t r = 0; r < size; r++)
        s->counts[r] = (s->group * (r + 1) / size - s->group * r / size) * s->n;
    s->share_first = s->group * rank / size;
    s->share = s->counts[rank] / s->n;
}

static double largest_of(const double *x, size_t n) {
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = wi_larger(most, fabs(x[i]));
    return most;
}

/* Scaled so that its numbers fit the type. */
weft_status wi_ranks_substitute(wi_ranks *s, bool turned) {
    int powers[GROUP];
    const size_t n = s->n;
    char *const own = (char *)s->gathered;
    share_out(s);
    for (size_t j = 0; j < s->group; j++) {
        const int32_t e = wi_exponent(largest_of(s->r + j * n, n));
        powers[j] = e == WI_EXPONENT_OF_0 || e == WI_EXPONENT_OF_BAD ? 0 : e;
    }
    for (size_t j = 0; j < s->share; j++)
        for (size_t i = 0; i < n; i++)
            wi_ranks_put(
                s, own, i + j * n,
                wi_times_power(s->r[i + (s->share_first + j) * n], -powers[s->share_first + j]));
    const wi_lu_solving call = {.call = s->call,
                                .type = s->factor,
                                .transposed = s->args->transposed != turned && !s->args->solve.spd,
                                .spd = s->args->solve.spd,
                                .columns = s->own,
                                .nrhs = s->share,
                                .lu = s->f,
                                .lda = n,
                                .pivot = s->pivot,
                                .b = own,
                                .ldb = n};
    weft_status status = wi_lu_solve_ranks(s->ctx, &call, WEFT_OK);
    s->ctx->comm->call = s->call;
    if (status == WEFT_OK)
        status = gather_columns(s, own, s->d, s->factor);
    for (size_t e = 0; e < n * s->group && status == WEFT_OK; e++)
        s->r[e] = wi_times_power(wi_ranks_element(s, s->d, e), powers[e / n]);
    return status;
}

/* r and low of own columns: -A z, and what its rounding has lost, as r - (r + A z) is that. */
static weft_status multiply_own(wi_ranks *s) {
    const size_t count = s->group, out = s->args->transposed ? s->own : s->n;
    wi_product p = wi_ranks_product(s, count);
    double *const host = s->low;
    weft_status status = wi_ranks_put_rows(s, s->place_x, s->z);
    if (status == WEFT_OK)
        status = wi_local(s->ctx, s->place->multiply(s->child, &p));
    if (status == WEFT_OK)
        status = wi_ranks_spread(s, s->place_r, count, s->r);
    if (status == WEFT_OK)
        status = wi_ranks_spread(s, s->place_size, count, s->size);
    if (status == WEFT_OK)
        status = wi_ranks_move(s, host, s->place_r, out * count * sizeof *host);
    for (size_t e = 0; e < out * count && status == WEFT_OK; e++)
        host[e] = -host[e];
    if (status == WEFT_OK)
        status = wi_ranks_move(s, s->place_c, host, out * count * sizeof *host);
    p.c = s->place_c;
    if (status == WEFT_OK)
        status = wi_local(s->ctx, s->place->multiply(s->child, &p));
    return status == WEFT_OK ? wi_ranks_spread(s, s->place_r, count, s->low) : status;
}

/* r = c + the sum of all ranks' r and low, in twice the precision. */
static weft_status add_up(wi_ranks *s, size_t n) {
    const wi_comm_table *const calls = s->ctx->comm->calls;
    weft_status status = calls->all_gather(s->ctx, s->r, s->gathered, n, WEFT_F64);
    if (status == WEFT_OK)
        status = calls->all_gather(s->ctx, s->low, s->gathered_low, n, WEFT_F64);
    for (size_t e = 0; e < n && status == WEFT_OK; e++) {
        double sum = s->c[e], lost = 0;
        for (size_t k = e; k < n * (size_t)s->ctx->comm->size; k += n) {
            const double x = s->gathered[k], next = sum + x, part = next - sum;
            lost += (sum - (next - part)) + (x - part) + s->gathered_low[k];
            sum = next;
        }
        s->r[e] = sum + lost;
    }
    return status;
}

/* r = c - op(A) z, and size = |op(A)| |z|. */
static weft_status residual(wi_ranks *s) {
    const size_t numbers = s->n * s->group;
    weft_status status = WEFT_OK;
    if (s->exact)
        return wi_ranks_exact_residual(s);
    memset(s->r, 0, numbers * sizeof *s->r);
    memset(s->low, 0, numbers * sizeof *s->low);
    memset(s->size, 0, numbers * sizeof *s->size);
    if (s->own > 0)
        status = multiply_own(s);
    status = wi_ranks_combine(s, s->size, numbers, false, status);
    return status == WEFT_OK ? add_up(s, numbers) : status;
}

static double unit_of(const wi_ranks *s) {
    return s->type == WEFT_F64 ? 0x1p-53 : 0x1p-24;
}

/* The unit to which a solution is refined. */
static double aim_of(const wi_ranks *s) {
    return s->exact ? finer * unit_of(s) : unit_of(s);
}

/* A right-hand side on its way. */
typedef struct progress {
    bool active, stalled;
    double size; /* of the last correction, relative to z */
    double left; /* what is expected to remain */
} progress;

/* Adds a correction to element e of the solution. */
static void add_to_element(wi_ranks *s, size_t e, double d) {
    if (s->exact)
        wi_add_to_pair(d, false, &s->z[e], &s->z_low[e]);
    else
        s->z[e] = s->type == WEFT_F64 ? s->z[e] + d : (double)(float)(s->z[e] + d);
}

/* Takes the corrections in r that are less than half of those before; any? */
static bool correct(wi_ranks *s, progress *column) {
    const size_t n = s->n;
    const double aim = aim_of(s);
    bool any = false;
    for (size_t j = 0; j < s->group; j++) {
        progress *const p = &column[j];
        const double *const d = s->r + j * n;
        const double size = largest_of(d, n) / largest_of(s->z + j * n, n);
        if (!p->active)
            continue;
        const bool last = size <= 2 * aim, taken = last || size <= p->size / 2;
        p->stalled = !taken;
        const double left = taken ? size / p->size * size : size;
        p->active = taken && !last && !(left <= aim * 0x1p-10);
        p->left = fmax(fmin(left, 1), unit_of(s));
        p->size = size;
        for (size_t i = 0; i < n && taken; i++)
            add_to_element(s, i + j * n, d[i]);
        any = any || taken;
    }
    return any;
}

static void judge(wi_ranks *s, const progress *column) {
    weft_report *const report = s->report;
    const size_t n = s->n;
    const double tiny = 1000 * (double)n * 0x1p-53;
    for (size_t j = 0; j < s->group; j++) {
        const double *const r = s->r + j * n, *const c = s->c + j * n;
        const double most = largest_of(s->z + j * n, n);
        const double scale = s->norm * most + largest_of(c, n), normwise = largest_of(r, n);
        for (size_t i = 0; i < n; i++)
            report->backward_error = wi_larger(
                report->backward_error, wi_row_error(fabs(r[i]), s->size[i + j * n], fabs(c[i]),
                                                     s->row_most[i] * most, tiny));
        report->normwise_error =
            wi_larger(report->normwise_error, normwise == 0 ? 0 : normwise / scale);
        report->forward_estimate = wi_larger(report->forward_estimate, column[j].left);
        report->stalled += column[j].stalled;
        s->lost = s->lost || column[j].active;
        for (size_t i = 0; i < n && most > 0; i++)
            s->weight[i] = wi_larger(
                s->weight[i],
                (fabs(r[i]) + (double)n * (double)n * 0x1p-105 * s->size[i + j * n]) / most);
    }
}

static weft_status check_solution(wi_ranks *s) {
    for (size_t e = 0; e < s->n * s->group; e++)
        if (!isfinite(s->z[e]))
            return wi_fail(s->ctx, WEFT_ENONFINITE,
                           "%s: x has a number that %s cannot hold; a is singular as far as its "
                           "type can tell, or badly scaled",
                           s->call, weft_type_name(s->type));
    return WEFT_OK;
}

/* Own columns of z to own_x. */
static void keep_own(wi_ranks *s, size_t k) {
    for (size_t j = 0; j < s->group; j++) {
        const size_t column = k + j;
        if (column >= s->rhs_first && column < s->rhs_first + s->rhs)
            memcpy(s->own_x + (column - s->rhs_first) * s->n, s->z + j * s->n,
                   s->n * sizeof(double));
    }
}

/* z becomes what the type holds of z + z_low, and its residual is computed. */
static weft_status settle(wi_ranks *s) {
    const size_t numbers = s->n * s->group;
    for (size_t e = 0; e < numbers; e++)
        s->z[e] = s->type == WEFT_F64 ? s->z[e] : (double)(float)s->z[e];
    memset(s->z_low, 0, numbers * sizeof *s->z_low);
    return residual(s);
}

weft_status wi_ranks_solve_group(wi_ranks *s, size_t k) {
    const int usual = s->exact ? USUAL_EXACT_STEPS : USUAL_STEPS;
    const int given = s->args->solve.options.refine, most = given == 0 ? usual : given;
    progress column[GROUP] = {0};
    bool any = true;
    weft_status status = gather_group(s, k);
    if (status != WEFT_OK)
        return status;
    memcpy(s->r, s->c, s->n * s->group * sizeof *s->r);
    status = wi_ranks_substitute(s, false);
    memcpy(s->z, s->r, s->n * s->group * sizeof *s->z);
    if (s->exact)
        memset(s->z_low, 0, s->n * s->group * sizeof *s->z_low);
    if (status == WEFT_OK)
        status = check_solution(s);
    if (status == WEFT_OK)
        status = residual(s);
    for (size_t j = 0; j < s->group; j++) {
        const bool solved = largest_of(s->r + j * s->n, s->n) == 0;
        column[j] = (progress){.active = !solved && most > 0, .size = 1};
    }
    for (int step = 0; step < most && any && status == WEFT_OK; step++) {
        status = wi_ranks_substitute(s, false);
        any = status == WEFT_OK && correct(s, column);
        s->report->refinements += any && (size_t)step >= s->report->refinements;
        if (status == WEFT_OK)
            status = residual(s);
    }
    if (status == WEFT_OK && s->exact)
        status = settle(s);
    if (status == WEFT_OK)
        judge(s, column);
    keep_own(s, k);
    return status;
}
