/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of reduce: check arguments, then run the ladder on memory that the place can
 * access. */
#include "reduce/reduce.h"

#include "comm/gpus.h"
#include "core/gpu.h"
#include "cpu/team.h"

enum {
    NOT_OFFERED = -1
};

/* Cycles of the plain loop for one element, as seen on an AMD EPYC: additions of floats wait for
 * one another, and what the compiler makes no vectors of takes longer than what it does. */
static double serial_cycles(const wi_reduce_args *call) {
    const bool plain = call->op <= WI_RED_MAX || call->op == WI_RED_DOT;
    if (WI_HALF_FLOATS >> call->type & 1)
        return 7;
    if (wi_type_is_float(call->type))
        return 2.8;
    return plain ? 0.7 : 1.7;
}

static double serial_seconds(const weft_context *ctx, const void *args) {
    const wi_reduce_args *const call = args;
    const double n = (double)call->n;
    return wi_team_seconds(ctx, 1, n * serial_cycles(call), n * (double)weft_type_size(call->type));
}

static double threads_seconds(const weft_context *ctx, const void *args) {
    const wi_reduce_args *const call = args;
    const double call_cycles = 120, cycles = 0.3, n = (double)call->n;
    const size_t bytes = call->n * weft_type_size(call->type);
    const int team = wi_team_size(ctx, call->n, bytes);
    return wi_team_seconds(ctx, team, call_cycles + n * cycles, (double)bytes);
}

/* Of the rungs that show how sums round. */
#define ADDED_TYPES (WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64))

static const wi_row rows[] = {
    {.name = "serial",
     .what = "the loop you would write",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = serial_seconds,
     .run = wi_reduce_serial},
#if WEFT_LADDER
    {.name = "naive",
     .what = "one addition after the other, rounded to the type of x",
     .kinds = WI_ON_CPU,
     .types = ADDED_TYPES,
     .misfit = wi_reduce_only_adds,
     .run = wi_reduce_naive},
    {.name = "pairwise",
     .what = "halves added up apart: log n roundings in place of n",
     .kinds = WI_ON_CPU,
     .types = ADDED_TYPES,
     .misfit = wi_reduce_only_adds,
     .run = wi_reduce_pairwise},
    {.name = "compensated",
     .what = "what each addition loses is added up beside",
     .kinds = WI_ON_CPU,
     .types = ADDED_TYPES,
     .misfit = wi_reduce_only_adds,
     .run = wi_reduce_compensated},
    {.name = "double_double",
     .what = "a sum kept in two f64",
     .kinds = WI_ON_CPU,
     .types = ADDED_TYPES,
     .misfit = wi_reduce_only_adds,
     .run = wi_reduce_double_double},
    {.name = "exact",
     .what = "every bit kept, rounded once: weft_sum's way",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .types = WI_FLOATS,
     .misfit = wi_reduce_not_exact,
     .run = wi_reduce_exact},
#endif
    {.name = "threads",
     .what = "all cores, wide vectors, independent partial results",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = threads_seconds,
     .run = wi_reduce_threads},
#ifdef WEFT_CUDA
#    if WEFT_LADDER
    {.name = "tree_global",
     .what = "a tree in global memory, two passes",
     .kinds = WI_ON_CUDA,
     .types = WI_TAUGHT_TYPES,
     .run = wi_reduce_tree_global},
    {.name = "tree_shared",
     .what = "a tree in shared memory in each block",
     .kinds = WI_ON_CUDA,
     .types = WI_TAUGHT_TYPES,
     .run = wi_reduce_tree_shared},
    {.name = "shuffle",
     .what = "warps reduce in registers",
     .kinds = WI_ON_CUDA,
     .types = WI_TAUGHT_TYPES,
     .run = wi_reduce_shuffle},
#    endif
    {.name = "one_pass",
     .what = "16-byte loads, and the last block to finish combines the partials",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_reduce_one_pass},
#endif
    {.name = "ranks",
     .what = "every rank reduces its part, then all the parts' results",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_reduce_ranks},
};

