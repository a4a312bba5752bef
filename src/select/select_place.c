/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a checked call on memory of its place. On a GPU, host arrays are copied whole, not in
 * segments: how much a segment writes is known only after it has run. */
#include <string.h>

#include "core/gpu.h"
#include "select/select.h"

/* Chooses the largest unit, at most 16 bytes, that divides `width` and to which all addresses are
 * aligned. */
static void choose_unit(wi_select_args *args) {
    const size_t width = args->unit * args->units;
    const uintptr_t all = (uintptr_t)args->x | (uintptr_t)args->kept | (uintptr_t)args->rest |
                          (uintptr_t)args->fill | width | 16;
    args->unit = (size_t)(all & -all);
    args->units = width / args->unit;
}

/* On a GPU, elements of several units are read only when their place is known. In place that would
 * be too late, so they are read from a copy. */
static weft_status copy_apart(weft_context *ctx, wi_select_args *args, void **copy) {
    const size_t bytes = args->n * args->unit * args->units;
    if (ctx->kind == WI_CPU || args->units == 1 || args->x != args->kept || bytes == 0)
        return WEFT_OK;
    const weft_status status = wi_gpu_alloc(ctx, copy, bytes);
    if (status != WEFT_OK)
        return status;
    args->x = *copy;
    return wi_gpu_copy_within(ctx, *copy, args->kept, bytes);
}

/* Only what was written is copied back to the host; the count says how much. It is read here
 * already, and given to the caller when everything else has arrived. */
static weft_status keep_written(weft_context *ctx, wi_call *call, const wi_part *part,
                                wi_select_args *args) {
    const size_t width = args->unit * args->units;
    wi_array *const array = call->array, *const count = &array[WI_SELECT_COUNT];
    uint64_t kept = 0;
    if (!part->mirrored || !part->p[WI_SELECT_COUNT])
        return WEFT_OK;
    const weft_status status = weft_copy(ctx, &kept, part->p[WI_SELECT_COUNT], sizeof kept);
    if (status != WEFT_OK)
        return status;
    if (!args->rest_follows)
        array[WI_SELECT_Y].bytes = kept * width;
    array[WI_SELECT_Z].bytes = array[WI_SELECT_Z].p ? (args->n - kept) * width : 0;
    array[WI_SELECT_POSITIONS].bytes = kept * args->position_bytes;
    args->found = kept;
    args->count_waits = wi_is_host(ctx, count->p);
    if (args->count_waits)
        count->bytes = 0;
    return WEFT_OK;
}

static weft_status run_part(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_select_args *const told = user;
    wi_select_args args = *told;
    void *copy = NULL;
    args.tested = part->p[WI_SELECT_S];
    args.x = part->p[WI_SELECT_X];
    args.kept = part->p[WI_SELECT_Y];
    args.rest = part->p[WI_SELECT_Z];
    args.positions = part->p[WI_SELECT_POSITIONS];
    args.fill = part->p[WI_SELECT_FILL];
    args.count = part->p[WI_SELECT_COUNT];
    choose_unit(&args);
    weft_status status = copy_apart(ctx, &args, &copy);
    if (status == WEFT_OK)
        status = wi_run(ctx, &wi_select_ladder, call->name, WI_NO_TYPE, &args);
    if (status == WEFT_OK)
        status = keep_written(ctx, call, part, told);
    const weft_status freed = copy ? wi_gpu_free(ctx, copy) : WEFT_OK;
    return status == WEFT_OK ? freed : status;
}

weft_status wi_select_run(weft_context *ctx, wi_call *call, wi_select_args *args) {
    wi_array *const fill = &call->array[WI_SELECT_FILL];
    if (fill->p && fill->width <= WI_SELECT_FILL_BYTES && wi_is_host(ctx, fill->p)) {
        memcpy(args->fill_bytes, fill->p, fill->width);
        *fill = (wi_array){.name = NULL};
    }
    const weft_status status = wi_call_run(ctx, call, run_part, args);
    if (status == WEFT_OK && args->count_waits)
        *(uint64_t *)(uintptr_t)call->array[WI_SELECT_COUNT].p = args->found;
    return status;
}
