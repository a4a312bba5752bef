/* SPDX-License-Identifier: Apache-2.0 */
/* Host arrays of a call on a GPU place, copied whole. */
#include "sort/sort_mirror.h"

#include "core/gpu.h"

enum {
    COPY_ALIGNMENT = 256 /* the least that device memory comes with */
};

/* An earlier mirror of the same array. */
static const wi_mirror *twin(const wi_mirror *mirrors, size_t k) {
    for (size_t i = 0; i < k; i++) {
        if (mirrors[i].array == mirrors[k].array && mirrors[i].bytes == mirrors[k].bytes)
            return &mirrors[i];
    }
    return NULL;
}

static weft_status open_one(weft_context *ctx, const char *call, wi_mirror *m) {
    if (wi_gpu_capturing(ctx))
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: arrays in host memory cannot be used during a stream capture; pass "
                       "device memory",
                       call);
    weft_status status = wi_gpu_alloc(ctx, &m->p, m->bytes);
    if (status != WEFT_OK)
        return status;
    m->copied = true;
    return m->in ? wi_gpu_copy(ctx, m->p, m->array, m->bytes) : WEFT_OK;
}

weft_status wi_mirror_open(weft_context *ctx, const char *call, wi_mirror *mirrors, size_t count,
                           size_t *asked) {
    weft_status status = WEFT_OK;
    for (size_t k = 0; k < count && status == WEFT_OK; k++) {
        wi_mirror *const m = &mirrors[k];
        const wi_mirror *const same = twin(mirrors, k);
        m->p = same ? same->p : (void *)(uintptr_t)m->array;
        m->out = m->out && !asked;
        if (same || !m->array || m->bytes == 0 || ctx->kind == WI_CPU || wi_is_device(ctx, m->p))
            continue;
        if (asked) {
            *asked += m->bytes;
            m->p = (void *)((k + 1) * COPY_ALIGNMENT);
        } else {
            status = open_one(ctx, call, m);
        }
    }
    return status == WEFT_OK ? status : wi_mirror_close(ctx, mirrors, count, status);
}

weft_status wi_mirror_close(weft_context *ctx, wi_mirror *mirrors, size_t count,
                            weft_status status) {
    for (size_t k = 0; k < count; k++) {
        wi_mirror *const m = &mirrors[k];
        if (status == WEFT_OK && m->out && m->p != m->array)
            status = wi_gpu_copy(ctx, (void *)(uintptr_t)m->array, m->p, m->bytes);
    }
    for (size_t k = 0; k < count; k++) {
        wi_mirror *const m = &mirrors[k];
        if (m->copied) {
            const weft_status freed = wi_gpu_free(ctx, m->p);
            status = status == WEFT_OK ? freed : status;
        }
        m->copied = false;
    }
    return status;
}
