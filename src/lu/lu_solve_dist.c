/* SPDX-License-Identifier: Apache-2.0 */
/* Systems with the factors of lu, whose columns the ranks hold: rank r also finds the rows of X
 * that its columns are multiplied with. Right-hand sides go from rank to rank, some columns at a
 * time, so that all ranks work on different ones. */
#include <string.h>

#include "core/gpu.h"
#include "core/rowcopy.h"
#include "gemm/trsm.h"
#include "lu/lu_dist.h"
#include "weft/map.h"

enum {
    LU,
    B,
    PIVOT /* where rows are exchanged */
};

typedef struct work {
    weft_context *ctx;
    const wi_lu_solving *call;
    wi_lu_system s; /* n is the order; nrhs, lu and b are what this rank passes */
    size_t columns; /* of lu that this rank passes */
    size_t first;   /* the first of them in the whole */
    size_t all_rhs;
    size_t *starts;           /* where the columns begin that each rank passes, and n */
    size_t *rhs;              /* right-hand sides that each passes */
    size_t *leaving, *coming; /* elements that go to each rank, and come, when rows are gathered */
    char *x;                  /* the own right-hand sides, by columns, in memory of the place */
    char *y;                  /* the own rows of all right-hand sides, likewise */
    char *leave, *come;       /* x and y where the communicator reaches them */
    char *in, *out;           /* messages, in memory of the place */
    char *wire;               /* and in host memory, if the communicator reaches no other */
    size_t together;          /* right-hand sides of a message */
    weft_status status;       /* of this rank's own steps */
} work;

static bool exchanges(const wi_lu_solving *g) {
    return !g->spd && !g->last;
}

static size_t width_of(const work *w) {
    return weft_type_size(w->s.type);
}

#define STEP(w, call) WI_LOCAL_STEP((w)->ctx, (w)->status, call)

/* ---- what the ranks pass ---- */

/* starts, rhs and what follows from them. */
static weft_status learn_counts(work *w, const wi_lu_solving *call) {
    wi_comm *const comm = w->ctx->comm;
    const uint64_t own[2] = {call->columns, call->nrhs};
    const size_t size = (size_t)comm->size;
    const uint64_t *all;
    void *starts;
    weft_status status = wi_dist_take(w->ctx, 4 * size + 1, sizeof *w->starts, &starts);
    status = wi_agree(w->ctx, 0, status);
    w->starts = starts;
    if (status == WEFT_OK)
        status = wi_all_words(w->ctx, own, 2, &all);
    if (status != WEFT_OK)
        return status;
    w->rhs = w->starts + size + 1;
    w->leaving = w->rhs + size;
    w->coming = w->leaving + size;
    w->starts[0] = 0;
    for (size_t r = 0; r < size; r++) {
        w->starts[r + 1] = w->starts[r] + all[2 * r];
        w->rhs[r] = all[2 * r + 1];
        w->all_rhs += w->rhs[r];
    }
    w->first = w->starts[comm->rank];
    w->s.n = w->starts[size];
    for (size_t r = 0; r < size; r++) {
        w->leaving[r] = (w->starts[r + 1] - w->starts[r]) * w->s.nrhs;
        w->coming[r] = w->columns * w->rhs[r];
    }
    return WEFT_OK;
}

/* ---- memory ---- */

static void take_place(work *w, size_t rows, size_t columns, char **p) {
    void *memory = NULL;
    if (rows * columns > 0)
        STEP(w, weft_alloc(w->ctx->child, &memory, rows * columns * width_of(w)));
    *p = memory;
}

static void take_near(work *w, size_t rows, size_t columns, char **p) {
    void *memory = NULL;
    if (w->status == WEFT_OK)
        w->status = wi_dist_take_near(w->ctx, rows * columns, width_of(w), &memory);
    *p = memory;
}

static void take(work *w) {
    enum {
        ROUNDS = 4, /* messages for each rank */
        LEAST = 16,
        MOST = 256
    };
    const size_t even = w->all_rhs / (ROUNDS * (size_t)w->ctx->comm->size);
    void *wire = NULL;
    w->together = even < LEAST ? LEAST : even < MOST ? even : MOST;
    w->together = w->together < w->all_rhs ? w->together : w->all_rhs;
    take_place(w, w->s.n, w->s.nrhs, &w->x);
    take_place(w, w->columns, w->all_rhs, &w->y);
    take_place(w, w->s.n, w->together, &w->in);
    take_place(w, w->s.n, w->together, &w->out);
    take_near(w, w->s.n, w->s.nrhs, &w->leave);
    take_near(w, w->columns, w->all_rhs, &w->come);
    if (w->status == WEFT_OK && !wi_dist_reaches(w->ctx))
        w->status = wi_dist_take(w->ctx, w->s.n * w->together, width_of(w), &wire);
    w->wire = wire;
}

