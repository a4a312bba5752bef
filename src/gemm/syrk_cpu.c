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
} work;

static weft_status run_gemm(weft_context *ctx, const wi_gemm_args *g) {
    return wi_pick(ctx, &wi_gemm_ladder, g->type, g)->run(ctx, g);
}

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

/* The triangle of a square on the diagonal. */
static weft_status do_square(const work *w, size_t first, size_t n) {
    const wi_syrk_args *const g = w->g;
    wi_gemm_args product = wi_syrk_part(g, first, n, first, n);
    product.alpha = g->alpha;
    product.c = w->square;
    product.ldc = SIDE;
    const weft_status status = run_gemm(w->ctx, &product);
    if (status != WEFT_OK)
        return status;
    if (g->type == WEFT_F64)
        add_f64(g, first, n, w->square);
    else
        add_f32(g, first, n, w->square);
    return WEFT_OK;
}

/* Rows and columns from `first` on. */
static weft_status multiply(const work *w, size_t first, size_t n) {
    if (n <= SIDE)
        return do_square(w, first, n);
    const wi_syrk_args *const g = w->g;
    const size_t half = (n / 2 + SIDE - 1) / SIDE * SIDE, rest = n - half, middle = first + half;
    wi_gemm_args beside = g->upper ? wi_syrk_part(g, first, half, middle, rest)
                                   : wi_syrk_part(g, middle, rest, first, half);
    const size_t corner = g->upper ? first + middle * g->ldc : middle + first * g->ldc;
    beside.alpha = g->alpha;
    beside.beta = g->beta;
    beside.c = (char *)g->c + corner * weft_type_size(g->type);
    beside.ldc = g->ldc;
    weft_status status = run_gemm(w->ctx, &beside);
    if (status == WEFT_OK)
        status = multiply(w, first, half);
    if (status == WEFT_OK)
        status = multiply(w, middle, rest);
    return status;
}

weft_status wi_syrk_packed(weft_context *ctx, const void *args) {
    const wi_syrk_args *const g = args;
    const size_t bytes = SIDE * SIDE * weft_type_size(g->type);
    const work w = {ctx, g, wi_host_alloc(bytes)};
    if (!w.square)
        return wi_fail(ctx, WEFT_ENOMEM, "weft_syrk: no memory for %zu bytes of a square", bytes);
    const weft_status status = multiply(&w, 0, g->n);
    wi_host_free(w.square);
    return status;
}
