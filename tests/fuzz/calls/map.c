/* SPDX-License-Identifier: Apache-2.0 */
/* weft_add, weft_axpy, weft_fill and weft_iota, on vectors and on matrices with gaps. */
#include "calls/calls.h"

#include <stdio.h>
#include <string.h>

typedef enum map_op {
    ADD,
    AXPY,
    FILL,
    IOTA
} map_op;

static const char *const names[] = {"weft_add", "weft_axpy", "weft_fill", "weft_iota"};

/* What a call gets, and where its operands are found by the oracle. */
typedef struct map_case {
    fuzz *f;
    map_op op;
    weft_type type;
    size_t rows, cols;
    size_t ldx, ldy, ldz;
    const void *x, *y;        /* host copies */
    unsigned char a[8], b[8]; /* alpha, value, start; step */
} map_case;

/* round(a + b) or round(a b) as map.h says: f64 and f32 each operation, 16-bit floats in f32. */
static test_value plus(weft_type type, test_value a, test_value b) {
    if (!test_is_float(type)) {
        return (test_value){.u = a.u + b.u};
    }
    if (type == WEFT_F64) {
        return (test_value){.f = a.f + b.f};
    }
    return (test_value){.f = (double)((float)a.f + (float)b.f)};
}

static test_value times(weft_type type, test_value a, test_value b) {
    if (!test_is_float(type)) {
        return (test_value){.u = a.u * b.u};
    }
    if (type == WEFT_F64) {
        return (test_value){.f = a.f * b.f};
    }
    return (test_value){.f = (double)((float)a.f * (float)b.f)};
}

/* start + i step: f64 rounds i, the product and the sum; the others once, after f64. */
static test_value along(weft_type type, test_value start, test_value step, size_t i) {
    if (!test_is_float(type)) {
        return (test_value){.u = start.u + (uint64_t)i * step.u};
    }
    const double product = (double)i * step.f;
    return (test_value){.f = start.f + product};
}

static test_value element(const map_case *c, size_t row, size_t col) {
    const weft_type type = c->type;
    const test_value a = test_load(type, c->a, 0), b = test_load(type, c->b, 0);
    switch (c->op) {
    case ADD:
        return plus(type, test_load(type, c->x, row * c->ldx + col),
                    test_load(type, c->y, row * c->ldy + col));
    case AXPY:
        return plus(type, times(type, a, test_load(type, c->x, row * c->ldx + col)),
                    test_load(type, c->y, row * c->ldy + col));
    case FILL:
        return a;
    default:
        return along(type, a, b, row * c->cols + col);
    }
}

static void foretell(const map_case *c, fuzz_array *z) {
    const size_t size = test_size_of(c->type);
    for (size_t row = 0; row < c->rows; row++) {
        for (size_t col = 0; col < c->cols; col++) {
            const size_t at = row * c->ldz + col;
            if (c->op == FILL) {
                memcpy(z->want + at * size, c->a, size); /* bit for bit, NaN too */
            } else {
                test_store(c->type, z->want, at, element(c, row, col));
            }
        }
    }
    z->compare = FUZZ_SAME;
    z->type = c->type;
}

static weft_status call(const map_case *c, bool matrix, const void *a, const void *b, const void *x,
                        const void *y, void *z) {
    weft_context *const ctx = c->f->ctx;
    const weft_type type = c->f->type;
    const size_t n = c->f->n, cols = c->cols;
    switch (c->op) {
    case ADD:
        return matrix ? weft_add_matrix(ctx, type, n, cols, x, c->ldx, y, c->ldy, z, c->ldz)
                      : weft_add(ctx, type, n, x, y, z);
    case AXPY:
        return matrix ? weft_axpy_matrix(ctx, type, n, cols, a, x, c->ldx, z, c->ldz)
                      : weft_axpy(ctx, type, n, a, x, z);
    case FILL:
        return matrix ? weft_fill_matrix(ctx, type, n, cols, a, z, c->ldz)
                      : weft_fill(ctx, type, n, a, z);
    default:
        return matrix ? weft_iota_matrix(ctx, type, n, cols, a, b, z, c->ldz)
                      : weft_iota(ctx, type, n, a, b, z);
    }
}

static size_t extent(size_t rows, size_t cols, size_t ld) {
    return rows && cols ? (rows - 1) * ld + cols : 0;
}

