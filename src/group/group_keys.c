/* SPDX-License-Identifier: Apache-2.0 */
/* Reduction by key: the public call and its ladder. */
#include "comm/gpus.h"
#include "core/gpu.h"
#include "cpu/team.h"
#include "group/group.h"

/* ---- the ladder ---- */

double wi_group_keys_bytes(const wi_group_keys_args *k) {
    double bytes = (double)k->n * (double)k->width;
    for (size_t c = 0; c < k->columns; c++)
        bytes += (double)k->n * (double)weft_type_size(k->column[c].type);
    return bytes;
}

/* What a rung cannot do that reduces columns itself. */
static const char *itself_misfit(const weft_context *ctx, const wi_group_keys_args *k) {
    if (!k->way->rounds)
        return "rounds at every addition";
    return wi_is_forced(ctx, &wi_group_ladder) ? "reduces columns itself: name no variant of group"
                                               : NULL;
}

static const char *blocks_misfit(const weft_context *ctx, const void *args) {
    const wi_group_keys_args *const k = args;
    return k->width > WI_GROUP_KEY_BYTES ? "needs keys of at most 64 bytes" : itself_misfit(ctx, k);
}

static double blocks_seconds(const weft_context *ctx, const void *args) {
    const wi_group_keys_args *const k = args;
    const double bytes = wi_group_keys_bytes(k);
    const double cycles = 1000 + (double)k->n * (1 + (double)k->columns);
    return wi_team_seconds(ctx, wi_team_size(ctx, k->n, (size_t)bytes), cycles, bytes);
}

#ifdef WEFT_CUDA
/* One pass reads keys and elements together; of a call that is short the launches count. */
static double one_pass_seconds(const weft_context *ctx, const void *args) {
    const wi_machine *const m = wi_machine_of(ctx);
    return 4 * m->launch_s + wi_seconds_moving(m, wi_group_keys_bytes(args)) / 0.58;
}

static const char *one_pass_misfit(const weft_context *ctx, const void *args) {
    const wi_group_keys_args *const k = args;
    const char *const misfit = itself_misfit(ctx, k);
    if (misfit)
        return misfit;
    if (k->columns != 1 || weft_type_size(k->column[0].type) < 4)
        return "needs one column, of elements of 4 or 8 bytes";
    if (!wi_group_is_word(k->width, k->keys) ||
        (k->keys_out && !wi_group_is_word(k->width, k->keys_out)))
        return "needs keys of 1, 2, 4 or 8 bytes, aligned to their size";
    return k->keys_out == k->keys ? "needs keys_out to be another array than keys" : NULL;
}

/* What none of the rungs behind `one_pass` does. */
static const char *common_misfit(const weft_context *ctx, const void *args) {
    const char *const misfit = one_pass_misfit(ctx, args);
    if (misfit)
        return misfit;
    const wi_reduction op = ((const wi_group_keys_args *)args)->column[0].op;
    return op == WI_RED_SUM || op == WI_RED_MIN || op == WI_RED_MAX
               ? NULL
               : "is compiled for sums, minima and maxima";
}

/* What neither `ends` nor `bulk` does. */
static const char *vectors_misfit(const weft_context *ctx, const void *args) {
    const wi_group_keys_args *const k = args;
    const char *const misfit = common_misfit(ctx, args);
    if (misfit)
        return misfit;
    return ((uintptr_t)k->keys | (uintptr_t)k->column[0].x) % 16 != 0
               ? "needs keys and x aligned to 16 bytes"
               : NULL;
}

static const char *ends_misfit(const weft_context *ctx, const void *args) {
    const char *const misfit = vectors_misfit(ctx, args);
    return misfit || ((const wi_group_keys_args *)args)->width >= 4 ? misfit
                                                                    : "needs keys of 4 or 8 bytes";
}

/* Of warps that have little to do it counts what each begins and ends with. */
static double ends_seconds(const weft_context *ctx, const void *args) {
    const wi_machine *const m = wi_machine_of(ctx);
    return 14 * m->launch_s + wi_seconds_moving(m, wi_group_keys_bytes(args)) / 0.72;
}

