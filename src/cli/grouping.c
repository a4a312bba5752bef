/* SPDX-License-Identifier: Apache-2.0 */
/* What `weft group` computes. */
#include "cli/grouping.h"

#include <string.h>

#include "cli/ranks.h"
#include "weft/exact.h"
#include "weft/expr.h"
#include "weft/gather.h"
#include "weft/group.h"
#include "weft/mpi.h"
#include "weft/reduce.h"
#include "weft/sort.h"

const char *const wi_group_op_names[WI_GROUP_OPS] = {"count", "sum", "mean",
                                                     "min",   "max", "product"};

/* A column of the result: one element for each group. */
typedef struct result_column {
    wi_group_op op;
    weft_column call;
    weft_type type; /* of call.y */
} result_column;

/* A grouping while it is computed. */
typedef struct work {
    wi_grouping *g;
    weft_context *ctx;
    weft_context *own;   /* over ranks that of this one alone, else ctx */
    uint64_t *order;     /* the row that belongs at each place */
    void *spare;         /* of as many bytes as the keys, or a column of values */
    void *keys;          /* of each group */
    unsigned char *ones; /* one for each row: their sum is the count */
    result_column *column;
    size_t columns;
    uint64_t groups;
} work;

static wi_exit no_memory(size_t elements) {
    wi_say_error("group: no host memory for %zu elements", elements);
    return WI_EXIT_FAILED;
}

static wi_exit checked(const work *w, weft_status status) {
    return status == WEFT_OK ? WI_EXIT_OK : wi_session_failed(w->ctx);
}

/* The same for a call of this rank alone. */
static wi_exit checked_own(const work *w, weft_status status) {
    return status == WEFT_OK ? WI_EXIT_OK : wi_session_failed(w->own);
}

/* ---- the order of the rows ---- */

/* w->order = the rows by ascending keys; rows with equal keys keep their order. */
static weft_status find_order(work *w) {
    const wi_grouping *const g = w->g;
    const size_t size = weft_type_size(g->key_type);
    if (g->key_columns == 1)
        return weft_sort_indices(w->ctx, WEFT_ASCENDING, g->key_type, g->rows, g->keys, WEFT_U64,
                                 w->order);
    weft_field fields[WI_GROUP_KEY_COLUMNS];
    for (size_t k = 0; k < g->key_columns; k++)
        fields[k] = (weft_field){k * size, g->key_type, WEFT_ASCENDING};
    return weft_sort_records_indices(w->ctx, g->rows, g->key_columns * size, g->keys, fields,
                                     g->key_columns, WEFT_U64, w->order);
}

/* Puts an array of one element of `width` bytes for each row into the order. */
static weft_status reorder(const work *w, size_t width, void *rows) {
    const size_t n = w->g->rows;
    const weft_status status =
        weft_gather(w->ctx, n, width, WEFT_U64, w->order, n, rows, w->spare, NULL);
    if (status == WEFT_OK)
        memcpy(rows, w->spare, n * width);
    return status;
}

static wi_exit sort_rows(work *w) {
    wi_grouping *const g = w->g;
    const size_t value_size = weft_type_size(g->value_type);
    weft_status status = find_order(w);
    if (status == WEFT_OK)
        status = reorder(w, g->key_columns * weft_type_size(g->key_type), g->keys);
    for (size_t c = 0; c < g->value_columns && status == WEFT_OK; c++)
        status = reorder(w, value_size, (char *)g->values + c * g->rows * value_size);
    return checked(w, status);
}

/* Floats become f64, so that sums and means are not rounded to a narrower type. */
static wi_exit widen_values(work *w) {
    wi_grouping *const g = w->g;
    const size_t n = g->rows * g->value_columns;
    if (!wi_type_is_float(g->value_type) || g->value_type == WEFT_F64)
        return WI_EXIT_OK;
    void *const wide = wi_host_alloc(n * sizeof(double));
    if (!wide)
        return no_memory(n);
    const weft_status status =
        weft_convert(w->own, WEFT_X_SATURATE, g->value_type, WEFT_F64, n, g->values, wide);
    wi_host_free(g->values);
    g->values = wide;
    g->value_type = WEFT_F64;
    return checked_own(w, status);
}

/* ---- the groups ---- */

static weft_op op_of(wi_group_op op) {
    static const weft_op ops[WI_GROUP_OPS] = {
        [WI_GROUP_COUNT] = WEFT_SUM, [WI_GROUP_SUM] = WEFT_SUM, [WI_GROUP_MEAN] = WEFT_SUM,
        [WI_GROUP_MIN] = WEFT_MIN,   [WI_GROUP_MAX] = WEFT_MAX, [WI_GROUP_PRODUCT] = WEFT_PRODUCT};
    return ops[op];
}

