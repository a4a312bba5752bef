/* SPDX-License-Identifier: Apache-2.0 */
/* A checked call to memory that its place can reach: on a GPU, arrays of the host are brought over
 * whole, for how much comes out of a part is known only when that part is done. */
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

/* Device memory standing in for an array of the host, and for shorter ones that begin there. */
typedef struct stand_in {
    void *host, *device;
    size_t bytes;
} stand_in;

enum {
    MOST_STAND_INS = 8
};

typedef struct visit {
    weft_context *ctx;
    stand_in arrays[MOST_STAND_INS];
    int count;
} visit;

static stand_in *find(visit *v, const void *host, size_t bytes) {
    for (int k = 0; k < v->count; k++)
        if (v->arrays[k].host == host && bytes <= v->arrays[k].bytes)
            return &v->arrays[k];
    return NULL;
}

/* Replaces *p by memory of the device, filled from it if `in`. The same array, or its beginning, is
 * replaced by the same memory. */
static weft_status bring(visit *v, const void **p, size_t bytes, bool in) {
    void *const host = (void *)(uintptr_t)*p;
    if (!host || bytes == 0 || wi_is_device(v->ctx, host))
        return WEFT_OK;
    const stand_in *known = find(v, host, bytes);
    if (known) {
        *p = known->device;
        return WEFT_OK;
    }
    stand_in *const made = &v->arrays[v->count];
    weft_status status = weft_alloc(v->ctx, &made->device, bytes);
    if (status != WEFT_OK)
        return status;
    made->host = host;
    made->bytes = bytes;
    v->count++;
    *p = made->device;
    return in ? weft_copy(v->ctx, made->device, host, bytes) : WEFT_OK;
}

static weft_status bring_output(visit *v, void **p, size_t bytes, bool in) {
    const void *array = *p;
    const weft_status status = bring(v, &array, bytes, in);
    *p = (void *)(uintptr_t)array;
    return status;
}

/* Copies what an array of the host has become back to it. */
static weft_status fetch(visit *v, void *host, size_t bytes) {
    const stand_in *known = find(v, host, bytes);
    return host && bytes && known ? weft_copy(v->ctx, host, known->device, bytes) : WEFT_OK;
}

static weft_status bring_all(visit *v, wi_select_args *args) {
    const size_t width = args->unit * args->units, n = args->n;
    const bool expand = args->job == WI_SELECT_EXPAND;
    const size_t tested_bytes = n * args->tested_bytes;
    const size_t moved_bytes = (expand ? args->packed : n) * width;
    /* x may begin where the tested elements do: the longer of them stands for both */
    weft_status status = WEFT_OK;
    if (moved_bytes > tested_bytes)
        status = bring(v, &args->x, moved_bytes, true);
    if (status == WEFT_OK)
        status = bring(v, &args->tested, tested_bytes, true);
    if (status == WEFT_OK && moved_bytes <= tested_bytes)
        status = bring(v, &args->x, moved_bytes, true);
    if (status == WEFT_OK && args->fill && width <= WI_SELECT_FILL_BYTES &&
        wi_is_host(v->ctx, args->fill)) {
        memcpy(args->fill_bytes, args->fill, width);
        args->fill = NULL;
    }
    if (status == WEFT_OK)
        status = bring(v, &args->fill, width, true);
    if (status == WEFT_OK)
        status = bring_output(v, &args->kept, n * width, expand && !args->has_fill);
    if (status == WEFT_OK)
        status = bring_output(v, &args->rest, n * width, false);
    if (status == WEFT_OK)
        status = bring_output(v, &args->positions, n * args->position_bytes, false);
    return status;
}

/* Outputs in memory of the host, once the count is known there. */
static weft_status fetch_all(visit *v, const wi_select_args *args, uint64_t count) {
    const size_t width = args->unit * args->units, n = args->n;
    const bool all = args->job == WI_SELECT_EXPAND || args->rest_follows;
    weft_status status = fetch(v, args->kept, (all ? n : count) * width);
    if (status == WEFT_OK && args->rest)
        status = fetch(v, args->rest, (n - count) * width);
    if (status == WEFT_OK)
        status = fetch(v, args->positions, count * args->position_bytes);
    return status;
}

/* Elements that move in several pieces are read when their place is known: in place that would be
 * too late, so they are read from a copy. */
static weft_status copy_apart(visit *v, wi_select_args *args) {
    choose_unit(args);
    if (args->units == 1 || args->x != args->kept || args->n == 0 || !args->x)
        return WEFT_OK;
    const size_t bytes = args->n * args->unit * args->units;
    stand_in *const made = &v->arrays[v->count];
    weft_status status = weft_alloc(v->ctx, &made->device, bytes);
    if (status != WEFT_OK)
        return status;
    made->host = NULL;
    v->count++;
    status = weft_copy(v->ctx, made->device, args->x, bytes);
    args->x = made->device;
    return status;
}

static weft_status run_on_gpu(weft_context *ctx, const char *call, const wi_select_args *user) {
    visit v = {.ctx = ctx};
    wi_select_args args = *user;
    uint64_t count = 0;
    void *device_count = user->count;
    const bool count_on_host = user->count && !wi_is_device(ctx, user->count);
    weft_status status = bring_all(&v, &args);
    if (status == WEFT_OK)
        status = copy_apart(&v, &args);
    if (status == WEFT_OK && count_on_host)
        status = weft_alloc(ctx, &device_count, sizeof count);
    args.count = device_count;
    if (status == WEFT_OK)
        status = wi_run(ctx, &wi_select_ladder, call, args.n, &args);
    if (status == WEFT_OK && user->count && (count_on_host || v.count > 0))
        status = weft_copy(ctx, &count, device_count, sizeof count);
    if (status == WEFT_OK)
        status = fetch_all(&v, user, count);
    if (status == WEFT_OK && count_on_host)
        *user->count = count;
    for (int k = 0; k < v.count; k++)
        weft_free(ctx, v.arrays[k].device);
    if (count_on_host)
        weft_free(ctx, device_count);
    return status;
}

static bool any_on_host(const weft_context *ctx, const wi_select_args *args) {
    const void *const arrays[] = {args->tested, args->x,         args->kept,
                                  args->rest,   args->positions, args->count};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        if (arrays[k] && !wi_is_device(ctx, arrays[k]))
            return true;
    return false;
}

weft_status wi_select_run(weft_context *ctx, const char *call, const wi_select_args *args) {
    if (ctx->kind == WI_CUDA) {
        if (wi_gpu_capturing(ctx) && any_on_host(ctx, args))
            return wi_fail(ctx, WEFT_EUNSUPPORTED,
                           "%s: host memory cannot take part in a stream capture; pass arrays and "
                           "count in device memory",
                           call);
        return run_on_gpu(ctx, call, args);
    }
    wi_select_args own = *args;
    choose_unit(&own);
    return wi_run(ctx, &wi_select_ladder, call, own.n, &own);
}
