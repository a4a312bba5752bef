/* SPDX-License-Identifier: Apache-2.0 */
/* A large front of the top, by all GPUs of a plan together. Its columns are dealt out in stripes of
 * 256 or 512, in turn. Whose turn it is factors a stripe, which goes to all others; each GPU then
 * takes what it changes from its own stripes, the next to be factored first. So the first GPU gets
 * all of L, as if it had been alone, and in the end the others' stripes of the update. Which kernel
 * makes a number, from which columns at a time, is as on one GPU, and so are the bits. */
#include "sparse/chol_panels.cuh"

constexpr int assemblies = 8; /* of a front, about */

/* A GPU, with its record of the front. */
struct member {
    weft_context *ctx;
    weft_chol plan;
    wi_device_chol d;
    int number;
    int64_t maps; /* its description */
    wi_front_record r;
};

struct front_team {
    weft_context *ctx;
    int stripe;                /* its columns */
    int gpus, blocks, stripes; /* of the front's columns, and of all: with those of its update */
    member at[WI_SPREAD_MOST_GPUS];
};

/* Calls work(member) with its GPU as the current one. */
template <class Work>
static weft_status on(const front_team &t, int gpu, Work work) {
    weft_context *const own = t.at[gpu].ctx;
    int before;
    weft_status status = wi_gpu_enter(own, &before);
    if (status == WEFT_OK) {
        status = work(t.at[gpu]);
        wi_gpu_leave(own, before);
    }
    return status == WEFT_OK || gpu == 0 ? status : wi_fail_as(t.ctx, status, own);
}

static void join_team(front_team *t, const weft_chol *plan, int gpu, const wi_chol_level *level) {
    member *const m = &t->at[gpu];
    m->ctx = wi_chol_gpu(t->ctx, gpu);
    m->plan = wi_chol_of_gpu(plan, gpu);
    m->d = wi_chol_device_view(&m->plan);
    const wi_schedule *const schedule = &m->plan.device->schedule;
    m->number = level->first;
    m->maps = level->maps;
    if (gpu > 0) { /* whose columns of it lie in the memory for updates */
        m->d.l = m->d.updates;
        m->number = (int)(schedule->fronts + schedule->guests);
        while (schedule->front[m->number].number != t->at[0].r.number)
            m->number++;
        m->maps = schedule->maps - (wi_schedule_records(schedule) - m->number);
    }
    m->r = schedule->front[m->number];
}

/* ---- copies ---- */

/* Columns begin ... end - 1 of the front, of those in L, from row `begin` on, with the zeros that a
 * column of an odd number of rows ends with, as tiles read them. */
static weft_status copy_panels(const member &to, const member &from, int begin, int end) {
    const size_t number = wi_chol_number(&to.plan), ld = (size_t)to.r.ld * number;
    const size_t at = ((size_t)begin * (size_t)to.r.ld + (size_t)begin) * number;
    return begin >= end
               ? WEFT_OK
               : wi_chol_copy_columns(to.ctx, (char *)to.d.l + (size_t)to.r.panel * number + at,
                                      (const char *)from.d.l + (size_t)from.r.panel * number + at,
                                      ld, (size_t)(to.r.ld - begin) * number, end - begin);
}

/* The same of those in the update. */
static weft_status copy_update(const member &to, const member &from, int begin, int end) {
    const size_t number = wi_chol_number(&to.plan), ld = (size_t)to.r.ld_update * number;
    const size_t first = (size_t)(begin > to.r.columns ? begin - to.r.columns : 0);
    const size_t at = first * ld + first * number, rows = (size_t)(to.r.height - to.r.columns);
    return end <= to.r.columns
               ? WEFT_OK
               : wi_chol_copy_columns(
                     to.ctx, (char *)to.d.updates + (size_t)to.r.update * number + at,
                     (const char *)from.d.updates + (size_t)from.r.update * number + at, ld,
                     (rows - first) * number, end - to.r.columns - (int)first);
}

static int least(int a, int b) {
    return a < b ? a : b;
}

/* The first stripe from `begin` on that is the GPU's. */
static int first_of(const front_team &t, int gpu, int begin) {
    return begin + (gpu + t.gpus - begin % t.gpus) % t.gpus;
}

