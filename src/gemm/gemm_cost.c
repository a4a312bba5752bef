/* SPDX-License-Identifier: Apache-2.0 */
/* What gemm's CUDA rungs cost, in seconds. Rates were seen on an H200; README.md has the figures.
 */
#include "gemm/gemm_cost.h"

#ifdef WEFT_CUDA
#    include <math.h>

#    include "core/smaller.h"
#    include "core/tuning.h"
#    include "gemm/gemm_narrow_slices.h"

enum {
    LONG_TIMES = 8,          /* k is short or tall if it differs from m and n by that factor */
    SMALL_PRODUCTS = 1 << 27 /* 512^3: below, launches and waves matter more than rates */
};

unsigned wi_gemm_shape_of(const void *args) {
    const wi_gemm_args *const g = args;
    const double m = (double)g->m, n = (double)g->n, k = (double)g->k;
    const double least = fmin(m, n), most = fmax(m, n);
    const unsigned accuracy = g->type == WEFT_F32 && g->accuracy == WI_TF32 ? WI_ROUNDED : 0;
    if (k >= LONG_TIMES * most)
        return accuracy + WI_SHAPE_TALL;
    if (least <= WI_GEMM_THIN_MOST && most > WI_GEMM_THIN_MOST)
        return accuracy + (m < n ? WI_SHAPE_FLAT : WI_SHAPE_THIN);
    if (k * LONG_TIMES <= least)
        return accuracy + WI_SHAPE_SHORT;
    return accuracy + (m * n * k < SMALL_PRODUCTS ? WI_SHAPE_SMALL : WI_SHAPE_LARGE);
}

/* By tiles of C at a rate that all multiprocessors reach together, in whole waves, or as long as
 * memory takes for A and B; then C's way to memory. */
static double tiles_seconds(const weft_context *ctx, const wi_gemm_args *g, double flops_per_s) {
    const wi_machine *const m = wi_machine_of(ctx);
    const double side = 128, width = (double)weft_type_size(g->type);
    const double tiles = ceil((double)g->m / side) * ceil((double)g->n / side);
    const double waves = ceil(tiles / m->units);
    const double working = waves * m->units * 2 * side * side * (double)g->k / flops_per_s;
    const double factors = width * ((double)g->m + (double)g->n) * (double)g->k;
    const double sums = (double)weft_type_size(g->out) * (double)g->m * (double)g->n;
    return m->launch_s + fmax(working, wi_seconds_moving(m, factors)) + wi_seconds_moving(m, sums);
}

/* A copy is launched, and what is behind it waits for it: together as long as two launches. */
static double copying_seconds(const weft_context *ctx, size_t lines, double length, double width) {
    const wi_machine *const m = wi_machine_of(ctx);
    return 2 * m->launch_s + wi_seconds_moving(m, 2 * width * (double)lines * length);
}

/* To copy operands whose lines are not aligned, both by one kernel; `turned` ones are copied
 * anyway, each by its own. Such copies reach two thirds of memory's rate. */
static double aligning_seconds(const weft_context *ctx, const wi_gemm_args *g, bool turned_a,
                               bool turned_b) {
    const wi_machine *const m = wi_machine_of(ctx);
    const size_t width = weft_type_size(g->type);
    const double cost = 1.5 * (double)width, k = (double)g->k;
    const bool copies_a = !turned_a && g->lda * width % 16 != 0;
    const bool copies_b = !turned_b && g->ldb * width % 16 != 0;
    const double lines = (copies_a ? (double)g->m : 0) + (copies_b ? (double)g->n : 0);
    const double launches = lines == 0 ? 0 : turned_a || turned_b ? 0.6 : 1.7;
    return launches * m->launch_s + wi_seconds_moving(m, 2 * cost * lines * k) +
           (turned_a ? copying_seconds(ctx, g->m, k, (double)width) : 0) +
           (turned_b ? copying_seconds(ctx, g->n, k, (double)width) : 0);
}

