/* SPDX-License-Identifier: Apache-2.0 */
/* The Cholesky factorization of a host matrix that is larger than the memory of a GPU. One panel of
 * columns is on the device, from its diagonal down; the panels of L before it come by one after
 * another, from the same row on, and are taken from it; then it is factored and goes back. With
 * panels of w columns about n^3 / (6 w) elements of L travel while n^3 / 3 flops are done. Panels
 * are substituted in: an inverse of a block on the diagonal would lose digits that an
 * ill-conditioned matrix has none of to spare. */
#include "cholesky/cholesky_streamed.h"

#include "core/gpu.h"
#include "gemm/syrk.h"
#include "lu/host_panels.cuh"

/* Columns k ... of L, `count` of them, are taken from panel p: its triangle, and what is below. */
static weft_status take_columns(const wi_panels *w, wi_panel p, size_t k, size_t count) {
    const wi_panel l = {k, count, p.top, p.rows};
    wi_syrk_args triangle = {};
    weft_status status = wi_panel_move(w, l, w->other, false);
    triangle.type = w->s->type;
    triangle.n = p.count;
    triangle.k = count;
    triangle.alpha = -1;
    triangle.beta = 1;
    triangle.a = w->other;
    triangle.c = w->panel;
    triangle.lda = triangle.ldc = p.rows;
    const wi_panel_product below = {false,    true,   wi_panel_row(w, w->other, p.count), p.rows,
                                    w->other, p.rows, wi_panel_row(w, w->panel, p.count), p.rows};
    if (status == WEFT_OK)
        status = wi_pick(w->ctx, &wi_syrk_ladder, triangle.type, &triangle)->run(w->ctx, &triangle);
    return status == WEFT_OK ? wi_panel_subtract(w, &below, p.rows - p.count, p.count, count)
                             : status;
}

/* Makes the panel's columns those of L, and takes what was found. */
static weft_status factor_panel(const wi_panels *w, wi_panel p, int64_t *words) {
    const wi_cholesky_args args = {
        w->s->type, false, p.rows, w->panel, p.rows, (int64_t *)(void *)w->words, p.count};
    weft_status status = wi_run(w->ctx, &wi_cholesky_ladder, w->s->call, args.type, &args);
    if (status == WEFT_OK)
        status = wi_gpu_copy(w->ctx, words, args.first, WI_CHOLESKY_WORDS * sizeof *words);
    for (int k = 0; k < WI_CHOLESKY_WORDS && status == WEFT_OK; k++)
        words[k] += words[k] == WI_CHOLESKY_NONE ? 0 : (int64_t)p.first;
    return status;
}

weft_status wi_cholesky_factor_streamed(weft_context *ctx, const wi_host_matrix *s,
                                        int64_t *words) {
    wi_panels w;
    bool regular = true;
    weft_status status = wi_panels_open(&w, ctx, s, WI_CHOLESKY_WORDS * sizeof *words);
    for (size_t first = 0; first < s->n && regular && status == WEFT_OK; first += w.wide) {
        const wi_panel p = wi_panel_at(&w, first, s->n, first);
        status = wi_panel_move(&w, p, w.panel, false);
        for (size_t k = 0; k < first && status == WEFT_OK; k += w.wide)
            status = take_columns(&w, p, k, w.wide);
        if (status == WEFT_OK)
            status = factor_panel(&w, p, words);
        if (status == WEFT_OK)
            status = wi_panel_move(&w, p, w.panel, true);
        for (int k = 0; k < WI_CHOLESKY_WORDS; k++)
            regular = regular && words[k] == WI_CHOLESKY_NONE;
    }
    return wi_panels_close(&w, status);
}
