/* SPDX-License-Identifier: Apache-2.0 */
/* The public call of exact_scan: checks arguments, then runs the ladder on memory that the place
 * can access. */
#include "exact/exact_scan.h"

#include "comm/gpus.h"
#include "core/gpu.h"
#include "cpu/team.h"

static const char name[] = "weft_exact_scan";

/* ---- costs: of an AMD EPYC, and of an H200 ---- */

/* Bytes read and written, each once. */
static double bytes_of(const wi_exact_scan_args *call) {
    return 2 * (double)call->n * (double)weft_type_size(call->type);
}

static double serial_seconds(const weft_context *ctx, const void *args) {
    const wi_exact_scan_args *const call = args;
    return wi_team_seconds(ctx, 1, 1500 * (double)call->n, bytes_of(call));
}

static double threads_seconds(const weft_context *ctx, const void *args) {
    const wi_exact_scan_args *const call = args;
    const double call_cycles = 2000, cycles = call->type == WEFT_F64 ? 8 : 16;
    const size_t runs = (call->n + WI_RUN_MOST - 1) / WI_RUN_MOST;
    const int team = wi_team_size(ctx, runs, call->n * weft_type_size(call->type));
    return wi_team_seconds(ctx, team, call_cycles + (double)call->n * cycles, 1.5 * bytes_of(call));
}

#ifdef WEFT_CUDA
static const char *fits_one_pass(const weft_context *ctx, const void *args) {
    const wi_exact_scan_args *const call = args;
    if (ctx->gpu->capability < 90)
        return "needs a GPU of compute capability 9.0 or later: bulk copies";
    if ((uintptr_t)call->x % 16 != 0 || (uintptr_t)call->y % 16 != 0)
        return "needs x and y aligned to 16 bytes: bulk copies";
    return call->n < (size_t)1 << 31 ? NULL : "needs n < 2^31: its carries have room for so many";
}

static double bulk_seconds(const weft_context *ctx, const void *args) {
    const wi_machine *const m = wi_machine_of(ctx);
    return 6 * m->launch_s + bytes_of(args) / (0.25 * m->bytes_per_s);
}

static double lanes_seconds(const weft_context *ctx, const void *args) {
    const wi_machine *const m = wi_machine_of(ctx);
    return 6 * m->launch_s + bytes_of(args) / (0.65 * m->bytes_per_s);
}

static double wide_seconds(const weft_context *ctx, const void *args) {
    const wi_machine *const m = wi_machine_of(ctx);
    return 4 * m->launch_s + bytes_of(args) / (0.14 * m->bytes_per_s);
}
#endif

static const wi_row rows[] = {
    {.name = "serial",
     .what = "each element added to the digits of a wide integer, which is rounded",
     .kinds = WI_ON_CPU,
     .types = WI_FLOATS,
     .seconds = serial_seconds,
     .run = wi_exact_scan_serial},
    {.name = "threads",
     .what = "all cores; sums of their shares first, then folds whose sum rounds to the prefix",
     .kinds = WI_ON_CPU,
     .types = WI_FLOATS,
     .seconds = threads_seconds,
     .run = wi_exact_scan_threads},
#ifdef WEFT_CUDA
    {.name = "wide",
     .what = "wide integers: of all tiles, then of those before each, then every tile by folds",
     .kinds = WI_ON_CUDA,
     .types = WI_FLOATS,
     .seconds = wide_seconds,
     .run = wi_exact_scan_wide},
    {.name = "bulk",
     .what = "one pass; tiles look back at sums of 184 bits; wide does what does not fit these",
     .kinds = WI_ON_CUDA,
     .types = WI_FLOATS,
     .misfit = fits_one_pass,
     .seconds = bulk_seconds,
     .run = wi_exact_scan_bulk},
    {.name = "lanes",
     .what = "each lane has neighbouring elements, and knows early what comes before these",
     .kinds = WI_ON_CUDA,
     .types = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64),
     .misfit = fits_one_pass,
     .seconds = lanes_seconds,
     .run = wi_exact_scan_lanes},
#endif
    {.name = "ranks",
     .what = "the sums of the parts before, as integers; then every rank scans its own from there",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_FLOATS,
     .seconds = wi_no_rival,
     .run = wi_exact_scan_ranks},
};

const wi_ladder wi_exact_scan_ladder = {"exact_scan", rows, sizeof rows / sizeof rows[0]};

/* ---- the call ---- */

enum {
    X,
    Y
};

