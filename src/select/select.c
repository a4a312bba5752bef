/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of select: check each argument, and translate the call into one of the three
 * jobs that all rungs do. */
#include "select/select.h"

#include <string.h>

#include "comm/gpus.h"
#include "core/gpu.h"
#include "cpu/team.h"

#ifdef WEFT_CUDA
#    if WEFT_LADDER
static const char *fits_three_kernels(const weft_context *ctx, const void *args) {
    const wi_select_args *call = args;
    (void)ctx;
    if (call->job != WI_SELECT_KEEP || call->unique || call->rest || call->rest_follows ||
        call->positions || call->x != call->tested || call->unit < 4)
        return "teaches weft_select of elements of 4 and 8 bytes only";
    if (call->kept == call->x)
        return "needs y apart from x: blocks that gather would write where others have yet to read";
    return call->n > UINT32_MAX ? "needs n < 2^32: it counts in u32" : NULL;
}
#    endif

static const char *fits_bulk(const weft_context *ctx, const void *args) {
    const wi_select_args *call = args;
    if (ctx->gpu->capability < 90)
        return "needs a GPU of compute capability 9.0 or later: bulk copies";
    if (call->job == WI_SELECT_EXPAND)
        return "does not expand: what it would read depends on the count so far";
    if (call->moves && call->units > 1)
        return "needs elements of 1, 2, 4, 8 or 16 bytes, aligned to as many";
    if ((uintptr_t)call->tested % 16 != 0 || (uintptr_t)call->x % 16 != 0)
        return "needs inputs aligned to 16 bytes: bulk copies";
    return NULL;
}
#endif

/* ---- costs: of an AMD EPYC with AVX2, and of an H200; README.md has the figures ---- */

static double serial_seconds(const weft_context *ctx, const void *args) {
    const double cycles = 9; /* many branches are mistaken */
    return wi_team_seconds(ctx, 1, (double)((const wi_select_args *)args)->n * cycles, 0);
}

static double threads_seconds(const weft_context *ctx, const void *args) {
    const wi_select_args *const call = args;
    const double call_cycles = 700, cycles = 2;
    const int team = wi_team_size(ctx, call->n, call->n * call->tested_bytes);
    return wi_team_seconds(ctx, team, call_cycles + (double)call->n * cycles, 0);
}

#ifdef WEFT_CUDA
/* Bytes read and written if half of the elements are kept. */
static double bytes_of(const wi_select_args *call) {
    const double width = call->moves ? (double)(call->unit * call->units) : 0;
    const double written = call->rest || call->rest_follows ? width : width / 2;
    const double tested = call->x == call->tested ? 0 : (double)call->tested_bytes;
    const double positions = call->positions ? (double)call->position_bytes / 2 : 0;
    return (double)call->n * (tested + width + written + positions);
}

static double lookback_seconds(const weft_context *ctx, const void *args) {
    const wi_machine *const m = wi_machine_of(ctx);
    return m->launch_s + bytes_of(args) / (0.555 * m->bytes_per_s);
}

static double bulk_seconds(const weft_context *ctx, const void *args) {
    const wi_machine *const m = wi_machine_of(ctx);
    return m->launch_s + wi_ring_seconds(m) + bytes_of(args) / (0.82 * m->bytes_per_s);
}
#endif

static const wi_row rows[] = {
    {.name = "serial",
     .what = "the loop you would write",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = serial_seconds,
     .run = wi_select_serial},
    {.name = "threads",
     .what = "blocks packed in cache, vectors, one pass over memory",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = threads_seconds,
     .run = wi_select_threads},
#ifdef WEFT_CUDA
#    if WEFT_LADDER
    {.name = "three_kernels",
     .what = "predicate, scan, gather",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .misfit = fits_three_kernels,
     .run = wi_select_three_kernels},
#    endif
    {.name = "lookback",
     .what = "one pass; tiles look back at their neighbours' counts",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = lookback_seconds,
     .run = wi_select_lookback},
    {.name = "bulk",
     .what = "asynchronous bulk copies, several tiles in flight, persistent blocks",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .misfit = fits_bulk,
     .seconds = bulk_seconds,
     .run = wi_select_bulk},
#endif
    {.name = "ranks",
     .what = "every rank selects from its own part",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_select_ranks},
};

const wi_ladder wi_select_ladder = {"select", rows, sizeof rows / sizeof rows[0]};

/* ---- checks ---- */

static weft_status check_predicate(weft_context *ctx, const char *call, const weft_predicate *p) {
    if ((unsigned)p->test >= WEFT_TEST_COUNT)
        return wi_fail(
            ctx, WEFT_EARG,
            "%s: test %d of the predicate is not a weft_test; pass WEFT_EQ ... WEFT_IS_NAN", call,
            (int)p->test);
    return wi_check_type(ctx, call, p->type);
}

