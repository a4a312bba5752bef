/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the place for a call of group, and flags of the first element of every segment and of
 * every run of equal keys. */
#include <string.h>

#include "core/gpu.h"
#include "cpu/team.h"
#include "group/group.h"

weft_status wi_group_take(weft_context *ctx, const char *call, size_t bytes, void **p) {
    if (ctx->kind == WI_CUDA)
        return wi_gpu_alloc(ctx, p, bytes);
    *p = wi_host_alloc(bytes);
    if (*p)
        return WEFT_OK;
    return wi_fail(ctx, WEFT_ENOMEM, "%s: no host memory for %zu bytes; free some", call, bytes);
}

weft_status wi_group_give(weft_context *ctx, void *p) {
    if (ctx->kind == WI_CUDA)
        return p ? wi_gpu_free(ctx, p) : WEFT_OK;
    wi_host_free(p);
    return WEFT_OK;
}

/* The arguments of the threads. */
typedef struct marking {
    const wi_group_args *segments;
    const unsigned char *keys;
    size_t n, width;
    uint8_t *heads;
} marking;

static void mark_share_of_keys(void *user, int rank, int size) {
    const marking *const m = user;
    const size_t end = wi_team_share(m->n, rank + 1, size), width = m->width;
    for (size_t i = wi_team_share(m->n, rank, size); i < end; i++)
        m->heads[i] = i == 0 || memcmp(m->keys + i * width, m->keys + (i - 1) * width, width) != 0;
}

static void mark_share_of_starts(void *user, int rank, int size) {
    const marking *const m = user;
    const wi_group_args *const a = m->segments;
    const size_t end = wi_team_share(a->segments, rank + 1, size);
    for (size_t s = wi_team_share(a->segments, rank, size); s < end; s++) {
        const size_t first = wi_group_start(a, s);
        if (first < wi_group_end(a, a->segments, s))
            m->heads[first] = 1;
    }
}

weft_status wi_group_mark_keys(weft_context *ctx, const void *keys, size_t width, size_t n,
                               uint8_t *heads) {
#ifdef WEFT_CUDA
    if (ctx->kind == WI_CUDA)
        return wi_group_mark_keys_cuda(ctx, keys, width, n, heads);
#endif
    wi_team_run(ctx, wi_team_size(ctx, n, n * width), mark_share_of_keys,
                &(marking){.keys = keys, .n = n, .width = width, .heads = heads});
    return WEFT_OK;
}

weft_status wi_group_mark_starts(weft_context *ctx, const wi_group_args *segments, uint8_t *heads) {
#ifdef WEFT_CUDA
    if (ctx->kind == WI_CUDA)
        return wi_group_mark_starts_cuda(ctx, segments, heads);
#endif
    memset(heads, 0, segments->n);
    wi_team_run(ctx,
                wi_team_size(ctx, segments->segments, segments->segments * segments->start_bytes),
                mark_share_of_starts, &(marking){.segments = segments, .heads = heads});
    return WEFT_OK;
}
