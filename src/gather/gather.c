/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of gather and scatter: checks, then each array by the ladder. */
#include "gather/gather.h"

#include <stdio.h>

#include "comm/gpus.h"
#include "core/gpu.h"
#include "cpu/team.h"

/* ---- costs ---- */

static double bytes_of(const wi_gather_args *a) {
    return (double)a->n * (double)(2 * a->width + weft_type_size(a->index_type));
}

static double serial_seconds(const weft_context *ctx, const void *args) {
    const wi_gather_args *const a = args;
    return wi_team_seconds(ctx, 1, 3 * (double)a->n, bytes_of(a));
}

static double threads_seconds(const weft_context *ctx, const void *args) {
    const wi_gather_args *const a = args;
    const int team = wi_team_size(ctx, a->n, a->n * (a->width + weft_type_size(a->index_type)));
    const double looks = a->scatters ? team : 0; /* at all indices, by every thread */
    return wi_team_seconds(ctx, team, 100 + (double)a->n * (3 + looks), bytes_of(a));
}

static const wi_row gather_rows[] = {
    {.name = "serial",
     .what = "the loop you would write",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = serial_seconds,
     .run = wi_gather_serial},
    {.name = "threads",
     .what = "a stretch of the output for each thread",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = threads_seconds,
     .run = wi_gather_threads},
#ifdef WEFT_CUDA
#    if WEFT_LADDER
    {.name = "each",
     .what = "a thread for each element, byte by byte",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .run = wi_gather_each},
#    endif
    {.name = "batches",
     .what = "several indices, then several elements, in flight for each thread",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_gather_batches},
#endif
    {.name = "ranks",
     .what = "positions go to the ranks that have the elements, which send them back",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_gather_ranks},
};

static const wi_row scatter_rows[] = {
    {.name = "serial",
     .what = "the loop you would write",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = serial_seconds,
     .run = wi_scatter_serial},
    {.name = "threads",
     .what = "a stretch of the positions for each thread",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = threads_seconds,
     .run = wi_scatter_threads},
#ifdef WEFT_CUDA
    {.name = "batches",
     .what = "several indices, then several elements, in flight for each thread",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_gather_batches},
#endif
    {.name = "ranks",
     .what = "elements go to the ranks that have their positions",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_scatter_ranks},
};

const wi_ladder wi_gather_ladder = {"gather", gather_rows,
                                    sizeof gather_rows / sizeof gather_rows[0]};
const wi_ladder wi_scatter_ladder = {"scatter", scatter_rows,
                                     sizeof scatter_rows / sizeof scatter_rows[0]};

/* ---- one call ---- */

/* The index is in memory of the place. */
weft_status wi_gather_refuse(weft_context *ctx, const char *name, const wi_gather_args *a,
                             uint64_t at, size_t first, const char *whose) {
    const size_t bytes = weft_type_size(a->index_type);
    const bool is_signed = a->index_type == WEFT_I32 || a->index_type == WEFT_I64;
    uint64_t bits = 0;
    char value[32];
    const weft_status status = weft_copy(ctx, &bits, (const char *)a->index + at * bytes, bytes);
    if (status != WEFT_OK)
        return status;
    if (is_signed)
        snprintf(value, sizeof value, "%lld", bytes == 4 ? (int32_t)bits : (long long)bits);
    else
        snprintf(value, sizeof value, "%llu", (unsigned long long)bits);
    return wi_fail(ctx, WEFT_EARG,
                   "%s: index[%llu] is %s, and m%s is %zu; pass indices from 0 to m - 1", name,
                   (unsigned long long)(at + first), value, whose, a->m);
}

