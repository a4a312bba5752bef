/* SPDX-License-Identifier: Apache-2.0 */
/* Systems over ranks, which have the columns of A. They are scaled as on one place (system.h).
 * All factor and substitute together; vectors of the group of right-hand sides that is worked on
 * are the same on all ranks, in host memory, and so are all decisions. What ranks add up is
 * added in their order. */
#include "core/smaller.h"
#include "solve/solve_ranks.h"

#include <math.h>

#include "cholesky/cholesky_dist.h"
#include "lu/lu_dist.h"

enum {
    A,
    B,
    X,
    EXACT_GROUP = 16 /* right-hand sides at a time with exact residuals, which take memory */
};

/* ---- memory ---- */

static void *take(wi_ranks *s, size_t bytes, bool host) {
    void *p = NULL;
    if (s->status != WEFT_OK)
        return NULL;
    if (host)
        s->status = wi_dist_take(s->ctx, bytes > 0 ? bytes : 1, 1, &p);
    else
        s->status = wi_local(s->ctx, weft_alloc(s->child, &p, bytes > 0 ? bytes : 1));
    s->block[s->blocks].p = p;
    s->block[s->blocks++].host = host;
    s->report->bytes += bytes;
    return p;
}

wi_product wi_ranks_product(const wi_ranks *s, size_t count) {
    return (wi_product){.g = s->a,
                        .count = count,
                        .x = s->place_x,
                        .r = s->place_r,
                        .size = s->place_size,
                        .room = s->room};
}

/* What exact residuals take, of `numbers` elements in a group. */
static void take_exact(wi_ranks *s, size_t numbers) {
    const size_t size = (size_t)s->ctx->comm->size, wide = WI_RANKS_WIDE * WI_EXACT_WORDS;
    s->place_low = take(s, numbers * sizeof *s->place_low, false);
    s->place_sums = take(s, numbers * sizeof *s->place_sums, false);
    s->place_which = take(s, WI_RANKS_WIDE * sizeof *s->place_which, false);
    s->place_words = take(s, wide * sizeof *s->place_words, false);
    s->z_low = take(s, numbers * sizeof *s->z_low, true);
    s->sums = take(s, (1 + size) * numbers * sizeof *s->sums, true);
    s->all_sums = s->sums ? s->sums + numbers : NULL;
    s->untold = take(s, numbers * sizeof *s->untold, true);
    s->words = take(s, 2 * wide * sizeof *s->words, true);
}

static void take_all(wi_ranks *s) {
    const size_t n = s->n, size = (size_t)s->ctx->comm->size;
    const size_t some = wi_smaller(s->most_group, s->all_rhs);
    const size_t group = some > WI_ASCENT_COLUMNS ? some : WI_ASCENT_COLUMNS;
    const size_t block = n * group * sizeof(double);
    wi_product p = wi_ranks_product(s, group), turned;
    if (s->args->solve.spd)
        p.g = wi_ranks_whole(s); /* as it will lie */
    turned = p;
    turned.g = wi_grid_turned(&p.g);
    const size_t room = s->place->room_bytes(&p), other = s->place->room_bytes(&turned);
    s->f = take(s, n * s->own * weft_type_size(s->type), false);
    if (s->args->solve.spd)
        s->whole = take(s, n * s->own * weft_type_size(s->type), false);
    s->at = take(s, sizeof(uint64_t), false);
    s->place_x = take(s, block, false);
    s->place_r = take(s, 3 * block, false);
    s->room = take(s, room > other ? room : other, false);
    s->vector = take(s, WI_ASCENT_VECTORS * n * sizeof *s->vector, true);
    s->place_power = take(s, 2 * n * sizeof *s->place_power, false);
    s->power = take(s, 2 * n * sizeof *s->power, true);
    s->place_shift = take(s, s->rhs * sizeof *s->place_shift, false);
    s->shift = take(s, s->rhs * sizeof *s->shift, true);
    s->pivot = take(s, n * sizeof *s->pivot, true);
    s->counts = take(s, size * sizeof *s->counts, true);
    s->c = take(s, 5 * block, true);
    s->d = take(s, block, true);
    s->row_most = take(s, n * sizeof *s->row_most, true);
    s->gathered = take(s, 2 * size * block, true);
    s->own_b = take(s, 2 * n * s->rhs * sizeof *s->own_b, true);
    if (s->exact)
        take_exact(s, block / sizeof(double));
    if (s->status != WEFT_OK)
        return;
    const size_t numbers = block / sizeof(double);
    s->place_size = s->place_r + numbers;
    s->place_c = s->place_size + numbers;
    s->z = s->c + numbers;
    s->r = s->z + numbers;
    s->size = s->r + numbers;
    s->low = s->size + numbers;
    s->gathered_low = s->gathered + size * numbers;
    s->own_x = s->own_b + n * s->rhs;
    s->weight = s->vector + WI_ASCENTS * WI_ASCENT_LINES * n;
}

