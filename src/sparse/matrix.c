/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls on sparse matrices: creating from each form, facts, new values. */
#include <math.h>
#include <string.h>

#include "core/call.h"
#include "sparse/ranks.h"

static const char *const storage_names =
    "WEFT_GENERAL, WEFT_SYMMETRIC_LOWER, WEFT_SYMMETRIC_UPPER, WEFT_SYMMETRIC_FULL, "
    "WEFT_SYMMETRIC_USE_LOWER or WEFT_SYMMETRIC_USE_UPPER";

/* The arguments of a creating call. */
typedef struct given {
    weft_context *ctx;
    const char *call;
    const weft_sparse_input *in;
    const char *row, *col; /* the call's names for these arrays */
    weft_context *over;    /* over ranks: the context of all; or NULL */
    bool met;              /* the ranks have met */
} given;

weft_status wi_sparse_check_meaning(weft_context *ctx, const char *call, weft_storage storage,
                                    double symmetry_tolerance) {
    if ((unsigned)storage > WEFT_SYMMETRIC_USE_UPPER)
        return wi_fail(ctx, WEFT_EARG, "%s: storage %d is not a weft_storage; pass %s", call,
                       (int)storage, storage_names);
    if (!isfinite(symmetry_tolerance))
        return wi_fail(ctx, WEFT_EARG,
                       "%s: symmetry_tolerance is %g; pass a number as 1e-12, 0 for the default, "
                       "or -1 for none",
                       call, symmetry_tolerance);
    return WEFT_OK;
}

static weft_status check_type(const given *g, const char *name, weft_type type) {
    if (type == WEFT_I32 || type == WEFT_I64 || type == WEFT_U32 || type == WEFT_U64)
        return WEFT_OK;
    return wi_fail(g->ctx, WEFT_EARG, "%s: %s is %s; pass WEFT_I32, WEFT_I64, WEFT_U32 or WEFT_U64",
                   g->call, name, weft_type_name(type));
}

static weft_status check_form(const given *g) {
    const weft_sparse_input *const in = g->in;
    weft_status status =
        wi_sparse_check_meaning(g->ctx, g->call, in->storage, in->symmetry_tolerance);
    if (status == WEFT_OK)
        status = check_type(g, "index_type", in->index_type);
    if (status == WEFT_OK && in->form != WEFT_TRIPLETS)
        status = check_type(g, "start_type", in->start_type);
    if (status != WEFT_OK)
        return status;
    if (in->rows > wi_most_rows || in->cols > wi_most_rows)
        return wi_fail(g->ctx, WEFT_EARG,
                       "%s: rows and cols are %zu and %zu, more than memory can index; check them",
                       g->call, in->rows, in->cols);
    if (!g->over && in->storage != WEFT_GENERAL && in->rows != in->cols)
        return wi_fail(g->ctx, WEFT_EARG,
                       "%s: rows and cols of a symmetric matrix are equal, not %zu and %zu; pass "
                       "WEFT_GENERAL, or a square matrix",
                       g->call, in->rows, in->cols);
    return WEFT_OK;
}

/* ---- indices ---- */

/* Indices as int64_t. */
typedef struct indices {
    const int64_t *at;
    int64_t *own; /* the memory of `at`, unless that is the caller's array */
} indices;

static weft_status check_unsigned(const given *g, const char *name, const uint64_t *p, size_t n) {
    for (size_t k = 0; k < n; k++) {
        if (p[k] > INT64_MAX)
            return wi_fail(g->ctx, WEFT_EARG,
                           "%s: %s[%zu] is %llu, more than any matrix has; mend it", g->call, name,
                           k, (unsigned long long)p[k]);
    }
    return WEFT_OK;
}