/* To add up slices of k, by another kernel, where C's sums take so many bytes. */
static double joining_seconds(const wi_machine *m, double slices, double sums) {
    return slices > 1 ? m->launch_s + wi_seconds_moving(m, 2 * slices * sums) : 0;
}

/* By small tiles, two on a multiprocessor, whose k is cut while there is room. A tile's beginning
 * and end take as long as 120 of k. */
static double small_tiles_seconds(const weft_context *ctx, const wi_gemm_args *g,
                                  double flops_per_s) {
    const wi_machine *const m = wi_machine_of(ctx);
    const double side = 64, least_k = 256, lead = 120, room = 2 * m->units;
    const double tiles = ceil((double)g->m / side) * ceil((double)g->n / side);
    const double slices = fmax(1, fmin(floor(room / tiles), floor((double)g->k / least_k)));
    const double waves = ceil(tiles * slices / room), depth = (double)g->k / slices + lead;
    const double sums = (double)weft_type_size(g->out) * (double)g->m * (double)g->n;
    return m->launch_s + waves * room * 2 * side * side * depth / flops_per_s +
           joining_seconds(m, slices, sums) + wi_seconds_moving(m, sums);
}

/* Tiles whose k is cut so that they fill the device: as long as the small ones that they are then,
 * or as memory takes for A and B at half of its rate. */
static double cut_tiles_seconds(const weft_context *ctx, const wi_gemm_args *g,
                                double flops_per_s) {
    const wi_machine *const m = wi_machine_of(ctx);
    const double side = 64, of_memory = 0.55;
    if (ceil((double)g->m / side) * ceil((double)g->n / side) > m->units)
        return INFINITY;
    const double factors =
        (double)weft_type_size(g->type) * ((double)g->m + (double)g->n) * (double)g->k;
    return fmax(small_tiles_seconds(ctx, g, flops_per_s),
                2 * m->launch_s + wi_seconds_moving(m, factors) / of_memory);
}

/* Tiles of what is not aligned: small ones take single elements. */
static double tiles_as_they_lie(const weft_context *ctx, const wi_gemm_args *g,
                                double flops_per_s) {
    const double copies = aligning_seconds(ctx, g, false, false);
    if (copies > 0 && wi_gemm_takes_elements(g))
        return small_tiles_seconds(ctx, g, 0.8 * flops_per_s);
    return copies +
           fmin(tiles_seconds(ctx, g, flops_per_s), cut_tiles_seconds(ctx, g, 0.75 * flops_per_s));
}

/* A tile's beginning and end take as long as 32 of k. */
double wi_gemm_pipeline_seconds(const weft_context *ctx, const void *args) {
    wi_gemm_args longer = *(const wi_gemm_args *)args;
    longer.k += 32;
    return tiles_as_they_lie(ctx, &longer, 0.7 * wi_machine_of(ctx)->f32_flops);
}

/* Small tiles of `small`: a multiprocessor works on so many at a time, at a rate of all together
 * beside that of multiply-adds. A tile's beginning and end take as long as `lead` of k. */
typedef struct small_pace {
    double side, rate, lead, at_a_time, launches;
} small_pace;

static small_pace small_pace_of(const weft_context *ctx, const wi_gemm_args *g) {
    const wi_machine *const m = wi_machine_of(ctx);
    const bool is_wide = ceil((double)g->m / 64) * ceil((double)g->n / 64) >= m->units;
    const double wider = is_wide ? 2 : 1;
    if (g->type == WEFT_F64)
        return (small_pace){32, 0.9 * m->f64_flops, 31, 3, 1.7};
    if (weft_type_size(g->type) == 2)
        return (small_pace){32 * wider, 0.66 * wider * m->f32_flops, 55, 6, 1.7};
    return g->accuracy == WI_TF32 ? (small_pace){32 * wider, 0.63 * wider * m->f32_flops, 69, 4, 1}
                                  : (small_pace){32, 0.39 * m->f32_flops, 4, 4, 1.7};
}