static void give_all(wi_ranks *s) {
    for (int k = 0; k < s->blocks; k++) {
        if (s->block[k].host)
            wi_host_free(s->block[k].p);
        else
            weft_free(s->child, s->block[k].p);
    }
}

/* ---- between host and place, and between ranks ---- */

weft_status wi_ranks_move(wi_ranks *s, void *to, const void *from, size_t bytes) {
    return wi_local(s->ctx, weft_copy(s->child, to, from, bytes));
}

weft_status wi_ranks_put_rows(wi_ranks *s, double *place, const double *z) {
    const size_t rows = s->args->transposed ? s->n : s->own;
    const size_t from = s->args->transposed ? 0 : s->first;
    weft_status status = WEFT_OK;
    for (size_t k = 0; k < s->group && status == WEFT_OK; k++)
        status = wi_ranks_move(s, place + k * rows, z + k * s->n + from, rows * sizeof *z);
    return status;
}

weft_status wi_ranks_combine(wi_ranks *s, double *x, size_t n, bool largest, weft_status status) {
    status = wi_agree(s->ctx, 0, status);
    if (status == WEFT_OK)
        status = s->ctx->comm->calls->all_gather(s->ctx, x, s->gathered, n, WEFT_F64);
    for (size_t e = 0; e < n && status == WEFT_OK; e++) {
        double sum = s->gathered[e];
        for (size_t r = 1; r < (size_t)s->ctx->comm->size; r++) {
            const double next = s->gathered[e + r * n];
            sum = largest ? wi_larger(sum, next) : sum + next;
        }
        x[e] = sum;
    }
    return status;
}

weft_status wi_ranks_spread(wi_ranks *s, const double *place, size_t count, double *whole) {
    const size_t n = s->n;
    weft_status status = WEFT_OK;
    if (!s->args->transposed)
        return wi_ranks_move(s, whole, place, n * count * sizeof *whole);
    memset(whole, 0, n * count * sizeof *whole);
    for (size_t k = 0; k < count && status == WEFT_OK; k++)
        status =
            wi_ranks_move(s, whole + k * n + s->first, place + k * s->own, s->own * sizeof *whole);
    return status;
}

/* ---- the system ---- */

weft_status wi_ranks_check_finite(wi_ranks *s, const wi_grid *g, const char *which, size_t row,
                                  size_t column) {
    uint64_t at = UINT64_MAX;
    if (g->rows == 0 || g->columns == 0)
        return WEFT_OK;
    weft_status status = wi_local(s->ctx, s->place->first_bad(s->child, g, (uint64_t *)s->at));
    if (status == WEFT_OK)
        status = wi_ranks_move(s, &at, s->at, sizeof at);
    if (status != WEFT_OK || at == UINT64_MAX)
        return status;
    return wi_fail(s->ctx, WEFT_ENONFINITE,
                   "%s: %s has an entry that is not finite in row %zu of column %zu (counted from "
                   "0); mend it",
                   s->call, which, (size_t)(at % g->rows) + row, (size_t)(at / g->rows) + column);
}

/* H as it is to be factored. */
static weft_status fill(wi_ranks *s) {
    const wi_grid columns = s->args->transposed ? wi_grid_turned(&s->a) : s->a;
    return s->own == 0
               ? WEFT_OK
               : wi_local(s->ctx, s->place->copy(s->child, &columns, s->factor, s->f, s->n));
}

static weft_status load(wi_ranks *s) {
    const bool transposed = s->args->transposed;
    weft_status status = s->args->solve.spd
                             ? wi_ranks_check_triangle(s)
                             : wi_ranks_check_finite(s, &s->a, "a", transposed ? s->first : 0,
                                                     transposed ? 0 : s->first);
    if (status == WEFT_OK)
        status = wi_ranks_check_finite(s, &s->b, "b", 0, s->rhs_first);
    status = wi_agree(s->ctx, 0, status);
    if (status == WEFT_OK && s->args->solve.spd)
        status = wi_ranks_complete(s);
    return status;
}

/* ---- factors ---- */

static weft_status run_factor(wi_ranks *s, int64_t *words) {
    const wi_lu_call lu = {
        .args =
            {.type = s->factor, .m = s->n, .n = s->own, .a = s->f, .lda = s->n, .pivot = s->pivot},
        .words = words};
    const wi_cholesky_call cholesky = {
        .args = {.type = s->factor, .n = s->own, .a = s->f, .lda = s->n},
        .order = s->n,
        .words = words};
    return s->args->solve.spd ? wi_run(s->ctx, &wi_cholesky_ladder, s->call, s->factor, &cholesky)
                              : wi_run(s->ctx, &wi_lu_ladder, s->call, s->factor, &lu);
}

