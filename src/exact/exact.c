/* SPDX-License-Identifier: Apache-2.0 */
/* The calls on arrays: check arguments, then run the ladder on memory that the place can access. */
#include "exact/exact.h"

#include "comm/gpus.h"
#include "core/gpu.h"
#include "cpu/team.h"
#include "reduce/reduce.h"

/* Cycles for one element, as seen on an AMD EPYC. */
static double serial_seconds(const weft_context *ctx, const void *args) {
    const wi_exact_args *const call = args;
    const double n = (double)call->n, width = (double)weft_type_size(call->type);
    return wi_team_seconds(ctx, 1, 200 + 8 * n, n * width);
}

static double threads_seconds(const weft_context *ctx, const void *args) {
    const wi_exact_args *const call = args;
    const double call_cycles = 1200, cycles = 1.5, n = (double)call->n;
    const size_t bytes = call->n * weft_type_size(call->type);
    const int team = wi_team_size(ctx, call->n, bytes);
    return wi_team_seconds(ctx, team, call_cycles + n * cycles, (double)bytes);
}

#ifdef WEFT_CUDA
/* As if elements were read twice, so that windows are taken where they can do the call. */
static double folds_seconds(const weft_context *ctx, const void *args) {
    const wi_exact_args *const call = args;
    const wi_machine *const m = wi_machine_of(ctx);
    const double bytes = (double)call->n * (double)weft_type_size(call->type);
    return m->launch_s + 2 * bytes / m->bytes_per_s;
}

static double windows_seconds(const weft_context *ctx, const void *args) {
    return folds_seconds(ctx, args) / 2;
}

static const char *has_windows(const weft_context *ctx, const void *args) {
    const wi_exact_terms terms = ((const wi_exact_args *)args)->terms;
    (void)ctx;
    return terms == WI_EXACT_SUM || terms == WI_EXACT_NRM1 ? NULL : "takes no products";
}
#endif

static const wi_row rows[] = {
    {.name = "serial",
     .what = "each element added to the digits of a wide integer",
     .kinds = WI_ON_CPU,
     .types = WI_FLOATS,
     .seconds = serial_seconds,
     .run = wi_exact_serial},
    {.name = "threads",
     .what = "all cores; vectors of floats without rounding, emptied into the integer",
     .kinds = WI_ON_CPU,
     .types = WI_FLOATS,
     .seconds = threads_seconds,
     .run = wi_exact_threads},
#ifdef WEFT_CUDA
#    if WEFT_LADDER
    {.name = "digits",
     .what = "each element added to the digits, in shared memory, by atomics",
     .kinds = WI_ON_CUDA,
     .types = WI_TAUGHT_TYPES & WI_FLOATS,
     .run = wi_exact_digits},
#    endif
    {.name = "folds",
     .what = "floats without rounding in registers, emptied into integers of each thread",
     .kinds = WI_ON_CUDA,
     .types = WI_FLOATS,
     .seconds = folds_seconds,
     .run = wi_exact_folds},
    {.name = "windows",
     .what = "an f64 in shared memory for every 16 exponents, in each thread",
     .kinds = WI_ON_CUDA,
     .types = WI_FLOATS & ~WI_TYPE(WEFT_F64),
     .misfit = has_windows,
     .seconds = windows_seconds,
     .run = wi_exact_windows},
#endif
    {.name = "ranks",
     .what = "every rank adds up its part, then all add up the parts",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_FLOATS,
     .seconds = wi_no_rival,
     .run = wi_exact_ranks},
};

const wi_ladder wi_exact_ladder = {"exact", rows, sizeof rows / sizeof rows[0]};

enum {
    X,
    Y, /* of dot; NULL for the others */
    RESULT
};

static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_exact_args args = *(const wi_exact_args *)user;
    args.n = part->cols;
    args.x = part->p[X];
    args.y = part->p[Y];
    args.last = part->last;
    if (args.sum)
        args.sum = part->p[RESULT];
    else
        args.result = part->p[RESULT];
    return wi_run(ctx, &wi_exact_ladder, call->name, args.type, &args);
}

/* A result in host memory may be at any address. */
void wi_exact_describe(weft_context *ctx, const char *name, const wi_exact_args *args,
                       wi_call *call) {
    const unsigned at_any = args->result && wi_is_host(ctx, args->result) ? WI_UNALIGNED : 0;
    const unsigned optional = args->terms == WI_EXACT_DOT ? 0 : WI_OPTIONAL;
    wi_call_begin(call, name, 1, args->n);
    call->distributed = true;
    wi_call_add(call, wi_elements("x", args->x, args->n, args->type, WI_IN));
    wi_call_add(call, wi_elements("y", args->y, args->n, args->type, WI_IN | optional));
    if (args->sum)
        wi_call_add(call,
                    wi_elements("sum", args->sum, WI_EXACT_WORDS, WEFT_I64, WI_OUT | WI_WHOLE));
    else
        wi_call_add(call, wi_elements("result", args->result, 1, args->result_type,
                                      WI_OUT | WI_WHOLE | at_any));
}

weft_status wi_exact_call_run(weft_context *ctx, wi_call *call, wi_exact_args *args) {
    if (args->n == 0 && wi_is_host(ctx, args->sum ? args->sum : args->result))
        return wi_exact_serial(ctx, args); /* no kernel needed */
    return wi_call_run(ctx, call, run, args);
}

/* A checked call on a place of several GPUs. */
typedef struct spread {
    const char *name;
    const wi_exact_args *args;
} spread;