/* By such tiles, whose k is cut while there is room. What counts is how many of them the
 * multiprocessor with the most has. */
static double small_seconds_at(const weft_context *ctx, const wi_gemm_args *g, small_pace pace) {
    const wi_machine *const m = wi_machine_of(ctx);
    const double rows = (double)g->m, columns = (double)g->n, k = (double)g->k, least_k = 256;
    const double tiles = ceil(rows / pace.side) * ceil(columns / pace.side);
    const double room = floor(pace.at_a_time * m->units / tiles);
    const double slices = fmax(1, fmin(room, floor(k / least_k)));
    const double of_one = ceil(tiles * slices / m->units) * 2 * pace.side * pace.side;
    const double working = of_one * (k / slices + pace.lead) * m->units / pace.rate;
    const double factors = (double)weft_type_size(g->type) * (rows + columns) * k;
    const double sums = (double)weft_type_size(g->out) * rows * columns;
    const double of_memory = 0.7; /* the share of its rate that single elements reach */
    return pace.launches * m->launch_s + fmax(working, wi_seconds_moving(m, factors) / of_memory) +
           joining_seconds(m, slices, sums) + wi_seconds_moving(m, sums);
}

/* f64 by tiles of 48, of which a multiprocessor has one at a time. */
static double small_wide_f64_seconds(const weft_context *ctx, const wi_gemm_args *g) {
    const double rate = 0.76 * wi_machine_of(ctx)->f64_flops;
    return small_seconds_at(ctx, g, (small_pace){48, rate, 0, 1, 1.4});
}

bool wi_gemm_prefers_wide_f64(const weft_context *ctx, const wi_gemm_args *g) {
    return small_wide_f64_seconds(ctx, g) < small_seconds_at(ctx, g, small_pace_of(ctx, g));
}

double wi_gemm_small_seconds(const weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = args;
    const double seconds = small_seconds_at(ctx, g, small_pace_of(ctx, g));
    return g->type == WEFT_F64 ? fmin(seconds, small_wide_f64_seconds(ctx, g)) : seconds;
}

/* As fast as memory takes C, or a quarter as fast as multiply-adds could be. */
double wi_gemm_outer_seconds(const weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = args;
    const wi_machine *const m = wi_machine_of(ctx);
    const double sums = (double)g->m * (double)g->n;
    const double bytes = (double)weft_type_size(g->out) * sums * (g->beta == 0 ? 1 : 2);
    const double peak = g->type == WEFT_F64 ? m->f64_flops : m->f32_flops;
    return 1.2 * m->launch_s +
           fmax(wi_seconds_moving(m, bytes), 2 * sums * (double)g->k / (0.26 * peak));
}

/* As fast as memory brings the matrix, one of 16-bit floats at four fifths of its rate. */
double wi_gemm_gemv_seconds(const weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = args;
    const wi_machine *const m = wi_machine_of(ctx);
    const double width = (double)weft_type_size(g->type), of_memory = width <= 2 ? 0.79 : 1;
    const double bytes = width * (double)(g->m * g->n) * (double)g->k;
    return m->launch_s + wi_seconds_moving(m, bytes) / of_memory;
}

/* Are the lines of the long factor of a thin C aligned? */
static bool is_long_aligned(const wi_gemm_args *g) {
    return (g->m > g->n ? g->lda : g->ldb) * weft_type_size(g->type) % 16 == 0;
}

/* Is f32 multiplied as tf32? Not if the long factor would have to be copied first. */
static bool is_thin_tf32(const wi_gemm_args *g) {
    return g->type == WEFT_F32 && g->accuracy == WI_TF32 && is_long_aligned(g);
}

static const double OF_MEMORY = 0.87; /* the share of its rate that thin products reach */

/* Tiles of 128 by 16 or 64, on tensor cores that are fed from shared memory. Those of 16, and C of
 * one tile, keep up with memory; many tiles of 64 do not, but for those of 16-bit floats whose long
 * factor lies across k. */
