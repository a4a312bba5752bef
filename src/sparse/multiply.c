/* SPDX-License-Identifier: Apache-2.0 */
/* Products with a sparse matrix, row by row. The sum of a row does not depend on other rows, so any
 * number of threads gives the same bits. */
#include <pthread.h>
#include <stdatomic.h>

#include "core/call.h"
#include "cpu/team.h"
#include "sparse/residual_simd.h"
#include "sparse/sparse.h"

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

/* The arguments of the threads for Y = A X. */
typedef struct product {
    const weft_sparse *matrix;
    size_t n;
    const double *x;
    size_t ldx;
    double *y;
    size_t ldy;
    atomic_size_t taken; /* rows */
} product;

static void multiply_rows(void *user, int rank, int size) {
    product *const p = user;
    const size_t rows = p->matrix->rows;
    (void)rank, (void)size;
    for (;;) {
        const size_t from =
            atomic_fetch_add_explicit(&p->taken, ROWS_AT_ONCE, memory_order_relaxed);
        if (from >= rows)
            break;
        const size_t end = rows - from < ROWS_AT_ONCE ? rows : from + ROWS_AT_ONCE;
        for (size_t i = from; i < end; i++) {
            for (size_t j = 0; j < p->n; j++)
                p->y[i + j * p->ldy] = row_product(p->matrix, i, p->x + j * p->ldx);
        }
    }
}

weft_status weft_sparse_multiply(weft_context *ctx, const weft_sparse *matrix, size_t n,
                                 const double *x, size_t ldx, double *y, size_t ldy) {
    static const char call[] = "weft_sparse_multiply";
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    if (!matrix)
        return wi_fail(ctx, WEFT_EARG, "%s: matrix is NULL; pass one", call);
    wi_call arrays = {
        .name = call,
        .array = {wi_columns("x", x, matrix->cols, n, "ldx", ldx, WEFT_F64, WI_IN | WI_HOST),
                  wi_columns("y", y, matrix->rows, n, "ldy", ldy, WEFT_F64, WI_OUT | WI_HOST)},
        .count = 2};
    const weft_status status = wi_call_check(ctx, &arrays);
    if (status != WEFT_OK || n == 0 || matrix->rows == 0)
        return status;
    product p = {.matrix = matrix, .n = n, .x = x, .ldx = ldx, .y = y, .ldy = ldy};
    wi_team_run(ctx, team_for(ctx, matrix, n), multiply_rows, &p);
    return WEFT_OK;
}