const wi_ladder wi_reduce_ladder = {"reduce", rows, sizeof rows / sizeof rows[0]};

/* The reduction of this operator, or NOT_OFFERED. */
static int reduction_of(weft_op op) {
    static const int reductions[WEFT_OP_COUNT] = {
        [WEFT_SUM] = WI_RED_SUM,   [WEFT_PRODUCT] = WI_RED_PRODUCT, [WEFT_MIN] = WI_RED_MIN,
        [WEFT_MAX] = WI_RED_MAX,   [WEFT_AND] = NOT_OFFERED,        [WEFT_OR] = NOT_OFFERED,
        [WEFT_XOR] = NOT_OFFERED,  [WEFT_ARGMIN] = WI_RED_ARGMIN,   [WEFT_ARGMAX] = WI_RED_ARGMAX,
        [WEFT_NRM1] = WI_RED_NRM1, [WEFT_NRM2] = WI_RED_NRM2,       [WEFT_NRMINF] = WI_RED_NRMINF};
    return reductions[op];
}

weft_type wi_reduce_result_type(wi_reduction op, weft_type type) {
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
    *result_type = wi_reduce_result_type((wi_reduction)reduction, type);
    return WEFT_OK;
}

enum {
    X,
    Y, /* of dot; NULL for the others */
    RESULT
};

/* Two accumulators on the device alternate as input and output of the parts of a call. */
static weft_status take_states(weft_context *ctx, wi_reduce_args *args, const wi_part *part) {
    static const char key;
    void *states;
    if (part->last && args->wide && ctx->kind == WI_CUDA) {
        args->state_out = args->result; /* the accumulator there is that f64 */
        args->result = NULL;
    }
    if (part->index == 0 && part->last)
        return WEFT_OK;
    const weft_status status =
        wi_gpu_scratch(ctx, &key, (size_t)2 * WI_REDUCE_STATE_BYTES, &states);
    if (status != WEFT_OK)
        return status;
    const size_t turn = part->index % 2;
    if (part->index > 0)
        args->state_in = (char *)states + turn * WI_REDUCE_STATE_BYTES;
    if (!part->last) {
        args->state_out = (char *)states + (1 - turn) * WI_REDUCE_STATE_BYTES;
        args->result = NULL;
    }
    return WEFT_OK;
}

static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_reduce_args args = *(const wi_reduce_args *)user;
    args.n = part->cols;
    args.first = part->first;
    args.x = part->p[X];
    args.y = part->p[Y];
    args.result = part->p[RESULT];
    const weft_status status = take_states(ctx, &args, part);
    return status == WEFT_OK ? wi_run(ctx, &wi_reduce_ladder, call->name, args.type, &args)
                             : status;
}

/* A result in host memory may be at any address. */
void wi_reduce_describe(weft_context *ctx, const char *name, const wi_reduce_args *args,
                        wi_call *call) {
    const weft_type type = args->wide ? WEFT_F64 : wi_reduce_result_type(args->op, args->type);
    const unsigned at_any = args->result && wi_is_host(ctx, args->result) ? WI_UNALIGNED : 0;
    const unsigned optional = args->op == WI_RED_DOT ? 0 : WI_OPTIONAL;
    wi_call_begin(call, name, 1, args->n);
    call->distributed = true;
    wi_call_add(call, wi_elements("x", args->x, args->n, args->type, WI_IN | WI_STRIDED));
    wi_call_add(call,
                wi_elements("y", args->y, args->n, args->type, WI_IN | WI_STRIDED | optional));
    wi_call_add(call, wi_elements("result", args->result, 1, type, WI_OUT | WI_WHOLE | at_any));
}

weft_status wi_reduce_call_run(weft_context *ctx, wi_call *call, wi_reduce_args *args) {
    if (args->n == 0 && wi_is_host(ctx, args->result))
        return wi_reduce_serial(ctx, args); /* no kernel needed */
    return wi_call_run(ctx, call, run, args);
}

