/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of gemm_batch on a cpu. `threads` gives each product the bits of gemm's packed rung,
 * which depend neither on threads nor on other products. */
#include <stdatomic.h>
#include <string.h>

#include "cpu/team.h"
#include "gemm/gemm_batch.h"

enum {
    TURN_PRODUCTS = 1 << 18,  /* multiply-adds of as many products as a thread takes at a time */
    LARGE_PRODUCTS = 1 << 27, /* of one product: enough that all threads share each */
    TURNS_A_THREAD = 4,       /* fewer could leave threads without work at the end */
    ALIGNMENT = 64
};

weft_status wi_gemm_batch_serial(weft_context *ctx, const void *args) {
    const wi_gemm_batch_args *const g = args;
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < g->count && status == WEFT_OK; i++) {
        const wi_gemm_args one = wi_gemm_batch_product(g, i);
        status = wi_gemm_serial(ctx, &one);
    }
    return status;
}

/* A batch whose products threads take, some at a time. */
typedef struct job {
    const wi_gemm_batch_args *g;
    size_t turn; /* products */
    char *memory;
    size_t each; /* bytes of it for a thread */
    atomic_size_t next;
} job;

static void do_products(void *user, int rank, int size) {
    job *const j = user;
    (void)size;
    for (size_t first; (first = atomic_fetch_add(&j->next, j->turn)) < j->g->count;)
        for (size_t i = first; i < j->g->count && i < first + j->turn; i++) {
            const wi_gemm_args one = wi_gemm_batch_product(j->g, i);
            wi_gemm_packed_alone(&one, j->memory + (size_t)rank * j->each);
        }
}

static weft_status share_products(weft_context *ctx, const wi_gemm_batch_args *g, double products) {
    job j = {.g = g, .turn = products < TURN_PRODUCTS ? (size_t)(TURN_PRODUCTS / products) : 1};
    const size_t turns = (g->count - 1) / j.turn + 1;
    const int team = turns < (size_t)ctx->threads ? (int)turns : ctx->threads;
    j.each = (wi_gemm_alone_bytes(&g->one) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    j.memory = wi_host_alloc((size_t)team * j.each + 1);
    if (!j.memory)
        return wi_fail(ctx, WEFT_ENOMEM,
                       "weft_gemm_batch: no memory for %zu bytes of packed blocks",
                       (size_t)team * j.each);
    wi_team_run(ctx, team, do_products, &j);
    wi_host_free(j.memory);
    return WEFT_OK;
}

weft_status wi_gemm_batch_threads(weft_context *ctx, const void *args) {
    const wi_gemm_batch_args *const g = args;
    const double depth = g->one.k > 0 ? (double)g->one.k : 1;
    const double products = (double)g->one.m * (double)g->one.n * depth;
    const bool many = g->count >= (size_t)ctx->threads * TURNS_A_THREAD;
    if (many || products < LARGE_PRODUCTS)
        return share_products(ctx, g, products);
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < g->count && status == WEFT_OK; i++) {
        const wi_gemm_args one = wi_gemm_batch_product(g, i);
        status = wi_gemm_packed(ctx, &one);
    }
    return status;
}
