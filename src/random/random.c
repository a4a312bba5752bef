/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of random and the ladder. */
#include "random/random.h"

#include "comm/gpus.h"
#include "core/call.h"
#include "cpu/team.h"

#define MADE_TYPES (WI_INTEGERS | WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64))

static double bytes_of(const wi_random_args *call) {
    return (double)call->n * (double)weft_type_size(call->type);
}

/* Cycles of one thread, as seen on a Xeon with AVX-512: of whole blocks, and of a block for each
 * element. */
static double cycles_of(const wi_random_args *call, double a_block, double more) {
    const unsigned each = wi_random_each(call->op, (unsigned)weft_type_size(call->type));
    const bool normal = call->op == WI_RANDOM_NORMAL_32 || call->op == WI_RANDOM_NORMAL_64;
    return (double)call->n * (a_block / each + (normal ? more : 0));
}

static double serial_seconds(const weft_context *ctx, const void *args) {
    const wi_random_args *const call = args;
    return wi_team_seconds(ctx, 1, (double)call->n * 60 + cycles_of(call, 0, 100), bytes_of(call));
}

static double threads_seconds(const weft_context *ctx, const void *args) {
    const wi_random_args *const call = args;
    const int team = wi_team_size(ctx, call->n, 4 * call->n * weft_type_size(call->type));
    return wi_team_seconds(ctx, team, 400 + cycles_of(call, 12, 20), bytes_of(call));
}

static const wi_row rows[] = {
    {.name = "serial",
     .what = "a block of the sequence for each element",
     .kinds = WI_ON_CPU,
     .types = MADE_TYPES,
     .seconds = serial_seconds,
     .run = wi_random_serial},
    {.name = "threads",
     .what = "all cores; many blocks at a time in vectors",
     .kinds = WI_ON_CPU,
     .types = MADE_TYPES,
     .seconds = threads_seconds,
     .run = wi_random_threads},
#ifdef WEFT_CUDA
#    if WEFT_LADDER
    {.name = "one_each",
     .what = "a thread makes a block for one element of it",
     .kinds = WI_ON_CUDA,
     .types = MADE_TYPES,
     .run = wi_random_one_each},
#    endif
    {.name = "block_each",
     .what = "a thread makes a block and stores all of it at once",
     .kinds = WI_ON_CUDA,
     .types = MADE_TYPES,
     .run = wi_random_block_each},
    {.name = "tiles",
     .what = "a block of threads makes one tile and ends: tiles are written in order",
     .kinds = WI_ON_CUDA,
     .types = MADE_TYPES,
     .seconds = wi_no_rival,
     .run = wi_random_tiles},
#endif
    {.name = "ranks",
     .what = "every rank makes its own part of the sequence",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = MADE_TYPES,
     .seconds = wi_no_rival,
     .run = wi_random_ranks},
};

const wi_ladder wi_random_ladder = {"random", rows, sizeof rows / sizeof rows[0]};

static weft_status run_part(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_random_args args = *(const wi_random_args *)user;
    args.n = part->cols;
    args.first += part->first;
    args.x = part->p[0];
    return wi_run(ctx, &wi_random_ladder, call->name, args.type, &args);
}

weft_status wi_random_call_run(weft_context *ctx, wi_call *call, wi_random_args *args) {
    while (args->bits < 64 && args->total > 0 && (args->total - 1) >> args->bits)
        args->bits++;
    return args->n == 0 ? WEFT_OK : wi_call_run(ctx, call, run_part, args);
}

/* A checked call, for the GPUs of a place that has several. */
typedef struct spread {
    const char *name;
    const wi_random_args *args;
} spread;

static weft_status run(weft_context *ctx, const char *name, wi_random_args *args,
                       weft_status status);

static weft_status run_share(weft_context *rank, void *user) {
    const spread *const s = user;
    const size_t size = weft_type_size(s->args->type);
    wi_random_args args = *s->args;
    const wi_share share = wi_gpus_share(rank, args.x, args.n, size);
    args.n = share.n;
    args.x = wi_share_of(args.x, share, size);
    return run(rank, s->name, &args, WEFT_OK);
}

/* What ranks must pass alike. */
static uint64_t alike_of(const wi_random_args *args) {
    const uint64_t what[] = {args->op, args->type, args->seed, args->first, args->low, args->span};
    return wi_alike_bytes(0, what, sizeof what);
}

static weft_status run(weft_context *ctx, const char *name, wi_random_args *args,
                       weft_status status) {
    wi_call call;
    wi_call_begin(&call, name, 1, args->n);
    call.distributed = true;
    if (status == WEFT_OK) {
        wi_call_add(&call, wi_elements("x", args->x, args->n, args->type, WI_OUT));
        status = wi_call_check(ctx, &call);
    }
    if (status == WEFT_OK &&
        wi_gpus_wanted(ctx, &wi_random_ladder, args->x, args->n, weft_type_size(args->type)))
        return wi_gpus_run(ctx, &wi_random_ladder, name, run_share, &(spread){name, args});
    if (wi_is_dist(ctx))
        return wi_dist_run(ctx, &wi_random_ladder, name, args->type, alike_of(args), status,
                           &(wi_dist_args){&call, args});
    return status == WEFT_OK ? wi_random_call_run(ctx, &call, args) : status;
}

