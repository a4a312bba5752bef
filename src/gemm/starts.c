/* SPDX-License-Identifier: Apache-2.0 */
/* Tells all ranks who has which rows and columns, and passes vectors through host memory. */
#include "gemm/starts.h"

#include <string.h>

#include "gemm/strided.h"
#include "weft/gemm.h"

/* ---- extents ---- */

static weft_status take(weft_context *ctx, wi_starts *s) {
    const size_t size = (size_t)ctx->comm->size;
    void *room;
    const weft_status status = wi_dist_take(ctx, 4 * size + 2, sizeof *s->m, &room);
    *s = (wi_starts){NULL, NULL, NULL, NULL};
    if (status != WEFT_OK)
        return status;
    s->m = room;
    s->n = s->m + size + 1;
    s->sent = s->n + size + 1;
    s->come = s->sent + size;
    return WEFT_OK;
}

weft_status wi_starts_join(weft_context *ctx, const char *name, size_t m, size_t n,
                           weft_status status, wi_starts *s) {
    const uint64_t own[2] = {m, n}, *all = NULL;
    ctx->comm->call = name;
    *s = (wi_starts){NULL, NULL, NULL, NULL};
    if (status == WEFT_OK)
        status = take(ctx, s);
    status = wi_agree(ctx, wi_alike_bytes(0, name, strlen(name)), status);
    if (status == WEFT_OK)
        status = wi_all_words(ctx, own, 2, &all);
    if (status != WEFT_OK)
        return status;
    s->m[0] = s->n[0] = 0;
    for (int r = 0; r < ctx->comm->size; r++) {
        s->m[r + 1] = s->m[r] + all[2 * r];
        s->n[r + 1] = s->n[r] + all[2 * r + 1];
    }
    return WEFT_OK;
}

weft_status wi_starts_even(weft_context *ctx, size_t m, size_t n, wi_starts *s) {
    const size_t size = (size_t)ctx->comm->size;
    const weft_status status = take(ctx, s);
    for (size_t r = 0; r <= size && status == WEFT_OK; r++) {
        s->m[r] = m / size * r + m % size * r / size;
        s->n[r] = n / size * r + n % size * r / size;
    }
    return status;
}

void wi_starts_give(wi_starts *s) {
    wi_host_free(s->m);
}

/* ---- vectors ---- */

wi_vector_part wi_vector_some(const wi_vector_part *v, size_t first, size_t n) {
    const size_t before = v->inc < 0 ? v->n - first - n : first; /* in memory */
    wi_vector_part some = *v;
    if (n > 0)
        some.p = (const char *)v->p + before * wi_distance(v->inc) * weft_type_size(v->type);
    some.n = n;
    return some;
}

static void reverse(char *p, size_t n, size_t width) {
    char other[sizeof(double)];
    for (size_t i = 0; i < n / 2; i++) {
        char *const a = p + i * width, *const b = p + (n - 1 - i) * width;
        memcpy(other, a, width);
        memcpy(a, b, width);
        memcpy(b, other, width);
    }
}

/* A vector with gaps is a line of a matrix. */
weft_status wi_vector_fetch(weft_context *ctx, const wi_vector_part *v, void *host) {
    const size_t width = weft_type_size(v->type), apart = wi_distance(v->inc);
    if (v->n == 0)
        return WEFT_OK;
    const weft_status status =
        apart == 1 ? weft_copy(ctx->child, host, v->p, v->n * width)
                   : weft_transpose(ctx->child, 0, width, 1, v->n, v->p, apart, host, v->n);
    if (v->inc < 0)
        reverse(host, v->n, width);
    return wi_local(ctx, status);
}

weft_status wi_vector_put(weft_context *ctx, const wi_vector_part *v, void *host) {
    const size_t width = weft_type_size(v->type), apart = wi_distance(v->inc);
    void *const p = (void *)(uintptr_t)v->p;
    if (v->n == 0)
        return WEFT_OK;
    if (v->inc < 0)
        reverse(host, v->n, width);
    return wi_local(ctx, apart == 1
                             ? weft_copy(ctx->child, p, host, v->n * width)
                             : weft_transpose(ctx->child, 0, width, v->n, 1, host, v->n, p, apart));
}

weft_status wi_vector_gather(weft_context *ctx, const wi_vector_part *v, const size_t *starts,
                             size_t *counts, void **whole) {
    const size_t width = weft_type_size(v->type);
    void *own;
    weft_status status = wi_dist_take(ctx, wi_starts_all(ctx, starts), width, whole);
    const weft_status taken = wi_dist_take(ctx, v->n, width, &own);
    status = status == WEFT_OK ? taken : status;
    if (status == WEFT_OK)
        status = wi_vector_fetch(ctx, v, own);
    for (int r = 0; r < ctx->comm->size; r++)
        counts[r] = wi_starts_count(starts, r);
    status = wi_agree(ctx, 0, status);
    if (status == WEFT_OK)
        status = ctx->comm->calls->all_gather_v(ctx, own, *whole, counts, v->type);
    wi_host_free(own);
    return status;
}
