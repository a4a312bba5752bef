/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of reduce: check arguments once, then run the ladder on memory it can reach. */
#include "reduce/reduce.h"

#include "core/gpu.h"
#include "core/stage.h"
#ifdef WEFT_CUDA
#    include "core/taught.h"
#endif

enum {
    RESULT_BYTES = 8, /* no result is larger */
    NOT_OFFERED = -1
};

#if defined(WEFT_CUDA) && WEFT_LADDER
static const char *fits_taught(const weft_context *ctx, const void *args) {
    (void)ctx;
    return wi_misfit_taught(((const wi_reduce_args *)args)->type);
}
#endif

static const wi_row rows[] = {
    {"serial", WI_CPU, "the loop you would write", 0, wi_fits_all, wi_reduce_serial},
    {"threads", WI_CPU, "all cores, wide vectors, independent partial results", 256, wi_fits_all,
     wi_reduce_threads},
#ifdef WEFT_CUDA
#    if WEFT_LADDER
    {"tree_global", WI_CUDA, "a tree in global memory, two passes", 0, fits_taught,
     wi_reduce_tree_global},
    {"tree_shared", WI_CUDA, "a tree in shared memory in each block", 0, fits_taught,
     wi_reduce_tree_shared},
    {"shuffle", WI_CUDA, "warps reduce in registers", 0, fits_taught, wi_reduce_shuffle},
#    endif
    {"one_pass", WI_CUDA, "16-byte loads, and the last block to finish combines the partials", 0,
     wi_fits_all, wi_reduce_one_pass},
#endif
};

const wi_ladder wi_reduce_ladder = {"reduce", rows, sizeof rows / sizeof rows[0]};

/* The reduction that op names, or NOT_OFFERED. */
static int reduction_of(weft_op op) {
    static const int reductions[WEFT_OP_COUNT] = {
        [WEFT_SUM] = WI_RED_SUM,   [WEFT_PRODUCT] = WI_RED_PRODUCT, [WEFT_MIN] = WI_RED_MIN,
        [WEFT_MAX] = WI_RED_MAX,   [WEFT_AND] = NOT_OFFERED,        [WEFT_OR] = NOT_OFFERED,
        [WEFT_XOR] = NOT_OFFERED,  [WEFT_ARGMIN] = WI_RED_ARGMIN,   [WEFT_ARGMAX] = WI_RED_ARGMAX,
        [WEFT_NRM1] = WI_RED_NRM1, [WEFT_NRM2] = WI_RED_NRM2,       [WEFT_NRMINF] = WI_RED_NRMINF};
    return reductions[op];
}

static weft_type result_type_of(wi_reduction op, weft_type type) {
    bool floating = wi_type_is_float(type);
    weft_type wide_float = type == WEFT_F64 ? WEFT_F64 : WEFT_F32;
    switch (op) {
    case WI_RED_MIN:
    case WI_RED_MAX:
        return type;
    case WI_RED_ARGMIN:
    case WI_RED_ARGMAX:
        return WEFT_U64;
    case WI_RED_NRM1:
        return floating ? wide_float : WEFT_U64;
    case WI_RED_NRM2:
        return floating ? wide_float : WEFT_F64;
    case WI_RED_NRMINF:
        return floating ? type : WEFT_U64;
    case WI_RED_SUM:
    case WI_RED_PRODUCT:
    case WI_RED_DOT:
        break;
    }
    if (floating)
        return wide_float;
    return wi_type_is_signed(type) ? WEFT_I64 : WEFT_U64;
}

weft_status weft_reduce_type(weft_op op, weft_type type, weft_type *result_type) {
    if ((unsigned)op >= WEFT_OP_COUNT || weft_type_size(type) == 0 || !result_type)
        return WEFT_EARG;
    int reduction = reduction_of(op);
    if (reduction == NOT_OFFERED)
        return WEFT_EUNSUPPORTED;
    *result_type = result_type_of((wi_reduction)reduction, type);
    return WEFT_OK;
}

static weft_status check_input(weft_context *ctx, const char *call, const char *name, const void *p,
                               const wi_reduce_args *args) {
    weft_status status = wi_check_array(ctx, call, name, p, args->n, args->type);
    if (status != WEFT_OK)
        return status;
    size_t result_bytes = weft_type_size(result_type_of(args->op, args->type));
    if (wi_overlap(p, args->n * weft_type_size(args->type), args->result, result_bytes))
        return wi_fail(ctx, WEFT_EARG,
                       "%s: result lies inside %s; pass memory of its own for the result", call,
                       name);
    return WEFT_OK;
}

static weft_status check(weft_context *ctx, const char *call, const wi_reduce_args *args) {
    if (!args->result)
        return wi_fail(ctx, WEFT_EARG, "%s: result is NULL; pass memory for one element of %s",
                       call, weft_type_name(result_type_of(args->op, args->type)));
    weft_status status = WEFT_OK;
    if (wi_is_device(ctx, args->result))
        status = wi_check_array(ctx, call, "result", args->result, 1,
                                result_type_of(args->op, args->type));
    if (status == WEFT_OK)
        status = check_input(ctx, call, "x", args->x, args);
    if (status == WEFT_OK && args->op == WI_RED_DOT)
        status = check_input(ctx, call, "y", args->y, args);
    return status;
}

/* What the segments of a staged call share: the whole call, and two accumulators on the device that
 * take turns as input and output. */
