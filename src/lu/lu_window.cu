/* SPDX-License-Identifier: Apache-2.0 */
/* LU of square matrices whose pivots come from a window of few rows: one small kernel then factors
 * a whole block of columns, the rows of L below the window come from a triangular solve, and the
 * chain of steps from one block to the next is short. Such pivots are good enough only for matrices
 * that have been mixed (solve/solve_mix.h); callers must check the solution. As they do, large
 * products take f32 as two f16, which is half of the work: numbers beyond f16's range become a
 * pivot that is not finite. */
#include "lu/lu_window.h"

#include "gemm/gemm_two_f16.h"
#include "gemm/trsm.h"
#include "lu/lu_steps.cuh"

#ifdef WEFT_EMU /* so that small matrices have several blocks */
constexpr size_t window_width = 32, window_high = 64;
constexpr size_t left_to_narrow = 64;
constexpr size_t least_by_two = 90;
#else
constexpr size_t window_width = 256, window_high = 512; /* a block's columns, and its window */
/* Two blocks are factored as one until only so many columns are left: products are faster then, but
 * the chain is longer. */
constexpr size_t left_to_narrow = 7168;
constexpr size_t least_by_two = SIZE_MAX; /* rows and columns of a product that goes by two f16 */
#endif

/* L has few elements above 2, and those of U grow: both are scaled so as to have room in f16. */
constexpr int power_of_l = 4, power_of_u = 2;

struct window_steps {
    const steps &s;
    const rows_of_blocks &rows;
    int power; /* elements of A are at most about 2^power */

    size_t order() const {
        return s.args->n;
    }
    wi_lu_columns block_at(size_t column) const {
        return s.block_at(column);
    }
    bool is_double(wi_lu_columns block) const {
        return wi_lu_count(block) > window_width;
    }
    wi_lu_columns part_of(wi_lu_columns block, int k) const {
        const size_t first = block.first + (size_t)k * window_width;
        return {first, wi_smaller(block.end, first + window_width)};
    }
    /* The end of the rows that are known when a block is factored: those of its last window. */
    size_t end_of(wi_lu_columns block) const {
        const size_t last = is_double(block) ? part_of(block, 1).first : block.first;
        return wi_smaller(order(), last + window_high);
    }

    /* ---- products and triangles ---- */

    /* `kept`: multiprocessors that the product leaves free. */
    weft_status multiply(wi_gemm_args *g, unsigned kept) const {
        g->type = g->out = s.args->type;
        g->blocks_most = kept ? (unsigned)s.ctx->gpu->multiprocessors - kept : 0;
        if (g->m == 0 || g->n == 0)
            return WEFT_OK;
        if (s.asked)
            return s.ask(wi_gemm_most_bytes(s.ctx, g));
        const wi_row *const row = wi_pick(s.ctx, &wi_gemm_ladder, g->type, g);
#ifdef WEFT_RING
        const bool is_large = g->m >= least_by_two && g->n >= least_by_two;
        if (row->run == wi_gemm_parts || (is_large && !wi_gemm_fits_parts(s.ctx, g)))
            return wi_gemm_two_f16(s.ctx, g, power_of_l, power_of_u - power);
#endif
        return row->run(s.ctx, g);
    }
    weft_status triangle(wi_triangle_args *t) const {
        t->type = s.args->type;
        t->alpha = 1;
        t->lda = s.args->lda;
        if (t->m == 0 || t->n == 0)
            return WEFT_OK;
        if (s.asked)
            return s.ask(wi_trsm_most_bytes(s.ctx, t));
        return wi_pick(s.ctx, &wi_trsm_ladder, t->type, t)->run(s.ctx, t);
    }
    /* A(these rows, columns) -= A(these rows, block) A(rows of the block, columns) */
    weft_status update(wi_lu_columns block, wi_lu_columns from, wi_lu_columns columns,
                       unsigned kept) const {
        wi_gemm_args g = {};
        g.m = from.first < from.end ? wi_lu_count(from) : 0;
        g.n = wi_lu_count(columns);
        g.k = wi_lu_count(block);
        g.alpha = -1;
        g.beta = 1;
        g.a = s.at(from.first, block.first);
        g.b = s.at(block.first, columns.first);
        g.c = s.at(from.first, columns.first);
        g.lda = g.ldb = g.ldc = s.args->lda;
        return multiply(&g, kept);
    }
    /* Computes the rows of L below those that are known. */
    weft_status reach(wi_lu_columns block, wi_lu_columns below) const {
        wi_triangle_args t = {};
        t.right = t.upper = true;
        t.m = below.first < below.end ? wi_lu_count(below) : 0;
        t.n = wi_lu_count(block);
        t.a = s.at(block.first, block.first);
        t.b = s.at(below.first, block.first);
        t.ldb = s.args->lda;
        return triangle(&t);
    }

    /* ---- a block ---- */

    weft_status pick_pivots(wi_lu_columns block) const {
        wi_lu_args cut = *s.args;
        cut.m = end_of(block);
        return s.asked ? WEFT_OK : wi_lu_factor_in_cluster(s.ctx, &cut, block);
    }
    /* Applies a factored block to another one, in the rows that are known then. */
    weft_status apply(wi_lu_columns block, wi_lu_columns next) const {
        const size_t end = end_of(next);
        weft_status status = reach(block, {end_of(block), end});
        if (status == WEFT_OK)
            status = s.swap(block, next);
        if (status == WEFT_OK)
            status = s.solve(block, next);
        return status == WEFT_OK ? update(block, {block.end, end}, next, 0) : status;
    }
    weft_status factor(wi_lu_columns block) const {
        if (!is_double(block))
            return pick_pivots(block);
        const wi_lu_columns one = part_of(block, 0), two = part_of(block, 1);
        weft_status status = pick_pivots(one);
        if (status == WEFT_OK)
            status = apply(one, two);
        if (status == WEFT_OK)
            status = pick_pivots(two);
        return status == WEFT_OK ? s.swap(two, one) : status;
    }

