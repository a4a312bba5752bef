/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of convolve, and what they can do; convolve_cost.c says what they cost. */
#include <math.h>

#include "convolve/convolve_cost.h"
#include "convolve/convolve_sizes.h"
#include "convolve/convolve_units.h"
#include "core/gpu.h"

#define TAUGHT (WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_U8))
#define PIXELS (TAUGHT | WI_TYPE(WEFT_U16) | WI_TYPE(WEFT_F16) | WI_TYPE(WEFT_F64))

/* Which order sums are made in follows from the call, not from what is fast here. */
static const char *fits_dense(const weft_context *ctx, const void *args) {
    const wi_convolve_args *const a = args;
    (void)ctx;
    return a->column ? "does not compute by a column and a row, as this filter is; pass WEFT_DENSE"
                     : NULL;
}

static const char *fits_factors(const weft_context *ctx, const void *args) {
    const wi_convolve_args *const a = args;
    (void)ctx;
    return a->column ? NULL
                     : "needs filters that are products of a column and a row with fewer weights, "
                       "and no WEFT_DENSE";
}

static const char *fits_terms(const weft_context *ctx, const void *args) {
    const wi_convolve_args *const a = args;
    (void)ctx;
    return a->terms ? NULL
                    : "needs WEFT_ANY_ORDER, no WEFT_DENSE, and filters that are sums of few "
                      "products of a column and a row, but not one product each";
}

static const char *fits_transforms(const weft_context *ctx, const void *args) {
    const wi_convolve_args *const a = args;
    (void)ctx;
    return a->any_order ? NULL : "needs WEFT_ANY_ORDER: it adds up in another order";
}

#ifdef WEFT_CUDA
#    if WEFT_LADDER
static const char *fits_taught(const weft_context *ctx, const void *args) {
    const wi_convolve_args *const a = args;
    if (fits_dense(ctx, args))
        return fits_dense(ctx, args);
    if (a->doubles)
        return "needs sums in f32";
    return a->filters > 1 ? "needs one filter for all" : NULL;
}

static const char *fits_parameters(const weft_context *ctx, const void *args) {
    const wi_convolve_args *const a = args;
    if (fits_taught(ctx, args))
        return fits_taught(ctx, args);
    return a->filter_width * a->filter_height > WI_CONVOLVE_TAUGHT_WEIGHTS
               ? "needs at most 900 weights: they are parameters of the kernel"
               : NULL;
}

static const char *fits_tile(const weft_context *ctx, const void *args) {
    const wi_convolve_args *const a = args;
    const char *const why = fits_parameters(ctx, args);
    if (why)
        return why;
    return a->filter_width > WI_CONVOLVE_TAUGHT_SIDE || a->filter_height > WI_CONVOLVE_TAUGHT_SIDE
               ? "needs filters of at most 64 columns and rows, whose tile fits shared memory"
               : NULL;
}
#    endif

static const char *fits_strips(const wi_convolve_args *a) {
    if (a->doubles)
        return "needs sums in f32";
    if (a->filters > 1)
        return "needs one filter for all";
    if (a->filter_width != a->filter_height)
        return "needs square filters";
    if (!(a->type == WEFT_F32 && a->channels == 1) && !(a->type == WEFT_U8 && a->channels != 2))
        return "needs images of f32 with one channel, or of u8 with one, three or four";
    return NULL;
}

/* Is the filter's side one of those for images of this kind? 0 ends them. */
static bool has_kernel(const wi_convolve_args *a, const size_t *of_f32, const size_t *of_u8,
                       const size_t *of_rgb) {
    const size_t *side = a->type == WEFT_F32 ? of_f32 : a->channels == 1 ? of_u8 : of_rgb;
    while (*side && *side != a->filter_width)
        side++;
    return *side;
}

/* Bytes are numbers of 2^-24 there, and weights are multiplied by 2^24. */
static const char *fits_bytes(const wi_convolve_args *a, const double *weights, size_t n) {
    for (size_t k = 0; k < n && a->type == WEFT_U8; k++)
        if (!(fabs(weights[k]) <= 0x1p100))
            return "needs weights of at most 2^100 with images of u8";
    return NULL;
}

