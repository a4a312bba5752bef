/* SPDX-License-Identifier: Apache-2.0 */
/* The public call for segments, and the ladder that reduces them. */
#include "group/group.h"

#include <stdatomic.h>

#include "comm/gpus.h"
#include "core/gpu.h"
#include "cpu/team.h"

/* ---- costs; README.md has the figures ---- */

double wi_group_bytes(const wi_group_args *a) {
    return (double)a->n * (double)weft_type_size(a->type) +
           (double)a->segments * (double)(a->start_bytes + weft_type_size(a->result_type));
}

int wi_group_team(const weft_context *ctx, const wi_group_args *a) {
    return wi_team_size(ctx, a->n + a->segments, (size_t)wi_group_bytes(a));
}

static double serial_seconds(const weft_context *ctx, const void *args) {
    const wi_group_args *const a = args;
    const double cycles = 4 * (double)a->n + 30 * (double)a->segments;
    return wi_team_seconds(ctx, 1, cycles, wi_group_bytes(a));
}

static double threads_seconds(const weft_context *ctx, const void *args) {
    const wi_group_args *const a = args;
    const double cycles = 500 + (double)a->n + 12 * (double)a->segments;
    return wi_team_seconds(ctx, wi_group_team(ctx, a), cycles, wi_group_bytes(a));
}

static const wi_row rows[] = {
    {.name = "serial",
     .what = "the loop you would write",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = serial_seconds,
     .run = wi_group_serial},
    {.name = "threads",
     .what = "as many elements and segments for each thread, lanes in long segments",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = threads_seconds,
     .run = wi_group_threads},
#ifdef WEFT_CUDA
#    if WEFT_LADDER
    {.name = "thread_each",
     .what = "a thread for each segment",
     .kinds = WI_ON_CUDA,
     .types = WI_TAUGHT_TYPES,
     .run = wi_group_thread_each},
    {.name = "warp_each",
     .what = "a warp for each segment",
     .kinds = WI_ON_CUDA,
     .types = WI_TAUGHT_TYPES,
     .run = wi_group_warp_each},
#    endif
    {.name = "paths",
     .what = "equal stretches of the path through elements and ends of segments",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_group_paths},
#endif
    {.name = "ranks",
     .what = "segments go to the ranks that have their elements; what crosses ranks is joined",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_group_ranks},
};

const wi_ladder wi_group_ladder = {"group", rows, sizeof rows / sizeof rows[0]};

/* ---- checks ---- */

static uint64_t offset_at(const void *offsets, size_t bytes, size_t s) {
    return wi_element_bits(offsets, bytes, s);
}

/* The arguments of the threads that check offsets. */
typedef struct falling {
    const void *offsets;
    size_t bytes, segments;
    atomic_size_t first; /* the first segment at which offsets fall; `segments`: none */
} falling;

static void find_fall(void *user, int rank, int size) {
    falling *const f = user;
    const size_t end = wi_team_share(f->segments, rank + 1, size);
    for (size_t s = wi_team_share(f->segments, rank, size); s < end; s++) {
        if (offset_at(f->offsets, f->bytes, s) <= offset_at(f->offsets, f->bytes, s + 1))
            continue;
        size_t known = atomic_load(&f->first);
        while (s < known && !atomic_compare_exchange_weak(&f->first, &known, s))
            continue;
        return;
    }
}

static weft_status check_count(weft_context *ctx, const char *call, size_t n, size_t segments) {
    if (segments == 0 && n > 0 && !wi_is_dist(ctx))
        return wi_fail(ctx, WEFT_EARG,
                       "%s: segments is 0, and n is %zu; pass offsets of segments that hold them",
                       call, n);
    if (segments < SIZE_MAX - n)
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EARG, "%s: %zu segments do not fit the address space", call, segments);
}

/* Checks offsets in host memory; those in device memory are not read here. */
static weft_status check_offsets(weft_context *ctx, const char *call, size_t n, size_t segments,
                                 weft_type offset_type, const void *offsets) {
    const size_t bytes = weft_type_size(offset_type);
    if (segments == 0 || !wi_is_host(ctx, offsets))
        return WEFT_OK;
    falling f = {.offsets = offsets, .bytes = bytes, .segments = segments};
    atomic_init(&f.first, segments);
    wi_team_run(ctx, wi_team_size(ctx, segments, segments * bytes), find_fall, &f);
    const size_t s = atomic_load(&f.first);
    if (s < segments)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: offsets fall from %llu to %llu at segment %zu; pass offsets that "
                       "never fall",
                       call, (unsigned long long)offset_at(offsets, bytes, s),
                       (unsigned long long)offset_at(offsets, bytes, s + 1), s);
    const uint64_t first = offset_at(offsets, bytes, 0), last = offset_at(offsets, bytes, segments);
    if (wi_is_dist(ctx) || (first == 0 && last == n)) /* over ranks they are those of the whole */
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EARG,
                   "%s: offsets run from %llu to %llu; the first must be 0 and the last n, %zu",
                   call, (unsigned long long)first, (unsigned long long)last, n);
}

