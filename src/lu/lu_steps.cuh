/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of columns: what is done with each, and the memory of all steps. */
#ifndef WI_LU_STEPS_CUH
#define WI_LU_STEPS_CUH

#include "core/smaller.h"
#include "gemm/gemm.h"
#include "lu/lu_cuda.cuh"

constexpr size_t usual_width = 256; /* columns of a block */
constexpr size_t group_width = 32;  /* and of its groups, each applied to other columns at once */

/* ---- steps: they run, or are asked how much memory they take ---- */

struct steps {
    weft_context *ctx;
    const wi_lu_args *args;
    size_t *asked; /* not NULL: nothing runs, and the most bytes of a step are found */
    bool clusters; /* panels are factored in clusters */
    unsigned kept; /* multiprocessors that products with most of the matrix leave to a panel */
    size_t until;  /* a multiple of 512: blocks before this column have 512, others 256 */
    size_t width = usual_width;

    char *at(size_t row, size_t column) const {
        return wi_lu_at(args, row, column);
    }
    size_t panels() const {
        return args->m < args->n ? args->m : args->n;
    }
    weft_status ask(size_t bytes) const {
        *asked = bytes > *asked ? bytes : *asked;
        return WEFT_OK;
    }

    /* The block that begins at a column; how many are before it. */
    wi_lu_columns block_at(size_t column) const {
        const size_t wide = column < until ? 2 * width : width;
        return {column, column + wi_smaller(panels() - column, wide)};
    }
    size_t number_of(wi_lu_columns block) const {
        const size_t wide = wi_smaller(block.first, until);
        return wide / (2 * width) + (block.first - wide) / width;
    }

    /* A(rows first.end ... end - 1, columns) -= A(the same rows, columns of `first`) A(rows of
     * `first`, columns) */
    weft_status multiply(wi_lu_columns first, size_t end, wi_lu_columns columns) const {
        wi_gemm_args g = {};
        g.type = g.out = args->type;
        g.m = end - first.end;
        g.n = wi_lu_count(columns);
        g.k = wi_lu_count(first);
        g.alpha = -1;
        g.beta = 1;
        g.a = at(first.end, first.first);
        g.b = at(first.first, columns.first);
        g.c = at(first.end, columns.first);
        g.lda = g.ldb = g.ldc = args->lda;
        g.blocks_most = kept ? (unsigned)ctx->gpu->multiprocessors - kept : 0;
        if (g.m == 0 || g.n == 0)
            return WEFT_OK;
        if (asked)
            return ask(wi_gemm_most_bytes(ctx, &g));
        return wi_pick(ctx, &wi_gemm_ladder, g.type, &g)->run(ctx, &g);
    }
    /* A(rows of `first`, columns) = L \ A(rows of `first`, columns), L being the unit lower
     * triangle there. */
    weft_status solve(wi_lu_columns first, wi_lu_columns columns) const {
        const size_t half = (wi_lu_count(first) / 2 + group_width - 1) / group_width * group_width;
        if (wi_lu_count(first) <= wi_lu_most_substituted)
            return asked ? WEFT_OK : wi_lu_substitute(ctx, args, first, columns);
        const wi_lu_columns upper = {first.first, first.first + half};
        weft_status status = solve(upper, columns);
        if (status == WEFT_OK)
            status = multiply(upper, first.end, columns);
        return status == WEFT_OK ? solve({upper.end, first.end}, columns) : status;
    }
    /* The exchanges of rows of `from`, in other columns. */
    weft_status swap(wi_lu_columns from, wi_lu_columns columns) const {
        if (asked || wi_lu_count(columns) == 0)
            return WEFT_OK;
        return wi_lu_exchange(ctx, args->type, wi_lu_count(columns), at(0, columns.first),
                              args->lda,
                              {from.first, wi_lu_count(from), args->pivot + from.first, true});
    }
    /* The same, of the last ones on this lane. */
    weft_status swap_again(wi_lu_columns from, wi_lu_columns columns) const {
        if (asked || wi_lu_count(columns) == 0)
            return WEFT_OK;
        return wi_lu_exchange_again(
            ctx, args->type, wi_lu_count(columns), at(0, columns.first), args->lda,
            {from.first, wi_lu_count(from), args->pivot + from.first, true});
    }
    /* All that columns to the right of factored ones need. */
    weft_status update(wi_lu_columns factored, wi_lu_columns columns) const {
        weft_status status = swap(factored, columns);
        if (status == WEFT_OK)
            status = solve(factored, columns);
        return status == WEFT_OK ? multiply(factored, args->m, columns) : status;
    }

