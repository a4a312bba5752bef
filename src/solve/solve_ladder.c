/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of solve: factors of the caller's type, or less accurate ones whose solutions are
 * refined; and what they cost. */
#include <math.h>
#include <string.h>

#include "cholesky/cholesky.h"
#include "comm/gpus.h"
#include "core/gpu.h"
#include "gemm/trsm.h"
#include "lu/lu.h"
#include "solve/solve_dist.h"
#include "solve/system.h"

enum {
#if WEFT_LADDER
    SERIAL,
#    ifdef WEFT_CUDA
    THREE_KERNELS,
#    endif
#endif
    DIRECT,
    MIXED,
    BUTTERFLY,
    TF32,
    BF16,
    F16,
    RANKS
};

/* ---- the rungs ---- */

/* Where steps of refinement multiply the error by more than this, factors of f32 say too little
 * about A: they are not used unless they are asked for, and then with GMRES. */
static const double most_contraction = 0x1p-4;

/* The answer of a system that is solved. */
static weft_status hand_out(wi_system *s) {
    const wi_solve_args *const args = s->args;
    const size_t width = weft_type_size(args->type);
    weft_status status = WEFT_OK;
    for (size_t j = 0; j < args->rhs && status == WEFT_OK; j += s->group) {
        const size_t left = args->rhs - j, count = left < s->group ? left : s->group;
        status = wi_system_put(s, s->powers, s->shift + j, count * sizeof *s->shift);
        if (status == WEFT_OK)
            status = s->place->store(s->ctx,
                                     &(wi_answer){.type = args->type,
                                                  .n = s->n,
                                                  .count = count,
                                                  .z = s->z + j * s->n,
                                                  .column_power = s->a.column_power,
                                                  .shift = s->powers,
                                                  .x = (char *)args->x + j * args->x_across * width,
                                                  .down = args->x_down,
                                                  .across = args->x_across});
    }
    return status;
}

/* Is the answer by factors of f32 as good as one by factors of f64 would be? */
static bool is_good(const wi_system *s) {
    return !s->lost && s->report->stalled == 0;
}

/* Where nothing but solutions is asked of mixed factors, refinement shows what they are worth: it
 * has no other way to go on. */
static bool shows_itself(const wi_solve_args *args, wi_factoring how) {
    return how.mixes && args->options.no_estimates && args->rhs > 0;
}

/* Factors and solves. *refused: factors of f32 were tried, and another way has to be. With `chosen`
 * nobody asked for them. */
static weft_status solve_by(weft_context *ctx, const wi_solve_args *args, wi_factoring how,
                            bool chosen, bool *refused) {
    const bool is_mixed = how.type != args->type || how.products != WI_FULL_PRODUCTS;
    wi_system s;
    const double begin = wi_now();
    weft_status status = wi_system_open(&s, ctx, args, how);
    bool fits = true;
    *refused = false;
    if (status == WEFT_OK)
        status = wi_system_scale(&s);
    if (status == WEFT_OK && is_mixed)
        status = wi_system_fits(&s, how.type, &fits);
    if (status == WEFT_OK && fits)
        status = wi_system_factor(&s);
    *refused =
        is_mixed &&
        (!fits || (s.report->variant && (status == WEFT_ESINGULAR || status == WEFT_ENOTSPD ||
                                         status == WEFT_ENONFINITE)));
    const double middle = wi_now();
    args->report->factor_seconds += middle - begin;
    s.tries = is_mixed && !shows_itself(args, how);
    s.most_contraction = chosen ? most_contraction : 0;
    if (status == WEFT_OK && !*refused)
        status = wi_system_judge_factors(&s);
    if (status == WEFT_OK && !*refused)
        status = wi_system_solve(&s);
    s.refines_inverse = !(s.contraction <= most_contraction);
    *refused = *refused || (status == WEFT_OK && wi_system_is_refused(&s));
    if (status == WEFT_OK && !*refused)
        status = wi_system_bound(&s);
    *refused = *refused || (is_mixed && status == WEFT_ENONFINITE && s.report->variant) ||
               (status == WEFT_OK && is_mixed && !is_good(&s));
    if (status == WEFT_OK && !*refused)
        status = hand_out(&s);
    args->report->bytes = s.bytes > args->report->bytes ? s.bytes : args->report->bytes;
    args->report->solve_seconds = wi_now() - middle;
    if (*refused)
        args->report->factor_seconds += args->report->solve_seconds;
    wi_system_close(&s);
    return *refused ? WEFT_OK : status;
}

