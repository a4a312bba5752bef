/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of syrk: which calls each can do, and what it costs. */
#include <math.h>

#include "cpu/blas.h"
#include "gemm/syrk.h"

enum {
    SYRK_TYPES = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64)
};

static const char *fits_openblas(const weft_context *ctx, const void *args) {
    const wi_syrk_args *const g = args;
    (void)ctx;
    if (g->n > INT32_MAX || g->k > INT32_MAX || g->lda > INT32_MAX || g->ldc > INT32_MAX)
        return "counts with 32 bits: needs sizes below 2^31";
    return wi_blas_load() ? NULL : "needs libopenblas.so.0, which is not on this machine";
}

#ifdef WEFT_CUDA
/* At the rates of gemm's rungs. */
static double flops_per_s(const weft_context *ctx, const wi_syrk_args *g) {
    const wi_machine *const m = wi_machine_of(ctx);
    return g->type == WEFT_F64 ? 1.7 * m->f64_flops : 0.7 * m->f32_flops;
}

/* Slices of k keep the device busy however small C is. */
static double product_seconds(const weft_context *ctx, const void *args) {
    const wi_syrk_args *const g = args;
    const wi_machine *const m = wi_machine_of(ctx);
    const double side = 64, n = ceil((double)g->n / side) * side;
    const double bytes = 4 * n * n * (double)weft_type_size(g->type);
    return 3 * m->launch_s + 2 * n * n * (double)g->k / flops_per_s(ctx, g) +
           wi_seconds_moving(m, bytes);
}

static double triangle_seconds(const weft_context *ctx, const void *args) {
    const wi_syrk_args *const g = args;
    const wi_machine *const m = wi_machine_of(ctx);
    const double side = 64, across = ceil((double)g->n / side);
    const double waves = ceil(across * (across + 1) / 2 / m->units);
    return m->launch_s + waves * m->units * 2 * side * side * (double)g->k / flops_per_s(ctx, g);
}
#endif

static const wi_row rows[] = {
    {.name = "serial",
     .what = "the three loops you would write",
     .kinds = WI_ON_CPU,
     .types = SYRK_TYPES,
     .run = wi_syrk_serial},
    {.name = "openblas",
     .what = "the library that most programs use",
     .kinds = WI_ON_CPU,
     .types = SYRK_TYPES,
     .misfit = fits_openblas,
     .run = wi_syrk_openblas},
    {.name = "packed",
     .what = "gemm beside the diagonal, squares halved until they are small",
     .kinds = WI_ON_CPU,
     .types = SYRK_TYPES,
     .seconds = wi_no_rival,
     .run = wi_syrk_packed},
#ifdef WEFT_CUDA
#    if WEFT_LADDER
    {.name = "coalesced",
     .what = "one thread for one element, neighbours in a column",
     .kinds = WI_ON_CUDA,
     .types = SYRK_TYPES,
     .run = wi_syrk_coalesced},
#    endif
    {.name = "product",
     .what = "both triangles by gemm, of which C takes one",
     .kinds = WI_ON_CUDA,
     .types = SYRK_TYPES,
     .seconds = product_seconds,
     .run = wi_syrk_product},
    {.name = "triangle",
     .what = "gemm's tiles, of one triangle only",
     .kinds = WI_ON_CUDA,
     .types = SYRK_TYPES,
     .seconds = triangle_seconds,
     .run = wi_syrk_triangle},
#endif
};

const wi_ladder wi_syrk_ladder = {"syrk", rows, sizeof rows / sizeof rows[0]};