static void give(work *w) {
    weft_context *const child = w->ctx->child;
    char *const of_place[] = {w->x, w->y, w->in, w->out};
    for (size_t k = 0; k < sizeof of_place / sizeof *of_place; k++)
        weft_free(child, of_place[k]);
    wi_dist_give_near(w->ctx, w->leave);
    wi_dist_give_near(w->ctx, w->come);
    wi_host_free(w->wire);
    wi_host_free(w->starts);
}

/* ---- right-hand sides to rows of all, and back ---- */

/* Copies the rows of each rank out of x, or back. */
static void pack(work *w, bool back) {
    weft_context *const child = w->ctx->child;
    const size_t width = width_of(w), rhs = w->s.nrhs;
    char *at = w->leave;
    for (int r = 0; r < w->ctx->comm->size && rhs > 0; r++) {
        const size_t bytes = (w->starts[r + 1] - w->starts[r]) * width;
        const wi_pitched whole = {w->x + w->starts[r] * width, w->s.n * width}, part = {at, bytes};
        if (bytes > 0)
            STEP(w, wi_copy_rows(child, back ? whole : part, back ? part : whole, rhs, bytes));
        at += bytes * rhs;
    }
    STEP(w, weft_sync(child));
}

static weft_status gather_rows(work *w) {
    weft_context *const ctx = w->ctx;
    pack(w, false);
    weft_status status = wi_agree(ctx, 0, w->status);
    if (status == WEFT_OK)
        status = ctx->comm->calls->all_to_all_v(ctx, w->leave, w->leaving, w->come, w->coming,
                                                w->s.type);
    STEP(w, weft_copy(ctx->child, w->y, w->come, w->columns * w->all_rhs * width_of(w)));
    return status;
}

static weft_status scatter_rows(work *w) {
    weft_context *const ctx = w->ctx;
    STEP(w, weft_copy(ctx->child, w->come, w->y, w->columns * w->all_rhs * width_of(w)));
    weft_status status = wi_agree(ctx, 0, w->status);
    if (status == WEFT_OK)
        status = ctx->comm->calls->all_to_all_v(ctx, w->come, w->coming, w->leave, w->leaving,
                                                w->s.type);
    pack(w, true);
    return status;
}

/* ---- messages between neighbours ---- */

static weft_status receive(work *w, size_t n, int from) {
    const weft_status status =
        w->ctx->comm->calls->recv(w->ctx, w->wire ? w->wire : w->in, n, w->s.type, from);
    if (status == WEFT_OK && w->wire)
        STEP(w, weft_copy(w->ctx->child, w->in, w->wire, n * width_of(w)));
    return status;
}

static weft_status pass_on(work *w, size_t n, int to) {
    if (w->wire)
        STEP(w, weft_copy(w->ctx->child, w->wire, w->out, n * width_of(w)));
    return w->ctx->comm->calls->send(w->ctx, w->wire ? w->wire : w->out, n, w->s.type, to);
}

/* ---- one triangle ---- */

/* A sweep through the ranks: with a triangle as it is, a message has what is taken off the rows
 * that are still to be found; with a transposed one, the rows that are found. */
typedef struct sweep {
    bool upper, transposed;
    bool up;      /* from rank 0 on */
    int from, to; /* neighbours, or -1 */
    size_t rows_in, rows_out;
} sweep;

static sweep sweep_of(const work *w, bool upper, bool transposed) {
    const int rank = w->ctx->comm->rank, size = w->ctx->comm->size;
    const bool up = upper == transposed;
    const int step = up ? 1 : -1, from = rank - step, to = rank + step;
    const size_t above = w->first, below = w->s.n - w->first - w->columns;
    const size_t done = up ? above : below, left = up ? below : above;
    return (sweep){.upper = upper,
                   .transposed = transposed,
                   .up = up,
                   .from = from < size ? from : -1,
                   .to = to < size ? to : -1,
                   .rows_in = transposed ? done : left + w->columns,
                   .rows_out = transposed ? done + w->columns : left};
}

/* Element (row, 0) of the columns that this rank has. */
static const char *lu_at(const work *w, size_t row) {
    return (const char *)w->s.lu + row * (w->s.by_rows ? w->s.lda : 1) * width_of(w);
}

