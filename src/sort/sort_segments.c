/* SPDX-License-Identifier: Apache-2.0 */
/* Segments: many sorts in one call. On a cpu, threads take short segments one group after another,
 * and sort each long one together. */
#include <stdatomic.h>

#include "comm/gpus.h"
#include "cpu/team.h"
#include "sort/sort_parts.h"
#include "sort/sort_run.h"
#include "sort/sort_segments_places.h"

enum {
    AT_ONCE = 64 /* segments that a thread takes at a time */
};

/* The arguments of the threads. */
typedef struct work {
    const weft_context *ctx;
    const wi_segments_args *call;
    const wi_sort_parts *parts;
    atomic_size_t taken; /* how many segments have been taken */
} work;

static void sort_short(void *user, int rank, int size) {
    work *const w = user;
    const wi_sort_args *const sort = &w->call->sort;
    (void)rank, (void)size;
    for (;;) {
        const size_t from = atomic_fetch_add_explicit(&w->taken, AT_ONCE, memory_order_relaxed);
        for (size_t s = from; s < w->call->segments && s < from + AT_ONCE; s++) {
            const size_t first = w->call->offsets[s], end = w->call->offsets[s + 1];
            if (first < end && wi_sort_is_short(sort, end - first))
                wi_sort_stretch(w->ctx, sort, w->parts, 1, first, end);
        }
        if (from >= w->call->segments)
            break;
    }
}

weft_status wi_sort_segments_threads(weft_context *ctx, const void *args) {
    const wi_segments_args *const call = args;
    const wi_sort_args *const sort = &call->sort;
    const size_t bytes = sort->n * (weft_type_size(sort->type) + sort->value_bytes);
    const int team = wi_team_size(ctx, WI_SORT_BUCKETS, bytes);
    wi_sort_parts parts;
    weft_status status = wi_sort_take_parts(ctx, sort, true, wi_sort_team_bytes(team), &parts);
    if (status != WEFT_OK || sort->bytes)
        return status;
    wi_team_run(ctx, team, sort_short, &(work){.ctx = ctx, .call = call, .parts = &parts});
    for (size_t s = 0; s < call->segments; s++) {
        const size_t first = call->offsets[s], end = call->offsets[s + 1];
        if (!wi_sort_is_short(sort, end - first))
            wi_sort_stretch(ctx, sort, &parts, team, first, end);
    }
    wi_host_free(parts.memory);
    return WEFT_OK;
}

static weft_status check_count(weft_context *ctx, const wi_segments_args *a) {
    if (a->segments == 0 && a->sort.n > 0 && !wi_is_dist(ctx))
        return wi_fail(ctx, WEFT_EARG,
                       "%s: segments is 0, and there are %zu keys; pass offsets of segments that "
                       "hold them",
                       a->sort.call, a->sort.n);
    if (a->segments < SIZE_MAX)
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EARG, "%s: %zu segments do not fit the address space", a->sort.call,
                   a->segments);
}

/* Checks offsets in host memory; those in device memory are not read here. */
static weft_status check_offsets(weft_context *ctx, wi_segments_args *a) {
    const char *const call = a->sort.call;
    const uint64_t *const offsets = a->offsets;
    a->checked = wi_is_host(ctx, offsets);
    if (!a->checked || a->segments == 0)
        return WEFT_OK;
    for (size_t s = 0; s < a->segments; s++) {
        if (offsets[s] > offsets[s + 1])
            return wi_fail(ctx, WEFT_EARG,
                           "%s: offsets fall from %llu to %llu at segment %zu; pass offsets that "
                           "never fall",
                           call, (unsigned long long)offsets[s], (unsigned long long)offsets[s + 1],
                           s);
    }
    if (wi_is_dist(ctx) || (offsets[0] == 0 && offsets[a->segments] == a->sort.n))
        return WEFT_OK; /* over ranks they are those of the whole */
    return wi_fail(ctx, WEFT_EARG,
                   "%s: offsets run from %llu to %llu; the first must be 0 and the last n, %zu",
                   call, (unsigned long long)offsets[0], (unsigned long long)offsets[a->segments],
                   a->sort.n);
}

