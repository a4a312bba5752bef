/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of lu on a GPU that are made of panels, products and triangular solves. */
#include "core/smaller.h"
#include "cuda/launch.cuh"
#include "cuda/limit.cuh"
#include "gemm/gemm.h"
#include "lu/lu_cuda.cuh"

constexpr size_t usual_width = 256; /* columns of a block */
constexpr size_t group_width = 32;  /* and of its groups, each applied to other columns at once */

WI_LIMIT(size_t, wi_lu_dealt_width, 1024)
size_t wi_lu_dealt_columns(void) {
    return wi_lu_dealt_width;
}

/* ---- steps: they run, or are asked how much memory they take ---- */

struct steps {
    weft_context *ctx;
    const wi_lu_args *args;
    size_t *asked; /* not NULL: nothing runs, and the most bytes of a step are found */
    bool clusters; /* panels are factored in clusters */
    unsigned kept; /* multiprocessors that products with most of the matrix leave to a panel */
    size_t until;  /* a multiple of 512: blocks before this column have 512, others 256 */

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
        const size_t wide = column < until ? 2 * usual_width : usual_width;
        return {column, column + wi_smaller(panels() - column, wide)};
    }
    size_t number_of(wi_lu_columns block) const {
        const size_t wide = wi_smaller(block.first, until);
        return wide / (2 * usual_width) + (block.first - wide) / usual_width;
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

/* ---- the ways through a matrix ---- */

/* Products with a longer inner size are faster, but the next block takes as much longer: blocks are
 * wide where these hide it, until so many columns are left. Seen on an H200. */
static size_t wide_until(const wi_lu_args *args) {
    constexpr size_t wide = 2 * usual_width;
    const size_t left = args->type == WEFT_F64 ? 8192 : 20480;
    const size_t least = args->m < args->n ? args->m : args->n;
    return least > left ? (least - left) / wide * wide : 0;
}

static weft_status go_right(const steps &s) {
    weft_status status = WEFT_OK;
    for (size_t k = 0; k < s.panels() && status == WEFT_OK; k = s.block_at(k).end) {
        const wi_lu_columns block = s.block_at(k);
        status = s.block(block);
        if (status == WEFT_OK)
            status = s.swap(block, {0, block.first});
        if (status == WEFT_OK)
            status = s.update(block, {block.end, s.args->n});
    }
    return status;
}

/* The left half of the columns, then what it does to the right one, then the right half. */
static weft_status halve(const steps &s, wi_lu_columns whole) {
    const size_t groups = (wi_lu_count(whole) + group_width - 1) / group_width;
    if (groups <= 2)
        return s.block(whole);
    const size_t middle = whole.first + groups / 2 * group_width;
    const wi_lu_columns left = {whole.first, middle}, right = {middle, whole.end};
    weft_status status = halve(s, left);
    if (status == WEFT_OK)
        status = s.update(left, right);
    if (status == WEFT_OK)
        status = halve(s, right);
    return status == WEFT_OK ? s.swap(right, left) : status;
}

static weft_status go_by_halves(const steps &s) {
    const wi_lu_columns all = {0, s.panels()};
    const weft_status status = halve(s, all);
    return status == WEFT_OK ? s.update(all, {all.end, s.args->n}) : status;
}

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

/* Seconds that a product beside a block should last. The block takes a fifth more, each column a
 * fixed time and one in proportion to what its group changes in the rest of the block, as seen on
 * an H200; but the product begins when exchanges and substitution are done. */
static double seconds_beside(const steps &s, wi_lu_columns block) {
    const double bytes = (double)((s.args->m - block.first) * weft_type_size(s.args->type));
    const double columns = (double)wi_lu_count(block);
    return columns * (1.6e-6 + 7.2e-14 * bytes * columns);
}

/* How many of these columns are multiplied while the next block is factored. Waiting for the block
 * costs more than going on without a cluster's multiprocessors, so rather too many. Products reach
 * 1.3 times the rate of fused multiply-adds: seen on an H200. */
static size_t multiplied_beside(const steps &s, wi_lu_columns block, wi_lu_columns next,
                                wi_lu_columns rest) {
    const wi_machine *const m = wi_machine_of(s.ctx);
    const double rate = 1.3 * (s.args->type == WEFT_F64 ? m->f64_flops : m->f32_flops);
    const double a_column = 2.0 * (double)(s.args->m - block.end) * (double)wi_lu_count(block);
    const double columns = seconds_beside(s, next) * rate / a_column;
    const size_t beside = ((size_t)columns / usual_width + 1) * usual_width;
    return 2 * beside < wi_lu_count(rest) ? beside : wi_lu_count(rest);
}

/* While the side lane factors the next block, what is beyond it is updated. This begins when the
 * cluster of the next block has begun, so that the multiprocessors which that has, and which must
 * be neighbours, stay its own: the product leaves it as many. When the block is done the rest is
 * multiplied by all. */
static weft_status update_beyond(const steps &s, const rows_of_blocks &rows, wi_lu_columns block,
                                 wi_lu_columns next) {
    const wi_lu_columns rest = {next.end, s.args->n};
    const size_t split = next.end + multiplied_beside(s, block, next, rest);
    steps beside = s;
    beside.kept = WI_LARGEST_CLUSTER;
    weft_status status = wi_gpu_fork(s.ctx);
    if (status != WEFT_OK)
        return status;
    wi_gpu_take_side(s.ctx, true);
    wi_gpu_mark_cluster(s.ctx);
    status = s.block(next);
    wi_gpu_take_side(s.ctx, false);
    const weft_status begun = wi_gpu_join_cluster(s.ctx);
    if (status == WEFT_OK)
        status = begun;
    if (status == WEFT_OK)
        status = rows.exchange(block, wi_lu_exchange_again);
    if (status == WEFT_OK)
        status = s.swap_again(block, rest);
    if (status == WEFT_OK)
        status = beside.solve(block, rest);
    if (status == WEFT_OK)
        status = beside.multiply(block, s.args->m, {rest.first, split});
    const weft_status joined = wi_gpu_join(s.ctx);
    if (status == WEFT_OK)
        status = joined;
    return status == WEFT_OK ? s.multiply(block, s.args->m, {split, rest.end}) : status;
}

static weft_status go_ahead(const steps &s, const rows_of_blocks &rows) {
    wi_lu_columns block = s.block_at(0);
    weft_status status = s.block(block);
    while (status == WEFT_OK && block.end < s.panels()) {
        const wi_lu_columns next = s.block_at(block.end);
        status = s.update(block, next);
        if (status == WEFT_OK && s.asked)
            status = s.update(block, {next.end, s.args->n});
        else if (status == WEFT_OK)
            status = update_beyond(s, rows, block, next);
        block = next;
    }
    if (status == WEFT_OK && !s.asked)
        status = rows.exchange(block, wi_lu_exchange);
    if (status == WEFT_OK)
        status = s.update(block, {block.end, s.args->n});
    return status == WEFT_OK && !s.asked ? rows.permute() : status;
}

/* ---- the rungs ---- */

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

__global__ void clear_lu_words(int64_t *first) {
    for (int word = 0; word < WI_LU_WORDS; word++)
        first[word] = WI_LU_NONE;
}

weft_status wi_lu_clear_words(weft_context *ctx, const wi_lu_args *args) {
    return WEFT_LAUNCH(clear_lu_words, ctx, 1, 1, 0, args->first);
}

weft_status wi_lu_panels(weft_context *ctx, const void *args) {
    return run({ctx, (const wi_lu_args *)args, NULL, false, 0, 0}, false, go_right);
}
weft_status wi_lu_halves(weft_context *ctx, const void *args) {
    return run({ctx, (const wi_lu_args *)args, NULL, false, 0, 0}, false, go_by_halves);
}
weft_status wi_lu_cluster(weft_context *ctx, const void *args) {
    return run({ctx, (const wi_lu_args *)args, NULL, true, 0, 0}, false, go_right);
}
weft_status wi_lu_overlapped(weft_context *ctx, const void *args) {
    const wi_lu_args *const a = (const wi_lu_args *)args;
    const steps s = {ctx, a, NULL, true, 0, wide_until(a)};
    rows_of_blocks rows = {s, NULL, NULL};
    weft_status status = rows.open();
    if (status == WEFT_OK)
        status = run(s, true, [&](const steps &each) { return go_ahead(each, rows); });
    const weft_status closed = rows.close();
    return status == WEFT_OK ? closed : status;
}
