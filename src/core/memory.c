/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a place: allocating, freeing and copying; and waiting for queued work. */
#include <stdint.h>

#include "comm/gpus.h"
#include "core/gpu.h"
#include "core/rowcopy.h"
#include "core/trace.h"
#ifdef WEFT_CUDA
#    include "core/stage.h"
#endif

bool wi_is_device(const weft_context *ctx, const void *p) {
    return ctx->gpu && wi_gpu_is_device(ctx, p);
}

bool wi_is_host(const weft_context *ctx, const void *p) {
    return !ctx->gpu || wi_gpu_is_host(ctx, p);
}

weft_status weft_alloc(weft_context *ctx, void **memory, size_t bytes) {
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    if (!memory)
        return wi_fail(ctx, WEFT_EARG, "weft_alloc: memory is NULL; pass the address of a pointer");
    *memory = NULL;
    if (bytes == 0)
        return WEFT_OK;
    if (wi_is_gpus(ctx))
        return wi_gpus_alloc(ctx, memory, bytes);
    if (ctx->gpu)
        return wi_gpu_alloc(ctx, memory, bytes);
    *memory = wi_host_alloc_huge(bytes);
    if (!*memory)
        return wi_fail(ctx, WEFT_ENOMEM, "weft_alloc: no host memory for %zu bytes", bytes);
    return WEFT_OK;
}

weft_status weft_free(weft_context *ctx, void *memory) {
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    if (!memory)
        return WEFT_OK;
    if (wi_is_gpus(ctx))
        return wi_gpus_free(ctx, memory);
    if (ctx->gpu)
        return wi_gpu_free(ctx, memory);
    wi_host_free(memory);
    return WEFT_OK;
}

static weft_status copy(weft_context *ctx, void *to, const void *from, size_t bytes) {
    if (wi_is_gpus(ctx))
        return wi_gpus_copy(ctx, to, from, bytes);
    if (ctx->gpu)
        return wi_gpu_copy(ctx, to, from, bytes);
    wi_pitched_copy_all(ctx, ctx->threads, (wi_pitched){to, bytes},
                        (wi_pitched){(void *)(uintptr_t)from, bytes}, 1, bytes);
    return WEFT_OK;
}

weft_status weft_copy(weft_context *ctx, void *to, const void *from, size_t bytes) {
    static const char name[] = "weft_copy";
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    if (bytes == 0)
        return WEFT_OK;
    if (!to || !from)
        return wi_fail(ctx, WEFT_EARG, "weft_copy: %s is NULL; pass memory of %zu bytes",
                       to ? "from" : "to", bytes);
    if (wi_overlap(to, bytes, from, bytes))
        return wi_fail(ctx, WEFT_EARG, "weft_copy: to and from overlap; pass separate memory");
    if (!ctx->tracer)
        return copy(ctx, to, from, bytes);
    const wi_traffic before = ctx->tracer->bytes;
    const double begin = wi_trace_host_begin(ctx, name, NULL);
    ctx->tracer->bytes = (wi_traffic){bytes, bytes};
    const weft_status status = copy(ctx, to, from, bytes);
    wi_trace_host_end(ctx, name, NULL, begin);
    ctx->tracer->bytes = before;
    return status;
}

weft_status wi_copy_rows(weft_context *ctx, wi_pitched to, wi_pitched from, size_t rows,
                         size_t row_bytes) {
#ifdef WEFT_CUDA
    if (ctx->gpu) {
        int before;
        weft_status status = wi_gpu_enter(ctx, &before);
        if (status != WEFT_OK)
            return status;
        status = wi_stage_queue_rows(ctx, to, from, rows, row_bytes, ctx->gpu->stream);
        wi_gpu_leave(ctx, before);
        return status;
    }
#endif
    wi_pitched_copy_all(ctx, ctx->threads, to, from, rows, row_bytes);
    return WEFT_OK;
}

weft_status weft_sync(weft_context *ctx) {
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    return ctx->gpu ? wi_gpu_sync(ctx) : WEFT_OK;
}

weft_status weft_set_stream(weft_context *ctx, void *stream) {
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    if (ctx->gpu)
        return wi_gpu_set_stream(ctx, stream);
    if (stream)
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "weft_set_stream: place %s has no streams; pass NULL, or open a gpu place",
                       ctx->place);
    return WEFT_OK;
}