weft_status wi_select_check_width(weft_context *ctx, const char *call, size_t width) {
    if (width > 0)
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EARG, "%s: width is 0; pass the bytes of one element", call);
}

weft_status wi_select_check_begin(weft_context *ctx, const char *call, const weft_predicate *p) {
    return wi_check_context(ctx) == WEFT_OK ? check_predicate(ctx, call, p) : WEFT_EARG;
}

/* Over ranks, that all outputs are a part of the whole output. */
static weft_status check_whole(weft_context *ctx, const wi_call *call, const wi_select_args *args) {
    if (!wi_is_dist(ctx) || !args->rest_follows)
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EUNSUPPORTED,
                   "%s: z is NULL, and over ranks the rest cannot follow in y, of which every rank "
                   "has a part; pass z",
                   call->name);
}

/* ---- the calls ---- */

wi_select_args wi_select_args_of(const weft_predicate *p, size_t n) {
    return (wi_select_args){.n = n,
                            .tested_bytes = weft_type_size(p->type),
                            .range = wi_select_range_of(p),
                            .unit = 1,
                            .units = 1};
}

static wi_array count_of(uint64_t *count) {
    return wi_elements("count", count, 1, WEFT_U64, WI_OUT);
}

static weft_status check_and_run(weft_context *ctx, const char *name, wi_call *call,
                                 wi_select_args *args, weft_type index_type, weft_status status);

/* A checked call on a place of several GPUs. */
typedef struct spread {
    const char *name;
    const wi_call *call;
    const wi_select_args *args;
    weft_type index_type;
} spread;

/* The outputs, of which this rank first writes its own to `own`. */
enum {
    OUTPUTS = 3
};
static const int outputs[OUTPUTS] = {WI_SELECT_Y, WI_SELECT_Z, WI_SELECT_POSITIONS};

/* Makes `call` that of this rank's share, with outputs in memory of its own; but the first rank's
 * have their place already. */
static weft_status take_share(weft_context *rank, const spread *s, wi_call *call,
                              wi_select_args *args, void *own[OUTPUTS]) {
    const wi_array *const tested = &s->call->array[WI_SELECT_S];
    const wi_share share = wi_gpus_share(rank, tested->p, tested->cols, tested->width);
    weft_status status = WEFT_OK;
    args->n = share.n;
    for (int k = 0; k < WI_SELECT_ARRAYS; k++) {
        wi_array *const a = &call->array[k];
        if (k == WI_SELECT_COUNT || a->cols != tested->cols)
            continue;
        a->p = wi_share_of(a->p, share, a->width);
        a->cols = a->ld = share.n;
    }
    for (int k = 0; k < OUTPUTS && status == WEFT_OK; k++) {
        wi_array *const a = &call->array[outputs[k]];
        if (rank->comm->rank == 0)
            continue;
        a->in_place = 0;
        if (a->p && share.n > 0)
            status = weft_alloc(rank->child, &own[k], share.n * a->width);
        a->p = own[k];
    }
    return wi_local(rank, status);
}

/* Gives each output its place behind those of the ranks before. */
static weft_status put_outputs(weft_context *rank, const spread *s, size_t n, void *const own[],
                               weft_status status) {
    const uint64_t kept = rank->comm->own_count;
    uint64_t unused;
    for (int k = 0; k < OUTPUTS; k++) {
        const wi_array *const a = &s->call->array[outputs[k]];
        if (a->p)
            status = wi_gpus_put(rank, status, (void *)(uintptr_t)a->p, own[k],
                                 outputs[k] == WI_SELECT_Z ? n - kept : kept, a->width, &unused);
    }
    return status;
}

static weft_status run_share(weft_context *rank, void *user) {
    const spread *const s = user;
    wi_call call = *s->call;
    wi_select_args args = *s->args;
    void *own[OUTPUTS] = {NULL};
    uint64_t unused;
    weft_status status = wi_agree(rank, 0, take_share(rank, s, &call, &args, own));
    if (weft_rank(rank) > 0)
        call.array[WI_SELECT_COUNT].p = &unused;
    if (status == WEFT_OK)
        status = check_and_run(rank, s->name, &call, &args, s->index_type, WEFT_OK);
    if (status == WEFT_OK)
        status = put_outputs(rank, s, args.n, own, status);
    for (int k = 0; k < OUTPUTS; k++)
        weft_free(rank->child, own[k]);
    return status;
}

