/* SPDX-License-Identifier: Apache-2.0 */
/* weft_expr and its ladder: checks the arguments, compiles the formula, and runs it on memory that
 * the place can access. */
#include "expr/expr.h"

#include "comm/gpus.h"
#include "cpu/team.h"

double wi_expr_bytes_read(const wi_expr_program *p) {
    size_t bytes = 0;
    for (uint32_t k = 0; k < p->inputs; k++)
        bytes += weft_type_size((weft_type)p->from[k]);
    return (double)bytes;
}

double wi_expr_cycles(const wi_expr_program *p, double simple, double heavy) {
    double cycles = 0;
    for (uint32_t k = 0; k < p->codes; k++)
        cycles += wi_expr_is_heavy((wi_expr_do)p->code[k].what) ? heavy : simple;
    return cycles * (p->wide ? 2 : 1);
}

/* Bytes read and written, each once. */
static double bytes_of(const wi_expr_args *call) {
    const wi_expr_program *const p = call->program;
    return (double)call->n * (wi_expr_bytes_read(p) + (double)weft_type_size((weft_type)p->type));
}

/* Cycles of one thread for all elements. */
static double cycles_of(const wi_expr_args *call, double simple, double heavy) {
    return (double)call->n * wi_expr_cycles(call->program, simple, heavy);
}

static double serial_seconds(const weft_context *ctx, const void *args) {
    return wi_team_seconds(ctx, 1, cycles_of(args, 10, 40), bytes_of(args));
}

static double blocks_seconds(const weft_context *ctx, const void *args) {
    const wi_expr_args *const call = args;
    const double call_cycles = 300 + 500 * call->program->constants;
    const int team = wi_team_size(ctx, call->n, call->n * sizeof(float));
    return wi_team_seconds(ctx, team, call_cycles + cycles_of(call, 0.3, 4), bytes_of(call));
}

static const wi_row rows[] = {
    {.name = "serial",
     .what = "one element after the other through the whole program",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = serial_seconds,
     .run = wi_expr_serial},
    {.name = "blocks",
     .what = "all cores; each step is a vector loop over a block in cache",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = blocks_seconds,
     .run = wi_expr_blocks},
#ifdef WEFT_CUDA
#    if WEFT_LADDER
    {.name = "one_each",
     .what = "a thread interprets the program for one element",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .run = wi_expr_one_each},
#    endif
    {.name = "tiles",
     .what = "each step works on 8 or 16 elements in a thread's registers",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_expr_tiles},
#endif
    {.name = "ranks",
     .what = "every rank computes its own part",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_expr_ranks},
};

const char *const wi_expr_input_names[WEFT_EXPR_MAX_INPUTS] = {
    "inputs[0].x", "inputs[1].x", "inputs[2].x", "inputs[3].x",
    "inputs[4].x", "inputs[5].x", "inputs[6].x"};

const wi_ladder wi_expr_ladder = {"expr", rows, sizeof rows / sizeof rows[0]};

/* z is the last array of the call. */
static weft_status run_part(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_expr_args args = *(const wi_expr_args *)user;
    const int inputs = call->count - 1;
    args.n = part->cols;
    for (int k = 0; k < inputs; k++)
        args.x[k] = part->p[k];
    args.z = part->p[inputs];
    return wi_run(ctx, &wi_expr_ladder, call->name, (weft_type)args.program->type, &args);
}

weft_status wi_expr_call_run(weft_context *ctx, wi_call *call, wi_expr_args *args) {
    return args->n == 0 ? WEFT_OK : wi_call_run(ctx, call, run_part, args);
}

/* A checked call that is to be shared among the GPUs of a place. */
typedef struct spread {
    const char *name, *const *names, *z_name;
    const wi_expr_program *program;
    size_t n;
    const weft_expr_input *inputs;
    void *z;
} spread;

/* The part of one GPU. */
static weft_status run_share(weft_context *rank, void *user) {
    const spread *const s = user;
    const size_t size = weft_type_size((weft_type)s->program->type);
    const wi_share share = wi_gpus_share(rank, s->z, s->n, size);
    weft_expr_input inputs[WEFT_EXPR_MAX_INPUTS];
    for (uint32_t k = 0; k < s->program->inputs; k++) {
        inputs[k] = s->inputs[k];
        inputs[k].x = wi_share_of(inputs[k].x, share, weft_type_size(inputs[k].type));
    }
    return wi_expr_run(rank, s->name, s->program, share.n, inputs, s->names,
                       wi_share_of(s->z, share, size), s->z_name, WEFT_OK);
}