static const char *bulk_misfit(const weft_context *ctx, const void *args) {
    const wi_group_keys_args *const k = args;
    const char *const misfit = vectors_misfit(ctx, args);
    if (misfit)
        return misfit;
    if (ctx->gpu->capability < 90)
        return "needs a GPU of compute capability 9.0 or later: bulk copies";
    return k->width == 8 && weft_type_size(k->column[0].type) == 4
               ? "needs keys that are not wider than the elements"
               : NULL;
}

static const char *one_tile_misfit(const weft_context *ctx, const void *args) {
    const char *const misfit = common_misfit(ctx, args);
    return misfit || ((const wi_group_keys_args *)args)->n <= WI_GROUP_ONE_TILE
               ? misfit
               : "needs at most 4096 elements";
}

/* A launch, and loads that wait. */
static double one_tile_seconds(const weft_context *ctx, const void *args) {
    const wi_machine *const m = wi_machine_of(ctx);
    return 1.5 * m->launch_s + wi_seconds_moving(m, wi_group_keys_bytes(args)) / 0.6;
}

/* As it is with runs of thousands, whose tiles without a beginning wait for each other. */
static double bulk_seconds(const weft_context *ctx, const void *args) {
    const wi_machine *const m = wi_machine_of(ctx);
    return m->launch_s + wi_ring_seconds(m) +
           wi_seconds_moving(m, wi_group_keys_bytes(args)) / 0.25;
}
#endif

/* Select writes where runs begin, which is then read for each column. */
static double select_seconds(const weft_context *ctx, const void *args) {
    const wi_group_keys_args *const k = args;
    const wi_machine *const m = wi_machine_of(ctx);
    const double bytes = wi_group_keys_bytes(k);
    if (ctx->kind == WI_CUDA)
        return 5 * m->launch_s + wi_seconds_moving(m, bytes) / 0.5;
    const double cycles = 3000 + (double)k->n * (3 + 2 * (double)k->columns);
    return wi_team_seconds(ctx, wi_team_size(ctx, k->n, (size_t)bytes), cycles, 1.5 * bytes);
}

static const wi_row rows[] = {
    {.name = "select",
     .what = "where runs begin, by select; then every column by the ladder of segments",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = select_seconds,
     .run = wi_group_keys_select},
    {.name = "blocks",
     .what = "keys and elements of a block while it is in a cache; where runs begin is not stored",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .misfit = blocks_misfit,
     .seconds = blocks_seconds,
     .run = wi_group_keys_blocks},
#ifdef WEFT_CUDA
    {.name = "one_pass",
     .what = "keys and elements in one pass; runs are counted some hundred tiles ahead",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .misfit = one_pass_misfit,
     .seconds = one_pass_seconds,
     .run = wi_group_keys_one_pass},
    {.name = "ends",
     .what = "a bit where each run ends; then elements, by warps that wait for nobody",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .misfit = ends_misfit,
     .seconds = ends_seconds,
     .run = wi_group_keys_ends},
    {.name = "bulk",
     .what = "the same by bulk copies; tiles look back for what is open, too",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .misfit = bulk_misfit,
     .seconds = bulk_seconds,
     .run = wi_group_keys_bulk},
    {.name = "one_tile",
     .what = "few elements, which one block has in registers",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .misfit = one_tile_misfit,
     .seconds = one_tile_seconds,
     .run = wi_group_keys_one_tile},
#endif
    {.name = "ranks",
     .what = "every rank its own runs; those that cross ranks are joined",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_group_keys_ranks},
};

const wi_ladder wi_group_keys_ladder = {"group_keys", rows, sizeof rows / sizeof rows[0]};

/* ---- the call ---- */

