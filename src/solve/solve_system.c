/* SPDX-License-Identifier: Apache-2.0 */
/* A system's memory, its factorization, and substitution with the factors. */
#include <math.h>
#include <string.h>

#include "cholesky/cholesky_dist.h"
#include "cholesky/cholesky_streamed.h"
#include "comm/gpus.h"
#include "core/gpu.h"
#include "gemm/trsm.h"
#include "lu/lu_dist.h"
#include "lu/lu_streamed.h"
#include "solve/solve_mix.h"

/* ---- grids ---- */

wi_grid wi_grid_turned(const wi_grid *g) {
    static const wi_half turned[] = {WI_HALF_ALL, WI_HALF_UPPER, WI_HALF_LOWER, WI_HALF_ABOVE,
                                     WI_HALF_BELOW};
    return (wi_grid){.type = g->type,
                     .half = turned[g->half],
                     .rows = g->columns,
                     .columns = g->rows,
                     .p = g->p,
                     .down = g->across,
                     .across = g->down,
                     .row_power = g->column_power,
                     .column_power = g->row_power};
}

wi_grid wi_grid_mirrored(const wi_grid *g) {
    wi_grid mirrored = wi_grid_turned(g);
    mirrored.half = g->half == WI_HALF_LOWER ? WI_HALF_ABOVE : WI_HALF_BELOW;
    return mirrored;
}

/* ---- memory ---- */

static weft_status keep(wi_system *s, void *memory, size_t bytes, bool host, void *p) {
    s->block[s->blocks++] = (struct wi_system_block){memory, host};
    s->bytes += bytes;
    memcpy(p, &memory, sizeof memory);
    return WEFT_OK;
}

weft_status wi_system_take_host(wi_system *s, size_t bytes, void *p) {
    void *const memory = wi_host_alloc(bytes > 0 ? bytes : 1);
    if (!memory)
        return wi_fail(s->ctx, WEFT_ENOMEM, "%s: no memory for %zu bytes of workspace; free some",
                       s->call, bytes);
    return keep(s, memory, bytes, true, p);
}

weft_status wi_system_take(wi_system *s, size_t bytes, void *p) {
    void *memory;
    if (s->ctx->kind == WI_CPU)
        return wi_system_take_host(s, bytes, p);
    const weft_status status = wi_gpu_alloc(s->ctx, &memory, bytes > 0 ? bytes : 1);
    return status == WEFT_OK ? keep(s, memory, bytes, false, p) : status;
}

static weft_status move(wi_system *s, void *to, const void *from, size_t bytes) {
    if (s->ctx->kind == WI_CUDA && bytes > 0)
        return wi_gpu_copy(s->ctx, to, from, bytes);
    if (bytes > 0)
        memcpy(to, from, bytes);
    return WEFT_OK;
}

weft_status wi_system_get(wi_system *s, void *host, const void *place, size_t bytes) {
    return move(s, host, place, bytes);
}

weft_status wi_system_put(wi_system *s, void *place, const void *host, size_t bytes) {
    return move(s, place, host, bytes);
}

/* Bytes of `count` elements of `width`, or too many. */
static size_t bytes_of(size_t rows, size_t columns, size_t width) {
    size_t count, bytes;
    if (__builtin_mul_overflow(rows, columns, &count) ||
        __builtin_mul_overflow(count, width, &bytes))
        return SIZE_MAX / 2;
    return bytes;
}

/* What products with H or its transpose need. */
static size_t room_of(const wi_system *s) {
    const wi_product own = {.g = s->a, .symmetric = s->args->spd, .count = s->group};
    const wi_product turned = {
        .g = wi_grid_turned(&s->a), .symmetric = s->args->spd, .count = s->group};
    const size_t one = s->place->room_bytes(&own), other = s->place->room_bytes(&turned);
    return one > other ? one : other;
}