/* The figures that every attempt sets anew. */
static void begin_report(const wi_solve_args *args, const char *method) {
    const weft_report before = *args->report;
    const double unknown = args->options.no_estimates ? (double)NAN : 0;
    *args->report = (weft_report){.size = before.size,
                                  .n = args->n,
                                  .right_hand_sides = args->rhs,
                                  .forward_bound = unknown,
                                  .condition_estimate = unknown,
                                  .growth = unknown,
                                  .factor_type = args->type,
                                  .method = method,
                                  .fell_back = before.fell_back,
                                  .column = SIZE_MAX,
                                  .ranks = 1,
                                  .exact = args->options.exact,
                                  .bytes = before.bytes,
                                  .factor_seconds = before.factor_seconds};
}

static weft_status solve_fully(weft_context *ctx, const wi_solve_args *args, const char *method,
                               bool augments) {
    const wi_factoring how = {args->type, WI_FULL_PRODUCTS, false, augments};
    bool refused;
    begin_report(args, method);
    return solve_by(ctx, args, how, false, &refused);
}

weft_status wi_solve_direct(weft_context *ctx, const void *args) {
    return solve_fully(ctx, args, "direct", false);
}

weft_status wi_solve_serial(weft_context *ctx, const void *args) {
    return solve_fully(ctx, args, "serial", true);
}

weft_status wi_solve_three_kernels(weft_context *ctx, const void *args) {
    return solve_fully(ctx, args, "three_kernels", true);
}

/* By less accurate factors; falls back to direct. */
static weft_status solve_reduced(weft_context *ctx, const void *args, const char *method,
                                 wi_factoring how) {
    const wi_solve_args *const g = args;
    const bool chosen =
        how.mixes || (!wi_is_reduced(&g->options) && !wi_is_forced(ctx, &wi_solve_ladder));
    char message[WI_MESSAGE_BYTES];
    const weft_error_handler handler = ctx->on_error;
    bool refused;
    memcpy(message, ctx->message, sizeof message);
    begin_report(g, method);
    ctx->on_error = NULL; /* what is refused here is done below */
    const weft_status status = solve_by(ctx, g, how, chosen, &refused);
    ctx->on_error = handler;
    if (!refused)
        return status == WEFT_OK ? status : wi_fail_as(ctx, status, ctx);
    memcpy(ctx->message, message, sizeof message);
    g->report->fell_back = 1;
    return wi_solve_direct(ctx, g);
}

weft_status wi_solve_mixed(weft_context *ctx, const void *args) {
    return solve_reduced(ctx, args, "mixed",
                         (wi_factoring){WEFT_F32, WI_FULL_PRODUCTS, false, false});
}

/* Matrices that no window of rows represents contract too little, whoever asked. */
weft_status wi_solve_butterfly(weft_context *ctx, const void *args) {
    return solve_reduced(ctx, args, "butterfly",
                         (wi_factoring){WEFT_F32, WI_FULL_PRODUCTS, true, false});
}

weft_status wi_solve_tf32(weft_context *ctx, const void *args) {
    return solve_reduced(ctx, args, "tf32",
                         (wi_factoring){WEFT_F32, WI_TF32_PRODUCTS, false, false});
}

weft_status wi_solve_bf16(weft_context *ctx, const void *args) {
    return solve_reduced(ctx, args, "bf16",
                         (wi_factoring){WEFT_F32, WI_BF16_PRODUCTS, false, false});
}

weft_status wi_solve_f16(weft_context *ctx, const void *args) {
    return solve_reduced(ctx, args, "f16", (wi_factoring){WEFT_F32, WI_F16_PRODUCTS, false, false});
}

/* ---- the choice ---- */

/* On a cpu at half the peak of multiply-adds. Both types have the same number of panels to wait
 * for. */