/* Checks all indices and waits for the answer. */
static weft_status check_indices(weft_context *ctx, const char *name, const wi_gather_args *a) {
    static const char key = 0;
    wi_gather_args check = *a;
    uint64_t first = WEFT_NOWHERE;
    void *found = &first;
    weft_status status =
        ctx->kind == WI_CUDA ? wi_gpu_scratch(ctx, &key, sizeof first, &found) : WEFT_OK;
    check.bad = found;
    if (status == WEFT_OK)
        status = wi_gather_check(ctx, &check);
    if (status == WEFT_OK && found != &first)
        status = weft_copy(ctx, &first, found, sizeof first);
    if (status == WEFT_OK && first != WEFT_NOWHERE)
        status = wi_gather_refuse(ctx, name, a, first, 0, "");
    return status;
}

/* On a GPU the first array's rung finds what is out of range, for it reads all indices anyway. */
static weft_status begin_check(weft_context *ctx, const wi_gather_request *m, wi_gather_args *a) {
#ifdef WEFT_CUDA
    if (ctx->kind == WI_CUDA && m->arrays > 0) {
        a->clears = true;
        return WEFT_OK;
    }
#else
    (void)m;
#endif
    return wi_gather_check(ctx, a);
}

static weft_status take_owners(weft_context *ctx, wi_gather_args *a) {
    if (!a->last || ctx->kind == WI_CPU)
        return WEFT_OK;
    return wi_gpu_alloc(ctx, &a->owners, a->m * wi_gather_owner_bytes(a->n));
}

static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    const wi_gather_request *const m = user;
    wi_gather_args args = m->args;
    args.index = part->p[WI_GATHER_INDEX];
    weft_status status = take_owners(ctx, &args);
    if (status == WEFT_OK && !m->queued)
        status = check_indices(ctx, call->name, &args);
    args.bad = part->p[WI_GATHER_BAD];
    if (status == WEFT_OK && m->queued)
        status = begin_check(ctx, m, &args);
    for (size_t f = 0; f < m->arrays && status == WEFT_OK; f++) {
        args.width = m->width[f];
        args.x = part->p[WI_GATHER_ARRAYS + 2 * f];
        args.y = part->p[WI_GATHER_ARRAYS + 2 * f + 1];
        status = wi_run(ctx, args.scatters ? &wi_scatter_ladder : &wi_gather_ladder, call->name,
                        WI_NO_TYPE, &args);
        args.bad = NULL;
    }
    const weft_status freed = args.owners ? wi_gpu_free(ctx, args.owners) : WEFT_OK;
    return status == WEFT_OK ? freed : status;
}

/* ---- checks ---- */

/* Begins the description; the arrays that move follow. */
static weft_status begin(weft_context *ctx, wi_call *call, const char *name, wi_gather_request *m,
                         const void *index, uint64_t *bad) {
    const weft_type type = m->args.index_type;
    m->args.index = index;
    m->queued = bad != NULL;
    wi_call_begin(call, name, 0, 0);
    call->distributed = true;
    if (wi_check_type(ctx, name, type) != WEFT_OK ||
        wi_check_index_type(ctx, name, "index_type", type, 0) != WEFT_OK)
        return WEFT_EARG;
    wi_call_add(call, wi_elements("index", index, m->args.n, type, WI_IN));
    wi_call_add(call, wi_elements("bad", bad, 1, WEFT_U64, WI_OUT | WI_OPTIONAL));
    return WEFT_OK;
}

static weft_status check_width(weft_context *ctx, const char *name, size_t width) {
    if (width > 0)
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EARG, "%s: width is 0; pass the bytes of one element", name);
}

/* Elements whose index is out of range keep their values. */
static unsigned use_of_output(const uint64_t *bad) {
    return bad ? WI_IN | WI_OUT : WI_OUT;
}

/* Runs a checked call; with no elements, nothing but `bad` is written. */
static weft_status run_here(weft_context *ctx, wi_call *call, wi_gather_request *m) {
    const uint64_t nowhere = WEFT_NOWHERE;
    void *const bad = (void *)(uintptr_t)call->array[WI_GATHER_BAD].p;
    if (m->args.n == 0)
        return bad ? weft_copy(ctx, bad, &nowhere, sizeof nowhere) : WEFT_OK;
    return wi_call_run(ctx, call, run, m);
}

