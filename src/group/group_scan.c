/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls that scan segments and runs of equal keys, and their ladder. */
#include "comm/gpus.h"
#include "core/gpu.h"
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

#ifdef WEFT_CUDA
/* Flags are made before `tiles`, and of what `bulk` does not compare itself. */
static double marking_seconds(const wi_machine *m, const wi_group_scan_args *a) {
    return 2 * m->launch_s + wi_seconds_moving(m, (double)a->n * (double)(a->width + 1));
}

static double tiles_seconds(const weft_context *ctx, const void *args) {
    const wi_machine *const m = wi_machine_of(ctx);
    const wi_group_scan_args *const a = args;
    const double bytes = (double)a->n * (3 * (double)weft_type_size(a->type) + 2);
    return 4 * m->launch_s + marking_seconds(m, a) + wi_seconds_moving(m, bytes) / 0.65;
}

/* Can `one_tile` compare the keys itself? */
static bool one_tile_compares_keys(const wi_group_scan_args *a) {
    return a->keys && wi_group_is_word(a->width, a->keys);
}

/* Can `bulk`? A tile's keys take 16 KiB. */
static bool compares_keys(const wi_group_scan_args *a) {
    const size_t w = a->width;
    return a->keys && (uintptr_t)a->keys % 16 == 0 &&
           (w == 1 || w == 2 || w == 4 || (w == 8 && weft_type_size(a->type) == 8));
}

static double bulk_seconds(const weft_context *ctx, const void *args) {
    const wi_machine *const m = wi_machine_of(ctx);
    const wi_group_scan_args *const a = args;
    const bool compares = compares_keys(a);
    const double read = compares ? (double)a->width : 1;
    const double bytes = (double)a->n * (2 * (double)weft_type_size(a->type) + read);
    return m->launch_s + wi_ring_seconds(m) + (compares ? 0 : marking_seconds(m, a)) +
           wi_seconds_moving(m, bytes) / 0.85;
}

/* What neither `bulk` nor `one_tile` does. */
static const char *common_misfit(const wi_group_scan_args *a) {
    if (weft_type_size(a->type) < 4)
        return "needs elements of 4 or 8 bytes";
    return a->op == WEFT_SUM || a->op == WEFT_MIN || a->op == WEFT_MAX
               ? NULL
               : "is compiled for sums, minima and maxima";
}

static const char *fits_one_tile(const weft_context *ctx, const void *args) {
    const wi_group_scan_args *const a = args;
    const char *const misfit = common_misfit(a);
    (void)ctx;
    return misfit || a->n <= WI_GROUP_ONE_TILE ? misfit : "needs at most 4096 elements";
}

/* A launch, and loads that wait. */
static double one_tile_seconds(const weft_context *ctx, const void *args) {
    const wi_machine *const m = wi_machine_of(ctx);
    const wi_group_scan_args *const a = args;
    return 1.5 * m->launch_s + (one_tile_compares_keys(a) ? 0 : marking_seconds(m, a)) +
           wi_seconds_moving(m, bytes_of(a)) / 0.6;
}

static const char *fits_bulk(const weft_context *ctx, const void *args) {
    const wi_group_scan_args *const a = args;
    const char *const misfit = common_misfit(a);
    if (ctx->gpu->capability < 90)
        return "needs a GPU of compute capability 9.0 or later: bulk copies";
    if (misfit)
        return misfit;
    return (uintptr_t)a->x % 16 != 0 || (uintptr_t)a->y % 16 != 0
               ? "needs x and y aligned to 16 bytes: bulk copies"
               : NULL;
}
#endif

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
     .seconds = tiles_seconds,
     .run = wi_group_scan_tiles},
    {.name = "bulk",
     .what = "keys and elements in one pass by bulk copies; tiles look back at what is open",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .misfit = fits_bulk,
     .seconds = bulk_seconds,
     .run = wi_group_scan_bulk},
    {.name = "one_tile",
     .what = "few elements, which one block has in registers",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .misfit = fits_one_tile,
     .seconds = one_tile_seconds,
     .run = wi_group_scan_one_tile},
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

/* Does the rung that the call will get compare keys itself? A forced one that cannot do the call is
 * refused here. */
static weft_status needs_heads(weft_context *ctx, const char *name, const wi_group_scan_args *a,
                               bool *needs) {
    const wi_row *row;
    const weft_status status = wi_choose_row(ctx, &wi_group_scan_ladder, name, a->type, a, &row);
    *needs = true;
#ifdef WEFT_CUDA
    if (status == WEFT_OK && row->run == wi_group_scan_bulk)
        *needs = !compares_keys(a);
    if (status == WEFT_OK && row->run == wi_group_scan_one_tile)
        *needs = !one_tile_compares_keys(a);
#endif
    return status;
}

static weft_status make_heads(weft_context *ctx, const char *name, const wi_group_scan_request *by,
                              void **heads) {
    const size_t n = by->scan.n;
    const weft_status status = wi_group_take(ctx, name, n, heads);
    if (status != WEFT_OK)
        return status;
    return by->has_keys ? wi_group_mark_keys(ctx, by->scan.keys, by->width, n, *heads)
                        : wi_group_mark_starts(ctx, &by->segments, *heads);
}

static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_group_scan_request by = *(const wi_group_scan_request *)user;
    void *heads = NULL;
    bool needs;
    by.segments.starts = part->p[DIVIDES];
    by.scan.x = part->p[X];
    by.scan.y = part->p[Y];
    by.scan.keys = by.has_keys ? part->p[DIVIDES] : NULL;
    by.scan.width = by.width;
    weft_status status = needs_heads(ctx, call->name, &by.scan, &needs);
    if (status == WEFT_OK && needs)
        status = make_heads(ctx, call->name, &by, &heads);
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
    return wi_gpus_forced(ctx, &wi_group_scan_ladder) ||
           (wi_gpus_wanted(ctx, &wi_group_scan_ladder, a->x, a->n, weft_type_size(a->type)) &&
            (r->has_keys || wi_is_host(ctx, a->x)));
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
