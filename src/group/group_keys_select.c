/* SPDX-License-Identifier: Apache-2.0 */
/* Rung "select" of reduction by key: first where the runs of equal keys begin, by select; then each
 * column by the ladder of segments. */
#include "core/gpu.h"
#include "group/group.h"
#include "select/select.h"

/* ---- where runs begin ---- */

bool wi_group_is_word(size_t width, const void *keys) {
    return (width == 1 || width == 2 || width == 4 || width == 8) && (uintptr_t)keys % width == 0;
}

/* What one pass of select over the keys writes. */
typedef struct passing {
    const uint8_t *heads; /* flags of the keys to keep; NULL: select compares the keys */
    void *keys_out, *starts;
    uint64_t *found;
} passing;

static weft_status run_select(weft_context *ctx, const wi_group_keys_args *k, passing to) {
    const weft_predicate flagged = WEFT_FLAGGED;
    wi_select_args args = {.n = k->n,
                           .tested_bytes = to.heads ? 1 : k->width,
                           .unique = !to.heads,
                           .range = wi_select_range_of(&flagged),
                           .moves = to.keys_out != NULL,
                           .unit = 1,
                           .units = to.keys_out ? k->width : 1,
                           .position_bytes = to.starts ? k->start_bytes : 0};
    wi_call call = {.name = k->call, .count = WI_SELECT_ARRAYS};
    wi_array *const array = call.array;
    array[WI_SELECT_S] = to.heads ? wi_items("heads", to.heads, k->n, 1, WI_IN)
                                  : wi_items("keys", k->keys, k->n, k->width, WI_IN);
    if (to.keys_out) {
        array[WI_SELECT_X] = wi_items("keys", k->keys, k->n, k->width, WI_IN);
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
static weft_status find_runs(weft_context *ctx, const wi_group_keys_args *k, const memory *m) {
    void *const keys_out = k->keys_out;
    const bool at_once = !keys_out || (!m->heads && wi_group_is_word(k->width, keys_out));
    const passing first = {m->heads, at_once ? keys_out : NULL, m->starts, m->found};
    const passing second = {m->heads, keys_out, NULL, m->found};
    weft_status status =
        m->heads ? wi_group_mark_keys(ctx, k->keys, k->width, k->n, m->heads) : WEFT_OK;
    if (status == WEFT_OK)
        status = run_select(ctx, k, first);
    if (status == WEFT_OK && !at_once)
        status = run_select(ctx, k, second);
    return status;
}

/* ---- the columns ---- */

static weft_status take_memory(weft_context *ctx, const wi_group_keys_args *k, memory *m) {
    const size_t word = sizeof *m->found;
    const size_t bytes = (k->n * k->start_bytes + word - 1) / word * word;
    weft_status status = wi_group_take(ctx, k->call, bytes + word, &m->starts);
    if (status == WEFT_OK) {
        m->found = (uint64_t *)(void *)((char *)m->starts + bytes);
        status = wi_group_take_room(ctx, k->way, k->columns, k->column, &m->room);
    }
    if (status == WEFT_OK && !wi_group_is_word(k->width, k->keys))
        status = wi_group_take(ctx, k->call, k->n, &m->heads);
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

static weft_status reduce_columns(weft_context *ctx, const wi_group_keys_args *k, const memory *m) {
    weft_status status = WEFT_OK;
    for (size_t c = 0; c < k->columns && status == WEFT_OK; c++) {
        wi_group_args args = k->column[c];
        args.found = m->found;
        args.starts = m->starts;
        args.room = m->room;
        status = wi_run(ctx, k->way->ladder, args.call, args.type, &args);
    }
    return status;
}

static weft_status put_count(weft_context *ctx, uint64_t *count, const uint64_t *found) {
    if (ctx->kind == WI_CUDA)
        return wi_gpu_copy_within(ctx, count, found, sizeof *count);
    *count = *found;
    return WEFT_OK;
}

weft_status wi_group_keys_select(weft_context *ctx, const void *args) {
    const wi_group_keys_args *const k = args;
    memory m = {.starts = NULL};
    weft_status status = take_memory(ctx, k, &m);
    if (status == WEFT_OK)
        status = find_runs(ctx, k, &m);
    if (status == WEFT_OK)
        status = reduce_columns(ctx, k, &m);
    if (status == WEFT_OK)
        status = put_count(ctx, k->count, m.found);
    return give_memory(ctx, &m, status);
}
