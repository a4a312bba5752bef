/* SPDX-License-Identifier: Apache-2.0 */
/* The packed rung of syrk. All of op(A) is packed once for each `depth` products, as the rows of a
 * product; then threads take strips of C's columns, pack these as the columns of the product, and
 * multiply. Of C's squares on the diagonal, which are as small as tiles allow, the whole is made,
 * apart from C, which takes one triangle of them. So an element's bits depend on its row and column
 * of A and k alone. */
#include <math.h>
#include <stdatomic.h>

#include "core/smaller.h"
#include "cpu/team.h"
#include "gemm/gemm_simd.h"
#include "gemm/syrk.h"

enum {
    MOST_SIDE = 48,                /* of a square on the diagonal: the most rows that a tile has */
    STRIP_BYTES = 384 << 10,       /* of packed columns: most of a second-level cache */
    PIECE_ROWS = 8 * MOST_SIDE,    /* that a thread packs at a time */
    STRIPS_A_THREAD = 4,           /* so that none waits long for the last */
    WORTHWHILE_PRODUCTS = 1 << 18, /* a thread: waking one takes some 5 us */
    ALIGNMENT = 64
};

typedef struct plan {
    const wi_syrk_args *g;
    const wi_gemm_kernel *kernel;
    size_t width; /* of an element */
    int team;
    size_t side;  /* of a square on the diagonal: a multiple of a tile's rows and columns */
    size_t strip; /* columns, a multiple of it */
    size_t rows_bytes, each; /* of all packed rows; of a thread's memory */
    char *rows, *own;        /* packed; of the first thread */
    size_t p, k;             /* products under way: those from p on, k of them */
    atomic_size_t next;
} plan;

static size_t round_up(size_t x, size_t unit) {
    return (x + unit - 1) / unit * unit;
}

/* ---- packing ---- */

/* Rows i and on of op(A), the products under way. */
static wi_gemm_side side_at(const plan *w, size_t i) {
    const wi_syrk_args *const g = w->g;
    const size_t at = g->transposed ? i * g->lda + w->p : i + w->p * g->lda;
    return (wi_gemm_side){(const char *)g->a + at * w->width, g->lda, g->transposed};
}

static void pack_pieces(void *user, int rank, int size) {
    plan *const w = user;
    (void)rank;
    (void)size;
    for (size_t i; (i = PIECE_ROWS * atomic_fetch_add(&w->next, 1)) < w->g->n;) {
        const wi_gemm_side side = side_at(w, i);
        w->kernel->pack_a(&side, wi_smaller(PIECE_ROWS, w->g->n - i), w->k,
                          w->rows + i * w->k * w->width);
    }
}

/* ---- products ---- */

#define NAME(f) f##_f64
#define WORD double
#define PLUS_PRODUCT fma
#include "gemm/syrk_cpu_loops.inc"

#define NAME(f) f##_f32
#define WORD float
#define PLUS_PRODUCT fmaf
#include "gemm/syrk_cpu_loops.inc"

/* Rows i ... i + m - 1 of `n` packed columns: C, or something else, = alpha products + beta C. */
static void multiply(const plan *w, size_t i, size_t m, const char *columns, size_t n, double alpha,
                     double beta, void *c, size_t ldc) {
    const wi_gemm_block block = {.m = m,
                                 .n = n,
                                 .k = w->k,
                                 .a = w->rows + i * w->k * w->width,
                                 .b = columns,
                                 .c = c,
                                 .row_step = 1,
                                 .column_step = ldc,
                                 .alpha = alpha,
                                 .beta = beta};
    if (m > 0)
        w->kernel->multiply(&block);
}

static double beta_of(const plan *w) {
    return w->p == 0 ? w->g->beta : 1;
}

/* Rows i ... end - 1 of columns j ... j + n - 1, where all of C counts. */
static void multiply_beside(const plan *w, size_t i, size_t end, const char *columns, size_t j,
                            size_t n) {
    char *const c = (char *)w->g->c + (i + j * w->g->ldc) * w->width;
    multiply(w, i, end - i, columns, n, w->g->alpha, beta_of(w), c, w->g->ldc);
}

static void multiply_square(const plan *w, size_t j, size_t n, const char *columns, void *square) {
    multiply(w, j, n, columns, n, 1, 0, square, w->side);
    if (w->g->type == WEFT_F64)
        add_f64(w->g, j, n, square, w->side, beta_of(w));
    else
        add_f32(w->g, j, n, square, w->side, (float)beta_of(w));
}