static const wi_ladder *ladder_of(const wi_gather_request *m) {
    return m->args.scatters ? &wi_scatter_ladder : &wi_gather_ladder;
}

/* What all ranks must pass alike. */
static uint64_t alike_of(const wi_gather_request *m) {
    uint64_t alike = wi_alike(wi_alike(0, m->queued), m->args.last);
    for (size_t f = 0; f < m->arrays; f++)
        alike = wi_alike(alike, m->width[f]);
    return alike;
}

/* A call on a place of several GPUs. */
typedef struct spread {
    const wi_call *call;
    const wi_gather_request *moves;
} spread;

static weft_status run_share(weft_context *rank, void *user);

/* Scatter only if its rung over ranks is forced: where it writes is not where a GPU's share is. */
static bool wants_gpus(weft_context *ctx, const wi_call *call, const wi_gather_request *m) {
    const wi_array *const y = &call->array[m->arrays > 0 ? WI_GATHER_ARRAYS + 1 : WI_GATHER_INDEX];
    return m->args.scatters ? wi_gpus_forced(ctx, &wi_scatter_ladder)
                            : wi_gpus_wanted(ctx, &wi_gather_ladder, y->p, y->cols, y->width);
}

/* `status` is what the checks of other arguments have said; if not WEFT_OK, only the name of the
 * call is valid. */
static weft_status check_and_run(weft_context *ctx, wi_call *call, wi_gather_request *m,
                                 weft_status status) {
    if (status == WEFT_OK)
        status = wi_call_check(ctx, call);
    if (status == WEFT_OK && wants_gpus(ctx, call, m))
        return wi_gpus_run(ctx, ladder_of(m), call->name, run_share, &(spread){call, m});
    if (wi_is_dist(ctx))
        return wi_dist_run(ctx, ladder_of(m), call->name, WI_NO_TYPE,
                           status == WEFT_OK ? alike_of(m) : 0, status, &(wi_dist_args){call, m});
    return status == WEFT_OK ? run_here(ctx, call, m) : status;
}

static void cut_array(wi_array *a, wi_share share) {
    a->p = wi_share_of(a->p, share, a->width);
    a->cols = a->ld = share.n;
}

/* All GPUs learn which index is bad, and the first tells the caller. Of gather each has a share of
 * index and y, where y lies, and reads all of x; of scatter a share of all arrays. */
static weft_status run_share(weft_context *rank, void *user) {
    const spread *const s = user;
    wi_call call = *s->call;
    wi_gather_request m = *s->moves;
    wi_array *const array = call.array;
    uint64_t unused;
    const int guide = m.arrays > 0 && !m.args.scatters ? WI_GATHER_ARRAYS + 1 : WI_GATHER_INDEX;
    const wi_share share =
        wi_gpus_share(rank, array[guide].p, array[guide].cols, array[guide].width);
    cut_array(&array[WI_GATHER_INDEX], share);
    for (size_t f = 0; f < m.arrays; f++) {
        wi_array *const x = &array[WI_GATHER_ARRAYS + 2 * f], *const y = x + 1;
        cut_array(m.args.scatters ? x : y, share);
        if (m.args.scatters) {
            const wi_share positions = wi_gpus_share(rank, y->p, y->cols, y->width);
            cut_array(y, positions);
            m.args.m = positions.n;
        }
    }
    m.args.index = array[WI_GATHER_INDEX].p;
    m.args.n = share.n;
    m.shared = !m.args.scatters;
    m.first = share.first;
    if (weft_rank(rank) > 0 && m.queued)
        array[WI_GATHER_BAD].p = &unused;
    return check_and_run(rank, &call, &m, WEFT_OK);
}

/* ---- the public calls ---- */

