/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls that scan segments and runs of equal keys, and their ladder. */
#include "cpu/team.h"
#include "group/group.h"
#include "scan/scan.h"

/* ---- costs ---- */

static double bytes_of(const wi_group_scan_args *a) {
    return (double)a->n * (2 * (double)weft_type_size(a->type) + 1);
}

static double serial_seconds(const weft_context *ctx, const void *args) {
    const wi_group_scan_args *const a = args;
    return wi_team_seconds(ctx, 1, 5 * (double)a->n, bytes_of(a));
}

static double blocks_seconds(const weft_context *ctx, const void *args) {
    const wi_group_scan_args *const a = args;
    const int team = wi_team_size(ctx, a->n, a->n * weft_type_size(a->type));
    return wi_team_seconds(ctx, team, 200 + (team > 1 ? 7.0 : 4.5) * (double)a->n, bytes_of(a));
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
};

const wi_ladder wi_group_scan_ladder = {"group_scan", rows, sizeof rows / sizeof rows[0]};

/* ---- the calls ---- */

enum {
    X,
    Y,
    DIVIDES /* offsets or keys */
};

/* A call but for its arrays: segments, or keys of `width` bytes. */
typedef struct by_segment {
    wi_group_scan_args scan;
    wi_group_args segments;
    size_t width; /* 0: segments */
} by_segment;

static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    by_segment by = *(const by_segment *)user;
    const size_t n = by.scan.n;
    void *heads = NULL;
    weft_status status = wi_group_take(ctx, call->name, n, &heads);
    by.segments.starts = part->p[DIVIDES];
    if (status == WEFT_OK)
        status = by.width > 0 ? wi_group_mark_keys(ctx, part->p[DIVIDES], by.width, n, heads)
                              : wi_group_mark_starts(ctx, &by.segments, heads);
    by.scan.x = part->p[X];
    by.scan.y = part->p[Y];
    by.scan.heads = heads;
    if (status == WEFT_OK)
        status = wi_run(ctx, &wi_group_scan_ladder, call->name, by.scan.type, &by.scan);
    const weft_status freed = wi_group_give(ctx, heads);
    return status == WEFT_OK ? freed : status;
}

static void describe(wi_call *call, const char *name, weft_type type, size_t n, const void *x,
                     void *y) {
    wi_call_begin(call, name, 0, 0);
    wi_call_add(call, wi_elements("x", x, n, type, WI_IN));
    wi_call_add(call, wi_elements("y", y, n, type, WI_OUT))->in_place = 1u << X;
}

weft_status weft_scan_segments(weft_context *ctx, weft_scan_kind kind, weft_op op, weft_type type,
                               size_t n, const void *x, void *y, size_t segments,
                               weft_type offset_type, const void *offsets) {
    static const char name[] = "weft_scan_segments";
    by_segment by = {.scan = {.kind = kind, .op = op, .type = type, .n = n},
                     .segments = {.call = name, .n = n, .segments = segments}};
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = wi_scan_check(ctx, name, kind, op, type);
    if (status != WEFT_OK)
        return status;
    wi_call call;
    describe(&call, name, type, n, x, y);
    by.segments.start_bytes = weft_type_size(offset_type);
    status = wi_group_check_segments(ctx, &call, n, segments, offset_type, offsets);
    return status == WEFT_OK && n > 0 ? wi_call_run(ctx, &call, run, &by) : status;
}

weft_status weft_scan_by_key(weft_context *ctx, weft_scan_kind kind, weft_op op, weft_type type,
                             size_t n, size_t width, const void *keys, const void *x, void *y) {
    static const char name[] = "weft_scan_by_key";
    by_segment by = {.scan = {.kind = kind, .op = op, .type = type, .n = n}, .width = width};
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = wi_scan_check(ctx, name, kind, op, type);
    if (status == WEFT_OK && width == 0)
        status = wi_fail(ctx, WEFT_EARG, "%s: width is 0; pass the bytes of one key", name);
    if (status != WEFT_OK)
        return status;
    wi_call call;
    describe(&call, name, type, n, x, y);
    wi_call_add(&call, wi_items("keys", keys, n, width, WI_IN));
    status = wi_call_check(ctx, &call);
    return status == WEFT_OK && n > 0 ? wi_call_run(ctx, &call, run, &by) : status;
}
