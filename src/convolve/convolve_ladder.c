/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of convolve: what they can do, and what they cost. */
#include <math.h>

#include "convolve/convolve.h"
#include "convolve/convolve_simd.h"
#include "convolve/convolve_sizes.h"
#include "convolve/convolve_tiles.h"
#include "convolve/convolve_units.h"
#include "core/gpu.h"
#include "cpu/team.h"

#define TAUGHT (WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_U8))
#define PIXELS (TAUGHT | WI_TYPE(WEFT_U16) | WI_TYPE(WEFT_F16) | WI_TYPE(WEFT_F64))

/* ---- what rungs can do ---- */

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
    if (ctx->gpu->capability < 80)
        return "needs a GPU of compute capability 8.0 or more";
    if (a->out != WEFT_U8 || a->doubles || a->truncates)
        return "needs bytes, rounded to nearest, and sums in f32";
    if (a->filters > 1 || a->summed || a->channels != 3)
        return "needs three channels, and one filter for all";
    if (wi_convolve_quads_frame(a) == 0)
        return "needs filters of at most 9 rows, and 4 columns on either side of the output";
    if (!comes_in_boxes(a))
        return "needs rows and images that begin at multiples of 16 bytes";
    if (!wi_convolve_find_units(a, &units))
        return "needs weights of at most 2^22";
    return NULL;
}
#endif

/* ---- what they cost ---- */

static double outputs_of(const wi_convolve_args *a) {
    return (double)a->images * (double)a->out_height * (double)a->out_width * (double)a->channels;
}

static double inputs_of(const wi_convolve_args *a) {
    return (double)a->images * (double)a->height * (double)a->width * (double)a->channels;
}

static double bytes_of(const wi_convolve_args *a) {
    return inputs_of(a) * (double)weft_type_size(a->type) +
           outputs_of(a) * (double)weft_type_size(a->out);
}

/* Additions and multiplications. */
static double dense_flops(const wi_convolve_args *a) {
    return 2 * outputs_of(a) * (double)a->filter_width * (double)a->filter_height;
}

static double factor_flops(const wi_convolve_args *a) {
    return 2 * outputs_of(a) * (double)(a->filter_width + a->filter_height);
}

/* Cycles of a thread with AVX2 are `per_flop` for each f32 operation, and of f64 twice as many. */
static double cpu_cycles_seconds(const weft_context *ctx, const wi_convolve_args *a, double flops,
                                 double per_flop, double per_pixel) {
    const wi_machine *const m = wi_machine_of(ctx);
    const double cycles = (flops * per_flop + inputs_of(a) * per_pixel) * wi_narrower(m);
    const int team = wi_team_size(ctx, (size_t)-1, (size_t)(bytes_of(a) + flops / 8));
    return wi_team_seconds(ctx, team, a->doubles ? 2 * cycles : cycles, bytes_of(a));
}

static double cpu_seconds(const weft_context *ctx, const wi_convolve_args *a, double flops) {
    return cpu_cycles_seconds(ctx, a, flops, 1.0 / 16, 1.5);
}

static double threads_seconds(const weft_context *ctx, const void *args) {
    const wi_convolve_args *const a = args;
    if (!wi_convolve_by_strips(a))
        return cpu_seconds(ctx, a, dense_flops(a));
    if (wi_convolve_is_unrolled(a->filter_width, a->filter_height))
        return cpu_cycles_seconds(ctx, a, dense_flops(a), 1.0 / 20, 0.4);
    return cpu_cycles_seconds(ctx, a, dense_flops(a), 1.0 / 18, 1);
}

static double low_rank_flops(const wi_convolve_args *a) {
    return (double)a->terms * factor_flops(a);
}

static double separable_seconds(const weft_context *ctx, const void *args) {
    return cpu_seconds(ctx, args, factor_flops(args));
}

