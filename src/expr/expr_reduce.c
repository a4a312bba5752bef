/* SPDX-License-Identifier: Apache-2.0 */
/* weft_expr_reduce and its ladder. */
#include "expr/expr_reduce.h"

#include "comm/gpus.h"
#include "core/gpu.h"
#include "cpu/team.h"

static double serial_seconds(const weft_context *ctx, const void *args) {
    const wi_expr_args *const call = &((const wi_expr_reduce_args *)args)->expr;
    const double cycles = wi_expr_cycles(call->program, 10, 40) + 6;
    return wi_team_seconds(ctx, 1, (double)call->n * cycles,
                           (double)call->n * wi_expr_bytes_read(call->program));
}

static double blocks_seconds(const weft_context *ctx, const void *args) {
    const wi_expr_args *const call = &((const wi_expr_reduce_args *)args)->expr;
    const double n = (double)call->n, cycles = wi_expr_cycles(call->program, 0.3, 4) + 0.4;
    const double call_cycles = 400 + 500 * call->program->constants;
    const int team = wi_team_size(ctx, call->n, call->n * sizeof(float));
    return wi_team_seconds(ctx, team, call_cycles + n * cycles,
                           n * wi_expr_bytes_read(call->program));
}

static const wi_row rows[] = {
    {.name = "serial",
     .what = "one element after the other, computed and taken in",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = serial_seconds,
     .run = wi_expr_reduce_serial},
    {.name = "blocks",
     .what = "all cores; blocks of values are reduced in cache",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = blocks_seconds,
     .run = wi_expr_reduce_blocks},
#ifdef WEFT_CUDA
#    if WEFT_LADDER
    {.name = "one_each",
     .what = "a thread interprets the program for one element at a time",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .run = wi_expr_reduce_one_each},
#    endif
    {.name = "tiles",
     .what = "values stay in registers; the last block to end combines the blocks",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_expr_reduce_tiles},
#endif
    {.name = "ranks",
     .what = "every rank computes and reduces its part; all join the parts' states in their order",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_expr_reduce_ranks},
};

const wi_ladder wi_expr_reduce_ladder = {"expr_reduce", rows, sizeof rows / sizeof rows[0]};

void wi_expr_reduce_end(const wi_expr_reduce_args *args, wi_expr_state state) {
    const uint64_t bits = wi_fold_result(&args->fold, state);
    if (args->raw)
        memcpy(args->result, &state, sizeof state);
    else /* the low bytes come first */
        memcpy(args->result, &bits, args->fold.bytes);
}

/* ---- running on one place ---- */

/* Two states on the device alternate as input and output of the parts of a call. */
static weft_status take_states(weft_context *ctx, wi_expr_reduce_args *args, const wi_part *part) {
    static const char key;
    void *states;
    if (part->index == 0 && part->last)
        return WEFT_OK;
    const weft_status status = wi_gpu_scratch(ctx, &key, 2 * sizeof(wi_expr_state), &states);
    if (status != WEFT_OK)
        return status;
    wi_expr_state *const state = states;
    const size_t turn = part->index % 2;
    if (part->index > 0)
        args->state_in = &state[turn];
    if (!part->last) {
        args->result = &state[1 - turn];
        args->raw = true;
    }
    return WEFT_OK;
}

/* The result is the last array of the call. */
static weft_status run_part(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_expr_reduce_args args = *(const wi_expr_reduce_args *)user;
    const int inputs = call->count - 1;
    args.expr.n = part->cols;
    args.first = part->first;
    for (int k = 0; k < inputs; k++)
        args.expr.x[k] = part->p[k];
    args.result = part->p[inputs];
    const weft_status status = take_states(ctx, &args, part);
    return status == WEFT_OK
               ? wi_run(ctx, &wi_expr_reduce_ladder, call->name, (weft_type)args.fold.type, &args)
               : status;
}

weft_status wi_expr_reduce_call_run(weft_context *ctx, wi_call *call, wi_expr_reduce_args *args) {
    args->result = (void *)(uintptr_t)call->array[call->count - 1].p;
    if (args->expr.n == 0 && wi_is_host(ctx, args->result))
        return wi_expr_reduce_serial(ctx, args); /* no kernel needed */
    return wi_call_run(ctx, call, run_part, args);
}

/* ---- the public call ---- */

/* A formula, checked, and what it is applied to. */
typedef struct request {
    const wi_expr_program *program;
    wi_expr_fold fold;
    size_t n;
    const weft_expr_input *inputs;
    void *result;
} request;

static const char call_name[] = "weft_expr_reduce";

static void describe(weft_context *ctx, const request *r, wi_call *call) {
    const unsigned at_any = r->result && wi_is_host(ctx, r->result) ? WI_UNALIGNED : 0;
    const weft_type type = r->fold.bytes == 4 ? WEFT_U32 : WEFT_U64;
    wi_call_begin(call, call_name, 1, r->n);
    call->distributed = true;
    for (uint32_t k = 0; k < r->program->inputs; k++)
        wi_call_add(call, wi_elements(wi_expr_input_names[k], r->inputs[k].x, r->n,
                                      r->inputs[k].type, WI_IN | WI_STRIDED));
    wi_call_add(call, wi_elements("result", r->result, 1, type, WI_OUT | WI_WHOLE | at_any));
}

static weft_status run(weft_context *ctx, const request *r, weft_status status);

/* All ranks get the result, and the first gives it to the caller. The first input says who has
 * what. */