weft_status weft_gather(weft_context *ctx, size_t n, size_t width, weft_type index_type,
                        const void *index, size_t m, const void *x, void *y, uint64_t *bad) {
    static const char name[] = "weft_gather";
    wi_gather_request all = {
        .args = {.n = n, .m = m, .index_type = index_type}, .arrays = 1, .width = {width}};
    wi_call call;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = check_width(ctx, name, width);
    if (status == WEFT_OK)
        status = begin(ctx, &call, name, &all, index, bad);
    if (status == WEFT_OK) {
        wi_call_add(&call, wi_items("x", x, m, width, WI_IN));
        wi_call_add(&call, wi_items("y", y, n, width, use_of_output(bad)));
    }
    return check_and_run(ctx, &call, &all, status);
}

static weft_status check_arrays(weft_context *ctx, const char *name, size_t arrays,
                                const weft_gathered *array) {
    if (arrays > WEFT_GATHERED_MOST)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: arrays is %zu; pass at most %d, and the others in another call", name,
                       arrays, WEFT_GATHERED_MOST);
    if (arrays > 0 && !array)
        return wi_fail(ctx, WEFT_EARG, "%s: array is NULL; pass an array of %zu weft_gathered",
                       name, arrays);
    weft_status status = WEFT_OK;
    for (size_t f = 0; f < arrays && status == WEFT_OK; f++)
        status = check_width(ctx, name, array[f].width);
    return status;
}

weft_status weft_gather_arrays(weft_context *ctx, size_t n, weft_type index_type, const void *index,
                               size_t m, size_t arrays, const weft_gathered *array, uint64_t *bad) {
    static const char name[] = "weft_gather_arrays";
    static const char *const x_names[WEFT_GATHERED_MOST] = {
        "array[0].x", "array[1].x", "array[2].x", "array[3].x",
        "array[4].x", "array[5].x", "array[6].x", "array[7].x"};
    static const char *const y_names[WEFT_GATHERED_MOST] = {
        "array[0].y", "array[1].y", "array[2].y", "array[3].y",
        "array[4].y", "array[5].y", "array[6].y", "array[7].y"};
    wi_gather_request all = {.args = {.n = n, .m = m, .index_type = index_type}, .arrays = arrays};
    wi_call call;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = check_arrays(ctx, name, arrays, array);
    if (status == WEFT_OK)
        status = begin(ctx, &call, name, &all, index, bad);
    for (size_t f = 0; f < arrays && status == WEFT_OK; f++) {
        all.width[f] = array[f].width;
        wi_call_add(&call, wi_items(x_names[f], array[f].x, m, array[f].width, WI_IN));
        wi_call_add(&call, wi_items(y_names[f], array[f].y, n, array[f].width, use_of_output(bad)));
    }
    return check_and_run(ctx, &call, &all, status);
}

/* Places that no index names keep their values, so y is read, too. */
weft_status weft_scatter(weft_context *ctx, size_t n, size_t width, const void *x,
                         weft_type index_type, const void *index, weft_repeats repeats, size_t m,
                         void *y, uint64_t *bad) {
    static const char name[] = "weft_scatter";
    wi_gather_request all = {.args = {.scatters = true,
                                      .n = n,
                                      .m = m,
                                      .index_type = index_type,
                                      .last = repeats == WEFT_REPEATS_LAST},
                             .arrays = 1,
                             .width = {width}};
    wi_call call;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = check_width(ctx, name, width);
    if (status == WEFT_OK && repeats != WEFT_REPEATS_ANY && repeats != WEFT_REPEATS_LAST)
        status = wi_fail(ctx, WEFT_EARG,
                         "%s: repeats %d is not a weft_repeats; pass WEFT_REPEATS_ANY or "
                         "WEFT_REPEATS_LAST",
                         name, (int)repeats);
    if (status == WEFT_OK)
        status = begin(ctx, &call, name, &all, index, bad);
    if (status == WEFT_OK) {
        wi_call_add(&call, wi_items("x", x, n, width, WI_IN));
        wi_call_add(&call, wi_items("y", y, m, width, WI_IN | WI_OUT));
    }
    return check_and_run(ctx, &call, &all, status);
}
