/* SPDX-License-Identifier: Apache-2.0 */
/* Reduction by key: first where the runs of equal keys begin, by select; then each column by the
 * ladder of segments. */
#include "core/gpu.h"
#include "group/group.h"
#include "select/select.h"

enum {
    KEYS,
    KEYS_OUT,
    COUNT,
    COLUMNS /* x and y of each column follow */
};

static const char *const x_names[WEFT_COLUMNS] = {"column[0].x", "column[1].x", "column[2].x",
                                                  "column[3].x", "column[4].x", "column[5].x",
                                                  "column[6].x", "column[7].x"};
static const char *const y_names[WEFT_COLUMNS] = {"column[0].y", "column[1].y", "column[2].y",
                                                  "column[3].y", "column[4].y", "column[5].y",
                                                  "column[6].y", "column[7].y"};

/* One call, but for its arrays. */
typedef struct by_key {
    size_t n, width, columns, start_bytes;
    wi_group_args column[WEFT_COLUMNS];
} by_key;

/* ---- where runs begin ---- */

/* Can select compare the keys itself? */
static bool is_word(size_t width, const void *keys) {
    return (width == 1 || width == 2 || width == 4 || width == 8) && (uintptr_t)keys % width == 0;
}

/* What one pass of select over the keys writes. */
typedef struct passing {
    const uint8_t *heads; /* flags of the keys to keep; NULL: select compares the keys */
    void *keys_out, *starts;
    uint64_t *found;
} passing;

static weft_status run_select(weft_context *ctx, const char *name, const by_key *k,
                              const wi_part *part, passing to) {
    const void *const keys = part->p[KEYS];
    const weft_predicate flagged = WEFT_FLAGGED;
    wi_select_args args = {.n = k->n,
                           .tested_bytes = to.heads ? 1 : k->width,
                           .unique = !to.heads,
                           .range = wi_select_range_of(&flagged),
                           .moves = to.keys_out != NULL,
                           .unit = 1,
                           .units = to.keys_out ? k->width : 1,
                           .position_bytes = to.starts ? k->start_bytes : 0};
    wi_call call = {.name = name, .count = WI_SELECT_ARRAYS};
    wi_array *const array = call.array;
    array[WI_SELECT_S] = to.heads ? wi_items("heads", to.heads, k->n, 1, WI_IN)
                                  : wi_items("keys", keys, k->n, k->width, WI_IN);
    if (to.keys_out) {
        array[WI_SELECT_X] = wi_items("keys", keys, k->n, k->width, WI_IN);
        array[WI_SELECT_Y] = wi_items("keys_out", to.keys_out, k->n, k->width, WI_OUT);
    }
    array[WI_SELECT_POSITIONS] = wi_items("starts", to.starts, k->n, k->start_bytes, WI_OUT);
    array[WI_SELECT_COUNT] = wi_elements("count", to.found, 1, WEFT_U64, WI_OUT);
    return wi_select_run(ctx, &call, &args);
}

/* Memory of one call: where runs begin and how many there are; flags, if keys are not words; and
 * what the columns need on a cpu. All of it is taken before anything is written. */
typedef struct memory {
    void *starts, *heads, *room;
    uint64_t *found;
} memory;

/* keys_out and starts get the key of each run and where it begins. Elements that move in several
 * pieces move in a pass of their own. */
static weft_status find_runs(weft_context *ctx, const char *name, const by_key *k,
                             const wi_part *part, const memory *m) {
    void *const keys_out = part->p[KEYS_OUT];
    const bool at_once = !keys_out || (!m->heads && is_word(k->width, keys_out));
    const passing first = {m->heads, at_once ? keys_out : NULL, m->starts, m->found};
    const passing second = {m->heads, keys_out, NULL, m->found};
    weft_status status =
        m->heads ? wi_group_mark_keys(ctx, part->p[KEYS], k->width, k->n, m->heads) : WEFT_OK;
    if (status == WEFT_OK)
        status = run_select(ctx, name, k, part, first);
    if (status == WEFT_OK && !at_once)
        status = run_select(ctx, name, k, part, second);
    return status;
}

/* ---- the columns ---- */

static weft_status take_room(weft_context *ctx, const char *name, const by_key *k, memory *m) {
    weft_status status = WEFT_OK;
    size_t most = 0;
    for (size_t c = 0; c < k->columns && status == WEFT_OK; c++) {
        const wi_group_args *const column = &k->column[c];
        const wi_row *unused; /* a rung that is forced but cannot do it is refused here */
        status = wi_choose_row(ctx, &wi_group_ladder, name, column->type, column, &unused);
#ifdef WEFT_CUDA
        if (ctx->kind == WI_CUDA && status == WEFT_OK)
            status = wi_group_paths_prepare(ctx, &k->column[c]);
#endif
        const size_t bytes = ctx->kind == WI_CPU ? wi_group_threads_bytes(ctx, &k->column[c]) : 0;
        most = bytes > most ? bytes : most;
    }
    return status == WEFT_OK && most > 0 ? wi_group_take(ctx, name, most, &m->room) : status;
}

static weft_status take_memory(weft_context *ctx, const char *name, const by_key *k,
                               const wi_part *part, memory *m) {
    const size_t word = sizeof *m->found;
    const size_t bytes = (k->n * k->start_bytes + word - 1) / word * word;
    weft_status status = wi_group_take(ctx, name, bytes + word, &m->starts);
    if (status == WEFT_OK) {
        m->found = (uint64_t *)(void *)((char *)m->starts + bytes);
        status = take_room(ctx, name, k, m);
    }
    if (status == WEFT_OK && !is_word(k->width, part->p[KEYS]))
        status = wi_group_take(ctx, name, k->n, &m->heads);
    return status;
}