static weft_status check(weft_context *ctx, const char *call, weft_type type) {
    return wi_check_context(ctx) == WEFT_OK ? wi_check_type(ctx, call, type) : WEFT_EARG;
}

static weft_status check_integer(weft_context *ctx, const char *call, weft_type type) {
    const weft_status status = check(ctx, call, type);
    if (status == WEFT_OK && wi_type_is_float(type))
        return wi_fail(ctx, WEFT_EUNSUPPORTED, "%s: type is %s; pass an integer type", call,
                       weft_type_name(type));
    return status;
}

static weft_status check_float(weft_context *ctx, const char *call, weft_type type) {
    const weft_status status = check(ctx, call, type);
    return status == WEFT_OK ? wi_check_wide_float(ctx, call, type) : status;
}

weft_status weft_random_bits(weft_context *ctx, weft_type type, size_t n, uint64_t seed,
                             uint64_t offset, void *x) {
    static const char name[] = "weft_random_bits";
    wi_random_args args = {
        .op = WI_RANDOM_BITS, .type = type, .n = n, .seed = seed, .first = offset, .x = x};
    return run(ctx, name, &args, check_integer(ctx, name, type));
}

/* An integer element with its sign or zeros in front. */
static uint64_t extended(weft_type type, const void *p) {
    const size_t size = weft_type_size(type);
    const unsigned unused = 64 - 8 * (unsigned)size;
    const uint64_t bits = wi_element_bits(p, size, 0);
    return wi_type_is_signed(type) ? (uint64_t)((int64_t)(bits << unused) >> unused) : bits;
}

static weft_status take_range(weft_context *ctx, const char *call, const void *low,
                              const void *high, wi_random_args *args) {
    if (!low || !high)
        return wi_fail(ctx, WEFT_EARG, "%s: %s is NULL; pass a pointer to one element", call,
                       low ? "high" : "low");
    const uint64_t from = extended(args->type, low), to = extended(args->type, high);
    if (wi_type_is_signed(args->type) ? (int64_t)from > (int64_t)to : from > to)
        return wi_fail(ctx, WEFT_EARG, "%s: low is greater than high; exchange them", call);
    args->low = from;
    args->span = to - from + 1;
    if (to - from <= UINT32_MAX) {
        args->op = WI_RANDOM_INTEGERS_32;
        args->refused = (uint64_t)UINT32_MAX + 1 - args->span;
        args->refused %= args->span;
    } else {
        args->op = WI_RANDOM_INTEGERS_64;
        args->refused = args->span ? (0 - args->span) % args->span : 0;
    }
    return WEFT_OK;
}

weft_status weft_random_integers(weft_context *ctx, weft_type type, size_t n, const void *low,
                                 const void *high, uint64_t seed, uint64_t offset, void *x) {
    static const char name[] = "weft_random_integers";
    wi_random_args args = {.type = type, .n = n, .seed = seed, .first = offset, .x = x};
    weft_status status = check_integer(ctx, name, type);
    if (status == WEFT_OK)
        status = take_range(ctx, name, low, high, &args);
    return run(ctx, name, &args, status);
}

weft_status weft_random_uniform(weft_context *ctx, weft_type type, size_t n, uint64_t seed,
                                uint64_t offset, void *x) {
    static const char name[] = "weft_random_uniform";
    const wi_random_op op = type == WEFT_F32 ? WI_RANDOM_UNIFORM_32 : WI_RANDOM_UNIFORM_64;
    wi_random_args args = {.op = op, .type = type, .n = n, .seed = seed, .first = offset, .x = x};
    return run(ctx, name, &args, check_float(ctx, name, type));
}

weft_status weft_random_normal(weft_context *ctx, weft_type type, size_t n, uint64_t seed,
                               uint64_t offset, void *x) {
    static const char name[] = "weft_random_normal";
    const wi_random_op op = type == WEFT_F32 ? WI_RANDOM_NORMAL_32 : WI_RANDOM_NORMAL_64;
    wi_random_args args = {.op = op, .type = type, .n = n, .seed = seed, .first = offset, .x = x};
    return run(ctx, name, &args, check_float(ctx, name, type));
}

weft_status weft_random_permutation(weft_context *ctx, weft_type type, size_t n, uint64_t seed,
                                    void *x) {
    static const char name[] = "weft_random_permutation";
    wi_random_args args = {
        .op = WI_RANDOM_PERMUTATION, .type = type, .n = n, .seed = seed, .total = n, .x = x};
    weft_status status = check_integer(ctx, name, type);
    if (status == WEFT_OK)
        status = wi_check_index_type(ctx, name, "type", type, n > 0 ? n - 1 : 0);
    const wi_random_words last = wi_random_block(seed, 0, UINT32_MAX);
    for (uint32_t k = 0; k < WI_RANDOM_ROUNDS; k++)
        args.key[k] = wi_random_block(seed, k / 4, UINT32_MAX - 1).at[k % 4];
    args.swap = last.at[0] & 1;
    if (n <= WI_RANDOM_SMALL && !wi_is_dist(ctx))
        args.op = WI_RANDOM_SMALL_PERMUTATION;
    return run(ctx, name, &args, status);
}
