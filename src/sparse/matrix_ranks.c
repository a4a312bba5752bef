/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices over ranks: each rank passes rows, columns or entries, and gets the whole matrix. */
#include <string.h>

#include "sparse/ranks.h"

/* What the ranks pass, and where it goes. */
typedef struct collecting {
    weft_context *ctx, *own;
    const char *call;
    weft_form form;
    const wi_triplets *given;
    size_t order, n; /* of the matrix: rows, and entries given */
    int64_t *row, *col;
    double *value;
    wi_dealt *dealt;
} collecting;

static int ranks_of(const collecting *c) {
    return c->ctx->comm->size;
}

/* The extent of the matrix that every rank says in full. */
static size_t whole_of(const collecting *c) {
    return c->form == WEFT_CSC ? c->given->rows : c->given->cols;
}

/* Takes memory for the facts that the matrix keeps, and finds them out. */
static weft_status count(collecting *c) {
    const size_t ranks = (size_t)ranks_of(c);
    const wi_triplets *const given = c->given;
    const uint64_t own[3] = {c->form == WEFT_CSC ? given->cols : given->rows, given->n,
                             whole_of(c)},
                   *all;
    c->dealt = wi_host_alloc(sizeof *c->dealt + 2 * ranks * sizeof(size_t));
    weft_status status = WEFT_OK;
    if (!c->dealt)
        status = wi_fail(c->own, WEFT_ENOMEM, "%s: no memory for a matrix; free some", c->call);
    status = wi_over_agree(c->ctx, c->own, wi_alike(given->storage, (uint64_t)c->form), status);
    if (status != WEFT_OK)
        return status;
    *c->dealt = (wi_dealt){.ranks = (int)ranks, .rows = (size_t *)(c->dealt + 1)};
    c->dealt->given = c->dealt->rows + ranks;
    status = wi_all_words(c->ctx, own, 3, &all);
    for (size_t r = 0; r < ranks && status == WEFT_OK; r++) {
        c->dealt->rows[r] = all[3 * r];
        c->dealt->given[r] = all[3 * r + 1];
        c->order += all[3 * r];
        c->n += all[3 * r + 1];
        if (all[3 * r + 2] != all[2])
            return wi_fail(c->own, WEFT_EARG,
                           "%s: rank %zu says that the matrix has %llu %s, and rank 0 %llu; pass "
                           "the same",
                           c->call, r, (unsigned long long)all[3 * r + 2],
                           c->form == WEFT_CSC ? "rows" : "columns", (unsigned long long)all[2]);
    }
    return status;
}

static weft_status check(const collecting *c) {
    if (c->order == whole_of(c))
        return WEFT_OK;
    return wi_fail(c->own, WEFT_EARG,
                   "%s: the ranks pass %zu %s in all, of a matrix of %zu %s; over ranks it is "
                   "square, and each row is passed by one rank",
                   c->call, c->order, c->form == WEFT_CSC ? "columns" : "rows", whole_of(c),
                   c->form == WEFT_CSC ? "rows" : "columns");
}

static weft_status take(collecting *c) {
    c->row = wi_sparse_take(c->own, c->call, c->n);
    c->col = wi_sparse_take(c->own, c->call, c->n);
    c->value = wi_sparse_take(c->own, c->call, c->n);
    return c->row && c->col && c->value ? WEFT_OK : WEFT_ENOMEM;
}

/* Lines of a rank are counted from its first: adds those of the ranks before. */
static void shift(const collecting *c, int64_t *line) {
    int64_t before = 0;
    for (int r = 0; r < ranks_of(c); r++) {
        for (size_t k = 0; k < c->dealt->given[r]; k++)
            line[k] += before;
        line += c->dealt->given[r];
        before += (int64_t)c->dealt->rows[r];
    }
}

static weft_status exchange(const collecting *c) {
    const wi_comm_table *const calls = c->ctx->comm->calls;
    const wi_triplets *const given = c->given;
    const size_t *const counts = c->dealt->given;
    weft_status status = calls->all_gather_v(c->ctx, given->row, c->row, counts, WEFT_I64);
    if (status == WEFT_OK)
        status = calls->all_gather_v(c->ctx, given->col, c->col, counts, WEFT_I64);
    if (status == WEFT_OK)
        status = calls->all_gather_v(c->ctx, given->value, c->value, counts, WEFT_F64);
    if (status != WEFT_OK) {
        wi_take_message(c->own, c->ctx);
        return status;
    }
    if (c->form != WEFT_TRIPLETS)
        shift(c, c->form == WEFT_CSR ? c->row : c->col);
    return WEFT_OK;
}

/* Every rank builds the same matrix, or finds the same fault. */
static weft_status build(collecting *c, weft_sparse **matrix) {
    const wi_voice voice = {.call = c->call};
    wi_triplets whole = *c->given;
    whole.rows = whole.cols = c->order;
    whole.n = c->n;
    whole.row = c->row;
    whole.col = c->col;
    whole.value = c->value;
    const weft_status status = wi_sparse_build(c->own, &voice, &whole, matrix);
    if (status != WEFT_OK)
        return status;
    c->dealt->values = c->value; /* for later values */
    c->value = NULL;
    (*matrix)->dealt = c->dealt;
    c->dealt = NULL;
    return WEFT_OK;
}

weft_status wi_sparse_collect(weft_context *ctx, weft_context *own, const char *call,
                              weft_form form, const wi_triplets *given, weft_sparse **matrix) {
    collecting c = {.ctx = ctx, .own = own, .call = call, .form = form, .given = given};
    weft_status status = count(&c);
    if (status == WEFT_OK)
        status = check(&c);
    if (status == WEFT_OK)
        status = wi_over_agree(ctx, own, 0, take(&c));
    if (status == WEFT_OK)
        status = exchange(&c);
    if (status == WEFT_OK)
        status = wi_over_agree(ctx, own, 0, build(&c, matrix));
    wi_host_free(c.row);
    wi_host_free(c.col);
    wi_host_free(c.value);
    wi_host_free(c.dealt);
    if (status != WEFT_OK) {
        weft_sparse_destroy(*matrix);
        *matrix = NULL;
    }
    return status;
}

weft_status wi_sparse_collect_values(weft_context *ctx, weft_context *own, const char *call,
                                     weft_sparse *matrix, const double *value) {
    const wi_voice voice = {.call = call};
    const wi_dealt *const dealt = matrix->dealt;
    const weft_status status =
        ctx->comm->calls->all_gather_v(ctx, value, dealt->values, dealt->given, WEFT_F64);
    if (status != WEFT_OK) {
        wi_take_message(own, ctx);
        return status;
    }
    return wi_sparse_set_values(own, &voice, matrix, dealt->values);
}
