/* SPDX-License-Identifier: Apache-2.0 */
/* The packed rung of gemm. C is cut into tasks, rectangles that threads take one after another. A
 * task packs a block of A that the last-level cache holds, and blocks of B for the cache below, and
 * multiplies them; the sums of each `depth` products are computed separately and then added to C.
 * So an element's bits depend only on its row of A, its column of B and k: not on how C is cut, nor
 * on the number of threads. Large products are left to gemm_large.c. */
#include <stdatomic.h>
#include <string.h>

#include "core/smaller.h"
#include "cpu/half.h"
#include "cpu/team.h"
#include "gemm/gemm.h"
#include "gemm/gemm_large.h"
#include "gemm/gemm_simd.h"

enum {
    TASK_ROWS = 3072,
    THIN_COLUMNS =
        64,         /* for so few columns packed rows of A must stay in the second-level cache, */
    THIN_ROWS = 96, /* or, by multiply_thin, a panel in the first-level one */
    TASK_COLUMNS = 1536,
    TASKS_A_THREAD = 4,            /* so that none waits long for the last */
    THIN_TASKS_A_THREAD = 2,       /* each packs B again */
    B_BYTES = 384 << 10,           /* of a packed block: most of a second-level cache */
    NARROW_COLUMNS = 384,          /* of a task whose sums are kept apart from C */
    WORTHWHILE_PRODUCTS = 1 << 19, /* a thread: 15 us or more of its time; waking it takes some 5 */
    ALIGNMENT = 64
};

/* A product under way. */
typedef struct plan {
    const wi_gemm_kernel *kernel;
    const wi_gemm_simd *simd;
    wi_gemm_side a, b;
    size_t m, n, k, row_step, column_step;
    double alpha, beta;
    weft_type type, out;
    void *c;
    bool narrow;                    /* sums are kept in f32 until they are rounded once */
    bool thin;                      /* panels of A are packed as they are needed */
    size_t task_rows, task_columns; /* of C, at most */
    size_t tasks_down, tasks;
    size_t block_columns;          /* of B packed at a time */
    size_t a_bytes, b_bytes, each; /* of memory for a thread */
    char *memory;
    atomic_size_t next;
} plan;

static size_t round_up(size_t x, size_t unit) {
    return (x + unit - 1) / unit * unit;
}

static wi_gemm_side moved(const wi_gemm_side *side, weft_type type, size_t i, size_t p) {
    const size_t at = side->across ? i * side->ld + p : i + p * side->ld;
    return (wi_gemm_side){(const char *)side->x + at * weft_type_size(type), side->ld,
                          side->across};
}

/* ---- one task ---- */

/* C, or the sums of a task that are kept apart. */
typedef struct target {
    char *at;
    size_t row_step, column_step;
    double beta; /* of the first products */
} target;

/* Adds `depth` products, or those that are left, from k = p on, to rows i ... i + m - 1 and columns
 * j ... j + n - 1 of C. */
static void multiply_depth(const plan *g, char *own, size_t i, size_t m, size_t j, size_t n,
                           size_t p, const target *to) {
    const wi_gemm_kernel *const kernel = g->kernel;
    const size_t k = wi_smaller(kernel->depth, g->k - p);
    const wi_gemm_side a = moved(&g->a, g->type, i, p);
    char *const packed_a = own, *const packed_b = own + g->a_bytes;
    if (!g->thin)
        kernel->pack_a(&a, m, k, packed_a);
    for (size_t r = 0; r < n; r += g->block_columns) {
        const wi_gemm_side b = moved(&g->b, g->type, j + r, p);
        const size_t columns = wi_smaller(g->block_columns, n - r);
        kernel->pack_b(&b, columns, k, packed_b);
        const wi_gemm_block block = {.m = m,
                                     .n = columns,
                                     .k = k,
                                     .a = packed_a,
                                     .b = packed_b,
                                     .c = to->at +
                                          r * to->column_step * weft_type_size(kernel->sums),
                                     .row_step = to->row_step,
                                     .column_step = to->column_step,
                                     .alpha = g->alpha,
                                     .beta = p == 0 ? to->beta : 1};
        if (g->thin)
            kernel->multiply_thin(&block, &a);
        else
            kernel->multiply(&block);
    }
}

/* Converts m elements of a column of C, which begin at c, to f32 sums, or back. */
static void convert_column(const plan *g, char *c, size_t m, float *sums, bool back) {
    const size_t step = g->row_step * weft_type_size(g->out);
    const size_t run = g->row_step == 1 ? m : 1;
    for (size_t i = 0; i < m; i += run, c += step) {
        if (back)
            g->simd->narrow[g->out](run, sums + i, c);
        else
            g->simd->widen[g->out](run, c, sums + i);
    }
}

