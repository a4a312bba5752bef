/* SPDX-License-Identifier: Apache-2.0 */
/* What `weft group` computes. */
#include "cli/grouping.h"

#include <math.h>
#include <string.h>

#include "cli/ranks.h"
#include "cli/rows.h"
#include "weft/exact.h"
#include "weft/expr.h"
#include "weft/gather.h"
#include "weft/group.h"
#include "weft/mpi.h"
#include "weft/reduce.h"

const char *const wi_group_op_names[WI_GROUP_OPS] = {"count", "sum", "mean",
                                                     "min",   "max", "product"};

/* A column of the result: one element for each group. */
typedef struct result_column {
    wi_group_op op;
    size_t value; /* which column of values it is of */
    bool checks;  /* it is not written, but the same of f64: is the one before right? */
    weft_column call;
    weft_type type; /* of call.y */
} result_column;

/* A grouping while it is computed. */
typedef struct work {
    const wi_arguments *args;
    wi_grouping *g;
    weft_context *ctx;
    weft_context *own; /* over ranks that of this one alone, else ctx */
    size_t rows;
    size_t key_bytes;                     /* of a row */
    uint64_t *order;                      /* the row that belongs at each place */
    char *row_keys;                       /* the key of each row */
    void *keys;                           /* of each group */
    unsigned char *ones;                  /* one for each row: their sum is the count */
    void *doubles[WI_GROUP_MOST_COLUMNS]; /* of columns whose sums are checked, the same as f64 */
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

static size_t size_of(const wi_npy *column) {
    return weft_type_size(column->layout.type);
}

/* ---- before the rows are divided among ranks ---- */

/* Can sums of the column be too large for its type? Only integers of 64 bits can be that many. */
static bool may_wrap(const wi_npy *column) {
    const double most = 0x1p62 / (double)(column->layout.count + 1);
    bool large = false;
    if (wi_type_is_float(column->layout.type) || size_of(column) < sizeof(uint64_t))
        return false;
    for (size_t i = 0; i < column->layout.count && !large; i++)
        large = !(fabs(wi_element_value(column->layout.type, (const uint64_t *)column->data + i)) <=
                  most);
    return large;
}

static weft_status take_share(const weft_context *ctx, wi_column_set *columns, wi_note *note) {
    weft_status status = WEFT_OK;
    for (size_t k = 0; k < columns->count && status == WEFT_OK && weft_ranks(ctx) > 1; k++)
        status = wi_npy_take_part(weft_rank(ctx), weft_ranks(ctx), &columns->column[k], note);
    return status;
}

wi_exit wi_grouping_begin(const weft_context *ctx, wi_grouping *g) {
    wi_note note = {""};
    for (size_t c = 0; c < g->values.count; c++)
        g->may_wrap[c] = may_wrap(&g->values.column[c]);
    if (take_share(ctx, &g->keys, &note) == WEFT_OK &&
        take_share(ctx, &g->values, &note) == WEFT_OK)
        return WI_EXIT_OK;
    wi_say_error("%s", note.text);
    return WI_EXIT_FAILED;
}

/* ---- the order of the rows ---- */

/* Puts an array of one element of `width` bytes for each row into the order. */
static weft_status reorder(const work *w, size_t width, void *rows, void *spare) {
    const weft_status status =
        weft_gather(w->ctx, w->rows, width, WEFT_U64, w->order, w->rows, rows, spare, NULL);
    if (status == WEFT_OK)
        memcpy(rows, spare, w->rows * width);
    return status;
}

static wi_exit sort_rows(work *w) {
    const wi_column_set *const values = &w->g->values;
    const size_t width = w->key_bytes > sizeof(uint64_t) ? w->key_bytes : sizeof(uint64_t);
    void *const spare = wi_host_alloc(w->rows * width);
    w->order = wi_host_alloc(w->rows * sizeof *w->order);
    wi_exit result = w->order && spare ? WI_EXIT_OK : no_memory(w->rows);
    result = wi_agree_result(w->args, w->ctx, result);
    weft_status status = WEFT_OK;
    if (result == WI_EXIT_OK)
        status = wi_keys_order(w->ctx, WEFT_ASCENDING, &w->g->keys, w->row_keys, w->order);
    if (result == WI_EXIT_OK && status == WEFT_OK)
        status = reorder(w, w->key_bytes, w->row_keys, spare);
    for (size_t c = 0; c < values->count && result == WI_EXIT_OK && status == WEFT_OK; c++)
        status = reorder(w, size_of(&values->column[c]), values->column[c].data, spare);
    wi_host_free(spare);
    return result == WI_EXIT_OK ? checked(w, status) : result;
}

/* ---- the groups ---- */

/* The column's elements as f64. */
static wi_exit convert(const work *w, const wi_npy *column, void **doubles) {
    *doubles = wi_host_alloc(w->rows * sizeof(double));
    if (!*doubles)
        return no_memory(w->rows);
    return checked_own(w, weft_convert(w->own, WEFT_X_SATURATE, column->layout.type, WEFT_F64,
                                       w->rows, column->data, *doubles));
}

/* Floats become f64, so that sums and means are not rounded to a narrower type. */
static wi_exit widen_values(work *w) {
    wi_exit result = WI_EXIT_OK;
    for (size_t c = 0; c < w->g->values.count && result == WI_EXIT_OK; c++) {
        wi_npy *const column = &w->g->values.column[c];
        void *wide = NULL;
        if (!wi_type_is_float(column->layout.type) || column->layout.type == WEFT_F64)
            continue;
        result = convert(w, column, &wide);
        wi_host_free(column->data);
        column->data = wide;
        column->layout.type = WEFT_F64;
        column->layout.opaque = false;
    }
    return result;
}

static weft_op op_of(wi_group_op op) {
    static const weft_op ops[WI_GROUP_OPS] = {
        [WI_GROUP_COUNT] = WEFT_SUM, [WI_GROUP_SUM] = WEFT_SUM, [WI_GROUP_MEAN] = WEFT_SUM,
        [WI_GROUP_MIN] = WEFT_MIN,   [WI_GROUP_MAX] = WEFT_MAX, [WI_GROUP_PRODUCT] = WEFT_PRODUCT};
    return ops[op];
}

/* Adds a column that combines x. */
static wi_exit add_column(work *w, wi_group_op op, size_t value, weft_type type, const void *x) {
    result_column *const c = &w->column[w->columns++];
    *c = (result_column){.op = op, .value = value, .call = {op_of(op), type, x, NULL}};
    weft_reduce_type(c->call.op, type, &c->type);
    c->call.y = wi_host_alloc(w->rows * weft_type_size(c->type));
    return c->call.y ? WI_EXIT_OK : no_memory(w->rows);
}

/* Can the result be too large for its type? */
static bool is_doubtful(const wi_grouping *g, wi_group_op op, size_t value) {
    const bool adds = op == WI_GROUP_SUM || op == WI_GROUP_MEAN;
    return adds ? g->may_wrap[value]
                : op == WI_GROUP_PRODUCT && !wi_type_is_float(g->values.column[value].layout.type);
}

/* Columns for an operation on a column of values. A mean is a float, and so may be its sum. */
static wi_exit add_value(work *w, wi_group_op op, size_t value) {
    const wi_npy *const column = &w->g->values.column[value];
    const bool doubtful = is_doubtful(w->g, op, value);
    wi_exit result = WI_EXIT_OK;
    if (doubtful && !w->doubles[value])
        result = convert(w, column, &w->doubles[value]);
    if (result == WI_EXIT_OK && !(doubtful && op == WI_GROUP_MEAN))
        result = add_column(w, op, value, column->layout.type, column->data);
    if (result == WI_EXIT_OK && doubtful)
        result = add_column(w, op, value, WEFT_F64, w->doubles[value]);
    w->column[w->columns - 1].checks = doubtful && op != WI_GROUP_MEAN;
    return result;
}

/* The first column counts the rows; those that --op names follow. */
static wi_exit plan_columns(work *w) {
    const wi_grouping *const g = w->g;
    w->column = wi_host_alloc((1 + 2 * g->ops * g->values.count) * sizeof *w->column);
    w->ones = wi_host_alloc(w->rows);
    w->keys = wi_host_alloc(w->rows * w->key_bytes);
    if (!w->column || !w->ones || !w->keys)
        return no_memory(w->rows);
    memset(w->ones, 1, w->rows);
    wi_exit result = add_column(w, WI_GROUP_COUNT, 0, WEFT_U8, w->ones);
    for (size_t k = 0; k < g->ops; k++)
        for (size_t c = 0; c < g->values.count && g->op[k] != WI_GROUP_COUNT; c++)
            if (result == WI_EXIT_OK)
                result = add_value(w, g->op[k], c);
    return result;
}

/* Is the column a sum to be made by weft_exact_reduce_by_key? */
static bool is_exact(const work *w, const result_column *c) {
    return w->g->exact && !c->checks && c->call.op == WEFT_SUM && wi_type_is_float(c->call.type);
}

/* Columns from *next on that are exact, or are not, in one call. */
static weft_status reduce_some(work *w, bool exact, size_t *next, void *keys_out) {
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
    return exact ? weft_exact_reduce_by_key(w->ctx, w->rows, w->key_bytes, w->row_keys, keys_out,
                                            count, sums, &w->groups)
                 : weft_reduce_by_key(w->ctx, w->rows, w->key_bytes, w->row_keys, keys_out, count,
                                      calls, &w->groups);
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

/* ---- the results ---- */

/* Is an integer, which has the low 64 bits of the right one, that one? `about` is near the right
 * one, and both differ by a multiple of 2^64. */
static bool is_whole(const result_column *c, size_t i, double about) {
    const double got =
        wi_element_value(c->type, (const char *)c->call.y + i * weft_type_size(c->type));
    const double apart = fabs(got - about);
    return c->call.op == WEFT_SUM ? apart <= 0x1p62 : isfinite(about) && apart <= fabs(about) / 2;
}

/* Refuses integers that had no room for the sum or product. */
static wi_exit check_results(const work *w) {
    for (size_t k = 1; k < w->columns; k++) {
        const result_column *const c = &w->column[k - 1];
        const double *const about = w->column[k].call.y;
        for (size_t i = 0; i < w->groups && w->column[k].checks; i++)
            if (!is_whole(c, i, about[i])) {
                wi_say_error(
                    "group: a %s of column %s is about %g, which %s cannot hold; read it as "
                    "f64, of a table of text by --types %s=f64",
                    wi_group_op_names[c->op], w->g->value_name[c->value], about[i],
                    weft_type_name(c->type), w->g->value_name[c->value]);
                return WI_EXIT_FAILED;
            }
    }
    return WI_EXIT_OK;
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

/* A column of the table: one element of `type` for each group, `stride` bytes apart. */
static wi_exit fill(const work *w, wi_npy *column, weft_type type, const char *x, size_t stride) {
    const size_t n = (size_t)w->groups, size = weft_type_size(type);
    column->layout.type = type;
    column->layout.opaque = type == WEFT_BF16;
    wi_npy_flatten(column, n);
    column->data = wi_host_alloc(n * size);
    if (!column->data)
        return no_memory(n);
    for (size_t i = 0; i < n; i++)
        memcpy((char *)column->data + i * size, x + i * stride, size);
    return WI_EXIT_OK;
}

static wi_exit make_table(const work *w, wi_column_set *table) {
    const wi_grouping *const g = w->g;
    size_t at = 0, byte = 0;
    wi_exit result =
        wi_columns_make(w->args, g->keys.count + g->ops * (g->values.count + 1), table);
    if (result != WI_EXIT_OK)
        return result;
    for (size_t k = 0; k < g->keys.count && result == WI_EXIT_OK; k++) {
        result = fill(w, &table->column[at++], g->keys.column[k].layout.type,
                      (const char *)w->keys + byte, w->key_bytes);
        byte += size_of(&g->keys.column[k]);
    }
    for (size_t o = 0; o < g->ops; o++)
        for (size_t k = 0; k < w->columns && result == WI_EXIT_OK; k++) {
            const result_column *const c = &w->column[k];
            if (c->op == g->op[o] && !c->checks)
                result = fill(w, &table->column[at++], c->type, c->call.y, weft_type_size(c->type));
        }
    table->count = at;
    return result;
}

static void end_work(work *w) {
    for (size_t k = 0; k < w->columns; k++)
        wi_host_free(w->column[k].call.y);
    for (size_t c = 0; c < w->g->values.count; c++)
        wi_host_free(w->doubles[c]);
    wi_host_free(w->column);
    wi_host_free(w->order);
    wi_host_free(w->row_keys);
    wi_host_free(w->keys);
    wi_host_free(w->ones);
}

/* Ranks agree after what each does alone, so that all make the calls between, or none. */
wi_exit wi_group_rows(const wi_arguments *args, weft_context *ctx, wi_grouping *g,
                      wi_column_set *table) {
    work w = {.args = args, .g = g, .ctx = ctx, .own = weft_ranks(ctx) > 1 ? ctx->child : ctx};
    w.rows = wi_table_rows(&g->keys);
    w.key_bytes = wi_key_bytes(&g->keys);
    w.row_keys = wi_keys_pack(&g->keys);
    wi_exit result = w.row_keys ? widen_values(&w) : no_memory(w.rows);
    result = wi_agree_result(args, ctx, result);
    if (result == WI_EXIT_OK && !g->runs)
        result = sort_rows(&w);
    if (result == WI_EXIT_OK)
        result = wi_agree_result(args, ctx, plan_columns(&w));
    if (result == WI_EXIT_OK)
        result = reduce(&w);
    const bool reduced = result == WI_EXIT_OK;
    if (result == WI_EXIT_OK)
        result = check_results(&w);
    if (result == WI_EXIT_OK)
        result = divide(&w);
    if (result == WI_EXIT_OK)
        result = make_table(&w, table);
    if (reduced)
        result = wi_agree_result(args, ctx, result);
    end_work(&w);
    return result;
}

void wi_grouping_free(wi_grouping *g) {
    wi_columns_free(&g->keys);
    wi_columns_free(&g->values);
}
