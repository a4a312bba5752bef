/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls, and the two ways to solve: factors of the caller's type, or of f32 refined to
 * f64. */
#include "weft/solve.h"

#include <math.h>
#include <string.h>

#include "cholesky/cholesky.h"
#include "core/gpu.h"
#include "gemm/trsm.h"
#include "lu/lu.h"
#include "solve/solve_dist.h"
#include "solve/system.h"

enum {
    A,
    B,
    X
};
enum {
    DIRECT,
    MIXED,
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

/* Are factors of f32 worth going on with? With `chosen` nobody asked for them. */
static weft_status judge_mixed(wi_system *s, bool chosen, bool *refused) {
    double contraction;
    const weft_status status = wi_system_contraction(s, &contraction);
    s->refines_inverse = !(contraction <= most_contraction);
    *refused = chosen && s->refines_inverse;
    return status;
}

/* Factors and solves. *refused: factors of f32 were tried, and another way has to be. With `chosen`
 * nobody asked for them. */
static weft_status solve_by(weft_context *ctx, const wi_solve_args *args, weft_type factor,
                            bool chosen, bool *refused) {
    const bool is_mixed = factor != args->type;
    wi_system s;
    const double begin = wi_now();
    weft_status status = wi_system_open(&s, ctx, args, factor);
    bool fits = true;
    *refused = false;
    if (status == WEFT_OK)
        status = wi_system_scale(&s);
    if (status == WEFT_OK && is_mixed)
        status = wi_system_fits(&s, factor, &fits);
    if (status == WEFT_OK && fits)
        status = wi_system_factor(&s);
    *refused =
        is_mixed &&
        (!fits || (s.report->variant && (status == WEFT_ESINGULAR || status == WEFT_ENOTSPD ||
                                         status == WEFT_ENONFINITE)));
    const double middle = wi_now();
    args->report->factor_seconds += middle - begin;
    if (status == WEFT_OK && !*refused && is_mixed)
        status = judge_mixed(&s, chosen, refused);
    if (status == WEFT_OK && !*refused)
        status = wi_system_judge_factors(&s);
    *refused = *refused || (status == WEFT_OK && is_mixed && !is_good(&s));
    if (status == WEFT_OK && !*refused)
        status = wi_system_solve(&s);
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

weft_status wi_solve_direct(weft_context *ctx, const void *args) {
    const wi_solve_args *const g = args;
    bool refused;
    begin_report(g, "direct");
    return solve_by(ctx, g, g->type, false, &refused);
}

weft_status wi_solve_mixed(weft_context *ctx, const void *args) {
    const wi_solve_args *const g = args;
    const bool chosen =
        g->options.precision != WEFT_PRECISION_MIXED && !wi_is_forced(ctx, &wi_solve_ladder);
    char message[WI_MESSAGE_BYTES];
    const weft_error_handler handler = ctx->on_error;
    bool refused;
    memcpy(message, ctx->message, sizeof message);
    begin_report(g, "mixed");
    ctx->on_error = NULL; /* what is refused here is done below */
    const weft_status status = solve_by(ctx, g, WEFT_F32, chosen, &refused);
    ctx->on_error = handler;
    if (!refused)
        return status == WEFT_OK ? status : wi_fail_as(ctx, status, ctx);
    memcpy(ctx->message, message, sizeof message);
    g->report->fell_back = 1;
    return wi_solve_direct(ctx, g);
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

/* Some more steps, three trials, and the matrices for which it will not be enough: on a GPU, where
 * matrices are large, perhaps half of them. */
static double mixed_seconds(const weft_context *ctx, const void *args) {
    const wi_solve_args *const g = args;
    const double again = ctx->kind == WI_CPU ? 0.2 * factor_seconds(ctx, g, WEFT_F32)
                                             : 0.5 * factor_seconds(ctx, g, WEFT_F64);
    return factor_seconds(ctx, g, WEFT_F32) + again + 15 * substitution_seconds(ctx, g, WEFT_F32) +
           9 * residual_seconds(ctx, g);
}

static const char *fits_mixed(const weft_context *ctx, const void *args) {
    const wi_solve_args *const g = args;
    (void)ctx;
    return g->options.refine < 0 ? "refines its factors, and options.refine allows no step" : NULL;
}

/* `args` may be of a call over ranks: these begin alike. */
static const char *fits_ranks(const weft_context *ctx, const void *args) {
    const wi_solve_args *const g = args;
    (void)ctx;
    if (g->options.exact)
        return "has no exact residuals; pass 0 in options.exact";
    return g->options.precision == WEFT_PRECISION_MIXED
               ? "factors in the matrix's type; pass WEFT_PRECISION_FULL in options.precision"
               : NULL;
}

static const wi_row rows[] = {
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

/* ---- the public calls ---- */

static weft_status check_options(weft_context *ctx, const char *call, weft_type type,
                                 const weft_solve_options *given, weft_solve_options *options) {
    *options = (weft_solve_options){.size = sizeof *options};
    if (given && (given->size == 0 || given->size > sizeof *given))
        return wi_fail(ctx, WEFT_EARG,
                       "%s: options.size is %zu; set it to sizeof(weft_solve_options), %zu", call,
                       given->size, sizeof *given);
    if (given)
        memcpy(options, given, given->size);
    if ((unsigned)options->precision > WEFT_PRECISION_MIXED)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: options.precision is %d; it is WEFT_PRECISION_AUTO, "
                       "WEFT_PRECISION_FULL or WEFT_PRECISION_MIXED",
                       call, (int)options->precision);
    if ((unsigned)options->equilibrate > WEFT_EQUILIBRATE_NEVER)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: options.equilibrate is %d; it is WEFT_EQUILIBRATE_AUTO or "
                       "WEFT_EQUILIBRATE_NEVER",
                       call, (int)options->equilibrate);
    if (options->precision == WEFT_PRECISION_MIXED && type != WEFT_F64)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: options.precision is WEFT_PRECISION_MIXED, which is of f64, and type "
                       "is %s",
                       call, weft_type_name(type));
    if ((unsigned)options->exact > 1)
        return wi_fail(ctx, WEFT_EARG, "%s: options.exact is %d; pass 0 or 1", call,
                       options->exact);
    if (options->exact && options->refine < 0)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: options.refine is %d, but options.exact needs refinement; pass 0", call,
                       options->refine);
    if (options->precision == WEFT_PRECISION_MIXED && options->refine < 0)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: options.refine is %d, but WEFT_PRECISION_MIXED needs refinement; pass "
                       "0",
                       call, options->refine);
    return WEFT_OK;
}

