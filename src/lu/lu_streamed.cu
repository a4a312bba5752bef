/* SPDX-License-Identifier: Apache-2.0 */
/* Elimination of a host matrix that is larger than the memory of a GPU. One panel of columns is on
 * the device; the panels of L before it come by one after another, each takes its effect, and then
 * the panel itself is factored and goes back ("left-looking"). So every panel is written once, and
 * read once for each panel to its right.
 *
 * A panel of L is used as it was when it was factored. The exchanges of rows that came later reach
 * it at the end, when each panel travels once more.
 *
 * With panels of w columns about m n^2 / (3 w) elements of L travel while 2/3 m n^2 multiply-adds
 * are done: 2 w for each element, so that with w in the thousands, as a GPU of many gigabytes has
 * room for, travel is the lesser part though nothing is done meanwhile. */
#include "core/smaller.h"
#include "lu/lu_streamed.h"

#include "core/gpu.h"
#include "lu/host_panels.cuh"

enum {
    WORD = sizeof(int64_t)
};

/* A call under way. */
struct stream : wi_panels {
    int64_t *pivots; /* of the place's memory: of each panel as it was factored */
    int64_t *found;  /* WI_LU_WORDS words there */
};

static size_t steps_of(const stream *w) {
    return wi_smaller(w->s->m, w->s->n);
}

/* The effect of one panel of L on `count` columns of m rows: exchanges, a triangle, a product. */
static weft_status take_effect(const stream *w, wi_panel l, char *x, size_t count) {
    const size_t m = w->s->m;
    char *const top = wi_panel_row(w, x, l.first);
    const wi_panel_triangle own = {false, false, true, false, w->other, l.rows, top, m};
    const wi_panel_product product = {false, false, wi_panel_row(w, w->other, l.count), l.rows,
                                      top,   m,     wi_panel_row(w, top, l.count),      m};
    weft_status status =
        wi_lu_swap_rows(w->ctx, w->s->type, count, top, m, l.count, w->pivots + l.first, true);
    if (status == WEFT_OK)
        status = wi_panel_solve(w, &own, l.count, count);
    if (status == WEFT_OK)
        status = wi_panel_subtract(w, &product, l.rows - l.count, count, l.count);
    return status;
}

/* Notes what the factorization of the panel at `first` found. */
static weft_status note(const stream *w, size_t first, int64_t *words) {
    int64_t found[WI_LU_WORDS];
    const weft_status status = wi_gpu_copy(w->ctx, found, w->found, sizeof found);
    for (int k = 0; k < WI_LU_WORDS && status == WEFT_OK; k++)
        if (words[k] == WI_LU_NONE && found[k] != WI_LU_NONE)
            words[k] = found[k] + (int64_t)first;
    return status;
}

static weft_status factor_panel(const stream *w, wi_panel p, int64_t *words) {
    wi_lu_args args = {};
    args.type = w->s->type;
    args.m = w->s->m - p.first;
    args.n = p.count;
    args.a = wi_panel_row(w, w->panel, p.first);
    args.lda = w->s->m;
    args.pivot = w->pivots + p.first;
    args.first = w->found;
    const weft_status status = wi_run(w->ctx, &wi_lu_ladder, w->s->call, args.type, &args);
    return status == WEFT_OK ? note(w, p.first, words) : status;
}

static weft_status make_panel(const stream *w, size_t first, int64_t *words) {
    const size_t steps = steps_of(w);
    const wi_panel p = wi_panel_at(w, first, w->s->n, 0);
    weft_status status = wi_panel_move(w, p, w->panel, false);
    for (size_t k = 0; k < wi_smaller(first, steps) && status == WEFT_OK; k += w->wide) {
        const wi_panel l = wi_panel_at(w, k, steps, k);
        status = wi_panel_move(w, l, w->other, false);
        if (status == WEFT_OK)
            status = take_effect(w, l, w->panel, p.count);
    }
    if (status == WEFT_OK && first < steps)
        status = factor_panel(w, p, words);
    return status == WEFT_OK ? wi_panel_move(w, p, w->panel, true) : status;
}

/* The exchanges of later panels reach the rows of L of one panel. */
static weft_status finish_panel(const stream *w, size_t first) {
    const size_t steps = steps_of(w), later = first + w->wide;
    if (later >= steps)
        return WEFT_OK;
    const wi_panel p = wi_panel_at(w, first, steps, later);
    weft_status status = wi_panel_move(w, p, w->panel, false);
    for (size_t k = later; k < steps && status == WEFT_OK; k += w->wide)
        status =
            wi_lu_swap_rows(w->ctx, w->s->type, p.count, wi_panel_row(w, w->panel, k - later),
                            w->s->m - later, wi_smaller(w->wide, steps - k), w->pivots + k, true);
    return status == WEFT_OK ? wi_panel_move(w, p, w->panel, true) : status;
}

static weft_status open_stream(stream *w, weft_context *ctx, const wi_host_matrix *s) {
    *w = {};
    const weft_status status =
        wi_panels_open(w, ctx, s, (WI_LU_WORDS + wi_smaller(s->m, s->n)) * WORD);
    w->found = (int64_t *)(void *)w->words;
    w->pivots = w->found + WI_LU_WORDS;
    return status;
}

/* Of panels, rows are counted from their own first. */
static weft_status tell_pivots(const stream *w, int64_t *pivot) {
    const size_t steps = steps_of(w);
    const weft_status status = wi_gpu_copy(w->ctx, pivot, w->pivots, steps * WORD);
    for (size_t k = 0; k < steps && status == WEFT_OK; k++)
        pivot[k] += (int64_t)(k / w->wide * w->wide);
    return status;
}

weft_status wi_lu_factor_streamed(weft_context *ctx, const wi_host_matrix *s, int64_t *pivot,
                                  int64_t *words) {
    stream w;
    weft_status status = open_stream(&w, ctx, s);
    for (size_t first = 0; first < s->n && status == WEFT_OK; first += w.wide)
        status = make_panel(&w, first, words);
    for (size_t first = 0; first < s->n && status == WEFT_OK; first += w.wide)
        status = finish_panel(&w, first);
    if (status == WEFT_OK)
        status = tell_pivots(&w, pivot);
    return wi_panels_close(&w, status);
}
