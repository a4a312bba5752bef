/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of gather and scatter: checks, then each array by the ladder. */
#include "gather/gather.h"

#include <stdio.h>

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
    const double reads = a->scatters ? team : 1; /* of all indices by every thread */
    return wi_team_seconds(ctx, team, 100 + 3 * (double)a->n * reads, bytes_of(a));
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
};

static const wi_row scatter_rows[] = {
    {.name = "serial",
     .what = "the loop you would write",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = serial_seconds,
     .run = wi_scatter_serial},
    {.name = "threads",
     .what = "a stretch of the places for each thread",
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
};

const wi_ladder wi_gather_ladder = {"gather", gather_rows,
                                    sizeof gather_rows / sizeof gather_rows[0]};
const wi_ladder wi_scatter_ladder = {"scatter", scatter_rows,
                                     sizeof scatter_rows / sizeof scatter_rows[0]};

/* ---- one call ---- */

enum {
    INDEX,
    BAD,
    ARRAYS_BEGIN /* x and y of each array follow */
};

typedef struct moves {
    wi_gather_args args; /* but for its arrays */
    size_t arrays, width[WEFT_GATHERED_MOST];
    bool queued; /* `bad` was given: nobody waits for the check */
} moves;

/* The message names the first index that is out of range, which is in memory of the place. */
static weft_status refuse_index(weft_context *ctx, const char *name, const wi_gather_args *a,
                                uint64_t at) {
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
                   "%s: index[%llu] is %s, and m is %zu; pass indices from 0 to m - 1", name,
                   (unsigned long long)at, value, a->m);
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
        status = refuse_index(ctx, name, a, first);
    return status;
}

/* On a GPU the first array's kernel finds what is out of range, for it reads all indices anyway. */
static weft_status begin_check(weft_context *ctx, const moves *m, wi_gather_args *a) {
#ifdef WEFT_CUDA
    if (ctx->kind == WI_CUDA && m->arrays > 0)
        return wi_gather_clear_bad(ctx, a->bad);
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
    const moves *const m = user;
    wi_gather_args args = m->args;
    args.index = part->p[INDEX];
    weft_status status = take_owners(ctx, &args);
    if (status == WEFT_OK && !m->queued)
        status = check_indices(ctx, call->name, &args);
    args.bad = part->p[BAD];
    if (status == WEFT_OK && m->queued)
        status = begin_check(ctx, m, &args);
    for (size_t f = 0; f < m->arrays && status == WEFT_OK; f++) {
        args.width = m->width[f];
        args.x = part->p[ARRAYS_BEGIN + 2 * f];
        args.y = part->p[ARRAYS_BEGIN + 2 * f + 1];
        status = wi_run(ctx, args.scatters ? &wi_scatter_ladder : &wi_gather_ladder, call->name,
                        WI_NO_TYPE, &args);
        args.bad = NULL;
    }
    const weft_status freed = args.owners ? wi_gpu_free(ctx, args.owners) : WEFT_OK;
    return status == WEFT_OK ? freed : status;
}

/* ---- checks ---- */

static weft_status begin(weft_context *ctx, wi_call *call, const char *name, moves *m,
                         const void *index, uint64_t *bad) {
    const weft_type type = m->args.index_type;
    if (wi_check_type(ctx, name, type) != WEFT_OK ||
        wi_check_index_type(ctx, name, "index_type", type, 0) != WEFT_OK)
        return WEFT_EARG;
    m->queued = bad != NULL;
    wi_call_begin(call, name, 0, 0);
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

/* Runs a described call; with no elements, nothing but `bad` is written. */
static weft_status check_and_run(weft_context *ctx, wi_call *call, moves *m) {
    const weft_status status = wi_call_check(ctx, call);
    const uint64_t nowhere = WEFT_NOWHERE;
    void *const bad = (void *)(uintptr_t)call->array[BAD].p;
    if (status != WEFT_OK)
        return status;
    if (m->args.n == 0)
        return bad ? weft_copy(ctx, bad, &nowhere, sizeof nowhere) : WEFT_OK;
    return wi_call_run(ctx, call, run, m);
}

/* ---- the public calls ---- */

weft_status weft_gather(weft_context *ctx, size_t n, size_t width, weft_type index_type,
                        const void *index, size_t m, const void *x, void *y, uint64_t *bad) {
    static const char name[] = "weft_gather";
    moves all = {.args = {.n = n, .m = m, .index_type = index_type}, .arrays = 1, .width = {width}};
    wi_call call;
    if (wi_check_context(ctx) != WEFT_OK || check_width(ctx, name, width) != WEFT_OK ||
        begin(ctx, &call, name, &all, index, bad) != WEFT_OK)
        return WEFT_EARG;
    wi_call_add(&call, wi_items("x", x, m, width, WI_IN));
    wi_call_add(&call, wi_items("y", y, n, width, use_of_output(bad)));
    return check_and_run(ctx, &call, &all);
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
    moves all = {.args = {.n = n, .m = m, .index_type = index_type}, .arrays = arrays};
    wi_call call;
    if (wi_check_context(ctx) != WEFT_OK || check_arrays(ctx, name, arrays, array) != WEFT_OK ||
        begin(ctx, &call, name, &all, index, bad) != WEFT_OK)
        return WEFT_EARG;
    for (size_t f = 0; f < arrays; f++) {
        all.width[f] = array[f].width;
        wi_call_add(&call, wi_items(x_names[f], array[f].x, m, array[f].width, WI_IN));
        wi_call_add(&call, wi_items(y_names[f], array[f].y, n, array[f].width, use_of_output(bad)));
    }
    return check_and_run(ctx, &call, &all);
}

/* Places that no index names keep their values, so y is read, too. */
weft_status weft_scatter(weft_context *ctx, size_t n, size_t width, const void *x,
                         weft_type index_type, const void *index, weft_repeats repeats, size_t m,
                         void *y, uint64_t *bad) {
    static const char name[] = "weft_scatter";
    moves all = {.args = {.scatters = true,
                          .n = n,
                          .m = m,
                          .index_type = index_type,
                          .last = repeats == WEFT_REPEATS_LAST},
                 .arrays = 1,
                 .width = {width}};
    wi_call call;
    if (wi_check_context(ctx) != WEFT_OK || check_width(ctx, name, width) != WEFT_OK)
        return WEFT_EARG;
    if (repeats != WEFT_REPEATS_ANY && repeats != WEFT_REPEATS_LAST)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: repeats %d is not a weft_repeats; pass WEFT_REPEATS_ANY or "
                       "WEFT_REPEATS_LAST",
                       name, (int)repeats);
    if (begin(ctx, &call, name, &all, index, bad) != WEFT_OK)
        return WEFT_EARG;
    wi_call_add(&call, wi_items("x", x, n, width, WI_IN));
    wi_call_add(&call, wi_items("y", y, m, width, WI_IN | WI_OUT));
    return check_and_run(ctx, &call, &all);
}