/* What the first GPU has assembled in stripes from ... to - 1, of those that are another's. */
static weft_status take_stripes(const front_team &t, int gpu, int from, int to) {
    const member &first = t.at[0];
    return on(t, gpu, [&](const member &m) {
        weft_status status = wi_chol_let_wait(t.ctx, m.ctx, first.ctx);
        for (int s = first_of(t, gpu, from); s < to && status == WEFT_OK; s += t.gpus) {
            const int begin = s * t.stripe, end = least(begin + t.stripe, m.r.height);
            status = copy_panels(m, first, begin, least(end, m.r.columns));
            if (status == WEFT_OK)
                status = copy_update(m, first, begin, end);
        }
        return status;
    });
}

/* The first GPU assembles the front, some stripes after the other, and the others take theirs as
 * soon as they are there. */
static weft_status assemble(const front_team &t, const weft_chol *plan,
                            const wi_chol_level *level) {
    const int each = t.gpus * wi_pieces(t.stripes, t.gpus * assemblies);
    weft_status status = WEFT_OK;
    for (int s = 0; s < t.stripes && status == WEFT_OK; s += each) {
        const int end = least(s + each, t.stripes);
        status = wi_chol_assemble_columns(t.ctx, plan, level, s * t.stripe,
                                          least(end * t.stripe, t.at[0].r.height));
        for (int gpu = 1; gpu < t.gpus && status == WEFT_OK; gpu++)
            status = take_stripes(t, gpu, s, end);
    }
    return status;
}

/* Its columns of the update, to the first. */
static weft_status return_stripes(const front_team &t, int gpu) {
    weft_status status = wi_chol_let_wait(t.ctx, t.ctx, t.at[gpu].ctx);
    for (int s = gpu; s < t.stripes && status == WEFT_OK; s += t.gpus)
        status = copy_update(t.at[0], t.at[gpu], s * t.stripe,
                             least((s + 1) * t.stripe, t.at[0].r.height));
    return status;
}

/* D of the columns of a block. */
static weft_status copy_pivots(const member &to, const member &from, int begin, int end) {
    const size_t first = (size_t)(to.r.first + begin), count = (size_t)(end - begin);
    if (!wi_chol_has_d(&to.plan))
        return WEFT_OK;
    const weft_status status =
        wi_chol_copy_columns(to.ctx, to.d.pivots.d + first, from.d.pivots.d + first,
                             count * sizeof *to.d.pivots.d, count * sizeof *to.d.pivots.d, 1);
    return status == WEFT_OK ? wi_chol_copy_columns(to.ctx, to.d.pivots.mark + first,
                                                    from.d.pivots.mark + first, count, count, 1)
                             : status;
}

/* Block k, from who has factored it; on the side lane, while the lane does something else. */
static weft_status take_block(const front_team &t, int gpu, int k) {
    const member &from = t.at[k % t.gpus];
    return on(t, gpu, [&](const member &m) {
        const int begin = k * t.stripe, end = least(begin + t.stripe, m.r.columns);
        wi_gpu_take_side(m.ctx, true);
        weft_status status = wi_chol_let_wait(t.ctx, m.ctx, from.ctx);
        if (status == WEFT_OK)
            status = copy_panels(m, from, begin, end);
        if (status == WEFT_OK)
            status = copy_pivots(m, from, begin, end);
        wi_gpu_take_side(m.ctx, false);
        const weft_status joined = wi_gpu_join(m.ctx);
        return status == WEFT_OK ? joined : status;
    });
}

/* ---- what a GPU computes ---- */

