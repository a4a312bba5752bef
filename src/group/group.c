/* SPDX-License-Identifier: Apache-2.0 */
/* The public call for segments, and the ladder that reduces them. */
#include "group/group.h"

#include <stdatomic.h>
#include <stdio.h>

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

#ifdef WEFT_CUDA
static double paths_seconds(const weft_context *ctx, const void *args) {
    const wi_machine *const m = wi_machine_of(ctx);
    return 3.5 * m->launch_s + wi_group_bytes(args) / (0.74 * m->bytes_per_s);
}

/* A multiprocessor starts 128 instructions of threads a cycle, of which six of ten are used if
 * there are many. */
static double seconds_starting(const wi_machine *m, double instructions) {
    return wi_seconds_working(m, instructions / (0.6 * 128), m->units);
}

/* Where warps have stretches, a call begins with searches and ends with the last block, which joins
 * what the others have left: 7.5 us of an H200 with the launch, which takes 3. */
static double records_seconds(const wi_machine *m) {
    return 2.5 * m->launch_s;
}

/* Segments of more than 128 elements are taken one after another, by a whole warp. */
static double stretches_seconds(const weft_context *ctx, const void *args) {
    const wi_group_args *const a = args;
    const wi_machine *const m = wi_machine_of(ctx);
    const double n = (double)a->n, segments = (double)a->segments;
    return records_seconds(m) + wi_group_bytes(a) / (1.05 * m->bytes_per_s) +
           seconds_starting(m, n > 128 * segments ? 1700 * segments : 150 * segments + 5 * n);
}

static const char *short_misfit(const weft_context *ctx, const void *args) {
    const wi_reduction op = ((const wi_group_args *)args)->op;
    (void)ctx;
    return op == WI_RED_SUM || op == WI_RED_MIN || op == WI_RED_MAX
               ? NULL
               : "is compiled for sums, minima and maxima";
}

/* Of segments of fewer than 14 bytes more end in a part than a warp has asked for, and it waits. A
 * multiprocessor is to hold two blocks, for which 9.0 has the shared memory. */
static double marks_seconds(const weft_context *ctx, const void *args) {
    const wi_group_args *const a = args;
    const wi_machine *const m = wi_machine_of(ctx);
    const double bytes = (double)a->n * (double)weft_type_size(a->type),
                 segments = (double)a->segments;
    const double share = ctx->gpu->capability < 90 ? 0.55 : 0.9,
                 each = bytes < 14 * segments ? 115 : 75;
    const double moving = wi_group_bytes(a) / (share * m->bytes_per_s),
                 working = seconds_starting(m, 13 * bytes / 4 + each * segments);
    return records_seconds(m) + (moving > working ? moving : working);
}

/* Lanes that are side by side read elements four segments apart, of which the first-level cache
 * keeps up to 14 bytes of each. */
static double lanes_seconds(const weft_context *ctx, const void *args) {
    const wi_group_args *const a = args;
    const wi_machine *const m = wi_machine_of(ctx);
    const double bytes = (double)a->n * (double)weft_type_size(a->type),
                 share = bytes > 14 * (double)a->segments ? 0.4 : 0.8;
    return records_seconds(m) + wi_group_bytes(a) / (share * m->bytes_per_s);
}

static const char *teams_misfit(const weft_context *ctx, const void *args) {
    (void)ctx;
    return wi_group_teams_fit(((const wi_group_args *)args)->n) ? NULL
                                                                : "needs fewer than 2^27 elements";
}

/* Blocks wait for nobody, but for memory: of each round of them, five on a multiprocessor, three
 * quarters of a launch. A block has 256 lanes, of which a segment has an eighth of its elements, or
 * a sixteenth; and there are some for what may be shared out. */