/* A leading dimension too short by one. */
static void spoil_pitch(fuzz *f, const char *name, size_t cols, size_t *ld) {
    if (cols > 0 && f->n > 0 && fuzz_spoil_own(f, name)) {
        *ld = cols - 1;
    }
}

static fuzz_array *operand(fuzz *f, const char *name, size_t rows, size_t cols, size_t ld) {
    return fuzz_elements(f, name, extent(rows, cols, ld));
}

/* The arrays and the call; c->rows and c->cols are drawn. */
static void run(map_case *c, bool matrix) {
    fuzz *const f = c->f;
    const weft_type type = f->type;
    const size_t size = test_size_of(type);
    fuzz_array *x = NULL, *y = NULL, *z = NULL;
    char name[FUZZ_NAME_BYTES];
    fuzz_fill(f, type, 1, c->a);
    fuzz_fill(f, type, 1, c->b);
    if (c->op == ADD || c->op == AXPY) {
        x = operand(f, "x", c->rows, c->cols, c->ldx);
        c->x = x->before;
    }
    if (c->op == ADD) {
        y = fuzz_one_in(f, 8) && c->ldx == c->ldy ? x : operand(f, "y", c->rows, c->cols, c->ldy);
        x->shared = y->shared = x->shared || x == y;
        c->y = y->before;
        z = c->ldz == c->ldx ? fuzz_output_or(f, x, "z") : NULL;
    } else if (c->op == AXPY) {
        z = operand(f, "y", c->rows, c->cols, c->ldz);
        z->output = true;
        c->y = z->before;
        c->ldy = c->ldz;
    }
    if (!z) {
        z = fuzz_output(f, c->op == ADD ? "z" : "x", extent(c->rows, c->cols, c->ldz) * size, size);
    }
    foretell(c, z);
    f->gaps = c->ldx > c->cols || c->ldy > c->cols || c->ldz > c->cols;
    fuzz_spoil(f);
    if (matrix) {
        spoil_pitch(f, c->op == ADD ? "ldz" : c->op == AXPY ? "ldy" : "ldx", c->cols, &c->ldz);
    }
    const bool no_scalar = c->op != ADD && fuzz_spoil_own(f, c->op == AXPY   ? "alpha"
                                                             : c->op == FILL ? "value"
                                                                             : "start");
    if (f->wrong && !*f->wrong && matrix && (c->cols == 0 || c->ldz == 0)) {
        f->wrong = NULL; /* no columns: any number of rows is right */
        f->n = c->rows;
    }
    snprintf(name, sizeof name, "%s%s", names[c->op], matrix ? "_matrix" : "");
    fuzz_say(f, "%s(%s, %zu, cols %zu, ld %zu %zu %zu)", name, test_type_name(type), f->n, c->cols,
             c->ldx, c->ldy, c->ldz);
    fuzz_end(
        f, name,
        call(c, matrix, no_scalar ? NULL : c->a, c->b, x ? x->p : NULL, y ? y->p : NULL, z->p));
}

void fuzz_map(fuzz *f) {
    fuzz_begin(f, "map");
    map_case c = {.f = f, .op = (map_op)fuzz_below(f, 4), .type = f->type};
    /* A vector is a matrix of one column without gaps. */
    c.rows = f->n;
    c.cols = c.ldx = c.ldy = c.ldz = 1;
    run(&c, false);
}

void fuzz_map_matrix(fuzz *f) {
    fuzz_begin(f, "map");
    map_case c = {.f = f, .op = (map_op)fuzz_below(f, 4), .type = f->type};
    const size_t elements = f->n;
    c.cols = fuzz_one_in(f, 10) ? fuzz_below(f, 2) : 1 + fuzz_below(f, elements + 1);
    c.rows = f->n = c.cols ? elements / c.cols : fuzz_below(f, 5);
    const size_t gap = fuzz_one_in(f, 2) ? 0 : fuzz_below(f, 9);
    const bool same = fuzz_one_in(f, 2);
    c.ldx = c.cols + gap;
    c.ldy = c.cols + (same ? gap : fuzz_below(f, 9));
    c.ldz = c.cols + (same ? gap : fuzz_below(f, 9));
    run(&c, true);
}
