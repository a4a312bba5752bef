/* SPDX-License-Identifier: Apache-2.0 */
/* What works through a host matrix on a GPU panel by panel. */
#ifndef WI_HOST_PANELS_CUH
#define WI_HOST_PANELS_CUH

#include "lu/host_matrix.h"

/* A call under way. */
struct wi_panels {
    weft_context *ctx;
    const wi_host_matrix *s;
    size_t width; /* bytes of an element */
    size_t wide;  /* columns of a panel */
    char *panel, *other, *strip;
    char *words; /* as many bytes as were asked for */
};

/* Columns first ... first + count - 1, of which rows top ... top + rows - 1. */
struct wi_panel {
    size_t first, count, top, rows;
};

/* Takes memory of the device: the two panels and, if the matrix is stored by rows, a copy of one,
 * share half of it. Ends when `close` gives it back. */
weft_status wi_panels_open(wi_panels *w, weft_context *ctx, const wi_host_matrix *s, size_t words);
weft_status wi_panels_close(const wi_panels *w, weft_status status);

/* The columns from `first` on that make a panel, cut off at `end`, from row `top` on. */
wi_panel wi_panel_at(const wi_panels *w, size_t first, size_t end, size_t top);

/* Bytes of the device that panels may share: those of a matrix that would just not be streamed. */
size_t wi_panels_memory(const weft_context *ctx);
/* Bytes of a panel that is only read: the same whenever it is asked, however much is free. */
size_t wi_read_panel_bytes(void);

/* A panel to `there`, by columns of p.rows elements, or back. */
weft_status wi_panel_move(const wi_panels *w, wi_panel p, char *there, bool back);

/* Lines of elements of a type from one matrix to another, one of which is host memory. */
weft_status wi_host_copy_lines(weft_context *ctx, const char *call, weft_type type, void *from,
                               size_t ld_from, void *to, size_t ld_to, size_t lines, size_t length);

static inline char *wi_panel_row(const wi_panels *w, void *x, size_t rows) {
    return (char *)x + rows * w->width;
}

/* A triangle, and the right-hand sides it is solved for, on the device. */
struct wi_panel_triangle {
    bool right, upper, unit, transposed;
    const void *t;
    size_t ldt;
    void *x;
    size_t ldx;
};

/* X = op(T) \ X for a triangle of m rows or, on the right, X = X / op(T) of n; X is m x n. */
weft_status wi_panel_solve(const wi_panels *w, const wi_panel_triangle *t, size_t m, size_t n);

/* The factors of a product, by columns. */
struct wi_panel_product {
    bool transposed_a, transposed_b;
    const void *a;
    size_t lda;
    const void *b;
    size_t ldb;
    void *c;
    size_t ldc;
};

/* C = C - op(A) op(B): m x n, by an inner size k. */
weft_status wi_panel_subtract(const wi_panels *w, const wi_panel_product *p, size_t m, size_t n,
                              size_t k);

#endif