static void convert_task(const plan *g, char *c, size_t m, size_t n, float *sums, bool back) {
    for (size_t j = 0; j < n; j++)
        convert_column(g, c + j * g->column_step * weft_type_size(g->out), m, sums + j * m, back);
}

static void do_task(const plan *g, char *own, size_t task) {
    const size_t i = task % g->tasks_down * g->task_rows, m = wi_smaller(g->task_rows, g->m - i);
    const size_t j = task / g->tasks_down * g->task_columns,
                 n = wi_smaller(g->task_columns, g->n - j);
    char *const c = (char *)g->c + (i * g->row_step + j * g->column_step) * weft_type_size(g->out);
    char *const sums = own + g->a_bytes + g->b_bytes;
    target to = {c, g->row_step, g->column_step, g->beta};
    if (g->narrow) {
        to = (target){sums, 1, m, g->beta};
        if (g->beta != 0)
            convert_task(g, c, m, n, (float *)(void *)sums, false);
    }
    for (size_t p = 0; p < g->k; p += g->kernel->depth)
        multiply_depth(g, own, i, m, j, n, p, &to);
    if (g->narrow)
        convert_task(g, c, m, n, (float *)(void *)sums, true);
}

static void do_tasks(void *user, int rank, int size) {
    plan *const g = user;
    (void)size;
    for (size_t task; (task = atomic_fetch_add(&g->next, 1)) < g->tasks;)
        do_task(g, g->memory + (size_t)rank * g->each, task);
}

/* ---- the plan ---- */

/* Few rows would leave most lanes of vectors empty: then the columns of C take their place. */
static void choose_sides(const wi_gemm_args *g, plan *p) {
    const wi_gemm_side a = {g->a, g->lda, g->transposed_a}, b = {g->b, g->ldb, !g->transposed_b};
    const bool turned = g->m < p->kernel->lanes && g->m < g->n;
    p->a = turned ? b : a;
    p->b = turned ? a : b;
    p->m = turned ? g->n : g->m;
    p->n = turned ? g->m : g->n;
    p->row_step = turned ? g->ldc : 1;
    p->column_step = turned ? 1 : g->ldc;
}

/* Cuts C: tasks as large as the caches like them, or less if threads would go without. */
static void cut(int threads, plan *p) {
    const size_t wanted = (size_t)threads * (p->thin ? THIN_TASKS_A_THREAD : TASKS_A_THREAD);
    const size_t rows = p->kernel->rows, columns = p->kernel->columns;
    const size_t most = p->n <= THIN_COLUMNS && !p->thin ? THIN_ROWS : TASK_ROWS;
    p->task_rows = wi_smaller(round_up(p->m, rows), most / rows * rows);
    p->task_columns =
        wi_smaller(round_up(p->n, columns), p->narrow ? NARROW_COLUMNS : TASK_COLUMNS);
    for (;;) {
        const size_t down = (p->m + p->task_rows - 1) / p->task_rows;
        const size_t over = (p->n + p->task_columns - 1) / p->task_columns;
        p->tasks_down = down;
        p->tasks = down * over;
        const bool wide = p->task_columns >= p->task_rows;
        if (threads == 1 || p->tasks >= wanted || (wide && p->task_columns < 8 * columns) ||
            (!wide && p->task_rows < 4 * rows))
            return;
        if (wide)
            p->task_columns = round_up(p->task_columns / 2, columns);
        else
            p->task_rows = round_up(p->task_rows / 2, rows);
    }
}

/* The threads that a product is worth. */
static int most_threads(const weft_context *ctx, const wi_gemm_args *g) {
    const double worthwhile = (double)g->m * (double)g->n * (double)g->k / WORTHWHILE_PRODUCTS;
    return worthwhile < 2 ? 1 : worthwhile < (double)ctx->threads ? (int)worthwhile : ctx->threads;
}

static int team_size(int threads, const plan *p) {
    return (int)wi_smaller(p->tasks, (size_t)threads);
}

static void measure_memory(plan *p) {
    const wi_gemm_kernel *const kernel = p->kernel;
    const size_t word = weft_type_size(kernel->sums);
    const size_t k = wi_smaller(p->k, kernel->depth) * word; /* more than packed i8 needs */
    p->block_columns = wi_smaller(p->task_columns, B_BYTES / k / kernel->columns * kernel->columns);
    const size_t held = wi_smaller(p->thin ? kernel->rows : p->task_rows, p->m); /* rows of A */
    p->a_bytes = round_up(round_up(held, kernel->lanes) * k, ALIGNMENT);
    p->b_bytes =
        round_up(round_up(wi_smaller(p->block_columns, p->n), kernel->columns) * k, ALIGNMENT);
    p->each = p->a_bytes + p->b_bytes;
    if (p->narrow)
        p->each += round_up(p->task_rows * p->task_columns * word, ALIGNMENT);
}