    /* ---- a step ---- */

    /* How many columns of `rest` are multiplied while the next block is factored; these products
     * leave a cluster's multiprocessors to it. They take a little longer than the factoring does,
     * at column_seconds for each of its columns and `rate` flops a second for products (an H200).
     */
    size_t beside(wi_lu_columns block, wi_lu_columns next, wi_lu_columns rest) const {
        const double column_seconds = 1.3e-6, rate = 1e14;
        const double flops = 2.0 * (double)(order() - block.end) * (double)wi_lu_count(block);
        const size_t many = (size_t)(column_seconds * (double)wi_lu_count(next) * rate / flops);
        const size_t columns = (many / usual_width + 1) * usual_width;
        return 2 * columns < wi_lu_count(rest) ? columns : wi_lu_count(rest);
    }
    /* Queues work on both lanes: on_side on the side lane, where the next block is factored, and
     * on_stream on the stream. The side lane may use what the stream has done before. */
    template <class Side, class Stream>
    weft_status fork(const Side &on_side, const Stream &on_stream) const {
        weft_status status = s.asked ? WEFT_OK : wi_gpu_fork(s.ctx);
        if (status != WEFT_OK)
            return status;
        if (!s.asked)
            wi_gpu_take_side(s.ctx, true);
        status = on_side();
        if (!s.asked)
            wi_gpu_take_side(s.ctx, false);
        return status == WEFT_OK ? on_stream() : status;
    }
    /* Computes the rows of U in the columns of the next block, and the rest of L. */
    weft_status begin_step(wi_lu_columns block, wi_lu_columns next) const {
        return fork(
            [&] {
                const weft_status status = s.swap(block, next);
                return status == WEFT_OK ? s.solve(block, next) : status;
            },
            [&] {
                return reach(block, {end_of(block), order()});
            });
    }
    /* Updates the next block's columns in the rows that are known, and factors it. */
    weft_status go_on(wi_lu_columns block, wi_lu_columns next) const {
        weft_status status = update(block, {block.end, end_of(next)}, next, 0);
        if (!s.asked)
            wi_gpu_mark_cluster(s.ctx);
        return status == WEFT_OK ? factor(next) : status;
    }
    /* Meanwhile updates the columns behind the next block, up to `split`, and the next block's rows
     * below those that are known. */
    weft_status update_rest(wi_lu_columns block, wi_lu_columns next, size_t split) const {
        const wi_lu_columns rest = {next.end, order()};
        weft_status status = s.swap(block, rest);
        if (status == WEFT_OK && !s.asked)
            status = rows.exchange(block, wi_lu_exchange);
        if (status == WEFT_OK)
            status = s.solve(block, rest);
        const weft_status begun = s.asked ? WEFT_OK : wi_gpu_join_cluster(s.ctx);
        if (status == WEFT_OK)
            status = begun;
        if (status == WEFT_OK)
            status = update(block, {block.end, order()}, {next.end, split}, WI_LARGEST_CLUSTER);
        return status == WEFT_OK ? update(block, {end_of(next), order()}, next, WI_LARGEST_CLUSTER)
                                 : status;
    }
    weft_status step(wi_lu_columns block, wi_lu_columns next) const {
        const wi_lu_columns rest = {next.end, order()};
        const size_t split = next.end + beside(block, next, rest);
        weft_status status = begin_step(block, next);
        if (status == WEFT_OK)
            status = fork([&] { return go_on(block, next); },
                          [&] { return update_rest(block, next, split); });
        const weft_status joined = s.asked ? WEFT_OK : wi_gpu_join(s.ctx);
        if (status == WEFT_OK)
            status = joined;
        return status == WEFT_OK ? update(block, {block.end, order()}, {split, rest.end}, 0)
                                 : status;
    }
    weft_status run() const {
        wi_lu_columns block = block_at(0);
        weft_status status = factor(block);
        while (status == WEFT_OK && block.end < order()) {
            const wi_lu_columns next = block_at(block.end);
            status = step(block, next);
            block = next;
        }
        if (s.asked || status != WEFT_OK)
            return status;
        status = rows.exchange(block, wi_lu_exchange);
        return status == WEFT_OK ? rows.permute() : status;
    }
};

weft_status wi_lu_factor_window(weft_context *ctx, const wi_lu_args *args, int power) {
    constexpr size_t wide = 2 * window_width;
    const size_t n = args->n;
    const steps s = {ctx,         args, NULL,
                     true,        0,    n > left_to_narrow ? (n - left_to_narrow) / wide * wide : 0,
                     window_width};
    rows_of_blocks rows = {s, NULL, NULL};
    weft_status status = rows.open();
    if (status == WEFT_OK)
        status = run(s, true, [&](const steps &each) {
            return window_steps{each, rows, power}.run();
        });
    const weft_status closed = rows.close();
    return status == WEFT_OK ? closed : status;
}
