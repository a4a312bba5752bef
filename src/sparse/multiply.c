/* SPDX-License-Identifier: Apache-2.0 */
/* Products with a sparse matrix, row by row. The sum of a row does not depend on other rows, so any
 * number of threads gives the same bits. */
#include <pthread.h>
#include <stdatomic.h>

#include "core/call.h"
#include "cpu/team.h"
#include "sparse/ranks.h"
#include "sparse/residual_simd.h"

enum {
    ROWS_AT_ONCE = 1 << 10 /* rows that a thread takes at a time */
};

static double row_product(const weft_sparse *m, size_t i, const double *x) {
    double sum = 0;
    for (int64_t k = m->row_start[i]; k < m->row_start[i + 1]; k++)
        sum += m->value[m->at[k]] * x[m->col[k]];
    if (m->symmetric) {
        for (int64_t k = m->start[i]; k < m->start[i + 1]; k++)
            sum += m->value[k] * x[m->row[k]];
    }
    return sum;
}

/* How many threads to use for `n` products. */
static int team_for(const weft_context *ctx, const weft_sparse *m, size_t n) {
    const size_t entries = (size_t)m->start[m->cols] + m->rows;
    const size_t bytes = entries < SIZE_MAX / 32 / (n + 1) ? entries * 32 * n : SIZE_MAX;
    return wi_team_size(ctx, (m->rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE, bytes);
}

static int team_of(const weft_context *ctx, const wi_residual_args *args) {
    const int useful = team_for(ctx, args->matrix, args->n);
    return args->threads > 0 && args->threads < useful ? args->threads : useful;
}

static void take_worse(wi_misfit *all, const wi_misfit *part, size_t n) {
    for (size_t j = 0; j < n; j++) {
        if (wi_worse(part->error[j], all->error[j]))
            all->error[j] = part->error[j];
        if (wi_worse(part->most[j], all->most[j]))
            all->most[j] = part->most[j];
    }
    if (part->norm > all->norm)
        all->norm = part->norm;
}

double wi_largest(size_t n, const double *x) {
    return WI_OF_ISA(wi_cpu_isa(), wi_residual_simd)->largest(n, x);
}

bool wi_within(size_t n, const double *x, double least, double most) {
    return WI_OF_ISA(wi_cpu_isa(), wi_residual_simd)->within(n, x, least, most);
}

/* The arguments of the threads. */
typedef struct residual {
    const wi_residual_args *args;
    const wi_residual_simd *simd;
    atomic_size_t taken;  /* rows */
    pthread_mutex_t lock; /* guards the next */
    wi_misfit all;
} residual;

static void take_residuals(void *user, int rank, int size) {
    residual *const r = user;
    const size_t rows = r->args->matrix->rows;
    wi_misfit misfit = {.norm = 0};
    (void)rank, (void)size;
    for (;;) {
        const size_t from =
            atomic_fetch_add_explicit(&r->taken, ROWS_AT_ONCE, memory_order_relaxed);
        if (from >= rows)
            break;
        r->simd->rows(r->args, from, rows - from < ROWS_AT_ONCE ? rows : from + ROWS_AT_ONCE,
                      &misfit);
    }
    pthread_mutex_lock(&r->lock);
    take_worse(&r->all, &misfit, r->args->n);
    pthread_mutex_unlock(&r->lock);
}

void wi_sparse_residual(const weft_context *ctx, const wi_residual_args *args) {
    residual r = {.args = args,
                  .simd = WI_OF_ISA(wi_cpu_isa(), wi_residual_simd),
                  .lock = PTHREAD_MUTEX_INITIALIZER};
    const int threads = team_of(ctx, args);
    if (threads == 1)
        r.simd->rows(args, 0, args->matrix->rows, &r.all);
    else
        wi_team_run(ctx, threads, take_residuals, &r);
    pthread_mutex_destroy(&r.lock);
    if (args->misfit)
        *args->misfit = r.all;
}

/* The arguments of the threads for some rows of Y = A X. */
typedef struct product {
    const weft_sparse *matrix;
    wi_own_rows rows;
    size_t n;
    const double *x;
    size_t ldx;
    double *y;
    size_t ldy;
    atomic_size_t taken; /* rows */
} product;

static void multiply_rows(void *user, int rank, int size) {
    product *const p = user;
    const size_t rows = p->rows.n;
    (void)rank, (void)size;
    for (;;) {
        const size_t from =
            atomic_fetch_add_explicit(&p->taken, ROWS_AT_ONCE, memory_order_relaxed);
        if (from >= rows)
            break;
        const size_t end = rows - from < ROWS_AT_ONCE ? rows : from + ROWS_AT_ONCE;
        for (size_t i = from; i < end; i++) {
            for (size_t j = 0; j < p->n; j++)
                p->y[i + j * p->ldy] = row_product(p->matrix, p->rows.first + i, p->x + j * p->ldx);
        }
    }
}

static void multiply(const weft_context *ctx, product *p) {
    if (p->n > 0 && p->rows.n > 0)
        wi_team_run(ctx, team_for(ctx, p->matrix, p->n), multiply_rows, p);
}

void wi_sparse_multiply(const weft_context *ctx, const weft_sparse *matrix, wi_own_rows rows,
                        const double *x, double *y) {
    multiply(ctx, &(product){.matrix = matrix, .rows = rows, .n = 1, .x = x, .y = y});
}

/* A checked product over ranks: a column at a time, x comes together, and each rank does its rows
 * of y. They may not be in the order of x's, so y must not be written before all have all of x. */
static weft_status multiply_over(weft_context *ctx, weft_context *own, product *p) {
    double *const whole = wi_host_alloc(p->matrix->cols * sizeof *whole);
    weft_status status = WEFT_OK;
    if (!whole)
        status =
            wi_fail(own, WEFT_ENOMEM, "%s: no memory for %zu numbers, a column of x; free some",
                    ctx->comm->call, p->matrix->cols);
    status = wi_over_agree(ctx, own, 0, status);
    for (size_t j = 0; j < p->n && status == WEFT_OK; j++) {
        status =
            wi_sparse_gather_rows(ctx, own, p->matrix, p->rows.n ? p->x + j * p->ldx : NULL, whole);
        if (status == WEFT_OK && p->rows.n > 0)
            wi_sparse_multiply(own, p->matrix, p->rows, whole, p->y + j * p->ldy);
    }
    wi_host_free(whole);
    return status;
}

weft_status weft_sparse_multiply(weft_context *ctx, const weft_sparse *matrix, size_t n,
                                 const double *x, size_t ldx, double *y, size_t ldy) {
    static const char call[] = "weft_sparse_multiply";
    weft_context *own;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = wi_over_enter(ctx, call, &own);
    product p = {.matrix = matrix, .n = n, .x = x, .ldx = ldx, .y = y, .ldy = ldy};
    p.rows.n = weft_sparse_own_rows(ctx, matrix, &p.rows.first);
    if (status == WEFT_OK && !matrix)
        status = wi_fail(own, WEFT_EARG, "%s: matrix is NULL; pass one", call);
    if (status == WEFT_OK && ctx->comm && matrix->rows != matrix->cols)
        status = wi_fail(own, WEFT_EUNSUPPORTED,
                         "%s: matrix has %zu rows and %zu columns, and ranks share out x as they "
                         "share out y; open a place of one process",
                         call, matrix->rows, matrix->cols);
    if (status == WEFT_OK) {
        const size_t x_rows = ctx->comm ? p.rows.n : matrix->cols;
        wi_call arrays = {
            .name = call,
            .array = {wi_columns("x", x, x_rows, n, "ldx", ldx, WEFT_F64, WI_IN | WI_HOST),
                      wi_columns("y", y, p.rows.n, n, "ldy", ldy, WEFT_F64, WI_OUT | WI_HOST)},
            .count = 2};
        status = wi_call_check(own, &arrays);
    }
    const uint64_t alike = ctx->comm && status == WEFT_OK ? wi_alike(wi_over_alike(matrix), n) : 0;
    status = wi_over_agree(ctx, own, alike, status);
    if (status == WEFT_OK && ctx->comm)
        status = multiply_over(ctx, own, &p);
    else if (status == WEFT_OK)
        multiply(own, &p);
    return wi_over_leave(ctx, own, status);
}
