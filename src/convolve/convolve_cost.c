/* SPDX-License-Identifier: Apache-2.0 */
/* What convolve's rungs cost, in seconds. */
#include "convolve/convolve_cost.h"

#include <math.h>

#include "convolve/convolve_simd.h"
#include "convolve/convolve_tiles.h"
#include "convolve/convolve_units.h"
#include "cpu/team.h"

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

/* Weights that an output takes: of a dense filter, and of a column and a row. */
static double dense_weights(const wi_convolve_args *a) {
    return (double)a->filter_width * (double)a->filter_height;
}

static double factor_weights(const wi_convolve_args *a) {
    return (double)(a->filter_width + a->filter_height);
}

int wi_convolve_team(const weft_context *ctx, const wi_convolve_args *a, double weights) {
    const double moved = a->doubles ? 2 * sizeof(double) : 2 * sizeof(float);
    return wi_team_size(ctx, (size_t)-1, (size_t)(outputs_of(a) * (moved + weights / 4)));
}

/* Cycles of a thread with AVX2 are `per_flop` for each f32 operation, and of f64 twice as many. */
static double cpu_cycles_seconds(const weft_context *ctx, const wi_convolve_args *a, double weights,
                                 double per_flop, double per_pixel) {
    const wi_machine *const m = wi_machine_of(ctx);
    const double flops = 2 * outputs_of(a) * weights;
    const double cycles = (flops * per_flop + inputs_of(a) * per_pixel) * wi_narrower(m);
    const int team = wi_convolve_team(ctx, a, weights);
    return wi_team_seconds(ctx, team, a->doubles ? 2 * cycles : cycles, bytes_of(a));
}

static double cpu_seconds(const weft_context *ctx, const wi_convolve_args *a, double weights) {
    return cpu_cycles_seconds(ctx, a, weights, 1.0 / 16, 1.5);
}

double wi_convolve_threads_seconds(const weft_context *ctx, const void *args) {
    const wi_convolve_args *const a = args;
    const double weights = dense_weights(a);
    if (!wi_convolve_by_strips(a))
        return cpu_seconds(ctx, a, weights);
    if (wi_convolve_is_unrolled(a->filter_width, a->filter_height))
        return cpu_cycles_seconds(ctx, a, weights, 1.0 / 20, 0.4);
    return cpu_cycles_seconds(ctx, a, weights, 1.0 / 18, 1);
}

double wi_convolve_separable_seconds(const weft_context *ctx, const void *args) {
    return cpu_seconds(ctx, args, factor_weights(args));
}

/* Seven steps read and write complex numbers, one for two pixels; two of them are transforms. */
double wi_convolve_transforms_seconds(const weft_context *ctx, const void *args) {
    const int steps = 7;
    const wi_convolve_args *const a = args;
    const bool is_cpu = ctx->kind == WI_CPU;
    const wi_convolve_tiles t = wi_convolve_cut(a, wi_convolve_level(is_cpu));
    const wi_machine *const m = wi_machine_of(ctx);
    const double numbers =
        (double)t.width * (double)t.height *
        ((double)t.pairs * (double)(a->images * a->channels) + (double)a->filters);
    const double bytes = numbers * (double)wi_convolve_tiles_number(a);
    if (!is_cpu)
        return 2 * steps * m->launch_s + 1.2 * wi_seconds_moving(m, 2 * steps * bytes);
    const double levels = log2((double)t.width) + log2((double)t.height);
    const double cycles = numbers * (4 * levels + 40) * wi_narrower(m);
    const int team = wi_team_size(ctx, (size_t)-1, (size_t)bytes);
    return wi_team_seconds(ctx, team, a->doubles ? 2 * cycles : cycles, bytes_of(a));
}

#ifdef WEFT_CUDA
/* Additions and multiplications. */
static double dense_flops(const wi_convolve_args *a) {
    return 2 * outputs_of(a) * dense_weights(a);
}

static double factor_flops(const wi_convolve_args *a) {
    return 2 * outputs_of(a) * factor_weights(a);
}

static double low_rank_flops(const wi_convolve_args *a) {
    return (double)a->terms * factor_flops(a);
}

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

/* How long the first rows of all blocks take of images of bytes, beyond a launch: what a lane does
 * for a row before and after its products, for a filter of so many rows. Where lines of x do not
 * begin at multiples of 16 bytes these come one by one. */
static double first_rows(const wi_convolve_args *a, double each_s, double fewer) {
    const bool one_by_one =
        (uintptr_t)a->x % 16 != 0 || a->ldx % 16 != 0 || (a->images > 1 && a->apart_x % 16 != 0);
    const double seconds = each_s * ((double)a->filter_height - fewer);
    return a->type != WEFT_U8 ? 0 : one_by_one ? 22e-6 + 3 * seconds : seconds;
}