/* The arrays must all be of n elements and, over ranks, all outputs a part of the whole output. */
static bool wants_gpus(weft_context *ctx, const wi_call *call, const wi_select_args *args) {
    const wi_array *const tested = &call->array[WI_SELECT_S];
    return !args->rest_follows &&
           wi_gpus_wanted(ctx, &wi_select_ladder, tested->p, tested->cols, tested->width);
}

/* `status` is what the checks of other arguments have said; if not WEFT_OK, nothing else is valid.
 */
static weft_status check_and_run(weft_context *ctx, const char *name, wi_call *call,
                                 wi_select_args *args, weft_type index_type, weft_status status) {
    uint64_t alike = 0;
    if (status == WEFT_OK) {
        call->name = name;
        call->count = WI_SELECT_ARRAYS;
        call->distributed = true;
        status = wi_call_check(ctx, call);
    }
    if (status == WEFT_OK)
        status = check_whole(ctx, call, args);
    if (status == WEFT_OK && wants_gpus(ctx, call, args))
        return wi_gpus_run(ctx, &wi_select_ladder, name, run_share,
                           &(spread){name, call, args, index_type});
    if (!wi_is_dist(ctx))
        return status == WEFT_OK ? wi_select_run(ctx, call, args) : status;
    if (status == WEFT_OK) {
        alike = wi_alike(wi_alike(0, args->tested_bytes), args->units * args->unit);
        alike = wi_alike(wi_alike(alike, args->range.low), args->range.span);
        alike = wi_alike(wi_alike(alike, args->range.negate), index_type);
    }
    return wi_dist_run(ctx, &wi_select_ladder, name, WI_NO_TYPE, alike, status,
                       &(wi_select_request){.call = call, .args = args, .index_type = index_type});
}

/* select and partition, checked except for their arrays: s is tested; elements of x go to y and z.
 */
static weft_status move(weft_context *ctx, const char *name, const weft_predicate *p, wi_array s,
                        wi_array x, wi_array y, wi_array z, uint64_t *count, bool partition) {
    wi_select_args args = wi_select_args_of(p, s.cols);
    wi_call call = {.name = name,
                    .array = {[WI_SELECT_S] = s,
                              [WI_SELECT_X] = x,
                              [WI_SELECT_Y] = y,
                              [WI_SELECT_Z] = z,
                              [WI_SELECT_COUNT] = count_of(count)}};
    const bool same = s.p == x.p && s.width == x.width;
    args.units = x.width;
    args.moves = true;
    args.rest_follows = partition && !z.p;
    if (!args.rest_follows)
        call.array[WI_SELECT_Y].in_place = 1u << WI_SELECT_X | (same ? 1u << WI_SELECT_S : 0);
    return check_and_run(ctx, name, &call, &args, WEFT_U8, WEFT_OK);
}

/* A call whose arguments, but for its arrays, were refused. */
static weft_status refused(weft_context *ctx, const char *name, weft_status status) {
    return check_and_run(ctx, name, NULL, NULL, WEFT_U8, status);
}

/* The same for elements of p's own type. */
static weft_status move_typed(weft_context *ctx, const char *call, const weft_predicate *p,
                              size_t n, const void *x, void *y, void *z, uint64_t *count,
                              bool partition) {
    if (wi_select_check_begin(ctx, call, p) != WEFT_OK)
        return refused(ctx, call, WEFT_EARG);
    const wi_array in = wi_elements("x", x, n, p->type, WI_IN | WI_STRIDED);
    return move(ctx, call, p, in, in, wi_elements("y", y, n, p->type, WI_OUT),
                wi_elements("z", z, n, p->type, WI_OUT | WI_OPTIONAL), count, partition);
}

static weft_status move_where(weft_context *ctx, const char *call, const weft_predicate *p,
                              size_t n, const void *s, size_t width, const void *x, void *y,
                              void *z, uint64_t *count, bool partition) {
    if (wi_select_check_begin(ctx, call, p) != WEFT_OK ||
        wi_select_check_width(ctx, call, width) != WEFT_OK)
        return refused(ctx, call, WEFT_EARG);
    return move(ctx, call, p, wi_elements("s", s, n, p->type, WI_IN | WI_STRIDED),
                wi_items("x", x, n, width, WI_IN | WI_STRIDED), wi_items("y", y, n, width, WI_OUT),
                wi_items("z", z, n, width, WI_OUT | WI_OPTIONAL), count, partition);
}

weft_status weft_select(weft_context *ctx, weft_predicate p, size_t n, const void *x, void *y,
                        uint64_t *count) {
    return move_typed(ctx, "weft_select", &p, n, x, y, NULL, count, false);
}

weft_status weft_select_where(weft_context *ctx, weft_predicate p, size_t n, const void *s,
                              size_t width, const void *x, void *y, uint64_t *count) {
    return move_where(ctx, "weft_select_where", &p, n, s, width, x, y, NULL, count, false);
}

