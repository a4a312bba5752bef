/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of cholesky that go from panel to panel: of a block of 256 columns a panel of 64 after
 * the other becomes columns of L, as far down as they reach; then the block is taken from the rest
 * in one product. */
#include "cholesky/cholesky_cuda.cuh"
#include "cuda/limit.cuh"
#include "gemm/syrk.h"

WI_LIMIT(size_t, wi_cholesky_block, 256) /* columns: panels of 64 */

namespace {

constexpr size_t side = wi_cholesky_side;

struct panels {
    weft_context *ctx;
    const wi_cholesky_args *args;
    size_t *asked;        /* not NULL: nothing runs, and the most bytes of a step are found */
    unsigned blocks_most; /* of products, as gemm's */

    weft_status ask(const wi_gemm_args &g) const {
        const size_t bytes = wi_gemm_most_bytes(ctx, &g);
        *asked = bytes > *asked ? bytes : *asked;
        return WEFT_OK;
    }
    /* What columns first ... first + k - 1 take from the triangle of `order` columns at `next`. */
    weft_status take_from_triangle(size_t first, size_t k, size_t next, size_t order) const {
        wi_syrk_args s = {};
        s.type = args->type;
        s.upper = s.transposed = args->upper;
        s.n = order;
        s.k = k;
        s.alpha = -1;
        s.beta = 1;
        s.a = wi_cholesky_at(args, next, first);
        s.c = wi_cholesky_at(args, next, next);
        s.lda = s.ldc = args->lda;
        s.blocks_most = blocks_most;
        if (asked)
            return ask(wi_syrk_part(&s, 0, order, 0, order));
        return wi_pick(ctx, &wi_syrk_ladder, s.type, &s)->run(ctx, &s);
    }
    /* ... and from the rows below it: A(rows, next ...) -= L(rows, first ...) L(next ...)' */
    weft_status take_from_rows(size_t first, size_t k, size_t next, size_t order) const {
        const size_t row = next + order, rows = args->n - row;
        const void *const below = wi_cholesky_at(args, row, first);
        const void *const beside = wi_cholesky_at(args, next, first);
        wi_gemm_args g = {};
        if (rows == 0)
            return WEFT_OK;
        g.type = g.out = args->type;
        g.accuracy = WI_FULL_F32;
        g.transposed_a = args->upper;
        g.transposed_b = !args->upper;
        g.m = args->upper ? order : rows;
        g.n = args->upper ? rows : order;
        g.k = k;
        g.alpha = -1;
        g.beta = 1;
        g.a = args->upper ? beside : below;
        g.b = args->upper ? below : beside;
        g.c = wi_cholesky_at(args, row, next);
        g.lda = g.ldb = g.ldc = args->lda;
        g.blocks_most = blocks_most;
        return asked ? ask(g) : wi_pick(ctx, &wi_gemm_ladder, g.type, &g)->run(ctx, &g);
    }
    /* Makes these columns columns of L: the left half, what it takes from the right one, that. */
    weft_status factor(size_t first, size_t columns) const {
        if (columns <= side)
            return asked ? WEFT_OK : wi_cholesky_panel(ctx, args, first, columns);
        const size_t left = (columns / 2 + side - 1) / side * side, right = columns - left;
        weft_status status = factor(first, left);
        if (status == WEFT_OK)
            status = take_from_triangle(first, left, first + left, right);
        if (status == WEFT_OK)
            status = take_from_rows(first, left, first + left, right);
        return status == WEFT_OK ? factor(first + left, right) : status;
    }
    size_t width_at(size_t first) const {
        const size_t left = args->n - first;
        return left < wi_cholesky_block ? left : wi_cholesky_block;
    }
};

} // namespace

static weft_status go_right(const panels &p) {
    const size_t n = p.args->n;
    weft_status status = WEFT_OK;
    for (size_t first = 0; first < n && status == WEFT_OK; first += wi_cholesky_block) {
        const size_t columns = p.width_at(first), next = first + columns;
        status = p.factor(first, columns);
        if (status == WEFT_OK && next < n)
            status = p.take_from_triangle(first, columns, next, n - next);
    }
    return status;
}

/* Factors the block at `next` on the side lane, while that of 256 columns at `first` is taken from
 * what is beyond both. The blocks of large products stay on their multiprocessors, so each lane has
 * some of its own. */
static weft_status factor_beside(const panels &p, size_t first, size_t next) {
    const size_t columns = p.width_at(next), beyond = next + columns, rest = p.args->n - beyond;
    const unsigned units = (unsigned)p.ctx->gpu->multiprocessors, kept = units / 8;
    panels side = p, main = p;
    if (rest > 0) {
        side.blocks_most = kept;
        main.blocks_most = units - kept;
    }
    weft_status status = p.asked ? WEFT_OK : wi_gpu_fork(p.ctx);
    if (status != WEFT_OK)
        return status;
    wi_gpu_take_side(p.ctx, !p.asked);
    status = side.factor(next, columns);
    wi_gpu_take_side(p.ctx, false);
    if (status == WEFT_OK && rest > 0)
        status = main.take_from_triangle(first, wi_cholesky_block, beyond, rest);
    const weft_status joined = p.asked ? WEFT_OK : wi_gpu_join(p.ctx);
    return status == WEFT_OK ? joined : status;
}

static weft_status go_ahead(const panels &p) {
    weft_status status = p.factor(0, p.width_at(0));
    for (size_t next = wi_cholesky_block; next < p.args->n && status == WEFT_OK;
         next += wi_cholesky_block) {
        const size_t first = next - wi_cholesky_block, columns = p.width_at(next);
        status = p.take_from_triangle(first, wi_cholesky_block, next, columns);
        if (status == WEFT_OK)
            status = p.take_from_rows(first, wi_cholesky_block, next, columns);
        if (status == WEFT_OK)
            status = factor_beside(p, first, next);
    }
    return status;
}

/* ---- the rungs ---- */

/* All memory is taken before the first step: go(panels) is called to ask, and to run. */
static weft_status run(weft_context *ctx, const void *args, bool both_lanes,
                       weft_status (*go)(const panels &p)) {
    constexpr size_t room_for_gaps = 1 << 12;
    const wi_cholesky_args *const a = (const wi_cholesky_args *)args;
    size_t bytes = 0;
    (void)go({ctx, a, &bytes, 0});
    weft_status status =
        (both_lanes ? wi_gpu_reserve_lanes : wi_gpu_reserve)(ctx, bytes + room_for_gaps);
    if (status != WEFT_OK)
        return status;
    status = wi_cholesky_clear_words(ctx, a);
    if (status == WEFT_OK)
        status = go({ctx, a, NULL, 0});
    const weft_status released = (both_lanes ? wi_gpu_release_lanes : wi_gpu_release)(ctx);
    return status == WEFT_OK ? released : status;
}

weft_status wi_cholesky_panels(weft_context *ctx, const void *args) {
    return run(ctx, args, false, go_right);
}
weft_status wi_cholesky_overlapped(weft_context *ctx, const void *args) {
    return run(ctx, args, true, go_ahead);
}