/* A checked call on a place of several GPUs. */
typedef struct spread {
    const char *name;
    const wi_reduce_args *args;
} spread;

static weft_status check_and_run(weft_context *ctx, const char *name, wi_reduce_args *args,
                                 weft_status status);

/* All ranks get the result, and the first gives it to the caller. */
static weft_status run_share(weft_context *rank, void *user) {
    const spread *const s = user;
    wi_reduce_args args = *s->args;
    const size_t size = weft_type_size(args.type);
    const wi_share share = wi_gpus_share(rank, args.x, args.n, size);
    uint64_t unused;
    args.n = share.n;
    args.x = wi_share_of(args.x, share, size);
    args.y = wi_share_of(args.y, share, size);
    args.result = weft_rank(rank) == 0 ? args.result : &unused;
    return check_and_run(rank, s->name, &args, WEFT_OK);
}

/* `status` is what the checks of the type and the op have said. */
static weft_status check_and_run(weft_context *ctx, const char *name, wi_reduce_args *args,
                                 weft_status status) {
    wi_call call;
    if (status == WEFT_OK) {
        wi_reduce_describe(ctx, name, args, &call);
        status = wi_call_check(ctx, &call);
    }
    if (status == WEFT_OK &&
        wi_gpus_wanted(ctx, &wi_reduce_ladder, args->x, args->n, weft_type_size(args->type)))
        return wi_gpus_run(ctx, &wi_reduce_ladder, name, run_share, &(spread){name, args});
    if (wi_is_dist(ctx))
        return wi_dist_run(ctx, &wi_reduce_ladder, name, args->type, wi_alike(0, args->op), status,
                           &(wi_dist_args){&call, args});
    return status == WEFT_OK ? wi_reduce_call_run(ctx, &call, args) : status;
}

weft_status wi_reduce_check_op(weft_context *ctx, const char *call, weft_op op, weft_type type,
                               wi_reduction *reduction) {
    if (wi_check_type(ctx, call, type) != WEFT_OK)
        return WEFT_EARG;
    if ((unsigned)op >= WEFT_OP_COUNT)
        return wi_fail(ctx, WEFT_EARG, "%s: op %d is not a weft_op; pass WEFT_SUM ... WEFT_NRMINF",
                       call, (int)op);
    if (reduction_of(op) == NOT_OFFERED)
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: op AND, OR and XOR are offered by scans and weft_expr_reduce; pass "
                       "WEFT_SUM, PRODUCT, MIN, MAX, ARGMIN, ARGMAX, NRM1, NRM2 or NRMINF",
                       call);
    *reduction = (wi_reduction)reduction_of(op);
    return WEFT_OK;
}

weft_status wi_reduce_by(weft_context *ctx, const char *call, weft_op op, weft_type type, size_t n,
                         const void *x, void *result) {
    wi_reduce_args args = {.type = type, .n = n, .x = x, .result = result};
    const weft_status status = wi_reduce_check_op(ctx, call, op, type, &args.op);
    return check_and_run(ctx, call, &args, status);
}

weft_status weft_reduce(weft_context *ctx, weft_op op, weft_type type, size_t n, const void *x,
                        void *result) {
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    return wi_reduce_by(ctx, "weft_reduce", op, type, n, x, result);
}

weft_status wi_reduce_dot(weft_context *ctx, const char *call, weft_type type, size_t n,
                          const void *x, const void *y, void *result) {
    wi_reduce_args args = {
        .op = WI_RED_DOT, .type = type, .n = n, .x = x, .y = y, .result = result};
    return check_and_run(ctx, call, &args, wi_check_type(ctx, call, type));
}

weft_status weft_dot_fast(weft_context *ctx, weft_type type, size_t n, const void *x, const void *y,
                          void *result) {
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    return wi_reduce_dot(ctx, "weft_dot_fast", type, n, x, y, result);
}