/* Checks that there are `n` indices of this type, and converts them to int64_t. */
static weft_status take_indices(const given *g, const char *name, weft_type type, const void *p,
                                size_t n, indices *out) {
    const weft_status status =
        wi_call_check_one(g->ctx, g->call, wi_elements(name, p, n, type, WI_IN | WI_HOST));
    *out = (indices){p, NULL};
    if (status != WEFT_OK || type == WEFT_I64)
        return status;
    if (type == WEFT_U64)
        return check_unsigned(g, name, p, n);
    out->own = wi_sparse_take(g->ctx, g->call, n);
    if (!out->own)
        return WEFT_ENOMEM;
    int64_t *const wide = out->own;
    for (size_t k = 0; type == WEFT_I32 && k < n; k++)
        wide[k] = ((const int32_t *)p)[k];
    for (size_t k = 0; type == WEFT_U32 && k < n; k++)
        wide[k] = ((const uint32_t *)p)[k];
    out->at = wide;
    return WEFT_OK;
}

static weft_status check_start(const given *g, const int64_t *start, size_t count) {
    if (start[0] != 0)
        return wi_fail(g->ctx, WEFT_EARG, "%s: start[0] is %lld; it has to be 0", g->call,
                       (long long)start[0]);
    for (size_t k = 1; k <= count; k++) {
        if (start[k] < start[k - 1])
            return wi_fail(g->ctx, WEFT_EARG,
                           "%s: start[%zu] is %lld, less than start[%zu], which is %lld; each is "
                           "where the one before ends",
                           g->call, k, (long long)start[k], k - 1, (long long)start[k - 1]);
    }
    return WEFT_OK;
}

/* Finds the row or column of each entry: the `line` with start[line] <= entry < start[line + 1]. */
static weft_status expand(const given *g, const int64_t *start, size_t count, indices *out) {
    out->own = wi_sparse_take(g->ctx, g->call, (size_t)start[count]);
    out->at = out->own;
    if (!out->own)
        return WEFT_ENOMEM;
    int64_t *const line = out->own;
    for (size_t j = 0; j < count; j++) {
        const int64_t end = start[j + 1];
        for (int64_t k = start[j]; k < end; k++)
            line[k] = (int64_t)j;
    }
    return WEFT_OK;
}

/* ---- creation ---- */

static weft_status build(given *g, size_t n, const int64_t *row, const int64_t *col,
                         weft_sparse **matrix) {
    const weft_sparse_input *const in = g->in;
    const wi_voice voice = {.call = g->call};
    const wi_triplets triplets = {.storage = in->storage,
                                  .symmetry_tolerance = in->symmetry_tolerance,
                                  .rows = in->rows,
                                  .cols = in->cols,
                                  .n = n,
                                  .row = row,
                                  .col = col,
                                  .value = in->value};
    const weft_status status = wi_call_check_one(
        g->ctx, g->call, wi_elements("value", in->value, n, WEFT_F64, WI_IN | WI_HOST));
    if (status != WEFT_OK || !g->over)
        return status == WEFT_OK ? wi_sparse_build(g->ctx, &voice, &triplets, matrix) : status;
    g->met = true;
    return wi_sparse_collect(g->over, g->ctx, g->call, in->form, &triplets, matrix);
}

static weft_status create_compressed(given *g, weft_sparse **matrix) {
    const weft_sparse_input *const in = g->in;
    const bool by_columns = in->form == WEFT_CSC;
    const size_t count = by_columns ? in->cols : in->rows;
    indices start = {NULL, NULL}, index = {NULL, NULL}, line = {NULL, NULL};
    weft_status status = take_indices(g, "start", in->start_type, in->start, count + 1, &start);
    if (status == WEFT_OK)
        status = check_start(g, start.at, count);
    if (status != WEFT_OK)
        goto done;
    const size_t n = (size_t)start.at[count];
    status = take_indices(g, by_columns ? g->row : g->col, in->index_type,
                          by_columns ? in->row : in->col, n, &index);
    if (status == WEFT_OK)
        status = expand(g, start.at, count, &line);
    wi_host_free(start.own); /* free it now: the matrix needs as much */
    start.own = NULL;
    if (status == WEFT_OK)
        status =
            build(g, n, by_columns ? index.at : line.at, by_columns ? line.at : index.at, matrix);
done:
    wi_host_free(start.own);
    wi_host_free(index.own);
    wi_host_free(line.own);
    return status;
}