_Static_assert((int)WI_LU_SINGULAR == (int)WI_CHOLESKY_INDEFINITE &&
                   (int)WI_LU_INFINITE == (int)WI_CHOLESKY_INFINITE &&
                   (int)WI_LU_WORDS == (int)WI_CHOLESKY_WORDS && WI_LU_NONE == WI_CHOLESKY_NONE,
               "both tell what they found in the same way");

/* A pivot is 0, or not above 0. */
static weft_status refuse(wi_ranks *s, size_t column) {
    const weft_status status = s->factor == s->type ? wi_ranks_find_witness(s, column) : WEFT_OK;
    s->report->column = column;
    if (status != WEFT_OK)
        return status;
    if (s->args->solve.spd)
        return wi_fail(s->ctx, WEFT_ENOTSPD,
                       "%s: a is not positive definite: its leading block of order %zu, which ends "
                       "in column %zu (counted from 0), is not; use weft_solve",
                       s->call, column + 1, column);
    return wi_fail(s->ctx, WEFT_ESINGULAR,
                   "%s: a is singular: its column %zu (counted from 0) depends on those before it",
                   s->call, column);
}

static weft_status factor(wi_ranks *s) {
    int64_t words[WI_LU_WORDS];
    const weft_status status = run_factor(s, words);
    if (status != WEFT_OK)
        return status;
    s->report->variant = weft_used(s->ctx, s->args->solve.spd ? "cholesky" : "lu");
    if (words[WI_LU_INFINITE] != WI_LU_NONE)
        return wi_fail(s->ctx, WEFT_ENONFINITE,
                       "%s: the pivot of column %lld is not finite: a's entries grow too much in "
                       "elimination for %s; scale a",
                       s->call, (long long)words[WI_LU_INFINITE], weft_type_name(s->factor));
    return words[WI_LU_SINGULAR] == WI_LU_NONE ? wi_ranks_judge_factors(s)
                                               : refuse(s, (size_t)words[WI_LU_SINGULAR]);
}

/* ---- all of it ---- */

/* Factors H in s->factor, and solves for all right-hand sides. */
static weft_status solve_by(wi_ranks *s) {
    const double begin = wi_now();
    weft_status status = wi_ranks_scale(s);
    if (status == WEFT_OK)
        status = wi_ranks_measure(s);
    if (status == WEFT_OK)
        status = wi_agree(s->ctx, 0, fill(s));
    if (status == WEFT_OK)
        status = factor(s);
    const double middle = wi_now();
    s->report->factor_seconds += middle - begin;
    s->lost = false;
    memset(s->weight, 0, s->n * sizeof *s->weight);
    for (size_t k = 0; k < s->all_rhs && status == WEFT_OK; k += s->most_group) {
        s->group = wi_smaller(s->most_group, s->all_rhs - k);
        status = wi_ranks_solve_group(s, k);
    }
    s->report->solve_seconds += wi_now() - middle;
    return status;
}

static bool is_poor(const wi_ranks *s, weft_status status) {
    return status == WEFT_ESINGULAR || status == WEFT_ENOTSPD || status == WEFT_ENONFINITE ||
           (status == WEFT_OK && (s->lost || s->report->stalled > 0));
}

/* Factors of f32 first, if that is asked for. All ranks see the same figures. */
static weft_status solve_types(wi_ranks *s) {
    const weft_report before = *s->report;
    const weft_error_handler handler = s->ctx->on_error;
    char message[WI_MESSAGE_BYTES];
    if (s->args->solve.options.precision != WEFT_PRECISION_MIXED)
        return solve_by(s);
    memcpy(message, s->ctx->message, sizeof message);
    s->factor = s->report->factor_type = WEFT_F32;
    s->ctx->on_error = NULL; /* what is refused here is done below */
    const weft_status status = solve_by(s);
    s->ctx->on_error = handler;
    if (!is_poor(s, status))
        return status == WEFT_OK ? status : wi_fail_as(s->ctx, status, s->ctx);
    const double seconds = s->report->factor_seconds + s->report->solve_seconds;
    memcpy(s->ctx->message, message, sizeof message);
    *s->report = before;
    s->report->fell_back = 1;
    s->report->factor_seconds = seconds;
    s->factor = s->report->factor_type = s->type;
    return solve_by(s);
}