/* The factors, right-hand sides and solutions, and vectors. */
double wi_system_bytes(const wi_solve_args *args, weft_type factor) {
    const double n = (double)args->n, rhs = (double)args->rhs;
    const double width = (double)weft_type_size(args->type);
    const double group = rhs < WI_SYSTEM_GROUP ? rhs + 1 : WI_SYSTEM_GROUP;
    return n * (n * (double)weft_type_size(factor) + rhs * 2 * width + (rhs + 1) * sizeof(double) +
                4 * group * sizeof(double));
}

static weft_status take_all(wi_system *s) {
    const size_t n = s->n, group = s->group, width = weft_type_size(s->factor);
    const size_t block = bytes_of(n, group, sizeof(double)), line = n * sizeof(double);
    const size_t columns = n + (s->augments ? s->args->rhs : 0);
    weft_status status = (s->streams_factors ? wi_system_take_host : wi_system_take)(
        s, bytes_of(s->ld, columns, width), &s->f);
    if (status == WEFT_OK)
        status = wi_system_take(s, n * sizeof *s->pivot, &s->pivot);
    if (status == WEFT_OK)
        status = wi_system_take(s, WI_LU_WORDS * sizeof *s->first, &s->first);
    if (status == WEFT_OK)
        status = wi_system_take(s, 3 * line, &s->row_most);
    if (status == WEFT_OK)
        status = wi_system_take(s, bytes_of(n, s->args->rhs + 1, sizeof(double)), &s->z);
    if (status == WEFT_OK && s->args->options.exact)
        status = wi_system_take(s, block, &s->low);
    if (status == WEFT_OK)
        status = wi_system_take(s, 3 * block, &s->c);
    if (status == WEFT_OK)
        status = wi_system_take(s, bytes_of(n, group, width), &s->d);
    if (status == WEFT_OK)
        status = wi_system_take(s, group * (3 * sizeof *s->words + sizeof *s->powers), &s->words);
    if (status == WEFT_OK)
        status = wi_system_take(s, 3 * line, &s->v);
    if (status == WEFT_OK)
        status = wi_system_take(s, room_of(s), &s->room);
    if (status == WEFT_OK)
        status = wi_system_take_host(s, WI_ASCENT_VECTORS * line, &s->vector);
    if (status == WEFT_OK)
        status = wi_system_take_host(s, s->args->rhs * sizeof *s->shift, &s->shift);
    if (status != WEFT_OK)
        return status;
    s->w = s->row_most + n;
    s->r = s->c + n * group;
    s->size = s->r + n * group;
    s->powers = (int32_t *)(void *)(s->words + 3 * group);
    return WEFT_OK;
}

weft_status wi_system_open(wi_system *s, weft_context *ctx, const wi_solve_args *args,
                           wi_factoring factoring) {
    const size_t columns = args->rhs + 1; /* with that of the trial */
    *s = (wi_system){.ctx = ctx,
                     .args = args,
                     .place = &wi_system_on_cpu,
                     .call = args->call,
                     .report = args->report,
                     .n = args->n,
                     .group = columns < WI_ASCENT_COLUMNS ? WI_ASCENT_COLUMNS
                              : columns < WI_SYSTEM_GROUP ? columns
                                                          : WI_SYSTEM_GROUP,
                     .a = args->a,
                     .factor = factoring.type,
                     .products = factoring.products,
                     .mixes = factoring.mixes,
                     .augments = factoring.augments,
                     .ld = factoring.augments ? args->n : (args->n + 3) / 4 * 4,
                     .error_unit = args->type == WEFT_F64 ? 0x1p-53 : 0x1p-24};
#ifdef WEFT_CUDA
    if (ctx->kind == WI_CUDA)
        s->place = args->streamed ? &s->streamed : &wi_system_on_cuda;
    if (args->streamed)
        wi_system_streamed(&s->streamed);
#endif
    /* Panels of A need room beside them: a seventh of it. */
    s->streams_factors =
        args->streamed && !wi_fits_device(ctx, wi_system_bytes(args, s->factor) * 7 / 6);
    if (s->streams_factors)
        s->products = WI_FULL_PRODUCTS;
    s->report->streamed = args->streamed + s->streams_factors;
    return take_all(s);
}