    /* What a panel, factored, does to the other columns of `whole`. */
    weft_status spread(const wi_lu_panel *p, wi_lu_columns whole) const {
        const weft_status status = wi_lu_apply(ctx, p, whole);
        return status == WEFT_OK ? wi_lu_update(ctx, p, {p->first + p->width, whole.end}) : status;
    }
    weft_status group(wi_lu_columns columns, wi_lu_columns whole) const {
        const wi_lu_panel p = {args, columns.first, wi_lu_count(columns)};
        const weft_status status = wi_lu_factor_by_columns(ctx, &p, columns);
        return status == WEFT_OK ? spread(&p, whole) : status;
    }
    wi_lu_columns group_at(size_t column, wi_lu_columns whole) const {
        return {column, column + wi_smaller(whole.end - column, group_width)};
    }
    /* The groups of a block, one after another. */
    weft_status block(wi_lu_columns whole) const {
        weft_status status = WEFT_OK;
        if (asked || wi_lu_count(whole) == 0)
            return WEFT_OK;
        if (clusters)
            return wi_lu_factor_in_cluster(ctx, args, whole);
        for (size_t k = whole.first; k < whole.end && status == WEFT_OK;) {
            const wi_lu_columns columns = group_at(k, whole);
            status = group(columns, whole);
            k = columns.end;
        }
        return status;
    }
};

/* The numbers of rows, for what is exchanged at the end. */
struct rows_of_blocks {
    const steps &s;
    uint32_t *from; /* a column for each block */
    void *copy;

    size_t blocks() const {
        const size_t last = s.panels() ? s.panels() - 1 : 0;
        return s.number_of({last, last}) + 1;
    }
    size_t begin_of_last() const {
        size_t k = 0;
        while (s.block_at(k).end < s.panels())
            k = s.block_at(k).end;
        return k;
    }
    size_t from_bytes() const {
        return s.args->m * blocks() * sizeof *from;
    }
    size_t copy_bytes() const {
        return s.args->m * wi_lu_count(s.block_at(0)) * weft_type_size(s.args->type);
    }
    weft_status open() {
        weft_status status = wi_gpu_alloc(s.ctx, (void **)&from, from_bytes());
        if (status == WEFT_OK)
            status = wi_gpu_alloc(s.ctx, &copy, copy_bytes());
        return status == WEFT_OK ? wi_lu_number_rows(s.ctx, from, s.args->m, blocks()) : status;
    }
    weft_status close() {
        const weft_status first = copy ? wi_gpu_free(s.ctx, copy) : WEFT_OK;
        const weft_status second = from ? wi_gpu_free(s.ctx, from) : WEFT_OK;
        return first == WEFT_OK ? second : first;
    }
    /* A block is factored: what it exchanged concerns the blocks before it. */
    template <class Exchange>
    weft_status exchange(wi_lu_columns block, const Exchange &exchange_rows) const {
        const size_t before = s.number_of(block);
        if (before == 0)
            return WEFT_OK;
        return exchange_rows(s.ctx, WEFT_F32, before, from, s.args->m,
                             {block.first, wi_lu_count(block), s.args->pivot + block.first, true});
    }
    /* The blocks in columns begin ... end - 1, all of one width, of which the last may have fewer.
     */
    weft_status permute(size_t begin, size_t end) const {
        const wi_lu_columns block = s.block_at(begin);
        const wi_lu_permute_args args = {s.args->type,
                                         s.args->m,
                                         end - begin,
                                         wi_lu_count(block),
                                         block.end,
                                         wi_lu_count(block),
                                         wi_lu_at(s.args, 0, begin),
                                         s.args->lda,
                                         from + s.number_of(block) * s.args->m,
                                         copy,
                                         NULL,
                                         0,
                                         0};
        return end > begin ? wi_lu_permute(s.ctx, &args) : WEFT_OK;
    }
    /* All but the last. */
    weft_status permute() const {
        const size_t end = begin_of_last(), wide = wi_smaller(s.until, end);
        const weft_status status = permute(0, wide);
        return status == WEFT_OK ? permute(wide, end) : status;
    }
};

/* ---- memory ---- */

constexpr size_t room_for_gaps = 1 << 12; /* between what is taken at once */

/* On both lanes, or on the stream alone. */
static weft_status reserve_exchanges(const steps &s, bool both) {
    const weft_status status = wi_lu_reserve_exchanges(s.ctx, s.panels());
    if (status != WEFT_OK || !both)
        return status;
    wi_gpu_take_side(s.ctx, true);
    const weft_status side = wi_lu_reserve_exchanges(s.ctx, s.panels());
    wi_gpu_take_side(s.ctx, false);
    return side;
}

/* Calls go(steps) twice: to ask, and to run. */
template <class Go>
static weft_status run(const steps &asking, bool both, const Go &go) {
    size_t bytes = 0;
    steps s = asking;
    s.asked = &bytes;
    go(s);
    s.asked = NULL;
    weft_status status = wi_lu_clear_words(s.ctx, s.args);
    if (status == WEFT_OK)
        status = (both ? wi_gpu_reserve_lanes : wi_gpu_reserve)(s.ctx, bytes + room_for_gaps);
    if (status != WEFT_OK)
        return status;
    status = reserve_exchanges(s, both);
    if (status == WEFT_OK)
        status = go(s);
    const weft_status released = (both ? wi_gpu_release_lanes : wi_gpu_release)(s.ctx);
    return status == WEFT_OK ? released : status;
}

#endif
