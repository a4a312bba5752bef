/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of scan: check arguments, then run the ladder on memory that the place can
 * access. */
#include "scan/scan.h"

#include <string.h>

#include "comm/gpus.h"
#include "core/call.h"
#include "core/gpu.h"
#include "expr/expr.h"

enum {
    CARRY_BYTES = 8
};

weft_status wi_scan_check(weft_context *ctx, const char *call, weft_scan_kind kind, weft_op op,
                          weft_type type) {
    if (wi_check_type(ctx, call, type) != WEFT_OK)
        return WEFT_EARG;
    if (kind != WEFT_INCLUSIVE && kind != WEFT_EXCLUSIVE)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: kind %d is not a weft_scan_kind; pass WEFT_INCLUSIVE or WEFT_EXCLUSIVE",
                       call, (int)kind);
    if ((unsigned)op >= WEFT_OP_COUNT)
        return wi_fail(ctx, WEFT_EARG, "%s: op %d is not a weft_op; pass WEFT_SUM ... WEFT_XOR",
                       call, (int)op);
    if (op > WEFT_XOR)
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: op %d is offered by reductions only; pass WEFT_SUM, PRODUCT, MIN, MAX, "
                       "AND, OR or XOR",
                       call, (int)op);
    if (op >= WEFT_AND && wi_type_is_float(type))
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: op AND, OR and XOR take integers, not %s; view the bits as unsigned "
                       "integers",
                       call, weft_type_name(type));
    return WEFT_OK;
}

/* Sets init or carry_in from the caller's element. An 8-byte element in device memory already has
 * the form of a carry, and the kernel reads it there; a shorter one is copied to the host, which
 * waits for the stream. */
static weft_status take_init(weft_context *ctx, wi_scan_args *args, const void *init) {
    const size_t size = weft_type_size(args->type);
    if (!init) {
        args->init = wi_scan_identity(args->op, args->type);
        return WEFT_OK;
    }
    if (wi_is_host(ctx, init)) {
        args->init = wi_scan_carry_of(args->type, init);
        return WEFT_OK;
    }
    weft_status status = wi_check_array(ctx, args->call, "init", init, 1, args->type);
    if (status != WEFT_OK)
        return status;
    if (size == CARRY_BYTES && wi_is_device(ctx, init) && !wi_is_dist(ctx) &&
        !wi_overlap(init, size, args->y, args->n * size)) {
        args->carry_in = init;
        return WEFT_OK;
    }
    uint64_t element = 0;
    status = weft_copy(ctx, &element, init, size);
    args->init = wi_scan_carry_of(args->type, &element);
    return status;
}

enum {
    X,
    Y,
    TOTAL
};

/* A call on its way, in parts and strips. */
typedef struct course {
    const wi_scan_args *args;
    size_t turn; /* how many strips there were */
    void *room;  /* on a GPU, for one strip that is widened; or NULL */
} course;

#ifdef WEFT_CUDA
/* ---- on a GPU ---- */

/* Two carries on the device alternate as input and output of the strips of a call. */
static weft_status take_carries(weft_context *ctx, wi_scan_args *args, size_t turn, bool hands_on) {
    static const char key;
    void *carries;
    if (turn == 0 && !hands_on)
        return WEFT_OK;
    const weft_status status = wi_gpu_scratch(ctx, &key, (size_t)2 * CARRY_BYTES, &carries);
    if (status != WEFT_OK)
        return status;
    if (turn > 0)
        args->carry_in = (char *)carries + turn % 2 * CARRY_BYTES;
    if (hands_on)
        args->carry_out = (char *)carries + (1 - turn % 2) * CARRY_BYTES;
    return WEFT_OK;
}

/* Widens the strip into `room`, from where it is scanned then. */
static weft_status widen(weft_context *ctx, wi_scan_args *args, void *room) {
    const wi_expr_args widening = {.program = args->widen, .n = args->n, .x = {args->x}, .z = room};
    args->x = room;
    return wi_run(ctx, &wi_expr_ladder, args->call, args->type, &widening);
}

/* *total = the carry as an element; both on the device. */
static weft_status put_total(weft_context *ctx, const wi_scan_args *args, const void *carry,
                             void *total) {
    wi_expr_program narrow;
    if (!wi_type_is_float(args->type) || args->type == WEFT_F64)
        return wi_gpu_copy_within(ctx, total, carry, weft_type_size(args->type));
    const weft_status status =
        wi_expr_compile_conversion(ctx, args->call, WEFT_F64, args->type, &narrow);
    const wi_expr_args one = {.program = &narrow, .n = 1, .x = {carry}, .z = total};
    return status == WEFT_OK ? wi_run(ctx, &wi_expr_ladder, args->call, args->type, &one) : status;
}