/* The words on the device alternate as input and output of the parts of a call. */
static weft_status take_carries(weft_context *ctx, wi_exact_scan_args *args, const wi_part *part) {
    static const char key;
    const size_t bytes = WI_EXACT_WORDS * sizeof(int64_t), turn = part->index % 2;
    void *carries;
    if (part->index == 0 && part->last)
        return WEFT_OK;
    const weft_status status = wi_gpu_scratch(ctx, &key, 2 * bytes, &carries);
    if (status != WEFT_OK)
        return status;
    if (part->index > 0)
        args->carry_in = (const int64_t *)carries + turn * WI_EXACT_WORDS;
    if (!part->last)
        args->carry_out = (int64_t *)carries + (1 - turn) * WI_EXACT_WORDS;
    return WEFT_OK;
}

static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_exact_scan_args args = *(const wi_exact_scan_args *)user;
    args.n = part->cols;
    args.x = part->p[X];
    args.y = part->p[Y];
    const weft_status status = take_carries(ctx, &args, part);
    return status == WEFT_OK ? wi_run(ctx, &wi_exact_scan_ladder, call->name, args.type, &args)
                             : status;
}

void wi_exact_scan_describe(const char *call_name, const wi_exact_scan_args *args, wi_call *call) {
    wi_call_begin(call, call_name, 1, args->n);
    call->distributed = true;
    wi_call_add(call, wi_elements("x", args->x, args->n, args->type, WI_IN));
    wi_call_add(call, wi_elements("y", args->y, args->n, args->type, WI_OUT))->in_place = 1u << X;
}

weft_status wi_exact_scan_call_run(weft_context *ctx, wi_call *call, wi_exact_scan_args *args) {
    return args->n > 0 ? wi_call_run(ctx, call, run, args) : WEFT_OK;
}

/* Puts init into args. A kernel reads it in device memory. */
static weft_status take_init(weft_context *ctx, wi_exact_scan_args *args, const void *init) {
    uint64_t element = 0;
    if (!init)
        return WEFT_OK;
    if (!wi_is_host(ctx, init)) {
        weft_status status = wi_check_array(ctx, name, "init", init, 1, args->type);
        if (status == WEFT_OK && wi_is_device(ctx, init) && !wi_is_dist(ctx)) {
            args->init = init;
            return WEFT_OK;
        }
        if (status == WEFT_OK)
            status = weft_copy(ctx, &element, init, weft_type_size(args->type));
        if (status != WEFT_OK)
            return status;
        init = &element;
    }
    wi_exact_add_f64(args->start, wi_exact_load(args->type, init, 0));
    args->start[WI_EXACT_COUNT] = 1;
    wi_exact_carry(args->start);
    return WEFT_OK;
}

/* A checked call on a place of several GPUs. */
typedef struct spread {
    const wi_exact_scan_args *args;
    const void *init;
} spread;

static weft_status run_share(weft_context *rank, void *user) {
    const spread *const s = user;
    const wi_exact_scan_args *const a = s->args;
    const size_t size = weft_type_size(a->type);
    const wi_share share = wi_gpus_share(rank, a->x, a->n, size);
    return weft_exact_scan(rank, a->kind, a->type, share.n, wi_share_of(a->x, share, size),
                           wi_share_of(a->y, share, size), s->init);
}

static weft_status check_kind(weft_context *ctx, weft_scan_kind kind) {
    if (kind == WEFT_INCLUSIVE || kind == WEFT_EXCLUSIVE)
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EARG,
                   "%s: kind %d is not a weft_scan_kind; pass WEFT_INCLUSIVE or WEFT_EXCLUSIVE",
                   name, (int)kind);
}

weft_status weft_exact_scan(weft_context *ctx, weft_scan_kind kind, weft_type type, size_t n,
                            const void *x, void *y, const void *init) {
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    wi_exact_scan_args args = {.kind = kind, .type = type, .n = n, .x = x, .y = y};
    wi_call call;
    weft_status status = wi_exact_check_float(ctx, name, "type", type);
    if (status == WEFT_OK)
        status = check_kind(ctx, kind);
    if (status == WEFT_OK) {
        wi_exact_scan_describe(name, &args, &call);
        status = wi_call_check(ctx, &call);
    }
    if (status == WEFT_OK && wi_gpus_wanted(ctx, &wi_exact_scan_ladder, x, n, weft_type_size(type)))
        return wi_gpus_run(ctx, &wi_exact_scan_ladder, name, run_share, &(spread){&args, init});
    if (status == WEFT_OK && (n > 0 || wi_is_dist(ctx)))
        status = take_init(ctx, &args, init);
    if (wi_is_dist(ctx))
        return wi_dist_run(ctx, &wi_exact_scan_ladder, name, type, wi_alike(0, kind), status,
                           &(wi_dist_args){&call, &args});
    return status == WEFT_OK ? wi_exact_scan_call_run(ctx, &call, &args) : status;
}