static double teams_seconds(const weft_context *ctx, const void *args) {
    const wi_machine *const m = wi_machine_of(ctx);
    const wi_group_args *const a = args;
    const double n = (double)a->n, mean = n / (double)a->segments,
                 lanes = mean < 64     ? 8
                         : mean < 256  ? mean / 8
                         : mean < 4096 ? mean / 16
                                       : 256,
                 blocks = lanes * (double)a->segments / 256 + n / (mean < 4096 ? 4096 : 16384),
                 bytes = wi_group_bytes(a);
    return m->launch_s * (1 + 0.75 * blocks / (5 * m->units)) +
           bytes / ((bytes > (double)m->cache_bytes ? 1 : 5) * m->bytes_per_s);
}
#endif

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
     .seconds = paths_seconds,
     .run = wi_group_paths},
    {.name = "stretches",
     .what = "a stretch of that path for each warp, added up from registers",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = stretches_seconds,
     .run = wi_group_stretches},
    {.name = "marks",
     .what = "the same, neighbours for each lane, and marks where segments end",
     .kinds = WI_ON_CUDA,
     .types = WI_TYPE(WEFT_I32) | WI_TYPE(WEFT_I64) | WI_TYPE(WEFT_U32) | WI_TYPE(WEFT_U64) |
              WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64),
     .misfit = short_misfit,
     .seconds = marks_seconds,
     .run = wi_group_marks},
    {.name = "lanes",
     .what = "the same, four segments for each lane, whose elements it reads where they lie",
     .kinds = WI_ON_CUDA,
     .types = WI_TYPE(WEFT_I32) | WI_TYPE(WEFT_I64) | WI_TYPE(WEFT_U32) | WI_TYPE(WEFT_U64) |
              WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64),
     .misfit = short_misfit,
     .seconds = lanes_seconds,
     .run = wi_group_lanes},
    {.name = "teams",
     .what = "a team of lanes for each segment; a tile of what is long for each block",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .misfit = teams_misfit,
     .seconds = teams_seconds,
     .run = wi_group_teams},
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

enum {
    OFFSET_BYTES = 24
};

/* Offset s as messages show it. */
static const char *offset_text(weft_type type, const void *offsets, size_t s,
                               char out[OFFSET_BYTES]) {
    const uint64_t offset = offset_at(offsets, weft_type_size(type), s);
    if (type == WEFT_I32 || type == WEFT_I64)
        snprintf(out, OFFSET_BYTES, "%lld",
                 type == WEFT_I32 ? (long long)(int32_t)offset : (long long)offset);
    else
        snprintf(out, OFFSET_BYTES, "%llu", (unsigned long long)offset);
    return out;
}

/* Checks offsets in host memory; those in device memory are not read here. */
static weft_status check_offsets(weft_context *ctx, const char *call, size_t n, size_t segments,
                                 weft_type offset_type, const void *offsets) {
    char from[OFFSET_BYTES], to[OFFSET_BYTES];
    const size_t bytes = weft_type_size(offset_type);
    if (segments == 0 || !wi_is_host(ctx, offsets))
        return WEFT_OK;
    falling f = {.offsets = offsets, .bytes = bytes, .segments = segments};
    atomic_init(&f.first, segments);
    wi_team_run(ctx, wi_team_size(ctx, segments, segments * bytes), find_fall, &f);
    const size_t s = atomic_load(&f.first);
    if (s < segments)
        return wi_fail(
            ctx, WEFT_EARG,
            "%s: offsets fall from %s to %s at segment %zu; pass offsets that never fall", call,
            offset_text(offset_type, offsets, s, from),
            offset_text(offset_type, offsets, s + 1, to), s);
    const uint64_t first = offset_at(offsets, bytes, 0), last = offset_at(offsets, bytes, segments);
    if (wi_is_dist(ctx) || (first == 0 && last == n)) /* over ranks they are those of the whole */
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EARG,
                   "%s: offsets run from %s to %s; the first must be 0 and the last n, %zu", call,
                   offset_text(offset_type, offsets, 0, from),
                   offset_text(offset_type, offsets, segments, to), n);
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

/* ---- the calls ---- */

/* The arrays of the description: x and y of each column, then the offsets. */
static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_group_request r = *(const wi_group_request *)user;
    void *room = NULL;
    weft_status status = WEFT_OK;
    for (size_t c = 0; c < r.columns; c++) {
        r.column[c].x = part->p[2 * c];
        r.column[c].y = part->p[2 * c + 1];
        r.column[c].starts = part->p[2 * r.columns];
    }
    if (r.columns > 1)
        status = wi_group_take_room(ctx, r.way, r.columns, r.column, &room);
    for (size_t c = 0; c < r.columns && status == WEFT_OK; c++) {
        wi_group_args *const a = &r.column[c];
        a->room = room;
        status = wi_run(ctx, r.way->ladder, call->name, a->type, a);
    }
    const weft_status given = wi_group_give(ctx, room);
    return status == WEFT_OK ? given : status;
}

/* Describes a call, and checks its arrays. */
static weft_status describe(weft_context *ctx, wi_call *call, wi_group_request *r) {
    const wi_group_args *const first = &r->column[0];
    for (size_t c = 0; c < r->columns; c++) {
        wi_group_args *const a = &r->column[c];
        a->start_bytes = weft_type_size(r->offset_type);
        wi_call_add(call, wi_elements(r->has_names ? "x" : wi_group_x_names[c], a->x, a->n, a->type,
                                      WI_IN));
        wi_call_add(call, wi_elements(r->has_names ? "y" : wi_group_y_names[c], a->y, a->segments,
                                      a->result_type, WI_OUT));
    }
    return wi_group_check_segments(ctx, call, first->n, first->segments, r->offset_type,
                                   first->starts);
}