static double thin_tensor_seconds(const weft_context *ctx, const wi_gemm_args *g) {
    const wi_machine *const m = wi_machine_of(ctx);
    const double least = fmin((double)g->m, (double)g->n), most = fmax((double)g->m, (double)g->n);
    const double thin = least <= 16 ? 16 : 64, length = ceil(most / 128) * 128;
    const bool is_f32 = g->type == WEFT_F32;
    const bool is_across = g->m > g->n ? !g->transposed_a : g->transposed_b;
    const bool is_fed = thin == 16 || most <= 128 || (is_across && !is_f32);
    const double of_f32 = !is_fed ? 0.95 : is_f32 ? 1.8 : 3;
    const double rate = of_f32 * m->f32_flops, k = (double)g->k;
    const double factors = (double)weft_type_size(g->type) * (most + least) * k;
    const double sums = 2 * sizeof(float) * most * least;
    return 3 * m->launch_s + aligning_seconds(ctx, g, false, false) +
           fmax(2 * thin * length * k / rate, wi_seconds_moving(m, factors + sums) / OF_MEMORY);
}

/* Few rows or columns: where lines begin does not matter. */
static double few_seconds(const weft_context *ctx, const wi_gemm_args *g) {
    const wi_machine *const m = wi_machine_of(ctx);
    const double bytes = sizeof(float) * ((double)g->m + (double)g->n) * (double)g->k;
    return 2.5 * m->launch_s + wi_seconds_moving(m, bytes) / 0.9;
}

/* The thin side as the tiles have it; of the other only what there is. k is cut, so that all
 * multiprocessors work. Lines that are not aligned come element by element. */
double wi_gemm_thin_seconds(const weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = args;
    const wi_machine *const m = wi_machine_of(ctx);
    if (weft_type_size(g->type) == 2 || is_thin_tf32(g))
        return thin_tensor_seconds(ctx, g);
    if (g->type == WEFT_F32 && wi_gemm_is_few(g))
        return few_seconds(ctx, g);
    const double least = fmin((double)g->m, (double)g->n), most = fmax((double)g->m, (double)g->n);
    const double thin = most <= 32                           ? 32
                        : most <= 64                         ? 64
                        : least <= 16                        ? 16
                        : least <= 24                        ? 24
                        : least <= 36                        ? 36
                        : least <= 48 && g->type == WEFT_F64 ? 48
                                                             : 64;
    const double length = most <= 32 ? 32 : most <= 64 ? 64 : ceil(most / 128) * 128;
    const double of_f64 = thin == 36 || thin == 48 ? 0.7 : 1.1;
    const double of_f32 = most <= 64 ? 0.53 : 0.42;
    const double rate = g->type == WEFT_F64 ? of_f64 * m->f64_flops : of_f32 * m->f32_flops;
    const double by_elements = g->type == WEFT_F64 ? 1.5 : 2.7;
    const double k = (double)g->k, width = (double)weft_type_size(g->type);
    const double bytes = width * (most * k + least * k + 2 * most * least);
    const double of_memory = g->type == WEFT_F64 && most <= 32 ? 0.62 : OF_MEMORY;
    return 3 * m->launch_s +
           (is_long_aligned(g) ? 1 : by_elements) *
               fmax(2 * thin * length * k / rate, wi_seconds_moving(m, bytes) / of_memory);
}

/* How much longer blocks of 64 rows take than if all multiprocessors worked all the time. Those
 * that are too few, or a few too many, may be cut into slices of k. */
static double narrow_unevenness(const wi_machine *m, double groups, double most_slices) {
    const double enough = 8;
    double best = INFINITY;
    for (double slices = 1; slices <= fmin(fmax(most_slices, 1), enough); slices++)
        best = fmin(best, ceil(groups * slices / m->units) * m->units / (groups * slices));
    return best;
}

/* Of f32, whose tiles are 64 or 128 rows by 64 columns, cut in registers: how many pieces of
 * k that takes, with as many slices as there will be. */
