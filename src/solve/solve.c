/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls. */
#include "weft/solve.h"

#include <string.h>

#include "core/gpu.h"
#include "solve/solve_dist.h"
#include "solve/system.h"

enum {
    B,
    X,
    A /* last, so that a call can leave it where it is */
};

static weft_status check_options(weft_context *ctx, const char *call, weft_type type,
                                 const weft_solve_options *given, weft_solve_options *options) {
    *options = (weft_solve_options){.size = sizeof *options};
    if (given && (given->size == 0 || given->size > sizeof *given))
        return wi_fail(ctx, WEFT_EARG,
                       "%s: options.size is %zu; set it to sizeof(weft_solve_options), %zu", call,
                       given->size, sizeof *given);
    if (given)
        memcpy(options, given, given->size);
    if ((unsigned)options->precision > WEFT_PRECISION_F16)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: options.precision is %d; it is WEFT_PRECISION_AUTO, "
                       "WEFT_PRECISION_FULL, _MIXED, _TF32, _BF16 or _F16",
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
    if (wi_is_reduced(options) && options->refine < 0)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: options.refine is %d, but this options.precision needs refinement; "
                       "pass 0",
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
    const void *a; /* as the caller has it */
    size_t lda;
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
    args.streamed = call->count == A;
    args.a = args.streamed ? grid_of(r, r->a, r->lda, args.n)
                           : grid_of(r, part->p[A], part->ld[A], args.n);
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
    return wi_run_row(ctx, &wi_solve_ladder, wi_solve_row(args.options.precision), &args);
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

/* Is A host memory that does not fit a GPU together with its factors? Factors of f32 are smaller.
 */
static bool wants_streaming(const weft_context *ctx, const request *r) {
    const wi_solve_args *const g = &r->args;
    const bool reduced = wi_is_reduced(&g->options);
    const double n = (double)g->n, a = n * n * (double)weft_type_size(g->type);
    return !wi_is_device(ctx, r->a) &&
           !wi_fits_device(ctx, a + wi_system_bytes(g, reduced ? WEFT_F32 : g->type));
}

/* A call whose flags and options have been checked. */
static weft_status solve(weft_context *ctx, request *r, const void *b, size_t ldb, void *x,
                         size_t ldx) {
    const wi_solve_args *const g = &r->args;
    const bool by_rows = r->how & WEFT_ROW_MAJOR;
    wi_array (*const matrix)(const char *, const void *, size_t, size_t, const char *, size_t,
                             weft_type, unsigned) = by_rows ? wi_matrix : wi_columns;
    wi_call call;
    wi_call_begin(&call, g->call, 0, 0);
    wi_call_add(&call, matrix("b", b, g->n, g->rhs, "ldb", ldb, g->type, WI_IN));
    wi_call_add(&call, matrix("x", x, g->n, g->rhs, "ldx", ldx, g->type, WI_OUT))->in_place = 1u
                                                                                              << B;
    wi_call_add(&call, matrix("a", r->a, g->n, g->n, "lda", r->lda, g->type, WI_IN));
    const weft_status status = wi_call_check(ctx, &call);
    if (status != WEFT_OK || g->n == 0)
        return status;
    if (ctx->kind == WI_CUDA && wi_gpu_capturing(ctx))
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: it looks at its result as it goes, and cannot be captured; solve "
                       "before the capture",
                       g->call);
    if (wants_streaming(ctx, r))
        call.count = A;
    return wi_call_run(ctx, &call, run, r);
}

/* What must be the same on all ranks. */
static uint64_t alike_of(const request *r) {
    const weft_solve_options *const o = &r->args.options;
    const uint64_t how = wi_alike(wi_alike(0, r->how), (uint64_t)o->equilibrate);
    const uint64_t steps = wi_alike(how, (uint64_t)(int64_t)o->refine);
    return wi_alike(wi_alike(wi_alike(steps, (uint64_t)o->precision), (uint64_t)o->exact),
                    o->no_estimates != 0);
}

static weft_status solve_call(weft_context *ctx, const char *call, bool spd, unsigned how,
                              weft_type type, size_t n, size_t nrhs, const void *a, size_t lda,
                              const void *b, size_t ldb, void *x, size_t ldx,
                              const weft_solve_options *options, weft_report *report) {
    weft_report whole;
    request r = {
        .args = {.call = call, .type = type, .spd = spd, .n = n, .rhs = nrhs, .report = &whole},
        .how = how,
        .a = a,
        .lda = lda};
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = check_how(ctx, call, spd, how, type);
    if (status == WEFT_OK)
        status = check_options(ctx, call, type, options, &r.args.options);
    if (status == WEFT_OK)
        status = check_report(ctx, call, report);
    const bool over_ranks = wi_is_dist(ctx);
    if (status != WEFT_OK && !over_ranks)
        return status;
    report_nothing(&whole, nrhs);
    whole.factor_type = type;
    const wi_solve_ranks_args dist = {.solve = r.args,
                                      .by_rows = how & WEFT_ROW_MAJOR,
                                      .transposed = !spd && how & WEFT_TRANSPOSE_A,
                                      .upper = spd && how & WEFT_UPPER_TRIANGLE,
                                      .a = a,
                                      .b = b,
                                      .x = x,
                                      .lda = lda,
                                      .ldb = ldb,
                                      .ldx = ldx};
    if (over_ranks)
        status = wi_dist_run(ctx, &wi_solve_ladder, call, type, alike_of(&r), status, &dist);
    else
        status = solve(ctx, &r, b, ldb, x, ldx);
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