static weft_status solve_all(wi_ranks *s) {
    take_all(s);
    weft_status status = wi_agree(s->ctx, 0, s->status);
    if (status == WEFT_OK)
        status = wi_agree(s->ctx, 0, load(s));
    if (status == WEFT_OK)
        status = solve_types(s);
    const double begin = wi_now();
    if (status == WEFT_OK)
        status = wi_ranks_bound(s);
    if (status == WEFT_OK)
        status = wi_agree(s->ctx, 0, wi_ranks_store(s));
    s->report->solve_seconds += wi_now() - begin;
    return status;
}

static wi_grid grid_of(const wi_ranks *s, const wi_part *part, int k, size_t columns) {
    const bool by_rows = s->args->by_rows;
    return (wi_grid){.type = s->type,
                     .rows = s->n,
                     .columns = columns,
                     .p = part->p[k],
                     .down = by_rows ? part->ld[k] : 1,
                     .across = by_rows ? 1 : part->ld[k]};
}

static weft_status run(weft_context *ctx, const wi_part *part, void *user) {
    wi_ranks *const s = user;
    (void)ctx;
    s->a = grid_of(s, part, A, s->own);
    if (s->args->transposed)
        s->a = wi_grid_turned(&s->a);
    s->b = grid_of(s, part, B, s->rhs);
    s->x = grid_of(s, part, X, s->rhs);
    const weft_status status = solve_all(s);
    give_all(s);
    return status;
}

static weft_status run_checked(wi_ranks *s) {
    const wi_solve_ranks_args *const g = s->args;
    wi_array (*const matrix)(const char *, const void *, size_t, size_t, const char *, size_t,
                             weft_type, unsigned) = g->by_rows ? wi_matrix : wi_columns;
    wi_call call;
    wi_call_begin(&call, s->call, 0, 0);
    wi_call_add(&call, matrix("a", g->a, s->n, s->own, "lda", g->lda, s->type, WI_IN));
    wi_call_add(&call, matrix("b", g->b, s->n, s->rhs, "ldb", g->ldb, s->type, WI_IN));
    wi_call_add(&call, matrix("x", g->x, s->n, s->rhs, "ldx", g->ldx, s->type, WI_OUT))->in_place =
        1u << B;
    weft_status status = wi_call_check(s->child, &call);
    status = wi_agree(s->ctx, 0, wi_local(s->ctx, status));
    if (status != WEFT_OK || s->n == 0)
        return status;
    return wi_dist_call_run(s->ctx, &call, run, s);
}

static void begin_report(wi_ranks *s) {
    const double unknown = s->args->solve.options.no_estimates ? (double)NAN : 0;
    *s->report = (weft_report){.size = s->report->size,
                               .n = s->n,
                               .right_hand_sides = s->all_rhs,
                               .forward_bound = unknown,
                               .condition_estimate = unknown,
                               .growth = s->n == 0 ? 1 : unknown,
                               .sign_det = 1,
                               .factor_type = s->type,
                               .method = "ranks",
                               .column = SIZE_MAX,
                               .exact = s->exact,
                               .ranks = (size_t)s->ctx->comm->size};
}

weft_status wi_solve_ranks(weft_context *ctx, const void *args) {
    const wi_solve_ranks_args *const g = args;
    const wi_solve_args *const solve = &g->solve;
    const uint64_t own[2] = {solve->n, solve->rhs};
    const size_t size = (size_t)ctx->comm->size;
    const uint64_t *all;
    void *kept;
    wi_ranks s = {.ctx = ctx,
                  .child = ctx->child,
                  .args = g,
                  .place = &wi_system_on_cpu,
                  .report = solve->report,
                  .call = solve->call,
                  .exact = solve->options.exact,
                  .most_group = solve->options.exact ? EXACT_GROUP : WI_SYSTEM_GROUP,
                  .type = solve->type,
                  .factor = solve->type,
                  .own = solve->n,
                  .rhs = solve->rhs};
#ifdef WEFT_CUDA
    if (ctx->kind == WI_CUDA)
        s.place = &wi_system_on_cuda;
#endif
    weft_status status = wi_agree(ctx, 0, wi_dist_take(ctx, 2 * size, sizeof *all, &kept));
    if (status == WEFT_OK)
        status = wi_all_words(ctx, own, 2, &all);
    if (status == WEFT_OK) {
        memcpy(kept, all, 2 * size * sizeof *all);
        s.all = kept;
        for (size_t r = 0; r < size; r++) {
            s.first += r < (size_t)ctx->comm->rank ? all[2 * r] : 0;
            s.rhs_first += r < (size_t)ctx->comm->rank ? all[2 * r + 1] : 0;
            s.n += all[2 * r];
            s.all_rhs += all[2 * r + 1];
        }
        begin_report(&s);
        status = run_checked(&s);
    }
    wi_host_free(kept);
    return status;
}
