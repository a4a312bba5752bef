/* SPDX-License-Identifier: Apache-2.0 */
/* Each element beside the one before it: two formulas, one of x[i] and x[i - 1], which are the same
 * array one element apart, and one for the first element. */
#include "expr/expr_neighbours.h"

#include <string.h>

#include "comm/gpus.h"

/* The formula of an element and the one before. */
static const weft_expr_step this_one = {.op = WEFT_X_INPUT, .argument = 0};
static const weft_expr_step one_before = {.op = WEFT_X_INPUT, .argument = 1};

static weft_status compile_pair(weft_context *ctx, const wi_expr_neighbours *w,
                                wi_expr_program *program) {
    const weft_expr_step steps[] = {this_one, one_before, {.op = w->op}};
    const weft_expr_input inputs[] = {{w->type, NULL}, {w->type, NULL}};
    return wi_expr_compile(ctx, w->name, steps, 3, inputs, 2, w->out, program);
}

/* The formula of the first element: with `before` as with any other, else x[0] itself or a flag. */
static weft_status compile_first(weft_context *ctx, const wi_expr_neighbours *w,
                                 wi_expr_program *program) {
    const weft_expr_step one = {.op = WEFT_X_CONSTANT, .argument = WEFT_U8, .value = {.u = 1}};
    const weft_expr_step alone[] = {w->op == WEFT_X_SUB ? this_one : one};
    const weft_expr_step steps[] = {
        this_one, wi_expr_constant_at(w->type, &w->before), {.op = w->op}};
    const weft_expr_input input = {w->type, NULL};
    return w->has_before ? wi_expr_compile(ctx, w->name, steps, 3, &input, 1, w->out, program)
                         : wi_expr_compile(ctx, w->name, alone, 1, &input, 1, w->out, program);
}

/* The first element by itself. */
static weft_status run_apart(weft_context *ctx, const wi_call *call, const wi_part *part,
                             const wi_expr_neighbours *w) {
    const char *const x = part->p[0];
    const size_t size = weft_type_size(w->type), out = weft_type_size(w->out);
    wi_expr_program program;
    wi_expr_args first = {.program = &program, .n = 1, .x = {x}, .z = part->p[1]};
    const wi_expr_args others = {
        .program = &program, .n = w->n - 1, .x = {x + size, x}, .z = (char *)part->p[1] + out};
    weft_status status = w->n > 1 ? compile_pair(ctx, w, &program) : WEFT_OK;
    if (status == WEFT_OK && w->n > 1)
        status = wi_run(ctx, &wi_expr_ladder, call->name, w->out, &others);
    if (status == WEFT_OK)
        status = compile_first(ctx, w, &program);
    if (status == WEFT_OK) /* beside others it must not fail: the serial rung takes no memory */
        status = w->n > 1 && ctx->kind == WI_CPU
                     ? wi_expr_serial(ctx, &first)
                     : wi_run(ctx, &wi_expr_ladder, call->name, w->out, &first);
    return status;
}

/* Will the rung run that does a whole call at once? */
static bool is_at_once(const weft_context *ctx) {
#ifdef WEFT_CUDA
    const wi_row *const forced = wi_forced_row(ctx, &wi_expr_ladder);
    return ctx->kind == WI_CUDA && (!forced || forced->run == wi_expr_tiles);
#else
    (void)ctx;
    return false;
#endif
}

static weft_status run_part(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    const wi_expr_neighbours *const w = user;
    const wi_expr_args all = {.n = w->n, .x = {part->p[0]}, .z = part->p[1], .neighbours = w};
    if (is_at_once(ctx))
        return wi_run(ctx, &wi_expr_ladder, call->name, w->out, &all);
    return run_apart(ctx, call, part, w);
}