/* Only what was written is copied back to the host. */
static weft_status keep_written(weft_context *ctx, wi_call *call, const wi_part *part) {
    uint64_t runs;
    if (!part->mirrored)
        return WEFT_OK;
    const weft_status status = weft_copy(ctx, &runs, part->p[WI_GROUP_COUNT], sizeof runs);
    for (int i = 0; i < call->count && status == WEFT_OK; i++) {
        wi_array *const a = &call->array[i];
        if (a->use & WI_OUT && i != WI_GROUP_COUNT && a->p)
            a->bytes = runs * a->width;
    }
    return status;
}

static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_group_keys_args k = *(const wi_group_keys_args *)user;
    k.keys = part->p[WI_GROUP_KEYS];
    k.keys_out = part->p[WI_GROUP_KEYS_OUT];
    k.count = part->p[WI_GROUP_COUNT];
    for (size_t c = 0; c < k.columns; c++) {
        k.column[c].x = part->p[WI_GROUP_COLUMNS + 2 * c];
        k.column[c].y = part->p[WI_GROUP_COLUMNS + 2 * c + 1];
    }
    const weft_status status = wi_run(ctx, &wi_group_keys_ladder, call->name, WI_NO_TYPE, &k);
    return status == WEFT_OK ? keep_written(ctx, call, part) : status;
}

weft_status wi_group_check_keys(weft_context *ctx, const char *call, size_t width, size_t columns,
                                const void *column) {
    if (width == 0)
        return wi_fail(ctx, WEFT_EARG, "%s: width is 0; pass the bytes of one key", call);
    return wi_group_check_columns(ctx, call, columns, column);
}

/* Describes a call: k has everything but start_bytes, and of each column op, types, x and y. */
static void describe(wi_call *call, wi_group_keys_args *k) {
    k->start_bytes = k->n <= UINT32_MAX ? sizeof(uint32_t) : sizeof(uint64_t);
    wi_call_add(call, wi_items("keys", k->keys, k->n, k->width, WI_IN));
    wi_call_add(call, wi_items("keys_out", k->keys_out, k->n, k->width, WI_OUT | WI_OPTIONAL))
        ->in_place = 1u << WI_GROUP_KEYS;
    wi_call_add(call, wi_elements("count", k->count, 1, WEFT_U64, WI_OUT));
    for (size_t c = 0; c < k->columns; c++) {
        wi_group_args *const a = &k->column[c];
        a->call = k->call;
        a->n = a->segments = k->n;
        a->start_bytes = k->start_bytes;
        wi_call_add(call, wi_elements(wi_group_x_names[c], a->x, k->n, a->type, WI_IN));
        wi_call_add(call, wi_elements(wi_group_y_names[c], a->y, k->n, a->result_type, WI_OUT));
    }
}

/* A checked call on this place alone. */
static weft_status run_here(weft_context *ctx, wi_call *call, wi_group_keys_args *k) {
    const uint64_t none = 0;
    return k->n > 0 ? wi_group_keys_call_run(ctx, call, k)
                    : weft_copy(ctx, (void *)(uintptr_t)call->array[WI_GROUP_COUNT].p, &none,
                                sizeof none);
}

weft_status wi_group_keys_call_run(weft_context *ctx, wi_call *call, wi_group_keys_args *k) {
    return wi_call_run(ctx, call, run, k);
}

/* What all ranks must pass alike. */
static uint64_t alike_of(const wi_group_keys_args *k) {
    uint64_t alike = wi_alike(wi_alike(0, k->width), k->columns);
    for (size_t c = 0; c < k->columns; c++)
        alike = wi_alike(wi_alike(wi_alike(alike, k->column[c].op), k->column[c].type),
                         k->column[c].result_type);
    return alike;
}

/* A call on a place of several GPUs. */
typedef struct spread {
    const wi_call *call;
    const wi_group_keys_args *args;
} spread;

static weft_status run_share(weft_context *rank, void *user);

/* `status` is what the checks of other arguments have said; if not WEFT_OK, only the name of the
 * call is valid. */