static const char *fits_rows(const weft_context *ctx, const void *args) {
    static const size_t of_f32[] = {WI_CONVOLVE_ROWS_F32, 0}, of_u8[] = {WI_CONVOLVE_ROWS_U8, 0},
                        of_rgb[] = {WI_CONVOLVE_ROWS_RGB, 0};
    const wi_convolve_args *const a = args;
    if (fits_dense(ctx, args))
        return fits_dense(ctx, args);
    if (fits_strips(a))
        return fits_strips(a);
    if (has_kernel(a, of_f32, of_u8, of_rgb))
        return fits_bytes(a, a->filter, a->filter_width * a->filter_height);
    return "needs a filter of a side that a kernel was made for: 3, 5, 7 ... 17, fewer of u8";
}

static const char *fits_fused(const weft_context *ctx, const void *args) {
    static const size_t of_f32[] = {WI_CONVOLVE_FUSED_F32, 0}, of_u8[] = {WI_CONVOLVE_FUSED_U8, 0},
                        of_rgb[] = {WI_CONVOLVE_FUSED_RGB, 0};
    const wi_convolve_args *const a = args;
    if (fits_factors(ctx, args))
        return fits_factors(ctx, args);
    if (fits_strips(a))
        return fits_strips(a);
    if (has_kernel(a, of_f32, of_u8, of_rgb))
        return fits_bytes(a, a->row, a->filter_width);
    return "needs a filter of a side that a kernel was made for: 3, 5 ... 17, 21, 25, 33, fewer of "
           "u8";
}

static const char *fits_low_rank_fused(const weft_context *ctx, const void *args) {
    static const size_t of_f32[] = {WI_CONVOLVE_TERMS_F32, 0};
    const wi_convolve_args *const a = args;
    if (fits_terms(ctx, args))
        return fits_terms(ctx, args);
    if (fits_strips(a))
        return fits_strips(a);
    if (has_kernel(a, of_f32, of_f32, of_f32))
        return NULL;
    return "needs a filter of a side that a kernel was made for: 9, 13, 17, 25 or 33";
}

enum {
    TENSOR_ROWS = 33 /* of a filter */
};

static bool comes_in_boxes(const wi_convolve_args *a) {
    return (uintptr_t)a->x % 16 == 0 && a->ldx % 16 == 0 &&
           (a->images == 1 || a->apart_x % 16 == 0);
}

static const char *fits_tensor(const weft_context *ctx, const void *args) {
    const wi_convolve_args *const a = args;
    wi_convolve_units units;
    wi_convolve_reach reach;
    if (ctx->gpu->capability != 90)
        return "needs a GPU of compute capability 9.0";
    if (a->out != WEFT_U8 || a->doubles)
        return "needs bytes, and sums in f32";
    if (a->filters > 1 || a->summed)
        return "needs one filter for all";
    if (!wi_convolve_find_reach(a, &reach) || a->filter_height > TENSOR_ROWS ||
        a->filter_width * a->filter_height > WI_CONVOLVE_TAUGHT_WEIGHTS)
        return "needs filters of at most 900 weights in 33 rows, whose rows reach over 33 bytes";
    if (!comes_in_boxes(a))
        return "needs rows and images that begin at multiples of 16 bytes";
    if (!wi_convolve_find_units(a, &units))
        return "needs weights of at most 2^22";
    return NULL;
}

/* Sums that are cut are left to others: where pixels are alike, all may be in doubt. */
static const char *fits_quads(const weft_context *ctx, const void *args) {
    const wi_convolve_args *const a = args;
    wi_convolve_units units;
    if (fits_dense(ctx, args))
        return fits_dense(ctx, args);
    if (ctx->gpu->capability != 90)
        return "needs a GPU of compute capability 9.0";
    if (a->out != WEFT_U8 || a->doubles || a->truncates)
        return "needs bytes, rounded to nearest, and sums in f32";
    if (a->filters > 1 || a->summed || (a->channels != 1 && a->channels != 3))
        return "needs one or three channels, and one filter for all";
    if (wi_convolve_quads_frame(a) == 0)
        return "needs filters of at most 9 rows, and 4 columns on either side of the output";
    if (!comes_in_boxes(a) || ((uintptr_t)a->y | a->ldy) % 16 != 0 ||
        (a->images > 1 && a->apart_y % 16 != 0))
        return "needs rows and images that begin at multiples of 16 bytes";
    if ((!wi_convolve_find_units(a, &units) || !units.is_short) &&
        !wi_convolve_find_fine_units(a, &units))
        return "needs weights below 4, or bytes in units of a power of 2";
    return NULL;
}
#endif