/* Seven steps read and write complex numbers, one for two pixels; two of them are transforms. */
static double transforms_seconds(const weft_context *ctx, const void *args) {
    const int steps = 7;
    const wi_convolve_args *const a = args;
    const bool is_cpu = ctx->kind == WI_CPU;
    const wi_convolve_tiles t = wi_convolve_cut(a, wi_convolve_level(is_cpu));
    const wi_machine *const m = wi_machine_of(ctx);
    const double numbers =
        (double)t.width * (double)t.height *
        ((double)t.pairs * (double)(a->images * a->channels) + (double)a->filters);
    const double bytes = 2 * steps * numbers * (a->doubles ? 16 : 8);
    if (!is_cpu)
        return 2 * steps * m->launch_s + 1.2 * wi_seconds_moving(m, bytes);
    const double levels = log2((double)t.width) + log2((double)t.height);
    const double cycles = numbers * (4 * levels + 40) * wi_narrower(m);
    const int team = wi_team_size(ctx, (size_t)-1, (size_t)numbers);
    return wi_team_seconds(ctx, team, a->doubles ? 2 * cycles : cycles, bytes_of(a));
}

#ifdef WEFT_CUDA
/* Written and read once more by two passes. */
static double bytes_between(const wi_convolve_args *a) {
    return 2 * (double)wi_convolve_between(a) * (a->doubles ? 8 : 4);
}

/* Arithmetic and memory overlap where a rung is good at it. */
static double gpu_seconds(const weft_context *ctx, const wi_convolve_args *a, double flops,
                          double share_of_peak, double bytes) {
    const wi_machine *const m = wi_machine_of(ctx);
    const double peak = a->doubles ? m->f64_flops : m->f32_flops;
    const double working = flops / (share_of_peak * peak);
    const double moving = wi_seconds_moving(m, bytes);
    return m->launch_s + (working > moving ? working : moving);
}

static double blocks_seconds(const weft_context *ctx, const void *args) {
    const wi_convolve_args *const a = args;
    return gpu_seconds(ctx, a, dense_flops(a), 0.4, 1.6 * bytes_of(a));
}

static double rows_seconds(const weft_context *ctx, const void *args) {
    const wi_convolve_args *const a = args;
    return gpu_seconds(ctx, a, dense_flops(a), 0.7, 1.15 * bytes_of(a));
}

static double two_pass_seconds(const weft_context *ctx, const void *args) {
    const wi_convolve_args *const a = args;
    return gpu_seconds(ctx, a, factor_flops(a), 0.3, 1.6 * (bytes_of(a) + bytes_between(a)));
}

static double fused_seconds(const weft_context *ctx, const void *args) {
    const wi_convolve_args *const a = args;
    return gpu_seconds(ctx, a, factor_flops(a), 0.6, 1.2 * bytes_of(a));
}

/* x is read by a launch for each term, and y written once. */
static double low_rank_passes_seconds(const weft_context *ctx, const wi_convolve_args *a) {
    const double terms = (double)a->terms;
    const double bytes = bytes_of(a) + terms * bytes_between(a) +
                         (terms - 1) * inputs_of(a) * (double)weft_type_size(a->type);
    return terms * wi_machine_of(ctx)->launch_s +
           gpu_seconds(ctx, a, low_rank_flops(a), 0.3, 1.6 * bytes);
}

/* An output takes as long as so many operations of f32, and the first rows of all blocks a while.
 */
static double quads_seconds(const weft_context *ctx, const void *args) {
    const wi_convolve_args *const a = args;
    const double first = 2e-5, small = 61, wide = 140;
    const bool is_wide = wi_convolve_quads_frame(a) > WI_CONVOLVE_QUADS_FRAME;
    return first + gpu_seconds(ctx, a, (is_wide ? wide : small) * outputs_of(a), 1, bytes_of(a));
}

/* What takes as long as so many operations of f32: rounding an output; a step of its products; a
 * product of a sum in doubt, which other warps make again at the same time. */