/* The panels of block k, and what they change in it. */
static weft_status factor_block(const front_team &t, int k) {
    return on(t, k % t.gpus, [&](const member &m) {
        const int panels = wi_pieces(m.r.columns, WI_PANEL);
        const int each = t.stripe / WI_PANEL, end = least((k + 1) * each, panels);
        weft_status status = WEFT_OK;
        const int flowed = wi_flow_columns(m.r.columns, m.d.flow_from);
        if (k * t.stripe < flowed)
            status = wi_chol_flow_block(m.ctx, m.d, m.r, k * t.stripe);
        for (int p = k * each; p < end && status == WEFT_OK; p++) {
            const wi_front_batch b = {m.number, 1, m.d.list, p, 0}; /* its first sum is 0 */
            const wi_panel_scope scope =
                wi_panel_scope_of(m.r.height, m.r.columns, p, m.d.flow_from);
            if ((p + 1) * WI_PANEL < flowed)
                continue;
            if (p * WI_PANEL >= flowed)
                status = wi_chol_factor_panel(m.ctx, &m.plan, m.d, b,
                                              (unsigned)wi_panel_blocks(m.r.height, p));
            if (status == WEFT_OK && p < end - 1)
                status = wi_chol_update_tiles(m.ctx, &m.plan, m.d, b,
                                              (unsigned)wi_panel_tiles(m.r.height, scope));
        }
        return status;
    });
}

/* What block k changes in the GPU's stripes begin ... end - 1. */
static weft_status update_stripes(const front_team &t, int gpu, int k, int begin, int end) {
    const int first = first_of(t, gpu, begin);
    if (k < 0 || first >= end)
        return WEFT_OK;
    return on(t, gpu, [&](const member &m) {
        const int panels = wi_pieces(m.r.columns, WI_PANEL);
        const int last = least((k + 1) * t.stripe / WI_PANEL, panels) - 1;
        const wi_front_stripes own = {first, t.gpus, end, t.stripe};
        if (wi_has_ring(m.r.height, m.r.columns, m.d.flow_from))
            return wi_chol_stripes_by_ring(m.ctx, m.d, m.r, {m.number, 1, m.d.list, last, m.maps},
                                           own);
        return wi_chol_update_stripes(m.ctx, &m.plan, m.d, m.r, m.number, last, own);
    });
}

/* Block k is factored, what block k - 1 changes is done, and then all have block k. */
static weft_status do_block(const front_team &t, int k) {
    const int owner = k % t.gpus;
    weft_status status = update_stripes(t, owner, k - 1, k, k + 1);
    if (status == WEFT_OK)
        status = factor_block(t, k);
    for (int gpu = 0; gpu < t.gpus && status == WEFT_OK; gpu++) {
        if (gpu == owner)
            continue;
        status = update_stripes(t, gpu, k - 1, k, t.stripes);
        if (status == WEFT_OK)
            status = take_block(t, gpu, k);
    }
    return status == WEFT_OK ? update_stripes(t, owner, k - 1, k + 1, t.stripes) : status;
}

weft_status wi_chol_together(weft_context *ctx, const weft_chol *plan, const wi_chol_level *level) {
    front_team t = {};
    t.ctx = ctx;
    t.gpus = wi_chol_gpus(plan);
    for (int gpu = 0; gpu < t.gpus; gpu++)
        join_team(&t, plan, gpu, level);
    t.stripe = wi_block_panels(t.at[0].r.columns, t.at[0].d.flow_from) * WI_PANEL;
    t.blocks = wi_pieces(t.at[0].r.columns, t.stripe);
    t.stripes = wi_pieces(t.at[0].r.height, t.stripe);
    weft_status status = WEFT_OK;
    for (int gpu = 0; gpu < t.gpus && status == WEFT_OK; gpu++) /* side lanes are for blocks */
        status = on(t, gpu, [](const member &m) { return wi_gpu_fork(m.ctx); });
    if (status == WEFT_OK)
        status = assemble(t, plan, level);
    for (int k = 0; k < t.blocks && status == WEFT_OK; k++)
        status = do_block(t, k);
    for (int gpu = 0; gpu < t.gpus && status == WEFT_OK; gpu++)
        status = update_stripes(t, gpu, t.blocks - 1, t.at[0].r.columns / t.stripe, t.stripes);
    for (int gpu = 1; gpu < t.gpus && status == WEFT_OK; gpu++)
        status = return_stripes(t, gpu);
    if (status == WEFT_OK)
        status = wi_chol_invert_squares(ctx, plan, t.at[0].d, t.at[0].number, 1);
    return status;
}
