/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of gemm, and which calls each can do; gemm_cost.c says what they cost. On a cpu
 * `packed` does every call, small ones too: with another rung an element's bits would depend on m
 * and n. */
#include <stdint.h>

#include "core/gpu.h"
#include "cpu/blas.h"
#include "gemm/gemm_cost.h"

enum {
    WIDE_FLOATS = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64),
    GEMM_TYPES = WI_FLOATS | WI_TYPE(WEFT_I8)
};

/* ---- what rungs cannot do ---- */

static const char *fits_openblas(const weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = args;
    (void)ctx;
    if (g->m > INT32_MAX || g->n > INT32_MAX || g->k > INT32_MAX || g->lda > INT32_MAX ||
        g->ldb > INT32_MAX || g->ldc > INT32_MAX)
        return "counts with 32 bits: needs sizes below 2^31";
    return wi_blas_load() ? NULL : "needs libopenblas.so.0, which is not on this machine";
}

#ifdef WEFT_CUDA
static const char *fits_tensor(const weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = args;
    (void)ctx;
    if (g->type == WEFT_F32 && g->accuracy != WI_TF32)
        return "cuts f32 to tf32: pass WEFT_TF32 to allow it";
    return NULL;
}

#    ifdef WEFT_RING
enum {
    RING_MOST = 1 << 30 /* boxes have coordinates of 32 bits, with a sign */
};

const char *wi_gemm_fits_ring(const weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = args;
    if (ctx->gpu->capability != 90)
        return "needs a GPU of compute capability 9.0";
    if (g->m > RING_MOST || g->n > RING_MOST || g->k > RING_MOST)
        return "needs sizes of at most 2^30";
    return NULL;
}

enum {
    PARTS_LEAST_K = 16 /* a single product has two or three times the error of an f32 product */
};

const char *wi_gemm_fits_parts(const weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = args;
    if (g->accuracy != WI_FULL_F32)
        return "adds products of parts of f32: leave out WEFT_F32_STRICT and WEFT_TF32 to allow it";
    if (g->k > 0 && g->k < PARTS_LEAST_K)
        return "is as accurate as f32 from k = 16 on";
    return wi_gemm_fits_ring(ctx, g);
}
#    endif

static const char *fits_gemv(const weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = args;
    (void)ctx;
    return g->m == 1 || g->n == 1 ? NULL : "needs a C of one row or column";
}

static const char *fits_outer(const weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = args;
    (void)ctx;
    return g->k <= WI_GEMM_OUTER_TERMS && g->wanted == WI_ALL
               ? NULL
               : "needs k of at most 16, which it keeps in shared memory";
}

static const char *fits_thin(const weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = args;
    (void)ctx;
    return g->m <= WI_GEMM_THIN_MOST || g->n <= WI_GEMM_THIN_MOST
               ? NULL
               : "needs a C of at most 64 rows or columns, which it keeps in registers";
}

enum {
    NARROW_MOST = 16,
    NARROW_F32_MOST = 256 /* which are done 64 at a time */
};

static const char *fits_narrow_f32(const weft_context *ctx, const wi_gemm_args *g) {
#    ifdef WEFT_RING
    if (g->m > NARROW_F32_MOST && g->n > NARROW_F32_MOST)
        return "needs a C of at most 256 rows or columns";
    return wi_gemm_fits_parts(ctx, g);
#    else
    (void)ctx, (void)g;
    return "takes f32 on a GPU of compute capability 9.0, for which this library was not built";
#    endif
}

static const char *fits_narrow(const weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = args;
    if (g->wanted != WI_ALL)
        return "computes all of C";
    if (g->type == WEFT_F32)
        return fits_narrow_f32(ctx, g);
    return g->m <= NARROW_MOST || g->n <= NARROW_MOST
               ? NULL
               : "needs a C of at most 16 rows or columns, as tensor cores have them";
}

#endif

/* ---- the ladder ---- */