static void do_strip(const plan *w, size_t j, char *own) {
    const size_t end = wi_smaller(j + w->strip, w->g->n);
    const wi_gemm_side side = side_at(w, j);
    char *const columns = own + MOST_SIDE * MOST_SIDE * w->width;
    w->kernel->pack_b(&side, end - j, w->k, columns);
    for (size_t s = j; s < end; s += w->side) {
        const size_t n = wi_smaller(w->side, end - s);
        const char *const some = columns + (s - j) * w->k * w->width;
        multiply_square(w, s, n, some, own);
        if (w->g->upper)
            multiply_beside(w, j, s, some, s, n);
        else
            multiply_beside(w, s + n, end, some, s, n);
    }
    if (w->g->upper)
        multiply_beside(w, 0, j, columns, j, end - j);
    else
        multiply_beside(w, end, w->g->n, columns, j, end - j);
}

/* The longest strips first: those on the left of a lower triangle. */
static void do_strips(void *user, int rank, int size) {
    plan *const w = user;
    const size_t strips = (w->g->n + w->strip - 1) / w->strip;
    (void)size;
    for (size_t s; (s = atomic_fetch_add(&w->next, 1)) < strips;)
        do_strip(w, (w->g->upper ? strips - 1 - s : s) * w->strip, w->own + (size_t)rank * w->each);
}

/* ---- the plan ---- */

static int team_of(const weft_context *ctx, const wi_syrk_args *g) {
    const double products = (double)g->n * (double)g->n / 2 * (double)g->k;
    const double worthwhile = products / WORTHWHILE_PRODUCTS;
    const size_t most = wi_smaller((g->n + MOST_SIDE - 1) / MOST_SIDE, (size_t)ctx->threads);
    return worthwhile < 2 ? 1 : worthwhile < (double)most ? (int)worthwhile : (int)most;
}

/* Of k > 0. */
static plan plan_of(const weft_context *ctx, const wi_syrk_args *g) {
    const wi_gemm_kernel *const kernel = &WI_OF_ISA(wi_cpu_isa(), wi_gemm_simd)->kernel[g->type];
    const size_t width = weft_type_size(g->type), line = wi_smaller(g->k, kernel->depth) * width;
    plan w = {.g = g, .kernel = kernel, .width = width, .team = team_of(ctx, g)};
    const size_t shares = w.team > 1 ? (size_t)w.team * STRIPS_A_THREAD : 1;
    w.side = kernel->rows % kernel->columns ? 2 * kernel->rows : kernel->rows;
    const size_t some = round_up((g->n + shares - 1) / shares, w.side);
    w.strip = wi_smaller(some, STRIP_BYTES / line / w.side * w.side);
    w.rows_bytes = round_up(round_up(g->n, kernel->rows) * line, ALIGNMENT);
    w.each = MOST_SIDE * MOST_SIDE * width + round_up(w.strip * line, ALIGNMENT);
    return w;
}

size_t wi_syrk_packed_bytes(const weft_context *ctx, const wi_syrk_args *g) {
    if (g->k == 0)
        return 0;
    const plan w = plan_of(ctx, g);
    return w.rows_bytes + (size_t)w.team * w.each;
}

void wi_syrk_packed_in(const weft_context *ctx, const wi_syrk_args *g, void *memory) {
    if (g->k == 0) {
        if (g->type == WEFT_F64)
            scale_f64(g, g->beta);
        else
            scale_f32(g, (float)g->beta);
        return;
    }
    plan w = plan_of(ctx, g);
    w.rows = memory;
    w.own = w.rows + w.rows_bytes;
    for (; w.p < g->k; w.p += w.kernel->depth) {
        w.k = wi_smaller(w.kernel->depth, g->k - w.p);
        atomic_store(&w.next, 0);
        wi_team_run(ctx, w.team, pack_pieces, &w);
        atomic_store(&w.next, 0);
        wi_team_run(ctx, w.team, do_strips, &w);
    }
}

weft_status wi_syrk_packed(weft_context *ctx, const void *args) {
    const wi_syrk_args *const g = args;
    const size_t bytes = wi_syrk_packed_bytes(ctx, g);
    void *const memory = bytes ? wi_host_alloc(bytes) : NULL;
    if (bytes && !memory)
        return wi_fail(ctx, WEFT_ENOMEM, "weft_syrk: no memory for %zu bytes of packed blocks",
                       bytes);
    wi_syrk_packed_in(ctx, g, memory);
    wi_host_free(memory);
    return WEFT_OK;
}