/* C(rows x rhs) = beta C - T(rows of lu from `row` on, own columns) X, or with its transpose. */
static weft_status multiply(const work *w, bool transposed, size_t row, size_t rows, const char *x,
                            size_t ldx, double beta, char *c, size_t ldc, size_t rhs) {
    weft_context *const child = w->ctx->child;
    const wi_gemm_args g = {.type = w->s.type,
                            .out = w->s.type,
                            .transposed_a = transposed != w->s.by_rows,
                            .m = transposed ? w->columns : rows,
                            .n = rhs,
                            .k = transposed ? rows : w->columns,
                            .alpha = -1,
                            .beta = beta,
                            .a = lu_at(w, row),
                            .lda = w->s.lda,
                            .b = x,
                            .ldb = ldx,
                            .c = c,
                            .ldc = ldc};
    if (g.m == 0 || g.n == 0)
        return WEFT_OK;
    return wi_pick(child, &wi_gemm_ladder, g.type, &g)->run(child, &g);
}

static weft_status solve_own(const work *w, const sweep *v, char *y, size_t rhs) {
    weft_context *const child = w->ctx->child;
    const wi_triangle_args t = {.type = w->s.type,
                                .upper = v->upper != w->s.by_rows,
                                .transposed = v->transposed != w->s.by_rows,
                                .unit = !v->upper && !w->call->spd,
                                .m = w->columns,
                                .n = rhs,
                                .alpha = 1,
                                .a = lu_at(w, w->first),
                                .lda = w->s.lda,
                                .b = y,
                                .ldb = w->columns};
    return w->columns == 0 ? WEFT_OK : wi_pick(child, &wi_trsm_ladder, t.type, &t)->run(child, &t);
}

/* Copies rows of a message to rows of another. */
static weft_status copy_rows(const work *w, char *to, size_t to_rows, const char *from,
                             size_t from_rows, size_t rows, size_t rhs) {
    const size_t width = width_of(w);
    if (rows == 0)
        return WEFT_OK;
    return wi_copy_rows(w->ctx->child, (wi_pitched){to, to_rows * width},
                        (wi_pitched){(char *)(uintptr_t)from, from_rows * width}, rhs,
                        rows * width);
}

/* With a triangle as it is. */
static void push(work *w, const sweep *v, char *y, size_t rhs) {
    weft_context *const child = w->ctx->child;
    const size_t width = width_of(w), own = w->columns, rows = v->rows_out;
    const bool comes = v->from >= 0;
    const char *const mine = w->in + (v->up ? 0 : rows) * width;
    const char *const rest = w->in + (v->up ? own : 0) * width;
    if (comes && own > 0)
        STEP(w, weft_add_matrix(child, w->s.type, rhs, own, mine, v->rows_in, y, own, y, own));
    STEP(w, solve_own(w, v, y, rhs));
    if (v->to < 0)
        return;
    if (comes)
        STEP(w, copy_rows(w, w->out, rows, rest, v->rows_in, rows, rhs));
    STEP(w, multiply(w, false, v->up ? w->first + own : 0, rows, y, own, comes, w->out, rows, rhs));
}

/* With a transposed one. */
static void pull(work *w, const sweep *v, char *y, size_t rhs) {
    const size_t width = width_of(w), own = w->columns, rows = v->rows_in;
    if (rows > 0 && own > 0)
        STEP(w, multiply(w, true, v->up ? 0 : w->first + own, rows, w->in, rows, 1, y, own, rhs));
    STEP(w, solve_own(w, v, y, rhs));
    if (v->to < 0)
        return;
    STEP(w, copy_rows(w, w->out + (v->up ? 0 : own) * width, v->rows_out, w->in, rows, rows, rhs));
    STEP(w, copy_rows(w, w->out + (v->up ? rows : 0) * width, v->rows_out, y, own, own, rhs));
}

/* Y = op(T) \ Y */
static weft_status sweep_ranks(work *w, bool upper, bool transposed) {
    const sweep v = sweep_of(w, upper, transposed);
    weft_status status = WEFT_OK;
    for (size_t k = 0; k < w->all_rhs && status == WEFT_OK; k += w->together) {
        const size_t left = w->all_rhs - k, rhs = left < w->together ? left : w->together;
        char *const y = w->y + k * w->columns * width_of(w);
        if (v.from >= 0)
            status = receive(w, v.rows_in * rhs, v.from);
        if (status != WEFT_OK)
            return status;
        (v.transposed ? pull : push)(w, &v, y, rhs);
        if (v.to >= 0)
            status = pass_on(w, v.rows_out * rhs, v.to);
    }
    return status;
}