static weft_status create_triplets(given *g, weft_sparse **matrix) {
    const weft_sparse_input *const in = g->in;
    indices row = {NULL, NULL}, col = {NULL, NULL};
    weft_status status = take_indices(g, g->row, in->index_type, in->row, in->n, &row);
    if (status == WEFT_OK)
        status = take_indices(g, g->col, in->index_type, in->col, in->n, &col);
    if (status == WEFT_OK)
        status = build(g, in->n, row.at, col.at, matrix);
    wi_host_free(row.own);
    wi_host_free(col.own);
    return status;
}

static weft_status create_here(given *g, weft_sparse **matrix) {
    if (!matrix)
        return wi_fail(g->ctx, WEFT_EARG, "%s: matrix is NULL; pass where to put it", g->call);
    const weft_status status = check_form(g);
    if (status != WEFT_OK)
        return status;
    return g->in->form == WEFT_TRIPLETS ? create_triplets(g, matrix) : create_compressed(g, matrix);
}

/* `in` is NULL if it is wrong, which `status` and the message in *own then say. */
static weft_status create(weft_context *ctx, weft_context *own, given g, weft_status status,
                          weft_sparse **matrix) {
    if (matrix)
        *matrix = NULL;
    g.ctx = own;
    g.over = ctx->comm ? ctx : NULL;
    if (status == WEFT_OK)
        status = create_here(&g, matrix);
    if (!g.met)
        status = wi_over_agree(ctx, own, 0, status);
    return wi_over_leave(ctx, own, status);
}

static weft_status check_input(weft_context *ctx, const char *call, const weft_sparse_input *input,
                               weft_sparse_input *whole) {
    *whole = (weft_sparse_input){.size = sizeof *whole};
    if (!input || input->size == 0 || input->size > sizeof *whole ||
        input->size % sizeof input->size != 0)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: input is NULL or its size wrong; set input.size to "
                       "sizeof(weft_sparse_input), %zu",
                       call, sizeof *whole);
    memcpy(whole, input, input->size);
    if ((unsigned)whole->form > WEFT_TRIPLETS)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: form %d is not a weft_form; pass WEFT_CSC, WEFT_CSR or WEFT_TRIPLETS",
                       call, (int)whole->form);
    if (!whole->start_type)
        whole->start_type = whole->index_type;
    return WEFT_OK;
}

weft_status weft_sparse_create(weft_context *ctx, weft_sparse **matrix,
                               const weft_sparse_input *input) {
    static const char call[] = "weft_sparse_create";
    weft_sparse_input whole;
    weft_context *own;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = wi_over_enter(ctx, call, &own);
    if (status == WEFT_OK)
        status = check_input(own, call, input, &whole);
    return create(ctx, own, (given){.call = call, .in = &whole, .row = "row", .col = "col"}, status,
                  matrix);
}

weft_status weft_sparse_create_csc(weft_context *ctx, weft_sparse **matrix, weft_storage storage,
                                   size_t rows, size_t cols, weft_type index_type,
                                   const void *start, const void *index, const double *value) {
    const weft_sparse_input in = {.storage = storage,
                                  .rows = rows,
                                  .cols = cols,
                                  .form = WEFT_CSC,
                                  .start_type = index_type,
                                  .start = start,
                                  .index_type = index_type,
                                  .row = index,
                                  .value = value};
    static const char call[] = "weft_sparse_create_csc";
    weft_context *own;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    const weft_status status = wi_over_enter(ctx, call, &own);
    return create(ctx, own, (given){.call = call, .in = &in, .row = "index"}, status, matrix);
}

