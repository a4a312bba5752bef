/* SPDX-License-Identifier: Apache-2.0 */
/* weft_strided; and the copies, without gaps, of strided inputs, which calls work on in their place
 * (core/call.h). */
#include "core/gpu.h"
#include "gather/gather_columns.h"

_Static_assert(WI_STRIDES == WEFT_STRIDED_MOST, "as the header says");

const void *weft_strided(weft_context *ctx, const void *first, size_t stride_bytes) {
    if (!ctx || !first)
        return NULL;
    wi_stride_notes *const s = &ctx->strides;
    const uint64_t number = s->count++;
    s->latest[number % WI_STRIDES].first = first;
    s->latest[number % WI_STRIDES].stride_bytes = stride_bytes;
    s->latest[number % WI_STRIDES].number = number;
    return &s->name[number % WI_STRIDE_NAMES];
}

static bool is_same(const wi_array *a, const wi_array *b) {
    return a->p == b->p && a->stride_bytes == b->stride_bytes && a->width == b->width &&
           a->cols == b->cols;
}

/* The first of the call's arrays that is the same as array k. */
static int first_same(const wi_call *call, int k) {
    int first = 0;
    while (!is_same(&call->array[first], &call->array[k]))
        first++;
    return first;
}

/* On a GPU, a column of host memory is copied there by the cpu: what crosses is the column alone.
 */
static weft_status pack(weft_context *ctx, const char *call, const wi_array *a, bool host,
                        void *copy) {
    const wi_columns_args args = {.n = a->cols,
                                  .record_bytes = a->stride_bytes,
                                  .records = (unsigned char *)(uintptr_t)a->p,
                                  .columns = 1,
                                  .column = {{.width = a->width, .array = copy}}};
    if (ctx->kind == WI_CUDA && host)
        return wi_columns_threads(ctx, &args);
    return wi_run(ctx, &wi_columns_ladder, call, WI_NO_TYPE, &args);
}

static weft_status take(weft_context *ctx, const char *call, const wi_array *a, bool host,
                        void **copy) {
    const size_t bytes = a->cols * a->width;
    if (!host)
        return wi_gpu_alloc(ctx, copy, bytes);
    *copy = wi_host_alloc_huge(bytes);
    return *copy ? WEFT_OK
                 : wi_fail(ctx, WEFT_ENOMEM,
                           "%s: no host memory for the %zu bytes of %s, whose elements are not "
                           "neighbours; free some",
                           call, bytes, a->name);
}

weft_status wi_strided_take(weft_context *ctx, wi_call *call, wi_packed *packed) {
    const wi_call given = *call;
    weft_status status = WEFT_OK;
    for (int k = 0; k < call->count; k++)
        packed->copy[k] = NULL;
    for (int k = 0; k < call->count && status == WEFT_OK; k++) {
        const wi_array *const old = &given.array[k];
        wi_array *const a = &call->array[k];
        if (old->stride_bytes == 0)
            continue;
        a->stride_bytes = 0;
        a->bytes = a->cols * a->width;
        const int owner = first_same(&given, k);
        packed->host[k] = ctx->kind == WI_CPU || !wi_is_device(ctx, old->p);
        if (call->asked) {
            *call->asked += owner == k ? a->bytes : 0;
            continue;
        }
        if (owner == k && a->bytes > 0) {
            status = take(ctx, call->name, old, packed->host[k], &packed->copy[k]);
            if (status == WEFT_OK)
                status = pack(ctx, call->name, old, packed->host[k], packed->copy[k]);
        }
        a->p = packed->copy[owner];
    }
    return status;
}

weft_status wi_strided_give(weft_context *ctx, const wi_call *call, const wi_packed *packed) {
    weft_status status = WEFT_OK;
    for (int k = 0; k < call->count; k++) {
        if (!packed->copy[k])
            continue;
        if (packed->host[k])
            wi_host_free(packed->copy[k]);
        else if (wi_gpu_free(ctx, packed->copy[k]) != WEFT_OK)
            status = WEFT_EDEVICE;
    }
    return status;
}
