/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that move elements or make them: select, gather, scatter, columns of tables, transpose,
 * fill. The rows at the end name their arguments. */
#include "core.h"

/* The elements that are not 0. */
static weft_predicate not_zero(weft_type type) {
    weft_predicate p = {.test = WEFT_NE, .type = type};
    return p;
}

static weft_status select_flagged(weft_context *ctx, wp_arguments *v) {
    return wp.weft_select_where(ctx, not_zero(v->a[0].type), v->a[0].n, v->a[0].p, v->a[1].width,
                                v->a[1].p, v->a[2].p, &v->result);
}

static weft_status nonzero(weft_context *ctx, wp_arguments *v) {
    return wp.weft_select_indices(ctx, not_zero(v->a[0].type), v->a[0].n, v->a[0].p, v->a[1].type,
                                  v->a[1].p, &v->result);
}

static weft_status count_nonzero(weft_context *ctx, wp_arguments *v) {
    return wp.weft_select_count(ctx, not_zero(v->a[0].type), v->a[0].n, v->a[0].p, &v->result);
}

static weft_status expand(weft_context *ctx, wp_arguments *v) {
    return wp.weft_expand(ctx, not_zero(v->a[0].type), v->a[0].n, v->a[0].p, v->a[1].width,
                          v->a[1].n, v->a[1].p, NULL, v->a[2].p);
}

static weft_status gather(weft_context *ctx, wp_arguments *v) {
    size_t row = (size_t)v->i[0];
    return wp.weft_gather(ctx, v->a[0].n, row * v->a[1].width, v->a[0].type, v->a[0].p,
                          v->a[1].n / row, v->a[1].p, v->a[2].p, NULL);
}

static weft_status scatter(weft_context *ctx, wp_arguments *v) {
    size_t row = (size_t)v->i[0];
    return wp.weft_scatter(ctx, v->a[0].n, row * v->a[1].width, v->a[1].p, v->a[0].type, v->a[0].p,
                           WEFT_REPEATS_LAST, v->a[2].n / row, v->a[2].p, NULL);
}

/* The columns of a table of v->a[0].n bytes: those that are not None. */
static size_t columns_of(const wp_arguments *v, weft_table_column *columns, size_t *n) {
    size_t count = 0;
    *n = v->a[0].n / (size_t)v->i[0];
    for (size_t k = 0; k < WEFT_TABLE_COLUMNS; k++) {
        const wp_array *a = &v->a[k + 1];
        if (a->p == NULL)
            continue;
        columns[count].offset = (size_t)v->i[k + 1];
        columns[count].width = *n > 0 ? a->n * a->width / *n : a->width;
        columns[count++].array = a->p;
    }
    return count;
}

static weft_status take_columns(weft_context *ctx, wp_arguments *v) {
    weft_table_column columns[WEFT_TABLE_COLUMNS];
    size_t n, count = columns_of(v, columns, &n);
    return wp.weft_take_columns(ctx, n, (size_t)v->i[0], v->a[0].p, count, columns);
}

static weft_status put_columns(weft_context *ctx, wp_arguments *v) {
    weft_table_column columns[WEFT_TABLE_COLUMNS];
    size_t n, count = columns_of(v, columns, &n);
    return wp.weft_put_columns(ctx, n, (size_t)v->i[0], v->a[0].p, count, columns);
}

static weft_status transpose(weft_context *ctx, wp_arguments *v) {
    size_t m = (size_t)v->i[0], n = (size_t)v->i[1];
    return wp.weft_transpose(ctx, WEFT_ROW_MAJOR, v->a[0].width, m, n, v->a[0].p, n, v->a[1].p, m);
}

static weft_status fill(weft_context *ctx, wp_arguments *v) {
    return wp.weft_fill(ctx, v->a[1].type, v->a[1].n, v->a[0].p, v->a[1].p);
}

static weft_status iota(weft_context *ctx, wp_arguments *v) {
    return wp.weft_iota(ctx, v->a[2].type, v->a[2].n, v->a[0].p, v->a[1].p, v->a[2].p);
}

static weft_status difference(weft_context *ctx, wp_arguments *v) {
    return wp.weft_adjacent_difference(ctx, v->a[0].type, v->a[0].n, v->a[0].p, v->a[1].p);
}

const wp_row wp_move_rows[] = {
    {"select", "vvo=", select_flagged},        /* flags, x, y; how many */
    {"nonzero", "vo=", nonzero},               /* x, positions; how many */
    {"count_nonzero", "a=", count_nonzero},    /* x; how many */
    {"expand", "aao", expand},                 /* flags, x, y */
    {"gather", "iaao", gather},                /* elements of a row (not 0), indices, x, y */
    {"scatter", "iaao", scatter},              /* elements of a row (not 0), indices, x, y */
    {"transpose", "iiao", transpose},          /* rows, columns, x, y */
    {"fill", "ao", fill},                      /* an array of one element, x */
    {"iota", "aao", iota},                     /* two arrays of one element: start and step; x */
    {"adjacent_difference", "ao", difference}, /* x, y */
    /* bytes of a record, offsets of 8 columns, the bytes of the records, 8 arrays, some of them
       None */
    {"take_columns", "iiiiiiiiiaoooooooo", take_columns},
    {"put_columns", "iiiiiiiiioaaaaaaaa", put_columns},
    {NULL, NULL, NULL},
};