/* Adds a column that combines x. */
static bool add_column(work *w, wi_group_op op, weft_type type, const void *x) {
    result_column *const c = &w->column[w->columns++];
    *c = (result_column){.op = op, .call = {op_of(op), type, x, NULL}};
    weft_reduce_type(c->call.op, type, &c->type);
    c->call.y = wi_host_alloc(w->g->rows * weft_type_size(c->type));
    return c->call.y != NULL;
}

/* The first column counts the rows; those that --op names follow. */
static wi_exit plan_columns(work *w) {
    const wi_grouping *const g = w->g;
    const size_t size = weft_type_size(g->value_type);
    const size_t key_bytes = g->key_columns * weft_type_size(g->key_type);
    w->order = wi_host_alloc(g->rows * sizeof *w->order);
    w->spare = wi_host_alloc(g->rows * (key_bytes > size ? key_bytes : size));
    w->column = wi_host_alloc((1 + g->ops * (g->value_columns + 1)) * sizeof *w->column);
    w->ones = wi_host_alloc(g->rows);
    w->keys = wi_host_alloc(g->rows * key_bytes);
    if (!w->order || !w->spare || !w->column || !w->ones || !w->keys)
        return no_memory(g->rows);
    memset(w->ones, 1, g->rows);
    bool taken = add_column(w, WI_GROUP_COUNT, WEFT_U8, w->ones);
    for (size_t k = 0; k < g->ops; k++)
        for (size_t c = 0; c < g->value_columns && g->op[k] != WI_GROUP_COUNT; c++)
            taken = taken && add_column(w, g->op[k], g->value_type,
                                        (const char *)g->values + c * g->rows * size);
    return taken ? WI_EXIT_OK : no_memory(g->rows);
}

/* Is the column a sum to be made by weft_exact_reduce_by_key? */
static bool is_exact(const work *w, const result_column *c) {
    return w->g->exact && c->call.op == WEFT_SUM && wi_type_is_float(c->call.type);
}

/* Columns from *next on that are exact, or are not, in one call. */
static weft_status reduce_some(work *w, bool exact, size_t *next, void *keys_out) {
    const wi_grouping *const g = w->g;
    const size_t width = g->key_columns * weft_type_size(g->key_type);
    weft_column calls[WEFT_COLUMNS];
    weft_exact_column sums[WEFT_COLUMNS];
    size_t count = 0;
    for (; count < WEFT_COLUMNS && *next < w->columns; ++*next) {
        const weft_column *const c = &w->column[*next].call;
        if (is_exact(w, &w->column[*next]) != exact)
            continue;
        calls[count] = *c;
        sums[count++] = (weft_exact_column){c->op, c->type, c->x, w->column[*next].type, c->y};
    }
    return exact ? weft_exact_reduce_by_key(w->ctx, g->rows, width, g->keys, keys_out, count, sums,
                                            &w->groups)
                 : weft_reduce_by_key(w->ctx, g->rows, width, g->keys, keys_out, count, calls,
                                      &w->groups);
}

/* The first column, of counts, is not exact, so that its call has the keys. */
static wi_exit reduce(work *w) {
    uint64_t own;
    weft_status status = WEFT_OK;
    for (size_t next = 0; next < w->columns && status == WEFT_OK;)
        status = reduce_some(w, false, &next, next == 0 ? w->keys : NULL);
    for (size_t next = 0; next < w->columns && w->g->exact && status == WEFT_OK;)
        status = reduce_some(w, true, &next, NULL);
    if (status == WEFT_OK)
        status = weft_own_count(w->ctx, &w->groups, &own);
    if (status == WEFT_OK)
        w->groups = own;
    return checked(w, status);
}

/* Sums become means. */
static wi_exit divide(work *w) {
    const uint64_t *const counts = w->column[0].call.y;
    for (size_t k = 1; k < w->columns; k++) {
        result_column *const c = &w->column[k];
        if (c->op != WI_GROUP_MEAN)
            continue;
        double *const means = wi_host_alloc((size_t)w->groups * sizeof *means);
        if (!means)
            return no_memory((size_t)w->groups);
        const weft_status status = weft_convert(w->own, WEFT_X_SATURATE, c->type, WEFT_F64,
                                                (size_t)w->groups, c->call.y, means);
        for (size_t i = 0; i < w->groups; i++)
            means[i] /= (double)counts[i];
        wi_host_free(c->call.y);
        c->call.y = means;
        c->type = WEFT_F64;
        if (status != WEFT_OK)
            return checked_own(w, status);
    }
    return WI_EXIT_OK;
}

/* ---- the table ---- */

static weft_type type_of_table(const work *w) {
    bool integers = !wi_type_is_float(w->g->key_type);
    for (size_t k = 1; k < w->columns; k++)
        integers = integers && !wi_type_is_float(w->column[k].type);
    return integers ? WEFT_I64 : WEFT_F64;
}