typedef struct relay {
    const char *call;
    const wi_reduce_args *whole;
    char *states;
    unsigned *turn;
} relay;

static weft_status run_segment(weft_context *ctx, const void *user, size_t first, size_t n_rows,
                               size_t cols, void *const p[], const size_t ld[]) {
    (void)ld;
    const relay *r = user;
    wi_reduce_args part = *r->whole;
    part.n = n_rows * cols;
    part.first = first;
    part.x = p[0];
    part.y = part.op == WI_RED_DOT ? p[1] : NULL;
    unsigned turn = (*r->turn)++ & 1u;
    if (first > 0)
        part.state_in = r->states + turn * WI_REDUCE_STATE_BYTES;
    if (first + part.n < r->whole->n) {
        part.state_out = r->states + (turn ^ 1u) * WI_REDUCE_STATE_BYTES;
        part.result = NULL;
    }
    return wi_run(ctx, &wi_reduce_ladder, r->call, part.n, &part);
}

static weft_status run_staged(weft_context *ctx, const char *call, const wi_reduce_args *args,
                              char *states) {
    unsigned turn = 0;
    relay r = {call, args, states, &turn};
    size_t size = weft_type_size(args->type);
    wi_stage_args stage = {.call = call,
                           .rows = 1,
                           .cols = args->n,
                           .operands = args->op == WI_RED_DOT ? 2 : 1,
                           .run = run_segment,
                           .user = &r};
    const void *inputs[] = {args->x, args->y};
    for (int k = 0; k < stage.operands; k++)
        stage.operand[k] = (wi_operand){.p = (void *)(uintptr_t)inputs[k],
                                        .element_bytes = size,
                                        .pitch_bytes = args->n * size,
                                        .in = true};
    return wi_stage_run(ctx, &stage);
}

static weft_status take_scratch(weft_context *ctx, size_t bytes, char **scratch) {
    int before;
    void *p = NULL;
    weft_status status = wi_gpu_enter(ctx, &before);
    if (status != WEFT_OK)
        return status;
    status = wi_gpu_scratch(ctx, WI_SCRATCH_RESULT, bytes, &p);
    wi_gpu_leave(ctx, before);
    *scratch = p;
    return status;
}

static weft_status run_on_gpu(weft_context *ctx, const char *call, const wi_reduce_args *args) {
    size_t result_bytes = weft_type_size(result_type_of(args->op, args->type));
    bool result_on_host = !wi_is_device(ctx, args->result);
    if (result_on_host && wi_gpu_capturing(ctx))
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: the result cannot go to host memory during a stream capture; pass "
                       "device memory",
                       call);
    if (args->n == 0 && result_on_host)
        return wi_reduce_serial(ctx, args); /* needs no kernel */
    char *scratch;
    weft_status status = take_scratch(ctx, RESULT_BYTES + 2 * WI_REDUCE_STATE_BYTES, &scratch);
    if (status != WEFT_OK)
        return status;
    bool inputs_on_device =
        args->n == 0 ||
        (wi_is_device(ctx, args->x) && (args->op != WI_RED_DOT || wi_is_device(ctx, args->y)));
    wi_reduce_args call_args = *args;
    if (result_on_host)
        call_args.result = scratch + 2 * WI_REDUCE_STATE_BYTES;
    status = inputs_on_device ? wi_run(ctx, &wi_reduce_ladder, call, args->n, &call_args)
                              : run_staged(ctx, call, &call_args, scratch);
    if (status == WEFT_OK && result_on_host)
        status = weft_copy(ctx, args->result, call_args.result, result_bytes);
    return status;
}

static weft_status run(weft_context *ctx, const char *call, const wi_reduce_args *args) {
    weft_status status = check(ctx, call, args);
    if (status != WEFT_OK)
        return status;
    if (ctx->kind == WI_CUDA)
        return run_on_gpu(ctx, call, args);
    return wi_run(ctx, &wi_reduce_ladder, call, args->n, args);
}

weft_status weft_reduce(weft_context *ctx, weft_op op, weft_type type, size_t n, const void *x,
                        void *result) {
    static const char call[] = "weft_reduce";
    if (wi_check_context(ctx) != WEFT_OK || wi_check_type(ctx, call, type) != WEFT_OK)
        return WEFT_EARG;
    if ((unsigned)op >= WEFT_OP_COUNT)
        return wi_fail(ctx, WEFT_EARG, "%s: op %d is no weft_op; pass WEFT_SUM ... WEFT_NRMINF",
                       call, (int)op);
    int reduction = reduction_of(op);
    if (reduction == NOT_OFFERED)
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: op AND, OR and XOR are offered by weft_scan only; pass WEFT_SUM, "
                       "PRODUCT, MIN, MAX, ARGMIN, ARGMAX, NRM1, NRM2 or NRMINF",
                       call);
    wi_reduce_args args = {
        .op = (wi_reduction)reduction, .type = type, .n = n, .x = x, .result = result};
    return run(ctx, call, &args);
}

weft_status weft_dot(weft_context *ctx, weft_type type, size_t n, const void *x, const void *y,
                     void *result) {
    static const char call[] = "weft_dot";
    if (wi_check_context(ctx) != WEFT_OK || wi_check_type(ctx, call, type) != WEFT_OK)
        return WEFT_EARG;
    wi_reduce_args args = {
        .op = WI_RED_DOT, .type = type, .n = n, .x = x, .y = y, .result = result};
    return run(ctx, call, &args);
}
