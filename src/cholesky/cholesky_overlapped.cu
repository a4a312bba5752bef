/* SPDX-License-Identifier: Apache-2.0 */
/* The rung of cholesky for large matrices: while syrk takes a block of columns from the rest, the
 * next block becomes one of L on the side lane, by `flow` in f64 and by steps in f32. The last
 * columns are left to `flow` alone. */
#include "cholesky/cholesky_cost.h"
#include "cholesky/cholesky_products.cuh"
#include "cuda/limit.cuh"

WI_LIMIT(size_t, wi_cholesky_ahead, WI_CHOLESKY_AHEAD) /* a multiple of 64 */
WI_LIMIT(size_t, wi_cholesky_tail, WI_CHOLESKY_TAIL)   /* of f64 */

namespace {

struct blocks : wi_cholesky_products {
    wi_cholesky_steps memory;

    /* The width of the block at `first`: products with a long k are faster. */
    size_t width_at(size_t first) const {
        return wi_cholesky_block_width(args->type, args->n - first, wi_cholesky_ahead,
                                       wi_cholesky_tail);
    }
    weft_status factor(size_t first, size_t columns) const {
        wi_cholesky_steps steps = memory;
        steps.first = first;
        steps.columns = columns;
        steps.units = blocks_most;
        if (asked)
            return WEFT_OK;
        return args->type == WEFT_F64 || first + columns == args->n
                   ? wi_cholesky_run_flow(ctx, args, &steps)
                   : wi_cholesky_run_steps(ctx, args, &steps);
    }
    /* Factors the block at `next` on the side lane, while that at `first` is taken from what is
     * beyond both. The blocks of threads of large products stay on their multiprocessors, so each
     * lane has some of its own. */
    weft_status factor_beside(size_t first, size_t next, size_t columns) const {
        const size_t beyond = next + columns, rest = args->n - beyond;
        const unsigned units = (unsigned)ctx->gpu->multiprocessors;
        blocks side = *this, main = *this;
        side.blocks_most = units;
        if (rest > 0) {
            const wi_syrk_args product = of_triangle(first, next - first, beyond, rest);
            side.blocks_most = wi_cholesky_side_units(ctx, &product, args->n - next, columns);
            main.blocks_most = units - side.blocks_most;
        }
        weft_status status = asked ? WEFT_OK : wi_gpu_fork(ctx);
        if (status != WEFT_OK)
            return status;
        wi_gpu_take_side(ctx, !asked);
        status = side.factor(next, columns);
        wi_gpu_take_side(ctx, false);
        if (status == WEFT_OK && rest > 0)
            status = main.take_from_triangle(first, next - first, beyond, rest);
        const weft_status joined = asked ? WEFT_OK : wi_gpu_join(ctx);
        return status == WEFT_OK ? joined : status;
    }
    weft_status run() const {
        const size_t n = args->n;
        size_t first = 0, next = width_at(0);
        blocks whole = *this;
        whole.blocks_most = (unsigned)ctx->gpu->multiprocessors;
        weft_status status = whole.factor(0, next);
        while (next < n && status == WEFT_OK) {
            const size_t columns = width_at(next), beyond = next + columns;
            status = take_from_triangle(first, next - first, next, columns);
            if (status == WEFT_OK)
                status = take_from_rows(first, next - first, next, columns);
            if (status == WEFT_OK)
                status = factor_beside(first, next, columns);
            first = next;
            next = beyond;
        }
        return status;
    }
};

} // namespace

/* All memory is taken before the first step. */
weft_status wi_cholesky_overlapped(weft_context *ctx, const void *args) {
    const wi_cholesky_args *const a = (const wi_cholesky_args *)args;
    wi_cholesky_steps memory = {};
    size_t bytes = 0;
    const size_t width = blocks{{ctx, a, NULL, 0}, memory}.width_at(0);
    if (width == a->n)
        return wi_cholesky_flow(ctx, args); /* nothing is left for another lane */
    weft_status status = wi_cholesky_copies(ctx, &memory.copies);
    if (status == WEFT_OK)
        status = wi_cholesky_flow_memory(
            ctx, a, width < wi_cholesky_tail ? wi_cholesky_tail : width, &memory);
    if (status != WEFT_OK)
        return status;
    (void)blocks{{ctx, a, &bytes, 0}, memory}.run();
    status = wi_gpu_reserve_lanes(ctx, bytes + wi_cholesky_gaps);
    if (status != WEFT_OK)
        return status;
    status = blocks{{ctx, a, NULL, 0}, memory}.run();
    const weft_status released = wi_gpu_release_lanes(ctx);
    return status == WEFT_OK ? released : status;
}
