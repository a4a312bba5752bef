/* SPDX-License-Identifier: Apache-2.0 */
/* Calls by key, and calls on records of several fields. The rows at the end name their arguments.
 */
#include "core.h"

/* The columns whose operations begin at i[first], and whose x and y at a[array]; some are None. */
static size_t columns_of(const wp_arguments *v, size_t first, size_t array, weft_column *columns) {
    size_t count = 0;
    for (size_t k = 0; k < WEFT_COLUMNS; k++) {
        const wp_array *x = &v->a[array + 2 * k], *y = x + 1;
        if (y->p == NULL)
            continue;
        columns[count].op = (weft_op)v->i[first + k];
        columns[count].type = x->type;
        columns[count].x = x->p;
        columns[count++].y = y->p;
    }
    return count;
}

static weft_status reduce_segments_columns(weft_context *ctx, wp_arguments *v) {
    weft_column columns[WEFT_COLUMNS];
    size_t count = columns_of(v, 0, 1, columns);
    return wp.weft_reduce_segments_columns(ctx, v->a[1].n, v->a[0].n - 1, v->a[0].type, v->a[0].p,
                                           count, columns);
}

static weft_status reduce_by_key(weft_context *ctx, wp_arguments *v) {
    weft_column columns[WEFT_COLUMNS];
    size_t width = (size_t)v->i[0], count = columns_of(v, 1, 2, columns);
    return wp.weft_reduce_by_key(ctx, v->a[0].n * v->a[0].width / width, width, v->a[0].p,
                                 v->a[1].p, count, columns, &v->result);
}

static weft_status scan_by_key(weft_context *ctx, wp_arguments *v) {
    return wp.weft_scan_by_key(ctx, (weft_scan_kind)v->i[0], (weft_op)v->i[1], v->a[1].type,
                               v->a[1].n, (size_t)v->i[2], v->a[0].p, v->a[1].p, v->a[2].p);
}

/* The fields in an array of i64, three numbers for each: offset, type, order. */
static size_t fields_of(const wp_array *a, weft_field *fields) {
    const int64_t *number = a->p;
    size_t count = a->n / 3 < WEFT_MOST_FIELDS ? a->n / 3 : WEFT_MOST_FIELDS;
    for (size_t k = 0; k < count; k++) {
        fields[k].offset = (size_t)number[3 * k];
        fields[k].type = (weft_type)number[3 * k + 1];
        fields[k].order = (weft_order)number[3 * k + 2];
    }
    return count;
}

static weft_status records_sort(weft_context *ctx, wp_arguments *v) {
    weft_field fields[WEFT_MOST_FIELDS];
    size_t bytes = (size_t)v->i[0], count = fields_of(&v->a[0], fields);
    return wp.weft_sort_records(ctx, v->a[1].n / bytes, bytes, v->a[1].p, v->a[2].p, fields, count);
}

static weft_status records_argsort(weft_context *ctx, wp_arguments *v) {
    weft_field fields[WEFT_MOST_FIELDS];
    size_t bytes = (size_t)v->i[0], count = fields_of(&v->a[0], fields);
    return wp.weft_sort_records_indices(ctx, v->a[1].n / bytes, bytes, v->a[1].p, fields, count,
                                        v->a[2].type, v->a[2].p);
}

static weft_status records_unique(weft_context *ctx, wp_arguments *v) {
    weft_field fields[WEFT_MOST_FIELDS];
    size_t bytes = (size_t)v->i[0], count = fields_of(&v->a[0], fields);
    size_t n = v->a[1].n / bytes;
    if (v->a[3].p == NULL)
        return wp.weft_unique_records(ctx, n, bytes, v->a[1].p, v->a[2].p, fields, count,
                                      &v->result);
    return wp.weft_run_length_records(ctx, n, bytes, v->a[1].p, v->a[2].p, fields, count,
                                      v->a[3].type, v->a[3].p, &v->result);
}

static weft_status records_search(weft_context *ctx, wp_arguments *v) {
    weft_field fields[WEFT_MOST_FIELDS];
    size_t bytes = (size_t)v->i[1], count = fields_of(&v->a[0], fields);
    return wp.weft_search_records(ctx, (weft_bound)v->i[0], v->a[1].n / bytes, bytes, v->a[1].p,
                                  v->a[2].n / bytes, v->a[2].p, fields, count, v->a[3].p);
}

static weft_status records_merge(weft_context *ctx, wp_arguments *v) {
    weft_field fields[WEFT_MOST_FIELDS];
    size_t bytes = (size_t)v->i[0], count = fields_of(&v->a[0], fields);
    return wp.weft_merge_records(ctx, bytes, v->a[1].n / bytes, v->a[1].p, v->a[2].n / bytes,
                                 v->a[2].p, v->a[3].p, fields, count);
}

const wp_row wp_group_rows[] = {
    /* 8 operations, offsets, 8 times x and y, some of them None */
    {"reduce_segments_columns", "iiiiiiiiaaoaoaoaoaoaoaoao", reduce_segments_columns},
    /* bytes of a key, 8 operations, keys, keys of the runs, 8 times x and y, some of them None; how
     * many runs */
    {"reduce_by_key", "iiiiiiiiiaoaoaoaoaoaoaoaoao=", reduce_by_key},
    {"scan_by_key", "iiiaao", scan_by_key}, /* kind, op, bytes of a key, keys, x, y */
    /* bytes of a record (not 0), fields, the bytes of the records ... */
    {"records_sort", "iaao", records_sort},       /* ... sorted */
    {"records_argsort", "iaao", records_argsort}, /* ... positions */
    {"records_unique", "iaaoo=", records_unique}, /* ... distinct ones, lengths or None; how many */
    {"records_search", "iiaaao", records_search}, /* bound first; ... wanted, positions */
    {"records_merge", "iaaao", records_merge},    /* ... the others, merged */
    {NULL, NULL, NULL},
};