static double narrow_f32_pieces(size_t tiles, size_t k, size_t room) {
    const size_t pieces = wi_narrow_rounds(k, WI_NARROW_F32_DEPTH);
    const size_t possible = pieces / WI_NARROW_F32_LEAST_PIECES;
    const size_t most = wi_smaller(possible, WI_NARROW_F32_MOST_ROUNDS * room / tiles);
    const double ends = WI_NARROW_F32_BEGIN_AND_END;
    return wi_narrow_length(tiles, pieces, room, ends,
                            wi_narrow_slices(tiles, pieces, room, ends, most));
}

/* Where the short factor is cut beforehand and both come as boxes: what adders do, or memory. */
static double narrow_boxed_seconds(const wi_machine *m, size_t most, size_t least, size_t k) {
    const size_t units = (size_t)m->units, columns = wi_narrow_boxed_columns(most, least, k, units);
    const double work = wi_narrow_boxed_work(most, least, k, columns, units);
    const double bytes = sizeof(float) * (double)most * (double)k;
    return 4.3 * m->launch_s +
           fmax(work * m->units / m->f32_flops, 1.1 * wi_seconds_moving(m, bytes));
}

/* Neither memory nor tensor cores set the pace, but instructions: the short factor is best along k,
 * and the long one's lines best aligned. */
static double narrow_f32_seconds(const weft_context *ctx, const wi_gemm_args *g) {
    const wi_machine *const m = wi_machine_of(ctx);
    const size_t least = wi_smaller(g->m, g->n), most = g->m > g->n ? g->m : g->n;
    if (is_long_aligned(g) && wi_narrow_is_boxed(most, least))
        return narrow_boxed_seconds(m, most, least, g->k);
    const size_t rows = most <= 64 ? 64 : 128, columns = 64;
    const size_t tiles = wi_narrow_rounds(most, rows) * wi_narrow_rounds(least, columns);
    const size_t room = (rows == 64 ? 3 : 2) * (size_t)m->units;
    const bool is_short_along = g->m < g->n ? g->transposed_a : !g->transposed_b;
    const double of_f32 = rows == 64 ? 0.74 : 0.9;
    const double slower = (is_short_along ? 1 : 1.15) * (is_long_aligned(g) ? 1 : 1.15);
    const double flops = 2.0 * (double)(rows * columns * WI_NARROW_F32_DEPTH * room);
    return 3.6 * m->launch_s +
           narrow_f32_pieces(tiles, g->k, room) * slower * flops / (of_f32 * m->f32_flops);
}

/* As fast as memory brings the long factor, a short k at less of its rate; lines that are not
 * aligned are read twice, and shifted. */
double wi_gemm_narrow_seconds(const weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = args;
    if (g->type == WEFT_F32)
        return narrow_f32_seconds(ctx, g);
    const wi_machine *const m = wi_machine_of(ctx);
    const double least = fmin((double)g->m, (double)g->n), most = fmax((double)g->m, (double)g->n);
    const double width = (double)weft_type_size(g->type), k = (double)g->k, least_k = 2048;
    const double share = (k < least_k ? 0.82 : 0.9) * (is_long_aligned(g) ? 1 : 0.53);
    const double groups = ceil(most / 64);
    const double uneven =
        k < least_k ? fmax(1, m->units / groups) : narrow_unevenness(m, groups, floor(k / least_k));
    return 1.4 * m->launch_s + wi_seconds_moving(m, width * (most + least) * k) * uneven / share;
}

/* Rates beside that of fused multiply-adds of the type that sums are kept in. Nothing hides a
 * tile's beginning and end, which take as long as so much of k more: of 16-bit floats and tf32 it
 * is 6.7 us. */