void wi_system_close(wi_system *s) {
    for (int k = 0; k < s->blocks; k++) {
        if (s->block[k].host)
            wi_host_free(s->block[k].p);
        else
            wi_gpu_free(s->ctx, s->block[k].p);
    }
}

/* ---- factors ---- */

/* On all GPUs: the matrix, and its factors, are in memory of the first. */
static weft_status run_on_gpus(wi_system *s, const wi_lu_args *lu,
                               const wi_cholesky_args *cholesky) {
    int64_t words[WI_LU_WORDS];
    const weft_status status = lu ? wi_lu_run_gpus(s->ctx, s->call, lu, false, words)
                                  : wi_cholesky_run_gpus(s->ctx, s->call, cholesky, words);
    s->report->ranks = (size_t)wi_gpus_count(s->ctx);
    return status == WEFT_OK ? wi_system_put(s, s->first, words, sizeof words) : status;
}

wi_host_matrix wi_system_host_factors(const wi_system *s, size_t order) {
    return (wi_host_matrix){s->call, s->factor, false, order, order, s->f, s->ld};
}

/* Of factors in host memory. */
static weft_status run_streamed(wi_system *s) {
    const wi_host_matrix f = wi_system_host_factors(s, s->n);
    int64_t words[WI_LU_WORDS] = {WI_LU_NONE, WI_LU_NONE};
    int64_t *const pivot = (int64_t *)(void *)s->vector;
    weft_status status = s->args->spd ? wi_cholesky_factor_streamed(s->ctx, &f, words)
                                      : wi_lu_factor_streamed(s->ctx, &f, pivot, words);
    if (status == WEFT_OK && !s->args->spd)
        status = wi_system_put(s, s->pivot, pivot, s->n * sizeof *pivot);
    return status == WEFT_OK ? wi_system_put(s, s->first, words, sizeof words) : status;
}

static weft_status run_narrow(wi_system *s) {
    const int32_t e = wi_exponent(s->most_of_a);
    const wi_narrow how = {s->call, s->products, e == WI_EXPONENT_OF_0 ? 0 : e};
    const wi_lu_args lu = {s->factor, s->n, s->n, s->f, s->ld, s->pivot, s->first};
    const wi_cholesky_args cholesky = {
        .type = s->factor, .n = s->n, .a = s->f, .lda = s->ld, .first = s->first};
    return s->args->spd ? wi_cholesky_factor_narrow(s->ctx, &cholesky, &how)
                        : wi_lu_factor_narrow(s->ctx, &lu, &how);
}

/* The elimination of the texts, on a cpu or a GPU, of a matrix augmented by right-hand sides. */
static weft_status run_augmented(wi_system *s) {
    const wi_lu_args args = {s->factor, s->n, s->n + s->args->rhs, s->f, s->ld, s->pivot, s->first};
#if defined(WEFT_CUDA) && WEFT_LADDER
    if (s->ctx->kind == WI_CUDA)
        return wi_lu_three_kernels(s->ctx, &args);
#endif
    return wi_lu_serial(s->ctx, &args);
}

static weft_status run_factor(wi_system *s) {
    if (s->augments)
        return run_augmented(s);
    if (s->streams_factors)
        return run_streamed(s);
    if (s->products != WI_FULL_PRODUCTS)
        return run_narrow(s);
    if (s->mixes)
        return wi_system_factor_mixed(s);
    if (s->args->spd) {
        const wi_cholesky_args args = {
            .type = s->factor, .n = s->n, .a = s->f, .lda = s->ld, .first = s->first};
        if (wi_cholesky_wants_gpus(s->ctx, &args))
            return run_on_gpus(s, NULL, &args);
        return wi_run(s->ctx, &wi_cholesky_ladder, s->call, s->factor, &args);
    }
    const wi_lu_args args = {s->factor, s->n, s->n, s->f, s->ld, s->pivot, s->first};
    if (wi_lu_wants_gpus(s->ctx, &args))
        return run_on_gpus(s, &args, NULL);
    return wi_run(s->ctx, &wi_lu_ladder, s->call, s->factor, &args);
}