uint64_t wi_expr_alike(const wi_expr_program *p) {
    const uint64_t types = wi_alike_bytes(wi_alike(0, p->type), p->from, p->inputs);
    const uint64_t codes = wi_alike_bytes(types, p->code, p->codes * sizeof *p->code);
    return wi_alike_bytes(codes, p->constant, p->constants * sizeof *p->constant);
}

weft_status wi_expr_run(weft_context *ctx, const char *name, const wi_expr_program *program,
                        size_t n, const weft_expr_input *inputs, const char *const *names, void *z,
                        const char *z_name, weft_status status) {
    wi_expr_args args = {.program = program, .n = n};
    wi_call call;
    wi_call_begin(&call, name, 1, n);
    call.distributed = true;
    if (status == WEFT_OK) {
        for (uint32_t k = 0; k < program->inputs; k++)
            wi_call_add(&call,
                        wi_elements(names[k], inputs[k].x, n, inputs[k].type, WI_IN | WI_STRIDED));
        wi_call_add(&call, wi_elements(z_name, z, n, (weft_type)program->type, WI_OUT));
        call.array[program->inputs].in_place = (1u << program->inputs) - 1;
        status = wi_call_check(ctx, &call);
    }
    if (status == WEFT_OK &&
        wi_gpus_wanted(ctx, &wi_expr_ladder, z, n, weft_type_size((weft_type)program->type)))
        return wi_gpus_run(ctx, &wi_expr_ladder, name, run_share,
                           &(spread){name, names, z_name, program, n, inputs, z});
    if (wi_is_dist(ctx) && status != WEFT_OK) /* there may be no program */
        return wi_dist_run(ctx, &wi_expr_ladder, name, WI_NO_TYPE, 0, status, NULL);
    if (wi_is_dist(ctx))
        return wi_dist_run(ctx, &wi_expr_ladder, name, (weft_type)program->type,
                           wi_expr_alike(program), status, &(wi_dist_args){&call, &args});
    return status == WEFT_OK ? wi_expr_call_run(ctx, &call, &args) : status;
}

static weft_status check_inputs(weft_context *ctx, const char *name, const weft_expr_input *inputs,
                                size_t count) {
    if (count > WEFT_EXPR_MAX_INPUTS)
        return wi_fail(ctx, WEFT_EARG, "%s: input_count is %zu; pass at most %d inputs", name,
                       count, WEFT_EXPR_MAX_INPUTS);
    if (count > 0 && !inputs)
        return wi_fail(ctx, WEFT_EARG, "%s: inputs is NULL; pass input_count of them", name);
    for (size_t k = 0; k < count; k++)
        if (weft_type_size(inputs[k].type) == 0)
            return wi_fail(ctx, WEFT_EARG, "%s: inputs[%zu].type is %d, not a weft_type", name, k,
                           (int)inputs[k].type);
    return WEFT_OK;
}

weft_status wi_expr_check(weft_context *ctx, const char *name, const weft_expr_step *program,
                          size_t steps, const weft_expr_input *inputs, size_t count) {
    if (!program)
        return wi_fail(ctx, WEFT_EARG, "%s: program is NULL; pass its steps", name);
    if (steps > WEFT_EXPR_MAX_STEPS)
        return wi_fail(ctx, WEFT_EARG, "%s: steps is %zu; pass at most %d", name, steps,
                       WEFT_EXPR_MAX_STEPS);
    return check_inputs(ctx, name, inputs, count);
}

weft_status weft_expr(weft_context *ctx, const weft_expr_step *program, size_t steps, size_t n,
                      const weft_expr_input *inputs, size_t input_count, weft_type type, void *z) {
    static const char name[] = "weft_expr";
    wi_expr_program code;
    weft_status status = wi_check_context(ctx);
    if (status == WEFT_OK)
        status = wi_check_type(ctx, name, type);
    if (status == WEFT_OK)
        status = wi_expr_check(ctx, name, program, steps, inputs, input_count);
    if (status == WEFT_OK)
        status = wi_expr_compile(ctx, name, program, steps, inputs, input_count, type, &code);
    return wi_expr_run(ctx, name, &code, n, inputs, wi_expr_input_names, z, "z", status);
}
