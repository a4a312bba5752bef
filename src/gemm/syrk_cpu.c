/* SPDX-License-Identifier: Apache-2.0 */
/* The packed rung of syrk: what is beside the diagonal by gemm, in squares that are halved; small
 * squares on the diagonal as a whole and apart from C, which takes one triangle of them. */
#include "gemm/syrk.h"

enum {
    SIDE = 64 /* of a square on the diagonal */
};

typedef struct work {
    weft_context *ctx;
    const wi_syrk_args *g;
    void *square; /* SIDE x SIDE */
    void *memory; /* of gemm */
} work;

static void add_f64(const wi_syrk_args *g, size_t first, size_t n, const double *square) {
    double *const c = (double *)g->c + first * (g->ldc + 1);
    for (size_t j = 0; j < n; j++)
        for (size_t i = g->upper ? 0 : j; i < (g->upper ? j + 1 : n); i++) {
            double *const to = &c[i + j * g->ldc];
            *to = g->beta == 0 ? square[i + j * SIDE] : square[i + j * SIDE] + g->beta * *to;
        }
}

static void add_f32(const wi_syrk_args *g, size_t first, size_t n, const float *square) {
    float *const c = (float *)g->c + first * (g->ldc + 1), beta = (float)g->beta;
    for (size_t j = 0; j < n; j++)
        for (size_t i = g->upper ? 0 : j; i < (g->upper ? j + 1 : n); i++) {
            float *const to = &c[i + j * g->ldc];
            *to = beta == 0 ? square[i + j * SIDE] : square[i + j * SIDE] + beta * *to;
        }
}

/* The whole of a square on the diagonal. */
static wi_gemm_args square_at(const work *w, size_t first, size_t n) {
    wi_gemm_args product = wi_syrk_part(w->g, first, n, first, n);
    product.alpha = w->g->alpha;
    product.c = w->square;
    product.ldc = SIDE;
    return product;
}

static size_t half_of(size_t n) {
    return (n / 2 + SIDE - 1) / SIDE * SIDE;
}

/* What of the n rows and columns from `first` on is beside the two halves on the diagonal. */
static wi_gemm_args beside(const work *w, size_t first, size_t n) {
    const wi_syrk_args *const g = w->g;
    const size_t half = half_of(n), rest = n - half, middle = first + half;
    wi_gemm_args product = g->upper ? wi_syrk_part(g, first, half, middle, rest)
                                    : wi_syrk_part(g, middle, rest, first, half);
    const size_t corner = g->upper ? first + middle * g->ldc : middle + first * g->ldc;
    product.alpha = g->alpha;
    product.beta = g->beta;
    product.c = (char *)g->c + corner * weft_type_size(g->type);
    product.ldc = g->ldc;
    return product;
}

/* Rows and columns from `first` on. */
static void multiply(const work *w, size_t first, size_t n) {
    if (n <= SIDE) {
        const wi_gemm_args product = square_at(w, first, n);
        wi_gemm_packed_in(w->ctx, &product, w->memory);
        if (w->g->type == WEFT_F64)
            add_f64(w->g, first, n, w->square);
        else
            add_f32(w->g, first, n, w->square);
        return;
    }
    const wi_gemm_args product = beside(w, first, n);
    wi_gemm_packed_in(w->ctx, &product, w->memory);
    multiply(w, first, half_of(n));
    multiply(w, first + half_of(n), n - half_of(n));
}

/* The most that one of its products needs. */
static size_t bytes_of(const work *w, size_t n) {
    const wi_gemm_args product = n <= SIDE ? square_at(w, 0, n) : beside(w, 0, n);
    const size_t own = wi_gemm_packed_bytes(w->ctx, &product);
    if (n <= SIDE)
        return own;
    const size_t first = bytes_of(w, half_of(n)), second = bytes_of(w, n - half_of(n));
    const size_t more = first > second ? first : second;
    return own > more ? own : more;
}

weft_status wi_syrk_packed(weft_context *ctx, const void *args) {
    const wi_syrk_args *const g = args;
    const size_t square = SIDE * SIDE * weft_type_size(g->type);
    work w = {ctx, g, NULL, NULL};
    const size_t bytes = square + bytes_of(&w, g->n);
    w.square = wi_host_alloc(bytes);
    if (!w.square)
        return wi_fail(ctx, WEFT_ENOMEM, "weft_syrk: no memory for %zu bytes of packed blocks",
                       bytes);
    w.memory = (char *)w.square + square;
    multiply(&w, 0, g->n);
    wi_host_free(w.square);
    return WEFT_OK;
}
