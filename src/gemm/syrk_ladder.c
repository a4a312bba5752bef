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

/* A tile's beginning and end take as long as 200 of k. */
static double triangle_seconds(const weft_context *ctx, const void *args) {
    const wi_syrk_args *const g = args;
    const wi_machine *const m = wi_machine_of(ctx);
    const double side = 64, across = ceil((double)g->n / side), depth = (double)g->k + 200;
    const double waves = ceil(across * (across + 1) / 2 / m->units);
    return m->launch_s + waves * m->units * 2 * side * side * depth / flops_per_s(ctx, g);
}

#    ifdef WEFT_RING
static const char *fits_ring(const weft_context *ctx, const void *args) {
    const wi_syrk_args *const g = args;
    const wi_gemm_args product = wi_syrk_part(g, 0, g->n, 0, g->n);
    return wi_gemm_fits_ring(ctx, &product);
}

static const char *fits_parts(const weft_context *ctx, const void *args) {
    const wi_syrk_args *const g = args;
    const wi_gemm_args product = wi_syrk_part(g, 0, g->n, 0, g->n);
    return wi_gemm_fits_parts(ctx, &product);
}

/* Tiles of the triangle, those on its diagonal whole, are shared out evenly along k, but to no more
 * than 64 blocks each; then the sums of a tile are joined, which takes as long as so many of k. */
static double shared_tiles_seconds(const weft_context *ctx, const wi_syrk_args *g, double side,
                                   double joining, double rate) {
    const wi_machine *const m = wi_machine_of(ctx);
    const double most_shares = 64, n = (double)g->n, k = (double)g->k;
    const double tiles = ceil((n * (n + 1) / 2 + n * side / 2) / (side * side));
    const double depth = fmax(tiles * k / m->units, k / most_shares);
    const double bytes = n * n * (double)weft_type_size(g->type);
    return 2 * side * side * (depth + joining) * m->units / rate + wi_seconds_moving(m, bytes);
}

static double ring_seconds(const weft_context *ctx, const void *args) {
    const wi_machine *const m = wi_machine_of(ctx);
    return 1.5 * m->launch_s + shared_tiles_seconds(ctx, args, 112, 160, 1.8 * m->f64_flops);
}

static double parts_seconds(const weft_context *ctx, const void *args) {
    const wi_syrk_args *const g = args;
    const wi_machine *const m = wi_machine_of(ctx);
    const double bytes_each = 4 + 6;
    return 4 * m->launch_s + wi_seconds_moving(m, bytes_each * (double)g->n * (double)g->k) +
           shared_tiles_seconds(ctx, g, 128, 384, 1.7 * m->f32_flops);
}
#    endif
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
#    ifdef WEFT_RING
    {.name = "ring",
     .what = "the same triangle by gemm's ring, what is left of its tiles cut along k",
     .kinds = WI_ON_CUDA,
     .types = WI_TYPE(WEFT_F64),
     .misfit = fits_ring,
     .seconds = ring_seconds,
     .run = wi_syrk_ring},
    {.name = "parts",
     .what = "an f32 as the sum of three bf16, by gemm's ring",
     .kinds = WI_ON_CUDA,
     .types = WI_TYPE(WEFT_F32),
     .misfit = fits_parts,
     .seconds = parts_seconds,
     .run = wi_syrk_parts},
#    endif
#endif
    {.name = "ranks",
     .what = "every rank computes its own columns of the triangle; rows of A are passed to all",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = SYRK_TYPES,
     .seconds = wi_no_rival,
     .run = wi_syrk_ranks},
};

const wi_ladder wi_syrk_ladder = {"syrk", rows, sizeof rows / sizeof rows[0]};