#ifdef WEFT_CUDA
/* Three launches, and every key twice through memory. */
static double by_length_seconds(const weft_context *ctx, const void *args) {
    const wi_machine *const m = wi_machine_of(ctx);
    const wi_segments_args *const a = args;
    const double bytes =
        (double)a->sort.n * (double)(weft_type_size(a->sort.type) + a->sort.value_bytes);
    return 4 * m->launch_s + wi_seconds_moving(m, 4 * bytes + 16 * (double)a->segments);
}

static const char *places_misfit(const weft_context *ctx, const void *args) {
    const wi_segments_args *const a = args;
    (void)ctx;
    if (a->sort.n > WI_PLACES_ELEMENTS || a->segments > WI_PLACES_SEGMENTS)
        return "needs at most 65,536 elements in at most 2,048 segments";
    return a->sort.x == a->sort.y ||
                   (a->sort.value_bytes > 0 && a->sort.values == a->sort.values_out)
               ? "needs outputs that are other arrays than the inputs"
               : NULL;
}

/* Elements are compared with others, three instructions for each, as long as these are few; what
 * windows then take is less. */
static double places_seconds(const weft_context *ctx, const void *args) {
    const wi_machine *const m = wi_machine_of(ctx);
    const wi_segments_args *const a = args;
    const double n = (double)a->sort.n, met = n * (n / (double)a->segments), most = 1 << 24;
    return 1.5 * m->launch_s + wi_seconds_working(m, 3 * (met < most ? met : most) / 128, m->units);
}
#endif

static const wi_row rows[] = {
    {.name = "threads",
     .what = "threads take short segments in turns, and sort each long one together",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_sort_segments_threads},
#ifdef WEFT_CUDA
    {.name = "by_length",
     .what = "a thread, a block or several passes for a segment, by its length",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = by_length_seconds,
     .run = wi_sort_segments_by_length},
    {.name = "places",
     .what = "each element counts those of its segment before it; what is long as above",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .misfit = places_misfit,
     .seconds = places_seconds,
     .run = wi_sort_segments_places},
#endif
    {.name = "ranks",
     .what = "every rank its own segments; those that are cut become records that all ranks sort",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_sort_segments_ranks},
};

const wi_ladder wi_sort_segments_ladder = {"sort_segments", rows, sizeof rows / sizeof rows[0]};

static weft_status run(weft_context *ctx, const wi_sort_args *args, const void *user) {
    wi_segments_args part = *(const wi_segments_args *)user;
    part.sort = *args;
    return wi_run(ctx, &wi_sort_segments_ladder, args->call, args->type, &part);
}

enum {
    OFFSETS = WI_SORT_ARRAYS,
    ARRAYS
};

static weft_status run_part(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_segments_args args = *(const wi_segments_args *)user;
    wi_sort_place(&args.sort, part, call->asked);
    args.offsets = part->p[OFFSETS];
    return wi_sort_any_values(ctx, &args.sort, run, &args);
}

/* Describes a call, and checks it. */
static weft_status check(weft_context *ctx, weft_order order, wi_segments_args *args,
                         wi_call *call) {
    wi_sort_args *const a = &args->sort;
    if (wi_sort_check_keys(ctx, a->call, order, a->type) != WEFT_OK ||
        check_count(ctx, args) != WEFT_OK)
        return WEFT_EARG;
    a->descending = order == WEFT_DESCENDING;
    a->end_bit = 8 * (unsigned)weft_type_size(a->type);
    *call = wi_sort_call_of(a);
    const size_t offsets = wi_is_dist(ctx) && args->segments == 0 ? 0 : args->segments + 1;
    call->array[OFFSETS] = wi_elements("offsets", args->offsets, offsets, WEFT_U64, WI_IN);
    call->count = ARRAYS;
    call->distributed = !a->bytes;
    weft_status status = wi_call_check(ctx, call);
    if (status == WEFT_OK)
        status = wi_sort_check_room(ctx, a->call, a->n, a->value_bytes);
    return status == WEFT_OK ? check_offsets(ctx, args) : status;
}