static double factor_seconds(const weft_context *ctx, const wi_solve_args *g, weft_type type) {
    const wi_machine *const m = wi_machine_of(ctx);
    const wi_lu_args lu = {.type = type, .m = g->n, .n = g->n};
    const wi_cholesky_args cholesky = {.type = type, .n = g->n};
    if (ctx->kind != WI_CPU && g->spd)
        return wi_pick(ctx, &wi_cholesky_ladder, type, &cholesky)->seconds(ctx, &cholesky);
    if (ctx->kind != WI_CPU)
        return wi_pick(ctx, &wi_lu_ladder, type, &lu)->seconds(ctx, &lu);
    const double n = (double)g->n, flops = (g->spd ? 1 : 2) * n * n * n / 3;
    return 2 * flops / (type == WEFT_F64 ? m->f64_flops : m->f32_flops);
}

/* A solution with one right-hand side: on a cpu a pass over the factors. */
static double substitution_seconds(const weft_context *ctx, const wi_solve_args *g,
                                   weft_type type) {
    const double n = (double)g->n;
    const wi_triangle_args half = {.type = type, .m = g->n, .n = 1, .alpha = 1};
    if (ctx->kind == WI_CPU)
        return wi_seconds_moving(wi_machine_of(ctx), n * n * (double)weft_type_size(type));
    return 2 * wi_pick(ctx, &wi_trsm_ladder, type, &half)->seconds(ctx, &half);
}

/* Residuals of all right-hand sides: ten operations for each element, far from the peak. */
static double residual_seconds(const weft_context *ctx, const wi_solve_args *g) {
    const wi_machine *const m = wi_machine_of(ctx);
    const double n = (double)g->n;
    return wi_seconds_moving(m, n * n * sizeof(double)) +
           40 * n * n * (double)g->rhs / m->f64_flops;
}

/* A step of refinement, and six solutions for the estimates. */
static double direct_seconds(const weft_context *ctx, const void *args) {
    const wi_solve_args *const g = args;
    return factor_seconds(ctx, g, g->type) + 8 * substitution_seconds(ctx, g, g->type) +
           2 * residual_seconds(ctx, g);
}

/* Some more steps, and the matrices for which it will not be enough: on a GPU, where matrices are
 * large, perhaps half of them. */
static double mixed_seconds(const weft_context *ctx, const void *args) {
    const wi_solve_args *const g = args;
    const double again = ctx->kind == WI_CPU ? 0.2 * factor_seconds(ctx, g, WEFT_F32)
                                             : 0.5 * factor_seconds(ctx, g, WEFT_F64);
    return factor_seconds(ctx, g, WEFT_F32) + again + 13 * substitution_seconds(ctx, g, WEFT_F32) +
           8 * residual_seconds(ctx, g);
}

/* Products by two f16 on tensor cores; a chain from block to block. A third of the matrices may be
 * beyond it.
 */
static double butterfly_seconds(const weft_context *ctx, const void *args) {
    const wi_solve_args *const g = args;
    const wi_machine *const m = wi_machine_of(ctx);
    const double n = (double)g->n;
    const bool few_steps = g->options.refine > 0 && g->options.refine < 10;
    if (few_steps || wi_is_gpus(ctx)) /* others factor by all GPUs */
        return INFINITY;
    return 0.5 * m->launch_s * n + 2 * n * n * n / 3 / (2.5 * m->f32_flops) +
           factor_seconds(ctx, g, WEFT_F64) / 3 + 15 * substitution_seconds(ctx, g, WEFT_F32) +
           10 * residual_seconds(ctx, g);
}

#if WEFT_LADDER
static const char *fits_augmented(const weft_context *ctx, const void *args) {
    const wi_solve_args *const g = args;
    (void)ctx;
    return g->spd || g->streamed ? "takes general matrices that are in memory beside their factors"
                                 : NULL;
}
#endif

static const char *fits_mixed(const weft_context *ctx, const void *args) {
    const wi_solve_args *const g = args;
    (void)ctx;
    return g->options.refine < 0 ? "refines its factors, and options.refine allows no step" : NULL;
}