static weft_status check_and_run(weft_context *ctx, wi_call *call, wi_group_keys_args *k,
                                 weft_status status) {
    const wi_array *const keys = &call->array[WI_GROUP_KEYS];
    if (status == WEFT_OK)
        status = wi_call_check(ctx, call);
    if (status == WEFT_OK &&
        wi_gpus_wanted(ctx, &wi_group_keys_ladder, keys->p, keys->cols, keys->width))
        return wi_gpus_run(ctx, &wi_group_keys_ladder, call->name, run_share, &(spread){call, k});
    if (wi_is_dist(ctx))
        return wi_dist_run(ctx, &wi_group_keys_ladder, call->name, WI_NO_TYPE,
                           status == WEFT_OK ? alike_of(k) : 0, status, &(wi_dist_args){call, k});
    return status == WEFT_OK ? run_here(ctx, call, k) : status;
}

/* This rank's share of a call: outputs of ranks behind the first wait in memory of their own. */
static weft_status take_share(weft_context *rank, wi_call *call, wi_group_keys_args *k,
                              void *own[WI_CALL_ARRAYS]) {
    const wi_array keys = call->array[WI_GROUP_KEYS];
    const wi_share share = wi_gpus_share(rank, keys.p, keys.cols, keys.width);
    weft_status status = WEFT_OK;
    k->n = share.n;
    for (size_t c = 0; c < k->columns; c++)
        k->column[c].n = k->column[c].segments = share.n;
    for (int i = 0; i < call->count && status == WEFT_OK; i++) {
        wi_array *const a = &call->array[i];
        if (i == WI_GROUP_COUNT)
            continue;
        a->p = wi_share_of(a->p, share, a->width);
        a->cols = a->ld = share.n;
        if (weft_rank(rank) == 0 || !(a->use & WI_OUT))
            continue;
        if (a->p && share.n > 0)
            status = weft_alloc(rank->child, &own[i], share.n * a->width);
        a->p = own[i];
        a->in_place = 0;
    }
    return wi_local(rank, status);
}

static weft_status run_share(weft_context *rank, void *user) {
    const spread *const s = user;
    wi_call call = *s->call;
    wi_group_keys_args k = *s->args;
    void *own[WI_CALL_ARRAYS] = {NULL};
    uint64_t unused, total;
    weft_status status = wi_agree(rank, 0, take_share(rank, &call, &k, own));
    if (weft_rank(rank) > 0)
        call.array[WI_GROUP_COUNT].p = &unused;
    if (status == WEFT_OK)
        status = check_and_run(rank, &call, &k, WEFT_OK);
    const uint64_t runs = rank->comm->own_count;
    for (int i = 0; i < call.count && status == WEFT_OK; i++) {
        const wi_array *const a = &s->call->array[i];
        if (a->p && a->use & WI_OUT && i != WI_GROUP_COUNT)
            status =
                wi_gpus_put(rank, status, (void *)(uintptr_t)a->p, own[i], runs, a->width, &total);
    }
    for (int i = 0; i < call.count; i++)
        weft_free(rank->child, own[i]);
    return status;
}

weft_status wi_group_by_key(weft_context *ctx, wi_group_keys_args *k, weft_status status) {
    wi_call call;
    wi_call_begin(&call, k->call, 0, 0);
    call.distributed = true;
    if (status == WEFT_OK)
        describe(&call, k);
    return check_and_run(ctx, &call, k, status);
}

weft_status weft_reduce_by_key(weft_context *ctx, size_t n, size_t width, const void *keys,
                               void *keys_out, size_t columns, const weft_column *column,
                               uint64_t *count) {
    static const char name[] = "weft_reduce_by_key";
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    wi_group_keys_args k = {.call = name,
                            .way = &wi_group_rounding,
                            .n = n,
                            .width = width,
                            .columns = columns,
                            .keys = keys,
                            .keys_out = keys_out,
                            .count = count};
    weft_status status = wi_group_check_keys(ctx, name, width, columns, column);
    if (status == WEFT_OK)
        status = wi_group_take_columns(ctx, name, columns, column, k.column);
    return wi_group_by_key(ctx, &k, status);
}