static weft_status run_checked(weft_context *ctx, wi_call *call, wi_group_request *r) {
    return r->columns > 0 && r->column[0].segments > 0 ? wi_call_run(ctx, call, run, r) : WEFT_OK;
}

static weft_status run_share(weft_context *rank, void *user);

/* Offsets are searched and sent through host memory, so GPUs that hold x keep to one. */
static bool wants_gpus(weft_context *ctx, const wi_group_request *r) {
    const wi_group_args *const a = &r->column[0];
    if (r->columns == 0)
        return false;
    return wi_gpus_forced(ctx, r->way->ladder) ||
           (wi_gpus_wanted(ctx, r->way->ladder, a->x, a->n, weft_type_size(a->type)) &&
            wi_is_host(ctx, a->x));
}

/* What all ranks must pass alike. */
static uint64_t alike_of(const wi_group_request *r) {
    uint64_t alike = wi_alike(wi_alike(0, r->columns), r->offset_type);
    for (size_t c = 0; c < r->columns; c++)
        alike = wi_alike(wi_alike(wi_alike(alike, r->column[c].asked), r->column[c].type),
                         r->column[c].result_type);
    return alike;
}

weft_status wi_group_by_segment(weft_context *ctx, wi_group_request *r, weft_status status) {
    const wi_group_args *const a = &r->column[0];
    wi_call call;
    wi_call_begin(&call, a->call, 0, 0);
    call.distributed = true;
    if (status == WEFT_OK)
        status = describe(ctx, &call, r);
    if (status == WEFT_OK && wants_gpus(ctx, r))
        return wi_gpus_run(ctx, r->way->ladder, a->call, run_share, r);
    if (wi_is_dist(ctx))
        return wi_dist_run(ctx, r->way->ladder, a->call, a->type,
                           status == WEFT_OK ? alike_of(r) : 0, status, r);
    return status == WEFT_OK ? run_checked(ctx, &call, r) : status;
}

/* On a place of several GPUs: each has a share of the elements, and one of the segments, where the
 * first column's results lie. */
static weft_status run_share(weft_context *rank, void *user) {
    wi_group_request r = *(const wi_group_request *)user;
    const wi_group_args first = r.column[0];
    const wi_share of_x = wi_gpus_share(rank, first.x, first.n, weft_type_size(first.type));
    const wi_share of_y =
        wi_gpus_share(rank, first.y, first.segments, weft_type_size(first.result_type));
    for (size_t c = 0; c < r.columns; c++) {
        wi_group_args *const a = &r.column[c];
        a->n = of_x.n;
        a->x = wi_share_of(a->x, of_x, weft_type_size(a->type));
        a->segments = of_y.n;
        a->y = wi_share_of(a->y, of_y, weft_type_size(a->result_type));
        a->starts = wi_share_of(a->starts, of_y, a->start_bytes);
    }
    return wi_group_by_segment(rank, &r, WEFT_OK);
}

/* Both calls; the first column has their name, also if there is none. */
static weft_status reduce_segments(weft_context *ctx, wi_group_request *r, const char *name,
                                   const weft_column *column, size_t n, size_t segments,
                                   const void *offsets) {
    r->column[0].call = name;
    weft_status status = wi_group_check_columns(ctx, name, r->columns, column);
    if (status == WEFT_OK)
        status = wi_group_take_columns(ctx, name, r->columns, column, r->column);
    for (size_t c = 0; c < WEFT_COLUMNS; c++) {
        r->column[c].n = n;
        r->column[c].segments = segments;
        r->column[c].starts = offsets;
    }
    return wi_group_by_segment(ctx, r, status);
}

weft_status weft_reduce_segments(weft_context *ctx, weft_op op, weft_type type, size_t n,
                                 const void *x, size_t segments, weft_type offset_type,
                                 const void *offsets, void *y) {
    const weft_column column = {op, type, x, y};
    wi_group_request r = {
        .way = &wi_group_rounding, .offset_type = offset_type, .columns = 1, .has_names = true};
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    return reduce_segments(ctx, &r, "weft_reduce_segments", &column, n, segments, offsets);
}

weft_status weft_reduce_segments_columns(weft_context *ctx, size_t n, size_t segments,
                                         weft_type offset_type, const void *offsets, size_t columns,
                                         const weft_column *column) {
    wi_group_request r = {
        .way = &wi_group_rounding, .offset_type = offset_type, .columns = columns};
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    return reduce_segments(ctx, &r, "weft_reduce_segments_columns", column, n, segments, offsets);
}
