/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of matrices and vectors of any type, for the calls of weft/gemm.h. */
#ifndef WEFT_TEST_DIST_PARTS_H
#define WEFT_TEST_DIST_PARTS_H

#include <stdlib.h>
#include <string.h>

#include "dist.h"
#include "weft/gemm.h"

enum {
    PAD = 3
};

/* A matrix as it is multiplied, rows x cols, and how it is stored. */
typedef struct matrix {
    size_t rows, cols, ld, width;
    bool by_rows;
    unsigned char *p;
} matrix;

static inline size_t at(const matrix *m, size_t row, size_t col) {
    return (m->by_rows ? row * m->ld + col : col * m->ld + row) * m->width;
}

static inline size_t bytes_of(const matrix *m) {
    return (m->by_rows ? m->rows : m->cols) * m->ld * m->width;
}

static inline matrix matrix_of(size_t rows, size_t cols, bool by_rows, size_t pad, weft_type type) {
    matrix m = {rows, cols, (by_rows ? cols : rows) + pad, test_size_of(type), by_rows, NULL};
    m.p = malloc(bytes_of(&m) + 1);
    assert_non_null(m.p);
    memset(m.p, TEST_POISON, bytes_of(&m));
    return m;
}

static inline matrix whole_of(test_random *r, size_t rows, size_t cols, bool by_rows,
                              weft_type type) {
    matrix m = matrix_of(rows, cols, by_rows, 0, type);
    test_fill(r, TEST_SMALL, type, rows * cols, m.p);
    return m;
}

static inline void copy_part(matrix *part, const matrix *whole, size_t row, size_t col) {
    for (size_t i = 0; i < part->rows; i++)
        for (size_t j = 0; j < part->cols; j++)
            memcpy(part->p + at(part, i, j), whole->p + at(whole, row + i, col + j), part->width);
}

/* Memory of a part with its gaps, as a call gets it. */
static inline dist_array take_part(test_random *r, const matrix *part) {
    return dist_take(r, part->p, bytes_of(part));
}

/* Some rows of a whole matrix, or columns. */
static inline matrix part_of(test_random *r, const matrix *whole, bool rows, dist_part own,
                             weft_type type) {
    matrix part = matrix_of(rows ? own.n : whole->rows, rows ? whole->cols : own.n, whole->by_rows,
                            dist_draw(r, PAD), type);
    copy_part(&part, whole, rows ? own.first : 0, rows ? 0 : own.first);
    return part;
}

/* A part of a vector without gaps, laid out with a stride. */
typedef struct strided {
    ptrdiff_t inc;
    size_t n, bytes, width;
    unsigned char *p;
} strided;

static inline void lay(strided *v, const unsigned char *whole, size_t first) {
    const size_t apart = (size_t)labs((long)v->inc);
    for (size_t i = 0; i < v->n; i++) {
        const size_t at = (v->inc < 0 ? v->n - 1 - i : i) * apart;
        memcpy(v->p + at * v->width, whole + (first + i) * v->width, v->width);
    }
}

static inline strided strided_of(test_random *r, const void *whole, dist_part part, size_t width) {
    static const ptrdiff_t incs[] = {1, 1, 1, -1, 2, -3};
    strided v = {
        .inc = incs[dist_draw(r, sizeof incs / sizeof *incs)], .n = part.n, .width = width};
    v.bytes = part.n > 0 ? ((part.n - 1) * (size_t)labs((long)v.inc) + 1) * width : 0;
    v.p = malloc(v.bytes + 1);
    assert_non_null(v.p);
    memset(v.p, TEST_POISON, v.bytes);
    lay(&v, whole, part.first);
    return v;
}

/* Memory runs out on the last rank at any moment of a call: all learn it, and the next call works.
 */
static inline void fail_allocations(weft_status (*call)(void *user), void *user) {
    weft_status status = dist_on_gpus() ? WEFT_OK : call(user);
    const size_t live = dist_live;
    assert_int_equal(status, WEFT_OK);
    status = WEFT_ENOMEM;
    for (long left = 0; status != WEFT_OK && !dist_on_gpus(); left++) {
        const bool fails = dist_rank == dist_ranks - 1;
        dist_left = fails ? left : -1;
        status = call(user);
        dist_left = -1;
        assert_true(status == WEFT_OK || status == (fails ? WEFT_ENOMEM : WEFT_ECOMM));
        assert_true(left < 1000);
        assert_int_equal(dist_live, live);
    }
}

/* Parts in any shape. */
static inline dist_part deal_other(test_random *r, size_t n) {
    return dist_deal(r, (dist_shape)dist_draw(r, DIST_SHAPES), n);
}

#endif