/* Scans elements `at` ... `at + n - 1` of the part. */
static weft_status run_strip(weft_context *ctx, course *c, const wi_scan_args *args, size_t at,
                             size_t n, bool hands_on, void *room, const void **carry) {
    wi_scan_args own = *args;
    own.n = n;
    own.x = (const char *)args->x + at * weft_type_size(args->from);
    own.y = (char *)args->y + at * weft_type_size(args->type);
    weft_status status = take_carries(ctx, &own, c->turn++, hands_on);
    if (status == WEFT_OK && args->widen)
        status = widen(ctx, &own, room);
    if (status == WEFT_OK)
        status = wi_run(ctx, &wi_scan_ladder, own.call, own.type, &own);
    *carry = own.carry_out;
    return status;
}

/* What is to be widened goes through a room for one strip, which all strips of all parts use in
 * turn; so y is written only when the rung has all memory it needs. */
static weft_status run_on_gpu(weft_context *ctx, course *c, const wi_part *part,
                              const wi_scan_args *args) {
    const size_t n = args->n, most = args->widen ? wi_scan_strip() : n;
    const size_t strip = n < most ? n : most, all = c->args->n < most ? c->args->n : most;
    const void *carry = NULL;
    weft_status status = WEFT_OK;
    if (args->widen && !c->room)
        status = wi_gpu_alloc(ctx, &c->room, all * weft_type_size(args->type));
    for (size_t at = 0; at < n && status == WEFT_OK; at += strip) {
        const size_t own = n - at < strip ? n - at : strip;
        const bool hands_on = !part->last || at + own < n || args->total;
        status = run_strip(ctx, c, args, at, own, hands_on, c->room, &carry);
    }
    if (status == WEFT_OK && part->last && args->total)
        status = put_total(ctx, args, carry, part->p[TOTAL]);
    return status;
}

static weft_status give_room(weft_context *ctx, course *c) {
    return c->room ? wi_gpu_free(ctx, c->room) : WEFT_OK;
}
#else
static weft_status give_room(weft_context *ctx, course *c) {
    (void)ctx, (void)c;
    return WEFT_OK;
}
#endif

/* ---- on a cpu ---- */

/* The total is the last output; of an exclusive scan combined with the last element, which the scan
 * may overwrite. */
static weft_status run_on_cpu(weft_context *ctx, const wi_scan_args *args) {
    const size_t last = args->n - 1, size = weft_type_size(args->type);
    const uint64_t element =
        wi_scan_carry_of(args->from, (const char *)args->x + last * weft_type_size(args->from));
    const weft_status status = wi_run(ctx, &wi_scan_ladder, args->call, args->type, args);
    if (status != WEFT_OK || !args->total)
        return status;
    uint64_t total = wi_scan_carry_of(args->type, (const char *)args->y + last * size);
    if (args->kind == WEFT_EXCLUSIVE)
        total = wi_scan_combine(args->op, args->type, total, element);
    wi_scan_element_of(args->type, total, args->total);
    return WEFT_OK;
}

static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    course *const c = user;
    wi_scan_args args = *c->args;
    (void)call;
    args.n = part->cols;
    args.x = part->p[X];
    args.y = part->p[Y];
#ifdef WEFT_CUDA
    if (ctx->kind == WI_CUDA)
        return run_on_gpu(ctx, c, part, &args);
#endif
    return run_on_cpu(ctx, &args);
}

/* Of no elements the total is the initial value. */
static weft_status put_init(weft_context *ctx, const wi_scan_args *args) {
    uint64_t element = 0;
    const size_t size = weft_type_size(args->type);
    if (args->carry_in)
        return weft_copy(ctx, args->total, args->carry_in, size);
    wi_scan_element_of(args->type, args->init, &element);
    return weft_copy(ctx, args->total, &element, size);
}

weft_status wi_scan_call_run(weft_context *ctx, wi_call *call, wi_scan_args *args) {
    if (args->n == 0)
        return args->total ? put_init(ctx, args) : WEFT_OK;
    course c = {.args = args};
    const weft_status status = wi_call_run(ctx, call, run, &c), given = give_room(ctx, &c);
    return status == WEFT_OK ? given : status;
}

