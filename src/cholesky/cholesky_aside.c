/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of blocks of columns between the caller's matrix and the ranks, beside the factorization.
 */
#include "cholesky/cholesky_aside.h"

#include "cholesky/cholesky.h"
#include "core/gpu.h"
#include "core/smaller.h"
#include "gemm/gemm.h"

static weft_status move_block(const wi_cholesky_aside *a, size_t k, bool back) {
    const size_t first = k * a->c->block;
    return wi_cyclic_move_some(a->c, first, wi_smaller(first + a->c->block, a->c->all), back);
}

#ifdef WEFT_CUDA
/* Queues copies of this rank's blocks up to number `own` of them. */
static weft_status bring_blocks(wi_cholesky_aside *a, size_t own) {
    weft_context *const child = a->c->ctx->child;
    const size_t ranks = (size_t)a->c->ctx->comm->size, rank = (size_t)a->c->ctx->comm->rank;
    weft_status status = WEFT_OK;
    wi_gpu_take_side(child, true);
    for (; a->brought <= own && status == WEFT_OK; a->brought++) {
        const size_t k = a->brought * ranks + rank;
        status = k * a->c->block < a->c->all ? move_block(a, k, false) : WEFT_OK;
    }
    wi_gpu_take_side(child, false);
    return status;
}

/* The first block waits for nothing else. As many others come meanwhile as the time is enough for.
 */
static weft_status begin_aside(wi_cholesky_aside *a) {
    enum {
        EARLY = 3
    };
    weft_status status = wi_local(a->c->ctx, wi_gpu_fork(a->c->ctx->child));
    if (status != WEFT_OK)
        return status;
    a->is_aside = true;
    if (a->c->ctx->comm->rank == 0) {
        status = move_block(a, 0, false);
        a->brought = 1;
    }
    return status == WEFT_OK ? bring_blocks(a, EARLY - 1) : status;
}
#endif

weft_status wi_cholesky_deal(wi_cholesky_aside *a) {
#ifdef WEFT_CUDA
    if (a->c->given.shared && wi_is_device(a->c->ctx->child, a->c->given.a))
        return wi_agree(a->c->ctx, 0, begin_aside(a));
#endif
    return wi_cyclic_deal(a->c);
}

weft_status wi_cholesky_await(wi_cholesky_aside *a, size_t own) {
#ifdef WEFT_CUDA
    const weft_status status = a->is_aside ? bring_blocks(a, own) : WEFT_OK;
    return status == WEFT_OK && a->is_aside ? wi_gpu_join(a->c->ctx->child) : status;
#else
    (void)a, (void)own;
    return WEFT_OK;
#endif
}

weft_status wi_cholesky_give(const wi_cholesky_aside *a, size_t k) {
    return a->is_aside ? move_block(a, k, true) : WEFT_OK;
}

weft_status wi_cholesky_return(const wi_cholesky_aside *a) {
    return a->is_aside ? wi_agree(a->c->ctx, 0, WEFT_OK) : wi_cyclic_return(a->c);
}

#ifdef WEFT_CUDA
weft_status wi_cholesky_reserve(wi_cholesky_aside *a) {
    enum {
        GAPS = 1 << 12 /* bytes between the memory of products */
    };
    const wi_cyclic *const c = a->c;
    weft_context *const child = c->ctx->child;
    const wi_cholesky_args columns = {
        .type = c->given.type, .n = c->all, .lda = c->ld, .columns = c->block};
    const wi_gemm_args product = {.type = columns.type,
                                  .out = columns.type,
                                  .transposed_b = true,
                                  .m = c->all,
                                  .n = c->block,
                                  .k = c->block,
                                  .lda = c->ld,
                                  .ldb = c->ld,
                                  .ldc = c->ld};
    if (!child->gpu)
        return WEFT_OK;
    weft_status status = wi_cholesky_flow_prepare(child, &columns);
    if (status == WEFT_OK)
        status = wi_gpu_reserve(child, wi_gemm_most_bytes(child, &product) + GAPS);
    a->reserved = status == WEFT_OK;
    return wi_local(c->ctx, status);
}

void wi_cholesky_release(wi_cholesky_aside *a) {
    if (a->reserved)
        wi_gpu_release(a->c->ctx->child);
    a->reserved = false;
}
#else
weft_status wi_cholesky_reserve(wi_cholesky_aside *a) {
    (void)a;
    return WEFT_OK;
}

void wi_cholesky_release(wi_cholesky_aside *a) {
    (void)a;
}
#endif