/* ---- C = beta C ---- */

static void scale_f64(double beta, size_t n, double *c) {
    for (size_t i = 0; i < n; i++)
        c[i] = beta == 0 ? 0 : beta * c[i];
}

static void scale_f32(float beta, size_t n, float *c) {
    for (size_t i = 0; i < n; i++)
        c[i] = beta == 0 ? 0 : beta * c[i];
}

static void scale_i32(uint32_t beta, size_t n, uint32_t *c) {
    for (size_t i = 0; i < n; i++)
        c[i] *= beta;
}

static void scale_f16(float beta, size_t n, uint16_t *c) {
    for (size_t i = 0; i < n; i++)
        c[i] = beta == 0 ? 0 : wi_f16_narrow(beta * wi_f16_widen(c[i]));
}

static void scale_bf16(float beta, size_t n, uint16_t *c) {
    for (size_t i = 0; i < n; i++)
        c[i] = beta == 0 ? 0 : wi_bf16_narrow(beta * wi_bf16_widen(c[i]));
}

static void scale(const wi_gemm_args *g) {
    const size_t step = g->ldc * weft_type_size(g->out);
    char *c = g->c;
    for (size_t j = 0; j < g->n; j++, c += step)
        switch (g->out) {
        case WEFT_F64:
            scale_f64(g->beta, g->m, (double *)(void *)c);
            break;
        case WEFT_F32:
            scale_f32((float)g->beta, g->m, (float *)(void *)c);
            break;
        case WEFT_F16:
            scale_f16((float)g->beta, g->m, (uint16_t *)(void *)c);
            break;
        case WEFT_BF16:
            scale_bf16((float)g->beta, g->m, (uint16_t *)(void *)c);
            break;
        default:
            scale_i32((uint32_t)(int32_t)g->beta, g->m, (uint32_t *)(void *)c);
        }
}

/* The plan of a product with k > 0. */
static plan plan_of(int threads, const wi_gemm_args *g) {
    const wi_gemm_simd *const simd = WI_OF_ISA(wi_cpu_isa(), wi_gemm_simd);
    plan p = {.kernel = &simd->kernel[g->type],
              .simd = simd,
              .k = g->k,
              .alpha = g->alpha,
              .beta = g->beta,
              .type = g->type,
              .out = g->out,
              .c = g->c};
    p.narrow = g->out != p.kernel->sums;
    choose_sides(g, &p);
    p.thin = p.n <= THIN_COLUMNS && p.kernel->multiply_thin;
    cut(threads, &p);
    measure_memory(&p);
    return p;
}

size_t wi_gemm_alone_bytes(const wi_gemm_args *g) {
    return g->k == 0 ? 0 : plan_of(1, g).each;
}

void wi_gemm_packed_alone(const wi_gemm_args *g, void *memory) {
    if (g->k == 0) {
        scale(g);
        return;
    }
    const plan p = plan_of(1, g);
    for (size_t task = 0; task < p.tasks; task++)
        do_task(&p, memory, task);
}

size_t wi_gemm_packed_bytes(const weft_context *ctx, const wi_gemm_args *g) {
    if (g->k == 0)
        return 0;
    if (wi_gemm_is_large(g))
        return wi_gemm_large_bytes(g);
    const int threads = most_threads(ctx, g);
    const plan p = plan_of(threads, g);
    return (size_t)team_size(threads, &p) * p.each;
}

void wi_gemm_packed_in(const weft_context *ctx, const wi_gemm_args *g, void *memory) {
    if (g->k == 0) {
        scale(g);
        return;
    }
    if (wi_gemm_is_large(g)) {
        wi_gemm_large_in(ctx, g, memory);
        return;
    }
    const int threads = most_threads(ctx, g);
    plan p = plan_of(threads, g);
    p.memory = memory;
    wi_team_run(ctx, team_size(threads, &p), do_tasks, &p);
}

weft_status wi_gemm_packed(weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = args;
    const size_t bytes = wi_gemm_packed_bytes(ctx, g);
    void *const memory = bytes ? wi_host_alloc(bytes) : NULL;
    if (bytes && !memory)
        return wi_fail(ctx, WEFT_ENOMEM, "weft_gemm: no memory for %zu bytes of packed blocks",
                       bytes);
    wi_gemm_packed_in(ctx, g, memory);
    wi_host_free(memory);
    return WEFT_OK;
}