static weft_status run_share(weft_context *rank, void *user);

/* Offsets are searched and sent through host memory, so GPUs that hold keys keep to one. */
static bool wants_gpus(weft_context *ctx, const wi_sort_args *a) {
    return wi_gpus_forced(ctx, &wi_sort_segments_ladder) ||
           (wi_gpus_wanted(ctx, &wi_sort_segments_ladder, a->x, a->n, weft_type_size(a->type)) &&
            wi_is_host(ctx, a->x));
}

static weft_status check_and_run(weft_context *ctx, weft_order order, wi_segments_args *args) {
    wi_sort_args *const a = &args->sort;
    wi_call call;
    const weft_status status = check(ctx, order, args, &call);
    if (status == WEFT_OK && !a->bytes && wants_gpus(ctx, a))
        return wi_gpus_run(ctx, &wi_sort_segments_ladder, a->call, run_share, args);
    if (wi_is_dist(ctx) && !a->bytes)
        return wi_dist_run(ctx, &wi_sort_segments_ladder, a->call, a->type,
                           wi_alike(wi_alike(0, order), a->value_bytes), status, args);
    if (status != WEFT_OK)
        return status;
    if (a->bytes)
        *a->bytes = 0;
    return a->n == 0 ? WEFT_OK : wi_sort_call_run(ctx, &call, run_part, args);
}

/* On a place of several GPUs: each has a share of the keys, and one of the segments. */
static weft_status run_share(weft_context *rank, void *user) {
    wi_segments_args args = *(const wi_segments_args *)user;
    wi_sort_args *const a = &args.sort;
    const size_t size = weft_type_size(a->type);
    const wi_share share = wi_gpus_share(rank, a->x, a->n, size);
    const wi_share of_segments =
        wi_gpus_share(rank, args.offsets, args.segments, sizeof *args.offsets);
    a->n = share.n;
    a->x = wi_share_of(a->x, share, size);
    a->y = wi_share_of(a->y, share, size);
    a->values = wi_share_of(a->values, share, a->value_bytes);
    a->values_out = wi_share_of(a->values_out, share, a->value_bytes);
    args.segments = of_segments.n;
    args.offsets = wi_share_of(args.offsets, of_segments, sizeof *args.offsets);
    return check_and_run(rank, a->descending ? WEFT_DESCENDING : WEFT_ASCENDING, &args);
}

static wi_segments_args args_of(const char *call, weft_type type, size_t n, const void *keys,
                                void *keys_out, size_t value_bytes, const void *values,
                                void *values_out, size_t segments, const uint64_t *offsets) {
    return (wi_segments_args){.sort = {.call = call,
                                       .type = type,
                                       .n = n,
                                       .x = keys,
                                       .y = keys_out,
                                       .value_bytes = value_bytes,
                                       .values = value_bytes > 0 ? values : NULL,
                                       .values_out = value_bytes > 0 ? values_out : NULL},
                              .segments = segments,
                              .offsets = offsets};
}

weft_status weft_sort_segments(weft_context *ctx, weft_order order, weft_type type, size_t n,
                               const void *keys, void *keys_out, size_t value_bytes,
                               const void *values, void *values_out, size_t segments,
                               const uint64_t *offsets) {
    wi_segments_args args = args_of("weft_sort_segments", type, n, keys, keys_out, value_bytes,
                                    values, values_out, segments, offsets);
    return check_and_run(ctx, order, &args);
}

weft_status weft_sort_segments_bytes(weft_context *ctx, weft_order order, weft_type type, size_t n,
                                     const void *keys, void *keys_out, size_t value_bytes,
                                     const void *values, void *values_out, size_t segments,
                                     const uint64_t *offsets, size_t *bytes) {
    wi_segments_args args = args_of("weft_sort_segments_bytes", type, n, keys, keys_out,
                                    value_bytes, values, values_out, segments, offsets);
    args.sort.bytes = bytes;
    if (wi_check_context(ctx) != WEFT_OK ||
        wi_sort_check_asked(ctx, args.sort.call, bytes) != WEFT_OK)
        return WEFT_EARG;
    return check_and_run(ctx, order, &args);
}