/* All ranks get the result, and the first gives it to the caller. */
static weft_status run_share(weft_context *rank, void *user) {
    const spread *const s = user;
    wi_exact_args args = *s->args;
    const size_t size = weft_type_size(args.type);
    const wi_share share = wi_gpus_share(rank, args.x, args.n, size);
    int64_t unused[WI_EXACT_WORDS];
    args.n = share.n;
    args.x = wi_share_of(args.x, share, size);
    args.y = wi_share_of(args.y, share, size);
    if (weft_rank(rank) > 0 && args.sum)
        args.sum = unused;
    else if (weft_rank(rank) > 0)
        args.result = unused;
    return wi_exact_call(rank, s->name, &args, WEFT_OK);
}

weft_status wi_exact_call(weft_context *ctx, const char *name, wi_exact_args *args,
                          weft_status status) {
    wi_call call;
    if (status == WEFT_OK) {
        wi_exact_describe(ctx, name, args, &call);
        status = wi_call_check(ctx, &call);
    }
    if (status == WEFT_OK &&
        wi_gpus_wanted(ctx, &wi_exact_ladder, args->x, args->n, weft_type_size(args->type)))
        return wi_gpus_run(ctx, &wi_exact_ladder, name, run_share, &(spread){name, args});
    if (wi_is_dist(ctx)) {
        const uint64_t alike = wi_alike(wi_alike(0, args->terms), args->result_type);
        return wi_dist_run(ctx, &wi_exact_ladder, name, args->type, alike, status,
                           &(wi_dist_args){&call, args});
    }
    return status == WEFT_OK ? wi_exact_call_run(ctx, &call, args) : status;
}

weft_status wi_exact_check_float(weft_context *ctx, const char *call, const char *argument,
                                 weft_type type) {
    if (weft_type_size(type) == 0)
        return wi_fail(ctx, WEFT_EARG, "%s: %s %d is not a weft_type; pass WEFT_F16 ... WEFT_F64",
                       call, argument, (int)type);
    if (!wi_type_is_float(type))
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: %s is %s; pass a float type: WEFT_F16, BF16, F32 or F64", call,
                       argument, weft_type_name(type));
    return WEFT_OK;
}

/* Of integers the result has one type only. */
static weft_status check_integer_result(weft_context *ctx, const char *call, weft_op op,
                                        weft_type type, weft_type result_type) {
    weft_type only;
    const weft_status status = weft_reduce_type(op, type, &only);
    if (status == WEFT_OK && result_type == only)
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EARG, "%s: result_type must be %s for %s; weft_reduce_type tells",
                   call, weft_type_name(only), weft_type_name(type));
}

static weft_status check_types(weft_context *ctx, const char *call, weft_op op, weft_type type,
                               weft_type result_type) {
    const weft_status status = wi_check_type(ctx, call, type);
    if (status != WEFT_OK)
        return status;
    return wi_type_is_float(type) ? wi_exact_check_float(ctx, call, "result_type", result_type)
                                  : check_integer_result(ctx, call, op, type, result_type);
}

static weft_status check_op(weft_context *ctx, const char *call, weft_op op) {
    if ((unsigned)op >= WEFT_OP_COUNT)
        return wi_fail(ctx, WEFT_EARG, "%s: op %d is not a weft_op; pass WEFT_SUM, NRM1 or NRM2",
                       call, (int)op);
    if (op != WEFT_SUM && op != WEFT_NRM1 && op != WEFT_NRM2)
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: op must be SUM, NRM1 or NRM2; weft_reduce has the others", call);
    return WEFT_OK;
}

weft_status weft_exact_reduce(weft_context *ctx, weft_op op, weft_type type, size_t n,
                              const void *x, weft_type result_type, void *result) {
    static const char call[] = "weft_exact_reduce";
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = check_op(ctx, call, op);
    if (status == WEFT_OK)
        status = check_types(ctx, call, op, type, result_type);
    if (status == WEFT_OK && !wi_type_is_float(type))
        return wi_reduce_by(ctx, call, op, type, n, x, result);
    wi_exact_args args = {.terms = op == WEFT_SUM    ? WI_EXACT_SUM
                                   : op == WEFT_NRM1 ? WI_EXACT_NRM1
                                                     : WI_EXACT_SQUARES,
                          .type = type,
                          .result_type = result_type,
                          .n = n,
                          .x = x,
                          .root = op == WEFT_NRM2,
                          .result = result};
    return wi_exact_call(ctx, call, &args, status);
}

/* dot under its public name `call`, which has checked the types as `status` says. */
static weft_status dot(weft_context *ctx, const char *call, wi_exact_args *args,
                       weft_status status) {
    if (status == WEFT_OK && !wi_type_is_float(args->type))
        return wi_reduce_dot(ctx, call, args->type, args->n, args->x, args->y, args->result);
    return wi_exact_call(ctx, call, args, status);
}

weft_status weft_exact_dot(weft_context *ctx, weft_type type, size_t n, const void *x,
                           const void *y, weft_type result_type, void *result) {
    static const char call[] = "weft_exact_dot";
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    wi_exact_args args = {.terms = WI_EXACT_DOT,
                          .type = type,
                          .result_type = result_type,
                          .n = n,
                          .x = x,
                          .y = y,
                          .result = result};
    return dot(ctx, call, &args, check_types(ctx, call, WEFT_SUM, type, result_type));
}

weft_status weft_dot(weft_context *ctx, weft_type type, size_t n, const void *x, const void *y,
                     void *result) {
    static const char call[] = "weft_dot";
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    wi_exact_args args = {.terms = WI_EXACT_DOT,
                          .type = type,
                          .result_type = type == WEFT_F64 ? WEFT_F64 : WEFT_F32,
                          .n = n,
                          .x = x,
                          .y = y,
                          .result = result};
    return dot(ctx, call, &args, wi_check_type(ctx, call, type));
}