_Static_assert((int)WI_LU_SINGULAR == (int)WI_CHOLESKY_INDEFINITE &&
                   (int)WI_LU_INFINITE == (int)WI_CHOLESKY_INFINITE &&
                   (int)WI_LU_WORDS == (int)WI_CHOLESKY_WORDS && WI_LU_NONE == WI_CHOLESKY_NONE,
               "both tell what they found in the same way");

/* H itself, or its lower triangle, to f. */
static weft_status fill(wi_system *s) {
    if (s->mixes)
        return wi_system_fill_mixed(s);
    const wi_grid a = s->a.half == WI_HALF_UPPER ? wi_grid_turned(&s->a) : s->a;
    const weft_status status = s->place->copy(s->ctx, &a, s->factor, s->f, s->ld);
    return status == WEFT_OK && s->augments ? wi_system_augment(s) : status;
}

/* The rung that factored. */
static const char *variant_of(const wi_system *s) {
    if (s->augments)
        return s->ctx->kind == WI_CUDA ? "three_kernels" : "serial";
    return s->mixes ? "window" : weft_used(s->ctx, s->args->spd ? "cholesky" : "lu");
}

weft_status wi_system_factor(wi_system *s) {
    int64_t found[WI_LU_WORDS];
    weft_status status = fill(s);
    if (status == WEFT_OK)
        status = run_factor(s);
    if (status == WEFT_OK)
        status = wi_system_get(s, found, s->first, sizeof found);
    if (status != WEFT_OK)
        return status;
    s->report->variant = variant_of(s);
    s->report->factor_type = s->products == WI_BF16_PRODUCTS  ? WEFT_BF16
                             : s->products == WI_F16_PRODUCTS ? WEFT_F16
                                                              : s->factor;
    if (found[WI_LU_INFINITE] != WI_LU_NONE)
        return wi_fail(s->ctx, WEFT_ENONFINITE,
                       "%s: the pivot of column %lld is not finite: a's entries grow too much in "
                       "elimination for %s; scale a, or solve in f64",
                       s->call, (long long)found[WI_LU_INFINITE], weft_type_name(s->factor));
    if (found[WI_LU_SINGULAR] != WI_LU_NONE && s->mixes)
        return WEFT_ESINGULAR; /* another rung finds out why */
    if (found[WI_LU_SINGULAR] != WI_LU_NONE)
        return wi_system_refuse(s, s->args->spd ? WEFT_ENOTSPD : WEFT_ESINGULAR,
                                (size_t)found[WI_LU_SINGULAR]);
    return WEFT_OK;
}

weft_status wi_system_triangle(wi_system *s, bool upper, bool transposed, bool unit, size_t count) {
    const wi_triangle_args args = {.type = s->factor,
                                   .upper = upper,
                                   .transposed = transposed,
                                   .unit = unit,
                                   .m = s->n,
                                   .n = count,
                                   .alpha = 1,
                                   .a = s->f,
                                   .lda = s->ld,
                                   .b = s->d,
                                   .ldb = s->n};
    return wi_pick(s->ctx, &wi_trsm_ladder, s->factor, &args)->run(s->ctx, &args);
}