weft_status weft_partition(weft_context *ctx, weft_predicate p, size_t n, const void *x, void *y,
                           void *z, uint64_t *count) {
    return move_typed(ctx, "weft_partition", &p, n, x, y, z, count, true);
}

weft_status weft_partition_where(weft_context *ctx, weft_predicate p, size_t n, const void *s,
                                 size_t width, const void *x, void *y, void *z, uint64_t *count) {
    return move_where(ctx, "weft_partition_where", &p, n, s, width, x, y, z, count, true);
}

weft_status weft_select_count(weft_context *ctx, weft_predicate p, size_t n, const void *x,
                              uint64_t *count) {
    static const char name[] = "weft_select_count";
    if (wi_select_check_begin(ctx, name, &p) != WEFT_OK)
        return refused(ctx, name, WEFT_EARG);
    wi_select_args args = wi_select_args_of(&p, n);
    args.job = WI_SELECT_JUST_COUNT;
    wi_call call = {.name = name,
                    .array = {[WI_SELECT_S] = wi_elements("x", x, n, p.type, WI_IN | WI_STRIDED),
                              [WI_SELECT_COUNT] = count_of(count)}};
    return check_and_run(ctx, name, &call, &args, WEFT_U8, WEFT_OK);
}

weft_status weft_select_indices(weft_context *ctx, weft_predicate p, size_t n, const void *x,
                                weft_type index_type, void *y, uint64_t *count) {
    static const char name[] = "weft_select_indices";
    if (wi_select_check_begin(ctx, name, &p) != WEFT_OK)
        return refused(ctx, name, WEFT_EARG);
    const weft_status status =
        wi_check_index_type(ctx, name, "index_type", index_type, n > 0 ? n - 1 : 0);
    if (status != WEFT_OK)
        return refused(ctx, name, status);
    wi_select_args args = wi_select_args_of(&p, n);
    args.position_bytes = weft_type_size(index_type);
    wi_call call = {.name = name,
                    .array = {[WI_SELECT_S] = wi_elements("x", x, n, p.type, WI_IN | WI_STRIDED),
                              [WI_SELECT_POSITIONS] = wi_elements("y", y, n, index_type, WI_OUT),
                              [WI_SELECT_COUNT] = count_of(count)}};
    return check_and_run(ctx, name, &call, &args, index_type, WEFT_OK);
}

/* unique and run_length, with types checked: values and, if given, lengths. */
static weft_status find_runs(weft_context *ctx, const char *name, weft_type type, size_t n,
                             const void *x, wi_array values, wi_array lengths, uint64_t *count) {
    wi_select_args args = {.n = n,
                           .tested_bytes = weft_type_size(type),
                           .unique = true,
                           .moves = true,
                           .unit = 1,
                           .units = weft_type_size(type),
                           .position_bytes = lengths.width,
                           .lengths = lengths.p != NULL};
    const wi_array in = wi_elements("x", x, n, type, WI_IN | WI_STRIDED);
    values.in_place = 1u << WI_SELECT_X | 1u << WI_SELECT_S;
    wi_call call = {.name = name,
                    .array = {[WI_SELECT_S] = in,
                              [WI_SELECT_X] = in,
                              [WI_SELECT_Y] = values,
                              [WI_SELECT_POSITIONS] = lengths,
                              [WI_SELECT_COUNT] = count_of(count)}};
    return check_and_run(ctx, name, &call, &args, lengths.type, WEFT_OK);
}

weft_status weft_unique(weft_context *ctx, weft_type type, size_t n, const void *x, void *y,
                        uint64_t *count) {
    static const char name[] = "weft_unique";
    if (wi_check_context(ctx) != WEFT_OK || wi_check_type(ctx, name, type) != WEFT_OK)
        return refused(ctx, name, WEFT_EARG);
    return find_runs(ctx, name, type, n, x, wi_elements("y", y, n, type, WI_OUT),
                     (wi_array){.name = NULL}, count);
}

weft_status weft_run_length(weft_context *ctx, weft_type type, size_t n, const void *x,
                            void *values, weft_type length_type, void *lengths, uint64_t *count) {
    static const char name[] = "weft_run_length";
    if (wi_check_context(ctx) != WEFT_OK || wi_check_type(ctx, name, type) != WEFT_OK)
        return refused(ctx, name, WEFT_EARG);
    const weft_status status = wi_check_index_type(ctx, name, "length_type", length_type, n);
    if (status != WEFT_OK)
        return refused(ctx, name, status);
    return find_runs(ctx, name, type, n, x, wi_elements("values", values, n, type, WI_OUT),
                     wi_elements("lengths", lengths, n, length_type, WI_OUT), count);
}
