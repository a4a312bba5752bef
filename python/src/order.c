/* SPDX-License-Identifier: Apache-2.0 */
/* Calls about order: sort, search, the first k, unique, histogram, quantiles. The rows at the end
 * name their arguments. */
#include "core.h"

static weft_status sort(weft_context *ctx, wp_arguments *v) {
    return wp.weft_sort(ctx, (weft_order)v->i[0], v->a[0].type, v->a[0].n, v->a[0].p, v->a[1].p);
}

static weft_status sort_pairs(weft_context *ctx, wp_arguments *v) {
    return wp.weft_sort_pairs(ctx, (weft_order)v->i[0], v->a[0].type, v->a[0].n, v->a[0].p,
                              v->a[1].p, v->a[2].width, v->a[2].p, v->a[3].p);
}

static weft_status argsort(weft_context *ctx, wp_arguments *v) {
    return wp.weft_sort_indices(ctx, (weft_order)v->i[0], v->a[0].type, v->a[0].n, v->a[0].p,
                                v->a[1].type, v->a[1].p);
}

static weft_status sort_segments(weft_context *ctx, wp_arguments *v) {
    return wp.weft_sort_segments(ctx, (weft_order)v->i[0], v->a[0].type, v->a[0].n, v->a[0].p,
                                 v->a[1].p, v->a[2].width, v->a[2].p, v->a[3].p, v->a[4].n - 1,
                                 v->a[4].p);
}

static weft_status is_sorted(weft_context *ctx, wp_arguments *v) {
    return wp.weft_is_sorted(ctx, (weft_order)v->i[0], v->a[0].type, v->a[0].n, v->a[0].p,
                             &v->result);
}

static weft_status merge(weft_context *ctx, wp_arguments *v) {
    return wp.weft_merge(ctx, (weft_order)v->i[0], v->a[0].type, v->a[0].n, v->a[0].p, v->a[1].n,
                         v->a[1].p, v->a[2].p, 0, NULL, NULL, NULL);
}

static weft_status search(weft_context *ctx, wp_arguments *v) {
    return wp.weft_search(ctx, (weft_bound)v->i[0], (weft_order)v->i[1], v->a[0].type, v->a[0].n,
                          v->a[0].p, v->a[1].n, v->a[1].p, v->a[2].p);
}

static weft_status top_k(weft_context *ctx, wp_arguments *v) {
    return wp.weft_top_k(ctx, (weft_order)v->i[0], v->a[0].type, v->a[0].n, v->a[0].p,
                         (size_t)v->i[1], v->a[1].p, v->a[2].p);
}

static weft_status unique(weft_context *ctx, wp_arguments *v) {
    return wp.weft_unique(ctx, v->a[0].type, v->a[0].n, v->a[0].p, v->a[1].p, &v->result);
}

static weft_status run_length(weft_context *ctx, wp_arguments *v) {
    return wp.weft_run_length(ctx, v->a[0].type, v->a[0].n, v->a[0].p, v->a[1].p, v->a[2].type,
                              v->a[2].p, &v->result);
}

static weft_status histogram(weft_context *ctx, wp_arguments *v) {
    weft_bins bins = {.count = (size_t)v->i[0], .lo = v->r[0], .hi = v->r[1], .edges = v->a[1].p};
    return wp.weft_histogram(ctx, v->a[0].type, v->a[0].n, 1, v->a[0].p,
                             bins.count > 0 ? &bins : NULL, WEFT_OVERWRITE, v->a[2].type, v->a[2].p,
                             v->a[3].p);
}

static weft_status nth(weft_context *ctx, wp_arguments *v) {
    return wp.weft_nth(ctx, v->a[0].type, v->a[0].n, v->a[0].p, v->a[1].n, v->a[1].p, v->a[2].p);
}

static weft_status quantiles(weft_context *ctx, wp_arguments *v) {
    return wp.weft_quantiles(ctx, (weft_quantile_rule)v->i[0], v->a[0].type, v->a[0].n, v->a[0].p,
                             v->a[1].n, v->a[1].p, v->a[2].p);
}

const wp_row wp_order_rows[] = {
    {"sort", "ivo", sort},                      /* order, x, y */
    {"sort_pairs", "iaoao", sort_pairs},        /* order, keys, sorted, values, theirs */
    {"argsort", "ivo", argsort},                /* order, x, indices */
    {"sort_segments", "iaoaoa", sort_segments}, /* order, keys, sorted, values, theirs, offsets */
    {"is_sorted", "iv=", is_sorted},            /* order, x; the first position out of order */
    {"merge", "iaao", merge},                   /* order, a, b, merged */
    {"search", "iivvo", search},                /* bound, order, x, wanted, positions */
    {"top_k", "ivioo", top_k},                  /* order, x, k, values, positions */
    {"unique", "vo=", unique},                  /* x, y; how many */
    {"run_length", "aoo=", run_length},         /* x, values, lengths; how many */
    {"histogram", "virraoo", histogram},        /* x, bins, low, high, edges, counts, outside */
    {"nth", "vao", nth},                        /* x, ranks, values */
    {"quantiles", "ivao", quantiles},           /* rule, x, q, quantiles */
    {NULL, NULL, NULL},
};