weft_status wi_group_check_segments(weft_context *ctx, wi_call *call, size_t n, size_t segments,
                                    weft_type offset_type, const void *offsets) {
    if (wi_check_type(ctx, call->name, offset_type) != WEFT_OK ||
        wi_check_index_type(ctx, call->name, "offset_type", offset_type, n) != WEFT_OK ||
        check_count(ctx, call->name, n, segments) != WEFT_OK)
        return WEFT_EARG;
    wi_call_add(call, wi_elements("offsets", offsets, segments + (segments > 0), offset_type,
                                  WI_IN | WI_WHOLE));
    const weft_status status = wi_call_check(ctx, call);
    return status == WEFT_OK ? check_offsets(ctx, call->name, n, segments, offset_type, offsets)
                             : status;
}

/* ---- the call ---- */

enum {
    X,
    Y,
    OFFSETS
};

/* A checked call, and the ladder that makes its results. */
typedef struct by_segment {
    const wi_ladder *ladder;
    const wi_group_args *args;
} by_segment;

static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    const by_segment *const b = user;
    wi_group_args args = *b->args;
    args.x = part->p[X];
    args.y = part->p[Y];
    args.starts = part->p[OFFSETS];
    return wi_run(ctx, b->ladder, call->name, args.type, &args);
}

/* Describes a call, and checks its arrays. */
static weft_status describe(weft_context *ctx, wi_call *call, wi_group_args *a,
                            weft_type offset_type) {
    a->start_bytes = weft_type_size(offset_type);
    wi_call_add(call, wi_elements("x", a->x, a->n, a->type, WI_IN));
    wi_call_add(call, wi_elements("y", a->y, a->segments, a->result_type, WI_OUT));
    return wi_group_check_segments(ctx, call, a->n, a->segments, offset_type, a->starts);
}

static weft_status run_checked(weft_context *ctx, const wi_ladder *ladder, wi_call *call,
                               wi_group_args *a) {
    return a->segments > 0 ? wi_call_run(ctx, call, run, &(by_segment){ladder, a}) : WEFT_OK;
}

static weft_status run_share(weft_context *rank, void *user);

/* Offsets are searched and sent through host memory, so GPUs that hold x keep to one. */
static bool wants_gpus(weft_context *ctx, const wi_group_request *r) {
    const wi_group_args *const a = &r->args;
    return wi_gpus_forced(ctx, r->ladder) ||
           (wi_is_host(ctx, a->x) &&
            wi_gpus_wanted(ctx, r->ladder, a->x, a->n, weft_type_size(a->type)));
}

weft_status wi_group_by_segment(weft_context *ctx, wi_group_request *r, weft_status status) {
    wi_group_args *const a = &r->args;
    wi_call call;
    wi_call_begin(&call, a->call, 0, 0);
    call.distributed = true;
    if (status == WEFT_OK)
        status = describe(ctx, &call, a, r->offset_type);
    if (status == WEFT_OK && wants_gpus(ctx, r))
        return wi_gpus_run(ctx, r->ladder, a->call, run_share, r);
    if (wi_is_dist(ctx))
        return wi_dist_run(ctx, r->ladder, a->call, a->type,
                           wi_alike(wi_alike(wi_alike(0, r->op), r->offset_type), a->result_type),
                           status, r);
    return status == WEFT_OK ? run_checked(ctx, r->ladder, &call, a) : status;
}

/* On a place of several GPUs: each has a share of x, and one of the segments, where y lies. */
static weft_status run_share(weft_context *rank, void *user) {
    wi_group_request r = *(const wi_group_request *)user;
    wi_group_args *const a = &r.args;
    const size_t size = weft_type_size(a->type), width = weft_type_size(a->result_type);
    const wi_share of_x = wi_gpus_share(rank, a->x, a->n, size);
    const wi_share of_y = wi_gpus_share(rank, a->y, a->segments, width);
    a->n = of_x.n;
    a->x = wi_share_of(a->x, of_x, size);
    a->segments = of_y.n;
    a->y = wi_share_of(a->y, of_y, width);
    a->starts = wi_share_of(a->starts, of_y, a->start_bytes);
    return wi_group_by_segment(rank, &r, WEFT_OK);
}

weft_status weft_reduce_segments(weft_context *ctx, weft_op op, weft_type type, size_t n,
                                 const void *x, size_t segments, weft_type offset_type,
                                 const void *offsets, void *y) {
    wi_group_request r = {.ladder = &wi_group_ladder,
                          .pieces = &wi_group_rounded_pieces,
                          .args = {.call = "weft_reduce_segments",
                                   .type = type,
                                   .n = n,
                                   .segments = segments,
                                   .x = x,
                                   .starts = offsets,
                                   .y = y},
                          .op = op,
                          .offset_type = offset_type};
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    const weft_status status = wi_reduce_check_op(ctx, r.args.call, op, type, &r.args.op);
    if (status == WEFT_OK)
        r.args.result_type = wi_reduce_result_type(r.args.op, type);
    return wi_group_by_segment(ctx, &r, status);
}
