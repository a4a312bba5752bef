/* SPDX-License-Identifier: Apache-2.0 */
/* Exact prefix sums, and exact sums that are kept: Python holds the bytes of weft_exact_save, and
 * each call begins and ends with them. The rows at the end name their arguments. */
#include "core.h"

static weft_status scan(weft_context *ctx, wp_arguments *v) {
    return wp.weft_exact_scan(ctx, (weft_scan_kind)v->i[0], v->a[0].type, v->a[0].n, v->a[0].p,
                              v->a[1].p, NULL);
}

/* *sum = the sum in `bytes`. */
static weft_status open_sum(weft_context *ctx, const wp_array *bytes, weft_exact **sum) {
    weft_status status = wp.weft_exact_create(ctx, sum);
    return status == WEFT_OK ? wp.weft_exact_load(ctx, *sum, bytes->p) : status;
}

static weft_status start(weft_context *ctx, wp_arguments *v) {
    weft_exact *sum = NULL;
    weft_status status = wp.weft_exact_create(ctx, &sum);
    if (status == WEFT_OK)
        status = wp.weft_exact_save(ctx, sum, v->a[0].p);
    wp.weft_exact_destroy(sum);
    return status;
}

static weft_status add(weft_context *ctx, wp_arguments *v) {
    weft_exact *sum = NULL;
    weft_status status = open_sum(ctx, &v->a[0], &sum);
    const wp_array *x = &v->a[1], *y = &v->a[2];
    if (status == WEFT_OK)
        status = y->p == NULL ? wp.weft_exact_add(ctx, sum, x->type, x->n, x->p)
                              : wp.weft_exact_add_dot(ctx, sum, x->type, x->n, x->p, y->p);
    if (status == WEFT_OK)
        status = wp.weft_exact_save(ctx, sum, v->a[0].p);
    wp.weft_exact_destroy(sum);
    return status;
}

static weft_status merge(weft_context *ctx, wp_arguments *v) {
    weft_exact *sum = NULL, *other = NULL;
    weft_status status = open_sum(ctx, &v->a[0], &sum);
    if (status == WEFT_OK)
        status = open_sum(ctx, &v->a[1], &other);
    if (status == WEFT_OK)
        status = wp.weft_exact_merge(ctx, sum, other);
    if (status == WEFT_OK)
        status = wp.weft_exact_save(ctx, sum, v->a[0].p);
    wp.weft_exact_destroy(other);
    wp.weft_exact_destroy(sum);
    return status;
}

static weft_status value(weft_context *ctx, wp_arguments *v) {
    weft_exact *sum = NULL;
    weft_status status = open_sum(ctx, &v->a[0], &sum);
    if (status == WEFT_OK)
        status = wp.weft_exact_round(ctx, sum, v->a[1].type, v->a[1].p);
    if (status == WEFT_OK)
        status = wp.weft_exact_count(ctx, sum, &v->result);
    wp.weft_exact_destroy(sum);
    return status;
}

const wp_row wp_exact_rows[] = {
    {"exact_scan", "iao", scan},   /* kind, x, y */
    {"exact_start", "o", start},   /* the bytes of a sum, WEFT_EXACT_BYTES */
    {"exact_add", "oaa", add},     /* bytes, x, y or None */
    {"exact_merge", "oa", merge},  /* bytes, bytes of the other one */
    {"exact_value", "ao=", value}, /* bytes, the sum as one number; how many were added */
    {NULL, NULL, NULL},
};