/* The last element of a rank's part; its bits are in `own[1]`, and n in own[0]. */
static weft_status find_last(weft_context *ctx, const wi_expr_neighbours *w, const void *x,
                             uint64_t own[2]) {
    const size_t size = weft_type_size(w->type);
    own[0] = w->n;
    own[1] = 0;
    return w->n == 0 ? WEFT_OK
                     : wi_local(ctx, weft_copy(ctx->child, &own[1],
                                               (const char *)x + (w->n - 1) * size, size));
}

weft_status wi_expr_neighbours_ranks(weft_context *ctx, const wi_dist_args *dist) {
    wi_expr_neighbours w = *((const wi_expr_args *)dist->args)->neighbours;
    wi_call call = *dist->call;
    const uint64_t *all;
    uint64_t own[2];
    weft_status status = wi_agree(ctx, 0, find_last(ctx, &w, call.array[0].p, own));
    if (status == WEFT_OK)
        status = wi_all_words(ctx, own, 2, &all);
    if (status != WEFT_OK)
        return status;
    for (int r = 0; r < ctx->comm->rank; r++)
        if (all[2 * r] > 0) {
            w.has_before = true;
            w.before = all[2 * r + 1];
        }
    return w.n == 0 ? WEFT_OK : wi_local(ctx, wi_call_run(ctx->child, &call, run_part, &w));
}

/* A checked call, for the GPUs of a place that has several. */
typedef struct spread {
    wi_expr_neighbours w;
    const void *x;
    void *z;
} spread;

static weft_status run(weft_context *ctx, wi_expr_neighbours *w, const void *x, void *z,
                       const char *z_name);

static weft_status run_share(weft_context *rank, void *user) {
    const spread *const s = user;
    const size_t size = weft_type_size(s->w.type), out = weft_type_size(s->w.out);
    const wi_share share = wi_gpus_share(rank, s->z, s->w.n, out);
    wi_expr_neighbours w = s->w;
    w.n = share.n;
    return run(rank, &w, wi_share_of(s->x, share, size), wi_share_of(s->z, share, out), "z");
}

static weft_status run(weft_context *ctx, wi_expr_neighbours *w, const void *x, void *z,
                       const char *z_name) {
    wi_call call;
    weft_status status = wi_check_context(ctx);
    wi_call_begin(&call, w->name, 0, 0);
    call.distributed = true;
    if (status == WEFT_OK)
        status = wi_check_type(ctx, w->name, w->type);
    if (status == WEFT_OK) {
        w->out = w->op == WEFT_X_SUB ? w->type : WEFT_U8;
        wi_call_add(&call, wi_elements("x", x, w->n, w->type, WI_IN | WI_STRIDED));
        wi_call_add(&call, wi_elements(z_name, z, w->n, w->out, WI_OUT));
        status = wi_call_check(ctx, &call);
    }
    if (status == WEFT_OK && wi_gpus_wanted(ctx, &wi_expr_ladder, z, w->n, weft_type_size(w->out)))
        return wi_gpus_run(ctx, &wi_expr_ladder, w->name, run_share, &(spread){*w, x, z});
    const wi_expr_args args = {.neighbours = w};
    if (wi_is_dist(ctx))
        return wi_dist_run(ctx, &wi_expr_ladder, w->name, w->out,
                           wi_alike(wi_alike(0, w->type), w->op), status,
                           &(wi_dist_args){&call, &args});
    return status != WEFT_OK || w->n == 0 ? status : wi_call_run(ctx, &call, run_part, w);
}

weft_status weft_adjacent_difference(weft_context *ctx, weft_type type, size_t n, const void *x,
                                     void *z) {
    wi_expr_neighbours w = {
        .name = "weft_adjacent_difference", .op = WEFT_X_SUB, .type = type, .out = type, .n = n};
    return run(ctx, &w, x, z, "z");
}

weft_status weft_flag_heads(weft_context *ctx, weft_type type, size_t n, const void *x,
                            void *flags) {
    wi_expr_neighbours w = {
        .name = "weft_flag_heads", .op = WEFT_X_NE, .type = type, .out = WEFT_U8, .n = n};
    return run(ctx, &w, x, flags, "flags");
}