static weft_status give_memory(weft_context *ctx, const memory *m, weft_status status) {
    void *const each[] = {m->room, m->heads, m->starts};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        const weft_status freed = wi_group_give(ctx, each[i]);
        status = status == WEFT_OK ? freed : status;
    }
    return status;
}

static weft_status reduce_columns(weft_context *ctx, const by_key *k, const wi_part *part,
                                  const memory *m) {
    weft_status status = WEFT_OK;
    for (size_t c = 0; c < k->columns && status == WEFT_OK; c++) {
        wi_group_args args = k->column[c];
        args.found = m->found;
        args.x = part->p[COLUMNS + 2 * c];
        args.starts = m->starts;
        args.y = part->p[COLUMNS + 2 * c + 1];
        args.room = m->room;
        status = wi_run(ctx, &wi_group_ladder, args.call, args.type, &args);
    }
    return status;
}

/* Only what was written is copied back to the host. */
static weft_status keep_written(weft_context *ctx, wi_call *call, const wi_part *part,
                                const uint64_t *found) {
    uint64_t runs;
    if (!part->mirrored)
        return WEFT_OK;
    const weft_status status = weft_copy(ctx, &runs, found, sizeof runs);
    for (int i = 0; i < call->count && status == WEFT_OK; i++) {
        wi_array *const a = &call->array[i];
        if (a->use & WI_OUT && i != COUNT && a->p)
            a->bytes = runs * a->width;
    }
    return status;
}

static weft_status put_count(weft_context *ctx, uint64_t *count, const uint64_t *found) {
    if (ctx->kind == WI_CUDA)
        return wi_gpu_copy_within(ctx, count, found, sizeof *count);
    *count = *found;
    return WEFT_OK;
}

static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    const by_key *const k = user;
    memory m = {.starts = NULL};
    weft_status status = take_memory(ctx, call->name, k, part, &m);
    if (status == WEFT_OK)
        status = find_runs(ctx, call->name, k, part, &m);
    if (status == WEFT_OK)
        status = reduce_columns(ctx, k, part, &m);
    if (status == WEFT_OK)
        status = put_count(ctx, part->p[COUNT], m.found);
    if (status == WEFT_OK)
        status = keep_written(ctx, call, part, m.found);
    return give_memory(ctx, &m, status);
}

/* ---- the call ---- */

static weft_status check_shape(weft_context *ctx, const char *name, size_t width, size_t columns,
                               const weft_column *column) {
    if (width == 0)
        return wi_fail(ctx, WEFT_EARG, "%s: width is 0; pass the bytes of one key", name);
    if (columns > WEFT_COLUMNS)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: columns is %zu; pass at most %d, and the others in another call", name,
                       columns, WEFT_COLUMNS);
    if (columns > 0 && !column)
        return wi_fail(ctx, WEFT_EARG, "%s: column is NULL; pass an array of %zu weft_column", name,
                       columns);
    return WEFT_OK;
}

static weft_status describe_columns(weft_context *ctx, wi_call *call, const weft_column *column,
                                    by_key *k) {
    weft_status status = WEFT_OK;
    for (size_t c = 0; c < k->columns && status == WEFT_OK; c++) {
        wi_group_args *const a = &k->column[c];
        *a = (wi_group_args){.call = call->name,
                             .type = column[c].type,
                             .n = k->n,
                             .segments = k->n,
                             .start_bytes = k->start_bytes};
        status = wi_reduce_check_op(ctx, call->name, column[c].op, a->type, &a->op);
        if (status != WEFT_OK)
            continue;
        wi_call_add(call, wi_elements(x_names[c], column[c].x, k->n, a->type, WI_IN));
        wi_call_add(call, wi_elements(y_names[c], column[c].y, k->n,
                                      wi_reduce_result_type(a->op, a->type), WI_OUT));
    }
    return status;
}

weft_status weft_reduce_by_key(weft_context *ctx, size_t n, size_t width, const void *keys,
                               void *keys_out, size_t columns, const weft_column *column,
                               uint64_t *count) {
    static const char name[] = "weft_reduce_by_key";
    if (wi_check_context(ctx) != WEFT_OK ||
        check_shape(ctx, name, width, columns, column) != WEFT_OK)
        return WEFT_EARG;
    by_key k = {.n = n,
                .width = width,
                .columns = columns,
                .start_bytes = n <= UINT32_MAX ? sizeof(uint32_t) : sizeof(uint64_t)};
    wi_call call;
    wi_call_begin(&call, name, 0, 0);
    wi_call_add(&call, wi_items("keys", keys, n, width, WI_IN));
    wi_call_add(&call, wi_items("keys_out", keys_out, n, width, WI_OUT | WI_OPTIONAL))->in_place =
        1u << KEYS;
    wi_call_add(&call, wi_elements("count", count, 1, WEFT_U64, WI_OUT));
    weft_status status = describe_columns(ctx, &call, column, &k);
    if (status == WEFT_OK)
        status = wi_call_check(ctx, &call);
    if (status != WEFT_OK || n > 0)
        return status == WEFT_OK ? wi_call_run(ctx, &call, run, &k) : status;
    const uint64_t none = 0;
    return weft_copy(ctx, count, &none, sizeof none);
}