double wi_convolve_blocks_seconds(const weft_context *ctx, const void *args) {
    const wi_convolve_args *const a = args;
    const double first = 24e-6 + 1.7e-6 * (double)a->filter_height;
    return first + gpu_seconds(ctx, a, dense_flops(a), 0.4, 1.6 * bytes_of(a));
}

/* A byte is made from a sum in the time of so many operations. */
double wi_convolve_rows_seconds(const weft_context *ctx, const void *args) {
    const wi_convolve_args *const a = args;
    if (a->type != WEFT_U8)
        return gpu_seconds(ctx, a, dense_flops(a), 0.7, 1.15 * bytes_of(a));
    const double rounding = 18 * outputs_of(a);
    return first_rows(a, 1.9e-6, 1.5) +
           gpu_seconds(ctx, a, dense_flops(a) + rounding, 0.8, 1.15 * bytes_of(a));
}

double wi_convolve_two_pass_seconds(const weft_context *ctx, const void *args) {
    const wi_convolve_args *const a = args;
    const double first = 46e-6; /* twice as long as that of blocks */
    return first +
           gpu_seconds(ctx, a, factor_flops(a), 0.3, 1.6 * (bytes_of(a) + bytes_between(a)));
}

double wi_convolve_fused_seconds(const weft_context *ctx, const void *args) {
    const wi_convolve_args *const a = args;
    return first_rows(a, 1.1e-6, 0.5) +
           gpu_seconds(ctx, a, factor_flops(a), 0.6, 1.2 * bytes_of(a));
}

/* x is read by a launch for each term, and y written once. */
static double low_rank_passes_seconds(const weft_context *ctx, const wi_convolve_args *a) {
    const double terms = (double)a->terms;
    const double bytes = bytes_of(a) + terms * bytes_between(a) +
                         (terms - 1) * inputs_of(a) * (double)weft_type_size(a->type);
    return terms * wi_machine_of(ctx)->launch_s +
           gpu_seconds(ctx, a, low_rank_flops(a), 0.3, 1.6 * bytes);
}

/* An output takes as long as so many operations of f32, with more weights more, as more sums are in
 * doubt. The first rows of all blocks take a while. */
double wi_convolve_quads_seconds(const weft_context *ctx, const void *args) {
    const wi_convolve_args *const a = args;
    const bool is_wide = wi_convolve_quads_frame(a) > WI_CONVOLVE_QUADS_FRAME;
    const double first = is_wide ? 16e-6 : 7e-6, one_channel = a->channels == 1 ? 1.1 : 1;
    const double each = is_wide ? 72 + 0.44 * dense_weights(a) : 49 + 0.08 * dense_weights(a);
    return first + gpu_seconds(ctx, a, one_channel * each * outputs_of(a), 1, bytes_of(a));
}

/* What takes as long as so many operations of f32: rounding an output; a step of its products;
 * filters of more than 5 rows, whatever their steps; a product of a sum in doubt, which other warps
 * make again at the same time. */
double wi_convolve_tensor_seconds(const weft_context *ctx, const void *args) {
    const double rounding = 50, step = 10, tall = 35, again = 10;
    const wi_convolve_args *const a = args;
    const wi_machine *const m = wi_machine_of(ctx);
    wi_convolve_units units;
    wi_convolve_reach reach;
    wi_convolve_find_units(a, &units);
    wi_convolve_find_reach(a, &reach);
    const double groups = floor(((double)a->filter_height + 6) / 4);
    const double steps = ceil(groups * reach.slots / 2);
    const double doubts = units.is_exact ? 0 : ldexp((double)units.in_doubt, -units.shift);
    const double each = rounding + step * steps + (groups > 2 ? tall : 0);
    const double multiplying = outputs_of(a) * each / m->f32_flops;
    const double settling = again * fmin(doubts, 1) * dense_flops(a) / m->f32_flops;
    const double working = multiplying > settling ? multiplying : settling;
    const double moving = wi_seconds_moving(m, 1.25 * bytes_of(a));
    const double first = 3.5e-6 + 0.5e-6 * (double)a->filter_height;
    return first + m->launch_s + (working > moving ? working : moving);
}

double wi_convolve_low_rank_fused_seconds(const weft_context *ctx, const void *args) {
    const wi_convolve_args *const a = args;
    return gpu_seconds(ctx, a, low_rank_flops(a), 0.6, 1.2 * bytes_of(a));
}
#endif

double wi_convolve_low_rank_seconds(const weft_context *ctx, const void *args) {
#ifdef WEFT_CUDA
    if (ctx->kind != WI_CPU)
        return low_rank_passes_seconds(ctx, args);
#endif
    const wi_convolve_args *const a = args; /* sums come and go between terms */
    return cpu_seconds(ctx, a, 1.2 * (double)a->terms * factor_weights(a));
}