weft_status weft_sparse_create_csr(weft_context *ctx, weft_sparse **matrix, weft_storage storage,
                                   size_t rows, size_t cols, weft_type index_type,
                                   const void *start, const void *index, const double *value) {
    const weft_sparse_input in = {.storage = storage,
                                  .rows = rows,
                                  .cols = cols,
                                  .form = WEFT_CSR,
                                  .start_type = index_type,
                                  .start = start,
                                  .index_type = index_type,
                                  .col = index,
                                  .value = value};
    static const char call[] = "weft_sparse_create_csr";
    weft_context *own;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    const weft_status status = wi_over_enter(ctx, call, &own);
    return create(ctx, own, (given){.call = call, .in = &in, .col = "index"}, status, matrix);
}

weft_status weft_sparse_create_triplets(weft_context *ctx, weft_sparse **matrix,
                                        weft_storage storage, size_t rows, size_t cols, size_t n,
                                        weft_type index_type, const void *row, const void *col,
                                        const double *value) {
    const weft_sparse_input in = {.storage = storage,
                                  .rows = rows,
                                  .cols = cols,
                                  .form = WEFT_TRIPLETS,
                                  .n = n,
                                  .index_type = index_type,
                                  .row = row,
                                  .col = col,
                                  .value = value};
    static const char call[] = "weft_sparse_create_triplets";
    weft_context *own;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    const weft_status status = wi_over_enter(ctx, call, &own);
    return create(ctx, own, (given){.call = call, .in = &in, .row = "row", .col = "col"}, status,
                  matrix);
}

void weft_sparse_destroy(weft_sparse *matrix) {
    if (!matrix)
        return;
    void *const parts[] = {matrix->start,        matrix->row,   matrix->value,
                           matrix->row_start,    matrix->col,   matrix->at,
                           matrix->home,         matrix->sums,  matrix->mirror_sums,
                           matrix->summed_sizes, matrix->dealt, matrix};
    if (matrix->dealt)
        wi_host_free(matrix->dealt->values);
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        wi_host_free(parts[k]);
}

weft_status weft_sparse_update(weft_context *ctx, weft_sparse *matrix, size_t n,
                               const double *value) {
    static const char call[] = "weft_sparse_update";
    weft_context *own;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    const wi_voice voice = {.call = call};
    const bool over = ctx->comm && matrix && matrix->dealt;
    const size_t wanted = over ? matrix->dealt->given[ctx->comm->rank] : matrix ? matrix->given : 0;
    weft_status status = wi_over_enter(ctx, call, &own);
    if (status == WEFT_OK && !matrix)
        status = wi_fail(own, WEFT_EARG, "%s: matrix is NULL; pass one", call);
    if (status == WEFT_OK && n != wanted)
        status = wi_fail(own, WEFT_EARG,
                         "%s: n is %zu, but the matrix was created from %zu values; pass as many, "
                         "in the same order",
                         call, n, wanted);
    if (status == WEFT_OK)
        status =
            wi_call_check_one(own, call, wi_elements("value", value, n, WEFT_F64, WI_IN | WI_HOST));
    status = wi_over_agree(ctx, own, 0, status);
    if (status == WEFT_OK)
        status = over ? wi_sparse_collect_values(ctx, own, call, matrix, value)
                      : wi_sparse_set_values(own, &voice, matrix, value);
    return wi_over_leave(ctx, own, status);
}

size_t weft_sparse_rows(const weft_sparse *matrix) {
    return matrix ? matrix->rows : 0;
}

size_t weft_sparse_cols(const weft_sparse *matrix) {
    return matrix ? matrix->cols : 0;
}

int weft_sparse_is_symmetric(const weft_sparse *matrix) {
    return matrix ? matrix->symmetric : 0;
}

double weft_sparse_asymmetry(const weft_sparse *matrix) {
    return matrix ? matrix->asymmetry : 0;
}

size_t weft_sparse_entries(const weft_sparse *matrix) {
    return matrix ? (size_t)matrix->start[matrix->cols] : 0;
}

const int64_t *weft_sparse_starts(const weft_sparse *matrix) {
    return matrix ? matrix->start : NULL;
}

const int64_t *weft_sparse_row_indices(const weft_sparse *matrix) {
    return matrix ? matrix->row : NULL;
}

const double *weft_sparse_values(const weft_sparse *matrix) {
    return matrix ? matrix->value : NULL;
}