/* Are the cells, converted from n integers, those integers exactly? */
static wi_exit check_exact(const work *w, weft_type type, size_t n, const char *own,
                           weft_type cell_type, const void *cells) {
    char text[WI_FIELD_BYTES];
    const size_t size = weft_type_size(type);
    char *const back = wi_host_alloc(n * size);
    if (!back)
        return no_memory(n);
    const weft_status status = weft_convert(w->own, WEFT_X_WRAP, cell_type, type, n, cells, back);
    size_t i = 0;
    while (i < n && memcmp(back + i * size, own + i * size, size) == 0)
        i++;
    wi_host_free(back);
    if (status != WEFT_OK)
        return checked_own(w, status);
    if (i == n)
        return WI_EXIT_OK;
    wi_say_error("group: the table is of %s, which cannot hold %s exactly; choose other columns, "
                 "or operations whose results are integers",
                 weft_type_name(cell_type), wi_format_element(type, own + i * size, text));
    return WI_EXIT_FAILED;
}

/* Column `at` of the table, from x, whose rows are `stride` elements apart. */
static wi_exit fill(const work *w, wi_npy *table, size_t at, weft_type type, const void *x,
                    size_t stride) {
    const size_t n = (size_t)w->groups, width = table->layout.shape[1];
    const size_t size = weft_type_size(type);
    uint64_t *const cells = wi_host_alloc(n * (sizeof *cells + size));
    char *const own = (char *)(cells + n);
    if (!cells)
        return no_memory(n);
    for (size_t i = 0; i < n; i++)
        memcpy(own + i * size, (const char *)x + i * stride * size, size);
    wi_exit result = checked_own(
        w, weft_convert(w->own, WEFT_X_SATURATE, type, table->layout.type, n, own, cells));
    if (result == WI_EXIT_OK && !wi_type_is_float(type))
        result = check_exact(w, type, n, own, table->layout.type, cells);
    for (size_t i = 0; i < n; i++)
        ((uint64_t *)table->data)[i * width + at] = cells[i];
    wi_host_free(cells);
    return result;
}

static wi_exit make_table(const work *w, wi_npy *table) {
    const wi_grouping *const g = w->g;
    const size_t size = weft_type_size(g->key_type), n = (size_t)w->groups;
    bool counts = false;
    for (size_t k = 0; k < g->ops; k++)
        counts = counts || g->op[k] == WI_GROUP_COUNT;
    const size_t width = g->key_columns + w->columns - !counts;
    table->layout = (wi_npy_layout){
        .type = type_of_table(w), .dims = 2, .shape = {n, width}, .count = n * width};
    table->data = wi_host_alloc(n * width * sizeof(uint64_t));
    if (!table->data)
        return no_memory(n * width);
    wi_exit result = WI_EXIT_OK;
    for (size_t k = 0; k < g->key_columns && result == WI_EXIT_OK; k++)
        result = fill(w, table, k, g->key_type, (const char *)w->keys + k * size, g->key_columns);
    size_t at = g->key_columns, next = 1;
    for (size_t k = 0; k < g->ops && result == WI_EXIT_OK; k++) {
        const size_t own = g->op[k] == WI_GROUP_COUNT ? 1 : g->value_columns;
        for (size_t c = 0; c < own && result == WI_EXIT_OK; c++) {
            const result_column *const from = &w->column[g->op[k] == WI_GROUP_COUNT ? 0 : next++];
            result = fill(w, table, at++, from->type, from->call.y, 1);
        }
    }
    return result;
}

/* Ranks agree after what each does alone, so that all make the calls between, or none. */
wi_exit wi_group_rows(const wi_arguments *args, weft_context *ctx, wi_grouping *g, wi_npy *table) {
    work w = {.g = g, .ctx = ctx, .own = weft_ranks(ctx) > 1 ? ctx->child : ctx};
    wi_exit result = widen_values(&w);
    if (result == WI_EXIT_OK)
        result = plan_columns(&w);
    result = wi_agree_result(args, ctx, result);
    if (result == WI_EXIT_OK && !g->runs)
        result = sort_rows(&w);
    if (result == WI_EXIT_OK)
        result = reduce(&w);
    const bool reduced = result == WI_EXIT_OK;
    if (result == WI_EXIT_OK)
        result = divide(&w);
    if (result == WI_EXIT_OK)
        result = make_table(&w, table);
    if (reduced)
        result = wi_agree_result(args, ctx, result);
    for (size_t k = 0; k < w.columns; k++)
        wi_host_free(w.column[k].call.y);
    wi_host_free(w.column);
    wi_host_free(w.order);
    wi_host_free(w.spare);
    wi_host_free(w.keys);
    wi_host_free(w.ones);
    return result;
}

void wi_grouping_free(wi_grouping *g) {
    wi_host_free(g->keys);
    wi_host_free(g->values);
    *g = (wi_grouping){.keys = NULL};
}
