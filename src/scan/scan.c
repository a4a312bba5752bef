/* SPDX-License-Identifier: Apache-2.0 */
/* The public call of scan: checks arguments, then runs the ladder on memory that the place can
 * access. */
#include "scan/scan.h"

#include <math.h>
#include <string.h>

#include "comm/gpus.h"
#include "core/call.h"
#include "core/gpu.h"
#include "cpu/team.h"

static const char name[] = "weft_scan";

enum {
    CARRY_BYTES = 8
};

#ifdef WEFT_CUDA
#    if WEFT_LADDER
static const char *fits_1024(const weft_context *ctx, const void *args) {
    (void)ctx;
    return ((const wi_scan_args *)args)->n <= 1024
               ? NULL
               : "needs n <= 1024: it works in one block, one thread for one element";
}

static const char *fits_2048(const weft_context *ctx, const void *args) {
    (void)ctx;
    return ((const wi_scan_args *)args)->n <= 2048
               ? NULL
               : "needs n <= 2048: it works in one block, one thread for two elements";
}
#    endif

static const char *fits_bulk(const weft_context *ctx, const void *args) {
    const wi_scan_args *call = args;
    if (ctx->gpu->capability < 90)
        return "needs a GPU of compute capability 9.0 or later: bulk copies";
    if ((uintptr_t)call->x % 16 != 0 || (uintptr_t)call->y % 16 != 0)
        return "needs x and y aligned to 16 bytes: bulk copies";
    return NULL;
}
#endif

/* ---- costs: of an AMD EPYC with AVX2, and of an H200; README.md has the figures ---- */

/* Bytes read and written, each once. */
static double bytes_of(const wi_scan_args *call) {
    return 2 * (double)call->n * (double)weft_type_size(call->type);
}

static double serial_seconds(const weft_context *ctx, const void *args) {
    const wi_scan_args *const call = args;
    const bool is_half = WI_HALF_FLOATS >> call->type & 1;
    const double cycles = is_half ? 21 : wi_type_is_float(call->type) ? 2.9 : 1.15;
    const double y_is_read = 1.5; /* lines of the output are fetched before they are written */
    return wi_team_seconds(ctx, 1, (double)call->n * cycles, bytes_of(call) * y_is_read);
}

static double blocked_seconds(const weft_context *ctx, const void *args) {
    const wi_scan_args *const call = args;
    const size_t size = weft_type_size(call->type);
    const double call_cycles = 400, n = (double)call->n;
    const double cycles = (0.2 + 0.2 * (double)size) * wi_narrower(wi_machine_of(ctx));
    const int team = wi_team_size(ctx, call->n, call->n * size);
    return wi_team_seconds(ctx, team, call_cycles + n * cycles, bytes_of(call));
}

#ifdef WEFT_CUDA
static double lookback_seconds(const weft_context *ctx, const void *args) {
    const wi_machine *const m = wi_machine_of(ctx);
    return m->launch_s + bytes_of(args) / (0.67 * m->bytes_per_s);
}

static double bulk_seconds(const weft_context *ctx, const void *args) {
    const wi_machine *const m = wi_machine_of(ctx);
    return m->launch_s + wi_ring_seconds(m) + bytes_of(args) / (0.95 * m->bytes_per_s);
}
#endif

