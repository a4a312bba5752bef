/* SPDX-License-Identifier: Apache-2.0 */
/* The rung of cholesky for large matrices: a block of columns by `flow`, then one product takes
 * what they have from all others. The last columns are left to `flow` alone. */
#include "cholesky/cholesky_cost.h"
#include "cholesky/cholesky_products.cuh"
#include "cuda/limit.cuh"

WI_LIMIT(size_t, wi_cholesky_width, WI_CHOLESKY_WIDTH) /* a multiple of 64 */
WI_LIMIT(size_t, wi_cholesky_tail, WI_CHOLESKY_TAIL)

namespace {

struct blocks : wi_cholesky_products {
    wi_cholesky_steps memory;

    size_t width_at(size_t first) const {
        return wi_cholesky_block_width(args->type, args->n - first, wi_cholesky_width,
                                       wi_cholesky_tail);
    }
    size_t widest() const {
        size_t most = 0;
        for (size_t first = 0, columns; first < args->n; first += columns) {
            columns = width_at(first);
            most = columns > most ? columns : most;
        }
        return most;
    }
    weft_status factor(size_t first, size_t columns) const {
        wi_cholesky_steps steps = memory;
        steps.first = first;
        steps.columns = columns;
        return asked ? WEFT_OK : wi_cholesky_run_flow(ctx, args, &steps);
    }
    weft_status run() const {
        const size_t n = args->n;
        weft_status status = WEFT_OK;
        for (size_t first = 0, next; first < n && status == WEFT_OK; first = next) {
            const size_t columns = width_at(first);
            next = first + columns;
            status = factor(first, columns);
            if (status == WEFT_OK && next < n)
                status = take_from_triangle(first, columns, next, n - next);
        }
        return status;
    }
};

} // namespace

/* All memory is taken before the first step. */
weft_status wi_cholesky_blocks(weft_context *ctx, const void *args) {
    const wi_cholesky_args *const a = (const wi_cholesky_args *)args;
    wi_cholesky_steps memory = {};
    size_t bytes = 0;
    const size_t most = blocks{{ctx, a, NULL, 0}, memory}.widest();
    if (most == a->n)
        return wi_cholesky_flow(ctx, args);
    weft_status status = wi_cholesky_flow_memory(ctx, a, most, &memory);
    if (status != WEFT_OK)
        return status;
    (void)blocks{{ctx, a, &bytes, 0}, memory}.run();
    status = wi_gpu_reserve(ctx, bytes + wi_cholesky_gaps);
    if (status != WEFT_OK)
        return status;
    status = blocks{{ctx, a, NULL, 0}, memory}.run();
    const weft_status released = wi_gpu_release(ctx);
    return status == WEFT_OK ? released : status;
}
