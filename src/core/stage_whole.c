/* SPDX-License-Identifier: Apache-2.0 */
/* Staging of whole arrays, one after the other: the rungs "pageable" and "pinned". */
#include "core/stage_job.h"

static weft_status reserve_whole(const wi_stage_job *j, size_t bytes) {
    struct wi_stage *const stage = j->ctx->gpu->stage;
    if (bytes <= stage->whole_bytes)
        return WEFT_OK;
    cudaFreeHost(stage->whole);
    stage->whole = NULL;
    stage->whole_bytes = 0;
    const weft_status status =
        wi_cuda(j->ctx, cudaHostAlloc((void **)&stage->whole, bytes, cudaHostAllocDefault),
                "taking pinned host memory for whole arrays; variant segmented needs less");
    if (status == WEFT_OK)
        stage->whole_bytes = bytes;
    else
        stage->whole = NULL;
    return status;
}

/* How each array crosses the link as a whole. */
typedef struct crossing {
    char *device[WI_MAX_OPERANDS];    /* copies without gaps; NULL: it is on the device already */
    wi_pitched host[WI_MAX_OPERANDS]; /* what the link uses: pinned memory or the caller's */
    size_t row_bytes[WI_MAX_OPERANDS];
} crossing;

static wi_pitched user_rows(const wi_stage_job *j, int k) {
    return (wi_pitched){j->arrays.array[k].p, j->arrays.array[k].pitch_bytes};
}

/* Allocates device memory for all arrays, but for a copy's, which is the other array; and, if they
 * are to bounce, pinned memory. */
static weft_status reserve_crossing(const wi_stage_job *j, bool bounce, crossing *c) {
    size_t pinned_bytes = 0, pinned_at[WI_MAX_OPERANDS];
    weft_status status = WEFT_OK;
    for (int k = 0; k < j->arrays.count && status == WEFT_OK; k++) {
        c->row_bytes[k] = j->arrays.cols * j->arrays.array[k].element_bytes;
        c->host[k] = user_rows(j, k);
        if (wi_on_device(j, k))
            continue;
        const size_t bytes = j->arrays.rows * c->row_bytes[k];
        pinned_at[k] = pinned_bytes;
        pinned_bytes += wi_stage_align(bytes);
        if (j->args->copies)
            c->device[k] = wi_stage_array_at(&j->arrays, 1 - k, 0, 0);
        else
            status = wi_gpu_alloc(j->ctx, (void **)&c->device[k], bytes);
    }
    if (status != WEFT_OK || !bounce)
        return status;
    status = reserve_whole(j, pinned_bytes);
    for (int k = 0; k < j->arrays.count && status == WEFT_OK; k++)
        if (j->memory[k] == WI_MEMORY_PAGEABLE)
            c->host[k] = (wi_pitched){j->ctx->gpu->stage->whole + pinned_at[k], c->row_bytes[k]};
    return status;
}

static weft_status cross_over(const wi_stage_job *j, const crossing *c, bool bounce) {
    weft_status status = WEFT_OK;
    for (int k = 0; k < j->arrays.count && status == WEFT_OK; k++) {
        if (wi_on_device(j, k) || !j->arrays.array[k].in)
            continue;
        if (bounce && wi_bounces_in(j, k))
            wi_pitched_copy_all(j->ctx, wi_stage_copiers(j->ctx), c->host[k], user_rows(j, k),
                                j->arrays.rows, c->row_bytes[k]);
        status =
            wi_stage_queue_rows(j->ctx, (wi_pitched){c->device[k], c->row_bytes[k]}, c->host[k],
                                j->arrays.rows, c->row_bytes[k], j->ctx->gpu->stream);
    }
    return status;
}

static weft_status cross_back(const wi_stage_job *j, const crossing *c, bool bounce) {
    weft_status status = WEFT_OK;
    for (int k = 0; k < j->arrays.count && status == WEFT_OK; k++)
        if (!wi_on_device(j, k) && j->arrays.array[k].out)
            status =
                wi_stage_queue_rows(j->ctx, c->host[k], (wi_pitched){c->device[k], c->row_bytes[k]},
                                    j->arrays.rows, c->row_bytes[k], j->ctx->gpu->stream);
    if (status == WEFT_OK)
        status = wi_cuda(j->ctx, cudaStreamSynchronize(j->ctx->gpu->stream),
                         "waiting for outputs on their way to the host");
    for (int k = 0; k < j->arrays.count && status == WEFT_OK; k++)
        if (bounce && wi_bounces_out(j, k))
            wi_pitched_copy_all(j->ctx, wi_stage_copiers(j->ctx), user_rows(j, k), c->host[k],
                                j->arrays.rows, c->row_bytes[k]);
    return status;
}

weft_status wi_stage_run_whole(const wi_stage_job *j, bool bounce) {
    crossing c = {.device = {NULL}};
    weft_status status = reserve_crossing(j, bounce, &c);
    if (status != WEFT_OK)
        goto done;
    status = cross_over(j, &c, bounce);
    if (status != WEFT_OK)
        goto done;
    status = wi_stage_run_kernel(j, (wi_segment){0, 0, j->arrays.rows, j->arrays.cols}, c.device);
    if (status == WEFT_OK)
        status = cross_back(j, &c, bounce);
done:
    /* Wait after a failure too: the caller may free or reuse its arrays once the call returns. */
    if (status != WEFT_OK)
        cudaStreamSynchronize(j->ctx->gpu->stream);
    for (int k = 0; k < j->arrays.count; k++)
        if (c.device[k] && !j->args->copies)
            cudaFreeAsync(c.device[k], j->ctx->gpu->stream);
    return status;
}
