/* SPDX-License-Identifier: Apache-2.0 */
/* Large products of the packed rung. For each `depth` products, threads pack all of A and B, piece
 * by piece; then they take rectangles of C one after another and multiply what is packed. So each
 * element of A and B is packed once, however many threads and rectangles there are. */
#include <stdatomic.h>

#include "core/smaller.h"
#include "cpu/team.h"
#include "gemm/gemm_large.h"
#include "gemm/gemm_simd.h"

enum {
    LEAST_SIDE = 128,         /* of C */
    LEAST_PRODUCTS = 1 << 22, /* twice waking the threads is little beside these */
    STRIP_BYTES = 384 << 10,  /* of packed columns of B: most of a second-level cache */
    PIECE_BYTES = 1 << 18,    /* that a thread packs at a time */
    MOST_ROWS = 3072,         /* of a rectangle */
    TASKS_A_THREAD = 4,       /* so that none waits long for the last; */
    MOST_TASKS_A_THREAD = 16, /* and so many where rectangles of so many rows can be halved: each */
    HIGH_ROWS = 1024,         /* reads its strip of B again */
    ALIGNMENT = 64
};

typedef struct plan {
    const wi_gemm_args *g;
    const wi_gemm_kernel *kernel;
    wi_gemm_side a, b;
    size_t width;            /* of an element */
    size_t a_piece, b_piece; /* rows or columns that are packed at a time */
    size_t a_pieces, pieces; /* of A; of both */
    size_t rows, columns;    /* of a rectangle */
    size_t down, tasks;
    char *packed_a, *packed_b;
    size_t p, k; /* products under way: those from p on, k of them */
    atomic_size_t next;
} plan;

static size_t round_up(size_t x, size_t unit) {
    return (x + unit - 1) / unit * unit;
}

static size_t pieces_of(size_t n, size_t piece) {
    return (n + piece - 1) / piece;
}

bool wi_gemm_is_large(const wi_gemm_args *g) {
    const double products = (double)g->m * (double)g->n * (double)g->k;
    return (g->type == WEFT_F64 || g->type == WEFT_F32) && g->m >= LEAST_SIDE &&
           g->n >= LEAST_SIDE && products >= LEAST_PRODUCTS;
}

/* ---- packing ---- */

static wi_gemm_side side_at(const plan *w, const wi_gemm_side *side, size_t i) {
    const size_t at = side->across ? i * side->ld + w->p : i + w->p * side->ld;
    return (wi_gemm_side){(const char *)side->x + at * w->width, side->ld, side->across};
}

static void pack_piece(const plan *w, size_t piece) {
    const bool is_a = piece < w->a_pieces;
    const size_t i = is_a ? piece * w->a_piece : (piece - w->a_pieces) * w->b_piece;
    const wi_gemm_side side = side_at(w, is_a ? &w->a : &w->b, i);
    const size_t at = i * w->k * w->width;
    if (is_a)
        w->kernel->pack_a(&side, wi_smaller(w->a_piece, w->g->m - i), w->k, w->packed_a + at);
    else
        w->kernel->pack_b(&side, wi_smaller(w->b_piece, w->g->n - i), w->k, w->packed_b + at);
}

static void pack_pieces(void *user, int rank, int size) {
    plan *const w = user;
    (void)rank;
    (void)size;
    for (size_t piece; (piece = atomic_fetch_add(&w->next, 1)) < w->pieces;)
        pack_piece(w, piece);
}

/* ---- products ---- */

/* The rectangles of a strip of columns follow each other. */
static void do_task(const plan *w, size_t task) {
    const wi_gemm_args *const g = w->g;
    const size_t i = task % w->down * w->rows, j = task / w->down * w->columns;
    const wi_gemm_block block = {.m = wi_smaller(w->rows, g->m - i),
                                 .n = wi_smaller(w->columns, g->n - j),
                                 .k = w->k,
                                 .a = w->packed_a + i * w->k * w->width,
                                 .b = w->packed_b + j * w->k * w->width,
                                 .c = (char *)g->c + (i + j * g->ldc) * w->width,
                                 .row_step = 1,
                                 .column_step = g->ldc,
                                 .alpha = g->alpha,
                                 .beta = w->p == 0 ? g->beta : 1};
    w->kernel->multiply(&block);
}

static void do_tasks(void *user, int rank, int size) {
    plan *const w = user;
    (void)rank;
    (void)size;
    for (size_t task; (task = atomic_fetch_add(&w->next, 1)) < w->tasks;)
        do_task(w, task);
}

/* ---- the plan ---- */

static plan plan_of(const wi_gemm_args *g) {
    const wi_gemm_kernel *const kernel = &WI_OF_ISA(wi_cpu_isa(), wi_gemm_simd)->kernel[g->type];
    return (plan){.g = g,
                  .kernel = kernel,
                  .a = {g->a, g->lda, g->transposed_a},
                  .b = {g->b, g->ldb, !g->transposed_b},
                  .width = weft_type_size(g->type)};
}

/* Of the products under way. */
static size_t line_of(const plan *w) {
    return wi_smaller(w->g->k, w->kernel->depth) * w->width;
}

static size_t a_bytes(const plan *w) {
    return round_up(round_up(w->g->m, w->kernel->rows) * line_of(w), ALIGNMENT);
}

size_t wi_gemm_large_bytes(const wi_gemm_args *g) {
    const plan w = plan_of(g);
    return a_bytes(&w) + round_up(g->n, w.kernel->columns) * line_of(&w);
}

static void halve_rows(plan *w, size_t tasks, size_t above) {
    const size_t strips = pieces_of(w->g->n, w->columns);
    while (pieces_of(w->g->m, w->rows) * strips < tasks && w->rows > above)
        w->rows = round_up(w->rows / 2, w->kernel->rows);
}

/* Rectangles as large as the caches like them, or less if threads would go without. */
static void cut(int threads, plan *w) {
    const size_t rows = w->kernel->rows, columns = w->kernel->columns, line = line_of(w);
    w->a_piece = round_up(PIECE_BYTES / line, rows);
    w->b_piece = round_up(PIECE_BYTES / line, columns);
    w->a_pieces = pieces_of(w->g->m, w->a_piece);
    w->pieces = w->a_pieces + pieces_of(w->g->n, w->b_piece);
    w->columns = wi_smaller(round_up(w->g->n, columns), STRIP_BYTES / line / columns * columns);
    w->rows = wi_smaller(round_up(w->g->m, rows), MOST_ROWS / rows * rows);
    if (threads > 1) {
        halve_rows(w, (size_t)threads * TASKS_A_THREAD, 4 * rows);
        halve_rows(w, (size_t)threads * MOST_TASKS_A_THREAD, HIGH_ROWS - 1);
    }
    w->down = pieces_of(w->g->m, w->rows);
    w->tasks = w->down * pieces_of(w->g->n, w->columns);
}

void wi_gemm_large_in(const weft_context *ctx, const wi_gemm_args *g, void *memory) {
    plan w = plan_of(g);
    w.packed_a = memory;
    w.packed_b = w.packed_a + a_bytes(&w);
    cut(ctx->threads, &w);
    for (; w.p < g->k; w.p += w.kernel->depth) {
        w.k = wi_smaller(w.kernel->depth, g->k - w.p);
        atomic_store(&w.next, 0);
        wi_team_run(ctx, (int)wi_smaller((size_t)ctx->threads, w.pieces), pack_pieces, &w);
        atomic_store(&w.next, 0);
        wi_team_run(ctx, (int)wi_smaller((size_t)ctx->threads, w.tasks), do_tasks, &w);
    }
}