static const wi_row rows[] = {
    {.name = "serial",
     .what = "the loop you would write",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = serial_seconds,
     .run = wi_scan_serial},
    {.name = "blocked",
     .what = "cache-sized blocks: totals first, then the scan from cache",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = blocked_seconds,
     .run = wi_scan_blocked},
#ifdef WEFT_CUDA
#    if WEFT_LADDER
    {.name = "all_prefixes",
     .what = "every output combines its whole prefix",
     .kinds = WI_ON_CUDA,
     .types = WI_TAUGHT_TYPES,
     .run = wi_scan_all_prefixes},
    {.name = "doubling",
     .what = "step-doubling in global memory",
     .kinds = WI_ON_CUDA,
     .types = WI_TAUGHT_TYPES,
     .run = wi_scan_doubling},
    {.name = "doubling_shared",
     .what = "step-doubling in shared memory, one block",
     .kinds = WI_ON_CUDA,
     .types = WI_TAUGHT_TYPES,
     .misfit = fits_1024,
     .run = wi_scan_doubling_shared},
    {.name = "two_sweep",
     .what = "work-efficient up and down a tree in shared memory",
     .kinds = WI_ON_CUDA,
     .types = WI_TAUGHT_TYPES,
     .misfit = fits_2048,
     .run = wi_scan_two_sweep},
    {.name = "two_sweep_padded",
     .what = "the same, padded against bank conflicts",
     .kinds = WI_ON_CUDA,
     .types = WI_TAUGHT_TYPES,
     .misfit = fits_2048,
     .run = wi_scan_two_sweep_padded},
    {.name = "three_pass",
     .what = "tile totals, their scan, then every tile",
     .kinds = WI_ON_CUDA,
     .types = WI_TAUGHT_TYPES,
     .run = wi_scan_three_pass},
#    endif
    {.name = "lookback",
     .what = "one pass; tiles look back at their neighbours' totals",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = lookback_seconds,
     .run = wi_scan_lookback},
    {.name = "bulk",
     .what = "asynchronous bulk copies, several tiles in flight, persistent blocks",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .misfit = fits_bulk,
     .seconds = bulk_seconds,
     .run = wi_scan_bulk},
#endif
    {.name = "ranks",
     .what = "the totals of all ranks' parts, then every rank scans its own from there",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_scan_ranks},
};

const wi_ladder wi_scan_ladder = {"scan", rows, sizeof rows / sizeof rows[0]};

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

uint64_t wi_scan_carry_of_double(double value) {
    uint64_t carry;
    memcpy(&carry, &value, sizeof carry);
    return carry;
}

/* An element in the form of a carry: f64 for floats, else extended to 64 bits by sign or zero. */
uint64_t wi_scan_carry_of(weft_type type, const void *element) {
    union {
        uint64_t bits;
        weft_f16 f16;
        weft_bf16 bf16;
        float f32;
        double f64;
    } value = {0};
    size_t size = weft_type_size(type);
    memcpy(&value, element, size);
    switch (type) {
    case WEFT_F16:
        return wi_scan_carry_of_double(weft_f16_to_float(value.f16));
    case WEFT_BF16:
        return wi_scan_carry_of_double(weft_bf16_to_float(value.bf16));
    case WEFT_F32:
        return wi_scan_carry_of_double(value.f32);
    case WEFT_F64:
        return wi_scan_carry_of_double(value.f64);
    default:
        break;
    }
    unsigned unused = 64 - 8 * (unsigned)size;
    if (wi_type_is_signed(type))
        return (uint64_t)((int64_t)(value.bits << unused) >> unused);
    return value.bits;
}

static uint64_t float_identity(weft_op op) {
    switch (op) {
    case WEFT_PRODUCT:
        return wi_scan_carry_of_double(1);
    case WEFT_MIN:
        return wi_scan_carry_of_double(INFINITY);
    case WEFT_MAX:
        return wi_scan_carry_of_double(-INFINITY);
    default:
        return wi_scan_carry_of_double(0);
    }
}

static uint64_t integer_identity(weft_op op, weft_type type) {
    unsigned bits = 8 * (unsigned)weft_type_size(type);
    bool is_signed = wi_type_is_signed(type);
    uint64_t ones = UINT64_MAX >> (64 - bits);
    switch (op) {
    case WEFT_PRODUCT:
        return 1;
    case WEFT_MIN:
        return is_signed ? ones >> 1 : ones;
    case WEFT_MAX:
        return is_signed ? ~(ones >> 1) : 0;
    case WEFT_AND:
        return is_signed ? UINT64_MAX : ones;
    default:
        return 0;
    }
}

uint64_t wi_scan_identity(weft_op op, weft_type type) {
    return wi_type_is_float(type) ? float_identity(op) : integer_identity(op, type);
}

