/* SPDX-License-Identifier: Apache-2.0 */
/* Predicted seconds of a factorization over ranks, by columns and by a grid (README.md). */
#include "lu/grid_cost.h"

#include <math.h>

/* What a rank does in a second, and what its steps take. */
typedef struct figures {
    double flops;    /* a second, of products in f64 */
    double bytes;    /* a second, through the network */
    double step_s;   /* seconds for a small message */
    double column_s; /* seconds for a column of a panel that one rank factors alone, beside: */
    double panel;    /* the flops of such a panel a second */
    double block;    /* columns of a panel */
    double link; /* bytes a second between a GPU and the host, where panels of a grid are made */
    bool hides;  /* products run while a panel of cholesky is made */
} figures;

/* Eight threads of a processor with AVX2; an H100 or H200 with a card of 400 Gb/s. */
static const figures of_cpu = {.flops = 2.4e11,
                               .bytes = 1e10,
                               .step_s = 5e-6,
                               .panel = 6e10,
                               .block = 128,
                               .link = INFINITY,
                               .hides = true};
static const figures of_gpu = {.flops = 4e13,
                               .bytes = 4e10,
                               .step_s = 1e-5,
                               .column_s = 2.2e-6,
                               .panel = INFINITY,
                               .block = 256,
                               .link = 1e10};

/* Flops a second of a grid's panels, which the threads of a rank make column by column, and of the
 * diagonal of cholesky, which one thread makes. */
static const double grid_panel = 1.6e10, grid_diagonal = 2e9;

/* Seconds that a grid takes besides: for each pivot, on the host; and at the beginning, for making
 * communicators and dealing the matrix out by blocks. */
static const double pivot_s = 2e-6, start_s = 1e-3;

enum {
    GRID_BLOCK = 128
};

/* Those of a GPU only if all ranks work on GPUs. */
static const figures *figures_of(const weft_context *ctx) {
    return ctx->comm->below || ctx->gpus ? &of_gpu : &of_cpu;
}

static double flops_of(const wi_ranks_work *w) {
    const double r = fmin(w->m, w->n);
    return (w->spd ? 1 : 2) * (w->m * w->n * r - (w->m + w->n) * r * r / 2 + r * r * r / 3);
}

static double steps_of(double ranks) {
    return ceil(log2(ranks));
}

/* One rank after the other makes a panel and sends it, while all multiply. A long message is sent
 * as parts, which all ranks pass on, so that it takes twice its bytes. */
double wi_ranks_columns_seconds(const weft_context *ctx, const wi_ranks_work *w) {
    const figures *const f = figures_of(ctx);
    const double ranks = ctx->comm->size, r = fmin(w->m, w->n);
    const double share = w->spd ? 0.2 : 1; /* substitution has half the flops, and is faster */
    const double panels = r * f->column_s + share * r * w->m * f->block / f->panel;
    const double sent = w->m * r * w->width / f->bytes + r / f->block * steps_of(ranks) * f->step_s;
    return fmax(flops_of(w) / ranks / f->flops, panels + sent);
}

/* The rows of the grid that wi_rank_grid_rows chooses. */
static double rows_of(const weft_context *ctx) {
    const int ranks = ctx->comm->size;
    int rows = 1;
    for (int p = 1; p * p <= ranks; p++)
        rows = ranks % p == 0 ? p : rows;
    return rows;
}

/* Seconds for the panels of p ranks in a column. lu: a message about each pivot, and the
 * elimination in the panel. cholesky: the diagonal, made by one rank, and the substitution below
 * it. Both: the panel's bytes through the link of a GPU, there and back. */
static double grid_panels(const figures *f, const wi_ranks_work *w, double p) {
    const double r = fmin(w->m, w->n), moved = w->m * r * w->width / p / f->link;
    if (w->spd)
        return r * GRID_BLOCK * GRID_BLOCK / 3 / grid_diagonal +
               r * w->m * GRID_BLOCK / 2 / p / f->flops + r / GRID_BLOCK * steps_of(p) * f->step_s +
               moved;
    return r * (pivot_s + steps_of(p) * f->step_s + 2 * GRID_BLOCK * w->width * p / f->bytes) +
           r * w->m * GRID_BLOCK / p / grid_panel + moved;
}

double wi_ranks_grid_seconds(const weft_context *ctx, const wi_ranks_work *w) {
    const figures *const f = figures_of(ctx);
    const double ranks = ctx->comm->size, p = rows_of(ctx), q = ranks / p, r = fmin(w->m, w->n);
    const double products = flops_of(w) / ranks / f->flops, blocks = r / GRID_BLOCK;
    const double panels = grid_panels(f, w, p);
    const double along = w->m * r * w->width / p / f->bytes + blocks * steps_of(q) * f->step_s;
    /* lu: the rows that are exchanged, two for each pivot, and U, which all ranks of a column
     * compute; cholesky: as many bytes as half of one of these rows for each column of L */
    const double down = (w->spd ? 0.5 : 2) * w->n * r * w->width / q / f->bytes +
                        2 * blocks * steps_of(p) * f->step_s +
                        (w->spd ? 0 : r * w->n * GRID_BLOCK / q / f->flops);
    const bool hides = f->hides || !w->spd;
    return start_s + (hides ? fmax(products, panels + along) : products + panels + along) + down;
}

const char *wi_ranks_fit_grid(const weft_context *ctx, const void *args) {
    (void)args;
    return wi_comm_splits(ctx) ? NULL : "needs place mpi, whose ranks form a grid";
}