/* ---- all of it ---- */

static void exchange(work *w) {
    if (w->s.nrhs > 0 && exchanges(w->call))
        STEP(w, wi_lu_swap_rows(w->ctx->child, w->s.type, w->s.nrhs, w->x, w->s.n, w->s.n,
                                w->s.pivot, !w->s.transposed));
}

/* With L and U, or with U' and L'; with L and L', or with U' and U. */
static weft_status sweep_both(work *w) {
    const bool spd = w->call->spd, turned = spd ? w->call->upper : w->s.transposed;
    const weft_status status = w->call->last ? WEFT_OK : sweep_ranks(w, turned, turned);
    return status == WEFT_OK ? sweep_ranks(w, spd ? turned : !turned, spd ? !turned : turned)
                             : status;
}

static weft_status solve(weft_context *ctx, const wi_part *part, void *user) {
    work *const w = user;
    (void)ctx;
    w->s.lu = part->p[LU];
    w->s.lda = part->ld[LU];
    w->s.pivot = exchanges(w->call) ? part->p[PIVOT] : NULL;
    w->s.b = part->p[B];
    w->s.ldb = part->ld[B];
    take(w);
    weft_status status = wi_agree(w->ctx, 0, w->status);
    if (status != WEFT_OK)
        return status;
    if (w->s.nrhs > 0)
        STEP(w, wi_lu_move_system(w->ctx->child, &w->s, w->x, false));
    if (!w->s.transposed)
        exchange(w);
    status = gather_rows(w);
    if (status == WEFT_OK)
        status = sweep_both(w);
    if (status == WEFT_OK)
        status = scatter_rows(w);
    if (status != WEFT_OK)
        return status;
    if (w->s.transposed)
        exchange(w);
    status = wi_agree(w->ctx, 0, w->status);
    if (status == WEFT_OK && w->s.nrhs > 0)
        status = wi_local(w->ctx, wi_lu_move_system(w->ctx->child, &w->s, w->x, true));
    return status;
}

static weft_status run_checked(work *w, const wi_lu_solving *g) {
    weft_context *const ctx = w->ctx, *const child = ctx->child;
    const size_t n = w->s.n, own = g->columns, rhs = g->nrhs;
    const weft_type type = w->s.type;
    const bool by_rows = w->s.by_rows;
    const unsigned use = WI_IN | WI_OUT;
    wi_call call;
    const char *const lu = g->spd ? "l" : "lu";
    wi_call_begin(&call, g->call, 0, 0);
    wi_call_add(&call, by_rows ? wi_matrix(lu, g->lu, n, own, "lda", g->lda, type, WI_IN)
                               : wi_columns(lu, g->lu, n, own, "lda", g->lda, type, WI_IN));
    wi_call_add(&call, by_rows ? wi_matrix("b", g->b, n, rhs, "ldb", g->ldb, type, use)
                               : wi_columns("b", g->b, n, rhs, "ldb", g->ldb, type, use));
    if (exchanges(g))
        wi_call_add(&call, wi_elements("pivot", g->pivot, n, WEFT_I64, WI_IN));
    weft_status status = wi_call_check(child, &call);
    if (status == WEFT_OK && exchanges(g))
        status = wi_lu_check_pivots(child, g->call, n, g->pivot);
    status = wi_agree(ctx, 0, wi_local(ctx, status));
    if (status != WEFT_OK || n == 0 || w->all_rhs == 0)
        return status;
    return wi_dist_call_run(ctx, &call, solve, w);
}

weft_status wi_lu_solve_ranks(weft_context *ctx, const wi_lu_solving *g, weft_status status) {
    const unsigned flags =
        (unsigned)g->by_rows | (unsigned)g->transposed << 1 | (unsigned)g->upper << 2;
    const uint64_t alike =
        wi_alike_bytes(wi_alike(wi_alike(0, g->type), flags), g->call, strlen(g->call));
    work w = {
        .ctx = ctx,
        .call = g,
        .columns = g->columns,
        .s = {
            .type = g->type, .by_rows = g->by_rows, .transposed = g->transposed, .nrhs = g->nrhs}};
    ctx->comm->call = g->call;
    status = wi_agree(ctx, alike, status);
    if (status != WEFT_OK)
        return status;
    status = learn_counts(&w, g);
    if (status == WEFT_OK)
        status = run_checked(&w, g);
    give(&w);
    return wi_agree(ctx, alike, status);
}
