/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of lu on a GPU that are made of panels, products and triangular solves. */
#include "cuda/launch.cuh"
#include "cuda/limit.cuh"
#include "lu/lu_steps.cuh"

WI_LIMIT(size_t, wi_lu_dealt_width, 1024)
size_t wi_lu_dealt_columns(void) {
    return wi_lu_dealt_width;
}

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