static const char *fits_butterfly(const weft_context *ctx, const void *args) {
    const wi_solve_args *const g = args;
    if (g->spd || g->streamed)
        return "takes general matrices that are in memory beside their factors";
#ifdef WEFT_CUDA
    if (wi_lu_cluster_width(ctx, 1) == 0)
        return "needs clusters: compute capability 9.0";
#endif
    return fits_mixed(ctx, args);
}

/* `args` may be of a call over ranks: these begin alike. */
static const char *fits_ranks(const weft_context *ctx, const void *args) {
    const wi_solve_args *const g = args;
    (void)ctx;
    return g->options.precision > WEFT_PRECISION_MIXED
               ? "factors in f64 or f32; pass WEFT_PRECISION_FULL or _MIXED in options.precision"
               : NULL;
}

static const wi_row rows[] = {
#if WEFT_LADDER
    [SERIAL] = {.name = "serial",
                .what = "the augmented matrix as on paper: elimination, back substitution",
                .kinds = WI_ON_CPU,
                .types = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64),
                .misfit = fits_augmented,
                .run = wi_solve_serial},
#    ifdef WEFT_CUDA
    [THREE_KERNELS] = {.name = "three_kernels",
                       .what = "the transposed augmented matrix, three kernels a column",
                       .kinds = WI_ON_CUDA,
                       .types = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64),
                       .misfit = fits_augmented,
                       .run = wi_solve_three_kernels},
#    endif
#endif
    [DIRECT] = {.name = "direct",
                .what = "factors of the matrix's type",
                .kinds = WI_ON_CPU | WI_ON_CUDA,
                .types = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64),
                .seconds = direct_seconds,
                .run = wi_solve_direct},
    [MIXED] = {.name = "mixed",
               .what = "factors of f32, refined to f64; falls back to direct",
               .kinds = WI_ON_CPU | WI_ON_CUDA,
               .types = WI_TYPE(WEFT_F64),
               .misfit = fits_mixed,
               .seconds = mixed_seconds,
               .run = wi_solve_mixed},
    [BUTTERFLY] = {.name = "butterfly",
                   .what = "columns mixed at random, so that f32 pivots are found among few rows; "
                           "refined; falls back to direct",
                   .kinds = WI_ON_CUDA,
                   .types = WI_TYPE(WEFT_F64),
                   .misfit = fits_butterfly,
                   .seconds = butterfly_seconds,
                   .run = wi_solve_butterfly},
    [TF32] = {.name = "tf32",
              .what = "factors of f32 by products of tf32, refined; falls back to direct",
              .kinds = WI_ON_CPU | WI_ON_CUDA,
              .types = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64),
              .misfit = fits_mixed,
              .run = wi_solve_tf32},
    [BF16] = {.name = "bf16",
              .what = "factors of f32 by products of bf16, refined; falls back to direct",
              .kinds = WI_ON_CPU | WI_ON_CUDA,
              .types = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64),
              .misfit = fits_mixed,
              .run = wi_solve_bf16},
    [F16] = {.name = "f16",
             .what = "factors of f32 by products of f16, refined; falls back to direct",
             .kinds = WI_ON_CPU | WI_ON_CUDA,
             .types = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64),
             .misfit = fits_mixed,
             .run = wi_solve_f16},
    [RANKS] = {.name = "ranks",
               .what = "factors of all ranks together, and refinement",
               .kinds = WI_ON_CPU | WI_ON_CUDA,
               .scope = WI_DISTRIBUTED,
               .types = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64),
               .misfit = fits_ranks,
               .seconds = wi_no_rival,
               .run = wi_solve_ranks},
};

const wi_ladder wi_solve_ladder = {"solve", rows, sizeof rows / sizeof rows[0]};

const wi_row *wi_solve_row(weft_precision precision) {
    static const int row[] = {[WEFT_PRECISION_FULL] = DIRECT,
                              [WEFT_PRECISION_MIXED] = MIXED,
                              [WEFT_PRECISION_TF32] = TF32,
                              [WEFT_PRECISION_BF16] = BF16,
                              [WEFT_PRECISION_F16] = F16};
    return &rows[row[precision]];
}
