/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges of rows. */
#include "cpu/team.h"
#include "lu/lu.h"

enum {
    COLUMNS = 32 /* that a thread takes through all exchanges at a time */
};

typedef struct work {
    weft_type type;
    size_t n;
    void *x;
    size_t ldx, count;
    const int64_t *pivot;
    bool forward;
} work;

static void swap_f64(double *x, double *y, size_t columns, size_t ldx) {
    for (size_t j = 0; j < columns; j++, x += ldx, y += ldx) {
        const double old = *x;
        *x = *y;
        *y = old;
    }
}

static void swap_f32(float *x, float *y, size_t columns, size_t ldx) {
    for (size_t j = 0; j < columns; j++, x += ldx, y += ldx) {
        const float old = *x;
        *x = *y;
        *y = old;
    }
}

static void swap_columns(const work *w, size_t first, size_t columns) {
    for (size_t step = 0; step < w->count; step++) {
        const size_t k = w->forward ? step : w->count - 1 - step, with = (size_t)w->pivot[k];
        const size_t x = k + first * w->ldx, y = with + first * w->ldx;
        if (with == k)
            continue;
        if (w->type == WEFT_F64)
            swap_f64((double *)w->x + x, (double *)w->x + y, columns, w->ldx);
        else
            swap_f32((float *)w->x + x, (float *)w->x + y, columns, w->ldx);
    }
}

static void do_share(void *user, int rank, int size) {
    const work *const w = user;
    const size_t pieces = (w->n + COLUMNS - 1) / COLUMNS;
    const size_t first = COLUMNS * wi_team_share(pieces, rank, size);
    size_t end = COLUMNS * wi_team_share(pieces, rank + 1, size);
    end = end < w->n ? end : w->n;
    for (size_t j = first; j < end; j += COLUMNS)
        swap_columns(w, j, end - j < COLUMNS ? end - j : COLUMNS);
}

weft_status wi_lu_swap_rows(weft_context *ctx, weft_type type, size_t n, void *x, size_t ldx,
                            size_t count, const int64_t *pivot, bool forward) {
#ifdef WEFT_CUDA
    if (ctx->kind == WI_CUDA)
        return wi_lu_swap_rows_gpu(ctx, type, n, x, ldx, count, pivot, forward);
#endif
    work w = {type, n, x, ldx, count, pivot, forward};
    const size_t bytes = 2 * n * count * weft_type_size(type);
    wi_team_run(ctx, wi_team_size(ctx, (n + COLUMNS - 1) / COLUMNS, bytes), do_share, &w);
    return WEFT_OK;
}