static weft_status check_how(weft_context *ctx, const char *call, bool spd, unsigned how,
                             weft_type type) {
    const unsigned other = spd ? WEFT_UPPER_TRIANGLE : WEFT_TRANSPOSE_A;
    const weft_status known = wi_check_wide_float(ctx, call, type);
    if (known != WEFT_OK)
        return known;
    if (how & ~(WEFT_ROW_MAJOR | other))
        return wi_fail(ctx, WEFT_EARG,
                       "%s: how is %u; it takes WEFT_ROW_MAJOR and %s of "
                       "weft/gemm.h",
                       call, how, spd ? "WEFT_UPPER_TRIANGLE" : "WEFT_TRANSPOSE_A");
    return WEFT_OK;
}

/* Where each array of the call lies in memory. */
typedef struct request {
    wi_solve_args args;
    unsigned how;
} request;

static wi_grid grid_of(const request *r, const void *p, size_t ld, size_t columns) {
    const bool by_rows = r->how & WEFT_ROW_MAJOR;
    return (wi_grid){.type = r->args.type,
                     .rows = r->args.n,
                     .columns = columns,
                     .p = p,
                     .down = by_rows ? ld : 1,
                     .across = by_rows ? 1 : ld};
}

static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    const request *const r = user;
    wi_solve_args args = r->args;
    args.a = grid_of(r, part->p[A], part->ld[A], args.n);
    if (args.spd)
        args.a.half = r->how & WEFT_UPPER_TRIANGLE ? WI_HALF_UPPER : WI_HALF_LOWER;
    else if (r->how & WEFT_TRANSPOSE_A)
        args.a = wi_grid_turned(&args.a);
    args.b = grid_of(r, part->p[B], part->ld[B], args.rhs);
    const wi_grid x = grid_of(r, part->p[X], part->ld[X], args.rhs);
    args.x = part->p[X];
    args.x_down = x.down;
    args.x_across = x.across;
    if (args.options.precision == WEFT_PRECISION_AUTO)
        return wi_run(ctx, &wi_solve_ladder, call->name, args.type, &args);
    const bool mixed = args.options.precision == WEFT_PRECISION_MIXED;
    return wi_run_row(ctx, &wi_solve_ladder, &rows[mixed ? MIXED : DIRECT], &args);
}

/* An empty system has a determinant, which is 1. */
static void report_nothing(weft_report *report, size_t rhs) {
    *report = (weft_report){.right_hand_sides = rhs,
                            .growth = 1,
                            .sign_det = 1,
                            .method = "direct",
                            .column = SIZE_MAX,
                            .ranks = 1};
}