static weft_status run_share(weft_context *rank, void *user) {
    request r = *(const request *)user;
    weft_expr_input inputs[WEFT_EXPR_MAX_INPUTS];
    const uint32_t count = r.program->inputs;
    const size_t size = count > 0 ? weft_type_size(r.inputs[0].type) : 1;
    const wi_share share = wi_gpus_share(rank, count > 0 ? r.inputs[0].x : NULL, r.n, size);
    uint64_t unused;
    for (uint32_t k = 0; k < count; k++) {
        inputs[k] = r.inputs[k];
        inputs[k].x = wi_share_of(inputs[k].x, share, weft_type_size(inputs[k].type));
    }
    r.n = share.n;
    r.inputs = inputs;
    r.result = weft_rank(rank) == 0 ? r.result : &unused;
    return run(rank, &r, WEFT_OK);
}

static bool is_for_all_gpus(weft_context *ctx, const request *r) {
    if (r->program->inputs == 0)
        return wi_gpus_forced(ctx, &wi_expr_reduce_ladder);
    return wi_gpus_wanted(ctx, &wi_expr_reduce_ladder, r->inputs[0].x, r->n,
                          weft_type_size(r->inputs[0].type));
}

static weft_status run(weft_context *ctx, const request *r, weft_status status) {
    wi_expr_reduce_args args = {.expr = {.program = r->program, .n = r->n}, .fold = r->fold};
    wi_call call;
    if (status == WEFT_OK) {
        describe(ctx, r, &call);
        status = wi_call_check(ctx, &call);
    }
    if (status == WEFT_OK && is_for_all_gpus(ctx, r))
        return wi_gpus_run(ctx, &wi_expr_reduce_ladder, call_name, run_share, (void *)(uintptr_t)r);
    if (wi_is_dist(ctx)) {
        const uint64_t alike =
            status == WEFT_OK ? wi_alike(wi_expr_alike(r->program), r->fold.op) : 0;
        return wi_dist_run(ctx, &wi_expr_reduce_ladder, call_name, (weft_type)r->fold.type, alike,
                           status, &(wi_dist_args){&call, &args});
    }
    return status == WEFT_OK ? wi_expr_reduce_call_run(ctx, &call, &args) : status;
}

wi_expr_fold wi_expr_fold_of(weft_op op, weft_type type) {
    const bool is_float = wi_type_is_float(type);
    wi_expr_fold f = {.op = (uint8_t)op, .type = (uint8_t)type, .how = WI_FOLD_LEAST};
    f.bytes = (uint8_t)weft_type_size(type);
    switch (op) {
    case WEFT_SUM:
    case WEFT_PRODUCT:
        f.how = (uint8_t)((op == WEFT_SUM ? WI_FOLD_SUM : WI_FOLD_PRODUCT) +
                          (is_float ? WI_FOLD_SUM_F64 - WI_FOLD_SUM : 0));
        f.bytes = is_float ? f.bytes : 8;
        return f;
    case WEFT_AND:
    case WEFT_OR:
    case WEFT_XOR:
        f.how = (uint8_t)(WI_FOLD_AND + (op - WEFT_AND));
        return f;
    default:
        f.flip = wi_type_is_signed(type) && !is_float ? wi_fold_sign(&f) : 0;
        if (op == WEFT_MAX || op == WEFT_ARGMAX)
            f.flip = ~f.flip;
        f.bytes = wi_fold_is_position(&f) ? 8 : f.bytes;
        return f;
    }
}

static weft_status check_op(weft_context *ctx, weft_op op, weft_type type) {
    if ((unsigned)op >= WEFT_OP_COUNT)
        return wi_fail(ctx, WEFT_EARG, "%s: op %d is not a weft_op; pass WEFT_SUM ... WEFT_ARGMAX",
                       call_name, (int)op);
    if (op >= WEFT_NRM1)
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: op NRM1, NRM2 and NRMINF are not offered; take ABS or squares in the "
                       "program, and pass WEFT_SUM or WEFT_MAX",
                       call_name);
    if (wi_type_is_float(type) && op >= WEFT_AND && op <= WEFT_XOR)
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: op AND, OR and XOR are of integers, and type is %s; end the program "
                       "with a conversion",
                       call_name, weft_type_name(type));
    return WEFT_OK;
}

static weft_status check_type(weft_context *ctx, weft_type type) {
    if (wi_check_type(ctx, call_name, type) != WEFT_OK)
        return WEFT_EARG;
    if (wi_expr_widened(type) != type)
        return wi_fail(ctx, WEFT_EARG, "%s: type is %s; pass that of the values, which are of %s",
                       call_name, weft_type_name(type), weft_type_name(wi_expr_widened(type)));
    return WEFT_OK;
}

weft_status weft_expr_reduce(weft_context *ctx, weft_op op, const weft_expr_step *program,
                             size_t steps, size_t n, const weft_expr_input *inputs,
                             size_t input_count, weft_type type, void *result) {
    wi_expr_program code = {.inputs = 0};
    request r = {.program = &code, .n = n, .inputs = inputs, .result = result};
    weft_status status = wi_check_context(ctx);
    if (status == WEFT_OK)
        status = check_type(ctx, type);
    if (status == WEFT_OK)
        status = check_op(ctx, op, type);
    if (status == WEFT_OK)
        status = wi_expr_check(ctx, call_name, program, steps, inputs, input_count);
    if (status == WEFT_OK)
        status = wi_expr_compile(ctx, call_name, program, steps, inputs, input_count, type, &code);
    if (status == WEFT_OK)
        r.fold = wi_expr_fold_of(op, type);
    return run(ctx, &r, status);
}