static const wi_row rows[] = {
    {.name = "serial",
     .what = "the three loops you would write",
     .kinds = WI_ON_CPU,
     .types = GEMM_TYPES,
     .run = wi_gemm_serial},
    {.name = "openblas",
     .what = "the library that most programs use",
     .kinds = WI_ON_CPU,
     .types = WIDE_FLOATS,
     .misfit = fits_openblas,
     .run = wi_gemm_openblas},
    {.name = "packed",
     .what = "blocks packed for the caches, tiles of C in vector registers, all cores",
     .kinds = WI_ON_CPU,
     .types = GEMM_TYPES,
     .seconds = wi_no_rival,
     .run = wi_gemm_packed},
#ifdef WEFT_CUDA
#    if WEFT_LADDER
    {.name = "naive",
     .what = "one thread for one element, neighbours a column apart",
     .kinds = WI_ON_CUDA,
     .types = WIDE_FLOATS,
     .run = wi_gemm_naive},
    {.name = "coalesced",
     .what = "neighbouring threads on neighbouring elements",
     .kinds = WI_ON_CUDA,
     .types = WIDE_FLOATS,
     .run = wi_gemm_coalesced},
    {.name = "tile16",
     .what = "16 x 16 tiles of A and B in shared memory",
     .kinds = WI_ON_CUDA,
     .types = WIDE_FLOATS,
     .run = wi_gemm_tile16},
    {.name = "tile32",
     .what = "32 x 32 tiles of A and B in shared memory",
     .kinds = WI_ON_CUDA,
     .types = WIDE_FLOATS,
     .run = wi_gemm_tile32},
    {.name = "strip",
     .what = "a thread keeps 8 sums of a column in registers",
     .kinds = WI_ON_CUDA,
     .types = WIDE_FLOATS,
     .run = wi_gemm_strip},
    {.name = "patch",
     .what = "a thread keeps 8 x 8 sums in registers",
     .kinds = WI_ON_CUDA,
     .types = WIDE_FLOATS,
     .run = wi_gemm_patch},
    {.name = "vector",
     .what = "16 bytes for each read of shared memory",
     .kinds = WI_ON_CUDA,
     .types = WIDE_FLOATS,
     .run = wi_gemm_vector},
    {.name = "doubled",
     .what = "two tiles of each: the next arrives while one is used",
     .kinds = WI_ON_CUDA,
     .types = WIDE_FLOATS,
     .run = wi_gemm_doubled},
    {.name = "warps",
     .what = "the sums of a warp are a block of their own",
     .kinds = WI_ON_CUDA,
     .types = WIDE_FLOATS,
     .run = wi_gemm_warps},
#    endif
    {.name = "gemv",
     .what = "for a C of one row or column: a matrix times a vector",
     .kinds = WI_ON_CUDA,
     .types = WI_FLOATS,
     .misfit = fits_gemv,
     .seconds = wi_gemm_gemv_seconds,
     .run = wi_gemm_by_gemv},
    {.name = "outer",
     .what = "for few terms: all of them in shared memory, C written by whole lines",
     .kinds = WI_ON_CUDA,
     .types = WI_FLOATS,
     .misfit = fits_outer,
     .seconds = wi_gemm_outer_seconds,
     .shape = wi_gemm_shape_of,
     .run = wi_gemm_outer},
    {.name = "thin",
     .what = "for a thin C: the long factor is read once, k is cut for all blocks",
     .kinds = WI_ON_CUDA,
     .types = WI_FLOATS,
     .misfit = fits_thin,
     .seconds = wi_gemm_thin_seconds,
     .shape = wi_gemm_shape_of,
     .run = wi_gemm_thin},
    {.name = "narrow",
     .what = "for a thin C: the long factor goes straight to the registers of tensor cores",
     .kinds = WI_ON_CUDA,
     .types = WI_HALF_FLOATS | WI_TYPE(WEFT_F32),
     .misfit = fits_narrow,
     .seconds = wi_gemm_narrow_seconds,
     .shape = wi_gemm_shape_of,
     .run = wi_gemm_narrow},
    {.name = "small",
     .what = "for a small C: small tiles, whose elements come one by one from wherever they lie",
     .kinds = WI_ON_CUDA,
     .types = WI_FLOATS,
     .seconds = wi_gemm_small_seconds,
     .shape = wi_gemm_shape_of,
     .run = wi_gemm_small},
    {.name = "pipeline",
     .what = "tiles come by asynchronous copies, several steps ahead",
     .kinds = WI_ON_CUDA,
     .types = WI_TYPE(WEFT_F32),
     .seconds = wi_gemm_pipeline_seconds,
     .shape = wi_gemm_shape_of,
     .run = wi_gemm_pipeline},
    {.name = "tensor",
     .what = "the same tiles, multiplied by tensor cores",
     .kinds = WI_ON_CUDA,
     .types = GEMM_TYPES,
     .misfit = fits_tensor,
     .seconds = wi_gemm_tensor_seconds,
     .shape = wi_gemm_shape_of,
     .run = wi_gemm_tensor},
#    ifdef WEFT_RING
    {.name = "ring",
     .what = "blocks stay: the copy engine fills a ring of slots, tensor cores read from it",
     .kinds = WI_ON_CUDA,
     .types = GEMM_TYPES,
     .misfit = wi_gemm_fits_ring,
     .seconds = wi_gemm_ring_seconds,
     .shape = wi_gemm_shape_of,
     .run = wi_gemm_ring},
    {.name = "parts",
     .what = "an f32 is the sum of three bf16, a product that of six: tensor cores do these",
     .kinds = WI_ON_CUDA,
     .types = WI_TYPE(WEFT_F32),
     .misfit = wi_gemm_fits_parts,
     .seconds = wi_gemm_parts_seconds,
     .shape = wi_gemm_shape_of,
     .run = wi_gemm_parts},
#    endif
#endif
    {.name = "ranks",
     .what = "every rank computes its own columns of C",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = GEMM_TYPES,
     .seconds = wi_no_rival,
     .run = wi_gemm_ranks},
};

const wi_ladder wi_gemm_ladder = {"gemm", rows, sizeof rows / sizeof rows[0]};
