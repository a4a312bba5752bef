/* SPDX-License-Identifier: Apache-2.0 */
/* One block on the diagonal: it is packed once, and threads take panels of columns of X. */
#include "gemm/triangle_cpu.h"
#include "core/smaller.h"

#include <stdatomic.h>

#include "cpu/team.h"

enum {
    WORTHWHILE_PRODUCTS = 1 << 18, /* a thread: waking one takes some 5 us */
    PANELS_A_TURN = 8              /* that a thread takes at a time */
};

typedef struct work {
    const wi_triangle *t;
    const wi_triangle_kernel *kernel;
    wi_rows_part rows;
    wi_triangle_task task;
    double alpha;
    bool reciprocals; /* as kernel->pack says */
    _Alignas(64) union {
        double f64[WI_TRIANGLE_PACKED];
        float f32[WI_TRIANGLE_PACKED];
    } packed;
    size_t turns;
    atomic_size_t next;
} work;

static void pack(work *w) {
    const wi_triangle *const t = w->t;
    const ptrdiff_t first = (ptrdiff_t)w->rows.first * (t->t_row + t->t_column);
    const wi_triangle_corner corner = {
        .t = (const char *)t->t + first * (ptrdiff_t)weft_type_size(t->type),
        .t_row = t->t_row,
        .t_column = t->t_column,
        .unit = t->unit,
    };
    w->reciprocals = w->kernel->pack(&corner, w->rows.count, w->task, &w->packed);
}

/* The rows of X in the columns from j on that a panel holds. */
static void do_panel(const work *w, size_t j, void *panel) {
    const wi_triangle *const t = w->t;
    const wi_triangle_kernel *const kernel = w->kernel;
    const ptrdiff_t corner = (ptrdiff_t)w->rows.first * t->x_row + (ptrdiff_t)j * t->x_column;
    const wi_triangle_panel place = {
        .order = w->rows.count,
        .count = wi_smaller(kernel->columns, t->count - j),
        .x = (char *)t->x + corner * (ptrdiff_t)weft_type_size(t->type),
        .x_row = t->x_row,
        .x_column = t->x_column,
    };
    if (w->task == WI_TRIANGLE_SOLVE) {
        kernel->load(&place, w->alpha, panel);
        kernel->solve(place.order, w->reciprocals, &w->packed, panel);
    } else {
        kernel->load(&place, 1, panel);
        kernel->multiply(place.order, w->alpha, &w->packed, panel);
    }
    kernel->store(&place, panel);
}

static void do_turns(void *user, int rank, int size) {
    work *const w = user;
    _Alignas(64) char panel[WI_TRIANGLE_PANEL_BYTES] = {0}; /* columns beyond the last are 0 */
    (void)rank;
    (void)size;
    const size_t columns = w->kernel->columns, each = PANELS_A_TURN * columns;
    for (size_t turn; (turn = atomic_fetch_add(&w->next, 1)) < w->turns;) {
        const size_t end = wi_smaller((turn + 1) * each, w->t->count);
        for (size_t j = turn * each; j < end; j += columns)
            do_panel(w, j, panel);
    }
}

void wi_triangle_do_block(const wi_triangle_run *r, wi_rows_part rows, wi_triangle_task task,
                          double alpha) {
    const wi_triangle_simd *const simd = WI_OF_ISA(wi_cpu_isa(), wi_triangle_simd);
    const wi_triangle *const t = r->t;
    work w = {.t = t,
              .kernel = t->type == WEFT_F64 ? &simd->f64 : &simd->f32,
              .rows = rows,
              .task = task,
              .alpha = alpha};
    pack(&w);
    const size_t each = PANELS_A_TURN * w.kernel->columns;
    w.turns = (t->count + each - 1) / each;
    const double products = (double)rows.count * (double)rows.count / 2 * (double)t->count;
    const double worthwhile = products / WORTHWHILE_PRODUCTS;
    const size_t most = wi_smaller(w.turns, (size_t)r->ctx->threads);
    const int team = worthwhile < 2 ? 1 : worthwhile < (double)most ? (int)worthwhile : (int)most;
    wi_team_run(r->ctx, team, do_turns, &w);
}

void wi_triangle_multiply(const wi_triangle_run *r, wi_rows_part rows, wi_rows_part others,
                          double alpha, double beta) {
    const wi_gemm_args product = wi_triangle_part(r->t, rows, others, alpha, beta);
    wi_gemm_packed_in(r->ctx, &product, r->memory);
}

weft_status wi_triangle_run_all(weft_context *ctx, const wi_triangle_args *args, const char *call,
                                void (*body)(const wi_triangle_run *r, wi_rows_part rows,
                                             double alpha)) {
    if (args->alpha == 0)
        return wi_triangle_zero(ctx, args);
    const wi_triangle t = wi_triangle_of(args);
    const wi_rows_part all = {0, t.order};
    const size_t bytes = wi_triangle_bytes(ctx, &t, all, WI_TRIANGLE_SIDE, wi_gemm_packed_bytes);
    const wi_triangle_run run = {ctx, &t, bytes ? wi_host_alloc(bytes) : NULL};
    if (bytes && !run.memory)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for %zu bytes of packed blocks", call,
                       bytes);
    body(&run, all, t.alpha);
    wi_host_free(run.memory);
    return WEFT_OK;
}