static double tensor_seconds(const weft_context *ctx, const void *args) {
    const double rounding = 50, step = 10, again = 10;
    const wi_convolve_args *const a = args;
    const wi_machine *const m = wi_machine_of(ctx);
    wi_convolve_units units;
    wi_convolve_reach reach;
    wi_convolve_find_units(a, &units);
    wi_convolve_find_reach(a, &reach);
    const double groups = floor(((double)a->filter_height + 6) / 4);
    const double steps = ceil(groups * reach.slots / 2);
    const double doubts = units.is_exact ? 0 : ldexp((double)units.in_doubt, -units.shift);
    const double multiplying = outputs_of(a) * (rounding + step * steps) / m->f32_flops;
    const double settling = again * fmin(doubts, 1) * dense_flops(a) / m->f32_flops;
    const double working = multiplying > settling ? multiplying : settling;
    const double moving = wi_seconds_moving(m, 1.25 * bytes_of(a));
    return m->launch_s + (working > moving ? working : moving);
}

static double low_rank_fused_seconds(const weft_context *ctx, const void *args) {
    const wi_convolve_args *const a = args;
    return gpu_seconds(ctx, a, low_rank_flops(a), 0.6, 1.2 * bytes_of(a));
}
#endif

static double low_rank_seconds(const weft_context *ctx, const void *args) {
#ifdef WEFT_CUDA
    if (ctx->kind != WI_CPU)
        return low_rank_passes_seconds(ctx, args);
#endif
    return cpu_seconds(ctx, args, 1.2 * low_rank_flops(args)); /* sums come and go between terms */
}

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
     .seconds = threads_seconds,
     .run = wi_convolve_threads},
    {.name = "separable",
     .what = "rows first, then columns: w + h products instead of w h",
     .kinds = WI_ON_CPU,
     .types = PIXELS,
     .misfit = fits_factors,
     .seconds = separable_seconds,
     .run = wi_convolve_separable},
    {.name = "low_rank",
     .what = "a filter as the sum of a few separable ones",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .types = PIXELS,
     .misfit = fits_terms,
     .seconds = low_rank_seconds,
     .run = wi_convolve_low_rank},
    {.name = "transforms",
     .what = "tiles by Fourier transforms: any filter at the price of a small one",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .types = PIXELS,
     .misfit = fits_transforms,
     .seconds = transforms_seconds,
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
     .seconds = blocks_seconds,
     .run = wi_convolve_blocks},
    {.name = "rows",
     .what = "warps go down the image; a row meets all output rows it belongs to",
     .kinds = WI_ON_CUDA,
     .types = TAUGHT,
     .misfit = fits_rows,
     .seconds = rows_seconds,
     .run = wi_convolve_rows},
    {.name = "two_pass",
     .what = "separable: rows to memory, then columns",
     .kinds = WI_ON_CUDA,
     .types = PIXELS,
     .misfit = fits_factors,
     .seconds = two_pass_seconds,
     .run = wi_convolve_two_pass},
    {.name = "fused",
     .what = "separable: both in one pass, in registers",
     .kinds = WI_ON_CUDA,
     .types = TAUGHT,
     .misfit = fits_fused,
     .seconds = fused_seconds,
     .run = wi_convolve_fused},
    {.name = "tensor",
     .what = "bytes in whole numbers on tensor cores; sums in doubt are made again in order",
     .kinds = WI_ON_CUDA,
     .types = WI_TYPE(WEFT_U8),
     .misfit = fits_tensor,
     .seconds = tensor_seconds,
     .run = wi_convolve_tensor},
    {.name = "quads",
     .what = "the same of three channels, with four bytes of a column side by side",
     .kinds = WI_ON_CUDA,
     .types = WI_TYPE(WEFT_U8),
     .misfit = fits_quads,
     .seconds = quads_seconds,
     .run = wi_convolve_quads},
    {.name = "low_rank_fused",
     .what = "all terms of low_rank in one pass, in registers",
     .kinds = WI_ON_CUDA,
     .types = WI_TYPE(WEFT_F32),
     .misfit = fits_low_rank_fused,
     .seconds = low_rank_fused_seconds,
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
