/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges of rows. A column goes through all of them while it is in a cache. */
#include "cpu/team.h"
#include "lu/lu.h"

enum {
    TOGETHER = 4 /* columns that go through the exchanges side by side */
};

typedef struct work {
    weft_type type;
    size_t n;
    void *x;
    size_t ldx, first, end; /* exchanges */
    const int64_t *pivot;
    bool forward;
} work;

#define NAME(f) f##_f64
#define WORD double
#include "lu/lu_swap_loops.inc"

#define NAME(f) f##_f32
#define WORD float
#include "lu/lu_swap_loops.inc"

static size_t pieces_of(const work *w) {
    return (w->n + TOGETHER - 1) / TOGETHER;
}

static void do_share(void *user, int rank, int size) {
    const work *const w = user;
    const size_t first = TOGETHER * wi_team_share(pieces_of(w), rank, size);
    const size_t end = TOGETHER * wi_team_share(pieces_of(w), rank + 1, size);
    if (w->type == WEFT_F64)
        swap_columns_f64(w, first, end < w->n ? end : w->n);
    else
        swap_columns_f32(w, first, end < w->n ? end : w->n);
}

static void run(const weft_context *ctx, work *w) {
    const size_t bytes = 2 * w->n * (w->end - w->first) * weft_type_size(w->type);
    wi_team_run(ctx, wi_team_size(ctx, pieces_of(w), bytes), do_share, w);
}

void wi_lu_swap_some(const weft_context *ctx, weft_type type, size_t n, void *x, size_t ldx,
                     size_t first, size_t end, const int64_t *pivot) {
    work w = {type, n, x, ldx, first, end, pivot, true};
    run(ctx, &w);
}

weft_status wi_lu_swap_rows(weft_context *ctx, weft_type type, size_t n, void *x, size_t ldx,
                            size_t count, const int64_t *pivot, bool forward) {
#ifdef WEFT_CUDA
    if (ctx->kind == WI_CUDA)
        return wi_lu_swap_rows_gpu(ctx, type, n, x, ldx, count, pivot, forward);
#endif
    work w = {type, n, x, ldx, 0, count, pivot, forward};
    run(ctx, &w);
    return WEFT_OK;
}