/* Sets init or carry_in from the caller's element. An 8-byte element in device memory already has
 * the form of a carry, and the kernel reads it there; a shorter one is copied to the host, which
 * waits for the stream. */
static weft_status take_init(weft_context *ctx, wi_scan_args *args, const void *init) {
    if (!init) {
        args->init = wi_scan_identity(args->op, args->type);
        return WEFT_OK;
    }
    size_t size = weft_type_size(args->type);
    if (wi_is_host(ctx, init)) {
        args->init = wi_scan_carry_of(args->type, init);
        return WEFT_OK;
    }
    weft_status status = wi_check_array(ctx, name, "init", init, 1, args->type);
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
    Y
};

/* Two carries on the device alternate as input and output of the parts of a call. */
static weft_status take_carries(weft_context *ctx, wi_scan_args *args, const wi_part *part) {
    static const char key;
    void *carries;
    if (part->index == 0 && part->last)
        return WEFT_OK;
    const weft_status status = wi_gpu_scratch(ctx, &key, (size_t)2 * CARRY_BYTES, &carries);
    if (status != WEFT_OK)
        return status;
    const size_t turn = part->index % 2;
    if (part->index > 0)
        args->carry_in = (char *)carries + turn * CARRY_BYTES;
    if (!part->last)
        args->carry_out = (char *)carries + (1 - turn) * CARRY_BYTES;
    return WEFT_OK;
}

static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_scan_args args = *(const wi_scan_args *)user;
    args.n = part->cols;
    args.x = part->p[X];
    args.y = part->p[Y];
    const weft_status status = take_carries(ctx, &args, part);
    return status == WEFT_OK ? wi_run(ctx, &wi_scan_ladder, call->name, args.type, &args) : status;
}

weft_status wi_scan_call_run(weft_context *ctx, wi_call *call, wi_scan_args *args) {
    return args->n > 0 ? wi_call_run(ctx, call, run, args) : WEFT_OK;
}

/* A checked call on a place of several GPUs. */
typedef struct spread {
    const wi_scan_args *args;
    const void *init;
} spread;

static weft_status run_share(weft_context *rank, void *user) {
    const spread *const s = user;
    const wi_scan_args *const a = s->args;
    const size_t size = weft_type_size(a->type);
    const wi_share share = wi_gpus_share(rank, a->x, a->n, size);
    return weft_scan(rank, a->kind, a->op, a->type, share.n, wi_share_of(a->x, share, size),
                     wi_share_of(a->y, share, size), s->init);
}

weft_status weft_scan(weft_context *ctx, weft_scan_kind kind, weft_op op, weft_type type, size_t n,
                      const void *x, void *y, const void *init) {
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    wi_scan_args args = {.op = op, .kind = kind, .type = type, .n = n, .x = x, .y = y};
    wi_call call;
    wi_call_begin(&call, name, 1, n);
    wi_call_add(&call, wi_elements("x", x, n, type, WI_IN));
    wi_call_add(&call, wi_elements("y", y, n, type, WI_OUT))->in_place = 1u << X;
    call.distributed = true;
    weft_status status = wi_scan_check(ctx, name, kind, op, type);
    if (status == WEFT_OK)
        status = wi_call_check(ctx, &call);
    if (status == WEFT_OK && wi_gpus_wanted(ctx, &wi_scan_ladder, x, n, weft_type_size(type)))
        return wi_gpus_run(ctx, &wi_scan_ladder, name, run_share, &(spread){&args, init});
    if (status == WEFT_OK && (n > 0 || wi_is_dist(ctx)))
        status = take_init(ctx, &args, init);
    if (wi_is_dist(ctx))
        return wi_dist_run(ctx, &wi_scan_ladder, name, type, wi_alike(wi_alike(0, op), kind),
                           status, &(wi_dist_args){&call, &args});
    return status == WEFT_OK ? wi_scan_call_run(ctx, &call, &args) : status;
}