static const wi_row rows[] = {
    {.name = "serial",
     .what = "the loops you would write",
     .kinds = WI_ON_CPU,
     .types = PIXELS,
     .misfit = fits_dense,
     .run = wi_convolve_serial},
    {.name = "threads",
     .what = "vector registers, four rows for each load, all cores",
     .kinds = WI_ON_CPU,
     .types = PIXELS,
     .misfit = fits_dense,
     .seconds = wi_convolve_threads_seconds,
     .run = wi_convolve_threads},
    {.name = "separable",
     .what = "rows first, then columns: w + h products instead of w h",
     .kinds = WI_ON_CPU,
     .types = PIXELS,
     .misfit = fits_factors,
     .seconds = wi_convolve_separable_seconds,
     .run = wi_convolve_separable},
    {.name = "low_rank",
     .what = "a filter as the sum of a few separable ones",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .types = PIXELS,
     .misfit = fits_terms,
     .seconds = wi_convolve_low_rank_seconds,
     .run = wi_convolve_low_rank},
    {.name = "transforms",
     .what = "tiles by Fourier transforms: any filter at the price of a small one",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .types = PIXELS,
     .misfit = fits_transforms,
     .seconds = wi_convolve_transforms_seconds,
     .run = wi_convolve_transforms},
#ifdef WEFT_CUDA
#    if WEFT_LADDER
    {.name = "direct",
     .what = "one thread for one pixel, all from global memory",
     .kinds = WI_ON_CUDA,
     .types = TAUGHT,
     .misfit = fits_taught,
     .run = wi_convolve_direct},
    {.name = "constant",
     .what = "the filter in constant memory",
     .kinds = WI_ON_CUDA,
     .types = TAUGHT,
     .misfit = fits_parameters,
     .run = wi_convolve_constant},
    {.name = "tile",
     .what = "pixels and those around them in a tile in shared memory",
     .kinds = WI_ON_CUDA,
     .types = TAUGHT,
     .misfit = fits_tile,
     .run = wi_convolve_tile},
#    endif
    {.name = "blocks",
     .what = "4 x 4 pixels a thread in registers, the filter piece by piece",
     .kinds = WI_ON_CUDA,
     .types = PIXELS,
     .misfit = fits_dense,
     .seconds = wi_convolve_blocks_seconds,
     .run = wi_convolve_blocks},
    {.name = "rows",
     .what = "warps go down the image; a row meets all output rows it belongs to",
     .kinds = WI_ON_CUDA,
     .types = TAUGHT,
     .misfit = fits_rows,
     .seconds = wi_convolve_rows_seconds,
     .run = wi_convolve_rows},
    {.name = "two_pass",
     .what = "separable: rows to memory, then columns",
     .kinds = WI_ON_CUDA,
     .types = PIXELS,
     .misfit = fits_factors,
     .seconds = wi_convolve_two_pass_seconds,
     .run = wi_convolve_two_pass},
    {.name = "fused",
     .what = "separable: both in one pass, in registers",
     .kinds = WI_ON_CUDA,
     .types = TAUGHT,
     .misfit = fits_fused,
     .seconds = wi_convolve_fused_seconds,
     .run = wi_convolve_fused},
    {.name = "tensor",
     .what = "bytes in whole numbers on tensor cores; sums in doubt are made again in order",
     .kinds = WI_ON_CUDA,
     .types = WI_TYPE(WEFT_U8),
     .misfit = fits_tensor,
     .seconds = wi_convolve_tensor_seconds,
     .run = wi_convolve_tensor},
    {.name = "quads",
     .what = "the same of one or three channels, with 4 x 4 pixels of a channel side by side",
     .kinds = WI_ON_CUDA,
     .types = WI_TYPE(WEFT_U8),
     .misfit = fits_quads,
     .seconds = wi_convolve_quads_seconds,
     .run = wi_convolve_quads},
    {.name = "low_rank_fused",
     .what = "all terms of low_rank in one pass, in registers",
     .kinds = WI_ON_CUDA,
     .types = WI_TYPE(WEFT_F32),
     .misfit = fits_low_rank_fused,
     .seconds = wi_convolve_low_rank_fused_seconds,
     .run = wi_convolve_low_rank_fused},
#endif
    {.name = "ranks",
     .what = "every rank has rows of its own, and gets those around them; or images of its own",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = PIXELS,
     .seconds = wi_no_rival,
     .run = wi_convolve_ranks},
};

const wi_ladder wi_convolve_ladder = {"convolve", rows, sizeof rows / sizeof rows[0]};
