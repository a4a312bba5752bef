/* SPDX-License-Identifier: Apache-2.0 */
/* A checked call on the memory of its place. On a GPU, arrays of the host are brought over whole:
 * how much comes out of a part is known only when that part is done. */
#include <string.h>

#include "core/gpu.h"
#include "select/select.h"

/* The largest piece, at most 16 bytes, that elements of `width` bytes are whole numbers of and all
 * of the addresses are multiples of. */
static void choose_unit(wi_select_args *args) {
    const size_t width = args->unit * args->units;
    const uintptr_t all = (uintptr_t)args->x | (uintptr_t)args->kept | (uintptr_t)args->rest |
                          (uintptr_t)args->fill | width | 16;
    args->unit = (size_t)(all & -all);
    args->units = width / args->unit;
}

/* On a GPU, elements that move in several pieces are read when their place is known: in place that
 * would be too late, so they are read from a copy. */
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

/* Only what was written goes back to the host; how much that is, the count tells. It is known here
 * already, and given to the caller when all else is there. */
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
