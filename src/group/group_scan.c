/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls that scan segments and runs of equal keys, and their ladder. */
#include "comm/gpus.h"
#include "cpu/team.h"
#include "group/group.h"
#include "scan/scan.h"

/* ---- costs ---- */

static double bytes_of(const wi_group_scan_args *a) {
    return (double)a->n * (2 * (double)weft_type_size(a->type) + 1);
}

static double serial_seconds(const weft_context *ctx, const void *args) {
    const wi_group_scan_args *const a = args;
    return wi_team_seconds(ctx, 1, 3.2 * (double)a->n, bytes_of(a));
}

static double blocks_seconds(const weft_context *ctx, const void *args) {
    const wi_group_scan_args *const a = args;
    const int team = wi_team_size(ctx, a->n, a->n * weft_type_size(a->type));
    return wi_team_seconds(ctx, team, 200 + (team > 1 ? 6.2 : 4.5) * (double)a->n, bytes_of(a));
}

static const wi_row rows[] = {
    {.name = "serial",
     .what = "the loop you would write",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = serial_seconds,
     .run = wi_group_scan_serial},
    {.name = "blocks",
     .what = "what each block leaves open, carried on, then every block by itself",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = blocks_seconds,
     .run = wi_group_scan_blocks},
#ifdef WEFT_CUDA
    {.name = "tiles",
     .what = "what each tile leaves open, carried on, then every tile by itself",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_group_scan_tiles},
#endif
    {.name = "ranks",
     .what = "every rank its own segments, from what those before leave open",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_group_scan_ranks},
};

const wi_ladder wi_group_scan_ladder = {"group_scan", rows, sizeof rows / sizeof rows[0]};

/* ---- the calls ---- */

enum {
    X,
    Y,
    DIVIDES /* offsets or keys */
};

static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_group_scan_request by = *(const wi_group_scan_request *)user;
    const size_t n = by.scan.n;
    void *heads = NULL;
    weft_status status = wi_group_take(ctx, call->name, n, &heads);
    by.segments.starts = part->p[DIVIDES];
    if (status == WEFT_OK)
        status = by.has_keys ? wi_group_mark_keys(ctx, part->p[DIVIDES], by.width, n, heads)
                             : wi_group_mark_starts(ctx, &by.segments, heads);
    by.scan.x = part->p[X];
    by.scan.y = part->p[Y];
    by.scan.heads = heads;
    if (status == WEFT_OK)
        status = wi_run(ctx, &wi_group_scan_ladder, call->name, by.scan.type, &by.scan);
    const weft_status freed = wi_group_give(ctx, heads);
    return status == WEFT_OK ? freed : status;
}

static weft_status run_share(weft_context *rank, void *user);

/* Segments as weft_reduce_segments; keys stay where they are. */
static bool wants_gpus(weft_context *ctx, const wi_group_scan_request *r) {
    const wi_group_scan_args *const a = &r->scan;
    const bool near = r->has_keys || wi_is_host(ctx, a->x);
    return wi_gpus_forced(ctx, &wi_group_scan_ladder) ||
           (near &&
            wi_gpus_wanted(ctx, &wi_group_scan_ladder, a->x, a->n, weft_type_size(a->type)));
}

static weft_status scan(weft_context *ctx, wi_group_scan_request by) {
    const wi_group_scan_args *const a = &by.scan;
    const char *const name = by.segments.call;
    wi_call call;
    wi_call_begin(&call, name, 0, 0);
    call.distributed = true;
    weft_status status = wi_scan_check(ctx, name, a->kind, a->op, a->type);
    if (status == WEFT_OK && by.has_keys && by.width == 0)
        status = wi_fail(ctx, WEFT_EARG, "%s: width is 0; pass the bytes of one key", name);
    by.segments.start_bytes = weft_type_size(by.offset_type);
    if (status == WEFT_OK) {
        wi_call_add(&call, wi_elements("x", a->x, a->n, a->type, WI_IN));
        wi_call_add(&call, wi_elements("y", a->y, a->n, a->type, WI_OUT))->in_place = 1u << X;
        if (by.has_keys)
            wi_call_add(&call, wi_items("keys", by.keys, a->n, by.width, WI_IN));
        status = by.has_keys ? wi_call_check(ctx, &call)
                             : wi_group_check_segments(ctx, &call, a->n, by.segments.segments,
                                                       by.offset_type, by.segments.starts);
    }
    if (status == WEFT_OK && wants_gpus(ctx, &by))
        return wi_gpus_run(ctx, &wi_group_scan_ladder, name, run_share, &by);
    if (wi_is_dist(ctx))
        return wi_dist_run(
            ctx, &wi_group_scan_ladder, name, a->type,
            wi_alike(wi_alike(wi_alike(wi_alike(0, a->kind), a->op), by.width), by.offset_type),
            status, &by);
    return status == WEFT_OK && a->n > 0 ? wi_call_run(ctx, &call, run, &by) : status;
}

/* On a place of several GPUs: each has a share of x, y and keys, and one of the segments. */
static weft_status run_share(weft_context *rank, void *user) {
    wi_group_scan_request r = *(const wi_group_scan_request *)user;
    const size_t size = weft_type_size(r.scan.type);
    const wi_share share = wi_gpus_share(rank, r.scan.x, r.scan.n, size);
    const wi_share own =
        wi_gpus_share(rank, r.segments.starts, r.segments.segments, r.segments.start_bytes);
    r.scan.n = r.segments.n = share.n;
    r.scan.x = wi_share_of(r.scan.x, share, size);
    r.scan.y = wi_share_of(r.scan.y, share, size);
    r.keys = wi_share_of(r.keys, share, r.width);
    r.segments.segments = own.n;
    r.segments.starts = wi_share_of(r.segments.starts, own, r.segments.start_bytes);
    return scan(rank, r);
}

weft_status weft_scan_segments(weft_context *ctx, weft_scan_kind kind, weft_op op, weft_type type,
                               size_t n, const void *x, void *y, size_t segments,
                               weft_type offset_type, const void *offsets) {
    static const char name[] = "weft_scan_segments";
    const wi_group_scan_request by = {
        .scan = {.kind = kind, .op = op, .type = type, .n = n, .x = x, .y = y},
        .segments = {.call = name, .n = n, .segments = segments, .starts = offsets},
        .offset_type = offset_type};
    return wi_check_context(ctx) == WEFT_OK ? scan(ctx, by) : WEFT_EARG;
}

weft_status weft_scan_by_key(weft_context *ctx, weft_scan_kind kind, weft_op op, weft_type type,
                             size_t n, size_t width, const void *keys, const void *x, void *y) {
    static const char name[] = "weft_scan_by_key";
    const wi_group_scan_request by = {
        .scan = {.kind = kind, .op = op, .type = type, .n = n, .x = x, .y = y},
        .segments = {.call = name},
        .has_keys = true,
        .width = width,
        .keys = keys};
    return wi_check_context(ctx) == WEFT_OK ? scan(ctx, by) : WEFT_EARG;
}