weft_status wi_system_substitute(wi_system *s, bool transposed, size_t count) {
    weft_status status = WEFT_OK;
    if (s->streams_factors) {
        const wi_host_matrix f = wi_system_host_factors(s, s->n);
        return s->args->spd
                   ? wi_cholesky_solve_streamed(s->ctx, &f, count, s->d, s->n)
                   : wi_lu_solve_streamed(s->ctx, &f, transposed, count, s->pivot, s->d, s->n);
    }
    if (s->args->spd) {
        status = wi_system_triangle(s, false, false, false, count);
        return status == WEFT_OK ? wi_system_triangle(s, false, true, false, count) : status;
    }
    if (s->mixes && transposed)
        status = wi_system_mix(s, count, true);
    if (!transposed)
        status = wi_lu_swap_rows(s->ctx, s->factor, count, s->d, s->n, s->n, s->pivot, true);
    if (status == WEFT_OK)
        status = wi_system_triangle(s, transposed, transposed, !transposed, count);
    if (status == WEFT_OK)
        status = wi_system_triangle(s, !transposed, transposed, transposed, count);
    if (status == WEFT_OK && transposed)
        status = wi_lu_swap_rows(s->ctx, s->factor, count, s->d, s->n, s->n, s->pivot, false);
    if (status == WEFT_OK && s->mixes && !transposed)
        status = wi_system_mix(s, count, false);
    return status;
}

/* ---- vectors of the host ---- */

enum {
    LANES = 8 /* that do not wait for each other */
};

/* NaN if an element is not finite. */
static double largest(size_t n, const double *y) {
    double lane[LANES] = {0}, zero[LANES] = {0}, most = 0;
    for (size_t i = 0; i + LANES <= n; i += LANES)
        for (size_t l = 0; l < LANES; l++) {
            const double size = fabs(y[i + l]);
            lane[l] = size > lane[l] ? size : lane[l];
            zero[l] += size * 0;
        }
    for (size_t i = n / LANES * LANES; i < n; i++) {
        lane[0] = fabs(y[i]) > lane[0] ? fabs(y[i]) : lane[0];
        zero[0] += y[i] * 0;
    }
    for (size_t l = 0; l < LANES; l++)
        most = zero[l] == 0 ? wi_larger(most, lane[l]) : (double)NAN;
    return most;
}

weft_status wi_system_apply(wi_system *s, bool transposed, size_t count, double *const y[]) {
    const size_t line = s->n * sizeof **y;
    int32_t power[WI_ASCENT_COLUMNS];
    weft_status status = WEFT_OK;
    for (size_t k = 0; k < count && status == WEFT_OK; k++) {
        const int32_t e = wi_exponent(largest(s->n, y[k]));
        power[k] = e == WI_EXPONENT_OF_0 || e == WI_EXPONENT_OF_BAD ? 0 : e;
        status = wi_system_put(s, s->v + k * s->n, y[k], line);
    }
    if (status == WEFT_OK)
        status = wi_system_put(s, s->powers, power, count * sizeof *power);
    if (status == WEFT_OK)
        status = s->place->narrow(s->ctx, s->factor, s->n, count, s->v, s->powers, s->d);
    if (status == WEFT_OK)
        status = wi_system_substitute(s, transposed, count);
    if (status == WEFT_OK)
        status = s->place->add(s->ctx, s->factor, s->n, count, s->d, s->powers, true, s->v, NULL);
    for (size_t k = 0; k < count && status == WEFT_OK; k++)
        status = wi_system_get(s, y[k], s->v + k * s->n, line);
    return status;
}

weft_status wi_system_multiply(wi_system *s, bool transposed, const double *y, double *out) {
    const size_t line = s->n * sizeof *y;
    const wi_product p = {.g = transposed && !s->args->spd ? wi_grid_turned(&s->a) : s->a,
                          .symmetric = s->args->spd,
                          .count = 1,
                          .x = s->v,
                          .r = s->v + s->n,
                          .size = s->v + 2 * s->n,
                          .room = s->room};
    weft_status status = wi_system_put(s, s->v, y, line);
    if (status == WEFT_OK)
        status = s->place->multiply(s->ctx, &p);
    if (status == WEFT_OK)
        status = wi_system_get(s, out, p.r, line);
    for (size_t i = 0; i < s->n && status == WEFT_OK; i++)
        out[i] = -out[i];
    return status;
}