static weft_status check_report(weft_context *ctx, const char *call, const weft_report *report) {
    if (!report || (report->size > 0 && report->size <= sizeof *report))
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EARG, "%s: report.size is %zu; set it to sizeof(weft_report), %zu",
                   call, report->size, sizeof *report);
}

static bool is_told(weft_status status) {
    return status == WEFT_OK || status == WEFT_ESINGULAR || status == WEFT_ENOTSPD;
}

static void give_report(weft_report *to, const weft_report *from) {
    weft_report whole = *from;
    if (!to)
        return;
    whole.size = to->size;
    memcpy(to, &whole, to->size);
}

/* A call whose flags and options have been checked. */
static weft_status solve(weft_context *ctx, request *r, const void *a, size_t lda, const void *b,
                         size_t ldb, void *x, size_t ldx) {
    const wi_solve_args *const g = &r->args;
    const bool by_rows = r->how & WEFT_ROW_MAJOR;
    wi_array (*const matrix)(const char *, const void *, size_t, size_t, const char *, size_t,
                             weft_type, unsigned) = by_rows ? wi_matrix : wi_columns;
    wi_call call;
    wi_call_begin(&call, g->call, 0, 0);
    wi_call_add(&call, matrix("a", a, g->n, g->n, "lda", lda, g->type, WI_IN));
    wi_call_add(&call, matrix("b", b, g->n, g->rhs, "ldb", ldb, g->type, WI_IN));
    wi_call_add(&call, matrix("x", x, g->n, g->rhs, "ldx", ldx, g->type, WI_OUT))->in_place = 1u
                                                                                              << B;
    const weft_status status = wi_call_check(ctx, &call);
    if (status != WEFT_OK || g->n == 0)
        return status;
    if (ctx->kind == WI_CUDA && wi_gpu_capturing(ctx))
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: it looks at its result as it goes, and cannot be captured; solve "
                       "before the capture",
                       g->call);
    return wi_call_run(ctx, &call, run, r);
}

/* What must be the same on all ranks. */
static uint64_t alike_of(const request *r) {
    const weft_solve_options *const o = &r->args.options;
    const uint64_t steps = wi_alike(wi_alike(0, r->how), (uint64_t)(int64_t)o->refine);
    return wi_alike(wi_alike(steps, (uint64_t)o->precision), (uint64_t)o->exact);
}

static weft_status solve_call(weft_context *ctx, const char *call, bool spd, unsigned how,
                              weft_type type, size_t n, size_t nrhs, const void *a, size_t lda,
                              const void *b, size_t ldb, void *x, size_t ldx,
                              const weft_solve_options *options, weft_report *report) {
    weft_report whole;
    request r = {
        .args = {.call = call, .type = type, .spd = spd, .n = n, .rhs = nrhs, .report = &whole},
        .how = how};
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = check_how(ctx, call, spd, how, type);
    if (status == WEFT_OK)
        status = check_options(ctx, call, type, options, &r.args.options);
    if (status == WEFT_OK)
        status = check_report(ctx, call, report);
    const bool over_ranks = wi_is_dist(ctx) && !spd;
    if (status != WEFT_OK && !over_ranks)
        return status;
    report_nothing(&whole, nrhs);
    whole.factor_type = type;
    const wi_solve_ranks_args dist = {.solve = r.args,
                                      .by_rows = how & WEFT_ROW_MAJOR,
                                      .transposed = how & WEFT_TRANSPOSE_A,
                                      .a = a,
                                      .b = b,
                                      .x = x,
                                      .lda = lda,
                                      .ldb = ldb,
                                      .ldx = ldx};
    if (over_ranks)
        status = wi_dist_run(ctx, &wi_solve_ladder, call, type, alike_of(&r), status, &dist);
    else
        status = solve(ctx, &r, a, lda, b, ldb, x, ldx);
    if (is_told(status))
        give_report(report, &whole);
    return status;
}

weft_status weft_solve(weft_context *ctx, unsigned how, weft_type type, size_t n, size_t nrhs,
                       const void *a, size_t lda, const void *b, size_t ldb, void *x, size_t ldx,
                       const weft_solve_options *options, weft_report *report) {
    return solve_call(ctx, "weft_solve", false, how, type, n, nrhs, a, lda, b, ldb, x, ldx, options,
                      report);
}

weft_status weft_solve_spd(weft_context *ctx, unsigned how, weft_type type, size_t n, size_t nrhs,
                           const void *a, size_t lda, const void *b, size_t ldb, void *x,
                           size_t ldx, const weft_solve_options *options, weft_report *report) {
    return solve_call(ctx, "weft_solve_spd", true, how, type, n, nrhs, a, lda, b, ldb, x, ldx,
                      options, report);
}