/* ---- the calls ---- */

static weft_status scan(weft_context *ctx, wi_scan_args args, const void *init);

/* A checked call on a place of several GPUs. */
typedef struct spread {
    const wi_scan_args *args;
    const void *init;
} spread;

static weft_status run_share(weft_context *rank, void *user) {
    const spread *const s = user;
    wi_scan_args args = *s->args;
    const wi_share share = wi_gpus_share(rank, args.x, args.n, weft_type_size(args.from));
    args.n = share.n;
    args.x = wi_share_of(args.x, share, weft_type_size(args.from));
    args.y = wi_share_of(args.y, share, weft_type_size(args.type));
    args.total = weft_rank(rank) == weft_ranks(rank) - 1 ? args.total : NULL;
    return scan(rank, args, s->init);
}

static weft_status check_types(weft_context *ctx, const wi_scan_args *args) {
    const weft_status status = wi_scan_check(ctx, args->call, args->kind, args->op, args->from);
    if (status != WEFT_OK || args->type == args->from)
        return status;
    if ((unsigned)args->type >= WEFT_TYPE_COUNT)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: y_type %d is not a weft_type; pass WEFT_I8 ... WEFT_F64", args->call,
                       (int)args->type);
    const bool to_float = wi_type_is_float(args->type), is_float = wi_type_is_float(args->from);
    const bool to_signed = wi_type_is_signed(args->type), is_signed = wi_type_is_signed(args->from);
    if (to_float == is_float && weft_type_size(args->type) > weft_type_size(args->from) &&
        (is_float || to_signed || !is_signed))
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EARG,
                   "%s: y_type %s does not hold every %s; pass the same type, or a wider one that "
                   "does",
                   args->call, weft_type_name(args->type), weft_type_name(args->from));
}

static weft_status scan(weft_context *ctx, wi_scan_args args, const void *init) {
    wi_call call;
    wi_expr_program program;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    wi_call_begin(&call, args.call, 1, args.n);
    call.distributed = true;
    weft_status status = check_types(ctx, &args);
    if (status == WEFT_OK && args.from != args.type) {
        args.widen = &program;
        status = wi_expr_compile_conversion(ctx, args.call, args.from, args.type, &program);
    }
    if (status == WEFT_OK) {
        wi_call_add(&call, wi_elements("x", args.x, args.n, args.from, WI_IN | WI_STRIDED));
        wi_call_add(&call, wi_elements("y", args.y, args.n, args.type, WI_OUT))->in_place =
            args.widen ? 0 : 1u << X;
        wi_call_add(
            &call, wi_elements("total", args.total, 1, args.type, WI_OUT | WI_OPTIONAL | WI_WHOLE));
        status = wi_call_check(ctx, &call);
    }
    if (status == WEFT_OK &&
        wi_gpus_wanted(ctx, &wi_scan_ladder, args.x, args.n, weft_type_size(args.from)))
        return wi_gpus_run(ctx, &wi_scan_ladder, args.call, run_share, &(spread){&args, init});
    if (status == WEFT_OK && (args.n > 0 || args.total || wi_is_dist(ctx)))
        status = take_init(ctx, &args, init);
    if (wi_is_dist(ctx))
        return wi_dist_run(ctx, &wi_scan_ladder, args.call, args.type,
                           wi_alike(wi_alike(wi_alike(0, args.op), args.kind), args.from), status,
                           &(wi_dist_args){&call, &args});
    return status == WEFT_OK ? wi_scan_call_run(ctx, &call, &args) : status;
}

weft_status weft_scan(weft_context *ctx, weft_scan_kind kind, weft_op op, weft_type type, size_t n,
                      const void *x, void *y, const void *init) {
    const wi_scan_args args = {.call = "weft_scan",
                               .op = op,
                               .kind = kind,
                               .type = type,
                               .from = type,
                               .n = n,
                               .x = x,
                               .y = y};
    return scan(ctx, args, init);
}

weft_status weft_scan_wide(weft_context *ctx, weft_scan_kind kind, weft_op op, weft_type type,
                           size_t n, const void *x, weft_type y_type, void *y, const void *init,
                           void *total) {
    const wi_scan_args args = {.call = "weft_scan_wide",
                               .op = op,
                               .kind = kind,
                               .type = y_type,
                               .from = type,
                               .n = n,
                               .x = x,
                               .y = y,
                               .total = total};
    return scan(ctx, args, init);
}