double wi_gemm_tensor_seconds(const weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = args;
    const wi_machine *const m = wi_machine_of(ctx);
    const double copies = aligning_seconds(ctx, g, false, false);
    wi_gemm_args longer = *g;
    switch (g->type) {
    case WEFT_F64:
        if (copies > 0)
            return tiles_as_they_lie(ctx, g, 1.7 * m->f64_flops);
        longer.k += 120;
        return tiles_seconds(ctx, &longer, 1.55 * m->f64_flops);
    case WEFT_F32:
        longer.k += 280;
        return copies + fmin(tiles_seconds(ctx, &longer, 2.7 * m->f32_flops),
                             cut_tiles_seconds(ctx, g, 1.9 * m->f32_flops));
    default:
        longer.k += 470;
        return copies + fmin(tiles_seconds(ctx, &longer, 4.5 * m->f32_flops),
                             cut_tiles_seconds(ctx, g, 3.2 * m->f32_flops));
    }
}

#    ifdef WEFT_RING
/* How much more the copy engine reads of lines of 128 bytes that begin anywhere: it takes 64 bytes
 * at a time. What does not begin at multiples of 16 bytes has been copied to where it does. */
static double waste_of_boxes(size_t pitch) {
    return pitch % 16 != 0 || pitch % 64 == 0 ? 1 : pitch % 32 == 0 ? 1.25 : 1.5;
}
/* A and B, read once by boxes. */
static double reading_seconds(const weft_context *ctx, const wi_gemm_args *g) {
    const wi_machine *const m = wi_machine_of(ctx);
    const size_t width = weft_type_size(g->type);
    const double lines = (double)g->m * waste_of_boxes(g->lda * width) +
                         (double)g->n * waste_of_boxes(g->ldb * width);
    return m->launch_s + wi_seconds_moving(m, (double)width * lines * (double)g->k) / 0.97;
}

/* leaves_a: tf32 whose A lies across k, and stays. */
static double ring_of_type_seconds(const weft_context *ctx, const wi_gemm_args *g, bool *leaves_a) {
    *leaves_a = false;
    switch (g->type) {
    case WEFT_F64:
        return wi_gemm_ring_f64_seconds(ctx, g);
    case WEFT_F32:
        return g->accuracy == WI_TF32 ? wi_gemm_ring_tf32_seconds(ctx, g, leaves_a)
                                      : wi_gemm_ring_f32_seconds(ctx, g);
    case WEFT_I8:
        return wi_gemm_ring_i8_seconds(ctx, g);
    case WEFT_F16:
        return wi_gemm_ring_f16_seconds(ctx, g);
    default:
        return wi_gemm_ring_bf16_seconds(ctx, g);
    }
}

/* Operands whose lines are not aligned are copied; tf32 and i8 are turned to lie along k, but A of
 * tf32 only where it does not go through registers. */
double wi_gemm_ring_seconds(const weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = args;
    const bool tf32 = g->type == WEFT_F32 && g->accuracy == WI_TF32;
    const bool along = tf32 || g->type == WEFT_I8;
    if (tf32 && wi_gemm_ring_tf32_wants_both_across(ctx, g))
        return aligning_seconds(ctx, g, false, false) +
               fmax(wi_gemm_ring_tf32_seconds_both_across(ctx, g), reading_seconds(ctx, g));
    bool leaves_a;
    const double working = ring_of_type_seconds(ctx, g, &leaves_a);
    const bool turns_a = along && !g->transposed_a && !leaves_a;
    return aligning_seconds(ctx, g, turns_a, along && g->transposed_b) +
           fmax(working, reading_seconds(ctx, g));
}

/* With the ways of A and B through memory as parts, at 0.7 of its rate, which lines that are not
 * aligned make longer, and the rung that may take over. */
double wi_gemm_parts_seconds(const weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = args;
    const wi_machine *const m = wi_machine_of(ctx);
    const double elements = ((double)g->m + (double)g->n) * (double)g->k, bytes_each = 4 + 6;
    const double launches = aligning_seconds(ctx, g, false, false) > 0 ? 6.5 : 4.5;
    return launches * m->launch_s + 1.4 * wi_seconds_moving(m, bytes_each * elements) +
           wi_gemm_ring_parts_seconds(ctx, g);
}
#    endif
#endif
