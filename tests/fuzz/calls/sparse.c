/* SPDX-License-Identifier: Apache-2.0 */
/* Creating sparse matrices in every form. */
#include "calls/entries.h"

enum {
    MOST_SIDE = 30
};

static const char *const names[] = {"weft_sparse_create_csc", "weft_sparse_create_csr",
                                    "weft_sparse_create_triplets"};
static const char *const storages[] = {"general", "lower",     "upper",
                                       "full",    "use lower", "use upper"};

static fuzz_array *indices(fuzz *f, const char *name, weft_type type, const int64_t *index,
                           size_t n) {
    const size_t size = test_size_of(type);
    unsigned char *const data = fuzz_take(f, n * size);
    for (size_t k = 0; k < n; k++) {
        fuzz_store_bits(data, size, k, (uint64_t)index[k]);
    }
    return fuzz_host_input(f, name, n * size, size, data);
}

static fuzz_array *starts(fuzz_entries *c, size_t lines, const int64_t *line) {
    fuzz *const f = c->f;
    int64_t *const start = fuzz_take(f, (lines + 1) * sizeof *start);
    for (size_t k = 0; k < c->n; k++) {
        start[line[k] + 1]++;
    }
    for (size_t k = 0; k < lines; k++) {
        start[k + 1] += start[k];
    }
    if (lines > 1 && fuzz_spoil_own(f, "")) {
        start[1 + fuzz_below(f, lines - 1)] = start[lines] + 1;
    } else if (fuzz_spoil_own(f, "start")) {
        start[0] = 1;
    }
    return indices(f, "start", c->start_type, start, lines + 1);
}

static void pass(fuzz_entries *c, bool by_names) {
    fuzz *const f = c->f;
    c->values = fuzz_host_input(f, "value", c->n * sizeof(double), sizeof(double), c->value);
    if (c->form == WEFT_CSC) {
        c->starts = starts(c, c->cols, c->col);
    } else if (c->form == WEFT_CSR) {
        c->starts = starts(c, c->rows, c->row);
    }
    const char *const index = c->form == WEFT_TRIPLETS || by_names ? NULL : "index";
    if (c->form != WEFT_CSR) {
        c->rows_given = indices(f, index ? index : "row", c->index_type, c->row, c->n);
    }
    if (c->form != WEFT_CSC) {
        c->cols_given = indices(f, index ? index : "col", c->index_type, c->col, c->n);
    }
}

static weft_status create(const fuzz_entries *c, weft_sparse **m) {
    weft_context *const ctx = c->f->ctx;
    const double *const value = c->values->p;
    switch (c->form) {
    case WEFT_CSC:
        return weft_sparse_create_csc(ctx, m, c->storage, c->rows, c->cols, c->index_type,
                                      c->starts->p, c->rows_given->p, value);
    case WEFT_CSR:
        return weft_sparse_create_csr(ctx, m, c->storage, c->rows, c->cols, c->index_type,
                                      c->starts->p, c->cols_given->p, value);
    default:
        return weft_sparse_create_triplets(ctx, m, c->storage, c->rows, c->cols, c->f->n,
                                           c->index_type, c->rows_given->p, c->cols_given->p,
                                           value);
    }
}

/* By the names of its parts; what the form does not need is not looked at. */
static weft_status create_by_names(const fuzz_entries *c, weft_sparse **m) {
    const weft_sparse_input input = {.size = sizeof input,
                                     .storage = c->storage,
                                     .form = c->form,
                                     .rows = c->rows,
                                     .cols = c->cols,
                                     .n = c->f->n,
                                     .start_type = c->start_type,
                                     .index_type = c->index_type,
                                     .start = c->starts ? c->starts->p : (const void *)c,
                                     .row = c->rows_given ? c->rows_given->p : (const void *)c,
                                     .col = c->cols_given ? c->cols_given->p : (const void *)c,
                                     .value = c->values->p,
                                     .symmetry_tolerance = c->tolerance};
    return weft_sparse_create(c->f->ctx, m, &input);
}

static void spoil(fuzz_entries *c) {
    fuzz *const f = c->f;
    if (c->form == WEFT_TRIPLETS && fuzz_spoil_own(f, "")) {
        f->n = SIZE_MAX;
    } else if (fuzz_spoil_own(f, "storage")) {
        c->storage = (weft_storage)(9 + fuzz_below(f, 9));
    } else if (fuzz_spoil_own(f, "index_type")) {
        c->index_type = WEFT_F64;
    } else if (c->storage != WEFT_GENERAL && fuzz_spoil_own(f, "rows")) {
        c->rows++;
    } else if (fuzz_spoil_own(f, "rows")) {
        c->rows = SIZE_MAX;
    } else if (!f->wrong && fuzz_one_in(f, 20)) {
        fuzz_spoil_array(f);
    }
}

static size_t draw_side(fuzz *f) {
    return fuzz_one_in(f, 10) ? fuzz_below(f, 2) : 1 + fuzz_below(f, MOST_SIDE);
}

static void draw(fuzz_entries *c, bool by_names) {
    fuzz *const f = c->f;
    c->form = (weft_form)fuzz_below(f, 3);
    c->storage = (weft_storage)fuzz_below(f, 6);
    c->index_type = fuzz_count_type(f);
    c->start_type = by_names ? fuzz_count_type(f) : c->index_type;
    c->rounded = c->storage == WEFT_SYMMETRIC_FULL && fuzz_one_in(f, 3);
    c->tolerance = by_names && !c->rounded ? (double)fuzz_below(f, 3) - 1 : 0;
    c->tolerance *= c->tolerance > 0 ? 1e-10 : 1;
    c->expected = WEFT_EARG;
    c->rows = draw_side(f);
    c->cols = c->storage == WEFT_GENERAL ? draw_side(f) : c->rows;
    fuzz_draw_entries(c);
    f->n = c->n;
}

void fuzz_sparse(fuzz *f) {
    fuzz_begin(f, NULL);
    const bool by_names = fuzz_one_in(f, 2);
    fuzz_entries *const c = fuzz_take(f, sizeof *c);
    c->f = f;
    draw(c, by_names);
    const char *const name = by_names ? "weft_sparse_create" : names[c->form];
    pass(c, by_names);
    spoil(c);
    fuzz_say(f, "%s(form %d, %s, %zu x %zu, %zu entries, %s)", name, (int)c->form,
             (unsigned)c->storage < 6 ? storages[c->storage] : "none", c->rows, c->cols, c->n,
             weft_type_name(c->index_type));
    weft_sparse *m = (weft_sparse *)c; /* set to NULL where it fails */
    const weft_status status = by_names ? create_by_names(c, &m) : create(c, &m);
    if (f->wrong) {
        test_refused(f->ctx, status, c->expected, name, *f->wrong ? f->wrong : NULL);
        assert_null(m);
        return;
    }
    if (fuzz_end(f, name, status)) {
        fuzz_check_entries(c, m, c->value);
        fuzz_use_matrix(c, m);
    }
    weft_sparse_destroy(m);
}
